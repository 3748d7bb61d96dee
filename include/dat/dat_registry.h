/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT_REGISTRY_H
#define DAT_REGISTRY_H

/*
 * Between the registry (the library that programs link to) and the providers that it loads.
 * Consumers need none of this.
 */
#include <dat/udat.h>
#include <dat/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A provider calls this for each IA name that it serves, usually from dat_provider_init(). The
 * key is name, major, minor and thread safety. The registry copies *provider_info; *provider
 * must stay until it is removed and the last of its handles has gone.
 * DAT_PROVIDER_ALREADY_REGISTERED: this key is taken; the first registration stays.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_registry_add_provider(IN const DAT_PROVIDER *provider,
			  IN const DAT_PROVIDER_INFO *provider_info);

/* DAT_PROVIDER_IN_USE: an IA of it is open. */
DAT_EXPORT DAT_RETURN DAT_API
dat_registry_remove_provider(IN const DAT_PROVIDER *provider,
			     IN const DAT_PROVIDER_INFO *provider_info);

/*
 * Programs know an IA by a small number, providers by their own pointer.
 * Turns the number into the pointer.
 * DAT_INVALID_HANDLE: not an open IA.
 */
DAT_EXPORT DAT_RETURN DAT_API
dats_get_ia_handle(IN unsigned long number, OUT DAT_IA_HANDLE *ia_handle);

/*
 * What a provider library exports. Init is called after loading, once per IA name, with the
 * ia_params field of the dat.conf line; it cannot fail, so a provider that finds no device
 * registers nothing. Fini is called after the last close and before unloading.
 */
typedef void (DAT_API *DAT_PROVIDER_INIT_FUNC)(IN const DAT_PROVIDER_INFO *provider_info,
		IN const char *instance_data);
typedef void (DAT_API *DAT_PROVIDER_FINI_FUNC)(IN const DAT_PROVIDER_INFO *provider_info);

#define DAT_PROVIDER_INIT_FUNC_NAME	dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME	dat_provider_fini

#define DAT_PROVIDER_INIT_FUNC_STR	"dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR	"dat_provider_fini"

DAT_EXPORT void DAT_API
dat_provider_init(IN const DAT_PROVIDER_INFO *provider_info, IN const char *instance_data);

DAT_EXPORT void DAT_API
dat_provider_fini(IN const DAT_PROVIDER_INFO *provider_info);

#ifdef __cplusplus
}
#endif

#endif /* DAT_REGISTRY_H */
