/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf/perf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Both words in network order. */
struct header {
	uint32_t msg;
	uint32_t len;
};

/* Limits the length that an unknown peer can make us read. */
#define MAX_TEXT 1024

int64_t perf_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* getaddrinfo() takes an empty text for port 0, and the lower 16 bits of a larger number. */
int perf_sync_check_port(const char *port)
{
	char *end;
	unsigned long number = strtoul(port, &end, 10);

	if (isdigit((unsigned char)*port) && !*end) {
		if (number >= 1 && number <= UINT16_MAX)
			return 0;
	} else if (*port && getservbyname(port, "tcp")) {
		return 0;
	}
	return util_fail("--port '%s': neither a number from 1 to %d nor the name of a TCP service",
			 port, UINT16_MAX);
}

static int resolve(const char *host, const char *port, int flags, struct addrinfo **list_p)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
	int ret = getaddrinfo(host, port, &hints, list_p);

	if (ret)
		return util_fail("cannot resolve %s, port %s: %s", host ? host : "any address",
				 port, gai_strerror(ret));
	return 0;
}

static int listen_on(const struct addrinfo *ai)
{
	int one = 1, zero = 0, saved;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, 4))
		return fd;

	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

int perf_sync_listen(const char *host, const char *port)
{
	struct addrinfo *list, *ai;
	int fd = -1;

	if (resolve(host, port, AI_PASSIVE, &list))
		return -1;
	/* The IPv6 wildcard first: it takes IPv4 peers as well. */
	for (ai = list; ai && fd < 0; ai = ai->ai_next) {
		if (ai->ai_family == AF_INET6)
			fd = listen_on(ai);
	}
	for (ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = listen_on(ai);
	freeaddrinfo(list);
	if (fd < 0)
		return util_fail("cannot listen on %s, port %s: %s; --port chooses another one",
				 host ? host : "any address", port, strerror(errno));
	return fd;
}

static void no_delay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int perf_sync_accept(int listener)
{
	int fd;

	do {
		fd = accept(listener, NULL, NULL);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		return util_fail("cannot accept a client: %s", strerror(errno));
	no_delay(fd);
	return fd;
}

static int connect_any(const struct addrinfo *list)
{
	const struct addrinfo *ai;
	int fd, saved = 0;

	for (ai = list; ai; ai = ai->ai_next) {
		fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && !connect(fd, ai->ai_addr, ai->ai_addrlen))
			return fd;
		saved = errno;
		if (fd >= 0)
			close(fd);
	}
	errno = saved;
	return -1;
}

int perf_sync_connect(const char *host, const char *port, double patience)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	int64_t end = perf_now_ns() + (int64_t)(patience * 1e9);
	struct addrinfo *list;
	int fd, saved;

	if (resolve(host, port, 0, &list))
		return -1;
	while ((fd = connect_any(list)) < 0 && errno == ECONNREFUSED && perf_now_ns() < end)
		nanosleep(&pause, NULL);
	saved = errno;
	freeaddrinfo(list);
	if (fd < 0)
		return util_fail("cannot reach dat_perf --server on %s, port %s: %s", host, port,
				 strerror(saved));
	no_delay(fd);
	return fd;
}

static int write_all(int fd, const void *data, size_t len)
{
	const char *from = data;

	while (len) {
		ssize_t done = send(fd, from, len, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EPIPE)
			return util_fail("the other side has ended");
		if (done < 0)
			return util_fail("cannot write to the other side: %s", strerror(errno));
		from += done;
		len -= (size_t)done;
	}
	return 0;
}

static int read_all(int fd, void *data, size_t len)
{
	char *to = data;

	while (len) {
		ssize_t done = recv(fd, to, len, 0);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return util_fail("cannot read from the other side: %s", strerror(errno));
		if (!done)
			return util_fail("the other side has ended");
		to += done;
		len -= (size_t)done;
	}
	return 0;
}

int perf_sync_send(int fd, enum perf_msg msg, const void *data, size_t len)
{
	struct header head = {htonl(msg), htonl((uint32_t)len)};

	if (write_all(fd, &head, sizeof(head)))
		return -1;
	return write_all(fd, data, len);
}

static int fail_as_peer(int fd, size_t len)
{
	char text[MAX_TEXT + 1] = "";

	if (len > MAX_TEXT || read_all(fd, text, len))
		return util_fail("the other side failed and could not say why");
	return util_fail("the other side reports: %s", text);
}

int perf_sync_recv(int fd, enum perf_msg msg, void *data, size_t len)
{
	struct header head;

	if (read_all(fd, &head, sizeof(head)))
		return -1;
	if (ntohl(head.msg) == PERF_MSG_ERROR)
		return fail_as_peer(fd, ntohl(head.len));
	if (ntohl(head.msg) != msg || ntohl(head.len) != len)
		return util_fail("the other side is no dat_perf of this version");
	return read_all(fd, data, len);
}

/*
 * Returns the bytes of the next header that have arrived, 0 if the peer has closed, -1 if there is
 * none.
 */
static ssize_t look(int fd, int ms, struct header *head)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	if (poll(&ready, 1, ms) <= 0)
		return -1;
	return recv(fd, head, sizeof(*head), MSG_PEEK | MSG_DONTWAIT);
}

int perf_sync_peek(int fd, int ms)
{
	struct header head;
	ssize_t have;

	errno = 0;
	have = look(fd, ms, &head);
	if (!have)
		return util_fail("the other side has ended");
	if (have < 0 && errno && errno != EAGAIN && errno != EINTR)
		return util_fail("the connection to the other side is lost: %s", strerror(errno));
	if (have < (ssize_t)sizeof(head))
		return 0;
	if (ntohl(head.msg) == PERF_MSG_ERROR)
		return perf_sync_recv(fd, PERF_MSG_ERROR, NULL, 0);
	return (int)ntohl(head.msg);
}

bool perf_sync_complains(int fd, int ms)
{
	struct header head;

	if (look(fd, ms, &head) < (ssize_t)sizeof(head) || ntohl(head.msg) != PERF_MSG_ERROR)
		return false;
	perf_sync_recv(fd, PERF_MSG_ERROR, NULL, 0);
	return true;
}

int perf_sync_source(int fd, char *text, size_t size)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len))
		return util_fail("cannot find the own address: %s", strerror(errno));
	if (addr.ss_family == AF_UNIX)
		snprintf(text, size, "127.0.0.1");
	else if (getnameinfo((struct sockaddr *)&addr, len, text, (socklen_t)size, NULL, 0,
			     NI_NUMERICHOST))
		return util_fail("cannot write the own address as text");
	/* An IPv4 peer on the IPv6 wildcard: fabrics want the IPv4 form. */
	if (!strncmp(text, "::ffff:", 7))
		memmove(text, text + 7, strlen(text + 7) + 1);
	return 0;
}
