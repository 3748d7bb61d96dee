/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps of the progress thread: it watches beside consumers that poll, drives when they have
 * stopped, and is parked while a consumer drives. The linker redirects rounds, sleeps and the clock
 * to this file.
 */
#include "t_hooks.h"

#include "../../../prov/ofi/progress/progress_thread.c"

#include "noted_rounds.h"

#include <errno.h>
#include <stdarg.h>

#define MS  UINT64_C(1000000)
#define NOW (1000 * MS)

/* --- the clock, rounds and sleeps --- */

static uint64_t now, ran_for;
static uint64_t runs = 4; /* quarters of the time of a look for which the process runs */
static uint32_t naps, arms, looks;
static uint32_t stop_in; /* number of a round */
static int timeout_seen, look_answer;
static bool events_are_there, driver_comes;
static uint64_t look_takes;
static uint32_t driven_at = 5; /* the count of activity when it drives */
static uint32_t parks, last_park;
static int timeouts[MOST + 1]; /* of each look */
/*
 * What happens during each look and each sleep of the driver: 'p': a consumer polls; 'f': it polls
 * a few times; '.': it does not. At the end the thread stops.
 */
static const char *script;

T_STAND_IN int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
T_STAND_IN int __wrap_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout);
uint64_t __wrap_dofi_now(void);
uint64_t __wrap_dofi_process_time(void);
bool __wrap_dofi_wait_arm_events(struct dofi_ia *of);
int __wrap_dofi_eventfd_clear(int fd);
int __real_dofi_eventfd_clear(int fd);
void __wrap_dofi_wait_probe(struct dofi_ia *of);
int __wrap_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);
void __wrap_dofi_nic_enter_thread(const char *ia_name, const struct dofi_nic *nic);
T_STAND_IN long __wrap_syscall(long number, ...);

/* A step of the script; polls: what 'p' stands for there. */
static void poll_by_script(uint32_t polls)
{
	if (!*script) {
		atomic_store(&ia.engine.stop, true);
	} else if (*script == '.') {
		atomic_store(&ia.engine.copying, 0);
		script++;
	} else {
		if (*script++ == 'f')
			polls = FEW_POLLS;
		driven_at = atomic_fetch_add(&ia.engine.activity, polls) + polls;
	}
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	ck_assert_int_eq(time->tv_sec, 0);
	ck_assert_int_eq(time->tv_nsec, NAP_NS);
	naps++;
	return 0;
}

int __wrap_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout)
{
	(void)events;
	ck_assert_int_eq(epfd, ia.engine.quiet_epfd);
	ck_assert_int_eq(n, 1);
	looks++;
	timeout_seen = timeout;
	now += look_takes;
	if (script) {
		ck_assert_uint_le(looks, MOST);
		timeouts[looks] = timeout;
		now += (uint64_t)timeout * MS;
		ran_for += (uint64_t)timeout * MS / 4 * runs;
		poll_by_script(FEW_POLLS + 1);
	}
	atomic_store(&ia.wait.asleep, driver_comes);
	return look_answer;
}

uint64_t __wrap_dofi_now(void)
{
	return now;
}

uint64_t __wrap_dofi_process_time(void)
{
	return ran_for;
}

bool __wrap_dofi_wait_arm_events(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	arms++;
	return !events_are_there;
}

static void see_round(void)
{
	if (rounds == stop_in)
		atomic_store(&ia.engine.stop, true);
}

static void see_sleep(const _Atomic uint32_t *word, uint32_t seen, uint64_t deadline,
		      const struct dofi_interrupts *allowed)
{
	ck_assert_ptr_eq(word, &ia.engine.activity);
	ck_assert_uint_eq(seen, driven_at);
	ck_assert_uint_eq(deadline, DOFI_FOREVER);
	ck_assert_ptr_null(allowed);
	if (script)
		poll_by_script(1);
}

int __wrap_dofi_eventfd_clear(int fd)
{
	ck_assert_int_eq(fd, ia.engine.park_fd);
	ck_assert(atomic_load(&ia.engine.parked));
	if (++parks == last_park)
		atomic_store(&ia.engine.stop, true);
	return __real_dofi_eventfd_clear(fd);
}

/* --- an agent --- */

static int agents_run;

static void run_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	ck_assert_ptr_eq(data, &ia);
	(void)evd;
	dofi_assert_none_held();
	agents_run++;
}

/* --- */

static void setup(void)
{
	begin_rounds();
	atomic_store(&ia.engine.activity, 5);
	ia.engine.quiet_epfd = 901;
	now = NOW;
}

/* --- beside consumers that poll --- */

START_TEST(a_quiet_look_that_finds_nothing_has_no_round)
{
	watch_quietly(&ia, 5, 20 * MS);
	ck_assert_uint_eq(arms, 1);
	ck_assert_uint_eq(looks, 1);
	ck_assert_uint_eq(rounds, 0);
	ck_assert_uint_eq(naps, 0);
}
END_TEST

/* Whole milliseconds, and not longer than to the next timer. */
START_TEST(a_quiet_look_ends_in_time)
{
	static const struct {
		uint64_t quantum, timer; /* from now on; UINT64_MAX: none */
		int timeout;
	} cases[] = {{20 * MS, UINT64_MAX - NOW, 20},
		     {20 * MS + 1, UINT64_MAX - NOW, 21},
		     {1, UINT64_MAX - NOW, 1},
		     {20 * MS, 7 * MS, 7},
		     {20 * MS, 7 * MS - 1, 7},
		     {20 * MS, 30 * MS, 20},
		     {20 * MS, 0, 0}};

	atomic_store(&ia.engine.next_timer, NOW + cases[_i].timer);
	watch_quietly(&ia, 5, cases[_i].quantum);
	ck_assert_int_eq(timeout_seen, cases[_i].timeout);
}
END_TEST

START_TEST(a_timer_in_the_past_makes_no_long_look)
{
	atomic_store(&ia.engine.next_timer, NOW - 5 * MS);
	watch_quietly(&ia, 5, 20 * MS);
	ck_assert_int_eq(timeout_seen, 0);
	ck_assert_uint_eq(rounds, 1);
}
END_TEST

/* A descriptor, a timer, events that make no descriptor readable, and events that are there. */
START_TEST(what_is_found_is_handled_in_a_full_round)
{
	make_agent_due(run_agent);
	look_answer = _i == 0;
	if (_i == 1) {
		atomic_store(&ia.engine.next_timer, NOW + 7 * MS);
		look_takes = 7 * MS;
	}
	ia.eqs.silent = _i == 2;
	atomic_store(&ia.engine.activity, 6 + FEW_POLLS);
	events_are_there = _i == 3;
	watch_quietly(&ia, 5, 20 * MS);
	ck_assert_uint_eq(looks, _i != 3);
	ck_assert_uint_eq(rounds, 1);
	ck_assert(was_full[1]);
	ck_assert_int_eq(agents_run, 1);
	ck_assert_uint_eq(naps, 0);
}
END_TEST

/* It would deliver what a consumer that does not poll spins for. */
START_TEST(a_quiet_look_leaves_silent_events_to_the_driver)
{
	ia.eqs.silent = true;
	atomic_store(&ia.engine.activity, 5 + FEW_POLLS);
	watch_quietly(&ia, 5, 20 * MS);
	ck_assert_uint_eq(looks, 1);
	ck_assert_uint_eq(rounds, 0);
}
END_TEST

START_TEST(a_look_that_fails_has_no_round)
{
	look_answer = -1;
	watch_quietly(&ia, 5, 20 * MS);
	ck_assert_uint_eq(rounds, 0);
}
END_TEST

/* It sleeps on the same descriptors; it handles the event; it is inside a post. */
START_TEST(a_driver_at_work_is_left_alone)
{
	look_answer = 1;
	atomic_store(&ia.wait.driven, true);
	if (_i == 0)
		atomic_store(&ia.wait.asleep, true);
	else if (_i == 1)
		atomic_store(&ia.engine.lock.word, DOFI_LOCK_TAKEN);
	else
		atomic_store(&ia.engine.copying, 1);
	watch_quietly(&ia, 5, 20 * MS);
	atomic_store(&ia.engine.lock.word, DOFI_LOCK_FREE);
	ck_assert_uint_eq(naps, 1);
	ck_assert_uint_eq(arms, 0);
	ck_assert_uint_eq(looks, 0);
	ck_assert_uint_eq(rounds, 0);
}
END_TEST

START_TEST(a_driver_inside_an_agent_does_not_handle_events)
{
	look_answer = 1;
	atomic_store(&ia.wait.driven, true);
	watch_quietly(&ia, 5, 20 * MS);
	ck_assert_uint_eq(naps, 1);
	ck_assert_uint_eq(rounds, 1);
}
END_TEST

/* The same event woke both. */
START_TEST(a_driver_that_comes_meanwhile_handles_the_event)
{
	look_answer = 1;
	driver_comes = true;
	watch_quietly(&ia, 5, 20 * MS);
	ck_assert_uint_eq(naps, 1);
	ck_assert_uint_eq(rounds, 0);
}
END_TEST

/* --- it drives --- */

static void drive_to(uint32_t round)
{
	stop_in = round;
	drive(&ia, 5, 0);
	ck_assert_uint_eq(rounds, round);
}

START_TEST(full_rounds_come_first_and_at_intervals)
{
	drive_to(2 * DOFI_ROUNDS_PER_FULL + 1);
	for (uint32_t i = 1; i <= rounds; i++) {
		ck_assert(was_full[i] == (i % DOFI_ROUNDS_PER_FULL == 1));
		ck_assert(slept_after[i]);
	}
}
END_TEST

START_TEST(a_round_is_full_unless_the_queue_alone_ended_the_sleep)
{
	endings[2] = 1;
	drive_to(4);
	ck_assert(!was_full[2] && was_full[3] && !was_full[4]);
}
END_TEST

START_TEST(a_due_timer_makes_a_round_full)
{
	atomic_store(&ia.engine.next_timer, NOW + !_i);
	drive_to(2);
	ck_assert(was_full[2] == _i);
}
END_TEST

START_TEST(all_rounds_are_full_where_no_descriptor_shows_events)
{
	ia.eqs.silent = true;
	drive_to(4);
	for (uint32_t i = 1; i <= rounds; i++)
		ck_assert(was_full[i]);
}
END_TEST

/* The sleep looks at the queue once more; where it does not, another round does. */
START_TEST(a_round_that_finds_something_is_repeated_where_no_sleep_looks_at_the_queue)
{
	static const struct {
		enum fi_wait_obj wait;
		bool moves_alone, repeats;
	} cases[] = {{FI_WAIT_FD, false, false},
		     {FI_WAIT_FD, true, true},
		     {FI_WAIT_NONE, false, true},
		     {FI_WAIT_NONE, true, true}};

	ia.cq_wait = cases[_i].wait;
	ia.moves_alone = cases[_i].moves_alone;
	found[1] = 2;
	drive_to(3);
	ck_assert(slept_after[1] == !cases[_i].repeats);
	ck_assert(slept_after[2]);
	ck_assert(!was_full[2]);
}
END_TEST

START_TEST(each_round_ends_with_the_due_agents)
{
	make_agent_due(run_agent);
	drive_to(1);
	ck_assert_int_eq(agents_run, 1);
}
END_TEST

/* A consumer polls or waits; it is inside a long post; the IA closes. */
START_TEST(it_stops_driving_for_a_consumer)
{
	if (_i == 0)
		atomic_store(&ia.engine.activity, 6);
	else if (_i == 1)
		atomic_store(&ia.engine.copying, 1);
	else
		atomic_store(&ia.engine.stop, true);
	drive(&ia, 5, _i == 0 ? 1 : 9);
	ck_assert_uint_eq(rounds, 0);
}
END_TEST

/* Consumers poll during each sleep. */
START_TEST(a_patient_driver_goes_on_although_consumers_poll)
{
	script = "pp.ppp";
	drive(&ia, 5, 4);
	ck_assert_uint_eq(sleeps, 5);
	ck_assert_str_eq(script, "p");
}
END_TEST

START_TEST(a_patient_driver_gives_way_to_a_consumer_that_sleeps)
{
	script = "p";
	atomic_store(&ia.wait.count, 1);
	drive(&ia, 5, 9);
	ck_assert_uint_eq(sleeps, 1);
}
END_TEST

/* --- it starts --- */

static int probes, starts, start_error;

void __wrap_dofi_wait_probe(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_int_eq(starts, 0);
	probes++;
}

int __wrap_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	ck_assert_ptr_eq(thread, &ia.engine.thread);
	ck_assert(run == progress_main);
	ck_assert_ptr_eq(arg, &ia);
	starts++;
	return start_error;
}

/* Events of connections end its quiet looks, if the fabric has a descriptor for them. */
START_TEST(it_looks_at_the_events_of_connections)
{
	const bool has_fd = _i == 0;

	ia.engine.quiet_epfd = epoll_create1(EPOLL_CLOEXEC);
	ia.eqs.n = _i < 2;
	ia.eqs.fd = has_fd ? eventfd(1, EFD_CLOEXEC) : -1;
	start_error = -EAGAIN;
	ck_assert_int_eq(dofi_progress_start(&ia), -EAGAIN);
	ck_assert_int_eq(probes, 1);
	ck_assert_int_eq(starts, 1);
	ck_assert(is_readable(ia.engine.quiet_epfd) == has_fd);
}
END_TEST

/* The lowest descriptor is one. */
START_TEST(it_does_not_start_without_the_events_of_connections)
{
	ia.engine.quiet_epfd = epoll_create1(EPOLL_CLOEXEC);
	close(STDIN_FILENO);
	ia.eqs.n = 1;
	ia.eqs.fd = STDIN_FILENO;
	ck_assert_int_eq(dofi_progress_start(&ia), -EBADF);
	ck_assert_int_eq(starts, 0);
}
END_TEST

/* --- it is parked, and it ends --- */

static int joins, join_error;

T_STAND_IN int __wrap_pthread_timedjoin_np(pthread_t thread, void **result,
					   const struct timespec *limit);
T_STAND_IN int __wrap_pthread_join(pthread_t thread, void **result);

T_STAND_IN int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __real_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_REALTIME) /* that of pthread_timedjoin_np */
		return __real_clock_gettime(clock, time);
	*time = (struct timespec){.tv_sec = 1234, .tv_nsec = 56};
	return 0;
}

int __wrap_pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *limit)
{
	ck_assert(thread == ia.engine.thread);
	ck_assert_ptr_null(result);
	ck_assert_int_eq(limit->tv_sec, 1235);
	ck_assert_int_eq(limit->tv_nsec, 56);
	ck_assert(atomic_load(&ia.engine.stop));
	joins++;
	return join_error;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	ck_assert(thread == ia.engine.thread);
	ck_assert_ptr_null(result);
	ck_assert(atomic_load(&ia.engine.stop));
	joins++;
	return 0;
}

/* An agent of the consumer may not return. */
START_TEST(exit_waits_a_second_at_most)
{
	ia.engine.has_fabric = true;
	join_error = _i ? ETIMEDOUT : 0;
	dofi_progress_exit(&ia);
	ck_assert_int_eq(joins, 1);
	ck_assert_int_eq(ia.engine.joined, !_i);
	ck_assert(!ia.engine.has_fabric);
	/* Closing it later waits for a thread that was not joined. */
	dofi_progress_stop(&ia);
	ck_assert_int_eq(joins, 1 + _i);
	ck_assert(ia.engine.joined);
	dofi_progress_stop(&ia);
	ck_assert_int_eq(joins, 1 + _i);
}
END_TEST

/* An agent calls exit(), or the IA is closed already. */
START_TEST(exit_does_not_wait_for_itself)
{
	ia.engine.has_fabric = true;
	if (_i)
		ia.engine.joined = true;
	else
		ia.engine.thread = pthread_self();
	dofi_progress_exit(&ia);
	ck_assert_int_eq(joins, 0);
	ck_assert(!atomic_load(&ia.engine.stop));
	ck_assert(ia.engine.has_fabric);
}
END_TEST

START_TEST(it_is_parked_while_a_consumer_drives)
{
	const bool driven = _i & 1, stop = _i & 2;

	ck_assert_int_eq(dofi_eventfd_signal(ia.engine.park_fd), 0);
	atomic_store(&ia.wait.driven, driven);
	atomic_store(&ia.engine.stop, stop);
	park(&ia);
	ck_assert(is_readable(ia.engine.park_fd) == (!driven || stop));
	ck_assert(!atomic_load(&ia.engine.parked));
}
END_TEST

START_TEST(it_is_asked_to_stop_wherever_it_sleeps)
{
	int fd = t_capture(STDERR_FILENO);

	ask_to_stop(&ia);
	ck_assert(atomic_load(&ia.engine.stop));
	ck_assert(is_readable(ia.engine.park_fd));
	ck_assert(is_readable(ia.engine.wake_fd));
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

START_TEST(a_stop_that_it_may_not_notice_is_logged)
{
	int fd = t_capture(STDERR_FILENO), closed = _i ? ia.engine.park_fd : ia.engine.wake_fd;

	close(closed);
	ask_to_stop(&ia);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "ofa0"));
	ck_assert_ptr_nonnull(strstr(t_captured(fd), strerror(EBADF)));
	ck_assert_int_eq(dup2(fd, closed), closed);
}
END_TEST

/* --- its loop --- */

#define QUIET 20

static uint32_t entries;

void __wrap_dofi_nic_enter_thread(const char *ia_name, const struct dofi_nic *nic)
{
	ck_assert_str_eq(ia_name, "ofa0");
	ck_assert_ptr_eq(nic, &ia.nic);
	entries++;
}

/* The attributes of a thread in the layout of the kernel; sched_setattr(2). */
static struct {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
} asked;
static int nasked;

long __wrap_syscall(long number, ...)
{
	va_list args;

	ck_assert_int_eq(number, SYS_sched_setattr);
	va_start(args, number);
	ck_assert_int_eq(va_arg(args, int), 0); /* this thread */
	memcpy(&asked, va_arg(args, void *), sizeof(asked));
	ck_assert_int_eq(va_arg(args, int), 0);
	va_end(args);
	nasked++;
	return 0;
}

static void run_loop(const char *what)
{
	script = what;
	ia.params.quiet_ms = QUIET;
	ck_assert_ptr_null(progress_main(&ia));
	ck_assert(!atomic_load(&ia.wait.driven));
	ck_assert_uint_eq(naps, 0);
}

static void expect_looks(const int *quanta)
{
	uint32_t n = 0;

	while (*quanta && ++n <= looks)
		ck_assert_int_eq(timeouts[n], *quanta++ * QUIET);
	ck_assert_uint_eq(looks, n);
}

/*
 * Without a consumer that polls it drives at once. Each look that finds that they still poll makes
 * the next one longer. When they have stopped, it drives, and begins with a short look.
 */
START_TEST(it_looks_less_and_less_often_at_consumers_that_keep_polling)
{
	runs = 0;
	run_loop("pppppppp.pp");
	expect_looks((const int[]){1, 2, 4, 8, 16, 16, 16, 16, 1, 2, 0});
	ck_assert_uint_eq(rounds, 2);
	ck_assert_uint_eq(sleeps, 2);
}
END_TEST

START_TEST(patience_grows_while_the_process_runs)
{
	ck_assert_uint_eq(more_patience(0, 20 * MS, 15 * MS), 64);
	ck_assert_uint_eq(more_patience(64, 20 * MS, 15 * MS), 256);
	ck_assert_uint_eq(more_patience(256, 20 * MS, 30 * MS), 1024);
	ck_assert_uint_eq(more_patience(1024, 20 * MS, 15 * MS), 1024);
	ck_assert_uint_eq(more_patience(1024, 20 * MS, 15 * MS - 1), 0);
}
END_TEST

/*
 * After the first call it looks. No other one comes, so it drives for 64 calls. After a look during
 * which there is one it begins again.
 */
START_TEST(calls_of_a_program_that_spins_do_not_end_the_driving)
{
	static char calls[2 * FIRST_PATIENCE + 5] = "pf";

	memset(calls + 2, 'p', FIRST_PATIENCE + 1);
	strcat(calls, ".");
	memset(calls + 4 + FIRST_PATIENCE, 'p', FIRST_PATIENCE);
	run_loop(calls);
	ck_assert_uint_eq(sleeps, 1 + 2 * FIRST_PATIENCE);
	ck_assert_uint_eq(looks, 4);
}
END_TEST

/* It had no processor, and may go on polling. */
START_TEST(a_program_that_does_not_run_does_not_spin)
{
	runs = 2;
	run_loop("p.p.");
	ck_assert_uint_eq(sleeps, 3);
	ck_assert_uint_eq(looks, 2);
}
END_TEST

/* Consumers that poll do not read the events of connections of such a fabric often enough. */
START_TEST(it_looks_often_while_connections_come_up_without_a_sign)
{
	const bool linking = _i == 0, silent = _i < 2;

	ia.eqs.silent = silent;
	atomic_store(&ia.cm.nlinking, linking);
	run_loop("pppp");
	if (linking)
		expect_looks((const int[]){1, 1, 1, 1, 0});
	else
		expect_looks((const int[]){1, 2, 4, 8, 0});
	ck_assert_uint_eq(rounds, silent ? 4 : 1);
}
END_TEST

/* A consumer that is inside of a long post counts as one that polls. */
START_TEST(it_does_not_drive_beside_a_long_post)
{
	atomic_store(&ia.engine.copying, 1);
	runs = 0;
	run_loop("pp.p");
	expect_looks((const int[]){1, 2, 4, 1, 0});
	ck_assert_uint_eq(rounds, 1);
}
END_TEST

START_TEST(it_does_not_drive_beside_a_consumer)
{
	atomic_store(&ia.wait.driven, true);
	last_park = 3;
	ck_assert_ptr_null(progress_main(&ia));
	ck_assert_uint_eq(parks, 3);
	ck_assert_uint_eq(rounds, 0);
	ck_assert_uint_eq(looks, 0);
	ck_assert(atomic_load(&ia.wait.driven)); /* by the consumer */
}
END_TEST

/* Once, with the niceness that it has. */
START_TEST(it_asks_for_its_place_and_a_short_slice)
{
	ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, 19), 0);
	run_loop("pp");
	ck_assert_uint_eq(entries, 1);
	ck_assert_int_eq(nasked, 1);
	ck_assert_uint_eq(asked.size, sizeof(asked));
	ck_assert_uint_eq(asked.policy, SCHED_OTHER);
	ck_assert_uint_eq(asked.flags, 0);
	ck_assert_int_eq(asked.nice, 19);
	ck_assert_uint_eq(asked.priority, 0);
	ck_assert_uint_eq(asked.runtime, 100000);
	ck_assert_uint_eq(asked.deadline | asked.period, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("quiet");
	TCase *tc = tcase_create("watches");

	tcase_add_checked_fixture(tc, setup, end_rounds);
	tcase_add_test(tc, a_quiet_look_that_finds_nothing_has_no_round);
	tcase_add_loop_test(tc, a_quiet_look_ends_in_time, 0, 7);
	tcase_add_test(tc, a_timer_in_the_past_makes_no_long_look);
	tcase_add_loop_test(tc, what_is_found_is_handled_in_a_full_round, 0, 4);
	tcase_add_test(tc, a_quiet_look_leaves_silent_events_to_the_driver);
	tcase_add_test(tc, a_look_that_fails_has_no_round);
	tcase_add_loop_test(tc, a_driver_at_work_is_left_alone, 0, 3);
	tcase_add_test(tc, a_driver_inside_an_agent_does_not_handle_events);
	tcase_add_test(tc, a_driver_that_comes_meanwhile_handles_the_event);
	suite_add_tcase(suite, tc);
	tc = tcase_create("drives");
	tcase_add_checked_fixture(tc, setup, end_rounds);
	tcase_add_test(tc, full_rounds_come_first_and_at_intervals);
	tcase_add_test(tc, a_round_is_full_unless_the_queue_alone_ended_the_sleep);
	tcase_add_loop_test(tc, a_due_timer_makes_a_round_full, 0, 2);
	tcase_add_test(tc, all_rounds_are_full_where_no_descriptor_shows_events);
	tcase_add_loop_test(
		tc, a_round_that_finds_something_is_repeated_where_no_sleep_looks_at_the_queue, 0,
		4);
	tcase_add_test(tc, each_round_ends_with_the_due_agents);
	tcase_add_test(tc, a_patient_driver_goes_on_although_consumers_poll);
	tcase_add_test(tc, a_patient_driver_gives_way_to_a_consumer_that_sleeps);
	tcase_add_loop_test(tc, it_stops_driving_for_a_consumer, 0, 3);
	suite_add_tcase(suite, tc);
	tc = tcase_create("starts");
	tcase_add_checked_fixture(tc, setup, end_rounds);
	tcase_add_loop_test(tc, it_looks_at_the_events_of_connections, 0, 3);
	tcase_add_test(tc, it_does_not_start_without_the_events_of_connections);
	suite_add_tcase(suite, tc);
	tc = tcase_create("loops");
	tcase_add_checked_fixture(tc, setup, end_rounds);
	tcase_add_test(tc, it_looks_less_and_less_often_at_consumers_that_keep_polling);
	tcase_add_test(tc, patience_grows_while_the_process_runs);
	tcase_add_test(tc, calls_of_a_program_that_spins_do_not_end_the_driving);
	tcase_add_test(tc, a_program_that_does_not_run_does_not_spin);
	tcase_add_loop_test(tc, it_looks_often_while_connections_come_up_without_a_sign, 0, 3);
	tcase_add_test(tc, it_does_not_drive_beside_a_long_post);
	tcase_add_test(tc, it_does_not_drive_beside_a_consumer);
	tcase_add_test(tc, it_asks_for_its_place_and_a_short_slice);
	suite_add_tcase(suite, tc);
	tc = tcase_create("ends");
	tcase_add_checked_fixture(tc, setup, end_rounds);
	tcase_add_loop_test(tc, it_is_parked_while_a_consumer_drives, 0, 4);
	tcase_add_test(tc, it_is_asked_to_stop_wherever_it_sleeps);
	tcase_add_loop_test(tc, exit_waits_a_second_at_most, 0, 2);
	tcase_add_loop_test(tc, exit_does_not_wait_for_itself, 0, 2);
	tcase_add_loop_test(tc, a_stop_that_it_may_not_notice_is_logged, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
