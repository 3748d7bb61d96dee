/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often a round of the engine reads the completion queue. */
#include "unit.h"

#include "../../../prov/ofi/progress/engine.c"

static struct dofi_ia ia;
static int reads, comes_at;

/* One completion, with the read of that number; 0: never. */
static int reap(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	dofi_assert_held(&of->engine.lock);
	return ++reads == comes_at;
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_list_init(&ia.engine.work);
	ia.engine.has_fabric = true;
	ia.engine.reap = reap;
	reads = comes_at = 0;
}

static int round_with(uint64_t quirks)
{
	int n;

	ia.quirks = quirks;
	dofi_lock(&ia.engine.lock);
	n = dofi_engine_round(&ia, false);
	dofi_unlock(&ia.engine.lock);
	return n;
}

START_TEST(a_queue_is_read_once)
{
	ck_assert_int_eq(round_with(0), 0);
	ck_assert_int_eq(reads, 1);
}
END_TEST

/* A write of many KiB comes in pieces, and only its end, or a later message, has an event. */
START_TEST(a_mute_queue_is_read_until_it_has_an_event)
{
	comes_at = READS_OF_MUTE_QUEUE / 2;
	ck_assert_int_eq(round_with(DOFI_QUIRK_MUTE_QUEUE), 1);
	ck_assert_int_eq(reads, comes_at);
}
END_TEST

START_TEST(a_mute_queue_without_events_does_not_hold_the_driver)
{
	ck_assert_int_eq(round_with(DOFI_QUIRK_MUTE_QUEUE), 0);
	ck_assert_int_eq(reads, 1 + READS_OF_MUTE_QUEUE);
}
END_TEST

START_TEST(a_closed_fabric_is_not_read)
{
	ia.engine.has_fabric = false;
	ck_assert_int_eq(round_with(DOFI_QUIRK_MUTE_QUEUE), 0);
	ck_assert_int_eq(reads, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine");
	TCase *tcase = tcase_create("round");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_queue_is_read_once);
	tcase_add_test(tcase, a_mute_queue_is_read_until_it_has_an_event);
	tcase_add_test(tcase, a_mute_queue_without_events_does_not_hold_the_driver);
	tcase_add_test(tcase, a_closed_fabric_is_not_read);
	return t_run(suite);
}
