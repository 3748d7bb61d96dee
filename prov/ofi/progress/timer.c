/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/timer.h"

#include "object/ia.h"
#include "base/clock.h"
#include "progress/wait.h"

/*
 * The timers are a pairing heap: a timer is not due before the one above it. Most timers are
 * cancelled, so they are not sorted further.
 */
static struct dofi_timer *meld(struct dofi_timer *a, struct dofi_timer *b)
{
	struct dofi_timer *top = b->deadline < a->deadline ? b : a, *below = top == a ? b : a;

	below->next = top->child;
	if (below->next)
		below->next->place = &below->next;
	below->place = &top->child;
	top->child = below;
	return top;
}

/* Melds a row of heaps in pairs, and then the pairs. */
static struct dofi_timer *meld_row(struct dofi_timer *row)
{
	struct dofi_timer *pairs = NULL, *all = NULL, *first, *second;

	while ((first = row)) {
		second = first->next;
		row = second ? second->next : NULL;
		first = second ? meld(first, second) : first;
		first->next = pairs;
		pairs = first;
	}
	while ((first = pairs)) {
		pairs = first->next;
		all = all ? meld(all, first) : first;
	}
	return all;
}

static void add_heap(struct dofi_engine *e, struct dofi_timer *heap)
{
	e->timers = e->timers ? meld(e->timers, heap) : heap;
	e->timers->next = NULL;
	e->timers->place = &e->timers;
}

static void remove_timer(struct dofi_engine *e, struct dofi_timer *timer)
{
	struct dofi_timer *below = meld_row(timer->child);

	*timer->place = timer->next;
	if (timer->next)
		timer->next->place = timer->place;
	timer->place = NULL;
	if (below)
		add_heap(e, below);
}

/*
 * The caller stores next_timer and then loads wait.asleep; a driver stores `asleep` and then loads
 * next_timer (nap.c). All are sequentially consistent, so at least one of the two sees the other's
 * store.
 */
static void publish_next_timer(struct dofi_engine *e)
{
	atomic_store(&e->next_timer, e->timers ? e->timers->deadline : UINT64_MAX);
}

void dofi_timer_set(struct dofi_ia *ia, struct dofi_timer *timer, uint64_t deadline)
{
	struct dofi_engine *e = &ia->engine;
	bool was_first;

	dofi_assert_held(&e->lock);
	was_first = e->timers == timer;
	if (timer->place)
		remove_timer(e, timer);
	timer->deadline = deadline;
	timer->child = NULL;
	add_heap(e, timer);
	if (e->timers == timer || was_first)
		publish_next_timer(e); /* a deadline in the past would keep the sleepers awake */
	if (e->timers == timer)
		dofi_wait_kick(ia);
}

void dofi_timer_cancel(struct dofi_ia *ia, struct dofi_timer *timer)
{
	dofi_assert_held(&ia->engine.lock);
	if (timer->place)
		remove_timer(&ia->engine, timer);
	publish_next_timer(&ia->engine);
}

int dofi_timer_run_due(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	struct dofi_timer *timer;
	int fired = 0;

	dofi_assert_held(&e->lock);
	while ((timer = e->timers) && timer->deadline <= dofi_now()) {
		remove_timer(e, timer);
		timer->fire(timer);
		fired++;
	}
	if (fired)
		publish_next_timer(e);
	return fired;
}

bool dofi_timer_is_due(const struct dofi_ia *ia)
{
	return atomic_load_explicit(&ia->engine.next_timer, memory_order_relaxed) <= dofi_now();
}
