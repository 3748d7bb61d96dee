/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A server that accepts everybody, for as long as they stay. */
#ifndef GUESTS_H
#define GUESTS_H

#include <poll.h>

#include "fault.h"

#define GUEST_MESSAGE 64u /* bytes of a guest's one message */

struct guests {
	const struct t_ia *on;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	struct t_buf buf;
	uint64_t requests, established, broken, messages;
	DAT_COUNT private_size; /* of the last request */
	char private_data[256];
};

/* qual 0: any; the one that is served. */
static inline DAT_CONN_QUAL guests_invite(struct guests *guests, const struct t_ia *on,
					  DAT_CONN_QUAL qual)
{
	*guests = (struct guests){.on = on};
	guests->evd = t_evd(on, 4096, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG);
	t_buf_new(&guests->buf, on->ia, on->pz, GUEST_MESSAGE, DAT_MEM_PRIV_ALL_FLAG);
	if (qual)
		t_ok(dat_psp_create(on->ia, qual, guests->evd, DAT_PSP_CONSUMER_FLAG,
				    &guests->psp));
	else
		t_ok(dat_psp_create_any(on->ia, &qual, guests->evd, DAT_PSP_CONSUMER_FLAG,
					&guests->psp));
	return qual;
}

static inline void guests_admit(struct guests *guests, DAT_CR_HANDLE cr)
{
	DAT_LMR_TRIPLET segment = t_seg(&guests->buf, 0, GUEST_MESSAGE);
	DAT_CR_PARAM param;
	DAT_EP_HANDLE ep;

	guests->requests++;
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	guests->private_size = param.private_data_size;
	memcpy(guests->private_data, param.private_data, (size_t)param.private_data_size);
	t_ok(dat_ep_create(guests->on->ia, guests->on->pz, guests->evd, guests->evd, guests->evd,
			   NULL, &ep));
	t_ok(dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_cr_accept(cr, ep, 0, NULL));
}

static inline void guests_meet(struct guests *guests, const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		guests_admit(guests, event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		guests->established++;
		break;
	case DAT_DTO_COMPLETION_EVENT:
		guests->messages +=
			event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
		break;
	default:
		guests->broken += event->event_number == DAT_CONNECTION_EVENT_BROKEN;
		t_ok(dat_ep_free(event->event_data.connect_event_data.ep_handle));
	}
}

/* Until the test says something: that. */
static inline uint64_t guests_serve(struct guests *guests, const struct t_peer *self)
{
	struct pollfd told = {.fd = self->sock, .events = POLLIN};
	DAT_COUNT nmore;
	DAT_EVENT event;

	while (poll(&told, 1, 0) != 1)
		while (dat_evd_wait(guests->evd, 20000, 1, &event, &nmore) == DAT_SUCCESS)
			guests_meet(guests, &event);
	return t_peer_hear(self);
}

#endif
