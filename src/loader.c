/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Provider libraries: dlopen, the two entry points, and messages about failures. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "loader.h"
#include "log.h"

/* Any address in this library, to find its file. */
#define OURSELVES ((void *)(uintptr_t)dats_get_ia_handle)

/*
 * Providers do not link with the registry: they find its functions in the global scope. If the
 * program itself was loaded into a local scope (as a plugin), the registry has to be added to the
 * global scope. False: there is none, because the program was loaded by dlmopen(). glibc (2.36 and
 * 2.41) crashes if something is to be added then.
 */
static bool make_us_global(void)
{
	Lmid_t space = LM_ID_BASE;
	void *handle, *global;
	Dl_info self;

	if (!dladdr(OURSELVES, &self))
		return true;
	handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if (!handle)
		return true;
	dlinfo(handle, RTLD_DI_LMID, &space);
	if (space == LM_ID_BASE) {
		global = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
		if (global)
			dlclose(global);
	}
	dlclose(handle);
	return space == LM_ID_BASE;
}

/*
 * Whether the program has more rights than its user. The user chooses its working directory and the
 * name by which it is started, so neither may lead to a library.
 */
static bool is_elevated(void)
{
	return getauxval(AT_SECURE) != 0;
}

static bool is_relative(const char *file)
{
	return *file != '/' && strchr(file, '/');
}

static void append(char *why, size_t size, const char *reason)
{
	size_t used = strlen(why);

	snprintf(why + used, size - used, "%s%s", used ? "; " : "", reason);
}

/* On failure the reason is appended to "why". */
static void *try_open(const char *file, char *why, size_t size)
{
	void *handle;

	if (is_elevated() && is_relative(file)) {
		append(why, size, file);
		append(why, size,
		       "this program has more rights than its user, so dat.conf has to give the "
		       "whole path");
		return NULL;
	}
	handle = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
	if (!handle)
		append(why, size, dlerror());
	return handle;
}

static void find_entry_points(struct datr_library *lib, const char *who)
{
	/* ISO C has no conversion from an object pointer to a function pointer. */
	void *init = dlsym(lib->handle, DAT_PROVIDER_INIT_FUNC_STR);
	void *fini = dlsym(lib->handle, DAT_PROVIDER_FINI_FUNC_STR);

	memcpy(&lib->init, &init, sizeof(init));
	memcpy(&lib->fini, &fini, sizeof(fini));
	if (!init || !fini)
		datr_log(DATR_LOG_STATIC, "IA %s: its library has no %s", who,
			 init ? DAT_PROVIDER_FINI_FUNC_STR : DAT_PROVIDER_INIT_FUNC_STR);
}

/*
 * The provider of this project: search where the loader searches, beside the registry, and where it
 * was installed.
 */
static void *try_default_places(char *why, size_t size)
{
	void *handle = try_open(DATR_PROVIDER_SONAME, why, size);
	char beside[PATH_MAX];
	const char *slash;
	Dl_info self;

	if (!handle && !is_elevated() && dladdr(OURSELVES, &self) &&
	    (slash = strrchr(self.dli_fname, '/'))) {
		snprintf(beside, sizeof(beside), "%.*s/%s", (int)(slash - self.dli_fname),
			 self.dli_fname, DATR_PROVIDER_SONAME);
		handle = try_open(beside, why, size);
	}
	return handle ? handle : try_open(DATR_LIBDIR "/" DATR_PROVIDER_SONAME, why, size);
}

bool datr_library_open(struct datr_library *lib, const char *file, const char *who)
{
	char why[4096] = "";

	lib->handle = NULL;
	if (!make_us_global()) {
		datr_log(DATR_LOG_ERROR,
			 "IA %s: its provider can't be loaded, because this library was loaded by "
			 "dlmopen(): providers look for it in the global scope; use dlopen()",
			 who);
		return false;
	}
	lib->handle =
		file ? try_open(file, why, sizeof(why)) : try_default_places(why, sizeof(why));
	if (!lib->handle) {
		datr_log(DATR_LOG_ERROR,
			 "IA %s: cannot load its provider library: %s (the search follows "
			 "LD_LIBRARY_PATH and ldconfig)",
			 who, why);
		return false;
	}
	find_entry_points(lib, who);
	return true;
}

void datr_library_close(struct datr_library *lib)
{
	dlclose(lib->handle);
	*lib = (struct datr_library){0};
}
