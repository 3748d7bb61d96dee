/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of an SRQ: creation and what is left when it fails, its number, resizing, the low
 * watermark, and receives that the fabric takes later or never.
 */
#include "../../lib/bare_ia.h"
#include "../../lib/t_heap.h"
#include "../../lib/t_hooks.h"

#include "../../../prov/ofi/api/pz.h"
#include "../../../prov/ofi/dto/op_context.h"
#include "../../../prov/ofi/dto/orphan.h"
#include "../../../prov/ofi/dto/srq.h"
#include "../../../prov/ofi/dto/srq_receive.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/progress/engine.h"
#include "../../../prov/ofi/progress/evd_wait.h"
#include "../../../prov/ofi/progress/stall.h"

#include <errno.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#define MOST   64u
#define LARGE  4096u
#define ROUNDS 2000 /* more than freed objects rest */

static struct dofi_ia *ia;
static DAT_PZ_HANDLE pz;

/* --- what the creation needs; the linker redirects these calls --- */

static int fails_at; /* 1: the next call; 0: never */

static bool fails(void)
{
	return fails_at && !--fails_at;
}

void *__real_malloc(size_t size);
T_STAND_IN void *__wrap_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
T_STAND_IN void *__wrap_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
T_STAND_IN void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
T_STAND_IN void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
int __real_dofi_random(void *bytes, size_t size);
int __wrap_dofi_random(void *bytes, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

/* Objects are allocated in chunks. */
static bool no_maps;

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return no_maps ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

static unsigned int freed; /* SRQs */

void __wrap_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type);
void __real_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type);

void __wrap_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type)
{
	freed += type == DAT_HANDLE_TYPE_SRQ;
	__real_dofi_obj_free(obj, type);
}

static const uint32_t *same_number; /* what is random otherwise */

int __wrap_dofi_random(void *bytes, size_t size)
{
	if (!same_number)
		return fails() ? -EPERM : __real_dofi_random(bytes, size);
	ck_assert_uint_eq(size, sizeof(*same_number));
	memcpy(bytes, same_number, size);
	return 0;
}

/* --- the fabric --- */

static struct {
	int open, taken;
	int refuses;    /* to open an SRQ */
	ssize_t answer; /* to a receive */
	const struct dofi_srq *refused;
	struct dofi_wr *latest;
	bool gathers; /* receives have bounce buffers */
	bool alone;   /* no thread could read the completion queue when the latest one came */
	int given;    /* so many were given back */
} fabric;

void __wrap_dofi_bounce_give(struct dofi_wr *wr, uint64_t length);

void __wrap_dofi_bounce_give(struct dofi_wr *wr, uint64_t length)
{
	ck_assert_ptr_eq(wr, fabric.latest);
	ck_assert_uint_eq(length, 0); /* no message has come */
	wr->split = 0;
	fabric.given++;
}

static int open_srq(struct dofi_srq *srq)
{
	ck_assert_ptr_eq(srq->obj.ia, ia);
	fabric.open += !fabric.refuses;
	fabric.refused = fabric.refuses ? srq : NULL;
	return fabric.refuses;
}

static void close_srq(struct dofi_srq *srq)
{
	ck_assert_ptr_eq(srq->obj.ia, ia);
	fabric.open--;
}

static ssize_t take_receive(struct dofi_srq *srq, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(wr->srq, srq);
	fabric.alone = atomic_load(&srq->obj.ia->engine.lock.word) == DOFI_LOCK_TAKEN;
	fabric.taken += !fabric.answer;
	fabric.latest = wr;
	wr->split = fabric.gathers;
	return fabric.answer;
}

static const struct dofi_trans_ops trans = {.srq_open = open_srq,
					    .srq_close = close_srq,
					    .srq_recv = take_receive};

/* --- */

#define ret_is(call, wanted) ck_assert_uint_eq(call, (DAT_RETURN)(wanted))
#define ok(call)             ret_is(call, DAT_SUCCESS)

static void setup(void)
{
	ia = t_bare_ia_open();
	ia->trans = &trans;
	ia->limits.max_srqs = 4;
	ia->limits.max_dtos = LARGE;
	ia->limits.max_iov = ia->limits.fabric_iov = 4;
	ok(dofi_pz_create(ia, &pz));
}

static void teardown(void)
{
	ck_assert_int_eq(fabric.open, 0);
	ok(dofi_pz_free(pz)); /* no SRQ uses it */
	t_bare_ia_close(ia);
}

static DAT_SRQ_HANDLE new_srq(uint32_t max_dtos, uint32_t low_watermark)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = (DAT_COUNT)max_dtos,
			     .max_recv_iov = 1,
			     .low_watermark = (DAT_COUNT)low_watermark};
	DAT_SRQ_HANDLE srq;

	ok(dofi_srq_create(ia, pz, &attr, &srq));
	return srq;
}

static DAT_RETURN post(DAT_SRQ_HANDLE srq)
{
	return dofi_srq_post_recv(srq, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 1});
}

static DAT_SRQ_PARAM param_of(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	ok(dofi_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	return param;
}

/* Messages take all receives, and the consumer dequeues their events. */
static void use_up(DAT_SRQ_HANDLE handle)
{
	struct dofi_srq *srq = (struct dofi_srq *)handle;

	srq->available = 0;
	while (srq->outstanding)
		dofi_srq_dequeued(srq);
}

/* Expects the event of the low watermark, or that there is none. */
static void expect_mark(DAT_SRQ_HANDLE srq, bool comes)
{
	DAT_EVENT event;

	if (!comes) {
		ret_is(dofi_evd_dequeue(ia->async_evd, &event), DOFI_QUEUE_EMPTY);
		return;
	}
	ok(dofi_evd_dequeue(ia->async_evd, &event));
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, srq);
	ck_assert_uint_eq(event.event_data.asynch_error_event_data.reason,
			  DAT_SRQ_LOW_WATERMARK_EVENT);
	ret_is(dofi_evd_dequeue(ia->async_evd, &event), DOFI_QUEUE_EMPTY);
}

/* The engine's next round. */
static void retry(void)
{
	dofi_engine_begin(ia);
	dofi_stall_retry_all(ia);
	dofi_engine_end(ia);
}

START_TEST(arguments_are_checked_in_their_order)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 1, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	DAT_SRQ_PARAM param;

	ret_is(dofi_srq_create(pz, pz, &attr, &srq), DOFI_BAD_HANDLE(IA));
	ret_is(dofi_srq_create(ia, ia, &attr, &srq), DOFI_BAD_HANDLE(PZ));
	ret_is(dofi_srq_create(ia, pz, NULL, &srq), DOFI_BAD_ARG(3));
	ret_is(dofi_srq_create(ia, pz, &attr, NULL), DOFI_BAD_ARG(4));
	ia->limits.max_srqs = 0;
	ret_is(dofi_srq_create(ia, pz, &attr, &srq), DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	ck_assert_ptr_null(srq);
	ret_is(dofi_srq_free(pz), DOFI_BAD_HANDLE(SRQ));
	ret_is(dofi_srq_query(pz, DAT_SRQ_FIELD_ALL, &param), DOFI_BAD_HANDLE(SRQ));
	ret_is(dofi_srq_resize(pz, 1), DOFI_BAD_HANDLE(SRQ));
	ret_is(dofi_srq_set_lw(pz, 1), DOFI_BAD_HANDLE(SRQ));
	ret_is(post(pz), DOFI_BAD_HANDLE(SRQ));
	ia->limits.max_srqs = 1;
	srq = new_srq(1, 0);
	ok(dofi_srq_query(srq, (DAT_SRQ_PARAM_MASK)0x10000, &param));
	ret_is(dofi_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL), DOFI_BAD_ARG(3));
	ok(dofi_srq_query(srq, (DAT_SRQ_PARAM_MASK)0, NULL));
	ok(dofi_srq_free(srq));
}
END_TEST

START_TEST(attributes_have_limits)
{
	static const struct {
		DAT_COUNT dtos, iov, mark;
		bool good;
	} cases[] = {{1, 1, 0, true},         {MOST, 4, MOST, true}, {0, 1, 0, false},
		     {MOST + 1, 1, 0, false}, {1, 0, 0, false},      {1, 5, 0, false},
		     {1, 1, -1, false},       {4, 1, 5, false},      {MOST, 1, 1, true}};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	DAT_EVENT event;

	ia->limits.max_dtos = MOST;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		DAT_SRQ_ATTR attr = {.max_recv_dtos = cases[i].dtos,
				     .max_recv_iov = cases[i].iov,
				     .low_watermark = cases[i].mark};

		ret_is(dofi_srq_create(ia, pz, &attr, &srq),
		       cases[i].good ? DAT_SUCCESS : DOFI_BAD_ARG(3));
		if (!cases[i].good)
			continue;
		ck_assert_int_eq(param_of(srq).max_recv_dtos, cases[i].dtos);
		ck_assert_int_eq(param_of(srq).max_recv_iov, cases[i].iov);
		ck_assert_int_eq(param_of(srq).low_watermark, cases[i].mark);
		ck_assert_ptr_eq(param_of(srq).pz_handle, pz);
		ok(dofi_srq_free(srq));
		while (dofi_evd_dequeue(ia->async_evd, &event) == DAT_SUCCESS)
			;
	}
}
END_TEST

/*
 * Each step of the creation fails: the number, three allocations, and the fabric. Memory and the
 * object are used again.
 */
START_TEST(a_failed_creation_leaves_nothing)
{
	enum { FABRIC = 5 };
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 256, .max_recv_iov = 1, .low_watermark = 1};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	const struct dofi_srq *first = NULL;
	size_t before = 0;
	bool again = false;

	fabric.refuses = _i == FABRIC ? -FI_ENOMEM : 0;
	for (int i = 0; i < ROUNDS; i++) {
		fails_at = _i == FABRIC ? 0 : _i;
		ret_is(dofi_srq_create(ia, pz, &attr, &srq),
		       DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
		ck_assert_int_eq(fails_at, 0);
		before = i ? before : t_heap_and_maps();
		first = i ? first : fabric.refused;
		again |= i && fabric.refused == first;
	}
	/* Much less than the smallest allocation of each round */
	ck_assert_uint_lt(t_heap_and_maps(), before + ROUNDS * 32);
	ck_assert(again);
	ck_assert_ptr_null(srq);
	ck_assert_uint_eq(ia->counts[DAT_HANDLE_TYPE_SRQ], 0);
	fabric.refuses = 0;
	expect_mark(srq, false);
}
END_TEST

START_TEST(a_freed_srq_gives_its_receives_back)
{
	size_t before = 0;

	for (int i = 0; i < 64; i++) {
		ok(dofi_srq_free(new_srq(1024, 0)));
		before = i ? before : t_heap_and_maps();
		ck_assert_uint_eq(freed, (unsigned int)i + 1);
	}
	/* Less than the receives of one SRQ */
	ck_assert_uint_lt(t_heap_and_maps(), before + 1024 * sizeof(struct dofi_wr));
}
END_TEST

START_TEST(without_memory_for_the_object_there_is_no_srq)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 1, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	no_maps = true;
	ret_is(dofi_srq_create(ia, pz, &attr, &srq),
	       DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	no_maps = false;
	ck_assert_ptr_null(srq);
	ok(dofi_srq_free(new_srq(1, 0)));
}
END_TEST

START_TEST(no_more_srqs_than_the_attribute_says)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 1, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srqs[4], srq;

	for (uint32_t i = 0; i < 4; i++)
		srqs[i] = new_srq(1, 0);
	ret_is(dofi_srq_create(ia, pz, &attr, &srq),
	       DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	ck_assert_int_eq(fabric.open, 4);
	ck_assert_int_eq(ia->wait.watchers, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct dofi_srq *one = (struct dofi_srq *)srqs[i];

		ck_assert_uint_ne(one->number, 0);
		ck_assert_uint_le(one->number, DOFI_SRQ_NUMBER);
		for (uint32_t k = 0; k < i; k++)
			ck_assert_uint_ne(one->number, ((struct dofi_srq *)srqs[k])->number);
	}
	ret_is(dofi_pz_free(pz), DOFI_BAD_STATE(PZ_IN_USE));
	for (uint32_t i = 0; i < 4; i++)
		ok(dofi_srq_free(srqs[i]));
	ck_assert_int_eq(ia->wait.watchers, 0);
	ret_is(dofi_srq_free(srqs[0]), DOFI_BAD_HANDLE(SRQ));
}
END_TEST

/* Number 0 is that of no SRQ, and two SRQs have two numbers. */
START_TEST(numbers_are_different_if_random_ones_are_not)
{
	static const uint32_t numbers[] = {DOFI_SRQ_NUMBER, 1, 5, 0xfffff005u};
	DAT_SRQ_HANDLE srqs[3];

	same_number = &numbers[_i];
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t number;

		srqs[i] = new_srq(1, 0);
		number = ((struct dofi_srq *)srqs[i])->number;
		ck_assert_uint_ne(number, 0);
		ck_assert_uint_le(number, DOFI_SRQ_NUMBER);
		for (uint32_t k = 0; k < i; k++)
			ck_assert_uint_ne(number, ((struct dofi_srq *)srqs[k])->number);
	}
	for (uint32_t i = 0; i < 3; i++)
		ok(dofi_srq_free(srqs[i]));
}
END_TEST

START_TEST(an_srq_of_an_EP_is_not_freed)
{
	DAT_SRQ_HANDLE srq = new_srq(1, 0);

	dofi_obj_use((struct dofi_srq *)srq);
	ret_is(dofi_srq_free(srq), DOFI_BAD_STATE(SRQ_IN_USE));
	ck_assert_int_eq(fabric.open, 1);
	dofi_obj_unuse((struct dofi_srq *)srq);
	ok(dofi_srq_free(srq));
}
END_TEST

START_TEST(the_counts_tell_the_receives)
{
	DAT_SRQ_HANDLE srq = new_srq(3, 0);

	for (DAT_COUNT i = 1; i <= 3; i++) {
		ok(post(srq));
		ck_assert_int_eq(fabric.taken, i);
		ck_assert_int_eq(param_of(srq).available_dto_count, i);
		ck_assert_int_eq(param_of(srq).outstanding_dto_count, i);
	}
	ret_is(post(srq), DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	ck_assert_int_eq(fabric.taken, 3);
	ck_assert_ptr_eq(param_of(srq).ia_handle, ia);
	ck_assert_ptr_eq(param_of(srq).pz_handle, pz);
	ck_assert_int_eq(param_of(srq).max_recv_dtos, 3);
	ck_assert_int_eq(param_of(srq).low_watermark, 0);
	ck_assert_int_eq(param_of(srq).srq_state, DAT_SRQ_STATE_OPERATIONAL);
	ok(dofi_srq_free(srq));
}
END_TEST

/* A fabric that misses a receive beside a message gets it while no message is read. */
START_TEST(a_receive_may_need_a_queue_that_nobody_reads)
{
	DAT_SRQ_HANDLE srq = new_srq(1, 0);

	ia->quirks = _i ? DOFI_QUIRK_MISSED_RECEIVES : ~DOFI_QUIRK_MISSED_RECEIVES;
	ok(post(srq));
	ck_assert(fabric.alone == _i);
	ret_is(post(srq), DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	ck_assert_uint_eq(atomic_load(&ia->engine.lock.word), DOFI_LOCK_FREE);
	ia->quirks = 0;
	ok(dofi_srq_free(srq));
}
END_TEST

START_TEST(a_refused_receive_is_not_counted)
{
	static DAT_LMR_TRIPLET iov[5];
	DAT_SRQ_HANDLE srq = new_srq(1, 0);

	fabric.answer = -FI_ENOMEM;
	ret_is(post(srq), DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	ck_assert_int_eq(param_of(srq).available_dto_count, 0);
	ck_assert_int_eq(param_of(srq).outstanding_dto_count, 0);
	ret_is(dofi_srq_post_recv(srq, 2, NULL, (DAT_DTO_COOKIE){0}), DOFI_BAD_ARG(2));
	ret_is(dofi_srq_post_recv(srq, 1, NULL, (DAT_DTO_COOKIE){0}), DOFI_BAD_ARG(2));
	ret_is(dofi_srq_post_recv(srq, -1, NULL, (DAT_DTO_COOKIE){0}), DOFI_BAD_ARG(2));
	ret_is(dofi_srq_post_recv(srq, -1, iov, (DAT_DTO_COOKIE){0}), DOFI_BAD_ARG(2));
	ret_is(dofi_srq_post_recv(srq, 5, iov, (DAT_DTO_COOKIE){0}), DOFI_BAD_ARG(2));
	fabric.answer = 0;
	ok(post(srq)); /* into the only slot */
	ok(dofi_srq_free(srq));
}
END_TEST

/* Of a receive that is refused at once, refused later, or still waits when the SRQ ends. */
START_TEST(the_buffer_of_a_receive_is_given_back)
{
	DAT_SRQ_HANDLE srq = new_srq(1, 0);

	fabric.gathers = true;
	fabric.answer = _i ? -FI_EAGAIN : -FI_ENOMEM;
	ck_assert_int_eq(post(srq) == DAT_SUCCESS, _i != 0);
	ck_assert_int_eq(fabric.given, !_i); /* one that waits keeps it */
	if (_i == 1) {
		int fd = t_capture(STDERR_FILENO);

		fabric.answer = -FI_EIO;
		dofi_srq_retry(&((struct dofi_srq *)srq)->stall);
		ck_assert_int_eq(fabric.given, 1);
		ck_assert_ptr_nonnull(strstr(t_captured(fd), "the SRQ lacks it from now on"));
	}
	ok(dofi_srq_free(srq));
	ck_assert_int_eq(fabric.given, 1);
}
END_TEST

/* A full fabric gets the receives later, in their order. */
START_TEST(receives_wait_for_room)
{
	DAT_SRQ_HANDLE srq = new_srq(4, 0);

	fabric.answer = -FI_EAGAIN;
	for (int i = 0; i < 3; i++)
		ok(post(srq));
	retry();
	ck_assert_int_eq(fabric.taken, 0);
	fabric.answer = 0;
	ok(post(srq)); /* not before the others */
	ck_assert_int_eq(fabric.taken, 0);
	retry();
	ck_assert_int_eq(fabric.taken, 4);
	ck_assert_int_eq(param_of(srq).available_dto_count, 4);
	retry();
	ck_assert_int_eq(fabric.taken, 4);
	ok(dofi_srq_free(srq));
}
END_TEST

/* A receive that waited before others once is the last one now. */
START_TEST(receives_that_wait_again_wait_alone)
{
	DAT_SRQ_HANDLE srq = new_srq(4, 0);
	struct dofi_wr *first;

	fabric.answer = -FI_EAGAIN;
	ok(post(srq));
	first = fabric.latest;
	ok(post(srq));
	fabric.answer = 0;
	retry();
	ck_assert_int_eq(fabric.taken, 2);
	fabric.answer = -FI_EAGAIN;
	dofi_engine_begin(ia);
	dofi_srq_take_back((struct dofi_srq *)srq, first);
	dofi_engine_end(ia);
	fabric.answer = 0;
	retry();
	ck_assert_int_eq(fabric.taken, 3);
	ck_assert_ptr_eq(fabric.latest, first);
	ok(dofi_srq_free(srq));
}
END_TEST

START_TEST(receives_that_wait_end_with_their_srq)
{
	DAT_SRQ_HANDLE srq = new_srq(4, 0);

	fabric.answer = -FI_EAGAIN;
	ok(post(srq));
	ok(post(srq));
	ok(dofi_srq_free(srq));
	ck_assert_uint_eq(ia->engine.nstalled, 0);
	fabric.answer = 0;
	retry();
	ck_assert_int_eq(fabric.taken, 0);
}
END_TEST

/* The consumer has to know that the SRQ has fewer receives than it posted. */
START_TEST(a_receive_that_is_refused_later_raises_the_watermark)
{
	DAT_SRQ_HANDLE srq = new_srq(4, 0);

	fabric.answer = -FI_EAGAIN;
	ok(post(srq));
	ok(post(srq));
	ok(dofi_srq_set_lw(srq, 2));
	expect_mark(srq, false);
	fabric.answer = -FI_ENOMEM;
	retry();
	expect_mark(srq, true);
	ck_assert_int_eq(param_of(srq).available_dto_count, 0);
	ck_assert_int_eq(param_of(srq).outstanding_dto_count, 0);
	ok(dofi_srq_free(srq));
}
END_TEST

static int cancelled[8]; /* by the context of the receive */
static void *contexts[8];

static ssize_t cancel(fid_t fid, void *context)
{
	(void)fid;
	for (int i = 0; i < fabric.taken; i++)
		cancelled[i] += contexts[i] == context;
	return 0;
}

/* An SRQ that was resized has its receives in several places. */
START_TEST(each_receive_is_cancelled)
{
	struct fi_ops_ep ops = {.size = sizeof(ops), .cancel = cancel};
	struct fid_ep endpoint = {.ops = &ops};
	DAT_SRQ_HANDLE srq = new_srq(3, 0);

	for (int i = 0; i < 8; i++) {
		if (i == 3)
			ok(dofi_srq_resize(srq, 8));
		ok(post(srq));
		contexts[i] = dofi_context_of(ia, fabric.latest);
	}
	dofi_engine_begin(ia);
	dofi_srq_cancel((struct dofi_srq *)srq, &endpoint.fid);
	dofi_engine_end(ia);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(cancelled[i], 1);
	ok(dofi_srq_free(srq));
}
END_TEST

/* The endpoint stays open, so the fabric may still write into them. */
START_TEST(receives_that_the_fabric_keeps_outlive_their_SRQ)
{
	DAT_SRQ_HANDLE srq = new_srq(3, 0);
	struct dofi_wr *kept[4];

	dofi_list_init(&ia->orphans);
	ok(dofi_srq_resize(srq, 8));
	for (int i = 0; i < 4; i++) {
		ok(post(srq));
		kept[i] = fabric.latest;
	}
	dofi_engine_begin(ia);
	ck_assert_uint_eq(dofi_srq_abandon((struct dofi_srq *)srq), 4);
	dofi_engine_end(ia);
	ok(dofi_srq_free(srq));
	dofi_engine_begin(ia);
	for (int i = 0; i < 4; i++) {
		ck_assert(!dofi_list_empty(&ia->orphans));
		ck_assert_int_eq(kept[i]->op, DOFI_OP_ORPHAN);
		dofi_orphans_done(kept[i]);
	}
	ck_assert(dofi_list_empty(&ia->orphans));
	dofi_engine_end(ia);
}
END_TEST

/* Its message was for no connection, and the SRQ ends: no late write is expected. */
START_TEST(a_receive_that_came_back_is_not_kept_by_the_fabric)
{
	struct fi_ops_ep ops = {.size = sizeof(ops), .cancel = cancel};
	struct fid_ep endpoint = {.ops = &ops};
	DAT_SRQ_HANDLE srq = new_srq(3, 0);

	dofi_list_init(&ia->orphans);
	ok(post(srq));
	contexts[0] = dofi_context_of(ia, fabric.latest);
	dofi_engine_begin(ia);
	dofi_srq_cancel((struct dofi_srq *)srq, &endpoint.fid);
	ck_assert_int_eq(cancelled[0], 1);
	dofi_srq_take_back((struct dofi_srq *)srq, fabric.latest);
	ck_assert_int_eq(param_of(srq).available_dto_count, 0);
	dofi_srq_cancel((struct dofi_srq *)srq, &endpoint.fid);
	ck_assert_int_eq(cancelled[0], 1);
	ck_assert_uint_eq(dofi_srq_abandon((struct dofi_srq *)srq), 0);
	ck_assert(dofi_list_empty(&ia->orphans));
	dofi_engine_end(ia);
	ok(dofi_srq_free(srq));
}
END_TEST

/* The event would name a handle that is not valid. */
START_TEST(the_receives_of_a_freed_SRQ_raise_no_watermark)
{
	struct fi_ops_ep ops = {.size = sizeof(ops), .cancel = cancel};
	struct fid_ep endpoint = {.ops = &ops};
	DAT_SRQ_HANDLE srq = new_srq(2, 1);

	expect_mark(srq, true); /* the SRQ is empty */
	ok(post(srq));
	ok(dofi_srq_set_lw(srq, 1));
	dofi_engine_begin(ia);
	dofi_srq_cancel((struct dofi_srq *)srq, &endpoint.fid);
	dofi_srq_take_back((struct dofi_srq *)srq, fabric.latest);
	dofi_engine_end(ia);
	ck_assert_int_eq(param_of(srq).available_dto_count, 0);
	expect_mark(srq, false);
	ok(dofi_srq_free(srq));
}
END_TEST

/* A fabric that cuts messages needs one segment more in each receive. */
START_TEST(slots_have_room_for_the_guard)
{
	DAT_SRQ_HANDLE srq = new_srq(1, 0);

	ck_assert_uint_eq(((struct dofi_srq *)srq)->shape.max_iov, 1);
	ok(dofi_srq_free(srq));
	ia->quirks = DOFI_QUIRK_CUTS;
	srq = new_srq(1, 0);
	ck_assert_uint_eq(((struct dofi_srq *)srq)->shape.max_iov, 2);
	ok(dofi_srq_free(srq));
}
END_TEST

START_TEST(the_watermark_is_raised_once_until_it_is_set_again)
{
	DAT_SRQ_HANDLE srq = new_srq(4, 2);

	expect_mark(srq, true); /* the SRQ is empty */
	fabric.answer = -FI_EAGAIN;
	ok(post(srq));
	fabric.answer = -FI_ENOMEM;
	retry(); /* empty again */
	expect_mark(srq, false);
	fabric.answer = 0;
	ok(post(srq));
	expect_mark(srq, false);
	ok(dofi_srq_set_lw(srq, 2));
	expect_mark(srq, true);
	ok(dofi_srq_set_lw(srq, 1));
	expect_mark(srq, false);
	ok(dofi_srq_set_lw(srq, 4));
	expect_mark(srq, true);
	ok(dofi_srq_set_lw(srq, 0));
	expect_mark(srq, false);
	ret_is(dofi_srq_set_lw(srq, 5), DOFI_BAD_ARG(2));
	ret_is(dofi_srq_set_lw(srq, -1), DOFI_BAD_ARG(2));
	ck_assert_int_eq(param_of(srq).low_watermark, 0);
	ok(dofi_srq_free(srq));
	srq = new_srq(4, 0);
	expect_mark(srq, false);
	ok(dofi_srq_free(srq));
}
END_TEST

START_TEST(a_resized_srq_has_room_for_that_many)
{
	DAT_SRQ_HANDLE srq = new_srq(2, 2);

	expect_mark(srq, true);
	ok(post(srq));
	ok(dofi_srq_resize(srq, 5));
	for (int i = 1; i < 5; i++)
		ok(post(srq));
	ret_is(post(srq), DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	ret_is(dofi_srq_resize(srq, 4), DOFI_BAD_STATE(SRQ_IN_USE));
	ck_assert_int_eq(param_of(srq).max_recv_dtos, 5);
	use_up(srq);
	ret_is(dofi_srq_resize(srq, 1), DOFI_BAD_STATE(SRQ_IN_USE)); /* below the watermark */
	ok(dofi_srq_resize(srq, 2));
	ck_assert_int_eq(param_of(srq).max_recv_dtos, 2);
	ret_is(dofi_srq_resize(srq, 0), DOFI_BAD_ARG(2));
	ret_is(dofi_srq_resize(srq, (DAT_COUNT)LARGE + 1), DOFI_BAD_ARG(2));
	ok(dofi_srq_resize(srq, (DAT_COUNT)LARGE));
	ok(dofi_srq_free(srq));
}
END_TEST

START_TEST(a_resize_without_memory_changes_nothing)
{
	DAT_SRQ_HANDLE srq = new_srq(2, 0);

	fails_at = _i;
	ret_is(dofi_srq_resize(srq, LARGE), DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	ck_assert_int_eq(param_of(srq).max_recv_dtos, 2);
	ok(post(srq));
	ok(post(srq));
	ret_is(post(srq), DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	ok(dofi_srq_resize(srq, 3));
	ok(post(srq));
	ok(dofi_srq_free(srq));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("srq");
	TCase *tcase = tcase_create("srq");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, arguments_are_checked_in_their_order);
	tcase_add_test(tcase, attributes_have_limits);
	tcase_add_loop_test(tcase, a_failed_creation_leaves_nothing, 1, 6);
	tcase_add_test(tcase, a_freed_srq_gives_its_receives_back);
	tcase_add_test(tcase, without_memory_for_the_object_there_is_no_srq);
	tcase_add_test(tcase, no_more_srqs_than_the_attribute_says);
	tcase_add_loop_test(tcase, numbers_are_different_if_random_ones_are_not, 0, 4);
	tcase_add_test(tcase, an_srq_of_an_EP_is_not_freed);
	tcase_add_test(tcase, the_counts_tell_the_receives);
	tcase_add_loop_test(tcase, a_receive_may_need_a_queue_that_nobody_reads, 0, 2);
	tcase_add_test(tcase, a_refused_receive_is_not_counted);
	tcase_add_loop_test(tcase, the_buffer_of_a_receive_is_given_back, 0, 3);
	tcase_add_test(tcase, receives_wait_for_room);
	tcase_add_test(tcase, receives_that_wait_again_wait_alone);
	tcase_add_test(tcase, receives_that_wait_end_with_their_srq);
	tcase_add_test(tcase, a_receive_that_is_refused_later_raises_the_watermark);
	tcase_add_test(tcase, a_receive_that_came_back_is_not_kept_by_the_fabric);
	tcase_add_test(tcase, each_receive_is_cancelled);
	tcase_add_test(tcase, receives_that_the_fabric_keeps_outlive_their_SRQ);
	tcase_add_test(tcase, the_receives_of_a_freed_SRQ_raise_no_watermark);
	tcase_add_test(tcase, slots_have_room_for_the_guard);
	tcase_add_test(tcase, the_watermark_is_raised_once_until_it_is_set_again);
	tcase_add_test(tcase, a_resized_srq_has_room_for_that_many);
	tcase_add_loop_test(tcase, a_resize_without_memory_changes_nothing, 1, 4);
	return t_run(suite);
}
