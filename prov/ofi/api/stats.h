/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reports of counters and objects: when an IA is closed, at exit, on a signal, and by a socket.
 * There is no thread and no socket unless the parameter "stats" asks for them.
 */
#ifndef DOFI_API_STATS_H
#define DOFI_API_STATS_H

struct dofi_ia;

/*
 * Applies the parameter to the process, by the first IA that has it. Failures are logged.
 */
void dofi_stats_start(struct dofi_ia *ia);
/* Called when the IA is retired and its objects still exist. */
void dofi_stats_closing(struct dofi_ia *ia);
void dofi_stats_exit(void);
void dofi_stats_fork_child(void);

#endif
