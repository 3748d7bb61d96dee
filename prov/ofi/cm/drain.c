/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/drain.h"

#include "base/log.h"
#include "cm/conn.h"
#include "dto/op_context.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "object/mr.h"
#include "base/clock.h"
#include "progress/timer.h"
#include "progress/engine.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>

/*
 * Peers that never say goodbye leave one each, and so do those that owe messages which never come:
 * of both kinds there are max_drains at most, and the oldest go first.
 */

/*
 * A peer that owes a message and is alive sends it at once. One that is frozen may take longer, and
 * on some fabrics the message stands before others then.
 */
#define LIMIT_NS 60000000000u

struct drain {
	struct dofi_list link; /* ia->drains, oldest first */
	struct dofi_ia *ia;
	uint32_t id, peer_id; /* of the connection */
	uint32_t received;
	uint32_t granted; /* messages that the peer could send in all */
	uint32_t left;    /* messages to come; 0: the peer has not told yet */
	bool posted;
	bool given_up; /* it ends when the fabric has given the receive back */
	struct dofi_timer timer;
	uint64_t tag, size;
	void *memory;
	struct fid_mr *mr; /* where the fabric must know memory that it fills */
	struct dofi_own_wr own;
};

static void end(struct drain *drain)
{
	dofi_timer_cancel(drain->ia, &drain->timer);
	dofi_list_del(&drain->link);
	drain->ia->ndrains--;
	if (drain->mr)
		dofi_mr_close(drain->ia, drain->mr);
	free(drain->memory);
	free(drain);
}

static struct drain *find(struct dofi_ia *ia, uint32_t id, uint32_t peer_id)
{
	DOFI_LIST_FOR(node, &ia->drains)
	{
		struct drain *drain = DOFI_CONTAINER(node, struct drain, link);

		if (drain->id == id && drain->peer_id == peer_id)
			return drain;
	}
	return NULL;
}

static void say_owed(const struct drain *drain)
{
	struct dofi_ia *ia = drain->ia;
	uint32_t left_out;

	if (dofi_log_level < DOFI_LOG_INFO || !dofi_log_permit(&ia->cm.debts, &left_out))
		return;
	DOFI_LOG_I("%s: not waiting any longer for %u messages that a peer announced before the "
		   "end of a connection: they did not come; the peer may be stopped or dead",
		   ia->name, drain->left);
	if (left_out)
		DOFI_LOG_I("%s: %u messages like this one were left out", ia->name, left_out);
}

static void give_up(struct drain *drain)
{
	DOFI_COUNT_SHARED(drain->ia, IA_CM_OWED);
	say_owed(drain);
	drain->given_up = true;
	if (drain->posted)
		fi_cancel(&drain->ia->shared_ep->fid, dofi_context_of(drain->ia, &drain->own.wr));
	else
		end(drain);
}

static void overdue(struct dofi_timer *timer)
{
	give_up(DOFI_CONTAINER(timer, struct drain, timer));
}

/* Keeps those below the limit that wait for the peer's word (or, told: for its messages). */
static void forget_oldest(struct dofi_ia *ia, bool told)
{
	struct drain *oldest = NULL;
	uint32_t n = 0;

	DOFI_LIST_FOR(node, &ia->drains)
	{
		struct drain *drain = DOFI_CONTAINER(node, struct drain, link);

		if (drain->given_up || !drain->left == told)
			continue;
		if (!n++)
			oldest = drain;
	}
	if (n < ia->params.max_drains)
		return;
	if (told)
		give_up(oldest);
	else
		end(oldest);
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

void dofi_drain_begin(const struct dofi_conn *conn, uint64_t tag, uint32_t received,
		      uint32_t granted, uint64_t size)
{
	struct dofi_ia *ia = conn->ia;
	struct drain *drain;

	dofi_assert_held(&ia->engine.lock);
	if (ia->ndrains >= ia->params.max_drains)
		forget_oldest(ia, false);
	drain = calloc(1, sizeof(*drain));
	if (!drain)
		return;
	drain->ia = ia;
	drain->id = conn->id;
	drain->peer_id = conn->peer_id;
	drain->tag = tag;
	drain->received = received;
	drain->granted = granted;
	drain->timer.fire = overdue;
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

void dofi_drain_settle(struct dofi_ia *ia, uint32_t id, uint32_t peer_id, uint32_t sent)
{
	struct drain *drain = find(ia, id, peer_id);
	uint32_t left;

	dofi_assert_held(&ia->engine.lock);
	if (!drain || drain->left)
		return;
	left = sent - drain->received;
	/* Fewer than came, or more than were ever allowed: nothing that it says is believed. */
	if (!left || left > drain->granted - drain->received) {
		end(drain);
		return;
	}
	if (ia->ndrains >= ia->params.max_drains)
		forget_oldest(ia, true);
	drain->left = left;
	dofi_timer_set(ia, &drain->timer, dofi_now() + LIMIT_NS);
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
	if (drain->given_up || !--drain->left) {
		end(drain);
		return;
	}
	dofi_timer_set(drain->ia, &drain->timer, dofi_now() + LIMIT_NS);
	post(drain);
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

/* A poll that was under way may come late, and must not meet a timer of what is freed. */
void dofi_drain_free_all(struct dofi_ia *ia)
{
	dofi_lock(&ia->engine.lock);
	DOFI_LIST_FOR_SAFE(node, &ia->drains)
	end(DOFI_CONTAINER(node, struct drain, link));
	dofi_unlock(&ia->engine.lock);
}
