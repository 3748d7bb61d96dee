/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which message immediate data and invalidated contexts belong to, on fabrics that complete a long
 * message after later short ones. DAT 1.2 has neither of them.
 */
#include "paired.h"

#include <string.h>

#if T_DAT_MAJOR == 1

Suite *conform_records(void)
{
	return suite_create("records");
}

#else

#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_vendor_specific.h>

#define NO_FLAGS DAT_COMPLETION_DEFAULT_FLAG
#define SHORT    8u
#define LONGEST  ((size_t)256 * 1024)
#define MESSAGES 3u

/* The fabric's own choice how to send a message depends on its length. */
static const size_t lengths[] = {SHORT, 16384, 65536, LONGEST};

#define LENGTHS  (int)(sizeof(lengths) / sizeof(lengths[0]))

/* The receiver's memory; the contexts of windows on it. */
static struct t_buf out, in;
static DAT_RMR_HANDLE rmr[2];
static DAT_RMR_CONTEXT context[2];
/* another connection, whose receives come from an SRQ */
static struct t_end from, to;
static DAT_SRQ_HANDLE srq;

static DAT_DTO_COOKIE cookie(uint64_t number)
{
	return (DAT_DTO_COOKIE){.as_64 = number};
}

static void make_memory(void)
{
	t_buf_new(&out, us->on->ia, us->on->pz, LONGEST, DAT_MEM_PRIV_ALL_FLAG);
	t_buf_new(&in, peer->on->ia, peer->on->pz, MESSAGES * LONGEST, DAT_MEM_PRIV_ALL_FLAG);
	t_fill(out.mem, LONGEST, 1);
}

/* Two windows, which a Send over the connection of this end can end. */
static void bind_windows(const struct t_end *end)
{
	for (int i = 0; i < 2; i++) {
		t_ok(dat_rmr_create(end->on->pz, &rmr[i]));
		t_ok(t_rmr_bind(rmr[i], &in, t_seg(&in, 0, 64), DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
				end->ep, 1, NO_FLAGS, &context[i]));
		t_wait_bind(end->request_evd, rmr[i], 1, DAT_DTO_SUCCESS);
	}
}

static void receive_all(const struct t_end *end)
{
	for (uint64_t i = 0; i < MESSAGES; i++) {
		DAT_LMR_TRIPLET segment = t_seg(&in, i * LONGEST, LONGEST);

		if (end == &to)
			t_ok(dat_srq_post_recv(srq, 1, &segment, cookie(i)));
		else
			t_ok(dat_ep_post_recv(end->ep, 1, &segment, cookie(i), NO_FLAGS));
	}
}

static void send_it(const struct t_end *end, size_t length)
{
	DAT_LMR_TRIPLET segment = t_seg(&out, 0, length);

	t_ok(dat_ep_post_send(end->ep, 1, &segment, cookie(9), NO_FLAGS));
}

static void send_invalidating(const struct t_end *end, size_t length, DAT_RMR_CONTEXT ends)
{
	DAT_LMR_TRIPLET segment = t_seg(&out, 0, length);

	t_ok(dat_ep_post_send_with_invalidate(end->ep, 1, &segment, cookie(9), NO_FLAGS, DAT_TRUE,
					      ends));
}

static void write_immediate(const struct t_end *end, DAT_UINT32 value)
{
	DAT_LMR_TRIPLET segment = t_seg(&out, 0, SHORT);
	DAT_RMR_TRIPLET target = t_remote_seg(&in, 0, SHORT);

	t_ok(dat_ib_post_rdma_write_immed(end->ep, 1, &segment, cookie(9), &target, value,
					  NO_FLAGS));
}

static void expect_received(const struct t_end *end, uint64_t number, size_t length,
			    DAT_RMR_CONTEXT ended)
{
	DAT_EVENT event = t_wait_dto(end->recv_evd, end->ep, number, DAT_DTO_SUCCESS, length);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	ck_assert_int_eq(dto->operation, ended ? DAT_DTO_RECEIVE_WITH_INVALIDATE : DAT_DTO_RECEIVE);
	if (ended)
		ck_assert_uint_eq(dto->rmr_context, ended);
	ck_assert(t_is_filled(in.mem + number * LONGEST, length, 1));
}

static void expect_immediate(const struct t_end *end, uint64_t number, DAT_UINT32 value)
{
	DAT_EVENT event = t_wait_for(end->recv_evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	DAT_IB_EXTENSION_EVENT_DATA ext;

	memcpy(&ext, event.event_extension_data, sizeof(ext));
	ck_assert_int_eq(ext.type, DAT_IB_RDMA_WRITE_IMMED_DATA);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, number);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.transfered_length, SHORT);
	ck_assert_uint_eq(ext.val.immed.data, value);
}

static void expect_sent(const struct t_end *end)
{
	for (unsigned int i = 0; i < MESSAGES; i++) {
		DAT_EVENT event = t_wait(end->request_evd);

		ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_SUCCESS);
	}
}

/* Neither the receiver nor the sender can use the contexts any more. */
static void expect_ended(const struct t_end *sender)
{
	DAT_RMR_PARAM param;

	for (int i = 0; i < 2; i++) {
		t_ok(dat_rmr_query(rmr[i], DAT_RMR_FIELD_ALL, &param));
		ck_assert_uint_eq(param.rmr_context, 0);
	}
	t_ok(t_write(sender, 0, SHORT, 9, t_remote(context[0], (uintptr_t)in.mem, SHORT),
		     NO_FLAGS));
	t_wait_dto(sender->request_evd, sender->ep, 9, DAT_DTO_ERR_REMOTE_ACCESS, 0);
}

static void send_and_end_both(const struct t_end *sender, size_t length)
{
	send_invalidating(sender, length, context[0]);
	send_invalidating(sender, SHORT, context[1]);
	send_it(sender, SHORT);
}

static void expect_both_ended(const struct t_end *sender, const struct t_end *receiver,
			      size_t length)
{
	expect_received(receiver, 0, length, context[0]);
	expect_received(receiver, 1, SHORT, context[1]);
	expect_received(receiver, 2, SHORT, 0);
	expect_sent(sender);
	expect_ended(sender);
}

START_TEST(DTO_069_each_send_ends_its_own_context)
{
	if (!paired_has_records())
		t_skip("the fabric cannot carry control records");
	make_memory();
	bind_windows(peer);
	receive_all(peer);
	send_and_end_both(us, lengths[_i]);
	expect_both_ended(us, peer, lengths[_i]);
}
END_TEST

START_TEST(DTO_069_a_long_message_before_the_send)
{
	if (!paired_has_records())
		t_skip("the fabric cannot carry control records");
	make_memory();
	bind_windows(peer);
	receive_all(peer);
	send_it(us, lengths[_i]);
	send_invalidating(us, SHORT, context[0]);
	send_invalidating(us, lengths[_i], context[1]);
	expect_received(peer, 0, lengths[_i], 0);
	expect_received(peer, 1, SHORT, context[0]);
	expect_received(peer, 2, lengths[_i], context[1]);
	expect_sent(us);
	expect_ended(us);
}
END_TEST

/* Most of the data of a long read come after the target has got the message. */
START_TEST(DTO_069_a_read_before_the_send)
{
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET source;

	if (!paired_has_records())
		t_skip("the fabric cannot carry control records");
	make_memory();
	t_fill(in.mem, LONGEST, 2);
	t_ok(dat_rmr_create(peer->on->pz, &rmr[0]));
	t_ok(t_rmr_bind(rmr[0], &in, t_seg(&in, 0, LONGEST), DAT_MEM_PRIV_REMOTE_READ_FLAG,
			peer->ep, 1, NO_FLAGS, &context[0]));
	t_wait_bind(peer->request_evd, rmr[0], 1, DAT_DTO_SUCCESS);
	t_ok(t_recv(peer, 0, SHORT, 0, NO_FLAGS));
	segment = t_seg(&out, 0, lengths[_i]);
	source = t_remote(context[0], (uintptr_t)in.mem, lengths[_i]);
	t_ok(dat_ep_post_rdma_read(us->ep, 1, &segment, cookie(3), &source, NO_FLAGS));
	send_invalidating(us, SHORT, context[0]);
	t_wait_dto(us->request_evd, us->ep, 3, DAT_DTO_SUCCESS, lengths[_i]);
	ck_assert(t_is_filled(out.mem, lengths[_i], 2));
	t_wait_dto(us->request_evd, us->ep, 9, DAT_DTO_SUCCESS, SHORT);
	t_wait_dto(peer->recv_evd, peer->ep, 0, DAT_DTO_SUCCESS, SHORT);
}
END_TEST

START_TEST(HND_023_immediate_data_behind_a_long_message)
{
	if (strcmp(t_named(&us->on->provider, DAT_IB_ATTR_IMMED_DATA), "TRUE"))
		t_skip("the fabric has no immediate data");
	make_memory();
	receive_all(peer);
	send_it(us, lengths[_i]);
	write_immediate(us, 17);
	write_immediate(us, 18);
	expect_received(peer, 0, lengths[_i], 0);
	expect_immediate(peer, 1, 17);
	expect_immediate(peer, 2, 18);
	expect_sent(us);
}
END_TEST

/* --- with an SRQ --- */

static void connect_to_srq(void)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = MESSAGES, .max_recv_iov = 1};
	DAT_EP_ATTR ep_attr = t_default_attr(&paired.ia[1]);

	if (!paired.ia[1].provider.srq_supported)
		t_skip("the fabric has no SRQs");
	t_ok(dat_srq_create(peer->on->ia, peer->on->pz, &attr, &srq));
	t_end_new(&from, us->on, NULL);
	t_end_new(&to, peer->on, NULL);
	t_ok(dat_ep_free(to.ep));
	t_ok(dat_ep_create_with_srq(to.on->ia, to.on->pz, to.recv_evd, to.request_evd,
				    to.connect_evd, srq, &ep_attr, &to.ep));
	t_establish(&paired.listener, &from, &to);
}

START_TEST(DTO_069_each_send_to_an_SRQ_ends_its_own_context)
{
	if (!paired_has_records())
		t_skip("the fabric cannot carry control records");
	make_memory();
	connect_to_srq();
	bind_windows(&to);
	receive_all(&to);
	send_and_end_both(&from, lengths[_i]);
	expect_both_ended(&from, &to, lengths[_i]);
}
END_TEST

/* The records may come before the buffers, which the messages wait for. */
START_TEST(DTO_069_messages_that_wait_for_an_SRQ)
{
	const DAT_PROVIDER_ATTR *attr = &us->on->provider;

	if (!paired_has_records())
		t_skip("the fabric cannot carry control records");
	if (!strcmp(t_named(attr, DAT_OFI_ATTR_PROVIDER), "sockets") &&
	    !strcmp(t_named(attr, DAT_OFI_ATTR_TRANSPORT), "msg"))
		t_skip("sockets goes on with writes while a message waits");
	make_memory();
	connect_to_srq();
	bind_windows(&to);
	send_it(&from, SHORT);
	send_invalidating(&from, lengths[_i], context[0]);
	send_invalidating(&from, SHORT, context[1]);
	t_stays_quiet(to.recv_evd);
	receive_all(&to);
	expect_received(&to, 0, SHORT, 0);
	expect_received(&to, 1, lengths[_i], context[0]);
	expect_received(&to, 2, SHORT, context[1]);
	expect_sent(&from);
	expect_ended(&from);
}
END_TEST

Suite *conform_records(void)
{
	Suite *suite = suite_create("records");
	TCase *tcase = paired_case(suite, "records");

	tcase_add_loop_test(tcase, DTO_069_each_send_ends_its_own_context, 0, LENGTHS);
	tcase_add_loop_test(tcase, DTO_069_a_long_message_before_the_send, 0, LENGTHS);
	tcase_add_loop_test(tcase, DTO_069_a_read_before_the_send, 0, LENGTHS);
	tcase_add_loop_test(tcase, HND_023_immediate_data_behind_a_long_message, 0, LENGTHS);
	tcase_add_loop_test(tcase, DTO_069_each_send_to_an_SRQ_ends_its_own_context, 0, LENGTHS);
	tcase_add_loop_test(tcase, DTO_069_messages_that_wait_for_an_SRQ, 0, LENGTHS);
	return suite;
}
#endif
