/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Locks: one thread holds a lock at a time, and a thread that sleeps for it gets it, also if the
 * kernel has no membarrier.
 */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/base/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#define THREADS 4
#define ROUNDS  20000

static struct dofi_lock lock;
static unsigned long count;
static _Atomic int fences, registrations, sleeps, wakes;
static bool no_membarrier;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_membarrier) {
		atomic_fetch_add(a == MEMBARRIER_CMD_PRIVATE_EXPEDITED ? &fences : &registrations,
				 1);
		if (no_membarrier) {
			errno = ENOSYS;
			return -1;
		}
	}
	if (number == SYS_futex)
		atomic_fetch_add(b == FUTEX_WAKE_PRIVATE ? &wakes : &sleeps, 1);
	a = __real_syscall(number, a, b, c, d, e, f);
	if (number == SYS_futex)
		errno = EIO; /* of a call that succeeds, errno tells nothing */
	return a;
}

static void *add(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		dofi_lock(&lock);
		count++;
		if (i % 64 == 0)
			sched_yield(); /* other threads find it held for long */
		dofi_unlock(&lock);
	}
	return NULL;
}

static void *take_once(void *arg)
{
	(void)arg;
	errno = ERANGE;
	dofi_lock(&lock);
	ck_assert_int_eq(errno, ERANGE);
	count++;
	dofi_unlock(&lock);
	return NULL;
}

static void run(int n, void *(*fn)(void *arg), pthread_t *threads)
{
	for (int i = 0; i < n; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, fn, NULL), 0);
}

static void join(int n, const pthread_t *threads)
{
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void setup(void)
{
	dofi_lock_init(&lock);
}

START_TEST(one_holder_at_a_time)
{
	pthread_t threads[THREADS];

	no_membarrier = _i;
	run(THREADS, add, threads);
	join(THREADS, threads);
	ck_assert_uint_eq(count, (unsigned long)THREADS * ROUNDS);
	ck_assert(dofi_trylock(&lock));
	ck_assert(!dofi_trylock(&lock));
	dofi_unlock(&lock);
}
END_TEST

START_TEST(sleeping_threads_get_the_lock)
{
	pthread_t threads[THREADS];

	no_membarrier = _i;
	dofi_lock(&lock);
	run(THREADS, take_once, threads);
	while (atomic_load(&sleeps) < THREADS)
		sched_yield();
	ck_assert_uint_eq(count, 0);
	dofi_unlock(&lock);
	join(THREADS, threads);
	ck_assert_uint_eq(count, THREADS);
	ck_assert_int_ge(atomic_load(&fences), THREADS);
}
END_TEST

/* The first that waits registers the process with the kernel; a registration takes long. */
START_TEST(a_process_registers_once)
{
	pthread_t thread;

	for (int i = 1; i <= 3; i++) {
		dofi_lock(&lock);
		run(1, take_once, &thread);
		while (atomic_load(&sleeps) < i)
			sched_yield();
		dofi_unlock(&lock);
		join(1, &thread);
	}
	ck_assert_int_eq(atomic_load(&registrations), 1);
}
END_TEST

/* A woken thread may not get a processor for long. */
START_TEST(a_sleeper_is_woken_once)
{
	atomic_store(&lock.awaited, 1);
	errno = ERANGE;
	for (int i = 0; i < 100; i++) {
		dofi_lock(&lock);
		dofi_unlock(&lock);
	}
	ck_assert_int_eq(errno, ERANGE);
	ck_assert_int_eq(atomic_load(&wakes), 1);
}
END_TEST

/* A lock may lie in memory that was used before. */
START_TEST(a_new_lock_is_free_and_awaited_by_none)
{
	memset(&lock, 0xff, sizeof(lock));
	dofi_lock_init(&lock);
	ck_assert(dofi_trylock(&lock));
	dofi_unlock(&lock);
	ck_assert_int_eq(atomic_load(&wakes), 0);
}
END_TEST

#ifndef NDEBUG
/* Debug builds know which thread has a lock, and what it holds. */
START_TEST(a_lock_knows_its_holder)
{
	memset(&lock, 0xff, sizeof(lock));
	dofi_lock_init_level(&lock, DOFI_LEVEL_EP);
	ck_assert_int_eq(lock.level, DOFI_LEVEL_EP);
	for (int i = 0; i < 2; i++) {
		ck_assert(!dofi_lock_is_own(&lock));
		ck_assert_uint_eq(dofi_lock_order_held(), 0);
		if (i == 0)
			dofi_lock(&lock);
		else
			ck_assert(dofi_trylock(&lock));
		ck_assert(dofi_lock_is_own(&lock));
		ck_assert_uint_eq(dofi_lock_order_held(), 1);
		ck_assert(!dofi_trylock(&lock));
		ck_assert_uint_eq(dofi_lock_order_held(), 1);
		dofi_unlock(&lock);
	}
	ck_assert_uint_eq(atomic_load(&lock.owner), 0);
	dofi_lock_init(&lock);
	ck_assert_int_eq(lock.level, DOFI_LEVEL_NONE);
	ck_assert_uint_eq(atomic_load(&lock.owner), 0);
}
END_TEST

static void *know_nothing(void *arg)
{
	(void)arg;
	ck_assert(!dofi_lock_is_own(&lock));
	ck_assert_uint_eq(dofi_lock_order_held(), 0);
	return NULL;
}

START_TEST(a_lock_of_one_thread_is_not_that_of_another)
{
	pthread_t thread;

	dofi_lock(&lock);
	run(1, know_nothing, &thread);
	join(1, &thread);
	dofi_unlock(&lock);
}
END_TEST
#endif

/* --- a try that lasts --- */

#define MS UINT64_C(1000000)

static uint64_t now, thread_time;      /* while a try lasts */
static uint64_t passes, used, nyields; /* what passes, and is used of it, while others run */
static uint64_t leaves_after;          /* so many yields, the holder frees the lock */

T_STAND_IN uint64_t __wrap_dofi_now(void);
T_STAND_IN uint64_t __wrap_dofi_thread_time(void);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

uint64_t __wrap_dofi_thread_time(void)
{
	return thread_time;
}

int __real_sched_yield(void);
T_STAND_IN int __wrap_sched_yield(void);

int __wrap_sched_yield(void)
{
	if (!passes)
		return __real_sched_yield();
	now += passes;
	thread_time += used;
	if (++nyields == leaves_after)
		dofi_unlock(&lock);
	return 0;
}

/* Tries for 100 ms. The lock is held by another one or, as after a signal, by this thread. */
static bool try_while_held(uint64_t passes_ms, uint64_t used_ms)
{
	now = 77 * MS;
	thread_time = 5 * MS;
	passes = passes_ms * MS;
	used = used_ms * MS;
	dofi_lock(&lock);
	return dofi_trylock_for(&lock, 100 * MS);
}

START_TEST(a_try_ends_after_its_processor_time)
{
	ck_assert(!try_while_held(25, 25)); /* four times are no more than 100 ms */
	ck_assert_uint_eq(nyields, 5);
}
END_TEST

/* The holder has as little of the processors. */
START_TEST(a_try_lasts_longer_on_a_busy_host)
{
	leaves_after = 9;
	ck_assert(try_while_held(150, 2));
	ck_assert_uint_eq(nyields, 9);
	dofi_unlock(&lock);
}
END_TEST

START_TEST(a_try_ends_on_a_busy_host)
{
	ck_assert(!try_while_held(200, 2)); /* ten times are no more than two seconds */
	ck_assert_uint_eq(nyields, 11);
}
END_TEST

START_TEST(a_try_for_a_free_lock_ends_at_once)
{
	passes = 1;
	ck_assert(dofi_trylock_for(&lock, 0));
	ck_assert_uint_eq(nyields, 0);
	dofi_unlock(&lock);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lock");
	TCase *tc = tcase_create("lock");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, one_holder_at_a_time, 0, 2);
	tcase_add_loop_test(tc, sleeping_threads_get_the_lock, 0, 2);
	tcase_add_test(tc, a_process_registers_once);
	tcase_add_test(tc, a_sleeper_is_woken_once);
	tcase_add_test(tc, a_new_lock_is_free_and_awaited_by_none);
#ifndef NDEBUG
	tcase_add_test(tc, a_lock_knows_its_holder);
	tcase_add_test(tc, a_lock_of_one_thread_is_not_that_of_another);
#endif
	tcase_add_test(tc, a_try_ends_after_its_processor_time);
	tcase_add_test(tc, a_try_lasts_longer_on_a_busy_host);
	tcase_add_test(tc, a_try_ends_on_a_busy_host);
	tcase_add_test(tc, a_try_for_a_free_lock_ends_at_once);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
