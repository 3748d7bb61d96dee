/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The libraries of providers: where they are looked for, and what is told of failures. The linker
 * redirects the calls of the dynamic loader.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

#include "../../lib/dat_version.h"
#include "../../lib/t_hooks.h"
#include "../../lib/unit.h"

#include "../../../src/loader.h"
#include "../../../src/version.h"

#define SELF  "/somewhere/libdat.so"
#define ALONE "libdat.so" /* a name without a folder */
#define NOW   (RTLD_NOW | RTLD_GLOBAL)

static bool elevated, unknown_self, apart;
static const char *self = SELF; /* the file of the registry */
static const char *loadable;    /* the only file that can be loaded; NULL: none */
static const char *missing;     /* the function that the library does not have */
static const char *reason = "no";
static char tried[8][64];
static unsigned int ntried, nselves, nglobal;
static int nopen; /* handles */

T_STAND_IN unsigned long __wrap_getauxval(unsigned long type);
T_STAND_IN int __wrap_dladdr(const void *address, Dl_info *info);
T_STAND_IN void *__wrap_dlopen(const char *file, int mode);
T_STAND_IN int __wrap_dlinfo(void *handle, int request, void *info);
T_STAND_IN int __wrap_dlclose(void *handle);
T_STAND_IN char *__wrap_dlerror(void);
T_STAND_IN void *__wrap_dlsym(void *handle, const char *name);

unsigned long __wrap_getauxval(unsigned long type)
{
	ck_assert_uint_eq(type, AT_SECURE);
	return elevated;
}

int __wrap_dladdr(const void *address, Dl_info *info)
{
	ck_assert_ptr_nonnull(address);
	*info = (Dl_info){.dli_fname = self};
	return !unknown_self;
}

void *__wrap_dlopen(const char *file, int mode)
{
	if (mode & RTLD_NOLOAD) {
		ck_assert_int_eq(mode & ~RTLD_GLOBAL, RTLD_NOW | RTLD_NOLOAD);
		nglobal += (mode & RTLD_GLOBAL) != 0;
		ck_assert_str_eq(file, self);
		ck_assert_uint_eq(ntried, 0);
		nopen++;
		nselves++;
		return &nselves;
	}
	ck_assert_int_eq(mode, NOW);
	ck_assert_uint_lt(ntried, 8);
	snprintf(tried[ntried++], sizeof(tried[0]), "%s", file);
	if (!loadable || strcmp(file, loadable) != 0)
		return NULL;
	nopen++;
	return &ntried;
}

int __wrap_dlinfo(void *handle, int request, void *info)
{
	ck_assert_ptr_eq(handle, &nselves);
	ck_assert_int_eq(request, RTLD_DI_LMID);
	*(Lmid_t *)info = apart ? LM_ID_BASE + 1 : LM_ID_BASE;
	return 0;
}

int __wrap_dlclose(void *handle)
{
	ck_assert(handle == &nselves || handle == &ntried);
	nopen--;
	return 0;
}

char *__wrap_dlerror(void)
{
	return (char *)(uintptr_t)reason;
}

static void entry_point(void)
{
}

void *__wrap_dlsym(void *handle, const char *name)
{
	void (*function)(void) = entry_point;
	void *address;

	ck_assert_ptr_eq(handle, &ntried);
	memcpy(&address, &function, sizeof(address));
	return missing && !strcmp(name, missing) ? NULL : address;
}

static struct datr_library lib;

/* --- the places --- */

static const struct {
	bool elevated;
	const char *self, *file;
	const char *tried[3];
} places[] = {
	{false, SELF, "/a/lib.so", {"/a/lib.so"}},
	{false, SELF, "lib.so", {"lib.so"}},
	{false, SELF, "a/lib.so", {"a/lib.so"}},
	{true, SELF, "/a/lib.so", {"/a/lib.so"}},
	{true, SELF, "lib.so", {"lib.so"}},
	{true, SELF, "a/lib.so", {NULL}},
	{true, SELF, "./lib.so", {NULL}},
	{false,
	 SELF,
	 NULL,
	 {DATR_PROVIDER_SONAME, "/somewhere/" DATR_PROVIDER_SONAME,
	  "/usr/lib/dat/" DATR_PROVIDER_SONAME}},
	{false,
	 "/libdat.so",
	 NULL,
	 {DATR_PROVIDER_SONAME, "/" DATR_PROVIDER_SONAME, "/usr/lib/dat/" DATR_PROVIDER_SONAME}},
	{false, ALONE, NULL, {DATR_PROVIDER_SONAME, "/usr/lib/dat/" DATR_PROVIDER_SONAME}},
	{false, NULL, NULL, {DATR_PROVIDER_SONAME, "/usr/lib/dat/" DATR_PROVIDER_SONAME}},
	{true, SELF, NULL, {DATR_PROVIDER_SONAME, "/usr/lib/dat/" DATR_PROVIDER_SONAME}},
};

/* In this order, until one is found. */
START_TEST(test_places_of_a_library)
{
	unsigned int n = 0;

	t_capture(STDERR_FILENO);
	elevated = places[_i].elevated;
	self = places[_i].self;
	unknown_self = !self;
	ck_assert(!datr_library_open(&lib, places[_i].file, "ib0"));
	while (n < 3 && places[_i].tried[n])
		n++;
	ck_assert_uint_eq(ntried, n);
	for (unsigned int i = 0; i < n; i++)
		ck_assert_str_eq(tried[i], places[_i].tried[i]);
	ck_assert_ptr_null(lib.handle);
	ck_assert_uint_eq(nselves, unknown_self ? 0 : 2);
	ck_assert_uint_eq(nglobal, !unknown_self);
	ck_assert_int_eq(nopen, 0);
	for (unsigned int i = 0; i < n; i++) {
		ntried = 0;
		loadable = places[_i].tried[i];
		ck_assert(datr_library_open(&lib, places[_i].file, "ib0"));
		ck_assert_uint_eq(ntried, i + 1);
		ck_assert_int_eq(nopen, 1);
		datr_library_close(&lib);
		ck_assert_int_eq(nopen, 0);
	}
}
END_TEST

/* The loader would crash if it were asked to make the registry global. */
START_TEST(test_registry_in_a_name_space_of_its_own)
{
	int log = t_capture(STDERR_FILENO);

	loadable = "/a/lib.so";
	apart = true;
	ck_assert(!datr_library_open(&lib, "/a/lib.so", "ib0"));
	ck_assert_ptr_null(lib.handle);
	ck_assert_uint_eq(ntried, 0);
	ck_assert_uint_eq(nglobal, 0);
	ck_assert_int_eq(nopen, 0);
	ck_assert_ptr_nonnull(strstr(t_captured(log), "IA ib0: its provider can't be loaded"));
}
END_TEST

/* --- what is told --- */

START_TEST(test_message_of_each_place)
{
	int log = t_capture(STDERR_FILENO);

	reason = "why";
	ck_assert(!datr_library_open(&lib, NULL, "ib0"));
	ck_assert_ptr_nonnull(strstr(t_captured(log),
				     "IA ib0: cannot load its provider library: why; why; why "
				     "(the search follows LD_LIBRARY_PATH and ldconfig)\n"));
	log = t_capture(STDERR_FILENO);
	ntried = 0;
	elevated = true;
	ck_assert(!datr_library_open(&lib, "a/lib.so", "ib0"));
	ck_assert_ptr_nonnull(strstr(t_captured(log),
				     "library: a/lib.so; this program has more rights than its "
				     "user, so dat.conf has to give the whole path (the"));
}
END_TEST

/* The loader's reasons may be longer than the room for them. */
START_TEST(test_long_reasons_are_cut_off)
{
	static char text[3000];
	int log = t_capture(STDERR_FILENO);

	memset(text, 'x', sizeof(text) - 1);
	reason = text;
	ck_assert(!datr_library_open(&lib, NULL, "ib0"));
	ck_assert_ptr_nonnull(strstr(t_captured(log), "xxx; xxx"));
	ck_assert_ptr_nonnull(strstr(t_captured(log), "xxx (the search follows"));
	ck_assert_uint_le(strlen(t_captured(log)), 4300);
}
END_TEST

/* --- entry points --- */

START_TEST(test_library_that_has_one_entry_point)
{
	static const char *const names[] = {DAT_PROVIDER_INIT_FUNC_STR, DAT_PROVIDER_FINI_FUNC_STR};
	int log = t_capture(STDERR_FILENO);
	char wanted[80];

	setenv("DAT_DBG_TYPE", "0xffff", 1);
	loadable = "lib.so";
	missing = names[_i];
	ck_assert(datr_library_open(&lib, "lib.so", "ib0"));
	ck_assert_int_eq(lib.init != NULL, _i == 1);
	ck_assert_int_eq(lib.fini != NULL, _i == 0);
	snprintf(wanted, sizeof(wanted), "IA ib0: its library has no %s\n", names[_i]);
	ck_assert_ptr_nonnull(strstr(t_captured(log), wanted));
	datr_library_close(&lib);
	ck_assert_ptr_null(lib.handle);
	ck_assert(!lib.init && !lib.fini);
}
END_TEST

START_TEST(test_library_that_has_both_entry_points)
{
	int log = t_capture(STDERR_FILENO);

	setenv("DAT_DBG_TYPE", "0xffff", 1);
	loadable = "lib.so";
	ck_assert(datr_library_open(&lib, "lib.so", "ib0"));
	ck_assert(lib.init && lib.fini);
	ck_assert_str_eq(t_captured(log), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader");
	TCase *tc = tcase_create("loader");

	suite_add_tcase(suite, tc);
	tcase_add_loop_test(tc, test_places_of_a_library, 0,
			    (int)(sizeof(places) / sizeof(places[0])));
	tcase_add_test(tc, test_registry_in_a_name_space_of_its_own);
	tcase_add_test(tc, test_message_of_each_place);
	tcase_add_test(tc, test_long_reasons_are_cut_off);
	tcase_add_loop_test(tc, test_library_that_has_one_entry_point, 0, 2);
	tcase_add_test(tc, test_library_that_has_both_entry_points);
	return t_run(suite);
}
