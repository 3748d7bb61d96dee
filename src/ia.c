/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opens and closes IAs. */
#include "conf.h"
#include "dispatch.h"
#include "ext.h"
#include "handle.h"
#include "log.h"
#include "search.h"

struct open_call {
	DAT_NAME_PTR name;
	DAT_COUNT async_qlen;
	DAT_EVD_HANDLE *async_evd_p;
	DAT_IA_HANDLE ia;
};

static DAT_RETURN open_at(const struct datr_provider *provider, void *arg)
{
	struct open_call *call = arg;
	DAT_EVD_HANDLE async_evd = *call->async_evd_p;
	DAT_RETURN ret;

	if (!provider->ia_open)
		return DATR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	ret = provider->ia_open(call->name, call->async_qlen, &async_evd, &call->ia);
	if (ret == DAT_SUCCESS)
		*call->async_evd_p = async_evd;
	return ret;
}

#if DATR_DAT_MAJOR == 2
/* Extended operations fail in the whole process until an IA reports that it has some. */
static void ask_for_extensions(DAT_IA_HANDLE ia)
{
	DAT_IA_ATTR attr = {.extension_supported = DAT_EXTENSION_NONE};
	DAT_RETURN ret;

	ret = DATR_CALL(ia, DAT_INVALID_HANDLE_IA, ia_query_func,
			(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	if (ret == DAT_SUCCESS && attr.extension_supported != DAT_EXTENSION_NONE)
		datr_extensions_enable();
}
#endif

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_event_qlen,
			DAT_EVD_HANDLE *async_event_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dapl_major, DAT_UINT32 dapl_minor, DAT_BOOLEAN thread_safety)
{
	struct open_call call = {.name = name,
				 .async_qlen = async_event_qlen,
				 .async_evd_p = async_event_handle};
	struct datr_provider *provider;
	DAT_PROVIDER_INFO want;
	DAT_IA_HANDLE number;
	DAT_RETURN ret;

	if (!datr_info_init(&want, name, dapl_major, dapl_minor, thread_safety))
		return DATR_BAD_ARG(1);
	if (!async_event_handle)
		return DATR_BAD_ARG(3);
	if (!ia_handle)
		return DATR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	number = datr_ia_reserve();
	if (!number)
		return DATR_NO_MEMORY;
	ret = datr_registry_use(&want, open_at, &call, &provider);
	if (ret != DAT_SUCCESS) {
		datr_ia_release(number);
		return ret;
	}
	datr_ia_publish(number, call.ia, provider);
#if DATR_DAT_MAJOR == 2
	ask_for_extensions(call.ia);
#endif
	datr_log(DATR_LOG_API, "IA %s is open", want.ia_name);
	*ia_handle = number;
	return DAT_SUCCESS;
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags)
{
	struct datr_provider *provider;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (!datr_ia_close_begin(ia_handle, &ia, &provider))
		return DATR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ret = DATR_CALL(ia, DAT_INVALID_HANDLE_IA, ia_close_func, (ia, ia_flags));
	if (ret != DAT_SUCCESS) {
		datr_ia_close_cancel(ia_handle);
		return ret;
	}
	datr_ia_release(ia_handle);
	/*
	 * The provider that opened the IA, even if its attributes now have another name or version.
	 */
	datr_provider_put(provider);
	return DAT_SUCCESS;
}
