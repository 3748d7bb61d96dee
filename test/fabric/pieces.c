/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A card may store the bytes of one write in any order. So a write becomes several operations of
 * the core, each with its own delay. It ends when all of them have ended. Aligned words of up to 8
 * bytes are not divided, because every processor stores them at once.
 */
#include "sham.h"

#include <stdlib.h>

#define WORD 8u
#define MOST 16

static size_t length_of(const struct sham_op *op)
{
	size_t length = 0;

	for (size_t i = 0; i < op->niov; i++)
		length += op->iov[i].iov_len;
	return length;
}

static bool is_word(const struct sham_op *op, size_t length)
{
	return length <= WORD && !(length & (length - 1)) && !(op->rma.addr % length);
}

/* Returns a random position inside the write where it may be cut, or 0. */
static size_t dice_cut(const struct sham_op *op, size_t length)
{
	size_t at = 1 + (size_t)sham_dice((int)length - 1);
	size_t over = length > WORD ? (op->rma.addr + at) % WORD : 0;

	return at > over ? at - over : 0;
}

/* Chooses positions to cut and sorts them. Returns their number. */
static int dice_cuts(const struct sham_op *op, size_t length, size_t *cuts)
{
	int most = op->ep->domain->faults.pieces, n = 0;

	for (int i = 1; i < most && i < MOST; i++) {
		size_t cut = dice_cut(op, length);
		int at = n;

		while (at && cuts[at - 1] > cut)
			at--;
		if (!cut || (at && cuts[at - 1] == cut))
			continue;
		for (int j = n++; j > at; j--)
			cuts[j] = cuts[j - 1];
		cuts[at] = cut;
	}
	return n;
}

/* Makes an operation for the bytes from first to end. */
static struct sham_op *piece_of(struct sham_op *whole, size_t first, size_t end)
{
	struct sham_op *piece = malloc(sizeof(*piece));
	size_t at = 0;

	if (!piece)
		return NULL;
	*piece = *whole;
	piece->whole = whole;
	piece->copy = NULL;
	piece->niov = 0;
	for (size_t i = 0; i < whole->niov; at += whole->iov[i++].iov_len) {
		size_t skip = first > at ? first - at : 0, stop = end > at ? end - at : 0;

		if (stop > whole->iov[i].iov_len)
			stop = whole->iov[i].iov_len;
		if (skip < stop)
			piece->iov[piece->niov++] =
				(struct iovec){(char *)whole->iov[i].iov_base + skip, stop - skip};
	}
	piece->rma.addr += first;
	piece->rma.len = end - first;
	piece->due_ns = sham_late_due(piece);
	return piece;
}

static void shuffle(struct sham_op **pieces, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int other = sham_dice(i + 1);
		struct sham_op *piece = pieces[i];

		pieces[i] = pieces[other];
		pieces[other] = piece;
	}
}

bool sham_pieces_wait(struct sham_op *op)
{
	struct sham_op *pieces[MOST];
	size_t length = length_of(op), cuts[MOST];
	int ncuts, n;

	/* A write with completion data is not divided, because they arrive behind all bytes. */
	if (op->kind != SHAM_WRITE || (op->flags & FI_REMOTE_CQ_DATA) || length < 2 ||
	    is_word(op, length))
		return false;
	ncuts = dice_cuts(op, length, cuts);
	for (n = 0; n <= ncuts; n++) {
		pieces[n] = piece_of(op, n ? cuts[n - 1] : 0, n < ncuts ? cuts[n] : length);
		if (!pieces[n])
			sham_die(op->ep->domain->profile, "no memory for the pieces of a write");
	}
	shuffle(pieces, n);
	dofi_list_init(&op->link);
	op->npieces = n;
	for (int i = 0; i < n; i++)
		dofi_list_add_tail(&op->ep->waiting, &pieces[i]->link);
	return true;
}

void sham_piece_end(struct sham_op *piece, const struct fi_cq_err_entry *entry)
{
	struct sham_op *whole = piece->whole;
	struct fi_cq_err_entry all = {.flags = FI_RMA | FI_WRITE};

	if (!whole->err) {
		whole->err = entry->err;
		whole->prov_errno = entry->prov_errno;
	}
	dofi_list_del(&piece->link);
	free(piece);
	if (--whole->npieces)
		return;
	all.err = whole->err;
	all.prov_errno = whole->prov_errno;
	sham_op_end(whole, &all, FI_ADDR_NOTAVAIL);
}
