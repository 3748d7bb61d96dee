/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libfabric's cache of registrations: over verbs and cxi a key stays valid when its registration is
 * closed, with all rights, so that a peer which goes past DAT, or a late write, reaches memory
 * after dat_lmr_free. Over cxi it is even valid for all that the process has registered. efa's keys
 * end: its cache is for those who do not register by themselves.
 */
#ifndef DOFI_MR_CACHE_H
#define DOFI_MR_CACHE_H

#include <stdint.h>

struct dofi_params;
struct fi_info;
struct fid_domain;

/*
 * Turns the cache off by libfabric's own variable where the IA may run on verbs and nobody has set
 * that. libfabric reads it once, in its first call that looks for fabrics, so this comes before
 * ours. 0 or, after a message, a negative errno.
 */
int dofi_mr_cache_choose(const char *ia_name, const struct dofi_params *params);

/*
 * Turns the cache of a domain's keys off, where that is the domain's own affair
 * (DOFI_QUIRK_DOMAIN_KEYS). Before any registration.
 */
void dofi_mr_cache_disable(const struct dofi_params *params, const struct fi_info *info,
			   uint64_t quirks, struct fid_domain *domain);

/* The setting that turns the cache off, where nobody has said that it is meant to be on; or NULL.
 */
const char *dofi_mr_cache_remedy(const struct dofi_params *params, uint64_t quirks);

#endif
