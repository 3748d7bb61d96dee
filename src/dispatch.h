/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How a call reaches the provider. */
#ifndef DATR_DISPATCH_H
#define DATR_DISPATCH_H

#include <stdint.h>

#include "handle.h"
#include "version.h"

/*
 * Whether the handle is neither null nor the number of an IA, so that it points to a provider
 * table.
 */
static inline bool datr_is_pointer(DAT_HANDLE handle)
{
	return (uintptr_t)handle >= DATR_IA_LIMIT;
}

/* Replaces the number of an open IA by the provider's pointer. Leaves other handles unchanged. */
static inline DAT_HANDLE datr_any_handle(DAT_HANDLE handle)
{
	return datr_is_pointer(handle) ? handle : datr_ia_lookup(handle);
}

/*
 * Calls a function of the provider table to which the first word of the handle points. "args" is
 * the list of arguments in parentheses.
 */
#define DATR_CALL(handle, bad_handle, slot, args)                            \
	(!datr_is_pointer(handle) ? DATR_ERR(DAT_INVALID_HANDLE, bad_handle) \
	 : !DAT_HANDLE_TO_PROVIDER(handle)->slot                             \
		 ? DATR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)         \
		 : DAT_HANDLE_TO_PROVIDER(handle)->slot args)

#endif
