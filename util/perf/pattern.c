/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The patterns of requests of both sides. */
#include "perf/conn.h"

/* ---- one at a time ---- */

static int ping_pong_messages(struct perf_conn *conn)
{
	int64_t from = perf_now_ns();

	for (uint64_t i = 0; i < conn->run->iterations; i++) {
		if (conn->env->passive && perf_await_messages(conn, i + 1))
			return -1;
		if (perf_request(conn, i, PERF_NO_SLOT, -1))
			return -1;
		if (!conn->env->passive && perf_await_messages(conn, i + 1))
			return -1;
		perf_note(conn, i, &from);
	}
	return 0;
}

#define SPINS_PER_LOOK (UINT32_C(1) << 24)

/* Spins on memory without calls of DAT: the library's thread makes progress. */
static int spin(struct perf_conn *conn, const unsigned char *last, unsigned char mark)
{
	int64_t until = perf_now_ns() + PERF_STALL_MS * INT64_C(1000000);

	for (uint32_t i = 1; __atomic_load_n(last, __ATOMIC_ACQUIRE) != mark; i++) {
		if (i % SPINS_PER_LOOK)
			continue;
		if (conn->env->thread == 0 && perf_sync_peek(conn->env->sync, 0) < 0)
			return -1;
		if (perf_now_ns() > until)
			return util_fail("a write did not come within %d seconds",
					 PERF_STALL_MS / 1000);
	}
	return 0;
}

/* Spins until the peer's write number i has arrived: its last byte appears last. */
static int await_write(struct perf_conn *conn, uint64_t i, unsigned char mark)
{
	const struct perf_env *env = conn->env;
	uint32_t ep = (uint32_t)(i % env->cfg->eps);
	const char *buf = env->buf + perf_rx_offset(conn, ep, 0);
	const unsigned char *last = (const unsigned char *)buf + conn->run->size - 1;
	uint64_t number = i / env->cfg->eps;

	if (env->cfg->spin && spin(conn, last, mark))
		return -1;
	while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != mark) {
		if (perf_reap(conn))
			return -1;
	}
	if (!env->cfg->verify)
		return 0;
	return perf_data_check(conn, "write", ep, number, buf, conn->run->size - 1,
			       perf_data_seed(conn, !env->passive, ep, number));
}

static int ping_pong_write(struct perf_conn *conn)
{
	uint32_t eps = conn->env->cfg->eps;
	int64_t from = perf_now_ns();

	for (uint64_t i = 0; i < conn->run->iterations; i++) {
		unsigned char mark = (unsigned char)(i / eps % 255 + 1);

		if (conn->env->passive && await_write(conn, i, mark))
			return -1;
		if (perf_request(conn, i, 0, mark))
			return -1;
		if (!conn->env->passive && await_write(conn, i, mark))
			return -1;
		perf_note(conn, i, &from);
	}
	return 0;
}

static int one_by_one(struct perf_conn *conn)
{
	int64_t from = perf_now_ns();

	for (uint64_t i = 0; i < conn->run->iterations; i++) {
		if (perf_request(conn, i, PERF_NO_SLOT, -1) || perf_drain(conn))
			return -1;
		perf_note(conn, i, &from);
	}
	return 0;
}

/* ---- many ---- */

static int stream_requests(struct perf_conn *conn)
{
	for (uint64_t i = 0; i < conn->run->iterations; i++) {
		if (perf_request(conn, i, PERF_NO_SLOT, -1))
			return -1;
	}
	return perf_drain(conn);
}

/*
 * Endpoints are not ordered among each other, so a control message on each one reports that all
 * writes have arrived.
 */
static int tell_all_written(struct perf_conn *conn)
{
	for (uint32_t ep = 0; ep < conn->env->cfg->eps; ep++) {
		if (perf_control(conn, ep))
			return -1;
	}
	return 0;
}

static int check_written(struct perf_conn *conn)
{
	const struct perf_env *env = conn->env;

	if (conn->traits->shape != PERF_SILENT || !env->cfg->verify)
		return 0;
	for (uint32_t i = 0; i < env->ntx && i < conn->run->iterations; i++) {
		uint32_t ep = i % env->cfg->eps, slot = i / env->cfg->eps;

		if (perf_data_check(conn, "write into slot", ep, slot,
				    env->buf + perf_rx_offset(conn, ep, slot), conn->run->size,
				    perf_data_seed(conn, !env->passive, ep, slot)))
			return -1;
	}
	return 0;
}

/* The client's side of streams. The time ends when all bytes are known to have arrived. */
static int stream_client(struct perf_conn *conn)
{
	bool latency = conn->env->cfg->metric == PERF_LATENCY;

	if (latency ? one_by_one(conn) : stream_requests(conn))
		return -1;
	conn->stop = perf_now_ns();
	conn->check_reads = false;
	if (conn->traits->shape == PERF_ANSWERED)
		return perf_control(conn, 0);
	if (conn->traits->shape == PERF_SILENT && tell_all_written(conn))
		return -1;
	if (perf_await_messages(conn, 1))
		return -1;
	conn->stop = perf_now_ns();
	return 0;
}

static int stream_server(struct perf_conn *conn)
{
	if (perf_await_messages(conn, conn->rx_total))
		return -1;
	if (conn->traits->shape == PERF_ANSWERED)
		return 0;
	return check_written(conn) ? -1 : perf_control(conn, 0);
}

/* Both sides send and receive. The end of the run tells when the peer has finished. */
static int stream_both(struct perf_conn *conn)
{
	if (stream_requests(conn))
		return -1;
	if (conn->traits->shape == PERF_SILENT && tell_all_written(conn))
		return -1;
	return perf_await_messages(conn, conn->rx_total) ? -1 : check_written(conn);
}

/* ---- the run ---- */

uint64_t perf_pattern_receives(struct perf_conn *conn)
{
	const struct perf_cfg *cfg = conn->env->cfg;
	bool passive = conn->env->passive, latency = cfg->metric == PERF_LATENCY;
	enum perf_shape shape = conn->traits->shape;

	conn->rx_data = shape == PERF_MESSAGES && (latency || passive || cfg->both);
	conn->rx_len = conn->rx_data ? conn->run->size : PERF_CONTROL_LEN;
	if (conn->rx_data)
		return conn->run->iterations;
	switch (shape) {
	case PERF_MESSAGES:
		return 1;
	case PERF_SILENT:
		if (latency)
			return 0;
		return passive || cfg->both ? cfg->eps : 1;
	case PERF_ANSWERED:
		return passive && !cfg->both;
	default:
		return 0;
	}
}

/* The server only waits for the end. */
static int await_end(struct perf_conn *conn)
{
	int msg;

	do {
		msg = perf_sync_peek(conn->env->sync, -1);
	} while (!msg);
	return msg < 0 ? -1 : 0;
}

int perf_pattern_run(struct perf_conn *conn)
{
	const struct perf_cfg *cfg = conn->env->cfg;
	bool latency = cfg->metric == PERF_LATENCY;

	if (conn->traits->shape == PERF_CYCLES)
		return perf_cycle_run(conn);
	if (conn->traits->shape == PERF_WAKEUPS)
		return conn->env->passive ? await_end(conn) : perf_wakeup_run(conn);
	if (latency && conn->traits->shape == PERF_MESSAGES)
		return ping_pong_messages(conn);
	if (latency && conn->traits->shape == PERF_SILENT)
		return ping_pong_write(conn);
	if (cfg->both)
		return stream_both(conn);
	return conn->env->passive ? stream_server(conn) : stream_client(conn);
}
