/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Begin and end of a path over the shared endpoint: the tags of a connection, its receives, which
 * are cancelled, and the messages that are drained after its end. The linker redirects peers,
 * greetings, orphans and drains to this file.
 */
#include "unit.h"

#include "base/log.h"
#include "cm/conn.h"
#include "cm/drain.h"
#include "cm/path.h"
#include "dto/op_context.h"
#include "dto/orphan.h"
#include "dto/ring.h"
#include "fabric/quirks.h"
#include "transport/greeting.h"
#include "transport/rdm.h"
#include "transport/rdm_path.h"
#include "transport/rdm_tag.h"

#include <errno.h>
#include <rdma/fi_endpoint.h>

#define NUMBER 7u /* of the connection; the peer's is one more */
#define SRQ    5u /* number of the peer's SRQ */
#define RECVS  4u

static struct dofi_ia ia;
static struct dofi_rdm rdm;
static struct dofi_peer peer;
static struct dofi_chan chan;
static struct dofi_conn conn;
static struct dofi_srq srq;
static struct dofi_ep ep;
static struct fi_domain_attr domain_attr = {.cq_data_size = 8};
static struct fi_info info = {.domain_attr = &domain_attr};
static _Atomic uint32_t mark;

/* --- the fabric --- */

static unsigned int ncancelled, rounds;
static const void *cancelled[RECVS];

static ssize_t cancel(fid_t fid, void *context)
{
	ck_assert_ptr_eq(fid, &ia.shared_ep->fid);
	dofi_assert_held(&ep.lock);
	ck_assert_uint_lt(ncancelled, RECVS);
	cancelled[ncancelled++] = context;
	return 0;
}

static struct fi_ops_ep ep_ops = {.size = sizeof(ep_ops), .cancel = cancel};
static struct fid_ep endpoint = {.ops = &ep_ops};

/* --- what the path calls, in order --- */

static int take_answer, made, given, begun, ended, adopt_refusals;
static bool begun_now;
static unsigned int drains, settles, norphans;
static struct {
	uint64_t tag, size;
	uint32_t received, granted;
} drained;
static struct {
	uint32_t id, peer_id, sent;
} settled;

int __wrap_dofi_peer_take(struct dofi_peers *peers, struct dofi_conn *of);
void __wrap_dofi_peer_give(struct dofi_conn *of);
void __wrap_dofi_conn_path_made(struct dofi_conn *of);
void __wrap_dofi_greeting_begin(struct dofi_conn *of, bool now);
void __wrap_dofi_greeting_end(struct dofi_conn *of);
uint32_t __wrap_dofi_orphans_outstanding(const struct dofi_ep *of);
int __wrap_dofi_orphans_adopt_ep(struct dofi_ep *of);
void __wrap_dofi_drain_begin(const struct dofi_conn *of, uint64_t tag, uint32_t received,
			     uint32_t granted, uint64_t size);
void __wrap_dofi_drain_settle(struct dofi_ia *of, uint32_t id, uint32_t peer_id, uint32_t sent);
int __wrap_dofi_engine_drain_cq(struct dofi_ia *of);

int __wrap_dofi_peer_take(struct dofi_peers *peers, struct dofi_conn *of)
{
	ck_assert_ptr_eq(peers, &rdm.peers);
	ck_assert_ptr_eq(of, &conn);
	if (!take_answer)
		conn.peer = &peer;
	return take_answer;
}

void __wrap_dofi_peer_give(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	ck_assert_int_eq(ended, 1); /* the greeting uses the peer */
	conn.peer = NULL;
	given++;
}

void __wrap_dofi_conn_path_made(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	ck_assert_uint_ne(ep.send_tag, 0); /* messages may leave at once */
	made++;
}

void __wrap_dofi_greeting_begin(struct dofi_conn *of, bool now)
{
	ck_assert_ptr_eq(of, &conn);
	begun++;
	begun_now = now;
}

void __wrap_dofi_greeting_end(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	ended++;
}

uint32_t __wrap_dofi_orphans_outstanding(const struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	dofi_assert_held(&ep.lock);
	return norphans;
}

int __wrap_dofi_orphans_adopt_ep(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	dofi_assert_held(&ep.lock);
	ck_assert_uint_eq(drains, 0); /* the EP still has its receives */
	if (adopt_refusals && adopt_refusals--)
		return -ENOMEM;
	return 0;
}

void __wrap_dofi_drain_begin(const struct dofi_conn *of, uint64_t tag, uint32_t received,
			     uint32_t granted, uint64_t size)
{
	ck_assert_ptr_eq(of, &conn);
	ck_assert_ptr_eq(conn.peer, &peer);
	drained.tag = tag;
	drained.received = received;
	drained.granted = granted;
	drained.size = size;
	drains++;
}

void __wrap_dofi_drain_settle(struct dofi_ia *of, uint32_t id, uint32_t peer_id, uint32_t sent)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_eq(drains, 1);
	settled.id = id;
	settled.peer_id = peer_id;
	settled.sent = sent;
	settles++;
}

int __wrap_dofi_engine_drain_cq(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	dofi_assert_not_held(&ep.lock); /* completions take it */
	rounds++;
	return 0;
}

/* --- */

static void setup(void)
{
	dofi_lock_init_level(&ia.engine.lock, DOFI_LEVEL_ENGINE);
	dofi_lock_init_level(&ep.lock, DOFI_LEVEL_EP);
	ia.info = &info;
	ia.rdm = &rdm;
	ia.shared_ep = &endpoint;
	ia.limits.fabric_iov = 4;
	ia.context_gap = DOFI_CONTEXT_GAP;
	ia.credits = DOFI_CREDITS_CARRIED;
	dofi_rx_slots_init(&rdm.slots, 64, 8, false);
	ep.obj.ia = &ia;
	ep.conn = &conn;
	conn = (struct dofi_conn){.ia = &ia,
				  .ep = &ep,
				  .chan = &chan,
				  .id = NUMBER,
				  .peer_id = NUMBER + 1,
				  .state = DOFI_CONN_CONNECTING};
	memset(conn.token, 0x35, sizeof(conn.token));
	memset(conn.peer_token, 0x57, sizeof(conn.peer_token));
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.req, 1, 4), 0);
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.recv, RECVS, 4), 0);
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
	dofi_ring_fini(&ep.recv);
	dofi_ring_fini(&ep.req);
}

/* Receives of the EP in these states, of which the fabric has had the first n. */
static void post(const uint8_t *states, uint32_t n)
{
	ep.recv.tail = RECVS;
	ep.recv.issue = n;
	for (uint32_t i = 0; i < RECVS; i++) {
		dofi_ring_at(&ep.recv, i)->op = DOFI_OP_RECV;
		dofi_ring_at(&ep.recv, i)->state = states[i];
		dofi_ring_at(&ep.recv, i)->length = 5000 + (i ^ 2); /* the longest is no. 1 */
		if (states[i] == DOFI_WR_ISSUED)
			ck_assert(dofi_rx_slots_acquire(&rdm.slots));
	}
}

static const uint8_t some[RECVS] = {DOFI_WR_ISSUED, DOFI_WR_HELD, DOFI_WR_ISSUED, DOFI_WR_QUEUED};

static int begin(void)
{
	return conn.active ? dofi_rdm_connect(&conn) : dofi_rdm_expect(&conn);
}

/* --- begin --- */

/* The connecting side greets first. */
START_TEST(a_path_begins_with_tags_and_a_greeting)
{
	conn.active = _i;
	ck_assert_int_eq(begin(), 0);
	/* bit 46, 17 bits of the token, 29 bits of the number: other releases use them, too */
	ck_assert_uint_eq(ep.recv_tag, UINT64_C(0x66a6a0000007));
	ck_assert_uint_eq(ep.send_tag, UINT64_C(0x6aeae0000008));
	ck_assert_uint_ne(ep.recv_tag & ~DOFI_TAG_NUMBER, ep.send_tag & ~DOFI_TAG_NUMBER);
	ck_assert_int_eq(made, 1);
	ck_assert_int_eq(begun, 1);
	ck_assert_int_eq(begun_now, _i);
	ck_assert_ptr_null(ep.wakeup);
}
END_TEST

/* The tag or the completion data have the number of the connection there. */
START_TEST(messages_to_an_srq_have_its_tag)
{
	ia.quirks = _i ? DOFI_QUIRK_TAG_MASK : 0;
	conn.peer_srq = SRQ | 1u << 31; /* with a flag of the handshake */
	ck_assert_int_eq(begin(), 0);
	ck_assert_uint_eq(ep.send_tag,
			  DOFI_TAG_SRQ | (uint64_t)SRQ << DOFI_TAG_SHIFT | (_i ? 0 : NUMBER + 1));
	ck_assert_uint_eq(ep.recv_tag, dofi_tag_of_ep(conn.token, NUMBER));
}
END_TEST

START_TEST(posts_wake_the_peer_where_wakeups_are_needed)
{
	ia.wakeup.mark = &mark;
	ck_assert_int_eq(begin(), 0);
	ck_assert_ptr_eq(ep.wakeup, &peer.wakeup);
}
END_TEST

/* Its result is an address; the EP is not connected. */
START_TEST(a_path_for_datagrams_leaves_the_ep_alone)
{
	conn.ud = true;
	conn.active = _i;
	ia.wakeup.mark = &mark;
	ck_assert_int_eq(begin(), 0);
	ck_assert(conn.path_made);
	ck_assert_int_eq(made, 0);
	ck_assert_int_eq(begun, 1);
	ck_assert_uint_eq(ep.recv_tag | ep.send_tag, 0);
	ck_assert_ptr_null(ep.wakeup);
}
END_TEST

START_TEST(a_path_to_a_peer_that_is_refused)
{
	take_answer = -EACCES;
	conn.active = _i;
	ck_assert_int_eq(begin(), -EACCES);
	ck_assert_int_eq(made + begun, 0);
	ck_assert_uint_eq(ep.recv_tag | ep.send_tag, 0);
	ck_assert(!conn.path_made);
}
END_TEST

/* --- cancelling --- */

START_TEST(the_receives_that_the_fabric_has_are_cancelled_once)
{
	conn.peer = &peer;
	norphans = 1;
	post(some, 3);
	ck_assert(dofi_rdm_cancel(&conn));
	ck_assert_uint_eq(ncancelled, 2);
	ck_assert_ptr_eq(cancelled[0], dofi_context_of(&ia, dofi_ring_at(&ep.recv, 0)));
	ck_assert_ptr_eq(cancelled[1], dofi_context_of(&ia, dofi_ring_at(&ep.recv, 2)));
	ck_assert_uint_eq(rounds, DOFI_CANCEL_ROUNDS);
	ck_assert(conn.cancelled);
	norphans = 0;
	ck_assert(!dofi_rdm_cancel(&conn));
	ck_assert_uint_eq(ncancelled, 2);
	ck_assert_uint_eq(rounds, DOFI_CANCEL_ROUNDS);
}
END_TEST

/* The completions need not be read then. */
START_TEST(nothing_to_cancel)
{
	static const uint8_t done[RECVS] = {DOFI_WR_DONE, DOFI_WR_HELD, DOFI_WR_BACK,
					    DOFI_WR_QUEUED};

	conn.peer = &peer;
	post(done, 3);
	ck_assert(!dofi_rdm_cancel(&conn));
	ck_assert_uint_eq(ncancelled, 0);
	ck_assert_uint_eq(rounds, 0);
	ck_assert(conn.cancelled);
}
END_TEST

START_TEST(a_connection_without_a_path_has_nothing_to_end)
{
	norphans = 1;
	post(some, 3);
	ck_assert(!dofi_rdm_cancel(&conn));
	dofi_rdm_disconnect(&conn);
	ck_assert_uint_eq(ncancelled, 0);
	ck_assert(!conn.cancelled);
	ck_assert_int_eq(given + ended, 0);
	ck_assert_uint_eq(drains, 0);
}
END_TEST

/* --- end --- */

START_TEST(the_end_of_a_path)
{
	conn.peer = &peer;
	post(some, 3);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), 2);
	dofi_rdm_disconnect(&conn);
	ck_assert_uint_eq(ncancelled, 2);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), 0); /* orphans need none */
	ck_assert_uint_eq(drains, 1);
	ck_assert_uint_eq(settles, 0);
	ck_assert_int_eq(ended, 1);
	ck_assert_int_eq(given, 1);
	dofi_rdm_disconnect(&conn); /* a second time */
	ck_assert_uint_eq(drains, 1);
	ck_assert_int_eq(given, 1);
}
END_TEST

/* The caller waits until the fabric has completed more. */
START_TEST(an_end_without_memory_for_orphans)
{
	conn.peer = &peer;
	adopt_refusals = 3;
	post(some, 3);
	dofi_rdm_disconnect(&conn);
	ck_assert_int_eq(adopt_refusals, 0);
	ck_assert_uint_eq(rounds, DOFI_CANCEL_ROUNDS + 3);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), 0);
	ck_assert_int_eq(given, 1);
}
END_TEST

START_TEST(operations_that_stay_with_the_fabric_are_logged)
{
	int fd = t_capture(STDERR_FILENO);

	dofi_log_set_level("info");
	conn.peer = &peer;
	strcpy(ia.name, "ofi-some");
	norphans = (uint32_t)_i;
	dofi_rdm_disconnect(&conn);
	ck_assert_int_eq(strstr(t_captured(fd), "ofi-some: a connection has ended, but") != NULL,
			 _i);
}
END_TEST

START_TEST(the_end_of_a_path_for_datagrams)
{
	conn.peer = &peer;
	conn.ud = true;
	post(some, 3); /* receives of datagrams, which other paths use */
	dofi_rdm_disconnect(&conn);
	ck_assert_int_eq(ended, 1);
	ck_assert_int_eq(given, 1);
	ck_assert_uint_eq(ncancelled, 0);
	ck_assert_uint_eq(drains, 0);
}
END_TEST

/* --- late messages --- */

/* As many as the peer had credits for; a message that waits for its control message has come. */
START_TEST(late_messages_are_drained)
{
	conn.peer = &peer;
	ep.recv_tag = 55;
	ep.nreceived = 10;
	ep.announced = 12;
	post(some, 3);
	dofi_rdm_disconnect(&conn);
	ck_assert_uint_eq(drained.tag, 55);
	ck_assert_uint_eq(drained.received, 11);
	ck_assert_uint_eq(drained.granted, 12);
	ck_assert_uint_eq(drained.size, 5003);
}
END_TEST

START_TEST(late_messages_of_a_peer_without_credits)
{
	ia.credits = DOFI_CREDITS_NONE;
	conn.peer = &peer;
	ep.nreceived = 10;
	post(some, 3);
	dofi_rdm_disconnect(&conn);
	ck_assert_uint_eq(drained.received, 11);
	ck_assert_uint_eq(drained.granted, 11 + 65536);
}
END_TEST

/* The peer's BYE came before. */
START_TEST(a_count_that_is_known_settles_the_drain)
{
	conn.peer = &peer;
	conn.peer_told = true;
	conn.peer_sent = 6;
	dofi_rdm_disconnect(&conn);
	ck_assert_uint_eq(settles, 1);
	ck_assert_uint_eq(settled.id, NUMBER);
	ck_assert_uint_eq(settled.peer_id, NUMBER + 1);
	ck_assert_uint_eq(settled.sent, 6);
	ck_assert_uint_eq(drained.size, 4096); /* the EP had no receives */
}
END_TEST

/* Those for an SRQ find its receives, and without a channel no count can come. */
START_TEST(paths_that_are_not_drained)
{
	conn.peer = &peer;
	conn.peer_told = true;
	if (_i)
		ep.srq = &srq;
	else
		conn.chan = NULL;
	dofi_rdm_disconnect(&conn);
	ck_assert_uint_eq(drains + settles, 0);
	ck_assert_int_eq(given, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rdm_path");
	TCase *tc = tcase_create("begin");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_path_begins_with_tags_and_a_greeting, 0, 2);
	tcase_add_loop_test(tc, messages_to_an_srq_have_its_tag, 0, 2);
	tcase_add_test(tc, posts_wake_the_peer_where_wakeups_are_needed);
	tcase_add_loop_test(tc, a_path_for_datagrams_leaves_the_ep_alone, 0, 2);
	tcase_add_loop_test(tc, a_path_to_a_peer_that_is_refused, 0, 2);
	suite_add_tcase(suite, tc);
	tc = tcase_create("end");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_receives_that_the_fabric_has_are_cancelled_once);
	tcase_add_test(tc, nothing_to_cancel);
	tcase_add_test(tc, a_connection_without_a_path_has_nothing_to_end);
	tcase_add_test(tc, the_end_of_a_path);
	tcase_add_test(tc, an_end_without_memory_for_orphans);
	tcase_add_loop_test(tc, operations_that_stay_with_the_fabric_are_logged, 0, 2);
	tcase_add_test(tc, the_end_of_a_path_for_datagrams);
	tcase_add_test(tc, late_messages_are_drained);
	tcase_add_test(tc, late_messages_of_a_peer_without_credits);
	tcase_add_test(tc, a_count_that_is_known_settles_the_drain);
	tcase_add_loop_test(tc, paths_that_are_not_drained, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
