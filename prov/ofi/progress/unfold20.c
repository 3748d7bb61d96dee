/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events as DAT 2.0 and its InfiniBand extensions have them. */
#include "object/ep.h"
#include "object/ud_ah.h"
#include "progress/unfold.h"
#include "progress/evd.h"
#include "progress/event.h"

#include <dat2/dat_ib_extensions.h>
#include <string.h>

/* The owner of the private data; NULL if it was freed meanwhile. Then the event has none. */
static struct dofi_ud_ah *unfold_private(const struct dofi_event *event, DAT_EVENT *out)
{
	DAT_CONNECTION_EVENT_DATA *data = &out->event_data.connect_event_data;
	struct dofi_ud_ah *ah = dofi_ud_ah(event->conn.private_data);

	data->private_data = ah ? ah->private_data : NULL;
	if (!ah)
		data->private_data_size = 0;
	return ah;
}

static void unfold_rejection(const struct dofi_event *event, DAT_EVENT *out)
{
	struct dofi_ud_ah *rejection = unfold_private(event, out);

	if (rejection)
		atomic_store(&rejection->told, true);
}

static void unfold_ah(const struct dofi_event *event, DAT_EVENT *out,
		      DAT_IB_EXTENSION_EVENT_DATA *ext)
{
	struct dofi_ud_ah *ah = unfold_private(event, out);

	if (!ah)
		return;
	ext->remote_ah.ah = (struct ibv_ah *)(void *)ah;
	ext->remote_ah.qpn = ah->number;
	memcpy(&ext->remote_ah.ia_addr, &ah->addr, sizeof(ext->remote_ah.ia_addr));
	ext->context.as_ptr = ah;
}

DOFI_SLOW_PATH static void unfold_extension(const struct dofi_event *event, DAT_EVENT *out)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;

	_Static_assert(sizeof(ext) == sizeof(out->event_extension_data), "extension event data");
	memset(&ext, 0, sizeof(ext));
	ext.type = (DAT_IB_EXT_TYPE)(event->ext - 1);
	if (event->number == DOFI_EVENT_EXTENDED) {
		unfold_dto(event, out);
		ext.status = (__typeof__(ext.status))event->status;
		ext.val.immed.data = event->dto.immediate;
	} else if (event->number == DOFI_UD_EVENT_REQUEST) {
		unfold_cr(event, &out->event_data.cr_arrival_event_data);
		out->event_data.cr_arrival_event_data.truncate_flag = DAT_FALSE;
	} else if (event->number == DOFI_UD_EVENT_ESTABLISHED) {
		unfold_ah(event, out, &ext);
	} else if (event->number == DOFI_UD_EVENT_REJECTED) {
		unfold_rejection(event, out);
	}
	memcpy(out->event_extension_data, &ext, sizeof(ext));
}

void dofi_event_unfold(const struct dofi_event *event, struct dofi_evd *evd, DAT_EVENT *out)
{
	unfold_common(event, evd, out);
	if (DOFI_UNLIKELY(event->ext))
		unfold_extension(event, out);
	if (DOFI_LIKELY(event->number == DAT_DTO_COMPLETION_EVENT)) {
		if (DOFI_UNLIKELY(event->op == DOFI_OP_RECV_INVALIDATE))
			out->event_data.dto_completion_event_data.rmr_context =
				event->dto.immediate;
	} else if (event->number == DAT_CONNECTION_REQUEST_EVENT) {
		out->event_data.cr_arrival_event_data.truncate_flag = DAT_FALSE;
	}
}
