/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A request of an EP, and the latest call of the fabric that its post made. For tests of what a
 * transport passes to the fabric. Include it last: its variables have names that headers use.
 */
#ifndef T_NOTED_CALL_H
#define T_NOTED_CALL_H

#include "unit.h"

#include "dto/ring.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/srq_count.h"

#include <rdma/fabric.h>

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_srq srq;
static struct dofi_wr *wr;
static struct fi_domain_attr domain_attr = {.cq_data_size = 8};
static struct fi_info info = {.domain_attr = &domain_attr};
static char memory[64];
static int descs[2];

/* Of a call with a vector of segments, buf and desc are the vectors. */
struct call {
	const char *name;
	const struct fid_ep *fep;
	uint64_t flags, data, dest, tag, ignore, address, key;
	const void *buf;
	size_t size, n; /* n: segments */
	const void *desc, *context;
};

static struct call last;
static ssize_t answer;
static unsigned int calls;

static ssize_t note(const struct call *call)
{
	last = *call;
	calls++;
	return answer;
}

/* Each member that the caller does not name has to be 0. */
static void expect(const struct call *wanted)
{
	ck_assert_str_eq(last.name, wanted->name);
	ck_assert_ptr_eq(last.fep, wanted->fep);
	ck_assert_ptr_eq(last.buf, wanted->buf);
	ck_assert_uint_eq(last.size, wanted->size);
	ck_assert_uint_eq(last.n, wanted->n);
	ck_assert_ptr_eq(last.desc, wanted->desc);
	ck_assert_uint_eq(last.dest, wanted->dest);
	ck_assert_uint_eq(last.tag, wanted->tag);
	ck_assert_uint_eq(last.ignore, wanted->ignore);
	ck_assert_ptr_eq(last.context, wanted->context);
	ck_assert_uint_eq(last.flags, wanted->flags);
	ck_assert_uint_eq(last.data, wanted->data);
	ck_assert_uint_eq(last.address, wanted->address);
	ck_assert_uint_eq(last.key, wanted->key);
}

#define EXPECT(...) expect(&(struct call){__VA_ARGS__})

/* The request has n segments of `length` bytes together. */
static void fill(struct dofi_ring *ring, uint16_t n, size_t length)
{
	wr = dofi_ring_at(ring, 0);
	wr->kind = 0;
	wr->op = ring == &ep.req ? DOFI_OP_SEND : DOFI_OP_RECV;
	wr->state = DOFI_WR_ISSUED;
	wr->niov = n;
	wr->length = length;
	for (uint16_t i = 0; i < n; i++) {
		size_t part = length / n;

		wr->iov[i] = (struct iovec){memory + i * part, part};
		dofi_wr_desc(ring, wr)[i] = &descs[i];
	}
}

/* Gives the EP and the SRQ their rings, and takes the locks that a post holds. */
static void begin_posts(struct fid_ep *fep)
{
	ia.info = &info;
	ia.limits.fabric_iov = 4;
	ia.inject_max = 16;
	dofi_lock_init_level(&ia.engine.lock, DOFI_LEVEL_ENGINE);
	dofi_lock_init_level(&ep.lock, DOFI_LEVEL_EP);
	dofi_lock_init_level(&srq.lock, DOFI_LEVEL_SRQ);
	ep.obj.ia = srq.obj.ia = &ia;
	ep.fep = fep;
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.req, 1, 4), 0);
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.recv, 1, 4), 0);
	ck_assert_int_eq(dofi_ring_init(&ia, &srq.shape, 1, 4), 0);
	dofi_lock(&ia.engine.lock);
	dofi_lock(&ep.lock);
	dofi_lock(&srq.lock);
}

static void end_posts(void)
{
	dofi_unlock(&srq.lock);
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
	dofi_ring_fini(&srq.shape);
	dofi_ring_fini(&ep.recv);
	dofi_ring_fini(&ep.req);
}

#endif
