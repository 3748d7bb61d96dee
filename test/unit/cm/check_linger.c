/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An end that waits until the peers have taken what was sent: which connections it waits for, how
 * long, and that it reads what they answer.
 */
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
static int syncs[CONNS], drains, heard;
static int answer_after = 3; /* so many looks at the completion queue */

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
	of->peeking = true;
	return true;
}

/* The peers' answers lie in the completion queue, and nowhere else. */
int __wrap_dofi_engine_drain_cq(struct dofi_ia *of)
{
	(void)of;
	now += 10 * MS;
	if (++drains < answer_after)
		return 0;
	for (int i = 0; i < CONNS; i++)
		eps[i].peeking = false;
	return CONNS;
}

void __wrap_dofi_engine_hear(struct dofi_ia *of)
{
	(void)of;
	heard++;
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
	answer_after = 1000000;
	dofi_linger_all(&ia);
	ck_assert_uint_ge(now, 1000 * MS);
	ck_assert_uint_le(now, 1010 * MS);
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
	tcase_add_test(tc, waits_for_a_limited_time);
	tcase_add_test(tc, waits_for_a_read_that_is_under_way);
	tcase_add_loop_test(tc, does_not_wait_in_vain, 0, WHYS);
	tcase_add_test(tc, waits_for_the_one_that_has_something_to_take);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
