/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plugin_open LIBDAT NAME [apart]: loads the registry into a local scope, as a plugin does, or into
 * a name space of its own, and opens an IA. The exit status is 0 on success.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "dat_version.h"

typedef DAT_RETURN (*openv_fn)(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			       DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			       DAT_BOOLEAN thread_safety);
typedef DAT_RETURN (*close_fn)(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);

static void find(void *library, const char *name, void *function_p)
{
	void *symbol = dlsym(library, name);

	memcpy(function_p, &symbol, sizeof(symbol));
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	openv_fn openv;
	close_fn close;
	DAT_RETURN ret;
	void *libdat;

	if (argc < 3)
		return 2;
	libdat = argc > 3 ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW | RTLD_LOCAL)
			  : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!libdat) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	find(libdat, "dat_ia_openv", &openv);
	find(libdat, "dat_ia_close", &close);
	ret = openv(argv[2], 8, &evd, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE);
	if (ret != DAT_SUCCESS) {
		fprintf(stderr, "dat_ia_openv of %s answers 0x%x\n", argv[2], (unsigned int)ret);
		return 1;
	}
	return close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS ? 0 : 1;
}
