/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/drain.h"

#include "dto/op_context.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "object/mr.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>

/* Peers that never say goodbye leave one each: the oldest go first. */
#define MAX_WAITING 256u

struct drain {
	struct dofi_list link; /* ia->drains, oldest first */
	struct dofi_ia *ia;
	uint32_t id, received;
	uint32_t left; /* messages to come; 0: the peer has not told yet */
	bool posted;
	uint64_t tag, size;
	void *memory;
	struct fid_mr *mr; /* where the fabric must know memory that it fills */
	struct dofi_own_wr own;
};

static void end(struct drain *drain)
{
	if (!dofi_list_empty(&drain->link)) {
		dofi_list_del(&drain->link);
		drain->ia->ndrains--;
	}
	if (drain->mr)
		dofi_mr_close(drain->ia, drain->mr);
	free(drain->memory);
	free(drain);
}

static struct drain *find(struct dofi_ia *ia, uint32_t id)
{
	DOFI_LIST_FOR(node, &ia->drains)
	{
		struct drain *drain = DOFI_CONTAINER(node, struct drain, link);

		if (drain->id == id)
			return drain;
	}
	return NULL;
}

static void forget_oldest(struct dofi_ia *ia)
{
	DOFI_LIST_FOR_SAFE(node, &ia->drains)
	{
		struct drain *drain = DOFI_CONTAINER(node, struct drain, link);

		if (!drain->left) {
			end(drain);
			return;
		}
	}
}

/* One at a time. */
static void post(struct drain *drain)
{
	void *desc = drain->mr ? fi_mr_desc(drain->mr) : NULL;
	ssize_t ret =
		fi_trecv(drain->ia->shared_ep, drain->memory, drain->size, desc, FI_ADDR_UNSPEC,
			 drain->tag, 0, dofi_context_of(drain->ia, &drain->own.wr));

	drain->posted = !ret;
	if (ret && ret != -FI_EAGAIN)
		end(drain);
}

void dofi_drain_begin(struct dofi_ia *ia, uint32_t id, uint64_t tag, uint32_t received,
		      uint64_t size)
{
	struct drain *drain;

	dofi_assert_held(&ia->engine.lock);
	if (ia->ndrains >= MAX_WAITING)
		forget_oldest(ia);
	drain = calloc(1, sizeof(*drain));
	if (!drain)
		return;
	drain->ia = ia;
	drain->id = id;
	drain->tag = tag;
	drain->received = received;
	drain->size = size;
	drain->own.wr.op = DOFI_OP_DRAIN;
	drain->own.wr.ia = ia;
	dofi_list_add_tail(&ia->drains, &drain->link);
	ia->ndrains++;
}

static bool take_memory(struct drain *drain)
{
	uint64_t key, address;

	if (!drain->size)
		return true;
	drain->memory = malloc(drain->size);
	if (!drain->memory)
		return false;
	return !(drain->ia->info->domain_attr->mr_mode & FI_MR_LOCAL) ||
	       !dofi_mr_register(drain->ia, drain->memory, drain->size,
				 DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &drain->mr, &key, &address);
}

void dofi_drain_settle(struct dofi_ia *ia, uint32_t id, uint32_t sent)
{
	struct drain *drain = find(ia, id);

	dofi_assert_held(&ia->engine.lock);
	if (!drain || drain->left)
		return;
	drain->left = sent - drain->received;
	/* More than could ever be under way is a lie. */
	if (!drain->left || drain->left > INT32_MAX) {
		end(drain);
		return;
	}
	if (take_memory(drain))
		post(drain);
	else
		end(drain);
}

void dofi_drain_done(struct dofi_wr *wr)
{
	struct drain *drain = DOFI_CONTAINER(wr, struct drain, own.wr);

	dofi_assert_held(&drain->ia->engine.lock);
	drain->posted = false;
	if (--drain->left)
		post(drain);
	else
		end(drain);
}

void dofi_drain_retry(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	DOFI_LIST_FOR_SAFE(node, &ia->drains)
	{
		struct drain *drain = DOFI_CONTAINER(node, struct drain, link);

		if (drain->left && !drain->posted)
			post(drain);
	}
}

void dofi_drain_free_all(struct dofi_ia *ia)
{
	DOFI_LIST_FOR_SAFE(node, &ia->drains)
	end(DOFI_CONTAINER(node, struct drain, link));
}
