/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/timer.h"

#include "object/ia.h"
#include "base/clock.h"
#include "progress/wait.h"

static struct dofi_timer *first_timer(struct dofi_engine *e)
{
	return dofi_list_empty(&e->timers)
		       ? NULL
		       : DOFI_CONTAINER(e->timers.next, struct dofi_timer, link);
}

static void publish_next_timer(struct dofi_engine *e)
{
	struct dofi_timer *first = first_timer(e);

	atomic_store_explicit(&e->next_timer, first ? first->deadline : UINT64_MAX,
			      memory_order_relaxed);
}

void dofi_timer_set(struct dofi_ia *ia, struct dofi_timer *timer, uint64_t deadline)
{
	struct dofi_engine *e = &ia->engine;
	struct dofi_list *before = &e->timers;
	bool was_first;

	dofi_assert_held(&e->lock);
	was_first = first_timer(e) == timer;
	if (timer->link.next)
		dofi_list_del(&timer->link);
	timer->deadline = deadline;
	while (before->prev != &e->timers &&
	       DOFI_CONTAINER(before->prev, struct dofi_timer, link)->deadline > deadline)
		before = before->prev;
	dofi_list_add_tail(before, &timer->link);
	if (first_timer(e) == timer || was_first)
		publish_next_timer(e); /* a deadline in the past would keep the sleepers awake */
	if (first_timer(e) == timer)
		dofi_wait_kick(ia);
}

void dofi_timer_cancel(struct dofi_ia *ia, struct dofi_timer *timer)
{
	dofi_assert_held(&ia->engine.lock);
	if (timer->link.next)
		dofi_list_del(&timer->link);
	publish_next_timer(&ia->engine);
}

int dofi_timer_run_due(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	struct dofi_timer *timer;
	int fired = 0;

	dofi_assert_held(&e->lock);
	while ((timer = first_timer(e)) && timer->deadline <= dofi_now()) {
		dofi_list_del(&timer->link);
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
