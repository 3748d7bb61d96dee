/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT2_UDAT_CONFIG_H
#define DAT2_UDAT_CONFIG_H

#include <dat2/dat_platform_specific.h>

/* The two versions of DAT share names but not layouts, so a source file can use only one. */
#if defined(DAT_VERSION_MAJOR) && DAT_VERSION_MAJOR != 2
#error "<dat/...> (DAT 1.2) and <dat2/...> (DAT 2.0) cannot be included in one source file"
#endif

#define DAT_VERSION_MAJOR	2
#define DAT_VERSION_MINOR	0

/*
 * The kind of entry that dat_ia_open() asks for; define DAT_TRUE before for "threadsafe" entries.
 */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE		DAT_FALSE
#endif

#ifndef DAT_EXTENSIONS
#define DAT_EXTENSIONS		1
#endif

/* Buffer alignment in bytes that suits every provider; see optimal_buffer_alignment. */
#define DAT_OPTIMAL_ALIGNMENT	256

#endif /* DAT2_UDAT_CONFIG_H */
