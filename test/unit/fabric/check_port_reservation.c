/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reserved ports: no other connection gets them, and sockets with SO_REUSEADDR can use them. */
#include "t.h"
#include "unit.h"

#include "../../../prov/ofi/fabric/port_reservation.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static struct sockaddr_in loopback(void)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int bound(const struct sockaddr_in *addr, int shared)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof(shared)), 0);
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr))) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* A TCP connection from a port that the kernel chooses. */
static int connection(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)to, sizeof(*to)), 0);
	return fd;
}

static int listener(struct sockaddr_in *addr)
{
	int fd = bound(addr, 0);
	socklen_t len = sizeof(*addr);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)addr, &len), 0);
	return fd;
}

/* Uses the port to listen and to connect, as a device does. */
START_TEST(sockets_that_share_addresses_can_use_the_port)
{
	struct sockaddr_in addr = loopback(), to = loopback();
	int server = listener(&to), held = dofi_port_hold((struct sockaddr *)&addr, sizeof(addr)),
	    fd;

	ck_assert_int_ge(held, 0);
	ck_assert_int_ne(addr.sin_port, 0);
	ck_assert_int_eq(bound(&addr, 0), -EADDRINUSE);
	fd = bound(&addr, 1);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	close(fd);
	fd = bound(&addr, 1);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	close(fd);
	close(server);
	dofi_port_release(&held);
	ck_assert_int_eq(held, -1);
	dofi_port_release(&held);
}
END_TEST

/* Three of four ports are in use. */
START_TEST(a_reserved_port_is_free)
{
	FILE *range = t_own_network() ? fopen("/proc/sys/net/ipv4/ip_local_port_range", "w") : NULL;
	struct sockaddr_in to = loopback(), addr = loopback(), none = loopback();
	int server, taken[3], held, more;

	if (!range)
		t_skip("the range of ports belongs to a network of the test's own");
	fprintf(range, "50000 50003\n");
	ck_assert_int_eq(fclose(range), 0);
	to.sin_port = htons(40000);
	server = listener(&to);
	for (int i = 0; i < 3; i++)
		taken[i] = connection(&to);
	held = dofi_port_hold((struct sockaddr *)&addr, sizeof(addr));
	ck_assert_int_ge(held, 0);
	more = bound(&addr, 1);
	ck_assert_int_ge(more, 0);
	close(more);
	ck_assert_int_lt(dofi_port_hold((struct sockaddr *)&none, sizeof(none)), 0);
	ck_assert_int_eq(none.sin_port, 0);
	dofi_port_release(&held);
	for (int i = 0; i < 3; i++)
		close(taken[i]);
	close(server);
}
END_TEST

START_TEST(ipv6_and_other_address_families)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr other = {.sa_family = AF_UNIX};
	struct sockaddr_in v4 = loopback();
	int held = dofi_port_hold((struct sockaddr *)&v6, sizeof(v6));

	if (held >= 0)
		ck_assert_int_ne(v6.sin6_port, 0);
	dofi_port_release(&held);
	ck_assert_int_lt(dofi_port_hold(NULL, 0), 0);
	ck_assert_int_lt(dofi_port_hold(&other, sizeof(other)), 0);
	ck_assert_int_lt(dofi_port_hold((struct sockaddr *)&v4, sizeof(v4) - 1), 0);
}
END_TEST

START_TEST(without_descriptors_no_port_is_held)
{
	struct sockaddr_in addr = loopback();
	struct rlimit files;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_int_eq(dofi_port_hold((struct sockaddr *)&addr, sizeof(addr)), -1);
	ck_assert_int_eq(addr.sin_port, 0);
	files.rlim_cur = files.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
}
END_TEST

/* Then the socket is 0, which is one like others. */
START_TEST(a_program_without_standard_input_holds_a_port)
{
	struct sockaddr_in addr = loopback();
	int fd;

	close(STDIN_FILENO);
	fd = dofi_port_hold((struct sockaddr *)&addr, sizeof(addr));
	ck_assert_int_eq(fd, STDIN_FILENO);
	ck_assert_uint_ne(addr.sin_port, 0);
	dofi_port_release(&fd);
	ck_assert_int_eq(fd, -1);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
	dofi_port_release(&fd);
	ck_assert_int_eq(fd, -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("port_reservation");
	TCase *tc = tcase_create("port_reservation");

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, a_program_without_standard_input_holds_a_port);
	tcase_add_test(tc, sockets_that_share_addresses_can_use_the_port);
	tcase_add_test(tc, a_reserved_port_is_free);
	tcase_add_test(tc, ipv6_and_other_address_families);
	tcase_add_test(tc, without_descriptors_no_port_is_held);
	return t_run(suite);
}
