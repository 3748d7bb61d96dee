/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Choice of the fabric: calls fi_getinfo with our requirements, ranks the candidates, and records a
 * reason for each one that it refuses.
 */
#ifndef DOFI_SELECT_H
#define DOFI_SELECT_H

#include <stdint.h>

struct dofi_nic;
struct dofi_params;
struct fi_info;
struct sockaddr_storage;

/* Modes in which a fabric uses memory at the context of an operation; op_context.h provides it. */
#define DOFI_CONTEXT_MODES (FI_CONTEXT | FI_CONTEXT2)

/*
 * Finds the best fabric for these parameters. *info_p is a single info, which the caller frees with
 * fi_freeinfo; its endpoint type selects the transport. *nic_p tells why this device was chosen
 * among several. 0, or a negative libfabric error after a message that names every candidate and
 * the reason of its refusal.
 */
int dofi_select(const char *ia_name, const struct dofi_params *params, struct fi_info **info_p,
		struct dofi_nic *nic_p);

/*
 * The IA's own address, with port 0: that of the fabric if it is an IP address, else one of the
 * host. 0, or a negative errno after a message.
 */
int dofi_select_addr(const char *ia_name, const struct dofi_params *params,
		     const struct fi_info *info, struct sockaddr_storage *addr_p);

/*
 * The version of the interface that we request of fi_getinfo: the newest one that the running
 * libfabric, its headers at build time and this code know.
 */
uint32_t dofi_api_version(void);

#endif
