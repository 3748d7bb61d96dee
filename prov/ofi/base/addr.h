/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Internet addresses. Consumers pass buffers of just the family's size: no more is read. */
#ifndef DOFI_ADDR_H
#define DOFI_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Copies an IPv4 or IPv6 address and gives it this port; false for any other family. */
bool dofi_addr_set(struct sockaddr_storage *to_p, const struct sockaddr *from, uint16_t port);

/* Both were made by dofi_addr_set. */
bool dofi_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

socklen_t dofi_addr_len(const struct sockaddr_storage *addr);
uint16_t dofi_addr_port(const struct sockaddr_storage *addr);

/* "10.0.0.1:1040", "[fd00::1]:1040"; without a port when it is 0. */
#define DOFI_ADDR_TEXT 64
const char *dofi_addr_text(const struct sockaddr_storage *addr, char text[DOFI_ADDR_TEXT]);

/* A host address as a number; the port is 0. */
bool dofi_addr_parse(const char *text, struct sockaddr_storage *addr_p);
/* The bytes of the host address, others are 0; their number. */
size_t dofi_addr_bytes(const struct sockaddr_storage *addr, struct in6_addr *bytes_p);
/* Whether the two name one host address; scopes are not looked at. */
bool dofi_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
bool dofi_addr_is_loopback(const struct sockaddr_storage *addr);
bool dofi_addr_is_link_local(const struct sockaddr_storage *addr);
bool dofi_addr_is_any(const struct sockaddr_storage *addr);

#endif
