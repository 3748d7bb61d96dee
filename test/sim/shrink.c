/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "shrink.h"

#include "clock.h"
#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* A run that takes longer counts as failed. */
#define LIMIT_S 60

static void run(const struct plan *plan, enum shrink_output output)
{
	uint64_t steps;

	if (output == SHRINK_QUIET && !freopen("/dev/null", "w", stderr))
		_exit(EXIT_FAILURE);
	alarm(LIMIT_S);
	world_run(plan, output == SHRINK_TRACE, &steps);
	fflush(NULL);
	_exit(EXIT_SUCCESS);
}

bool shrink_run(const struct plan *plan, enum shrink_output output)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (!child)
		run(plan, output);
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

/* Tries to leave out n steps from `first` on. Restores them if the plan does not fail then. */
static bool leave_out(struct plan *plan, int first, int n)
{
	struct plan less = *plan;
	bool any = false;

	for (int i = first; i < first + n && i < plan->n; i++) {
		any |= !less.steps[i].left_out;
		less.steps[i].left_out = true;
	}
	if (!any || shrink_run(&less, SHRINK_QUIET))
		return false;
	*plan = less;
	return true;
}

static void calm_net(struct plan *plan)
{
	struct plan less = *plan;

	less.net.pieces = less.net.spikes = 0;
	less.net.window = 8192;
	if (!shrink_run(&less, SHRINK_QUIET))
		*plan = less;
	less = *plan;
	less.net.jitter = 0;
	if (!shrink_run(&less, SHRINK_QUIET))
		*plan = less;
}

static void simplify_connects(struct plan *plan)
{
	for (int i = 0; i < plan->n; i++) {
		struct plan less = *plan;
		struct plan_connect *c = &less.steps[i].connect;

		if (less.steps[i].left_out || less.steps[i].kind != PLAN_CONNECT)
			continue;
		c->sends[0] = c->sends[1] = 0;
		c->is_dup = c->reuses = c->srq[0] = c->srq[1] = false;
		c->private_size[0] = c->private_size[1] = 4;
		if (!shrink_run(&less, SHRINK_QUIET))
			*plan = less;
	}
}

void shrink(struct plan *plan)
{
	bool less = true;

	for (int n = plan->n / 2; n; n /= 2)
		for (int i = 0; i < plan->n; i += n)
			leave_out(plan, i, n);
	while (less) {
		less = false;
		for (int i = 0; i < plan->n; i++)
			less |= leave_out(plan, i, 1);
	}
	calm_net(plan);
	simplify_connects(plan);
}
