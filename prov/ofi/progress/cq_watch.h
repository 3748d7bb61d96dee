/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether the progress thread watches the completion queue while it is the driver.
 *
 * A device that moves data by itself needs no thread at its queue, and a program that spins on
 * memory needs the processor. So the progress thread reads the queue only at intervals, as long as
 * all completions become events for consumers that poll. Code that needs completions at once
 * registers as a watcher.
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
 * Between these two calls completions are handled as they come, whatever the fabric needs. Any lock
 * may be held.
 */
DOFI_COLD void dofi_wait_watch(struct dofi_ia *ia);
DOFI_COLD void dofi_wait_unwatch(struct dofi_ia *ia);

/*
 * The driver is about to sleep until this wakeup. True if the sleep does not watch the queue;
 * dofi_cq_watch_awake has to follow then.
 */
bool dofi_cq_watch_leave(struct dofi_ia *ia, const _Atomic uint32_t *wakeup);

/* The driver has slept without watching the queue and is awake. */
void dofi_cq_watch_awake(struct dofi_wait *w);

#endif
