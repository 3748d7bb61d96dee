/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat_perf --check: whether DAT works between two hosts, in seconds and in one word. */
#include "perf/session.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Limits that any working fabric keeps, even a virtual Ethernet on a busy host. */
#define SANE_LATENCY_US   1000
#define SANE_BANDWIDTH_MB 20

/* The steps that measure; the steps before them only check. */
enum { LATENCY_STEP = 4, BANDWIDTH_STEP };

static const struct step {
	const char *name;
	enum perf_test test;
	enum perf_metric metric;
	const char *sizes;
	uint32_t iterations;
	bool verify;
} steps[] = {
	{"connect and disconnect", PERF_CONNECT, PERF_LATENCY, NULL, 4, false},
	{"data of sends", PERF_SEND, PERF_LATENCY, "1,8,4k,64k,1m", 8, true},
	{"data of writes", PERF_WRITE, PERF_BANDWIDTH, "1,8,4k,64k,1m", 16, true},
	{"data of reads", PERF_READ, PERF_BANDWIDTH, "1,8,4k,64k,1m", 16, true},
	[LATENCY_STEP] = {"latency", PERF_SEND, PERF_LATENCY, "8", 200, false},
	[BANDWIDTH_STEP] = {"bandwidth", PERF_WRITE, PERF_BANDWIDTH, "1m", 32, false},
};

/* ---- the limit of time ---- */

/* The messages of the signal handler, formatted in advance: in a step, and without a server. */
static char late_text[256], silent_text[512];
static pid_t late_child;

static void on_alarm(int signal_)
{
	const char *text = perf_sync_is_silent() ? silent_text : late_text;
	ssize_t ret = write(STDOUT_FILENO, text, strlen(text));

	(void)signal_;
	(void)ret;
	if (late_child > 0)
		kill(late_child, SIGKILL);
	_exit(UTIL_EXIT_FAILED);
}

static void watch(const char *what, double seconds)
{
	snprintf(late_text, sizeof(late_text), "NO-GO  no end of \"%s\" within %g seconds\n", what,
		 seconds);
}

void perf_check_begin(const struct perf_options *o, const char *host, pid_t child)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	double seconds = o->seconds + o->patience;

	late_child = child;
	watch(steps[0].name, seconds);
	if (host)
		snprintf(silent_text, sizeof(silent_text),
			 "NO-GO  dat_perf --server on %s, port %s has not answered within %g "
			 "seconds; it may be busy with another client, or packets are dropped\n",
			 host, o->port, seconds);
	sigaction(SIGALRM, &action, NULL);
	alarm((unsigned int)ceil(seconds));
}

/* ---- steps ---- */

static int run_step(const struct perf_options *base, const struct step *step, int sync,
		    double *figure_p)
{
	struct perf_report report = {.format = PERF_NOTHING, .stat = PERF_STAT_P50, .rounds = 1};
	struct perf_options o = *base;
	struct perf_plan plan = {.nsizes = 0};

	o.test = step->test;
	o.metric = step->metric;
	o.sizes = step->sizes;
	o.iterations = step->iterations;
	o.verify = step->verify;
	o.rounds = 1;
	o.warmup = 2;
	o.window = step->metric == PERF_BANDWIDTH ? 16 : 0;
	o.quiet = true;
	if (perf_plan_make(&o, &plan) || perf_session_run(&o, &plan, sync, &report))
		return -1;
	*figure_p = report.last.median;
	return 0;
}

static int check_floor(const struct perf_options *o, const struct step *step, double figure)
{
	double most = o->max_latency > 0 ? o->max_latency : SANE_LATENCY_US;
	double least = o->min_bandwidth > 0 ? o->min_bandwidth : SANE_BANDWIDTH_MB;

	if (step == &steps[LATENCY_STEP] && figure > most)
		return util_fail("a latency of %.3f us is above %g; is another fabric in use than "
				 "is meant? dat_info tells",
				 figure, most);
	if (step == &steps[BANDWIDTH_STEP] && figure < least)
		return util_fail("a bandwidth of %.3f MB/s is below %g; dat_info tells link and "
				 "fabric",
				 figure, least);
	return 0;
}

static void show_step(const struct step *step, double figure)
{
	printf("ok     %-24s", step->name);
	if (step->metric == PERF_LATENCY && !step->verify)
		printf(" %.1f us\n", figure);
	else if (!step->verify)
		printf(" %.0f MB/s\n", figure);
	else
		printf(" %s bytes\n", step->sizes);
	fflush(stdout);
}

static int run_steps(const struct perf_options *o, int sync, double *figures)
{
	for (size_t i = 0; i < UTIL_ARRAY_LEN(steps); i++) {
		const struct step *step = &steps[i];

		watch(step->name, o->seconds);
		if (run_step(o, step, sync, &figures[i]) || check_floor(o, step, figures[i]))
			return util_fail("%s: %s", step->name, util_error());
		show_step(step, figures[i]);
	}
	return 0;
}

int perf_check(const struct perf_options *o, int sync)
{
	double figures[UTIL_ARRAY_LEN(steps)];
	int64_t from = perf_now_ns();
	int ret = run_steps(o, sync, figures);

	close(sync);
	if (!ret)
		printf("GO     %s: %.1f us, %.0f MB/s, checked in %.1f s\n", o->ia ? o->ia : "ofi",
		       figures[LATENCY_STEP], figures[BANDWIDTH_STEP],
		       (double)(perf_now_ns() - from) / 1e9);
	return ret;
}

/* Prints the verdict for any failure, also one before the first step. */
void perf_check_failed(void)
{
	alarm(0);
	printf("NO-GO  %s\n", util_error());
}
