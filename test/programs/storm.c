/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All ranks connect to each other at once, and both ranks of a pair dial: 2 (N - 1) connections of
 * each rank. Qualifiers are consecutive, connects have no time limit, and one event dispatcher
 * takes requests and connections. Tells the time, and what a connection costs in memory and
 * descriptors.
 */
#include "late_dat.h"
#include "ranks.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DTO_QLEN 64
#define FOREVER  4294967295u
#define LIMIT_S  300

/* What a rank tells the others, and in the end the world. */
struct card {
	struct sockaddr_in address;
	DAT_CONN_QUAL qual;
	double connected, last;     /* seconds from the barrier: the first one, all */
	long before_kib, after_kib; /* resident */
	unsigned int before, after; /* descriptors */
};

static struct {
	unsigned int ranks;
	const char *name;
	bool waits; /* sleeps, where others poll */
} options = {.ranks = 4};

static struct {
	unsigned int me, count, connected, disconnected;
	struct card *cards;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, connection;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE dialled[RANKS_MAX], accepted[RANKS_MAX];
} my;

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long size = 0, pages = 0;

	if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2)
		rank_fail("no /proc/self/statm");
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static unsigned int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* --- the beginning --- */

static void open_all(struct card *card)
{
	char name[DAT_NAME_MAX_LENGTH];
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;

	late_load(NULL);
	late_open(options.name, name, &my.ia, &my.async);
	ok(dat.pz_create(my.ia, &my.pz));
	ok(dat.evd_create(my.ia, DTO_QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &my.dto));
	ok(dat.evd_create(my.ia, (DAT_COUNT)(4 * my.count + 32), DAT_HANDLE_NULL,
			  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &my.connection));
	ok(dat.ia_query(my.ia, &my.async, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
			&provider));
	memcpy(&card->address, attr.ia_address_ptr, sizeof(card->address));
	card->qual = 1024 + (DAT_CONN_QUAL)getppid() % 30000 + my.me;
	late_listen(my.ia, my.connection, &card->qual, my.count, &my.psp);
}

static DAT_EP_HANDLE make_endpoint(void)
{
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.qos = DAT_QOS_BEST_EFFORT;
	attr.max_recv_dtos = attr.max_request_dtos = 4;
	attr.max_recv_iov = attr.max_request_iov = 1;
	attr.max_rdma_read_in = attr.max_rdma_read_out = 4;
	ok(dat.ep_create(my.ia, my.pz, my.dto, my.dto, my.connection, &attr, &ep));
	return ep;
}

/* --- the storm --- */

static void dial(unsigned int peer)
{
	uint32_t word = my.me;

	ok(dat.ep_connect(my.dialled[peer], (DAT_IA_ADDRESS_PTR)(void *)&my.cards[peer].address,
			  my.cards[peer].qual, FOREVER, sizeof(word), &word, DAT_QOS_BEST_EFFORT,
			  DAT_CONNECT_DEFAULT_FLAG));
}

static void take_request(DAT_CR_HANDLE cr)
{
	uint32_t peer = late_number_of(cr);

	if (peer >= my.count || peer == my.me || !my.accepted[peer])
		rank_fail("a request of rank %u", peer);
	ok(dat.cr_accept(cr, my.accepted[peer], 0, NULL));
}

static void take_event(const DAT_EVENT *event)
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
		rank_fail("connection event 0x%x behind %u connections", event->event_number,
			  my.connected);
	}
}

static void next_event(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (options.waits) {
		ok(dat.evd_wait(my.connection, LIMIT_S * 1000000u, 1, &event, &more));
		take_event(&event);
	} else if (dat.evd_dequeue(my.connection, &event) == DAT_SUCCESS) {
		take_event(&event);
	} else {
		rank_yield();
	}
}

/* Neighbours first, so that not all dial the same rank at the same time. */
static void connect_all(struct card *card)
{
	unsigned int all = 2 * (my.count - 1);
	double begin;

	rank_barrier();
	begin = seconds();
	for (unsigned int i = 1; i < my.count; i++)
		dial((my.me + i) % my.count);
	while (my.connected < all) {
		next_event();
		if (my.connected == 1 && card->connected == 0.0)
			card->connected = seconds() - begin;
	}
	card->last = seconds() - begin;
}

static void storm(unsigned int me, unsigned int count, void *shared)
{
	struct card *card = (struct card *)shared + me;

	my.me = me;
	my.count = count;
	my.cards = shared;
	rank_does("opens");
	open_all(card);
	card->before_kib = resident_kib();
	card->before = descriptors();
	for (unsigned int peer = 0; peer < count; peer++) {
		if (peer != me) {
			my.dialled[peer] = make_endpoint();
			my.accepted[peer] = make_endpoint();
		}
	}
	rank_does("connects");
	connect_all(card);
	card->after_kib = resident_kib();
	card->after = descriptors();
	rank_does("disconnects");
	rank_barrier();
	for (unsigned int peer = 0; peer < count; peer++)
		if (peer != me)
			ok(dat.ep_disconnect(my.dialled[peer], DAT_CLOSE_DEFAULT));
	while (my.disconnected < 2 * (count - 1))
		next_event();
	rank_does("closes");
	rank_barrier();
	ok(dat.ia_close(my.ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* --- what it was like --- */

/* Of the last rank, which lives in the memory of all. */
static void report(unsigned int me, unsigned int count, void *shared)
{
	const struct card *cards = shared;
	unsigned int n = 2 * (count - 1);
	double last = 0;
	long kib = 0;
	unsigned int fds = 0;

	storm(me, count, shared);
	rank_barrier();
	if (me)
		return;
	for (unsigned int i = 0; i < count; i++) {
		if (cards[i].last > last)
			last = cards[i].last;
		kib += cards[i].after_kib - cards[i].before_kib;
		fds += cards[i].after - cards[i].before;
	}
	printf("%u connections in %.3f s: %.0f a second; each end %.1f KiB and %.2f descriptors\n",
	       count * (count - 1), last, count * (count - 1) / last, (double)kib / (count * n),
	       (double)fds / (count * n));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "n:i:w")) != -1) {
		if (option == 'n')
			options.ranks = (unsigned int)atoi(optarg);
		else if (option == 'i')
			options.name = optarg;
		else if (option == 'w')
			options.waits = true;
		else
			return 2;
	}
	if (options.ranks < 2 || options.ranks > RANKS_MAX)
		return 2;
	return ranks_run("storm", options.ranks, LIMIT_S, RANKS_MAX * sizeof(struct card), report);
}
