/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receive slots: receives for credit updates always find one, whatever limit the fabric states and
 * however many it accepts.
 */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/transport/receive_slots.h"
#include "../../../prov/ofi/object/ep.h"

#include <limits.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#define CREDITS 4u
#define SAID    256u /* the fabric's stated limit of receives */
#define KEPT    8u

static struct dofi_ia ia;
static struct dofi_rx_slots slots;

/* --- the fabric --- */

static struct {
	unsigned int room, used; /* receives that the fabric really accepts, and has */
	unsigned int spares;     /* of these */
	bool busy;
} fabric;

static bool post(void)
{
	if (fabric.busy || fabric.used == fabric.room)
		return false;
	fabric.used++;
	return true;
}

static ssize_t take(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src,
		    uint64_t tag, uint64_t ignore, void *context)
{
	const struct dofi_wr *wr = context;

	(void)ep, (void)buf, (void)len, (void)desc, (void)src, (void)tag;
	ck_assert_uint_eq(wr->op, DOFI_OP_SPARE);
	ck_assert_uint_eq(ignore, 0);
	if (!post())
		return -FI_EAGAIN;
	fabric.spares++;
	return 0;
}

static ssize_t cancel(fid_t fid, void *context)
{
	const struct dofi_wr *wr = context;

	(void)fid;
	ck_assert_uint_eq(wr->op, DOFI_OP_SPARE);
	ck_assert_uint_gt(fabric.spares, 0);
	fabric.spares--;
	fabric.used--;
	return 0;
}

static struct fi_ops_tagged tagged = {.size = sizeof(tagged), .recv = take};
static struct fi_ops_ep ep_ops = {.size = sizeof(ep_ops), .cancel = cancel};
static struct fid_ep endpoint = {.tagged = &tagged, .ops = &ep_ops};

/* --- posts --- */

/* A receive of an EP. */
static bool receive(void)
{
	if (!dofi_rx_slots_acquire(&slots))
		return false;
	if (post())
		return true;
	dofi_rx_slots_release(&slots, 1);
	dofi_rx_slots_full(&slots);
	return false;
}

static unsigned int receive_all(void)
{
	unsigned int n = 0;

	while (n < 100000 && receive())
		n++;
	return n;
}

static bool post_ctrl_recv(void)
{
	bool posted = post();

	if (!posted)
		dofi_rx_slots_full(&slots);
	return posted;
}

static void look(void)
{
	ck_assert(dofi_rx_slots_asked(&slots));
	dofi_lock(&ia.engine.lock);
	dofi_rx_slots_try_more(&ia, &slots);
	dofi_unlock(&ia.engine.lock);
	ck_assert(!dofi_rx_slots_asked(&slots));
}

static bool more_may_fit = true;

static void open_fabric(size_t said, unsigned int room)
{
	ia.shared_ep = &endpoint;
	dofi_lock_init(&ia.engine.lock);
	dofi_rx_slots_init(&slots, said, KEPT, more_may_fit);
	fabric.room = room;
	for (unsigned int i = 0; i < CREDITS; i++)
		ck_assert(post_ctrl_recv());
}

/*
 * All receives for credit updates get messages. Before the library reads the completions, EPs post
 * as many receives as they can.
 */
static void lose_the_moment(void)
{
	fabric.used -= CREDITS;
	receive_all();
}

static void check_credits(void)
{
	unsigned int posted = 0;

	while (posted < CREDITS && post_ctrl_recv())
		posted++;
	if (posted < CREDITS) {
		look();
		while (posted < CREDITS && post_ctrl_recv())
			posted++;
	}
	ck_assert_uint_eq(posted, CREDITS);
}

/* --- */

START_TEST(the_stated_limit_is_right)
{
	open_fabric(SAID, SAID);
	ck_assert_uint_eq(receive_all(), SAID - KEPT);
	look();
	ck_assert_uint_eq(fabric.spares, 0);
	ck_assert(!receive());
	for (int i = 0; i < 3; i++) {
		lose_the_moment();
		check_credits();
	}
	ck_assert_uint_eq(fabric.used, SAID - KEPT + CREDITS);
}
END_TEST

START_TEST(the_fabric_accepts_all_receives)
{
	open_fabric(SAID, UINT_MAX);
	ck_assert_uint_eq(receive_all(), SAID - KEPT);
	look();
	ck_assert_uint_eq(fabric.spares, DOFI_SPARES);
	ck_assert_uint_eq(receive_all(), 100000);
	ck_assert(!dofi_rx_slots_asked(&slots));
}
END_TEST

/* The fabric accepts all receives, and breaks. */
START_TEST(the_fabric_breaks_beyond_the_limit)
{
	more_may_fit = false;
	open_fabric(SAID, UINT_MAX);
	ck_assert_uint_eq(receive_all(), SAID - KEPT);
	look();
	ck_assert_uint_eq(fabric.spares, 0);
	ck_assert_uint_eq(receive_all(), 0);
	dofi_rx_slots_release(&slots, 1);
	ck_assert_uint_eq(receive_all(), 1);
}
END_TEST

/* The real limit is above the stated one; loop: by how much. */
START_TEST(the_fabric_accepts_more_than_it_states)
{
	open_fabric(SAID, SAID + (unsigned int)_i);
	receive_all();
	look();
	receive_all();
	lose_the_moment();
	check_credits();
	for (int i = 0; i < 3; i++) {
		lose_the_moment();
		check_credits();
	}
	ck_assert_uint_ge(fabric.used, SAID - KEPT + CREDITS);
}
END_TEST

/*
 * Completed receives make room for the spare ones, though the stated limit is right; loop: how many
 * of them are receives of EPs.
 */
START_TEST(the_fabric_seems_to_accept_more_than_it_states)
{
	unsigned int left = (unsigned int)_i;

	open_fabric(SAID, SAID);
	receive_all();
	fabric.used -= CREDITS + left;
	look();
	receive_all();
	dofi_rx_slots_release(&slots, left);
	receive_all();
	check_credits();
	for (int i = 0; i < 3; i++) {
		lose_the_moment();
		check_credits();
	}
	ck_assert_uint_eq(fabric.spares, 0);
	ck_assert_uint_eq(fabric.used, SAID - KEPT + CREDITS);
}
END_TEST

START_TEST(slots_come_back)
{
	open_fabric(SAID, SAID);
	receive_all();
	look();
	dofi_rx_slots_release(&slots, 3);
	fabric.used -= 3;
	ck_assert_uint_eq(receive_all(), 3);
	ck_assert_uint_eq(fabric.used, SAID - KEPT + CREDITS);
}
END_TEST

/* -FI_EAGAIN below the stated limit does not mean that the limit is reached. */
START_TEST(eagain_below_the_limit)
{
	open_fabric(SAID, UINT_MAX);
	receive_all();
	look();
	dofi_rx_slots_release(&slots, 200);
	fabric.used -= 200;
	fabric.busy = true;
	ck_assert(!receive());
	ck_assert(!post_ctrl_recv());
	ck_assert(!dofi_rx_slots_asked(&slots));
	fabric.busy = false;
	ck_assert_uint_eq(receive_all(), 100000);
}
END_TEST

static const size_t sizes[] = {0, 1, 16, UINT32_MAX, SIZE_MAX};

/* Stated lengths without meaning. */
START_TEST(lengths_without_meaning_set_no_limit)
{
	open_fabric(sizes[_i], UINT_MAX);
	ck_assert_uint_eq(receive_all(), 100000);
	fabric.busy = true;
	ck_assert(!receive());
	fabric.busy = false;
	ck_assert(receive());
	ck_assert(!dofi_rx_slots_asked(&slots));
}
END_TEST

/* A size near the kept ones is not believed, and one beyond 32 bits is as good as none. */
START_TEST(the_limit_of_each_size)
{
	static const struct {
		size_t size;
		uint32_t sure;
		bool tried;
	} cases[] = {{0, UINT32_MAX - 1, true},
		     {2 * KEPT, UINT32_MAX - 1, true},
		     {2 * KEPT + 1, KEPT + 1, false},
		     {SAID, SAID - KEPT, false},
		     {(size_t)UINT32_MAX - 1 + KEPT, UINT32_MAX - 1, false},
		     {(size_t)UINT32_MAX + KEPT, UINT32_MAX - 1, false},
		     {SIZE_MAX, UINT32_MAX - 1, false}};

	for (int more = 0; more < 2; more++) {
		dofi_rx_slots_init(&slots, cases[_i].size, KEPT, more);
		ck_assert_uint_eq(slots.sure, cases[_i].sure);
		ck_assert_uint_eq(atomic_load(&slots.most), cases[_i].sure);
		ck_assert(slots.tried == (cases[_i].tried || !more));
	}
}
END_TEST

/* With far fewer receives than it reports, the fabric is only busy. */
START_TEST(a_full_fabric_sets_the_limit)
{
	dofi_rx_slots_init(&slots, SAID, KEPT, true);
	atomic_store(&slots.most, UINT32_MAX);
	atomic_store(&slots.taken, SAID - KEPT - 2 * DOFI_SPARES - 1);
	dofi_rx_slots_full(&slots);
	ck_assert(!dofi_rx_slots_asked(&slots));
	ck_assert_uint_eq(atomic_load(&slots.most), UINT32_MAX);
	atomic_fetch_add(&slots.taken, 1);
	dofi_rx_slots_full(&slots);
	ck_assert(dofi_rx_slots_asked(&slots));
	ck_assert_uint_eq(atomic_load(&slots.most), SAID - KEPT);
	atomic_store(&slots.asked, false);
	dofi_rx_slots_full(&slots); /* the limit is known */
	ck_assert(!dofi_rx_slots_asked(&slots));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("receive_slots");
	TCase *tc = tcase_create("receive_slots");

	tcase_add_test(tc, the_stated_limit_is_right);
	tcase_add_test(tc, the_fabric_accepts_all_receives);
	tcase_add_test(tc, the_fabric_breaks_beyond_the_limit);
	tcase_add_loop_test(tc, the_fabric_accepts_more_than_it_states, 0, 40);
	tcase_add_loop_test(tc, the_fabric_seems_to_accept_more_than_it_states, 0, 20);
	tcase_add_test(tc, slots_come_back);
	tcase_add_test(tc, eagain_below_the_limit);
	tcase_add_loop_test(tc, lengths_without_meaning_set_no_limit, 0,
			    (int)(sizeof(sizes) / sizeof(sizes[0])));
	tcase_add_loop_test(tc, the_limit_of_each_size, 0, 7);
	tcase_add_test(tc, a_full_fabric_sets_the_limit);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
