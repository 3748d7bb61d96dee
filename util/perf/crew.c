/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All threads of one side over one back end. Each has endpoints of its own. The first thread, which
 * is the caller, also communicates with the other side.
 */
#include "perf/conn.h"
#include "perf/session.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLES (UINT64_C(1) << 20)

struct perf_crew {
	const struct perf_env *env; /* of the first thread */
	struct perf_conn **conns;
	uint32_t count; /* number of open ones */
	uint32_t *samples;

	/* One run. */
	bool begun;        /* all threads have started; atomic */
	uint32_t finished; /* number of threads that have finished; atomic */
	bool failed;       /* atomic; the text is valid when it is set */
	bool over;         /* the other side has finished, too, or the run has failed; atomic */
	pthread_mutex_t text_lock;
	char text[1024];
};

struct worker {
	pthread_t thread;
	struct perf_crew *crew;
	struct perf_conn *conn;
};

/* ---- life ---- */

static int open_conn(struct perf_crew *crew, const struct perf_env *env, const struct perf_ops *ops)
{
	uint64_t share = MAX_SAMPLES / env->cfg->threads;
	void *first = crew->count ? crew->conns[0]->be : NULL;
	struct perf_conn *conn;

	if (perf_conn_open(env, ops, first, &conn))
		return -1;
	conn->samples = crew->samples + share * crew->count;
	conn->max_samples = share;
	conn->failed = &crew->failed;
	crew->conns[crew->count++] = conn;
	return 0;
}

int perf_crew_open(const struct perf_env *envs, enum perf_backend backend,
		   struct perf_crew **crew_p)
{
	static const struct perf_ops *const backends[] = {
		[PERF_DAT] = &perf_dat_ops,
		[PERF_RAW] = &perf_raw_ops,
	};
	uint32_t threads = envs->cfg->threads;
	struct perf_crew *crew = calloc(1, sizeof(*crew));

	if (!crew)
		return util_fail("no memory");
	crew->env = envs;
	pthread_mutex_init(&crew->text_lock, NULL);
	crew->conns = calloc(threads, sizeof(struct perf_conn *));
	crew->samples = calloc(MAX_SAMPLES, sizeof(*crew->samples));
	if (!crew->conns || !crew->samples) {
		util_fail("no memory");
		goto err;
	}
	while (crew->count < threads) {
		if (open_conn(crew, &envs[crew->count], backends[backend]))
			goto err;
	}
	*crew_p = crew;
	return 0;

err:
	perf_crew_close(crew);
	return -1;
}

void perf_crew_close(struct perf_crew *crew)
{
	if (!crew)
		return;
	/* The first thread is last, because the others use its interface. */
	while (crew->count)
		perf_conn_close(crew->conns[--crew->count]);
	free(crew->conns);
	free(crew->samples);
	pthread_mutex_destroy(&crew->text_lock);
	free(crew);
}

const struct perf_progress *perf_crew_progress(const struct perf_crew *crew)
{
	return &crew->conns[0]->progress;
}

/* ---- a run ---- */

/* Only the first failure is reported, because later ones follow from it. */
static void fail_all(struct perf_crew *crew)
{
	pthread_mutex_lock(&crew->text_lock);
	if (!crew->failed) {
		snprintf(crew->text, sizeof(crew->text), "%s", util_error());
		__atomic_store_n(&crew->failed, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&crew->text_lock);
}

static int run_pattern(struct perf_crew *crew, struct perf_conn *conn)
{
	if (crew->count > 1)
		perf_pin_thread(conn->env->thread);
	while (!__atomic_load_n(&crew->begun, __ATOMIC_ACQUIRE))
		sched_yield();
	conn->start = perf_now_ns();
	if (__atomic_load_n(&crew->failed, __ATOMIC_ACQUIRE))
		return util_fail("another thread has failed");
	if (perf_pattern_run(conn))
		return -1;
	if (!conn->stop)
		conn->stop = perf_now_ns();
	if (perf_drain(conn))
		return -1;
	__atomic_add_fetch(&crew->finished, 1, __ATOMIC_ACQ_REL);
	return 0;
}

/* Makes progress until the other side has finished. */
static int keep_going(struct perf_crew *crew, struct perf_conn *conn)
{
	while (!__atomic_load_n(&crew->over, __ATOMIC_ACQUIRE)) {
		conn->idle_since = 0;
		if (perf_reap(conn))
			return -1;
	}
	return 0;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	if (run_pattern(worker->crew, worker->conn) || keep_going(worker->crew, worker->conn))
		fail_all(worker->crew);
	return NULL;
}

static int await_threads(struct perf_crew *crew)
{
	while (__atomic_load_n(&crew->finished, __ATOMIC_ACQUIRE) < crew->count) {
		crew->conns[0]->idle_since = 0;
		if (__atomic_load_n(&crew->failed, __ATOMIC_ACQUIRE) || perf_reap(crew->conns[0]))
			return -1;
	}
	return 0;
}

/* Both sides report that they have finished; each may need the other's progress until both know. */
static int finish_together(struct perf_crew *crew)
{
	const struct perf_env *env = crew->env;
	int msg;

	if (await_threads(crew) || perf_sync_send(env->sync, PERF_MSG_END, NULL, 0))
		return -1;
	do {
		if (__atomic_load_n(&crew->failed, __ATOMIC_ACQUIRE) || perf_reap(crew->conns[0]))
			return -1;
		msg = perf_sync_peek(env->sync, env->cfg->wait && !env->cfg->both ? 1 : 0);
		if (msg < 0)
			return -1;
	} while (!msg);
	/* If both sides send, the end of the other side is known only now. */
	if (env->cfg->both)
		crew->conns[0]->stop = perf_now_ns();
	return perf_sync_recv(env->sync, PERF_MSG_END, NULL, 0);
}

/* Starts the worker threads. Returns the number of threads, including this one. */
static uint32_t start_workers(struct perf_crew *crew, struct worker *workers)
{
	uint32_t i;

	for (i = 1; i < crew->count; i++) {
		workers[i] = (struct worker){.crew = crew, .conn = crew->conns[i]};
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
			util_fail("cannot start %u threads", crew->count);
			fail_all(crew);
			break;
		}
	}
	return i;
}

/* Runs all threads to their end. */
static int run_workers(struct perf_crew *crew)
{
	struct worker *workers = calloc(crew->count, sizeof(*workers));
	uint32_t started;

	if (!workers)
		return util_fail("no memory");
	crew->finished = 0;
	crew->begun = crew->failed = crew->over = false;
	started = start_workers(crew, workers);
	__atomic_store_n(&crew->begun, true, __ATOMIC_RELEASE);
	if (run_pattern(crew, crew->conns[0]) || finish_together(crew))
		fail_all(crew);
	__atomic_store_n(&crew->over, true, __ATOMIC_RELEASE);
	for (uint32_t i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	free(workers);
	return crew->failed ? util_fail("%s", crew->text) : 0;
}

static int64_t last_stop(const struct perf_crew *crew)
{
	int64_t stop = 0;

	for (uint32_t i = 0; i < crew->count; i++) {
		if (crew->conns[i]->stop > stop)
			stop = crew->conns[i]->stop;
	}
	return stop;
}

static bool answers(const struct perf_cfg *cfg)
{
	enum perf_shape shape = perf_traits[cfg->test].shape;

	return shape == PERF_ANSWERED || shape == PERF_CYCLES;
}

static void summarise(struct perf_crew *crew, struct perf_result *result)
{
	const struct perf_cfg *cfg = crew->env->cfg;
	uint64_t count = 0;

	if (cfg->metric != PERF_LATENCY || crew->env->passive)
		return;
	for (uint32_t i = 0; i < crew->count; i++) {
		struct perf_conn *conn = crew->conns[i];
		uint64_t n = conn->run->iterations;

		n = n < conn->max_samples ? n : conn->max_samples;
		memmove(crew->samples + count, conn->samples, n * sizeof(*conn->samples));
		count += n;
	}
	perf_stats_find(crew->samples, count, answers(cfg) ? 1 : 0.5, result);
}

int perf_crew_run(struct perf_crew *crew, const struct perf_run *run, struct perf_result *result)
{
	const struct perf_env *env = crew->env;

	for (uint32_t i = 0; i < crew->count; i++) {
		if (perf_conn_prepare(crew->conns[i], run))
			return -1;
	}
	if (perf_sync_send(env->sync, PERF_MSG_READY, NULL, 0) ||
	    perf_sync_recv(env->sync, PERF_MSG_READY, NULL, 0) || run_workers(crew))
		return -1;
	memset(result, 0, sizeof(*result));
	result->seconds = (double)(last_stop(crew) - crew->conns[0]->start) / 1e9;
	summarise(crew, result);
	return 0;
}
