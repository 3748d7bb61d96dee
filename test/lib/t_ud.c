/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "t_ud.h"

bool t_ud_offered(const struct t_ia *tia)
{
	return !strcmp(t_named(&tia->provider, DAT_IB_ATTR_UD), "TRUE");
}

DAT_EP_ATTR t_ud_attr(const struct t_ia *tia)
{
	DAT_EP_ATTR attr = t_default_attr(tia);

	attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	attr.max_message_size = 0;
	return attr;
}

void t_ud_end_new(struct t_end *end, const struct t_ia *on)
{
	DAT_EP_ATTR attr = t_ud_attr(on);

	t_end_new(end, on, &attr);
}

DAT_EVENT t_ud_wait(DAT_EVD_HANDLE evd, unsigned int number, DAT_IB_EXT_TYPE type,
		    DAT_IB_EXTENSION_EVENT_DATA *ext)
{
	DAT_EVENT event = t_wait_for(evd, (DAT_EVENT_NUMBER)number);

	memcpy(ext, event.event_extension_data, sizeof(*ext));
	ck_assert_int_eq(ext->type, type);
	return event;
}

void t_ud_wait_dto(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_IB_EXT_TYPE type, uint64_t cookie,
		   DAT_DTO_COMPLETION_STATUS status, size_t length)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT event = t_ud_wait(evd, DAT_IB_DTO_EVENT, type, &ext);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	ck_assert_ptr_eq(dto->ep_handle, ep);
	ck_assert_int_eq((int)dto->operation,
			 type == DAT_IB_UD_SEND ? DAT_IB_DTO_SEND_UD : DAT_IB_DTO_RECV_UD);
	ck_assert_uint_eq(dto->user_cookie.as_64, cookie);
	ck_assert_int_eq(dto->status, status);
	ck_assert_int_eq((int)ext.status, (int)status);
	if (status == DAT_DTO_SUCCESS)
		ck_assert_uint_eq(dto->transfered_length, length);
}

void t_ud_wait_sent(const struct t_end *from, uint64_t cookie, size_t length)
{
	t_ud_wait_dto(from->request_evd, from->ep, DAT_IB_UD_SEND, cookie, DAT_DTO_SUCCESS, length);
}

void t_ud_wait_received(const struct t_end *at, uint64_t cookie, size_t length)
{
	t_ud_wait_dto(at->recv_evd, at->ep, DAT_IB_UD_RECV, cookie, DAT_DTO_SUCCESS,
		      T_UD_HEADER + length);
}

DAT_CR_HANDLE t_ud_next_cr(const struct t_listener *at)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT event = t_ud_wait(at->evd, DAT_IB_UD_CONNECTION_REQUEST_EVENT,
				    DAT_IB_UD_CONNECT_REQUEST, &ext);
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event.event_data.cr_arrival_event_data;

	ck_assert_ptr_eq(arrival->sp_handle.psp_handle, at->psp);
	ck_assert_uint_eq(arrival->conn_qual, at->qual);
	ck_assert_ptr_nonnull(arrival->cr_handle);
	return arrival->cr_handle;
}

struct t_way t_ud_next_way(const struct t_end *at, DAT_IB_EXT_TYPE type, const void *data,
			   DAT_COUNT size)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT event =
		t_ud_wait(at->connect_evd, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, type, &ext);
	const DAT_CONNECTION_EVENT_DATA *conn = &event.event_data.connect_event_data;

	ck_assert_ptr_eq(conn->ep_handle, at->ep);
	ck_assert_int_eq(ext.status, DAT_OP_SUCCESS);
	ck_assert_int_eq(conn->private_data_size, size);
	if (size)
		ck_assert_mem_eq(conn->private_data, data, (size_t)size);
	ck_assert_ptr_nonnull(ext.remote_ah.ah);
	ck_assert_uint_ne(ext.remote_ah.qpn, 0);
	return (struct t_way){ext.remote_ah, ext.context};
}

DAT_RETURN t_ud_send(const struct t_end *from, struct t_way *by, size_t length, uint64_t cookie,
		     DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = t_seg(&from->buf, 0, length);

	return dat_ib_post_send_ud(from->ep, 1, &segment, &by->ah,
				   (DAT_DTO_COOKIE){.as_64 = cookie}, flags);
}

void t_ud_way_free(const struct t_end *of, struct t_way *way)
{
	t_ok(dat_ib_ud_ah_free(of->ep, &way->ah));
	t_ok(dat_ib_ud_cm_free(of->ep, way->cm.as_ptr));
}
