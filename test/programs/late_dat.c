/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "late_dat.h"

#include "ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define MAX_NAMES 256

#if T_DAT_MAJOR == 1
static const char *const files[] = {"libdat.so.1", "libdat.so"};
#else
static const char *const files[] = {"libdat2.so.2", "libdat2.so"};
#endif

struct late_dat dat;

static void *load(const char *path)
{
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;

	for (size_t i = 0; !path && !library && i < sizeof(files) / sizeof(*files); i++)
		library = dlopen(files[i], RTLD_LAZY);
	if (!library)
		rank_fail("cannot load the library: %s", dlerror());
	return library;
}

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function)
		rank_fail("the library has no %s", name);
	return function;
}

void late_load(const char *path)
{
	void *library = load(path), *function;

#define LATE_FIND(name)                         \
	function = find(library, "dat_" #name); \
	memcpy(&dat.name, &function, sizeof(dat.name));
	LATE_CALLS(LATE_FIND)
#undef LATE_FIND
}

const char *late_words(DAT_RETURN ret)
{
	static char text[256];
	const char *major = "?", *minor = "";

	dat.strerror(ret, &major, &minor);
	snprintf(text, sizeof(text), "%s %s (0x%x)", major, minor, ret);
	return text;
}

void late_ok(DAT_RETURN ret, const char *call)
{
	if (ret != DAT_SUCCESS)
		rank_fail("%s: %s", call, late_words(ret));
}

void late_open(const char *wanted, DAT_NAME_PTR name, DAT_IA_HANDLE *ia, DAT_EVD_HANDLE *async)
{
	static DAT_PROVIDER_INFO infos[MAX_NAMES];
	DAT_PROVIDER_INFO *list[MAX_NAMES];
	DAT_COUNT count = 0;

	for (size_t i = 0; i < MAX_NAMES; i++)
		list[i] = &infos[i];
	ok(dat.registry_list_providers(MAX_NAMES, &count, list));
	for (DAT_COUNT i = 0; i < count; i++) {
		const DAT_PROVIDER_INFO *info = &infos[i];

		if (info->dapl_version_major != T_DAT_MAJOR ||
		    (wanted && strcmp(info->ia_name, wanted)))
			continue;
		*async = DAT_HANDLE_NULL;
		if (dat.ia_openv((DAT_NAME_PTR)(uintptr_t)info->ia_name, 8, async, ia,
				 info->dapl_version_major, info->dapl_version_minor,
				 info->is_thread_safe))
			continue;
		snprintf(name, DAT_NAME_MAX_LENGTH, "%.*s", DAT_NAME_MAX_LENGTH - 1, info->ia_name);
		return;
	}
	rank_fail("of %d names of the registry %s opens", count, wanted ? wanted : "none");
}

void late_listen(DAT_IA_HANDLE ia, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual, unsigned int step,
		 DAT_PSP_HANDLE *psp)
{
	DAT_RETURN ret = dat.psp_create(ia, *qual, evd, DAT_PSP_CONSUMER_FLAG, psp);

	while (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE) {
		*qual += step;
		ret = dat.psp_create(ia, *qual, evd, DAT_PSP_CONSUMER_FLAG, psp);
	}
	late_ok(ret, "dat_psp_create");
}

uint32_t late_number_of(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;
	uint32_t number;

	ok(dat.cr_query(cr, DAT_CR_FIELD_PRIVATE_DATA, &param));
	if (param.private_data_size < (DAT_COUNT)sizeof(number))
		rank_fail("a request with %d bytes of private data", param.private_data_size);
	memcpy(&number, param.private_data, sizeof(number));
	return number;
}

void late_register(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *address, size_t length,
		   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *local, DAT_RMR_CONTEXT *remote)
{
	const DAT_MEM_PRIV_FLAGS all =
		DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
		DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN got;
	DAT_VADDR at;

	memset(&region, 0, sizeof(region));
	region.for_va = address;
#if T_DAT_MAJOR == 1
	ok(dat.lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, length, pz, all, lmr, local, remote,
			  &got, &at));
#else
	ok(dat.lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, length, pz, all, DAT_VA_TYPE_VA, lmr,
			  local, remote, &got, &at));
#endif
}

DAT_LMR_TRIPLET late_local(DAT_LMR_CONTEXT context, const void *address, size_t length)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = context,
		.virtual_address = (DAT_VADDR)(uintptr_t)address,
		.segment_length = (__typeof__(((DAT_LMR_TRIPLET *)0)->segment_length))length,
	};
}

DAT_RMR_TRIPLET late_remote(DAT_RMR_CONTEXT context, DAT_VADDR address, size_t length)
{
	return (DAT_RMR_TRIPLET)
	{
		.rmr_context = context,
#if T_DAT_MAJOR == 1
		.target_address = address,
#else
		.virtual_address = address,
#endif
		.segment_length = (__typeof__(((DAT_RMR_TRIPLET *)0)->segment_length))length,
	};
}
