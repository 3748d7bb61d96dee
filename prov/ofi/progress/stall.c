/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/stall.h"

#include "object/ia.h"
#include "progress/wait.h"

void dofi_stall(struct dofi_ia *ia, struct dofi_stall *stall)
{
	struct dofi_engine *e = &ia->engine;

	if (stall->waits)
		return;
	stall->waits = true;
	dofi_lock(&e->stalled_lock);
	dofi_list_add_tail(&e->stalled, &stall->link);
	dofi_unlock(&e->stalled_lock);
	atomic_fetch_add(&e->nstalled, 1);
	dofi_wait_kick(ia);
}

void dofi_stall_end(struct dofi_ia *ia, struct dofi_stall *stall)
{
	struct dofi_engine *e = &ia->engine;

	dofi_assert_held(&e->lock);
	if (!stall->waits)
		return;
	stall->waits = false;
	dofi_lock(&e->stalled_lock);
	dofi_list_del(&stall->link);
	dofi_unlock(&e->stalled_lock);
	atomic_fetch_sub(&e->nstalled, 1);
}

void dofi_stall_retry_all(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	uint32_t n = atomic_load(&e->nstalled);

	dofi_assert_held(&e->lock);
	/* Those that stall again go to the tail: each is tried once. */
	while (n--) {
		struct dofi_stall *stall;
		struct dofi_list *node;

		dofi_lock(&e->stalled_lock);
		node = dofi_list_pop(&e->stalled);
		dofi_unlock(&e->stalled_lock);
		if (!node)
			return;
		atomic_fetch_sub(&e->nstalled, 1);
		stall = DOFI_CONTAINER(node, struct dofi_stall, link);
		stall->retry(stall);
	}
}
