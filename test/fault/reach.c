/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An IA over shared memory is reached by all addresses of its host, and not from another host. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"

#include "../lib/t_network.h"

static struct t_peer peer;
static struct t_ia ia;
static struct t_listener listener;
static struct t_end end[2];
static bool no_filters;

/* Replaces setsockopt() for the provider. */
__attribute__((visibility("default"))) int setsockopt(int fd, int level, int name,
						      const void *value, socklen_t size)
{
	if (no_filters && level == SOL_SOCKET && name == SO_ATTACH_FILTER) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}

static struct sockaddr_in address_of(const char *host, uint16_t port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};

	ck_assert_int_eq(inet_pton(AF_INET, host, &addr.sin_addr), 1);
	return addr;
}

/* --- another host --- */

/*
 * True if a TCP connection succeeds and stays. The kernel repeats a dropped request after one and
 * after two more seconds. The IA waits for the first message of the other side.
 */
static bool is_let_in(const char *host, uint16_t port)
{
	struct sockaddr_in to = address_of(host, port);
	struct timeval limit = {.tv_sec = 2};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte;
	bool in;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)), 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	in = !connect(fd, (struct sockaddr *)&to, sizeof(to)) && recv(fd, &byte, 1, 0) < 0 &&
	     errno == EAGAIN;
	close(fd);
	return in;
}

static void stranger(struct t_peer *self)
{
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	t_peer_tell(self, 1);
	t_peer_tell(self, is_let_in(T_NETWORK_OURS, (uint16_t)t_peer_hear(self)));
}

/* --- this host --- */

static void use_shm(const char *more)
{
	unsetenv("DAT_OFI_ADDR");
	setenv("T_IA", "reach", 1);
	t_conf("reach %s nonthreadsafe default %s dat-ofi.0.1 \"provider=shm%s\" \"\"\n", T_API,
	       T_PROVIDER_SONAME, more);
}

static DAT_RETURN connect_to(const char *host)
{
	struct sockaddr_in to = address_of(host, 0);

	return dat_ep_connect(end[0].ep, (DAT_IA_ADDRESS_PTR)&to, listener.qual, T_LIMIT_US, 0,
			      NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void open_all(void)
{
	t_ia_open(&ia);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&end[0], &ia, NULL);
	t_end_new(&end[1], &ia, NULL);
}

static void close_all(void)
{
	t_end_free(&end[0]);
	t_end_free(&end[1]);
	t_listener_free(&listener);
	t_ia_close_empty(&ia);
}

START_TEST(every_address_of_the_host_reaches_the_ia)
{
	static const char *const hosts[] = {"127.0.0.1", "127.8.9.10", T_NETWORK_OURS};

	if (!t_own_network())
		t_skip("no network of its own");
	if (!t_shell("ip link add cut0 type veth peer name cut1") ||
	    !t_shell("ip addr add " T_NETWORK_OURS "/24 dev cut0") ||
	    !t_shell("ip link set cut0 up"))
		t_skip("no network card");
	use_shm("");
	open_all();
	t_ok(connect_to(hosts[_i]));
	t_ok(t_cr_accept(t_next_cr(&listener), end[1].ep));
	t_wait_conn(end[0].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end[0].ep);
	t_wait_conn(end[1].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end[1].ep);
	close_all();
}
END_TEST

static void expect_address(const char *host)
{
	struct sockaddr_in wanted = address_of(host, 0), addr;

	memcpy(&addr, ia.attr.ia_address_ptr, sizeof(addr));
	ck_assert_int_eq(addr.sin_family, AF_INET);
	ck_assert_uint_eq(addr.sin_addr.s_addr, wanted.sin_addr.s_addr);
}

START_TEST(addr_limits_the_ia_to_one_address)
{
	if (!t_own_network())
		t_skip("no network of its own");
	use_shm(" addr=127.0.0.2");
	open_all();
	expect_address("127.0.0.2");
	ck_assert(is_let_in("127.0.0.2", (uint16_t)listener.qual));
	t_ok(connect_to("127.0.0.3"));
	t_wait_conn(end[0].connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, end[0].ep);
	close_all();
}
END_TEST

/* Another program uses the port at one address of the host. The IA still uses its own address. */
START_TEST(port_in_use_at_another_address)
{
	struct sockaddr_in other = address_of("127.0.0.9", 4711);
	DAT_PSP_HANDLE psp;
	int fd;

	if (!t_own_network())
		t_skip("no network of its own");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&other, sizeof(other)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	use_shm("");
	open_all();
	t_ok(dat_psp_create(ia.ia, 4711, listener.evd, DAT_PSP_CONSUMER_FLAG, &psp));
	t_error(dat_psp_create(ia.ia, 4711, listener.evd, DAT_PSP_CONSUMER_FLAG, &psp),
		DAT_CONN_QUAL_IN_USE);
	t_ok(dat_psp_free(psp));
	close_all();
	close(fd);
}
END_TEST

/* Some kernels take no socket filters of users. */
START_TEST(other_hosts_are_refused)
{
	if (!t_own_network())
		t_skip("no network of its own");
	t_peer_start(&peer, stranger);
	t_peer_hear(&peer);
	if (!t_network_join(peer.pid)) {
		t_peer_kill(&peer);
		t_skip("no second network");
	}
	use_shm("");
	no_filters = _i;
	open_all();
	ck_assert(is_let_in(T_NETWORK_OURS, (uint16_t)listener.qual));
	t_peer_tell(&peer, listener.qual);
	ck_assert_uint_eq(t_peer_hear(&peer), false);
	t_peer_join(&peer);
	close_all();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reach");
	TCase *tcase = tcase_create("reach");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, every_address_of_the_host_reaches_the_ia, 0, 3);
	tcase_add_test(tcase, addr_limits_the_ia_to_one_address);
	tcase_add_test(tcase, port_in_use_at_another_address);
	tcase_add_loop_test(tcase, other_hosts_are_refused, 0, 2);
	return t_run(suite);
}
