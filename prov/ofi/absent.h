/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why libfabric offers nothing at all of the provider that is wanted. */
#ifndef DOFI_ABSENT_H
#define DOFI_ABSENT_H

#include <stdio.h>

/* To `out`, in words: FI_PROVIDER leaves it out, libfabric has none, or it finds no device. "" is any provider. */
void dofi_absent_explain(const char *provider, FILE *out);

#endif
