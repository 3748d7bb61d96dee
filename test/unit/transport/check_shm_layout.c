/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which files are regions with a layout of libfabric that is known, and the lock of a region. */
#include "t_fstat.h"
#include "made_region.h"

#include "transport/shm_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- calls that fail when a test says so; the linker redirects them --- */

static int open_flags;

T_STAND_IN int __wrap_open(const char *file, int flags, ...);
int __real_open(const char *file, int flags, ...);

int __wrap_fstat(int fd, struct stat *st)
{
	errno = EIO;
	return fails == FSTAT ? -1 : t_real_fstat(fd, st);
}

int __wrap_open(const char *file, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	open_flags = flags;
	return __real_open(file, flags, mode);
}

/* --- names and files --- */

START_TEST(names_of_endpoints)
{
	char address[96];

	make(_i);
	dofi_shm_map_close(&region);
	snprintf(address, sizeof(address), "fi_shm://%s", name);
	ck_assert_int_eq(dofi_shm_map_open(&region, address), 0);
	dofi_shm_map_close(&region);
	snprintf(address, sizeof(address), "fi_shm:///%s", name);
	close(STDIN_FILENO); /* the first descriptor is one, too */
	ck_assert_int_eq(dofi_shm_map_open(&region, address), 0);
	ck_assert_int_eq(next_fd(), STDIN_FILENO);
	finish();
	ck_assert_int_eq(dofi_shm_map_open(&region, address), -ENOENT);
	ck_assert_int_eq(dofi_shm_map_open(&region, "fi_shm://../etc/passwd"), -EINVAL);
}
END_TEST

/* A refused region has no parts. */
static void is_refused(const char *address, int err)
{
	int next = next_fd();

	region = (struct dofi_shm_map){.base = path, .size = 1, .name = path};
	ck_assert_int_eq(dofi_shm_map_open(&region, address), err);
	ck_assert_ptr_null(region.base);
	ck_assert_ptr_null(region.name);
	ck_assert_uint_eq(region.size, 0);
	ck_assert_int_eq(names, 0);
	ck_assert_int_eq(mappings(), 0);
	ck_assert_int_eq(next_fd(), next);
}

START_TEST(names_that_are_none)
{
	char address[300];

	snprintf(name, sizeof(name), "%d:%u:31415", (int)getpid(), (unsigned int)geteuid());
	memset(address, 'a', sizeof(address));
	address[255] = '\0';
	is_refused(address, -ENOENT); /* the longest one */
	address[255] = 'a';
	address[256] = '\0';
	is_refused(address, -EINVAL);
	snprintf(address, sizeof(address), "fi_shm:/x%s", name);
	is_refused(address, -EINVAL);
	is_refused("a/b", -EINVAL);
	snprintf(path, sizeof(path), "/dev/shm/%s", name);
	ck_assert_int_eq(symlink("/dev/zero", path), 0);
	is_refused(name, -ELOOP);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(calls_that_fail_leave_nothing)
{
	static const int errs[] = {[FSTAT] = -EIO, [MMAP] = -ENODEV, [STRDUP] = -ENOMEM};
	int next = next_fd(), err;

	make(V1_17);
	ck_assert_str_eq(region.name, name);
	ck_assert_int_eq(mappings(), 1);
	ck_assert_int_eq(open_flags, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	dofi_shm_map_close(&region);
	fails = (unsigned int)_i;
	err = dofi_shm_map_open(&region, name);
	fails = NONE; /* Check calls these, too */
	ck_assert_int_eq(err, errs[_i]);
	ck_assert_ptr_null(region.base);
	ck_assert_int_eq(names, 0);
	ck_assert_int_eq(mappings(), 0);
	ck_assert_int_eq(next_fd(), next);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* The offsets of a region lead to what is behind its head, and end before its end. */
START_TEST(offsets_that_lead_elsewhere)
{
	static const struct {
		uint64_t offset;
		int ret;
	} cases[] = {{88, -EPROTO},         {96, 0},         {97, -EPROTO},
		     {100, -EPROTO},        {0x400, 0},      {SIZE - 200, 0},
		     {SIZE - 192, -EPROTO}, {SIZE, -EPROTO}, {UINT64_MAX - 7, -EPROTO},
		     {0, -EPROTO}};
	unsigned int fields[4];

	at = &layouts[_i];
	memcpy(fields, (unsigned int[]){at->cmd, at->resp, at->ret, at->peers}, sizeof(fields));
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; fields[i] && j < sizeof(cases) / sizeof(cases[0]); j++) {
			int fd, ret;

			if (!i && cases[j].offset == 96)
				continue; /* the counters of a queue would be in the head */
			fd = make_file(at->number, SIZE);
			write_head(fd);
			write_at(fd, fields[i], cases[j].offset, 8);
			ret = dofi_shm_map_open(&region, name);
			ck_assert_msg(ret == cases[j].ret, "field %zu, case %zu: %d", i, j, ret);
			dofi_shm_map_close(&region);
			close(fd);
		}
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* Pools are where the head says and have buffers of the right size. */
START_TEST(pools_that_are_none)
{
	static const uint64_t offsets[] = {0, 88, INJECT + 4, SIZE - 192, SIZE, UINT64_MAX - 7};
	unsigned int fields[3], pools[] = {INJECT, SAR, CMD_STACK};

	at = &layouts[_i];
	memcpy(fields, (unsigned int[]){at->inject, at->sar, at->stack}, sizeof(fields));
	for (size_t i = 0; i < 3; i++) {
		uint64_t sizes[] = {4096, 32768, at->command.size};
		int fd = make_file(at->number, SIZE);

		if (!fields[i])
			continue;
		write_head(fd);
		for (size_t j = 0; j < sizeof(offsets) / sizeof(offsets[0]); j++) {
			write_at(fd, fields[i], offsets[j], 8);
			ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
		}
		write_at(fd, fields[i], pools[i], 8);
		write_at(fd, pools[i] + 8, sizes[i] + 8, 8);
		ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
		write_at(fd, pools[i] + 8, sizes[i], 8);
		ck_assert_int_eq(dofi_shm_map_open(&region, name), 0);
		dofi_shm_map_close(&region);
		close(fd);
	}
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* One of a libfabric with --enable-debug. A ring has its end there. */
START_TEST(regions_of_a_debug_build)
{
	int ret;

	make(_i);
	put(CMD_QUEUE + PUT_AT + 8, 1, 4);
	dofi_shm_map_close(&region);
	ret = dofi_shm_map_open(&region, name);
	ck_assert_int_eq(ret, _i == V1_17 ? 0 : -EPROTO);
	dofi_shm_map_close(&region);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* Regions of two releases may have the same number: the claims of each are found by its layout. */
START_TEST(layouts_of_the_same_number)
{
	make(_i);
	put(CMD_QUEUE + (_i == V1_17 ? 24 : PUT_AT), 5, 8);
	put(CMD_QUEUE + (_i == V1_17 ? 16 : TAKEN_AT), 70, 8);
	ck_assert_uint_eq(dofi_shm_progress(&region), 75);
	put(at->sar, 0x400, 8); /* it is not taken for one of another release */
	dofi_shm_map_close(&region);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* The least size, and a total that the file has, and a process. */
START_TEST(limits_of_a_region)
{
	unsigned int pools[] = {400, 432, 464};
	int fd;

	at = &layouts[_i];
	fd = make_file(at->number, 768);
	write_head(fd);
	for (unsigned int i = 0; i < 4; i++)
		write_at(fd, (unsigned int[]){at->cmd, at->resp, at->ret, at->peers}[i], 496, 8);
	for (unsigned int i = 0; i < 3; i++) {
		write_at(fd, (unsigned int[]){at->inject, at->sar, at->stack}[i], pools[i], 8);
		write_at(fd, pools[i] + 8, (uint64_t[]){4096, 32768, at->command.size}[i], 8);
	}
	ck_assert_int_eq(ftruncate(fd, 768), 0);
	write_at(fd, at->total, 769, 8);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	write_at(fd, at->total, 768, 8);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), 0);
	ck_assert_uint_eq(region.size, 768);
	dofi_shm_map_close(&region);
	write_at(fd, at->pid, 1, 4);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), 0);
	ck_assert_int_eq(region.pid, 1);
	dofi_shm_map_close(&region);
	write_at(fd, at->pid, (uint64_t)-1, 4);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	ck_assert_int_eq(ftruncate(fd, 767), 0);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPERM);
	close(fd);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(a_region_of_another_user)
{
	if (geteuid())
		t_skip("only root can give files away");
	make(V1_17);
	dofi_shm_map_close(&region);
	ck_assert_int_eq(chown(path, 65534, (gid_t)-1), 0);
	is_refused(name, -EPERM);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(unknown_layouts_are_not_changed)
{
	static const uint8_t others[] = {0, 3, 11, 255};

	at = &layouts[V1_17];
	for (size_t i = 0; i < sizeof(others); i++) {
		int fd = make_file(others[i], SIZE);

		write_head(fd);
		close(fd);
		ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
		ck_assert_ptr_null(region.base);
	}
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(files_that_are_no_regions)
{
	int fd;

	at = &layouts[_i];
	fd = make_file(at->number, 16);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPERM);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	write_head(fd);
	write_at(fd, at->cmd, SIZE, 8);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	write_at(fd, at->cmd, CMD_QUEUE, 8);
	write_at(fd, at->total, 2 * SIZE, 8);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	write_at(fd, at->total, SIZE, 8);
	write_at(fd, at->pid, 0, 4); /* nobody has it any more */
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	close(fd);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* --- two regions --- */

/* Whether a process with a region of that layout may meet one with the other layout. */
static bool may_meet(int own, int other)
{
	char own_name[sizeof(name) + 1], own_path[sizeof(path) + 1];
	bool may;

	make(own);
	dofi_shm_map_close(&region);
	snprintf(own_name, sizeof(own_name), "%s0", name);
	snprintf(own_path, sizeof(own_path), "%s0", path);
	ck_assert_int_eq(rename(path, own_path), 0);
	make(other);
	dofi_shm_map_close(&region);
	may = dofi_shm_may_meet(own_name, name);
	ck_assert_int_eq(unlink(own_path), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mappings(), 0);
	return may;
}

/* 1.21, 1.22 and 2.0 to 2.4 understand each other. */
START_TEST(releases_that_may_meet)
{
	for (int i = 0; i < LAYOUTS; i++)
		ck_assert_int_eq(may_meet(_i, i), i == _i || ((_i == V1_21 || _i == V2_0) &&
							      (i == V1_21 || i == V2_0)));
}
END_TEST

/* Regions that can't be judged are left to other checks. */
START_TEST(regions_that_are_not_known)
{
	char other[80];
	int fd;

	make(_i);
	dofi_shm_map_close(&region);
	ck_assert(dofi_shm_may_meet(name, "no such region"));
	ck_assert(dofi_shm_may_meet("no such region", name));
	snprintf(other, sizeof(other), "/dev/shm/%s0", name);
	fd = open(other, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	close(fd);
	ck_assert(!dofi_shm_may_meet(name, strrchr(other, '/') + 1));
	ck_assert(dofi_shm_may_meet(strrchr(other, '/') + 1, name));
	ck_assert_int_eq(unlink(other), 0);
	finish();
}
END_TEST

/* --- the lock --- */

START_TEST(lock_excludes_libfabric_and_is_released)
{
	make(_i);
	ck_assert(dofi_shm_trylock(&region));
	ck_assert_int_eq(dofi_shm_trylock(&region), !at->lock);
	dofi_shm_unlock(&region);
	if (!at->lock) {
		ck_assert_uint_eq(get(0, 1), at->number); /* where no offset leads */
		finish();
		return;
	}
	ck_assert_int_eq(pthread_spin_trylock((void *)(region.base + at->lock)), 0);
	ck_assert(!dofi_shm_trylock(&region));
	dofi_shm_unlock(&region);
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_layout");
	TCase *tcase = tcase_create("shm_layout");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, names_of_endpoints, 0, LAYOUTS);
	tcase_add_test(tcase, names_that_are_none);
	tcase_add_loop_test(tcase, calls_that_fail_leave_nothing, FSTAT, STRDUP + 1);
	tcase_add_loop_test(tcase, offsets_that_lead_elsewhere, 0, LAYOUTS);
	tcase_add_loop_test(tcase, pools_that_are_none, 0, LAYOUTS);
	tcase_add_loop_test(tcase, regions_of_a_debug_build, 0, LAYOUTS);
	tcase_add_loop_test(tcase, layouts_of_the_same_number, 0, LAYOUTS);
	tcase_add_loop_test(tcase, limits_of_a_region, 0, LAYOUTS);
	tcase_add_test(tcase, a_region_of_another_user);
	tcase_add_test(tcase, unknown_layouts_are_not_changed);
	tcase_add_loop_test(tcase, files_that_are_no_regions, 0, LAYOUTS);
	tcase_add_loop_test(tcase, releases_that_may_meet, 0, LAYOUTS);
	tcase_add_loop_test(tcase, regions_that_are_not_known, 0, LAYOUTS);
	tcase_add_loop_test(tcase, lock_excludes_libfabric_and_is_released, 0, LAYOUTS);
	return t_run(suite);
}
