/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "object/op.h"

#include "base/dat_api.h"
#include "object/ud_ah.h"

/* Types of DAT 2.0's extension events for DTOs, as in dat_ib_extensions.h. */
enum { TYPE_FETCH_ADD, TYPE_CMP_SWAP, TYPE_WRITE_IMM, TYPE_RECV_IMM };

#define PLAIN(number)       \
	{                   \
		(number), 0 \
	}
#define EXTENDED(number, type)                                 \
	{                                                      \
		(number), DOFI_DAT_MAJOR == 1 ? 0 : (type) + 1 \
	}

static const struct dofi_op_event events[DOFI_OPS] = {
	[DOFI_OP_SEND] = PLAIN(DOFI_OP_SEND),
	[DOFI_OP_SEND_INVALIDATE] = PLAIN(DOFI_OP_SEND),
	[DOFI_OP_WRITE] = PLAIN(DOFI_OP_WRITE),
	[DOFI_OP_READ] = PLAIN(DOFI_OP_READ),
	[DOFI_OP_RECV] = PLAIN(DOFI_OP_RECV),
	[DOFI_OP_RECV_INVALIDATE] = PLAIN(DOFI_OP_RECV_INVALIDATE),
	[DOFI_OP_BIND] = PLAIN(DOFI_OP_BIND),
	[DOFI_OP_WRITE_IMM] = EXTENDED(DOFI_OP_WRITE_IMM, TYPE_WRITE_IMM),
	[DOFI_OP_RECV_IMM] = EXTENDED(DOFI_OP_RECV_IMM, TYPE_RECV_IMM),
	[DOFI_OP_FETCH_ADD] = EXTENDED(DOFI_OP_FETCH_ADD, TYPE_FETCH_ADD),
	[DOFI_OP_CMP_SWAP] = EXTENDED(DOFI_OP_CMP_SWAP, TYPE_CMP_SWAP),
	[DOFI_OP_SEND_UD] = EXTENDED(DOFI_UD_DTO_SEND, DOFI_UD_TYPE_SEND),
	[DOFI_OP_RECV_UD] = EXTENDED(DOFI_UD_DTO_RECV, DOFI_UD_TYPE_RECV),
};

struct dofi_op_event dofi_op_event(uint8_t op)
{
	return events[op];
}
