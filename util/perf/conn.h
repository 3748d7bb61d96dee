/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef UTIL_PERF_CONN_H
#define UTIL_PERF_CONN_H

#include "perf/perf.h"

/* What one thread of one side has of a session over one back end: the endpoints and their state. */

#define PERF_NO_SLOT     UINT32_MAX
#define PERF_CONTROL_LEN 1 /* of the messages that say "all written" and "all seen" */
#define PERF_SLEEP_MS    100

/* An endpoint. */
struct perf_flow {
	uint32_t *free; /* ring of request slots, used in turn: the first lap touches each once */
	uint32_t free_head, nfree;
	uint32_t last_silent; /* newest request that asked for no completion */
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
	uint32_t *before; /* per request: the silent one before it, freed by the same completion */
	bool *silent;     /* per request: asked for no completion */
	uint64_t *expected; /* per request: what an atomic operation is to find */
	uint64_t *turns;    /* per receive: how many were posted before it on its endpoint */
	uint32_t *slots;    /* memory of the flows' rings */
	/* receives to be posted later: the fabric had no room, or an answer goes first */
	uint32_t *held;
	uint32_t nheld;
	uint32_t *samples;    /* nanoseconds of each iteration; the crew's */
	uint64_t max_samples; /* later ones overwrite the first */
	const bool *failed;   /* another thread of the crew has; atomic */

	/* One run. */
	const struct perf_run *run;
	size_t stride;
	size_t rx_len;
	bool rx_data; /* what arrives is data, not a control message */
	bool check_reads;
	bool answering; /* each message is answered at once */
	uint64_t rx_total, rx_done;
	uint64_t tx_pending;
	uint32_t idle;
	int64_t idle_since;
	int64_t start;
	int64_t stop; /* when the pattern was complete, 0: when it returned */
	struct perf_progress progress;
};

/* ---- life (conn.c) ---- */

/* Connects with the peer. first: as in struct perf_ops. Whoever opens sets samples and failed. */
int perf_conn_open(const struct perf_env *env, const struct perf_ops *ops, void *first,
		   struct perf_conn **conn_p);
void perf_conn_close(struct perf_conn *conn);

/* Everything before the first request, receives included. */
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

/* Begins the bytes of request or slot number of an endpoint, in this run. */
uint64_t perf_data_seed(const struct perf_conn *conn, bool from_server, uint32_t ep,
			uint64_t number);
void perf_data_fill(char *buf, size_t len, uint64_t from);
bool perf_data_is(const char *buf, size_t len, uint64_t from);
/* Tells the first wrong byte. */
int perf_data_check(const struct perf_conn *conn, const char *what, uint32_t ep, uint64_t number,
		    const char *buf, size_t len, uint64_t from);

/* ---- requests and completions (loop.c) ---- */

/* Posts the receive again unless this run needs no more of them. */
int perf_receive(struct perf_conn *conn, uint32_t id);

/*
 * One request of the test on the endpoint whose turn it is. remote_slot PERF_NO_SLOT: wherever it
 * belongs. last_byte: the last one, if it is not negative.
 */
int perf_request(struct perf_conn *conn, uint64_t i, uint32_t remote_slot, int last_byte);
/* A word to the peer on the data path, behind everything posted on that endpoint. */
int perf_control(struct perf_conn *conn, uint32_t ep);

/* Completions that are there already, and progress. */
int perf_reap(struct perf_conn *conn);
/* Until so many messages have come in this run; until all requests are complete. */
int perf_await_messages(struct perf_conn *conn, uint64_t count);
int perf_drain(struct perf_conn *conn);

/* Control records how long iteration i took, and begins the next. */
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

/* ---- what is measured ---- */

/* A run up to the completion of this side's requests (pattern.c). */
int perf_pattern_run(struct perf_conn *conn);
/* How many messages this side gets in it; sets what they are. */
uint64_t perf_pattern_receives(struct perf_conn *conn);

/* Those that are no requests (cycle.c). */
int perf_cycle_run(struct perf_conn *conn);
int perf_wakeup_run(struct perf_conn *conn);

#endif
