/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/control_message.h"

#include "cm/conn.h"
#include "object/ia.h"
#include "dto/srq.h"
#include "transport/transport.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <stdlib.h>
#include <string.h>

#define BARE offsetof(struct dofi_letter, request)

bool dofi_letters_possible(const struct dofi_ia *ia)
{
	return ia->trans->letter && !dofi_mail_possible(ia) && ia->has_data &&
	       ia->info->tx_attr->inject_size >= DOFI_LETTER_MAX;
}

int dofi_letters_attach(struct dofi_ep *ep)
{
	ep->letters = NULL;
	if (!ep->obj.ia->has_letters)
		return 0;
	ep->letters = calloc(1, sizeof(*ep->letters));
	return ep->letters ? 0 : -ENOMEM;
}

void dofi_letters_detach(struct dofi_ep *ep)
{
	free(ep->letters);
	ep->letters = NULL;
}

void dofi_letters_reset(struct dofi_ep *ep)
{
	if (ep->letters)
		*ep->letters = (struct dofi_letters){0};
}

/* --- out --- */

bool dofi_letter_may_start(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	/* Reads that were posted before a Send may need the context that it ends. */
	if (wr->op == DOFI_OP_SEND_INVALIDATE)
		return !ep->reads;
	if (!dofi_op_is_atomic(wr->op))
		return true;
	if (ep->reads || ep->writes || ep->peeking)
		return false;
	/* Writes that are complete here may not be there yet; a fenced read tells. */
	if (ep->unfenced)
		dofi_ep_sync(ep);
	return !ep->unfenced && !ep->peeking;
}

static ssize_t post(struct dofi_ep *ep, const struct dofi_letter *letter, size_t size)
{
	return ep->obj.ia->trans->letter(ep, letter, size);
}

ssize_t dofi_letter_announce(struct dofi_ep *ep, enum dofi_note_kind kind, uint32_t value,
			     uint32_t length)
{
	struct dofi_letters *letters = ep->letters;
	const struct dofi_letter letter = {
		.number = ep->peer.number,
		.kind = (uint32_t)kind,
		.value = value,
		.message = ep->nsent,
		.length = length,
	};
	ssize_t ret;

	if (letters->sent - letters->answered >= DOFI_LETTER_WINDOW)
		return 1;
	ret = post(ep, &letter, BARE);
	letters->sent += !ret;
	return ret;
}

static struct dofi_letter mail(const struct dofi_ep *ep, uint32_t value)
{
	return (struct dofi_letter){.number = ep->peer.number,
				    .kind = DOFI_NOTE_MAIL,
				    .value = value};
}

ssize_t dofi_letter_request(struct dofi_ep *ep, uint32_t slot,
			    const struct dofi_mail_request *request)
{
	struct dofi_letter letter = mail(ep, slot);

	letter.request = *request;
	return post(ep, &letter, DOFI_LETTER_MAX);
}

ssize_t dofi_letter_answer(struct dofi_ep *ep, uint32_t value,
			   const struct dofi_mail_answer *answer)
{
	struct dofi_letter letter = mail(ep, value);

	letter.answer = *answer;
	return post(ep, &letter, BARE + sizeof(*answer));
}

bool dofi_letter_tell(struct dofi_ep *ep)
{
	struct dofi_letters *letters = ep->letters;
	const struct dofi_letter letter = {.number = ep->peer.number,
					   .kind = DOFI_NOTE_USED,
					   .value = letters->used};

	if (letters->used - letters->told < DOFI_LETTER_WINDOW / 2)
		return true;
	if (post(ep, &letter, BARE))
		return false;
	letters->told = letters->used;
	return true;
}

/* --- in --- */

static struct dofi_kept *find(struct dofi_letters *letters, uint32_t message)
{
	for (uint32_t i = 0; i < DOFI_LETTER_WINDOW; i++)
		if (letters->kept[i].note.kind && letters->kept[i].message == message)
			return &letters->kept[i];
	return NULL;
}

static struct dofi_kept *find_room(struct dofi_letters *letters)
{
	for (uint32_t i = 0; i < DOFI_LETTER_WINDOW; i++)
		if (!letters->kept[i].note.kind)
			return &letters->kept[i];
	return NULL;
}

bool dofi_letter_is_here(const struct dofi_ep *ep, uint32_t message)
{
	return ep->letters && find(ep->letters, message);
}

bool dofi_letter_use(struct dofi_ep *ep, uint32_t message)
{
	struct dofi_kept *kept = ep->letters ? find(ep->letters, message) : NULL;

	dofi_assert_held(&ep->lock);
	if (!kept)
		return false;
	ep->note = kept->note;
	*kept = (struct dofi_kept){0};
	ep->letters->used++;
	if (ep->letters->used - ep->letters->told >= DOFI_LETTER_WINDOW / 2) {
		ep->answers_due |= DOFI_LETTERS_DUE;
		dofi_ep_stall(ep);
	}
	return true;
}

static void keep(struct dofi_ep *ep, const struct dofi_letter *letter)
{
	struct dofi_kept *kept = find_room(ep->letters);

	if (!kept || find(ep->letters, letter->message))
		return;
	kept->note = (struct dofi_note){(uint8_t)letter->kind, letter->value, letter->length};
	kept->message = letter->message;
	if (!ep->srq)
		dofi_reap_noted(ep, letter->message);
}

static void on_used(struct dofi_ep *ep, uint32_t used)
{
	struct dofi_letters *letters = ep->letters;

	/* No more than were sent; and those that overtake each other bring nothing new. */
	if (used - letters->answered > letters->sent - letters->answered)
		return;
	letters->answered = used;
	dofi_ep_issue(ep);
}

static void on_mail(struct dofi_ep *ep, const struct dofi_letter *letter, size_t size)
{
	bool is_answer = letter->value & DOFI_MAIL_ANSWER;
	uint32_t slot = letter->value & ~DOFI_MAIL_ANSWER;

	if (slot >= DOFI_MAIL_SLOTS ||
	    size < (is_answer ? BARE + sizeof(letter->answer) : DOFI_LETTER_MAX))
		return;
	if (is_answer)
		ep->letters->box.answers[slot] = letter->answer;
	else
		ep->letters->box.requests[slot] = letter->request;
	dofi_note_mail(ep, letter->value);
}

void dofi_letter_arrived(struct dofi_ia *ia, const struct dofi_letter *letter, size_t size)
{
	struct dofi_ep *ep = size >= BARE ? dofi_conn_ep(ia, letter->number) : NULL;

	if (!ep || !ep->letters)
		return;
	dofi_lock(&ep->lock);
	switch (letter->kind) {
	case DOFI_NOTE_IMMEDIATE:
	case DOFI_NOTE_INVALIDATE:
		keep(ep, letter);
		break;
	case DOFI_NOTE_MAIL:
		on_mail(ep, letter, size);
		break;
	case DOFI_NOTE_USED:
		on_used(ep, letter->value);
		break;
	}
	dofi_unlock(&ep->lock);
	if (ep->srq)
		dofi_srq_noted(ep);
}
