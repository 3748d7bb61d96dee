/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests that a dead process can not answer any more: they end, those of other peers go on. */
#include "made_region.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* The table of peers, in which the second is mapped where this test has mapped its own region. */
static char *map_of_peers(unsigned int first, unsigned int size)
{
	static uint64_t map[10000];
	uintptr_t place = (uintptr_t)region.base;

	memset(map, 0, sizeof(map));
	memcpy((char *)map + first + size + 272, &place, sizeof(place));
	return (char *)map;
}

static void put_request(unsigned int i, uint64_t *request, int64_t peer, uint16_t source)
{
	unsigned int answer = RESP_RING + 32 + 16 * i;
	uint64_t length = 100, offset = answer;

	memset(request, 0, 45 * sizeof(*request));
	memcpy((char *)request + 20, &source, sizeof(source));
	memcpy((char *)request + 24, &length, sizeof(length));
	memcpy((char *)request + 32, &offset, sizeof(offset));
	memcpy((char *)request + 256, &peer, sizeof(peer));
	put(answer, (uintptr_t)request, 8);
	put(answer + 8, source == 4 ? 1026 : EBUSY, 8);
}

static uint64_t status_of(unsigned int i)
{
	return get(RESP_RING + 32 + 16 * i + 8, 8);
}

/* Two commands wait for the dead peer, one of them with buffers. A third waits for another peer. */
START_TEST(commands_for_a_dead_process_end)
{
	static uint64_t requests[3][45];

	make(_i);
	put(_i ? 64 : 32, (uintptr_t)map_of_peers(88, _i ? 288 : 280), 8);
	put(RESP_RING, ENTRIES, 8);
	put(RESP_RING + 8, ENTRIES - 1, 8);
	put(RESP_RING + 24, 3, 8);
	put_request(0, requests[0], 1, 2);
	put_request(1, requests[1], 0, 2);
	put_request(2, requests[2], 1, 4);
	ck_assert(!dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), _i ? EIO : (uint64_t)-EIO);
	ck_assert_uint_eq(status_of(1), EBUSY);
	ck_assert_uint_eq(status_of(2), 1025);
	ck_assert_uint_eq(requests[2][44], 100);
	put(RESP_RING + 16, 1, 8);
	put_request(2, requests[2], 0, 2);
	put_request(1, requests[1], 1, 2);
	put(RESP_RING + 32 + 16 + 8, 0, 8); /* answered already */
	dofi_shm_settle(&region, &region);
	ck_assert_uint_eq(status_of(1), 0);
	put_request(1, requests[1], 0, 2);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(2), EBUSY);
	finish();
}
END_TEST

/* One request for the peer of that number, at the position in the ring. */
static void put_one(uint64_t *request, size_t position, int64_t peer)
{
	put(RESP_RING, ENTRIES, 8);
	put(RESP_RING + 8, ENTRIES - 1, 8);
	put(RESP_RING + 16, position, 8);
	put(RESP_RING + 24, position + 1, 8);
	put_request(position % ENTRIES, request, peer, 2);
}

/* Makes this place the one of the peer with that number. */
static char *peer_of(char *map, unsigned int number, const void *place)
{
	uintptr_t address = (uintptr_t)place;

	memcpy(map + 88 + 272 + number * (at->number == 4 ? 280 : 288), &address, sizeof(address));
	return map;
}

/* Only those of the dead peer end, wherever they are in the ring. */
START_TEST(requests_for_others_go_on)
{
	static const struct {
		int64_t peer;
		bool ends;
	} peers[] = {{0, true},    {1, false},  {254, false},      {255, true},
		     {256, false}, {-1, false}, {INT64_MIN, false}};
	static uint64_t request[45];
	char *map;

	make(_i);
	map = map_of_peers(88, 0);
	memset(map, 0, 80000);
	peer_of(peer_of(map, 0, region.base), 255, region.base);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		put(_i ? 64 : 32, (uintptr_t)map, 8);
		put(28, 0, 4);
		put_one(request, 3 * i, peers[i].peer);
		ck_assert_int_eq(dofi_shm_settle(&region, &region), !peers[i].ends);
		if (peers[i].ends)
			ck_assert_uint_eq(status_of(3 * i % ENTRIES), _i ? EIO : (uint64_t)-EIO);
		else
			ck_assert_uint_eq(status_of(3 * i % ENTRIES), EBUSY);
		ck_assert_uint_eq(get(28, 4), _i ? 0 : 1); /* layout 4 has a signal there */
		ck_assert_uint_eq(get(0, 1), at->number);
	}
	/* an answer that is free, and one of another request */
	put_one(request, 0, 0);
	put(RESP_RING + 32, 0, 8);
	ck_assert(dofi_shm_settle(&region, &region));
	put_one(request, 0, 0);
	request[4]++;
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	/* libfabric has no table yet */
	put_one(request, 0, 0);
	put(_i ? 64 : 32, 0, 8);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	finish();
}
END_TEST

/* The table ends with its last peer. Without the dead peer nothing changes. */
START_TEST(what_is_behind_the_table)
{
	static uint64_t request[45];
	char *map;

	make(0);
	map = map_of_peers(88, 0);
	memset(map, 0, 80000);
	put(32, (uintptr_t)peer_of(map, 256, region.base), 8);
	put_one(request, 0, 0);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	ck_assert_uint_eq(get(28, 4), 0);
	peer_of(map, 255, region.base);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	ck_assert_uint_eq(get(28, 4), 1);
	finish();
}
END_TEST

/* A peer is known by the place of its region, among other files of the directory and memory. */
START_TEST(mappings_of_other_files)
{
	static uint64_t request[45];
	struct rlimit files, none;
	char other[120], *map;
	void *place;
	int fd, next, ret;

	make(0);
	snprintf(other, sizeof(other), "%s0", path);
	fd = open(other, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(place, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(unlink(other), 0);
	next = next_fd();
	map = peer_of(map_of_peers(88, 0), 0, place);
	put(32, (uintptr_t)map, 8);
	put_one(request, 0, 0);
	ck_assert(dofi_shm_settle(&region, &region));
	peer_of(map, 0, request);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	peer_of(map, 0, region.base);
	/* without a descriptor the places are not known, so it is tried again */
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ret = dofi_shm_settle(&region, &region);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert(ret);
	ck_assert_uint_eq(status_of(0), EBUSY);
	ck_assert(!dofi_shm_settle(&region, &region));
	ck_assert_int_eq(next_fd(), next);
	munmap(place, 4096);
	finish();
}
END_TEST

/* One IA may have mapped the region of another one several times. */
START_TEST(many_mappings_of_a_region)
{
	enum { TIMES = 12 };
	static uint64_t request[45];
	void *places[TIMES];
	int fd, found = 0;
	char *map;

	make(0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (int i = 0; i < TIMES; i++) {
		places[i] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ck_assert_ptr_ne(places[i], MAP_FAILED);
	}
	close(fd);
	map = map_of_peers(88, 0);
	put(32, (uintptr_t)map, 8);
	for (int i = 0; i < TIMES; i++) {
		peer_of(map, 0, places[i]);
		put_one(request, 0, 0);
		found += !dofi_shm_settle(&region, &region);
	}
	ck_assert_int_ge(found, 7); /* of the first eight one is the test's own */
	ck_assert_int_le(found, 8);
	for (int i = 0; i < TIMES; i++)
		munmap(places[i], SIZE);
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_requests");
	TCase *tcase = tcase_create("shm_layout");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, requests_for_others_go_on, 0, 2);
	tcase_add_test(tcase, what_is_behind_the_table);
	tcase_add_test(tcase, mappings_of_other_files);
	tcase_add_test(tcase, many_mappings_of_a_region);
	tcase_add_loop_test(tcase, commands_for_a_dead_process_end, 0, 2);
	return t_run(suite);
}
