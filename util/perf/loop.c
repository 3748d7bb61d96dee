/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The engine of a thread: requests, receives and their completions. */
#include "perf/conn.h"

#include <sched.h>
#include <string.h>

/* Empty polls before the thread yields, and before it checks the peer. */
#define YIELD_POLLS 64
#define CHECK_POLLS 65536

/* ---- receives ---- */

/*
 * A buffer of an SRQ does not identify the endpoint: the message must be the next one of some
 * endpoint.
 */
static uint32_t find_endpoint(const struct perf_conn *conn, const char *buf)
{
	const struct perf_env *env = conn->env;

	for (uint32_t ep = 0; ep < env->cfg->eps; ep++) {
		if (perf_data_is(buf, conn->rx_len,
				 perf_data_seed(conn, !env->passive, ep, conn->flows[ep].rx_seq)))
			return ep;
	}
	return 0;
}

/*
 * turn: number of the receive on its endpoint. Messages take receives in order; libfabric may
 * complete them in any order.
 */
static int check_message(struct perf_conn *conn, uint32_t ep, uint64_t turn, const char *buf)
{
	uint64_t number;

	if (conn->env->cfg->srq)
		ep = find_endpoint(conn, buf);
	number = conn->flows[ep].rx_seq++;
	if (!conn->ops->ordered && !conn->env->cfg->srq)
		number = turn;
	return perf_data_check(conn, "message", ep, number, buf, conn->rx_len,
			       perf_data_seed(conn, !conn->env->passive, ep, number));
}

/*
 * A write with immediate data goes to the slot with its number, and takes the receive of another
 * slot.
 */
static int check_immediate(struct perf_conn *conn, uint32_t ep, uint32_t value)
{
	const struct perf_env *env = conn->env;
	uint32_t slot = (uint32_t)(conn->flows[ep].rx_seq % env->rx_depth);

	if (value != slot)
		return util_fail("data check failed: immediate data %u came on endpoint %u where "
				 "%u was sent",
				 value, ep, slot);
	return check_message(conn, ep, conn->flows[ep].rx_seq,
			     env->buf + perf_rx_offset(conn, ep, slot));
}

static int check_arrived(struct perf_conn *conn, const struct perf_comp *comp)
{
	const struct perf_env *env = conn->env;
	uint32_t ep = (comp->id - env->ntx) / env->rx_depth;
	uint32_t slot = (comp->id - env->ntx) % env->rx_depth;

	if (env->cfg->test == PERF_IMMEDIATE)
		return check_immediate(conn, ep, comp->value);
	return check_message(conn, ep, conn->turns[comp->id - env->ntx],
			     env->buf + perf_rx_offset(conn, ep, slot));
}

static int try_receive(struct perf_conn *conn, uint32_t id)
{
	const struct perf_env *env = conn->env;
	uint32_t ep = (id - env->ntx) / env->rx_depth;
	struct perf_wr wr = {
		.id = id,
		.ep = ep,
		.offset = perf_rx_offset(conn, ep, (id - env->ntx) % env->rx_depth),
		.len = conn->rx_len,
	};

	int ret = conn->ops->post_recv(conn->be, &wr);

	if (!ret)
		conn->turns[id - env->ntx] = conn->flows[ep].rx_posted++;
	return ret;
}

static int post_recv(struct perf_conn *conn, uint32_t id)
{
	/*
	 * Other receives are posted, so the answer is sent first, and the receive is posted while
	 * the answer is under way.
	 */
	int ret = conn->answering ? PERF_AGAIN : try_receive(conn, id);

	if (ret != PERF_AGAIN)
		return ret;
	conn->held[conn->nheld++] = id;
	return 0;
}

static int repost_held(struct perf_conn *conn)
{
	while (conn->nheld) {
		int ret = try_receive(conn, conn->held[conn->nheld - 1]);

		if (ret)
			return ret == PERF_AGAIN ? 0 : ret;
		conn->nheld--;
	}
	return 0;
}

int perf_receive(struct perf_conn *conn, uint32_t id)
{
	const struct perf_env *env = conn->env;
	uint32_t pool = env->cfg->srq ? 0 : (id - env->ntx) / env->rx_depth;

	if (!conn->flows[pool].rx_budget)
		return 0;
	conn->flows[pool].rx_budget--;
	return post_recv(conn, id);
}

static int received(struct perf_conn *conn, const struct perf_comp *comp)
{
	if (comp->len != conn->rx_len)
		return util_fail("%s delivered a message of %zu bytes where %zu were sent",
				 conn->ops->name, comp->len, conn->rx_len);
	if (conn->env->cfg->verify && conn->rx_data && check_arrived(conn, comp))
		return -1;
	conn->rx_done++;
	return perf_receive(conn, comp->id);
}

/* ---- completions ---- */

/* Checks the result of a read or an atomic operation. */
static int check_answer(const struct perf_conn *conn, uint32_t id)
{
	const struct perf_env *env = conn->env;
	uint32_t ep = id / env->tx_depth, slot = id % env->tx_depth;
	const char *buf = env->buf + perf_tx_offset(conn, id);
	uint64_t found;

	if (env->cfg->test == PERF_READ)
		return perf_data_check(conn, "read into slot", ep, slot, buf, conn->run->size,
				       perf_data_seed(conn, !env->passive, ep, slot));
	memcpy(&found, buf, sizeof(found));
	if (found == conn->expected[id])
		return 0;
	return util_fail("data check failed: an atomic operation on endpoint %u found %llu in "
			 "place of %llu",
			 ep, (unsigned long long)found, (unsigned long long)conn->expected[id]);
}

static int request_done(struct perf_conn *conn, uint32_t id)
{
	const struct perf_env *env = conn->env;
	uint32_t ep = id / env->tx_depth;
	struct perf_flow *flow = &conn->flows[ep];

	/*
	 * Some fabrics complete silent requests, too; the signalled request behind it frees both.
	 */
	if (conn->silent[id])
		return 0;
	for (; id != PERF_NO_SLOT; id = conn->before[id]) {
		if (conn->check_reads && check_answer(conn, id))
			return -1;
		flow->free[(flow->free_head + flow->nfree++) % env->tx_depth] = id % env->tx_depth;
		conn->tx_pending--;
	}
	return 0;
}

/* Checks whether the peer (first thread only) or another thread has failed. */
static int look_around(struct perf_conn *conn)
{
	if (__atomic_load_n(conn->failed, __ATOMIC_ACQUIRE))
		return util_fail("another thread has failed");
	return conn->env->thread == 0 && perf_sync_peek(conn->env->sync, 0) < 0 ? -1 : 0;
}

/* After an empty poll: yields from time to time, and notices a peer that is gone. */
static int idle(struct perf_conn *conn, bool slept)
{
	int64_t now;

	if (conn->nheld && repost_held(conn))
		return -1;
	conn->idle++;
	if (!slept && conn->idle % YIELD_POLLS)
		return 0;
	if (!slept)
		sched_yield();
	if (!slept && conn->idle % CHECK_POLLS)
		return 0;

	if (look_around(conn))
		return -1;
	now = perf_now_ns();
	if (!conn->idle_since)
		conn->idle_since = now;
	if (now - conn->idle_since > PERF_STALL_MS * INT64_C(1000000))
		return util_fail("%s %s of %llu bytes stalled: nothing completed for %d seconds, "
				 "%llu requests are under way",
				 conn->ops->name, perf_test_names[conn->env->cfg->test],
				 (unsigned long long)conn->run->size, PERF_STALL_MS / 1000,
				 (unsigned long long)conn->tx_pending);
	return 0;
}

static int take(struct perf_conn *conn, const struct perf_comp *comps, int count)
{
	conn->idle = 0;
	conn->idle_since = 0;
	for (int i = 0; i < count; i++) {
		if (comps[i].id >= conn->env->ntx ? received(conn, &comps[i])
						  : request_done(conn, comps[i].id))
			return -1;
	}
	return conn->nheld && !conn->answering ? repost_held(conn) : 0;
}

int perf_reap(struct perf_conn *conn)
{
	struct perf_comp comps[PERF_MAX_COMPS];
	int count = conn->ops->poll(conn->be, comps, PERF_MAX_COMPS);

	if (count < 0)
		return -1;
	return count ? take(conn, comps, count) : idle(conn, false);
}

/* As perf_reap(), but the caller has nothing to do until something completes. */
static int await(struct perf_conn *conn)
{
	struct perf_comp comps[PERF_MAX_COMPS];
	int count;

	if (!conn->env->cfg->wait)
		return perf_reap(conn);
	count = conn->ops->wait(conn->be, comps, PERF_MAX_COMPS, PERF_SLEEP_MS);
	if (count < 0)
		return -1;
	return count ? take(conn, comps, count) : idle(conn, true);
}

int perf_await_messages(struct perf_conn *conn, uint64_t count)
{
	while (conn->rx_done < count) {
		if (await(conn))
			return -1;
	}
	return 0;
}

int perf_drain(struct perf_conn *conn)
{
	while (conn->tx_pending) {
		if (await(conn))
			return -1;
	}
	return 0;
}

/* ---- requests ---- */

static int take_slot(struct perf_conn *conn, struct perf_flow *flow, uint32_t *slot_p)
{
	while (!flow->nfree) {
		if (await(conn))
			return -1;
	}
	*slot_p = flow->free[flow->free_head];
	flow->free_head = (flow->free_head + 1) % conn->env->tx_depth;
	flow->nfree--;
	return 0;
}

static int post(struct perf_conn *conn, enum perf_test test, struct perf_wr *wr)
{
	struct perf_flow *flow = &conn->flows[wr->ep];
	int ret;

	conn->silent[wr->id] = !wr->signalled;
	conn->before[wr->id] = flow->last_silent;
	flow->last_silent = wr->signalled ? PERF_NO_SLOT : wr->id;
	flow->nsilent = wr->signalled ? 0 : flow->nsilent + 1;
	conn->tx_pending++;
	while ((ret = conn->ops->post[test](conn->be, wr)) == PERF_AGAIN) {
		if (perf_reap(conn))
			return -1;
	}
	return ret;
}

/* Fills the bytes of a request before it is posted. */
static void prepare_bytes(struct perf_conn *conn, const struct perf_wr *wr, uint64_t seq)
{
	const struct perf_env *env = conn->env;
	bool numbered = conn->traits->shape == PERF_MESSAGES || env->cfg->metric == PERF_LATENCY;
	uint64_t number = numbered ? seq : wr->id % env->tx_depth;
	char *buf = env->buf + wr->offset;

	conn->expected[wr->id] = wr->operand;
	if (conn->traits->shape == PERF_ANSWERED)
		memset(buf, 0, wr->len);
	else
		perf_data_fill(buf, wr->len, perf_data_seed(conn, env->passive, wr->ep, number));
}

/*
 * The target slot of a request. Writes with immediate data use the peer's receive slots in turn, so
 * that none overwrites a slot that is still being checked. Atomic operations of an endpoint use one
 * slot.
 */
static uint32_t remote_slot_of(const struct perf_conn *conn, const struct perf_flow *flow,
			       uint32_t slot)
{
	switch (conn->env->cfg->test) {
	case PERF_IMMEDIATE:
		return (uint32_t)(flow->tx_seq % conn->env->rx_depth);
	case PERF_FETCH_ADD:
	case PERF_CMP_SWAP:
		return 0;
	default:
		return slot;
	}
}

int perf_request(struct perf_conn *conn, uint64_t i, uint32_t remote_slot, int last_byte)
{
	const struct perf_env *env = conn->env;
	const struct perf_cfg *cfg = env->cfg;
	uint32_t ep = (uint32_t)(i % cfg->eps), slot;
	struct perf_flow *flow = &conn->flows[ep];
	struct perf_wr wr = {.ep = ep, .len = conn->run->size, .operand = flow->tx_seq};

	if (take_slot(conn, flow, &slot))
		return -1;
	if (remote_slot == PERF_NO_SLOT)
		remote_slot = remote_slot_of(conn, flow, slot);
	wr.id = ep * env->tx_depth + slot;
	wr.offset = perf_tx_offset(conn, wr.id);
	wr.remote = perf_rx_offset(conn, ep, remote_slot);
	wr.value = remote_slot;
	wr.signalled =
		flow->nsilent + 1 >= cfg->signal_every || i + cfg->eps >= conn->run->iterations;
	if (cfg->verify)
		prepare_bytes(conn, &wr, flow->tx_seq);
	if (last_byte >= 0)
		env->buf[wr.offset + wr.len - 1] = (char)last_byte;
	flow->tx_seq++;
	perf_tell(conn, i);
	if (post(conn, cfg->test, &wr))
		return -1;
	return conn->answering && conn->nheld ? repost_held(conn) : 0;
}

int perf_control(struct perf_conn *conn, uint32_t ep)
{
	struct perf_wr wr = {.ep = ep, .len = PERF_CONTROL_LEN, .signalled = true};
	uint32_t slot;

	if (take_slot(conn, &conn->flows[ep], &slot))
		return -1;
	wr.id = ep * conn->env->tx_depth + slot;
	wr.offset = perf_tx_offset(conn, wr.id);
	return post(conn, PERF_SEND, &wr);
}
