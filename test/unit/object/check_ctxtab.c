/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The context table: what peers may believe of an entry that they read, and how long a freed one
 * rests. The linker redirects the registration of the table to this file.
 */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/object/ctxtab.c"

#define KEY     UINT64_C(0x1122334455667788)
#define ADDRESS UINT64_C(0x99aabbccddeeff00)
#define SIZE    (DOFI_CTXTAB_ENTRIES * sizeof(struct dofi_ctx_wire))

static struct dofi_ia ia;
static struct dofi_ctxtab *const tab = &ia.ctxtab;
static struct fid_mr registration;
static struct dofi_ctx_wire entries[DOFI_CTXTAB_ENTRIES];
static struct dofi_lmr lmr;
static struct dofi_rmr rmr;
static int map_answer, abandoned, held;
static bool no_memory, no_random;
static void *unmapped;
static size_t unmapped_size;

int __wrap_dofi_mr_map(struct dofi_ia *of, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		       void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
void __wrap_dofi_mr_abandon(struct dofi_ia *of, struct fid_mr *mr, void *memory, size_t size);
T_STAND_IN void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
T_STAND_IN int __wrap_munmap(void *memory, size_t size);
T_STAND_IN ssize_t __wrap_getrandom(void *buf, size_t size, unsigned int flags);
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *memory, size_t size);

int __wrap_dofi_mr_map(struct dofi_ia *of, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		       void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_eq(size, SIZE);
	ck_assert_uint_eq(extra, 0);
	ck_assert_int_eq(privileges, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	if (map_answer)
		return map_answer;
	*memory_p = entries;
	*mr_p = &registration;
	*key_p = KEY;
	*address_p = ADDRESS;
	return 0;
}

void __wrap_dofi_mr_abandon(struct dofi_ia *of, struct fid_mr *mr, void *memory, size_t size)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(mr, &registration);
	ck_assert_ptr_eq(memory, entries);
	ck_assert_uint_eq(size, SIZE);
	abandoned++;
}

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (size == LOCAL_SIZE)
		ck_assert_int_eq(prot, PROT_READ | PROT_WRITE);
	return no_memory ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

int __wrap_munmap(void *memory, size_t size)
{
	unmapped = memory;
	unmapped_size = size;
	return __real_munmap(memory, size);
}

/* The first generation is 8 of each new table. */
ssize_t __wrap_getrandom(void *buf, size_t size, unsigned int flags)
{
	const uint16_t number = 7;

	ck_assert_uint_eq(size, sizeof(number));
	ck_assert_uint_eq(flags, 0);
	if (no_random) {
		errno = ENOSYS;
		return -1;
	}
	memcpy(buf, &number, sizeof(number));
	return sizeof(number);
}

static void setup(void)
{
	ck_assert_int_eq(dofi_ctxtab_init(&ia), 0);
}

static void teardown(void)
{
	ck_assert_int_eq(atomic_load(&tab->lock.word), DOFI_LOCK_FREE);
	dofi_ctxtab_fini(&ia);
}

static uint32_t reserve(void)
{
	uint32_t context = 0;

	ck_assert_int_eq(dofi_ctxtab_reserve(tab, &lmr, &context), 0);
	ck_assert_uint_ne(context, 0);
	return context;
}

/* --- entries that peers read --- */

static const struct dofi_ctx example = {.key = 0x0102030405060708,
					.address = 0x1112131415161718,
					.base = 0x2122232425262728,
					.length = 0x3132333435363738,
					.context = 0x41424344,
					.privileges = 0x5152,
					.pz = 0x6162};

START_TEST(a_peer_reads_what_the_owner_has_written)
{
	const struct dofi_ctx_wire wire = dofi_ctx_encode(&example);
	const uint8_t *byte = (const uint8_t *)&wire;
	struct dofi_ctx read;

	ck_assert(dofi_ctx_decode(&wire, example.context, &read));
	ck_assert_uint_eq(read.key, example.key);
	ck_assert_uint_eq(read.address, example.address);
	ck_assert_uint_eq(read.base, example.base);
	ck_assert_uint_eq(read.length, example.length);
	ck_assert_uint_eq(read.context, example.context);
	ck_assert_uint_eq(read.privileges, example.privileges);
	ck_assert_uint_eq(read.pz, example.pz);
	/* In network byte order: the peer may have another one. */
	for (size_t i = 0; i < 8; i++) {
		ck_assert_uint_eq(byte[i], 1 + i);
		ck_assert_uint_eq(byte[8 + i], 0x11 + i);
		ck_assert_uint_eq(byte[16 + i], 0x21 + i);
		ck_assert_uint_eq(byte[24 + i], 0x31 + i);
	}
	ck_assert_mem_eq(byte + 32, "\x41\x42\x43\x44\x51\x52\x61\x62", 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	ck_assert_uint_eq(wire.check,
			  UINT64_C(0x35406c3f80c0f3dc)); /* as other releases compute it */
#endif
}
END_TEST

/* It was read while it changed. */
START_TEST(an_entry_with_another_bit_is_refused)
{
	for (size_t i = 0; i < 8 * sizeof(struct dofi_ctx_wire); i++) {
		struct dofi_ctx_wire wire = dofi_ctx_encode(&example);
		struct dofi_ctx read = {.length = 5};

		((uint8_t *)&wire)[i / 8] ^= (uint8_t)(1 << i % 8);
		ck_assert_msg(!dofi_ctx_decode(&wire, example.context, &read), "bit %zu", i);
		ck_assert_uint_eq(read.length, 5);
	}
}
END_TEST

START_TEST(an_entry_of_another_context_is_refused)
{
	const struct dofi_ctx_wire wire = dofi_ctx_encode(&example);
	struct dofi_ctx read;

	ck_assert(!dofi_ctx_decode(&wire, example.context + 1, &read));
	ck_assert(!dofi_ctx_decode(&wire, 0, &read));
}
END_TEST

/* The words of two entries that come and go at one place do not fit together. */
START_TEST(a_mixture_of_two_entries_is_refused)
{
	struct dofi_ctx other = example;
	struct dofi_ctx_wire first = dofi_ctx_encode(&example), second;
	struct dofi_ctx read;

	other.key++;
	other.address += 4096;
	other.base += 4096;
	other.length = 12;
	second = dofi_ctx_encode(&other);
	for (int from = 1; from < 15; from++) {
		struct dofi_ctx_wire mixed = first;

		if (from & 1)
			mixed.key = second.key;
		if (from & 2)
			mixed.address = second.address;
		if (from & 4)
			mixed.base = second.base;
		if (from & 8)
			mixed.length = second.length;
		ck_assert(!dofi_ctx_decode(&mixed, example.context, &read));
		mixed.check = second.check;
		ck_assert(!dofi_ctx_decode(&mixed, example.context, &read));
	}
}
END_TEST

START_TEST(an_entry_is_valid_between_its_exposure_and_its_release)
{
	struct dofi_ctx ctx = example, read;
	struct dofi_ctx_wire *wire;

	ctx.context = reserve();
	wire = &entries[DOFI_CTX_INDEX(ctx.context)];
	ck_assert(!dofi_ctx_decode(wire, ctx.context, &read));
	dofi_ctxtab_expose(tab, &ctx);
	ck_assert(dofi_ctx_decode(wire, ctx.context, &read));
	ck_assert_uint_eq(read.length, ctx.length);
	ck_assert_uint_eq(read.privileges, ctx.privileges);
	ck_assert_ptr_eq(dofi_ctxtab_lmr(tab, ctx.context), &lmr);
	ck_assert_ptr_null(dofi_ctxtab_lmr(tab, ctx.context ^ 1u << 16));
	dofi_ctxtab_release(tab, ctx.context);
	ck_assert(!dofi_ctx_decode(wire, ctx.context, &read));
	ck_assert_ptr_null(dofi_ctxtab_lmr(tab, ctx.context));
}
END_TEST

START_TEST(the_owner_learns_at_the_release_of_subscriptions)
{
	uint32_t subscribed = reserve(), other = reserve(), again;

	ck_assert(!dofi_ctxtab_subscribe(tab, 0));
	ck_assert(!dofi_ctxtab_subscribe(tab, subscribed ^ 1u << 16));
	ck_assert(dofi_ctxtab_subscribe(tab, subscribed));
	ck_assert(!dofi_ctxtab_release(tab, other));
	ck_assert(dofi_ctxtab_release(tab, subscribed));
	ck_assert(!dofi_ctxtab_subscribe(tab, subscribed));
	/* The next context at this place has none. */
	do {
		again = reserve();
		ck_assert(!dofi_ctxtab_release(tab, again));
	} while (DOFI_CTX_INDEX(again) != DOFI_CTX_INDEX(subscribed));
}
END_TEST

/* --- indices and generations --- */

/* So that a late use of a freed context finds nobody. */
START_TEST(a_freed_entry_rests)
{
	uint32_t first = reserve(), context;

	dofi_ctxtab_release(tab, first);
	for (uint32_t i = 0; i < RESTING; i++) {
		context = reserve();
		ck_assert_uint_ne(DOFI_CTX_INDEX(context), DOFI_CTX_INDEX(first));
		dofi_ctxtab_release(tab, context);
	}
	context = reserve();
	ck_assert_uint_eq(DOFI_CTX_INDEX(context), DOFI_CTX_INDEX(first));
	ck_assert_uint_ne(context, first); /* another generation */
	ck_assert_uint_eq(tab->used, 1);
	context = reserve();
	ck_assert_uint_eq(DOFI_CTX_INDEX(context), RESTING + 1); /* never used */
}
END_TEST

START_TEST(a_full_table_is_reported_and_used_in_order)
{
	uint32_t context = 1, freed[3];

	for (uint32_t i = 0; i < DOFI_CTXTAB_ENTRIES; i++)
		ck_assert_uint_eq(DOFI_CTX_INDEX(reserve()), i);
	ck_assert_uint_eq(tab->used, DOFI_CTXTAB_ENTRIES);
	ck_assert_int_eq(dofi_ctxtab_reserve(tab, &lmr, &context), -ENOSPC);
	ck_assert_uint_eq(context, 1);
	ck_assert_uint_eq(tab->used, DOFI_CTXTAB_ENTRIES);
	for (uint32_t i = 0; i < 3; i++) {
		freed[i] = tab->local[40 - 10 * i].context;
		dofi_ctxtab_release(tab, freed[i]);
	}
	ck_assert_uint_eq(tab->used, DOFI_CTXTAB_ENTRIES - 3);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(DOFI_CTX_INDEX(reserve()), DOFI_CTX_INDEX(freed[i]));
	ck_assert_int_eq(dofi_ctxtab_reserve(tab, &lmr, &context), -ENOSPC);
}
END_TEST

/* A context of 0 means none. */
START_TEST(generations_begin_again_behind_the_last)
{
	uint32_t context = reserve();

	ck_assert_uint_eq(context >> 16, 8);
	dofi_ctxtab_release(tab, context);
	tab->first_generation = UINT16_MAX;
	context = reserve();
	ck_assert_uint_eq(context >> 16, 1);
}
END_TEST

/* --- RMRs --- */

static void hold(struct dofi_rmr *of)
{
	ck_assert_ptr_eq(of, &rmr);
	dofi_assert_held(&tab->lock);
	held++;
}

START_TEST(an_rmr_is_found_by_its_context)
{
	uint32_t context = reserve();

	ck_assert_ptr_null(dofi_ctxtab_hold_rmr(tab, context, hold));
	dofi_ctxtab_set_rmr(tab, context, &rmr);
	ck_assert_ptr_eq(dofi_ctxtab_hold_rmr(tab, context, hold), &rmr);
	ck_assert_int_eq(held, 1);
	ck_assert_ptr_null(dofi_ctxtab_hold_rmr(tab, context ^ 1u << 16, hold));
	dofi_ctxtab_release(tab, context);
	ck_assert_ptr_null(dofi_ctxtab_hold_rmr(tab, context, hold));
	ck_assert_ptr_null(dofi_ctxtab_hold_rmr(tab, 0, hold));
	ck_assert_int_eq(held, 1);
}
END_TEST

/* The next user of the entry is not taken for the former one. */
START_TEST(nothing_stays_of_a_released_context)
{
	struct dofi_ctx ctx = example;
	uint32_t context = reserve(), index = DOFI_CTX_INDEX(context);

	ctx.context = context;
	dofi_ctxtab_expose(tab, &ctx);
	dofi_ctxtab_set_rmr(tab, context, &rmr);
	dofi_ctxtab_release(tab, context);
	ck_assert_uint_eq(entries[index].context, 0);
	ck_assert_uint_eq(tab->local[index].context, 0);
	ck_assert_ptr_null(tab->local[index].lmr);
	tab->entries = tab->fresh; /* so the entry is used again at once */
	context = reserve();
	ck_assert_uint_eq(DOFI_CTX_INDEX(context), index);
	ck_assert_ptr_null(dofi_ctxtab_hold_rmr(tab, context, hold));
	ctx.context = context;
	dofi_ctxtab_expose(tab, &ctx);
	ck_assert_uint_eq(be32toh(entries[index].context), context);
}
END_TEST

/* --- life cycle --- */

START_TEST(a_new_table_is_empty_and_registered)
{
	ck_assert_uint_eq(tab->entries, DOFI_CTXTAB_ENTRIES);
	ck_assert_uint_eq(tab->used, 0);
	ck_assert_ptr_eq(tab->mr, &registration);
	ck_assert_uint_eq(tab->key, KEY);
	ck_assert_uint_eq(tab->address, ADDRESS);
#ifndef NDEBUG
	ck_assert_int_eq(tab->lock.level, DOFI_LEVEL_LEAF);
#endif
}
END_TEST

START_TEST(the_memory_of_the_table_is_given_back)
{
	void *local;

	setup();
	local = tab->local;
	dofi_ctxtab_fini(&ia);
	ck_assert_int_eq(abandoned, 1);
	ck_assert_ptr_null(tab->wire);
	ck_assert_ptr_null(tab->local);
	ck_assert_ptr_eq(unmapped, local);
	ck_assert_uint_eq(unmapped_size, DOFI_CTXTAB_ENTRIES * sizeof(struct dofi_ctx_local));
}
END_TEST

START_TEST(a_table_that_can_not_be_made)
{
	static const int answers[] = {-ENOMEM, -ENOSYS, -EPERM};

	no_memory = _i == 0;
	no_random = _i == 1;
	map_answer = _i == 2 ? -EPERM : 0;
	ck_assert_int_eq(dofi_ctxtab_init(&ia), answers[_i]);
	ck_assert((unmapped != NULL) == (_i > 0));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ctxtab");
	TCase *tc = tcase_create("entries");

	tcase_add_test(tc, a_peer_reads_what_the_owner_has_written);
	tcase_add_test(tc, an_entry_with_another_bit_is_refused);
	tcase_add_test(tc, an_entry_of_another_context_is_refused);
	tcase_add_test(tc, a_mixture_of_two_entries_is_refused);
	suite_add_tcase(suite, tc);
	tc = tcase_create("table");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_entry_is_valid_between_its_exposure_and_its_release);
	tcase_add_test(tc, the_owner_learns_at_the_release_of_subscriptions);
	tcase_add_test(tc, a_freed_entry_rests);
	tcase_add_test(tc, a_full_table_is_reported_and_used_in_order);
	tcase_add_test(tc, generations_begin_again_behind_the_last);
	tcase_add_test(tc, an_rmr_is_found_by_its_context);
	tcase_add_test(tc, nothing_stays_of_a_released_context);
	tcase_add_test(tc, a_new_table_is_empty_and_registered);
	suite_add_tcase(suite, tc);
	tc = tcase_create("life cycle");
	tcase_add_test(tc, the_memory_of_the_table_is_given_back);
	tcase_add_loop_test(tc, a_table_that_can_not_be_made, 0, 3);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
