/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* hello: the smallest DAT 2.0 program that does something. A message goes from "hello IA SERVER"
 * to "hello IA". */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat2/udat.h>

#define PORT	 4242
#define PATIENCE 60000000 /* microseconds */

static void must(DAT_RETURN ret, const char *what)
{
	const char *major = "", *minor = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "hello: cannot %s: %s %s\n", what, major, minor);
	exit(1);
}

static DAT_EVENT await(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, const char *what)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, PATIENCE, 1, &event, &more), what);
	if (event.event_number != number) {
		fprintf(stderr, "hello: cannot %s: event 0x%x came\n", what, event.event_number);
		exit(1);
	}
	return event;
}

/* The first address of that name, for ever. */
static DAT_IA_ADDRESS_PTR address(const char *host)
{
	struct addrinfo *list;

	if (getaddrinfo(host, NULL, NULL, &list)) {
		fprintf(stderr, "hello: there is no host %s\n", host);
		exit(1);
	}
	return (DAT_IA_ADDRESS_PTR)list->ai_addr;
}

int main(int argc, char **argv)
{
	static char text[64] = "hello over DAT";
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, cm, dto;
	DAT_REGION_DESCRIPTION region = {.for_va = text};
	DAT_DTO_COOKIE cookie = {.as_64 = 0};
	DAT_LMR_TRIPLET part = {.segment_length = sizeof(text)};
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_EVENT event;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: hello IA [SERVER]\n");
		return 2;
	}
	must(dat_ia_open(argv[1], 8, &async, &ia), "open the interface");
	must(dat_pz_create(ia, &pz), "create a protection zone");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &cm),
	     "create an EVD");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto), "create an EVD");
	must(dat_ep_create(ia, pz, dto, dto, cm, NULL, &ep), "create an endpoint");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(text), pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			    DAT_VA_TYPE_VA, &lmr, &part.lmr_context, NULL, NULL, NULL),
	     "register memory");
	part.virtual_address = (uintptr_t)text;
	if (argc == 3) {
		must(dat_ep_connect(ep, address(argv[2]), PORT, PATIENCE, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		     "connect");
		await(cm, DAT_CONNECTION_EVENT_ESTABLISHED, "connect");
		must(dat_ep_post_send(ep, 1, &part, cookie, DAT_COMPLETION_DEFAULT_FLAG), "send");
		await(dto, DAT_DTO_COMPLETION_EVENT, "send");
		puts("sent");
	} else {
		memset(text, 0, sizeof(text));
		must(dat_ep_post_recv(ep, 1, &part, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		     "post a receive");
		must(dat_psp_create(ia, PORT, cm, DAT_PSP_CONSUMER_FLAG, &psp), "listen");
		puts("listening");
		fflush(stdout);
		event = await(cm, DAT_CONNECTION_REQUEST_EVENT, "take a connection request");
		must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
		     "accept");
		await(cm, DAT_CONNECTION_EVENT_ESTABLISHED, "accept");
		await(dto, DAT_DTO_COMPLETION_EVENT, "receive");
		printf("received: %s\n", text);
	}
	must(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "disconnect");
	await(cm, DAT_CONNECTION_EVENT_DISCONNECTED, "disconnect");
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "close the interface");
	return 0;
}
