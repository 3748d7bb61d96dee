/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection zones and memory regions. */
#ifndef DOFI_MEM_H
#define DOFI_MEM_H

#include "object/ctxtab.h"
#include "object/object.h"

struct fid_mr;

struct dofi_pz {
	struct dofi_obj obj;
	uint16_t number; /* names the zone to peers; unique among the present zones of the IA */
};

/* A registration with the fabric, or none when fid is NULL. */
struct dofi_mr {
	struct fid_mr *fid;
	uint64_t key;     /* fabric key */
	uint64_t address; /* fabric address of the first byte */
};

struct dofi_lmr {
	struct dofi_obj obj; /* users: bound RMRs and outstanding binds */
	struct dofi_pz *pz;
	uint64_t start, length; /* start of the memory */
	uint64_t base;          /* address that programs use for the first byte: start, or 0 */
	bool zero_based;
	DAT_MEM_PRIV_FLAGS privileges; /* always includes local read (PRG-11) */
	struct dofi_mr mr;
	void *desc;            /* for local segments; NULL if the provider needs none */
	uint32_t context;      /* lmr_context; also rmr_context if there are remote rights */
	struct dofi_lock lock; /* guards window */
	/* registration for RMRs with more rights than the LMR; the first of them makes it */
	struct dofi_mr window;
	DAT_MEM_TYPE mem_type;
	/* this and the next two are the arguments of dat_lmr_create */
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN asked_length;
	DAT_MEM_PRIV_FLAGS asked_privileges;
	int cookie_share; /* SHARED_VIRTUAL: share of the cookie (cookie.h), else -1 */
};

struct dofi_rmr {
	struct dofi_obj obj;
	struct dofi_pz *pz;
	bool of_ep;            /* scope: the EP over which the RMR is bound */
	_Atomic uint32_t refs; /* one for the handle and one for each outstanding bind */
	struct dofi_lock lock; /* a leaf; guards the fields below */
	bool freed;
	struct dofi_lmr *lmr; /* of the latest bind, or NULL; counted as a user */
	uint32_t context;     /* of the latest bind, or 0 */
	uint32_t conn;        /* connection of the EP over which it was bound */
	bool zero_based;
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS privileges;
};

/*
 * A bind in the request queue of its EP. When it reaches the head of the queue, peers can use the
 * RMR's new context, and the former one ends. All functions may be called with ep->lock held.
 */
struct dofi_bind {
	struct dofi_rmr *rmr; /* holds a reference */
	struct dofi_lmr *lmr; /* counted as a user; NULL: unbind */
	struct dofi_mr mr;    /* a copy; the segment is in the LMR */
	uint32_t context;     /* reserved; 0: unbind */
	/* of the EP; the caller sets this and the next after dofi_bind_prepare */
	uint32_t conn;
	bool zero_based; /* peers use 0 as the address of the first byte */
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS privileges;
};

#endif
