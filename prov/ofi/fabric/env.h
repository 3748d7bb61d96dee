/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Variables of libfabric's that keep a provider from a fault of its own. They are set in the
 * environment of the process, unless they are there, when the first endpoint of such a provider is
 * made.
 */
#ifndef DOFI_FABRIC_ENV_H
#define DOFI_FABRIC_ENV_H

#include <stdint.h>

/* Before the endpoint is made. 0 or, after a message, a negative errno. */
int dofi_fabric_env_choose(const char *ia_name, uint64_t quirks);

#endif
