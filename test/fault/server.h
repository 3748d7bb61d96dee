/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A server that accepts every connection request and keeps each connection until it ends. */
#ifndef SERVER_H
#define SERVER_H

#include <poll.h>

#include "fault.h"

#define SERVER_MESSAGE 64u /* bytes of the message that it receives on each connection */

struct server {
	const struct t_ia *on;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	struct t_buf buf;
	uint64_t requests, established, broken, messages;
	DAT_COUNT private_size; /* of the last request */
	char private_data[256];
};

/* Listens on qual, or on any qualifier if qual is 0. Returns the qualifier. */
static inline DAT_CONN_QUAL server_listen(struct server *server, const struct t_ia *on,
					  DAT_CONN_QUAL qual)
{
	*server = (struct server){.on = on};
	server->evd = t_evd(on, 4096, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG);
	t_buf_new(&server->buf, on->ia, on->pz, SERVER_MESSAGE, DAT_MEM_PRIV_ALL_FLAG);
	if (qual)
		t_ok(dat_psp_create(on->ia, qual, server->evd, DAT_PSP_CONSUMER_FLAG,
				    &server->psp));
	else
		t_ok(dat_psp_create_any(on->ia, &qual, server->evd, DAT_PSP_CONSUMER_FLAG,
					&server->psp));
	return qual;
}

static inline void server_accept(struct server *server, DAT_CR_HANDLE cr)
{
	DAT_LMR_TRIPLET segment = t_seg(&server->buf, 0, SERVER_MESSAGE);
	DAT_CR_PARAM param;
	DAT_EP_HANDLE ep;

	server->requests++;
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	server->private_size = param.private_data_size;
	memcpy(server->private_data, param.private_data, (size_t)param.private_data_size);
	t_ok(dat_ep_create(server->on->ia, server->on->pz, server->evd, server->evd, server->evd,
			   NULL, &ep));
	t_ok(dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_cr_accept(cr, ep, 0, NULL));
}

static inline void server_handle(struct server *server, const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		server_accept(server, event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		server->established++;
		break;
	case DAT_DTO_COMPLETION_EVENT:
		server->messages +=
			event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
		break;
	default:
		server->broken += event->event_number == DAT_CONNECTION_EVENT_BROKEN;
		t_ok(dat_ep_free(event->event_data.connect_event_data.ep_handle));
	}
}

/* Serves until the other process sends a word. Returns the word. */
static inline uint64_t server_run(struct server *server, const struct t_peer *self)
{
	struct pollfd told = {.fd = self->sock, .events = POLLIN};
	DAT_COUNT nmore;
	DAT_EVENT event;

	while (poll(&told, 1, 0) != 1)
		while (dat_evd_wait(server->evd, 20000, 1, &event, &nmore) == DAT_SUCCESS)
			server_handle(server, &event);
	return t_peer_hear(self);
}

#endif
