/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes of EPs: defaults, limits, and what 0 means. The length of segments. */
#include "unit.h"

#include "../../../prov/ofi/dto/ep_attr.h"
#include "../../../prov/ofi/dto/translate.h"
#include "../../../prov/ofi/object/ia.h"

#include <stddef.h>

#define DTOS     500
#define IOV      6
#define READS    20
#define EPS      50
#define MESSAGE  70000u
#define RDMA     80000u
#define DATAGRAM 2048u

static struct dofi_ia ia;

static void setup(void)
{
	ia.limits.max_dtos = DTOS;
	ia.limits.max_iov = IOV;
	ia.limits.max_reads = READS;
	ia.limits.max_eps = EPS;
	ia.limits.max_message = MESSAGE;
	ia.limits.max_rdma = RDMA;
	ia.limits.max_datagram = DATAGRAM;
}

/* Attributes that are all valid, and different from the defaults. */
static DAT_EP_ATTR all(void)
{
	return (DAT_EP_ATTR){.service_type = DAT_SERVICE_TYPE_RC,
			     .max_message_size = 1000,
			     .max_rdma_size = 2000,
			     .qos = DAT_QOS_BEST_EFFORT,
			     .recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
			     .request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
			     .max_recv_dtos = 3,
			     .max_request_dtos = 4,
			     .max_recv_iov = 1,
			     .max_request_iov = 2,
			     .max_rdma_read_in = 7,
			     .max_rdma_read_out = 8,
			     .srq_soft_hw = 9,
			     .max_rdma_read_iov = 3,
			     .max_rdma_write_iov = 4};
}

static DAT_RETURN resolve(const DAT_EP_ATTR *asked, DAT_EP_ATTR *attr_p)
{
	return dofi_ep_attr_resolve(&ia, asked, true, true, false, attr_p);
}

#define refused(type) DOFI_ERR(type, 0)

START_TEST(what_is_asked_for_is_given)
{
	DAT_EP_ATTR asked = all(), got;

	ck_assert_uint_eq(resolve(&asked, &got), DAT_SUCCESS);
	ck_assert_int_eq(got.service_type, asked.service_type);
	ck_assert_uint_eq(got.max_message_size, asked.max_message_size);
	ck_assert_uint_eq(got.max_rdma_size, asked.max_rdma_size);
	ck_assert_int_eq(got.qos, asked.qos);
	ck_assert_int_eq(got.recv_completion_flags, asked.recv_completion_flags);
	ck_assert_int_eq(got.request_completion_flags, asked.request_completion_flags);
	ck_assert_int_eq(got.max_recv_dtos, asked.max_recv_dtos);
	ck_assert_int_eq(got.max_request_dtos, asked.max_request_dtos);
	ck_assert_int_eq(got.max_recv_iov, asked.max_recv_iov);
	ck_assert_int_eq(got.max_request_iov, asked.max_request_iov);
	ck_assert_int_eq(got.max_rdma_read_in, asked.max_rdma_read_in);
	ck_assert_int_eq(got.max_rdma_read_out, asked.max_rdma_read_out);
	ck_assert_int_eq(got.srq_soft_hw, asked.srq_soft_hw);
	ck_assert_int_eq(got.max_rdma_read_iov, asked.max_rdma_read_iov);
	ck_assert_int_eq(got.max_rdma_write_iov, asked.max_rdma_write_iov);
}
END_TEST

/* 0 leaves a size to the library. A number of RDMA reads and flags are taken as they are. */
START_TEST(zero_is_the_default)
{
	const DAT_EP_ATTR zero = {.service_type = DAT_SERVICE_TYPE_RC, .qos = DAT_QOS_BEST_EFFORT};
	DAT_EP_ATTR got;

	ck_assert_uint_eq(resolve(_i ? &zero : NULL, &got), DAT_SUCCESS);
	ck_assert_int_eq(got.service_type, DAT_SERVICE_TYPE_RC);
	ck_assert_uint_eq(got.max_message_size, MESSAGE);
	ck_assert_uint_eq(got.max_rdma_size, RDMA);
	ck_assert_int_eq(got.qos, DAT_QOS_BEST_EFFORT);
	ck_assert_int_eq(got.max_recv_dtos, 128);
	ck_assert_int_eq(got.max_request_dtos, 128);
	ck_assert_int_eq(got.max_recv_iov, 4); /* the IA's number makes requests long */
	ck_assert_int_eq(got.max_request_iov, 4);
	ck_assert_int_eq(got.max_rdma_read_iov, 4);
	ck_assert_int_eq(got.max_rdma_write_iov, 4);
	ck_assert_int_eq(got.max_rdma_read_in, _i ? 0 : 16);
	ck_assert_int_eq(got.max_rdma_read_out, _i ? 0 : 16);
	ck_assert_int_eq(got.recv_completion_flags,
			 _i ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	ck_assert_int_eq(got.request_completion_flags,
			 _i ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	ck_assert_int_eq(got.srq_soft_hw, _i ? 0 : DAT_HW_DEFAULT);
	ck_assert_int_eq(got.ep_transport_specific_count, 0);
	ck_assert_ptr_null(got.ep_transport_specific);
	ck_assert_int_eq(got.ep_provider_specific_count, 0);
	ck_assert_ptr_null(got.ep_provider_specific);
}
END_TEST

START_TEST(an_EP_without_an_EVD_has_no_queue)
{
	DAT_EP_ATTR asked = all(), got;

	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, NULL, false, true, false, &got), DAT_SUCCESS);
	ck_assert_int_eq(got.max_recv_dtos, 0);
	ck_assert_int_eq(got.max_request_dtos, 128);
	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, NULL, true, false, false, &got), DAT_SUCCESS);
	ck_assert_int_eq(got.max_recv_dtos, 128);
	ck_assert_int_eq(got.max_request_dtos, 0);
	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, false, true, false, &got),
			  refused(DAT_INVALID_PARAMETER));
	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, true, false, false, &got),
			  refused(DAT_INVALID_PARAMETER));
	/* The receives of an SRQ need no EVD for receives. */
	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, false, true, true, &got), DAT_SUCCESS);
	asked.max_recv_dtos = 0;
	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, false, true, false, &got), DAT_SUCCESS);
	ck_assert_int_eq(got.max_recv_dtos, 0);
	asked.max_request_dtos = 0;
	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, false, false, false, &got),
			  DAT_SUCCESS);
}
END_TEST

START_TEST(an_EP_of_an_SRQ_notifies_each_receive)
{
	DAT_EP_ATTR got;

	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, NULL, true, true, true, &got), DAT_SUCCESS);
	ck_assert_int_eq(got.recv_completion_flags, DAT_COMPLETION_UNSIGNALLED_FLAG);
	ck_assert_int_eq(got.request_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
}
END_TEST

/* Each of the attributes, with its limit. */
START_TEST(a_value_is_at_most_the_limit)
{
	static const struct {
		size_t offset;
		DAT_COUNT limit;
	} counts[] = {{offsetof(DAT_EP_ATTR, max_recv_dtos), DTOS},
		      {offsetof(DAT_EP_ATTR, max_request_dtos), DTOS},
		      {offsetof(DAT_EP_ATTR, max_recv_iov), IOV},
		      {offsetof(DAT_EP_ATTR, max_request_iov), IOV},
		      {offsetof(DAT_EP_ATTR, max_rdma_read_in), READS},
		      {offsetof(DAT_EP_ATTR, max_rdma_read_out), READS},
		      {offsetof(DAT_EP_ATTR, max_rdma_read_iov), IOV},
		      {offsetof(DAT_EP_ATTR, max_rdma_write_iov), IOV}};
	DAT_EP_ATTR asked = all(), got;
	DAT_COUNT *value = (DAT_COUNT *)(void *)((char *)&asked + counts[_i].offset);
	const DAT_COUNT *effective = (DAT_COUNT *)(void *)((char *)&got + counts[_i].offset);

	*value = counts[_i].limit;
	ck_assert_uint_eq(resolve(&asked, &got), DAT_SUCCESS);
	ck_assert_int_eq(*effective, counts[_i].limit);
	*value = counts[_i].limit + 1;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_INVALID_PARAMETER));
	*value = -1;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_INVALID_PARAMETER));
}
END_TEST

/* Programs ask for the 2 GiB of InfiniBand without a query. */
START_TEST(a_size_of_up_to_2_GiB_becomes_the_limit)
{
	const uint32_t longest = UINT32_C(1) << 31;
	const uint32_t sizes[] = {MESSAGE, MESSAGE + 1, longest};
	DAT_EP_ATTR asked = all(), got;

	asked.max_message_size = asked.max_rdma_size = sizes[_i];
	ck_assert_uint_eq(resolve(&asked, &got), DAT_SUCCESS);
	ck_assert_uint_eq(got.max_message_size, MESSAGE);
	ck_assert_uint_eq(got.max_rdma_size, sizes[_i] < RDMA ? sizes[_i] : RDMA);
	asked.max_message_size = longest + 1;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_INVALID_PARAMETER));
	asked.max_message_size = MESSAGE;
	asked.max_rdma_size = longest + 1;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_INVALID_PARAMETER));
}
END_TEST

/* The sum of all EPs is a number that dat_ia_query returns, too. */
START_TEST(the_reads_of_the_IA_become_those_of_an_EP)
{
	DAT_EP_ATTR asked = all(), got;

	asked.max_rdma_read_in = asked.max_rdma_read_out = READS * EPS;
	ck_assert_uint_eq(resolve(&asked, &got), DAT_SUCCESS);
	ck_assert_int_eq(got.max_rdma_read_in, READS);
	ck_assert_int_eq(got.max_rdma_read_out, READS);
	asked.max_rdma_read_in = READS * EPS + 1;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_INVALID_PARAMETER));
	asked.max_rdma_read_in = READS * EPS - 1;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_INVALID_PARAMETER));
}
END_TEST

START_TEST(what_is_not_offered_is_refused)
{
	DAT_EP_ATTR asked, got;

	asked = all();
	asked.ep_transport_specific_count = -1;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_INVALID_PARAMETER));
	asked = all();
	asked.ep_provider_specific_count = -1;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_INVALID_PARAMETER));
	asked = all();
	asked.qos = DAT_QOS_HIGH_THROUGHPUT;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_MODEL_NOT_SUPPORTED));
}
END_TEST

START_TEST(flags_of_streams)
{
	static const struct {
		DAT_COMPLETION_FLAGS flags;
		bool recv, request;
		enum dofi_dto_config config;
	} cases[] = {
		{DAT_COMPLETION_DEFAULT_FLAG, true, true, DOFI_CONFIG_THRESHOLD},
		{DAT_COMPLETION_UNSIGNALLED_FLAG, true, true, DOFI_CONFIG_UNSIGNALLED},
		{DAT_COMPLETION_EVD_THRESHOLD_FLAG, true, true, DOFI_CONFIG_THRESHOLD},
		{DAT_COMPLETION_SOLICITED_WAIT_FLAG, true, false, DOFI_CONFIG_SOLICITED},
		{DAT_COMPLETION_SUPPRESS_FLAG, false, true, DOFI_CONFIG_THRESHOLD},
		{DAT_COMPLETION_BARRIER_FENCE_FLAG, false, false, DOFI_CONFIG_THRESHOLD},
		{(DAT_COMPLETION_FLAGS)(DAT_COMPLETION_UNSIGNALLED_FLAG |
					DAT_COMPLETION_SUPPRESS_FLAG),
		 false, true, DOFI_CONFIG_UNSIGNALLED},
		{(DAT_COMPLETION_FLAGS)(DAT_COMPLETION_UNSIGNALLED_FLAG |
					DAT_COMPLETION_EVD_THRESHOLD_FLAG),
		 false, false, DOFI_CONFIG_UNSIGNALLED},
	};
	DAT_EP_ATTR asked = all(), got;

	asked.recv_completion_flags = cases[_i].flags;
	ck_assert_uint_eq(resolve(&asked, &got),
			  cases[_i].recv ? DAT_SUCCESS : refused(DAT_INVALID_PARAMETER));
	asked = all();
	asked.request_completion_flags = cases[_i].flags;
	ck_assert_uint_eq(resolve(&asked, &got),
			  cases[_i].request ? DAT_SUCCESS : refused(DAT_INVALID_PARAMETER));
	ck_assert_int_eq(dofi_ep_config(cases[_i].flags), cases[_i].config);
}
END_TEST

START_TEST(datagrams_are_shorter_and_have_no_srq)
{
	DAT_EP_ATTR asked = all(), got;

	asked.service_type = (DAT_SERVICE_TYPE)DOFI_SERVICE_TYPE_UD;
	asked.max_message_size = DATAGRAM;
	ck_assert_uint_eq(resolve(&asked, &got), DAT_SUCCESS);
	ck_assert(dofi_is_datagram(&got));
	asked.max_message_size = DATAGRAM + 1;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_INVALID_PARAMETER));
	asked.max_message_size = 0;
	ck_assert_uint_eq(resolve(&asked, &got), DAT_SUCCESS);
	ck_assert_uint_eq(got.max_message_size, DATAGRAM);
	ck_assert_uint_eq(dofi_ep_attr_resolve(&ia, &asked, true, true, true, &got),
			  refused(DAT_MODEL_NOT_SUPPORTED));
	ia.limits.max_datagram = 0;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_MODEL_NOT_SUPPORTED));
	asked.service_type = (DAT_SERVICE_TYPE)77;
	ck_assert_uint_eq(resolve(&asked, &got), refused(DAT_INVALID_PARAMETER));
	asked.service_type = DAT_SERVICE_TYPE_RC;
	ck_assert_uint_eq(resolve(&asked, &got), DAT_SUCCESS);
	ck_assert(!dofi_is_datagram(&got));
}
END_TEST

/* --- segments --- */

START_TEST(the_length_of_segments_does_not_wrap_around)
{
	DAT_LMR_TRIPLET iov[3] = {{.segment_length = 5}, {.segment_length = 0}};

	iov[2].segment_length--; /* 32 bits in DAT 2.0, 64 in DAT 1.2 */
	ck_assert_uint_eq(dofi_segments_length(0, iov), 0);
	ck_assert_uint_eq(dofi_segments_length(2, iov), 5);
	ck_assert_uint_eq(dofi_segments_length(3, iov),
			  sizeof(iov->segment_length) == 8 ? UINT64_MAX : UINT64_C(5) + UINT32_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ep_attr");
	TCase *tcase = tcase_create("ep_attr");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, what_is_asked_for_is_given);
	tcase_add_loop_test(tcase, zero_is_the_default, 0, 2);
	tcase_add_test(tcase, an_EP_without_an_EVD_has_no_queue);
	tcase_add_test(tcase, an_EP_of_an_SRQ_notifies_each_receive);
	tcase_add_loop_test(tcase, a_value_is_at_most_the_limit, 0, 8);
	tcase_add_loop_test(tcase, a_size_of_up_to_2_GiB_becomes_the_limit, 0, 3);
	tcase_add_test(tcase, the_reads_of_the_IA_become_those_of_an_EP);
	tcase_add_test(tcase, what_is_not_offered_is_refused);
	tcase_add_loop_test(tcase, flags_of_streams, 0, 8);
	if (T_DAT_MAJOR > 1)
		tcase_add_test(tcase, datagrams_are_shorter_and_have_no_srq);
	tcase_add_test(tcase, the_length_of_segments_does_not_wrap_around);
	return t_run(suite);
}
