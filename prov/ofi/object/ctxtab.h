/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Context table: every LMR and every bound RMR of an IA has an entry, and its 32-bit context is
 * index and generation. The table lies in memory that peers may read by RDMA: an initiator resolves
 * an rmr_context once by reading the entry, then checks bounds, rights and protection zone itself.
 * Entries are in network byte order.
 */
#ifndef DOFI_CTXTAB_H
#define DOFI_CTXTAB_H

#include "base/list.h"
#include "base/lock.h"

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;
struct dofi_lmr;
struct dofi_rmr;
struct fid_mr;

/* What a peer reads. dofi_ctx_decode refuses an entry that is free or was read while it changed. */
struct dofi_ctx_wire {
	uint64_t key;     /* fabric key */
	uint64_t address; /* of the first byte, as the fabric knows it: virtual address or offset */
	uint64_t base;    /* the same as DAT programs know it: its virtual address */
	uint64_t length;
	uint32_t context; /* 0: free */
	uint32_t rights;  /* DAT_MEM_PRIV_REMOTE_* bits << 16 | low 16 bits of the PZ's number */
	uint64_t check;
};

/* Beside the rights of DAT: */
/* pz is the low half of a connection's id: nobody else may use it */
#define DOFI_CTX_EP_SCOPE   0x4000u
#define DOFI_CTX_CTRL_SLOTS 0x8000u /* no memory of the consumer's */

/* The same, decoded. */
struct dofi_ctx {
	uint64_t key, address, base, length;
	uint32_t context;
	uint16_t privileges;
	uint16_t pz;
};

/* Where the fabric finds what DAT programs have at this address. */
static inline uint64_t dofi_ctx_target(const struct dofi_ctx *ctx, uint64_t address)
{
	return address - ctx->base + ctx->address;
}

/* The owner's side of an entry: what local translation needs. */
struct dofi_ctx_local {
	struct dofi_lmr *lmr; /* NULL for RMRs and free entries */
	struct dofi_rmr *rmr; /* NULL for all but RMRs; guarded by lock */
	uint32_t context;     /* 0: free */
	uint16_t generation;
	uint16_t next_free;
};

struct dofi_ctxtab {
	struct dofi_lock lock;
	struct dofi_ctx_wire *wire;
	struct dofi_ctx_local *local;
	uint32_t entries;
	uint32_t used;
	uint32_t fresh;   /* this index and those above were never used */
	uint32_t resting; /* freed ones: a FIFO, so that an index rests before it is used again */
	uint16_t free_head, free_tail;
	uint16_t first_generation;
	struct fid_mr *mr;     /* registration of wire[] for remote reads */
	uint64_t key, address; /* goes into the handshake */
};

#define DOFI_CTXTAB_ENTRIES     65536u
#define DOFI_CTX_INDEX(context) ((context)&0xffffu)

int dofi_ctxtab_init(struct dofi_ia *ia); /* 0 or negative errno; registers the table */
void dofi_ctxtab_fini(struct dofi_ia *ia);

/* Takes an entry and gives it a new context (never 0); not readable by peers yet. 0 or -ENOSPC. */
int dofi_ctxtab_reserve(struct dofi_ctxtab *tab, struct dofi_lmr *lmr, uint32_t *context_p);

/* Lets peers see the entry; ctx->context is one that was reserved. */
void dofi_ctxtab_expose(struct dofi_ctxtab *tab, const struct dofi_ctx *ctx);

/* Ends the context: neither local nor remote use from now on. */
void dofi_ctxtab_release(struct dofi_ctxtab *tab, uint32_t context);

/*
 * LMR of a live local context, else NULL. No lock: an LMR freed at the same time is the consumer's
 * mistake.
 */
static inline struct dofi_lmr *dofi_ctxtab_lmr(const struct dofi_ctxtab *tab, uint32_t context)
{
	const struct dofi_ctx_local *local = &tab->local[DOFI_CTX_INDEX(context)];

	return local->context == context ? local->lmr : NULL;
}

/* What the entry's pz must be for a user of that zone and connection. */
static inline uint16_t dofi_ctx_zone(const struct dofi_ctx *ctx, uint32_t pz, uint32_t conn)
{
	return (uint16_t)(ctx->privileges & DOFI_CTX_EP_SCOPE ? conn : pz);
}

/* Says whose RMR the context is. */
void dofi_ctxtab_set_rmr(struct dofi_ctxtab *tab, uint32_t context, struct dofi_rmr *rmr);
/*
 * Calls hold(rmr) for the RMR of a live context, before it can be freed; NULL when there is none.
 */
struct dofi_rmr *dofi_ctxtab_hold_rmr(struct dofi_ctxtab *tab, uint32_t context,
				      void (*hold)(struct dofi_rmr *rmr));

/* Decodes what was read from a peer's table; false when it isn't the live entry of `context`. */
bool dofi_ctx_decode(const struct dofi_ctx_wire *wire, uint32_t context, struct dofi_ctx *ctx_p);

#endif
