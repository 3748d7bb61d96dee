/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parameter that asks for reports: its words, and the signal before and after a fork. */
#include "unit.h"

#include "../../../prov/ofi/api/stats.c"

#include <sys/wait.h>

static struct dofi_ia ia;

/* --- reports are not of interest here --- */

void dofi_ia_report(struct dofi_ia *of, FILE *out)
{
	(void)of, (void)out;
}

void dofi_ia_report_all(FILE *out)
{
	fputs("all IAs\n", out);
}

/* --- */

static void begin(const char *words)
{
	strcpy(ia.params.stats, words);
	dofi_stats_start(&ia);
}

static bool is_ours(int number)
{
	struct sigaction now;

	ck_assert_int_eq(sigaction(number, NULL, &now), 0);
	return now.sa_handler == on_signal;
}

START_TEST(signals_have_names_and_numbers)
{
	static const struct {
		const char *word;
		int number;
	} cases[] = {{"USR1", SIGUSR1}, {"SIGUSR1", SIGUSR1},
		     {"SIGIO", SIGIO},  {"IO", SIGIO},
		     {"10", 10},        {"1", 1},
		     {"0", 0},          {"-1", 0},
		     {"64", 64},        {"65", 0},
		     {"10x", 0},        {"", 0},
		     {"SIG", 0},        {"usr1", 0},
		     {"SIGSIGIO", 0},   {"USR", 0}};

	ck_assert_int_eq(signal_number(cases[_i].word), cases[_i].number);
}
END_TEST

START_TEST(nothing_starts_unless_asked_for)
{
	begin("");
	ck_assert(!stats.started);
	begin("exit");
	ck_assert(stats.on_exit);
	ck_assert(!stats.on_close);
	ck_assert_int_eq(stats.socket, -1);
	ck_assert_int_eq(stats.event, -1);
	begin("close"); /* the first IA decides */
	ck_assert(!stats.on_close);
}
END_TEST

START_TEST(a_report_goes_to_the_log_when_asked_for)
{
	int said = t_capture(STDERR_FILENO);

	dofi_stats_exit();
	dofi_stats_closing(&ia);
	ck_assert_str_eq(t_captured(said), "");
	begin("exit");
	dofi_stats_closing(&ia);
	ck_assert_str_eq(t_captured(said), "");
	dofi_stats_exit();
	ck_assert_ptr_nonnull(strstr(t_captured(said), "all IAs\n"));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "process"));
}
END_TEST

/* Otherwise the signal would no longer end the child, and would write nothing. */
START_TEST(a_forked_child_has_the_default_handler)
{
	int status;
	pid_t child;

	begin("signal=USR2");
	ck_assert(is_ours(SIGUSR2));
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		dofi_stats_fork_child();
		raise(SIGUSR2);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGUSR2);
	ck_assert(is_ours(SIGUSR2));
}
END_TEST

START_TEST(a_forked_child_starts_anew)
{
	begin("close,exit");
	ck_assert(stats.on_close && stats.on_exit);
	dofi_stats_fork_child();
	ck_assert(!stats.on_close && !stats.on_exit);
	begin("close,signal=USR1");
	ck_assert(stats.on_close && !stats.on_exit);
	ck_assert(is_ours(SIGUSR1));
	ck_assert_int_ge(stats.event, 0);
}
END_TEST

START_TEST(the_programs_handler_remains)
{
	int said = t_capture(STDERR_FILENO);
	struct sigaction now;

	signal(SIGUSR2, SIG_IGN);
	begin("signal=USR2,nonsense");
	ck_assert_int_eq(sigaction(SIGUSR2, NULL, &now), 0);
	ck_assert(now.sa_handler == SIG_IGN);
	ck_assert_int_eq(stats.event, -1);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "handles that signal itself"));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "stats=nonsense has no meaning"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stats");
	TCase *tcase = tcase_create("stats");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, signals_have_names_and_numbers, 0, 16);
	tcase_add_test(tcase, nothing_starts_unless_asked_for);
	tcase_add_test(tcase, a_report_goes_to_the_log_when_asked_for);
	tcase_add_test(tcase, a_forked_child_has_the_default_handler);
	tcase_add_test(tcase, a_forked_child_starts_anew);
	tcase_add_test(tcase, the_programs_handler_remains);
	return t_run(suite);
}
