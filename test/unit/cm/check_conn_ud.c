/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections of datagrams: their address handles, marks and ends. */
#include "../../../prov/ofi/cm/ud_ah.h"
#include "../../../prov/ofi/dto/ud_window.h"
#include "conn_world.h"

/* --- address handles --- */

static struct dofi_wakeup_peer *wakeup_of(bool ours)
{
	static struct dofi_wakeup_peer *peer;
	static _Atomic uint32_t mark;

	peer = peer ? peer : calloc(1, sizeof(*peer));
	ia.wakeup.mark = ours ? &mark : NULL;
	return peer;
}

/* What a datagram to the peer needs, and for who has asked the peer's private data. */
START_TEST(an_address_handle_names_the_peer)
{
	bool active = _i % 2, wakes = _i / 2;
	struct dofi_wakeup_peer *wakeup = wakeup_of(wakes);
	static const char data[] = "of the peer";
	struct dofi_ud_ah *ah;

	chan.remote.ss_family = AF_INET6;
	reach(active ? UD_CONNECTING : UD_ACCEPTED);
	conn->dest = 0xd00d;
	conn->peer_ud = 9;
	conn->wakeup = wakeup;
	memset(conn->peer_token, 0x5a, sizeof(conn->peer_token));
	dofi_conn_set_private(conn, data, sizeof(data));
	happens(active ? PATH_UP : MSG_READY);
	ah = conn->ud_ah;
	ck_assert_ptr_eq(dofi_ud_ah(ah), ah);
	ck_assert_ptr_eq(ah->ep, &ep);
	ck_assert_uint_eq(ah->dest, 0xd00d);
	ck_assert_uint_eq(ah->number, 9);
	ck_assert_ptr_eq(ah->wakeup, wakes ? wakeup : NULL);
	ck_assert_int_eq(ah->addr.ss_family, AF_INET6);
	ck_assert_uint_eq(ah->peer_conn, 77);
	ck_assert_uint_eq(ah->peer_secret, dofi_token_secret(conn->peer_token));
	ck_assert_uint_eq(ah->private_size, active ? sizeof(data) : 0);
	if (active)
		ck_assert_mem_eq(ah->private_data, data, sizeof(data));
	ck_assert_ptr_eq(last_event.handle, &ep);
	ck_assert_ptr_eq(last_event.conn.private_data, ah);
	ck_assert_uint_eq(last_event.conn.private_size, ah->private_size);
	ck_assert_uint_eq(last_event.ext,
			  (active ? DOFI_UD_TYPE_REMOTE_AH : DOFI_UD_TYPE_PASSIVE_AH) + 1);
}
END_TEST

START_TEST(an_attempt_that_fails_has_an_event)
{
	static const struct {
		enum happening what;
		uint16_t type;
	} cases[] = {{MSG_BYE, DOFI_UD_TYPE_REJECTED}, {FAIL, DOFI_UD_TYPE_ERROR}};

	reach(UD_CONNECTING);
	happens(cases[_i].what);
	run_work();
	ck_assert_ptr_eq(last_event.handle, &ep);
	ck_assert_uint_eq(last_event.ext, cases[_i].type + 1);
	ck_assert_uint_eq(last_event.conn.private_size, 0);
	ck_assert(dofi_list_empty(&ud.conns));
}
END_TEST

/* Returns the object that has the private data of the event. */
static struct dofi_ud_ah *be_refused(const char *data, uint32_t size)
{
	struct dofi_msg reject = {.type = DOFI_MSG_REJECT,
				  .reason = DOFI_REASON_CONSUMER,
				  .private_data = data,
				  .private_size = size};

	ep.ud = &ud;
	start();
	happens(CHAN_UP);
	reject.dst = id;
	dofi_conn_message(&chan, &reject);
	run_work();
	ck_assert(is_gone());
	return dofi_ud_ah(last_event.conn.private_data);
}

/* The consumer's reasons come with the event, and remain when the next attempt is refused. */
START_TEST(a_refused_attempt_brings_private_data)
{
	struct dofi_ud_ah *first = be_refused("not today", 10), *second, *third;

	ck_assert_ptr_nonnull(first);
	ck_assert_uint_eq(last_event.number, DOFI_UD_EVENT_REJECTED);
	ck_assert_uint_eq(last_event.ext, DOFI_UD_TYPE_REJECTED + 1);
	ck_assert_uint_eq(last_event.conn.private_size, 10);
	second = be_refused("never", 6);
	ck_assert_uint_eq(last_event.conn.private_size, 6);
	ck_assert_ptr_ne(second, first);
	ck_assert_str_eq((char *)first->private_data, "not today");
	ck_assert_str_eq((char *)second->private_data, "never");
	atomic_store(&second->told, true); /* dequeued */
	third = be_refused("maybe", 6);
	ck_assert_ptr_null(dofi_ud_ah(second));
	ck_assert_str_eq((char *)third->private_data, "maybe");
	ck_assert_ptr_eq(dofi_ud_ah(first), first);
	dofi_ud_drop_all(&ep);
	ck_assert(dofi_list_empty(&ud.rejections));
	ck_assert_ptr_null(dofi_ud_ah(first));
	ck_assert_ptr_null(dofi_ud_ah(third));
}
END_TEST

/* Nothing is kept, nor for an event that nobody gets. */
START_TEST(a_refused_attempt_without_private_data)
{
	if (_i)
		ep.conn_evd = NULL;
	ck_assert_ptr_null(_i ? be_refused("never", 6) : be_refused(NULL, 0));
	ck_assert_uint_eq(last_event.conn.private_size, 0);
	ck_assert(dofi_list_empty(&ud.rejections));
}
END_TEST

START_TEST(a_datagram_has_the_connection_of_its_address_handle)
{
	struct dofi_wr wr = {.op = DOFI_OP_SEND};

	reach(DATAGRAM);
	ck_assert_ptr_null(dofi_ud_conn_of(&wr));
	wr.send.ah = conn->ud_ah;
	ck_assert_ptr_eq(dofi_ud_conn_of(&wr), conn);
	happens(CHAN_LOST);
	ck_assert_ptr_null(dofi_ud_conn_of(&wr));
}
END_TEST

/* The consumer does not want to know. */
START_TEST(an_ep_without_connect_evd_has_no_event)
{
	ep.conn_evd = NULL;
	reach(UD_ACCEPTED);
	happens(_i ? MSG_READY : MSG_BYE);
	run_work();
	ck_assert_str_eq(trace, _i ? "" : "unlink");
}
END_TEST

static struct dofi_ud_ah *reach_handle(void)
{
	reach(DATAGRAM);
	atomic_store(&ep.obj.magic, DOFI_MAGIC | (uint32_t)DAT_HANDLE_TYPE_EP);
	return conn->ud_ah;
}

typedef DAT_RETURN release(DAT_EP_HANDLE of, const void *handle);

static DAT_RETURN let_go(release *call, void *of, const void *handle)
{
	DAT_RETURN ret;

	dofi_unlock(&ia.engine.lock);
	ret = call(of, handle);
	dofi_lock(&ia.engine.lock);
	return ret;
}

/* It has two owners, the consumer's address handle and its connection, in either order. */
START_TEST(an_address_handle_is_valid_until_both_parts_are_freed)
{
	struct dofi_ud_ah *ah = reach_handle();
	release *first = _i ? dofi_ud_cm_free : dofi_ud_ah_free,
		*other = _i ? dofi_ud_ah_free : dofi_ud_cm_free;

	ck_assert_uint_eq(let_go(first, &ep, ah), DAT_SUCCESS);
	ck_assert_int_eq(nsilent, !_i);
	ck_assert_uint_eq(let_go(first, &ep, ah), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(let_go(other, &ep, ah), DAT_SUCCESS);
	ck_assert_uint_eq(let_go(other, &ep, ah), DOFI_BAD_ARG(2));
	ck_assert_int_eq(nsilent, 1);
	ck_assert_str_eq(trace, "BYE-orderly");
	ck_assert_int_eq(conn->state, DOFI_CONN_RECEIVING_ONLY);
	ck_assert(!dofi_list_empty(&ud.ahs)); /* it answers the peer's marks */
	happens(MSG_BYE);
	ck_assert(is_gone());
	ck_assert(dofi_list_empty(&ud.ahs) && dofi_list_empty(&ud.conns));
	ck_assert_uint_eq(ia.counts[DOFI_HANDLE_TYPE_AH], 0);
}
END_TEST

/* The peer is gone first. */
START_TEST(a_lost_peer_gets_no_more_datagrams)
{
	struct dofi_ud_ah *ah = reach_handle();

	mark_finds_no_room = true;
	dofi_ud_answer(ah, 5);
	ck_assert(!dofi_list_empty(&ia.ud_answers));
	happens(CHAN_LOST);
	ck_assert(is_gone());
	ck_assert_int_eq(nsilent, 1);
	ck_assert(dofi_list_empty(&ia.ud_answers)); /* nobody waits for it any more */
	ck_assert_ptr_null(ah->conn);
	ck_assert_uint_eq(let_go(dofi_ud_cm_free, &ep, ah), DAT_SUCCESS);
	ck_assert(!dofi_list_empty(&ud.ahs));
	ck_assert_uint_eq(let_go(dofi_ud_ah_free, &ep, ah), DAT_SUCCESS);
	ck_assert(dofi_list_empty(&ud.ahs));
}
END_TEST

/* The peer sends nothing any more, so nothing is left for the connection to do. */
START_TEST(the_last_use_of_an_address_handle_ends_the_connection)
{
	struct dofi_ud_ah *ah;

	reach(SENDING_ONLY);
	atomic_store(&ep.obj.magic, DOFI_MAGIC | (uint32_t)DAT_HANDLE_TYPE_EP);
	ah = conn->ud_ah;
	mark_finds_no_room = true;
	dofi_ud_answer(ah, 5);
	ck_assert(!dofi_list_empty(&ia.ud_answers));
	ck_assert_uint_eq(let_go(dofi_ud_ah_free, &ep, ah), DAT_SUCCESS);
	ck_assert_str_eq(trace, "BYE-orderly unlink");
	ck_assert(is_gone());
	ck_assert(dofi_list_empty(&ud.conns));
	ck_assert(dofi_list_empty(&ia.ud_answers));
	ck_assert_ptr_null(ah->conn);
	ck_assert_uint_eq(let_go(dofi_ud_cm_free, &ep, ah), DAT_SUCCESS);
	ck_assert(dofi_list_empty(&ud.ahs));
	ck_assert_uint_eq(ia.counts[DOFI_HANDLE_TYPE_AH], 0);
}
END_TEST

/* The call returns without the engine's lock, as let_go sees. */
START_TEST(only_an_address_handle_of_the_ia_is_freed)
{
	release *call = _i ? dofi_ud_cm_free : dofi_ud_ah_free;
	struct dofi_ud_ah *ah = reach_handle();
	static struct dofi_ia other;

	ck_assert_uint_eq(let_go(call, &ep, NULL), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(let_go(call, &ep, &ep), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(let_go(call, NULL, ah), DOFI_BAD_HANDLE(EP));
	ah->obj.ia = &other;
	ck_assert_uint_eq(let_go(call, &ep, ah), DOFI_BAD_ARG(2));
	ah->obj.ia = &ia;
	ep.ud = NULL;
	ck_assert_uint_eq(let_go(call, &ep, ah), DOFI_BAD_HANDLE(EP));
	ep.ud = &ud;
	ck_assert_int_eq(nsilent, 0);
	ck_assert(!ah->ah_freed && !ah->cm_freed);
}
END_TEST

static bool no_objects;

void *__real_dofi_obj_alloc(struct dofi_ia *of, const DAT_PROVIDER *provider, DAT_HANDLE_TYPE type,
			    size_t size);
void *__wrap_dofi_obj_alloc(struct dofi_ia *of, const DAT_PROVIDER *provider, DAT_HANDLE_TYPE type,
			    size_t size);

void *__wrap_dofi_obj_alloc(struct dofi_ia *of, const DAT_PROVIDER *provider, DAT_HANDLE_TYPE type,
			    size_t size)
{
	return no_objects ? NULL : __real_dofi_obj_alloc(of, provider, type, size);
}

START_TEST(without_memory_for_the_handle_the_connection_ends)
{
	reach(UD_ACCEPTED);
	no_objects = true;
	happens(MSG_READY);
	run_work();
	ck_assert_str_eq(trace, "unlink BYE-error ud-error");
	ck_assert(is_gone());
}
END_TEST

/* Two sides establish a connection of datagrams. */
START_TEST(connections_of_datagrams_are_counted)
{
	reach(_i ? ACTIVE_DATAGRAM : DATAGRAM);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_AH_RESOLVED]), 1);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_ACTIVE_EST]), _i);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_PASSIVE_EST]), !_i);
	ck_assert(!is_armed(&conn->timer));
}
END_TEST

/* --- marks --- */

static bool mark_comes(uint32_t update)
{
	return dofi_ud_mark(&ia, id, dofi_token_secret(conn->token), update);
}

START_TEST(a_mark_is_answered)
{
	static const enum situation states[] = {DATAGRAM, ACTIVE_DATAGRAM, RECEIVING_ONLY};

	reach(states[_i]);
	ck_assert(mark_comes(42));
	ck_assert_str_eq(trace, "answer-42");
	ck_assert(!dofi_ud_mark(&ia, id, dofi_token_secret(conn->token) + 1, 43));
	ck_assert(!dofi_ud_mark(&ia, 0, dofi_token_secret(conn->token), 43));
	ck_assert_str_eq(trace, "answer-42");
}
END_TEST

/* The peer sends as soon as it has its address handle, and its READY takes another way. */
START_TEST(a_mark_that_comes_before_ready_is_answered_with_the_handle)
{
	reach(UD_ACCEPTED);
	ck_assert(mark_comes(42));
	ck_assert(mark_comes(43));
	ck_assert_str_eq(trace, "");
	happens(MSG_READY);
	ck_assert_str_eq(trace, "answer-43 ud-established");
}
END_TEST

static struct dofi_conn peer_here;
static uint32_t answered;

struct dofi_conn *__real_dofi_conn_by_secret(struct dofi_ia *of, uint32_t number, uint32_t secret);
struct dofi_conn *__wrap_dofi_conn_by_secret(struct dofi_ia *of, uint32_t number, uint32_t secret);
void __wrap_dofi_ud_mark_answered(struct dofi_ud_ah *ah, uint32_t update);

struct dofi_conn *__wrap_dofi_conn_by_secret(struct dofi_ia *of, uint32_t number, uint32_t secret)
{
	if (peer_here.ia && number == peer_here.id && secret == dofi_token_secret(peer_here.token))
		return &peer_here;
	return __real_dofi_conn_by_secret(of, number, secret);
}

void __wrap_dofi_ud_mark_answered(struct dofi_ud_ah *ah, uint32_t update)
{
	ck_assert_ptr_eq(ah, peer_here.ud_ah);
	answered = update;
}

/* An IA that is connected to itself does not wait for its own READY. */
START_TEST(a_mark_of_the_same_ia_is_answered_before_ready)
{
	struct dofi_ud_ah ah = {0};

	reach(UD_ACCEPTED);
	peer_here.ia = &ia;
	peer_here.id = conn->peer_id;
	memcpy(peer_here.token, conn->peer_token, DOFI_TOKEN_SIZE);
	ck_assert(mark_comes(42)); /* the peer has no handle yet */
	ck_assert_uint_eq(answered, 0);
	peer_here.ud_ah = &ah;
	ck_assert(mark_comes(43));
	ck_assert_uint_eq(answered, 43);
	happens(MSG_READY);
	ck_assert_str_eq(trace, "answer-42 ud-established");
}
END_TEST

START_TEST(connections_without_datagrams_take_no_marks)
{
	reach(ESTABLISHED);
	ck_assert(!mark_comes(42));
	ck_assert_str_eq(trace, "");
}
END_TEST

/* --- ends --- */

/* A mark of the peer that comes meanwhile must not be answered by it. */
static void see_that_the_handle_is_gone(void)
{
	ck_assert_ptr_null(conn->ud_ah);
}

/* A UD EP is freed. Its connections end without an event, and the peers send nothing more. */
START_TEST(an_ep_of_datagrams_that_is_freed_ends_its_connections)
{
	static const enum situation states[] = {DATAGRAM, SENDING_ONLY, RECEIVING_ONLY};

	reach(states[_i]);
	while_unlinking = see_that_the_handle_is_gone;
	dofi_ud_drop_all(&ep);
	ck_assert(dofi_list_empty(&ud.conns));
	ck_assert_uint_eq(ia.counts[DOFI_HANDLE_TYPE_AH], 0);
	ck_assert_int_eq(nsilent, 1);
	ck_assert(!takes_posts); /* a request of another EP would keep it */
	ck_assert_str_eq(trace, "unlink BYE-error");
	ck_assert(is_gone());
	ck_assert(dofi_list_empty(&ud.ahs));
}
END_TEST

/* What the consumer has freed goes with the connection, and not before. */
START_TEST(a_freed_address_handle_stays_while_the_peer_sends)
{
	struct dofi_ud_ah *ah;

	reach(DATAGRAM);
	ah = conn->ud_ah;
	ah->ah_freed = ah->cm_freed = true;
	happens(AH_FREE);
	ck_assert_int_eq(conn->state, DOFI_CONN_RECEIVING_ONLY);
	ck_assert(!dofi_list_empty(&ud.ahs));
	happens(MSG_BYE);
	ck_assert(is_gone());
	ck_assert(dofi_list_empty(&ud.ahs));
}
END_TEST

static void add_failures(Suite *suite)
{
	TCase *tc = add_case(suite, "failures");

	tcase_add_loop_test(tc, an_ep_of_datagrams_that_is_freed_ends_its_connections, 0, 3);
	tcase_add_test(tc, a_freed_address_handle_stays_while_the_peer_sends);
	tcase_add_loop_test(tc, a_mark_is_answered, 0, 3);
	tcase_add_test(tc, a_mark_that_comes_before_ready_is_answered_with_the_handle);
	tcase_add_test(tc, a_mark_of_the_same_ia_is_answered_before_ready);
	tcase_add_test(tc, connections_without_datagrams_take_no_marks);
}

static void add_handles(Suite *suite)
{
	TCase *tc = add_case(suite, "handles");

	tcase_add_loop_test(tc, an_address_handle_names_the_peer, 0, 4);
	tcase_add_loop_test(tc, an_attempt_that_fails_has_an_event, 0, 2);
	tcase_add_test(tc, a_refused_attempt_brings_private_data);
	tcase_add_loop_test(tc, a_refused_attempt_without_private_data, 0, 2);
	tcase_add_test(tc, a_datagram_has_the_connection_of_its_address_handle);
	tcase_add_loop_test(tc, an_ep_without_connect_evd_has_no_event, 0, 2);
	tcase_add_loop_test(tc, an_address_handle_is_valid_until_both_parts_are_freed, 0, 2);
	tcase_add_test(tc, a_lost_peer_gets_no_more_datagrams);
	tcase_add_test(tc, the_last_use_of_an_address_handle_ends_the_connection);
	tcase_add_loop_test(tc, only_an_address_handle_of_the_ia_is_freed, 0, 2);
	tcase_add_test(tc, without_memory_for_the_handle_the_connection_ends);
	tcase_add_loop_test(tc, connections_of_datagrams_are_counted, 0, 2);
}

int main(void)
{
	Suite *suite = suite_create("conn_ud");

	add_failures(suite);
	add_handles(suite);
	return t_run(suite);
}
