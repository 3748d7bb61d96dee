/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transfers: rules for all posts, sends and receives. RDMA and binds are in conform_rdma.c. */
#include <semaphore.h>
#include <sys/mman.h>

#include "conform_dto.h"
#include "paired.h"

/* --- posts by kind --- */

enum kind { SEND, RECV, READ, WRITE, KINDS };

static DAT_RETURN post_iov(enum kind kind, DAT_COUNT n, DAT_LMR_TRIPLET *iov, size_t remote,
			   uint64_t cookie, unsigned int flags)
{
	DAT_RMR_TRIPLET target = t_remote_seg(&peer->buf, 0, remote);
	DAT_DTO_COOKIE user = {.as_64 = cookie};

	switch (kind) {
	case SEND:
		return dat_ep_post_send(us->ep, n, iov, user, (DAT_COMPLETION_FLAGS)flags);
	case RECV:
		return dat_ep_post_recv(us->ep, n, iov, user, (DAT_COMPLETION_FLAGS)flags);
	case READ:
		return dat_ep_post_rdma_read(us->ep, n, iov, user, &target,
					     (DAT_COMPLETION_FLAGS)flags);
	default:
		return dat_ep_post_rdma_write(us->ep, n, iov, user, &target,
					      (DAT_COMPLETION_FLAGS)flags);
	}
}

static DAT_RETURN post_segment(enum kind kind, DAT_LMR_TRIPLET segment)
{
	return post_iov(kind, 1, &segment, segment.segment_length, 1, 0);
}

/* A post that failed has changed nothing. */
static void expect_no_trace(void)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	t_ok(dat_ep_get_status(us->ep, &state, &recv_idle, &request_idle));
	ck_assert_int_eq(state, DAT_EP_STATE_CONNECTED);
	ck_assert_int_eq(recv_idle, DAT_TRUE);
	ck_assert_int_eq(request_idle, DAT_TRUE);
	t_no_event(us->recv_evd);
	t_no_event(us->request_evd);
	t_no_event(us->connect_evd);
}

static DAT_COUNT max_iov(enum kind kind)
{
	DAT_EP_ATTR attr = t_ep_attr(us->ep);

	switch (kind) {
	case SEND:
		return attr.max_request_iov;
	case RECV:
		return attr.max_recv_iov;
	case READ:
		return attr.max_rdma_read_iov;
	default:
		return attr.max_rdma_write_iov;
	}
}

/* --- arguments; each test for each kind --- */

START_TEST(DTO_002_006_007_008_segments_are_counted)
{
	DAT_COUNT max = max_iov((enum kind)_i);
	DAT_LMR_TRIPLET *iov = calloc((size_t)max + 1, sizeof(*iov));

	ck_assert_ptr_nonnull(iov);
	for (DAT_COUNT n = 0; n <= max; n++)
		iov[n] = t_seg(&us->buf, (size_t)n, 1);
	t_bad_arg(post_iov((enum kind)_i, max + 1, iov, (size_t)max + 1, 1, 0));
	t_bad_arg(post_iov((enum kind)_i, -1, iov, 0, 1, 0));
	t_bad_arg(post_iov((enum kind)_i, 1, NULL, 1, 1, 0));
	expect_no_trace();
	t_ok(post_iov((enum kind)_i, max, iov, (size_t)max, 1, 0));
	free(iov);
}
END_TEST

START_TEST(DTO_015_016_153_segments_lie_inside_their_region)
{
	struct t_buf *buf = &us->buf;
	DAT_LMR_TRIPLET segment = t_seg(buf, 0, T_BUF_SIZE + 1), before = t_seg(buf, 0, 10);
	DAT_LMR_TRIPLET wraps = t_seg(buf, 10, T_BUF_SIZE);

	t_error2(post_segment((enum kind)_i, segment), DAT_INVALID_PARAMETER, DAT_LENGTH_ERROR);
	t_bad_arg(post_segment((enum kind)_i, t_seg(buf, T_BUF_SIZE - 9, 10)));
	t_bad_arg(post_segment((enum kind)_i, t_seg(buf, T_BUF_SIZE, 1)));
	before.virtual_address -= 1;
	t_bad_arg(post_segment((enum kind)_i, before));
	wraps.segment_length = UINT32_MAX - 100;
	t_error2(post_segment((enum kind)_i, wraps), DAT_INVALID_PARAMETER, DAT_LENGTH_ERROR);
	wraps.virtual_address = ~(DAT_VADDR)0 - 5;
	wraps.segment_length = 10;
	t_bad_arg(post_segment((enum kind)_i, wraps));
	expect_no_trace();
	t_ok(post_segment((enum kind)_i, t_seg(buf, T_BUF_SIZE - 10, 10)));
}
END_TEST

START_TEST(DTO_018_unknown_context_is_refused)
{
	DAT_LMR_TRIPLET segment = t_seg(&us->buf, 0, 10);
	struct t_buf freed;

	t_buf_new(&freed, paired.ia[0].ia, paired.ia[0].pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	t_ok(dat_lmr_free(freed.lmr));
	t_error(post_segment((enum kind)_i, t_seg(&freed, 0, 10)), DAT_PRIVILEGES_VIOLATION);
	for (unsigned int i = 0; i < 3; i++) {
		static const DAT_LMR_CONTEXT unknown[] = {0, 0xffffffffu, 0xdead0001u};

		segment.lmr_context = unknown[i];
		t_error(post_segment((enum kind)_i, segment), DAT_PRIVILEGES_VIOLATION);
	}
	expect_no_trace();
}
END_TEST

START_TEST(DTO_019_020_114_129_local_rights)
{
	/* Local read comes with every region (PRG-11). */
	struct t_buf readable, writable;

	t_buf_new(&readable, paired.ia[0].ia, paired.ia[0].pz, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	t_buf_new(&writable, paired.ia[0].ia, paired.ia[0].pz, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	if (_i == RECV || _i == READ) {
		t_error(post_segment((enum kind)_i, t_seg(&readable, 0, 10)),
			DAT_PRIVILEGES_VIOLATION);
		expect_no_trace();
	} else {
		t_ok(post_segment((enum kind)_i, t_seg(&readable, 0, 10)));
	}
	t_ok(post_segment((enum kind)_i, t_seg(&writable, 0, 10)));
}
END_TEST

START_TEST(DTO_021_region_belongs_to_the_zone_of_the_ep)
{
	struct t_buf foreign;
	DAT_PZ_HANDLE pz;

	t_ok(dat_pz_create(paired.ia[0].ia, &pz));
	t_buf_new(&foreign, paired.ia[0].ia, pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	t_error(post_segment((enum kind)_i, t_seg(&foreign, 0, 10)), DAT_PROTECTION_VIOLATION);
	expect_no_trace();
}
END_TEST

START_TEST(DTO_022_several_faults_at_once)
{
	DAT_LMR_TRIPLET segment = t_seg(&us->buf, 0, T_BUF_SIZE + 1);
	DAT_RETURN ret;

	segment.lmr_context = 0xdead0001u;
	ret = post_iov((enum kind)_i, max_iov((enum kind)_i) + 1, &segment, 1, 1, 0x80);
	ck_assert(DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER ||
		  DAT_GET_TYPE(ret) == DAT_PRIVILEGES_VIOLATION ||
		  DAT_GET_TYPE(ret) == DAT_LENGTH_ERROR);
	expect_no_trace();
}
END_TEST

START_TEST(DTO_029_posts_refuse_other_handles)
{
	DAT_EP_HANDLE ep = us->ep;

	us->ep = DAT_HANDLE_NULL;
	t_bad_handle_of(post_segment((enum kind)_i, t_seg(&us->buf, 0, 10)), EP);
	us->ep = paired.ia[0].pz;
	t_bad_handle_of(post_segment((enum kind)_i, t_seg(&us->buf, 0, 10)), EP);
	us->ep = ep;
	t_ok(dat_ep_free(ep));
	t_bad_handle_of(post_segment((enum kind)_i, t_seg(&us->buf, 0, 10)), EP);
}
END_TEST

START_TEST(DTO_047_053_084_088_flags_that_are_refused)
{
	/* DTO-052 EVS-037 EVS-050 EVS-051 EVS-052 EVS-058 EVS-059 EVS-074 */
	static const unsigned int always_bad[] = {0x10, 0x40, 0x80, 0x100, 0x40000000};
	unsigned int bad = DAT_COMPLETION_UNSIGNALLED_FLAG; /* the EP's flags are not */
	DAT_LMR_TRIPLET segment = t_seg(&us->buf, 0, 10);

	if (_i == RECV)
		bad |= DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG;
	if (_i != SEND)
		bad |= DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	for (unsigned int flag = 1; flag < 0x10; flag <<= 1) {
		if (flag & bad)
			t_bad_arg(post_iov((enum kind)_i, 1, &segment, 10, 1, flag));
	}
	t_bad_arg(post_iov((enum kind)_i, 1, &segment, 10, 1,
			   DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG));
	for (size_t i = 0; i < sizeof(always_bad) / sizeof(always_bad[0]); i++)
		t_bad_arg(post_iov((enum kind)_i, 1, &segment, 10, 1, always_bad[i]));
	expect_no_trace();
}
END_TEST

START_TEST(DTO_038_message_longer_than_the_limit)
{
	/* Segments may overlap, so a region of half the length is enough. */
	size_t half = ((size_t)t_ep_attr(us->ep).max_message_size / 2 + 4096) & ~(size_t)4095;
	void *mem = mmap(NULL, half, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	DAT_REGION_DESCRIPTION region = {.for_va = mem};
	DAT_LMR_CONTEXT context;
	DAT_LMR_TRIPLET iov[2];
	DAT_LMR_HANDLE lmr;

	if (mem == MAP_FAILED || max_iov((enum kind)_i) < 2)
		t_skip("one request cannot ask for so much");
	t_ok(t_lmr_create(paired.ia[0].ia, DAT_MEM_TYPE_VIRTUAL, region, half, paired.ia[0].pz,
			  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL));
	for (int i = 0; i < 2; i++)
		iov[i] = (DAT_LMR_TRIPLET){
			.virtual_address = (DAT_VADDR)(uintptr_t)mem,
			.segment_length = half,
			.lmr_context = context,
		};
	t_error2(post_iov((enum kind)_i, 2, iov, 2 * half, 1, 0), DAT_INVALID_PARAMETER,
		 DAT_LENGTH_ERROR);
	expect_no_trace();
}
END_TEST

/* Makes an EP without EVDs for completions; or takes them away from an EP that had some. */
static DAT_EP_HANDLE ep_without_evds(bool had_some)
{
	DAT_EVD_HANDLE recv = had_some ? us->recv_evd : DAT_HANDLE_NULL,
		       request = had_some ? us->request_evd : DAT_HANDLE_NULL;
	DAT_EP_PARAM param = {.recv_evd_handle = DAT_HANDLE_NULL};
	DAT_EP_HANDLE ep;

	t_ok(dat_ep_create(paired.ia[0].ia, paired.ia[0].pz, recv, request, us->connect_evd, NULL,
			   &ep));
	if (had_some)
		t_ok(dat_ep_modify(ep,
				   DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE,
				   &param));
	return ep;
}

START_TEST(DTO_042_092_posts_without_an_evd)
{
	enum kind kind = (enum kind)(_i % KINDS);
	struct t_listener listener;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	t_listen(&listener, &paired.ia[1], DAT_PSP_CONSUMER_FLAG);
	t_ok(dat_ep_disconnect(peer->ep, DAT_CLOSE_ABRUPT_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ok(dat_ep_reset(peer->ep));
	ep = ep_without_evds(_i >= KINDS);
	t_ok(dat_ep_free(us->ep));
	us->ep = ep;
	t_establish(&listener, us, peer);
	ret = post_segment(kind, t_seg(&us->buf, 0, 10));
	t_error2(ret, DAT_INVALID_STATE, DAT_INSUFFICIENT_RESOURCES);
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
		t_error_sub(ret, DAT_INVALID_STATE,
			    kind == RECV ? DAT_INVALID_STATE_EP_EVD_RECV
					 : DAT_INVALID_STATE_EP_EVD_REQUEST);
	ck_assert_int_eq(t_ep_state(us->ep), DAT_EP_STATE_CONNECTED);
}
END_TEST

/* --- completions --- */

START_TEST(DTO_001_005_030_031_one_completion_with_its_cookie)
{
	/* PRG-16 */
	static const uint64_t cookies[] = {0, 1, 1, UINT64_MAX, UINT64_C(0x8000000000000001)};

	for (size_t i = 0; i < sizeof(cookies) / sizeof(cookies[0]); i++) {
		t_ok(t_recv(peer, 0, 1000, cookies[i], DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(us, 0, 100 + i, cookies[i], DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(us->request_evd, us->ep, cookies[i], DAT_DTO_SUCCESS, 100 + i);
		t_wait_dto(peer->recv_evd, peer->ep, cookies[i], DAT_DTO_SUCCESS, 100 + i);
		t_ok(t_write(us, 0, 10 + i, cookies[i], t_remote_seg(&peer->buf, 0, 100),
			     DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(us->request_evd, us->ep, cookies[i], DAT_DTO_SUCCESS, 10 + i);
		t_ok(t_read(us, 0, 100, cookies[i], t_remote_seg(&peer->buf, 0, 20 + i),
			    DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(us->request_evd, us->ep, cookies[i], DAT_DTO_SUCCESS, 20 + i);
	}
	t_stays_quiet(us->request_evd);
	t_no_event(us->recv_evd);
	t_no_event(peer->recv_evd);
}
END_TEST

#if T_DAT_MAJOR == 2
static DAT_DTOS operation_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.operation;
}

START_TEST(DTO_033_034_event_names_the_operation)
{
	/* ERR-021 */
	DAT_EVENT event;

	t_ok(t_recv(peer, 0, 100, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(us, 0, 100, 1, DAT_COMPLETION_DEFAULT_FLAG));
	event = t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_SUCCESS, 100);
	ck_assert_int_eq(operation_of(&event), DAT_DTO_SEND);
	event = t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, 100);
	ck_assert_int_eq(operation_of(&event), DAT_DTO_RECEIVE);
	t_ok(t_write(us, 0, 10, 2, t_remote_seg(&peer->buf, 0, 10), DAT_COMPLETION_DEFAULT_FLAG));
	event = t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_SUCCESS, 10);
	ck_assert_int_eq(operation_of(&event), DAT_DTO_RDMA_WRITE);
	t_ok(t_read(us, 0, 10, 3, t_remote_seg(&peer->buf, 0, 10), DAT_COMPLETION_DEFAULT_FLAG));
	event = t_wait_dto(us->request_evd, us->ep, 3, DAT_DTO_SUCCESS, 10);
	ck_assert_int_eq(operation_of(&event), DAT_DTO_RDMA_READ);
	t_ok(t_recv(us, 0, 10, 4, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	event = t_wait_dto(us->recv_evd, us->ep, 4, DAT_DTO_ERR_FLUSHED, 0);
	ck_assert_int_eq(operation_of(&event), DAT_DTO_RECEIVE);
	t_until(t_ep_state(us->ep) == DAT_EP_STATE_DISCONNECTED);
	t_ok(t_send(us, 0, 10, 5, DAT_COMPLETION_DEFAULT_FLAG));
	event = t_wait_dto(us->request_evd, us->ep, 5, DAT_DTO_ERR_FLUSHED, 0);
	ck_assert_int_eq(operation_of(&event), DAT_DTO_SEND);
}
END_TEST
#endif

START_TEST(DTO_003_004_023_024_091_queue_accepts_as_many_posts_as_its_attribute_says)
{
	/*
	 * The peer posts no receive, so the requests may stay incomplete. No post waits for them or
	 * for memory.
	 */
	DAT_EP_ATTR attr = t_ep_attr(us->ep);
	DAT_COUNT posted = 0;
	DAT_RETURN ret = DAT_SUCCESS;

	for (DAT_COUNT i = 0; i < attr.max_recv_dtos; i++)
		t_ok(t_recv(us, 0, 8, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
	t_error(t_recv(us, 0, 8, 0, DAT_COMPLETION_DEFAULT_FLAG), DAT_INSUFFICIENT_RESOURCES);
	while (posted < 100 * attr.max_request_dtos && ret == DAT_SUCCESS) {
		ret = t_send(us, 0, T_BUF_SIZE, (uint64_t)posted, DAT_COMPLETION_DEFAULT_FLAG);
		posted += ret == DAT_SUCCESS;
	}
	t_error(ret, DAT_INSUFFICIENT_RESOURCES);
	ck_assert_int_ge(posted, attr.max_request_dtos);
	for (DAT_COUNT i = 0; i < posted; i++) {
		t_ok(t_recv(peer, 0, T_BUF_SIZE, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(us->request_evd, us->ep, (uint64_t)i, DAT_DTO_SUCCESS, T_BUF_SIZE);
		t_wait_dto(peer->recv_evd, peer->ep, (uint64_t)i, DAT_DTO_SUCCESS, T_BUF_SIZE);
	}
	t_ok(t_send(us, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(peer, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(us->recv_evd, us->ep, 0, DAT_DTO_SUCCESS, 8);
	t_ok(t_recv(us, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
}
END_TEST

START_TEST(DTO_025_062_075_077_gather_and_scatter)
{
	/* Sends segments of 7, 0, 3 and 1 bytes to segments of 5, 0, 2 and 20 bytes. */
	DAT_LMR_TRIPLET out[4] = {t_seg(&us->buf, 0, 7), t_seg(&us->buf, 100, 0),
				  t_seg(&us->buf, 200, 3), t_seg(&us->buf, 300, 1)};
	DAT_LMR_TRIPLET in[4] = {t_seg(&peer->buf, 1000, 5), t_seg(&peer->buf, 0, 0),
				 t_seg(&peer->buf, 2000, 2), t_seg(&peer->buf, 3000, 20)};
	unsigned char sent[T_BUF_SIZE];

	memset(us->buf.mem, 'x', T_BUF_SIZE);
	memcpy(us->buf.mem, "abcdefg", 7);
	memcpy(us->buf.mem + 200, "hij", 3);
	memcpy(us->buf.mem + 300, "k", 1);
	memcpy(sent, us->buf.mem, T_BUF_SIZE);
	memset(peer->buf.mem, '.', T_BUF_SIZE);
	t_ok(dat_ep_post_recv(peer->ep, 4, in, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(post_iov(SEND, 4, out, 0, 2, 0));
	memset(out, 0xff, sizeof(out)); /* DTO-028: they were copied */
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_SUCCESS, 11);
	t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, 11);
	ck_assert_mem_eq(peer->buf.mem + 999, ".abcde.", 7);
	ck_assert_mem_eq(peer->buf.mem + 1999, ".fg.", 4);
	ck_assert_mem_eq(peer->buf.mem + 2999, ".hijk................", 21);
	ck_assert_mem_eq(us->buf.mem, sent, T_BUF_SIZE);
}
END_TEST

START_TEST(DTO_012_013_017_empty_segments_and_several_regions)
{
	struct t_buf other;
	DAT_LMR_TRIPLET iov[4];

	t_buf_new(&other, paired.ia[0].ia, paired.ia[0].pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	memcpy(us->buf.mem, "one ", 4);
	memcpy(other.mem + 4000, "two", 3);
	iov[0] = (DAT_LMR_TRIPLET){.virtual_address = 1, .lmr_context = 0xdead0001u};
	iov[1] = t_seg(&us->buf, 0, 4);
	iov[2] = (DAT_LMR_TRIPLET){.virtual_address = ~(DAT_VADDR)0};
	iov[3] = t_seg(&other, 4000, 3);
	if (max_iov(SEND) < 4)
		t_skip("a Send has fewer than 4 segments");
	t_ok(t_recv(peer, 0, 100, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(post_iov(SEND, 4, iov, 0, 2, 0));
	t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, 7);
	ck_assert_mem_eq(peer->buf.mem, "one two", 8);
	if (max_iov(WRITE) < 4)
		t_skip("a write has fewer than 4 segments");
	t_ok(post_iov(WRITE, 4, iov, 7, 3, 0));
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_SUCCESS, 7);
	t_wait_dto(us->request_evd, us->ep, 3, DAT_DTO_SUCCESS, 7);
}
END_TEST

START_TEST(DTO_028_consumer_owns_the_segments_at_return)
{
	/* DTO-027 */
	ck_assert_int_eq(paired.ia[0].provider.iov_ownership_on_return, DAT_IOV_CONSUMER);
}
END_TEST

START_TEST(DTO_035_segments_of_any_alignment)
{
	for (size_t shift = 0; shift < 9; shift++) {
		t_fill(us->buf.mem + shift, 333, (unsigned int)shift);
		t_ok(t_recv(peer, 9 - shift, 333, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(us, shift, 333, 2, DAT_COMPLETION_SUPPRESS_FLAG));
		t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, 333);
		ck_assert(t_is_filled(peer->buf.mem + 9 - shift, 333, (unsigned int)shift));
		t_ok(t_write(us, shift, 333, 3, t_remote_seg(&peer->buf, 1000 + 3 * shift, 333),
			     DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(us->request_evd, us->ep, 3, DAT_DTO_SUCCESS, 333);
		t_ok(t_read(us, 5000 + 5 * shift, 333, 4,
			    t_remote_seg(&peer->buf, 1000 + 3 * shift, 333),
			    DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(us->request_evd, us->ep, 4, DAT_DTO_SUCCESS, 333);
		ck_assert(t_is_filled(us->buf.mem + 5000 + 5 * shift, 333, (unsigned int)shift));
	}
}
END_TEST

/* --- order, suppression, fence --- */

START_TEST(DTO_043_174_requests_complete_in_posting_order)
{
	/* EVS-120 */
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	uint64_t cookie = 0;

	t_ok(dat_rmr_create(paired.ia[0].pz, &rmr));
	for (int round = 0; round < 10; round++) {
		t_ok(t_recv(peer, 0, T_BUF_SIZE, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_read(us, 0, 60000, cookie++, t_remote_seg(&peer->buf, 0, 60000),
			    DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(us, 0, 8, cookie++, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_rmr_bind(rmr, &us->buf, t_seg(&us->buf, 0, 100),
				DAT_MEM_PRIV_REMOTE_READ_FLAG, us->ep, cookie++,
				DAT_COMPLETION_DEFAULT_FLAG, &context));
		t_ok(t_write(us, 0, 8, cookie++, t_remote_seg(&peer->buf, 0, 8),
			     DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_write(us, 0, 0, cookie++, t_remote_seg(&peer->buf, 0, 0),
			     DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (uint64_t i = 0; i < cookie; i++) {
		static const size_t lengths[] = {60000, 8, 0, 8, 0};

		if (i % 5 == 2)
			t_wait_bind(us->request_evd, rmr, i, DAT_DTO_SUCCESS);
		else
			t_wait_dto(us->request_evd, us->ep, i, DAT_DTO_SUCCESS, lengths[i % 5]);
	}
}
END_TEST

START_TEST(DTO_044_046_075_suppressed_success_has_no_event)
{
	/* EVS-056 EVS-064 EVS-075 */
	for (uint64_t i = 0; i < 40; i++)
		t_ok(t_recv(peer, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 39; i++)
		t_ok(t_send(us, 0, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(t_write(us, 0, 64, 100, t_remote_seg(&peer->buf, 0, 64),
		     DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(t_read(us, 0, 64, 101, t_remote_seg(&peer->buf, 0, 64), DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(t_send(us, 0, 64, 39, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(us->request_evd, us->ep, 39, DAT_DTO_SUCCESS, 64);
	for (uint64_t i = 0; i < 40; i++)
		t_wait_dto(peer->recv_evd, peer->ep, i, DAT_DTO_SUCCESS, 64);
	t_stays_quiet(us->request_evd);
}
END_TEST

START_TEST(DTO_040_045_suppressed_failure_has_an_event)
{
	/* EVS-057 EVS-065 EVS-076 */
	t_ok(t_write(us, 0, 64, 1, t_remote(0xdead0001u, 4096, 64), DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(t_send(us, 0, 64, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_ERR_FLUSHED, 0);
	paired_ends(DAT_CONNECTION_EVENT_BROKEN);
	t_ok(t_send(us, 0, 64, 3, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(us->request_evd, us->ep, 3, DAT_DTO_ERR_FLUSHED, 0);
}
END_TEST

START_TEST(DTO_050_051_fence_waits_for_earlier_reads)
{
	/*
	 * The write behind the fence changes memory. The read before it must return the old bytes.
	 */
	t_fill(peer->buf.mem, 30000, 1);
	t_ok(t_write(us, 0, 8, 1, t_remote_seg(&peer->buf, 60000, 8),
		     DAT_COMPLETION_BARRIER_FENCE_FLAG));
	t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_SUCCESS, 8);
	for (int round = 0; round < 20; round++) {
		t_fill(us->buf.mem, 30000, 2);
		t_fill(peer->buf.mem, 30000, 1);
		t_ok(t_read(us, 30000, 30000, 2, t_remote_seg(&peer->buf, 0, 30000),
			    DAT_COMPLETION_SUPPRESS_FLAG));
		t_ok(t_write(us, 0, 30000, 3, t_remote_seg(&peer->buf, 0, 30000),
			     DAT_COMPLETION_BARRIER_FENCE_FLAG));
		t_wait_dto(us->request_evd, us->ep, 3, DAT_DTO_SUCCESS, 30000);
		ck_assert(t_is_filled(us->buf.mem + 30000, 30000, 1));
		paired_send(us, peer, 8); /* the write has arrived */
	}
}
END_TEST

START_TEST(DTO_054_063_legal_flags_go_together)
{
	static const unsigned int good[] = {
		DAT_COMPLETION_BARRIER_FENCE_FLAG,
		DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		DAT_COMPLETION_BARRIER_FENCE_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG,
		DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG |
			DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};

	for (uint64_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		t_ok(t_recv(peer, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(us, 0, 64, i, (DAT_COMPLETION_FLAGS)good[i]));
		t_wait_dto(peer->recv_evd, peer->ep, i, DAT_DTO_SUCCESS, 64);
		if (!(good[i] & DAT_COMPLETION_SUPPRESS_FLAG))
			t_wait_dto(us->request_evd, us->ep, i, DAT_DTO_SUCCESS, 64);
	}
	t_no_event(us->request_evd);
}
END_TEST

START_TEST(DTO_055_060_074_messages_keep_order_and_boundaries)
{
	/* EVS-121 */
	for (uint64_t i = 0; i < 100; i++)
		t_ok(t_recv(peer, 600 * i, 600, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 100; i++) {
		t_fill(us->buf.mem + 600 * i, 100 + i, (unsigned int)i);
		t_ok(t_send(us, 600 * i, 100 + i, i, DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (uint64_t i = 0; i < 100; i++) {
		t_wait_dto(us->request_evd, us->ep, i, DAT_DTO_SUCCESS, 100 + i);
		t_wait_dto(peer->recv_evd, peer->ep, i, DAT_DTO_SUCCESS, 100 + i);
		ck_assert(t_is_filled(peer->buf.mem + 600 * i, 100 + i, (unsigned int)i));
	}
}
END_TEST

/* --- lengths --- */

START_TEST(DTO_009_061_082_empty_messages)
{
	/* PRG-07 */
	t_ok(dat_ep_post_recv(peer->ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(peer, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(peer, 0, 0, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(post_iov(SEND, 0, NULL, 0, 4, 0));
	t_ok(post_iov(SEND, 0, NULL, 0, 5, 0));
	t_ok(t_send(us, 0, 0, 6, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 3; i++) {
		t_wait_dto(us->request_evd, us->ep, 4 + i, DAT_DTO_SUCCESS, 0);
		t_wait_dto(peer->recv_evd, peer->ep, 1 + i, DAT_DTO_SUCCESS, 0);
	}
}
END_TEST

START_TEST(DTO_078_message_as_long_as_the_buffer)
{
	static const size_t lengths[] = {1, 7, 8, 63, 64, 65, 4095, 4096, 4097, T_BUF_SIZE};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		t_fill(us->buf.mem, lengths[i], (unsigned int)i);
		t_ok(t_recv(peer, 0, lengths[i], 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(us, 0, lengths[i], 2, DAT_COMPLETION_SUPPRESS_FLAG));
		t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, lengths[i]);
		ck_assert(t_is_filled(peer->buf.mem, lengths[i], (unsigned int)i));
	}
}
END_TEST

START_TEST(DTO_064_079_080_083_message_longer_than_the_buffer)
{
	/* Receives with no, one and two segments. The bytes behind the last one must not change. */
	static const size_t room[] = {0, 100, 60};
	DAT_LMR_TRIPLET in[2] = {t_seg(&peer->buf, 0, room[_i]), t_seg(&peer->buf, 200, 40)};
	DAT_EVENT event;

	memset(peer->buf.mem, '.', T_BUF_SIZE);
	t_ok(dat_ep_post_recv(peer->ep, _i, in, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(peer, 1000, 1000, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(us, 0, 101, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_LENGTH_ERROR, 0);
	t_wait_dto(peer->recv_evd, peer->ep, 2, DAT_DTO_ERR_FLUSHED, 0);
	paired_ends(DAT_CONNECTION_EVENT_BROKEN);
	event = t_wait_for(us->request_evd, DAT_DTO_COMPLETION_EVENT);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
	for (size_t i = room[_i]; i < 200; i++)
		ck_assert_int_eq(peer->buf.mem[i], '.');
	for (size_t i = 240; i < T_BUF_SIZE; i++)
		ck_assert_int_eq(peer->buf.mem[i], '.');
}
END_TEST

/* --- receives --- */

START_TEST(DTO_065_message_waits_for_a_receive)
{
	/* PRG-07 */
	for (uint64_t i = 0; i < 20; i++)
		t_ok(t_send(us, 0, 1000, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_stays_quiet(peer->connect_evd);
	for (uint64_t i = 0; i < 20; i++) {
		t_ok(t_recv(peer, 0, 1000, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(peer->recv_evd, peer->ep, i, DAT_DTO_SUCCESS, 1000);
		t_wait_dto(us->request_evd, us->ep, i, DAT_DTO_SUCCESS, 1000);
	}
}
END_TEST

START_TEST(DTO_066_consumer_owns_the_memory_after_the_completion)
{
	t_ok(t_recv(peer, 0, 30000, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_fill(us->buf.mem, 30000, 1);
	t_ok(t_send(us, 0, 30000, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_SUCCESS, 30000);
	memset(us->buf.mem, 0, 30000);
	t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, 30000);
	ck_assert(t_is_filled(peer->buf.mem, 30000, 1));
}
END_TEST

START_TEST(DTO_071_receives_posted_before_the_connection_are_used_in_order)
{
	/* TRN-001 */
	paired_again();
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_GRACEFUL_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ok(dat_ep_reset(us->ep));
	t_ok(dat_ep_reset(peer->ep));
	for (uint64_t i = 0; i < 5; i++) {
		t_ok(t_recv(us, 100 * i, 100, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_recv(peer, 100 * i, 100, i, DAT_COMPLETION_DEFAULT_FLAG));
	}
	t_establish(&paired.listener, us, peer);
	for (uint64_t i = 0; i < 5; i++) {
		t_ok(t_send(us, 0, 10 + i, i, DAT_COMPLETION_SUPPRESS_FLAG));
		t_ok(t_send(peer, 0, 20 + i, i, DAT_COMPLETION_SUPPRESS_FLAG));
		t_wait_dto(us->recv_evd, us->ep, i, DAT_DTO_SUCCESS, 20 + i);
		t_wait_dto(peer->recv_evd, peer->ep, i, DAT_DTO_SUCCESS, 10 + i);
	}
}
END_TEST

START_TEST(DTO_072_073_receives_after_the_end_are_flushed_in_order)
{
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	for (uint64_t i = 0; i < 10; i++)
		t_ok(t_recv(us, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 10; i++)
		t_wait_dto(us->recv_evd, us->ep, i, DAT_DTO_ERR_FLUSHED, 0);
}
END_TEST

START_TEST(DTO_089_region_freed_under_a_receive)
{
	/*
	 * LMR-040: any status is allowed. The receive completes once, and later events agree with
	 * it.
	 */
	struct t_buf gone;
	DAT_LMR_TRIPLET segment;
	DAT_EVENT event;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
	DAT_RETURN ret;

	t_buf_new(&gone, paired.ia[1].ia, paired.ia[1].pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	segment = t_seg(&gone, 0, 64);
	t_ok(dat_ep_post_recv(peer->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	ret = dat_lmr_free(gone.lmr);
	if (ret != DAT_SUCCESS)
		t_bad_state(ret);
	t_ok(t_send(us, 0, 64, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	event = t_wait_for(peer->recv_evd, DAT_DTO_COMPLETION_EVENT);
	ck_assert_uint_eq(dto->user_cookie.as_64, 1);
	if (dto->status == DAT_DTO_SUCCESS)
		ck_assert_uint_eq(dto->transfered_length, 64);
	else
		t_wait_conn(peer->connect_evd, DAT_CONNECTION_EVENT_BROKEN, peer->ep);
	t_no_event(peer->recv_evd);
}
END_TEST

START_TEST(DTO_096_every_post_completes_once)
{
	/* The disconnect comes at any time during the messages. */
	for (int round = 0; round < 40; round++) {
		for (uint64_t i = 0; i < 50; i++)
			t_ok(t_recv(peer, 0, 1000, i, DAT_COMPLETION_DEFAULT_FLAG));
		for (uint64_t i = 0; i < 50; i++)
			t_ok(t_send(us, 0, 1000, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(dat_ep_disconnect(round % 2 ? us->ep : peer->ep, DAT_CLOSE_ABRUPT_FLAG));
		paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
		for (uint64_t i = 0; i < 50; i++) {
			DAT_EVENT event = t_wait_for(peer->recv_evd, DAT_DTO_COMPLETION_EVENT);

			ck_assert_uint_eq(
				event.event_data.dto_completion_event_data.user_cookie.as_64, i);
			event = t_wait_for(us->request_evd, DAT_DTO_COMPLETION_EVENT);
			ck_assert_uint_eq(
				event.event_data.dto_completion_event_data.user_cookie.as_64, i);
		}
		t_no_event(peer->recv_evd);
		t_no_event(us->request_evd);
		t_ok(dat_ep_reset(us->ep));
		t_ok(dat_ep_reset(peer->ep));
		t_establish(&paired.listener, us, peer);
	}
}
END_TEST

/* --- threads and agents --- */

#define THREADS     4
#define PER_THREAD  200u
#define THREAD_BITS 32

static sem_t room; /* in the request EVD */

static void *post_from_thread(void *arg)
{
	uint64_t number = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < PER_THREAD; i++) {
		sem_wait(&room);
		if (t_send(us, 0, 64, number << THREAD_BITS | i, DAT_COMPLETION_DEFAULT_FLAG) !=
		    DAT_SUCCESS)
			return &room;
	}
	return NULL;
}

START_TEST(DTO_036_several_threads_post_to_one_ep)
{
	uint64_t next[THREADS] = {0};
	pthread_t threads[THREADS];
	void *failed;

	ck_assert_int_eq(sem_init(&room, 0, 100), 0);
	for (uint64_t i = 0; i < 100; i++)
		t_ok(t_recv(peer, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, post_from_thread, (void *)i), 0);
	for (uint64_t i = 0; i < THREADS * PER_THREAD; i++) {
		DAT_EVENT event = t_wait_for(us->request_evd, DAT_DTO_COMPLETION_EVENT);
		uint64_t cookie = event.event_data.dto_completion_event_data.user_cookie.as_64;
		uint64_t thread = cookie >> THREAD_BITS;

		ck_assert_uint_lt(thread, THREADS);
		ck_assert_uint_eq(cookie & UINT32_MAX, next[thread]++);
		t_wait_dto(peer->recv_evd, peer->ep, i, DAT_DTO_SUCCESS, 64);
		t_ok(t_recv(peer, 0, 64, i + 100, DAT_COMPLETION_DEFAULT_FLAG));
		sem_post(&room);
	}
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
		ck_assert_ptr_null(failed);
	}
}
END_TEST

static _Atomic DAT_RETURN agent_ret;

static void post_from_agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	(void)evd;
	agent_ret = t_send(instance, 0, 64, 7, DAT_COMPLETION_DEFAULT_FLAG);
}

START_TEST(DTO_037_agent_posts)
{
	DAT_OS_WAIT_PROXY_AGENT agent = {us, post_from_agent};
	DAT_CNO_HANDLE cno;

	agent_ret = DAT_TIMEOUT_EXPIRED;
	t_ok(dat_cno_create(paired.ia[0].ia, agent, &cno));
	t_ok(dat_evd_modify_cno(us->recv_evd, cno));
	t_ok(t_recv(us, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(peer, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(peer, 0, 64, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(peer->recv_evd, peer->ep, 2, DAT_DTO_SUCCESS, 64);
	/* the message may come before the agent's post returns */
	t_until(agent_ret != DAT_TIMEOUT_EXPIRED);
	t_ok(agent_ret);
	t_wait_dto(us->request_evd, us->ep, 7, DAT_DTO_SUCCESS, 64);
}
END_TEST

/* --- suite --- */

static void add_arguments(Suite *suite)
{
	TCase *tcase = paired_case(suite, "dto-arguments");

	tcase_add_loop_test(tcase, DTO_002_006_007_008_segments_are_counted, 0, KINDS);
	tcase_add_loop_test(tcase, DTO_015_016_153_segments_lie_inside_their_region, 0, KINDS);
	tcase_add_loop_test(tcase, DTO_018_unknown_context_is_refused, 0, KINDS);
	tcase_add_loop_test(tcase, DTO_019_020_114_129_local_rights, 0, KINDS);
	tcase_add_loop_test(tcase, DTO_021_region_belongs_to_the_zone_of_the_ep, 0, KINDS);
	tcase_add_loop_test(tcase, DTO_022_several_faults_at_once, 0, KINDS);
	tcase_add_loop_test(tcase, DTO_029_posts_refuse_other_handles, 0, KINDS);
	tcase_add_loop_test(tcase, DTO_047_053_084_088_flags_that_are_refused, 0, KINDS);
	tcase_add_loop_test(tcase, DTO_038_message_longer_than_the_limit, 0, KINDS);
	tcase_add_loop_test(tcase, DTO_042_092_posts_without_an_evd, 0, 2 * KINDS);
}

static void add_completions(Suite *suite)
{
	TCase *tcase = paired_case(suite, "dto-completions");

	tcase_add_test(tcase, DTO_001_005_030_031_one_completion_with_its_cookie);
#if T_DAT_MAJOR == 2
	tcase_add_test(tcase, DTO_033_034_event_names_the_operation);
#endif
	tcase_add_test(tcase,
		       DTO_003_004_023_024_091_queue_accepts_as_many_posts_as_its_attribute_says);
	tcase_add_test(tcase, DTO_025_062_075_077_gather_and_scatter);
	tcase_add_test(tcase, DTO_012_013_017_empty_segments_and_several_regions);
	tcase_add_test(tcase, DTO_028_consumer_owns_the_segments_at_return);
	tcase_add_test(tcase, DTO_035_segments_of_any_alignment);
	tcase_add_test(tcase, DTO_043_174_requests_complete_in_posting_order);
	tcase_add_test(tcase, DTO_044_046_075_suppressed_success_has_no_event);
	tcase_add_test(tcase, DTO_040_045_suppressed_failure_has_an_event);
	tcase_add_test(tcase, DTO_050_051_fence_waits_for_earlier_reads);
	tcase_add_test(tcase, DTO_054_063_legal_flags_go_together);
	tcase_add_test(tcase, DTO_055_060_074_messages_keep_order_and_boundaries);
	tcase_add_test(tcase, DTO_009_061_082_empty_messages);
	tcase_add_test(tcase, DTO_078_message_as_long_as_the_buffer);
	tcase_add_loop_test(tcase, DTO_064_079_080_083_message_longer_than_the_buffer, 0, 3);
}

static void add_receives(Suite *suite)
{
	TCase *tcase = paired_case(suite, "dto-receives");

	tcase_add_test(tcase, DTO_065_message_waits_for_a_receive);
	tcase_add_test(tcase, DTO_066_consumer_owns_the_memory_after_the_completion);
	tcase_add_test(tcase, DTO_071_receives_posted_before_the_connection_are_used_in_order);
	tcase_add_test(tcase, DTO_072_073_receives_after_the_end_are_flushed_in_order);
	tcase_add_test(tcase, DTO_089_region_freed_under_a_receive);
	tcase_add_test(tcase, DTO_096_every_post_completes_once);
	tcase_add_test(tcase, DTO_036_several_threads_post_to_one_ep);
	tcase_add_test(tcase, DTO_037_agent_posts);
}

Suite *conform_dto(void)
{
	Suite *suite = suite_create("dto");

	add_arguments(suite);
	add_completions(suite);
	add_receives(suite);
	conform_rdma(suite);
	conform_returns(suite);
	return suite;
}
