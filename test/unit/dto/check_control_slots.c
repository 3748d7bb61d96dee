/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of control slots: which fabrics need it, and what a peer learns of an EP's part. */
#include "t_hooks.h"
#include "unit.h"

#include "dto/control.h"
#include "dto/control_message.h"
#include "dto/credit.h"
#include "fabric/quirks.h"
#include "fabric/select.h"
#include "fabric/traits.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mr.h"
#include "object/transport.h"
#include "object/upcalls.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <string.h>

#define EPS     3u
#define ENTRIES 3u
#define KEY     77u
#define ADDRESS 0x4000u

static struct dofi_ctrl_slots memory[EPS];
static struct fid_mr region;
static struct dofi_ctx_wire wire[ENTRIES];
static struct dofi_ctx_local local[ENTRIES];
static struct fi_domain_attr domain;
static struct fi_tx_attr tx;
static struct fi_rx_attr rx;
static struct fi_info info = {.domain_attr = &domain, .tx_attr = &tx, .rx_attr = &rx};
static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_trans_ops trans;
static const struct dofi_trans_ops within_host;

/* --- the linker redirects these calls --- */

static unsigned int maps;
static int map_answer;
static bool no_memory;

int __wrap_dofi_mr_map(struct dofi_ia *of, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		       void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
void *__real_calloc(size_t n, size_t size);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);

int __wrap_dofi_mr_map(struct dofi_ia *of, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		       void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_eq(size, sizeof(memory));
	ck_assert_uint_eq(extra, 0);
	ck_assert_int_eq(privileges,
			 DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	maps++;
	*memory_p = memory;
	*mr_p = &region;
	*key_p = KEY;
	*address_p = ADDRESS;
	return map_answer;
}

static unsigned int abandoned;

void __wrap_dofi_mr_abandon(struct dofi_ia *of, struct fid_mr *mr, void *mem, size_t size);

void __wrap_dofi_mr_abandon(struct dofi_ia *of, struct fid_mr *mr, void *mem, size_t size)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(mr, &region);
	ck_assert_ptr_eq(mem, memory);
	ck_assert_uint_eq(size, sizeof(memory));
	abandoned++;
}

static size_t asked; /* bytes, of the latest allocation */

void *__wrap_calloc(size_t n, size_t size)
{
	asked = n * size;
	return no_memory ? NULL : __real_calloc(n, size);
}

/* --- */

static ssize_t write_ctrl(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			  uint64_t rkey, uint64_t data)
{
	(void)of;
	(void)record;
	(void)size;
	(void)raddr;
	(void)rkey;
	(void)data;
	return 0;
}

static ssize_t ctrl_msg(struct dofi_ep *of, const void *message, size_t size)
{
	(void)of;
	(void)message;
	(void)size;
	return 0;
}

/* A fabric for control writes. */
static void setup(void)
{
	dofi_lock_init(&ia.ctxtab.lock);
	ia.info = &info;
	ia.trans = &trans;
	ia.order = DOFI_ORDERED;
	ia.limits.max_eps = EPS;
	ia.ctxtab.wire = wire;
	ia.ctxtab.local = local;
	ia.ctxtab.entries = ENTRIES;
	ia.ctxtab.fresh = 1;
	trans.write_ctrl = write_ctrl;
	domain.cq_data_size = 8;
	tx.inject_size = 4096;
	ep.obj.ia = &ia;
	ep.scratch = 2;
}

/* What an IA has had before does not count. */
static int open_slots(void)
{
	ia.ctrl_memory.slots = memory;
	ia.ctrl_memory.local = true;
	ia.uses_ctrl_msgs = true;
	return dofi_ctrl_slots_open(&ia);
}

START_TEST(the_way_of_control_records_follows_the_fabric)
{
	static const struct {
		bool writes, messages, within_host; /* possible */
		bool slots, local, uses_msgs;
	} cases[] = {
		{true, false, false, true, false, false}, {true, false, true, true, false, false},
		{true, true, true, true, false, false},   {false, true, false, false, true, true},
		{false, true, true, false, true, true},   {false, false, false, false, true, false},
		{false, false, true, true, true, false},
	};

	if (!cases[_i].writes)
		trans.write_ctrl = NULL;
	if (cases[_i].messages) {
		trans.ctrl_msg = ctrl_msg;
		ia.has_data = true;
	}
	if (cases[_i].within_host)
		ia.local_trans = &within_host;
	ck_assert_int_eq(open_slots(), 0);
	ck_assert_uint_eq(maps, cases[_i].slots);
	ck_assert_ptr_eq(ia.ctrl_memory.slots, cases[_i].slots ? memory : NULL);
	ck_assert(ia.ctrl_memory.local == cases[_i].local);
	ck_assert(ia.uses_ctrl_msgs == cases[_i].uses_msgs);
}
END_TEST

/* Each function takes away one thing that control writes need. */
static void no_order(void)
{
	ia.order = DOFI_FENCE;
}
static void waits_for_writes(void)
{
	ia.order = DOFI_HOLD;
}
static void short_data(void)
{
	domain.cq_data_size = 7;
}
static void data_takes_a_receive(void)
{
	info.mode = FI_RX_CQ_DATA;
}
static void data_takes_a_receive_of_the_endpoint(void)
{
	rx.mode = FI_RX_CQ_DATA;
}
static void no_inject(void)
{
	tx.inject_size = sizeof(struct dofi_atomic_request) - 1;
}
static void completes_messages_late(void)
{
	ia.quirks = DOFI_QUIRK_LATE_MESSAGES;
}
static void cannot_inject_writes(void)
{
	ia.quirks = DOFI_QUIRK_INJECTED_WRITES;
}
static void (*const lacks[])(void) = {no_order,
				      waits_for_writes,
				      completes_messages_late,
				      cannot_inject_writes,
				      short_data,
				      data_takes_a_receive,
				      data_takes_a_receive_of_the_endpoint,
				      no_inject};

START_TEST(control_writes_need_order_data_and_room)
{
	tx.inject_size = sizeof(struct dofi_atomic_request);
	ck_assert(dofi_ctrl_slots_possible(&ia));
	ck_assert(dofi_ctrl_possible(&ia));
	lacks[_i]();
	ck_assert(!dofi_ctrl_slots_possible(&ia));
	ck_assert(!dofi_ctrl_possible(&ia));
	if (tx.inject_size < DOFI_CTRL_MSG_MAX)
		return;
	trans.ctrl_msg = ctrl_msg; /* the other way */
	ia.has_data = true;
	ck_assert(dofi_ctrl_possible(&ia));
}
END_TEST

/* Until the endpoint is closed, peers may write there. */
START_TEST(the_memory_is_left_to_the_fabric_at_the_end)
{
	dofi_ctrl_slots_close(&ia);
	ck_assert_uint_eq(abandoned, 0);
	ck_assert_int_eq(open_slots(), 0);
	dofi_ctrl_slots_close(&ia);
	ck_assert_uint_eq(abandoned, 1);
	ck_assert_ptr_null(ia.ctrl_memory.slots);
	dofi_ctrl_slots_close(&ia);
	ck_assert_uint_eq(abandoned, 1);
}
END_TEST

START_TEST(memory_that_is_not_registered_is_not_used)
{
	map_answer = -FI_ENOMEM;
	ck_assert_int_eq(open_slots(), -FI_ENOMEM);
	ck_assert_ptr_null(ia.ctrl_memory.slots);
}
END_TEST

static uint32_t attach(void)
{
	ck_assert_int_eq(open_slots(), 0);
	ck_assert_int_eq(dofi_ctrl_slots_attach(&ep), 0);
	ck_assert_uint_ne(ep.ctrl_context, 0);
	return ep.ctrl_context;
}

/* The context is in the handshake; by it the peer reads where to write. */
START_TEST(a_peer_learns_the_slots_of_the_EP)
{
	uint32_t context = attach();
	struct dofi_ctx ctx;

	ck_assert(dofi_ctx_decode(&wire[1], context, &ctx));
	ck_assert_uint_eq(ctx.key, KEY);
	ck_assert_uint_eq(ctx.address, ADDRESS + 2 * sizeof(struct dofi_ctrl_slots));
	ck_assert_uint_eq(ctx.length, sizeof(struct dofi_ctrl_slots));
	ck_assert_uint_eq(ctx.privileges, DOFI_CTX_CTRL_SLOTS);
	ck_assert_ptr_eq(dofi_ctrl_slots_of(&ep), &memory[2]);
	dofi_ctrl_slots_detach(&ep);
	ck_assert_uint_eq(ep.ctrl_context, 0);
	ck_assert(!dofi_ctx_decode(&wire[1], context, &ctx));
	ck_assert_uint_eq(ia.ctxtab.used, 0);
}
END_TEST

/* A peer of a former connection may know the former place. */
START_TEST(other_slots_have_another_context)
{
	uint32_t former = attach();
	struct dofi_ctx ctx;

	ep.scratch = 1;
	ck_assert_int_eq(dofi_ctrl_slots_move(&ep), 0);
	ck_assert_uint_ne(ep.ctrl_context, former);
	ck_assert(dofi_ctx_decode(&wire[DOFI_CTX_INDEX(ep.ctrl_context)], ep.ctrl_context, &ctx));
	ck_assert_uint_eq(ctx.address, ADDRESS + sizeof(struct dofi_ctrl_slots));
	ck_assert_ptr_eq(dofi_ctrl_slots_of(&ep), &memory[1]);
	ck_assert(!dofi_ctx_decode(&wire[DOFI_CTX_INDEX(former)], former, &ctx));
	ck_assert_uint_eq(ia.ctxtab.used, 1);
	former = ep.ctrl_context;
	ia.ctxtab.fresh = ENTRIES;
	ia.ctxtab.resting = 0;
	ck_assert_int_eq(dofi_ctrl_slots_move(&ep), -ENOSPC);
	ck_assert_uint_eq(ep.ctrl_context, former);
}
END_TEST

START_TEST(without_a_free_context_there_are_no_slots)
{
	ia.ctxtab.fresh = ENTRIES;
	ck_assert_int_eq(open_slots(), 0);
	ck_assert_int_eq(dofi_ctrl_slots_attach(&ep), -ENOSPC);
	ck_assert_uint_eq(ep.ctrl_context, 0);
	ck_assert_uint_eq(wire[0].context, 0);
}
END_TEST

START_TEST(control_messages_need_no_context)
{
	ia.uses_ctrl_msgs = _i;
	ck_assert_int_eq(dofi_ctrl_slots_attach(&ep), 0);
	ck_assert(!ep.ctrl_msgs == !_i);
	if (_i)
		ck_assert_uint_eq(asked, sizeof(*ep.ctrl_msgs));
	ck_assert_uint_eq(ep.ctrl_context, 0);
	ck_assert_uint_eq(ia.ctxtab.used, 0);
	dofi_ctrl_slots_detach(&ep);
	ck_assert_ptr_null(ep.ctrl_msgs);
}
END_TEST

START_TEST(without_memory_there_are_no_control_messages)
{
	ia.uses_ctrl_msgs = true;
	no_memory = true;
	ck_assert_int_eq(dofi_ctrl_slots_attach(&ep), -ENOMEM);
	no_memory = false;
	ck_assert_ptr_null(ep.ctrl_msgs);
	ck_assert_uint_eq(ep.ctrl_context, 0);
}
END_TEST

/* --- control writes in --- */

#define NUMBER 5u /* of the EP's connection */

static struct dofi_ep *ep_of(struct dofi_ia *of, uint32_t number)
{
	ck_assert_ptr_eq(of, &ia);
	return number == NUMBER ? &ep : NULL;
}

static void arrive(enum dofi_ctrl_kind kind, uint32_t number, uint32_t value)
{
	static const struct dofi_upcalls upcalls = {.ep_of = ep_of};
	uint64_t data;

	ia.up = &upcalls;
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ep.lock);
	dofi_lock(&ep.lock);
	ep.peer.number = number;
	data = dofi_ctrl_data(&ep, kind, value);
	dofi_unlock(&ep.lock);
	dofi_lock(&ia.engine.lock);
	dofi_ctrl_arrived(&ia, data);
	dofi_unlock(&ia.engine.lock);
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
}

static const struct {
	enum dofi_ctrl_kind kind;
	struct dofi_ctrl next; /* what the next message is told */
	uint8_t answers_due;
	bool credit;
} ctrl_writes[] = {
	{DOFI_CTRL_LENGTH, {0, 0, 2}, 0, false},
	{DOFI_CTRL_IMMEDIATE, {DOFI_CTRL_IMMEDIATE, 2, 0}, 0, false},
	{DOFI_CTRL_INVALIDATE, {DOFI_CTRL_INVALIDATE, 2, 0}, 0, false},
	{DOFI_CTRL_ATOMIC, {0}, 1u << 2, false},
	{DOFI_CTRL_CREDIT, {0}, 0, true},
	{DOFI_CTRL_USED, {0}, 0, false}, /* only in control messages */
};

/* The value is a length, a context, a slot, or an update of one credit. */
START_TEST(a_control_write_has_one_effect)
{
	ck_assert_uint_eq(2, DOFI_UPDATE_CREDIT);
	ia.ctrl_memory.slots = memory;
	ep.credit_total = UINT32_MAX;
	arrive(ctrl_writes[_i].kind, NUMBER, 2);
	ck_assert_uint_eq(ep.ctrl.kind, ctrl_writes[_i].next.kind);
	ck_assert_uint_eq(ep.ctrl.value, ctrl_writes[_i].next.value);
	ck_assert_uint_eq(ep.ctrl.length, ctrl_writes[_i].next.length);
	ck_assert_uint_eq(ep.answers_due, ctrl_writes[_i].answers_due);
	ck_assert_uint_eq(ep.credit_total, ctrl_writes[_i].credit ? 0 : UINT32_MAX);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 0);
}
END_TEST

START_TEST(a_control_write_for_no_connection_is_counted)
{
	ia.ctrl_memory.slots = memory;
	arrive(ctrl_writes[_i].kind, NUMBER + 1, 2);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 1);
	ck_assert_uint_eq(ep.ctrl.kind + ep.ctrl.value + ep.ctrl.length + ep.answers_due, 0);
	ck_assert_uint_eq(ep.credit_total, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control_slots");
	TCase *tcase = tcase_create("control_slots");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_loop_test(tcase, the_way_of_control_records_follows_the_fabric, 0, 7);
	tcase_add_loop_test(tcase, control_writes_need_order_data_and_room, 0,
			    sizeof(lacks) / sizeof(lacks[0]));
	tcase_add_test(tcase, the_memory_is_left_to_the_fabric_at_the_end);
	tcase_add_test(tcase, memory_that_is_not_registered_is_not_used);
	tcase_add_test(tcase, a_peer_learns_the_slots_of_the_EP);
	tcase_add_test(tcase, other_slots_have_another_context);
	tcase_add_test(tcase, without_a_free_context_there_are_no_slots);
	tcase_add_loop_test(tcase, control_messages_need_no_context, 0, 2);
	tcase_add_test(tcase, without_memory_there_are_no_control_messages);
	tcase_add_loop_test(tcase, a_control_write_has_one_effect, 0,
			    sizeof(ctrl_writes) / sizeof(ctrl_writes[0]));
	tcase_add_loop_test(tcase, a_control_write_for_no_connection_is_counted, 0,
			    sizeof(ctrl_writes) / sizeof(ctrl_writes[0]));
	return t_run(suite);
}
