/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Measurements that are no requests: connections, and threads that wake each other. */
#include "perf/conn.h"

#include <pthread.h>

/*
 * For the rate, a round connects all endpoints at once; for the latency one endpoint, until it is
 * connected, without the disconnect. An iteration is a connection.
 */
int perf_cycle_run(struct perf_conn *conn)
{
	const struct perf_cfg *cfg = conn->env->cfg;
	uint64_t left = conn->run->iterations, i = 0;
	uint32_t most = cfg->metric == PERF_LATENCY ? 1 : cfg->eps;

	while (left) {
		uint32_t count = left < most ? (uint32_t)left : most;
		int64_t from = perf_now_ns();

		if (conn->ops->link(conn->be, count))
			return -1;
		perf_note(conn, i++, &from);
		if (conn->ops->unlink(conn->be, count))
			return -1;
		left -= count;
		perf_tell(conn, conn->run->iterations - left);
	}
	return 0;
}

/* The thread that is woken and wakes the first one. */
struct sleeper {
	struct perf_conn *conn;
	bool over; /* atomic */
	int ret;
	char error[256];
};

/* Sleeps until the other thread wakes this one; 0 if the other has given up. */
static int nap(struct sleeper *sleeper, int place)
{
	struct perf_conn *conn = sleeper->conn;
	bool last;
	int ret;

	do {
		last = __atomic_load_n(&sleeper->over, __ATOMIC_ACQUIRE);
		ret = conn->ops->nap(conn->be, place, PERF_SLEEP_MS);
	} while (!ret && !last);
	return ret;
}

static void *sleep_and_wake(void *arg)
{
	struct sleeper *sleeper = arg;
	struct perf_conn *conn = sleeper->conn;
	int ret = 1;

	for (uint64_t i = 0; i < conn->run->iterations && ret > 0; i++) {
		ret = nap(sleeper, 0);
		if (ret > 0 && conn->ops->wake(conn->be, 1))
			ret = -1;
	}
	if (ret < 0)
		snprintf(sleeper->error, sizeof(sleeper->error), "%s", util_error());
	sleeper->ret = ret;
	__atomic_store_n(&sleeper->over, true, __ATOMIC_RELEASE);
	return NULL;
}

static int wake_and_sleep(struct sleeper *sleeper)
{
	struct perf_conn *conn = sleeper->conn;
	int64_t from = perf_now_ns();

	for (uint64_t i = 0; i < conn->run->iterations; i++) {
		int ret = conn->ops->wake(conn->be, 0);

		if (!ret)
			ret = nap(sleeper, 1);
		if (ret <= 0)
			return ret < 0 ? -1 : util_fail("the thread that sleeps has ended");
		perf_note(conn, i, &from);
		perf_tell(conn, i);
	}
	return 0;
}

int perf_wakeup_run(struct perf_conn *conn)
{
	struct sleeper sleeper = {.conn = conn};
	pthread_t thread;
	int ret;

	if (pthread_create(&thread, NULL, sleep_and_wake, &sleeper))
		return util_fail("cannot start a thread");
	ret = wake_and_sleep(&sleeper);
	conn->stop = perf_now_ns();
	__atomic_store_n(&sleeper.over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	if (sleeper.ret < 0)
		return util_fail("%s", sleeper.error);
	return ret;
}
