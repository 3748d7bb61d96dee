/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/segments.h"

#include "object/ia.h"
#include "dto/issue.h"
#include "base/log.h"
#include "object/mem.h"
#include "object/transport.h"
#include "dto/control.h"
#include "dto/guard_byte.h"
#include "fabric/select.h"
#include "object/ep.h"
#include "dto/ring.h"
#include "fabric/traits.h"
#include "object/mr.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- bounce buffers --- */

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
	struct fid_mr *mr; /* where the fabric must know local memory, too */
	struct bounce buffers[];
};

static size_t size_of(unsigned int class)
{
	return (size_t)SMALLEST << class;
}

int dofi_bounces_init(struct dofi_ia *ia)
{
	struct dofi_bounces *b = &ia->bounces;

	dofi_lock_init(&b->lock);
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

/* Its buffers are idle. */
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

/* Between the buffer and the segments, front to back. */
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

static uint64_t length_of(const struct dofi_wr *wr, uint16_t niov)
{
	uint64_t length = 0;

	for (uint16_t i = 0; i < niov; i++)
		length += wr->iov[i].iov_len;
	return length;
}

int dofi_bounce_take(struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr)
{
	uint64_t length = length_of(wr, wr->niov);
	struct bounce *bounce = take(ia, length);

	if (!bounce)
		return -FI_EAGAIN;
	bounce->niov = wr->niov;
	bounce->inward = wr->op == DOFI_OP_RECV || wr->op == DOFI_OP_SRQ_RECV;
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

/* The guard comes last, so whoever has it is ready. */
int dofi_receive_prepare(struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr)
{
	int ret = 0;

	if (dofi_guard_is_set(ia, wr))
		return 0;
	if (wr->niov > ring->fabric_iov)
		ret = dofi_bounce_take(ia, ring, wr);
	if (!ret)
		dofi_guard_set(ia, ring, wr);
	return ret;
}

void dofi_bounce_give(struct dofi_wr *wr, uint64_t length)
{
	struct bounce *bounce = wr->bounce;

	if (bounce->inward)
		copy(bounce, length);
	give(bounce);
	wr->split = 0;
}

/* --- parts --- */

#define PARTS        64
#define SEVERED      UINT32_MAX
#define LARGEST_FLAG 8u

int dofi_parts_init(const struct dofi_ia *ia, struct dofi_ring *parts, const struct dofi_ring *req)
{
	*parts = (struct dofi_ring){0};
	if (req->max_iov <= req->fabric_iov && !ia->splits_writes)
		return 0;
	return dofi_ring_init(ia, parts, PARTS, req->max_iov);
}

/*
 * Bytes at the end of a write that are stored at once: an aligned word of up to 8 bytes. Devices
 * store such a word by one transaction, processors by one instruction, while memcpy stores other
 * lengths by several that overlap. A flag that a program polls there, of 1, 2, 4 or 8 bytes, is
 * whole then. Where the fabric counts from the start of a region, and DAT does as well, the region
 * is taken to begin on a boundary.
 */
uint64_t dofi_write_flag_size(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	bool is_virtual = ep->obj.ia->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
	uint64_t end = (is_virtual ? wr->faddr : wr->raddr) + wr->length, size = LARGEST_FLAG;

	while (size > wr->length || end % size)
		size /= 2;
	return size;
}

/*
 * The request's last bytes go apart: it is more than such a word, or has it from several segments.
 */
static bool has_flag(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return ep->obj.ia->splits_writes &&
	       (wr->op == DOFI_OP_WRITE || wr->op == DOFI_OP_WRITE_IMM) && wr->length &&
	       (wr->length > dofi_write_flag_size(ep, wr) || wr->niov > 1);
}

bool dofi_parts_needed(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	return dofi_op_is_rdma(wr->op) &&
	       (wr->nlast || wr->niov > ep->req.fabric_iov || has_flag(ep, wr));
}

/* The segment becomes two; the ring has room for one more. */
static void cut_segment(struct dofi_wr *wr, void **desc, uint16_t at, size_t length)
{
	struct iovec *iov = &wr->iov[at];

	memmove(iov + 1, iov, (size_t)(wr->niov - at) * sizeof(*iov));
	memmove(desc + at + 1, desc + at, (size_t)(wr->niov - at) * sizeof(*desc));
	iov[0].iov_len = length;
	iov[1].iov_base = (char *)iov[1].iov_base + length;
	iov[1].iov_len -= length;
	wr->niov++;
}

/*
 * The flag has a segment of its own. It is smaller where it comes from several: efa makes an RDMA
 * of each segment.
 */
static void cut_flag(const struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint16_t at = (uint16_t)(wr->niov - 1);
	uint64_t size = dofi_write_flag_size(ep, wr), length = wr->iov[at].iov_len;

	while (size > length)
		size /= 2;
	if (size < length)
		cut_segment(wr, dofi_wr_desc(&ep->req, wr), at, length - size);
	wr->nlast = 1;
}

/* What goes last, decided before anything goes. */
static void choose_last(const struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint16_t rest = wr->niov % ep->req.fabric_iov;

	if (wr->nlast || wr->given || wr->op == DOFI_OP_READ)
		return;
	if (has_flag(ep, wr))
		cut_flag(ep, wr);
	else if (ep->obj.ia->writes_overtake)
		wr->nlast = (uint8_t)(rest ? rest : ep->req.fabric_iov);
}

static uint16_t segments_of_next(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	uint16_t left = (uint16_t)(wr->niov - wr->given);

	if (left > wr->nlast)
		left = (uint16_t)(left - wr->nlast);
	return left < ep->req.fabric_iov ? left : ep->req.fabric_iov;
}

/* What comes next of the request, which is known by its place in the ring. */
static void fill(struct dofi_ep *ep, struct dofi_wr *wr, uint32_t index, struct dofi_wr *part)
{
	uint16_t niov = segments_of_next(ep, wr);

	part->ep = ep;
	part->kind =
		((struct dofi_wr){.op = DOFI_OP_PART, .state = DOFI_WR_ISSUED, .niov = niov}).kind;
	part->rctx = index;
	memcpy(part->iov, &wr->iov[wr->given], niov * sizeof(struct iovec));
	memcpy(dofi_wr_desc(&ep->parts, part), &dofi_wr_desc(&ep->req, wr)[wr->given],
	       niov * sizeof(void *));
	part->length = length_of(part, niov);
	part->faddr = wr->faddr + length_of(wr, wr->given);
	part->rkey = wr->rkey;
}

static ssize_t post(struct dofi_ep *ep, const struct dofi_wr *wr, struct dofi_wr *part,
		    uint64_t data)
{
	const struct dofi_trans_ops *trans = ep->obj.ia->trans;
	bool last = wr->given + part->niov == wr->niov;

	if (wr->op == DOFI_OP_READ)
		return trans->read(ep, part);
	if (wr->op != DOFI_OP_WRITE_IMM || !last || ep->ctrl_msgs)
		return trans->write(ep, part);
	if (dofi_op_is_native(ep->obj.ia, wr->op))
		return trans->write_immediate(ep, part, (uint32_t)data);
	return trans->write_data(ep, part, data);
}

static void count(struct dofi_ep *ep, struct dofi_wr *wr, const struct dofi_wr *part)
{
	if (!wr->given) {
		ep->reads += wr->op == DOFI_OP_READ;
		ep->writes += wr->op == DOFI_OP_WRITE;
	}
	if (wr->op != DOFI_OP_READ)
		ep->unfenced = ep->obj.ia->order == DOFI_FENCE;
	wr->given = (uint8_t)(wr->given + part->niov);
	wr->split++;
	ep->parts.tail++;
	ep->dirty = true;
}

/* 0; 1: there is no room for it; or a post's error. */
static ssize_t start_next(struct dofi_ep *ep, struct dofi_wr *wr, uint32_t index, uint64_t data)
{
	struct dofi_wr *part = dofi_ring_at(&ep->parts, ep->parts.tail);
	ssize_t ret;

	if (dofi_ring_count(&ep->parts) == ep->parts.limit)
		return 1;
	fill(ep, wr, index, part);
	ret = post(ep, wr, part, data);
	if (!ret)
		count(ep, wr, part);
	return ret;
}

/* Only the last part is left, and would overtake those that are under way. */
static bool last_waits(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return wr->split && wr->nlast && wr->given + wr->nlast == wr->niov &&
	       ep->obj.ia->writes_overtake;
}

ssize_t dofi_parts_start(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data)
{
	dofi_assert_held(&ep->lock);
	choose_last(ep, wr);
	while (wr->given < wr->niov) {
		ssize_t ret;

		/*
		 * What may overtake this write waits for all of it, so the others need not wait for
		 * its last part.
		 */
		if (last_waits(ep, wr))
			return wr->op == DOFI_OP_WRITE && ep->obj.ia->order == DOFI_HOLD ? 0 : 1;
		ret = start_next(ep, wr, ep->req.issue, data);
		if (ret)
			return ret;
	}
	return 0;
}

static void release(struct dofi_ring *parts)
{
	while (parts->head != parts->tail &&
	       dofi_ring_at(parts, parts->head)->state == DOFI_WR_DONE)
		parts->head++;
}

void dofi_parts_sever(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	for (uint32_t i = ep->parts.head; wr->split && i != ep->parts.tail; i++) {
		struct dofi_wr *part = dofi_ring_at(&ep->parts, i);

		if (part->rctx != SEVERED && dofi_ring_at(&ep->req, part->rctx) == wr)
			part->rctx = SEVERED;
	}
	wr->split = 0;
}

/*
 * The request counts as given to the fabric, but its last part waited for the others, which are
 * complete.
 */
static bool owes_last(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return wr->op == DOFI_OP_WRITE && wr->state == DOFI_WR_ISSUED && wr->given &&
	       wr->given < wr->niov && !wr->split && ep->path_up && !ep->faulty;
}

static bool start_last(struct dofi_ep *ep, struct dofi_wr *wr, uint32_t index)
{
	ssize_t ret = start_next(ep, wr, index, 0);

	ep->owing |= ret != 0;
	if (ret < 0)
		dofi_issue_put_off(ep, ret);
	return !ret;
}

void dofi_parts_pay(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	ep->owing = false;
	for (uint32_t i = ep->req.head; i != ep->req.issue; i++) {
		struct dofi_wr *wr = dofi_ring_at(&ep->req, i);

		if (owes_last(ep, wr) && !start_last(ep, wr, i))
			return;
	}
}

struct dofi_wr *dofi_parts_done(struct dofi_ep *ep, struct dofi_wr *part, int err)
{
	struct dofi_wr *wr = dofi_ring_at(&ep->req, part->rctx);
	uint32_t index = part->rctx;

	dofi_assert_held(&ep->lock);
	part->state = DOFI_WR_DONE;
	part->rctx = SEVERED;
	release(&ep->parts);
	if (index == SEVERED)
		return NULL;
	wr->split--;
	if (err) {
		dofi_parts_sever(ep, wr);
		if (index == ep->req.issue)
			ep->req.issue++;
		return wr;
	}
	if (ep->owing)
		dofi_parts_pay(ep); /* in their order; this one may be among them */
	else if (owes_last(ep, wr))
		start_last(ep, wr, index);
	return wr->split || wr->given < wr->niov ? NULL : wr;
}
