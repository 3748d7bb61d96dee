/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Behaves as Intel MPI up to 2018 is known to do: all ranks connect to each other at once and
 * without a timeout. They use eager messages, writes into rings that the receiver polls in memory,
 * and reads of large messages, with a cache of registrations and hooks in malloc. Disconnects wait
 * ten seconds.
 */
#include "hooks.h"
#include "late_dat.h"
#include "ranks.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_EVD_LENGTH 2000
#define FOREVER            4294967295u /* microseconds, as in the logs of Intel MPI */
#define DISCONNECT_US      10000000

#define ADDRESS_SIZE       16
#define EAGER_SIZE         2048
#define EAGER_DEPTH        4 /* receives of each connection */
#define EAGER_ROUNDS       6
#define RING_SLOTS         4
#define SLOT_SIZE          1024
#define RING_ROUNDS        12

/* Data that ranks exchange before they are connected. */
struct card {
	unsigned char address[ADDRESS_SIZE];
	char name[DAT_NAME_MAX_LENGTH + 16];
	DAT_CONN_QUAL qual;
	DAT_VADDR ring;
	DAT_RMR_CONTEXT key;
};

/* The first bytes of eager messages. */
enum kind { EAGER_DATA = 1, RENDEZVOUS, FINISHED };

struct header {
	uint32_t kind, from, serial, pad;
	uint64_t address, length;
	DAT_RMR_CONTEXT key;
};

static struct {
	unsigned int ranks;
	const char *name;
} options = {.ranks = 4};

static struct {
	unsigned int me, count;
	const struct card *cards;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, request, receive, connection;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE eps[RANKS_MAX];
	unsigned char *memory; /* eager receives, eager sends, ring, sources of the ring */
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	size_t longest_read;
	unsigned int connected, requests, disconnected;
	unsigned int eager[RANKS_MAX]; /* messages received */
	unsigned int finished;         /* large messages that peers have read */
	struct header rendezvous;      /* of the partner, kind 0 until it has come */
} my;

/* ---- memory ---- */

static unsigned char *eager_receive(unsigned int peer, unsigned int slot)
{
	return my.memory + ((size_t)peer * EAGER_DEPTH + slot) * EAGER_SIZE;
}

static unsigned char *eager_send(unsigned int peer)
{
	return eager_receive(my.count, 0) + (size_t)peer * EAGER_SIZE;
}

static unsigned char *ring_slot(unsigned int peer, unsigned int slot)
{
	return eager_send(my.count) + ((size_t)peer * RING_SLOTS + slot) * SLOT_SIZE;
}

static unsigned char *ring_source(unsigned int peer)
{
	return ring_slot(my.count, 0) + (size_t)peer * SLOT_SIZE;
}

static size_t memory_size(void)
{
	return (size_t)(ring_source(my.count) - my.memory);
}

static unsigned char pattern(unsigned int from, unsigned int to, unsigned int serial, size_t at)
{
	return (unsigned char)(from * 31 + to * 17 + serial * 7 + at * 3 + (at >> 8));
}

static void fill(unsigned char *data, size_t size, unsigned int to, unsigned int serial)
{
	for (size_t i = 0; i < size; i++)
		data[i] = pattern(my.me, to, serial, i);
}

static void compare(const unsigned char *data, size_t size, unsigned int from, unsigned int serial)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i] != pattern(from, my.me, serial, i))
			rank_fail("byte %zu of %zu from rank %u is wrong, number %u", i, size, from,
				  serial);
	}
}

/* ---- opening ---- */

/* Publishes the address. The library also gets a buffer of exactly this length. */
static void publish(struct card *card)
{
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;

	ok(dat.ia_query(my.ia, &my.async, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
			&provider));
	if (((const struct sockaddr *)attr.ia_address_ptr)->sa_family != AF_INET)
		rank_fail("the address of the interface is none of IPv4");
	memcpy(card->address, attr.ia_address_ptr, ADDRESS_SIZE);
	my.longest_read = (size_t)attr.max_rdma_size;
	card->ring = (DAT_VADDR)(uintptr_t)ring_slot(0, 0);
	card->key = my.remote;
}

static void open_all(struct card *card)
{
	char name[DAT_NAME_MAX_LENGTH];

	late_load(getenv("I_MPI_DAT_LIBRARY"));
	late_open(options.name, name, &my.ia, &my.async);
	snprintf(card->name, sizeof(card->name), "%s(v%d.%d)", name, T_DAT_MAJOR,
		 T_DAT_MAJOR == 1 ? 2 : 0);
	ok(dat.pz_create(my.ia, &my.pz));
	ok(dat.evd_create(my.ia, REQUEST_EVD_LENGTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			  &my.request));
	ok(dat.evd_create(my.ia, REQUEST_EVD_LENGTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			  &my.receive));
	ok(dat.evd_create(my.ia, (DAT_COUNT)(2 * my.count + 32), DAT_HANDLE_NULL,
			  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &my.connection));
	my.memory = calloc(1, memory_size());
	if (!my.memory)
		rank_fail("no memory");
	late_register(my.ia, my.pz, my.memory, memory_size(), &my.lmr, &my.local, &my.remote);
	hooks_begin(my.ia, my.pz);
	publish(card);
	card->qual = 1024 + (DAT_CONN_QUAL)getppid() % 60000 + my.me;
	late_listen(my.ia, my.connection, &card->qual, my.count, &my.psp);
}

/* ---- connections ---- */

static void post_receive(unsigned int peer, unsigned int slot)
{
	DAT_LMR_TRIPLET iov = late_local(my.local, eager_receive(peer, slot), EAGER_SIZE);
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = (DAT_UINT64)peer << 16 | slot;
	ok(dat.ep_post_recv(my.eps[peer], 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void make_endpoint(unsigned int peer)
{
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.qos = DAT_QOS_BEST_EFFORT;
	attr.max_recv_dtos = EAGER_DEPTH;
	attr.max_request_dtos = 16;
	attr.max_recv_iov = attr.max_request_iov = 1;
	attr.max_rdma_read_in = attr.max_rdma_read_out = 4;
	ok(dat.ep_create(my.ia, my.pz, my.receive, my.request, my.connection, &attr,
			 &my.eps[peer]));
	for (unsigned int i = 0; i < EAGER_DEPTH; i++)
		post_receive(peer, i);
}

static void dial(unsigned int peer)
{
	unsigned char *address = malloc(ADDRESS_SIZE);
	uint32_t word = my.me;

	memcpy(address, my.cards[peer].address, ADDRESS_SIZE);
	ok(dat.ep_connect(my.eps[peer], (DAT_IA_ADDRESS_PTR)(void *)address, my.cards[peer].qual,
			  FOREVER, sizeof(word), &word, DAT_QOS_BEST_EFFORT,
			  DAT_CONNECT_DEFAULT_FLAG));
	free(address);
}

static void take_request(DAT_CR_HANDLE cr)
{
	uint32_t peer = late_number_of(cr);

	if (peer >= my.me)
		rank_fail("a request of rank %u", peer);
	ok(dat.cr_accept(cr, my.eps[peer], 0, NULL));
}

static void take_connection_event(const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		take_request(event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		my.connected++;
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		my.disconnected++;
		break;
	default:
		rank_fail("connection event 0x%x", event->event_number);
	}
}

/* Lower ranks connect, higher ranks accept, all at the same time. */
static void connect_all(void)
{
	DAT_EVENT event;

	for (unsigned int peer = 0; peer < my.count; peer++) {
		if (peer != my.me)
			make_endpoint(peer);
	}
	rank_barrier();
	for (unsigned int peer = my.me + 1; peer < my.count; peer++)
		dial(peer);
	while (my.connected < my.count - 1) {
		if (dat.evd_dequeue(my.connection, &event) == DAT_SUCCESS)
			take_connection_event(&event);
		else
			rank_yield();
	}
}

static void disconnect_all(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	for (unsigned int peer = 0; peer < my.count; peer++) {
		if (peer != my.me)
			ok(dat.ep_disconnect(my.eps[peer], DAT_CLOSE_DEFAULT));
	}
	while (my.disconnected < my.count - 1) {
		ok(dat.evd_wait(my.connection, DISCONNECT_US, 1, &event, &more));
		take_connection_event(&event);
	}
}

/* ---- completions ---- */

static void check_dto(const DAT_EVENT *event)
{
	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		rank_fail("event 0x%x where a completion belongs", event->event_number);
	if (event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		rank_fail("a completion with status %d",
			  event->event_data.dto_completion_event_data.status);
}

static void take_message(const DAT_DTO_COMPLETION_EVENT_DATA *data)
{
	unsigned int peer = (unsigned int)(data->user_cookie.as_64 >> 16);
	unsigned int slot = data->user_cookie.as_64 & 0xffff;
	const unsigned char *message = eager_receive(peer, slot);
	struct header header;

	memcpy(&header, message, sizeof(header));
	if (header.from != peer || data->ep_handle != my.eps[peer])
		rank_fail("a message of rank %u on the connection with %u", header.from, peer);
	if (header.kind == EAGER_DATA) {
		if (data->transfered_length != sizeof(header) + header.length ||
		    header.serial != my.eager[peer])
			rank_fail("message %u of rank %u has %llu bytes; number %u was next",
				  header.serial, peer, (unsigned long long)data->transfered_length,
				  my.eager[peer]);
		compare(message + sizeof(header), header.length, peer, header.serial);
		my.eager[peer]++;
	} else if (header.kind == RENDEZVOUS) {
		my.rendezvous = header;
	} else {
		my.finished++;
	}
	post_receive(peer, slot);
}

/* Handles completions. If there are none, yields the processor. */
static void progress(void)
{
	DAT_EVENT event;
	bool any = false;

	while (dat.evd_dequeue(my.receive, &event) == DAT_SUCCESS) {
		check_dto(&event);
		take_message(&event.event_data.dto_completion_event_data);
		any = true;
	}
	while (dat.evd_dequeue(my.request, &event) == DAT_SUCCESS) {
		check_dto(&event);
		my.requests--;
		any = true;
	}
	if (dat.evd_dequeue(my.connection, &event) == DAT_SUCCESS)
		rank_fail("connection event 0x%x in the middle of the traffic", event.event_number);
	if (!any)
		rank_yield();
}

static void drain(void)
{
	while (my.requests)
		progress();
}

/* ---- traffic ---- */

static void send_message(unsigned int peer, const struct header *header)
{
	unsigned char *message = eager_send(peer);
	size_t data = header->kind == EAGER_DATA ? header->length : 0;
	DAT_LMR_TRIPLET iov = late_local(my.local, message, sizeof(*header) + data);
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = peer;
	memcpy(message, header, sizeof(*header));
	fill(message + sizeof(*header), data, peer, header->serial);
	ok(dat.ep_post_send(my.eps[peer], 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	my.requests++;
}

static bool all_have(unsigned int count)
{
	for (unsigned int peer = 0; peer < my.count; peer++) {
		if (peer != my.me && my.eager[peer] < count)
			return false;
	}
	return true;
}

/* No rank is more than one round ahead of another, so receives are posted in time. */
static void exchange_eager(void)
{
	for (unsigned int round = 0; round < EAGER_ROUNDS; round++) {
		struct header header = {.kind = EAGER_DATA, .from = my.me, .serial = round};

		header.length = round * (EAGER_SIZE - sizeof(header)) / (EAGER_ROUNDS - 1);
		for (unsigned int peer = 0; peer < my.count; peer++) {
			if (peer != my.me)
				send_message(peer, &header);
		}
		drain();
		while (!all_have(round + 1))
			progress();
	}
}

/* The message ends at the end of the slot. The receiver polls its last byte, which is not 0. */
static size_t ring_length(unsigned int round)
{
	return 2 + (size_t)round * (SLOT_SIZE - 2) / (RING_ROUNDS - 1);
}

static void write_ring(unsigned int peer, unsigned int round)
{
	unsigned char *source = ring_source(peer);
	size_t size = ring_length(round), at;
	DAT_LMR_TRIPLET iov = late_local(my.local, source, size);
	DAT_RMR_TRIPLET to;
	DAT_DTO_COOKIE cookie;

	at = ((size_t)my.me * RING_SLOTS + round % RING_SLOTS + 1) * SLOT_SIZE - size;
	to = late_remote(my.cards[peer].key, my.cards[peer].ring + at, size);
	cookie.as_64 = peer;
	fill(source, size - 1, peer, round);
	source[size - 1] = (unsigned char)(round + 1);
	ok(dat.ep_post_rdma_write(my.eps[peer], 1, &iov, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG));
	my.requests++;
}

/* Reads only memory and makes no DAT call until the message has come. */
static void poll_ring(unsigned int peer, unsigned int round)
{
	unsigned char *end = ring_slot(peer, round % RING_SLOTS) + SLOT_SIZE;
	size_t size = ring_length(round);

	while (__atomic_load_n(end - 1, __ATOMIC_ACQUIRE) != round + 1)
		rank_yield();
	compare(end - size, size - 1, peer, round);
	end[-1] = 0;
}

/* A slot is written again four rounds later, when an answer to it has been seen. */
static void exchange_rings(void)
{
	for (unsigned int round = 0; round < RING_ROUNDS; round++) {
		for (unsigned int peer = 0; peer < my.count; peer++) {
			if (peer != my.me)
				write_ring(peer, round);
		}
		for (unsigned int peer = 0; peer < my.count; peer++) {
			if (peer != my.me)
				poll_ring(peer, round);
		}
		drain();
	}
}

static void post_read(unsigned int peer, DAT_LMR_CONTEXT context, unsigned char *into, size_t at,
		      size_t size)
{
	DAT_LMR_TRIPLET iov = late_local(context, into + at, size);
	DAT_RMR_TRIPLET from = late_remote(my.rendezvous.key, my.rendezvous.address + at, size);
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = peer;
	ok(dat.ep_post_rdma_read(my.eps[peer], 1, &iov, cookie, &from,
				 DAT_COMPLETION_DEFAULT_FLAG));
	my.requests++;
}

/* Reads in parts that the interface allows. */
static void read_large(unsigned int peer, size_t size, unsigned int serial)
{
	unsigned char *into = malloc(size);
	struct hooks_region region = hooks_find(into, size);
	struct header header = {.kind = FINISHED, .from = my.me};

	for (size_t at = 0, part; at < size; at += part) {
		part = size - at < my.longest_read ? size - at : my.longest_read;
		post_read(peer, region.local, into, at, part);
	}
	drain();
	compare(into, size, peer, serial);
	my.rendezvous.kind = 0;
	send_message(peer, &header);
	drain();
	hooks_free(into);
}

/* Both ranks of a pair offer and read at the same time. */
static void exchange_large(unsigned int peer, size_t size, unsigned int serial)
{
	unsigned char *block = malloc(size);
	struct hooks_region region = hooks_find(block, size);
	struct header header = {
		.kind = RENDEZVOUS,
		.from = my.me,
		.serial = serial,
		.key = region.remote,
		.address = (uintptr_t)block,
		.length = size,
	};

	fill(block, size, peer, serial);
	send_message(peer, &header);
	while (my.rendezvous.kind != RENDEZVOUS)
		progress();
	if (my.rendezvous.length != size)
		rank_fail("rank %u offers %llu bytes for %zu", peer,
			  (unsigned long long)my.rendezvous.length, size);
	read_large(peer, size, serial);
	while (my.finished <= serial)
		progress();
	hooks_free(block);
}

/* All pairs in turn. The first pair exchanges the largest message. */
static void exchange_all_large(void)
{
	static const size_t sizes[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
	unsigned int peer = my.me ^ 1, count = my.me < 2 ? 5 : 3, ends = hooks_ended();

	if (peer >= my.count)
		return;
	for (unsigned int i = 0; i < count; i++)
		exchange_large(peer, sizes[i], i);
	if (hooks_ended() - ends != 2 * count)
		rank_fail("free() has ended %u registrations of %u", hooks_ended() - ends,
			  2 * count);
}

/* ---- a rank ---- */

static void close_all(void)
{
	for (unsigned int peer = 0; peer < my.count; peer++) {
		if (peer != my.me)
			ok(dat.ep_free(my.eps[peer]));
	}
	ok(dat.psp_free(my.psp));
	ok(dat.lmr_free(my.lmr));
	ok(dat.pz_free(my.pz));
	ok(dat.evd_free(my.request));
	ok(dat.evd_free(my.receive));
	ok(dat.evd_free(my.connection));
	ok(dat.ia_close(my.ia, DAT_CLOSE_GRACEFUL_FLAG));
	free(my.memory);
}

static void run_rank(unsigned int me, unsigned int count, void *shared)
{
	struct card *cards = shared;

	my.me = me;
	my.count = count;
	my.cards = cards;
	rank_does("opens the interface");
	open_all(&cards[me]);
	rank_barrier();
	if (strcmp(cards[me].name, cards[0].name))
		rank_fail("has %s, rank 0 %s", cards[me].name, cards[0].name);
	rank_does("connects");
	connect_all();
	rank_does("exchanges eager messages");
	exchange_eager();
	rank_does("polls the rings");
	exchange_rings();
	rank_does("reads large messages");
	exchange_all_large();
	rank_does("meets the others");
	rank_barrier();
	rank_does("disconnects");
	disconnect_all();
	rank_does("closes");
	close_all();
}

int main(int argc, char **argv)
{
	unsigned int seconds = 120;
	int option;

	options.name = getenv("T_IA");
	while ((option = getopt(argc, argv, "n:i:t:")) != -1) {
		if (option == 'n')
			options.ranks = (unsigned int)atoi(optarg);
		else if (option == 'i')
			options.name = optarg;
		else if (option == 't')
			seconds = (unsigned int)atoi(optarg);
		else
			return 2;
	}
	if (options.ranks < 2 || options.ranks > RANKS_MAX) {
		fprintf(stderr, "usage: %s [-n 2..%d] [-i IA] [-t SECONDS]\n", argv[0], RANKS_MAX);
		return 2;
	}
	return ranks_run("impi_like", options.ranks, seconds, options.ranks * sizeof(struct card),
			 run_rank);
}
