/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of an EP: what it gets, that it gives everything back, and failures in between. */
#include "../../lib/ep_ia.h"
#include "../../lib/t_blocks.h"

#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/conn_end.h"
#include "../../../prov/ofi/cm/ep_life.h"
#include "../../../prov/ofi/dto/ep_attr.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/dto/rmr.h"
#include "../../../prov/ofi/dto/ud.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "../../../prov/ofi/progress/cq_watch.h"
#include "../../../prov/ofi/progress/evd_streams.h"
#include "../../../prov/ofi/progress/stall.h"

#include <errno.h>
#include <stdlib.h>

static struct t_ep_ia here, there;
static struct dofi_srq *srq;

/* --- what fails, and what is called --- */

static bool slots_fail, ud_fails;
static int slots, uds; /* attached and not detached */
static struct dofi_conn *ended;
static int cancelled;
static bool destroying;
static bool no_maps;
static int nmaps;

T_STAND_IN void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
T_STAND_IN void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
int __wrap_dofi_ctrl_slots_attach(struct dofi_ep *ep);
void __wrap_dofi_ctrl_slots_detach(struct dofi_ep *ep);
int __wrap_dofi_ud_open(struct dofi_ep *ep);
void __wrap_dofi_ud_close(struct dofi_ep *ep);
void __wrap_dofi_conn_end_now(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer);
void __wrap_dofi_bind_cancel(struct dofi_bind *bind);
void __wrap_dofi_wait_kick(struct dofi_ia *ia);

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return t_block_fails() ? NULL : t_block_keep(__real_aligned_alloc(alignment, size));
}

/* Objects are allocated in chunks. */
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	nmaps++;
	return no_maps ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

int __wrap_dofi_ctrl_slots_attach(struct dofi_ep *ep)
{
	(void)ep;
	if (slots_fail)
		return -ENOMEM;
	slots++;
	return 0;
}

void __wrap_dofi_ctrl_slots_detach(struct dofi_ep *ep)
{
	if (destroying) {
		/* A post that has found the EP before finds no room. */
		ck_assert_ptr_null(ep->req.base);
		ck_assert_ptr_null(ep->recv.base);
		ck_assert_ptr_null(ep->parts.base);
		ck_assert_uint_eq(ep->req.limit, 0);
		ck_assert_uint_eq(ep->recv.limit, 0);
	}
	slots--;
}

int __wrap_dofi_ud_open(struct dofi_ep *ep)
{
	static struct dofi_ud ud;

	if (ud_fails)
		return -ENOMEM;
	ep->ud = &ud;
	uds++;
	return 0;
}

void __wrap_dofi_ud_close(struct dofi_ep *ep)
{
	ep->ud = NULL;
	uds--;
}

void __wrap_dofi_conn_end_now(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer)
{
	ck_assert_uint_eq(event, 0); /* the consumer knows that it frees the EP */
	ck_assert_int_eq(tell_peer, DOFI_REASON_DISCONNECT);
	ended = conn;
	conn->ep->conn = NULL;
}

void __wrap_dofi_bind_cancel(struct dofi_bind *bind)
{
	ck_assert_uint_eq(bind->context, 77);
	cancelled++;
}

void __wrap_dofi_wait_kick(struct dofi_ia *ia)
{
	(void)ia;
}

/* --- */

static void setup(void)
{
	t_ep_ia_open(&here);
	t_ep_ia_open(&there);
	srq = dofi_obj_alloc(here.ia, NULL, DAT_HANDLE_TYPE_SRQ, sizeof(*srq));
	ck_assert_ptr_nonnull(srq);
	dofi_obj_publish(&srq->obj, DAT_HANDLE_TYPE_SRQ);
	t_nblocks = 0;
}

static void teardown(void)
{
	ck_assert_uint_eq(t_nblocks, 0);
	ck_assert_int_eq(slots, 0);
	ck_assert_int_eq(uds, 0);
	ck_assert(dofi_obj_retire(&srq->obj, true));
	dofi_obj_free(&srq->obj, DAT_HANDLE_TYPE_SRQ);
	t_ep_ia_close(&there);
	t_ep_ia_close(&here);
}

static DAT_RETURN make(const DAT_EP_ATTR *attr, struct dofi_srq *of, struct dofi_ep **ep_p)
{
	return dofi_ep_new(here.ia, here.pz, here.recv_evd, here.req_evd, here.conn_evd, of, attr,
			   DAT_EP_STATE_UNCONNECTED, ep_p);
}

static struct dofi_ep *new_ep(const DAT_EP_ATTR *attr, struct dofi_srq *of)
{
	struct dofi_ep *ep;

	ck_assert_uint_eq(make(attr, of, &ep), DAT_SUCCESS);
	return ep;
}

static void destroy(struct dofi_ep *ep)
{
	dofi_lock(&here.ia->engine.lock);
	ck_assert(dofi_obj_retire(&ep->obj, false));
	destroying = true;
	dofi_ep_destroy(ep);
	destroying = false;
	dofi_unlock(&here.ia->engine.lock);
}

static DAT_EP_ATTR attr_of(DAT_SERVICE_TYPE service)
{
	return (DAT_EP_ATTR){.service_type = service,
			     .qos = DAT_QOS_BEST_EFFORT,
			     .max_recv_dtos = 8,
			     .max_request_dtos = 16,
			     .max_recv_iov = 1,
			     .max_request_iov = 2,
			     .max_rdma_read_iov = 3,
			     .max_rdma_write_iov = 1};
}

static int users(void *obj)
{
	return ((struct dofi_obj *)obj)->users;
}

/* --- an EP is made --- */

START_TEST(an_ep_has_what_was_asked_for)
{
	DAT_EP_ATTR attr = attr_of(DAT_SERVICE_TYPE_RC);
	struct dofi_ep *ep = new_ep(&attr, NULL);

	ck_assert(dofi_obj_is(ep, DAT_HANDLE_TYPE_EP));
	ck_assert_int_eq(ep->state, DAT_EP_STATE_UNCONNECTED);
	ck_assert_ptr_eq(ep->trans, here.ia->trans);
	ck_assert_uint_eq(ep->recv.limit, 8);
	ck_assert_uint_eq(ep->req.limit, 16);
	ck_assert_uint_eq(ep->recv.max_iov, 1);
	ck_assert_uint_eq(ep->req.max_iov, 3); /* of a send, a read or a write */
	ck_assert_ptr_null(ep->parts.base);
	ck_assert_uint_eq(ep->soft_mark, UINT32_MAX);
	ck_assert_uint_eq(ep->hard_mark, UINT32_MAX);
	ck_assert_int_eq(users(here.pz), 1);
	ck_assert_int_eq(users(here.recv_evd), 1);
	ck_assert_int_eq(users(here.req_evd), 1);
	ck_assert_int_eq(users(here.conn_evd), 1);
	ck_assert_ptr_null(ep->ud);
	ck_assert(dofi_list_empty(&ep->bind_link));
	ck_assert(ep->stall.retry == dofi_ep_retry);
#ifndef NDEBUG
	ck_assert_int_eq(ep->lock.level, DOFI_LEVEL_EP);
#endif
	destroy(ep);
	ck_assert_int_eq(users(here.pz), 0);
}
END_TEST

START_TEST(the_widest_kind_of_request_decides)
{
	DAT_EP_ATTR attr = attr_of(DAT_SERVICE_TYPE_RC);
	DAT_COUNT *const widths[] = {&attr.max_request_iov, &attr.max_rdma_read_iov,
				     &attr.max_rdma_write_iov};
	struct dofi_ep *ep;

	*widths[_i] = 4;
	ep = new_ep(&attr, NULL);
	ck_assert_uint_eq(ep->req.max_iov, 4);
	destroy(ep);
}
END_TEST

/* The flag of a write and the guard of a receive take a segment beside those of the program. */
START_TEST(the_library_has_segments_of_its_own)
{
	DAT_EP_ATTR attr = attr_of(DAT_SERVICE_TYPE_RC);
	struct dofi_ep *ep;

	here.ia->splits_writes = true;
	here.ia->quirks = DOFI_QUIRK_CUTS;
	ep = new_ep(&attr, NULL);
	ck_assert_uint_eq(ep->req.max_iov, 4);
	ck_assert_uint_eq(ep->recv.max_iov, 2);
	ck_assert_ptr_nonnull(ep->parts.base);
	destroy(ep);
}
END_TEST

START_TEST(an_ep_of_an_srq_has_no_receives)
{
	DAT_EP_ATTR attr = attr_of(DAT_SERVICE_TYPE_RC);
	struct dofi_ep *ep = new_ep(&attr, srq);

	ck_assert_uint_eq(ep->recv.limit, 0);
	ck_assert_int_eq(users(srq), 1);
	destroy(ep);
	ck_assert_int_eq(users(srq), 0);
}
END_TEST

/* Only an EP of an SRQ has a mark in its attributes, and 0 means none. */
START_TEST(the_soft_mark_is_that_of_the_attributes)
{
	static const struct {
		bool srq;
		DAT_COUNT asked;
		uint32_t mark;
	} cases[] = {{true, 5, 5},
		     {true, 1, 1},
		     {true, 0, UINT32_MAX},
		     {true, DAT_HW_DEFAULT, UINT32_MAX},
		     {false, 5, UINT32_MAX}};
	DAT_EP_ATTR attr = attr_of(DAT_SERVICE_TYPE_RC);
	struct dofi_ep *ep;

	attr.srq_soft_hw = cases[_i].asked;
	ep = new_ep(&attr, cases[_i].srq ? srq : NULL);
	ck_assert_uint_eq(ep->soft_mark, cases[_i].mark);
	destroy(ep);
}
END_TEST

/* The consumer gives it EVDs later. Until then it takes no posts. */
START_TEST(an_ep_of_the_provider_has_attributes_without_evds)
{
	struct dofi_ep *ep;

	ck_assert_uint_eq(dofi_ep_new(here.ia, NULL, NULL, NULL, NULL, NULL, NULL,
				      DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, &ep),
			  DAT_SUCCESS);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	ck_assert_int_gt(ep->attr.max_recv_dtos, 0);
	ck_assert_int_gt(ep->attr.max_request_dtos, 0);
	ck_assert_uint_eq(ep->recv.limit + ep->req.limit, 0);
	destroy(ep);
	ck_assert_uint_eq(dofi_ep_new(here.ia, NULL, NULL, NULL, NULL, NULL, NULL,
				      DAT_EP_STATE_UNCONNECTED, &ep),
			  DAT_SUCCESS);
	ck_assert_uint_eq(ep->recv.limit, 0);
	ck_assert_uint_eq(ep->req.limit, 0);
	destroy(ep);
}
END_TEST

START_TEST(only_an_ep_of_datagrams_has_their_state)
{
	DAT_EP_ATTR attr = attr_of((DAT_SERVICE_TYPE)DOFI_SERVICE_TYPE_UD);
	struct dofi_ep *ep;

	here.ia->limits.max_datagram = 1024;
	ep = new_ep(&attr, NULL);
	ck_assert_int_eq(uds, 1);
	destroy(ep);
	ck_assert_int_eq(uds, 0);
}
END_TEST

/* --- an EP cannot be made --- */

static void expect_nothing(void)
{
	ck_assert_uint_eq(here.ia->counts[DAT_HANDLE_TYPE_EP], 0);
	ck_assert_uint_eq(here.ia->scratch.nfree, T_EPS);
	ck_assert_int_eq(slots, 0);
	ck_assert_int_eq(users(here.pz), 0);
	ck_assert_int_eq(users(here.recv_evd), 0);
	ck_assert_int_eq(users(here.req_evd), 0);
	ck_assert_int_eq(users(here.conn_evd), 0);
	ck_assert_int_eq(users(srq), 0);
}

/* Of the cache, the operation for peeks, and the memory of three rings. */
START_TEST(an_ep_without_memory_leaves_nothing_behind)
{
	DAT_EP_ATTR attr = attr_of(DAT_SERVICE_TYPE_RC);
	struct dofi_ep *ep = NULL;

	here.ia->splits_writes = true; /* there are parts */
	t_blocks_left = _i;
	ck_assert_uint_eq(make(&attr, _i % 2 ? srq : NULL, &ep),
			  DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	t_blocks_left = -1;
	ck_assert_ptr_null(ep);
	expect_nothing();
}
END_TEST

START_TEST(an_ep_without_control_slots_leaves_nothing_behind)
{
	struct dofi_ep *ep = NULL;

	slots_fail = true;
	ck_assert_uint_eq(make(NULL, NULL, &ep),
			  DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	ck_assert_ptr_null(ep);
	expect_nothing();
}
END_TEST

START_TEST(an_ep_without_datagrams_leaves_nothing_behind)
{
	DAT_EP_ATTR attr = attr_of((DAT_SERVICE_TYPE)DOFI_SERVICE_TYPE_UD);
	struct dofi_ep *ep = NULL;

	here.ia->limits.max_datagram = 1024;
	ud_fails = true;
	ck_assert_uint_eq(make(&attr, NULL, &ep),
			  DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	ck_assert_ptr_null(ep);
	expect_nothing();
}
END_TEST

/* With an SRQ it is the SRQ that has no room for one more EP. */
START_TEST(the_number_of_eps_is_limited)
{
	struct dofi_ep *eps[T_EPS], *more = NULL;

	for (unsigned int i = 0; i < T_EPS; i++)
		eps[i] = new_ep(NULL, NULL);
	ck_assert_uint_eq(make(NULL, NULL, &more),
			  DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	ck_assert_uint_eq(make(NULL, srq, &more),
			  DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	ck_assert_ptr_null(more);
	for (unsigned int i = 0; i < T_EPS; i++)
		destroy(eps[i]);
	expect_nothing();
}
END_TEST

START_TEST(attributes_beyond_the_limits_make_no_ep)
{
	DAT_EP_ATTR attr = attr_of(DAT_SERVICE_TYPE_RC);
	struct dofi_ep *ep = NULL;

	attr.max_recv_iov = 5;
	ck_assert_uint_eq(DAT_GET_TYPE(make(&attr, NULL, &ep)), DAT_INVALID_PARAMETER);
	ck_assert_ptr_null(ep);
	expect_nothing();
}
END_TEST

/* --- an EP is destroyed --- */

START_TEST(a_destroyed_ep_ends_its_connection)
{
	struct dofi_ep *ep = new_ep(NULL, NULL);
	struct dofi_conn conn = {.ia = here.ia, .ep = ep};

	ep->conn = &conn;
	destroy(ep);
	ck_assert_ptr_eq(ended, &conn);
	destroy(new_ep(NULL, NULL));
}
END_TEST

/* Its requests complete no more; binds give back what they reserved. */
START_TEST(a_destroyed_ep_drops_what_is_posted)
{
	struct dofi_ep *ep = new_ep(NULL, NULL);

	for (uint32_t i = 0; i < 4; i++) {
		struct dofi_wr *wr = dofi_ring_at(&ep->req, i);

		wr->op = i % 2 ? DOFI_OP_BIND : DOFI_OP_SEND;
		dofi_wr_bind(wr)->context = i == 3 ? 77 : 0;
	}
	ep->req.issue = 2; /* the fabric has had the first two */
	ep->req.tail = 4;
	destroy(ep);
	ck_assert_int_eq(cancelled, 1);
	ck_assert_uint_eq(dofi_evd_queued(here.req_evd), 0);
}
END_TEST

START_TEST(a_destroyed_ep_waits_for_nothing)
{
	struct dofi_ep *ep = new_ep(NULL, NULL);

	dofi_stall(here.ia, &ep->stall);
	dofi_wait_watch(here.ia);
	ep->marked = true;
	destroy(ep);
	ck_assert_uint_eq(atomic_load(&here.ia->engine.nstalled), 0);
	ck_assert(dofi_list_empty(&here.ia->engine.stalled));
	ck_assert_uint_eq(here.ia->wait.watchers, 0);
}
END_TEST

START_TEST(the_counters_of_a_destroyed_ep_are_kept)
{
	struct dofi_ep *ep = new_ep(NULL, NULL);

	ep->counters[DOFI_CNT_EP_CONNECT] = 5;
	destroy(ep);
	ck_assert_uint_eq(here.ia->closed_eps.counters[DOFI_CNT_EP_CONNECT], 5);
}
END_TEST

/* Also of one that was never complete. */
START_TEST(the_memory_of_an_ep_that_is_gone_is_used_again)
{
	struct dofi_ep *ep;
	int before = 0;

	for (int i = 0; i < 2000; i++) {
		if (i == 1000)
			before = nmaps;
		slots_fail = _i;
		if (_i)
			ck_assert_uint_ne(make(NULL, NULL, &ep), DAT_SUCCESS);
		else
			destroy(new_ep(NULL, NULL));
	}
	ck_assert_int_eq(nmaps, before);
}
END_TEST

START_TEST(an_ep_without_an_object_leaves_nothing_behind)
{
	struct dofi_ep *ep = NULL;

	no_maps = true;
	ck_assert_uint_eq(make(NULL, NULL, &ep),
			  DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	no_maps = false;
	ck_assert_ptr_null(ep);
	expect_nothing();
}
END_TEST

/* --- an EVD of another IA --- */

/* The other IA closes: the EP has no connect EVD any more. */
START_TEST(an_ep_loses_the_evd_of_an_ia_that_closes)
{
	struct dofi_ep *ep;

	ck_assert_uint_eq(dofi_ep_new(here.ia, here.pz, here.recv_evd, here.req_evd, there.conn_evd,
				      NULL, NULL, DAT_EP_STATE_UNCONNECTED, &ep),
			  DAT_SUCCESS);
	dofi_lock(&here.ia->engine.lock);
	dofi_ep_detach_evd_of(ep, here.ia);
	ck_assert_ptr_eq(ep->conn_evd, there.conn_evd);
	dofi_ep_detach_evd_of(ep, there.ia);
	ck_assert_ptr_null(ep->conn_evd);
	ck_assert_int_eq(users(there.conn_evd), 0);
	dofi_ep_detach_evd_of(ep, there.ia);
	dofi_unlock(&here.ia->engine.lock);
	ck_assert_ptr_eq(ep->recv_evd, here.recv_evd);
	destroy(ep);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ep_life");
	TCase *tcase = tcase_create("ep_life");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_ep_has_what_was_asked_for);
	tcase_add_loop_test(tcase, the_widest_kind_of_request_decides, 0, 3);
	tcase_add_test(tcase, the_library_has_segments_of_its_own);
	tcase_add_test(tcase, an_ep_of_an_srq_has_no_receives);
	tcase_add_loop_test(tcase, the_soft_mark_is_that_of_the_attributes, 0, 5);
	tcase_add_test(tcase, an_ep_of_the_provider_has_attributes_without_evds);
	tcase_add_test(tcase, only_an_ep_of_datagrams_has_their_state);
	tcase_add_loop_test(tcase, an_ep_without_memory_leaves_nothing_behind, 0, 5);
	tcase_add_test(tcase, an_ep_without_control_slots_leaves_nothing_behind);
	tcase_add_test(tcase, an_ep_without_datagrams_leaves_nothing_behind);
	tcase_add_test(tcase, the_number_of_eps_is_limited);
	tcase_add_test(tcase, attributes_beyond_the_limits_make_no_ep);
	tcase_add_test(tcase, a_destroyed_ep_ends_its_connection);
	tcase_add_test(tcase, a_destroyed_ep_drops_what_is_posted);
	tcase_add_test(tcase, a_destroyed_ep_waits_for_nothing);
	tcase_add_test(tcase, the_counters_of_a_destroyed_ep_are_kept);
	tcase_add_loop_test(tcase, the_memory_of_an_ep_that_is_gone_is_used_again, 0, 2);
	tcase_add_test(tcase, an_ep_without_an_object_leaves_nothing_behind);
	tcase_add_test(tcase, an_ep_loses_the_evd_of_an_ia_that_closes);
	return t_run(suite);
}
