/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Context table. Every LMR and every bound RMR of an IA has an entry; its 32-bit context is an
 * index and a generation. The table lies in memory that peers may read by RDMA. An initiator
 * resolves an rmr_context once by reading the entry. Then it checks bounds, rights and protection
 * zone itself. Entries are in network byte order.
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

/*
 * An entry as peers read it. dofi_ctx_decode refuses an entry that is free or was read while it
 * changed.
 */
struct dofi_ctx_wire {
	uint64_t key; /* fabric key */
	/* of the first byte, as the fabric addresses it: a virtual address or an offset */
	uint64_t address;
	uint64_t base; /* of the first byte, as DAT programs address it: its virtual address */
	uint64_t length;
	uint32_t context; /* 0: free */
	uint32_t rights;  /* DAT_MEM_PRIV_REMOTE_* bits << 16 | low 16 bits of the PZ's number */
	uint64_t check;
};

/* Flags beside the rights of DAT: */
/* the owner sends INVALIDATE to all peers when the context ends, not only to subscribers */
#define DOFI_CTX_ANNOUNCED  0x2000u
/* pz is the low half of a connection number: only that connection may use the entry */
#define DOFI_CTX_EP_SCOPE   0x4000u
#define DOFI_CTX_CTRL_SLOTS 0x8000u /* memory of the library, not of the consumer */

/* The same entry, decoded. */
struct dofi_ctx {
	uint64_t key, address, base, length;
	uint32_t context;
	uint16_t privileges;
	uint16_t pz;
};

/* The address by which the fabric accesses what DAT programs have at `address`. */
static inline uint64_t dofi_ctx_target(const struct dofi_ctx *ctx, uint64_t address)
{
	return address - ctx->base + ctx->address;
}

/* The owner's part of an entry, for the translation of local segments. */
struct dofi_ctx_local {
	struct dofi_lmr *lmr; /* NULL for RMRs and free entries */
	struct dofi_rmr *rmr; /* NULL except for RMRs; guarded by lock */
	uint32_t context;     /* 0: free */
	bool subscribed;      /* a peer has subscribed to the end; guarded by lock */
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
	uint32_t resting; /* freed indices: a FIFO, so that each waits before it is used again */
	uint16_t free_head, free_tail;
	uint16_t first_generation;
	struct fid_mr *mr;     /* registration of wire[] for reads by peers */
	uint64_t key, address; /* sent in the handshake */
};

#define DOFI_CTXTAB_ENTRIES     65536u
#define DOFI_CTX_INDEX(context) ((context)&0xffffu)

int dofi_ctxtab_init(struct dofi_ia *ia); /* Registers the table. 0 or a negative errno. */
void dofi_ctxtab_fini(struct dofi_ia *ia);

/*
 * Takes an entry and gives it a new context, which is never 0. Peers cannot read it yet. 0 or
 * -ENOSPC.
 */
int dofi_ctxtab_reserve(struct dofi_ctxtab *tab, struct dofi_lmr *lmr, uint32_t *context_p);

/* Makes the entry visible to peers; ctx->context was reserved before. */
void dofi_ctxtab_expose(struct dofi_ctxtab *tab, const struct dofi_ctx *ctx);

/* A peer wants to know when the context ends. False: it is not valid. */
bool dofi_ctxtab_subscribe(struct dofi_ctxtab *tab, uint32_t context);

/* Ends the context for local and remote use. Returns whether a peer has subscribed to the end. */
bool dofi_ctxtab_release(struct dofi_ctxtab *tab, uint32_t context);

/*
 * The LMR of a valid local context, or NULL. Takes no lock: it is an error of the consumer to free
 * an LMR at the same time.
 */
static inline struct dofi_lmr *dofi_ctxtab_lmr(const struct dofi_ctxtab *tab, uint32_t context)
{
	const struct dofi_ctx_local *local = &tab->local[DOFI_CTX_INDEX(context)];

	return local->context == context ? local->lmr : NULL;
}

/* The value that an entry's pz must have for a user in that zone and on that connection. */
static inline uint16_t dofi_ctx_zone(const struct dofi_ctx *ctx, uint32_t pz, uint32_t conn)
{
	return (uint16_t)(ctx->privileges & DOFI_CTX_EP_SCOPE ? conn : pz);
}

/* Sets the RMR of the context. */
void dofi_ctxtab_set_rmr(struct dofi_ctxtab *tab, uint32_t context, struct dofi_rmr *rmr);
/* Calls hold(rmr) for the RMR of a valid context before it can be freed. NULL if there is none. */
struct dofi_rmr *dofi_ctxtab_hold_rmr(struct dofi_ctxtab *tab, uint32_t context,
				      void (*hold)(struct dofi_rmr *rmr));

/*
 * Decodes an entry that was read from a peer's table. False if it is not the valid entry of
 * `context`.
 */
bool dofi_ctx_decode(const struct dofi_ctx_wire *wire, uint32_t context, struct dofi_ctx *ctx_p);
/* The valid entry of ctx->context. */
struct dofi_ctx_wire dofi_ctx_encode(const struct dofi_ctx *ctx);

#endif
