/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that neither poll nor wait, but read memory in a loop. If a device moves data itself,
 * the progress thread sleeps meanwhile. Code that needs completions to be read asks for it.
 */
#include <dirent.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "object/ia.h"
#include "object/ep.h"
#include "progress/wait.h"
#include "api/counters.h"
#include "inside.h"
#include "process.h"

#define ROUNDS   2000u
#define REQUESTS 4

static struct t_ia ia;
static struct t_loop loop;

static struct dofi_ia *inside(void)
{
	return ((struct dofi_ep *)loop.end[0].ep)->obj.ia;
}

/* --- the progress thread, counted and held --- */

static _Atomic uint32_t watches; /* calls of dofi_wait_watch() */
static _Atomic bool hold, held;
static sem_t let_go;

struct dofi_interrupts;

void __real_dofi_wait_watch(struct dofi_ia *on);
void __wrap_dofi_wait_watch(struct dofi_ia *on);
int __real_dofi_wait_on_fds(struct dofi_ia *on, const _Atomic uint32_t *wakeup, uint32_t seen,
			    uint64_t deadline, const struct dofi_interrupts *allowed);
int __wrap_dofi_wait_on_fds(struct dofi_ia *on, const _Atomic uint32_t *wakeup, uint32_t seen,
			    uint64_t deadline, const struct dofi_interrupts *allowed);

void __wrap_dofi_wait_watch(struct dofi_ia *on)
{
	watches++;
	__real_dofi_wait_watch(on);
}

int __wrap_dofi_wait_on_fds(struct dofi_ia *on, const _Atomic uint32_t *wakeup, uint32_t seen,
			    uint64_t deadline, const struct dofi_interrupts *allowed)
{
	if (hold && wakeup == &on->engine.activity) {
		held = true;
		sem_wait(&let_go);
	}
	return __real_dofi_wait_on_fds(on, wakeup, seen, deadline, allowed);
}

static uint32_t watchers(void)
{
	return atomic_load(&inside()->wait.watchers);
}

static void begin(void)
{
	DAT_EP_ATTR attr;

	sem_init(&let_go, 0, 0);
	fault_use_linked_provider();
	t_ia_open(&ia);
	attr = t_default_attr(&ia);
	attr.max_request_dtos = REQUESTS;
	attr.max_rdma_read_in = attr.max_rdma_read_out = 1;
	t_loop_open(&loop, &ia, &attr);
}

static void end(void)
{
	hold = false;
	sem_post(&let_go);
	t_loop_close(&loop);
	t_ia_close_empty(&ia);
}

static bool is_held(void)
{
	dofi_wait_kick(inside()); /* its sleep may have no timeout */
	return held;
}

/* Only calls of the test read completions from now on. */
static void hold_thread(void)
{
	hold = true;
	t_until(is_held());
}

/* --- a cell of the other end's memory --- */

static volatile uint64_t *cell(int side)
{
	return (volatile uint64_t *)(void *)loop.end[side].buf.mem;
}

/* Writes the number to the other end's memory, without an event there. */
static DAT_RETURN write_number(int from, uint64_t number)
{
	const struct t_end *self = &loop.end[from], *peer = &loop.end[!from];

	memcpy(self->buf.mem + 64 + number % 64 * 8, &number, sizeof(number));
	return t_write(self, 64 + number % 64 * 8, 8, number, t_remote_seg(&peer->buf, 0, 8),
		       DAT_COMPLETION_SUPPRESS_FLAG);
}

static void spin_until(int side, uint64_t number)
{
	uint64_t limit = t_now_us() + T_LIMIT_US;

	while (*cell(side) != number)
		ck_assert_msg(t_now_us() < limit, "write %llu never came",
			      (unsigned long long)number);
}

/* --- writes that are seen without polling --- */

START_TEST(polling_of_memory_wakes_no_thread)
{
	unsigned long before;

	begin();
	if (!inside()->moves_alone) {
		end();
		t_skip("this fabric moves nothing by itself");
	}
	t_ok(write_number(0, 1));
	spin_until(1, 1);
	before = fault_sleeps("dat-ofi");
	for (uint64_t i = 2; i < ROUNDS; i++) {
		t_ok(write_number(1, i));
		spin_until(0, i);
		t_ok(write_number(0, i));
		spin_until(1, i);
	}
	printf("# the progress thread slept %lu times in %u rounds\n",
	       fault_sleeps("dat-ofi") - before, ROUNDS);
	ck_assert_uint_lt(fault_sleeps("dat-ofi") - before, ROUNDS / 8);
	end();
}
END_TEST

START_TEST(post_reads_completions_if_the_request_ring_is_full)
{
	begin();
	hold_thread();
	for (uint64_t i = 1; i <= 10 * REQUESTS; i++)
		t_until(write_number(0, i) == DAT_SUCCESS);
	end();
}
END_TEST

START_TEST(post_reads_completions_if_the_receive_ring_is_full)
{
	DAT_COUNT most;

	begin();
	most = t_ep_attr(loop.end[1].ep).max_recv_dtos;
	hold_thread();
	for (DAT_COUNT i = 0; i < most; i++)
		t_ok(t_recv(&loop.end[1], 0, 8, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
	t_error(t_recv(&loop.end[1], 0, 8, 0, DAT_COMPLETION_DEFAULT_FLAG),
		DAT_INSUFFICIENT_RESOURCES);
	t_ok(t_send(&loop.end[0], 0, 8, 0, DAT_COMPLETION_DEFAULT_FLAG));
	t_until(t_recv(&loop.end[1], 0, 8, (uint64_t)most, DAT_COMPLETION_DEFAULT_FLAG) ==
		DAT_SUCCESS);
	end();
}
END_TEST

static bool is_idle(const struct t_end *at)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	t_ok(dat_ep_get_status(at->ep, &state, &recv_idle, &request_idle));
	ck_assert_int_eq(state, DAT_EP_STATE_CONNECTED);
	return recv_idle && request_idle;
}

static DAT_COUNT receives(const struct t_end *at)
{
	DAT_COUNT n, span;

	t_ok(dat_ep_recv_query(at->ep, &n, &span));
	return n;
}

/* The same as dat_ib_query_counters, which DAT 1.2 lacks. */
static uint64_t received(const struct t_end *at)
{
	DAT_UINT64 values[DOFI_CNT_EP_END];

	t_ok(dofi_count_query(at->ep, DOFI_CNT_EP_RECV, values, 0));
	return values[DOFI_CNT_EP_RECV];
}

START_TEST(queries_return_the_present_state)
{
	begin();
	t_ok(t_recv(&loop.end[1], 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	hold_thread();
	t_ok(t_send(&loop.end[0], 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	switch (_i) {
	case 0:
		t_until(is_idle(&loop.end[0]));
		t_until(is_idle(&loop.end[1]));
		break;
	case 1:
		t_until(!receives(&loop.end[1]));
		break;
	case 2:
		t_until(received(&loop.end[1]) == 1);
		break;
	}
	end();
}
END_TEST

/* --- code that needs completions to be read --- */

START_TEST(waiting_requests_watch_completions)
{
	const struct t_end *from = &loop.end[0], *to = &loop.end[1];

	begin();
	ck_assert_uint_eq(watchers(), 0);
	/*
	 * The first request reads the peer's context table. Each later one waits for the one
	 * before.
	 */
	for (uint64_t i = 1; i <= REQUESTS; i++) {
		to->buf.mem[i] = (unsigned char)i;
		t_ok(t_read(from, 64 + i, 1, i, t_remote_seg(&to->buf, i, 1),
			    DAT_COMPLETION_DEFAULT_FLAG));
	}
	ck_assert_uint_ge(watches, 1);
	t_until(*(volatile unsigned char *)&from->buf.mem[64 + REQUESTS] == REQUESTS);
	for (uint64_t i = 1; i <= REQUESTS; i++)
		t_wait_dto(from->request_evd, from->ep, i, DAT_DTO_SUCCESS, 1);
	ck_assert_uint_eq(watchers(), 0);
	end();
}
END_TEST

START_TEST(disconnects_watch_completions)
{
	begin();
	ck_assert_uint_eq(watchers(), 0);
	ck_assert_uint_eq(watches, 0);
	t_ok(dat_ep_disconnect(loop.end[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
	ck_assert_uint_ge(watches, 1);
	for (int i = 0; i < 2; i++)
		t_wait_conn(loop.end[i].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED,
			    loop.end[i].ep);
	ck_assert_uint_eq(watchers(), 0);
	end();
}
END_TEST

START_TEST(watermarks_watch_completions)
{
	struct t_end other;

	begin();
	t_end_new(&other, &ia, NULL);
	t_ok(dat_ep_set_watermark(other.ep, 2, DAT_WATERMARK_INFINITE));
	t_ok(dat_ep_set_watermark(other.ep, 3, DAT_WATERMARK_INFINITE));
	ck_assert_uint_eq(watchers(), 1);
	t_end_free(&other);
	ck_assert_uint_eq(watchers(), 0);
	end();
}
END_TEST

START_TEST(srqs_watch_completions)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 8, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq;

	begin();
	if (!ia.provider.srq_supported) {
		end();
		t_skip("there are no SRQs");
	}
	t_ok(dat_srq_create(ia.ia, ia.pz, &attr, &srq));
	ck_assert_uint_eq(watchers(), 1);
	t_ok(dat_srq_free(srq));
	ck_assert_uint_eq(watchers(), 0);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("spin");
	TCase *tc = tcase_create("spin");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, polling_of_memory_wakes_no_thread);
	tcase_add_test(tc, post_reads_completions_if_the_request_ring_is_full);
	tcase_add_test(tc, post_reads_completions_if_the_receive_ring_is_full);
	tcase_add_loop_test(tc, queries_return_the_present_state, 0, 3);
	tcase_add_test(tc, waiting_requests_watch_completions);
	tcase_add_test(tc, disconnects_watch_completions);
	tcase_add_test(tc, watermarks_watch_completions);
	tcase_add_test(tc, srqs_watch_completions);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
