/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/drain.h"

#include "base/log.h"
#include "cm/conn.h"
#include "dto/op_context.h"
#include "fabric/error.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "object/mr.h"
#include "base/clock.h"
#include "progress/timer.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>

/*
 * At most max_drains drains wait for a peer's count, and as many for messages. Beyond that the
 * oldest of the kind is given up.
 */

/*
 * A living peer sends an owed message at once. A frozen one may take longer, and on some fabrics
 * the message then blocks others.
 */
#define LIMIT_NS 60000000000u

struct drain {
	struct dofi_list link; /* ia->drains, oldest first */
	struct dofi_ia *ia;
	const struct dofi_chan *chan; /* by which the peer's count comes; only compared */
	const struct dofi_peer *peer; /* only compared */
	uint32_t id, peer_id;         /* of the connection */
	uint32_t received;
	uint32_t granted; /* total of messages that the peer had credits for */
	uint32_t left;    /* messages to come; 0: the peer's count is not known yet */
	bool posted;
	bool given_up; /* ends when the fabric has returned the receive */
	struct dofi_timer timer;
	uint64_t tag, size;
	void *memory;
	struct fid_mr *mr; /* NULL: the fabric does not need local memory registered */
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

	DOFI_LOG_LIMITED(&ia->cm.debts, DOFI_LOG_INFO, ia->name,
			 "%s: not waiting any longer for %u messages that a peer announced before "
			 "the end of a connection: they did not come; the peer may be stopped or "
			 "dead",
			 ia->name, drain->left);
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

/*
 * Gives up the oldest drain when there are max_drains. told: false: of those that wait for the
 * peer's count; true: for its messages.
 */
static void forget_oldest(struct dofi_ia *ia, bool told)
{
	struct drain *oldest = NULL;
	uint32_t n = 0;

	if (ia->ndrains < ia->params.max_drains)
		return;
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

/* Posts the receive; each drain has one at a time. */
static void post(struct drain *drain)
{
	void *desc = drain->mr ? fi_mr_desc(drain->mr) : NULL;
	ssize_t ret =
		fi_trecv(drain->ia->shared_ep, drain->memory, drain->size, desc, FI_ADDR_UNSPEC,
			 drain->tag, 0, dofi_context_of(drain->ia, &drain->own.wr));

	drain->posted = !ret;
	if (ret && dofi_error_no_room(ret) != -FI_EAGAIN)
		end(drain);
}

void dofi_drain_begin(const struct dofi_conn *conn, uint64_t tag, uint32_t received,
		      uint32_t granted, uint64_t size)
{
	struct dofi_ia *ia = conn->ia;
	struct drain *drain;

	dofi_assert_held(&ia->engine.lock);
	forget_oldest(ia, false);
	drain = calloc(1, sizeof(*drain));
	if (!drain)
		return;
	drain->ia = ia;
	drain->chan = conn->chan;
	drain->peer = conn->peer;
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
	/*
	 * An impossible count, below the messages that came or above the credits, is not believed.
	 */
	if (!left || left > drain->granted - drain->received) {
		end(drain);
		return;
	}
	forget_oldest(ia, true);
	drain->left = left;
	dofi_timer_set(ia, &drain->timer, dofi_now() + LIMIT_NS);
	if (take_memory(drain))
		post(drain);
	else
		end(drain);
}

void dofi_drain_chan_lost(struct dofi_ia *ia, const struct dofi_chan *chan)
{
	dofi_assert_held(&ia->engine.lock);
	DOFI_LIST_FOR_SAFE(node, &ia->drains)
	{
		struct drain *drain = DOFI_CONTAINER(node, struct drain, link);

		if (drain->chan == chan && !drain->left)
			end(drain);
	}
}

bool dofi_drain_awaits(const struct dofi_ia *ia, const struct dofi_peer *peer)
{
	dofi_assert_held(&ia->engine.lock);
	DOFI_LIST_FOR(node, &ia->drains)
	{
		if (DOFI_CONTAINER(node, struct drain, link)->peer == peer)
			return true;
	}
	return false;
}

void dofi_drain_done(struct dofi_wr *wr)
{
	struct drain *drain = DOFI_CONTAINER(wr, struct drain, own.wr);

	dofi_assert_held(&drain->ia->engine.lock);
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

/* A late poll of another thread must not find a timer of freed memory. */
void dofi_drain_free_all(struct dofi_ia *ia)
{
	dofi_lock(&ia->engine.lock);
	DOFI_LIST_FOR_SAFE(node, &ia->drains)
	end(DOFI_CONTAINER(node, struct drain, link));
	dofi_unlock(&ia->engine.lock);
}
