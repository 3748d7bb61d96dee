/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the generations of DAT tell of objects and completions. */
#include "unit.h"

#include "../../../prov/ofi/base/dat_api.h"

static void be_called(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data, (void)evd;
}

static int data;
static const DAT_OS_WAIT_PROXY_AGENT agent = {&data, be_called}, none = {NULL, NULL};

#if DOFI_DAT_MAJOR == 1

START_TEST(a_cno_tells_its_agent)
{
	const DAT_OS_WAIT_PROXY_AGENT *of = _i ? &agent : &none;
	DAT_CNO_PARAM param;

	memset(&param, 0xff, sizeof(param));
	dofi_cno_param_set_proxy(&param, of, 3);
	ck_assert_ptr_eq(param.agent.instance_data, of->instance_data);
	ck_assert(param.agent.proxy_agent_func == of->proxy_agent_func);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, a_cno_tells_its_agent, 0, 2);
}

#else

/* A descriptor goes before an agent, and 0 is one. */
START_TEST(a_cno_tells_its_proxy)
{
	DAT_CNO_PARAM param;

	for (int fd = 0; fd < 2; fd++) {
		memset(&param, 0xff, sizeof(param));
		dofi_cno_param_set_proxy(&param, &agent, fd);
		ck_assert_int_eq(param.proxy_type, DAT_PROXY_TYPE_FD);
		ck_assert_int_eq(param.proxy.fd, fd);
	}
	dofi_cno_param_set_proxy(&param, &agent, -1);
	ck_assert_int_eq(param.proxy_type, DAT_PROXY_TYPE_AGENT);
	ck_assert_ptr_eq(param.proxy.agent.instance_data, &data);
	ck_assert(param.proxy.agent.proxy_agent_func == be_called);
	dofi_cno_param_set_proxy(&param, &none, -1);
	ck_assert_int_eq(param.proxy_type, DAT_PROXY_TYPE_NONE);
	ck_assert_ptr_null(param.proxy.none);
}
END_TEST

START_TEST(regions_tell_their_kinds)
{
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;

	memset(&lmr, 0xff, sizeof(lmr));
	memset(&rmr, 0xff, sizeof(rmr));
	dofi_lmr_param_set_type(&lmr, _i & 1);
	ck_assert_int_eq(lmr.va_type, _i & 1 ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA);
	dofi_rmr_param_set_type(&rmr, _i & 2, _i & 1);
	ck_assert_int_eq(rmr.va_type, _i & 1 ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA);
	ck_assert_int_eq(rmr.rmr_scope, _i & 2 ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ);
}
END_TEST

START_TEST(completions_tell_their_operations)
{
	static const DAT_DTOS operations[] = {DAT_DTO_SEND, DAT_DTO_RDMA_READ, DAT_DTO_RECEIVE};
	DAT_DTO_COMPLETION_EVENT_DATA dto;

	memset(&dto, 0xff, sizeof(dto));
	dofi_dto_set_op(&dto, (uint8_t)operations[_i]);
	ck_assert_int_eq(dto.operation, operations[_i]);
	ck_assert_uint_eq(dto.rmr_context, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_cno_tells_its_proxy);
	tcase_add_loop_test(tc, regions_tell_their_kinds, 0, 4);
	tcase_add_loop_test(tc, completions_tell_their_operations, 0, 3);
}

#endif

int main(void)
{
	Suite *suite = suite_create("dat_api");
	TCase *tc = tcase_create("dat_api");

	add_tests(tc);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
