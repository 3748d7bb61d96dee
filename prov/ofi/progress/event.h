/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The completion of a DTO in the consumer's DAT_EVENT. */
#ifndef DOFI_EVENT_H
#define DOFI_EVENT_H

#include "base/dat_api.h"
#include "base/hint.h"

struct dofi_dto {
	DAT_EP_HANDLE ep;
	uint64_t cookie, length;
	uint8_t op;     /* DAT_DTOS */
	uint8_t status; /* DAT_DTO_COMPLETION_STATUS */
};

/* All of the event but its number and its EVD. */
DOFI_INLINE void dofi_event_fill_dto(const struct dofi_dto *dto, DAT_EVENT *out)
{
	DAT_DTO_COMPLETION_EVENT_DATA *data = &out->event_data.dto_completion_event_data;

	data->ep_handle = dto->ep;
	data->user_cookie.as_64 = dto->cookie;
	data->status = (DAT_DTO_COMPLETION_STATUS)dto->status;
	data->transfered_length = (__typeof__(data->transfered_length))dto->length;
	dofi_dto_set_op(data, dto->op);
}

struct dofi_event;
struct dofi_evd;

/* unfold12.c, unfold20.c: an event of ours as the DAT_EVENT of the generation. */
void dofi_event_unfold(const struct dofi_event *event, struct dofi_evd *evd, DAT_EVENT *out);

#endif
