/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* EPs: creation, query, modification, connecting. conform_eps.c tests the calls in each state. */
#include <sys/un.h>

#include "conform.h"

#define DTO_EVD_FLAGS ((DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG))

/* --- creation --- */

static DAT_RETURN create(DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			 DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep;

	return dat_ep_create(t_tia.ia, pz, recv, request, connect, attr, &ep);
}

/* Creates an EP with EVDs of its own. */
static DAT_RETURN create_with(const DAT_EP_ATTR *attr)
{
	return create(t_tia.pz, t_evd(&t_tia, 64, DTO_EVD_FLAGS), t_evd(&t_tia, 64, DTO_EVD_FLAGS),
		      t_evd(&t_tia, 8, DAT_EVD_CONNECTION_FLAG), attr);
}

/* Valid attributes. Tests change one of them to a bad value. */
static DAT_EP_ATTR valid_attr(void)
{
	struct t_end end;
	DAT_EP_ATTR attr;

	t_end_new(&end, &t_tia, NULL);
	attr = t_ep_attr(end.ep);
	t_end_free(&end);
	return attr;
}

START_TEST(EP_001_002_new_ep_is_unconnected_and_idle)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	struct t_end end;
	DAT_EP_STATE state;
	DAT_EP_ATTR attr;

	t_end_new(&end, &t_tia, NULL);
	t_ok(dat_ep_get_status(end.ep, &state, &recv_idle, &request_idle));
	ck_assert_int_eq(state, DAT_EP_STATE_UNCONNECTED);
	ck_assert_int_eq(recv_idle, DAT_TRUE);
	ck_assert_int_eq(request_idle, DAT_TRUE);
	attr = t_ep_attr(end.ep);
	ck_assert_int_eq(attr.service_type, DAT_SERVICE_TYPE_RC);
	ck_assert_int_gt(attr.max_recv_dtos, 0);
	ck_assert_int_gt(attr.max_request_dtos, 0);
	ck_assert_int_gt(attr.max_recv_iov, 0);
	ck_assert_int_gt(attr.max_request_iov, 0);
	ck_assert_uint_gt(attr.max_message_size, 0);
	ck_assert_uint_gt(attr.max_rdma_size, 0);
	t_end_free(&end);
}
END_TEST

START_TEST(EP_003_attributes_are_at_least_what_was_asked)
{
	/* EP-050 PRG-06; the returned attributes can be asked for */
	DAT_EP_ATTR asked = valid_attr(), got;
	struct t_end end;

	asked.max_recv_dtos = 33;
	asked.max_request_dtos = 17;
	asked.max_recv_iov = asked.max_request_iov = 2;
	asked.max_rdma_read_in = asked.max_rdma_read_out = 3;
	asked.max_rdma_read_iov = asked.max_rdma_write_iov = 1;
	for (int again = 0; again < 2; again++) {
		t_end_new(&end, &t_tia, &asked);
		got = t_ep_attr(end.ep);
		ck_assert_int_ge(got.max_recv_dtos, asked.max_recv_dtos);
		ck_assert_int_ge(got.max_request_dtos, asked.max_request_dtos);
		ck_assert_int_ge(got.max_recv_iov, asked.max_recv_iov);
		ck_assert_int_ge(got.max_request_iov, asked.max_request_iov);
		ck_assert_int_ge(got.max_rdma_read_iov, asked.max_rdma_read_iov);
		ck_assert_int_ge(got.max_rdma_write_iov, asked.max_rdma_write_iov);
		t_end_free(&end);
		asked = got;
	}
}
END_TEST

static DAT_EP_ATTR attr_above_limit(int which)
{
	DAT_EP_ATTR attr = valid_attr();
	const DAT_IA_ATTR *limits = &t_tia.attr;

	switch (which) {
	case 0:
		attr.max_recv_dtos = limits->max_dto_per_ep + 1;
		break;
	case 1:
		attr.max_request_dtos = limits->max_dto_per_ep + 1;
		break;
	case 2:
		attr.max_recv_iov = limits->max_iov_segments_per_dto + 1;
		break;
	case 3:
		attr.max_request_iov = limits->max_iov_segments_per_dto + 1;
		break;
	case 4:
		attr.max_rdma_read_in = limits->max_rdma_read_per_ep_in + 1;
		break;
	case 5:
		attr.max_rdma_read_out = limits->max_rdma_read_per_ep_out + 1;
		break;
	case 6:
		attr.max_rdma_read_iov = limits->max_iov_segments_per_rdma_read + 1;
		break;
	default:
		attr.max_rdma_write_iov = limits->max_iov_segments_per_rdma_write + 1;
		break;
	}
	return attr;
}

#define LIMITS 8

START_TEST(EP_004_create_refuses_attributes_above_the_limits)
{
	DAT_EP_ATTR attr = attr_above_limit(_i);

	t_bad_arg_of(create_with(&attr), 6);
}
END_TEST

START_TEST(EP_004_create_refuses_negative_numbers)
{
	DAT_EP_ATTR attr = valid_attr();

	attr.max_recv_dtos = -1;
	t_bad_arg_of(create_with(&attr), 6);
	attr = valid_attr();
	attr.max_request_iov = -1;
	t_bad_arg_of(create_with(&attr), 6);
}
END_TEST

START_TEST(EP_005_create_refuses_other_services)
{
	DAT_EP_ATTR attr = valid_attr();

	attr.service_type = (DAT_SERVICE_TYPE)2;
	t_error2(create_with(&attr), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
	attr = valid_attr();
	attr.qos = DAT_QOS_HIGH_THROUGHPUT;
	t_error2(create_with(&attr), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
}
END_TEST

START_TEST(EP_006_007_create_refuses_bad_completion_flags)
{
	/* EVS-072; SUPPRESS alone is tolerated for requests (PRG-06) */
	static const unsigned int bad_recv[] = {0x01, 0x08, 0x05, 0x06, 0x12, 0x20, 0x100};
	static const unsigned int bad_request[] = {0x02, 0x08, 0x06, 0x14, 0x20, 0x100};

	for (size_t i = 0; i < sizeof(bad_recv) / sizeof(bad_recv[0]); i++) {
		DAT_EP_ATTR attr = valid_attr();

		attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)bad_recv[i];
		t_bad_arg_of(create_with(&attr), 6);
	}
	for (size_t i = 0; i < sizeof(bad_request) / sizeof(bad_request[0]); i++) {
		DAT_EP_ATTR attr = valid_attr();

		attr.request_completion_flags = (DAT_COMPLETION_FLAGS)bad_request[i];
		t_bad_arg_of(create_with(&attr), 6);
	}
}
END_TEST

START_TEST(EP_007_create_takes_good_completion_flags)
{
	static const DAT_COMPLETION_FLAGS recv[] = {
		DAT_COMPLETION_DEFAULT_FLAG,
		DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		DAT_COMPLETION_UNSIGNALLED_FLAG,
		DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	static const DAT_COMPLETION_FLAGS request[] = {
		DAT_COMPLETION_DEFAULT_FLAG,
		DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		DAT_COMPLETION_UNSIGNALLED_FLAG,
	};

	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 3; j++) {
			DAT_EP_ATTR attr = valid_attr();

			attr.recv_completion_flags = recv[i];
			attr.request_completion_flags = request[j];
			t_ok(create_with(&attr));
		}
	}
}
END_TEST

/* The specification wants the same flags for all streams of an EVD, but programs use others. */
START_TEST(EP_008_009_streams_of_one_evd_may_differ_in_flags)
{
	/* EVS-083 EVS-084 */
	static const DAT_COMPLETION_FLAGS flags[] = {
		DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		DAT_COMPLETION_UNSIGNALLED_FLAG,
		DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	DAT_EVD_HANDLE all = t_evd(&t_tia, 64, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_ATTR attr = valid_attr();

	for (int i = 0; i < 3; i++) {
		attr.recv_completion_flags = flags[i];
		t_ok(create(t_tia.pz, all, all, all, &attr));
	}
}
END_TEST

START_TEST(EP_010_012_013_014_create_without_pz_or_evds)
{
	DAT_EVD_HANDLE dto = t_evd(&t_tia, 64, DTO_EVD_FLAGS);
	DAT_EVD_HANDLE connect = t_evd(&t_tia, 8, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_ATTR attr = valid_attr();

	t_ok(create(DAT_HANDLE_NULL, dto, dto, connect, NULL));
	t_ok(create(t_tia.pz, dto, dto, DAT_HANDLE_NULL, NULL));
	t_ok(create(t_tia.pz, DAT_HANDLE_NULL, dto, connect, NULL));
	t_ok(create(t_tia.pz, dto, DAT_HANDLE_NULL, connect, NULL));
	t_ok(create(DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL));
	t_bad_arg(create(t_tia.pz, DAT_HANDLE_NULL, dto, connect, &attr));
	t_bad_arg(create(t_tia.pz, dto, DAT_HANDLE_NULL, connect, &attr));
	attr.max_recv_dtos = 0;
	t_ok(create(t_tia.pz, DAT_HANDLE_NULL, dto, connect, &attr));
	attr = valid_attr();
	attr.max_request_dtos = 0;
	t_ok(create(t_tia.pz, dto, DAT_HANDLE_NULL, connect, &attr));
}
END_TEST

START_TEST(EP_011_015_016_020_create_refuses_wrong_handles)
{
	/* EVS-104 EVS-105 */
	DAT_EVD_HANDLE dto = t_evd(&t_tia, 64, DTO_EVD_FLAGS);
	DAT_EVD_HANDLE connect = t_evd(&t_tia, 8, DAT_EVD_CONNECTION_FLAG), freed;
	struct t_ia other;
	DAT_PZ_HANDLE pz;

	t_ia_open(&other);
	t_ok(dat_pz_create(t_tia.ia, &pz));
	t_ok(dat_pz_free(pz));
	freed = t_evd(&t_tia, 8, DAT_EVD_CONNECTION_FLAG);
	t_ok(dat_evd_free(freed));
	t_bad_handle_of(create(pz, dto, dto, connect, NULL), PZ);
	t_bad_handle_of(create(dto, dto, dto, connect, NULL), PZ);
	t_bad_handle_of(create(other.pz, dto, dto, connect, NULL), PZ);
	t_bad_handle_of(create(t_tia.pz, connect, dto, connect, NULL), EVD_RECV);
	t_bad_handle_of(create(t_tia.pz, dto, connect, connect, NULL), EVD_REQUEST);
	t_bad_handle_of(create(t_tia.pz, dto, dto, dto, NULL), EVD_CONN);
	t_bad_handle_of(create(t_tia.pz, t_tia.pz, dto, connect, NULL), EVD_RECV);
	t_bad_handle_of(create(t_tia.pz, dto, dto, freed, NULL), EVD_CONN);
	t_bad_handle_of(create(t_tia.pz, t_evd(&other, 8, DTO_EVD_FLAGS), dto, connect, NULL),
			EVD_RECV);
	t_bad_handle_of(create(t_tia.pz, dto, t_evd(&other, 8, DTO_EVD_FLAGS), connect, NULL),
			EVD_REQUEST);
	t_ok(dat_evd_free(connect)); /* the failed calls do not use it any more */
	t_ok(dat_evd_free(dto));
	t_ia_close(&other);
}
END_TEST

START_TEST(EP_017_bind_on_an_evd_without_the_bind_stream)
{
	DAT_EVD_HANDLE request;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct t_pair pair;
	struct t_end *us = &pair.end[0];
	DAT_EP_PARAM param;
	DAT_RETURN ret;

	t_pair_prepare(&pair, NULL);
	param.request_evd_handle = request = t_evd(&pair.ia[0], 64, DAT_EVD_DTO_FLAG);
	t_ok(dat_ep_modify(us->ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	t_establish(&pair.listener, us, &pair.end[1]);
	t_ok(dat_rmr_create(pair.ia[0].pz, &rmr));
	ret = t_rmr_bind(rmr, &us->buf, t_seg(&us->buf, 0, 64), DAT_MEM_PRIV_REMOTE_READ_FLAG,
			 us->ep, 9, DAT_COMPLETION_DEFAULT_FLAG, &context);
	if (ret == DAT_SUCCESS)
		t_wait_bind(request, rmr, 9, DAT_DTO_SUCCESS);
	else
		t_error2(ret, DAT_INVALID_HANDLE, DAT_INVALID_STATE);
	ck_assert_int_eq(t_ep_state(us->ep), DAT_EP_STATE_CONNECTED);
	t_no_event(request);
	t_ia_close(&pair.ia[0]);
	t_ia_close(&pair.ia[1]);
}
END_TEST

START_TEST(EP_018_one_evd_for_everything)
{
	/* EP-137 EPS-087 EP-136 EVS-108 EVS-125 EVS-126 */
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 64, DTO_EVD_FLAGS | DAT_EVD_CONNECTION_FLAG);
	struct t_listener listener;
	struct t_end end, peer;

	t_end_new(&end, &t_tia, NULL);
	t_end_new(&peer, &t_tia, NULL);
	t_ok(dat_ep_free(end.ep));
	t_ok(dat_ep_create(t_tia.ia, t_tia.pz, evd, evd, evd, NULL, &end.ep));
	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	for (uint64_t i = 0; i < 6; i++)
		t_ok(t_recv(&end, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_connect(end.ep, &listener));
	t_ok(t_cr_accept(t_next_cr(&listener), peer.ep));
	t_wait_conn(peer.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, peer.ep);
	for (uint64_t i = 0; i < 5; i++)
		t_ok(t_send(&peer, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_disconnect(peer.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	for (uint64_t i = 0; i < 5; i++)
		t_wait_dto(evd, end.ep, i, DAT_DTO_SUCCESS, 64);
	/* Flushed completions may come before or after the last event. */
	for (int i = 0; i < 2; i++) {
		DAT_EVENT event = t_wait(evd);

		if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
			ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
					 DAT_DTO_ERR_FLUSHED);
	}
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_DISCONNECTED);
	t_no_event(evd);
}
END_TEST

START_TEST(EP_019_create_refuses_bad_arguments)
{
	DAT_EVD_HANDLE dto = t_evd(&t_tia, 64, DTO_EVD_FLAGS);
	DAT_EVD_HANDLE connect = t_evd(&t_tia, 8, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_HANDLE ep;

	t_bad_handle_of(dat_ep_create(DAT_HANDLE_NULL, t_tia.pz, dto, dto, connect, NULL, &ep), IA);
	t_bad_handle_of(dat_ep_create(t_tia.pz, t_tia.pz, dto, dto, connect, NULL, &ep), IA);
	t_bad_arg_of(dat_ep_create(t_tia.ia, t_tia.pz, dto, dto, connect, NULL, NULL), 7);
}
END_TEST

START_TEST(EP_022_071_145_evds_and_pz_are_in_use_until_freed_or_replaced)
{
	struct t_end end;
	DAT_EP_PARAM param;
	DAT_PZ_HANDLE pz;

	t_end_new(&end, &t_tia, NULL);
	t_ok(dat_pz_create(t_tia.ia, &pz));
	param.pz_handle = pz;
	param.recv_evd_handle = t_evd(&t_tia, 64, DTO_EVD_FLAGS);
	t_ok(dat_ep_modify(end.ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	t_ok(dat_evd_free(end.recv_evd));
	t_bad_state(dat_evd_free(param.recv_evd_handle));
	t_bad_state(dat_pz_free(pz));
	t_bad_state(dat_evd_free(end.request_evd));
	t_bad_state(dat_evd_free(end.connect_evd));
	t_ok(dat_ep_free(end.ep));
	t_ok(dat_evd_free(param.recv_evd_handle));
	t_ok(dat_evd_free(end.request_evd));
	t_ok(dat_evd_free(end.connect_evd));
	t_ok(dat_pz_free(pz));
	t_buf_free(&end.buf);
}
END_TEST

START_TEST(EP_023_number_of_eps_is_limited)
{
	DAT_EVD_HANDLE dto = t_evd(&t_tia, 64, DTO_EVD_FLAGS);
	DAT_EVD_HANDLE connect = t_evd(&t_tia, 8, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_ATTR attr = valid_attr();
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_COUNT count = 0;

	attr.max_recv_dtos = attr.max_request_dtos = 1;
	while (count <= t_tia.attr.max_eps && ret == DAT_SUCCESS) {
		ret = dat_ep_create(t_tia.ia, t_tia.pz, dto, dto, connect, &attr, &ep);
		count += ret == DAT_SUCCESS;
	}
	t_error(ret, DAT_INSUFFICIENT_RESOURCES);
	ck_assert_int_eq(count, t_tia.attr.max_eps);
	t_ok(dat_ep_free(ep));
	t_ok(dat_ep_create(t_tia.ia, t_tia.pz, dto, dto, connect, &attr, &ep));
}
END_TEST

/* Attributes of an EP that needs more memory than the limit leaves. */
static DAT_EP_ATTR large_attr(void)
{
	DAT_EP_ATTR attr = valid_attr();

	attr.max_request_dtos = attr.max_recv_dtos = t_tia.attr.max_dto_per_ep;
	attr.max_request_iov = attr.max_recv_iov = t_tia.attr.max_iov_segments_per_dto;
	return attr;
}

START_TEST(EP_021_074_failure_for_lack_of_memory_changes_nothing)
{
	/* _i: at creation or at a change */
	DAT_EP_ATTR large = large_attr(), before;
	DAT_EP_PARAM param = {.ep_attr = large};
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	struct t_end end;
	DAT_RETURN ret;

	t_end_new(&end, &t_tia, NULL);
	before = t_ep_attr(end.ep);
	if (!t_limit_memory(1 << 18))
		t_skip("a sanitizer needs address space without limit");
	ret = _i ? dat_ep_modify(end.ep,
				 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
					 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				 &param)
		 : dat_ep_create(t_tia.ia, t_tia.pz, end.recv_evd, end.request_evd, end.connect_evd,
				 &large, &ep);
	t_unlimit_memory();
	t_out_of(ret, TEP);
	ck_assert_int_eq(t_ep_attr(end.ep).max_request_dtos, before.max_request_dtos);
	ck_assert_int_eq(t_ep_attr(end.ep).max_recv_dtos, before.max_recv_dtos);
	t_end_free(&end);
	t_ia_close_empty(&t_tia);
	t_ia_open(&t_tia);
}
END_TEST

START_TEST(EP_021_as_many_eps_as_the_attribute_says)
{
	DAT_EP_ATTR attr = valid_attr();
	DAT_COUNT max = t_tia.attr.max_eps, n = 0;
	DAT_EP_HANDLE *eps = calloc((size_t)max + 1, sizeof(*eps));
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 8, DAT_EVD_DEFAULT_FLAG);
	DAT_RETURN ret = DAT_SUCCESS;

	ck_assert_ptr_nonnull(eps);
	attr.max_request_dtos = attr.max_recv_dtos = 1;
	/* Twice: if the first round leaked memory, the second one has too little. */
	for (int round = 0; round < 2; round++) {
		while (n <= max && ret == DAT_SUCCESS) {
			ret = dat_ep_create(t_tia.ia, t_tia.pz, evd, evd, evd, &attr, &eps[n]);
			n += ret == DAT_SUCCESS;
		}
		t_out_of(ret, TEP);
		ck_assert_int_eq(n, max);
		while (n) {
			ret = dat_ep_free(eps[--n]);
			t_ok(ret);
		}
	}
	t_ok(dat_evd_free(evd));
	free(eps);
	t_ia_close_empty(&t_tia);
	t_ia_open(&t_tia);
}
END_TEST

START_TEST(EP_025_connection_without_reads)
{
	DAT_EP_ATTR attr = valid_attr();
	struct t_loop loop;

	attr.max_rdma_read_in = attr.max_rdma_read_out = 0;
	t_loop_open(&loop, &t_tia, &attr);
	t_ok(t_recv(&loop.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_write(&loop.end[0], 0, 64, 2, t_remote_seg(&loop.end[1].buf, 64, 64),
		     DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&loop.end[0], 0, 64, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(loop.end[0].request_evd, loop.end[0].ep, 2, DAT_DTO_SUCCESS, 64);
	t_wait_dto(loop.end[0].request_evd, loop.end[0].ep, 3, DAT_DTO_SUCCESS, 64);
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, 64);
	t_loop_close(&loop);
}
END_TEST

/* --- query --- */

START_TEST(EP_045_049_query_returns_all_fields)
{
	/* EP-053 EP-054 EP-098 PRG-02 */
	struct t_loop loop;
	DAT_EP_PARAM param;
	const struct sockaddr *ours = t_tia.attr.ia_address_ptr;

	t_loop_open(&loop, &t_tia, NULL);
	for (int i = 0; i < 2; i++) {
		const struct t_end *end = &loop.end[i];

		t_ok(dat_ep_query(end->ep, DAT_EP_FIELD_ALL, &param));
		ck_assert_ptr_eq((void *)param.ia_handle, (void *)t_tia.ia);
		ck_assert_int_eq(param.ep_state, DAT_EP_STATE_CONNECTED);
		ck_assert_ptr_eq(param.pz_handle, t_tia.pz);
		ck_assert_ptr_eq(param.recv_evd_handle, end->recv_evd);
		ck_assert_ptr_eq(param.request_evd_handle, end->request_evd);
		ck_assert_ptr_eq(param.connect_evd_handle, end->connect_evd);
		ck_assert_ptr_null(param.srq_handle);
		ck_assert_int_eq(param.local_ia_address_ptr->sa_family, ours->sa_family);
		ck_assert_int_eq(param.remote_ia_address_ptr->sa_family, ours->sa_family);
		ck_assert_uint_ne(param.local_port_qual, 0);
		ck_assert_uint_ne(param.remote_port_qual, 0);
	}
	t_loop_close(&loop);
}
END_TEST

START_TEST(EP_051_052_query_refuses_bad_arguments)
{
	struct t_end end;
	DAT_EP_PARAM param;

	t_end_new(&end, &t_tia, NULL);
	t_ok(dat_ep_query(end.ep, (DAT_EP_PARAM_MASK)1 << 40, &param));
	ck_assert_ptr_eq(param.pz_handle, t_tia.pz);
	t_ok(dat_ep_query(end.ep, ~(DAT_EP_PARAM_MASK)0, &param));
	memset(&param, 0, sizeof(param));
	t_ok(dat_ep_query(end.ep, (DAT_EP_PARAM_MASK)0xffff, &param)); /* MVAPICH2 */
	ck_assert_ptr_eq(param.connect_evd_handle, end.connect_evd);
	t_bad_arg_of(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, NULL), 3);
	t_bad_handle_of(dat_ep_query(DAT_HANDLE_NULL, DAT_EP_FIELD_ALL, &param), EP);
	t_bad_handle_of(dat_ep_query(end.recv_evd, DAT_EP_FIELD_ALL, &param), EP);
	t_end_free(&end);
	t_bad_handle_of(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, &param), EP);
}
END_TEST

/* --- modify --- */

START_TEST(EP_050_068_modify_changes_what_the_mask_names)
{
	DAT_EP_PARAM param = {.ep_attr = {.max_recv_dtos = 201, .max_request_dtos = 203}};
	DAT_EP_ATTR before, after;
	struct t_end end;

	t_end_new(&end, &t_tia, NULL);
	before = t_ep_attr(end.ep);
	t_ok(dat_ep_modify(end.ep, 0, &param));
	after = t_ep_attr(end.ep);
	ck_assert_int_eq(after.max_recv_dtos, before.max_recv_dtos);
	t_ok(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	after = t_ep_attr(end.ep);
	ck_assert_int_ge(after.max_recv_dtos, 201);
	ck_assert_int_eq(after.max_request_dtos, before.max_request_dtos);
	ck_assert_int_eq(after.max_recv_iov, before.max_recv_iov);
	for (uint64_t i = 0; i < 201; i++)
		t_ok(t_recv(&end, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_end_free(&end);
}
END_TEST

/* Sets the PZ of an EP that has no connection yet. */
static void set_pz(DAT_EP_HANDLE ep, DAT_PZ_HANDLE pz)
{
	DAT_EP_PARAM param = {.pz_handle = pz};

	t_ok(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
}

START_TEST(EP_059_receives_of_another_pz_fail_when_used)
{
	/* DTO-089 ERR-025; _i: with an empty message or one that has bytes */
	struct t_pair pair;
	DAT_PZ_HANDLE pz;

	t_pair_prepare(&pair, NULL);
	t_ok(t_recv(&pair.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_pz_create(pair.ia[1].ia, &pz));
	set_pz(pair.end[1].ep, pz);
	t_establish(&pair.listener, &pair.end[0], &pair.end[1]);
	t_fill(pair.end[0].buf.mem, 64, 59);
	t_ok(t_send(&pair.end[0], 0, _i * (size_t)64, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(pair.end[1].recv_evd, pair.end[1].ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION, 0);
	t_wait_conn(pair.end[1].connect_evd, DAT_CONNECTION_EVENT_BROKEN, pair.end[1].ep);
	for (int i = 0; i < 64; i++)
		ck_assert_uint_eq(pair.end[1].buf.mem[i], 0);
	t_ia_close(&pair.ia[0]);
	t_ia_close(&pair.ia[1]);
}
END_TEST

START_TEST(EP_059_receives_work_again_with_their_own_pz)
{
	struct t_pair pair;
	DAT_PZ_HANDLE pz;

	t_pair_prepare(&pair, NULL);
	t_ok(t_recv(&pair.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_pz_create(pair.ia[1].ia, &pz));
	set_pz(pair.end[1].ep, pz);
	set_pz(pair.end[1].ep, pair.ia[1].pz);
	t_ok(dat_pz_free(pz));
	t_establish(&pair.listener, &pair.end[0], &pair.end[1]);
	t_ok(t_send(&pair.end[0], 0, 64, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(pair.end[1].recv_evd, pair.end[1].ep, 1, DAT_DTO_SUCCESS, 64);
	t_pair_close(&pair);
}
END_TEST

START_TEST(EP_064_modify_checks_the_streams)
{
	struct t_end end, quiet;
	DAT_EP_PARAM param;
	DAT_EP_ATTR attr = valid_attr();

	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	t_end_new(&quiet, &t_tia, &attr);
	t_end_new(&end, &t_tia, NULL);
	param.recv_evd_handle = param.request_evd_handle = end.connect_evd;
	param.connect_evd_handle = end.recv_evd;
	t_bad_handle(dat_ep_modify(end.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	t_bad_handle(dat_ep_modify(end.ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	t_bad_handle(dat_ep_modify(end.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	t_ok(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.recv_evd_handle, end.recv_evd);
	/*
	 * EVDs with other flags are allowed. The old EVD loses the flags that the EP added to it.
	 */
	param.recv_evd_handle = quiet.recv_evd;
	t_ok(dat_ep_modify(end.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	t_ok(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	t_end_free(&end);
	t_end_free(&quiet);
}
END_TEST

START_TEST(EP_065_modify_refuses_attributes_above_the_limits)
{
	static const DAT_EP_PARAM_MASK masks[LIMITS] = {
		DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
		DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV,      DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN,  DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV,
	};
	DAT_EP_PARAM param = {.ep_attr = attr_above_limit(_i)};
	DAT_EP_ATTR before, after;
	struct t_end end;

	t_end_new(&end, &t_tia, NULL);
	before = t_ep_attr(end.ep);
	t_bad_arg(dat_ep_modify(end.ep, masks[_i], &param));
	after = t_ep_attr(end.ep);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	t_end_free(&end);
}
END_TEST

START_TEST(EP_066_queue_does_not_shrink_below_what_is_posted)
{
	DAT_EP_PARAM param = {.ep_attr = {.max_recv_dtos = 2}};
	struct t_pair pair;

	t_pair_prepare(&pair, NULL);
	for (uint64_t i = 0; i < 3; i++)
		t_ok(t_recv(&pair.end[1], 100 * i, 100, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_error2(dat_ep_modify(pair.end[1].ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
		 DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
	param.ep_attr.max_recv_dtos = 300; /* a larger queue moves the receives */
	t_ok(dat_ep_modify(pair.end[1].ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	t_establish(&pair.listener, &pair.end[0], &pair.end[1]);
	for (uint64_t i = 0; i < 3; i++) {
		t_ok(t_send(&pair.end[0], 0, 10, i, DAT_COMPLETION_SUPPRESS_FLAG));
		t_wait_dto(pair.end[1].recv_evd, pair.end[1].ep, i, DAT_DTO_SUCCESS, 10);
	}
	t_pair_close(&pair);
}
END_TEST

START_TEST(EP_061_posted_receives_keep_their_segments)
{
	DAT_EP_PARAM param = {.ep_attr = {.max_recv_iov = 1}};
	DAT_LMR_TRIPLET segments[4];
	DAT_EP_ATTR attr = valid_attr();
	struct t_end end;

	if (t_tia.attr.max_iov_segments_per_dto < 4)
		t_skip("the device has fewer than four segments");
	attr.max_recv_iov = 4;
	t_end_new(&end, &t_tia, &attr);
	for (int i = 0; i < 4; i++)
		segments[i] = t_seg(&end.buf, 64 * (size_t)i, 64);
	t_ok(dat_ep_post_recv(end.ep, 4, segments, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param));
	ck_assert_int_ge(t_ep_attr(end.ep).max_recv_iov, 4);
	t_end_free(&end);
}
END_TEST

START_TEST(EP_067_modify_is_all_or_nothing)
{
	DAT_EP_PARAM param = {.ep_attr = {.max_recv_dtos = 200}}, after;
	struct t_end end;
	DAT_PZ_HANDLE pz;

	t_end_new(&end, &t_tia, NULL);
	t_ok(dat_pz_create(t_tia.ia, &pz));
	param.pz_handle = pz;
	param.ep_attr.max_request_dtos = t_tia.attr.max_dto_per_ep + 1;
	param.recv_evd_handle = t_evd(&t_tia, 300, DTO_EVD_FLAGS);
	t_bad_arg(dat_ep_modify(end.ep,
				DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
					DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
					DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
				&param));
	t_ok(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, &after));
	ck_assert_ptr_eq(after.pz_handle, t_tia.pz);
	ck_assert_ptr_eq(after.recv_evd_handle, end.recv_evd);
	ck_assert_int_ne(after.ep_attr.max_recv_dtos, 200);
	t_ok(dat_pz_free(pz));
	t_ok(dat_evd_free(param.recv_evd_handle));
	t_end_free(&end);
}
END_TEST

START_TEST(EP_065_modify_of_an_EP_without_EVDs)
{
	DAT_EP_PARAM param = {.ep_attr = {.max_recv_iov = 1}};
	DAT_EP_HANDLE ep;

	t_ok(dat_ep_create(t_tia.ia, t_tia.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			   NULL, &ep));
	t_ok(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param));
	param.ep_attr.max_recv_dtos = t_ep_attr(ep).max_recv_dtos + 1;
	param.ep_attr.max_request_dtos = t_ep_attr(ep).max_request_dtos + 1;
	t_bad_arg(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	t_bad_arg(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
	t_ok(dat_ep_free(ep));
}
END_TEST

START_TEST(EP_069_070_075_modify_refuses_bad_arguments)
{
	struct t_end end;
	DAT_EP_PARAM param;

	t_end_new(&end, &t_tia, NULL);
	memset(&param, 0, sizeof(param));
	t_bad_arg_of(dat_ep_modify(end.ep, (DAT_EP_PARAM_MASK)1 << 40, &param), 2);
	t_bad_arg_of(dat_ep_modify(end.ep, DAT_EP_FIELD_PZ_HANDLE, NULL), 3);
	param.pz_handle = end.recv_evd;
	param.recv_evd_handle = t_tia.pz;
	t_bad_handle(dat_ep_modify(end.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	t_bad_handle(dat_ep_modify(end.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	param.ep_attr.service_type = (DAT_SERVICE_TYPE)(DAT_SERVICE_TYPE_RC + 100);
	t_bad_arg(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, &param));
	t_bad_handle_of(dat_ep_modify(DAT_HANDLE_NULL, DAT_EP_FIELD_PZ_HANDLE, &param), EP);
	t_bad_handle_of(dat_ep_modify(t_tia.pz, DAT_EP_FIELD_PZ_HANDLE, &param), EP);
	t_end_free(&end);
}
END_TEST

START_TEST(EP_072_receives_complete_on_the_evd_set_last)
{
	struct t_pair pair;
	DAT_EP_PARAM param;

	t_pair_prepare(&pair, NULL);
	t_ok(t_recv(&pair.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	param.recv_evd_handle = t_evd(&pair.ia[1], 64, DTO_EVD_FLAGS);
	t_ok(dat_ep_modify(pair.end[1].ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	t_establish(&pair.listener, &pair.end[0], &pair.end[1]);
	t_ok(t_send(&pair.end[0], 0, 64, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(param.recv_evd_handle, pair.end[1].ep, 1, DAT_DTO_SUCCESS, 64);
	t_no_event(pair.end[1].recv_evd);
	t_ia_close(&pair.ia[0]);
	t_ia_close(&pair.ia[1]);
}
END_TEST

/* --- connecting --- */

static DAT_RETURN connect_as(DAT_EP_HANDLE ep, const struct t_listener *to, DAT_QOS qos,
			     unsigned int flags)
{
	return dat_ep_connect(ep, to->on->attr.ia_address_ptr, to->qual, T_LIMIT_US, 0, NULL, qos,
			      (DAT_CONNECT_FLAGS)flags);
}

START_TEST(EP_076_100_connect_returns_before_the_answer)
{
	struct t_listener listener;
	struct t_end end, peer;

	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&end, &t_tia, NULL);
	t_end_new(&peer, &t_tia, NULL);
	t_ok(t_connect(end.ep, &listener));
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	t_stays_quiet(end.connect_evd);
	t_ok(t_cr_accept(t_next_cr(&listener), peer.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_stays_quiet(end.connect_evd);
	t_end_free(&end);
	t_end_free(&peer);
	t_listener_free(&listener);
}
END_TEST

/* Allocates all memory that malloc() can still return, as a list of pieces. */
static void *take_all_memory(void)
{
	void **pieces = NULL;

	for (size_t size = 1 << 16; size >= 32; size /= 2) {
		void **piece;

		while ((piece = malloc(size))) {
			*piece = pieces;
			pieces = piece;
		}
	}
	return pieces;
}

static void give_memory_back(void *pieces)
{
	while (pieces) {
		void *next = *(void **)pieces;

		free(pieces);
		pieces = next;
	}
}

START_TEST(EP_097_connect_without_memory_fails)
{
	struct t_listener listener;
	struct t_end end, peer;
	DAT_RETURN ret;
	void *pieces;

	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&end, &t_tia, NULL);
	t_end_new(&peer, &t_tia, NULL);
	if (!t_limit_memory(0))
		t_skip("a sanitizer needs address space without limit");
	pieces = take_all_memory();
	ret = t_connect(end.ep, &listener);
	give_memory_back(pieces);
	t_unlimit_memory();
	t_error(ret, DAT_INSUFFICIENT_RESOURCES);
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_UNCONNECTED);
	t_no_event(end.connect_evd);
	t_establish(&listener, &end, &peer);
	t_end_free(&end);
	t_end_free(&peer);
	t_listener_free(&listener);
}
END_TEST

START_TEST(EP_088_connect_refuses_a_foreign_address_family)
{
	struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "/nowhere"};
	struct sockaddr_in6 other = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct t_end end;

	t_end_new(&end, &t_tia, NULL);
	t_error_sub(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&local, 4711, T_LIMIT_US, 0, NULL,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	/* A family that is known, but not that of the IA. */
	if (t_tia.attr.ia_address_ptr->sa_family == AF_INET)
		t_error_sub(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&other, 4711, T_LIMIT_US, 0,
					   NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
			    DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_UNCONNECTED);
	t_no_event(end.connect_evd);
	t_end_free(&end);
}
END_TEST

START_TEST(EP_093_094_095_096_quality_of_service_and_flags)
{
	struct t_listener listener;
	struct t_end end;

	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&end, &t_tia, NULL);
	t_unsupported(connect_as(end.ep, &listener, DAT_QOS_HIGH_THROUGHPUT, 0));
	t_unsupported(connect_as(end.ep, &listener, DAT_QOS_PREMIUM, 0));
	for (unsigned int flag = 4; flag; flag <<= 1)
		t_bad_arg(connect_as(end.ep, &listener, DAT_QOS_BEST_EFFORT, flag));
#if T_DAT_MAJOR == 1
	t_bad_arg(connect_as(end.ep, &listener, DAT_QOS_BEST_EFFORT, 2));
	t_unsupported(connect_as(end.ep, &listener, DAT_QOS_BEST_EFFORT, 1));
#else
	t_unsupported(connect_as(end.ep, &listener, DAT_QOS_BEST_EFFORT, 2));
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_UNCONNECTED);
	t_ok(connect_as(end.ep, &listener, DAT_QOS_BEST_EFFORT, 1));
	t_ok(t_cr_reject(t_next_cr(&listener)));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, end.ep);
#endif
	t_end_free(&end);
	t_listener_free(&listener);
}
END_TEST

START_TEST(EP_098_local_port_is_shown_to_the_peer)
{
	struct t_listener listener;
	DAT_EP_PARAM param;
	struct t_end end;
	DAT_CR_PARAM cr;
	DAT_CR_HANDLE handle;

	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&end, &t_tia, NULL);
	t_ok(t_connect(end.ep, &listener));
	handle = t_next_cr(&listener);
	t_ok(dat_cr_query(handle, DAT_CR_FIELD_ALL, &cr));
	t_ok(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_uint_ne(param.local_port_qual, 0);
	ck_assert_uint_eq(cr.remote_port_qual, param.local_port_qual);
	t_ok(t_cr_reject(handle));
	t_end_free(&end);
	t_listener_free(&listener);
}
END_TEST

START_TEST(EP_102_ia_connects_to_itself)
{
	struct t_loop loop;

	t_loop_open(&loop, &t_tia, NULL);
	for (int i = 0; i < 2; i++) {
		t_fill(loop.end[i].buf.mem, 500, 3);
		t_ok(t_recv(&loop.end[!i], 1000, 500, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&loop.end[i], 0, 500, 2, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(loop.end[i].request_evd, loop.end[i].ep, 2, DAT_DTO_SUCCESS, 500);
		t_wait_dto(loop.end[!i].recv_evd, loop.end[!i].ep, 1, DAT_DTO_SUCCESS, 500);
		ck_assert(t_is_filled(loop.end[!i].buf.mem + 1000, 500, 3));
	}
	t_loop_close(&loop);
}
END_TEST

START_TEST(EP_103_108_131_147_157_165_183_197_calls_refuse_other_handles)
{
	/* EP-114 */
	struct t_listener listener;
	struct t_end end;
	const DAT_EP_HANDLE wrong[] = {DAT_HANDLE_NULL, t_tia.pz, NULL};
	DAT_EP_HANDLE handles[3];
	DAT_EP_STATE state;
	DAT_COUNT count;

	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&end, &t_tia, NULL);
	memcpy(handles, wrong, sizeof(handles));
	handles[2] = end.ep;
	t_bad_handle_of(dat_ep_dup_connect(end.ep, t_tia.pz, T_LIMIT_US, 0, NULL,
					   DAT_QOS_BEST_EFFORT),
			EP);
	t_end_free(&end);
	for (int i = 0; i < 3; i++) {
		DAT_EP_HANDLE ep = handles[i];

		t_bad_handle_of(t_connect(ep, &listener), EP);
		t_bad_handle_of(dat_ep_dup_connect(ep, ep, T_LIMIT_US, 0, NULL,
						   DAT_QOS_BEST_EFFORT),
				EP);
		t_bad_handle_of(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), EP);
		t_bad_handle_of(dat_ep_free(ep), EP);
		t_bad_handle_of(dat_ep_reset(ep), EP);
		t_bad_handle_of(dat_ep_get_status(ep, &state, NULL, NULL), EP);
		t_bad_handle_of(dat_ep_recv_query(ep, &count, &count), EP);
		t_bad_handle_of(dat_ep_set_watermark(ep, 1, 1), EP);
#if T_DAT_MAJOR == 2
		t_bad_handle_of(dat_ep_common_connect(ep, t_tia.attr.ia_address_ptr, T_LIMIT_US, 0,
						      NULL),
				EP);
#endif
	}
	t_listener_free(&listener);
}
END_TEST

START_TEST(EP_110_dup_connect_stays_within_an_ia)
{
	struct t_pair pair;
	struct t_end end;

	t_pair_open(&pair, NULL);
	t_end_new(&end, &pair.ia[1], NULL);
	t_error2(dat_ep_dup_connect(end.ep, pair.end[0].ep, T_LIMIT_US, 0, NULL,
				    DAT_QOS_BEST_EFFORT),
		 DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE);
	t_end_free(&end);
	t_pair_close(&pair);
}
END_TEST

START_TEST(EP_113_dup_connect_of_a_passive_ep_is_refused)
{
	struct t_pair pair;
	struct t_end end;
	DAT_RETURN ret;

	t_pair_open(&pair, NULL);
	t_end_new(&end, &pair.ia[1], NULL);
	t_bad_arg(dat_ep_dup_connect(end.ep, pair.end[1].ep, T_LIMIT_US, 8, NULL,
				     DAT_QOS_BEST_EFFORT));
	t_unsupported(
		dat_ep_dup_connect(end.ep, pair.end[1].ep, T_LIMIT_US, 0, NULL, DAT_QOS_PREMIUM));
	ret = dat_ep_dup_connect(end.ep, pair.end[1].ep, T_LIMIT_US, 0, NULL, DAT_QOS_BEST_EFFORT);
	if (ret == DAT_SUCCESS)
		t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, end.ep);
	else
		t_error2(ret, DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
	t_end_free(&end);
	t_pair_close(&pair);
}
END_TEST

/* --- the end --- */

START_TEST(EP_118_graceful_with_nothing_outstanding)
{
	struct t_pair pair;

	t_pair_open(&pair, NULL);
	t_ok(t_recv(&pair.end[0], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(&pair.end[1], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_disconnect(pair.end[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (int i = 0; i < 2; i++) {
		const struct t_end *end = &pair.end[i];

		t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end->ep);
		t_wait_dto(end->recv_evd, end->ep, 1 + (uint64_t)i, DAT_DTO_ERR_FLUSHED, 0);
	}
	t_pair_close(&pair);
}
END_TEST

START_TEST(EP_120_messages_arrive_while_disconnecting)
{
	struct t_pair pair;
	struct t_end *us = &pair.end[0], *peer = &pair.end[1];

	t_pair_open(&pair, NULL);
	t_ok(t_recv(us, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(us, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(us, 0, 64, 3,
		    DAT_COMPLETION_DEFAULT_FLAG)); /* the peer has posted no receive yet */
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_ok(t_send(peer, 0, 64, 4, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(us->recv_evd, us->ep, 1, DAT_DTO_SUCCESS, 64);
	t_ok(t_recv(peer, 0, 64, 5, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(peer->recv_evd, peer->ep, 5, DAT_DTO_SUCCESS, 64);
	t_wait_dto(us->recv_evd, us->ep, 2, DAT_DTO_ERR_FLUSHED, 0);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, us->ep);
	t_pair_close(&pair);
}
END_TEST

START_TEST(EP_142_peer_of_a_freed_ep_gets_an_event)
{
	struct t_pair pair;
	DAT_EVENT event;

	t_pair_open(&pair, NULL);
	t_ok(t_recv(&pair.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_free(pair.end[0].ep));
	pair.end[0].ep = DAT_HANDLE_NULL;
	event = t_wait(pair.end[1].connect_evd);
	ck_assert(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		  event.event_number == DAT_CONNECTION_EVENT_BROKEN);
	t_wait_dto(pair.end[1].recv_evd, pair.end[1].ep, 1, DAT_DTO_ERR_FLUSHED, 0);
	t_pair_close(&pair);
}
END_TEST

START_TEST(EP_154_reset_keeps_the_configuration)
{
	DAT_EP_ATTR attr = valid_attr(), after;
	struct t_loop loop;
	DAT_EP_PARAM param;

	attr.max_recv_dtos = 19;
	t_loop_open(&loop, &t_tia, &attr);
	attr = t_ep_attr(loop.end[0].ep);
	t_ok(dat_ep_disconnect(loop.end[0].ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(loop.end[0].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, loop.end[0].ep);
	t_ok(dat_ep_reset(loop.end[0].ep));
	t_ok(dat_ep_query(loop.end[0].ep, DAT_EP_FIELD_ALL, &param));
	after = t_ep_attr(loop.end[0].ep);
	ck_assert_mem_eq(&attr, &after, sizeof(attr));
	ck_assert_ptr_eq(param.pz_handle, t_tia.pz);
	ck_assert_ptr_eq(param.recv_evd_handle, loop.end[0].recv_evd);
	ck_assert_ptr_eq(param.request_evd_handle, loop.end[0].request_evd);
	ck_assert_ptr_eq(param.connect_evd_handle, loop.end[0].connect_evd);
	t_loop_close(&loop);
}
END_TEST

START_TEST(EP_156_no_late_event_of_an_old_connection)
{
	struct t_pair pair;
	struct t_end *us = &pair.end[0], *peer = &pair.end[1];

	t_pair_open(&pair, NULL);
	for (unsigned int round = 0; round < 30; round++) {
		t_ok(t_recv(us, 0, 2000, 1, DAT_COMPLETION_DEFAULT_FLAG));
		for (uint64_t i = 0; i < 20; i++) /* more than can be received */
			t_ok(t_send(peer, 4000, 1000, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
		t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, us->ep);
		t_wait_conn(peer->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, peer->ep);
		t_drain(us->recv_evd);
		t_drain(peer->request_evd);
		t_ok(dat_ep_reset(us->ep));
		t_ok(dat_ep_reset(peer->ep));
		t_ok(t_recv(us, 0, 2000, 2, DAT_COMPLETION_DEFAULT_FLAG));
		t_establish(&pair.listener, us, peer);
		t_fill(peer->buf.mem, 77, round);
		t_ok(t_send(peer, 0, 77, 3, DAT_COMPLETION_SUPPRESS_FLAG));
		t_wait_dto(us->recv_evd, us->ep, 2, DAT_DTO_SUCCESS, 77);
		ck_assert(t_is_filled(us->buf.mem, 77, round));
		t_no_event(us->recv_evd);
	}
	t_pair_close(&pair);
}
END_TEST

/* --- status --- */

static void expect_idle(const struct t_end *end, DAT_BOOLEAN recv, DAT_BOOLEAN request)
{
	DAT_BOOLEAN recv_idle = 7, request_idle = 7;
	DAT_EP_STATE state;

	t_ok(dat_ep_get_status(end->ep, &state, &recv_idle, &request_idle));
	ck_assert_int_eq(recv_idle, recv);
	ck_assert_int_eq(request_idle, request);
}

START_TEST(EP_159_160_161_162_idle_flags_are_true_or_false)
{
	struct t_pair pair;
	struct t_end *us = &pair.end[0], *peer = &pair.end[1];

	t_pair_open(&pair, NULL);
	expect_idle(us, DAT_TRUE, DAT_TRUE);
	for (uint64_t i = 0; i < 5; i++)
		t_ok(t_recv(us, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	expect_idle(us, DAT_FALSE, DAT_TRUE);
	t_ok(t_recv(peer, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(us, 0, 64, 9, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(us->request_evd, us->ep, 9, DAT_DTO_SUCCESS, 64);
	expect_idle(us, DAT_FALSE, DAT_TRUE);
	for (uint64_t i = 0; i < 5; i++) {
		t_ok(t_send(peer, 0, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
		t_wait_dto(us->recv_evd, us->ep, i, DAT_DTO_SUCCESS, 64);
	}
	expect_idle(us, DAT_TRUE, DAT_TRUE);
	t_ok(dat_ep_get_status(us->ep, NULL, NULL, NULL));
	t_pair_close(&pair);
}
END_TEST

static void expect_receives(const struct t_end *end, DAT_COUNT number)
{
	DAT_COUNT info = end->on->provider.ep_recv_info_supported;
	DAT_COUNT allocated = 77, span = 77;

	t_ok(dat_ep_recv_query(end->ep, &allocated, &span));
	/* EP-178: exactly, where the attribute promises it */
	ck_assert_int_eq(allocated, info & 1 ? number : DAT_VALUE_UNKNOWN);
	ck_assert_int_eq(span, info & 2 ? number : DAT_VALUE_UNKNOWN);
	allocated = span = 77;
	t_ok(dat_ep_recv_query(end->ep, &allocated, NULL));
	t_ok(dat_ep_recv_query(end->ep, NULL, &span));
	t_ok(dat_ep_recv_query(end->ep, NULL, NULL));
	ck_assert_int_eq(allocated, info & 1 ? number : DAT_VALUE_UNKNOWN);
	ck_assert_int_eq(span, info & 2 ? number : DAT_VALUE_UNKNOWN);
}

/* Requests that take no receive of the peer (EP-170). */
static void bind_and_unbind(const struct t_end *end)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	t_ok(dat_rmr_create(end->on->pz, &rmr));
	t_ok(t_rmr_bind(rmr, &end->buf, t_seg(&end->buf, 0, 64), DAT_MEM_PRIV_REMOTE_READ_FLAG,
			end->ep, 3, DAT_COMPLETION_DEFAULT_FLAG, &context));
	t_wait_bind(end->request_evd, rmr, 3, DAT_DTO_SUCCESS);
	t_ok(dat_rmr_free(rmr));
}

START_TEST(EP_166_176_181_186_187_recv_query_counts_what_is_posted)
{
	/* EP-170 EP-173 EP-175 EP-178 */
	struct t_pair pair;
	struct t_end *us = &pair.end[0], *peer = &pair.end[1];

	t_pair_prepare(&pair, NULL);
	expect_receives(us, 0);
	for (uint64_t i = 0; i < 5; i++)
		t_ok(t_recv(us, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	expect_receives(us, 5);
	t_establish(&pair.listener, us, peer);
	t_ok(t_write(peer, 0, 64, 1, t_remote_seg(&us->buf, 0, 64), DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(peer->request_evd, peer->ep, 1, DAT_DTO_SUCCESS, 64);
	expect_receives(us, 5);
	t_ok(t_read(peer, 0, 64, 1, t_remote_seg(&us->buf, 0, 64), DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(peer->request_evd, peer->ep, 1, DAT_DTO_SUCCESS, 64);
	bind_and_unbind(us);
	bind_and_unbind(peer);
	expect_receives(us, 5);
	t_ok(t_send(peer, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(peer, 0, 64, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(us->recv_evd, us->ep, 0, DAT_DTO_SUCCESS, 64);
	t_wait_dto(us->recv_evd, us->ep, 1, DAT_DTO_SUCCESS, 64);
	expect_receives(us, 3);
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, us->ep);
	expect_receives(us, 0); /* flushed, though not dequeued */
	t_pair_close(&pair);
}
END_TEST

START_TEST(EP_168_169_recv_query_tells_how_many_receives_will_succeed)
{
	struct t_pair pair;
	struct t_end *us = &pair.end[0], *peer = &pair.end[1];

	t_pair_open(&pair, NULL);
	for (uint64_t i = 0; i < 5; i++)
		t_ok(t_recv(us, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 6; i++) {
		expect_receives(us, i < 5 ? 5 - (DAT_COUNT)i : 0);
		t_ok(t_send(peer, 0, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
		if (i < 5)
			t_wait_dto(us->recv_evd, us->ep, i, DAT_DTO_SUCCESS, 64);
	}
	t_stays_quiet(us->recv_evd);
	t_ok(t_recv(us, 0, 64, 5, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(us->recv_evd, us->ep, 5, DAT_DTO_SUCCESS, 64);
	expect_receives(us, 0);
	t_pair_close(&pair);
}
END_TEST

START_TEST(EP_177_counted_receives_complete)
{
	/* The first receive may have its message when the connection ends. */
	struct t_pair pair;
	struct t_end *us = &pair.end[0], *peer = &pair.end[1];
	DAT_COUNT allocated, span;

	t_pair_open(&pair, NULL);
	for (uint64_t i = 0; i < 5; i++)
		t_ok(t_recv(us, 0, T_BUF_SIZE, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(peer, 0, T_BUF_SIZE, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(dat_ep_recv_query(us->ep, &allocated, &span));
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, us->ep);
	for (uint64_t i = 0; i < 5; i++) {
		DAT_EVENT event = t_wait_for(us->recv_evd, DAT_DTO_COMPLETION_EVENT);
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		ck_assert_uint_eq(dto->user_cookie.as_64, i);
		ck_assert(dto->status == DAT_DTO_ERR_FLUSHED ||
			  (i == 0 && dto->status == DAT_DTO_SUCCESS));
	}
	t_no_event(us->recv_evd);
	ck_assert(allocated == 5 || allocated == 4);
	ck_assert_int_eq(span, allocated);
	t_pair_close(&pair);
}
END_TEST

/* A thread that queries until it is stopped. It returns a description of a wrong result. */
struct asker {
	DAT_EP_HANDLE ep;
	_Atomic bool stop;
	_Atomic unsigned int answers;
};

static void *ask_for_receives(void *arg)
{
	struct asker *asker = arg;

	while (!asker->stop) {
		DAT_COUNT allocated = -77, span = -77;

		if (dat_ep_recv_query(asker->ep, &allocated, &span) != DAT_SUCCESS)
			return "the query failed";
		asker->answers++;
		if (allocated != span || span < 0 || span > 8)
			return "the numbers are not of one moment";
	}
	return NULL;
}

START_TEST(EP_174_both_numbers_are_taken_at_the_same_time)
{
	/* EP-182 EP-185 EP-187: in order and without an SRQ they are the same at all times */
	struct t_pair pair;
	struct t_end *us = &pair.end[0], *peer = &pair.end[1];
	struct asker asker = {0};
	pthread_t thread;
	void *fault;

	t_pair_open(&pair, NULL);
	asker.ep = us->ep;
	ck_assert_int_eq(pthread_create(&thread, NULL, ask_for_receives, &asker), 0);
	for (uint64_t round = 0; round < 300 || asker.answers < 300; round++) {
		for (uint64_t i = 0; i < 8; i++)
			t_ok(t_recv(us, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		for (uint64_t i = 0; i < 7; i++)
			t_ok(t_send(peer, 0, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
		/* Sends may still occupy the request queue after they arrived. */
		t_ok(t_send(peer, 0, 64, 7, DAT_COMPLETION_DEFAULT_FLAG));
		for (uint64_t i = 0; i < 8; i++)
			t_wait_dto(us->recv_evd, us->ep, i, DAT_DTO_SUCCESS, 64);
		t_wait_dto(peer->request_evd, peer->ep, 7, DAT_DTO_SUCCESS, 64);
	}
	asker.stop = true;
	ck_assert_int_eq(pthread_join(thread, &fault), 0);
	ck_assert_msg(!fault, "%s", (const char *)fault);
	t_pair_close(&pair);
}
END_TEST

/* --- suite --- */

static void add_life(Suite *suite)
{
	TCase *tcase = conform_case(suite, "ep-life");

	tcase_add_test(tcase, EP_001_002_new_ep_is_unconnected_and_idle);
	tcase_add_test(tcase, EP_003_attributes_are_at_least_what_was_asked);
	tcase_add_loop_test(tcase, EP_004_create_refuses_attributes_above_the_limits, 0, LIMITS);
	tcase_add_test(tcase, EP_004_create_refuses_negative_numbers);
	tcase_add_test(tcase, EP_005_create_refuses_other_services);
	tcase_add_test(tcase, EP_006_007_create_refuses_bad_completion_flags);
	tcase_add_test(tcase, EP_007_create_takes_good_completion_flags);
	tcase_add_test(tcase, EP_008_009_streams_of_one_evd_may_differ_in_flags);
	tcase_add_test(tcase, EP_010_012_013_014_create_without_pz_or_evds);
	tcase_add_test(tcase, EP_011_015_016_020_create_refuses_wrong_handles);
	tcase_add_test(tcase, EP_017_bind_on_an_evd_without_the_bind_stream);
	tcase_add_test(tcase, EP_018_one_evd_for_everything);
	tcase_add_test(tcase, EP_019_create_refuses_bad_arguments);
	tcase_add_test(tcase, EP_022_071_145_evds_and_pz_are_in_use_until_freed_or_replaced);
	tcase_add_test(tcase, EP_023_number_of_eps_is_limited);
	tcase_add_loop_test(tcase, EP_021_074_failure_for_lack_of_memory_changes_nothing, 0, 2);
	tcase_add_test(tcase, EP_021_as_many_eps_as_the_attribute_says);
	tcase_add_test(tcase, EP_025_connection_without_reads);
	tcase_add_test(tcase, EP_045_049_query_returns_all_fields);
	tcase_add_test(tcase, EP_051_052_query_refuses_bad_arguments);
}

static void add_modify(Suite *suite)
{
	TCase *tcase = conform_case(suite, "ep-modify");

	tcase_add_test(tcase, EP_050_068_modify_changes_what_the_mask_names);
	tcase_add_loop_test(tcase, EP_059_receives_of_another_pz_fail_when_used, 0, 2);
	tcase_add_test(tcase, EP_059_receives_work_again_with_their_own_pz);
	tcase_add_test(tcase, EP_064_modify_checks_the_streams);
	tcase_add_loop_test(tcase, EP_065_modify_refuses_attributes_above_the_limits, 0, LIMITS);
	tcase_add_test(tcase, EP_066_queue_does_not_shrink_below_what_is_posted);
	tcase_add_test(tcase, EP_061_posted_receives_keep_their_segments);
	tcase_add_test(tcase, EP_067_modify_is_all_or_nothing);
	tcase_add_test(tcase, EP_065_modify_of_an_EP_without_EVDs);
	tcase_add_test(tcase, EP_069_070_075_modify_refuses_bad_arguments);
	tcase_add_test(tcase, EP_072_receives_complete_on_the_evd_set_last);
}

static void add_connecting(Suite *suite)
{
	TCase *tcase = conform_case(suite, "ep-connect");

	tcase_add_test(tcase, EP_076_100_connect_returns_before_the_answer);
	tcase_add_test(tcase, EP_088_connect_refuses_a_foreign_address_family);
	tcase_add_test(tcase, EP_093_094_095_096_quality_of_service_and_flags);
	tcase_add_test(tcase, EP_097_connect_without_memory_fails);
	tcase_add_test(tcase, EP_098_local_port_is_shown_to_the_peer);
	tcase_add_test(tcase, EP_102_ia_connects_to_itself);
	tcase_add_test(tcase, EP_103_108_131_147_157_165_183_197_calls_refuse_other_handles);
	tcase_add_test(tcase, EP_110_dup_connect_stays_within_an_ia);
	tcase_add_test(tcase, EP_113_dup_connect_of_a_passive_ep_is_refused);
	tcase_add_test(tcase, EP_118_graceful_with_nothing_outstanding);
	tcase_add_test(tcase, EP_120_messages_arrive_while_disconnecting);
	tcase_add_test(tcase, EP_142_peer_of_a_freed_ep_gets_an_event);
	tcase_add_test(tcase, EP_154_reset_keeps_the_configuration);
	tcase_add_test(tcase, EP_156_no_late_event_of_an_old_connection);
	tcase_add_test(tcase, EP_159_160_161_162_idle_flags_are_true_or_false);
	tcase_add_test(tcase, EP_166_176_181_186_187_recv_query_counts_what_is_posted);
	tcase_add_test(tcase, EP_168_169_recv_query_tells_how_many_receives_will_succeed);
	tcase_add_test(tcase, EP_177_counted_receives_complete);
	tcase_add_test(tcase, EP_174_both_numbers_are_taken_at_the_same_time);
}

Suite *conform_ep(void)
{
	Suite *suite = suite_create("ep");

	add_life(suite);
	add_modify(suite);
	add_connecting(suite);
	return suite;
}
