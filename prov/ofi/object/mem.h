/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection zones and memory regions. */
#ifndef DOFI_MEM_H
#define DOFI_MEM_H

#include "object/ctxtab.h"
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

#endif
