/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What comes out of a ring: messages and RDMA of a peer that keeps the rules, and of one that lies.
 */
#include "unit.h"

#include "cm/conn.h"
#include "dto/control.h"
#include "dto/control_message.h"
#include "dto/credit.h"
#include "dto/reap.h"
#include "dto/receive.h"
#include "dto/rmr.h"
#include "object/ctxtab.h"
#include "object/ia.h"
#include "progress/evd.h"
#include "transport/memory_in.h"
#include "transport/memory_path.h"

#include <endian.h>
#include <errno.h>
#include <rdma/fi_errno.h>

#define CONTEXT  (7u << 16 | 3u)
#define ZONE     5u
#define BASE     0x10000u
#define LENGTH   256u
#define NUMBER   9u /* of the connection */
#define RECEIVE  100u
#define NOTHING  UINT64_MAX
#define CTRL_KEY ((uint64_t)NUMBER << 32)

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_conn conn;
static struct dofi_pz pz = {.number = ZONE};
static struct dofi_ctx_wire table[16];
static struct dofi_ctrl_slots slots[3]; /* ours is the second */
static struct dofi_memory_ring ring;
static struct dofi_memory_path path;
static struct dofi_ring_writer peer;
/* A receive with its segment behind it. */
static union {
	struct dofi_wr wr;
	struct {
		char receive[sizeof(struct dofi_wr)];
		struct iovec iov[2];
	};
} receives[4];
static _Alignas(8) uint8_t memory[LENGTH];
static uint8_t bytes[DOFI_CELL_MAX], buffer[2 * RECEIVE + 1];
static struct dofi_wr *done;
static uint64_t done_length, ctrl_data;
static uint32_t done_update, credit;
static struct dofi_ctrl_msgs ctrl_msgs;
static struct dofi_ctrl_msg ctrl_msg;
static size_t ctrl_msg_size;
static int done_err, dones, ended_sleeps;
static struct dofi_memory_segment segment;
static struct dofi_memory_range ranges[DOFI_MEMORY_RANGES + 1];
static int fetch_err, calls, calls_together;
static bool no_memory;      /* the region of a context is being freed */
static struct dofi_wr asks; /* a request of this side that waits for data */
static int answered;
static uint64_t unmapped; /* an address of the sender that cannot be read */
static size_t stored;     /* the end of what was read from the ring into `memory` itself */

int __wrap_dofi_remote_read_pieces(const struct dofi_remote_process *process,
				   const struct iovec *to, const struct iovec *from, size_t n);
int __wrap_dofi_remote_read(const struct dofi_remote_process *process, const struct iovec *iov,
			    size_t skip, uint64_t address, size_t size);

void __real_dofi_ring_read(const struct dofi_ring_reader *r, const struct dofi_cell *cell,
			   size_t at, void *to, size_t n);
void __wrap_dofi_ring_read(const struct dofi_ring_reader *r, const struct dofi_cell *cell,
			   size_t at, void *to, size_t n);
void __wrap_dofi_wait_end_sleep(struct dofi_ia *of);
void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update);
void __wrap_dofi_receive_done_held(struct dofi_wr *wr, uint64_t length, uint32_t update);
void __wrap_dofi_ctrl_arrived(struct dofi_ia *of, uint64_t data);
void __wrap_dofi_ctrl_msg_arrived(struct dofi_ia *of, const struct dofi_ctrl_msg *msg, size_t size);
void __wrap_dofi_credit_arrived(struct dofi_ia *of, uint32_t number, uint32_t update);
void *__wrap_dofi_ctx_memory(struct dofi_ia *of, const struct dofi_ctx *ctx, uint64_t address);

void __wrap_dofi_ring_read(const struct dofi_ring_reader *r, const struct dofi_cell *cell,
			   size_t at, void *to, size_t n)
{
	size_t begin = (uintptr_t)to - (uintptr_t)memory;

	if (begin < LENGTH && begin + n > stored)
		stored = begin + n;
	__real_dofi_ring_read(r, cell, at, to, n);
}

void __wrap_dofi_wait_end_sleep(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	ended_sleeps++;
}

void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update)
{
	ia.engine.taker.evd = NULL; /* it has its event */
	if (wr == &asks) {
		ck_assert_int_eq(err, 0);
		answered++;
		return;
	}
	ck_assert_uint_eq(number, NUMBER);
	done = wr;
	done_err = err;
	done_length = length;
	done_update = update;
	dones++;
}

/* Of a message that is a line. */
void __wrap_dofi_receive_done_held(struct dofi_wr *wr, uint64_t length, uint32_t update)
{
	dofi_assert_held(&ep.lock);
	__wrap_dofi_reap_done(wr, 0, length, NUMBER, update);
}

void __wrap_dofi_ctrl_arrived(struct dofi_ia *of, uint64_t data)
{
	ck_assert_ptr_eq(of, &ia);
	ctrl_data = data;
}

void __wrap_dofi_ctrl_msg_arrived(struct dofi_ia *of, const struct dofi_ctrl_msg *msg, size_t size)
{
	ck_assert_ptr_eq(of, &ia);
	ctrl_msg = *msg;
	ctrl_msg_size = size;
}

void __wrap_dofi_credit_arrived(struct dofi_ia *of, uint32_t number, uint32_t update)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_eq(number, NUMBER);
	credit = update;
}

void *__wrap_dofi_ctx_memory(struct dofi_ia *of, const struct dofi_ctx *ctx, uint64_t address)
{
	ck_assert_ptr_eq(of, &ia);
	if (no_memory)
		return NULL;
	return memory + (address - ctx->base);
}

/* One segment, as the receives have. */
int __wrap_dofi_remote_read(const struct dofi_remote_process *process, const struct iovec *iov,
			    size_t skip, uint64_t address, size_t size)
{
	ck_assert_ptr_eq(process, &path.process);
	ck_assert_uint_eq(path.ours->copying, 1);
	ck_assert_uint_le(skip + size, iov->iov_len);
	calls++;
	if (address == unmapped)
		return -EFAULT;
	if (!fetch_err)
		memcpy((char *)iov->iov_base + skip, (void *)(uintptr_t)address, size);
	return fetch_err;
}

int __wrap_dofi_remote_read_pieces(const struct dofi_remote_process *process,
				   const struct iovec *to, const struct iovec *from, size_t n)
{
	ck_assert_ptr_eq(process, &path.process);
	ck_assert_uint_eq(path.ours->copying, 1);
	calls++;
	calls_together++;
	for (size_t i = 0; i < n && !fetch_err; i++) {
		if ((uintptr_t)from[i].iov_base == unmapped)
			return -EFAULT;
		ck_assert_uint_eq(to[i].iov_len, from[i].iov_len);
		memcpy(to[i].iov_base, from[i].iov_base, to[i].iov_len);
	}
	return fetch_err;
}

static void expose(uint32_t privileges)
{
	memset(table, 0, sizeof(table));
	dofi_ctxtab_expose(&ia.ctxtab, &(struct dofi_ctx){.base = BASE,
							  .length = LENGTH,
							  .context = CONTEXT,
							  .privileges = (uint16_t)privileges,
							  .pz = ZONE});
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock(&ia.engine.lock);
	dofi_lock_init(&ep.lock);
	ia.ctxtab.wire = table;
	ia.ctrl_memory.slots = slots;
	ia.ctrl_memory.address = 4096;
	ep.obj.ia = &ia;
	ep.pz = &pz;
	ep.scratch = 1;
	ep.recv = (struct dofi_ring){.base = (char *)receives,
				     .stride = sizeof(receives[0]),
				     .mask = 3,
				     .issue = 2};
	for (size_t i = 0; i < 4; i++) {
		receives[i].wr = (struct dofi_wr){.ep = &ep, .op = DOFI_OP_RECV, .niov = 1};
		receives[i].iov[0] = (struct iovec){buffer + i % 2 * RECEIVE, RECEIVE};
	}
	conn = (struct dofi_conn){.ia = &ia, .ep = &ep, .id = NUMBER};
	path = (struct dofi_memory_path){.conn = &conn,
					 .in.ring = &ring,
					 .process.pid = 1,
					 .ours = &segment.marks[0],
					 .theirs = &segment.marks[1]};
	peer = (struct dofi_ring_writer){.ring = &ring};
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 3 + 1);
	ctrl_data = NOTHING;
	expose(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
}

static void say(uint8_t kind, uint8_t flags, size_t size, uint64_t first, uint64_t second)
{
	const struct iovec iov = {bytes, size};
	struct dofi_cell cell = {.kind = kind,
				 .flags = flags,
				 .size = (uint16_t)size,
				 .words = {first, second}};

	ck_assert_int_eq(dofi_ring_has_room(&peer, size), 1);
	dofi_ring_put(&peer, &cell, &iov, 0);
}

static void takes(int n)
{
	ck_assert_int_eq(dofi_memory_take_cells(&path), n);
	ck_assert_int_eq(path.fault, 0);
}

/* --- messages --- */

#define WHOLE (DOFI_CELL_FIRST | DOFI_CELL_LAST)

START_TEST(a_message)
{
	say(DOFI_CELL_SEND, WHOLE, RECEIVE, RECEIVE, 77);
	takes(1);
	ck_assert_int_eq(dones, 1);
	ck_assert_ptr_eq(done, &receives[0].wr);
	ck_assert_int_eq(done_err, 0);
	ck_assert_uint_eq(done_length, RECEIVE);
	ck_assert_uint_eq(done_update, 77);
	ck_assert_int_eq(memcmp(buffer, bytes, RECEIVE), 0);
}
END_TEST

START_TEST(a_message_in_pieces)
{
	say(DOFI_CELL_SEND, DOFI_CELL_FIRST, 60, 90, 0);
	takes(1);
	ck_assert_int_eq(dones, 0);
	say(DOFI_CELL_SEND, DOFI_CELL_LAST, 30, 90, 5);
	takes(1);
	ck_assert_int_eq(dones, 1);
	ck_assert_uint_eq(done_length, 90);
	ck_assert_int_eq(memcmp(buffer, bytes, 60), 0);
	ck_assert_int_eq(memcmp(buffer + 60, bytes, 30), 0);
	/* the next one begins at the begin of its receive */
	say(DOFI_CELL_SEND, DOFI_CELL_FIRST, 7, 20, 0);
	say(DOFI_CELL_SEND, 0, 6, 20, 0);
	say(DOFI_CELL_SEND, DOFI_CELL_LAST, 7, 20, 6);
	takes(3);
	ck_assert_int_eq(dones, 2);
	ck_assert_uint_eq(done_length, 20);
	ck_assert_uint_eq(done_update, 6);
	ck_assert_int_eq(memcmp(buffer + RECEIVE, bytes, 7), 0);
	ck_assert_int_eq(memcmp(buffer + RECEIVE + 7, bytes, 6), 0);
	ck_assert_int_eq(memcmp(buffer + RECEIVE + 13, bytes, 7), 0);
}
END_TEST

/* Their bytes are in the cell, or in the area behind the cells. */
START_TEST(messages_of_each_length)
{
	for (uint32_t size = 0; size <= RECEIVE; size++) {
		memset(buffer, 0xee, sizeof(buffer));
		ep.recv.issue = size + 1;
		say(DOFI_CELL_SEND, WHOLE, size, size, size);
		takes(1);
		ck_assert_ptr_eq(done, &receives[size % 4].wr);
		ck_assert_uint_eq(done_length, size);
		ck_assert_uint_eq(done_update, size);
		ck_assert_int_eq(done_err, 0);
		ck_assert_mem_eq(buffer + size % 2 * RECEIVE, bytes, size);
		ck_assert_uint_eq(buffer[size % 2 * RECEIVE + size], 0xee);
	}
}
END_TEST

/* A short message in a receive whose first segment is shorter. */
START_TEST(a_short_message_across_segments)
{
	receives[0].wr.niov = 2;
	receives[0].iov[0] = (struct iovec){buffer, (size_t)_i};
	receives[0].iov[1] = (struct iovec){buffer + 50, 8};
	memset(buffer, 0xee, sizeof(buffer));
	say(DOFI_CELL_SEND, WHOLE, 8, 8, 0);
	takes(1);
	ck_assert_int_eq(done_err, 0);
	ck_assert_mem_eq(buffer, bytes, (size_t)_i);
	ck_assert_uint_eq(buffer[_i], 0xee);
	ck_assert_mem_eq(buffer + 50, bytes + _i, 8 - (size_t)_i);
	ck_assert_uint_eq(buffer[58 - _i], 0xee);
}
END_TEST

/* What stands behind the segments of a receive is of an earlier one. */
START_TEST(a_short_message_that_is_too_long)
{
	receives[0].wr.niov = (uint16_t)_i;
	receives[0].iov[0] = (struct iovec){buffer, _i ? 7 : RECEIVE};
	receives[0].iov[1] = (struct iovec){buffer, RECEIVE};
	say(DOFI_CELL_SEND, WHOLE, 8, 8, 0);
	takes(1);
	ck_assert_int_eq(done_err, FI_ETRUNC);
	for (size_t i = 0; i < 8; i++)
		ck_assert_uint_eq(buffer[i], 0);
}
END_TEST

/* The second piece begins behind the first segment. */
START_TEST(pieces_across_segments)
{
	receives[0].wr.niov = 2;
	receives[0].iov[0] = (struct iovec){buffer, 20};
	receives[0].iov[1] = (struct iovec){buffer + 50, 80};
	say(DOFI_CELL_SEND, DOFI_CELL_FIRST, 60, 90, 0);
	say(DOFI_CELL_SEND, DOFI_CELL_LAST, 30, 90, 5);
	takes(2);
	ck_assert_int_eq(done_err, 0);
	ck_assert_int_eq(memcmp(buffer, bytes, 20), 0);
	ck_assert_uint_eq(buffer[20], 0);
	ck_assert_int_eq(memcmp(buffer + 50, bytes + 20, 40), 0);
	ck_assert_int_eq(memcmp(buffer + 90, bytes, 30), 0);
}
END_TEST

/* The third has no receive: it stays in the ring until there is one. */
START_TEST(a_message_waits_for_its_receive)
{
	for (int i = 0; i < 3; i++)
		say(DOFI_CELL_SEND, WHOLE, 8, 8, 0);
	takes(2);
	takes(0);
	ep.recv.issue = 3;
	takes(1);
	ck_assert_ptr_eq(done, &receives[2].wr);
}
END_TEST

/* A receive has failed, so none behind it may succeed. */
START_TEST(no_message_is_taken_when_the_connection_breaks)
{
	ep.faulty = true;
	say(DOFI_CELL_SEND, WHOLE, 8, 8, 0);
	takes(0);
	ck_assert_int_eq(dones, 0);
}
END_TEST

/* --- cells that a round leaves --- */

#define BATCH 16

static void say_credits(int n)
{
	for (int i = 0; i < n; i++)
		say(DOFI_CELL_CREDIT, 0, 0, 5, 0);
}

/* The driver has looked at the ring before, and sleeps. */
START_TEST(the_driver_reads_what_a_round_leaves)
{
	segment.marks[0].asleep = 1;
	say_credits(BATCH + 1);
	takes(BATCH);
	ck_assert_int_eq(ended_sleeps, 1);
	ck_assert_uint_eq(segment.marks[0].asleep, 0);
	takes(1);
	ck_assert_int_eq(ended_sleeps, 1);
}
END_TEST

START_TEST(a_driver_that_is_awake_is_not_called)
{
	say_credits(BATCH + 1);
	takes(BATCH);
	ck_assert_int_eq(ended_sleeps, 0);
}
END_TEST

START_TEST(an_empty_ring_wakes_nobody)
{
	segment.marks[0].asleep = 1;
	say_credits(BATCH);
	takes(BATCH);
	ck_assert_int_eq(ended_sleeps, 0);
	ck_assert_uint_eq(segment.marks[0].asleep, 1);
}
END_TEST

/* A call that polls leaves the other cells as soon as it has its event. */
START_TEST(a_call_that_polls_leaves_the_other_cells)
{
	static struct dofi_evd evd;

	segment.marks[0].asleep = 1;
	ia.engine.taker.evd = &evd;
	say(DOFI_CELL_SEND, WHOLE, 8, 8, 0);
	say_credits(1);
	takes(1);
	ck_assert_int_eq(dones, 1);
	ck_assert_int_eq(ended_sleeps, 1);
	takes(1);
}
END_TEST

/* No byte of it is stored, and the next message takes the next receive. */
START_TEST(a_message_that_is_too_long)
{
	say(DOFI_CELL_SEND, DOFI_CELL_FIRST, RECEIVE, RECEIVE + 1, 0);
	say(DOFI_CELL_SEND, DOFI_CELL_LAST, 1, RECEIVE + 1, 0);
	say(DOFI_CELL_SEND, WHOLE, 8, 8, 0);
	takes(3);
	ck_assert_int_eq(dones, 2);
	ck_assert_ptr_eq(done, &receives[1].wr);
	for (size_t i = 0; i < RECEIVE; i++)
		ck_assert_uint_eq(buffer[i], 0);
}
END_TEST

START_TEST(truncation_is_told)
{
	say(DOFI_CELL_SEND, WHOLE, RECEIVE + 1, RECEIVE + 1, 0);
	takes(1);
	ck_assert_int_eq(done_err, FI_ETRUNC);
}
END_TEST

/* --- messages that are fetched --- */

static void say_places(size_t n, uint64_t length)
{
	const struct iovec iov = {ranges, n * sizeof(ranges[0])};
	struct dofi_cell cell = {.kind = DOFI_CELL_PLACES,
				 .size = (uint16_t)iov.iov_len,
				 .words = {length, 77}};

	dofi_ring_put(&peer, &cell, &iov, 0);
}

static struct dofi_memory_range place(size_t at, size_t size)
{
	return (struct dofi_memory_range){(uintptr_t)(bytes + at), size};
}

START_TEST(a_fetched_message)
{
	ranges[0] = place(200, 30);
	ranges[1] = place(0, 0);
	ranges[2] = place(5, 70);
	say_places(3, RECEIVE);
	takes(2); /* one for each place that has bytes */
	ck_assert_int_eq(dones, 1);
	ck_assert_ptr_eq(done, &receives[0].wr);
	ck_assert_uint_eq(done_length, RECEIVE);
	ck_assert_uint_eq(done_update, 77);
	ck_assert_int_eq(memcmp(buffer, bytes + 200, 30), 0);
	ck_assert_int_eq(memcmp(buffer + 30, bytes + 5, 70), 0);
	ck_assert_uint_eq(path.answers_tail, 1); /* the sender's completion */
	ck_assert(!path.answers[0].is_entry && !path.answers[0].length);
	ck_assert_uint_eq(segment.marks[0].copying, 0);
}
END_TEST

static void say_messages(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ranges[0] = place(10 * i, 50 + i);
		say_places(1, 50 + i);
	}
}

/* One system call for as many as have a receive. */
START_TEST(messages_fetched_together)
{
	ep.recv.issue = 3;
	say_messages(4);
	takes(1);
	ck_assert_int_eq(calls, 1);
	ck_assert_int_eq(dones, 3);
	ck_assert_ptr_eq(done, &receives[2].wr);
	ck_assert_uint_eq(done_length, 52);
	ck_assert_uint_eq(path.answers_tail, 3);
	ck_assert_int_eq(memcmp(buffer, bytes + 20, 52), 0); /* the receives have two buffers */
	ck_assert_int_eq(memcmp(buffer + RECEIVE, bytes + 10, 51), 0);
	ck_assert_uint_eq(segment.marks[0].copying, 0);
	takes(0);
	ep.recv.issue = 4;
	takes(1);
	ck_assert_ptr_eq(done, &receives[3].wr);
	ck_assert_uint_eq(done_length, 53);
}
END_TEST

/* Longer ones gain nothing by it. */
START_TEST(as_many_bytes_are_fetched_together)
{
	static uint8_t from[256u << 10], to[2][(128u << 10) + 1];
	const size_t half = sizeof(from) / 2;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 5 + i / 256);
	for (size_t i = 0; i < 2; i++)
		receives[i].iov[0] = (struct iovec){to[i], sizeof(to[i])};
	ranges[0] = (struct dofi_memory_range){(uintptr_t)from, half};
	say_places(1, half);
	ranges[0] =
		(struct dofi_memory_range){(uintptr_t)from + half - (size_t)_i, half + (size_t)_i};
	say_places(1, half + (size_t)_i);
	takes(1 + _i);
	ck_assert_int_eq(calls, 1 + _i);
	ck_assert_int_eq(dones, 2);
	ck_assert_uint_eq(done_length, half + (size_t)_i);
	ck_assert_mem_eq(to[0], from, half);
	ck_assert_mem_eq(to[1], from + half - (size_t)_i, half + (size_t)_i);
}
END_TEST

/* The peer has memory for as many answers. */
START_TEST(messages_without_room_for_answers)
{
	path.answers_tail = DOFI_MEMORY_ANSWERS - 1;
	say_messages(2);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 1);
	ck_assert_int_eq(path.fault, -EPROTO);
	ck_assert_int_eq(dones, 1);
}
END_TEST

/* The messages before the one that cannot be copied arrive. */
START_TEST(one_of_several_without_its_memory)
{
	unmapped = (uintptr_t)bytes + 10;
	say_messages(2);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 1);
	ck_assert_int_eq(path.fault, -EFAULT);
	ck_assert_int_eq(dones, 1);
	ck_assert_ptr_eq(done, &receives[0].wr);
	ck_assert_int_eq(done_err, 0);
	ck_assert_int_eq(memcmp(buffer, bytes, 50), 0);
}
END_TEST

/* Its sender completes it, too; nothing is fetched. */
START_TEST(a_fetched_message_that_is_too_long)
{
	ranges[0] = place(0, RECEIVE + 1);
	say_places(1, RECEIVE + 1);
	takes(1);
	ck_assert_int_eq(done_err, FI_ETRUNC);
	ck_assert_uint_eq(path.answers_tail, 1);
	for (size_t i = 0; i < RECEIVE; i++)
		ck_assert_uint_eq(buffer[i], 0);
}
END_TEST

/* Its memory is its own again: the message never comes, and the connection learns of the end. */
START_TEST(a_sender_that_is_over)
{
	ranges[0] = place(0, 50);
	segment.marks[1].over = 1;
	say_places(1, 50);
	takes(0);
	ck_assert_int_eq(dones, 0);
	ck_assert_uint_eq(buffer[0], 0);
	ck_assert_uint_eq(segment.marks[0].copying, 0);
}
END_TEST

START_TEST(a_sender_that_is_dead)
{
	ranges[0] = place(0, 50);
	fetch_err = -ESRCH;
	say_places(1, 50);
	takes(0);
	ck_assert_int_eq(dones, 0);
}
END_TEST

/* Its first thread has ended, or the memory is gone. */
START_TEST(a_living_sender_whose_memory_cannot_be_copied)
{
	static const int errors[] = {-ESRCH, -EFAULT};

	path.pid = getpid();
	ranges[0] = place(0, 50);
	fetch_err = errors[_i];
	say_places(1, 50);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, errors[_i]);
	ck_assert_int_eq(dones, 0);
}
END_TEST

static void is_refused(size_t n, uint64_t length)
{
	say_places(n, length);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EPROTO);
	ck_assert_int_eq(dones, 0);
	ck_assert_uint_eq(buffer[0], 0);
}

static void is_refused_inside(void)
{
	say_places(1, 50);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EPROTO);
	ck_assert_int_eq(dones + calls, 0);
}

static const struct {
	uint64_t first, second, length;
	size_t n;
} forged[] = {
	{0, 0, 0, 0},
	{10, 0, 10, 0},
	{0, 0, 0, 2},
	{0, 0, 0, 1},
	{10, 0, 9, 1},
	{10, 0, 11, 1},
	{10, 10, 19, 2},
	{10, 10, 21, 2},
	{UINT64_MAX, 11, 10, 2},
	{10, 0, 10, DOFI_MEMORY_RANGES + 1},
};

START_TEST(forged_places)
{
	ranges[0] = place(0, forged[_i].first);
	ranges[1] = place(0, forged[_i].second);
	is_refused(forged[_i].n, forged[_i].length);
}
END_TEST

/* Some bytes that are no list of places. */
START_TEST(places_of_another_size)
{
	static const size_t sizes[] = {1, 8, 15, 17, 24, 257};

	ranges[0] = place(0, 10);
	memcpy(bytes, ranges, sizeof(ranges[0]));
	say(DOFI_CELL_PLACES, 0, sizes[_i], 10, 0);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EPROTO);
	ck_assert_int_eq(dones + calls, 0);
}
END_TEST

/* Its pieces would be lost. */
START_TEST(places_inside_a_message)
{
	say(DOFI_CELL_SEND, DOFI_CELL_FIRST, 60, 90, 0);
	takes(1);
	ranges[0] = place(0, 50);
	is_refused_inside();
}
END_TEST

START_TEST(as_many_places_as_a_cell_names)
{
	for (size_t i = 0; i < DOFI_MEMORY_RANGES; i++)
		ranges[i] = place(7 * i, 3 + i % 2);
	say_places(DOFI_MEMORY_RANGES, 56);
	takes(DOFI_MEMORY_RANGES);
	ck_assert_int_eq(dones, 1);
	ck_assert_uint_eq(done_length, 56);
	for (size_t i = 0, to = 0; i < DOFI_MEMORY_RANGES; to += ranges[i++].size)
		ck_assert_mem_eq(buffer + to, bytes + 7 * i, ranges[i].size);
}
END_TEST

/* A round copies a part, so that other connections get their turn. */
START_TEST(a_long_message_is_fetched_in_parts)
{
	static uint8_t from[(1u << 20) + 100], to[sizeof(from)];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 5 + i / 256);
	receives[0].iov[0] = (struct iovec){to, sizeof(to)};
	ranges[0] = (struct dofi_memory_range){(uintptr_t)from, sizeof(from)};
	say_places(1, sizeof(from));
	takes(2);
	ck_assert_int_eq(calls, 2);
	ck_assert_int_eq(dones, 1);
	ck_assert_uint_eq(done_length, sizeof(from));
	ck_assert_mem_eq(to, from, sizeof(from));
	ck_assert(!path.fetching);
	ck_assert_uint_eq(path.answers_tail, 1);
}
END_TEST

/* What stands behind the last message is of an earlier lap of the ring. */
START_TEST(messages_of_an_earlier_lap)
{
	for (uint32_t i = 0; i < 75; i++) {
		ep.recv.issue = 2 * i + 4;
		path.answers_head = path.answers_tail;
		ranges[0] = place(i, 50);
		say_places(1, 50);
		say_places(1, 50);
		takes(1);
	}
	ck_assert_int_eq(dones, 150);
	say_places(1, 50);
	takes(1);
	ck_assert_int_eq(dones, 151);
}
END_TEST

/* The bytes of a message may look like a place. */
START_TEST(a_short_message_behind_a_fetched_one)
{
	ranges[0] = place(100, 16);
	say_places(1, 16);
	ranges[0] = place(200, 16);
	memcpy(bytes, ranges, sizeof(ranges[0]));
	say(DOFI_CELL_SEND, WHOLE, 16, 16, 0);
	takes(2);
	ck_assert_int_eq(dones, 2);
	ck_assert_int_eq(calls, 1);
	ck_assert_mem_eq(buffer, bytes + 100, 16);
	ck_assert_mem_eq(buffer + RECEIVE, ranges, 16);
}
END_TEST

/* Together go those with one segment on both sides that fit; four at most. */
START_TEST(what_is_not_fetched_together)
{
	ranges[0] = place(0, RECEIVE);
	for (int i = 0; i < 2; i++)
		say_places(1, RECEIVE); /* these do */
	takes(1);
	ck_assert_int_eq(calls_together, 1);
	ck_assert_int_eq(dones, 2);
	ep.recv.issue = 3;
	receives[2].wr.niov = 2;
	receives[2].iov[1] = (struct iovec){buffer + RECEIVE, 10};
	ranges[0] = place(0, 50);
	say_places(1, 50);
	takes(1);
	ck_assert_int_eq(calls_together, 1);
	ck_assert_int_eq(calls, 2);
	ck_assert_int_eq(dones, 3);
	ep.recv.issue = 4;
	ranges[0] = place(0, 20);
	ranges[1] = place(30, 20);
	say_places(2, 40);
	takes(2);
	ck_assert_int_eq(calls_together, 1);
	ck_assert_int_eq(dones, 4);
	receives[2].wr.niov = 1;
	ep.recv.issue = 9;
	say_messages(5);
	takes(2);
	ck_assert_int_eq(calls_together, 3);
	ck_assert_int_eq(dones, 9);
	ck_assert_uint_eq(path.messages, 9);
	ck_assert_uint_eq(path.answers_tail, 9);
	for (uint32_t i = 0; i < 9; i++)
		ck_assert(!path.answers[i].is_entry && !path.answers[i].length);
}
END_TEST

/* Answers that the peer has got make room. */
START_TEST(messages_with_room_for_some_answers)
{
	ep.recv.issue = 4;
	path.answers_head = 5;
	path.answers_tail = 5 + DOFI_MEMORY_ANSWERS - 3;
	say_messages(4);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 1);
	ck_assert_int_eq(path.fault, -EPROTO);
	ck_assert_int_eq(calls_together, 1);
	ck_assert_int_eq(dones, 3);
	ck_assert_uint_eq(path.answers_tail, 5 + DOFI_MEMORY_ANSWERS);
}
END_TEST

START_TEST(places_for_one_that_cannot_fetch)
{
	path.process.pid = 0;
	ranges[0] = place(0, 10);
	is_refused(1, 10);
}
END_TEST

/* The cell says something else when half of the message is there. */
START_TEST(places_that_change)
{
	struct dofi_cell *cell = &ring.cells[0].cell;

	ranges[0] = place(0, 10);
	ranges[1] = place(10, 10);
	fetch_err = -ESRCH;
	say_places(2, 20);
	takes(0); /* the message has begun */
	fetch_err = 0;
	if (_i)
		cell->kind = DOFI_CELL_SEND;
	else
		cell->words[0] = 21;
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EPROTO);
	ck_assert_int_eq(dones, 0);
}
END_TEST

/* --- RDMA --- */

START_TEST(a_write)
{
	for (size_t size = 1; size < 40; size++) {
		memset(memory, 0, sizeof(memory));
		say(DOFI_CELL_WRITE, WHOLE, size, BASE + 3, CONTEXT);
		takes(1);
		ck_assert_int_eq(memcmp(memory + 3, bytes, size), 0);
		ck_assert_uint_eq(memory[2], 0);
		ck_assert_uint_eq(memory[3 + size], 0);
		ck_assert_uint_eq(path.answers_tail, size); /* its completion */
		ck_assert(!path.answers[size - 1].is_entry && !path.answers[size - 1].length);
	}
}
END_TEST

/* Programs poll the last word, so it is stored as a whole, after all bytes before it. */
START_TEST(the_last_word_of_a_write)
{
	static const struct {
		size_t at, size, word;
	} writes[] = {{0, 1, 1}, {0, 2, 2}, {1, 2, 1},  {0, 4, 4},  {2, 4, 2},  {0, 7, 1},
		      {0, 8, 8}, {4, 8, 4}, {0, 12, 4}, {4, 12, 8}, {0, 24, 8}, {3, 24, 1}};

	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		stored = 0;
		say(DOFI_CELL_WRITE, WHOLE, writes[i].size, BASE + writes[i].at, CONTEXT);
		takes(1);
		if (writes[i].size > writes[i].word)
			ck_assert_uint_eq(stored, writes[i].at + writes[i].size - writes[i].word);
		else
			ck_assert_uint_le(stored, writes[i].at);
		ck_assert_mem_eq(memory + writes[i].at, bytes, writes[i].size);
	}
}
END_TEST

/* As the box has it, whose bytes lie in one place. */
START_TEST(bytes_that_are_stored_with_a_last_word)
{
	static uint8_t from[64];

	memcpy(from, bytes, sizeof(from));
	for (size_t at = 0; at < 8; at++)
		for (size_t size = 1; size <= 40; size++) {
			memset(memory, 0xee, sizeof(memory));
			dofi_memory_store(memory + at, from, size);
			ck_assert_mem_eq(memory + at, from, size);
			ck_assert_uint_eq(memory[at + size], 0xee);
			if (at)
				ck_assert_uint_eq(memory[at - 1], 0xee);
		}
}
END_TEST

/* Each cell is checked and stored by itself; the last one completes the write. */
START_TEST(a_write_in_several_cells)
{
	say(DOFI_CELL_WRITE, DOFI_CELL_FIRST, 100, BASE, CONTEXT);
	say(DOFI_CELL_WRITE, 0, 50, BASE + 100, CONTEXT);
	takes(2);
	ck_assert_uint_eq(path.answers_tail, 0);
	ck_assert_mem_eq(memory, bytes, 100);
	ck_assert_mem_eq(memory + 100, bytes, 50);
	say(DOFI_CELL_WRITE, DOFI_CELL_LAST, 9, BASE + 150, CONTEXT);
	takes(1);
	ck_assert_uint_eq(path.answers_tail, 1);
	ck_assert_mem_eq(memory + 150, bytes, 9);
	ck_assert_uint_eq(memory[159], 0);
}
END_TEST

START_TEST(a_read)
{
	const struct dofi_memory_answer *answer = &path.answers[0];
	uint64_t length = 16;

	memcpy(bytes, &length, sizeof(length));
	say(DOFI_CELL_READ, 0, sizeof(length), BASE + 8, CONTEXT);
	takes(1);
	ck_assert_uint_eq(path.answers_tail, 1);
	ck_assert_uint_eq(answer->length, length);
	ck_assert_ptr_eq(dofi_memory_source(&path, answer, 4, 12), memory + 12);
	ck_assert_ptr_null(dofi_memory_source(&path, answer, LENGTH - 8, 1));
	expose(DAT_MEM_PRIV_REMOTE_WRITE_FLAG); /* while the answer waits for room */
	ck_assert_ptr_null(dofi_memory_source(&path, answer, 0, 8));
}
END_TEST

/* The peer is told where the memory is in this process, and the rest as it is. */
START_TEST(an_entry_of_the_table)
{
	const struct dofi_memory_answer answer = {.is_entry = true,
						  .address = (CONTEXT & 0xffff) * sizeof(table[0])};
	struct dofi_ctx ctx;
	struct dofi_ctx_wire *wire = dofi_memory_source(&path, &answer, 0, sizeof(*wire));

	ck_assert(dofi_ctx_decode(wire, CONTEXT, &ctx));
	ck_assert_uint_eq(ctx.address, (uintptr_t)memory);
	ck_assert_uint_eq(ctx.base, BASE);
	ck_assert_uint_eq(ctx.length, LENGTH);
	ck_assert_uint_eq(ctx.pz, ZONE);
	dofi_ctxtab_expose(&ia.ctxtab, &(struct dofi_ctx){.address = 7,
							  .length = 8,
							  .context = 1u << 16,
							  .privileges = DOFI_CTX_CTRL_SLOTS});
	wire = dofi_memory_source(&path, &(struct dofi_memory_answer){.is_entry = true}, 0,
				  sizeof(*wire));
	ck_assert(dofi_ctx_decode(wire, 1u << 16, &ctx));
	ck_assert_uint_eq(ctx.address, 7); /* control records go by the ring */
}
END_TEST

START_TEST(control_records_and_credits)
{
	uint64_t at = ia.ctrl_memory.address + sizeof(slots[0]);

	say(DOFI_CELL_CTRL, 0, 48, at, CTRL_KEY | 6);
	say(DOFI_CELL_CREDIT, 0, 0, 1234, 0);
	takes(2);
	ck_assert_uint_eq(ctrl_data, CTRL_KEY | 6);
	ck_assert_uint_eq(credit, 1234);
	ck_assert_int_eq(memcmp(&slots[1], bytes, 48), 0);
}
END_TEST

/* The connection's number is that of the path, whatever the peer says. */
START_TEST(control_messages)
{
	const size_t size = offsetof(struct dofi_ctrl_msg, request);
	struct dofi_ctrl_msg want = {0};

	ep.ctrl_msgs = &ctrl_msgs;
	memcpy(&want, bytes, size);
	want.number = NUMBER;
	say(DOFI_CELL_CTRL_MSG, 0, size, 0, 0);
	takes(1);
	ck_assert_uint_eq(ctrl_msg_size, size);
	ck_assert_mem_eq(&ctrl_msg, &want, sizeof(want));
	say(DOFI_CELL_CTRL_MSG, 0, DOFI_CTRL_MSG_MAX, 0, 0);
	takes(1);
	ck_assert_uint_eq(ctrl_msg_size, DOFI_CTRL_MSG_MAX);
	say(DOFI_CELL_CTRL_MSG, 0, DOFI_CTRL_MSG_MAX + 1, 0, 0);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EPROTO);
}
END_TEST

/* An entry without a context, or between two entries, or whose memory is being freed. */
START_TEST(entries_without_memory)
{
	static const struct dofi_ctx_wire nothing;
	struct dofi_memory_answer answer = {.is_entry = true, .address = 5 * sizeof(table[0])};
	struct dofi_ctx_wire *wire = dofi_memory_source(&path, &answer, 0, sizeof(*wire));

	ck_assert_ptr_eq(wire, &table[5]);
	answer.address = 3 * sizeof(table[0]) + 8;
	ck_assert_ptr_eq(dofi_memory_source(&path, &answer, 0, 8), (char *)&table[3] + 8);
	answer.address = 3 * sizeof(table[0]);
	ck_assert_ptr_eq(dofi_memory_source(&path, &answer, 4, 8), (char *)&table[3] + 4);
	no_memory = true;
	wire = dofi_memory_source(&path, &answer, 0, sizeof(*wire));
	ck_assert_ptr_nonnull(wire);
	ck_assert_mem_eq(wire, &nothing, sizeof(nothing));
	ck_assert_ptr_null(
		dofi_memory_find(&path, CONTEXT, BASE, 8, DAT_MEM_PRIV_REMOTE_READ_FLAG));
}
END_TEST

/* The table ends with its last entry. */
START_TEST(entries_at_the_end_of_the_table)
{
	static const struct {
		uint64_t before, length; /* the end of the table */
		int ret;
	} reads[] = {{sizeof(table[0]), sizeof(table[0]), 0},
		     {sizeof(table[0]) - 1, sizeof(table[0]), -EACCES},
		     {8, 8, 0},
		     {7, 8, -EACCES},
		     {0, 0, 0},
		     {2 * sizeof(table[0]), sizeof(table[0]) + 1, -EACCES}};
	uint64_t end = DOFI_CTXTAB_ENTRIES * sizeof(table[0]);

	memcpy(bytes, &reads[_i].length, 8);
	say(DOFI_CELL_ENTRY, 0, 8, end - reads[_i].before, 0);
	ck_assert_int_eq(dofi_memory_take_cells(&path), !reads[_i].ret);
	ck_assert_int_eq(path.fault, reads[_i].ret);
	ck_assert_uint_eq(path.answers_tail, !reads[_i].ret);
	if (reads[_i].ret)
		return;
	ck_assert(path.answers[0].is_entry);
	ck_assert_uint_eq(path.answers[0].address, end - reads[_i].before);
	ck_assert_uint_eq(path.answers[0].length, reads[_i].length);
}
END_TEST

/* Rights, ends of the memory, and memory that only control records may use. */
START_TEST(memory_that_peers_may_use)
{
	static const struct {
		uint32_t rights;
		uint64_t context, address, length;
		unsigned int need;
		bool found;
	} uses[] = {
		{1, CONTEXT, BASE, LENGTH, 1, true},
		{1, CONTEXT | 1ull << 40, BASE, LENGTH, 1, true}, /* a context has 32 bits */
		{1, CONTEXT, BASE + 1, LENGTH, 1, false},
		{1, CONTEXT, BASE, LENGTH + 1, 1, false},
		{1, CONTEXT, BASE + LENGTH, 0, 1, true},
		{1, CONTEXT, BASE + LENGTH - 1, 1, 1, true},
		{1, CONTEXT, BASE + LENGTH, 1, 1, false},
		{1, CONTEXT, BASE - 1, 1, 1, false},
		{1, CONTEXT, BASE, UINT64_MAX, 1, false},
		{2, CONTEXT, BASE, 1, 1, false},
		{2, CONTEXT, BASE, 1, 2, true},
		{3, CONTEXT, BASE, 1, 2, true},
		{3, 0, BASE, 1, 2, false},
		{3, 1ull << 40, BASE, 1, 2, false},
		{4, CONTEXT, BASE, 1, 1, false}, /* 4: of control slots */
		{5, CONTEXT, BASE, 1, 1, false},
	};
	static const unsigned int bits[] = {0, DAT_MEM_PRIV_REMOTE_READ_FLAG,
					    DAT_MEM_PRIV_REMOTE_WRITE_FLAG};
	uint32_t rights = uses[_i].rights;

	expose((rights & 1 ? bits[1] : 0) | (rights & 2 ? bits[2] : 0) |
	       (rights & 4 ? DOFI_CTX_CTRL_SLOTS : 0));
	ck_assert_int_eq(dofi_memory_find(&path, uses[_i].context, uses[_i].address,
					  uses[_i].length, bits[uses[_i].need]) != NULL,
			 uses[_i].found);
}
END_TEST

/* --- answers to requests of this side --- */

static struct dofi_memory_pending pending[2];

static void ask_for(uint64_t length)
{
	path.pending = pending;
	path.pending_size = 2;
	path.pending_tail = path.waiting = 1;
	asks.ep = &ep;
	pending[0] = (struct dofi_memory_pending){.wr = &asks, .waits = true, .length = length};
}

START_TEST(data_that_were_asked_for)
{
	struct iovec iov[2] = {{buffer, 20}, {buffer + 50, 40}};

	ask_for(60);
	if (_i)
		pending[0].place = (struct iovec){buffer, 60};
	else
		pending[0].iov = iov;
	memset(buffer, 0xee, sizeof(buffer));
	say(DOFI_CELL_DATA, DOFI_CELL_FIRST, 35, 0, 0);
	takes(1);
	ck_assert_int_eq(answered, 0);
	ck_assert_uint_eq(pending[0].done, 35);
	ck_assert(!pending[0].answered);
	say(DOFI_CELL_DATA, DOFI_CELL_LAST, 25, 0, 0);
	takes(1);
	ck_assert_int_eq(answered, 1);
	ck_assert_uint_eq(path.pending_head, 1);
	ck_assert_uint_eq(path.waiting, 0);
	if (_i) {
		ck_assert_mem_eq(buffer, bytes, 35);
		ck_assert_mem_eq(buffer + 35, bytes, 25);
		return;
	}
	ck_assert_mem_eq(buffer, bytes, 20);
	ck_assert_mem_eq(buffer + 50, bytes + 20, 15);
	ck_assert_mem_eq(buffer + 65, bytes, 25);
	ck_assert_uint_eq(buffer[20], 0xee);
	ck_assert_uint_eq(buffer[90], 0xee);
}
END_TEST

START_TEST(a_write_that_is_stored)
{
	ask_for(0);
	say(DOFI_CELL_DATA, WHOLE, 0, 0, 0);
	takes(1);
	ck_assert_int_eq(answered, 1);
	ck_assert_uint_eq(path.pending_head, 1);
}
END_TEST

/* More than were asked for, none where there are some, and some where there are none. */
START_TEST(data_of_another_size)
{
	static const struct {
		uint64_t length, done;
		size_t size;
	} data[] = {{60, 0, 61}, {60, 59, 2}, {60, 0, 0}, {60, 20, 0}, {0, 0, 1}};

	ask_for(data[_i].length);
	pending[0].place = (struct iovec){buffer, 60};
	pending[0].done = data[_i].done;
	say(DOFI_CELL_DATA, DOFI_CELL_LAST, data[_i].size, 0, 0);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EPROTO);
	ck_assert_int_eq(answered, 0);
	ck_assert_uint_eq(buffer[0], 0);
}
END_TEST

/* A notice needs no slots; a record lies within those of the connection. */
START_TEST(places_of_control_records)
{
	uint64_t at = ia.ctrl_memory.address + sizeof(slots[0]);

	say(DOFI_CELL_CTRL, 0, sizeof(slots[1]), at, CTRL_KEY | 7);
	takes(1);
	ck_assert_mem_eq(&slots[1], bytes, sizeof(slots[1]));
	say(DOFI_CELL_CTRL, 0, 8, at + sizeof(slots[0]) - 8, CTRL_KEY | 8);
	takes(1);
	ck_assert_uint_eq(ctrl_data, CTRL_KEY | 8);
	ck_assert_mem_eq((char *)&slots[2] - 8, bytes, 8);
	ia.ctrl_memory.slots = NULL;
	say(DOFI_CELL_CTRL, 0, 0, 0, CTRL_KEY | 9);
	takes(1);
	ck_assert_uint_eq(ctrl_data, CTRL_KEY | 9);
	say(DOFI_CELL_CTRL, 0, 8, at, CTRL_KEY | 10);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EACCES);
	ck_assert_uint_eq(ctrl_data, CTRL_KEY | 9);
}
END_TEST

/* --- a peer that lies --- */

static const struct lie {
	uint8_t kind, flags;
	uint16_t size;
	uint64_t first, second;
	int err;
} lies[] = {
	{0, 0, 0, 0, 0, -EPROTO},
	{99, 0, 8, 0, 0, -EPROTO},
	/* a message that never began, is longer than it says, or ends too early */
	{DOFI_CELL_SEND, DOFI_CELL_LAST, 8, 8, 0, -EPROTO},
	{DOFI_CELL_SEND, 0, 8, 8, 0, -EPROTO},
	{DOFI_CELL_SEND, DOFI_CELL_LAST, 0, 0, 0, -EPROTO},
	{DOFI_CELL_SEND, DOFI_CELL_FIRST, 9, 8, 0, -EPROTO},
	{DOFI_CELL_SEND, DOFI_CELL_FIRST, RECEIVE + 1, RECEIVE, 0, -EPROTO},
	{DOFI_CELL_SEND, WHOLE, 9, 8, 0, -EPROTO},
	{DOFI_CELL_SEND, WHOLE, 8, UINT64_MAX, 0, -EPROTO},
	{DOFI_CELL_SEND, DOFI_CELL_FIRST, 8, 8, 0, -EPROTO},
	/* contexts that there are not, and ranges beyond */
	{DOFI_CELL_WRITE, WHOLE, 8, BASE, 0, -EACCES},
	{DOFI_CELL_WRITE, WHOLE, 8, BASE, CONTEXT + (1u << 16), -EACCES},
	{DOFI_CELL_WRITE, WHOLE, 8, BASE, CONTEXT + 1, -EACCES},
	{DOFI_CELL_WRITE, WHOLE, 8, BASE - 1, CONTEXT, -EACCES},
	{DOFI_CELL_WRITE, WHOLE, 8, BASE + LENGTH - 7, CONTEXT, -EACCES},
	{DOFI_CELL_WRITE, WHOLE, 8, UINT64_MAX - 3, CONTEXT, -EACCES},
	{DOFI_CELL_WRITE, WHOLE, DOFI_CELL_MAX, BASE, CONTEXT, -EACCES},
	{DOFI_CELL_WRITE, WHOLE, 0, BASE, CONTEXT, -EACCES},
	/* a read without a length, and of an entry that there is not */
	{DOFI_CELL_READ, 0, 0, BASE, CONTEXT, -EPROTO},
	{DOFI_CELL_READ, 0, 16, BASE, CONTEXT, -EPROTO},
	{DOFI_CELL_ENTRY, 0, 8, 0, 0, -EACCES}, /* its length is that of `bytes` */
	/* data that nobody asked for */
	{DOFI_CELL_DATA, WHOLE, 8, 0, 0, -EPROTO},
	/* a control message where the fabric needs none */
	{DOFI_CELL_CTRL_MSG, 0, 24, 0, 0, -EPROTO},
	/* control records for another connection, and beside the slots of this one */
	{DOFI_CELL_CTRL, 0, 0, 0, (uint64_t)(NUMBER + 1) << 32, -EPROTO},
	{DOFI_CELL_CTRL, 0, 48, 4096, CTRL_KEY, -EACCES},
	{DOFI_CELL_CTRL, 0, 48, 4096 + 2 * sizeof(struct dofi_ctrl_slots) - 47, CTRL_KEY, -EACCES},
	{DOFI_CELL_CTRL, 0, 48, UINT64_MAX, CTRL_KEY, -EACCES},
	{DOFI_CELL_CTRL, 0, DOFI_CELL_MAX, 4096, CTRL_KEY, -EACCES},
};

#define LIES (int)(sizeof(lies) / sizeof(lies[0]))

START_TEST(lies_end_the_path)
{
	const struct lie *lie = &lies[_i];

	say(lie->kind, lie->flags, lie->size, lie->first, lie->second);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, lie->err);
	ck_assert_int_eq(dones, 0);
	ck_assert_uint_eq(ctrl_data, NOTHING);
	for (size_t i = 0; i < sizeof(memory); i++)
		ck_assert_uint_eq(memory[i], 0);
	for (size_t i = 0; i < sizeof(slots); i++)
		ck_assert_uint_eq(((uint8_t *)slots)[i], 0);
}
END_TEST

START_TEST(a_message_begins_inside_another_one)
{
	say(DOFI_CELL_SEND, DOFI_CELL_FIRST, 60, 90, 0);
	takes(1);
	say(DOFI_CELL_SEND, DOFI_CELL_FIRST, 30, 90, 0);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EPROTO);
	ck_assert_int_eq(dones, 0);
}
END_TEST

/* Each has an answer, and only so many are kept. */
START_TEST(more_writes_than_answers)
{
	path.answers_tail = DOFI_MEMORY_ANSWERS;
	say(DOFI_CELL_WRITE, WHOLE, 8, BASE, CONTEXT);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EPROTO);
	ck_assert_uint_eq(memory[0], 0);
}
END_TEST

START_TEST(rights_are_checked)
{
	expose(DAT_MEM_PRIV_REMOTE_READ_FLAG);
	say(DOFI_CELL_WRITE, WHOLE, 8, BASE, CONTEXT);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EACCES);
	ck_assert_uint_eq(memory[0], 0);
}
END_TEST

START_TEST(protection_zones_are_checked)
{
	struct dofi_pz other = {.number = ZONE + 1};

	ep.pz = &other;
	say(DOFI_CELL_WRITE, WHOLE, 8, BASE, CONTEXT);
	ck_assert_int_eq(dofi_memory_take_cells(&path), 0);
	ck_assert_int_eq(path.fault, -EACCES);
}
END_TEST

/* More reads than the initiator may have under way. */
START_TEST(a_flood_of_reads)
{
	uint64_t length = 8;
	int n = 0;

	memcpy(bytes, &length, sizeof(length));
	for (uint32_t i = 0; i <= DOFI_MEMORY_ANSWERS; i++) {
		say(DOFI_CELL_READ, 0, sizeof(length), BASE, CONTEXT);
		n += dofi_memory_take_cells(&path);
	}
	ck_assert_int_eq(n, DOFI_MEMORY_ANSWERS);
	ck_assert_int_eq(path.fault, -EPROTO);
}
END_TEST

static void add_fetched(TCase *tcase)
{
	tcase_add_test(tcase, a_fetched_message);
	tcase_add_test(tcase, messages_fetched_together);
	tcase_add_loop_test(tcase, as_many_bytes_are_fetched_together, 0, 2);
	tcase_add_test(tcase, messages_without_room_for_answers);
	tcase_add_test(tcase, one_of_several_without_its_memory);
	tcase_add_test(tcase, a_fetched_message_that_is_too_long);
	tcase_add_test(tcase, a_sender_that_is_over);
	tcase_add_test(tcase, a_sender_that_is_dead);
	tcase_add_loop_test(tcase, a_living_sender_whose_memory_cannot_be_copied, 0, 2);
	tcase_add_loop_test(tcase, forged_places, 0, (int)(sizeof(forged) / sizeof(forged[0])));
	tcase_add_loop_test(tcase, places_of_another_size, 0, 6);
	tcase_add_test(tcase, places_inside_a_message);
	tcase_add_test(tcase, as_many_places_as_a_cell_names);
	tcase_add_test(tcase, a_long_message_is_fetched_in_parts);
	tcase_add_test(tcase, messages_of_an_earlier_lap);
	tcase_add_test(tcase, a_short_message_behind_a_fetched_one);
	tcase_add_test(tcase, what_is_not_fetched_together);
	tcase_add_test(tcase, messages_with_room_for_some_answers);
	tcase_add_test(tcase, places_for_one_that_cannot_fetch);
	tcase_add_loop_test(tcase, places_that_change, 0, 2);
}

int main(void)
{
	Suite *suite = suite_create("memory_in");
	TCase *tcase = tcase_create("memory_in");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_message);
	tcase_add_test(tcase, a_message_in_pieces);
	tcase_add_test(tcase, messages_of_each_length);
	tcase_add_loop_test(tcase, a_short_message_across_segments, 0, 9);
	tcase_add_loop_test(tcase, a_short_message_that_is_too_long, 0, 2);
	tcase_add_test(tcase, pieces_across_segments);
	tcase_add_test(tcase, a_message_waits_for_its_receive);
	tcase_add_test(tcase, no_message_is_taken_when_the_connection_breaks);
	tcase_add_test(tcase, the_driver_reads_what_a_round_leaves);
	tcase_add_test(tcase, a_driver_that_is_awake_is_not_called);
	tcase_add_test(tcase, an_empty_ring_wakes_nobody);
	tcase_add_test(tcase, a_call_that_polls_leaves_the_other_cells);
	tcase_add_test(tcase, a_message_that_is_too_long);
	tcase_add_test(tcase, truncation_is_told);
	add_fetched(tcase);
	tcase_add_test(tcase, an_entry_of_the_table);
	tcase_add_test(tcase, a_write);
	tcase_add_test(tcase, the_last_word_of_a_write);
	tcase_add_test(tcase, bytes_that_are_stored_with_a_last_word);
	tcase_add_test(tcase, a_write_in_several_cells);
	tcase_add_test(tcase, a_read);
	tcase_add_test(tcase, entries_without_memory);
	tcase_add_loop_test(tcase, entries_at_the_end_of_the_table, 0, 6);
	tcase_add_loop_test(tcase, memory_that_peers_may_use, 0, 16);
	tcase_add_loop_test(tcase, data_that_were_asked_for, 0, 2);
	tcase_add_test(tcase, a_write_that_is_stored);
	tcase_add_loop_test(tcase, data_of_another_size, 0, 5);
	tcase_add_test(tcase, places_of_control_records);
	tcase_add_test(tcase, control_records_and_credits);
	tcase_add_test(tcase, control_messages);
	tcase_add_loop_test(tcase, lies_end_the_path, 0, LIES);
	tcase_add_test(tcase, rights_are_checked);
	tcase_add_test(tcase, more_writes_than_answers);
	tcase_add_test(tcase, a_message_begins_inside_another_one);
	tcase_add_test(tcase, protection_zones_are_checked);
	tcase_add_test(tcase, a_flood_of_reads);
	return t_run(suite);
}
