/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "coroutine.h"

#include "clock.h"
#include "must.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK ((size_t)256 * 1024)

/*
 * Each coroutine but the first one, of the caller of coroutine_run, takes events from the clock.
 * One of them runs. The others wait in an event, or are idle and wait between two events.
 */
struct coroutine {
	ucontext_t context;
	const void *stack;
	size_t size;
	void *sanitizer; /* what AddressSanitizer keeps of a stack while another one is used */
	struct coroutine *next_idle;
};

static struct coroutine first, *running = &first, *idle;
static uint64_t limit;
static void (*after_each)(void);

/* The linker redirects mmap; kernel.c. */
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);

/* --- switching --- */

static void leaving(struct coroutine *from, const struct coroutine *to)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(&from->sanitizer, to->stack, to->size);
#else
	(void)from;
	(void)to;
#endif
}

/* The first coroutine starts the second one, which learns the bounds of its stack here. */
static void entered(struct coroutine *me)
{
#ifdef __SANITIZE_ADDRESS__
	const void *stack;
	size_t size;

	__sanitizer_finish_switch_fiber(me->sanitizer, &stack, &size);
	if (!first.stack) {
		first.stack = stack;
		first.size = size;
	}
#else
	(void)me;
#endif
}

static void switch_to(struct coroutine *to)
{
	struct coroutine *me = running;

	running = to;
	leaving(me, to);
	MUST(!swapcontext(&me->context, &to->context));
	entered(me);
}

static void become_idle(struct coroutine *next)
{
	running->next_idle = idle;
	idle = running;
	switch_to(next);
}

/* --- coroutines --- */

static void take_events(void)
{
	entered(running);
	for (;;) {
		while (clock_step(limit))
			after_each();
		become_idle(&first);
	}
}

static struct coroutine *new_coroutine(void)
{
	uint8_t *stack = __real_mmap(NULL, STACK, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct coroutine *c = (struct coroutine *)(void *)stack;

	MUST(stack != MAP_FAILED);
	c->stack = stack + sizeof(*c);
	c->size = STACK - sizeof(*c);
	MUST(!getcontext(&c->context));
	c->context.uc_stack.ss_sp = stack + sizeof(*c);
	c->context.uc_stack.ss_size = c->size;
	makecontext(&c->context, take_events, 0);
	return c;
}

static void switch_to_idle(void)
{
	struct coroutine *c = idle;

	if (c)
		idle = c->next_idle;
	else
		c = new_coroutine();
	switch_to(c);
}

static void resume(uint64_t coroutine, uint64_t unused)
{
	(void)unused;
	become_idle((struct coroutine *)(uintptr_t)coroutine);
}

void coroutine_wait(uint64_t until)
{
	clock_at(until, resume, (uintptr_t)running, 0);
	switch_to_idle();
}

bool coroutine_is_event(void)
{
	return running != &first;
}

void coroutine_run(uint64_t until, void (*then)(void))
{
	MUST(!coroutine_is_event());
	limit = until;
	after_each = then;
	switch_to_idle();
}
