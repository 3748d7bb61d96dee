/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry is one source, compiled once per API generation. This header has the differences. */
#ifndef DATR_VERSION_H
#define DATR_VERSION_H

#if DATR_DAT_MAJOR == 1
#include <dat/udat.h>
#include <dat/dat_registry.h>
#define DATR_LIBRARY         "libdat"
#define DATR_API_WORD        "u1.2"
#define DATR_PROVIDER_SONAME "libdatofi.so.1"
typedef unsigned long datr_ia_arg; /* of dats_get_ia_handle() */
#elif DATR_DAT_MAJOR == 2
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#define DATR_LIBRARY         "libdat2"
#define DATR_API_WORD        "u2.0"
#define DATR_PROVIDER_SONAME "libdatofi.so.2"
typedef DAT_IA_HANDLE datr_ia_arg;
#else
#error "DATR_DAT_MAJOR must be 1 or 2"
#endif

#define DATR_ERR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_UINT32)(type) | (DAT_UINT32)(subtype)))
#define DATR_BAD_ARG(n) DATR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define DATR_NO_MEMORY  DATR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)

#endif
