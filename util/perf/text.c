/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A table for people. */
#include "perf/perf.h"

static bool comparing(const struct perf_cfg *cfg)
{
	return cfg->backends == (1u << PERF_DAT | 1u << PERF_RAW);
}

static const char *size_text(const struct perf_report *report, const struct perf_row *row,
			     char *text, size_t size)
{
	/* Connections and wake-ups have no size. */
	if (perf_traits[report->cfg->test].fixed == 1)
		snprintf(text, size, "-");
	else
		snprintf(text, size, "%llu", (unsigned long long)row->size);
	return text;
}

/* ---- one back end ---- */

static void alone_head(const struct perf_cfg *cfg)
{
	printf("%10s %10s", "bytes", "iterations");
	if (cfg->metric == PERF_LATENCY) {
		for (int i = 0; perf_stat_names[i]; i++)
			printf(" %5s us", perf_stat_names[i]);
		putchar('\n');
	} else {
		printf(" %14s %14s %14s\n", perf_unit(cfg), "worst round", "best round");
	}
}

static void alone_row(const struct perf_report *report, const struct perf_row *row)
{
	const struct perf_column *column =
		&row->columns[row->columns[PERF_DAT].present ? PERF_DAT : PERF_RAW];
	const struct perf_figure *value = &column->value;
	char text[3][32];

	printf("%10s %10llu", size_text(report, row, text[0], sizeof(text[0])),
	       (unsigned long long)column->iterations);
	if (report->cfg->metric == PERF_LATENCY) {
		for (enum perf_stat i = 0; i < PERF_STATS; i++)
			printf(" %8s", perf_number(column->stat[i], text[0], sizeof(text[0])));
	} else {
		printf(" %14s %14s %14s", perf_number(value->median, text[0], sizeof(text[0])),
		       perf_number(value->min, text[1], sizeof(text[1])),
		       perf_number(value->max, text[2], sizeof(text[2])));
	}
	putchar('\n');
}

/* ---- both ---- */

static void compared_head(const struct perf_report *report)
{
	const struct perf_cfg *cfg = report->cfg;
	bool latency = cfg->metric == PERF_LATENCY;
	char dat[32], raw[32];

	printf("DAT/raw %s 1 is better for DAT; median of %u round%s%s%s\n",
	       latency ? "below" : "above", report->rounds, report->rounds > 1 ? "s" : "",
	       latency ? ", each by its " : "", latency ? perf_stat_names[report->stat] : "");
	snprintf(dat, sizeof(dat), "DAT %s", perf_unit(cfg));
	snprintf(raw, sizeof(raw), "raw %s", perf_unit(cfg));
	printf("%10s %12s %12s %10s %18s%s\n", "bytes", dat, raw, "DAT/raw", "min .. max",
	       latency ? "    DAT-raw" : "");
}

static void compared_row(const struct perf_report *report, const struct perf_row *row)
{
	char size[32], dat[32], raw[32], span[32];

	snprintf(span, sizeof(span), "%.3f .. %.3f", row->ratio.min, row->ratio.max);
	printf("%10s %12s %12s %10.3f %18s", size_text(report, row, size, sizeof(size)),
	       perf_number(row->columns[PERF_DAT].value.median, dat, sizeof(dat)),
	       perf_number(row->columns[PERF_RAW].value.median, raw, sizeof(raw)),
	       row->ratio.median, span);
	if (report->cfg->metric == PERF_LATENCY)
		printf(" %10.3f", row->excess.median);
	putchar('\n');
}

/* ---- the table ---- */

static void text_begin(struct perf_report *report)
{
	const struct perf_cfg *cfg = report->cfg;
	char title[160];

	perf_title(cfg, title, sizeof(title));
	puts(title);
	if (cfg->backends & 1u << PERF_DAT)
		printf("DAT: interface %s\n", cfg->ia);
	if (cfg->backends & 1u << PERF_RAW)
		printf("raw: libfabric provider %s, %s, FI_THREAD_SAFE, one CQ%s\n", cfg->provider,
		       cfg->rdm ? "FI_EP_RDM with tags" : "FI_EP_MSG",
		       cfg->threads > 1 ? " a thread" : "");
	if (comparing(cfg))
		compared_head(report);
	else
		alone_head(cfg);
}

static void text_row(struct perf_report *report, const struct perf_row *row)
{
	if (row->compared)
		compared_row(report, row);
	else
		alone_row(report, row);
}

static void text_end(struct perf_report *report)
{
	const struct perf_cfg *cfg = report->cfg;

	if (!cfg->cost)
		return;
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		const struct perf_cost *cost = &report->costs[i];

		if (cfg->backends & 1u << i)
			printf("cost of %u endpoints, %s: %.1f KiB each, opened in %.3f s, closed "
			       "in %.3f s\n",
			       perf_endpoints(cfg), perf_backend_names[i],
			       (double)cost->memory / perf_endpoints(cfg) / 1024, cost->open_s,
			       cost->close_s);
	}
	printf("while idle: %.2f %% of a processor\n", report->idle);
}

const struct perf_writer perf_text_writer = {
	.begin = text_begin,
	.row = text_row,
	.end = text_end,
};
