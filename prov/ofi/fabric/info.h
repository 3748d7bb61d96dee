/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an fi_info says of itself. */
#ifndef DOFI_INFO_H
#define DOFI_INFO_H

#include <stdbool.h>

struct fi_info;
struct sockaddr_storage;

/* Its address, port 0. False when it has none, or none of IP. */
bool dofi_info_addr(const struct fi_info *info, struct sockaddr_storage *addr_p);

/* The names of its domain and its provider; "unnamed" without one. */
const char *dofi_info_domain(const struct fi_info *info);
const char *dofi_info_provider(const struct fi_info *info);

#endif
