/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/driver_sleep.h"

#include "object/ia.h"
#include "base/clock.h"
#include "base/eventfd.h"
#include "fabric/eqs.h"
#include "progress/agent.h"
#include "progress/cq_ready.h"
#include "progress/cq_watch.h"
#include "progress/nap.h"
#include "progress/wait.h"
#include "progress/wakeup.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

/*
 * After this many consecutive sleeps that the queue ended without an event, it is not watched any
 * more.
 */
#define FRUITLESS_LIMIT 64u
/* Descriptors of ours that the driver sleeps on: wake_fd, quiet_epfd. */
#define OURS            2u
#define LEAST_FDS       (2u * DOFI_MAX_CQS) /* room for this many descriptors behind them */

/* Shows the peers that can wake this process whether it sleeps. False: there are no such peers. */
static bool show(struct dofi_ia *ia, bool asleep)
{
	bool any = ia->cq_wait == FI_WAIT_NONE && dofi_wakeup_mark(ia, asleep);

	if (ia->engine.doze)
		any |= ia->engine.doze(ia, asleep);
	return any;
}

/*
 * `marked` comes first: whoever takes a mark back, or adds a path, then ends this sleep. False:
 * there are no marks.
 */
static bool mark(struct dofi_ia *ia)
{
	atomic_store(&ia->wait.marked, true);
	if (!show(ia, true)) {
		atomic_store(&ia->wait.marked, false);
		return false;
	}
	atomic_thread_fence(memory_order_seq_cst); /* the look at the rings comes behind it */
	return true;
}

void dofi_wait_unmark(struct dofi_ia *ia)
{
	if (!atomic_load_explicit(&ia->wait.marked, memory_order_relaxed))
		return;
	show(ia, false);
	atomic_store(&ia->wait.marked, false);
}

void dofi_wait_relieve(struct dofi_ia *ia)
{
	struct dofi_wait *w = &ia->wait;

	if (!atomic_load(&w->marked) || atomic_load(&w->driver_wake) != &ia->engine.activity)
		return;
	show(ia, false); /* `marked` stays: the thread takes its mark back itself, too */
	dofi_wait_end_sleep(ia);
}

void dofi_wait_mark_gone(struct dofi_ia *ia)
{
	if (atomic_load(&ia->wait.marked))
		dofi_wait_end_sleep(ia);
}

static bool arm_cqs(struct dofi_ia *ia)
{
	uint32_t ncqs = atomic_load_explicit(&ia->cqs.n, memory_order_acquire);
	struct fid *fids[DOFI_MAX_CQS];
	int n = 0;

	if (ia->cq_wait == FI_WAIT_NONE)
		return true;
	fids[n++] = &ia->cq->fid;
	for (uint32_t i = 1; i < ncqs && !ia->cqs.shared; i++)
		fids[n++] = &ia->cqs.list[i].fid->fid;
	if (ia->cqs.shared && !dofi_cq_ready_arm(&ia->cqs, ia->fabric))
		return false;
	return !fi_trywait(ia->fabric, fids, n);
}

bool dofi_wait_arm_events(struct dofi_ia *ia)
{
	struct fid *fids[DOFI_MAX_EQS];
	int n = dofi_eqs_put_fids(&ia->eqs, fids);

	return !n || !fi_trywait(ia->fabric, fids, n);
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

/* Stores the descriptors of a queue from index `at` on. Returns their number, or -1. */
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

/*
 * Stores the descriptors of all queues behind our own two. There is room for at least one of each
 * queue. Returns their number, or -1.
 */
static int list_cq_fds(struct dofi_ia *ia)
{
	uint32_t ncqs = atomic_load_explicit(&ia->cqs.n, memory_order_acquire);
	int total, n;

	if (ia->cq_wait == FI_WAIT_NONE)
		return 0;
	if (ia->cqs.shared) {
		ia->wait.fds[OURS] = (struct pollfd){.fd = ia->cqs.ready_fd, .events = POLLIN};
		total = list_fds_of(ia, ia->cq, OURS + 1);
		return total < 0 ? -1 : total + 1;
	}
	total = list_fds_of(ia, ia->cq, OURS);
	for (uint32_t i = 1; total >= 0 && i < ncqs; i++) {
		n = list_fds_of(ia, ia->cqs.list[i].fid, OURS + (size_t)total);
		total = n < 0 ? -1 : total + n;
	}
	return total;
}

/*
 * tcp of libfabric 1.17 lists an internal descriptor that is readable from the start and stays so.
 * On a fresh queue no other descriptor can be readable.
 */
void dofi_wait_probe(struct dofi_ia *ia)
{
	struct dofi_wait *w = &ia->wait;
	int n;

	if (ia->cq_wait != FI_WAIT_POLLFD || !grow_fds(w, OURS + LEAST_FDS) || !arm_cqs(ia))
		return;
	n = list_cq_fds(ia);
	if (n <= 0 || poll(w->fds + OURS, (nfds_t)n, 0) <= 0)
		return;
	for (int i = 0; i < n; i++)
		if (w->fds[OURS + (size_t)i].revents)
			w->mute_fd = w->fds[OURS + (size_t)i].fd;
}

/*
 * A message without a posted receive keeps its socket readable, and fi_cq_read leaves the message
 * there, so the queue would end every sleep at once. After some such sleeps the queue is read at
 * intervals instead. Writes of peers are no events either, but the round has read them, so the
 * descriptors, of which there are n, are not readable any more.
 */
static bool is_always_ready(struct dofi_ia *ia, int n)
{
	struct dofi_wait *w = &ia->wait;
	uint32_t handled = atomic_load_explicit(&ia->engine.handled, memory_order_relaxed);

	if (handled != w->seen_rounds)
		w->fruitless = 0;
	w->seen_rounds = handled;
	if (w->fruitless <= FRUITLESS_LIMIT)
		return false;
	if (poll(w->fds + OURS, (nfds_t)n, 0))
		return true;
	w->fruitless = 0;
	return false;
}

/* 0: only the CQ is ready; 1: more may be; -EINTR. */
static int sleep_on_fds(struct dofi_ia *ia, uint64_t deadline, bool with_cq,
			const struct dofi_interrupts *allowed)
{
	struct dofi_wait *w = &ia->wait;
	int n = 0;

	if (w->max_fds < OURS + LEAST_FDS && !grow_fds(w, OURS + LEAST_FDS))
		return 1;
	if (with_cq)
		n = list_cq_fds(ia);
	if (n < 0 || (with_cq && is_always_ready(ia, n))) {
		n = 0;
		deadline = dofi_nap_blind_until(deadline);
	}
	w->fds[0] = (struct pollfd){.fd = ia->engine.wake_fd, .events = POLLIN};
	w->fds[1] = (struct pollfd){.fd = ia->engine.quiet_epfd, .events = POLLIN};
	n = dofi_poll_until(w->fds, (nfds_t)(OURS + n), dofi_nap_until(ia, deadline, with_cq),
			    allowed);
	if (n < 0)
		return errno == EINTR ? -EINTR : 1;
	/*
	 * Only the driver clears the eventfd: if another thread did in its round, this sleep might
	 * not end.
	 */
	if (w->fds[0].revents)
		dofi_eventfd_clear(ia->engine.wake_fd);
	else if (n > 0 && !w->fds[1].revents)
		w->fruitless++; /* until the engine handles something */
	return n == 0 || w->fds[0].revents || w->fds[1].revents;
}

/*
 * The driver is shown as asleep. So a wake, or an agent that becomes due, now writes wake_fd, and
 * an earlier one has changed what is read here.
 */
static int sleep_unless_woken(struct dofi_ia *ia, const _Atomic uint32_t *wakeup, uint32_t seen,
			      uint64_t deadline, const struct dofi_interrupts *allowed)
{
	bool with_cq = !dofi_cq_watch_leave(ia, wakeup);
	int ret = 1;

	if (atomic_load(wakeup) == seen && !dofi_cno_is_due(ia) && dofi_wait_arm_events(ia))
		ret = !with_cq || arm_cqs(ia) ? sleep_on_fds(ia, deadline, with_cq, allowed) : 0;
	if (!with_cq)
		dofi_cq_watch_awake(&ia->wait);
	return ret;
}

/*
 * Also when the thread is cancelled. Only the progress thread leaves the queue unwatched, and it is
 * not cancelled, so this needs no dofi_cq_watch_awake.
 */
static void show_awake(void *arg)
{
	struct dofi_ia *ia = arg;

	atomic_store(&ia->wait.asleep, false);
	atomic_store_explicit(&ia->wait.deep, false, memory_order_relaxed);
	dofi_wait_unmark(ia);
}

/*
 * Plain ppoll, not an epoll set: in a permanent set the kernel notes each message, which costs the
 * sender of each message time, also while the receiver polls.
 */
int dofi_wait_on_fds(struct dofi_ia *ia, const _Atomic uint32_t *wakeup, uint32_t seen,
		     uint64_t deadline, const struct dofi_interrupts *allowed)
{
	struct dofi_wait *w = &ia->wait;
	int ret;

	if (!atomic_load_explicit(&w->marked, memory_order_relaxed) && mark(ia))
		return 0; /* one more look at the queue */
	atomic_store(&w->driver_wake, wakeup);
	atomic_store(&w->asleep, true);
	pthread_cleanup_push(show_awake, ia);
	ret = sleep_unless_woken(ia, wakeup, seen, deadline, allowed);
	pthread_cleanup_pop(true);
	return ret;
}
