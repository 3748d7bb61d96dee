/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Small RDMA by the box: targets that poll, that don't, that stop, and that are lied to. */
#include "unit.h"

#include "cm/conn.h"
#include "dto/rmr.h"
#include "object/ctxtab.h"
#include "object/ia.h"
#include "transport/memory_box.h"
#include "transport/memory_path.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#define CONTEXT (7u << 16 | 3u)
#define ZONE    5u
#define BASE    0x10000u
#define LENGTH  (2 * DOFI_BOX_MOST)
#define RIGHTS  (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* The two ends of a path: the initiator, and the target of its operations. */
static struct dofi_ia ias[2];
static struct dofi_ep eps[2];
static struct dofi_conn conns[2];
static struct dofi_memory_path asker, target;
static struct dofi_memory_box box;
static struct dofi_pz pz = {.number = ZONE};
static struct dofi_ctx_wire table[16];
static uint8_t memory[LENGTH], bytes[LENGTH];
static union {
	struct dofi_wr wr;
	struct {
		char request[sizeof(struct dofi_wr)];
		struct iovec iov[4];
	};
} request;
static uint8_t behind = 0xee; /* the segments of the request */
static _Atomic bool stop;

void *__wrap_dofi_ctx_memory(struct dofi_ia *of, const struct dofi_ctx *ctx, uint64_t address);

void *__wrap_dofi_ctx_memory(struct dofi_ia *of, const struct dofi_ctx *ctx, uint64_t address)
{
	(void)of; /* Check's assertions are not for this thread */
	return memory + (address - ctx->base);
}

static void expose(uint32_t privileges)
{
	memset(table, 0, sizeof(table));
	dofi_ctxtab_expose(&ias[1].ctxtab, &(struct dofi_ctx){.base = BASE,
							      .length = LENGTH,
							      .context = CONTEXT,
							      .privileges = (uint16_t)privileges,
							      .pz = ZONE});
}

static void setup(void)
{
	for (int i = 0; i < 2; i++) {
		dofi_lock_init(&ias[i].engine.lock);
		dofi_lock_init(&eps[i].lock);
		eps[i].obj.ia = &ias[i];
		eps[i].pz = &pz;
		conns[i] = (struct dofi_conn){.ia = &ias[i], .ep = &eps[i]};
	}
	ias[1].ctxtab.wire = table;
	asker = (struct dofi_memory_path){.conn = &conns[0], .box = &box};
	target = (struct dofi_memory_path){.conn = &conns[1], .their_box = &box};
	for (size_t i = 0; i < LENGTH; i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	expose(RIGHTS);
	dofi_lock(&eps[0].lock);
}

/* Three segments. */
static struct dofi_wr *prepare(uint8_t op, size_t length)
{
	request.wr = (struct dofi_wr){.ep = &eps[0],
				      .op = op,
				      .niov = 3,
				      .length = length,
				      .rdma = {.remote.address = BASE + 8, .context = CONTEXT}};
	request.iov[0] = (struct iovec){bytes, length / 3};
	request.iov[1] = (struct iovec){bytes + length / 3, length / 3};
	request.iov[2] = (struct iovec){bytes + length / 3 * 2, length - length / 3 * 2};
	request.iov[3] = (struct iovec){&behind, 1};
	return &request.wr;
}

static void serve(void)
{
	dofi_lock(&ias[1].engine.lock);
	dofi_box_serve(&target);
	dofi_unlock(&ias[1].engine.lock);
}

static void *poll_on(void *unused)
{
	while (!stop)
		serve();
	return unused;
}

/* Until the target has taken it: it may not have run while the asker waited. */
static enum dofi_box_state ask(struct dofi_wr *wr)
{
	enum dofi_box_state got;

	while ((got = dofi_box_ask(&asker, wr)) == DOFI_BOX_IDLE)
		sched_yield();
	return got;
}

/* Until it is done: the target may be stopped by the scheduler. */
static void carry_out(struct dofi_wr *wr)
{
	if (ask(wr) == DOFI_BOX_DONE)
		return;
	while (!dofi_box_is_done(&asker, wr))
		sched_yield();
}

static const size_t lengths[] = {1, 7, 8, 9, 40, 41, 1000, DOFI_BOX_MOST};

START_TEST(a_target_that_polls)
{
	size_t length = lengths[_i];
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, poll_on, NULL), 0);
	carry_out(prepare(DOFI_OP_WRITE, length));
	ck_assert_int_eq(memcmp(memory + 8, bytes, length), 0);
	ck_assert_uint_eq(memory[7], 0);
	ck_assert_uint_eq(memory[8 + length], 0);
	if (length < DOFI_BOX_MOST)
		ck_assert_uint_ne(box.bytes[length], behind);
	memset(bytes, 0, length);
	memset(memory, 0x5a, sizeof(memory));
	carry_out(prepare(DOFI_OP_READ, length));
	for (size_t i = 0; i < length; i++) {
		ck_assert_uint_eq(bytes[i], 0x5a);
		ck_assert_uint_eq(memory[8 + i], 0x5a);
	}
	ck_assert_uint_eq(behind, 0xee);
	stop = true;
	pthread_join(thread, NULL);
	ck_assert_int_eq(target.fault, 0);
}
END_TEST

/* It finds nothing when it polls later. */
START_TEST(a_target_that_does_not_poll)
{
	ck_assert_int_eq(dofi_box_ask(&asker, prepare(DOFI_OP_WRITE, 8)), DOFI_BOX_IDLE);
	serve();
	ck_assert_uint_eq(memory[8], 0);
	ck_assert_int_eq(box.state, DOFI_BOX_IDLE);
}
END_TEST

/* It has taken the request and does nothing until it is told to. */
static void *take(void *unused)
{
	uint32_t asked;

	do
		asked = DOFI_BOX_ASKED;
	while (!atomic_compare_exchange_weak(&box.state, &asked, DOFI_BOX_TAKEN));
	return unused;
}

START_TEST(a_target_that_stops)
{
	struct dofi_wr *wr = prepare(DOFI_OP_READ, 8);
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, take, NULL), 0);
	ck_assert_int_eq(ask(wr), DOFI_BOX_TAKEN);
	pthread_join(thread, NULL);
	ck_assert(!dofi_box_is_done(&asker, wr));
	memset(box.bytes, 0x55, 8);
	box.state = DOFI_BOX_DONE;
	ck_assert(dofi_box_is_done(&asker, wr));
	for (int i = 0; i < 8; i++)
		ck_assert_uint_eq(bytes[i], 0x55);
}
END_TEST

/* The memory of a write may be read-only, and the target may change what is in the box. */
START_TEST(a_write_changes_only_the_target)
{
	struct dofi_wr *wr = prepare(DOFI_OP_WRITE, 16);
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, take, NULL), 0);
	ck_assert_int_eq(ask(wr), DOFI_BOX_TAKEN);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(box.reads, 0);
	ck_assert_uint_eq(box.size, 16);
	ck_assert_mem_eq(box.bytes, bytes, 16);
	memset(box.bytes, 0x55, 16);
	box.state = DOFI_BOX_DONE;
	ck_assert(dofi_box_is_done(&asker, wr));
	for (size_t i = 0; i < 16; i++)
		ck_assert_uint_eq(bytes[i], (uint8_t)(i * 7 + 1));
}
END_TEST

static uint64_t cpu_ms(void)
{
	struct timespec now;

	ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A round of the engine only looks; by the processor's time, which other programs don't change. */
START_TEST(a_round_does_not_wait_for_the_box)
{
	struct dofi_wr *wr = prepare(DOFI_OP_WRITE, 8);
	uint64_t begin = cpu_ms();

	box.state = DOFI_BOX_TAKEN;
	ck_assert(!dofi_box_is_done(&asker, wr));
	ck_assert_uint_lt(cpu_ms() - begin, 500);
}
END_TEST

static const struct {
	uint32_t context;
	uint64_t address;
	uint16_t size;
	bool reads;
	uint32_t rights;
} lies[] = {
	{CONTEXT, BASE, 0, false, RIGHTS},
	{CONTEXT, BASE, DOFI_BOX_MOST + 1, false, RIGHTS},
	{CONTEXT, BASE, UINT16_MAX, true, RIGHTS},
	{CONTEXT + (1u << 16), BASE, 8, false, RIGHTS},
	{0, BASE, 8, false, RIGHTS},
	{CONTEXT + 1, BASE, 8, false, RIGHTS},
	{CONTEXT, BASE - 1, 8, false, RIGHTS},
	{CONTEXT, BASE + LENGTH - 7, 8, false, RIGHTS},
	{CONTEXT, UINT64_MAX - 3, 8, true, RIGHTS},
	{CONTEXT, BASE, 8, false, DAT_MEM_PRIV_REMOTE_READ_FLAG},
	{CONTEXT, BASE, 8, true, DAT_MEM_PRIV_REMOTE_WRITE_FLAG},
};

START_TEST(lies_end_the_path)
{
	expose(lies[_i].rights);
	box.context = lies[_i].context;
	box.address = lies[_i].address;
	box.size = lies[_i].size;
	box.reads = lies[_i].reads;
	memset(box.bytes, 0x55, sizeof(box.bytes));
	memset(memory, 0x11, sizeof(memory));
	box.state = DOFI_BOX_ASKED;
	serve();
	ck_assert_int_eq(target.fault, -EACCES);
	ck_assert_int_ne(box.state, DOFI_BOX_DONE);
	for (size_t i = 0; i < LENGTH; i++)
		ck_assert_uint_eq(memory[i], 0x11);
	ck_assert_uint_eq(box.bytes[0], 0x55);
}
END_TEST

/* A state that is none is nothing to do. */
START_TEST(a_forged_state)
{
	box.state = 77;
	serve();
	ck_assert_uint_eq(box.state, 77);
	ck_assert_int_eq(target.fault, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_box");
	TCase *tcase = tcase_create("memory_box");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_loop_test(tcase, a_target_that_polls, 0,
			    (int)(sizeof(lengths) / sizeof(lengths[0])));
	tcase_add_test(tcase, a_target_that_does_not_poll);
	tcase_add_test(tcase, a_target_that_stops);
	tcase_add_test(tcase, a_write_changes_only_the_target);
	tcase_add_test(tcase, a_round_does_not_wait_for_the_box);
	tcase_add_loop_test(tcase, lies_end_the_path, 0, (int)(sizeof(lies) / sizeof(lies[0])));
	tcase_add_test(tcase, a_forged_state);
	return t_run(suite);
}
