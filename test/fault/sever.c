/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fabric's sockets break while the processes and what they say to each other beside the fabric are well. What was under way
 * comes back, and if it did not all succeed the connection breaks at both ends; the next one between them works.
 */
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "fault.h"

#define REQUESTS 4u

enum { READS, WRITES, SENDS, KINDS };

static struct t_peer peer;
static struct t_ia ia;
static struct t_end end;
static struct t_buf big;

static void establish(DAT_CONN_QUAL qual)
{
	t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
}

/* Some fabrics had not begun, and go on with sockets that they open anew. */
static void expect_end(void)
{
	DAT_EVENT event = t_wait(end.connect_evd);

	ck_assert_msg(event.event_number == DAT_CONNECTION_EVENT_BROKEN || event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
		      "event %s came", t_event_name(event.event_number));
	t_drain(end.recv_evd);
	t_ok(dat_ep_reset(end.ep));
}

/* --- the other end --- */

static void serve(struct t_peer *self)
{
	struct t_listener listener;
	DAT_LMR_TRIPLET segment;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_buf_new(&big, ia.ia, ia.pz, t_much(&ia), DAT_MEM_PRIV_ALL_FLAG);
	segment = t_seg(&big, 0, big.size);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	for (uint64_t i = 0; i < REQUESTS; i++)
		t_ok(dat_ep_post_recv(end.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i}, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_tell(self, big.rmr_context);
	t_peer_tell(self, (uintptr_t)big.mem);
	expect_end();
	t_ok(t_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_wait_dto(end.recv_evd, end.ep, 1, DAT_DTO_SUCCESS, 64);
	t_peer_tell(self, 1);
	t_peer_hear(self);
	t_ia_close(&ia);
}

/* --- this one --- */

static in_port_t port_of(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)(const void *)addr)->sin_port);
	return addr->ss_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)(const void *)addr)->sin6_port) : 0;
}

/* All that are connected, but to the port that the peer's listener has; how many. */
static int sever(DAT_CONN_QUAL qual)
{
	struct rlimit limit;
	int n = 0;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int fd = 0; fd < (int)limit.rlim_cur; fd++) {
		struct sockaddr_storage addr;
		socklen_t size = sizeof(addr);

		if (getpeername(fd, (struct sockaddr *)&addr, &size) || !port_of(&addr) || port_of(&addr) == qual)
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
		return dat_ep_post_rdma_read(end.ep, 1, &segment, number, &remote, DAT_COMPLETION_DEFAULT_FLAG);
	case WRITES:
		return dat_ep_post_rdma_write(end.ep, 1, &segment, number, &remote, DAT_COMPLETION_DEFAULT_FLAG);
	default:
		return dat_ep_post_send(end.ep, 1, &segment, number, DAT_COMPLETION_DEFAULT_FLAG);
	}
}

/* In order, and none succeeds behind one that did not. False when all did. */
static bool some_fail(void)
{
	bool failed = false;

	for (uint64_t i = 0; i < REQUESTS; i++) {
		DAT_EVENT event = t_wait_for(end.request_evd, DAT_DTO_COMPLETION_EVENT);
		const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

		ck_assert_uint_eq(dto->user_cookie.as_64, i);
		ck_assert(!failed || dto->status != DAT_DTO_SUCCESS);
		failed |= dto->status != DAT_DTO_SUCCESS;
	}
	t_no_event(end.request_evd);
	return failed;
}

START_TEST(sockets_break)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_TRIPLET remote;
	DAT_CONN_QUAL qual;

	t_peer_start(&peer, serve);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_buf_new(&big, ia.ia, ia.pz, t_much(&ia), DAT_MEM_PRIV_ALL_FLAG);
	qual = t_peer_hear(&peer);
	establish(qual);
	context = (DAT_RMR_CONTEXT)t_peer_hear(&peer);
	remote = t_remote(context, (uintptr_t)t_peer_hear(&peer), big.size);
	t_peer_freeze(&peer);
	for (uint64_t i = 0; i < REQUESTS; i++)
		t_ok(post(_i, i, remote));
	if (!sever(qual)) {
		t_peer_kill(&peer);
		fault_skip("the fabric has no sockets");
	}
	t_peer_thaw(&peer);
	if (some_fail()) {
		t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_BROKEN, end.ep);
	} else {
		t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG));
		t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	}
	t_ok(dat_ep_reset(end.ep));
	establish(qual);
	t_ok(t_send(&end, 0, 64, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	t_peer_hear(&peer);
	t_peer_tell(&peer, 1);
	t_ia_close(&ia);
	t_peer_join(&peer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sever");
	TCase *tcase = tcase_create("sever");

	tcase_add_loop_test(tcase, sockets_break, 0, (int)fault_amount(1, KINDS));
	suite_add_tcase(suite, tcase);
	return t_run(suite);
}
