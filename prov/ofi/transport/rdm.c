/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connectionless endpoints of the fabric (FI_EP_RDM): one endpoint per IA, which all its EPs and
 * SRQs share. A connection is a random number in the tags of its messages, so that a late message
 * matches nothing.
 */
#include "object/transport.h"
#include "cm/drain.h"
#include "dto/orphan.h"
#include "dto/srq_receive.h"
#include "dto/ud_pool.h"
#include "dto/ud_window.h"
#include "fabric/quirks.h"
#include "fabric/same_process.h"
#include "object/ia.h"
#include "object/mr.h"
#include "object/srq_count.h"
#include "progress/engine.h"
#include "transport/control_receives.h"
#include "transport/greeting.h"
#include "transport/rdm.h"
#include "transport/rdm_completion.h"
#include "transport/rdm_path.h"
#include "transport/rdm_post.h"
#include "transport/shm_cleanup.h"
#include "transport/shm_name.h"
#include "transport/shm_repair.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

static void close_endpoint(struct dofi_ia *ia)
{
	fi_close(&ia->shared_ep->fid);
	ia->shared_ep = NULL;
	dofi_async_errors_close(ia, &ia->rdm->events);
}

static int open_endpoint(struct dofi_ia *ia, struct fid_av *av)
{
	/* cxi uses the endpoint's context in errors. */
	int ret = fi_endpoint(ia->domain, ia->info, &ia->shared_ep, NULL);

	if (ret)
		return ret;
	ret = fi_ep_bind(ia->shared_ep, &ia->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!ret)
		ret = fi_ep_bind(ia->shared_ep, &av->fid, 0);
	if (!ret)
		ret = dofi_async_errors_open(ia, &ia->rdm->events);
	if (!ret && ia->quirks & DOFI_QUIRK_UNCHECKED_REGION)
		ret = dofi_shm_cleanup_probe();
	/* efa of libfabric 1.17 crashes when the name of an endpoint is read so early. */
	if (!ret && ia->host_only)
		ret = dofi_shm_name_set(ia->shared_ep);
	if (!ret)
		ret = fi_enable(ia->shared_ep);
	if (ret)
		close_endpoint(ia);
	return ret;
}

/* Whether the fabric may have received a part of a message. */
static bool has_receives(const struct dofi_ia *ia)
{
	return !dofi_list_empty(&ia->orphans) || !dofi_list_empty(&ia->drains);
}

static void rdm_close(struct dofi_ia *ia)
{
	struct dofi_rdm *rdm = ia->rdm;

	dofi_shm_repair_close(ia);
	if (ia->quirks & DOFI_QUIRK_HALF_RECEIVED && has_receives(ia))
		dofi_peers_withdraw(&rdm->peers);
	close_endpoint(ia);
	dofi_ud_pool_close(ia);
	if (rdm->ctrl_mr)
		dofi_mr_close(ia, rdm->ctrl_mr);
	dofi_orphans_free_all(ia);
	dofi_drain_free_all(ia);
	dofi_peers_close(&rdm->peers);
	dofi_shm_cleanup_fini(ia);
	free(rdm);
	ia->rdm = NULL;
}

static int rdm_open(struct dofi_ia *ia, void *name, size_t *size_p)
{
	struct dofi_rdm *rdm = calloc(1, sizeof(*rdm));
	const size_t room = *size_p;
	int ret;

	if (!rdm)
		return -FI_ENOMEM;
	dofi_list_init(&rdm->greetings);
	/* Twice the number, because drains need slots, too (drain.h). */
	dofi_rx_slots_init(&rdm->slots, ia->info->rx_attr->size, 2 * DOFI_CTRL_RECVS,
			   !(ia->quirks & DOFI_QUIRK_FATAL_OVERFLOW));
	ia->rdm = rdm;
	ret = dofi_peers_open(ia, &rdm->peers, dofi_greeting_again);
	if (ret)
		goto err_free;
	ret = open_endpoint(ia, rdm->peers.av);
	if (ret)
		goto err_peers;
	ret = fi_getname(&ia->shared_ep->fid, name, size_p);
	if (!ret)
		ret = dofi_same_process_hide(ia->quirks, name, size_p, room);
	if (!ret)
		ret = dofi_ctrl_recvs_post(ia);
	if (!ret)
		ret = dofi_async_errors_begin(ia, &rdm->events);
	if (!ret)
		dofi_shm_cleanup_init(ia, name);
	if (!ret)
		dofi_shm_repair_open(ia, name);
	if (ret)
		rdm_close(ia);
	return ret;

err_peers:
	dofi_peers_close(&rdm->peers);
err_free:
	free(rdm);
	ia->rdm = NULL;
	return ret;
}

static void rdm_peer_closed(struct dofi_ia *ia, const struct dofi_chan *chan)
{
	struct dofi_peer *peer = ia->rdm ? dofi_peer_of(&ia->rdm->peers, &chan->peer) : NULL;

	dofi_assert_held(&ia->engine.lock);
	if (peer)
		dofi_peer_closed(peer, &chan->remote);
}

static struct dofi_wakeup_peer *rdm_wakeup_of(struct dofi_ia *ia, const uint8_t *uuid)
{
	struct dofi_peer *peer = dofi_peer_find(&ia->rdm->peers, uuid);

	dofi_assert_held(&ia->engine.lock);
	return peer ? &peer->wakeup : NULL;
}

static int rdm_poll_events(struct dofi_ia *ia)
{
	int n = dofi_greetings_poll(ia);

	dofi_assert_held(&ia->engine.lock);
	if (DOFI_UNLIKELY(dofi_rx_slots_asked(&ia->rdm->slots)))
		dofi_rx_slots_try_more(ia, &ia->rdm->slots);
	dofi_drain_retry(ia);
	if (ia->rdm->unposted)
		dofi_ctrl_recvs_post_missing(ia);
	if (ia->ud_pool) {
		dofi_ud_pool_retry(ia);
		dofi_ud_answers_retry(ia);
	}
	return n + dofi_async_errors_poll(ia, &ia->rdm->events);
}

static int rdm_srq_open(struct dofi_srq *srq)
{
	(void)srq; /* an SRQ has no object of the fabric, only a number in tags */
	return 0;
}

/* No EP uses the SRQ any more, so only cancelled receives come back. */
static void rdm_srq_close(struct dofi_srq *srq)
{
	struct dofi_ia *ia = srq->obj.ia;

	dofi_assert_held(&ia->engine.lock);
	dofi_srq_cancel(srq, &ia->shared_ep->fid);
	for (int i = 0; srq->available && i < DOFI_CANCEL_ROUNDS; i++)
		dofi_engine_drain_cq(ia);
	if (srq->available)
		dofi_rx_slots_release(&ia->rdm->slots, dofi_srq_abandon(srq));
}

const struct dofi_trans_ops dofi_trans_rdm = {
	.name = "rdm",
	.id = DOFI_TRANS_RDM,
	.cq_format = FI_CQ_FORMAT_TAGGED,
	.numbers = true,
	.open = rdm_open,
	.close = rdm_close,
	.connect = dofi_rdm_connect,
	.expect = dofi_rdm_expect,
	.cancel = dofi_rdm_cancel,
	.disconnect = dofi_rdm_disconnect,
	.send = dofi_rdm_send,
	.recv = dofi_rdm_recv,
	.read = dofi_rdm_read,
	.write = dofi_rdm_write,
	.write_data = dofi_rdm_write_data,
	.write_ctrl = dofi_rdm_ctrl,
	.ctrl_msg = dofi_rdm_ctrl_msg,
	.send_empty = dofi_rdm_send_empty,
	.peek = dofi_rdm_peek,
	.settle = dofi_drain_settle,
	.peer_closed = rdm_peer_closed,
	.peer_died = dofi_shm_cleanup_expect,
	.wakeup_of = rdm_wakeup_of,
	.send_credit = dofi_rdm_credit,
	.ud_send = dofi_rdm_ud_send,
	.ud_mark = dofi_rdm_ud_mark,
	.ud_recv = dofi_rdm_ud_recv,
	.srq_open = rdm_srq_open,
	.srq_close = rdm_srq_close,
	.srq_recv = dofi_rdm_srq_recv,
	.completed = dofi_rdm_completed,
	.failed = dofi_rdm_failed,
	.poll_events = rdm_poll_events,
};
