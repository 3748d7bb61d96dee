/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a connection knows of itself before and after it has a path. */
#include "unit.h"

#include "../../prov/ofi/conn.h"
#include "../../prov/ofi/conn_end.h"
#include "../../prov/ofi/credit.h"
#include "../../prov/ofi/ia.h"

START_TEST(what_was_sent_in_the_former_connection_does_not_count)
{
	struct dofi_ep ep = {.nsent = 5};
	struct dofi_conn conn = {.ep = &ep};

	dofi_lock_init(&ep.lock);
	ck_assert_uint_eq(dofi_conn_sent(&conn), 0);
	conn.path_made = true;
	ck_assert_uint_eq(dofi_conn_sent(&conn), 5);
	conn.path_made = false;
	conn.ep = NULL; /* not accepted yet */
	ck_assert_uint_eq(dofi_conn_sent(&conn), 0);
}
END_TEST

/* One that waits for room in the fabric may wait for the very message that it would be told for. */
START_TEST(receives_that_the_fabric_has_are_granted_and_no_others)
{
	struct dofi_ep ep = {.recv = {.head = 7, .issue = 8, .tail = 10}, .recv_base = 7};

	ck_assert_uint_eq(dofi_credit_total(&ep), 1);
	ep.recv.issue = 10;
	ck_assert_uint_eq(dofi_credit_total(&ep), 3);
}
END_TEST

START_TEST(receives_of_the_handshake_stay_granted)
{
	static struct dofi_ia ia;
	struct dofi_ep ep = {.obj.ia = &ia, .recv = {.head = UINT32_MAX, .issue = UINT32_MAX, .tail = 1}};

	dofi_lock_init(&ep.lock);
	dofi_lock(&ep.lock);
	ck_assert_uint_eq(dofi_credit_start(&ep), 2);
	ck_assert_uint_eq(dofi_credit_total(&ep), 2);
	ep.recv.issue = ep.recv.tail = 2;
	ck_assert_uint_eq(dofi_credit_total(&ep), 3);
	dofi_unlock(&ep.lock);
}
END_TEST

/* The peer has left, and one message of its own is still to come. */
START_TEST(completions_are_watched_for_what_a_goodbye_overtook)
{
	static struct dofi_conn *table[64];
	static struct dofi_ia ia;
	struct dofi_ep ep = {.obj.ia = &ia, .path_up = true, .recv = {.tail = 1}};
	struct dofi_msg bye = {.type = DOFI_MSG_BYE, .dst = 1, .data = 1, .reason = DOFI_REASON_DISCONNECT};
	struct dofi_chan chan = {.ia = &ia};
	struct dofi_conn *conn = table[1] = calloc(1, sizeof(*conn));

	ia.cm.conns = table;
	ia.cm.conns_size = 64;
	ia.cm.nconns = 1;
	dofi_list_init(&ia.engine.timers);
	*conn = (struct dofi_conn){.ia = &ia, .chan = &chan, .ep = &ep, .id = 1, .phase = DOFI_CONN_UP};
	dofi_lock(&ia.engine.lock);
	for (int i = 0; i < 2; i++) {
		dofi_conn_message(&chan, &bye);
		ck_assert_int_eq(conn->bye, DOFI_REASON_DISCONNECT);
		ck_assert_uint_eq(ia.wait.watchers, 1);
	}
	conn->chan = NULL;
	dofi_conn_free(conn);
	ck_assert_uint_eq(ia.wait.watchers, 0);
	dofi_unlock(&ia.engine.lock);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conn");
	TCase *tc = tcase_create("conn");

	tcase_add_test(tc, what_was_sent_in_the_former_connection_does_not_count);
	tcase_add_test(tc, receives_that_the_fabric_has_are_granted_and_no_others);
	tcase_add_test(tc, receives_of_the_handshake_stay_granted);
	tcase_add_test(tc, completions_are_watched_for_what_a_goodbye_overtook);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
