/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the connection of a truncated message of an SRQ by the send counts of the peers. */
#include "unit.h"

#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/conn_message.h"
#include "../../../prov/ofi/dto/credit.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/cm/truncated.h"
#include "../../../prov/ofi/dto/srq_receive.h"
#include "../../../prov/ofi/cm/wire.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "../../../prov/ofi/cm/conn_state.h"

#include <string.h>

#define CONNS 3

static struct dofi_ia ia;
static struct dofi_srq srq, other;
/* The last connection stands behind the table. */
static struct dofi_ep eps[CONNS + 1];
static struct dofi_conn conns[CONNS + 1], *table[CONNS + 2];
static struct dofi_wr *buffers[2];

/* --- functions that truncated.c calls --- */

static struct {
	int asked[CONNS], blamed[CONNS], taken_back;
	struct dofi_msg msg; /* the latest message sent */
} seen;

void dofi_conn_send(struct dofi_conn *conn, struct dofi_msg *msg)
{
	ck_assert_ptr_ne(conn, &conns[CONNS]);
	seen.asked[conn - conns]++;
	seen.msg = *msg;
}

uint32_t dofi_conn_sent(const struct dofi_conn *conn)
{
	return conn == &conns[1] ? 42 : 0;
}

void dofi_srq_break(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ck_assert(wr == buffers[0] || wr == buffers[1]);
	seen.blamed[ep - eps]++;
	ep->nreceived++;
}

void dofi_srq_take_back(struct dofi_srq *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &srq);
	ck_assert(wr == buffers[0] || wr == buffers[1]);
	seen.taken_back++;
}

/* --- */

static void setup(void)
{
	memset(&seen, 0, sizeof(seen));
	dofi_lock_init(&ia.engine.lock);
	ia.cm.conns = table;
	ia.cm.conns_size = CONNS + 1;
	srq.obj.ia = other.obj.ia = &ia;
	for (int i = 0; i <= CONNS; i++) {
		dofi_lock_init(&eps[i].lock);
		eps[i].obj.ia = &ia;
		eps[i].srq = &srq;
		conns[i].ia = &ia;
		conns[i].ep = &eps[i];
		conns[i].state = DOFI_CONN_ESTABLISHED;
		table[i + 1] = &conns[i];
	}
	for (int i = 0; i < 2; i++)
		buffers[i] = calloc(1, sizeof(*buffers[i]));
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
	free(buffers[0]);
	free(buffers[1]);
}

static void told(int i, uint32_t count)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_COUNTED,
				     .number = conns[i].count_asked,
				     .data = count};

	dofi_truncated_on_count(&conns[i], &msg);
}

static void expect(int first, int second, int third, int taken_back)
{
	ck_assert_int_eq(seen.blamed[0], first);
	ck_assert_int_eq(seen.blamed[1], second);
	ck_assert_int_eq(seen.blamed[2], third);
	ck_assert_int_eq(seen.taken_back, taken_back);
	ck_assert_int_eq(!srq.truncated, !srq.ntruncated);
}

START_TEST(the_connection_with_a_missing_message_breaks)
{
	eps[0].nreceived = 7;
	dofi_truncated_arrived(&srq, buffers[0]);
	for (int i = 0; i < CONNS; i++)
		ck_assert_int_eq(seen.asked[i], 1);
	told(0, 7);
	told(1, 1);
	expect(0, 0, 0, 0); /* the third peer has not answered */
	told(2, 0);
	expect(0, 1, 0, 0);
}
END_TEST

/* The peer's GOODBYE came first. It has the count, and the peer does not answer any more. */
START_TEST(sender_has_already_said_goodbye)
{
	const struct dofi_msg bye = {.type = DOFI_MSG_BYE, .data = 1};

	conns[1].peer_told = true;
	dofi_truncated_on_count(&conns[1], &bye);
	dofi_truncated_arrived(&srq, buffers[0]);
	ck_assert_int_eq(seen.asked[1], 0);
	told(0, 0);
	expect(0, 0, 0, 0);
	told(2, 0);
	expect(0, 1, 0, 0);
}
END_TEST

START_TEST(messages_under_way_are_waited_for)
{
	dofi_truncated_arrived(&srq, buffers[0]);
	told(0, 2);
	told(1, 1);
	told(2, 0);
	expect(0, 0, 0, 0);
	eps[0].nreceived++;
	dofi_truncated_settle(&srq);
	expect(0, 0, 0, 0);
	eps[0].nreceived++;
	dofi_truncated_settle(&srq);
	expect(0, 1, 0, 0);
}
END_TEST

START_TEST(later_messages_are_held)
{
	struct dofi_wr late = {.recv.update = 1u << DOFI_UPDATE_NUMBER_SHIFT},
		       later = {.recv.update = 2u << DOFI_UPDATE_NUMBER_SHIFT};

	dofi_truncated_arrived(&srq, buffers[0]);
	eps[2].held = &late;
	late.recv.next = &later; /* sent after the peer was asked */
	told(0, 0);
	told(1, 0);
	told(2, 2);
	expect(0, 0, 1, 0);
	eps[2].held = NULL;
}
END_TEST

/* Only those that had been sent when the peer was asked. */
START_TEST(held_messages_are_compared_with_the_count)
{
	static const struct {
		uint32_t number;
		bool counts;
	} cases[] = {{11, true}, {10, true}, {12, false}, {13, false}, {9, false}};
	struct dofi_wr held = {.recv.update = cases[_i].number << DOFI_UPDATE_NUMBER_SHIFT};

	eps[1].nreceived = 10;
	eps[1].held = &held;
	dofi_truncated_arrived(&srq, buffers[0]);
	told(0, 0);
	told(1, 12);
	told(2, 0);
	/* One truncated message may be the one that is missing. Two are too many. */
	expect(0, cases[_i].counts, 0, 0);
	eps[1].held = NULL;
}
END_TEST

/* More may have come than had been sent when the peer was asked. */
START_TEST(later_messages_have_come)
{
	struct dofi_wr late = {.recv.update = 9u << DOFI_UPDATE_NUMBER_SHIFT};

	eps[0].nreceived = 7;
	eps[0].held = &late;
	dofi_truncated_arrived(&srq, buffers[0]);
	told(0, 5);
	told(1, 1);
	told(2, 0);
	expect(0, 1, 0, 0);
	eps[0].held = NULL;
}
END_TEST

START_TEST(numbers_wrap)
{
	struct dofi_wr late = {.recv.update = 0u};

	eps[1].nreceived = 4 * (DOFI_UPDATE_NUMBER + 1) - 1;
	eps[1].held = &late;
	dofi_truncated_arrived(&srq, buffers[0]);
	told(0, 0);
	told(1, eps[1].nreceived + 2);
	told(2, 0);
	expect(0, 1, 0, 0);
	eps[1].held = NULL;
}
END_TEST

START_TEST(two_truncated_messages_of_two_connections)
{
	dofi_truncated_arrived(&srq, buffers[0]);
	told(0, 1);
	dofi_truncated_arrived(&srq, buffers[1]);
	ck_assert_int_eq(seen.asked[1], 2);
	told(1, 0);
	told(2, 1);
	expect(0, 0, 0, 0); /* the first answer belongs to an older COUNT */
	told(0, 1);
	expect(1, 0, 1, 0);
}
END_TEST

START_TEST(two_truncated_messages_of_one_connection)
{
	dofi_truncated_arrived(&srq, buffers[0]);
	dofi_truncated_arrived(&srq, buffers[1]);
	told(0, 0);
	told(1, 2);
	told(2, 0);
	expect(0, 1, 0, 1);
}
END_TEST

START_TEST(the_connection_has_ended_already)
{
	dofi_truncated_arrived(&srq, buffers[0]);
	told(0, 0);
	told(1, 0);
	conns[2].state = DOFI_CONN_RELEASING;
	dofi_truncated_settle(&srq);
	expect(0, 0, 0, 1);
}
END_TEST

START_TEST(goodbye_counts_as_an_answer)
{
	const struct dofi_msg bye = {.type = DOFI_MSG_BYE, .data = 1};

	dofi_truncated_arrived(&srq, buffers[0]);
	told(0, 0);
	told(1, 0);
	dofi_truncated_on_count(&conns[2], &bye);
	expect(0, 0, 1, 0);
}
END_TEST

START_TEST(connections_without_the_srq_are_not_asked)
{
	eps[0].srq = &other;
	conns[1].state = DOFI_CONN_ACCEPTED;
	dofi_truncated_arrived(&srq, buffers[0]);
	ck_assert_int_eq(seen.asked[0], 0);
	told(1, 1);
	told(2, 0);
	expect(0, 1, 0, 0);
	eps[0].srq = NULL;
	told(0, 3); /* an answer without a COUNT */
}
END_TEST

/* Of an older question, or of one that was never asked: neither tells what was sent meanwhile. */
START_TEST(an_answer_to_another_question_does_not_count)
{
	const struct dofi_msg forged = {.type = DOFI_MSG_COUNTED, .number = 2, .data = 1},
			      old = {.type = DOFI_MSG_COUNTED, .number = 0, .data = 1};

	dofi_truncated_arrived(&srq, buffers[0]);
	told(0, 0);
	told(1, 0);
	dofi_truncated_on_count(&conns[2], _i ? &forged : &old);
	expect(0, 0, 0, 0);
	told(2, 0);
	expect(0, 0, 0, 1); /* nobody's */
}
END_TEST

/* Each truncated message has a question of its own, and an answer names its question. */
START_TEST(the_questions_are_numbered)
{
	for (uint32_t i = 0; i < 2; i++) {
		dofi_truncated_arrived(&srq, buffers[i]);
		ck_assert_int_eq(seen.msg.type, DOFI_MSG_COUNT);
		ck_assert_uint_eq(seen.msg.number, i + 1);
		ck_assert_uint_eq(srq.ntruncated, i + 1);
		for (int k = 0; k < CONNS; k++)
			ck_assert_uint_eq(conns[k].count_asked, i + 1);
	}
	told(0, 0);
	told(1, 0);
	ck_assert_uint_eq(conns[1].count_told, 2);
	ck_assert_uint_eq(conns[2].count_told, 0);
}
END_TEST

/* Its EP was destroyed, or uses no SRQ, when the answer came. */
START_TEST(an_answer_to_a_connection_without_receives_is_ignored)
{
	eps[0].srq = NULL;
	conns[0].ep = _i ? &eps[0] : NULL;
	conns[0].peer_count = 3;
	told(0, 7);
	ck_assert_uint_eq(conns[0].peer_count, 3);
	ck_assert_uint_eq(conns[0].count_told, 0);
	conns[0].ep = &eps[0];
}
END_TEST

/* Of the same SRQ only: the other has no truncated message, and its peers answer no question. */
START_TEST(other_srqs_do_not_matter)
{
	eps[0].srq = &other;
	conns[0].count_asked = 1; /* and not answered */
	conns[0].peer_count = 9;
	dofi_truncated_arrived(&srq, buffers[0]);
	told(1, 0);
	told(2, 1);
	expect(0, 0, 1, 0);
	dofi_truncated_settle(&other);
	expect(0, 0, 1, 0);
}
END_TEST

START_TEST(a_peer_answers_with_its_send_count)
{
	const struct dofi_msg question = {.type = DOFI_MSG_COUNT, .number = 5};

	dofi_truncated_on_count_request(&conns[1], &question);
	ck_assert_int_eq(seen.msg.type, DOFI_MSG_COUNTED);
	ck_assert_uint_eq(seen.msg.number, 5);
	ck_assert_uint_eq(seen.msg.data, 42);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("truncated");
	TCase *tc = tcase_create("truncated");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_connection_with_a_missing_message_breaks);
	tcase_add_test(tc, sender_has_already_said_goodbye);
	tcase_add_test(tc, messages_under_way_are_waited_for);
	tcase_add_test(tc, later_messages_are_held);
	tcase_add_loop_test(tc, held_messages_are_compared_with_the_count, 0, 5);
	tcase_add_test(tc, later_messages_have_come);
	tcase_add_test(tc, numbers_wrap);
	tcase_add_test(tc, two_truncated_messages_of_two_connections);
	tcase_add_test(tc, two_truncated_messages_of_one_connection);
	tcase_add_test(tc, the_connection_has_ended_already);
	tcase_add_test(tc, goodbye_counts_as_an_answer);
	tcase_add_test(tc, connections_without_the_srq_are_not_asked);
	tcase_add_loop_test(tc, an_answer_to_another_question_does_not_count, 0, 2);
	tcase_add_test(tc, the_questions_are_numbered);
	tcase_add_loop_test(tc, an_answer_to_a_connection_without_receives_is_ignored, 0, 2);
	tcase_add_test(tc, other_srqs_do_not_matter);
	tcase_add_test(tc, a_peer_answers_with_its_send_count);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
