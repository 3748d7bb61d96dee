/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wait.h"

#include "cno.h"
#include "ia.h"
#include "log.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long to sleep at most where something can become ready without a descriptor saying so. */
#define BLIND_SLEEP_NS 1000000u

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
}

void dofi_wait_fini(struct dofi_ia *ia)
{
	dofi_lock_fini(&ia->wait.lock);
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

static int timeout_ms(uint64_t deadline)
{
	uint64_t now, ms;

	if (deadline == UINT64_MAX)
		return -1;
	now = dofi_now();
	if (deadline <= now)
		return 0;
	ms = (deadline - now + 999999u) / 1000000u;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

static uint64_t earliest(struct dofi_ia *ia, uint64_t deadline)
{
	uint64_t timer = atomic_load_explicit(&ia->engine.next_timer, memory_order_relaxed);

	if (timer < deadline)
		deadline = timer;
	if (ia->cq_fd < 0 || atomic_load_explicit(&ia->engine.nstalled, memory_order_relaxed)) {
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

int dofi_wait_on_fds(struct dofi_ia *ia, const _Atomic uint32_t *bell, uint32_t seen, uint64_t deadline,
		     const sigset_t *sigmask)
{
	struct dofi_wait *w = &ia->wait;
	struct epoll_event events[3]; /* the CQ's, the wake-up call, everything else */
	int n, ret = 1;

	atomic_store(&w->driver_bell, bell);
	atomic_store(&w->asleep, true);
	/* Whoever rings from now on also writes wake_fd; who rang before shows here. */
	if (atomic_load(bell) != seen)
		goto out;
	if (!dofi_wait_arm(ia, true))
		goto out;
	n = epoll_pwait(ia->engine.wait_epfd, events, 3, timeout_ms(earliest(ia, deadline)), sigmask);
	/* Only the driver takes the call, or another thread's round could swallow it before we are awake. */
	for (int i = 0; i < n; i++)
		if (events[i].data.ptr == &ia->engine.wake)
			ia->engine.wake.ready(&ia->engine.wake, events[i].events);
	if (n < 0 && errno == EINTR)
		ret = -EINTR;
	else if (n == 1 && !events[0].data.ptr)
		ret = 0; /* the CQ's descriptor alone */
out:
	atomic_store(&w->asleep, false);
	return ret;
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
		full = ret != 0;
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
	if (atomic_load(bell) == seen && atomic_load(&w->driven) &&
	    syscall(SYS_futex, &self.word, FUTEX_WAIT_BITSET_PRIVATE, 0, deadline == DOFI_FOREVER ? NULL : &until, NULL,
		    FUTEX_BITSET_MATCH_ANY) &&
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
