/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/info.h"

#include "base/addr.h"
#include "base/lock.h"
#include "base/thread.h"

#include <locale.h>
#include <pthread.h>
#include <rdma/fabric.h>

static struct dofi_lock setup_lock = DOFI_LOCK_INITIALIZER(DOFI_LEVEL_NONE);

void dofi_setup_begin(void)
{
	dofi_lock(&setup_lock);
}

void dofi_setup_end(void)
{
	dofi_unlock(&setup_lock);
}

bool dofi_setup_begin_for(uint64_t ns)
{
	return dofi_trylock_for(&setup_lock, ns);
}

/*
 * libfabric makes capitals of its parameters' names with the program's locale, once, and looks for
 * the variables then. In a Turkish locale it would find none whose name has an I, also those that
 * the user or fabric/env.c has set.
 */
static int getinfo_in_plain_locale(uint32_t version, const char *node, uint64_t flags,
				   const struct fi_info *hints, struct fi_info **list_p)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(plain);
	int ret = fi_getinfo(version, node, NULL, flags, hints, list_p);

	uselocale(before);
	if (plain)
		freelocale(plain);
	return ret;
}

int dofi_getinfo(uint32_t version, const char *node, uint64_t flags, const struct fi_info *hints,
		 struct fi_info **list_p)
{
	sigset_t before;
	int ret;

	/*
	 * The first call sets all providers up, with a lock that libfabric's destructor needs, too.
	 * So no handler may call exit() in the middle. libinfinipath, which comes with libfabric on
	 * Debian 12, sets such handlers for SIGTERM and SIGINT.
	 */
	dofi_block_signals(&before);
	dofi_setup_begin();
	ret = getinfo_in_plain_locale(version, node, flags, hints, list_p);
	dofi_setup_end();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret)
		*list_p = NULL;
	return ret;
}

bool dofi_info_addr(const struct fi_info *info, struct sockaddr_storage *addr_p)
{
	if (!info->src_addr)
		return false;
	if (info->addr_format != FI_SOCKADDR && info->addr_format != FI_SOCKADDR_IN &&
	    info->addr_format != FI_SOCKADDR_IN6)
		return false;
	return dofi_addr_set(addr_p, info->src_addr, 0);
}

const char *dofi_info_domain(const struct fi_info *info)
{
	return info->domain_attr && info->domain_attr->name ? info->domain_attr->name : "unnamed";
}

const char *dofi_info_provider(const struct fi_info *info)
{
	return info->fabric_attr->prov_name ? info->fabric_attr->prov_name : "unnamed";
}
