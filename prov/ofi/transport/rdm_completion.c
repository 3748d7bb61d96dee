/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/rdm_completion.h"

#include "cm/conn.h"
#include "cm/ud_ah.h"
#include "dto/control.h"
#include "dto/control_message.h"
#include "dto/credit.h"
#include "dto/op_context.h"
#include "dto/reap.h"
#include "dto/ud.h"
#include "dto/ud_window.h"
#include "fabric/error.h"
#include "fabric/quirks.h"
#include "object/ia.h"
#include "progress/work.h"
#include "transport/control_receives.h"
#include "transport/greeting.h"
#include "transport/rdm.h"
#include "transport/rdm_tag.h"

#include <rdma/fi_errno.h>

static bool takes_place(const struct dofi_wr *wr)
{
	return dofi_op_is_receive(wr->op);
}

static void open_post(struct dofi_ia *ia, const union dofi_ctrl_buffer *post, size_t size)
{
	struct dofi_conn *conn =
		size < sizeof(post->credit)
			? NULL
			: dofi_conn_by_secret(ia, post->credit.number, post->credit.secret);

	if (!conn)
		DOFI_COUNT_SHARED(ia, IA_DATA_STRAY);
	else if (size > sizeof(post->credit))
		dofi_ctrl_msg_arrived(ia, &post->ctrl_msg, size);
	else if (post->credit.update & DOFI_UPDATE_CREDIT && conn->ud_ah)
		dofi_ud_mark_answered(conn->ud_ah, post->credit.update);
	else if (post->credit.update & DOFI_UPDATE_CREDIT)
		dofi_credit_arrived(ia, post->credit.number, post->credit.update);
	else
		dofi_greeting_arrived(ia, post->credit.number);
}

/*
 * Posts the library's own receives before anything else. Their messages lead to free slots for
 * receives of EPs, so a receive of an EP must not take their slot. And on fabrics that deliver
 * messages in order, a message without a receive would block all others.
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
		dofi_ctrl_recv_taken(ia, wr);
	}
	if (DOFI_UNLIKELY(rdm->unposted))
		dofi_ctrl_recvs_post_missing(ia);
}

/* A write whose completion data are a control record. Where records are messages, it is forged. */
static void written(struct dofi_ia *ia, uint64_t data)
{
	if (ia->uses_ctrl_msgs)
		DOFI_COUNT_SHARED(ia, IA_DATA_STRAY);
	else
		dofi_ctrl_arrived(ia, data);
}

DOFI_INLINE void complete(struct dofi_ia *ia, const struct fi_cq_tagged_entry *entry)
{
	uint32_t update = entry->flags & FI_REMOTE_CQ_DATA ? (uint32_t)entry->data : 0;
	uint32_t number = dofi_rdm_number(ia, entry->tag, entry->flags, entry->data);
	struct dofi_wr *wr;

	if (entry->flags & FI_REMOTE_WRITE) {
		written(ia, entry->data);
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
		open_post(ia, dofi_ctrl_recv_buffer(ia->rdm, wr, true), entry->len);
}

void dofi_rdm_completed(struct dofi_ia *ia, const void *entries, ssize_t n)
{
	const struct fi_cq_tagged_entry *entry = entries;

	dofi_assert_held(&ia->engine.lock);
	repost_ctrl_recvs(ia, entry, n);
	do
		complete(ia, entry++);
	while (--n);
}

/*
 * The connection of a failed operation. A receive that was cancelled here says nothing about the
 * peer.
 */
static struct dofi_conn *conn_of(struct dofi_ia *ia, const struct dofi_wr *wr, uint32_t number)
{
	struct dofi_conn *conn;

	if (wr->op == DOFI_OP_SRQ_RECV)
		return number ? dofi_conn_by_id(ia, number) : NULL;
	if (!dofi_op_is_of_ep(wr->op))
		return NULL;
	if (wr->op == DOFI_OP_SEND_UD)
		return dofi_ud_conn_of(wr);
	conn = wr->ep->conn;
	return conn && wr->op == DOFI_OP_RECV && dofi_conn_is_over(conn) ? NULL : conn;
}

/* Whether the error ends the stream to the peer. Other errors concern one operation only. */
static bool ends_stream(const struct dofi_ia *ia, int err)
{
	return err == FI_ETRUNC ? ia->quirks & DOFI_QUIRK_ENDS_STREAM : dofi_error_is_of_peer(err);
}

/*
 * The receiver of the message that failed. When an SRQ is closed, its receives are cancelled and
 * have no message, but net and tcp may return them with the tag of an earlier one.
 */
static uint32_t number_of(const struct dofi_ia *ia, const struct dofi_wr *wr,
			  const struct fi_cq_err_entry *err)
{
	if (wr->op == DOFI_OP_SRQ_RECV && wr->srq->closing)
		return 0;
	return dofi_rdm_number(ia, err->tag, err->flags, err->data);
}

void dofi_rdm_failed(struct dofi_ia *ia, struct fi_cq_err_entry *err)
{
	struct dofi_conn *conn;
	struct dofi_wr *wr;
	uint32_t number;

	dofi_assert_held(&ia->engine.lock);
	/* the operation is one of a peer */
	if (!err->op_context || err->flags & (FI_REMOTE_WRITE | FI_REMOTE_READ))
		return;
	wr = dofi_context_wr(ia, err->op_context);
	err->err = dofi_error_cause(ia->quirks, err, false);
	number = number_of(ia, wr, err);
	conn = conn_of(ia, wr, number);
	if (conn && conn->peer && ends_stream(ia, err->err))
		dofi_work_defer(ia, &conn->peer->severed);
	if (takes_place(wr))
		dofi_rx_slots_release(&ia->rdm->slots, 1);
	if (wr->op == DOFI_OP_CTRL_RECV && ia->shared_ep)
		dofi_ctrl_recv_post_again(ia, wr);
	else /* rxm reports the completion data without their flag; 0: the fabric reports none */
		dofi_reap_done(wr, err->err, err->len, number, (uint32_t)err->data);
}
