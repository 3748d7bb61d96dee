/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define NO_SLOT		UINT32_MAX
#define CONTROL_LEN	1		/* of the messages that say "all written" and "all seen" */
#define MAX_SAMPLES	(UINT64_C(1) << 20)
#define MAX_BUFFER	(UINT64_C(2) << 30)
#define SLEEP_MS	100

/* Empty polls before the processor is offered to others, and before the peer is looked at. */
#define YIELD_POLLS	64
#define CHECK_POLLS	65536

struct lane {
	uint32_t *
		free; /* ring of request slots, used in turn: the first lap touches each one once */
	uint32_t free_head, nfree;
	uint32_t last_silent;	/* newest request that asked for no completion */
	uint32_t nsilent;
	uint64_t tx_seq, rx_seq;
	uint64_t rx_budget;	/* receives still to be posted in this run */
};

struct perf_conn {
	const struct perf_env *env;
	const struct perf_ops *ops;
	void *be;
	struct lane *lanes;
	uint32_t *before; /* per request: the silent one before it, freed by the same completion */
	bool *silent;		/* per request: asked for no completion */
	uint32_t *slots;	/* memory of the lanes' rings */
	uint32_t *samples;	/* nanoseconds of each iteration */
	uint32_t *held;		/* receives the fabric had no room for, to be tried again */
	uint32_t nheld;

	/* One run. */
	const struct perf_run *run;
	size_t stride;
	size_t rx_len;
	bool rx_data;		/* what arrives is data, not a control message */
	bool check_reads;
	uint64_t rx_total, rx_done;
	uint64_t tx_pending;
	uint32_t idle;
	int64_t idle_since;
};

/* ---- buffer layout: all request slots, then all receive slots, the same on both sides ---- */

static size_t slot_stride(uint64_t size)
{
	return (size + 63) & ~(size_t)63;
}

static size_t tx_offset(const struct perf_conn *conn, uint32_t id)
{
	return id * conn->stride;
}

static size_t rx_offset(const struct perf_conn *conn, uint32_t ep, uint32_t slot)
{
	const struct perf_env *env = conn->env;

	return ((size_t)env->ntx + (size_t)ep * env->rx_depth + slot) * conn->stride;
}

int perf_env_init(struct perf_env *env)
{
	const struct perf_cfg *cfg = env->cfg;
	uint64_t need;
	void *buf;

	/*
	 * A ping-pong needs a second slot: the answer may overtake the completion of the request.
	 */
	env->tx_depth = cfg->window > 2 * cfg->signal_every ? cfg->window : 2 * cfg->signal_every;
	if (cfg->metric != PERF_LATENCY)
		env->tx_depth = cfg->window;
	env->rx_depth = 2 * env->tx_depth;
	env->ntx = cfg->eps * env->tx_depth;
	env->nrx = cfg->eps * env->rx_depth;

	need = (uint64_t)(env->ntx + env->nrx) * slot_stride(cfg->max_size);
	if (need > MAX_BUFFER)
		return util_fail("%u buffers of %llu bytes are more than the %llu MiB this program "
				 "uses; make --window, --eps or --size smaller",
				 env->ntx + env->nrx, (unsigned long long)cfg->max_size,
				 (unsigned long long)(MAX_BUFFER >> 20));
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

/* ---- data pattern ---- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t seed(const struct perf_conn *conn, bool from_server, uint32_t ep, uint64_t number)
{
	return mix(mix((uint64_t)conn->run->serial << 32 | (uint64_t)ep << 1 | from_server) +
		   number);
}

static void fill(char *buf, size_t len, uint64_t from)
{
	for (size_t at = 0; at < len; at += sizeof(uint64_t)) {
		uint64_t word = mix(from + at);

		memcpy(buf + at, &word, len - at < sizeof(word) ? len - at : sizeof(word));
	}
}

/* Offset of the first wrong byte, len when all are right. */
static size_t first_wrong(const char *buf, size_t len, uint64_t from)
{
	char want[sizeof(uint64_t)];

	for (size_t at = 0; at < len; at += sizeof(want)) {
		size_t part = len - at < sizeof(want) ? len - at : sizeof(want);

		fill(want, sizeof(want), from + at);
		if (!memcmp(buf + at, want, part))
			continue;
		for (size_t i = 0; i < part; i++) {
			if (buf[at + i] != want[i])
				return at + i;
		}
	}
	return len;
}

static int check(const struct perf_conn *conn, const char *what, uint32_t ep, uint64_t number,
		 const char *buf, size_t len, uint64_t from)
{
	size_t at = first_wrong(buf, len, from);

	if (at == len)
		return 0;
	return util_fail(
		"data check failed: %s %s number %llu of endpoint %u is wrong from byte %zu of "
		"%zu on",
		conn->ops->name, what, (unsigned long long)number, ep, at, len);
}

static int check_message(struct perf_conn *conn, uint32_t ep, const char *buf)
{
	const struct perf_env *env = conn->env;
	uint32_t eps = env->cfg->eps;
	struct lane *lane = &conn->lanes[ep];

	/* A shared buffer does not tell its endpoint: the message must be the next one of any. */
	for (uint32_t i = 0; env->cfg->srq && i < eps; i++) {
		struct lane *other = &conn->lanes[i];

		if (first_wrong(buf, conn->rx_len, seed(conn, !env->passive, i, other->rx_seq)) ==
		    conn->rx_len) {
			lane = other;
			ep = i;
			break;
		}
	}
	if (check(conn, "message", ep, lane->rx_seq, buf, conn->rx_len,
		  seed(conn, !env->passive, ep, lane->rx_seq)))
		return -1;
	lane->rx_seq++;
	return 0;
}

/* ---- completions ---- */

static int post_recv(struct perf_conn *conn, uint32_t id)
{
	const struct perf_env *env = conn->env;
	uint32_t ep = (id - env->ntx) / env->rx_depth;
	struct perf_wr wr = {
		.id = id,
		.ep = ep,
		.offset = rx_offset(conn, ep, (id - env->ntx) % env->rx_depth),
		.len = conn->rx_len,
	};
	int ret = conn->ops->post_recv(conn->be, &wr);

	if (ret != PERF_AGAIN)
		return ret;
	conn->held[conn->nheld++] = id;
	return 0;
}

static int repost_held(struct perf_conn *conn)
{
	uint32_t count = conn->nheld;

	conn->nheld = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (post_recv(conn, conn->held[i]))
			return -1;
	}
	return 0;
}

/* Posts the receive again unless this run needs no more of them. */
static int recycle_receive(struct perf_conn *conn, uint32_t id)
{
	const struct perf_env *env = conn->env;
	uint32_t pool = env->cfg->srq ? 0 : (id - env->ntx) / env->rx_depth;

	if (!conn->lanes[pool].rx_budget)
		return 0;
	conn->lanes[pool].rx_budget--;
	return post_recv(conn, id);
}

static int received(struct perf_conn *conn, const struct perf_comp *comp)
{
	const struct perf_env *env = conn->env;
	uint32_t ep = (comp->id - env->ntx) / env->rx_depth;
	uint32_t slot = (comp->id - env->ntx) % env->rx_depth;

	if (comp->len != conn->rx_len)
		return util_fail("%s delivered a message of %zu bytes where %zu were sent",
				 conn->ops->name, comp->len, conn->rx_len);
	if (env->cfg->verify && conn->rx_data &&
	    check_message(conn, ep, env->buf + rx_offset(conn, ep, slot)))
		return -1;
	conn->rx_done++;
	return recycle_receive(conn, comp->id);
}

static int request_done(struct perf_conn *conn, uint32_t id)
{
	const struct perf_env *env = conn->env;
	uint32_t ep = id / env->tx_depth;
	struct lane *lane = &conn->lanes[ep];

	/* Some fabrics tell nevertheless; the request that was to tell comes behind. */
	if (conn->silent[id])
		return 0;
	for (; id != NO_SLOT; id = conn->before[id]) {
		uint32_t slot = id % env->tx_depth;

		if (conn->check_reads &&
		    check(conn, "read into slot", ep, slot, env->buf + tx_offset(conn, id),
			  conn->run->size, seed(conn, true, ep, slot)))
			return -1;
		lane->free[(lane->free_head + lane->nfree++) % env->tx_depth] = slot;
		conn->tx_pending--;
	}
	return 0;
}

/* Nothing completed: be kind to others on this processor, and notice a peer that is gone. */
static int nothing_done(struct perf_conn *conn, bool slept)
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

	if (perf_sync_peek(conn->env->sync, 0) < 0)
		return -1;
	now = perf_now_ns();
	if (!conn->idle_since)
		conn->idle_since = now;
	if (now - conn->idle_since > PERF_STALL_MS * INT64_C(1000000))
		return util_fail("%s %s of %llu bytes stalled: nothing completed for %d seconds, "
				 "%llu requests are under way", conn->ops->name,
				 perf_test_names[conn->env->cfg->test],
				 (unsigned long long)conn->run->size, PERF_STALL_MS / 1000,
				 (unsigned long long)conn->tx_pending);
	return 0;
}

static int take(struct perf_conn *conn, const struct perf_comp *comps, int count)
{
	conn->idle = 0;
	conn->idle_since = 0;
	for (int i = 0; i < count; i++) {
		if (comps[i].id >= conn->env->ntx ? received(conn, &comps[i]) :
						    request_done(conn, comps[i].id))
			return -1;
	}
	return conn->nheld ? repost_held(conn) : 0;
}

/* Completions that are there already, and progress. */
static int reap(struct perf_conn *conn)
{
	struct perf_comp comps[PERF_MAX_COMPS];
	int count = conn->ops->poll(conn->be, comps, PERF_MAX_COMPS);

	if (count < 0)
		return -1;
	return count ? take(conn, comps, count) : nothing_done(conn, false);
}

/* The same, but the caller has nothing to do until something completes. */
static int await(struct perf_conn *conn)
{
	struct perf_comp comps[PERF_MAX_COMPS];
	int count;

	if (!conn->env->cfg->wait)
		return reap(conn);
	count = conn->ops->wait(conn->be, comps, PERF_MAX_COMPS, SLEEP_MS);
	if (count < 0)
		return -1;
	return count ? take(conn, comps, count) : nothing_done(conn, true);
}

static int await_messages(struct perf_conn *conn, uint64_t count)
{
	while (conn->rx_done < count) {
		if (await(conn))
			return -1;
	}
	return 0;
}

static int drain(struct perf_conn *conn)
{
	while (conn->tx_pending) {
		if (await(conn))
			return -1;
	}
	return 0;
}

/* ---- requests ---- */

static int take_slot(struct perf_conn *conn, struct lane *lane, uint32_t *slot_p)
{
	while (!lane->nfree) {
		if (await(conn))
			return -1;
	}
	*slot_p = lane->free[lane->free_head];
	lane->free_head = (lane->free_head + 1) % conn->env->tx_depth;
	lane->nfree--;
	return 0;
}

static int post(struct perf_conn *conn, enum perf_test test, struct perf_wr *wr)
{
	struct lane *lane = &conn->lanes[wr->ep];
	int ret;

	conn->silent[wr->id] = !wr->signalled;
	conn->before[wr->id] = lane->last_silent;
	lane->last_silent = wr->signalled ? NO_SLOT : wr->id;
	lane->nsilent = wr->signalled ? 0 : lane->nsilent + 1;
	conn->tx_pending++;
	while ((ret = conn->ops->post[test](conn->be, wr)) == PERF_AGAIN) {
		if (reap(conn))
			return -1;
	}
	return ret;
}

/* What the bytes of a request must be before it goes. */
static void prepare_bytes(struct perf_conn *conn, const struct perf_wr *wr, uint32_t slot,
			  uint64_t seq)
{
	const struct perf_env *env = conn->env;
	bool numbered = env->cfg->test == PERF_SEND || env->cfg->metric == PERF_LATENCY;
	char *buf = env->buf + wr->offset;

	if (env->cfg->test == PERF_READ)
		memset(buf, 0, wr->len);
	else
		fill(buf, wr->len, seed(conn, env->passive, wr->ep, numbered ? seq : slot));
}

/*
 * One request of the test on the endpoint whose turn it is. remote_slot NO_SLOT: as the local one.
 */
static int post_request(struct perf_conn *conn, uint64_t i, uint32_t remote_slot, int last_byte)
{
	const struct perf_env *env = conn->env;
	const struct perf_cfg *cfg = env->cfg;
	uint32_t ep = (uint32_t)(i % cfg->eps), slot;
	struct lane *lane = &conn->lanes[ep];
	struct perf_wr wr = { .ep = ep, .len = conn->run->size };

	if (take_slot(conn, lane, &slot))
		return -1;
	wr.id = ep * env->tx_depth + slot;
	wr.offset = tx_offset(conn, wr.id);
	wr.remote = rx_offset(conn, ep, remote_slot == NO_SLOT ? slot : remote_slot);
	wr.signalled =
		lane->nsilent + 1 >= cfg->signal_every || i + cfg->eps >= conn->run->iterations;
	if (cfg->verify)
		prepare_bytes(conn, &wr, slot, lane->tx_seq);
	if (last_byte >= 0)
		env->buf[wr.offset + wr.len - 1] = (char)last_byte;
	lane->tx_seq++;
	return post(conn, cfg->test, &wr);
}

/* A word to the peer on the data path, behind everything posted on that endpoint. */
static int post_control(struct perf_conn *conn, uint32_t ep)
{
	struct perf_wr wr = { .ep = ep, .len = CONTROL_LEN, .signalled = true };
	uint32_t slot;

	if (take_slot(conn, &conn->lanes[ep], &slot))
		return -1;
	wr.id = ep * conn->env->tx_depth + slot;
	wr.offset = tx_offset(conn, wr.id);
	return post(conn, PERF_SEND, &wr);
}

/* Endpoints do not wait for each other: only a word on each one says that all writes are there. */
static int post_all_written(struct perf_conn *conn)
{
	for (uint32_t ep = 0; ep < conn->env->cfg->eps; ep++) {
		if (post_control(conn, ep))
			return -1;
	}
	return 0;
}

/* ---- the patterns ---- */

static void sample(struct perf_conn *conn, uint64_t i, int64_t *from)
{
	int64_t now = perf_now_ns();
	int64_t took = now - *from;

	conn->samples[i % MAX_SAMPLES] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
	*from = now;
}

static int ping_pong_send(struct perf_conn *conn)
{
	int64_t from = perf_now_ns();

	for (uint64_t i = 0; i < conn->run->iterations; i++) {
		if (conn->env->passive && await_messages(conn, i + 1))
			return -1;
		if (post_request(conn, i, NO_SLOT, -1))
			return -1;
		if (!conn->env->passive && await_messages(conn, i + 1))
			return -1;
		sample(conn, i, &from);
	}
	return 0;
}

/* Spins until the peer's write number i is there: its last byte appears last. */
static int await_write(struct perf_conn *conn, uint64_t i, unsigned char mark)
{
	const struct perf_env *env = conn->env;
	uint32_t ep = (uint32_t)(i % env->cfg->eps);
	const char *buf = env->buf + rx_offset(conn, ep, 0);
	const unsigned char *last = (const unsigned char *)buf + conn->run->size - 1;
	uint64_t number = i / env->cfg->eps;

	while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != mark) {
		if (reap(conn))
			return -1;
	}
	if (!env->cfg->verify)
		return 0;
	return check(conn, "write", ep, number, buf, conn->run->size - 1,
		     seed(conn, !env->passive, ep, number));
}

static int ping_pong_write(struct perf_conn *conn)
{
	uint32_t eps = conn->env->cfg->eps;
	int64_t from = perf_now_ns();

	for (uint64_t i = 0; i < conn->run->iterations; i++) {
		unsigned char mark = (unsigned char)(i / eps % 255 + 1);

		if (conn->env->passive && await_write(conn, i, mark))
			return -1;
		if (post_request(conn, i, 0, mark))
			return -1;
		if (!conn->env->passive && await_write(conn, i, mark))
			return -1;
		sample(conn, i, &from);
	}
	return 0;
}

static int read_one_by_one(struct perf_conn *conn)
{
	int64_t from = perf_now_ns();

	for (uint64_t i = 0; i < conn->run->iterations; i++) {
		if (post_request(conn, i, NO_SLOT, -1) || drain(conn))
			return -1;
		sample(conn, i, &from);
	}
	return 0;
}

static int stream_requests(struct perf_conn *conn)
{
	for (uint64_t i = 0; i < conn->run->iterations; i++) {
		if (post_request(conn, i, NO_SLOT, -1))
			return -1;
	}
	return drain(conn);
}

/*
 * The client's side of whatever is no ping-pong; the clock stops when all bytes are known to have
 * arrived.
 */
static int stream_client(struct perf_conn *conn, int64_t *stop)
{
	bool latency = conn->env->cfg->metric == PERF_LATENCY;
	enum perf_test test = conn->env->cfg->test;

	if (latency ? read_one_by_one(conn) : stream_requests(conn))
		return -1;
	*stop = perf_now_ns();
	conn->check_reads = false;
	if (test == PERF_READ)
		return post_control(conn, 0);
	if (test == PERF_WRITE && post_all_written(conn))
		return -1;
	if (await_messages(conn, 1))
		return -1;
	*stop = perf_now_ns();
	return 0;
}

static int check_written(struct perf_conn *conn)
{
	const struct perf_env *env = conn->env;

	for (uint32_t i = 0; i < env->ntx && i < conn->run->iterations; i++) {
		uint32_t ep = i % env->cfg->eps, slot = i / env->cfg->eps;

		if (check(conn, "write into slot", ep, slot, env->buf + rx_offset(conn, ep, slot),
			  conn->run->size, seed(conn, false, ep, slot)))
			return -1;
	}
	return 0;
}

static int stream_server(struct perf_conn *conn)
{
	enum perf_test test = conn->env->cfg->test;

	if (await_messages(conn, conn->rx_total))
		return -1;
	if (test == PERF_READ)
		return 0;
	if (test == PERF_WRITE && conn->env->cfg->verify && check_written(conn))
		return -1;
	return post_control(conn, 0);
}

/* ---- a run ---- */

static void reset_lanes(struct perf_conn *conn)
{
	const struct perf_env *env = conn->env;

	for (uint32_t ep = 0; ep < env->cfg->eps; ep++) {
		struct lane *lane = &conn->lanes[ep];

		*lane = (struct lane){
			.free = lane->free,
			.nfree = env->tx_depth,
			.last_silent = NO_SLOT,
		};
		for (uint32_t slot = 0; slot < env->tx_depth; slot++)
			lane->free[slot] = slot;
	}
}

/* How many messages this side gets in a run, and what they are. */
static uint64_t plan_receives(struct perf_conn *conn)
{
	const struct perf_cfg *cfg = conn->env->cfg;
	bool passive = conn->env->passive;

	conn->rx_data = cfg->test == PERF_SEND && (cfg->metric == PERF_LATENCY || passive);
	conn->rx_len = conn->rx_data ? conn->run->size : CONTROL_LEN;
	if (conn->rx_data)
		return conn->run->iterations;
	if (cfg->test == PERF_WRITE && cfg->metric == PERF_LATENCY)
		return 0;
	if (cfg->test == PERF_WRITE && passive)
		return cfg->eps;
	return cfg->test == PERF_READ ? passive : 1;
}

/*
 * Exactly as many receives as messages will come are posted, so that none is left when the next
 * size begins.
 */
static int post_receives(struct perf_conn *conn)
{
	const struct perf_env *env = conn->env;
	uint32_t eps = env->cfg->eps;
	uint64_t total = plan_receives(conn);

	conn->rx_total = total;
	for (uint32_t ep = 0; ep < eps; ep++)
		conn->lanes[ep].rx_budget = total / eps + (ep < total % eps);
	if (env->cfg->srq)
		conn->lanes[0].rx_budget = total;
	/* From the end: a lone control message must not land where the peer's RDMA goes. */
	for (uint32_t slot = env->rx_depth; slot-- > 0;) {
		for (uint32_t ep = 0; ep < eps; ep++) {
			if (recycle_receive(conn, env->ntx + ep * env->rx_depth + slot))
				return -1;
		}
	}
	return 0;
}

static int prepare_run(struct perf_conn *conn, const struct perf_run *run)
{
	const struct perf_env *env = conn->env;

	conn->run = run;
	conn->stride = slot_stride(run->size);
	conn->check_reads = env->cfg->verify && env->cfg->test == PERF_READ && !env->passive;
	conn->nheld = 0;
	conn->rx_done = 0;
	conn->tx_pending = 0;
	conn->idle = 0;
	conn->idle_since = 0;
	reset_lanes(conn);

	/* No mark of an earlier ping-pong may be left, nor data that a check would take for new. */
	if (env->cfg->test == PERF_WRITE)
		memset(env->buf + rx_offset(conn, 0, 0), 0, (size_t)env->nrx * conn->stride);
	if (env->cfg->test == PERF_READ && env->cfg->verify && env->passive) {
		for (uint32_t i = 0; i < env->nrx; i++) {
			uint32_t ep = i / env->rx_depth, slot = i % env->rx_depth;

			fill(env->buf + rx_offset(conn, ep, slot), run->size,
			     seed(conn, true, ep, slot));
		}
	}
	return post_receives(conn);
}

/*
 * Both sides are finished with their own requests, but each may need the other's progress until
 * both know.
 */
static int finish_run(struct perf_conn *conn)
{
	int sync = conn->env->sync, msg;

	if (drain(conn) || perf_sync_send(sync, PERF_MSG_END, NULL, 0))
		return -1;
	do {
		if (reap(conn))
			return -1;
		msg = perf_sync_peek(sync, conn->env->cfg->wait ? 1 : 0);
		if (msg < 0)
			return -1;
	} while (!msg);
	return perf_sync_recv(sync, PERF_MSG_END, NULL, 0);
}

static int compare_samples(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void summarise(struct perf_conn *conn, struct perf_result *result)
{
	const struct perf_cfg *cfg = conn->env->cfg;
	double half = cfg->test == PERF_READ ? 1 : 0.5;
	uint64_t n = conn->run->iterations;
	uint64_t kept = n < MAX_SAMPLES ? n : MAX_SAMPLES;

	if (cfg->metric != PERF_LATENCY || conn->env->passive)
		return;
	qsort(conn->samples, kept, sizeof(*conn->samples), compare_samples);
	result->avg = result->seconds * 1e6 / (double)n * half;
	result->min = conn->samples[0] / 1e3 * half;
	result->p50 = conn->samples[kept / 2] / 1e3 * half;
	result->p99 = conn->samples[kept - 1 - kept / 100] / 1e3 * half;
	result->max = conn->samples[kept - 1] / 1e3 * half;
}

int perf_conn_run(struct perf_conn *conn, const struct perf_run *run, struct perf_result *result)
{
	const struct perf_env *env = conn->env;
	bool latency = env->cfg->metric == PERF_LATENCY;
	int64_t start, stop = 0;
	int ret;

	if (prepare_run(conn, run) || perf_sync_send(env->sync, PERF_MSG_READY, NULL, 0) ||
	    perf_sync_recv(env->sync, PERF_MSG_READY, NULL, 0))
		return -1;

	start = perf_now_ns();
	if (latency && env->cfg->test == PERF_SEND)
		ret = ping_pong_send(conn);
	else if (latency && env->cfg->test == PERF_WRITE)
		ret = ping_pong_write(conn);
	else if (env->passive)
		ret = stream_server(conn);
	else
		ret = stream_client(conn, &stop);
	if (ret)
		return -1;
	if (!stop)
		stop = perf_now_ns();

	memset(result, 0, sizeof(*result));
	result->seconds = (double)(stop - start) / 1e9;
	if (finish_run(conn))
		return -1;
	summarise(conn, result);
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

	conn->lanes = calloc(env->cfg->eps, sizeof(*conn->lanes));
	conn->before = calloc(env->ntx, sizeof(*conn->before));
	conn->silent = calloc(env->ntx, sizeof(*conn->silent));
	conn->slots = calloc(env->ntx, sizeof(*conn->slots));
	conn->samples = calloc(MAX_SAMPLES, sizeof(*conn->samples));
	conn->held = calloc(env->nrx, sizeof(*conn->held));
	if (!conn->lanes || !conn->before || !conn->silent || !conn->slots || !conn->samples ||
	    !conn->held)
		return util_fail("no memory for %u endpoints", env->cfg->eps);
	for (uint32_t ep = 0; ep < env->cfg->eps; ep++)
		conn->lanes[ep].free = conn->slots + (size_t)ep * env->tx_depth;
	return 0;
}

int perf_conn_open(const struct perf_env *env, enum perf_backend backend, struct perf_conn **conn_p)
{
	static const struct perf_ops *const backends[] = {
		[PERF_DAT] = &perf_dat_ops,
		[PERF_RAW] = &perf_raw_ops,
	};
	struct perf_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return util_fail("no memory");
	conn->env = env;
	conn->ops = backends[backend];
	if (allocate(conn) || conn->ops->open(env, &conn->be) || hook_up(conn)) {
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
	free(conn->lanes);
	free(conn->before);
	free(conn->silent);
	free(conn->slots);
	free(conn->samples);
	free(conn->held);
	free(conn);
}
