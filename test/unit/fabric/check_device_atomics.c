/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether a device has atomic operations, by a libibverbs of the test. */
#include "t_hooks.h"
#include "unit.h"

#include "fabric/device_atomics.h"
#include "fabric/quirks.h"

#include <rdma/fabric.h>

START_TEST(atomic_operations_are_wanted_where_they_work)
{
	ck_assert(dofi_atomics_wanted(DOFI_QUIRK_DEVICE_ATOMICS));
	ck_assert(!dofi_atomics_wanted(DOFI_QUIRK_DEVICE_ATOMICS | DOFI_QUIRK_ATOMIC_OPERANDS));
	ck_assert(!dofi_atomics_wanted(DOFI_QUIRK_ATOMIC_OPERANDS));
	ck_assert(!dofi_atomics_wanted(0));
}
END_TEST

#ifdef HAVE_INFINIBAND_VERBS_H

#include <dlfcn.h>
#include <infiniband/verbs.h>

/* --- libibverbs --- */

static struct ibv_device devices[2];
static const char *const names[] = {"mlx5_0", "mlx5_1"};
static struct ibv_device *list[] = {&devices[0], &devices[1], NULL};
static struct ibv_context contexts[2];
static enum ibv_atomic_cap caps[2];
static int query_answer;
static bool no_library, no_list, no_context;
static int nlibraries, nlists, ncontexts; /* that are in use */
static const char *missing;               /* function */

static struct ibv_device **get_list(int *n)
{
	ck_assert_ptr_null(n);
	nlists += !no_list;
	return no_list ? NULL : list;
}

static void free_list(struct ibv_device **freed)
{
	ck_assert_ptr_eq(freed, list);
	nlists--;
}

static const char *name_of(struct ibv_device *device)
{
	return names[device - devices];
}

static struct ibv_context *open_it(struct ibv_device *device)
{
	ncontexts += !no_context;
	return no_context ? NULL : &contexts[device - devices];
}

static int close_it(struct ibv_context *context)
{
	ck_assert(context == &contexts[0] || context == &contexts[1]);
	ncontexts--;
	return 0;
}

static int query(struct ibv_context *context, struct ibv_device_attr *attr)
{
	attr->atomic_cap = caps[context - contexts];
	return query_answer;
}

static const struct {
	const char *name;
	void (*function)(void);
} functions[] = {
	{"ibv_get_device_list", (void (*)(void))get_list},
	{"ibv_free_device_list", (void (*)(void))free_list},
	{"ibv_get_device_name", (void (*)(void))name_of},
	{"ibv_open_device", (void (*)(void))open_it},
	{"ibv_close_device", (void (*)(void))close_it},
	{"ibv_query_device", (void (*)(void))query},
};

#define NFUNCTIONS ((int)(sizeof(functions) / sizeof(functions[0])))

/* --- the loader; the linker redirects these calls --- */

T_STAND_IN void *__wrap_dlopen(const char *file, int mode);
T_STAND_IN void *__wrap_dlsym(void *handle, const char *name);
T_STAND_IN int __wrap_dlclose(void *handle);

void *__wrap_dlopen(const char *file, int mode)
{
	ck_assert_str_eq(file, "libibverbs.so.1");
	ck_assert_int_eq(mode, RTLD_NOW | RTLD_LOCAL);
	nlibraries += !no_library;
	return no_library ? NULL : &nlibraries;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	void *address = NULL;

	ck_assert_ptr_eq(handle, &nlibraries);
	for (int i = 0; i < NFUNCTIONS; i++)
		if (!strcmp(name, functions[i].name) && (!missing || strcmp(name, missing)))
			memcpy(&address, &functions[i].function, sizeof(address));
	return address;
}

int __wrap_dlclose(void *handle)
{
	ck_assert_ptr_eq(handle, &nlibraries);
	nlibraries--;
	return 0;
}

static bool does(const char *name, uint64_t quirks)
{
	char copy[16];
	struct fi_domain_attr domain = {.name = copy};
	struct fi_info info = {.domain_attr = &domain};
	bool it_does;

	snprintf(copy, sizeof(copy), "%s", name);
	it_does = dofi_device_does_atomics(&info, quirks);
	ck_assert_int_eq(nlists, 0);
	ck_assert_int_eq(ncontexts, 0);
	ck_assert_int_eq(nlibraries, 0);
	return it_does;
}

static void setup(void)
{
	caps[0] = caps[1] = IBV_ATOMIC_HCA;
}

START_TEST(a_device_tells_its_atomic_operations)
{
	ck_assert(does("mlx5_0", DOFI_QUIRK_DEVICE_ATOMICS));
	ck_assert(does("mlx5_1", ~(uint64_t)0));
	ck_assert(!does("mlx5_1", ~DOFI_QUIRK_DEVICE_ATOMICS));
	ck_assert(!does("mlx5", DOFI_QUIRK_DEVICE_ATOMICS));
	caps[0] = IBV_ATOMIC_NONE;
	ck_assert(!does("mlx5_0", DOFI_QUIRK_DEVICE_ATOMICS));
	ck_assert(does("mlx5_1", DOFI_QUIRK_DEVICE_ATOMICS));
	caps[0] = IBV_ATOMIC_GLOB;
	caps[1] = IBV_ATOMIC_NONE;
	ck_assert(does("mlx5_0", DOFI_QUIRK_DEVICE_ATOMICS));
	ck_assert(!does("mlx5_1", DOFI_QUIRK_DEVICE_ATOMICS));
}
END_TEST

START_TEST(a_device_that_can_not_be_asked_has_none)
{
	no_library = _i == 0;
	no_list = _i == 1;
	no_context = _i == 2;
	query_answer = _i == 3 ? ENOSYS : 0;
	ck_assert(!does("mlx5_0", DOFI_QUIRK_DEVICE_ATOMICS));
}
END_TEST

START_TEST(a_library_that_lacks_a_function)
{
	missing = functions[_i].name;
	ck_assert(!does("mlx5_0", DOFI_QUIRK_DEVICE_ATOMICS));
}
END_TEST

static void add_device_tests(TCase *tcase)
{
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_device_tells_its_atomic_operations);
	tcase_add_loop_test(tcase, a_device_that_can_not_be_asked_has_none, 0, 4);
	tcase_add_loop_test(tcase, a_library_that_lacks_a_function, 0, NFUNCTIONS);
}

#else

static void add_device_tests(TCase *tcase)
{
	(void)tcase;
}

#endif

int main(void)
{
	Suite *suite = suite_create("device_atomics");
	TCase *tcase = tcase_create("device_atomics");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, atomic_operations_are_wanted_where_they_work);
	add_device_tests(tcase);
	return t_run(suite);
}
