/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rounds of the engine: what each kind of caller reads and runs, and the engine's descriptors. */
#include "unit.h"
#include "t_hooks.h"

#include "../../../prov/ofi/progress/cno.h"
#include "../../../prov/ofi/progress/engine.c"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>

#define MOST        256 /* reads of a case */
#define DESCRIPTORS 4   /* of an engine */

static struct dofi_ia ia;
static int reads, events_read;
static int comes[MOST];       /* completions of each read */
static struct dofi_taker saw; /* during the latest read */
static bool takes;            /* the completion goes to the taker */
static int hears, fires, retries, works, agents_run;

static int reap(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	dofi_assert_held(&of->engine.lock);
	ck_assert_int_lt(reads, MOST);
	saw = of->engine.taker;
	if (takes)
		of->engine.taker.evd = NULL;
	return comes[reads++];
}

static int poll_events(struct dofi_ia *of)
{
	dofi_assert_held(&of->engine.lock);
	events_read++;
	return 2;
}

static const struct dofi_trans_ops trans = {.poll_events = poll_events};

/* --- the kernel: sleeps --- */

static int sleeps;

T_STAND_IN int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			       struct timespec *left)
{
	(void)left;
	ck_assert_int_eq(clock, CLOCK_MONOTONIC);
	ck_assert_int_eq(flags, 0);
	ck_assert_int_eq(time->tv_sec, 0);
	ck_assert_int_eq(time->tv_nsec, MOMENT_NS);
	sleeps++;
	return 0;
}

/* --- the kernel: the chosen descriptor fails, or is 0 because standard input was closed --- */

static int made, fails, is_zero; /* numbers of descriptors, from 1 */
static bool epoll_is_full;

/* Returns whether the next descriptor may be made. */
static bool may_make(void)
{
	if (++made == is_zero)
		close(STDIN_FILENO);
	if (made == fails)
		errno = EMFILE;
	return made != fails;
}

T_STAND_IN int epoll_create1(int flags)
{
	return may_make() ? (int)syscall(SYS_epoll_create1, flags) : -1;
}

T_STAND_IN int eventfd(unsigned int count, int flags)
{
	return may_make() ? (int)syscall(SYS_eventfd2, count, flags) : -1;
}

T_STAND_IN int epoll_ctl(int epfd, int what, int fd, struct epoll_event *event)
{
	if (epoll_is_full) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, epfd, what, fd, event);
}

/* --- */

static void setup(void)
{
	ck_assert_int_eq(dofi_engine_init(&ia), 0);
	dofi_list_init(&ia.agents);
	dofi_list_init(&ia.agent_calls);
	ia.engine.reap = reap;
	ia.trans = &trans;
}

static void teardown(void)
{
	ck_assert_int_eq(atomic_load(&ia.engine.lock.word), DOFI_LOCK_FREE);
	dofi_engine_fini(&ia);
}

static int round_with(uint64_t quirks, bool all)
{
	int n;

	ia.quirks = quirks;
	dofi_lock(&ia.engine.lock);
	n = dofi_engine_round(&ia, all);
	dofi_unlock(&ia.engine.lock);
	return n;
}

static uint32_t handled(void)
{
	return atomic_load(&ia.engine.handled);
}

/* --- what a round has to do --- */

static struct dofi_fd channel;
static struct dofi_timer timer;
static struct dofi_work work;
static struct dofi_stall stall;
static struct dofi_cno cno;

static void hear(struct dofi_fd *fd, uint32_t epoll_events)
{
	ck_assert_ptr_eq(fd, &channel);
	ck_assert_uint_eq(epoll_events, EPOLLIN);
	dofi_assert_held(&ia.engine.lock);
	hears++;
	dofi_engine_unwatch(&ia, fd);
	close(fd->fd);
}

static void fire(struct dofi_timer *of)
{
	ck_assert_ptr_eq(of, &timer);
	dofi_assert_held(&ia.engine.lock);
	fires++;
}

static void do_work(struct dofi_work *of)
{
	ck_assert_ptr_eq(of, &work);
	dofi_assert_held(&ia.engine.lock);
	ck_assert_int_eq(agents_run, 0); /* they come last */
	works++;
}

static void retry(struct dofi_stall *of)
{
	ck_assert_ptr_eq(of, &stall);
	dofi_assert_held(&ia.engine.lock);
	of->waits = false;
	retries++;
}

static void run_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	ck_assert_ptr_eq(data, &cno);
	(void)evd;
	dofi_assert_none_held();
	agents_run++;
}

/* A socket and a timer, each with one event. */
static void have_socket_and_timer(void)
{
	channel = (struct dofi_fd){.fd = eventfd(1, EFD_CLOEXEC), .ready = hear};
	ck_assert_int_eq(dofi_engine_watch(&ia, &channel, EPOLLIN), 0);
	timer.fire = fire;
	dofi_lock(&ia.engine.lock);
	dofi_timer_set(&ia, &timer, 1);
	dofi_unlock(&ia.engine.lock);
}

static void defer_work(void)
{
	work.run = do_work;
	dofi_lock(&ia.engine.lock);
	dofi_work_defer(&ia, &work);
	dofi_unlock(&ia.engine.lock);
}

static void make_agent_due(void)
{
	cno.obj.ia = &ia;
	dofi_list_init(&cno.agent_link);
	cno.agent = (DAT_OS_WAIT_PROXY_AGENT){&cno, run_agent};
	dofi_lock(&cno.lock);
	dofi_agent_make_due(&cno, NULL);
	dofi_unlock(&cno.lock);
}

/* --- a round --- */

START_TEST(a_queue_is_read_once)
{
	ck_assert_int_eq(round_with(0, false), 0);
	ck_assert_int_eq(reads, 1);
}
END_TEST

/* A write of many KiB comes in pieces, and only its end, or a later message, has an event. */
START_TEST(a_mute_queue_is_read_until_it_has_an_event)
{
	comes[READS_OF_MUTE_QUEUE / 2] = 1;
	ck_assert_int_eq(round_with(DOFI_QUIRK_MUTE_QUEUE, false), 1);
	ck_assert_int_eq(reads, 1 + READS_OF_MUTE_QUEUE / 2);
}
END_TEST

START_TEST(a_mute_queue_without_events_does_not_hold_the_driver)
{
	ck_assert_int_eq(round_with(DOFI_QUIRK_MUTE_QUEUE, false), 0);
	ck_assert_int_eq(reads, 1 + READS_OF_MUTE_QUEUE);
}
END_TEST

START_TEST(a_mute_queue_with_an_event_is_read_once)
{
	comes[0] = 1;
	ck_assert_int_eq(round_with(DOFI_QUIRK_MUTE_QUEUE, false), 1);
	ck_assert_int_eq(reads, 1);
}
END_TEST

START_TEST(a_closed_fabric_is_not_read)
{
	ia.engine.has_fabric = false;
	ck_assert_int_eq(round_with(DOFI_QUIRK_MUTE_QUEUE, _i), 0);
	ck_assert_int_eq(reads, 0);
	ck_assert_int_eq(events_read, 0);
}
END_TEST

/* Channels end, and limits of time are over, also when the fabric is gone. */
START_TEST(a_full_round_serves_everything)
{
	const int of_fabric = _i ? 3 + 2 : 0;

	ia.engine.has_fabric = _i;
	comes[0] = 3;
	have_socket_and_timer();
	ck_assert_int_eq(round_with(0, true), of_fabric + 1 + 1);
	ck_assert_int_eq(reads, _i);
	ck_assert_int_eq(events_read, _i);
	ck_assert_int_eq(hears, 1);
	ck_assert_int_eq(fires, 1);
	ck_assert_uint_eq(handled(), (uint32_t)of_fabric + 1 + 1);
}
END_TEST

START_TEST(another_round_serves_the_queue_only)
{
	comes[0] = 3;
	comes[1] = 4;
	have_socket_and_timer();
	ck_assert_int_eq(round_with(0, false), 3);
	ck_assert_uint_eq(handled(), 3);
	ck_assert_int_eq(round_with(0, false), 4);
	ck_assert_uint_eq(handled(), 3 + 4);
	ck_assert_int_eq(round_with(0, false), 0);
	ck_assert_uint_eq(handled(), 3 + 4);
	ck_assert_int_eq(events_read, 0);
	ck_assert_int_eq(hears, 0);
	ck_assert_int_eq(fires, 0);
	close(channel.fd);
}
END_TEST

START_TEST(each_round_retries_what_waits_for_the_fabric)
{
	stall.retry = retry;
	dofi_stall(&ia, &stall);
	ck_assert_int_eq(round_with(0, _i) - events_read * 2, 0);
	ck_assert_int_eq(retries, 1);
	ck_assert_int_eq(round_with(0, _i) - events_read, 0);
	ck_assert_int_eq(retries, 1);
}
END_TEST

START_TEST(each_round_runs_and_counts_deferred_work)
{
	ia.engine.has_fabric = false;
	defer_work();
	ck_assert_int_eq(round_with(0, _i), 1);
	ck_assert_int_eq(works, 1);
	ck_assert_uint_eq(handled(), 1);
	ck_assert_int_eq(round_with(0, _i), 0);
	ck_assert_int_eq(works, 1);
}
END_TEST

START_TEST(a_drain_reads_until_the_queue_is_empty)
{
	int n;

	comes[0] = 16;
	comes[1] = 1;
	comes[2] = 7;
	comes[4] = 1; /* it came later */
	dofi_lock(&ia.engine.lock);
	n = dofi_engine_drain_cq(&ia);
	dofi_unlock(&ia.engine.lock);
	ck_assert_int_eq(n, 16 + 1 + 7);
	ck_assert_int_eq(reads, 4);
}
END_TEST

/* --- a poll --- */

/* Polls until one reads the events of connections, too. Returns the number of polls. */
static int polls_to_full_round(void)
{
	int before = events_read, n = 0;

	while (events_read == before) {
		dofi_engine_poll(&ia);
		n++;
		ck_assert_ptr_null(saw.evd);
	}
	return n;
}

START_TEST(polls_are_full_rounds_at_intervals)
{
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(polls_to_full_round(), POLLS_PER_FULL_ROUND + 1);
	ck_assert_int_eq(reads, 3 * (POLLS_PER_FULL_ROUND + 1));
	ck_assert_uint_eq(atomic_load(&ia.engine.activity), (uint32_t)reads);
}
END_TEST

/* While completions come, nobody waits for a connection. */
START_TEST(a_poll_that_finds_an_event_delays_the_full_round)
{
	for (int i = 0; i < POLLS_PER_FULL_ROUND - 1; i++)
		dofi_engine_poll(&ia);
	comes[reads] = 1;
	dofi_engine_poll(&ia);
	ck_assert_int_eq(events_read, 0);
	ck_assert_int_eq(polls_to_full_round(), POLLS_PER_FULL_ROUND + 1);
}
END_TEST

START_TEST(each_poll_looks_for_a_connection_that_no_descriptor_shows)
{
	static const struct {
		bool silent;
		uint32_t linking;
		bool unseen;
	} cases[] = {{false, 0, false}, {false, 1, false}, {true, 0, false}, {true, 2, true}};

	ia.eqs.silent = cases[_i].silent;
	atomic_store(&ia.cm.nlinking, cases[_i].linking);
	ck_assert(dofi_engine_connects_unseen(&ia) == cases[_i].unseen);
	for (int i = 0; i < 3; i++)
		dofi_engine_poll(&ia);
	ck_assert_int_eq(events_read, cases[_i].unseen ? 3 : 0);
}
END_TEST

/* The events of the EVD go to the taker while it polls, and to the ring afterwards. */
START_TEST(the_taker_is_known_during_its_poll_only)
{
	static uint64_t evd;
	DAT_EVENT event;
	const struct dofi_taker taker = {(struct dofi_evd *)(void *)&evd, &event};

	takes = _i;
	comes[0] = _i;
	ck_assert(dofi_engine_poll_for(&ia, taker) == takes);
	ck_assert_ptr_eq(saw.evd, taker.evd);
	ck_assert_ptr_eq(saw.event, taker.event);
	ck_assert_ptr_null(ia.engine.taker.evd);
	dofi_engine_poll(&ia);
	ck_assert_ptr_null(saw.evd);
}
END_TEST

/* Another thread runs a round: it would only be disturbed. */
START_TEST(a_poll_does_not_wait_for_the_round_of_another_thread)
{
	static uint64_t evd;
	DAT_EVENT event;
	bool served;

	make_agent_due();
	atomic_store(&ia.engine.lock.word, DOFI_LOCK_TAKEN);
	served = dofi_engine_poll_for(&ia,
				      (struct dofi_taker){(struct dofi_evd *)(void *)&evd, &event});
	ck_assert_int_eq(atomic_exchange(&ia.engine.lock.word, DOFI_LOCK_FREE), DOFI_LOCK_TAKEN);
	ck_assert(!served);
	ck_assert_int_eq(reads, 0);
	ck_assert_ptr_null(ia.engine.taker.evd);
	ck_assert_int_eq(agents_run, 1);
}
END_TEST

static void miss(uint32_t polls)
{
	atomic_store(&ia.engine.lock.word, DOFI_LOCK_TAKEN);
	while (polls--)
		dofi_engine_poll(&ia);
	atomic_store(&ia.engine.lock.word, DOFI_LOCK_FREE);
}

/* The holder of the lock may need this processor. A poll that gets the lock ends the row. */
START_TEST(polls_that_miss_often_leave_the_processor)
{
	miss(MOST_MISSED - 1);
	ck_assert_int_eq(sleeps, 0);
	miss(1);
	ck_assert_int_eq(sleeps, 1);
	miss(MOST_MISSED - 1);
	ck_assert_int_eq(sleeps, 1);
	dofi_engine_poll(&ia);
	miss(MOST_MISSED - 1);
	ck_assert_int_eq(sleeps, 1);
	miss(1);
	ck_assert_int_eq(sleeps, 2);
	ck_assert_int_eq(reads, 1);
}
END_TEST

static bool dozes = true;

static bool doze(struct dofi_ia *of, bool asleep)
{
	ck_assert_ptr_eq(of, &ia);
	dofi_assert_none_held();
	dozes = asleep;
	return true;
}

START_TEST(polls_relieve_a_progress_thread_that_has_not_woken)
{
	struct pollfd pfd = {.fd = ia.engine.wake_fd, .events = POLLIN};

	ia.engine.doze = doze;
	atomic_store(&ia.wait.marked, true);
	atomic_store(&ia.wait.driver_wake, &ia.engine.activity);
	atomic_store(&ia.engine.activity, POLLS_PER_RELIEF - 2);
	dofi_engine_poll(&ia);
	ck_assert(dozes);
	ck_assert_int_eq(poll(&pfd, 1, 0), 0);
	dofi_engine_poll(&ia);
	ck_assert(!dozes);
	ck_assert_int_eq(poll(&pfd, 1, 0), 1);
}
END_TEST

START_TEST(a_poll_calls_due_agents_without_locks)
{
	make_agent_due();
	dofi_engine_poll(&ia);
	ck_assert_int_eq(reads, 1);
	ck_assert_int_eq(agents_run, 1);
	dofi_engine_poll(&ia);
	ck_assert_int_eq(agents_run, 1);
}
END_TEST

/* --- calls that change connections, and calls that need all completions --- */

START_TEST(an_enclosed_call_ends_with_deferred_work_and_agents)
{
	make_agent_due();
	work.run = do_work;
	dofi_engine_begin(&ia);
	dofi_assert_held(&ia.engine.lock);
	dofi_work_defer(&ia, &work);
	ck_assert_int_eq(works, 0);
	dofi_engine_end(&ia);
	ck_assert_int_eq(works, 1);
	ck_assert_int_eq(agents_run, 1);
	ck_assert_int_eq(reads, 0);
}
END_TEST

static void *catch_up(void *result)
{
	*(int *)result = dofi_engine_catch_up(&ia);
	return NULL;
}

/* Unlike a poll it waits, and it leaves the agents to its caller. */
START_TEST(a_call_that_needs_all_completions_waits_for_the_round_of_another_thread)
{
	pthread_t thread;
	int n = -1;

	make_agent_due();
	comes[0] = 5;
	dofi_lock(&ia.engine.lock);
	ck_assert_int_eq(pthread_create(&thread, NULL, catch_up, &n), 0);
	while (!atomic_load(&ia.engine.lock.awaited))
		sched_yield();
	ck_assert_int_eq(reads, 0);
	dofi_unlock(&ia.engine.lock);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(n, 5);
	ck_assert_int_eq(reads, 1);
	ck_assert_int_eq(events_read, 0);
	ck_assert_int_eq(agents_run, 0);
}
END_TEST

/* --- descriptors --- */

static int next_descriptor(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	close(fd);
	return fd;
}

static bool is_readable(int fd)
{
	struct epoll_event event;
	int set = epoll_create1(EPOLL_CLOEXEC), n;

	event.events = EPOLLIN;
	ck_assert_int_eq(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), 0);
	n = epoll_wait(set, &event, 1, 0);
	close(set);
	return n == 1;
}

/* The progress thread sleeps by reading park_fd; nobody may sleep in a read of wake_fd. */
START_TEST(a_new_engine_has_its_descriptors_and_nothing_to_do)
{
	const struct {
		int fd;
		bool is_nonblocking;
	} fds[] = {{ia.engine.sock_epfd, false},
		   {ia.engine.quiet_epfd, false},
		   {ia.engine.wake_fd, true},
		   {ia.engine.park_fd, false}};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		ck_assert_int_eq(fcntl(fds[i].fd, F_GETFD), FD_CLOEXEC);
		ck_assert(!(fcntl(fds[i].fd, F_GETFL) & O_NONBLOCK) == !fds[i].is_nonblocking);
		ck_assert(!is_readable(fds[i].fd));
	}
	ck_assert(ia.engine.has_fabric);
	ck_assert_uint_eq(atomic_load(&ia.engine.next_timer), UINT64_MAX);
	ck_assert_int_eq(ia.wait.mute_fd, -1);
	ck_assert_int_eq(round_with(0, true), 2);
}
END_TEST

START_TEST(a_message_on_a_channel_ends_a_quiet_sleep)
{
	have_socket_and_timer();
	ck_assert(is_readable(ia.engine.quiet_epfd));
	round_with(0, true);
	ck_assert(!is_readable(ia.engine.quiet_epfd));
}
END_TEST

static void expect_no_descriptor(void)
{
	ck_assert_int_eq(ia.engine.sock_epfd, -1);
	ck_assert_int_eq(ia.engine.quiet_epfd, -1);
	ck_assert_int_eq(ia.engine.wake_fd, -1);
	ck_assert_int_eq(ia.engine.park_fd, -1);
}

/* Threads close standard input at any time, so each of the descriptors may be 0. */
START_TEST(the_end_closes_the_descriptors_once)
{
	int next = next_descriptor(), own;

	made = 0;
	is_zero = _i;
	ck_assert_int_eq(dofi_engine_init(&ia), 0);
	ia.wait.fds = calloc(ia.wait.max_fds = 1, sizeof(*ia.wait.fds));
	dofi_engine_fini(&ia);
	expect_no_descriptor();
	ck_assert_ptr_null(ia.wait.fds);
	ck_assert_int_eq(next_descriptor(), _i ? STDIN_FILENO : next);
	own = eventfd(0, EFD_CLOEXEC);
	dofi_engine_fini(&ia);
	ck_assert_int_eq(fcntl(own, F_GETFD), FD_CLOEXEC);
	close(own);
}
END_TEST

START_TEST(an_engine_without_one_of_its_descriptors_does_not_begin)
{
	int next = next_descriptor();

	made = 0;
	fails = _i;
	ck_assert_int_eq(dofi_engine_init(&ia), -EMFILE);
	expect_no_descriptor();
	ck_assert_int_eq(next_descriptor(), next);
}
END_TEST

#ifndef NDEBUG
/* Debug builds check it when a thread takes a lock. */
START_TEST(the_locks_have_their_places_in_the_order)
{
	ck_assert_int_eq(dofi_engine_init(&ia), 0);
	ck_assert_int_eq(ia.engine.lock.level, DOFI_LEVEL_ENGINE);
	ck_assert_int_eq(ia.engine.stalled_lock.level, DOFI_LEVEL_LEAF);
	dofi_engine_fini(&ia);
}
END_TEST
#endif

START_TEST(an_engine_that_can_not_watch_its_channels_does_not_begin)
{
	int next = next_descriptor();

	epoll_is_full = true;
	ck_assert_int_eq(dofi_engine_init(&ia), -ENOSPC);
	epoll_is_full = false;
	expect_no_descriptor();
	ck_assert_int_eq(next_descriptor(), next);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine");
	TCase *tc = tcase_create("round");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_queue_is_read_once);
	tcase_add_test(tc, a_mute_queue_is_read_until_it_has_an_event);
	tcase_add_test(tc, a_mute_queue_without_events_does_not_hold_the_driver);
	tcase_add_test(tc, a_mute_queue_with_an_event_is_read_once);
	tcase_add_loop_test(tc, a_closed_fabric_is_not_read, 0, 2);
	tcase_add_loop_test(tc, a_full_round_serves_everything, 0, 2);
	tcase_add_test(tc, another_round_serves_the_queue_only);
	tcase_add_loop_test(tc, each_round_retries_what_waits_for_the_fabric, 0, 2);
	tcase_add_loop_test(tc, each_round_runs_and_counts_deferred_work, 0, 2);
	tcase_add_test(tc, a_drain_reads_until_the_queue_is_empty);
	suite_add_tcase(suite, tc);
	tc = tcase_create("poll");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, polls_are_full_rounds_at_intervals);
	tcase_add_test(tc, a_poll_that_finds_an_event_delays_the_full_round);
	tcase_add_loop_test(tc, each_poll_looks_for_a_connection_that_no_descriptor_shows, 0, 4);
	tcase_add_loop_test(tc, the_taker_is_known_during_its_poll_only, 0, 2);
	tcase_add_test(tc, a_poll_does_not_wait_for_the_round_of_another_thread);
	tcase_add_test(tc, polls_that_miss_often_leave_the_processor);
	tcase_add_test(tc, polls_relieve_a_progress_thread_that_has_not_woken);
	tcase_add_test(tc, a_poll_calls_due_agents_without_locks);
	tcase_add_test(tc, an_enclosed_call_ends_with_deferred_work_and_agents);
	tcase_add_test(tc, a_call_that_needs_all_completions_waits_for_the_round_of_another_thread);
	suite_add_tcase(suite, tc);
	tc = tcase_create("descriptors");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_new_engine_has_its_descriptors_and_nothing_to_do);
	tcase_add_test(tc, a_message_on_a_channel_ends_a_quiet_sleep);
	suite_add_tcase(suite, tc);
	tc = tcase_create("life cycle");
	tcase_add_loop_test(tc, the_end_closes_the_descriptors_once, 0, 1 + DESCRIPTORS);
	tcase_add_loop_test(tc, an_engine_without_one_of_its_descriptors_does_not_begin, 1,
			    1 + DESCRIPTORS);
#ifndef NDEBUG
	tcase_add_test(tc, the_locks_have_their_places_in_the_order);
#endif
	tcase_add_test(tc, an_engine_that_can_not_watch_its_channels_does_not_begin);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
