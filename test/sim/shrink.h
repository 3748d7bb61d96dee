/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs plans in processes of their own, which may abort, and makes those that fail smaller. */
#ifndef T_SIM_SHRINK_H
#define T_SIM_SHRINK_H

#include "plan.h"

#include <stdbool.h>

/* What a run says; shown: with its trace. */
enum shrink_output { SHRINK_QUIET, SHRINK_FAILURE, SHRINK_TRACE };

/* False: it fails. */
bool shrink_run(const struct plan *plan, enum shrink_output output);
/* Leaves out as many steps of a plan that fails as it can do without, and calms its network. */
void shrink(struct plan *plan);

#endif
