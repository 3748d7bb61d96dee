/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Libraries of providers. */
#ifndef DATR_LOADER_H
#define DATR_LOADER_H

#include <stdbool.h>

#include "version.h"

struct datr_library {
	void *handle;
	DAT_PROVIDER_INIT_FUNC init; /* may be NULL */
	DAT_PROVIDER_FINI_FUNC fini; /* may be NULL */
};

/*
 * File NULL is the provider of this project. "who" names the IA in messages. If false is returned,
 * the reason has been logged.
 */
bool datr_library_open(struct datr_library *lib, const char *file, const char *who);
void datr_library_close(struct datr_library *lib);

#endif
