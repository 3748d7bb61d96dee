/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "oracle.h"

#include "clock.h"
#include "fabric_rdm.h"
#include "trace.h"

#include "object/ep.h"
#include "object/ia.h"
#include "transport/rdm.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that waits for peers may keep its process from reading its descriptors for this long. */
#define CALM_SLACK   (3 * CLOCK_SECOND)
/* Less than linger_ms: a living peer answers, or reports its end. */
#define LONGEST_CALL (500 * CLOCK_MS)
/* Less than handshake_ms: a connector that has given up reports it. */
#define LONGEST_WAIT (5 * CLOCK_SECOND)

void oracle_fail(int attempt, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "not so: ");
	if (attempt >= 0)
		fprintf(stderr, "connect %d: ", attempt);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " (at %.6f s)\n", (double)(kernel_time - 1000 * KERNEL_MS) / 1e9);
	abort();
}

/* --- private data --- */

void oracle_fill_private(uint8_t *data, uint32_t size, int attempt, int side)
{
	for (uint32_t i = 0; i < size; i++)
		data[i] = (uint8_t)(attempt + 7 * side + 3 * (int)i);
	data[0] = (uint8_t)attempt;
}

void oracle_check_private(const void *data, uint32_t size, int attempt, int side,
			  const struct attempt *a)
{
	uint8_t wanted[256];
	uint32_t n = a->step->connect.private_size[side];

	oracle_fill_private(wanted, n, attempt, side);
	if (size < n || memcmp(data, wanted, n))
		oracle_fail(attempt, "%u bytes of private data came as %u others", n, size);
}

/* --- events --- */

static bool is_terminal(DAT_EVENT_NUMBER event)
{
	return event != DAT_CONNECTION_EVENT_ESTABLISHED;
}

static bool is_up(const struct attempt_side *side)
{
	return side->nevents && !is_terminal(side->events[side->nevents - 1]);
}

static bool was_up(const struct attempt_side *side)
{
	return side->nevents && !is_terminal(side->events[0]);
}

static void check_answer(const struct plan *plan, int n, const struct attempt *a)
{
	const struct attempt_side *side = &a->side[ACTIVE];
	uint64_t timeout = a->step->connect.timeout, limit = a->called_at + timeout;

	switch (side->events[0]) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		if (!a->accepted)
			oracle_fail(n, "is established, and nobody has accepted");
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		if (!a->rejected)
			oracle_fail(n, "is rejected, and nobody has");
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		if (!timeout || side->first_at < limit)
			oracle_fail(n, "is timed out before its time");
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		if (!side->left)
			oracle_fail(n, "ends as disconnected before it was established");
		break;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		if (plan->is_calm)
			oracle_fail(n, "is told that its peer is unreachable");
		break;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		break;
	default:
		oracle_fail(n, "begins with event %#x", side->events[0]);
	}
	if (plan_is_prompt(plan) && timeout && side->first_at > limit + CALM_SLACK)
		oracle_fail(n, "is answered long after its time-out");
}

/* Whether the time of the connect is over, even if the consumer has not taken the event. */
static bool is_late(const struct attempt *a)
{
	uint64_t timeout = a->step->connect.timeout;

	return timeout && kernel_time >= a->called_at + timeout;
}

static void check_accepted(const struct plan *plan, int n, const struct attempt *a)
{
	const struct attempt_side *active = &a->side[ACTIVE], *side = &a->side[PASSIVE];

	switch (side->events[0]) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		if (active->nevents && !was_up(active))
			oracle_fail(n, "is established at its accepting side alone");
		break;
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		if (plan->is_calm && !active->left && !active->nevents && !is_late(a))
			oracle_fail(n, "fails at the side that has accepted it");
		if (plan_is_prompt(plan) && side->first_at > a->answered_at + LONGEST_WAIT)
			oracle_fail(n, "is waited for, and nobody comes");
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		if (!side->left)
			oracle_fail(n, "ends as disconnected before it was established");
		break;
	default:
		oracle_fail(n, "begins with event %#x at its accepting side", side->events[0]);
	}
}

static void check_end(const struct plan *plan, int n, const struct attempt *a, int which)
{
	const struct attempt_side *side = &a->side[which];
	DAT_EVENT_NUMBER event = side->events[1];

	if (is_terminal(side->events[0]))
		oracle_fail(n, "goes on with event %#x behind its end", event);
	if (event == DAT_CONNECTION_EVENT_BROKEN) {
		if (plan->is_calm)
			oracle_fail(n, "breaks, and nothing went wrong");
	} else if (event != DAT_CONNECTION_EVENT_DISCONNECTED) {
		oracle_fail(n, "ends with event %#x", event);
	} else if (!a->side[0].left && !a->side[1].left) {
		oracle_fail(n, "is disconnected, and nobody has");
	}
}

void oracle_event(const struct plan *plan, int n, const struct attempt *a, int side)
{
	if (a->side[side].nevents > 2)
		oracle_fail(n, "has an event behind its end");
	if (a->side[side].nevents == 2)
		check_end(plan, n, a, side);
	else if (side == ACTIVE)
		check_answer(plan, n, a);
	else
		check_accepted(plan, n, a);
}

/*
 * If a stream ends during the handshake, it is not known whether the request has arrived, so it is
 * sent again. But the consumer has only one request at a time, unless it has closed its IA since.
 */
void oracle_request(int n, const struct attempt *a)
{
	if (a->crs && !a->accepted && !a->rejected && a->asked->open)
		oracle_fail(n, "is requested again before the first request is answered");
}

void oracle_waited(const struct plan *plan, int n, uint64_t ns)
{
	if (plan_is_prompt(plan) && ns > LONGEST_CALL)
		oracle_fail(n, "is ended by a call that takes %.3f ms", (double)ns / 1e6);
}

/* --- at rest --- */

static void check_requests(int n, const struct attempt_side *side)
{
	static const char *const kinds[] = {"sends", "receives"};

	for (int kind = 0; kind < (side->has_srq ? 1 : 2); kind++)
		if (side->done[kind] != side->posted[kind])
			oracle_fail(n, "%u of %u %s of ia%d have completed at its end",
				    side->done[kind], side->posted[kind], kinds[kind],
				    side->process);
}

static void check_side(int n, const struct attempt *a, int which)
{
	const struct attempt_side *side = &a->side[which];

	if (!side->watched)
		return;
	if (!side->nevents)
		oracle_fail(n, "has no event at ia%d", side->process);
	if (side->left && is_up(side))
		oracle_fail(n, "is still up at ia%d, which has ended it", side->process);
	if (!is_up(side))
		check_requests(n, side);
	else if (!((const struct dofi_ep *)side->ep)->path_up)
		oracle_fail(n, "is up at ia%d without a data path", side->process);
}

/*
 * For a side that ended the connection alone: complete requests have arrived, and a graceful end
 * completes all.
 */
static void check_messages(int n, const struct attempt *a, int which)
{
	const struct attempt_side *from = &a->side[which], *to = &a->side[!which];
	uint32_t sent = from->done[SEND] - from->failed[SEND];

	if (!from->left || !to->watched || is_up(to))
		return;
	if (from->watched && a->step->connect.end == PLAN_GRACEFUL && from->failed[SEND])
		oracle_fail(n, "has lost messages of the side that disconnects");
	if (to->done[RECV] - to->failed[RECV] < sent)
		oracle_fail(n, "has lost messages that were complete");
}

/* What was granted has been used or is left; the sender knows of all that was announced. */
static void check_credits(int n, const struct attempt_side *from, const struct attempt_side *to)
{
	const struct dofi_ep *sender = from->ep, *receiver = to->ep;

	if (!from->watched || !to->watched || !is_up(from) || !is_up(to) || !receiver->credit_mode)
		return;
	if (sender->nsent != receiver->nreceived)
		oracle_fail(n, "ia%d has sent %u messages, and %u have come", from->process,
			    sender->nsent, receiver->nreceived);
	if (sender->credit_total != receiver->announced)
		oracle_fail(n, "ia%d knows of %u receives, and was told of %u", from->process,
			    sender->credit_total, receiver->announced);
}

/* Nothing went wrong, and nobody interfered. */
static void check_calm(int n, const struct attempt *a)
{
	const struct plan_connect *c = &a->step->connect;
	const struct attempt_side *active = &a->side[ACTIVE], *passive = &a->side[PASSIVE];
	bool one = c->by[0] != c->by[1];

	check_credits(n, active, passive);
	check_credits(n, passive, active);
	if (c->timeout || c->early)
		return;
	if (a->rejected && active->watched &&
	    active->events[0] != DAT_CONNECTION_EVENT_PEER_REJECTED)
		oracle_fail(n, "was rejected and ends with %#x", active->events[0]);
	if (!a->accepted || !active->nevents || !passive->nevents)
		return;
	if (!was_up(active) || !was_up(passive))
		oracle_fail(n, "was accepted and is not established");
	if (one)
		check_messages(n, a, c->by[ACTIVE] ? ACTIVE : PASSIVE);
}

static bool is_undecided(const struct attempt *a)
{
	return a->crs && !a->accepted && !a->rejected;
}

void oracle_rest(const struct plan *plan, int n, const struct attempt *a)
{
	const struct attempt_side *active = &a->side[ACTIVE], *passive = &a->side[PASSIVE];
	bool up[2] = {active->watched && is_up(active), passive->watched && is_up(passive)};

	if (!a->called)
		return;
	/* The request is sent with the handshake, and again if the stream ends before its end. */
	if (a->crs > 1 && plan->is_calm)
		oracle_fail(n, "is requested %u times", a->crs);
	if (!is_undecided(a) || active->left)
		check_side(n, a, ACTIVE);
	if (a->accepted)
		check_side(n, a, PASSIVE);
	if (was_up(passive) && active->watched && !was_up(active))
		oracle_fail(n, "was established at its accepting side alone");
	if (up[0] != up[1])
		oracle_fail(n, "is up at ia%d alone", up[0] ? active->process : passive->process);
	if (plan->is_calm)
		check_calm(n, a);
}

/* What an IA keeps for messages that come late, and places of receives in the fabric. */
void oracle_leftovers(const struct process *p)
{
	const struct dofi_rdm *rdm = p->ia->rdm;
	uint32_t own = DOFI_CTRL_RECVS + rdm->slots.nspares - rdm->unposted;

	if (!dofi_list_empty(&p->ia->orphans))
		oracle_fail(-1, "ia%d keeps orphans", p->kernel.number);
	if (p->ia->ndrains)
		oracle_fail(-1, "ia%d drains %u connections", p->kernel.number, p->ia->ndrains);
	if (fabric_rdm_receives(p->kernel.number) != dofi_rx_slots_used(&rdm->slots) + own)
		oracle_fail(-1, "ia%d counts %u receives in the fabric, which has %u",
			    p->kernel.number, dofi_rx_slots_used(&rdm->slots) + own,
			    fabric_rdm_receives(p->kernel.number));
}

/* --- counters --- */

static uint64_t counter(const struct process *p, unsigned int which)
{
	return atomic_load(&p->ia->counters[which]);
}

void oracle_counters(const struct process *p)
{
	uint64_t established =
		counter(p, DOFI_CNT_IA_CM_ACTIVE_EST) + counter(p, DOFI_CNT_IA_CM_PASSIVE_EST);

	if (established != p->established)
		oracle_fail(-1, "ia%d counts %" PRIu64 " connections, and %" PRIu64 " events came",
			    p->kernel.number, established, p->established);
	if (counter(p, DOFI_CNT_IA_SP_CR) != p->requests)
		oracle_fail(-1, "ia%d counts %" PRIu64 " requests, and %" PRIu64 " came",
			    p->kernel.number, counter(p, DOFI_CNT_IA_SP_CR), p->requests);
}
