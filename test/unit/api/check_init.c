/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The entry points: how the provider finds its registry, and the names that it offers there. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/api/init.c"

/* --- a registry --- */

static struct {
	DAT_RETURN ret;
	int adds, removes;
	const DAT_PROVIDER *provider; /* of the latest call */
	const DAT_PROVIDER_INFO *info;
} reg;

static int held; /* times that the list of names is locked; Check locks other things */

static DAT_RETURN add_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	ck_assert_int_eq(held, 0); /* the registry may hold its own */
	reg.adds++;
	reg.provider = provider;
	reg.info = info;
	return reg.ret;
}

static DAT_RETURN remove_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	ck_assert_int_eq(held, 0);
	reg.removes++;
	reg.provider = provider;
	reg.info = info;
	return DAT_SUCCESS;
}

static DAT_RETURN number_of_ia(DAT_IA_HANDLE ia, DAT_IA_HANDLE *handle_p)
{
	*handle_p = ia;
	return DAT_SUCCESS;
}

/* --- where its functions are; the linker redirects these calls --- */

enum { AT_CALLER, AT_VERSION, AT_PLAIN };

static struct {
	int place;               /* where the functions are found */
	const char *missing;     /* the function that dlsym does not find */
	bool no_object, no_name; /* that dladdr finds */
	int opens;
	dofi_ia_number_fn *numbers;
} where = {.place = AT_CALLER};

static char caller[] = "libdat2.so.2"; /* its name and its handle */

T_STAND_IN int __wrap_dladdr(const void *address, Dl_info *info);
T_STAND_IN void *__wrap_dlopen(const char *file, int mode);
T_STAND_IN void *__wrap_dlsym(void *handle, const char *name);
T_STAND_IN void *__wrap_dlvsym(void *handle, const char *name, const char *version);
void __wrap_dofi_obj_set_ia_numbers(dofi_ia_number_fn *fn);

int __wrap_dladdr(const void *address, Dl_info *info)
{
	ck_assert_ptr_nonnull(address);
	info->dli_fname = where.no_name ? NULL : caller;
	return !where.no_object;
}

void *__wrap_dlopen(const char *file, int mode)
{
	ck_assert_int_eq(held, 1);
	ck_assert_ptr_eq(file, caller);
	ck_assert_int_eq(mode, RTLD_LAZY | RTLD_NOLOAD);
	where.opens++;
	return caller;
}

static void *symbol_at(int place, const char *name)
{
	void *symbol = NULL;

	if (place != where.place || (where.missing && !strcmp(name, where.missing)))
		return NULL;
	if (!strcmp(name, "dat_registry_add_provider"))
		symbol = (void *)(uintptr_t)add_provider;
	else if (!strcmp(name, "dat_registry_remove_provider"))
		symbol = (void *)(uintptr_t)remove_provider;
	else if (!strcmp(name, "dats_get_ia_handle"))
		symbol = (void *)(uintptr_t)number_of_ia;
	return symbol;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	ck_assert(handle == caller || handle == RTLD_DEFAULT);
	return symbol_at(handle == caller ? AT_CALLER : AT_PLAIN, name);
}

void *__wrap_dlvsym(void *handle, const char *name, const char *version)
{
	ck_assert_ptr_eq(handle, RTLD_DEFAULT);
	ck_assert_str_eq(version, "DAT_2.0");
	return symbol_at(AT_VERSION, name);
}

void __wrap_dofi_obj_set_ia_numbers(dofi_ia_number_fn *fn)
{
	where.numbers = fn;
}

/* --- locks and memory; the linker redirects these calls --- */

static void *block; /* the latest one for a name */
static bool block_fails, copy_fails, freed;

T_STAND_IN int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
T_STAND_IN int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
T_STAND_IN char *__wrap_strdup(const char *text);
char *__real_strdup(const char *text);
T_STAND_IN void __wrap_free(void *old);
void __real_free(void *old);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	bool ours = mutex == &entries_lock;

	if (ours)
		ck_assert_int_eq(held, 0);
	held += ours;
	return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	bool ours = mutex == &entries_lock;

	held -= ours;
	if (ours)
		ck_assert_int_eq(held, 0);
	return __real_pthread_mutex_unlock(mutex);
}

void *__wrap_calloc(size_t n, size_t size)
{
	if (size != sizeof(struct entry))
		return __real_calloc(n, size);
	return block_fails ? NULL : (block = __real_calloc(n, size));
}

char *__wrap_strdup(const char *text)
{
	return copy_fails && !strcmp(text, "words") ? NULL : __real_strdup(text);
}

void __wrap_free(void *old)
{
	freed |= old && old == block;
	__real_free(old);
}

/* --- the environment --- */

static int secured;
static const char *level_seen;

void __wrap_dofi_secure_environment(void);
void __wrap_dofi_log_set_level(const char *level);

void __wrap_dofi_secure_environment(void)
{
	secured++;
}

void __wrap_dofi_log_set_level(const char *level)
{
	level_seen = level;
}

/* --- */

static DAT_PROVIDER_INFO info_of(const char *name, DAT_BOOLEAN thread_safe)
{
	DAT_PROVIDER_INFO info = {.dapl_version_major = 2,
				  .dapl_version_minor = 0,
				  .is_thread_safe = thread_safe};

	strcpy(info.ia_name, name);
	return info;
}

/* Lines of the registry: each has an address of its own. */
static DAT_PROVIDER_INFO lines[DOFI_IA_LINES + 1];

static void offer_line(unsigned int line, const char *name, DAT_BOOLEAN thread_safe,
		       const char *ia_params)
{
	lines[line] = info_of(name, thread_safe);
	dat_provider_init(&lines[line], ia_params);
	ck_assert_int_eq(held, 0);
}

static void withdraw_line(unsigned int line, const char *name, DAT_BOOLEAN thread_safe)
{
	lines[line] = info_of(name, thread_safe);
	dat_provider_fini(&lines[line]);
	ck_assert_int_eq(held, 0);
}

static void offer(const char *name, DAT_BOOLEAN thread_safe, const char *ia_params)
{
	offer_line(0, name, thread_safe, ia_params);
}

static void withdraw(const char *name, DAT_BOOLEAN thread_safe)
{
	withdraw_line(0, name, thread_safe);
}

/* The parameters of a name that is offered; NULL for others. */
static const char *params_of_nth(const char *name, DAT_BOOLEAN thread_safe, unsigned int nth)
{
	const char *ia_params = NULL;
	const DAT_PROVIDER *provider = dofi_init_lookup(name, thread_safe, nth, &ia_params);

	ck_assert_int_eq(held, 0);
	ck_assert_int_eq(provider != NULL, ia_params != NULL);
	return ia_params;
}

static const char *params_of(const char *name, DAT_BOOLEAN thread_safe)
{
	return params_of_nth(name, thread_safe, 0);
}

/* --- the registry --- */

/* A process may have several registries: the one that calls comes first. */
START_TEST(the_registry_is_found)
{
	static const struct {
		int place, opens;
		bool no_object, no_name;
	} cases[] = {{AT_CALLER, 1, false, false},
		     {AT_VERSION, 1, false, false},
		     {AT_PLAIN, 1, false, false},
		     {AT_VERSION, 0, true, false},
		     {AT_PLAIN, 0, false, true}};

	where.place = cases[_i].place;
	where.no_object = cases[_i].no_object;
	where.no_name = cases[_i].no_name;
	offer("a name", DAT_FALSE, "words");
	ck_assert_int_eq(reg.adds, 1);
	ck_assert_int_eq(where.opens, cases[_i].opens);
	ck_assert(where.numbers == number_of_ia);
	ck_assert_str_eq(params_of("a name", DAT_FALSE), "words");
	offer("another", DAT_FALSE, "words"); /* it is known now */
	ck_assert_int_eq(where.opens, cases[_i].opens);
	ck_assert_int_eq(reg.adds, 2);
}
END_TEST

START_TEST(both_functions_of_the_registry_are_needed)
{
	static const char *const missing[] = {"dat_registry_add_provider",
					      "dat_registry_remove_provider"};
	int said = t_capture(STDERR_FILENO);

	where.missing = missing[_i];
	offer("a name", DAT_FALSE, "words");
	ck_assert_int_eq(reg.adds, 0);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "IA a name: nothing in this process is a "
						       "DAT registry"));
	ck_assert_ptr_null(params_of("a name", DAT_FALSE));
	where.missing = NULL; /* it has been loaded meanwhile */
	offer("a name", DAT_FALSE, "words");
	ck_assert_int_eq(reg.adds, 1);
}
END_TEST

/* A registry that does not number IAs has handles that are pointers. */
START_TEST(a_registry_may_not_number_ias)
{
	where.missing = "dats_get_ia_handle";
	where.numbers = number_of_ia;
	offer("a name", DAT_FALSE, "words");
	ck_assert(where.numbers == NULL);
	ck_assert_int_eq(reg.adds, 1);
}
END_TEST

/* --- names --- */

START_TEST(a_name_is_offered_with_a_table_of_its_own)
{
	const DAT_PROVIDER *plain;

	offer("a name", DAT_FALSE, "words");
	plain = reg.provider;
	ck_assert_str_eq(reg.info->ia_name, "a name");
	ck_assert_int_eq(reg.info->is_thread_safe, DAT_FALSE);
	ck_assert_ptr_eq(plain->device_name, reg.info->ia_name);
	ck_assert(plain->ia_open_func == dofi_ia_open);
	ck_assert(plain->ia_close_func == dofi_provider.ia_close_func);
	offer("a name", DAT_TRUE, NULL);
	ck_assert_ptr_ne(reg.provider, plain);
	ck_assert_int_eq(reg.info->is_thread_safe, DAT_TRUE);
	ck_assert_ptr_eq(reg.provider->device_name, reg.info->ia_name);
	ck_assert(reg.provider->ia_open_func == dofi_ia_open_of(DAT_TRUE, 0));
	ck_assert_str_eq(params_of("a name", DAT_FALSE), "words");
	ck_assert_str_eq(params_of("a name", DAT_TRUE), "");
	ck_assert_ptr_null(params_of("another", DAT_FALSE));
}
END_TEST

/* A registry may refuse further lines of a name that it has. */
START_TEST(a_name_that_comes_again_has_the_same_table)
{
	const DAT_PROVIDER *first;

	offer("a name", DAT_FALSE, "words");
	first = reg.provider;
	offer("another", DAT_FALSE, "words");
	ck_assert_ptr_ne(reg.provider, first);
	reg.ret = DOFI_ERR(DAT_PROVIDER_ALREADY_REGISTERED, 0);
	offer_line(1, "a name", DAT_FALSE, "other words");
	ck_assert_ptr_ne(reg.provider, first);
	ck_assert_str_eq(params_of("a name", DAT_FALSE), "words");
	ck_assert_ptr_null(params_of_nth("a name", DAT_FALSE, 1));
	withdraw_line(1, "a name", DAT_FALSE); /* the registry may end it all the same */
	ck_assert_int_eq(reg.removes, 0);
	withdraw("a name", DAT_FALSE);
	ck_assert_int_eq(reg.removes, 1);
	ck_assert_ptr_eq(reg.provider, first);
	ck_assert_str_eq(reg.info->ia_name, "a name");
	ck_assert_ptr_null(params_of("a name", DAT_FALSE));
	reg.ret = DAT_SUCCESS;
	offer("a name", DAT_FALSE, "other words");
	ck_assert_ptr_ne(reg.provider, first);
	ck_assert_str_eq(params_of("a name", DAT_FALSE), "other words");
	withdraw("a name", DAT_FALSE);
	offer("a name", DAT_FALSE, "words");
	ck_assert_ptr_eq(reg.provider, first); /* tables are never freed, so they are used again */
	ck_assert_str_eq(params_of("a name", DAT_FALSE), "words");
}
END_TEST

/* One of them has an open IA, while another one is tried. */
START_TEST(lines_of_one_name)
{
	const DAT_PROVIDER *second;

	offer_line(0, "a name", DAT_FALSE, "first");
	offer_line(1, "a name", DAT_FALSE, "second");
	second = reg.provider;
	ck_assert(second->ia_open_func == dofi_ia_open_of(DAT_FALSE, 1));
	ck_assert_str_eq(params_of_nth("a name", DAT_FALSE, 0), "first");
	ck_assert_str_eq(params_of_nth("a name", DAT_FALSE, 1), "second");
	offer_line(2, "a name", DAT_TRUE, "second");
	ck_assert(reg.provider->ia_open_func == dofi_ia_open_of(DAT_TRUE, 0));
	withdraw_line(0, "a name", DAT_FALSE);
	ck_assert_ptr_ne(reg.provider, second);
	ck_assert_ptr_null(params_of_nth("a name", DAT_FALSE, 0));
	ck_assert_str_eq(params_of_nth("a name", DAT_FALSE, 1), "second");
	offer_line(3, "a name", DAT_FALSE, "second"); /* the same parameters */
	ck_assert_ptr_ne(reg.provider, second);
	ck_assert(reg.provider->ia_open_func == dofi_ia_open_of(DAT_FALSE, 0));
	withdraw_line(1, "a name", DAT_FALSE);
	ck_assert_ptr_eq(reg.provider, second);
	ck_assert_str_eq(params_of_nth("a name", DAT_FALSE, 0), "second");
	/* A registry that calls the line otherwise now. */
	withdraw_line(4, "a name", DAT_FALSE);
	ck_assert_int_eq(reg.removes, 3);
	ck_assert_ptr_null(params_of_nth("a name", DAT_FALSE, 0));
	ck_assert_str_eq(params_of_nth("a name", DAT_TRUE, 0), "second");
}
END_TEST

START_TEST(too_many_lines_of_one_name)
{
	int said = t_capture(STDERR_FILENO);
	unsigned int i;

	for (i = 0; i < DOFI_IA_LINES; i++) {
		offer_line(i, "a name", DAT_FALSE, "words");
		ck_assert(reg.provider->ia_open_func == dofi_ia_open_of(DAT_FALSE, i));
		for (unsigned int j = 0; j < i; j++)
			ck_assert(reg.provider->ia_open_func != dofi_ia_open_of(DAT_FALSE, j) &&
				  reg.provider->ia_open_func != dofi_ia_open_of(DAT_TRUE, j));
	}
	ck_assert_str_eq(t_captured(said), "");
	offer_line(i, "a name", DAT_FALSE, "words");
	ck_assert_ptr_nonnull(strstr(t_captured(said),
				     "IA a name can't be offered to the registry: "
				     "too many lines of its name are in use"));
	ck_assert_int_eq(reg.adds, DOFI_IA_LINES);
	withdraw_line(3, "a name", DAT_FALSE);
	offer_line(i, "a name", DAT_FALSE, "words");
	ck_assert(reg.provider->ia_open_func == dofi_ia_open_of(DAT_FALSE, 3));
}
END_TEST

START_TEST(only_a_name_that_is_offered_is_withdrawn)
{
	offer("a name", DAT_FALSE, "words");
	withdraw("another", DAT_FALSE);
	withdraw("a name", DAT_TRUE);
	dat_provider_fini(NULL);
	ck_assert_int_eq(reg.removes, 0);
	ck_assert_str_eq(params_of("a name", DAT_FALSE), "words");
	withdraw("a name", DAT_FALSE);
	withdraw("a name", DAT_FALSE);
	ck_assert_int_eq(reg.removes, 1);
}
END_TEST

START_TEST(a_registry_may_refuse_a_name)
{
	int said = t_capture(STDERR_FILENO);

	reg.ret = _i ? DOFI_ERR(DAT_PROVIDER_ALREADY_REGISTERED, 0)
		     : DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	offer("a name", DAT_FALSE, "words");
	ck_assert_ptr_null(params_of("a name", DAT_FALSE));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "IA a name: the registry refuses"));
	ck_assert_int_eq(strstr(t_captured(said), "rename one of the two lines") != NULL, _i);
}
END_TEST

START_TEST(a_name_that_is_offered_again_is_no_error)
{
	int said = t_capture(STDERR_FILENO);

	offer("a name", DAT_FALSE, "words");
	reg.ret = DOFI_ERR(DAT_PROVIDER_ALREADY_REGISTERED, 0);
	offer("a name", DAT_FALSE, "words");
	ck_assert_int_eq(reg.adds, 2);
	ck_assert_str_eq(t_captured(said), "");
}
END_TEST

START_TEST(without_memory_a_name_is_not_offered)
{
	int said = t_capture(STDERR_FILENO);

	block_fails = !_i;
	copy_fails = _i;
	offer("a name", DAT_FALSE, "words");
	ck_assert_int_eq(freed, _i);
	ck_assert_int_eq(reg.adds, 0);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "IA a name can't be offered to the "
						       "registry: out of memory"));
	block_fails = copy_fails = false;
	offer("a name", DAT_FALSE, "words");
	ck_assert_int_eq(reg.adds, 1);
}
END_TEST

/* --- arguments and the environment --- */

START_TEST(a_name_has_an_end_and_a_version)
{
	DAT_PROVIDER_INFO endless = info_of("a name", DAT_FALSE), major = endless, minor = endless;
	int said = t_capture(STDERR_FILENO);

	memset(endless.ia_name, 'n', sizeof(endless.ia_name));
	dat_provider_init(NULL, "words");
	dat_provider_init(&endless, "words");
	ck_assert_str_eq(t_captured(said), "");
	major.dapl_version_major = 1;
	dat_provider_init(&major, "words");
	ck_assert_ptr_nonnull(strstr(t_captured(said), "asks for DAT 1.0; this library serves DAT "
						       "2.0"));
	minor.dapl_version_minor = 1;
	dat_provider_init(&minor, "words");
	ck_assert_ptr_nonnull(strstr(t_captured(said), "asks for DAT 2.1; this library serves DAT "
						       "2.0"));
	ck_assert_int_eq(reg.adds, 0);
	ck_assert_int_eq(where.opens, 0);
	endless.ia_name[sizeof(endless.ia_name) - 1] = '\0';
	dat_provider_init(&endless, "words");
	ck_assert_int_eq(reg.adds, 1);
}
END_TEST

START_TEST(the_environment_is_read_first)
{
	ck_assert_int_eq(unsetenv("DAT_OFI_LOG"), 0);
	dat_provider_init(NULL, NULL);
	ck_assert_str_eq(level_seen, "");
	ck_assert_int_eq(secured, 1);
	ck_assert_int_eq(setenv("DAT_OFI_LOG", "debug", 1), 0);
	dat_provider_init(NULL, NULL);
	ck_assert_str_eq(level_seen, "debug");
	ck_assert_int_eq(secured, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("init");
	TCase *tcase = tcase_create("init");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, the_registry_is_found, 0, 5);
	tcase_add_loop_test(tcase, both_functions_of_the_registry_are_needed, 0, 2);
	tcase_add_test(tcase, a_registry_may_not_number_ias);
	tcase_add_test(tcase, a_name_is_offered_with_a_table_of_its_own);
	tcase_add_test(tcase, a_name_that_comes_again_has_the_same_table);
	tcase_add_test(tcase, lines_of_one_name);
	tcase_add_test(tcase, too_many_lines_of_one_name);
	tcase_add_test(tcase, only_a_name_that_is_offered_is_withdrawn);
	tcase_add_loop_test(tcase, a_registry_may_refuse_a_name, 0, 2);
	tcase_add_test(tcase, a_name_that_is_offered_again_is_no_error);
	tcase_add_loop_test(tcase, without_memory_a_name_is_not_offered, 0, 2);
	tcase_add_test(tcase, a_name_has_an_end_and_a_version);
	tcase_add_test(tcase, the_environment_is_read_first);
	return t_run(suite);
}
