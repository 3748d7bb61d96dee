/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of a connection's states, and the list of transitions in docs/connections.md. */
#include "unit.h"

#include "cm/conn_state.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#define PAGE "docs/connections.md"

static char text[65536], page[262144];

__attribute__((format(printf, 1, 2))) static void add(const char *fmt, ...)
{
	size_t length = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + length, sizeof(text) - length, fmt, args);
	va_end(args);
}

/* Events that are ignored are not shown. */
static bool leads(int state, int event, int next)
{
	const struct dofi_conn_step *step = dofi_conn_step(state, event);

	if (step->action == DOFI_DO_FAIL || (int)step->next != next)
		return false;
	return next != state || step->action != DOFI_DO_NOTHING;
}

/* "    -> NEXT: EVENT, EVENT": the events that lead from one state to the other, if any. */
static void add_arrow(int state, int next)
{
	bool any = false;

	for (int event = 0; event < DOFI_CONN_EVENTS; event++) {
		if (!leads(state, event, next))
			continue;
		if (!any)
			add("    -> %s", dofi_conn_state_name(next));
		add("%s%s", any ? ", " : ": ", dofi_conn_event_name(event));
		any = true;
	}
	if (any)
		add("\n");
}

static void describe(void)
{
	text[0] = '\0';
	for (int state = 0; state < DOFI_CONN_STATES; state++) {
		add("%s\n", dofi_conn_state_name(state));
		for (int next = 0; next < DOFI_CONN_STATES; next++)
			add_arrow(state, next);
	}
}

static void read_page(void)
{
	const char *top = getenv("top_srcdir");
	char path[4096];
	ssize_t length;
	int fd;

	ck_assert_msg(top, "run me by test/run-env");
	snprintf(path, sizeof(path), "%s/" PAGE, top);
	fd = open(path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	length = read(fd, page, sizeof(page) - 1);
	ck_assert_int_gt(length, 0);
	page[length] = '\0';
	close(fd);
}

START_TEST(docs_connections_md_matches_the_table)
{
	describe();
	read_page();
	ck_assert_msg(strstr(page, text), PAGE " does not have these transitions:\n%s", text);
}
END_TEST

START_TEST(each_state_can_be_reached_and_left)
{
	for (int state = 0; state < DOFI_CONN_STATES; state++) {
		bool first = state == DOFI_CONN_DIALLING || state == DOFI_CONN_OFFERED;
		bool last = state == DOFI_CONN_ENDED, in = first, out = last;

		for (int event = 0; event < DOFI_CONN_EVENTS; event++)
			for (int other = 0; other < DOFI_CONN_STATES; other++) {
				const struct dofi_conn_step *to = dofi_conn_step(state, event),
							    *from = dofi_conn_step(other, event);

				out |= to->action != DOFI_DO_FAIL && (int)to->next != state;
				in |= other != state && from->action != DOFI_DO_FAIL &&
				      (int)from->next == state;
			}
		ck_assert_msg(in, "%s is never entered", dofi_conn_state_name(state));
		ck_assert_msg(out, "%s is never left", dofi_conn_state_name(state));
	}
}
END_TEST

/* An end is never revoked, and an ended connection stays ended. */
START_TEST(states_of_the_end_lead_only_to_the_end)
{
	static const int order[] = {DOFI_CONN_ENDING, DOFI_CONN_LINGERING, DOFI_CONN_RELEASING,
				    DOFI_CONN_ENDED};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (int event = 0; event < DOFI_CONN_EVENTS; event++) {
			const struct dofi_conn_step *step = dofi_conn_step(order[i], event);

			if (step->action == DOFI_DO_FAIL)
				continue;
			ck_assert_int_eq(dofi_conn_stage_of(step->next), DOFI_STAGE_OVER);
			ck_assert_int_ge(step->next, order[i]);
		}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conn_table");
	TCase *tc = tcase_create("table");

	tcase_add_test(tc, docs_connections_md_matches_the_table);
	tcase_add_test(tc, each_state_can_be_reached_and_left);
	tcase_add_test(tc, states_of_the_end_lead_only_to_the_end);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
