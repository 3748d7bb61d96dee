/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/ext.h"

#include "base/count.h"
#include "dto/ep_attr.h"
#include "object/ia.h"
#include "dto/ud.h"

/* Checks that count.def has the numbers of the public header. */
#define SAME(kind, name)                                                           \
	_Static_assert((int)DOFI_CNT_##kind##_##name == (int)DCNT_##kind##_##name, \
		       "place in count.def");
#define DOFI_IA_COUNTER(name)  SAME(IA, name)
#define DOFI_EP_COUNTER(name)  SAME(EP, name)
#define DOFI_EVD_COUNTER(name) SAME(EVD, name)
#define DOFI_IA_OWN_COUNTER(name)
#define DOFI_EP_OWN_COUNTER(name)
#define DOFI_EVD_OWN_COUNTER(name)
#include "base/count.def"
#include "object/ep.h"
#include "progress/evd.h"
#include "object/ud_ah.h"
#include "api/counters.h"
#include "api/attr.h"
#include "api/ia.h"
#include "cm/ud_ah.h"
#include "dto/post_special.h"

/* The same for ud_ah.h. */
#define SAME_UD(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), "number in ud.h")
SAME_UD(DOFI_EVENT_EXTENDED, DAT_IB_DTO_EVENT);
SAME_UD(DOFI_UD_EVENT_REQUEST, DAT_IB_UD_CONNECTION_REQUEST_EVENT);
SAME_UD(DOFI_UD_EVENT_ESTABLISHED, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);
SAME_UD(DOFI_UD_EVENT_REJECTED, DAT_IB_UD_CONNECTION_REJECT_EVENT);
SAME_UD(DOFI_UD_EVENT_ERROR, DAT_IB_UD_CONNECTION_ERROR_EVENT);
SAME_UD(DOFI_UD_TYPE_REQUEST, DAT_IB_UD_CONNECT_REQUEST);
SAME_UD(DOFI_UD_TYPE_REMOTE_AH, DAT_IB_UD_REMOTE_AH);
SAME_UD(DOFI_UD_TYPE_PASSIVE_AH, DAT_IB_UD_PASSIVE_REMOTE_AH);
SAME_UD(DOFI_UD_TYPE_SEND, DAT_IB_UD_SEND);
SAME_UD(DOFI_UD_TYPE_RECV, DAT_IB_UD_RECV);
SAME_UD(DOFI_UD_TYPE_REJECTED, DAT_IB_UD_CONNECT_REJECT);
SAME_UD(DOFI_UD_TYPE_ERROR, DAT_IB_UD_CONNECT_ERROR);
SAME_UD(DOFI_UD_DTO_SEND, DAT_IB_DTO_SEND_UD);
SAME_UD(DOFI_UD_DTO_RECV, DAT_IB_DTO_RECV_UD);
SAME_UD(DOFI_HANDLE_TYPE_AH, DAT_IB_HANDLE_TYPE_EXT);
SAME_UD(DOFI_SERVICE_TYPE_UD, DAT_IB_SERVICE_TYPE_UD);

/* --- transfers --- */

static DAT_RETURN fetch_and_add(DAT_HANDLE ep, va_list args)
{
	DAT_UINT64 add = va_arg(args, DAT_UINT64);
	DAT_LMR_TRIPLET *local = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	DAT_RMR_TRIPLET *remote = va_arg(args, DAT_RMR_TRIPLET *);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);

	return dofi_ep_post_atomic(ep, DOFI_OP_FETCH_ADD, add, 0, local, cookie, remote, flags);
}

static DAT_RETURN cmp_and_swap(DAT_HANDLE ep, va_list args)
{
	DAT_UINT64 compare = va_arg(args, DAT_UINT64);
	DAT_UINT64 swap = va_arg(args, DAT_UINT64);
	DAT_LMR_TRIPLET *local = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	DAT_RMR_TRIPLET *remote = va_arg(args, DAT_RMR_TRIPLET *);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);

	return dofi_ep_post_atomic(ep, DOFI_OP_CMP_SWAP, swap, compare, local, cookie, remote,
				   flags);
}

static DAT_RETURN write_immediate(DAT_HANDLE ep, va_list args)
{
	DAT_COUNT n = va_arg(args, DAT_COUNT);
	DAT_LMR_TRIPLET *local = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	DAT_RMR_TRIPLET *remote = va_arg(args, DAT_RMR_TRIPLET *);
	DAT_UINT32 immediate = va_arg(args, DAT_UINT32);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);

	return dofi_ep_post_write_immediate(ep, n, local, cookie, remote, immediate, flags);
}

/* --- datagrams --- */

static DAT_RETURN send_ud(DAT_HANDLE ep, va_list args)
{
	DAT_COUNT n = va_arg(args, DAT_COUNT);
	DAT_LMR_TRIPLET *local = va_arg(args, DAT_LMR_TRIPLET *);
	const DAT_IB_ADDR_HANDLE *ah = va_arg(args, DAT_IB_ADDR_HANDLE *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);

	return dofi_ep_post_send_ud(ep, n, local, ah ? ah->ah : NULL, cookie, flags);
}

static DAT_RETURN ud_ah_free(DAT_HANDLE ep, va_list args)
{
	const DAT_IB_ADDR_HANDLE *ah = va_arg(args, DAT_IB_ADDR_HANDLE *);

	return dofi_ud_ah_free(ep, ah ? ah->ah : NULL);
}

/* Callers pass a DAT_CONTEXT or a pointer. Both have the same representation. */
static DAT_RETURN ud_cm_free(DAT_HANDLE ep, va_list args)
{
	DAT_CONTEXT cm = va_arg(args, DAT_CONTEXT);

	return dofi_ud_cm_free(ep, cm.as_ptr);
}

/* For other EPs the arguments are not checked. */
static DAT_RETURN datagrams(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	const struct dofi_ep *ep = DOFI_OBJ(handle, EP);

	if (!ep || !ep->ud)
		return DOFI_BAD_HANDLE(EP);
	if ((unsigned int)op == DAT_IB_UD_SEND_OP)
		return send_ud(handle, args);
	return (unsigned int)op == DAT_IB_UD_AH_FREE_OP ? ud_ah_free(handle, args)
							: ud_cm_free(handle, args);
}

/* --- queries --- */

static DAT_RETURN query_counters(DAT_HANDLE handle, va_list args)
{
	int counter = va_arg(args, int);
	DAT_UINT64 *values = va_arg(args, DAT_UINT64 *);
	int reset = va_arg(args, int);

	return dofi_count_query(handle, counter, values, reset);
}

static DAT_RETURN print_counters(DAT_HANDLE handle, va_list args)
{
	int counter = va_arg(args, int);
	int reset = va_arg(args, int);

	return dofi_count_print(handle, counter, reset);
}

/* Only counters of connections exist, and these always run. */
static DAT_RETURN switch_counters(DAT_HANDLE handle, va_list args)
{
	DAT_IA_COUNTER_TYPE type = va_arg(args, DAT_IA_COUNTER_TYPE);

	if (!DOFI_IA(handle))
		return DOFI_BAD_HANDLE(IA);
	return type == DCNT_IA_CM ? DAT_SUCCESS : DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
}

/* The IA's name comes in place of a handle. */
static DAT_RETURN open_query(const DAT_NAME_PTR name, va_list args)
{
	DAT_HANDLE *handle_p = va_arg(args, DAT_HANDLE *);
	DAT_IA_ATTR_MASK ia_mask = va_arg(args, DAT_IA_ATTR_MASK);
	DAT_IA_ATTR *ia_attr = va_arg(args, DAT_IA_ATTR *);
	DAT_PROVIDER_ATTR_MASK prov_mask = va_arg(args, DAT_PROVIDER_ATTR_MASK);
	DAT_PROVIDER_ATTR *prov_attr = va_arg(args, DAT_PROVIDER_ATTR *);
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (!handle_p)
		return DOFI_BAD_ARG(2);
	if (!ia_attr && !prov_attr)
		return DOFI_BAD_ARG(5);
	ret = dofi_ia_open(name, 1, &async_evd, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dofi_ia_query(ia, NULL, ia_attr ? ia_mask : 0, ia_attr, prov_attr ? prov_mask : 0,
			    prov_attr);
	if (ret == DAT_SUCCESS)
		*handle_p = ia;
	else
		dofi_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

static DAT_RETURN close_query(DAT_HANDLE handle)
{
	return DOFI_IA(handle) ? dofi_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG) : DOFI_BAD_HANDLE(IA);
}

/* --- operations that are not offered --- */

static DAT_RETURN others(DAT_HANDLE handle, DAT_EXTENDED_OP op)
{
	DAT_HANDLE_TYPE type;

	if (!dofi_obj_type(handle, &type))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (op >= DAT_IB_COLLECTIVE_CREATE_MEMBER_OP && op <= DAT_IB_COLLECTIVE_BARRIER_OP)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	return DOFI_ERR(DAT_NOT_IMPLEMENTED, 0);
}

DAT_RETURN dofi_extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	switch ((unsigned int)op) {
	case DAT_IB_FETCH_AND_ADD_OP:
		return fetch_and_add(handle, args);
	case DAT_IB_CMP_AND_SWAP_OP:
		return cmp_and_swap(handle, args);
	case DAT_IB_RDMA_WRITE_IMMED_OP:
		return write_immediate(handle, args);
	case DAT_IB_UD_SEND_OP:
	case DAT_IB_UD_CM_FREE_OP:
	case DAT_IB_UD_AH_FREE_OP:
		return datagrams(handle, op, args);
	case DAT_IB_QUERY_COUNTERS_OP:
		return query_counters(handle, args);
	case DAT_IB_PRINT_COUNTERS_OP:
		return print_counters(handle, args);
	case DAT_IB_START_COUNTERS_OP:
	case DAT_IB_STOP_COUNTERS_OP:
		return switch_counters(handle, args);
	case DAT_IB_OPEN_QUERY_OP:
		return open_query(handle, args);
	case DAT_IB_CLOSE_QUERY_OP:
		return close_query(handle);
	default:
		return others(handle, op);
	}
}
