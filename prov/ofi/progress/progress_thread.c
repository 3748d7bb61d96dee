/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/progress_thread.h"

#include "object/ia.h"
#include "base/clock.h"
#include "base/eventfd.h"
#include "base/log.h"
#include "base/thread.h"
#include "fabric/eqs.h"
#include "fabric/nic.h"
#include "progress/driver_sleep.h"
#include "progress/engine.h"
#include "progress/engine_fds.h"
#include "progress/timer.h"
#include "progress/wait.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * While consumers keep polling, the progress thread checks less and less often whether they still
 * do, because each check costs them a little. The factor of the longest interval.
 */
#define MAX_QUIET      16

/* As many polls during a check may belong to the message before it. */
#define FEW_POLLS      3

/* How often it goes on driving although consumers have polled; see more_patience(). */
#define FIRST_PATIENCE 64

/*
 * If an event wakes the driver and the progress thread, the latter waits this long: in most cases
 * the driver has handled the event by then.
 */
#define NAP_NS         1000000

/*
 * Whether a consumer is inside the fabric. If the fabric copies data, that may take long: in a
 * poll, with engine.lock, or in a post, with the EP's lock, which the completions of that EP need.
 * A second thread that drives would only contend for these locks.
 */
static bool is_busy(struct dofi_engine *e)
{
	if (atomic_load_explicit(&e->copying, memory_order_relaxed) || !dofi_trylock(&e->lock))
		return true;
	dofi_unlock(&e->lock);
	return false;
}

/*
 * Whether the driver sleeps on the same descriptors, or already handles the event that woke both. A
 * driver inside an agent of the consumer does neither.
 */
static bool driver_is_at_it(struct dofi_ia *ia)
{
	return atomic_load(&ia->wait.asleep) ||
	       (atomic_load(&ia->wait.driven) && is_busy(&ia->engine));
}

static uint32_t polls_since(const struct dofi_ia *ia, uint32_t seen)
{
	return atomic_load_explicit(&ia->engine.activity, memory_order_relaxed) - seen;
}

/*
 * Consumers poll the CQ themselves: sleep on everything else until they stop. Events of endpoints
 * that no descriptor shows are read each time, as a consumer that finds a completion with each poll
 * does not read them. If consumers do not poll any more, the driver will read both: a round here
 * would deliver what they may spin for, and so make them poll.
 */
static void watch_quietly(struct dofi_ia *ia, uint32_t seen, uint64_t quantum_ns)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};
	uint64_t now = dofi_now(),
		 timer = atomic_load_explicit(&ia->engine.next_timer, memory_order_relaxed);
	struct epoll_event event;

	/*
	 * Otherwise each event would wake both threads, and fi_trywait of one would wait for locks
	 * of the other.
	 */
	if (atomic_load(&ia->wait.driven)) {
		nanosleep(&nap, NULL);
		if (driver_is_at_it(ia))
			return;
	}
	if (timer < now + quantum_ns)
		quantum_ns = timer > now ? timer - now : 0;
	if (dofi_wait_arm_events(ia) &&
	    epoll_wait(ia->engine.quiet_epfd, &event, 1,
		       (int)((quantum_ns + 999999u) / 1000000u)) <= 0 &&
	    timer > dofi_now() && (!ia->eqs.silent || polls_since(ia, seen) <= FEW_POLLS))
		return;
	if (driver_is_at_it(ia)) {
		nanosleep(&nap, NULL);
		return;
	}
	dofi_wait_round(ia, true);
}

/*
 * Whether the thread goes on driving. Each time that consumers have polled since the last call
 * takes one of its patience. A consumer that sleeps beside it takes its place at once.
 */
static bool stays(struct dofi_ia *ia, uint32_t *activity, uint32_t *patience)
{
	struct dofi_engine *e = &ia->engine;
	uint32_t now = atomic_load_explicit(&e->activity, memory_order_acquire);

	if (atomic_load_explicit(&e->stop, memory_order_acquire) ||
	    atomic_load_explicit(&e->copying, memory_order_relaxed))
		return false;
	if (now == *activity)
		return true;
	*activity = now;
	return !atomic_load(&ia->wait.count) && *patience && --*patience;
}

/*
 * Drives until a consumer does. A program may spin on this processor for bytes that a round has
 * delivered. So the thread avoids rounds that find nothing, and reads only what the sleep has shown
 * to be ready. fi_trywait checks the queue once more before the sleep; where it is not called,
 * another round does.
 */
static void drive(struct dofi_ia *ia, uint32_t activity, uint32_t patience)
{
	uint32_t round = 0;
	bool full = true;
	int n;

	while (stays(ia, &activity, &patience)) {
		n = dofi_wait_round(ia, full);
		full = ia->eqs.silent || ++round % DOFI_ROUNDS_PER_FULL == 0;
		if (n && (ia->cq_wait == FI_WAIT_NONE || ia->moves_alone))
			continue;
		if (dofi_wait_on_fds(ia, &ia->engine.activity, activity, DOFI_FOREVER, NULL) ||
		    dofi_timer_is_due(ia))
			full = true;
	}
}

/*
 * A consumer has been asleep as driver for long: sleeps until that driver leaves and signals
 * park_fd.
 */
static void park(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;

	atomic_store(&e->parked, true);
	if (atomic_load(&ia->wait.driven) && !atomic_load(&e->stop))
		dofi_eventfd_clear(e->park_fd);
	atomic_store(&e->parked, false);
}

/*
 * A consumer that spins on memory must not keep this thread from the message that it spins for.
 * With a short time slice the scheduler (EEVDF, Linux 6.12) runs this thread as soon as it wakes.
 * Other schedulers ignore the request.
 *
 * If the program has a real-time priority, this thread has none from here on: beside a real-time
 * thread that spins, an ordinary one gets a part of the processor, and a second one of the same
 * priority gets nothing.
 */
static void ask_for_short_slice(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = sizeof(attr),
		  .policy = SCHED_OTHER,
		  .nice = getpriority(PRIO_PROCESS, 0),
		  .runtime = 100000};

	syscall(SYS_sched_setattr, 0, &attr, 0);
}

/*
 * A program that spins on memory makes some calls for each message, such as a poll for its own
 * write, and then depends on this thread again. A program that polls goes on polling. The thread
 * tells them apart by the time that follows a call: each time that hardly another call has come,
 * although the process has run, it will drive for more calls.
 */
static uint32_t more_patience(uint32_t patience, uint64_t quiet_ns, uint64_t ran_ns)
{
	if (ran_ns < quiet_ns / 4 * 3)
		return 0;
	if (!patience)
		return FIRST_PATIENCE;
	return patience < DOFI_MOST_PATIENCE ? 4 * patience : DOFI_MOST_PATIENCE;
}

static void *progress_main(void *arg)
{
	struct dofi_ia *ia = arg;
	struct dofi_engine *e = &ia->engine;
	uint64_t quantum = ia->params.quiet_ms * 1000000u, sleep = quantum, quiet_until = 0, time;
	/* when consumers had polled last, and dofi_process_time() then; 0: it has driven since */
	uint64_t polled = 0, ran = 0;
	uint32_t seen = atomic_load_explicit(&e->activity, memory_order_relaxed), patience = 0;

	ask_for_short_slice();
	dofi_nic_enter_thread(ia->name, &ia->nic);
	while (!atomic_load_explicit(&e->stop, memory_order_acquire)) {
		uint32_t polls = polls_since(ia, seen);

		time = dofi_now();
		if (polls > (polled ? FEW_POLLS : 0) || is_busy(e)) {
			seen += polls;
			if (polled)
				patience = 0;
			polled = time;
			ran = dofi_process_time();
			if (dofi_engine_connects_unseen(ia))
				sleep = quantum;
			quiet_until = time + sleep;
			if (sleep < MAX_QUIET * quantum)
				sleep *= 2;
		}
		if (time < quiet_until) {
			watch_quietly(ia, seen, quiet_until - time);
		} else if (dofi_wait_drive_begin(ia)) {
			if (polled)
				patience = more_patience(patience, time - polled,
							 dofi_process_time() - ran);
			polled = 0;
			sleep = quantum;
			seen += polls;
			drive(ia, seen, patience);
			dofi_wait_drive_end(ia);
		} else {
			park(ia);
		}
	}
	return NULL;
}

int dofi_progress_start(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	int fd = dofi_eqs_fd(&ia->eqs);
	int ret;

	if (fd >= 0 && (ret = dofi_engine_wake_on(ia, fd)))
		return ret;
	dofi_wait_probe(ia);
	return dofi_start_thread(&e->thread, progress_main, ia);
}

static void ask_to_stop(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	int ret;

	atomic_store_explicit(&e->stop, true, memory_order_release);
	ret = dofi_eventfd_signal(e->park_fd);
	if (!ret)
		ret = dofi_eventfd_signal(e->wake_fd);
	if (ret)
		DOFI_LOG_E("%s: can't wake the progress thread, dat_ia_close may hang: %s",
			   ia->name, strerror(-ret));
}

/*
 * The process exits, and libfabric's providers are unloaded next. Does not wait for ever for an
 * agent that called exit() or does not return, or for the call of another thread.
 */
void dofi_progress_exit(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	struct timespec limit;

	if (e->joined || pthread_equal(pthread_self(), e->thread))
		return;
	ask_to_stop(ia);
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec++;
	e->joined = !pthread_timedjoin_np(e->thread, NULL, &limit);
	if (!dofi_trylock_for(&e->lock, DOFI_EXIT_LOCK_NS))
		return;
	e->has_fabric = false;
	dofi_unlock(&e->lock);
}

void dofi_progress_stop(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;

	ask_to_stop(ia);
	if (!e->joined)
		pthread_join(e->thread, NULL);
	e->joined = true;
	dofi_lock(&e->lock);
	e->has_fabric = false;
	dofi_unlock(&e->lock);
}
