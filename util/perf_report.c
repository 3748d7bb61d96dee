/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf.h"

#include <stdlib.h>

const char *const perf_test_names[] = { "send", "write", "read", NULL };
const char *const perf_metric_names[] = { "latency", "bandwidth", "rate", NULL };
const char *const perf_stat_names[] = { "avg", "min", "p50", "p99", NULL };

static const char *const units[] = { "us", "MB/s", "msg/s" };
static const char *const backend_names[] = { "dat", "raw" };

/* The rounds of one figure. */
struct figure {
	double median, min, max;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the values. */
static struct figure summarise(double *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return (struct figure){
		.median = (values[(count - 1) / 2] + values[count / 2]) / 2,
		.min = values[0],
		.max = values[count - 1],
	};
}

static double latency_stat(const struct perf_result *result, enum perf_stat stat)
{
	switch (stat) {
	case PERF_STAT_MIN:
		return result->min;
	case PERF_STAT_P50:
		return result->p50;
	case PERF_STAT_P99:
		return result->p99;
	case PERF_STAT_AVG:
		break;
	}
	return result->avg;
}

/* The figure that the metric is about, of one round. */
static double value_of(const struct perf_report *report, const struct perf_sample *sample,
		       enum perf_backend backend, uint32_t round)
{
	const struct perf_result *result = &sample->results[backend][round];
	double rate;

	if (report->cfg->metric == PERF_LATENCY)
		return latency_stat(result, report->stat);
	rate = (double)sample->iterations[backend] / result->seconds;
	return report->cfg->metric == PERF_RATE ? rate : rate * (double)sample->size / 1e6;
}

static struct figure figure_of(const struct perf_report *report, const struct perf_sample *sample,
			       enum perf_backend backend, double *values)
{
	for (uint32_t i = 0; i < sample->rounds; i++)
		values[i] = value_of(report, sample, backend, i);
	return summarise(values, sample->rounds);
}

static struct figure ratio_of(const struct perf_report *report, const struct perf_sample *sample,
			      double *values)
{
	for (uint32_t i = 0; i < sample->rounds; i++)
		values[i] = value_of(report, sample, PERF_DAT, i) /
			    value_of(report, sample, PERF_RAW, i);
	return summarise(values, sample->rounds);
}

static bool comparing(const struct perf_cfg *cfg)
{
	return cfg->backends == (1u << PERF_DAT | 1u << PERF_RAW);
}

static const char *number(double value, char *text, size_t size)
{
	snprintf(text, size, value < 1000 ? "%.3f" : value < 100000 ? "%.1f" : "%.0f", value);
	return text;
}

/* ---- one back end ---- */

static void table_head(const struct perf_cfg *cfg)
{
	if (cfg->metric == PERF_LATENCY)
		printf("%10s %11s %10s %10s %10s %10s %10s\n", "bytes", "iterations", "avg us",
		       "min us", "p50 us", "p99 us", "max us");
	else
		printf("%10s %11s %14s %14s %14s\n", "bytes", "iterations", units[cfg->metric],
		       "worst round", "best round");
}

static double median_of(const struct perf_sample *sample, enum perf_backend backend, size_t member,
			double *values)
{
	for (uint32_t i = 0; i < sample->rounds; i++) {
		const char *result = (const char *)&sample->results[backend][i];

		values[i] = *(const double *)(const void *)(result + member);
	}
	return summarise(values, sample->rounds).median;
}

/* The members of a latency result, in the order of the table. */
static const struct {
	const char *name;
	size_t offset;
} latency_members[] = {
	{ "avg", offsetof(struct perf_result, avg) },
	{ "min", offsetof(struct perf_result, min) },
	{ "p50", offsetof(struct perf_result, p50) },
	{ "p99", offsetof(struct perf_result, p99) },
	{ "max", offsetof(struct perf_result, max) },
};

static void table_row(const struct perf_report *report, const struct perf_sample *sample,
		      enum perf_backend backend, double *values)
{
	char text[3][32];
	struct figure figure;

	printf("%10llu %11llu", (unsigned long long)sample->size,
	       (unsigned long long)sample->iterations[backend]);
	if (report->cfg->metric == PERF_LATENCY) {
		for (size_t i = 0; i < UTIL_ARRAY_LEN(latency_members); i++)
			printf(" %10s",
			       number(median_of(sample, backend, latency_members[i].offset, values),
				      text[0], sizeof(text[0])));
	} else {
		figure = figure_of(report, sample, backend, values);
		printf(" %14s %14s %14s", number(figure.median, text[0], sizeof(text[0])),
		       number(figure.min, text[1], sizeof(text[1])),
		       number(figure.max, text[2], sizeof(text[2])));
	}
	putchar('\n');
}

/* ---- both ---- */

static void compare_head(const struct perf_report *report)
{
	const struct perf_cfg *cfg = report->cfg;
	char dat[32], raw[32];

	snprintf(dat, sizeof(dat), "DAT %s", units[cfg->metric]);
	snprintf(raw, sizeof(raw), "raw %s", units[cfg->metric]);
	printf("%10s %12s %12s %10s %18s %7s\n", "bytes", dat, raw, "DAT/raw", "min .. max",
	       "rounds");
}

static void compare_row(const struct perf_report *report, const struct perf_sample *sample,
			const struct figure *ratio, double *values)
{
	char dat[32], raw[32], span[32];

	number(figure_of(report, sample, PERF_DAT, values).median, dat, sizeof(dat));
	number(figure_of(report, sample, PERF_RAW, values).median, raw, sizeof(raw));
	snprintf(span, sizeof(span), "%.3f .. %.3f", ratio->min, ratio->max);
	printf("%10llu %12s %12s %10.3f %18s %7u\n", (unsigned long long)sample->size, dat, raw,
	       ratio->median, span, sample->rounds);
}

static bool within_limits(const struct perf_limits *limits, const struct perf_sample *sample,
			  double ratio)
{
	if (limits->max_ratio > 0 && ratio > limits->max_ratio) {
		fprintf(stderr, "dat_perf: %llu bytes: ratio %.3f is above --max-ratio %g\n",
			(unsigned long long)sample->size, ratio, limits->max_ratio);
		return false;
	}
	if (limits->min_ratio > 0 && ratio < limits->min_ratio) {
		fprintf(stderr, "dat_perf: %llu bytes: ratio %.3f is below --min-ratio %g\n",
			(unsigned long long)sample->size, ratio, limits->min_ratio);
		return false;
	}
	return true;
}

/* ---- JSON ---- */

static void json_figure(struct util_json *json, const char *key, const struct figure *figure)
{
	util_json_open(json, key, '{');
	util_json_real(json, "median", figure->median);
	util_json_real(json, "min", figure->min);
	util_json_real(json, "max", figure->max);
	util_json_close(json, '}');
}

static void json_backend(struct perf_report *report, const struct perf_sample *sample,
			 enum perf_backend backend, double *values)
{
	struct util_json *json = &report->writer;
	struct figure figure = figure_of(report, sample, backend, values);

	util_json_open(json, backend_names[backend], '{');
	util_json_integer(json, "iterations", sample->iterations[backend]);
	json_figure(json, "value", &figure);
	if (report->cfg->metric == PERF_LATENCY) {
		for (size_t i = 0; i < UTIL_ARRAY_LEN(latency_members); i++)
			util_json_real(json, latency_members[i].name,
				       median_of(sample, backend, latency_members[i].offset,
						 values));
	}
	util_json_open(json, "rounds", '[');
	for (uint32_t i = 0; i < sample->rounds; i++)
		util_json_real(json, NULL, value_of(report, sample, backend, i));
	util_json_close(json, ']');
	util_json_close(json, '}');
}

static void json_head(struct perf_report *report)
{
	const struct perf_cfg *cfg = report->cfg;
	struct util_json *json = &report->writer;
	char version[32];
	uint32_t fabric = util_fabric_version();

	snprintf(version, sizeof(version), "%u.%u", fabric >> 16, fabric & 0xffff);
	util_json_open(json, NULL, '{');
	util_json_string(json, "program", "dat_perf");
	util_json_string(json, "version", PACKAGE_VERSION);
	util_json_string(json, "libfabric", version);
	util_json_string(json, "test", perf_test_names[cfg->test]);
	util_json_string(json, "metric", perf_metric_names[cfg->metric]);
	util_json_string(json, "unit", units[cfg->metric]);
	util_json_string(json, "better", cfg->metric == PERF_LATENCY ? "lower" : "higher");
	if (cfg->metric == PERF_LATENCY)
		util_json_string(json, "statistic", perf_stat_names[report->stat]);
	if (cfg->backends & 1u << PERF_DAT)
		util_json_string(json, "ia", cfg->ia);
	if (cfg->backends & 1u << PERF_RAW) {
		util_json_string(json, "provider", cfg->provider);
		util_json_string(json, "ep_type", cfg->rdm ? "rdm" : "msg");
	}
	util_json_integer(json, "window", cfg->window);
	util_json_integer(json, "eps", cfg->eps);
	util_json_integer(json, "iov", cfg->iov);
	util_json_integer(json, "signal_every", cfg->signal_every);
	util_json_bool(json, "srq", cfg->srq);
	util_json_bool(json, "wait", cfg->wait);
	util_json_bool(json, "verify", cfg->verify);
	util_json_open(json, "results", '[');
}

static void json_row(struct perf_report *report, const struct perf_sample *sample,
		     const struct figure *ratio, double *values)
{
	struct util_json *json = &report->writer;

	util_json_open(json, NULL, '{');
	util_json_integer(json, "size", sample->size);
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		if (report->cfg->backends & 1u << i)
			json_backend(report, sample, i, values);
	}
	if (ratio)
		json_figure(json, "ratio", ratio);
	util_json_close(json, '}');
}

/* ---- the report ---- */

static void text_head(const struct perf_report *report)
{
	const struct perf_cfg *cfg = report->cfg;
	bool latency = cfg->metric == PERF_LATENCY;

	printf("%s %s, ", perf_test_names[cfg->test], perf_metric_names[cfg->metric]);
	if (latency)
		printf("%s, ", cfg->test == PERF_READ ? "full round trip" : "half round trip");
	else
		printf("window %u, ", cfg->window);
	printf("%u endpoint%s, %s%s%s\n", cfg->eps, cfg->eps > 1 ? "s" : "",
	       cfg->wait ? "sleeping" : "polling", cfg->srq ? ", SRQ" : "",
	       cfg->verify ? ", data checked" : "");
	if (cfg->backends & 1u << PERF_DAT)
		printf("DAT: interface %s\n", cfg->ia);
	if (cfg->backends & 1u << PERF_RAW)
		printf("raw: libfabric provider %s, %s, FI_THREAD_SAFE, one CQ\n", cfg->provider,
		       cfg->rdm ? "FI_EP_RDM with tags" : "FI_EP_MSG");
	if (!comparing(cfg)) {
		table_head(cfg);
		return;
	}
	printf("DAT/raw %s 1 is better for DAT; median of the rounds%s%s\n",
	       latency ? "below" : "above", latency ? "' " : "",
	       latency ? perf_stat_names[report->stat] : "");
	compare_head(report);
}

void perf_report_begin(struct perf_report *report, const struct perf_cfg *cfg)
{
	report->cfg = cfg;
	report->writer = (struct util_json){ .out = stdout };
	if (report->json)
		json_head(report);
	else
		text_head(report);
	fflush(stdout);
}

int perf_report_size(struct perf_report *report, const struct perf_sample *sample)
{
	double *values = calloc(sample->rounds, sizeof(*values));
	bool both = comparing(report->cfg);
	struct figure ratio;

	if (!values)
		return util_fail("no memory");
	if (both)
		ratio = ratio_of(report, sample, values);
	if (report->json)
		json_row(report, sample, both ? &ratio : NULL, values);
	else if (both)
		compare_row(report, sample, &ratio, values);
	else
		table_row(report, sample,
			  report->cfg->backends & 1u << PERF_DAT ? PERF_DAT : PERF_RAW, values);
	if (both && !within_limits(&report->limits, sample, ratio.median))
		report->violated = true;
	fflush(stdout);
	free(values);
	return 0;
}

void perf_report_end(struct perf_report *report)
{
	if (!report->json)
		return;
	util_json_close(&report->writer, ']');
	util_json_bool(&report->writer, "within_limits", !report->violated);
	util_json_close(&report->writer, '}');
}
