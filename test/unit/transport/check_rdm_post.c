/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which call of the fabric a Send of the rdm transport becomes: behind writes it carries a fence,
 * and with its completion data a credit update.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/credit.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/dto/ud.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/ud_ah.h"
#include "../../../prov/ofi/transport/rdm_post.h"
#include "../../../prov/ofi/transport/rdm_tag.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#define TAG 12345u

static uint64_t expected_tag = TAG;

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct fi_domain_attr domain_attr = {.cq_data_size = 8};
static struct fi_info info = {.domain_attr = &domain_attr};
static struct fi_ops_tagged tagged_ops;
static struct fid_ep fep = {.tagged = &tagged_ops};
static unsigned char memory[64];

static struct {
	unsigned int sends, messages, injected;
	uint64_t flags, data; /* of the latest message */
	ssize_t answer;
} fabric;

static ssize_t send_it(struct fid_ep *to, const void *buf, size_t length, void *desc,
		       fi_addr_t dest, uint64_t tag, void *context)
{
	(void)to, (void)buf, (void)length, (void)desc, (void)dest, (void)context;
	ck_assert_uint_eq(tag, TAG);
	fabric.sends++;
	return fabric.answer;
}

static ssize_t send_message(struct fid_ep *to, const struct fi_msg_tagged *msg, uint64_t flags)
{
	(void)to;
	ck_assert_uint_eq(msg->tag, expected_tag);
	fabric.messages++;
	fabric.flags = flags;
	fabric.data = msg->data;
	return fabric.answer;
}

static ssize_t inject_it(struct fid_ep *to, const void *buf, size_t length, fi_addr_t dest,
			 uint64_t tag)
{
	(void)to, (void)buf, (void)length, (void)dest;
	ck_assert_uint_eq(tag, expected_tag);
	fabric.injected++;
	return fabric.answer;
}

static ssize_t inject_data(struct fid_ep *to, const void *buf, size_t length, uint64_t data,
			   fi_addr_t dest, uint64_t tag)
{
	fabric.data = data;
	fabric.flags = FI_REMOTE_CQ_DATA;
	return inject_it(to, buf, length, dest, tag);
}

static void setup(void)
{
	tagged_ops = (struct fi_ops_tagged){.size = sizeof(tagged_ops),
					    .send = send_it,
					    .sendmsg = send_message,
					    .inject = inject_it,
					    .injectdata = inject_data};
	ia.info = &info;
	ia.limits.fabric_iov = 4;
	ia.inject_max = 16;
	dofi_lock_init(&ep.lock);
	ep.obj.ia = &ia;
	ep.fep = &fep;
	ep.send_tag = TAG;
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.req, 4, 4), 0);
	dofi_lock(&ep.lock);
}

static void teardown(void)
{
	dofi_unlock(&ep.lock);
	dofi_ring_fini(&ep.req);
}

static ssize_t send_bytes(size_t length, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_wr *wr = dofi_ring_at(&ep.req, ep.req.issue);

	wr->kind = dofi_wr_plain(DOFI_OP_SEND, DOFI_WR_ISSUED);
	wr->flags = (uint8_t)flags;
	wr->ep = &ep;
	wr->length = length;
	wr->iov[0] = (struct iovec){memory, length};
	return dofi_rdm_send(&ep, wr);
}

START_TEST(a_send_behind_writes_is_fenced)
{
	size_t length = _i ? 64 : 8; /* a small one would be injected */

	ep.unfenced = true;
	ck_assert_int_eq(send_bytes(length, 0), 0);
	ck_assert_uint_eq(fabric.messages, 1);
	ck_assert(fabric.flags & FI_FENCE);
	ck_assert(!(fabric.flags & FI_REMOTE_CQ_DATA));
	ck_assert_int_eq(send_bytes(length, 0), 0); /* one fence is enough */
	ck_assert_uint_eq(fabric.messages, 1);
	ck_assert_uint_eq(fabric.injected + fabric.sends, 1);
}
END_TEST

START_TEST(a_fence_that_was_not_taken_is_still_due)
{
	ep.unfenced = true;
	fabric.answer = -FI_EAGAIN;
	ck_assert_int_eq(send_bytes(8, 0), -FI_EAGAIN);
	fabric.answer = 0;
	ck_assert_int_eq(send_bytes(8, 0), 0);
	ck_assert_uint_eq(fabric.messages, 2);
	ck_assert(fabric.flags & FI_FENCE);
}
END_TEST

START_TEST(a_credit_update_behind_writes_is_fenced)
{
	ep.credit_mode = DOFI_CREDITS_CARRIED;
	ep.recv.issue = ep.recv.tail = 5;
	ep.unfenced = true;
	fabric.answer = -FI_EAGAIN;
	ck_assert_int_eq(send_bytes(8, 0), -FI_EAGAIN);
	ck_assert_uint_eq(ep.announced, 0); /* the peer was told nothing */
	fabric.answer = 0;
	ck_assert_int_eq(send_bytes(8, 0), 0);
	ck_assert_uint_eq(ep.announced, 5);
	ck_assert(fabric.flags & FI_FENCE);
	ck_assert(fabric.flags & FI_REMOTE_CQ_DATA);
	ck_assert_uint_eq(fabric.data >> DOFI_UPDATE_CREDIT_SHIFT, 5);
	ck_assert(fabric.data & DOFI_UPDATE_CREDIT);
	ck_assert(!(fabric.data & DOFI_UPDATE_SOLICITED));
	ck_assert_int_eq(send_bytes(8, 0), 0); /* nothing new to tell */
	ck_assert_uint_eq(fabric.injected, 1);
}
END_TEST

/* The flag goes only to a peer that notifies by it. */
START_TEST(a_solicited_send_says_so)
{
	ck_assert_int_eq(send_bytes(8, DAT_COMPLETION_SOLICITED_WAIT_FLAG), 0);
	ck_assert_uint_eq(fabric.injected, 1);
	ep.peer.wants_solicited = true;
	ck_assert_int_eq(send_bytes(8, DAT_COMPLETION_SOLICITED_WAIT_FLAG), 0);
	ck_assert_uint_eq(fabric.messages, 1);
	ck_assert(fabric.data & DOFI_UPDATE_SOLICITED);
	ck_assert_int_eq(send_bytes(8, 0), 0);
	ck_assert_uint_eq(fabric.messages, 1);
}
END_TEST

/* Behind what is under way the copy may stay in the fabric's own queue. */
static const struct {
	bool wants_data, wants_solicited, solicited, ctrl_msgs, has_data;
} empty_messages[] = {
	{false, false, false, false, false}, {false, false, true, false, false},
	{false, true, false, false, false},  {false, true, true, false, true},
	{true, false, false, false, true},   {true, true, true, false, true},
	{false, false, false, true, true},   {true, true, true, true, true},
};

START_TEST(an_empty_message_is_injected)
{
	struct dofi_wr *wr = dofi_ring_at(&ep.req, 0);

	ep.peer.wants_data = empty_messages[_i].wants_data;
	ep.peer.wants_solicited = empty_messages[_i].wants_solicited;
	ep.ctrl_msgs = empty_messages[_i].ctrl_msgs ? (void *)&ep : NULL;
	wr->ep = &ep;
	wr->op = DOFI_OP_WRITE_IMM;
	wr->flags = empty_messages[_i].solicited ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0;
	ck_assert_int_eq(dofi_rdm_send_empty(&ep, wr), 0);
	ck_assert_uint_eq(fabric.injected, 1);
	ck_assert_int_eq(fabric.flags == FI_REMOTE_CQ_DATA, empty_messages[_i].has_data);
	ck_assert_int_eq((fabric.data & DOFI_UPDATE_SOLICITED) != 0,
			 empty_messages[_i].wants_solicited && empty_messages[_i].solicited);
	ck_assert_int_eq((fabric.data & DOFI_UPDATE_CTRL_MSG) != 0, empty_messages[_i].ctrl_msgs);
}
END_TEST

START_TEST(a_send_without_segments_that_is_not_injected)
{
	struct dofi_wr *wr;

	ia.inject_max = 0;
	ep.req.issue = ep.req.tail = 1; /* something is under way */
	wr = dofi_ring_at(&ep.req, 1);
	wr->ep = &ep;
	wr->op = DOFI_OP_SEND;
	wr->state = DOFI_WR_ISSUED;
	wr->niov = 0;
	wr->length = 0;
	ck_assert_int_eq(dofi_rdm_send(&ep, wr), 0);
	ck_assert_uint_eq(fabric.sends, 1);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
}
END_TEST

/* A message for an SRQ has the numbers of the connection and of the message in its data. */
START_TEST(the_data_of_a_message_for_an_srq)
{
	static const struct {
		uint64_t quirks;
		size_t size;
		uint32_t number;
	} fabrics[] = {{DOFI_QUIRK_TAG_MASK, 8, 5}, {DOFI_QUIRK_TAG_MASK, 4, 0}, {0, 8, 0}};

	ia.quirks = fabrics[_i].quirks;
	domain_attr.cq_data_size = fabrics[_i].size;
	ep.peer.number = 5;
	ep.peer.wants_data = true;
	ep.nsent = DOFI_UPDATE_NUMBER - 1;
	ck_assert_int_eq(send_bytes(8, 0), 0);
	ck_assert_uint_eq(fabric.data >> 32, fabrics[_i].number);
	ck_assert_uint_eq((uint32_t)fabric.data, (DOFI_UPDATE_NUMBER - 1)
							 << DOFI_UPDATE_NUMBER_SHIFT);
	ep.nsent = DOFI_UPDATE_NUMBER + 3;
	ck_assert_int_eq(send_bytes(64, 0), 0);
	ck_assert_uint_eq(fabric.data >> 32, fabrics[_i].number);
	ck_assert_uint_eq((uint32_t)fabric.data, 2u << DOFI_UPDATE_NUMBER_SHIFT);
	domain_attr.cq_data_size = 8;
}
END_TEST

START_TEST(a_datagram_names_its_receiver)
{
	static struct dofi_ud_ah ah = {.number = 5};
	struct dofi_wr *wr = dofi_ring_at(&ep.req, 0);

	expected_tag = DOFI_TAG_UD;
	wr->ep = &ep;
	wr->niov = 1;
	wr->flags = _i & 1 ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0;
	wr->length = _i & 2 ? 16 : 17;
	wr->iov[0] = (struct iovec){memory, wr->length};
	ck_assert_int_eq(dofi_rdm_ud_send(&ep, wr, &ah), 0);
	ck_assert_uint_eq(_i & 2 ? fabric.injected : fabric.messages, 1);
	ck_assert_uint_eq(fabric.data, 5 | (_i & 1 ? DOFI_UD_SOLICITED : 0));
	ck_assert(fabric.flags & FI_REMOTE_CQ_DATA);
}
END_TEST

/* Also if others are under way. The request is complete then, and posted again if there is no room.
 */
START_TEST(a_small_datagram_is_injected)
{
	static struct dofi_ud_ah ah = {.number = 5};
	struct dofi_wr *wr = dofi_ring_at(&ep.req, 1);
	unsigned int segments = _i == 1 ? 2 : _i != 2;

	expected_tag = DOFI_TAG_UD;
	ep.req.issue = ep.req.tail = 1;
	wr->ep = &ep;
	wr->state = DOFI_WR_ISSUED;
	wr->niov = (uint8_t)segments;
	wr->split = _i == 3;
	wr->length = segments ? 8 : 0;
	wr->iov[0] = (struct iovec){memory, wr->length};
	fabric.answer = _i == 4 ? -FI_EAGAIN : 0;
	ck_assert_int_eq(dofi_rdm_ud_send(&ep, wr, &ah), fabric.answer);
	ck_assert_uint_eq(fabric.injected, _i == 0 || _i == 4);
	ck_assert_uint_eq(wr->state, _i == 0 ? DOFI_WR_DONE : DOFI_WR_ISSUED);
}
END_TEST

START_TEST(a_small_send_is_injected_when_nothing_is_under_way)
{
	ck_assert_int_eq(send_bytes(16, 0), 0);
	ck_assert_uint_eq(fabric.injected, 1);
	ck_assert_uint_eq(dofi_ring_at(&ep.req, 0)->state, DOFI_WR_DONE);
	ck_assert_int_eq(send_bytes(17, 0), 0);
	ck_assert_uint_eq(fabric.sends, 1);
	ck_assert_uint_eq(dofi_ring_at(&ep.req, 0)->state, DOFI_WR_ISSUED);
	ep.req.issue = ep.req.tail = 1;
	ck_assert_int_eq(send_bytes(16, 0), 0);
	ck_assert_uint_eq(fabric.injected, 1);
	ck_assert_uint_eq(fabric.sends, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rdm_post");
	TCase *tc = tcase_create("sends");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_send_behind_writes_is_fenced, 0, 2);
	tcase_add_test(tc, a_fence_that_was_not_taken_is_still_due);
	tcase_add_test(tc, a_credit_update_behind_writes_is_fenced);
	tcase_add_test(tc, a_solicited_send_says_so);
	tcase_add_test(tc, a_small_send_is_injected_when_nothing_is_under_way);
	tcase_add_loop_test(tc, an_empty_message_is_injected, 0, 8);
	tcase_add_test(tc, a_send_without_segments_that_is_not_injected);
	tcase_add_loop_test(tc, the_data_of_a_message_for_an_srq, 0, 3);
	tcase_add_loop_test(tc, a_datagram_names_its_receiver, 0, 4);
	tcase_add_loop_test(tc, a_small_datagram_is_injected, 0, 5);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
