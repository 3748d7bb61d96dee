/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For processes that are killed at a random instant, one after the other. */
#ifndef FAULT_VICTIM_H
#define FAULT_VICTIM_H

#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include "fault.h"

/* A number below n that depends on the state alone (splitmix64). */
static inline uint32_t fault_random_of(uint64_t state, uint32_t n)
{
	state = (state + 1) * 0x9e3779b97f4a7c15u;
	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
	state = (state ^ state >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((state ^ state >> 31) % n);
}

/* t_peer_hear() without its limit, because the victims run one after the other. */
static inline uint64_t fault_hear_at_last(const struct t_peer *self)
{
	uint64_t word;

	ck_assert_int_eq(recv(self->sock, &word, sizeof(word), 0), (ssize_t)sizeof(word));
	return word;
}

/* Kills this process after so many microseconds, less than a second. */
static inline void fault_die_after(uint32_t us)
{
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec when = {.it_value = {.tv_nsec = us * 1000L}};
	timer_t timer;

	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &how, &timer), 0);
	ck_assert_int_eq(timer_settime(timer, 0, &when, NULL), 0);
}

#endif
