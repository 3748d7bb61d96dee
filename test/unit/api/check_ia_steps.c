/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the message says that tells why an IA cannot be opened. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/api/ia_steps.c"
#include "../../../prov/ofi/base/log.h"

#include <sys/resource.h>

static struct dofi_ia ia;

static const char *advice_about(int err)
{
	static char text[DOFI_MR_LIMIT_SIZE];

	return advice(&ia, err, text);
}

/* --- the limit of locked memory; the linker redirects this call --- */

static rlim_t locked = RLIM_INFINITY;

T_STAND_IN int __wrap_getrlimit(int resource, struct rlimit *limit);

int __wrap_getrlimit(int resource, struct rlimit *limit)
{
	ck_assert_int_eq(resource, RLIMIT_MEMLOCK);
	limit->rlim_cur = limit->rlim_max = locked;
	return 0;
}

/* --- */

START_TEST(advice_is_about_what_the_user_can_change)
{
	ck_assert_ptr_nonnull(strstr(advice_about(EMFILE), "ulimit -n"));
	ck_assert_ptr_nonnull(strstr(advice_about(ENFILE), "fs.file-max"));
	ck_assert_ptr_nonnull(strstr(advice_about(EAGAIN), "ulimit -u"));
	ck_assert_ptr_nonnull(strstr(advice_about(EFBIG), "ulimit -f"));
	ck_assert_ptr_nonnull(strstr(advice_about(EROFS), "/dev/shm"));
	ck_assert_ptr_nonnull(strstr(advice_about(ENOSPC), "/dev/shm"));
	locked = 4096;
	ck_assert_ptr_nonnull(strstr(advice_about(ENOMEM), "4 KiB"));
	ck_assert_ptr_nonnull(strstr(advice_about(ENOMEM), "ulimit -l"));
	ck_assert_str_eq(advice_about(EACCES), "");
	ck_assert_str_eq(advice_about(EINVAL), "");
}
END_TEST

/* Some devices have shorter queues than libfabric asks for. */
START_TEST(a_device_with_short_queues_has_an_advice)
{
	ia.quirks = DOFI_QUIRK_LONG_QUEUE;
	ck_assert_ptr_nonnull(strstr(advice_about(EINVAL), "FI_UNIVERSE_SIZE"));
	ck_assert_ptr_null(strstr(advice_about(EMFILE), "FI_UNIVERSE_SIZE"));
	ck_assert_str_eq(advice_about(EACCES), "");
}
END_TEST

START_TEST(memory_without_a_limit_needs_no_advice)
{
	ck_assert_str_eq(advice_about(ENOMEM), "");
}
END_TEST

/* --- atomic operations --- */

static bool device_does, domain_has;

bool __wrap_dofi_device_does_atomics(const struct fi_info *info, uint64_t quirks);
bool __wrap_dofi_domain_has_atomics(struct fid_domain *domain);

bool __wrap_dofi_device_does_atomics(const struct fi_info *info, uint64_t quirks)
{
	(void)info, (void)quirks;
	return device_does;
}

bool __wrap_dofi_domain_has_atomics(struct fid_domain *domain)
{
	(void)domain;
	return domain_has;
}

static ssize_t atomic(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t raddr, uint64_t rkey)
{
	(void)ep, (void)wr, (void)raddr, (void)rkey;
	return 0;
}

/* Programs can post them if everything between them and the device can. */
START_TEST(atomic_operations_need_all_layers)
{
	enum { ALL, DEVICE, CAPS, ORDER, TRANSPORT, QUIRK, OPERANDS, DOMAIN };
	static const struct dofi_trans_ops with = {.atomic = atomic}, without;
	struct fi_info info = {.caps = _i == CAPS ? FI_MSG : FI_MSG | FI_ATOMIC};
	int fd = t_capture(STDERR_FILENO);
	bool quiet = _i == QUIRK;

	dofi_log_set_level("info");
	device_does = _i != DEVICE;
	domain_has = _i != DOMAIN;
	strcpy(ia.name, "test");
	strcpy(ia.named.atomics, "FALSE");
	ia.info = &info;
	ia.order = _i == ORDER ? DOFI_HOLD : DOFI_ORDERED;
	ia.trans = _i == TRANSPORT ? &without : &with;
	ia.quirks = _i == QUIRK ? 0 : DOFI_QUIRK_DEVICE_ATOMICS;
	if (_i == OPERANDS)
		ia.quirks |= DOFI_QUIRK_ATOMIC_OPERANDS;
	ck_assert_int_eq(look_at_atomics(&ia), 0);
	ck_assert_int_eq(ia.does_atomics, _i != DEVICE);
	ck_assert_int_eq(ia.has_atomics, _i == ALL);
	ck_assert_str_eq(ia.named.atomics, _i == ALL ? "TRUE" : "FALSE");
	/* Only about devices that may have them. */
	ck_assert_int_eq(strstr(t_captured(fd), "atomic operations") == NULL, quiet);
	ck_assert_int_eq(strstr(t_captured(fd), "can't post them") == NULL, quiet || _i == ALL);
	ck_assert_int_eq(strstr(t_captured(fd), "does not have") != NULL, _i == DEVICE);
}
END_TEST

/* --- fabrics that can be set up by one thread at a time --- */

static int inside;
static bool was_alone;

void __wrap_dofi_setup_begin(void);
void __wrap_dofi_setup_end(void);

void __wrap_dofi_setup_begin(void)
{
	ck_assert_int_eq(inside++, 0);
}

void __wrap_dofi_setup_end(void)
{
	ck_assert_int_eq(inside--, 1);
}

static int open_it(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	was_alone = inside;
	return -ENODEV;
}

static void close_it(struct dofi_ia *of)
{
	open_it(of);
}

START_TEST(steps_that_other_threads_must_not_take_meanwhile)
{
	enum company company = (enum company)(_i / 2);
	const struct step step = {"a test", open_it, close_it, company};
	bool races = _i & 1, alone = company == ALONE || (company == ALONE_IF_IT_RACES && races);

	ia.quirks = races ? DOFI_QUIRK_SETUP_RACES : 0;
	ck_assert_int_eq(begin_step(&ia, &step), -ENODEV);
	ck_assert_int_eq(was_alone, alone);
	was_alone = false;
	end_step(&ia, &step);
	ck_assert_int_eq(was_alone, alone);
	ck_assert_int_eq(inside, 0);
}
END_TEST

/* Threads that wait for another one while they hold the lock could wait for ever. */
START_TEST(no_step_alone_waits_for_a_thread)
{
	for (size_t i = 0; i < NSTEPS; i++)
		ck_assert(steps[i].company == WITH_OTHERS ||
			  (steps[i].end != dofi_progress_stop && steps[i].end != dofi_cm_fini));
}
END_TEST

START_TEST(a_fabric_is_opened_and_closed_alone)
{
	ck_assert_ptr_eq(steps[2].begin, open_fabric);
	ck_assert_int_eq(steps[2].company, ALONE);
}
END_TEST

/* --- all steps; the linker redirects these calls --- */

static char order[2048];    /* of the calls */
static const char *failing; /* the step that fails */

static int begin_one(const char *word)
{
	strcat(strcat(order, word), " ");
	return failing && !strcmp(word, failing) ? -FI_EIO : 0;
}

static void end_one(const char *word)
{
	strcat(strcat(strcat(order, "-"), word), " ");
}

#define BEGIN(name, word)                           \
	int __wrap_dofi_##name(struct dofi_ia *of); \
	int __wrap_dofi_##name(struct dofi_ia *of)  \
	{                                           \
		ck_assert_ptr_eq(of, &ia);          \
		return begin_one(word);             \
	}
#define END(name, word)                              \
	void __wrap_dofi_##name(struct dofi_ia *of); \
	void __wrap_dofi_##name(struct dofi_ia *of)  \
	{                                            \
		ck_assert_ptr_eq(of, &ia);           \
		end_one(word);                       \
	}

BEGIN(cqs_open, "cqs")
END(cqs_close, "cqs")
BEGIN(engine_init, "engine")
END(engine_fini, "engine")
BEGIN(bounces_init, "bounces")
END(bounces_fini, "bounces")
END(bounces_abandon, "late bounces")
END(mr_unmap_all, "left memory")
BEGIN(ctxtab_init, "ctxtab")
END(ctxtab_fini, "ctxtab")
BEGIN(scratch_open, "scratch")
END(scratch_close, "scratch")
BEGIN(guard_open, "guard")
END(guard_close, "guard")
BEGIN(mr_cached_look, "cached")
BEGIN(credit_init, "credits")
END(credit_fini, "credits")
BEGIN(memory_open, "memory")
BEGIN(ctrl_slots_open, "slots")
END(ctrl_slots_close, "slots")
BEGIN(cm_init, "cm")
END(cm_fini, "cm")
BEGIN(wakeup_open, "wakeup")
END(wakeup_close, "wakeup")
BEGIN(progress_start, "progress")
END(progress_stop, "progress")

int __wrap_dofi_key_load(struct dofi_key *key, const char *name, const char *auth,
			 const char *key_file);
const char *__wrap_dofi_key_text(const struct dofi_key *key, char text[DOFI_KEY_TEXT]);
void __wrap_dofi_key_wipe(struct dofi_key *key);
int __wrap_dofi_descriptors_look(int wanted);
int __wrap_dofi_fabric_env_choose(const char *name, const struct fi_info *of, uint64_t quirks);
void __wrap_dofi_fid_close(const char *name, struct fid *fid, const char *what);
void __wrap_dofi_mr_cache_disable(const struct dofi_params *params, const struct fi_info *of,
				  uint64_t quirks, struct fid_domain *domain);
int __wrap_dofi_eqs_open(struct dofi_eqs *eqs, const char *name, struct fid_fabric *fabric,
			 uint64_t quirks);
void __wrap_dofi_eqs_close(struct dofi_eqs *eqs);
T_STAND_IN int __wrap_fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric_p,
				void *context);

static struct fi_fabric_attr fabric_attr;
static struct fi_info full_info = {.fabric_attr = &fabric_attr, .caps = FI_MSG};
static struct fid_fabric fabric;
static struct fid_domain domain;

int __wrap_dofi_key_load(struct dofi_key *key, const char *name, const char *auth,
			 const char *key_file)
{
	ck_assert_ptr_eq(key, &ia.key);
	ck_assert_ptr_eq(name, ia.name);
	ck_assert_ptr_eq(auth, ia.params.auth);
	ck_assert_ptr_eq(key_file, ia.params.key_file);
	return begin_one("key");
}

const char *__wrap_dofi_key_text(const struct dofi_key *key, char text[DOFI_KEY_TEXT])
{
	ck_assert_ptr_eq(key, &ia.key);
	return strcpy(text, "a key");
}

void __wrap_dofi_key_wipe(struct dofi_key *key)
{
	ck_assert_ptr_eq(key, &ia.key);
	end_one("key");
}

/* This is asked for once more after a step that failed. */
int __wrap_dofi_descriptors_look(int wanted)
{
	return wanted == DOFI_FDS_OF_AN_IA ? begin_one("descriptors") : 0;
}

int __wrap_fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric_p, void *context)
{
	ck_assert_ptr_eq(attr, &fabric_attr);
	ck_assert_ptr_null(context);
	*fabric_p = &fabric;
	return begin_one("fabric");
}

static int make_domain(struct fid_fabric *of, struct fi_info *with, struct fid_domain **domain_p,
		       void *context)
{
	ck_assert_ptr_eq(of, &fabric);
	ck_assert_ptr_eq(with, &full_info);
	ck_assert_ptr_null(context);
	*domain_p = &domain;
	return begin_one("domain");
}

void __wrap_dofi_fid_close(const char *name, struct fid *fid, const char *what)
{
	ck_assert_ptr_eq(name, ia.name);
	ck_assert_ptr_eq(fid, !strcmp(what, "fabric") ? &fabric.fid : &domain.fid);
	end_one(what);
}

int __wrap_dofi_fabric_env_choose(const char *name, const struct fi_info *of, uint64_t quirks)
{
	ck_assert_ptr_eq(name, ia.name);
	ck_assert_ptr_eq(of, &full_info);
	ck_assert_uint_eq(quirks, ia.quirks);
	return begin_one("variables");
}

void __wrap_dofi_mr_cache_disable(const struct dofi_params *params, const struct fi_info *of,
				  uint64_t quirks, struct fid_domain *in)
{
	ck_assert_ptr_eq(params, &ia.params);
	ck_assert_ptr_eq(of, &full_info);
	ck_assert_uint_eq(quirks, ia.quirks);
	ck_assert_ptr_eq(in, &domain);
	begin_one("cache");
}

int __wrap_dofi_eqs_open(struct dofi_eqs *eqs, const char *name, struct fid_fabric *of,
			 uint64_t quirks)
{
	ck_assert_ptr_eq(eqs, &ia.eqs);
	ck_assert_ptr_eq(name, ia.name);
	ck_assert_ptr_eq(of, &fabric);
	ck_assert_uint_eq(quirks, ia.quirks);
	return begin_one("eqs");
}

void __wrap_dofi_eqs_close(struct dofi_eqs *eqs)
{
	ck_assert_ptr_eq(eqs, &ia.eqs);
	end_one("eqs");
}

static int open_transport(struct dofi_ia *of, void *name, size_t *size_p)
{
	ck_assert_ptr_eq(name, of->fabric_name);
	ck_assert_uint_eq(*size_p, sizeof(of->fabric_name));
	*size_p = 7;
	return begin_one("transport");
}

static void close_transport(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	end_one("transport");
}

/* Some have nothing to end, and some end in several calls. */
static const struct {
	const char *begin, *end;
} all[] = {
	{"key", "-key "},
	{"descriptors", ""},
	{"fabric", "-fabric "},
	{"variables", ""},
	{"domain", "-domain "},
	{"cache", ""},
	{"eqs", "-eqs "},
	{"cqs", "-cqs "},
	{"engine", "-engine "},
	{"bounces", "-bounces "},
	{"transport", "-transport -left memory "},
	{"ctxtab", "-ctxtab "},
	{"scratch", "-late bounces -scratch "},
	{"guard", "-guard "},
	{"cached", ""},
	{"credits", "-credits "},
	{"memory", ""},
	{"slots", "-slots "},
	{"cm", "-cm "},
	{"wakeup", "-wakeup "},
	{"progress", "-progress "},
};

#define ALL ((int)(sizeof(all) / sizeof(all[0])))

static void prepare(void)
{
	static const struct dofi_trans_ops trans = {.has_eq = true,
						    .open = open_transport,
						    .close = close_transport};
	static struct fi_ops_fabric fabric_ops = {.domain = make_domain};

	fabric.ops = &fabric_ops;
	strcpy(ia.name, "test");
	ia.info = &full_info;
	ia.trans = &trans;
	ia.quirks = DOFI_QUIRK_LOSES_FDS;
}

/* The calls from the first step on, the last one of which is number `last`, and back. */
static void expect_steps(int last, bool back)
{
	char expected[sizeof(order)] = "";

	for (int i = 0; i <= last; i++)
		strcat(strcat(expected, all[i].begin), " ");
	for (int i = last - 1; back && i >= 0; i--)
		strcat(expected, all[i].end);
	ck_assert_str_eq(order, expected);
}

START_TEST(what_was_opened_is_closed_in_the_reverse_order)
{
	char expected[sizeof(order)] = "";

	prepare();
	ck_assert_int_eq(dofi_ia_steps_begin(&ia), 0);
	expect_steps(ALL - 1, false);
	ck_assert_str_eq(ia.named.key, "a key");
	ck_assert_uint_eq(ia.fabric_name_size, 7);
	ck_assert_ptr_eq(ia.fabric, &fabric);
	ck_assert_ptr_eq(ia.domain, &domain);
	*order = '\0';
	dofi_ia_steps_end(&ia);
	for (int i = ALL - 1; i >= 0; i--)
		strcat(expected, all[i].end);
	ck_assert_str_eq(order, expected);
}
END_TEST

/* What was opened before it is closed. */
START_TEST(a_step_that_fails_leaves_nothing)
{
	int said = t_capture(STDERR_FILENO);

	prepare();
	failing = all[_i].begin;
	if (!strcmp(failing, "cache")) /* never fails */
		return;
	ck_assert_int_eq(dofi_ia_steps_begin(&ia), -FI_EIO);
	expect_steps(_i, true);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "IA test: "));
	ck_assert_ptr_nonnull(strstr(t_captured(said), " failed: "));
	ck_assert_ptr_nonnull(strstr(t_captured(said), fi_strerror(FI_EIO)));
	ck_assert_str_eq(ia.named.key, _i ? "a key" : "");
}
END_TEST

/* There are event queues where the transport has some, and few fabrics lose descriptors. */
START_TEST(some_steps_are_not_for_every_fabric)
{
	static const struct dofi_trans_ops without = {.open = open_transport,
						      .close = close_transport};

	prepare();
	ia.trans = &without;
	ia.quirks = 0;
	ck_assert_int_eq(dofi_ia_steps_begin(&ia), 0);
	ck_assert_ptr_null(strstr(order, "eqs"));
	ck_assert_ptr_null(strstr(order, "descriptors"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ia_steps");
	TCase *tcase = tcase_create("ia_steps");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, advice_is_about_what_the_user_can_change);
	tcase_add_test(tcase, a_device_with_short_queues_has_an_advice);
	tcase_add_test(tcase, memory_without_a_limit_needs_no_advice);
	tcase_add_loop_test(tcase, atomic_operations_need_all_layers, 0, 8);
	tcase_add_loop_test(tcase, steps_that_other_threads_must_not_take_meanwhile, 0, 6);
	tcase_add_test(tcase, no_step_alone_waits_for_a_thread);
	tcase_add_test(tcase, a_fabric_is_opened_and_closed_alone);
	tcase_add_test(tcase, what_was_opened_is_closed_in_the_reverse_order);
	tcase_add_loop_test(tcase, a_step_that_fails_leaves_nothing, 0, ALL);
	tcase_add_test(tcase, some_steps_are_not_for_every_fabric);
	return t_run(suite);
}
