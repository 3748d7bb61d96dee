/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the tests of the registry share: opening IAs, providers inside the program, and the place
 * of the provider that needs no dat.conf. T_MODULE is the fake provider as a module. world_run()
 * makes a directory that has it under the name of our own provider, too.
 */
#ifndef REGISTRY_WORLD_H
#define REGISTRY_WORLD_H

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "../../lib/fake_provider.h"
#include "../../lib/unit.h"

struct t_fake_record t_fake;

#define MINOR DAT_VERSION_MINOR
#define MAJOR DAT_VERSION_MAJOR
#define LINE(name, params) \
	name " " T_API " nonthreadsafe default " T_MODULE " fake.1.0 \"" params "\" \"\"\n"
#define UNLOADABLE_LINE(name, api) \
	name " " api " nonthreadsafe default /no/such/library.so fake.1.0 x y\n"
#define NOT_FOUND(subtype) T_ERR(DAT_PROVIDER_NOT_FOUND, subtype)
#define BAD_ARG(n)         T_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

static inline DAT_RETURN openv(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
			       DAT_BOOLEAN safe, DAT_IA_HANDLE *ia)
{
	DAT_NAME_PTR name_ptr = (DAT_NAME_PTR)(uintptr_t)name;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_openv(name_ptr, 8, &evd, ia, major, minor, safe);
}

/* Opens an IA as a compiled program does. IA-020 */
static inline DAT_RETURN open_stock(const char *name, DAT_IA_HANDLE *ia)
{
	DAT_NAME_PTR name_ptr = (DAT_NAME_PTR)(uintptr_t)name;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_open(name_ptr, 8, &evd, ia);
}

static inline DAT_IA_HANDLE must_open(const char *name)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	ck_assert_uint_eq(open_stock(name, &ia), DAT_SUCCESS);
	ck_assert_ptr_nonnull(ia);
	return ia;
}

static inline void must_close(DAT_IA_HANDLE ia)
{
	ck_assert_uint_eq(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static inline void assert_cannot_open(const char *name, DAT_RETURN want)
{
	DAT_IA_HANDLE ia;

	ck_assert_uint_eq(open_stock(name, &ia), want);
}

static inline void assert_loads(int inits, int finis)
{
	ck_assert_int_eq(t_fake.inits, inits);
	ck_assert_int_eq(t_fake.finis, finis);
}

static inline bool module_is_loaded(void)
{
	void *handle = dlopen(T_MODULE, RTLD_NOW | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
	return handle;
}

#define MAX_LIST 32

static DAT_PROVIDER_INFO infos[MAX_LIST];
static DAT_PROVIDER_INFO *info_list[MAX_LIST];

static inline int list_all(void)
{
	DAT_COUNT count = -1;

	for (int i = 0; i < MAX_LIST; i++)
		info_list[i] = &infos[i];
	ck_assert_uint_eq(dat_registry_list_providers(MAX_LIST, &count, info_list), DAT_SUCCESS);
	return count;
}

static inline int times_listed(const char *name)
{
	int times = 0;

	for (int i = list_all(); i-- > 0;)
		times += !strcmp(infos[i].ia_name, name);
	return times;
}

/* ---- providers inside the program ---- */

static struct {
	const DAT_PROVIDER *table;
} own_object;

static inline DAT_RETURN own_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
				  DAT_IA_HANDLE *ia)
{
	(void)name, (void)qlen, (void)evd;
	*ia = &own_object;
	return DAT_SUCCESS;
}

static inline DAT_RETURN own_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia, (void)flags;
	return DAT_SUCCESS;
}

static DAT_PROVIDER own_table = {.ia_open_func = own_open, .ia_close_func = own_close};

static inline DAT_PROVIDER_INFO make_info(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
					  DAT_BOOLEAN safe)
{
	DAT_PROVIDER_INFO info = {.dapl_version_major = major,
				  .dapl_version_minor = minor,
				  .is_thread_safe = safe};

	own_object.table = &own_table;
	strcpy(info.ia_name, name);
	return info;
}

static inline DAT_PROVIDER_INFO must_add(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
					 DAT_BOOLEAN safe)
{
	DAT_PROVIDER_INFO info = make_info(name, major, minor, safe);

	ck_assert_uint_eq(dat_registry_add_provider(&own_table, &info), DAT_SUCCESS);
	return info;
}

/* ---- other threads ---- */

static void *list_nothing(void *arg)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_COUNT count;

	(void)arg;
	dat_registry_list_providers(0, &count, NULL);
	dats_get_ia_handle(T_IA_ARG(&ia), &ia);
	return NULL;
}

/* No call keeps a lock of the registry: another thread may call it after each. */
static inline void ck_free_for_others(void)
{
	struct timespec limit;
	pthread_t thread;

	ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &limit), 0);
	limit.tv_sec += 30;
	ck_assert_int_eq(pthread_create(&thread, NULL, list_nothing, NULL), 0);
	ck_assert_int_eq(pthread_timedjoin_np(thread, NULL, &limit), 0);
}

/* ---- the program ---- */

/* No case reads the dat.conf of this machine. */
static inline void empty_conf(void)
{
	t_conf("# nothing\n");
}

static inline TCase *add_case(Suite *suite, const char *name)
{
	TCase *tc = tcase_create(name);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, empty_conf, ck_free_for_others);
	return tc;
}

static inline void in_directory(char *path, const char *file)
{
	snprintf(path, PATH_MAX, "%s/%s", getenv("T_DIR"), file);
}

static inline bool link_in_directory(const char *target, const char *file)
{
	char path[PATH_MAX], absolute[PATH_MAX];

	in_directory(path, file);
	return target && realpath(target, absolute) && !symlink(absolute, path);
}

static inline void remove_directory(void)
{
	char path[PATH_MAX];

	in_directory(path, T_PROVIDER_SONAME);
	unlink(path);
	in_directory(path, T_LIBDAT);
	unlink(path);
	rmdir(getenv("T_DIR"));
}

/* The path of the registry that this program runs with. */
static inline const char *own_libdat(void)
{
	void *address = dlsym(RTLD_DEFAULT, "dat_ia_openv");
	static Dl_info info;

	return address && dladdr(address, &info) ? info.dli_fname : NULL;
}

/* The loader reads its search path once, so the program starts itself again. */
static inline int run_with_directory(char **argv)
{
	const char *search = getenv("LD_LIBRARY_PATH");
	char dir[] = "/tmp/check_registry.XXXXXX";
	char path[PATH_MAX], self[PATH_MAX];

	if (!realpath("/proc/self/exe", self) || !mkdtemp(dir)) {
		perror(dir);
		return EXIT_FAILURE;
	}
	setenv("T_DIR", dir, 1);
	if (link_in_directory(T_MODULE, T_PROVIDER_SONAME) &&
	    link_in_directory(own_libdat(), T_LIBDAT)) {
		snprintf(path, sizeof(path), "%s%s%s", dir, search ? ":" : "",
			 search ? search : "");
		setenv("LD_LIBRARY_PATH", path, 1);
		execv(self, argv);
	}
	perror("cannot start the tests");
	remove_directory();
	return EXIT_FAILURE;
}

/* Runs the tests that "add" adds. The value is that of main(). */
static inline int world_run(char **argv, const char *name, void (*add)(Suite *suite))
{
	Suite *suite = suite_create(name);
	int ret;

	if (!getenv("T_DIR"))
		return run_with_directory(argv);
	add(suite);
	ret = t_run(suite);
	remove_directory();
	return ret;
}

#endif
