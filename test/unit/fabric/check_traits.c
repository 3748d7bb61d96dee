/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Capabilities of a fabric, by its attributes and quirks. */
#include "unit.h"

#include "../../../prov/ofi/dto/op_context.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/fabric/traits.h"

#include <rdma/fabric.h>

#define ORDER (FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW | FI_ORDER_RAW)

static struct fi_tx_attr tx_attr;
static struct fi_rx_attr rx_attr;
static struct fi_ep_attr ep_attr;
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.tx_attr = &tx_attr,
			      .rx_attr = &rx_attr,
			      .ep_attr = &ep_attr,
			      .domain_attr = &domain_attr};

static void setup(void)
{
	tx_attr = (struct fi_tx_attr){.msg_order = ORDER, .inject_size = 128, .rma_iov_limit = 2};
	rx_attr = (struct fi_rx_attr){.msg_order = ORDER, .mode = FI_RX_CQ_DATA};
	ep_attr = (struct fi_ep_attr){.max_msg_size = 1 << 20,
				      .max_order_raw_size = 1 << 20,
				      .max_order_waw_size = 1 << 20};
	domain_attr.cq_data_size = sizeof(uint64_t);
	info.caps = info.mode = 0;
}

START_TEST(order_of_a_write_and_a_send)
{
	ck_assert_int_eq(dofi_order_of(&info), DOFI_ORDERED);
	rx_attr.msg_order = FI_ORDER_SAS;
	ck_assert_int_eq(dofi_order_of(&info), DOFI_HOLD);
	info.caps |= FI_FENCE;
	ck_assert_int_eq(dofi_order_of(&info), DOFI_FENCE);
}
END_TEST

START_TEST(order_of_reads_and_writes)
{
	ck_assert(!dofi_reads_overtake(&info));
	ck_assert(!dofi_writes_overtake(&info));
	ep_attr.max_order_raw_size = ep_attr.max_order_waw_size = 4096; /* only small ones */
	ck_assert(dofi_reads_overtake(&info));
	ck_assert(dofi_writes_overtake(&info));
	setup();
	tx_attr.msg_order &= ~(uint64_t)FI_ORDER_RAW;
	ck_assert(dofi_reads_overtake(&info));
	ck_assert(!dofi_writes_overtake(&info));
	setup();
	rx_attr.msg_order &= ~(uint64_t)FI_ORDER_WAW;
	ck_assert(!dofi_reads_overtake(&info));
	ck_assert(dofi_writes_overtake(&info));
}
END_TEST

START_TEST(the_end_of_a_key)
{
	ck_assert(dofi_ends_keys(~DOFI_QUIRK_TCP_PORTS));
	ck_assert(!dofi_ends_keys(~DOFI_QUIRK_QUEUE_PAIRS));
	ck_assert(!dofi_ends_keys(DOFI_QUIRK_QUEUE_PAIRS | DOFI_QUIRK_TCP_PORTS));
	ck_assert(!dofi_ends_keys(0));
}
END_TEST

/* Processors that reorder stores do not keep the order of a copy. */
START_TEST(bytes_of_a_write)
{
	static const struct {
		uint64_t quirks;
		bool keeps_order, in_order;
	} cases[] = {
		{0, true, false},
		{DOFI_QUIRK_QUEUE_PAIRS, true, false},
		{DOFI_QUIRK_STORES_IN_ORDER, true, true},
		{DOFI_QUIRK_STORES_IN_ORDER, false, false},
		{DOFI_QUIRK_STORES_IN_ORDER | DOFI_QUIRK_QUEUE_PAIRS, false, true},
	};

	ck_assert(dofi_stores_in_order(cases[_i].quirks, cases[_i].keeps_order) ==
		  cases[_i].in_order);
}
END_TEST

START_TEST(targets_of_a_write)
{
	ck_assert(dofi_stores_targets_in_order(&info, DOFI_QUIRK_STREAM));
	ck_assert(!dofi_stores_targets_in_order(&info, ~DOFI_QUIRK_STREAM));
	tx_attr.rma_iov_limit = 1;
	ck_assert(!dofi_stores_targets_in_order(&info, DOFI_QUIRK_STREAM));
}
END_TEST

START_TEST(completion_data)
{
	ck_assert(dofi_has_data(&info, ~DOFI_QUIRK_NO_DATA));
	ck_assert(!dofi_has_data(&info, DOFI_QUIRK_NO_DATA));
	domain_attr.cq_data_size = 0;
	ck_assert(!dofi_has_data(&info, 0));
}
END_TEST

START_TEST(immediate_data)
{
	ck_assert(dofi_has_immediates(&info, 0));
	ck_assert(!dofi_has_immediates(&info, DOFI_QUIRK_NO_DATA));
	domain_attr.cq_data_size = 2;
	ck_assert(!dofi_has_immediates(&info, 0));
	domain_attr.cq_data_size = 4;
	rx_attr.mode = 0;
	ck_assert(!dofi_has_immediates(&info, 0));
	info.mode = FI_RX_CQ_DATA;
	ck_assert(dofi_has_immediates(&info, 0));
}
END_TEST

/* Only if a completion means that the bytes were copied, and no more. */
START_TEST(sends_without_a_completion)
{
	ck_assert_uint_eq(dofi_inject_max(&info, DOFI_QUIRK_COPIES), 128);
	ck_assert_uint_eq(dofi_inject_max(&info, ~DOFI_QUIRK_COPIES), 0);
}
END_TEST

/* Some providers keep their own state in the context of an operation. */
START_TEST(room_for_the_context_of_the_fabric)
{
	static const uint64_t modes[] = {FI_CONTEXT, FI_CONTEXT2};

	ck_assert_uint_eq(dofi_context_gap(&info), 0);
	for (int i = 0; i < 2; i++) {
		uint64_t *places[] = {&info.mode, &tx_attr.mode, &rx_attr.mode};

		for (int j = 0; j < 3; j++) {
			*places[j] |= modes[i];
			ck_assert_uint_ge(dofi_context_gap(&info), sizeof(struct fi_context2));
			*places[j] &= ~modes[i];
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("traits");
	TCase *tc = tcase_create("traits");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, order_of_a_write_and_a_send);
	tcase_add_test(tc, order_of_reads_and_writes);
	tcase_add_loop_test(tc, bytes_of_a_write, 0, 5);
	tcase_add_test(tc, targets_of_a_write);
	tcase_add_test(tc, the_end_of_a_key);
	tcase_add_test(tc, completion_data);
	tcase_add_test(tc, room_for_the_context_of_the_fabric);
	tcase_add_test(tc, immediate_data);
	tcase_add_test(tc, sends_without_a_completion);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
