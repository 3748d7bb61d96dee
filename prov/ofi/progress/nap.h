/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long the driver may sleep if work can become ready without a readable descriptor. Only the
 * driver calls these functions.
 */
#ifndef DOFI_NAP_H
#define DOFI_NAP_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

/* The end of a sleep that no descriptor may end in time. */
uint64_t dofi_nap_blind_until(uint64_t deadline);

/*
 * The end of the driver's next sleep: the earliest of its deadline, the timers and the next read by
 * the clock.
 */
uint64_t dofi_nap_until(struct dofi_ia *ia, uint64_t deadline, bool with_cq);

#endif
