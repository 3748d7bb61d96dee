/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Variables of libfabric's that keep a provider from a fault of its own, or from being slow. They
 * are set in the environment of the process, unless they are there, when the first IA of such a
 * provider is opened.
 */
#ifndef DOFI_FABRIC_ENV_H
#define DOFI_FABRIC_ENV_H

#include <stdint.h>

struct dofi_params;
struct fi_info;

/*
 * Before libfabric is asked, those that it reads when it looks for fabrics for the first time. 0
 * or, after a message, a negative errno.
 */
int dofi_fabric_env_prepare(const char *ia_name, const struct dofi_params *params);

/*
 * Before the domain is opened, which keeps what it needs of them. 0 or, after a message, a negative
 * errno.
 */
int dofi_fabric_env_choose(const char *ia_name, const struct fi_info *info, uint64_t quirks);

#endif
