/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sleep of the driver, the one thread of an IA that sleeps on the descriptors.
 */
#ifndef DOFI_DRIVER_SLEEP_H
#define DOFI_DRIVER_SLEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;
struct dofi_interrupts;

/*
 * Driver only: arms the fabric's wait objects and sleeps on everything until something happens, the
 * deadline passes or the wakeup counter changes. 0: only completions may be new; 1: a full round is
 * due; -EINTR. allowed: as for dofi_poll_until.
 */
int dofi_wait_on_fds(struct dofi_ia *ia, const _Atomic uint32_t *wakeup, uint32_t seen,
		     uint64_t deadline, const struct dofi_interrupts *allowed);

/* Peers need not send wakeups any more: the driver is awake. */
void dofi_wait_unmark(struct dofi_ia *ia);
/*
 * A consumer polls. If the progress thread still sleeps as driver, perhaps because it has no
 * processor, each message of a peer costs a wakeup that nobody needs. So the marks are taken back,
 * and the sleep ends.
 */
void dofi_wait_relieve(struct dofi_ia *ia);
/*
 * A peer has taken a mark back, or there is a new path without one. Another thread may have read
 * what the peer sent to wake the driver. So the driver looks again, and sets its marks again.
 */
void dofi_wait_mark_gone(struct dofi_ia *ia);

/* Finds a descriptor of the CQ that is always readable. Called before the CQ is used. */
void dofi_wait_probe(struct dofi_ia *ia);

/* Arms the fabric's event queues for a sleep; false if they have events already. */
bool dofi_wait_arm_events(struct dofi_ia *ia);

/* One in this many rounds of the driver is full, also while completions keep it from sleeping. */
#define DOFI_ROUNDS_PER_FULL 16u

#endif
