/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scratch memory of an IA: each slot has one user at a time. */
#include "../../lib/unit.h"

#include "object/ia.h"
#include "object/mr.h"
#include "object/scratch.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 5u

static struct dofi_ia ia;
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};
static struct fid_mr region = {.mem_desc = &region};
static void *memory;
static size_t registered, behind;
static int map_result;

int __wrap_dofi_mr_map(struct dofi_ia *of, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		       void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
void __wrap_dofi_mr_abandon(struct dofi_ia *of, struct fid_mr *mr, void *what, size_t size);

int __wrap_dofi_mr_map(struct dofi_ia *of, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		       void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_int_eq(privileges, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	if (map_result)
		return map_result;
	registered = size;
	behind = extra;
	*memory_p = memory = calloc(1, size + extra);
	ck_assert_ptr_nonnull(memory);
	*mr_p = &region;
	*key_p = *address_p = 0;
	return 0;
}

void __wrap_dofi_mr_abandon(struct dofi_ia *of, struct fid_mr *mr, void *what, size_t size)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(mr, &region);
	ck_assert_ptr_eq(what, memory);
	ck_assert_uint_eq(size, registered + behind);
	free(memory);
	memory = NULL;
}

static void setup(void)
{
	dofi_lock_init(&ia.obj_lock);
	ia.info = &info;
	ia.limits.max_eps = SLOTS;
}

START_TEST(each_slot_has_one_user)
{
	bool used[SLOTS] = {false};
	uint32_t slot;

	ck_assert_int_eq(dofi_scratch_open(&ia), 0);
	ck_assert_uint_eq(registered, SLOTS * sizeof(*ia.scratch.slots));
	/* where no late read writes */
	ck_assert_ptr_eq(ia.scratch.free_stack, (char *)memory + registered);
	ck_assert_uint_eq(behind, SLOTS * sizeof(*ia.scratch.free_stack));
	for (unsigned int i = 0; i < SLOTS; i++) {
		ck_assert(dofi_scratch_take(&ia, &slot));
		ck_assert_uint_lt(slot, SLOTS);
		ck_assert(!used[slot]);
		used[slot] = true;
		memset(&ia.scratch.slots[slot], 0xff, sizeof(*ia.scratch.slots));
	}
	ck_assert(!dofi_scratch_take(&ia, &slot));
	dofi_scratch_give(&ia, 3);
	ck_assert(dofi_scratch_take(&ia, &slot));
	ck_assert_uint_eq(slot, 3);
	ck_assert(!dofi_scratch_take(&ia, &slot));
	dofi_scratch_close(&ia);
	ck_assert_ptr_null(memory);
}
END_TEST

START_TEST(the_descriptor_is_for_fabrics_that_ask_for_it)
{
	ck_assert_int_eq(dofi_scratch_open(&ia), 0);
	ck_assert_ptr_null(ia.scratch.desc);
	dofi_scratch_close(&ia);
	domain_attr.mr_mode = FI_MR_LOCAL;
	ck_assert_int_eq(dofi_scratch_open(&ia), 0);
	ck_assert_ptr_eq(ia.scratch.desc, &region);
	dofi_scratch_close(&ia);
}
END_TEST

START_TEST(without_memory_the_error_is_that_of_the_registration)
{
	map_result = -FI_ENOMEM;
	ck_assert_int_eq(dofi_scratch_open(&ia), -FI_ENOMEM);
	ck_assert_ptr_null(ia.scratch.slots);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scratch");
	TCase *tc = tcase_create("slots");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, each_slot_has_one_user);
	tcase_add_test(tc, the_descriptor_is_for_fabrics_that_ask_for_it);
	tcase_add_test(tc, without_memory_the_error_is_that_of_the_registration);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
