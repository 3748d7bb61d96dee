/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Internet addresses. Consumers pass buffers of exactly the size of the family, so nothing beyond
 * that is read.
 */
#ifndef DOFI_ADDR_H
#define DOFI_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Copies an IPv4 or IPv6 address and sets its port. False for any other family. */
bool dofi_addr_set(struct sockaddr_storage *to_p, const struct sockaddr *from, uint16_t port);

/* Both were made by dofi_addr_set. */
bool dofi_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

socklen_t dofi_addr_len(const struct sockaddr_storage *addr);
uint16_t dofi_addr_port(const struct sockaddr_storage *addr);

/* Formats an address as "10.0.0.1:1040" or "[fd00::1]:1040"; without a port if the port is 0. */
#define DOFI_ADDR_TEXT 64
const char *dofi_addr_text(const struct sockaddr_storage *addr, char text[DOFI_ADDR_TEXT]);

/* Parses a numeric host address; the port is 0. */
bool dofi_addr_parse(const char *text, struct sockaddr_storage *addr_p);
/* Stores the bytes of the host address, followed by zeros. Returns their number. */
size_t dofi_addr_bytes(const struct sockaddr_storage *addr, struct in6_addr *bytes_p);
/* Whether both are the same host address. Scope ids are ignored. */
bool dofi_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
bool dofi_addr_is_loopback(const struct sockaddr_storage *addr);
bool dofi_addr_is_link_local(const struct sockaddr_storage *addr);
bool dofi_addr_is_any(const struct sockaddr_storage *addr);

#endif
