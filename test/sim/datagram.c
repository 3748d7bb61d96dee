/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "datagram.h"

#include "consumer.h"
#include "fabric_rdm.h"
#include "must.h"
#include "oracle.h"

#include "cm/ud_ah.h"
#include "dto/post.h"
#include "dto/post_special.h"
#include "dto/ud.h"
#include "dto/ud_window.h"
#include "transport/rdm_tag.h"

#include <dat2/dat_ib_extensions.h>
#include <string.h>

#define HEADER_WORDS (DOFI_UD_HEADER / sizeof(uint64_t))
#define RECV_WORDS   (HEADER_WORDS + 1)

/* --- memory and cookies --- */

static uint64_t *recv_words(int n, int which, uint32_t slot)
{
	return &consumer_memory[n][CONSUMER_MESSAGES +
				   ((uint32_t)which * PLAN_SENDS + slot) * RECV_WORDS];
}

static uint64_t *send_word(int n, int which, uint32_t slot)
{
	return &consumer_memory[n][(uint32_t)which * PLAN_SENDS + slot];
}

static uint64_t value(int n, int which, uint32_t i)
{
	return UINT64_C(0xda79) << 48 | (uint64_t)n << 32 | (uint64_t)which << 24 | i;
}

static DAT_DTO_COOKIE cookie(int n, int which, int kind, uint32_t i)
{
	return (DAT_DTO_COOKIE){.as_64 = consumer_cookie(n, which, kind, i)};
}

/* --- posts --- */

static void post_receive(struct process *p, int n, struct attempt *a, int which)
{
	struct attempt_side *side = &a->side[which];
	uint32_t i = side->posted[RECV] % PLAN_SENDS;
	DAT_LMR_TRIPLET iov = {.lmr_context = p->lmr_context,
			       .virtual_address = (uintptr_t)recv_words(n, which, i),
			       .segment_length = RECV_WORDS * sizeof(uint64_t)};

	if (dofi_ep_post_recv(side->ep, 1, &iov, cookie(n, which, RECV, i),
			      DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS)
		side->posted[RECV]++;
}

void datagram_post_receives(struct process *p, int n, struct attempt *a, int which)
{
	for (uint32_t i = 0; i < PLAN_SENDS; i++)
		post_receive(p, n, a, which);
}

/* As many at a time as there are words to send from. */
static void post_sends(struct process *p, int n, struct attempt *a, int which)
{
	struct attempt_side *side = &a->side[which];

	while (side->ah && side->posted[SEND] < a->step->connect.datagrams[which] &&
	       side->posted[SEND] - side->done[SEND] < PLAN_SENDS) {
		uint32_t i = side->posted[SEND];
		uint64_t *word = send_word(n, which, i % PLAN_SENDS);
		DAT_LMR_TRIPLET iov = {.lmr_context = p->lmr_context,
				       .virtual_address = (uintptr_t)word,
				       .segment_length = sizeof(*word)};

		*word = value(n, which, i);
		if (dofi_ep_post_send_ud(side->ep, 1, &iov, side->ah,
					 cookie(n, which, SEND, i % PLAN_SENDS),
					 DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS)
			return;
		side->posted[SEND]++;
	}
}

/* --- events --- */

static bool is_up(const struct attempt_side *side)
{
	return side->nevents && side->events[0] == (DAT_EVENT_NUMBER)DOFI_UD_EVENT_ESTABLISHED;
}

static void check_event(const struct plan *plan, int n, const struct attempt *a, int which)
{
	const struct attempt_side *side = &a->side[which];
	bool decided = a->step->connect.timeout || a->side[0].left || a->side[1].left;

	if (side->nevents > 1)
		oracle_fail(n, "has a second event of its address handle");
	switch ((unsigned int)side->events[0]) {
	case DOFI_UD_EVENT_ESTABLISHED:
		if (!a->accepted)
			oracle_fail(n, "has an address handle, and nobody has accepted");
		break;
	case DOFI_UD_EVENT_REJECTED:
		if (which == PASSIVE)
			oracle_fail(n, "is rejected at the side that has accepted it");
		if (plan->is_calm && a->accepted && !decided)
			oracle_fail(n, "is rejected, and was accepted");
		break;
	case DOFI_UD_EVENT_ERROR:
		if (plan_is_prompt(plan) && a->accepted && !decided)
			oracle_fail(n, "gets no address handle");
		break;
	default:
		oracle_fail(n, "begins with event %#x", side->events[0]);
	}
}

void datagram_event(const struct plan *plan, struct process *p, int n, struct attempt *a, int which,
		    const DAT_EVENT *event)
{
	const DAT_IB_EXTENSION_EVENT_DATA *ext =
		(const DAT_IB_EXTENSION_EVENT_DATA *)(const void *)event->event_extension_data;
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	struct attempt_side *side = &a->side[which];

	check_event(plan, n, a, which);
	if (!is_up(side))
		return;
	if (which == ACTIVE && ext->remote_ah.ah)
		oracle_check_private(data->private_data, (uint32_t)data->private_data_size, n,
				     PASSIVE, a);
	side->ah = ext->remote_ah.ah;
	post_sends(p, n, a, which);
}

/* The window counts what the peer's library has not taken; marks go beside it. */
static void check_window(int n, const struct attempt *a, int which)
{
	int from = a->side[which].process, to = a->side[!which].process;
	uint32_t most = DOFI_UD_WINDOW + DOFI_UD_WINDOW / DOFI_UD_MARK_EVERY;

	if (fabric_rdm_under_way(from, to, DOFI_TAG_UD) > most * PLAN_STEPS)
		oracle_fail(n, "has more datagrams under way than its window lets pass");
}

static void take_datagram(struct process *p, int n, struct attempt *a, int which, uint32_t slot)
{
	struct attempt_side *side = &a->side[which];
	uint64_t word = recv_words(n, which, slot)[HEADER_WORDS];
	uint32_t i = (uint32_t)word & 0xffffff;

	if (word != value(n, !which, i) || i >= a->side[!which].posted[SEND])
		oracle_fail(n, "another datagram comes than was sent");
	if (side->has_come[i])
		oracle_fail(n, "datagram %u comes twice", i);
	side->has_come[i] = true;
	side->datagrams++;
	post_receive(p, n, a, which);
}

void datagram_done(struct process *p, int n, struct attempt *a, int which, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	struct attempt_side *side = &a->side[which];
	int kind = consumer_kind(data->user_cookie.as_64);
	uint32_t slot = consumer_index(data->user_cookie.as_64);

	if (side->done[kind]++ % PLAN_SENDS != slot)
		oracle_fail(n, "its datagrams complete in another order");
	if (side->done[kind] > side->posted[kind])
		oracle_fail(n, "a datagram completes twice");
	if (data->status != DAT_DTO_SUCCESS)
		side->failed[kind]++;
	else if (kind == RECV)
		take_datagram(p, n, a, which, slot);
	if (kind == SEND) {
		check_window(n, a, which);
		post_sends(p, n, a, which);
	}
}

void datagram_free_handle(struct attempt_side *side)
{
	const void *ah = side->ah;

	side->ah = NULL;
	if (!ah)
		return;
	MUST(dofi_ud_ah_free(side->ep, ah) == DAT_SUCCESS);
	MUST(dofi_ud_cm_free(side->ep, ah) == DAT_SUCCESS);
}

/* --- at rest --- */

/* What was sent has come, or was dropped because no receive was there. */
static void check_calm(int n, const struct attempt *a, int which)
{
	const struct attempt_side *from = &a->side[which], *to = &a->side[!which];
	const struct dofi_ep *ep = to->ep;

	if (from->failed[SEND])
		oracle_fail(n, "%u of its datagrams have failed", from->failed[SEND]);
	if (from->left || to->left || !from->watched || !to->watched || !is_up(from) || !is_up(to))
		return;
	if (from->done[SEND] != a->step->connect.datagrams[which])
		oracle_fail(n, "%u of %u datagrams of ia%d are complete", from->done[SEND],
			    a->step->connect.datagrams[which], from->process);
	if (to->datagrams + ep->counters[DOFI_CNT_EP_UD_DROPPED] != from->done[SEND])
		oracle_fail(n, "%u datagrams were sent, and %u have come", from->done[SEND],
			    to->datagrams);
}

void datagram_check_rest(const struct plan *plan, int n, const struct attempt *a)
{
	bool decided = a->accepted || a->rejected || !a->crs;

	if (a->called && a->side[ACTIVE].watched && !a->side[ACTIVE].nevents &&
	    (decided || a->step->connect.timeout))
		oracle_fail(n, "has no event at ia%d", a->side[ACTIVE].process);
	if (a->accepted && a->side[PASSIVE].watched && !a->side[PASSIVE].nevents)
		oracle_fail(n, "has no event at ia%d", a->side[PASSIVE].process);
	for (int which = 0; plan->is_calm && which < 2; which++)
		check_calm(n, a, which);
}
