/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/data_flag.h"

#include "dto/op_context.h"
#include "object/ia.h"
#include "fabric/quirks.h"
#include "object/transport.h"
#include "object/ep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct dofi_trans_ops *plain_table(const struct dofi_ia *ia)
{
	return ia->trans->id == DOFI_TRANS_MSG ? &dofi_trans_msg : &dofi_trans_rdm;
}

/* Entries of every format begin with these members. */
static void mark(const struct dofi_ia *ia, struct fi_cq_data_entry *entry)
{
	if (!entry->op_context || entry->flags & (FI_REMOTE_WRITE | FI_REMOTE_READ))
		return;
	if (dofi_context_wr(ia, entry->op_context)->op == DOFI_OP_SRQ_RECV)
		entry->flags |= FI_REMOTE_CQ_DATA;
}

static void completed(struct dofi_ia *ia, const void *entries, ssize_t n)
{
	const struct dofi_trans_ops *trans = plain_table(ia);
	size_t size = trans->cq_format == FI_CQ_FORMAT_TAGGED ? sizeof(struct fi_cq_tagged_entry)
							      : sizeof(struct fi_cq_data_entry);
	struct fi_cq_tagged_entry copies[DOFI_CQ_BATCH];

	memcpy(copies, entries, (size_t)n * size);
	for (ssize_t i = 0; i < n; i++)
		mark(ia, (struct fi_cq_data_entry *)(void *)((char *)copies + (size_t)i * size));
	trans->completed(ia, copies, n);
}

int dofi_unmarked_open(struct dofi_ia *ia)
{
	struct dofi_trans_ops *table;

	if (!(ia->quirks & DOFI_QUIRK_UNMARKED_DATA))
		return 0;
	table = malloc(sizeof(*table));
	if (!table)
		return -ENOMEM;
	*table = *ia->trans;
	table->completed = completed;
	ia->trans = table;
	return 0;
}

void dofi_unmarked_close(struct dofi_ia *ia)
{
	const struct dofi_trans_ops *table = ia->trans;

	if (!(ia->quirks & DOFI_QUIRK_UNMARKED_DATA))
		return;
	ia->trans = plain_table(ia);
	free((void *)(uintptr_t)table);
}
