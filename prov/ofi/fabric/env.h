/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Variables of libfabric that avoid a fault of a provider, or a slow path. When the first IA of
 * such a provider is opened, they are set in the environment of the process, unless the user has
 * set them.
 */
#ifndef DOFI_FABRIC_ENV_H
#define DOFI_FABRIC_ENV_H

#include <stdint.h>

struct dofi_params;
struct fi_info;

/*
 * Called before libfabric is asked for fabrics: sets the variables that it reads only then. 0 or,
 * after a message, a negative errno.
 */
int dofi_fabric_env_prepare(const char *ia_name, const struct dofi_params *params);

/*
 * Called before the domain is opened: sets the other variables. 0 or, after a message, a negative
 * errno.
 */
int dofi_fabric_env_choose(const char *ia_name, const struct fi_info *info, uint64_t quirks);

#endif
