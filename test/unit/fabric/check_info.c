/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls that libfabric takes from one thread at a time: their lock while the process forks; signals
 * that arrive while libfabric lists its fabrics, and the locale then.
 */
#include "base/clock.h"
#include "fabric/info.h"

#include "../../lib/t_hooks.h"
#include "../../lib/unit.h"

#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* --- fork --- */

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

/* --- signals: a handler may end the process, and libfabric's destructor waits for its lock --- */

static volatile sig_atomic_t inside, taken, taken_inside;

static void handler(int signal)
{
	(void)signal;
	taken++;
	taken_inside += inside;
}

static int number; /* the signal that arrives, or 0 */
static char charset[32];

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **list_p);
int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **list_p)
{
	(void)version;
	(void)node;
	(void)service;
	(void)flags;
	(void)hints;
	(void)list_p;
	snprintf(charset, sizeof(charset), "%s", nl_langinfo(CODESET));
	inside = 1;
	if (number)
		raise(number);
	inside = 0;
	return -FI_ENODATA;
}

static const struct {
	int number;
	bool waits;
} signals[] = {
	{SIGTERM, true},
	{SIGINT, true},
	{SIGUSR1, true},
	{SIGSEGV, false}, /* the program has to learn of a fault where it happens */
};

START_TEST(signals_wait_until_libfabric_has_returned)
{
	struct sigaction action = {.sa_handler = handler}, old;
	struct fi_info *list = (void *)&action;
	sigset_t mask;

	number = signals[_i].number;
	taken = taken_inside = 0;
	ck_assert_int_eq(sigaction(number, &action, &old), 0);
	ck_assert_int_eq(dofi_getinfo(FI_VERSION(1, 17), NULL, 0, NULL, &list), -FI_ENODATA);
	ck_assert_ptr_null(list);
	ck_assert_int_eq(taken, 1);
	ck_assert_int_eq(taken_inside, !signals[_i].waits);
	ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
	ck_assert(!sigismember(&mask, number));
	ck_assert_int_eq(sigaction(number, &old, NULL), 0);
}
END_TEST

/* --- locale: libfabric makes capitals of the names of its variables --- */

START_TEST(the_locale_of_the_program_does_not_reach_libfabric)
{
	locale_t of_program = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
	struct fi_info *list;

	ck_assert(of_program);
	uselocale(of_program);
	ck_assert_str_eq(nl_langinfo(CODESET), "UTF-8");
	number = 0;
	ck_assert_int_eq(dofi_getinfo(FI_VERSION(1, 17), NULL, 0, NULL, &list), -FI_ENODATA);
	ck_assert_str_ne(charset, "UTF-8");
	ck_assert(uselocale((locale_t)0) == of_program);
	uselocale(LC_GLOBAL_LOCALE);
	freelocale(of_program);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("info");
	TCase *tc = tcase_create("info");

	tcase_add_test(tc, test_a_fork_waits_for_another_thread);
	tcase_add_loop_test(tc, signals_wait_until_libfabric_has_returned, 0,
			    (int)(sizeof(signals) / sizeof(signals[0])));
	tcase_add_test(tc, the_locale_of_the_program_does_not_reach_libfabric);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
