/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The length of the driver's naps if the fabric has no descriptor, and the conditions for it. */
#include "unit.h"

#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/progress/nap.c"

#define MS 1000000u

static struct dofi_ia ia;

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
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
