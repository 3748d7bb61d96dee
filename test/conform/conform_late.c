/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that tell their peers an address: before they listen there, and one that their host has
 * on another interface.
 */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include "paired.h"

/* Not a port, and unique on this host, where both generations' suites may run at the same time. */
#define LONG_QUAL  (UINT64_C(0x5ca1ab1e00000000) | (DAT_CONN_QUAL)getpid())

/* Ports that the system and the library give to nobody who does not ask for them. */
#define FIRST_PORT 10000u
#define PORTS      3000u

static struct t_pair late; /* the second one listens late */

/* Opens the pair with this grace period. */
static void open_with_grace(const char *ms)
{
	setenv("DAT_OFI_LISTEN_GRACE_MS", ms, 1);
	t_pair_prepare(&late, NULL);
}

/* Returns a free qualifier: a port, or a longer number. */
static DAT_CONN_QUAL free_qual(bool is_long)
{
	DAT_EVD_HANDLE evd = t_evd(&late.ia[1], 16, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual = FIRST_PORT + (DAT_CONN_QUAL)getpid() % PORTS;
	DAT_PSP_HANDLE psp;

	if (is_long)
		return LONG_QUAL;
	while (dat_psp_create(late.ia[1].ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp) != DAT_SUCCESS)
		ck_assert_uint_lt(++qual, FIRST_PORT + 2 * PORTS);
	t_ok(dat_psp_free(psp));
	return qual;
}

static void begin(DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	t_ok(t_connect_data(late.end[0].ep, &late.ia[1], qual, timeout, "hello", 5));
}

static DAT_CR_HANDLE arrived(DAT_EVD_HANDLE evd, DAT_CONN_QUAL qual)
{
	DAT_EVENT event = t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event.event_data.cr_arrival_event_data;
	DAT_CR_PARAM cr;

	ck_assert_uint_eq(arrival->conn_qual, qual);
	t_ok(dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &cr));
	ck_assert_int_eq(cr.private_data_size, 5);
	return arrival->cr_handle;
}

static void both_up(void)
{
	for (int i = 0; i < 2; i++)
		t_wait_conn(late.end[i].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED,
			    late.end[i].ep);
}

/* Listens by a PSP or an RSP, and accepts the request that was made before. */
static void listen_and_take(DAT_CONN_QUAL qual, bool reserved)
{
	DAT_EVD_HANDLE evd = t_evd(&late.ia[1], 16, DAT_EVD_CR_FLAG);
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;

	if (reserved)
		t_ok(dat_rsp_create(late.ia[1].ia, qual, late.end[1].ep, evd, &rsp));
	else
		t_ok(dat_psp_create(late.ia[1].ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	t_ok(t_cr_accept(arrived(evd, qual), reserved ? DAT_HANDLE_NULL : late.end[1].ep));
	both_up();
}

START_TEST(PRG_19_request_waits_for_a_later_listener)
{
	DAT_CONN_QUAL qual;

	open_with_grace("60000");
	qual = free_qual(_i & 1);
	begin(qual, T_LIMIT_US);
	t_stays_quiet(late.end[0].connect_evd);
	listen_and_take(qual, _i & 2);
}
END_TEST

/* The two IAs already have a channel, from a connection to a service point that was freed. */
START_TEST(PRG_19_request_on_an_existing_channel_waits_for_a_listener)
{
	struct t_listener former;
	struct t_end first[2];
	DAT_CONN_QUAL qual;

	open_with_grace("60000");
	t_listen(&former, &late.ia[1], DAT_PSP_CONSUMER_FLAG);
	for (int i = 0; i < 2; i++)
		t_end_new(&first[i], &late.ia[i], NULL);
	t_establish(&former, &first[0], &first[1]);
	qual = former.qual;
	t_listener_free(&former);
	begin(qual, T_LIMIT_US);
	t_stays_quiet(late.end[0].connect_evd);
	listen_and_take(qual, false);
}
END_TEST

START_TEST(PRG_19_nobody_listens_in_time)
{
	uint64_t began, took;

	open_with_grace("250");
	began = t_now_us();
	begin(free_qual(_i), T_LIMIT_US);
	t_wait_conn(late.end[0].connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
		    late.end[0].ep);
	took = t_now_us() - began;
	ck_assert_uint_ge(took, 250000);
	ck_assert_int_eq(t_ep_state(late.end[0].ep), DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/*
 * The timeout of the connect is shorter than the grace period, and the connector knows the refusal:
 * within 2 s one refusal arrives even on a busy machine.
 */
START_TEST(PRG_19_grace_ends_with_the_time_of_the_connect)
{
	open_with_grace("60000");
	begin(free_qual(_i), 2000000);
	t_wait_conn(late.end[0].connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
		    late.end[0].ep);
	t_stays_quiet(late.end[0].connect_evd);
}
END_TEST

START_TEST(PRG_19_without_grace_the_refusal_comes_at_once)
{
	uint64_t began, least = UINT64_MAX;

	open_with_grace("0");
	for (int i = 0; i < 20; i++) {
		began = t_now_us();
		begin(free_qual(_i), T_LIMIT_US);
		t_wait_conn(late.end[0].connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
			    late.end[0].ep);
		if (t_now_us() - began < least)
			least = t_now_us() - began;
		t_ok(dat_ep_reset(late.end[0].ep));
	}
	ck_assert_uint_lt(least, 200000);
}
END_TEST

/* The program frees the EP while nobody listens. */
START_TEST(PRG_19_connector_gives_up_during_the_grace)
{
	DAT_CONN_QUAL qual;

	open_with_grace("60000");
	qual = free_qual(_i & 1);
	begin(qual, T_LIMIT_US);
	t_stays_quiet(late.end[0].connect_evd);
	if (_i & 2) {
		t_ok(dat_ep_free(late.end[0].ep));
		return;
	}
	t_ok(dat_ep_disconnect(late.end[0].ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(late.end[0].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, late.end[0].ep);
	t_ok(dat_ep_reset(late.end[0].ep));
	begin(qual, T_LIMIT_US);
	listen_and_take(qual, false);
}
END_TEST

/* --- addresses of the host --- */

static void connect_by(const struct t_ia *ia, const struct sockaddr *address)
{
	struct t_listener listener;
	struct t_end end[2];
	struct sockaddr_in to;

	memcpy(&to, address, sizeof(to));
	for (int i = 0; i < 2; i++)
		t_end_new(&end[i], ia, NULL);
	t_listen(&listener, ia, DAT_PSP_CONSUMER_FLAG);
	t_ok(dat_ep_connect(end[0].ep, (DAT_IA_ADDRESS_PTR)(void *)&to, listener.qual, T_LIMIT_US,
			    0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	t_ok(t_cr_accept(t_next_cr(&listener), end[1].ep));
	for (int i = 0; i < 2; i++) {
		t_wait_conn(end[i].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end[i].ep);
		t_end_free(&end[i]);
	}
	t_listener_free(&listener);
}

START_TEST(PRG_23_every_address_of_the_host_reaches_shared_memory)
{
	struct ifaddrs *list, *at;
	struct t_ia ia;

	unsetenv("DAT_OFI_ADDR"); /* it would be the only one */
	t_conf("here %s nonthreadsafe default %s dat-ofi.0.1 \"provider=shm\" \"\"\n", T_API,
	       T_PROVIDER_SONAME);
	setenv("T_IA", "here", 1);
	t_ia_open(&ia);
	ck_assert_int_eq(getifaddrs(&list), 0);
	for (at = list; at; at = at->ifa_next) {
		if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET)
			connect_by(&ia, at->ifa_addr);
	}
	freeifaddrs(list);
	t_ia_close_empty(&ia);
}
END_TEST

static void close_both(void)
{
	for (int i = 0; i < 2; i++)
		t_ia_close(&late.ia[i]);
}

Suite *conform_late(void)
{
	Suite *suite = suite_create("prg-late");
	TCase *tcase = tcase_create("prg-late"), *addresses = tcase_create("prg-addresses");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, NULL, close_both);
	tcase_add_loop_test(tcase, PRG_19_request_waits_for_a_later_listener, 0, 4);
	tcase_add_test(tcase, PRG_19_request_on_an_existing_channel_waits_for_a_listener);
	tcase_add_loop_test(tcase, PRG_19_nobody_listens_in_time, 0, 2);
	tcase_add_loop_test(tcase, PRG_19_grace_ends_with_the_time_of_the_connect, 0, 2);
	tcase_add_loop_test(tcase, PRG_19_without_grace_the_refusal_comes_at_once, 0, 2);
	tcase_add_loop_test(tcase, PRG_19_connector_gives_up_during_the_grace, 0, 4);
	suite_add_tcase(suite, addresses);
	tcase_add_test(addresses, PRG_23_every_address_of_the_host_reaches_shared_memory);
	return suite;
}
