/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef UTIL_PERF_SESSION_H
#define UTIL_PERF_SESSION_H

#include "perf/perf.h"

#include <sys/types.h>

#define PERF_MAX_SIZES      64
#define PERF_MAX_ITERATIONS UINT32_MAX
#define PERF_MAX_THREADS    256
#define PERF_MAX_EPS        65536

/* The command line. */
struct perf_options {
	bool server, once, loopback;
	bool raw, compare;
	bool check;
	bool both, srq, wait, verify, last_word, cost, spin, fresh;
	bool json, csv, quiet, help, version;
	uint32_t test, metric, stat;
	uint32_t iterations, warmup, window, eps, threads, iov, signal_every, rounds;
	uint32_t ep_type, cq_wait;
	double seconds, max_ratio, min_ratio, max_excess, patience;
	double max_latency, min_bandwidth; /* of --check; 0: lenient defaults */
	const char *sizes, *ia, *provider, *domain, *host, *bind, *port, *pin, *plot;
};

/* What the options ask for (cfg.c). */
struct perf_plan {
	struct perf_cfg cfg;
	uint64_t sizes[PERF_MAX_SIZES];
	uint32_t nsizes;
};

int perf_plan_make(const struct perf_options *o, struct perf_plan *plan);
/* Checks a configuration. The server checks, too, because any process can connect to it. */
int perf_cfg_check(const struct perf_cfg *cfg);

/* The server's and the client's side of a session, over a socket that they close (session.c). */
int perf_serve(const struct perf_options *o, int sync);
int perf_measure(const struct perf_options *o, const struct perf_plan *plan, int sync);
struct perf_report;
/* The client's side of one of several sessions on a socket. */
int perf_session_run(const struct perf_options *o, const struct perf_plan *plan, int sync,
		     struct perf_report *report);
/* Sends util_error() to the peer before the connection ends. */
void perf_tell_peer(int sync);

/*
 * The quick check (check.c) against the server on host or in a child; the other one is NULL or 0.
 * From begin on, the program and its child end when their time is over. The check closes the socket
 * and prints the verdict.
 */
void perf_check_begin(const struct perf_options *o, const char *host, pid_t child);
int perf_check(const struct perf_options *o, int sync);
void perf_check_failed(void);

/*
 * Sets the CPUs of this process: element `which` of the list, or the first one. Each thread of a
 * crew takes one of them (pin.c).
 */
int perf_pin(const char *list, int which);
/* Whether the list has the form that perf_pin() accepts; says nothing about the CPUs here. */
int perf_pin_check(const char *list);
void perf_pin_thread(uint32_t thread);

#endif
