/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "plan.h"

#include "clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SPAN (3 * CLOCK_SECOND)

/* --- the world --- */

static void draw_net(struct net_profile *net, bool is_calm, struct random *r)
{
	bool slow = random_one_in(r, 4);

	*net = (struct net_profile){
		.latency = random_scaled(r, CLOCK_US, CLOCK_MS),
		.jitter = random_scaled(r, 0, is_calm ? CLOCK_MS : 20 * CLOCK_MS),
		.data = slow ? random_scaled(r, 1, is_calm ? CLOCK_MS : 20 * CLOCK_MS) : 0,
		.window = 8192,
		.pieces = random_below(r, 4),
	};
	if (is_calm)
		return;
	net->spikes = random_one_in(r, 2) ? 2 + random_below(r, 20) : 0;
	net->resets = random_one_in(r, 2);
	if (random_one_in(r, 3))
		net->window = 1 + random_below(r, 600);
}

/* Of a stream of its own, so that the other plans stay the same. */
static void draw_losses(struct plan *plan)
{
	struct random r = random_stream(plan->seed, 5);

	if (random_one_in(&r, 16))
		plan->net.losses = 2 + random_below(&r, 30);
}

static void draw_processes(struct plan *plan, struct random *r)
{
	bool shares = random_one_in(r, 4);

	plan->processes = 2 + (int)random_below(r, PLAN_PROCESSES - 1);
	if (random_one_in(r, 2))
		plan->processes = 2;
	for (int i = 0; i < PLAN_PROCESSES; i++)
		plan->replaces[i] = -1;
	if (!plan->is_calm && plan->processes < PLAN_PROCESSES && random_one_in(r, 4))
		plan->replaces[plan->processes++] = 0;
	for (int i = 0; i < plan->processes; i++) {
		plan->hosts[i] = shares ? i / 2 : i;
		if (plan->replaces[i] >= 0)
			plan->hosts[i] = plan->hosts[plan->replaces[i]];
		plan->pace[i] =
			random_scaled(r, CLOCK_US, plan->is_calm ? CLOCK_MS : 20 * CLOCK_MS);
	}
}

/* --- steps --- */

static uint64_t draw_time(struct random *r, uint64_t most)
{
	return random_one_in(r, 3) ? random_next(r) % most : random_scaled(r, 0, most);
}

/* Many steps come at the same time. */
static uint64_t draw_moment(const struct plan *plan, struct random *r)
{
	if (plan->n && random_one_in(r, 3))
		return plan->steps[random_below(r, (uint32_t)plan->n)].at +
		       random_scaled(r, 0, 2 * CLOCK_MS);
	return draw_time(r, SPAN);
}

static struct plan_step *add(struct plan *plan, enum plan_kind kind, struct random *r)
{
	uint64_t at = draw_moment(plan, r);
	struct plan_step *step = &plan->steps[plan->n++];
	uint32_t n = (uint32_t)plan->processes;

	*step = (struct plan_step){.kind = kind, .at = at};
	step->who = (int)random_below(r, n);
	step->to = (int)random_below(r, n);
	if (step->to == step->who && !random_one_in(r, 8))
		step->to = (step->to + 1) % (int)n;
	step->qual = random_below(r, PLAN_QUALS);
	return step;
}

static void draw_listener(struct plan *plan, int who, uint32_t qual, struct random *r)
{
	struct plan_step *step = add(plan, PLAN_LISTEN, r);

	step->who = who;
	step->qual = qual;
	step->time = UINT64_MAX;
	if (random_one_in(r, 6))
		step->kind = PLAN_LISTEN_ONCE;
	if (!random_one_in(r, 3))
		step->at = random_scaled(r, 0, 10 * CLOCK_MS);
	if (random_one_in(r, 6))
		step->time = draw_time(r, SPAN);
}

/* A connect that begins where another one ends. */
static void draw_follower(struct plan *plan, struct plan_step *step, struct random *r)
{
	struct plan_step *first = &plan->steps[random_below(r, (uint32_t)plan->n)];

	if (first == step || first->kind != PLAN_CONNECT)
		return;
	step->who = first->who;
	step->connect.follows = (int)(first - plan->steps);
	step->connect.reuses = true;
	if (random_one_in(r, 2))
		step->to = first->to;
	if (random_one_in(r, 2))
		return;
	/* Both sides end it, and the EP is connected again at once. */
	first->connect.end = PLAN_ABRUPT;
	first->connect.early = false;
	first->connect.by[0] = first->connect.by[1] = true;
	first->connect.gap = random_scaled(r, 0, plan->net.latency + plan->net.jitter);
	first->connect.hasty = step->connect.hasty = true;
}

/* Shared receive queues, and datagrams. */
static void draw_kind(struct plan_connect *c, struct random *r)
{
	c->srq[0] = random_one_in(r, 3);
	c->srq[1] = random_one_in(r, 3);
	if (!random_one_in(r, 4))
		return;
	c->is_ud = true;
	c->srq[0] = c->srq[1] = false;
	for (int side = 0; side < 2; side++)
		if (random_one_in(r, 2))
			c->datagrams[side] = (uint32_t)random_scaled(r, 1, PLAN_DATAGRAMS);
}

static void draw_fabric(struct plan *plan, struct random *r)
{
	plan->copies = random_one_in(r, 2);
	plan->is_rdm = random_one_in(r, 2);
	if (!plan->is_rdm)
		return;
	plan->injects = plan->copies && random_one_in(r, 2);
	plan->scrambles = random_one_in(r, 2);
	plan->no_masks = random_one_in(r, 4);
	if (random_one_in(r, 3))
		plan->receives = PLAN_RECEIVES + random_below(r, 64);
}

static void draw_connect(struct plan *plan, struct random *r)
{
	struct plan_step *step = add(plan, PLAN_CONNECT, r);
	struct plan_connect *c = &step->connect;
	uint32_t by = random_below(r, 4);

	if (random_one_in(r, 4))
		c->timeout = random_scaled(r, 1000, 3000000) * CLOCK_US;
	c->answer = random_one_in(r, 5)    ? PLAN_REJECT
		    : random_one_in(r, 20) ? PLAN_NEVER
					   : PLAN_ACCEPT;
	c->answer_after = draw_time(r, random_one_in(r, 4) ? CLOCK_SECOND : 5 * CLOCK_MS);
	c->end = (enum plan_end)random_below(r, 4);
	c->by[0] = by != 1;
	c->by[1] = by == 1 || by == 2;
	c->early = random_one_in(r, 5);
	c->hold = draw_time(r, random_one_in(r, 8) ? 12 * CLOCK_SECOND : 50 * CLOCK_MS);
	if (random_one_in(r, 3))
		c->hold = random_scaled(r, 0, plan->net.latency + plan->net.jitter);
	c->gap = random_scaled(r, 0, CLOCK_MS);
	for (int side = 0; side < 2; side++) {
		c->sends[side] = random_one_in(r, 2) ? random_below(r, PLAN_SENDS + 1) : 0;
		c->private_size[side] = 4 + random_below(r, random_one_in(r, 2) ? 253 : 8);
	}
	if (plan->is_rdm)
		draw_kind(c, r);
	c->is_dup = random_one_in(r, 8);
	c->reuses = random_one_in(r, 2);
	c->hasty = random_one_in(r, 4);
	c->follows = -1;
	if (random_one_in(r, 4))
		draw_follower(plan, step, r);
}

/* The replaced process dies or closes its IA. The new one has its qualifiers. */
static void draw_birth(struct plan *plan, int who, struct random *r)
{
	struct plan_step *end = add(plan, random_one_in(r, 2) ? PLAN_KILL : PLAN_CLOSE, r);
	uint64_t at = end->at + random_scaled(r, 0, 20 * CLOCK_MS);
	struct plan_step *step;

	end->who = plan->replaces[who];
	step = add(plan, PLAN_OPEN, r);
	step->who = who;
	step->at = at;
	for (uint32_t qual = 0; qual < PLAN_QUALS; qual++) {
		if (random_one_in(r, 3))
			continue;
		step = add(plan, PLAN_LISTEN, r);
		step->who = who;
		step->qual = qual;
		step->at = at + 1 + random_scaled(r, 0, 10 * CLOCK_MS);
		step->time = UINT64_MAX;
	}
}

static void draw_births(struct plan *plan, struct random *r)
{
	for (int i = 0; i < plan->processes; i++)
		if (plan->replaces[i] >= 0)
			draw_birth(plan, i, r);
}

/* Mostly while a connection is being made. */
static uint64_t draw_fault_moment(const struct plan *plan, struct random *r)
{
	const struct plan_step *step = &plan->steps[random_below(r, (uint32_t)plan->n)];
	uint64_t packets = plan->net.latency + plan->net.jitter;

	if (step->kind != PLAN_CONNECT || random_one_in(r, 4))
		return draw_moment(plan, r);
	return step->at + step->connect.answer_after + random_scaled(r, 0, 12 * packets);
}

static void draw_fault(struct plan *plan, struct random *r)
{
	uint32_t kinds = PLAN_KINDS - PLAN_KILL;
	enum plan_kind kind = (enum plan_kind)(PLAN_KILL + random_below(r, kinds));
	struct plan_step *step = add(plan, kind, r);

	step->at = draw_fault_moment(plan, r);
	step->time = random_scaled(r, CLOCK_MS, 30 * CLOCK_SECOND);
	step->n = 1 + random_below(r, 6);
	if (kind == PLAN_CUT)
		step->n = (uint32_t)random_scaled(r, 0, 3000);
	if (kind == PLAN_FORGET)
		step->n = (uint32_t)random_scaled(r, 1, 40);
	if (kind == PLAN_SILENCE && random_one_in(r, 4))
		step->time = UINT64_MAX / 2;
}

static bool has(const struct plan *plan, enum plan_kind kind)
{
	for (int i = 0; i < plan->n; i++)
		if (plan->steps[i].kind == kind)
			return true;
	return false;
}

void plan_draw(struct plan *plan, uint64_t seed)
{
	struct random r = random_stream(seed, 1);
	uint32_t faults;

	memset(plan, 0, sizeof(*plan));
	plan->seed = seed;
	plan->is_calm = random_one_in(&r, 3);
	plan->is_busy = random_one_in(&r, 8);
	plan->has_key = !random_one_in(&r, 16);
	draw_fabric(plan, &r);
	draw_processes(plan, &r);
	draw_net(&plan->net, plan->is_calm, &r);
	draw_losses(plan);
	if (random_one_in(&r, 8)) {
		plan->strangers = 1 + random_below(&r, 4);
		plan->requests = 1 + random_below(&r, 4);
	}
	for (int i = 0; i < plan->processes; i++)
		for (uint32_t qual = 0; qual < PLAN_QUALS; qual++)
			if (plan->replaces[i] < 0 && (!qual || random_one_in(&r, 3)))
				draw_listener(plan, i, qual, &r);
	for (uint32_t n = 1 + (uint32_t)random_scaled(&r, 0, 14); n; n--)
		draw_connect(plan, &r);
	if (random_one_in(&r, 3))
		add(plan, PLAN_CLOSE, &r);
	draw_births(plan, &r);
	faults = plan->is_calm ? 0 : 1 + random_below(&r, 4);
	while (faults--)
		draw_fault(plan, &r);
	/* A short EVD has to become longer, which takes memory. */
	if (random_one_in(&r, 4) && !has(plan, PLAN_FORGET))
		plan->qlen = 1u << random_below(&r, 3);
	plan->says_connected = !plan->is_rdm && random_one_in(&r, 3);
}

bool plan_is_prompt(const struct plan *plan)
{
	return plan->is_calm && !plan->is_busy && !plan->net.losses;
}

uint64_t plan_last(const struct plan *plan)
{
	uint64_t last = 0;

	for (int i = 0; i < plan->n; i++)
		if (!plan->steps[i].left_out && plan->steps[i].at > last)
			last = plan->steps[i].at;
	return last;
}

/* --- in words --- */

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void print_connect(const struct plan_step *step)
{
	static const char *const answers[] = {"accepted", "rejected", "never answered"};
	static const char *const ends[] = {"nobody", "disconnect", "abrupt disconnect",
					   "dat_ep_free"};
	const struct plan_connect *c = &step->connect;

	fprintf(stderr, "connects%s to ia%d, qualifier %u; %s after %.3f ms",
		c->is_dup ? " by dup" : "", step->to, step->qual, answers[c->answer],
		ms(c->answer_after));
	if (c->follows >= 0)
		fprintf(stderr, "; when connect %d ends", c->follows);
	if (c->hasty)
		fprintf(stderr, "; hasty");
	if (c->is_ud)
		fprintf(stderr, "; %u and %u datagrams", c->datagrams[0], c->datagrams[1]);
	if (c->srq[0] || c->srq[1])
		fprintf(stderr, "; SRQ of%s%s", c->srq[0] ? " the active" : "",
			c->srq[1] ? " the passive" : "");
	if (c->timeout)
		fprintf(stderr, "; time-out %.3f ms", ms(c->timeout));
	if (c->sends[0] + c->sends[1])
		fprintf(stderr, "; sends %u and %u messages", c->sends[0], c->sends[1]);
	fprintf(stderr, "; ended by %s", ends[c->end]);
	if (c->end != PLAN_NO_END)
		fprintf(stderr, " of%s%s, %.3f ms after %s", c->by[0] ? " the active" : "",
			c->by[1] ? " the passive" : "", ms(c->hold),
			c->early ? "the call" : "the connection");
	fprintf(stderr, "\n");
}

static void print_step(const struct plan_step *step)
{
	static const char *const words[PLAN_KINDS] = {
		[PLAN_LISTEN] = "listens at qualifier",
		[PLAN_LISTEN_ONCE] = "listens once at qualifier",
		[PLAN_CLOSE] = "closes its IA",
		[PLAN_OPEN] = "opens its IA in the place of ia0",
		[PLAN_KILL] = "dies",
		[PLAN_STOP] = "is stopped",
		[PLAN_SILENCE] = "is cut off from the network",
		[PLAN_CUT] = "loses a stream, bytes later",
		[PLAN_CUT_PATH] = "loses its data paths",
		[PLAN_REFUSE] = "cannot dial, times",
		[PLAN_FORGET] = "has no memory for allocation",
		[PLAN_FAIL] = "meets an error in system call",
		[PLAN_STARVE] = "has descriptors, no more than",
		[PLAN_SHORT] = "reads, bytes at a time",
		[PLAN_LOSE] = "meets a fault of the fabric, times",
	};
	bool listens = step->kind == PLAN_LISTEN || step->kind == PLAN_LISTEN_ONCE;

	if (step->kind == PLAN_CONNECT) {
		print_connect(step);
		return;
	}
	fprintf(stderr, "%s %u", words[step->kind], listens ? step->qual : step->n);
	if (step->time && step->time < UINT64_MAX / 2)
		fprintf(stderr, ", for %.3f ms", ms(step->time));
	fprintf(stderr, "\n");
}

void plan_print(const struct plan *plan)
{
	fprintf(stderr,
		"seed %" PRIu64 ": %d IAs, %s, latency %.3f to %.3f ms, window %u "
		"bytes%s%s%s%s%s%s%s%s%s%s, %u receives\n",
		plan->seed, plan->processes, plan->is_rdm ? "rdm" : "msg", ms(plan->net.latency),
		ms(plan->net.latency + plan->net.jitter), plan->net.window,
		plan->is_busy ? ", busy hosts" : "", plan->net.losses ? ", lost packets" : "",
		plan->net.spikes ? ", late packets" : "", plan->net.resets ? ", resets" : "",
		plan->has_key ? "" : ", no key",
		plan->says_connected ? ", the fabric says connected" : "",
		plan->copies ? ", the fabric copies" : "", plan->injects ? ", injects" : "",
		plan->scrambles ? ", completes in any order" : "",
		plan->no_masks ? ", knows no masks" : "", plan->receives);
	for (int i = 0; i < plan->n; i++) {
		if (plan->steps[i].left_out)
			continue;
		fprintf(stderr, "%3d: %12.3f ms: ia%d ", i, ms(plan->steps[i].at),
			plan->steps[i].who);
		print_step(&plan->steps[i]);
	}
}
