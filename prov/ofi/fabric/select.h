/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Choice of the fabric: fi_getinfo with what we need, ranking, and for each candidate refused the
 * reason in words.
 */
#ifndef DOFI_SELECT_H
#define DOFI_SELECT_H

#include <stdint.h>

struct dofi_nic;
struct dofi_params;
struct fi_info;
struct sockaddr_storage;

/* Modes by which a fabric uses the memory behind a context; op_context.h has some for it. */
#define DOFI_CONTEXT_MODES (FI_CONTEXT | FI_CONTEXT2)

/*
 * The best fabric for these parameters: *info_p is a single info that the caller frees with
 * fi_freeinfo, whose type of endpoint names the transport, and nic_p says why it is this device of
 * several. 0 or a negative libfabric error after a message that names every candidate and why it
 * was refused.
 */
int dofi_select(const char *ia_name, const struct dofi_params *params, struct fi_info **info_p,
		struct dofi_nic *nic_p);

/*
 * The IA's own address, port 0: the fabric's where that is an IP address, else one of the host's.
 * 0 or a negative errno after a message.
 */
int dofi_select_addr(const char *ia_name, const struct dofi_params *params,
		     const struct fi_info *info, struct sockaddr_storage *addr_p);

/*
 * The newest interface of libfabric that it, its headers at build time and this code know; what
 * fi_getinfo is asked for.
 */
uint32_t dofi_api_version(void);

#endif
