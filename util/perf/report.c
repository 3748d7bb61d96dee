/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Computes the rows of the report from the rounds. */
#include "perf/perf.h"

#include <stdlib.h>
#include <string.h>

const char *const perf_backend_names[] = {"dat", "raw"};

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the values. */
static struct perf_figure summarise(double *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return (struct perf_figure){
		.median = (values[(count - 1) / 2] + values[count / 2]) / 2,
		.min = values[0],
		.max = values[count - 1],
	};
}

/* The value of one round, for all threads and directions. */
static double value_of(const struct perf_report *report, const struct perf_sample *sample,
		       enum perf_backend backend, uint32_t round)
{
	const struct perf_result *result = &sample->results[backend][round];
	const struct perf_cfg *cfg = report->cfg;
	double rate;

	if (cfg->metric == PERF_LATENCY)
		return result->stat[report->stat];
	rate = (double)sample->iterations[backend] / result->seconds * cfg->threads *
	       (cfg->both ? 2 : 1);
	return cfg->metric == PERF_RATE ? rate : rate * (double)sample->size / 1e6;
}

static void find_column(const struct perf_report *report, const struct perf_sample *sample,
			enum perf_backend backend, double *values, struct perf_column *column)
{
	column->present = true;
	column->iterations = sample->iterations[backend];
	for (uint32_t i = 0; i < sample->rounds; i++)
		column->rounds[i] = values[i] = value_of(report, sample, backend, i);
	column->value = summarise(values, sample->rounds);
	for (enum perf_stat stat = 0; stat < PERF_STATS; stat++) {
		for (uint32_t i = 0; i < sample->rounds; i++)
			values[i] = sample->results[backend][i].stat[stat];
		column->stat[stat] = summarise(values, sample->rounds).median;
	}
}

static void compare_columns(struct perf_row *row, double *values)
{
	row->compared = true;
	for (uint32_t i = 0; i < row->rounds; i++)
		values[i] = row->columns[PERF_DAT].rounds[i] / row->columns[PERF_RAW].rounds[i];
	row->ratio = summarise(values, row->rounds);
	for (uint32_t i = 0; i < row->rounds; i++)
		values[i] = row->columns[PERF_DAT].rounds[i] - row->columns[PERF_RAW].rounds[i];
	row->excess = summarise(values, row->rounds);
}

/* memory: rounds values for each back end, and as many to work with. */
static void find_row(const struct perf_report *report, const struct perf_sample *sample,
		     double *memory, struct perf_row *row)
{
	double *values = memory + (size_t)PERF_BACKENDS * sample->rounds;

	*row = (struct perf_row){.size = sample->size, .rounds = sample->rounds};
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		row->columns[i].rounds = memory + (size_t)i * sample->rounds;
		if (report->cfg->backends & 1u << i)
			find_column(report, sample, i, values, &row->columns[i]);
	}
	if (row->columns[PERF_DAT].present && row->columns[PERF_RAW].present)
		compare_columns(row, values);
}

static bool exceeds(const struct perf_row *row, const char *what, double value, const char *side,
		    const char *option, double limit)
{
	fprintf(stderr, "dat_perf: %llu bytes: %s %.3f is %s --%s %g\n",
		(unsigned long long)row->size, what, value, side, option, limit);
	return true;
}

static bool violates(const struct perf_limits *limits, const struct perf_row *row)
{
	double ratio = row->ratio.median, excess = row->excess.median * 1e3;

	if (limits->max_ratio > 0 && ratio > limits->max_ratio)
		return exceeds(row, "ratio", ratio, "above", "max-ratio", limits->max_ratio);
	if (limits->min_ratio > 0 && ratio < limits->min_ratio)
		return exceeds(row, "ratio", ratio, "below", "min-ratio", limits->min_ratio);
	if (limits->max_excess > 0 && excess > limits->max_excess)
		return exceeds(row, "excess in ns", excess, "above", "max-excess",
			       limits->max_excess);
	return false;
}

/* ---- words ---- */

const char *perf_unit(const struct perf_cfg *cfg)
{
	if (cfg->metric == PERF_LATENCY)
		return "us";
	return cfg->metric == PERF_BANDWIDTH ? "MB/s" : perf_traits[cfg->test].unit;
}

uint32_t perf_endpoints(const struct perf_cfg *cfg)
{
	return cfg->eps * cfg->threads;
}

const char *perf_number(double value, char *text, size_t size)
{
	snprintf(text, size, value < 1000 ? "%.3f" : value < 100000 ? "%.1f" : "%.0f", value);
	return text;
}

void perf_title(const struct perf_cfg *cfg, char *text, size_t size)
{
	const struct perf_traits *traits = &perf_traits[cfg->test];
	char manner[64];

	if (cfg->metric == PERF_LATENCY)
		snprintf(manner, sizeof(manner), "%s", traits->time);
	else if (traits->windowed)
		snprintf(manner, sizeof(manner), "window %u", cfg->window);
	else
		snprintf(manner, sizeof(manner), "all at once");
	snprintf(text, size, "%s %s, %s, %u endpoint%s", perf_test_names[cfg->test],
		 perf_metric_names[cfg->metric], manner, cfg->eps, cfg->eps > 1 ? "s" : "");
	if (cfg->threads > 1)
		snprintf(text + strlen(text), size - strlen(text), " of each of %u threads",
			 cfg->threads);
	snprintf(text + strlen(text), size - strlen(text), ", %s%s%s%s",
		 cfg->wait || !traits->windowed ? "sleeping" : "polling",
		 cfg->both ? ", both ways" : "", cfg->srq ? ", SRQ" : "",
		 cfg->verify ? ", data checked" : "");
}

/* ---- the report ---- */

static void write_nothing(struct perf_report *report)
{
	(void)report;
}

static void write_no_row(struct perf_report *report, const struct perf_row *row)
{
	(void)report;
	(void)row;
}

static const struct perf_writer no_writer = {
	.begin = write_nothing,
	.row = write_no_row,
	.end = write_nothing,
};

static const struct perf_writer *writer_of(const struct perf_report *report)
{
	static const struct perf_writer *const writers[] = {
		[PERF_TEXT] = &perf_text_writer,
		[PERF_JSON] = &perf_json_writer,
		[PERF_CSV] = &perf_csv_writer,
		[PERF_NOTHING] = &no_writer,
	};

	return writers[report->format];
}

int perf_report_begin(struct perf_report *report, const struct perf_cfg *cfg)
{
	report->cfg = cfg;
	report->writer = (struct util_json){.out = stdout};
	if (report->plot_path && perf_plot_begin(report->plot_path, &report->plot))
		return -1;
	writer_of(report)->begin(report);
	fflush(stdout);
	return 0;
}

int perf_report_size(struct perf_report *report, const struct perf_sample *sample)
{
	double *memory = calloc((size_t)sample->rounds * (PERF_BACKENDS + 1), sizeof(*memory));
	struct perf_row row;
	int ret = 0;

	if (!memory)
		return util_fail("no memory");
	find_row(report, sample, memory, &row);
	report->last = row.columns[PERF_DAT].value;
	writer_of(report)->row(report, &row);
	fflush(stdout);
	if (row.compared && violates(&report->limits, &row))
		report->violated = true;
	if (report->plot)
		ret = perf_plot_add(report->plot, &row);
	free(memory);
	return ret;
}

int perf_report_end(struct perf_report *report)
{
	struct perf_plot *plot = report->plot;
	char title[160];

	writer_of(report)->end(report);
	if (fflush(stdout) || ferror(stdout))
		return util_fail("cannot write the results");
	if (!plot)
		return 0;
	report->plot = NULL;
	perf_title(report->cfg, title, sizeof(title));
	return perf_plot_end(plot, title, perf_unit(report->cfg));
}

void perf_report_drop(struct perf_report *report)
{
	if (report->plot)
		perf_plot_drop(report->plot);
	report->plot = NULL;
}
