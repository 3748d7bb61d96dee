/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RDMA writes that are several operations: the division into parts, when each part is issued, and
 * how the request ends. The fabric of this test delivers operations in the order that the test
 * chooses.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/bounce.h"
#include "../../../prov/ofi/dto/control_message.h"
#include "../../../prov/ofi/dto/ep_attr.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/dto/parts.h"
#include "../../../prov/ofi/fabric/select.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/cm/upcalls.h"
#include "../../../prov/ofi/fabric/traits.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/dto/reap.h"
#include "../../../prov/ofi/dto/release.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <string.h>

#define REQUESTS 128u
#define PARTS    64u
#define MEMORY   4096u
#define NIOV     4u

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_evd evd;
static struct dofi_event events[REQUESTS];
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};
static _Alignas(64) unsigned char local[MEMORY], remote[MEMORY];
static void *const descs[NIOV] = {&local[0], &local[1], &local[2], &local[3]};

/* The operations that the fabric got, in order. */
static struct op {
	struct dofi_wr *context;
	bool is_write;
	char way; /* 'r': read, 'd': write with data, 'i': with immediate data; else 0 */
	uint64_t data;
	uint64_t to, length;
	uint64_t address; /* the address in DAT */
	uint16_t niov;
	unsigned char bytes[MEMORY];
	bool is_over;
} ops[4 * REQUESTS];
static unsigned int nops;
static uint8_t flags; /* of the requests that are posted */
static int refusals;  /* number of posts that get -FI_EAGAIN */
static int room = -1; /* number of posts before there is no room; negative: no limit */

static ssize_t take(struct dofi_wr *wr, bool is_write)
{
	struct op *op = &ops[nops];

	if (refusals || !room) {
		refusals -= refusals > 0;
		return -FI_EAGAIN;
	}
	room -= room > 0;
	*op = (struct op){.context = wr,
			  .way = op->way,
			  .is_write = is_write,
			  .to = wr->remote.target,
			  .address = wr->remote.address,
			  .niov = wr->niov};
	for (uint16_t i = 0; i < wr->niov; i++) {
		memcpy(op->bytes + op->length, wr->iov[i].iov_base, wr->iov[i].iov_len);
		op->length += wr->iov[i].iov_len;
	}
	ck_assert_uint_eq(op->length, wr->length);
	nops++;
	return 0;
}

static ssize_t take_write(struct dofi_ep *from, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(from, &ep);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	ck_assert_uint_le(wr->niov, ia.limits.fabric_iov);
	return take(wr, true);
}

static ssize_t take_send(struct dofi_ep *from, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(from, &ep);
	return take(wr, false);
}

static ssize_t take_read(struct dofi_ep *from, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(from, &ep);
	ck_assert_uint_le(wr->niov, ia.limits.fabric_iov);
	ops[nops].way = 'r';
	return take(wr, false);
}

static ssize_t take_write_data(struct dofi_ep *from, struct dofi_wr *wr, uint64_t data)
{
	ssize_t ret = take_write(from, wr);

	ops[nops - !ret].way = 'd';
	ops[nops - !ret].data = data;
	return ret;
}

static ssize_t take_immediate(struct dofi_ep *from, struct dofi_wr *wr, uint32_t data)
{
	ssize_t ret = take_write(from, wr);

	ops[nops - !ret].way = 'i';
	ops[nops - !ret].data = data;
	return ret;
}

/* Control records, control messages and empty messages. */
static struct {
	unsigned int records, ctrl_msgs, empty;
	uint64_t record;
} about;

static ssize_t take_record(struct dofi_ep *from, const void *record, size_t size, uint64_t raddr,
			   uint64_t rkey, uint64_t data)
{
	(void)raddr, (void)rkey;
	ck_assert_ptr_eq(from, &ep);
	ck_assert_ptr_null(record);
	ck_assert_uint_eq(size, 0);
	about.records++;
	about.record = data;
	return 0;
}

static ssize_t take_empty(struct dofi_ep *from, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(from, &ep);
	ck_assert_int_eq(wr->op, DOFI_OP_WRITE_IMM);
	ck_assert_uint_eq(about.records, 1);
	about.empty++;
	return 0;
}

static ssize_t take_ctrl_msg(struct dofi_ep *from, const void *bytes, size_t size)
{
	const struct dofi_ctrl_msg *ctrl_msg = bytes;

	(void)size;
	ck_assert_ptr_eq(from, &ep);
	about.ctrl_msgs++;
	about.record = ctrl_msg->value;
	return 0;
}

static const struct dofi_trans_ops fabric = {.send = take_send,
					     .read = take_read,
					     .write_data = take_write_data,
					     .write_immediate = take_immediate,
					     .write_ctrl = take_record,
					     .send_empty = take_empty,
					     .ctrl_msg = take_ctrl_msg,
					     .write = take_write,
					     .has_eq = true};

static void open_ep(uint16_t fabric_iov)
{
	ia.limits.fabric_iov = fabric_iov;
	memset(&ep.parts, 0xa5, sizeof(ep.parts));
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.req, REQUESTS, NIOV + 1), 0);
	ck_assert_int_eq(dofi_parts_init(&ia, &ep.parts, &ep.req), 0);
}

/* overtake: the fabric keeps no order. */
static void setup(bool overtake)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_lock_init(&ep.lock);
	dofi_lock_init(&evd.lock);
	evd.obj.ia = ep.obj.ia = &ia;
	evd.ring = events;
	evd.qlen = REQUESTS;
	ia.trans = ep.trans = &fabric;
	ia.up = &dofi_cm_upcalls;
	ia.info = &info;
	ia.splits_writes = true;
	ia.writes_overtake = ia.reads_overtake = overtake;
	ia.order = overtake ? DOFI_HOLD : DOFI_FENCE;
	domain_attr.mr_mode = FI_MR_VIRT_ADDR;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.req_evd = ep.recv_evd = &evd;
	ep.path_up = true;
	for (size_t i = 0; i < MEMORY; i++)
		local[i] = (unsigned char)(i * 7 + 1);
	dofi_lock(&ia.engine.lock);
}

static void setup_ordered(void)
{
	setup(false);
}

static void setup_unordered(void)
{
	setup(true);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
	dofi_ring_fini(&ep.req);
	dofi_ring_fini(&ep.parts);
}

static void issue(void)
{
	dofi_lock(&ep.lock);
	dofi_ep_issue(&ep);
	dofi_unlock(&ep.lock);
}

/* Posts [at, at + length) in segments that end where `cuts` says, a list of n. */
static struct dofi_wr *post(enum dofi_op op, uint64_t at, uint64_t length, const uint64_t *cuts,
			    uint16_t n)
{
	struct dofi_wr *wr = dofi_ring_at(&ep.req, ep.req.tail);
	uint64_t begin = 0;

	memset(wr, 0, ep.req.stride);
	wr->ep = &ep;
	wr->cookie = ep.req.tail;
	wr->op = (uint8_t)op;
	wr->flags = flags;
	wr->rdma.resolved = true;
	wr->remote.address = wr->remote.target = (uintptr_t)remote + at;
	wr->length = length;
	wr->niov = (uint16_t)(n + 1);
	for (uint16_t i = 0; i <= n; i++) {
		uint64_t end = i < n ? cuts[i] : length;

		wr->iov[i] = (struct iovec){local + at + begin, end - begin};
		dofi_wr_desc(&ep.req, wr)[i] = descs[i];
		begin = end;
	}
	ep.req.tail++;
	issue();
	return wr;
}

static struct dofi_wr *post_write(uint64_t at, uint64_t length)
{
	return post(DOFI_OP_WRITE, at, length, NULL, 0);
}

/* The operation ends. */
static void end(unsigned int i, int err)
{
	ck_assert_uint_lt(i, nops);
	ck_assert(!ops[i].is_over);
	ops[i].is_over = true;
	if (!err && ops[i].is_write)
		memcpy(remote + (ops[i].to - (uintptr_t)remote), ops[i].bytes, ops[i].length);
	dofi_reap_done(ops[i].context, err, ops[i].length, 0, 0);
}

static void expect_op(unsigned int i, uint64_t at, uint64_t length)
{
	ck_assert_uint_lt(i, nops);
	ck_assert_uint_eq(ops[i].to - (uintptr_t)remote, at);
	ck_assert_uint_eq(ops[i].length, length);
	ck_assert(!memcmp(ops[i].bytes, local + at, length));
}

/* Expects the next event: that of this request. */
static void expect_event(uint64_t cookie, uint8_t status, uint64_t length)
{
	const struct dofi_event *event = dofi_evd_slot(&evd, evd.head);

	ck_assert_uint_gt(dofi_evd_queued(&evd), 0);
	ck_assert_uint_eq(event->dto.cookie, cookie);
	ck_assert_uint_eq(event->status, status);
	if (status == DAT_DTO_SUCCESS)
		ck_assert_uint_eq(event->dto.length, length);
	evd.head++;
	atomic_fetch_sub(&evd.count, 1);
}

static void expect_no_event(void)
{
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
}

static void flush(void)
{
	dofi_lock(&ep.lock);
	ep.path_up = false;
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	dofi_unlock(&ep.lock);
}

/* --- where a write is cut --- */

static const struct {
	uint64_t at, length, last; /* 0: the write is one operation */
} ends[] = {
	{0, 8, 0},    {8, 4, 0},    {4, 4, 0},    {2, 2, 0},    {7, 1, 0},   {0, 0, 0},
	{0, 9, 1},    {0, 16, 8},   {4, 8, 4},    {4, 12, 8},   {2, 6, 4},   {1, 7, 4},
	{5, 3, 2},    {1, 2, 1},    {0, 3, 1},    {0, 6, 2},    {0, 100, 4}, {0, 102, 2},
	{3, 1001, 4}, {0, 4096, 8}, {1, 4095, 8}, {0, 4095, 1}, {0, 12, 4},  {1, 8, 1},
};

START_TEST(the_last_aligned_word)
{
	uint64_t at = ends[_i].at, length = ends[_i].length, last = ends[_i].last;
	struct dofi_wr *wr;

	open_ep(NIOV);
	wr = post_write(at, length);
	ck_assert_uint_eq(nops, (length > 0) + (last > 0));
	if (length)
		expect_op(0, at, length - last);
	if (last)
		expect_op(1, at + length - last, last);
	else if (length)
		ck_assert_ptr_eq(ops[0].context, wr); /* without a part */
	ck_assert_uint_eq(ep.writes, length > 0);
	for (unsigned int i = 0; i < nops; i++) {
		expect_no_event();
		end(i, 0);
	}
	ck_assert_uint_eq(ep.writes, 0);
	if (length) /* an empty write completes at once, by the engine */
		expect_event(0, DAT_DTO_SUCCESS, length);
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
}
END_TEST

/* Words are aligned by the program's address, not by the offset in the region. */
START_TEST(alignment_counts_from_the_address_not_the_region)
{
	struct dofi_wr *wr;

	open_ep(NIOV);
	domain_attr.mr_mode = 0;
	refusals = 1; /* the request stays in the ring, where it can be changed */
	wr = post_write(0, 0);
	wr->state = DOFI_WR_DONE;
	wr = dofi_ring_at(&ep.req, ep.req.tail);
	*wr = (struct dofi_wr){.ep = &ep,
			       .op = DOFI_OP_WRITE,
			       .length = 24,
			       .niov = 1,
			       .rdma = {.remote = {.address = 0x1000, .target = 3},
					.resolved = true}};
	wr->iov[0] = (struct iovec){local, 24};
	ep.req.tail++;
	refusals = 0;
	issue();
	ck_assert_uint_eq(nops, 2);
	ck_assert_uint_eq(ops[1].to, 3 + 16);
	ck_assert_uint_eq(ops[1].address, 0x1000 + 16);
	ck_assert_uint_eq(ops[1].length, 8);
}
END_TEST

START_TEST(segments_are_cut_and_keep_their_descriptors)
{
	static const uint64_t cuts[] = {40, 90, 97};
	struct dofi_wr *wr;

	open_ep(NIOV);
	wr = post(DOFI_OP_WRITE, 0, 104, cuts, 3);
	/* Of a word of 8 bytes the last segment has 7, and so 4 of them are stored at once. */
	ck_assert_uint_eq(nops, 2);
	expect_op(0, 0, 100);
	expect_op(1, 100, 4);
	ck_assert_uint_eq(ops[0].niov, 4);
	ck_assert_uint_eq(ops[1].niov, 1);
	for (unsigned int i = 0; i < NIOV; i++)
		ck_assert_ptr_eq(dofi_wr_desc(&ep.parts, ops[0].context)[i], descs[i]);
	ck_assert_ptr_eq(dofi_wr_desc(&ep.parts, ops[1].context)[0], descs[3]);
	ck_assert_uint_eq(wr->niov, 5);
	end(1, 0);
	end(0, 0);
	expect_event(0, DAT_DTO_SUCCESS, 104);
}
END_TEST

/* The last segment is the word already. */
START_TEST(a_word_of_its_own_is_not_cut)
{
	static const uint64_t cuts[] = {96};
	struct dofi_wr *wr;

	open_ep(NIOV);
	wr = post(DOFI_OP_WRITE, 0, 104, cuts, 1);
	ck_assert_uint_eq(nops, 2);
	expect_op(0, 0, 96);
	expect_op(1, 96, 8);
	ck_assert_uint_eq(ops[0].niov, 1);
	ck_assert_uint_eq(wr->niov, 2);
}
END_TEST

START_TEST(a_read_has_no_word)
{
	struct dofi_wr *wr;

	open_ep(NIOV);
	ep.read_limit = 1;
	wr = post(DOFI_OP_READ, 0, 100, NULL, 0);
	ck_assert_uint_eq(nops, 1);
	ck_assert_ptr_eq(ops[0].context, wr);
}
END_TEST

/*
 * A device may carry out an operation with several segments in several steps. It takes more of them
 * than the EP has.
 */
START_TEST(a_word_in_several_segments_is_not_stored_at_once)
{
	static const uint64_t cuts[] = {4, 5};

	open_ep(NIOV + 1);
	post(DOFI_OP_WRITE, 0, 8, cuts, 2);
	ck_assert_uint_eq(nops, 2);
	expect_op(0, 0, 6);
	expect_op(1, 6, 2);
}
END_TEST

/* One segment per operation. */
START_TEST(the_word_shrinks_to_its_segment)
{
	static const uint64_t cuts[] = {40, 90, 100};

	open_ep(1);
	post(DOFI_OP_WRITE, 0, 104, cuts, 3);
	ck_assert_uint_eq(nops, 4);
	expect_op(0, 0, 40);
	expect_op(1, 40, 50);
	expect_op(2, 90, 10);
	expect_op(3, 100, 4);
	for (unsigned int i = 0; i < 4; i++)
		end(i, 0);
	expect_event(0, DAT_DTO_SUCCESS, 104);
}
END_TEST

/* --- when the last part is issued --- */

START_TEST(last_part_waits_for_the_others)
{
	open_ep(NIOV);
	post_write(0, 100);
	post_write(200, 100);
	post(DOFI_OP_SEND, 0, 8, NULL, 0);
	/* Other writes need not wait. A message behind them must. */
	ck_assert_uint_eq(nops, 2);
	expect_op(0, 0, 96);
	expect_op(1, 200, 96);
	end(1, 0);
	ck_assert_uint_eq(nops, 3);
	expect_op(2, 296, 4);
	end(2, 0);
	expect_no_event();
	end(0, 0);
	expect_op(3, 96, 4);
	ck_assert_uint_eq(nops, 4);
	end(3, 0);
	expect_event(0, DAT_DTO_SUCCESS, 100);
	expect_event(1, DAT_DTO_SUCCESS, 100);
	ck_assert_uint_eq(nops, 5);
	ck_assert(!ops[4].is_write);
	end(4, 0);
	expect_event(2, DAT_DTO_SUCCESS, 8);
	ck_assert(!ep.refused && !ep.stall.waits);
}
END_TEST

START_TEST(last_part_waits_for_all_parts)
{
	static const uint64_t cuts[] = {40, 90, 100};

	open_ep(1);
	post(DOFI_OP_WRITE, 0, 120, cuts, 3);
	ck_assert_uint_eq(nops, 4); /* of five */
	end(3, 0);
	end(0, 0);
	end(2, 0);
	ck_assert_uint_eq(nops, 4);
	end(1, 0);
	expect_op(4, 112, 8);
	end(4, 0);
	expect_event(0, DAT_DTO_SUCCESS, 120);
}
END_TEST

START_TEST(a_refusal_is_tried_again)
{
	open_ep(NIOV);
	refusals = 1;
	post_write(0, 100);
	ck_assert_uint_eq(nops, 0);
	ck_assert(ep.stall.waits);
	issue();
	ck_assert_uint_eq(nops, ia.writes_overtake ? 1 : 2);
	expect_op(0, 0, 96);
	if (!ia.writes_overtake) {
		expect_op(1, 96, 4);
		return;
	}
	ep.stall.waits = false;
	refusals = 2;
	end(0, 0);
	ck_assert_uint_eq(nops, 1);
	ck_assert(ep.stall.waits);
	issue();
	ck_assert_uint_eq(nops, 1);
	issue();
	expect_op(1, 96, 4);
	issue();
	ck_assert_uint_eq(nops, 2); /* once */
	end(1, 0);
	expect_event(0, DAT_DTO_SUCCESS, 100);
}
END_TEST

/* -FI_EAGAIN between the parts: the fabric already has the first ones. */
START_TEST(a_refusal_in_the_middle)
{
	static const uint64_t cuts[] = {40, 90, 100};

	open_ep(1);
	post_write(0, 8); /* gets the entry of the first refused one */
	refusals = 0;
	ck_assert_uint_eq(nops, 1);
	refusals = 1;
	post(DOFI_OP_WRITE, 16, 104, cuts, 3);
	ck_assert_uint_eq(nops, 1);
	issue();
	ck_assert_uint_eq(nops, 5);
	for (unsigned int i = 5; i-- > 0;)
		end(i, 0);
	expect_event(0, DAT_DTO_SUCCESS, 8);
	expect_event(1, DAT_DTO_SUCCESS, 104);
}
END_TEST

/*
 * Writes may overtake each other, and fences keep later operations behind them. So what is behind
 * the write need not wait for it, but the write itself stays in the ring until its last part is
 * given.
 */
START_TEST(a_last_part_waits_where_there_are_fences)
{
	struct dofi_wr *wr;

	ia.writes_overtake = true;
	open_ep(NIOV);
	wr = post_write(0, 100);
	ck_assert_uint_eq(nops, 1);
	ck_assert_uint_eq(ep.req.issue, 0);
	ck_assert_int_eq(wr->state, DOFI_WR_QUEUED);
	ck_assert(!ep.refused && !ep.stall.waits); /* a completion continues it */
	end(0, 0);
	ck_assert_uint_eq(nops, 2);
	expect_op(1, 96, 4);
	ck_assert_uint_eq(ep.req.issue, 1);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	expect_no_event();
	end(1, 0);
	expect_event(0, DAT_DTO_SUCCESS, 100);
	ck_assert_uint_eq(ep.writes, 0);
}
END_TEST

/* A message that is under way has none, whatever a former request of its slot has left there. */
START_TEST(only_writes_owe_a_last_part)
{
	static const uint64_t half[] = {4};
	struct dofi_wr *message;

	open_ep(NIOV);
	message = post(DOFI_OP_SEND, 0, 8, half, 1);
	message->rdma.given = 1;
	post_write(100, 100);
	ck_assert_uint_eq(nops, 2);
	refusals = 1;
	end(1, 0);
	ck_assert(ep.owing);
	issue();
	ck_assert_uint_eq(nops, 3);
	expect_op(2, 192, 8);
	end(2, 0);
	end(0, 0);
	expect_event(0, DAT_DTO_SUCCESS, 8);
	expect_event(1, DAT_DTO_SUCCESS, 100);
	ck_assert_uint_eq(nops, 3);
}
END_TEST

/* The flush will end the request. */
START_TEST(no_last_part_without_a_path)
{
	open_ep(NIOV);
	post_write(0, 100);
	ep.path_up = false;
	end(0, 0);
	ck_assert_uint_eq(nops, 1);
	ck_assert(!ep.owing);
	expect_no_event();
}
END_TEST

/* There is room for fewer parts than requests. All requests complete in order. */
START_TEST(more_writes_than_parts)
{
	const unsigned int n = PARTS + 30;

	open_ep(NIOV);
	for (unsigned int i = 0; i < n; i++)
		post_write(i * 16, 16);
	ck_assert_uint_eq(nops, PARTS);
	for (unsigned int done = 0; done < nops; done++)
		end(done, 0);
	ck_assert_uint_eq(nops, 2 * n);
	for (unsigned int i = 0; i < n; i++)
		expect_event(i, DAT_DTO_SUCCESS, 16);
	ck_assert_uint_eq(ep.writes, 0);
	ck_assert(!ep.owing);
	ck_assert(!memcmp(remote, local, n * 16));
}
END_TEST

/*
 * The first part keeps its entry while later ones complete. Their last parts wait for room until
 * the entry is free.
 */
START_TEST(a_waiting_last_part_gets_room_later)
{
	open_ep(NIOV);
	for (unsigned int i = 0; i < PARTS; i++)
		post_write(i * 16, 16);
	ck_assert_uint_eq(nops, PARTS);
	for (unsigned int i = 1; i < PARTS; i++)
		end(i, 0);
	ck_assert_uint_eq(nops, PARTS);
	ck_assert(ep.owing);
	ck_assert(!ep.refused && !ep.stall.waits); /* a completion makes room */
	end(0, 0);
	ck_assert_uint_eq(nops, 2 * PARTS);
	ck_assert(!ep.owing);
	for (unsigned int i = PARTS; i < nops; i++)
		end(i, 0);
	for (unsigned int i = 0; i < PARTS; i++)
		expect_event(i, DAT_DTO_SUCCESS, 16);
}
END_TEST

/* --- the end of a write --- */

START_TEST(suppressed_writes_have_no_event)
{
	struct dofi_wr *wr;

	open_ep(NIOV);
	refusals = 1;
	wr = post_write(0, 100);
	wr->flags = DAT_COMPLETION_SUPPRESS_FLAG;
	issue();
	end(0, 0);
	end(1, 0);
	expect_no_event();
	ck_assert_uint_eq(ep.req.head, 1);
}
END_TEST

START_TEST(a_failed_part_fails_the_write)
{
	open_ep(NIOV);
	post_write(0, 100);
	post_write(200, 100);
	end(0, FI_EACCES);
	ck_assert(ep.faulty);
	ck_assert_uint_eq(ep.req.issue, 2); /* both were issued before */
	expect_event(0, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	ck_assert_uint_eq(nops, ia.writes_overtake ? 2 : 4); /* no part follows the failed one */
	/* Completions of the remaining parts are ignored, and no other slot counts them. */
	for (unsigned int i = 1; i < nops; i++)
		end(i, 0);
	ck_assert_uint_eq(nops, ia.writes_overtake ? 2 : 4);
	for (uint32_t i = 2; i <= ep.req.mask; i++)
		ck_assert_uint_eq(dofi_ring_at(&ep.req, i)->split, 0);
	flush();
	expect_event(1, DAT_DTO_ERR_FLUSHED, 0); /* although the fabric may have completed it */
	expect_no_event();
}
END_TEST

START_TEST(the_last_part_fails)
{
	unsigned int last = 1;

	open_ep(NIOV);
	post_write(0, 100);
	end(0, 0);
	expect_op(last, 96, 4);
	end(last, FI_EACCES);
	expect_event(0, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	ck_assert(ep.faulty);
	ck_assert_uint_eq(ep.writes, 0);
	flush();
	expect_no_event();
}
END_TEST

/* The path goes down before the last part is due, so that part is never issued. */
START_TEST(flushed_before_its_turn)
{
	open_ep(NIOV);
	post_write(0, 100);
	post_write(200, 100);
	refusals = 1;
	end(1, 0);
	ck_assert(ep.owing);
	flush();
	expect_event(0, DAT_DTO_ERR_FLUSHED, 0);
	expect_event(1, DAT_DTO_ERR_FLUSHED, 0);
	ck_assert(!ep.owing);
	issue();
	ck_assert_uint_eq(nops, 2);
	ck_assert_uint_eq(dofi_ring_count(&ep.parts), 0);
}
END_TEST

/* --- other requests in parts --- */

/* A fabric that takes fewer segments than DAT, and whose writes need no flag. */
static void open_short(uint16_t fabric_iov)
{
	ia.splits_writes = false;
	open_ep(fabric_iov);
}

static const uint64_t quarters[] = {10, 20, 30};

/* The fabric may take more segments than the request has, or just as many. */
START_TEST(a_request_that_fits_needs_no_parts)
{
	static const enum dofi_op kinds[] = {DOFI_OP_SEND, DOFI_OP_WRITE, DOFI_OP_READ};
	uint16_t more = _i / 3;
	struct dofi_wr *wr;

	open_short(NIOV + more);
	ck_assert((ep.parts.base == NULL) == more);
	ep.read_limit = 1;
	wr = post(kinds[_i % 3], 0, 40, quarters, 3);
	ck_assert_uint_eq(nops, 1);
	ck_assert_ptr_eq(ops[0].context, wr);
	ck_assert_uint_eq(wr->split, 0);
	ck_assert_uint_eq(wr->niov, 4);
	end(0, 0);
	expect_event(0, DAT_DTO_SUCCESS, 40);
}
END_TEST

START_TEST(a_read_with_many_segments_is_one_request)
{
	struct dofi_wr *wr;

	open_short(2);
	ep.read_limit = 2;
	wr = post(DOFI_OP_READ, 0, 40, quarters, 3);
	ck_assert_uint_eq(nops, 2);
	expect_op(0, 0, 20);
	expect_op(1, 20, 20);
	ck_assert_int_eq(ops[0].way, 'r');
	ck_assert_int_eq(ops[1].way, 'r');
	ck_assert_uint_eq(ops[0].niov, 2);
	ck_assert_uint_eq(ep.reads, 1);
	ck_assert_uint_eq(ep.writes, 0);
	ck_assert(!ep.unfenced);
	ck_assert(ep.dirty);
	end(1, 0);
	expect_no_event();
	ck_assert_uint_eq(wr->state, DOFI_WR_ISSUED);
	end(0, 0);
	expect_event(0, DAT_DTO_SUCCESS, 40);
	ck_assert_uint_eq(ep.reads, 0);
	ck_assert_uint_eq(dofi_ring_count(&ep.parts), 0);
}
END_TEST

/* The numbers of requests wrap. */
START_TEST(the_request_of_the_greatest_number)
{
	open_short(2);
	ep.read_limit = 2;
	ep.req.head = ep.req.issue = ep.req.tail = UINT32_MAX;
	post(DOFI_OP_READ, 0, 40, quarters, 3);
	ck_assert_uint_eq(nops, 2);
	end(0, 0);
	expect_no_event();
	end(1, 0);
	expect_event(UINT32_MAX, DAT_DTO_SUCCESS, 40);
}
END_TEST

/* The last of three parts has one segment. */
START_TEST(a_write_with_many_segments_is_one_request)
{
	open_short(3);
	post(DOFI_OP_WRITE, 0, 40, quarters, 3);
	ck_assert_uint_eq(nops, ia.writes_overtake ? 1 : 2);
	expect_op(0, 0, 30);
	ck_assert_int_eq(ops[0].way, 0);
	ck_assert_uint_eq(ep.writes, 1);
	ck_assert(ep.unfenced == (ia.order == DOFI_FENCE));
	end(0, 0);
	expect_no_event();
	expect_op(1, 30, 10);
	ck_assert_uint_eq(ops[1].niov, 1);
	end(1, 0);
	expect_event(0, DAT_DTO_SUCCESS, 40);
	ck_assert_uint_eq(ep.writes, 0);
}
END_TEST

/* If the number divides the segments, the last part has as many as the others. */
START_TEST(parts_of_equal_size)
{
	open_short(2);
	post(DOFI_OP_WRITE, 0, 40, quarters, 3);
	expect_op(0, 0, 20);
	end(0, 0);
	expect_op(1, 20, 20);
	ck_assert_uint_eq(ops[1].niov, 2);
	end(1, 0);
	expect_event(0, DAT_DTO_SUCCESS, 40);
}
END_TEST

/* Shared memory keeps the order of a stream, whatever the fabric does. */
START_TEST(a_stream_needs_no_flag)
{
	open_ep(NIOV);
	ep.streams = true;
	post_write(0, 100);
	ck_assert_uint_eq(nops, 1);
	expect_op(0, 0, 100);
	ck_assert(!ep.unfenced);
}
END_TEST

/* Its parts are in order, too, so the last one does not wait. */
START_TEST(parts_of_a_stream_need_no_fence)
{
	open_short(2);
	ep.streams = true;
	post(DOFI_OP_WRITE, 0, 40, quarters, 3);
	ck_assert_uint_eq(nops, 2);
	expect_op(1, 20, 20);
	ck_assert(!ep.unfenced);
	end(0, 0);
	end(1, 0);
	expect_event(0, DAT_DTO_SUCCESS, 40);
}
END_TEST

/* A part fails while others wait for room: they are never issued, nor is what is behind. */
START_TEST(the_first_part_fails_before_the_others_start)
{
	struct dofi_wr *wr;

	open_short(1);
	ep.read_limit = 2;
	room = 2;
	wr = post(_i ? DOFI_OP_READ : DOFI_OP_WRITE, 0, 40, quarters, 3);
	post_write(100, 8);
	ck_assert_uint_eq(nops, 2);
	ck_assert_uint_eq(ep.req.issue, 0);
	ck_assert_uint_eq(wr->split, 2);
	end(0, FI_EIO);
	ck_assert_uint_eq(wr->split, 0);
	ck_assert(ep.faulty);
	ck_assert_uint_eq(ep.req.issue, 1);
	expect_event(0, DAT_DTO_ERR_TRANSPORT, 0);
	room = -1;
	end(1, 0); /* of a request that has ended */
	issue();
	ck_assert_uint_eq(nops, 2);
	expect_no_event();
	ck_assert_uint_eq(dofi_ring_count(&ep.parts), 0);
	ck_assert_uint_eq(ep.reads + ep.writes, 0);
}
END_TEST

/*
 * The peer ends its context while parts are under way. The rest of the request never starts, and
 * the request fails when they are complete: until then they use the peer's key and our memory.
 */
START_TEST(the_access_ends_between_two_parts)
{
	struct dofi_wr *wr;

	open_short(1);
	ep.read_limit = 2;
	room = 2;
	wr = post(DOFI_OP_READ, 0, 40, quarters, 3);
	ck_assert_int_eq(wr->state, DOFI_WR_QUEUED); /* there is more to give */
	ck_assert_uint_eq(wr->split, 2);
	wr->rdma.resolved = false;
	wr->rdma.context = 0; /* no such context */
	room = -1;
	issue();
	end(1, 0);
	ck_assert_uint_eq(ep.req.head, 0);
	ck_assert(!ep.faulty);
	expect_no_event();
	end(0, 0);
	ck_assert_uint_eq(nops, 2);
	ck_assert_uint_eq(ep.req.head, 1);
	ck_assert_uint_eq(ep.req.issue, 1);
	ck_assert_uint_eq(wr->split, 0);
	ck_assert(ep.faulty && ep.stall.waits);
	expect_event(0, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	ck_assert_uint_eq(dofi_ring_count(&ep.parts), 0);
	expect_no_event();
}
END_TEST

/*
 * Parts that wait for room go on, and none is issued twice. The read counts as under way from its
 * first part on, but it waits neither for its own place among the reads nor, with a barrier, for
 * itself.
 */
START_TEST(parts_go_on_where_there_was_no_room)
{
	open_short(1);
	ep.read_limit = 1;
	flags = _i ? DAT_COMPLETION_BARRIER_FENCE_FLAG : 0;
	room = 1;
	post(DOFI_OP_READ, 0, 40, quarters, 3);
	for (unsigned int i = 1; i < 4; i++) {
		ck_assert_uint_eq(nops, i);
		ck_assert_uint_eq(ep.req.issue, 0);
		end(i - 1, 0);
		expect_no_event();
		room = 1;
		issue();
	}
	ck_assert_uint_eq(ep.req.issue, 1);
	ck_assert_uint_eq(nops, 4);
	for (unsigned int i = 0; i < 4; i++)
		expect_op(i, 10 * i, 10);
	ck_assert_uint_eq(ep.reads, 1);
	end(3, 0);
	expect_event(0, DAT_DTO_SUCCESS, 40);
	ck_assert_uint_eq(ep.reads, 0);
}
END_TEST

/* A message is one operation of the fabric in any case. */
START_TEST(a_message_with_many_segments_is_gathered)
{
	struct dofi_wr *wr;

	domain_attr.mr_mode = 0;
	ck_assert_int_eq(dofi_bounces_init(&ia), 0);
	open_short(2);
	refusals = 2;
	wr = post(DOFI_OP_SEND, 0, 40, quarters, 3);
	ck_assert_uint_eq(nops, 0);
	ck_assert_uint_eq(wr->split, 1);
	ck_assert_uint_eq(wr->niov, 1);
	ck_assert_int_eq(wr->state, DOFI_WR_QUEUED);
	issue();
	memset(local, 0, 40); /* what was posted counts */
	issue();
	ck_assert_uint_eq(nops, 1);
	ck_assert_uint_eq(ops[0].niov, 1);
	ck_assert_uint_eq(ops[0].length, 40);
	for (unsigned int i = 0; i < 40; i++)
		ck_assert_uint_eq(ops[0].bytes[i], (unsigned char)(i * 7 + 1));
	ck_assert_uint_eq(ep.nsent, 1);
	end(0, 0);
	ck_assert_uint_eq(wr->split, 0);
	expect_event(0, DAT_DTO_SUCCESS, 40);
	dofi_bounces_fini(&ia);
}
END_TEST

/* There is no buffer of that size: the message stays in the ring, and the engine tries again. */
START_TEST(a_message_without_a_buffer_waits)
{
	struct dofi_wr *wr;

	ck_assert_int_eq(dofi_bounces_init(&ia), 0);
	open_short(2);
	wr = post(DOFI_OP_SEND, 0, UINT64_C(1) << 40, quarters, 3);
	ck_assert_uint_eq(nops, 0);
	ck_assert_uint_eq(ep.req.issue, 0);
	ck_assert_int_eq(wr->state, DOFI_WR_QUEUED);
	ck_assert_uint_eq(wr->split, 0);
	ck_assert_uint_eq(wr->niov, 4);
	ck_assert_uint_eq(ep.nsent, 0);
	ck_assert(ep.stall.waits && !ep.refused);
	ck_assert_uint_eq(ep.counters[DOFI_CNT_EP_AGAIN], 1);
	dofi_bounces_fini(&ia);
}
END_TEST

/* Its last part brings the immediate data, or the record of its length. */
START_TEST(a_write_with_immediate_data_in_parts)
{
	struct dofi_wr *wr;

	open_short(2);
	ia.has_immediates = _i;
	wr = dofi_ring_at(&ep.req, 0);
	refusals = 1;
	post(DOFI_OP_WRITE, 0, 40, quarters, 3);
	wr->op = DOFI_OP_WRITE_IMM;
	wr->flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	dofi_lock(&ep.lock);
	ck_assert_int_eq(dofi_parts_start(&ep, wr, 0xabcd), 0);
	dofi_unlock(&ep.lock);
	ck_assert_uint_eq(nops, 2);
	ck_assert_int_eq(ops[0].way, 0);
	ck_assert_int_eq(ops[1].way, _i ? 'i' : 'd');
	ck_assert_uint_eq(ops[1].data, 0xabcd);
	ck_assert_uint_eq(((const struct dofi_wr *)ops[1].context)->flags,
			  DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	ck_assert_uint_eq(ep.writes, 0); /* no message has to wait for it by this count */
}
END_TEST

static struct dofi_ctrl_msgs ctrl_msgs;

/* By records, by the device, or by control messages. */
enum way { RECORDS, DEVICE, MESSAGES, WAYS };

static struct dofi_wr *post_immediate(enum way way)
{
	struct dofi_wr *wr;

	open_short(2);
	ia.has_immediates = way == DEVICE;
	ep.ctrl_msgs = way == MESSAGES ? &ctrl_msgs : NULL;
	ep.peer.ctrl_msgs = ep.peer.ctrl_known = true;
	room = 0;
	wr = post(DOFI_OP_WRITE_IMM, 0, 40, quarters, 3);
	*dofi_wr_immediate(&ep.req, wr) = 0xabcd;
	room = -1;
	issue();
	return wr;
}

/* The message, or what stands for it, goes with the last part or behind all of them. */
START_TEST(immediate_data_follow_all_parts)
{
	static const char ways[] = {[RECORDS] = 'd', [DEVICE] = 'i', [MESSAGES] = 0};
	enum way way = (enum way)_i;
	struct dofi_wr *wr = post_immediate(way);

	if (ia.writes_overtake) {
		ck_assert_uint_eq(nops, 1);
		ck_assert_uint_eq(ep.nsent, 0);
		ck_assert_uint_eq(ep.req.issue, 0);
		ck_assert_int_eq(wr->state, DOFI_WR_QUEUED);
		end(0, 0);
	}
	ck_assert_uint_eq(nops, 2);
	expect_op(0, 0, 20);
	expect_op(1, 20, 20);
	ck_assert_int_eq(ops[0].way, 0);
	ck_assert_int_eq(ops[1].way, ways[way]);
	ck_assert_uint_eq(ep.nsent, way != MESSAGES);
	ck_assert_uint_eq(ep.req.issue, way != MESSAGES);
	ck_assert(ep.unfenced == (ia.order == DOFI_FENCE));
	if (way == DEVICE)
		ck_assert_uint_eq(ops[1].data, 0xabcd);
	for (unsigned int i = 0; i < 2; i++) {
		expect_no_event();
		if (!ops[i].is_over)
			end(i, 0);
	}
	ck_assert_uint_eq(about.records, way == RECORDS);
	ck_assert_uint_eq(about.empty, way == RECORDS);
	ck_assert_uint_eq(about.ctrl_msgs, way == MESSAGES);
	if (way != DEVICE)
		ck_assert_uint_eq((uint32_t)about.record, 0xabcd);
	if (way == MESSAGES) {
		expect_no_event();
		ck_assert_uint_eq(nops, 3);
		ck_assert_ptr_eq(ops[2].context, wr);
		end(2, 0);
	}
	ck_assert_uint_eq(ep.nsent, 1);
	ck_assert_uint_eq(ep.req.issue, 1);
	expect_event(0, DAT_DTO_SUCCESS, 40);
	ck_assert_uint_eq(dofi_ring_count(&ep.parts), 0);
}
END_TEST

/* --- any order --- */

static unsigned int seed;

static unsigned int dice(unsigned int limit)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % limit;
}

static uint16_t dice_cuts(uint64_t length, uint64_t *cuts)
{
	uint16_t n = 0;
	uint64_t at = 0;

	while (n < NIOV - 1 && at + 1 < length && dice(3)) {
		at += 1 + dice((unsigned int)(length - at - 1));
		if (at < length)
			cuts[n++] = at;
	}
	return n;
}

/* Returns whether all bytes of the request except those of the operation have arrived. */
static bool rest_is_there(uint64_t first, uint64_t stop, const struct op *op)
{
	uint64_t at = op->to - (uintptr_t)remote;

	for (uint64_t i = first; i < stop; i++)
		if ((i < at || i >= at + op->length) && remote[i] != local[i])
			return false;
	return true;
}

/*
 * The last byte of a write of [first, stop) may be stored only when all other bytes have arrived,
 * or are ordered before it.
 */
static void end_checked(unsigned int i, uint64_t first, uint64_t stop)
{
	uint64_t at = ops[i].to - (uintptr_t)remote;

	if (at + ops[i].length == stop && stop - first > ops[i].length) {
		ck_assert_uint_le(ops[i].length, 8);
		ck_assert_uint_eq(ops[i].to % ops[i].length, 0);
		ck_assert(rest_is_there(first, stop, &ops[i]));
	}
	end(i, 0);
}

#define SLOT 128u

START_TEST(parts_complete_in_any_order)
{
	const unsigned int n = MEMORY / SLOT;
	uint64_t lengths[MEMORY / SLOT], leads[MEMORY / SLOT], cuts[NIOV];
	unsigned int left;

	seed = (unsigned int)_i;
	open_ep((uint16_t)(1 + dice(NIOV)));
	for (unsigned int i = 0; i < n; i++) {
		uint16_t ncuts;

		leads[i] = dice(9);
		lengths[i] = 1 + dice(SLOT - 9);
		ncuts = dice_cuts(lengths[i], cuts);
		refusals = dice(4) ? 0 : 1;
		post(DOFI_OP_WRITE, i * SLOT + leads[i], lengths[i], cuts, ncuts);
	}
	for (;;) {
		unsigned int picked = 0, slot;

		refusals = dice(8) ? 0 : 1;
		issue();
		left = 0;
		for (unsigned int i = 0; i < nops; i++)
			if (!ops[i].is_over && !dice(++left))
				picked = i;
		if (!left && ep.req.head == ep.req.tail)
			break;
		if (!left)
			continue;
		slot = (unsigned int)((ops[picked].to - (uintptr_t)remote) / SLOT);
		end_checked(picked, slot * SLOT + leads[slot],
			    slot * SLOT + leads[slot] + lengths[slot]);
	}
	for (unsigned int i = 0; i < n; i++) {
		expect_event(i, DAT_DTO_SUCCESS, lengths[i]);
		ck_assert(!memcmp(remote + i * SLOT + leads[i], local + i * SLOT + leads[i],
				  lengths[i]));
	}
	expect_no_event();
	ck_assert_uint_eq(ep.writes, 0);
	ck_assert_uint_eq(dofi_ring_count(&ep.parts), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("segments");
	TCase *tc = tcase_create("ordered");

	tcase_add_checked_fixture(tc, setup_ordered, teardown);
	tcase_add_loop_test(tc, the_last_aligned_word, 0, sizeof(ends) / sizeof(ends[0]));
	tcase_add_test(tc, alignment_counts_from_the_address_not_the_region);
	tcase_add_test(tc, segments_are_cut_and_keep_their_descriptors);
	tcase_add_test(tc, a_word_of_its_own_is_not_cut);
	tcase_add_test(tc, a_read_has_no_word);
	tcase_add_test(tc, a_word_in_several_segments_is_not_stored_at_once);
	tcase_add_test(tc, the_word_shrinks_to_its_segment);
	tcase_add_test(tc, a_refusal_is_tried_again);
	tcase_add_test(tc, a_refusal_in_the_middle);
	tcase_add_test(tc, a_last_part_waits_where_there_are_fences);
	tcase_add_test(tc, more_writes_than_parts);
	tcase_add_test(tc, suppressed_writes_have_no_event);
	tcase_add_test(tc, a_failed_part_fails_the_write);
	tcase_add_test(tc, the_last_part_fails);
	tcase_add_loop_test(tc, a_request_that_fits_needs_no_parts, 0, 6);
	tcase_add_test(tc, the_access_ends_between_two_parts);
	tcase_add_test(tc, a_read_with_many_segments_is_one_request);
	tcase_add_test(tc, the_request_of_the_greatest_number);
	tcase_add_test(tc, a_write_with_many_segments_is_one_request);
	tcase_add_test(tc, parts_of_equal_size);
	tcase_add_test(tc, a_stream_needs_no_flag);
	tcase_add_test(tc, parts_of_a_stream_need_no_fence);
	tcase_add_loop_test(tc, the_first_part_fails_before_the_others_start, 0, 2);
	tcase_add_loop_test(tc, parts_go_on_where_there_was_no_room, 0, 2);
	tcase_add_test(tc, a_message_with_many_segments_is_gathered);
	tcase_add_test(tc, a_message_without_a_buffer_waits);
	tcase_add_loop_test(tc, a_write_with_immediate_data_in_parts, 0, 2);
	tcase_add_loop_test(tc, immediate_data_follow_all_parts, RECORDS, WAYS);
	suite_add_tcase(suite, tc);

	tc = tcase_create("unordered");
	tcase_add_checked_fixture(tc, setup_unordered, teardown);
	tcase_add_test(tc, last_part_waits_for_the_others);
	tcase_add_test(tc, last_part_waits_for_all_parts);
	tcase_add_test(tc, only_writes_owe_a_last_part);
	tcase_add_test(tc, no_last_part_without_a_path);
	tcase_add_test(tc, a_refusal_is_tried_again);
	tcase_add_test(tc, more_writes_than_parts);
	tcase_add_test(tc, a_waiting_last_part_gets_room_later);
	tcase_add_test(tc, suppressed_writes_have_no_event);
	tcase_add_test(tc, a_failed_part_fails_the_write);
	tcase_add_test(tc, the_last_part_fails);
	tcase_add_test(tc, flushed_before_its_turn);
	tcase_add_test(tc, a_read_with_many_segments_is_one_request);
	tcase_add_test(tc, a_write_with_many_segments_is_one_request);
	tcase_add_test(tc, parts_of_equal_size);
	tcase_add_test(tc, parts_of_a_stream_need_no_fence);
	tcase_add_loop_test(tc, immediate_data_follow_all_parts, DEVICE, WAYS);
	tcase_add_loop_test(tc, parts_complete_in_any_order, 1, 101);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
