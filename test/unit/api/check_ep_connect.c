/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat_ep_connect, dat_ep_dup_connect and dat_ep_disconnect: arguments, states, what they begin. */
#include "../../lib/ep_ia.h"

#include "../../../prov/ofi/api/ep.h"
#include "../../../prov/ofi/api/ep_connect.h"
#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/conn_end.h"
#include "../../../prov/ofi/cm/connect.h"
#include "../../../prov/ofi/cm/disconnect.h"

#include <errno.h>
#include <sys/un.h>

#define QUAL    1040u
#define TIMEOUT 1000000u /* in microseconds */

static struct t_ep_ia here, there; /* `there` is another IA of the process */
static struct dofi_ep *ep, *other; /* two EPs of `here` */
static struct dofi_ep *foreign;
static struct dofi_conn conn;
static struct sockaddr_storage remote;

/* --- the connection manager --- */

static struct {
	int starts, disconnects, ends;
	struct sockaddr_storage remote;
	uint64_t qual, deadline;
	uint32_t private_size;
	const void *private_data;
	enum dofi_reason reason;
	uint32_t event;
} seen;
static int start_result, rounds;

int __wrap_dofi_engine_round(struct dofi_ia *ia, bool all);
int __wrap_dofi_conn_start(struct dofi_ep *of, const struct sockaddr *to, uint64_t conn_qual,
			   uint64_t deadline, const void *private_data, uint32_t private_size);
void __wrap_dofi_conn_disconnect(struct dofi_conn *of);
void __wrap_dofi_conn_end_now(struct dofi_conn *of, uint32_t event, enum dofi_reason tell_peer);

int __wrap_dofi_conn_start(struct dofi_ep *of, const struct sockaddr *to, uint64_t conn_qual,
			   uint64_t deadline, const void *private_data, uint32_t private_size)
{
	ck_assert_ptr_eq(of, ep);
	seen.starts++;
	ck_assert(dofi_addr_set(&seen.remote, to, 0));
	seen.qual = conn_qual;
	seen.deadline = deadline;
	seen.private_data = private_data;
	seen.private_size = private_size;
	return start_result;
}

/* With `all` set, the round reads the event queue and the sockets, too. */
int __wrap_dofi_engine_round(struct dofi_ia *ia, bool all)
{
	dofi_assert_held(&ia->engine.lock);
	ck_assert(all);
	rounds++;
	return 0;
}

void __wrap_dofi_conn_disconnect(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	seen.disconnects++;
}

void __wrap_dofi_conn_end_now(struct dofi_conn *of, uint32_t event, enum dofi_reason tell_peer)
{
	ck_assert_ptr_eq(of, &conn);
	seen.ends++;
	seen.event = event;
	seen.reason = tell_peer;
}

/* --- */

static struct dofi_ep *new_ep(struct t_ep_ia *it)
{
	DAT_EP_HANDLE handle;

	ck_assert_uint_eq(dofi_ep_create(it->ia, it->pz, it->recv_evd, it->req_evd, it->conn_evd,
					 NULL, &handle),
			  DAT_SUCCESS);
	return handle;
}

static void setup(void)
{
	t_ep_ia_open(&here);
	t_ep_ia_open(&there);
	ep = new_ep(&here);
	other = new_ep(&here);
	foreign = new_ep(&there);
	ck_assert(dofi_addr_parse("10.0.0.9", &remote));
	here.ia->addr = there.ia->addr = remote;
	conn.ia = here.ia;
	conn.state = DOFI_CONN_ESTABLISHED;
}

static void teardown(void)
{
	struct dofi_ep *all[] = {ep, other, foreign};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		all[i]->conn = NULL;
		all[i]->state = DAT_EP_STATE_UNCONNECTED;
		ck_assert_uint_eq(dofi_ep_free(all[i]), DAT_SUCCESS);
	}
	t_ep_ia_close(&there);
	t_ep_ia_close(&here);
}

static char data[DOFI_MAX_PRIVATE + 1];

/* The arguments of a call that succeeds. */
struct args {
	DAT_EP_HANDLE ep, dup;
	void *remote;
	DAT_TIMEOUT timeout;
	DAT_COUNT size;
	void *data;
	DAT_QOS qos;
	unsigned int flags;
};

static struct args good(void)
{
	return (struct args){.ep = ep,
			     .dup = other,
			     .remote = &remote,
			     .timeout = TIMEOUT,
			     .size = 5,
			     .data = data,
			     .qos = DAT_QOS_BEST_EFFORT};
}

static DAT_RETURN connect_by(struct args a)
{
	return dofi_ep_connect(a.ep, a.remote, QUAL, a.timeout, a.size, a.data, a.qos,
			       (DAT_CONNECT_FLAGS)a.flags);
}

static DAT_RETURN dup_connect_by(struct args a)
{
	return dofi_ep_dup_connect(a.ep, a.dup, a.timeout, a.size, a.data, a.qos);
}

/* `other` has dialled its peer and is connected. */
static void be_connected(void)
{
	other->state = DAT_EP_STATE_CONNECTED;
	other->dialled = true;
	other->remote_addr = remote;
	other->remote_qual = QUAL;
}

/* --- what begins --- */

static void expect_start(uint64_t before)
{
	ck_assert_int_eq(seen.starts, 1);
	ck_assert(dofi_addr_same_host(&seen.remote, &remote));
	ck_assert_uint_eq(seen.qual, QUAL);
	ck_assert_uint_ge(seen.deadline, before + TIMEOUT * UINT64_C(1000));
	ck_assert_uint_le(seen.deadline, dofi_now() + TIMEOUT * UINT64_C(1000));
	ck_assert_uint_eq(seen.private_size, 5);
	ck_assert_ptr_eq(seen.private_data, data);
}

START_TEST(a_connection_begins_as_asked)
{
	uint64_t before = dofi_now();

	be_connected();
	ck_assert_uint_eq(_i ? dup_connect_by(good()) : connect_by(good()), DAT_SUCCESS);
	expect_start(before);
	ck_assert_int_eq(rounds, 1); /* for connections of earlier calls */
	dofi_assert_none_held();
}
END_TEST

/* One path is what is asked for at least. */
START_TEST(a_connection_may_ask_for_several_paths)
{
	struct args a = good();

	a.flags = DAT_CONNECT_MULTIPATH_FLAG;
	ck_assert_uint_eq(connect_by(a), DAT_SUCCESS);
	ck_assert_int_eq(seen.starts, 1);
}
END_TEST

START_TEST(private_data_may_be_absent_or_long)
{
	struct args a = good();

	be_connected();
	a.size = DOFI_MAX_PRIVATE;
	ck_assert_uint_eq(_i ? dup_connect_by(a) : connect_by(a), DAT_SUCCESS);
	ck_assert_uint_eq(seen.private_size, DOFI_MAX_PRIVATE);
	a.size = 0;
	a.data = NULL;
	ck_assert_uint_eq(_i ? dup_connect_by(a) : connect_by(a), DAT_SUCCESS);
	ck_assert_uint_eq(seen.private_size, 0);
}
END_TEST

START_TEST(without_memory_no_connection_begins)
{
	be_connected();
	start_result = -ENOMEM;
	ck_assert_uint_eq(_i ? dup_connect_by(good()) : connect_by(good()),
			  DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
}
END_TEST

/* --- arguments --- */

#define WITH(field, value, ret)                        \
	do {                                           \
		struct args a = good();                \
		a.field = value;                       \
		ck_assert_uint_eq(connect_by(a), ret); \
		ck_assert_int_eq(seen.starts, 0);      \
	} while (0)

START_TEST(connect_checks_its_arguments)
{
	static struct sockaddr_un local = {.sun_family = AF_UNIX};
	struct sockaddr_storage v6;

	ck_assert(dofi_addr_parse("::1", &v6));
	WITH(ep, here.pz, DOFI_BAD_HANDLE(EP));
	WITH(remote, NULL, DOFI_BAD_ARG(2));
	WITH(timeout, 0, DOFI_BAD_ARG(4));
	WITH(size, -1, DOFI_BAD_ARG(5));
	WITH(size, DOFI_MAX_PRIVATE + 1, DOFI_BAD_ARG(5));
	WITH(data, NULL, DOFI_BAD_ARG(6));
	WITH(qos, DAT_QOS_HIGH_THROUGHPUT, DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	WITH(flags, 0x80, DOFI_BAD_ARG(8));
	WITH(flags, DAT_CONNECT_MULTIPATH_REQUIRED_FLAG, DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	WITH(remote, &local, DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED));
	WITH(remote, &v6, DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE));
}
END_TEST

#undef WITH
#define WITH(field, value, ret)                            \
	do {                                               \
		struct args a = good();                    \
		a.field = value;                           \
		ck_assert_uint_eq(dup_connect_by(a), ret); \
		ck_assert_int_eq(seen.starts, 0);          \
	} while (0)

START_TEST(dup_connect_checks_its_arguments)
{
	be_connected();
	foreign->state = DAT_EP_STATE_CONNECTED;
	foreign->dialled = true;
	WITH(ep, here.pz, DOFI_BAD_HANDLE(EP));
	WITH(dup, here.pz, DOFI_BAD_HANDLE(EP));
	WITH(dup, foreign, DOFI_BAD_ARG(2));
	WITH(timeout, 0, DOFI_BAD_ARG(3));
	WITH(size, -1, DOFI_BAD_ARG(5));
	WITH(data, NULL, DOFI_BAD_ARG(6));
	WITH(qos, DAT_QOS_HIGH_THROUGHPUT, DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	other->dialled = false; /* nobody listens for what the accepting side knows */
	WITH(size, 5, DOFI_BAD_ARG(2));
}
END_TEST

/* --- states --- */

START_TEST(only_an_unconnected_ep_connects)
{
	DAT_EP_STATE state = t_ep_states[_i];
	bool ok = state == DAT_EP_STATE_UNCONNECTED;

	be_connected();
	ep->state = state;
	ck_assert_uint_eq(connect_by(good()), ok ? DAT_SUCCESS : dofi_ep_bad_state(state));
	ck_assert_int_eq(seen.starts, ok);
	ck_assert_uint_eq(dup_connect_by(good()), ok ? DAT_SUCCESS : dofi_ep_bad_state(state));
	ck_assert_int_eq(seen.starts, 2 * ok);
}
END_TEST

START_TEST(only_a_connected_ep_is_duplicated)
{
	DAT_EP_STATE state = t_ep_states[_i];
	bool ok = state == DAT_EP_STATE_CONNECTED;

	be_connected();
	other->state = state;
	ck_assert_uint_eq(dup_connect_by(good()), ok ? DAT_SUCCESS : dofi_ep_bad_state(state));
	ck_assert_int_eq(seen.starts, ok);
}
END_TEST

/* The consumer may have created the EP without them. */
START_TEST(an_ep_without_pz_or_connect_evd_is_not_ready)
{
	DAT_EP_PARAM param = {.pz_handle = DAT_HANDLE_NULL, .connect_evd_handle = DAT_HANDLE_NULL};

	ck_assert_uint_eq(dofi_ep_modify(ep,
					 _i ? DAT_EP_FIELD_PZ_HANDLE
					    : DAT_EP_FIELD_CONNECT_EVD_HANDLE,
					 &param),
			  DAT_SUCCESS);
	ck_assert_uint_eq(connect_by(good()), DOFI_BAD_STATE(EP_NOTREADY));
	be_connected();
	ck_assert_uint_eq(dup_connect_by(good()), DOFI_BAD_STATE(EP_NOTREADY));
	ck_assert_int_eq(seen.starts, 0);
}
END_TEST

/* --- dat_ep_disconnect --- */

static DAT_RETURN disconnect_in(DAT_EP_STATE state, DAT_CLOSE_FLAGS flags)
{
	memset(&seen, 0, sizeof(seen));
	ep->conn = &conn;
	ep->state = state;
	return dofi_ep_disconnect(ep, flags);
}

static void expect_end(int ends)
{
	ck_assert_int_eq(seen.ends, ends);
	ck_assert_int_eq(seen.disconnects, 0);
	if (!ends)
		return;
	ck_assert_uint_eq(seen.event, DAT_CONNECTION_EVENT_DISCONNECTED);
	ck_assert_int_eq(seen.reason, DOFI_REASON_DISCONNECT);
}

START_TEST(an_abrupt_disconnect_ends_the_connection_at_once)
{
	static const DAT_EP_STATE ended[] = {DAT_EP_STATE_CONNECTED,
					     DAT_EP_STATE_DISCONNECT_PENDING,
					     DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
					     DAT_EP_STATE_COMPLETION_PENDING};

	for (size_t i = 0; i < sizeof(ended) / sizeof(ended[0]); i++) {
		ck_assert_uint_eq(disconnect_in(ended[i], DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		expect_end(1);
	}
}
END_TEST

START_TEST(a_graceful_disconnect_lets_a_connection_finish)
{
	ck_assert_uint_eq(disconnect_in(DAT_EP_STATE_CONNECTED, DAT_CLOSE_GRACEFUL_FLAG),
			  DAT_SUCCESS);
	ck_assert_int_eq(seen.disconnects, 1);
	ck_assert_int_eq(seen.ends, 0);
	/* It is on its way already. */
	ck_assert_uint_eq(disconnect_in(DAT_EP_STATE_DISCONNECT_PENDING, DAT_CLOSE_GRACEFUL_FLAG),
			  DAT_SUCCESS);
	expect_end(0);
	/* There is nothing to finish. */
	conn.state = DOFI_CONN_ENDING;
	ck_assert_uint_eq(disconnect_in(DAT_EP_STATE_CONNECTED, DAT_CLOSE_GRACEFUL_FLAG),
			  DAT_SUCCESS);
	expect_end(1);
	ck_assert_uint_eq(disconnect_in(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
					DAT_CLOSE_GRACEFUL_FLAG),
			  DAT_SUCCESS);
	expect_end(1);
	ck_assert_uint_eq(disconnect_in(DAT_EP_STATE_COMPLETION_PENDING, DAT_CLOSE_GRACEFUL_FLAG),
			  DAT_SUCCESS);
	expect_end(1);
}
END_TEST

START_TEST(an_ep_without_a_connection_is_not_disconnected)
{
	static const DAT_EP_STATE others[] = {DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_RESERVED,
					      DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
					      DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		ck_assert_uint_eq(disconnect_in(others[i], DAT_CLOSE_ABRUPT_FLAG),
				  dofi_ep_bad_state(others[i]));
		expect_end(0);
	}
	ck_assert_uint_eq(disconnect_in(DAT_EP_STATE_DISCONNECTED, DAT_CLOSE_ABRUPT_FLAG),
			  DAT_SUCCESS);
	expect_end(0);
	ck_assert_uint_eq(disconnect_in(DAT_EP_STATE_CONNECTED, (DAT_CLOSE_FLAGS)7),
			  DOFI_BAD_ARG(2));
	expect_end(0);
	ck_assert_uint_eq(dofi_ep_disconnect(here.pz, DAT_CLOSE_ABRUPT_FLAG), DOFI_BAD_HANDLE(EP));
}
END_TEST

START_TEST(disconnects_are_counted)
{
	disconnect_in(DAT_EP_STATE_CONNECTED, DAT_CLOSE_ABRUPT_FLAG);
	disconnect_in(DAT_EP_STATE_DISCONNECTED, DAT_CLOSE_GRACEFUL_FLAG);
	ck_assert_uint_eq(ep->counters[DOFI_CNT_EP_DISCONNECT], 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ep_connect");
	TCase *tcase = tcase_create("ep_connect");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_connection_begins_as_asked, 0, 2);
	tcase_add_test(tcase, a_connection_may_ask_for_several_paths);
	tcase_add_loop_test(tcase, private_data_may_be_absent_or_long, 0, 2);
	tcase_add_loop_test(tcase, without_memory_no_connection_begins, 0, 2);
	tcase_add_test(tcase, connect_checks_its_arguments);
	tcase_add_test(tcase, dup_connect_checks_its_arguments);
	tcase_add_loop_test(tcase, only_an_unconnected_ep_connects, 0, T_EP_STATES);
	tcase_add_loop_test(tcase, only_a_connected_ep_is_duplicated, 0, T_EP_STATES);
	tcase_add_loop_test(tcase, an_ep_without_pz_or_connect_evd_is_not_ready, 0, 2);
	tcase_add_test(tcase, an_abrupt_disconnect_ends_the_connection_at_once);
	tcase_add_test(tcase, a_graceful_disconnect_lets_a_connection_finish);
	tcase_add_test(tcase, an_ep_without_a_connection_is_not_disconnected);
	tcase_add_test(tcase, disconnects_are_counted);
	return t_run(suite);
}
