/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/bounce.h"

#include "base/list.h"
#include "object/ia.h"
#include "object/mr.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SMALLEST 4096u
#define SLAB     65536u     /* small buffers are registered together */
#define KEPT     (1u << 20) /* larger ones are not kept */

struct bounce {
	struct dofi_list link; /* idle */
	struct slab *slab;
	char *memory;
	uint16_t niov;
	bool inward;
	struct iovec iov[DOFI_LEAST_IOV]; /* the message's own segments */
};

struct slab {
	struct dofi_list link;
	struct dofi_ia *ia;
	unsigned int class;
	char *memory;
	size_t size;
	struct fid_mr *mr; /* NULL: the fabric does not need local memory registered */
	struct bounce buffers[];
};

static size_t size_of(unsigned int class)
{
	return (size_t)SMALLEST << class;
}

int dofi_bounces_init(struct dofi_ia *ia)
{
	struct dofi_bounces *b = &ia->bounces;

	dofi_lock_init_level(&b->lock, DOFI_LEVEL_MEMORY);
	dofi_list_init(&b->slabs);
	for (int i = 0; i < DOFI_BOUNCE_CLASSES; i++)
		dofi_list_init(&b->idle[i]);
	return 0;
}

static void deregister(struct slab *slab)
{
	if (slab->mr)
		dofi_mr_close(slab->ia, slab->mr);
	slab->mr = NULL;
}

static void free_slab(struct slab *slab)
{
	deregister(slab);
	munmap(slab->memory, slab->size);
	dofi_list_del(&slab->link);
	free(slab);
}

void dofi_bounces_abandon(struct dofi_ia *ia)
{
	DOFI_LIST_FOR(node, &ia->bounces.slabs)
	deregister(DOFI_CONTAINER(node, struct slab, link));
}

void dofi_bounces_fini(struct dofi_ia *ia)
{
	DOFI_LIST_FOR_SAFE(node, &ia->bounces.slabs)
	free_slab(DOFI_CONTAINER(node, struct slab, link));
	dofi_lock_fini(&ia->bounces.lock);
}

static int register_slab(struct slab *slab)
{
	uint64_t key, address;

	if (!(slab->ia->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return 0;
	return dofi_mr_register(slab->ia, slab->memory, slab->size,
				DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				&slab->mr, &key, &address);
}

/* Adds a slab; its buffers are idle. */
static int add_slab(struct dofi_ia *ia, unsigned int class)
{
	size_t n = size_of(class) < SLAB ? SLAB / size_of(class) : 1;
	struct slab *slab = calloc(1, sizeof(*slab) + n * sizeof(struct bounce));

	if (!slab)
		return -ENOMEM;
	slab->ia = ia;
	slab->class = class;
	slab->size = n * size_of(class);
	slab->memory =
		mmap(NULL, slab->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slab->memory == MAP_FAILED)
		goto err_free;
	if (register_slab(slab))
		goto err_unmap;
	dofi_list_add_tail(&ia->bounces.slabs, &slab->link);
	for (size_t i = 0; i < n; i++) {
		slab->buffers[i].slab = slab;
		slab->buffers[i].memory = slab->memory + i * size_of(class);
		dofi_list_add_tail(&ia->bounces.idle[class], &slab->buffers[i].link);
	}
	return 0;

err_unmap:
	munmap(slab->memory, slab->size);
err_free:
	free(slab);
	return -ENOMEM;
}

static struct bounce *take(struct dofi_ia *ia, uint64_t length)
{
	struct dofi_bounces *b = &ia->bounces;
	struct dofi_list *node = NULL;
	unsigned int class = 0;

	if (length > size_of(DOFI_BOUNCE_CLASSES - 1))
		return NULL;
	while (size_of(class) < length)
		class ++;
	dofi_lock(&b->lock);
	if (!dofi_list_empty(&b->idle[class]) || !add_slab(ia, class))
		node = dofi_list_pop(&b->idle[class]);
	dofi_unlock(&b->lock);
	return node ? DOFI_CONTAINER(node, struct bounce, link) : NULL;
}

static void give(struct bounce *bounce)
{
	struct slab *slab = bounce->slab;
	struct dofi_bounces *b = &slab->ia->bounces;

	dofi_lock(&b->lock);
	if (slab->size > KEPT)
		free_slab(slab);
	else
		dofi_list_add_tail(&b->idle[slab->class], &bounce->link);
	dofi_unlock(&b->lock);
}

/* Copies between the buffer and the segments, in the direction of the message. */
static void copy(const struct bounce *bounce, uint64_t length)
{
	char *at = bounce->memory;

	for (uint16_t i = 0; i < bounce->niov && length; i++) {
		size_t n =
			bounce->iov[i].iov_len < length ? bounce->iov[i].iov_len : (size_t)length;

		if (bounce->inward)
			memcpy(bounce->iov[i].iov_base, at, n);
		else
			memcpy(at, bounce->iov[i].iov_base, n);
		at += n;
		length -= n;
	}
}

int dofi_bounce_take(struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr)
{
	uint64_t length = dofi_wr_length(wr, wr->niov);
	struct bounce *bounce = take(ia, length);

	if (!bounce)
		return -FI_EAGAIN;
	bounce->niov = wr->niov;
	bounce->inward = dofi_op_is_receive(wr->op);
	memcpy(bounce->iov, wr->iov, wr->niov * sizeof(struct iovec));
	if (!bounce->inward)
		copy(bounce, length);
	wr->iov[0] = (struct iovec){bounce->memory, length};
	dofi_wr_desc(ring, wr)[0] = bounce->slab->mr ? fi_mr_desc(bounce->slab->mr) : NULL;
	wr->niov = 1;
	wr->bounce = bounce;
	wr->split = 1;
	return 0;
}

void dofi_bounce_give(struct dofi_wr *wr, uint64_t length)
{
	struct bounce *bounce = wr->bounce;

	if (bounce->inward)
		copy(bounce, length);
	give(bounce);
	wr->split = 0;
}
