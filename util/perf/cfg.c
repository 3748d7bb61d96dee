/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Options and their checks: what can be measured. */
#include "perf/session.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SIZE          (UINT64_C(1) << 30)
#define LEAST_WINDOW      16
#define SPIN_SIGNAL_EVERY 256
#define ENOUGH_BUFFER     (UINT64_C(768) << 20)

static const uint32_t default_windows[] = {1, 64, 64};

/* ---- sizes ---- */

static int parse_sweep(char *text, char *colon, struct perf_plan *plan)
{
	uint64_t from, to;

	*colon = '\0';
	if (util_parse_number(text, MAX_SIZE, &from) || util_parse_number(colon + 1, MAX_SIZE, &to))
		return -1;
	if (!from || from > to)
		return util_fail("a sweep goes from 1 or more upwards");
	for (; from <= to && plan->nsizes < PERF_MAX_SIZES; from *= 2)
		plan->sizes[plan->nsizes++] = from;
	return 0;
}

static int parse_size(char *text, struct perf_plan *plan)
{
	char *colon = strchr(text, ':');
	uint64_t size;

	if (plan->nsizes == PERF_MAX_SIZES)
		return util_fail("more than %d sizes", PERF_MAX_SIZES);
	if (colon)
		return parse_sweep(text, colon, plan);
	if (util_parse_number(text, MAX_SIZE, &size))
		return -1;
	if (!size)
		return util_fail("a message has one byte or more");
	plan->sizes[plan->nsizes++] = size;
	return 0;
}

static int parse_sizes(const struct perf_options *o, struct perf_plan *plan)
{
	static const char *const defaults[] = {"8,256,4k,64k", "4k,64k,1m", "8"};
	const char *sizes =
		perf_traits[o->test].sizes ? perf_traits[o->test].sizes : defaults[o->metric];
	char *list = strdup(o->sizes ? o->sizes : sizes), *save = NULL;
	int ret = list ? 0 : util_fail("no memory");

	for (char *word = list ? strtok_r(list, ",", &save) : NULL; word && !ret;
	     word = strtok_r(NULL, ",", &save)) {
		if (parse_size(word, plan))
			ret = util_fail("--size: %s", util_error());
	}
	free(list);
	if (!ret && !plan->nsizes)
		ret = util_fail("--size: no size given");
	for (uint32_t i = 0; i < plan->nsizes; i++) {
		if (plan->sizes[i] > plan->cfg.max_size)
			plan->cfg.max_size = plan->sizes[i];
		if (!i || plan->sizes[i] < plan->cfg.min_size)
			plan->cfg.min_size = plan->sizes[i];
	}
	return ret;
}

/* ---- the plan ---- */

static int find_sizes(const struct perf_options *o, struct perf_plan *plan)
{
	size_t fixed = perf_traits[o->test].fixed;

	if (!fixed)
		return parse_sizes(o, plan);
	if (o->sizes)
		return util_fail("--size: --test %s knows no size", perf_test_names[o->test]);
	plan->sizes[plan->nsizes++] = fixed;
	plan->cfg.min_size = plan->cfg.max_size = fixed;
	return 0;
}

/* The default window: as in MPI benchmarks, if a small host has memory for it. */
static uint32_t default_window(const struct perf_cfg *cfg)
{
	uint32_t window = default_windows[cfg->metric];
	uint64_t slots = 5 * cfg->max_size * cfg->eps * cfg->threads; /* see perf_env_init() */

	while (cfg->metric == PERF_BANDWIDTH && window > LEAST_WINDOW &&
	       window * slots > ENOUGH_BUFFER)
		window /= 2;
	return window;
}

int perf_plan_make(const struct perf_options *o, struct perf_plan *plan)
{
	struct perf_cfg *cfg = &plan->cfg;

	cfg->backends = 1u << (o->raw ? PERF_RAW : PERF_DAT);
	if (o->compare)
		cfg->backends = 1u << PERF_DAT | 1u << PERF_RAW;
	cfg->test = o->test;
	cfg->metric = o->metric;
	cfg->eps = o->eps;
	cfg->threads = o->threads;
	cfg->iov = o->iov;
	cfg->both = o->both;
	cfg->srq = o->srq;
	cfg->wait = o->wait;
	cfg->signal_every = o->signal_every;
	cfg->verify = o->verify;
	cfg->ask_ia = !o->provider;
	cfg->cq_wait = o->cq_wait;
	cfg->last_word = o->last_word;
	cfg->cost = o->cost;
	cfg->spin = o->spin;
	cfg->fresh = o->fresh;
	/*
	 * A request that waits for a free slot polls, which --spin avoids: so completions are rare.
	 */
	if (cfg->spin && cfg->signal_every == 1)
		cfg->signal_every = SPIN_SIGNAL_EVERY;
	if (snprintf(cfg->ia, sizeof(cfg->ia), "%s", o->ia ? o->ia : "ofi") >= (int)sizeof(cfg->ia))
		return util_fail("--ia: names have at most %zu characters", sizeof(cfg->ia) - 1);
	if (find_sizes(o, plan))
		return -1;
	cfg->window = o->window ? o->window : default_window(cfg);
	return perf_cfg_check(cfg);
}

/* ---- checks ---- */

static bool in_range(uint32_t value, uint32_t max)
{
	return value && value <= max;
}

static int check_ranges(const struct perf_cfg *cfg)
{
	if (!cfg->backends || cfg->backends >> PERF_BACKENDS || cfg->test >= PERF_TESTS ||
	    cfg->metric >= PERF_METRICS || cfg->cq_wait > PERF_CQ_FD ||
	    !in_range(cfg->eps, PERF_MAX_EPS) || !in_range(cfg->window, 4096) ||
	    !in_range(cfg->iov, 16) || !in_range(cfg->signal_every, 2048) ||
	    !in_range(cfg->threads, PERF_MAX_THREADS) || !cfg->min_size || !cfg->max_size ||
	    cfg->max_size > MAX_SIZE || !memchr(cfg->ia, 0, sizeof(cfg->ia)) ||
	    !memchr(cfg->provider, 0, sizeof(cfg->provider)))
		return util_fail("a parameter is out of range");
	return 0;
}

/* Fails for options that do not apply to the test. */
static int check_test(const struct perf_cfg *cfg)
{
	const struct perf_traits *traits = &perf_traits[cfg->test];
	const char *name = perf_test_names[cfg->test];

	if (!(traits->metrics & 1u << cfg->metric))
		return util_fail("--test %s has no %s", name, perf_metric_names[cfg->metric]);
	if (traits->dat_only && cfg->backends & 1u << PERF_RAW)
		return util_fail("--test %s is one of DAT alone: no --raw, no --compare", name);
	if (cfg->both && !traits->both)
		return util_fail("--test %s goes one way: no --bidirectional", name);
	if (cfg->verify && !traits->checked)
		return util_fail("--test %s has no bytes for --verify", name);
	if (!traits->windowed && (cfg->window != default_windows[cfg->metric] ||
				  cfg->signal_every > 1 || cfg->srq || cfg->wait))
		return util_fail("--test %s knows no --window, --signal-every, --srq or --wait",
				 name);
	if (cfg->fresh && traits->shape != PERF_CYCLES)
		return util_fail("--test %s has no --fresh", name);
	if (traits->shape == PERF_WAKEUPS && (cfg->threads > 1 || cfg->eps > 1))
		return util_fail("--test %s is between two threads: no --threads, no --eps", name);
	if (traits->fixed && cfg->max_size != traits->fixed)
		return util_fail("--test %s knows no size", name);
	if ((traits->fixed || cfg->test == PERF_BIND) && cfg->iov > 1)
		return util_fail("--test %s has one segment: no --iov", name);
	return 0;
}

int perf_cfg_check(const struct perf_cfg *cfg)
{
	enum perf_shape shape;

	if (check_ranges(cfg) || check_test(cfg))
		return -1;
	shape = perf_traits[cfg->test].shape;
	if (cfg->srq && cfg->test == PERF_DATAGRAM)
		return util_fail("a shared receive queue takes no datagrams: no --srq");
	if (cfg->metric == PERF_LATENCY && cfg->window > 1)
		return util_fail("latency is measured one message at a time: no --window");
	if (cfg->metric == PERF_LATENCY && cfg->both)
		return util_fail("latency goes there and back anyway: no --bidirectional");
	if (cfg->metric == PERF_LATENCY && shape == PERF_ANSWERED && cfg->signal_every > 1)
		return util_fail("%s latency needs every completion: no --signal-every",
				 perf_test_names[cfg->test]);
	if (cfg->metric == PERF_LATENCY && shape == PERF_SILENT && cfg->wait)
		return util_fail("a written byte wakes nobody: write latency knows no --wait");
	if (cfg->spin && (cfg->test != PERF_WRITE || cfg->metric != PERF_LATENCY ||
			  cfg->backends & 1u << PERF_RAW))
		return util_fail("--spin is for the latency of writes over DAT: libfabric makes no "
				 "progress by itself");
	if (cfg->verify && cfg->srq && cfg->test == PERF_IMMEDIATE)
		return util_fail("some fabrics lose immediate data in an SRQ: no --verify then");
	if (cfg->verify && cfg->srq && cfg->eps > 1 && cfg->min_size < sizeof(uint64_t))
		return util_fail("--verify with --srq tells several endpoints apart by the data: "
				 "that takes messages of %zu bytes or more",
				 sizeof(uint64_t));
	if (cfg->metric != PERF_LATENCY && cfg->signal_every > cfg->window)
		return util_fail("--signal-every %u fills the window of %u without a completion",
				 cfg->signal_every, cfg->window);
	return 0;
}
