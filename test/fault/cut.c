/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The network between two processes fails. Each process has a network namespace of its own, and a
 * pair of virtual interfaces joins them. Both processes must notice that the connection is broken.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <netinet/in.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"

#include "../lib/t_network.h"

#define RECEIVES  10u
#define REQUESTS  10u
#define KEEPALIVE "1"
#define LIMIT_US  (6 * T_LIMIT_US) /* TCP gives up after the second, and sanitizers are slow */

static struct t_peer peer;
static struct t_ia ia;
static struct t_end end;

/*
 * Opens the fabric of the run at an address of this network. False if the fabric has no addresses.
 */
static bool use_address(const char *address)
{
	const char *params = getenv("T_PARAMS");
	char fabric[128];
	char *domain;

	snprintf(fabric, sizeof(fabric), "%s", params ? params : "provider=tcp");
	if (strstr(fabric, "shm") || strstr(fabric, "provider=efa") || fault_fabric_is_sham())
		return false;
	domain = strstr(fabric, " domain=lo");
	if (domain)
		*domain = '\0';
	setenv("DAT_OFI_KEEPALIVE_S", KEEPALIVE, 1);
	setenv("DAT_OFI_LOG", "off", 1);
	unsetenv("DAT_OFI_ADDR");
	setenv("T_IA", "cut", 1);
	t_conf("cut %s nonthreadsafe default %s dat-ofi.0.1 \"%s addr=%s\" \"\"\n", T_API,
	       T_PROVIDER_SONAME, fabric, address);
	return true;
}

/* --- the other end --- */

static void post_all(void)
{
	for (uint64_t i = 0; i < RECEIVES; i++)
		t_ok(t_recv(&end, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < REQUESTS; i++)
		t_ok(t_send(&end, 0, T_BUF_SIZE, i, DAT_COMPLETION_DEFAULT_FLAG));
}

static DAT_EVENT wait_long(DAT_EVD_HANDLE evd)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	t_ok(dat_evd_wait(evd, LIMIT_US, 1, &event, &nmore));
	return event;
}

/* Expects completions in order. The first may have an error of its own. */
static void expect_flushed(DAT_EVD_HANDLE evd, uint64_t number)
{
	for (uint64_t i = 0; i < number; i++) {
		DAT_EVENT event = t_wait_for(evd, DAT_DTO_COMPLETION_EVENT);
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		ck_assert_uint_eq(dto->user_cookie.as_64, i);
		ck_assert_int_ne(dto->status, DAT_DTO_SUCCESS);
	}
	t_no_event(evd);
}

static void expect_broken(void)
{
	DAT_EVENT event = wait_long(end.connect_evd);

	ck_assert_msg(event.event_number == DAT_CONNECTION_EVENT_BROKEN, "event %s came",
		      t_event_name(event.event_number));
	expect_flushed(end.recv_evd, RECEIVES);
	expect_flushed(end.request_evd, REQUESTS);
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_DISCONNECTED);
}

/* At the end both free all objects. No call waits for the other side. */
static void leave(void)
{
	uint64_t began = t_now_us();

	t_end_free(&end);
	t_ia_close(&ia);
	ck_assert_uint_lt(t_now_us() - began, T_LIMIT_US);
}

static void accept_role(struct t_peer *self)
{
	struct t_listener listener;

	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	t_peer_tell(self, 1);
	t_peer_hear(self);
	ck_assert(use_address(T_NETWORK_THEIRS));
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_tell(self, 1);
	t_peer_hear(self);
	post_all();
	t_peer_tell(self, 1);
	expect_broken();
	t_listener_free(&listener);
	leave();
}

/* --- this end --- */

static DAT_RETURN connect_there(DAT_CONN_QUAL qual)
{
	struct sockaddr_in to = {.sin_family = AF_INET};

	ck_assert_int_eq(inet_pton(AF_INET, T_NETWORK_THEIRS, &to.sin_addr), 1);
	return dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&to, qual, LIMIT_US, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void cut_cable(int how)
{
	static const char *const ways[] = {
		/* both ends see that the link is down */
		"ip link set cut0 down",
		"tc qdisc add dev cut0 root netem loss 100%", /* nobody sees anything */
		"ip link del cut0",
	};

	if (!t_shell("%s", ways[how]))
		ck_assert_msg(how == 1 && t_shell("ip link set cut0 down"), "%s: no way to do that",
			      ways[how]);
}

START_TEST(both_ends_break)
{
	DAT_CONN_QUAL qual;

	if (!t_own_network())
		t_skip("no network of its own");
	t_peer_start(&peer, accept_role);
	t_peer_hear(&peer);
	if (!use_address(T_NETWORK_OURS) || !t_network_join(peer.pid)) {
		t_peer_kill(&peer);
		t_skip("no cable for this fabric");
	}
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_peer_tell(&peer, 1);
	qual = t_peer_hear(&peer);
	t_ok(connect_there(qual));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_hear(&peer);
	cut_cable(_i);
	t_peer_tell(&peer, 1);
	post_all();
	t_peer_hear(&peer);
	expect_broken();
	leave();
	t_peer_join(&peer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cut");
	TCase *tcase = tcase_create("cut");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, both_ends_break, 0, (int)fault_amount(1, 3));
	return t_run(suite);
}
