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
	const struct step step = {"a test", open_it, close_it, _i & 1};

	ia.quirks = _i & 2 ? DOFI_QUIRK_SETUP_RACES : 0;
	ck_assert_int_eq(begin_step(&ia, &step), -ENODEV);
	ck_assert_int_eq(was_alone, _i == 3);
	was_alone = false;
	end_step(&ia, &step);
	ck_assert_int_eq(was_alone, _i == 3);
	ck_assert_int_eq(inside, 0);
}
END_TEST

/* Threads that wait for another one while they hold the lock could wait for ever. */
START_TEST(no_step_alone_waits_for_a_thread)
{
	for (size_t i = 0; i < NSTEPS; i++)
		ck_assert(!steps[i].alone ||
			  (steps[i].end != dofi_progress_stop && steps[i].end != dofi_cm_fini));
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
	tcase_add_loop_test(tcase, steps_that_other_threads_must_not_take_meanwhile, 0, 4);
	tcase_add_test(tcase, no_step_alone_waits_for_a_thread);
	return t_run(suite);
}
