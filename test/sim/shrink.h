/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs plans in child processes, which may abort, and shrinks failing plans. */
#ifndef T_SIM_SHRINK_H
#define T_SIM_SHRINK_H

#include "plan.h"

#include <stdbool.h>

/* Output of a run. */
enum shrink_output { SHRINK_QUIET, SHRINK_FAILURE, SHRINK_TRACE };

/* False: it fails. */
bool shrink_run(const struct plan *plan, enum shrink_output output);
/* Leaves out as many steps as possible while the plan still fails, and simplifies its network. */
void shrink(struct plan *plan);

#endif
