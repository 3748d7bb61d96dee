/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "object/ctxtab.h"

#include "object/ia.h"
#include "object/mem.h"
#include "object/mr.h"

#include <endian.h>
#include <errno.h>
#include <rdma/fi_domain.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

/* A freed entry is used again after this many others were freed. */
#define RESTING 1024u

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/*
 * Check word over the words of an entry as they are in memory. An entry that was read while it
 * changed does not match.
 */
static uint64_t check_word(const struct dofi_ctx_wire *wire)
{
	uint64_t hash = mix(DOFI_CTXTAB_ENTRIES, wire->key);

	hash = mix(hash, wire->address);
	hash = mix(hash, wire->base);
	hash = mix(hash, wire->length);
	return mix(hash, (uint64_t)wire->context << 32 | wire->rights);
}

bool dofi_ctx_decode(const struct dofi_ctx_wire *wire, uint32_t context, struct dofi_ctx *ctx_p)
{
	uint32_t rights = be32toh(wire->rights);

	if (be32toh(wire->context) != context || wire->check != check_word(wire))
		return false;
	*ctx_p = (struct dofi_ctx){
		.key = be64toh(wire->key),
		.address = be64toh(wire->address),
		.base = be64toh(wire->base),
		.length = be64toh(wire->length),
		.context = context,
		.privileges = (uint16_t)(rights >> 16),
		.pz = (uint16_t)rights,
	};
	return true;
}

struct dofi_ctx_wire dofi_ctx_encode(const struct dofi_ctx *ctx)
{
	struct dofi_ctx_wire wire = {
		.key = htobe64(ctx->key),
		.address = htobe64(ctx->address),
		.base = htobe64(ctx->base),
		.length = htobe64(ctx->length),
		.context = htobe32(ctx->context),
		.rights = htobe32((uint32_t)ctx->privileges << 16 | ctx->pz),
	};

	wire.check = check_word(&wire);
	return wire;
}

/* --- life cycle --- */

static void *map_zeroes(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

#define WIRE_SIZE  (DOFI_CTXTAB_ENTRIES * sizeof(struct dofi_ctx_wire))
#define LOCAL_SIZE (DOFI_CTXTAB_ENTRIES * sizeof(struct dofi_ctx_local))

int dofi_ctxtab_init(struct dofi_ia *ia)
{
	struct dofi_ctxtab *tab = &ia->ctxtab;
	void *wire;
	int ret;

	*tab = (struct dofi_ctxtab){.entries = DOFI_CTXTAB_ENTRIES};
	tab->local = map_zeroes(LOCAL_SIZE);
	if (!tab->local)
		return -ENOMEM;
	/*
	 * Starts generations at a random value, so that contexts of an earlier IA at this address
	 * are not valid here.
	 */
	if (getrandom(&tab->first_generation, sizeof(tab->first_generation), 0) < 0) {
		ret = -errno;
		goto err_unmap;
	}
	ret = dofi_mr_map(ia, WIRE_SIZE, 0, DAT_MEM_PRIV_REMOTE_READ_FLAG, &wire, &tab->mr,
			  &tab->key, &tab->address);
	if (ret)
		goto err_unmap;
	tab->wire = wire;
	dofi_lock_init_level(&tab->lock, DOFI_LEVEL_LEAF);
	return 0;

err_unmap:
	munmap(tab->local, LOCAL_SIZE);
	return ret;
}

void dofi_ctxtab_fini(struct dofi_ia *ia)
{
	struct dofi_ctxtab *tab = &ia->ctxtab;

	dofi_mr_abandon(ia, tab->mr, tab->wire, WIRE_SIZE);
	tab->wire = NULL;
	munmap(tab->local, LOCAL_SIZE);
	tab->local = NULL;
	dofi_lock_fini(&tab->lock);
}

/* --- entries --- */

/* Prefers an index that was never used, until enough freed ones wait. */
static bool take_index(struct dofi_ctxtab *tab, uint32_t *index_p)
{
	dofi_assert_held(&tab->lock);
	if (tab->resting <= RESTING && tab->fresh < tab->entries) {
		*index_p = tab->fresh++;
		tab->local[*index_p].generation = tab->first_generation;
		return true;
	}
	if (!tab->resting)
		return false;
	*index_p = tab->free_head;
	tab->free_head = tab->local[*index_p].next_free;
	tab->resting--;
	return true;
}

int dofi_ctxtab_reserve(struct dofi_ctxtab *tab, struct dofi_lmr *lmr, uint32_t *context_p)
{
	struct dofi_ctx_local *local;
	uint32_t index;

	dofi_lock(&tab->lock);
	if (!take_index(tab, &index)) {
		dofi_unlock(&tab->lock);
		return -ENOSPC;
	}
	local = &tab->local[index];
	if (!++local->generation)
		local->generation = 1;
	local->lmr = lmr;
	local->subscribed = false;
	local->context = (uint32_t)local->generation << 16 | index;
	*context_p = local->context;
	tab->used++;
	dofi_unlock(&tab->lock);
	return 0;
}

/*
 * Peers read by RDMA at any time. The entry has had no context since its last release, so they
 * refuse it until the last store. If a NIC reads the words in another order, the check word does
 * not match.
 */
void dofi_ctxtab_expose(struct dofi_ctxtab *tab, const struct dofi_ctx *ctx)
{
	struct dofi_ctx_wire *wire = &tab->wire[DOFI_CTX_INDEX(ctx->context)];
	struct dofi_ctx_wire next = dofi_ctx_encode(ctx);

	assert(!wire->context);
	wire->key = next.key;
	wire->address = next.address;
	wire->base = next.base;
	wire->length = next.length;
	wire->rights = next.rights;
	wire->check = next.check;
	__atomic_store_n(&wire->context, next.context, __ATOMIC_RELEASE);
}

void dofi_ctxtab_set_rmr(struct dofi_ctxtab *tab, uint32_t context, struct dofi_rmr *rmr)
{
	dofi_lock(&tab->lock);
	tab->local[DOFI_CTX_INDEX(context)].rmr = rmr;
	dofi_unlock(&tab->lock);
}

struct dofi_rmr *dofi_ctxtab_hold_rmr(struct dofi_ctxtab *tab, uint32_t context,
				      void (*hold)(struct dofi_rmr *rmr))
{
	const struct dofi_ctx_local *local = &tab->local[DOFI_CTX_INDEX(context)];
	struct dofi_rmr *rmr;

	dofi_lock(&tab->lock);
	rmr = context && local->context == context ? local->rmr : NULL;
	if (rmr)
		hold(rmr);
	dofi_unlock(&tab->lock);
	return rmr;
}

bool dofi_ctxtab_subscribe(struct dofi_ctxtab *tab, uint32_t context)
{
	struct dofi_ctx_local *local = &tab->local[DOFI_CTX_INDEX(context)];
	bool valid;

	dofi_lock(&tab->lock);
	valid = context && local->context == context;
	if (valid)
		local->subscribed = true;
	dofi_unlock(&tab->lock);
	return valid;
}

bool dofi_ctxtab_release(struct dofi_ctxtab *tab, uint32_t context)
{
	uint32_t index = DOFI_CTX_INDEX(context);
	struct dofi_ctx_local *local = &tab->local[index];
	bool subscribed;

	dofi_lock(&tab->lock);
	assert(local->context == context);
	__atomic_store_n(&tab->wire[index].context, 0, __ATOMIC_RELEASE);
	local->context = 0;
	subscribed = local->subscribed;
	local->lmr = NULL;
	local->rmr = NULL;
	if (tab->resting++)
		tab->local[tab->free_tail].next_free = (uint16_t)index;
	else
		tab->free_head = (uint16_t)index;
	tab->free_tail = (uint16_t)index;
	tab->used--;
	dofi_unlock(&tab->lock);
	return subscribed;
}
