/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connection qualifiers of 64 bits. Long ones are hashed to TCP ports, so several may lead to the
 * same port. Each must lead to its own service point.
 */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"
#include "cm/wire.h"
#include "object/ia.h"

#define QUALS 20

static struct t_ia ia;
static struct t_end end;
static DAT_EVD_HANDLE evd;
static DAT_CONN_QUAL quals[QUALS];
static DAT_PSP_HANDLE psps[QUALS];

static void open_end(void)
{
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
}

/* The qualifiers are far apart. The process id makes them unique among parallel runs. */
static void choose_quals(void)
{
	for (DAT_CONN_QUAL i = 0; i < QUALS; i++)
		quals[i] = (((DAT_CONN_QUAL)getpid() << 6) + i) << 35 | i << 3;
}

static uint16_t port_of(DAT_CONN_QUAL qual)
{
	uint16_t port = 0;

	ck_assert(dofi_port_candidate(qual, 0, &port));
	return port;
}

/* All qualifiers lead to the port of the first one. */
static void choose_quals_of_one_port(void)
{
	quals[0] = (DAT_CONN_QUAL)getpid() << 40 | 1 << 17;
	for (int i = 1; i < QUALS; i++) {
		quals[i] = quals[i - 1] + 1;
		while (port_of(quals[i]) != port_of(quals[0]))
			quals[i]++;
	}
}

static void (*const choices[])(void) = {choose_quals, choose_quals_of_one_port};

/* Creates every step-th service point, beginning with `first`. */
static void serve(int first, int step)
{
	evd = t_evd(&ia, 2 * QUALS, DAT_EVD_CR_FLAG);
	for (int i = first; i < QUALS; i += step)
		t_ok(dat_psp_create(ia.ia, quals[i], evd, DAT_PSP_CONSUMER_FLAG, &psps[i]));
}

static void accept_one(int which)
{
	DAT_EVENT event = t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event.event_data.cr_arrival_event_data;

	ck_assert_uint_eq(arrival->conn_qual, quals[which]);
	ck_assert_ptr_eq(arrival->sp_handle.psp_handle, psps[which]);
	t_ok(t_cr_accept(arrival->cr_handle, end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_ok(dat_ep_reset(end.ep));
}

static void visit(DAT_CONN_QUAL qual)
{
	t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_ok(dat_ep_reset(end.ep));
}

static void visitor_role(struct t_peer *self)
{
	open_end();
	for (int i = 0; i < QUALS; i++)
		visit(t_peer_hear(self));
	t_ia_close(&ia);
}

START_TEST(one_process_serves_all)
{
	struct t_peer visitor;

	t_peer_start(&visitor, visitor_role);
	open_end();
	choices[_i]();
	serve(0, 1);
	for (int i = 0; i < QUALS; i++) {
		int which = (7 * i) % QUALS;

		t_peer_tell(&visitor, quals[which]);
		accept_one(which);
	}
	t_peer_join(&visitor);
	t_ia_close(&ia);
}
END_TEST

/* Serves every second one of the qualifiers that it receives. */
static void server_role(struct t_peer *self)
{
	open_end();
	for (int i = 0; i < QUALS; i++)
		quals[i] = t_peer_hear(self);
	serve(1, 2);
	t_peer_tell(self, 1);
	for (int i = 1; i < QUALS; i += 2)
		accept_one(i);
	t_ia_close(&ia);
}

/* Either process may own the port, and the connector already has a channel to one of them. */
START_TEST(two_processes_share_the_qualifiers)
{
	struct t_peer visitor, server;

	t_peer_start(&visitor, visitor_role);
	t_peer_start(&server, server_role);
	open_end();
	choices[_i]();
	serve(0, 2);
	for (int i = 0; i < QUALS; i++)
		t_peer_tell(&server, quals[i]);
	t_peer_hear(&server);
	for (int i = 0; i < QUALS; i++) {
		t_peer_tell(&visitor, quals[i]);
		if (i % 2 == 0)
			accept_one(i);
	}
	t_peer_join(&visitor);
	t_peer_join(&server);
	t_ia_close(&ia);
}
END_TEST

/* The other process has the qualifier, which is unique on a host. */
static void rival_role(struct t_peer *self)
{
	open_end();
	quals[0] = t_peer_hear(self);
	evd = t_evd(&ia, 4, DAT_EVD_CR_FLAG);
	ck_assert_uint_eq(DAT_GET_TYPE(dat_psp_create(ia.ia, quals[0], evd, DAT_PSP_CONSUMER_FLAG,
						      &psps[0])),
			  DAT_GET_TYPE(DAT_CONN_QUAL_IN_USE));
	t_ia_close(&ia);
}

START_TEST(each_qualifier_is_served_once)
{
	struct t_peer rival;

	t_peer_start(&rival, rival_role);
	open_end();
	choose_quals();
	serve(0, QUALS);
	t_peer_tell(&rival, quals[0]);
	t_peer_join(&rival);
	t_ia_close(&ia);
}
END_TEST

/* Ports below 1024 take it. */
static void give_up_the_privilege(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	ck_assert_int_eq((int)syscall(SYS_capget, &head, sets), 0);
	sets[0].effective &= ~(1u << CAP_NET_BIND_SERVICE);
	ck_assert_int_eq((int)syscall(SYS_capset, &head, sets), 0);
}

static void serve_a_small_one(void)
{
	DAT_RETURN ret;

	evd = t_evd(&ia, 4, DAT_EVD_CR_FLAG);
	quals[0] = 0;
	do
		ret = dat_psp_create(ia.ia, ++quals[0], evd, DAT_PSP_CONSUMER_FLAG, &psps[0]);
	while (DAT_GET_TYPE(ret) == DAT_GET_TYPE(DAT_CONN_QUAL_IN_USE));
	t_ok(ret);
	ck_assert_uint_lt(quals[0], 1024);
}

START_TEST(a_small_qualifier_needs_no_privilege)
{
	struct t_peer visitor, rival;

	t_peer_start(&visitor, visitor_role);
	t_peer_start(&rival, rival_role);
	give_up_the_privilege(); /* before the IA opens: librdmacm's descriptor is for its opener */
	open_end();
	serve_a_small_one();
	t_peer_tell(&rival, quals[0]);
	t_peer_join(&rival);
	for (int i = 0; i < QUALS; i++) {
		t_peer_tell(&visitor, quals[0]);
		accept_one(0);
	}
	t_peer_join(&visitor);
	t_ia_close(&ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("quals");
	TCase *tcase = tcase_create("quals");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, one_process_serves_all, 0, 2);
	tcase_add_loop_test(tcase, two_processes_share_the_qualifiers, 0, 2);
	tcase_add_test(tcase, each_qualifier_is_served_once);
	tcase_add_test(tcase, a_small_qualifier_needs_no_privilege);
	return t_run(suite);
}
