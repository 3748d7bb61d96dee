/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory_pending.h"

#include "base/power.h"
#include "dto/reap.h"
#include "object/ia.h"
#include "progress/wait.h"

#include <errno.h>
#include <stdlib.h>

int dofi_memory_pending_make(struct dofi_memory_path *path, uint32_t most)
{
	uint32_t size = dofi_power_of_two(most);

	path->pending = calloc(size, sizeof(*path->pending));
	if (!path->pending)
		return -ENOMEM;
	path->pending_size = size;
	return 0;
}

/* The oldest request that is not complete, if the next round completes it; NULL otherwise. */
static struct dofi_memory_pending *first_done(const struct dofi_memory_path *path)
{
	struct dofi_memory_pending *first = &path->pending[path->pending_head % path->pending_size];

	if (path->pending_head == path->pending_tail || (first->waits && !first->answered))
		return NULL;
	return first;
}

void dofi_memory_set_pace(struct dofi_memory_path *path)
{
	struct dofi_ia *ia = path->conn->ia;
	bool restless = path->job.cell.kind || path->fault || path->boxed || first_done(path);

	dofi_assert_held(&path->conn->ep->lock);
	if (restless == path->restless)
		return;
	path->restless = restless;
	if (restless) {
		atomic_fetch_add(&ia->engine.restless, 1);
		dofi_wait_kick(ia);
	} else {
		atomic_fetch_sub(&ia->engine.restless, 1);
	}
}

struct dofi_memory_pending *dofi_memory_add_pending(struct dofi_memory_path *path,
						    struct dofi_wr *wr)
{
	struct dofi_memory_pending *pending =
		&path->pending[path->pending_tail++ % path->pending_size];

	dofi_assert_held(&path->conn->ep->lock);
	*pending = (struct dofi_memory_pending){.wr = wr};
	return pending;
}

struct dofi_memory_pending *dofi_memory_add_waiting(struct dofi_memory_path *path,
						    struct dofi_wr *wr)
{
	struct dofi_memory_pending *pending = dofi_memory_add_pending(path, wr);

	dofi_assert_held(&path->conn->ep->lock);
	pending->waits = true;
	path->waiting++;
	return pending;
}

/* The next request that is complete, or NULL. */
static struct dofi_wr *next_complete(struct dofi_memory_path *path)
{
	const struct dofi_memory_pending *first = first_done(path);

	if (!first)
		return NULL;
	path->pending_head++;
	path->waiting -= first->waits;
	return first->wr;
}

static void look_at_box(struct dofi_memory_path *path)
{
	if (!path->boxed || !dofi_box_is_done(path, path->boxed->wr))
		return;
	path->boxed->answered = true;
	path->boxed = NULL;
}

/* Completes requests in their order, up to the first one that waits for the peer. */
static int complete_in_order(struct dofi_memory_path *path)
{
	struct dofi_ep *ep = path->conn->ep;
	struct dofi_wr *wr;
	int n = 0;

	while ((wr = next_complete(path))) {
		dofi_unlock(&ep->lock);
		dofi_reap_done(wr, 0, wr->length, 0, 0);
		n++;
		dofi_lock(&ep->lock);
	}
	dofi_memory_set_pace(path);
	return n;
}

int dofi_memory_complete(struct dofi_memory_path *path)
{
	dofi_assert_held(&path->conn->ep->lock);
	look_at_box(path);
	return complete_in_order(path);
}

struct dofi_memory_pending *dofi_memory_asked(struct dofi_memory_path *path)
{
	struct dofi_ep *ep = path->conn->ep;
	struct dofi_memory_pending *asked = NULL;

	dofi_assert_held(&path->conn->ia->engine.lock);
	dofi_lock(&ep->lock);
	for (uint32_t i = path->pending_head; i != path->pending_tail && !asked; i++) {
		struct dofi_memory_pending *pending = &path->pending[i % path->pending_size];

		if (pending->waits && !pending->answered && !pending->boxed)
			asked = pending;
	}
	dofi_unlock(&ep->lock);
	return asked;
}

/* Requests behind the one that was answered may have waited for it alone. */
void dofi_memory_answered(struct dofi_memory_path *path)
{
	struct dofi_ep *ep = path->conn->ep;

	dofi_assert_held(&path->conn->ia->engine.lock);
	dofi_lock(&ep->lock);
	complete_in_order(path);
	dofi_unlock(&ep->lock);
}
