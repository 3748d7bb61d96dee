/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rounds and the sleeps of a thread that drives, for tests that replace both: what each round
 * reads, what it finds, and how each sleep ends. Include it last: its variables have names that
 * headers use.
 */
#ifndef T_NOTED_ROUNDS_H
#define T_NOTED_ROUNDS_H

#include "unit.h"

#include "object/ia.h"
#include "progress/agent.h"
#include "progress/cno.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>

#define MOST 256u /* rounds of a case */

static struct dofi_ia ia;
static uint32_t rounds, sleeps;
static bool was_full[MOST + 1], slept_after[MOST + 1];
static int found[MOST + 1];   /* events of each round, from 1 */
static int endings[MOST + 1]; /* results of each sleep, from 1 */

int __wrap_dofi_engine_round(struct dofi_ia *of, bool all);
int __wrap_dofi_wait_on_fds(struct dofi_ia *of, const _Atomic uint32_t *word, uint32_t seen,
			    uint64_t deadline, const struct dofi_interrupts *allowed);

/* Of the program: what else a round and a sleep see and do. */
static void see_round(void);
static void see_sleep(const _Atomic uint32_t *word, uint32_t seen, uint64_t deadline,
		      const struct dofi_interrupts *allowed);

int __wrap_dofi_engine_round(struct dofi_ia *of, bool all)
{
	ck_assert_ptr_eq(of, &ia);
	dofi_assert_held(&of->engine.lock);
	ck_assert_uint_lt(rounds, MOST);
	was_full[++rounds] = all;
	see_round();
	return found[rounds];
}

int __wrap_dofi_wait_on_fds(struct dofi_ia *of, const _Atomic uint32_t *word, uint32_t seen,
			    uint64_t deadline, const struct dofi_interrupts *allowed)
{
	ck_assert_ptr_eq(of, &ia);
	see_sleep(word, seen, deadline, allowed);
	slept_after[rounds] = true;
	return endings[++sleeps];
}

/* An IA whose queue has a descriptor, without timers. */
static void begin_rounds(void)
{
	dofi_lock_init_level(&ia.engine.lock, DOFI_LEVEL_ENGINE);
	dofi_list_init(&ia.agents);
	dofi_list_init(&ia.agent_calls);
	atomic_store(&ia.engine.next_timer, UINT64_MAX);
	ia.engine.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ia.engine.park_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ia.cq_wait = FI_WAIT_FD;
	strcpy(ia.name, "ofa0");
}

static void end_rounds(void)
{
	ck_assert_int_eq(atomic_load(&ia.engine.lock.word), DOFI_LOCK_FREE);
	close(ia.engine.wake_fd);
	close(ia.engine.park_fd);
}

static bool is_readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

/* The next round ends with a call of this agent. */
static void make_agent_due(DAT_AGENT_FUNC agent)
{
	static struct dofi_cno cno;

	cno.obj.ia = &ia;
	dofi_list_init(&cno.agent_link);
	cno.agent = (DAT_OS_WAIT_PROXY_AGENT){&ia, agent};
	dofi_lock(&cno.lock);
	dofi_agent_make_due(&cno, NULL);
	dofi_unlock(&cno.lock);
}

#endif
