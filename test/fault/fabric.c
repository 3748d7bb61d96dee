/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fabric refuses calls, or returns -FI_EAGAIN most of the time. */
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inside.h"
#include "process.h"
#include "fabric/quirks.h"
#include "object/ep.h"
#include "object/ia.h"
#include "../lib/t_fabric.h"

static struct t_ia ia;
static struct t_pair pair;

static void setup(void)
{
	setenv("DAT_OFI_LOG", "off", 1);
	fault_use_linked_provider();
}

/* --- opening --- */

static const struct refusal {
	const char *what;
	enum t_fabric_call call;
	int good;
} opening[] = {
	{"fi_getinfo", T_FI_GETINFO, 0},
	{"fi_fabric", T_FI_FABRIC, 0},
	{"fi_domain", T_FI_DOMAIN, 0},
	{"fi_eq_open", T_FI_EQ_OPEN, 0},
	{"fi_cq_open", T_FI_CQ_OPEN, 0},
	{"fi_passive_ep", T_FI_PASSIVE_EP, 0},
	{"fi_pep_bind", T_FI_PEP_BIND, 0},
	{"fi_listen", T_FI_LISTEN, 0},
	{"fi_getname", T_FI_GETNAME, 0},
	{"fi_mr_reg of the context table", T_FI_MR_REG, 0},
	{"fi_mr_reg of the scratch memory", T_FI_MR_REG, 1},
};

/* If fi_getinfo fails, there is no provider. If another call fails, a resource is missing. */
static const struct {
	int err;
	DAT_RETURN_TYPE type;
} reasons[] = {
	{FI_ENOMEM, DAT_INSUFFICIENT_RESOURCES},
	{FI_EMFILE, DAT_INSUFFICIENT_RESOURCES},
	{FI_EIO, DAT_INTERNAL_ERROR},
};

#define NUMBER(array) ((int)(sizeof(array) / sizeof((array)[0])))

START_TEST(ia_open_is_refused)
{
	const struct refusal *refusal = &opening[_i];
	int before;

	t_ia_open(&ia);
	t_ia_close_empty(&ia); /* opens what the fabric opens once */
	before = fault_open_files();
	for (int i = 0; i < NUMBER(reasons); i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE handle = DAT_HANDLE_NULL;
		DAT_RETURN ret;

		t_fabric_fail(refusal->call, refusal->good, -1, reasons[i].err);
		ret = dat_ia_open(t_ia_name(), 8, &async, &handle);
		ck_assert_msg(t_fabric_failed(refusal->call) > 0, "%s was not called",
			      refusal->what);
		t_fabric_heal();
		t_error2(ret, reasons[i].type,
			 refusal->call == T_FI_GETINFO && reasons[i].err != FI_ENOMEM
				 ? DAT_PROVIDER_NOT_FOUND
				 : reasons[i].type);
		ck_assert_ptr_null(async);
		ck_assert_ptr_null(handle);
		ck_assert_int_eq(fault_open_files(), before);
	}
	t_ia_open(&ia);
	t_ia_close_empty(&ia);
}
END_TEST

/* librdmacm may choose a port in use over iWARP. */
START_TEST(ports_in_use_are_tried_again)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE handle = DAT_HANDLE_NULL;

	t_fabric_fail(T_FI_LISTEN, 0, 3, FI_EADDRINUSE);
	t_ia_open(&ia);
	ck_assert_int_eq(t_fabric_failed(T_FI_LISTEN), 3);
	t_ia_close_empty(&ia);
	t_fabric_fail(T_FI_LISTEN, 0, -1, FI_EADDRINUSE);
	t_error(dat_ia_open(t_ia_name(), 8, &async, &handle), DAT_CONN_QUAL_IN_USE);
	t_fabric_heal();
}
END_TEST

START_TEST(completion_queue_of_the_preferred_size_is_refused)
{
	t_fabric_fail(T_FI_CQ_OPEN, 0, 3, FI_ENOMEM);
	t_ia_open(&ia);
	ck_assert_int_eq(t_fabric_failed(T_FI_CQ_OPEN), 3);
	t_ia_close_empty(&ia);
}
END_TEST

/* --- objects --- */

START_TEST(lmr_create_is_refused)
{
	unsigned char mem[64];
	DAT_LMR_HANDLE lmr;

	t_ia_open(&ia);
	for (int i = 0; i < NUMBER(reasons); i++) {
		lmr = DAT_HANDLE_NULL;
		t_fabric_fail(T_FI_MR_REG, 0, 1, reasons[i].err);
		t_error(t_lmr_of(ia.ia, mem, sizeof(mem), ia.pz, DAT_MEM_PRIV_ALL_FLAG, &lmr),
			reasons[i].type);
		ck_assert_ptr_null(lmr);
	}
	t_ok(t_lmr_of(ia.ia, mem, sizeof(mem), ia.pz, DAT_MEM_PRIV_ALL_FLAG, &lmr));
	t_ok(dat_lmr_free(lmr));
	t_ia_close_empty(&ia);
}
END_TEST

/* A bind that grants rights which the LMR lacks makes a second registration. */
START_TEST(rmr_bind_is_refused)
{
	const struct t_end *end = &pair.end[0];
	DAT_RMR_CONTEXT context;
	struct t_buf buf;
	DAT_RMR_HANDLE rmr;

	t_pair_open(&pair, NULL);
	t_buf_new(&buf, pair.ia[0].ia, pair.ia[0].pz, 4096,
		  DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	t_ok(dat_rmr_create(pair.ia[0].pz, &rmr));
	t_fabric_fail(T_FI_MR_REG, 0, 1, FI_ENOMEM);
	t_error(t_rmr_bind(rmr, &buf, t_seg(&buf, 0, 64), DAT_MEM_PRIV_REMOTE_READ_FLAG, end->ep, 1,
			   DAT_COMPLETION_DEFAULT_FLAG, &context),
		DAT_INSUFFICIENT_RESOURCES);
	t_no_event(end->request_evd);
	t_ok(t_rmr_bind(rmr, &buf, t_seg(&buf, 0, 64), DAT_MEM_PRIV_REMOTE_READ_FLAG, end->ep, 2,
			DAT_COMPLETION_DEFAULT_FLAG, &context));
	t_wait_bind(end->request_evd, rmr, 2, DAT_DTO_SUCCESS);
	t_ok(dat_rmr_free(rmr));
	t_buf_free(&buf);
	t_pair_close(&pair);
}
END_TEST

static const char no_srqs[] = "this fabric has no SRQs";

START_TEST(srq_create_is_refused)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 8, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	t_ia_open(&ia);
	if (!ia.provider.srq_supported)
		t_skip(no_srqs);
	t_fabric_fail(T_FI_SRX_CONTEXT, 0, 1, FI_ENOMEM);
	t_error(dat_srq_create(ia.ia, ia.pz, &attr, &srq), DAT_INSUFFICIENT_RESOURCES);
	ck_assert_ptr_null(srq);
	t_ok(dat_srq_create(ia.ia, ia.pz, &attr, &srq));
	t_ok(dat_srq_free(srq));
	t_ia_close_empty(&ia);
}
END_TEST

/* --- connecting: the active side's endpoint is made first --- */

static const struct refusal connecting[] = {
	{"fi_endpoint, active", T_FI_ENDPOINT, 0},
	{"fi_ep_bind of the event queue, active", T_FI_EP_BIND, 0},
	{"fi_ep_bind of the completion queue, active", T_FI_EP_BIND, 1},
	{"fi_enable, active", T_FI_ENABLE, 0},
/*
 * If endpoints have queues of a device, the library makes these calls while the peer decides, and
 * again if they have failed.
 */
#define EARLY 4
	{"fi_endpoint, passive", T_FI_ENDPOINT, 1},
	{"fi_ep_bind of the event queue, passive", T_FI_EP_BIND, 2},
	{"fi_ep_bind of the completion queue, passive", T_FI_EP_BIND, 3},
	{"fi_enable, passive", T_FI_ENABLE, 1},
	{"fi_connect", T_FI_CONNECT, 0},
	{"fi_accept", T_FI_ACCEPT, 0},
};

static void expect_failed_connection(const struct t_end *end, DAT_EVENT_NUMBER number)
{
	t_wait_conn(end->connect_evd, number, end->ep);
	ck_assert_int_eq(t_ep_state(end->ep), DAT_EP_STATE_DISCONNECTED);
	t_wait_dto(end->recv_evd, end->ep, 1, DAT_DTO_ERR_FLUSHED, 0);
	t_no_event(end->connect_evd);
	t_ok(dat_ep_reset(end->ep));
}

/* Behaves from now on as InfiniBand and RoCE, or as a fabric whose endpoints have no queues. */
static void have_queues(bool queues)
{
	for (int i = 0; i < 2; i++) {
		struct dofi_ia *of = ((struct dofi_ep *)pair.end[i].ep)->obj.ia;

		dofi_lock(&of->engine.lock); /* rounds of the progress thread read the quirks */
		of->quirks &= ~(DOFI_QUIRK_QUEUE_PAIRS | DOFI_QUIRK_TCP_PORTS);
		of->quirks |= queues ? DOFI_QUIRK_QUEUE_PAIRS : 0;
		dofi_unlock(&of->engine.lock);
	}
}

START_TEST(connect_is_refused)
{
	const struct refusal *refusal = &connecting[_i / 2];
	int times = _i % 2 && _i / 2 < EARLY ? 2 : 1;
	struct t_end *end = pair.end;

	t_pair_prepare(&pair, NULL);
	have_queues(_i % 2);
	for (int i = 0; i < 2; i++)
		t_ok(t_recv(&end[i], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_fabric_fail(refusal->call, refusal->good, times, FI_ENOMEM);
	t_ok(t_connect(end[0].ep, &pair.listener));
	t_ok(t_cr_accept(t_next_cr(&pair.listener), end[1].ep));
	expect_failed_connection(&end[0], DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_failed_connection(&end[1], DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	ck_assert_msg(t_fabric_failed(refusal->call) == times, "%s was not called", refusal->what);
	t_fabric_heal();
	t_establish(&pair.listener, &end[0], &end[1]);
	t_pair_close(&pair);
}
END_TEST

START_TEST(endpoint_refused_before_the_answer_is_tried_again)
{
	const struct refusal *refusal = &connecting[_i];

	t_pair_prepare(&pair, NULL);
	have_queues(true);
	t_fabric_fail(refusal->call, refusal->good, 1, FI_ENOMEM);
	t_establish(&pair.listener, &pair.end[0], &pair.end[1]);
	ck_assert_int_eq(t_fabric_failed(refusal->call), 1);
	t_pair_close(&pair);
}
END_TEST

/* --- a fabric that is slow for each connection, by the provider's clock --- */

#define MANY      300u
#define LIMIT_MS  "60000"
#define STEP_NS   UINT64_C(30000000000)
#define SECOND_NS UINT64_C(1000000000)

static _Atomic uint64_t ahead;

int __real_clock_gettime(clockid_t which, struct timespec *now);
__attribute__((visibility("default"))) int __wrap_clock_gettime(clockid_t which,
								struct timespec *now);

int __wrap_clock_gettime(clockid_t which, struct timespec *now)
{
	int ret = __real_clock_gettime(which, now);
	uint64_t ns = (uint64_t)now->tv_nsec + ahead;

	now->tv_sec += (time_t)(ns / SECOND_NS);
	now->tv_nsec = (long)(ns % SECOND_NS);
	return ret;
}

static void time_passes(void)
{
	ahead += STEP_NS;
}

static void await_many(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	for (unsigned int i = 0; i < MANY; i++) {
		DAT_EVENT event;
		DAT_COUNT more;

		t_ok(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
		ck_assert_msg(event.event_number == number, "event %s came",
			      t_event_name(event.event_number));
	}
}

START_TEST(burst_over_a_slow_fabric)
{
	DAT_EP_HANDLE eps[2][MANY];
	DAT_EVD_HANDLE evds[2];
	DAT_CR_HANDLE crs[MANY];

	setenv("DAT_OFI_HANDSHAKE_MS", LIMIT_MS, 1);
	t_fabric_before(T_FI_ACCEPT, time_passes);
	t_pair_prepare(&pair, NULL);
	for (int i = 0; i < 2; i++) {
		evds[i] = t_evd(&pair.ia[i], MANY, DAT_EVD_CONNECTION_FLAG);
		for (unsigned int n = 0; n < MANY; n++)
			t_ok(dat_ep_create(pair.ia[i].ia, pair.ia[i].pz, DAT_HANDLE_NULL,
					   DAT_HANDLE_NULL, evds[i], NULL, &eps[i][n]));
	}
	for (unsigned int n = 0; n < MANY; n++) {
		t_ok(t_connect_data(eps[0][n], &pair.ia[1], pair.listener.qual,
				    DAT_TIMEOUT_INFINITE, NULL, 0));
		crs[n] = t_next_cr(&pair.listener);
	}
	for (unsigned int n = 0; n < MANY; n++)
		t_ok(t_cr_accept(crs[n], eps[1][n]));
	for (int i = 0; i < 2; i++)
		await_many(evds[i], DAT_CONNECTION_EVENT_ESTABLISHED);
	ck_assert_uint_ge(ahead, MANY * STEP_NS);
	for (int i = 0; i < 2; i++)
		for (unsigned int n = 0; n < MANY; n++)
			t_ok(dat_ep_free(eps[i][n]));
	for (int i = 0; i < 2; i++)
		t_ok(dat_evd_free(evds[i]));
	t_pair_close(&pair);
}
END_TEST

/* --- a fabric whose ports are those of TCP --- */

static bool tcp_ports;

uint64_t __real_dofi_quirks_of(const struct fi_info *info);
uint64_t __wrap_dofi_quirks_of(const struct fi_info *info);
uint64_t __wrap_dofi_quirks_of(const struct fi_info *info)
{
	return __real_dofi_quirks_of(info) | (tcp_ports ? DOFI_QUIRK_TCP_PORTS : 0);
}

/*
 * librdmacm refuses ports that another of its connections uses. The socket that reserves a port is
 * closed when the connection exists.
 */
START_TEST(connects_from_a_free_port)
{
	int files[3]; /* in the first round the fabric opens files that it keeps */

	for (int i = 0; i < 3; i++) {
		tcp_ports = i == 2;
		t_pair_open(&pair, NULL);
		files[i] = fault_open_files();
		t_pair_close(&pair);
	}
	ck_assert_int_eq(files[2], files[1]);
	t_fabric_fail(T_FI_ENDPOINT, 0, 3, FI_EADDRINUSE);   /* libfabric 1.17... */
	t_fabric_fail(T_FI_CONNECT, 0, 2, FI_EADDRNOTAVAIL); /* ...and 2.x */
	t_pair_open(&pair, NULL);
	ck_assert_int_eq(t_fabric_failed(T_FI_ENDPOINT), 3);
	ck_assert_int_eq(t_fabric_failed(T_FI_CONNECT), 2);
	ck_assert_uint_ne(t_fabric_source_port(), 0);
	t_pair_close(&pair);
}
END_TEST

START_TEST(no_port_is_free)
{
	struct t_end *end = pair.end;
	int files[2];

	tcp_ports = true;
	t_pair_prepare(&pair, NULL);
	t_fabric_fail(T_FI_ENDPOINT, 0, -1, FI_EADDRNOTAVAIL);
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 2; k++)
			t_ok(t_recv(&end[k], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_connect(end[0].ep, &pair.listener));
		t_ok(t_cr_accept(t_next_cr(&pair.listener), end[1].ep));
		expect_failed_connection(&end[0], DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		expect_failed_connection(&end[1], DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		files[i] = fault_open_files();
	}
	ck_assert_int_eq(files[1], files[0]);
	t_fabric_heal();
	t_establish(&pair.listener, &end[0], &end[1]);
	t_pair_close(&pair);
}
END_TEST

/* --- posts --- */

#define PIECE  ((size_t)512)
#define PIECES 16u /* operations under way at the same time */

/* Posts PIECES operations of each kind. The reads must return the old bytes. */
static void post_round(uint64_t round)
{
	const struct t_end *from = &pair.end[0], *to = &pair.end[1];

	t_fill(from->buf.mem, PIECES * PIECE, (unsigned int)round);
	for (size_t i = 0; i < PIECES; i++)
		t_ok(t_recv(to, i * PIECE, PIECE, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (size_t i = 0; i < PIECES; i++) {
		size_t at = i * PIECE, half = T_BUF_SIZE / 2;

		t_ok(t_write(from, at, PIECE, 3 * i, t_remote_seg(&to->buf, half + at, PIECE),
			     DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_read(from, half + at, PIECE, 3 * i + 1,
			    t_remote_seg(&to->buf, half + at, PIECE), DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(from, at, PIECE, 3 * i + 2, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	}
}

static void expect_round(uint64_t round)
{
	const struct t_end *from = &pair.end[0], *to = &pair.end[1];
	unsigned int filled = (unsigned int)round;

	for (size_t i = 0; i < 3 * PIECES; i++)
		t_wait_dto(from->request_evd, from->ep, i, DAT_DTO_SUCCESS, PIECE);
	for (size_t i = 0; i < PIECES; i++)
		t_wait_dto(to->recv_evd, to->ep, i, DAT_DTO_SUCCESS, PIECE);
	ck_assert(t_is_filled(to->buf.mem, PIECES * PIECE, filled));
	ck_assert(t_is_filled(to->buf.mem + T_BUF_SIZE / 2, PIECES * PIECE, filled));
}

START_TEST(posts_and_reads_that_often_return_eagain)
{
	static const struct {
		unsigned int often, rounds;
	} storms[] = {{1, 100}, {5, 20}, {9, 2}};

	t_pair_open(&pair, NULL);
	t_fabric_stutter(storms[_i].often);
	for (uint64_t round = 0; round < storms[_i].rounds; round++) {
		post_round(round);
		expect_round(round);
	}
	t_no_event(pair.end[0].request_evd);
	t_no_event(pair.end[1].recv_evd);
	t_ok(dat_ep_disconnect(pair.end[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (int i = 0; i < 2; i++)
		t_wait_conn(pair.end[i].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED,
			    pair.end[i].ep);
	t_fabric_heal();
	t_pair_close(&pair);
}
END_TEST

/* The fabric accepts nothing until the queue is full. Then it accepts all requests, in order. */
START_TEST(full_queue)
{
	const struct t_end *from = &pair.end[0], *to = &pair.end[1];
	DAT_COUNT room;

	t_pair_open(&pair, NULL);
	room = t_ep_attr(from->ep).max_request_dtos;
	for (DAT_COUNT i = 0; i < room; i++)
		t_ok(t_recv(to, 0, 64, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
	t_error(t_recv(to, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG), DAT_INSUFFICIENT_RESOURCES);
	t_fabric_fail(T_FI_SEND, 0, -1, FI_EAGAIN);
	for (DAT_COUNT i = 0; i < room; i++)
		t_ok(t_send(from, 0, 64, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
	t_error(t_send(from, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG), DAT_INSUFFICIENT_RESOURCES);
	t_stays_quiet(from->request_evd);
	t_fabric_heal();
	for (DAT_COUNT i = 0; i < room; i++) {
		t_wait_dto(from->request_evd, from->ep, (uint64_t)i, DAT_DTO_SUCCESS, 64);
		t_wait_dto(to->recv_evd, to->ep, (uint64_t)i, DAT_DTO_SUCCESS, 64);
	}
	t_ok(t_recv(to, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(from, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(to->recv_evd, to->ep, 1, DAT_DTO_SUCCESS, 64);
	t_pair_close(&pair);
}
END_TEST

/* end[1] receives from an SRQ. Returns DAT_HANDLE_NULL if the fabric has no SRQs. */
static DAT_SRQ_HANDLE share_receives(DAT_COUNT room)
{
	DAT_SRQ_ATTR srq_attr = {.max_recv_dtos = room, .max_recv_iov = 1};
	DAT_EP_ATTR attr = t_default_attr(&pair.ia[1]);
	struct t_end *to = &pair.end[1];
	DAT_SRQ_HANDLE srq;

	if (!pair.ia[1].provider.srq_supported)
		return DAT_HANDLE_NULL;
	attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	t_ok(dat_srq_create(pair.ia[1].ia, pair.ia[1].pz, &srq_attr, &srq));
	t_ok(dat_ep_free(to->ep));
	t_ok(dat_ep_create_with_srq(pair.ia[1].ia, pair.ia[1].pz, to->recv_evd, to->request_evd,
				    to->connect_evd, srq, &attr, &to->ep));
	return srq;
}

static void close_shared(DAT_SRQ_HANDLE srq)
{
	t_ok(dat_ep_free(pair.end[1].ep));
	pair.end[1].ep = DAT_HANDLE_NULL;
	t_ok(dat_srq_free(srq));
	t_pair_close(&pair);
}

static DAT_COUNT available(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	t_ok(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	ck_assert_int_eq(param.available_dto_count, param.outstanding_dto_count);
	return param.available_dto_count;
}

static void post_shared(DAT_SRQ_HANDLE srq, DAT_COUNT n)
{
	for (DAT_COUNT i = 0; i < n; i++) {
		DAT_LMR_TRIPLET segment = t_seg(&pair.end[1].buf, (size_t)i * PIECE, PIECE);
		DAT_DTO_COOKIE cookie = {.as_64 = (uint64_t)i};

		t_ok(dat_srq_post_recv(srq, 1, &segment, cookie));
	}
	ck_assert_int_eq(available(srq), n);
}

/*
 * The fabric accepts no receive for some time. The SRQ keeps the buffers and uses them later.
 */
START_TEST(full_shared_queue)
{
	struct t_end *from = &pair.end[0], *to = &pair.end[1];
	DAT_SRQ_HANDLE srq;

	t_pair_prepare(&pair, NULL);
	srq = share_receives(PIECES);
	if (srq == DAT_HANDLE_NULL)
		t_skip(no_srqs);
	t_fabric_fail(T_FI_RECV, 2, -1, FI_EAGAIN);
	post_shared(srq, PIECES);
	ck_assert_int_gt(t_fabric_failed(T_FI_RECV), 0);
	t_establish(&pair.listener, from, to);
	t_fill(from->buf.mem, PIECES * PIECE, 7);
	for (DAT_COUNT i = 0; i < (DAT_COUNT)PIECES; i++)
		t_ok(t_send(from, (size_t)i * PIECE, PIECE, (uint64_t)i,
			    DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 2; i++)
		t_wait_dto(to->recv_evd, to->ep, i, DAT_DTO_SUCCESS, PIECE);
	t_stays_quiet(to->recv_evd);
	t_fabric_heal();
	for (uint64_t i = 2; i < PIECES; i++)
		t_wait_dto(to->recv_evd, to->ep, i, DAT_DTO_SUCCESS, PIECE);
	ck_assert(t_is_filled(to->buf.mem, PIECES * PIECE, 7));
	ck_assert_int_eq(available(srq), 0);
	close_shared(srq);
}
END_TEST

START_TEST(full_shared_queue_is_freed)
{
	DAT_SRQ_HANDLE srq;

	t_pair_prepare(&pair, NULL);
	srq = share_receives(PIECES);
	if (srq == DAT_HANDLE_NULL)
		t_skip(no_srqs);
	t_fabric_fail(T_FI_RECV, 0, -1, FI_EAGAIN);
	post_shared(srq, PIECES);
	close_shared(srq);
}
END_TEST

/* The fabric returns -FI_EAGAIN first and refuses the receives later. */
START_TEST(refused_shared_receives_raise_an_error_event)
{
	DAT_SRQ_HANDLE srq;
	DAT_EVENT event;

	t_pair_prepare(&pair, NULL);
	srq = share_receives(PIECES);
	if (srq == DAT_HANDLE_NULL)
		t_skip(no_srqs);
	t_fabric_fail(T_FI_RECV, 0, -1, FI_EAGAIN);
	post_shared(srq, PIECES);
	t_ok(dat_srq_set_lw(srq, 1));
	t_fabric_fail(T_FI_RECV, 0, -1, FI_EIO);
	event = t_wait_for(pair.ia[1].async_evd, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, srq);
	ck_assert_int_eq(available(srq), 0);
	t_fabric_heal();
	close_shared(srq);
}
END_TEST

/* If the fabric refuses a request with an error, the connection ends and all requests complete. */
static const struct refusal posting[] = {
	{"fi_send", T_FI_SEND, 0},
	{"fi_recv", T_FI_RECV, 0},
	{"fi_write", T_FI_WRITE, 0},
	{"fi_read", T_FI_READ, 0},
	{"fi_read of the data", T_FI_READ, 1}, /* the first is of the context table */
};

static void post_one(enum t_fabric_call call)
{
	const struct t_end *end = &pair.end[0];
	DAT_RMR_TRIPLET remote = t_remote_seg(&pair.end[1].buf, 0, 64);

	if (call == T_FI_SEND) {
		t_ok(t_recv(&pair.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	} else if (call == T_FI_RECV) {
		t_ok(t_recv(end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	} else if (call == T_FI_WRITE) {
		t_ok(t_write(end, 0, 64, 1, remote, DAT_COMPLETION_DEFAULT_FLAG));
	} else {
		t_ok(t_read(end, 0, 64, 1, remote, DAT_COMPLETION_DEFAULT_FLAG));
	}
}

START_TEST(post_is_refused_for_good)
{
	const struct t_end *end = &pair.end[0];
	enum t_fabric_call call = posting[_i].call;
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	t_pair_open(&pair, NULL);
	evd = call == T_FI_RECV ? end->recv_evd : end->request_evd;
	t_fabric_fail(call, posting[_i].good, -1, FI_EIO);
	post_one(call);
	event = t_wait_for(evd, DAT_DTO_COMPLETION_EVENT);
	ck_assert_int_gt(t_fabric_failed(call), 0);
	ck_assert_int_ne(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_BROKEN, end->ep);
	event = t_wait(pair.end[1].connect_evd);
	ck_assert_msg(event.event_number == DAT_CONNECTION_EVENT_BROKEN, "the other end sees %s",
		      t_event_name(event.event_number));
	t_fabric_heal();
	for (int i = 0; i < 2; i++)
		t_ok(dat_ep_reset(pair.end[i].ep));
	t_establish(&pair.listener, &pair.end[0], &pair.end[1]);
	t_pair_close(&pair);
}
END_TEST

/* Runs in a process of its own, so that each case is the first one that uses the fabric. */
static bool transport_is(const char *name)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		setup();
		t_ia_open(&ia);
		_exit(strcmp(t_named(&ia.provider, DAT_OFI_ATTR_TRANSPORT), name) != 0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
	Suite *suite = suite_create("fabric");
	TCase *tcase = tcase_create("fabric"), *posts = tcase_create("posts");

	if (!transport_is("msg")) {
		printf("1..0 # SKIP %s: the calls that are refused here are those for connected "
		       "endpoints\n",
		       t_ia_name());
		return 0;
	}
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_loop_test(tcase, ia_open_is_refused, 0, NUMBER(opening));
	tcase_add_test(tcase, ports_in_use_are_tried_again);
	tcase_add_test(tcase, completion_queue_of_the_preferred_size_is_refused);
	tcase_add_test(tcase, lmr_create_is_refused);
	tcase_add_test(tcase, rmr_bind_is_refused);
	tcase_add_test(tcase, srq_create_is_refused);
	tcase_add_loop_test(tcase, connect_is_refused, 0, 2 * NUMBER(connecting));
	tcase_add_loop_test(tcase, endpoint_refused_before_the_answer_is_tried_again, 0, EARLY);
	tcase_add_test(tcase, burst_over_a_slow_fabric);
	tcase_add_test(tcase, connects_from_a_free_port);
	tcase_add_test(tcase, no_port_is_free);
	suite_add_tcase(suite, posts);
	tcase_add_checked_fixture(posts, setup, NULL);
	tcase_add_loop_test(posts, posts_and_reads_that_often_return_eagain, 0, 3);
	tcase_add_test(posts, full_queue);
	tcase_add_test(posts, full_shared_queue);
	tcase_add_test(posts, full_shared_queue_is_freed);
	tcase_add_test(posts, refused_shared_receives_raise_an_error_event);
	tcase_add_loop_test(posts, post_is_refused_for_good, 0, NUMBER(posting));
	return t_run(suite);
}
