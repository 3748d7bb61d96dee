/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Protection domains and registered memory. A key is an index of the shared table and a generation.
 */
#include "softefa.h"

#include <errno.h>
#include <stdlib.h>

static _Atomic uint32_t pds, pd_count, mr_count;

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct soft_pd *pd;

	if (atomic_load(&pd_count) >= efa_set.max_pd) {
		errno = ENOMEM;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->pd.context = context;
	pd->id = atomic_fetch_add(&pds, 1) + 1;
	atomic_fetch_add(&pd_count, 1);
	return &pd->pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	atomic_fetch_sub(&pd_count, 1);
	free(container_of(pd, struct soft_pd, pd));
	return 0;
}

uint32_t efa_pd_id(const struct ibv_pd *pd)
{
	return container_of(pd, struct soft_pd, pd)->id;
}

/* Takes entries in turn, so that an old key does not become valid again soon. */
static uint32_t take_entry(void)
{
	static uint32_t from;

	for (uint32_t n = 0; n < SEG_MRS; n++) {
		uint32_t i = (from + n) % SEG_MRS, free_entry = 0;

		if (atomic_compare_exchange_strong(&efa_seg->mr[i].owner, &free_entry,
						   efa_slot + 1)) {
			from = i + 1;
			return i;
		}
	}
	return SEG_MRS;
}

static void fill_entry(struct soft_mr *soft, uint32_t pd, uint64_t addr, uint32_t access)
{
	struct seg_mr *mr = &efa_seg->mr[soft->index];

	mr->gen = (mr->gen + 1) & 0x7fff;
	mr->pd = pd;
	mr->access = access;
	mr->addr = addr;
	mr->length = soft->mr.length;
	soft->mr.lkey = soft->mr.rkey = (mr->gen + 1) << 16 | soft->index;
	soft->slot_gen = efa_me->gen;
	atomic_store(&mr->key, soft->mr.rkey);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct soft_mr *soft;

	if ((access & IBV_ACCESS_REMOTE_WRITE) && !(access & IBV_ACCESS_LOCAL_WRITE)) {
		errno = EINVAL;
		return NULL;
	}
	if (efa_attach())
		return NULL;
	soft = calloc(1, sizeof(*soft));
	if (!soft)
		return NULL;
	soft->mr.context = pd->context;
	soft->mr.pd = pd;
	soft->mr.addr = addr;
	soft->mr.length = length;
	pthread_mutex_lock(&efa_lock);
	soft->index = mr_count < efa_set.max_mr ? take_entry() : SEG_MRS;
	if (soft->index < SEG_MRS) {
		fill_entry(soft, efa_pd_id(pd), iova, access);
		mr_count++;
	}
	pthread_mutex_unlock(&efa_lock);
	if (soft->index < SEG_MRS)
		return &soft->mr;
	free(soft);
	errno = ENOMEM;
	return NULL;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uint64_t)(uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	(void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
	errno = EOPNOTSUPP;
	return NULL;
}

/* No process reads or writes the memory after the return. */
int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct soft_mr *soft = container_of(mr, struct soft_mr, mr);
	struct seg_mr *entry = &efa_seg->mr[soft->index];

	pthread_mutex_lock(&efa_lock);
	if (efa_me && soft->slot_gen == efa_me->gen && atomic_load(&entry->owner) == efa_slot + 1) {
		atomic_store(&entry->key, 0);
		seg_await_mr(efa_seg, soft->index, efa_slot);
		atomic_store(&entry->owner, 0);
		mr_count--;
	}
	pthread_mutex_unlock(&efa_lock);
	free(soft);
	return 0;
}

int efadv_query_mr(struct ibv_mr *mr, struct efadv_mr_attr *attr, uint32_t size)
{
	(void)mr;
	if (size < sizeof(*attr))
		return EINVAL;
	*attr = (struct efadv_mr_attr){0};
	return 0;
}

struct seg_mr *efa_mr_find(uint32_t key)
{
	struct seg_mr *mr = &efa_seg->mr[key & 0xffff];

	return key && atomic_load(&mr->key) == key ? mr : NULL;
}

int efa_lkey_covers(uint32_t key, uint64_t addr, uint64_t length, uint32_t pd, uint32_t access)
{
	const struct seg_mr *mr = efa_mr_find(key);

	return mr && atomic_load(&mr->owner) == efa_slot + 1 && mr->pd == pd &&
	       (mr->access & access) == access && addr >= mr->addr && length <= mr->length &&
	       addr - mr->addr <= mr->length - length;
}
