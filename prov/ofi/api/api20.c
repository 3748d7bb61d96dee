/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DAT 2.0: what differs from 1.2, and the calls that 1.2 does not have. */
#include "api/api.h"
#include "api/ext.h"
#include "cm/service_point.h"
#include "object/ep.h"
#include "object/ia.h"
#include "api/cno.h"
#include "progress/cno.h"
#include "progress/evd.h"
#include "api/cr.h"
#include "api/lmr.h"
#include "api/rmr.h"
#include "dto/post.h"
#include "dto/post_special.h"

#include <dat2/dat_ib_extensions.h>
#include <string.h>

#define NOT_SUPPORTED DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0)

/* --- attributes --- */

void dofi_api_attrs(DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR *prov_attr)
{
	if (ia_attr) {
		ia_attr->zb_supported = DAT_TRUE;
		ia_attr->extension_supported = DAT_EXTENSION_IB;
		ia_attr->extension_version = DAT_IB_EXTENSION_VERSION;
	}
	if (prov_attr) {
		prov_attr->rdma_read_lmr_rmr_context_exposure = DAT_FALSE;
		prov_attr->rmr_scope_supported = DAT_RMR_SCOPE_ANY;
		prov_attr->is_signal_safe = DAT_FALSE;
		prov_attr->ha_supported = DAT_FALSE;
		prov_attr->ha_loadbalancing = DAT_HA_LB_NONE;
	}
}

/* --- calls with other arguments than in 1.2 --- */

/* Errors name arguments by their places in 1.2. From `first` on, the place is one later here. */
static DAT_RETURN move_arg(DAT_RETURN ret, DAT_RETURN_SUBTYPE first)
{
	if (DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER)
		return ret;
	return DAT_GET_SUBTYPE(ret) < (DAT_UINT32)first ? ret : ret + 1;
}

static DAT_RETURN lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			     DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			     DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			     DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			     DAT_VADDR *registered_address)
{
	if (!DOFI_IA(ia))
		return DOFI_BAD_HANDLE(IA);
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return DOFI_BAD_ARG(7);
	return move_arg(dofi_lmr_create_based(ia, type, region, length, pz, privileges,
					      va_type == DAT_VA_TYPE_ZB, lmr, lmr_context,
					      rmr_context, registered_length, registered_address),
			DAT_INVALID_ARG7);
}

static DAT_RETURN rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr_handle,
			   const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			   DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	const struct dofi_lmr *lmr = DOFI_OBJ(lmr_handle, LMR);
	DAT_RETURN ret;

	if (!DOFI_OBJ(rmr, RMR))
		return DOFI_BAD_HANDLE(RMR);
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return DOFI_BAD_ARG(5);
	/* An unbind names no LMR. */
	if (triplet && triplet->segment_length && (!lmr || lmr->context != triplet->lmr_context))
		return DOFI_BAD_HANDLE(LMR);
	ret = dofi_rmr_bind_based(rmr, triplet, privileges, va_type == DAT_VA_TYPE_ZB, ep, cookie,
				  flags, context);
	return move_arg(move_arg(ret, DAT_INVALID_ARG4), DAT_INVALID_ARG2);
}

/* --- calls of 2.0 alone --- */

static DAT_RETURN cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *fd, DAT_CNO_HANDLE *cno)
{
	if (!DOFI_IA(ia))
		return DOFI_BAD_HANDLE(IA);
	if (!fd)
		return DOFI_BAD_ARG(2);
	return dofi_cno_new(ia, NULL, fd, cno);
}

static DAT_RETURN ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR provider, DAT_BOOLEAN *answer)
{
	if (!DOFI_IA(ia))
		return DOFI_BAD_HANDLE(IA);
	if (!provider)
		return DOFI_BAD_ARG(2);
	if (!answer)
		return DOFI_BAD_ARG(3);
	*answer = DAT_FALSE;
	return DAT_SUCCESS;
}

/* --- calls of 2.0 that we do not offer: a good handle is told so --- */

static DAT_RETURN csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR addr,
			     DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp)
{
	(void)comm, (void)addr, (void)evd, (void)csp;
	return DOFI_IA(ia) ? NOT_SUPPORTED : DOFI_BAD_HANDLE(IA);
}

static DAT_RETURN csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
	(void)csp, (void)mask, (void)param;
	return DOFI_BAD_HANDLE(CSP);
}

static DAT_RETURN csp_free(DAT_CSP_HANDLE csp)
{
	(void)csp;
	return DOFI_BAD_HANDLE(CSP);
}

static DAT_RETURN ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote,
				    DAT_TIMEOUT timeout, DAT_COUNT private_size,
				    const DAT_PVOID private_data)
{
	(void)remote, (void)timeout, (void)private_size, (void)private_data;
	return DOFI_OBJ(ep, EP) ? NOT_SUPPORTED : DOFI_BAD_HANDLE(EP);
}

/* --- calls of 2.0 with another order of arguments --- */

static DAT_RETURN ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
					       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					       DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context)
{
	if (!invalidate)
		return dofi_ep_post_send(ep, n, iov, cookie, flags);
	return dofi_ep_post_send_invalidate(ep, n, iov, cookie, flags, context);
}

const DAT_PROVIDER dofi_provider = {
	DOFI_COMMON_SLOTS,
	.cr_reject_func = dofi_cr_reject,
	.lmr_create_func = lmr_create,
	.rmr_bind_func = rmr_bind,
	.csp_create_func = csp_create,
	.csp_query_func = csp_query,
	.csp_free_func = csp_free,
	.ep_common_connect_func = ep_common_connect,
	.rmr_create_for_ep_func = dofi_rmr_create_for_ep,
	.ep_post_send_with_invalidate_func = ep_post_send_with_invalidate,
	.ep_post_rdma_read_to_rmr_func = dofi_ep_post_read_to_rmr,
	.cno_fd_create_func = cno_fd_create,
	.cno_trigger_func = dofi_cno_trigger,
	.ia_ha_related_func = ia_ha_related,
	.handle_extendedop_func = dofi_extended_op,
};
