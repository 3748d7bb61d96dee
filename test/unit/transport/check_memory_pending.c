/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests that complete after their posts, and the pace of rounds for them. */
#include "transport/memory_out.h"
#include "transport/memory_pending.h"
#include "transport/memory_rdma.h"
#include "transport/memory_send.h"

#include <rdma/fi_errno.h>

#include "made_path.h"

static bool box_is_done;

bool __wrap_dofi_box_is_done(struct dofi_memory_path *of, struct dofi_wr *wr);

bool __wrap_dofi_box_is_done(struct dofi_memory_path *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &path);
	ck_assert_ptr_eq(wr, &request.wr);
	return box_is_done;
}

/* --- rounds --- */

/* The thread that drives the engine learns that this path needs rounds, and that it does not. */
START_TEST(the_pace_is_told_once)
{
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_PART, LENGTH)), 0);
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_PART, LENGTH)), 0);
	ck_assert_uint_eq(ia.engine.restless, 1);
	ck_assert_int_eq(kicks, 1);
	dofi_unlock(&ep.lock);
	ck_assert_int_eq(dofi_memory_go_on(&path), 2);
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ck_assert_uint_eq(ia.engine.restless, 0);
	ck_assert_int_eq(kicks, 1);
	ck_assert_uint_eq(path.pending_head, 2);
	ck_assert_uint_eq(path.waiting, 0);
}
END_TEST

/* The peer has begun and stops. The request is complete when it goes on. */
START_TEST(a_box_that_takes_long)
{
	path.polled = true;
	box_answer = DOFI_BOX_TAKEN;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), 0);
	ck_assert_ptr_eq(path.boxed, &pending[0]);
	ck_assert_int_eq(dofi_memory_write(&ep, &request.wr), -FI_EAGAIN);
	ck_assert_int_eq(copies, 0);
	dofi_unlock(&ep.lock);
	ck_assert_ptr_null(dofi_memory_asked(&path)); /* no cell answers it */
	ck_assert_int_eq(dofi_memory_go_on(&path), 0);
	ck_assert_uint_eq(ia.engine.restless, 1);
	box_is_done = true;
	ck_assert_int_eq(dofi_memory_go_on(&path), 1);
	ck_assert_ptr_eq(done[0], &request.wr);
	ck_assert_ptr_null(path.boxed);
	ck_assert_uint_eq(ia.engine.restless, 0);
}
END_TEST

/* --- answers of the peer --- */

static void post_from_bounce_buffer(void)
{
	second.wr = (struct dofi_wr){.ep = &ep,
				     .op = DOFI_OP_SEND,
				     .state = DOFI_WR_ISSUED,
				     .split = 1,
				     .niov = 1,
				     .length = LENGTH};
	second.iov[0] = (struct iovec){bytes, LENGTH};
	ck_assert_int_eq(dofi_memory_send(&ep, &second.wr), 0);
}

/* Nothing else would complete it, as both sides may be asleep. */
START_TEST(an_answer_completes_what_waits_behind_it)
{
	path.copies = false;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), 0);
	post_from_bounce_buffer();
	dofi_unlock(&ep.lock);
	dofi_memory_asked(&path)->answered = true;
	dofi_memory_answered(&path);
	ck_assert_uint_eq(ndone, 2);
	ck_assert_ptr_eq(done[0], &request.wr);
	ck_assert_ptr_eq(done[1], &second.wr);
	ck_assert_uint_eq(path.pending_head, path.pending_tail);
	ck_assert_uint_eq(ia.engine.restless, 0);
	ck_assert(dofi_trylock(&ep.lock)); /* nobody holds it */
}
END_TEST

START_TEST(what_waits_for_an_answer_is_not_complete)
{
	path.copies = false;
	ck_assert_int_eq(dofi_memory_write(&ep, prepare(DOFI_OP_WRITE, LENGTH)), 0);
	post_from_bounce_buffer();
	dofi_unlock(&ep.lock);
	dofi_memory_go_on(&path);
	ck_assert_uint_eq(ndone, 0);
	ck_assert_uint_eq(ia.engine.restless, 0);
	ck_assert(dofi_trylock(&ep.lock)); /* nobody holds it */
}
END_TEST

/* The first one that waits and is not answered, in the order of posts. */
START_TEST(the_request_that_is_answered_next)
{
	dofi_unlock(&ep.lock);
	ck_assert_ptr_null(dofi_memory_asked(&path));
	path.pending_head = PENDING - 1;
	path.pending_tail = PENDING + 3;
	ck_assert_ptr_null(dofi_memory_asked(&path));
	pending[PENDING - 1].waits = pending[PENDING - 1].answered = true;
	pending[0].waits = pending[0].boxed = true;
	ck_assert_ptr_null(dofi_memory_asked(&path));
	pending[1].waits = pending[2].waits = true;
	ck_assert_ptr_eq(dofi_memory_asked(&path), &pending[1]);
	pending[1].answered = true;
	ck_assert_ptr_eq(dofi_memory_asked(&path), &pending[2]);
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
}
END_TEST

/* --- the ring --- */

/* The number of requests of a long connection exceeds 32 bits. */
START_TEST(the_ring_goes_on_when_its_indices_wrap)
{
	struct dofi_memory_pending *added[5];

	ck_assert_int_eq(dofi_memory_pending_make(&path, 5), 0);
	path.pending_head = path.pending_tail = UINT32_MAX - 1;
	for (int i = 0; i < 5; i++) {
		ck_assert(dofi_memory_has_pending_room(&path));
		added[i] = dofi_memory_add_pending(&path, &request.wr);
		for (int k = 0; k < i; k++)
			ck_assert_ptr_ne(added[i], added[k]);
	}
	free(path.pending);
	dofi_unlock(&ep.lock);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_pending");
	TCase *tcase = tcase_create("memory_pending");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, make_path, NULL);
	tcase_add_test(tcase, the_pace_is_told_once);
	tcase_add_test(tcase, a_box_that_takes_long);
	tcase_add_test(tcase, an_answer_completes_what_waits_behind_it);
	tcase_add_test(tcase, what_waits_for_an_answer_is_not_complete);
	tcase_add_test(tcase, the_request_that_is_answered_next);
	tcase_add_test(tcase, the_ring_goes_on_when_its_indices_wrap);
	return t_run(suite);
}
