/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Very many connections, to one process or to very many. The test prints what a connection costs in
 * comments of TAP. It checks what must not grow with connections: there is one control channel per
 * peer, and one endpoint of a connectionless fabric.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "object/ia.h"
#include "inside.h"
#include "memory.h"
#include "process.h"
#include "object/transport.h"
#include "object/ep.h"

#define MAX_PEERS 200u
#define MAX_EPS   1000u
#define SIZE      64u
#define PINGS     200u

/* The EPs of one process, which share EVDs and memory. */
struct crowd {
	struct t_ia ia;
	DAT_EVD_HANDLE recv_evd, request_evd, connect_evd;
	DAT_EP_HANDLE eps[MAX_EPS];
	unsigned int number;
	struct t_buf buf;
};

static struct crowd all;
static struct t_peer peers[MAX_PEERS];
static unsigned int eps_of_peer;

static void allow_many_files(void)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void open_crowd(unsigned int number)
{
	allow_many_files();
	fault_use_linked_provider();
	t_ia_open(&all.ia);
	all.number = number;
	all.recv_evd = t_evd(&all.ia, (DAT_COUNT)number + 8, DAT_EVD_DTO_FLAG);
	all.request_evd = t_evd(&all.ia, (DAT_COUNT)number + 8, DAT_EVD_DTO_FLAG);
	all.connect_evd = t_evd(&all.ia, (DAT_COUNT)number + 8, DAT_EVD_CONNECTION_FLAG);
	t_buf_new(&all.buf, all.ia.ia, all.ia.pz, (number + 1) * (size_t)SIZE,
		  DAT_MEM_PRIV_ALL_FLAG);
}

static void receive(unsigned int at)
{
	DAT_LMR_TRIPLET segment = t_seg(&all.buf, at * (size_t)SIZE, SIZE);

	t_ok(dat_ep_post_recv(all.eps[at], 1, &segment, (DAT_DTO_COOKIE){.as_64 = at},
			      DAT_COMPLETION_DEFAULT_FLAG));
}

static void say(unsigned int at)
{
	DAT_LMR_TRIPLET segment = t_seg(&all.buf, all.number * (size_t)SIZE, SIZE);

	t_ok(dat_ep_post_send(all.eps[at], 1, &segment, (DAT_DTO_COOKIE){.as_64 = at},
			      DAT_COMPLETION_SUPPRESS_FLAG));
}

static void new_ep(unsigned int at)
{
	t_ok(dat_ep_create(all.ia.ia, all.ia.pz, all.recv_evd, all.request_evd, all.connect_evd,
			   NULL, &all.eps[at]));
	receive(at);
}

static void await_established(unsigned int number)
{
	for (unsigned int i = 0; i < number; i++)
		t_wait_for(all.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/*
 * Returns which EP received a message, and posts its receive again. False if the connections end.
 */
static bool next_message(unsigned int *at_p)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_COUNT nmore;
	DAT_EVENT event;

	t_ok(dat_evd_wait(all.recv_evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	dto = &event.event_data.dto_completion_event_data;
	if (dto->status != DAT_DTO_SUCCESS)
		return false;
	*at_p = (unsigned int)dto->user_cookie.as_64;
	receive(*at_p);
	return true;
}

/* Connects and returns each message. */
static void echo_role(struct t_peer *self)
{
	DAT_CONN_QUAL qual;
	unsigned int at;

	open_crowd(eps_of_peer);
	t_peer_tell(self, 1);
	ck_assert_int_eq(read(self->sock, &qual, sizeof(qual)), (ssize_t)sizeof(qual));
	for (at = 0; at < eps_of_peer; at++) {
		new_ep(at);
		t_ok(t_connect_data(all.eps[at], &all.ia, qual, DAT_TIMEOUT_INFINITE, NULL, 0));
	}
	await_established(eps_of_peer);
	t_peer_tell(self, 2);
	while (next_message(&at))
		say(at);
	t_ia_close(&all.ia);
}

/* --- counting --- */

static unsigned int channels(void)
{
	struct dofi_ia *ia = ((struct dofi_ep *)all.eps[0])->obj.ia;
	unsigned int n = 0;

	dofi_lock(&ia->engine.lock);
	DOFI_LIST_FOR(node, &ia->cm.chans)
	n++;
	dofi_unlock(&ia->engine.lock);
	return n;
}

/* The number of different endpoints of the fabric below the EPs. */
static unsigned int endpoints(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < all.number; i++) {
		const struct dofi_ep *ep = (const struct dofi_ep *)all.eps[i];
		unsigned int other = 0;

		while (other < i && ((const struct dofi_ep *)all.eps[other])->fep != ep->fep)
			other++;
		n += other == i;
	}
	return n;
}

/* A connection by shared memory has no endpoint. */
static bool shares_endpoint(void)
{
	const struct dofi_ep *ep = (const struct dofi_ep *)all.eps[0];

	return ep->obj.ia->shared_ep || ep->memory;
}

/* --- measuring --- */

static double us_per(uint64_t began, unsigned int number)
{
	return (double)(t_now_us() - began) / number;
}

static double connect_all(const struct t_listener *listener, unsigned int npeers)
{
	uint64_t began = t_now_us();

	for (unsigned int i = 0; i < npeers; i++)
		t_peer_tell(&peers[i], listener->qual);
	for (unsigned int i = 0; i < all.number; i++) {
		DAT_CR_HANDLE cr = t_next_cr(listener);

		new_ep(i);
		t_ok(t_cr_accept(cr, all.eps[i]));
	}
	await_established(all.number);
	for (unsigned int i = 0; i < npeers; i++)
		ck_assert_uint_eq(t_peer_hear(&peers[i]), 2);
	return us_per(began, all.number);
}

/* One message and its answer on each connection, then on one connection alone. */
static double exchange(unsigned int number)
{
	uint64_t began = t_now_us();
	unsigned int at;

	for (unsigned int i = 0; i < number; i++)
		say(i);
	for (unsigned int i = 0; i < number; i++)
		ck_assert(next_message(&at));
	return us_per(began, number);
}

static double ping_one(void)
{
	uint64_t began = t_now_us();

	for (unsigned int i = 0; i < PINGS; i++)
		exchange(1);
	return us_per(began, PINGS);
}

static void measure(unsigned int npeers, unsigned int each)
{
	struct t_listener listener;
	double setup, in_turn, alone;
	unsigned int files;
	size_t memory;

	eps_of_peer = each;
	for (unsigned int i = 0; i < npeers; i++)
		t_peer_start(&peers[i], echo_role);
	open_crowd(npeers * each);
	for (unsigned int i = 0; i < npeers; i++)
		t_peer_hear(&peers[i]);
	listener.on = &all.ia;
	listener.evd = t_evd(&all.ia, (DAT_COUNT)all.number + 8, DAT_EVD_CR_FLAG);
	t_ok(dat_psp_create_any(all.ia.ia, &listener.qual, listener.evd, DAT_PSP_CONSUMER_FLAG,
				&listener.psp));
	memory = fault_memory_of(getpid());
	files = (unsigned int)fault_open_files();
	setup = connect_all(&listener, npeers);
	exchange(all.number);
	memory = fault_memory_of(getpid()) - memory;
	files = (unsigned int)fault_open_files() - files;
	in_turn = exchange(all.number);
	alone = ping_one();
	printf("# %s: %u processes with %u connections each: connect %.0f us, memory %.1f KiB, "
	       "descriptors %.2f per connection;"
	       " %u endpoints, %u channels; a message there and back: %.1f us over all in turn, "
	       "%.1f us over one\n",
	       t_ia_name(), npeers, each, setup, (double)memory / 1024 / all.number,
	       (double)files / all.number, endpoints(), channels(), in_turn, alone);
	ck_assert_uint_le(channels(), 2 * npeers);
	ck_assert_uint_eq(endpoints(), shares_endpoint() ? 1 : all.number);
	t_ia_close(&all.ia);
	for (unsigned int i = 0; i < npeers; i++)
		t_peer_join(&peers[i]);
}

START_TEST(one_process_with_many_connections)
{
	measure(1, fault_amount(50, MAX_EPS));
}
END_TEST

START_TEST(many_processes_with_one_connection)
{
	measure(fault_peers(8, MAX_PEERS), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scale");
	TCase *tcase = tcase_create("scale");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, one_process_with_many_connections);
	tcase_add_test(tcase, many_processes_with_one_connection);
	return t_run(suite);
}
