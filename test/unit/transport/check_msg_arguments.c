/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What each post of the msg transport passes to the fabric, and what its completions and errors
 * pass to the owner of the operation. The linker redirects those and credit updates to this file.
 */
#include "unit.h"

#include "dto/control.h"
#include "dto/credit.h"
#include "fabric/quirks.h"
#include "object/ia.h"
#include "object/srq_count.h"
#include "object/transport.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include "noted_call.h"

#define NUMBER 5u /* of the connection at the peer */

static const struct dofi_trans_ops *const trans = &dofi_trans_msg;

/* --- the fabric notes the latest call --- */

/* Connected endpoints name no destination. */
static ssize_t note_connected(const struct call *call, fi_addr_t dest)
{
	ck_assert_uint_eq(dest, FI_ADDR_UNSPEC);
	return note(call);
}

#define NOTE(dest, ...) note_connected(&(struct call){.name = __func__, __VA_ARGS__}, dest)

static ssize_t tsend(struct fid_ep *to, const void *buf, size_t size, void *desc, fi_addr_t dest,
		     void *context)
{
	return NOTE(dest, .fep = to, .buf = buf, .size = size, .desc = desc, .context = context);
}

static ssize_t tsendv(struct fid_ep *to, const struct iovec *iov, void **desc, size_t n,
		      fi_addr_t dest, void *context)
{
	return NOTE(dest, .fep = to, .buf = iov, .n = n, .desc = desc, .context = context);
}

static ssize_t tsendmsg(struct fid_ep *to, const struct fi_msg *msg, uint64_t flags)
{
	return NOTE(FI_ADDR_UNSPEC, .fep = to, .buf = msg->msg_iov, .n = msg->iov_count,
		    .desc = msg->desc, .context = msg->context, .flags = flags, .data = msg->data);
}

static ssize_t tsenddata(struct fid_ep *to, const void *buf, size_t size, void *desc, uint64_t data,
			 fi_addr_t dest, void *context)
{
	return NOTE(dest, .fep = to, .buf = buf, .size = size, .desc = desc, .context = context,
		    .data = data);
}

static ssize_t tinject(struct fid_ep *to, const void *buf, size_t size, fi_addr_t dest)
{
	return NOTE(dest, .fep = to, .buf = buf, .size = size);
}

static ssize_t tinjectdata(struct fid_ep *to, const void *buf, size_t size, uint64_t data,
			   fi_addr_t dest)
{
	return NOTE(dest, .fep = to, .buf = buf, .size = size, .data = data);
}

static ssize_t trecv(struct fid_ep *at, void *buf, size_t size, void *desc, fi_addr_t src,
		     void *context)
{
	return NOTE(src, .fep = at, .buf = buf, .size = size, .desc = desc, .context = context);
}

static ssize_t trecvv(struct fid_ep *at, const struct iovec *iov, void **desc, size_t n,
		      fi_addr_t src, void *context)
{
	return NOTE(src, .fep = at, .buf = iov, .n = n, .desc = desc, .context = context);
}

static struct fi_ops_msg msg_ops = {.size = sizeof(msg_ops),
				    .send = tsend,
				    .sendv = tsendv,
				    .sendmsg = tsendmsg,
				    .senddata = tsenddata,
				    .inject = tinject,
				    .injectdata = tinjectdata,
				    .recv = trecv,
				    .recvv = trecvv};
static struct fid_ep fep = {.msg = &msg_ops}, queue = {.msg = &msg_ops};

ssize_t __wrap_dofi_rma_ctrl(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			     uint64_t rkey, uint64_t data);
ssize_t __wrap_dofi_credit_write(struct dofi_ep *of);

ssize_t __wrap_dofi_rma_ctrl(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			     uint64_t rkey, uint64_t data)
{
	ck_assert_ptr_eq(of, &ep);
	return NOTE(FI_ADDR_UNSPEC, .buf = record, .size = size, .address = raddr, .key = rkey,
		    .data = data);
}

ssize_t __wrap_dofi_credit_write(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	return NOTE(FI_ADDR_UNSPEC);
}

/* --- what completes --- */

static struct reaped {
	const struct dofi_wr *wr;
	int err;
	uint64_t length;
	uint32_t number, update;
} reaped;
static unsigned int nreaped;

void __wrap_dofi_reap_done(struct dofi_wr *of, int err, uint64_t length, uint32_t number,
			   uint32_t update);

void __wrap_dofi_reap_done(struct dofi_wr *of, int err, uint64_t length, uint32_t number,
			   uint32_t update)
{
	reaped = (struct reaped){of, err, length, number, update};
	nreaped++;
}

static void setup(void)
{
	begin_posts(&fep);
	ia.has_data = true;
	ep.peer.number = NUMBER;
	srq.srx = &queue;
}

/* The completion data of a message. */
static uint64_t with(uint32_t update)
{
	return (uint64_t)NUMBER << 32 | update;
}

/* --- messages --- */

START_TEST(a_plain_send)
{
	fill(&ep.req, 1, 17);
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	EXPECT(.name = "tsend", .fep = &fep, .buf = memory, .size = 17, .desc = &descs[0],
	       .context = wr);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	fill(&ep.req, 1, 16);
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	EXPECT(.name = "tinject", .fep = &fep, .buf = memory, .size = 16);
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
}
END_TEST

START_TEST(a_small_send_that_is_not_plain)
{
	fill(&ep.req, (uint16_t)_i, _i ? 16 : 0);
	wr->flags = DAT_COMPLETION_SUPPRESS_FLAG;
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	EXPECT(.name = "tinject", .fep = &fep, .buf = _i ? memory : NULL, .size = wr->length);
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
	wr->state = DOFI_WR_ISSUED;
	ep.peer.wants_data = true;
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	EXPECT(.name = "tinjectdata", .fep = &fep, .buf = _i ? memory : NULL, .size = wr->length,
	       .data = with(0));
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
}
END_TEST

START_TEST(a_send_of_several_segments_or_none)
{
	fill(&ep.req, 2, 16);
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	EXPECT(.name = "tsendv", .fep = &fep, .buf = wr->iov, .n = 2,
	       .desc = dofi_wr_desc(&ep.req, wr), .context = wr);
	fill(&ep.req, 0, 0);
	ep.req.issue = 1; /* something is under way */
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	EXPECT(.name = "tsend", .fep = &fep, .context = wr);
}
END_TEST

/* verbs reads the first descriptor even if there is none. */
START_TEST(a_send_with_data)
{
	ep.peer.wants_data = true;
	fill(&ep.req, 2, 16);
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	EXPECT(.name = "tsendmsg", .fep = &fep, .buf = wr->iov, .n = 2,
	       .desc = dofi_wr_desc(&ep.req, wr), .context = wr,
	       .flags = FI_COMPLETION | FI_REMOTE_CQ_DATA, .data = with(0));
	fill(&ep.req, 0, 0);
	ep.req.issue = 1;
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	EXPECT(.name = "tsenddata", .fep = &fep, .context = wr, .data = with(0));
}
END_TEST

/* Behind reads; without data of the message. */
START_TEST(a_send_behind_the_barrier_flag)
{
	fill(&ep.req, 2, 16);
	wr->flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	ck_assert_str_eq(last.name, "tsendv");
	ep.reads = 1;
	ep.recv.issue = 3; /* which is not told without the data */
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	ck_assert_str_eq(last.name, "tsendmsg");
	ck_assert_uint_eq(last.flags, FI_COMPLETION | FI_FENCE);
	ck_assert_uint_eq(ep.announced, 0);
	ep.peer.wants_data = true;
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	ck_assert_uint_eq(last.flags, FI_COMPLETION | FI_FENCE | FI_REMOTE_CQ_DATA);
}
END_TEST

/* With the next message, once; a message that is not taken tells nothing. */
START_TEST(an_update_of_credits)
{
	const uint32_t update = DOFI_UPDATE_CREDIT | 3u << DOFI_UPDATE_CREDIT_SHIFT;

	ep.credit_mode = DOFI_CREDITS_CARRIED;
	ep.recv.issue = 3;
	fill(&ep.req, _i ? 2 : 1, 16);
	answer = -FI_EAGAIN;
	ck_assert_int_eq(trans->send(&ep, wr), -FI_EAGAIN);
	ck_assert_uint_eq(ep.announced, 0);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	answer = 0;
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	ck_assert_str_eq(last.name, _i ? "tsendmsg" : "tinjectdata");
	ck_assert_uint_eq(last.data, with(update));
	ck_assert_uint_eq(ep.announced, 3);
	fill(&ep.req, 1, 16);
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	ck_assert_str_eq(last.name, "tinject");
}
END_TEST

/* If the peer notifies by the flag, and the fabric has completion data. */
START_TEST(a_solicited_message)
{
	static const struct {
		bool flag, wants, has_data, solicited;
	} cases[] = {{true, true, true, true},
		     {false, true, true, false},
		     {true, false, true, false},
		     {true, true, false, false}};

	ep.peer.wants_solicited = cases[_i].wants;
	ia.has_data = cases[_i].has_data;
	fill(&ep.req, 2, 16);
	wr->flags = cases[_i].flag ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0;
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	ck_assert_str_eq(last.name, cases[_i].solicited ? "tsendmsg" : "tsendv");
	ck_assert_uint_eq(last.data, cases[_i].solicited ? with(DOFI_UPDATE_SOLICITED) : 0);
	ck_assert_int_eq(trans->send_empty(&ep, wr), 0);
	ck_assert_str_eq(last.name, cases[_i].solicited ? "tinjectdata" : "tinject");
	ck_assert_uint_eq(last.data, cases[_i].solicited ? with(DOFI_UPDATE_SOLICITED) : 0);
	ck_assert_uint_eq(last.size, 0);
	ck_assert_ptr_null(last.buf);
}
END_TEST

/* They have room for the number and one flag. */
START_TEST(completion_data_of_4_bytes)
{
	domain_attr.cq_data_size = (size_t)_i;
	ep.peer.wants_data = ep.peer.wants_solicited = true;
	fill(&ep.req, 2, 16);
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	ck_assert_uint_eq(last.data, _i > 4 ? with(0) : NUMBER << 1);
	wr->flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	ck_assert_uint_eq(last.data, _i > 4 ? with(1) : NUMBER << 1 | 1);
}
END_TEST

/* In completion data, or as a write to the credit word of the peer. */
START_TEST(a_separate_credit_update)
{
	ep.peer.sink_address = 7;
	ep.peer.sink_key = 8;
	ck_assert_int_eq(trans->send_credit(&ep, 9), 0);
	EXPECT(.name = "__wrap_dofi_rma_ctrl", .address = 7, .key = 8,
	       .data = dofi_ctrl_data(&ep, DOFI_CTRL_CREDIT, 9));
	ep.credit_mode = DOFI_CREDITS_WRITTEN;
	ck_assert_int_eq(trans->send_credit(&ep, 9), 0);
	EXPECT(.name = "__wrap_dofi_credit_write");
}
END_TEST

/* --- receives --- */

START_TEST(a_receive)
{
	fill(&ep.recv, 1, 16);
	ck_assert_int_eq(trans->recv(&ep, wr), 0);
	EXPECT(.name = "trecv", .fep = &fep, .buf = memory, .size = 16, .desc = &descs[0],
	       .context = wr);
	fill(&ep.recv, 2, 16);
	ck_assert_int_eq(trans->recv(&ep, wr), 0);
	EXPECT(.name = "trecvv", .fep = &fep, .buf = wr->iov, .n = 2,
	       .desc = dofi_wr_desc(&ep.recv, wr), .context = wr);
	fill(&ep.recv, 0, 0);
	ck_assert_int_eq(trans->recv(&ep, wr), 0);
	EXPECT(.name = "trecv", .fep = &fep, .buf = &ia.nowhere, .size = 1, .context = wr);
}
END_TEST

START_TEST(a_receive_of_an_srq)
{
	fill(&srq.shape, 1, 16);
	ck_assert_int_eq(trans->srq_recv(&srq, wr), 0);
	EXPECT(.name = "trecv", .fep = &queue, .buf = memory, .size = 16, .desc = &descs[0],
	       .context = wr);
	fill(&srq.shape, 2, 16);
	ck_assert_int_eq(trans->srq_recv(&srq, wr), 0);
	EXPECT(.name = "trecvv", .fep = &queue, .buf = wr->iov, .n = 2,
	       .desc = dofi_wr_desc(&srq.shape, wr), .context = wr);
}
END_TEST

/* --- completions --- */

static void expect_reaped(unsigned int n, int err, uint64_t length, uint32_t number,
			  uint32_t update)
{
	ck_assert_uint_eq(nreaped, n);
	ck_assert_ptr_eq(reaped.wr, wr);
	ck_assert_int_eq(reaped.err, err);
	ck_assert_uint_eq(reaped.length, length);
	ck_assert_uint_eq(reaped.number, number);
	ck_assert_uint_eq(reaped.update, update);
}

START_TEST(several_completions)
{
	struct fi_cq_data_entry entries[3];

	fill(&ep.recv, 1, 16);
	for (size_t i = 0; i < 3; i++)
		entries[i] = (struct fi_cq_data_entry){.op_context = wr,
						       .flags = FI_RECV,
						       .len = i + 1,
						       .data = with(3)};
	trans->completed(&ia, entries, 2);
	expect_reaped(2, 0, 2, 0, 0); /* data without the flag mean nothing */
	entries[2].flags = FI_RECV | FI_REMOTE_CQ_DATA;
	trans->completed(&ia, &entries[2], 1);
	expect_reaped(3, 0, 3, NUMBER, 3);
}
END_TEST

/* Of a peer's write into our memory, whose context is a request of ours, such as a read. */
START_TEST(a_write_of_the_peer_takes_only_receives)
{
	struct fi_cq_data_entry entry = {.flags = FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
					 .data = with(3)};

	fill(&ep.req, 1, 16);
	wr->op = DOFI_OP_READ;
	wr->ep = &ep;
	entry.op_context = wr;
	trans->completed(&ia, &entry, 1);
	expect_reaped(1, 0, 0, NUMBER, 3);
	ck_assert_uint_eq(ep.ctrl.kind, 0);
}
END_TEST

START_TEST(an_operation_that_failed)
{
	struct fi_cq_err_entry err = {
		.flags = FI_RECV, .len = 4, .data = with(3), .err = FI_EIO, .prov_errno = 0};

	fill(&ep.recv, 1, 16);
	err.op_context = wr;
	trans->failed(&ia, &err);
	expect_reaped(1, FI_EIO, 4, 0, 0);
	err.flags |= FI_REMOTE_CQ_DATA;
	trans->failed(&ia, &err);
	expect_reaped(2, FI_EIO, 4, NUMBER, 3);
	err.op_context = NULL; /* of no operation */
	trans->failed(&ia, &err);
	ck_assert_uint_eq(nreaped, 2);
}
END_TEST

/* For a receive, this code of a device means that the message was too long. */
START_TEST(the_cause_of_an_error_depends_on_the_operation)
{
	struct fi_cq_err_entry err = {.err = FI_EIO, .prov_errno = 2}; /* IBV_WC_LOC_QP_OP_ERR */

	ia.quirks = DOFI_QUIRK_VERBS_STATUS;
	fill(_i ? &ep.recv : &ep.req, 1, 16);
	err.op_context = wr;
	trans->failed(&ia, &err);
	expect_reaped(1, _i ? FI_ETRUNC : FI_EIO, 0, 0, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("msg_arguments");
	TCase *tc = tcase_create("posts");

	tcase_add_checked_fixture(tc, setup, end_posts);
	tcase_add_test(tc, a_plain_send);
	tcase_add_loop_test(tc, a_small_send_that_is_not_plain, 0, 2);
	tcase_add_test(tc, a_send_of_several_segments_or_none);
	tcase_add_test(tc, a_send_with_data);
	tcase_add_test(tc, a_send_behind_the_barrier_flag);
	tcase_add_loop_test(tc, an_update_of_credits, 0, 2);
	tcase_add_loop_test(tc, a_solicited_message, 0, 4);
	tcase_add_loop_test(tc, completion_data_of_4_bytes, 4, 6);
	tcase_add_test(tc, a_separate_credit_update);
	tcase_add_test(tc, a_receive);
	tcase_add_test(tc, a_receive_of_an_srq);
	suite_add_tcase(suite, tc);
	tc = tcase_create("completions");
	tcase_add_checked_fixture(tc, setup, end_posts);
	tcase_add_test(tc, several_completions);
	tcase_add_test(tc, a_write_of_the_peer_takes_only_receives);
	tcase_add_test(tc, an_operation_that_failed);
	tcase_add_loop_test(tc, the_cause_of_an_error_depends_on_the_operation, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
