/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What both ends tell each other about an EP when they connect, and what the EP knows of its peer
 * when the path is there.
 */
#include "unit.h"

#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/conn_message.h"
#include "../../../prov/ofi/cm/path.h"
#include "../../../prov/ofi/cm/upcalls.h"
#include "../../../prov/ofi/cm/wire.h"
#include "../../../prov/ofi/dto/control_message.h"
#include "../../../prov/ofi/dto/credit.h"
#include "../../../prov/ofi/dto/ud.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "../../../prov/ofi/object/transport.h"

#include <rdma/fi_endpoint.h>

static const struct dofi_trans_ops trans, local_trans;
static struct fid_ep shared, own;
static struct dofi_credit_words words[8];
static struct dofi_ctx cache[DOFI_RCACHE_SIZE];
static struct dofi_ia ia = {.trans = &trans, .sink.words = words, .shared_ep = &shared};
static struct dofi_pz pz = {.number = 21};
static struct dofi_chan chan = {.ia = &ia};
static struct dofi_ep ep;
static struct dofi_conn conn;
static struct dofi_ctrl_msgs ctrl_msgs;
static int kicks, issues;

void __wrap_dofi_wait_kick(struct dofi_ia *of);
void __wrap_dofi_ep_issue(struct dofi_ep *of);

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	kicks++;
}

void __wrap_dofi_ep_issue(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert(ep.path_up); /* the requests of the ring can start */
	issues++;
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ep.lock);
	ia.up = &dofi_cm_upcalls;
	ia.credits = DOFI_CREDITS_NONE;
	ep.obj.ia = &ia;
	ep.trans = &trans;
	ep.rcache = cache;
	ep.pz = &pz;
	ep.scratch = 3;
	ep.ctrl_context = 41;
	ep.attr.max_rdma_read_in = 5;
	ep.attr.max_rdma_read_out = 6;
	ep.recv.tail = 4; /* posted receives */
	chan.peer = (struct dofi_details){.ctxtab_key = 101,
					  .ctxtab_address = 102,
					  .ctxtab_entries = 103,
					  .sink_key = 104,
					  .sink_address = 105};
	conn = (struct dofi_conn){.ia = &ia,
				  .chan = &chan,
				  .ep = &ep,
				  .trans = &trans,
				  .id = 11,
				  .peer_id = 12,
				  .peer_pz = 13,
				  .peer_slots = 2,
				  .peer_credit_total = 15,
				  .peer_read_in = 16,
				  .dest = 17,
				  .token = "our token",
				  .peer_token = "token of the peer"};
	dofi_lock(&ia.engine.lock);
}

/* --- what is told --- */

static struct dofi_msg hello(void)
{
	struct dofi_msg msg = {0};

	dofi_conn_fill_hello(&conn, &msg);
	return msg;
}

START_TEST(a_peer_learns_the_limits_of_the_ep)
{
	struct dofi_msg msg = hello();

	ck_assert_mem_eq(msg.token, conn.token, sizeof(conn.token));
	ck_assert_uint_eq(msg.flags, 0);
	ck_assert_uint_eq(msg.read_in, 5);
	ck_assert_uint_eq(msg.read_out, 6);
	ck_assert_uint_eq(msg.pz, 21);
	ck_assert_uint_eq(msg.context, 41);
	ck_assert_uint_eq(msg.srq, 0);
	ck_assert_uint_eq(msg.data, 4);
}
END_TEST

/* Each of them is told by a flag of its own. */
START_TEST(a_peer_learns_what_the_ep_does)
{
	static struct dofi_srq srq = {.number = 31};
	static const uint16_t flags[] = {DOFI_MSG_F_SOLICITED, DOFI_MSG_F_DATA,
					 DOFI_MSG_F_CREDITS,   DOFI_MSG_F_CREDIT_WORD,
					 DOFI_MSG_F_CTRL_MSGS, DOFI_MSG_F_MEMORY,
					 DOFI_MSG_F_ATOMICS};
	uint16_t flag = flags[_i];
	struct dofi_msg msg;

	if (flag == DOFI_MSG_F_SOLICITED)
		ep.attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (flag == DOFI_MSG_F_DATA)
		ep.srq = &srq;
	if (flag == DOFI_MSG_F_CREDITS)
		ia.credits = DOFI_CREDITS_CARRIED;
	if (flag == DOFI_MSG_F_CREDIT_WORD)
		ia.credits = DOFI_CREDITS_WRITTEN;
	if (flag == DOFI_MSG_F_CTRL_MSGS)
		ep.ctrl_msgs = &ctrl_msgs;
	if (flag == DOFI_MSG_F_MEMORY)
		conn.trans = &local_trans;
	if (flag == DOFI_MSG_F_ATOMICS)
		ia.does_atomics = true;
	msg = hello();
	ck_assert_uint_eq(msg.flags, flag);
	ck_assert_uint_eq(msg.srq, flag == DOFI_MSG_F_DATA ? 31 : 0);
	/* The credit word has the index of the EP's scratch slot. */
	ck_assert_uint_eq(msg.context, flag == DOFI_MSG_F_CREDIT_WORD ? 3 : 41);
	ck_assert_uint_eq(msg.data, flag == DOFI_MSG_F_DATA ? DOFI_CREDIT_SHARE : 4);
}
END_TEST

/* A datagram needs nothing else. */
START_TEST(a_peer_of_datagrams_learns_the_number_of_the_ep)
{
	static struct dofi_ud ud = {.number = 51};
	struct dofi_msg msg;

	conn.ud = true;
	ep.ud = &ud;
	ia.credits = DOFI_CREDITS_CARRIED;
	msg = hello();
	ck_assert_mem_eq(msg.token, conn.token, sizeof(conn.token));
	ck_assert_uint_eq(msg.flags, DOFI_MSG_F_UD);
	ck_assert_uint_eq(msg.context, 51);
	ck_assert_uint_eq(msg.read_in, 0);
}
END_TEST

START_TEST(what_the_peer_tells_is_kept)
{
	const struct dofi_msg msg = {.src = 61,
				     .token = "another token",
				     .read_in = 62,
				     .pz = 63,
				     .data = 64,
				     .srq = 65,
				     .context = 66,
				     .flags = DOFI_MSG_F_ATOMICS};

	dofi_conn_parse_hello(&conn, &msg);
	ck_assert_uint_eq(conn.peer_id, 61);
	ck_assert_mem_eq(conn.peer_token, msg.token, sizeof(msg.token));
	ck_assert_uint_eq(conn.peer_read_in, 62);
	ck_assert_uint_eq(conn.peer_pz, 63);
	ck_assert_uint_eq(conn.peer_credit_total, 64);
	ck_assert_uint_eq(conn.peer_srq, 65);
	ck_assert_uint_eq(conn.peer_slots, 66);
	ck_assert_uint_eq(conn.peer_ud, 66);
	ck_assert_uint_eq(conn.peer_flags, DOFI_MSG_F_ATOMICS);
}
END_TEST

/* --- what the EP knows --- */

START_TEST(the_ep_knows_its_peer)
{
	dofi_conn_path_made(&conn);
	ck_assert(conn.path_made);
	ck_assert(ep.path_up);
	ck_assert_int_eq(issues, 1);
	ck_assert_int_eq(kicks, 1); /* a thread that sleeps has to watch the new path */
	ck_assert_uint_gt(atomic_load(&ia.wait.awake_until), 0); /* the next step comes soon */
	ck_assert_uint_eq(ep.conn_id, 11);
	ck_assert_uint_eq(ep.peer.number, 12);
	ck_assert_uint_eq(ep.peer.pz, 13);
	ck_assert_uint_eq(ep.peer.ctrl_context, 2);
	ck_assert_uint_eq(ep.peer.secret, dofi_token_secret(conn.peer_token));
	ck_assert_uint_eq(ep.peer.ctxtab_key, 101);
	ck_assert_uint_eq(ep.peer.ctxtab_address, 102);
	ck_assert_uint_eq(ep.peer.ctxtab_entries, 103);
	ck_assert_uint_eq(ep.peer.sink_key, 104);
	ck_assert_uint_eq(ep.peer.sink_address, 105);
	ck_assert_uint_eq(ep.credit_total, 15);
	ck_assert_uint_eq(ep.dest, 17);
}
END_TEST

/* Each flag of the peer means one thing. */
START_TEST(the_ep_knows_what_its_peer_does)
{
	static const uint16_t flags[] = {0,
					 DOFI_MSG_F_DATA,
					 DOFI_MSG_F_CREDITS,
					 DOFI_MSG_F_SOLICITED,
					 DOFI_MSG_F_CTRL_MSGS,
					 DOFI_MSG_F_ATOMICS,
					 DOFI_MSG_F_CREDIT_WORD};
	uint16_t flag = conn.peer_flags = flags[_i];

	dofi_conn_path_made(&conn);
	ck_assert_int_eq(ep.peer.wants_data, flag == DOFI_MSG_F_DATA);
	ck_assert_int_eq(ep.peer.credits, flag == DOFI_MSG_F_CREDITS);
	ck_assert_int_eq(ep.peer.wants_solicited, flag == DOFI_MSG_F_SOLICITED);
	ck_assert_int_eq(ep.peer.ctrl_msgs, flag == DOFI_MSG_F_CTRL_MSGS);
	ck_assert_int_eq(ep.peer.atomics, flag == DOFI_MSG_F_ATOMICS);
	ck_assert(!ep.peer.has_credit_word); /* this IA does not write any */
}
END_TEST

/* Both sides have to use them, and only on the fabric. */
START_TEST(credits_are_written_to_the_word_of_the_peer)
{
	static const struct {
		enum dofi_credit_mode credits;
		uint16_t flags;
		bool over_memory, written, any;
	} cases[] = {{DOFI_CREDITS_WRITTEN, DOFI_MSG_F_CREDIT_WORD, false, true, true},
		     {DOFI_CREDITS_CARRIED, DOFI_MSG_F_CREDIT_WORD, false, false, false},
		     {DOFI_CREDITS_WRITTEN, 0, false, false, false},
		     {DOFI_CREDITS_WRITTEN, DOFI_MSG_F_CREDIT_WORD, true, false, true}};

	ia.credits = cases[_i].credits;
	conn.peer_flags = cases[_i].flags;
	conn.over_memory = cases[_i].over_memory;
	dofi_conn_path_made(&conn);
	ck_assert_int_eq(ep.peer.has_credit_word, cases[_i].written);
	ck_assert_int_eq(ep.peer.credits, cases[_i].any);
	ck_assert_uint_eq(ep.peer.sink_address,
			  cases[_i].written ? 105 + 2 * sizeof(struct dofi_credit_words) : 105);
}
END_TEST

/* The smaller one of both sides. Programs ask for none, and read all the same. */
START_TEST(reads_are_limited_by_both_sides)
{
	static const struct {
		DAT_COUNT ours;
		uint32_t theirs, limit;
	} cases[] = {{6, 16, 6}, {16, 6, 6}, {6, 6, 6}, {0, 6, 1}, {6, 0, 1}, {1, 1, 1}};

	ep.attr.max_rdma_read_out = cases[_i].ours;
	conn.peer_read_in = cases[_i].theirs;
	dofi_conn_path_made(&conn);
	ck_assert_uint_eq(ep.read_limit, cases[_i].limit);
}
END_TEST

START_TEST(the_endpoint_is_that_of_the_connection)
{
	conn.fep = _i ? &own : NULL;
	dofi_conn_path_made(&conn);
	ck_assert_ptr_eq(ep.fep, _i ? &own : &shared);
}
END_TEST

/* The path within a host keeps the order of a stream, whatever the fabric does. */
START_TEST(a_path_by_memory_has_its_own_transport)
{
	conn.trans = &local_trans; /* wanted; the two sides may not have agreed on it */
	conn.over_memory = _i;
	dofi_conn_path_made(&conn);
	ck_assert_ptr_eq(ep.trans, _i ? &local_trans : &trans);
	ck_assert_int_eq(ep.streams, _i);
}
END_TEST

START_TEST(nothing_of_the_former_connection_is_left)
{
	cache[5].context = 5;
	ep.ctrl_msgs = &ctrl_msgs;
	ep.reads = ep.writes = ep.nsent = 7;
	ep.dirty = ep.peeking = ep.faulty = ep.refused = ep.ending_soon = ep.unfenced = true;
	ep.atomics_used = ep.answers_due = 1;
	ep.ctrl.kind = DOFI_CTRL_IMMEDIATE;
	ep.peer.ctrl_known = true;
	dofi_conn_path_made(&conn);
	ck_assert_uint_eq(cache[5].context, 0);
	ck_assert_uint_eq(ep.reads, 0);
	ck_assert_uint_eq(ep.writes, 0);
	ck_assert_uint_eq(ep.nsent, 0);
	ck_assert(!ep.dirty && !ep.peeking && !ep.faulty);
	ck_assert(!ep.refused && !ep.ending_soon && !ep.unfenced);
	ck_assert_uint_eq(ep.atomics_used, 0);
	ck_assert_uint_eq(ep.answers_due, 0);
	ck_assert_uint_eq(ep.ctrl.kind, 0);
	ck_assert(!ep.peer.ctrl_known);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("path");
	TCase *tcase = tcase_create("path");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_peer_learns_the_limits_of_the_ep);
	tcase_add_loop_test(tcase, a_peer_learns_what_the_ep_does, 0, 7);
	tcase_add_test(tcase, a_peer_of_datagrams_learns_the_number_of_the_ep);
	tcase_add_test(tcase, what_the_peer_tells_is_kept);
	tcase_add_test(tcase, the_ep_knows_its_peer);
	tcase_add_loop_test(tcase, the_ep_knows_what_its_peer_does, 0, 7);
	tcase_add_loop_test(tcase, credits_are_written_to_the_word_of_the_peer, 0, 4);
	tcase_add_loop_test(tcase, reads_are_limited_by_both_sides, 0, 6);
	tcase_add_loop_test(tcase, the_endpoint_is_that_of_the_connection, 0, 2);
	tcase_add_loop_test(tcase, a_path_by_memory_has_its_own_transport, 0, 2);
	tcase_add_test(tcase, nothing_of_the_former_connection_is_left);
	return t_run(suite);
}
