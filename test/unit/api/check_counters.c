/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports of the counters, also while other threads create and free EPs. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/api/counters.h"
#include "../../../prov/ofi/base/count.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/progress/evd.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define EPS     3
#define LIMIT_S 20

static const struct dofi_trans_ops trans = {.name = "fake"};
static struct fi_fabric_attr fabric_attr = {.prov_name = (char *)"made up"};
static struct fi_domain_attr domain_attr = {.name = (char *)"none"};
static struct fi_info info = {.fabric_attr = &fabric_attr, .domain_attr = &domain_attr};
static struct dofi_ia ia;
static _Alignas(16) struct dofi_ep eps[EPS];
static struct dofi_evd evd;

/* --- another thread comes between the count of the EPs and their list --- */

static void (*between)(void);
static size_t room; /* for EPs, allocated in between */

void *__real_calloc(size_t number, size_t size);
T_STAND_IN void *__wrap_calloc(size_t number, size_t size);

void *__wrap_calloc(size_t number, size_t size)
{
	void (*now)(void) = between;

	between = NULL;
	if (now) {
		room = number;
		now();
	}
	return __real_calloc(number, size);
}

/* --- */

static void add_ep(int i)
{
	dofi_lock_init_level(&eps[i].lock, DOFI_LEVEL_EP);
	eps[i].obj.ia = &ia;
	dofi_list_add_tail(&ia.objects[DAT_HANDLE_TYPE_EP], &eps[i].obj.siblings);
	ia.counts[DAT_HANDLE_TYPE_EP]++;
}

static void setup(void)
{
	strcpy(ia.name, "test");
	ia.info = &info;
	ia.trans = &trans;
	dofi_lock_init_level(&ia.engine.lock, DOFI_LEVEL_ENGINE);
	dofi_lock_init_level(&ia.obj_lock, DOFI_LEVEL_LEAF);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		dofi_list_init(&ia.objects[i]);
	evd.obj.ia = &ia;
	dofi_list_add_tail(&ia.objects[DAT_HANDLE_TYPE_EVD], &evd.obj.siblings);
}

/* Returns the report, which the next call replaces. */
static const char *report(bool locked)
{
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");

	ck_assert_ptr_nonnull(out);
	if (locked)
		dofi_lock(&ia.engine.lock);
	dofi_count_report(&ia, out, locked);
	if (locked)
		dofi_unlock(&ia.engine.lock);
	fclose(out);
	dofi_assert_none_held();
	return text;
}

/* Whether the report has a line for this object. */
static bool tells(const char *text, const char *kind, const void *object)
{
	char head[64];

	snprintf(head, sizeof(head), "\n  %s %p: ", kind, object);
	return strstr(text, head);
}

START_TEST(a_report_has_each_object)
{
	const char *text;

	for (int i = 0; i < EPS; i++)
		add_ep(i);
	eps[1].state = DAT_EP_STATE_CONNECTED;
	eps[1].counters[DOFI_CNT_EP_COMPLETED] = 7;
	evd.counters[DOFI_CNT_EVD_OVERFLOW] = 8;
	text = report(true);
	ck_assert_ptr_eq(strstr(text, "IA test: provider made up, domain none, transport fake"),
			 text);
	for (int i = 0; i < EPS; i++)
		ck_assert(tells(text, "EP", &eps[i]));
	ck_assert(tells(text, "EVD", &evd));
	ck_assert_ptr_nonnull(strstr(text, ": connected, requests 0 and 0 held, receives 0: "
					   "COMPLETED=7\n"));
	ck_assert_ptr_nonnull(strstr(text, "OVERFLOW=8\n"));
	ck_assert_ptr_null(strstr(text, "freed"));
}
END_TEST

START_TEST(EPs_that_were_freed_are_told_together)
{
	ia.counters[DOFI_CNT_IA_EP_FREE] = 2;
	ia.closed_eps.counters[DOFI_CNT_EP_COMPLETED] = 9;
	ck_assert_ptr_nonnull(strstr(report(true), "EPs that were freed: COMPLETED=9\n"));
}
END_TEST

/* Without the engine's lock, EPs may be freed meanwhile. */
START_TEST(without_the_engine_no_EP_is_touched)
{
	const char *text;

	add_ep(0);
	text = report(false);
	ck_assert(!tells(text, "EP", &eps[0]));
	ck_assert_ptr_nonnull(strstr(text, "can't be told"));
	ck_assert(tells(text, "EVD", &evd));
}
END_TEST

static void create_two(void)
{
	add_ep(1);
	add_ep(2);
}

/* There is room for those that were counted. */
START_TEST(EPs_created_meanwhile_are_left_out)
{
	const char *text;

	add_ep(0);
	between = create_two;
	text = report(true);
	ck_assert_uint_ge(room, 1);
	ck_assert(tells(text, "EP", &eps[0]));
	ck_assert(!tells(text, "EP", &eps[1]));
	ck_assert(!tells(text, "EP", &eps[2]));
	text = report(true);
	ck_assert(tells(text, "EP", &eps[1]));
	ck_assert(tells(text, "EP", &eps[2]));
}
END_TEST

static pthread_t editor;
static _Atomic bool editing;

/* Changes the list, which is not usable until the reporting thread waits for the lock. */
static void *edit(void *arg)
{
	struct dofi_list *list = &ia.objects[DAT_HANDLE_TYPE_EP], whole = *list;
	time_t limit = time(NULL) + LIMIT_S;

	(void)arg;
	dofi_lock(&ia.obj_lock);
	list->next = NULL;
	atomic_store(&editing, true);
	while (!atomic_load(&ia.obj_lock.awaited) && time(NULL) < limit)
		sched_yield();
	*list = whole;
	dofi_unlock(&ia.obj_lock);
	return NULL;
}

static void start_editor(void)
{
	ck_assert_int_eq(pthread_create(&editor, NULL, edit, NULL), 0);
	while (!atomic_load(&editing))
		sched_yield();
}

START_TEST(the_list_is_read_when_no_other_thread_changes_it)
{
	const char *text;

	add_ep(0);
	between = start_editor;
	text = report(true);
	ck_assert(tells(text, "EP", &eps[0]));
	ck_assert_int_eq(pthread_join(editor, NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("counters");
	TCase *tcase = tcase_create("counters");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_report_has_each_object);
	tcase_add_test(tcase, EPs_that_were_freed_are_told_together);
	tcase_add_test(tcase, without_the_engine_no_EP_is_touched);
	tcase_add_test(tcase, EPs_created_meanwhile_are_left_out);
	tcase_add_test(tcase, the_list_is_read_when_no_other_thread_changes_it);
	return t_run(suite);
}
