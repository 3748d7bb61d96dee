/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RDMA that copies from and to the peer's memory or goes to its box, and the ring instead. */
#include "transport/memory_rdma.h"

#include <errno.h>
#include <rdma/fi_errno.h>

#include "made_path.h"

/* --- copies --- */

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

/* The kernel does not find it, because its first thread has ended. */
START_TEST(the_ring_reaches_a_peer_that_is_hidden)
{
	path.pid = getpid();
	copy_err = -ESRCH;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), 0);
	ring_has(DOFI_CELL_WRITE);
	ck_assert(!path.copies);
	ck_assert_int_eq(path.fault, 0);
}
END_TEST

START_TEST(a_long_copy_is_made_in_pieces)
{
	copy_length = 2 * DOFI_REMOTE_PIECE + 8;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, copy_length)), 0);
	ck_assert_int_eq(copies, 3);
	ck_assert_int_eq(request.wr.state, DOFI_WR_DONE);
	copy_length = 2 * DOFI_REMOTE_PIECE;
	ck_assert_int_eq(dofi_memory_read(&ep, prepare(DOFI_OP_READ, copy_length)), 0);
	ck_assert_int_eq(copies, 5);
}
END_TEST

/* From then on the memory belongs to the target's program. */
START_TEST(a_long_copy_stops_when_the_peer_is_over)
{
	copy_length = 3 * DOFI_REMOTE_PIECE;
	over_after = 2;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, copy_length)), -FI_ENOTCONN);
	ck_assert_int_eq(copies, 2);
	ck_assert_uint_eq(segment.marks[0].copying, 0);
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

/* --- boxes --- */

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

/* --- the ring --- */

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
	Suite *suite = suite_create("memory_rdma");
	TCase *tcase = tcase_create("memory_rdma");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, make_path, NULL);
	tcase_add_test(tcase, a_write_is_complete_at_once);
	tcase_add_test(tcase, a_read_is_complete_at_once);
	tcase_add_test(tcase, a_part_completes_in_a_round);
	tcase_add_test(tcase, a_notice_follows_the_write);
	tcase_add_test(tcase, a_notice_without_room);
	tcase_add_loop_test(tcase, the_ring_carries_what_is_forbidden, 0, 2);
	tcase_add_test(tcase, a_peer_that_is_over);
	tcase_add_test(tcase, a_peer_that_is_dead);
	tcase_add_test(tcase, the_ring_reaches_a_peer_that_is_hidden);
	tcase_add_test(tcase, a_long_copy_is_made_in_pieces);
	tcase_add_test(tcase, a_long_copy_stops_when_the_peer_is_over);
	tcase_add_test(tcase, memory_that_is_not_there);
	tcase_add_test(tcase, a_request_without_room_waits);
	tcase_add_test(tcase, a_peer_that_polls_serves_its_box);
	tcase_add_test(tcase, a_box_that_nobody_serves);
	tcase_add_test(tcase, a_peer_that_never_polls_enough);
	tcase_add_loop_test(tcase, a_peer_that_polls_during_a_copy, 0, 6);
	tcase_add_test(tcase, the_count_of_enough_polls);
	tcase_add_test(tcase, a_notice_follows_a_write_through_the_ring);
	tcase_add_test(tcase, a_part_through_the_ring);
	tcase_add_test(tcase, a_look_at_the_peers_table);
	tcase_add_test(tcase, what_the_peer_is_asked_for);
	tcase_add_test(tcase, what_a_request_does);
	return t_run(suite);
}
