/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service points: PSP, RSP, CSP. conform_cr.c tests the requests. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

#define CONSUMER DAT_PSP_CONSUMER_FLAG
#define PROVIDER DAT_PSP_PROVIDER_FLAG

static DAT_EVD_HANDLE cr_evd(DAT_COUNT qlen)
{
	return t_evd(&t_tia, qlen, DAT_EVD_CR_FLAG);
}

static DAT_RETURN create_psp(DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd, unsigned int flags)
{
	DAT_PSP_HANDLE psp;

	return dat_psp_create(t_tia.ia, qual, evd, (DAT_PSP_FLAGS)flags, &psp);
}

/*
 * Returns a qualifier that no other process uses. A short one is a port, which another process, or
 * a connection of this one, may take at any time.
 */
static DAT_CONN_QUAL free_qual(void)
{
	static DAT_CONN_QUAL latest;

	/* A pid may take 22 bits. */
	return (DAT_CONN_QUAL)getpid() << 32 | ++latest << 16;
}

/* Expects this event of the attempt, and resets the EP. */
static void attempt_ends(struct t_end *end, DAT_EVENT_NUMBER number)
{
	t_wait_conn(end->connect_evd, number, end->ep);
	ck_assert_int_eq(t_ep_state(end->ep), DAT_EP_STATE_DISCONNECTED);
	t_ok(dat_ep_reset(end->ep));
}

static void is_refused(struct t_end *end, DAT_CONN_QUAL qual)
{
	t_ok(t_connect_data(end->ep, &t_tia, qual, T_LIMIT_US, NULL, 0));
	attempt_ends(end, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* Connects and disconnects both sides. */
static void connects(const struct t_listener *listener, struct t_end *active, struct t_end *passive)
{
	t_ok(t_connect(active->ep, listener));
	t_ok(t_cr_accept(t_next_cr(listener), passive->ep));
	t_wait_conn(active->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, active->ep);
	t_wait_conn(passive->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, passive->ep);
	t_ok(dat_ep_disconnect(active->ep, DAT_CLOSE_ABRUPT_FLAG));
	attempt_ends(active, DAT_CONNECTION_EVENT_DISCONNECTED);
	attempt_ends(passive, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* --- PSP --- */

START_TEST(PSP_001_002_013_psp_listens_when_create_returns)
{
	struct t_end active, passive;
	struct t_listener listener;

	t_end_new(&active, &t_tia, NULL);
	t_end_new(&passive, &t_tia, NULL);
	for (int i = 0; i < 10; i++) {
		t_listen(&listener, &t_tia, CONSUMER);
		for (int j = 0; j < 3; j++)
			connects(&listener, &active, &passive);
		t_listener_free(&listener);
	}
}
END_TEST

START_TEST(PSP_003_qualifier_of_another_service_point)
{
	/* RSP-006 */
	DAT_EVD_HANDLE evd = cr_evd(4), other_evd;
	struct t_listener listener;
	DAT_CONN_QUAL qual = free_qual();
	DAT_RSP_HANDLE rsp, second;
	DAT_PSP_HANDLE psp;
	struct t_end end[2];
	struct t_ia other;

	t_ia_open(&other);
	other_evd = t_evd(&other, 4, DAT_EVD_CR_FLAG);
	t_listen(&listener, &t_tia, CONSUMER);
	for (int i = 0; i < 2; i++)
		t_end_new(&end[i], &t_tia, NULL);
	t_ok(dat_rsp_create(t_tia.ia, qual, end[0].ep, evd, &rsp));
	t_error(create_psp(listener.qual, evd, CONSUMER), DAT_CONN_QUAL_IN_USE);
	t_error(create_psp(qual, evd, CONSUMER), DAT_CONN_QUAL_IN_USE);
	t_error(dat_psp_create(other.ia, listener.qual, other_evd, CONSUMER, &psp),
		DAT_CONN_QUAL_IN_USE);
	t_error(dat_psp_create(other.ia, qual, other_evd, CONSUMER, &psp), DAT_CONN_QUAL_IN_USE);
	t_error(dat_rsp_create(t_tia.ia, listener.qual, end[1].ep, evd, &second),
		DAT_CONN_QUAL_IN_USE);
	t_error(dat_rsp_create(t_tia.ia, qual, end[1].ep, evd, &second), DAT_CONN_QUAL_IN_USE);
	ck_assert_int_eq(t_ep_state(end[1].ep), DAT_EP_STATE_UNCONNECTED);
	t_ia_close(&other);
}
END_TEST

/* Qualifiers of more than 16 bits are unique on the host, as ports are. */
START_TEST(PSP_003_long_qualifiers)
{
	static const DAT_CONN_QUAL quals[] = {
		UINT64_C(0x10000) + T_DAT_MAJOR,
		UINT64_C(0xaffab1e0) + T_DAT_MAJOR,
		UINT64_C(0x123456789abcdef0) + T_DAT_MAJOR,
		UINT64_MAX - T_DAT_MAJOR,
	};
	struct t_listener listener = {.on = &t_tia};
	/* Several runs of the suite may be under way on the host. */
	DAT_CONN_QUAL qual = quals[_i] ^ (DAT_CONN_QUAL)(getpid() & 0x7fff) << 1;
	struct t_end active, passive;

	listener.qual = qual;
	listener.evd = cr_evd(4);
	t_end_new(&active, &t_tia, NULL);
	t_end_new(&passive, &t_tia, NULL);
	t_ok(dat_psp_create(t_tia.ia, qual, listener.evd, CONSUMER, &listener.psp));
	t_error(create_psp(qual, listener.evd, CONSUMER), DAT_CONN_QUAL_IN_USE);
	connects(&listener, &active, &passive);
	is_refused(&active, qual ^ UINT64_C(0x8000000000000000));
	t_ok(dat_psp_free(listener.psp));
	is_refused(&active, qual);
	t_ok(dat_psp_create(t_tia.ia, qual, listener.evd, CONSUMER, &listener.psp));
	connects(&listener, &active, &passive);
}
END_TEST

START_TEST(PSP_003_qualifier_of_another_process)
{
	int up[2], down[2], status;
	struct t_listener listener;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	pid_t child;
	char byte;

	ck_assert_int_eq(pipe(up), 0);
	ck_assert_int_eq(pipe(down), 0);
	child = fork(); /* no IA is open yet */
	ck_assert_int_ge(child, 0);
	if (!child) {
		close(down[1]);
		t_ia_open(&t_tia);
		t_listen(&listener, &t_tia, CONSUMER);
		if (write(up[1], &listener.qual, sizeof(qual)) != sizeof(qual))
			_exit(1);
		_exit(read(down[0], &byte, 1) != 0);
	}
	t_ia_open(&t_tia);
	ck_assert_int_eq(read(up[0], &qual, sizeof(qual)), sizeof(qual));
	evd = cr_evd(4);
	t_error(create_psp(qual, evd, CONSUMER), DAT_CONN_QUAL_IN_USE);
	close(down[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	t_ok(create_psp(qual, evd, CONSUMER));
	t_ia_close(&t_tia);
}
END_TEST

START_TEST(PSP_004_005_008_009_025_create_refuses_bad_arguments)
{
	DAT_EVD_HANDLE evd = cr_evd(4), other = t_evd(&t_tia, 4, DAT_EVD_DTO_FLAG);
	DAT_CONN_QUAL qual = free_qual();
	DAT_PSP_HANDLE psp;

	t_bad_arg_of(create_psp(0, evd, CONSUMER), 2); /* all others are valid */
	t_bad_arg(create_psp(qual, evd, 2));
	t_bad_arg(create_psp(qual, evd, 0x80000000u));
	t_bad_handle_of(create_psp(qual, other, CONSUMER), EVD_CR);
	t_bad_arg_of(dat_psp_create(t_tia.ia, qual, evd, CONSUMER, NULL), 5);
	t_bad_arg_of(dat_psp_create_any(t_tia.ia, NULL, evd, CONSUMER, &psp), 2);
	t_bad_arg(dat_psp_create_any(t_tia.ia, &qual, evd, (DAT_PSP_FLAGS)2, &psp));
	t_bad_arg_of(dat_psp_create_any(t_tia.ia, &qual, evd, CONSUMER, NULL), 5);
	t_bad_handle_of(dat_psp_create_any(t_tia.ia, &qual, other, CONSUMER, &psp), EVD_CR);
	t_ok(dat_evd_free(evd));
	t_bad_handle_of(create_psp(qual, evd, CONSUMER), EVD_CR);
}
END_TEST

START_TEST(PSP_006_017_018_provider_makes_the_endpoint)
{
	/* IA-057 */
	DAT_EVD_HANDLE evd = cr_evd(4);
	DAT_CONN_QUAL qual = free_qual();
	DAT_RETURN ret = create_psp(qual, evd, PROVIDER);
	DAT_CR_PARAM cr_param;
	DAT_EP_PARAM ep_param;
	struct t_end active;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	if (t_tia.provider.ep_creator == DAT_PSP_CREATES_EP_NEVER) {
		t_unsupported(ret);
		t_skip("the provider makes no endpoints");
	}
	t_ok(ret);
	if (t_tia.provider.ep_creator == DAT_PSP_CREATES_EP_IFASKED)
		t_ok(create_psp(free_qual(), evd, CONSUMER));
	t_end_new(&active, &t_tia, NULL);
	t_ok(t_connect_data(active.ep, &t_tia, qual, T_LIMIT_US, NULL, 0));
	event = t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	ep = cr_param.local_ep_handle;
	ck_assert_ptr_nonnull(ep);
	t_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &ep_param));
	ck_assert_int_eq(ep_param.ep_state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	ck_assert_ptr_null(ep_param.pz_handle);
	ck_assert_ptr_null(ep_param.recv_evd_handle);
	ck_assert_ptr_null(ep_param.request_evd_handle);
	ck_assert_ptr_null(ep_param.connect_evd_handle);
	t_error2(t_cr_accept(cr, DAT_HANDLE_NULL), DAT_INVALID_STATE, DAT_INVALID_HANDLE);
	ep_param.pz_handle = t_tia.pz;
	ep_param.recv_evd_handle = active.recv_evd;
	ep_param.request_evd_handle = active.request_evd;
	ep_param.connect_evd_handle = t_evd(&t_tia, 4, DAT_EVD_CONNECTION_FLAG);
	t_ok(dat_ep_modify(ep,
			   DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				   DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				   DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			   &ep_param));
	t_ok(t_cr_accept(cr, DAT_HANDLE_NULL));
	t_wait_conn(active.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, active.ep);
	t_wait_conn(ep_param.connect_evd_handle, DAT_CONNECTION_EVENT_ESTABLISHED, ep);
	t_ok(dat_ep_free(ep));
}
END_TEST

START_TEST(PSP_011_012_016_event_names_the_service_point_of_the_request)
{
	/* IA-050 */
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	struct t_listener listener;
	DAT_CR_PARAM param;
	struct t_end active;
	DAT_EVENT event;

	t_listen(&listener, &t_tia, CONSUMER);
	t_end_new(&active, &t_tia, NULL);
	t_ok(t_connect_data(active.ep, &t_tia, listener.qual, T_LIMIT_US, "hello", 5));
	event = t_wait_for(listener.evd, DAT_CONNECTION_REQUEST_EVENT);
	arrival = &event.event_data.cr_arrival_event_data;
	ck_assert_ptr_eq(arrival->sp_handle.psp_handle, listener.psp);
	ck_assert_uint_eq(arrival->conn_qual, listener.qual);
	ck_assert_ptr_nonnull(arrival->local_ia_address_ptr);
	ck_assert_int_eq(arrival->local_ia_address_ptr->sa_family,
			 t_tia.attr.ia_address_ptr->sa_family);
#if T_DAT_MAJOR == 2
	ck_assert_int_eq(arrival->truncate_flag, DAT_FALSE);
#endif
	t_ok(dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &param));
	ck_assert_ptr_null(param.local_ep_handle);
	t_stays_quiet(listener.evd);
	t_ok(t_cr_reject(arrival->cr_handle));
}
END_TEST

START_TEST(PSP_014_backlog_is_the_length_of_the_evd)
{
	/* EVS-089 */
	DAT_EVD_HANDLE evd = cr_evd(2);
	struct t_end end[8];
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVD_PARAM param;
	int room;

	t_ok(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
	room = param.evd_qlen;
	ck_assert_int_lt(room, 8);
	t_ok(dat_psp_create_any(t_tia.ia, &qual, evd, CONSUMER, &psp));
	for (int i = 0; i < room; i++) {
		DAT_EVD_HANDLE none;
		DAT_CNO_HANDLE cno = t_cno(&t_tia);

		/* A wait on the CNO leaves the event in the EVD. */
		t_ok(dat_evd_modify_cno(evd, cno));
		t_end_new(&end[i], &t_tia, NULL);
		t_ok(t_connect_data(end[i].ep, &t_tia, qual, T_LIMIT_US, NULL, 0));
		t_ok(dat_cno_wait(cno, T_LIMIT_US, &none));
	}
	t_end_new(&end[room], &t_tia, NULL);
	is_refused(&end[room], qual);
	t_no_event(t_tia.async_evd);
	for (int i = 0; i < room; i++) {
		DAT_EVENT event = t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);

		t_ok(t_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
		attempt_ends(&end[i], DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
	t_no_event(evd);
	t_ok(t_connect_data(end[0].ep, &t_tia, qual, T_LIMIT_US, NULL, 0));
	t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);
}
END_TEST

START_TEST(PSP_015_psps_may_share_an_evd)
{
	enum { N = 3 };
	DAT_EVD_HANDLE evd = cr_evd(8);
	DAT_CONN_QUAL qual[N];
	DAT_PSP_HANDLE psp[N];
	struct t_end end;

	t_end_new(&end, &t_tia, NULL);
	for (int i = 0; i < N; i++)
		t_ok(dat_psp_create_any(t_tia.ia, &qual[i], evd, CONSUMER, &psp[i]));
	for (int i = N - 1; i >= 0; i--) {
		const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
		DAT_EVENT event;

		t_ok(t_connect_data(end.ep, &t_tia, qual[i], T_LIMIT_US, NULL, 0));
		event = t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);
		arrival = &event.event_data.cr_arrival_event_data;
		ck_assert_ptr_eq(arrival->sp_handle.psp_handle, psp[i]);
		ck_assert_uint_eq(arrival->conn_qual, qual[i]);
		t_ok(t_cr_reject(arrival->cr_handle));
		attempt_ends(&end, DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
}
END_TEST

struct creation {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual[20];
	DAT_RETURN ret;
};

static void *create_many(void *arg)
{
	struct creation *creation = arg;
	DAT_PSP_HANDLE psp;

	for (int i = 0; i < 20 && creation->ret == DAT_SUCCESS; i++)
		creation->ret = dat_psp_create_any(t_tia.ia, &creation->qual[i], creation->evd,
						   CONSUMER, &psp);
	return NULL;
}

START_TEST(PSP_020_021_022_any_qualifier_is_free_and_short)
{
	struct creation creation[2] = {0};
	DAT_CONN_QUAL all[40];

	for (int i = 0; i < 2; i++) {
		creation[i].evd = cr_evd(4);
		ck_assert_int_eq(pthread_create(&creation[i].thread, NULL, create_many,
						&creation[i]),
				 0);
	}
	for (int i = 0; i < 2; i++) {
		t_join(creation[i].thread);
		t_ok(creation[i].ret);
		memcpy(&all[i * 20], creation[i].qual, sizeof(creation[i].qual));
	}
	for (int i = 0; i < 40; i++) {
		ck_assert_uint_ge(all[i], 1024);
		ck_assert_uint_le(all[i], 65535);
		for (int j = 0; j < i; j++)
			ck_assert_uint_ne(all[i], all[j]);
	}
}
END_TEST

/* Moves to a network namespace with few ephemeral ports. False if that is not possible. */
static bool few_ports(int first, int last)
{
	FILE *file = t_own_network() ? fopen("/proc/sys/net/ipv4/ip_local_port_range", "w") : NULL;

	if (!file)
		return false;
	fprintf(file, "%d %d\n", first, last);
	return !fclose(file);
}

START_TEST(PSP_023_no_qualifier_is_left)
{
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;
	int n = 0;

	if (getenv("T_IA") || !few_ports(50000, 50015))
		t_skip("needs tcp in a network of its own, which root has");
	t_ia_open(&t_tia);
	evd = cr_evd(4);
	do
		ret = dat_psp_create_any(t_tia.ia, &qual, evd, CONSUMER, &psp);
	while (ret == DAT_SUCCESS && ++n < 50);
	t_error(ret, DAT_CONN_QUAL_UNAVAILABLE);
	ck_assert_int_gt(n, 0);
	ck_assert_int_le(n, 16);
	t_ia_close(&t_tia);
}
END_TEST

START_TEST(PSP_026_027_028_query)
{
	/* IA-021 */
	struct t_listener listener;
	DAT_PSP_PARAM param;

	for (int flags = 0; flags < 2; flags++) {
		t_listen(&listener, &t_tia, (DAT_PSP_FLAGS)flags);
		t_ok(dat_psp_query(listener.psp, DAT_PSP_FIELD_ALL, &param));
		ck_assert_ptr_eq(param.ia_handle, t_tia.ia);
		ck_assert_uint_eq(param.conn_qual, listener.qual);
		ck_assert_ptr_eq(param.evd_handle, listener.evd);
		ck_assert_int_eq(param.psp_flags, flags);
	}
	t_ok(dat_psp_query(listener.psp, (DAT_PSP_PARAM_MASK)0x80000000u, &param));
	t_bad_arg_of(dat_psp_query(listener.psp, DAT_PSP_FIELD_ALL, NULL), 3);
}
END_TEST

START_TEST(PSP_030_031_033_034_free_ends_the_service_only)
{
	struct t_end active[3], passive[2];
	struct t_listener listener;
	DAT_CR_HANDLE cr[2];
	DAT_CONN_QUAL qual;

	t_listen(&listener, &t_tia, CONSUMER);
	for (int i = 0; i < 3; i++)
		t_end_new(&active[i], &t_tia, NULL);
	for (int i = 0; i < 2; i++)
		t_end_new(&passive[i], &t_tia, NULL);
	t_establish(&listener, &active[0], &passive[0]);
	for (int i = 1; i < 3; i++) {
		t_ok(t_connect(active[i].ep, &listener));
		cr[i - 1] = t_next_cr(&listener);
	}
	qual = listener.qual;
	t_listener_free(&listener);

	t_ok(t_cr_accept(cr[0], passive[1].ep));
	t_wait_conn(active[1].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, active[1].ep);
	t_ok(t_cr_reject(cr[1]));
	attempt_ends(&active[2], DAT_CONNECTION_EVENT_PEER_REJECTED);
	is_refused(&active[2], qual);
	t_ok(create_psp(qual, cr_evd(4), CONSUMER));
	t_ok(t_recv(&passive[0], 0, 8, 1, 0));
	t_ok(t_send(&active[0], 0, 8, 2, 0));
	t_wait_dto(passive[0].recv_evd, passive[0].ep, 1, DAT_DTO_SUCCESS, 8);
}
END_TEST

START_TEST(PSP_031_queued_events_remain)
{
	struct t_listener listener;
	struct t_end active, passive;
	DAT_EVD_HANDLE none;
	DAT_CNO_HANDLE cno = t_cno(&t_tia);

	t_listen(&listener, &t_tia, CONSUMER);
	t_end_new(&active, &t_tia, NULL);
	t_end_new(&passive, &t_tia, NULL);
	t_ok(dat_evd_modify_cno(listener.evd, cno));
	t_ok(t_connect(active.ep, &listener));
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &none));
	t_ok(dat_psp_free(listener.psp));
	t_ok(t_cr_accept(t_next_cr(&listener), passive.ep));
	t_wait_conn(active.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, active.ep);
}
END_TEST

START_TEST(PSP_032_request_during_the_free)
{
	struct t_end active;

	t_end_new(&active, &t_tia, NULL);
	for (int i = 0; i < 40; i++) {
		struct t_listener listener;
		DAT_EVENT event;
		bool delivered, refused;

		t_listen(&listener, &t_tia, CONSUMER);
		t_ok(t_connect(active.ep, &listener));
		if (i & 1) /* give the request some time */
			dat_evd_dequeue(active.connect_evd, &event);
		t_ok(dat_psp_free(listener.psp));
		t_until((delivered = dat_evd_dequeue(listener.evd, &event) == DAT_SUCCESS) ||
			(refused = dat_evd_dequeue(active.connect_evd, &event) == DAT_SUCCESS));
		if (delivered) {
			t_ok(t_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
			attempt_ends(&active, DAT_CONNECTION_EVENT_PEER_REJECTED);
		} else {
			ck_assert(refused);
			ck_assert_int_eq(event.event_number,
					 DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
			t_ok(dat_ep_reset(active.ep));
		}
		t_ok(dat_evd_free(listener.evd));
	}
}
END_TEST

/* --- no descriptors --- */

START_TEST(PSP_010_no_descriptors_are_left)
{
	/* RSP-008 */
	DAT_EVD_HANDLE evd = cr_evd(4);
	DAT_CONN_QUAL qual = free_qual(), any;
	struct rlimit limit, tight;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	struct t_end end;

	t_end_new(&end, &t_tia, NULL);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	tight = limit;
	tight.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
	t_error(create_psp(qual, evd, CONSUMER), DAT_INSUFFICIENT_RESOURCES);
	t_error(dat_psp_create_any(t_tia.ia, &any, evd, CONSUMER, &psp),
		DAT_INSUFFICIENT_RESOURCES);
	t_error(dat_rsp_create(t_tia.ia, qual, end.ep, evd, &rsp), DAT_INSUFFICIENT_RESOURCES);
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_UNCONNECTED);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	t_ok(dat_evd_free(evd));
	evd = cr_evd(4);
	t_ok(create_psp(qual, evd, CONSUMER));
}
END_TEST

/* --- RSP --- */

struct reserved {
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	DAT_RSP_HANDLE rsp;
	struct t_end end;
};

static void reserve(struct reserved *reserved)
{
	reserved->qual = free_qual();
	reserved->evd = cr_evd(4);
	t_end_new(&reserved->end, &t_tia, NULL);
	t_ok(dat_rsp_create(t_tia.ia, reserved->qual, reserved->end.ep, reserved->evd,
			    &reserved->rsp));
	ck_assert_int_eq(t_ep_state(reserved->end.ep), DAT_EP_STATE_RESERVED);
}

/* Returns the CR of a request by this EP. */
static DAT_CR_HANDLE requested(struct reserved *reserved, struct t_end *active)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_EVENT event;

	t_ok(t_connect_data(active->ep, &t_tia, reserved->qual, T_LIMIT_US, NULL, 0));
	event = t_wait_for(reserved->evd, DAT_CONNECTION_REQUEST_EVENT);
	arrival = &event.event_data.cr_arrival_event_data;
	ck_assert_ptr_eq(arrival->sp_handle.rsp_handle, reserved->rsp);
	ck_assert_uint_eq(arrival->conn_qual, reserved->qual);
	return arrival->cr_handle;
}

START_TEST(RSP_001_009_010_011_014_one_request_for_the_reserved_endpoint)
{
	struct t_end active, late;
	struct reserved reserved;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	reserve(&reserved);
	t_end_new(&active, &t_tia, NULL);
	t_end_new(&late, &t_tia, NULL);
	cr = requested(&reserved, &active);
	ck_assert_int_eq(t_ep_state(reserved.end.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.local_ep_handle, reserved.end.ep);
	is_refused(&late, reserved.qual);
	t_no_event(reserved.evd);
	t_ok(t_cr_accept(cr, DAT_HANDLE_NULL));
	t_wait_conn(active.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, active.ep);
	t_wait_conn(reserved.end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, reserved.end.ep);
	is_refused(&late, reserved.qual);
	t_ok(dat_rsp_free(reserved.rsp));
	ck_assert_int_eq(t_ep_state(reserved.end.ep), DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(RSP_002_only_unconnected_endpoints_are_reserved)
{
	DAT_EVD_HANDLE evd = cr_evd(4);
	DAT_CONN_QUAL qual = free_qual();
	struct reserved reserved;
	DAT_RSP_HANDLE rsp;
	struct t_end active;
	struct t_loop loop;

	t_loop_open(&loop, &t_tia, NULL);
	t_end_new(&active, &t_tia, NULL);
	reserve(&reserved);
	t_bad_state(dat_rsp_create(t_tia.ia, qual, reserved.end.ep, evd, &rsp));
	requested(&reserved, &active);
	t_bad_state(dat_rsp_create(t_tia.ia, qual, reserved.end.ep, evd, &rsp));
	t_bad_state(dat_rsp_create(t_tia.ia, qual, active.ep, evd, &rsp));
	t_bad_state(dat_rsp_create(t_tia.ia, qual, loop.end[0].ep, evd, &rsp));
	t_ok(dat_ep_disconnect(loop.end[0].ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(loop.end[0].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, loop.end[0].ep);
	t_bad_state(dat_rsp_create(t_tia.ia, qual, loop.end[0].ep, evd, &rsp));
	ck_assert_int_eq(t_ep_state(reserved.end.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	t_ok(create_psp(qual, evd, CONSUMER)); /* the qualifier is free */
}
END_TEST

START_TEST(RSP_004_005_007_create_refuses_bad_arguments)
{
	DAT_EVD_HANDLE evd = cr_evd(4), other = t_evd(&t_tia, 4, DAT_EVD_DTO_FLAG);
	DAT_CONN_QUAL qual = free_qual();
	DAT_RSP_HANDLE rsp;
	struct t_end end;

	t_end_new(&end, &t_tia, NULL);
	t_bad_handle_of(dat_rsp_create(t_tia.ia, qual, DAT_HANDLE_NULL, evd, &rsp), EP);
	t_bad_handle_of(dat_rsp_create(t_tia.ia, qual, end.ep, other, &rsp), EVD_CR);
	t_bad_handle_of(dat_rsp_create(t_tia.ia, qual, end.ep, DAT_HANDLE_NULL, &rsp), EVD_CR);
	t_bad_arg(dat_rsp_create(t_tia.ia, 0, end.ep, evd, &rsp)); /* all others are valid */
	t_bad_arg(dat_rsp_create(t_tia.ia, qual, end.ep, evd, NULL));
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_UNCONNECTED);
	t_ok(dat_rsp_create(t_tia.ia, qual, end.ep, evd, &rsp));
}
END_TEST

START_TEST(RSP_012_013_reject_and_handoff_give_the_endpoint_back)
{
	/* CR-031 CR-038 */
	struct reserved reserved;
	struct t_listener target;
	struct t_end active;
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;

	t_end_new(&active, &t_tia, NULL);
	t_listen(&target, &t_tia, CONSUMER);
	reserve(&reserved);
	t_ok(t_cr_reject(requested(&reserved, &active)));
	attempt_ends(&active, DAT_CONNECTION_EVENT_PEER_REJECTED);
	ck_assert_int_eq(t_ep_state(reserved.end.ep), DAT_EP_STATE_UNCONNECTED);
	t_ok(dat_rsp_free(reserved.rsp));

	reserve(&reserved);
	cr = requested(&reserved, &active);
	ret = dat_cr_handoff(cr, target.qual);
	if (ret != DAT_SUCCESS) {
		t_error2(ret, DAT_MODEL_NOT_SUPPORTED, DAT_NOT_IMPLEMENTED);
		t_skip("requests cannot be handed on");
	}
	ck_assert_int_eq(t_ep_state(reserved.end.ep), DAT_EP_STATE_UNCONNECTED);
	t_ok(t_cr_reject(t_next_cr(&target)));
}
END_TEST

START_TEST(RSP_015_016_query)
{
	/* IA-021 */
	struct reserved reserved;
	DAT_RSP_PARAM param;

	reserve(&reserved);
	t_ok(dat_rsp_query(reserved.rsp, DAT_RSP_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, t_tia.ia);
	ck_assert_uint_eq(param.conn_qual, reserved.qual);
	ck_assert_ptr_eq(param.evd_handle, reserved.evd);
	ck_assert_ptr_eq(param.ep_handle, reserved.end.ep);
	t_ok(dat_rsp_query(reserved.rsp, (DAT_RSP_PARAM_MASK)0x80000000u, &param));
	t_bad_arg_of(dat_rsp_query(reserved.rsp, DAT_RSP_FIELD_ALL, NULL), 3);
}
END_TEST

START_TEST(RSP_018_019_free_before_and_after_the_request)
{
	struct reserved reserved;
	struct t_end active;
	DAT_CR_HANDLE cr;

	t_end_new(&active, &t_tia, NULL);
	reserve(&reserved);
	t_ok(dat_rsp_free(reserved.rsp));
	ck_assert_int_eq(t_ep_state(reserved.end.ep), DAT_EP_STATE_UNCONNECTED);
	is_refused(&active, reserved.qual);
	t_ok(dat_rsp_create(t_tia.ia, reserved.qual, reserved.end.ep, reserved.evd, &reserved.rsp));
	cr = requested(&reserved, &active);
	t_ok(dat_rsp_free(reserved.rsp));
	ck_assert_int_eq(t_ep_state(reserved.end.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	t_ok(t_cr_accept(cr, DAT_HANDLE_NULL));
	t_wait_conn(active.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, active.ep);
}
END_TEST

START_TEST(RSP_020_request_during_the_free)
{
	struct reserved reserved;
	struct t_end active;

	t_end_new(&active, &t_tia, NULL);
	for (int i = 0; i < 40; i++) {
		bool delivered, refused;
		DAT_EVENT event;

		reserve(&reserved);
		t_ok(t_connect_data(active.ep, &t_tia, reserved.qual, T_LIMIT_US, NULL, 0));
		if (i & 1) /* give the request some time */
			dat_evd_dequeue(active.connect_evd, &event);
		t_ok(dat_rsp_free(reserved.rsp));
		t_until((delivered = dat_evd_dequeue(reserved.evd, &event) == DAT_SUCCESS) ||
			(refused = dat_evd_dequeue(active.connect_evd, &event) == DAT_SUCCESS));
		if (delivered) {
			ck_assert_int_eq(t_ep_state(reserved.end.ep),
					 DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
			t_ok(t_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
			attempt_ends(&active, DAT_CONNECTION_EVENT_PEER_REJECTED);
		} else {
			ck_assert(refused);
			ck_assert_int_eq(event.event_number,
					 DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
			t_ok(dat_ep_reset(active.ep));
		}
		ck_assert_int_eq(t_ep_state(reserved.end.ep), DAT_EP_STATE_UNCONNECTED);
		t_end_free(&reserved.end);
		t_ok(dat_evd_free(reserved.evd));
	}
}
END_TEST

/* --- CSP --- */

#if T_DAT_MAJOR == 2
START_TEST(CSP_001_002_003_common_service_points)
{
	DAT_COMM comm = {.domain = AF_INET, .type = SOCK_STREAM};
	DAT_EVD_HANDLE evd = cr_evd(4);
	DAT_CSP_HANDLE csp;
	DAT_CSP_PARAM param;

	t_unsupported(dat_csp_create(t_tia.ia, &comm, t_tia.attr.ia_address_ptr, evd, &csp));
	t_bad_handle(dat_csp_create(DAT_HANDLE_NULL, &comm, t_tia.attr.ia_address_ptr, evd, &csp));
	t_bad_handle_of(dat_csp_query(DAT_HANDLE_NULL, DAT_CSP_FIELD_ALL, &param), CSP);
	t_bad_handle_of(dat_csp_query(evd, DAT_CSP_FIELD_ALL, &param), CSP);
	t_bad_handle_of(dat_csp_free(DAT_HANDLE_NULL), CSP);
	t_bad_handle_of(dat_csp_free(evd), CSP);
}
END_TEST
#endif

static void add_rsp_tests(Suite *suite)
{
	TCase *tc = conform_case(suite, "rsp");

	tcase_add_test(tc, RSP_001_009_010_011_014_one_request_for_the_reserved_endpoint);
	tcase_add_test(tc, RSP_002_only_unconnected_endpoints_are_reserved);
	tcase_add_test(tc, RSP_004_005_007_create_refuses_bad_arguments);
	tcase_add_test(tc, RSP_012_013_reject_and_handoff_give_the_endpoint_back);
	tcase_add_test(tc, RSP_015_016_query);
	tcase_add_test(tc, RSP_018_019_free_before_and_after_the_request);
	tcase_add_test(tc, RSP_020_request_during_the_free);
#if T_DAT_MAJOR == 2
	tcase_add_test(tc, CSP_001_002_003_common_service_points);
#endif
}

Suite *conform_sp(void)
{
	Suite *suite = suite_create("sp");
	TCase *tc = conform_case(suite, "psp");

	tcase_add_test(tc, PSP_001_002_013_psp_listens_when_create_returns);
	tcase_add_test(tc, PSP_003_qualifier_of_another_service_point);
	tcase_add_loop_test(tc, PSP_003_long_qualifiers, 0, 4);
	tcase_add_test(tc, PSP_004_005_008_009_025_create_refuses_bad_arguments);
	tcase_add_test(tc, PSP_006_017_018_provider_makes_the_endpoint);
	tcase_add_test(tc, PSP_010_no_descriptors_are_left);
	tcase_add_test(tc, PSP_011_012_016_event_names_the_service_point_of_the_request);
	tcase_add_test(tc, PSP_014_backlog_is_the_length_of_the_evd);
	tcase_add_test(tc, PSP_015_psps_may_share_an_evd);
	tcase_add_test(tc, PSP_020_021_022_any_qualifier_is_free_and_short);
	tcase_add_test(tc, PSP_026_027_028_query);
	tcase_add_test(tc, PSP_030_031_033_034_free_ends_the_service_only);
	tcase_add_test(tc, PSP_031_queued_events_remain);
	tcase_add_test(tc, PSP_032_request_during_the_free);
	add_rsp_tests(suite);

	tc = tcase_create("psp_of_processes");
	tcase_add_test(tc, PSP_003_qualifier_of_another_process);
	tcase_add_test(tc, PSP_023_no_qualifier_is_left);
	suite_add_tcase(suite, tc);
	return suite;
}
