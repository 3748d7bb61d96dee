/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What unfold12.c and unfold20.c have in common; included by these two alone. */
#ifndef DOFI_UNFOLD_H
#define DOFI_UNFOLD_H

#include "progress/event.h"
#include "progress/evd.h"

static inline void unfold_dto(const struct dofi_event *event, DAT_EVENT *out)
{
	dofi_event_fill_dto(&(struct dofi_dto){event->handle, event->dto.cookie, event->dto.length,
					       event->op, event->status},
			    out);
}

static inline void unfold_rmr(const struct dofi_event *event,
			      DAT_RMR_BIND_COMPLETION_EVENT_DATA *out)
{
	out->rmr_handle = event->handle;
	out->user_cookie.as_64 = event->dto.cookie;
	out->status = (DAT_DTO_COMPLETION_STATUS)event->status;
}

static inline void unfold_cr(const struct dofi_event *event, DAT_CR_ARRIVAL_EVENT_DATA *out)
{
	out->sp_handle.psp_handle = event->handle;
	out->local_ia_address_ptr = event->cr.local_addr;
	out->conn_qual = event->cr.conn_qual;
	out->cr_handle = event->cr.cr;
}

static inline void unfold_connection(const struct dofi_event *event, DAT_CONNECTION_EVENT_DATA *out)
{
	out->ep_handle = event->handle;
	out->private_data_size = (DAT_COUNT)event->conn.private_size;
	out->private_data = (DAT_PVOID)(uintptr_t)event->conn.private_data;
}

/* All but DTOs. */
DOFI_SLOW_PATH static void unfold_other(const struct dofi_event *event, DAT_EVENT *out)
{
	switch (event->number) {
	case DAT_RMR_BIND_COMPLETION_EVENT:
		unfold_rmr(event, &out->event_data.rmr_completion_event_data);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		unfold_cr(event, &out->event_data.cr_arrival_event_data);
		break;
	case DAT_SOFTWARE_EVENT:
		out->event_data.software_event_data.pointer = event->software;
		break;
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
	case DAT_ASYNC_ERROR_EP_BROKEN:
	case DAT_ASYNC_ERROR_TIMED_OUT:
	case DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:
		out->event_data.asynch_error_event_data.dat_handle = event->handle;
		out->event_data.asynch_error_event_data.reason = (DAT_COUNT)event->reason;
		break;
	default:
		unfold_connection(event, &out->event_data.connect_event_data);
		break;
	}
}

/* What is the same in both generations; the caller adds its own for DTOs and CRs. */
DOFI_INLINE void unfold_common(const struct dofi_event *event, struct dofi_evd *evd, DAT_EVENT *out)
{
	out->event_number = (DAT_EVENT_NUMBER)event->number;
	out->evd_handle = evd;
	if (DOFI_LIKELY(event->number == DAT_DTO_COMPLETION_EVENT))
		unfold_dto(event, out);
	else
		unfold_other(event, out);
}

#endif
