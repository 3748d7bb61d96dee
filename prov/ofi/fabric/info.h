/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What libfabric offers, and fields of an fi_info. */
#ifndef DOFI_INFO_H
#define DOFI_INFO_H

#include <stdbool.h>
#include <stdint.h>

struct fi_info;
struct sockaddr_storage;

/*
 * Enclose calls that libfabric may not take from several threads at the same time
 * (DOFI_QUIRK_SETUP_RACES). The thread must not wait for another one in between.
 */
void dofi_setup_begin(void);
void dofi_setup_end(void);

/* As dofi_setup_begin, but tries for that much processor time of this thread. */
bool dofi_setup_begin_for(uint64_t ns);

/*
 * fi_getinfo, for one thread of the process at a time. *list_p: NULL or owned by the caller, who
 * calls fi_freeinfo.
 */
int dofi_getinfo(uint32_t version, const char *node, uint64_t flags, const struct fi_info *hints,
		 struct fi_info **list_p);

/* The source address, with port 0. False if there is none, or it is not an IP address. */
bool dofi_info_addr(const struct fi_info *info, struct sockaddr_storage *addr_p);

/* The names of the domain and of the provider, or "unnamed". */
const char *dofi_info_domain(const struct fi_info *info);
const char *dofi_info_provider(const struct fi_info *info);

#endif
