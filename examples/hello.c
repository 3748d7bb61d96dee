/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* hello: a message travels from "hello IA SERVER" to "hello IA". */
#include <err.h>
#include <netdb.h>
#include <stdio.h>
#include <dat2/udat.h>

#define PORT      4242
#define TRY(call) try(call, #call)

static void try(DAT_RETURN ret, const char *call)
{
	const char *major = "", *minor = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	errx(1, "%s: %s %s", call, major, minor);
}

static DAT_EVENT await(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	TRY(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	if (event.event_number != number)
		errx(1, "event 0x%x came, not 0x%x: see DAT_EVENT_NUMBER in dat2/dat.h",
		     event.event_number, number);
	return event;
}

int main(int argc, char **argv)
{
	static char text[64] = "hello over DAT";
	DAT_LMR_TRIPLET part = {.virtual_address = (uintptr_t)text, .segment_length = sizeof(text)};
	DAT_DTO_COOKIE cookie = {.as_ptr = text};
	DAT_HANDLE ia, async = DAT_HANDLE_NULL, pz, conn, dto, ep, lmr, psp;
	struct addrinfo *server = NULL;
	DAT_EVENT event;

	if (argc < 2 || argc > 3)
		errx(2, "usage: hello IA [SERVER]");
	if (argc == 3 && getaddrinfo(argv[2], NULL, NULL, &server))
		errx(1, "there is no host %s", argv[2]);
	TRY(dat_ia_open(argv[1], 8, &async, &ia));
	TRY(dat_pz_create(ia, &pz));
	TRY(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			   &conn));
	TRY(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto));
	TRY(dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep));
	TRY(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){.for_va = text},
			   sizeof(text), pz,
			   DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			   DAT_VA_TYPE_VA, &lmr, &part.lmr_context, NULL, NULL, NULL));
	if (server) {
		TRY(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)server->ai_addr, PORT,
				   DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG));
	} else {
		text[0] = '\0';
		TRY(dat_ep_post_recv(ep, 1, &part, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		TRY(dat_psp_create(ia, PORT, conn, DAT_PSP_CONSUMER_FLAG, &psp));
		puts("listening");
		event = await(conn, DAT_CONNECTION_REQUEST_EVENT);
		TRY(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
	}
	await(conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	if (server)
		TRY(dat_ep_post_send(ep, 1, &part, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	event = await(dto, DAT_DTO_COMPLETION_EVENT);
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		errx(1, "the connection ended before the message had passed");
	printf("%s: %s\n", server ? "sent" : "received", text);
	TRY(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	await(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	TRY(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}
