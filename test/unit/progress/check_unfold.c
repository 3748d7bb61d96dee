/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each kind of event has the data that DAT defines for it. */
#include "unit.h"

#include "../../../prov/ofi/progress/event.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ud_ah.h"
#include "../../../prov/ofi/progress/evd.h"

#if T_DAT_MAJOR == 2
#include <dat2/dat_ib_extensions.h>
#endif
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
				    .op = DOFI_OP_RECV,
				    .handle = &one,
				    .status = DAT_DTO_ERR_FLUSHED,
				    .dto = {.cookie = 0x123456789, .length = 4711}};
	unfold();
#if T_DAT_MAJOR == 2
	ck_assert_int_eq(data->operation, DAT_DTO_RECEIVE);
#endif
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

#if T_DAT_MAJOR == 2

static DAT_IB_EXTENSION_EVENT_DATA ext;

static void unfold_with_ext(void)
{
	unfold();
	memcpy(&ext, out.event_extension_data, sizeof(ext));
}

/* The context that the peer's message has made invalid. */
START_TEST(a_receive_that_invalidates)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &out.event_data.dto_completion_event_data;

	event = (struct dofi_event){.number = DAT_DTO_COMPLETION_EVENT,
				    .op = DOFI_OP_RECV_INVALIDATE,
				    .handle = &one,
				    .dto = {.immediate = 0xdeadbeef}};
	unfold();
	ck_assert_uint_eq(data->rmr_context, 0xdeadbeef);
	event.op = DOFI_OP_RECV;
	event.dto.immediate = 0x11111111;
	unfold();
	ck_assert_uint_eq(data->rmr_context, 0);
}
END_TEST

START_TEST(a_dto_with_an_extension)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &out.event_data.dto_completion_event_data;

	event = (struct dofi_event){.number = DOFI_EVENT_EXTENDED,
				    .ext = DAT_IB_RDMA_WRITE_IMMED_DATA + 1,
				    .handle = &one,
				    .status = DAT_DTO_ERR_FLUSHED,
				    .dto = {.cookie = 0x123456789,
					    .length = 4711,
					    .immediate = 0xcafe}};
	unfold_with_ext();
	ck_assert_ptr_eq(data->ep_handle, &one);
	ck_assert_uint_eq(data->user_cookie.as_64, 0x123456789);
	ck_assert_uint_eq(data->transfered_length, 4711);
	ck_assert_int_eq(data->status, DAT_DTO_ERR_FLUSHED);
	ck_assert_int_eq(ext.type, DAT_IB_RDMA_WRITE_IMMED_DATA);
	ck_assert_int_eq((int)ext.status, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(ext.val.immed.data, 0xcafe);
	ck_assert_ptr_null(ext.remote_ah.ah);
	ck_assert_ptr_null(ext.context.as_ptr);
}
END_TEST

START_TEST(a_request_for_datagrams)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data = &out.event_data.cr_arrival_event_data;

	event = (struct dofi_event){.number = DOFI_UD_EVENT_REQUEST,
				    .ext = DOFI_UD_TYPE_REQUEST + 1,
				    .handle = &evd};
	event.cr.cr = &one;
	event.cr.conn_qual = 0x123456789;
	event.cr.local_addr = &two;
	unfold_with_ext();
	ck_assert_ptr_eq(data->sp_handle.psp_handle, &evd);
	ck_assert_ptr_eq(data->local_ia_address_ptr, &two);
	ck_assert_uint_eq(data->conn_qual, 0x123456789);
	ck_assert_ptr_eq(data->cr_handle, &one);
	ck_assert_int_eq(data->truncate_flag, DAT_FALSE);
	ck_assert_int_eq(ext.type, DOFI_UD_TYPE_REQUEST);
	ck_assert_int_eq((int)ext.status, 0);
	ck_assert_uint_eq(ext.val.immed.data, 0);
}
END_TEST

/* With the address handle of the peer, as long as it is not freed. */
START_TEST(an_established_connection_of_datagrams)
{
	static struct dofi_ud_ah ah = {.number = 77, .private_data = "hello"};
	const DAT_CONNECTION_EVENT_DATA *data = &out.event_data.connect_event_data;

	atomic_store(&ah.obj.magic, DOFI_MAGIC | DOFI_HANDLE_TYPE_AH);
	memset(&ah.addr, 0x5a, sizeof(ah.addr));
	event = (struct dofi_event){.number = DOFI_UD_EVENT_ESTABLISHED,
				    .ext = (uint16_t)(DOFI_UD_TYPE_REMOTE_AH + 1),
				    .handle = &one,
				    .conn = {.private_data = &ah, .private_size = 6}};
	unfold_with_ext();
	ck_assert_ptr_eq(data->ep_handle, &one);
	ck_assert_int_eq(data->private_data_size, 6);
	ck_assert_ptr_eq(data->private_data, ah.private_data);
	ck_assert_int_eq(ext.type, DOFI_UD_TYPE_REMOTE_AH);
	ck_assert_ptr_eq(ext.remote_ah.ah, &ah);
	ck_assert_uint_eq(ext.remote_ah.qpn, 77);
	ck_assert_mem_eq(&ext.remote_ah.ia_addr, &ah.addr, sizeof(ext.remote_ah.ia_addr));
	ck_assert_ptr_eq(ext.context.as_ptr, &ah);
	/* The EP was freed, and with it the address handle. */
	atomic_store(&ah.obj.magic, 0);
	unfold_with_ext();
	ck_assert_ptr_null(data->private_data);
	ck_assert_int_eq(data->private_data_size, 0);
	ck_assert_ptr_null(ext.remote_ah.ah);
	ck_assert_ptr_null(ext.context.as_ptr);
	/* Other events of datagrams have none. */
	event.number = DOFI_UD_EVENT_ERROR;
	event.ext = DOFI_UD_TYPE_ERROR + 1;
	event.conn.private_data = &two;
	unfold_with_ext();
	ck_assert_ptr_eq(data->private_data, &two);
	ck_assert_int_eq(ext.type, DOFI_UD_TYPE_ERROR);
	ck_assert_ptr_null(ext.remote_ah.ah);
	ck_assert_ptr_null(ext.context.as_ptr);
}
END_TEST

/* The consumer gets the bytes and no handle. */
START_TEST(a_rejected_connection_of_datagrams)
{
	static struct dofi_ud_ah rejection = {.private_data = "hello"};
	const DAT_CONNECTION_EVENT_DATA *data = &out.event_data.connect_event_data;

	atomic_store(&rejection.obj.magic, DOFI_MAGIC | DOFI_HANDLE_TYPE_AH);
	event = (struct dofi_event){.number = DOFI_UD_EVENT_REJECTED,
				    .ext = (uint16_t)(DOFI_UD_TYPE_REJECTED + 1),
				    .handle = &one,
				    .conn = {.private_data = &rejection, .private_size = 6}};
	unfold_with_ext();
	ck_assert_int_eq(data->private_data_size, 6);
	ck_assert_ptr_eq(data->private_data, rejection.private_data);
	ck_assert_int_eq(ext.type, DOFI_UD_TYPE_REJECTED);
	ck_assert_ptr_null(ext.remote_ah.ah);
	ck_assert_ptr_null(ext.context.as_ptr);
	ck_assert(atomic_load(&rejection.told));
	/* The EP was freed, and with it the rejection. */
	atomic_store(&rejection.obj.magic, 0);
	unfold_with_ext();
	ck_assert_ptr_null(data->private_data);
	ck_assert_int_eq(data->private_data_size, 0);
}
END_TEST

static void add_extensions(TCase *tc)
{
	tcase_add_test(tc, a_receive_that_invalidates);
	tcase_add_test(tc, a_dto_with_an_extension);
	tcase_add_test(tc, a_request_for_datagrams);
	tcase_add_test(tc, an_established_connection_of_datagrams);
	tcase_add_test(tc, a_rejected_connection_of_datagrams);
}

#else

static void add_extensions(TCase *tc)
{
	(void)tc;
}

#endif

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
	add_extensions(tc);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
