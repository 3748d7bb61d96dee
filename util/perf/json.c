/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf/perf.h"

static void put_figure(struct util_json *json, const char *key, const struct perf_figure *figure)
{
	util_json_open(json, key, '{');
	util_json_real(json, "median", figure->median);
	util_json_real(json, "min", figure->min);
	util_json_real(json, "max", figure->max);
	util_json_close(json, '}');
}

static void put_column(struct perf_report *report, const struct perf_row *row,
		       enum perf_backend backend)
{
	const struct perf_column *column = &row->columns[backend];
	struct util_json *json = &report->writer;

	util_json_open(json, perf_backend_names[backend], '{');
	util_json_integer(json, "iterations", column->iterations);
	put_figure(json, "value", &column->value);
	for (enum perf_stat i = 0; i < PERF_STATS && report->cfg->metric == PERF_LATENCY; i++)
		util_json_real(json, perf_stat_names[i], column->stat[i]);
	util_json_open(json, "rounds", '[');
	for (uint32_t i = 0; i < row->rounds; i++)
		util_json_real(json, NULL, column->rounds[i]);
	util_json_close(json, ']');
	util_json_close(json, '}');
}

static void put_cfg(struct perf_report *report)
{
	const struct perf_cfg *cfg = report->cfg;
	struct util_json *json = &report->writer;

	if (cfg->backends & 1u << PERF_DAT)
		util_json_string(json, "ia", cfg->ia);
	if (cfg->backends & 1u << PERF_RAW) {
		util_json_string(json, "provider", cfg->provider);
		util_json_string(json, "ep_type", cfg->rdm ? "rdm" : "msg");
	}
	util_json_integer(json, "window", cfg->window);
	util_json_integer(json, "eps", cfg->eps);
	util_json_integer(json, "threads", cfg->threads);
	util_json_integer(json, "iov", cfg->iov);
	util_json_integer(json, "signal_every", cfg->signal_every);
	util_json_bool(json, "bidirectional", cfg->both);
	util_json_bool(json, "srq", cfg->srq);
	util_json_bool(json, "wait", cfg->wait);
	util_json_bool(json, "verify", cfg->verify);
}

static void json_begin(struct perf_report *report)
{
	const struct perf_cfg *cfg = report->cfg;
	struct util_json *json = &report->writer;

	util_json_begin(json, "dat_perf");
	util_json_string(json, "test", perf_test_names[cfg->test]);
	util_json_string(json, "metric", perf_metric_names[cfg->metric]);
	util_json_string(json, "unit", perf_unit(cfg));
	util_json_string(json, "better", cfg->metric == PERF_LATENCY ? "lower" : "higher");
	if (cfg->metric == PERF_LATENCY)
		util_json_string(json, "statistic", perf_stat_names[report->stat]);
	put_cfg(report);
	util_json_open(json, "results", '[');
}

static void json_row(struct perf_report *report, const struct perf_row *row)
{
	struct util_json *json = &report->writer;

	util_json_open(json, NULL, '{');
	util_json_integer(json, "size", row->size);
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		if (row->columns[i].present)
			put_column(report, row, i);
	}
	if (row->compared)
		put_figure(json, "ratio", &row->ratio);
	if (row->compared && report->cfg->metric == PERF_LATENCY)
		put_figure(json, "excess", &row->excess);
	util_json_close(json, '}');
}

static void put_costs(struct perf_report *report)
{
	struct util_json *json = &report->writer;

	util_json_open(json, "cost", '{');
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		const struct perf_cost *cost = &report->costs[i];

		if (!(report->cfg->backends & 1u << i))
			continue;
		util_json_open(json, perf_backend_names[i], '{');
		util_json_real(json, "open_s", cost->open_s);
		util_json_real(json, "close_s", cost->close_s);
		util_json_integer(json, "memory", cost->memory);
		util_json_close(json, '}');
	}
	util_json_real(json, "idle_cpu", report->idle);
	util_json_close(json, '}');
}

static void json_end(struct perf_report *report)
{
	util_json_close(&report->writer, ']');
	if (report->cfg->cost)
		put_costs(report);
	util_json_bool(&report->writer, "within_limits", !report->violated);
	util_json_close(&report->writer, '}');
}

const struct perf_writer perf_json_writer = {
	.begin = json_begin,
	.row = json_row,
	.end = json_end,
};
