/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a connection knows of itself before and after it has a path. */
#include "unit.h"

#include "../../prov/ofi/conn.h"

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

int main(void)
{
	Suite *suite = suite_create("conn");
	TCase *tc = tcase_create("conn");

	tcase_add_test(tc, what_was_sent_in_the_former_connection_does_not_count);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
