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
#define MAX_TEXT        1024

/*
 * When a host is down or its network is, the other side ends after this time. A process that is
 * only stopped keeps the connection, because its kernel answers.
 */
#define LOST_MS         30000
#define KEEP_IDLE_S     10
#define KEEP_INTERVAL_S 5

/* Clients that wait while one is served; more would have to connect again and again. */
#define BACKLOG         64

/* How long a client may be silent, while others wait, before it says what to measure. */
#define HELLO_MS        10000
/* How long a server may be silent before the client says that it waits. */
#define BUSY_MS         3000

/* "HOST, port PORT" of the client's server. */
static char server[256];
/* Whether the server has sent nothing yet. A signal handler reads this. */
static volatile bool server_silent;

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
	if (!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, BACKLOG))
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

/* Without these options the measurement works, too, so nothing fails. */
static void set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, LOST_MS},
		{SOL_SOCKET, SO_KEEPALIVE, 1},
	};

	for (size_t i = 0; i < UTIL_ARRAY_LEN(options); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			   sizeof(options[i].value));
}

int perf_sync_accept(int listener)
{
	int fd;

	do {
		fd = accept(listener, NULL, NULL);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		return util_fail("cannot accept a client: %s", strerror(errno));
	set_options(fd);
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

	snprintf(server, sizeof(server), "%s, port %s", host, port);
	server_silent = true;
	if (resolve(host, port, 0, &list))
		return -1;
	while ((fd = connect_any(list)) < 0 && errno == ECONNREFUSED && perf_now_ns() < end)
		nanosleep(&pause, NULL);
	saved = errno;
	freeaddrinfo(list);
	if (fd < 0)
		return util_fail("cannot reach dat_perf --server on %s: %s", server,
				 strerror(saved));
	set_options(fd);
	return fd;
}

bool perf_sync_is_silent(void)
{
	return server_silent;
}

/* Waits for the first bytes of the server, which serves one client after the other. */
static void await_server(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int ms = BUSY_MS, ret;

	while ((ret = poll(&ready, 1, ms)) <= 0) {
		if (ret < 0 && errno != EINTR)
			break;
		if (ret < 0)
			continue;
		fprintf(stderr,
			"dat_perf: waiting for dat_perf --server on %s, which may be busy with "
			"another client\n",
			server);
		ms = -1;
	}
	server_silent = false;
}

/* The two sides of --loopback have a pair of sockets, without addresses. */
static bool is_child(int fd)
{
	struct sockaddr_storage addr = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(addr);

	getsockname(fd, (struct sockaddr *)&addr, &len);
	return addr.ss_family == AF_UNIX;
}

enum side { OWN, PEER };

static int address_text(int fd, enum side side, char *text, size_t size)
{
	struct sockaddr_storage addr;
	struct sockaddr *to = (struct sockaddr *)&addr;
	socklen_t len = sizeof(addr);

	if (side == OWN ? getsockname(fd, to, &len) : getpeername(fd, to, &len))
		return util_fail("cannot find the %s address of the connection: %s",
				 side == OWN ? "own" : "other", strerror(errno));
	if (addr.ss_family == AF_UNIX)
		snprintf(text, size, "127.0.0.1");
	else if (getnameinfo(to, len, text, (socklen_t)size, NULL, 0, NI_NUMERICHOST))
		return util_fail("cannot write the %s address of the connection as text",
				 side == OWN ? "own" : "other");
	/* An IPv4 peer on the IPv6 wildcard: fabrics want the IPv4 form. */
	if (!strncmp(text, "::ffff:", 7))
		memmove(text, text + 7, strlen(text + 7) + 1);
	return 0;
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

/* Waits for bytes of a client until that time. */
static int await_client(int fd, int64_t until)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	char text[64] = "";
	int64_t left;

	do {
		left = (until - perf_now_ns()) / 1000000;
		if (poll(&ready, 1, left > 0 ? (int)left : 0) > 0)
			return 0;
	} while (left > 0);
	address_text(fd, PEER, text, sizeof(text));
	return util_fail("the client at %s has not said within %d seconds what to measure; "
			 "it is dropped, because others may wait",
			 text, HELLO_MS / 1000);
}

/* until: limit of a client's time, 0 for none */
static int read_until(int fd, void *data, size_t len, int64_t until)
{
	char *to = data;

	while (len) {
		ssize_t done;

		if (until && await_client(fd, until))
			return -1;
		done = recv(fd, to, len, 0);
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

static int fail_as_peer(int fd, size_t len, int64_t until)
{
	char text[MAX_TEXT + 1] = "";

	if (len > MAX_TEXT || read_until(fd, text, len, until))
		return util_fail("the other side failed and could not say why");
	return util_fail("the other side reports: %s", text);
}

static int recv_until(int fd, enum perf_msg msg, void *data, size_t len, int64_t until)
{
	struct header head;

	if (read_until(fd, &head, sizeof(head), until))
		return -1;
	if (ntohl(head.msg) == PERF_MSG_ERROR)
		return fail_as_peer(fd, ntohl(head.len), until);
	if (ntohl(head.msg) != msg || ntohl(head.len) != len)
		return util_fail("the other side is no dat_perf of this version");
	return read_until(fd, data, len, until);
}

int perf_sync_recv(int fd, enum perf_msg msg, void *data, size_t len)
{
	if (server_silent)
		await_server(fd);
	return recv_until(fd, msg, data, len, 0);
}

int perf_sync_recv_hello(int fd, void *data, size_t len)
{
	int64_t until = perf_now_ns() + HELLO_MS * INT64_C(1000000);

	return recv_until(fd, PERF_MSG_HELLO, data, len, is_child(fd) ? 0 : until);
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
	return address_text(fd, OWN, text, size);
}
