/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libfabric's cache of registrations: over verbs and cxi a key stays valid when its registration is
 * closed, with all rights, so that a peer which goes past DAT, or a late write, reaches memory
 * after dat_lmr_free. Over cxi it is even valid for all that the process has registered. efa's keys
 * end: its cache is for those who do not register by themselves.
 */
#ifndef DOFI_MR_CACHE_H
#define DOFI_MR_CACHE_H

struct dofi_ia;
struct dofi_params;

/*
 * Turns the cache off by libfabric's own variable where the IA may run on verbs and nobody has set
 * that. libfabric reads it once, in its first call that looks for fabrics, so this comes before
 * ours. 0 or, after a message, a negative errno.
 */
int dofi_mr_cache_choose(const char *ia_name, const struct dofi_params *params);

/*
 * Turns the cache of a domain's keys off, where that is the domain's own affair (cxi). Before any
 * registration. Always 0.
 */
int dofi_mr_cache_disable(struct dofi_ia *ia);

/* Whether it is off indeed: a named attribute tells, and a warning. 0 or an error of the fabric. */
int dofi_mr_cache_look(struct dofi_ia *ia);

#endif
