/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that come after the end of their connection: how many are received, one at a time, and
 * which are given up.
 */
#include "../../lib/t_blocks.h"
#include "unit.h"

#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/drain.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/progress/engine.h"
#include "../../../prov/ofi/progress/timer.h"
#include "../../../prov/ofi/progress/wait.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

static struct dofi_ia ia;
static struct fi_info info;
static struct fi_domain_attr domain_attr;

#define WINDOW 10u /* messages that the peer may send */

/* --- the clock --- */

static uint64_t now = 1000;

uint64_t __wrap_dofi_now(void);
void __wrap_dofi_wait_kick(struct dofi_ia *of);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

/* Check allocates in each assertion, which may fail here. */
void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	if (of != &ia)
		ck_abort();
}

/* Lets this time pass and fires the timers that are due. */
static void pass(uint64_t ns)
{
	struct dofi_timer *timer;

	now += ns;
	while ((timer = ia.engine.timers) && timer->deadline <= now) {
		dofi_timer_cancel(&ia, timer);
		timer->fire(timer);
	}
}

#define SECOND UINT64_C(1000000000)

/* --- the fabric --- */

static struct {
	int calls;
	ssize_t answer;
	size_t size;
	void *buf;
	uint64_t tag;
	void *desc;         /* the descriptor that a receive must have */
	struct dofi_wr *wr; /* of the posted receive, or NULL */
} fabric;

static ssize_t take(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src,
		    uint64_t tag, uint64_t ignore, void *context)
{
	ck_assert_ptr_eq(ep, ia.shared_ep);
	ck_assert_ptr_eq(desc, fabric.desc);
	ck_assert_uint_eq(src, FI_ADDR_UNSPEC);
	ck_assert_uint_eq(ignore, 0);
	fabric.calls++;
	if (fabric.answer)
		return fabric.answer;
	ck_assert_ptr_null(fabric.wr);
	fabric.size = len;
	fabric.buf = buf;
	fabric.tag = tag;
	fabric.wr = context;
	return 0;
}

static struct fi_ops_tagged tagged = {.size = sizeof(tagged), .recv = take};

static int cancelled;

static ssize_t cancel(struct fid *fid, void *context)
{
	ck_assert_ptr_eq(fid, &ia.shared_ep->fid);
	ck_assert_ptr_eq(context, fabric.wr);
	cancelled++;
	return 0;
}

static struct fi_ops_ep ep_ops = {.size = sizeof(ep_ops), .cancel = cancel};
static struct fid_ep endpoint = {.ops = &ep_ops, .tagged = &tagged};

static int registered, refusal;

static int forget(struct fid *fid)
{
	(void)fid;
	registered--;
	return 0;
}

static int know(struct fid *domain, const void *buf, size_t len, uint64_t access, uint64_t offset,
		uint64_t key, uint64_t flags, struct fid_mr **mr_p, void *context)
{
	static struct fi_ops ops = {.size = sizeof(ops), .close = forget};
	static struct fid_mr mr = {.fid.ops = &ops, .mem_desc = &fabric};

	(void)domain, (void)offset, (void)key, (void)flags, (void)context;
	ck_assert_ptr_nonnull(buf);
	ck_assert_uint_eq(len, 100);
	ck_assert(access & FI_RECV);
	if (refusal)
		return refusal;
	registered++;
	*mr_p = &mr;
	return 0;
}

static struct fi_ops_mr mr_ops = {.size = sizeof(mr_ops), .reg = know};
static struct fid_domain domain = {.mr = &mr_ops};

static struct dofi_chan chans[2];
static struct dofi_peer *by; /* the peer of the next connections */

/* The peer's number of a connection is another one. */
static void begin_by(struct dofi_chan *chan, uint32_t id, uint64_t tag, uint32_t received,
		     uint32_t granted, uint64_t size)
{
	const struct dofi_conn conn = {
		.ia = &ia, .chan = chan, .peer = by, .id = id, .peer_id = id + 1000};

	dofi_drain_begin(&conn, tag, received, granted, size);
}

static void begin(uint32_t id, uint64_t tag, uint32_t received, uint32_t granted, uint64_t size)
{
	begin_by(&chans[0], id, tag, received, granted, size);
}

static void settle(uint32_t id, uint32_t sent)
{
	dofi_drain_settle(&ia, id, id + 1000, sent);
}

static void complete(void)
{
	struct dofi_wr *wr = fabric.wr;

	ck_assert_ptr_nonnull(wr);
	ck_assert_uint_eq(wr->op, DOFI_OP_DRAIN);
	ck_assert_ptr_eq(wr->ia, &ia);
	fabric.wr = NULL;
	dofi_drain_done(wr);
}

/* --- */

static unsigned int blocks_before;

static void setup(void)
{
	blocks_before = t_nblocks;
	ia.info = &info;
	info.domain_attr = &domain_attr;
	ia.shared_ep = &endpoint;
	ia.domain = &domain;
	dofi_lock_init(&ia.mr_lock);
	dofi_list_init(&ia.drains);
	ia.params.max_drains = 256;
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
	dofi_drain_free_all(&ia);
	ck_assert(dofi_trylock(&ia.engine.lock));
	ck_assert(dofi_list_empty(&ia.drains));
	ck_assert_ptr_null(ia.engine.timers);
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_uint_eq(t_nblocks, blocks_before);
}

START_TEST(receives_the_missing_messages)
{
	begin(7, 0x77, 3, 3 + WINDOW, 100);
	ck_assert_int_eq(fabric.calls, 0); /* the number of messages is not known yet */
	settle(8, 9);                      /* of another connection */
	dofi_drain_settle(&ia, 7, 8, 5);   /* another peer, which does not know both numbers */
	ck_assert_int_eq(fabric.calls, 0);
	settle(7, 5);
	ck_assert_int_eq(fabric.calls, 1);
	ck_assert_uint_eq(fabric.size, 100);
	ck_assert_ptr_nonnull(fabric.buf);
	ck_assert_uint_eq(fabric.tag, 0x77);
	settle(7, 50); /* a second answer is ignored */
	complete();
	ck_assert_int_eq(fabric.calls, 2);
	complete();
	ck_assert_int_eq(fabric.calls, 2);
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

START_TEST(no_receive_if_nothing_is_missing)
{
	begin(7, 0x77, 3, 3 + WINDOW, 100);
	settle(7, 3);
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_int_eq(fabric.calls, 0);
}
END_TEST

START_TEST(counts_below_the_received_number_end_the_drain)
{
	begin(7, 0x77, 3, 3 + WINDOW, 100);
	settle(7, 2); /* fewer than have come */
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_int_eq(fabric.calls, 0);
}
END_TEST

/* A peer never has more messages under way than it had credits for. */
START_TEST(counts_beyond_the_credits_are_refused)
{
	begin(7, 0x77, 3, 5, 100);
	settle(7, 6);
	ck_assert_uint_eq(ia.ndrains, 0);
	begin(8, 0x88, 3, 5, 100);
	settle(8, 3u + INT32_MAX);
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_int_eq(fabric.calls, 0);
	begin(9, 0x99, 3, 5, 100);
	settle(9, 5);
	complete();
	complete();
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_int_eq(fabric.calls, 2);
}
END_TEST

/* A peer that has given up while this side accepted has no count to send. */
START_TEST(without_a_channel_no_count_comes)
{
	begin_by(&chans[0], 7, 0x77, 0, WINDOW, 100);
	begin_by(&chans[1], 8, 0x88, 0, WINDOW, 100);
	begin_by(&chans[0], 9, 0x99, 0, WINDOW, 100);
	settle(9, 1);
	dofi_drain_chan_lost(&ia, &chans[0]);
	ck_assert_uint_eq(ia.ndrains, 2);
	complete(); /* the message that was announced */
	ck_assert_uint_eq(ia.ndrains, 1);
	settle(8, 1);
	ck_assert_uint_eq(fabric.tag, 0x88);
	complete();
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

/* Until its count has come, and then until its last message has. */
START_TEST(the_messages_of_a_peer_are_awaited)
{
	static uint64_t places[2];
	struct dofi_peer *const one = (struct dofi_peer *)(void *)&places[0];
	struct dofi_peer *const other = (struct dofi_peer *)(void *)&places[1];

	by = other;
	begin(7, 0x77, 0, WINDOW, 100);
	by = one;
	begin(8, 0x88, 0, WINDOW, 100);
	ck_assert(dofi_drain_awaits(&ia, one));
	settle(8, 1);
	ck_assert(dofi_drain_awaits(&ia, one));
	complete();
	ck_assert(!dofi_drain_awaits(&ia, one));
	ck_assert(dofi_drain_awaits(&ia, other));
}
END_TEST

/* The receive is cancelled, and its slot is free for others. */
START_TEST(messages_that_never_come_are_given_up)
{
	begin(7, 0x77, 0, WINDOW, 100);
	settle(7, 3);
	pass(59 * SECOND);
	complete(); /* so the peer is alive */
	pass(59 * SECOND);
	ck_assert_int_eq(cancelled, 0);
	pass(2 * SECOND);
	ck_assert_int_eq(cancelled, 1);
	complete();
	ck_assert_int_eq(fabric.calls, 2);
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_ptr_null(ia.engine.timers);
}
END_TEST

/* A drain that found no slot for its receive is given up, too. */
START_TEST(a_drain_without_a_receive_is_given_up)
{
	fabric.answer = -FI_EAGAIN;
	begin(7, 0x77, 0, WINDOW, 100);
	settle(7, 3);
	pass(61 * SECOND);
	ck_assert_int_eq(cancelled, 0);
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

START_TEST(many_connections_drain_one_after_the_other)
{
	for (uint32_t id = 1; id <= 300; id++) {
		fabric.answer = id > 1 ? -FI_EAGAIN : 0;
		begin(id, id, 0, WINDOW, 100);
		settle(id, 1);
	}
	ck_assert_int_eq(cancelled, 1);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_OWED]), 300 - 256);
	ck_assert_uint_eq(ia.ndrains, 257); /* including the one whose receive is in the fabric */
	complete();
	ck_assert_uint_eq(ia.ndrains, 256);
}
END_TEST

START_TEST(counts_wrap)
{
	begin(7, 0x77, UINT32_MAX, WINDOW - 1, 100);
	settle(7, 0);
	complete();
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

START_TEST(empty_messages_need_no_memory)
{
	begin(7, 0x77, 0, WINDOW, 0);
	settle(7, 1);
	ck_assert_uint_eq(fabric.size, 0);
	ck_assert_ptr_null(fabric.buf);
	complete();
}
END_TEST

/* -FI_ENOMEM: shm of libfabric 1.17 has no room. */
START_TEST(receive_is_posted_again_when_there_is_room)
{
	begin(6, 0x66, 0, WINDOW, 100); /* its peer has not sent its count */
	begin(7, 0x77, 0, WINDOW, 100);
	fabric.answer = _i ? -FI_ENOMEM : -FI_EAGAIN;
	settle(7, 1);
	dofi_drain_retry(&ia);
	ck_assert_int_eq(fabric.calls, 2);
	ck_assert_uint_eq(ia.ndrains, 2);
	fabric.answer = 0;
	dofi_drain_retry(&ia);
	ck_assert_uint_eq(fabric.tag, 0x77);
	dofi_drain_retry(&ia); /* the receive is posted now */
	ck_assert_int_eq(fabric.calls, 3);
	complete();
	ck_assert_uint_eq(ia.ndrains, 1);
}
END_TEST

START_TEST(refused_receive_ends_the_drain)
{
	begin(7, 0x77, 0, WINDOW, 100);
	fabric.answer = -FI_EIO;
	settle(7, 2);
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

/* Drains whose peers have sent their count are under way and remain. */
START_TEST(drains_of_silent_peers_are_limited)
{
	begin(1, 1, 0, WINDOW, 100);
	settle(1, 1);
	for (uint32_t id = 2; id <= 300; id++) /* each while the first is under way */
		begin(id, id, 0, WINDOW, 100);
	ck_assert_uint_eq(ia.ndrains, 257);
	settle(2, 1); /* forgotten */
	ck_assert_int_eq(fabric.calls, 1);
	complete();
	settle(300, 1);
	ck_assert_int_eq(fabric.calls, 2);
}
END_TEST

START_TEST(as_many_drains_as_the_limit_remain)
{
	ia.params.max_drains = 2;
	for (uint32_t id = 1; id <= 3; id++)
		begin(id, id, 0, WINDOW, 100);
	ck_assert_uint_eq(ia.ndrains, 2);
	fabric.answer = -FI_EAGAIN;
	settle(1, 1); /* forgotten */
	ck_assert_int_eq(fabric.calls, 0);
	settle(2, 1);
	settle(3, 1);
	ck_assert_int_eq(fabric.calls, 2);
	ck_assert_uint_eq(ia.ndrains, 2);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_OWED]), 0);
}
END_TEST

/* Of those that wait for the same. What is given up already does not count. */
START_TEST(the_oldest_drain_of_its_kind_is_given_up)
{
	ia.params.max_drains = 2;
	begin(1, 1, 0, WINDOW, 100);
	begin(2, 2, 0, WINDOW, 100);
	settle(1, 1);
	begin(3, 3, 0, WINDOW, 100);
	ck_assert_uint_eq(ia.ndrains, 3);
	begin(4, 4, 0, WINDOW, 100);
	ck_assert_uint_eq(ia.ndrains, 3);
	fabric.answer = -FI_EAGAIN;
	settle(2, 1); /* it was the older one of the two that wait for a count */
	ck_assert_int_eq(fabric.calls, 1);
	settle(3, 1);
	ck_assert_int_eq(fabric.calls, 2);
	ck_assert_int_eq(cancelled, 0);
	settle(4, 1);
	ck_assert_int_eq(cancelled, 1);
	ck_assert_uint_eq(ia.ndrains, 3); /* with the one whose receive the fabric has */
	begin(5, 5, 0, WINDOW, 100);
	settle(5, 1);
	ck_assert_int_eq(cancelled, 1);
	ck_assert_uint_eq(ia.ndrains, 3);
	fabric.answer = 0;
	complete();
	ck_assert_uint_eq(ia.ndrains, 2);
}
END_TEST

/* The message waits in the fabric, where it may block others, and the IA goes on. */
START_TEST(without_memory_there_is_no_drain)
{
	t_blocks_left = 0;
	begin(7, 0x77, 0, WINDOW, 100);
	ck_assert_uint_eq(ia.ndrains, 0);
	t_blocks_left = -1;
	begin(7, 0x77, 0, WINDOW, 100);
	t_blocks_left = 0;
	settle(7, 1);
	t_blocks_left = -1;
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_int_eq(fabric.calls, 0);
}
END_TEST

START_TEST(the_log_tells_what_is_not_waited_for)
{
	int fd = t_capture(STDERR_FILENO);

	dofi_log_set_level("info");
	begin(7, 0x77, 0, WINDOW, 100);
	settle(7, 3);
	complete();
	pass(61 * SECOND);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "not waiting any longer for 2 messages"));
	complete();
}
END_TEST

START_TEST(memory_is_registered_if_the_device_needs_it)
{
	domain_attr.mr_mode = FI_MR_LOCAL;
	fabric.desc = &fabric;
	begin(7, 0x77, 0, WINDOW, 100);
	ck_assert_int_eq(registered, 0); /* perhaps no message is missing */
	settle(7, 2);
	ck_assert_int_eq(registered, 1);
	complete();
	ck_assert_int_eq(registered, 1);
	complete();
	ck_assert_int_eq(registered, 0);
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

START_TEST(failure_to_register_ends_the_drain)
{
	domain_attr.mr_mode = FI_MR_LOCAL;
	refusal = -FI_ENOMEM;
	begin(7, 0x77, 0, WINDOW, 100);
	settle(7, 1);
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_int_eq(fabric.calls, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("drain");
	TCase *tc = tcase_create("drain");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, receives_the_missing_messages);
	tcase_add_test(tc, no_receive_if_nothing_is_missing);
	tcase_add_test(tc, counts_below_the_received_number_end_the_drain);
	tcase_add_test(tc, counts_beyond_the_credits_are_refused);
	tcase_add_test(tc, without_a_channel_no_count_comes);
	tcase_add_test(tc, the_messages_of_a_peer_are_awaited);
	tcase_add_test(tc, messages_that_never_come_are_given_up);
	tcase_add_test(tc, a_drain_without_a_receive_is_given_up);
	tcase_add_test(tc, many_connections_drain_one_after_the_other);
	tcase_add_test(tc, counts_wrap);
	tcase_add_test(tc, empty_messages_need_no_memory);
	tcase_add_loop_test(tc, receive_is_posted_again_when_there_is_room, 0, 2);
	tcase_add_test(tc, refused_receive_ends_the_drain);
	tcase_add_test(tc, drains_of_silent_peers_are_limited);
	tcase_add_test(tc, as_many_drains_as_the_limit_remain);
	tcase_add_test(tc, the_oldest_drain_of_its_kind_is_given_up);
	tcase_add_test(tc, without_memory_there_is_no_drain);
	tcase_add_test(tc, the_log_tells_what_is_not_waited_for);
	tcase_add_test(tc, memory_is_registered_if_the_device_needs_it);
	tcase_add_test(tc, failure_to_register_ends_the_drain);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
