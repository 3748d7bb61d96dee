/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/device_atomics.h"

#include "base/dat_api.h"
#include "fabric/quirks.h"

#include <dlfcn.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <string.h>

#ifdef HAVE_INFINIBAND_VERBS_H

#include <infiniband/verbs.h>

/*
 * Functions of libibverbs, which libfabric has loaded already. Without such devices the library is
 * not needed, so we do not link with it.
 */
struct verbs {
	struct ibv_device **(*list)(int *n);
	void (*free_list)(struct ibv_device **list);
	const char *(*name)(struct ibv_device *device);
	struct ibv_context *(*open)(struct ibv_device *device);
	int (*close)(struct ibv_context *context);
	int (*query)(struct ibv_context *context, struct ibv_device_attr *attr);
};

static bool find(void *library, const char *name, void *function_p)
{
	void *symbol = dlsym(library, name);

	memcpy(function_p, &symbol, sizeof(symbol));
	return symbol;
}

static bool find_all(void *library, struct verbs *verbs)
{
	return find(library, "ibv_get_device_list", &verbs->list) &&
	       find(library, "ibv_free_device_list", &verbs->free_list) &&
	       find(library, "ibv_get_device_name", &verbs->name) &&
	       find(library, "ibv_open_device", &verbs->open) &&
	       find(library, "ibv_close_device", &verbs->close) &&
	       find(library, "ibv_query_device", &verbs->query);
}

static bool ask(const struct verbs *verbs, struct ibv_device *device)
{
	struct ibv_context *context = verbs->open(device);
	struct ibv_device_attr attr = {.atomic_cap = IBV_ATOMIC_NONE};
	bool does;

	if (!context)
		return false;
	does = !verbs->query(context, &attr) && attr.atomic_cap != IBV_ATOMIC_NONE;
	verbs->close(context);
	return does;
}

static bool ask_named(const struct verbs *verbs, const char *name)
{
	struct ibv_device **list = verbs->list(NULL);
	bool does = false;

	if (!list)
		return false;
	for (struct ibv_device **device = list; *device; device++)
		if (!strcmp(verbs->name(*device), name))
			does = ask(verbs, *device);
	verbs->free_list(list);
	return does;
}

static bool device_does(const char *name)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	struct verbs verbs;
	bool does;

	if (!library)
		return false;
	does = find_all(library, &verbs) && ask_named(&verbs, name);
	dlclose(library);
	return does;
}

#else

static bool device_does(const char *name)
{
	(void)name;
	return false;
}

#endif

bool dofi_atomics_wanted(uint64_t quirks)
{
	return DOFI_EXTENSIONS && quirks & DOFI_QUIRK_DEVICE_ATOMICS &&
	       !(quirks & DOFI_QUIRK_ATOMIC_OPERANDS);
}

bool dofi_device_does_atomics(const struct fi_info *info, uint64_t quirks)
{
	return DOFI_EXTENSIONS && quirks & DOFI_QUIRK_DEVICE_ATOMICS &&
	       device_does(info->domain_attr->name);
}

static bool passes_on(struct fid_domain *domain, enum fi_op op, uint64_t flags)
{
	struct fi_atomic_attr attr = {0};

	return !fi_query_atomic(domain, FI_UINT64, op, &attr, flags) &&
	       attr.size == sizeof(uint64_t);
}

bool dofi_domain_has_atomics(struct fid_domain *domain)
{
	return passes_on(domain, FI_SUM, FI_FETCH_ATOMIC) &&
	       passes_on(domain, FI_CSWAP, FI_COMPARE_ATOMIC);
}
