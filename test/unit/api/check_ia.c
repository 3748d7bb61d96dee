/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end of an IA that an agent closes: another thread finishes it. */
#include "unit.h"

#include "../../../prov/ofi/api/ia.c"

static const DAT_PROVIDER provider;
static struct dofi_ia *ia;

/* --- the thread; the linker redirects this call --- */

static int start_result;
static void *(*started)(void *);
static void *argument;

int __wrap_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);

static void *nothing(void *arg)
{
	return arg;
}

int __wrap_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	started = run;
	argument = arg;
	if (!start_result)
		ck_assert_int_eq(pthread_create(thread, NULL, nothing, NULL), 0);
	return start_result;
}

/* --- */

static void setup(void)
{
	static char name[] = "test";

	ia = new_ia(name, &provider, DAT_FALSE);
	ck_assert_ptr_nonnull(ia);
}

static void teardown(void)
{
	free_ia(ia);
}

START_TEST(another_thread_finishes_what_an_agent_closes)
{
	int said = t_capture(STDERR_FILENO);

	tear_down_elsewhere(ia);
	ck_assert(started == closer_main);
	ck_assert_ptr_eq(argument, ia);
	ck_assert_str_eq(t_captured(said), "");
}
END_TEST

START_TEST(an_ia_that_leaks_is_told)
{
	int said = t_capture(STDERR_FILENO);

	start_result = -EAGAIN;
	tear_down_elsewhere(ia);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "IA test: an agent closed it"));
	ck_assert_ptr_nonnull(strstr(t_captured(said), strerror(EAGAIN)));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "ulimit -u"));
}
END_TEST

/* The EVD for asynchronous events belongs to the IA unless the consumer gave it. */
START_TEST(an_ia_is_in_use_while_it_has_objects)
{
	static const DAT_HANDLE_TYPE types[] = {DAT_HANDLE_TYPE_EP,  DAT_HANDLE_TYPE_EVD,
						DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_PZ,
						DAT_HANDLE_TYPE_CNO, DAT_HANDLE_TYPE_SRQ};

	ck_assert(!in_use(ia));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		ia->counts[types[i]]++;
		ck_assert(in_use(ia));
		ia->counts[types[i]]--;
	}
	ia->counts[DAT_HANDLE_TYPE_EVD] = 1;
	ia->async_evd_ours = true;
	ck_assert(!in_use(ia));
	ia->counts[DAT_HANDLE_TYPE_EVD] = 2;
	ck_assert(in_use(ia));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ia");
	TCase *tcase = tcase_create("ia");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, another_thread_finishes_what_an_agent_closes);
	tcase_add_test(tcase, an_ia_that_leaks_is_told);
	tcase_add_test(tcase, an_ia_is_in_use_while_it_has_objects);
	return t_run(suite);
}
