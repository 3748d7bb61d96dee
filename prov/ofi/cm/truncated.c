/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/truncated.h"

#include "cm/conn.h"
#include "cm/conn_message.h"
#include "dto/credit.h"
#include "object/ia.h"
#include "dto/srq_receive.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "object/srq_count.h"
#include "cm/conn_state.h"

/*
 * Whether messages of the connection take buffers of the SRQ. A message may come before its
 * connection is established.
 */
static bool uses(const struct dofi_conn *conn, const struct dofi_srq *srq)
{
	enum dofi_conn_stage stage = dofi_conn_stage(conn);

	return (stage == DOFI_STAGE_UP || stage == DOFI_STAGE_LINKING) && conn->ep->srq == srq;
}

/* The next connection of the SRQ from index *i on, or NULL. */
static struct dofi_conn *next_user(const struct dofi_srq *srq, uint32_t *i)
{
	const struct dofi_cm *cm = &srq->obj.ia->cm;

	while (*i < cm->conns_size) {
		struct dofi_conn *conn = cm->conns[(*i)++];

		if (conn && uses(conn, srq))
			return conn;
	}
	return NULL;
}

/* The number of messages that the peer had sent when it was asked and that have not come. */
static uint32_t missing(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	int32_t left;

	dofi_lock(&ep->lock);
	left = (int32_t)(conn->peer_count - ep->nreceived);
	for (const struct dofi_wr *wr = ep->held; wr; wr = wr->recv.next)
		left -= ((wr->recv.update >> DOFI_UPDATE_NUMBER_SHIFT) - ep->nreceived) %
				(DOFI_UPDATE_NUMBER + 1) <
			conn->peer_count - ep->nreceived;
	dofi_unlock(&ep->lock);
	return left > 0 ? (uint32_t)left : 0;
}

/* Sums up the missing messages. False while a peer has not answered. */
static bool all_missing(const struct dofi_srq *srq, uint32_t *sum_p)
{
	struct dofi_conn *conn;
	uint32_t i = 0;

	*sum_p = 0;
	while ((conn = next_user(srq, &i))) {
		if (conn->count_asked != conn->count_told)
			return false;
		*sum_p += missing(conn);
	}
	return true;
}

static struct dofi_wr *pop(struct dofi_srq *srq)
{
	struct dofi_wr *wr = srq->truncated;

	srq->truncated = wr->recv.next;
	srq->ntruncated--;
	return wr;
}

/*
 * Breaks the connections that miss messages. A connection has one error: a second truncated message
 * of it is dropped.
 */
static void break_sender(struct dofi_srq *srq)
{
	struct dofi_conn *conn;
	uint32_t i = 0;

	while (srq->truncated && (conn = next_user(srq, &i)))
		if (missing(conn))
			dofi_srq_break(conn->ep, pop(srq));
}

void dofi_truncated_settle(struct dofi_srq *srq)
{
	uint32_t sum;

	dofi_assert_held(&srq->obj.ia->engine.lock);
	if (!srq->truncated || !all_missing(srq, &sum) || sum > srq->ntruncated)
		return;
	break_sender(srq);
	while (srq->truncated)
		dofi_srq_take_back(srq, pop(srq));
}

void dofi_truncated_arrived(struct dofi_srq *srq, struct dofi_wr *wr)
{
	struct dofi_conn *conn;
	uint32_t i = 0;

	dofi_assert_held(&srq->obj.ia->engine.lock);
	wr->recv.next = srq->truncated;
	srq->truncated = wr;
	srq->ntruncated++;
	/*
	 * Answers to earlier questions may not count this message. A peer that has sent BYE has
	 * told its count and does not answer any more.
	 */
	while ((conn = next_user(srq, &i))) {
		struct dofi_msg msg = {.type = DOFI_MSG_COUNT, .number = ++conn->count_asked};

		if (conn->peer_told)
			conn->count_told = conn->count_asked;
		else
			dofi_conn_send(conn, &msg);
	}
	dofi_truncated_settle(srq);
}

void dofi_truncated_on_count_request(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	struct dofi_msg answer = {.type = DOFI_MSG_COUNTED,
				  .number = msg->number,
				  .data = dofi_conn_sent(conn)};

	dofi_assert_held(&conn->ia->engine.lock);
	dofi_conn_send(conn, &answer);
}

void dofi_truncated_on_count(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	dofi_assert_held(&conn->ia->engine.lock);
	if (!conn->ep || !conn->ep->srq)
		return;
	conn->peer_count = msg->data;
	conn->count_told = msg->type == DOFI_MSG_BYE ? conn->count_asked : (uint32_t)msg->number;
	dofi_truncated_settle(conn->ep->srq);
}
