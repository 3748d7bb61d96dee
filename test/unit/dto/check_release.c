/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of completed requests: what they say, which are left out, which notify; and the flush at
 * the end of a connection.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/bounce.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/dto/release.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/mem.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/object/ud_ah.h"
#include "../../../prov/ofi/progress/cno.h"
#include "../../../prov/ofi/progress/evd.h"

#include <string.h>

#define SLOTS  8u
#define EVENTS 16u
#define FIRST  100u /* cookie */
#define LENGTH 40u

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_srq srq;
static struct dofi_rmr rmr;
static struct dofi_evd req_evd, recv_evd;
static struct dofi_event events[2][EVENTS];
static struct dofi_cno watcher;
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};
static const struct dofi_trans_ops trans = {.has_eq = true};
static unsigned int notified, cancelled;

void __wrap_dofi_cno_notify(struct dofi_cno *cno, struct dofi_evd *of);
void __wrap_dofi_bind_cancel(struct dofi_bind *bind);

void __wrap_dofi_cno_notify(struct dofi_cno *cno, struct dofi_evd *of)
{
	ck_assert_ptr_eq(cno, &watcher);
	dofi_assert_held(&of->lock);
	notified++;
}

void __wrap_dofi_bind_cancel(struct dofi_bind *bind)
{
	ck_assert_ptr_eq(bind->rmr, &rmr);
	cancelled++;
}

static void open_evd(struct dofi_evd *evd, struct dofi_event *ring)
{
	dofi_lock_init(&evd->lock);
	evd->obj.ia = &ia;
	evd->ring = ring;
	evd->qlen = EVENTS;
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_lock_init(&ep.lock);
	dofi_list_init(&ia.engine.stalled);
	ia.trans = ep.trans = &trans;
	ia.info = &info;
	ia.limits.fabric_iov = 1;
	ia.has_data = true;
	ep.obj.ia = &ia;
	ck_assert_int_eq(dofi_bounces_init(&ia), 0);
	open_evd(&req_evd, events[0]);
	open_evd(&recv_evd, events[1]);
	ep.req_evd = &req_evd;
	ep.recv_evd = &recv_evd;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.path_up = true;
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.req, SLOTS, 2), 0);
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.recv, SLOTS, 2), 0);
	dofi_lock(&ia.engine.lock);
	dofi_lock(&ep.lock);
}

static void teardown(void)
{
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
	dofi_bounces_fini(&ia);
	dofi_ring_fini(&ep.req);
	dofi_ring_fini(&ep.recv);
}

static struct dofi_wr *add(enum dofi_op op, enum dofi_wr_state state, uint8_t status)
{
	struct dofi_ring *ring = op == DOFI_OP_RECV ? &ep.recv : &ep.req;
	struct dofi_wr *wr = dofi_ring_at(ring, ring->tail);

	*wr = (struct dofi_wr){.ep = &ep,
			       .op = (uint8_t)op,
			       .state = state,
			       .status = status,
			       .niov = 1,
			       .length = LENGTH,
			       .cookie = FIRST + ring->tail};
	if (op == DOFI_OP_BIND)
		*dofi_wr_bind(wr) = (struct dofi_bind){.rmr = &rmr};
	ring->tail++;
	if (ring->issue + 1 == ring->tail && state != DOFI_WR_QUEUED)
		ring->issue++;
	return wr;
}

static struct dofi_wr *add_done(enum dofi_op op)
{
	return add(op, DOFI_WR_DONE, DAT_DTO_SUCCESS);
}

static const struct dofi_event *event_of(const struct dofi_evd *evd, uint32_t i)
{
	ck_assert_uint_lt(i, dofi_evd_queued(evd));
	return dofi_evd_slot(evd, evd->head + i);
}

static void expect(const struct dofi_evd *evd, uint32_t i, uint64_t cookie, uint8_t status)
{
	ck_assert_uint_eq(event_of(evd, i)->dto.cookie, cookie);
	ck_assert_uint_eq(event_of(evd, i)->status, status);
}

static uint64_t counted(unsigned int counter)
{
	return atomic_load(&ep.counters[counter]);
}

/* --- the event --- */

static const struct {
	enum dofi_op op;
	uint8_t ctrl; /* of the message of a receive */
	bool ud;
	uint8_t says, ext;
	uint32_t number;
} kinds[] = {
	{DOFI_OP_SEND, 0, false, DOFI_OP_SEND, 0, DAT_DTO_COMPLETION_EVENT},
	{DOFI_OP_WRITE, 0, false, DOFI_OP_WRITE, 0, DAT_DTO_COMPLETION_EVENT},
	{DOFI_OP_READ, 0, false, DOFI_OP_READ, 0, DAT_DTO_COMPLETION_EVENT},
	{DOFI_OP_SEND_INVALIDATE, 0, false, DOFI_OP_SEND, 0, DAT_DTO_COMPLETION_EVENT},
	{DOFI_OP_BIND, 0, false, DOFI_OP_BIND, 0, DAT_RMR_BIND_COMPLETION_EVENT},
	{DOFI_OP_FETCH_ADD, 0, false, DOFI_OP_FETCH_ADD, 1, DOFI_EVENT_EXTENDED},
	{DOFI_OP_CMP_SWAP, 0, false, DOFI_OP_CMP_SWAP, 2, DOFI_EVENT_EXTENDED},
	{DOFI_OP_WRITE_IMM, 0, false, DOFI_OP_WRITE_IMM, 3, DOFI_EVENT_EXTENDED},
	{DOFI_OP_SEND_UD, 0, true, DOFI_UD_DTO_SEND, DOFI_UD_TYPE_SEND + 1, DOFI_EVENT_EXTENDED},
	{DOFI_OP_RECV, 0, false, DOFI_OP_RECV, 0, DAT_DTO_COMPLETION_EVENT},
	{DOFI_OP_RECV, DOFI_CTRL_IMMEDIATE, false, DOFI_OP_RECV_IMM, 4, DOFI_EVENT_EXTENDED},
	{DOFI_OP_RECV, DOFI_CTRL_INVALIDATE, false, DOFI_OP_RECV_INVALIDATE, 0,
	 DAT_DTO_COMPLETION_EVENT},
	{DOFI_OP_RECV, 0, true, DOFI_UD_DTO_RECV, DOFI_UD_TYPE_RECV + 1, DOFI_EVENT_EXTENDED},
};

START_TEST(an_event_tells_the_operation)
{
	bool is_receive = kinds[_i].op == DOFI_OP_RECV, is_bind = kinds[_i].op == DOFI_OP_BIND;
	const struct dofi_evd *evd = is_receive ? &recv_evd : &req_evd;
	struct dofi_wr *wr = add_done(kinds[_i].op);
	const struct dofi_event *event;

	ep.ud = kinds[_i].ud ? (struct dofi_ud *)&srq : NULL; /* never dereferenced */
	ep.srq = &srq;
	if (is_receive) {
		wr->recv.ctrl = kinds[_i].ctrl;
		wr->recv.value = 77;
	}
	memset(events, 0xa5, sizeof(events));
	dofi_release_rings(&ep);
	event = event_of(evd, 0);
	ck_assert_uint_eq(event->number, kinds[_i].number);
	ck_assert_uint_eq(event->op, kinds[_i].says);
	ck_assert_uint_eq(event->ext, kinds[_i].ext);
	ck_assert_uint_eq(event->status, DAT_DTO_SUCCESS);
	ck_assert_ptr_eq(event->handle, is_bind ? (void *)&rmr : (void *)&ep);
	ck_assert_uint_eq(event->dto.cookie, FIRST);
	ck_assert_uint_eq(event->dto.length, LENGTH);
	ck_assert_ptr_eq(event->dto.srq, is_receive ? &srq : NULL);
	ck_assert_uint_eq(event->dto.immediate, is_receive && kinds[_i].ctrl ? 77 : 0);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_COMPLETED), 1);
	ck_assert_uint_eq(evd->counters[DOFI_CNT_EVD_DTO_CALLBACK], !is_bind);
}
END_TEST

/* A failure is always reported. */
START_TEST(a_suppressed_success_has_no_event)
{
	add_done(DOFI_OP_SEND)->flags = DAT_COMPLETION_SUPPRESS_FLAG;
	add_done(DOFI_OP_SEND);
	add(DOFI_OP_SEND, DOFI_WR_DONE, DAT_DTO_ERR_TRANSPORT)->flags =
		DAT_COMPLETION_SUPPRESS_FLAG;
	dofi_release_rings(&ep);
	ck_assert_uint_eq(dofi_evd_queued(&req_evd), 2);
	expect(&req_evd, 0, FIRST + 1, DAT_DTO_SUCCESS);
	expect(&req_evd, 1, FIRST + 2, DAT_DTO_ERR_TRANSPORT);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_COMPLETED), 3);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_ERRORS), 1);
}
END_TEST

START_TEST(events_leave_from_the_head_of_the_ring)
{
	struct dofi_wr *first = add(DOFI_OP_READ, DOFI_WR_ISSUED, DAT_DTO_SUCCESS);

	add_done(DOFI_OP_SEND);
	dofi_release_rings(&ep);
	ck_assert_uint_eq(dofi_evd_queued(&req_evd), 0);
	ck_assert_uint_eq(ep.req.head, 0);
	first->state = DOFI_WR_DONE;
	dofi_release_rings(&ep);
	expect(&req_evd, 0, FIRST, DAT_DTO_SUCCESS);
	expect(&req_evd, 1, FIRST + 1, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(ep.req.head, 2);
}
END_TEST

static const struct {
	uint8_t flags, status;
	DAT_COMPLETION_FLAGS of_ep;
	bool is_receive, solicited, no_data, notifies;
} wakes[] = {
	{0, DAT_DTO_SUCCESS, 0, false, false, false, true},
	{DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_DTO_SUCCESS, 0, false, false, false, false},
	{0, DAT_DTO_SUCCESS, 0, true, false, false, true},
	{DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_DTO_SUCCESS, 0, true, true, false, false},
	{0, DAT_DTO_SUCCESS, DAT_COMPLETION_SOLICITED_WAIT_FLAG, true, false, false, false},
	{0, DAT_DTO_SUCCESS, DAT_COMPLETION_SOLICITED_WAIT_FLAG, true, true, false, true},
	{0, DAT_DTO_ERR_FLUSHED, DAT_COMPLETION_SOLICITED_WAIT_FLAG, true, false, false, true},
	{0, DAT_DTO_SUCCESS, DAT_COMPLETION_SOLICITED_WAIT_FLAG, true, false, true, true},
	{0, DAT_DTO_SUCCESS, DAT_COMPLETION_SOLICITED_WAIT_FLAG, false, false, false, true},
};

/* Which events wake a waiting thread or trigger the CNO. */
START_TEST(an_event_notifies_unless_it_was_posted_otherwise)
{
	struct dofi_wr *wr = add(wakes[_i].is_receive ? DOFI_OP_RECV : DOFI_OP_SEND, DOFI_WR_DONE,
				 wakes[_i].status);

	req_evd.cno = recv_evd.cno = &watcher;
	wr->flags = wakes[_i].flags;
	if (wakes[_i].is_receive)
		wr->recv.solicited = wakes[_i].solicited;
	ep.attr.recv_completion_flags = wakes[_i].of_ep;
	ia.has_data = !wakes[_i].no_data;
	dofi_release_rings(&ep);
	ck_assert_uint_eq(dofi_evd_queued(&req_evd) + dofi_evd_queued(&recv_evd), 1);
	ck_assert_uint_eq(notified, wakes[_i].notifies);
}
END_TEST

START_TEST(a_lost_event_breaks_the_connection)
{
	ep.ud = _i == 1 ? (struct dofi_ud *)&srq : NULL; /* a datagram may be lost */
	if (_i == 2)
		ep.state = DAT_EP_STATE_DISCONNECTED; /* there is no connection any more */
	req_evd.qlen = 0;
	add_done(DOFI_OP_SEND);
	dofi_release_rings(&ep);
	ck_assert_uint_eq(ep.req.head, 1);
	ck_assert(ep.faulty == !_i);
	ck_assert(ep.stall.waits == !_i);
}
END_TEST

/* Nobody will dequeue the event. Only receives take places of the SRQ. */
START_TEST(a_lost_event_gives_its_place_in_the_SRQ_back)
{
	dofi_lock_init(&srq.lock);
	atomic_store(&srq.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_SRQ);
	srq.outstanding = 2;
	ep.srq = &srq;
	req_evd.qlen = recv_evd.qlen = 0;
	add_done(DOFI_OP_SEND);
	add_done(DOFI_OP_RECV);
	dofi_release_rings(&ep);
	ck_assert_uint_eq(srq.outstanding, 1);
}
END_TEST

/* A program may give an EP of an SRQ no EVD for receives, and the peer sends nevertheless. */
START_TEST(a_receive_without_an_evd_breaks_the_connection)
{
	dofi_lock_init(&srq.lock);
	atomic_store(&srq.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_SRQ);
	srq.outstanding = 2;
	ep.srq = &srq;
	ep.recv_evd = NULL;
	add_done(DOFI_OP_RECV);
	dofi_release_rings(&ep);
	ck_assert_uint_eq(ep.recv.head, 1);
	ck_assert_uint_eq(srq.outstanding, 1);
	ck_assert(ep.faulty && ep.stall.waits);
}
END_TEST

/* --- requests that are complete when the fabric has taken them --- */

START_TEST(an_injected_request_is_released_in_its_turn)
{
	const struct dofi_event *event;
	struct dofi_wr *wr;

	memset(events, 0xa5, sizeof(events));
	wr = add_done(DOFI_OP_SEND);
	dofi_release_request(&ep, wr);
	ck_assert_uint_eq(ep.req.head, 1);
	expect(&req_evd, 0, FIRST, DAT_DTO_SUCCESS);
	event = event_of(&req_evd, 0);
	ck_assert_uint_eq(event->number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_uint_eq(event->op, DOFI_OP_SEND);
	ck_assert_uint_eq(event->ext, 0);
	ck_assert_ptr_eq(event->handle, &ep);
	ck_assert_uint_eq(event->dto.length, LENGTH);
	ck_assert_ptr_null(event->dto.srq);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_COMPLETED), 1);
	ck_assert_uint_eq(req_evd.counters[DOFI_CNT_EVD_DTO_CALLBACK], 1);
	wr = add_done(DOFI_OP_FETCH_ADD); /* not plain */
	dofi_release_request(&ep, wr);
	ck_assert_uint_eq(event_of(&req_evd, 1)->number, DOFI_EVENT_EXTENDED);
	ck_assert(!ep.stall.waits);
	add(DOFI_OP_READ, DOFI_WR_ISSUED, DAT_DTO_SUCCESS);
	wr = add_done(DOFI_OP_SEND);
	dofi_release_request(&ep, wr);
	ck_assert_uint_eq(ep.req.head, 2);
	ck_assert_uint_eq(dofi_evd_queued(&req_evd), 2);
}
END_TEST

/* It is as plain as can be, and its event is lost. */
START_TEST(a_lost_event_of_an_injected_request)
{
	req_evd.qlen = 0;
	dofi_release_request(&ep, add_done(DOFI_OP_SEND));
	ck_assert_uint_eq(ep.req.head, 1);
	ck_assert(ep.faulty && ep.stall.waits);
	ck_assert_uint_eq(req_evd.counters[DOFI_CNT_EVD_DTO_CALLBACK], 0);
}
END_TEST

/* As a suppressed event is left out, and a failure is not. */
START_TEST(an_injected_request_with_flags_is_not_plain)
{
	struct dofi_wr *wr =
		add(DOFI_OP_SEND, DOFI_WR_DONE, _i ? DAT_DTO_ERR_TRANSPORT : DAT_DTO_SUCCESS);

	wr->flags = _i ? 0 : DAT_COMPLETION_SUPPRESS_FLAG;
	dofi_release_request(&ep, wr);
	ck_assert_uint_eq(ep.req.head, 1);
	ck_assert_uint_eq(dofi_evd_queued(&req_evd), (uint32_t)_i);
	if (_i)
		expect(&req_evd, 0, FIRST, DAT_DTO_ERR_TRANSPORT);
}
END_TEST

START_TEST(an_injected_request_notifies)
{
	req_evd.cno = &watcher;
	dofi_release_request(&ep, add_done(DOFI_OP_SEND));
	ck_assert_uint_eq(notified, 1);
}
END_TEST

/* A plain completion at the head of the ring, or behind others; those behind it leave, too. */
START_TEST(a_polled_completion_releases_what_is_complete)
{
	struct dofi_wr *first = add(DOFI_OP_SEND, DOFI_WR_ISSUED, DAT_DTO_SUCCESS),
		       *second = add_done(DOFI_OP_SEND);

	dofi_release_polled(&ep, &ep.req, &req_evd, second, DOFI_OP_SEND);
	ck_assert_uint_eq(dofi_evd_queued(&req_evd), 0);
	ck_assert_uint_eq(ep.req.head, 0);
	first->state = DOFI_WR_DONE;
	dofi_release_polled(&ep, &ep.req, &req_evd, first, DOFI_OP_SEND);
	expect(&req_evd, 0, FIRST, DAT_DTO_SUCCESS);
	expect(&req_evd, 1, FIRST + 1, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(ep.req.head, 2);
	add(DOFI_OP_SEND, DOFI_WR_DONE, DAT_DTO_SUCCESS);
	add(DOFI_OP_SEND, DOFI_WR_ISSUED, DAT_DTO_SUCCESS);
	dofi_release_polled(&ep, &ep.req, &req_evd, dofi_ring_at(&ep.req, 2), DOFI_OP_SEND);
	ck_assert_uint_eq(ep.req.head, 3);
	ck_assert_uint_eq(dofi_evd_queued(&req_evd), 3);
}
END_TEST

/* The event of a message with a control record is not a plain one. */
START_TEST(a_polled_receive_with_a_record)
{
	struct dofi_wr *wr = add_done(DOFI_OP_RECV);

	wr->recv.ctrl = DOFI_CTRL_IMMEDIATE;
	wr->recv.value = 77;
	dofi_release_polled(&ep, &ep.recv, &recv_evd, wr, DOFI_OP_RECV);
	ck_assert_uint_eq(event_of(&recv_evd, 0)->op, DOFI_OP_RECV_IMM);
	ck_assert_uint_eq(event_of(&recv_evd, 0)->dto.immediate, 77);
	ck_assert_uint_eq(ep.recv.head, 1);
}
END_TEST

START_TEST(a_disconnect_goes_on_behind_an_injected_request)
{
	ep.state = DAT_EP_STATE_DISCONNECT_PENDING;
	dofi_release_request(&ep, add_done(DOFI_OP_SEND));
	ck_assert_uint_eq(dofi_evd_queued(&req_evd), 1);
	ck_assert(ep.stall.waits);
}
END_TEST

/* --- the flush --- */

/* What completed before the first failure succeeds; EPS-081. */
START_TEST(nothing_succeeds_behind_what_is_flushed)
{
	add_done(DOFI_OP_SEND);
	add(DOFI_OP_READ, DOFI_WR_ISSUED, DAT_DTO_SUCCESS);
	add_done(DOFI_OP_SEND);
	add(DOFI_OP_SEND, DOFI_WR_DONE, DAT_DTO_ERR_REMOTE_ACCESS);
	add(DOFI_OP_SEND, DOFI_WR_QUEUED, DAT_DTO_SUCCESS);
	add_done(DOFI_OP_RECV);
	add(DOFI_OP_RECV, DOFI_WR_BACK, DAT_DTO_SUCCESS);
	ep.reads = ep.writes = 1;
	ep.owing = true;
	dofi_release_flushed(&ep, DAT_DTO_ERR_TRANSPORT);
	expect(&req_evd, 0, FIRST, DAT_DTO_SUCCESS);
	expect(&req_evd, 1, FIRST + 1, DAT_DTO_ERR_TRANSPORT); /* why the connection broke */
	expect(&req_evd, 2, FIRST + 2, DAT_DTO_ERR_FLUSHED);
	expect(&req_evd, 3, FIRST + 3, DAT_DTO_ERR_REMOTE_ACCESS);
	expect(&req_evd, 4, FIRST + 4, DAT_DTO_ERR_FLUSHED);
	expect(&recv_evd, 0, FIRST, DAT_DTO_SUCCESS);
	expect(&recv_evd, 1, FIRST + 1, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(ep.req.head, 5);
	ck_assert_uint_eq(ep.req.issue, 5);
	ck_assert_uint_eq(ep.recv.head, 2);
	ck_assert_uint_eq(ep.reads + ep.writes, 0);
	ck_assert(!ep.owing);
}
END_TEST

START_TEST(the_first_failure_has_its_own_status)
{
	add(DOFI_OP_SEND, DOFI_WR_DONE, DAT_DTO_ERR_REMOTE_ACCESS);
	add(DOFI_OP_SEND, DOFI_WR_ISSUED, DAT_DTO_SUCCESS);
	dofi_release_flushed(&ep, DAT_DTO_ERR_TRANSPORT);
	expect(&req_evd, 0, FIRST, DAT_DTO_ERR_REMOTE_ACCESS);
	expect(&req_evd, 1, FIRST + 1, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* A bind that was applied has taken effect, although its completion waits for others. */
START_TEST(a_flushed_bind_gives_back_what_it_reserved)
{
	add(DOFI_OP_READ, DOFI_WR_ISSUED, DAT_DTO_SUCCESS);
	add(DOFI_OP_BIND, DOFI_WR_ISSUED, DAT_DTO_SUCCESS);
	add(DOFI_OP_BIND, DOFI_WR_QUEUED, DAT_DTO_SUCCESS);
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(cancelled, 1);
	ck_assert_uint_eq(dofi_evd_queued(&req_evd), 3);
}
END_TEST

/* _i: a message, or a write in parts, which has no buffer */
START_TEST(a_flushed_message_gives_its_buffer_back)
{
	static char memory[2][8];
	struct dofi_wr *wr = add(_i ? DOFI_OP_WRITE : DOFI_OP_SEND, DOFI_WR_ISSUED,
				 DAT_DTO_SUCCESS),
		       again = {.op = DOFI_OP_SEND};
	void *buffer;

	if (_i) {
		wr->split = 2;
		dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
		ck_assert_uint_eq(wr->split, 0);
		return;
	}
	wr->niov = 2;
	for (int i = 0; i < 2; i++)
		wr->iov[i] = (struct iovec){memory[i], 8};
	ck_assert_int_eq(dofi_bounce_take(&ia, &ep.req, wr), 0);
	buffer = wr->iov[0].iov_base;
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(wr->split, 0);
	/* All buffers of the memory can be taken, and that one is among them. */
	for (int i = 0; i < 16; i++) {
		*wr = again;
		ck_assert_int_eq(dofi_bounce_take(&ia, &ep.req, wr), 0);
		if (wr->iov[0].iov_base == buffer)
			return;
	}
	ck_abort_msg("the buffer was not given back");
}
END_TEST

/* No message has come. */
START_TEST(a_flushed_receive_does_not_change_its_memory)
{
	static char memory[2][8];
	struct dofi_wr *wr = add(DOFI_OP_RECV, DOFI_WR_ISSUED, DAT_DTO_SUCCESS);

	wr->niov = 2;
	for (int i = 0; i < 2; i++)
		wr->iov[i] = (struct iovec){memory[i], 8};
	ck_assert_int_eq(dofi_bounce_take(&ia, &ep.recv, wr), 0);
	memset(wr->iov[0].iov_base, 0xff, 16); /* of a message that is not complete */
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	expect(&recv_evd, 0, FIRST, DAT_DTO_ERR_FLUSHED);
	for (int i = 0; i < 16; i++)
		ck_assert_int_eq(memory[i / 8][i % 8], 0);
}
END_TEST

START_TEST(a_flush_ends_the_watching_and_the_parts)
{
	ep.parts.tail = 3;
	ep.holds = true;
	atomic_store(&ia.wait.watchers, 1);
	add(DOFI_OP_SEND, DOFI_WR_QUEUED, DAT_DTO_SUCCESS);
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(atomic_load(&ia.wait.watchers), 0);
	ck_assert(!ep.holds);
	ck_assert_uint_eq(dofi_ring_count(&ep.parts), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("release");
	TCase *tc = tcase_create("release");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, an_event_tells_the_operation, 0, sizeof(kinds) / sizeof(kinds[0]));
	tcase_add_test(tc, a_suppressed_success_has_no_event);
	tcase_add_test(tc, events_leave_from_the_head_of_the_ring);
	tcase_add_loop_test(tc, an_event_notifies_unless_it_was_posted_otherwise, 0,
			    sizeof(wakes) / sizeof(wakes[0]));
	tcase_add_loop_test(tc, a_lost_event_breaks_the_connection, 0, 3);
	tcase_add_test(tc, a_lost_event_gives_its_place_in_the_SRQ_back);
	tcase_add_test(tc, a_receive_without_an_evd_breaks_the_connection);
	tcase_add_test(tc, an_injected_request_is_released_in_its_turn);
	tcase_add_test(tc, a_lost_event_of_an_injected_request);
	tcase_add_loop_test(tc, an_injected_request_with_flags_is_not_plain, 0, 2);
	tcase_add_test(tc, an_injected_request_notifies);
	tcase_add_test(tc, a_polled_completion_releases_what_is_complete);
	tcase_add_test(tc, a_polled_receive_with_a_record);
	tcase_add_test(tc, a_disconnect_goes_on_behind_an_injected_request);
	tcase_add_test(tc, nothing_succeeds_behind_what_is_flushed);
	tcase_add_test(tc, the_first_failure_has_its_own_status);
	tcase_add_test(tc, a_flushed_bind_gives_back_what_it_reserved);
	tcase_add_loop_test(tc, a_flushed_message_gives_its_buffer_back, 0, 2);
	tcase_add_test(tc, a_flushed_receive_does_not_change_its_memory);
	tcase_add_test(tc, a_flush_ends_the_watching_and_the_parts);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
