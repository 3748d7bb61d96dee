/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/mr_cache.h"

#include "object/ia.h"
#include "base/log.h"
#include "object/mem.h"
#include "fabric/quirks.h"
#include "fabric/topo.h"

#include <dirent.h>
#include <errno.h>
#include <rdma/fi_domain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "FI_MR_CACHE_MONITOR"
#define OFF      "disabled"

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

/*
 * Which provider it will be is not known yet. An IA that names none gets what the host has, and
 * verbs if it has that; "ofi_rxm" names none that has a device.
 */
static bool may_cache_keys(const struct dofi_params *params)
{
	const char *filter = getenv("FI_PROVIDER");

	if (*params->provider && strncmp(params->provider, "ofi_", 4))
		return dofi_quirk_is_possible(DOFI_QUIRK_CACHED_KEYS, params->provider);
	if (filter && *filter && !dofi_quirk_is_possible(DOFI_QUIRK_CACHED_KEYS, filter))
		return false;
	return has_rdma_device();
}

static bool is_wanted(const struct dofi_params *params)
{
	return !strcmp(params->mr_cache, "yes");
}

/*
 * No lock: setenv has one, and does not overwrite here. What others read meanwhile stays where it
 * is, unless the program itself has added to its environment before: then a getenv in another
 * thread may see the old array move (before glibc 2.41).
 */
int dofi_mr_cache_choose(const char *ia_name, const struct dofi_params *params)
{
	if (!is_wanted(params) && strcmp(params->mr_cache, "no")) {
		DOFI_LOG_E("IA %s: mr_cache=%s is not known; there are yes and no", ia_name,
			   params->mr_cache);
		return -EINVAL;
	}
	if (is_wanted(params) || getenv(VARIABLE) || !may_cache_keys(params))
		return 0;
	if (setenv(VARIABLE, OFF, 0)) {
		DOFI_LOG_E("IA %s: " VARIABLE "=" OFF " can't be set: %s", ia_name,
			   strerror(errno));
		return -errno;
	}
	DOFI_LOG_I("IA %s: " VARIABLE "=" OFF
		   " is set for this process, or keys would outlive dat_lmr_free; mr_cache=yes "
		   "leaves it alone",
		   ia_name);
	return 0;
}

/* --- afterwards --- */

/*
 * FI_OPT_CXI_SET_PROV_KEY_CACHE of libfabric's header for cxi, which is installed with that
 * provider alone.
 */
#define CXI_SET_PROV_KEY_CACHE (-(0xccc << 16) + 7)

int dofi_mr_cache_disable(struct dofi_ia *ia)
{
	bool cache = false;

	if (ia->quirks & DOFI_QUIRK_DOMAIN_KEYS &&
	    ia->info->domain_attr->mr_mode & FI_MR_PROV_KEY && !is_wanted(&ia->params))
		fi_control(&ia->domain->fid, CXI_SET_PROV_KEY_CACHE, &cache);
	return 0;
}

static int register_page(struct dofi_ia *ia, struct fid_mr **mr_p, uint64_t *key_p)
{
	const struct dofi_scratch *scratch = &ia->scratch;
	uint64_t address;

	return dofi_mr_register(ia, scratch->slots, sizeof(*scratch->slots),
				DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG, mr_p,
				key_p, &address);
}

/*
 * A cache answers with the registration or the key that it has. The same memory registered twice
 * has two of them else.
 */
static int is_cached(struct dofi_ia *ia, bool *cached_p)
{
	struct fid_mr *mr, *other;
	uint64_t key, other_key;
	int ret, ret2;

	ret = register_page(ia, &mr, &key);
	if (ret)
		return ret;
	ret = register_page(ia, &other, &other_key);
	if (!ret) {
		*cached_p = other == mr || other_key == key;
		ret = dofi_mr_close(ia, other);
	}
	ret2 = dofi_mr_close(ia, mr);
	return ret ? ret : ret2;
}

/* What turns it off, where nobody has said that it is meant to be on; or NULL. */
static const char *remedy(const struct dofi_ia *ia)
{
	const char *value = getenv(VARIABLE);

	if (is_wanted(&ia->params))
		return NULL;
	if (ia->quirks & DOFI_QUIRK_DOMAIN_KEYS)
		return "FI_CXI_PROV_KEY_CACHE=0";
	return !value || !strcmp(value, OFF) ? VARIABLE "=" OFF : NULL;
}

int dofi_mr_cache_look(struct dofi_ia *ia)
{
	const char *setting;
	bool cached = false;
	int ret;

	/* Keys of our own choice are not cached. */
	if (!(ia->info->domain_attr->mr_mode & FI_MR_PROV_KEY))
		return 0;
	ret = is_cached(ia, &cached);
	if (ret || !cached)
		return ret;
	strcpy(ia->named.mr_cached, "TRUE");
	setting = remedy(ia);
	if (setting)
		DOFI_LOG_W("IA %s: libfabric caches registrations, so keys outlive dat_lmr_free: "
			   "something in this process used "
			   "libfabric before, or its configuration file prevails; set %s there or "
			   "before the program starts, "
			   "or let mr_cache=yes say that it is meant so",
			   ia->name, setting);
	return 0;
}
