/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Listeners, endpoints, and connected pairs of endpoints in one process. */
#include "t.h"

/* --- passive side --- */

void t_listen(struct t_listener *listener, const struct t_ia *on, DAT_PSP_FLAGS flags)
{
	listener->on = on;
	listener->evd = t_evd(on, 16, DAT_EVD_CR_FLAG);
	t_ok(dat_psp_create_any(on->ia, &listener->qual, listener->evd, flags, &listener->psp));
}

void t_listener_free(struct t_listener *listener)
{
	t_ok(dat_psp_free(listener->psp));
	t_ok(dat_evd_free(listener->evd));
}

DAT_CR_HANDLE t_next_cr(const struct t_listener *listener)
{
	DAT_EVENT event = t_wait_for(listener->evd, DAT_CONNECTION_REQUEST_EVENT);
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event.event_data.cr_arrival_event_data;

	ck_assert_ptr_eq(arrival->sp_handle.psp_handle, listener->psp);
	ck_assert_uint_eq(arrival->conn_qual, listener->qual);
	ck_assert_ptr_nonnull(arrival->cr_handle);
	return arrival->cr_handle;
}

DAT_RETURN t_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep)
{
	return dat_cr_accept(cr, ep, 0, NULL);
}

DAT_RETURN t_cr_reject_data(DAT_CR_HANDLE cr, const void *data, size_t size)
{
#if T_DAT_MAJOR == 1
	(void)data;
	(void)size;
	return dat_cr_reject(cr);
#else
	return dat_cr_reject(cr, (DAT_COUNT)size, (DAT_PVOID)(uintptr_t)data);
#endif
}

DAT_RETURN t_cr_reject(DAT_CR_HANDLE cr)
{
	return t_cr_reject_data(cr, NULL, 0);
}

/* --- endpoints --- */

void t_end_new(struct t_end *end, const struct t_ia *on, const DAT_EP_ATTR *attr)
{
	end->on = on;
	end->recv_evd = t_evd(on, 256, DAT_EVD_DTO_FLAG);
	end->request_evd = t_evd(on, 256, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	end->connect_evd = t_evd(on, 16, DAT_EVD_CONNECTION_FLAG);
	t_ok(dat_ep_create(on->ia, on->pz, end->recv_evd, end->request_evd, end->connect_evd, attr,
			   &end->ep));
	t_buf_new(&end->buf, on->ia, on->pz, T_BUF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

void t_end_free(struct t_end *end)
{
	if (end->ep)
		t_ok(dat_ep_free(end->ep));
	t_ok(dat_evd_free(end->recv_evd));
	t_ok(dat_evd_free(end->request_evd));
	t_ok(dat_evd_free(end->connect_evd));
	t_buf_free(&end->buf);
}

DAT_EP_STATE t_ep_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	t_ok(dat_ep_get_status(ep, &state, NULL, NULL));
	return state;
}

DAT_EP_ATTR t_ep_attr(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	t_ok(dat_ep_query(ep, DAT_EP_FIELD_EP_ATTR_ALL, &param));
	return param.ep_attr;
}

DAT_EP_ATTR t_default_attr(const struct t_ia *tia)
{
	DAT_EVD_HANDLE evd = t_evd(tia, 4, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	t_ok(dat_ep_create(tia->ia, tia->pz, evd, evd, evd, NULL, &ep));
	attr = t_ep_attr(ep);
	t_ok(dat_ep_free(ep));
	t_ok(dat_evd_free(evd));
	return attr;
}

DAT_RETURN t_connect_data(DAT_EP_HANDLE ep, const struct t_ia *to, DAT_CONN_QUAL qual,
			  DAT_TIMEOUT timeout, const void *data, size_t size)
{
	return dat_ep_connect(ep, to->attr.ia_address_ptr, qual, timeout, (DAT_COUNT)size,
			      (DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

DAT_RETURN t_connect(DAT_EP_HANDLE ep, const struct t_listener *to)
{
	return t_connect_data(ep, to->on, to->qual, T_LIMIT_US, NULL, 0);
}

/* On a busy machine a request may expire before it arrives. The time is doubled then. */
DAT_CR_HANDLE t_expired_cr(const struct t_end *end, const struct t_listener *to)
{
	DAT_EVENT event;

	for (DAT_TIMEOUT timeout = 100000; timeout < T_LIMIT_US; timeout *= 2) {
		t_ok(t_connect_data(end->ep, to->on, to->qual, timeout, NULL, 0));
		t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_TIMED_OUT, end->ep);
		if (dat_evd_dequeue(to->evd, &event) == DAT_SUCCESS) {
			ck_assert_int_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
			return event.event_data.cr_arrival_event_data.cr_handle;
		}
		t_ok(dat_ep_reset(end->ep));
	}
	ck_abort_msg("no request was ever delivered");
}

void t_establish(struct t_listener *listener, struct t_end *active, struct t_end *passive)
{
	t_ok(t_connect(active->ep, listener));
	t_ok(t_cr_accept(t_next_cr(listener), passive->ep));
	t_wait_conn(active->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, active->ep);
	t_wait_conn(passive->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, passive->ep);
}

/* --- posts of one segment --- */

DAT_RETURN t_send(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		  DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = t_seg(&end->buf, offset, length);

	return dat_ep_post_send(end->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = cookie}, flags);
}

DAT_RETURN t_recv(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		  DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = t_seg(&end->buf, offset, length);

	return dat_ep_post_recv(end->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = cookie}, flags);
}

DAT_RETURN t_write(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		   DAT_RMR_TRIPLET to, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = t_seg(&end->buf, offset, length);

	return dat_ep_post_rdma_write(end->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = cookie}, &to,
				      flags);
}

DAT_RETURN t_read(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		  DAT_RMR_TRIPLET from, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = t_seg(&end->buf, offset, length);

	return dat_ep_post_rdma_read(end->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = cookie}, &from,
				     flags);
}

/* --- pairs --- */

void t_loop_open(struct t_loop *loop, const struct t_ia *tia, const DAT_EP_ATTR *attr)
{
	t_listen(&loop->listener, tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&loop->end[0], tia, attr);
	t_end_new(&loop->end[1], tia, attr);
	t_establish(&loop->listener, &loop->end[0], &loop->end[1]);
}

void t_loop_close(struct t_loop *loop)
{
	t_end_free(&loop->end[0]);
	t_end_free(&loop->end[1]);
	t_listener_free(&loop->listener);
}

void t_pair_prepare(struct t_pair *pair, const DAT_EP_ATTR *attr)
{
	for (int i = 0; i < 2; i++) {
		t_ia_open(&pair->ia[i]);
		t_end_new(&pair->end[i], &pair->ia[i], attr);
	}
	t_listen(&pair->listener, &pair->ia[1], DAT_PSP_CONSUMER_FLAG);
}

void t_pair_open(struct t_pair *pair, const DAT_EP_ATTR *attr)
{
	t_pair_prepare(pair, attr);
	t_establish(&pair->listener, &pair->end[0], &pair->end[1]);
}

void t_pair_close(struct t_pair *pair)
{
	t_listener_free(&pair->listener);
	for (int i = 0; i < 2; i++) {
		t_end_free(&pair->end[i]);
		t_ia_close_empty(&pair->ia[i]);
	}
}
