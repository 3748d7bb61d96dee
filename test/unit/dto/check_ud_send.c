/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams that are sent: those that are lost, those that the fabric refuses, and how far a sender
 * may be ahead of its peer.
 */
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/dto/credit.h"
#include "../../../prov/ofi/dto/ud_pool.h"
#include "../../../prov/ofi/dto/ud_window.h"
#include "ud_world.h"

START_TEST(sends_are_lost_after_a_long_eagain)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_wr *wr;

	open_eps();
	ia.params.linger_ms = 3600000;
	wr = post_send(&eps[0], &ah);
	fabric.send_answer = -FI_EAGAIN;
	ck_assert_int_eq(start(&eps[0], wr), -FI_EAGAIN);
	ck_assert_int_eq(start(&eps[0], wr), -FI_EAGAIN);
	ck_assert_uint_eq(wr->state, DOFI_WR_QUEUED);
	ia.params.linger_ms = 0;
	while (start(&eps[0], wr)) /* the clock moves on */
		;
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_uint_eq(wr->status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_LOST], 1);
	/* The fabric accepts sends again. */
	fabric.send_answer = 0;
	wr = post_send(&eps[0], &ah);
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(wr->state, DOFI_WR_ISSUED);
	ck_assert_uint_eq(atomic_load(&ah.again_since), 0);
	ck_assert_int_eq(fabric.sends, 1);
}
END_TEST

START_TEST(sends_are_lost_with_the_peer_or_the_handle)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .gone = true}, other = {.obj.ia = &ia, .number = 1};
	struct dofi_wr *wr;

	open_eps();
	wr = post_send(&eps[0], &ah);
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_uint_eq(wr->status, DAT_DTO_SUCCESS);
	/* The handle is freed while a send of any EP waits. */
	wr = post_send(&eps[1], &other);
	dofi_ud_forget(&ia, &other);
	ck_assert_int_eq(start(&eps[1], wr), 0);
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_int_eq(fabric.sends, 0);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_LOST] +
				  eps[1].counters[DOFI_CNT_EP_UD_LOST],
			  2);
}
END_TEST

START_TEST(a_local_error_is_reported)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_wr *wr;

	open_eps();
	wr = post_send(&eps[0], &ah);
	fabric.send_answer = -FI_EMSGSIZE;
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_uint_ne(wr->status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_LOST], 0);
	ck_assert(!eps[0].faulty);
}
END_TEST

/* Where the fabric takes one segment only, the datagram was gathered in a buffer. */
START_TEST(the_buffer_of_a_datagram_that_is_lost_is_given_back)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_wr *wr;

	open_eps();
	ia.params.linger_ms = 3600000;
	wr = post_send(&eps[0], &ah);
	wr->split = 1;
	fabric.send_answer = -FI_EAGAIN;
	ck_assert_int_eq(start(&eps[0], wr), -FI_EAGAIN);
	ck_assert_uint_eq(ngiven, 0); /* it is needed later */
	fabric.send_answer = 0;
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(ngiven, 0); /* the fabric reads it */
	wr = post_send(&eps[0], &ah);
	wr->split = 1;
	fabric.send_answer = -FI_EMSGSIZE;
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(ngiven, 1);
	ck_assert_ptr_eq(given[0], wr);
	wr = post_send(&eps[0], &ah); /* it has none */
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(ngiven, 1);
}
END_TEST

/* The errors that peers cause, and those that say that the fabric gives the request back. */
START_TEST(the_status_of_a_datagram_that_failed)
{
	static const struct {
		int err;
		uint8_t status;
	} cases[] = {{FI_ECANCELED, DAT_DTO_SUCCESS},
		     {FI_ECONNRESET, DAT_DTO_SUCCESS},
		     {FI_EHOSTUNREACH, DAT_DTO_SUCCESS},
		     {FI_EFAULT, DAT_DTO_ERR_LOCAL_PROTECTION}};
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_wr *wr;

	open_eps();
	wr = post_send(&eps[0], &ah);
	dofi_lock(&eps[0].lock);
	dofi_ud_send_failed(&eps[0], wr, cases[_i].err);
	dofi_unlock(&eps[0].lock);
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_uint_eq(wr->status, cases[_i].status);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_LOST],
			  cases[_i].status == DAT_DTO_SUCCESS);
}
END_TEST

/* The time counts from the first refusal, for each address handle. */
START_TEST(a_datagram_is_lost_after_the_limit)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_wr *wr;

	open_eps();
	ia.params.linger_ms = 1000;
	wr = post_send(&eps[0], &ah);
	fabric.send_answer = -FI_EAGAIN;
	ck_assert_int_eq(start(&eps[0], wr), -FI_EAGAIN);
	ck_assert_uint_ne(atomic_load(&ah.again_since), 0);
	atomic_store(&ah.again_since, dofi_now() - 500 * UINT64_C(1000000));
	ck_assert_int_eq(start(&eps[0], wr), -FI_EAGAIN);
	atomic_store(&ah.again_since, dofi_now() - 1001 * UINT64_C(1000000));
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_LOST], 1);
}
END_TEST

/* Requests of the handle lose it, those of another keep theirs. */
START_TEST(a_freed_handle_is_taken_from_its_requests)
{
	struct dofi_ud_ah ah[2] = {{.obj.ia = &ia, .number = 7}, {.obj.ia = &ia, .number = 8}};
	struct dofi_wr *wrs[3];

	open_eps();
	for (int i = 0; i < 3; i++)
		wrs[i] = post_send(&eps[0], &ah[i % 2]);
	eps[0].req.head = 1; /* the first one is complete */
	dofi_ud_forget(&ia, &ah[0]);
	ck_assert_ptr_eq(wrs[0]->send.ah, &ah[0]);
	ck_assert_ptr_eq(wrs[1]->send.ah, &ah[1]);
	ck_assert_ptr_null(wrs[2]->send.ah);
	ck_assert(dofi_trylock(&eps[0].lock));
	dofi_unlock(&eps[0].lock);
}
END_TEST

START_TEST(datagrams_under_way_are_counted)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};

	ck_assert(!dofi_ud_is_sending(&ia));
	open_eps();
	ck_assert(!dofi_ud_is_sending(&ia));
	ck_assert_int_eq(start(&eps[1], post_send(&eps[1], &ah)), 0);
	ck_assert(dofi_ud_is_sending(&ia));
}
END_TEST

START_TEST(datagrams_under_way_are_counted_at_each_place)
{
	static const uint32_t places[] = {0, 1, DOFI_UD_EPS - 1};
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_ep **table;

	open_eps();
	table = dofi_ud_pool_eps(&ia);
	for (uint32_t i = 0; i < DOFI_UD_EPS; i++)
		table[i] = NULL;
	table[places[_i]] = &eps[1];
	ck_assert(!dofi_ud_is_sending(&ia));
	ck_assert_int_eq(start(&eps[1], post_send(&eps[1], &ah)), 0);
	ck_assert(dofi_ud_is_sending(&ia));
}
END_TEST

/* --- windows --- */

static void does_not_go(struct dofi_ep *ep, struct dofi_ud_ah *ah)
{
	int sends = fabric.sends;

	ck_assert_int_eq(start(ep, post_send(ep, ah)), -FI_EAGAIN);
	ck_assert_int_eq(fabric.sends, sends);
	ep->req.head = ep->req.issue = ep->req.tail;
}

START_TEST(a_sender_waits_when_its_peer_takes_nothing)
{
	struct dofi_ud_ah ah = {.number = 7};
	uint32_t first;

	open_window(&ah);
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY - 1);
	ck_assert_int_eq(fabric.marks, 0);
	send_many(&eps[1], &ah, 1);
	ck_assert_int_eq(fabric.marks, 1);
	first = fabric.update;
	ck_assert_uint_eq(first, DOFI_UD_MARK_EVERY << 2 | DOFI_UPDATE_CREDIT);
	send_many(&eps[1], &ah, DOFI_UD_MARK_EVERY);
	does_not_go(&eps[0], &ah);
	ck_assert_int_eq(fabric.marks, 1);
	/* The peer has taken what went before the mark. */
	dofi_ud_mark_answered(&ah, first);
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY);
	ck_assert_int_eq(fabric.marks, 2);
	ck_assert_uint_ne(fabric.update, first);
	does_not_go(&eps[0], &ah);
	dofi_ud_mark_answered(&ah, fabric.update);
	send_many(&eps[0], &ah, 1);
}
END_TEST

START_TEST(a_mark_that_the_fabric_refuses_goes_later)
{
	struct dofi_ud_ah ah = {.number = 7};

	open_window(&ah);
	fabric.mark_answer = -FI_EAGAIN;
	send_many(&eps[0], &ah, DOFI_UD_WINDOW);
	does_not_go(&eps[0], &ah);
	ck_assert_int_eq(fabric.marks, 0);
	fabric.mark_answer = 0;
	does_not_go(&eps[0], &ah);
	ck_assert_int_eq(fabric.marks, 1);
	dofi_ud_mark_answered(&ah, fabric.update);
	/* All that went before it was taken: the whole window is free again. */
	send_many(&eps[0], &ah, DOFI_UD_WINDOW);
	ck_assert_int_eq(fabric.marks, 2);
	does_not_go(&eps[0], &ah);
}
END_TEST

START_TEST(an_answer_to_no_mark_changes_nothing)
{
	struct dofi_ud_ah ah = {.number = 7};
	uint32_t update;

	open_window(&ah);
	send_many(&eps[0], &ah, DOFI_UD_WINDOW);
	update = fabric.update;
	dofi_ud_mark_answered(&ah, update + (DOFI_UD_WINDOW << 2)); /* never sent */
	dofi_ud_mark_answered(&ah, update - (DOFI_UD_WINDOW << 2)); /* taken long ago */
	does_not_go(&eps[0], &ah);
	dofi_ud_mark_answered(&ah, update);
	dofi_ud_mark_answered(&ah, update + (DOFI_UD_MARK_EVERY << 2));
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY);
	does_not_go(&eps[0], &ah);
}
END_TEST

/* The mark that is under way has another count. */
START_TEST(a_repeated_answer_changes_nothing)
{
	struct dofi_ud_ah ah = {.number = 7};
	uint32_t first;

	open_window(&ah);
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY);
	first = fabric.update;
	dofi_ud_mark_answered(&ah, first);
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY);
	ck_assert_int_eq(fabric.marks, 2);
	dofi_ud_mark_answered(&ah, first);
	send_many(&eps[0], &ah, 1);
	ck_assert_int_eq(fabric.marks, 2);
	dofi_ud_mark_answered(&ah, fabric.update);
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY - 1);
	ck_assert_int_eq(fabric.marks, 3);
}
END_TEST

START_TEST(counts_wrap)
{
	struct dofi_ud_ah ah = {.number = 7, .sent = -70u, .taken = -70u};

	open_window(&ah);
	for (int i = 0; i < 4; i++) {
		send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY);
		ck_assert_int_eq(fabric.marks, i + 1);
		dofi_ud_mark_answered(&ah, fabric.update);
	}
	send_many(&eps[0], &ah, DOFI_UD_WINDOW);
	does_not_go(&eps[0], &ah);
}
END_TEST

START_TEST(an_answer_waits_for_the_fabric)
{
	struct dofi_ud_ah ah[2] = {{.number = 7}, {.number = 8}};

	open_window(&ah[0]);
	ah[1].obj.ia = &ia;
	dofi_list_init(&ah[1].answer);
	dofi_ud_answer(&ah[0], 42);
	ck_assert_int_eq(fabric.answers, 1);
	ck_assert_uint_eq(fabric.update, 42);
	ck_assert_uint_eq(ia.engine.restless, 0);
	fabric.mark_answer = -FI_EAGAIN;
	dofi_ud_answer(&ah[0], 43);
	dofi_ud_answer(&ah[1], 44);
	dofi_ud_answer(&ah[0], 45);
	dofi_ud_answers_retry(&ia);
	ck_assert_uint_eq(ia.engine.restless, 2);
	dofi_ud_answer_drop(&ah[1]);
	dofi_ud_answer_drop(&ah[1]);
	ck_assert_uint_eq(ia.engine.restless, 1);
	fabric.mark_answer = 0;
	dofi_ud_answers_retry(&ia);
	ck_assert_int_eq(fabric.answers, 2);
	ck_assert_uint_eq(fabric.update, 45);
	ck_assert_uint_eq(ia.engine.restless, 0);
	dofi_ud_answers_retry(&ia);
	ck_assert_int_eq(fabric.answers, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ud_send");
	TCase *tc = add_case(suite);

	tcase_add_test(tc, sends_are_lost_after_a_long_eagain);
	tcase_add_test(tc, sends_are_lost_with_the_peer_or_the_handle);
	tcase_add_test(tc, a_local_error_is_reported);
	tcase_add_test(tc, the_buffer_of_a_datagram_that_is_lost_is_given_back);
	tcase_add_loop_test(tc, the_status_of_a_datagram_that_failed, 0, 4);
	tcase_add_test(tc, a_datagram_is_lost_after_the_limit);
	tcase_add_test(tc, a_freed_handle_is_taken_from_its_requests);
	tcase_add_test(tc, datagrams_under_way_are_counted);
	tcase_add_loop_test(tc, datagrams_under_way_are_counted_at_each_place, 0, 3);
	tcase_add_test(tc, a_sender_waits_when_its_peer_takes_nothing);
	tcase_add_test(tc, a_mark_that_the_fabric_refuses_goes_later);
	tcase_add_test(tc, an_answer_to_no_mark_changes_nothing);
	tcase_add_test(tc, a_repeated_answer_changes_nothing);
	tcase_add_test(tc, counts_wrap);
	tcase_add_test(tc, an_answer_waits_for_the_fabric);
	return t_run(suite);
}
