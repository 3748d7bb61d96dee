/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of a thread tells whether it may still be inside the code where it was. */
#include "unit.h"

#include "../../../prov/ofi/transport/live_threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define LIMIT_S 60

static struct dofi_live_threads threads;
static pid_t child;

/* A process that runs or sleeps. */
static void start(void (*what)(void))
{
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	what();
	_exit(0);
}

static void end(void)
{
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	dofi_live_threads_free(&threads);
}

static void run(void)
{
	for (volatile bool on = true; on;)
		;
}

static void sleep_on(void)
{
	for (;;)
		pause();
}

static void *sleep_in_thread(void *unused)
{
	(void)unused;
	sleep_on();
	return NULL;
}

static bool come_out(void)
{
	time_t limit = time(NULL) + LIMIT_S;

	while (!dofi_live_threads_are_out(&threads)) {
		if (time(NULL) > limit)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return true;
}

#ifdef __SANITIZE_THREAD__
#define MORE 2 /* TSan adds a thread to each process after a while, and sometimes another */
#else
#define MORE 0
#endif

static bool are_threads(size_t n, size_t processes)
{
	return threads.n >= n && threads.n <= n + MORE * processes;
}

static void expect_threads(size_t n, size_t processes)
{
	ck_assert_msg(are_threads(n, processes), "%zu threads, not %zu", threads.n, n);
}

START_TEST(a_running_thread_is_out_after_some_time)
{
	start(run);
	ck_assert(dofi_live_threads_note(&threads, &child, 1));
	expect_threads(1, 1);
	ck_assert(!dofi_live_threads_are_out(&threads));
	ck_assert(come_out());
	end();
}
END_TEST

START_TEST(a_sleeping_thread_is_out)
{
	start(sleep_on);
	ck_assert(dofi_live_threads_note(&threads, &child, 1));
	ck_assert(come_out());
	end();
}
END_TEST

START_TEST(a_stopped_thread_may_still_be_inside)
{
	int status;

	start(run);
	ck_assert_int_eq(kill(child, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	ck_assert(WIFSTOPPED(status));
	ck_assert(dofi_live_threads_note(&threads, &child, 1));
	for (int i = 0; i < 1000; i++)
		ck_assert(!dofi_live_threads_are_out(&threads));
	ck_assert_int_eq(kill(child, SIGCONT), 0);
	ck_assert(come_out());
	end();
}
END_TEST

START_TEST(a_process_that_has_ended_is_out)
{
	start(run);
	ck_assert(dofi_live_threads_note(&threads, &child, 1));
	end();
	start(run);
	ck_assert(dofi_live_threads_note(&threads, &child, 1));
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert(dofi_live_threads_are_out(&threads));
	ck_assert(dofi_live_threads_note(&threads, &child, 1));
	ck_assert_uint_eq(threads.n, 0);
	dofi_live_threads_free(&threads);
}
END_TEST

START_TEST(the_caller_does_not_count)
{
	pid_t self = getpid();

	ck_assert(dofi_live_threads_note(&threads, &self, 1));
	expect_threads(0, 1);
	dofi_live_threads_free(&threads);
}
END_TEST

#define MANY 70 /* more than the list has room for at first */

static void run_many(void)
{
	pthread_t thread;

	for (int i = 1; i < MANY; i++)
		if (pthread_create(&thread, NULL, sleep_in_thread, NULL))
			_exit(1);
	sleep_on();
}

START_TEST(all_threads_of_all_processes_are_noted)
{
	time_t limit = time(NULL) + LIMIT_S;
	pid_t both[2];

	start(sleep_on);
	both[0] = child;
	start(run_many);
	both[1] = child;
	do /* The list of the kernel may be inexact while threads start. */
		ck_assert(dofi_live_threads_note(&threads, both, 2));
	while (!are_threads(1 + MANY, 2) && time(NULL) < limit);
	expect_threads(1 + MANY, 2);
	ck_assert(come_out());
	ck_assert_int_eq(kill(both[0], SIGKILL), 0);
	ck_assert_int_eq(waitpid(both[0], NULL, 0), both[0]);
	end();
}
END_TEST

/* Without a look at the threads, they may still be inside. */
START_TEST(threads_that_cannot_be_listed)
{
	struct rlimit files, none;
	bool ok;

	start(sleep_on);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ok = dofi_live_threads_note(&threads, &child, 1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert(!ok);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("live_threads");
	TCase *tcase = tcase_create("live_threads");

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 2 * LIMIT_S);
	tcase_add_test(tcase, a_running_thread_is_out_after_some_time);
	tcase_add_test(tcase, a_sleeping_thread_is_out);
	tcase_add_test(tcase, a_stopped_thread_may_still_be_inside);
	tcase_add_test(tcase, a_process_that_has_ended_is_out);
	tcase_add_test(tcase, the_caller_does_not_count);
	tcase_add_test(tcase, all_threads_of_all_processes_are_noted);
	tcase_add_test(tcase, threads_that_cannot_be_listed);
	return t_run(suite);
}
