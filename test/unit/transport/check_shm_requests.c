/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests that a dead process can not answer any more: they end, those of other peers go on. */
#include "made_region.h"

#include "transport/shm_requests.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

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
	put_peer(1, region.base);
	put(RESP_RING, ENTRIES, 8);
	put(RESP_RING + 8, ENTRIES - 1, 8);
	put(RESP_RING + 24, 3, 8);
	put_request(0, requests[0], 1, 2);
	put_request(1, requests[1], 0, 2);
	put_request(2, requests[2], 1, 4);
	ck_assert(!dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), (uint64_t)at->failure);
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

/* Only those of the dead peer end, wherever they are in the ring. */
START_TEST(requests_for_others_go_on)
{
	static const struct {
		int64_t peer;
		bool ends;
	} peers[] = {{0, true},    {1, false},  {254, false},      {255, true},
		     {256, false}, {-1, false}, {INT64_MIN, false}};
	static uint64_t request[45];

	make(_i);
	put_peer(0, region.base);
	put_peer(255, region.base);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		put(at->signal, 0, 4);
		put_one(request, 3 * i, peers[i].peer);
		ck_assert_int_eq(dofi_shm_settle(&region, &region), !peers[i].ends);
		if (peers[i].ends)
			ck_assert_uint_eq(status_of(3 * i % ENTRIES), (uint64_t)at->failure);
		else
			ck_assert_uint_eq(status_of(3 * i % ENTRIES), EBUSY);
		if (at->signal)
			ck_assert_uint_eq(get(at->signal, 4), 1);
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
	put(at->map, 0, 8);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	finish();
}
END_TEST

/* Without the dead peer in the table nothing changes. */
START_TEST(a_dead_peer_that_is_not_known)
{
	static uint64_t request[45];
	struct rlimit files, none;
	bool settled;

	make(V1_17);
	put_one(request, 0, 0);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	ck_assert_uint_eq(get(28, 4), 0);
	put_peer(255, region.base);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	ck_assert_uint_eq(get(28, 4), 1);
	/* without a descriptor it is not known whether requests wait */
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	settled = dofi_shm_settle(&region, &region);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert(!settled);
	finish();
}
END_TEST

START_TEST(layouts_without_requests)
{
	make(_i);
	put_peer(0, region.base);
	ck_assert(dofi_shm_settle(&region, &region));
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_requests");
	TCase *tcase = tcase_create("shm_requests");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, requests_for_others_go_on, 0, V2_5_0);
	tcase_add_test(tcase, a_dead_peer_that_is_not_known);
	tcase_add_loop_test(tcase, layouts_without_requests, V2_5_0, LAYOUTS);
	tcase_add_loop_test(tcase, commands_for_a_dead_process_end, 0, V2_5_0);
	return t_run(suite);
}
