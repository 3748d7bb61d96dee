/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf/session.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beside the exit statuses of all tools: the interface lacks what the test needs. */
#define EXIT_ABSENT   3

#define CHECK_SECONDS 5

static struct perf_options options = {
	.warmup = 100,
	.eps = 1,
	.threads = 1,
	.iov = 1,
	.signal_every = 1,
	.port = "18650",
};

static const char *const ep_type_names[] = {"auto", "msg", "rdm", NULL};
static const char *const cq_wait_names[] = {"auto", "none", "fd", NULL};

static const struct util_opt option_table[] = {
	UTIL_HEADING("What to measure:"),
	UTIL_CHOICE('o', "test", &options.test, "TEST",
		    "send (default), write, read and more, below", perf_test_names),
	UTIL_CHOICE('m', "metric", &options.metric, "METRIC",
		    "latency (default), bandwidth or rate", perf_metric_names),
	UTIL_STRING('S', "size", &options.sizes, "LIST", "bytes: 8,64,4k or powers of two 1:1m"),
	UTIL_NUMBER('n', "iterations", &options.iterations, "N", "messages of each round", 1,
		    PERF_MAX_ITERATIONS),
	UTIL_REAL('t', "time", &options.seconds, "SEC",
		  "or: seconds of each round (0.5); limit of --check (5)"),
	UTIL_NUMBER('u', "warmup", &options.warmup, "N", "messages before each round (default 100)",
		    1, PERF_MAX_ITERATIONS),
	UTIL_NUMBER('R', "rounds", &options.rounds, "N", "rounds per size (1; 9 with --compare)", 1,
		    1000),
	UTIL_NUMBER('W', "window", &options.window, "N",
		    "requests under way (64; of large messages 16)", 1, 4096),
	UTIL_NUMBER('e', "eps", &options.eps, "N", "endpoints of each thread (1)", 1, PERF_MAX_EPS),
	UTIL_NUMBER('T', "threads", &options.threads, "N", "threads of either side (1)", 1,
		    PERF_MAX_THREADS),
	UTIL_FLAG('B', "bidirectional", &options.both, "both sides send at once"),
	UTIL_NUMBER('g', "iov", &options.iov, "N", "local segments of a message (1)", 1, 16),
	UTIL_FLAG('q', "srq", &options.srq, "one shared receive queue for all endpoints"),
	UTIL_FLAG('w', "wait", &options.wait, "sleep for completions instead of polling"),
	UTIL_NUMBER('c', "signal-every", &options.signal_every, "N",
		    "suppress all completions but every Nth", 1, 2048),
	UTIL_FLAG(0, "fresh", &options.fresh, "connect: make and free the endpoints each time"),
	UTIL_FLAG(0, "spin", &options.spin, "spin for a write without calls of DAT"),
	UTIL_FLAG('V', "verify", &options.verify, "check the bytes of every message"),
	UTIL_FLAG(0, "cost", &options.cost, "memory of the endpoints, closing, CPU while idle"),

	UTIL_HEADING("Or a check of all that matters, in five seconds:"),
	UTIL_FLAG(0, "check", &options.check, "connections and data; the verdict is GO or NO-GO"),
	UTIL_REAL(0, "max-latency", &options.max_latency, "US", "with --check: NO-GO above (1000)"),
	UTIL_REAL(0, "min-bandwidth", &options.min_bandwidth, "MB/S",
		  "with --check: NO-GO below (20)"),

	UTIL_HEADING("Through what:"),
	UTIL_STRING('i', "ia", &options.ia, "NAME", "DAT interface (ofi)"),
	UTIL_FLAG('r', "raw", &options.raw, "libfabric itself, without DAT"),
	UTIL_FLAG('C', "compare", &options.compare, "both in turn, and their ratio"),
	UTIL_CHOICE(0, "stat", &options.stat, "STAT",
		    "latency compared: avg, min, p50, p99, p99.9, max", perf_stat_names),
	UTIL_REAL(0, "max-ratio", &options.max_ratio, "X", "fail when DAT/raw is above X"),
	UTIL_REAL(0, "min-ratio", &options.min_ratio, "X", "fail when DAT/raw is below X"),
	UTIL_REAL(0, "max-excess", &options.max_excess, "NS",
		  "fail when DAT-raw, a latency, is above NS"),
	UTIL_STRING('P', "provider", &options.provider, "NAME",
		    "raw: libfabric provider (the interface's)"),
	UTIL_CHOICE('E', "ep-type", &options.ep_type, "TYPE",
		    "raw: auto, msg or rdm (the interface's)", ep_type_names),
	UTIL_CHOICE(0, "cq-wait", &options.cq_wait, "OBJECT",
		    "raw: queue with auto, none or fd to sleep on", cq_wait_names),
	UTIL_FLAG(0, "last-word", &options.last_word,
		  "raw: write the last 8 bytes when the rest is delivered"),
	UTIL_STRING('D', "domain", &options.domain, "NAME", "raw: libfabric domain of this side"),

	UTIL_HEADING("Where:"),
	UTIL_FLAG('s', "server", &options.server, "serve clients until interrupted"),
	UTIL_FLAG(0, "once", &options.once, "with --server: end after the first client"),
	UTIL_FLAG('l', "loopback", &options.loopback, "be server and client on this host"),
	UTIL_STRING('p', "port", &options.port, "PORT", "TCP port for the arrangements (18650)"),
	UTIL_REAL(0, "await", &options.patience, "SEC", "wait so long for a server that starts"),
	UTIL_STRING('b', "bind", &options.bind, "ADDR",
		    "with --server: listen on this address only"),
	UTIL_STRING(0, "pin", &options.pin, "CPUS[,CPUS]",
		    "run on these CPUs (--loopback: server, client)"),

	UTIL_HEADING("Output:"),
	UTIL_FLAG('j', "json", &options.json, "JSON instead of a table"),
	UTIL_FLAG(0, "csv", &options.csv, "comma separated values instead of a table"),
	UTIL_STRING(0, "plot", &options.plot, "FILE", "draw the sizes as SVG, too"),
	UTIL_FLAG('Q', "quiet", &options.quiet, "no progress on a terminal"),
	UTIL_FLAG('h', "help", &options.help, "this text"),
	UTIL_FLAG(0, "version", &options.version, "versions of the project and libfabric"),
};

static const struct {
	const char *name, *text;
} test_help[] = {
	{"send", "messages; the latency of a ping-pong"},
	{"write, read", "RDMA; the latency of a read is that of its completion"},
	{"immediate", "RDMA writes with immediate data"},
	{"datagram", "unreliable datagrams; the latency of a ping-pong"},
	{"fetch-add", "atomic additions to the peer's memory, one after the other"},
	{"compare-swap", "atomic exchanges there"},
	{"bind", "memory regions bound for the peer"},
	{"connect", "connections: until one is established, or how many a second"},
	{"wakeup", "an event posted by one thread for another one that sleeps"},
};

static void usage(void)
{
	printf("Usage: dat_perf --server [OPTION]...\n"
	       "       dat_perf [OPTION]... HOST\n"
	       "       dat_perf --loopback [OPTION]...\n"
	       "       dat_perf --check [OPTION]... HOST\n"
	       "Measures DAT 2.0 interfaces, and libfabric below them. The client says what is\n"
	       "measured; a server needs --ia or --domain only where its names are others.\n");
	util_opt_help(option_table, UTIL_ARRAY_LEN(option_table));
	printf("\nTests:\n");
	for (size_t i = 0; i < UTIL_ARRAY_LEN(test_help); i++)
		util_write_row(stdout, 2, 16, test_help[i].name, test_help[i].text);
	printf("\nExit status: 0 fine or GO, 1 measuring or a limit failed or NO-GO, 2 wrong "
	       "command line,\n"
	       "3 the interface does not offer what is to be measured.\n");
}

/* Rejects options that --check chooses itself. */
static int check_check(const struct perf_options *o)
{
	if (!o->check && (o->max_latency > 0 || o->min_bandwidth > 0))
		return util_fail("--max-latency and --min-bandwidth need --check");
	if (o->check && (o->test || o->metric || o->sizes || o->iterations || o->raw ||
			 o->compare || o->json || o->csv || o->plot || o->server))
		return util_fail(
			"--check chooses test, metric, sizes and output, and the server is "
			"any dat_perf --server");
	return 0;
}

static int check_options(struct perf_options *o, int operands)
{
	if (o->server + o->loopback + operands != 1)
		return util_fail("say --server, --loopback or one HOST");
	if (check_check(o))
		return -1;
	if (o->raw && o->compare)
		return util_fail("--raw and --compare exclude each other");
	if (!o->compare && (o->max_ratio > 0 || o->min_ratio > 0 || o->max_excess > 0))
		return util_fail("--max-ratio, --min-ratio and --max-excess need --compare");
	if (o->max_excess > 0 && o->metric != PERF_LATENCY)
		return util_fail("--max-excess is a limit of latencies");
	if (o->json && o->csv)
		return util_fail("--json and --csv exclude each other");
	if (o->cost && (o->csv || o->check || o->server))
		return util_fail("--cost goes with a table or --json, and is the client's to say");
	if (o->iterations && o->seconds > 0)
		return util_fail("--iterations and --time exclude each other");
	if (perf_sync_check_port(o->port) || (o->pin && perf_pin_check(o->pin)))
		return -1;
	if (!o->rounds)
		o->rounds = o->compare ? 9 : 1;
	if (!(o->seconds > 0))
		o->seconds = o->check ? CHECK_SECONDS : 0.5;
	/* libfabric has the fabric alone; one side that wants it is enough. */
	if (o->compare && setenv("DAT_OFI_SAME_HOST", "fabric", 0))
		return util_fail("no memory");
	return 0;
}

static int server_main(const struct perf_options *o)
{
	int listener = perf_sync_listen(o->bind, o->port), sync, ret;

	if (listener < 0)
		return -1;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "dat_perf: waiting for clients on port %s\n", o->port);
	do {
		sync = perf_sync_accept(listener);
		ret = sync < 0 ? -1 : perf_serve(o, sync);
		if (ret && !o->once)
			fprintf(stderr, "dat_perf: %s\n", util_error());
	} while (!o->once);
	close(listener);
	return ret;
}

/* Forks before the first call of DAT or libfabric, because neither survives a fork. */
static int loopback_main(const struct perf_options *o, const struct perf_plan *plan)
{
	int fds[2], status, ret;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return util_fail("cannot make a socket pair: %s", strerror(errno));
	child = fork();
	if (child < 0)
		return util_fail("cannot fork: %s", strerror(errno));
	if (!child) {
		close(fds[0]);
		ret = o->pin ? perf_pin(o->pin, 0) : 0;
		if (ret)
			perf_tell_peer(fds[1]);
		exit(ret || perf_serve(o, fds[1]) ? UTIL_EXIT_FAILED : UTIL_EXIT_OK);
	}
	close(fds[1]);
	if (o->pin && perf_pin(o->pin, 1)) {
		close(fds[0]);
		ret = -1;
	} else {
		if (o->check)
			perf_check_begin(o, NULL, child);
		ret = o->check ? perf_check(o, fds[0]) : perf_measure(o, plan, fds[0]);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!ret && status)
		ret = util_fail("the server process ended with status %d", WEXITSTATUS(status));
	return ret;
}

static int remote_main(const struct perf_options *o, const struct perf_plan *plan, const char *host)
{
	int sync;

	if (o->check)
		perf_check_begin(o, host, 0);
	sync = perf_sync_connect(host, o->port, o->patience);
	if (sync < 0)
		return -1;
	return o->check ? perf_check(o, sync) : perf_measure(o, plan, sync);
}

/*
 * The C library returns freed memory at the end of the heap to the system, unless the program has
 * freed a large block before. Then each burst of endpoints has to get its memory from the system
 * again. Which of the two happens must not depend on what is measured.
 */
static void keep_heap(void)
{
#ifdef M_TRIM_THRESHOLD
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

int main(int argc, char **argv)
{
	struct perf_plan plan = {.nsizes = 0};
	int first, ret;

	if (util_opt_parse(argc, argv, option_table, UTIL_ARRAY_LEN(option_table), &first))
		goto wrong_usage;
	if (options.help || options.version) {
		options.help ? usage() : util_print_version("dat_perf");
		return UTIL_EXIT_OK;
	}
	if (check_options(&options, argc - first) || perf_plan_make(&options, &plan))
		goto wrong_usage;

	keep_heap();
	perf_cost_allow_files();
	if (!options.loopback && options.pin && perf_pin(options.pin, 0))
		ret = -1;
	else if (options.server)
		ret = server_main(&options);
	else
		ret = options.loopback ? loopback_main(&options, &plan)
				       : remote_main(&options, &plan, argv[first]);
	if (!ret)
		return UTIL_EXIT_OK;
	if (options.check)
		perf_check_failed();
	else
		fprintf(stderr, "dat_perf: %s\n", util_error());
	return perf_is_absent() ? EXIT_ABSENT : UTIL_EXIT_FAILED;

wrong_usage:
	fprintf(stderr, "dat_perf: %s; dat_perf --help lists the options\n", util_error());
	return UTIL_EXIT_USAGE;
}
