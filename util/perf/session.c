/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A session: agreement of the two sides, and the rounds of the client. */
#include "perf/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC             0x64617470u /* detects a peer of the other byte order */
#define PROTOCOL          5
#define PEER_ERROR_MS     300
/* The length of the run that determines the number of iterations of a round. */
#define CALIBRATE_SECONDS 0.02

struct session {
	const struct perf_options *options;
	struct perf_env env;   /* of the first thread, without a buffer */
	struct perf_env *envs; /* one per thread */
	struct perf_cfg cfg;
	struct perf_crew *crews[PERF_BACKENDS];
	struct perf_result *results[PERF_BACKENDS];
	struct perf_cost costs[PERF_BACKENDS];
	struct perf_live *live; /* client only */
	uint32_t serial;
	char source[64];
	char domain[PERF_NAME_LEN];
};

struct hello {
	uint32_t magic, protocol, size;
	struct perf_cfg cfg;
};

/* ---- common to both sides ---- */

/* Takes what the options leave open from the interface. */
static void choose_fabric(struct session *session, const struct perf_fabric *fabric)
{
	const struct perf_options *o = session->options;
	const char *provider = o->provider ? o->provider : fabric->provider;
	struct perf_cfg *cfg = &session->cfg;

	if (!*provider)
		provider = "tcp";
	snprintf(cfg->provider, sizeof(cfg->provider), "%s", provider);
	cfg->rdm = o->ep_type ? o->ep_type == 2 : fabric->rdm;
}

/*
 * Raw libfabric uses the fabric below the interface, unless options name another. The client
 * decides all but the domain.
 */
static int find_fabric(struct session *session, bool client)
{
	struct perf_fabric fabric = {.provider = ""};
	struct perf_cfg *cfg = &session->cfg;

	if (!(cfg->backends & 1u << PERF_RAW))
		return 0;
	if (cfg->ask_ia && perf_dat_fabric(session->env.ia, &fabric)) {
		if (cfg->backends & 1u << PERF_DAT)
			return -1;
		if (client)
			fprintf(stderr, "dat_perf: %s; raw uses tcp\n", util_error());
	} else if (cfg->ask_ia && client && !*fabric.provider) {
		fprintf(stderr, "dat_perf: interface %s does not name a provider; raw uses tcp\n",
			session->env.ia);
	}
	snprintf(session->domain, sizeof(session->domain), "%s",
		 session->options->domain ? session->options->domain : fabric.domain);
	session->env.domain = *session->domain ? session->domain : NULL;
	if (client)
		choose_fabric(session, &fabric);
	return 0;
}

static int open_envs(struct session *session)
{
	uint32_t threads = session->cfg.threads;

	session->env.cfg = &session->cfg;
	session->env.source = session->source;
	session->envs = calloc(threads, sizeof(*session->envs));
	if (!session->envs)
		return util_fail("no memory");
	for (uint32_t i = 0; i < threads; i++) {
		session->envs[i] = session->env;
		session->envs[i].thread = i;
		if (perf_env_init(&session->envs[i]))
			return -1;
	}
	return 0;
}

static int open_crew(struct session *session, enum perf_backend i)
{
	uint64_t memory = perf_cost_memory();
	int64_t from = perf_now_ns();

	if (perf_crew_open(session->envs, i, &session->crews[i]))
		return -1;
	session->costs[i].open_s = (double)(perf_now_ns() - from) / 1e9;
	session->costs[i].memory = perf_cost_memory() - memory;
	return 0;
}

static int open_crews(struct session *session)
{
	if (open_envs(session))
		return -1;
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		if (session->cfg.backends & 1u << i && open_crew(session, i))
			return -1;
	}
	return 0;
}

static void close_crew(struct session *session, enum perf_backend i)
{
	int64_t from = perf_now_ns();

	perf_crew_close(session->crews[i]);
	session->crews[i] = NULL;
	session->costs[i].close_s = (double)(perf_now_ns() - from) / 1e9;
}

static void close_session(struct session *session)
{
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		close_crew(session, i);
		free(session->results[i]);
	}
	for (uint32_t i = 0; session->envs && i < session->cfg.threads; i++)
		perf_env_free(&session->envs[i]);
	free(session->envs);
}

/*
 * Sends our error to the peer. If the peer has failed first, its message is the cause and is added
 * to ours.
 */
void perf_tell_peer(int sync)
{
	char own[1024], all[2048];

	snprintf(own, sizeof(own), "%s", util_error());
	snprintf(all, sizeof(all), "%s", own);
	if (perf_sync_complains(sync, PEER_ERROR_MS) && !strstr(util_error(), own))
		snprintf(all, sizeof(all), "%s; %s", own, util_error());
	perf_sync_send(sync, PERF_MSG_ERROR, own, strlen(own));
	util_fail("%s", all);
}

/* ---- server ---- */

static int serve_runs(struct session *session)
{
	int sync = session->env.sync, msg;
	struct perf_result unused;
	struct perf_run run;

	for (;;) {
		msg = perf_sync_peek(sync, -1);
		if (msg < 0)
			return -1;
		if (msg == PERF_MSG_BYE)
			return perf_sync_recv(sync, PERF_MSG_BYE, NULL, 0);
		if (!msg)
			continue;
		if (perf_sync_recv(sync, PERF_MSG_RUN, &run, sizeof(run)))
			return -1;
		if (run.backend >= PERF_BACKENDS || !session->crews[run.backend] ||
		    !run.iterations || !run.size || run.size > session->cfg.max_size)
			return util_fail("the client asks for a run that was not agreed on");
		if (perf_crew_run(session->crews[run.backend], &run, &unused))
			return -1;
	}
}

static int serve_session(struct session *session)
{
	int sync = session->env.sync;
	struct hello hello;

	if (perf_sync_source(sync, session->source, sizeof(session->source)) ||
	    perf_sync_recv_hello(sync, &hello, sizeof(hello)))
		return -1;
	if (hello.magic != MAGIC || hello.protocol != PROTOCOL || hello.size != sizeof(hello))
		return util_fail("server and client are different versions of dat_perf, or on "
				 "machines of different byte order");
	session->cfg = hello.cfg;
	if (perf_cfg_check(&session->cfg))
		return -1;
	/* The interface may have another name on the server's host. */
	session->env.ia = session->options->ia ? session->options->ia : session->cfg.ia;
	if (find_fabric(session, false) || open_crews(session))
		return -1;
	return serve_runs(session);
}

/* Whether the client begins another session. */
static bool has_more(int sync)
{
	int msg;

	do {
		msg = perf_sync_peek(sync, -1);
	} while (!msg);
	return msg > 0;
}

int perf_serve(const struct perf_options *o, int sync)
{
	int ret;

	do {
		struct session session = {.options = o, .env = {.sync = sync, .passive = true}};

		ret = serve_session(&session);
		if (ret)
			perf_tell_peer(sync);
		close_session(&session);
	} while (!ret && has_more(sync));
	close(sync);
	return ret;
}

/* ---- client ---- */

static int run_once(struct session *session, enum perf_backend backend, uint64_t size,
		    uint64_t iterations, struct perf_result *result)
{
	struct perf_run run = {
		.size = size,
		.iterations = iterations,
		.backend = backend,
		.serial = ++session->serial,
	};

	if (perf_sync_send(session->env.sync, PERF_MSG_RUN, &run, sizeof(run)))
		return -1;
	return perf_crew_run(session->crews[backend], &run, result);
}

/*
 * Doubles the run until it is long enough to compute the number of iterations of a round. The best
 * rate counts, because a run may include connecting or be interrupted.
 */
static int calibrate(struct session *session, enum perf_backend backend, uint64_t size,
		     uint64_t *iterations_p)
{
	const struct perf_options *o = session->options;
	double rate = 0, enough = o->seconds < CALIBRATE_SECONDS ? o->seconds : CALIBRATE_SECONDS;
	uint64_t count = o->warmup;
	struct perf_result result = {0};

	if (o->iterations) {
		*iterations_p = o->iterations;
		return 0;
	}
	if (run_once(session, backend, size, count, &result))
		return -1;
	do {
		if (run_once(session, backend, size, count, &result))
			return -1;
		if ((double)count / result.seconds > rate)
			rate = (double)count / result.seconds;
		count *= 2;
	} while (result.seconds < enough && count < PERF_MAX_ITERATIONS);
	rate *= o->seconds;
	if (rate > PERF_MAX_ITERATIONS)
		rate = PERF_MAX_ITERATIONS;
	*iterations_p = rate < 1 ? 1 : (uint64_t)rate;
	return 0;
}

static void show_round(struct session *session, const struct perf_sample *sample,
		       enum perf_backend backend, uint32_t round)
{
	const struct perf_cfg *cfg = &session->cfg;
	char size[32] = "", text[80];

	if (perf_traits[cfg->test].fixed != 1)
		snprintf(size, sizeof(size), " %llu bytes", (unsigned long long)sample->size);
	snprintf(text, sizeof(text), "%s%s, %s, round %u of %u", perf_test_names[cfg->test], size,
		 perf_backend_names[backend], round + 1, sample->rounds);
	perf_live_show(session->live, text, perf_crew_progress(session->crews[backend]));
}

static int measure_round(struct session *session, struct perf_sample *sample,
			 enum perf_backend backend, uint32_t round)
{
	struct perf_result warmup;

	if (!(session->cfg.backends & 1u << backend))
		return 0;
	if (run_once(session, backend, sample->size, session->options->warmup, &warmup))
		return -1;
	show_round(session, sample, backend, round);
	return run_once(session, backend, sample->size, sample->iterations[backend],
			&session->results[backend][round]);
}

static int measure_size(struct session *session, uint64_t size, struct perf_report *report)
{
	struct perf_sample sample = {.size = size, .rounds = session->options->rounds};

	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		sample.results[i] = session->results[i];
		if (session->cfg.backends & 1u << i &&
		    calibrate(session, i, size, &sample.iterations[i]))
			return -1;
	}
	/* The order of the back ends alternates, so that a drift affects both equally. */
	for (uint32_t round = 0; round < sample.rounds; round++) {
		enum perf_backend first = round % 2 ? PERF_RAW : PERF_DAT;

		if (measure_round(session, &sample, first, round) ||
		    measure_round(session, &sample, !first, round))
			return -1;
	}
	perf_live_show(session->live, "", NULL);
	return perf_report_size(report, &sample);
}

static int begin_client(struct session *session)
{
	struct hello hello = {.magic = MAGIC, .protocol = PROTOCOL, .size = sizeof(hello)};
	int sync = session->env.sync;

	session->env.ia = session->cfg.ia;
	if (perf_sync_source(sync, session->source, sizeof(session->source)) ||
	    find_fabric(session, true))
		return -1;
	hello.cfg = session->cfg;
	if (perf_sync_send(sync, PERF_MSG_HELLO, &hello, sizeof(hello)) || open_crews(session))
		return -1;
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		session->results[i] = calloc(session->options->rounds, sizeof(struct perf_result));
		if (!session->results[i])
			return util_fail("no memory");
	}
	return 0;
}

static int run_client(struct session *session, const struct perf_plan *plan,
		      struct perf_report *report)
{
	if (begin_client(session) || perf_report_begin(report, &session->cfg))
		return -1;
	for (uint32_t i = 0; i < plan->nsizes; i++) {
		if (measure_size(session, plan->sizes[i], report))
			return -1;
	}
	if (session->cfg.cost)
		report->idle = perf_cost_idle();
	if (perf_sync_send(session->env.sync, PERF_MSG_BYE, NULL, 0))
		return -1;
	for (enum perf_backend i = 0; i < PERF_BACKENDS && session->cfg.cost; i++) {
		close_crew(session, i);
		report->costs[i] = session->costs[i];
	}
	return perf_report_end(report);
}

int perf_session_run(const struct perf_options *o, const struct perf_plan *plan, int sync,
		     struct perf_report *report)
{
	struct session session = {.options = o, .cfg = plan->cfg, .env = {.sync = sync}};
	int ret;

	session.live = o->quiet ? NULL : perf_live_begin();
	ret = run_client(&session, plan, report);
	perf_live_end(session.live);
	if (ret)
		perf_tell_peer(sync);
	perf_report_drop(report);
	close_session(&session);
	return ret;
}

int perf_measure(const struct perf_options *o, const struct perf_plan *plan, int sync)
{
	struct perf_report report = {
		.format = o->json  ? PERF_JSON
			  : o->csv ? PERF_CSV
				   : PERF_TEXT,
		.stat = o->stat,
		.rounds = o->rounds,
		.limits = {o->max_ratio, o->min_ratio, o->max_excess},
		.plot_path = o->plot,
	};
	int ret = perf_session_run(o, plan, sync, &report);

	close(sync);
	if (!ret && report.violated)
		ret = util_fail("what was compared is outside the limits");
	return ret;
}
