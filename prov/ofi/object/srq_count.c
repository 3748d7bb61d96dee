/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "object/srq_count.h"

void dofi_srq_dequeued(struct dofi_srq *srq)
{
	/* An event may outlive its SRQ. Then there is nothing to count. */
	if (!dofi_obj_is(srq, DAT_HANDLE_TYPE_SRQ))
		return;
	dofi_lock(&srq->lock);
	if (srq->outstanding)
		srq->outstanding--;
	dofi_unlock(&srq->lock);
}
