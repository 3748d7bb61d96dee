/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/ia_list.h"

#include "api/counters.h"
#include "api/stats.h"
#include "cm/cm.h"
#include "fabric/info.h"
#include "object/ia.h"
#include "progress/progress_thread.h"

#include <pthread.h>
#include <stdlib.h>

/*
 * The longest waits for a lock, in processor time: of a fork, which may come from a signal handler
 * of the thread that holds the lock, and of a report, so that a program that hangs can be
 * inspected. libfabric may look for fabrics for longer than other locks are held.
 */
#define FORK_LOCK_NS   100000000u
#define FORK_SETUP_NS  1000000000u
#define REPORT_LOCK_NS 1000000000u

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dofi_list all_ias = {&all_ias, &all_ias}; /* by ia->all, guarded by all_lock */

#define FOR_ALL_IAS(node) DOFI_LIST_FOR(node, &all_ias)

static struct dofi_ia *ia_of(struct dofi_list *node)
{
	return DOFI_CONTAINER(node, struct dofi_ia, all);
}

static bool setup_at_rest; /* while the process forks: guarded by all_lock */

/*
 * The child walks our lists, so no thread may change them during the fork. It may open an IA, so no
 * thread may be inside libfabric's search for fabrics.
 */
static void before_fork(void)
{
	bool at_rest = dofi_setup_begin_for(FORK_SETUP_NS);

	pthread_mutex_lock(&all_lock);
	setup_at_rest = at_rest;
	FOR_ALL_IAS(node)
	{
		struct dofi_ia *ia = ia_of(node);

		ia->at_rest = dofi_trylock_for(&ia->engine.lock, FORK_LOCK_NS);
		/* No other thread takes one of these while it holds that of another IA. */
		ia->objects_at_rest = dofi_trylock_for(&ia->obj_lock, FORK_LOCK_NS);
	}
	dofi_obj_fork_begin(FORK_LOCK_NS);
}

static void release_after_fork(void)
{
	dofi_obj_fork_end();
	FOR_ALL_IAS(node)
	{
		struct dofi_ia *ia = ia_of(node);

		if (ia->objects_at_rest)
			dofi_unlock(&ia->obj_lock);
		if (ia->at_rest)
			dofi_unlock(&ia->engine.lock);
	}
	if (setup_at_rest)
		dofi_setup_end();
	pthread_mutex_unlock(&all_lock);
}

/*
 * The child has neither our threads nor a right to the connections: every handle is invalid there.
 * A list that changed during the fork cannot be read, so its handles stay.
 */
static void kill_handles(struct dofi_ia *ia)
{
	atomic_store(&ia->obj.magic, 0);
	if (!ia->objects_at_rest)
		return;
	for (int type = 0; type < DOFI_HANDLE_TYPES; type++)
		DOFI_LIST_FOR(node, &ia->objects[type])
	atomic_store(&DOFI_CONTAINER(node, struct dofi_obj, siblings)->magic, 0);
}

static void after_fork_in_child(void)
{
	FOR_ALL_IAS(node)
	{
		struct dofi_ia *ia = ia_of(node);

		kill_handles(ia);
		if (ia->at_rest)
			dofi_cm_fork_child(ia);
	}
	release_after_fork();
	dofi_list_init(&all_ias);
	dofi_stats_fork_child();
}

/*
 * If a process ends without dat_ia_close, its peers get DISCONNECTED, not BROKEN.
 */
static void at_exit(void)
{
	dofi_stats_exit();
	pthread_mutex_lock(&all_lock);
	FOR_ALL_IAS(node)
	{
		dofi_cm_exit(ia_of(node));
		dofi_progress_exit(ia_of(node));
	}
	pthread_mutex_unlock(&all_lock);
}

void dofi_ia_report(struct dofi_ia *ia, FILE *out)
{
	bool locked = dofi_trylock_for(&ia->engine.lock, REPORT_LOCK_NS);

	dofi_count_report(ia, out, locked);
	if (locked)
		dofi_unlock(&ia->engine.lock);
}

void dofi_ia_report_all(FILE *out)
{
	pthread_mutex_lock(&all_lock);
	FOR_ALL_IAS(node)
	dofi_ia_report(ia_of(node), out);
	pthread_mutex_unlock(&all_lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, release_after_fork, after_fork_in_child);
}

/* Registered late, so that it runs before the handlers of libraries that libfabric has loaded. */
static void watch_exit(void)
{
	atexit(at_exit);
}

void dofi_ia_list_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
}

void dofi_ia_list_add(struct dofi_ia *ia)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_exit);
	pthread_mutex_lock(&all_lock);
	dofi_list_add_tail(&all_ias, &ia->all);
	dofi_obj_publish(&ia->obj, DAT_HANDLE_TYPE_IA);
	pthread_mutex_unlock(&all_lock);
}

bool dofi_ia_list_remove(struct dofi_ia *ia)
{
	bool ok;

	pthread_mutex_lock(&all_lock);
	/* The IA's own lock must not be touched once another thread has closed the IA. */
	ok = dofi_obj_is(ia, DAT_HANDLE_TYPE_IA) && dofi_obj_retire(&ia->obj, false);
	if (ok)
		dofi_list_del(&ia->all);
	pthread_mutex_unlock(&all_lock);
	return ok;
}

void dofi_ia_list_visit(void (*visit)(struct dofi_ia *ia, void *arg), void *arg)
{
	pthread_mutex_lock(&all_lock);
	FOR_ALL_IAS(node)
	visit(ia_of(node), arg);
	pthread_mutex_unlock(&all_lock);
}
