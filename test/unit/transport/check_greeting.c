/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Greetings: each side of a connection by the shared endpoint sends one, and the connecting side is
 * up when that of the peer has come. The linker redirects the connection manager to this file.
 */
#include "unit.h"

#include "../../../prov/ofi/transport/greeting.c"
#include "../../../prov/ofi/transport/rdm_tag.h"

#include <rdma/fi_tagged.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NUMBER 7u /* of the connection; the peer's is one more */
#define DEST   55u

static struct dofi_ia ia;
static struct dofi_rdm rdm;
static struct dofi_peer peer;
static struct dofi_conn conn, second;
static _Atomic uint32_t peer_mark;

/* --- the fabric --- */

static ssize_t inject_answer;
static unsigned int injects;

static ssize_t inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t tag)
{
	const struct dofi_ctrl_credit *greeting = buf;

	(void)ep;
	ck_assert_uint_eq(len, sizeof(*greeting));
	ck_assert_uint_eq(greeting->number, NUMBER + 1);
	ck_assert_uint_eq(greeting->secret, dofi_token_secret(conn.peer_token));
	ck_assert_uint_eq(greeting->update, 0); /* no credit update */
	ck_assert_uint_eq(dest, DEST);
	ck_assert_uint_eq(tag, DOFI_TAG_CTRL);
	injects++;
	return inject_answer;
}

static struct fi_ops_tagged tagged_ops = {.size = sizeof(tagged_ops), .inject = inject};
static struct fid_ep endpoint = {.tagged = &tagged_ops};

/* --- the connection manager --- */

static unsigned int ups, downs, proceeds, withdrawals, expects;
static int down_error, expect_answer;

struct dofi_conn *__wrap_dofi_conn_by_id(struct dofi_ia *of, uint32_t id);
void __wrap_dofi_conn_path_up(struct dofi_conn *of);
void __wrap_dofi_conn_path_down(struct dofi_conn *of, int err);
void __wrap_dofi_conn_proceeds(struct dofi_conn *of);
void __wrap_dofi_memory_withdraw(struct dofi_conn *of);

struct dofi_conn *__wrap_dofi_conn_by_id(struct dofi_ia *of, uint32_t id)
{
	ck_assert_ptr_eq(of, &ia);
	return id == NUMBER ? &conn : NULL;
}

void __wrap_dofi_conn_path_up(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	ups++;
}

void __wrap_dofi_conn_path_down(struct dofi_conn *of, int err)
{
	ck_assert_ptr_eq(of, &conn);
	down_error = err;
	downs++;
}

void __wrap_dofi_conn_proceeds(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	proceeds++;
}

void __wrap_dofi_memory_withdraw(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	ck_assert_uint_eq(expects, 0); /* first */
	withdrawals++;
}

static uint64_t now = 5000000000;

uint64_t __wrap_dofi_now(void);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

/* As that of the transport, which finds the peer and waits for its greeting. */
static int expect(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	expects++;
	ck_assert(rdm.peers.in_completion);
	if (expect_answer)
		return expect_answer;
	of->peer = &peer;
	dofi_greeting_begin(of, false);
	return 0;
}

static const struct dofi_trans_ops trans = {.expect = expect};

/* --- */

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_list_init(&rdm.greetings);
	ia.rdm = &rdm;
	ia.shared_ep = &endpoint;
	ia.engine.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	peer.wakeup.mark = &peer_mark;
	conn = (struct dofi_conn){.ia = &ia,
				  .trans = &trans,
				  .id = NUMBER,
				  .peer_id = NUMBER + 1,
				  .peer = &peer,
				  .dest = DEST,
				  .state = DOFI_CONN_CONNECTING,
				  .active = true};
	for (size_t i = 0; i < sizeof(conn.peer_token); i++)
		conn.peer_token[i] = (uint8_t)(i + 1);
	dofi_list_init(&conn.greeting);
	second = conn;
	dofi_list_init(&second.greeting);
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
	close(ia.engine.wake_fd);
}

static uint32_t restless(void)
{
	return atomic_load(&ia.engine.restless);
}

static void be_passive(void)
{
	conn.active = false;
	conn.state = DOFI_CONN_ACCEPTED;
}

START_TEST(the_connecting_side_greets_first_and_waits_for_the_answer)
{
	dofi_greeting_begin(&conn, true);
	ck_assert_uint_eq(injects, 0);
	ck_assert_int_eq(dofi_greetings_poll(&ia), 1);
	ck_assert_int_eq(dofi_greetings_poll(&ia), 0); /* once */
	ck_assert_uint_eq(injects, 1);
	ck_assert_uint_eq(restless(), 1);
	ck_assert_uint_eq(ups, 0);
	dofi_greeting_arrived(&ia, NUMBER);
	ck_assert_uint_eq(ups, 1);
	ck_assert_uint_eq(restless(), 0);
	dofi_greeting_arrived(&ia, NUMBER); /* a second one */
	ck_assert_uint_eq(ups, 1);
	ck_assert_uint_eq(proceeds, 0);
	ck_assert_uint_eq(injects, 1);
}
END_TEST

START_TEST(the_accepting_side_answers)
{
	be_passive();
	dofi_greeting_begin(&conn, false);
	ck_assert_int_eq(dofi_greetings_poll(&ia), 0);
	ck_assert_uint_eq(restless(), 1);
	dofi_greeting_arrived(&ia, NUMBER);
	ck_assert_uint_eq(injects, 1);
	ck_assert_uint_eq(proceeds, 1);
	ck_assert_uint_eq(ups, 0);
	ck_assert_uint_eq(restless(), 0);
	ck_assert(dofi_list_empty(&conn.greeting));
}
END_TEST

/* The fabric has no room; the next round tries again. */
START_TEST(a_greeting_waits_for_room)
{
	if (_i) {
		be_passive();
		dofi_greeting_begin(&conn, false);
		inject_answer = -FI_EAGAIN;
		dofi_greeting_arrived(&ia, NUMBER);
	} else {
		dofi_greeting_begin(&conn, true);
		inject_answer = -FI_EAGAIN;
		ck_assert_int_eq(dofi_greetings_poll(&ia), 0);
	}
	ck_assert_uint_eq(restless(), 1);
	inject_answer = 0;
	ck_assert_int_eq(dofi_greetings_poll(&ia), 1);
	ck_assert_uint_eq(injects, 2);
	ck_assert_uint_eq(restless(), !_i);
	ck_assert_uint_eq(downs, 0);
}
END_TEST

START_TEST(a_greeting_that_is_refused_ends_the_path)
{
	dofi_greeting_begin(&conn, true);
	inject_answer = -FI_EHOSTUNREACH;
	ck_assert_int_eq(dofi_greetings_poll(&ia), 1);
	ck_assert_uint_eq(downs, 1);
	ck_assert_int_eq(down_error, FI_EHOSTUNREACH);
	ck_assert_int_eq(dofi_greetings_poll(&ia), 0);
	ck_assert_uint_eq(downs, 1);
}
END_TEST

START_TEST(each_round_sends_all_due_greetings)
{
	be_passive();
	second.active = false;
	dofi_greeting_begin(&conn, true);
	dofi_greeting_begin(&second, true);
	ck_assert_uint_eq(restless(), 2);
	ck_assert_int_eq(dofi_greetings_poll(&ia), 2);
	ck_assert_uint_eq(restless(), 0);
	ck_assert(dofi_list_empty(&rdm.greetings));
}
END_TEST

/* The driver has to run rounds at short intervals. */
START_TEST(the_begin_wakes_the_driver)
{
	uint64_t count;

	atomic_store(&ia.wait.asleep, true);
	dofi_greeting_begin(&conn, true);
	ck_assert_int_eq(read(ia.engine.wake_fd, &count, sizeof(count)), sizeof(count));
}
END_TEST

/* The peer sleeps until somebody wakes it, where this side has a mark, too. */
START_TEST(the_greeting_is_followed_by_a_wakeup)
{
	static _Atomic uint32_t mark;

	ia.wakeup.mark = _i ? &mark : NULL;
	dofi_greeting_begin(&conn, true);
	dofi_greetings_poll(&ia);
	ck_assert(atomic_load(&ia.wait.posted) == _i);
}
END_TEST

START_TEST(the_end_is_the_end_once)
{
	dofi_greeting_begin(&conn, true);
	dofi_greeting_begin(&second, true);
	dofi_greeting_end(&conn);
	ck_assert_uint_eq(restless(), 1);
	dofi_greeting_end(&conn);
	ck_assert_uint_eq(restless(), 1);
	ck_assert(!dofi_list_empty(&second.greeting));
	dofi_greeting_arrived(&ia, NUMBER);
	ck_assert_uint_eq(ups, 0);
}
END_TEST

START_TEST(a_greeting_for_nobody)
{
	dofi_greeting_begin(&conn, true);
	dofi_greeting_arrived(&ia, NUMBER + 1);
	ck_assert_uint_eq(ups, 0);
	ck_assert_uint_eq(restless(), 1);
}
END_TEST

/* The stream below broke, perhaps with the greeting in it. */
START_TEST(a_lost_greeting_is_repeated)
{
	dofi_greeting_begin(&conn, true);
	dofi_greetings_poll(&ia);
	dofi_greeting_again(&conn);
	ck_assert_uint_eq(restless(), 1); /* it still waits for the answer */
	ck_assert_int_eq(dofi_greetings_poll(&ia), 1);
	dofi_greeting_arrived(&ia, NUMBER);
	dofi_greeting_again(&conn); /* the peer may still wait */
	ck_assert_int_eq(dofi_greetings_poll(&ia), 1);
	ck_assert_uint_eq(injects, 3);
}
END_TEST

/* It has nothing to repeat before the peer's has come. */
START_TEST(the_accepting_side_repeats_only_what_it_sent)
{
	be_passive();
	dofi_greeting_begin(&conn, false);
	dofi_greeting_again(&conn);
	ck_assert_int_eq(dofi_greetings_poll(&ia), 0);
	dofi_greeting_arrived(&ia, NUMBER);
	dofi_greeting_again(&conn);
	ck_assert_int_eq(dofi_greetings_poll(&ia), 1);
	ck_assert_uint_eq(injects, 2);
	ck_assert_uint_eq(restless(), 0);
}
END_TEST

/* Nothing tells that the stream broke. */
START_TEST(a_greeting_without_an_answer_is_repeated)
{
	dofi_greeting_begin(&conn, true);
	for (unsigned int i = 1; i < 4; i++) {
		ck_assert_int_eq(dofi_greetings_poll(&ia), 1);
		now += REPEAT_NS - 1;
		ck_assert_int_eq(dofi_greetings_poll(&ia), 0);
		ck_assert_uint_eq(injects, i);
		now++;
	}
	dofi_greeting_arrived(&ia, NUMBER);
	ck_assert_int_eq(dofi_greetings_poll(&ia), 0);
	ck_assert_uint_eq(restless(), 0);
}
END_TEST

/* The accepting side waits for the first greeting, and answers each. */
START_TEST(a_repeated_greeting_is_answered_again)
{
	be_passive();
	dofi_greeting_begin(&conn, false);
	now += 2 * REPEAT_NS;
	ck_assert_int_eq(dofi_greetings_poll(&ia), 0);
	for (unsigned int i = 1; i < 4; i++) {
		dofi_greeting_arrived(&ia, NUMBER);
		ck_assert_uint_eq(injects, i);
		ck_assert_uint_eq(restless(), 0);
	}
	ck_assert_uint_eq(proceeds, 1); /* the limit of the handshake stays */
	conn.state = _i ? DOFI_CONN_ENDING : DOFI_CONN_ESTABLISHED;
	dofi_greeting_arrived(&ia, NUMBER);
	ck_assert_uint_eq(injects, 3);
	ck_assert_uint_eq(ups + downs, 0);
}
END_TEST

/* --- this side has offered shared memory, and the peer uses the fabric --- */

START_TEST(a_greeting_takes_the_offer_of_shared_memory_back)
{
	be_passive();
	conn.peer = NULL;
	dofi_greeting_arrived(&ia, NUMBER);
	ck_assert_uint_eq(withdrawals, 1);
	ck_assert_uint_eq(expects, 1);
	ck_assert_uint_eq(proceeds, 1);
	ck_assert_uint_eq(injects, 1);
	ck_assert_uint_eq(downs, 0);
	ck_assert_uint_eq(restless(), 0);
}
END_TEST

START_TEST(a_peer_that_can_not_be_expected_over_the_fabric)
{
	be_passive();
	conn.peer = NULL;
	expect_answer = -FI_ENOMEM;
	dofi_greeting_arrived(&ia, NUMBER);
	ck_assert_uint_eq(downs, 1);
	ck_assert_int_eq(down_error, FI_ENOMEM);
	ck_assert_uint_eq(proceeds, 0);
	ck_assert_uint_eq(injects, 0);
}
END_TEST

/* Such a greeting is late, or false. */
START_TEST(a_greeting_that_changes_nothing)
{
	be_passive();
	conn.peer = NULL;
	if (_i == 0)
		conn.active = true;
	else if (_i == 1)
		conn.over_memory = true;
	else if (_i == 2)
		conn.state = DOFI_CONN_ESTABLISHED;
	else if (_i == 3)
		conn.state = DOFI_CONN_OFFERED;
	else {
		conn.state = DOFI_CONN_ENDING;
		conn.ended_in = DOFI_CONN_ACCEPTED;
	}
	dofi_greeting_arrived(&ia, NUMBER);
	ck_assert_uint_eq(withdrawals + expects + proceeds + ups + downs + injects, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("greeting");
	TCase *tc = tcase_create("greeting");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_connecting_side_greets_first_and_waits_for_the_answer);
	tcase_add_test(tc, the_accepting_side_answers);
	tcase_add_loop_test(tc, a_greeting_waits_for_room, 0, 2);
	tcase_add_test(tc, a_greeting_that_is_refused_ends_the_path);
	tcase_add_test(tc, each_round_sends_all_due_greetings);
	tcase_add_test(tc, the_begin_wakes_the_driver);
	tcase_add_loop_test(tc, the_greeting_is_followed_by_a_wakeup, 0, 2);
	tcase_add_test(tc, the_end_is_the_end_once);
	tcase_add_test(tc, a_greeting_for_nobody);
	tcase_add_test(tc, a_lost_greeting_is_repeated);
	tcase_add_test(tc, the_accepting_side_repeats_only_what_it_sent);
	tcase_add_test(tc, a_greeting_without_an_answer_is_repeated);
	tcase_add_loop_test(tc, a_repeated_greeting_is_answered_again, 0, 2);
	tcase_add_test(tc, a_greeting_takes_the_offer_of_shared_memory_back);
	tcase_add_test(tc, a_peer_that_can_not_be_expected_over_the_fabric);
	tcase_add_loop_test(tc, a_greeting_that_changes_nothing, 0, 5);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
