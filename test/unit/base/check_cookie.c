/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared memory cookies: which memory is the same, the entries of the file, and the file itself,
 * which every user can make before we do.
 */
#include "t_heap.h"
#include "t_fstat.h"
#include "t_hooks.h"
#include "unit.h"

#include "base/cookie.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

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

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* --- locks, pauses and mappings; the linker redirects these calls --- */

static int lock_errors[4], nlocks; /* of the first locks that are set */
static int naps;
static bool removes_file;
static const char *maps; /* what the kernel tells; NULL: what there is */
static int maps_error;

int __real_fcntl(int fd, int command, ...);
T_STAND_IN int __wrap_fcntl(int fd, int command, ...);
T_STAND_IN int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);
FILE *__real_fopen(const char *name, const char *mode);
T_STAND_IN FILE *__wrap_fopen(const char *name, const char *mode);

int __wrap_fcntl(int fd, int command, ...)
{
	va_list args;
	void *lock;

	va_start(args, command);
	lock = va_arg(args, void *);
	va_end(args);
	if (command == F_OFD_SETLK && removes_file) {
		removes_file = false;
		ck_assert_int_eq(unlink(path), 0);
	}
	if (command == F_OFD_SETLK && nlocks < 4 && lock_errors[nlocks++]) {
		errno = lock_errors[nlocks - 1];
		return -1;
	}
	return __real_fcntl(fd, command, lock);
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
	ck_assert_int_eq(time->tv_sec, 0);
	ck_assert_int_ge(time->tv_nsec, 1000000);
	ck_assert_ptr_null(rest);
	naps++;
	return 0;
}

FILE *__wrap_fopen(const char *name, const char *mode)
{
	if (strcmp(name, "/proc/self/maps") || (!maps && !maps_error))
		return __real_fopen(name, mode);
	ck_assert_str_eq(mode, "re");
	errno = maps_error;
	return maps_error ? NULL : fmemopen((void *)(uintptr_t)maps, strlen(maps), "r");
}

START_TEST(a_share_is_taken_and_given_back)
{
	struct stat st;
	int one = share(), two = share();

	ck_assert_int_ge(one, 0);
	ck_assert_int_ge(two, 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(naps, 0); /* neither holds what the other needs */
	dofi_cookie_unshare(one);
	ck_assert_int_eq(access(path, F_OK), 0);
	dofi_cookie_unshare(two);
	ck_assert_int_eq(naps, 0);
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
	ck_assert_int_eq(naps, 2000);
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

static int write_error, access_error, stat_error, create_error;
static int stats_before_error;
static size_t written = SIZE_MAX; /* of an entry, at most */
static bool hides_file;

ssize_t __real_pwrite(int fd, const void *bytes, size_t n, off_t at);
T_STAND_IN ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at);
int __real_access(const char *name, int mode);
T_STAND_IN int __wrap_access(const char *name, int mode);
int __real_open(const char *name, int flags, ...);
T_STAND_IN int __wrap_open(const char *name, int flags, ...);

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	errno = write_error;
	return write_error ? -1 : __real_pwrite(fd, bytes, written < n ? written : n, at);
}

int __wrap_access(const char *name, int mode)
{
	errno = access_error;
	return access_error ? -1 : __real_access(name, mode);
}

int __wrap_fstat(int fd, struct stat *st)
{
	if (!stat_error || stats_before_error-- > 0)
		return t_real_fstat(fd, st);
	errno = stat_error;
	return -1;
}

/* The file appears between the two tries to open it. */
int __wrap_open(const char *name, int flags, ...)
{
	va_list args;
	int fd;

	if (hides_file && !(flags & O_CREAT)) {
		hides_file = false;
		errno = ENOENT;
		return -1;
	}
	if (create_error && flags & O_CREAT) {
		errno = create_error;
		return -1;
	}
	va_start(args, flags);
	fd = __real_open(name, flags, flags & O_CREAT ? va_arg(args, mode_t) : 0);
	va_end(args);
	if (fd >= 0) /* of a call that succeeds, errno tells nothing */
		errno = flags & O_CREAT ? EEXIST : ENOENT;
	return fd;
}

/* A full file system. Nothing remains of the share. */
START_TEST(a_share_that_can_not_be_stored)
{
	int fd;

	write_error = _i ? 0 : ENOSPC;
	written = _i ? (size_t)_i - 1 : SIZE_MAX;
	ck_assert_int_eq(share(), -ENOSPC);
	ck_assert_int_eq(__real_access(path, F_OK), -1);
	write_error = 0;
	written = SIZE_MAX;
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

/* Either call that looks at the file fails. */
START_TEST(a_file_that_tells_nothing)
{
	int fds = open_files(), fd;

	for (int before = 0; before < 2; before++) {
		stat_error = EIO;
		stats_before_error = before;
		ck_assert_int_eq(share(), -EIO);
		ck_assert_int_eq(open_files(), fds);
	}
	stat_error = 0;
	fd = share();
	ck_assert_int_ge(fd, 0);
	stat_error = EIO;
	stats_before_error = 0;
	dofi_cookie_unshare(fd); /* it does not know whether the file is still there */
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_eq(open_files(), fds);
}
END_TEST

START_TEST(a_file_that_can_not_be_made)
{
	create_error = EDQUOT;
	ck_assert_int_eq(share(), -EDQUOT);
}
END_TEST

/* --- changes of the file by others meanwhile --- */

START_TEST(a_file_that_another_process_has_just_made)
{
	int fd;

	close(make(0600));
	hides_file = true;
	fd = share();
	ck_assert_int_ge(fd, 0);
	ck_assert(!hides_file);
	dofi_cookie_unshare(fd);
}
END_TEST

START_TEST(a_program_without_standard_input_shares_a_cookie)
{
	int log = t_capture(STDERR_FILENO), one, two;

	close(STDIN_FILENO);
	one = share();
	ck_assert_int_eq(one, STDIN_FILENO);
	two = share();
	ck_assert_int_gt(two, 0);
	dofi_cookie_unshare(one);
	one = share();
	ck_assert_int_eq(one, STDIN_FILENO);
	dofi_cookie_unshare(one);
	dofi_cookie_unshare(two);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_str_eq(t_captured(log), "");
}
END_TEST

/* The process that removed the file let go of its lock then. */
START_TEST(a_file_that_another_process_has_just_removed)
{
	int fd, other, fds = open_files();

	removes_file = true;
	fd = share();
	ck_assert_int_ge(fd, 0);
	ck_assert(!removes_file);
	ck_assert_int_eq(open_files(), fds + 1);
	other = share();
	ck_assert_int_ge(other, 0);
	dofi_cookie_unshare(fd);
	ck_assert_int_eq(access(path, F_OK), 0);
	dofi_cookie_unshare(other);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(a_new_file_of_others_is_left_alone)
{
	int fd = share();

	ck_assert_int_eq(unlink(path), 0);
	close(make(0600));
	dofi_cookie_unshare(fd);
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

/* --- locks --- */

START_TEST(a_signal_does_not_end_the_wait_for_a_lock)
{
	int fd;

	lock_errors[0] = lock_errors[1] = EINTR;
	fd = share();
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(naps, 0);
	dofi_cookie_unshare(fd);
}
END_TEST

/* The kernel may tell either error. */
START_TEST(a_lock_of_another_process_is_waited_for)
{
	int fd;

	lock_errors[0] = EAGAIN;
	lock_errors[1] = EACCES;
	fd = share();
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(naps, 2);
	dofi_cookie_unshare(share());
	ck_assert_int_eq(naps, 2);
	dofi_cookie_unshare(fd);
}
END_TEST

START_TEST(a_file_system_without_locks)
{
	int log = t_capture(STDERR_FILENO), fds = open_files();

	lock_errors[0] = ENOLCK;
	ck_assert_int_eq(share(), -ENOLCK);
	ck_assert_int_eq(naps, 0);
	ck_assert_int_eq(open_files(), fds);
	ck_assert_ptr_nonnull(strstr(t_captured(log), strerror(ENOLCK)));
	/* The lock of the entry is the second one. */
	memset(lock_errors, 0, sizeof(lock_errors));
	lock_errors[1] = ENOLCK;
	nlocks = 0;
	ck_assert_int_eq(share(), -ENOLCK);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(open_files(), fds);
}
END_TEST

/* Messages about the file tell what to do if its user can do something. */
START_TEST(what_a_user_can_do_is_told)
{
	static const struct {
		int err;
		const char *advice;
	} cases[] = {
		{EPERM, "; it is not this user's alone: have it removed\n"},
		{ELOOP, "; it is not this user's alone: have it removed\n"},
		{ETIMEDOUT, "; a process of this user holds its lock: is one stopped?\n"},
		{ENOLCK, "\n"},
	};
	int log = t_capture(STDERR_FILENO);
	char wanted[256];

	lock_errors[0] = cases[_i].err;
	ck_assert_int_eq(share(), -cases[_i].err);
	snprintf(wanted, sizeof(wanted),
		 "dat-ofi: can't keep track of shared memory cookies in %s: %s%s", path,
		 strerror(cases[_i].err), cases[_i].advice);
	ck_assert_str_eq(t_captured(log), wanted);
}
END_TEST

/* --- the same memory, by what the kernel tells of mappings --- */

static int share_of(const char *name, const char *told, uint64_t base, uint64_t length)
{
	char padded[DOFI_COOKIE_SIZE] = "";

	snprintf(padded, sizeof(padded), "%s", name);
	maps = told;
	return dofi_cookie_share(padded, base, length);
}

#define FIRST "1000-3000 rw-s 00000000 00:01 7      /memfd\n"

static const struct {
	const char *told;
	uint64_t base;
	bool same; /* as the page at 0x1000 of FIRST */
} places[] = {
	{FIRST, 0x1000, true},
	{"1000-3000 r--s 00000000 00:01 7      /other name\n", 0x1000, true},
	{"7ffff0005000-7ffff0006000 rw-s 00000000 00:01 7\n", 0x7ffff0005000, true},
	{"1000-3000 rw-s 00000000 00:01 7      /SYS\n", 0x1000, true},
	{"1000-3000 rw-s 00000000 00:01 7      /dev/SYSV\n", 0x1000, true},
	{"5000-8000 rw-s ffffffffffffe000 00:01 7\n", 0x7000, true},
	{FIRST, 0x2000, false},
	{FIRST, 0x1001, false},
	{"1000-3000 rw-s 00001000 00:01 7\n", 0x1000, false},
	{"1000-3000 rw-s 00000000 00:01 8\n", 0x1000, false},
	{"1000-3000 rw-s 00000000 00:02 7\n", 0x1000, false},
	{"1000-3000 rw-s 00000000 01:01 7\n", 0x1000, false},
	{"1000-3000 rw-s 00000000 00:01 7      /SYSV00000000 (deleted)\n", 0x1000, false},
};

START_TEST(a_cookie_names_one_place)
{
	int fds = open_files(), one = share_of("c", FIRST, 0x1000, 16), two;

	ck_assert_int_ge(one, 0);
	two = share_of("c", places[_i].told, places[_i].base, 16);
	if (places[_i].same)
		ck_assert_int_ge(two, 0);
	else
		ck_assert_int_eq(two, -EEXIST);
	if (two >= 0)
		dofi_cookie_unshare(two);
	ck_assert_int_eq(open_files(), fds + 1);
	ck_assert_int_eq(access(path, F_OK), 0);
	dofi_cookie_unshare(one);
	ck_assert_int_eq(open_files(), fds);
}
END_TEST

#define BEFORE "0800-1000 rw-p 00000000 00:00 0\n"
#define LOWER  "1000-2000 rw-s 00004000 00:01 7   /memfd\n"

/* Of the bytes from 0x1000 to 0x3000. */
static const struct {
	const char *told;
	int ret; /* 0: they are shared memory */
} ranges[] = {
	{FIRST, 0},
	{BEFORE FIRST, 0},
	{"not a mapping\n" FIRST, 0},
	{"0-4000 rw-s 00000000 00:01 7", 0},
	{LOWER "2000-3000 r--s 00005000 00:01 7\n", 0},
	{LOWER "2000-2800 rw-s 00005000 00:01 7\n2800-3001 rw-s 00005800 00:01 7\n", 0},
	{LOWER "2000-3000 rw-p 00005000 00:01 7\n", -EINVAL},
	{LOWER "2001-3000 rw-s 00005001 00:01 7\n", -EINVAL},
	{LOWER "2000-3000 rw-s 00005001 00:01 7\n", -EINVAL},
	{LOWER "2000-3000 rw-s 00004000 00:01 7\n", -EINVAL},
	{LOWER "2000-3000 rw-s 00005000 00:01 8\n", -EINVAL},
	{LOWER "2000-3000 rw-s 00005000 00:02 7\n", -EINVAL},
	{LOWER "2000-3000 rw-s 00005000 00:01 7  /SYSV00000000\n", -EINVAL},
	{LOWER, -EINVAL},
	{"1000-2fff rw-s 00000000 00:01 7\n", -EINVAL},
	{"1001-3000 rw-s 00000000 00:01 7\n", -EINVAL},
	{"1000-3000 rw-p 00000000 00:01 7\n", -EINVAL},
	{"1000-3000 rw-s 00000000 00:01\n", -EINVAL},
	{"3000-6000 rw-s 00000000 00:01 7\n", -EINVAL},
	{BEFORE, -EINVAL},
};

START_TEST(a_cookie_is_for_shared_memory_without_a_gap)
{
	int fds = open_files(), fd = share_of("c", ranges[_i].told, 0x1000, 0x2000);

	if (!ranges[_i].ret)
		ck_assert_int_ge(fd, 0);
	else
		ck_assert_int_eq(fd, ranges[_i].ret);
	if (fd >= 0)
		dofi_cookie_unshare(fd);
	ck_assert_int_eq(open_files(), fds);
}
END_TEST

START_TEST(mappings_that_are_not_told)
{
	maps_error = EMFILE;
	ck_assert_int_eq(share(), -EMFILE);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* --- entries --- */

static off_t file_size(void)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size;
}

/* An entry is free if nobody has a share of it, whatever it contains. */
START_TEST(entries_are_used_again)
{
	int a = share_of("a", FIRST, 0x1000, 16), b = share_of("b", FIRST, 0x1000, 16), c, fd;
	off_t one = file_size() / 2;

	dofi_cookie_unshare(a);
	ck_assert_int_eq(share_of("b", FIRST, 0x2000, 16), -EEXIST);
	c = share_of("c", FIRST, 0x2000, 16);
	ck_assert_int_ge(c, 0);
	ck_assert_int_eq(file_size(), 2 * one);
	a = share_of("a", FIRST, 0x2000, 16);
	ck_assert_int_ge(a, 0);
	ck_assert_int_eq(file_size(), 3 * one);
	dofi_cookie_unshare(b);
	b = share_of("b", FIRST, 0x2000, 16);
	ck_assert_int_ge(b, 0);
	ck_assert_int_eq(file_size(), 3 * one);
	/* Each still names its memory. */
	fd = share_of("c", FIRST, 0x2000, 16);
	ck_assert_int_ge(fd, 0);
	dofi_cookie_unshare(c);
	ck_assert_int_eq(share_of("c", FIRST, 0x1000, 16), -EEXIST);
	ck_assert_int_eq(share_of("a", FIRST, 0x1000, 16), -EEXIST);
	ck_assert_int_eq(share_of("b", FIRST, 0x1000, 16), -EEXIST);
	dofi_cookie_unshare(fd);
	dofi_cookie_unshare(a);
	ck_assert_int_eq(access(path, F_OK), 0);
	dofi_cookie_unshare(b);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* A forked child has the descriptor, too, and does not keep the share. */
START_TEST(a_child_keeps_no_share)
{
	int other = share_of("other", FIRST, 0x1000, 16), fd = share_of("c", FIRST, 0x1000, 16);
	int childs = dup(fd);

	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	dofi_cookie_unshare(fd);
	fd = share_of("c", FIRST, 0x2000, 16);
	ck_assert_int_ge(fd, 0);
	dofi_cookie_unshare(fd);
	dofi_cookie_unshare(other);
	ck_assert_int_eq(access(path, F_OK), -1);
	close(childs);
}
END_TEST

/* Two cookies that differ in their last byte only. */
START_TEST(every_byte_of_a_cookie_counts)
{
	char one[DOFI_COOKIE_SIZE] = "c", two[DOFI_COOKIE_SIZE] = "c";
	int a, b;

	two[sizeof(two) - 1] = 1;
	maps = FIRST;
	a = dofi_cookie_share(one, 0x1000, 16);
	b = dofi_cookie_share(two, 0x2000, 16);
	ck_assert_int_ge(a, 0);
	ck_assert_int_ge(b, 0);
	dofi_cookie_unshare(a);
	dofi_cookie_unshare(b);
}
END_TEST

#if T_HOOKS
START_TEST(shares_leave_no_memory)
{
	size_t before = 0;
	int fd;

	for (int i = 0; i < 100; i++) {
		if (i == 50) /* malloc keeps the first blocks that are freed */
			before = t_heap();
		fd = share();
		ck_assert_int_ge(fd, 0);
		dofi_cookie_unshare(fd);
	}
	ck_assert_uint_le(t_heap(), before + 1000);
}
END_TEST
#endif

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
	tcase_add_loop_test(tcase, a_share_that_can_not_be_stored, 0, 3);
	tcase_add_test(tcase, without_shared_memory_the_file_is_elsewhere);
	tcase_add_test(tcase, a_file_that_tells_nothing);
	tcase_add_test(tcase, a_file_that_can_not_be_made);
	tcase_add_test(tcase, a_file_that_another_process_has_just_made);
	tcase_add_test(tcase, a_program_without_standard_input_shares_a_cookie);
	tcase_add_test(tcase, a_file_that_another_process_has_just_removed);
	tcase_add_test(tcase, a_new_file_of_others_is_left_alone);
	tcase_add_test(tcase, a_signal_does_not_end_the_wait_for_a_lock);
	tcase_add_test(tcase, a_lock_of_another_process_is_waited_for);
	tcase_add_test(tcase, a_file_system_without_locks);
	tcase_add_loop_test(tcase, what_a_user_can_do_is_told, 0, 4);
	tcase_add_test(tcase, a_child_keeps_no_share);
	tcase_add_loop_test(tcase, a_cookie_names_one_place, 0,
			    (int)(sizeof(places) / sizeof(places[0])));
	tcase_add_loop_test(tcase, a_cookie_is_for_shared_memory_without_a_gap, 0,
			    (int)(sizeof(ranges) / sizeof(ranges[0])));
	tcase_add_test(tcase, mappings_that_are_not_told);
	tcase_add_test(tcase, entries_are_used_again);
	tcase_add_test(tcase, every_byte_of_a_cookie_counts);
#if T_HOOKS
	tcase_add_test(tcase, shares_leave_no_memory);
#endif
	return t_run(suite);
}
