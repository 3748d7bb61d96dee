/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A storm: IAs that connect to each other at once, both sides of each pair dialling, with default
 * parameters. In simulated time, and on one thread.
 */
#ifndef T_SIM_STORM_H
#define T_SIM_STORM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * n IAs; `centres` of them connect with everybody, the others with those alone. All of them: an
 * all-to-all. Prints a line of a table, behind its head; false when a connect was given up.
 */
void storm_head(void);
bool storm_run(int n, int centres, bool rdm);

#endif
