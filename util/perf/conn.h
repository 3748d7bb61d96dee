/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef UTIL_PERF_CONN_H
#define UTIL_PERF_CONN_H

#include "perf/perf.h"

/* The endpoints of one thread, of one side, over one back end, and their state. */

#define PERF_NO_SLOT     UINT32_MAX
#define PERF_CONTROL_LEN 1 /* length of the messages "all written" and "all seen" */
#define PERF_SLEEP_MS    100

/* An endpoint. */
struct perf_flow {
	uint32_t *free; /* ring of free request slots, used in turn */
	uint32_t free_head, nfree;
	uint32_t last_silent; /* latest request that asked for no completion */
	uint32_t nsilent;
	uint64_t tx_seq, rx_seq;
	uint64_t rx_posted; /* receives posted in this run */
	uint64_t rx_budget; /* receives still to be posted in this run */
};

struct perf_conn {
	const struct perf_env *env;
	const struct perf_ops *ops;
	const struct perf_traits *traits;
	void *be;
	struct perf_flow *flows;
	/* per request: the silent request before it, which the same completion frees */
	uint32_t *before;
	bool *silent;       /* per request: asked for no completion */
	uint64_t *expected; /* per request: the value that an atomic operation has to find */
	uint64_t *turns;    /* per receive: number of receives posted before it on its endpoint */
	uint32_t *slots;    /* memory of the flows' rings */
	/* receives to be posted later: the fabric had no room, or an answer goes first */
	uint32_t *held;
	uint32_t nheld;
	uint32_t *samples;    /* nanoseconds of each iteration; owned by the crew */
	uint64_t max_samples; /* later ones overwrite the first */
	const bool *failed;   /* another thread of the crew has failed; atomic */

	/* One run. */
	const struct perf_run *run;
	size_t stride;
	size_t rx_len;
	bool rx_data; /* messages to come are data, not control messages */
	bool check_reads;
	bool answering; /* answers each message at once */
	uint64_t rx_total, rx_done;
	uint64_t tx_pending;
	uint32_t idle;
	int64_t idle_since;
	int64_t start;
	int64_t stop; /* time when the pattern was complete; 0: when it returned */
	struct perf_progress progress;
};

/* ---- life (conn.c) ---- */

/* Connects with the peer. first: as in struct perf_ops. The caller sets samples and failed. */
int perf_conn_open(const struct perf_env *env, const struct perf_ops *ops, void *first,
		   struct perf_conn **conn_p);
void perf_conn_close(struct perf_conn *conn);

/* Prepares a run: everything before the first request, receives included. */
int perf_conn_prepare(struct perf_conn *conn, const struct perf_run *run);

/* ---- buffer layout: all request slots, then all receive slots, the same on both sides ---- */

/* A request without bytes may be followed by a control message. */
static inline size_t perf_slot_stride(uint64_t size)
{
	return size ? (size + 63) & ~(size_t)63 : 64;
}

static inline size_t perf_tx_offset(const struct perf_conn *conn, uint32_t id)
{
	return id * conn->stride;
}

static inline size_t perf_rx_offset(const struct perf_conn *conn, uint32_t ep, uint32_t slot)
{
	const struct perf_env *env = conn->env;

	return ((size_t)env->ntx + (size_t)ep * env->rx_depth + slot) * conn->stride;
}

/* ---- data pattern (data.c) ---- */

/* The seed of the bytes of a request or a slot of an endpoint in this run. */
uint64_t perf_data_seed(const struct perf_conn *conn, bool from_server, uint32_t ep,
			uint64_t number);
void perf_data_fill(char *buf, size_t len, uint64_t from);
bool perf_data_is(const char *buf, size_t len, uint64_t from);
/* Checks the bytes; the error names the first wrong one. */
int perf_data_check(const struct perf_conn *conn, const char *what, uint32_t ep, uint64_t number,
		    const char *buf, size_t len, uint64_t from);

/* ---- requests and completions (loop.c) ---- */

/* Posts the receive again unless this run needs no more of them. */
int perf_receive(struct perf_conn *conn, uint32_t id);

/*
 * Posts one request of the test on the next endpoint. remote_slot PERF_NO_SLOT: the default slot.
 * last_byte: value of the last byte, unless negative.
 */
int perf_request(struct perf_conn *conn, uint64_t i, uint32_t remote_slot, int last_byte);
/* Sends a control message to the peer, behind everything posted on that endpoint. */
int perf_control(struct perf_conn *conn, uint32_t ep);

/* Handles completions that are there already, and makes progress. */
int perf_reap(struct perf_conn *conn);
/* Wait until this many messages have come in this run; until all requests are complete. */
int perf_await_messages(struct perf_conn *conn, uint64_t count);
int perf_drain(struct perf_conn *conn);

/* Records the time of iteration i, and begins the next. */
static inline void perf_note(struct perf_conn *conn, uint64_t i, int64_t *from)
{
	int64_t now = perf_now_ns();
	int64_t took = now - *from;

	conn->samples[i % conn->max_samples] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
	*from = now;
}

static inline void perf_tell(struct perf_conn *conn, uint64_t done)
{
	__atomic_store_n(&conn->progress.done, done, __ATOMIC_RELAXED);
}

/* ---- measurements ---- */

/* Runs a pattern until the requests of this side are complete (pattern.c). */
int perf_pattern_run(struct perf_conn *conn);
/* The number of messages that this side receives in the run; sets rx_data. */
uint64_t perf_pattern_receives(struct perf_conn *conn);

/* Runs measurements that are no requests (cycle.c). */
int perf_cycle_run(struct perf_conn *conn);
int perf_wakeup_run(struct perf_conn *conn);

#endif
