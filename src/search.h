/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* From the name of an IA to its provider. */
#ifndef DATR_SEARCH_H
#define DATR_SEARCH_H

#include "registry.h"

/*
 * Calls "use" with each provider of the wanted name in turn until it succeeds. That provider then
 * stays referenced and its library loaded until datr_provider_put(). If all fail, returns the first
 * error.
 */
typedef DAT_RETURN (*datr_use_fn)(const struct datr_provider *provider, void *arg);
DAT_RETURN datr_registry_use(const DAT_PROVIDER_INFO *want, datr_use_fn use, void *arg,
			     struct datr_provider **provider_p);

#endif
