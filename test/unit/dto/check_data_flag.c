/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion data without FI_REMOTE_CQ_DATA: the receives for which the library sets the flag. */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/dto/data_flag.h"
#include "../../../prov/ofi/object/ep.h"

#include <string.h>

#define DATA UINT64_C(0x0000002a00000003)

static struct fi_domain_attr domain_attr = {.cq_data_size = sizeof(uint64_t)};
static struct fi_info info = {.domain_attr = &domain_attr};
static struct dofi_ia ia;
static struct dofi_wr receives[3] = {{.op = DOFI_OP_SRQ_RECV},
				     {.op = DOFI_OP_RECV},
				     {.op = DOFI_OP_UD_RECV}};
static uint32_t numbers[3], update_of[3];
static unsigned int ndone;

void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update);

void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update)
{
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(length, 8);
	ck_assert_uint_lt(ndone, 3);
	ck_assert_ptr_eq(wr, &receives[ndone]);
	numbers[ndone] = number;
	update_of[ndone++] = update;
}

typedef void (*completed)(struct dofi_ia *of, const void *entries, ssize_t n);

static void complete(completed how)
{
	const struct fi_cq_data_entry entries[3] = {
		{.op_context = &receives[0], .flags = FI_RECV | FI_MSG, .len = 8, .data = DATA},
		{.op_context = &receives[1], .flags = FI_RECV | FI_MSG, .len = 8, .data = DATA},
		{.op_context = &receives[2], .flags = FI_RECV | FI_MSG, .len = 8, .data = DATA},
	};

	ia.info = &info;
	ia.trans = &dofi_trans_msg;
	dofi_lock(&ia.engine.lock);
	how(&ia, entries, 3);
	ck_assert_uint_eq(ndone, 3);
}

/* The last of the entries that a transport gets. */
static struct fi_cq_tagged_entry spied;
static unsigned int nspied;

static void spy(struct dofi_ia *of, const void *entries, ssize_t n)
{
	ck_assert_ptr_eq(of, &ia);
	memcpy(&spied, (const struct fi_cq_tagged_entry *)entries + n - 1, sizeof(spied));
	nspied += (unsigned int)n;
}

static const struct dofi_trans_ops spying = {.completed = spy, .cq_format = FI_CQ_FORMAT_TAGGED};

START_TEST(messages_for_an_srq_and_datagrams_have_data)
{
	complete(dofi_data_flag_completed);
	ck_assert_uint_eq(numbers[0], DATA >> 32);
	ck_assert_uint_eq(update_of[0], (uint32_t)DATA);
	ck_assert_uint_eq(numbers[1], 0); /* the field may contain data of another message */
	ck_assert_uint_eq(update_of[1], 0);
	ck_assert_uint_eq(numbers[2], DATA >> 32);
}
END_TEST

START_TEST(other_receives_use_the_flag)
{
	complete(dofi_trans_msg.completed);
	ck_assert_uint_eq(numbers[0], 0);
	ck_assert_uint_eq(numbers[1], 0);
}
END_TEST

/* Their entries have no work request, and the data are the peer's immediate data. */
START_TEST(writes_of_the_peer_stay_as_they_are)
{
	static const uint64_t flags[] = {FI_REMOTE_WRITE | FI_RMA, FI_REMOTE_READ | FI_RMA,
					 FI_RECV | FI_MSG};
	const struct fi_cq_tagged_entry entry = {.op_context = _i < 2 ? &receives[0] : NULL,
						 .flags = flags[_i],
						 .len = 8,
						 .data = DATA};

	ia.info = &info;
	ia.trans = &spying;
	dofi_data_flag_completed(&ia, &entry, 1);
	ck_assert_uint_eq(nspied, 1);
	ck_assert_uint_eq(spied.flags, flags[_i]);
}
END_TEST

START_TEST(entries_with_tags_have_another_size)
{
	const struct fi_cq_tagged_entry entries[2] = {
		{.op_context = &receives[1], .flags = FI_RECV | FI_TAGGED, .tag = ~UINT64_C(0)},
		{.op_context = &receives[0], .flags = FI_RECV | FI_TAGGED, .tag = 5},
	};

	ia.info = &info;
	ia.trans = &spying;
	dofi_data_flag_completed(&ia, entries, 2);
	ck_assert_uint_eq(nspied, 2);
	ck_assert_uint_eq(spied.flags, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
	ck_assert_uint_eq(spied.tag, 5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("data_flag");
	TCase *tc = tcase_create("data_flag");

	tcase_add_test(tc, messages_for_an_srq_and_datagrams_have_data);
	tcase_add_test(tc, other_receives_use_the_flag);
	tcase_add_loop_test(tc, writes_of_the_peer_stay_as_they_are, 0, 3);
	tcase_add_test(tc, entries_with_tags_have_another_size);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
