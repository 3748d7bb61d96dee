/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Behaves as Db2 pureScale is known to do: a process opens one interface for each adapter and
 * listens on the same connection qualifier on all of them, a port of the services file. Addresses
 * are IPv4. A peer connects to each. One adapter is closed while the other still works.
 */
#include "late_dat.h"
#include "ranks.h"

#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADAPTERS 2
#define PORT     56001
#define LIMIT_US 30000000
#define SIZE     4096
#define ROUNDS   20

enum { MEMBER, PEER, PROCESSES };

struct shared {
	struct sockaddr_in addresses[ADAPTERS];
	DAT_VADDR memory[PROCESSES][ADAPTERS];
	DAT_RMR_CONTEXT keys[PROCESSES][ADAPTERS];
};

/* An interface with one connection. */
struct adapter {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, connection, request;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	unsigned char *memory; /* received message, page that the peer writes, outgoing data */
};

static const char *names[ADAPTERS];
static struct adapter adapters[ADAPTERS];
static unsigned int me;
static struct shared *shared;

/* ---- opening ---- */

static void find_address(struct adapter *adapter, struct sockaddr_in *address)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	ok(dat.ia_query(adapter->ia, &adapter->async, DAT_IA_FIELD_ALL, &attr,
			DAT_PROVIDER_FIELD_ALL, &provider));
	memcpy(address, attr.ia_address_ptr, sizeof(*address));
	if (address->sin_family != AF_INET || !address->sin_addr.s_addr)
		rank_fail("the address of an interface is none of IPv4");
}

static void open_adapter(unsigned int which)
{
	struct adapter *adapter = &adapters[which];
	char name[DAT_NAME_MAX_LENGTH];
	struct sockaddr_in address;

	late_open(names[which], name, &adapter->ia, &adapter->async);
	ok(dat.pz_create(adapter->ia, &adapter->pz));
	ok(dat.evd_create(adapter->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &adapter->dto));
	ok(dat.evd_create(adapter->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			  &adapter->connection));
	ok(dat.evd_create(adapter->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &adapter->request));
	ok(dat.ep_create(adapter->ia, adapter->pz, adapter->dto, adapter->dto, adapter->connection,
			 NULL, &adapter->ep));
	adapter->memory = calloc(3, SIZE);
	late_register(adapter->ia, adapter->pz, adapter->memory, 3 * SIZE, &adapter->lmr,
		      &adapter->local, &adapter->remote);
	shared->memory[me][which] = (DAT_VADDR)(uintptr_t)adapter->memory + SIZE;
	shared->keys[me][which] = adapter->remote;
	find_address(adapter, &address);
	if (me == MEMBER)
		shared->addresses[which] = address;
}

static void listen_on_all(void)
{
	for (unsigned int i = 0; i < ADAPTERS; i++)
		ok(dat.psp_create(adapters[i].ia, PORT, adapters[i].request, DAT_PSP_CONSUMER_FLAG,
				  &adapters[i].psp));
	if (shared->addresses[0].sin_addr.s_addr == shared->addresses[1].sin_addr.s_addr)
		rank_fail("both adapters have one address");
}

/* ---- events ---- */

static DAT_EVENT await(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted)
{
	DAT_COUNT more;
	DAT_EVENT event;

	ok(dat.evd_wait(evd, LIMIT_US, 1, &event, &more));
	if (event.event_number != wanted)
		rank_fail("event 0x%x where 0x%x belongs", event.event_number, wanted);
	return event;
}

static void await_dto(struct adapter *adapter, DAT_UINT64 cookie)
{
	DAT_EVENT event = await(adapter->dto, DAT_DTO_COMPLETION_EVENT);
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event.event_data.dto_completion_event_data;

	if (data->status != DAT_DTO_SUCCESS || data->user_cookie.as_64 != cookie)
		rank_fail("completion %llu with status %d, not %llu",
			  (unsigned long long)data->user_cookie.as_64, data->status,
			  (unsigned long long)cookie);
}

/* ---- connections ---- */

/* The request must come to the adapter whose address the peer used. */
static void accept_on(unsigned int which)
{
	DAT_EVENT event = await(adapters[which].request, DAT_CONNECTION_REQUEST_EVENT);
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event.event_data.cr_arrival_event_data;
	DAT_CR_PARAM param;
	uint32_t meant;

	ok(dat.cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &param));
	memcpy(&meant, param.private_data, sizeof(meant));
	if (arrival->conn_qual != PORT || meant != which)
		rank_fail("adapter %u has a request for adapter %u, qualifier %llu", which, meant,
			  (unsigned long long)arrival->conn_qual);
	ok(dat.cr_accept(arrival->cr_handle, adapters[which].ep, 0, NULL));
}

static void dial(unsigned int which)
{
	struct sockaddr_in address = shared->addresses[which];
	uint32_t word = which;

	/* The port in the address is ignored. */
	address.sin_port = 0xffff;
	ok(dat.ep_connect(adapters[which].ep, (DAT_IA_ADDRESS_PTR)(void *)&address, PORT, LIMIT_US,
			  sizeof(word), &word, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void connect_all(void)
{
	for (unsigned int i = 0; i < ADAPTERS && me == PEER; i++)
		dial(i);
	for (unsigned int i = 0; i < ADAPTERS && me == MEMBER; i++)
		accept_on(i);
	for (unsigned int i = 0; i < ADAPTERS; i++)
		await(adapters[i].connection, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ---- traffic ---- */

static unsigned char byte_of(unsigned int from, unsigned int which, unsigned int round)
{
	return (unsigned char)(from * 101 + which * 53 + round + 1);
}

/* Writes a page to the peer and sends a message behind it. */
static void post_round(unsigned int which, unsigned int round)
{
	struct adapter *adapter = &adapters[which];
	unsigned char *out = adapter->memory + 2 * SIZE;
	DAT_LMR_TRIPLET in = late_local(adapter->local, adapter->memory, 1);
	DAT_LMR_TRIPLET page = late_local(adapter->local, out, SIZE);
	DAT_LMR_TRIPLET word = late_local(adapter->local, out, 1);
	DAT_RMR_TRIPLET to =
		late_remote(shared->keys[!me][which], shared->memory[!me][which], SIZE);
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	memset(out, byte_of(me, which, round), SIZE);
	ok(dat.ep_post_recv(adapter->ep, 1, &in, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	cookie.as_64 = 2;
	ok(dat.ep_post_rdma_write(adapter->ep, 1, &page, cookie, &to,
				  DAT_COMPLETION_SUPPRESS_FLAG));
	ok(dat.ep_post_send(adapter->ep, 1, &word, cookie, DAT_COMPLETION_SUPPRESS_FLAG));
}

static void check_round(unsigned int which, unsigned int round)
{
	unsigned char want = byte_of(!me, which, round);

	await_dto(&adapters[which], 1);
	for (size_t i = 0; i < SIZE; i++) {
		if (adapters[which].memory[SIZE + i] != want)
			rank_fail("round %u, adapter %u: byte %zu is %u, not %u", round, which, i,
				  adapters[which].memory[SIZE + i], want);
	}
}

/* The next round begins when both have checked the page. */
static void exchange(unsigned int first, unsigned int rounds)
{
	for (unsigned int round = 0; round < rounds; round++) {
		for (unsigned int i = first; i < ADAPTERS; i++)
			post_round(i, round);
		for (unsigned int i = first; i < ADAPTERS; i++)
			check_round(i, round);
		rank_barrier();
	}
}

/* ---- the end ---- */

static void close_adapter(unsigned int which)
{
	struct adapter *adapter = &adapters[which];

	if (me == PEER)
		ok(dat.ep_disconnect(adapter->ep, DAT_CLOSE_DEFAULT));
	await(adapter->connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	ok(dat.ep_free(adapter->ep));
	if (me == MEMBER)
		ok(dat.psp_free(adapter->psp));
	ok(dat.lmr_free(adapter->lmr));
	ok(dat.pz_free(adapter->pz));
	ok(dat.evd_free(adapter->dto));
	ok(dat.evd_free(adapter->connection));
	ok(dat.evd_free(adapter->request));
	ok(dat.ia_close(adapter->ia, DAT_CLOSE_GRACEFUL_FLAG));
	free(adapter->memory);
}

static void run_process(unsigned int rank, unsigned int count, void *memory)
{
	(void)count;
	me = rank;
	shared = memory;
	late_load(getenv("DAT_LIBRARY"));
	rank_does("opens both adapters");
	for (unsigned int i = 0; i < ADAPTERS; i++)
		open_adapter(i);
	rank_does("listens");
	if (me == MEMBER)
		listen_on_all();
	rank_barrier();
	rank_does("connects");
	connect_all();
	rank_barrier();
	rank_does("exchanges pages over both");
	exchange(0, ROUNDS);
	rank_does("closes the first");
	close_adapter(0);
	rank_does("exchanges pages over the second");
	exchange(1, ROUNDS);
	rank_does("closes the second");
	close_adapter(1);
}

int main(int argc, char **argv)
{
	if (argc != ADAPTERS + 1) {
		fprintf(stderr, "usage: %s IA IA, which have different addresses\n", argv[0]);
		return 2;
	}
	names[0] = argv[1];
	names[1] = argv[2];
	return ranks_run("purescale_like", PROCESSES, 60, sizeof(struct shared), run_process);
}
