/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Variables of libfabric that avoid a fault of a provider. When the first IA of such a provider is
 * opened, they are set in the environment of the process, unless the user has set them.
 */
#ifndef DOFI_FABRIC_ENV_H
#define DOFI_FABRIC_ENV_H

#include <stdint.h>

struct fi_info;

/*
 * Called before the domain is opened, because libfabric reads the variables then. 0 or, after a
 * message, a negative errno.
 */
int dofi_fabric_env_choose(const char *ia_name, const struct fi_info *info, uint64_t quirks);

#endif
