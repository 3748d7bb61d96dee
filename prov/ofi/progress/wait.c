/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/wait.h"

#include "progress/cno.h"
#include "object/ia.h"
#include "fabric/quirks.h"
#include "base/log.h"
#include "fabric/eqs.h"
#include "progress/engine.h"
#include "progress/wakeup.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/*
 * How long to sleep at most where something can become ready without a descriptor saying so: little
 * after something was.
 */
#define FIRST_NAP_NS           20000u
#define FIRST_LIST_NAP_NS      32000000u
#define LONGEST_LIST_NAP_NS    256000000u
#define BLIND_SLEEP_NS         1000000u
/* How long the progress thread watches the queue after it was called back for that. */
#define FIRST_STAY_NS          4000000u
#define LONGEST_STAY_NS        16384000000ull
/* Where all peers ring, and nothing has happened for long: one part in so many of that time. */
#define LONGEST_RUNG_NAP_NS    32000000u
#define QUIET_PARTS            16
/* After an event or a ring, a write of many parts may be on its way for so long. */
#define PARTIAL_WRITE_NS       250000000u
#define FRUITLESS_LIMIT        64u
#define ROUNDS_PER_SIGNAL_LOOK 64u
/* Descriptors of ours that the driver sleeps on: wake_fd, quiet_epfd. */
#define OURS                   2u
#define LEAST_FDS              (2u * DOFI_MAX_CQS) /* room for so many behind them */

/* A thread that waits for its wakeup while another one drives; lives on that thread's stack. */
struct sleeper {
	struct dofi_list link;
	const _Atomic uint32_t *wakeup;
	int fd; /* eventfd: readable when it shall look again; -1: it looks by the clock */
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

uint64_t dofi_deadline(uint32_t timeout_us)
{
	return timeout_us == DAT_TIMEOUT_INFINITE ? DOFI_FOREVER
						  : dofi_now() + (uint64_t)timeout_us * 1000u;
}

static void make_readable(struct dofi_ia *ia, int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		DOFI_LOG_E("%s: can't wake a waiting thread, which may sleep on: %s", ia->name,
			   strerror(errno));
}

static void call_back(struct dofi_ia *ia, const struct sleeper *s)
{
	if (s->fd >= 0)
		make_readable(ia, s->fd);
}

void dofi_wait_kick(struct dofi_ia *ia)
{
	if (atomic_load(&ia->wait.asleep))
		make_readable(ia, ia->engine.wake_fd);
}

/*
 * Who watches is counted before it looks whether the driver does not; in the driver it is the other
 * way round.
 */
void dofi_wait_watch(struct dofi_ia *ia)
{
	atomic_fetch_add(&ia->wait.watchers, 1);
	if (atomic_exchange(&ia->wait.aloof, false))
		dofi_wait_kick(ia);
}

void dofi_wait_unwatch(struct dofi_ia *ia)
{
	atomic_fetch_sub(&ia->wait.watchers, 1);
}

/*
 * A device that moves data by itself needs nobody at its queue, and a program that spins on memory
 * needs its processor. So the progress thread looks there by the clock alone, as long as
 * completions are but events for those who poll.
 */
static bool leaves_cq_alone(struct dofi_ia *ia, const _Atomic uint32_t *wakeup)
{
	struct dofi_wait *w = &ia->wait;

	if (!ia->moves_alone || wakeup != &ia->engine.activity || dofi_now() < w->stay_until)
		return false;
	atomic_store(&w->aloof, true);
	if (atomic_load(&w->watchers) || atomic_load(&ia->engine.nstalled))
		atomic_store(&w->aloof, false);
	return atomic_load_explicit(&w->aloof, memory_order_relaxed);
}

/*
 * The call was at the expense of a post, so it stays; for longer each time, unless the last was
 * long ago.
 */
static void stay(struct dofi_wait *w)
{
	uint64_t now = dofi_now();

	if (!w->stay_ns || now > w->stay_until + LONGEST_STAY_NS)
		w->stay_ns = FIRST_STAY_NS;
	else if (w->stay_ns < LONGEST_STAY_NS)
		w->stay_ns *= 4;
	w->stay_until = now + w->stay_ns;
}

void dofi_wait_ring(struct dofi_ia *ia, _Atomic uint32_t *wakeup)
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
	return !atomic_exchange(&ia->wait.driven, true);
}

/* The place is free: a sleeper, if there is one, takes it. */
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

/* Peers that wake a sleeper see whether there is one. False: there are no such peers. */
static bool mark(struct dofi_ia *ia, bool asleep)
{
	bool any = ia->cq_wait == FI_WAIT_NONE && dofi_wakeup_mark(ia, asleep);

	if (ia->engine.doze)
		any |= ia->engine.doze(ia, asleep);
	return any;
}

static void unmark(struct dofi_ia *ia)
{
	if (ia->wait.marked)
		mark(ia, false);
	ia->wait.marked = false;
}

void dofi_wait_drive_end(struct dofi_ia *ia)
{
	uint64_t one = 1;

	unmark(ia);
	atomic_store(&ia->wait.driven, false);
	if (atomic_load(&ia->engine.parked) && write(ia->engine.park_fd, &one, sizeof(one)) < 0)
		DOFI_LOG_E("%s: can't wake the progress thread, events may come late: %s", ia->name,
			   strerror(errno));
	deliver(ia);
}

/* For sleeps that nothing may end in time. */
static uint64_t blind_until(uint64_t deadline)
{
	uint64_t blind = dofi_now() + BLIND_SLEEP_NS;

	return blind < deadline ? blind : deadline;
}

/* The sleep gets longer each time that nothing has happened since the last. */
static uint64_t nap_until(struct dofi_ia *ia, uint64_t deadline, uint64_t first_ns,
			  uint64_t longest_ns)
{
	uint32_t handled = atomic_load_explicit(&ia->engine.handled, memory_order_relaxed);
	struct dofi_wait *w = &ia->wait;
	uint64_t now = dofi_now(), blind;

	if (handled != w->nap_rounds || !w->nap_ns || atomic_exchange(&w->posted, false)) {
		w->nap_ns = first_ns;
		w->quiet_since = now;
	} else {
		w->nap_ns = 2 * w->nap_ns < longest_ns ? 2 * w->nap_ns : longest_ns;
	}
	w->nap_rounds = handled;
	blind = now + w->nap_ns;
	return blind < deadline ? blind : deadline;
}

/*
 * Where the queue has no descriptor by a fault of the provider, sockets are below: what they bring
 * of an RDMA write shows nothing until it is complete, and each look moves but a part of it.
 */
static uint64_t short_naps_ns(const struct dofi_ia *ia)
{
	return ia->quirks & DOFI_QUIRK_MUTE_QUEUE ? PARTIAL_WRITE_NS
						  : QUIET_PARTS * (uint64_t)BLIND_SLEEP_NS;
}

/*
 * A peer need not ring for what its fabric answers by itself, so that comes late, but not by much
 * of the time that it took.
 */
static uint64_t longest_nap(const struct dofi_ia *ia)
{
	const struct dofi_wait *w = &ia->wait;
	uint64_t quiet = dofi_now() - w->quiet_since;

	if (!w->marked || atomic_load_explicit(&ia->wakeup.deaf, memory_order_relaxed) ||
	    quiet < short_naps_ns(ia))
		return BLIND_SLEEP_NS;
	return quiet / QUIET_PARTS < LONGEST_RUNG_NAP_NS ? quiet / QUIET_PARTS
							 : LONGEST_RUNG_NAP_NS;
}

/*
 * Who posts stores that it did, then looks whether the nap is deep; here it is the other way round.
 */
static uint64_t doze_until(struct dofi_ia *ia, uint64_t deadline)
{
	uint64_t until = nap_until(ia, deadline, FIRST_NAP_NS, longest_nap(ia));
	struct dofi_wait *w = &ia->wait;

	if (w->nap_ns <= BLIND_SLEEP_NS)
		return until;
	atomic_store(&w->deep, true);
	return atomic_load(&w->posted) ? nap_until(ia, deadline, FIRST_NAP_NS, BLIND_SLEEP_NS)
				       : until;
}

/* The peer may come to the listener at any moment, and no descriptor tells. */
static bool connects_by_clock(struct dofi_ia *ia)
{
	return ia->eqs.n && dofi_eqs_fd(&ia->eqs) < 0 &&
	       atomic_load_explicit(&ia->cm.nlinking, memory_order_relaxed);
}

static uint64_t earliest(struct dofi_ia *ia, uint64_t deadline, bool with_cq)
{
	uint64_t timer = atomic_load_explicit(&ia->engine.next_timer, memory_order_relaxed);

	if (timer < deadline)
		deadline = timer;
	if (atomic_load_explicit(&ia->engine.nstalled, memory_order_relaxed) ||
	    atomic_load_explicit(&ia->engine.restless, memory_order_relaxed) ||
	    connects_by_clock(ia))
		return nap_until(ia, deadline, FIRST_NAP_NS, BLIND_SLEEP_NS);
	if (with_cq && ia->cq_wait == FI_WAIT_NONE)
		return doze_until(ia, deadline);
	/*
	 * A list of descriptors is but a snapshot: tcp does not tell the sleeper that a post by
	 * another thread waits for room in its socket, or has left a message in its own buffers.
	 * Some queues wake nobody after another thread has read them, and its read may have brought
	 * an event of an endpoint that no descriptor shows.
	 */
	if (!with_cq || ia->cq_wait == FI_WAIT_POLLFD || ia->cq_mutes || ia->eqs.silent)
		return nap_until(ia, deadline, FIRST_LIST_NAP_NS, LONGEST_LIST_NAP_NS);
	return deadline;
}

bool dofi_wait_arm(struct dofi_ia *ia, bool with_cq)
{
	uint32_t ncqs = atomic_load_explicit(&ia->cqs.n, memory_order_acquire);
	struct fid *fids[DOFI_MAX_EQS + DOFI_MAX_CQS];
	int n = dofi_eqs_put_fids(&ia->eqs, fids);

	if (with_cq && ia->cq_wait != FI_WAIT_NONE) {
		fids[n++] = &ia->cq->fid;
		for (uint32_t i = 1; i < ncqs; i++)
			fids[n++] = &ia->cqs.list[i].fid->fid;
	}
	return !n || !fi_trywait(ia->fabric, fids, n);
}

/* ppoll() until the deadline. */
static int poll_until(struct pollfd *fds, nfds_t n, uint64_t deadline, const sigset_t *sigmask)
{
	uint64_t now = dofi_now(), ns = deadline > now ? deadline - now : 0;
	struct timespec left = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	return ppoll(fds, n, deadline == DOFI_FOREVER ? NULL : &left, sigmask);
}

static bool grow_fds(struct dofi_wait *w, size_t n)
{
	struct pollfd *fds = realloc(w->fds, n * sizeof(*fds));

	if (!fds)
		return false;
	w->fds = fds;
	w->max_fds = n;
	return true;
}

/* A queue's descriptors, from this place on; how many there are now, or -1. */
static int list_fds_of(struct dofi_ia *ia, struct fid_cq *cq, size_t at)
{
	struct dofi_wait *w = &ia->wait;
	struct fi_wait_pollfd list;
	int fd, ret;

	if (ia->cq_wait == FI_WAIT_FD) {
		ret = fi_control(&cq->fid, FI_GETWAIT, &fd);
		w->fds[at] = (struct pollfd){.fd = fd, .events = POLLIN};
		return ret ? -1 : 1;
	}
	for (;;) {
		list = (struct fi_wait_pollfd){.fd = w->fds + at, .nfds = w->max_fds - at};
		ret = fi_control(&cq->fid, FI_GETWAIT, &list);
		for (size_t i = 0; !ret && i < list.nfds; i++)
			if (list.fd[i].fd == w->mute_fd)
				list.fd[i].fd = -1; /* which ppoll passes over */
		if (!ret)
			return (int)list.nfds;
		if (ret != -FI_ETOOSMALL || !grow_fds(w, at + 2 * list.nfds))
			return -1;
	}
}

/* All queues' descriptors behind our own two; there is room for one of each at least. */
static int list_cq_fds(struct dofi_ia *ia)
{
	uint32_t ncqs = atomic_load_explicit(&ia->cqs.n, memory_order_acquire);
	int total, n;

	if (ia->cq_wait == FI_WAIT_NONE)
		return 0;
	total = list_fds_of(ia, ia->cq, OURS);
	for (uint32_t i = 1; total >= 0 && i < ncqs; i++) {
		n = list_fds_of(ia, ia->cqs.list[i].fid, OURS + (size_t)total);
		total = n < 0 ? -1 : total + n;
	}
	return total;
}

/*
 * tcp of libfabric 1.17 lists a descriptor of its own bookkeeping that is readable from the start
 * and stays so. On a fresh queue nothing else can be.
 */
void dofi_wait_probe(struct dofi_ia *ia)
{
	struct dofi_wait *w = &ia->wait;
	int n;

	if (ia->cq_wait != FI_WAIT_POLLFD || !grow_fds(w, OURS + LEAST_FDS) ||
	    !dofi_wait_arm(ia, true))
		return;
	n = list_cq_fds(ia);
	if (n <= 0 || poll(w->fds + OURS, (nfds_t)n, 0) <= 0)
		return;
	for (int i = 0; i < n; i++)
		if (w->fds[OURS + (size_t)i].revents)
			w->mute_fd = w->fds[OURS + (size_t)i].fd;
}

/*
 * A message that no receive is posted for keeps its socket readable, and fi_cq_read leaves it
 * there: then the queue would end every sleep at once. After some such sleeps the queue is looked
 * at by the clock instead.
 */
static bool cq_cries_wolf(struct dofi_ia *ia)
{
	struct dofi_wait *w = &ia->wait;
	uint32_t handled = atomic_load_explicit(&ia->engine.handled, memory_order_relaxed);

	if (handled != w->seen_rounds)
		w->fruitless = 0;
	w->seen_rounds = handled;
	return w->fruitless > FRUITLESS_LIMIT;
}

/* 0: only the CQ is ready; 1: more may be; -EINTR. */
static int sleep_on_fds(struct dofi_ia *ia, uint64_t deadline, bool with_cq,
			const sigset_t *sigmask)
{
	struct dofi_wait *w = &ia->wait;
	int n = 0;

	if (w->max_fds < OURS + LEAST_FDS && !grow_fds(w, OURS + LEAST_FDS))
		return 1;
	if (with_cq)
		n = cq_cries_wolf(ia) ? -1 : list_cq_fds(ia);
	if (n < 0) {
		n = 0;
		deadline = blind_until(deadline);
	}
	w->fds[0] = (struct pollfd){.fd = ia->engine.wake_fd, .events = POLLIN};
	w->fds[1] = (struct pollfd){.fd = ia->engine.quiet_epfd, .events = POLLIN};
	n = poll_until(w->fds, (nfds_t)(OURS + n), earliest(ia, deadline, with_cq), sigmask);
	if (n < 0)
		return errno == EINTR ? -EINTR : 1;
	/*
	 * Only the driver takes the call, or another thread's round could swallow it before we are
	 * awake.
	 */
	if (w->fds[0].revents)
		dofi_engine_take_call(ia);
	else if (n > 0 && !w->fds[1].revents)
		w->fruitless++; /* until the engine handles something */
	return n == 0 || w->fds[0].revents || w->fds[1].revents;
}

/*
 * Plain ppoll, not an epoll set: a queue that is watched all the time makes the kernel tell us of
 * each message, which costs the sender of every one while the receiver polls.
 */
int dofi_wait_on_fds(struct dofi_ia *ia, const _Atomic uint32_t *wakeup, uint32_t seen,
		     uint64_t deadline, const sigset_t *sigmask)
{
	struct dofi_wait *w = &ia->wait;
	bool with_cq;
	int ret = 1;

	if (!w->marked && mark(ia, true)) {
		w->marked = true;
		return 0; /* one more look at the queue */
	}
	atomic_store(&w->driver_wake, wakeup);
	atomic_store(&w->asleep, true);
	with_cq = !leaves_cq_alone(ia, wakeup);
	/* Whoever rings from now on also writes wake_fd; who rang before shows here. */
	if (atomic_load(wakeup) == seen && dofi_wait_arm(ia, with_cq))
		ret = sleep_on_fds(ia, deadline, with_cq, sigmask);
	if (!with_cq && !atomic_exchange(&w->aloof, false))
		stay(w);
	atomic_store(&w->asleep, false);
	atomic_store_explicit(&w->deep, false, memory_order_relaxed);
	unmark(ia);
	return ret;
}

/* However busy the queue is, timers fire in time. */
static bool timer_due(struct dofi_ia *ia)
{
	return atomic_load_explicit(&ia->engine.next_timer, memory_order_relaxed) <= dofi_now();
}

/*
 * A signal that came while the descriptors were ready is still pending: ppoll looks for signals
 * only if it has nothing else to report. Every so many rounds one look makes sure that a driver
 * which finds work each time can be interrupted.
 */
static bool is_interrupted(uint32_t round, const sigset_t *sigmask)
{
	static const struct timespec none;

	return round % ROUNDS_PER_SIGNAL_LOOK == 0 && ppoll(NULL, 0, &none, sigmask) < 0 &&
	       errno == EINTR;
}

/* Signals are blocked but in the sleep, where sigmask is as for ppoll. */
static int drive_until(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen,
		       uint64_t deadline, const sigset_t *sigmask)
{
	bool full = true;
	int n, ret = 0;

	for (uint32_t round = 1;; round++) {
		dofi_lock(&ia->engine.lock);
		n = dofi_engine_round(ia, full);
		dofi_unlock(&ia->engine.lock);
		dofi_cno_run_agents(ia);
		if (atomic_load(wakeup) != seen)
			return 0;
		if (ret == -EINTR || is_interrupted(round, sigmask))
			return -EINTR;
		if (deadline != DOFI_FOREVER && dofi_now() >= deadline)
			return -ETIMEDOUT;
		if (n)
			continue;
		if (!full && ia->eqs.silent) {
			full = true; /* what woke us may be an event of a connection */
			continue;
		}
		ret = dofi_wait_on_fds(ia, wakeup, seen, deadline, sigmask);
		full = ret != 0 || timer_due(ia);
	}
}

static void enlist(struct dofi_wait *w, struct sleeper *self)
{
	dofi_lock(&w->lock);
	dofi_list_add_tail(&w->sleepers, &self->link);
	atomic_fetch_add(&w->count, 1);
	dofi_unlock(&w->lock);
}

static void strike_off(struct dofi_wait *w, struct sleeper *self)
{
	dofi_lock(&w->lock);
	dofi_list_del(&self->link);
	atomic_fetch_sub(&w->count, 1);
	dofi_unlock(&w->lock);
}

/* By ppoll, like the driver: a futex lets signals slip in before the sleep, and some restart it. */
static int sleep_beside_driver(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen,
			       uint64_t deadline, const sigset_t *sigmask)
{
	struct sleeper self = {.wakeup = wakeup, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	struct pollfd pfd = {.fd = self.fd, .events = POLLIN};
	struct dofi_wait *w = &ia->wait;
	int ret = 0;

	enlist(w, &self);
	if (atomic_load(&w->driver_wake) == &ia->engine.activity)
		dofi_wait_kick(ia); /* the progress thread makes room */
	if (atomic_load(wakeup) == seen && atomic_load(&w->driven) &&
	    poll_until(&pfd, 1, self.fd < 0 ? blind_until(deadline) : deadline, sigmask) < 0 &&
	    errno == EINTR)
		ret = -EINTR;
	strike_off(w, &self);
	if (self.fd >= 0)
		close(self.fd);
	if (atomic_load(wakeup) != seen)
		return 0;
	return !ret && deadline != DOFI_FOREVER && dofi_now() >= deadline ? -ETIMEDOUT : ret;
}

static int sleep_blocked(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen,
			 uint64_t deadline, const sigset_t *sigmask)
{
	int ret = 0;

	while (!ret && atomic_load(wakeup) == seen) {
		if (dofi_wait_drive_begin(ia)) {
			ret = drive_until(ia, wakeup, seen, deadline, sigmask);
			dofi_wait_drive_end(ia);
			return ret;
		}
		ret = sleep_beside_driver(ia, wakeup, seen, deadline, sigmask);
	}
	/* We may have been called back to take the driver's place and don't want it. */
	if (!atomic_load(&ia->wait.driven))
		deliver(ia);
	return ret;
}

int dofi_wait_sleep(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen, uint64_t deadline)
{
	dofi_assert_none_held();
	sigset_t all, before;
	int ret;

	atomic_fetch_add(&ia->engine.activity, 1);
	/*
	 * Signals wait until we sleep, so that none slips in between the last look and the sleep.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = sleep_blocked(ia, wakeup, seen, deadline, &before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}
