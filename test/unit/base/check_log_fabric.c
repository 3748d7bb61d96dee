/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libfabric's log, which goes to ours. */
#include "unit.h"

#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/base/log_fabric.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include <stdlib.h>
#include <unistd.h>

/* --- libfabric, which takes one log --- */

static struct fi_ops_log *ops;
static int imports, import_error;

int __wrap_fi_open(uint32_t version, const char *name, void *attr, size_t attr_len, uint64_t flags,
		   struct fid **fid_p, void *context);

static int take_log(struct fid *fid, struct fid *log, uint64_t flags)
{
	(void)fid, (void)flags;
	ck_assert_uint_eq(log->fclass, FI_CLASS_LOG);
	imports++;
	ops = ((struct fid_logging *)(void *)log)->ops;
	return import_error;
}

static int close_it(struct fid *fid)
{
	(void)fid;
	return 0;
}

int __wrap_fi_open(uint32_t version, const char *name, void *attr, size_t attr_len, uint64_t flags,
		   struct fid **fid_p, void *context)
{
	static struct fi_ops fid_ops = {.size = sizeof(fid_ops),
					.close = close_it,
					.bind = take_log};
	static struct fid fid = {.ops = &fid_ops};

	(void)version, (void)attr, (void)attr_len, (void)flags, (void)context;
	ck_assert_str_eq(name, "logging");
	*fid_p = &fid;
	return 0;
}

static int is_enabled(enum fi_log_level level)
{
	return ops->enabled(NULL, level, FI_LOG_CORE, 0);
}

/* --- */

START_TEST(without_a_word_libfabric_keeps_its_log)
{
	dofi_log_fabric("");
	ck_assert_int_eq(imports, 0);
}
END_TEST

START_TEST(an_unknown_word_is_reported)
{
	int fd = t_capture(STDERR_FILENO);

	dofi_log_fabric("loud");
	ck_assert_int_eq(imports, 0);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "fabric_log=loud: no such level"));
}
END_TEST

static const struct {
	const char *word;
	bool warn, trace, info, debug;
} levels[] = {
	{"off", false, false, false, false},
	{"warn", true, false, false, false},
	{"info", true, true, true, false},
	{"debug", true, true, true, true},
};

START_TEST(messages_up_to_the_level_are_wanted)
{
	uint64_t when = 0;

	dofi_log_fabric(levels[_i].word);
	ck_assert_int_eq(is_enabled(FI_LOG_WARN), levels[_i].warn);
	ck_assert_int_eq(is_enabled(FI_LOG_TRACE), levels[_i].trace);
	ck_assert_int_eq(is_enabled(FI_LOG_INFO), levels[_i].info);
	ck_assert_int_eq(is_enabled(FI_LOG_DEBUG), levels[_i].debug);
	ck_assert_int_eq(ops->ready(NULL, FI_LOG_WARN, FI_LOG_CORE, 0, &when), levels[_i].warn);
	ck_assert_int_eq(ops->ready(NULL, FI_LOG_DEBUG, FI_LOG_CORE, 0, &when), levels[_i].debug);
}
END_TEST

/* Otherwise our log would drop what libfabric's log may write. */
START_TEST(the_level_of_our_log_rises_and_never_falls)
{
	dofi_log_set_level("warn");
	dofi_log_fabric("info");
	ck_assert_int_eq(dofi_log_level, DOFI_LOG_INFO);
	dofi_log_fabric("warn");
	ck_assert_int_eq(dofi_log_level, DOFI_LOG_INFO);
}
END_TEST

START_TEST(libfabric_gets_the_log_once)
{
	dofi_log_fabric("warn");
	dofi_log_fabric("info");
	ck_assert_int_eq(imports, 1);
	ck_assert(is_enabled(FI_LOG_INFO));
}
END_TEST

START_TEST(lines_name_their_provider_and_place)
{
	const struct fi_provider tcp = {.name = "tcp"}, nameless = {.name = NULL};
	int fd = t_capture(STDERR_FILENO);

	dofi_log_fabric("warn");
	ops->log(&tcp, FI_LOG_WARN, FI_LOG_EP_DATA, "func", 5, "text\nmore");
	ops->log(&nameless, FI_LOG_WARN, FI_LOG_CORE, "open", 6, "text");
	ops->log(NULL, FI_LOG_WARN, FI_LOG_CORE, "open", 7, "text\n");
	ck_assert_str_eq(t_captured(fd), "dat-ofi: libfabric tcp, func line 5: text\n"
					 "dat-ofi: libfabric core, open line 6: text\n"
					 "dat-ofi: libfabric core, open line 7: text\n");
}
END_TEST

START_TEST(a_libfabric_that_refuses_the_log_is_reported)
{
	int fd = t_capture(STDERR_FILENO);

	import_error = -FI_ENOSYS;
	dofi_log_fabric("warn");
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "FI_LOG_LEVEL=warn lets it write"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log_fabric");
	TCase *tcase = tcase_create("log_fabric");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, without_a_word_libfabric_keeps_its_log);
	tcase_add_test(tcase, an_unknown_word_is_reported);
	tcase_add_loop_test(tcase, messages_up_to_the_level_are_wanted, 0,
			    (int)(sizeof(levels) / sizeof(levels[0])));
	tcase_add_test(tcase, the_level_of_our_log_rises_and_never_falls);
	tcase_add_test(tcase, libfabric_gets_the_log_once);
	tcase_add_test(tcase, lines_name_their_provider_and_place);
	tcase_add_test(tcase, a_libfabric_that_refuses_the_log_is_reported);
	return t_run(suite);
}
