/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end of a path waits for the copies of the peer. */
#include <signal.h>

#include "made_path.h"

START_TEST(the_end_waits_for_copies)
{
	path.pid = getpid();
	ck_assert(!dofi_memory_path_cancel(&path));
	ck_assert_uint_eq(segment.marks[0].over, 1);
	segment.marks[1].copying = 1;
	ck_assert(dofi_memory_path_cancel(&path));
	segment.marks[1].copying = 0;
	ck_assert(!dofi_memory_path_cancel(&path));
}
END_TEST

START_TEST(the_dead_copy_nothing)
{
	siginfo_t info;

	path.pid = fork();
	if (!path.pid)
		_exit(0);
	ck_assert_int_eq(waitid(P_PID, (id_t)path.pid, &info, WEXITED | WNOWAIT), 0);
	segment.marks[1].copying = 1;
	ck_assert(!dofi_memory_path_cancel(&path));
	ck_assert_int_eq(waitpid(path.pid, NULL, 0), path.pid);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_path");
	TCase *tcase = tcase_create("memory_path");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, make_path, NULL);
	tcase_add_test(tcase, the_end_waits_for_copies);
	tcase_add_test(tcase, the_dead_copy_nothing);
	return t_run(suite);
}
