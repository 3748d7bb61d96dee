/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT_REGISTRY_H
#define DAT_REGISTRY_H

/*
 * The interface between the registry (the library that programs link to) and the providers that it
 * loads. Consumers do not need this header.
 */
#include <dat/udat.h>
#include <dat/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A provider calls this for each IA name that it serves, usually from dat_provider_init(). The key
 * of an entry is name, major, minor and thread safety. The registry copies *provider_info.
 * *provider must exist until it is removed and the last handle that points to it is freed.
 * DAT_PROVIDER_ALREADY_REGISTERED: another provider has this key; its registration remains.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_registry_add_provider(IN const DAT_PROVIDER *provider,
			  IN const DAT_PROVIDER_INFO *provider_info);

/* DAT_PROVIDER_IN_USE: an IA of this provider is open. */
DAT_EXPORT DAT_RETURN DAT_API
dat_registry_remove_provider(IN const DAT_PROVIDER *provider,
			     IN const DAT_PROVIDER_INFO *provider_info);

/*
 * Programs name an IA by a small number, providers by a pointer of their own. Turns the number into
 * the pointer. DAT_INVALID_HANDLE: the number names no open IA.
 */
DAT_EXPORT DAT_RETURN DAT_API
dats_get_ia_handle(IN unsigned long number, OUT DAT_IA_HANDLE *ia_handle);

/*
 * The functions that a provider library exports. The registry calls dat_provider_init() after it
 * has loaded the library, once per IA name, with the ia_params field of the line of dat.conf. The
 * function cannot fail; a provider that finds no device registers nothing. The registry calls
 * dat_provider_fini() after the last close, before it unloads the library.
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
