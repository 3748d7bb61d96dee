/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Values over sizes as SVG, both axes logarithmic; the bars span the rounds. */
#include "perf/perf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH        760
#define HEIGHT       460
#define LEFT         80
#define RIGHT        (WIDTH - 30)
#define TOP          60
#define BOTTOM       (HEIGHT - 60)
#define X_LABEL_ROOM 38 /* least distance between two labels of sizes */

struct point {
	double size;
	bool present[PERF_BACKENDS];
	struct perf_figure value[PERF_BACKENDS];
};

struct perf_plot {
	FILE *out;
	char *path;
	struct point *points;
	size_t count;
	double min_size, max_size;
	double low, high; /* of the value axis: 1, 2 or 5 times a power of ten */
};

static const char *const colours[] = {"#1f5fa8", "#c2571a"};
static const char *const names[] = {"DAT", "raw libfabric"};

/* ---- life ---- */

int perf_plot_begin(const char *path, struct perf_plot **plot_p)
{
	struct perf_plot *plot = calloc(1, sizeof(*plot));

	if (!plot)
		return util_fail("no memory");
	plot->path = strdup(path);
	plot->out = fopen(path, "we");
	if (!plot->out || !plot->path) {
		util_fail("cannot write %s: %s", path, strerror(errno));
		perf_plot_drop(plot);
		return -1;
	}
	*plot_p = plot;
	return 0;
}

void perf_plot_drop(struct perf_plot *plot)
{
	if (plot->out)
		fclose(plot->out);
	free(plot->path);
	free(plot->points);
	free(plot);
}

static int compare(const void *a, const void *b)
{
	double x = ((const struct point *)a)->size, y = ((const struct point *)b)->size;

	return x < y ? -1 : x > y;
}

int perf_plot_add(struct perf_plot *plot, const struct perf_row *row)
{
	struct point *more = realloc(plot->points, (plot->count + 1) * sizeof(*more)), *point;

	if (!more)
		return util_fail("no memory");
	plot->points = more;
	point = &more[plot->count++];
	*point = (struct point){.size = (double)row->size};
	for (enum perf_backend i = 0; i < PERF_BACKENDS; i++) {
		point->present[i] = row->columns[i].present;
		point->value[i] = row->columns[i].value;
	}
	return 0;
}

/* ---- axes ---- */

/* The next number of 1, 2, 5, 10, 20... above or below the value. */
static double round_off(double value, bool up)
{
	static const double steps[] = {1, 2, 5, 10};
	double power = pow(10, floor(log10(value)));
	int i = 0;

	while (i < 3 && steps[i + 1] * power <= value * (1 + 1e-9))
		i++;
	return up ? steps[i + 1] * power : steps[i] * power;
}

static void find_axes(struct perf_plot *plot)
{
	double low = INFINITY, high = 0;

	qsort(plot->points, plot->count, sizeof(*plot->points), compare);
	plot->min_size = plot->points[0].size;
	plot->max_size = plot->points[plot->count - 1].size;
	for (const struct point *p = plot->points; p < plot->points + plot->count; p++) {
		for (int i = 0; i < PERF_BACKENDS; i++) {
			if (!p->present[i] || !isfinite(p->value[i].max))
				continue;
			low = fmin(low, p->value[i].min);
			high = fmax(high, p->value[i].max);
		}
	}
	/* A value of 0, from a coarse clock, must not break the logarithmic axis. */
	low = isfinite(low) ? fmax(low, 1e-3) : 1;
	plot->low = round_off(low, false);
	plot->high = round_off(fmax(high, low), true);
}

static double x_of(const struct perf_plot *plot, double size)
{
	if (plot->min_size >= plot->max_size)
		return (LEFT + RIGHT) / 2.0;
	return LEFT +
	       (RIGHT - LEFT) * log(size / plot->min_size) / log(plot->max_size / plot->min_size);
}

static double y_of(const struct perf_plot *plot, double value)
{
	double within = fmin(fmax(value, plot->low), plot->high);
	double part = log(within / plot->low) / log(plot->high / plot->low);

	return BOTTOM - (BOTTOM - TOP) * part;
}

static const char *short_size(double size, char *text, size_t length)
{
	static const char suffixes[] = " kmg";
	int i = 0;

	for (; i < 3 && size >= 1024 && fmod(size, 1024) == 0; i++)
		size /= 1024;
	snprintf(text, length, "%.0f%.*s", size, i ? 1 : 0, &suffixes[i]);
	return text;
}

/* ---- drawing ---- */

static void put_text(FILE *out, double x, double y, const char *anchor, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	for (; *text; text++) {
		if (*text == '<' || *text == '&')
			fprintf(out, "&#%d;", *text);
		else
			putc(*text, out);
	}
	fputs("</text>\n", out);
}

static void put_line(FILE *out, double x1, double y1, double x2, double y2, const char *colour)
{
	fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1,
		y1, x2, y2, colour);
}

static void put_axes(const struct perf_plot *plot, const char *unit)
{
	double last = -INFINITY;
	FILE *out = plot->out;
	char text[32];

	for (double v = plot->low; v <= plot->high * (1 + 1e-9); v = round_off(v, true)) {
		put_line(out, LEFT, y_of(plot, v), RIGHT, y_of(plot, v), "#ddd");
		snprintf(text, sizeof(text), "%.10g", v);
		put_text(out, LEFT - 8, y_of(plot, v) + 4, "end", text);
	}
	for (const struct point *p = plot->points; p < plot->points + plot->count; p++) {
		double x = x_of(plot, p->size);

		put_line(out, x, BOTTOM, x, BOTTOM + 5, "#444");
		if (x - last < X_LABEL_ROOM)
			continue;
		put_text(out, x, BOTTOM + 20, "middle", short_size(p->size, text, sizeof(text)));
		last = x;
	}
	put_line(out, LEFT, BOTTOM, RIGHT, BOTTOM, "#444");
	put_line(out, LEFT, TOP, LEFT, BOTTOM, "#444");
	put_text(out, LEFT - 8, TOP - 14, "end", unit);
	put_text(out, RIGHT, BOTTOM + 42, "end", "bytes");
}

static void put_series(const struct perf_plot *plot, enum perf_backend backend)
{
	const struct point *end = plot->points + plot->count;
	const char *colour = colours[backend];
	FILE *out = plot->out;

	fprintf(out, "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"", colour);
	for (const struct point *p = plot->points; p < end; p++)
		fprintf(out, "%.1f,%.1f ", x_of(plot, p->size),
			y_of(plot, p->value[backend].median));
	fputs("\"/>\n", out);
	for (const struct point *p = plot->points; p < end; p++) {
		const struct perf_figure *value = &p->value[backend];
		double x = x_of(plot, p->size);

		put_line(out, x, y_of(plot, value->min), x, y_of(plot, value->max), colour);
		fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x,
			y_of(plot, value->median), colour);
	}
}

static void draw(struct perf_plot *plot, const char *title, const char *unit)
{
	FILE *out = plot->out;

	find_axes(plot);
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		WIDTH, HEIGHT);
	put_text(out, LEFT, 24, "start", title);
	put_axes(plot, unit);
	for (int i = 0; i < PERF_BACKENDS; i++) {
		if (!plot->points[0].present[i])
			continue;
		put_series(plot, i);
		fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" fill=\"%s\"/>\n",
			RIGHT - 240 + 100 * i, TOP - 24, colours[i]);
		put_text(out, RIGHT - 226 + 100 * i, TOP - 14, "start", names[i]);
	}
	fputs("</svg>\n", out);
}

int perf_plot_end(struct perf_plot *plot, const char *title, const char *unit)
{
	int ret = 0;

	if (plot->count)
		draw(plot, title, unit);
	if (ferror(plot->out) | fclose(plot->out))
		ret = util_fail("cannot write %s: %s", plot->path, strerror(errno));
	plot->out = NULL;
	perf_plot_drop(plot);
	return ret;
}
