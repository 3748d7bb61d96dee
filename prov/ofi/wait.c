/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wait.h"

#include "cno.h"
#include "ia.h"
#include "log.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long to sleep at most where something can become ready without a descriptor saying so. */
#define BLIND_SLEEP_NS 1000000u
#define FRUITLESS_LIMIT 64u
/* Descriptors of ours that the driver sleeps on: wake_fd, quiet_epfd. */
#define OURS 2u

/* A thread that waits for its bell while another one drives; lives on that thread's stack. */
struct sleeper {
	struct dofi_list link;
	const _Atomic uint32_t *bell;
	_Atomic uint32_t word; /* futex: 1 when it shall look again */
};

void dofi_wait_init(struct dofi_ia *ia)
{
	dofi_lock_init(&ia->wait.lock);
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
	return timeout_us == DAT_TIMEOUT_INFINITE ? DOFI_FOREVER : dofi_now() + (uint64_t)timeout_us * 1000u;
}

static void call_back(struct sleeper *s)
{
	atomic_store_explicit(&s->word, 1, memory_order_release);
	syscall(SYS_futex, &s->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void dofi_wait_kick(struct dofi_ia *ia)
{
	uint64_t one = 1;

	if (!atomic_load(&ia->wait.asleep))
		return;
	if (write(ia->engine.wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		DOFI_LOG_E("%s: can't wake a waiting thread: %s", ia->name, strerror(errno));
}

void dofi_wait_ring(struct dofi_ia *ia, _Atomic uint32_t *bell)
{
	struct dofi_wait *w = &ia->wait;

	atomic_fetch_add(bell, 1);
	if (atomic_load(&w->asleep) && atomic_load(&w->driver_bell) == bell)
		dofi_wait_kick(ia);
	if (!atomic_load(&w->count))
		return;
	dofi_lock(&w->lock);
	DOFI_LIST_FOR(node, &w->sleepers)
	{
		struct sleeper *s = DOFI_CONTAINER(node, struct sleeper, link);

		if (s->bell == bell)
			call_back(s);
	}
	dofi_unlock(&w->lock);
}

bool dofi_wait_drive_begin(struct dofi_ia *ia)
{
	return !atomic_exchange(&ia->wait.driven, true);
}

/* The place is free: a sleeper, if there is one, takes it. */
static void hand_over(struct dofi_wait *w)
{
	if (!atomic_load(&w->count))
		return;
	dofi_lock(&w->lock);
	if (!dofi_list_empty(&w->sleepers))
		call_back(DOFI_CONTAINER(w->sleepers.next, struct sleeper, link));
	dofi_unlock(&w->lock);
}

void dofi_wait_drive_end(struct dofi_ia *ia)
{
	uint64_t one = 1;

	atomic_store(&ia->wait.driven, false);
	if (atomic_load(&ia->engine.parked) && write(ia->engine.park_fd, &one, sizeof(one)) < 0)
		DOFI_LOG_E("%s: can't wake the progress thread: %s", ia->name, strerror(errno));
	hand_over(&ia->wait);
}

static uint64_t earliest(struct dofi_ia *ia, uint64_t deadline)
{
	uint64_t timer = atomic_load_explicit(&ia->engine.next_timer, memory_order_relaxed);

	if (timer < deadline)
		deadline = timer;
	if (ia->cq_wait == FI_WAIT_NONE || atomic_load_explicit(&ia->engine.nstalled, memory_order_relaxed)) {
		uint64_t blind = dofi_now() + BLIND_SLEEP_NS;

		if (blind < deadline)
			deadline = blind;
	}
	return deadline;
}

bool dofi_wait_arm(struct dofi_ia *ia, bool with_cq)
{
	struct fid *fids[2];
	int n = 0;

	if (ia->eq)
		fids[n++] = &ia->eq->fid;
	if (with_cq)
		fids[n++] = &ia->cq->fid;
	return !n || !fi_trywait(ia->fabric, fids, n);
}

static struct timespec time_left(uint64_t deadline)
{
	uint64_t now = dofi_now(), left = deadline > now ? deadline - now : 0;

	return (struct timespec){(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
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

/* The CQ's descriptors behind our own two; how many there are now, or -1. */
static int list_cq_fds(struct dofi_ia *ia)
{
	struct dofi_wait *w = &ia->wait;
	struct fi_wait_pollfd list;
	int fd, ret;

	if (ia->cq_wait == FI_WAIT_NONE)
		return 0;
	if (ia->cq_wait == FI_WAIT_FD) {
		ret = fi_control(&ia->cq->fid, FI_GETWAIT, &fd);
		w->fds[OURS] = (struct pollfd){.fd = fd, .events = POLLIN};
		return ret ? -1 : 1;
	}
	for (;;) {
		list = (struct fi_wait_pollfd){.fd = w->fds + OURS, .nfds = w->max_fds - OURS};
		ret = fi_control(&ia->cq->fid, FI_GETWAIT, &list);
		for (size_t i = 0; !ret && i < list.nfds; i++)
			if (list.fd[i].fd == w->mute_fd)
				list.fd[i].fd = -1; /* which ppoll passes over */
		if (!ret)
			return (int)list.nfds;
		if (ret != -FI_ETOOSMALL || !grow_fds(w, OURS + 2 * list.nfds))
			return -1;
	}
}

/*
 * tcp of libfabric 1.17 lists a descriptor of its own bookkeeping that is readable from the start and stays so. On a fresh
 * queue nothing else can be.
 */
void dofi_wait_learn(struct dofi_ia *ia)
{
	struct dofi_wait *w = &ia->wait;
	int n;

	if (ia->cq_wait != FI_WAIT_POLLFD || !grow_fds(w, OURS + 8) || !dofi_wait_arm(ia, true))
		return;
	n = list_cq_fds(ia);
	if (n <= 0 || poll(w->fds + OURS, (nfds_t)n, 0) <= 0)
		return;
	for (int i = 0; i < n; i++)
		if (w->fds[OURS + (size_t)i].revents)
			w->mute_fd = w->fds[OURS + (size_t)i].fd;
}

/*
 * A message that no receive is posted for keeps its socket readable, and fi_cq_read leaves it there: then the queue would
 * end every sleep at once. After some such sleeps the queue is looked at by the clock instead.
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
static int sleep_on_fds(struct dofi_ia *ia, uint64_t deadline, const sigset_t *sigmask)
{
	struct dofi_wait *w = &ia->wait;
	struct timespec left;
	int n;

	if (w->max_fds < OURS + 8 && !grow_fds(w, OURS + 8))
		return 1;
	n = cq_cries_wolf(ia) ? -1 : list_cq_fds(ia);
	if (n < 0) {
		uint64_t blind = dofi_now() + BLIND_SLEEP_NS;

		n = 0;
		if (blind < deadline)
			deadline = blind;
	}
	w->fds[0] = (struct pollfd){.fd = ia->engine.wake_fd, .events = POLLIN};
	w->fds[1] = (struct pollfd){.fd = ia->engine.quiet_epfd, .events = POLLIN};
	deadline = earliest(ia, deadline);
	left = time_left(deadline);
	n = ppoll(w->fds, (nfds_t)(OURS + n), deadline == DOFI_FOREVER ? NULL : &left, sigmask);
	if (n < 0)
		return errno == EINTR ? -EINTR : 1;
	/* Only the driver takes the call, or another thread's round could swallow it before we are awake. */
	if (w->fds[0].revents)
		dofi_engine_take_call(ia);
	else if (n > 0 && !w->fds[1].revents)
		w->fruitless++; /* until the engine handles something */
	return n == 0 || w->fds[0].revents || w->fds[1].revents;
}

/*
 * Plain ppoll, not an epoll set: a queue that is watched all the time makes the kernel tell us of each message, which costs
 * the sender of every one while the receiver polls.
 */
int dofi_wait_on_fds(struct dofi_ia *ia, const _Atomic uint32_t *bell, uint32_t seen, uint64_t deadline,
		     const sigset_t *sigmask)
{
	struct dofi_wait *w = &ia->wait;
	int ret = 1;

	atomic_store(&w->driver_bell, bell);
	atomic_store(&w->asleep, true);
	/* Whoever rings from now on also writes wake_fd; who rang before shows here. */
	if (atomic_load(bell) == seen && dofi_wait_arm(ia, true))
		ret = sleep_on_fds(ia, deadline, sigmask);
	atomic_store(&w->asleep, false);
	return ret;
}

/* However busy the queue is, timers fire in time. */
static bool timer_due(struct dofi_ia *ia)
{
	return atomic_load_explicit(&ia->engine.next_timer, memory_order_relaxed) <= dofi_now();
}

static int drive_until(struct dofi_ia *ia, _Atomic uint32_t *bell, uint32_t seen, uint64_t deadline)
{
	sigset_t all, before;
	bool full = true;
	int n, ret = 0;

	/* Signals wait until we sleep, so that none slips in between the last look and the sleep. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (;;) {
		dofi_lock(&ia->engine.lock);
		n = dofi_engine_round(ia, full);
		dofi_unlock(&ia->engine.lock);
		dofi_cno_run_agents(ia);
		if (atomic_load(bell) != seen) {
			ret = 0;
			break;
		}
		if (ret == -EINTR)
			break;
		if (deadline != DOFI_FOREVER && dofi_now() >= deadline) {
			ret = -ETIMEDOUT;
			break;
		}
		if (n)
			continue;
		ret = dofi_wait_on_fds(ia, bell, seen, deadline, &before);
		full = ret != 0 || timer_due(ia);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

static int sleep_beside_driver(struct dofi_ia *ia, _Atomic uint32_t *bell, uint32_t seen, uint64_t deadline)
{
	struct dofi_wait *w = &ia->wait;
	struct sleeper self = {.bell = bell};
	struct timespec until = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
	int ret = 0;

	dofi_lock(&w->lock);
	dofi_list_add_tail(&w->sleepers, &self.link);
	atomic_fetch_add(&w->count, 1);
	dofi_unlock(&w->lock);

	if (atomic_load(&w->driver_bell) == &ia->engine.activity)
		dofi_wait_kick(ia); /* the progress thread makes room */
	/* Always with a time limit, be it in centuries: without one SA_RESTART would hide the signal. */
	if (atomic_load(bell) == seen && atomic_load(&w->driven) &&
	    syscall(SYS_futex, &self.word, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, NULL, FUTEX_BITSET_MATCH_ANY) &&
	    errno != EAGAIN)
		ret = -errno;

	dofi_lock(&w->lock);
	dofi_list_del(&self.link);
	atomic_fetch_sub(&w->count, 1);
	dofi_unlock(&w->lock);
	return atomic_load(bell) != seen ? 0 : ret;
}

int dofi_wait_sleep(struct dofi_ia *ia, _Atomic uint32_t *bell, uint32_t seen, uint64_t deadline)
{
	int ret = 0;

	atomic_fetch_add(&ia->engine.activity, 1);
	while (!ret && atomic_load(bell) == seen) {
		if (dofi_wait_drive_begin(ia)) {
			ret = drive_until(ia, bell, seen, deadline);
			dofi_wait_drive_end(ia);
			return ret;
		}
		ret = sleep_beside_driver(ia, bell, seen, deadline);
	}
	/* We may have been called back to take the driver's place and don't want it. */
	if (!atomic_load(&ia->wait.driven))
		hand_over(&ia->wait);
	return ret;
}
