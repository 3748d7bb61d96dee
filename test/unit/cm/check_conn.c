/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections before and after they have a data path. */
#include "../../lib/t_blocks.h"
#include "progress/work.h"
#include "unit.h"

#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/conn_end.h"
#include "cm/conn_message.h"
#include "cm/connect.h"
#include "cm/disconnect.h"
#include "cm/path.h"
#include "dto/credit.h"
#include "object/ia.h"
#include "cm/service_point.h"
#include "object/transport.h"
#include "cm/upcalls.h"
#include "cm/channel.h"
#include "cm/conn_state.h"
#include "cm/wire.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/srq_count.h"
#include "base/clock.h"
#include "progress/timer.h"
#include "progress/engine.h"
#include "progress/wait.h"
#include "dto/reap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

START_TEST(messages_of_the_former_connection_do_not_count)
{
	static struct dofi_ia ia;
	struct dofi_ep ep = {.nsent = 5};
	struct dofi_conn conn = {.ia = &ia, .ep = &ep};

	dofi_lock_init(&ep.lock);
	dofi_lock(&ia.engine.lock);
	ck_assert_uint_eq(dofi_conn_sent(&conn), 0);
	conn.path_made = true;
	ck_assert_uint_eq(dofi_conn_sent(&conn), 5);
	conn.path_made = false;
	conn.ep = NULL; /* not accepted yet */
	ck_assert_uint_eq(dofi_conn_sent(&conn), 0);
}
END_TEST

/* A receive that waits for room in the fabric is no credit: the message may never find it. */
START_TEST(credits_cover_the_receives_that_the_fabric_has)
{
	struct dofi_ep ep = {.recv = {.head = 7, .issue = 8, .tail = 10}, .recv_base = 7};

	ck_assert_uint_eq(dofi_credit_total(&ep), 1);
	ep.recv.issue = 10;
	ck_assert_uint_eq(dofi_credit_total(&ep), 3);
}
END_TEST

START_TEST(credits_of_the_handshake_count_posted_receives)
{
	static struct dofi_ia ia;
	struct dofi_ep ep = {.obj.ia = &ia,
			     .recv = {.head = UINT32_MAX, .issue = UINT32_MAX, .tail = 1}};

	dofi_lock_init(&ep.lock);
	dofi_lock(&ep.lock);
	ck_assert_uint_eq(dofi_credit_start(&ep), 2);
	ck_assert_uint_eq(dofi_credit_total(&ep), 2);
	ep.recv.issue = ep.recv.tail = 2;
	ck_assert_uint_eq(dofi_credit_total(&ep), 3);
	dofi_unlock(&ep.lock);
}
END_TEST

/* --- completion data name a connection --- */

/* A peer may name any connection, also one whose endpoint is not connected yet. */
START_TEST(records_reach_a_connection_whose_peer_can_send)
{
	static const struct {
		enum dofi_conn_state state;
		bool active, path_made, hears;
	} cases[] = {
		{DOFI_CONN_DIALLING, true, false, false},
		{DOFI_CONN_REQUESTED, true, false, false},
		{DOFI_CONN_CONNECTING, true, true, false},
		{DOFI_CONN_ESTABLISHED, true, true, true},
		{DOFI_CONN_OFFERED, false, false, false},
		{DOFI_CONN_ACCEPTED, false, false, false},
		{DOFI_CONN_ACCEPTED, false, true, true}, /* the first message may overtake READY */
		{DOFI_CONN_READY_PENDING, false, true, true},
		{DOFI_CONN_ESTABLISHED, false, true, true},
		{DOFI_CONN_LINGERING, false, true, false},
	};
	static struct dofi_ia ia;
	struct dofi_srq srq = {.obj.ia = &ia}, other_srq = srq;
	struct dofi_ep ep = {.srq = &srq};
	struct dofi_conn conn = {.ia = &ia, .id = 1, .ep = &ep}, *table[2] = {NULL, &conn};

	ia.cm.conns = table;
	ia.cm.conns_size = 2;
	dofi_lock(&ia.engine.lock);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conn.state = cases[i].state;
		conn.active = cases[i].active;
		conn.path_made = cases[i].path_made;
		ck_assert_ptr_eq(dofi_conn_ep(&ia, 1), cases[i].hears ? &ep : NULL);
		ck_assert_ptr_eq(dofi_cm_upcalls.receiver(&srq, 1), cases[i].hears ? &ep : NULL);
		ck_assert_ptr_null(dofi_cm_upcalls.receiver(&other_srq, 1));
	}
	conn.state = DOFI_CONN_ENDING;
	conn.ended_in = DOFI_CONN_CONNECTING;
	conn.active = true;
	ck_assert_ptr_null(dofi_conn_ep(&ia, 1));
	ck_assert_ptr_null(dofi_conn_ep(&ia, 0));
	ck_assert_ptr_null(dofi_cm_upcalls.receiver(&srq, 0));
}
END_TEST

/* The receives of an SRQ that were under way may complete until the EP is freed. */
START_TEST(an_end_that_lingers_still_takes_messages)
{
	static struct dofi_ia ia;
	struct dofi_srq srq = {.obj.ia = &ia};
	struct dofi_ep ep = {.srq = &srq};
	struct dofi_conn conn = {.ia = &ia, .id = 1, .ep = &ep, .path_made = true},
			 *table[2] = {NULL, &conn};

	ia.cm.conns = table;
	ia.cm.conns_size = 2;
	conn.state = DOFI_CONN_LINGERING;
	dofi_lock(&ia.engine.lock);
	conn.end_event = DAT_CONNECTION_EVENT_DISCONNECTED;
	ck_assert_ptr_eq(dofi_cm_upcalls.receiver(&srq, 1), &ep);
	conn.end_event = 0;
	ck_assert_ptr_null(dofi_cm_upcalls.receiver(&srq, 1));
	conn.end_event = DAT_CONNECTION_EVENT_DISCONNECTED;
	conn.ep = NULL;
	ck_assert_ptr_null(dofi_cm_upcalls.receiver(&srq, 1));
}
END_TEST

/* What a lower room asks of a connection. */
START_TEST(a_connection_is_over_when_its_end_is_carried_out)
{
	static const enum dofi_conn_state over[] = {DOFI_CONN_LINGERING, DOFI_CONN_RELEASING,
						    DOFI_CONN_ENDED};
	struct dofi_conn conn = {.state = DOFI_CONN_ESTABLISHED};
	struct dofi_ep ep = {.conn = &conn};

	ck_assert(!dofi_cm_upcalls.is_over(&ep));
	conn.state = DOFI_CONN_ENDING;
	ck_assert(!dofi_cm_upcalls.is_over(&ep));
	for (int i = 0; i < 3; i++) {
		conn.state = over[i];
		ck_assert(dofi_cm_upcalls.is_over(&ep));
		ck_assert(dofi_conn_is_ending(&conn));
	}
	ep.conn = NULL;
	ck_assert(!dofi_cm_upcalls.is_over(&ep));
}
END_TEST

/* --- capabilities of the peer --- */

START_TEST(details_tell_the_atomic_operations_of_the_device)
{
	static struct dofi_ctx cache[DOFI_RCACHE_SIZE];
	static struct dofi_ia ia;
	static struct dofi_chan chan = {.ia = &ia};
	struct dofi_ep ep = {.obj.ia = &ia, .rcache = cache};
	struct dofi_conn conn = {.ia = &ia, .ep = &ep, .chan = &chan};

	dofi_lock_init(&ep.lock);
	dofi_lock(&ia.engine.lock);
	dofi_conn_path_made(&conn);
	ck_assert(!ep.peer.atomics);
	conn.peer_flags = DOFI_MSG_F_ATOMICS;
	dofi_conn_path_made(&conn);
	ck_assert(ep.peer.atomics);
}
END_TEST

/* --- accepted connections: their data path comes in time or not --- */

#define BURST 300u
#define LIMIT UINT64_C(10000000000)

static struct dofi_ia burst_ia = {.name = "test",
				  .params = {.handshake_ms = LIMIT / 1000000,
					     .max_peer_requests = 4096}};
static struct dofi_chan burst_chan = {.ia = &burst_ia, .state = DOFI_CHAN_DEAD};
static struct dofi_pz pz;
static struct dofi_ep eps[BURST + 1];
static struct dofi_conn *conns[BURST + 1];
static uint32_t nconns;
static uint64_t now = 1000000;

uint64_t __wrap_dofi_now(void);
enum dofi_reason __wrap_dofi_sp_offer(struct dofi_conn *conn, const struct sockaddr *from);
void __wrap_dofi_wait_kick(struct dofi_ia *ia);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

enum dofi_reason __wrap_dofi_sp_offer(struct dofi_conn *conn, const struct sockaddr *from)
{
	(void)from;
	conns[nconns] = conn;
	return DOFI_REASON_NONE;
}

void __wrap_dofi_wait_kick(struct dofi_ia *ia)
{
	(void)ia;
}

static int expect(struct dofi_conn *conn)
{
	(void)conn;
	return 0;
}

static unsigned int prepared, undone, dialled;

static void prepare(struct dofi_conn *conn)
{
	ck_assert_int_eq(conn->state, DOFI_CONN_REQUESTED);
	prepared++;
}

static void disconnect(struct dofi_conn *conn)
{
	ck_assert_ptr_nonnull(conn->chan); /* the channel of its peer */
	undone++;
}

static const struct dofi_trans_ops trans = {.expect = expect,
					    .prepare = prepare,
					    .disconnect = disconnect};

int __wrap_dofi_chan_dial(struct dofi_conn *conn, const struct sockaddr *remote, uint16_t port);

int __wrap_dofi_chan_dial(struct dofi_conn *conn, const struct sockaddr *remote, uint16_t port)
{
	(void)remote;
	(void)port;
	dialled++;
	conn->chan = &burst_chan;
	dofi_list_add_tail(&burst_chan.conns, &conn->link);
	return 0;
}

static void setup(void)
{
	struct dofi_engine *e = &burst_ia.engine;

	dofi_lock_init(&e->lock);
	dofi_lock(&e->lock);
	dofi_work_init(e);
	dofi_list_init(&burst_chan.conns);
	burst_ia.trans = &trans;
	burst_ia.up = &dofi_cm_upcalls;
}

/* A peer asks for a connection, and the consumer accepts. */
static void accept_one(void)
{
	const struct dofi_msg request = {.type = DOFI_MSG_REQUEST, .src = nconns + 1};
	struct dofi_ep *ep = &eps[nconns];

	ep->obj.ia = &burst_ia;
	ep->pz = &pz;
	dofi_lock_init(&ep->lock);
	dofi_conn_message(&burst_chan, &request);
	ck_assert_ptr_nonnull(conns[nconns]);
	dofi_conn_accept(conns[nconns], ep, NULL, 0);
	nconns++;
}

static void accept_all(uint32_t n)
{
	while (nconns < n)
		accept_one();
}

/* The fabric and the peer report that the data path exists. */
static void make(struct dofi_conn *conn)
{
	const struct dofi_msg ready = {.type = DOFI_MSG_READY, .dst = conn->id};

	conn->path_made = true;
	dofi_conn_path_up(conn);
	dofi_conn_message(&burst_chan, &ready);
	ck_assert_int_eq(conn->state, DOFI_CONN_ESTABLISHED);
}

/* Fires the timers that are due until then. */
static void pass(uint64_t until)
{
	struct dofi_timer *timer;

	while ((timer = burst_ia.engine.timers) && timer->deadline <= until) {
		if (timer->deadline > now)
			now = timer->deadline;
		dofi_timer_cancel(&burst_ia, timer);
		timer->fire(timer);
	}
	now = until;
}

START_TEST(a_slow_burst_of_connections_succeeds)
{
	accept_all(BURST);
	for (uint32_t i = 0; i < BURST; i++) {
		pass(now + LIMIT - 1);
		/* Out of order: the second of each pair first. */
		make(conns[i ^ 1]);
	}
	for (uint32_t i = 0; i < BURST; i++)
		ck_assert(!dofi_conn_is_ending(conns[i]));
	ck_assert_uint_eq(burst_ia.cm.nlinking, 0);
}
END_TEST

START_TEST(time_of_a_data_path_counts_from_the_last_success)
{
	uint64_t began = now;

	accept_all(2);
	pass(began + LIMIT / 2);
	dofi_conn_proceeds(conns[0]);
	pass(began + LIMIT + LIMIT / 2 - 1);
	ck_assert(!dofi_conn_is_ending(conns[0]) && !dofi_conn_is_ending(conns[1]));
	pass(began + LIMIT + LIMIT / 2);
	ck_assert(dofi_conn_is_ending(conns[0]) && dofi_conn_is_ending(conns[1]));
}
END_TEST

START_TEST(a_single_data_path_that_never_comes_is_given_up)
{
	accept_one();
	pass(now + LIMIT - 1);
	ck_assert(!dofi_conn_is_ending(conns[0]));
	pass(now + 1);
	ck_assert(dofi_conn_is_ending(conns[0]));
	ck_assert_uint_eq(conns[0]->end_event, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	ck_assert_int_eq(conns[0]->end_reason, DOFI_REASON_ERROR); /* the peer gets this reason */
}
END_TEST

/* One data path comes up in each second, without end. */
START_TEST(other_successes_do_not_keep_a_data_path_that_never_comes)
{
	uint64_t began = now;

	accept_one();
	while (nconns <= BURST && !dofi_conn_is_ending(conns[0])) {
		accept_one();
		pass(now + LIMIT / 10);
		make(conns[nconns - 1]);
	}
	ck_assert(dofi_conn_is_ending(conns[0]));
	ck_assert_uint_ge(now - began, LIMIT);
	ck_assert_uint_le(now - began, 2 * LIMIT);
}
END_TEST

/* Three steps for each connection that waits when the time is over for the first time. */
START_TEST(the_steps_of_others_extend_the_time_within_a_limit)
{
	uint64_t began = now;

	accept_all(2);
	pass(began + LIMIT / 2);
	dofi_conn_proceeds(conns[1]);
	pass(began + LIMIT);
	ck_assert(!dofi_conn_is_ending(conns[0]));
	for (int i = 0; i < 5 + _i; i++)
		dofi_conn_proceeds(conns[1]);
	pass(began + LIMIT + LIMIT / 2);
	ck_assert_int_eq(dofi_conn_is_ending(conns[0]), _i);
}
END_TEST

START_TEST(a_lost_path_is_given_up_without_delay)
{
	accept_all(2);
	dofi_conn_path_up(conns[0]);
	dofi_conn_path_down(conns[0], 0);
	dofi_conn_path_up(conns[1]);
	pass(now + 5 * UINT64_C(1000000000));
	ck_assert(dofi_conn_is_ending(conns[0]));
	ck_assert(!dofi_conn_is_ending(conns[1]));
}
END_TEST

/* Neither number nor token tells those of the next connection. */
START_TEST(numbers_do_not_follow_each_other)
{
	uint32_t numbers = 0, tags = 0;

	accept_all(BURST);
	for (uint32_t i = 1; i < BURST; i++) {
		uint32_t former = conns[i - 1]->id, id = conns[i]->id;

		ck_assert_uint_eq(id & ~DOFI_CONN_ID_MASK, 0);
		numbers += (id > former ? id - former : former - id) < 1u << 12;
		tags += dofi_token_tag(conns[i]->token) == dofi_token_tag(conns[i - 1]->token);
	}
	ck_assert_uint_lt(numbers, 2); /* one may by chance */
	ck_assert_uint_eq(tags, 0);
}
END_TEST

/* A number alone is not enough where a secret belongs to it. */
/* A request has failed, and has the error. */
START_TEST(a_failed_request_breaks_the_connection)
{
	accept_one();
	make(conns[0]);
	dofi_cm_upcalls.broken(conns[0]);
	ck_assert_int_eq(conns[0]->state, DOFI_CONN_ENDING);
	ck_assert_uint_eq(conns[0]->end_event, DAT_CONNECTION_EVENT_BROKEN);
	ck_assert_int_eq(conns[0]->end_status, DAT_DTO_ERR_FLUSHED);
	ck_assert_int_eq(conns[0]->end_reason, DOFI_REASON_ERROR);
}
END_TEST

START_TEST(only_its_secret_finds_a_connection)
{
	uint32_t secret;

	accept_one();
	secret = dofi_token_secret(conns[0]->token);
	ck_assert_ptr_eq(dofi_conn_by_secret(&burst_ia, conns[0]->id, secret), conns[0]);
	for (unsigned int bit = 0; bit < 32; bit++)
		ck_assert_ptr_null(
			dofi_conn_by_secret(&burst_ia, conns[0]->id, secret ^ 1u << bit));
}
END_TEST

/* A data connection brings its token. An unknown or used token finds no connection. */
START_TEST(only_the_token_finds_a_connection)
{
	uint8_t token[DOFI_TOKEN_SIZE];

	accept_all(2);
	memcpy(token, conns[0]->token, sizeof(token));
	ck_assert_ptr_eq(dofi_conn_by_token(&burst_ia, token), conns[0]);
	for (unsigned int bit = 0; bit < 8 * DOFI_TOKEN_SIZE; bit++) {
		token[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_ptr_null(dofi_conn_by_token(&burst_ia, token));
		token[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	conns[0]->active = true; /* connections that we began have no token */
	ck_assert_ptr_null(dofi_conn_by_token(&burst_ia, token));
	conns[0]->active = false;
	make(conns[0]);
	ck_assert_ptr_null(dofi_conn_by_token(&burst_ia, token));
	ck_assert_ptr_eq(dofi_conn_by_token(&burst_ia, conns[1]->token), conns[1]);
	dofi_conn_end(conns[1], DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, DOFI_REASON_ERROR);
	ck_assert(dofi_conn_is_ending(conns[1]));
	ck_assert_ptr_null(dofi_conn_by_token(&burst_ia, conns[1]->token));
}
END_TEST

/* A peer uses the number of another peer's connection. */
START_TEST(only_the_peer_of_a_connection_may_speak_for_it)
{
	static const uint8_t types[] = {DOFI_MSG_CANCEL, DOFI_MSG_BYE, DOFI_MSG_READY};
	struct dofi_chan other = {.ia = &burst_ia, .state = DOFI_CHAN_DEAD};
	struct dofi_msg msg = {.reason = DOFI_REASON_DISCONNECT};

	dofi_list_init(&other.conns);
	accept_one();
	conns[0]->path_made = true;
	dofi_conn_path_up(conns[0]);
	msg.dst = conns[0]->id;
	for (size_t i = 0; i < sizeof(types); i++) {
		msg.type = types[i];
		dofi_conn_message(&other, &msg);
		ck_assert(!dofi_conn_is_ending(conns[0]));
		ck_assert_int_ne(conns[0]->state, DOFI_CONN_ESTABLISHED);
		ck_assert(!conns[0]->peer_told);
	}
	dofi_conn_message(&burst_chan, &msg);
	ck_assert_int_eq(conns[0]->state, DOFI_CONN_ESTABLISHED);
}
END_TEST

/* An endpoint that was opened for one peer is not used for another one. */
START_TEST(another_peer_gets_another_endpoint)
{
	const struct sockaddr_in remote = {.sin_family = AF_INET};
	struct dofi_msg no = {.type = DOFI_MSG_REJECT, .reason = DOFI_REASON_NOT_MINE};
	struct dofi_conn *conn;

	eps[0].obj.ia = &burst_ia;
	eps[0].pz = &pz;
	dofi_lock_init(&eps[0].lock);
	ck_assert_int_eq(dofi_conn_start(&eps[0], (const struct sockaddr *)&remote, 1u << 20,
					 DOFI_FOREVER, NULL, 0),
			 0);
	conn = eps[0].conn;
	no.dst = conn->id;
	for (unsigned int n = 1; n < 4; n++) {
		ck_assert_uint_eq(dialled, n);
		dofi_conn_chan_up(conn);
		ck_assert_uint_eq(prepared, n);
		ck_assert_uint_eq(undone, n - 1);
		dofi_conn_message(&burst_chan, &no);
	}
	ck_assert_uint_eq(undone, 3);
}
END_TEST

/* The peer has left, and one of its messages has not arrived yet. */
START_TEST(completions_are_watched_for_messages_that_goodbye_overtook)
{
	static struct dofi_conn *table[64];
	static struct dofi_ia ia;
	struct dofi_ep ep = {.obj.ia = &ia, .path_up = true, .recv = {.tail = 1}};
	struct dofi_msg bye = {.type = DOFI_MSG_BYE,
			       .dst = 1,
			       .data = 1,
			       .reason = DOFI_REASON_DISCONNECT};
	struct dofi_chan chan = {.ia = &ia};
	struct dofi_conn *conn = table[1] = calloc(1, sizeof(*conn));

	ia.cm.conns = table;
	ia.cm.conns_size = 64;
	ia.cm.nconns = 1;
	*conn = (struct dofi_conn){
		.ia = &ia, .chan = &chan, .ep = &ep, .id = 1, .state = DOFI_CONN_ESTABLISHED};
	dofi_lock(&ia.engine.lock);
	for (int i = 0; i < 2; i++) {
		dofi_conn_message(&chan, &bye);
		ck_assert_int_eq(conn->bye, DOFI_REASON_DISCONNECT);
		ck_assert_uint_eq(ia.wait.watchers, 1);
	}
	conn->chan = NULL;
	dofi_conn_free(conn);
	ck_assert_uint_eq(ia.wait.watchers, 0);
	dofi_unlock(&ia.engine.lock);
}
END_TEST

/*
 * A request has failed, and the engine has not handled the EP yet. A graceful end must become an
 * abrupt one.
 */
START_TEST(a_failed_request_makes_the_end_abrupt)
{
	static struct dofi_ia ia;
	static struct dofi_chan chan = {.ia = &ia};
	struct dofi_conn conn = {.ia = &ia, .state = DOFI_CONN_DRAINING, .said_no_recv = true};
	struct dofi_ep ep = {.obj.ia = &ia, .conn = &conn, .path_up = true, .faulty = true};

	conn.ep = &ep;
	conn.chan = &chan;
	dofi_work_init(&ia.engine);
	dofi_lock(&ia.engine.lock);
	dofi_lock(&ep.lock);
	dofi_conn_drained(&ep);
	ck_assert(!dofi_conn_is_ending(&conn));
	ep.faulty = false;
	dofi_conn_drained(&ep);
	ck_assert(dofi_conn_is_ending(&conn));
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
}
END_TEST

/* --- how a connection begins and ends --- */

/* What the next numbers are made of; then there are no random numbers. NULL: real ones. */
static const uint32_t *randoms;
static int nrandoms, ndraws;

int __real_dofi_random(void *bytes, size_t size);
int __wrap_dofi_random(void *bytes, size_t size);

int __wrap_dofi_random(void *bytes, size_t size)
{
	ndraws++;
	if (!randoms)
		return __real_dofi_random(bytes, size);
	if (!nrandoms--)
		return -EIO;
	ck_assert_uint_eq(size, DOFI_TOKEN_SIZE);
	memset(bytes, 0x5a, size);
	memcpy(bytes, randoms++, sizeof(*randoms));
	return 0;
}

static struct dofi_conn *begin(uint32_t random)
{
	struct dofi_conn *conn;

	randoms = &random;
	nrandoms = 1;
	conn = dofi_conn_new(&burst_ia, DOFI_CONN_OFFERED);
	randoms = NULL;
	return conn;
}

/* 0 is none. Numbers with the same place in the table cannot exist together. */
START_TEST(a_number_is_free)
{
	const uint32_t drawn[] = {0, 0xe0000000, 3 + 64, 0xe0000005};
	struct dofi_conn *first = begin(3), *conn;
	uint8_t expected[DOFI_TOKEN_SIZE];
	uint32_t id = htonl(5);

	ck_assert_uint_eq(first->id, 3);
	ndraws = 0;
	randoms = drawn;
	nrandoms = 4;
	conn = dofi_conn_new(&burst_ia, DOFI_CONN_DIALLING);
	ck_assert_ptr_nonnull(conn);
	ck_assert_int_eq(ndraws, 4);
	ck_assert_uint_eq(conn->id, 5);
	memset(expected, 0x5a, sizeof(expected));
	memcpy(expected, &id, sizeof(id));
	ck_assert_mem_eq(conn->token, expected, sizeof(expected));
	ck_assert_ptr_eq(dofi_conn_by_id(&burst_ia, 3), first);
	ck_assert_ptr_eq(dofi_conn_by_id(&burst_ia, 5), conn);
	ck_assert_ptr_null(dofi_conn_by_id(&burst_ia, 5 + 64));
	ck_assert(conn->active && !first->active);
	ck_assert_int_eq(conn->reserved_port, -1);
}
END_TEST

static void expect_none(unsigned int blocks)
{
	ck_assert_uint_eq(t_nblocks, blocks);
	ck_assert_uint_eq(burst_ia.cm.nconns, 0);
	for (uint32_t i = 0; i < burst_ia.cm.conns_size; i++)
		ck_assert_ptr_null(burst_ia.cm.conns[i]);
}

START_TEST(a_connection_that_cannot_be_made_leaves_nothing)
{
	unsigned int blocks = t_nblocks;

	t_blocks_left = 0; /* for the table */
	ck_assert_ptr_null(dofi_conn_new(&burst_ia, DOFI_CONN_DIALLING));
	ck_assert_uint_eq(burst_ia.cm.conns_size, 0);
	expect_none(blocks);
	t_blocks_left = 1; /* for the connection */
	ck_assert_ptr_null(dofi_conn_new(&burst_ia, DOFI_CONN_DIALLING));
	t_blocks_left = -1;
	expect_none(blocks + 1);
	randoms = &(const uint32_t){0};
	nrandoms = 0;
	ck_assert_ptr_null(dofi_conn_new(&burst_ia, DOFI_CONN_DIALLING));
	expect_none(blocks + 1);
}
END_TEST

START_TEST(an_attempt_without_memory_leaves_the_ep_as_it_is)
{
	const struct sockaddr_in remote = {.sin_family = AF_INET};

	eps[0].obj.ia = &burst_ia;
	dofi_lock_init(&eps[0].lock);
	t_blocks_left = 0;
	ck_assert_int_eq(dofi_conn_start(&eps[0], (const struct sockaddr *)&remote, 1u << 20,
					 DOFI_FOREVER, NULL, 0),
			 -ENOMEM);
	ck_assert_ptr_null(eps[0].conn);
	ck_assert_int_ne((int)eps[0].state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_CONNECT], 0);
	ck_assert_uint_eq(dialled, 0);
}
END_TEST

/* At least half of its places are free, so a free number is found soon. */
START_TEST(the_table_of_numbers_grows)
{
	unsigned int blocks = t_nblocks;

	for (nconns = 0; nconns < BURST; nconns++) {
		conns[nconns] = dofi_conn_new(&burst_ia, DOFI_CONN_DIALLING);
		ck_assert_ptr_nonnull(conns[nconns]);
		ck_assert_uint_eq(burst_ia.cm.nconns, nconns + 1);
		ck_assert_uint_eq(t_nblocks, blocks + nconns + 2);
		if (nconns == 31)
			ck_assert_uint_eq(burst_ia.cm.conns_size, 64);
		else if (nconns == 32)
			ck_assert_uint_eq(burst_ia.cm.conns_size, 128);
	}
	ck_assert_uint_eq(burst_ia.cm.conns_size, 1024);
	for (uint32_t i = 0; i < BURST; i++)
		ck_assert_ptr_eq(dofi_conn_by_id(&burst_ia, conns[i]->id), conns[i]);
	while (nconns)
		dofi_conn_free(conns[--nconns]);
	expect_none(blocks + 1);
}
END_TEST

START_TEST(a_table_that_cannot_grow_stays)
{
	struct dofi_conn *first = begin(64); /* in the first place */

	for (uint32_t i = 1; i < 32; i++)
		ck_assert_ptr_nonnull(begin(i));
	t_blocks_left = 0;
	ck_assert_ptr_null(begin(40));
	t_blocks_left = -1;
	ck_assert_uint_eq(burst_ia.cm.conns_size, 64);
	ck_assert_ptr_eq(dofi_conn_by_id(&burst_ia, 64), first);
	ck_assert_ptr_nonnull(begin(40));
	ck_assert_uint_eq(burst_ia.cm.conns_size, 128);
	ck_assert_ptr_eq(dofi_conn_by_id(&burst_ia, 64), first);
	dofi_conn_free(first);
	first = begin(128);
	ck_assert_ptr_nonnull(begin(70));
	ck_assert_ptr_eq(dofi_conn_by_id(&burst_ia, 128), first);
}
END_TEST

static void never(struct dofi_timer *timer)
{
	(void)timer;
}

START_TEST(a_connection_that_is_freed_leaves_nothing)
{
	struct dofi_conn *conn = begin(3);
	unsigned int blocks = t_nblocks;

	conn->chan = &burst_chan;
	dofi_list_add_tail(&burst_chan.conns, &conn->link);
	dofi_timer_set(&burst_ia, &conn->timer, now + 5);
	conn->redial.timer.fire = never;
	dofi_timer_set(&burst_ia, &conn->redial.timer, now + 6);
	dofi_act_end(conn, NULL);
	dofi_conn_watch(conn);
	dofi_conn_watch(conn);
	dofi_conn_repeated(conn);
	dofi_conn_repeated(conn);
	ck_assert_uint_eq(burst_ia.wait.watchers, 1);
	ck_assert_uint_eq(burst_ia.cm.nrepeated, 1);
	dofi_conn_free(conn);
	ck_assert_ptr_null(burst_ia.engine.timers);
	ck_assert(dofi_list_empty(&burst_ia.engine.work));
	ck_assert(dofi_list_empty(&burst_chan.conns));
	ck_assert_uint_eq(burst_ia.wait.watchers, 0);
	ck_assert_uint_eq(burst_ia.cm.nrepeated, 0);
	ck_assert_ptr_null(dofi_conn_by_id(&burst_ia, 3));
	expect_none(blocks - 1);
}
END_TEST

/* Longer private data cannot come by the wire; a message of the program itself is cut. */
START_TEST(private_data_fit)
{
	static const uint8_t data[DOFI_MAX_PRIVATE + 1] = {1, [DOFI_MAX_PRIVATE - 1] = 2, 3};
	static struct dofi_conn conn;

	dofi_conn_set_private(&conn, data, DOFI_MAX_PRIVATE + 1);
	ck_assert_uint_eq(conn.private_size, DOFI_MAX_PRIVATE);
	ck_assert_mem_eq(conn.private_data, data, DOFI_MAX_PRIVATE);
	ck_assert_ptr_null(conn.fep);
	dofi_conn_set_private(&conn, NULL, 0);
	ck_assert_uint_eq(conn.private_size, 0);
}
END_TEST

static const struct dofi_conn *left;
static int looks; /* reads of the queue before GOODBYE is handled */

static ssize_t look(struct fid_cq *cq, void *entries, size_t count)
{
	(void)cq;
	(void)entries;
	(void)count;
	looks += !left->peer_told;
	return -FI_EAGAIN;
}

/*
 * The path is down, the peer has left, and a truncated message may be the missing one: other peers
 * have not answered yet.
 */
START_TEST(an_end_waits_for_answers_about_a_truncated_message)
{
	static struct fi_ops_cq look_ops = {.size = sizeof(look_ops), .read = look};
	static struct fid_cq cq = {.ops = &look_ops};
	static struct dofi_conn *table[64];
	static struct dofi_ia ia;
	struct dofi_srq srq = {.obj.ia = &ia};
	struct dofi_ep ep = {.obj.ia = &ia, .srq = &srq};
	struct dofi_msg bye = {.type = DOFI_MSG_BYE,
			       .dst = 1,
			       .data = 1,
			       .reason = DOFI_REASON_DISCONNECT};
	struct dofi_chan chan = {.ia = &ia};
	struct dofi_wr truncated = {.niov = 1};
	struct dofi_conn conn = {.ia = &ia,
				 .chan = &chan,
				 .ep = &ep,
				 .id = 1,
				 .state = DOFI_CONN_ESTABLISHED,
				 .count_asked = 1};
	struct dofi_conn asked = {
		.ia = &ia, .ep = &ep, .id = 2, .state = DOFI_CONN_ESTABLISHED, .count_asked = 1};

	left = table[1] = &conn;
	table[2] = &asked;
	ia.up = &dofi_cm_upcalls;
	ia.engine.reap = dofi_reap;
	ia.cm.conns = table;
	ia.cm.conns_size = 64;
	ia.cq = &cq;
	ia.cqs.n = 1;
	dofi_work_init(&ia.engine);
	ia.engine.has_fabric = _i != 2; /* else the process exits */
	srq.truncated = _i ? &truncated : NULL;
	dofi_lock(&ia.engine.lock);
	dofi_conn_message(&chan, &bye);
	ck_assert_int_eq(looks, _i != 2);
	ck_assert_int_eq(dofi_conn_is_ending(&conn), !_i);
	dofi_conn_path_down(&conn, 0);
	ck_assert_int_eq(dofi_conn_is_ending(&conn), !_i);
	srq.truncated = NULL;
	dofi_conn_path_down(&conn, 0);
	ck_assert(dofi_conn_is_ending(&conn));
	dofi_unlock(&ia.engine.lock);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conn");
	TCase *tc = tcase_create("conn");

	tcase_add_test(tc, messages_of_the_former_connection_do_not_count);
	tcase_add_test(tc, credits_cover_the_receives_that_the_fabric_has);
	tcase_add_test(tc, credits_of_the_handshake_count_posted_receives);
	tcase_add_test(tc, records_reach_a_connection_whose_peer_can_send);
	tcase_add_test(tc, an_end_that_lingers_still_takes_messages);
	tcase_add_test(tc, a_connection_is_over_when_its_end_is_carried_out);
	tcase_add_test(tc, details_tell_the_atomic_operations_of_the_device);
	tcase_add_test(tc, completions_are_watched_for_messages_that_goodbye_overtook);
	tcase_add_test(tc, a_failed_request_makes_the_end_abrupt);
	tcase_add_loop_test(tc, an_end_waits_for_answers_about_a_truncated_message, 0, 3);
	suite_add_tcase(suite, tc);
	tc = tcase_create("burst");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_slow_burst_of_connections_succeeds);
	tcase_add_test(tc, time_of_a_data_path_counts_from_the_last_success);
	tcase_add_test(tc, a_single_data_path_that_never_comes_is_given_up);
	tcase_add_test(tc, other_successes_do_not_keep_a_data_path_that_never_comes);
	tcase_add_loop_test(tc, the_steps_of_others_extend_the_time_within_a_limit, 0, 2);
	tcase_add_test(tc, a_lost_path_is_given_up_without_delay);
	tcase_add_test(tc, another_peer_gets_another_endpoint);
	tcase_add_test(tc, only_the_token_finds_a_connection);
	tcase_add_test(tc, numbers_do_not_follow_each_other);
	tcase_add_test(tc, a_number_is_free);
	tcase_add_test(tc, a_connection_that_cannot_be_made_leaves_nothing);
	tcase_add_test(tc, an_attempt_without_memory_leaves_the_ep_as_it_is);
	tcase_add_test(tc, the_table_of_numbers_grows);
	tcase_add_test(tc, a_table_that_cannot_grow_stays);
	tcase_add_test(tc, a_connection_that_is_freed_leaves_nothing);
	tcase_add_test(tc, private_data_fit);
	tcase_add_test(tc, a_failed_request_breaks_the_connection);
	tcase_add_test(tc, only_its_secret_finds_a_connection);
	tcase_add_test(tc, only_the_peer_of_a_connection_may_speak_for_it);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
