/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/ud_window.h"

#include "dto/credit.h"
#include "object/ia.h"
#include "object/transport.h"
#include "object/ud_ah.h"
#include "object/upcalls.h"

#include <string.h>

/* Counts are modulo 2^30, because an update has two bits of its own. */
#define COUNT_SHIFT 2
#define COUNT_MASK  (~0u >> COUNT_SHIFT)

/* --- the sender --- */

static uint32_t ahead(struct dofi_ud_ah *ah)
{
	return (atomic_load(&ah->sent) - atomic_load(&ah->taken)) & COUNT_MASK;
}

/*
 * Sends a mark if one is due. If the fabric does not take it, the next datagram or retry sends it.
 */
static void mark_if_due(struct dofi_ud_ah *ah)
{
	if (ahead(ah) < DOFI_UD_MARK_EVERY || atomic_exchange(&ah->marked, true))
		return;
	/* An answer may have come between the first check and the exchange. */
	if (ahead(ah) < DOFI_UD_MARK_EVERY ||
	    ah->obj.ia->trans->ud_mark(ah,
				       atomic_load(&ah->sent) << COUNT_SHIFT | DOFI_UPDATE_CREDIT,
				       false))
		atomic_store(&ah->marked, false);
}

bool dofi_ud_window_has_room(struct dofi_ud_ah *ah)
{
	if (ahead(ah) < DOFI_UD_WINDOW)
		return true;
	mark_if_due(ah);
	return false;
}

void dofi_ud_window_sent(struct dofi_ud_ah *ah)
{
	atomic_fetch_add(&ah->sent, 1);
	mark_if_due(ah);
}

/* An update that answers no mark changes nothing. */
void dofi_ud_mark_answered(struct dofi_ud_ah *ah, uint32_t update)
{
	uint32_t count = update >> COUNT_SHIFT;

	dofi_assert_held(&ah->obj.ia->engine.lock);
	if (!atomic_load(&ah->marked) ||
	    ((atomic_load(&ah->sent) - count) & COUNT_MASK) >= ahead(ah))
		return;
	atomic_store(&ah->taken, count);
	atomic_store(&ah->marked, false);
}

/* --- the receiver --- */

/*
 * Sends the answer. False when the fabric has no room. After another error the sender learns of the
 * end by BYE.
 */
static bool answer(struct dofi_ud_ah *ah)
{
	return ah->obj.ia->trans->ud_mark(ah, ah->answer_update, true) != -FI_EAGAIN;
}

void dofi_ud_answer(struct dofi_ud_ah *ah, uint32_t update)
{
	struct dofi_ia *ia = ah->obj.ia;

	dofi_assert_held(&ia->engine.lock);
	ah->answer_update = update;
	if (!dofi_list_empty(&ah->answer) || answer(ah))
		return;
	dofi_list_add_tail(&ia->ud_answers, &ah->answer);
	atomic_fetch_add(&ia->engine.restless, 1); /* nothing else tells when there is room */
}

bool dofi_ud_mark_arrived(struct dofi_ia *ia, const void *mark, size_t length)
{
	struct dofi_ctrl_credit credit;

	dofi_assert_held(&ia->engine.lock);
	if (length != sizeof(credit))
		return false;
	memcpy(&credit, mark, sizeof(credit));
	return ia->up->ud_mark(ia, credit.number, credit.secret, credit.update);
}

void dofi_ud_answer_drop(struct dofi_ud_ah *ah)
{
	dofi_assert_held(&ah->obj.ia->engine.lock);
	if (dofi_list_empty(&ah->answer))
		return;
	dofi_list_del(&ah->answer);
	atomic_fetch_sub(&ah->obj.ia->engine.restless, 1);
}

void dofi_ud_answers_retry(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	while (!dofi_list_empty(&ia->ud_answers)) {
		struct dofi_ud_ah *ah =
			DOFI_CONTAINER(ia->ud_answers.next, struct dofi_ud_ah, answer);

		if (!answer(ah))
			return;
		dofi_ud_answer_drop(ah);
	}
}
