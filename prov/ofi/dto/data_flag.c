/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/data_flag.h"

#include "dto/op_context.h"
#include "object/ia.h"
#include "object/transport.h"
#include "object/ep.h"

#include <string.h>

/* Entries of every format begin with these members. */
static void mark(const struct dofi_ia *ia, struct fi_cq_data_entry *entry)
{
	enum dofi_op op;

	if (!entry->op_context || entry->flags & (FI_REMOTE_WRITE | FI_REMOTE_READ))
		return;
	op = dofi_context_wr(ia, entry->op_context)->op;
	if (op == DOFI_OP_SRQ_RECV || op == DOFI_OP_UD_RECV)
		entry->flags |= FI_REMOTE_CQ_DATA;
}

void dofi_data_flag_completed(struct dofi_ia *ia, const void *entries, ssize_t n)
{
	size_t size = ia->trans->cq_format == FI_CQ_FORMAT_TAGGED
			      ? sizeof(struct fi_cq_tagged_entry)
			      : sizeof(struct fi_cq_data_entry);
	struct fi_cq_tagged_entry copies[DOFI_CQ_BATCH];

	memcpy(copies, entries, (size_t)n * size);
	for (ssize_t i = 0; i < n; i++)
		mark(ia, (struct fi_cq_data_entry *)(void *)((char *)copies + (size_t)i * size));
	ia->trans->completed(ia, copies, n);
}
