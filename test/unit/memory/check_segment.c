/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that is passed by its descriptor: only what nobody can take away is mapped. */
#include "unit.h"

#include "memory/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>

#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static size_t size;
static char *ours, *theirs;

static void setup(void)
{
	size = 3 * (size_t)sysconf(_SC_PAGESIZE);
}

static int make(void)
{
	void *memory;
	int fd = dofi_segment_make("check", size, &memory);

	ck_assert_int_ge(fd, 0);
	ours = memory;
	return fd;
}

START_TEST(both_see_it)
{
	void *memory;
	int fd = make();

	for (size_t i = 0; i < size; i++)
		ck_assert_int_eq(ours[i], 0);
	ck_assert_int_eq(dofi_segment_map(fd, size, true, &memory), 0);
	theirs = memory;
	close(fd);
	ours[size - 1] = 'a';
	theirs[0] = 'b';
	ck_assert_int_eq(theirs[size - 1], 'a');
	ck_assert_int_eq(ours[0], 'b');
}
END_TEST

START_TEST(its_size_is_fixed)
{
	int fd = make();

	ck_assert_int_eq(ftruncate(fd, 0), -1);
	ck_assert_int_eq(ftruncate(fd, 2 * (off_t)size), -1);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	close(fd);
}
END_TEST

/* A child would say something in its parent's name. */
START_TEST(a_child_has_it_not)
{
	unsigned char there;
	int fd = make(), status;
	pid_t pid = fork();

	if (!pid)
		_exit(mincore(ours, 1, &there) && errno == ENOMEM ? EXIT_SUCCESS : EXIT_FAILURE);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(fd);
}
END_TEST

static int foreign(size_t its_size, int seals)
{
	int fd = memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_eq(ftruncate(fd, (off_t)its_size), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void is_refused(int fd, int err)
{
	void *memory = &size;

	ck_assert_int_eq(dofi_segment_map(fd, size, true, &memory), err);
	ck_assert_ptr_eq(memory, &size);
	close(fd);
}

START_TEST(forged_ones_are_refused)
{
	static const int seals[] = {0, F_SEAL_SHRINK, F_SEAL_SHRINK | F_SEAL_GROW,
				    F_SEAL_GROW | F_SEAL_SEAL};
	int pair[2];

	for (size_t i = 0; i < sizeof(seals) / sizeof(seals[0]); i++)
		is_refused(foreign(size, seals[i]), -EPERM);
	is_refused(foreign(size - 1, ALL_SEALS), -EPROTO);
	is_refused(foreign(size + 1, ALL_SEALS), -EPROTO);
	is_refused(foreign(0, ALL_SEALS), -EPROTO);
	is_refused(foreign(size, ALL_SEALS | F_SEAL_WRITE), -EPERM);
	is_refused(-1, -EBADF);
	is_refused(open("/dev/zero", O_RDWR | O_CLOEXEC), -EINVAL);
	ck_assert_int_eq(pipe(pair), 0);
	close(pair[1]);
	is_refused(pair[0], -EINVAL);
}
END_TEST

/* A reader can't change what the owner shows. */
START_TEST(a_reader_only_reads)
{
	void *memory;
	int fd = make();

	ck_assert_int_eq(dofi_segment_map(fd, size, false, &memory), 0);
	ours[0] = 'a';
	ck_assert_int_eq(*(char *)memory, 'a');
	/* the kernel writes on our behalf */
	ck_assert_int_eq(read(fd, memory, 1), -1);
	ck_assert_int_eq(errno, EFAULT);
	close(fd);
}
END_TEST

START_TEST(without_descriptors_there_is_none)
{
	void *memory = &size;
	struct rlimit files;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_int_eq(dofi_segment_make("check", size, &memory), -EMFILE);
	ck_assert_ptr_eq(memory, &size);
	files.rlim_cur = files.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
}
END_TEST

/* A segment whose memory can't be mapped leaves no descriptor. */
START_TEST(without_room_for_it_there_is_none)
{
	int before = dup(STDERR_FILENO);
	void *memory = &size;

	close(before);
	ck_assert_int_lt(dofi_segment_make("check", (size_t)INT64_MAX, &memory), 0);
	ck_assert_ptr_eq(memory, &size);
	ck_assert_int_eq(dup(STDERR_FILENO), before);
	close(before);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("segment");
	TCase *tcase = tcase_create("segment");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, both_see_it);
	tcase_add_test(tcase, its_size_is_fixed);
	tcase_add_test(tcase, a_child_has_it_not);
	tcase_add_test(tcase, forged_ones_are_refused);
	tcase_add_test(tcase, a_reader_only_reads);
	tcase_add_test(tcase, without_descriptors_there_is_none);
	tcase_add_test(tcase, without_room_for_it_there_is_none);
	return t_run(suite);
}
