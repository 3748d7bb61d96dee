/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What each post of the rdm transport passes to the fabric, and that it wakes a peer that sleeps.
 * The linker redirects the RDMA operations and the wakeups to this file.
 */
#include "unit.h"

#include "dto/op_context.h"
#include "dto/ud.h"
#include "fabric/quirks.h"
#include "object/ud_ah.h"
#include "transport/control_receives.h"
#include "transport/rdm_post.h"

#include <rdma/fi_domain.h>

#include "noted_call.h"

#define DEST 77u
#define TAG  12345u

static struct dofi_rdm rdm;
static struct dofi_ud_ah ah;
static struct fid_mr registration = {.mem_desc = &registration};
static _Atomic uint32_t mark;
static struct dofi_wakeup_peer sleeper = {.mark = &mark};

/* --- the fabric notes the latest call --- */

static struct dofi_ctrl_credit credit; /* what the latest injected message contains */

static ssize_t note_with_credit(const struct call *call)
{
	if (call->size == sizeof(credit) && call->buf != memory)
		memcpy(&credit, call->buf, sizeof(credit));
	return note(call);
}

#define NOTE(...) note_with_credit(&(struct call){.name = __func__, __VA_ARGS__})

static ssize_t tsend(struct fid_ep *to, const void *buf, size_t size, void *desc, fi_addr_t dest,
		     uint64_t tag, void *context)
{
	(void)to;
	return NOTE(.buf = buf, .size = size, .desc = desc, .dest = dest, .tag = tag,
		    .context = context);
}

static ssize_t tsendv(struct fid_ep *to, const struct iovec *iov, void **desc, size_t n,
		      fi_addr_t dest, uint64_t tag, void *context)
{
	(void)to;
	return NOTE(.buf = iov, .n = n, .desc = desc, .dest = dest, .tag = tag, .context = context);
}

static ssize_t tsendmsg(struct fid_ep *to, const struct fi_msg_tagged *msg, uint64_t flags)
{
	(void)to;
	return NOTE(.buf = msg->msg_iov, .n = msg->iov_count, .desc = msg->desc, .dest = msg->addr,
		    .tag = msg->tag, .context = msg->context, .flags = flags, .data = msg->data);
}

static ssize_t tinject(struct fid_ep *to, const void *buf, size_t size, fi_addr_t dest,
		       uint64_t tag)
{
	(void)to;
	return NOTE(.buf = buf, .size = size, .dest = dest, .tag = tag);
}

static ssize_t tinjectdata(struct fid_ep *to, const void *buf, size_t size, uint64_t data,
			   fi_addr_t dest, uint64_t tag)
{
	(void)to;
	return NOTE(.buf = buf, .size = size, .dest = dest, .tag = tag, .data = data);
}

static ssize_t trecv(struct fid_ep *at, void *buf, size_t size, void *desc, fi_addr_t src,
		     uint64_t tag, uint64_t ignore, void *context)
{
	(void)at;
	return NOTE(.buf = buf, .size = size, .desc = desc, .dest = src, .tag = tag,
		    .ignore = ignore, .context = context);
}

static ssize_t trecvv(struct fid_ep *at, const struct iovec *iov, void **desc, size_t n,
		      fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	(void)at;
	return NOTE(.buf = iov, .n = n, .desc = desc, .dest = src, .tag = tag, .ignore = ignore,
		    .context = context);
}

static struct fi_ops_tagged tagged_ops = {.size = sizeof(tagged_ops),
					  .send = tsend,
					  .sendv = tsendv,
					  .sendmsg = tsendmsg,
					  .inject = tinject,
					  .injectdata = tinjectdata,
					  .recv = trecv,
					  .recvv = trecvv};
static struct fid_ep fep = {.tagged = &tagged_ops};

ssize_t __wrap_dofi_rma_read(struct dofi_ep *of, struct dofi_wr *what);
ssize_t __wrap_dofi_rma_write(struct dofi_ep *of, struct dofi_wr *what);
ssize_t __wrap_dofi_rma_write_data(struct dofi_ep *of, struct dofi_wr *what, uint64_t data);
ssize_t __wrap_dofi_rma_ctrl(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			     uint64_t rkey, uint64_t data);
ssize_t __wrap_dofi_rma_peek(struct dofi_ep *of, struct dofi_wr *what, void *buf, size_t size,
			     void *desc, uint64_t raddr, uint64_t rkey);

ssize_t __wrap_dofi_rma_read(struct dofi_ep *of, struct dofi_wr *what)
{
	ck_assert_ptr_eq(of, &ep);
	return NOTE(.context = what);
}

ssize_t __wrap_dofi_rma_write(struct dofi_ep *of, struct dofi_wr *what)
{
	ck_assert_ptr_eq(of, &ep);
	return NOTE(.context = what);
}

ssize_t __wrap_dofi_rma_write_data(struct dofi_ep *of, struct dofi_wr *what, uint64_t data)
{
	ck_assert_ptr_eq(of, &ep);
	return NOTE(.context = what, .data = data);
}

ssize_t __wrap_dofi_rma_ctrl(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			     uint64_t rkey, uint64_t data)
{
	ck_assert_ptr_eq(of, &ep);
	return NOTE(.buf = record, .size = size, .address = raddr, .key = rkey, .data = data);
}

ssize_t __wrap_dofi_rma_peek(struct dofi_ep *of, struct dofi_wr *what, void *buf, size_t size,
			     void *desc, uint64_t raddr, uint64_t rkey)
{
	ck_assert_ptr_eq(of, &ep);
	return NOTE(.context = what, .buf = buf, .size = size, .desc = desc, .address = raddr,
		    .key = rkey);
}

static unsigned int wakeups, kicks;

void __wrap_dofi_wakeup_send(struct dofi_ia *of, const struct dofi_wakeup_peer *peer);
void __wrap_dofi_wait_kick(struct dofi_ia *of);

void __wrap_dofi_wakeup_send(struct dofi_ia *of, const struct dofi_wakeup_peer *peer)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(peer, &sleeper);
	wakeups++;
}

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	kicks++;
}

static void setup(void)
{
	begin_posts(&fep);
	ia.rdm = &rdm;
	ia.shared_ep = &fep;
	ia.context_gap = DOFI_CONTEXT_GAP;
	dofi_rx_slots_init(&rdm.slots, 64, 8, false);
	ah.obj.ia = &ia;
	ep.dest = ah.dest = DEST;
	ep.send_tag = ep.recv_tag = TAG;
}

static void *context(void)
{
	return (char *)wr - DOFI_CONTEXT_GAP;
}

/* --- messages --- */

START_TEST(a_plain_send)
{
	fill(&ep.req, 1, 17);
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	EXPECT(.name = "tsend", .buf = memory, .size = 17, .desc = &descs[0], .dest = DEST,
	       .tag = TAG, .context = context());
	fill(&ep.req, 1, 16);
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	EXPECT(.name = "tinject", .buf = memory, .size = 16, .dest = DEST, .tag = TAG);
}
END_TEST

/* It is not plain, but the fabric may copy it all the same. */
START_TEST(a_send_of_no_or_one_segment_that_is_not_plain)
{
	fill(&ep.req, (uint16_t)_i, _i ? 16 : 0);
	wr->flags = DAT_COMPLETION_SUPPRESS_FLAG;
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	EXPECT(.name = "tinject", .buf = _i ? memory : NULL, .size = wr->length, .dest = DEST,
	       .tag = TAG);
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
}
END_TEST

START_TEST(a_send_of_several_segments)
{
	fill(&ep.req, 2, 16);
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	EXPECT(.name = "tsendv", .buf = wr->iov, .n = 2, .desc = dofi_wr_desc(&ep.req, wr),
	       .dest = DEST, .tag = TAG, .context = context());
	ia.inject_max = 0;
	fill(&ep.req, 0, 0);
	ep.req.issue = 1; /* something is under way */
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	EXPECT(.name = "tsend", .dest = DEST, .tag = TAG, .context = context());
}
END_TEST

/* The peer notifies by the flag, but this message asks for no notification. */
START_TEST(a_send_of_several_segments_that_is_not_solicited)
{
	fill(&ep.req, 2, 16);
	ep.peer.wants_solicited = true;
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	ck_assert_str_eq(last.name, "tsendv");
	ep.peer.wants_data = true;
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	ck_assert_str_eq(last.name, "tsendmsg");
	ck_assert_uint_eq(last.data, 0);
}
END_TEST

START_TEST(a_fenced_send)
{
	fill(&ep.req, 2, 16);
	ep.unfenced = true;
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	EXPECT(.name = "tsendmsg", .buf = wr->iov, .n = 2, .desc = dofi_wr_desc(&ep.req, wr),
	       .dest = DEST, .tag = TAG, .context = context(), .flags = FI_FENCE | FI_COMPLETION);
}
END_TEST

/* A message about a control message says so; with a control record it does not. */
START_TEST(the_message_of_an_operation_with_a_control_message)
{
	static const struct {
		uint8_t op;
		bool ctrl_msgs;
		size_t segments;
		uint32_t update;
	} cases[] = {{DOFI_OP_WRITE_IMM, true, 0, DOFI_UPDATE_CTRL_MSG},
		     {DOFI_OP_WRITE_IMM, false, 0, 0},
		     {DOFI_OP_SEND_INVALIDATE, true, 2, DOFI_UPDATE_CTRL_MSG},
		     {DOFI_OP_SEND_INVALIDATE, false, 2, 0}};

	fill(&ep.req, 2, 16);
	wr->op = cases[_i].op;
	ep.ctrl_msgs = cases[_i].ctrl_msgs ? (void *)&ep : NULL;
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	EXPECT(.name = "tsendmsg", .buf = wr->iov, .n = cases[_i].segments,
	       .desc = dofi_wr_desc(&ep.req, wr), .dest = DEST, .tag = TAG, .context = context(),
	       .flags = FI_REMOTE_CQ_DATA | FI_COMPLETION, .data = cases[_i].update);
}
END_TEST

/* The flag of an operation without a control message stays clear, whatever else goes along. */
START_TEST(a_credit_update_of_an_ep_with_control_messages)
{
	fill(&ep.req, 1, 16);
	ep.ctrl_msgs = (void *)&ep;
	ep.peer.wants_data = true;
	ep.credit_mode = DOFI_CREDITS_CARRIED;
	ep.recv.issue = 3;
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	ck_assert_uint_eq(last.data, DOFI_UPDATE_CREDIT | 3u << DOFI_UPDATE_CREDIT_SHIFT);
	ck_assert_uint_eq(ep.announced, 3);
}
END_TEST

START_TEST(an_empty_message)
{
	fill(&ep.req, 2, 16);
	ck_assert_int_eq(dofi_rdm_send_empty(&ep, wr), 0);
	EXPECT(.name = "tinject", .dest = DEST, .tag = TAG);
	ep.peer.wants_data = true;
	ep.nsent = 5;
	ck_assert_int_eq(dofi_rdm_send_empty(&ep, wr), 0);
	EXPECT(.name = "tinjectdata", .dest = DEST, .tag = TAG,
	       .data = 5u << DOFI_UPDATE_NUMBER_SHIFT);
}
END_TEST

START_TEST(messages_to_the_library_of_the_peer)
{
	ck_assert_int_eq(dofi_rdm_ctrl_msg(&ep, memory, 9), 0);
	EXPECT(.name = "tinject", .buf = memory, .size = 9, .dest = DEST, .tag = DOFI_TAG_CTRL);
	ep.peer.number = 3;
	ep.peer.secret = 4;
	ck_assert_int_eq(dofi_rdm_credit(&ep, 5), 0);
	ck_assert_mem_eq(&credit, (&(struct dofi_ctrl_credit){3, 4, 5}), sizeof(credit));
	EXPECT(.name = "tinject", .buf = last.buf, .size = sizeof(struct dofi_ctrl_credit),
	       .dest = DEST, .tag = DOFI_TAG_CTRL);
}
END_TEST

/* --- RDMA: what dto/rma.c gets --- */

START_TEST(rdma_operations_pass_their_arguments)
{
	fill(&ep.req, 1, 16);
	ck_assert_int_eq(dofi_rdm_read(&ep, wr), 0);
	EXPECT(.name = "__wrap_dofi_rma_read", .context = wr);
	ck_assert_int_eq(dofi_rdm_write(&ep, wr), 0);
	EXPECT(.name = "__wrap_dofi_rma_write", .context = wr);
	ck_assert_int_eq(dofi_rdm_write_data(&ep, wr, 3), 0);
	EXPECT(.name = "__wrap_dofi_rma_write_data", .context = wr, .data = 3);
	ck_assert_int_eq(dofi_rdm_ctrl(&ep, memory, 9, 1, 2, 3), 0);
	EXPECT(.name = "__wrap_dofi_rma_ctrl", .buf = memory, .size = 9, .address = 1, .key = 2,
	       .data = 3);
	ck_assert_int_eq(dofi_rdm_peek(&ep, wr, memory, 9, &descs[1], 1, 2), 0);
	EXPECT(.name = "__wrap_dofi_rma_peek", .context = wr, .buf = memory, .size = 9,
	       .desc = &descs[1], .address = 1, .key = 2);
}
END_TEST

/* --- datagrams --- */

START_TEST(a_datagram)
{
	fill(&ep.req, 2, 16);
	ah.number = 4;
	ck_assert_int_eq(dofi_rdm_ud_send(&ep, wr, &ah), 0);
	EXPECT(.name = "tsendmsg", .buf = wr->iov, .n = 2, .desc = dofi_wr_desc(&ep.req, wr),
	       .dest = DEST, .tag = DOFI_TAG_UD, .context = context(),
	       .flags = FI_REMOTE_CQ_DATA | FI_COMPLETION, .data = 4);
}
END_TEST

/* A mark keeps the order of the datagrams; an answer must not wait behind them. */
START_TEST(a_mark_and_its_answer)
{
	ah.peer_conn = 4;
	ah.peer_secret = 5;
	ck_assert_int_eq(dofi_rdm_ud_mark(&ah, 6, false), 0);
	ck_assert_mem_eq(&credit, (&(struct dofi_ctrl_credit){4, 5, 6}), sizeof(credit));
	EXPECT(.name = "tinjectdata", .buf = last.buf, .size = sizeof(struct dofi_ctrl_credit),
	       .dest = DEST, .tag = DOFI_TAG_UD);
	ck_assert_int_eq(dofi_rdm_ud_mark(&ah, 7, true), 0);
	ck_assert_mem_eq(&credit, (&(struct dofi_ctrl_credit){4, 5, 7}), sizeof(credit));
	EXPECT(.name = "tinject", .buf = last.buf, .size = sizeof(struct dofi_ctrl_credit),
	       .dest = DEST, .tag = DOFI_TAG_CTRL);
}
END_TEST

/* --- receives --- */

START_TEST(a_receive_of_an_ep)
{
	fill(&ep.recv, 1, 16);
	ck_assert_int_eq(dofi_rdm_recv(&ep, wr), 0);
	EXPECT(.name = "trecv", .buf = memory, .size = 16, .desc = &descs[0],
	       .dest = FI_ADDR_UNSPEC, .tag = TAG, .context = context());
	fill(&ep.recv, 2, 16);
	ck_assert_int_eq(dofi_rdm_recv(&ep, wr), 0);
	EXPECT(.name = "trecvv", .buf = wr->iov, .n = 2, .desc = dofi_wr_desc(&ep.recv, wr),
	       .dest = FI_ADDR_UNSPEC, .tag = TAG, .context = context());
}
END_TEST

/* It gets a byte of the library, which no other receive uses. */
START_TEST(a_receive_without_segments)
{
	fill(&ep.recv, 0, 0);
	rdm.ctrl_mr = _i ? &registration : NULL;
	ck_assert_int_eq(dofi_rdm_recv(&ep, wr), 0);
	EXPECT(.name = "trecv", .buf = &rdm.ctrl_buffers[DOFI_CTRL_BUFFERS], .size = 1,
	       .desc = _i ? &registration : NULL, .dest = FI_ADDR_UNSPEC, .tag = TAG,
	       .context = context());
}
END_TEST

/* Any connection may send to it: its number is in the data, or the tag is compared without it. */
START_TEST(a_receive_of_an_srq)
{
	fill(&srq.shape, 1, 16);
	srq.number = 9;
	ia.quirks = _i ? DOFI_QUIRK_TAG_MASK : 0;
	ck_assert_int_eq(dofi_rdm_srq_recv(&srq, wr), 0);
	EXPECT(.name = "trecv", .buf = memory, .size = 16, .desc = &descs[0],
	       .dest = FI_ADDR_UNSPEC, .tag = DOFI_TAG_SRQ | UINT64_C(9) << DOFI_TAG_SHIFT,
	       .ignore = _i ? 0 : DOFI_TAG_NUMBER, .context = context());
}
END_TEST

START_TEST(a_receive_for_datagrams)
{
	fill(&ep.recv, 1, 16);
	wr->ud_recv.has_slot = false;
	ck_assert_int_eq(dofi_rdm_ud_recv(&ia, wr, memory, 9, &descs[1]), 0);
	EXPECT(.name = "trecv", .buf = memory, .size = 9, .desc = &descs[1], .dest = FI_ADDR_UNSPEC,
	       .tag = DOFI_TAG_UD, .context = context());
	ck_assert(wr->ud_recv.has_slot);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), 1);
	ck_assert_int_eq(dofi_rdm_ud_recv(&ia, wr, memory, 9, &descs[1]), 0);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), 1); /* it keeps its slot */
}
END_TEST

static ssize_t receive(int kind)
{
	if (kind == 0)
		return dofi_rdm_recv(&ep, wr);
	return kind == 1 ? dofi_rdm_srq_recv(&srq, wr) : dofi_rdm_ud_recv(&ia, wr, memory, 9, NULL);
}

/* The first time, it shows that the fabric takes no more than it reports. */
START_TEST(a_receive_that_finds_the_fabric_full)
{
	const uint32_t sure = rdm.slots.sure;

	fill(&ep.recv, 1, 16);
	atomic_store(&rdm.slots.most, UINT32_MAX);
	atomic_store(&rdm.slots.taken, sure);
	answer = -FI_EIO; /* not full */
	ck_assert_int_eq(receive(_i), -FI_EIO);
	ck_assert(!dofi_rx_slots_asked(&rdm.slots));
	ck_assert_uint_eq(atomic_load(&rdm.slots.most), UINT32_MAX);
	answer = -FI_ENOMEM; /* as shm of libfabric 1.17 says it */
	ck_assert_int_eq(receive(_i), -FI_EAGAIN);
	ck_assert(dofi_rx_slots_asked(&rdm.slots));
	ck_assert_uint_eq(atomic_load(&rdm.slots.most), sure);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), sure + (_i == 2));
}
END_TEST

/* It has to wait, and the engine looks for room. */
START_TEST(a_receive_that_finds_no_slot)
{
	fill(&ep.recv, 1, 16);
	wr->ud_recv.has_slot = false;
	atomic_store(&rdm.slots.taken, rdm.slots.sure);
	ck_assert_int_eq(receive(_i), -FI_EAGAIN);
	ck_assert_uint_eq(calls, 0);
	ck_assert(dofi_rx_slots_asked(&rdm.slots));
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), rdm.slots.sure);
}
END_TEST

/* --- wakeups --- */

static ssize_t post(int kind)
{
	switch (kind) {
	case 0:
		return dofi_rdm_send(&ep, wr);
	case 1:
		return dofi_rdm_send_empty(&ep, wr);
	case 2:
		ep.peer.wants_data = true;
		return dofi_rdm_send_empty(&ep, wr);
	case 3:
		return dofi_rdm_read(&ep, wr);
	case 4:
		return dofi_rdm_write(&ep, wr);
	case 5:
		return dofi_rdm_write_data(&ep, wr, 0);
	case 6:
		return dofi_rdm_ctrl(&ep, memory, 1, 0, 0, 0);
	case 7:
		return dofi_rdm_ctrl_msg(&ep, memory, 1);
	case 8:
		return dofi_rdm_peek(&ep, wr, memory, 1, NULL, 0, 0);
	case 9:
		return dofi_rdm_credit(&ep, 0);
	case 10:
		return dofi_rdm_ud_send(&ep, wr, &ah);
	case 11:
		return dofi_rdm_ud_mark(&ah, 0, false);
	default:
		return dofi_rdm_ud_mark(&ah, 0, true);
	}
}

#define POSTS 13

/* Nothing else would, on a fabric without a descriptor to sleep on. */
START_TEST(a_post_wakes_a_peer_that_sleeps)
{
	fill(&ep.req, 1, 17);
	ep.wakeup = ah.wakeup = &sleeper;
	ck_assert_int_eq(post(_i), 0);
	ck_assert_uint_eq(wakeups, 0); /* it is awake */
	ck_assert(atomic_load(&ia.wait.posted));
	mark = 1;
	ck_assert_int_eq(post(_i), 0);
	ck_assert_uint_eq(wakeups, 1);
	ck_assert_uint_eq(kicks, 0);
	ck_assert_uint_eq(calls, 2);
}
END_TEST

/* Only a driver in a long sleep is woken, to read the completion of the post. */
START_TEST(a_post_wakes_our_own_driver_in_its_long_sleep)
{
	fill(&ep.req, 1, 17);
	ep.wakeup = ah.wakeup = &sleeper;
	atomic_store(&ia.wait.deep, true);
	ck_assert_int_eq(post(_i), 0);
	ck_assert_uint_eq(kicks, 1);
}
END_TEST

START_TEST(a_post_that_is_refused_wakes_nobody)
{
	fill(&ep.req, 1, 17);
	ep.wakeup = ah.wakeup = &sleeper;
	mark = 1;
	atomic_store(&ia.wait.deep, true);
	answer = -FI_EAGAIN;
	ck_assert_int_eq(post(_i), -FI_EAGAIN);
	ck_assert_uint_eq(wakeups + kicks, 0);
	ck_assert(!atomic_load(&ia.wait.posted));
}
END_TEST

START_TEST(without_wakeups_a_post_wakes_nobody)
{
	fill(&ep.req, 1, 17);
	mark = 1;
	atomic_store(&ia.wait.deep, true);
	ck_assert_int_eq(post(_i), 0);
	ck_assert_uint_eq(wakeups + kicks, 0);
}
END_TEST

static void add_messages(TCase *tc)
{
	tcase_add_test(tc, a_plain_send);
	tcase_add_loop_test(tc, a_send_of_no_or_one_segment_that_is_not_plain, 0, 2);
	tcase_add_test(tc, a_send_of_several_segments);
	tcase_add_test(tc, a_send_of_several_segments_that_is_not_solicited);
	tcase_add_test(tc, a_fenced_send);
	tcase_add_loop_test(tc, the_message_of_an_operation_with_a_control_message, 0, 4);
	tcase_add_test(tc, a_credit_update_of_an_ep_with_control_messages);
	tcase_add_test(tc, an_empty_message);
	tcase_add_test(tc, messages_to_the_library_of_the_peer);
	tcase_add_test(tc, rdma_operations_pass_their_arguments);
	tcase_add_test(tc, a_datagram);
	tcase_add_test(tc, a_mark_and_its_answer);
}

static void add_receives(TCase *tc)
{
	tcase_add_test(tc, a_receive_of_an_ep);
	tcase_add_loop_test(tc, a_receive_without_segments, 0, 2);
	tcase_add_loop_test(tc, a_receive_of_an_srq, 0, 2);
	tcase_add_test(tc, a_receive_for_datagrams);
	tcase_add_loop_test(tc, a_receive_that_finds_the_fabric_full, 0, 3);
	tcase_add_loop_test(tc, a_receive_that_finds_no_slot, 0, 3);
}

static void add_wakeups(TCase *tc)
{
	tcase_add_loop_test(tc, a_post_wakes_a_peer_that_sleeps, 0, POSTS);
	tcase_add_loop_test(tc, a_post_wakes_our_own_driver_in_its_long_sleep, 0, POSTS);
	tcase_add_loop_test(tc, a_post_that_is_refused_wakes_nobody, 0, POSTS);
	tcase_add_loop_test(tc, without_wakeups_a_post_wakes_nobody, 0, POSTS);
}

int main(void)
{
	static void (*const add[])(TCase * tc) = {add_messages, add_receives, add_wakeups};
	Suite *suite = suite_create("rdm_arguments");

	for (size_t i = 0; i < sizeof(add) / sizeof(add[0]); i++) {
		TCase *tc = tcase_create((const char *[]){"messages", "receives", "wakeups"}[i]);

		tcase_add_checked_fixture(tc, setup, end_posts);
		add[i](tc);
		suite_add_tcase(suite, tc);
	}
	return t_run(suite);
}
