/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posts that copy from and to the peer's memory, and those that go by the ring in their place. */
#include "unit.h"

#include "cm/conn.h"
#include "dto/credit.h"
#include "object/ia.h"
#include "transport/memory_box.h"
#include "transport/memory_out.h"
#include "transport/memory_path.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <signal.h>

#define PENDING 4u
#define LENGTH  64u
#define TARGET  0x1234000u

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_conn conn;
static struct dofi_memory_segment segment;
static struct dofi_memory_pending pending[PENDING];
static struct dofi_memory_path path;
static struct dofi_ring_reader peer;
static union {
	struct dofi_wr wr;
	struct {
		char request[sizeof(struct dofi_wr)];
		struct iovec iov[DOFI_MEMORY_RANGES + 1];
	};
} request, second;
static struct dofi_wr *done[PENDING];
static uint32_t ndone;
static uint8_t bytes[DOFI_MEMORY_FETCHED];
static int copies, copy_err;
static uint64_t copy_length = LENGTH;
static uint32_t polls; /* of the peer during a copy */
static int wakes, kicks;

int __wrap_dofi_remote_write(const struct dofi_remote_process *process, const struct iovec *iov,
			     size_t skip, uint64_t address, size_t size);
int __wrap_dofi_remote_read(const struct dofi_remote_process *process, const struct iovec *iov,
			    size_t skip, uint64_t address, size_t size);

void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update);

void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update)
{
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(length, wr->length);
	ck_assert_uint_eq(number + update, 0);
	ck_assert_uint_lt(ndone, PENDING);
	done[ndone++] = wr;
}

void __wrap_dofi_wakeup_call(struct dofi_ia *of, const uint8_t *uuid);
void __wrap_dofi_wait_kick(struct dofi_ia *of);
void *__wrap_dofi_memory_source(struct dofi_memory_path *of,
				const struct dofi_memory_answer *answer, uint64_t at, size_t size);

void __wrap_dofi_wakeup_call(struct dofi_ia *of, const uint8_t *uuid)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(uuid, path.peer);
	wakes++;
}

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	kicks++;
}

/* What the peer reads: the bytes from the answer's address on, up to an end. */
static uint64_t source_end = sizeof(bytes);
static int sources;

void *__wrap_dofi_memory_source(struct dofi_memory_path *of,
				const struct dofi_memory_answer *answer, uint64_t at, size_t size)
{
	ck_assert_ptr_eq(of, &path);
	dofi_assert_held(&ia.engine.lock);
	sources++;
	return answer->address + at + size <= source_end ? bytes + answer->address + at : NULL;
}

static int copied(const struct dofi_remote_process *process, const struct iovec *iov, size_t skip,
		  uint64_t address, size_t size)
{
	ck_assert_ptr_eq(process, &path.process);
	ck_assert_ptr_eq(iov, request.iov);
	ck_assert_uint_eq(skip, 0);
	ck_assert_uint_eq(address, TARGET);
	ck_assert_uint_eq(size, copy_length);
	segment.marks[1].polls += polls;
	ck_assert_uint_eq(segment.marks[0].copying, 1);
	copies++;
	return copy_err;
}

int __wrap_dofi_remote_write(const struct dofi_remote_process *process, const struct iovec *iov,
			     size_t skip, uint64_t address, size_t size)
{
	ck_assert_int_ne(request.wr.op, DOFI_OP_READ);
	return copied(process, iov, skip, address, size);
}

int __wrap_dofi_remote_read(const struct dofi_remote_process *process, const struct iovec *iov,
			    size_t skip, uint64_t address, size_t size)
{
	ck_assert_int_eq(request.wr.op, DOFI_OP_READ);
	return copied(process, iov, skip, address, size);
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock(&ia.engine.lock);
	dofi_lock_init(&ep.lock);
	dofi_lock(&ep.lock);
	ep.obj.ia = &ia;
	ep.memory = &path;
	conn = (struct dofi_conn){.ia = &ia, .ep = &ep};
	path = (struct dofi_memory_path){.conn = &conn,
					 .out.ring = &segment.rings[0],
					 .ours = &segment.marks[0],
					 .theirs = &segment.marks[1],
					 .process.pid = 1,
					 .copies = true,
					 .pending = pending,
					 .pending_size = PENDING};
	peer = (struct dofi_ring_reader){.ring = &segment.rings[0]};
}

static struct dofi_wr *prepare(uint8_t op, uint64_t length)
{
	request.wr = (struct dofi_wr){.ep = &ep,
				      .op = op,
				      .state = DOFI_WR_ISSUED,
				      .niov = 1,
				      .length = length,
				      .rdma = {.remote = {.address = 77, .target = TARGET},
					       .context = 5}};
	request.iov[0] = (struct iovec){bytes, length};
	return &request.wr;
}

static void ring_has(uint8_t kind)
{
	struct dofi_cell cell;

	ck_assert_int_eq(dofi_ring_look(&peer, &cell), kind ? 1 : 0);
	if (!kind)
		return;
	ck_assert_int_eq(cell.kind, kind);
	dofi_ring_take(&peer, &cell);
}

/* The peer has taken nothing more. */
static void fill_ring(void)
{
	atomic_store(&segment.rings[0].taken, (uint64_t)peer.cells << 32 | peer.bytes);
	path.out.cells = peer.cells + DOFI_CELLS;
}

START_TEST(a_write_is_complete_at_once)
{
	struct dofi_wr *wr = prepare(DOFI_OP_WRITE, LENGTH);

	ck_assert_int_eq(dofi_memory_write(&ep, wr), 0);
	ck_assert_int_eq(copies, 1);
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
	ck_assert_uint_eq(path.pending_tail, 0);
	ck_assert_uint_eq(segment.marks[0].copying, 0);
	ring_has(0);
}
END_TEST

START_TEST(a_read_is_complete_at_once)
{
	struct dofi_wr *wr = prepare(DOFI_OP_READ, LENGTH);

	ck_assert_int_eq(dofi_memory_read(&ep, wr), 0);
	ck_assert_int_eq(copies, 1);
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
	ring_has(0);
}
END_TEST

/* What else belongs to the request comes later. */
START_TEST(a_part_completes_in_a_round)
{
	struct dofi_wr *wr = prepare(DOFI_OP_PART, LENGTH);

	ck_assert_int_eq(dofi_memory_write(&ep, wr), 0);
	ck_assert_int_eq(copies, 1);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	ck_assert_uint_eq(path.pending_tail, 1);
	ck_assert(!pending[0].waits);
	ck_assert_uint_eq(ia.engine.restless, 1);
}
END_TEST

START_TEST(a_notice_follows_the_write)
{
	ck_assert_int_eq(dofi_memory_write_data(&ep, prepare(DOFI_OP_WRITE_IMM, LENGTH), 9), 0);
	ck_assert_int_eq(copies, 1);
	ring_has(DOFI_CELL_CTRL);
	ring_has(0);
	ck_assert_uint_eq(path.pending_tail, 1);
}
END_TEST

/* Nothing is copied that its notice could not follow. */
START_TEST(a_notice_without_room)
{
	path.out.cells = DOFI_CELLS;
	ck_assert_int_eq(dofi_memory_write_data(&ep, prepare(DOFI_OP_WRITE_IMM, LENGTH), 9),
			 -FI_EAGAIN);
	ck_assert_int_eq(copies, 0);
}
END_TEST

static const int forbidden[] = {-EPERM, -ENOSYS};

/* The kernel may change its mind: the process gives rights up, or gets a filter. */
START_TEST(the_ring_carries_what_is_forbidden)
{
	struct dofi_wr *wr = prepare(DOFI_OP_WRITE, LENGTH);

	copy_err = forbidden[_i];
	ck_assert_int_eq(dofi_memory_write(&ep, wr), 0);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	ring_has(DOFI_CELL_WRITE);
	ck_assert_int_eq(dofi_memory_read(&ep, prepare(DOFI_OP_READ, LENGTH)), 0);
	ring_has(DOFI_CELL_READ);
	ck_assert_int_eq(copies, 1); /* and was not tried again */
	ck_assert_int_eq(path.fault, 0);
}
END_TEST

START_TEST(a_peer_that_is_over)
{
	segment.marks[1].over = 1;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), -FI_ENOTCONN);
	ck_assert_int_eq(copies, 0);
	ck_assert_int_eq(path.fault, 0);
	ck_assert_uint_eq(segment.marks[0].copying, 0);
	ck_assert_uint_eq(path.pending_tail, 0);
	ring_has(0);
}
END_TEST

START_TEST(a_peer_that_is_dead)
{
	copy_err = -ESRCH;
	ck_assert_int_eq(dofi_memory_read(&ep, prepare(DOFI_OP_READ, LENGTH)), -FI_ENOTCONN);
	ck_assert_int_eq(path.fault, 0);
}
END_TEST

START_TEST(memory_that_is_not_there)
{
	copy_err = -EFAULT;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), -FI_ENOTCONN);
	ck_assert_int_eq(path.fault, -EFAULT);
	ck_assert_uint_eq(ia.engine.restless, 1); /* a round tells the connection */
}
END_TEST

/* A request that takes several operations is complete when the last one is. */
START_TEST(a_request_without_room_waits)
{
	path.pending_tail = PENDING;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_read(&ep, prepare(DOFI_OP_READ, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(copies, 0);
	path.copies = false;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_read(&ep, prepare(DOFI_OP_READ, LENGTH)), -FI_EAGAIN);
	path.pending_tail = 0;
	path.waiting = DOFI_MEMORY_ANSWERS; /* the peer keeps so many */
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_read(&ep, prepare(DOFI_OP_READ, LENGTH)), -FI_EAGAIN);
	path.waiting = 0;
	path.out.cells = DOFI_CELLS;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_read(&ep, prepare(DOFI_OP_READ, LENGTH)), -FI_EAGAIN);
	ck_assert_uint_eq(path.pending_tail, 0);
}
END_TEST

START_TEST(a_notice_follows_a_write_through_the_ring)
{
	struct dofi_cell cell;

	path.copies = false;
	ck_assert_int_eq(dofi_memory_write_data(&ep, prepare(DOFI_OP_WRITE_IMM, LENGTH), 9), 0);
	ck_assert_int_eq(copies, 0);
	ring_has(DOFI_CELL_WRITE);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_int_eq(cell.kind, DOFI_CELL_CTRL);
	ck_assert_uint_eq(cell.words[0], 0); /* it has no record */
	ck_assert_uint_eq(cell.words[1], 9);
	ck_assert_uint_eq(cell.size, 0);
	ck_assert(pending[0].waits);
}
END_TEST

/* The last cell has room, and its notice has none: a round puts it. */
START_TEST(a_notice_behind_a_full_ring)
{
	path.copies = false;
	path.out.cells = DOFI_CELLS - 1;
	peer.cells = DOFI_CELLS - 1;
	ck_assert_int_eq(dofi_memory_write_data(&ep, prepare(DOFI_OP_WRITE_IMM, LENGTH), 9), 0);
	ring_has(DOFI_CELL_WRITE);
	ring_has(0);
	ck_assert(path.job.cell.kind && path.restless);
	ck_assert_uint_eq(path.pending_tail, 0);
	/* Nothing may overtake it. */
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, 8)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_credit(&ep, 1), -FI_EAGAIN);
}
END_TEST

START_TEST(small_records)
{
	static const uint64_t record = 1;
	struct dofi_cell cell;

	ck_assert_int_eq(dofi_memory_ctrl_msg(&ep, &record, sizeof(record)), 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_uint_eq(cell.size, sizeof(record));
	ring_has(DOFI_CELL_CTRL_MSG);
	ck_assert_int_eq(dofi_memory_ctrl(&ep, &record, sizeof(record), 16, 0, 3), 0);
	ring_has(DOFI_CELL_CTRL);
	ck_assert_int_eq(dofi_memory_credit(&ep, 3), 0);
	ring_has(DOFI_CELL_CREDIT);
	fill_ring();
	ck_assert_int_eq(dofi_memory_ctrl_msg(&ep, &record, sizeof(record)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_ctrl(&ep, &record, sizeof(record), 16, 0, 3), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_credit(&ep, 3), -FI_EAGAIN);
}
END_TEST

START_TEST(a_look_at_the_peers_table)
{
	uint64_t entry;

	ck_assert_int_eq(dofi_memory_peek(&ep, prepare(DOFI_OP_READ, LENGTH), &entry, sizeof(entry),
					  NULL, 64, 0),
			 0);
	ring_has(DOFI_CELL_ENTRY);
	ck_assert_ptr_eq(pending[0].place.iov_base, &entry);
	ck_assert_uint_eq(path.waiting, 1);
	path.waiting = DOFI_MEMORY_ANSWERS;
	ck_assert_int_eq(dofi_memory_peek(&ep, prepare(DOFI_OP_READ, LENGTH), &entry, sizeof(entry),
					  NULL, 64, 0),
			 -FI_EAGAIN);
}
END_TEST

/* A peer that says it has taken cells that it did not get. */
START_TEST(an_impossible_index_ends_the_path)
{
	path.out.cells = DOFI_CELLS;
	atomic_store(&segment.rings[0].taken, (uint64_t)(DOFI_CELLS + 1) << 32);
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(path.fault, -EPROTO);
}
END_TEST

/* --- boxes --- */

static enum dofi_box_state box_answer;
static int nasked;
static bool box_is_done;

enum dofi_box_state __wrap_dofi_box_ask(struct dofi_memory_path *of, struct dofi_wr *wr);
bool __wrap_dofi_box_is_done(struct dofi_memory_path *of, struct dofi_wr *wr);

enum dofi_box_state __wrap_dofi_box_ask(struct dofi_memory_path *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &path);
	ck_assert_ptr_eq(wr, &request.wr);
	nasked++;
	return box_answer;
}

bool __wrap_dofi_box_is_done(struct dofi_memory_path *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &path);
	ck_assert_ptr_eq(wr, &request.wr);
	return box_is_done;
}

START_TEST(a_peer_that_polls_serves_its_box)
{
	struct dofi_wr *wr = prepare(DOFI_OP_WRITE, LENGTH);

	path.polled = true;
	box_answer = DOFI_BOX_DONE;
	ck_assert_int_eq(dofi_memory_write(&ep, wr), 0);
	ck_assert_int_eq(nasked, 1);
	ck_assert_int_eq(copies, 0);
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
	ck_assert(path.polled);
}
END_TEST

START_TEST(a_box_that_nobody_serves)
{
	struct dofi_wr *wr = prepare(DOFI_OP_WRITE, LENGTH);

	path.polled = true;
	path.enough_polls = 4;
	box_answer = DOFI_BOX_IDLE;
	ck_assert_int_eq(dofi_memory_write(&ep, wr), 0);
	ck_assert_int_eq(copies, 1);
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
	ck_assert(!path.polled);
	ck_assert_uint_eq(path.enough_polls, 8); /* from now on it has to poll more */
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), 0);
	ck_assert_int_eq(nasked, 1);
}
END_TEST

START_TEST(a_peer_that_never_polls_enough)
{
	path.polled = true;
	path.enough_polls = 65536;
	box_answer = DOFI_BOX_IDLE;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), 0);
	ck_assert_uint_eq(path.enough_polls, 65536); /* the count has an end */
}
END_TEST

/* The peer has begun and stops. The request is complete when it goes on. */
START_TEST(a_box_that_takes_long)
{
	path.polled = true;
	box_answer = DOFI_BOX_TAKEN;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), 0);
	ck_assert_ptr_eq(path.boxed, &pending[0]);
	ck_assert_int_eq(dofi_memory_write(&ep, &request.wr), -FI_EAGAIN);
	ck_assert_int_eq(copies, 0);
	dofi_unlock(&ep.lock);
	ck_assert_ptr_null(dofi_memory_asked(&path)); /* no cell answers it */
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ck_assert_uint_eq(ia.engine.restless, 1);
	box_is_done = true;
	ck_assert_int_eq(dofi_memory_go_on(&path), 1);
	ck_assert_ptr_eq(done[0], &request.wr);
	ck_assert_ptr_null(path.boxed);
	ck_assert_uint_eq(ia.engine.restless, 0);
}
END_TEST

/* --- messages --- */

START_TEST(an_empty_message_is_complete_at_once)
{
	struct dofi_wr *wr = prepare(DOFI_OP_SEND, 0);

	struct dofi_cell cell;

	ep.credit_mode = 1;
	ck_assert_int_eq(dofi_memory_send_empty(&ep, wr), 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_int_eq(cell.flags, DOFI_CELL_FIRST | DOFI_CELL_LAST);
	ck_assert_uint_eq(cell.words[0], 0);
	ck_assert_uint_eq(cell.size, 0);
	ring_has(DOFI_CELL_SEND);
	fill_ring();
	ck_assert_int_eq(dofi_memory_send_empty(&ep, wr), -FI_EAGAIN);
}
END_TEST

/* The last word stays whole, because the peer may watch it. */
START_TEST(the_last_cell_has_a_whole_word)
{
	struct dofi_cell cell;

	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, DOFI_CELL_MAX + 4)), 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_uint_eq(cell.size, DOFI_CELL_MAX - 8);
	dofi_ring_take(&peer, &cell);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_uint_eq(cell.size, 12);
	ck_assert(cell.flags & DOFI_CELL_LAST);
}
END_TEST

/* The peer checks the context of the request that the part belongs to. */
START_TEST(a_part_through_the_ring)
{
	struct dofi_wr *wr = prepare(DOFI_OP_PART, LENGTH);
	struct dofi_cell cell;

	second.wr = (struct dofi_wr){.ep = &ep, .op = DOFI_OP_WRITE, .rdma.context = 9};
	ep.req = (struct dofi_ring){.base = (char *)&second, .stride = sizeof(second)};
	wr->part.request = 0;
	path.copies = false;
	ck_assert_int_eq(dofi_memory_write(&ep, wr), 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_int_eq(cell.kind, DOFI_CELL_WRITE);
	ck_assert_uint_eq(cell.words[1], 9);
}
END_TEST

/* The bytes of the write are in another operation. */
START_TEST(the_message_of_immediate_data_is_empty)
{
	struct dofi_cell cell;

	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_WRITE_IMM, LENGTH)), 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_int_eq(cell.kind, DOFI_CELL_SEND);
	ck_assert_uint_eq(cell.size, 0);
	ck_assert_uint_eq(cell.words[0], 0);
}
END_TEST

START_TEST(a_short_message_is_complete_at_once)
{
	static const uint64_t lengths[] = {
		0, 1, 8, DOFI_CELL_INLINE, DOFI_CELL_INLINE + 1, LENGTH, DOFI_CELL_MAX};
	uint8_t got[DOFI_CELL_MAX];
	struct dofi_cell cell;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct dofi_wr *wr = prepare(DOFI_OP_SEND, lengths[i]);

		ck_assert_int_eq(dofi_memory_send(&ep, wr), 0);
		ck_assert_int_eq(wr->state, DOFI_WR_DONE);
		ck_assert_uint_eq(path.pending_tail, 0);
		ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
		ck_assert_int_eq(cell.kind, DOFI_CELL_SEND);
		ck_assert_int_eq(cell.flags, DOFI_CELL_FIRST | DOFI_CELL_LAST);
		ck_assert_uint_eq(cell.size, lengths[i]);
		ck_assert_uint_eq(cell.words[0], lengths[i]);
		dofi_ring_read(&peer, &cell, 0, got, cell.size);
		ck_assert_mem_eq(got, bytes, cell.size);
		dofi_ring_take(&peer, &cell);
	}
	fill_ring();
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, 8)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, LENGTH)), -FI_EAGAIN);
}
END_TEST

/* Its buffer is given back by a round. */
START_TEST(a_message_from_a_bounce_buffer)
{
	struct dofi_wr *wr = prepare(DOFI_OP_SEND, LENGTH);

	wr->split = 1;
	ck_assert_int_eq(dofi_memory_send(&ep, wr), 0);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	ck_assert_uint_eq(path.pending_tail, 1);
	ring_has(DOFI_CELL_SEND);
}
END_TEST

START_TEST(long_messages_are_fetched)
{
	struct dofi_wr *wr = prepare(DOFI_OP_SEND, DOFI_MEMORY_FETCHED);

	segment.marks[1].fetches = 1;
	ck_assert_int_eq(dofi_memory_send(&ep, wr), 0);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	ck_assert_uint_eq(path.waiting, 1);
	ring_has(DOFI_CELL_PLACES);
	ring_has(0);
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, LENGTH)), 0);
	ring_has(DOFI_CELL_SEND);
}
END_TEST

START_TEST(long_messages_for_one_that_cannot_fetch)
{
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, DOFI_MEMORY_FETCHED)), 0);
	ring_has(DOFI_CELL_SEND);
}
END_TEST

/* A message with more segments than a cell can name goes through the ring, as a shorter one does.
 */
START_TEST(a_fetched_message_names_each_of_its_segments)
{
	static const struct {
		uint16_t niov;
		unsigned int missing; /* bytes to the shortest one that is fetched */
		uint8_t kind;
	} cases[] = {{1, 0, DOFI_CELL_PLACES},
		     {2, 0, DOFI_CELL_PLACES},
		     {DOFI_MEMORY_RANGES, 0, DOFI_CELL_PLACES},
		     {DOFI_MEMORY_RANGES + 1, 0, DOFI_CELL_SEND},
		     {1, 1, DOFI_CELL_SEND}};
	uint16_t niov = cases[_i].niov;
	size_t length = DOFI_MEMORY_FETCHED - cases[_i].missing;
	struct dofi_memory_range named[DOFI_MEMORY_RANGES];
	struct dofi_wr *wr = prepare(DOFI_OP_SEND, length);
	struct dofi_cell cell;

	wr->niov = niov;
	for (uint16_t i = 0; i < niov; i++)
		request.iov[i] = (struct iovec){bytes + i, i + 1u};
	request.iov[niov - 1] = (struct iovec){bytes, length - niov * (niov - 1u) / 2};
	segment.marks[1].fetches = 1;
	ck_assert_int_eq(dofi_memory_send(&ep, wr), 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_int_eq(cell.kind, cases[_i].kind);
	ck_assert_uint_eq(cell.words[0], length);
	if (cell.kind != DOFI_CELL_PLACES)
		return;
	ck_assert_uint_eq(cell.size, niov * sizeof(named[0]));
	dofi_ring_read(&peer, &cell, 0, named, cell.size);
	for (uint16_t i = 0; i < niov; i++) {
		ck_assert_uint_eq(named[i].address, (uintptr_t)request.iov[i].iov_base);
		ck_assert_uint_eq(named[i].size, request.iov[i].iov_len);
	}
}
END_TEST

/* The peer keeps so many answers. */
START_TEST(too_many_answers)
{
	segment.marks[1].fetches = 1;
	path.waiting = DOFI_MEMORY_ANSWERS;
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, DOFI_MEMORY_FETCHED)),
			 -FI_EAGAIN);
	ring_has(0);
}
END_TEST

/* --- completions --- */

static void post_from_bounce_buffer(void)
{
	second.wr = (struct dofi_wr){.ep = &ep,
				     .op = DOFI_OP_SEND,
				     .state = DOFI_WR_ISSUED,
				     .split = 1,
				     .niov = 1,
				     .length = LENGTH};
	second.iov[0] = (struct iovec){bytes, LENGTH};
	ck_assert_int_eq(dofi_memory_send(&ep, &second.wr), 0);
}

/* Nothing else would complete it, as both sides may be asleep. */
START_TEST(an_answer_completes_what_waits_behind_it)
{
	path.copies = false;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), 0);
	post_from_bounce_buffer();
	dofi_unlock(&ep.lock);
	dofi_memory_asked(&path)->answered = true;
	dofi_memory_answered(&path);
	ck_assert_uint_eq(ndone, 2);
	ck_assert_ptr_eq(done[0], &request.wr);
	ck_assert_ptr_eq(done[1], &second.wr);
	ck_assert_uint_eq(path.pending_head, path.pending_tail);
	ck_assert_uint_eq(ia.engine.restless, 0);
	ck_assert(dofi_trylock(&ep.lock)); /* nobody holds it */
}
END_TEST

START_TEST(what_waits_for_an_answer_is_not_complete)
{
	path.copies = false;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), 0);
	post_from_bounce_buffer();
	dofi_unlock(&ep.lock);
	dofi_memory_go_on(&path);
	ck_assert_uint_eq(ndone, 0);
	ck_assert_uint_eq(ia.engine.restless, 0);
	ck_assert(dofi_trylock(&ep.lock)); /* nobody holds it */
}
END_TEST

/* --- the end --- */

START_TEST(the_end_waits_for_copies)
{
	path.pid = getpid();
	ck_assert(!dofi_memory_path_cancel(&path));
	ck_assert_uint_eq(segment.marks[0].over, 1);
	segment.marks[1].copying = 1;
	ck_assert(dofi_memory_path_cancel(&path));
	segment.marks[1].copying = 0;
	ck_assert(!dofi_memory_path_cancel(&path));
}
END_TEST

START_TEST(the_dead_copy_nothing)
{
	siginfo_t info;

	path.pid = fork();
	if (!path.pid)
		_exit(0);
	ck_assert_int_eq(waitid(P_PID, (id_t)path.pid, &info, WEXITED | WNOWAIT), 0);
	segment.marks[1].copying = 1;
	ck_assert(!dofi_memory_path_cancel(&path));
	ck_assert_int_eq(waitpid(path.pid, NULL, 0), path.pid);
}
END_TEST

/* --- cells --- */

/* Takes cells until there are none: their number. Compares their bytes with those of `bytes`. */
static unsigned int take_cells(uint8_t kind, uint64_t length)
{
	static uint8_t got[DOFI_CELL_MAX];
	struct dofi_cell cell;
	uint64_t taken = 0;
	unsigned int n = 0;

	for (; dofi_ring_look(&peer, &cell) == 1 && cell.kind == kind; n++) {
		dofi_ring_read(&peer, &cell, 0, got, cell.size);
		ck_assert_mem_eq(got, bytes + taken, cell.size);
		ck_assert_int_eq((cell.flags & DOFI_CELL_FIRST) != 0, !taken);
		if (kind == DOFI_CELL_WRITE)
			ck_assert_uint_eq(cell.words[0], 77 + taken);
		taken += cell.size;
		ck_assert_int_eq((cell.flags & DOFI_CELL_LAST) != 0, taken == length);
		if (n && taken == length)
			ck_assert_uint_ge(cell.size, 8); /* the last word is whole */
		dofi_ring_take(&peer, &cell);
	}
	ck_assert_uint_eq(taken, length);
	return n;
}

static void fill_bytes(void)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
}

START_TEST(requests_in_several_cells)
{
	static const struct {
		uint64_t length;
		unsigned int n;
	} cells[] = {{1, 1},
		     {DOFI_CELL_MAX - 1, 1},
		     {DOFI_CELL_MAX, 1},
		     {DOFI_CELL_MAX + 1, 2},
		     {DOFI_CELL_MAX + 7, 2},
		     {DOFI_CELL_MAX + 8, 2},
		     {2 * DOFI_CELL_MAX, 2},
		     {2 * DOFI_CELL_MAX + 1, 3},
		     {3 * DOFI_CELL_MAX + 8, 4}};
	uint64_t length = cells[_i].length;

	fill_bytes();
	path.copies = false;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, length)), 0);
	ck_assert_uint_eq(take_cells(DOFI_CELL_WRITE, length), cells[_i].n);
	ck_assert_int_eq(request.wr.state, DOFI_WR_ISSUED);
	ck_assert_uint_eq(path.waiting, 1);
	ck_assert_uint_eq(ia.engine.restless, 0);
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, length)), 0);
	ck_assert_uint_eq(take_cells(DOFI_CELL_SEND, length), cells[_i].n);
	ck_assert_int_eq(request.wr.state, DOFI_WR_DONE);
	ck_assert_uint_eq(path.pending_tail, 1);
	ck_assert_uint_eq(path.waiting, 1);
}
END_TEST

/* A round puts what had no room, and completes the message; nothing overtakes it. */
START_TEST(a_message_that_a_round_ends)
{
	uint64_t length = DOFI_MEMORY_FETCHED - 1;

	fill_bytes();
	path.out.cells = peer.cells = DOFI_CELLS - 2;
	segment.marks[1].asleep = 1;
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, length)), 0);
	ck_assert_int_eq(request.wr.state, DOFI_WR_ISSUED);
	ck_assert_uint_eq(path.job.done, 2 * DOFI_CELL_MAX);
	ck_assert(path.restless);
	ck_assert_uint_eq(ia.engine.restless, 1);
	ck_assert_int_eq(kicks, 1);
	ck_assert_int_eq(wakes, 1); /* the peer has to make room */
	dofi_unlock(&ep.lock);
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ck_assert_uint_eq(path.job.done, 2 * DOFI_CELL_MAX);
	atomic_store(&segment.rings[0].taken, (uint64_t)(DOFI_CELLS - 2) << 32);
	segment.marks[1].asleep = 1;
	ck_assert_int_eq(dofi_memory_go_on(&path), 1);
	ck_assert_int_eq(wakes, 2);
	ck_assert_ptr_eq(done[0], &request.wr);
	ck_assert_int_eq(path.job.cell.kind, 0);
	ck_assert_uint_eq(ia.engine.restless, 0);
	ck_assert_uint_eq(take_cells(DOFI_CELL_SEND, length), 4);
	ck_assert_int_eq(kicks, 1);
}
END_TEST

/* A write that a round ends waits for its answer. */
START_TEST(a_write_that_a_round_ends)
{
	fill_bytes();
	path.copies = false;
	path.out.cells = peer.cells = DOFI_CELLS - 1;
	ck_assert_int_eq(dofi_memory_write_data(&ep, prepare(DOFI_OP_WRITE_IMM, DOFI_CELL_MAX + 20),
						9),
			 0);
	dofi_unlock(&ep.lock);
	atomic_store(&segment.rings[0].taken, (uint64_t)(DOFI_CELLS - 1) << 32);
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ck_assert_uint_eq(take_cells(DOFI_CELL_WRITE, DOFI_CELL_MAX + 20), 2);
	ring_has(DOFI_CELL_CTRL);
	ring_has(0);
	ck_assert_uint_eq(path.waiting, 1);
	ck_assert(pending[0].waits);
	ck_assert_uint_eq(ia.engine.restless, 0);
	dofi_memory_asked(&path)->answered = true;
	dofi_memory_answered(&path);
	ck_assert_uint_eq(ndone, 1);
	ck_assert_uint_eq(path.waiting, 0);
}
END_TEST

/* A faulty path puts nothing more. */
START_TEST(a_round_of_a_faulty_path)
{
	path.answers_tail = 1;
	path.fault = -EPROTO;
	dofi_unlock(&ep.lock);
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ring_has(0);
	ck_assert_uint_eq(path.answers_head, 0);
}
END_TEST

/* --- answers to the peer --- */

START_TEST(answers_in_their_order)
{
	struct dofi_cell cell;

	fill_bytes();
	path.answers_head = DOFI_MEMORY_ANSWERS - 1; /* the list has wrapped */
	path.answers_tail = DOFI_MEMORY_ANSWERS + 2;
	path.answers[DOFI_MEMORY_ANSWERS - 1].length = 2 * DOFI_CELL_MAX + 30;
	path.answers[1] = (struct dofi_memory_answer){.address = 0, .length = 20};
	segment.marks[1].asleep = 1;
	dofi_unlock(&ep.lock);
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ck_assert_int_eq(sources, 4); /* for each cell with bytes */
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
		ck_assert_int_eq(cell.kind, DOFI_CELL_DATA);
		ck_assert_int_eq(cell.flags,
				 (i == 0 ? DOFI_CELL_FIRST : 0) | (i == 2 ? DOFI_CELL_LAST : 0));
		ck_assert_uint_eq(cell.size, i < 2 ? DOFI_CELL_MAX : 30);
		dofi_ring_take(&peer, &cell);
	}
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_uint_eq(cell.size, 0); /* a write of the peer is stored */
	ck_assert_int_eq(cell.flags, DOFI_CELL_FIRST | DOFI_CELL_LAST);
	dofi_ring_take(&peer, &cell);
	ck_assert_uint_eq(take_cells(DOFI_CELL_DATA, 20), 1);
	ck_assert_uint_eq(path.answers_head, path.answers_tail);
	ck_assert_int_eq(path.job.cell.kind, 0);
	ck_assert_uint_eq(ia.engine.restless, 0);
	ck_assert_int_eq(wakes, 1);
}
END_TEST

/* The owner may free it between two cells. */
START_TEST(memory_that_ends_during_an_answer)
{
	source_end = DOFI_CELL_MAX;
	path.answers_tail = 1;
	path.answers[0].length = DOFI_CELL_MAX + 30;
	dofi_unlock(&ep.lock);
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ck_assert_int_eq(path.fault, -EACCES);
	ring_has(DOFI_CELL_DATA);
	ring_has(0);
	ck_assert_uint_eq(ia.engine.restless, 1); /* a round tells the connection */
}
END_TEST

START_TEST(an_answer_without_room)
{
	struct dofi_wr *wr = prepare(DOFI_OP_SEND, 8);

	path.out.cells = peer.cells = DOFI_CELLS;
	path.answers_tail = 1;
	path.answers[0].length = 30;
	dofi_unlock(&ep.lock);
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ck_assert_uint_eq(path.answers_head, 0);
	ck_assert(path.restless);
	dofi_lock(&ep.lock);
	atomic_store(&segment.rings[0].taken, (uint64_t)DOFI_CELLS << 32);
	ck_assert_int_eq(dofi_memory_send(&ep, wr), -FI_EAGAIN); /* it does not overtake */
	ck_assert_int_eq(dofi_memory_send_empty(&ep, wr), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_credit(&ep, 1), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, DOFI_CELL_MAX + 1)),
			 -FI_EAGAIN);
	path.copies = false;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_write_data(&ep, prepare(DOFI_OP_WRITE_IMM, LENGTH), 9),
			 -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_read(&ep, prepare(DOFI_OP_READ, LENGTH)), -FI_EAGAIN);
	ck_assert_uint_eq(path.pending_tail, 0);
	dofi_unlock(&ep.lock);
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ck_assert_uint_eq(take_cells(DOFI_CELL_DATA, 30), 1);
	ck_assert_uint_eq(path.answers_head, 1);
	ck_assert(!path.restless);
}
END_TEST

/* --- what a cell says --- */

static uint64_t second_word(uint8_t kind)
{
	struct dofi_cell cell;

	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_int_eq(cell.kind, kind);
	dofi_ring_take(&peer, &cell);
	return cell.words[1];
}

#define CREDITS(n) (DOFI_UPDATE_CREDIT | (uint64_t)(n) << DOFI_UPDATE_CREDIT_SHIFT)

/* Each message tells how many receives this side has issued; only what was sent has told it. */
START_TEST(messages_carry_credits)
{
	static const uint64_t lengths[] = {8, LENGTH, DOFI_CELL_MAX + 1, DOFI_MEMORY_FETCHED};
	uint32_t issued = 5;

	segment.marks[1].fetches = 1;
	for (size_t i = 0; i < 4; i++) {
		ep.recv.issue = issued;
		ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, lengths[i])), 0);
		ck_assert_uint_eq(second_word(i == 3 ? DOFI_CELL_PLACES : DOFI_CELL_SEND), 0);
		ck_assert_uint_eq(ep.announced, 0); /* the fabric needs no credits */
		peer.cells = path.out.cells;
		peer.bytes = path.out.bytes;
	}
	ep.credit_mode = DOFI_CREDITS_CARRIED;
	for (size_t i = 0; i < 4; i++, issued++) {
		ep.recv.issue = issued;
		ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, lengths[i])), 0);
		ck_assert_uint_eq(second_word(i == 3 ? DOFI_CELL_PLACES : DOFI_CELL_SEND),
				  CREDITS(issued));
		ck_assert_uint_eq(ep.announced, issued);
		peer.cells = path.out.cells;
		peer.bytes = path.out.bytes;
		path.pending_head = path.pending_tail;
		path.waiting = 0;
	}
	ep.recv.issue = issued;
	ck_assert_int_eq(dofi_memory_send_empty(&ep, prepare(DOFI_OP_SEND, 0)), 0);
	ck_assert_uint_eq(second_word(DOFI_CELL_SEND), CREDITS(issued));
	ck_assert_uint_eq(ep.announced, issued);
	fill_ring();
	ep.recv.issue = issued + 1;
	ck_assert_int_eq(dofi_memory_send_empty(&ep, &request.wr), -FI_EAGAIN);
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, 8)), -FI_EAGAIN);
	ck_assert_uint_eq(ep.announced, issued);
}
END_TEST

/* The receiver notifies for a solicited message, if its program wants that. */
START_TEST(flags_of_messages)
{
	struct dofi_wr *wr;

	for (int wants = 0; wants < 2; wants++)
		for (int solicited = 0; solicited < 2; solicited++) {
			ep.peer.wants_solicited = wants;
			wr = prepare(DOFI_OP_SEND, LENGTH);
			wr->flags = solicited ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0;
			ck_assert_int_eq(dofi_memory_send(&ep, wr), 0);
			ck_assert_uint_eq(second_word(DOFI_CELL_SEND),
					  wants && solicited ? DOFI_UPDATE_SOLICITED : 0);
			ck_assert_int_eq(dofi_memory_send_empty(&ep, wr), 0);
			ck_assert_uint_eq(second_word(DOFI_CELL_SEND),
					  wants && solicited ? DOFI_UPDATE_SOLICITED : 0);
		}
}
END_TEST

/* A message with a control message says so; where there are records it does not. */
START_TEST(messages_that_control_messages_belong_to)
{
	static struct dofi_ctrl_msgs *const any = (void *)&ia;
	static const uint8_t ops[] = {DOFI_OP_SEND, DOFI_OP_WRITE_IMM};

	for (int msgs = 0; msgs < 2; msgs++)
		for (int i = 0; i < 2; i++) {
			ep.ctrl_msgs = msgs ? any : NULL;
			ck_assert_int_eq(dofi_memory_send(&ep, prepare(ops[i], LENGTH)), 0);
			ck_assert_uint_eq(second_word(DOFI_CELL_SEND),
					  msgs && i ? DOFI_UPDATE_CTRL_MSG : 0);
		}
}
END_TEST

/* Where the memory is, which one it is, and how much; offsets in the table of contexts. */
START_TEST(what_the_peer_is_asked_for)
{
	struct dofi_cell cell;
	uint64_t length = 0, entry;

	path.copies = false;
	ck_assert_int_eq(dofi_memory_read(&ep, prepare(DOFI_OP_READ, LENGTH)), 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_int_eq(cell.kind, DOFI_CELL_READ);
	ck_assert_uint_eq(cell.words[0], 77);
	ck_assert_uint_eq(cell.words[1], 5);
	ck_assert_uint_eq(cell.size, sizeof(length));
	dofi_ring_read(&peer, &cell, 0, &length, sizeof(length));
	ck_assert_uint_eq(length, LENGTH);
	ck_assert_uint_eq(pending[0].length, LENGTH);
	ck_assert_ptr_eq(pending[0].iov, request.iov);
	ck_assert(pending[0].waits);
	dofi_ring_take(&peer, &cell);
	ep.peer.ctxtab_address = 1000;
	ck_assert_int_eq(dofi_memory_peek(&ep, prepare(DOFI_OP_READ, LENGTH), &entry, sizeof(entry),
					  NULL, 1064, 0),
			 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_int_eq(cell.kind, DOFI_CELL_ENTRY);
	ck_assert_uint_eq(cell.words[0], 64);
	ck_assert_uint_eq(pending[1].length, sizeof(entry));
	ck_assert_uint_eq(pending[1].place.iov_len, sizeof(entry));
	ck_assert_ptr_null(pending[1].iov);
	ck_assert_uint_eq(path.waiting, 2);
	ck_assert_int_eq(dofi_memory_ctrl(&ep, &entry, 4, 16, 0, 3), 0);
	dofi_ring_take(&peer, &cell);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_uint_eq(cell.words[0], 16);
	ck_assert_uint_eq(cell.words[1], 3);
	ck_assert_uint_eq(cell.size, 4);
	dofi_ring_take(&peer, &cell);
	ck_assert_int_eq(dofi_memory_credit(&ep, 44), 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_uint_eq(cell.words[0], 44);
	ck_assert_uint_eq(cell.size, 0);
	ck_assert_int_eq(dofi_memory_recv(&ep, &request.wr), 0);
}
END_TEST

/* Each post wakes a peer that sleeps, once. */
START_TEST(a_sleeping_peer_is_woken)
{
	uint64_t entry = 0;

	path.copies = false;
	path.pending_size = PENDING;
	for (int i = 0; i < 8; i++) {
		ssize_t ret = 1;

		wakes = 0;
		path.pending_head = path.pending_tail;
		segment.marks[1].asleep = _i != 0;
		if (i == 0)
			ret = dofi_memory_send(&ep, prepare(DOFI_OP_SEND, 8));
		else if (i == 1)
			ret = dofi_memory_send(&ep, prepare(DOFI_OP_SEND, LENGTH));
		else if (i == 2)
			ret = dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH));
		else if (i == 3)
			ret = dofi_memory_read(&ep, prepare(DOFI_OP_READ, LENGTH));
		else if (i == 4)
			ret = dofi_memory_ctrl(&ep, &entry, 8, 16, 0, 3);
		else if (i == 5)
			ret = dofi_memory_credit(&ep, 1);
		else if (i == 6)
			ret = dofi_memory_send_empty(&ep, prepare(DOFI_OP_SEND, 0));
		path.copies = i >= 6;
		if (i == 7)
			ret = dofi_memory_write_data(&ep, prepare(DOFI_OP_WRITE_IMM, LENGTH), 9);
		ck_assert_int_eq(ret, 0);
		ck_assert_int_eq(wakes, _i);
		ck_assert_uint_eq(segment.marks[1].asleep, 0);
	}
}
END_TEST

/* --- the pace --- */

/* The thread that drives the engine learns that this path needs rounds, and that it does not. */
START_TEST(the_pace_is_told_once)
{
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_PART, LENGTH)), 0);
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_PART, LENGTH)), 0);
	ck_assert_uint_eq(ia.engine.restless, 1);
	ck_assert_int_eq(kicks, 1);
	dofi_unlock(&ep.lock);
	ck_assert_int_eq(dofi_memory_go_on(&path), 2);
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ck_assert_uint_eq(ia.engine.restless, 0);
	ck_assert_int_eq(kicks, 1);
	ck_assert_uint_eq(path.pending_head, 2);
	ck_assert_uint_eq(path.waiting, 0);
}
END_TEST

/* A peer that polled often enough during a copy is asked by its box next. */
START_TEST(a_peer_that_polls_during_a_copy)
{
	static const struct {
		uint64_t length;
		uint32_t polls;
		bool polled;
	} cases[] = {{LENGTH, 2, false},
		     {LENGTH, 3, true},
		     {LENGTH, 9, true},
		     {DOFI_BOX_MOST, 3, true},
		     {DOFI_BOX_MOST + 1, 3, false},
		     {LENGTH, 0, false}};

	path.enough_polls = 3;
	segment.marks[1].polls = UINT32_MAX - 1; /* the count wraps */
	copy_length = cases[_i].length;
	polls = cases[_i].polls;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, copy_length)), 0);
	ck_assert_int_eq(path.polled, cases[_i].polled);
	ck_assert_int_eq(nasked, 0);
	ck_assert_int_eq(copies, 1);
	/* a long one goes by the kernel whatever the peer does */
	path.polled = true;
	copy_length = DOFI_BOX_MOST + 1;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, copy_length)), 0);
	ck_assert_int_eq(nasked, 0);
	ck_assert(!path.polled);
}
END_TEST

/* After a box that is served, few polls are enough again. */
START_TEST(the_count_of_enough_polls)
{
	path.enough_polls = 64;
	path.polled = true;
	box_answer = DOFI_BOX_DONE;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), 0);
	ck_assert_uint_eq(path.enough_polls, DOFI_BOX_POLLS);
	path.enough_polls = 64;
	box_answer = DOFI_BOX_TAKEN;
	ck_assert_int_eq(dofi_memory_read(&ep, prepare(DOFI_OP_READ, LENGTH)), 0);
	ck_assert_uint_eq(path.enough_polls, DOFI_BOX_POLLS);
	ck_assert(path.polled);
	ck_assert(pending[0].boxed && pending[0].waits);
	ck_assert_uint_eq(path.waiting, 1);
	ck_assert_uint_eq(ia.engine.restless, 1); /* a round looks whether it is done */
}
END_TEST

/* --- what the peer answers --- */

/* The first one that waits and is not answered, in the order of posts. */
START_TEST(the_request_that_is_answered_next)
{
	dofi_unlock(&ep.lock);
	ck_assert_ptr_null(dofi_memory_asked(&path));
	path.pending_head = PENDING - 1;
	path.pending_tail = PENDING + 3;
	ck_assert_ptr_null(dofi_memory_asked(&path));
	pending[PENDING - 1].waits = pending[PENDING - 1].answered = true;
	pending[0].waits = pending[0].boxed = true;
	ck_assert_ptr_null(dofi_memory_asked(&path));
	pending[1].waits = pending[2].waits = true;
	ck_assert_ptr_eq(dofi_memory_asked(&path), &pending[1]);
	pending[1].answered = true;
	ck_assert_ptr_eq(dofi_memory_asked(&path), &pending[2]);
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
}
END_TEST

/* Of an operation, or of the request that a part belongs to. */
START_TEST(what_a_request_does)
{
	static const uint8_t ops[] = {DOFI_OP_READ, DOFI_OP_WRITE, DOFI_OP_WRITE_IMM};

	ep.req = (struct dofi_ring){.base = (char *)&second, .stride = sizeof(second)};
	for (size_t i = 0; i < 3; i++) {
		ck_assert_int_eq(dofi_memory_reads(prepare(ops[i], LENGTH)), !i);
		ck_assert_uint_eq(dofi_memory_context_of(&request.wr), 5);
		second.wr = (struct dofi_wr){.ep = &ep, .op = ops[i], .rdma.context = 9};
		prepare(DOFI_OP_PART, LENGTH)->part.request = 0;
		ck_assert_int_eq(dofi_memory_reads(&request.wr), !i);
		ck_assert_uint_eq(dofi_memory_context_of(&request.wr), 9);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_out");
	TCase *tcase = tcase_create("memory_out");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_write_is_complete_at_once);
	tcase_add_test(tcase, a_read_is_complete_at_once);
	tcase_add_test(tcase, a_part_completes_in_a_round);
	tcase_add_test(tcase, a_notice_follows_the_write);
	tcase_add_test(tcase, a_notice_without_room);
	tcase_add_loop_test(tcase, the_ring_carries_what_is_forbidden, 0, 2);
	tcase_add_test(tcase, a_peer_that_is_over);
	tcase_add_test(tcase, a_peer_that_is_dead);
	tcase_add_test(tcase, memory_that_is_not_there);
	tcase_add_test(tcase, a_request_without_room_waits);
	tcase_add_test(tcase, a_notice_follows_a_write_through_the_ring);
	tcase_add_test(tcase, a_notice_behind_a_full_ring);
	tcase_add_test(tcase, small_records);
	tcase_add_test(tcase, a_look_at_the_peers_table);
	tcase_add_test(tcase, an_impossible_index_ends_the_path);
	tcase_add_test(tcase, a_peer_that_polls_serves_its_box);
	tcase_add_test(tcase, a_box_that_nobody_serves);
	tcase_add_test(tcase, a_box_that_takes_long);
	tcase_add_test(tcase, a_peer_that_never_polls_enough);
	tcase_add_test(tcase, the_last_cell_has_a_whole_word);
	tcase_add_test(tcase, a_part_through_the_ring);
	tcase_add_test(tcase, an_empty_message_is_complete_at_once);
	tcase_add_test(tcase, the_message_of_immediate_data_is_empty);
	tcase_add_test(tcase, a_short_message_is_complete_at_once);
	tcase_add_test(tcase, a_message_from_a_bounce_buffer);
	tcase_add_test(tcase, long_messages_are_fetched);
	tcase_add_test(tcase, long_messages_for_one_that_cannot_fetch);
	tcase_add_loop_test(tcase, a_fetched_message_names_each_of_its_segments, 0, 5);
	tcase_add_test(tcase, too_many_answers);
	tcase_add_test(tcase, an_answer_completes_what_waits_behind_it);
	tcase_add_test(tcase, what_waits_for_an_answer_is_not_complete);
	tcase_add_test(tcase, the_end_waits_for_copies);
	tcase_add_test(tcase, the_dead_copy_nothing);
	tcase_add_loop_test(tcase, requests_in_several_cells, 0, 9);
	tcase_add_test(tcase, a_message_that_a_round_ends);
	tcase_add_test(tcase, a_write_that_a_round_ends);
	tcase_add_test(tcase, a_round_of_a_faulty_path);
	tcase_add_test(tcase, answers_in_their_order);
	tcase_add_test(tcase, memory_that_ends_during_an_answer);
	tcase_add_test(tcase, an_answer_without_room);
	tcase_add_test(tcase, messages_carry_credits);
	tcase_add_test(tcase, flags_of_messages);
	tcase_add_test(tcase, messages_that_control_messages_belong_to);
	tcase_add_test(tcase, what_the_peer_is_asked_for);
	tcase_add_loop_test(tcase, a_sleeping_peer_is_woken, 0, 2);
	tcase_add_test(tcase, the_pace_is_told_once);
	tcase_add_loop_test(tcase, a_peer_that_polls_during_a_copy, 0, 6);
	tcase_add_test(tcase, the_count_of_enough_polls);
	tcase_add_test(tcase, the_request_that_is_answered_next);
	tcase_add_test(tcase, what_a_request_does);
	return t_run(suite);
}
