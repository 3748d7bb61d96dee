/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Extended operations, which only DAT 2.0 has. */
#include <stdarg.h>
#include <stdatomic.h>

#include "dispatch.h"
#include "ext.h"
#include "search.h"

#if DATR_DAT_MAJOR == 2
static atomic_bool extensions_on;

struct ext_call {
	DAT_NAME_PTR name;
	DAT_EXTENDED_OP op;
	va_list *args;
};

void datr_extensions_enable(void)
{
	atomic_store_explicit(&extensions_on, true, memory_order_relaxed);
}

static DAT_RETURN open_at(const struct datr_provider *provider, void *arg)
{
	struct ext_call *call = arg;
	DAT_RETURN ret;
	va_list args;

	if (!provider->table->handle_extendedop_func)
		return DATR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	va_copy(args, *call->args);
	ret = provider->table->handle_extendedop_func(call->name, call->op, args);
	va_end(args);
	return ret;
}

/*
 * There is no handle yet: the first argument is the name of the IA, which the provider gets
 * instead.
 */
static DAT_RETURN ext_open(DAT_EXTENDED_OP op, va_list *args)
{
	struct ext_call call = {.name = va_arg(*args, DAT_NAME_PTR), .op = op, .args = args};
	struct datr_provider *provider;
	DAT_PROVIDER_INFO want;
	DAT_RETURN ret;

	if (!datr_info_init(&want, call.name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE))
		return DATR_BAD_ARG(1);
	ret = datr_registry_use(&want, open_at, &call, &provider);
	if (ret != DAT_SUCCESS)
		return ret;
	/* The opened object has no IA number: the close gets the provider's pointer. */
	datr_provider_keep_query(provider);
	datr_extensions_enable();
	return DAT_SUCCESS;
}

static DAT_RETURN ext_close(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list *args)
{
	const DAT_PROVIDER *table = DAT_HANDLE_TO_PROVIDER(handle);
	DAT_RETURN ret =
		DATR_CALL(handle, DAT_INVALID_HANDLE1, handle_extendedop_func, (handle, op, *args));

	if (ret == DAT_SUCCESS)
		datr_provider_put_query(table);
	return ret;
}

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP ext_op, ...)
{
	DAT_RETURN ret;
	va_list args;

	va_start(args, ext_op);
	if (ext_op & DAT_OPEN_EXTENSION_BASE) {
		ret = ext_open(ext_op, &args);
	} else if (handle && !atomic_load_explicit(&extensions_on, memory_order_relaxed)) {
		ret = DATR_ERR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	} else if (ext_op & DAT_CLOSE_EXTENSION_BASE && datr_is_pointer(handle)) {
		ret = ext_close(handle, ext_op, &args);
	} else {
		handle = datr_any_handle(handle);
		ret = DATR_CALL(handle, DAT_INVALID_HANDLE1, handle_extendedop_func,
				(handle, ext_op, args));
	}
	va_end(args);
	return ret;
}
#endif
