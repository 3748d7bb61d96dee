/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes on a fabric that stores the targets of one write in order: the last word is a target of
 * its own. And which operations carry a fence.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/ep_attr.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/dto/op_context.h"
#include "../../../prov/ofi/dto/rma.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/fabric/select.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/fabric/traits.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <string.h>

#define BASE 4096u /* address of the peer's region; its offset is 0 */
#define DEST 55u
#define KEY  78u

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};
static struct fi_ops_rma rma_ops;
static struct fi_ops_atomic atomic_ops;
static struct fid_ep fep;
static unsigned char memory[64];
static char descs[2];

/* The latest operation. */
static struct {
	unsigned int writes, vectors, messages, injected, reads, read_messages;
	size_t ntargets;
	struct fi_rma_iov targets[2];
	uint64_t flags, data;
	const void *buf, *desc, *context;
	size_t niov;
	fi_addr_t dest;
} seen;

static void note(struct iovec iov, const void *desc, fi_addr_t dest, uint64_t addr, uint64_t key,
		 const void *context)
{
	seen.buf = iov.iov_base;
	seen.desc = desc;
	seen.dest = dest;
	seen.targets[0] = (struct fi_rma_iov){.addr = addr, .len = iov.iov_len, .key = key};
	seen.context = context;
}

static void note_message(const struct fi_msg_rma *msg, uint64_t flags)
{
	note(msg->msg_iov[0], msg->desc[0], msg->addr, 0, 0, msg->context);
	seen.niov = msg->iov_count;
	seen.ntargets = msg->rma_iov_count;
	memcpy(seen.targets, msg->rma_iov, msg->rma_iov_count * sizeof(*msg->rma_iov));
	seen.flags = flags;
	seen.data = msg->data;
}

static ssize_t write_it(struct fid_ep *to, const void *buf, size_t length, void *desc,
			fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	ck_assert_ptr_eq(to, &fep);
	seen.writes++;
	note((struct iovec){(void *)(uintptr_t)buf, length}, desc, dest, addr, key, context);
	return 0;
}

static ssize_t write_message(struct fid_ep *to, const struct fi_msg_rma *msg, uint64_t flags)
{
	ck_assert_ptr_eq(to, &fep);
	seen.messages++;
	note_message(msg, flags);
	return 0;
}

static ssize_t answer_to_inject;

static ssize_t inject_it(struct fid_ep *to, const void *buf, size_t length, fi_addr_t dest,
			 uint64_t addr, uint64_t key)
{
	ck_assert_ptr_eq(to, &fep);
	seen.injected++;
	note((struct iovec){(void *)(uintptr_t)buf, length}, NULL, dest, addr, key, NULL);
	return answer_to_inject;
}

static ssize_t inject_data(struct fid_ep *to, const void *buf, size_t length, uint64_t data,
			   fi_addr_t dest, uint64_t addr, uint64_t key)
{
	seen.data = data;
	return inject_it(to, buf, length, dest, addr, key);
}

static ssize_t write_vector(struct fid_ep *to, const struct iovec *iov, void **desc, size_t n,
			    fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	ck_assert_ptr_eq(to, &fep);
	ck_assert_uint_ge(n, 1);
	seen.vectors++;
	seen.niov = n;
	note(iov[0], desc[0], dest, addr, key, context);
	return 0;
}

static ssize_t answer_to_read;

static ssize_t read_it(struct fid_ep *from, void *buf, size_t length, void *desc, fi_addr_t src,
		       uint64_t addr, uint64_t key, void *context)
{
	ck_assert_ptr_eq(from, &fep);
	seen.reads++;
	note((struct iovec){buf, length}, desc, src, addr, key, context);
	return answer_to_read;
}

static ssize_t read_message(struct fid_ep *from, const struct fi_msg_rma *msg, uint64_t flags)
{
	ck_assert_ptr_eq(from, &fep);
	seen.read_messages++;
	note_message(msg, flags);
	return answer_to_read;
}

static ssize_t read_vector(struct fid_ep *from, const struct iovec *iov, void **desc, size_t n,
			   fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	ck_assert_ptr_eq(from, &fep);
	seen.vectors++;
	seen.niov = n;
	note(iov[0], desc[0], src, addr, key, context);
	return answer_to_read;
}

static ssize_t write_data(struct fid_ep *to, const void *buf, size_t length, void *desc,
			  uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	ck_assert_ptr_eq(to, &fep);
	ck_assert(!buf && !length && !desc);
	seen.writes++;
	seen.data = data;
	note((struct iovec){NULL, 0}, NULL, dest, addr, key, context);
	return 0;
}

/* --- atomic operations --- */

static struct {
	enum fi_op op;
	uint64_t operand, compare;
	void *result;
	struct fi_rma_ioc target;
	const void *context;
	fi_addr_t dest;
} atomic_seen;

static void note_atomic(const struct fi_msg_atomic *msg, const struct fi_ioc *result,
			uint64_t flags)
{
	ck_assert_uint_eq(msg->iov_count, 1);
	ck_assert_uint_eq(msg->rma_iov_count, 1);
	ck_assert_uint_eq(msg->msg_iov->count, 1);
	ck_assert_uint_eq(result->count, 1);
	ck_assert_int_eq(msg->datatype, FI_UINT64);
	ck_assert_uint_eq(flags, FI_COMPLETION);
	ck_assert_ptr_null(msg->desc[0]);
	atomic_seen.context = msg->context;
	atomic_seen.dest = msg->addr;
	atomic_seen.op = msg->op;
	memcpy(&atomic_seen.operand, msg->msg_iov->addr, sizeof(atomic_seen.operand));
	atomic_seen.target = msg->rma_iov[0];
	atomic_seen.result = result->addr;
}

static ssize_t fetch(struct fid_ep *to, const struct fi_msg_atomic *msg, struct fi_ioc *result,
		     void **desc, size_t n, uint64_t flags)
{
	ck_assert_ptr_eq(to, &fep);
	ck_assert_ptr_eq(desc[0], &descs[0]);
	ck_assert_uint_eq(n, 1);
	note_atomic(msg, result, flags);
	return 0;
}

static ssize_t compare(struct fid_ep *to, const struct fi_msg_atomic *msg,
		       const struct fi_ioc *compared, void **compare_desc, size_t ncompared,
		       struct fi_ioc *result, void **desc, size_t n, uint64_t flags)
{
	ck_assert_ptr_eq(to, &fep);
	ck_assert_ptr_null(compare_desc[0]);
	ck_assert_ptr_eq(desc[0], &descs[0]);
	ck_assert_uint_eq(ncompared, 1);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(compared->count, 1);
	note_atomic(msg, result, flags);
	memcpy(&atomic_seen.compare, compared->addr, sizeof(atomic_seen.compare));
	return 0;
}

static void setup(void)
{
	rma_ops = (struct fi_ops_rma){.write = write_it,
				      .writev = write_vector,
				      .writemsg = write_message,
				      .inject = inject_it,
				      .injectdata = inject_data,
				      .writedata = write_data,
				      .read = read_it,
				      .readv = read_vector,
				      .readmsg = read_message};
	fep.rma = &rma_ops;
	atomic_ops = (struct fi_ops_atomic){.readwritemsg = fetch, .compwritemsg = compare};
	fep.atomic = &atomic_ops;
	ia.limits.fabric_iov = 4;
	ia.info = &info;
	ia.order = DOFI_ORDERED;
	ia.names_flags = true;
	ep.obj.ia = &ia;
	ep.fep = &fep;
	ep.dest = DEST;
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.req, 4, 4), 0);
}

static void teardown(void)
{
	dofi_ring_fini(&ep.req);
}

static struct dofi_wr *request(uint64_t offset, size_t length)
{
	struct dofi_wr *wr = dofi_ring_at(&ep.req, 0);

	wr->kind = dofi_wr_plain(DOFI_OP_WRITE, DOFI_WR_ISSUED);
	wr->ep = &ep;
	wr->length = length;
	wr->remote.target = offset;
	wr->remote.address = BASE + offset;
	wr->remote.key = KEY;
	wr->iov[0] = (struct iovec){memory, length};
	dofi_wr_desc(&ep.req, wr)[0] = &descs[0];
	return wr;
}

/* The latest operation is that of the request. An injected one has neither memory nor context. */
static void expect_whole(const struct dofi_wr *wr, struct dofi_wr *context)
{
	ck_assert_ptr_eq(seen.buf, memory);
	ck_assert_ptr_eq(seen.desc, context ? &descs[0] : NULL);
	ck_assert_ptr_eq(seen.context, context);
	ck_assert_uint_eq(seen.dest, DEST);
	ck_assert_uint_eq(seen.targets[0].addr, wr->remote.target);
	ck_assert_uint_eq(seen.targets[0].len, wr->length);
	ck_assert_uint_eq(seen.targets[0].key, KEY);
}

static const struct {
	uint64_t offset;
	size_t length, last; /* the same: the write is one word */
} writes[] = {
	{0, 8, 8},     {4, 4, 4}, {2, 2, 2}, {5, 1, 1},  {0, 24, 8}, {0, 3, 1},
	{1, 3, 4 - 2}, {4, 8, 4}, {1, 8, 1}, {0, 14, 2}, {3, 61, 8},
};

START_TEST(the_last_word_is_a_target_of_its_own)
{
	const uint64_t offset = writes[_i].offset;
	const size_t length = writes[_i].length, last = writes[_i].last;

	ck_assert_int_eq(dofi_rma_write(&ep, request(offset, length)), 0);
	if (last == length) {
		ck_assert_uint_eq(seen.writes, 1);
		ck_assert_uint_eq(seen.messages, 0);
		return;
	}
	ck_assert_uint_eq(seen.messages, 1);
	ck_assert_uint_eq(seen.ntargets, 2);
	ck_assert_uint_eq(seen.targets[0].addr, offset);
	ck_assert_uint_eq(seen.targets[0].len, length - last);
	ck_assert_uint_eq(seen.targets[1].addr, offset + length - last);
	ck_assert_uint_eq(seen.targets[1].len, last);
}
END_TEST

/* On other fabrics a write has one target, because they may allow only one. */
START_TEST(one_target_unless_the_fabric_needs_two)
{
	ia.names_flags = false;
	ck_assert_int_eq(dofi_rma_write(&ep, request(0, 24)), 0);
	ck_assert_uint_eq(seen.writes, 1);
	ck_assert_int_eq(dofi_rma_write_data(&ep, request(0, 24), 7), 0);
	ck_assert_uint_eq(seen.ntargets, 1);
}
END_TEST

START_TEST(writes_with_completion_data_are_divided_too)
{
	ck_assert_int_eq(dofi_rma_write_data(&ep, request(0, 24), 7), 0);
	ck_assert_uint_eq(seen.ntargets, 2);
	ck_assert_uint_eq(seen.data, 7);
	ck_assert(seen.flags & FI_REMOTE_CQ_DATA);
}
END_TEST

START_TEST(completion_data_without_a_segment)
{
	struct dofi_wr *wr = request(8, 0);

	wr->niov = 0;
	ck_assert_int_eq(dofi_rma_write_data(&ep, wr, 9), 0);
	ck_assert_uint_eq(seen.writes, 1);
	ck_assert_uint_eq(seen.messages, 0);
	ck_assert_uint_eq(seen.data, 9);
	ck_assert_uint_eq(seen.targets[0].addr, 8);
	ck_assert_uint_eq(seen.targets[0].key, KEY);
	ck_assert_uint_eq(seen.dest, DEST);
	ck_assert_ptr_eq(seen.context, (char *)wr - ia.context_gap);
}
END_TEST

START_TEST(a_control_record_is_injected)
{
	static const char record[5];

	answer_to_inject = _i ? -FI_EAGAIN : 0;
	ck_assert_int_eq(dofi_rma_ctrl(&ep, record, 5, 0x2000, 66, 1234), answer_to_inject);
	ck_assert_ptr_eq(seen.buf, record);
	ck_assert_uint_eq(seen.data, 1234);
	ck_assert_uint_eq(seen.dest, DEST);
	ck_assert_uint_eq(seen.targets[0].addr, 0x2000);
	ck_assert_uint_eq(seen.targets[0].len, 5);
	ck_assert_uint_eq(seen.targets[0].key, 66);
}
END_TEST

/* Some fabrics use memory in front of the request. */
START_TEST(a_look_at_the_peers_table)
{
	static char entry[16];
	struct dofi_wr *wr = request(0, 8);

	ia.context_gap = _i ? DOFI_CONTEXT_GAP : 0;
	answer_to_read = _i ? -FI_EAGAIN : 0;
	ck_assert_int_eq(dofi_rma_peek(&ep, wr, entry, 16, &descs[1], 48, 55), answer_to_read);
	ck_assert_uint_eq(seen.reads, 1);
	ck_assert_ptr_eq(seen.buf, entry);
	ck_assert_ptr_eq(seen.desc, &descs[1]);
	ck_assert_uint_eq(seen.dest, DEST);
	ck_assert_ptr_eq(seen.context, (char *)wr - ia.context_gap);
	ck_assert_ptr_eq(dofi_context_wr(&ia, (void *)(uintptr_t)seen.context), wr);
	ck_assert_uint_eq(seen.targets[0].addr, 48);
	ck_assert_uint_eq(seen.targets[0].len, 16);
	ck_assert_uint_eq(seen.targets[0].key, 55);
}
END_TEST

START_TEST(atomic_operations_of_the_fabric)
{
	struct dofi_wr *wr = request(8, 8);

	wr->op = _i ? DOFI_OP_CMP_SWAP : DOFI_OP_FETCH_ADD;
	wr->niov = 1;
	wr->atomic.operand = 11;
	wr->atomic.compare = 12;
	ck_assert_int_eq(dofi_rma_atomic(&ep, wr, 0x1000, 77), 0);
	ck_assert_int_eq(atomic_seen.op, _i ? FI_CSWAP : FI_SUM);
	ck_assert_uint_eq(atomic_seen.operand, 11);
	ck_assert_uint_eq(atomic_seen.compare, _i ? 12 : 0);
	ck_assert_uint_eq(atomic_seen.target.addr, 0x1000);
	ck_assert_uint_eq(atomic_seen.target.key, 77);
	ck_assert_uint_eq(atomic_seen.target.count, 1);
	ck_assert_ptr_eq(atomic_seen.result, memory);
	ck_assert_uint_eq(atomic_seen.dest, DEST);
	ck_assert_ptr_eq(atomic_seen.context, wr);
}
END_TEST

/* An injected write has one target, so only a write of one word is injected. */
START_TEST(only_a_single_word_is_injected)
{
	struct dofi_wr *wr;

	ia.inject_max = 64;
	ck_assert_int_eq(dofi_rma_write(&ep, request(0, 8)), 0);
	ck_assert_uint_eq(seen.injected, 1);
	ck_assert_int_eq(dofi_rma_write(&ep, request(0, 24)), 0);
	ck_assert_uint_eq(seen.injected, 1);
	ck_assert_uint_eq(seen.messages, 1);
	wr = request(0, 8);
	ck_assert(dofi_may_inject(&ep, wr));
	wr->niov = 2; /* an injected message is one piece of memory */
	ck_assert(!dofi_may_inject(&ep, wr));
	wr->niov = 0;
	wr->op = DOFI_OP_SEND;
	ck_assert(dofi_may_inject(&ep, wr));
	wr->split = 1; /* the completion gives its buffer back */
	ck_assert(!dofi_may_inject(&ep, wr));
	wr->split = 0;
	wr->op = DOFI_OP_READ;
	ck_assert(!dofi_may_inject(&ep, wr));
}
END_TEST

static const struct {
	DAT_COMPLETION_FLAGS flags;
	enum dofi_order order;
	size_t length;
	uint32_t niov, under_way;
	uint8_t op;
	bool injected;
} short_writes[] = {
	{0, DOFI_ORDERED, 8, 1, 0, DOFI_OP_WRITE, true},
	{0, DOFI_ORDERED, 64, 1, 0, DOFI_OP_WRITE, true},
	{0, DOFI_ORDERED, 65, 1, 0, DOFI_OP_WRITE, false},
	{0, DOFI_ORDERED, 8, 1, 1, DOFI_OP_WRITE, false}, /* the copy may wait behind another */
	{DAT_COMPLETION_SUPPRESS_FLAG, DOFI_ORDERED, 8, 1, 0, DOFI_OP_WRITE, true},
	{DAT_COMPLETION_SUPPRESS_FLAG, DOFI_ORDERED, 65, 1, 0, DOFI_OP_WRITE, false},
	{DAT_COMPLETION_SUPPRESS_FLAG, DOFI_ORDERED, 8, 1, 1, DOFI_OP_WRITE, false},
	{0, DOFI_ORDERED, 8, 2, 0, DOFI_OP_WRITE, false},
	{0, DOFI_ORDERED, 8, 1, 0, DOFI_OP_PART, false}, /* its completion is needed */
	{0, DOFI_FENCE, 8, 1, 0, DOFI_OP_WRITE, false},
};

/* What is injected is complete at once. */
START_TEST(which_writes_are_injected)
{
	struct dofi_wr *wr = request(16, short_writes[_i].length);

	ia.names_flags = false;
	ia.inject_max = 64;
	ia.order = short_writes[_i].order;
	wr->op = short_writes[_i].op;
	wr->flags = (uint8_t)short_writes[_i].flags;
	wr->niov = (uint16_t)short_writes[_i].niov;
	ep.req.issue = ep.req.tail = short_writes[_i].under_way;
	ck_assert_int_eq(dofi_rma_write(&ep, wr), 0);
	ck_assert_uint_eq(seen.injected, short_writes[_i].injected);
	ck_assert_uint_eq(seen.injected + seen.writes + seen.vectors, 1);
	ck_assert_int_eq(wr->state, short_writes[_i].injected ? DOFI_WR_DONE : DOFI_WR_ISSUED);
	expect_whole(wr, seen.injected ? NULL : wr);
}
END_TEST

/* The fabric had no room: the request waits, and is not complete. */
START_TEST(a_write_that_was_not_injected_is_not_complete)
{
	struct dofi_wr *wr = request(0, 8);

	ia.inject_max = 64;
	ia.names_flags = false;
	wr->flags = _i ? DAT_COMPLETION_SUPPRESS_FLAG : 0;
	answer_to_inject = -FI_EAGAIN;
	ck_assert_int_eq(dofi_rma_write(&ep, wr), -FI_EAGAIN);
	ck_assert_uint_eq(seen.injected, 1);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
}
END_TEST

/* --- fences --- */

static struct dofi_wr *read_request(DAT_COMPLETION_FLAGS flags)
{
	struct dofi_wr *wr = request(8, 24);

	wr->kind = dofi_wr_plain(DOFI_OP_READ, DOFI_WR_ISSUED);
	wr->flags = (uint8_t)flags;
	return wr;
}

static void expect_fenced_read(uint64_t address, size_t length)
{
	ck_assert_uint_eq(seen.reads, 0);
	ck_assert_uint_eq(seen.read_messages, 1);
	ck_assert(seen.flags & FI_FENCE);
	ck_assert(seen.flags & FI_COMPLETION);
	ck_assert_uint_eq(seen.ntargets, 1);
	ck_assert_uint_eq(seen.targets[0].addr, address);
	ck_assert_uint_eq(seen.targets[0].len, length);
}

START_TEST(a_read_behind_a_write_is_fenced)
{
	ep.unfenced = true;
	ck_assert_int_eq(dofi_rma_read(&ep, read_request(0)), 0);
	expect_fenced_read(8, 24);
	ck_assert_int_eq(dofi_rma_read(&ep, read_request(0)), 0);
	ck_assert_uint_eq(seen.reads, 1); /* one fence is enough */
	ck_assert_uint_eq(seen.read_messages, 1);
}
END_TEST

/* The fabric did not take it, so the next operation has to bring the fence. */
START_TEST(a_fence_that_was_not_taken_is_still_due)
{
	ep.unfenced = true;
	answer_to_read = -FI_EAGAIN;
	ck_assert_int_eq(dofi_rma_read(&ep, read_request(0)), -FI_EAGAIN);
	answer_to_read = 0;
	ck_assert_int_eq(dofi_rma_read(&ep, read_request(0)), 0);
	ck_assert_uint_eq(seen.read_messages, 2);
	ck_assert(seen.flags & FI_FENCE);
}
END_TEST

START_TEST(a_look_at_the_peers_table_behind_a_write_is_fenced)
{
	ep.unfenced = true;
	ck_assert_int_eq(dofi_rma_peek(&ep, request(0, 8), memory, 16, NULL, 48, 0), 0);
	expect_fenced_read(48, 16);
	ck_assert_int_eq(dofi_rma_peek(&ep, request(0, 8), memory, 16, NULL, 48, 0), 0);
	ck_assert_uint_eq(seen.reads, 1);
}
END_TEST

/* A device that fences does what the barrier flag asks for; without earlier reads there is none. */
START_TEST(the_barrier_flag_is_a_fence_behind_reads)
{
	ep.reads = 1;
	ck_assert_int_eq(dofi_rma_read(&ep, read_request(DAT_COMPLETION_BARRIER_FENCE_FLAG)), 0);
	expect_fenced_read(8, 24);
	ck_assert_int_eq(dofi_rma_read(&ep, read_request(0)), 0);
	ck_assert_uint_eq(seen.reads, 1);
	ep.reads = 0;
	ck_assert_int_eq(dofi_rma_read(&ep, read_request(DAT_COMPLETION_BARRIER_FENCE_FLAG)), 0);
	ck_assert_uint_eq(seen.reads, 2);
	ck_assert_uint_eq(seen.read_messages, 1);
}
END_TEST

START_TEST(a_write_with_the_barrier_flag_is_fenced)
{
	struct dofi_wr *wr = request(0, 8);

	ia.inject_max = 64;
	ep.reads = 1;
	wr->flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	ck_assert_int_eq(dofi_rma_write(&ep, wr), 0);
	ck_assert_uint_eq(seen.messages, 1);
	ck_assert_uint_eq(seen.injected, 0);
	ck_assert(seen.flags & FI_FENCE);
}
END_TEST

/* Without order and fences a later Send waits for the completion, so that has to mean delivery. */
START_TEST(a_write_that_others_wait_for_is_complete_when_delivered)
{
	ia.order = DOFI_HOLD;
	ia.inject_max = 64;
	ck_assert_int_eq(dofi_rma_write(&ep, request(0, 8)), 0);
	ck_assert_uint_eq(seen.messages, 1);
	ck_assert_uint_eq(seen.injected, 0);
	ck_assert_uint_eq(seen.flags, FI_DELIVERY_COMPLETE | FI_COMPLETION);
	ck_assert_uint_eq(seen.data, 0);
	expect_whole(dofi_ring_at(&ep.req, 0), dofi_ring_at(&ep.req, 0));
}
END_TEST

/* The whole request goes to the fabric, with the descriptors of its memory. */
START_TEST(a_read_is_given_as_it_is)
{
	struct dofi_wr *wr = read_request(0);

	ck_assert_int_eq(dofi_rma_read(&ep, wr), 0);
	ck_assert_uint_eq(seen.reads, 1);
	expect_whole(wr, wr);
	wr->niov = 2;
	wr->iov[0].iov_len = 24;
	ck_assert_int_eq(dofi_rma_read(&ep, wr), 0);
	ck_assert_uint_eq(seen.vectors, 1);
	ck_assert_uint_eq(seen.niov, 2);
	expect_whole(wr, wr);
}
END_TEST

START_TEST(a_fenced_read_has_the_length_of_its_segments)
{
	struct dofi_wr *wr = read_request(0);

	wr->niov = 3;
	wr->iov[0].iov_len = 4;
	wr->iov[1] = (struct iovec){&memory[32], 8};
	wr->iov[2] = (struct iovec){&memory[40], 12};
	ep.unfenced = true;
	ck_assert_int_eq(dofi_rma_read(&ep, wr), 0);
	ck_assert_uint_eq(seen.niov, 3);
	expect_fenced_read(8, 24);
	expect_whole(wr, wr);
}
END_TEST

/* The flag of a write on fabrics that keep no order by themselves, too. */
START_TEST(a_divided_write_is_one_message)
{
	struct dofi_wr *wr = request(0, 24);

	ia.order = _i ? DOFI_FENCE : DOFI_ORDERED;
	ck_assert_int_eq(dofi_rma_write(&ep, wr), 0);
	ck_assert_uint_eq(seen.messages, 1);
	ck_assert_uint_eq(seen.ntargets, 2);
	ck_assert_uint_eq(seen.flags, FI_COMPLETION);
	ck_assert_uint_eq(seen.data, 0);
	ck_assert_uint_eq(seen.dest, DEST);
	ck_assert_ptr_eq(seen.context, wr);
	for (int i = 0; i < 2; i++)
		ck_assert_uint_eq(seen.targets[i].key, KEY);
}
END_TEST

START_TEST(a_write_with_the_barrier_flag_has_no_data)
{
	struct dofi_wr *wr = request(0, 8);

	ia.names_flags = false;
	ep.reads = 1;
	wr->flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	ck_assert_int_eq(dofi_rma_write(&ep, wr), 0);
	ck_assert_uint_eq(seen.flags, FI_FENCE | FI_COMPLETION);
	ck_assert_uint_eq(seen.data, 0);
	expect_whole(wr, wr);
}
END_TEST

static void add_fences(Suite *suite)
{
	TCase *tc = tcase_create("fences");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_read_behind_a_write_is_fenced);
	tcase_add_test(tc, a_fence_that_was_not_taken_is_still_due);
	tcase_add_test(tc, a_look_at_the_peers_table_behind_a_write_is_fenced);
	tcase_add_test(tc, the_barrier_flag_is_a_fence_behind_reads);
	tcase_add_test(tc, a_write_with_the_barrier_flag_is_fenced);
	tcase_add_test(tc, a_write_that_others_wait_for_is_complete_when_delivered);
	tcase_add_test(tc, a_read_is_given_as_it_is);
	tcase_add_test(tc, a_fenced_read_has_the_length_of_its_segments);
	tcase_add_loop_test(tc, a_divided_write_is_one_message, 0, 2);
	tcase_add_test(tc, a_write_with_the_barrier_flag_has_no_data);
	suite_add_tcase(suite, tc);
}

int main(void)
{
	Suite *suite = suite_create("rma");
	TCase *tc = tcase_create("rma");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, the_last_word_is_a_target_of_its_own, 0,
			    sizeof(writes) / sizeof(writes[0]));
	tcase_add_test(tc, one_target_unless_the_fabric_needs_two);
	tcase_add_test(tc, writes_with_completion_data_are_divided_too);
	tcase_add_test(tc, only_a_single_word_is_injected);
	tcase_add_loop_test(tc, which_writes_are_injected, 0,
			    sizeof(short_writes) / sizeof(short_writes[0]));
	tcase_add_test(tc, completion_data_without_a_segment);
	tcase_add_loop_test(tc, atomic_operations_of_the_fabric, 0, 2);
	tcase_add_loop_test(tc, a_control_record_is_injected, 0, 2);
	tcase_add_loop_test(tc, a_look_at_the_peers_table, 0, 2);
	tcase_add_loop_test(tc, a_write_that_was_not_injected_is_not_complete, 0, 2);
	suite_add_tcase(suite, tc);
	add_fences(suite);
	return t_run(suite);
}
