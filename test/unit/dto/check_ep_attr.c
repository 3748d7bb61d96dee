/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The attributes of an EP: what the consumer asks for, and the provider's choice for the rest. */
#include "unit.h"

#include "../../../prov/ofi/dto/ep_attr.h"
#include "../../../prov/ofi/dto/translate.h"
#include "../../../prov/ofi/object/ia.h"

#include <string.h>

static struct dofi_ia ia = {.limits = {.max_message = 1u << 20,
				       .max_rdma = 1u << 20,
				       .max_dtos = 1000,
				       .max_iov = 9,
				       .max_reads = 16}};

/* Zeroes leave the choice to the provider. */
START_TEST(zeroes_get_the_defaults)
{
	const DAT_EP_ATTR asked = {.service_type = DAT_SERVICE_TYPE_RC}, *none = NULL;
	DAT_EP_ATTR got, by_default;

	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, none, true, true, false, &by_default), 0);
	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, true, true, false, &got), 0);
	ck_assert_uint_eq(got.max_message_size, by_default.max_message_size);
	ck_assert_uint_eq(got.max_rdma_size, by_default.max_rdma_size);
	ck_assert_int_eq(got.max_recv_dtos, by_default.max_recv_dtos);
	ck_assert_int_eq(got.max_request_dtos, by_default.max_request_dtos);
	ck_assert_int_eq(got.max_recv_iov, 9);
	ck_assert_int_eq(got.max_request_iov, 9);
	ck_assert_int_eq(got.max_rdma_read_iov, 9);
	ck_assert_int_eq(got.max_rdma_write_iov, 9);
	ck_assert_int_gt(got.max_recv_dtos, 0);
}
END_TEST

START_TEST(other_values_are_taken)
{
	const DAT_EP_ATTR asked = {.service_type = DAT_SERVICE_TYPE_RC,
				   .max_message_size = 100,
				   .max_rdma_size = 200,
				   .max_recv_dtos = 3,
				   .max_request_dtos = 4,
				   .max_recv_iov = 5,
				   .max_request_iov = 6,
				   .max_rdma_read_iov = 7,
				   .max_rdma_write_iov = 8};
	DAT_EP_ATTR got;

	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, true, true, false, &got), 0);
	ck_assert_uint_eq(got.max_message_size, 100);
	ck_assert_uint_eq(got.max_rdma_size, 200);
	ck_assert_int_eq(got.max_recv_dtos, 3);
	ck_assert_int_eq(got.max_request_dtos, 4);
	ck_assert_int_eq(got.max_recv_iov, 5);
	ck_assert_int_eq(got.max_request_iov, 6);
	ck_assert_int_eq(got.max_rdma_read_iov, 7);
	ck_assert_int_eq(got.max_rdma_write_iov, 8);
}
END_TEST

#if DOFI_DAT_MAJOR == 2
START_TEST(datagrams_where_the_fabric_has_none)
{
	const DAT_EP_ATTR asked = {.service_type = (DAT_SERVICE_TYPE)DOFI_SERVICE_TYPE_UD};
	DAT_EP_ATTR got;

	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, true, true, false, &got),
			  DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	ia.limits.max_datagram = 2048;
	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, true, true, false, &got), 0);
	ck_assert_uint_eq(got.max_message_size, 2048);
	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, true, true, true, &got),
			  DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0)); /* with an SRQ */
}
END_TEST
#endif

/* --- segments --- */

START_TEST(the_length_of_segments_does_not_wrap_around)
{
	DAT_LMR_TRIPLET iov[3] = {{.segment_length = 5}, {.segment_length = 0}};

	memset(&iov[2].segment_length, 0xff, sizeof(iov[2].segment_length)); /* the most */

	ck_assert_uint_eq(dofi_segments_length(0, iov), 0);
	ck_assert_uint_eq(dofi_segments_length(2, iov), 5);
	ck_assert_uint_eq(dofi_segments_length(3, iov), sizeof(iov[2].segment_length) == 8
								? UINT64_MAX
								: UINT64_C(5) + UINT32_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ep_attr");
	TCase *tc = tcase_create("ep_attr");

	tcase_add_test(tc, zeroes_get_the_defaults);
	tcase_add_test(tc, other_values_are_taken);
#if DOFI_DAT_MAJOR == 2
	tcase_add_test(tc, datagrams_where_the_fabric_has_none);
#endif
	tcase_add_test(tc, the_length_of_segments_does_not_wrap_around);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
