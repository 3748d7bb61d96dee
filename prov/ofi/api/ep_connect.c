/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ep_connect, dat_ep_dup_connect, dat_ep_disconnect: arguments and states. cm/connect.c,
 * cm/disconnect.c and cm/conn_end.c do the work.
 */
#include "api/ep_connect.h"

#include "cm/conn.h"
#include "cm/conn_end.h"
#include "cm/connect.h"
#include "cm/disconnect.h"
#include "object/ep.h"
#include "object/ia.h"
#include "base/clock.h"
#include "cm/wire.h"
#include "progress/engine.h"

#include <sys/socket.h>

static DAT_RETURN private_ok(DAT_COUNT size, const void *data)
{
	if (size < 0 || size > DOFI_MAX_PRIVATE)
		return DOFI_BAD_ARG(5);
	if (size > 0 && !data)
		return DOFI_BAD_ARG(6);
	return DAT_SUCCESS;
}

static DAT_RETURN address_ok(const struct dofi_ia *ia, const struct sockaddr *remote)
{
	if (remote->sa_family != AF_INET && remote->sa_family != AF_INET6)
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	if (remote->sa_family != ia->addr.ss_family)
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	return DAT_SUCCESS;
}

/* Makes progress for connections that earlier calls of a burst have begun. */
static void enter(struct dofi_ia *ia)
{
	dofi_engine_begin(ia);
	dofi_engine_round(ia, true);
}

/* The arguments have been checked. */
static DAT_RETURN start(struct dofi_ep *ep, const struct sockaddr *remote, uint64_t qual,
			uint64_t deadline, DAT_COUNT private_size, const void *private_data)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	if (ep->state != DAT_EP_STATE_UNCONNECTED)
		return dofi_ep_bad_state(ep->state);
	if (!ep->pz)
		return DOFI_BAD_STATE(EP_NOTREADY);
	if (!ep->conn_evd)
		return DOFI_BAD_STATE(EP_NOTREADY);
	if (dofi_conn_start(ep, remote, qual, deadline, private_data, (uint32_t)private_size))
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			   DAT_TIMEOUT timeout, DAT_COUNT private_size,
			   const DAT_PVOID private_data, DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	uint64_t deadline = dofi_deadline(timeout);
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if (!remote)
		return DOFI_BAD_ARG(2);
	if (!timeout)
		return DOFI_BAD_ARG(4);
	ret = private_ok(private_size, private_data);
	if (ret != DAT_SUCCESS)
		return ret;
	if (qos != DAT_QOS_BEST_EFFORT)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if ((unsigned int)flags & ~DOFI_CONNECT_FLAGS_KNOWN)
		return DOFI_BAD_ARG(8);
	if ((unsigned int)flags & DOFI_CONNECT_FLAGS_REFUSED)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	ret = address_ok(ep->obj.ia, remote);
	if (ret != DAT_SUCCESS)
		return ret;
	enter(ep->obj.ia);
	ret = start(ep, remote, qual, deadline, private_size, private_data);
	dofi_engine_end(ep->obj.ia);
	return ret;
}

DAT_RETURN dofi_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
			       DAT_COUNT private_size, const DAT_PVOID private_data, DAT_QOS qos)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP), *dup = DOFI_OBJ(dup_handle, EP);
	uint64_t deadline = dofi_deadline(timeout);
	DAT_RETURN ret;

	if (!ep || !dup)
		return DOFI_BAD_HANDLE(EP);
	if (ep->obj.ia != dup->obj.ia)
		return DOFI_BAD_ARG(2);
	if (!timeout)
		return DOFI_BAD_ARG(3);
	ret = private_ok(private_size, private_data);
	if (ret != DAT_SUCCESS)
		return ret;
	if (qos != DAT_QOS_BEST_EFFORT)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	enter(ep->obj.ia);
	if (ep->state != DAT_EP_STATE_UNCONNECTED)
		ret = dofi_ep_bad_state(ep->state);
	else if (dup->state != DAT_EP_STATE_CONNECTED)
		ret = dofi_ep_bad_state(dup->state);
	else if (!dup->dialled)
		ret = DOFI_BAD_ARG(2); /* the accepting side has no conn_qual to dial (EP-113) */
	else
		ret = start(ep, (struct sockaddr *)&dup->remote_addr, dup->remote_qual, deadline,
			    private_size, private_data);
	dofi_engine_end(ep->obj.ia);
	return ret;
}

static DAT_RETURN disconnect(struct dofi_ep *ep, bool graceful)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	switch (ep->state) {
	case DAT_EP_STATE_DISCONNECTED:
		return DAT_SUCCESS;
	case DAT_EP_STATE_CONNECTED:
		if (graceful && !dofi_conn_is_ending(ep->conn))
			dofi_conn_disconnect(ep->conn);
		else
			dofi_conn_end_now(ep->conn, DAT_CONNECTION_EVENT_DISCONNECTED,
					  DOFI_REASON_DISCONNECT);
		return DAT_SUCCESS;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		if (!graceful)
			dofi_conn_end_now(ep->conn, DAT_CONNECTION_EVENT_DISCONNECTED,
					  DOFI_REASON_DISCONNECT);
		return DAT_SUCCESS;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_COMPLETION_PENDING:
		dofi_conn_end_now(ep->conn, DAT_CONNECTION_EVENT_DISCONNECTED,
				  DOFI_REASON_DISCONNECT);
		return DAT_SUCCESS;
	default:
		return dofi_ep_bad_state(ep->state);
	}
}

DAT_RETURN dofi_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DOFI_BAD_ARG(2);
	dofi_engine_begin(ep->obj.ia);
	DOFI_COUNT(ep, EP_DISCONNECT, 1);
	ret = disconnect(ep, flags == DAT_CLOSE_GRACEFUL_FLAG);
	dofi_engine_end(ep->obj.ia);
	return ret;
}
