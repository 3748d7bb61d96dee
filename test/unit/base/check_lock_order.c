/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The checker of the order of locks: it accepts the right order and aborts at any other. */
#include "unit.h"

#ifdef NDEBUG /* the library has no checker then */
#define DOFI_LOCK_ORDER_TEST
#include "../../../prov/ofi/base/lock_order.c"
#endif
#include "../../../prov/ofi/base/lock.h"

#include <signal.h>
#include <sys/wait.h>

/* One lock of each level. */
static struct dofi_lock locks[DOFI_NLEVELS];
static struct dofi_lock second;

static void setup(void)
{
	for (int level = 0; level < DOFI_NLEVELS; level++)
		dofi_lock_init_level(&locks[level], (enum dofi_lock_level)level);
	dofi_lock_init_level(&second, DOFI_LEVEL_EP);
}

static void check_and_take(enum dofi_lock_level level)
{
	dofi_lock_order_check(&locks[level], level);
	dofi_lock_order_taken(&locks[level], level);
}

START_TEST(locks_in_order_are_accepted)
{
	for (int level = 1; level < DOFI_NLEVELS; level++)
		check_and_take((enum dofi_lock_level)level);
	ck_assert_uint_eq(dofi_lock_order_held(), DOFI_NLEVELS - 1);
	for (int level = 1; level < DOFI_NLEVELS; level++)
		dofi_lock_order_released(&locks[level]);
	ck_assert_uint_eq(dofi_lock_order_held(), 0);
}
END_TEST

/* A released lock does not count any more, in any order of releases. */
START_TEST(an_earlier_lock_is_accepted_after_release)
{
	check_and_take(DOFI_LEVEL_ENGINE);
	check_and_take(DOFI_LEVEL_EP);
	check_and_take(DOFI_LEVEL_EVD);
	dofi_lock_order_released(&locks[DOFI_LEVEL_EP]);
	dofi_lock_order_released(&locks[DOFI_LEVEL_EVD]);
	check_and_take(DOFI_LEVEL_EP);
	ck_assert_uint_eq(dofi_lock_order_held(), 2);
}
END_TEST

START_TEST(a_lock_without_a_level_is_ignored)
{
	check_and_take(DOFI_LEVEL_WAIT);
	check_and_take(DOFI_LEVEL_NONE);
	ck_assert_uint_eq(dofi_lock_order_held(), 2);
}
END_TEST

/* A fork takes the locks of all IAs. */
START_TEST(more_locks_than_the_checker_stores)
{
	static struct dofi_lock many[100];

	for (int i = 0; i < 100; i++)
		dofi_lock_order_taken(&many[i], DOFI_LEVEL_LEAF);
	ck_assert_uint_eq(dofi_lock_order_held(), 100);
	for (int i = 0; i < 100; i++)
		dofi_lock_order_released(&many[i]);
	ck_assert_uint_eq(dofi_lock_order_held(), 0);
	check_and_take(DOFI_LEVEL_ENGINE);
}
END_TEST

static void *other_thread(void *arg)
{
	ck_assert_uint_eq(dofi_lock_order_held(), 0);
	check_and_take(DOFI_LEVEL_ENGINE);
	dofi_lock_order_released(&locks[DOFI_LEVEL_ENGINE]);
	return arg;
}

START_TEST(each_thread_has_its_own_order)
{
	pthread_t thread;
	void *answer = NULL;

	check_and_take(DOFI_LEVEL_EVD);
	ck_assert_int_eq(pthread_create(&thread, NULL, other_thread, locks), 0);
	ck_assert_int_eq(pthread_join(thread, &answer), 0);
	ck_assert_ptr_eq(answer, locks);
	ck_assert_uint_eq(dofi_lock_order_held(), 1);
}
END_TEST

/* Returns how a process ends that holds a lock of one level and takes one of another level. */
static int end_of_pair(enum dofi_lock_level held, enum dofi_lock_level taken)
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		fclose(stderr); /* the messages are many */
		dofi_lock_order_taken(&second, held);
		dofi_lock_order_check(&locks[taken], taken);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(aborts_at_every_pair_in_the_wrong_order)
{
	for (int held = 0; held < DOFI_NLEVELS; held++)
		for (int taken = 0; taken < DOFI_NLEVELS; taken++) {
			int status = end_of_pair((enum dofi_lock_level)held,
						 (enum dofi_lock_level)taken);

			if (taken && held >= taken)
				ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
					      "%d after %d: status %d", taken, held, status);
			else
				ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status),
					      "%d after %d: status %d", taken, held, status);
		}
}
END_TEST

START_TEST(aborts_at_a_lock_that_the_thread_holds)
{
	check_and_take(DOFI_LEVEL_NONE);
	check_and_take(DOFI_LEVEL_NONE);
}
END_TEST

START_TEST(aborts_at_a_release_without_a_lock)
{
	check_and_take(DOFI_LEVEL_EP);
	dofi_lock_order_released(&second);
}
END_TEST

#ifndef NDEBUG
START_TEST(lock_functions_call_the_checker)
{
	dofi_assert_none_held();
	dofi_lock(&locks[DOFI_LEVEL_EP]);
	ck_assert_uint_eq(dofi_lock_order_held(), 1);
	dofi_assert_held(&locks[DOFI_LEVEL_EP]);
	dofi_assert_not_held(&second);
	ck_assert(dofi_trylock(&locks[DOFI_LEVEL_ENGINE])); /* it would not wait */
	ck_assert(dofi_trylock(&second));
	ck_assert_uint_eq(dofi_lock_order_held(), 3);
	ck_assert(!dofi_trylock(&second));
	ck_assert_uint_eq(dofi_lock_order_held(), 3);
	dofi_unlock(&locks[DOFI_LEVEL_EP]);
	dofi_unlock(&second);
	dofi_unlock(&locks[DOFI_LEVEL_ENGINE]);
	dofi_assert_none_held();
}
END_TEST

START_TEST(aborts_at_two_locks_of_one_level)
{
	dofi_lock(&locks[DOFI_LEVEL_EP]);
	dofi_lock(&second);
}
END_TEST

START_TEST(aborts_instead_of_waiting_for_itself)
{
	dofi_lock(&locks[DOFI_LEVEL_NONE]);
	dofi_lock(&locks[DOFI_LEVEL_NONE]);
}
END_TEST

START_TEST(assertions_about_held_locks_fail)
{
	dofi_lock(&locks[DOFI_LEVEL_EP]);
	if (_i == 0)
		dofi_assert_held(&second);
	else if (_i == 1)
		dofi_assert_not_held(&locks[DOFI_LEVEL_EP]);
	else
		dofi_assert_none_held();
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("lock_order");
	TCase *tc = tcase_create("lock_order");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, locks_in_order_are_accepted);
	tcase_add_test(tc, an_earlier_lock_is_accepted_after_release);
	tcase_add_test(tc, a_lock_without_a_level_is_ignored);
	tcase_add_test(tc, more_locks_than_the_checker_stores);
	tcase_add_test(tc, each_thread_has_its_own_order);
#ifndef NDEBUG
	tcase_add_test(tc, lock_functions_call_the_checker);
#endif
	tcase_add_test(tc, aborts_at_every_pair_in_the_wrong_order);
	tcase_add_test_raise_signal(tc, aborts_at_a_lock_that_the_thread_holds, SIGABRT);
	tcase_add_test_raise_signal(tc, aborts_at_a_release_without_a_lock, SIGABRT);
#ifndef NDEBUG
	tcase_add_test_raise_signal(tc, aborts_at_two_locks_of_one_level, SIGABRT);
	tcase_add_test_raise_signal(tc, aborts_instead_of_waiting_for_itself, SIGABRT);
	tcase_add_loop_test_raise_signal(tc, assertions_about_held_locks_fail, SIGABRT, 0, 3);
#endif
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
