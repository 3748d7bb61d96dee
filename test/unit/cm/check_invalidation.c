/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A context of the peer has ended: when we answer the peer, if operations under way still use the
 * context. A context of ours has ended: which peers are asked, and how long their answers are
 * waited for.
 */
#include "unit.h"

#include "../../../prov/ofi/cm/channel.c"
#include "../../../prov/ofi/cm/channel_read.c"
#include "../../../prov/ofi/cm/cm.h"
#include "../../../prov/ofi/cm/invalidation.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/dto/release.h"
#include "../../../prov/ofi/dto/rmr.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/ctxtab.h"
#include "../../../prov/ofi/cm/conn_state.h"
#include "progress/work.h"

#define REQUESTS 8u
#define CONTEXT  7u
#define FIRST    (UINT32_MAX - 1) /* of the ring: its numbers wrap behind the second request */

static struct dofi_ia ia;
static struct dofi_chan *chan;
static struct dofi_conn conn;
static struct dofi_ep ep;
static struct dofi_wr requests[REQUESTS];
static struct dofi_ctx cache[DOFI_RCACHE_SIZE];
static int peer_fd;

void __wrap_dofi_wait_kick(struct dofi_ia *of);

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia); /* no thread sleeps here */
}

/* --- the EP --- */

static uint32_t replaced; /* context that the next bind replaces; 0: none */
static int releases, issues;

uint32_t __wrap_dofi_bind_apply(struct dofi_bind *bind);
void __wrap_dofi_release_rings(struct dofi_ep *of);
void __wrap_dofi_ep_issue(struct dofi_ep *of);
int __wrap_dofi_wait_sleep(struct dofi_ia *of, _Atomic uint32_t *wakeup, uint32_t seen,
			   uint64_t deadline);

uint32_t __wrap_dofi_bind_apply(struct dofi_bind *bind)
{
	ck_assert_ptr_nonnull(bind);
	return replaced;
}

void __wrap_dofi_release_rings(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert(!ep.binding);
	releases++;
}

void __wrap_dofi_ep_issue(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	issues++;
}

static uint64_t now = 1000000000000;

uint64_t __wrap_dofi_now(void);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

/* What happens while a call sleeps; false: nothing, until the deadline. */
static bool (*while_asleep)(void);
static uint64_t asleep_until;
static int sleeps;

int __wrap_dofi_wait_sleep(struct dofi_ia *of, _Atomic uint32_t *wakeup, uint32_t seen,
			   uint64_t deadline)
{
	bool woken;

	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(wakeup, &ia.cm.wakeup);
	ck_assert_uint_eq(seen, atomic_load(wakeup)); /* of before it looked for answers */
	sleeps++;
	asleep_until = deadline;
	dofi_lock(&ia.engine.lock);
	woken = while_asleep && while_asleep();
	dofi_unlock(&ia.engine.lock);
	ck_assert(!woken || atomic_load(wakeup) != seen);
	return woken ? 0 : -ETIMEDOUT;
}

static const struct dofi_trans_ops trans;
static int reaps;

int __wrap_dofi_reap(struct dofi_ia *of);

int __wrap_dofi_reap(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	reaps++;
	return 0;
}

static void setup(void)
{
	int fds[2];

	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_lock_init(&ep.lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_work_init(&ia.engine);
	dofi_list_init(&ia.cm.chans);
	dofi_list_init(&ia.cm.dead);
	dofi_list_init(&ia.cm.binds);
	dofi_list_init(&ia.agents);
	dofi_list_init(&ia.agent_calls);
	ia.trans = &trans;
	dofi_list_init(&ia.drains);
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
				  .path_made = true,
				  .state = DOFI_CONN_ESTABLISHED};
	dofi_list_add_tail(&chan->conns, &conn.link);
	ep.obj.ia = &ia;
	ep.rcache = cache;
	ep.req = (struct dofi_ring){.base = (char *)requests,
				    .stride = sizeof(requests[0]),
				    .mask = REQUESTS - 1,
				    .head = FIRST,
				    .issue = FIRST,
				    .tail = FIRST,
				    .fabric_iov = 1};
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	ck_assert(dofi_trylock(&ep.lock)); /* each call has left it */
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
}

static struct dofi_wr *add(enum dofi_op op, enum dofi_wr_state state, uint32_t context)
{
	struct dofi_wr *wr = &requests[ep.req.tail++ & (REQUESTS - 1)];

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

static void answer_by(struct dofi_chan *of, uint64_t number)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_DONE, .number = number};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_msg(frame, &msg);

	on_message(of, frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH);
}

static void peer_answers(uint64_t number)
{
	answer_by(chan, number);
}

/* Returns the number of the latest answer to the peer and clears it; 0: none. */
static uint64_t answered(void)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	struct dofi_msg msg;
	size_t size;
	ssize_t n;

	dofi_work_run(&ia);
	n = recv(peer_fd, frame, sizeof(frame), MSG_DONTWAIT);
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
	struct dofi_wr *again;

	add(DOFI_OP_WRITE, DOFI_WR_DONE, CONTEXT);
	add(DOFI_OP_WRITE, DOFI_WR_ISSUED, CONTEXT + 1);
	add(DOFI_OP_SEND, DOFI_WR_ISSUED, CONTEXT);
	add(DOFI_OP_WRITE, DOFI_WR_ISSUED, CONTEXT)->length = 0;
	again = add(DOFI_OP_WRITE, DOFI_WR_QUEUED, CONTEXT);
	peer_asks(CONTEXT, 1);
	ck_assert_uint_eq(answered(), 1);
	ck_assert(!again->rdma.resolved); /* the context will be looked up again */
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

/* Its last part goes out later, by the same key. */
START_TEST(answer_waits_for_writes_whose_last_part_is_due)
{
	struct dofi_wr *wr = add(DOFI_OP_WRITE, DOFI_WR_ISSUED, CONTEXT);

	ia.quirks = 0;
	ia.order = DOFI_HOLD;
	wr->niov = 2;
	wr->rdma.given = 1;
	peer_asks(CONTEXT, 1);
	ck_assert_uint_eq(answered(), 0);
	wr->rdma.given = 2;
	next_round();
	ck_assert_uint_eq(answered(), 0);
	wr->state = DOFI_WR_DONE;
	next_round();
	ck_assert_uint_eq(answered(), 1);
}
END_TEST

START_TEST(no_wait_if_the_fabric_refuses_invalid_keys)
{
	struct dofi_wr *wr = add(DOFI_OP_WRITE, DOFI_WR_ISSUED, CONTEXT);

	ia.quirks = 0;
	ia.order = _i ? DOFI_HOLD : DOFI_ORDERED;
	wr->niov = 2;
	wr->rdma.given = _i ? 2 : 0;
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
	peer_asks(CONTEXT, 2); /* is no answer */
	ck_assert_uint_eq(chan->done, 1);
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

/*
 * Only a peer that has had a data path to us can have used a context, and it has none by datagrams.
 * While this side lingers it posts nothing, but the peer has not got BYE and may use contexts.
 */
START_TEST(only_peers_with_a_path_are_asked)
{
	static const struct {
		enum dofi_conn_state state;
		bool path_made, path_up, ud, asked;
	} conns[] = {
		{DOFI_CONN_REQUESTED, false, false, false, false},
		{DOFI_CONN_ACCEPTED, true, true, false, true},
		{DOFI_CONN_PATH_LOST, true, false, false, true},
		{DOFI_CONN_ESTABLISHED, true, true, false, true},
		{DOFI_CONN_ESTABLISHED, true, true, true, false},
		{DOFI_CONN_GOODBYE_PENDING, true, false, false, true},
		{DOFI_CONN_LINGERING, true, false, false, true},
		{DOFI_CONN_LINGERING, false, false, false, false},
		{DOFI_CONN_RELEASING, true, false, false, true},
	};

	conn.state = conns[_i].state;
	conn.path_made = conns[_i].path_made;
	ep.path_up = conns[_i].path_up;
	conn.ud = conns[_i].ud;
	ck_assert_uint_eq(dofi_chan_ask(&ia, CONTEXT, true), 1);
	ck_assert_uint_eq(chan->asked, conns[_i].asked);
}
END_TEST

START_TEST(a_channel_without_connections_is_not_asked)
{
	dofi_list_del(&conn.link);
	dofi_chan_ask(&ia, CONTEXT, true);
	ck_assert_uint_eq(chan->asked, 0);
}
END_TEST

/* Of a context that is not announced, only peers over shared memory keep the entry. */
START_TEST(an_unannounced_context_is_asked_for_over_shared_memory)
{
	ia.local_trans = _i ? &trans : NULL;
	conn.over_memory = _i == 2;
	ck_assert_uint_eq(dofi_chan_ask(&ia, CONTEXT, false), 1);
	ck_assert_uint_eq(chan->asked, _i == 2 ? 1 : 0);
	ck_assert_int_eq(dofi_chan_invalidated(&ia, 1), _i != 2);
}
END_TEST

/* A second peer, with a connection of its own. */
static struct dofi_chan *add_peer(void)
{
	static struct dofi_conn other_conn;
	struct dofi_chan *other;
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	other = dofi_chan_new(&ia, fds[0], DOFI_CHAN_UP);
	ck_assert_ptr_nonnull(other);
	dofi_list_add_tail(&ia.cm.chans, &other->link);
	other_conn = conn;
	other_conn.chan = other;
	dofi_list_add_tail(&other->conns, &other_conn.link);
	return other;
}

/* --- subscriptions --- */

static void peer_says(enum dofi_msg_type type, uint32_t context)
{
	const struct dofi_msg msg = {.type = (uint8_t)type, .context = context};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_msg(frame, &msg);

	on_message(chan, frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH);
}

/* Returns the context of the message to the peer; 0: there is none. */
static uint32_t told(enum dofi_msg_type type)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	struct dofi_msg msg;
	ssize_t n;

	dofi_work_run(&ia);
	n = recv(peer_fd, frame, sizeof(frame), MSG_DONTWAIT);
	if (n <= 0)
		return 0;
	ck_assert(dofi_wire_get_msg(frame + DOFI_WIRE_LENGTH, (size_t)n - DOFI_WIRE_LENGTH, &msg));
	ck_assert_int_eq(msg.type, type);
	return msg.context;
}

static bool is_valid;

bool __wrap_dofi_ctxtab_subscribe(struct dofi_ctxtab *tab, uint32_t context);

bool __wrap_dofi_ctxtab_subscribe(struct dofi_ctxtab *tab, uint32_t context)
{
	ck_assert_ptr_eq(tab, &ia.ctxtab);
	ck_assert_uint_eq(context, CONTEXT);
	return is_valid;
}

START_TEST(the_subscription_to_a_valid_context_is_confirmed)
{
	is_valid = _i;
	peer_says(DOFI_MSG_SUBSCRIBE, CONTEXT);
	ck_assert_uint_eq(told(DOFI_MSG_SUBSCRIBED), _i ? CONTEXT : 0);
}
END_TEST

START_TEST(an_established_connection_learns_that_it_has_subscribed)
{
	static const enum dofi_conn_state states[] = {DOFI_CONN_ESTABLISHED, DOFI_CONN_CONNECTING};
	struct dofi_ctx_use *use = &ep.ctx_uses[CONTEXT % DOFI_RCACHE_SIZE];

	use->context = CONTEXT;
	conn.state = states[_i];
	peer_says(DOFI_MSG_SUBSCRIBED, CONTEXT + DOFI_RCACHE_SIZE);
	ck_assert(!use->subscribed);
	peer_says(DOFI_MSG_SUBSCRIBED, CONTEXT);
	ck_assert_int_eq(use->subscribed, !_i);
	conn.ep = NULL;
	peer_says(DOFI_MSG_SUBSCRIBED, CONTEXT);
}
END_TEST

static uint32_t subscribes(void)
{
	ep.subscribe_to = CONTEXT;
	dofi_lock(&ep.lock);
	dofi_conn_subscribe(&ep);
	dofi_unlock(&ep.lock);
	ck_assert_uint_eq(ep.subscribe_to, 0);
	return told(DOFI_MSG_SUBSCRIBE);
}

START_TEST(an_ep_subscribes_by_the_channel_of_its_connection)
{
	ep.conn = &conn;
	ck_assert_uint_eq(subscribes(), CONTEXT);
	chan->state = DOFI_CHAN_HANDSHAKE;
	ck_assert_uint_eq(subscribes(), 0);
	conn.chan = NULL;
	ck_assert_uint_eq(subscribes(), 0);
	ep.conn = NULL;
	ck_assert_uint_eq(subscribes(), 0);
}
END_TEST

/* --- a context that the peer has told of is forgotten --- */

START_TEST(a_context_is_looked_up_again)
{
	struct dofi_ctx *entry = &cache[CONTEXT % DOFI_RCACHE_SIZE];
	struct dofi_wr *queued = add(DOFI_OP_READ, DOFI_WR_QUEUED, CONTEXT),
		       *another = add(DOFI_OP_READ, DOFI_WR_QUEUED, CONTEXT + 1),
		       *half = add(DOFI_OP_WRITE, DOFI_WR_QUEUED, CONTEXT);

	ia.quirks = 0;
	half->rdma.step = 1; /* its data are gone */
	entry->context = CONTEXT;
	peer_asks(CONTEXT, 1);
	ck_assert_uint_eq(entry->context, 0);
	ck_assert(!queued->rdma.resolved);
	ck_assert(another->rdma.resolved);
	ck_assert(half->rdma.resolved);
	ck_assert_int_eq(issues, 1);
}
END_TEST

/* Another context has its place in the cache. */
START_TEST(other_contexts_stay)
{
	struct dofi_ctx *entry = &cache[CONTEXT % DOFI_RCACHE_SIZE];

	entry->context = CONTEXT + DOFI_RCACHE_SIZE;
	peer_asks(CONTEXT, 1);
	ck_assert_uint_eq(entry->context, CONTEXT + DOFI_RCACHE_SIZE);
}
END_TEST

/* What is being read from the peer's table may be older than the end of the context. */
START_TEST(a_context_that_is_being_read_is_outdated)
{
	static const struct {
		bool peeking;
		uint32_t context;
		bool outdated;
	} cases[] = {{true, CONTEXT, true}, {true, CONTEXT + 1, false}, {false, CONTEXT, false}};

	ep.peeking = cases[_i].peeking;
	ep.aux_ctx = cases[_i].context;
	peer_asks(CONTEXT, 1);
	ck_assert_int_eq(ep.peek_outdated, cases[_i].outdated);
}
END_TEST

START_TEST(only_an_established_connection_has_contexts)
{
	struct dofi_ctx *entry = &cache[CONTEXT % DOFI_RCACHE_SIZE];

	entry->context = CONTEXT;
	conn.state = DOFI_CONN_CONNECTING;
	peer_asks(CONTEXT, 1);
	ck_assert_uint_eq(entry->context, CONTEXT);
	ck_assert_uint_eq(answered(), 1);
	conn.ep = NULL; /* the consumer has not answered the request */
	peer_asks(CONTEXT, 2);
	ck_assert_uint_eq(answered(), 2);
}
END_TEST

static struct dofi_wr *post_bind(void)
{
	struct dofi_wr *wr = add(DOFI_OP_BIND, DOFI_WR_ISSUED, 0);

	dofi_lock(&ep.lock);
	dofi_conn_apply_bind(&ep, wr);
	dofi_unlock(&ep.lock);
	return wr;
}

static void ask_for_bind(void)
{
	dofi_lock(&ep.lock);
	dofi_conn_ask_for_bind(&ep);
	dofi_unlock(&ep.lock);
}

static void be_bound(void)
{
	dofi_list_init(&ep.bind_link);
	ia.params.handshake_ms = 5000;
	replaced = CONTEXT;
}

/* --- a call waits until the peers have forgotten a context --- */

static void invalidate(void)
{
	dofi_unlock(&ia.engine.lock);
	dofi_chan_invalidate(&ia, CONTEXT, true);
	dofi_lock(&ia.engine.lock);
}

static bool peer_wakes(void)
{
	peer_answers(chan->asked);
	return true;
}

static bool peer_dies(void)
{
	dofi_list_del(&conn.link);
	dofi_chan_close(chan, -ECONNRESET, false);
	return true;
}

START_TEST(a_call_waits_for_the_answer)
{
	ia.params.silent_ms = 1000;
	ia.quirks = _i ? DOFI_QUIRK_CLOSED_KEYS : 0;
	while_asleep = peer_wakes;
	invalidate();
	ck_assert_int_eq(sleeps, 1);
	ck_assert(!chan->mute);
	ck_assert_uint_eq(chan->silences, 0);
	/* Operations of peers that are gone may lie in the fabric's queue. */
	ck_assert_int_eq(reaps, _i ? 64 : 0);
}
END_TEST

START_TEST(a_call_does_not_wait_for_a_dead_peer)
{
	while_asleep = peer_dies;
	invalidate();
	ck_assert_int_eq(sleeps, 1);
}
END_TEST

START_TEST(a_call_waits_for_nobody)
{
	conn.state = DOFI_CONN_REQUESTED;
	conn.path_made = false;
	invalidate();
	ck_assert_int_eq(sleeps, 0);
	ck_assert_uint_eq(ia.cm.invalidations, 1);
}
END_TEST

/* Some other peer has answered. */
static bool other_wakes(void)
{
	if (sleeps == 1)
		answer_by(DOFI_CONTAINER(ia.cm.chans.prev, struct dofi_chan, link), 1);
	else
		peer_answers(1);
	return true;
}

/* Without a context of its own it waits for the answers about those that binds replaced. */
START_TEST(a_call_waits_for_earlier_answers)
{
	ia.params.silent_ms = 1000;
	dofi_chan_ask(&ia, CONTEXT, true);
	while_asleep = peer_wakes;
	dofi_unlock(&ia.engine.lock);
	dofi_chan_invalidate(&ia, 0, true);
	ck_assert_int_eq(sleeps, 1);
	dofi_chan_invalidate(&ia, 0, true);
	ck_assert_int_eq(sleeps, 1);
	dofi_lock(&ia.engine.lock);
	ck_assert_uint_eq(ia.cm.invalidations, 1);
}
END_TEST

static void ask(struct dofi_stall *stall)
{
	ck_assert_ptr_eq(stall, &ep.stall);
	stall->waits = false;
	dofi_chan_ask(&ia, ep.bind_replaced, true);
}

/* The engine had no time yet to ask for the context that a bind replaced. */
START_TEST(a_call_asks_what_the_engine_has_not)
{
	be_bound();
	ep.stall.retry = ask;
	post_bind();
	while_asleep = peer_wakes;
	dofi_unlock(&ia.engine.lock);
	dofi_chan_invalidate(&ia, 0, true);
	dofi_lock(&ia.engine.lock);
	ck_assert_int_eq(sleeps, 1);
	ck_assert_uint_eq(chan->done, 1);
}
END_TEST

START_TEST(a_call_waits_for_all_peers)
{
	add_peer();
	while_asleep = other_wakes;
	invalidate();
	ck_assert_int_eq(sleeps, 2);
}
END_TEST

static bool other_answers(void)
{
	if (sleeps > 1)
		return false;
	answer_by(DOFI_CONTAINER(ia.cm.chans.prev, struct dofi_chan, link), 1);
	return true;
}

START_TEST(only_the_silent_one_of_two_peers_is_mute)
{
	struct dofi_chan *other = add_peer();

	while_asleep = other_answers;
	invalidate();
	ck_assert_int_eq(sleeps, 2);
	ck_assert(chan->mute && !other->mute);
	ck_assert_uint_eq(chan->silences, 1);
	ck_assert_uint_eq(other->silences, 0);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_MUTE]), 1);
}
END_TEST

START_TEST(a_peer_is_told_the_context)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	struct dofi_msg msg;
	ssize_t n;

	ia.cm.invalidations = 40;
	ck_assert_uint_eq(dofi_chan_ask(&ia, CONTEXT, true), 41);
	dofi_work_run(&ia);
	n = recv(peer_fd, frame, sizeof(frame), MSG_DONTWAIT);
	ck_assert_int_gt(n, DOFI_WIRE_LENGTH);
	ck_assert(dofi_wire_get_msg(frame + DOFI_WIRE_LENGTH, (size_t)n - DOFI_WIRE_LENGTH, &msg));
	ck_assert_int_eq(msg.type, DOFI_MSG_INVALIDATE);
	ck_assert_uint_eq(msg.context, CONTEXT);
	ck_assert_uint_eq(msg.number, 41);
}
END_TEST

START_TEST(a_silent_peer_delays_one_call)
{
	int fd = t_capture(STDERR_FILENO);

	ia.params.silent_ms = 1000;
	invalidate();
	ck_assert_int_eq(sleeps, 1);
	ck_assert_uint_eq(asleep_until, now + 1000000000u);
	ck_assert(chan->mute);
	ck_assert_uint_eq(chan->silences, 1);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_MUTE]), 1);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "has not answered within 1000 ms"));
	invalidate();
	ck_assert_int_eq(sleeps, 1);
	ck_assert_uint_eq(chan->silences, 1);
	/* It counts again when it has answered everything. */
	peer_answers(1);
	ck_assert(chan->mute);
	peer_answers(2);
	ck_assert(!chan->mute);
	while_asleep = peer_wakes;
	invalidate();
	ck_assert_int_eq(sleeps, 2);
}
END_TEST

START_TEST(a_peer_that_is_often_silent_stays_mute)
{
	for (int i = 1; i <= 8; i++) {
		invalidate();
		ck_assert_int_eq(sleeps, i);
		ck_assert(chan->mute);
		peer_answers(chan->asked);
		ck_assert_int_eq(chan->mute, i == 8);
	}
	invalidate();
	ck_assert_int_eq(sleeps, 8);
}
END_TEST

/* A later question was not asked of this peer. */
START_TEST(a_peer_owes_answers_to_what_it_was_asked)
{
	chan->asked = 3;
	chan->done = 2;
	ck_assert(dofi_chan_invalidated(&ia, 4));
	ck_assert(!dofi_chan_invalidated(&ia, 3));
	ck_assert(dofi_chan_invalidated(&ia, 2));
	chan->state = DOFI_CHAN_HANDSHAKE;
	ck_assert(dofi_chan_invalidated(&ia, 3));
}
END_TEST

/* --- a bind that replaces a context --- */

START_TEST(a_bind_that_replaces_nothing_is_complete)
{
	struct dofi_wr *wr;

	be_bound();
	replaced = 0;
	wr = post_bind();
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
	ck_assert(!ep.binding);
	ck_assert(!ep.stall.waits);
}
END_TEST

/* The engine asks them. */
START_TEST(a_bind_waits_until_the_peers_have_forgotten)
{
	struct dofi_wr *wr, *earlier = add(DOFI_OP_SEND, DOFI_WR_ISSUED, 0), *later,
			    *former = &requests[(FIRST - 1) & (REQUESTS - 1)];

	former->op = DOFI_OP_BIND; /* its place in the ring is free again */
	former->state = DOFI_WR_ISSUED;
	be_bound();
	wr = post_bind();
	later = add(DOFI_OP_BIND, DOFI_WR_QUEUED, 0);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	ck_assert(ep.binding);
	ck_assert(ep.stall.waits);
	ck_assert_uint_eq(ep.bind_replaced, CONTEXT);
	ask_for_bind();
	ck_assert_uint_eq(ep.bind_replaced, 0);
	ck_assert_uint_eq(chan->asked, ep.bind_number);
	ck_assert_ptr_eq(ia.cm.binds.next, &ep.bind_link);
	ck_assert_uint_eq(ep.bind_limit.deadline, now + 5000000000u);
	ck_assert_ptr_eq(ia.engine.work.next, &ia.cm.answered.link); /* there may be no peer */
	dofi_conn_invalidated(&ia);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	peer_answers(ep.bind_number);
	dofi_conn_invalidated(&ia);
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
	ck_assert_int_eq(earlier->state, DOFI_WR_ISSUED);
	ck_assert_int_eq(former->state, DOFI_WR_ISSUED);
	ck_assert_int_eq(later->state, DOFI_WR_QUEUED);
	ck_assert(!ep.binding);
	ck_assert_int_eq(releases, 1);
	ck_assert_int_eq(issues, 1); /* what was posted behind it */
	ck_assert(dofi_list_empty(&ia.cm.binds));
	ck_assert_ptr_null(ia.engine.timers);
}
END_TEST

static void run_work(void)
{
	struct dofi_list *node;

	while ((node = dofi_list_pop(&ia.engine.work)))
		DOFI_CONTAINER(node, struct dofi_work, link)
			->run(DOFI_CONTAINER(node, struct dofi_work, link));
}

/* At the end of the round in which the last answer came. */
START_TEST(a_bind_completes_with_the_last_answer)
{
	memset(&ia.cm.binds, 0, sizeof(ia.cm.binds));
	ck_assert_int_eq(dofi_cm_init(&ia), 0);
	dofi_list_add_tail(&ia.cm.chans, &chan->link);
	be_bound();
	post_bind();
	ask_for_bind();
	run_work();
	ck_assert(ep.binding);
	peer_answers(ep.bind_number);
	ck_assert(ep.binding);
	run_work();
	ck_assert(!ep.binding);
	ck_assert_int_eq(issues, 1);
}
END_TEST

/* Not before, because its bind is a request, too. */
START_TEST(a_graceful_end_goes_on_when_the_bind_is_complete)
{
	be_bound();
	post_bind();
	ask_for_bind();
	ep.state = DAT_EP_STATE_DISCONNECT_PENDING;
	ep.conn = &conn;
	conn.state = DOFI_CONN_DRAINING;
	conn.said_no_recv = true;
	ep.req.head = ep.req.issue = ep.req.tail; /* its event has left */
	peer_answers(ep.bind_number);
	dofi_conn_invalidated(&ia);
	ck_assert_int_eq(conn.state, DOFI_CONN_ENDING);
}
END_TEST

/* It could still use the former context. Who has answered keeps its connections. */
START_TEST(a_peer_that_does_not_answer_a_bind_loses_its_connections)
{
	struct dofi_chan *other = add_peer();
	int fd = t_capture(STDERR_FILENO);

	be_bound();
	post_bind();
	ask_for_bind();
	answer_by(other, ep.bind_number);
	dofi_timer_cancel(&ia, &ep.bind_limit);
	ep.bind_limit.fire(&ep.bind_limit);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -ETIMEDOUT);
	ck_assert(!chan->orderly);
	ck_assert_int_eq(other->state, DOFI_CHAN_UP);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "within 5000 ms"));
	dofi_conn_invalidated(&ia);
	ck_assert(!ep.binding);
}
END_TEST

/* The context ended when the bind was applied, whatever became of its connection. */
START_TEST(an_ended_connection_has_asked_for_its_bind)
{
	be_bound();
	post_bind();
	dofi_conn_forget_bind(&ep);
	ck_assert_uint_eq(ep.bind_replaced, 0);
	ck_assert_uint_eq(chan->asked, 1);
	dofi_conn_forget_bind(&ep);
	ck_assert_uint_eq(chan->asked, 1);
}
END_TEST

START_TEST(an_ended_connection_waits_for_no_bind)
{
	be_bound();
	post_bind();
	ask_for_bind();
	dofi_conn_forget_bind(&ep);
	ck_assert(dofi_list_empty(&ia.cm.binds));
	ck_assert_ptr_null(ia.engine.timers);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("invalidation");
	TCase *tc = tcase_create("invalidation");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, answer_waits_for_operations_under_way, 0,
			    sizeof(ops) / sizeof(ops[0]));
	tcase_add_test(tc, answer_does_not_wait_for_harmless_operations);
	tcase_add_loop_test(tc, answer_waits_for_partly_issued_operations, 0, 2);
	tcase_add_test(tc, one_answer_for_several_invalidations);
	tcase_add_test(tc, answer_waits_for_writes_whose_last_part_is_due);
	tcase_add_loop_test(tc, no_wait_if_the_fabric_refuses_invalid_keys, 0, 2);
	tcase_add_test(tc, the_channel_ends_before_the_answer);
	tcase_add_test(tc, drains_end_with_their_channel);
	tcase_add_test(tc, unexpected_answers_are_ignored);
	tcase_add_loop_test(tc, only_peers_with_a_path_are_asked, 0, 9);
	tcase_add_test(tc, a_channel_without_connections_is_not_asked);
	tcase_add_loop_test(tc, an_unannounced_context_is_asked_for_over_shared_memory, 0, 3);
	tcase_add_loop_test(tc, the_subscription_to_a_valid_context_is_confirmed, 0, 2);
	tcase_add_loop_test(tc, an_established_connection_learns_that_it_has_subscribed, 0, 2);
	tcase_add_test(tc, an_ep_subscribes_by_the_channel_of_its_connection);
	tcase_add_test(tc, a_context_is_looked_up_again);
	tcase_add_test(tc, other_contexts_stay);
	tcase_add_loop_test(tc, a_context_that_is_being_read_is_outdated, 0, 3);
	tcase_add_test(tc, only_an_established_connection_has_contexts);
	tcase_add_loop_test(tc, a_call_waits_for_the_answer, 0, 2);
	tcase_add_test(tc, a_call_does_not_wait_for_a_dead_peer);
	tcase_add_test(tc, a_call_waits_for_nobody);
	tcase_add_test(tc, a_call_waits_for_earlier_answers);
	tcase_add_test(tc, a_call_asks_what_the_engine_has_not);
	tcase_add_test(tc, a_call_waits_for_all_peers);
	tcase_add_test(tc, only_the_silent_one_of_two_peers_is_mute);
	tcase_add_test(tc, a_peer_is_told_the_context);
	tcase_add_test(tc, a_silent_peer_delays_one_call);
	tcase_add_test(tc, a_peer_that_is_often_silent_stays_mute);
	tcase_add_test(tc, a_peer_owes_answers_to_what_it_was_asked);
	tcase_add_test(tc, a_bind_that_replaces_nothing_is_complete);
	tcase_add_test(tc, a_bind_waits_until_the_peers_have_forgotten);
	tcase_add_test(tc, a_bind_completes_with_the_last_answer);
	tcase_add_test(tc, a_graceful_end_goes_on_when_the_bind_is_complete);
	tcase_add_test(tc, a_peer_that_does_not_answer_a_bind_loses_its_connections);
	tcase_add_test(tc, an_ended_connection_has_asked_for_its_bind);
	tcase_add_test(tc, an_ended_connection_waits_for_no_bind);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
