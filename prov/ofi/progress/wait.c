/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/wait.h"

#include "object/ia.h"
#include "base/clock.h"
#include "base/eventfd.h"
#include "base/log.h"
#include "base/thread.h"
#include "fabric/eqs.h"
#include "progress/agent.h"
#include "progress/driver_sleep.h"
#include "progress/engine.h"
#include "progress/nap.h"
#include "progress/timer.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_PER_SIGNAL_LOOK 64u
/* Longer than the peer needs for its answer on a network. To wake up would take about as long. */
#define AWAKE_NS               50000u

/* A thread that waits for its wakeup while another one drives; lives on that thread's stack. */
struct sleeper {
	struct dofi_list link;
	struct dofi_ia *ia;
	const _Atomic uint32_t *wakeup;
	int fd; /* eventfd: readable when the thread has to look again; -1: it looks at intervals */
};

void dofi_wait_init(struct dofi_ia *ia)
{
	dofi_lock_init_level(&ia->wait.lock, DOFI_LEVEL_WAIT);
	dofi_list_init(&ia->wait.sleepers);
	ia->wait.mute_fd = -1;
}

void dofi_wait_fini(struct dofi_ia *ia)
{
	dofi_lock_fini(&ia->wait.lock);
	free(ia->wait.fds);
	ia->wait.fds = NULL;
	ia->wait.max_fds = 0;
}

static void make_readable(struct dofi_ia *ia, int fd)
{
	int ret = dofi_eventfd_signal(fd);

	if (ret)
		DOFI_LOG_E("%s: can't wake a waiting thread, which may sleep on: %s", ia->name,
			   strerror(-ret));
}

static void call_back(struct dofi_ia *ia, const struct sleeper *s)
{
	if (s->fd >= 0)
		make_readable(ia, s->fd);
}

void dofi_wait_end_sleep(struct dofi_ia *ia)
{
	make_readable(ia, ia->engine.wake_fd);
}

void dofi_wait_kick(struct dofi_ia *ia)
{
	if (atomic_load(&ia->wait.asleep))
		make_readable(ia, ia->engine.wake_fd);
}

void dofi_wait_wake(struct dofi_ia *ia, _Atomic uint32_t *wakeup)
{
	struct dofi_wait *w = &ia->wait;

	atomic_fetch_add(wakeup, 1);
	if (atomic_load(&w->asleep) && atomic_load(&w->driver_wake) == wakeup)
		dofi_wait_kick(ia);
	if (!atomic_load(&w->count))
		return;
	dofi_lock(&w->lock);
	DOFI_LIST_FOR(node, &w->sleepers)
	{
		struct sleeper *s = DOFI_CONTAINER(node, struct sleeper, link);

		if (s->wakeup == wakeup)
			call_back(ia, s);
	}
	dofi_unlock(&w->lock);
}

bool dofi_wait_drive_begin(struct dofi_ia *ia)
{
	if (atomic_exchange(&ia->wait.driven, true))
		return false;
	atomic_store(&ia->wait.driver, pthread_self());
	return true;
}

/* Whether this thread is in an agent that a round of its own has called. */
static bool is_driver(struct dofi_ia *ia)
{
	return atomic_load(&ia->wait.driver) == pthread_self();
}

/* There is no driver: wakes one sleeper, if there is any, to become the driver. */
static void deliver(struct dofi_ia *ia)
{
	struct dofi_wait *w = &ia->wait;

	if (!atomic_load(&w->count))
		return;
	dofi_lock(&w->lock);
	if (!dofi_list_empty(&w->sleepers))
		call_back(ia, DOFI_CONTAINER(w->sleepers.next, struct sleeper, link));
	dofi_unlock(&w->lock);
}

void dofi_wait_drive_end(struct dofi_ia *ia)
{
	int ret = 0;

	dofi_wait_unmark(ia);
	atomic_store(&ia->wait.driver, (pthread_t)0);
	atomic_store(&ia->wait.driven, false);
	if (atomic_load(&ia->engine.parked))
		ret = dofi_eventfd_signal(ia->engine.park_fd);
	if (ret)
		DOFI_LOG_E("%s: can't wake the progress thread, events may come late: %s", ia->name,
			   strerror(-ret));
	deliver(ia);
}

int dofi_wait_round(struct dofi_ia *ia, bool all)
{
	int n;

	dofi_lock(&ia->engine.lock);
	n = dofi_engine_round(ia, all);
	dofi_unlock(&ia->engine.lock);
	dofi_cno_run_agents(ia);
	return n;
}

/*
 * ppoll looks for signals only if no descriptor is ready, so a signal may stay pending. One look
 * every ROUNDS_PER_SIGNAL_LOOK rounds makes sure that a driver which always finds work can be
 * interrupted.
 */
static bool is_interrupted(uint32_t round, const struct dofi_interrupts *allowed)
{
	return round % ROUNDS_PER_SIGNAL_LOOK == 0 && dofi_poll_until(NULL, 0, 0, allowed) < 0 &&
	       errno == EINTR;
}

void dofi_wait_stay_awake(struct dofi_ia *ia)
{
	atomic_store_explicit(&ia->wait.awake_until, dofi_now() + AWAKE_NS, memory_order_relaxed);
}

static bool stays_awake(struct dofi_wait *w)
{
	uint64_t until = atomic_load_explicit(&w->awake_until, memory_order_relaxed);

	if (DOFI_LIKELY(!until))
		return false;
	if (dofi_now() < until)
		return true;
	atomic_store_explicit(&w->awake_until, 0, memory_order_relaxed);
	return false;
}

/* Signals are blocked and cancellation is disabled, except in ppoll. */
static int drive_until(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen,
		       uint64_t deadline, const struct dofi_interrupts *allowed)
{
	bool full = true;
	int n, ret = 0;

	for (uint32_t round = 1;; round++) {
		n = dofi_wait_round(ia, full);
		if (atomic_load(wakeup) != seen)
			return 0;
		if (ret == -EINTR || is_interrupted(round, allowed))
			return -EINTR;
		if (deadline != DOFI_FOREVER && dofi_now() >= deadline)
			return -ETIMEDOUT;
		/*
		 * fi_trywait checks the queue once more before the sleep; where it is not called,
		 * another round does.
		 */
		if (n && (ia->cq_wait == FI_WAIT_NONE || ia->moves_alone))
			continue;
		if (!n && !full && ia->eqs.silent) {
			full = true; /* an event of a connection may have ended the sleep */
			continue;
		}
		if (stays_awake(&ia->wait)) {
			sched_yield();
			full = true;
			continue;
		}
		ret = dofi_wait_on_fds(ia, wakeup, seen, deadline, allowed);
		full = ret != 0 || round % DOFI_ROUNDS_PER_FULL == 0 || dofi_timer_is_due(ia);
	}
}

static void stop_driving(void *ia)
{
	dofi_wait_drive_end(ia);
}

/* This thread is the driver until it returns or is cancelled. */
static int drive(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen, uint64_t deadline,
		 const struct dofi_interrupts *allowed)
{
	int ret;

	pthread_cleanup_push(stop_driving, ia);
	ret = drive_until(ia, wakeup, seen, deadline, allowed);
	pthread_cleanup_pop(true);
	return ret;
}

/* --- beside the driver --- */

static void enlist(struct sleeper *self)
{
	struct dofi_wait *w = &self->ia->wait;

	self->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	dofi_lock(&w->lock);
	dofi_list_add_tail(&w->sleepers, &self->link);
	atomic_fetch_add(&w->count, 1);
	dofi_unlock(&w->lock);
}

static void strike_off(struct sleeper *self)
{
	struct dofi_wait *w = &self->ia->wait;

	dofi_lock(&w->lock);
	dofi_list_del(&self->link);
	atomic_fetch_sub(&w->count, 1);
	dofi_unlock(&w->lock);
	if (self->fd >= 0)
		close(self->fd);
}

/* The thread may have been woken to become the driver, and will not: wakes another one. */
static void pass_on(struct dofi_ia *ia)
{
	if (!atomic_load(&ia->wait.driven))
		deliver(ia);
}

static void cancelled(void *arg)
{
	struct sleeper *self = arg;

	strike_off(self);
	pass_on(self->ia);
}

/* By ppoll, like the driver: a futex lets signals slip in before the sleep, and some restart it. */
static int sleep_enlisted(const struct sleeper *self, uint32_t seen, uint64_t deadline,
			  const struct dofi_interrupts *allowed)
{
	struct pollfd pfd = {.fd = self->fd, .events = POLLIN};
	struct dofi_ia *ia = self->ia;

	/*
	 * The progress thread stops driving. It may have begun after this thread had counted its
	 * own wait: when another driver left, or because this thread had no processor meanwhile.
	 */
	atomic_fetch_add(&ia->engine.activity, 1);
	if (atomic_load(&ia->wait.driver_wake) == &ia->engine.activity)
		dofi_wait_kick(ia);
	if (atomic_load(self->wakeup) != seen || !atomic_load(&ia->wait.driven))
		return 0;
	if (self->fd < 0)
		deadline = dofi_nap_blind_until(deadline);
	return dofi_poll_until(&pfd, 1, deadline, allowed) < 0 && errno == EINTR ? -EINTR : 0;
}

static int sleep_beside_driver(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen,
			       uint64_t deadline, const struct dofi_interrupts *allowed)
{
	struct sleeper self = {.ia = ia, .wakeup = wakeup};
	int ret;

	enlist(&self);
	pthread_cleanup_push(cancelled, &self);
	ret = sleep_enlisted(&self, seen, deadline, allowed);
	pthread_cleanup_pop(false);
	strike_off(&self);
	if (atomic_load(wakeup) != seen)
		return 0;
	return !ret && deadline != DOFI_FOREVER && dofi_now() >= deadline ? -ETIMEDOUT : ret;
}

/* --- sleeping --- */

static int sleep_blocked(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen,
			 uint64_t deadline, const struct dofi_interrupts *allowed)
{
	int ret = 0;

	/* A call of an agent: nobody else drives until the agent has returned. */
	if (is_driver(ia))
		return drive_until(ia, wakeup, seen, deadline, allowed);
	while (!ret && atomic_load(wakeup) == seen) {
		if (dofi_wait_drive_begin(ia))
			return drive(ia, wakeup, seen, deadline, allowed);
		ret = sleep_beside_driver(ia, wakeup, seen, deadline, allowed);
	}
	pass_on(ia);
	return ret;
}

static void restore_signals(void *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

int dofi_wait_sleep_cancellable(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen,
				uint64_t deadline, int cancel)
{
	struct dofi_interrupts allowed = {.cancel = cancel};
	int ret;

	dofi_assert_none_held();
	atomic_fetch_add(&ia->engine.activity, 1);
	/*
	 * Blocks signals until ppoll, so that no signal is lost between the last check and the
	 * sleep. Agents run meanwhile. A fault of theirs, or of a thread that they start, has to
	 * reach the program's handler.
	 */
	dofi_block_signals(&allowed.blocked);
	pthread_cleanup_push(restore_signals, &allowed.blocked);
	ret = sleep_blocked(ia, wakeup, seen, deadline, &allowed);
	pthread_cleanup_pop(true);
	return ret;
}

int dofi_wait_sleep(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen, uint64_t deadline)
{
	int cancel, ret;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ret = dofi_wait_sleep_cancellable(ia, wakeup, seen, deadline, PTHREAD_CANCEL_DISABLE);
	pthread_setcancelstate(cancel, NULL);
	return ret;
}
