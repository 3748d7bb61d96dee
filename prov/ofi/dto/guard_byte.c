/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/guard_byte.h"

#include "object/ia.h"
#include "object/mem.h"
#include "object/mr.h"
#include "fabric/quirks.h"
#include "object/ep.h"

#include <rdma/fi_domain.h>

uint32_t dofi_guard_segments(const struct dofi_ia *ia)
{
	return ia->quirks & DOFI_QUIRK_CUTS ? 1 : 0;
}

int dofi_guard_open(struct dofi_ia *ia)
{
	struct dofi_guard *guard = &ia->guard;
	uint64_t key, address;
	void *memory;
	int ret;

	if (!dofi_guard_segments(ia))
		return 0;
	ret = dofi_mr_map(ia, 1, 0, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &memory, &guard->mr, &key,
			  &address);
	if (ret)
		return ret;
	guard->byte = memory;
	guard->desc = ia->info->domain_attr->mr_mode & FI_MR_LOCAL ? fi_mr_desc(guard->mr) : NULL;
	return 0;
}

void dofi_guard_close(struct dofi_ia *ia)
{
	if (ia->guard.byte)
		dofi_mr_abandon(ia, ia->guard.mr, ia->guard.byte, 1);
	ia->guard.byte = NULL;
}

bool dofi_guard_is_set(const struct dofi_ia *ia, const struct dofi_wr *wr)
{
	return ia->guard.byte && wr->niov && wr->iov[wr->niov - 1].iov_base == ia->guard.byte;
}

void dofi_guard_set(const struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr)
{
	if (!ia->guard.byte || !wr->niov)
		return;
	wr->iov[wr->niov] = (struct iovec){ia->guard.byte, 1};
	dofi_wr_desc(ring, wr)[wr->niov] = ia->guard.desc;
	wr->niov++;
}

bool dofi_guard_is_hit(const struct dofi_ia *ia, const struct dofi_wr *wr, uint64_t length)
{
	uint64_t room = 0;

	if (!dofi_guard_is_set(ia, wr))
		return false;
	for (uint16_t i = 0; i + 1 < wr->niov; i++)
		room += wr->iov[i].iov_len;
	return length > room;
}
