/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The length of the driver's naps if the fabric has no descriptor, and the conditions for it. */
#include "unit.h"

#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/progress/nap.c"

#define MS 1000000u

static struct dofi_ia ia;
static uint64_t now = UINT64_C(100000000) * MS;

uint64_t __wrap_dofi_now(void);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

/* An IA that was quiet for long and has a mark that all peers see. */
static void setup(void)
{
	atomic_store(&ia.engine.next_timer, UINT64_MAX);
	ia.cq_wait = FI_WAIT_NONE;
	ia.wait.marked = true;
	ia.wait.nap_ns = BLIND_SLEEP_NS;
	ia.wait.quiet_since = dofi_now() - 60000ull * MS;
}

/* Expects that a sleep which begins now takes at most this time. */
static void expect_at_most(uint64_t ns)
{
	uint64_t until = dofi_nap_until(&ia, DOFI_FOREVER, true);

	ck_assert_uint_le(until, dofi_now() + ns);
}

static void fall_asleep(void)
{
	for (int i = 0; i < 10; i++)
		dofi_nap_until(&ia, DOFI_FOREVER, true);
	ck_assert_uint_eq(ia.wait.nap_ns, LONGEST_WOKEN_NAP_NS);
	ck_assert(atomic_load(&ia.wait.deep));
}

START_TEST(naps_are_long_if_all_peers_send_wakeups)
{
	uint64_t before = dofi_now();

	fall_asleep();
	ck_assert_uint_ge(dofi_nap_until(&ia, DOFI_FOREVER, true), before + LONGEST_WOKEN_NAP_NS);
	ck_assert_uint_eq(dofi_nap_until(&ia, before + 1, true), before + 1);
}
END_TEST

START_TEST(naps_are_short_without_a_mark)
{
	ia.wait.marked = false;
	for (int i = 0; i < 10; i++)
		expect_at_most(BLIND_SLEEP_NS);
	ck_assert(!atomic_load(&ia.wait.deep));
}
END_TEST

START_TEST(naps_are_short_soon_after_an_event)
{
	ia.wait.quiet_since = dofi_now();
	expect_at_most(BLIND_SLEEP_NS);
	ck_assert(!atomic_load(&ia.wait.deep));
}
END_TEST

/* Parts of a write may come for a while, though nothing is complete. */
START_TEST(naps_stay_short_for_longer_over_sockets)
{
	ia.wait.quiet_since = dofi_now() - 100ull * MS;
	dofi_nap_until(&ia, DOFI_FOREVER, true);
	ck_assert_uint_gt(ia.wait.nap_ns, BLIND_SLEEP_NS);
	ia.quirks = DOFI_QUIRK_MUTE_QUEUE;
	ia.wait.nap_ns = BLIND_SLEEP_NS;
	ia.wait.quiet_since = dofi_now() - 100ull * MS;
	expect_at_most(BLIND_SLEEP_NS);
	ia.wait.quiet_since = dofi_now() - 60000ull * MS;
	fall_asleep();
	ia.quirks = 0;
}
END_TEST

START_TEST(naps_are_short_with_a_peer_that_sends_no_wakeups)
{
	fall_asleep();
	atomic_store(&ia.wakeup.deaf, 1);
	expect_at_most(BLIND_SLEEP_NS);
}
END_TEST

START_TEST(naps_are_short_while_a_request_waits)
{
	fall_asleep();
	if (_i)
		atomic_store(&ia.engine.nstalled, 1);
	else
		atomic_store(&ia.engine.restless, 1);
	expect_at_most(BLIND_SLEEP_NS);
}
END_TEST

START_TEST(naps_are_short_after_a_post)
{
	fall_asleep();
	atomic_store(&ia.wait.posted, true);
	expect_at_most(FIRST_NAP_NS);
	ck_assert(!atomic_load(&ia.wait.posted));
	expect_at_most(2 * FIRST_NAP_NS);
}
END_TEST

START_TEST(naps_are_short_after_an_event)
{
	fall_asleep();
	atomic_store(&ia.engine.handled, 1);
	expect_at_most(FIRST_NAP_NS);
}
END_TEST

START_TEST(queue_without_a_descriptor_is_polled)
{
	uint64_t before = dofi_now();

	ia.wait.nap_ns = 0;
	ia.cq_wait = _i ? FI_WAIT_FD : FI_WAIT_POLLFD;
	ck_assert_uint_le(dofi_nap_until(&ia, DOFI_FOREVER, false), dofi_now() + FIRST_LIST_NAP_NS);
	for (int i = 0; i < 10; i++)
		dofi_nap_until(&ia, DOFI_FOREVER, false);
	ck_assert_uint_ge(dofi_nap_until(&ia, DOFI_FOREVER, false), before + LONGEST_LIST_NAP_NS);
	ck_assert_uint_le(dofi_nap_until(&ia, DOFI_FOREVER, false),
			  dofi_now() + LONGEST_LIST_NAP_NS);
	atomic_fetch_add(&ia.engine.handled, 1);
	ck_assert_uint_le(dofi_nap_until(&ia, DOFI_FOREVER, false), dofi_now() + FIRST_LIST_NAP_NS);
}
END_TEST

/*
 * A sleep on a reliable descriptor has no limit. If reads mute the descriptor, or it misses events,
 * the sleep is short.
 */
START_TEST(queue_with_an_unreliable_descriptor_is_polled)
{
	ia.moves_alone = false;
	ia.cq_wait = FI_WAIT_FD;
	ck_assert_uint_eq(dofi_nap_until(&ia, DOFI_FOREVER, true), DOFI_FOREVER);
	ia.cq_mutes = _i == 0;
	ia.eqs.silent = _i == 1;
	for (int i = 0; i < 10; i++)
		ck_assert_uint_le(dofi_nap_until(&ia, DOFI_FOREVER, true),
				  dofi_now() + LONGEST_LIST_NAP_NS);
}
END_TEST

/* --- how long, to the nanosecond --- */

#define US 1000u

/* Expects the naps of a driver that finds nothing. */
static void expect_naps(const uint64_t *naps, bool with_cq)
{
	for (; *naps; naps++) {
		ck_assert_uint_eq(dofi_nap_until(&ia, DOFI_FOREVER, with_cq), now + *naps);
		now += *naps;
	}
}

static void expect_short_naps(void)
{
	static const uint64_t naps[] = {20 * US,  40 * US, 80 * US, 160 * US, 320 * US,
					640 * US, 1 * MS,  1 * MS,  0};

	expect_naps(naps, true);
	ck_assert(!atomic_load(&ia.wait.deep));
}

/* A request that waits, a peer that would not wake us, a connection that no descriptor shows. */
START_TEST(naps_double_up_to_a_millisecond)
{
	ia.wait.nap_ns = 0;
	if (_i == 0) {
		atomic_store(&ia.engine.nstalled, 1);
	} else if (_i == 1) {
		atomic_store(&ia.engine.restless, 1);
	} else if (_i == 2) {
		atomic_store(&ia.wakeup.deaf, 1);
	} else if (_i == 3) {
		ia.wait.marked = false;
	} else {
		ia.cq_wait = FI_WAIT_FD;
		ia.eqs.n = 1;
		ia.eqs.fd = -1;
		atomic_store(&ia.cm.nlinking, 1);
	}
	expect_short_naps();
	/* An event, or a post, makes them short again. */
	if (_i & 1)
		atomic_fetch_add(&ia.engine.handled, 1);
	else
		atomic_store(&ia.wait.posted, true);
	expect_short_naps();
	ck_assert(!atomic_load(&ia.wait.posted));
}
END_TEST

/* Those of a list of descriptors, which may not show what is there. */
START_TEST(naps_of_a_list_double_up_to_a_quarter_of_a_second)
{
	static const uint64_t naps[] = {32 * MS, 64 * MS, 128 * MS, 256 * MS, 256 * MS, 0};

	ia.wait.nap_ns = 0;
	ia.cq_wait = _i == 1 ? FI_WAIT_POLLFD : _i == 4 ? FI_WAIT_NONE : FI_WAIT_FD;
	ia.cq_mutes = _i == 2;
	ia.eqs.silent = _i == 3;
	expect_naps(naps, _i && _i != 4);
	atomic_fetch_add(&ia.engine.handled, 1);
	expect_naps(naps, _i && _i != 4);
}
END_TEST

/* A sixteenth of the quiet time, between one and 32 ms. */
START_TEST(naps_follow_the_quiet_time)
{
	static const struct {
		uint64_t quirks, quiet, nap;
	} cases[] = {
		{0, 16 * MS - 1, 1 * MS},
		{0, 16 * MS, 1 * MS},
		{0, 160 * MS, 10 * MS},
		{0, 512 * MS - 16, 32 * MS - 1},
		{0, 512 * MS, 32 * MS},
		{0, 10000 * (uint64_t)MS, 32 * MS},
		{DOFI_QUIRK_MUTE_QUEUE, 250 * MS - 1, 1 * MS},
		{DOFI_QUIRK_MUTE_QUEUE, 250 * MS, 15625 * US},
	};

	ia.quirks = cases[_i].quirks;
	ia.wait.nap_ns = 64 * MS;
	ia.wait.quiet_since = now - cases[_i].quiet;
	ck_assert_uint_eq(dofi_nap_until(&ia, DOFI_FOREVER, true), now + cases[_i].nap);
	ck_assert_uint_eq(ia.wait.nap_ns, cases[_i].nap);
	ck_assert_int_eq(atomic_load(&ia.wait.deep), cases[_i].nap > 1 * MS);
	ck_assert_uint_eq(ia.wait.quiet_since, now - cases[_i].quiet);
	/* An event begins another quiet time. */
	atomic_fetch_add(&ia.engine.handled, 1);
	ck_assert_uint_eq(dofi_nap_until(&ia, DOFI_FOREVER, true), now + 20 * US);
	ck_assert_uint_eq(ia.wait.quiet_since, now);
}
END_TEST

/* The nap ends for a timer, and for the end of the wait. */
START_TEST(naps_end_in_time)
{
	ia.cq_wait = _i ? FI_WAIT_FD : FI_WAIT_POLLFD;
	ia.wait.nap_ns = 0;
	ck_assert_uint_eq(dofi_nap_until(&ia, now + 7, true), now + 7);
	atomic_store(&ia.engine.next_timer, now + 6);
	ck_assert_uint_eq(dofi_nap_until(&ia, now + 7, true), now + 6);
	ck_assert_uint_eq(dofi_nap_until(&ia, now + 5, true), now + 5);
	ck_assert_uint_eq(dofi_nap_until(&ia, DOFI_FOREVER, true), now + 6);
	ck_assert_uint_eq(dofi_nap_blind_until(now + 5), now + 5);
	ck_assert_uint_eq(dofi_nap_blind_until(DOFI_FOREVER), now + 1 * MS);
}
END_TEST

/* Nothing is missed there. */
START_TEST(naps_beside_descriptors_that_show_all_have_no_end)
{
	ia.cq_wait = FI_WAIT_FD;
	ia.eqs.n = _i != 0;
	ia.eqs.fd = _i == 1 ? STDIN_FILENO : -1;
	atomic_store(&ia.cm.nlinking, _i != 2);
	ck_assert_uint_eq(dofi_nap_until(&ia, DOFI_FOREVER, true), DOFI_FOREVER);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nap");
	TCase *tc = tcase_create("nap");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, naps_are_long_if_all_peers_send_wakeups);
	tcase_add_test(tc, naps_are_short_without_a_mark);
	tcase_add_test(tc, naps_stay_short_for_longer_over_sockets);
	tcase_add_test(tc, naps_are_short_soon_after_an_event);
	tcase_add_test(tc, naps_are_short_with_a_peer_that_sends_no_wakeups);
	tcase_add_loop_test(tc, naps_are_short_while_a_request_waits, 0, 2);
	tcase_add_test(tc, naps_are_short_after_a_post);
	tcase_add_test(tc, naps_are_short_after_an_event);
	tcase_add_loop_test(tc, queue_without_a_descriptor_is_polled, 0, 2);
	tcase_add_loop_test(tc, queue_with_an_unreliable_descriptor_is_polled, 0, 2);
	tcase_add_loop_test(tc, naps_double_up_to_a_millisecond, 0, 5);
	tcase_add_loop_test(tc, naps_of_a_list_double_up_to_a_quarter_of_a_second, 0, 5);
	tcase_add_loop_test(tc, naps_follow_the_quiet_time, 0, 8);
	tcase_add_loop_test(tc, naps_end_in_time, 0, 2);
	tcase_add_loop_test(tc, naps_beside_descriptors_that_show_all_have_no_end, 0, 3);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
