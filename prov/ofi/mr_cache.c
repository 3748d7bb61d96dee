/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mr_cache.h"

#include "absent.h"
#include "ia.h"
#include "log.h"
#include "mem.h"
#include "topo.h"

#include <dirent.h>
#include <errno.h>
#include <rdma/fi_domain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "FI_MR_CACHE_MONITOR"
#define OFF	 "disabled"

/* --- before libfabric is asked --- */

static bool has_rdma_device(void)
{
	char path[256];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/class/infiniband", dofi_sysfs);
	folder = opendir(path);
	if (!folder)
		return false;
	do
		entry = readdir(folder);
	while (entry && *entry->d_name == '.');
	closedir(folder);
	return entry;
}

/* An IA that names no provider gets what the host has, and verbs if it has that; "ofi_rxm" names none that has a device. */
static bool may_be_verbs(const struct dofi_params *params)
{
	const char *filter = getenv("FI_PROVIDER");

	if (*params->provider && strncmp(params->provider, "ofi_", 4))
		return !dofi_is_left_out(params->provider, "verbs");
	if (filter && *filter && dofi_is_left_out(filter, "verbs"))
		return false;
	return has_rdma_device();
}

static bool is_wanted(const struct dofi_params *params)
{
	return !strcmp(params->mr_cache, "yes");
}

/*
 * No lock: setenv has one, and does not overwrite here. What others read meanwhile stays where it is, unless the program
 * itself has added to its environment before: then a getenv in another thread may see the old array move (before glibc 2.41).
 */
int dofi_mr_cache_choose(const char *ia_name, const struct dofi_params *params)
{
	if (!is_wanted(params) && strcmp(params->mr_cache, "no")) {
		DOFI_LOG_E("IA %s: mr_cache=%s is not known; there are yes and no", ia_name, params->mr_cache);
		return -EINVAL;
	}
	if (is_wanted(params) || getenv(VARIABLE) || !may_be_verbs(params))
		return 0;
	if (setenv(VARIABLE, OFF, 0)) {
		DOFI_LOG_E("IA %s: " VARIABLE "=" OFF " can't be set: %s", ia_name, strerror(errno));
		return -errno;
	}
	DOFI_LOG_I("IA %s: " VARIABLE "=" OFF " is set for this process, or keys would outlive dat_lmr_free; mr_cache=yes "
		   "leaves it alone",
		   ia_name);
	return 0;
}

/* --- afterwards --- */

/* A cache answers with the registration that it has. The same memory registered twice is two of them else. */
static int is_cached(struct dofi_ia *ia, bool *cached_p)
{
	const struct dofi_scratch *scratch = &ia->scratch;
	uint64_t key, address;
	struct fid_mr *mr;
	int ret;

	ret = dofi_mr_register(ia, scratch->slots, sizeof(*scratch->slots),
			       DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &mr, &key, &address);
	if (ret)
		return ret;
	*cached_p = mr == scratch->mr;
	return dofi_mr_close(ia, mr);
}

int dofi_mr_cache_look(struct dofi_ia *ia)
{
	int mode = ia->info->domain_attr->mr_mode, ret;
	const char *value = getenv(VARIABLE);
	bool cached = false;

	/* Keys of our own choice are not cached, nor what belongs to an endpoint. */
	if (!(mode & FI_MR_PROV_KEY) || mode & FI_MR_ENDPOINT)
		return 0;
	ret = is_cached(ia, &cached);
	if (ret || !cached)
		return ret;
	strcpy(ia->named.mr_cached, "TRUE");
	if (!is_wanted(&ia->params) && (!value || !strcmp(value, OFF)))
		DOFI_LOG_W("IA %s: libfabric caches registrations, so keys outlive dat_lmr_free: something in this process used "
			   "libfabric before, or its configuration file prevails; set " VARIABLE "=" OFF " there or before "
			   "the program starts, or let mr_cache=yes say that it is meant so",
			   ia->name);
	return 0;
}
