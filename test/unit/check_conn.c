/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a connection knows of itself before and after it has a path. */
#include "unit.h"

#include "../../prov/ofi/conn.h"
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

int main(void)
{
	Suite *suite = suite_create("conn");
	TCase *tc = tcase_create("conn");

	tcase_add_test(tc, what_was_sent_in_the_former_connection_does_not_count);
	tcase_add_test(tc, receives_that_the_fabric_has_are_granted_and_no_others);
	tcase_add_test(tc, receives_of_the_handshake_stay_granted);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
