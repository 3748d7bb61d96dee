/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/parts.h"

#include "base/last_word.h"
#include "dto/control.h"
#include "dto/issue.h"
#include "dto/ring.h"
#include "fabric/traits.h"
#include "object/ia.h"
#include "object/transport.h"

#include <rdma/fi_errno.h>
#include <string.h>

#define PARTS 64

int dofi_parts_init(const struct dofi_ia *ia, struct dofi_ring *parts, const struct dofi_ring *req)
{
	*parts = (struct dofi_ring){0};
	if (req->max_iov <= req->fabric_iov && !ia->splits_writes)
		return 0;
	return dofi_ring_init(ia, parts, PARTS, req->max_iov);
}

/*
 * The size of the flag: an aligned word of up to 8 bytes at the end of a write. Devices store such
 * a word by one transaction and processors by one instruction; memcpy stores other lengths by
 * several instructions that overlap. So a program that polls a flag of 1, 2, 4 or 8 bytes there
 * never sees a part of it. If both the fabric and DAT address the region from 0, the region is
 * assumed to begin at an aligned address.
 */
uint64_t dofi_write_flag_size(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	bool is_virtual = ep->obj.ia->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;

	return dofi_last_word((is_virtual ? wr->remote.target : wr->remote.address) + wr->length,
			      wr->length);
}

/*
 * Whether the last bytes of the request are a part of their own: the request is longer than the
 * flag, or has several segments.
 */
static bool has_flag(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return ep->obj.ia->splits_writes && !ep->streams && dofi_op_is_write(wr->op) &&
	       wr->length && (wr->length > dofi_write_flag_size(ep, wr) || wr->niov > 1);
}

bool dofi_parts_needed(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	return dofi_op_is_rdma(wr->op) &&
	       (wr->nlast || wr->niov > ep->req.fabric_iov || has_flag(ep, wr));
}

/* Divides a segment into two; the ring has room for one more. */
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
 * Gives the flag a segment of its own. The flag is made smaller if it would come from several
 * segments, because efa makes an RDMA operation of each segment.
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

static bool overtake(const struct dofi_ep *ep)
{
	return ep->obj.ia->writes_overtake && !ep->streams;
}

/* Chooses the last part. Once the first one is issued, the choice is the same. */
static void choose_last(const struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint16_t rest = wr->niov % ep->req.fabric_iov;

	if (wr->nlast || wr->op == DOFI_OP_READ)
		return;
	if (has_flag(ep, wr))
		cut_flag(ep, wr);
	else if (overtake(ep))
		wr->nlast = (uint8_t)(rest ? rest : ep->req.fabric_iov);
}

static uint16_t segments_of_next(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	uint16_t left = (uint16_t)(wr->niov - wr->rdma.given);

	if (left > wr->nlast)
		left = (uint16_t)(left - wr->nlast);
	return left < ep->req.fabric_iov ? left : ep->req.fabric_iov;
}

/* Fills the next part of the request at this index in the ring. */
static void fill(struct dofi_ep *ep, struct dofi_wr *wr, uint32_t index, struct dofi_wr *part)
{
	uint64_t before = dofi_wr_length(wr, wr->rdma.given);
	uint16_t niov = segments_of_next(ep, wr);

	part->ep = ep;
	part->kind = ((struct dofi_wr){.op = DOFI_OP_PART,
				       .state = DOFI_WR_ISSUED,
				       .flags = wr->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				       .niov = niov})
			     .kind;
	part->part.request = index;
	part->part.severed = false;
	memcpy(part->iov, &wr->iov[wr->rdma.given], niov * sizeof(struct iovec));
	memcpy(dofi_wr_desc(&ep->parts, part), &dofi_wr_desc(&ep->req, wr)[wr->rdma.given],
	       niov * sizeof(void *));
	part->length = dofi_wr_length(part, niov);
	part->part.remote = wr->rdma.remote;
	part->part.remote.address += before;
	part->part.remote.target += before;
}

static ssize_t post(struct dofi_ep *ep, const struct dofi_wr *wr, struct dofi_wr *part,
		    uint64_t data)
{
	const struct dofi_trans_ops *trans = ep->trans;
	bool last = wr->rdma.given + part->niov == wr->niov;

	if (wr->op == DOFI_OP_READ)
		return trans->read(ep, part);
	if (wr->op != DOFI_OP_WRITE_IMM || !last || ep->ctrl_msgs)
		return trans->write(ep, part);
	if (dofi_op_is_native(ep, wr->op))
		return trans->write_immediate(ep, part, (uint32_t)data);
	return trans->write_data(ep, part, data);
}

static void count(struct dofi_ep *ep, struct dofi_wr *wr, const struct dofi_wr *part)
{
	if (!wr->rdma.given) {
		ep->reads += wr->op == DOFI_OP_READ;
		ep->writes += wr->op == DOFI_OP_WRITE;
	}
	if (wr->op != DOFI_OP_READ)
		ep->unfenced = ep->obj.ia->order == DOFI_FENCE && !ep->streams;
	wr->rdma.given = (uint8_t)(wr->rdma.given + part->niov);
	wr->split++;
	ep->parts.tail++;
	ep->dirty = true;
}

/* Starts the next part. 0; 1: there is no room for it; or the error of the post. */
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

/* Whether only the last part is left and would overtake the parts under way. */
static bool last_waits(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return wr->split && wr->rdma.given + wr->nlast == wr->niov && overtake(ep);
}

ssize_t dofi_parts_start(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data)
{
	dofi_assert_held(&ep->lock);
	choose_last(ep, wr);
	while (wr->rdma.given < wr->niov) {
		ssize_t ret;

		/*
		 * With DOFI_HOLD, requests that could overtake this write wait until it is
		 * complete. So the request counts as issued, and its last part follows later.
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

/* A part has failed, and so has the request: detaches the parts that the fabric still has. */
static void sever(struct dofi_ep *ep, struct dofi_wr *wr)
{
	for (uint32_t i = ep->parts.head; i != ep->parts.tail; i++) {
		struct dofi_wr *part = dofi_ring_at(&ep->parts, i);

		/* also finds parts that are severed or complete, for which it means nothing */
		if (dofi_ring_at(&ep->req, part->part.request) == wr)
			part->part.severed = true;
	}
	wr->split = 0;
}

/* Whether the request counts as issued, its other parts are complete, and its last part is due. */
static bool owes_last(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return wr->op == DOFI_OP_WRITE && wr->state == DOFI_WR_ISSUED && wr->rdma.given &&
	       wr->rdma.given < wr->niov && !wr->split && ep->path_up && !ep->faulty;
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
	struct dofi_wr *wr = dofi_ring_at(&ep->req, part->part.request);
	uint32_t index = part->part.request;

	dofi_assert_held(&ep->lock);
	part->state = DOFI_WR_DONE;
	release(&ep->parts);
	if (part->part.severed)
		return NULL;
	wr->split--;
	if (err) {
		sever(ep, wr);
		if (index == ep->req.issue)
			ep->req.issue++;
		return wr;
	}
	if (ep->owing)
		dofi_parts_pay(ep); /* in posting order; this request may be among them */
	else if (owes_last(ep, wr))
		start_last(ep, wr, index);
	return wr->split || wr->rdma.given < wr->niov ? NULL : wr;
}
