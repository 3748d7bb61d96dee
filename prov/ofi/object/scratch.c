/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "object/scratch.h"

#include "object/ia.h"
#include "object/mem.h"
#include "object/mr.h"

#include <rdma/fi_domain.h>

/*
 * The stack of free slots lies behind the slots, because late reads return their slots when the
 * endpoint is closed.
 */
int dofi_scratch_open(struct dofi_ia *ia)
{
	struct dofi_scratch *s = &ia->scratch;
	uint32_t n = ia->limits.max_eps;
	uint64_t key, address;
	void *memory;
	int ret;

	ret = dofi_mr_map(ia, n * sizeof(*s->slots), n * sizeof(*s->free_stack),
			  DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &memory,
			  &s->mr, &key, &address);
	if (ret)
		return ret;
	s->slots = memory;
	s->free_stack = (uint32_t *)(void *)(s->slots + n);
	s->desc = ia->info->domain_attr->mr_mode & FI_MR_LOCAL ? fi_mr_desc(s->mr) : NULL;
	for (s->nfree = 0; s->nfree < n; s->nfree++)
		s->free_stack[s->nfree] = n - 1 - s->nfree;
	return 0;
}

void dofi_scratch_close(struct dofi_ia *ia)
{
	struct dofi_scratch *s = &ia->scratch;

	dofi_mr_abandon(ia, s->mr, s->slots,
			ia->limits.max_eps * (sizeof(*s->slots) + sizeof(*s->free_stack)));
}

bool dofi_scratch_take(struct dofi_ia *ia, uint32_t *slot_p)
{
	struct dofi_scratch *s = &ia->scratch;
	bool taken;

	dofi_lock(&ia->obj_lock);
	taken = s->nfree > 0;
	if (taken)
		*slot_p = s->free_stack[--s->nfree];
	dofi_unlock(&ia->obj_lock);
	return taken;
}

void dofi_scratch_give(struct dofi_ia *ia, uint32_t slot)
{
	dofi_lock(&ia->obj_lock);
	ia->scratch.free_stack[ia->scratch.nfree++] = slot;
	dofi_unlock(&ia->obj_lock);
}
