/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A target that makes no DAT call serves RDMA operations, also while it computes. */
#include <poll.h>
#include <stdatomic.h>

#include "fault.h"

#define TRANSFERS 300u

/* Memory that both processes share. */
static struct shared {
	_Atomic bool enough;
} * shared;

static void compute(void)
{
	volatile double x = 1;

	while (!shared->enough)
		x = x * 1.0000001 + 1;
}

static void *compute_thread(void *arg)
{
	compute();
	return arg;
}

/* More threads than there are processors. */
static void compute_on_all(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, compute_thread, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void sleep_elsewhere(void)
{
	while (!shared->enough)
		poll(NULL, 0, 20);
}

static void (*const ways[])(void) = {compute, compute_on_all, sleep_elsewhere};
static int way;

static void target_role(struct t_peer *self)
{
	struct t_listener listener;
	struct t_end end;
	struct t_ia ia;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_tell(self, end.buf.rmr_context);
	t_peer_tell(self, (uintptr_t)end.buf.mem);
	ways[way]();
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_no_event(end.recv_evd);
	t_no_event(end.request_evd);
	t_ia_close(&ia);
}

/* Writes, and reads the written bytes back. */
static void transfer(const struct t_end *end, DAT_RMR_TRIPLET remote, unsigned int round)
{
	size_t length = (size_t)remote.segment_length;

	t_fill(end->buf.mem, length, round);
	t_ok(t_write(end, 0, length, 1, remote, DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(t_read(end, length, length, 2, remote, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end->request_evd, end->ep, 2, DAT_DTO_SUCCESS, length);
	ck_assert(t_is_filled(end->buf.mem + length, length, round));
}

START_TEST(target_serves_rdma_without_a_call)
{
	struct t_peer target;
	DAT_RMR_CONTEXT context;
	uintptr_t address;
	struct t_end end;
	struct t_ia ia;

	way = _i;
	shared = fault_share(sizeof(*shared));
	t_peer_start(&target, target_role);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(&target), T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	context = (DAT_RMR_CONTEXT)t_peer_hear(&target);
	address = (uintptr_t)t_peer_hear(&target);
	for (unsigned int round = 0; round < TRANSFERS; round++)
		transfer(&end, t_remote(context, address, round % 3 ? 100 : 30000), round);
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	shared->enough = true;
	t_peer_join(&target);
	t_ia_close(&ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("passive");
	TCase *tcase = tcase_create("passive");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, target_serves_rdma_without_a_call, 0, 3);
	return t_run(suite);
}
