/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/orphan.h"

#include "object/ia.h"
#include "dto/control.h"
#include "dto/bounce.h"
#include "object/ep.h"
#include "object/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t dofi_orphans_count(const struct dofi_ring *ring)
{
	uint32_t n = 0;

	for (uint32_t i = ring->head; i != ring->tail; i++)
		n += dofi_ctrl_outstanding(dofi_ring_at(ring, i));
	return n;
}

uint32_t dofi_orphans_outstanding(const struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	return dofi_orphans_count(&ep->req) + dofi_orphans_count(&ep->recv) +
	       dofi_orphans_count(&ep->parts) + ep->peeking;
}

/* Gives the ring new memory with the same content. Returns the former memory. */
static char *replace(struct dofi_ring *ring)
{
	size_t size = dofi_ring_size(ring);
	char *old = dofi_ring_memory(ring), *copy = aligned_alloc(DOFI_CACHE_LINE, size);

	if (!copy)
		return NULL;
	memcpy(copy, old, size);
	ring->base = copy + ring->gap;
	return old;
}

static void mark(struct dofi_orphans *orphans, struct dofi_ring ring, char *memory)
{
	ring.base = memory + ring.gap;
	for (uint32_t i = ring.head; i != ring.tail; i++) {
		struct dofi_wr *wr = dofi_ring_at(&ring, i);

		if (!dofi_ctrl_outstanding(wr))
			continue;
		wr->op = DOFI_OP_ORPHAN;
		wr->orphans = orphans;
	}
}

/* The copies have no bounce buffers: those stay with the fabric. */
static void disown(struct dofi_ring *ring)
{
	for (uint32_t i = ring->head; i != ring->tail; i++)
		if (dofi_ctrl_outstanding(dofi_ring_at(ring, i)))
			dofi_ring_at(ring, i)->split = 0;
}

static void take_back(struct dofi_ring *ring, char *memory)
{
	if (!memory)
		return;
	free(dofi_ring_memory(ring));
	ring->base = memory + ring->gap;
}

int dofi_orphans_adopt_ep(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	uint32_t nparts = dofi_orphans_count(&ep->parts), count = dofi_orphans_outstanding(ep);
	struct dofi_orphans *orphans;
	struct dofi_own_wr *aux;

	dofi_assert_held(&ia->engine.lock);
	dofi_assert_held(&ep->lock);
	if (!count)
		return 0;
	orphans = calloc(1, sizeof(*orphans));
	aux = calloc(1, sizeof(*aux));
	if (!orphans || !aux)
		goto err;
	orphans->scratch = ep->scratch;
	if (!dofi_scratch_take(ia, &ep->scratch))
		goto err;
	orphans->memory[0] = replace(&ep->req);
	orphans->memory[1] = orphans->memory[0] ? replace(&ep->recv) : NULL;
	orphans->memory[2] = orphans->memory[1] && nparts ? replace(&ep->parts) : NULL;
	if (!orphans->memory[1] || (nparts && !orphans->memory[2]) || dofi_ctrl_slots_move(ep))
		goto err_scratch;
	orphans->memory[3] = (char *)ep->aux;
	orphans->count = count;
	orphans->ia = ia;
	mark(orphans, ep->req, orphans->memory[0]);
	mark(orphans, ep->recv, orphans->memory[1]);
	if (nparts)
		mark(orphans, ep->parts, orphans->memory[2]);
	disown(&ep->req);
	disown(&ep->recv);
	ep->aux->wr.op = DOFI_OP_ORPHAN;
	ep->aux->wr.orphans = orphans;
	ep->aux = aux;
	dofi_list_add_tail(&ia->orphans, &orphans->link);
	return 0;

err_scratch:
	take_back(&ep->req, orphans->memory[0]);
	take_back(&ep->recv, orphans->memory[1]);
	take_back(&ep->parts, orphans->memory[2]);
	dofi_scratch_give(ia, ep->scratch);
	ep->scratch = orphans->scratch;
err:
	free(orphans);
	free(aux);
	return -ENOMEM;
}

static void free_orphans(struct dofi_orphans *orphans)
{
	dofi_list_del(&orphans->link);
	if (orphans->scratch != DOFI_NO_SCRATCH)
		dofi_scratch_give(orphans->ia, orphans->scratch);
	for (int i = 0; i < 4; i++)
		free(orphans->memory[i]);
	free(orphans);
}

int dofi_orphans_adopt(struct dofi_ia *ia, const struct dofi_ring *ring)
{
	struct dofi_orphans *orphans = calloc(1, sizeof(*orphans));

	dofi_assert_held(&ia->engine.lock);
	if (!orphans)
		return -ENOMEM;
	orphans->ia = ia;
	orphans->scratch = DOFI_NO_SCRATCH;
	orphans->count = dofi_orphans_count(ring);
	orphans->memory[0] = dofi_ring_memory(ring);
	mark(orphans, *ring, orphans->memory[0]);
	dofi_list_add_tail(&ia->orphans, &orphans->link);
	if (!orphans->count)
		free_orphans(orphans);
	return 0;
}

void dofi_orphans_done(struct dofi_wr *wr)
{
	struct dofi_orphans *orphans = wr->orphans;

	dofi_assert_held(&orphans->ia->engine.lock);
	if (wr->split)
		dofi_bounce_give(wr, 0);
	if (!--orphans->count)
		free_orphans(orphans);
}

void dofi_orphans_free_all(struct dofi_ia *ia)
{
	DOFI_LIST_FOR_SAFE(node, &ia->orphans)
	free_orphans(DOFI_CONTAINER(node, struct dofi_orphans, link));
}
