/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs the simulation for a seed, or for many. Without arguments it runs a fixed number of seeds
 * and writes TAP. A worker process runs one seed after the other. If it dies, the plan of that seed
 * is shrunk and shown.
 */
#include "plan.h"
#include "shrink.h"
#include "storm.h"
#include "trace.h"
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAP_SEEDS  4000
#define TAP_GROUPS 4
#define LIMIT_S    60 /* limit of one seed */

/* What the worker reports. */
struct progress {
	uint64_t seed; /* the seed that it runs */
	uint64_t done, steps;
	uint64_t sum; /* sum of all traces */
};

static struct progress *progress;

static const char usage[] =
	"sim                           a fixed number of seeds, in TAP\n"
	"sim SEED                      one seed; exit status 1 when it fails\n"
	"sim --trace SEED              with a line for everything that happens\n"
	"sim --shrink SEED             the smallest part of its plan that fails, with its trace\n"
	"sim --plan SEED               what it draws\n"
	"sim --from SEED --count N     so many seeds; those that fail are named\n"
	"sim --first N                 the first of N seeds that fails\n"
	"sim --storm N [CENTRES]       N IAs connect to each other, or with the first CENTRES\n";

static void work(uint64_t from, uint64_t count)
{
	static struct plan plan;
	uint64_t steps;

	for (uint64_t seed = from; seed < from + count; seed++) {
		progress->seed = seed;
		alarm(LIMIT_S);
		plan_draw(&plan, seed);
		world_run(&plan, false, &steps);
		progress->steps += steps;
		progress->sum = progress->sum * 31 + trace_sum();
		progress->done++;
	}
	fflush(NULL);
	_exit(EXIT_SUCCESS);
}

/* Runs seeds until one fails: true, and *seed_p. */
static bool find_failure(uint64_t from, uint64_t count, uint64_t *seed_p)
{
	pid_t worker;
	int status;

	fflush(NULL);
	worker = fork();
	if (!worker)
		work(from, count);
	if (worker < 0 || waitpid(worker, &status, 0) != worker) {
		perror("sim: worker");
		exit(EXIT_FAILURE);
	}
	*seed_p = progress->seed;
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

static void show_shrunk(uint64_t seed)
{
	static struct plan plan;

	plan_draw(&plan, seed);
	if (shrink_run(&plan, SHRINK_QUIET)) {
		fprintf(stderr, "seed %" PRIu64 " does not fail\n", seed);
		return;
	}
	shrink(&plan);
	plan_print(&plan);
	shrink_run(&plan, SHRINK_TRACE);
}

static int run_one(uint64_t seed, enum shrink_output output)
{
	static struct plan plan;

	plan_draw(&plan, seed);
	if (output == SHRINK_TRACE)
		plan_print(&plan);
	return shrink_run(&plan, output) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Returns the number of seeds that fail, of all or up to the first. */
static uint64_t run_many(uint64_t from, uint64_t count)
{
	uint64_t end = from + count, failures = 0, seed;

	while (from < end && find_failure(from, end - from, &seed)) {
		printf("seed %" PRIu64 " fails\n", seed);
		failures++;
		from = seed + 1;
	}
	printf("%" PRIu64 " seeds, %" PRIu64 " failures, %" PRIu64 " steps, sum %016" PRIx64 "\n",
	       count, failures, progress->steps, progress->sum);
	return failures;
}

static int run_first(uint64_t count)
{
	uint64_t seed;

	if (!find_failure(1, count, &seed)) {
		printf("none of %" PRIu64 "\n", count);
		return EXIT_FAILURE;
	}
	printf("%" PRIu64 "\n", seed);
	return EXIT_SUCCESS;
}

static int run_tap(void)
{
	const char *count = getenv("SIM_COUNT");
	uint64_t n = (count ? strtoull(count, NULL, 0) : TAP_SEEDS) / TAP_GROUPS, seed, sum;
	bool failed, any = false;

	printf("1..%d\n", TAP_GROUPS + 1);
	for (uint64_t i = 0; i < TAP_GROUPS; i++) {
		failed = find_failure(1 + i * n, n, &seed);
		printf("%s %d - seeds %" PRIu64 " to %" PRIu64 "\n", failed ? "not ok" : "ok",
		       (int)i + 1, 1 + i * n, (i + 1) * n);
		any |= failed;
		if (failed)
			show_shrunk(seed);
	}
	progress->sum = 0;
	find_failure(1, n / 8, &seed);
	sum = progress->sum;
	progress->sum = 0;
	find_failure(1, n / 8, &seed);
	any |= sum != progress->sum;
	printf("%s %d - a seed does the same each time\n", sum == progress->sum ? "ok" : "not ok",
	       TAP_GROUPS + 1);
	return any ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_storm(int argc, char **argv)
{
	int n = atoi(argv[2]), centres = argc > 3 ? atoi(argv[3]) : n;

	if (n < 2 || centres < 1) {
		fputs(usage, stderr);
		return 2;
	}
	storm_head();
	return storm_run(n, centres, false) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[argc - 1], NULL, 0) : 0;

	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (progress == MAP_FAILED)
		return EXIT_FAILURE;
	if (argc == 1)
		return run_tap();
	if (argc >= 3 && !strcmp(argv[1], "--storm"))
		return run_storm(argc, argv);
	if (argc == 2)
		return run_one(seed, SHRINK_FAILURE);
	if (argc == 3 && !strcmp(argv[1], "--trace"))
		return run_one(seed, SHRINK_TRACE);
	if (argc == 3 && !strcmp(argv[1], "--shrink")) {
		show_shrunk(seed);
		return EXIT_SUCCESS;
	}
	if (argc == 3 && !strcmp(argv[1], "--first"))
		return run_first(seed);
	if (argc == 3 && !strcmp(argv[1], "--plan")) {
		static struct plan plan;

		plan_draw(&plan, seed);
		plan_print(&plan);
		return EXIT_SUCCESS;
	}
	if (argc == 5 && !strcmp(argv[1], "--from") && !strcmp(argv[3], "--count"))
		return run_many(strtoull(argv[2], NULL, 0), seed) ? EXIT_FAILURE : EXIT_SUCCESS;
	fputs(usage, stderr);
	return 2;
}
