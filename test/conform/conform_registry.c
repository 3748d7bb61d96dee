/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The registry: providers that programs and libraries register, and dat.conf. Each test is a
 * process of its own, whose registry has not read dat.conf yet. T_IA_PARAMS has the parameters for
 * the names in dat.conf.
 */
#include <dlfcn.h>

#include "conform.h"
#include "../lib/unit.h"

#define LINE_OF(name, threads, def, library, params) \
	name " " T_API " " threads " " def " " library " dat-ofi.1.0 \"" params "\" \"\"\n"
#define LINE(name, params) LINE_OF(name, "nonthreadsafe", "default", T_PROVIDER_SONAME, params)

static const char *params(void)
{
	const char *given = getenv("T_IA_PARAMS");

	return given && *given ? given : "provider=tcp domain=lo";
}

static DAT_NAME_PTR name_ptr(const char *name)
{
	return (DAT_NAME_PTR)(uintptr_t)name;
}

static DAT_RETURN open_safe(const char *name, DAT_BOOLEAN safe, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = DAT_EVD_ASYNC_EXISTS;

	return dat_ia_openv(name_ptr(name), 8, &evd, ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
			    safe);
}

static DAT_RETURN open_name(const char *name)
{
	DAT_IA_HANDLE ia;
	DAT_RETURN ret = open_safe(name, DAT_FALSE, &ia);

	if (ret == DAT_SUCCESS)
		t_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return ret;
}

static void not_found(const char *name)
{
	t_error(open_name(name), DAT_PROVIDER_NOT_FOUND);
}

/* --- a provider inside the program --- */

static DAT_RETURN fake_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			    DAT_IA_HANDLE *ia);
static DAT_RETURN fake_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);

static DAT_RETURN fake_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd, DAT_IA_ATTR_MASK ia_mask,
			     DAT_IA_ATTR *attr, DAT_PROVIDER_ATTR_MASK provider_mask,
			     DAT_PROVIDER_ATTR *provider)
{
	(void)ia, (void)evd, (void)ia_mask, (void)provider_mask;
	if (attr)
		memset(attr, 0, sizeof(*attr));
	if (provider)
		memset((void *)provider, 0, sizeof(*provider));
	return DAT_SUCCESS;
}

static char fake_name[] = "fake-ia";
static const DAT_PROVIDER fake = {
	.device_name = fake_name,
	.ia_open_func = fake_open,
	.ia_query_func = fake_query,
	.ia_close_func = fake_close,
};
static struct {
	const DAT_PROVIDER *table; /* the first member of each object */
} fake_ia;
static int fake_opens;

static DAT_RETURN fake_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			    DAT_IA_HANDLE *ia)
{
	(void)name, (void)qlen, (void)evd;
	fake_ia.table = &fake;
	*ia = &fake_ia;
	fake_opens++;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia, (void)flags;
	return DAT_SUCCESS;
}

static DAT_PROVIDER_INFO info_of(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
				 DAT_BOOLEAN safe)
{
	DAT_PROVIDER_INFO info;

	memset(&info, 0, sizeof(info));
	strcpy(info.ia_name, name);
	info.dapl_version_major = major;
	info.dapl_version_minor = minor;
	info.is_thread_safe = safe;
	return info;
}

static DAT_PROVIDER_INFO fake_info(void)
{
	return info_of(fake_name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
}

/* --- listing --- */

#define ROOM 64

struct list {
	DAT_PROVIDER_INFO info[ROOM];
	DAT_PROVIDER_INFO *pointers[ROOM];
	DAT_COUNT count;
};

static void list_all(struct list *list)
{
	for (int i = 0; i < ROOM; i++)
		list->pointers[i] = &list->info[i];
	list->count = -1;
	t_ok(dat_registry_list_providers(ROOM, &list->count, list->pointers));
	ck_assert_int_ge(list->count, 0);
	ck_assert_int_le(list->count, ROOM);
}

static int times_listed(const char *name)
{
	struct list list;
	int times = 0;

	list_all(&list);
	for (DAT_COUNT i = 0; i < list.count; i++)
		times += !strcmp(list.info[i].ia_name, name);
	return times;
}

/* --- add and remove --- */

START_TEST(REG_001_006_added_provider_is_found_and_listed)
{
	/* IA-001 */
	DAT_PROVIDER_INFO info = fake_info();

	not_found(fake_name);
	t_ok(dat_registry_add_provider(&fake, &info));
	memset(&info, 0xff, sizeof(info));
	ck_assert_int_eq(times_listed(fake_name), 1);
	t_ok(open_name(fake_name));
	ck_assert_int_eq(fake_opens, 1);
}
END_TEST

START_TEST(REG_002_003_004_028_029_key_of_a_registration)
{
	/* IA-003 IA-004 IA-005 */
	DAT_PROVIDER_INFO info = fake_info(), other;
	DAT_PROVIDER second = fake;
	DAT_IA_HANDLE ia;

	t_bad_arg(dat_registry_add_provider(NULL, &info));
	t_bad_arg(dat_registry_add_provider(&fake, NULL));
	other = info_of(fake_name, DAT_VERSION_MAJOR + 7, 0, DAT_FALSE);
	t_ok(dat_registry_add_provider(&second, &other));
	t_error_sub(open_name(fake_name), DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	t_ok(dat_registry_add_provider(&fake, &info));
	t_error(dat_registry_add_provider(&fake, &info), DAT_PROVIDER_ALREADY_REGISTERED);
	t_error(dat_registry_add_provider(&second, &info), DAT_PROVIDER_ALREADY_REGISTERED);
	t_ok(open_name(fake_name));
	t_error_sub(open_safe(fake_name, DAT_TRUE, &ia), DAT_PROVIDER_NOT_FOUND,
		    DAT_THREAD_SAFETY_NOT_FOUND);
	not_found("Fake-ia");
	not_found("fake-i");
	t_error_sub(dat_ia_openv(fake_name, 8, &(DAT_EVD_HANDLE){DAT_EVD_ASYNC_EXISTS}, &ia,
				 DAT_VERSION_MAJOR, DAT_VERSION_MINOR + 1, DAT_FALSE),
		    DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	t_ok(dat_registry_remove_provider(&fake, &info));
	info.dapl_version_minor++;
	t_ok(dat_registry_add_provider(&fake, &info));
	t_ok(open_name(fake_name)); /* a greater minor version is accepted */
}
END_TEST

START_TEST(IA_020_open_asks_for_the_version_of_the_header)
{
	DAT_EVD_HANDLE evd = DAT_EVD_ASYNC_EXISTS;
	DAT_PROVIDER_INFO info = fake_info();
	DAT_IA_HANDLE ia;

	info.is_thread_safe = DAT_THREADSAFE;
	t_ok(dat_registry_add_provider(&fake, &info));
	t_ok(dat_ia_open(fake_name, 8, &evd, &ia));
	ck_assert_int_eq(fake_opens, 1);
	t_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}
END_TEST

START_TEST(REG_007_008_009_010_remove)
{
	DAT_PROVIDER_INFO info = fake_info();
	DAT_IA_HANDLE ia;

	t_error2(dat_registry_remove_provider(&fake, &info), DAT_INVALID_PARAMETER,
		 DAT_PROVIDER_NOT_FOUND);
	t_ok(dat_registry_add_provider(&fake, &info));
	t_bad_arg(dat_registry_remove_provider(NULL, &info));
	t_bad_arg(dat_registry_remove_provider(&fake, NULL));
	t_ok(open_safe(fake_name, DAT_FALSE, &ia));
	t_error(dat_registry_remove_provider(&fake, &info), DAT_PROVIDER_IN_USE);
	ck_assert_int_eq(times_listed(fake_name), 1);
	t_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	t_ok(dat_registry_remove_provider(&fake, &info));
	ck_assert_int_eq(times_listed(fake_name), 0);
	not_found(fake_name);
}
END_TEST

/* --- list --- */

static bool provider_is_loaded(void)
{
	void *library = dlopen(T_PROVIDER_SONAME, RTLD_LAZY | RTLD_NOLOAD);

	if (library)
		dlclose(library);
	return library;
}

START_TEST(REG_011_012_013_019_list)
{
	DAT_PROVIDER_INFO info = fake_info(), shadow;
	struct list list;

	t_conf(LINE("one", "x=1") LINE_OF("two", "threadsafe", "default", T_PROVIDER_SONAME, "")
		       LINE("fake-ia", ""));
	shadow = info;
	t_ok(dat_registry_add_provider(&fake, &shadow));
	list_all(&list);
	ck_assert(!provider_is_loaded());
	ck_assert_int_eq(times_listed("one"), 1);
	ck_assert_int_eq(times_listed("two"), 1);
	ck_assert_int_eq(times_listed(fake_name), 1);
	for (DAT_COUNT i = 0; i < list.count; i++) {
		const DAT_PROVIDER_INFO *entry = &list.info[i];

		ck_assert_uint_eq(entry->dapl_version_major, DAT_VERSION_MAJOR);
		ck_assert_uint_eq(entry->dapl_version_minor, DAT_VERSION_MINOR);
		ck_assert_int_eq(entry->is_thread_safe != DAT_FALSE,
				 !strcmp(entry->ia_name, "two"));
	}
}
END_TEST

START_TEST(REG_014_short_array)
{
	DAT_PROVIDER_INFO info[3];
	DAT_PROVIDER_INFO *pointers[3] = {&info[0], &info[1], NULL};
	DAT_COUNT count = -1;
	DAT_RETURN ret;

	t_conf(LINE("one", "") LINE("two", "") LINE("three", ""));
	memset(info, 0x77, sizeof(info));
	ret = dat_registry_list_providers(2, &count, pointers);
	if (ret == DAT_SUCCESS) {
		ck_assert_int_eq(count, 2);
		ck_assert_str_ne(info[0].ia_name, info[1].ia_name);
	} else {
		t_bad_arg(ret);
		ck_assert_int_ge(count, 3);
	}
	for (size_t i = 0; i < sizeof(info[2]); i++)
		ck_assert_int_eq(((unsigned char *)&info[2])[i], 0x77);
}
END_TEST

START_TEST(REG_015_016_017_list_refuses_bad_arguments)
{
	DAT_PROVIDER_INFO info;
	DAT_PROVIDER_INFO *pointers[2] = {&info, NULL};
	DAT_COUNT count = -1;

	t_conf(LINE("one", "") LINE("two", ""));
	t_bad_arg(dat_registry_list_providers(0, &count, NULL));
	ck_assert_int_ge(count, 2);
	t_bad_arg(dat_registry_list_providers(1, NULL, pointers));
	t_bad_arg(dat_registry_list_providers(2, &count, NULL));
	t_bad_arg(dat_registry_list_providers(2, &count, pointers));
}
END_TEST

START_TEST(REG_018_no_static_registry)
{
	DAT_PROVIDER_INFO info = fake_info();
	struct list list;

	ck_assert_int_eq(setenv("DAT_OVERRIDE", "/no/such/dat.conf", 1), 0);
	t_ok(dat_registry_add_provider(&fake, &info));
	list_all(&list);
	ck_assert_int_eq(times_listed(fake_name), 1);
	t_ok(open_name(fake_name));
}
END_TEST

#if T_DAT_MAJOR == 2
START_TEST(REG_020_related_providers)
{
	__typeof__(&dat_registry_providers_related) related =
		(__typeof__(related))dlsym(RTLD_DEFAULT, "dat_registry_providers_related");
	DAT_HA_RELATIONSHIP answer;

	if (related)
		t_unsupported(related(name_ptr("one"), name_ptr("two"), &answer));
}
END_TEST

START_TEST(HND_021_022_handle_of_the_provider)
{
	/*
	 * dat_ia_open() returns a small number, which the registry maps to the provider's handle.
	 */
	DAT_BOOLEAN answer = DAT_TRUE;
	DAT_IA_HANDLE ia, behind = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	t_conf(LINE("one", "%s"), params());
	t_ok(open_safe("one", DAT_FALSE, &ia));
	t_ok(dats_get_ia_handle(ia, &behind));
	ck_assert_ptr_nonnull(behind);
	ck_assert_ptr_ne(behind, ia);
	ret = DAT_IA_HA_RELATED(behind, name_ptr("two"), &answer);
	if (ret == DAT_SUCCESS)
		ck_assert_int_eq(answer, DAT_FALSE);
	else
		t_unsupported(ret);
	t_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	t_bad_handle_of(dats_get_ia_handle(ia, &behind), IA);
	t_bad_handle_of(dats_get_ia_handle(DAT_UL_TO_IA_HANDLE(123456), &behind), IA);
}
END_TEST
#endif

/* --- the provider library --- */

struct library {
	void *handle;
	DAT_PROVIDER_INIT_FUNC init;
	DAT_PROVIDER_FINI_FUNC fini;
};

static void load(struct library *library)
{
	library->handle = dlopen(T_PROVIDER_SONAME, RTLD_NOW);
	ck_assert_msg(library->handle != NULL, "%s", dlerror());
	library->init = (DAT_PROVIDER_INIT_FUNC)dlsym(library->handle, DAT_PROVIDER_INIT_FUNC_STR);
	library->fini = (DAT_PROVIDER_FINI_FUNC)dlsym(library->handle, DAT_PROVIDER_FINI_FUNC_STR);
	ck_assert(library->init && library->fini);
}

START_TEST(REG_021_023_024_026_init_and_fini)
{
	DAT_PROVIDER_INFO first = info_of("first", DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	DAT_PROVIDER_INFO second =
		info_of("second", DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	struct library library;

	load(&library);
	ck_assert_int_eq(times_listed("first"), 0);
	library.init(&first, params());
	ck_assert_int_eq(times_listed("first"), 1);
	ck_assert_int_eq(times_listed("second"), 0);
	library.init(&second, params());
	t_ok(open_name("first"));
	t_ok(open_name("second"));
	library.fini(&first);
	ck_assert_int_eq(times_listed("first"), 0);
	not_found("first");
	t_ok(open_name("second"));
	library.init(&first, params());
	t_ok(open_name("first"));
	library.fini(&first);
	library.fini(&second);
	not_found("second");
}
END_TEST

START_TEST(REG_025_027_init_that_registers_nothing)
{
	DAT_PROVIDER_INFO other = info_of("other", T_OTHER_MAJOR, 0, DAT_FALSE);
	struct library library;

	t_conf(LINE("no-device", "provider=no-such-provider") LINE("no-number", "spin_us=lots")
		       LINE("one", "%s"),
	       params());
	load(&library);
	library.init(&other, params());
	ck_assert_int_eq(times_listed("other"), 0);
	t_error2(open_name("no-device"), DAT_PROVIDER_NOT_FOUND, DAT_INTERNAL_ERROR);
	t_error2(open_name("no-number"), DAT_PROVIDER_NOT_FOUND, DAT_INTERNAL_ERROR);
	t_ok(open_name("one"));
}
END_TEST

START_TEST(REG_022_031_library_is_loaded_when_needed)
{
	/* IA-018 */
	DAT_IA_HANDLE first, second;

	t_conf(LINE("one", "%s") LINE("two", "%s"), params(), params());
	ck_assert(!provider_is_loaded());
	for (int i = 0; i < 3; i++) {
		t_ok(open_safe("one", DAT_FALSE, &first));
		ck_assert(provider_is_loaded());
		t_ok(open_safe("one", DAT_FALSE, &second));
		t_ok(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG));
		t_ok(open_safe("two", DAT_FALSE, &first));
		t_ok(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG));
		t_ok(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
	}
}
END_TEST

/* The table of the provider of a name, which each of its objects begins with; no IA stays open. */
static const DAT_PROVIDER *table_of(const char *name)
{
	const DAT_PROVIDER *table;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	t_ok(open_safe(name, DAT_FALSE, &ia));
	t_ok(dat_pz_create(ia, &pz));
	table = *(const DAT_PROVIDER **)pz;
	t_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return table;
}

START_TEST(REG_022_init_precedes_the_first_open)
{
	DAT_PROVIDER_INFO one = info_of("one", DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	const DAT_PROVIDER *table;
	struct library library;
	DAT_IA_HANDLE other;

	t_conf(LINE("one", "%s") LINE("two", "%s"), params(), params());
	/* After the last close of a name, while another name keeps the library loaded. */
	t_ok(open_safe("two", DAT_FALSE, &other));
	t_ok(open_name("one"));
	t_ok(open_name("one"));
	t_ok(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
	/* After the program has removed what it had made the library register. */
	load(&library);
	library.init(&one, params());
	table = table_of("one");
	t_ok(dat_registry_remove_provider(table, &one));
	t_ok(open_name("one"));
	/* And after the library's end. */
	library.fini(&one);
	t_ok(open_name("one"));
}
END_TEST

/* --- dat.conf --- */

START_TEST(REG_030_039_lines_of_one_name_are_tried_in_order)
{
	t_conf(LINE_OF("one", "nonthreadsafe", "default", "/no/such/library.so",
		       "") LINE("one", "provider=no-such-provider") LINE("one", "%s")
		       LINE_OF("lost", "nonthreadsafe", "default", "/no/such/library.so", ""),
	       params());
	t_ok(open_name("one"));
	not_found("lost");
}
END_TEST

/* Also while an IA of a later line is open. */
START_TEST(REG_030_lines_of_one_name_are_tried_again)
{
	DAT_IA_HANDLE ia[3];

	t_conf(LINE("one", "provider=no-such-provider") LINE("one", "%s"), params());
	for (int i = 0; i < 3; i++)
		t_ok(open_safe("one", DAT_FALSE, &ia[i]));
	t_ok(dat_ia_close(ia[1], DAT_CLOSE_ABRUPT_FLAG));
	t_ok(open_safe("one", DAT_FALSE, &ia[1]));
	for (int i = 0; i < 3; i++)
		t_ok(dat_ia_close(ia[i], DAT_CLOSE_ABRUPT_FLAG));
	t_ok(open_name("one"));
}
END_TEST

START_TEST(REG_032_033_041_override_names_the_file)
{
	/* The provider gets the parameters: only with them it finds the device. */
	t_conf("# comment\n\n" LINE("one", "%s"), params());
	ck_assert_int_eq(times_listed("one"), 1);
	t_ok(open_name("one"));
}
END_TEST

START_TEST(REG_034_035_comments_and_quotes)
{
	t_conf("   # a comment with \"quotes\n"
	       "\n\t \n" LINE("#hidden", "") "\"quoted\" \"%s\" \"nonthreadsafe\" \"default\" "
					     "\"%s\" \"dat-ofi.1.0\" \"%s\" \"\"\n"
					     "esc\\\"aped %s nonthreadsafe default %s dat-ofi.1.0 "
					     "\"a \\\" b \\\\\" \"p q\"\n"
					     "commented %s nonthreadsafe default %s dat-ofi.1.0 "
					     "\"%s\" \"\" # behind an entry\n",
	       T_API, T_PROVIDER_SONAME, params(), T_API, T_PROVIDER_SONAME, T_API,
	       T_PROVIDER_SONAME, params());
	ck_assert_int_eq(times_listed("hidden"), 0);
	ck_assert_int_eq(times_listed("quoted"), 1);
	t_ok(open_name("quoted"));
	t_ok(open_name("commented"));
}
END_TEST

START_TEST(REG_036_042_versions_side_by_side)
{
	t_conf("one " T_OTHER_API " nonthreadsafe default /no/such/other.so x.1.0 \"\" \"\"\n"
	       "kernel k%s nonthreadsafe default %s x.1.0 \"\" \"\"\n"
	       "other " T_OTHER_API
	       " nonthreadsafe default /no/such/other.so x.1.0 \"\" \"\"\n" LINE("one", "%s"),
	       &T_API[1], T_PROVIDER_SONAME, params());
	t_ok(open_name("one"));
	t_error_sub(open_name("other"), DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	not_found("kernel");
}
END_TEST

START_TEST(REG_037_only_default_lines)
{
	t_conf(LINE_OF("one", "nonthreadsafe", "nondefault", T_PROVIDER_SONAME, "%s")
		       LINE("two", "%s"),
	       params(), params());
	t_ok(open_name("two"));
	not_found("one");
}
END_TEST

START_TEST(REG_038_bad_lines_are_skipped)
{
	t_conf("one\n"
	       "two " T_API "\n"
	       "three u9 nonthreadsafe default %s x.1.0 \"\" \"\"\n"
	       "four " T_API " sometimes default %s x.1.0 \"\" \"\"\n"
	       "five " T_API " nonthreadsafe perhaps %s x.1.0 \"\" \"\"\n"
	       "\"six " T_API " nonthreadsafe default %s x.1.0 \"\" \"\"\n" LINE("good", "%s"),
	       T_PROVIDER_SONAME, T_PROVIDER_SONAME, T_PROVIDER_SONAME, T_PROVIDER_SONAME,
	       params());
	not_found("one");
	not_found("two");
	not_found("three");
	not_found("four");
	not_found("five");
	not_found("six");
	t_ok(open_name("good"));
}
END_TEST

START_TEST(REG_040_odd_lines)
{
	static char endless[8000];

	memset(endless, 'x', sizeof(endless) - 1);
	t_conf("%s\n"
	       "long " T_API " nonthreadsafe default " T_PROVIDER_SONAME " x.1.0 \"%s\" \"\"\n"
	       "crlf " T_API " nonthreadsafe default " T_PROVIDER_SONAME " x.1.0 \"%s\" \"\"\r\n"
	       "tabs\t" T_API "\tnonthreadsafe\t\tdefault\t" T_PROVIDER_SONAME
	       "\tx.1.0\t\"%s\"\t\"\"\n"
	       "last " T_API " nonthreadsafe default " T_PROVIDER_SONAME " x.1.0 \"%s\" \"\"",
	       endless, &endless[1000], params(), params(), params());
	t_ok(open_name("crlf"));
	t_ok(open_name("tabs"));
	t_ok(open_name("last"));
	ck_assert_int_le(times_listed("long"), 1);
}
END_TEST

Suite *conform_registry(void)
{
	Suite *suite = suite_create("registry");
	TCase *tc = tcase_create("registry");

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, REG_001_006_added_provider_is_found_and_listed);
	tcase_add_test(tc, REG_002_003_004_028_029_key_of_a_registration);
	tcase_add_test(tc, IA_020_open_asks_for_the_version_of_the_header);
	tcase_add_test(tc, REG_007_008_009_010_remove);
	tcase_add_test(tc, REG_011_012_013_019_list);
	tcase_add_test(tc, REG_014_short_array);
	tcase_add_test(tc, REG_015_016_017_list_refuses_bad_arguments);
	tcase_add_test(tc, REG_018_no_static_registry);
#if T_DAT_MAJOR == 2
	tcase_add_test(tc, REG_020_related_providers);
	tcase_add_test(tc, HND_021_022_handle_of_the_provider);
#endif
	tcase_add_test(tc, REG_021_023_024_026_init_and_fini);
	tcase_add_test(tc, REG_025_027_init_that_registers_nothing);
	tcase_add_test(tc, REG_022_031_library_is_loaded_when_needed);
	tcase_add_test(tc, REG_022_init_precedes_the_first_open);

	tc = tcase_create("dat_conf");
	suite_add_tcase(suite, tc);
	tcase_add_test(tc, REG_030_039_lines_of_one_name_are_tried_in_order);
	tcase_add_test(tc, REG_030_lines_of_one_name_are_tried_again);
	tcase_add_test(tc, REG_032_033_041_override_names_the_file);
	tcase_add_test(tc, REG_034_035_comments_and_quotes);
	tcase_add_test(tc, REG_036_042_versions_side_by_side);
	tcase_add_test(tc, REG_037_only_default_lines);
	tcase_add_test(tc, REG_038_bad_lines_are_skipped);
	tcase_add_test(tc, REG_040_odd_lines);
	return suite;
}
