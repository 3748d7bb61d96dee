/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tests of the registry are one source for both generations of DAT. T_DAT_MAJOR selects one. */
#ifndef T_DAT_VERSION_H
#define T_DAT_VERSION_H

#if T_DAT_MAJOR == 1
#include <dat/udat.h>
#include <dat/dat_registry.h>
#define T_API             "u1.2"
#define T_OTHER_API       "u2.0"
#define T_OTHER_MAJOR     2
#define T_LIBDAT          "libdat.so.1"
#define T_PROVIDER_SONAME "libdatofi.so.1"
#define T_IA_ARG(handle)  ((unsigned long)(handle)) /* of dats_get_ia_handle() */
#elif T_DAT_MAJOR == 2
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#define T_API             "u2.0"
#define T_OTHER_API       "u1.2"
#define T_OTHER_MAJOR     1
#define T_LIBDAT          "libdat2.so.2"
#define T_PROVIDER_SONAME "libdatofi.so.2"
#define T_IA_ARG(handle)  (handle)
#else
#error "T_DAT_MAJOR must be 1 or 2"
#endif

#define T_ERR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_UINT32)(type) | (DAT_UINT32)(subtype)))
#define T_BAD_IA T_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA)

#endif
