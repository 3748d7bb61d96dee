/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that is passed by its descriptor: only what nobody can take away is mapped. */
#include "t_fstat.h"
#include "t_hooks.h"
#include "unit.h"

#include "memory/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static size_t size;
static char *ours, *theirs;

/* --- calls that fail when a test says so; the linker redirects them --- */

static enum { NONE, MMAP, FCNTL, FSTAT, CALLS } fails;
static int protection; /* of the last mapping */

T_STAND_IN void *__wrap_mmap(void *where, size_t length, int prot, int flags, int fd, off_t offset);
void *__real_mmap(void *where, size_t length, int prot, int flags, int fd, off_t offset);
T_STAND_IN int __wrap_fcntl(int fd, int command, ...);
int __real_fcntl(int fd, int command, ...);

void *__wrap_mmap(void *where, size_t length, int prot, int flags, int fd, off_t offset)
{
	errno = ENOMEM;
	if (fd >= 0)
		protection = prot;
	return fails == MMAP ? MAP_FAILED : __real_mmap(where, length, prot, flags, fd, offset);
}

int __wrap_fcntl(int fd, int command, ...)
{
	va_list args;
	int arg;

	va_start(args, command);
	arg = command == F_ADD_SEALS ? va_arg(args, int) : 0;
	va_end(args);
	errno = ENOLCK;
	return fails == FCNTL ? -1 : __real_fcntl(fd, command, arg);
}

int __wrap_fstat(int fd, struct stat *st)
{
	errno = EIO;
	return fails == FSTAT ? -1 : t_real_fstat(fd, st);
}

static int next_fd(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

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
	ck_assert_int_eq(protection, PROT_READ | PROT_WRITE);
	ck_assert_int_eq(dofi_segment_map(fd, size, true, &memory), 0);
	ck_assert_int_eq(protection, PROT_READ | PROT_WRITE);
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

/* The kernel would end the process with SIGXFSZ. */
START_TEST(a_low_limit_of_file_sizes_allows_none)
{
	void *memory = &size, *fits;
	struct rlimit sizes, low;
	int refused, fd;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &sizes), 0);
	low = sizes;
	low.rlim_cur = size;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
	refused = dofi_segment_make("check", size + 1, &memory);
	fd = dofi_segment_make("check", size, &fits);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &sizes), 0);
	ck_assert_int_eq(refused, -EFBIG);
	ck_assert_ptr_eq(memory, &size);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(munmap(fits, size), 0);
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

/* Making one needs two of the calls, mapping one all three. The caller's descriptor remains. */
START_TEST(calls_that_fail)
{
	static const int errs[] = {[MMAP] = -ENOMEM, [FCNTL] = -ENOLCK, [FSTAT] = -EIO};
	void *memory = &size;
	int fd = make(), next = next_fd(), ret;

	fails = (unsigned int)_i;
	ret = dofi_segment_map(fd, size, true, &memory);
	fails = NONE;
	ck_assert_int_eq(ret, errs[_i]);
	ck_assert_ptr_eq(memory, &size);
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
	if (_i == FSTAT)
		return;
	fails = (unsigned int)_i;
	ret = dofi_segment_make("check", size, &memory);
	fails = NONE;
	ck_assert_int_eq(ret, errs[_i]);
	ck_assert_ptr_eq(memory, &size);
	ck_assert_int_eq(next_fd(), next);
	close(fd);
}
END_TEST

/* Programs that this one starts don't get it, and whoever looks at a process knows it. */
START_TEST(its_descriptor_and_its_label)
{
	char line[512];
	bool found = false;
	FILE *maps;
	int fd;

	close(STDIN_FILENO); /* the first descriptor is one, too */
	fd = make();
	ck_assert_int_eq(fd, STDIN_FILENO);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	maps = fopen("/proc/self/maps", "re");
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, "memfd:check ") != NULL;
	fclose(maps);
	ck_assert(found);
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
	tcase_add_test(tcase, a_low_limit_of_file_sizes_allows_none);
	tcase_add_test(tcase, without_room_for_it_there_is_none);
	tcase_add_loop_test(tcase, calls_that_fail, MMAP, CALLS);
	tcase_add_test(tcase, its_descriptor_and_its_label);
	return t_run(suite);
}
