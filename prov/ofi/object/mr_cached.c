/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "object/mr_cached.h"

#include "base/log.h"
#include "fabric/mr_cache.h"
#include "object/ia.h"
#include "object/mr.h"

#include <rdma/fi_domain.h>
#include <string.h>

static int register_page(struct dofi_ia *ia, struct fid_mr **mr_p, uint64_t *key_p)
{
	const struct dofi_scratch *scratch = &ia->scratch;
	uint64_t address;

	return dofi_mr_register(ia, scratch->slots, sizeof(*scratch->slots),
				DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG, mr_p,
				key_p, &address);
}

/*
 * With a cache, a second registration of the same memory has the same descriptor or key. Without,
 * it has new ones.
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

int dofi_mr_cached_look(struct dofi_ia *ia)
{
	const char *setting;
	bool cached = false;
	int ret;

	/* Keys that the library chooses are not cached. */
	if (!(ia->info->domain_attr->mr_mode & FI_MR_PROV_KEY))
		return 0;
	ret = is_cached(ia, &cached);
	if (ret || !cached)
		return ret;
	strcpy(ia->named.mr_cached, "TRUE");
	ia->ends_keys = false;
	setting = dofi_mr_cache_remedy(&ia->params, ia->quirks);
	if (setting)
		DOFI_LOG_W("IA %s: libfabric caches registrations, so keys outlive dat_lmr_free: "
			   "something in this process used "
			   "libfabric before, or its configuration file prevails; set %s there or "
			   "before the program starts, "
			   "or let mr_cache=yes say that it is meant so",
			   ia->name, setting);
	return 0;
}
