/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long the driver may sleep where something can become ready without a descriptor saying so.
 * The driver alone calls these.
 */
#ifndef DOFI_NAP_H
#define DOFI_NAP_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

/* The end of a sleep that nothing may interrupt in time. */
uint64_t dofi_nap_blind_until(uint64_t deadline);

/* The end of the driver's next sleep: of its deadline, the timers and the next look by the clock.
 */
uint64_t dofi_nap_until(struct dofi_ia *ia, uint64_t deadline, bool with_cq);

#endif
