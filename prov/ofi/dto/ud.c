/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/ud.h"

#include "auth/crypto.h"
#include "fabric/error.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "dto/orphan.h"
#include "object/transport.h"
#include "dto/bounce.h"
#include "object/ep.h"
#include "base/clock.h"
#include "progress/engine.h"
#include "progress/engine_fds.h"
#include "object/ud_ah.h"
#include "dto/issue.h"
#include "dto/release.h"
#include "dto/ud_pool.h"
#include "dto/ud_window.h"

#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define INDEX(number) ((number) & (DOFI_UD_EPS - 1))

bool dofi_ud_possible(const struct dofi_ia *ia)
{
	return DOFI_EXTENSIONS && ia->trans->ud_send && ia->has_data;
}

/* --- the EPs of an IA --- */

static struct dofi_ep *find(struct dofi_ia *ia, uint32_t number)
{
	struct dofi_ep *ep = ia->ud_pool ? dofi_ud_pool_eps(ia)[INDEX(number)] : NULL;

	return ep && ep->ud->number == number ? ep : NULL;
}

/*
 * Numbers are random, so that a late datagram does not find another EP and a forged one does not
 * find this EP.
 */
static int number_it(struct dofi_ep *ep)
{
	struct dofi_ep **eps = dofi_ud_pool_eps(ep->obj.ia);
	uint32_t random;
	int ret = dofi_random(&random, sizeof(random));

	if (ret)
		return ret;
	for (uint32_t tries = 0; tries < DOFI_UD_EPS; tries++) {
		/* Counts down from a random number to one with a free place. */
		uint32_t number = (random - tries) & DOFI_UD_NUMBER;

		if (!number) /* names no EP; takes another number with the same place */
			number = DOFI_UD_EPS;
		if (eps[INDEX(number)])
			continue;
		ep->ud->number = number;
		eps[INDEX(number)] = ep;
		return 0;
	}
	return -FI_ENOSPC;
}

int dofi_ud_open(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	int ret;

	dofi_assert_none_held();
	ep->ud = calloc(1, sizeof(*ep->ud));
	if (!ep->ud)
		return -FI_ENOMEM;
	dofi_list_init(&ep->ud->conns);
	dofi_list_init(&ep->ud->ahs);
	dofi_list_init(&ep->ud->rejections);
	dofi_lock(&ia->engine.lock);
	ret = dofi_ud_pool_open(ia);
	if (!ret)
		ret = number_it(ep);
	dofi_unlock(&ia->engine.lock);
	if (ret) {
		free(ep->ud);
		ep->ud = NULL;
		return ret;
	}
	ep->fep = ia->shared_ep;
	ep->path_up = true;
	return 0;
}

bool dofi_ud_is_sending(struct dofi_ia *ia)
{
	struct dofi_ep **eps = ia->ud_pool ? dofi_ud_pool_eps(ia) : NULL;
	bool yes = false;

	dofi_assert_held(&ia->engine.lock);
	for (uint32_t i = 0; eps && i < DOFI_UD_EPS && !yes; i++) {
		if (!eps[i])
			continue;
		dofi_lock(&eps[i]->lock);
		yes = dofi_orphans_outstanding(eps[i]);
		dofi_unlock(&eps[i]->lock);
	}
	return yes;
}

/* --- out --- */

/* A lost datagram counts as sent. */
static void lose(struct dofi_ep *ep, struct dofi_wr *wr)
{
	DOFI_COUNT(ep, EP_UD_LOST, 1);
	wr->status = DAT_DTO_SUCCESS;
}

void dofi_ud_send_failed(struct dofi_ep *ep, struct dofi_wr *wr, int err)
{
	dofi_assert_held(&ep->lock);
	if (dofi_error_gives_back(err) || dofi_error_is_of_peer(err))
		lose(ep, wr);
	else
		wr->status = (uint8_t)dofi_error_status(err);
	wr->state = DOFI_WR_DONE;
}

/*
 * Whether the peer has accepted no datagram for so long that datagrams to it are dropped; otherwise
 * they would block those to other peers.
 */
static bool gives_up(const struct dofi_ia *ia, struct dofi_ud_ah *ah)
{
	uint64_t now = dofi_now(),
		 since = atomic_load_explicit(&ah->again_since, memory_order_relaxed);

	if (!since)
		atomic_store_explicit(&ah->again_since, now, memory_order_relaxed);
	return since && now - since > ia->params.linger_ms * 1000000u;
}

ssize_t dofi_ud_start(struct dofi_ep *ep, struct dofi_wr *wr)
{
	struct dofi_ud_ah *ah = wr->send.ah;
	struct dofi_ia *ia = ep->obj.ia;
	ssize_t ret = -FI_ENOTCONN;

	dofi_assert_held(&ep->lock);
	wr->state = DOFI_WR_ISSUED;
	if (ah && !atomic_load_explicit(&ah->gone, memory_order_relaxed))
		ret = dofi_ud_window_has_room(ah) ? ia->trans->ud_send(ep, wr, ah) : -FI_EAGAIN;
	if (!ret) {
		dofi_ud_window_sent(ah);
		atomic_store_explicit(&ah->again_since, 0, memory_order_relaxed);
		return 0;
	}
	if (ret == -FI_EAGAIN && !gives_up(ia, ah)) {
		wr->state = DOFI_WR_QUEUED;
		return ret;
	}
	if (wr->split)
		dofi_bounce_give(wr, 0);
	dofi_ud_send_failed(ep, wr, ret == -FI_EAGAIN ? FI_ENOTCONN : (int)-ret);
	return 0;
}

void dofi_ud_forget(struct dofi_ia *ia, const struct dofi_ud_ah *ah)
{
	struct dofi_ep **eps = dofi_ud_pool_eps(ia);

	dofi_assert_held(&ia->engine.lock);
	for (uint32_t i = 0; i < DOFI_UD_EPS; i++) {
		struct dofi_ep *ep = eps[i];

		if (!ep)
			continue;
		dofi_lock(&ep->lock);
		for (uint32_t at = ep->req.head; at != ep->req.tail; at++)
			if (dofi_ring_at(&ep->req, at)->send.ah == ah)
				dofi_ring_at(&ep->req, at)->send.ah = NULL;
		dofi_unlock(&ep->lock);
	}
}

/* --- in --- */

static void copy(const struct dofi_wr *wr, const char *from, size_t length)
{
	size_t skip = DOFI_UD_HEADER;

	for (uint16_t i = 0; i < wr->niov && length; i++) {
		size_t room = wr->iov[i].iov_len, n;

		if (room <= skip) {
			skip -= room;
			continue;
		}
		n = room - skip < length ? room - skip : length;
		memcpy((char *)wr->iov[i].iov_base + skip, from, n);
		from += n;
		length -= n;
		skip = 0;
	}
}

static void deliver(struct dofi_ep *ep, struct dofi_wr *wr, bool solicited, const char *datagram,
		    size_t length)
{
	if (wr->status == DAT_DTO_SUCCESS && DOFI_UD_HEADER + length > wr->length)
		wr->status = DAT_DTO_ERR_LOCAL_LENGTH;
	if (wr->status == DAT_DTO_SUCCESS)
		copy(wr, datagram, length);
	wr->length = DOFI_UD_HEADER + length;
	wr->recv.solicited = solicited;
	wr->state = DOFI_WR_DONE;
	DOFI_COUNT(ep, EP_RECV_UD, 1);
	DOFI_COUNT(ep, EP_RECV_UD_DATA, wr->length);
}

void dofi_ud_arrived(struct dofi_ia *ia, uint32_t data, const void *datagram, size_t length)
{
	struct dofi_ep *ep = find(ia, data & DOFI_UD_NUMBER);
	struct dofi_ring *ring;

	dofi_assert_held(&ia->engine.lock);
	if (!ep) {
		if (data || !dofi_ud_mark_arrived(ia, datagram, length))
			DOFI_COUNT_SHARED(ia, IA_DATA_STRAY);
		return;
	}
	ring = &ep->recv;
	dofi_lock(&ep->lock);
	if (ring->issue == ring->tail) {
		DOFI_COUNT(ep, EP_UD_DROPPED, 1);
	} else {
		deliver(ep, dofi_ring_at(ring, ring->issue++), data & DOFI_UD_SOLICITED, datagram,
			length);
		dofi_release_rings(ep);
	}
	dofi_unlock(&ep->lock);
}

/* --- the end --- */

static bool all_left(struct dofi_ep *ep)
{
	bool yes;

	dofi_lock(&ep->lock);
	dofi_ep_issue(ep);
	yes = ep->req.issue == ep->req.tail && !dofi_orphans_outstanding(ep);
	dofi_unlock(&ep->lock);
	return yes;
}

/*
 * Drops the requests that the fabric did not take, without completions, and makes orphans of the
 * others.
 */
static void abandon(struct dofi_ep *ep)
{
	int ret;

	dofi_lock(&ep->lock);
	ep->path_up = false;
	for (uint32_t i = ep->req.issue; i != ep->req.tail; i++)
		if (dofi_ring_at(&ep->req, i)->split)
			dofi_bounce_give(dofi_ring_at(&ep->req, i), 0);
	ep->req.tail = ep->req.issue;
	dofi_ep_let_go(ep);
	ret = dofi_orphans_adopt_ep(ep);
	dofi_unlock(&ep->lock);
	/* Without memory for a copy, waits until the fabric has completed the requests. */
	while (ret) {
		dofi_engine_drain_cq(ep->obj.ia);
		sched_yield();
		dofi_lock(&ep->lock);
		ret = dofi_orphans_adopt_ep(ep);
		dofi_unlock(&ep->lock);
	}
}

void dofi_ud_close(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	uint64_t limit = ia->up->linger_until(ia);

	dofi_assert_held(&ia->engine.lock);
	while (!all_left(ep) && dofi_now() <= limit) {
		dofi_engine_drain_cq(ia);
		dofi_engine_hear(ia); /* the BYE of a peer that answers no marks any more */
		sched_yield();
	}
	abandon(ep);
	ia->up->drop_datagrams(ep);
	dofi_ud_pool_eps(ia)[INDEX(ep->ud->number)] = NULL;
	free(ep->ud);
	ep->ud = NULL;
}
