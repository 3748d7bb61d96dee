/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/engine.h"

#include "object/ia.h"
#include "fabric/quirks.h"
#include "object/transport.h"
#include "progress/agent.h"
#include "progress/driver_sleep.h"
#include "progress/engine_fds.h"
#include "progress/progress_thread.h"
#include "progress/stall.h"
#include "progress/timer.h"
#include "progress/wait.h"
#include "progress/work.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/*
 * Only one in this many polls reads sockets and events: the progress thread watches them meanwhile.
 */
#define POLLS_PER_FULL_ROUND 64
/* Reads of a mute queue in a round. */
#define READS_OF_MUTE_QUEUE  32
/* A progress thread that has a processor has left the queue to the consumer by then. */
#define POLLS_PER_RELIEF     (2 * DOFI_MOST_PATIENCE)
#define MOST_MISSED          4096u
#define MOMENT_NS            50000

/*
 * A call that another thread had begun before dat_ia_close may poll after it: then has_fabric is
 * false.
 */
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
		n += dofi_engine_hear(ia);
		n += dofi_timer_run_due(ia);
	}
	if (atomic_load_explicit(&e->nstalled, memory_order_relaxed))
		dofi_stall_retry_all(ia);
	if (!dofi_list_empty(&e->work) || !dofi_list_empty(&e->last_work))
		n += dofi_work_run(ia);
	if (n)
		atomic_store_explicit(&e->handled,
				      atomic_load_explicit(&e->handled, memory_order_relaxed) +
					      (uint32_t)n,
				      memory_order_relaxed);
	return n;
}

/*
 * A mute queue reads its sockets by itself, but with each read only some KiB of what has come, and
 * an RDMA write has no event here. The thread that drives sleeps after a round without an event, so
 * one read in a round would make a write of some MiB take seconds.
 */
static int read_mute_queue(struct dofi_ia *ia)
{
	int n = 0;

	if (ia->engine.has_fabric)
		for (int i = 0; i < READS_OF_MUTE_QUEUE && !n; i++)
			n = ia->engine.reap(ia);
	return n;
}

int dofi_engine_round(struct dofi_ia *ia, bool all)
{
	int n;

	dofi_assert_held(&ia->engine.lock);
	n = round_of(ia, all);
	if (!n && DOFI_UNLIKELY(ia->quirks & DOFI_QUIRK_MUTE_QUEUE))
		n = read_mute_queue(ia);
	return n;
}

int dofi_engine_drain_cq(struct dofi_ia *ia)
{
	int n, total = 0;

	dofi_assert_held(&ia->engine.lock);
	while ((n = ia->engine.reap(ia)) > 0)
		total += n;
	return total;
}

/*
 * Polls hold engine.lock, so they lose no count of each other. A waiter increments without the lock
 * at the same time, so the count of one poll may be lost; the next poll counts again. True: it is
 * time to relieve the progress thread.
 */
static bool note_poll(struct dofi_engine *e)
{
	uint32_t activity = atomic_load_explicit(&e->activity, memory_order_relaxed) + 1;

	dofi_assert_held(&e->lock);
	atomic_store_explicit(&e->activity, activity, memory_order_relaxed);
	if (DOFI_UNLIKELY(atomic_load_explicit(&e->missed, memory_order_relaxed)))
		atomic_store_explicit(&e->missed, 0, memory_order_relaxed);
	return activity % POLLS_PER_RELIEF == 0;
}

/*
 * The thread that holds the lock may have no processor because this one polls on it, perhaps with a
 * real-time priority, which the progress thread does not have. So after as many polls in a row as
 * take longer than a round, this one leaves the processor for a moment.
 */
static void note_missed_poll(struct dofi_engine *e)
{
	static const struct timespec moment = {.tv_nsec = MOMENT_NS};

	if (atomic_fetch_add_explicit(&e->missed, 1, memory_order_relaxed) % MOST_MISSED ==
	    MOST_MISSED - 1)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}

bool dofi_engine_connects_unseen(struct dofi_ia *ia)
{
	return ia->eqs.silent && atomic_load_explicit(&ia->cm.nlinking, memory_order_relaxed);
}

bool dofi_engine_poll_for(struct dofi_ia *ia, struct dofi_taker taker)
{
	struct dofi_engine *e = &ia->engine;
	bool served = false, relieves = false;

	dofi_assert_none_held();
	if (dofi_trylock(&e->lock)) {
		relieves = note_poll(e);
		e->taker = taker;
		if (DOFI_UNLIKELY(++e->empty_polls > POLLS_PER_FULL_ROUND ||
				  dofi_engine_connects_unseen(ia))) {
			dofi_engine_round(ia, true);
			e->empty_polls = 0;
		} else if (round_of(ia, false)) {
			e->empty_polls = 0;
		}
		served = e->taker.evd != taker.evd;
		e->taker.evd = NULL;
		dofi_unlock(&e->lock);
	} else {
		note_missed_poll(e);
	}
	if (DOFI_UNLIKELY(relieves))
		dofi_wait_relieve(ia);
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
	dofi_assert_held(&ia->engine.lock);
	dofi_work_run(ia);
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

/* --- life cycle --- */

int dofi_engine_init(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	int ret;

	dofi_lock_init_level(&e->lock, DOFI_LEVEL_ENGINE);
	dofi_lock_init_level(&e->stalled_lock, DOFI_LEVEL_LEAF);
	dofi_work_init(e);
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
	ret = dofi_engine_wake_on(ia, e->sock_epfd);
	if (ret)
		goto err_fini;
	return 0;

err_fini:
	dofi_engine_fini(ia);
	return ret;
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
