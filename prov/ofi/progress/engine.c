/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/engine.h"

#include "progress/cno.h"
#include "object/ep.h"
#include "object/ia.h"
#include "base/log.h"
#include "object/transport.h"
#include "fabric/eqs.h"
#include "fabric/nic.h"
#include "progress/wait.h"

#include <errno.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * A poller looks at sockets and events only every so often: the progress thread watches them
 * meanwhile.
 */
#define POLLS_PER_FULL_ROUND 64

/*
 * While consumers poll on and on, the progress thread looks less and less often whether they still
 * do: each look costs them a little.
 */
#define MAX_QUIET            16

/*
 * So long the progress thread leaves to the driver what woke both; in most cases it has dealt with
 * it by then.
 */
#define NAP_NS               1000000

uint64_t dofi_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- timers and deferred work --- */

static struct dofi_timer *first_timer(struct dofi_engine *e)
{
	return dofi_list_empty(&e->timers)
		       ? NULL
		       : DOFI_CONTAINER(e->timers.next, struct dofi_timer, link);
}

static void publish_next_timer(struct dofi_engine *e)
{
	struct dofi_timer *first = first_timer(e);

	atomic_store_explicit(&e->next_timer, first ? first->deadline : UINT64_MAX,
			      memory_order_relaxed);
}

void dofi_timer_set(struct dofi_ia *ia, struct dofi_timer *timer, uint64_t deadline)
{
	struct dofi_engine *e = &ia->engine;
	struct dofi_list *before = &e->timers;
	bool was_first;

	dofi_assert_held(&ia->engine.lock);
	dofi_assert_held(&e->lock);
	was_first = first_timer(e) == timer;
	if (timer->link.next)
		dofi_list_del(&timer->link);
	timer->deadline = deadline;
	while (before->prev != &e->timers &&
	       DOFI_CONTAINER(before->prev, struct dofi_timer, link)->deadline > deadline)
		before = before->prev;
	dofi_list_add_tail(before, &timer->link);
	if (first_timer(e) == timer || was_first)
		publish_next_timer(e); /* a deadline in the past would keep the sleepers awake */
	if (first_timer(e) == timer)
		dofi_wait_kick(ia);
}

void dofi_timer_cancel(struct dofi_ia *ia, struct dofi_timer *timer)
{
	dofi_assert_held(&ia->engine.lock);
	if (timer->link.next)
		dofi_list_del(&timer->link);
	publish_next_timer(&ia->engine);
}

static int run_timers(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	struct dofi_timer *timer;
	int fired = 0;

	while ((timer = first_timer(e)) && timer->deadline <= dofi_now()) {
		dofi_list_del(&timer->link);
		timer->fire(timer);
		fired++;
	}
	if (fired)
		publish_next_timer(e);
	return fired;
}

void dofi_work_defer(struct dofi_ia *ia, struct dofi_work *work)
{
	dofi_assert_held(&ia->engine.lock);
	if (!work->link.next)
		dofi_list_init(&work->link);
	if (dofi_list_empty(&work->link))
		dofi_list_add_tail(&ia->engine.work, &work->link);
}

static int run_work(struct dofi_ia *ia)
{
	struct dofi_list *node;
	int n = 0;

	while ((node = dofi_list_pop(&ia->engine.work))) {
		struct dofi_work *work = DOFI_CONTAINER(node, struct dofi_work, link);

		work->run(work);
		n++;
	}
	return n;
}

/* --- what waits for the fabric --- */

void dofi_stall(struct dofi_ia *ia, struct dofi_stall *stall)
{
	struct dofi_engine *e = &ia->engine;

	if (stall->waits)
		return;
	stall->waits = true;
	dofi_lock(&e->stalled_lock);
	dofi_list_add_tail(&e->stalled, &stall->link);
	dofi_unlock(&e->stalled_lock);
	atomic_fetch_add(&e->nstalled, 1);
	dofi_wait_kick(ia);
}

void dofi_stall_end(struct dofi_ia *ia, struct dofi_stall *stall)
{
	struct dofi_engine *e = &ia->engine;

	dofi_assert_held(&ia->engine.lock);
	dofi_assert_held(&e->lock);
	if (!stall->waits)
		return;
	stall->waits = false;
	dofi_lock(&e->stalled_lock);
	dofi_list_del(&stall->link);
	dofi_unlock(&e->stalled_lock);
	atomic_fetch_sub(&e->nstalled, 1);
}

static void retry_stalled(struct dofi_engine *e)
{
	uint32_t n = atomic_load(&e->nstalled);

	/* Those that stall again go to the tail: each is tried once. */
	while (n--) {
		struct dofi_stall *stall;
		struct dofi_list *node;

		dofi_lock(&e->stalled_lock);
		node = dofi_list_pop(&e->stalled);
		dofi_unlock(&e->stalled_lock);
		if (!node)
			return;
		atomic_fetch_sub(&e->nstalled, 1);
		stall = DOFI_CONTAINER(node, struct dofi_stall, link);
		stall->retry(stall);
	}
}

int dofi_engine_drain_cq(struct dofi_ia *ia)
{
	int n, total = 0;

	dofi_assert_held(&ia->engine.lock);
	while ((n = ia->engine.reap(ia)) > 0)
		total += n;
	return total;
}

/* --- descriptors --- */

static int poll_fds(struct dofi_ia *ia)
{
	/* One at a time: a handler may close the owner of another descriptor that is ready, too. */
	struct epoll_event event;
	int n = 0;

	while (n < 64 && epoll_wait(ia->engine.sock_epfd, &event, 1, 0) == 1) {
		struct dofi_fd *fd = event.data.ptr;

		fd->ready(fd, event.events);
		n++;
	}
	return n;
}

void dofi_engine_hear(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	poll_fds(ia);
}

int dofi_engine_watch(struct dofi_ia *ia, struct dofi_fd *fd, uint32_t epoll_events)
{
	struct epoll_event ev = {.events = epoll_events, .data.ptr = fd};

	return epoll_ctl(ia->engine.sock_epfd, EPOLL_CTL_ADD, fd->fd, &ev) ? -errno : 0;
}

void dofi_engine_rewatch(struct dofi_ia *ia, struct dofi_fd *fd, uint32_t epoll_events)
{
	struct epoll_event ev = {.events = epoll_events, .data.ptr = fd};

	epoll_ctl(ia->engine.sock_epfd, EPOLL_CTL_MOD, fd->fd, &ev);
}

void dofi_engine_unwatch(struct dofi_ia *ia, struct dofi_fd *fd)
{
	epoll_ctl(ia->engine.sock_epfd, EPOLL_CTL_DEL, fd->fd, NULL);
}

static void drain_eventfd(int fd)
{
	uint64_t value;

	while (read(fd, &value, sizeof(value)) < 0 && errno == EINTR)
		;
}

void dofi_engine_take_call(struct dofi_ia *ia)
{
	drain_eventfd(ia->engine.wake_fd);
}

/* --- rounds --- */

/* Calls that were under way in another thread when dat_ia_close came may poll after it. */
static inline int round_of(struct dofi_ia *ia, bool all)
{
	struct dofi_engine *e = &ia->engine;
	int n = 0;

	dofi_assert_held(&e->lock);
	if (DOFI_LIKELY(e->has_fabric)) {
		n = ia->engine.reap(ia);
		if (all)
			n += ia->trans->poll_events(ia);
	}
	if (all) {
		n += poll_fds(ia);
		n += run_timers(ia);
	}
	if (atomic_load_explicit(&e->nstalled, memory_order_relaxed))
		retry_stalled(e);
	if (!dofi_list_empty(&e->work))
		n += run_work(ia);
	if (n)
		atomic_store_explicit(&e->handled,
				      atomic_load_explicit(&e->handled, memory_order_relaxed) +
					      (uint32_t)n,
				      memory_order_relaxed);
	return n;
}

int dofi_engine_round(struct dofi_ia *ia, bool all)
{
	dofi_assert_held(&ia->engine.lock);
	return round_of(ia, all);
}

/*
 * engine.lock held: polls never undo each other. One may hide behind a waiter that counts at the
 * same time; the next does not.
 */
static void note_activity(struct dofi_engine *e)
{
	uint32_t activity = atomic_load_explicit(&e->activity, memory_order_relaxed);

	atomic_store_explicit(&e->activity, activity + 1, memory_order_relaxed);
}

/* A connection is being made, and events of endpoints make no descriptor readable. */
static bool connects_unseen(struct dofi_ia *ia)
{
	return ia->eqs.silent && atomic_load_explicit(&ia->cm.nlinking, memory_order_relaxed);
}

bool dofi_engine_poll_for(struct dofi_ia *ia, struct dofi_taker taker)
{
	struct dofi_engine *e = &ia->engine;
	bool served = false;

	dofi_assert_none_held();
	if (dofi_trylock(&e->lock)) {
		note_activity(e);
		e->taker = taker;
		if (DOFI_UNLIKELY(++e->empty_polls > POLLS_PER_FULL_ROUND || connects_unseen(ia))) {
			dofi_engine_round(ia, true);
			e->empty_polls = 0;
		} else if (round_of(ia, false)) {
			e->empty_polls = 0;
		}
		served = e->taker.evd != taker.evd;
		e->taker.evd = NULL;
		dofi_unlock(&e->lock);
	}
	dofi_cno_run_agents(ia);
	return served;
}

void dofi_engine_poll(struct dofi_ia *ia)
{
	dofi_engine_poll_for(ia, (struct dofi_taker){NULL, NULL});
}

void dofi_engine_begin(struct dofi_ia *ia)
{
	dofi_assert_none_held();
	dofi_lock(&ia->engine.lock);
}

void dofi_engine_end(struct dofi_ia *ia)
{
	run_work(ia);
	dofi_unlock(&ia->engine.lock);
	dofi_cno_run_agents(ia);
}

int dofi_engine_catch_up(struct dofi_ia *ia)
{
	int n;

	dofi_lock(&ia->engine.lock);
	n = dofi_engine_round(ia, false);
	dofi_unlock(&ia->engine.lock);
	return n;
}

/* --- the progress thread --- */

/*
 * A consumer may stay inside the fabric for long, where copying is the fabric's work: in a poll,
 * with engine.lock, or in a post, with its EP's lock, which the completions of that EP need. Two
 * that drive would only be in each other's way.
 */
static bool is_busy(struct dofi_engine *e)
{
	if (atomic_load_explicit(&e->copying, memory_order_relaxed) || !dofi_trylock(&e->lock))
		return true;
	dofi_unlock(&e->lock);
	return false;
}

/*
 * The driver sleeps on the same descriptors, or is already at what woke both. Not so when it is in
 * an agent of the consumer's.
 */
static bool driver_is_at_it(struct dofi_ia *ia)
{
	return atomic_load(&ia->wait.asleep) ||
	       (atomic_load(&ia->wait.driven) && is_busy(&ia->engine));
}

/*
 * Consumers poll the CQ themselves: sleep on everything else until they stop. Events of endpoints
 * that no descriptor shows are read each time, as a consumer that finds a completion with each poll
 * does not read them.
 */
static void watch_quietly(struct dofi_ia *ia, uint64_t quantum_ns)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};
	uint64_t now = dofi_now(),
		 timer = atomic_load_explicit(&ia->engine.next_timer, memory_order_relaxed);
	struct epoll_event event;

	if (timer < now + quantum_ns)
		quantum_ns = timer > now ? timer - now : 0;
	if (dofi_wait_arm(ia, false) &&
	    epoll_wait(ia->engine.quiet_epfd, &event, 1,
		       (int)((quantum_ns + 999999u) / 1000000u)) <= 0 &&
	    timer > dofi_now() && !ia->eqs.silent)
		return;
	if (driver_is_at_it(ia)) {
		nanosleep(&nap, NULL);
		return;
	}
	dofi_lock(&ia->engine.lock);
	dofi_engine_round(ia, true);
	dofi_unlock(&ia->engine.lock);
	dofi_cno_run_agents(ia);
}

/* Nobody else drives: serve until a consumer does. */
static void drive(struct dofi_ia *ia, uint32_t activity)
{
	struct dofi_engine *e = &ia->engine;
	int n;

	while (!atomic_load_explicit(&e->stop, memory_order_acquire) &&
	       !atomic_load_explicit(&e->copying, memory_order_relaxed) &&
	       atomic_load_explicit(&e->activity, memory_order_relaxed) == activity) {
		dofi_lock(&e->lock);
		n = dofi_engine_round(ia, true);
		dofi_unlock(&e->lock);
		dofi_cno_run_agents(ia);
		if (!n)
			dofi_wait_on_fds(ia, &e->activity, activity, DOFI_FOREVER, NULL);
	}
}

/*
 * A consumer has been asleep as driver for long: nothing to do until it leaves and calls us back.
 */
static void park(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;

	atomic_store(&e->parked, true);
	if (atomic_load(&ia->wait.driven) && !atomic_load(&e->stop))
		drain_eventfd(e->park_fd);
	atomic_store(&e->parked, false);
}

/*
 * A consumer that spins on memory must not keep us from the message it spins for: with a short time
 * slice the scheduler (EEVDF, Linux 6.12) lets us in as soon as we wake. Elsewhere this has no
 * effect.
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

static void *progress_main(void *arg)
{
	struct dofi_ia *ia = arg;
	struct dofi_engine *e = &ia->engine;
	uint64_t quantum = ia->params.quiet_ms * 1000000u, sleep = quantum, quiet_until = 0, time;
	uint32_t seen = atomic_load_explicit(&e->activity, memory_order_relaxed);

	ask_for_short_slice();
	dofi_nic_enter_thread(ia->name, &ia->nic);
	while (!atomic_load_explicit(&e->stop, memory_order_acquire)) {
		uint32_t now = atomic_load_explicit(&e->activity, memory_order_relaxed);

		time = dofi_now();
		if (now != seen || is_busy(e)) {
			seen = now;
			if (connects_unseen(ia))
				sleep = quantum;
			quiet_until = time + sleep;
			if (sleep < MAX_QUIET * quantum)
				sleep *= 2;
		}
		if (time < quiet_until) {
			watch_quietly(ia, quiet_until - time);
		} else if (dofi_wait_drive_begin(ia)) {
			sleep = quantum;
			drive(ia, seen);
			dofi_wait_drive_end(ia);
		} else {
			park(ia);
		}
	}
	return NULL;
}

/* --- life cycle --- */

static int watch_in(int epfd, int fd, void *ptr)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = ptr};

	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

int dofi_engine_init(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	int ret;

	dofi_lock_init_level(&e->lock, DOFI_LEVEL_ENGINE);
	dofi_lock_init_level(&e->stalled_lock, DOFI_LEVEL_LEAF);
	dofi_list_init(&e->timers);
	dofi_list_init(&e->work);
	dofi_list_init(&e->stalled);
	e->has_fabric = true;
	atomic_store(&e->next_timer, UINT64_MAX);
	e->sock_epfd = epoll_create1(EPOLL_CLOEXEC);
	e->quiet_epfd = epoll_create1(EPOLL_CLOEXEC);
	e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e->park_fd = eventfd(0, EFD_CLOEXEC);
	dofi_wait_init(ia);
	if (e->sock_epfd < 0 || e->quiet_epfd < 0 || e->wake_fd < 0 || e->park_fd < 0) {
		ret = -errno;
		goto err_fini;
	}
	ret = watch_in(e->quiet_epfd, e->sock_epfd, e);
	if (ret)
		goto err_fini;
	return 0;

err_fini:
	dofi_engine_fini(ia);
	return ret;
}

int dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int ret;

	/* Signals are the consumer's business: its threads take them, never ours. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!ret)
		pthread_setname_np(*thread, "dat-ofi");
	return -ret;
}

int dofi_engine_start(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	int fd = dofi_eqs_fd(&ia->eqs);
	int ret;

	if (fd >= 0 && (ret = watch_in(e->quiet_epfd, fd, NULL)))
		return ret;
	dofi_wait_probe(ia);
	return dofi_start_thread(&e->thread, progress_main, ia);
}

static void ask_to_stop(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	uint64_t one = 1;

	atomic_store_explicit(&e->stop, true, memory_order_release);
	if (write(e->park_fd, &one, sizeof(one)) < 0 || write(e->wake_fd, &one, sizeof(one)) < 0)
		DOFI_LOG_E("%s: can't wake the progress thread, dat_ia_close may hang: %s",
			   ia->name, strerror(errno));
}

/*
 * The process exits, and libfabric's providers are unloaded next. An agent that called exit(), or
 * does not return, is not waited for.
 */
void dofi_engine_exit(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	struct timespec limit;

	if (e->joined || pthread_equal(pthread_self(), e->thread))
		return;
	ask_to_stop(ia);
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec++;
	e->joined = !pthread_timedjoin_np(e->thread, NULL, &limit);
	if (!dofi_trylock(&e->lock))
		return;
	e->has_fabric = false;
	dofi_unlock(&e->lock);
}

void dofi_engine_stop(struct dofi_ia *ia)
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

void dofi_engine_fini(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	int *fds[] = {&e->sock_epfd, &e->quiet_epfd, &e->wake_fd, &e->park_fd};

	dofi_lock(&e->lock);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	dofi_unlock(&e->lock);
	dofi_wait_fini(ia);
	dofi_lock_fini(&e->stalled_lock);
}
