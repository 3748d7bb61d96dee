/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages, and the small records beside them. */
#include "dto/credit.h"
#include "transport/memory_send.h"

#include <rdma/fi_errno.h>

#include "made_path.h"

/* --- messages --- */

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

/* A message finds the receive in the EP's ring. */
START_TEST(a_receive_needs_no_cell)
{
	ck_assert_int_eq(dofi_memory_recv(&ep, &request.wr), 0);
	ring_has(0);
}
END_TEST

/* --- credits and flags --- */

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

/* --- records --- */

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

/* A record names its place and has its completion data; a credit update has a total. */
START_TEST(what_small_records_say)
{
	static const uint32_t record = 1;
	struct dofi_cell cell;

	ck_assert_int_eq(dofi_memory_ctrl(&ep, &record, 4, 16, 0, 3), 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_uint_eq(cell.words[0], 16);
	ck_assert_uint_eq(cell.words[1], 3);
	ck_assert_uint_eq(cell.size, 4);
	dofi_ring_take(&peer, &cell);
	ck_assert_int_eq(dofi_memory_credit(&ep, 44), 0);
	ck_assert_int_eq(dofi_ring_look(&peer, &cell), 1);
	ck_assert_uint_eq(cell.words[0], 44);
	ck_assert_uint_eq(cell.size, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_send");
	TCase *tcase = tcase_create("memory_send");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, make_path, NULL);
	tcase_add_test(tcase, a_short_message_is_complete_at_once);
	tcase_add_test(tcase, an_empty_message_is_complete_at_once);
	tcase_add_test(tcase, the_message_of_immediate_data_is_empty);
	tcase_add_test(tcase, a_message_from_a_bounce_buffer);
	tcase_add_test(tcase, long_messages_are_fetched);
	tcase_add_test(tcase, long_messages_for_one_that_cannot_fetch);
	tcase_add_loop_test(tcase, a_fetched_message_names_each_of_its_segments, 0, 5);
	tcase_add_test(tcase, too_many_answers);
	tcase_add_test(tcase, a_receive_needs_no_cell);
	tcase_add_test(tcase, messages_carry_credits);
	tcase_add_test(tcase, flags_of_messages);
	tcase_add_test(tcase, messages_that_control_messages_belong_to);
	tcase_add_test(tcase, small_records);
	tcase_add_test(tcase, what_small_records_say);
	return t_run(suite);
}
