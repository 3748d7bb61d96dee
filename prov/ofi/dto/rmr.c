/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/rmr.h"

#include "object/ctxtab.h"
#include "object/ia.h"
#include "dto/lmr.h"

static void hold(struct dofi_rmr *rmr)
{
	atomic_fetch_add(&rmr->refs, 1);
}

static void put(struct dofi_rmr *rmr)
{
	if (atomic_fetch_sub(&rmr->refs, 1) != 1)
		return;
	dofi_lock_fini(&rmr->lock);
	dofi_obj_free(&rmr->obj, DAT_HANDLE_TYPE_RMR);
}

/* Releases what a bind has reserved: the context and the use of the LMR. */
static void release(struct dofi_ia *ia, uint32_t context, struct dofi_lmr *lmr)
{
	if (context)
		dofi_ctxtab_release(&ia->ctxtab, context);
	dofi_obj_unuse(lmr);
}

uint32_t dofi_rmr_unbind(struct dofi_rmr *rmr)
{
	struct dofi_lmr *lmr;
	uint32_t context;

	dofi_lock(&rmr->lock);
	context = rmr->context;
	lmr = rmr->lmr;
	rmr->context = 0;
	rmr->lmr = NULL;
	rmr->freed = true;
	dofi_unlock(&rmr->lock);
	release(rmr->obj.ia, context, lmr);
	return context;
}

void dofi_rmr_destroy(struct dofi_rmr *rmr)
{
	dofi_rmr_unbind(rmr);
	dofi_obj_unuse(rmr->pz);
	put(rmr);
}

/* Whether the bind may give peers access to this part of the LMR. */
static DAT_RETURN check_bind(const struct dofi_rmr *rmr, const struct dofi_lmr *lmr,
			     const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges)
{
	uint64_t address = triplet->virtual_address, length = triplet->segment_length;

	if (!lmr)
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	if (lmr->pz != rmr->pz)
		return DOFI_ERR(DAT_PROTECTION_VIOLATION, 0);
	if (address < lmr->base || length > lmr->length ||
	    address - lmr->base > lmr->length - length)
		return DOFI_BAD_ARG(2);
	if (((unsigned int)privileges &
	     (DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DOFI_MEM_PRIV_REMOTE_ATOMIC)) &&
	    !(lmr->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_bind_prepare(struct dofi_rmr *rmr, struct dofi_pz *ep_pz,
			     const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges,
			     struct dofi_bind *bind_p)
{
	struct dofi_bind bind = {.rmr = rmr, .triplet = *triplet, .privileges = privileges};
	struct dofi_ia *ia = rmr->obj.ia;
	DAT_RETURN ret;
	int err;

	if ((unsigned int)privileges & ~DOFI_MEM_PRIV_KNOWN)
		return DOFI_BAD_ARG(3);
	if (rmr->pz != ep_pz)
		return DOFI_ERR(DAT_PROTECTION_VIOLATION, 0);
	if (triplet->segment_length) {
		bind.lmr = dofi_ctxtab_lmr(&ia->ctxtab, triplet->lmr_context);
		ret = check_bind(rmr, bind.lmr, triplet, privileges);
		if (ret != DAT_SUCCESS)
			return ret;
		err = dofi_lmr_window(bind.lmr, privileges, &bind.mr);
		if (!err)
			err = dofi_ctxtab_reserve(&ia->ctxtab, NULL, &bind.context);
		if (err)
			return dofi_lmr_error(err);
	}
	dofi_obj_use(bind.lmr);
	hold(rmr);
	*bind_p = bind;
	return DAT_SUCCESS;
}

static void expose(const struct dofi_bind *bind)
{
	uint64_t offset = bind->triplet.virtual_address - bind->lmr->base;
	const struct dofi_ctx ctx = {
		.key = bind->mr.key,
		.address = bind->mr.address + offset,
		.base = bind->zero_based ? 0 : bind->triplet.virtual_address,
		.length = bind->triplet.segment_length,
		.context = bind->context,
		/* the LMR's key remains when the context ends, so peers have to be told */
		.privileges =
			(uint16_t)(((unsigned int)bind->privileges & DOFI_MEM_PRIV_REMOTE) |
				   DOFI_CTX_ANNOUNCED | (bind->rmr->of_ep ? DOFI_CTX_EP_SCOPE : 0)),
		.pz = (uint16_t)(bind->rmr->of_ep ? bind->conn : bind->rmr->pz->number),
	};

	dofi_ctxtab_expose(&bind->rmr->obj.ia->ctxtab, &ctx);
}

uint32_t dofi_bind_apply(struct dofi_bind *bind)
{
	struct dofi_rmr *rmr = bind->rmr;
	struct dofi_lmr *former_lmr;
	uint32_t former;

	if (bind->context)
		dofi_ctxtab_set_rmr(&rmr->obj.ia->ctxtab, bind->context, rmr);
	dofi_lock(&rmr->lock);
	if (rmr->freed) {
		dofi_unlock(&rmr->lock);
		dofi_bind_cancel(bind);
		return 0;
	}
	/* Under the lock: peers see the context from here on, and the RMR has to match it. */
	if (bind->context)
		expose(bind);
	former = rmr->context;
	former_lmr = rmr->lmr;
	rmr->context = bind->context;
	rmr->conn = bind->conn;
	rmr->zero_based = bind->zero_based;
	rmr->lmr = bind->lmr;
	rmr->triplet = bind->triplet;
	rmr->privileges = bind->privileges;
	dofi_unlock(&rmr->lock);
	release(rmr->obj.ia, former, former_lmr);
	put(rmr);
	return former;
}

void dofi_bind_cancel(struct dofi_bind *bind)
{
	release(bind->rmr->obj.ia, bind->context, bind->lmr);
	put(bind->rmr);
}

static bool is_reachable(const struct dofi_rmr *rmr, uint32_t context, const struct dofi_pz *pz,
			 uint32_t conn)
{
	return rmr->context == context && rmr->pz == pz && (!rmr->of_ep || rmr->conn == conn);
}

bool dofi_rmr_invalidate(struct dofi_ia *ia, uint32_t context, const struct dofi_pz *pz,
			 uint32_t conn)
{
	struct dofi_rmr *rmr = dofi_ctxtab_hold_rmr(&ia->ctxtab, context, hold);
	struct dofi_lmr *lmr = NULL;
	bool ours;

	if (!rmr)
		return false;
	dofi_lock(&rmr->lock);
	ours = is_reachable(rmr, context, pz, conn);
	if (ours) {
		lmr = rmr->lmr;
		rmr->context = 0;
		rmr->lmr = NULL;
	}
	dofi_unlock(&rmr->lock);
	if (ours)
		release(ia, context, lmr);
	put(rmr);
	return ours;
}

/*
 * Translates an address of a valid context to a triplet of the LMR behind it, without a length.
 * Context 0 if there is none.
 */
static DAT_LMR_TRIPLET behind(struct dofi_ia *ia, const struct dofi_ctx *ctx, uint64_t address)
{
	DAT_LMR_TRIPLET place = {.lmr_context = ctx->context, .virtual_address = address};
	struct dofi_rmr *rmr;

	if (dofi_ctxtab_lmr(&ia->ctxtab, ctx->context))
		return place;
	place = (DAT_LMR_TRIPLET){0};
	rmr = dofi_ctxtab_hold_rmr(&ia->ctxtab, ctx->context, hold);
	if (!rmr)
		return place;
	dofi_lock(&rmr->lock);
	if (rmr->context == ctx->context) {
		place.lmr_context = rmr->triplet.lmr_context;
		place.virtual_address = rmr->triplet.virtual_address + (address - ctx->base);
	}
	dofi_unlock(&rmr->lock);
	put(rmr);
	return place;
}

void *dofi_ctx_memory(struct dofi_ia *ia, const struct dofi_ctx *ctx, uint64_t address)
{
	DAT_LMR_TRIPLET place = behind(ia, ctx, address);
	const struct dofi_lmr *lmr =
		place.lmr_context ? dofi_ctxtab_lmr(&ia->ctxtab, place.lmr_context) : NULL;

	return lmr ? (void *)(uintptr_t)(lmr->start + (place.virtual_address - lmr->base)) : NULL;
}

DAT_RETURN dofi_rmr_sink(struct dofi_ia *ia, const struct dofi_pz *pz, uint32_t conn,
			 const DAT_RMR_TRIPLET *rmr, DAT_LMR_TRIPLET *segment_p)
{
	uint64_t address = DOFI_RMR_ADDR(rmr), length = rmr->segment_length;
	const struct dofi_ctx_wire *entry = &ia->ctxtab.wire[DOFI_CTX_INDEX(rmr->rmr_context)];
	struct dofi_ctx ctx;

	if (!rmr->rmr_context || !dofi_ctx_decode(entry, rmr->rmr_context, &ctx))
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	if (ctx.pz != dofi_ctx_zone(&ctx, pz->number, conn))
		return DOFI_ERR(DAT_PROTECTION_VIOLATION, 0);
	if (!(ctx.privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	if (address < ctx.base || length > ctx.length || address - ctx.base > ctx.length - length)
		return DOFI_BAD_ARG(2);
	*segment_p = behind(ia, &ctx, address);
	segment_p->segment_length = (__typeof__(segment_p->segment_length))length;
	return segment_p->lmr_context ? DAT_SUCCESS : DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
}
