/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The traits of operations, and their events. */
#include "unit.h"

#include "../../../prov/ofi/base/dat_api.h"
#include "../../../prov/ofi/object/op.h"
#include "../../../prov/ofi/object/ud_ah.h"

#include <string.h>

#define NAME(unused, name, number, traits) DOFI_OP_##name,
static const uint8_t all[] = {DOFI_OP_TABLE(NAME, )};
#define N_ALL (sizeof(all) / sizeof(all[0]))

/* Exactly these operations have the trait. */
static void expect(bool (*has)(uint8_t op), const uint8_t *ops, size_t n)
{
	for (size_t i = 0; i < N_ALL; i++)
		ck_assert_msg(has(all[i]) == !!memchr(ops, all[i], n), "operation %u", all[i]);
}

#define EXPECT(has, ...) \
	expect(has, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

START_TEST(numbers_fit_in_a_bit_mask)
{
	uint32_t seen = 0;

	for (size_t i = 0; i < N_ALL; i++) {
		ck_assert_uint_lt(all[i], DOFI_OPS);
		ck_assert(!(seen & 1u << all[i]));
		seen |= 1u << all[i];
	}
}
END_TEST

/* An atomic request names its operation by this number. */
START_TEST(numbers_on_the_wire)
{
	ck_assert_int_eq(DOFI_OP_FETCH_ADD, 10);
	ck_assert_int_eq(DOFI_OP_CMP_SWAP, 11);
}
END_TEST

START_TEST(each_trait_has_its_operations)
{
	EXPECT(dofi_op_is_of_ep, DOFI_OP_SEND, DOFI_OP_WRITE, DOFI_OP_READ, DOFI_OP_RECV,
	       DOFI_OP_BIND, DOFI_OP_SEND_UD, DOFI_OP_WRITE_IMM, DOFI_OP_FETCH_ADD,
	       DOFI_OP_CMP_SWAP, DOFI_OP_SEND_INVALIDATE, DOFI_OP_PEEK, DOFI_OP_PART);
	EXPECT(dofi_op_may_be_plain, DOFI_OP_SEND, DOFI_OP_WRITE, DOFI_OP_READ, DOFI_OP_RECV);
	EXPECT(dofi_op_is_receive, DOFI_OP_RECV, DOFI_OP_SRQ_RECV);
	EXPECT(dofi_op_is_message, DOFI_OP_SEND, DOFI_OP_WRITE_IMM, DOFI_OP_SEND_INVALIDATE);
	EXPECT(dofi_op_is_send, DOFI_OP_SEND, DOFI_OP_SEND_UD, DOFI_OP_SEND_INVALIDATE);
	EXPECT(dofi_op_is_rdma, DOFI_OP_READ, DOFI_OP_WRITE, DOFI_OP_WRITE_IMM);
	EXPECT(dofi_op_is_write, DOFI_OP_WRITE, DOFI_OP_WRITE_IMM);
	EXPECT(dofi_op_is_atomic, DOFI_OP_FETCH_ADD, DOFI_OP_CMP_SWAP);
	EXPECT(dofi_op_needs_ctrl, DOFI_OP_WRITE_IMM, DOFI_OP_FETCH_ADD, DOFI_OP_CMP_SWAP,
	       DOFI_OP_SEND_INVALIDATE);
	EXPECT(dofi_op_is_inward, DOFI_OP_READ, DOFI_OP_RECV, DOFI_OP_FETCH_ADD, DOFI_OP_CMP_SWAP,
	       DOFI_OP_SRQ_RECV);
}
END_TEST

static void expect_event(uint8_t op, unsigned int dto, int type)
{
	struct dofi_op_event event = dofi_op_event(op);

	ck_assert_uint_eq(event.dto, dto);
	ck_assert_uint_eq(event.ext, DOFI_DAT_MAJOR == 1 ? 0 : type + 1);
}

START_TEST(events_of_standard_operations)
{
	expect_event(DOFI_OP_SEND, 0, -1);
	expect_event(DOFI_OP_SEND_INVALIDATE, 0, -1);
	expect_event(DOFI_OP_WRITE, 1, -1);
	expect_event(DOFI_OP_READ, 2, -1);
	expect_event(DOFI_OP_RECV, 3, -1);
	expect_event(DOFI_OP_RECV_INVALIDATE, 4, -1);
}
END_TEST

START_TEST(events_of_extended_operations)
{
	expect_event(DOFI_OP_WRITE_IMM, 8, 2);
	expect_event(DOFI_OP_RECV_IMM, 9, 3);
	expect_event(DOFI_OP_FETCH_ADD, 10, 0);
	expect_event(DOFI_OP_CMP_SWAP, 11, 1);
	expect_event(DOFI_OP_SEND_UD, DOFI_UD_DTO_SEND, DOFI_UD_TYPE_SEND);
	expect_event(DOFI_OP_RECV_UD, DOFI_UD_DTO_RECV, DOFI_UD_TYPE_RECV);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("op");
	TCase *tc = tcase_create("op");

	tcase_add_test(tc, numbers_fit_in_a_bit_mask);
	tcase_add_test(tc, numbers_on_the_wire);
	tcase_add_test(tc, each_trait_has_its_operations);
	tcase_add_test(tc, events_of_standard_operations);
	tcase_add_test(tc, events_of_extended_operations);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
