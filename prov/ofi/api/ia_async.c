/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/ia_async.h"

#include "api/ia_list.h"
#include "cm/ep_life.h"
#include "fabric/error.h"
#include "object/ep.h"
#include "object/ia.h"
#include "progress/evd.h"
#include "progress/evd_streams.h"

#include <stdatomic.h>

DAT_RETURN dofi_ia_async_check(DAT_COUNT qlen, const DAT_EVD_HANDLE *async_evd,
			       struct dofi_evd **evd_p)
{
	struct dofi_evd *evd;

	*evd_p = NULL;
	if (!async_evd)
		return DOFI_BAD_ARG(3);
	if (!*async_evd)
		return qlen > 0 ? DAT_SUCCESS : DOFI_BAD_ARG(2);
	if (*async_evd == DAT_EVD_ASYNC_EXISTS)
		return DAT_SUCCESS;
	evd = DOFI_OBJ(*async_evd, EVD);
	if (!evd || !(evd->flags & DAT_EVD_ASYNC_FLAG))
		return DOFI_BAD_HANDLE(EVD_ASYNC);
	*evd_p = evd;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ia_async_begin(struct dofi_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			       struct dofi_evd *evd)
{
	int ret;

	if (*async_evd == DAT_EVD_ASYNC_EXISTS)
		return DAT_SUCCESS;
	if (!evd) {
		if ((uint32_t)qlen > ia->limits.max_evd_qlen)
			return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
		ret = dofi_evd_new(ia, (uint32_t)qlen, NULL, DAT_EVD_ASYNC_FLAG, &evd);
		if (ret)
			return dofi_error(ret, DAT_RESOURCE_TEVD);
		ia->async_evd_ours = true;
	}
	dofi_evd_attach_other(evd);
	atomic_store(&ia->async_evd, evd);
	*async_evd = evd;
	return DAT_SUCCESS;
}

void dofi_ia_async_end(struct dofi_ia *ia)
{
	struct dofi_evd *evd = atomic_exchange(&ia->async_evd, NULL);

	if (evd)
		dofi_evd_detach_other(evd);
}

/* Returns an EP of `other` whose connection EVD belongs to `ia`, or NULL. */
static struct dofi_ep *find_guest(struct dofi_ia *other, const struct dofi_ia *ia)
{
	struct dofi_ep *found = NULL;

	dofi_lock(&other->obj_lock);
	DOFI_LIST_FOR(node, &other->objects[DAT_HANDLE_TYPE_EP])
	{
		struct dofi_ep *ep = DOFI_CONTAINER(node, struct dofi_ep, obj.siblings);

		if (ep->conn_evd && ep->conn_evd->obj.ia == ia)
			found = ep;
	}
	dofi_unlock(&other->obj_lock);
	return found;
}

/*
 * Another IA may report asynchronous errors or connection events to EVDs of this one, which is not
 * in the list of IAs any more. The other one's engine is locked meanwhile, so it reports nothing
 * just now.
 */
static void detach_other(struct dofi_ia *other, void *arg)
{
	const struct dofi_ia *ia = arg;
	struct dofi_evd *evd;
	struct dofi_ep *ep;

	dofi_lock(&other->engine.lock);
	evd = atomic_load(&other->async_evd);
	if (evd && evd->obj.ia == ia)
		dofi_ia_async_end(other);
	while ((ep = find_guest(other, ia)))
		dofi_ep_detach_evd_of(ep, ia);
	dofi_unlock(&other->engine.lock);
}

void dofi_ia_async_detach_others(struct dofi_ia *ia)
{
	dofi_ia_list_visit(detach_other, ia);
}
