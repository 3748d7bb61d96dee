/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/cno.h"

#include "fabric/error.h"
#include "object/ia.h"
#include "progress/agent.h"
#include "progress/cno.h"

#include <errno.h>
#include <sys/eventfd.h>

static bool agent_ok(const DAT_OS_WAIT_PROXY_AGENT *agent)
{
	return agent->proxy_agent_func || !agent->instance_data;
}

DAT_RETURN dofi_cno_new(DAT_IA_HANDLE ia_handle, const DAT_OS_WAIT_PROXY_AGENT *agent, int *fd_p,
			DAT_CNO_HANDLE *cno_handle)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	struct dofi_cno *cno;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (agent && !agent_ok(agent))
		return DOFI_BAD_ARG(2);
	if (!cno_handle)
		return DOFI_BAD_ARG(3);
	cno = dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_CNO, sizeof(*cno));
	if (!cno)
		return DOFI_NO_MEMORY;
	cno->fd = fd_p ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	if (fd_p && cno->fd < 0) {
		dofi_obj_free(&cno->obj, DAT_HANDLE_TYPE_CNO);
		return dofi_error(-errno, DAT_RESOURCE_DEVICE);
	}
	dofi_lock_init_level(&cno->lock, DOFI_LEVEL_CNO);
	dofi_list_init(&cno->agent_link);
	dofi_list_init(&cno->notified);
	if (agent)
		cno->agent = *agent;
	if (fd_p || cno->agent.proxy_agent_func)
		dofi_agent_watch(cno);
	dofi_obj_publish(&cno->obj, DAT_HANDLE_TYPE_CNO);
	if (fd_p)
		*fd_p = cno->fd;
	*cno_handle = cno;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno)
{
	return dofi_cno_new(ia, &agent, NULL, cno);
}

DAT_RETURN dofi_cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dofi_cno *cno = DOFI_OBJ(handle, CNO);

	if (!cno)
		return DOFI_BAD_HANDLE(CNO);
	if (!agent_ok(&agent))
		return DOFI_BAD_ARG(2);
	/* A trigger before this call belongs to the former agent, which may free the CNO. */
	dofi_cno_run_agents(cno->obj.ia);
	if (!dofi_obj_is(cno, DAT_HANDLE_TYPE_CNO))
		return DOFI_BAD_HANDLE(CNO);
	dofi_lock(&cno->lock);
	dofi_agent_set(cno, agent);
	dofi_unlock(&cno->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cno_free(DAT_CNO_HANDLE handle)
{
	struct dofi_cno *cno = DOFI_OBJ(handle, CNO);
	struct dofi_ia *ia;
	bool waited;

	if (!cno)
		return DOFI_BAD_HANDLE(CNO);
	ia = cno->obj.ia;
	dofi_lock(&cno->lock);
	waited = cno->waiters > 0;
	dofi_unlock(&cno->lock);
	if (waited || !dofi_obj_retire(&cno->obj, true))
		return DOFI_NOT_RETIRED(cno, CNO, DOFI_BAD_HANDLE(CNO));
	dofi_cno_stay(ia);
	dofi_cno_destroy(cno);
	dofi_cno_go(ia);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	struct dofi_cno *cno = DOFI_OBJ(handle, CNO);

	if (!cno)
		return DOFI_BAD_HANDLE(CNO);
	if (!param)
		return dofi_query_nothing(mask);
	param->ia_handle = dofi_obj_ia_handle(&cno->obj);
	dofi_lock(&cno->lock);
	dofi_cno_param_set_proxy(param, &cno->agent, cno->fd);
	dofi_unlock(&cno->lock);
	return DAT_SUCCESS;
}
