/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/work.h"

#include "object/ia.h"

static void defer(struct dofi_list *list, struct dofi_work *work)
{
	if (!work->link.next)
		dofi_list_init(&work->link);
	if (dofi_list_empty(&work->link))
		dofi_list_add_tail(list, &work->link);
}

void dofi_work_defer(struct dofi_ia *ia, struct dofi_work *work)
{
	dofi_assert_held(&ia->engine.lock);
	defer(&ia->engine.work, work);
}

void dofi_work_defer_last(struct dofi_ia *ia, struct dofi_work *work)
{
	dofi_assert_held(&ia->engine.lock);
	defer(&ia->engine.last_work, work);
}

static bool run_first(struct dofi_list *list)
{
	struct dofi_list *node = dofi_list_pop(list);
	struct dofi_work *work;

	if (!node)
		return false;
	work = DOFI_CONTAINER(node, struct dofi_work, link);
	work->run(work);
	return true;
}

void dofi_work_run_last(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	while (run_first(&ia->engine.last_work))
		;
}

int dofi_work_run(struct dofi_ia *ia)
{
	struct dofi_engine *e = &ia->engine;
	int n = 0;

	dofi_assert_held(&e->lock);
	do {
		while (run_first(&e->work))
			n++;
	} while (run_first(&e->last_work));
	return n;
}
