/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Blocking. A waiter watches a counter ("wakeup") that whoever changes its condition rings. One
 * waiter per IA becomes the engine's driver and sleeps on the descriptors; the others sleep on a
 * descriptor of their own until their wakeup rings or the driver's place becomes free.
 */
#ifndef DOFI_WAIT_H
#define DOFI_WAIT_H

#include "object/ia_parts.h"

#include "base/hint.h"
#include "base/list.h"
#include "base/lock.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

#define DOFI_FOREVER UINT64_MAX

void dofi_wait_init(struct dofi_ia *ia);
void dofi_wait_fini(struct dofi_ia *ia);

/*
 * Sleeps until *wakeup differs from seen (0), a signal was handled (-EINTR) or the deadline has
 * passed (-ETIMEDOUT). Drives the engine meanwhile. No lock may be held.
 */
int dofi_wait_sleep(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen, uint64_t deadline);

/* Rings the wakeup: whoever sleeps on it returns. Any lock may be held. */
void dofi_wait_ring(struct dofi_ia *ia, _Atomic uint32_t *wakeup);

/* The driver's place, also for the progress thread. Leaving hands it to a sleeper. */
bool dofi_wait_drive_begin(struct dofi_ia *ia);
void dofi_wait_drive_end(struct dofi_ia *ia);

/* Calls the driver back from its sleep. */
void dofi_wait_kick(struct dofi_ia *ia);

/*
 * Completions bring about more than events for those who poll: from here to dofi_wait_unwatch they
 * are dealt with as they come, also where the fabric does not need it. Any lock may be held.
 */
DOFI_COLD void dofi_wait_watch(struct dofi_ia *ia);
DOFI_COLD void dofi_wait_unwatch(struct dofi_ia *ia);

/*
 * Driver only: arms the fabric's wait objects and sleeps on everything until something happens, the
 * deadline passes or the wakeup rings. 0: only completions may be new; 1: a full round is due;
 * -EINTR. sigmask: as for ppoll.
 */
int dofi_wait_on_fds(struct dofi_ia *ia, const _Atomic uint32_t *wakeup, uint32_t seen,
		     uint64_t deadline, const sigset_t *sigmask);

/* Looks at the wait object of a CQ that nothing has used yet. */
void dofi_wait_probe(struct dofi_ia *ia);

/* Readies the fabric's wait objects for a sleep; false when they have something for us already. */
bool dofi_wait_arm(struct dofi_ia *ia, bool with_cq);

/* DAT_TIMEOUT (microseconds from now) as a deadline. */
uint64_t dofi_deadline(uint32_t timeout_us);

#endif
