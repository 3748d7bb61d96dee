/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A line on the terminal that shows the progress, written by a thread a few times a second. Not
 * written if stderr is redirected.
 */
#include "perf/perf.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 250000000

struct perf_live {
	pthread_t thread;
	pthread_mutex_t lock; /* guards all members below */
	pthread_cond_t changed;
	char text[80]; /* empty: no line */
	const struct perf_progress *progress;
	bool over;
};

static void clear_line(void)
{
	fputs("\r\033[K", stderr);
}

static void draw(const struct perf_live *live)
{
	uint64_t done, total;

	clear_line();
	fputs(live->text, stderr);
	if (live->progress) {
		done = __atomic_load_n(&live->progress->done, __ATOMIC_RELAXED);
		total = __atomic_load_n(&live->progress->total, __ATOMIC_RELAXED);
		if (total)
			fprintf(stderr, ", %3.0f %% of %llu", 100.0 * (double)done / (double)total,
				(unsigned long long)total);
	}
	fflush(stderr);
}

static void *tell(void *arg)
{
	struct perf_live *live = arg;
	struct timespec next;

	pthread_mutex_lock(&live->lock);
	while (!live->over) {
		if (*live->text)
			draw(live);
		clock_gettime(CLOCK_REALTIME, &next);
		next.tv_nsec += PERIOD_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		pthread_cond_timedwait(&live->changed, &live->lock, &next);
	}
	pthread_mutex_unlock(&live->lock);
	return NULL;
}

struct perf_live *perf_live_begin(void)
{
	struct perf_live *live;

	if (!isatty(STDERR_FILENO))
		return NULL;
	live = calloc(1, sizeof(*live));
	if (!live)
		return NULL;
	pthread_mutex_init(&live->lock, NULL);
	pthread_cond_init(&live->changed, NULL);
	if (!pthread_create(&live->thread, NULL, tell, live))
		return live;
	pthread_cond_destroy(&live->changed);
	pthread_mutex_destroy(&live->lock);
	free(live);
	return NULL;
}

void perf_live_show(struct perf_live *live, const char *text, const struct perf_progress *progress)
{
	if (!live)
		return;
	pthread_mutex_lock(&live->lock);
	snprintf(live->text, sizeof(live->text), "%s", text);
	live->progress = progress;
	if (*text)
		draw(live);
	else
		clear_line();
	pthread_mutex_unlock(&live->lock);
}

void perf_live_end(struct perf_live *live)
{
	if (!live)
		return;
	perf_live_show(live, "", NULL);
	pthread_mutex_lock(&live->lock);
	live->over = true;
	pthread_cond_signal(&live->changed);
	pthread_mutex_unlock(&live->lock);
	pthread_join(live->thread, NULL);
	pthread_cond_destroy(&live->changed);
	pthread_mutex_destroy(&live->lock);
	free(live);
}
