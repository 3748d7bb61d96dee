/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the engine is asked to do later: work that waits for the fabric, work that is deferred to
 * the end of a round, and handlers of descriptors.
 */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/progress/engine_fds.h"
#include "../../../prov/ofi/progress/stall.h"
#include "../../../prov/ofi/progress/wait.h"
#include "../../../prov/ofi/progress/work.h"
#include "progress/work.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define MOST  4
#define A_LOT 64 /* events that one look handles */

static struct dofi_ia ia;
static int kicks;
static char calls[3 * A_LOT]; /* a letter for each call of a handler */
static int ncalls;

void __wrap_dofi_wait_kick(struct dofi_ia *of);

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	kicks++;
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_work_init(&ia.engine);
	ia.engine.sock_epfd = epoll_create1(EPOLL_CLOEXEC);
	ia.engine.quiet_epfd = epoll_create1(EPOLL_CLOEXEC);
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	ck_assert(dofi_trylock(&ia.engine.stalled_lock));
	dofi_unlock(&ia.engine.stalled_lock);
	dofi_unlock(&ia.engine.lock);
}

static void note(char letter)
{
	ck_assert_int_lt(ncalls, (int)sizeof(calls) - 1);
	calls[ncalls++] = letter;
}

/* --- work that waits for the fabric --- */

static struct dofi_stall stalls[MOST];
static const char *stubborn = ""; /* letters of those that wait again */

static void retry(struct dofi_stall *stall)
{
	char letter = (char)('a' + (stall - stalls));

	stall->waits = false;
	note(letter);
	if (strchr(stubborn, letter))
		dofi_stall(&ia, stall);
}

static void stall_all(void)
{
	for (int i = 0; i < MOST; i++) {
		stalls[i].retry = retry;
		dofi_stall(&ia, &stalls[i]);
	}
}

static uint32_t nstalled(void)
{
	uint32_t n = 0;

	DOFI_LIST_FOR(node, &ia.engine.stalled)
	{
		ck_assert(DOFI_CONTAINER(node, struct dofi_stall, link)->waits);
		n++;
	}
	ck_assert_uint_eq(atomic_load(&ia.engine.nstalled), n);
	return n;
}

/* The driver may sleep, so it learns of each. */
START_TEST(work_waits_once)
{
	stall_all();
	ck_assert_int_eq(kicks, MOST);
	dofi_stall(&ia, &stalls[1]);
	ck_assert_int_eq(kicks, MOST);
	ck_assert_uint_eq(nstalled(), MOST);
}
END_TEST

START_TEST(work_that_waits_is_tried_once_in_its_order)
{
	stall_all();
	stubborn = "ac";
	dofi_stall_retry_all(&ia);
	ck_assert_str_eq(calls, "abcd");
	ck_assert_uint_eq(nstalled(), 2);
	stubborn = "";
	dofi_stall_retry_all(&ia);
	ck_assert_str_eq(calls, "abcdac");
	ck_assert_uint_eq(nstalled(), 0);
	dofi_stall_retry_all(&ia);
	ck_assert_str_eq(calls, "abcdac");
}
END_TEST

START_TEST(work_that_is_not_needed_does_not_wait)
{
	stall_all();
	dofi_stall_end(&ia, &stalls[0]);
	dofi_stall_end(&ia, &stalls[2]);
	dofi_stall_end(&ia, &stalls[2]); /* has no effect */
	ck_assert(!stalls[0].waits && !stalls[2].waits);
	ck_assert_uint_eq(nstalled(), 2);
	dofi_stall_retry_all(&ia);
	ck_assert_str_eq(calls, "bd");
	dofi_stall(&ia, &stalls[2]); /* it may wait again */
	ck_assert_uint_eq(nstalled(), 1);
}
END_TEST

static void end_others(struct dofi_stall *stall)
{
	note('x');
	stall->waits = false;
	dofi_stall_end(&ia, &stalls[1]);
	dofi_stall_end(&ia, &stalls[2]);
}

/* A retry may end a connection, and with it the others. */
START_TEST(a_retry_may_end_others)
{
	stall_all();
	stalls[0].retry = end_others;
	dofi_stall_retry_all(&ia);
	ck_assert_str_eq(calls, "xd");
	ck_assert_uint_eq(nstalled(), 0);
}
END_TEST

/* --- deferred work --- */

static struct dofi_work works[MOST];
static int follows[MOST]; /* which one each defers; -1: none */

static void run(struct dofi_work *work)
{
	int which = (int)(work - works), next = follows[which];

	note((char)('a' + which));
	follows[which] = -1;
	if (next >= 0)
		dofi_work_defer(&ia, &works[next]);
}

START_TEST(deferred_work_runs_once_in_its_order)
{
	for (int i = 0; i < MOST; i++) {
		works[i].run = run;
		follows[i] = -1;
	}
	ck_assert_int_eq(dofi_work_run(&ia), 0);
	dofi_work_defer(&ia, &works[2]);
	dofi_work_defer(&ia, &works[0]);
	dofi_work_defer(&ia, &works[2]);
	ck_assert_int_eq(ncalls, 0);
	ck_assert_int_eq(dofi_work_run(&ia), 2);
	ck_assert_str_eq(calls, "ca");
	/* Work may defer itself, or other work. */
	follows[0] = 0;
	follows[1] = 3;
	dofi_work_defer(&ia, &works[0]);
	dofi_work_defer(&ia, &works[1]);
	ck_assert_int_eq(dofi_work_run(&ia), 4);
	ck_assert_str_eq(calls, "caabad");
	ck_assert(dofi_list_empty(&ia.engine.work));
}
END_TEST

/* It is no event, and comes after work that other last work has deferred. */
START_TEST(last_work_runs_when_no_other_is_left)
{
	for (int i = 0; i < MOST; i++) {
		works[i].run = run;
		follows[i] = -1;
	}
	dofi_work_defer_last(&ia, &works[3]);
	dofi_work_defer_last(&ia, &works[0]);
	dofi_work_defer_last(&ia, &works[3]);
	dofi_work_defer(&ia, &works[1]);
	follows[3] = 2;
	ck_assert_int_eq(dofi_work_run(&ia), 2);
	ck_assert_str_eq(calls, "bdca");
	ck_assert(dofi_list_empty(&ia.engine.last_work));
}
END_TEST

/* --- descriptors --- */

static struct dofi_fd fds[2];
static uint32_t events_seen;
static bool alone; /* a handler ends the watch of the other */

static void ready(struct dofi_fd *fd, uint32_t events)
{
	int which = (int)(fd - fds);

	note((char)('a' + which));
	events_seen = events;
	if (alone)
		dofi_engine_unwatch(&ia, &fds[!which]);
}

/* Both are readable, and stay so. */
static void watch_both(void)
{
	for (int i = 0; i < 2; i++) {
		fds[i] = (struct dofi_fd){.fd = eventfd(1, EFD_CLOEXEC), .ready = ready};
		ck_assert_int_ge(fds[i].fd, 0);
		ck_assert_int_eq(dofi_engine_watch(&ia, &fds[i], EPOLLIN), 0);
	}
}

/* A call may wait for the answer to a message that it has queued. Other work waits for the round.
 */
START_TEST(what_is_queued_leaves_before_the_look)
{
	for (int i = 0; i < MOST; i++) {
		works[i].run = run;
		follows[i] = -1;
	}
	dofi_work_defer_last(&ia, &works[3]);
	dofi_work_defer(&ia, &works[1]);
	watch_both();
	dofi_engine_hear(&ia);
	ck_assert_int_eq(calls[0], 'd');
	ck_assert_ptr_null(strchr(calls + 1, 'd'));
	ck_assert(dofi_list_empty(&ia.engine.last_work));
	ck_assert(!dofi_list_empty(&ia.engine.work));
}
END_TEST

/* The engine has other work, too. */
START_TEST(a_look_handles_a_limited_number_of_events)
{
	watch_both();
	ck_assert_int_eq(dofi_engine_hear(&ia), A_LOT);
	ck_assert_int_eq(ncalls, A_LOT);
	ck_assert_uint_eq(events_seen, EPOLLIN);
	ck_assert_ptr_nonnull(strchr(calls, 'a'));
	ck_assert_ptr_nonnull(strchr(calls, 'b'));
}
END_TEST

/* The owner of the other descriptor may be gone. */
START_TEST(a_handler_may_end_the_watch_of_another)
{
	watch_both();
	alone = true;
	ck_assert_int_eq(dofi_engine_hear(&ia), A_LOT);
	ck_assert_ptr_null(strchr(calls, calls[0] == 'a' ? 'b' : 'a'));
}
END_TEST

START_TEST(a_descriptor_is_heard_as_it_is_watched)
{
	watch_both();
	dofi_engine_unwatch(&ia, &fds[0]);
	dofi_engine_rewatch(&ia, &fds[1], 0);
	ck_assert_int_eq(dofi_engine_hear(&ia), 0);
	dofi_engine_rewatch(&ia, &fds[1], EPOLLIN | EPOLLOUT);
	ck_assert_int_eq(dofi_engine_hear(&ia), A_LOT);
	ck_assert_uint_eq(events_seen, EPOLLIN | EPOLLOUT);
	ck_assert_ptr_null(strchr(calls, 'a'));
}
END_TEST

START_TEST(a_watch_that_fails_tells_why)
{
	struct dofi_fd none = {.fd = -1, .ready = ready};

	watch_both();
	ck_assert_int_eq(dofi_engine_watch(&ia, &fds[0], EPOLLIN), -EEXIST);
	ck_assert_int_eq(dofi_engine_watch(&ia, &none, EPOLLIN), -EBADF);
	ck_assert_int_eq(dofi_engine_wake_on(&ia, -1), -EBADF);
	ck_assert_int_eq(dofi_engine_wake_on(&ia, fds[0].fd), 0);
	ck_assert_int_eq(dofi_engine_wake_on(&ia, fds[0].fd), -EEXIST);
}
END_TEST

/* A quiet sleep ends by what can be read, not by room for more. */
START_TEST(a_quiet_sleep_ends_by_what_can_be_read)
{
	struct epoll_event event;
	int fd = eventfd(_i, EFD_CLOEXEC);

	ck_assert_int_eq(dofi_engine_wake_on(&ia, fd), 0);
	ck_assert_int_eq(epoll_wait(ia.engine.quiet_epfd, &event, 1, 0), _i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stall");
	TCase *tc = tcase_create("stall");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, work_waits_once);
	tcase_add_test(tc, work_that_waits_is_tried_once_in_its_order);
	tcase_add_test(tc, work_that_is_not_needed_does_not_wait);
	tcase_add_test(tc, a_retry_may_end_others);
	tcase_add_test(tc, deferred_work_runs_once_in_its_order);
	tcase_add_test(tc, last_work_runs_when_no_other_is_left);
	tcase_add_test(tc, what_is_queued_leaves_before_the_look);
	tcase_add_test(tc, a_look_handles_a_limited_number_of_events);
	tcase_add_test(tc, a_handler_may_end_the_watch_of_another);
	tcase_add_test(tc, a_descriptor_is_heard_as_it_is_watched);
	tcase_add_test(tc, a_watch_that_fails_tells_why);
	tcase_add_loop_test(tc, a_quiet_sleep_ends_by_what_can_be_read, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
