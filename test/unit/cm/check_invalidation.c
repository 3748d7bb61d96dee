/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A context of the peer has ended: when we answer the peer, if operations under way still use the
 * context.
 */
#include "unit.h"

#include "../../../prov/ofi/cm/channel.c"
#include "../../../prov/ofi/cm/channel_read.c"
#include "../../../prov/ofi/cm/cm.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/ctxtab.h"
#include "../../../prov/ofi/cm/conn_state.h"

#define REQUESTS 8u
#define CONTEXT  7u

static struct dofi_ia ia;
static struct dofi_chan *chan;
static struct dofi_conn conn;
static _Alignas(16) struct dofi_ep ep;
static struct dofi_wr requests[REQUESTS];
static struct dofi_ctx cache[DOFI_RCACHE_SIZE];
static int peer_fd;

void __wrap_dofi_wait_kick(struct dofi_ia *of);

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia); /* no thread sleeps here */
}

static void setup(void)
{
	int fds[2];

	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_lock_init(&ep.lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_list_init(&ia.engine.work);
	dofi_list_init(&ia.cm.chans);
	dofi_list_init(&ia.cm.dead);
	dofi_list_init(&ia.cm.binds);
	ia.engine.sock_epfd = -1;
	ia.quirks = DOFI_QUIRK_CLOSED_KEYS;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	peer_fd = fds[1];
	dofi_lock(&ia.engine.lock);
	chan = dofi_chan_new(&ia, fds[0], DOFI_CHAN_UP);
	dofi_unlock(&ia.engine.lock);
	ck_assert_ptr_nonnull(chan);
	dofi_list_add_tail(&ia.cm.chans, &chan->link);
	conn = (struct dofi_conn){.ia = &ia,
				  .chan = chan,
				  .ep = &ep,
				  .state = DOFI_CONN_ESTABLISHED};
	dofi_list_add_tail(&chan->conns, &conn.link);
	ep.obj.ia = &ia;
	ep.rcache = cache;
	ep.req = (struct dofi_ring){.base = (char *)requests,
				    .stride = sizeof(requests[0]),
				    .mask = REQUESTS - 1,
				    .fabric_iov = 1};
	dofi_lock(&ia.engine.lock);
}

static struct dofi_wr *add(enum dofi_op op, enum dofi_wr_state state, uint32_t context)
{
	struct dofi_wr *wr = &requests[ep.req.tail++];

	*wr = (struct dofi_wr){.ep = &ep,
			       .op = (uint8_t)op,
			       .state = (uint8_t)state,
			       .length = 64,
			       .rdma.context = context};
	wr->rdma.resolved = true;
	if (state != DOFI_WR_QUEUED)
		ep.req.issue = ep.req.tail;
	return wr;
}

static void peer_asks(uint32_t context, uint64_t number)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_INVALIDATE,
				     .context = context,
				     .number = number};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_msg(frame, &msg);

	on_message(chan, frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH);
}

static void peer_answers(uint64_t number)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_DONE, .number = number};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_msg(frame, &msg);

	on_message(chan, frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH);
}

/* Returns the number of the latest answer to the peer and clears it; 0: none. */
static uint64_t answered(void)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	ssize_t n = recv(peer_fd, frame, sizeof(frame), MSG_DONTWAIT);
	struct dofi_msg msg;
	size_t size;

	if (n <= 0)
		return 0;
	ck_assert(dofi_wire_frame(frame, (size_t)n, &size));
	ck_assert_uint_eq(size, (size_t)n); /* one answer only */
	ck_assert(dofi_wire_get_msg(frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH, &msg));
	ck_assert_int_eq(msg.type, DOFI_MSG_DONE);
	return msg.number;
}

static void next_round(void)
{
	struct dofi_list *node;

	for (uint32_t n = atomic_load(&ia.engine.nstalled); n; n--) {
		node = dofi_list_pop(&ia.engine.stalled);
		atomic_fetch_sub(&ia.engine.nstalled, 1);
		DOFI_CONTAINER(node, struct dofi_stall, link)
			->retry(DOFI_CONTAINER(node, struct dofi_stall, link));
	}
}

static const enum dofi_op ops[] = {DOFI_OP_READ, DOFI_OP_WRITE, DOFI_OP_WRITE_IMM};

START_TEST(answer_waits_for_operations_under_way)
{
	struct dofi_wr *wr = add(ops[_i], DOFI_WR_ISSUED, CONTEXT);

	peer_asks(CONTEXT, 1);
	next_round();
	ck_assert_uint_eq(answered(), 0);
	wr->state = DOFI_WR_DONE;
	next_round();
	ck_assert_uint_eq(answered(), 1);
	next_round();
	ck_assert_uint_eq(answered(), 0);
}
END_TEST

START_TEST(answer_does_not_wait_for_harmless_operations)
{
	add(DOFI_OP_WRITE, DOFI_WR_DONE, CONTEXT);
	add(DOFI_OP_WRITE, DOFI_WR_ISSUED, CONTEXT + 1);
	add(DOFI_OP_SEND, DOFI_WR_ISSUED, CONTEXT);
	add(DOFI_OP_WRITE, DOFI_WR_ISSUED, CONTEXT)->length = 0;
	add(DOFI_OP_WRITE, DOFI_WR_QUEUED, CONTEXT); /* the context will be looked up again */
	peer_asks(CONTEXT, 1);
	ck_assert_uint_eq(answered(), 1);
	ck_assert(!requests[4].rdma.resolved);
}
END_TEST

START_TEST(answer_waits_for_partly_issued_operations)
{
	struct dofi_wr *wr = add(DOFI_OP_WRITE, DOFI_WR_QUEUED, CONTEXT);

	if (_i)
		wr->rdma.step = 1;
	else
		wr->rdma.given = 1;
	peer_asks(CONTEXT, 1);
	ck_assert_uint_eq(answered(), 0);
	wr->state = DOFI_WR_DONE;
	ep.req.issue = ep.req.tail;
	next_round();
	ck_assert_uint_eq(answered(), 1);
}
END_TEST

/* An answer with a later number is also the answer to earlier ones. */
START_TEST(one_answer_for_several_invalidations)
{
	struct dofi_wr *wr = add(DOFI_OP_WRITE, DOFI_WR_ISSUED, CONTEXT);

	peer_asks(CONTEXT, 1);
	peer_asks(CONTEXT + 1, 2);
	next_round();
	ck_assert_uint_eq(answered(), 0);
	wr->state = DOFI_WR_DONE;
	next_round();
	ck_assert_uint_eq(answered(), 2);
}
END_TEST

START_TEST(no_wait_if_the_fabric_refuses_invalid_keys)
{
	ia.quirks = 0;
	add(DOFI_OP_WRITE, DOFI_WR_ISSUED, CONTEXT);
	peer_asks(CONTEXT, 1);
	ck_assert_uint_eq(answered(), 1);
}
END_TEST

START_TEST(the_channel_ends_before_the_answer)
{
	add(DOFI_OP_WRITE, DOFI_WR_ISSUED, CONTEXT);
	peer_asks(CONTEXT, 1);
	ck_assert_uint_eq(atomic_load(&ia.engine.nstalled), 1);
	dofi_chan_close(chan, 0, true);
	ck_assert_uint_eq(atomic_load(&ia.engine.nstalled), 0);
	ck_assert(dofi_list_empty(&ia.engine.stalled));
}
END_TEST

/* The peer would tell by this channel how many messages it has sent. */
START_TEST(drains_end_with_their_channel)
{
	dofi_list_init(&ia.drains);
	ia.params.max_drains = 8;
	dofi_list_del(&conn.link);
	dofi_drain_begin(&conn, 1, 0, 1, 64);
	ck_assert_uint_eq(ia.ndrains, 1);
	bury(chan);
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

/* An unexpected answer must not end the wait of a later invalidation. */
START_TEST(unexpected_answers_are_ignored)
{
	chan->asked = 3;
	chan->done = 1;
	peer_answers(4);
	ck_assert_uint_eq(chan->done, 1);
	peer_answers(UINT64_MAX);
	ck_assert_uint_eq(chan->done, 1);
	peer_answers(3);
	ck_assert_uint_eq(chan->done, 3);
	peer_answers(2);
	ck_assert_uint_eq(chan->done, 3);
}
END_TEST

/* --- an invalidation of ours --- */

/* Only a peer that has had a data path to us can have used a context, and it has none by datagrams.
 */
START_TEST(only_peers_with_a_path_are_asked)
{
	static const struct {
		enum dofi_conn_state state;
		bool path_up, ud, asked;
	} conns[] = {
		{DOFI_CONN_REQUESTED, false, false, false},
		{DOFI_CONN_ESTABLISHED, false, false, true},
		{DOFI_CONN_ACCEPTED, true, false, true},
		{DOFI_CONN_ESTABLISHED, true, true, false},
	};

	conn.state = conns[_i].state;
	ep.path_up = conns[_i].path_up;
	conn.ud = conns[_i].ud;
	ck_assert_uint_eq(dofi_chan_ask(&ia, CONTEXT), 1);
	ck_assert_uint_eq(chan->asked, conns[_i].asked);
}
END_TEST

START_TEST(a_channel_without_connections_is_not_asked)
{
	dofi_list_del(&conn.link);
	dofi_chan_ask(&ia, CONTEXT);
	ck_assert_uint_eq(chan->asked, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("invalidation");
	TCase *tc = tcase_create("invalidation");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, answer_waits_for_operations_under_way, 0,
			    sizeof(ops) / sizeof(ops[0]));
	tcase_add_test(tc, answer_does_not_wait_for_harmless_operations);
	tcase_add_loop_test(tc, answer_waits_for_partly_issued_operations, 0, 2);
	tcase_add_test(tc, one_answer_for_several_invalidations);
	tcase_add_test(tc, no_wait_if_the_fabric_refuses_invalid_keys);
	tcase_add_test(tc, the_channel_ends_before_the_answer);
	tcase_add_test(tc, drains_end_with_their_channel);
	tcase_add_test(tc, unexpected_answers_are_ignored);
	tcase_add_loop_test(tc, only_peers_with_a_path_are_asked, 0, 4);
	tcase_add_test(tc, a_channel_without_connections_is_not_asked);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
