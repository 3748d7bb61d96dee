/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether the progress thread, when it drives, watches the completion queue.
 *
 * A device that moves data by itself needs nobody at its queue, and a program that spins on memory
 * needs its processor. So the progress thread looks there by the clock alone, as long as
 * completions only are events for consumers that poll. Where completions bring about more than
 * that, those concerned register as watchers.
 */
#ifndef DOFI_CQ_WATCH_H
#define DOFI_CQ_WATCH_H

#include "base/hint.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;
struct dofi_wait;

/*
 * From dofi_wait_watch to dofi_wait_unwatch completions are handled as they come, also where the
 * fabric does not need it. Any lock may be held.
 */
DOFI_COLD void dofi_wait_watch(struct dofi_ia *ia);
DOFI_COLD void dofi_wait_unwatch(struct dofi_ia *ia);

/*
 * The driver is about to sleep until this wakeup: true if it leaves the queue alone, until
 * dofi_cq_watch_awake.
 */
bool dofi_cq_watch_leave(struct dofi_ia *ia, const _Atomic uint32_t *wakeup);

/* The driver that left the queue alone is awake. */
void dofi_cq_watch_awake(struct dofi_wait *w);

#endif
