/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs that exit as soon as their last request is complete: completed data still arrive. */
#include "paired.h"
#include "../lib/t_peer.h"

#define REQUESTS 32u
#define PIECE    (T_BUF_SIZE / REQUESTS)

static const struct {
	bool writes;
	size_t size; /* of each */
	/* from one to the next, in both buffers; 0: all at one place, with the same bytes */
	size_t stride;
} kinds[] = {
	{false, 64, PIECE}, {false, PIECE, PIECE}, {false, T_BUF_SIZE, 0},
	{true, 64, PIECE},  {true, PIECE, PIECE},  {true, T_BUF_SIZE, 0},
};

enum way { DISCONNECT, FREE, CLOSE, EXIT, WAYS };

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* The test sets these before it starts the other process. */
static enum way way;
static size_t kind;

static size_t place_of(unsigned int i)
{
	return i * kinds[kind].stride;
}

static unsigned int seed_of(unsigned int i)
{
	return kinds[kind].stride ? i + 1 : 1;
}

/* --- the process that exits --- */

static void send_all(const struct t_end *end, DAT_RMR_CONTEXT context, uintptr_t address)
{
	const size_t size = kinds[kind].size;

	for (unsigned int i = 0; i < REQUESTS; i++)
		t_fill(end->buf.mem + place_of(i), size, seed_of(i));
	for (unsigned int i = 0; i < REQUESTS; i++) {
		if (kinds[kind].writes)
			t_ok(t_write(end, place_of(i), size, i,
				     t_remote(context, address + place_of(i), size),
				     DAT_COMPLETION_DEFAULT_FLAG));
		else
			t_ok(t_send(end, place_of(i), size, i, DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (unsigned int i = 0; i < REQUESTS; i++)
		t_wait_dto(end->request_evd, end->ep, i, DAT_DTO_SUCCESS, size);
}

static void leave(const struct t_end *end)
{
	if (way == DISCONNECT)
		t_ok(dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG));
	else if (way == FREE)
		t_ok(dat_ep_free(end->ep));
	else if (way == CLOSE)
		t_ok(dat_ia_close(end->on->ia, DAT_CLOSE_ABRUPT_FLAG));
	else
		exit(EXIT_SUCCESS);
}

static void leaver(struct t_peer *self)
{
	DAT_RMR_CONTEXT context;
	uintptr_t address;
	struct t_ia ia;
	struct t_end end;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(self), T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	context = (DAT_RMR_CONTEXT)t_peer_hear(self);
	address = (uintptr_t)t_peer_hear(self);
	send_all(&end, context, address);
	leave(&end);
	t_peer_tell(self, 0);
	t_peer_hear(self); /* the data arrive before the process exits */
}

/* --- the process that receives --- */

static void expect_all(const struct t_end *end)
{
	const size_t size = kinds[kind].size;

	for (unsigned int i = 0; !kinds[kind].writes && i < REQUESTS; i++)
		t_wait_dto(end->recv_evd, end->ep, i, DAT_DTO_SUCCESS, size);
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end->ep);
	for (unsigned int i = 0; i < REQUESTS; i++)
		ck_assert_msg(t_is_filled(end->buf.mem + place_of(i), size, seed_of(i)),
			      "request %u has not arrived", i);
	if (!kinds[kind].writes)
		t_wait_dto(end->recv_evd, end->ep, REQUESTS, DAT_DTO_ERR_FLUSHED, 0);
}

START_TEST(PRG_20_completed_requests_arrive)
{
	DAT_EP_ATTR attr;
	struct t_listener listener;
	struct t_peer leaving;
	struct t_end end;
	struct t_ia ia;

	/*
	 * The receiving process makes no call meanwhile, and its progress thread does not read for
	 * some time. The data wait in the sockets.
	 */
	setenv("DAT_OFI_QUIET_MS", "50", 1);
	setenv("DAT_OFI_LINGER_MS", "20000", 1);
	way = (enum way)((size_t)_i / KINDS);
	kind = (size_t)_i % KINDS;
	t_peer_start(&leaving, leaver);
	t_ia_open(&ia);
	attr = t_default_attr(&ia);
	if (attr.max_recv_dtos <= (DAT_COUNT)REQUESTS)
		attr.max_recv_dtos = REQUESTS + 1;
	t_end_new(&end, &ia, &attr);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	for (unsigned int i = 0; i <= REQUESTS; i++) /* one request is left */
		t_ok(t_recv(&end, kinds[kind].writes ? 0 : place_of(i % REQUESTS), kinds[kind].size,
			    i, DAT_COMPLETION_DEFAULT_FLAG));
	t_peer_tell(&leaving, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_tell(&leaving, end.buf.rmr_context);
	t_peer_tell(&leaving, (uintptr_t)end.buf.mem);
	if (way == EXIT)
		t_peer_join(&leaving);
	else
		t_peer_hear(&leaving);
	expect_all(&end);
	if (way != EXIT) {
		t_peer_tell(&leaving, 0);
		t_peer_join(&leaving);
	}
	t_ia_close(&ia);
}
END_TEST

Suite *conform_gone(void)
{
	Suite *suite = suite_create("prg-gone");
	TCase *tcase = tcase_create("prg-gone");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, PRG_20_completed_requests_arrive, 0, WAYS * (int)KINDS);
	return suite;
}
