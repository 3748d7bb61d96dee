/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libfabric's cache of registrations. Over verbs and cxi it keeps a key valid, with all rights,
 * after its registration was closed. So a peer that bypasses DAT, or a late write, reaches memory
 * after dat_lmr_free. Over cxi such a key is valid for all memory that the process has registered.
 * Over efa keys end with their registration: its cache serves programs that do not register memory
 * themselves.
 */
#ifndef DOFI_MR_CACHE_H
#define DOFI_MR_CACHE_H

#include <stdint.h>

struct dofi_params;
struct fi_info;
struct fid_domain;

/*
 * Turns the cache off by libfabric's variable FI_MR_CACHE_MONITOR if the IA may run on verbs and
 * the user has not set the variable. libfabric reads it once, in the first call that looks for
 * fabrics, so this function comes before that call. 0 or, after a message, a negative errno.
 */
int dofi_mr_cache_choose(const char *ia_name, const struct dofi_params *params);

/*
 * Turns the cache of a domain's keys off, where each domain has its own (DOFI_QUIRK_DOMAIN_KEYS).
 * Called before any registration.
 */
void dofi_mr_cache_disable(const struct dofi_params *params, const struct fi_info *info,
			   uint64_t quirks, struct fid_domain *domain);

/* The setting that turns the cache off, or NULL if the user wants the cache. */
const char *dofi_mr_cache_remedy(const struct dofi_params *params, uint64_t quirks);

#endif
