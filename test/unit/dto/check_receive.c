/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The effects of a receive completion and their order, for receives of EPs and of SRQs. All events
 * go to one EVD, so its ring shows their order.
 */
#include "unit.h"

#include "../../../prov/ofi/object/ctxtab.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/object/upcalls.h"
#include "../../../prov/ofi/progress/cno.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/progress/stall.h"
#include "../../../prov/ofi/dto/bounce.h"
#include "../../../prov/ofi/dto/control_message.h"
#include "../../../prov/ofi/dto/credit.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/dto/reap.h"
#include "../../../prov/ofi/dto/release.h"
#include "../../../prov/ofi/dto/receive.h"
#include "../../../prov/ofi/dto/srq_receive.h"
#include "../../../prov/ofi/fabric/quirks.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <string.h>

#define SLOTS     4u
#define EVENTS    8u
#define ROOM      64u
#define OURS      5u /* number of the connection */
#define FIRST     100u
#define SOFT_MARK DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT
#define LOW_MARK  DAT_SRQ_LOW_WATERMARK_EVENT

enum { OF_EP, OF_SRQ, KINDS };

/* A request with its segments and descriptors behind it. */
union slot {
	struct dofi_wr wr;
	struct {
		char request[sizeof(struct dofi_wr)];
		struct iovec iov[2];
		void *desc[2];
	};
};

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_srq srq;
static struct dofi_evd evd;
static struct dofi_cno watcher;
static struct dofi_event events[EVENTS];
static _Alignas(16) union slot slots[SLOTS];
static struct dofi_wr *idle[SLOTS];
static struct dofi_ctx_local local[2];
static struct dofi_pz pz;
static char memory[ROOM];

/* --- functions that the tested files call --- */

static struct {
	unsigned int established, truncated, settled, reposted, notified, sent;
	uint32_t available, nidle; /* of the SRQ, at the time of the event */
	bool is_over, knows_nobody;
	struct dofi_wr *offered; /* the latest receive that the fabric was offered */
} seen;

static ssize_t fabric_answers; /* to a receive */

static struct dofi_ep *receiver(const struct dofi_srq *of, uint32_t id)
{
	ck_assert_ptr_eq(of, &srq);
	return id == OURS && !seen.knows_nobody ? &ep : NULL;
}

static void established(struct dofi_ep *of)
{
	const struct dofi_event event = {.number = DAT_CONNECTION_EVENT_ESTABLISHED, .handle = of};

	dofi_assert_held(&of->lock);
	seen.established++;
	of->state = DAT_EP_STATE_CONNECTED;
	ck_assert_int_eq(dofi_evd_push(&evd, &event, true), 0);
}

static bool is_over(const struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	return seen.is_over;
}

static void truncated(struct dofi_srq *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &srq);
	ck_assert_int_eq(wr->op, DOFI_OP_SRQ_RECV);
	seen.truncated++;
}

static void settle(struct dofi_srq *of)
{
	ck_assert_ptr_eq(of, &srq);
	seen.settled++;
}

static ssize_t take_srq_recv(struct dofi_srq *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &srq);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	seen.offered = wr;
	seen.reposted += !fabric_answers;
	return fabric_answers;
}

static ssize_t take_recv(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	seen.offered = wr;
	seen.reposted += !fabric_answers;
	return fabric_answers;
}

static ssize_t take_send(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_int_eq(wr->op, DOFI_OP_SEND);
	seen.sent++;
	return 0;
}

static const struct dofi_upcalls upcalls = {.receiver = receiver,
					    .established = established,
					    .is_over = is_over,
					    .truncated = truncated,
					    .settle_truncated = settle};
/* Transports with connected endpoints and with a shared endpoint. */
static const struct dofi_trans_ops in_order = {.send = take_send,
					       .recv = take_recv,
					       .srq_recv = take_srq_recv,
					       .has_eq = true},
				   numbered = {.srq_recv = take_srq_recv,
					       .has_eq = true,
					       .numbers = true},
				   numbered_sender = {.send = take_send,
						      .has_eq = true,
						      .numbers = true};

void __wrap_dofi_cno_notify(struct dofi_cno *cno, struct dofi_evd *of);

void __wrap_dofi_cno_notify(struct dofi_cno *cno, struct dofi_evd *of)
{
	ck_assert_ptr_eq(cno, &watcher);
	dofi_assert_held(&of->lock);
	seen.notified++;
	seen.available = srq.available;
	seen.nidle = srq.nidle;
}

/* --- */

static void fill_slot(uint32_t i, int kind)
{
	struct dofi_wr *wr = &slots[i].wr;

	wr->cookie = FIRST + i;
	wr->op = kind == OF_SRQ ? DOFI_OP_SRQ_RECV : DOFI_OP_RECV;
	wr->state = DOFI_WR_ISSUED;
	wr->niov = 1;
	wr->length = ROOM;
	slots[i].iov[0] = (struct iovec){memory, ROOM};
	if (kind == OF_SRQ)
		wr->srq = &srq;
	else
		wr->ep = &ep;
}

static const struct dofi_ring shape = {.base = (char *)slots,
				       .stride = sizeof(slots[0]),
				       .mask = SLOTS - 1,
				       .limit = SLOTS,
				       .max_iov = 2,
				       .fabric_iov = 2,
				       .desc_at = offsetof(union slot, desc)};

static void begin(int kind)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		fill_slot(i, kind);
	if (kind == OF_SRQ) {
		ep.srq = &srq;
		srq.shape = shape;
		srq.idle = idle;
		srq.slots = srq.max_dtos = srq.available = srq.outstanding = SLOTS;
		return;
	}
	ep.recv = shape;
	ep.recv.issue = ep.recv.tail = SLOTS;
}

static void setup(void)
{
	struct dofi_lock *locks[] = {&ia.engine.lock, &ia.engine.stalled_lock, &ep.lock, &srq.lock,
				     &evd.lock};

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		dofi_lock_init(locks[i]);
	dofi_list_init(&ia.engine.stalled);
	ia.trans = ep.trans = &in_order;
	ia.up = &upcalls;
	ia.has_data = true;
	ia.ctxtab.local = local;
	atomic_store(&ia.async_evd, &evd);
	evd.obj.ia = ep.obj.ia = srq.obj.ia = &ia;
	evd.ring = events;
	evd.qlen = EVENTS;
	evd.cno = &watcher;
	ep.recv_evd = ep.req_evd = &evd;
	ep.pz = srq.pz = &pz;
	ep.soft_mark = ep.hard_mark = UINT32_MAX;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.path_up = true;
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
	dofi_ctrl_msgs_detach(&ep);
}

static void arrive(uint32_t i, int err, uint64_t length, uint32_t update)
{
	dofi_reap_done(&slots[i].wr, err, length, OURS, update);
}

static uint32_t numbered_as(uint32_t message)
{
	return message << DOFI_UPDATE_NUMBER_SHIFT;
}

static const struct dofi_event *event_at(uint32_t i)
{
	ck_assert_uint_lt(i, dofi_evd_queued(&evd));
	return dofi_evd_slot(&evd, i);
}

static void expect_completion(uint32_t at, uint32_t slot, uint8_t status, uint64_t length)
{
	const struct dofi_event *event = event_at(at);

	ck_assert_uint_eq(event->number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_uint_eq(event->op, DOFI_OP_RECV);
	ck_assert_uint_eq(event->status, status);
	ck_assert_ptr_eq(event->handle, &ep);
	ck_assert_uint_eq(event->dto.cookie, FIRST + slot);
	ck_assert_ptr_eq(event->dto.srq, ep.srq);
	if (status == DAT_DTO_SUCCESS)
		ck_assert_uint_eq(event->dto.length, length);
}

static void expect_async(uint32_t at, const void *handle, uint32_t reason)
{
	ck_assert_uint_eq(event_at(at)->number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	ck_assert_ptr_eq(event_at(at)->handle, handle);
	ck_assert_uint_eq(event_at(at)->reason, reason);
}

static uint64_t counted(unsigned int counter)
{
	return atomic_load(&ep.counters[counter]);
}

START_TEST(each_receive_has_its_event)
{
	begin(_i);
	arrive(0, 0, 11, 0);
	arrive(1, 0, 12, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 2);
	expect_completion(0, 0, DAT_DTO_SUCCESS, 11);
	expect_completion(1, 1, DAT_DTO_SUCCESS, 12);
	ck_assert_uint_eq(ep.nreceived, 2);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_RECV), 2);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_RECV_DATA), 23);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_COMPLETED), 2);
	ck_assert_uint_eq(seen.established, 0);
	ck_assert(!ep.faulty);
}
END_TEST

/* EVS-125 */
START_TEST(the_first_receive_event_follows_established)
{
	begin(_i);
	ep.state = DAT_EP_STATE_COMPLETION_PENDING;
	arrive(0, 0, 1, 0);
	ck_assert_uint_eq(event_at(0)->number, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_completion(1, 0, DAT_DTO_SUCCESS, 1);
	arrive(1, 0, 1, 0);
	ck_assert_uint_eq(seen.established, 1);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 3);
}
END_TEST

START_TEST(credits_are_applied_before_the_event)
{
	begin(_i);
	ep.credit_total = 3;
	arrive(0, 0, 1, DOFI_UPDATE_CREDIT | 7u << DOFI_UPDATE_CREDIT_SHIFT);
	ck_assert_uint_eq(ep.credit_total, 7);
	arrive(1, 0, 1, DOFI_UPDATE_CREDIT | 6u << DOFI_UPDATE_CREDIT_SHIFT); /* an older count */
	ck_assert_uint_eq(ep.credit_total, 7);
	ck_assert(!ep.stall.waits);
}
END_TEST

/* A Send waits for a credit, which comes with a message. */
START_TEST(credits_start_waiting_requests)
{
	static _Alignas(16) union slot requests[SLOTS];

	begin(_i);
	ep.req = shape;
	ep.req.base = (char *)requests;
	ep.req.tail = 1;
	requests[0].wr = (struct dofi_wr){.ep = &ep, .op = DOFI_OP_SEND, .niov = 1};
	ep.peer.credits = true;
	ep.nsent = ep.credit_total = 3;
	arrive(0, 0, 1, 0);
	ck_assert_uint_eq(seen.sent, 0);
	arrive(1, 0, 1, DOFI_UPDATE_CREDIT | 4u << DOFI_UPDATE_CREDIT_SHIFT);
	ck_assert_uint_eq(seen.sent, 1);
}
END_TEST

/* The engine sends due credit updates and handles the end of the connection. */
START_TEST(due_credit_updates_are_left_to_the_engine)
{
	begin(_i);
	ep.credit_mode = DOFI_CREDITS_CARRIED;
	ep.announced = _i == OF_SRQ ? DOFI_CREDIT_SHARE : 1;
	ep.nreceived = _i == OF_SRQ ? DOFI_CREDIT_SHARE - 1 : 0;
	arrive(0, 0, 1, 0);
	ck_assert(ep.stall.waits);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
}
END_TEST

START_TEST(the_last_message_is_noticed)
{
	begin(_i);
	ep.ending_soon = true;
	ep.last_message = 2;
	arrive(0, 0, 1, 0);
	ck_assert(!ep.stall.waits);
	arrive(1, 0, 1, 0);
	ck_assert(ep.stall.waits);
}
END_TEST

START_TEST(solicited_messages_notify_the_waiter)
{
	begin(_i);
	ep.attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	arrive(0, 0, 1, 0);
	ck_assert_uint_eq(seen.notified, 0);
	arrive(1, 0, 1, DOFI_UPDATE_SOLICITED);
	ck_assert_uint_eq(seen.notified, 1);
	arrive(2, FI_ETRUNC, 0, 0);
	ck_assert_uint_eq(seen.notified, 2);
}
END_TEST

/* EVS-125 and DTO-064 */
START_TEST(a_truncated_message_breaks_the_connection)
{
	begin(_i);
	arrive(0, 0, 1, 0);
	arrive(1, FI_ETRUNC, ROOM, 0);
	expect_completion(1, 1, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	ck_assert(ep.faulty && ep.stall.waits);
	ck_assert_uint_eq(ep.nreceived, 2);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_RECV), 1);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_ERRORS), 1);
}
END_TEST

START_TEST(a_truncated_first_message_follows_established)
{
	begin(_i);
	ep.state = DAT_EP_STATE_COMPLETION_PENDING;
	arrive(0, FI_ETRUNC, ROOM, 0);
	ck_assert_uint_eq(event_at(0)->number, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_completion(1, 0, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	ck_assert(ep.faulty);
}
END_TEST

/* The connection breaks already, so it is not established any more. */
START_TEST(a_truncated_message_behind_a_failure)
{
	begin(_i);
	ep.state = DAT_EP_STATE_COMPLETION_PENDING;
	ep.faulty = true;
	arrive(0, FI_ETRUNC, ROOM, 0);
	ck_assert_uint_eq(seen.established, 0);
}
END_TEST

/* With immediate data of the device, the length is that of the write. */
START_TEST(immediate_data_for_a_receive_without_segments)
{
	begin(_i);
	ia.has_immediates = true;
	slots[0].wr.niov = 0;
	arrive(0, 0, 8, 0);
	expect_completion(0, 0, DAT_DTO_SUCCESS, 8);
	ck_assert(!ep.faulty);
}
END_TEST

/* A receive without segments has no guard byte. */
START_TEST(bytes_for_a_receive_without_segments)
{
	begin(_i);
	slots[0].wr.niov = 0;
	slots[1].wr.niov = 0;
	arrive(0, 0, 0, 0);
	arrive(1, 0, 1, 0);
	expect_completion(0, 0, DAT_DTO_SUCCESS, 0);
	expect_completion(1, 1, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	ck_assert(ep.faulty);
}
END_TEST

START_TEST(an_evd_overflow_breaks_the_connection)
{
	begin(_i);
	evd.tail = EVENTS;
	dofi_evd_publish_count(&evd);
	atomic_store(&ia.async_evd, NULL);
	arrive(0, 0, 1, 0);
	ck_assert(ep.faulty && ep.stall.waits);
	ck_assert_uint_eq(ep.nreceived, 1);
	ck_assert_uint_eq(dofi_evd_queued(&evd), EVENTS);
}
END_TEST

static void expect_immediate(uint32_t at, uint32_t slot, uint32_t value, uint64_t length)
{
	const struct dofi_event *event = event_at(at);

	ck_assert_uint_eq(event->number, DOFI_EVENT_EXTENDED);
	ck_assert_uint_eq(event->op, DOFI_OP_RECV_IMM);
	ck_assert_uint_eq(event->dto.cookie, FIRST + slot);
	ck_assert_uint_eq(event->dto.immediate, value);
	ck_assert_uint_eq(event->dto.length, length);
	ck_assert_ptr_eq(event->dto.srq, ep.srq);
}

START_TEST(a_control_write_applies_to_the_next_message)
{
	begin(_i);
	ep.ctrl = (struct dofi_ctrl){DOFI_CTRL_IMMEDIATE, 77, 1000};
	arrive(0, 0, 0, 0);
	arrive(1, 0, 5, 0);
	expect_immediate(0, 0, 77, 1000);
	expect_completion(1, 1, DAT_DTO_SUCCESS, 5);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_RECV_RDMA_IMM), 1);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_RECV_RDMA_IMM_DATA), 1000);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_RECV), 1);
}
END_TEST

/* The context is not valid. */
START_TEST(an_invalidation_that_fails_ends_the_connection)
{
	begin(_i);
	ep.ctrl = (struct dofi_ctrl){.kind = DOFI_CTRL_INVALIDATE, .value = 0, .length = 9};
	arrive(0, 0, 5, 0);
	ck_assert_uint_eq(event_at(0)->op, DOFI_OP_RECV_INVALIDATE);
	ck_assert_uint_eq(event_at(0)->status, DAT_DTO_ERR_LOCAL_PROTECTION);
	ck_assert(ep.faulty && ep.stall.waits);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_ERRORS), 1);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_RECV_DATA), 5); /* only a write has another length */
}
END_TEST

static void ctrl_msg_about(uint32_t message, uint32_t value)
{
	ep.ctrl_msgs->kept[message] =
		(struct dofi_kept){.ctrl = {DOFI_CTRL_IMMEDIATE, value, 10 * value},
				   .message = message};
	dofi_lock(&ep.lock);
	dofi_receive_ctrl_arrived(&ep, message);
	dofi_unlock(&ep.lock);
}

/* Later messages wait, too. */
START_TEST(a_message_waits_for_its_control_message)
{
	begin(_i);
	ia.uses_ctrl_msgs = true;
	ia.trans = ep.trans = &numbered;
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
	arrive(0, 0, 0, numbered_as(0) | DOFI_UPDATE_CTRL_MSG);
	arrive(1, 0, 9, numbered_as(1));
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ctrl_msg_about(0, 3);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 2);
	expect_immediate(0, 0, 3, 30);
	expect_completion(1, 1, DAT_DTO_SUCCESS, 9);
	ck_assert_uint_eq(ep.nreceived, 2);
	ctrl_msg_about(2, 4);
	arrive(2, 0, 0, numbered_as(2) | DOFI_UPDATE_CTRL_MSG);
	expect_immediate(2, 2, 4, 40);
	ck_assert_uint_eq(ep.ctrl_msgs->used, 2);
}
END_TEST

/* What comes with a message counts when the message does. */
START_TEST(a_message_that_waits_brings_its_credits_later)
{
	static _Alignas(16) union slot requests[SLOTS];

	begin(_i);
	ia.uses_ctrl_msgs = true;
	ia.trans = ep.trans = &numbered_sender;
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
	ep.attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	ep.req = shape;
	ep.req.base = (char *)requests;
	ep.req.tail = 1;
	requests[0].wr = (struct dofi_wr){.ep = &ep, .op = DOFI_OP_SEND, .niov = 1};
	ep.peer.credits = true;
	ep.nsent = ep.credit_total = 3;
	arrive(0, 0, 0,
	       numbered_as(0) | DOFI_UPDATE_CTRL_MSG | DOFI_UPDATE_SOLICITED | DOFI_UPDATE_CREDIT |
		       4u << DOFI_UPDATE_CREDIT_SHIFT);
	ck_assert_uint_eq(ep.credit_total, 3);
	ck_assert_uint_eq(ep.nreceived, 0);
	ctrl_msg_about(0, 3);
	expect_immediate(0, 0, 3, 30);
	ck_assert_uint_eq(seen.notified, 1);
	ck_assert_uint_eq(ep.credit_total, 4);
	ck_assert_uint_eq(seen.sent, 1);
}
END_TEST

/* The length of such a message is its own. */
START_TEST(a_message_that_waits_keeps_its_length)
{
	begin(_i);
	ia.uses_ctrl_msgs = true;
	ia.trans = ep.trans = &numbered;
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
	arrive(0, 0, 9, numbered_as(0) | DOFI_UPDATE_CTRL_MSG);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ep.ctrl_msgs->kept[0].ctrl.kind = DOFI_CTRL_INVALIDATE; /* of no context, so it fails */
	dofi_lock(&ep.lock);
	dofi_receive_ctrl_arrived(&ep, 0);
	dofi_unlock(&ep.lock);
	ck_assert_uint_eq(event_at(0)->op, DOFI_OP_RECV_INVALIDATE);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_RECV_DATA), 9);
}
END_TEST

/* The connection breaks, whatever the control message says. */
START_TEST(a_failure_waits_for_no_control_message)
{
	begin(OF_EP);
	ia.uses_ctrl_msgs = true;
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
	arrive(0, FI_ETRUNC, ROOM, DOFI_UPDATE_CTRL_MSG);
	expect_completion(0, 0, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	ck_assert(ep.faulty);
	ck_assert_uint_eq(ep.ctrl_msgs->used, 0);
}
END_TEST

/* The flag of the message decides, not what else has come. */
START_TEST(a_message_that_announces_no_control_message_has_none)
{
	begin(_i);
	ia.uses_ctrl_msgs = true;
	ia.trans = ep.trans = &numbered;
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
	ctrl_msg_about(0, 3);
	arrive(0, 0, 9, numbered_as(0));
	expect_completion(0, 0, DAT_DTO_SUCCESS, 9);
	ck_assert_uint_eq(ep.ctrl.kind, 0);
	ck_assert_uint_eq(ep.ctrl_msgs->used, 0);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_RECV), 1);
}
END_TEST

/* Its memory has ended since the post, for example: no message was to reach it. */
START_TEST(a_receive_that_can_only_fail_breaks_the_connection)
{
	begin(_i);
	slots[0].wr.status = DAT_DTO_ERR_LOCAL_PROTECTION;
	arrive(0, 0, 5, 0);
	expect_completion(0, 0, DAT_DTO_ERR_LOCAL_PROTECTION, 0);
	ck_assert(ep.faulty && ep.stall.waits);
	ck_assert_uint_eq(ep.nreceived, 1);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_ERRORS), 1);
}
END_TEST

/* An error that is not about a message does not prove that the peer is connected. */
START_TEST(an_error_before_the_first_message_establishes_nothing)
{
	begin(_i);
	ep.state = DAT_EP_STATE_COMPLETION_PENDING;
	arrive(0, FI_EIO, 0, 0);
	ck_assert_uint_eq(seen.established, 0);
	ck_assert(ep.faulty);
}
END_TEST

/* Gives slot 0 to the fabric. */
static ssize_t give(int kind, const struct dofi_ring *of)
{
	struct dofi_lock *lock = kind == OF_SRQ ? &srq.lock : &ep.lock;
	ssize_t ret;

	slots[0].wr.state = DOFI_WR_QUEUED;
	dofi_lock(lock);
	ret = dofi_receive_start(&ia, of, &slots[0].wr);
	dofi_unlock(lock);
	return ret;
}

START_TEST(a_receive_goes_to_the_fabric)
{
	begin(_i);
	fabric_answers = -FI_EAGAIN;
	ck_assert_int_eq(give(_i, &shape), -FI_EAGAIN);
	ck_assert_int_eq(slots[0].wr.state, DOFI_WR_QUEUED);
	ck_assert_uint_eq(slots[0].wr.niov, 1);
	fabric_answers = 0;
	ck_assert_int_eq(give(_i, &shape), 0);
	ck_assert_int_eq(slots[0].wr.state, DOFI_WR_ISSUED);
	ck_assert_ptr_eq(seen.offered, &slots[0].wr);
	ck_assert_uint_eq(slots[0].wr.niov, 1);
	ck_assert_uint_eq(slots[0].wr.split, 0);
}
END_TEST

/* No message may reach its memory any more. */
START_TEST(a_receive_that_can_only_fail_has_no_segments)
{
	begin(_i);
	slots[0].wr.status = DAT_DTO_ERR_LOCAL_PROTECTION;
	ck_assert_int_eq(give(_i, &shape), 0);
	ck_assert_uint_eq(slots[0].wr.niov, 0);
	ck_assert_ptr_eq(seen.offered, &slots[0].wr);
}
END_TEST

/* _i / 2: the message comes, or is truncated */
START_TEST(a_receive_with_many_segments_is_scattered)
{
	static struct fi_domain_attr domain_attr;
	static struct fi_info info = {.domain_attr = &domain_attr};
	struct dofi_ring narrow = shape;
	struct dofi_wr *wr = &slots[0].wr;

	ia.info = &info;
	ck_assert_int_eq(dofi_bounces_init(&ia), 0);
	begin(_i % KINDS);
	narrow.fabric_iov = 1;
	wr->niov = 2;
	slots[0].iov[0] = (struct iovec){memory, 3};
	slots[0].iov[1] = (struct iovec){memory + 8, 5};
	fabric_answers = -FI_EAGAIN;
	ck_assert_int_eq(give(_i % KINDS, &narrow), -FI_EAGAIN);
	fabric_answers = 0;
	ck_assert_int_eq(give(_i % KINDS, &narrow), 0);
	ck_assert_uint_eq(wr->split, 1);
	ck_assert_uint_eq(wr->niov, 1);
	ck_assert_uint_eq(slots[0].iov[0].iov_len, 8);
	memcpy(slots[0].iov[0].iov_base, "abcdefgh", 8);
	arrive(0, _i / KINDS ? FI_ETRUNC : 0, 6, 0);
	ck_assert_uint_eq(wr->split, 0);
	if (_i / KINDS)
		ck_assert_int_eq(memory[0] | memory[8], 0);
	else
		ck_assert_mem_eq(memory, "abc\0\0\0\0\0def\0", 12);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	dofi_bounces_fini(&ia);
}
END_TEST

/* There is no buffer of that size. */
START_TEST(a_receive_without_a_buffer_is_not_given)
{
	struct dofi_ring narrow = shape;
	struct dofi_wr *wr = &slots[0].wr;

	ck_assert_int_eq(dofi_bounces_init(&ia), 0);
	begin(_i);
	narrow.fabric_iov = 1;
	wr->niov = 2;
	slots[0].iov[1] = (struct iovec){memory, (size_t)1 << 40};
	ck_assert_int_eq(give(_i, &narrow), -FI_EAGAIN);
	ck_assert_ptr_null(seen.offered);
	ck_assert_int_eq(wr->state, DOFI_WR_QUEUED);
	ck_assert_uint_eq(wr->niov, 2);
	dofi_bounces_fini(&ia);
}
END_TEST

/* --- receives of an EP --- */

/* It was posted before there was a path. */
START_TEST(a_receive_that_waited_is_scattered)
{
	static struct fi_domain_attr domain_attr;
	static struct fi_info info = {.domain_attr = &domain_attr};
	struct dofi_wr *wr = &slots[0].wr;

	ia.info = &info;
	ck_assert_int_eq(dofi_bounces_init(&ia), 0);
	begin(OF_EP);
	wr->state = DOFI_WR_QUEUED;
	wr->niov = 2;
	slots[0].iov[1] = (struct iovec){memory, 5};
	ep.recv.fabric_iov = 1;
	ep.recv.issue = 0;
	ep.recv.tail = 1;
	dofi_lock(&ep.lock);
	dofi_ep_issue_receives(&ep);
	dofi_unlock(&ep.lock);
	ck_assert_ptr_eq(seen.offered, wr);
	ck_assert_uint_eq(ep.recv.issue, 1);
	ck_assert_uint_eq(wr->niov, 1);
	ck_assert_uint_eq(wr->split, 1);
	dofi_bounces_fini(&ia);
}
END_TEST

/* Posts are counted from the beginning of the connection, and the ring wraps. */
START_TEST(the_place_in_the_ring_tells_the_message)
{
	const uint32_t base = UINT32_MAX - 2;

	begin(OF_EP);
	ia.uses_ctrl_msgs = true;
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
	ep.recv_base = base;
	ep.recv.head = base + 1; /* one message has come: the next one is in slot 2 */
	ep.recv.issue = ep.recv.tail = ep.recv.head + 3;
	ep.nreceived = 1;
	arrive((base + 1) % SLOTS, 0, 0, DOFI_UPDATE_CTRL_MSG);
	arrive((base + 3) % SLOTS, 0, 0, DOFI_UPDATE_CTRL_MSG);
	ck_assert_int_eq(slots[(base + 3) % SLOTS].wr.state, DOFI_WR_HELD);
	ctrl_msg_about(3, 5);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert_int_eq(slots[(base + 3) % SLOTS].wr.state, DOFI_WR_DONE);
	ctrl_msg_about(1, 3);
	expect_immediate(0, (base + 1) % SLOTS, 3, 30);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1); /* message 2 has not come */
	arrive((base + 2) % SLOTS, 0, 7, 0);
	expect_completion(1, (base + 2) % SLOTS, DAT_DTO_SUCCESS, 7);
	expect_immediate(2, (base + 3) % SLOTS, 5, 50);
}
END_TEST

/* Both come before the messages in front of them. */
START_TEST(a_control_message_comes_before_its_message)
{
	begin(OF_EP);
	ia.uses_ctrl_msgs = true;
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
	ctrl_msg_about(2, 4);
	arrive(2, 0, 0, DOFI_UPDATE_CTRL_MSG);
	ck_assert_int_eq(slots[2].wr.state, DOFI_WR_DONE);
	ck_assert_uint_eq(ep.ctrl_msgs->used, 1);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	arrive(0, 0, 5, 0);
	arrive(1, 0, 6, 0);
	expect_completion(0, 0, DAT_DTO_SUCCESS, 5);
	expect_completion(1, 1, DAT_DTO_SUCCESS, 6);
	expect_immediate(2, 2, 4, 40);
}
END_TEST

/* Of a message that has come long ago, or for which no receive is posted. */
START_TEST(a_control_message_about_no_receive_waits)
{
	begin(OF_EP);
	ia.uses_ctrl_msgs = true;
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
	slots[0].wr.state = slots[3].wr.state = DOFI_WR_HELD;
	ep.recv.head = 1;
	ep.recv.tail = ep.recv.issue = 3;
	ctrl_msg_about(0, 3);
	ctrl_msg_about(3, 3);
	ck_assert_uint_eq(ep.ctrl_msgs->used, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert_int_eq(slots[0].wr.state, DOFI_WR_HELD);
	ck_assert_int_eq(slots[3].wr.state, DOFI_WR_HELD);
}
END_TEST

/* A transport that has found the message by the EP holds its lock already. */
START_TEST(a_completion_with_the_lock_held)
{
	begin(OF_EP);
	dofi_lock(&ep.lock);
	dofi_receive_done_held(&slots[0].wr, 11,
			       DOFI_UPDATE_CREDIT | 1u << DOFI_UPDATE_CREDIT_SHIFT);
	dofi_unlock(&ep.lock);
	expect_completion(0, 0, DAT_DTO_SUCCESS, 11);
	ck_assert_uint_eq(ep.credit_total, 1);
	ck_assert_uint_eq(ep.recv.head, 1);
}
END_TEST

/* DTO-074 */
START_TEST(receives_end_in_the_order_of_their_posts)
{
	begin(OF_EP);
	arrive(1, 0, 12, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert_uint_eq(ep.nreceived, 1);
	arrive(0, 0, 11, 0);
	expect_completion(0, 0, DAT_DTO_SUCCESS, 11);
	expect_completion(1, 1, DAT_DTO_SUCCESS, 12);
}
END_TEST

/* DTO-094: receives that the fabric gives back complete by the flush. */
START_TEST(cancelled_receives_wait_for_the_flush)
{
	begin(OF_EP);
	arrive(0, FI_ECANCELED, 0, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert_int_eq(slots[0].wr.state, DOFI_WR_BACK);
	ck_assert_uint_eq(ep.nreceived, 0);
	ck_assert(!ep.path_up && !ep.faulty);
	dofi_lock(&ep.lock);
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	dofi_unlock(&ep.lock);
	ck_assert_uint_eq(dofi_evd_queued(&evd), SLOTS);
	for (uint32_t i = 0; i < SLOTS; i++)
		expect_completion(i, i, DAT_DTO_ERR_FLUSHED, 0);
}
END_TEST

/* Only the first failure has a status of its own. */
START_TEST(one_failure_ends_a_connection)
{
	begin(OF_EP);
	arrive(0, FI_EIO, 0, 0);
	arrive(1, FI_ETRUNC, 0, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	ck_assert(ep.faulty);
	ck_assert_int_eq(slots[1].wr.state, DOFI_WR_BACK);
	ck_assert_uint_eq(ep.nreceived, 2);
}
END_TEST

/* --- receives of an SRQ --- */

/* SRQ-031: when the consumer sees the event, the slot is free. */
START_TEST(the_slot_is_free_before_the_event)
{
	begin(OF_SRQ);
	arrive(2, 0, 1, 0);
	ck_assert_uint_eq(seen.notified, 1);
	ck_assert_uint_eq(seen.available, SLOTS - 1);
	ck_assert_uint_eq(seen.nidle, 1);
	ck_assert_ptr_eq(idle[0], &slots[2].wr);
	ck_assert_uint_eq(srq.outstanding, SLOTS);
}
END_TEST

START_TEST(watermark_events_around_the_completion)
{
	begin(OF_SRQ);
	ep.state = DAT_EP_STATE_COMPLETION_PENDING;
	ep.soft_mark = 0;
	srq.low_watermark = SLOTS;
	srq.armed = true;
	arrive(0, 0, 1, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 4);
	ck_assert_uint_eq(event_at(0)->number, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_async(1, &ep, SOFT_MARK);
	expect_completion(2, 0, DAT_DTO_SUCCESS, 1);
	expect_async(3, &srq, LOW_MARK);
	ck_assert(!srq.armed);
}
END_TEST

/* An EP of an SRQ holds one receive at a time. */
START_TEST(a_soft_mark_of_one_receive)
{
	begin(OF_SRQ);
	ep.soft_mark = 1;
	arrive(0, 0, 1, 0);
	arrive(1, 0, 1, 0);
	ck_assert_uint_eq(ep.soft_mark, 1); /* it was not exceeded */
	ck_assert_uint_eq(dofi_evd_queued(&evd), 2);
}
END_TEST

/* DTO-140 */
START_TEST(messages_have_the_order_of_their_connection)
{
	begin(OF_SRQ);
	ia.trans = ep.trans = &numbered;
	ep.nreceived = DOFI_UPDATE_NUMBER; /* the next number is 0 */
	arrive(0, 0, 10, numbered_as(1));
	arrive(1, 0, 20, numbered_as(0));
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert_uint_eq(srq.available, SLOTS); /* the EP holds them */
	arrive(2, 0, 30, numbered_as(DOFI_UPDATE_NUMBER));
	ck_assert_uint_eq(dofi_evd_queued(&evd), 3);
	expect_completion(0, 2, DAT_DTO_SUCCESS, 30);
	expect_completion(1, 1, DAT_DTO_SUCCESS, 20);
	expect_completion(2, 0, DAT_DTO_SUCCESS, 10);
	ck_assert_ptr_null(ep.held);
	ck_assert_uint_eq(srq.available, SLOTS - 3);
}
END_TEST

/* Its failure breaks the connection, so earlier messages come first. */
START_TEST(a_truncated_message_waits_for_its_turn)
{
	begin(OF_SRQ);
	ia.trans = ep.trans = &numbered;
	arrive(0, FI_ETRUNC, 0, numbered_as(1) | DOFI_UPDATE_CREDIT);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert(!ep.faulty);
	arrive(1, 0, 20, numbered_as(0));
	expect_completion(0, 1, DAT_DTO_SUCCESS, 20);
	expect_completion(1, 0, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	ck_assert(ep.faulty);
	ck_assert_uint_eq(ep.nreceived, 2);
	arrive(2, 0, 20, numbered_as(2)); /* none succeeds behind it */
	ck_assert_uint_eq(dofi_evd_queued(&evd), 2);
}
END_TEST

/*
 * A failure that is no message, one whose number the fabric does not report, and one behind which
 * nothing comes any more. Messages behind earlier ones stay there.
 */
START_TEST(other_failures_do_not_wait)
{
	static const struct {
		int err;
		uint32_t number, update;
		uint64_t quirks;
	} cases[] = {{FI_EIO, 2, DOFI_UPDATE_CREDIT, 0},
		     {FI_ETRUNC, 0, 0, 0},
		     {FI_ETRUNC, 2, DOFI_UPDATE_CREDIT, DOFI_QUIRK_ENDS_STREAM}};

	begin(OF_SRQ);
	ia.trans = ep.trans = &numbered;
	ia.quirks = cases[_i].quirks;
	ep.nreceived = _i == 1 ? 7 : 0;
	arrive(1, 0, 10, numbered_as(ep.nreceived + 1));
	arrive(0, cases[_i].err, 0, numbered_as(cases[_i].number) | cases[_i].update);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	ck_assert(ep.faulty);
	ck_assert_ptr_eq(ep.held, &slots[1].wr);
}
END_TEST

/* DTO-145 */
START_TEST(held_messages_return_their_buffers_at_the_end)
{
	begin(OF_SRQ);
	ia.trans = ep.trans = &numbered;
	arrive(0, 0, 10, numbered_as(1));
	dofi_lock(&ep.lock);
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	dofi_unlock(&ep.lock);
	ck_assert_ptr_null(ep.held);
	ck_assert_uint_eq(seen.reposted, 1);
	ck_assert_uint_eq(srq.available, SLOTS);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
}
END_TEST

/* DTO-144 */
START_TEST(an_incomplete_message_is_flushed)
{
	begin(OF_SRQ);
	arrive(0, FI_ECONNRESET, 0, 0);
	expect_completion(0, 0, DAT_DTO_ERR_FLUSHED, 0);
	ck_assert(!ep.faulty);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_FLUSHED), 1);
	ck_assert_uint_eq(srq.available, SLOTS - 1);
}
END_TEST

START_TEST(a_message_for_an_unknown_connection)
{
	begin(OF_SRQ);
	seen.knows_nobody = true;
	arrive(0, 0, 10, 0);
	ck_assert_uint_eq(seen.reposted, 1);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 1);
	dofi_reap_done(&slots[1].wr, FI_ETRUNC, 0, 0, 0);
	ck_assert_uint_eq(seen.truncated, 1);
	ck_assert_uint_eq(seen.reposted, 1);
	srq.truncated = &slots[1].wr;
	dofi_reap_done(&slots[2].wr, FI_ECANCELED, 0, 0, 0);
	ck_assert_uint_eq(seen.settled, 1);
	ck_assert_uint_eq(seen.reposted, 2);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert_uint_eq(srq.available, SLOTS);
}
END_TEST

/* Two receives that the fabric has no room for, after messages for nobody. */
static void two_receives_wait(void)
{
	begin(OF_SRQ);
	srq.stall.retry = dofi_srq_retry;
	seen.knows_nobody = true;
	fabric_answers = -FI_EAGAIN;
	arrive(0, 0, 10, 0);
	arrive(1, 0, 10, 0);
	ck_assert_ptr_eq(seen.offered, &slots[0].wr); /* the other one is behind it */
	ck_assert(srq.stall.waits);
	ck_assert_uint_eq(srq.available, SLOTS);
}

START_TEST(receives_of_an_SRQ_wait_for_room_in_order)
{
	two_receives_wait();
	dofi_stall_retry_all(&ia);
	ck_assert_ptr_eq(seen.offered, &slots[0].wr);
	ck_assert(srq.stall.waits);
	fabric_answers = 0;
	dofi_stall_retry_all(&ia);
	ck_assert_uint_eq(seen.reposted, 2);
	ck_assert_ptr_eq(seen.offered, &slots[1].wr);
	ck_assert(!srq.stall.waits);
	ck_assert_uint_eq(srq.available, SLOTS);
	ck_assert_uint_eq(srq.nidle, 0);
}
END_TEST

/* The consumer learns by the low watermark that the SRQ has fewer receives than it posted. */
START_TEST(receives_that_the_fabric_refuses_later_are_lost)
{
	two_receives_wait();
	srq.low_watermark = SLOTS - 1;
	srq.armed = true;
	fabric_answers = -FI_EINVAL;
	dofi_stall_retry_all(&ia);
	ck_assert(!srq.stall.waits);
	ck_assert_uint_eq(srq.available, SLOTS - 2);
	ck_assert_uint_eq(srq.outstanding, SLOTS - 2);
	ck_assert_uint_eq(srq.nidle, 2);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	expect_async(0, &srq, LOW_MARK);
}
END_TEST

START_TEST(a_receive_that_the_fabric_refuses_at_once_is_lost)
{
	begin(OF_SRQ);
	seen.knows_nobody = true;
	srq.low_watermark = SLOTS;
	srq.armed = true;
	fabric_answers = -FI_EINVAL;
	arrive(0, 0, 10, 0);
	ck_assert(!srq.stall.waits);
	ck_assert_uint_eq(srq.available, SLOTS - 1);
	ck_assert_uint_eq(srq.outstanding, SLOTS - 1);
	expect_async(0, &srq, LOW_MARK);
}
END_TEST

START_TEST(receives_that_wait_are_dropped_with_the_SRQ)
{
	two_receives_wait();
	dofi_srq_drop_waiting(&srq);
	ck_assert(!srq.stall.waits);
	ck_assert_uint_eq(srq.outstanding, SLOTS - 2);
	fabric_answers = 0;
	arrive(2, 0, 10, 0); /* the SRQ takes nothing back any more */
	ck_assert_uint_eq(seen.reposted, 0);
	ck_assert_uint_eq(srq.outstanding, SLOTS - 3);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
}
END_TEST

START_TEST(connection_of_a_truncated_message)
{
	begin(OF_SRQ);
	dofi_srq_break(&ep, &slots[0].wr);
	expect_completion(0, 0, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	ck_assert(ep.faulty && ep.stall.waits);
	ck_assert_uint_eq(ep.nreceived, 1);
	ck_assert_uint_eq(srq.available, SLOTS - 1);
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
}
END_TEST

START_TEST(each_dequeued_completion_frees_a_place)
{
	begin(OF_SRQ);
	atomic_store(&srq.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_SRQ);
	srq.outstanding = 1;
	dofi_srq_dequeued(&srq);
	ck_assert_uint_eq(srq.outstanding, 0);
	dofi_srq_dequeued(&srq); /* of a former SRQ at this address */
	ck_assert_uint_eq(srq.outstanding, 0);
}
END_TEST

START_TEST(an_event_outlives_its_SRQ)
{
	begin(OF_SRQ);
	atomic_store(&srq.obj.magic, 0);
	dofi_srq_dequeued(&srq);
	ck_assert_uint_eq(srq.outstanding, SLOTS);
}
END_TEST

/* Receives of an EP and of an SRQ */
static void add_both(TCase *both)
{
	tcase_add_checked_fixture(both, setup, teardown);
	tcase_add_loop_test(both, each_receive_has_its_event, 0, KINDS);
	tcase_add_loop_test(both, the_first_receive_event_follows_established, 0, KINDS);
	tcase_add_loop_test(both, credits_are_applied_before_the_event, 0, KINDS);
	tcase_add_loop_test(both, credits_start_waiting_requests, 0, KINDS);
	tcase_add_loop_test(both, due_credit_updates_are_left_to_the_engine, 0, KINDS);
	tcase_add_loop_test(both, the_last_message_is_noticed, 0, KINDS);
	tcase_add_loop_test(both, solicited_messages_notify_the_waiter, 0, KINDS);
	tcase_add_loop_test(both, a_truncated_message_breaks_the_connection, 0, KINDS);
	tcase_add_loop_test(both, a_truncated_first_message_follows_established, 0, KINDS);
	tcase_add_loop_test(both, bytes_for_a_receive_without_segments, 0, KINDS);
	tcase_add_loop_test(both, an_evd_overflow_breaks_the_connection, 0, KINDS);
	tcase_add_loop_test(both, a_control_write_applies_to_the_next_message, 0, KINDS);
	tcase_add_loop_test(both, an_invalidation_that_fails_ends_the_connection, 0, KINDS);
	tcase_add_loop_test(both, a_message_waits_for_its_control_message, 0, KINDS);
	tcase_add_loop_test(both, a_receive_goes_to_the_fabric, 0, KINDS);
	tcase_add_loop_test(both, a_receive_that_can_only_fail_has_no_segments, 0, KINDS);
	tcase_add_loop_test(both, a_receive_with_many_segments_is_scattered, 0, 2 * KINDS);
	tcase_add_loop_test(both, a_message_that_announces_no_control_message_has_none, 0, KINDS);
	tcase_add_loop_test(both, a_receive_that_can_only_fail_breaks_the_connection, 0, KINDS);
	tcase_add_loop_test(both, an_error_before_the_first_message_establishes_nothing, 0, KINDS);
	tcase_add_loop_test(both, a_truncated_message_behind_a_failure, 0, KINDS);
	tcase_add_loop_test(both, immediate_data_for_a_receive_without_segments, 0, KINDS);
	tcase_add_loop_test(both, a_message_that_waits_brings_its_credits_later, 0, KINDS);
	tcase_add_loop_test(both, a_message_that_waits_keeps_its_length, 0, KINDS);
	tcase_add_loop_test(both, a_receive_without_a_buffer_is_not_given, 0, KINDS);
}

int main(void)
{
	Suite *suite = suite_create("receive");
	TCase *both = tcase_create("both"), *of_ep = tcase_create("ep"),
	      *of_srq = tcase_create("srq");

	add_both(both);
	suite_add_tcase(suite, both);
	tcase_add_checked_fixture(of_ep, setup, teardown);
	tcase_add_test(of_ep, a_completion_with_the_lock_held);
	tcase_add_test(of_ep, receives_end_in_the_order_of_their_posts);
	tcase_add_test(of_ep, cancelled_receives_wait_for_the_flush);
	tcase_add_test(of_ep, one_failure_ends_a_connection);
	tcase_add_test(of_ep, the_place_in_the_ring_tells_the_message);
	tcase_add_test(of_ep, a_control_message_comes_before_its_message);
	tcase_add_test(of_ep, a_control_message_about_no_receive_waits);
	tcase_add_test(of_ep, a_failure_waits_for_no_control_message);
	tcase_add_test(of_ep, a_receive_that_waited_is_scattered);
	suite_add_tcase(suite, of_ep);
	tcase_add_checked_fixture(of_srq, setup, teardown);
	tcase_add_test(of_srq, the_slot_is_free_before_the_event);
	tcase_add_test(of_srq, watermark_events_around_the_completion);
	tcase_add_test(of_srq, a_soft_mark_of_one_receive);
	tcase_add_test(of_srq, messages_have_the_order_of_their_connection);
	tcase_add_test(of_srq, a_truncated_message_waits_for_its_turn);
	tcase_add_loop_test(of_srq, other_failures_do_not_wait, 0, 3);
	tcase_add_test(of_srq, held_messages_return_their_buffers_at_the_end);
	tcase_add_test(of_srq, an_incomplete_message_is_flushed);
	tcase_add_test(of_srq, a_message_for_an_unknown_connection);
	tcase_add_test(of_srq, receives_of_an_SRQ_wait_for_room_in_order);
	tcase_add_test(of_srq, receives_that_the_fabric_refuses_later_are_lost);
	tcase_add_test(of_srq, a_receive_that_the_fabric_refuses_at_once_is_lost);
	tcase_add_test(of_srq, receives_that_wait_are_dropped_with_the_SRQ);
	tcase_add_test(of_srq, connection_of_a_truncated_message);
	tcase_add_test(of_srq, each_dequeued_completion_frees_a_place);
	tcase_add_test(of_srq, an_event_outlives_its_SRQ);
	suite_add_tcase(suite, of_srq);
	return t_run(suite);
}
