/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The msg transport (msg.c, msg_path.c): when endpoints are opened, and that each is closed. */
#include "unit.h"

#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/wire.h"
#include "../../../prov/ofi/fabric/eqs.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "../../../prov/ofi/cm/upcalls.h"
#include "../../../prov/ofi/cm/conn_state.h"
#include "../../../prov/ofi/dto/reap.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/dto/credit.h"
#include "progress/work.h"

#include <endian.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <string.h>

static const uint8_t token[DOFI_TOKEN_SIZE] = {0, 0, 0, 7, [DOFI_TOKEN_SIZE - 1] = 9};
#define QUEUE    1000u
#define REQUESTS 20u
#define RECEIVES 30u
#define NUMBER   12u /* of the connection */

static struct dofi_ia ia;
static struct dofi_chan chan;
static struct dofi_ep ep;
static struct dofi_conn conn;
static const struct dofi_trans_ops *trans = &dofi_trans_msg;

/* --- a fabric that counts --- */

static struct fi_ep_attr ep_attr;
static struct fi_tx_attr tx_attr;
static struct fi_rx_attr rx_attr;
static struct fi_fabric_attr fabric_attr;
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.ep_attr = &ep_attr,
			      .tx_attr = &tx_attr,
			      .rx_attr = &rx_attr,
			      .fabric_attr = &fabric_attr,
			      .domain_attr = &domain_attr};
static struct fi_info next_info; /* of another fabric */
static struct fid_domain domain;
static struct fid_cq cq;
static struct fid_eq eq;
static struct fid_pep pep;
static struct fid_ep endpoint;
static struct fi_ops fid_ops;
static struct fi_ops_domain domain_ops;
static struct fi_ops_cm cm_ops;
static struct fi_ops_eq eq_ops;
static struct fi_ops_cq cq_ops;
static int proceeds, made, closed, shut, enabled, connected, rejected, accepted, paths;
static int make_err, enable_err, connect_errs, accept_err, binds;
static int refused_bind;        /* number of the bind that fails */
static struct fi_info *request; /* in the event queue */
static size_t request_data = sizeof(token);
static ssize_t queue_says = -FI_EAGAIN;

void __wrap_dofi_conn_path_made(struct dofi_conn *of);
void __wrap_dofi_conn_proceeds(struct dofi_conn *of);
void __wrap_dofi_conn_end(struct dofi_conn *of, uint32_t event, enum dofi_reason tell_peer);
struct dofi_conn *__wrap_dofi_conn_by_token(struct dofi_ia *of, const uint8_t *theirs);

void __wrap_dofi_conn_path_made(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of->fep, &endpoint);
	paths++;
}

void __wrap_dofi_conn_proceeds(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	proceeds++;
}

void __wrap_dofi_conn_end(struct dofi_conn *of, uint32_t event, enum dofi_reason tell_peer)
{
	ck_assert_int_eq(tell_peer, DOFI_REASON_ERROR);
	ck_assert_uint_eq(event, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	of->state = DOFI_CONN_ENDING;
}

struct dofi_conn *__wrap_dofi_conn_by_token(struct dofi_ia *of, const uint8_t *theirs)
{
	(void)of;
	return memcmp(theirs, token, sizeof(token)) ? NULL : &conn;
}

static int fid_close(struct fid *fid)
{
	ck_assert_ptr_eq(fid, &endpoint.fid);
	closed++;
	return 0;
}

/* Of what the fabric allocated for the requests of peers. */
static unsigned int freed_infos, kicks;

void __wrap_fi_freeinfo(struct fi_info *of);
void __real_fi_freeinfo(struct fi_info *of);
void __wrap_dofi_wait_kick(struct dofi_ia *of);

void __wrap_fi_freeinfo(struct fi_info *of)
{
	ck_assert_ptr_eq(of, request);
	freed_infos++;
	__real_fi_freeinfo(of);
}

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	kicks++;
}

static struct fid_ep shared_queue;
static int bound_queues;
static size_t receive_contexts;   /* of the endpoint */
static size_t asked_tx, asked_rx; /* lengths of its queues */
static in_port_t asked_port;

static int fid_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
	ck_assert_ptr_eq(fid, &endpoint.fid);
	ck_assert(to == &eq.fid || to == &cq.fid || to == &shared_queue.fid);
	ck_assert_uint_eq(flags, to == &cq.fid ? FI_TRANSMIT | FI_RECV : 0);
	bound_queues += to == &shared_queue.fid;
	return ++binds == refused_bind ? -FI_EINVAL : 0;
}

static int fid_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)arg;
	ck_assert_int_eq(command, FI_ENABLE);
	enabled += !enable_err;
	return enable_err;
}

static int make(struct fid_domain *of, struct fi_info *like, struct fid_ep **fep, void *context)
{
	ck_assert_ptr_eq(of, &domain);
	/* an event may come when the connection is freed, so this is no address */
	ck_assert_ptr_eq(context, (void *)(uintptr_t)conn.id);
	asked_tx = like->tx_attr->size;
	asked_rx = like->rx_attr->size;
	asked_port = like->src_addr ? ((const struct sockaddr_in *)like->src_addr)->sin_port : 0;
	if (!request) {
		ck_assert_uint_eq(like->dest_addrlen, chan.peer.fabric_name_size);
		ck_assert_mem_eq(like->dest_addr, chan.peer.fabric_name, like->dest_addrlen);
		ck_assert_ptr_null(like->next); /* one address, and no other fabric */
	}
	if (make_err)
		return make_err;
	made++;
	receive_contexts = like->ep_attr->rx_ctx_cnt;
	*fep = &endpoint;
	return 0;
}

static int connect_it(struct fid_ep *fep, const void *addr, const void *param, size_t size)
{

	ck_assert_ptr_eq(fep, &endpoint);
	ck_assert_ptr_eq(addr, chan.peer.fabric_name);
	ck_assert_uint_eq(size, sizeof(token));
	ck_assert_mem_eq(param, token, sizeof(token));
	if (connect_errs) {
		connect_errs--;
		return -FI_EADDRINUSE;
	}
	connected++;
	return 0;
}

static int accept_it(struct fid_ep *fep, const void *param, size_t size)
{
	ck_assert_ptr_eq(fep, &endpoint);
	ck_assert_ptr_null(param);
	ck_assert_uint_eq(size, 0);
	accepted += !accept_err;
	return accept_err;
}

static int reject_it(struct fid_pep *of, fid_t handle, const void *param, size_t size)
{
	ck_assert_ptr_eq(handle, request->handle);
	ck_assert_uint_eq(freed_infos, 0); /* it names the request */
	ck_assert_ptr_null(param);
	ck_assert_uint_eq(size, 0);
	ck_assert_ptr_eq(of, &pep);
	rejected++;
	return 0;
}

static int shutdown_it(struct fid_ep *fep, uint64_t flags)
{
	ck_assert_ptr_eq(fep, &endpoint);
	ck_assert_uint_eq(flags, 0);
	ck_assert_int_eq(closed, made - 1); /* before it is closed */
	shut++;
	return 0;
}

static unsigned int reads[2];    /* of the completion queue, before and after the close */
static struct dofi_wr *returned; /* the operation that a read returns, or NULL */

static ssize_t no_completion(struct fid_cq *of, void *buf, size_t count)
{
	ck_assert_ptr_eq(of, &cq);
	(void)buf;
	(void)count;
	reads[closed == made]++;
	if (returned)
		returned->state = DOFI_WR_BACK;
	return -FI_EAGAIN;
}

static ssize_t read_request(struct fid_eq *of, uint32_t *event, void *buf, size_t size,
			    uint64_t flags)
{
	struct fi_eq_cm_entry entry = {.info = request};

	(void)of;
	(void)flags;
	if (!request || accepted || rejected || dofi_conn_is_ending(&conn))
		return queue_says;
	ck_assert_uint_ge(size, sizeof(entry) + sizeof(token));
	*event = FI_CONNREQ;
	memcpy(buf, &entry, sizeof(entry));
	memcpy((char *)buf + sizeof(entry), token, sizeof(token));
	return (ssize_t)(sizeof(entry) + request_data);
}

static void setup(void)
{
	fid_ops = (struct fi_ops){.size = sizeof(fid_ops),
				  .close = fid_close,
				  .bind = fid_bind,
				  .control = fid_control};
	domain_ops.endpoint = make;
	cm_ops = (struct fi_ops_cm){.size = sizeof(cm_ops),
				    .connect = connect_it,
				    .accept = accept_it,
				    .reject = reject_it,
				    .shutdown = shutdown_it};
	eq_ops.read = read_request;
	cq_ops.read = no_completion;
	domain.ops = &domain_ops;
	endpoint = (struct fid_ep){.fid.ops = &fid_ops, .cm = &cm_ops};
	pep.cm = &cm_ops;
	eq.ops = &eq_ops;
	cq.ops = &cq_ops;
	ia.quirks = DOFI_QUIRK_QUEUE_PAIRS;
	tx_attr.size = rx_attr.size = 384;
	strcpy(ia.name, "test");
	ia.domain = &domain;
	ia.trans = trans;
	ia.up = &dofi_cm_upcalls;
	ia.engine.reap = dofi_reap;
	ia.info = &info;
	info.next = &next_info;
	ia.pep = &pep;
	ia.eqs = (struct dofi_eqs){.ia_name = ia.name, .list = {&eq}, .n = 1, .fd = -1};
	ia.cq = ia.cqs.list[0].fid = &cq;
	ia.cqs.list[0].size = QUEUE;
	ia.cqs.n = 1;
	ia.engine.has_fabric = true;
	dofi_lock_init(&ia.engine.lock);
	dofi_lock(&ia.engine.lock);
	dofi_work_init(&ia.engine);
	ep.obj.ia = &ia;
	ep.req.limit = REQUESTS;
	ep.recv.limit = RECEIVES;
	chan.ia = &ia;
	chan.peer.fabric_name_size = 16;
	memset(chan.peer.fabric_name, 7, 16);
	conn = (struct dofi_conn){.ia = &ia,
				  .ep = &ep,
				  .chan = &chan,
				  .id = NUMBER,
				  .active = true,
				  .peer_token = {0, 0, 0, 7, [DOFI_TOKEN_SIZE - 1] = 9},
				  .reserved_port = -1};
}

static void closed_ia_leaves_nothing(void)
{
	ck_assert_int_eq(closed, made);
	ck_assert_ptr_null(conn.fep);
	ck_assert_ptr_null(conn.spare);
	ck_assert_uint_eq(ia.cqs.list[0].used, 0);
	ck_assert_int_lt(conn.reserved_port, 0);
}

/* --- the active side --- */

START_TEST(an_endpoint_opened_while_the_peer_decided_is_used)
{
	trans->prepare(&conn);
	ck_assert_int_eq(made, 1);
	ck_assert_int_eq(enabled, 1);
	ck_assert_ptr_null(conn.fep); /* no post uses it yet */
	/* one request more is the library's own: a read of the peer's table */
	ck_assert_uint_eq(ia.cqs.list[0].used, REQUESTS + 1 + RECEIVES);
	ck_assert_int_eq(trans->connect(&conn), 0);
	ck_assert_int_eq(made, 1);
	ck_assert_int_eq(connected, 1);
	ck_assert_int_eq(paths, 1);
	ck_assert_ptr_null(conn.spare);
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
}
END_TEST

START_TEST(an_unused_endpoint_is_closed)
{
	trans->prepare(&conn);
	trans->disconnect(&conn);
	ck_assert_int_eq(made, 1);
	closed_ia_leaves_nothing();
}
END_TEST

START_TEST(a_failed_open_does_not_change_the_ia)
{
	trans->prepare(&conn);
	trans->disconnect(&conn);
	ck_assert_uint_eq(tx_attr.size, 384);
	ck_assert_uint_eq(rx_attr.size, 384);
	ck_assert_ptr_null(info.dest_addr);
}
END_TEST

START_TEST(a_failed_open_is_repeated_when_the_endpoint_is_needed)
{
	if (_i)
		make_err = -FI_ENOMEM;
	else
		enable_err = -FI_ENOMEM;
	trans->prepare(&conn);
	closed_ia_leaves_nothing();
	ck_assert_int_eq(trans->connect(&conn), -FI_ENOMEM);
	closed_ia_leaves_nothing();
	make_err = enable_err = 0;
	ck_assert_int_eq(trans->connect(&conn), 0);
	ck_assert_int_eq(connected, 1);
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
}
END_TEST

/* To the event queue, or to the completion queue. */
START_TEST(an_endpoint_that_can_not_be_bound_is_closed)
{
	refused_bind = 1 + _i;
	ck_assert_int_eq(trans->connect(&conn), -FI_EINVAL);
	ck_assert_int_eq(enabled, 0);
	ck_assert_int_eq(made, 1);
	closed_ia_leaves_nothing();
}
END_TEST

START_TEST(an_endpoint_with_a_shared_queue)
{
	struct dofi_srq srq = {.srx = &shared_queue};

	ck_assert_int_eq(trans->connect(&conn), 0);
	ck_assert_int_eq(bound_queues, 0);
	ck_assert_uint_eq(receive_contexts, 0);
	trans->disconnect(&conn);
	ep.srq = &srq;
	binds = 0;
	ck_assert_int_eq(trans->connect(&conn), 0);
	ck_assert_int_eq(bound_queues, 1);
	ck_assert_uint_eq(receive_contexts, FI_SHARED_CONTEXT);
	ck_assert_uint_eq(ep_attr.rx_ctx_cnt, 0); /* of the IA */
	trans->disconnect(&conn);
	for (refused_bind = 1; refused_bind <= 3; refused_bind++) {
		int enabled_before = enabled;

		binds = 0;
		ck_assert_int_eq(trans->connect(&conn), -FI_EINVAL);
		ck_assert_int_eq(enabled, enabled_before);
		closed_ia_leaves_nothing();
	}
	ep.srq = NULL;
}
END_TEST

/* The library's own requests: of a credit update, and parts. */
START_TEST(queues_have_room_for_requests_of_the_library)
{
	ia.credits = DOFI_CREDITS_WRITTEN;
	trans->prepare(&conn);
	ck_assert_uint_eq(ia.cqs.list[0].used, REQUESTS + 2 + RECEIVES);
	trans->disconnect(&conn);
	ep.parts = (struct dofi_ring){.base = (char *)&ep, .limit = 64};
	trans->prepare(&conn);
	ck_assert_uint_eq(ia.cqs.list[0].used, REQUESTS + 2 + 64 + RECEIVES);
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
	ep.parts.base = NULL;
}
END_TEST

/* An EP without receives, and a device whose queues are shorter than the EP's. */
START_TEST(queues_are_no_longer_than_the_device_s)
{
	ep.recv.limit = 0;
	ep.parts = (struct dofi_ring){.base = (char *)&ep, .limit = 64};
	trans->prepare(&conn);
	ck_assert_uint_ge(ia.cqs.list[0].used, REQUESTS + 64 + 1);
	ck_assert_uint_lt(ia.cqs.list[0].used, REQUESTS + 64 + 4);
	trans->disconnect(&conn);
	tx_attr.size = 4;
	rx_attr.size = 1;
	trans->prepare(&conn);
	ck_assert_uint_eq(ia.cqs.list[0].used, 5);
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
	ep.parts.base = NULL;
}
END_TEST

START_TEST(a_refused_connect_leaves_nothing)
{
	connect_errs = 1;
	trans->prepare(&conn);
	ck_assert_int_eq(trans->connect(&conn), -FI_EADDRINUSE);
	ck_assert_int_eq(paths, 0);
	closed_ia_leaves_nothing();
}
END_TEST

/* Endpoints over sockets are cheap and have no device queues. */
START_TEST(without_device_queues_no_endpoint_is_opened_early)
{
	ia.quirks = 0;
	trans->prepare(&conn);
	ck_assert_int_eq(made, 0);
	ck_assert_int_eq(trans->connect(&conn), 0);
	ck_assert_int_eq(made, 1);
	ck_assert_uint_eq(ia.cqs.list[0].used, 0);
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
}
END_TEST

/* The port is chosen for each attempt, and reserved only during the attempt. */
START_TEST(another_port_is_tried_if_one_is_in_use)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_storage longest = {0};

	ia.quirks = DOFI_QUIRK_QUEUE_PAIRS | DOFI_QUIRK_TCP_PORTS;
	info.src_addr = &here;
	info.src_addrlen = sizeof(here);
	connect_errs = 2;
	trans->prepare(&conn);
	ck_assert_int_eq(made, 0);
	ck_assert_int_eq(trans->connect(&conn), 0);
	ck_assert_int_eq(made, 3);
	ck_assert_int_eq(closed, 2);
	ck_assert_int_ge(conn.reserved_port, 0);
	ck_assert_uint_eq(here.sin_port, 0); /* the address of the IA */
	ck_assert_uint_ne(asked_port, 0);
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
	connect_errs = 1000;
	ck_assert_int_eq(trans->connect(&conn), -FI_EADDRINUSE);
	closed_ia_leaves_nothing();
	/* the longest address */
	connect_errs = 0;
	memcpy(&longest, &here, sizeof(here));
	info.src_addr = &longest;
	info.src_addrlen = sizeof(longest);
	ck_assert_int_eq(trans->connect(&conn), 0);
	ck_assert_int_ge(conn.reserved_port, 0);
	trans->disconnect(&conn);
	/* an address of a form that is not known is left to the fabric */
	info.src_addrlen = sizeof(struct sockaddr_storage) + 1;
	ck_assert_int_eq(trans->connect(&conn), 0);
	ck_assert_int_lt(conn.reserved_port, 0);
	trans->disconnect(&conn);
	info.src_addr = NULL;
	ck_assert_int_eq(trans->connect(&conn), 0);
	ck_assert_int_lt(conn.reserved_port, 0);
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
}
END_TEST

/* As long as the EP can have operations under way, and no longer than the fabric offers. */
START_TEST(the_lengths_of_the_queues_of_a_device)
{
	static const struct {
		uint64_t quirks;
		uint32_t receives, parts;
		enum dofi_credit_mode credits;
		size_t offered, tx, rx;
	} cases[] = {
		{DOFI_QUIRK_QUEUE_PAIRS, RECEIVES, 0, DOFI_CREDITS_NONE, 384, 21, 30},
		{DOFI_QUIRK_QUEUE_PAIRS, 0, 0, DOFI_CREDITS_CARRIED, 384, 21, 1},
		{DOFI_QUIRK_QUEUE_PAIRS, RECEIVES, 0, DOFI_CREDITS_WRITTEN, 384, 22, 30},
		{DOFI_QUIRK_QUEUE_PAIRS, RECEIVES, 7, DOFI_CREDITS_NONE, 384, 28, 30},
		{DOFI_QUIRK_QUEUE_PAIRS, RECEIVES, 0, DOFI_CREDITS_NONE, 10, 10, 10},
		{0, RECEIVES, 0, DOFI_CREDITS_NONE, 384, 384, 384},
	};

	ia.quirks = cases[_i].quirks;
	ia.credits = cases[_i].credits;
	ep.recv.limit = cases[_i].receives;
	ep.parts.limit = 7;
	ep.parts.base = cases[_i].parts ? (char *)&ep : NULL;
	tx_attr.size = rx_attr.size = cases[_i].offered;
	ck_assert_int_eq(trans->connect(&conn), 0);
	ck_assert_uint_eq(asked_tx, cases[_i].tx);
	ck_assert_uint_eq(asked_rx, cases[_i].rx);
	ck_assert_uint_eq(ia.cqs.list[0].used, cases[_i].quirks ? asked_tx + asked_rx : 0);
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
}
END_TEST

START_TEST(the_port_of_an_endpoint_that_is_not_made)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	ia.quirks = DOFI_QUIRK_QUEUE_PAIRS | DOFI_QUIRK_TCP_PORTS;
	info.src_addr = &here;
	info.src_addrlen = sizeof(here);
	make_err = -FI_ENOMEM;
	ck_assert_int_eq(trans->connect(&conn), -FI_ENOMEM);
	closed_ia_leaves_nothing();
}
END_TEST

/* --- the passive side --- */

/* Where no descriptor tells of requests, the driver has to look at intervals from now on. */
START_TEST(the_driver_hears_of_a_connection_that_is_expected)
{
	static const int fds[] = {-1, 0, 5};

	ia.eqs.fd = fds[_i];
	ck_assert_int_eq(trans->expect(&conn), 0);
	ck_assert_uint_eq(kicks, _i == 0);
	ck_assert_int_eq(made, 0);
}
END_TEST

static void request_comes(void)
{
	request = fi_allocinfo();
	ck_assert_ptr_nonnull(request);
	request->tx_attr->size = request->rx_attr->size = 384;
	request->handle = &pep.fid; /* any */
	conn.active = false;
	ck_assert_int_eq(trans->poll_events(&ia), 1);
	ck_assert_uint_eq(freed_infos, 1);
}

START_TEST(a_request_is_accepted)
{
	request_comes();
	ck_assert_int_eq(accepted, 1);
	ck_assert_int_eq(proceeds, 1);
	ck_assert_int_eq(paths, 1);
	ck_assert(!dofi_conn_is_ending(&conn));
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
}
END_TEST

/* If an endpoint exists already, closing it refuses the request. */
START_TEST(a_request_that_cannot_be_served_is_refused)
{
	if (_i)
		make_err = -FI_ENOMEM;
	else
		enable_err = -FI_ENOMEM;
	request_comes();
	ck_assert_int_eq(rejected, _i);
	ck_assert_int_eq(accepted, 0);
	ck_assert_int_eq(proceeds, 0);
	ck_assert(dofi_conn_is_ending(&conn));
	closed_ia_leaves_nothing();
}
END_TEST

START_TEST(a_request_that_has_gone_is_ignored)
{
	accept_err = -FI_ENOTCONN;
	request_comes();
	ck_assert_int_eq(proceeds, 0);
	ck_assert_int_eq(rejected, 0);
	ck_assert(dofi_conn_is_ending(&conn));
	trans->disconnect(&conn);
	closed_ia_leaves_nothing();
}
END_TEST

/* Its connection has a path already, or uses shared memory. */
START_TEST(a_second_request_is_refused)
{
	conn.fep = _i ? NULL : &endpoint;
	conn.over_memory = _i;
	request_comes();
	ck_assert_int_eq(rejected, 1);
	ck_assert_int_eq(made, 0);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 1);
	ck_assert(!dofi_conn_is_ending(&conn));
}
END_TEST

/* A stranger's request has no token. */
START_TEST(a_request_without_a_token_is_refused)
{
	request_data = _i ? sizeof(token) - 1 : 0;
	request_comes();
	ck_assert_int_eq(rejected, 1);
	ck_assert_int_eq(made, 0);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 1);
	closed_ia_leaves_nothing();
}
END_TEST

/* --- the passive endpoint --- */

static struct fi_ops pep_ops;
static struct fi_ops_fabric fabric_ops;
static struct fid_fabric fabric;
static int peps, steps, refused_step, step_err, in_use;

static int step(void)
{
	return ++steps == refused_step ? step_err : 0;
}

static int close_pep(struct fid *fid)
{
	ck_assert_ptr_eq(fid, &pep.fid);
	peps--;
	return 0;
}

static int bind_pep(struct fid *fid, struct fid *to, uint64_t flags)
{
	ck_assert_ptr_eq(fid, &pep.fid);
	ck_assert_ptr_eq(to, &eq.fid);
	ck_assert_uint_eq(flags, 0);
	return step();
}

static int listen_pep(struct fid_pep *of)
{
	ck_assert_ptr_eq(of, &pep);
	if (in_use) {
		in_use--;
		return -FI_EADDRINUSE;
	}
	return step();
}

static int name_pep(struct fid *fid, void *addr, size_t *size)
{
	ck_assert_ptr_eq(fid, &pep.fid);
	ck_assert_uint_eq(*size, 64);
	memset(addr, 3, 16);
	*size = 16;
	return step();
}

static int make_pep(struct fid_fabric *of, struct fi_info *like, struct fid_pep **pep_p,
		    void *context)
{
	ck_assert_ptr_eq(of, &fabric);
	ck_assert_ptr_eq(like, &info);
	ck_assert_ptr_eq(context, &ia);
	*pep_p = &pep;
	peps += refused_step != 1;
	return step();
}

static int open_transport(void)
{
	uint8_t name[64];
	size_t size = sizeof(name);

	pep_ops = (struct fi_ops){.size = sizeof(pep_ops), .close = close_pep, .bind = bind_pep};
	cm_ops.listen = listen_pep;
	cm_ops.getname = name_pep;
	fabric_ops.passive_ep = make_pep;
	fabric.ops = &fabric_ops;
	pep.fid.ops = &pep_ops;
	ia.fabric = &fabric;
	ia.pep = NULL;
	steps = 0;
	return trans->open(&ia, name, &size);
}

START_TEST(nothing_stays_of_an_open_that_fails)
{
	refused_step = 1 + _i;
	step_err = -FI_ENOMEM;
	ck_assert_int_eq(open_transport(), -FI_ENOMEM);
	ck_assert_int_eq(peps, 0);
	if (_i)
		ck_assert_ptr_null(ia.pep);
	refused_step = 0;
	ck_assert_int_eq(open_transport(), 0);
	ck_assert_int_eq(peps, 1);
	trans->close(&ia);
	ck_assert_int_eq(peps, 0);
	trans->close(&ia);
	ck_assert_int_eq(peps, 0);
}
END_TEST

/* librdmacm may choose a port that TCP has. */
START_TEST(a_port_in_use_is_tried_again)
{
	in_use = 3;
	ck_assert_int_eq(open_transport(), 0);
	ck_assert_int_eq(peps, 1);
	trans->close(&ia);
	in_use = 1000;
	ck_assert_int_eq(open_transport(), -FI_EADDRINUSE);
	ck_assert_int_gt(in_use, 900);
	ck_assert_int_eq(peps, 0);
}
END_TEST

/* --- failed completions --- */

static const char *const providers[] = {"tcp", "verbs"};

/* A device reports errors of no request, or of a request that libfabric made itself. */
START_TEST(an_error_of_no_operation)
{
	struct fi_cq_err_entry errs[] = {
		{.err = FI_EIO, .prov_errno = 10},
		{.err = FI_EIO, .prov_errno = 2, .flags = FI_RECV},
		{.err = FI_ECONNABORTED,
		 .flags = FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA,
		 .data = UINT64_MAX},
		{.err = FI_EIO, .flags = FI_RMA | FI_REMOTE_WRITE},
	};
	struct dofi_ep before = ep;

	fabric_attr.prov_name = (char *)(uintptr_t)providers[_i];
	for (size_t i = 0; i < sizeof(errs) / sizeof(errs[0]); i++)
		trans->failed(&ia, &errs[i]);
	ck_assert_mem_eq(&ep, &before, sizeof(ep));
}
END_TEST

/* --- sends --- */

static struct {
	int sends, messages;
	uint64_t flags;
} sent;

static ssize_t send_it(struct fid_ep *fep, const void *buf, size_t length, void *desc,
		       fi_addr_t dest, void *context)
{
	(void)fep, (void)buf, (void)length, (void)desc, (void)dest, (void)context;
	sent.sends++;
	return 0;
}

static ssize_t send_segments(struct fid_ep *fep, const struct iovec *iov, void **desc, size_t n,
			     fi_addr_t dest, void *context)
{
	return send_it(fep, iov, n, desc, dest, context);
}

static ssize_t send_message(struct fid_ep *fep, const struct fi_msg *msg, uint64_t flags)
{
	(void)fep, (void)msg;
	sent.messages++;
	sent.flags = flags;
	return 0;
}

static void send_with(DAT_COMPLETION_FLAGS flags)
{
	struct dofi_wr *wr = dofi_ring_at(&ep.req, 0);

	wr->kind = dofi_wr_plain(DOFI_OP_SEND, DOFI_WR_ISSUED);
	wr->flags = (uint8_t)flags;
	wr->ep = &ep;
	wr->length = 8;
	wr->iov[0] = (struct iovec){&sent, 8};
	ck_assert_int_eq(trans->send(&ep, wr), 0);
}

/* Where the device fences; behind no read there is nothing to wait for. */
START_TEST(the_barrier_flag_is_a_fence_behind_reads)
{
	struct fi_ops_msg ops = {.size = sizeof(ops),
				 .send = send_it,
				 .sendv = send_segments,
				 .sendmsg = send_message};

	endpoint.msg = &ops;
	ep.fep = &endpoint;
	ia.limits.fabric_iov = 4;
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.req, 4, 4), 0);
	dofi_lock(&ep.lock);
	send_with(DAT_COMPLETION_BARRIER_FENCE_FLAG);
	ck_assert_int_eq(sent.sends, 1);
	ep.reads = 1;
	send_with(0);
	ck_assert_int_eq(sent.sends, 2);
	send_with(DAT_COMPLETION_BARRIER_FENCE_FLAG);
	ck_assert_int_eq(sent.messages, 1);
	ck_assert(sent.flags & FI_FENCE);
	ck_assert(!(sent.flags & FI_REMOTE_CQ_DATA));
	dofi_unlock(&ep.lock);
	dofi_ring_fini(&ep.req);
}
END_TEST

/* --- events of endpoints --- */

static struct {
	uint32_t event; /* in the event queue; 0: an error */
	int err;
	struct fid *fid;
	int ups, downs, down_err;
	bool none; /* there is no such connection */
} happens;

struct dofi_conn *__wrap_dofi_conn_by_id(struct dofi_ia *of, uint32_t id);
void __wrap_dofi_conn_path_up(struct dofi_conn *of);
void __real_dofi_conn_path_down(struct dofi_conn *of, int err);
void __wrap_dofi_conn_path_down(struct dofi_conn *of, int err);

struct dofi_conn *__wrap_dofi_conn_by_id(struct dofi_ia *of, uint32_t id)
{
	ck_assert_ptr_eq(of, &ia);
	return id != NUMBER || happens.none ? NULL : &conn;
}

void __wrap_dofi_conn_path_up(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	happens.ups++;
}

void __wrap_dofi_conn_path_down(struct dofi_conn *of, int err)
{
	if (!happens.fid) {
		__real_dofi_conn_path_down(of, err);
		return;
	}
	ck_assert_ptr_eq(of, &conn);
	happens.downs++;
	happens.down_err = err;
}

static bool taken;

static ssize_t read_event(struct fid_eq *of, uint32_t *event, void *buf, size_t size,
			  uint64_t flags)
{
	struct fi_eq_cm_entry entry = {.fid = happens.fid};

	(void)of, (void)size, (void)flags;
	if (taken)
		return -FI_EAGAIN;
	taken = true;
	if (!happens.event)
		return -FI_EAVAIL;
	*event = happens.event;
	memcpy(buf, &entry, sizeof(entry));
	return sizeof(entry);
}

static ssize_t read_error_entry(struct fid_eq *of, struct fi_eq_err_entry *entry, uint64_t flags)
{
	(void)of, (void)flags;
	*entry = (struct fi_eq_err_entry){.fid = happens.fid, .err = happens.err};
	return sizeof(*entry);
}

static unsigned int events_read;

static ssize_t read_always(struct fid_eq *of, uint32_t *event, void *buf, size_t size,
			   uint64_t flags)
{
	struct fi_eq_cm_entry entry = {.fid = NULL};

	(void)of, (void)size, (void)flags;
	events_read++;
	*event = FI_SHUTDOWN;
	memcpy(buf, &entry, sizeof(entry));
	return sizeof(entry);
}

/* Other work has its turn, too. */
START_TEST(a_round_reads_a_limited_number_of_events)
{
	eq_ops.read = read_always;
	ck_assert_int_eq(trans->poll_events(&ia), 64);
	ck_assert_uint_eq(events_read, 64);
}
END_TEST

START_TEST(an_event_is_for_the_connection_of_its_endpoint)
{
	static const struct {
		uint32_t event;
		int err;
		bool none;
		enum { ITS_OWN, NEWER, ABSENT } endpoint;
		int ups, downs, down_err;
	} cases[] = {{FI_CONNECTED, 0, false, ITS_OWN, 1, 0, 0},
		     {FI_SHUTDOWN, 0, false, ITS_OWN, 0, 1, 0},
		     {0, FI_ECONNREFUSED, false, ITS_OWN, 0, 1, FI_ECONNREFUSED},
		     {0, 0, false, ITS_OWN, 0, 1, FI_EOTHER},
		     {FI_MR_COMPLETE, 0, false, ITS_OWN, 0, 0, 0},
		     /* late events of an endpoint that was closed */
		     {FI_CONNECTED, 0, true, ITS_OWN, 0, 0, 0},
		     {FI_SHUTDOWN, 0, false, NEWER, 0, 0, 0},
		     {FI_CONNECTED, 0, false, ABSENT, 0, 0, 0},
		     {0, FI_ECONNREFUSED, true, ITS_OWN, 0, 0, 0},
		     {0, FI_ECONNREFUSED, false, NEWER, 0, 0, 0}};
	struct fid_ep newer = endpoint, *const endpoints[] = {&endpoint, &newer, NULL};

	eq_ops.read = read_event;
	eq_ops.readerr = read_error_entry;
	endpoint.fid.context = (void *)(uintptr_t)NUMBER;
	happens.fid = &endpoint.fid;
	happens.event = cases[_i].event;
	happens.err = cases[_i].err;
	happens.none = cases[_i].none;
	conn.fep = endpoints[cases[_i].endpoint];
	conn.reserved_port = dup(STDERR_FILENO);
	trans->poll_events(&ia);
	/* a port is needed until the path is up */
	ck_assert_int_eq(conn.reserved_port < 0, cases[_i].ups);
	ck_assert_int_eq(happens.ups, cases[_i].ups);
	ck_assert_int_eq(happens.downs, cases[_i].downs);
	ck_assert_int_eq(happens.down_err, cases[_i].down_err);
}
END_TEST

/* librdmacm reports a time-out although the peer's READY has told that the path is up. */
START_TEST(a_path_that_the_peer_uses_is_not_down_after_a_timeout)
{
	static const struct {
		uint64_t quirks;
		int err;
		bool active;
		enum dofi_conn_state state;
		int downs;
	} cases[] = {{DOFI_QUIRK_QUEUE_PAIRS, FI_ETIMEDOUT, false, DOFI_CONN_ESTABLISHED, 0},
		     {DOFI_QUIRK_QUEUE_PAIRS, FI_ETIMEDOUT, false, DOFI_CONN_DRAINING, 0},
		     {DOFI_QUIRK_QUEUE_PAIRS, FI_ETIMEDOUT, false, DOFI_CONN_ACCEPTED, 1},
		     {DOFI_QUIRK_QUEUE_PAIRS, FI_ETIMEDOUT, true, DOFI_CONN_ESTABLISHED, 1},
		     {DOFI_QUIRK_QUEUE_PAIRS, FI_ECONNREFUSED, false, DOFI_CONN_ESTABLISHED, 1},
		     {0, FI_ETIMEDOUT, false, DOFI_CONN_ESTABLISHED, 1}};

	eq_ops.read = read_event;
	eq_ops.readerr = read_error_entry;
	endpoint.fid.context = (void *)(uintptr_t)NUMBER;
	happens.fid = &endpoint.fid;
	happens.err = cases[_i].err;
	ia.quirks = cases[_i].quirks;
	conn.fep = &endpoint;
	conn.active = cases[_i].active;
	conn.state = cases[_i].state;
	trans->poll_events(&ia);
	ck_assert_int_eq(happens.downs, cases[_i].downs);
}
END_TEST

/* --- messages without bytes, and those that the fabric does not take --- */

static struct {
	int sends, injects, receives, writes;
	uint64_t data;
	size_t length;
	void *desc;
	ssize_t answer;
} seen;

static ssize_t send_data(struct fid_ep *fep, const void *buf, size_t length, void *desc,
			 uint64_t data, fi_addr_t dest, void *context)
{
	(void)fep, (void)buf, (void)desc, (void)dest, (void)context;
	ck_assert_uint_eq(length, 0);
	seen.sends++;
	seen.data = data;
	return seen.answer;
}

static ssize_t inject_data(struct fid_ep *fep, const void *buf, size_t length, uint64_t data,
			   fi_addr_t dest)
{
	(void)fep, (void)buf, (void)dest;
	seen.injects++;
	seen.data = data;
	seen.length = length;
	return seen.answer;
}

static ssize_t inject_it(struct fid_ep *fep, const void *buf, size_t length, fi_addr_t dest)
{
	return inject_data(fep, buf, length, 0, dest);
}

static ssize_t receive_it(struct fid_ep *fep, void *buf, size_t length, void *desc, fi_addr_t from,
			  void *context)
{
	(void)fep, (void)from, (void)context;
	ck_assert_int_eq(buf != NULL, length != 0);
	seen.receives++;
	seen.length = length;
	seen.desc = desc;
	return 0;
}

ssize_t __wrap_dofi_rma_write_data(struct dofi_ep *of, struct dofi_wr *wr, uint64_t data);
ssize_t __wrap_dofi_rma_write_data(struct dofi_ep *of, struct dofi_wr *wr, uint64_t data)
{
	(void)of, (void)wr;
	seen.writes++;
	seen.data = data;
	return seen.answer;
}

static void open_ep(void)
{
	static struct fi_ops_msg ops = {.size = sizeof(ops),
					.senddata = send_data,
					.inject = inject_it,
					.injectdata = inject_data,
					.recv = receive_it};

	endpoint.msg = &ops;
	ep.fep = &endpoint;
	ep.peer.number = 5;
	ia.has_data = true;
	ia.inject_max = 64;
	ia.limits.fabric_iov = 4;
	domain_attr.cq_data_size = 8;
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.req, 4, 4), 0);
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.recv, 4, 4), 0);
	dofi_lock(&ep.lock);
}

static void close_ep(void)
{
	dofi_unlock(&ep.lock);
	dofi_ring_fini(&ep.req);
	dofi_ring_fini(&ep.recv);
}

START_TEST(a_message_without_bytes)
{
	struct dofi_wr *wr;

	open_ep();
	wr = dofi_ring_at(&ep.req, 0);
	wr->op = DOFI_OP_SEND;
	wr->state = DOFI_WR_ISSUED;
	wr->ep = &ep;
	/* a peer with an SRQ wants its number, which is in the completion data */
	ep.peer.wants_data = true;
	ep.req.issue = 1; /* another request is under way, so it is not injected */
	ck_assert_int_eq(trans->send(&ep, wr), 0);
	ck_assert_int_eq(seen.sends, 1);
	ck_assert_uint_eq(seen.data >> 32, 5);
	ck_assert_int_eq(trans->send_empty(&ep, wr), 0);
	ck_assert_int_eq(seen.injects, 1);
	ck_assert_uint_eq(seen.data >> 32, 5);
	ep.peer.wants_data = false;
	ck_assert_int_eq(trans->send_empty(&ep, wr), 0);
	ck_assert_uint_eq(seen.data, 0);
	close_ep();
}
END_TEST

/* A credit update that the fabric did not take is still due. */
START_TEST(an_update_that_is_not_taken_is_not_announced)
{
	struct dofi_wr *wr;

	open_ep();
	wr = dofi_ring_at(&ep.req, 0);
	wr->ep = &ep;
	ep.peer.wants_data = true;
	ep.recv.issue = ep.recv.tail = 3;
	ep.announced = 1;
	seen.answer = -FI_EAGAIN;
	ck_assert_int_eq(trans->send_empty(&ep, wr), -FI_EAGAIN);
	ck_assert_uint_eq(ep.announced, 1);
	seen.answer = 0;
	ck_assert_int_eq(trans->send_empty(&ep, wr), 0);
	ck_assert_uint_eq(ep.announced, 3);
	close_ep();
}
END_TEST

/* Where descriptors are needed, the library has none for a byte of its own. */
START_TEST(a_receive_without_segments)
{
	struct dofi_wr *wr;

	open_ep();
	wr = dofi_ring_at(&ep.recv, 0);
	wr->op = DOFI_OP_RECV;
	domain_attr.mr_mode = _i ? FI_MR_LOCAL : 0;
	ck_assert_int_eq(trans->recv(&ep, wr), 0);
	ck_assert_int_eq(seen.receives, 1);
	ck_assert_uint_eq(seen.length, _i ? 0 : 1);
	ck_assert_ptr_null(seen.desc);
	domain_attr.mr_mode = 0;
	close_ep();
}
END_TEST

/* For an SRQ the completion data have to name the connection, so the value is lost. */
START_TEST(immediate_data_for_an_srq_name_the_connection)
{
	struct dofi_wr *wr;

	open_ep();
	wr = dofi_ring_at(&ep.req, 0);
	ck_assert_int_eq(trans->write_immediate(&ep, wr, 99), 0);
	ck_assert_uint_eq(seen.data, 99);
	ep.peer.wants_data = true;
	ck_assert_int_eq(trans->write_immediate(&ep, wr, 99), 0);
	ck_assert_uint_eq(seen.data, (uint64_t)5 << 32);
	domain_attr.cq_data_size = 4;
	ck_assert_int_eq(trans->write_immediate(&ep, wr, 99), 0);
	ck_assert_uint_eq(seen.data, 10);
	/* and they have room for the flag of a solicited event */
	wr->flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	ep.peer.wants_solicited = ia.has_data = true;
	ck_assert_int_eq(trans->write_immediate(&ep, wr, 99), 0);
	ck_assert_uint_eq(seen.data, 11);
	close_ep();
}
END_TEST

/* --- completions --- */

static struct {
	struct dofi_wr *wr;
	uint64_t length, record;
	uint32_t number, update;
	int done, records;
} reaped;

void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update);
void __wrap_dofi_ctrl_arrived(struct dofi_ia *of, uint64_t data);

void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update)
{
	ck_assert_int_eq(err, 0);
	reaped.wr = wr;
	reaped.length = length;
	reaped.number = number;
	reaped.update = update;
	reaped.done++;
}

void __wrap_dofi_ctrl_arrived(struct dofi_ia *of, uint64_t data)
{
	(void)of;
	reaped.record = data;
	reaped.records++;
}

START_TEST(completion_data_of_the_peer)
{
	struct dofi_wr receive = {.op = DOFI_OP_RECV, .ep = &ep};
	struct fi_cq_data_entry entry = {.op_context = &receive, .len = 5};

	/* of a message: the number of the connection, and the update */
	domain_attr.cq_data_size = 8;
	entry.flags = FI_RECV | FI_REMOTE_CQ_DATA;
	entry.data = (uint64_t)7 << 32 | 3;
	trans->completed(&ia, &entry, 1);
	ck_assert_uint_eq(reaped.number, 7);
	ck_assert_uint_eq(reaped.update, 3);
	/* where they are short, the number and the flag of a solicited event */
	domain_attr.cq_data_size = 4;
	entry.data = 7 << 1 | 1;
	trans->completed(&ia, &entry, 1);
	ck_assert_uint_eq(reaped.number, 7);
	ck_assert_uint_eq(reaped.update, DOFI_UPDATE_SOLICITED);
	/* of a write that takes a receive: immediate data */
	entry.flags = FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	entry.data = 99;
	trans->completed(&ia, &entry, 1);
	ck_assert_int_eq(reaped.done, 3);
	ck_assert_uint_eq(reaped.length, 5);
	ck_assert_uint_eq(reaped.number, 0);                     /* the data are the program's */
	ck_assert_uint_eq(reaped.update, DOFI_UPDATE_SOLICITED); /* the flag is not known */
	ck_assert_int_eq(ep.ctrl.kind, DOFI_CTRL_IMMEDIATE);
	ck_assert_uint_eq(ep.ctrl.value, 99);
	ck_assert_uint_eq(ep.ctrl.length, 5);
	/* of a write that takes none: a control record */
	entry.op_context = NULL;
	trans->completed(&ia, &entry, 1);
	ck_assert_int_eq(reaped.records, 1);
	ck_assert_uint_eq(reaped.record, 99);
	/* a completion of the fabric's own */
	entry.flags = FI_SEND;
	trans->completed(&ia, &entry, 1);
	ck_assert_int_eq(reaped.done + reaped.records, 4);
}
END_TEST

/* --- the event queue fails --- */

static int lines(const char *text)
{
	int n = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

START_TEST(a_permanent_failure_of_the_queue_is_logged_once)
{
	int fd = t_capture(STDERR_FILENO);
	const char *said;

	queue_says = -FI_ENODEV;
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(trans->poll_events(&ia), 0);
	queue_says = -FI_EAGAIN;
	trans->poll_events(&ia);
	queue_says = -FI_EADDRINUSE; /* another one */
	trans->poll_events(&ia);
	said = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(said, fi_strerror(FI_ENODEV)));
	ck_assert_ptr_nonnull(strstr(said, fi_strerror(FI_EADDRINUSE)));
	ck_assert_int_eq(lines(said), 2);
}
END_TEST

/* --- the end --- */

enum left { NOTHING, A_REQUEST, A_RECEIVE, A_READ_OF_THE_LIBRARY, MESSAGES_TO_AN_SRQ };

static struct dofi_wr *issue(struct dofi_ring *ring, uint8_t op)
{
	struct dofi_wr *wr;

	ck_assert_int_eq(dofi_ring_init(&ia, ring, 4, 4), 0);
	wr = dofi_ring_at(ring, ring->tail++);
	ring->issue = ring->tail;
	wr->op = op;
	wr->state = DOFI_WR_ISSUED;
	return wr;
}

/*
 * Ends a connection while the fabric has this operation of the EP. Returns the operation, which a
 * read of the queue may return.
 */
static struct dofi_wr *end_with(uint64_t quirks, enum left left, bool returns)
{
	static struct dofi_srq srq;
	struct dofi_wr *wr = NULL;

	ia.quirks = quirks;
	ck_assert_int_eq(trans->connect(&conn), 0);
	if (left == A_REQUEST)
		wr = issue(&ep.req, DOFI_OP_SEND);
	else if (left == A_RECEIVE)
		wr = issue(&ep.recv, DOFI_OP_RECV);
	ep.peeking = left == A_READ_OF_THE_LIBRARY;
	ep.srq = left == MESSAGES_TO_AN_SRQ ? &srq : NULL;
	returned = returns ? wr : NULL;
	memset(reads, 0, sizeof(reads));
	trans->disconnect(&conn);
	ep.peeking = false;
	ep.srq = NULL;
	closed_ia_leaves_nothing();
	ck_assert_int_eq(closed, 1);
	return wr;
}

static void free_rings(void)
{
	dofi_ring_fini(&ep.req);
	dofi_ring_fini(&ep.recv);
}

/* Reads what the shutdown returned, and what the close returned. */
START_TEST(operations_of_an_endpoint_come_back)
{
	end_with(0, (enum left)_i, false);
	ck_assert_int_eq(shut, 1);
	ck_assert_uint_gt(reads[0], 0);
	ck_assert_uint_gt(reads[1], 0);
	free_rings();
}
END_TEST

START_TEST(operations_that_came_back_are_not_waited_for)
{
	const struct dofi_wr *wr = end_with(0, (enum left)_i, true);

	ck_assert_int_eq(wr->state, DOFI_WR_BACK);
	ck_assert_uint_gt(reads[0], 0);
	ck_assert_uint_eq(reads[1], 0);
	free_rings();
}
END_TEST

START_TEST(without_operations_the_queue_is_not_read)
{
	end_with(0, NOTHING, false);
	ck_assert_int_eq(shut, 1);
	ck_assert_uint_eq(reads[0] + reads[1], 0);
}
END_TEST

START_TEST(an_endpoint_is_only_closed_if_shutdown_is_harmful)
{
	end_with(DOFI_QUIRK_FOREIGN_FD, NOTHING, false);
	ck_assert_int_eq(shut, 0);
}
END_TEST

/* --- shared receive queues --- */

static size_t longest_queue, asked_size[2];
static unsigned int queues_asked;

static int make_queue(struct fid_domain *of, struct fi_rx_attr *attr, struct fid_ep **srx,
		      void *context)
{
	(void)of;
	(void)context;
	ck_assert_uint_lt(queues_asked, 2);
	asked_size[queues_asked++] = attr->size;
	if (make_err)
		return make_err;
	if (attr->size > longest_queue)
		return -FI_EINVAL;
	*srx = &endpoint;
	return 0;
}

static int open_queue(uint32_t length)
{
	struct dofi_srq srq = {.obj.ia = &ia, .max_dtos = length};
	int ret;

	domain_ops.srx_ctx = make_queue;
	ret = trans->srq_open(&srq);
	ck_assert(ret || srq.srx == &endpoint);
	return ret;
}

START_TEST(a_shared_queue_as_long_as_is_asked_for)
{
	longest_queue = QUEUE;
	ck_assert_int_eq(open_queue(QUEUE), 0);
	ck_assert_uint_eq(queues_asked, 1);
	ck_assert_uint_eq(asked_size[0], QUEUE);
}
END_TEST

START_TEST(a_shared_queue_is_closed)
{
	struct dofi_srq srq = {.obj.ia = &ia, .srx = &endpoint};

	trans->srq_close(&srq);
	ck_assert_int_eq(closed, 1);
	ck_assert_ptr_null(srq.srx);
}
END_TEST

START_TEST(a_shared_queue_as_long_as_the_fabric_can)
{
	longest_queue = rx_attr.size;
	ck_assert_int_eq(open_queue(QUEUE), 0);
	ck_assert_uint_eq(queues_asked, 2);
	ck_assert_uint_eq(asked_size[1], rx_attr.size);
}
END_TEST

START_TEST(a_shared_queue_that_is_refused_for_another_reason)
{
	make_err = -FI_ENOMEM;
	ck_assert_int_eq(open_queue(QUEUE), -FI_ENOMEM);
	ck_assert_uint_eq(queues_asked, 1);
	make_err = -FI_EINVAL;
	queues_asked = 0;
	ck_assert_int_eq(open_queue((uint32_t)rx_attr.size), -FI_EINVAL);
	ck_assert_uint_eq(queues_asked, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trans_msg");
	TCase *tc = tcase_create("endpoints");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, an_endpoint_opened_while_the_peer_decided_is_used);
	tcase_add_test(tc, an_unused_endpoint_is_closed);
	tcase_add_test(tc, a_failed_open_does_not_change_the_ia);
	tcase_add_loop_test(tc, a_failed_open_is_repeated_when_the_endpoint_is_needed, 0, 2);
	tcase_add_loop_test(tc, an_endpoint_that_can_not_be_bound_is_closed, 0, 2);
	tcase_add_test(tc, an_endpoint_with_a_shared_queue);
	tcase_add_test(tc, queues_have_room_for_requests_of_the_library);
	tcase_add_test(tc, queues_are_no_longer_than_the_device_s);
	tcase_add_loop_test(tc, a_request_without_a_token_is_refused, 0, 2);
	tcase_add_loop_test(tc, a_second_request_is_refused, 0, 2);
	tcase_add_loop_test(tc, nothing_stays_of_an_open_that_fails, 0, 4);
	tcase_add_test(tc, a_port_in_use_is_tried_again);
	tcase_add_test(tc, a_refused_connect_leaves_nothing);
	tcase_add_test(tc, without_device_queues_no_endpoint_is_opened_early);
	tcase_add_test(tc, another_port_is_tried_if_one_is_in_use);
	tcase_add_loop_test(tc, the_lengths_of_the_queues_of_a_device, 0, 6);
	tcase_add_test(tc, the_port_of_an_endpoint_that_is_not_made);
	tcase_add_loop_test(tc, the_driver_hears_of_a_connection_that_is_expected, 0, 3);
	tcase_add_test(tc, a_round_reads_a_limited_number_of_events);
	tcase_add_test(tc, a_request_is_accepted);
	tcase_add_loop_test(tc, a_request_that_cannot_be_served_is_refused, 0, 2);
	tcase_add_test(tc, a_request_that_has_gone_is_ignored);
	tcase_add_loop_test(tc, an_error_of_no_operation, 0,
			    sizeof(providers) / sizeof(providers[0]));
	tcase_add_test(tc, the_barrier_flag_is_a_fence_behind_reads);
	tcase_add_loop_test(tc, an_event_is_for_the_connection_of_its_endpoint, 0, 10);
	tcase_add_loop_test(tc, a_path_that_the_peer_uses_is_not_down_after_a_timeout, 0, 6);
	tcase_add_test(tc, a_message_without_bytes);
	tcase_add_test(tc, an_update_that_is_not_taken_is_not_announced);
	tcase_add_loop_test(tc, a_receive_without_segments, 0, 2);
	tcase_add_test(tc, immediate_data_for_an_srq_name_the_connection);
	tcase_add_test(tc, completion_data_of_the_peer);
	tcase_add_test(tc, a_permanent_failure_of_the_queue_is_logged_once);
	tcase_add_loop_test(tc, operations_of_an_endpoint_come_back, A_REQUEST,
			    MESSAGES_TO_AN_SRQ + 1);
	tcase_add_loop_test(tc, operations_that_came_back_are_not_waited_for, A_REQUEST,
			    A_RECEIVE + 1);
	tcase_add_test(tc, without_operations_the_queue_is_not_read);
	tcase_add_test(tc, an_endpoint_is_only_closed_if_shutdown_is_harmful);
	tcase_add_test(tc, a_shared_queue_as_long_as_is_asked_for);
	tcase_add_test(tc, a_shared_queue_is_closed);
	tcase_add_test(tc, a_shared_queue_as_long_as_the_fabric_can);
	tcase_add_test(tc, a_shared_queue_that_is_refused_for_another_reason);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
