/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connect that finds no listener: which ports it tries, how long, and how often. The listener may
 * be about to start.
 */
#include "unit.h"

#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/conn_event.h"
#include "../../../prov/ofi/cm/redial.h"
#include "../../../prov/ofi/cm/wire.h"
#include "../../../prov/ofi/object/ia.h"

#define MS    UINT64_C(1000000)
#define GRACE 250u
#define PORT  1040u
#define LONG  (UINT64_C(1) << 40) /* a qualifier that several ports may serve */

static struct dofi_ia ia = {.params.listen_grace_ms = GRACE};
static struct dofi_conn conn = {.ia = &ia, .conn_qual = PORT, .deadline = DOFI_FOREVER};
static uint64_t now = 1000 * MS;
static int redials;

uint64_t __wrap_dofi_now(void);
void __wrap_dofi_wait_kick(struct dofi_ia *of);
void __wrap_dofi_conn_handle(struct dofi_conn *of, enum dofi_conn_event event,
			     const struct dofi_msg *msg);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
}

void __wrap_dofi_conn_handle(struct dofi_conn *of, enum dofi_conn_event event,
			     const struct dofi_msg *msg)
{
	ck_assert_ptr_eq(of, &conn);
	ck_assert_int_eq(event, DOFI_ON_REDIAL);
	ck_assert_ptr_null(msg);
	redials++;
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_list_init(&ia.engine.timers);
	dofi_lock(&ia.engine.lock);
}

/* The pause before the next round, at the end of which it begins. */
static uint64_t pause_ms(void)
{
	struct dofi_timer *timer = &conn.redial.timer;
	uint64_t before = now;

	ck_assert(dofi_redial_later(&conn));
	ck_assert_ptr_eq(ia.engine.timers.next, &timer->link);
	now = timer->deadline;
	dofi_list_del(&timer->link);
	redials = 0;
	timer->fire(timer);
	ck_assert_int_eq(redials, 1);
	return (now - before) / MS;
}

START_TEST(the_pauses_grow_to_a_limit)
{
	static const uint64_t expected[] = {2, 4, 8, 16, 32, 32, 32};

	dofi_redial_refused(&conn);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		ck_assert_uint_eq(pause_ms(), expected[i]);
}
END_TEST

/* The last round begins when the time is over, and is the last one. */
START_TEST(a_listener_has_some_time_to_start)
{
	uint64_t began = now, end = _i ? 40 * MS : GRACE * MS;

	conn.deadline = _i ? now + end : now + end + 1;
	dofi_redial_refused(&conn);
	do
		pause_ms();
	while (now < began + end);
	ck_assert_uint_eq(now, began + end);
	ck_assert(!dofi_redial_later(&conn));
	ck_assert(dofi_list_empty(&ia.engine.timers));
}
END_TEST

/* The peer cannot be reached at all. */
START_TEST(without_a_refusal_there_is_no_other_round)
{
	ck_assert(!dofi_redial_later(&conn));
	ck_assert(dofi_list_empty(&ia.engine.timers));
}
END_TEST

START_TEST(a_short_qualifier_has_one_port)
{
	uint16_t port = 0;

	ck_assert(dofi_redial_next(&conn, &port));
	ck_assert_uint_eq(port, PORT);
	conn.candidate++;
	ck_assert(!dofi_redial_next(&conn, &port));
}
END_TEST

/* The first round tries each port, later ones only those where the listener may start. */
START_TEST(later_rounds_try_the_ports_that_refused)
{
	uint16_t port, expected;

	conn.conn_qual = LONG;
	for (conn.candidate = 0; conn.candidate < DOFI_PORT_TRIES; conn.candidate++) {
		ck_assert(dofi_redial_next(&conn, &port));
		ck_assert(dofi_port_candidate(LONG, conn.candidate, &expected));
		ck_assert_uint_eq(port, expected);
		if (conn.candidate == 1 || conn.candidate == DOFI_PORT_TRIES - 1)
			dofi_redial_refused(&conn);
	}
	ck_assert(!dofi_redial_next(&conn, &port));
	pause_ms();
	conn.candidate = 0;
	ck_assert(dofi_redial_next(&conn, &port));
	ck_assert_uint_eq(conn.candidate, 1);
	ck_assert(dofi_port_candidate(LONG, 1, &expected));
	ck_assert_uint_eq(port, expected);
	conn.candidate++;
	ck_assert(dofi_redial_next(&conn, &port));
	ck_assert_uint_eq(conn.candidate, DOFI_PORT_TRIES - 1);
	conn.candidate++;
	ck_assert(!dofi_redial_next(&conn, &port));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("redial");
	TCase *tcase = tcase_create("redial");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, the_pauses_grow_to_a_limit);
	tcase_add_loop_test(tcase, a_listener_has_some_time_to_start, 0, 2);
	tcase_add_test(tcase, without_a_refusal_there_is_no_other_round);
	tcase_add_test(tcase, a_short_qualifier_has_one_port);
	tcase_add_test(tcase, later_rounds_try_the_ports_that_refused);
	return t_run(suite);
}
