/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An end that waits until the peers have taken what was sent: which connections it waits for, how
 * long, and that it reads what they answer.
 */
#include "../../lib/t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/conn_state.h"
#include "../../../prov/ofi/cm/linger.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/progress/engine.h"

#define CONNS 2
#define MS    UINT64_C(1000000)

static struct dofi_ia ia = {.params = {.linger_ms = 1000}, .engine.has_fabric = true};
static struct dofi_chan chan = {.ia = &ia, .state = DOFI_CHAN_UP};
static struct dofi_ep eps[CONNS];
static struct dofi_conn conns[CONNS], *table[] = {&conns[0], NULL, NULL, &conns[1]};
static uint64_t now;
static int syncs[CONNS], drains, heard, yields;
static int answer_after[CONNS] = {3, 3}; /* so many looks at the completion queue */
static int refuse_until;                 /* a read finds no room before so many looks */
static int leave_at = -1;                /* the peers' BYE is what is heard at that time */
static bool reads_fail, reads_are_refused;

uint64_t __wrap_dofi_now(void);
bool __wrap_dofi_ep_sync(struct dofi_ep *of);
int __wrap_dofi_engine_drain_cq(struct dofi_ia *of);
void __wrap_dofi_engine_hear(struct dofi_ia *of);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

bool __wrap_dofi_ep_sync(struct dofi_ep *of)
{
	syncs[of - eps]++;
	of->faulty = reads_fail;
	of->refused = reads_are_refused;
	if (drains < refuse_until || reads_fail || reads_are_refused)
		return false;
	of->peeking = true;
	return true;
}

T_STAND_IN int __wrap_sched_yield(void);

int __wrap_sched_yield(void)
{
	yields++;
	return 0;
}

/* The peers' answers lie in the completion queue, and nowhere else. */
int __wrap_dofi_engine_drain_cq(struct dofi_ia *of)
{
	(void)of;
	now += 10 * MS;
	drains++;
	for (int i = 0; i < CONNS; i++)
		if (drains >= answer_after[i])
			eps[i].peeking = false;
	return 0;
}

void __wrap_dofi_engine_hear(struct dofi_ia *of)
{
	(void)of;
	if (heard++ == leave_at)
		for (int i = 0; i < CONNS; i++)
			conns[i].peer_told = true;
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock(&ia.engine.lock);
	ia.cm.conns = table;
	ia.cm.conns_size = sizeof(table) / sizeof(table[0]);
	for (int i = 0; i < CONNS; i++) {
		dofi_lock_init(&eps[i].lock);
		eps[i].obj.ia = &ia;
		eps[i].path_up = eps[i].dirty = true;
		conns[i].ia = &ia;
		conns[i].ep = &eps[i];
		conns[i].chan = &chan;
		conns[i].state = DOFI_CONN_ESTABLISHED;
	}
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
}

START_TEST(waits_until_all_peers_have_answered)
{
	dofi_linger_all(&ia);
	ck_assert_int_eq(drains, 3);
	ck_assert_int_gt(heard, 0);
	for (int i = 0; i < CONNS; i++) {
		ck_assert_int_eq(syncs[i], 1); /* at the same time */
		ck_assert(!conns[i].lingers);
		ck_assert(!eps[i].dirty);
	}
}
END_TEST

START_TEST(waits_for_a_limited_time)
{
	answer_after[_i] = 1000000;
	dofi_linger_all(&ia);
	ck_assert_uint_eq(now, 1000 * MS);
	ck_assert_int_eq(drains, 100);
	ck_assert_int_eq(yields, 100); /* the peer may need this processor */
	ck_assert(conns[_i].lingers && !conns[1 - _i].lingers);
}
END_TEST

/* The last one may have any place in the table. */
START_TEST(waits_for_the_last_answer)
{
	answer_after[_i] = 5;
	dofi_linger_all(&ia);
	ck_assert_int_eq(drains, 5);
	ck_assert(!conns[0].lingers && !conns[1].lingers);
}
END_TEST

START_TEST(asks_again_when_the_fabric_has_room)
{
	refuse_until = 2;
	dofi_linger_all(&ia);
	ck_assert_int_eq(drains, 3);
	ck_assert(!eps[0].dirty && !eps[1].dirty);
}
END_TEST

/* It has failed, or the peer has refused it. */
START_TEST(does_not_wait_for_a_read_that_cannot_start)
{
	reads_fail = _i;
	reads_are_refused = !_i;
	dofi_linger_all(&ia);
	ck_assert_int_eq(drains, 0);
	ck_assert_int_eq(syncs[0] + syncs[1], CONNS);
	ck_assert(eps[0].dirty);
}
END_TEST

/* BYE may lie in the socket at the beginning, or come meanwhile. */
START_TEST(does_not_wait_for_a_peer_that_leaves)
{
	leave_at = _i;
	answer_after[0] = 1000000;
	dofi_linger_all(&ia);
	ck_assert_int_eq(drains, _i);
	ck_assert_int_eq(syncs[0], _i ? 1 : 0);
}
END_TEST

/* A path by memory is not moved by the device. */
START_TEST(waits_for_paths_by_memory_beside_a_device)
{
	ia.moves_alone = true;
	conns[1].over_memory = true;
	dofi_linger_all(&ia);
	ck_assert_int_eq(drains, 3);
	ck_assert_int_eq(syncs[0], 0);
	ck_assert_int_eq(syncs[1], 1);
}
END_TEST

/* Whatever was under way before it was asked to linger is waited for, too. */
START_TEST(waits_for_a_read_that_is_under_way)
{
	for (int i = 0; i < CONNS; i++) {
		eps[i].dirty = false;
		eps[i].peeking = true;
	}
	dofi_linger_all(&ia);
	ck_assert_int_eq(drains, 3);
	ck_assert_int_eq(syncs[0] + syncs[1], 0);
}
END_TEST

enum why {
	CLEAN,
	A_DEVICE,
	DATAGRAMS,
	NO_PATH,
	FAULTY,
	NOT_UP,
	PEER_TOLD,
	NO_CHANNEL,
	CHANNEL_DEAD,
	NO_FABRIC,
	WHYS
};

static void make(enum why why, struct dofi_conn *conn)
{
	static struct dofi_chan dead = {.ia = &ia, .state = DOFI_CHAN_DEAD};

	ia.moves_alone = why == A_DEVICE;
	ia.engine.has_fabric = why != NO_FABRIC;
	conn->ep->dirty = why != CLEAN;
	conn->ud = why == DATAGRAMS;
	conn->ep->path_up = why != NO_PATH;
	conn->ep->faulty = why == FAULTY;
	conn->peer_told = why == PEER_TOLD;
	if (why == NOT_UP)
		conn->state = DOFI_CONN_CONNECTING;
	if (why == NO_CHANNEL)
		conn->chan = NULL;
	if (why == CHANNEL_DEAD)
		conn->chan = &dead;
}

START_TEST(does_not_wait_in_vain)
{
	for (int i = 0; i < CONNS; i++)
		make((enum why)_i, &conns[i]);
	dofi_linger_all(&ia);
	ck_assert_int_eq(drains, 0);
	ck_assert_int_eq(syncs[0] + syncs[1], 0);
}
END_TEST

START_TEST(waits_for_the_one_that_has_something_to_take)
{
	make(CLEAN, &conns[0]);
	dofi_linger_all(&ia);
	ck_assert_int_eq(drains, 3);
	ck_assert_int_eq(syncs[0], 0);
	ck_assert_int_eq(syncs[1], 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("linger");
	TCase *tc = tcase_create("linger");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, waits_until_all_peers_have_answered);
	tcase_add_loop_test(tc, waits_for_a_limited_time, 0, CONNS);
	tcase_add_loop_test(tc, waits_for_the_last_answer, 0, CONNS);
	tcase_add_test(tc, asks_again_when_the_fabric_has_room);
	tcase_add_loop_test(tc, does_not_wait_for_a_read_that_cannot_start, 0, 2);
	tcase_add_loop_test(tc, does_not_wait_for_a_peer_that_leaves, 0, 3);
	tcase_add_test(tc, waits_for_paths_by_memory_beside_a_device);
	tcase_add_test(tc, waits_for_a_read_that_is_under_way);
	tcase_add_loop_test(tc, does_not_wait_in_vain, 0, WHYS);
	tcase_add_test(tc, waits_for_the_one_that_has_something_to_take);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
