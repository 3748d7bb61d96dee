/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of the library. */
#ifndef DOFI_THREAD_H
#define DOFI_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Starts a thread that takes no signals. 0 or -errno. */
int dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);

/*
 * The calling thread takes no signals until it sets the mask to *before_p again, except those of
 * faults, which have to reach the program's handlers at once.
 */
void dofi_block_signals(sigset_t *before_p);

#endif
