/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/lmr.h"

#include "object/mem.h"

#include "cm/channel.h"
#include "progress/agent.h"
#include "object/ia.h"
#include "object/ctxtab.h"
#include "dto/lmr.h"
#include "cm/cm.h"

#include <rdma/fi_domain.h>
#include <string.h>

/* --- the region; registration caches come here often, so only cheap system calls --- */

/* --- life cycle --- */

/* Checks all arguments except the region. */
static DAT_RETURN check_create(const struct dofi_ia *ia, DAT_PZ_HANDLE handle,
			       DAT_MEM_PRIV_FLAGS privileges, const DAT_LMR_HANDLE *lmr_handle)
{
	const struct dofi_pz *pz = DOFI_OBJ(handle, PZ);

	if (!pz || pz->obj.ia != ia)
		return DOFI_BAD_HANDLE(PZ);
	if (!privileges || ((unsigned int)privileges & ~DOFI_MEM_PRIV_KNOWN))
		return DOFI_BAD_ARG(6);
	return lmr_handle ? DAT_SUCCESS : DOFI_BAD_ARG(7);
}

DAT_RETURN dofi_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			   DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address)
{
	return dofi_lmr_create_based(ia, type, region, length, pz, privileges, false, lmr,
				     lmr_context, rmr_context, registered_length,
				     registered_address);
}

DAT_RETURN dofi_lmr_create_based(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE type,
				 DAT_REGION_DESCRIPTION region, DAT_VLEN length,
				 DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
				 bool zero_based, DAT_LMR_HANDLE *lmr_handle,
				 DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
				 DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	struct dofi_lmr *lmr;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	ret = check_create(ia, pz_handle, privileges, lmr_handle);
	if (ret != DAT_SUCCESS)
		return ret;
	lmr = dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_LMR, sizeof(*lmr));
	if (!lmr)
		return DOFI_NO_REGION;
	lmr->pz = pz_handle;
	lmr->mem_type = type;
	lmr->region = region;
	lmr->asked_length = length;
	lmr->asked_privileges = privileges;
	lmr->zero_based = zero_based;
	ret = dofi_lmr_open(lmr);
	if (ret != DAT_SUCCESS) {
		dofi_obj_free(&lmr->obj, DAT_HANDLE_TYPE_LMR);
		return ret;
	}

	*lmr_handle = lmr;
	if (lmr_context)
		*lmr_context = lmr->context;
	if (rmr_context)
		*rmr_context = dofi_lmr_rmr_context(lmr);
	if (registered_length)
		*registered_length = lmr->length;
	if (registered_address)
		*registered_address = lmr->base;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_lmr_free(DAT_LMR_HANDLE handle)
{
	struct dofi_lmr *lmr = DOFI_OBJ(handle, LMR);
	DAT_RMR_CONTEXT exposed;
	struct dofi_ia *ia;
	bool announced;

	if (!lmr)
		return DOFI_BAD_HANDLE(LMR);
	ia = lmr->obj.ia;
	if (!dofi_obj_retire(&lmr->obj, true))
		return DOFI_NOT_RETIRED(lmr, LMR, DOFI_BAD_HANDLE(LMR));
	dofi_cno_stay(ia);
	exposed = dofi_lmr_rmr_context(lmr);
	announced = dofi_lmr_release_context(lmr);
	/*
	 * Asks the peers before the key ends: the connection of a peer that still used it would
	 * break without a clear reason. The same holds for the key that RMRs gave them.
	 */
	if (exposed || lmr->window.fid)
		dofi_chan_invalidate(ia, exposed, announced);
	dofi_lmr_destroy(lmr);
	dofi_cno_go(ia);
	return DAT_SUCCESS;
}

/* --- properties --- */

DAT_RETURN dofi_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	const struct dofi_lmr *lmr = DOFI_OBJ(handle, LMR);

	if (!lmr)
		return DOFI_BAD_HANDLE(LMR);
	if (!param)
		return dofi_query_nothing(mask);
	param->ia_handle = dofi_obj_ia_handle(&lmr->obj);
	param->mem_type = lmr->mem_type;
	param->region_desc = lmr->region;
	param->length = lmr->asked_length;
	param->pz_handle = lmr->pz;
	param->mem_priv = lmr->asked_privileges;
	param->lmr_context = lmr->context;
	param->rmr_context = dofi_lmr_rmr_context(lmr);
	param->registered_size = lmr->length;
	param->registered_address = lmr->base;
	dofi_lmr_param_set_type(param, lmr->zero_based);
	return DAT_SUCCESS;
}

static bool is_within_lmr(const struct dofi_ctxtab *tab, const DAT_LMR_TRIPLET *segment)
{
	const struct dofi_lmr *lmr = dofi_ctxtab_lmr(tab, segment->lmr_context);

	return lmr && segment->virtual_address >= lmr->base &&
	       segment->segment_length <= lmr->length &&
	       segment->virtual_address - lmr->base <= lmr->length - segment->segment_length;
}

DAT_RETURN dofi_lmr_sync(DAT_IA_HANDLE handle, const DAT_LMR_TRIPLET *segments,
			 DAT_VLEN num_segments)
{
	const struct dofi_ia *ia = DOFI_IA(handle);

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (!segments != !num_segments)
		return segments ? DOFI_BAD_ARG(3) : DOFI_BAD_ARG(2);
	for (DAT_VLEN i = 0; i < num_segments; i++)
		if (segments[i].segment_length && !is_within_lmr(&ia->ctxtab, &segments[i]))
			return DOFI_BAD_ARG(2);
	return DAT_SUCCESS;
}
