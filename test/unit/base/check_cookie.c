/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The file of shared memory cookies: every user can make one of its name before we do. */
#include "t_hooks.h"
#include "unit.h"

#include "base/cookie.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NOBODY  65534u
#define LIMIT_S 30 /* a call that blocks ends the test by SIGALRM */

static const char cookie[DOFI_COOKIE_SIZE] = "check_cookie";
static char path[64];
static void *memory;
static size_t size;

static void setup(void)
{
	size = (size_t)sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	snprintf(path, sizeof(path), "/dev/shm/dat-ofi-cookies-%u", (unsigned int)geteuid());
	unlink(path);
	alarm(LIMIT_S);
}

static void teardown(void)
{
	unlink(path);
}

static int share(void)
{
	return dofi_cookie_share(cookie, (uintptr_t)memory, size);
}

static void lock_all(int fd)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &all), 0);
}

static int make(mode_t mode)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	return fd;
}

START_TEST(a_share_is_taken_and_given_back)
{
	struct stat st;
	int one = share(), two = share();

	ck_assert_int_ge(one, 0);
	ck_assert_int_ge(two, 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	dofi_cookie_unshare(one);
	ck_assert_int_eq(access(path, F_OK), 0);
	dofi_cookie_unshare(two);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* Another user has made the file, lets everybody in, and has locked it. */
START_TEST(a_foreign_file_is_refused_at_once)
{
	int fd;

	if (geteuid())
		t_skip("only root can give files away");
	fd = make(0666);
	ck_assert_int_eq(fchown(fd, NOBODY, NOBODY), 0);
	lock_all(fd);
	ck_assert_int_eq(share(), -EPERM);
	close(fd);
}
END_TEST

/* Of these another user can hold the locks, too. */
START_TEST(a_file_for_others_is_refused)
{
	static const mode_t modes[] = {0666, 0604, 0640, 0620};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		int fd = make(modes[i]);

		lock_all(fd);
		ck_assert_int_eq(share(), -EPERM);
		close(fd);
		unlink(path);
	}
}
END_TEST

START_TEST(other_objects_of_the_file_s_name_are_refused)
{
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	ck_assert_int_eq(share(), -ELOOP);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(share(), -EPERM);
}
END_TEST

/* A process of this user is stopped while it changes the file. */
START_TEST(a_lock_is_waited_for_with_a_limit)
{
	int fd = make(0600);

	lock_all(fd);
	ck_assert_int_eq(share(), -ETIMEDOUT);
	close(fd);
	fd = share();
	ck_assert_int_ge(fd, 0);
	dofi_cookie_unshare(fd);
}
END_TEST

START_TEST(a_share_is_given_back_although_the_file_is_locked)
{
	int fd = share(), other = open(path, O_RDWR | O_CLOEXEC);
	struct flock first = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	ck_assert_int_eq(fcntl(other, F_OFD_SETLK, &first), 0);
	dofi_cookie_unshare(fd);
	close(other);
}
END_TEST

/* --- file systems; the linker redirects these calls --- */

static int write_error, access_error;
static bool writes_a_part;

ssize_t __real_pwrite(int fd, const void *bytes, size_t n, off_t at);
T_STAND_IN ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at);
int __real_access(const char *name, int mode);
T_STAND_IN int __wrap_access(const char *name, int mode);

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	errno = write_error;
	return write_error ? -1 : __real_pwrite(fd, bytes, writes_a_part ? n / 2 : n, at);
}

int __wrap_access(const char *name, int mode)
{
	errno = access_error;
	return access_error ? -1 : __real_access(name, mode);
}

/* A full file system. Nothing remains of the share. */
START_TEST(a_share_that_can_not_be_stored)
{
	int fd;

	write_error = _i ? 0 : ENOSPC;
	writes_a_part = _i;
	ck_assert_int_eq(share(), -ENOSPC);
	ck_assert_int_eq(__real_access(path, F_OK), -1);
	write_error = 0;
	writes_a_part = false;
	fd = share();
	ck_assert_int_ge(fd, 0);
	dofi_cookie_unshare(fd);
}
END_TEST

START_TEST(without_shared_memory_the_file_is_elsewhere)
{
	int fd;

	access_error = EACCES;
	snprintf(path, sizeof(path), "/tmp/dat-ofi-cookies-%u", (unsigned int)geteuid());
	if (!__real_access(path, F_OK))
		t_skip("the cookies of this user are in use");
	fd = share();
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(__real_access(path, F_OK), 0);
	dofi_cookie_unshare(fd);
	ck_assert_int_eq(__real_access(path, F_OK), -1);
}
END_TEST

/* Cookies of programs that run now are left alone: root gets a directory of its own. */
static bool has_own_place(void)
{
	if (!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	    !mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777"))
		return true;
	snprintf(path, sizeof(path), "/dev/shm/dat-ofi-cookies-%u", (unsigned int)geteuid());
	return access(path, F_OK) != 0;
}

int main(void)
{
	Suite *suite = suite_create("cookie");
	TCase *tcase = tcase_create("cookie");

	if (!has_own_place()) {
		puts("1..0 # SKIP the cookies of this user are in use");
		return EXIT_SUCCESS;
	}
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 2 * LIMIT_S);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_share_is_taken_and_given_back);
	tcase_add_test(tcase, a_foreign_file_is_refused_at_once);
	tcase_add_test(tcase, a_file_for_others_is_refused);
	tcase_add_test(tcase, other_objects_of_the_file_s_name_are_refused);
	tcase_add_test(tcase, a_lock_is_waited_for_with_a_limit);
	tcase_add_test(tcase, a_share_is_given_back_although_the_file_is_locked);
	tcase_add_loop_test(tcase, a_share_that_can_not_be_stored, 0, 2);
	tcase_add_test(tcase, without_shared_memory_the_file_is_elsewhere);
	return t_run(suite);
}
