/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of the library. */
#ifndef DOFI_THREAD_H
#define DOFI_THREAD_H

#include <pthread.h>

/* Starts a thread that takes no signals. 0 or -errno. */
int dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
