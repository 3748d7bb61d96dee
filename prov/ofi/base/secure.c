/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/secure.h"

#include "base/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Prefixes of the variables of the libraries below us. */
static const char *const prefixes[] = {"FI_",  "HWLOC_", "PSM2_",  "PSM3_", "HFI_",
				       "UCX_", "IBV_",   "RDMAV_", "MLX4_", "MLX5_"};

static bool is_dangerous(const char *variable)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(variable, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* False when there is none. */
static bool remove_next(void)
{
	char name[256];

	for (char **v = environ; v && *v; v++) {
		size_t size = strcspn(*v, "=");

		if (!is_dangerous(*v))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)size, *v);
		if (size >= sizeof(name) || unsetenv(name)) {
			/*
			 * The variable cannot be removed: under another name no library reads it.
			 */
			(*v)[0] = '_';
			return true;
		}
		DOFI_LOG_W("%s is not taken from the environment, because this program runs with "
			   "more rights than its user",
			   name);
		return true;
	}
	return false;
}

void dofi_secure_environment(void)
{
	if (!getauxval(AT_SECURE))
		return;
	while (remove_next())
		;
}
