/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timers of the engine: their order, and the deadline of a sleep. */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/progress/timer.h"
#include "../../../prov/ofi/progress/engine.h"
#include "progress/work.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>

static struct dofi_ia ia;
static uint64_t now = 1000000000;
static int kicks;   /* of a driver that may sleep */
static bool awakes; /* the last of them found the driver asleep */

uint64_t __wrap_dofi_now(void);
void __wrap_dofi_wait_kick(struct dofi_ia *of);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	awakes = atomic_load(&of->wait.asleep); /* first, as the real function */
	ck_assert_ptr_eq(of, &ia);
	kicks++;
}

static void on_fire(struct dofi_timer *timer)
{
	(void)timer;
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_work_init(&ia.engine);
	atomic_store(&ia.engine.next_timer, UINT64_MAX);
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
}

static uint64_t next(void)
{
	return atomic_load(&ia.engine.next_timer);
}

START_TEST(test_deadline_is_that_of_the_first_timer)
{
	struct dofi_timer a = {.fire = on_fire}, b = {.fire = on_fire}, c = {.fire = on_fire};

	dofi_timer_set(&ia, &a, 200);
	ck_assert_uint_eq(next(), 200);
	dofi_timer_set(&ia, &b, 300);
	ck_assert_uint_eq(next(), 200);
	dofi_timer_set(&ia, &c, 100);
	ck_assert_uint_eq(next(), 100);
	dofi_timer_cancel(&ia, &c);
	ck_assert_uint_eq(next(), 200);
	dofi_timer_cancel(&ia, &a);
	dofi_timer_cancel(&ia, &b);
	ck_assert_uint_eq(next(), UINT64_MAX);
}
END_TEST

START_TEST(test_deadline_follows_when_the_first_timer_moves)
{
	struct dofi_timer a = {.fire = on_fire}, b = {.fire = on_fire};

	dofi_timer_set(&ia, &a, 100);
	dofi_timer_set(&ia, &b, 300);
	dofi_timer_set(&ia, &a, 200); /* still the first */
	ck_assert_uint_eq(next(), 200);
	dofi_timer_set(&ia, &a, 400); /* no longer */
	ck_assert_uint_eq(next(), 300);
	dofi_timer_set(&ia, &b, 500);
	ck_assert_uint_eq(next(), 400);
}
END_TEST

/* The sleep of the driver would take too long. */
START_TEST(test_a_new_first_timer_ends_the_sleep)
{
	struct dofi_timer a = {.fire = on_fire}, b = {.fire = on_fire};

	dofi_timer_set(&ia, &a, 200);
	ck_assert_int_eq(kicks, 1);
	dofi_timer_set(&ia, &b, 300);
	ck_assert_int_eq(kicks, 1);
	dofi_timer_set(&ia, &b, 100);
	ck_assert_int_eq(kicks, 2);
	dofi_timer_set(&ia, &b, 150);
	ck_assert_int_eq(kicks, 3);
	dofi_timer_set(&ia, &b, 400);
	dofi_timer_cancel(&ia, &a);
	ck_assert_int_eq(kicks, 3);
	ck_assert_uint_eq(next(), 400);
}
END_TEST

START_TEST(test_a_timer_is_due_at_its_deadline)
{
	struct dofi_timer a = {.fire = on_fire}, b = {.fire = on_fire}, c = {.fire = on_fire};

	ck_assert(!dofi_timer_is_due(&ia));
	dofi_timer_set(&ia, &a, now - 1);
	dofi_timer_set(&ia, &b, now);
	dofi_timer_set(&ia, &c, now + 1);
	ck_assert(dofi_timer_is_due(&ia));
	ck_assert_int_eq(dofi_timer_run_due(&ia), 2);
	ck_assert(!dofi_timer_is_due(&ia));
	ck_assert_int_eq(dofi_timer_run_due(&ia), 0);
	ck_assert_uint_eq(next(), now + 1);
	now++;
	ck_assert(dofi_timer_is_due(&ia));
	ck_assert_int_eq(dofi_timer_run_due(&ia), 1);
	ck_assert_uint_eq(next(), UINT64_MAX);
	ck_assert_ptr_null(ia.engine.timers);
	dofi_timer_cancel(&ia, &a); /* has no effect */
	ck_assert_ptr_null(ia.engine.timers);
}
END_TEST

/* Whichever of them is cancelled. */
START_TEST(test_equal_deadlines_fire_together)
{
	struct dofi_timer equal[5];

	for (int i = 0; i < 5; i++) {
		equal[i] = (struct dofi_timer){.fire = on_fire};
		dofi_timer_set(&ia, &equal[i], 100);
	}
	dofi_timer_cancel(&ia, &equal[_i]);
	ck_assert_uint_eq(next(), 100);
	ck_assert_int_eq(dofi_timer_run_due(&ia), 4);
}
END_TEST

#define MANY 300u

static struct dofi_timer many[MANY];
static bool is_set[MANY];
static uint64_t last_fired;
static unsigned int nfired;

/* Every third one is set again, and fires once more. */
static void fire_in_order(struct dofi_timer *timer)
{
	size_t i = (size_t)(timer - many);

	ck_assert(is_set[i]);
	ck_assert_uint_ge(timer->deadline, last_fired);
	last_fired = timer->deadline;
	nfired++;
	is_set[i] = i % 3 == 0 && timer->deadline < 1000000;
	if (is_set[i])
		dofi_timer_set(&ia, timer, timer->deadline + 1000000);
}

/* The deadline of the first one, found without the engine. */
static uint64_t first_deadline(void)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < MANY; i++)
		if (is_set[i] && many[i].deadline < first)
			first = many[i].deadline;
	return first;
}

START_TEST(test_many_timers_fire_in_the_order_of_their_deadlines)
{
	uint32_t random = 1;
	unsigned int expected = 0;

	for (unsigned int step = 0; step < 100 * MANY; step++) {
		random = random * 1664525u + 1013904223u;
		size_t i = (random >> 16) % MANY;

		many[i].fire = fire_in_order;
		is_set[i] = random >> 30;
		if (is_set[i])
			dofi_timer_set(&ia, &many[i], random >> 13 & 0x3ff);
		else
			dofi_timer_cancel(&ia, &many[i]);
		ck_assert_uint_eq(next(), first_deadline());
	}
	for (size_t i = 0; i < MANY; i++)
		expected += is_set[i] ? 1 + (i % 3 == 0) : 0;
	ck_assert_uint_gt(expected, MANY / 2);
	ck_assert_int_eq(dofi_timer_run_due(&ia), (int)expected);
	ck_assert_uint_eq(nfired, expected);
	ck_assert_uint_eq(next(), UINT64_MAX);
	ck_assert_uint_eq(first_deadline(), UINT64_MAX);
}
END_TEST

/* Callers go on polling as long as a round has handled something. */
START_TEST(test_a_round_counts_the_timers_that_fired)
{
	struct dofi_timer a = {.fire = on_fire}, b = {.fire = on_fire};

	ia.engine.sock_epfd = epoll_create1(0);
	dofi_timer_set(&ia, &a, 1);
	dofi_timer_set(&ia, &b, 2);
	ck_assert_int_eq(dofi_engine_round(&ia, true), 2);
	ck_assert_uint_eq(ia.engine.handled, 2);
	ck_assert_int_eq(dofi_engine_round(&ia, true), 0);
	ck_assert_uint_eq(ia.engine.handled, 2);
}
END_TEST

/* --- a driver that goes to sleep at the same moment --- */

#define SLEEPS 100000u

static _Atomic uint32_t turn, slept; /* number of the sleep that begins; of the last one */
static uint64_t until;               /* the deadline that the driver saw */

static void await(_Atomic uint32_t *word, uint32_t wanted)
{
	for (uint32_t i = 1; atomic_load(word) != wanted; i++)
		if (i % 1000 == 0)
			sched_yield();
}

static void *go_to_sleep(void *arg)
{
	for (uint32_t i = 1; i <= SLEEPS; i++) {
		await(&turn, i);
		atomic_store(&ia.wait.asleep, true);
		until = next();
		atomic_store(&slept, i);
	}
	return arg;
}

/* It sees the new deadline, or is woken. */
START_TEST(a_timer_is_not_missed_by_a_driver_that_falls_asleep)
{
	struct dofi_timer timer = {.fire = on_fire};
	uint32_t missed = 0;
	pthread_t driver;

	ck_assert_int_eq(pthread_create(&driver, NULL, go_to_sleep, NULL), 0);
	for (uint32_t i = 1; i <= SLEEPS; i++) {
		atomic_store(&ia.wait.asleep, false);
		atomic_store(&turn, i);
		for (volatile uint32_t wait = 0; wait < i % 40; wait++)
			;
		dofi_timer_set(&ia, &timer, 1000 + i);
		await(&slept, i);
		missed += !awakes && until != 1000 + i;
		dofi_timer_cancel(&ia, &timer);
	}
	pthread_join(driver, NULL);
	ck_assert_uint_eq(missed, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("timer");
	TCase *tc = tcase_create("timer");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_deadline_is_that_of_the_first_timer);
	tcase_add_test(tc, test_deadline_follows_when_the_first_timer_moves);
	tcase_add_test(tc, test_a_new_first_timer_ends_the_sleep);
	tcase_add_test(tc, test_a_timer_is_due_at_its_deadline);
	tcase_add_loop_test(tc, test_equal_deadlines_fire_together, 0, 5);
	tcase_add_test(tc, test_many_timers_fire_in_the_order_of_their_deadlines);
	tcase_add_test(tc, test_a_round_counts_the_timers_that_fired);
	tcase_add_test(tc, a_timer_is_not_missed_by_a_driver_that_falls_asleep);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
