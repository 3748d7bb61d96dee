/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each kind of event has the data that DAT defines for it. */
#include "unit.h"

#include "../../../prov/ofi/progress/event.h"
#include "../../../prov/ofi/progress/evd.h"

#include <string.h>

static struct dofi_evd evd;
static struct dofi_event event;
static int one, two;
static DAT_EVENT out;

/* The consumer's event may hold anything before. */
static void unfold(void)
{
	memset(&out, 0xff, sizeof(out));
	dofi_event_unfold(&event, &evd, &out);
	ck_assert_uint_eq((unsigned int)out.event_number, event.number);
	ck_assert_ptr_eq(out.evd_handle, &evd);
}

START_TEST(a_dto)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &out.event_data.dto_completion_event_data;

	event = (struct dofi_event){.number = DAT_DTO_COMPLETION_EVENT,
				    .handle = &one,
				    .status = DAT_DTO_ERR_FLUSHED,
				    .dto = {.cookie = 0x123456789, .length = 4711}};
	unfold();
	ck_assert_ptr_eq(data->ep_handle, &one);
	ck_assert_uint_eq(data->user_cookie.as_64, 0x123456789);
	ck_assert_uint_eq(data->transfered_length, 4711);
	ck_assert_int_eq(data->status, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(a_bind)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data = &out.event_data.rmr_completion_event_data;

	event = (struct dofi_event){.number = DAT_RMR_BIND_COMPLETION_EVENT,
				    .handle = &one,
				    .status = DAT_DTO_ERR_FLUSHED,
				    .dto = {.cookie = 0x123456789}};
	unfold();
	ck_assert_ptr_eq(data->rmr_handle, &one);
	ck_assert_uint_eq(data->user_cookie.as_64, 0x123456789);
	ck_assert_int_eq((int)data->status, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(a_connection_request)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data = &out.event_data.cr_arrival_event_data;

	event = (struct dofi_event){.number = DAT_CONNECTION_REQUEST_EVENT, .handle = &evd};
	event.cr.cr = &one;
	event.cr.conn_qual = 0x123456789;
	event.cr.local_addr = &two;
	unfold();
	ck_assert_ptr_eq(data->sp_handle.psp_handle, &evd);
	ck_assert_ptr_eq(data->local_ia_address_ptr, &two);
	ck_assert_uint_eq(data->conn_qual, 0x123456789);
	ck_assert_ptr_eq(data->cr_handle, &one);
#if T_DAT_MAJOR == 2
	ck_assert_int_eq(data->truncate_flag, DAT_FALSE);
#endif
}
END_TEST

START_TEST(a_connection)
{
	const DAT_CONNECTION_EVENT_DATA *data = &out.event_data.connect_event_data;

	event = (struct dofi_event){.number = DAT_CONNECTION_EVENT_ESTABLISHED, .handle = &one};
	event.conn.private_data = &two;
	event.conn.private_size = 17;
	unfold();
	ck_assert_ptr_eq(data->ep_handle, &one);
	ck_assert_int_eq(data->private_data_size, 17);
	ck_assert_ptr_eq(data->private_data, &two);
}
END_TEST

START_TEST(a_software_event)
{
	event = (struct dofi_event){.number = DAT_SOFTWARE_EVENT, .software = &one};
	unfold();
	ck_assert_ptr_eq(out.event_data.software_event_data.pointer, &one);
}
END_TEST

static const unsigned int errors[] = {DAT_ASYNC_ERROR_EVD_OVERFLOW, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
				      DAT_ASYNC_ERROR_EP_BROKEN, DAT_ASYNC_ERROR_TIMED_OUT,
				      DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR};

START_TEST(an_asynchronous_error)
{
	event = (struct dofi_event){.number = errors[_i], .handle = &one, .reason = 0x1234567};
	unfold();
	ck_assert_ptr_eq(out.event_data.asynch_error_event_data.dat_handle, &one);
	ck_assert_int_eq((int)out.event_data.asynch_error_event_data.reason, 0x1234567);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unfold");
	TCase *tc = tcase_create("unfold");

	tcase_add_test(tc, a_dto);
	tcase_add_test(tc, a_bind);
	tcase_add_test(tc, a_connection_request);
	tcase_add_test(tc, a_connection);
	tcase_add_test(tc, a_software_event);
	tcase_add_loop_test(tc, an_asynchronous_error, 0, sizeof(errors) / sizeof(errors[0]));
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
