/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reports of counters and objects: when an IA is closed, at exit, on a signal, and to who asks by a
 * socket. Nothing of it exists, no thread and no socket, unless the parameter "stats" asks for it.
 */
#ifndef DOFI_API_STATS_H
#define DOFI_API_STATS_H

struct dofi_ia;

/*
 * The parameter is of use to the process, by the first IA that has it; what can't be had is logged.
 */
void dofi_stats_start(struct dofi_ia *ia);
/* The IA is retired, its objects are still there. */
void dofi_stats_closing(struct dofi_ia *ia);
void dofi_stats_exit(void);
void dofi_stats_fork_child(void);

#endif
