/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists, and counters. */
#include "unit.h"

#include "../../../prov/ofi/base/count.h"
#include "../../../prov/ofi/base/list.h"

#define MOST 4

static struct item {
	struct dofi_list node;
	char name;
} items[MOST];
static struct dofi_list list;

static void setup(void)
{
	dofi_list_init(&list);
	for (int i = 0; i < MOST; i++) {
		items[i].name = (char)('a' + i);
		dofi_list_init(&items[i].node);
	}
}

static struct item *item_of(struct dofi_list *node)
{
	return DOFI_CONTAINER(node, struct item, node);
}

/* The list has these items, in both directions. */
static void ck_list(const char *names)
{
	size_t size = strlen(names), n = 0;

	ck_assert_int_eq(dofi_list_empty(&list), !size);
	DOFI_LIST_FOR(pos, &list)
	{
		ck_assert_uint_lt(n, size);
		ck_assert_int_eq(item_of(pos)->name, names[n++]);
	}
	ck_assert_uint_eq(n, size);
	for (struct dofi_list *pos = list.prev; pos != &list; pos = pos->prev) {
		ck_assert_uint_gt(n, 0);
		ck_assert_int_eq(item_of(pos)->name, names[--n]);
	}
	ck_assert_uint_eq(n, 0);
}

START_TEST(items_are_added_at_both_ends)
{
	ck_list("");
	dofi_list_add_tail(&list, &items[0].node);
	ck_list("a");
	dofi_list_add_tail(&list, &items[1].node);
	ck_list("ab");
	dofi_list_add(&list, &items[2].node);
	ck_list("cab");
	dofi_list_add(&items[0].node, &items[3].node);
	ck_list("cadb");
}
END_TEST

static void fill(void)
{
	for (int i = 0; i < MOST; i++)
		dofi_list_add_tail(&list, &items[i].node);
}

/* A removed item is a list of its own, so that it may be removed once more. */
START_TEST(any_item_can_be_removed)
{
	static const char *const rests[MOST] = {"bcd", "acd", "abd", "abc"};

	fill();
	for (int i = 0; i < 2; i++) {
		dofi_list_del(&items[_i].node);
		ck_list(rests[_i]);
		ck_assert(dofi_list_empty(&items[_i].node));
		ck_assert_ptr_eq(items[_i].node.prev, &items[_i].node);
	}
}
END_TEST

START_TEST(items_are_popped_in_order)
{
	struct dofi_list *node;

	fill();
	for (int i = 0; i < MOST; i++) {
		node = dofi_list_pop(&list);
		ck_assert_ptr_eq(node, &items[i].node);
		ck_assert(dofi_list_empty(node));
		ck_list(&"abcd"[i + 1]);
	}
	ck_assert_ptr_null(dofi_list_pop(&list));
	ck_list("");
}
END_TEST

START_TEST(a_loop_may_remove_its_item)
{
	fill();
	DOFI_LIST_FOR_SAFE(pos, &list)
	{
		if (item_of(pos)->name != 'b')
			dofi_list_del(pos);
	}
	ck_list("b");
}
END_TEST

START_TEST(counters_add)
{
	_Atomic uint64_t counter = 40;

	dofi_count(&counter, 0);
	ck_assert_uint_eq(counter, 40);
	dofi_count(&counter, 2);
	ck_assert_uint_eq(counter, 42);
	dofi_count(&counter, UINT64_MAX);
	ck_assert_uint_eq(counter, 41);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("list");
	TCase *tc = tcase_create("list");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, items_are_added_at_both_ends);
	tcase_add_loop_test(tc, any_item_can_be_removed, 0, MOST);
	tcase_add_test(tc, items_are_popped_in_order);
	tcase_add_test(tc, a_loop_may_remove_its_item);
	tcase_add_test(tc, counters_add);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
