/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf/conn.h"

#include <stdlib.h>
#include <string.h>

#define MIN_BUFFER    4096
#define MIN_RX_DEPTH  16
#define FEW_RECEIVES  64
#define MANY_RECEIVES 512
#define MAX_BUFFER    (UINT64_C(2) << 30)

/*
 * Twice the number of messages under way would suffice. If that is few, more receives are posted,
 * as benchmarks and programs do: a library that announces receives to the peer can then announce
 * many at once.
 */
static uint32_t rx_depth(const struct perf_env *env)
{
	uint32_t depth = 4 * env->tx_depth, few = FEW_RECEIVES / env->cfg->eps;

	if (depth > MANY_RECEIVES)
		depth = 2 * env->tx_depth > MANY_RECEIVES ? 2 * env->tx_depth : MANY_RECEIVES;
	if (few < MIN_RX_DEPTH)
		few = MIN_RX_DEPTH;
	return depth > few ? depth : few;
}

int perf_env_init(struct perf_env *env)
{
	const struct perf_cfg *cfg = env->cfg;
	uint64_t need, all;
	void *buf;

	/*
	 * A ping-pong needs a second slot, because the answer may come before the completion of the
	 * request.
	 */
	env->tx_depth = cfg->window > 2 * cfg->signal_every ? cfg->window : 2 * cfg->signal_every;
	if (cfg->metric != PERF_LATENCY)
		env->tx_depth = cfg->window;
	env->rx_depth = rx_depth(env);
	env->ntx = cfg->eps * env->tx_depth;
	env->nrx = cfg->eps * env->rx_depth;

	need = (uint64_t)(env->ntx + env->nrx) * perf_slot_stride(cfg->max_size);
	all = need * cfg->threads;
	if (all > MAX_BUFFER)
		return util_fail("%u buffers of %llu bytes are more than the %llu MiB this program "
				 "uses; make --window, --eps, --threads or --size smaller",
				 (env->ntx + env->nrx) * cfg->threads,
				 (unsigned long long)cfg->max_size,
				 (unsigned long long)(MAX_BUFFER >> 20));
	if (need < MIN_BUFFER)
		need = MIN_BUFFER;
	if (posix_memalign(&buf, 4096, need))
		return util_fail("no memory for %llu MiB of buffers",
				 (unsigned long long)(need >> 20));
	memset(buf, 0, need);
	env->buf = buf;
	env->buf_len = need;
	return 0;
}

void perf_env_free(struct perf_env *env)
{
	free(env->buf);
	env->buf = NULL;
}

/* ---- a run ---- */

static void reset_flows(struct perf_conn *conn)
{
	const struct perf_env *env = conn->env;

	for (uint32_t ep = 0; ep < env->cfg->eps; ep++) {
		struct perf_flow *flow = &conn->flows[ep];

		*flow = (struct perf_flow){
			.free = flow->free,
			.nfree = env->tx_depth,
			.last_silent = PERF_NO_SLOT,
		};
		for (uint32_t slot = 0; slot < env->tx_depth; slot++)
			flow->free[slot] = slot;
	}
}

/* Posts exactly as many receives as messages will come, so that none is left for the next size. */
static int post_receives(struct perf_conn *conn)
{
	const struct perf_env *env = conn->env;
	uint32_t eps = env->cfg->eps;
	uint64_t total = perf_pattern_receives(conn);

	conn->rx_total = total;
	for (uint32_t ep = 0; ep < eps; ep++)
		conn->flows[ep].rx_budget = total / eps + (ep < total % eps);
	if (env->cfg->srq)
		conn->flows[0].rx_budget = total;
	/*
	 * From the last slot on, so that a single control message does not land in a slot that the
	 * peer's RDMA writes.
	 */
	for (uint32_t slot = env->rx_depth; slot-- > 0;) {
		for (uint32_t ep = 0; ep < eps; ep++) {
			if (perf_receive(conn, env->ntx + ep * env->rx_depth + slot))
				return -1;
		}
	}
	return 0;
}

/* Clears marks of an earlier ping-pong, and data that a check could take for new. */
static void prepare_bytes(struct perf_conn *conn)
{
	const struct perf_env *env = conn->env;
	const struct perf_cfg *cfg = env->cfg;

	if (cfg->test != PERF_READ)
		memset(env->buf + perf_rx_offset(conn, 0, 0), 0, (size_t)env->nrx * conn->stride);
	if (cfg->test != PERF_READ || !cfg->verify || !(env->passive || cfg->both))
		return;
	for (uint32_t i = 0; i < env->nrx; i++) {
		uint32_t ep = i / env->rx_depth, slot = i % env->rx_depth;

		perf_data_fill(env->buf + perf_rx_offset(conn, ep, slot), conn->run->size,
			       perf_data_seed(conn, env->passive, ep, slot));
	}
}

int perf_conn_prepare(struct perf_conn *conn, const struct perf_run *run)
{
	const struct perf_cfg *cfg = conn->env->cfg;

	conn->run = run;
	conn->stride = perf_slot_stride(run->size);
	conn->check_reads = cfg->verify && conn->traits->shape == PERF_ANSWERED &&
			    (cfg->both || !conn->env->passive);
	conn->nheld = 0;
	conn->answering = false;
	conn->rx_done = 0;
	conn->tx_pending = 0;
	conn->idle = 0;
	conn->idle_since = 0;
	conn->stop = 0;
	__atomic_store_n(&conn->progress.total, run->iterations, __ATOMIC_RELAXED);
	perf_tell(conn, 0);
	reset_flows(conn);
	prepare_bytes(conn);
	if (post_receives(conn))
		return -1;
	/* Set before the first message, because a datagram before its receive would be lost. */
	conn->answering = cfg->metric == PERF_LATENCY && conn->traits->shape == PERF_MESSAGES;
	return 0;
}

/* ---- connection ---- */

static int hook_up(struct perf_conn *conn)
{
	int sync = conn->env->sync;
	struct perf_addr mine, peer;

	memset(&mine, 0, sizeof(mine));
	if (conn->ops->address(conn->be, &mine) ||
	    perf_sync_send(sync, PERF_MSG_ADDR, &mine, sizeof(mine)) ||
	    perf_sync_recv(sync, PERF_MSG_ADDR, &peer, sizeof(peer)))
		return -1;
	if (peer.len > sizeof(peer.name))
		return util_fail("the other side sent an address of %u bytes", peer.len);
	if (conn->ops->connect(conn->be, &peer) ||
	    perf_sync_send(sync, PERF_MSG_CONNECTED, NULL, 0))
		return -1;
	return perf_sync_recv(sync, PERF_MSG_CONNECTED, NULL, 0);
}

static int allocate(struct perf_conn *conn)
{
	const struct perf_env *env = conn->env;

	conn->flows = calloc(env->cfg->eps, sizeof(*conn->flows));
	conn->before = calloc(env->ntx, sizeof(*conn->before));
	conn->silent = calloc(env->ntx, sizeof(*conn->silent));
	conn->expected = calloc(env->ntx, sizeof(*conn->expected));
	conn->turns = calloc(env->nrx, sizeof(*conn->turns));
	conn->slots = calloc(env->ntx, sizeof(*conn->slots));
	conn->held = calloc(env->nrx, sizeof(*conn->held));
	if (!conn->flows || !conn->before || !conn->silent || !conn->expected || !conn->turns ||
	    !conn->slots || !conn->held)
		return util_fail("no memory for %u endpoints", env->cfg->eps);
	for (uint32_t ep = 0; ep < env->cfg->eps; ep++)
		conn->flows[ep].free = conn->slots + (size_t)ep * env->tx_depth;
	return 0;
}

int perf_conn_open(const struct perf_env *env, const struct perf_ops *ops, void *first,
		   struct perf_conn **conn_p)
{
	struct perf_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return util_fail("no memory");
	conn->env = env;
	conn->ops = ops;
	conn->traits = &perf_traits[env->cfg->test];
	if (allocate(conn) || ops->open(env, first, &conn->be) || hook_up(conn)) {
		perf_conn_close(conn);
		return -1;
	}
	*conn_p = conn;
	return 0;
}

void perf_conn_close(struct perf_conn *conn)
{
	if (!conn)
		return;
	if (conn->be)
		conn->ops->close(conn->be);
	free(conn->flows);
	free(conn->before);
	free(conn->silent);
	free(conn->expected);
	free(conn->turns);
	free(conn->slots);
	free(conn->held);
	free(conn);
}
