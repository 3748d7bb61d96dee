/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The entry points of the provider, and its tables. */
#ifndef DOFI_API_INIT_H
#define DOFI_API_INIT_H

#include "base/dat_api.h"

/*
 * Returns the table of the nth registration of an IA name, and its parameters; NULL if there is
 * none. An IA and all its objects begin with this pointer. Table and parameters exist as long as
 * the process.
 */
const DAT_PROVIDER *dofi_init_lookup(const char *ia_name, DAT_BOOLEAN thread_safe, unsigned int nth,
				     const char **ia_params_p);

#endif
