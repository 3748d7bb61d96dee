/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For programs that contain the provider, so that --wrap can replace functions that the provider
 * calls. The program registers it, so the registry loads no other.
 */
#ifndef INSIDE_H
#define INSIDE_H

#include "fault.h"

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *ia_params);

static inline void fault_use_linked_provider(void)
{
	const char *params = getenv("T_PARAMS");
	DAT_PROVIDER_INFO info = {.dapl_version_major = DAT_VERSION_MAJOR,
				  .dapl_version_minor = DAT_VERSION_MINOR};

	snprintf(info.ia_name, sizeof(info.ia_name), "%s", t_ia_name());
	dat_provider_init(&info, params ? params : "");
}

#endif
