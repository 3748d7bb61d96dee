/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection requests: query, accept, reject, handoff, and connectors that have gone. */
#include <arpa/inet.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "conform.h"

/* Every case has a listener, an EP that connects and an EP that accepts. */
static struct t_listener listener;
static struct t_end active, passive;

static void open_ends(void)
{
	t_ia_open(&t_tia);
	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&active, &t_tia, NULL);
	t_end_new(&passive, &t_tia, NULL);
}

static void close_ia(void)
{
	t_ia_close(&t_tia);
}

static DAT_CR_HANDLE request(void)
{
	t_ok(t_connect(active.ep, &listener));
	return t_next_cr(&listener);
}

static DAT_CR_HANDLE request_data(const void *data, size_t size)
{
	t_ok(t_connect_data(active.ep, &t_tia, listener.qual, T_LIMIT_US, data, size));
	return t_next_cr(&listener);
}

static DAT_CR_PARAM query(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	return param;
}

static DAT_RETURN accept_data(DAT_CR_HANDLE cr, const void *data, DAT_COUNT size)
{
	return dat_cr_accept(cr, passive.ep, size, (DAT_PVOID)(uintptr_t)data);
}

/* Waits for the event of the connecting side. */
static DAT_CONNECTION_EVENT_DATA active_gets(DAT_EVENT_NUMBER number)
{
	return t_wait_conn(active.connect_evd, number, active.ep).event_data.connect_event_data;
}

static DAT_CONNECTION_EVENT_DATA passive_gets(DAT_EVENT_NUMBER number)
{
	return t_wait_conn(passive.connect_evd, number, passive.ep).event_data.connect_event_data;
}

static void is_established(void)
{
	active_gets(DAT_CONNECTION_EVENT_ESTABLISHED);
	passive_gets(DAT_CONNECTION_EVENT_ESTABLISHED);
	ck_assert_int_eq(t_ep_state(active.ep), DAT_EP_STATE_CONNECTED);
	ck_assert_int_eq(t_ep_state(passive.ep), DAT_EP_STATE_CONNECTED);
}

static void is_data(const DAT_CONNECTION_EVENT_DATA *event, const void *data, int size)
{
	ck_assert_int_eq(event->private_data_size, size);
	if (size)
		ck_assert_int_eq(memcmp(event->private_data, data, (size_t)size), 0);
}

static bool same_host(const DAT_SOCK_ADDR *a, const DAT_SOCK_ADDR *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
	return !memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
		       &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
		       sizeof(struct in6_addr));
}

/* --- query --- */

START_TEST(CR_001_007_query_returns_address_and_port_of_the_connector)
{
	DAT_CR_PARAM param = query(request());
	DAT_EP_PARAM ep_param;

	ck_assert_ptr_nonnull(param.remote_ia_address_ptr);
	ck_assert(same_host(param.remote_ia_address_ptr, t_tia.attr.ia_address_ptr));
	t_ok(dat_ep_query(active.ep, DAT_EP_FIELD_LOCAL_PORT_QUAL, &ep_param));
	ck_assert_uint_eq(param.remote_port_qual, ep_param.local_port_qual);
	ck_assert_ptr_null(param.local_ep_handle);
}
END_TEST

START_TEST(CR_002_003_004_private_data_of_the_request)
{
	/* IA-049 EVD-072 EPS-110 EPS-115 */
	const int max = t_tia.provider.max_private_data_size;
	const int sizes[] = {0, 1, 7, 64, max - 1, max};
	unsigned char data[4096];
	DAT_CR_PARAM first, param;
	DAT_CR_HANDLE cr;

	ck_assert_int_ge(max, 64);
	ck_assert_int_lt(max, (int)sizeof(data));
	t_fill(data, sizeof(data), 250);
	cr = request_data(data, (size_t)sizes[_i]);
	first = query(cr);
	ck_assert_int_eq(first.private_data_size, sizes[_i]);
	t_ok(dat_psp_free(listener.psp));
	t_fill(data, sizeof(data), 1);
	param = query(cr);
	ck_assert_ptr_eq(param.private_data, first.private_data);
	ck_assert_ptr_eq(param.remote_ia_address_ptr, first.remote_ia_address_ptr);
	if (sizes[_i])
		ck_assert(t_is_filled(param.private_data, (size_t)sizes[_i], 250));
	ck_assert(same_host(first.remote_ia_address_ptr, t_tia.attr.ia_address_ptr));
	t_ok(t_cr_reject(cr));
}
END_TEST

START_TEST(CR_005_query_refuses_bad_arguments)
{
	DAT_CR_HANDLE cr = request();
	DAT_CR_PARAM param;

	t_ok(dat_cr_query(cr, (DAT_CR_PARAM_MASK)0x80000000u, &param));
	ck_assert_ptr_nonnull(param.remote_ia_address_ptr);
	t_bad_arg_of(dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL), 3);
}
END_TEST

/* --- accept --- */

START_TEST(CR_006_008_019_020_accept)
{
	DAT_CR_HANDLE cr = request();
	DAT_CONNECTION_EVENT_DATA event;
	DAT_CR_PARAM param;

	t_ok(t_cr_accept(cr, passive.ep));
	t_bad_handle_of(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), CR);
	t_bad_handle_of(t_cr_accept(cr, passive.ep), CR);
	t_bad_handle_of(t_cr_reject(cr), CR);
	event = active_gets(DAT_CONNECTION_EVENT_ESTABLISHED);
	is_data(&event, NULL, 0);
	event = passive_gets(DAT_CONNECTION_EVENT_ESTABLISHED);
	is_data(&event, NULL, 0);
	ck_assert_int_eq(t_ep_state(active.ep), DAT_EP_STATE_CONNECTED);
	ck_assert_int_eq(t_ep_state(passive.ep), DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(CR_018_019_020_private_data_of_the_accept)
{
	/* IA-049 EPS-110 EPS-113 */
	const int max = t_tia.provider.max_private_data_size;
	const int sizes[] = {0, 1, 7, 64, max - 1, max};
	unsigned char data[4096], copy[4096];
	DAT_CONNECTION_EVENT_DATA event;

	t_fill(data, sizeof(data), 9);
	memcpy(copy, data, sizeof(data));
	t_ok(accept_data(request_data("request", 7), data, sizes[_i]));
	memset(data, 0, sizeof(data));
	event = active_gets(DAT_CONNECTION_EVENT_ESTABLISHED);
	is_data(&event, copy, sizes[_i]);
	event = passive_gets(DAT_CONNECTION_EVENT_ESTABLISHED);
	is_data(&event, NULL, 0);
}
END_TEST

START_TEST(CR_010_011_016_017_failed_accept_changes_nothing)
{
	/* EVS-083 */
	const int max = t_tia.provider.max_private_data_size;
	DAT_CR_HANDLE cr = request_data("stays", 5);
	unsigned char data[4096] = {0};
	DAT_CR_PARAM param;

	t_bad_arg(accept_data(cr, data, -1));
	t_bad_arg(accept_data(cr, data, max + 1));
	t_bad_arg(accept_data(cr, NULL, 1));
	t_bad_handle_of(t_cr_accept(cr, DAT_HANDLE_NULL), EP);
	t_bad_handle_of(t_cr_accept(cr, t_tia.pz), EP);
	ck_assert_int_eq(t_ep_state(passive.ep), DAT_EP_STATE_UNCONNECTED);
	ck_assert_int_eq(t_ep_state(active.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	param = query(cr);
	ck_assert_int_eq(param.private_data_size, 5);
	ck_assert_int_eq(memcmp(param.private_data, "stays", 5), 0);
	t_no_event(active.connect_evd);
	t_ok(t_cr_accept(cr, passive.ep));
	is_established();
}
END_TEST

/* Returns the CR of an EP that the provider created, after setting its PZ and EVDs. */
static DAT_CR_HANDLE request_to_provider(struct t_listener *provider, DAT_EP_HANDLE *ep_p,
					 bool configure)
{
	DAT_EP_PARAM param = {0};
	DAT_CR_HANDLE cr;

	t_listen(provider, &t_tia, DAT_PSP_PROVIDER_FLAG);
	t_ok(t_connect(active.ep, provider));
	cr = t_next_cr(provider);
	*ep_p = query(cr).local_ep_handle;
	ck_assert_ptr_nonnull(*ep_p);
	param.pz_handle = t_tia.pz;
	param.recv_evd_handle = passive.recv_evd;
	param.request_evd_handle = passive.request_evd;
	param.connect_evd_handle = passive.connect_evd;
	if (configure)
		t_ok(dat_ep_modify(*ep_p,
				   DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
					   DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					   DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				   &param));
	return cr;
}

START_TEST(CR_009_010_request_with_its_own_endpoint)
{
	struct t_listener provider;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr = request_to_provider(&provider, &ep, true);

	t_bad_handle_of(t_cr_accept(cr, passive.ep), EP);
	t_bad_handle_of(t_cr_accept(cr, ep), EP);
	ck_assert_int_eq(t_ep_state(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	ck_assert_int_eq(t_ep_state(passive.ep), DAT_EP_STATE_UNCONNECTED);
	t_ok(t_cr_accept(cr, DAT_HANDLE_NULL));
	active_gets(DAT_CONNECTION_EVENT_ESTABLISHED);
	t_wait_conn(passive.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, ep);
}
END_TEST

START_TEST(CR_014_accept_refuses_an_endpoint_without_pz_or_evds)
{
	struct t_listener provider;
	DAT_EP_HANDLE bare, ep;
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr = request();

	t_ok(dat_ep_create(t_tia.ia, DAT_HANDLE_NULL, passive.recv_evd, passive.request_evd,
			   passive.connect_evd, NULL, &bare));
	t_error2(t_cr_accept(cr, bare), DAT_INVALID_STATE, DAT_INVALID_HANDLE);
	t_ok(dat_ep_create(t_tia.ia, t_tia.pz, passive.recv_evd, passive.request_evd,
			   DAT_HANDLE_NULL, NULL, &bare));
	t_error2(t_cr_accept(cr, bare), DAT_INVALID_STATE, DAT_INVALID_HANDLE);
	param.connect_evd_handle = passive.connect_evd;
	t_ok(dat_ep_modify(bare, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	t_ok(t_cr_accept(cr, bare));
	active_gets(DAT_CONNECTION_EVENT_ESTABLISHED);
	t_wait_conn(passive.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, bare);

	t_ok(dat_ep_free(active.ep));
	t_wait_conn(passive.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, bare);
	t_end_new(&active, &t_tia, NULL);
	cr = request_to_provider(&provider, &ep, false);
	t_error2(t_cr_accept(cr, DAT_HANDLE_NULL), DAT_INVALID_STATE, DAT_INVALID_HANDLE);
	t_ok(t_cr_reject(cr));
	active_gets(DAT_CONNECTION_EVENT_PEER_REJECTED);
}
END_TEST

START_TEST(CR_012_013_endpoint_that_cannot_accept)
{
	struct t_loop loop;
	struct t_ia other;
	struct t_end end;
	DAT_CR_HANDLE cr;

	t_loop_open(&loop, &t_tia, NULL);
	t_ia_open(&other);
	t_end_new(&end, &other, NULL);
	cr = request();
	t_bad_state(t_cr_accept(cr, active.ep));
	t_bad_state(t_cr_accept(cr, loop.end[0].ep));
	t_ok(dat_ep_disconnect(loop.end[1].ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(loop.end[1].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, loop.end[1].ep);
	t_bad_state(t_cr_accept(cr, loop.end[1].ep));
	t_error2(t_cr_accept(cr, end.ep), DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_UNCONNECTED);
	t_ia_close(&other);
	t_ok(t_cr_accept(cr, passive.ep));
	is_established();
}
END_TEST

START_TEST(CR_022_receives_posted_before_the_accept)
{
	for (uint64_t i = 0; i < 4; i++)
		t_ok(t_recv(&passive, i * 100, 100, i, 0));
	t_ok(t_cr_accept(request(), passive.ep));
	is_established();
	for (uint64_t i = 0; i < 4; i++) {
		t_fill(active.buf.mem, 50, (unsigned int)i);
		t_ok(t_send(&active, 0, 50, i, 0));
		t_wait_dto(active.request_evd, active.ep, i, DAT_DTO_SUCCESS, 50);
	}
	for (uint64_t i = 0; i < 4; i++) {
		t_wait_dto(passive.recv_evd, passive.ep, i, DAT_DTO_SUCCESS, 50);
		ck_assert(t_is_filled(passive.buf.mem + i * 100, 50, (unsigned int)i));
	}
}
END_TEST

START_TEST(CR_023_established_comes_before_the_first_completion)
{
	/* EVS-125 */
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 16, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_PARAM param = {.recv_evd_handle = evd, .connect_evd_handle = evd};
	DAT_EP_PARAM_MASK both = DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE;

	t_ok(dat_ep_modify(passive.ep, both, &param));
	for (int i = 0; i < 20; i++) {
		t_ok(t_recv(&passive, 0, 8, 1, 0));
		t_ok(t_cr_accept(request(), passive.ep));
		active_gets(DAT_CONNECTION_EVENT_ESTABLISHED);
		t_ok(t_send(&active, 0, 8, 2, 0));
		t_wait_dto(active.request_evd, active.ep, 2, DAT_DTO_SUCCESS, 8);
		t_wait_conn(evd, DAT_CONNECTION_EVENT_ESTABLISHED, passive.ep);
		t_wait_dto(evd, passive.ep, 1, DAT_DTO_SUCCESS, 8);
		t_ok(dat_ep_disconnect(active.ep, DAT_CLOSE_ABRUPT_FLAG));
		active_gets(DAT_CONNECTION_EVENT_DISCONNECTED);
		t_wait_conn(evd, DAT_CONNECTION_EVENT_DISCONNECTED, passive.ep);
		t_ok(dat_ep_reset(active.ep));
		t_ok(dat_ep_reset(passive.ep));
	}
}
END_TEST

struct race {
	pthread_t thread;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;
	atomic_int *start;
	DAT_RETURN ret;
};

static void *accept_at_once(void *arg)
{
	struct race *race = arg;

	(*race->start)++;
	while (*race->start < 2)
		;
	race->ret = t_cr_accept(race->cr, race->ep);
	return NULL;
}

START_TEST(CR_025_two_accepts_of_one_request)
{
	for (int round = 0; round < 10; round++) {
		DAT_CR_HANDLE cr = request();
		atomic_int start = 0;
		struct t_end second;
		struct race race[2];

		t_end_new(&second, &t_tia, NULL);
		for (int i = 0; i < 2; i++) {
			race[i] = (struct race){.cr = cr, .start = &start};
			race[i].ep = i ? second.ep : passive.ep;
			ck_assert_int_eq(pthread_create(&race[i].thread, NULL, accept_at_once,
							&race[i]),
					 0);
		}
		for (int i = 0; i < 2; i++)
			t_join(race[i].thread);
		ck_assert_int_ne(race[0].ret == DAT_SUCCESS, race[1].ret == DAT_SUCCESS);
		t_bad_handle_of(race[race[0].ret == DAT_SUCCESS].ret, CR);
		ck_assert_int_eq(t_ep_state(race[race[0].ret == DAT_SUCCESS].ep),
				 DAT_EP_STATE_UNCONNECTED);
		active_gets(DAT_CONNECTION_EVENT_ESTABLISHED);
		t_ok(dat_ep_disconnect(active.ep, DAT_CLOSE_ABRUPT_FLAG));
		active_gets(DAT_CONNECTION_EVENT_DISCONNECTED);
		t_ok(dat_ep_reset(active.ep));
		t_end_free(&second);
		t_ok(dat_ep_free(passive.ep));
		t_end_new(&passive, &t_tia, NULL);
	}
}
END_TEST

/* --- connectors that have gone --- */

/* The listening side learns that the connector has given up only when it accepts. */
static void accept_fails(DAT_CR_HANDLE cr)
{
	t_ok(t_recv(&passive, 0, 8, 7, 0));
	t_ok(t_cr_accept(cr, passive.ep));
	passive_gets(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	ck_assert_int_eq(t_ep_state(passive.ep), DAT_EP_STATE_DISCONNECTED);
	t_wait_dto(passive.recv_evd, passive.ep, 7, DAT_DTO_ERR_FLUSHED, 0);
	t_no_event(passive.connect_evd);
}

START_TEST(CR_021_042_connector_disconnects_before_the_accept)
{
	DAT_CR_HANDLE cr = request_data("gone", 4);

	t_ok(dat_ep_disconnect(active.ep, DAT_CLOSE_ABRUPT_FLAG));
	active_gets(DAT_CONNECTION_EVENT_DISCONNECTED);
	ck_assert_int_eq(query(cr).private_data_size, 4);
	accept_fails(cr);
}
END_TEST

START_TEST(CR_021_042_connector_times_out_before_the_accept)
{
	DAT_CR_HANDLE cr;

	t_ok(t_connect_data(active.ep, &t_tia, listener.qual, 300000, NULL, 0));
	cr = t_next_cr(&listener);
	active_gets(DAT_CONNECTION_EVENT_TIMED_OUT);
	query(cr);
	accept_fails(cr);
}
END_TEST

START_TEST(CR_026_no_resources_for_the_accept)
{
	/* CR-021; on a fabric whose connections need no descriptor, the accept succeeds */
	DAT_CR_HANDLE cr = request();
	struct rlimit limit, tight;
	DAT_EVENT event = {0};
	DAT_RETURN ret;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	tight = limit;
	tight.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
	ret = t_cr_accept(cr, passive.ep);
	if (ret == DAT_SUCCESS)
		event = t_wait(passive.connect_evd);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	if (ret != DAT_SUCCESS) {
		t_error(ret, DAT_INSUFFICIENT_RESOURCES);
		ck_assert_int_eq(t_ep_state(passive.ep), DAT_EP_STATE_UNCONNECTED);
		t_ok(t_cr_reject(cr));
	} else if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		ck_assert_int_eq(t_ep_state(passive.ep), DAT_EP_STATE_DISCONNECTED);
	}
	t_wait(active.connect_evd); /* the connector gets an event in any case */
	t_no_event(passive.connect_evd);
}
END_TEST

START_TEST(CR_021_034_connector_is_freed)
{
	DAT_CR_HANDLE cr = request();

	t_ok(dat_ep_free(active.ep));
	accept_fails(cr);
	t_end_new(&active, &t_tia, NULL);
	cr = request();
	t_ok(dat_ep_free(active.ep));
	t_ok(t_cr_reject(cr));
	t_stays_quiet(listener.evd);
}
END_TEST

START_TEST(CR_021_042_connector_closes_its_ia)
{
	DAT_CR_HANDLE cr;
	struct t_ia other;
	struct t_end end;

	t_ia_open(&other);
	t_end_new(&end, &other, NULL);
	t_ok(t_connect(end.ep, &listener));
	cr = t_next_cr(&listener);
	t_ia_close(&other);
	query(cr);
	accept_fails(cr);
}
END_TEST

START_TEST(CR_043_listener_closes_its_ia)
{
	DAT_EVENT_NUMBER number;
	struct t_listener other_listener;
	struct t_ia other;

	t_ia_open(&other);
	t_listen(&other_listener, &other, DAT_PSP_CONSUMER_FLAG);
	t_ok(t_connect(active.ep, &other_listener));
	if (_i)
		t_next_cr(&other_listener);
	t_ia_close(&other);
	number = t_wait(active.connect_evd).event_number;
	ck_assert_msg(number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
			      number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
			      number == DAT_CONNECTION_EVENT_UNREACHABLE,
		      "the connector gets %s", t_event_name(number));
	ck_assert_int_eq(t_ep_state(active.ep), DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* --- reject --- */

START_TEST(CR_027_032_033_035_reject)
{
	/* EPS-097 EPS-114 */
	DAT_CR_HANDLE cr = request_data("no", 2);
	DAT_CONNECTION_EVENT_DATA event;
	DAT_CR_PARAM param;

	t_ok(t_cr_reject(cr));
	t_bad_handle_of(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), CR);
	t_bad_handle_of(t_cr_reject(cr), CR);
	event = active_gets(DAT_CONNECTION_EVENT_PEER_REJECTED);
	is_data(&event, NULL, 0);
	t_no_event(listener.evd);
	t_no_event(passive.connect_evd);
	t_no_event(t_tia.async_evd);
	t_ok(dat_ep_reset(active.ep));
	t_ok(t_cr_accept(request(), passive.ep));
	is_established();
}
END_TEST

#if T_DAT_MAJOR == 2
START_TEST(CR_028_private_data_of_the_reject)
{
	/* IA-049 EPS-109 */
	const int max = t_tia.provider.max_private_data_size;
	const int sizes[] = {0, 1, 7, 64, max - 1, max};
	unsigned char data[4096], copy[4096];
	DAT_CONNECTION_EVENT_DATA event;

	t_fill(data, sizeof(data), 99);
	memcpy(copy, data, sizeof(data));
	t_ok(t_cr_reject_data(request(), data, (size_t)sizes[_i]));
	memset(data, 0, sizeof(data));
	event = active_gets(DAT_CONNECTION_EVENT_PEER_REJECTED);
	is_data(&event, copy, sizes[_i]);
}
END_TEST

START_TEST(CR_029_reject_refuses_bad_private_data)
{
	const int max = t_tia.provider.max_private_data_size;
	DAT_CR_HANDLE cr = request();
	unsigned char data[4096];

	t_bad_arg(dat_cr_reject(cr, -1, data));
	t_bad_arg(dat_cr_reject(cr, max + 1, data));
	t_bad_arg(dat_cr_reject(cr, 1, NULL));
	query(cr);
	t_no_event(active.connect_evd);
	t_ok(t_cr_accept(cr, passive.ep));
	is_established();
}
END_TEST
#endif

START_TEST(CR_030_038_provider_endpoint_goes_with_the_request)
{
	/* EPS-071 */
	struct t_listener provider;
	DAT_EP_STATE state;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr = request_to_provider(&provider, &ep, true);
	DAT_RETURN ret;

	t_ok(t_cr_reject(cr));
	active_gets(DAT_CONNECTION_EVENT_PEER_REJECTED);
	t_bad_handle_of(dat_ep_get_status(ep, &state, NULL, NULL), EP);
	t_ok(dat_ep_reset(active.ep));
	t_listener_free(&provider);
	cr = request_to_provider(&provider, &ep, true);
	ret = dat_cr_handoff(cr, listener.qual);
	if (ret != DAT_SUCCESS) {
		t_error2(ret, DAT_MODEL_NOT_SUPPORTED, DAT_NOT_IMPLEMENTED);
		t_skip("requests cannot be handed on");
	}
	t_bad_handle_of(dat_ep_get_status(ep, &state, NULL, NULL), EP);
	t_ok(t_cr_accept(t_next_cr(&listener), passive.ep));
	is_established();
}
END_TEST

START_TEST(CR_031_reserved_endpoint_keeps_its_receives)
{
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 4, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual = listener.qual;
	DAT_RSP_HANDLE rsp;
	DAT_EVENT event;

	t_listener_free(&listener);
	t_ok(t_recv(&passive, 0, 8, 5, 0));
	t_ok(dat_rsp_create(t_tia.ia, qual, passive.ep, evd, &rsp));
	t_ok(t_connect_data(active.ep, &t_tia, qual, T_LIMIT_US, NULL, 0));
	event = t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);
	t_ok(t_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
	active_gets(DAT_CONNECTION_EVENT_PEER_REJECTED);
	ck_assert_int_eq(t_ep_state(passive.ep), DAT_EP_STATE_UNCONNECTED);
	t_no_event(passive.recv_evd);
	t_ok(dat_rsp_free(rsp));
	t_ok(dat_ep_reset(active.ep));
	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_ok(t_cr_accept(request(), passive.ep));
	is_established();
	t_ok(t_send(&active, 0, 8, 6, 0));
	t_wait_dto(passive.recv_evd, passive.ep, 5, DAT_DTO_SUCCESS, 8);
}
END_TEST

/* --- handoff --- */

START_TEST(CR_036_039_handoff)
{
	struct t_listener target;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;

	t_listen(&target, &t_tia, DAT_PSP_CONSUMER_FLAG);
	cr = request_data("travels", 7);
	ret = dat_cr_handoff(cr, target.qual);
	if (ret != DAT_SUCCESS) {
		t_error2(ret, DAT_MODEL_NOT_SUPPORTED, DAT_NOT_IMPLEMENTED);
		t_skip("requests cannot be handed on");
	}
	t_bad_handle(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	t_no_event(listener.evd);
	cr = t_next_cr(&target);
	param = query(cr);
	ck_assert_int_eq(param.private_data_size, 7);
	ck_assert_int_eq(memcmp(param.private_data, "travels", 7), 0);
	ck_assert(same_host(param.remote_ia_address_ptr, t_tia.attr.ia_address_ptr));
	t_ok(t_cr_accept(cr, passive.ep));
	is_established();
}
END_TEST

START_TEST(CR_037_040_handoff_to_nobody)
{
	DAT_CR_HANDLE cr = request();
	struct t_listener gone;
	DAT_RETURN ret;

	t_listen(&gone, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_listener_free(&gone);
	t_error2(dat_cr_handoff(cr, 0), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
	query(cr);
	ret = dat_cr_handoff(cr, gone.qual);
	if (ret == DAT_SUCCESS) {
		active_gets(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		return;
	}
	t_error2(ret, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
	t_ok(t_cr_accept(cr, passive.ep));
	is_established();
}
END_TEST

START_TEST(CR_036_request_remains_if_the_target_has_no_room)
{
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 1, DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG);
	DAT_CR_HANDLE cr = request();
	DAT_CONN_QUAL target;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	DAT_RETURN ret;

	t_ok(dat_psp_create_any(t_tia.ia, &target, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	while ((ret = t_post_se(evd, NULL)) == DAT_SUCCESS)
		;
	t_error(ret, DAT_QUEUE_FULL);
	ret = dat_cr_handoff(cr, target);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED ||
	    DAT_GET_TYPE(ret) == DAT_NOT_IMPLEMENTED)
		t_skip("requests cannot be handed on");
	t_error(ret, DAT_INSUFFICIENT_RESOURCES);
	query(cr);
	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		ck_assert_int_eq(event.event_number, DAT_SOFTWARE_EVENT);
	t_ok(dat_cr_handoff(cr, target));
	event = t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);
	t_ok(t_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive.ep));
	is_established();
}
END_TEST

/* --- order --- */

START_TEST(CR_044_requests_come_in_the_order_of_arrival)
{
	/* EVS-130 */
	enum { N = 10 };
	struct t_end end[N];
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE none;

	t_ok(dat_evd_modify_cno(listener.evd, cno));
	for (unsigned char i = 0; i < N; i++) {
		t_end_new(&end[i], &t_tia, NULL);
		t_ok(t_connect_data(end[i].ep, &t_tia, listener.qual, T_LIMIT_US, &i, 1));
		t_ok(dat_cno_wait(cno, T_LIMIT_US, &none));
	}
	for (unsigned char i = 0; i < N; i++) {
		DAT_CR_HANDLE cr = t_next_cr(&listener);

		ck_assert_int_eq(*(unsigned char *)query(cr).private_data, i);
		t_ok(t_cr_reject(cr));
		t_wait_conn(end[i].connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, end[i].ep);
	}
}
END_TEST

static TCase *new_case(Suite *suite, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, open_ends, close_ia);
	suite_add_tcase(suite, tc);
	return tc;
}

Suite *conform_cr(void)
{
	Suite *suite = suite_create("cr");
	TCase *tc = new_case(suite, "cr_accept");

	tcase_add_test(tc, CR_001_007_query_returns_address_and_port_of_the_connector);
	tcase_add_loop_test(tc, CR_002_003_004_private_data_of_the_request, 0, 6);
	tcase_add_test(tc, CR_005_query_refuses_bad_arguments);
	tcase_add_test(tc, CR_006_008_019_020_accept);
	tcase_add_loop_test(tc, CR_018_019_020_private_data_of_the_accept, 0, 6);
	tcase_add_test(tc, CR_009_010_request_with_its_own_endpoint);
	tcase_add_test(tc, CR_010_011_016_017_failed_accept_changes_nothing);
	tcase_add_test(tc, CR_012_013_endpoint_that_cannot_accept);
	tcase_add_test(tc, CR_014_accept_refuses_an_endpoint_without_pz_or_evds);
	tcase_add_test(tc, CR_022_receives_posted_before_the_accept);
	tcase_add_test(tc, CR_023_established_comes_before_the_first_completion);
	tcase_add_test(tc, CR_025_two_accepts_of_one_request);

	tc = new_case(suite, "cr_gone");
	tcase_add_test(tc, CR_021_042_connector_disconnects_before_the_accept);
	tcase_add_test(tc, CR_021_042_connector_times_out_before_the_accept);
	tcase_add_test(tc, CR_026_no_resources_for_the_accept);
	tcase_add_test(tc, CR_021_034_connector_is_freed);
	tcase_add_test(tc, CR_021_042_connector_closes_its_ia);
	tcase_add_loop_test(tc, CR_043_listener_closes_its_ia, 0, 2);

	tc = new_case(suite, "cr_reject");
	tcase_add_test(tc, CR_027_032_033_035_reject);
#if T_DAT_MAJOR == 2
	tcase_add_loop_test(tc, CR_028_private_data_of_the_reject, 0, 6);
	tcase_add_test(tc, CR_029_reject_refuses_bad_private_data);
#endif
	tcase_add_test(tc, CR_030_038_provider_endpoint_goes_with_the_request);
	tcase_add_test(tc, CR_031_reserved_endpoint_keeps_its_receives);
	tcase_add_test(tc, CR_036_039_handoff);
	tcase_add_test(tc, CR_037_040_handoff_to_nobody);
	tcase_add_test(tc, CR_036_request_remains_if_the_target_has_no_room);
	tcase_add_test(tc, CR_044_requests_come_in_the_order_of_arrival);
	return suite;
}
