/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connectionless endpoints of the fabric (FI_EP_RDM): one endpoint per IA, which all its EPs and
 * SRQs share. A connection is a number in the tags of its messages; numbers are not used again for
 * very long, so that a late message matches nothing.
 */
#include "progress/wakeup.h"
#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/path.h"
#include "dto/op_context.h"
#include "dto/credit.h"
#include "cm/drain.h"
#include "fabric/error.h"
#include "fabric/quirks.h"
#include "object/ia.h"
#include "dto/control_message.h"
#include "base/log.h"
#include "object/mem.h"
#include "object/mr.h"
#include "cm/truncated.h"
#include "dto/control.h"
#include "dto/orphan.h"
#include "transport/peer.h"
#include "transport/receive_slots.h"
#include "transport/async_errors.h"
#include "dto/rma.h"
#include "fabric/same_process.h"
#include "dto/srq.h"
#include "object/transport.h"
#include "dto/ud.h"
#include "fabric/select.h"
#include "object/ep.h"
#include "progress/engine.h"
#include "progress/wait.h"
#include "transport/shm_cleanup.h"
#include "object/srq_count.h"
#include "object/ud_ah.h"
#include "cm/ud_ah.h"
#include "dto/reap.h"
#include "dto/ud_pool.h"

#include <assert.h>
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/*
 * Tags, 48 bits: kind, for an SRQ its number, the receiver's number of the connection. All
 * datagrams have the same.
 */
#define TAG_UD         (1ull << 45)
#define TAG_EP         (1ull << 46)
#define TAG_SRQ        (2ull << 46)
#define TAG_CTRL       (3ull << 46)
#define TAG_KIND       (3ull << 46)
#define TAG_NUMBER     (uint64_t) DOFI_CONN_ID_MASK
#define TAG_OF_SRQ(nr) (TAG_SRQ | (uint64_t)(nr) << 31)

/*
 * Receives for what comes by itself: credits, greetings, which have no credit updates, and control
 * messages, which are longer. Few, as every other message is compared with them first on most
 * fabrics: 64 took shm as long as all the rest of a message.
 */
#define CREDITS        4

/*
 * Their content; the same tag for all. shm of libfabric 1.17 does not find a message by a mask that
 * came before the receive.
 */
struct note {
	uint32_t number, update;
};

union post {
	struct note note;
	struct dofi_ctrl_msg ctrl_msg;
};

/*
 * A message for an SRQ has the number of the connection in its tag, where errors tell it, too. Not
 * so on shm: that of libfabric
 * 1.17 does not find a message by a mask that came before the receive. There completion data tell,
 * and tags match exactly.
 */
static bool data_tell(const struct dofi_ia *ia)
{
	return ia->quirks & DOFI_QUIRK_TAG_MASK &&
	       ia->info->domain_attr->cq_data_size >= sizeof(uint64_t);
}

enum { NOTES = 2 * CREDITS };

struct dofi_rdm {
	struct dofi_peers peers; /* guarded by engine.lock, as all of this */
	struct dofi_async_errors events;
	struct dofi_list greetings; /* connections that have not met on the fabric yet */
	/* of these, those that the fabric did not take are QUEUED... */
	struct dofi_own_wr credits[CREDITS];
	uint32_t unposted; /* ...and so many */
	/*
	 * each has two, in turn; the last: where a receive without segments gets what it has no
	 * room for
	 */
	union post notes[NOTES + 1];
	bool second[CREDITS]; /* whose turn it is */
	struct dofi_rx_slots slots;
	struct fid_mr *ctrl_mr; /* where the fabric must know memory that it fills */
};

/* --- the endpoint --- */

static void close_endpoint(struct dofi_ia *ia)
{
	fi_close(&ia->shared_ep->fid);
	ia->shared_ep = NULL;
	dofi_async_errors_close(ia, &ia->rdm->events);
}

static int open_endpoint(struct dofi_ia *ia, struct fid_av *av)
{
	/* CXI gives its context to failures. */
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
	if (!ret)
		ret = fi_enable(ia->shared_ep);
	if (ret)
		close_endpoint(ia);
	return ret;
}

/* shm 1.17 says that it has no memory when its 1024 receives are posted. */
static ssize_t no_room(ssize_t ret)
{
	return ret == -FI_ENOMEM ? -FI_EAGAIN : ret;
}

static unsigned int index_of(const struct dofi_rdm *rdm, const struct dofi_wr *wr)
{
	return (unsigned int)(DOFI_CONTAINER(wr, const struct dofi_own_wr, wr) - rdm->credits);
}

static union post *ctrl_of(struct dofi_rdm *rdm, const struct dofi_wr *wr, bool former)
{
	unsigned int i = index_of(rdm, wr);

	return &rdm->notes[2 * i + (rdm->second[i] != former)];
}

static bool takes_place(const struct dofi_wr *wr)
{
	return wr->op == DOFI_OP_RECV || wr->op == DOFI_OP_SRQ_RECV;
}

/* One that the fabric does not take now waits for rdm_poll_events; the others do meanwhile. */
static ssize_t post_ctrl_recv(struct dofi_ia *ia, struct dofi_wr *wr)
{
	struct dofi_rdm *rdm = ia->rdm;
	union post *note = ctrl_of(rdm, wr, false);
	void *desc = rdm->ctrl_mr ? fi_mr_desc(rdm->ctrl_mr) : NULL;
	ssize_t ret = no_room(fi_trecv(ia->shared_ep, note, sizeof(*note), desc, FI_ADDR_UNSPEC,
				       TAG_CTRL, 0, dofi_context_of(ia, wr)));

	wr->state = ret ? DOFI_WR_QUEUED : DOFI_WR_ISSUED;
	if (ret == -FI_EAGAIN)
		dofi_rx_slots_full(&rdm->slots);
	return ret;
}

/* False when the fabric takes no more for now. */
static bool post_again(struct dofi_ia *ia, struct dofi_wr *wr)
{
	ssize_t ret = post_ctrl_recv(ia, wr);

	if (ret && ret != -FI_EAGAIN)
		DOFI_LOG_E("%s: a receive for credits can't be posted again, peers may stop "
			   "sending: %s",
			   ia->name, fi_strerror((int)-ret));
	return !ret;
}

static void post_missing(struct dofi_ia *ia)
{
	struct dofi_rdm *rdm = ia->rdm;

	for (int i = 0; rdm->unposted && i < CREDITS; i++) {
		if (rdm->credits[i].wr.state != DOFI_WR_QUEUED)
			continue;
		if (!post_again(ia, &rdm->credits[i].wr))
			return;
		if (!--rdm->unposted)
			atomic_fetch_sub(&ia->engine.restless, 1);
	}
}

static void post_or_leave(struct dofi_ia *ia, struct dofi_wr *wr)
{
	if (!post_again(ia, wr) && !ia->rdm->unposted++)
		atomic_fetch_add(&ia->engine.restless,
				 1); /* nothing else tells when there is room */
}

static int register_ctrl(struct dofi_ia *ia)
{
	uint64_t key, address;

	if (!(ia->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return 0;
	return dofi_mr_register(ia, ia->rdm->notes, sizeof(ia->rdm->notes),
				DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &ia->rdm->ctrl_mr, &key, &address);
}

static int post_ctrl_recvs(struct dofi_ia *ia)
{
	int err = register_ctrl(ia);

	if (err)
		return err;
	for (int i = 0; i < CREDITS; i++) {
		struct dofi_wr *wr = &ia->rdm->credits[i].wr;
		ssize_t ret;

		wr->op = DOFI_OP_CTRL_RECV;
		ret = post_ctrl_recv(ia, wr);
		if (ret && ret != -FI_EAGAIN)
			return (int)ret;
		if (ret && !ia->rdm->unposted++)
			atomic_fetch_add(&ia->engine.restless, 1);
	}
	return 0;
}

static void rdm_close(struct dofi_ia *ia)
{
	struct dofi_rdm *rdm = ia->rdm;

	close_endpoint(ia);
	dofi_ud_pool_close(ia);
	if (rdm->ctrl_mr)
		dofi_mr_close(ia, rdm->ctrl_mr);
	dofi_orphans_free_all(ia);
	dofi_drain_free_all(ia);
	dofi_peers_close(&rdm->peers);
	free(rdm);
	ia->rdm = NULL;
}

static void greet_again(struct dofi_conn *conn);

static int rdm_open(struct dofi_ia *ia, void *name, size_t *size_p)
{
	struct dofi_rdm *rdm = calloc(1, sizeof(*rdm));
	const size_t room = *size_p;
	int ret;

	if (!rdm)
		return -FI_ENOMEM;
	dofi_list_init(&rdm->greetings);
	/* As many again for what comes late; see drain.h. */
	dofi_rx_slots_init(&rdm->slots, ia->info->rx_attr->size, 2 * CREDITS,
			   !(ia->quirks & DOFI_QUIRK_FATAL_OVERFLOW));
	ia->rdm = rdm;
	ret = dofi_peers_open(ia, &rdm->peers, greet_again);
	if (ret)
		goto err_free;
	ret = open_endpoint(ia, rdm->peers.av);
	if (ret)
		goto err_peers;
	ret = fi_getname(&ia->shared_ep->fid, name, size_p);
	if (!ret)
		ret = dofi_same_process_hide(ia->quirks, name, size_p, room);
	if (!ret)
		ret = post_ctrl_recvs(ia);
	if (!ret)
		ret = dofi_async_errors_begin(ia, &rdm->events);
	if (!ret)
		dofi_shm_cleanup_init(ia, name);
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

static void rdm_peer_closed(struct dofi_ia *ia, const uint8_t *uuid)
{
	const struct dofi_peer *peer;

	if (!ia->rdm)
		return;
	peer = dofi_peer_find(&ia->rdm->peers, uuid);
	dofi_peer_closed(&ia->rdm->peers, uuid);
	dofi_ud_ia_closed(ia, peer);
}

static struct dofi_wakeup_peer *rdm_wakeup_of(struct dofi_ia *ia, const uint8_t *uuid)
{
	struct dofi_peer *peer = dofi_peer_find(&ia->rdm->peers, uuid);

	dofi_assert_held(&ia->engine.lock);
	return peer ? &peer->wakeup : NULL;
}

/* --- connections --- */

/* The peer may sleep where nothing else tells it, and so may our own driver, for long. */
DOFI_INLINE ssize_t ring_after(struct dofi_ia *ia, const struct dofi_wakeup_peer *wakeup,
			       ssize_t ret)
{
	if (wakeup && !ret) {
		atomic_store_explicit(&ia->wait.posted, true, memory_order_relaxed);
		dofi_wakeup_send_if_asleep(ia, wakeup);
		/* Behind the wakeup's barrier. */
		if (DOFI_UNLIKELY(atomic_load_explicit(&ia->wait.deep, memory_order_relaxed)))
			dofi_wait_kick(ia);
	}
	return ret;
}

static ssize_t posted(const struct dofi_ep *ep, ssize_t ret)
{
	return ring_after(ep->obj.ia, ep->wakeup, ret);
}

static int make_path(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	int ret = dofi_peer_take(&conn->ia->rdm->peers, conn);

	if (ret)
		return ret;
	if (conn->ud) {
		conn->path_made = true;
		return 0;
	}
	ep->wakeup = conn->ia->wakeup.mark ? &conn->peer->wakeup : NULL;
	ep->recv_tag = TAG_EP | conn->id;
	ep->send_tag = conn->peer_srq ? TAG_OF_SRQ(conn->peer_srq) : TAG_EP;
	if (!conn->peer_srq || !data_tell(conn->ia))
		ep->send_tag |= conn->peer_id;
	dofi_conn_path_made(conn);
	return 0;
}

/*
 * Some fabrics connect below when the first message goes, and need both sides awake for it. So the
 * two sides greet each other before the connection counts as established, and do not sleep for long
 * meanwhile.
 */
static void begin_greeting(struct dofi_conn *conn, bool now)
{
	conn->greets = now;
	dofi_list_init(&conn->greeting);
	dofi_list_add_tail(&conn->ia->rdm->greetings, &conn->greeting);
	atomic_fetch_add(&conn->ia->engine.restless, 1);
	dofi_wait_kick(conn->ia);
}

static void end_greeting(struct dofi_conn *conn)
{
	if (dofi_list_empty(&conn->greeting))
		return;
	dofi_list_del(&conn->greeting);
	atomic_fetch_sub(&conn->ia->engine.restless, 1);
}

static int rdm_connect(struct dofi_conn *conn)
{
	int ret = make_path(conn);

	if (!ret)
		begin_greeting(conn, true);
	return ret;
}

static int rdm_expect(struct dofi_conn *conn)
{
	int ret = make_path(conn);

	if (!ret)
		begin_greeting(conn, false);
	return ret;
}

static ssize_t send_ctrl_write(struct dofi_ia *ia, uint64_t dest, uint32_t number, uint32_t update)
{
	const struct note note = {number, update};

	return fi_tinject(ia->shared_ep, &note, sizeof(note), dest, TAG_CTRL);
}

/* The passive side has done its part when its greeting is on the way. */
static int greet(struct dofi_conn *conn)
{
	ssize_t ret;

	if (!conn->greets)
		return 0;
	ret = send_ctrl_write(conn->ia, conn->dest, conn->peer_id, 0);
	if (ret == -FI_EAGAIN)
		return 0;
	conn->greets = false;
	ring_after(conn->ia, conn->ia->wakeup.mark ? &conn->peer->wakeup : NULL, ret);
	if (ret)
		dofi_conn_path_down(conn, (int)-ret);
	else if (!conn->active)
		end_greeting(conn);
	return 1;
}

static void greeted(struct dofi_ia *ia, uint32_t number)
{
	struct dofi_conn *conn = dofi_conn_by_id(ia, number);

	if (!conn || !conn->peer || dofi_list_empty(&conn->greeting))
		return;
	if (conn->active) {
		end_greeting(conn);
		dofi_conn_path_up(conn);
	} else {
		conn->greets = true;
		dofi_conn_proceeds(conn);
		greet(conn);
	}
}

/* The word that was said may be lost. Who hears it twice takes it once. */
static void greet_again(struct dofi_conn *conn)
{
	if (dofi_list_empty(&conn->greeting))
		begin_greeting(conn, true);
	else
		conn->greets |= conn->active;
}

static int rdm_poll_events(struct dofi_ia *ia)
{
	int n = 0;

	DOFI_LIST_FOR_SAFE(node, &ia->rdm->greetings)
	n += greet(DOFI_CONTAINER(node, struct dofi_conn, greeting));
	if (DOFI_UNLIKELY(dofi_rx_slots_asked(&ia->rdm->slots)))
		dofi_rx_slots_try_more(ia, &ia->rdm->slots);
	dofi_drain_retry(ia);
	if (ia->rdm->unposted)
		post_missing(ia);
	if (ia->ud_pool)
		dofi_ud_pool_retry(ia);
	return n + dofi_async_errors_poll(ia, &ia->rdm->events);
}

/* How often a cancelled receive's completion is looked for at once. */
#define CANCEL_ROUNDS 8

static bool cancel_receives(struct dofi_ep *ep)
{
	struct fid *fid = &ep->obj.ia->shared_ep->fid;
	bool any = false;

	dofi_lock(&ep->lock);
	for (uint32_t i = ep->recv.head; i != ep->recv.issue; i++) {
		struct dofi_wr *wr = dofi_ring_at(&ep->recv, i);

		if (wr->state == DOFI_WR_ISSUED) {
			fi_cancel(fid, dofi_context_of(ep->obj.ia, wr));
			any = true;
		}
	}
	dofi_unlock(&ep->lock);
	return any;
}

static int leave_behind(struct dofi_ep *ep)
{
	uint32_t nrecvs;
	int ret;

	dofi_lock(&ep->lock);
	nrecvs = dofi_orphans_count(&ep->recv);
	ret = dofi_orphans_adopt_ep(ep);
	dofi_unlock(&ep->lock);
	if (!ret)
		dofi_rx_slots_release(&ep->obj.ia->rdm->slots, nrecvs);
	return ret;
}

/* An SRQ takes what is late; an EP's receives are gone. */
static void drain(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	uint64_t longest = 0;
	uint32_t received;

	if (ep->srq || !conn->chan)
		return;
	dofi_lock(&ep->lock);
	received = ep->nreceived;
	for (uint32_t i = ep->recv.head; i != ep->recv.tail; i++) {
		const struct dofi_wr *wr = dofi_ring_at(&ep->recv, i);

		if (wr->length > longest)
			longest = wr->length;
		received += wr->state == DOFI_WR_HELD;
	}
	dofi_unlock(&ep->lock);
	dofi_drain_begin(conn->ia, conn->id, ep->recv_tag, received, longest);
	if (conn->peer_told)
		dofi_drain_settle(conn->ia, conn->id, conn->peer_sent);
}

/*
 * A message that is half in can't be stopped, nor can what was sent or is being read: these end by
 * themselves.
 */
static bool rdm_cancel(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	bool has;

	if (!conn->peer)
		return false;
	if (!conn->cancelled && cancel_receives(ep))
		for (int i = 0; i < CANCEL_ROUNDS; i++)
			dofi_engine_drain_cq(conn->ia);
	conn->cancelled = true;
	dofi_lock(&ep->lock);
	has = dofi_orphans_outstanding(ep);
	dofi_unlock(&ep->lock);
	return has;
}

static void rdm_disconnect(struct dofi_conn *conn)
{
	struct dofi_ia *ia = conn->ia;

	if (!conn->peer)
		return;
	if (conn->ud) {
		end_greeting(conn);
		dofi_peer_give(conn);
		return;
	}
	if (rdm_cancel(conn))
		DOFI_LOG_I("%s: the fabric has not given back all operations of a connection that "
			   "is over",
			   ia->name);
	/* Without memory for a copy only patience is left. */
	while (leave_behind(conn->ep)) {
		dofi_engine_drain_cq(ia);
		sched_yield();
	}
	drain(conn);
	end_greeting(conn);
	dofi_peer_give(conn);
}

/* --- completions --- */

/* What a message for an SRQ says beside the credit update, and who it is from. */
static uint64_t encode(const struct dofi_ep *ep, uint32_t update)
{
	uint64_t number = data_tell(ep->obj.ia) ? (uint64_t)ep->peer.number << 32 : 0;

	return number | update | (ep->nsent & DOFI_UPDATE_NUMBER) << DOFI_UPDATE_NUMBER_SHIFT;
}

static uint32_t number_of(const struct dofi_ia *ia, uint64_t tag, uint64_t flags, uint64_t data)
{
	if ((tag & TAG_KIND) == TAG_SRQ && data_tell(ia))
		return flags & FI_REMOTE_CQ_DATA ? (uint32_t)(data >> 32) : 0;
	return (uint32_t)(tag & TAG_NUMBER);
}

static void open_post(struct dofi_ia *ia, const union post *post, size_t size)
{
	if (size > sizeof(post->note))
		dofi_ctrl_msg_arrived(ia, &post->ctrl_msg, size);
	else if (post->note.update & DOFI_UPDATE_CREDIT)
		dofi_credit_arrived(ia, post->note.number, post->note.update);
	else
		greeted(ia, post->note.number);
}

/*
 * First of all: what they receive makes room in the fabric for the receives of EPs, so none of
 * these may take their place. Where messages pass in order, one without a receive would keep all
 * others back.
 */
static void repost_ctrl_recvs(struct dofi_ia *ia, const struct fi_cq_tagged_entry *entries,
			      ssize_t n)
{
	struct dofi_rdm *rdm = ia->rdm;

	for (ssize_t i = 0; i < n; i++) {
		struct dofi_wr *wr;

		if (entries[i].flags & FI_REMOTE_WRITE || !entries[i].op_context)
			continue;
		wr = dofi_context_wr(ia, entries[i].op_context);
		if (DOFI_LIKELY(wr->op != DOFI_OP_CTRL_RECV))
			continue;
		rdm->second[index_of(rdm, wr)] ^= true;
		post_or_leave(ia, wr);
	}
	if (DOFI_UNLIKELY(rdm->unposted))
		post_missing(ia);
}

DOFI_INLINE void complete(struct dofi_ia *ia, const struct fi_cq_tagged_entry *entry)
{
	uint32_t update = entry->flags & FI_REMOTE_CQ_DATA ? (uint32_t)entry->data : 0;
	uint32_t number = number_of(ia, entry->tag, entry->flags, entry->data);
	struct dofi_wr *wr;

	if (entry->flags & FI_REMOTE_WRITE) {
		dofi_ctrl_arrived(ia, entry->data);
		return;
	}
	if (!entry->op_context)
		return;
	wr = dofi_context_wr(ia, entry->op_context);
	if (takes_place(wr))
		dofi_rx_slots_release(&ia->rdm->slots, 1);
	if (DOFI_LIKELY(wr->op != DOFI_OP_CTRL_RECV))
		dofi_reap_done(wr, 0, entry->len, number, update);
	else
		open_post(ia, ctrl_of(ia->rdm, wr, true), entry->len);
}

static void rdm_completed(struct dofi_ia *ia, const void *entries, ssize_t n)
{
	const struct fi_cq_tagged_entry *entry = entries;

	repost_ctrl_recvs(ia, entry, n);
	do
		complete(ia, entry++);
	while (--n);
}

/* Receives that we cancel say nothing of the peer. */
static struct dofi_conn *conn_of(struct dofi_ia *ia, const struct dofi_wr *wr, uint32_t number)
{
	struct dofi_conn *conn;

	if (wr->op == DOFI_OP_SRQ_RECV)
		return number ? dofi_conn_by_id(ia, number) : NULL;
	if (wr->op > DOFI_OP_SRQ_RECV)
		return NULL;
	if (wr->op == DOFI_OP_SEND_UD)
		return dofi_ud_conn_of(wr);
	conn = wr->ep->conn;
	return conn && wr->op == DOFI_OP_RECV && dofi_conn_is_over(conn) ? NULL : conn;
}

/* Other errors are of one operation alone. */
static bool ends_stream(const struct dofi_ia *ia, int err)
{
	return err == FI_ETRUNC ? ia->quirks & DOFI_QUIRK_ENDS_STREAM : dofi_error_is_of_peer(err);
}

static void rdm_failed(struct dofi_ia *ia, struct fi_cq_err_entry *err)
{
	struct dofi_conn *conn;
	struct dofi_wr *wr;
	uint32_t number;

	/* it is of a peer's operation */
	if (!err->op_context || err->flags & (FI_REMOTE_WRITE | FI_REMOTE_READ))
		return;
	wr = dofi_context_wr(ia, err->op_context);
	err->err = dofi_error_cause(ia->quirks, err, false);
	number = number_of(ia, err->tag, err->flags, err->data);
	conn = conn_of(ia, wr, number);
	if (conn && conn->peer && ends_stream(ia, err->err))
		dofi_work_defer(ia, &conn->peer->severed);
	if (takes_place(wr))
		dofi_rx_slots_release(&ia->rdm->slots, 1);
	if (wr->op == DOFI_OP_CTRL_RECV && ia->shared_ep)
		post_or_leave(ia, wr);
	else
		dofi_reap_done(wr, err->err, err->len, number, 0);
}

/* --- posts --- */

/*
 * A send that needs more than plain arguments: credit updates for the peer, or a fence behind
 * writes.
 */
DOFI_SLOW_PATH static ssize_t send_message(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t flags,
					   uint64_t data)
{
	struct fi_msg_tagged msg = {
		.msg_iov = wr->iov,
		.desc = dofi_wr_desc(&ep->req, wr),
		.iov_count = wr->op == DOFI_OP_WRITE_IMM ? 0 : wr->niov,
		.addr = ep->dest,
		.tag = ep->send_tag,
		.context = dofi_context_of(ep->obj.ia, wr),
		.data = data,
	};

	ssize_t ret = fi_tsendmsg(ep->fep, &msg, flags | FI_COMPLETION);

	if (!ret && (flags & FI_FENCE))
		ep->unfenced = false;
	return ret;
}

DOFI_SLOW_PATH static ssize_t send_update(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t fence,
					  bool solicited)
{
	uint32_t noted = dofi_op_needs_ctrl(wr->op) && ep->ctrl_msgs ? DOFI_UPDATE_CTRL_MSG : 0,
		 total = dofi_credit_total(ep);
	ssize_t ret = send_message(ep, wr, fence | FI_REMOTE_CQ_DATA,
				   encode(ep, dofi_credit_update(ep, solicited) | noted));

	if (!ret)
		ep->announced = total;
	return ret;
}

DOFI_SLOW_PATH static ssize_t send_segments(struct dofi_ep *ep, struct dofi_wr *wr)
{
	void *context = dofi_context_of(ep->obj.ia, wr);

	if (wr->niov == 0)
		return fi_tsend(ep->fep, NULL, 0, NULL, ep->dest, ep->send_tag, context);
	return fi_tsendv(ep->fep, wr->iov, dofi_wr_desc(&ep->req, wr), wr->niov, ep->dest,
			 ep->send_tag, context);
}

/* Not plain, or more to say than its bytes. */
DOFI_SLOW_PATH static ssize_t send_special(struct dofi_ep *ep, struct dofi_wr *wr)
{
	bool solicited =
		(wr->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) && ep->peer.wants_solicited;
	uint64_t fence = ep->unfenced ? FI_FENCE : 0;

	if (ep->peer.wants_data || solicited || dofi_op_needs_ctrl(wr->op) || dofi_credit_due(ep))
		return send_update(ep, wr, fence, solicited);
	if (fence)
		return send_message(ep, wr, fence, 0);
	if (dofi_may_inject(ep, wr))
		return dofi_injected(wr, fi_tinject(ep->fep, wr->niov ? wr->iov->iov_base : NULL,
						    wr->length, ep->dest, ep->send_tag));
	return send_segments(ep, wr);
}

DOFI_INLINE ssize_t send_now(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct iovec *iov = wr->iov;

	if (DOFI_UNLIKELY(wr->kind != dofi_wr_plain(DOFI_OP_SEND, DOFI_WR_ISSUED) ||
			  ep->peer.wants_data || ep->unfenced || dofi_credit_due(ep)))
		return send_special(ep, wr);
	if (dofi_may_inject_plain(ep, wr))
		return dofi_injected(wr, fi_tinject(ep->fep, iov->iov_base, iov->iov_len, ep->dest,
						    ep->send_tag));
	return fi_tsend(ep->fep, iov->iov_base, iov->iov_len, *dofi_wr_desc(&ep->req, wr), ep->dest,
			ep->send_tag, dofi_context_of(ep->obj.ia, wr));
}

static ssize_t rdm_send_empty(struct dofi_ep *ep, struct dofi_wr *wr)
{
	bool solicited =
		ep->peer.wants_solicited && (wr->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG);

	if (ep->peer.wants_data || solicited)
		return posted(ep, fi_tinjectdata(ep->fep, NULL, 0,
						 encode(ep, dofi_credit_update(ep, solicited)),
						 ep->dest, ep->send_tag));
	return posted(ep, fi_tinject(ep->fep, NULL, 0, ep->dest, ep->send_tag));
}

static ssize_t rdm_send(struct dofi_ep *ep, struct dofi_wr *wr)
{
	return posted(ep, send_now(ep, wr));
}

static ssize_t rdm_read(struct dofi_ep *ep, struct dofi_wr *wr)
{
	return posted(ep, dofi_rma_read(ep, wr));
}

static ssize_t rdm_write(struct dofi_ep *ep, struct dofi_wr *wr)
{
	return posted(ep, dofi_rma_write(ep, wr));
}

static ssize_t rdm_write_data(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data)
{
	return posted(ep, dofi_rma_write_data(ep, wr, data));
}

static ssize_t rdm_ctrl(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
			uint64_t rkey, uint64_t data)
{
	return posted(ep, dofi_rma_ctrl(ep, record, size, raddr, rkey, data));
}

static ssize_t rdm_ctrl_msg(struct dofi_ep *ep, const void *ctrl_msg, size_t size)
{
	return posted(ep, fi_tinject(ep->fep, ctrl_msg, size, ep->dest, TAG_CTRL));
}

static ssize_t rdm_peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
			uint64_t raddr, uint64_t rkey)
{
	return posted(ep, dofi_rma_peek(ep, wr, buf, size, desc, raddr, rkey));
}

static ssize_t post_receive(struct dofi_ia *ia, struct dofi_wr *wr, void **desc, uint64_t tag,
			    uint64_t ignore)
{
	struct dofi_rdm *rdm = ia->rdm;
	void *context = dofi_context_of(ia, wr);
	struct fid_ep *fep = ia->shared_ep;

	if (wr->niov == 1)
		return fi_trecv(fep, wr->iov[0].iov_base, wr->iov[0].iov_len, desc[0],
				FI_ADDR_UNSPEC, tag, ignore, context);
	/*
	 * tcp of libfabric 2.x ends the connection below when bytes come for a receive that has
	 * room for none.
	 */
	if (wr->niov == 0)
		return fi_trecv(fep, &rdm->notes[NOTES], 1,
				rdm->ctrl_mr ? fi_mr_desc(rdm->ctrl_mr) : NULL, FI_ADDR_UNSPEC, tag,
				ignore, context);
	return fi_trecvv(fep, wr->iov, desc, wr->niov, FI_ADDR_UNSPEC, tag, ignore, context);
}

static ssize_t receive(struct dofi_ia *ia, struct dofi_wr *wr, void **desc, uint64_t tag,
		       uint64_t ignore)
{
	struct dofi_rx_slots *slots = &ia->rdm->slots;
	ssize_t ret;

	if (DOFI_UNLIKELY(!dofi_rx_slots_acquire(slots)))
		return -FI_EAGAIN;
	ret = no_room(post_receive(ia, wr, desc, tag, ignore));
	if (DOFI_UNLIKELY(ret)) {
		dofi_rx_slots_unacquire(slots);
		if (ret == -FI_EAGAIN)
			dofi_rx_slots_full(slots);
	}
	return ret;
}

static ssize_t rdm_recv(struct dofi_ep *ep, struct dofi_wr *wr)
{
	return receive(ep->obj.ia, wr, dofi_wr_desc(&ep->recv, wr), ep->recv_tag, 0);
}

static ssize_t rdm_credit(struct dofi_ep *ep, uint32_t update)
{
	return posted(ep, send_ctrl_write(ep->obj.ia, ep->dest, ep->peer.number, update));
}

/* --- datagrams --- */

static ssize_t rdm_ud_send(struct dofi_ep *ep, struct dofi_wr *wr, struct dofi_ud_ah *ah)
{
	bool solicited = wr->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	struct fi_msg_tagged msg = {
		.msg_iov = wr->iov,
		.desc = dofi_wr_desc(&ep->req, wr),
		.iov_count = wr->niov,
		.addr = ah->dest,
		.tag = TAG_UD,
		.context = dofi_context_of(ep->obj.ia, wr),
		.data = ah->number | (solicited ? DOFI_UD_SOLICITED : 0),
	};

	return ring_after(ep->obj.ia, ah->wakeup,
			  fi_tsendmsg(ep->fep, &msg, FI_COMPLETION | FI_REMOTE_CQ_DATA));
}

/* It holds its place for ever, as those for credits. */
static ssize_t rdm_ud_recv(struct dofi_ia *ia, struct dofi_wr *wr, void *buffer, size_t size,
			   void *desc)
{
	struct dofi_rx_slots *slots = &ia->rdm->slots;
	ssize_t ret;

	if (!wr->given && !dofi_rx_slots_acquire(slots))
		return -FI_EAGAIN;
	wr->given = true;
	ret = no_room(fi_trecv(ia->shared_ep, buffer, size, desc, FI_ADDR_UNSPEC, TAG_UD, 0,
			       dofi_context_of(ia, wr)));
	if (ret == -FI_EAGAIN)
		dofi_rx_slots_full(slots);
	return ret;
}

/* --- shared receive queues --- */

static int rdm_srq_open(struct dofi_srq *srq)
{
	(void)srq; /* its number is all there is */
	return 0;
}

static ssize_t rdm_srq_recv(struct dofi_srq *srq, struct dofi_wr *wr)
{
	return receive(srq->obj.ia, wr, dofi_wr_desc(&srq->shape, wr), TAG_OF_SRQ(srq->number),
		       data_tell(srq->obj.ia) ? 0 : TAG_NUMBER);
}

/* No EP uses the SRQ any more, so nothing comes but what is cancelled. */
static void rdm_srq_close(struct dofi_srq *srq)
{
	struct dofi_ia *ia = srq->obj.ia;

	dofi_srq_cancel(srq, &ia->shared_ep->fid);
	for (int i = 0; srq->available && i < CANCEL_ROUNDS; i++)
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
	.connect = rdm_connect,
	.expect = rdm_expect,
	.leave = rdm_cancel,
	.disconnect = rdm_disconnect,
	.send = rdm_send,
	.recv = rdm_recv,
	.read = rdm_read,
	.write = rdm_write,
	.write_data = rdm_write_data,
	.write_ctrl = rdm_ctrl,
	.ctrl_msg = rdm_ctrl_msg,
	.send_empty = rdm_send_empty,
	.peek = rdm_peek,
	.settle = dofi_drain_settle,
	.peer_closed = rdm_peer_closed,
	.peer_died = dofi_shm_cleanup_expect,
	.wakeup_of = rdm_wakeup_of,
	.send_credit = rdm_credit,
	.ud_send = rdm_ud_send,
	.ud_recv = rdm_ud_recv,
	.srq_open = rdm_srq_open,
	.srq_close = rdm_srq_close,
	.srq_recv = rdm_srq_recv,
	.completed = rdm_completed,
	.failed = rdm_failed,
	.poll_events = rdm_poll_events,
};
