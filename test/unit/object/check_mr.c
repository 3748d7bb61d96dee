/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The arguments of registrations: exactly the access rights of the privileges, and a key that is
 * hard to guess.
 */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/mr.h"
#include "../../../prov/ofi/fabric/quirks.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static struct dofi_ia ia;
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};
static uint64_t asked, key_asked;
static uintptr_t asked_memory;
static size_t length_asked;
static uint32_t ncalls, ntaken; /* the first keys that are asked for are taken already */

/* --- the registration --- */

static uint64_t key_answered = 1;
static int register_error, bind_error, enable_error, close_error;
static int nbinds, nenables, ncloses;

static int bind_region(struct fid *fid, struct fid *to, uint64_t flags)
{
	(void)fid, (void)flags;
	ck_assert_ptr_eq(to, &ia.shared_ep->fid);
	nbinds++;
	return bind_error;
}

static int control_region(struct fid *fid, int command, void *arg)
{
	(void)fid, (void)arg;
	ck_assert_int_eq(command, FI_ENABLE);
	ck_assert_int_eq(nbinds, 1);
	nenables++;
	return enable_error;
}

static int close_region(struct fid *fid)
{
	(void)fid;
	ncloses++;
	return close_error;
}

static struct fi_ops region_ops = {.size = sizeof(region_ops),
				   .close = close_region,
				   .bind = bind_region,
				   .control = control_region};
static struct fid_mr region = {.fid.ops = &region_ops};

static int register_it(struct fid *fid, const void *buf, size_t len, uint64_t access,
		       uint64_t offset, uint64_t wanted_key, uint64_t flags, struct fid_mr **mr_p,
		       void *context)
{
	(void)fid, (void)offset, (void)flags, (void)context;
	asked_memory = (uintptr_t)buf;
	length_asked = len;
	asked = access;
	key_asked = wanted_key;
	if (ncalls++ < ntaken)
		return -FI_ENOKEY;
	if (register_error)
		return register_error;
	region.key = key_answered;
	*mr_p = &region;
	return 0;
}

static struct fi_ops_mr mr_ops = {.size = sizeof(mr_ops), .reg = register_it};
static struct fid_domain domain = {.mr = &mr_ops};

static int try(unsigned int privileges, struct fid_mr **mr_p)
{
	static char memory[64];
	uint64_t key, address;

	ia.info = &info;
	ia.domain = &domain;
	dofi_lock_init(&ia.mr_lock);
	return dofi_mr_register(&ia, memory, sizeof(memory), (DAT_MEM_PRIV_FLAGS)privileges, mr_p,
				&key, &address);
}

static uint64_t rights(uint64_t quirks, unsigned int privileges)
{
	struct fid_mr *mr;

	ia.quirks = quirks;
	ck_assert_int_eq(try(privileges, &mr), 0);
	ck_assert_ptr_eq(mr, &region);
	return asked;
}

#define READ   DAT_MEM_PRIV_LOCAL_READ_FLAG
#define WRITE  (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define RREAD  DAT_MEM_PRIV_REMOTE_READ_FLAG
#define RWRITE DAT_MEM_PRIV_REMOTE_WRITE_FLAG
#define ATOMIC DOFI_MEM_PRIV_REMOTE_ATOMIC

static const struct {
	unsigned int privileges;
	uint64_t access, few;
} cases[] = {
	{READ, FI_SEND | FI_WRITE, FI_SEND},
	{READ | RREAD, FI_SEND | FI_WRITE | FI_REMOTE_READ, FI_SEND | FI_REMOTE_READ},
	{WRITE, FI_SEND | FI_WRITE | FI_RECV | FI_READ, FI_SEND | FI_RECV},
	{WRITE | RREAD | RWRITE,
	 FI_SEND | FI_WRITE | FI_RECV | FI_READ | FI_REMOTE_READ | FI_REMOTE_WRITE,
	 FI_SEND | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE},
};

START_TEST(each_privilege_by_name)
{
	ck_assert_uint_eq(rights(0, cases[_i].privileges), cases[_i].access);
}
END_TEST

/* On fabrics where FI_WRITE would make read-only memory writable. */
START_TEST(rights_that_the_fabric_lacks_are_not_asked_for)
{
	ck_assert_uint_eq(rights(DOFI_QUIRK_FEW_RIGHTS, cases[_i].privileges), cases[_i].few);
}
END_TEST

/* libfabric's remote write includes atomic operations. */
START_TEST(atomic_operations_of_the_fabric_need_rights)
{
	const uint64_t write = FI_RECV | FI_READ | FI_REMOTE_WRITE;

	ck_assert_uint_eq(rights(0, READ | ATOMIC) & write, 0);
	ia.does_atomics = true;
	ck_assert_uint_eq(rights(0, READ) & write, 0);
	ck_assert_uint_eq(rights(0, READ | ATOMIC) & write, write);
}
END_TEST

/* --- keys --- */

static uint64_t key_of_size(size_t size)
{
	domain_attr.mr_key_size = size;
	ncalls = 0;
	rights(0, READ);
	return key_asked;
}

/* All bits occur, and none beyond; 64 draws miss one in no run that anybody will see. */
START_TEST(keys_use_all_bits_that_the_fabric_takes)
{
	static const size_t sizes[] = {2, 4, 8};
	uint64_t bits = 0, all = UINT64_MAX >> (64 - 8 * sizes[_i]);

	for (int i = 0; i < 64; i++)
		bits |= key_of_size(sizes[_i]);
	ck_assert_uint_eq(bits, all);
}
END_TEST

START_TEST(keys_do_not_follow_each_other)
{
	uint64_t former = key_of_size(8);

	for (int i = 0; i < 64; i++) {
		uint64_t key = key_of_size(8);

		ck_assert_uint_gt(key > former ? key - former : former - key, 1u << 16);
		former = key;
	}
}
END_TEST

START_TEST(a_key_that_is_taken_is_not_the_last)
{
	ntaken = 5;
	key_of_size(2);
	ck_assert_uint_eq(ncalls, 6);
}
END_TEST

START_TEST(memory_for_others_needs_a_key)
{
	struct fid_mr *mr;

	key_answered = FI_KEY_NOTAVAIL;
	ck_assert_int_eq(try(WRITE, &mr), 0);
	ck_assert_int_eq(ncloses, 0);
	ck_assert_int_eq(try(WRITE | RREAD, &mr), -FI_ENOKEY);
	ck_assert_int_eq(ncloses, 1);
}
END_TEST

/* --- registrations that belong to an endpoint --- */

static struct fid_ep endpoint;

static void setup_endpoint(void)
{
	ia.shared_ep = &endpoint;
	domain_attr.mr_mode = FI_MR_ENDPOINT;
}

START_TEST(a_registration_of_an_endpoint_is_bound_and_enabled)
{
	struct fid_mr *mr;

	setup_endpoint();
	ck_assert_int_eq(try(READ, &mr), 0);
	ck_assert_int_eq(nbinds, 1);
	ck_assert_int_eq(nenables, 1);
	ck_assert_int_eq(ncloses, 0);
}
END_TEST

START_TEST(a_registration_that_the_endpoint_refuses_is_closed)
{
	struct fid_mr *mr;

	setup_endpoint();
	*(_i ? &enable_error : &bind_error) = -FI_EBUSY;
	ck_assert_int_eq(try(READ, &mr), -FI_EBUSY);
	ck_assert_int_eq(nenables, _i);
	ck_assert_int_eq(ncloses, 1);
}
END_TEST

/* --- memory of the library's own --- */

START_TEST(memory_of_a_failed_close_remains_until_the_end)
{
	int fd = t_capture(STDERR_FILENO);
	uint64_t key, address;
	struct fid_mr *mr;
	void *memory;

	ck_assert_int_eq(try(READ, &mr), 0);
	ck_assert_int_eq(dofi_mr_map(&ia, 4096, 0, READ, &memory, &mr, &key, &address), 0);
	close_error = -FI_EBUSY;
	dofi_mr_abandon(&ia, mr, memory, 4096);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "can't be closed and leaks"));
	memset(memory, 1, 4096); /* a late write of the fabric */
	dofi_mr_unmap_all(&ia);
	ck_assert_int_eq(msync(memory, 4096, MS_ASYNC), -1);
	ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

/* Pages behind the registered part belong to it, and nothing remains after a refusal. */
START_TEST(memory_has_room_for_what_is_not_registered)
{
	uint64_t key, address;
	struct fid_mr *mr;
	void *memory = NULL;

	ck_assert_int_eq(try(READ, &mr), 0);
	ck_assert_int_eq(dofi_mr_map(&ia, 4096, 8192, READ, &memory, &mr, &key, &address), 0);
	ck_assert_uint_eq(length_asked, 4096);
	ck_assert_int_eq(msync(memory, 3 * 4096, MS_ASYNC), 0);
	dofi_mr_abandon(&ia, mr, memory, 3 * 4096);
	dofi_mr_unmap_all(&ia);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_int_eq(msync((char *)memory + 4096ul * i, 4096, MS_ASYNC), -1);
	memory = NULL;
	register_error = -FI_EINVAL;
	ck_assert_int_eq(dofi_mr_map(&ia, 4096, 8192, READ, &memory, &mr, &key, &address),
			 -FI_EINVAL);
	ck_assert_ptr_null(memory);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_int_eq(msync((char *)asked_memory + 4096ul * i, 4096, MS_ASYNC), -1);
}
END_TEST

/* --- advice after a refusal --- */

static struct rlimit lockable;
static int limit_result;

int __wrap_getrlimit(int what, struct rlimit *limit);

int __wrap_getrlimit(int what, struct rlimit *limit)
{
	ck_assert_int_eq(what, RLIMIT_MEMLOCK);
	*limit = lockable;
	return limit_result;
}

START_TEST(the_limit_of_locked_memory_is_told_in_kib)
{
	char text[DOFI_MR_LIMIT_SIZE];

	lockable.rlim_cur = 65536;
	ck_assert_ptr_nonnull(strstr(dofi_mr_limit(text), " 64 KiB "));
	ck_assert_ptr_nonnull(strstr(text, "ulimit -l"));
	lockable.rlim_cur = RLIM_INFINITY - 1; /* the longest number */
	ck_assert_ptr_nonnull(strstr(dofi_mr_limit(text), "ulimit -l"));
}
END_TEST

START_TEST(no_advice_without_a_limit)
{
	char text[DOFI_MR_LIMIT_SIZE];

	lockable.rlim_cur = RLIM_INFINITY;
	ck_assert_str_eq(dofi_mr_limit(text), "");
	lockable.rlim_cur = 65536;
	limit_result = -1;
	ck_assert_str_eq(dofi_mr_limit(text), "");
}
END_TEST

static const struct {
	int err;
	unsigned int privileges;
	const char *advice;
} refusals[] = {
	{FI_ENOMEM, WRITE, "ulimit -l"},
	{FI_EFAULT, READ, "FI_MR_CACHE_MONITOR=disabled"},
	{FI_EFAULT, WRITE, NULL},
	{FI_EINVAL, READ, NULL},
};

START_TEST(a_refusal_is_logged_with_advice)
{
	int fd = t_capture(STDERR_FILENO);
	struct fid_mr *mr;
	const char *said;

	lockable.rlim_cur = 65536;
	register_error = -refusals[_i].err;
	ck_assert_int_eq(try(refusals[_i].privileges, &mr), -refusals[_i].err);
	said = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(said, "refuses to register 64 bytes"));
	for (int i = 0; i < 2; i++) {
		const char *wanted = refusals[_i].advice;

		ck_assert_int_eq(strstr(said, refusals[i].advice) != NULL,
				 wanted && !strcmp(wanted, refusals[i].advice));
	}
}
END_TEST

/* The library tries to register a bounce buffer in each round until the fabric takes it. */
START_TEST(refusals_do_not_fill_the_log)
{
	int fd = t_capture(STDERR_FILENO), lines = 0;
	struct fid_mr *mr;

	register_error = -FI_EINVAL;
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(try(WRITE, &mr), -FI_EINVAL);
	for (const char *at = t_captured(fd); (at = strstr(at, "refuses to register")); at++)
		lines++;
	ck_assert_int_gt(lines, 1);
	ck_assert_int_lt(lines, 20);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mr");
	TCase *tc = tcase_create("mr");

	tcase_add_loop_test(tc, each_privilege_by_name, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_loop_test(tc, rights_that_the_fabric_lacks_are_not_asked_for, 0,
			    sizeof(cases) / sizeof(cases[0]));
	tcase_add_loop_test(tc, keys_use_all_bits_that_the_fabric_takes, 0, 3);
	tcase_add_test(tc, keys_do_not_follow_each_other);
	tcase_add_test(tc, a_key_that_is_taken_is_not_the_last);
	tcase_add_test(tc, the_limit_of_locked_memory_is_told_in_kib);
	tcase_add_test(tc, no_advice_without_a_limit);
	tcase_add_test(tc, refusals_do_not_fill_the_log);
	tcase_add_loop_test(tc, a_refusal_is_logged_with_advice, 0,
			    sizeof(refusals) / sizeof(refusals[0]));
	tcase_add_test(tc, atomic_operations_of_the_fabric_need_rights);
	tcase_add_test(tc, memory_for_others_needs_a_key);
	tcase_add_test(tc, a_registration_of_an_endpoint_is_bound_and_enabled);
	tcase_add_loop_test(tc, a_registration_that_the_endpoint_refuses_is_closed, 0, 2);
	tcase_add_test(tc, memory_of_a_failed_close_remains_until_the_end);
	tcase_add_test(tc, memory_has_room_for_what_is_not_registered);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
