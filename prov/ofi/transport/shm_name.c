/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_name.h"

#include "auth/crypto.h"
#include "fabric/same_process.h"
#include "object/ia_parts.h"
#include "transport/shm_region.h"

#include <inttypes.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX (sizeof(DOFI_SHM_PREFIX) - 1)

/* 0 if the kernel does not tell. */
static unsigned long long own_namespace(void)
{
	char text[64] = ""; /* pid:[NUMBER] */
	unsigned long long number;

	if (readlink("/proc/self/ns/pid", text, sizeof(text) - 1) < 0 ||
	    sscanf(text, "pid:[%llu]", &number) != 1)
		return 0;
	return number;
}

int dofi_shm_name_set(struct fid_ep *ep)
{
	char name[DOFI_FABRIC_NAME_MAX] = {0};
	size_t size = sizeof(name), length;
	uint64_t number;
	int ret;

	if (fi_getname(&ep->fid, name, &size) || !dofi_shm_region_is_of((const uint8_t *)name))
		return 0;
	ret = dofi_random(&number, sizeof(number));
	if (ret)
		return ret;
	length = strlen(name);
	size = length + (size_t)snprintf(name + length, sizeof(name) - length, ":%llu:%" PRIu64,
					 own_namespace(), number);
	return size < sizeof(name) ? fi_setname(&ep->fid, name, size + 1) : -FI_ETOOSMALL;
}

/* The fourth part of the name; 0 if there is none. */
static unsigned long long namespace_of(const char *name)
{
	for (int i = 0; i < 3; i++) {
		name += strcspn(name, ":");
		if (!*name++)
			return 0;
	}
	return strtoull(name, NULL, 10);
}

bool dofi_shm_name_is_near(const char *own, const char *peer)
{
	const unsigned long long here = namespace_of(own + PREFIX);
	const unsigned long long there = namespace_of(peer + PREFIX);

	return !here || !there || here == there;
}
