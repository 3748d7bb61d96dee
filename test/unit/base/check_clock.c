/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Deadlines, by a clock of the test. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/base/dat_api.h"

#include <pthread.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)
#define NOW    (5 * SECOND + 7)
#define USED   (3 * SECOND + 11) /* by this thread */

/* --- the kernel; the linker redirects these calls --- */

T_STAND_IN int __wrap_clock_gettime(clockid_t clock, struct timespec *time_p);
T_STAND_IN int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
			    const sigset_t *sigmask);

static struct {
	struct pollfd *fds;
	nfds_t n;
	bool limited;
	struct timespec timeout;
	const sigset_t *sigmask;
	int cancel; /* state of cancellation */
} seen;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time_p)
{
	uint64_t ns = clock == CLOCK_THREAD_CPUTIME_ID    ? USED
		      : clock == CLOCK_PROCESS_CPUTIME_ID ? 2 * USED
							  : NOW;

	ck_assert(ns != NOW || clock == CLOCK_MONOTONIC);
	*time_p = (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
	return 0;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		 const sigset_t *sigmask)
{
	seen.fds = fds;
	seen.n = n;
	seen.limited = timeout;
	if (timeout)
		seen.timeout = *timeout;
	seen.sigmask = sigmask;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &seen.cancel);
	pthread_setcancelstate(seen.cancel, NULL);
	return 1;
}

/* --- */

START_TEST(a_thread_and_the_process_have_clocks_of_their_own)
{
	ck_assert_uint_eq(dofi_thread_time(), USED);
	ck_assert_uint_eq(dofi_process_time(), 2 * USED);
}
END_TEST

START_TEST(a_timeout_is_in_microseconds)
{
	ck_assert_uint_eq(dofi_now(), NOW);
	ck_assert_uint_eq(dofi_deadline(0), NOW);
	ck_assert_uint_eq(dofi_deadline(1), NOW + 1000);
	ck_assert_uint_eq(dofi_deadline(UINT32_MAX - 1), NOW + (UINT32_MAX - 1) * UINT64_C(1000));
	ck_assert_uint_eq(dofi_deadline(DAT_TIMEOUT_INFINITE), DOFI_FOREVER);
}
END_TEST

START_TEST(a_poll_ends_at_its_deadline)
{
	static const struct {
		uint64_t deadline;
		bool limited;
		time_t s;
		long ns;
	} cases[] = {{NOW + 3 * SECOND + 9, true, 3, 9},
		     {NOW + 3 * SECOND, true, 3, 0},
		     {NOW + SECOND - 1, true, 0, 999999999},
		     {NOW + 1, true, 0, 1},
		     {NOW, true, 0, 0},
		     {NOW - 1, true, 0, 0},
		     {0, true, 0, 0},
		     {DOFI_FOREVER, false, 0, 0}};
	struct dofi_interrupts allowed = {.cancel = PTHREAD_CANCEL_ENABLE};
	struct pollfd fds[2];

	ck_assert_int_eq(dofi_poll_until(fds, 2, cases[_i].deadline, &allowed), 1);
	ck_assert_ptr_eq(seen.fds, fds);
	ck_assert_uint_eq(seen.n, 2);
	ck_assert_ptr_eq(seen.sigmask, &allowed.blocked);
	ck_assert(seen.limited == cases[_i].limited);
	ck_assert_int_eq(seen.timeout.tv_sec, cases[_i].s);
	ck_assert_int_eq(seen.timeout.tv_nsec, cases[_i].ns);
}
END_TEST

/* _i: the state before and after the poll */
START_TEST(a_thread_is_cancelled_in_a_poll_that_allows_it)
{
	static const int states[] = {PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE};
	struct dofi_interrupts allowed = {.cancel = PTHREAD_CANCEL_DISABLE};
	int after;

	for (int i = 0; i < 3; i++) {
		pthread_setcancelstate(states[_i], NULL);
		allowed.cancel = states[i % 2];
		dofi_poll_until(NULL, 0, DOFI_FOREVER, i < 2 ? &allowed : NULL);
		ck_assert_int_eq(seen.cancel, i < 2 ? allowed.cancel : states[_i]);
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &after);
		ck_assert_int_eq(after, states[_i]);
	}
	ck_assert_ptr_null(seen.sigmask); /* of a poll that changes nothing */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clock");
	TCase *tcase = tcase_create("clock");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, a_thread_and_the_process_have_clocks_of_their_own);
	tcase_add_test(tcase, a_timeout_is_in_microseconds);
	tcase_add_loop_test(tcase, a_poll_ends_at_its_deadline, 0, 8);
	tcase_add_loop_test(tcase, a_thread_is_cancelled_in_a_poll_that_allows_it, 0, 2);
	return t_run(suite);
}
