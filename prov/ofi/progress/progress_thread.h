/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The thread that drives the engine when no call of the consumer does.
 */
#ifndef DOFI_PROGRESS_THREAD_H
#define DOFI_PROGRESS_THREAD_H

struct dofi_ia;

/* As driver the thread goes on for at most so many calls of consumers. */
#define DOFI_MOST_PATIENCE 1024u

/* Lets events of the fabric wake the engine, and starts the thread. 0 or -errno. */
int dofi_progress_start(struct dofi_ia *ia);

/* Stops and joins the thread. From now on no round uses the fabric. */
void dofi_progress_stop(struct dofi_ia *ia);

/*
 * The process ends: stops the thread, if it stops within a second, and the use of the fabric, whose
 * provider may be unloaded next.
 */
void dofi_progress_exit(struct dofi_ia *ia);

#endif
