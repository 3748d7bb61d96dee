/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Blocking. A waiter watches a counter ("wakeup"). The thread that changes the waiter's condition
 * increments it (dofi_wait_wake). One waiter per IA becomes the engine's driver and sleeps on the
 * descriptors. The others sleep on a descriptor of their own until their counter changes or the
 * driver's place becomes free.
 */
#ifndef DOFI_WAIT_H
#define DOFI_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

void dofi_wait_init(struct dofi_ia *ia);
void dofi_wait_fini(struct dofi_ia *ia);

/*
 * Sleeps until *wakeup differs from seen (0), a signal was handled (-EINTR) or the deadline has
 * passed (-ETIMEDOUT). Drives the engine meanwhile. No lock may be held. The thread is not
 * cancelled.
 */
int dofi_wait_sleep(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen, uint64_t deadline);

/*
 * The same with this state of cancellation during the sleep. The caller has disabled cancellation,
 * and has a cleanup handler for what it has to give back.
 */
int dofi_wait_sleep_cancellable(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen,
				uint64_t deadline, int cancel);

/*
 * Increments the wakeup, which ends the sleep of the threads that wait for it. Any lock may be
 * held.
 */
void dofi_wait_wake(struct dofi_ia *ia, _Atomic uint32_t *wakeup);

/*
 * Becomes the driver, if there is none; stops being the driver, and wakes a sleeper to replace this
 * thread. Also for the progress thread.
 */
bool dofi_wait_drive_begin(struct dofi_ia *ia);
void dofi_wait_drive_end(struct dofi_ia *ia);

/*
 * A round of the engine by a thread that holds no lock, and then the agents that are due. Returns
 * the number of events handled.
 */
int dofi_wait_round(struct dofi_ia *ia, bool all);

/*
 * Something of a connection has happened, so more will follow soon: for a moment the driver looks
 * again instead of sleeping. Any lock may be held.
 */
void dofi_wait_stay_awake(struct dofi_ia *ia);

/* Ends the sleep of the driver. */
void dofi_wait_kick(struct dofi_ia *ia);
/* Ends the sleep of the driver, or the next one if it does not sleep yet. */
void dofi_wait_end_sleep(struct dofi_ia *ia);

#endif
