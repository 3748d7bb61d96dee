/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transfers: RDMA reads and writes, binds. */
#include "conform_dto.h"
#include "paired.h"

static void expect_done(uint64_t cookie, size_t length)
{
	t_wait_dto(us->request_evd, us->ep, cookie, DAT_DTO_SUCCESS, length);
}

static DAT_RETURN read_from(DAT_RMR_TRIPLET from, uint64_t cookie)
{
	return t_read(us, 0, (size_t)from.segment_length, cookie, from,
		      DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN write_to(DAT_RMR_TRIPLET to, uint64_t cookie)
{
	return t_write(us, 0, (size_t)to.segment_length, cookie, to, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Expects that the peer's memory refuses the access, by the post or by the completion. */
static void expect_refused(DAT_RETURN ret, uint64_t cookie)
{
	if (ret != DAT_SUCCESS) {
		t_error2(ret, DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION);
		return;
	}
	t_wait_dto(us->request_evd, us->ep, cookie, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	paired_ends(DAT_CONNECTION_EVENT_BROKEN);
}

/* --- read --- */

START_TEST(DTO_097_098_112_read_fills_front_to_back)
{
	DAT_LMR_TRIPLET iov[3] = {t_seg(&us->buf, 0, 100), t_seg(&us->buf, 1000, 300),
				  t_seg(&us->buf, 2000, 200)};
	DAT_RMR_TRIPLET from = t_remote_seg(&peer->buf, 50, 450);
	unsigned char got[450];

	t_ok(t_recv(peer, 0, 10, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_fill(peer->buf.mem + 50, 450, 4);
	memset(us->buf.mem, '.', T_BUF_SIZE);
	t_ok(dat_ep_post_rdma_read(us->ep, 3, iov, (DAT_DTO_COOKIE){.as_64 = 1}, &from,
				   DAT_COMPLETION_DEFAULT_FLAG));
	expect_done(1, 450);
	memcpy(got, us->buf.mem, 100);
	memcpy(got + 100, us->buf.mem + 1000, 300);
	memcpy(got + 400, us->buf.mem + 2000, 50);
	ck_assert(t_is_filled(got, sizeof(got), 4));
	for (size_t i = 2050; i < 2300; i++)
		ck_assert_int_eq(us->buf.mem[i], '.');
	t_no_event(peer->recv_evd);
	t_no_event(peer->request_evd);
}
END_TEST

START_TEST(DTO_010_099_100_read_lengths)
{
	DAT_RMR_TRIPLET nothing = t_remote_seg(&peer->buf, 0, 0), some = nothing;
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	some.segment_length = 10;
	t_error(dat_ep_post_rdma_read(us->ep, 0, NULL, cookie, &some, DAT_COMPLETION_DEFAULT_FLAG),
		DAT_LENGTH_ERROR);
	t_error(t_read(us, 0, 9, 1, some, DAT_COMPLETION_DEFAULT_FLAG), DAT_LENGTH_ERROR);
	t_no_event(us->request_evd);
	ck_assert_int_eq(t_ep_state(us->ep), DAT_EP_STATE_CONNECTED);
	t_ok(dat_ep_post_rdma_read(us->ep, 0, NULL, cookie, &nothing, DAT_COMPLETION_DEFAULT_FLAG));
	expect_done(1, 0);
	memset(us->buf.mem, '.', 16);
	t_ok(t_read(us, 0, 16, 2, nothing, DAT_COMPLETION_DEFAULT_FLAG));
	expect_done(2, 0);
	ck_assert_int_eq(us->buf.mem[0], '.');
}
END_TEST

START_TEST(DTO_101_124_remote_segment_is_needed)
{
	DAT_LMR_TRIPLET segment = t_seg(&us->buf, 0, 10);
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	t_bad_arg(dat_ep_post_rdma_read(us->ep, 1, &segment, cookie, NULL,
					DAT_COMPLETION_DEFAULT_FLAG));
	t_bad_arg(dat_ep_post_rdma_write(us->ep, 1, &segment, cookie, NULL,
					 DAT_COMPLETION_DEFAULT_FLAG));
	t_no_event(us->request_evd);
}
END_TEST

START_TEST(DTO_102_128_flags_that_are_taken)
{
	static const unsigned int good[] = {
		DAT_COMPLETION_DEFAULT_FLAG,
		DAT_COMPLETION_SUPPRESS_FLAG,
		DAT_COMPLETION_BARRIER_FENCE_FLAG,
		DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG,
	};

	for (uint64_t i = 0; i < 4; i++) {
		t_ok(t_read(us, 0, 64, i, t_remote_seg(&peer->buf, 0, 64),
			    (DAT_COMPLETION_FLAGS)good[i]));
		t_ok(t_write(us, 0, 64, i, t_remote_seg(&peer->buf, 0, 64),
			     (DAT_COMPLETION_FLAGS)good[i]));
		if (good[i] & DAT_COMPLETION_SUPPRESS_FLAG)
			continue;
		expect_done(i, 64);
		expect_done(i, 64);
	}
}
END_TEST

START_TEST(DTO_104_107_more_reads_than_may_be_under_way)
{
	DAT_COUNT number = t_ep_attr(us->ep).max_request_dtos;
	size_t size = T_BUF_SIZE / (size_t)number;

	ck_assert_uint_gt(size, 0);
	ck_assert_int_gt(number, t_ep_attr(us->ep).max_rdma_read_out);
	t_fill(peer->buf.mem, T_BUF_SIZE, 1);
	for (DAT_COUNT i = 0; i < number; i++)
		t_ok(t_read(us, size * (size_t)i, size, (uint64_t)i,
			    t_remote_seg(&peer->buf, size * (size_t)i, size),
			    DAT_COMPLETION_DEFAULT_FLAG));
	for (DAT_COUNT i = 0; i < number; i++)
		expect_done((uint64_t)i, size);
	ck_assert(t_is_filled(us->buf.mem, size * (size_t)number, 1));
	t_no_event(us->connect_evd);
}
END_TEST

/* Connects the pair again, so that no more than `limit` of our reads are under way. */
static void limit_reads(DAT_COUNT limit)
{
	DAT_EP_PARAM param;

	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ok(dat_ep_reset(us->ep));
	t_ok(dat_ep_reset(peer->ep));
	param.ep_attr = t_ep_attr(us->ep);
	param.ep_attr.max_rdma_read_out = limit;
	t_ok(dat_ep_modify(us->ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, &param));
	t_establish(&paired.listener, us, peer);
}

START_TEST(DTO_104_reads_that_wait_start_in_order)
{
	/* One at a time into the same memory: if one overtook another, its data would be lost. */
	const size_t size = T_BUF_SIZE / 8;
	const DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;

	limit_reads(1);
	for (uint64_t round = 0; round < 20; round++) {
		t_fill(peer->buf.mem, T_BUF_SIZE, (unsigned int)round);
		for (uint64_t i = 0; i < 7; i++)
			t_ok(t_read(us, 0, size, i, t_remote_seg(&peer->buf, i, size), none));
		/* The last one is short: it overtakes if any of them can. */
		t_ok(t_read(us, 0, 8, 7, t_remote_seg(&peer->buf, 7, 8), none));
		for (uint64_t i = 0; i < 8; i++)
			expect_done(i, i < 7 ? size : 8);
		ck_assert_mem_eq(us->buf.mem, peer->buf.mem + 7, 8);
		ck_assert_mem_eq(us->buf.mem + 8, peer->buf.mem + 6 + 8, size - 8);
	}
}
END_TEST

START_TEST(DTO_105_read_with_a_limit_of_0)
{
	DAT_RETURN ret;

	limit_reads(0);
	ret = read_from(t_remote_seg(&peer->buf, 0, 64), 1);
	if (ret == DAT_SUCCESS)
		expect_done(1, 64);
	else
		ck_assert(DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER ||
			  DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES ||
			  DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED);
	ck_assert_int_eq(t_ep_state(us->ep), DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(DTO_115_read_needs_no_remote_write)
{
	struct t_buf into;
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET from = t_remote_seg(&peer->buf, 0, 64);

	ck_assert(!paired.ia[0].provider.rdma_write_for_rdma_read_req);
	t_buf_new(&into, paired.ia[0].ia, paired.ia[0].pz, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	segment = t_seg(&into, 0, 64);
	t_ok(dat_ep_post_rdma_read(us->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1}, &from,
				   DAT_COMPLETION_DEFAULT_FLAG));
	expect_done(1, 64);
}
END_TEST

START_TEST(DTO_113_read_while_our_send_waits_for_a_receive)
{
	/* EVS-133; the target sends a message meanwhile, which has no receive yet */
	struct t_buf big[2];
	DAT_LMR_TRIPLET segment;
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	for (int i = 0; i < 2; i++)
		t_buf_new(&big[i], paired.ia[i].ia, paired.ia[i].pz, t_much(&paired.ia[i]),
			  DAT_MEM_PRIV_ALL_FLAG);
	segment = t_seg(&big[1], 0, big[1].size);
	t_ok(dat_ep_post_send(peer->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(read_from(t_remote_seg(&peer->buf, 0, 1000), 2));
	expect_done(2, 1000);
	segment = t_seg(&big[0], 0, big[0].size);
	t_ok(dat_ep_post_recv(us->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(us->recv_evd, us->ep, 1, DAT_DTO_SUCCESS, big[0].size);
}
END_TEST

/* --- write --- */

START_TEST(DTO_120_122_130_write_gathers)
{
	DAT_LMR_TRIPLET iov[3] = {t_seg(&us->buf, 0, 10), t_seg(&us->buf, 100, 20),
				  t_seg(&us->buf, 200, 5)};
	DAT_RMR_TRIPLET to = t_remote_seg(&peer->buf, 500, 100);

	t_ok(t_recv(peer, 0, 10, 1, DAT_COMPLETION_DEFAULT_FLAG));
	memset(peer->buf.mem, '.', T_BUF_SIZE);
	memcpy(us->buf.mem, "0123456789", 10);
	memcpy(us->buf.mem + 100, "abcdefghijklmnopqrst", 20);
	memcpy(us->buf.mem + 200, "ABCDE", 5);
	t_ok(dat_ep_post_rdma_write(us->ep, 3, iov, (DAT_DTO_COOKIE){.as_64 = 1}, &to,
				    DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(us, 0, 1, 2, DAT_COMPLETION_DEFAULT_FLAG));
	expect_done(1, 35);
	t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, 1);
	ck_assert_mem_eq(peer->buf.mem + 499, ".0123456789abcdefghijklmnopqrstABCDE.", 37);
	t_no_event(peer->recv_evd);
	t_no_event(peer->request_evd);
}
END_TEST

START_TEST(DTO_011_121_123_write_lengths)
{
	DAT_RMR_TRIPLET to = t_remote_seg(&peer->buf, 0, 9);

	memset(peer->buf.mem, '.', 16);
	t_error(t_write(us, 0, 10, 1, to, DAT_COMPLETION_DEFAULT_FLAG), DAT_LENGTH_ERROR);
	t_no_event(us->request_evd);
	t_ok(dat_ep_post_rdma_write(us->ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 1}, &to,
				    DAT_COMPLETION_DEFAULT_FLAG));
	expect_done(1, 0);
	t_ok(t_write(us, 0, 0, 2, to, DAT_COMPLETION_DEFAULT_FLAG));
	expect_done(2, 0);
	ck_assert_mem_eq(peer->buf.mem, "................", 16);
	ck_assert_int_eq(t_ep_state(us->ep), DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(DTO_056_127_write_has_arrived_when_the_send_is_received)
{
	/* EVS-128 */
	for (unsigned int round = 0; round < 100; round++) {
		t_fill(us->buf.mem, 50000, round);
		t_ok(t_recv(peer, 60000, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_write(us, 0, 50000, 2, t_remote_seg(&peer->buf, 0, 50000),
			     DAT_COMPLETION_SUPPRESS_FLAG));
		t_ok(t_send(us, 0, 1, 3, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, 1);
		ck_assert(t_is_filled(peer->buf.mem, 50000, round));
		expect_done(3, 1);
	}
}
END_TEST

/* --- access --- */

/* Regions of the peer that do not allow the access, for different reasons. */
static DAT_RMR_TRIPLET forbidden(int which, bool read)
{
	struct t_ia *ia = &paired.ia[1];
	DAT_RMR_TRIPLET remote;
	static struct t_buf buf;
	DAT_PZ_HANDLE pz;

	switch (which) {
	case 0: /* rights for the other direction only */
		t_buf_new(&buf, ia->ia, ia->pz, 4096,
			  read ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG
			       : DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);
		return t_remote_seg(&buf, 0, 64);
	case 1: /* a zone that is not the EP's */
		t_ok(dat_pz_create(ia->ia, &pz));
		t_buf_new(&buf, ia->ia, pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
		return t_remote_seg(&buf, 0, 64);
	case 2: /* one byte behind the end */
		return t_remote_seg(&peer->buf, T_BUF_SIZE - 63, 64);
	case 3: /* one byte before the start */
		remote = t_remote_seg(&peer->buf, 0, 64);
		return t_remote(remote.rmr_context, (uintptr_t)peer->buf.mem - 1, 64);
	case 4: /* around the end of the address space */
		return t_remote(peer->buf.rmr_context, UINTPTR_MAX - 10, 64);
	case 5: /* freed */
		t_buf_new(&buf, ia->ia, ia->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
		t_ok(dat_lmr_free(buf.lmr));
		return t_remote_seg(&buf, 0, 64);
	case 6: /* a local context */
		t_buf_new(&buf, ia->ia, ia->pz, 4096,
			  DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
		return t_remote(buf.lmr_context, (uintptr_t)buf.mem, 64);
	default: /* made up */
		return t_remote(0xffffffffu, (uintptr_t)peer->buf.mem, 64);
	}
}

#define FORBIDDEN 8

START_TEST(DTO_108_109_110_111_forbidden_read)
{
	expect_refused(read_from(forbidden(_i, true), 1), 1);
}
END_TEST

START_TEST(DTO_125_126_forbidden_write)
{
	DAT_RMR_TRIPLET to = forbidden(_i, false);

	memset(peer->buf.mem, '.', T_BUF_SIZE);
	memset(us->buf.mem, 'w', T_BUF_SIZE);
	expect_refused(write_to(to, 1), 1);
	for (size_t i = 0; i < T_BUF_SIZE - 64; i++)
		ck_assert_int_eq(peer->buf.mem[i], '.');
}
END_TEST

START_TEST(DTO_111_context_freed_after_it_was_used)
{
	/* LMR-038 TRN-040; the initiator's cached entry is not valid any more */
	struct t_buf buf;

	t_buf_new(&buf, paired.ia[1].ia, paired.ia[1].pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	t_ok(write_to(t_remote_seg(&buf, 0, 64), 1));
	expect_done(1, 64);
	t_ok(dat_lmr_free(buf.lmr));
	memset(buf.mem, '.', buf.size);
	t_ok(write_to(t_remote_seg(&buf, 0, 64), 2));
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	paired_ends(DAT_CONNECTION_EVENT_BROKEN);
	ck_assert_int_eq(buf.mem[0], '.');
}
END_TEST

/* --- bind: the peer grants rights, we use them --- */

static DAT_RMR_HANDLE new_rmr(void)
{
	DAT_RMR_HANDLE rmr;

	t_ok(dat_rmr_create(paired.ia[1].pz, &rmr));
	return rmr;
}

#define REMOTE_BOTH \
	((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))

/* The peer binds a range of its buffer. Returns the context after the bind has completed. */
static DAT_RMR_CONTEXT bind_range(DAT_RMR_HANDLE rmr, size_t offset, size_t length,
				  DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_RMR_CONTEXT context = 0;

	t_ok(t_rmr_bind(rmr, &peer->buf, t_seg(&peer->buf, offset, length), privileges, peer->ep,
			77, DAT_COMPLETION_DEFAULT_FLAG, &context));
	t_wait_bind(peer->request_evd, rmr, 77, DAT_DTO_SUCCESS);
	return context;
}

static DAT_RMR_TRIPLET window(DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
	return t_remote(context, (uintptr_t)peer->buf.mem + offset, length);
}

/* The peer may read memory that the IA itself may only read. */
START_TEST(DTO_163_bind_of_memory_for_reading)
{
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_CONTEXT context;
	struct t_buf buf;

	t_buf_new(&buf, paired.ia[1].ia, paired.ia[1].pz, 500, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	t_fill(buf.mem, 500, 6);
	t_ok(t_rmr_bind(rmr, &buf, t_seg(&buf, 0, 500), DAT_MEM_PRIV_REMOTE_READ_FLAG, peer->ep, 77,
			DAT_COMPLETION_DEFAULT_FLAG, &context));
	t_wait_bind(peer->request_evd, rmr, 77, DAT_DTO_SUCCESS);
	memset(us->buf.mem, 0, 500);
	t_ok(read_from(t_remote(context, (uintptr_t)buf.mem, 500), 2));
	expect_done(2, 500);
	ck_assert(t_is_filled(us->buf.mem, 500, 6));
	t_ok(dat_rmr_free(rmr));
	t_buf_free(&buf);
}
END_TEST

START_TEST(DTO_163_170_182_183_bind_grants_a_range)
{
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_CONTEXT context = bind_range(rmr, 1000, 500, REMOTE_BOTH);
	DAT_RMR_PARAM param;

	ck_assert_uint_ne(context, 0);
	t_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_uint_eq(param.rmr_context, context);
	ck_assert_uint_eq(param.lmr_triplet.segment_length, 500);
	t_bad_state(dat_lmr_free(peer->buf.lmr));
	t_fill(us->buf.mem, 500, 6);
	t_ok(write_to(window(context, 1000, 500), 1));
	expect_done(1, 500);
	memset(us->buf.mem, 0, 500);
	t_ok(read_from(window(context, 1000, 500), 2));
	expect_done(2, 500);
	ck_assert(t_is_filled(us->buf.mem, 500, 6));
	expect_refused(read_from(window(context, 1000, 501), 3), 3);
}
END_TEST

START_TEST(DTO_178_other_bits_grant_nothing)
{
	static const unsigned int others[] = {
		DAT_MEM_PRIV_LOCAL_READ_FLAG,
		DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		0x04,
		0x40000000,
	};
	const unsigned int rights = DAT_MEM_PRIV_REMOTE_READ_FLAG | others[_i];
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_CONTEXT context;
	DAT_RETURN ret =
		t_rmr_bind(rmr, &peer->buf, t_seg(&peer->buf, 0, 500), (DAT_MEM_PRIV_FLAGS)rights,
			   peer->ep, 1, DAT_COMPLETION_DEFAULT_FLAG, &context);

	if (ret != DAT_SUCCESS) {
		t_bad_arg(ret);
		t_stays_quiet(peer->request_evd);
		context = bind_range(rmr, 0, 500, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	} else {
		t_wait_bind(peer->request_evd, rmr, 1, DAT_DTO_SUCCESS);
	}
	t_ok(read_from(window(context, 0, 500), 1));
	expect_done(1, 500);
	expect_refused(write_to(window(context, 0, 500), 2), 2);
}
END_TEST

START_TEST(DTO_178_183_bind_grants_only_its_rights)
{
	DAT_RMR_CONTEXT context =
		bind_range(new_rmr(), 0, 500,
			   _i ? DAT_MEM_PRIV_REMOTE_READ_FLAG : DAT_MEM_PRIV_REMOTE_WRITE_FLAG);

	if (_i) {
		t_ok(read_from(window(context, 0, 500), 1));
		expect_done(1, 500);
		expect_refused(write_to(window(context, 0, 500), 2), 2);
	} else {
		t_ok(write_to(window(context, 0, 500), 1));
		expect_done(1, 500);
		expect_refused(read_from(window(context, 0, 500), 2), 2);
	}
}
END_TEST

START_TEST(DTO_183_bound_memory_is_of_the_zone_of_the_ep)
{
	struct t_end other;
	struct t_buf buf;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;

	/* A second connection of the peer, in another PZ. */
	t_ok(dat_pz_create(paired.ia[1].ia, &pz));
	t_ok(dat_ep_create(paired.ia[1].ia, pz, peer->recv_evd, peer->request_evd,
			   peer->connect_evd, NULL, &ep));
	t_end_new(&other, &paired.ia[0], NULL);
	t_ok(t_connect(other.ep, &paired.listener));
	t_ok(t_cr_accept(t_next_cr(&paired.listener), ep));
	t_wait_conn(peer->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, ep);
	t_buf_new(&buf, paired.ia[1].ia, pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	t_ok(dat_rmr_create(pz, &rmr));
	t_ok(t_rmr_bind(rmr, &buf, t_seg(&buf, 0, 64), REMOTE_BOTH, ep, 1,
			DAT_COMPLETION_DEFAULT_FLAG, &context));
	t_wait_bind(peer->request_evd, rmr, 1, DAT_DTO_SUCCESS);
	expect_refused(read_from(t_remote(context, (uintptr_t)buf.mem, 64), 2), 2);
}
END_TEST

START_TEST(DTO_164_173_context_may_be_sent_at_once)
{
	/* EVS-129 */
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr = new_rmr();

	for (int round = 0; round < 20; round++) {
		t_ok(t_recv(us, 0, sizeof(context), 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_rmr_bind(rmr, &peer->buf, t_seg(&peer->buf, 1000, 100), REMOTE_BOTH,
				peer->ep, 2, DAT_COMPLETION_SUPPRESS_FLAG, &context));
		memcpy(peer->buf.mem, &context, sizeof(context));
		t_ok(t_send(peer, 0, sizeof(context), 3, DAT_COMPLETION_SUPPRESS_FLAG));
		t_wait_dto(us->recv_evd, us->ep, 1, DAT_DTO_SUCCESS, sizeof(context));
		memcpy(&context, us->buf.mem, sizeof(context));
		t_ok(t_write(us, 0, 100, 4, window(context, 1000, 100),
			     DAT_COMPLETION_DEFAULT_FLAG));
		expect_done(4, 100);
	}
	t_no_event(peer->request_evd);
}
END_TEST

START_TEST(DTO_165_166_rebind_replaces_the_context)
{
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_CONTEXT first = bind_range(rmr, 0, 100, REMOTE_BOTH), second;

	t_ok(write_to(window(first, 0, 100), 1));
	expect_done(1, 100);
	second = bind_range(rmr, 0, 100, REMOTE_BOTH);
	ck_assert_uint_ne(first, second);
	t_ok(write_to(window(second, 0, 100), 2));
	expect_done(2, 100);
	expect_refused(write_to(window(first, 0, 100), 3), 3);
}
END_TEST

START_TEST(DTO_167_unbind)
{
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_CONTEXT context = bind_range(rmr, 0, 100, REMOTE_BOTH);

	t_ok(read_from(window(context, 0, 100), 1));
	expect_done(1, 100);
	bind_range(rmr, 0, 0, REMOTE_BOTH);
	expect_refused(read_from(window(context, 0, 100), 2), 2);
	t_ok(dat_lmr_free(peer->buf.lmr));
}
END_TEST

START_TEST(DTO_175_176_177_184_188_bind_refuses_bad_arguments)
{
	DAT_LMR_TRIPLET good = t_seg(&peer->buf, 0, 100), bad = good;
	DAT_RMR_HANDLE rmr = new_rmr(), foreign;
	struct t_buf weak, other;
	DAT_RMR_CONTEXT context;
	DAT_RETURN ret;
	DAT_PZ_HANDLE pz;

#define BIND(r, buf, segment, rights, ep) \
	t_rmr_bind(r, buf, segment, rights, ep, 1, DAT_COMPLETION_DEFAULT_FLAG, &context)
	bad.segment_length = T_BUF_SIZE + 1;
	t_bad_arg(BIND(rmr, &peer->buf, bad, REMOTE_BOTH, peer->ep));
	bad = t_seg(&peer->buf, T_BUF_SIZE - 99, 100);
	t_bad_arg(BIND(rmr, &peer->buf, bad, REMOTE_BOTH, peer->ep));
	bad = good;
	bad.lmr_context = 0xdead0001u;
	ret = BIND(rmr, &peer->buf, bad, REMOTE_BOTH, peer->ep);
	ck_assert(DAT_GET_TYPE(ret) == DAT_PRIVILEGES_VIOLATION ||
		  DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER ||
		  DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE);
	t_ok(dat_pz_create(paired.ia[1].ia, &pz));
	t_ok(dat_rmr_create(pz, &foreign));
	t_error(BIND(foreign, &peer->buf, good, REMOTE_BOTH, peer->ep), DAT_PROTECTION_VIOLATION);
	t_buf_new(&other, paired.ia[1].ia, pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	t_error(BIND(rmr, &other, t_seg(&other, 0, 10), REMOTE_BOTH, peer->ep),
		DAT_PROTECTION_VIOLATION);
	t_buf_new(&weak, paired.ia[1].ia, paired.ia[1].pz, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	t_error(BIND(rmr, &weak, t_seg(&weak, 0, 10), DAT_MEM_PRIV_REMOTE_WRITE_FLAG, peer->ep),
		DAT_PRIVILEGES_VIOLATION);
	t_bad_handle_of(BIND(DAT_HANDLE_NULL, &peer->buf, good, REMOTE_BOTH, peer->ep), RMR);
	t_bad_handle_of(BIND(peer->buf.lmr, &peer->buf, good, REMOTE_BOTH, peer->ep), RMR);
	t_bad_handle_of(BIND(rmr, &peer->buf, good, REMOTE_BOTH, DAT_HANDLE_NULL), EP);
	t_bad_arg(t_rmr_bind(rmr, &peer->buf, good, REMOTE_BOTH, peer->ep, 1,
			     DAT_COMPLETION_DEFAULT_FLAG, NULL));
	ck_assert_int_eq(t_ep_state(peer->ep), DAT_EP_STATE_CONNECTED);
	t_no_event(peer->request_evd);
	t_ok(dat_lmr_free(weak.lmr)); /* the flushed bind does not use it any more */
#undef BIND
}
END_TEST

#if T_DAT_MAJOR == 2
START_TEST(DTO_185_186_bind_refuses_another_region_or_address_type)
{
	DAT_LMR_TRIPLET good = t_seg(&peer->buf, 0, 100);
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_COOKIE cookie = {.as_64 = 1};
	DAT_RMR_CONTEXT context;
	struct t_buf other;
	DAT_RETURN ret;

	t_buf_new(&other, paired.ia[1].ia, paired.ia[1].pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	t_error2(dat_rmr_bind(rmr, other.lmr, &good, REMOTE_BOTH, DAT_VA_TYPE_VA, peer->ep, cookie,
			      DAT_COMPLETION_DEFAULT_FLAG, &context),
		 DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
	ret = dat_rmr_bind(rmr, peer->buf.lmr, &good, REMOTE_BOTH, DAT_VA_TYPE_ZB, peer->ep, cookie,
			   DAT_COMPLETION_DEFAULT_FLAG, &context);
	if (peer->on->attr.zb_supported) {
		t_ok(ret);
		t_wait_bind(peer->request_evd, rmr, 1, DAT_DTO_SUCCESS);
	} else {
		t_unsupported(ret);
	}
	t_bad_arg(dat_rmr_bind(rmr, peer->buf.lmr, &good, REMOTE_BOTH, (DAT_VA_TYPE)2, peer->ep,
			       cookie, DAT_COMPLETION_DEFAULT_FLAG, &context));
	t_bad_arg(dat_rmr_bind(rmr, peer->buf.lmr, NULL, REMOTE_BOTH, DAT_VA_TYPE_VA, peer->ep,
			       cookie, DAT_COMPLETION_DEFAULT_FLAG, &context));
	t_no_event(peer->request_evd);
}
END_TEST
#endif

START_TEST(DTO_179_180_bind_flags)
{
	DAT_LMR_TRIPLET segment = t_seg(&peer->buf, 0, 100);
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_CONTEXT context;

#define BIND(flags)                                                    \
	t_rmr_bind(rmr, &peer->buf, segment, REMOTE_BOTH, peer->ep, 5, \
		   (DAT_COMPLETION_FLAGS)(flags), &context)
	t_bad_arg(BIND(DAT_COMPLETION_UNSIGNALLED_FLAG));
	t_bad_arg(BIND(DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	t_bad_arg(BIND(DAT_COMPLETION_EVD_THRESHOLD_FLAG));
	t_bad_arg(BIND(0x100));
	t_no_event(peer->request_evd);
	t_ok(BIND(DAT_COMPLETION_BARRIER_FENCE_FLAG));
	t_wait_bind(peer->request_evd, rmr, 5, DAT_DTO_SUCCESS);
	t_ok(BIND(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG));
	t_stays_quiet(peer->request_evd);
	t_ok(write_to(window(context, 0, 100), 1));
	expect_done(1, 100);
	t_ok(dat_ep_disconnect(peer->ep, DAT_CLOSE_ABRUPT_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ok(BIND(DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_bind(peer->request_evd, rmr, 5, DAT_DTO_ERR_FLUSHED);
#undef BIND
}
END_TEST

START_TEST(DTO_171_flushed_bind_frees_its_region_and_window)
{
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_CONTEXT context;

	t_ok(dat_ep_disconnect(peer->ep, DAT_CLOSE_ABRUPT_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	for (uint64_t i = 0; i < 100; i++) {
		t_ok(t_rmr_bind(rmr, &peer->buf, t_seg(&peer->buf, 0, 100), REMOTE_BOTH, peer->ep,
				i, DAT_COMPLETION_DEFAULT_FLAG, &context));
		t_wait_bind(peer->request_evd, rmr, i, DAT_DTO_ERR_FLUSHED);
	}
	t_ok(dat_lmr_free(peer->buf.lmr));
	t_ok(dat_rmr_free(rmr));
}
END_TEST

START_TEST(DTO_187_binds_count_as_requests)
{
	/* A message without a receive blocks the queue. */
	DAT_COUNT number = t_ep_attr(peer->ep).max_request_dtos;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_CONTEXT context;
	DAT_LMR_TRIPLET segment;
	struct t_buf big;
	DAT_COUNT posted = 0;

	t_buf_new(&big, paired.ia[1].ia, paired.ia[1].pz, t_much(&paired.ia[1]),
		  DAT_MEM_PRIV_ALL_FLAG);
	segment = t_seg(&big, 0, big.size);
	t_ok(dat_ep_post_send(peer->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	while (posted <= number && ret == DAT_SUCCESS) {
		ret = t_rmr_bind(rmr, &peer->buf, t_seg(&peer->buf, 0, 100), REMOTE_BOTH, peer->ep,
				 2, DAT_COMPLETION_DEFAULT_FLAG, &context);
		posted += ret == DAT_SUCCESS;
	}
	t_error(ret, DAT_INSUFFICIENT_RESOURCES);
	ck_assert_int_ge(posted, number - 1);
}
END_TEST

START_TEST(DTO_189_overlapping_windows)
{
	DAT_RMR_HANDLE one = new_rmr(), two = new_rmr();
	DAT_RMR_CONTEXT read = bind_range(one, 0, 200, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	DAT_RMR_CONTEXT write = bind_range(two, 100, 200, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);

	t_ok(write_to(window(write, 100, 200), 1));
	t_ok(read_from(window(read, 0, 200), 2));
	expect_done(1, 200);
	expect_done(2, 200);
	bind_range(one, 0, 0, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	t_ok(write_to(window(write, 100, 200), 3));
	expect_done(3, 200);
	expect_refused(read_from(window(write, 100, 200), 4), 4);
}
END_TEST

/* --- cases --- */

static void add_rdma(Suite *suite)
{
	TCase *tcase = paired_case(suite, "rdma");

	tcase_add_test(tcase, DTO_097_098_112_read_fills_front_to_back);
	tcase_add_test(tcase, DTO_010_099_100_read_lengths);
	tcase_add_test(tcase, DTO_101_124_remote_segment_is_needed);
	tcase_add_test(tcase, DTO_102_128_flags_that_are_taken);
	tcase_add_test(tcase, DTO_104_107_more_reads_than_may_be_under_way);
	tcase_add_test(tcase, DTO_104_reads_that_wait_start_in_order);
	tcase_add_test(tcase, DTO_105_read_with_a_limit_of_0);
	tcase_add_test(tcase, DTO_115_read_needs_no_remote_write);
	tcase_add_test(tcase, DTO_113_read_while_our_send_waits_for_a_receive);
	tcase_add_test(tcase, DTO_120_122_130_write_gathers);
	tcase_add_test(tcase, DTO_011_121_123_write_lengths);
	tcase_add_test(tcase, DTO_056_127_write_has_arrived_when_the_send_is_received);
	tcase_add_loop_test(tcase, DTO_108_109_110_111_forbidden_read, 0, FORBIDDEN);
	tcase_add_loop_test(tcase, DTO_125_126_forbidden_write, 0, FORBIDDEN);
	tcase_add_test(tcase, DTO_111_context_freed_after_it_was_used);
}

static void add_binds(Suite *suite)
{
	TCase *tcase = paired_case(suite, "bind");

	tcase_add_test(tcase, DTO_163_170_182_183_bind_grants_a_range);
	tcase_add_test(tcase, DTO_163_bind_of_memory_for_reading);
	tcase_add_loop_test(tcase, DTO_178_other_bits_grant_nothing, 0, 5);
	tcase_add_loop_test(tcase, DTO_178_183_bind_grants_only_its_rights, 0, 2);
	tcase_add_test(tcase, DTO_183_bound_memory_is_of_the_zone_of_the_ep);
	tcase_add_test(tcase, DTO_164_173_context_may_be_sent_at_once);
	tcase_add_test(tcase, DTO_165_166_rebind_replaces_the_context);
	tcase_add_test(tcase, DTO_167_unbind);
	tcase_add_test(tcase, DTO_175_176_177_184_188_bind_refuses_bad_arguments);
#if T_DAT_MAJOR == 2
	tcase_add_test(tcase, DTO_185_186_bind_refuses_another_region_or_address_type);
#endif
	tcase_add_test(tcase, DTO_179_180_bind_flags);
	tcase_add_test(tcase, DTO_171_flushed_bind_frees_its_region_and_window);
	tcase_add_test(tcase, DTO_187_binds_count_as_requests);
	tcase_add_test(tcase, DTO_189_overlapping_windows);
}

void conform_rdma(Suite *suite)
{
	add_rdma(suite);
	add_binds(suite);
}
