/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/rmr.h"

#include "object/mem.h"

#include "cm/channel.h"
#include "progress/agent.h"
#include "object/ia.h"
#include "object/ctxtab.h"
#include "dto/rmr.h"
#include "cm/cm.h"

/* --- life cycle --- */

static DAT_RETURN create(DAT_PZ_HANDLE pz_handle, bool of_ep, DAT_RMR_HANDLE *rmr_handle)
{
	struct dofi_pz *pz = DOFI_OBJ(pz_handle, PZ);
	struct dofi_rmr *rmr;

	if (!pz)
		return DOFI_BAD_HANDLE(PZ);
	if (!rmr_handle)
		return DOFI_BAD_ARG(2);
	rmr = dofi_obj_alloc(pz->obj.ia, pz->obj.ia->obj.provider, DAT_HANDLE_TYPE_RMR,
			     sizeof(*rmr));
	if (!rmr)
		return DOFI_NO_REGION;
	rmr->pz = pz;
	rmr->of_ep = of_ep;
	atomic_store(&rmr->refs, 1);
	dofi_lock_init_level(&rmr->lock, DOFI_LEVEL_LEAF);
	dofi_obj_use(pz);
	dofi_obj_publish(&rmr->obj, DAT_HANDLE_TYPE_RMR);
	*rmr_handle = rmr;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return create(pz, false, rmr);
}

DAT_RETURN dofi_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return create(pz, true, rmr);
}

DAT_RETURN dofi_rmr_free(DAT_RMR_HANDLE handle)
{
	struct dofi_rmr *rmr = DOFI_OBJ(handle, RMR);
	struct dofi_ia *ia;

	if (!rmr || !dofi_obj_retire(&rmr->obj, false))
		return DOFI_BAD_HANDLE(RMR);
	ia = rmr->obj.ia;
	dofi_cno_stay(ia);
	/* Without a context, too: its last bind may have been flushed before the peers answered. */
	dofi_chan_invalidate(ia, dofi_rmr_unbind(rmr), true);
	dofi_rmr_destroy(rmr);
	dofi_cno_go(ia);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	struct dofi_rmr *rmr = DOFI_OBJ(handle, RMR);
	bool zero_based;

	if (!rmr)
		return DOFI_BAD_HANDLE(RMR);
	if (!param)
		return dofi_query_nothing(mask);
	param->ia_handle = dofi_obj_ia_handle(&rmr->obj);
	param->pz_handle = rmr->pz;
	dofi_lock(&rmr->lock);
	param->lmr_triplet = rmr->triplet;
	param->mem_priv = rmr->privileges;
	param->rmr_context = rmr->context;
	zero_based = rmr->zero_based;
	dofi_unlock(&rmr->lock);
	dofi_rmr_param_set_type(param, rmr->of_ep, zero_based);
	return DAT_SUCCESS;
}

/* --- binds --- */

/* --- by a peer's Send, and as the destination of a read --- */
