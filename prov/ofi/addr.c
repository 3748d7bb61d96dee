/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "addr.h"

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
	/* The port lies at the same place in both families. */
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
