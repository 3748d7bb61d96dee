/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Explains why libfabric offers nothing of the wanted provider. */
#ifndef DOFI_ABSENT_H
#define DOFI_ABSENT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes the reason to `out`: FI_PROVIDER leaves the provider out, libfabric does not have it, or
 * it finds no device. "" stands for any provider.
 */
void dofi_absent_explain(const char *provider, FILE *out);

/* "tcp;ofi_rxm" works on tcp: whether both work on the same provider. */
bool dofi_same_core(const char *a, const char *b);

/*
 * Whether a list of names in the form of FI_PROVIDER excludes the provider. ^ before the list means
 * "all but these".
 */
bool dofi_is_left_out(const char *list, const char *provider);

#endif
