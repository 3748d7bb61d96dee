/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What posts and rounds put into the ring of a path: single cells, jobs, answers to the peer. */
#include "transport/memory_out.h"
#include "transport/memory_pending.h"
#include "transport/memory_rdma.h"
#include "transport/memory_send.h"

#include <errno.h>
#include <rdma/fi_errno.h>

#include "made_path.h"

static int wakes;

void __wrap_dofi_wakeup_call(struct dofi_ia *of, const uint8_t *uuid);

void __wrap_dofi_wakeup_call(struct dofi_ia *of, const uint8_t *uuid)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(uuid, path.peer);
	wakes++;
}

/* What the peer reads: the bytes from the answer's address on, up to an end. */
static uint64_t source_end = sizeof(bytes);
static int sources;

void *__wrap_dofi_memory_source(struct dofi_memory_path *of,
				const struct dofi_memory_answer *answer, uint64_t at, size_t size);

void *__wrap_dofi_memory_source(struct dofi_memory_path *of,
				const struct dofi_memory_answer *answer, uint64_t at, size_t size)
{
	ck_assert_ptr_eq(of, &path);
	dofi_assert_held(&ia.engine.lock);
	sources++;
	return answer->address + at + size <= source_end ? bytes + answer->address + at : NULL;
}

/* --- single cells --- */

/* A peer that says it has taken cells that it did not get. */
START_TEST(an_impossible_index_ends_the_path)
{
	path.out.cells = DOFI_CELLS;
	atomic_store(&segment.rings[0].taken, (uint64_t)(DOFI_CELLS + 1) << 32);
	ck_assert_int_eq(dofi_memory_send(&ep, prepare(DOFI_OP_SEND, LENGTH)), -FI_EAGAIN);
	ck_assert_int_eq(path.fault, -EPROTO);
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

/* --- jobs --- */

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

int main(void)
{
	Suite *suite = suite_create("memory_out");
	TCase *tcase = tcase_create("memory_out");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, make_path, NULL);
	tcase_add_test(tcase, an_impossible_index_ends_the_path);
	tcase_add_loop_test(tcase, a_sleeping_peer_is_woken, 0, 2);
	tcase_add_loop_test(tcase, requests_in_several_cells, 0, 9);
	tcase_add_test(tcase, the_last_cell_has_a_whole_word);
	tcase_add_test(tcase, a_notice_behind_a_full_ring);
	tcase_add_test(tcase, a_message_that_a_round_ends);
	tcase_add_test(tcase, a_write_that_a_round_ends);
	tcase_add_test(tcase, a_round_of_a_faulty_path);
	tcase_add_test(tcase, answers_in_their_order);
	tcase_add_test(tcase, memory_that_ends_during_an_answer);
	tcase_add_test(tcase, an_answer_without_room);
	return t_run(suite);
}
