/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection zones and memory regions. */
#ifndef DOFI_MEM_H
#define DOFI_MEM_H

#include "dto/ctxtab.h"
#include "object/object.h"

struct fid_mr;

struct dofi_pz {
	struct dofi_obj obj;
	uint16_t number; /* names the zone to peers; no other zone of the IA has it now */
};

/* A registration with the fabric, or none when fid is NULL. */
struct dofi_mr {
	struct fid_mr *fid;
	uint64_t key;     /* fabric key */
	uint64_t address; /* fabric address of the first byte */
};

struct dofi_lmr {
	struct dofi_obj obj; /* users: RMRs bound, binds outstanding */
	struct dofi_pz *pz;
	uint64_t start, length; /* of the memory */
	uint64_t base;          /* what programs call the first byte: start, or 0 */
	bool zero_based;
	DAT_MEM_PRIV_FLAGS privileges; /* local read is always among them (PRG-11) */
	struct dofi_mr mr;
	void *desc;            /* for local segments; NULL where the provider wants none */
	uint32_t context;      /* lmr_context; also rmr_context when there are remote rights */
	struct dofi_lock lock; /* a leaf; guards window */
	struct dofi_mr window; /* for RMRs that give more than the LMR; made by the first of them */
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region; /* this and the next two as given */
	DAT_VLEN asked_length;
	DAT_MEM_PRIV_FLAGS asked_privileges;
	int cookie_share; /* SHARED_VIRTUAL: share of the host-wide name (cookie.h), else -1 */
};

struct dofi_rmr {
	struct dofi_obj obj;
	struct dofi_pz *pz;
	bool of_ep;            /* scope: the EP over which it is bound */
	_Atomic uint32_t refs; /* the handle, and each bind that is outstanding */
	struct dofi_lock lock; /* a leaf; guards the rest */
	bool freed;
	struct dofi_lmr *lmr; /* of the latest bind, or NULL; holds a use of it */
	uint32_t context;     /* of the latest bind, or 0 */
	uint32_t conn;        /* that it was bound over */
	bool zero_based;
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS privileges;
};

/*
 * A bind on its way through its EP's request queue. When its turn comes the RMR's new context
 * becomes usable by peers and replaces the former one. All functions may be called with ep->lock
 * held.
 */
struct dofi_bind {
	struct dofi_rmr *rmr; /* holds a reference */
	struct dofi_lmr *lmr; /* holds a use; NULL: unbind */
	struct dofi_mr mr;    /* a copy: the LMR's */
	uint32_t context;     /* reserved; 0: unbind */
	/* of the EP; this and the next are set by the caller after dofi_bind_prepare */
	uint32_t conn;
	bool zero_based; /* peers call the first byte 0 */
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS privileges;
};
/* Checks the arguments of a bind and reserves its context. */
DAT_RETURN dofi_bind_prepare(struct dofi_rmr *rmr, struct dofi_pz *ep_pz,
			     const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges,
			     struct dofi_bind *bind_p);
/*
 * Returns the context that the new one replaced (0: none), which the caller invalidates at the
 * peers.
 */
uint32_t dofi_bind_apply(struct dofi_bind *bind);
/* The bind was flushed: gives the reserved context and the use of the LMR back. */
void dofi_bind_cancel(struct dofi_bind *bind);

/*
 * A peer's Send ends the context: true when it was one of an RMR of that zone, and bound over that
 * connection where its scope is an EP. The peers that know it are to be told.
 */
bool dofi_rmr_invalidate(struct dofi_ia *ia, uint32_t context, const struct dofi_pz *pz,
			 uint32_t conn);
/*
 * The local segment behind an RMR triplet that is to be written: dat_ep_post_rdma_read_to_rmr. An
 * LMR's context serves as well. DAT_SUCCESS or the post's error.
 */
DAT_RETURN dofi_rmr_sink(struct dofi_ia *ia, const struct dofi_pz *pz, uint32_t conn,
			 const DAT_RMR_TRIPLET *rmr, DAT_LMR_TRIPLET *segment_p);

/* The memory behind an address of a context of ours, whose entry is *ctx; NULL when it has gone. */
void *dofi_ctx_memory(struct dofi_ia *ia, const struct dofi_ctx *ctx, uint64_t address);

/* The LMR's registration that gives these remote rights. 0 or a negative libfabric error. */
int dofi_lmr_window(struct dofi_lmr *lmr, DAT_MEM_PRIV_FLAGS privileges, struct dofi_mr *mr_p);

/* No lock may be held; peers are not told. */
void dofi_pz_destroy(struct dofi_pz *pz);
void dofi_lmr_destroy(struct dofi_lmr *lmr);
void dofi_rmr_destroy(struct dofi_rmr *rmr);

DAT_RETURN dofi_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz);
DAT_RETURN dofi_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param);
DAT_RETURN dofi_pz_free(DAT_PZ_HANDLE pz);

/* What dat_lmr_create is in 1.2. */
DAT_RETURN dofi_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			   DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address);
/* The same, with addresses that begin at 0 or as they are. */
DAT_RETURN dofi_lmr_create_based(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
				 DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
				 bool zero_based, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
				 DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
				 DAT_VADDR *registered_address);
DAT_RETURN dofi_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
DAT_RETURN dofi_lmr_free(DAT_LMR_HANDLE lmr);
/* Both sync calls: memory is coherent, so only the arguments are checked. */
DAT_RETURN dofi_lmr_sync(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN num_segments);

DAT_RETURN dofi_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dofi_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dofi_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
DAT_RETURN dofi_rmr_free(DAT_RMR_HANDLE rmr);

#endif
