/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The thread that drives: what each of its rounds reads, when it sleeps, what ends its wait, and
 * whom it and others wake. The linker redirects rounds, sleeps and the clock to this file.
 */
#include "../../../prov/ofi/progress/wait.c"

#include "noted_rounds.h"

#include <signal.h>

#define NOW UINT64_C(1000)

static _Atomic uint32_t wakeup, another;

/* --- rounds and sleeps --- */

static uint32_t wake_in, raise_in; /* number of a round, from 1; 0: none */
static uint64_t deadline_seen;
static uint32_t cancel_after; /* the sleep behind so many others cancels the thread; 0: none */

uint64_t __wrap_dofi_now(void);

/* The clock stands still, but for the round of this number. 0: none */
static uint32_t late_in;
static uint64_t late_by;

uint64_t __wrap_dofi_now(void)
{
	return NOW + (late_in && rounds >= late_in ? late_by : 0);
}

static void see_round(void)
{
	sigset_t now;
	int cancel;

	ck_assert(atomic_load(&ia.wait.driven));
	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	ck_assert_int_eq(sigismember(&now, SIGALRM), 1);
	ck_assert_int_eq(sigismember(&now, SIGSEGV), 0); /* of an agent */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ck_assert_int_eq(cancel, PTHREAD_CANCEL_DISABLE);
	if (rounds == wake_in)
		dofi_wait_wake(&ia, &wakeup);
	if (rounds == raise_in)
		raise(SIGALRM);
	errno = EINTR; /* of no meaning for the driver */
}

static void see_sleep(const _Atomic uint32_t *word, uint32_t seen, uint64_t deadline,
		      const struct dofi_interrupts *allowed)
{
	ck_assert_ptr_eq(word, &wakeup);
	ck_assert_uint_eq(seen, 0);
	ck_assert_int_eq(sigismember(&allowed->blocked, SIGALRM), 0);
	ck_assert_int_eq(sigismember(&allowed->blocked, SIGUSR1), 1);
	deadline_seen = deadline;
	if (cancel_after && sleeps == cancel_after) {
		pthread_cancel(pthread_self());
		pthread_setcancelstate(allowed->cancel, NULL);
		pthread_testcancel();
	}
}

static int signals;

static void caught(int number)
{
	(void)number;
	signals++;
}

static void setup(void)
{
	const struct sigaction action = {.sa_handler = caught};
	sigset_t mask;

	begin_rounds();
	dofi_lock_init_level(&ia.obj_lock, DOFI_LEVEL_LEAF);
	dofi_wait_init(&ia);
	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void teardown(void)
{
	sigset_t after;

	pthread_sigmask(SIG_SETMASK, NULL, &after);
	ck_assert_int_eq(sigismember(&after, SIGALRM), 0);
	ck_assert_int_eq(sigismember(&after, SIGUSR1), 1);
	ck_assert_int_eq(atomic_load(&ia.wait.lock.word), DOFI_LOCK_FREE);
	end_rounds();
	dofi_wait_fini(&ia);
}

/* Waits until the round of this number wakes the thread. */
static void drive_to(uint32_t round)
{
	wake_in = round;
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, DOFI_FOREVER), 0);
	ck_assert_uint_eq(rounds, round);
	ck_assert(!atomic_load(&ia.wait.driven));
	ck_assert_uint_eq(atomic_load(&ia.engine.activity), 1);
}

START_TEST(the_first_round_is_full_and_may_suffice)
{
	drive_to(1);
	ck_assert(was_full[1]);
	ck_assert_uint_eq(sleeps, 0);
}
END_TEST

/* What woke it may be anything, unless the queue alone was ready. */
START_TEST(a_round_is_full_unless_the_queue_alone_ended_the_sleep)
{
	endings[2] = 1;
	drive_to(4);
	ck_assert(!was_full[2]);
	ck_assert(was_full[3]);
	ck_assert(!was_full[4]);
	ck_assert_uint_eq(sleeps, 3);
	ck_assert_uint_eq(deadline_seen, DOFI_FOREVER);
}
END_TEST

/* However busy the queue is, others get their turn. */
START_TEST(full_rounds_come_at_intervals)
{
	drive_to(3 * DOFI_ROUNDS_PER_FULL);
	for (uint32_t i = 1; i <= rounds; i++)
		ck_assert(was_full[i] == (i % DOFI_ROUNDS_PER_FULL == 1));
}
END_TEST

START_TEST(a_due_timer_makes_a_round_full)
{
	atomic_store(&ia.engine.next_timer, NOW + !_i);
	drive_to(2);
	ck_assert(was_full[2] == _i);
}
END_TEST

/* The sleep looks at the queue once more; where it does not, another round does. */
START_TEST(a_round_that_finds_something_is_repeated_where_no_sleep_looks_at_the_queue)
{
	static const struct {
		enum fi_wait_obj wait;
		bool moves_alone, repeats;
	} cases[] = {{FI_WAIT_FD, false, false},
		     {FI_WAIT_POLLFD, false, false},
		     {FI_WAIT_FD, true, true},
		     {FI_WAIT_NONE, false, true},
		     {FI_WAIT_NONE, true, true}};

	ia.cq_wait = cases[_i].wait;
	ia.moves_alone = cases[_i].moves_alone;
	found[1] = 3;
	drive_to(3);
	ck_assert(slept_after[1] == !cases[_i].repeats);
	ck_assert(slept_after[2]);
	ck_assert(was_full[2] == cases[_i].repeats);
	ck_assert(!was_full[3]);
}
END_TEST

/* No descriptor shows an event of a connection, which may have ended the sleep. */
START_TEST(a_round_that_finds_nothing_is_repeated_in_full_for_a_silent_connection)
{
	ia.eqs.silent = _i;
	found[4] = 1;
	drive_to(6);
	if (_i) { /* sleep, round, full round, sleep, round with an event, sleep, round */
		ck_assert(slept_after[1] && !slept_after[2] && slept_after[3] && slept_after[4]);
		ck_assert(!was_full[2] && was_full[3] && !was_full[4] && !was_full[5]);
		ck_assert(!slept_after[5] && was_full[6]);
	} else {
		for (uint32_t i = 1; i < rounds; i++)
			ck_assert(slept_after[i] && was_full[i] == (i == 1));
	}
}
END_TEST

/* It would wake up later than the next message about a connection comes. */
START_TEST(it_looks_again_while_messages_about_connections_follow_each_other)
{
	dofi_wait_stay_awake(&ia);
	late_in = 3;
	late_by = AWAKE_NS - !_i;
	drive_to(6);
	for (uint32_t i = 1; i < rounds; i++) {
		ck_assert(slept_after[i] == (_i && i >= late_in));
		ck_assert(was_full[i] == (!_i || i <= late_in));
	}
	ck_assert((atomic_load(&ia.wait.awake_until) == 0) == _i);
}
END_TEST

START_TEST(a_thread_that_stays_awake_notices_the_deadline_and_signals)
{
	dofi_wait_stay_awake(&ia);
	if (_i) {
		raise_in = 2;
		ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, DOFI_FOREVER), -EINTR);
		ck_assert_uint_eq(rounds, ROUNDS_PER_SIGNAL_LOOK);
	} else {
		late_in = 2;
		late_by = 7;
		ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, NOW + 7), -ETIMEDOUT);
		ck_assert_uint_eq(rounds, 2);
	}
	ck_assert_uint_eq(sleeps, 0);
}
END_TEST

START_TEST(a_wait_ends_at_its_deadline)
{
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, NOW - (uint64_t)_i), -ETIMEDOUT);
	ck_assert_uint_eq(rounds, 1);
	ck_assert_uint_eq(sleeps, 0);
	ck_assert(was_full[1]);
	ck_assert(!atomic_load(&ia.wait.driven));
}
END_TEST

/* --- a wait of an agent that the driver's round has called --- */

static int waited = 1;
static bool goes_on; /* to drive, after the wait */

static void wait_for_next_round(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	wake_in = rounds + 1;
	waited = dofi_wait_sleep(&ia, &wakeup, 0, NOW);
	goes_on = atomic_load(&ia.wait.driven);
}

/* Nobody else drives meanwhile. */
START_TEST(the_driver_drives_while_its_agent_waits)
{
	make_agent_due(wait_for_next_round);
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, NOW), 0);
	ck_assert_int_eq(waited, 0);
	ck_assert(goes_on);
	ck_assert_uint_eq(rounds, 2);
	ck_assert(was_full[2]);
	ck_assert(!atomic_load(&ia.wait.driven));
}
END_TEST

/* Another thread drives. */
START_TEST(a_wait_beside_the_driver_ends_at_its_deadline)
{
	atomic_store(&ia.wait.driven, true);
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, NOW - (uint64_t)_i), -ETIMEDOUT);
	ck_assert_uint_eq(rounds, 0);
	ck_assert(atomic_load(&ia.wait.driven));
}
END_TEST

START_TEST(a_wait_sleeps_before_its_deadline)
{
	wake_in = 2;
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, NOW + 1), 0);
	ck_assert_uint_eq(sleeps, 1);
	ck_assert_uint_eq(deadline_seen, NOW + 1);
}
END_TEST

/* The event and the end of the time come together. */
START_TEST(an_event_counts_more_than_the_deadline_and_a_signal)
{
	wake_in = 1 + (uint32_t)_i;
	endings[1] = -EINTR;
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, _i ? DOFI_FOREVER : NOW), 0);
	ck_assert_uint_eq(rounds, wake_in);
}
END_TEST

START_TEST(a_signal_that_ended_the_sleep_ends_the_wait_after_one_round)
{
	endings[3] = -EINTR;
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, DOFI_FOREVER), -EINTR);
	ck_assert_uint_eq(sleeps, 3);
	ck_assert_uint_eq(rounds, 4);
	ck_assert(was_full[4]);
}
END_TEST

/* While a sleep would find something ready, it does not let signals in. */
START_TEST(a_signal_between_the_sleeps_ends_the_wait_some_rounds_later)
{
	static const uint32_t at[] = {1, ROUNDS_PER_SIGNAL_LOOK, ROUNDS_PER_SIGNAL_LOOK + 1};

	raise_in = at[_i];
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, DOFI_FOREVER), -EINTR);
	ck_assert_int_eq(signals, 1);
	ck_assert_uint_eq(rounds, (_i == 2 ? 2 : 1) * ROUNDS_PER_SIGNAL_LOOK);
}
END_TEST

/* --- agents --- */

static void wake_by_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	ck_assert_ptr_eq(data, &ia);
	(void)evd;
	dofi_assert_none_held();
	dofi_wait_wake(&ia, &wakeup);
}

/* The agent may bring what the thread waits for. */
START_TEST(each_round_ends_with_the_due_agents)
{
	make_agent_due(wake_by_agent);
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, DOFI_FOREVER), 0);
	ck_assert_uint_eq(rounds, 1);
}
END_TEST

/* --- whom it wakes --- */

#define SLEEPERS 3
static struct sleeper beside[SLEEPERS];

static void enlist_sleepers(void)
{
	for (int i = 0; i < SLEEPERS; i++) {
		beside[i].ia = &ia;
		beside[i].wakeup = i == 1 ? &another : &wakeup;
		enlist(&beside[i]);
	}
	ck_assert_uint_eq(atomic_load(&ia.wait.count), SLEEPERS);
}

static void expect_woken(bool first, bool second, bool third)
{
	const bool woken[SLEEPERS] = {first, second, third};

	for (int i = 0; i < SLEEPERS; i++) {
		ck_assert_msg(is_readable(beside[i].fd) == woken[i], "sleeper %d", i);
		strike_off(&beside[i]);
	}
	ck_assert_uint_eq(atomic_load(&ia.wait.count), 0);
}

START_TEST(one_sleeper_becomes_the_next_driver)
{
	enlist_sleepers();
	drive_to(2);
	expect_woken(true, false, true); /* the third by the round */
}
END_TEST

START_TEST(the_end_of_driving_wakes_the_first_sleeper)
{
	enlist_sleepers();
	ck_assert(dofi_wait_drive_begin(&ia));
	ck_assert(!dofi_wait_drive_begin(&ia)); /* there is one */
	dofi_wait_drive_end(&ia);
	ck_assert(dofi_wait_drive_begin(&ia));
	expect_woken(true, false, false);
}
END_TEST

/* This thread may have been woken to drive. */
START_TEST(a_thread_that_does_not_wait_any_more_passes_its_call_on)
{
	enlist_sleepers();
	atomic_store(&wakeup, 1);
	atomic_store(&ia.wait.driven, _i);
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, DOFI_FOREVER), 0);
	ck_assert_uint_eq(rounds, 0);
	expect_woken(!_i, false, false);
}
END_TEST

static void note_signals(void *set)
{
	pthread_sigmask(SIG_SETMASK, NULL, set);
}

static void *sleep_until_cancelled(void *set)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_push(note_signals, set);
	dofi_wait_sleep_cancellable(&ia, &wakeup, 0, DOFI_FOREVER, PTHREAD_CANCEL_ENABLE);
	pthread_cleanup_pop(false);
	return NULL;
}

/* Its cleanup handlers run with its own signals, and a sleeper follows it. */
START_TEST(a_cancelled_driver_leaves)
{
	pthread_t thread;
	void *result;
	sigset_t set;

	enlist_sleepers();
	cancel_after = 2;
	sigfillset(&set);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_until_cancelled, &set), 0);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	ck_assert(!atomic_load(&ia.wait.driven));
	ck_assert(!sigismember(&set, SIGALRM));
	ck_assert(sigismember(&set, SIGUSR1));
	expect_woken(true, false, false);
}
END_TEST

/* Such as one in dat_evd_free, which has other things to do. */
START_TEST(other_sleeps_are_not_cancelled)
{
	const int before = _i ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE;
	int after, ret;

	cancel_after = 1;
	wake_in = 3;
	pthread_setcancelstate(before, NULL);
	ret = dofi_wait_sleep(&ia, &wakeup, 0, DOFI_FOREVER);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &after); /* Check writes files */
	ck_assert_int_eq(ret, 0);
	ck_assert_int_eq(after, before);
	ck_assert_uint_eq(rounds, 3);
}
END_TEST

START_TEST(a_wakeup_reaches_all_that_wait_for_it)
{
	enlist_sleepers();
	dofi_wait_wake(&ia, &wakeup);
	ck_assert_uint_eq(atomic_load(&wakeup), 1);
	ck_assert_uint_eq(atomic_load(&another), 0);
	ck_assert(!is_readable(ia.engine.wake_fd)); /* nobody drives */
	expect_woken(true, false, true);
}
END_TEST

START_TEST(a_wakeup_reaches_the_driver_that_sleeps_for_it)
{
	const bool asleep = _i & 1, for_it = _i & 2;

	atomic_store(&ia.wait.asleep, asleep);
	atomic_store(&ia.wait.driver_wake, for_it ? &wakeup : &another);
	dofi_wait_wake(&ia, &wakeup);
	ck_assert(is_readable(ia.engine.wake_fd) == (asleep && for_it));
	ck_assert_uint_eq(atomic_load(&wakeup), 1);
}
END_TEST

START_TEST(a_kick_reaches_a_driver_that_sleeps)
{
	atomic_store(&ia.wait.asleep, _i);
	dofi_wait_kick(&ia);
	ck_assert(is_readable(ia.engine.wake_fd) == _i);
	dofi_wait_end_sleep(&ia); /* also the sleep to come */
	ck_assert(is_readable(ia.engine.wake_fd));
}
END_TEST

START_TEST(the_end_of_driving_wakes_the_parked_progress_thread)
{
	int fd = t_capture(STDERR_FILENO);

	atomic_store(&ia.engine.parked, _i);
	ck_assert(dofi_wait_drive_begin(&ia));
	dofi_wait_drive_end(&ia);
	ck_assert(is_readable(ia.engine.park_fd) == _i);
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

static int dozes;

static bool doze(struct dofi_ia *of, bool asleep)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert(!asleep);
	dozes++;
	return true;
}

/* Peers would go on waking it, which costs them time. */
START_TEST(the_end_of_driving_takes_the_mark_of_a_sleeper_back)
{
	ia.engine.doze = doze;
	ia.wait.marked = _i;
	ck_assert(dofi_wait_drive_begin(&ia));
	dofi_wait_drive_end(&ia);
	ck_assert(!ia.wait.marked);
	ck_assert_int_eq(dozes, _i);
}
END_TEST

/* --- descriptors that fail --- */

START_TEST(a_wakeup_that_fails_is_logged)
{
	int fd = t_capture(STDERR_FILENO), closed = _i ? ia.engine.park_fd : ia.engine.wake_fd;

	close(closed);
	if (_i) {
		atomic_store(&ia.engine.parked, true);
		ck_assert(dofi_wait_drive_begin(&ia));
		dofi_wait_drive_end(&ia);
	} else {
		dofi_wait_end_sleep(&ia);
	}
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "ofa0"));
	ck_assert_ptr_nonnull(strstr(t_captured(fd), strerror(EBADF)));
	ck_assert_int_eq(dup2(fd, closed), closed);
}
END_TEST

START_TEST(the_end_frees_the_list_of_descriptors)
{
	ia.wait.fds = calloc(ia.wait.max_fds = 2, sizeof(*ia.wait.fds));
	dofi_wait_fini(&ia);
	ck_assert_ptr_null(ia.wait.fds);
	ck_assert_uint_eq(ia.wait.max_fds, 0);
	dofi_wait_init(&ia);
#ifndef NDEBUG
	ck_assert_int_eq(ia.wait.lock.level, DOFI_LEVEL_WAIT);
#endif
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("drive");
	TCase *tc = tcase_create("rounds");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_first_round_is_full_and_may_suffice);
	tcase_add_test(tc, a_round_is_full_unless_the_queue_alone_ended_the_sleep);
	tcase_add_test(tc, full_rounds_come_at_intervals);
	tcase_add_loop_test(tc, a_due_timer_makes_a_round_full, 0, 2);
	tcase_add_loop_test(
		tc, a_round_that_finds_something_is_repeated_where_no_sleep_looks_at_the_queue, 0,
		5);
	tcase_add_loop_test(tc,
			    a_round_that_finds_nothing_is_repeated_in_full_for_a_silent_connection,
			    0, 2);
	tcase_add_loop_test(tc, it_looks_again_while_messages_about_connections_follow_each_other,
			    0, 2);
	tcase_add_loop_test(tc, a_thread_that_stays_awake_notices_the_deadline_and_signals, 0, 2);
	tcase_add_loop_test(tc, a_wait_ends_at_its_deadline, 0, 2);
	tcase_add_test(tc, the_driver_drives_while_its_agent_waits);
	tcase_add_loop_test(tc, a_wait_beside_the_driver_ends_at_its_deadline, 0, 2);
	tcase_add_test(tc, a_wait_sleeps_before_its_deadline);
	tcase_add_loop_test(tc, an_event_counts_more_than_the_deadline_and_a_signal, 0, 2);
	tcase_add_test(tc, a_signal_that_ended_the_sleep_ends_the_wait_after_one_round);
	tcase_add_loop_test(tc, a_signal_between_the_sleeps_ends_the_wait_some_rounds_later, 0, 3);
	tcase_add_test(tc, each_round_ends_with_the_due_agents);
	suite_add_tcase(suite, tc);
	tc = tcase_create("wakeups");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, one_sleeper_becomes_the_next_driver);
	tcase_add_test(tc, the_end_of_driving_wakes_the_first_sleeper);
	tcase_add_loop_test(tc, a_thread_that_does_not_wait_any_more_passes_its_call_on, 0, 2);
	tcase_add_test(tc, a_cancelled_driver_leaves);
	tcase_add_loop_test(tc, other_sleeps_are_not_cancelled, 0, 2);
	tcase_add_test(tc, a_wakeup_reaches_all_that_wait_for_it);
	tcase_add_loop_test(tc, a_wakeup_reaches_the_driver_that_sleeps_for_it, 0, 4);
	tcase_add_loop_test(tc, a_kick_reaches_a_driver_that_sleeps, 0, 2);
	tcase_add_loop_test(tc, the_end_of_driving_wakes_the_parked_progress_thread, 0, 2);
	tcase_add_loop_test(tc, the_end_of_driving_takes_the_mark_of_a_sleeper_back, 0, 2);
	tcase_add_loop_test(tc, a_wakeup_that_fails_is_logged, 0, 2);
	tcase_add_test(tc, the_end_frees_the_list_of_descriptors);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
