/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/work.h"

#include "object/ia.h"

void dofi_work_defer(struct dofi_ia *ia, struct dofi_work *work)
{
	dofi_assert_held(&ia->engine.lock);
	if (!work->link.next)
		dofi_list_init(&work->link);
	if (dofi_list_empty(&work->link))
		dofi_list_add_tail(&ia->engine.work, &work->link);
}

int dofi_work_run(struct dofi_ia *ia)
{
	struct dofi_list *node;
	int n = 0;

	dofi_assert_held(&ia->engine.lock);
	while ((node = dofi_list_pop(&ia->engine.work))) {
		struct dofi_work *work = DOFI_CONTAINER(node, struct dofi_work, link);

		work->run(work);
		n++;
	}
	return n;
}
