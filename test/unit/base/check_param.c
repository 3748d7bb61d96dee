/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parameters of the provider: precedence, the forms of names and of ia_params, and messages about
 * mistakes.
 */
#include <errno.h>
#include <rdma/fabric.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "base/param.h"

#include "../../lib/t_hooks.h"
#include "../../lib/unit.h"

static struct dofi_params p;

static void load(const char *name, const char *ia_params)
{
	ck_assert_msg(!dofi_params_load(&p, name, ia_params), "%s %s", name,
		      ia_params ? ia_params : "no ia_params");
}

/* Loads parameters that must be refused. Returns the message. */
static const char *refused(const char *name, const char *ia_params)
{
	int fd = t_capture(STDERR_FILENO);

	ck_assert_msg(dofi_params_load(&p, name, ia_params), "%s %s", name, ia_params);
	return t_captured(fd);
}

/* Loads parameters that are accepted with a warning. Returns the warning. */
static const char *warned(const char *name, const char *ia_params)
{
	int fd = t_capture(STDERR_FILENO);

	load(name, ia_params);
	return t_captured(fd);
}

static void ck_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in: %s", part, text);
}

START_TEST(test_defaults_are_those_of_param_def)
{
	load("ofi", "");
#define DOFI_PARAM_STR(name, def, help) ck_assert_str_eq(p.name, def);
#define DOFI_PARAM_NUM(name, def, min, max, help) \
	ck_assert_uint_eq(p.name, def);           \
	ck_assert((int64_t)p.name >= (min) && p.name <= (max));
#include "base/param.def"
#undef DOFI_PARAM_STR
#undef DOFI_PARAM_NUM
}
END_TEST

START_TEST(test_null_params_are_no_params)
{
	load("ofi", NULL);
	ck_assert_str_eq(p.provider, "");
}
END_TEST

START_TEST(test_name_gives_provider_and_domain)
{
	static const struct {
		const char *name, *provider, *domain;
	} names[] = {
		{"ofi", "", ""},
		{"ofi-tcp", "tcp", ""},
		{"ofi-verbs-mlx5_0", "verbs", "mlx5_0"},
		{"ofi-efa-rdmap0s6-rdm", "efa", "rdmap0s6-rdm"},
		{"ofi-tcp;ofi_rxm-lo", "tcp;ofi_rxm", "lo"},
		{"ofi-", "", ""},
		{"ib0", "", ""},
		{"ofa-v2-ib0", "", ""},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		load(names[i].name, "");
		ck_assert_str_eq(p.provider, names[i].provider);
		ck_assert_str_eq(p.domain, names[i].domain);
	}
}
END_TEST

START_TEST(test_words_override_name_and_environment)
{
	setenv("DAT_OFI_PROVIDER", "verbs", 1);
	setenv("DAT_OFI_SPIN_US", "7", 1);
	setenv("DAT_OFI_KEEPALIVE_S", "8", 1);
	load("any", "");
	ck_assert_str_eq(p.provider, "verbs");
	ck_assert_uint_eq(p.spin_us, 7);
	load("ofi-tcp-eth0", " domain=lo\tspin_us=9  ");
	ck_assert_str_eq(p.provider, "tcp");
	ck_assert_str_eq(p.domain, "lo");
	ck_assert_uint_eq(p.spin_us, 9);
	ck_assert_uint_eq(p.keepalive_s, 8);
	load("ofi-tcp", "provider=net");
	ck_assert_str_eq(p.provider, "net");
	load("ofi-tcp", "provider=");
	ck_assert_str_eq(p.provider, "");
}
END_TEST

/* Scripts export variables that may have no value. */
START_TEST(test_empty_variables_are_not_set)
{
	setenv("DAT_OFI_SPIN_US", "", 1);
	setenv("DAT_OFI_AUTH", "", 1);
	setenv("DAT_OFI_AFFINITY", "", 1);
	setenv("DAT_OFI_PROVIDER", "", 1);
	load("ofi", "");
	ck_assert_uint_eq(p.spin_us, 20);
	ck_assert_str_eq(p.auth, "auto");
	ck_assert_str_eq(p.affinity, "near");
	ck_assert_str_eq(p.provider, "");
	/* A word says what it says. */
	ck_has(refused("ofi", "spin_us="), "spin_us= is not a number");
	load("ofi-tcp", "auth= provider=");
	ck_assert_str_eq(p.auth, "");
	ck_assert_str_eq(p.provider, "");
}
END_TEST

START_TEST(test_old_ofed_words_name_a_domain)
{
	load("ofa-v2-mlx5_0-1", "mlx5_0 1");
	ck_assert_str_eq(p.domain, "mlx5_0");
	load("OpenIB-cma", "ib0 0");
	ck_assert_str_eq(p.domain, "ib0");
	load("any", "eth0");
	ck_assert_str_eq(p.domain, "eth0");
	/* With such a line the IA name has no meaning for us, even if it begins with "ofi-". */
	load("ofi-v2-ib1", "ib0 0");
	ck_assert_str_eq(p.domain, "ib0");
	ck_assert_str_eq(p.provider, "");
}
END_TEST

/* Only the name of the IA has no meaning then. */
START_TEST(test_provider_of_an_old_line)
{
	load("ofa-v2-ib0", "ib0 0 provider=verbs");
	ck_assert_str_eq(p.provider, "verbs");
	load("ofi-v2-ib0", " provider=tcp\tib0 0");
	ck_assert_str_eq(p.provider, "tcp");
	ck_assert_str_eq(p.domain, "ib0");
	setenv("DAT_OFI_PROVIDER", "net", 1);
	load("ofi-v2-ib0", "ib0 0");
	ck_assert_str_eq(p.provider, "net");
	load("ofi-v2-ib0", "192.0.2.2");
	ck_assert_str_eq(p.provider, "net");
	load("ofi-shm", " spin_us=9 ");
	ck_assert_str_eq(p.provider, "shm");
}
END_TEST

/* The name of the IA and variables may have named a domain, which an address replaces. */
START_TEST(test_an_address_as_an_old_word)
{
	load("OpenIB-cma", "192.0.2.2 0");
	ck_assert_str_eq(p.addr, "192.0.2.2");
	ck_assert_str_eq(p.domain, "");
	load("ofi-v2-ib1", "fd00::2 0 spin_us=9");
	ck_assert_str_eq(p.addr, "fd00::2");
	ck_assert_str_eq(p.domain, "");
	ck_assert_str_eq(p.provider, "");
	ck_assert_uint_eq(p.spin_us, 9);
	/* A host name is no address; no domain has such a name either. */
	load("OpenIB-cma", "localhost 0");
	ck_assert_str_eq(p.addr, "");
	ck_assert_str_eq(p.domain, "localhost");
	load("any", "192.0.2 0");
	ck_assert_str_eq(p.domain, "192.0.2");
}
END_TEST

START_TEST(test_other_old_words_are_refused)
{
	const char *text = refused("ib0", "ib0 0 much more");

	ck_has(text, "\"much\"");
	ck_has(text, "key=value");
	ck_has(refused("ib0", "ib0 one"), "\"one\"");
	ck_has(refused("ib0", "ib0 0 1"), "\"1\"");
}
END_TEST

START_TEST(test_unknown_key_warns_with_the_nearest_name)
{
	ck_has(warned("ofi", "spinus=3"), "spin_us");
	ck_has(warned("ofi", "prvider=tcp"), "is provider meant?");
	load("ofi", "PROVIDER=tcp");
	ck_assert_str_eq(p.provider, "tcp");
}
END_TEST

/* With one or two mistakes, wherever they are, a word is still nearest to the right one. */
START_TEST(test_words_with_mistakes)
{
	static const char *const names[] = {"provider", "domain",    "transport",    "local_rank",
					    "affinity", "same_host", "max_channels", "linger_ms",
					    "cq_wait",  "mr_cache",  "last_byte",    "fabric_log"};
	int fd = t_capture(STDERR_FILENO);
	char words[6][32], wanted[128 + sizeof(words)];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t size = strlen(names[i]);

		snprintf(words[0], sizeof(words[0]), "zz%s", names[i]);
		snprintf(words[1], sizeof(words[1]), "%szz", names[i]);
		snprintf(words[2], sizeof(words[2]), "%s", names[i] + 2);
		snprintf(words[3], sizeof(words[3]), "%.*s", (int)size - 2, names[i]);
		snprintf(words[4], sizeof(words[4]), "zz%s", names[i] + 2);
		snprintf(words[5], sizeof(words[5]), "%.*sz%s", (int)size / 2, names[i],
			 names[i] + size / 2 + 1);
		for (int j = 0; j < 6; j++) {
			char pair[sizeof(words) + 2];

			snprintf(pair, sizeof(pair), "%s=1", words[j]);
			load("ofi", pair);
			snprintf(wanted, sizeof(wanted),
				 "parameters of IA ofi: %s is ignored, no such parameter; is %s "
				 "meant?\n",
				 pair, names[i]);
			ck_has(t_captured(fd), wanted);
		}
	}
}
END_TEST

START_TEST(blanks_around_an_equals_sign)
{
	int fd = t_capture(STDERR_FILENO);

	load("ofi", "=tcp");
	ck_has(t_captured(fd), "parameters of IA ofi: =tcp is ignored: no blanks may stand");
	ck_assert_ptr_null(strstr(t_captured(fd), "is meant"));
}
END_TEST

START_TEST(test_unknown_variable_warns_once)
{
	const char *text;

	setenv("DAT_OFI_QUITE_MS", "3", 1);
	text = warned("ofi", "");
	ck_has(text, "DAT_OFI_QUITE_MS");
	ck_has(text, "DAT_OFI_QUIET_MS");
	ck_assert_str_eq(warned("ofi", ""), "");
}
END_TEST

START_TEST(test_known_variables_do_not_warn)
{
	setenv("DAT_OFI_LOG", "warn", 1);
	setenv("DAT_OFI_HANDSHAKE_MS", "100", 1);
	ck_assert_str_eq(warned("ofi", ""), "");
}
END_TEST

START_TEST(test_bad_number_is_refused_with_its_range)
{
	static const char *const words[] = {
		"spin_us=",     "spin_us=x",    "spin_us=-1", "spin_us=1000001",
		"spin_us=12us", "spin_us=0x10", "spin_us=+1", "spin_us=99999999999999999999999999",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		ck_has(refused("ofi", words[i]), "from 0 to 1000000");
	ck_has(refused("ofi", "keepalive_s=0"), "from 1 to 7200");
	load("ofi", "spin_us=1000000");
	ck_assert_uint_eq(p.spin_us, 1000000);
	setenv("DAT_OFI_SPIN_US", "many", 1);
	ck_has(refused("ofi", ""), "DAT_OFI_SPIN_US");
}
END_TEST

static const struct {
	const char *name;
	uint64_t min, max;
	size_t offset;
} numbers[] = {
#define DOFI_PARAM_STR(name, def, help)
#define DOFI_PARAM_NUM(name, def, min, max, help) \
	{#name, min, max, offsetof(struct dofi_params, name)},
#include "base/param.def"
#undef DOFI_PARAM_STR
#undef DOFI_PARAM_NUM
};

static void ck_number(const char *name, uint64_t number, size_t offset, bool good)
{
	char word[64];

	snprintf(word, sizeof(word), "%s=%llu", name, (unsigned long long)number);
	ck_assert_msg(dofi_params_load(&p, "ofi", word) == (good ? 0 : -EINVAL), "%s", word);
	if (good)
		ck_assert_uint_eq(*(uint64_t *)(void *)((char *)&p + offset), number);
}

START_TEST(test_each_number_has_its_range)
{
	t_capture(STDERR_FILENO);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		ck_number(numbers[i].name, numbers[i].min, numbers[i].offset, true);
		ck_number(numbers[i].name, numbers[i].max, numbers[i].offset, true);
		if (numbers[i].min)
			ck_number(numbers[i].name, numbers[i].min - 1, 0, false);
		if (numbers[i].max < UINT64_MAX)
			ck_number(numbers[i].name, numbers[i].max + 1, 0, false);
	}
}
END_TEST

/* --- no memory; the linker redirects this call --- */

static bool no_memory;

char *__real_strdup(const char *text);
T_STAND_IN char *__wrap_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
	return no_memory && !strcmp(text, "spin_us=3") ? NULL : __real_strdup(text);
}

START_TEST(test_words_without_memory)
{
	int fd = t_capture(STDERR_FILENO);

	no_memory = true;
	ck_assert_int_eq(dofi_params_load(&p, "ib0", "spin_us=3"), -ENOMEM);
	ck_assert_str_eq(t_captured(fd),
			 "dat-ofi: parameters of IA ib0 can't be read: out of memory\n");
}
END_TEST

/* Nothing of earlier parameters is left, and what is refused changes no level of the log. */
START_TEST(test_parameters_that_are_loaded_again)
{
	load("ofi-tcp-lo", "spin_us=3 addr=127.0.0.1");
	load("any", "");
	ck_assert_str_eq(p.provider, "");
	ck_assert_str_eq(p.domain, "");
	ck_assert_str_eq(p.addr, "");
	ck_assert_uint_ne(p.spin_us, 3);
	t_capture(STDERR_FILENO);
	ck_assert_int_eq(dofi_params_load(&p, "any", "log=debug spin_us=x"), -EINVAL);
	ck_assert_int_eq(dofi_log_level, DOFI_LOG_WARN);
	ck_assert_int_eq(dofi_params_load(&p, "any", "spin_us=x log=debug"), -EINVAL);
}
END_TEST

/* The port number of an old line is told to those who ask. */
START_TEST(test_the_port_of_an_old_line_is_not_used)
{
	dofi_log_level = DOFI_LOG_INFO;
	ck_has(warned("any", "ib0 10"),
	       "parameters of IA any: the port number 10 is not used: libfabric chooses");
	ck_has(refused("any", "ib0 1x"), "\"1x\"");
}
END_TEST

/* Variables of other programs are not ours, whatever they resemble. */
START_TEST(test_variables_of_others)
{
	extern char **environ;
	static char words[4][20] = {"DAT_OFI", "DAT_OF_SPIN=1", "XDAT_OFI_SPIN=1",
				    "dat_ofi_spin=1"};
	char *others[] = {words[0], words[1], words[2], words[3], NULL}, **before = environ;
	const char *text;

	environ = others;
	text = warned("ofi", "");
	environ = before;
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(test_a_program_without_an_environment)
{
	extern char **environ;
	char **before = environ;
	const char *text;
	char long_name[128];

	environ = NULL;
	text = warned("ofi", "");
	environ = before;
	ck_assert_str_eq(text, "");
	/* It was not told yet, because there was nothing to tell. */
	snprintf(long_name, sizeof(long_name), "DAT_OFI_%070d", 0);
	setenv(long_name, "1", 1);
	ck_has(warned("ofi", ""), "has no meaning");
}
END_TEST

START_TEST(test_long_values_are_refused)
{
	char word[400], name[400];

	snprintf(word, sizeof(word), "domain=%0300d", 0);
	ck_has(refused("ofi", word), "255");
	snprintf(word, sizeof(word), "domain=%0255d", 0);
	load("ofi", word);
	ck_assert_uint_eq(strlen(p.domain), 255);
	snprintf(word, sizeof(word), "domain=%0256d", 0);
	ck_has(refused("ofi", word), "255");
	snprintf(name, sizeof(name), "ofi-%0255d", 0);
	load(name, "");
	ck_assert_uint_eq(strlen(p.provider), 255);
	snprintf(name, sizeof(name), "ofi-%0256d", 0);
	refused(name, "");
	snprintf(name, sizeof(name), "ofi-tcp-%0300d", 0);
	refused(name, "");
	snprintf(word, sizeof(word), "%0300d=x", 0);
	ck_has(warned("ofi", word), "ignored");
}
END_TEST

START_TEST(test_log_level_follows)
{
	load("ofi", "log=debug");
	ck_assert_int_eq(dofi_log_level, DOFI_LOG_DEBUG);
	load("ofi", "log=off");
	ck_assert_int_eq(dofi_log_level, DOFI_LOG_OFF);
	dofi_log_level = DOFI_LOG_WARN;
	ck_has(warned("ofi", "log=loud"), "loud");
	ck_assert_int_eq(dofi_log_level, DOFI_LOG_WARN);
}
END_TEST

START_TEST(test_log_level_variable_of_ofed)
{
	static const struct {
		const char *type;
		enum dofi_log_level level;
	} types[] = {
		{"", DOFI_LOG_WARN},        {"nonsense", DOFI_LOG_WARN}, {"0", DOFI_LOG_OFF},
		{"0x1", DOFI_LOG_ERROR},    {"0x81", DOFI_LOG_ERROR},    {"3", DOFI_LOG_WARN},
		{"0x10003", DOFI_LOG_WARN}, {"0x8", DOFI_LOG_INFO},      {"0x8003", DOFI_LOG_INFO},
		{"0x100", DOFI_LOG_DEBUG},  {"0xffff", DOFI_LOG_DEBUG},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		setenv("DAPL_DBG_TYPE", types[i].type, 1);
		load("ofi", "");
		ck_assert_msg(dofi_log_level == types[i].level, "%s", types[i].type);
	}
	load("ofi", "log=error"); /* ours wins */
	ck_assert_int_eq(dofi_log_level, DOFI_LOG_ERROR);
}
END_TEST

START_TEST(test_log_destination_variable_of_ofed)
{
	int out = t_capture(STDOUT_FILENO), err = t_capture(STDERR_FILENO);

	setenv("DAPL_DBG_DEST", "1", 1);
	load("ofi", "");
	DOFI_LOG_E("to one");
	ck_assert_str_eq(t_captured(out), "dat-ofi: to one\n");
	ck_assert_str_eq(t_captured(err), "");
	setenv("DAPL_DBG_DEST", "0x5", 1);
	load("ofi", "");
	DOFI_LOG_E("to both");
	ck_has(t_captured(out), "to both");
	ck_has(t_captured(err), "to both");
	unsetenv("DAPL_DBG_DEST");
	load("ofi", "");
	DOFI_LOG_E("as ever");
	ck_assert_ptr_null(strstr(t_captured(out), "as ever"));
	ck_has(t_captured(err), "as ever");
	dup2(err, STDOUT_FILENO);
}
END_TEST

START_TEST(test_log_of_libfabric_goes_to_our_log)
{
	int fd = t_capture(STDERR_FILENO);
	struct fi_info *info = NULL;

	load("ofi", "fabric_log=info");
	ck_assert_int_eq(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info), 0);
	fi_freeinfo(info);
	ck_has(t_captured(fd), "dat-ofi: libfabric core, ");
	ck_has(warned("ofi", "fabric_log=loud"), "no such level");
}
END_TEST

static int evaluated;

static const char *evaluate(void)
{
	evaluated++;
	return "";
}

START_TEST(test_arguments_of_a_disabled_message_are_not_evaluated)
{
	load("ofi", "log=error");
	DOFI_LOG_D("%s", evaluate());
	DOFI_LOG_W("%s", evaluate());
	ck_assert_int_eq(evaluated, 0);
}
END_TEST

START_TEST(test_log_line_is_one_printable_line)
{
	int fd = t_capture(STDERR_FILENO);
	char big[8000];
	const char *text;

	DOFI_LOG_E("a\nb\033[2Jc %d", 5);
	ck_assert_str_eq(t_captured(fd), "dat-ofi: a?b?[2Jc 5\n");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	DOFI_LOG_E("%s", big);
	text = t_captured(fd);
	ck_has(text, "xxx...\n");
	ck_assert_uint_lt(strlen(text), 5000);
	DOFI_LOG_I("not said");
	ck_assert_ptr_null(strstr(t_captured(fd), "not said"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("param");
	TCase *tc = tcase_create("param");

	/* of run-env */
	unsetenv("DAT_OFI_KEY_FILE");
	unsetenv("DAT_OFI_SAME_HOST");
	tcase_add_test(tc, test_defaults_are_those_of_param_def);
	tcase_add_test(tc, test_null_params_are_no_params);
	tcase_add_test(tc, test_name_gives_provider_and_domain);
	tcase_add_test(tc, test_words_override_name_and_environment);
	tcase_add_test(tc, test_empty_variables_are_not_set);
	tcase_add_test(tc, test_old_ofed_words_name_a_domain);
	tcase_add_test(tc, test_provider_of_an_old_line);
	tcase_add_test(tc, test_an_address_as_an_old_word);
	tcase_add_test(tc, test_other_old_words_are_refused);
	tcase_add_test(tc, test_unknown_key_warns_with_the_nearest_name);
	tcase_add_test(tc, test_words_with_mistakes);
	tcase_add_test(tc, blanks_around_an_equals_sign);
	tcase_add_test(tc, test_unknown_variable_warns_once);
	tcase_add_test(tc, test_known_variables_do_not_warn);
	tcase_add_test(tc, test_bad_number_is_refused_with_its_range);
	tcase_add_test(tc, test_each_number_has_its_range);
	tcase_add_test(tc, test_words_without_memory);
	tcase_add_test(tc, test_parameters_that_are_loaded_again);
	tcase_add_test(tc, test_the_port_of_an_old_line_is_not_used);
	tcase_add_test(tc, test_variables_of_others);
	tcase_add_test(tc, test_a_program_without_an_environment);
	tcase_add_test(tc, test_long_values_are_refused);
	tcase_add_test(tc, test_log_level_follows);
	tcase_add_test(tc, test_log_level_variable_of_ofed);
	tcase_add_test(tc, test_log_destination_variable_of_ofed);
	tcase_add_test(tc, test_log_of_libfabric_goes_to_our_log);
	tcase_add_test(tc, test_arguments_of_a_disabled_message_are_not_evaluated);
	tcase_add_test(tc, test_log_line_is_one_printable_line);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
