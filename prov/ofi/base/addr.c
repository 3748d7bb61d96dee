/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

bool dofi_addr_set(struct sockaddr_storage *to_p, const struct sockaddr *from, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (from->sa_family == AF_INET) {
		memcpy(&in.sin_addr, (const char *)from + offsetof(struct sockaddr_in, sin_addr),
		       sizeof(in.sin_addr));
		memset(to_p, 0, sizeof(*to_p));
		memcpy(to_p, &in, sizeof(in));
		return true;
	}
	if (from->sa_family == AF_INET6) {
		const char *addr = (const char *)from + offsetof(struct sockaddr_in6, sin6_addr);
		const char *scope =
			(const char *)from + offsetof(struct sockaddr_in6, sin6_scope_id);

		memcpy(&in6.sin6_addr, addr, sizeof(in6.sin6_addr));
		memcpy(&in6.sin6_scope_id, scope, sizeof(in6.sin6_scope_id));
		memset(to_p, 0, sizeof(*to_p));
		memcpy(to_p, &in6, sizeof(in6));
		return true;
	}
	return false;
}

bool dofi_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return a->ss_family == b->ss_family && !memcmp(a, b, dofi_addr_len(a));
}

socklen_t dofi_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in);
}

uint16_t dofi_addr_port(const struct sockaddr_storage *addr)
{
	/* Both families have the port at the same offset. */
	_Static_assert(offsetof(struct sockaddr_in, sin_port) ==
			       offsetof(struct sockaddr_in6, sin6_port),
		       "port");
	uint16_t port;

	memcpy(&port, (const char *)addr + offsetof(struct sockaddr_in, sin_port), sizeof(port));
	return ntohs(port);
}

const char *dofi_addr_text(const struct sockaddr_storage *addr, char text[DOFI_ADDR_TEXT])
{
	bool v6 = addr->ss_family == AF_INET6;
	const char *ip = (const char *)addr + (v6 ? offsetof(struct sockaddr_in6, sin6_addr)
						  : offsetof(struct sockaddr_in, sin_addr));
	char host[INET6_ADDRSTRLEN] = "an unknown address";
	uint16_t port = dofi_addr_port(addr);

	inet_ntop(addr->ss_family, ip, host, sizeof(host));
	if (!port)
		snprintf(text, DOFI_ADDR_TEXT, "%s", host);
	else
		snprintf(text, DOFI_ADDR_TEXT, v6 ? "[%s]:%u" : "%s:%u", host, port);
	return text;
}

size_t dofi_addr_bytes(const struct sockaddr_storage *addr, struct in6_addr *bytes_p)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	memset(bytes_p, 0, sizeof(*bytes_p));
	if (addr->ss_family == AF_INET) {
		memcpy(&v4, addr, sizeof(v4));
		memcpy(bytes_p, &v4.sin_addr, sizeof(v4.sin_addr));
		return sizeof(v4.sin_addr);
	}
	memcpy(&v6, addr, sizeof(v6));
	*bytes_p = v6.sin6_addr;
	return sizeof(v6.sin6_addr);
}

bool dofi_addr_is_loopback(const struct sockaddr_storage *addr)
{
	struct in6_addr ip;

	if (dofi_addr_bytes(addr, &ip) == sizeof(struct in_addr))
		return ip.s6_addr[0] == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&ip);
}

bool dofi_addr_is_link_local(const struct sockaddr_storage *addr)
{
	struct in6_addr ip;

	return dofi_addr_bytes(addr, &ip) == sizeof(ip) && IN6_IS_ADDR_LINKLOCAL(&ip);
}

bool dofi_addr_is_any(const struct sockaddr_storage *addr)
{
	struct in6_addr ip;

	dofi_addr_bytes(addr, &ip);
	return IN6_IS_ADDR_UNSPECIFIED(&ip);
}

bool dofi_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	struct in6_addr ip_a, ip_b;

	dofi_addr_bytes(a, &ip_a);
	dofi_addr_bytes(b, &ip_b);
	return a->ss_family == b->ss_family && IN6_ARE_ADDR_EQUAL(&ip_a, &ip_b);
}

bool dofi_addr_parse(const char *text, struct sockaddr_storage *addr_p)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	memset(addr_p, 0, sizeof(*addr_p));
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(addr_p, &v4, sizeof(v4));
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		memcpy(addr_p, &v6, sizeof(v6));
	else
		return false;
	return true;
}
