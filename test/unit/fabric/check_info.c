/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lock of calls that libfabric takes from one thread at a time, while the process forks. */
#include "base/clock.h"
#include "fabric/info.h"

#include "../../lib/t_hooks.h"
#include "../../lib/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static _Atomic uint64_t now;
static atomic_bool holds, may_go;

/* Time passes while somebody looks at it. The other thread goes on when half a second is over. */
uint64_t __wrap_dofi_thread_time(void);
uint64_t __wrap_dofi_thread_time(void)
{
	uint64_t time = atomic_fetch_add(&now, 1000000);

	if (time > 500000000)
		atomic_store(&may_go, true);
	return time;
}

static void *hold(void *arg)
{
	(void)arg;
	dofi_setup_begin();
	atomic_store(&holds, true);
	while (!atomic_load(&may_go))
		sched_yield();
	dofi_setup_end();
	return NULL;
}

START_TEST(test_a_fork_waits_for_another_thread)
{
	pthread_t other;

	ck_assert_int_eq(pthread_create(&other, NULL, hold, NULL), 0);
	while (!atomic_load(&holds))
		sched_yield();
	ck_assert(!dofi_setup_begin_for(100000000));
	ck_assert_uint_gt(atomic_load(&now), 100000000);
	ck_assert_uint_lt(atomic_load(&now), 200000000);
	ck_assert(dofi_setup_begin_for(UINT64_MAX / 2));
	ck_assert(!dofi_setup_begin_for(0));
	dofi_setup_end();
	ck_assert_int_eq(pthread_join(other, NULL), 0);
	ck_assert(dofi_setup_begin_for(0));
	dofi_setup_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("info");
	TCase *tc = tcase_create("info");

	tcase_add_test(tc, test_a_fork_waits_for_another_thread);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
