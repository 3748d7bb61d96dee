/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Features of DAT 2.0 only: RMRs of an EP, Sends that invalidate, reads into RMRs, descriptors of
 * CNOs, InfiniBand extensions.
 */
#include "paired.h"

#include <string.h>

#if T_DAT_MAJOR == 1

START_TEST(HND_023_named_attributes_deny_extensions)
{
	ck_assert_str_eq(t_named(&paired.ia[0].provider, "DAT_EXTENSION_INTERFACE"), "FALSE");
	ck_assert_str_eq(t_named(&paired.ia[0].provider, "DAT_IB_FETCH_AND_ADD"), "FALSE");
	ck_assert_str_eq(t_named(&paired.ia[0].provider, "DAT_IB_IMMED_DATA"), "FALSE");
}
END_TEST

Suite *conform_ext(void)
{
	Suite *suite = suite_create("ext");

	tcase_add_test(paired_case(suite, "ext"), HND_023_named_attributes_deny_extensions);
	return suite;
}

#else

#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define NO_FLAGS  DAT_COMPLETION_DEFAULT_FLAG
#define COOKIE(n) ((DAT_DTO_COOKIE){.as_64 = (n)})

static const DAT_DTO_COMPLETION_EVENT_DATA *dto_of(const DAT_EVENT *event)
{
	return &event->event_data.dto_completion_event_data;
}

/*
 * Some fabrics lack what these operations need. The attributes tell, and
 * HND_023_missing_extensions_are_refused tests the answer of the calls.
 */
static bool is_offered(const char *attr)
{
	return !strcmp(t_named(&us->on->provider, attr), "TRUE");
}

static bool atomics_are_offered(void)
{
	return is_offered(DAT_IB_ATTR_FETCH_AND_ADD);
}

static bool immediates_are_offered(void)
{
	return is_offered(DAT_IB_ATTR_IMMED_DATA);
}

#define NEEDS_CTRL                                                         \
	do {                                                               \
		if (!paired_has_records())                                 \
			t_skip("the fabric cannot carry control records"); \
	} while (0)

#define NEEDS_ATOMICS                                                  \
	do {                                                           \
		if (!atomics_are_offered())                            \
			t_skip("the fabric has no atomic operations"); \
	} while (0)

#define NEEDS_IMMEDIATES                                            \
	do {                                                        \
		if (!immediates_are_offered())                      \
			t_skip("the fabric has no immediate data"); \
	} while (0)

/* --- RMRs --- */

static DAT_RMR_HANDLE rmr_of_ep(const struct t_end *end)
{
	DAT_RMR_HANDLE rmr;

	t_ok(dat_rmr_create_for_ep(end->on->pz, &rmr));
	return rmr;
}

static DAT_RMR_CONTEXT bound(DAT_RMR_HANDLE rmr, const struct t_end *end, size_t length,
			     DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_RMR_CONTEXT context;

	t_ok(t_rmr_bind(rmr, &end->buf, t_seg(&end->buf, 0, length), privileges, end->ep, 1,
			NO_FLAGS, &context));
	t_wait_bind(end->request_evd, rmr, 1, DAT_DTO_SUCCESS);
	return context;
}

START_TEST(RMR_007_008_012_rmr_of_an_EP)
{
	/* IA-061 */
	DAT_RMR_HANDLE rmr = rmr_of_ep(peer);
	struct t_end other_us, other_peer;
	DAT_RMR_TRIPLET to;
	DAT_RMR_PARAM param;

	ck_assert_int_eq(paired.ia[1].provider.rmr_scope_supported, DAT_RMR_SCOPE_ANY);
	t_error_sub(dat_rmr_create_for_ep(peer->ep, &rmr), DAT_INVALID_HANDLE,
		    DAT_INVALID_HANDLE_PZ);
	t_bad_arg(dat_rmr_create_for_ep(peer->on->pz, NULL));
	t_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_int_eq(param.rmr_scope, DAT_RMR_SCOPE_EP);
	to = t_remote(bound(rmr, peer, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG),
		      (uintptr_t)peer->buf.mem, 64);
	t_fill(us->buf.mem, 64, 3);
	t_ok(t_write(us, 0, 64, 2, to, NO_FLAGS));
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_SUCCESS, 64);
	paired_send(us, peer, 8);
	ck_assert(t_is_filled(peer->buf.mem, 64, 3));
	/* Over another EP of the same zone it is refused. */
	t_end_new(&other_us, us->on, NULL);
	t_end_new(&other_peer, peer->on, NULL);
	t_establish(&paired.listener, &other_us, &other_peer);
	t_ok(t_write(&other_us, 0, 64, 3, to, NO_FLAGS));
	t_wait_dto(other_us.request_evd, other_us.ep, 3, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	ck_assert_int_eq(t_ep_state(us->ep), DAT_EP_STATE_CONNECTED);
	t_ok(dat_rmr_free(rmr));
}
END_TEST

static DAT_RETURN send_invalidating(const struct t_end *end, size_t length, DAT_RMR_CONTEXT context)
{
	DAT_LMR_TRIPLET segment = t_seg(&end->buf, 0, length);

	return dat_ep_post_send_with_invalidate(end->ep, 1, &segment, COOKIE(5), NO_FLAGS, DAT_TRUE,
						context);
}

START_TEST(DTO_068_069_send_ends_a_context)
{
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_EVENT event;
	struct t_buf extra;

	NEEDS_CTRL;
	t_buf_new(&extra, peer->on->ia, peer->on->pz, 64, DAT_MEM_PRIV_ALL_FLAG);
	t_ok(dat_rmr_create(peer->on->pz, &rmr));
	t_ok(t_rmr_bind(rmr, &extra, t_seg(&extra, 0, 64), DAT_MEM_PRIV_REMOTE_WRITE_FLAG, peer->ep,
			1, NO_FLAGS, &context));
	t_wait_bind(peer->request_evd, rmr, 1, DAT_DTO_SUCCESS);
	t_ok(t_write(us, 0, 64, 2, t_remote(context, (uintptr_t)extra.mem, 64), NO_FLAGS));
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_SUCCESS, 64);
	t_ok(t_recv(peer, 0, 32, 9, NO_FLAGS));
	t_ok(send_invalidating(us, 16, context));
	event = t_wait_for(us->request_evd, DAT_DTO_COMPLETION_EVENT);
	ck_assert_int_eq(dto_of(&event)->operation, DAT_DTO_SEND);
	ck_assert_int_eq(dto_of(&event)->status, DAT_DTO_SUCCESS);
	event = t_wait_for(peer->recv_evd, DAT_DTO_COMPLETION_EVENT);
	ck_assert_int_eq(dto_of(&event)->operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
	ck_assert_int_eq(dto_of(&event)->status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(dto_of(&event)->transfered_length, 16);
	ck_assert_uint_eq(dto_of(&event)->rmr_context, context);
	ck_assert_uint_eq(dto_of(&event)->user_cookie.as_64, 9);
	/* The invalidated RMR does not use its LMR any more, and no peer can use the RMR. */
	lmr = extra.lmr;
	t_ok(dat_lmr_free(lmr));
	t_ok(t_write(us, 0, 64, 3, t_remote(context, (uintptr_t)extra.mem, 64), NO_FLAGS));
	t_wait_dto(us->request_evd, us->ep, 3, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	t_ok(dat_rmr_free(rmr));
	t_bad_handle_of(dat_ep_post_send_with_invalidate(us->request_evd, 0, NULL, COOKIE(1),
							 NO_FLAGS, DAT_TRUE, context),
			EP);
	t_bad_arg(dat_ep_post_send_with_invalidate(us->ep, 0, NULL, COOKIE(1), NO_FLAGS, DAT_TRUE,
						   0));
}
END_TEST

START_TEST(DTO_069_requests_queued_behind_it_find_the_context_invalid)
{
	DAT_RMR_HANDLE rmr = rmr_of_ep(peer);
	DAT_RMR_CONTEXT context = bound(rmr, peer, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	DAT_RMR_TRIPLET to = t_remote(context, (uintptr_t)peer->buf.mem, 64);

	NEEDS_CTRL;
	t_ok(t_recv(peer, 0, 32, 9, NO_FLAGS));
	t_ok(t_write(us, 0, 64, 1, to, NO_FLAGS));
	t_ok(send_invalidating(us, 16, context));
	t_ok(t_write(us, 0, 64, 2, to, NO_FLAGS));
	t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_SUCCESS, 64);
	t_wait_dto(us->request_evd, us->ep, 5, DAT_DTO_SUCCESS, 16);
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
}
END_TEST

START_TEST(DTO_069_a_context_stays_invalid_when_another_takes_its_cache_entry)
{
	/*
	 * The cache of remote contexts has 64 entries. Two contexts with the same low bits share an
	 * entry.
	 */
	const unsigned int slots = 64;
	DAT_RMR_HANDLE rmr[65];
	DAT_RMR_CONTEXT dead, alive = 0;
	uint32_t n = 0;

	NEEDS_CTRL;
	rmr[0] = rmr_of_ep(peer);
	dead = bound(rmr[0], peer, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	do {
		rmr[++n] = rmr_of_ep(peer);
		alive = bound(rmr[n], peer, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	} while ((alive - dead) % slots && n < slots);
	t_ok(t_recv(peer, 0, 32, 9, NO_FLAGS));
	t_ok(t_write(us, 0, 64, 1, t_remote(dead, (uintptr_t)peer->buf.mem, 64), NO_FLAGS));
	t_ok(send_invalidating(us, 16, dead));
	t_ok(t_write(us, 0, 64, 2, t_remote(alive, (uintptr_t)peer->buf.mem, 64), NO_FLAGS));
	t_ok(t_write(us, 0, 64, 3, t_remote(dead, (uintptr_t)peer->buf.mem, 64), NO_FLAGS));
	t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_SUCCESS, 64);
	t_wait_dto(us->request_evd, us->ep, 5, DAT_DTO_SUCCESS, 16);
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_SUCCESS, 64);
	t_wait_dto(us->request_evd, us->ep, 3, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
	while (n + 1)
		t_ok(dat_rmr_free(rmr[n--]));
}
END_TEST

START_TEST(DTO_069_a_foreign_context_breaks_the_connection)
{
	NEEDS_CTRL;
	t_ok(t_recv(peer, 0, 32, 9, NO_FLAGS));
	t_ok(send_invalidating(
		us, 16,
		peer->buf.rmr_context)); /* a Send cannot invalidate the context of an LMR */
	t_wait_dto(peer->recv_evd, peer->ep, 9, DAT_DTO_ERR_LOCAL_PROTECTION, 0);
	t_wait_conn(peer->connect_evd, DAT_CONNECTION_EVENT_BROKEN, peer->ep);
}
END_TEST

START_TEST(DTO_069_without_the_flag_it_is_a_send)
{
	DAT_LMR_TRIPLET segment = t_seg(&us->buf, 0, 16);

	t_ok(t_recv(peer, 0, 32, 9, NO_FLAGS));
	t_ok(dat_ep_post_send_with_invalidate(us->ep, 1, &segment, COOKIE(1), NO_FLAGS, DAT_FALSE,
					      0));
	t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_SUCCESS, 16);
	t_wait_dto(peer->recv_evd, peer->ep, 9, DAT_DTO_SUCCESS, 16);
}
END_TEST

START_TEST(DTO_118_119_read_into_an_RMR)
{
	DAT_RMR_HANDLE rmr = rmr_of_ep(us);
	DAT_RMR_CONTEXT context = bound(rmr, us, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	DAT_RMR_TRIPLET from = t_remote_seg(&peer->buf, 128, 32);
	DAT_RMR_TRIPLET to = t_remote(context, (uintptr_t)us->buf.mem + 16, 32);
	struct t_buf other;
	DAT_PZ_HANDLE zone;
	DAT_EVENT event;

	t_fill(peer->buf.mem + 128, 32, 8);
	t_ok(dat_ep_post_rdma_read_to_rmr(us->ep, &to, COOKIE(4), &from, NO_FLAGS));
	event = t_wait_dto(us->request_evd, us->ep, 4, DAT_DTO_SUCCESS, 32);
	ck_assert_int_eq(dto_of(&event)->operation, DAT_DTO_RDMA_READ);
	ck_assert(t_is_filled(us->buf.mem + 16, 32, 8));
	to.segment_length = 16;
	t_error(dat_ep_post_rdma_read_to_rmr(us->ep, &to, COOKIE(4), &from, NO_FLAGS),
		DAT_LENGTH_ERROR);
	to = t_remote(context, (uintptr_t)us->buf.mem + 48, 32);
	t_bad_arg(dat_ep_post_rdma_read_to_rmr(us->ep, &to, COOKIE(4), &from, NO_FLAGS));
	t_bad_arg(dat_ep_post_rdma_read_to_rmr(us->ep, NULL, COOKIE(4), &from, NO_FLAGS));
	t_bad_arg(dat_ep_post_rdma_read_to_rmr(us->ep, &to, COOKIE(4), NULL, NO_FLAGS));
	t_bad_handle_of(dat_ep_post_rdma_read_to_rmr(us->on->pz, &to, COOKIE(4), &from, NO_FLAGS),
			EP);
	t_ok(dat_pz_create(us->on->ia, &zone));
	t_buf_new(&other, us->on->ia, zone, 64, DAT_MEM_PRIV_ALL_FLAG);
	to = t_remote_seg(&other, 0, 32);
	t_error(dat_ep_post_rdma_read_to_rmr(us->ep, &to, COOKIE(4), &from, NO_FLAGS),
		DAT_PROTECTION_VIOLATION);
	t_buf_free(&other);
	t_ok(dat_pz_free(zone));
	to = t_remote(context, (uintptr_t)us->buf.mem + 48, 32);
	t_ok(dat_rmr_free(rmr));
	t_error(dat_ep_post_rdma_read_to_rmr(us->ep, &to, COOKIE(4), &from, NO_FLAGS),
		DAT_PRIVILEGES_VIOLATION);
	/* A read may write only to an RMR that peers may write to. */
	rmr = rmr_of_ep(us);
	to = t_remote(bound(rmr, us, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG), (uintptr_t)us->buf.mem,
		      32);
	t_error(dat_ep_post_rdma_read_to_rmr(us->ep, &to, COOKIE(4), &from, NO_FLAGS),
		DAT_PRIVILEGES_VIOLATION);
	t_ok(dat_rmr_free(rmr));
	t_no_event(us->request_evd);
}
END_TEST

/* --- addresses that begin at 0 --- */

static void zero_based_new(struct t_buf *buf, const struct t_end *end, size_t size)
{
	const unsigned int privileges =
		DAT_MEM_PRIV_ALL_FLAG | (unsigned int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	DAT_REGION_DESCRIPTION what;
	DAT_VADDR first = 1;
	DAT_VLEN length = 0;

	t_buf_new(buf, end->on->ia, end->on->pz, size, DAT_MEM_PRIV_ALL_FLAG);
	t_ok(dat_lmr_free(buf->lmr));
	what.for_va = buf->mem;
	t_ok(dat_lmr_create(end->on->ia, DAT_MEM_TYPE_VIRTUAL, what, size, end->on->pz,
			    (DAT_MEM_PRIV_FLAGS)privileges, DAT_VA_TYPE_ZB, &buf->lmr,
			    &buf->lmr_context, &buf->rmr_context, &length, &first));
	ck_assert_uint_eq(first, 0);
	ck_assert_uint_eq(length, size);
}

static DAT_LMR_TRIPLET zero_seg(const struct t_buf *buf, size_t offset, size_t length)
{
	return (DAT_LMR_TRIPLET){.lmr_context = buf->lmr_context,
				 .virtual_address = offset,
				 .segment_length = length};
}

static void done(const struct t_end *end, uint64_t cookie, size_t length)
{
	t_wait_dto(end->request_evd, end->ep, cookie, DAT_DTO_SUCCESS, length);
}

START_TEST(LMR_030_043_zero_based_regions)
{
	struct t_buf ours, theirs;
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET remote;
	DAT_LMR_PARAM param;

	ck_assert(us->on->attr.zb_supported);
	zero_based_new(&ours, us, 256);
	zero_based_new(&theirs, peer, 256);
	t_ok(dat_lmr_query(ours.lmr, DAT_LMR_FIELD_ALL, &param));
	ck_assert_int_eq(param.va_type, DAT_VA_TYPE_ZB);
	ck_assert_uint_eq(param.registered_address, 0);
	t_fill(ours.mem, 64, 1);
	segment = zero_seg(&theirs, 0, 64);
	t_ok(dat_ep_post_recv(peer->ep, 1, &segment, COOKIE(1), NO_FLAGS));
	segment = zero_seg(&ours, 0, 64);
	t_ok(dat_ep_post_send(us->ep, 1, &segment, COOKIE(1), NO_FLAGS));
	done(us, 1, 64);
	t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, 64);
	ck_assert(t_is_filled(theirs.mem, 64, 1));
	remote = t_remote(theirs.rmr_context, 128, 64);
	t_ok(dat_ep_post_rdma_write(us->ep, 1, &segment, COOKIE(2), &remote, NO_FLAGS));
	done(us, 2, 64);
	segment = zero_seg(&ours, 192, 64);
	t_ok(dat_ep_post_rdma_read(us->ep, 1, &segment, COOKIE(3), &remote, NO_FLAGS));
	done(us, 3, 64);
	ck_assert(t_is_filled(theirs.mem + 128, 64, 1));
	ck_assert(t_is_filled(ours.mem + 192, 64, 1));
	segment = zero_seg(&ours, 193, 64);
	t_bad_arg(dat_ep_post_send(us->ep, 1, &segment, COOKIE(1), NO_FLAGS));
	if (atomics_are_offered()) {
		remote = t_remote(theirs.rmr_context, 8, 8);
		segment = zero_seg(&ours, 0, 8);
		memset(theirs.mem + 8, 0, 8);
		t_ok(dat_ib_post_fetch_and_add(us->ep, 9, &segment, COOKIE(4), &remote, NO_FLAGS));
		t_wait_for(us->request_evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
		ck_assert_uint_eq(theirs.mem[8], 9);
	}
	t_buf_free(&ours);
	t_buf_free(&theirs);
}
END_TEST

START_TEST(DTO_186_zero_based_windows)
{
	DAT_LMR_TRIPLET window = t_seg(&peer->buf, 512, 64), local = t_seg(&us->buf, 0, 64);
	DAT_RMR_HANDLE rmr;
	DAT_RMR_TRIPLET remote;
	DAT_RMR_PARAM param;
	DAT_RMR_CONTEXT context;

	t_ok(dat_rmr_create(peer->on->pz, &rmr));
	t_ok(dat_rmr_bind(rmr, peer->buf.lmr, &window, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			  DAT_VA_TYPE_ZB, peer->ep, (DAT_RMR_COOKIE){.as_64 = 1}, NO_FLAGS,
			  &context));
	t_wait_bind(peer->request_evd, rmr, 1, DAT_DTO_SUCCESS);
	t_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_int_eq(param.va_type, DAT_VA_TYPE_ZB);
	t_fill(us->buf.mem, 64, 6);
	remote = t_remote(context, 0, 64);
	t_ok(dat_ep_post_rdma_write(us->ep, 1, &local, COOKIE(2), &remote, NO_FLAGS));
	done(us, 2, 64);
	paired_send(us, peer, 8);
	ck_assert(t_is_filled(peer->buf.mem + 512, 64, 6));
	/* The peer reads into it itself. */
	remote = t_remote_seg(&us->buf, 0, 32);
	t_ok(dat_ep_post_rdma_read_to_rmr(peer->ep,
					  &(DAT_RMR_TRIPLET){.rmr_context = context,
							     .virtual_address = 32,
							     .segment_length = 32},
					  COOKIE(3), &remote, NO_FLAGS));
	done(peer, 3, 32);
	ck_assert_mem_eq(peer->buf.mem + 544, us->buf.mem, 32);
	remote = t_remote(context, 1, 64);
	t_ok(dat_ep_post_rdma_write(us->ep, 1, &local, COOKIE(2), &remote, NO_FLAGS));
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	t_ok(dat_rmr_free(rmr));
}
END_TEST

/* --- CNOs --- */

static bool readable(DAT_FD fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

START_TEST(CNO_008_010_048_trigger_is_taken_from_a_descriptor)
{
	DAT_EVD_HANDLE evd, hint = (DAT_EVD_HANDLE)1;
	DAT_CNO_HANDLE cno;
	DAT_FD fd;

	t_ok(dat_cno_fd_create(us->on->ia, &fd, &cno));
	evd = t_evd_of_cno(us->on, cno, DAT_EVD_SOFTWARE_FLAG);
	ck_assert(!readable(fd));
	t_error(dat_cno_trigger(cno, &hint), DAT_QUEUE_EMPTY);
	ck_assert_ptr_null(hint);
	t_ok(t_post_se(evd, NULL));
	ck_assert(readable(fd));
	t_ok(dat_cno_trigger(cno, &hint));
	ck_assert_ptr_eq(hint, evd);
	ck_assert(!readable(fd));
	t_error(dat_cno_trigger(cno, &hint), DAT_QUEUE_EMPTY);
	t_wait_se(evd, NULL);
	t_ok(dat_evd_free(evd));
	t_ok(dat_cno_free(cno));
}
END_TEST

START_TEST(CNO_048_049_trigger_of_an_ordinary_CNO)
{
	DAT_CNO_HANDLE cno = t_cno(us->on);
	DAT_EVD_HANDLE evd = t_evd_of_cno(us->on, cno, DAT_EVD_SOFTWARE_FLAG), hint;

	t_ok(t_post_se(evd, NULL));
	t_ok(dat_cno_trigger(cno, &hint));
	ck_assert_ptr_eq(hint, evd);
	t_error(t_poll_cno(cno, &hint), DAT_QUEUE_EMPTY);
	t_bad_arg(dat_cno_trigger(cno, NULL));
	t_error_sub(dat_cno_trigger(evd, &hint), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	t_ok(dat_evd_free(evd));
	t_ok(dat_cno_free(cno));
}
END_TEST

/* --- InfiniBand extensions --- */

static void expect_extended(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_IB_EXT_TYPE type,
			    int operation, uint64_t cookie, size_t length, DAT_UINT32 immediate)
{
	DAT_EVENT event = t_wait_for(evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	DAT_IB_EXTENSION_EVENT_DATA ext;

	memcpy(&ext, event.event_extension_data, sizeof(ext));
	ck_assert_ptr_eq(dto_of(&event)->ep_handle, ep);
	ck_assert_int_eq(dto_of(&event)->status, DAT_DTO_SUCCESS);
	ck_assert_int_eq(ext.status, DAT_OP_SUCCESS);
	ck_assert_int_eq(ext.type, type);
	ck_assert_int_eq((int)dto_of(&event)->operation, operation);
	ck_assert_uint_eq(dto_of(&event)->user_cookie.as_64, cookie);
	ck_assert_uint_eq(dto_of(&event)->transfered_length, length);
	if (type == DAT_IB_RDMA_WRITE_IMMED_DATA)
		ck_assert_uint_eq(ext.val.immed.data, immediate);
}

static void expect_failure(DAT_EVD_HANDLE evd, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT event = t_wait_for(evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	DAT_IB_EXTENSION_EVENT_DATA ext;

	memcpy(&ext, event.event_extension_data, sizeof(ext));
	ck_assert_uint_eq(dto_of(&event)->user_cookie.as_64, cookie);
	ck_assert_int_eq(dto_of(&event)->status, status);
	ck_assert_int_eq((int)ext.status, (int)status);
}

START_TEST(HND_023_attributes_name_the_extensions)
{
	const DAT_PROVIDER_ATTR *attr = &us->on->provider;

	ck_assert_int_eq(us->on->attr.extension_supported, DAT_EXTENSION_IB);
	ck_assert_int_eq(us->on->attr.extension_version, DAT_IB_EXTENSION_VERSION);
	ck_assert_str_eq(t_named(attr, "DAT_EXTENSION_INTERFACE"), "TRUE");
	ck_assert_str_eq(t_named(attr, DAT_IB_ATTR_CMP_AND_SWAP),
			 atomics_are_offered() ? "TRUE" : "FALSE");
	if (atomics_are_offered())
		ck_assert(immediates_are_offered());
	else
		ck_assert_str_eq(t_named(attr, DAT_IB_ATTR_FETCH_AND_ADD), "FALSE");
	if (!strcmp(t_named(attr, "DAT_OFI_TRANSPORT"), "msg") &&
	    !strcmp(t_named(attr, "DAT_OFI_PROVIDER"), "tcp"))
		ck_assert(paired_has_records());
	ck_assert_str_eq(t_named(attr, DAT_IB_ATTR_COUNTERS), "TRUE");
	ck_assert_str_eq(t_named(attr, DAT_IB_COLL_BARRIER), "");
	for (DAT_COUNT i = 0; i < attr->num_provider_specific_attr; i++)
		ck_assert_ptr_nonnull(attr->provider_specific_attr[i].value);
}
END_TEST

START_TEST(HND_023_missing_extensions_are_refused)
{
	DAT_LMR_TRIPLET local = t_seg(&us->buf, 0, 8);
	DAT_RMR_TRIPLET remote = t_remote_seg(&peer->buf, 0, 8);

	if (paired_has_records())
		t_skip("all are offered here");
	/* DTO-068 */
	t_unsupported(dat_ep_post_send_with_invalidate(us->ep, 1, &local, COOKIE(1), NO_FLAGS,
						       DAT_TRUE, remote.rmr_context));
	if (!immediates_are_offered())
		t_unsupported(dat_ib_post_rdma_write_immed(us->ep, 1, &local, COOKIE(1), &remote, 1,
							   NO_FLAGS));
	if (atomics_are_offered())
		t_skip("atomic operations are offered here");
	t_unsupported(dat_ib_post_fetch_and_add(us->ep, 1, &local, COOKIE(1), &remote, NO_FLAGS));
	t_unsupported(dat_ib_post_cmp_and_swap(us->ep, 1, 2, &local, COOKIE(1), &remote, NO_FLAGS));
}
END_TEST

START_TEST(HND_023_unknown_operations_are_refused)
{
	t_unsupported(dat_extension_op(us->ep, DAT_IB_COLLECTIVE_BARRIER_OP));
	t_error(dat_extension_op(us->ep, 0x7ff), DAT_NOT_IMPLEMENTED);
	t_bad_handle(dat_ib_post_send_ud(us->ep, 0, NULL, NULL, COOKIE(1), NO_FLAGS));
	t_bad_handle(dat_ib_post_fetch_and_add(us->on->pz, 1, NULL, COOKIE(1), NULL, NO_FLAGS));
	t_bad_handle(
		dat_ib_post_rdma_write_immed(us->on->pz, 0, NULL, COOKIE(1), NULL, 1, NO_FLAGS));
}
END_TEST

static DAT_RETURN write_immediate(const struct t_end *end, size_t length, uint64_t cookie,
				  const struct t_end *to, DAT_UINT32 immediate,
				  DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = t_seg(&end->buf, 0, length);
	DAT_RMR_TRIPLET remote = t_remote_seg(&to->buf, 1024, length);

	return dat_ib_post_rdma_write_immed(end->ep, 1, &segment, COOKIE(cookie), &remote,
					    immediate, flags);
}

START_TEST(HND_023_write_with_immediate_data)
{
	NEEDS_IMMEDIATES;
	t_fill(us->buf.mem, 256, 4);
	t_ok(t_recv(peer, 0, 64, 7, NO_FLAGS));
	t_ok(t_recv(peer, 64, 64, 8, NO_FLAGS));
	t_ok(write_immediate(us, 256, 1, peer, 0xfedcba98u, NO_FLAGS));
	t_ok(t_send(us, 0, 16, 2, NO_FLAGS));
	expect_extended(us->request_evd, us->ep, DAT_IB_RDMA_WRITE_IMMED,
			DAT_IB_DTO_RDMA_WRITE_IMMED, 1, 256, 0);
	t_wait_dto(us->request_evd, us->ep, 2, DAT_DTO_SUCCESS, 16);
	/*
	 * Immediate data take the oldest receive without writing its buffer. The next message takes
	 * the next.
	 */
	expect_extended(peer->recv_evd, peer->ep, DAT_IB_RDMA_WRITE_IMMED_DATA,
			DAT_IB_DTO_RECV_IMMED, 7, 256, 0xfedcba98u);
	ck_assert(t_is_filled(peer->buf.mem + 1024, 256, 4));
	ck_assert_uint_eq(peer->buf.mem[0], 0);
	t_wait_dto(peer->recv_evd, peer->ep, 8, DAT_DTO_SUCCESS, 16);
}
END_TEST

START_TEST(HND_023_immediate_data_alone)
{
	NEEDS_IMMEDIATES;
	t_ok(t_recv(peer, 0, 64, 7, NO_FLAGS));
	t_ok(dat_ib_post_rdma_write_immed(us->ep, 0, NULL, COOKIE(1), NULL, 0, NO_FLAGS));
	expect_extended(us->request_evd, us->ep, DAT_IB_RDMA_WRITE_IMMED,
			DAT_IB_DTO_RDMA_WRITE_IMMED, 1, 0, 0);
	expect_extended(peer->recv_evd, peer->ep, DAT_IB_RDMA_WRITE_IMMED_DATA,
			DAT_IB_DTO_RECV_IMMED, 7, 0, 0);
}
END_TEST

START_TEST(HND_023_many_writes_with_immediate_data_keep_order)
{
	NEEDS_IMMEDIATES;
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < 10; i++)
			t_ok(t_recv(peer, 0, 64, i, NO_FLAGS));
		for (unsigned int i = 0; i < 10; i++)
			if (i % 3 == 2)
				t_ok(t_send(us, 0, i, i, DAT_COMPLETION_SUPPRESS_FLAG));
			else
				t_ok(write_immediate(us, 100 * i, i, peer, round * 100 + i,
						     i == 9 ? NO_FLAGS
							    : DAT_COMPLETION_SUPPRESS_FLAG));
		for (unsigned int i = 0; i < 10; i++)
			if (i % 3 == 2)
				t_wait_dto(peer->recv_evd, peer->ep, i, DAT_DTO_SUCCESS, i);
			else
				expect_extended(peer->recv_evd, peer->ep,
						DAT_IB_RDMA_WRITE_IMMED_DATA, DAT_IB_DTO_RECV_IMMED,
						i, 100 * (size_t)i, round * 100 + i);
		expect_extended(us->request_evd, us->ep, DAT_IB_RDMA_WRITE_IMMED,
				DAT_IB_DTO_RDMA_WRITE_IMMED, 9, 900, 0);
	}
	t_no_event(us->request_evd);
}
END_TEST

START_TEST(HND_023_write_with_immediate_data_is_refused_or_flushed)
{
	DAT_RMR_TRIPLET beyond = t_remote_seg(&peer->buf, T_BUF_SIZE - 8, 16);
	DAT_LMR_TRIPLET segment = t_seg(&us->buf, 0, 16);

	NEEDS_IMMEDIATES;
	beyond.segment_length = 15;
	t_error(dat_ib_post_rdma_write_immed(us->ep, 1, &segment, COOKIE(1), &beyond, 1, NO_FLAGS),
		DAT_LENGTH_ERROR);
	t_bad_arg(dat_ib_post_rdma_write_immed(us->ep, 1, &segment, COOKIE(1), NULL, 1, NO_FLAGS));
	t_bad_arg(dat_ib_post_rdma_write_immed(us->ep, -1, &segment, COOKIE(1), &beyond, 1,
					       NO_FLAGS));
	beyond.segment_length = 16;
	t_ok(dat_ib_post_rdma_write_immed(us->ep, 1, &segment, COOKIE(1), &beyond, 1, NO_FLAGS));
	expect_failure(us->request_evd, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
	t_ok(write_immediate(us, 16, 2, peer, 1, NO_FLAGS));
	expect_failure(us->request_evd, 2, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(HND_023_immediate_data_by_an_SRQ)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_EP_ATTR ep_attr = t_default_attr(&paired.ia[1]);
	struct t_end from, to;
	DAT_SRQ_HANDLE srq;

	NEEDS_IMMEDIATES;
	t_ok(dat_srq_create(paired.ia[1].ia, paired.ia[1].pz, &attr, &srq));
	t_end_new(&from, &paired.ia[0], NULL);
	t_end_new(&to, &paired.ia[1], NULL);
	t_ok(dat_ep_free(to.ep));
	t_ok(dat_ep_create_with_srq(paired.ia[1].ia, paired.ia[1].pz, to.recv_evd, to.request_evd,
				    to.connect_evd, srq, &ep_attr, &to.ep));
	t_establish(&paired.listener, &from, &to);
	t_ok(dat_srq_post_recv(srq, 0, NULL, COOKIE(6)));
	t_ok(write_immediate(&from, 300, 1, &to, 77, NO_FLAGS));
	if (paired_has_records())
		expect_extended(to.recv_evd, to.ep, DAT_IB_RDMA_WRITE_IMMED_DATA,
				DAT_IB_DTO_RECV_IMMED, 6, 300, 77);
	else /* InfiniBand uses the immediate data of an SRQ's message for the connection number */
		t_wait_dto(to.recv_evd, to.ep, 6, DAT_DTO_SUCCESS, 300);
}
END_TEST

/* --- atomic operations --- */

/* The target of the operations, at the peer. */
static struct t_buf counter;

static void counter_new(uint64_t value)
{
	t_buf_new(&counter, peer->on->ia, peer->on->pz, 64,
		  (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG |
				       (unsigned int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC));
	memcpy(counter.mem, &value, sizeof(value));
}

static uint64_t word_at(const void *mem)
{
	uint64_t value;

	memcpy(&value, mem, sizeof(value));
	return value;
}

static DAT_RETURN add(const struct t_end *end, size_t offset, uint64_t value, uint64_t cookie,
		      DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET local = t_seg(&end->buf, offset, 8);
	DAT_RMR_TRIPLET remote = t_remote_seg(&counter, 0, 8);

	return dat_ib_post_fetch_and_add(end->ep, value, &local, COOKIE(cookie), &remote, flags);
}

static DAT_RETURN swap(const struct t_end *end, uint64_t compare, uint64_t value, uint64_t cookie)
{
	DAT_LMR_TRIPLET local = t_seg(&end->buf, 0, 8);
	DAT_RMR_TRIPLET remote = t_remote_seg(&counter, 0, 64);

	return dat_ib_post_cmp_and_swap(end->ep, compare, value, &local, COOKIE(cookie), &remote,
					NO_FLAGS);
}

START_TEST(HND_023_fetch_and_add)
{
	NEEDS_ATOMICS;
	counter_new(1000);
	t_ok(add(us, 0, 5, 1, NO_FLAGS));
	expect_extended(us->request_evd, us->ep, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, 1, 8,
			0);
	ck_assert_uint_eq(word_at(us->buf.mem), 1000);
	ck_assert_uint_eq(word_at(counter.mem), 1005);
	t_ok(add(us, 8, (uint64_t)-5, 2, NO_FLAGS));
	expect_extended(us->request_evd, us->ep, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, 2, 8,
			0);
	ck_assert_uint_eq(word_at(us->buf.mem + 8), 1005);
	ck_assert_uint_eq(word_at(counter.mem), 1000);
}
END_TEST

START_TEST(HND_023_cmp_and_swap)
{
	NEEDS_ATOMICS;
	counter_new(7);
	t_ok(swap(us, 8, 100, 1)); /* the value differs: no swap */
	expect_extended(us->request_evd, us->ep, DAT_IB_CMP_AND_SWAP, DAT_IB_DTO_CMP_SWAP, 1, 8, 0);
	ck_assert_uint_eq(word_at(us->buf.mem), 7);
	ck_assert_uint_eq(word_at(counter.mem), 7);
	t_ok(swap(us, 7, 100, 2));
	expect_extended(us->request_evd, us->ep, DAT_IB_CMP_AND_SWAP, DAT_IB_DTO_CMP_SWAP, 2, 8, 0);
	ck_assert_uint_eq(word_at(us->buf.mem), 7);
	ck_assert_uint_eq(word_at(counter.mem), 100);
}
END_TEST

START_TEST(HND_023_atomic_operations_in_a_row)
{
	NEEDS_ATOMICS;
	counter_new(0);
	for (uint64_t i = 0; i < 100; i++)
		t_ok(add(us, 8 * i, 1, i, i == 99 ? NO_FLAGS : DAT_COMPLETION_SUPPRESS_FLAG));
	expect_extended(us->request_evd, us->ep, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, 99, 8,
			0);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_uint_eq(word_at(us->buf.mem + 8 * i), i);
	ck_assert_uint_eq(word_at(counter.mem), 100);
	t_no_event(us->request_evd);
}
END_TEST

START_TEST(HND_023_atomic_operations_keep_the_order)
{
	/* DTO-050: a fence waits for them as for reads */
	uint64_t mine = 50;
	DAT_RMR_TRIPLET from;

	NEEDS_ATOMICS;
	counter_new(1);
	from = t_remote_seg(&counter, 0, 8);
	memcpy(us->buf.mem + 64, &mine, 8);
	t_ok(t_recv(peer, 0, 64, 9, NO_FLAGS));
	t_ok(t_write(us, 64, 8, 1, from, DAT_COMPLETION_SUPPRESS_FLAG)); /* 50 */
	t_ok(add(us, 0, 1, 2, DAT_COMPLETION_SUPPRESS_FLAG));            /* 51 */
	t_ok(t_read(us, 128, 8, 3, from, NO_FLAGS));
	t_ok(t_send(us, 0, 8, 4, DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG));
	t_wait_dto(us->request_evd, us->ep, 3, DAT_DTO_SUCCESS, 8);
	ck_assert_uint_eq(word_at(us->buf.mem), 50);
	ck_assert_uint_eq(word_at(us->buf.mem + 128), 51);
	t_wait_dto(peer->recv_evd, peer->ep, 9, DAT_DTO_SUCCESS, 8);
	/* the fenced Send has the result of the addition */
	ck_assert_uint_eq(word_at(peer->buf.mem), 50);
	ck_assert_uint_eq(word_at(counter.mem), 51);
}
END_TEST

START_TEST(HND_023_atomic_operations_need_the_privilege)
{
	DAT_LMR_TRIPLET local = t_seg(&us->buf, 0, 8), longer = t_seg(&us->buf, 0, 16);
	DAT_RMR_TRIPLET remote = t_remote_seg(&peer->buf, 0, 8),
			shorter = t_remote_seg(&peer->buf, 0, 4);

	NEEDS_ATOMICS;
	t_bad_arg(dat_ib_post_fetch_and_add(us->ep, 1, &longer, COOKIE(1), &remote, NO_FLAGS));
	t_bad_arg(dat_ib_post_fetch_and_add(us->ep, 1, &local, COOKIE(1), &shorter, NO_FLAGS));
	t_ok(dat_ib_post_fetch_and_add(us->ep, 1, &local, COOKIE(1), &remote, NO_FLAGS));
	expect_failure(us->request_evd, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
	ck_assert_uint_eq(word_at(peer->buf.mem), 0);
}
END_TEST

/* The Sends and atomic operations behind it may be complete before its answer comes. */
START_TEST(HND_023_nothing_succeeds_behind_a_failed_atomic_operation)
{
	/* DTO-058 */
	DAT_LMR_TRIPLET local = t_seg(&us->buf, 0, 8);
	DAT_RMR_TRIPLET remote = t_remote_seg(&peer->buf, 0, 8);

	NEEDS_ATOMICS;
	counter_new(0);
	for (uint64_t i = 0; i < 4; i++)
		t_ok(t_recv(peer, 64 * i, 64, i, NO_FLAGS));
	t_ok(add(us, 8, 1, 1, NO_FLAGS));
	t_ok(dat_ib_post_fetch_and_add(us->ep, 1, &local, COOKIE(2), &remote, NO_FLAGS));
	t_ok(add(us, 8, 1, 3, NO_FLAGS));
	for (uint64_t i = 4; i < 8; i++)
		t_ok(t_send(us, 0, 64, i, NO_FLAGS));
	expect_extended(us->request_evd, us->ep, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, 1, 8,
			0);
	expect_failure(us->request_evd, 2, DAT_DTO_ERR_REMOTE_ACCESS);
	expect_failure(us->request_evd, 3, DAT_DTO_ERR_FLUSHED);
	for (uint64_t i = 4; i < 8; i++)
		t_wait_dto(us->request_evd, us->ep, i, DAT_DTO_ERR_FLUSHED, 0);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
}
END_TEST

START_TEST(HND_023_atomic_operation_outside_its_region)
{
	/* The region begins or ends within the eight bytes, or is shorter than eight bytes. */
	static const struct {
		DAT_VLEN length;
		size_t offset;
	} cases[] = {{64, 64}, {60, 56}, {4, 0}, {64, 1 << 20}, {64, (size_t)-8}};
	static _Alignas(8) uint64_t memory[32];
	DAT_REGION_DESCRIPTION what = {.for_va = memory + 8};
	const unsigned int privileges =
		DAT_MEM_PRIV_ALL_FLAG | (unsigned int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	DAT_LMR_TRIPLET local = t_seg(&us->buf, 0, 8);
	DAT_RMR_CONTEXT context;
	DAT_RMR_TRIPLET remote;
	DAT_LMR_HANDLE lmr;

	NEEDS_ATOMICS;
	t_ok(t_lmr_create(peer->on->ia, DAT_MEM_TYPE_VIRTUAL, what, cases[_i].length, peer->on->pz,
			  (DAT_MEM_PRIV_FLAGS)privileges, &lmr, NULL, &context, NULL, NULL));
	remote = t_remote(context, (uintptr_t)(memory + 8) + cases[_i].offset, 8);
	t_ok(dat_ib_post_fetch_and_add(us->ep, 1, &local, COOKIE(1), &remote, NO_FLAGS));
	expect_failure(us->request_evd, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		ck_assert_uint_eq(memory[i], 0);
}
END_TEST

START_TEST(HND_023_atomic_operation_on_an_unaligned_address)
{
	DAT_LMR_TRIPLET local = t_seg(&us->buf, 0, 8);
	DAT_RMR_TRIPLET remote;

	NEEDS_ATOMICS;
	counter_new(0);
	remote = t_remote_seg(&counter, 4, 8);
	t_ok(dat_ib_post_fetch_and_add(us->ep, 1, &local, COOKIE(1), &remote, NO_FLAGS));
	expect_failure(us->request_evd, 1, DAT_DTO_ERR_REMOTE_ACCESS);
}
END_TEST

START_TEST(HND_023_both_sides_add_while_both_sleep)
{
	struct t_buf mine;
	DAT_RMR_TRIPLET remote;
	DAT_LMR_TRIPLET local = t_seg(&peer->buf, 0, 8);

	NEEDS_ATOMICS;
	counter_new(0);
	t_buf_new(&mine, us->on->ia, us->on->pz, 64,
		  (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG |
				       (unsigned int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC));
	remote = t_remote_seg(&mine, 0, 8);
	for (uint64_t i = 0; i < 50; i++) {
		t_ok(add(us, 0, 1, i, DAT_COMPLETION_SUPPRESS_FLAG));
		t_ok(dat_ib_post_fetch_and_add(peer->ep, 2, &local, COOKIE(i), &remote,
					       DAT_COMPLETION_SUPPRESS_FLAG));
	}
	/* No thread calls DAT meanwhile. */
	t_until(__atomic_load_n((uint64_t *)(void *)counter.mem, __ATOMIC_ACQUIRE) == 50);
	t_until(__atomic_load_n((uint64_t *)(void *)mine.mem, __ATOMIC_ACQUIRE) == 100);
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_GRACEFUL_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_no_event(us->request_evd);
}
END_TEST

START_TEST(HND_023_atomic_operations_through_an_RMR)
{
	DAT_MEM_PRIV_FLAGS atomic = (DAT_MEM_PRIV_FLAGS)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	DAT_LMR_TRIPLET local = t_seg(&us->buf, 0, 8);
	DAT_RMR_HANDLE rmr = rmr_of_ep(peer);
	DAT_RMR_TRIPLET remote =
		t_remote(bound(rmr, peer, 64, atomic), (uintptr_t)peer->buf.mem, 8);

	NEEDS_ATOMICS;
	t_ok(dat_ib_post_fetch_and_add(us->ep, 3, &local, COOKIE(1), &remote, NO_FLAGS));
	expect_extended(us->request_evd, us->ep, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, 1, 8,
			0);
	ck_assert_uint_eq(word_at(peer->buf.mem), 3);
	t_ok(dat_rmr_free(rmr));
	t_ok(dat_ib_post_fetch_and_add(us->ep, 3, &local, COOKIE(2), &remote, NO_FLAGS));
	expect_failure(us->request_evd, 2, DAT_DTO_ERR_REMOTE_ACCESS);
}
END_TEST

/*
 * The target disconnects during the operations. Each completes once, and successes come before
 * flushes. The target's value shows each success once.
 */
START_TEST(HND_023_atomic_operations_end_with_the_connection)
{
	DAT_CLOSE_FLAGS how = _i ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG;

	NEEDS_ATOMICS;
	counter_new(0);
	for (int round = 0; round < 4; round++) {
		uint64_t before = word_at(counter.mem), good = 0;
		bool flushed = false;

		for (uint64_t i = 0; i < 20; i++)
			t_ok(add(us, 8 * i, 1, i, NO_FLAGS));
		t_ok(dat_ep_disconnect(peer->ep, how));
		for (uint64_t i = 0; i < 20; i++) {
			DAT_EVENT event =
				t_wait_for(us->request_evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);

			ck_assert_uint_eq(dto_of(&event)->user_cookie.as_64, i);
			if (dto_of(&event)->status != DAT_DTO_SUCCESS)
				flushed = true;
			else
				good++;
			ck_assert(!flushed || dto_of(&event)->status == DAT_DTO_ERR_FLUSHED);
		}
		paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
		ck_assert_uint_ge(word_at(counter.mem) - before, good);
		ck_assert_uint_le(word_at(counter.mem) - before, 20);
		t_ok(dat_ep_reset(us->ep));
		t_ok(dat_ep_reset(peer->ep));
		t_establish(&paired.listener, us, peer);
	}
	t_ok(add(us, 0, 1, 1, NO_FLAGS));
	expect_extended(us->request_evd, us->ep, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, 1, 8,
			0);
}
END_TEST

START_TEST(HND_023_immediate_data_end_with_the_connection)
{
	NEEDS_IMMEDIATES;
	for (int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < 10; i++)
			t_ok(t_recv(peer, 0, 64, i, NO_FLAGS));
		for (unsigned int i = 0; i < 10; i++)
			t_ok(write_immediate(us, 8192, i, peer, i, NO_FLAGS));
		t_ok(dat_ep_disconnect(us->ep, round % 2 ? DAT_CLOSE_GRACEFUL_FLAG
							 : DAT_CLOSE_ABRUPT_FLAG));
		paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
		for (unsigned int i = 0; i < 10; i++) {
			DAT_EVENT event = t_wait(us->request_evd);

			ck_assert_uint_eq(dto_of(&event)->user_cookie.as_64, i);
			ck_assert(round % 2 == 0 || dto_of(&event)->status == DAT_DTO_SUCCESS);
			event = t_wait(peer->recv_evd);
			ck_assert_uint_eq(dto_of(&event)->user_cookie.as_64, i);
			ck_assert(round % 2 == 0 || dto_of(&event)->status == DAT_DTO_SUCCESS);
		}
		t_no_event(us->request_evd);
		t_no_event(peer->recv_evd);
		t_ok(dat_ep_reset(us->ep));
		t_ok(dat_ep_reset(peer->ep));
		t_establish(&paired.listener, us, peer);
	}
	t_ok(t_recv(peer, 0, 64, 1, NO_FLAGS));
	t_ok(write_immediate(us, 16, 1, peer, 5, NO_FLAGS));
	expect_extended(peer->recv_evd, peer->ep, DAT_IB_RDMA_WRITE_IMMED_DATA,
			DAT_IB_DTO_RECV_IMMED, 1, 16, 5);
}
END_TEST

/* --- queries --- */

START_TEST(HND_023_counters_count)
{
	DAT_UINT64 ia[DCNT_IA_ALL_COUNTERS], ep[DCNT_EP_ALL_COUNTERS], evd[DCNT_EVD_ALL_COUNTERS];

	t_ok(dat_ib_query_counters(us->ep, DCNT_EP_ALL_COUNTERS, ep, 1));
	ck_assert_uint_eq(ep[DCNT_EP_CONNECT], 1);
	paired_send(us, peer, 100);
	paired_send(peer, us, 50);
	t_ok(t_write(us, 0, 64, 1, t_remote_seg(&peer->buf, 0, 64), NO_FLAGS));
	t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_SUCCESS, 64);
	memset(ep, 0xff, sizeof(ep));
	t_ok(dat_ib_query_counters(us->ep, DCNT_EP_ALL_COUNTERS, ep, 0));
	ck_assert_uint_eq(ep[DCNT_EP_CONNECT], 0);
	ck_assert_uint_eq(ep[DCNT_EP_POST_SEND], 1);
	ck_assert_uint_eq(ep[DCNT_EP_POST_SEND_DATA], 100);
	ck_assert_uint_eq(ep[DCNT_EP_POST_RECV], 1);
	ck_assert_uint_eq(ep[DCNT_EP_RECV], 1);
	ck_assert_uint_eq(ep[DCNT_EP_RECV_DATA], 50);
	ck_assert_uint_eq(ep[DCNT_EP_POST_WRITE], 1);
	ck_assert_uint_eq(ep[DCNT_EP_POST_WRITE_DATA], 64);
	/* A query of one counter stores it at its own index. */
	memset(ep, 0, sizeof(ep));
	t_ok(dat_ib_query_counters(us->ep, DCNT_EP_POST_WRITE, ep, 1));
	ck_assert_uint_eq(ep[DCNT_EP_POST_WRITE], 1);
	ck_assert_uint_eq(ep[DCNT_EP_POST_SEND], 0);
	t_ok(dat_ib_query_counters(us->ep, DCNT_EP_POST_WRITE, ep, 1));
	ck_assert_uint_eq(ep[DCNT_EP_POST_WRITE], 0);

	t_ok(dat_ib_query_counters(us->on->ia, DCNT_IA_ALL_COUNTERS, ia, 0));
	ck_assert_uint_eq(ia[DCNT_IA_EP_CREATE], 1);
	ck_assert_uint_eq(ia[DCNT_IA_PZ_CREATE], 1);
	ck_assert_uint_ge(ia[DCNT_IA_LMR_CREATE], 1);
	ck_assert_uint_eq(ia[DCNT_IA_CM_REQ_TX], 1);
	ck_assert_uint_eq(ia[DCNT_IA_CM_REP_RX], 1);
	ck_assert_uint_eq(ia[DCNT_IA_CM_ACTIVE_EST], 1);
	t_ok(dat_ib_query_counters(peer->on->ia, DCNT_IA_ALL_COUNTERS, ia, 0));
	ck_assert_uint_eq(ia[DCNT_IA_PSP_CREATE_ANY], 1);
	ck_assert_uint_eq(ia[DCNT_IA_SP_CR], 1);
	ck_assert_uint_eq(ia[DCNT_IA_SP_CR_ACCEPTED], 1);
	ck_assert_uint_eq(ia[DCNT_IA_CM_PASSIVE_EST], 1);

	t_ok(dat_ib_query_counters(us->request_evd, DCNT_EVD_ALL_COUNTERS, evd, 0));
	ck_assert_uint_eq(evd[DCNT_EVD_DTO_CALLBACK], 2);
	ck_assert_uint_ge(evd[DCNT_EVD_WAIT] + evd[DCNT_EVD_DEQUEUE], 2);
}
END_TEST

START_TEST(HND_023_counters_arguments)
{
	DAT_UINT64 ep[DCNT_EP_ALL_COUNTERS] = {99};

	t_bad_arg(dat_ib_query_counters(us->on->pz, 0, ep, 0));
	t_ok(dat_ib_query_counters(us->ep, DCNT_EP_ALL_COUNTERS + 1, ep, 0));
	t_ok(dat_ib_query_counters(us->ep, -1, ep, 0));
	ck_assert_uint_eq(ep[0], 99);
	t_bad_arg(dat_ib_query_counters(us->ep, 0, NULL, 0));
	t_bad_arg(dat_ib_print_counters(us->on->pz, 0, 0));
	t_ok(dat_ib_start_counter(us->on->ia, DCNT_IA_CM));
	t_ok(dat_ib_stop_counter(us->on->ia, DCNT_IA_CM));
	t_unsupported(dat_ib_start_counter(us->on->ia, DCNT_IA_DIAG));
	t_bad_handle(dat_ib_start_counter(us->ep, DCNT_IA_CM));
}
END_TEST

START_TEST(HND_023_counters_are_printed)
{
	int keep = dup(STDOUT_FILENO), n = 0;
	FILE *file = tmpfile();
	char line[256];

	fflush(stdout);
	ck_assert_int_ge(dup2(fileno(file), STDOUT_FILENO), 0);
	t_ok(dat_ib_print_counters(us->ep, DCNT_EP_ALL_COUNTERS, 0));
	t_ok(dat_ib_print_counters(us->on->ia, DCNT_IA_EP_CREATE, 0));
	ck_assert_int_ge(dup2(keep, STDOUT_FILENO), 0);
	close(keep);
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		n++;
		if (n == DCNT_EP_ALL_COUNTERS + 1)
			ck_assert_ptr_nonnull(strstr(line, "IA_EP_CREATE 1\n"));
	}
	fclose(file);
	ck_assert_int_eq(n, DCNT_EP_ALL_COUNTERS + 1);
}
END_TEST

START_TEST(HND_023_attributes_without_an_open_IA)
{
	DAT_PROVIDER_ATTR prov;
	DAT_HANDLE handle;
	DAT_IA_ATTR attr;

	t_ok(dat_ib_open_query(t_ia_name(), &handle, DAT_IA_FIELD_ALL, &attr,
			       DAT_PROVIDER_FIELD_ALL, &prov));
	ck_assert_int_eq(attr.extension_supported, DAT_EXTENSION_IB);
	ck_assert_str_eq(t_named(&prov, DAT_IB_ATTR_IMMED_DATA),
			 t_named(&us->on->provider, DAT_IB_ATTR_IMMED_DATA));
	t_ok(dat_ib_close_query(handle));
	t_ok(dat_ib_open_query(t_ia_name(), &handle, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	t_ok(dat_ib_close_query(handle));
	t_bad_arg(dat_ib_open_query(t_ia_name(), &handle, 0, NULL, 0, NULL));
	t_bad_arg(dat_ib_open_query(t_ia_name(), NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	t_bad_arg(dat_ib_open_query(t_ia_name(), &handle, (DAT_IA_ATTR_MASK)DAT_IA_FIELD_ALL + 1,
				    &attr, 0, NULL));
	ck_assert_int_ne(dat_ib_open_query("no-such-ia", &handle, DAT_IA_FIELD_ALL, &attr, 0, NULL),
			 DAT_SUCCESS);
	t_bad_handle(dat_ib_close_query(us->ep));
	ck_assert_int_eq(t_ep_state(us->ep), DAT_EP_STATE_CONNECTED);
}
END_TEST

static void add_base(TCase *tcase)
{
	tcase_add_test(tcase, RMR_007_008_012_rmr_of_an_EP);
	tcase_add_test(tcase, DTO_068_069_send_ends_a_context);
	tcase_add_test(tcase, DTO_069_requests_queued_behind_it_find_the_context_invalid);
	tcase_add_test(tcase, DTO_069_a_context_stays_invalid_when_another_takes_its_cache_entry);
	tcase_add_test(tcase, DTO_069_a_foreign_context_breaks_the_connection);
	tcase_add_test(tcase, DTO_069_without_the_flag_it_is_a_send);
	tcase_add_test(tcase, DTO_118_119_read_into_an_RMR);
	tcase_add_test(tcase, LMR_030_043_zero_based_regions);
	tcase_add_test(tcase, DTO_186_zero_based_windows);
	tcase_add_test(tcase, CNO_008_010_048_trigger_is_taken_from_a_descriptor);
	tcase_add_test(tcase, CNO_048_049_trigger_of_an_ordinary_CNO);
}

static void add_transfers(TCase *tcase)
{
	tcase_add_test(tcase, HND_023_attributes_name_the_extensions);
	tcase_add_test(tcase, HND_023_missing_extensions_are_refused);
	tcase_add_test(tcase, HND_023_unknown_operations_are_refused);
	tcase_add_test(tcase, HND_023_write_with_immediate_data);
	tcase_add_test(tcase, HND_023_immediate_data_alone);
	tcase_add_test(tcase, HND_023_many_writes_with_immediate_data_keep_order);
	tcase_add_test(tcase, HND_023_write_with_immediate_data_is_refused_or_flushed);
	tcase_add_test(tcase, HND_023_immediate_data_by_an_SRQ);
	tcase_add_test(tcase, HND_023_fetch_and_add);
	tcase_add_test(tcase, HND_023_cmp_and_swap);
	tcase_add_test(tcase, HND_023_atomic_operations_in_a_row);
	tcase_add_test(tcase, HND_023_atomic_operations_keep_the_order);
	tcase_add_test(tcase, HND_023_atomic_operations_need_the_privilege);
	tcase_add_test(tcase, HND_023_nothing_succeeds_behind_a_failed_atomic_operation);
	tcase_add_loop_test(tcase, HND_023_atomic_operation_outside_its_region, 0, 5);
	tcase_add_test(tcase, HND_023_atomic_operation_on_an_unaligned_address);
	tcase_add_test(tcase, HND_023_both_sides_add_while_both_sleep);
	tcase_add_test(tcase, HND_023_atomic_operations_through_an_RMR);
	tcase_add_loop_test(tcase, HND_023_atomic_operations_end_with_the_connection, 0, 2);
	tcase_add_test(tcase, HND_023_immediate_data_end_with_the_connection);
}

static void add_queries(TCase *tcase)
{
	tcase_add_test(tcase, HND_023_counters_count);
	tcase_add_test(tcase, HND_023_counters_arguments);
	tcase_add_test(tcase, HND_023_counters_are_printed);
	tcase_add_test(tcase, HND_023_attributes_without_an_open_IA);
}

Suite *conform_ext(void)
{
	Suite *suite = suite_create("ext");

	add_base(paired_case(suite, "ext"));
	add_transfers(paired_case(suite, "ext_transfers"));
	add_queries(paired_case(suite, "ext_queries"));
	return suite;
}
#endif
