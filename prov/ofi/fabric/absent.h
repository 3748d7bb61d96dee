/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why libfabric offers nothing at all of the provider that is wanted. */
#ifndef DOFI_ABSENT_H
#define DOFI_ABSENT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * To `out`, in words: FI_PROVIDER leaves it out, libfabric has none, or it finds no device. "" is
 * any provider.
 */
void dofi_absent_explain(const char *provider, FILE *out);

/* "tcp;ofi_rxm" works on tcp: whether both work on the same provider. */
bool dofi_same_core(const char *a, const char *b);

/*
 * Whether a list of names such as FI_PROVIDER's, with ^ before it of those that are not to be used,
 * keeps the provider out.
 */
bool dofi_is_left_out(const char *list, const char *provider);

#endif
