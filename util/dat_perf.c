/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_SIZES	64
#define MAX_SIZE	(UINT64_C(1) << 30)
#define MAX_ITERATIONS	UINT32_MAX
#define MAGIC		0x64617470u	/* another number on a machine of the other byte order */
#define PROTOCOL	2
#define PEER_ERROR_MS	300
/* A run this long tells how many iterations a round needs. */
#define CALIBRATE_SECONDS 0.02

struct options {
	bool server, once, loopback;
	bool raw, compare;
	bool srq, wait, verify;
	bool json, help, version;
	uint32_t test, metric, stat;
	uint32_t iterations, warmup, window, eps, iov, signal_every, rounds;
	uint32_t ep_type, cq_wait;
	double seconds, max_ratio, min_ratio, patience;
	const char *sizes, *ia, *provider, *domain, *host, *bind, *port, *pin;
};

/* One session of the client. */
struct session {
	const struct options *options;
	struct perf_env env;
	struct perf_cfg cfg;
	struct perf_conn *conns[PERF_BACKENDS];
	struct perf_result *results[PERF_BACKENDS];
	uint64_t sizes[MAX_SIZES];
	uint32_t nsizes;
	uint32_t serial;
	char source[64];
	char domain[PERF_NAME_LEN];
};

struct hello {
	uint32_t magic, protocol, size;
	struct perf_cfg cfg;
};

static struct options options = {
	.warmup = 100,
	.eps = 1,
	.iov = 1,
	.signal_every = 1,
	.port = "18650",
};

static const char *const ep_type_names[] = { "auto", "msg", "rdm", NULL };
static const char *const cq_wait_names[] = { "auto", "none", "fd", NULL };

static const struct util_opt option_table[] = {
	UTIL_HEADING("What to measure:"),
	UTIL_CHOICE('o', "test", &options.test, "TEST", "send (default), write or read",
		perf_test_names),
	UTIL_CHOICE('m', "metric", &options.metric, "METRIC",
		"latency (default), bandwidth or rate", perf_metric_names),
	UTIL_STRING('S', "size", &options.sizes, "LIST", "bytes: 8,64,4k or powers of two 1:1m"),
	UTIL_NUMBER('n', "iterations", &options.iterations, "N", "messages of each round",
		1, MAX_ITERATIONS),
	UTIL_REAL('t', "time", &options.seconds, "SEC", "or: seconds of each round (default 0.5)"),
	UTIL_NUMBER('u', "warmup", &options.warmup, "N", "messages before each round (default 100)",
		1, MAX_ITERATIONS),
	UTIL_NUMBER('R', "rounds", &options.rounds, "N", "rounds per size (1; 9 with --compare)",
		1, 1000),
	UTIL_NUMBER('W', "window", &options.window, "N",
		"requests under way (bandwidth 16, rate 64)", 1, 4096),
	UTIL_NUMBER('e', "eps", &options.eps, "N", "endpoints, used in turn (1)", 1, 1024),
	UTIL_NUMBER('g', "iov", &options.iov, "N", "local segments of a message (1)", 1, 16),
	UTIL_FLAG('q', "srq", &options.srq, "one shared receive queue for all endpoints"),
	UTIL_FLAG('w', "wait", &options.wait, "sleep for completions instead of polling"),
	UTIL_NUMBER('c', "signal-every", &options.signal_every, "N",
		"suppress all completions but every Nth", 1, 2048),
	UTIL_FLAG('V', "verify", &options.verify, "check the bytes of every message"),

	UTIL_HEADING("Through what:"),
	UTIL_STRING('i', "ia", &options.ia, "NAME", "DAT interface (ofi)"),
	UTIL_FLAG('r', "raw", &options.raw, "libfabric itself, without DAT"),
	UTIL_FLAG('C', "compare", &options.compare, "both in turn, and their ratio"),
	UTIL_CHOICE(0, "stat", &options.stat, "STAT",
		"latency compared: avg (default), min, p50, p99", perf_stat_names),
	UTIL_REAL(0, "max-ratio", &options.max_ratio, "X", "fail when DAT/raw is above X"),
	UTIL_REAL(0, "min-ratio", &options.min_ratio, "X", "fail when DAT/raw is below X"),
	UTIL_STRING('P', "provider", &options.provider, "NAME",
		"raw: libfabric provider (the interface's)"),
	UTIL_CHOICE('E', "ep-type", &options.ep_type, "TYPE",
		"raw: auto, msg or rdm (the interface's)", ep_type_names),
	UTIL_CHOICE(0, "cq-wait", &options.cq_wait, "OBJECT",
		"raw: queue with auto, none or fd to sleep on", cq_wait_names),
	UTIL_STRING('D', "domain", &options.domain, "NAME", "raw: libfabric domain of this side"),

	UTIL_HEADING("Where:"),
	UTIL_FLAG('s', "server", &options.server, "serve clients until interrupted"),
	UTIL_FLAG(0, "once", &options.once, "with --server: end after the first client"),
	UTIL_FLAG('l', "loopback", &options.loopback, "be server and client on this host"),
	UTIL_STRING('p', "port", &options.port, "PORT", "TCP port for the arrangements (18650)"),
	UTIL_REAL(0, "await", &options.patience, "SEC", "wait so long for a server that starts"),
	UTIL_STRING('b', "bind", &options.bind, "ADDR",
		"with --server: listen on this address only"),
	UTIL_STRING(0, "pin", &options.pin, "CPU[,CPU]",
		"run on this CPU (--loopback: server, client)"),

	UTIL_HEADING("Output:"),
	UTIL_FLAG('j', "json", &options.json, "JSON instead of a table"),
	UTIL_FLAG('h', "help", &options.help, "this text"),
	UTIL_FLAG(0, "version", &options.version, "versions of the project and libfabric"),
};

static void usage(void)
{
	printf("Usage: dat_perf --server [OPTION]...\n"
	       "       dat_perf [OPTION]... HOST\n"
	       "       dat_perf --loopback [OPTION]...\n"
	       "Measures DAT 2.0 interfaces, and libfabric below them. The client says what is\n"
	       "measured; a server needs --ia or --domain only where its names are others.\n");
	util_opt_help(option_table, UTIL_ARRAY_LEN(option_table));
	printf("\nExit status: 0 fine, 1 measuring or a limit failed, 2 wrong command line.\n");
}

/* ---- command line ---- */

static int parse_sweep(char *text, char *colon, struct session *session)
{
	uint64_t from, to;

	*colon = '\0';
	if (util_parse_number(text, MAX_SIZE, &from) || util_parse_number(colon + 1, MAX_SIZE, &to))
		return -1;
	if (!from || from > to)
		return util_fail("a sweep goes from 1 or more upwards");
	for (; from <= to && session->nsizes < MAX_SIZES; from *= 2)
		session->sizes[session->nsizes++] = from;
	return 0;
}

static int parse_size(char *text, struct session *session)
{
	char *colon = strchr(text, ':');
	uint64_t size;

	if (session->nsizes == MAX_SIZES)
		return util_fail("more than %d sizes", MAX_SIZES);
	if (colon)
		return parse_sweep(text, colon, session);
	if (util_parse_number(text, MAX_SIZE, &size))
		return -1;
	if (!size)
		return util_fail("a message has one byte or more");
	session->sizes[session->nsizes++] = size;
	return 0;
}

static int parse_sizes(struct session *session)
{
	static const char *const defaults[] = { "8,256,4k,64k", "4k,64k,1m", "8" };
	const struct options *o = session->options;
	char *list = strdup(o->sizes ? o->sizes : defaults[o->metric]), *save = NULL;
	int ret = list ? 0 : util_fail("no memory");

	for (char *word = list ? strtok_r(list, ",", &save) : NULL; word && !ret;
	     word = strtok_r(NULL, ",", &save)) {
		if (parse_size(word, session))
			ret = util_fail("--size: %s", util_error());
	}
	free(list);
	if (!ret && !session->nsizes)
		ret = util_fail("--size: no size given");
	for (uint32_t i = 0; i < session->nsizes; i++) {
		if (session->sizes[i] > session->cfg.max_size)
			session->cfg.max_size = session->sizes[i];
		if (!i || session->sizes[i] < session->cfg.min_size)
			session->cfg.min_size = session->sizes[i];
	}
	return ret;
}

/* What the options say that both sides must know. */
static int make_cfg(struct session *session)
{
	static const uint32_t windows[] = { 1, 16, 64 };
	const struct options *o = session->options;
	struct perf_cfg *cfg = &session->cfg;

	cfg->backends = 1u << (o->raw ? PERF_RAW : PERF_DAT);
	if (o->compare)
		cfg->backends = 1u << PERF_DAT | 1u << PERF_RAW;
	cfg->test = o->test;
	cfg->metric = o->metric;
	cfg->window = o->window ? o->window : windows[o->metric];
	cfg->eps = o->eps;
	cfg->iov = o->iov;
	cfg->srq = o->srq;
	cfg->wait = o->wait;
	cfg->signal_every = o->signal_every;
	cfg->verify = o->verify;
	cfg->ask_ia = !o->provider;
	cfg->cq_wait = o->cq_wait;
	if (snprintf(cfg->ia, sizeof(cfg->ia), "%s", o->ia ? o->ia : "ofi") >= (int)sizeof(cfg->ia))
		return util_fail("--ia: names have at most %zu characters", sizeof(cfg->ia) - 1);
	return parse_sizes(session);
}

/* What a client may ask for. The server looks as well: anybody can connect to it. */
static int check_cfg(const struct perf_cfg *cfg)
{
	if (!cfg->backends || cfg->backends >> PERF_BACKENDS || cfg->test >= PERF_TESTS ||
	    cfg->metric > PERF_RATE || cfg->cq_wait > PERF_CQ_FD || !cfg->eps || cfg->eps > 1024 || !cfg->window ||
	    cfg->window > 4096 || !cfg->iov || cfg->iov > 16 || !cfg->signal_every ||
	    cfg->signal_every > 2048 || !cfg->max_size || cfg->max_size > MAX_SIZE ||
	    !memchr(cfg->ia, 0, sizeof(cfg->ia)) ||
	    !memchr(cfg->provider, 0, sizeof(cfg->provider)))
		return util_fail("a parameter is out of range");
	if (cfg->metric == PERF_LATENCY && cfg->window > 1)
		return util_fail("latency is measured one message at a time: no --window");
	if (cfg->metric == PERF_LATENCY && cfg->test == PERF_READ && cfg->signal_every > 1)
		return util_fail("read latency needs every completion: no --signal-every");
	if (cfg->metric == PERF_LATENCY && cfg->test == PERF_WRITE && cfg->wait)
		return util_fail("a written byte wakes nobody: write latency knows no --wait");
	if (cfg->verify && cfg->srq && cfg->eps > 1 && cfg->min_size < sizeof(uint64_t))
		return util_fail("--verify with --srq tells several endpoints apart by the data: "
				 "that takes messages of %zu bytes or more", sizeof(uint64_t));
	if (cfg->metric != PERF_LATENCY && cfg->signal_every > cfg->window)
		return util_fail("--signal-every %u fills the window of %u without a completion",
				 cfg->signal_every, cfg->window);
	return 0;
}

static int check_options(struct options *o, int operands)
{
	if (o->server + o->loopback + operands != 1)
		return util_fail("say --server, --loopback or one HOST");
	if (o->raw && o->compare)
		return util_fail("--raw and --compare exclude each other");
	if (!o->compare && (o->max_ratio > 0 || o->min_ratio > 0))
		return util_fail("--max-ratio and --min-ratio need --compare");
	if (o->iterations && o->seconds > 0)
		return util_fail("--iterations and --time exclude each other");
	if (!o->rounds)
		o->rounds = o->compare ? 9 : 1;
	if (!(o->seconds > 0))
		o->seconds = 0.5;
	return 0;
}

/* ---- this process ---- */

static int pin_to(const char *list, int which)
{
	char *end;
	long cpu = strtol(list, &end, 10);
	cpu_set_t set;

	if (which && *end == ',')
		cpu = strtol(end + 1, &end, 10);
	if (end == list || cpu < 0 || cpu >= CPU_SETSIZE || (*end && *end != ','))
		return util_fail("--pin %s: not a CPU number or two with a comma", list);
	CPU_ZERO(&set);
	CPU_SET((int)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return util_fail("cannot run on CPU %ld: %s", cpu, strerror(errno));
	return 0;
}

/* Overwrites itself on a terminal; people who redirect stderr want errors only. */
static void progress_clear(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

static void progress(uint64_t size, uint32_t round, uint32_t rounds)
{
	progress_clear();
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "%llu bytes, round %u of %u", (unsigned long long)size, round,
			rounds);
}

/* ---- session: common to both sides ---- */

/* What the client's options leave open, the interface tells. */
static void choose_fabric(struct session *session, const struct perf_fabric *fabric)
{
	const struct options *o = session->options;
	const char *provider = o->provider ? o->provider : fabric->provider;
	struct perf_cfg *cfg = &session->cfg;

	if (!*provider)
		provider = "tcp";
	snprintf(cfg->provider, sizeof(cfg->provider), "%s", provider);
	cfg->rdm = o->ep_type ? !strcmp(ep_type_names[o->ep_type], "rdm") : fabric->rdm;
}

/*
 * Raw runs on the fabric below the interface unless options say another. The client decides but for
 * the domain.
 */
static int find_fabric(struct session *session, bool client)
{
	struct perf_fabric fabric = { .provider = "" };
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

static int open_conns(struct session *session)
{
	session->env.cfg = &session->cfg;
	session->env.source = session->source;
	if (perf_env_init(&session->env))
		return -1;
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		if (session->cfg.backends & 1u << i &&
		    perf_conn_open(&session->env, i, &session->conns[i]))
			return -1;
	}
	return 0;
}

static void close_session(struct session *session)
{
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		perf_conn_close(session->conns[i]);
		free(session->results[i]);
	}
	perf_env_free(&session->env);
}

/*
 * The peer learns why before the connection ends. It may have failed itself, and be the cause of
 * what was seen here: then its words come along.
 */
static void tell_peer(int sync)
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
			return 0;
		if (!msg)
			continue;
		if (perf_sync_recv(sync, PERF_MSG_RUN, &run, sizeof(run)))
			return -1;
		if (run.backend >= PERF_BACKENDS || !session->conns[run.backend] ||
		    !run.iterations || !run.size || run.size > session->cfg.max_size)
			return util_fail("the client asks for a run that was not agreed on");
		if (perf_conn_run(session->conns[run.backend], &run, &unused))
			return -1;
	}
}

static int serve_session(struct session *session)
{
	int sync = session->env.sync;
	struct hello hello;

	if (perf_sync_source(sync, session->source, sizeof(session->source)) ||
	    perf_sync_recv(sync, PERF_MSG_HELLO, &hello, sizeof(hello)))
		return -1;
	if (hello.magic != MAGIC || hello.protocol != PROTOCOL || hello.size != sizeof(hello))
		return util_fail("server and client are different versions of dat_perf, or on "
				 "machines of different byte order");
	session->cfg = hello.cfg;
	if (check_cfg(&session->cfg))
		return -1;
	/* The interface may have another name on the server's host. */
	session->env.ia = session->options->ia ? session->options->ia : session->cfg.ia;
	if (find_fabric(session, false) || open_conns(session))
		return -1;
	return serve_runs(session);
}

static int serve_client(const struct options *o, int sync)
{
	struct session session = { .options = o, .env = { .sync = sync, .passive = true } };
	int ret = serve_session(&session);

	if (ret)
		tell_peer(sync);
	close_session(&session);
	close(sync);
	return ret;
}

static int server_main(const struct options *o)
{
	int listener = perf_sync_listen(o->bind, o->port), sync, ret;

	if (listener < 0)
		return -1;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "dat_perf: waiting for clients on port %s\n", o->port);
	do {
		sync = perf_sync_accept(listener);
		ret = sync < 0 ? -1 : serve_client(o, sync);
		if (ret && !o->once)
			fprintf(stderr, "dat_perf: %s\n", util_error());
	} while (!o->once);
	close(listener);
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
	return perf_conn_run(session->conns[backend], &run, result);
}

/*
 * Doubles the run until it is long enough to tell how many iterations a round needs. The best rate
 * counts: a first run connects, any may be interrupted.
 */
static int calibrate(struct session *session, enum perf_backend backend, uint64_t size,
		     uint64_t *iterations_p)
{
	const struct options *o = session->options;
	double rate = 0, enough = o->seconds < CALIBRATE_SECONDS ? o->seconds : CALIBRATE_SECONDS;
	uint64_t count = o->warmup;
	struct perf_result result = { 0 };

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
	} while (result.seconds < enough && count < MAX_ITERATIONS);
	rate *= o->seconds;
	*iterations_p = rate < 1 ? 1 : rate > MAX_ITERATIONS ? MAX_ITERATIONS : (uint64_t)rate;
	return 0;
}

static int measure_round(struct session *session, struct perf_sample *sample,
			 enum perf_backend backend, uint32_t round)
{
	struct perf_result warmup;

	if (!(session->cfg.backends & 1u << backend))
		return 0;
	if (run_once(session, backend, sample->size, session->options->warmup, &warmup))
		return -1;
	return run_once(session, backend, sample->size, sample->iterations[backend],
			&session->results[backend][round]);
}

static int measure_size(struct session *session, uint64_t size, struct perf_report *report)
{
	struct perf_sample sample = { .size = size, .rounds = session->options->rounds };

	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		sample.results[i] = session->results[i];
		if (session->cfg.backends & 1u << i &&
		    calibrate(session, i, size, &sample.iterations[i]))
			return -1;
	}
	/* Who goes first changes from round to round: neither gets the better half of a drift. */
	for (uint32_t round = 0; round < sample.rounds; round++) {
		enum perf_backend first = round % 2 ? PERF_RAW : PERF_DAT;

		progress(size, round + 1, sample.rounds);
		if (measure_round(session, &sample, first, round) ||
		    measure_round(session, &sample, !first, round))
			return -1;
	}
	progress_clear();
	return perf_report_size(report, &sample);
}

static int run_client(struct session *session, struct perf_report *report)
{
	struct hello hello = { .magic = MAGIC, .protocol = PROTOCOL, .size = sizeof(hello) };
	int sync = session->env.sync;

	session->env.ia = session->cfg.ia;
	if (perf_sync_source(sync, session->source, sizeof(session->source)) ||
	    find_fabric(session, true))
		return -1;
	hello.cfg = session->cfg;
	if (perf_sync_send(sync, PERF_MSG_HELLO, &hello, sizeof(hello)) || open_conns(session))
		return -1;
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		session->results[i] = calloc(session->options->rounds, sizeof(struct perf_result));
		if (!session->results[i])
			return util_fail("no memory");
	}

	perf_report_begin(report, &session->cfg);
	for (uint32_t i = 0; i < session->nsizes; i++) {
		if (measure_size(session, session->sizes[i], report))
			return -1;
	}
	perf_report_end(report);
	return perf_sync_send(sync, PERF_MSG_BYE, NULL, 0);
}

static int client_main(struct session *session, int sync)
{
	const struct options *o = session->options;
	struct perf_report report = {
		.json = o->json,
		.stat = o->stat,
		.limits = { o->max_ratio, o->min_ratio },
	};
	int ret;

	session->env.sync = sync;
	ret = run_client(session, &report);
	if (ret) {
		progress_clear();
		tell_peer(sync);
	}
	close_session(session);
	close(sync);
	if (!ret && report.violated)
		ret = util_fail("a ratio is outside the limits");
	return ret;
}

/* Forks before anything of DAT or libfabric was called: neither survives a fork. */
static int loopback_main(struct session *session)
{
	const struct options *o = session->options;
	int fds[2], status, ret;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return util_fail("cannot make a socket pair: %s", strerror(errno));
	child = fork();
	if (child < 0)
		return util_fail("cannot fork: %s", strerror(errno));
	if (!child) {
		close(fds[0]);
		ret = o->pin ? pin_to(o->pin, 0) : 0;
		if (ret)
			tell_peer(fds[1]);
		exit(ret || serve_client(o, fds[1]) ? UTIL_EXIT_FAILED : UTIL_EXIT_OK);
	}
	close(fds[1]);
	if (o->pin && pin_to(o->pin, 1)) {
		close(fds[0]);
		ret = -1;
	} else {
		ret = client_main(session, fds[0]);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!ret && status)
		ret = util_fail("the server process ended with status %d", WEXITSTATUS(status));
	return ret;
}

static int remote_main(struct session *session, const char *host)
{
	int sync = perf_sync_connect(host, session->options->port, session->options->patience);

	return sync < 0 ? -1 : client_main(session, sync);
}

int main(int argc, char **argv)
{
	struct session session = { .options = &options };
	int first, ret;

	if (util_opt_parse(argc, argv, option_table, UTIL_ARRAY_LEN(option_table), &first))
		goto wrong_usage;
	if (options.help || options.version) {
		options.help ? usage() : util_print_version("dat_perf");
		return UTIL_EXIT_OK;
	}
	if (check_options(&options, argc - first) || make_cfg(&session) || check_cfg(&session.cfg))
		goto wrong_usage;

	if (!options.loopback && options.pin && pin_to(options.pin, 0))
		ret = -1;
	else if (options.server)
		ret = server_main(&options);
	else
		ret = options.loopback ? loopback_main(&session)
				       : remote_main(&session, argv[first]);
	if (!ret)
		return UTIL_EXIT_OK;
	fprintf(stderr, "dat_perf: %s\n", util_error());
	return UTIL_EXIT_FAILED;

wrong_usage:
	fprintf(stderr, "dat_perf: %s; dat_perf --help lists the options\n", util_error());
	return UTIL_EXIT_USAGE;
}
