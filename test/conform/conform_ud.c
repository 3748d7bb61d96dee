/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams: EPs of the service type UD, of DAT 2.0's InfiniBand extensions. */
#include "conform.h"
#include "t_hooks.h"

#if T_DAT_MAJOR == 1

START_TEST(EP_005_datagrams_are_not_in_this_generation)
{
	DAT_EP_ATTR attr = t_default_attr(&t_tia);
	DAT_EVD_HANDLE evd = t_evd(&t_tia, 4, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_HANDLE ep;

	attr.service_type = (DAT_SERVICE_TYPE)1;
	attr.max_message_size = 0;
	t_bad_arg(dat_ep_create(t_tia.ia, t_tia.pz, evd, evd, evd, &attr, &ep));
	ck_assert_str_eq(t_named(&t_tia.provider, "DAT_IB_UD"), "FALSE");
	t_ok(dat_evd_free(evd));
}
END_TEST

Suite *conform_ud(void)
{
	Suite *suite = suite_create("ud");

	tcase_add_test(conform_case(suite, "ud"), EP_005_datagrams_are_not_in_this_generation);
	return suite;
}

#else

#include "t_ud.h"

#include <pthread.h>

#define NO_FLAGS  DAT_COMPLETION_DEFAULT_FLAG
#define COOKIE(n) ((DAT_DTO_COOKIE){.as_64 = (n)})

/*
 * Two IAs. If the fabric has datagrams, each has a UD EP and a listener.
 */
static struct t_ia ia[2];
static struct t_end end[2];
static struct t_listener listener[2];
static struct t_end *const us = &end[0], *const peer = &end[1];
static bool peer_is_open;

static bool is_offered(void)
{
	return t_ud_offered(&ia[0]);
}

#define NEEDS_UD                                               \
	do {                                                   \
		if (!is_offered())                             \
			t_skip("the fabric has no datagrams"); \
	} while (0)

static void open_ends(void)
{
	for (int i = 0; i < 2; i++)
		t_ia_open(&ia[i]);
	peer_is_open = true;
	for (int i = 0; i < 2 && is_offered(); i++) {
		t_ud_end_new(&end[i], &ia[i]);
		t_listen(&listener[i], &ia[i], DAT_PSP_CONSUMER_FLAG);
	}
}

static void close_ends(void)
{
	t_ia_close(&ia[0]);
	if (peer_is_open)
		t_ia_close(&ia[1]);
}

/* --- connections and datagrams --- */

struct ways {
	struct t_way active, passive; /* the address handles that these send by */
};

static struct ways establish(const struct t_end *active, const struct t_listener *at,
			     const struct t_end *passive)
{
	struct ways ways;

	t_ok(t_connect(active->ep, at));
	t_ok(dat_cr_accept(t_ud_next_cr(at), passive->ep, 4, "answ"));
	ways.active = t_ud_next_way(active, DAT_IB_UD_REMOTE_AH, "answ", 4);
	ways.passive = t_ud_next_way(passive, DAT_IB_UD_PASSIVE_REMOTE_AH, NULL, 0);
	return ways;
}

/* Sends a datagram, receives it and checks its content. */
static void pass(const struct t_end *from, struct t_way *by, const struct t_end *to, size_t length,
		 unsigned int seed)
{
	t_fill(from->buf.mem, length, seed);
	t_ok(t_recv(to, 1024, T_UD_HEADER + length, seed, NO_FLAGS));
	t_ok(t_ud_send(from, by, length, seed + 1, NO_FLAGS));
	t_ud_wait_sent(from, seed + 1, length);
	t_ud_wait_received(to, seed, length);
	ck_assert(t_is_filled(to->buf.mem + 1024 + T_UD_HEADER, length, seed));
}

static size_t mtu(void)
{
	return (size_t)atoi(t_named(&ia[0].provider, "DAT_IB_TRANSPORT_MTU"));
}

/* --- EPs --- */

START_TEST(UD_001_attribute_tells_whether_datagrams_exist)
{
	/* UD-002 */
	DAT_EP_ATTR attr = t_ud_attr(&ia[0]);
	DAT_EVD_HANDLE evd = t_evd(&ia[0], 4, DAT_EVD_DEFAULT_FLAG);
	bool rdm = !strcmp(t_named(&ia[0].provider, "DAT_OFI_TRANSPORT"), "rdm");
	DAT_EP_HANDLE ep;

	ck_assert(is_offered() == rdm);
	if (!is_offered()) {
		t_unsupported(dat_ep_create(ia[0].ia, ia[0].pz, evd, evd, evd, &attr, &ep));
		return;
	}
	t_ok(dat_ep_create(ia[0].ia, ia[0].pz, evd, evd, evd, &attr, &ep));
	ck_assert_int_eq((int)t_ep_attr(ep).service_type, DAT_IB_SERVICE_TYPE_UD);
	ck_assert_uint_eq(t_ep_attr(ep).max_message_size, mtu());
	t_ok(dat_ep_free(ep));
	attr.max_message_size = mtu();
	t_ok(dat_ep_create(ia[0].ia, ia[0].pz, evd, evd, evd, &attr, &ep));
	t_ok(dat_ep_free(ep));
	attr.max_message_size = mtu() + 1;
	t_bad_arg(dat_ep_create(ia[0].ia, ia[0].pz, evd, evd, evd, &attr, &ep));
}
END_TEST

START_TEST(UD_003_operations_of_connections_are_refused)
{
	DAT_SRQ_ATTR srq_attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_RMR_TRIPLET remote;
	DAT_EP_ATTR attr = t_ud_attr(&ia[0]);
	DAT_EP_HANDLE ep;
	DAT_RSP_HANDLE rsp;
	DAT_SRQ_HANDLE srq;
	DAT_EP_PARAM param = {.ep_attr.service_type = DAT_SERVICE_TYPE_RC};

	NEEDS_UD;
	remote = t_remote_seg(&peer->buf, 0, 8);
	establish(us, &listener[1], peer);
	t_bad_state(t_send(us, 0, 8, 1, NO_FLAGS));
	t_bad_state(t_write(us, 0, 8, 1, remote, NO_FLAGS));
	t_bad_state(t_read(us, 0, 8, 1, remote, NO_FLAGS));
	t_bad_state(dat_ep_disconnect(us->ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_unsupported(dat_rsp_create(ia[0].ia, 4711, us->ep, listener[0].evd, &rsp));
	t_ok(dat_srq_create(ia[0].ia, ia[0].pz, &srq_attr, &srq));
	t_unsupported(dat_ep_create_with_srq(ia[0].ia, ia[0].pz, us->recv_evd, us->request_evd,
					     us->connect_evd, srq, &attr, &ep));
	t_bad_arg(dat_ep_modify(us->ep, DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, &param));
	ck_assert_int_eq(t_ep_state(us->ep), DAT_EP_STATE_UNCONNECTED);
}
END_TEST

START_TEST(UD_003_attributes_change_between_datagrams)
{
	DAT_EP_PARAM param = {.ep_attr.max_recv_dtos = 200, .ep_attr.max_request_dtos = 200};
	struct ways ways;

	NEEDS_UD;
	ways = establish(us, &listener[1], peer);
	pass(us, &ways.active, peer, 100, 1);
	t_ok(t_recv(peer, 0, T_UD_HEADER + 8, 9, NO_FLAGS));
	t_ok(dat_ep_modify(peer->ep,
			   DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				   DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
			   &param));
	t_ok(t_ud_send(us, &ways.active, 8, 2, NO_FLAGS));
	t_ud_wait_received(peer, 9, 8);
}
END_TEST

/* --- connections --- */

START_TEST(UD_004_005_both_sides_get_an_address_handle)
{
	/* UD-006 */
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct t_way active, passive;

	NEEDS_UD;
	t_ok(t_connect_data(us->ep, &ia[1], listener[1].qual, T_LIMIT_US, "question", 8));
	cr = t_ud_next_cr(&listener[1]);
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_int_eq(param.private_data_size, 8);
	ck_assert_mem_eq(param.private_data, "question", 8);
	t_ok(dat_cr_accept(cr, peer->ep, 6, "answer"));
	active = t_ud_next_way(us, DAT_IB_UD_REMOTE_AH, "answer", 6);
	passive = t_ud_next_way(peer, DAT_IB_UD_PASSIVE_REMOTE_AH, NULL, 0);
	ck_assert_mem_eq(&active.ah.ia_addr, ia[1].attr.ia_address_ptr, sizeof(struct sockaddr_in));
	ck_assert_mem_eq(&passive.ah.ia_addr, ia[0].attr.ia_address_ptr,
			 sizeof(struct sockaddr_in));
	ck_assert_int_eq(t_ep_state(us->ep), DAT_EP_STATE_UNCONNECTED);
	ck_assert_int_eq(t_ep_state(peer->ep), DAT_EP_STATE_UNCONNECTED);
	pass(us, &active, peer, 64, 1);
	pass(peer, &passive, us, 64, 3);
}
END_TEST

START_TEST(UD_006_an_EP_connects_many_times)
{
	struct ways ways[8];

	NEEDS_UD;
	for (unsigned int i = 0; i < 8; i++)
		ways[i] = establish(i % 2 ? us : peer, &listener[i % 2], i % 2 ? peer : us);
	for (unsigned int i = 0; i < 8; i++) {
		pass(i % 2 ? us : peer, &ways[i].active, i % 2 ? peer : us, 16, 2 * i);
		pass(i % 2 ? peer : us, &ways[i].passive, i % 2 ? us : peer, 16, 2 * i);
		ck_assert_uint_eq(ways[i].active.ah.qpn, ways[i % 2].active.ah.qpn);
	}
}
END_TEST

START_TEST(UD_006_several_attempts_at_once)
{
	/* Each answer has private data of its own, which remain until cm_free. */
	DAT_IB_EXTENSION_EVENT_DATA ext;
	unsigned int seen = 0;

	NEEDS_UD;
	for (int i = 0; i < 4; i++)
		t_ok(t_connect(us->ep, &listener[1]));
	for (int i = 0; i < 4; i++)
		t_ok(dat_cr_accept(t_ud_next_cr(&listener[1]), peer->ep, 1, &(char){(char)i}));
	for (int i = 0; i < 4; i++)
		t_ud_next_way(peer, DAT_IB_UD_PASSIVE_REMOTE_AH, NULL, 0);
	for (int i = 0; i < 4; i++) {
		DAT_EVENT event = t_ud_wait(us->connect_evd, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED,
					    DAT_IB_UD_REMOTE_AH, &ext);

		seen |= 1u << *(char *)event.event_data.connect_event_data.private_data;
		t_ok(dat_ib_ud_cm_free(us->ep, ext.context));
	}
	ck_assert_uint_eq(seen, 15);
}
END_TEST

START_TEST(UD_007_the_service_of_both_sides_is_the_same)
{
	struct t_end plain[2];
	DAT_CR_HANDLE cr;

	NEEDS_UD;
	for (int i = 0; i < 2; i++)
		t_end_new(&plain[i], &ia[i], NULL);
	t_ok(t_connect(us->ep, &listener[1]));
	cr = t_ud_next_cr(&listener[1]);
	t_bad_handle(dat_cr_accept(cr, plain[1].ep, 0, NULL));
	t_ok(dat_cr_accept(cr, peer->ep, 0, NULL));
	t_ud_next_way(us, DAT_IB_UD_REMOTE_AH, NULL, 0);
	t_ok(t_connect(plain[0].ep, &listener[1]));
	cr = t_next_cr(&listener[1]);
	t_bad_handle(dat_cr_accept(cr, peer->ep, 0, NULL));
	t_ok(dat_cr_accept(cr, plain[1].ep, 0, NULL));
	t_wait_conn(plain[0].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, plain[0].ep);
}
END_TEST

START_TEST(UD_008_attempts_that_fail)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	struct t_listener provider;
	DAT_CONN_QUAL nobody = listener[1].qual;
	DAT_EVENT event;

	NEEDS_UD;
	t_ok(t_connect(us->ep, &listener[1]));
	t_ok(t_cr_reject_data(t_ud_next_cr(&listener[1]), "never", 5));
	event = t_ud_wait(us->connect_evd, DAT_IB_UD_CONNECTION_REJECT_EVENT,
			  DAT_IB_UD_CONNECT_REJECT, &ext);
	ck_assert_ptr_eq(event.event_data.connect_event_data.ep_handle, us->ep);
	ck_assert_int_eq(event.event_data.connect_event_data.private_data_size, 5);
	ck_assert_mem_eq(event.event_data.connect_event_data.private_data, "never", 5);
	/* An EP that the provider creates cannot have the service type UD. */
	t_listen(&provider, &ia[1], DAT_PSP_PROVIDER_FLAG);
	t_ok(t_connect(us->ep, &provider));
	t_ud_wait(us->connect_evd, DAT_IB_UD_CONNECTION_REJECT_EVENT, DAT_IB_UD_CONNECT_REJECT,
		  &ext);
	/* The listener does not answer in time. */
	t_ok(t_connect_data(us->ep, &ia[1], listener[1].qual, 1000, NULL, 0));
	t_ud_wait(us->connect_evd, DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR, &ext);
	/* Nobody listens. */
	t_listener_free(&listener[1]);
	t_ok(t_connect_data(us->ep, &ia[1], nobody, T_LIMIT_US, NULL, 0));
	t_ud_wait(us->connect_evd, DAT_IB_UD_CONNECTION_REJECT_EVENT, DAT_IB_UD_CONNECT_REJECT,
		  &ext);
	establish(peer, &listener[0], us);
}
END_TEST

START_TEST(UD_009_the_requester_gives_up_before_the_accept)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_CR_HANDLE cr;

	NEEDS_UD;
	t_ok(t_connect(us->ep, &listener[1]));
	cr = t_ud_next_cr(&listener[1]);
	t_ok(dat_ep_free(us->ep));
	us->ep = NULL;
	t_ok(dat_cr_accept(cr, peer->ep, 0, NULL));
	t_ud_wait(peer->connect_evd, DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR,
		  &ext);
	t_ud_end_new(&end[0], &ia[0]);
	establish(us, &listener[1], peer);
}
END_TEST

/* --- datagrams --- */

START_TEST(UD_010_011_datagrams_of_any_length)
{
	size_t lengths[] = {0, 1, 39, 40, 41, 255, mtu()};
	struct ways ways;

	NEEDS_UD;
	ways = establish(us, &listener[1], peer);
	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(peer->buf.mem + 1024, 0xee, 40);
		pass(us, &ways.active, peer, lengths[i], 2 * i);
		/* The bytes for the header do not change. */
		for (size_t at = 0; at < T_UD_HEADER; at++)
			ck_assert_uint_eq(peer->buf.mem[1024 + at], 0xee);
	}
}
END_TEST

START_TEST(UD_011_datagrams_in_segments)
{
	DAT_LMR_TRIPLET from[3], to[3];
	struct ways ways;

	NEEDS_UD;
	for (unsigned int i = 0; i < 3; i++)
		from[i] = t_seg(&us->buf, 1000 * (size_t)i, 30 + 10 * (size_t)i);
	to[0] = t_seg(&peer->buf, 0, 24); /* the header ends in the second one */
	to[1] = t_seg(&peer->buf, 1000, 24);
	to[2] = t_seg(&peer->buf, 2000, 200);
	t_fill(us->buf.mem, 4096, 5);
	ways = establish(us, &listener[1], peer);
	t_ok(dat_ep_post_recv(peer->ep, 3, to, COOKIE(1), NO_FLAGS));
	t_ok(dat_ib_post_send_ud(us->ep, 3, from, &ways.active.ah, COOKIE(2), NO_FLAGS));
	t_ud_wait_sent(us, 2, 120);
	t_ud_wait_received(peer, 1, 120);
	ck_assert_mem_eq(peer->buf.mem + 1016, us->buf.mem, 8);
	ck_assert_mem_eq(peer->buf.mem + 2000, us->buf.mem + 8, 22);
	ck_assert_mem_eq(peer->buf.mem + 2022, us->buf.mem + 1000, 40);
	ck_assert_mem_eq(peer->buf.mem + 2062, us->buf.mem + 2000, 50);
}
END_TEST

START_TEST(UD_012_completions_are_suppressed)
{
	struct ways ways;

	NEEDS_UD;
	ways = establish(us, &listener[1], peer);
	for (unsigned int i = 0; i < 50; i++) {
		t_ok(t_recv(peer, 64 * (size_t)i, 64, i, NO_FLAGS));
		t_ok(t_ud_send(us, &ways.active, 8, i,
			       i == 49 ? NO_FLAGS : DAT_COMPLETION_SUPPRESS_FLAG));
	}
	for (unsigned int i = 0; i < 50; i++)
		t_ud_wait_received(peer, i, 8);
	t_ud_wait_sent(us, 49, 8);
	t_no_event(us->request_evd);
}
END_TEST

START_TEST(UD_013_posts_are_refused)
{
	DAT_LMR_TRIPLET many[2], segment, stolen;
	struct t_end third, plain;
	struct ways ways;
	struct t_way forged;

	NEEDS_UD;
	segment = t_seg(&us->buf, 0, 8);
	ways = establish(us, &listener[1], peer);
	t_end_new(&plain, &ia[0], NULL);
	t_bad_handle(
		dat_ib_post_send_ud(plain.ep, 1, &segment, &ways.active.ah, COOKIE(1), NO_FLAGS));
	t_bad_handle(
		dat_ib_post_send_ud(ia[0].pz, 1, &segment, &ways.active.ah, COOKIE(1), NO_FLAGS));
	t_error_sub(dat_ib_post_send_ud(us->ep, 1, &segment, NULL, COOKIE(1), NO_FLAGS),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	forged = (struct t_way){.ah = {.ah = us->ep, .qpn = ways.active.ah.qpn}};
	t_bad_arg(t_ud_send(us, &forged, 8, 1, NO_FLAGS));
	t_bad_arg(t_ud_send(us, &ways.passive, 8, 1, NO_FLAGS)); /* of another IA */
	t_bad_arg(t_ud_send(us, &ways.active, mtu() + 1, 1, NO_FLAGS));
	t_bad_arg(dat_ib_post_send_ud(us->ep, -1, &segment, &ways.active.ah, COOKIE(1), NO_FLAGS));
	t_bad_arg(dat_ib_post_send_ud(us->ep, 1, NULL, &ways.active.ah, COOKIE(1), NO_FLAGS));
	t_bad_arg(t_ud_send(us, &ways.active, 8, 1, (DAT_COMPLETION_FLAGS)0x100));
	stolen = t_seg(&peer->buf, 0, 8);
	t_error2(dat_ib_post_send_ud(us->ep, 1, &stolen, &ways.active.ah, COOKIE(1), NO_FLAGS),
		 DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION);
	many[0] = many[1] = segment;
	many[1].segment_length = (DAT_VLEN)mtu();
	t_bad_arg(dat_ib_post_send_ud(us->ep, 2, many, &ways.active.ah, COOKIE(1), NO_FLAGS));
	t_no_event(us->request_evd);
	/* An address handle belongs to the IA: another EP of the IA may use it. */
	t_ud_end_new(&third, &ia[0]);
	pass(&third, &ways.active, peer, 8, 7);
}
END_TEST

enum { PLACES = 16, PLACE_SIZE = 128 };

static void post_place(struct t_end *at, size_t place)
{
	t_ok(t_recv(at, PLACE_SIZE * place, T_UD_HEADER + 64, place, NO_FLAGS));
}

/*
 * The place that gets the datagram of this length. Datagrams have no order, so it may overtake some
 * of the 100 that were sent before it and have 64 bytes; but not all.
 */
static size_t take_of(struct t_end *at, size_t length)
{
	for (int late = 0; late < 100; late++) {
		DAT_IB_EXTENSION_EVENT_DATA ext;
		DAT_EVENT event = t_ud_wait(at->recv_evd, DAT_IB_DTO_EVENT, DAT_IB_UD_RECV, &ext);
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		ck_assert_int_eq(dto->status, DAT_DTO_SUCCESS);
		if (dto->transfered_length == T_UD_HEADER + length)
			return dto->user_cookie.as_64;
		ck_assert_uint_eq(dto->transfered_length, T_UD_HEADER + 64);
		post_place(at, dto->user_cookie.as_64);
	}
	ck_abort_msg("datagrams without a receive were kept");
	return 0;
}

START_TEST(UD_014_datagrams_without_a_receive_are_dropped)
{
	struct ways ways, to_marker;
	struct t_end marker;

	NEEDS_UD;
	t_ud_end_new(&marker, &ia[1]);
	ways = establish(us, &listener[1], peer);
	to_marker = establish(us, &listener[1], &marker);
	/* More datagrams than the library buffers. */
	for (unsigned int i = 0; i < 100; i++) {
		t_ok(t_ud_send(us, &ways.active, 64, i, NO_FLAGS));
		t_ud_wait_sent(us, i, 64);
	}
	pass(us, &to_marker.active, &marker, 8, 1); /* most datagrams sent before have arrived */
	t_fill(us->buf.mem, 16, 77);
	for (size_t i = 0; i < PLACES; i++)
		post_place(peer, i);
	t_ok(t_ud_send(us, &ways.active, 16, 6, NO_FLAGS));
	ck_assert(
		t_is_filled(peer->buf.mem + PLACE_SIZE * take_of(peer, 16) + T_UD_HEADER, 16, 77));
	t_no_event(peer->connect_evd);
}
END_TEST

START_TEST(UD_015_datagram_longer_than_the_receive)
{
	struct ways ways;

	NEEDS_UD;
	ways = establish(us, &listener[1], peer);
	t_ok(t_recv(peer, 0, T_UD_HEADER + 15, 1, NO_FLAGS));
	t_ok(t_recv(peer, 1000, 20, 2, NO_FLAGS)); /* too short for the header */
	t_fill(us->buf.mem, 16, 3);
	for (int i = 0; i < 2; i++) {
		t_ok(t_ud_send(us, &ways.active, 16, 3, NO_FLAGS));
		t_ud_wait_sent(us, 3, 16);
		t_ud_wait_dto(peer->recv_evd, peer->ep, DAT_IB_UD_RECV, 1 + (uint64_t)i,
			      DAT_DTO_ERR_LOCAL_LENGTH, 0);
	}
	ck_assert_uint_eq(peer->buf.mem[T_UD_HEADER], 0);
	pass(us, &ways.active, peer, 16, 4);
}
END_TEST

START_TEST(UD_016_datagrams_between_many_endpoints)
{
	struct t_end others[3];
	struct ways ways[3];

	NEEDS_UD;
	for (unsigned int i = 0; i < 3; i++) {
		t_ud_end_new(&others[i], &ia[i % 2]);
		ways[i] = establish(&others[i], &listener[1], peer);
		ck_assert(!i || ways[i].passive.ah.qpn != ways[i - 1].passive.ah.qpn);
	}
	for (unsigned int i = 0; i < 3; i++)
		pass(&others[i], &ways[i].active, peer, 32, 10 * i);
	for (unsigned int i = 0; i < 3; i++)
		pass(peer, &ways[i].passive, &others[i], 32, 10 * i);
}
END_TEST

/* --- the end --- */

START_TEST(UD_017_address_handles_are_freed)
{
	struct ways ways, others;
	struct t_way none = {.cm.as_ptr = us};

	NEEDS_UD;
	ways = establish(us, &listener[1], peer);
	others = establish(us, &listener[1], peer);
	t_ok(dat_ib_ud_ah_free(us->ep, &ways.active.ah));
	t_bad_arg_of(dat_ib_ud_ah_free(us->ep, &ways.active.ah), 2);
	t_bad_arg(t_ud_send(us, &ways.active, 8, 1, NO_FLAGS));
	t_ok(dat_ib_ud_cm_free(us->ep, ways.active.cm.as_ptr));
	t_bad_arg_of(dat_ib_ud_cm_free(us->ep, ways.active.cm.as_ptr), 2);
	t_bad_arg_of(dat_ib_ud_ah_free(us->ep, NULL), 2);
	t_bad_arg_of(dat_ib_ud_ah_free(us->ep, &none.ah), 2);
	t_bad_arg_of(dat_ib_ud_cm_free(us->ep, none.cm.as_ptr), 2);
	t_bad_arg_of(dat_ib_ud_ah_free(us->ep, &ways.passive.ah), 2); /* of another IA */
	t_bad_handle(dat_ib_ud_ah_free(us->on->pz, &others.active.ah));
	t_bad_handle(dat_ib_ud_cm_free(us->request_evd, others.active.cm));
	/* The handles of the peer and our other handles are not affected. */
	t_ok(dat_ib_ud_cm_free(us->ep, others.active.cm));
	pass(us, &others.active, peer, 8, 1);
	pass(peer, &ways.passive, us, 8, 3);
}
END_TEST

START_TEST(UD_017_a_handle_works_when_the_peer_has_freed_its_own)
{
	/* More than a sender may be ahead of a peer that does not answer. */
	struct ways ways;

	NEEDS_UD;
	ways = establish(us, &listener[1], peer);
	pass(peer, &ways.passive, us, 8, 1);
	t_ud_way_free(peer, &ways.passive);
	for (unsigned int i = 0; i < 300; i++)
		pass(us, &ways.active, peer, 8, i);
	t_ud_way_free(us, &ways.active);
	ways = establish(us, &listener[1], peer);
	pass(us, &ways.active, peer, 8, 1);
}
END_TEST

START_TEST(UD_018_sent_datagrams_arrive_though_the_EP_is_freed)
{
	struct ways ways;

	NEEDS_UD;
	ways = establish(us, &listener[1], peer);
	for (unsigned int i = 0; i < 20; i++)
		t_ok(t_recv(peer, 100 * (size_t)i, T_UD_HEADER + 8, i, NO_FLAGS));
	for (unsigned int i = 0; i < 20; i++)
		t_ok(t_ud_send(us, &ways.active, 8, i, DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(dat_ep_free(us->ep));
	us->ep = NULL;
	for (unsigned int i = 0; i < 20; i++)
		t_ud_wait_received(peer, i, 8);
}
END_TEST

START_TEST(UD_019_the_peer_is_gone)
{
	struct t_end third;
	struct ways ways, others;

	NEEDS_UD;
	t_ud_end_new(&third, &ia[0]);
	ways = establish(us, &listener[1], peer);
	others = establish(us, &listener[0], &third);
	pass(us, &ways.active, peer, 8, 1);
	t_ia_close(&ia[1]);
	peer_is_open = false;
	for (unsigned int i = 0; i < 40; i++) {
		t_ok(t_ud_send(us, &ways.active, 8, i, NO_FLAGS));
		t_ud_wait_sent(us, i, 8);
	}
	pass(us, &others.active, &third, 8, 1);
	t_no_event(us->connect_evd);
	t_ok(dat_ib_ud_ah_free(us->ep, &ways.active.ah));
}
END_TEST

START_TEST(UD_019_the_EP_of_the_peer_is_gone)
{
	struct ways ways;
	struct t_end third;

	NEEDS_UD;
	ways = establish(us, &listener[1], peer);
	t_ok(dat_ep_free(peer->ep));
	t_ud_end_new(&third, &ia[1]);
	t_ok(t_recv(&third, 0, 64, 1, NO_FLAGS));
	t_ok(t_ud_send(us, &ways.active, 8, 2, NO_FLAGS));
	t_ud_wait_sent(us, 2, 8);
	ways = establish(us, &listener[1], &third);
	t_ok(t_ud_send(us, &ways.active, 16, 3, NO_FLAGS));
	t_ud_wait_received(&third, 1, 16); /* not the datagram before it */
	peer->ep = NULL;
}
END_TEST

START_TEST(UD_020_an_EP_is_freed_with_its_receives_and_handles)
{
	DAT_CR_HANDLE undecided;

	NEEDS_UD;
	t_ok(t_recv(us, 0, 64, 1, NO_FLAGS));
	establish(us, &listener[1], peer);
	t_ok(t_connect(us->ep, &listener[1]));
	t_ok(t_connect(us->ep, &listener[1]));
	undecided = t_ud_next_cr(&listener[1]);
	t_ok(t_cr_accept(t_ud_next_cr(&listener[1]), peer->ep));
	for (int i = 0; i < 2; i++) {
		if (i == 1)
			t_ok(t_cr_reject(undecided));
		t_listener_free(&listener[i]);
		t_end_free(&end[i]);
		t_ia_close_empty(&ia[i]);
		t_ia_open(&ia[i]);
	}
}
END_TEST

/* A thread that sends until it is stopped, whether or not the datagrams arrive. */
struct stream {
	struct t_way *by;
	bool over;
};

static void *send_on(void *argument)
{
	const struct stream *stream = argument;

	for (uint64_t i = 0; !__atomic_load_n(&stream->over, __ATOMIC_ACQUIRE); i++) {
		t_ok(t_ud_send(us, stream->by, 256, i, NO_FLAGS));
		t_ud_wait_sent(us, i, 256);
	}
	return NULL;
}

START_TEST(UD_020_an_IA_is_closed_during_a_stream)
{
	struct stream stream;
	struct ways ways;
	pthread_t thread;

	NEEDS_UD;
	for (int i = 0; i < 10; i++) {
		ways = establish(us, &listener[1], peer);
		t_ok(t_recv(peer, 0, T_UD_HEADER + 256, 1, NO_FLAGS));
		stream = (struct stream){.by = &ways.active};
		ck_assert_int_eq(pthread_create(&thread, NULL, send_on, &stream), 0);
		t_wait_for(peer->recv_evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
		t_ok(dat_ia_close(ia[1].ia, DAT_CLOSE_ABRUPT_FLAG));
		__atomic_store_n(&stream.over, true, __ATOMIC_RELEASE);
		pthread_join(thread, NULL);
		t_ok(dat_ib_ud_ah_free(us->ep, &ways.active.ah));
		t_ia_open(&ia[1]);
		t_ud_end_new(peer, &ia[1]);
		t_listen(&listener[1], &ia[1], DAT_PSP_CONSUMER_FLAG);
	}
}
END_TEST

static long resident_pages(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	long pages = -1;

	ck_assert_ptr_nonnull(statm);
	ck_assert_int_eq(fscanf(statm, "%*s %ld", &pages), 1);
	fclose(statm);
	return pages;
}

START_TEST(UD_022_a_peer_that_keeps_up_loses_nothing)
{
	struct ways ways;

	NEEDS_UD;
	ways = establish(us, &listener[1], peer);
	for (uint64_t i = 0; i < 300; i++)
		pass(us, &ways.active, peer, 8, i);
}
END_TEST

START_TEST(UD_022_a_sender_does_not_fill_the_memory_of_its_peer)
{
	struct ways ways, last;
	struct t_end third;
	long before;

	NEEDS_UD;
	if (!T_HOOKS)
		t_skip("a sanitizer keeps memory that was freed");
	t_ud_end_new(&third, &ia[1]);
	ways = establish(us, &listener[1], peer);
	last = establish(us, &listener[1], &third);
	pass(us, &last.active, &third, 8, 1);
	before = resident_pages();
	for (uint64_t i = 0; i < 100000; i++) {
		t_ok(t_ud_send(us, &ways.active, 256, i, NO_FLAGS));
		t_ud_wait_sent(us, i, 256);
	}
	/* It comes behind all others. */
	pass(us, &last.active, &third, 8, 2);
	/* Without a limit, shm keeps some 20 KiB for each. */
	ck_assert_int_lt((resident_pages() - before) * sysconf(_SC_PAGESIZE), 64 << 20);
}
END_TEST

START_TEST(UD_021_counters)
{
	DAT_UINT64 sent[DCNT_EP_ALL_COUNTERS], received[DCNT_EP_ALL_COUNTERS];
	struct ways ways;

	NEEDS_UD;
	ways = establish(us, &listener[1], peer);
	for (unsigned int i = 0; i < 3; i++)
		pass(us, &ways.active, peer, 10, i);
	t_ok(dat_ib_query_counters(us->ep, DCNT_EP_ALL_COUNTERS, sent, 0));
	t_ok(dat_ib_query_counters(peer->ep, DCNT_EP_ALL_COUNTERS, received, 0));
	ck_assert_uint_eq(sent[DCNT_EP_CONNECT], 1);
	ck_assert_uint_eq(sent[DCNT_EP_POST_SEND_UD], 3);
	ck_assert_uint_eq(sent[DCNT_EP_POST_SEND_UD_DATA], 30);
	ck_assert_uint_eq(sent[DCNT_EP_POST_SEND], 0);
	ck_assert_uint_eq(received[DCNT_EP_RECV_UD], 3);
	ck_assert_uint_eq(received[DCNT_EP_RECV_UD_DATA], 3 * (T_UD_HEADER + 10));
	ck_assert_uint_eq(received[DCNT_EP_RECV], 0);
	ck_assert_uint_eq(received[DCNT_EP_POST_RECV], 3);
}
END_TEST

static void add_making(TCase *tcase)
{
	tcase_add_test(tcase, UD_001_attribute_tells_whether_datagrams_exist);
	tcase_add_test(tcase, UD_003_operations_of_connections_are_refused);
	tcase_add_test(tcase, UD_003_attributes_change_between_datagrams);
	tcase_add_test(tcase, UD_004_005_both_sides_get_an_address_handle);
	tcase_add_test(tcase, UD_006_an_EP_connects_many_times);
	tcase_add_test(tcase, UD_006_several_attempts_at_once);
	tcase_add_test(tcase, UD_007_the_service_of_both_sides_is_the_same);
	tcase_add_test(tcase, UD_008_attempts_that_fail);
	tcase_add_test(tcase, UD_009_the_requester_gives_up_before_the_accept);
}

static void add_transfers(TCase *tcase)
{
	tcase_add_test(tcase, UD_010_011_datagrams_of_any_length);
	tcase_add_test(tcase, UD_011_datagrams_in_segments);
	tcase_add_test(tcase, UD_012_completions_are_suppressed);
	tcase_add_test(tcase, UD_013_posts_are_refused);
	tcase_add_test(tcase, UD_014_datagrams_without_a_receive_are_dropped);
	tcase_add_test(tcase, UD_015_datagram_longer_than_the_receive);
	tcase_add_test(tcase, UD_016_datagrams_between_many_endpoints);
	tcase_add_test(tcase, UD_017_address_handles_are_freed);
	tcase_add_test(tcase, UD_017_a_handle_works_when_the_peer_has_freed_its_own);
	tcase_add_test(tcase, UD_018_sent_datagrams_arrive_though_the_EP_is_freed);
	tcase_add_test(tcase, UD_019_the_peer_is_gone);
	tcase_add_test(tcase, UD_019_the_EP_of_the_peer_is_gone);
	tcase_add_test(tcase, UD_020_an_EP_is_freed_with_its_receives_and_handles);
	tcase_add_test(tcase, UD_020_an_IA_is_closed_during_a_stream);
	tcase_add_test(tcase, UD_021_counters);
	tcase_add_test(tcase, UD_022_a_peer_that_keeps_up_loses_nothing);
	tcase_add_test(tcase, UD_022_a_sender_does_not_fill_the_memory_of_its_peer);
}

static TCase *ud_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, open_ends, close_ends);
	suite_add_tcase(suite, tcase);
	return tcase;
}

Suite *conform_ud(void)
{
	Suite *suite = suite_create("ud");

	add_making(ud_case(suite, "ud"));
	add_transfers(ud_case(suite, "ud_transfers"));
	return suite;
}
#endif
