/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A line per size and back end, for spreadsheets; no field needs quotes. */
#include "perf/perf.h"

static void csv_begin(struct perf_report *report)
{
	(void)report;
	printf("test,metric,unit,through,threads,eps,window,size,iterations,rounds,"
	       "value,lowest,highest");
	for (int i = 0; perf_stat_names[i]; i++)
		printf(",%s", perf_stat_names[i]);
	printf(",ratio,ratio_lowest,ratio_highest,excess,excess_lowest,excess_highest\n");
}

static void put_figure(const struct perf_figure *figure)
{
	printf(",%.6g,%.6g,%.6g", figure->median, figure->min, figure->max);
}

static void put_figure_if(bool known, const struct perf_figure *figure)
{
	if (known)
		put_figure(figure);
	else
		printf(",,,");
}

static void put_column(const struct perf_report *report, const struct perf_row *row,
		       enum perf_backend backend)
{
	const struct perf_column *column = &row->columns[backend];
	const struct perf_cfg *cfg = report->cfg;

	printf("%s,%s,%s,%s,%u,%u,%u,%llu,%llu,%u", perf_test_names[cfg->test],
	       perf_metric_names[cfg->metric], perf_unit(cfg), perf_backend_names[backend],
	       cfg->threads, cfg->eps, cfg->window, (unsigned long long)row->size,
	       (unsigned long long)column->iterations, row->rounds);
	put_figure(&column->value);
	for (enum perf_stat i = 0; i < PERF_STATS; i++) {
		putchar(',');
		if (cfg->metric == PERF_LATENCY)
			printf("%.6g", column->stat[i]);
	}
	/* Ratio and excess stand in the row of DAT. */
	put_figure_if(row->compared && backend == PERF_DAT, &row->ratio);
	put_figure_if(row->compared && backend == PERF_DAT && cfg->metric == PERF_LATENCY,
		      &row->excess);
	putchar('\n');
}

static void csv_row(struct perf_report *report, const struct perf_row *row)
{
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		if (row->columns[i].present)
			put_column(report, row, i);
	}
}

static void csv_end(struct perf_report *report)
{
	(void)report;
}

const struct perf_writer perf_csv_writer = {
	.begin = csv_begin,
	.row = csv_row,
	.end = csv_end,
};
