/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of the clock whose calls wait. An event runs on a stack of its own, so that it can wait in
 * the middle of a call while other events run, and continues when its time has come, even if calls
 * that began later still wait.
 */
#ifndef T_SIM_COROUTINE_H
#define T_SIM_COROUTINE_H

#include <stdbool.h>
#include <stdint.h>

/* Runs the events of the clock until the limit, and after_each after each of them. */
void coroutine_run(uint64_t limit, void (*after_each)(void));
/* Called by an event: other events run until the time. */
void coroutine_wait(uint64_t until);
/* Whether the caller is an event. */
bool coroutine_is_event(void);

#endif
