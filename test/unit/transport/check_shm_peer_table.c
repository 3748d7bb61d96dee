/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The numbers of a peer in the table: a peer is known by the places of its region. */
#include "made_region.h"

#include "transport/shm_peer_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static bool is_it[DOFI_SHM_MAX_PEERS];

static int found(void)
{
	return dofi_shm_find_peer(&region, &region, is_it);
}

/* The first and the last one, and not what is behind the table. */
START_TEST(numbers_of_a_peer)
{
	make(_i);
	put_peer(DOFI_SHM_MAX_PEERS, region.base);
	ck_assert_int_eq(found(), 0);
	put_peer(0, region.base);
	put_peer(1, region.base + 1);
	put_peer(DOFI_SHM_MAX_PEERS - 1, region.base);
	ck_assert_int_eq(found(), 1);
	for (unsigned int i = 0; i < DOFI_SHM_MAX_PEERS; i++)
		ck_assert_int_eq(is_it[i], i == 0 || i == DOFI_SHM_MAX_PEERS - 1);
	finish();
}
END_TEST

/* Where the table is outside of the region, libfabric makes it later. */
START_TEST(no_table_yet)
{
	make(_i);
	put_peer(0, region.base);
	put(at->map, 0, 8);
	ck_assert_int_eq(found(), 0);
	finish();
}
END_TEST

/* Among the mappings are other files of the directory, and memory. */
START_TEST(mappings_of_other_files)
{
	struct rlimit files, none;
	char other[120];
	void *place;
	int fd, next;
	int ret;

	make(_i);
	snprintf(other, sizeof(other), "%s0", path);
	fd = open(other, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(place, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(unlink(other), 0);
	next = next_fd();
	put_peer(0, place);
	ck_assert_int_eq(found(), 0);
	put_peer(0, is_it);
	ck_assert_int_eq(found(), 0);
	put_peer(0, region.base);
	/* without a descriptor the places are not known */
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ret = found();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_int_eq(ret, -EMFILE);
	ck_assert_int_eq(found(), 1);
	ck_assert_int_eq(next_fd(), next);
	munmap(place, 4096);
	finish();
}
END_TEST

/* One IA may have mapped the region of another one several times. */
START_TEST(many_mappings_of_a_region)
{
	enum { TIMES = 12 };
	void *places[TIMES];
	int fd, n = 0;

	make(_i);
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (int i = 0; i < TIMES; i++) {
		places[i] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ck_assert_ptr_ne(places[i], MAP_FAILED);
	}
	close(fd);
	for (int i = 0; i < TIMES; i++) {
		put_peer(0, places[i]);
		n += found();
	}
	ck_assert_int_ge(n, 7); /* of the first eight one is the test's own */
	ck_assert_int_le(n, 8);
	for (int i = 0; i < TIMES; i++)
		munmap(places[i], SIZE);
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_peer_table");
	TCase *tcase = tcase_create("shm_peer_table");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, numbers_of_a_peer, 0, LAYOUTS);
	tcase_add_loop_test(tcase, no_table_yet, 0, V2_5_0);
	tcase_add_loop_test(tcase, mappings_of_other_files, 0, LAYOUTS);
	tcase_add_loop_test(tcase, many_mappings_of_a_region, 0, LAYOUTS);
	return t_run(suite);
}
