/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "clock.h"

#include "kernel.h"

struct event {
	uint64_t when, order;
	void (*run)(uint64_t a, uint64_t b);
	uint64_t a, b;
};

/* A heap: each before its two children. */
static struct event *heap;
static size_t room;
static uint32_t n;
static uint64_t order, steps;

void clock_begin(void)
{
	n = 0;
	order = steps = 0;
}

uint64_t clock_steps(void)
{
	return steps;
}

static bool is_before(const struct event *x, const struct event *y)
{
	return x->when != y->when ? x->when < y->when : x->order < y->order;
}

static void swap(uint32_t i, uint32_t j)
{
	struct event event = heap[i];

	heap[i] = heap[j];
	heap[j] = event;
}

void clock_at(uint64_t when, void (*run)(uint64_t a, uint64_t b), uint64_t a, uint64_t b)
{
	uint32_t i = n++;

	heap = kernel_grow(heap, &room, n, sizeof(*heap));
	heap[i] = (struct event){when < kernel_time ? kernel_time : when, order++, run, a, b};
	for (; i && is_before(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(i, (i - 1) / 2);
}

static struct event pop(void)
{
	struct event first = heap[0];
	uint32_t i = 0;

	heap[0] = heap[--n];
	for (;;) {
		uint32_t least = i;

		for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
			if (is_before(&heap[child], &heap[least]))
				least = child;
		if (least == i)
			return first;
		swap(i, least);
		i = least;
	}
}

bool clock_step(uint64_t limit)
{
	struct event event;

	if (!n || heap[0].when > limit) {
		if (limit > kernel_time)
			kernel_time = limit;
		return false;
	}
	event = pop();
	/* A call that waited may have advanced the time beyond the event. */
	if (event.when > kernel_time)
		kernel_time = event.when;
	steps++;
	event.run(event.a, event.b);
	return true;
}
