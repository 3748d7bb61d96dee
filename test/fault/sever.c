/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sockets of the fabric break, while the processes and their control channel work. All requests
 * under way complete. If one has failed, all connections between the two processes break at both
 * ends, because messages of any of them may be lost. New connections work.
 */
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "fault.h"

#define REQUESTS 4u
#define SMALL    64u

enum { READS, WRITES, SENDS, KINDS };
enum { BUSY, IDLE, ENDS };
enum { GOES_ON, BREAKS };

static struct t_peer peer;
static struct t_ia ia;
static struct t_end ends[ENDS];
static struct t_buf big;

static void open_ends(void)
{
	t_ia_open(&ia);
	for (int i = 0; i < ENDS; i++)
		t_end_new(&ends[i], &ia, NULL);
	t_buf_new(&big, ia.ia, ia.pz, t_much(&ia), DAT_MEM_PRIV_ALL_FLAG);
}

static void established(const struct t_end *end)
{
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end->ep);
}

static void establish_both(DAT_CONN_QUAL qual)
{
	for (int i = 0; i < ENDS; i++) {
		t_ok(t_connect_data(ends[i].ep, &ia, qual, T_LIMIT_US, NULL, 0));
		established(&ends[i]);
	}
}

static void accept_both(const struct t_listener *listener)
{
	for (int i = 0; i < ENDS; i++) {
		t_ok(t_cr_accept(t_next_cr(listener), ends[i].ep));
		established(&ends[i]);
	}
}

static void clear(const struct t_end *end)
{
	t_drain(end->recv_evd);
	t_drain(end->request_evd);
	t_ok(dat_ep_reset(end->ep));
}

static void expect_broken(const struct t_end *end)
{
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_BROKEN, end->ep);
	clear(end);
}

/*
 * If the fabric had sent nothing, it opens new sockets and continues. Then the test disconnects.
 */
static void expect_end(const struct t_end *end)
{
	DAT_EVENT event = t_wait(end->connect_evd);

	ck_assert_msg(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
			      event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
		      "event %s came", t_event_name(event.event_number));
	clear(end);
}

static void leave(const struct t_end *end)
{
	t_ok(dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end->ep);
	clear(end);
}

/* --- the other end --- */

static void take_again(struct t_peer *self, const struct t_listener *listener)
{
	for (int i = 0; i < ENDS; i++)
		t_ok(t_recv(&ends[i], 0, SMALL, 1, DAT_COMPLETION_DEFAULT_FLAG));
	accept_both(listener);
	for (int i = 0; i < ENDS; i++)
		t_wait_dto(ends[i].recv_evd, ends[i].ep, 1, DAT_DTO_SUCCESS, SMALL);
	t_peer_tell(self, 1);
	t_peer_hear(self);
	t_ia_close(&ia);
}

static void serve(struct t_peer *self)
{
	struct t_listener listener;
	DAT_LMR_TRIPLET segment;
	uint64_t how;

	open_ends();
	segment = t_seg(&big, 0, big.size);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	for (uint64_t i = 0; i < REQUESTS; i++)
		t_ok(dat_ep_post_recv(ends[BUSY].ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
				      DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(&ends[IDLE], 0, SMALL, 0, DAT_COMPLETION_DEFAULT_FLAG));
	accept_both(&listener);
	t_peer_tell(self, big.rmr_context);
	t_peer_tell(self, (uintptr_t)big.mem);
	how = t_peer_hear(self);
	for (int i = 0; i < ENDS; i++)
		if (how == BREAKS)
			expect_broken(&ends[i]);
		else
			expect_end(&ends[i]);
	take_again(self, &listener);
}

/* The message comes or the connection breaks: no message is lost without an event. */
static uint64_t comes_or_breaks(const struct t_end *end)
{
	DAT_EVENT event = t_wait_for(end->recv_evd, DAT_DTO_COMPLETION_EVENT);

	if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
		return GOES_ON;
	expect_broken(end);
	return BREAKS;
}

static void serve_too_little(struct t_peer *self)
{
	struct t_listener listener;
	uint64_t how;

	open_ends();
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	for (int i = 0; i < ENDS; i++)
		t_ok(t_recv(&ends[i], 0, SMALL, 0, DAT_COMPLETION_DEFAULT_FLAG));
	accept_both(&listener);
	t_peer_tell(self, 1);
	t_wait_dto(ends[BUSY].recv_evd, ends[BUSY].ep, 0, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	expect_broken(&ends[BUSY]);
	how = comes_or_breaks(&ends[IDLE]);
	t_peer_tell(self, how);
	if (how == GOES_ON)
		expect_end(&ends[IDLE]);
	take_again(self, &listener);
}

/* --- this end --- */

static in_port_t port_of(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)(const void *)addr)->sin_port);
	return addr->ss_family == AF_INET6
		       ? ntohs(((const struct sockaddr_in6 *)(const void *)addr)->sin6_port)
		       : 0;
}

/* Shuts down all connected sockets except control channels. Returns their number. */
static int sever(DAT_CONN_QUAL qual)
{
	struct rlimit limit;
	int n = 0;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int fd = 0; fd < (int)limit.rlim_cur; fd++) {
		struct sockaddr_storage addr;
		socklen_t size = sizeof(addr);

		if (getpeername(fd, (struct sockaddr *)&addr, &size) || !port_of(&addr) ||
		    port_of(&addr) == qual)
			continue;
		n += !shutdown(fd, SHUT_RDWR);
	}
	return n;
}

static DAT_RETURN post(int kind, uint64_t cookie, DAT_RMR_TRIPLET remote)
{
	DAT_LMR_TRIPLET segment = t_seg(&big, 0, big.size);
	DAT_DTO_COOKIE number = {.as_64 = cookie};

	switch (kind) {
	case READS:
		return dat_ep_post_rdma_read(ends[BUSY].ep, 1, &segment, number, &remote,
					     DAT_COMPLETION_DEFAULT_FLAG);
	case WRITES:
		return dat_ep_post_rdma_write(ends[BUSY].ep, 1, &segment, number, &remote,
					      DAT_COMPLETION_DEFAULT_FLAG);
	default:
		return dat_ep_post_send(ends[BUSY].ep, 1, &segment, number,
					DAT_COMPLETION_DEFAULT_FLAG);
	}
}

/* Expects completions in order, with no success after a failure. False if all succeed. */
static bool some_fail(void)
{
	bool failed = false;

	for (uint64_t i = 0; i < REQUESTS; i++) {
		DAT_EVENT event = t_wait_for(ends[BUSY].request_evd, DAT_DTO_COMPLETION_EVENT);
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		ck_assert_uint_eq(dto->user_cookie.as_64, i);
		ck_assert(!failed || dto->status != DAT_DTO_SUCCESS);
		failed |= dto->status != DAT_DTO_SUCCESS;
	}
	t_no_event(ends[BUSY].request_evd);
	return failed;
}

static void use_again(DAT_CONN_QUAL qual)
{
	establish_both(qual);
	for (int i = 0; i < ENDS; i++)
		t_ok(t_send(&ends[i], 0, SMALL, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	t_peer_hear(&peer);
	t_peer_tell(&peer, 1);
	t_ia_close(&ia);
	t_peer_join(&peer);
}

/*
 * The idle connection has no request under way: the fabric has accepted its message, which waits in
 * a socket.
 */
START_TEST(sockets_break)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_TRIPLET remote;
	DAT_CONN_QUAL qual;
	bool fails;

	t_peer_start(&peer, serve);
	open_ends();
	qual = t_peer_hear(&peer);
	establish_both(qual);
	context = (DAT_RMR_CONTEXT)t_peer_hear(&peer);
	remote = t_remote(context, (uintptr_t)t_peer_hear(&peer), big.size);
	t_peer_freeze(&peer);
	t_ok(t_send(&ends[IDLE], 0, SMALL, 0, DAT_COMPLETION_SUPPRESS_FLAG));
	for (uint64_t i = 0; i < REQUESTS; i++)
		t_ok(post(_i, i, remote));
	if (!sever(qual)) {
		t_peer_kill(&peer);
		t_skip("the fabric has no sockets");
	}
	t_peer_thaw(&peer);
	fails = some_fail();
	t_peer_tell(&peer, fails ? BREAKS : GOES_ON);
	for (int i = 0; i < ENDS; i++)
		if (fails)
			expect_broken(&ends[i]);
		else
			leave(&ends[i]);
	use_again(qual);
}
END_TEST

/*
 * True if a truncated message ends the stream of the provider below test/fabric (libfabric before
 * 1.19). The card that test/fabric simulates has no streams.
 */
static bool core_may_lose(void)
{
	const char *core = getenv("FI_SHAM_CORE");

	return fault_fabric_is_sham() && core &&
	       (!strcmp(core, "net") || !strcmp(core, "tcp;ofi_rxm"));
}

/* On some fabrics a truncated message ends the stream that all connections share. */
START_TEST(requests_behind_a_truncated_message)
{
	DAT_CONN_QUAL qual;

	if (core_may_lose())
		t_skip("the core loses what the card would keep");
	t_peer_start(&peer, serve_too_little);
	open_ends();
	qual = t_peer_hear(&peer);
	establish_both(qual);
	t_peer_hear(&peer);
	t_peer_freeze(&peer);
	t_ok(t_send(&ends[BUSY], 0, 2 * SMALL, 0, DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(t_send(&ends[IDLE], 0, SMALL, 0, DAT_COMPLETION_SUPPRESS_FLAG));
	t_peer_thaw(&peer);
	expect_broken(&ends[BUSY]);
	if (t_peer_hear(&peer) == BREAKS)
		expect_broken(&ends[IDLE]);
	else
		leave(&ends[IDLE]);
	use_again(qual);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sever");
	TCase *tcase = tcase_create("sever");

	tcase_add_loop_test(tcase, sockets_break, 0, (int)fault_amount(1, KINDS));
	tcase_add_test(tcase, requests_behind_a_truncated_message);
	suite_add_tcase(suite, tcase);
	return t_run(suite);
}
