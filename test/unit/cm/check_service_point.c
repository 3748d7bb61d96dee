/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Service points and their requests: which requests a service point takes, what the consumer
 * decides about them, and where their EP goes.
 */
#include "../../lib/ep_ia.h"
#include "../../lib/t_hooks.h"

#include "../../../prov/ofi/api/cr.h"
#include "../../../prov/ofi/api/ep.h"
#include "../../../prov/ofi/api/psp.h"
#include "../../../prov/ofi/api/rsp.h"
#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/cm/accept.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/cr.h"
#include "../../../prov/ofi/cm/service_point.h"
#include "../../../prov/ofi/dto/ud.h"
#include "../../../prov/ofi/progress/evd_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#define PORT 7u /* the peer's number for its end */

static struct t_ep_ia here, there; /* `there` is another IA of the process */
static DAT_EVD_HANDLE cr_evd, foreign_cr_evd;
static struct dofi_ep *ep;
static struct dofi_conn conn; /* of the latest request */
static struct sockaddr_storage remote;
static DAT_PSP_HANDLE psp;
static DAT_CONN_QUAL qual; /* of psp */

/* --- the connection manager --- */

static struct {
	int accepts, rejects;
	const struct dofi_ep *ep;
	const void *data;
	uint32_t size;
	enum dofi_reason reason;
} seen;

/* What another thread does before a call has the lock. */
static void (*before_lock)(void);

void __real_dofi_engine_begin(struct dofi_ia *ia);
void __wrap_dofi_engine_begin(struct dofi_ia *ia);

void __wrap_dofi_engine_begin(struct dofi_ia *ia)
{
	void (*other)(void) = before_lock;

	before_lock = NULL;
	if (other)
		other();
	__real_dofi_engine_begin(ia);
}

/* --- objects are allocated in chunks; the linker redirects mmap to this function --- */

static bool no_maps;
static int nmaps;

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
T_STAND_IN void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	nmaps++;
	return no_maps ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

/* --- */

void __wrap_dofi_conn_accept(struct dofi_conn *of, struct dofi_ep *with, const void *private_data,
			     uint32_t private_size);
void __wrap_dofi_conn_reject(struct dofi_conn *of, enum dofi_reason reason,
			     const void *private_data, uint32_t private_size);

void __wrap_dofi_conn_accept(struct dofi_conn *of, struct dofi_ep *with, const void *private_data,
			     uint32_t private_size)
{
	ck_assert_ptr_eq(of, &conn);
	seen.accepts++;
	seen.ep = with;
	seen.data = private_data;
	seen.size = private_size;
}

void __wrap_dofi_conn_reject(struct dofi_conn *of, enum dofi_reason reason,
			     const void *private_data, uint32_t private_size)
{
	ck_assert_ptr_eq(of, &conn);
	ck_assert_ptr_null(of->cr);
	seen.rejects++;
	seen.reason = reason;
	seen.data = private_data;
	seen.size = private_size;
}

/* --- */

/* A qualifier that no other process of the host asks for. */
static DAT_CONN_QUAL long_qual(void)
{
	return (UINT64_C(1) << 41) + (DAT_CONN_QUAL)getpid();
}

static void be_ready(struct t_ep_ia *it)
{
	t_ep_ia_open(it);
	ck_assert(dofi_addr_parse("127.0.0.1", &it->ia->addr));
	dofi_list_init(&it->ia->cm.listeners);
	it->ia->engine.sock_epfd = epoll_create1(0);
	ck_assert_int_ge(it->ia->engine.sock_epfd, 0);
}

static void setup(void)
{
	DAT_EP_HANDLE handle;

	be_ready(&here);
	be_ready(&there);
	cr_evd = t_ep_ia_evd(here.ia, DAT_EVD_CR_FLAG);
	foreign_cr_evd = t_ep_ia_evd(there.ia, DAT_EVD_CR_FLAG);
	ck_assert_uint_eq(dofi_ep_create(here.ia, here.pz, here.recv_evd, here.req_evd,
					 here.conn_evd, NULL, &handle),
			  DAT_SUCCESS);
	ep = handle;
	ck_assert_uint_eq(dofi_psp_create_any(here.ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
			  DAT_SUCCESS);
	conn = (struct dofi_conn){.ia = here.ia,
				  .conn_qual = qual,
				  .port_qual = PORT,
				  .private_size = 5,
				  .private_data = "hello"};
	ck_assert(dofi_addr_parse("10.0.0.9", &remote));
}

static void close_it(struct t_ep_ia *it, DAT_EVD_HANDLE evd)
{
	ck_assert_uint_eq(dofi_evd_free(evd), DAT_SUCCESS);
	ck_assert(dofi_list_empty(&it->ia->cm.listeners));
	close(it->ia->engine.sock_epfd);
	t_ep_ia_close(it);
}

static void teardown(void)
{
	if (conn.cr) {
		dofi_lock(&here.ia->engine.lock);
		ck_assert(dofi_obj_retire(&conn.cr->obj, false));
		dofi_cr_destroy(conn.cr, true);
		dofi_unlock(&here.ia->engine.lock);
	}
	ck_assert_uint_eq(dofi_psp_free(psp), DAT_SUCCESS);
	if (ep)
		ck_assert_uint_eq(dofi_ep_free(ep), DAT_SUCCESS);
	close_it(&there, foreign_cr_evd);
	close_it(&here, cr_evd);
}

static enum dofi_reason offer(void)
{
	enum dofi_reason reason;

	dofi_lock(&here.ia->engine.lock);
	reason = dofi_sp_offer(&conn, (struct sockaddr *)&remote);
	dofi_unlock(&here.ia->engine.lock);
	return reason;
}

static DAT_CR_HANDLE ask(void)
{
	ck_assert_int_eq(offer(), DOFI_REASON_NONE);
	ck_assert_ptr_nonnull(conn.cr);
	return conn.cr;
}

/* The consumer has decided. */
static void expect_gone(DAT_CR_HANDLE cr)
{
	ck_assert_uint_eq(here.ia->counts[DAT_HANDLE_TYPE_CR], 0);
	ck_assert_uint_eq(dofi_cr_reject(cr, 0, NULL), DOFI_BAD_HANDLE(CR));
	ck_assert_uint_eq(dofi_cr_accept(cr, ep, 0, NULL), DOFI_BAD_HANDLE(CR));
	ck_assert_uint_eq(dofi_cr_handoff(cr, qual), DOFI_BAD_HANDLE(CR));
	conn.cr = NULL;
}

/* --- public service points --- */

static void be_psp_of(DAT_PSP_FLAGS flags)
{
	ck_assert_uint_eq(dofi_psp_free(psp), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_psp_create_any(here.ia, &qual, cr_evd, flags, &psp), DAT_SUCCESS);
	conn.conn_qual = qual;
}

START_TEST(a_psp_listens_at_its_qualifier)
{
	struct dofi_sp *sp = psp;
	DAT_PSP_PARAM param;
	int fd = sp->fd.fd;

	ck_assert_uint_gt(qual, 0);
	ck_assert_uint_le(qual, UINT16_MAX);
	ck_assert_uint_eq(dofi_psp_query(psp, DAT_PSP_FIELD_ALL, &param), DAT_SUCCESS);
	ck_assert_ptr_eq(param.ia_handle, here.ia);
	ck_assert_uint_eq(param.conn_qual, qual);
	ck_assert_ptr_eq(param.evd_handle, cr_evd);
	ck_assert_int_eq(param.psp_flags, DAT_PSP_CONSUMER_FLAG);
	ck_assert_uint_eq(dofi_evd_free(cr_evd), DOFI_BAD_STATE(EVD_IN_USE));
	dofi_lock(&here.ia->engine.lock);
	ck_assert_ptr_eq(dofi_sp_find(here.ia, qual), sp);
	ck_assert_ptr_null(dofi_sp_find(here.ia, qual + 1));
	dofi_unlock(&here.ia->engine.lock);
	ck_assert_uint_eq(dofi_psp_free(psp), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_psp_free(psp), DOFI_BAD_HANDLE(PSP));
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	/* The port is free again. */
	ck_assert_uint_eq(dofi_psp_create(here.ia, qual, cr_evd, DAT_PSP_PROVIDER_FLAG, &psp),
			  DAT_SUCCESS);
	ck_assert_uint_eq(dofi_psp_query(psp, DAT_PSP_FIELD_ALL, &param), DAT_SUCCESS);
	ck_assert_uint_eq(param.conn_qual, qual);
	ck_assert_int_eq(param.psp_flags, DAT_PSP_PROVIDER_FLAG);
	ck_assert_uint_eq(here.ia->counters[DOFI_CNT_IA_PSP_CREATE_ANY], 1);
	ck_assert_uint_eq(here.ia->counters[DOFI_CNT_IA_PSP_CREATE], 1);
	ck_assert_uint_eq(here.ia->counters[DOFI_CNT_IA_PSP_FREE], 1);
}
END_TEST

/* A long qualifier is exclusive, though it could have another port. */
START_TEST(a_qualifier_has_one_service_point)
{
	const DAT_CONN_QUAL quals[] = {qual, long_qual()};
	DAT_PSP_HANDLE first, second = NULL;

	ck_assert_uint_eq(dofi_psp_create(here.ia, quals[1], cr_evd, DAT_PSP_CONSUMER_FLAG, &first),
			  DAT_SUCCESS);
	for (int i = 0; i < 2; i++)
		ck_assert_uint_eq(dofi_psp_create(here.ia, quals[i], cr_evd, DAT_PSP_CONSUMER_FLAG,
						  &second),
				  DAT_CONN_QUAL_IN_USE);
	ck_assert_ptr_null(second);
	ck_assert_uint_eq(dofi_psp_free(first), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_psp_create(here.ia, quals[1], cr_evd, DAT_PSP_CONSUMER_FLAG, &first),
			  DAT_SUCCESS);
	ck_assert_uint_eq(dofi_psp_free(first), DAT_SUCCESS);
}
END_TEST

START_TEST(a_psp_checks_its_arguments)
{
	const DAT_EVD_HANDLE wrong[] = {here.recv_evd, foreign_cr_evd, DAT_HANDLE_NULL, ep};
	DAT_PSP_HANDLE other = NULL;
	DAT_PSP_PARAM param;
	DAT_CONN_QUAL any = 0;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_uint_eq(dofi_psp_create(here.ia, 8000, wrong[i], DAT_PSP_CONSUMER_FLAG,
						  &other),
				  DOFI_BAD_HANDLE(EVD_CR));
		ck_assert_uint_eq(dofi_psp_create_any(here.ia, &any, wrong[i],
						      DAT_PSP_CONSUMER_FLAG, &other),
				  DOFI_BAD_HANDLE(EVD_CR));
	}
	ck_assert_uint_eq(dofi_psp_create(ep, 8000, cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
			  DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(dofi_psp_create(here.ia, 0, cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
			  DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_psp_create(here.ia, 8000, cr_evd, (DAT_PSP_FLAGS)5, &other),
			  DOFI_BAD_ARG(4));
	ck_assert_uint_eq(dofi_psp_create(here.ia, 8000, cr_evd, DAT_PSP_CONSUMER_FLAG, NULL),
			  DOFI_BAD_ARG(5));
	ck_assert_uint_eq(dofi_psp_create_any(ep, &any, cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
			  DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(dofi_psp_create_any(here.ia, NULL, cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
			  DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_psp_create_any(here.ia, &any, cr_evd, (DAT_PSP_FLAGS)5, &other),
			  DOFI_BAD_ARG(4));
	ck_assert_uint_eq(dofi_psp_create_any(here.ia, &any, cr_evd, DAT_PSP_CONSUMER_FLAG, NULL),
			  DOFI_BAD_ARG(5));
	ck_assert_uint_eq(dofi_psp_query(ep, DAT_PSP_FIELD_ALL, &param), DOFI_BAD_HANDLE(PSP));
	ck_assert_uint_eq(dofi_psp_query(psp, (DAT_PSP_PARAM_MASK)0x80, &param), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_psp_query(psp, DAT_PSP_FIELD_ALL, NULL), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_psp_free(ep), DOFI_BAD_HANDLE(PSP));
	ck_assert_ptr_null(other);
	ck_assert_uint_eq(any, 0);
}
END_TEST

/* --- reserved service points --- */

/* The next requests are for the RSP. */
static DAT_RSP_HANDLE be_rsp(void)
{
	DAT_RSP_HANDLE rsp;

	conn.conn_qual = long_qual();
	ck_assert_uint_eq(dofi_rsp_create(here.ia, conn.conn_qual, ep, cr_evd, &rsp), DAT_SUCCESS);
	return rsp;
}

static void free_rsp(DAT_RSP_HANDLE rsp)
{
	ck_assert_uint_eq(dofi_rsp_free(rsp), DAT_SUCCESS);
	conn.conn_qual = qual;
}

START_TEST(an_rsp_reserves_its_ep)
{
	DAT_RSP_HANDLE rsp = be_rsp();
	DAT_RSP_PARAM param;

	ck_assert_int_eq(ep->state, DAT_EP_STATE_RESERVED);
	ck_assert_uint_eq(dofi_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS);
	ck_assert_ptr_eq(param.ia_handle, here.ia);
	ck_assert_uint_eq(param.conn_qual, long_qual());
	ck_assert_ptr_eq(param.evd_handle, cr_evd);
	ck_assert_ptr_eq(param.ep_handle, ep);
	ck_assert_uint_eq(dofi_rsp_query(psp, DAT_RSP_FIELD_ALL, &param), DOFI_BAD_HANDLE(RSP));
	ck_assert_uint_eq(dofi_rsp_query(rsp, (DAT_RSP_PARAM_MASK)0x80, &param), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL), DOFI_BAD_ARG(3));
	free_rsp(rsp);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_UNCONNECTED);
	ck_assert_uint_eq(dofi_rsp_free(rsp), DOFI_BAD_HANDLE(RSP));
}
END_TEST

START_TEST(an_rsp_checks_its_arguments)
{
	static struct dofi_ud ud;
	DAT_RSP_HANDLE rsp = NULL;

	ck_assert_uint_eq(dofi_rsp_create(ep, 8000, ep, cr_evd, &rsp), DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(dofi_rsp_create(here.ia, 0, ep, cr_evd, &rsp), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_rsp_create(here.ia, 8000, psp, cr_evd, &rsp), DOFI_BAD_HANDLE(EP));
	ck_assert_uint_eq(dofi_rsp_create(there.ia, 8000, ep, foreign_cr_evd, &rsp),
			  DOFI_BAD_HANDLE(EP));
	ck_assert_uint_eq(dofi_rsp_create(here.ia, 8000, ep, here.recv_evd, &rsp),
			  DOFI_BAD_HANDLE(EVD_CR));
	ck_assert_uint_eq(dofi_rsp_create(here.ia, 8000, ep, cr_evd, NULL), DOFI_BAD_ARG(5));
	ck_assert_uint_eq(dofi_rsp_create(here.ia, qual, ep, cr_evd, &rsp), DAT_CONN_QUAL_IN_USE);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_UNCONNECTED);
	ep->ud = &ud;
	ck_assert_uint_eq(dofi_rsp_create(here.ia, 8000, ep, cr_evd, &rsp),
			  DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	ep->ud = NULL;
	ep->state = DAT_EP_STATE_CONNECTED;
	ck_assert_uint_eq(dofi_rsp_create(here.ia, 8000, ep, cr_evd, &rsp),
			  DOFI_BAD_STATE(EP_CONNECTED));
	ck_assert_int_eq(ep->state, DAT_EP_STATE_CONNECTED);
	ep->state = DAT_EP_STATE_UNCONNECTED;
	ck_assert_ptr_null(rsp);
}
END_TEST

/* The EP of an RSP belongs to the one request that it takes. */
START_TEST(an_rsp_takes_one_request)
{
	DAT_RSP_HANDLE rsp = be_rsp();
	DAT_CR_HANDLE cr = ask();
	DAT_RSP_PARAM param;

	ck_assert_int_eq(ep->state, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	ck_assert_int_eq(offer(), DOFI_REASON_RESOURCES);
	ck_assert_uint_eq(dofi_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS);
	ck_assert_ptr_eq(param.ep_handle, ep);
	free_rsp(rsp);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	ck_assert_uint_eq(dofi_cr_accept(cr, ep, 0, NULL), DOFI_BAD_HANDLE(EP));
	ck_assert_uint_eq(dofi_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_UNCONNECTED);
	expect_gone(cr);
}
END_TEST

/* --- requests --- */

START_TEST(a_request_finds_the_service_point_of_its_qualifier)
{
	conn.conn_qual++;
	ck_assert_int_eq(offer(), DOFI_REASON_NOT_MINE);
	conn.conn_qual--;
	ck_assert_uint_eq(here.ia->counters[DOFI_CNT_IA_SP_CR], 0);
	ask();
	ck_assert_uint_eq(here.ia->counters[DOFI_CNT_IA_SP_CR], 1);
}
END_TEST

START_TEST(requests_are_limited_by_the_room_of_the_evd)
{
	const struct dofi_event event = {.number = DAT_SOFTWARE_EVENT};

	while (dofi_evd_room(cr_evd))
		ck_assert_int_eq(dofi_evd_push(cr_evd, &event, true), 0);
	ck_assert_int_eq(offer(), DOFI_REASON_RESOURCES);
	ck_assert_ptr_null(conn.cr);
}
END_TEST

/* The consumer has to choose the EP. */
START_TEST(a_request_for_datagrams_takes_a_psp_of_the_consumer)
{
	DAT_RSP_HANDLE rsp;

	conn.ud = true;
	ck_assert_int_eq(offer(), DOFI_REASON_RESOURCES); /* the IA has none */
	here.ia->limits.max_datagram = 1000;
	be_psp_of(DAT_PSP_PROVIDER_FLAG);
	ck_assert_int_eq(offer(), DOFI_REASON_RESOURCES);
	rsp = be_rsp();
	ck_assert_int_eq(offer(), DOFI_REASON_RESOURCES);
	free_rsp(rsp);
	be_psp_of(DAT_PSP_CONSUMER_FLAG);
	ask();
}
END_TEST

START_TEST(a_query_tells_what_the_request_is)
{
	DAT_CR_HANDLE cr = ask();
	DAT_CR_PARAM param;

	ck_assert_uint_eq(dofi_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	ck_assert(dofi_addr_equal((struct sockaddr_storage *)param.remote_ia_address_ptr, &remote));
	ck_assert_uint_eq(param.remote_port_qual, PORT);
	ck_assert_int_eq(param.private_data_size, 5);
	ck_assert_mem_eq(param.private_data, "hello", 5);
	ck_assert_ptr_null(param.local_ep_handle);
	ck_assert_uint_eq(dofi_cr_query(ep, DAT_CR_FIELD_ALL, &param), DOFI_BAD_HANDLE(CR));
	ck_assert_uint_eq(dofi_cr_query(cr, (DAT_CR_PARAM_MASK)0x80000000, &param), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_cr_query(cr, DAT_CR_FIELD_ALL, NULL), DOFI_BAD_ARG(3));
}
END_TEST

/* Its EP is made with the request, and goes with it. */
START_TEST(a_psp_of_the_provider_makes_the_ep)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct dofi_ep *made;

	be_psp_of(DAT_PSP_PROVIDER_FLAG);
	cr = ask();
	ck_assert_uint_eq(dofi_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	made = param.local_ep_handle;
	ck_assert(dofi_obj_is(made, DAT_HANDLE_TYPE_EP));
	ck_assert_ptr_ne(made, ep);
	ck_assert_int_eq(made->state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	ck_assert(dofi_addr_equal(&made->remote_addr, &remote));
	ck_assert_uint_eq(made->remote_qual, PORT);
	ck_assert_uint_eq(made->local_qual, qual);
	ck_assert_uint_eq(dofi_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL),
			  DOFI_BAD_STATE(EP_NOTREADY));
	ck_assert_uint_eq(dofi_cr_accept(cr, ep, 0, NULL), DOFI_BAD_HANDLE(EP));
	ck_assert_int_eq(seen.accepts, 0);
	ck_assert_uint_eq(dofi_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	ck_assert(!dofi_obj_is(made, DAT_HANDLE_TYPE_EP));
	ck_assert_uint_eq(here.ia->counts[DAT_HANDLE_TYPE_EP], 1);
	expect_gone(cr);
}
END_TEST

/* The consumer has given it what it needs. */
START_TEST(the_ep_of_the_provider_is_accepted)
{
	DAT_EP_PARAM param = {.pz_handle = here.pz, .connect_evd_handle = here.conn_evd};
	struct dofi_ep *made;
	DAT_CR_HANDLE cr;

	be_psp_of(DAT_PSP_PROVIDER_FLAG);
	cr = ask();
	made = conn.cr->ep;
	ck_assert_uint_eq(dofi_ep_modify(made, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL),
			  DOFI_BAD_STATE(EP_NOTREADY));
	ck_assert_uint_eq(dofi_ep_modify(made, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param),
			  DAT_SUCCESS);
	ck_assert_uint_eq(dofi_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	ck_assert_ptr_eq(seen.ep, made);
	expect_gone(cr);
	made->state = DAT_EP_STATE_UNCONNECTED;
	ck_assert_uint_eq(dofi_ep_free(made), DAT_SUCCESS);
}
END_TEST

/* --- the decision --- */

START_TEST(an_accepted_request_gets_the_ep)
{
	DAT_CR_HANDLE cr = ask();

	ck_assert_uint_eq(dofi_cr_accept(cr, ep, 3, "yes"), DAT_SUCCESS);
	ck_assert_int_eq(seen.accepts, 1);
	ck_assert_ptr_eq(seen.ep, ep);
	ck_assert_uint_eq(seen.size, 3);
	ck_assert_mem_eq(seen.data, "yes", 3);
	ck_assert_int_eq(seen.rejects, 0);
	ck_assert_uint_eq(here.ia->counters[DOFI_CNT_IA_SP_CR_ACCEPTED], 1);
	expect_gone(cr);
}
END_TEST

START_TEST(an_accept_checks_its_arguments)
{
	static char data[DOFI_MAX_PRIVATE + 1];
	static struct dofi_ud ud;
	DAT_CR_HANDLE cr = ask();
	DAT_EP_HANDLE foreign;

	ck_assert_uint_eq(dofi_ep_create(there.ia, there.pz, there.recv_evd, there.req_evd,
					 there.conn_evd, NULL, &foreign),
			  DAT_SUCCESS);
	ck_assert_uint_eq(dofi_cr_accept(ep, ep, 0, NULL), DOFI_BAD_HANDLE(CR));
	ck_assert_uint_eq(dofi_cr_accept(cr, psp, 0, NULL), DOFI_BAD_HANDLE(EP));
	ck_assert_uint_eq(dofi_cr_accept(cr, foreign, 0, NULL), DOFI_BAD_HANDLE(EP));
	ck_assert_uint_eq(dofi_cr_accept(cr, ep, -1, data), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_cr_accept(cr, ep, DOFI_MAX_PRIVATE + 1, data), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_cr_accept(cr, ep, 1, NULL), DOFI_BAD_ARG(4));
	ep->ud = &ud; /* only for a request for datagrams */
	ck_assert_uint_eq(dofi_cr_accept(cr, ep, 0, NULL), DOFI_BAD_HANDLE(EP));
	ep->ud = NULL;
	conn.ud = true;
	ck_assert_uint_eq(dofi_cr_accept(cr, ep, 0, NULL), DOFI_BAD_HANDLE(EP));
	conn.ud = false;
	ep->state = DAT_EP_STATE_DISCONNECTED;
	ck_assert_uint_eq(dofi_cr_accept(cr, ep, 0, NULL), DOFI_BAD_STATE(EP_DISCONNECTED));
	ep->state = DAT_EP_STATE_UNCONNECTED;
	ck_assert_int_eq(seen.accepts, 0);
	ck_assert_uint_eq(dofi_cr_accept(cr, ep, DOFI_MAX_PRIVATE, data), DAT_SUCCESS);
	ck_assert_uint_eq(seen.size, DOFI_MAX_PRIVATE);
	ck_assert_uint_eq(dofi_ep_free(foreign), DAT_SUCCESS);
	expect_gone(cr);
}
END_TEST

START_TEST(a_rejected_request_tells_the_peer)
{
	static char data[DOFI_MAX_PRIVATE + 1];
	DAT_CR_HANDLE cr = ask();

	ck_assert_uint_eq(dofi_cr_reject(ep, 0, NULL), DOFI_BAD_HANDLE(CR));
	ck_assert_uint_eq(dofi_cr_reject(cr, -1, data), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_cr_reject(cr, DOFI_MAX_PRIVATE + 1, data), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_cr_reject(cr, 1, NULL), DOFI_BAD_ARG(3));
	ck_assert_int_eq(seen.rejects, 0);
	ck_assert_uint_eq(dofi_cr_reject(cr, 2, "no"), DAT_SUCCESS);
	ck_assert_int_eq(seen.rejects, 1);
	ck_assert_int_eq(seen.reason, DOFI_REASON_CONSUMER);
	ck_assert_uint_eq(seen.size, 2);
	ck_assert_mem_eq(seen.data, "no", 2);
	ck_assert_uint_eq(here.ia->counters[DOFI_CNT_IA_SP_CR_REJECTED], 1);
	expect_gone(cr);
}
END_TEST

/* The IA closes. */
START_TEST(an_undecided_request_is_rejected_for_the_consumer)
{
	DAT_CR_HANDLE cr = ask();

	dofi_lock(&here.ia->engine.lock);
	ck_assert(dofi_obj_retire(&conn.cr->obj, false));
	dofi_cr_destroy(conn.cr, true);
	dofi_unlock(&here.ia->engine.lock);
	ck_assert_int_eq(seen.rejects, 1);
	ck_assert_int_eq(seen.reason, DOFI_REASON_DISCONNECT);
	ck_assert_uint_eq(seen.size, 0);
	expect_gone(cr);
}
END_TEST

static void reject_it(void)
{
	ck_assert_uint_eq(dofi_cr_reject(conn.cr, 0, NULL), DAT_SUCCESS);
	conn.cr = NULL;
}

START_TEST(another_thread_may_decide_first)
{
	DAT_CR_HANDLE cr = ask();

	before_lock = reject_it;
	switch (_i) {
	case 0:
		ck_assert_uint_eq(dofi_cr_accept(cr, ep, 0, NULL), DOFI_BAD_HANDLE(CR));
		break;
	case 1:
		ck_assert_uint_eq(dofi_cr_reject(cr, 0, NULL), DOFI_BAD_HANDLE(CR));
		break;
	default:
		ck_assert_uint_eq(dofi_cr_handoff(cr, qual), DOFI_BAD_HANDLE(CR));
	}
	ck_assert_int_eq(seen.accepts, 0);
	ck_assert_int_eq(seen.rejects, 1);
	expect_gone(cr); /* the lock is free */
}
END_TEST

static DAT_RSP_HANDLE the_rsp;

static void free_both(void)
{
	ck_assert_uint_eq(dofi_psp_free(psp), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_rsp_free(the_rsp), DAT_SUCCESS);
}

static void free_the_ep(void)
{
	ck_assert_uint_eq(dofi_ep_free(ep), DAT_SUCCESS);
}

START_TEST(another_thread_may_free_first)
{
	DAT_PSP_HANDLE old = psp;

	ck_assert_uint_eq(dofi_rsp_create(here.ia, long_qual(), ep, cr_evd, &the_rsp), DAT_SUCCESS);
	before_lock = free_both;
	if (_i)
		ck_assert_uint_eq(dofi_psp_free(old), DOFI_BAD_HANDLE(PSP));
	else
		ck_assert_uint_eq(dofi_rsp_free(the_rsp), DOFI_BAD_HANDLE(RSP));
	ck_assert_uint_eq(dofi_psp_create(here.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
			  DAT_SUCCESS);
	before_lock = free_the_ep;
	ck_assert_uint_eq(dofi_rsp_create(here.ia, long_qual(), ep, cr_evd, &the_rsp),
			  DOFI_BAD_HANDLE(EP));
	ep = NULL;
}
END_TEST

/* --- dat_cr_handoff --- */

START_TEST(a_request_is_handed_off_to_another_service_point)
{
	DAT_CONN_QUAL target = 0;
	DAT_PSP_HANDLE other;
	DAT_CR_HANDLE cr = ask();

	ck_assert_uint_eq(dofi_psp_create_any(here.ia, &target, cr_evd, DAT_PSP_CONSUMER_FLAG,
					      &other),
			  DAT_SUCCESS);
	ck_assert_uint_eq(dofi_cr_handoff(cr, target), DAT_SUCCESS);
	ck_assert(!dofi_obj_is(cr, DAT_HANDLE_TYPE_CR));
	ck_assert_ptr_ne(conn.cr, cr);
	ck_assert(dofi_obj_is(conn.cr, DAT_HANDLE_TYPE_CR));
	ck_assert_uint_eq(conn.conn_qual, target);
	ck_assert_uint_eq(dofi_evd_queued(cr_evd), 2);
	ck_assert_int_eq(seen.rejects, 0);
	ck_assert_uint_eq(dofi_psp_free(other), DAT_SUCCESS);
}
END_TEST

/* The RSP's EP is free again: the target has its own. */
START_TEST(a_handoff_returns_the_ep)
{
	DAT_CONN_QUAL target = 0;
	DAT_PSP_HANDLE other;
	DAT_RSP_HANDLE rsp = be_rsp();
	DAT_CR_HANDLE cr = ask();

	ck_assert_uint_eq(dofi_psp_create_any(here.ia, &target, cr_evd, DAT_PSP_CONSUMER_FLAG,
					      &other),
			  DAT_SUCCESS);
	ck_assert_uint_eq(dofi_cr_handoff(cr, target), DAT_SUCCESS);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_UNCONNECTED);
	ck_assert_ptr_null(conn.cr->ep);
	free_rsp(rsp);
	ck_assert_uint_eq(dofi_psp_free(other), DAT_SUCCESS);
}
END_TEST

START_TEST(a_handoff_that_fails_changes_nothing)
{
	const struct dofi_event event = {.number = DAT_SOFTWARE_EVENT};
	DAT_EVD_HANDLE full = t_ep_ia_evd(here.ia, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL target = 0;
	DAT_PSP_HANDLE other;
	DAT_CR_HANDLE cr = ask();

	ck_assert_uint_eq(dofi_psp_create_any(here.ia, &target, full, DAT_PSP_CONSUMER_FLAG,
					      &other),
			  DAT_SUCCESS);
	while (dofi_evd_room(full))
		ck_assert_int_eq(dofi_evd_push(full, &event, true), 0);
	ck_assert_uint_eq(dofi_cr_handoff(cr, target),
			  DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD));
	ck_assert_uint_eq(conn.conn_qual, qual);
	ck_assert_uint_eq(dofi_psp_free(other), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_cr_handoff(cr, target), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(conn.conn_qual, qual);
	ck_assert_ptr_eq(conn.cr, cr);
	ck_assert(dofi_obj_is(cr, DAT_HANDLE_TYPE_CR));
	ck_assert_uint_eq(dofi_evd_free(full), DAT_SUCCESS);
}
END_TEST

/* --- memory --- */

#define MANY 1000 /* more than what rests before its memory is used again */

static void make_psp(void)
{
	DAT_PSP_HANDLE other;
	DAT_CONN_QUAL any;

	ck_assert_uint_eq(dofi_psp_create_any(here.ia, &any, cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
			  DAT_SUCCESS);
	ck_assert_uint_eq(dofi_psp_free(other), DAT_SUCCESS);
}

static void fail_to_make_psp(void)
{
	DAT_PSP_HANDLE other;

	ck_assert_uint_eq(dofi_psp_create(here.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
			  DAT_CONN_QUAL_IN_USE);
}

static void make_rsp(void)
{
	DAT_RSP_HANDLE rsp;

	ck_assert_uint_eq(dofi_rsp_create(here.ia, long_qual(), ep, cr_evd, &rsp), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_rsp_free(rsp), DAT_SUCCESS);
}

static void take_events(void)
{
	struct dofi_evd *evd = cr_evd;

	evd->head = evd->tail;
	dofi_evd_publish_count(evd);
}

static void make_cr(void)
{
	ck_assert_uint_eq(dofi_cr_reject(ask(), 0, NULL), DAT_SUCCESS);
	take_events();
}

static void fail_to_make_cr(void)
{
	static const struct sockaddr local = {.sa_family = AF_UNIX};

	dofi_lock(&here.ia->engine.lock);
	ck_assert_int_eq(dofi_cr_new(psp, &conn, &local), -EAFNOSUPPORT);
	dofi_unlock(&here.ia->engine.lock);
}

static void (*const makers[])(void) = {make_psp, fail_to_make_psp, make_rsp, make_cr,
				       fail_to_make_cr};

START_TEST(the_memory_of_what_is_gone_is_used_again)
{
	int before;

	for (int i = 0; i < MANY; i++)
		makers[_i]();
	before = nmaps;
	for (int i = 0; i < MANY; i++)
		makers[_i]();
	ck_assert_int_eq(nmaps, before);
}
END_TEST

START_TEST(without_memory_there_is_no_service_point)
{
	DAT_PSP_HANDLE other = NULL;
	DAT_RSP_HANDLE rsp = NULL;
	DAT_CONN_QUAL any = 0;

	no_maps = true;
	ck_assert_uint_eq(dofi_rsp_create(here.ia, 8000, ep, cr_evd, &rsp), DOFI_NO_MEMORY);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_UNCONNECTED);
	while (dofi_psp_create_any(here.ia, &any, cr_evd, DAT_PSP_CONSUMER_FLAG, &other) ==
	       DAT_SUCCESS)
		; /* until the first chunk is full */
	any = 0;
	ck_assert_uint_eq(dofi_psp_create_any(here.ia, &any, cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
			  DOFI_NO_MEMORY);
	no_maps = false;
	ck_assert_uint_eq(any, 0);
	while (here.ia->counts[DAT_HANDLE_TYPE_PSP] > 1)
		ck_assert_uint_eq(dofi_psp_free(
					  DOFI_CONTAINER(here.ia->objects[DAT_HANDLE_TYPE_PSP].prev,
							 struct dofi_obj, siblings)),
				  DAT_SUCCESS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("service_point");
	TCase *tcase = tcase_create("service_point");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_psp_listens_at_its_qualifier);
	tcase_add_test(tcase, a_qualifier_has_one_service_point);
	tcase_add_test(tcase, a_psp_checks_its_arguments);
	tcase_add_test(tcase, an_rsp_reserves_its_ep);
	tcase_add_test(tcase, an_rsp_checks_its_arguments);
	tcase_add_test(tcase, an_rsp_takes_one_request);
	tcase_add_test(tcase, a_request_finds_the_service_point_of_its_qualifier);
	tcase_add_test(tcase, requests_are_limited_by_the_room_of_the_evd);
	tcase_add_test(tcase, a_request_for_datagrams_takes_a_psp_of_the_consumer);
	tcase_add_test(tcase, a_query_tells_what_the_request_is);
	tcase_add_test(tcase, a_psp_of_the_provider_makes_the_ep);
	tcase_add_test(tcase, the_ep_of_the_provider_is_accepted);
	tcase_add_test(tcase, an_accepted_request_gets_the_ep);
	tcase_add_test(tcase, an_accept_checks_its_arguments);
	tcase_add_test(tcase, a_rejected_request_tells_the_peer);
	tcase_add_test(tcase, an_undecided_request_is_rejected_for_the_consumer);
	tcase_add_loop_test(tcase, another_thread_may_decide_first, 0, 3);
	tcase_add_loop_test(tcase, another_thread_may_free_first, 0, 2);
	tcase_add_test(tcase, a_request_is_handed_off_to_another_service_point);
	tcase_add_test(tcase, a_handoff_returns_the_ep);
	tcase_add_test(tcase, a_handoff_that_fails_changes_nothing);
	tcase_add_loop_test(tcase, the_memory_of_what_is_gone_is_used_again, 0,
			    (int)(sizeof(makers) / sizeof(makers[0])));
	tcase_add_test(tcase, without_memory_there_is_no_service_point);
	return t_run(suite);
}
