/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls on an EP that has no connection: what they check, and what they change. */
#include "../../lib/ep_ia.h"
#include "../../lib/t_hooks.h"

#include "../../../prov/ofi/api/ep.h"
#include "../../../prov/ofi/dto/ep_attr.h"
#include "../../../prov/ofi/dto/ud.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "../../../prov/ofi/progress/evd_streams.h"

static struct t_ep_ia here, there; /* `there` is another IA of the process */
static struct dofi_ep *ep;

/* --- the memory of rings; the linker redirects this call --- */

static int allocations_left = -1; /* -1: any number */

T_STAND_IN void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	if (!allocations_left)
		return NULL;
	allocations_left -= allocations_left > 0;
	return __real_aligned_alloc(alignment, size);
}

/* --- what happens while a call enters the engine; the linker redirects these calls --- */

static int polls, begins, ends;
static void (*meanwhile)(void);

void __wrap_dofi_engine_poll(struct dofi_ia *ia);
void __wrap_dofi_engine_begin(struct dofi_ia *ia);
void __real_dofi_engine_begin(struct dofi_ia *ia);
void __wrap_dofi_engine_end(struct dofi_ia *ia);
void __real_dofi_engine_end(struct dofi_ia *ia);

static void let_others(void)
{
	void (*others)(void) = meanwhile;

	meanwhile = NULL;
	if (others)
		others();
}

void __wrap_dofi_engine_poll(struct dofi_ia *ia)
{
	ck_assert_ptr_eq(ia, here.ia);
	polls++;
	let_others();
}

void __wrap_dofi_engine_begin(struct dofi_ia *ia)
{
	let_others();
	begins++;
	__real_dofi_engine_begin(ia);
}

void __wrap_dofi_engine_end(struct dofi_ia *ia)
{
	ends++;
	__real_dofi_engine_end(ia);
}

/* --- another thread tries to free EVDs; the linker redirects the last call of a detachment --- */

static bool wanted; /* by that thread */

void __wrap_dofi_evd_detach_other(struct dofi_evd *evd);
void __real_dofi_evd_detach_other(struct dofi_evd *evd);

void __wrap_dofi_evd_detach_other(struct dofi_evd *evd)
{
	__real_dofi_evd_detach_other(evd);
	if (!wanted)
		return;
	wanted = false;
	ck_assert_uint_eq(dofi_evd_free(here.recv_evd), DOFI_BAD_STATE(EVD_IN_USE));
	ck_assert_uint_eq(dofi_evd_free(here.req_evd), DOFI_BAD_STATE(EVD_IN_USE));
	ck_assert_uint_eq(dofi_evd_free(here.conn_evd), DOFI_BAD_STATE(EVD_IN_USE));
}

/* --- */

static void setup(void)
{
	DAT_EP_HANDLE handle;

	t_ep_ia_open(&here);
	t_ep_ia_open(&there);
	ck_assert_uint_eq(dofi_ep_create(here.ia, here.pz, here.recv_evd, here.req_evd,
					 here.conn_evd, NULL, &handle),
			  DAT_SUCCESS);
	ep = handle;
}

static void teardown(void)
{
	if (ep) {
		ep->req.head = ep->req.issue = ep->req.tail = 0;
		ep->recv.head = ep->recv.issue = ep->recv.tail = 0;
		ep->state = DAT_EP_STATE_UNCONNECTED;
		ck_assert_uint_eq(dofi_ep_free(ep), DAT_SUCCESS);
	}
	t_ep_ia_close(&there);
	t_ep_ia_close(&here);
}

/* --- which objects an EP takes --- */

enum { PZ, RECV, REQ, CONN, ROLES };

static const DAT_RETURN bad_role[ROLES] = {[PZ] = DOFI_BAD_HANDLE(PZ),
					   [RECV] = DOFI_BAD_HANDLE(EVD_RECV),
					   [REQ] = DOFI_BAD_HANDLE(EVD_REQUEST),
					   [CONN] = DOFI_BAD_HANDLE(EVD_CONN)};

static DAT_RETURN create_with(const DAT_HANDLE objects[ROLES])
{
	DAT_EP_HANDLE other = NULL;
	DAT_RETURN ret = dofi_ep_create(here.ia, objects[PZ], objects[RECV], objects[REQ],
					objects[CONN], NULL, &other);

	ck_assert_int_eq(ret == DAT_SUCCESS, other != NULL);
	if (other)
		ck_assert_uint_eq(dofi_ep_free(other), DAT_SUCCESS);
	return ret;
}

static DAT_RETURN modify_with(const DAT_HANDLE objects[ROLES])
{
	DAT_EP_PARAM param = {.pz_handle = objects[PZ],
			      .recv_evd_handle = objects[RECV],
			      .request_evd_handle = objects[REQ],
			      .connect_evd_handle = objects[CONN]};

	return dofi_ep_modify(ep,
			      DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				      DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				      DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			      &param);
}

static void expect_with(int role, DAT_HANDLE object, DAT_RETURN expected)
{
	DAT_HANDLE objects[ROLES] = {here.pz, here.recv_evd, here.req_evd, here.conn_evd};

	objects[role] = object;
	ck_assert_uint_eq(create_with(objects), expected);
	ck_assert_uint_eq(modify_with(objects), expected);
}

START_TEST(an_ep_takes_objects_of_the_right_type)
{
	const DAT_HANDLE wrong[ROLES] = {here.recv_evd, here.conn_evd, here.conn_evd, here.req_evd};

	expect_with(_i, wrong[_i], bad_role[_i]);
	expect_with(_i, ep, bad_role[_i]);
	expect_with(_i, DAT_HANDLE_NULL, DAT_SUCCESS);
}
END_TEST

/* Only connection events may go to an EVD of another IA. */
START_TEST(an_ep_takes_objects_of_its_ia)
{
	expect_with(PZ, there.pz, bad_role[PZ]);
	expect_with(RECV, there.recv_evd, bad_role[RECV]);
	expect_with(REQ, there.req_evd, bad_role[REQ]);
	expect_with(CONN, there.conn_evd, DAT_SUCCESS);
	expect_with(CONN, here.conn_evd, DAT_SUCCESS);
}
END_TEST

START_TEST(creation_checks_its_arguments)
{
	DAT_EP_ATTR attr = ep->attr;
	DAT_EP_HANDLE other = NULL;

	ck_assert_uint_eq(dofi_ep_create(here.pz, here.pz, here.recv_evd, here.req_evd,
					 here.conn_evd, NULL, &other),
			  DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(dofi_ep_create(here.ia, here.pz, here.recv_evd, here.req_evd,
					 here.conn_evd, NULL, NULL),
			  DOFI_BAD_ARG(7));
	attr.max_recv_iov = 5;
	ck_assert_uint_eq(dofi_ep_create(here.ia, here.pz, here.recv_evd, here.req_evd,
					 here.conn_evd, &attr, &other),
			  DOFI_BAD_ARG(6));
	ck_assert_ptr_null(other);
}
END_TEST

/* --- dat_ep_query --- */

START_TEST(a_query_tells_what_the_ep_is)
{
	static const DAT_COMM no_communicator;
	DAT_EP_PARAM param;

	ep->state = DAT_EP_STATE_CONNECTED;
	ep->local_qual = 7;
	ep->remote_qual = 8;
	memset(&param, 0xff, sizeof(param));
	ck_assert_uint_eq(dofi_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	ck_assert_ptr_eq(param.ia_handle, here.ia);
	ck_assert_int_eq(param.ep_state, DAT_EP_STATE_CONNECTED);
	ck_assert_ptr_eq(param.local_ia_address_ptr, (void *)&here.ia->addr);
	ck_assert_ptr_eq(param.remote_ia_address_ptr, (void *)&ep->remote_addr);
	ck_assert_uint_eq(param.local_port_qual, 7);
	ck_assert_uint_eq(param.remote_port_qual, 8);
	ck_assert_ptr_eq(param.pz_handle, here.pz);
	ck_assert_ptr_eq(param.recv_evd_handle, here.recv_evd);
	ck_assert_ptr_eq(param.request_evd_handle, here.req_evd);
	ck_assert_ptr_eq(param.connect_evd_handle, here.conn_evd);
	ck_assert_ptr_null(param.srq_handle);
	ck_assert_mem_eq(&param.comm, &no_communicator, sizeof(param.comm));
	ck_assert_mem_eq(&param.ep_attr, &ep->attr, sizeof(ep->attr));
}
END_TEST

START_TEST(a_query_checks_its_arguments)
{
	DAT_EP_PARAM param;

	ck_assert_uint_eq(dofi_ep_query(here.pz, DAT_EP_FIELD_ALL, &param), DOFI_BAD_HANDLE(EP));
	ck_assert_uint_eq(dofi_ep_query(ep, DAT_EP_FIELD_ALL + 1, &param), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ep_query(ep, DAT_EP_FIELD_ALL, NULL), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_ep_query(ep, 0, NULL), DOFI_BAD_ARG(3));
}
END_TEST

/* --- dat_ep_modify --- */

#define FIELD(bit, member)                                                 \
	{                                                                  \
		DAT_EP_FIELD_EP_ATTR_##bit, offsetof(DAT_EP_ATTR, member), \
			sizeof(((DAT_EP_ATTR *)NULL)->member)              \
	}

static const struct {
	DAT_EP_PARAM_MASK bit;
	size_t at, size;
} fields[] = {
	FIELD(MAX_MESSAGE_SIZE, max_message_size),
	FIELD(MAX_RDMA_SIZE, max_rdma_size),
	FIELD(RECV_COMPLETION_FLAGS, recv_completion_flags),
	FIELD(REQUEST_COMPLETION_FLAGS, request_completion_flags),
	FIELD(MAX_RECV_DTOS, max_recv_dtos),
	FIELD(MAX_REQUEST_DTOS, max_request_dtos),
	FIELD(MAX_RECV_IOV, max_recv_iov),
	FIELD(MAX_REQUEST_IOV, max_request_iov),
	FIELD(MAX_RDMA_READ_IN, max_rdma_read_in),
	FIELD(MAX_RDMA_READ_OUT, max_rdma_read_out),
	FIELD(SRQ_SOFT_HW, srq_soft_hw),
	FIELD(MAX_RDMA_READ_IOV, max_rdma_read_iov),
	FIELD(MAX_RDMA_WRITE_IOV, max_rdma_write_iov),
};

#define NFIELDS ((int)(sizeof(fields) / sizeof(fields[0])))

/* All differ from what the EP has. */
static DAT_EP_PARAM other_values(void)
{
	return (DAT_EP_PARAM){
		.ep_attr = {.service_type = ep->attr.service_type,
			    .max_message_size = 1000,
			    .max_rdma_size = 2000,
			    .qos = DAT_QOS_BEST_EFFORT,
			    .recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
			    .request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
			    .max_recv_dtos = 3,
			    .max_request_dtos = 5,
			    .max_recv_iov = 1,
			    .max_request_iov = 2,
			    .max_rdma_read_in = 3,
			    .max_rdma_read_out = 5,
			    .srq_soft_hw = 9,
			    .max_rdma_read_iov = 3,
			    .max_rdma_write_iov = 2}};
}

/* A mask that names one attribute changes this one and no other. */
START_TEST(each_attribute_is_modified_alone)
{
	DAT_EP_PARAM param = other_values();
	DAT_EP_ATTR expected = ep->attr;

	memcpy((char *)&expected + fields[_i].at, (char *)&param.ep_attr + fields[_i].at,
	       fields[_i].size);
	ck_assert_mem_ne(&expected, &ep->attr, sizeof(expected));
	ck_assert_uint_eq(dofi_ep_modify(ep, fields[_i].bit, &param), DAT_SUCCESS);
	ck_assert_mem_eq(&ep->attr, &expected, sizeof(expected));
}
END_TEST

START_TEST(a_modified_ep_has_queues_of_the_new_size)
{
	DAT_EP_PARAM param = other_values();

	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_ALL, &param), DAT_SUCCESS);
	ck_assert_uint_eq(ep->recv.limit, 3);
	ck_assert_uint_eq(ep->req.limit, 5);
	ck_assert_uint_eq(ep->recv.max_iov, 1);
	ck_assert_uint_eq(ep->req.max_iov, 3);
}
END_TEST

static int streams_of(DAT_EVD_HANDLE evd)
{
	return ((struct dofi_obj *)evd)->users;
}

/* What the EP no longer uses can be freed, and what it uses cannot. */
START_TEST(a_modified_ep_uses_the_new_objects)
{
	const DAT_HANDLE before[ROLES] = {here.pz, here.recv_evd, here.req_evd, here.conn_evd};
	const DAT_HANDLE after[ROLES] = {t_ep_ia_pz(here.ia),
					 t_ep_ia_evd(here.ia, DAT_EVD_DTO_FLAG),
					 t_ep_ia_evd(here.ia, DAT_EVD_DTO_FLAG),
					 t_ep_ia_evd(here.ia, DAT_EVD_CONNECTION_FLAG)};

	ck_assert_uint_eq(modify_with(after), DAT_SUCCESS);
	for (int role = 0; role < ROLES; role++) {
		ck_assert_int_eq(streams_of(before[role]), 0);
		ck_assert_int_eq(streams_of(after[role]), 1);
	}
	ck_assert_ptr_eq(ep->pz, after[PZ]);
	ck_assert_ptr_eq(ep->recv_evd, after[RECV]);
	ck_assert_ptr_eq(ep->req_evd, after[REQ]);
	ck_assert_ptr_eq(ep->conn_evd, after[CONN]);
	ck_assert_uint_eq(modify_with(before), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_pz_free(after[PZ]), DAT_SUCCESS);
	for (int role = RECV; role < ROLES; role++)
		ck_assert_uint_eq(dofi_evd_free(after[role]), DAT_SUCCESS);
}
END_TEST

START_TEST(an_EVD_that_stays_is_always_in_use)
{
	const DAT_EP_PARAM param = {.pz_handle = here.pz};

	wanted = true;
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
	ck_assert(!wanted);
	ck_assert_int_eq(streams_of(here.recv_evd), 1);
	ck_assert_int_eq(streams_of(here.req_evd), 1);
	ck_assert_int_eq(streams_of(here.conn_evd), 1);
}
END_TEST

/* The EVD notifies as its new stream asks for. */
START_TEST(an_evd_follows_the_completion_flags)
{
	DAT_EP_PARAM param = other_values();
	struct dofi_evd *evd = here.recv_evd;

	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param),
			  DAT_SUCCESS);
	ck_assert_uint_eq(evd->dto_streams[DOFI_CONFIG_SOLICITED], 1);
	ck_assert_uint_eq(evd->dto_streams[DOFI_CONFIG_THRESHOLD], 0);
}
END_TEST

/* The rest of the attributes changes while the EP waits for a connection. */
START_TEST(the_state_decides_what_can_be_modified)
{
	DAT_EP_PARAM param = other_values();
	DAT_EP_STATE state = t_ep_states[_i];
	bool tentative = state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
	bool free = state == DAT_EP_STATE_UNCONNECTED;
	bool waits = tentative || state == DAT_EP_STATE_RESERVED ||
		     state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING;
	DAT_RETURN bad = dofi_ep_bad_state(state);

	param.pz_handle = here.pz;
	ep->state = state;
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
			  free || waits ? DAT_SUCCESS : bad);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param),
			  free || tentative ? DAT_SUCCESS : bad);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR, &param),
			  free ? DAT_SUCCESS : bad);
}
END_TEST

/* The fabric has the requests and receives of a connected EP, which stay where they are. */
START_TEST(a_mask_without_a_field_changes_nothing)
{
	DAT_EP_PARAM param = other_values();
	const char *requests = ep->req.base, *receives = ep->recv.base;
	const DAT_EP_ATTR before = ep->attr;

	ep->state = t_ep_states[_i];
	ck_assert_uint_eq(dofi_ep_modify(ep, 0, NULL), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_ep_modify(ep, 0, &param), DAT_SUCCESS);
	ck_assert_ptr_eq(ep->req.base, requests);
	ck_assert_ptr_eq(ep->recv.base, receives);
	ck_assert_mem_eq(&ep->attr, &before, sizeof(before));
}
END_TEST

START_TEST(some_fields_are_never_modified)
{
	static const DAT_EP_PARAM_MASK masks[] = {DAT_EP_FIELD_IA_HANDLE,
						  DAT_EP_FIELD_EP_STATE,
						  DAT_EP_FIELD_LOCAL_PORT_QUAL,
						  DAT_EP_FIELD_REMOTE_PORT_QUAL,
						  DAT_EP_FIELD_SRQ_HANDLE,
						  DAT_EP_FIELD_ALL + 1,
						  DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR};
	DAT_EP_PARAM param = other_values();

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		ck_assert_uint_eq(dofi_ep_modify(ep, masks[i], &param), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_ALL, NULL), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_ep_modify(here.pz, DAT_EP_FIELD_EP_ATTR_ALL, &param),
			  DOFI_BAD_HANDLE(EP));
	param.ep_attr.service_type = (DAT_SERVICE_TYPE)((int)ep->attr.service_type + 1);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, &param),
			  DOFI_BAD_ARG(3));
	param.ep_attr.qos = DAT_QOS_HIGH_THROUGHPUT;
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_QOS, &param),
			  DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	param.ep_attr.qos = DAT_QOS_BEST_EFFORT;
	here.ia->limits.max_datagram = 1000; /* also to one that the IA has */
	param.ep_attr.service_type = (DAT_SERVICE_TYPE)DOFI_SERVICE_TYPE_UD;
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, &param),
			  DOFI_BAD_ARG(3));
	param.ep_attr.max_recv_iov = 5;
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param),
			  DOFI_BAD_ARG(3));
}
END_TEST

/* Without its EVD an EP keeps its attributes, which cannot grow, and has no room. */
START_TEST(room_for_work_takes_an_evd)
{
	DAT_EP_PARAM param = other_values(),
		     evds = {.recv_evd_handle = here.recv_evd, .request_evd_handle = here.req_evd};
	uint32_t receives = ep->recv.limit, requests = ep->req.limit;

	param.recv_evd_handle = param.request_evd_handle = DAT_HANDLE_NULL;
	ck_assert_uint_eq(dofi_ep_modify(ep,
					 DAT_EP_FIELD_RECV_EVD_HANDLE |
						 DAT_EP_FIELD_REQUEST_EVD_HANDLE,
					 &param),
			  DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
			  DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param),
			  DOFI_BAD_ARG(3));
	ck_assert_uint_eq(ep->recv.limit + ep->req.limit, 0);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &evds), DAT_SUCCESS);
	ck_assert_uint_eq(ep->recv.limit, receives);
	ck_assert_uint_eq(ep->req.limit, 0);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &evds), DAT_SUCCESS);
	ck_assert_uint_eq(ep->req.limit, requests);
}
END_TEST

/* The rings of the new size are made before anything changes. */
START_TEST(an_ep_that_can_not_be_modified_stays_as_it_is)
{
	const DAT_EP_ATTR before = ep->attr;
	DAT_EP_PARAM param = other_values();

	allocations_left = _i;
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_ALL, &param),
			  DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	allocations_left = -1;
	ck_assert_mem_eq(&ep->attr, &before, sizeof(before));
	ck_assert_uint_eq(ep->recv.limit, (uint32_t)before.max_recv_dtos);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_ALL, &param), DAT_SUCCESS);
}
END_TEST

/* --- dat_ep_modify with posted receives --- */

/* Posts a receive of one byte, for memory of this PZ. */
static void post_recv(struct dofi_pz *pz)
{
	struct dofi_wr *wr = dofi_ring_at(&ep->recv, ep->recv.tail++);

	*wr = (struct dofi_wr){.ep = ep, .cookie = ep->recv.tail, .niov = 1, .recv.pz = pz};
	wr->iov[0].iov_len = ep->recv.tail;
}

START_TEST(posted_receives_stay_posted)
{
	DAT_EP_PARAM param = other_values();

	for (int i = 0; i < 3; i++)
		post_recv(ep->pz);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
			  DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ring_count(&ep->recv), 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct dofi_wr *wr = dofi_ring_at(&ep->recv, ep->recv.head + i);

		ck_assert_uint_eq(wr->cookie, i + 1);
		ck_assert_uint_eq(wr->iov[0].iov_len, i + 1);
		ck_assert_uint_eq(wr->status, DAT_DTO_SUCCESS);
	}
	post_recv(ep->pz);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
			  DOFI_BAD_STATE(EP_UNCONNECTED));
	ck_assert_uint_eq(dofi_ring_count(&ep->recv), 4);
}
END_TEST

START_TEST(posted_receives_keep_an_evd)
{
	DAT_EP_PARAM param = {.recv_evd_handle = DAT_HANDLE_NULL};

	post_recv(ep->pz);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param),
			  DOFI_BAD_STATE(EP_UNCONNECTED));
	ck_assert_ptr_eq(ep->recv_evd, here.recv_evd);
	param.recv_evd_handle = here.req_evd;
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ring_count(&ep->recv), 1);
}
END_TEST

/* They may use all segments, and how they notify is decided. */
START_TEST(posted_receives_keep_their_form)
{
	DAT_EP_PARAM param = other_values();
	DAT_COUNT iov = ep->attr.max_recv_iov;

	post_recv(ep->pz);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param),
			  DOFI_BAD_STATE(EP_UNCONNECTED));
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param),
			  DAT_SUCCESS);
	ck_assert_int_eq(ep->attr.max_recv_iov, iov);
}
END_TEST

/* A receive for memory of another PZ fails when its message comes, unless that PZ returns. */
START_TEST(a_receive_of_another_pz_fails)
{
	DAT_EP_PARAM param = {.pz_handle = t_ep_ia_pz(here.ia)};
	DAT_PZ_HANDLE other = param.pz_handle;

	post_recv(ep->pz);
	post_recv(ep->pz);
	dofi_ring_at(&ep->recv, 1)->niov = 0; /* uses no memory */
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ring_at(&ep->recv, 0)->status, DAT_DTO_ERR_LOCAL_PROTECTION);
	ck_assert_uint_eq(dofi_ring_at(&ep->recv, 1)->status, DAT_DTO_SUCCESS);
	param.pz_handle = here.pz;
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ring_at(&ep->recv, 0)->status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(dofi_pz_free(other), DAT_SUCCESS);
}
END_TEST

/* The fabric may have receives of a UD EP as long as it has requests. */
START_TEST(a_ud_ep_with_requests_is_not_modified)
{
	static struct dofi_ud ud;
	DAT_EP_PARAM param = other_values();

	ep->req.tail++;
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, &param),
			  DAT_SUCCESS);
	ep->ud = &ud;
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, &param),
			  DOFI_BAD_STATE(EP_COMPLPENDING));
	ep->ud = NULL;
}
END_TEST

/* --- small calls --- */

START_TEST(the_status_tells_which_queue_is_idle)
{
	DAT_BOOLEAN recv_idle, req_idle;
	DAT_COUNT allocated, span;
	DAT_EP_STATE state;

	ep->recv.tail += _i & 1 ? 2 : 0;
	ep->req.tail += _i & 2 ? 1 : 0;
	ep->state = DAT_EP_STATE_RESERVED;
	ck_assert_uint_eq(dofi_ep_get_status(ep, &state, &recv_idle, &req_idle), DAT_SUCCESS);
	ck_assert_int_eq(state, DAT_EP_STATE_RESERVED);
	ck_assert_int_eq(recv_idle, _i & 1 ? DAT_FALSE : DAT_TRUE);
	ck_assert_int_eq(req_idle, _i & 2 ? DAT_FALSE : DAT_TRUE);
	ck_assert_uint_eq(dofi_ep_get_status(ep, NULL, NULL, NULL), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ep_get_status(here.pz, &state, NULL, NULL), DOFI_BAD_HANDLE(EP));
	ck_assert_uint_eq(dofi_ep_recv_query(ep, &allocated, &span), DAT_SUCCESS);
	ck_assert_int_eq(allocated, _i & 1 ? 2 : 0);
	ck_assert_int_eq(span, _i & 1 ? 2 : 0);
	ck_assert_uint_eq(dofi_ep_recv_query(ep, NULL, NULL), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ep_recv_query(here.pz, &allocated, &span), DOFI_BAD_HANDLE(EP));
}
END_TEST

static void free_it(void)
{
	ck_assert_uint_eq(dofi_ep_free(ep), DAT_SUCCESS);
}

static DAT_RETURN look(int way)
{
	DAT_COUNT allocated;
	DAT_EP_STATE state;
	DAT_EP_PARAM param;

	if (!way)
		return dofi_ep_query(ep, DAT_EP_FIELD_ALL, &param);
	return way == 1 ? dofi_ep_get_status(ep, &state, NULL, NULL)
			: dofi_ep_recv_query(ep, &allocated, NULL);
}

/* They tell what has completed. An agent that runs meanwhile may free the EP. */
START_TEST(calls_that_look_read_completions_first)
{
	ck_assert_uint_eq(look(_i), DAT_SUCCESS);
	ck_assert_int_eq(polls, 1);
	meanwhile = free_it;
	ck_assert_uint_eq(look(_i), DOFI_BAD_HANDLE(EP));
	ck_assert_int_eq(polls, 2);
	dofi_assert_none_held();
	ep = NULL;
}
END_TEST

/* Agents that became due are called then. */
START_TEST(calls_that_change_an_ep_leave_the_engine)
{
	const DAT_EP_PARAM param = {.pz_handle = here.pz};

	ck_assert_uint_eq(dofi_ep_reset(ep), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
	ck_assert_int_eq(begins, 2);
	ck_assert_int_eq(ends, 2);
	free_it();
	ck_assert_int_eq(begins, 3);
	ck_assert_int_eq(ends, 3);
	ep = NULL;
}
END_TEST

static int reaps;

static int reap_nothing(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	reaps++;
	return 0;
}

START_TEST(watermarks_are_within_the_queue)
{
	DAT_COUNT most = ep->attr.max_recv_dtos;

	here.ia->engine.reap = reap_nothing;
	ck_assert_uint_eq(dofi_ep_set_watermark(ep, -2, 1), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_ep_set_watermark(ep, most + 1, 1), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_ep_set_watermark(ep, 1, -2), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_ep_set_watermark(ep, 1, most + 1), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_ep_set_watermark(here.pz, 1, 1), DOFI_BAD_HANDLE(EP));
	ck_assert(!ep->marked);
	ck_assert_uint_eq(here.ia->wait.watchers, 0);
	reaps = 0;
	ck_assert_uint_eq(dofi_ep_set_watermark(ep, 0, most), DAT_SUCCESS);
	ck_assert_int_eq(reaps, 1); /* messages that have come do not count */
	ck_assert(ep->marked);
	ck_assert_uint_eq(ep->soft_mark, 0);
	ck_assert_uint_eq(ep->hard_mark, (uint32_t)most);
	ck_assert_int_eq(ep->attr.srq_soft_hw, 0);
	ck_assert_uint_eq(dofi_ep_set_watermark(ep, most, 0), DAT_SUCCESS);
	ck_assert_uint_eq(ep->soft_mark, (uint32_t)most);
	ck_assert_uint_eq(ep->hard_mark, 0);
	ck_assert_uint_eq(here.ia->wait.watchers, 1); /* once for the EP */
	ck_assert_uint_eq(dofi_ep_set_watermark(ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE),
			  DAT_SUCCESS);
	ck_assert_uint_eq(ep->soft_mark, UINT32_MAX);
	ck_assert_uint_eq(ep->hard_mark, UINT32_MAX);
}
END_TEST

/* Receives that the EP has already count, too. */
START_TEST(a_watermark_that_is_exceeded_is_told_at_once)
{
	struct dofi_evd *async = here.ia->async_evd;
	const struct dofi_event *event;

	here.ia->engine.reap = reap_nothing;
	ep->recv.tail += 2;
	ck_assert_uint_eq(dofi_ep_set_watermark(ep, 2, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_evd_queued(async), 0);
	ck_assert_uint_eq(dofi_ep_set_watermark(ep, 1, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_evd_queued(async), 1);
	event = dofi_evd_slot(async, async->head);
	ck_assert_ptr_eq(event->handle, ep);
	ck_assert_uint_eq(event->reason, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}
END_TEST

/* --- reset and free --- */

START_TEST(an_ep_that_was_disconnected_can_be_reset)
{
	DAT_EP_STATE state = t_ep_states[_i];
	bool ended = state == DAT_EP_STATE_DISCONNECTED;
	bool ok = ended || state == DAT_EP_STATE_UNCONNECTED;

	ep->state = state;
	ep->remote_qual = ep->local_qual = 7;
	ep->dialled = true;
	ck_assert_uint_eq(dofi_ep_reset(ep), ok ? DAT_SUCCESS : dofi_ep_bad_state(state));
	ck_assert_int_eq(ep->state, ok ? DAT_EP_STATE_UNCONNECTED : state);
	ck_assert_int_eq(ep->dialled, !ended);
	ck_assert_uint_eq(ep->remote_qual, ended ? 0 : 7);
	ck_assert_uint_eq(ep->local_qual, ended ? 0 : 7);
	ck_assert_uint_eq(dofi_ep_reset(here.pz), DOFI_BAD_HANDLE(EP));
}
END_TEST

/* A service point or a request has the EP meanwhile. */
START_TEST(an_ep_that_somebody_else_has_is_not_freed)
{
	DAT_EP_STATE state = t_ep_states[_i];
	bool taken = state == DAT_EP_STATE_RESERVED ||
		     state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
		     state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;

	ep->state = state;
	ck_assert_uint_eq(dofi_ep_free(ep), taken ? dofi_ep_bad_state(state) : DAT_SUCCESS);
	if (taken)
		return;
	ck_assert_uint_eq(dofi_ep_free(ep), DOFI_BAD_HANDLE(EP));
	ep = NULL;
}
END_TEST

START_TEST(another_thread_may_free_first)
{
	meanwhile = free_it;
	ck_assert_uint_eq(dofi_ep_free(ep), DOFI_BAD_HANDLE(EP));
	ck_assert_uint_eq(here.ia->counts[DAT_HANDLE_TYPE_EP], 0);
	ep = NULL;
}
END_TEST

/* --- an EP with an SRQ --- */

/* Its receives are those of the SRQ, so only the watermark changes with its attributes. */
static void expect_srq_ep(struct dofi_ep *with, struct dofi_srq *srq)
{
	DAT_EP_PARAM param = other_values(), now;

	ck_assert_uint_eq(dofi_ep_query(with, DAT_EP_FIELD_ALL, &now), DAT_SUCCESS);
	ck_assert_ptr_eq(now.srq_handle, srq);
	with->soft_mark = 4; /* told already */
	ck_assert_uint_eq(dofi_ep_modify(with, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, &param),
			  DAT_SUCCESS);
	ck_assert_uint_eq(with->soft_mark, 4);
	ck_assert_uint_eq(dofi_ep_modify(with, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param),
			  DAT_SUCCESS);
	ck_assert_uint_eq(with->soft_mark, 9);
}

START_TEST(an_ep_with_an_srq_checks_its_arguments)
{
	struct dofi_srq *srq = dofi_obj_alloc(here.ia, NULL, DAT_HANDLE_TYPE_SRQ, sizeof(*srq));
	struct dofi_srq *other = dofi_obj_alloc(there.ia, NULL, DAT_HANDLE_TYPE_SRQ, sizeof(*srq));
	DAT_EP_ATTR attr = ep->attr;
	DAT_EP_HANDLE with = NULL;

#define CREATE(of, queue, attr_p, ep_p)                                                         \
	dofi_ep_create_with_srq(of, here.pz, here.recv_evd, here.req_evd, here.conn_evd, queue, \
				attr_p, ep_p)
	ck_assert_ptr_nonnull(srq);
	ck_assert_ptr_nonnull(other);
	dofi_obj_publish(&srq->obj, DAT_HANDLE_TYPE_SRQ);
	dofi_obj_publish(&other->obj, DAT_HANDLE_TYPE_SRQ);
	ck_assert_uint_eq(CREATE(here.pz, srq, &attr, &with), DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(CREATE(here.ia, ep, &attr, &with), DOFI_BAD_HANDLE(SRQ));
	ck_assert_uint_eq(CREATE(here.ia, other, &attr, &with), DOFI_BAD_HANDLE(SRQ));
	ck_assert_uint_eq(CREATE(here.ia, srq, NULL, &with), DOFI_BAD_ARG(7));
	ck_assert_uint_eq(CREATE(here.ia, srq, &attr, NULL),
			  DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8));
	attr.max_recv_iov = 5;
	ck_assert_uint_eq(CREATE(here.ia, srq, &attr, &with), DOFI_BAD_ARG(7));
	attr = ep->attr;
	here.ia->limits.max_srqs = 0;
	ck_assert_uint_eq(CREATE(here.ia, srq, &attr, &with), DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	here.ia->limits.max_srqs = 4;
	ck_assert_ptr_null(with);
	ck_assert_uint_eq(CREATE(here.ia, srq, &attr, &with), DAT_SUCCESS);
	ck_assert_ptr_eq(((struct dofi_ep *)with)->srq, srq);
	ck_assert_int_eq(srq->obj.users, 1);
	expect_srq_ep(with, srq);
	ck_assert_uint_eq(dofi_ep_free(with), DAT_SUCCESS);
	ck_assert_int_eq(srq->obj.users, 0);
	ck_assert(dofi_obj_retire(&srq->obj, true) && dofi_obj_retire(&other->obj, true));
	dofi_obj_free(&srq->obj, DAT_HANDLE_TYPE_SRQ);
	dofi_obj_free(&other->obj, DAT_HANDLE_TYPE_SRQ);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ep");
	TCase *tcase = tcase_create("ep");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, an_ep_takes_objects_of_the_right_type, 0, ROLES);
	tcase_add_test(tcase, an_ep_takes_objects_of_its_ia);
	tcase_add_test(tcase, creation_checks_its_arguments);
	tcase_add_test(tcase, a_query_tells_what_the_ep_is);
	tcase_add_test(tcase, a_query_checks_its_arguments);
	tcase_add_loop_test(tcase, each_attribute_is_modified_alone, 0, NFIELDS);
	tcase_add_test(tcase, a_modified_ep_has_queues_of_the_new_size);
	tcase_add_test(tcase, a_modified_ep_uses_the_new_objects);
	tcase_add_test(tcase, an_EVD_that_stays_is_always_in_use);
	tcase_add_test(tcase, an_evd_follows_the_completion_flags);
	tcase_add_loop_test(tcase, the_state_decides_what_can_be_modified, 0, T_EP_STATES);
	tcase_add_loop_test(tcase, a_mask_without_a_field_changes_nothing, 0, T_EP_STATES);
	tcase_add_test(tcase, some_fields_are_never_modified);
	tcase_add_test(tcase, room_for_work_takes_an_evd);
	tcase_add_loop_test(tcase, an_ep_that_can_not_be_modified_stays_as_it_is, 0, 2);
	tcase_add_test(tcase, posted_receives_stay_posted);
	tcase_add_test(tcase, posted_receives_keep_an_evd);
	tcase_add_test(tcase, posted_receives_keep_their_form);
	tcase_add_test(tcase, a_receive_of_another_pz_fails);
	tcase_add_test(tcase, a_ud_ep_with_requests_is_not_modified);
	tcase_add_loop_test(tcase, the_status_tells_which_queue_is_idle, 0, 4);
	tcase_add_loop_test(tcase, calls_that_look_read_completions_first, 0, 3);
	tcase_add_test(tcase, calls_that_change_an_ep_leave_the_engine);
	tcase_add_test(tcase, watermarks_are_within_the_queue);
	tcase_add_test(tcase, a_watermark_that_is_exceeded_is_told_at_once);
	tcase_add_loop_test(tcase, an_ep_that_was_disconnected_can_be_reset, 0, T_EP_STATES);
	tcase_add_loop_test(tcase, an_ep_that_somebody_else_has_is_not_freed, 0, T_EP_STATES);
	tcase_add_test(tcase, another_thread_may_free_first);
	tcase_add_test(tcase, an_ep_with_an_srq_checks_its_arguments);
	return t_run(suite);
}
