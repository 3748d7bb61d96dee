/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fake_provider.h"

#define EXPORT    __attribute__((visibility("default")))

#define MAX_NAMES 8

/* A registered name. The table is the first member, so an object's table is also its name. */
struct fake_name {
	DAT_PROVIDER table;
	DAT_PROVIDER_INFO info;
	const DAT_PROVIDER_INFO *loaded_for;
	char params[512];
	bool used;
};

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_name names[MAX_NAMES];
static struct t_fake_record nobody_looks;

static struct t_fake_record *record(void)
{
	return &t_fake ? &t_fake : &nobody_looks;
}

static struct fake_name *name_of(const DAT_PROVIDER *table)
{
	return (struct fake_name *)(uintptr_t)table;
}

static struct fake_name *name_find(const char *ia_name)
{
	struct fake_name *found = NULL;

	pthread_mutex_lock(&names_lock);
	for (struct fake_name *name = names; name < names + MAX_NAMES && !found; name++) {
		if (name->used && !strcmp(name->info.ia_name, ia_name))
			found = name;
	}
	pthread_mutex_unlock(&names_lock);
	return found;
}

static bool has_word(const struct fake_name *name, const char *word)
{
	return strstr(name->params, word) || strstr(name->info.ia_name, word);
}

static struct t_fake_object *object_create(const DAT_PROVIDER *table, DAT_HANDLE_TYPE type)
{
	struct t_fake_object *object = calloc(1, sizeof(*object));

	if (object) {
		object->table = table;
		object->type = type;
	}
	return object;
}

static DAT_RETURN fake_ia_open(const DAT_NAME_PTR ia_name, DAT_COUNT qlen,
			       DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	struct t_fake_record *rec = record();
	struct fake_name *name = name_find(ia_name);
	struct t_fake_object *object;

	atomic_fetch_add(&rec->opens, 1);
	if (rec->failures) {
		rec->failures--;
		return T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	}
	if (!name)
		return T_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	if (has_word(name, "fail-open"))
		return T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	object = object_create(&name->table, DAT_HANDLE_TYPE_IA);
	if (!object)
		return T_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	object->odd_attr = has_word(name, "odd-attr");
	object->extension = has_word(name, "extension");
	if (!has_word(name, "threads")) {
		strcpy(rec->open_name, ia_name);
		rec->open_qlen = qlen;
	}
	*async_evd = object;
	*ia = object;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd,
				DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
				DAT_PROVIDER_ATTR_MASK mask, DAT_PROVIDER_ATTR *attr)
{
	struct t_fake_object *object = ia;
	struct fake_name *name = name_of(object->table);

	if (async_evd) {
		*async_evd = object;
		record()->handle = ia;
		dats_get_ia_handle(T_IA_ARG(ia), &record()->ia_number);
	}
	if (ia_attr && ia_mask) {
		memset(ia_attr, 0, sizeof(*ia_attr));
#if T_DAT_MAJOR == 2
		ia_attr->extension_supported =
			object->extension ? DAT_EXTENSION_IB : DAT_EXTENSION_NONE;
#endif
	}
	if (attr && mask) {
		memset(attr, 0, sizeof(*attr));
		attr->dapl_version_major = name->info.dapl_version_major + object->odd_attr;
		attr->dapl_version_minor = name->info.dapl_version_minor;
		attr->is_thread_safe = name->info.is_thread_safe;
	}
	return DAT_SUCCESS;
}

static DAT_RETURN fake_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return T_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	atomic_fetch_add(&record()->closes, 1);
	free(ia);
	return DAT_SUCCESS;
}

static DAT_RETURN fake_set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	((struct t_fake_object *)handle)->context = context;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	*context = ((struct t_fake_object *)handle)->context;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_get_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	*type = ((struct t_fake_object *)handle)->type;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	*pz = object_create(((struct t_fake_object *)ia)->table, DAT_HANDLE_TYPE_PZ);
	return *pz ? DAT_SUCCESS : T_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

static DAT_RETURN fake_pz_free(DAT_PZ_HANDLE pz)
{
	free(pz);
	return DAT_SUCCESS;
}

#if T_DAT_MAJOR == 2
/* For an open by name the handle is a name, else an object. Operation 1 and close 1 fail. */
static DAT_RETURN fake_extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	struct t_fake_record *rec = record();

	atomic_fetch_add(&rec->ext_ops, 1);
	rec->ext_op = op;
	rec->handle = handle;
	if (op & DAT_OPEN_EXTENSION_BASE) {
		struct t_fake_object **object_p = va_arg(args, struct t_fake_object **);
		struct fake_name *name = name_find(handle);

		strcpy(rec->open_name, handle);
		if (!name || has_word(name, "fail-open"))
			return T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
		*object_p = object_create(&name->table, DAT_HANDLE_TYPE_IA);
		return DAT_SUCCESS;
	}
	if (op == DAT_CLOSE_EXTENSION_BASE + 1)
		return T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	if (op & DAT_CLOSE_EXTENSION_BASE) {
		free(handle);
		return DAT_SUCCESS;
	}
	rec->ext_args[0] = va_arg(args, unsigned long);
	rec->ext_args[1] = va_arg(args, unsigned long);
	return op == 1 ? T_ERR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE) : DAT_SUCCESS;
}
#endif

static void table_fill(DAT_PROVIDER *table, const char *device_name)
{
	*table = (DAT_PROVIDER)
	{
		.device_name = device_name, .ia_open_func = fake_ia_open,
		.ia_query_func = fake_ia_query, .ia_close_func = fake_ia_close,
		.set_consumer_context_func = fake_set_context,
		.get_consumer_context_func = fake_get_context,
		.get_handle_type_func = fake_get_type, .pz_create_func = fake_pz_create,
		.pz_free_func = fake_pz_free,
#if T_DAT_MAJOR == 2
		.handle_extendedop_func = fake_extended_op,
#endif
	};
}

static void name_register(const DAT_PROVIDER_INFO *info, const char *ia_name, const char *params)
{
	struct fake_name *name = names;

	pthread_mutex_lock(&names_lock);
	while (name->used)
		name++;
	name->used = true;
	name->info = *info;
	name->loaded_for = info;
	strcpy(name->info.ia_name, ia_name);
	strncpy(name->params, params, sizeof(name->params) - 1);
	table_fill(&name->table, name->info.ia_name);
	pthread_mutex_unlock(&names_lock);
	record()->register_ret = dat_registry_add_provider(&name->table, &name->info);
}

static void open_nested(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	char ia_name[] = "nested";
	DAT_IA_HANDLE ia;

	if (dat_ia_open(ia_name, 8, &evd, &ia) == DAT_SUCCESS)
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info);

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	struct t_fake_record *rec = record();

	atomic_fetch_add(&rec->inits, 1);
	rec->init_info = *info;
	strncpy(rec->init_params, params, sizeof(rec->init_params) - 1);
	if (rec->in_init)
		rec->in_init(info->ia_name);
	if (strstr(params, "nested-open"))
		open_nested();
	if (!strstr(params, "no-register") && strcmp(info->ia_name, "ofi-no-register") != 0)
		name_register(info, info->ia_name, params);
	if (strstr(params, "other-name"))
		name_register(info, "fake-other", params);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	atomic_fetch_add(&record()->finis, 1);
	for (struct fake_name *name = names; name < names + MAX_NAMES; name++) {
		if (!name->used || name->loaded_for != info)
			continue;
		if (!strstr(name->params, "no-remove"))
			dat_registry_remove_provider(&name->table, &name->info);
		pthread_mutex_lock(&names_lock);
		name->used = false;
		pthread_mutex_unlock(&names_lock);
	}
}
