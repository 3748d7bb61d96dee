/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/ia.h"

#include "api/ia_async.h"
#include "api/ia_choose.h"
#include "api/ia_list.h"
#include "api/ia_steps.h"
#include "api/init.h"
#include "api/pz.h"
#include "api/stats.h"
#include "base/log.h"
#include "base/thread.h"
#include "cm/cr.h"
#include "cm/ep_life.h"
#include "cm/linger.h"
#include "cm/listener.h"
#include "cm/service_point.h"
#include "cm/upcalls.h"
#include "dto/lmr.h"
#include "dto/reap.h"
#include "dto/rmr.h"
#include "dto/srq.h"
#include "fabric/descriptors.h"
#include "fabric/error.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "progress/agent.h"
#include "progress/cno.h"
#include "progress/engine.h"
#include "progress/evd.h"

#include <pthread.h>
#include <rdma/fabric.h>
#include <string.h>

/* --- dat_ia_open --- */

static struct dofi_ia *new_ia(const char *name, const DAT_PROVIDER *provider,
			      DAT_BOOLEAN thread_safe)
{
	struct dofi_ia *ia = dofi_obj_alloc(NULL, provider, DAT_HANDLE_TYPE_IA, sizeof(*ia));

	if (!ia)
		return NULL;
	ia->obj.ia = ia;
	strcpy(ia->name, name);
	ia->thread_safe_asked = thread_safe;
	ia->up = &dofi_cm_upcalls;
	ia->engine.reap = dofi_reap;
	dofi_lock_init_level(&ia->obj_lock, DOFI_LEVEL_LEAF);
	dofi_lock_init_level(&ia->mr_lock, DOFI_LEVEL_LEAF);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++) {
		dofi_list_init(&ia->objects[i]);
		dofi_list_init(&ia->doomed[i]);
	}
	dofi_list_init(&ia->agents);
	dofi_list_init(&ia->orphans);
	dofi_list_init(&ia->ud_answers);
	dofi_list_init(&ia->agent_calls);
	dofi_list_init(&ia->drains);
	return ia;
}

static void free_ia(struct dofi_ia *ia)
{
	if (ia->info)
		fi_freeinfo(ia->info);
	dofi_lock_fini(&ia->mr_lock);
	dofi_lock_fini(&ia->obj_lock);
	dofi_obj_free(&ia->obj, DAT_HANDLE_TYPE_IA);
}

static void stop_transfers(struct dofi_ia *ia);
static void tear_down(struct dofi_ia *ia);

static DAT_RETURN begin(struct dofi_ia *ia, const char *ia_params, DAT_COUNT qlen,
			DAT_EVD_HANDLE *async_evd, struct dofi_evd *evd)
{
	DAT_RETURN dat_ret = dofi_ia_choose(ia, ia_params);
	int ret;

	if (dat_ret != DAT_SUCCESS)
		return dat_ret;
	ret = dofi_ia_steps_begin(ia);
	if (ret)
		return dofi_error(ret, DAT_RESOURCE_DEVICE);
	dat_ret = dofi_ia_async_begin(ia, qlen, async_evd, evd);
	if (dat_ret != DAT_SUCCESS) {
		stop_transfers(ia);
		tear_down(ia);
	}
	return dat_ret;
}

static DAT_RETURN open_ia(const DAT_NAME_PTR name, DAT_BOOLEAN thread_safe, unsigned int nth,
			  DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *handle_p)
{
	const DAT_PROVIDER *provider;
	const char *ia_params;
	struct dofi_evd *evd;
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return DOFI_BAD_ARG(1);
	ret = dofi_ia_async_check(qlen, async_evd, &evd);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!handle_p)
		return DOFI_BAD_ARG(4);
	provider = dofi_init_lookup(name, thread_safe, nth, &ia_params);
	if (!provider)
		return DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ia = new_ia(name, provider, thread_safe);
	if (!ia)
		return DOFI_NO_MEMORY;
	dofi_ia_list_prepare();
	dofi_descriptors_occupy_standard();
	ret = begin(ia, ia_params, qlen, async_evd, evd);
	if (ret != DAT_SUCCESS) {
		free_ia(ia);
		return ret;
	}
	dofi_ia_list_add(ia);
	dofi_stats_start(ia);
	*handle_p = ia;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ia_open(const DAT_NAME_PTR name, DAT_COUNT async_qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia)
{
	return open_ia(name, DAT_FALSE, 0, async_qlen, async_evd, ia);
}

#define OPEN(function, thread_safe, nth)                                         \
	static DAT_RETURN function(const DAT_NAME_PTR name, DAT_COUNT qlen,      \
				   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia) \
	{                                                                        \
		return open_ia(name, (thread_safe), (nth), qlen, async_evd, ia); \
	}
#define OPEN_BOTH(nth)                        \
	OPEN(open_plain##nth, DAT_FALSE, nth) \
	OPEN(open_safe##nth, DAT_TRUE, nth)

OPEN(open_safe0, DAT_TRUE, 0)
OPEN_BOTH(1)
OPEN_BOTH(2)
OPEN_BOTH(3)
OPEN_BOTH(4)
OPEN_BOTH(5)
OPEN_BOTH(6)
OPEN_BOTH(7)

DAT_IA_OPEN_FUNC dofi_ia_open_of(DAT_BOOLEAN thread_safe, unsigned int nth)
{
	static const DAT_IA_OPEN_FUNC functions[][DOFI_IA_LINES] = {
		{dofi_ia_open, open_plain1, open_plain2, open_plain3, open_plain4, open_plain5,
		 open_plain6, open_plain7},
		{open_safe0, open_safe1, open_safe2, open_safe3, open_safe4, open_safe5, open_safe6,
		 open_safe7},
	};

	return functions[thread_safe ? 1 : 0][nth];
}

/* --- dat_ia_close --- */

static bool in_use(struct dofi_ia *ia)
{
	uint32_t n = 0;

	dofi_lock(&ia->obj_lock);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		n += ia->counts[i];
	if (ia->async_evd_ours)
		n--;
	dofi_unlock(&ia->obj_lock);
	return n > 0;
}

/* Retires one object of a type. Returns NULL if none is left. */
static void *retire_one(struct dofi_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dofi_list *list = &ia->objects[type];
	struct dofi_obj *obj;

	do {
		dofi_lock(&ia->obj_lock);
		obj = dofi_list_empty(list) ? NULL
					    : DOFI_CONTAINER(list->next, struct dofi_obj, siblings);
		dofi_unlock(&ia->obj_lock);
	} while (obj && !dofi_obj_retire(obj, false));
	return obj;
}

static void stop_serving(struct dofi_ia *ia)
{
	struct dofi_list *listeners = &ia->cm.listeners;

	while (!dofi_list_empty(listeners))
		dofi_sp_unlisten(DOFI_CONTAINER(listeners->next, struct dofi_sp, link));
}

static void destroy_connections(struct dofi_ia *ia)
{
	void *obj;

	dofi_engine_begin(ia);
	stop_serving(ia);
	/* An undecided request returns its EP, so requests are freed first. */
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_CR)))
		dofi_cr_destroy(obj, true);
	dofi_linger_begin_all(ia);
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_EP)))
		dofi_ep_destroy(obj);
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_SRQ)))
		dofi_srq_destroy(obj);
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_PSP)) ||
	       (obj = retire_one(ia, DAT_HANDLE_TYPE_RSP)))
		dofi_sp_destroy(obj);
	dofi_engine_end(ia);
}

static void doom(struct dofi_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dofi_obj *obj;

	while ((obj = retire_one(ia, type)))
		dofi_list_add_tail(&ia->doomed[type], &obj->siblings);
}

static void *next_doomed(struct dofi_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dofi_list *node = dofi_list_pop(&ia->doomed[type]);

	return node ? DOFI_CONTAINER(node, struct dofi_obj, siblings) : NULL;
}

/* When it returns, all handles are invalid, and the fabric does not use the consumer's memory. */
static void stop_transfers(struct dofi_ia *ia)
{
	void *obj;

	destroy_connections(ia);
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_RMR)))
		dofi_rmr_destroy(obj);
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_LMR)))
		dofi_lmr_destroy(obj);
	dofi_ia_async_end(ia);
	dofi_ia_async_detach_others(ia);
	doom(ia, DAT_HANDLE_TYPE_EVD);
	doom(ia, DAT_HANDLE_TYPE_CNO);
	doom(ia, DAT_HANDLE_TYPE_PZ);
}

/* Threads that wait on EVDs and CNOs need the engine's lock to leave. */
static void tear_down(struct dofi_ia *ia)
{
	void *obj;

	dofi_assert_none_held();
	while ((obj = next_doomed(ia, DAT_HANDLE_TYPE_EVD)))
		dofi_evd_destroy(obj);
	while ((obj = next_doomed(ia, DAT_HANDLE_TYPE_CNO))) {
		dofi_cno_flush(obj);
		dofi_cno_destroy(obj);
	}
	dofi_cno_await_agents(ia);
	/* The last step: a call that ran an agent may have used an LMR of this IA. */
	while ((obj = next_doomed(ia, DAT_HANDLE_TYPE_PZ)))
		dofi_pz_destroy(obj);
	dofi_ia_steps_end(ia);
}

static void *closer_main(void *arg)
{
	tear_down(arg);
	free_ia(arg);
	return NULL;
}

/*
 * An agent closes the IA. Its thread may be the progress thread, which would join itself, or a
 * thread inside a wait on this IA, which would wait for itself. So another thread finishes the
 * close when they have left.
 */
static void tear_down_elsewhere(struct dofi_ia *ia)
{
	pthread_t closer;
	int err;

	/* Agents are called for the last time before dat_ia_close returns. */
	DOFI_LIST_FOR(node, &ia->doomed[DAT_HANDLE_TYPE_CNO])
	dofi_cno_flush(DOFI_CONTAINER(node, struct dofi_cno, obj.siblings));
	dofi_cno_run_agents(ia);
	DOFI_LIST_FOR(node, &ia->doomed[DAT_HANDLE_TYPE_CNO])
	dofi_cno_mute(DOFI_CONTAINER(node, struct dofi_cno, obj.siblings));
	err = dofi_start_thread(&closer, closer_main, ia);
	if (err)
		DOFI_LOG_E("IA %s: an agent closed it, and the thread that frees it can't be "
			   "started, so it leaks: %s; allow more threads (ulimit -u)",
			   ia->name, strerror(-err));
	else
		pthread_detach(closer);
}

static void look_for_agent(struct dofi_ia *ia, void *inside)
{
	*(bool *)inside |= dofi_cno_in_agent(ia);
}

/* This includes agents of other IAs: two agents may close each other's IA. */
static bool in_agent(void)
{
	bool inside = false;

	dofi_ia_list_visit(look_for_agent, &inside);
	return inside;
}

DAT_RETURN dofi_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dofi_ia *ia = DOFI_IA(handle);
	bool by_agent;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DOFI_BAD_ARG(2);
	if (flags == DAT_CLOSE_GRACEFUL_FLAG && in_use(ia))
		return DOFI_BAD_STATE(IA_IN_USE);
	by_agent = in_agent();
	if (!dofi_ia_list_remove(ia))
		return DOFI_BAD_HANDLE(IA);
	dofi_stats_closing(ia);
	stop_transfers(ia);
	if (by_agent)
		tear_down_elsewhere(ia);
	else
		closer_main(ia);
	return DAT_SUCCESS;
}
