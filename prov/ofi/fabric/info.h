/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fields of an fi_info. */
#ifndef DOFI_INFO_H
#define DOFI_INFO_H

#include <stdbool.h>

struct fi_info;
struct sockaddr_storage;

/* The source address, with port 0. False if there is none, or it is not an IP address. */
bool dofi_info_addr(const struct fi_info *info, struct sockaddr_storage *addr_p);

/* The names of the domain and of the provider, or "unnamed". */
const char *dofi_info_domain(const struct fi_info *info);
const char *dofi_info_provider(const struct fi_info *info);

#endif
