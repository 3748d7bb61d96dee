/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/foresight.h"

#include "base/param.h"
#include "fabric/quirks.h"
#include "fabric/topo.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_rdma_device(void)
{
	char path[256];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/class/infiniband", dofi_sysfs);
	folder = opendir(path);
	if (!folder)
		return false;
	do
		entry = readdir(folder);
	while (entry && *entry->d_name == '.');
	closedir(folder);
	return entry;
}

/* An IA that names no provider gets what the host has; "ofi_rxm" names none that has a device. */
bool dofi_quirk_may_come(const struct dofi_params *params, uint64_t quirks)
{
	const char *filter = secure_getenv("FI_PROVIDER");

	if (*params->provider && strncmp(params->provider, "ofi_", 4))
		return dofi_quirk_is_possible(quirks, params->provider);
	if (filter && *filter && !dofi_quirk_is_possible(quirks, filter))
		return false;
	return has_rdma_device();
}
