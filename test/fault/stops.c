/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many peers are stopped at random instants amid messages and RDMA, all at the same time, and
 * continue after T_STOP_MS (5 seconds with T_FULL). From every second one the survivor disconnects
 * meanwhile: every flush arrives while the peer is stopped. With the others it goes on afterwards
 * as if nothing had been. T_STOPS is the number of stops, T_SEED chooses the instants.
 */
#include <signal.h>
#include <sys/wait.h>

#include "fault.h"

#define BATCH   10 /* peers that are stopped at the same time */
#define DEPTH   8u
#define LENGTH  64u
#define LIFE_US 50000u

/* What the survivor knows of a peer. */
struct side {
	struct t_peer peer;
	struct t_end end;
	uint64_t stop_at;
	unsigned int receives, requests; /* posted and not completed */
	unsigned int received;           /* since it continues */
	bool connected, stopped, leaves, over;
};

static struct side sides[BATCH];
static struct t_ia ia;
static struct t_end end;
static DAT_RMR_TRIPLET remote;

/* splitmix64 */
static uint32_t random_of(uint64_t state, uint32_t n)
{
	const char *seed = getenv("T_SEED");

	state |= (seed ? strtoul(seed, NULL, 10) : 1) << 32;
	state = (state + 1) * 0x9e3779b97f4a7c15u;
	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
	state = (state ^ state >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((state ^ state >> 31) % n);
}

/* --- a peer --- */

static DAT_RETURN post_one(uint64_t i)
{
	DAT_VLEN length = i % 2 ? T_BUF_SIZE : LENGTH;

	remote.segment_length = length;
	switch (i % 3) {
	case 0:
		return t_send(&end, 0, LENGTH, i, DAT_COMPLETION_DEFAULT_FLAG);
	case 1:
		return t_write(&end, 0, length, i, remote, DAT_COMPLETION_DEFAULT_FLAG);
	default:
		return t_read(&end, 0, length, i, remote, DAT_COMPLETION_DEFAULT_FLAG);
	}
}

/* Works until the survivor leaves. What is under way then may fail. */
static void peer_role(struct t_peer *self)
{
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	uint64_t i = 0;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	for (; i < DEPTH; i++)
		t_ok(t_recv(&end, 0, LENGTH, i, DAT_COMPLETION_DEFAULT_FLAG));
	qual = t_peer_hear(self);
	remote.rmr_context = (DAT_RMR_CONTEXT)t_peer_hear(self);
	remote = t_remote(remote.rmr_context, (uintptr_t)t_peer_hear(self), T_BUF_SIZE);
	t_ok(t_connect_data(end.ep, &ia, qual, DAT_TIMEOUT_INFINITE, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	for (i = 0; i < DEPTH; i++)
		t_ok(post_one(i));
	while (dat_evd_dequeue(end.connect_evd, &event) != DAT_SUCCESS) {
		if (dat_evd_dequeue(end.recv_evd, &event) == DAT_SUCCESS)
			t_recv(&end, 0, LENGTH, i, DAT_COMPLETION_DEFAULT_FLAG);
		if (dat_evd_dequeue(end.request_evd, &event) == DAT_SUCCESS)
			post_one(i++);
	}
	t_ia_close(&ia);
}

/* --- the survivor --- */

static unsigned int take(DAT_EVD_HANDLE evd, unsigned int *posted)
{
	DAT_EVENT event;
	unsigned int n = 0;

	for (; dat_evd_dequeue(evd, &event) == DAT_SUCCESS; n++) {
		ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
		ck_assert_uint_gt(*posted, 0);
		--*posted;
	}
	return n;
}

static void keep_busy(struct side *side)
{
	unsigned int n = take(side->end.recv_evd, &side->receives);

	take(side->end.request_evd, &side->requests);
	if (!side->stopped)
		side->received += n;
	if (side->leaves)
		return;
	for (; side->receives < DEPTH; side->receives++)
		t_ok(t_recv(&side->end, 0, LENGTH, 0, DAT_COMPLETION_DEFAULT_FLAG));
	for (; side->requests < DEPTH; side->requests++)
		t_ok(t_send(&side->end, 0, LENGTH, 0, DAT_COMPLETION_DEFAULT_FLAG));
}

static void leave(struct side *side, DAT_CLOSE_FLAGS how)
{
	side->leaves = true;
	t_ok(dat_ep_disconnect(side->end.ep, how));
}

static void look(struct side *side)
{
	DAT_EVENT event;

	keep_busy(side);
	if (dat_evd_dequeue(side->end.connect_evd, &event) != DAT_SUCCESS)
		return;
	ck_assert_msg(side->leaves && event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
		      "%s without a reason", t_event_name(event.event_number));
	side->over = true;
}

static void look_at_all(void)
{
	for (int i = 0; i < BATCH; i++)
		if (!sides[i].over || sides[i].receives || sides[i].requests)
			look(&sides[i]);
}

#define EVERY(condition)                                     \
	({                                                   \
		bool all = true;                             \
		for (int i = 0; i < BATCH; i++) {            \
			const struct side *side = &sides[i]; \
			all = all && (condition);            \
		}                                            \
		all;                                         \
	})

/* Waits for the condition, and all connections are busy meanwhile. */
#define BUSY_UNTIL(condition, limit)                                                 \
	do {                                                                         \
		uint64_t last = t_now_us() + (limit);                                \
		while (!(condition)) {                                               \
			ck_assert_msg(t_now_us() < last, "never came: " #condition); \
			look_at_all();                                               \
			t_pause();                                                   \
		}                                                                    \
	} while (0)

static void meet(struct side *side, struct t_listener *listener)
{
	t_end_new(&side->end, &ia, NULL);
	for (side->receives = 0; side->receives < DEPTH; side->receives++)
		t_ok(t_recv(&side->end, 0, LENGTH, 0, DAT_COMPLETION_DEFAULT_FLAG));
	t_peer_tell(&side->peer, listener->qual);
	t_peer_tell(&side->peer, side->end.buf.rmr_context);
	t_peer_tell(&side->peer, (uintptr_t)side->end.buf.mem);
	t_ok(t_cr_accept(t_next_cr(listener), side->end.ep));
	t_wait_conn(side->end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, side->end.ep);
}

static bool stop_due(void)
{
	uint64_t now = t_now_us();
	bool all = true;

	for (int i = 0; i < BATCH; i++) {
		struct side *side = &sides[i];

		if (!side->stopped && now >= side->stop_at) {
			t_peer_freeze(&side->peer);
			side->stopped = true;
		}
		all = all && side->stopped;
	}
	return all;
}

static uint64_t stop_us(void)
{
	const char *ms = getenv("T_STOP_MS");

	return 1000u * (ms ? strtoul(ms, NULL, 10) : fault_amount(500, 5000));
}

static bool passed(uint64_t time)
{
	return t_now_us() >= time;
}

START_TEST(peers_that_are_stopped)
{
	struct t_listener listener;
	uint64_t thaw;

	for (int i = 0; i < BATCH; i++)
		t_peer_start(&sides[i].peer, peer_role);
	t_ia_open(&ia);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	for (int i = 0; i < BATCH; i++)
		meet(&sides[i], &listener);
	for (int i = 0; i < BATCH; i++)
		sides[i].stop_at = t_now_us() + random_of((uint64_t)(_i * BATCH + i), LIFE_US);
	BUSY_UNTIL(stop_due(), T_LIMIT_US);
	thaw = t_now_us() + stop_us();
	for (int i = 0; i < BATCH; i += 2)
		leave(&sides[i], DAT_CLOSE_ABRUPT_FLAG);
	BUSY_UNTIL(EVERY(!side->leaves || (side->over && !side->receives && !side->requests)),
		   T_LIMIT_US);
	BUSY_UNTIL(passed(thaw), stop_us() + T_LIMIT_US);
	for (int i = 0; i < BATCH; i++) {
		t_peer_thaw(&sides[i].peer);
		sides[i].stopped = false;
	}
	BUSY_UNTIL(EVERY(side->leaves || side->received > 2 * DEPTH), 2 * T_LIMIT_US);
	for (int i = 1; i < BATCH; i += 2)
		leave(&sides[i], DAT_CLOSE_ABRUPT_FLAG);
	BUSY_UNTIL(EVERY(side->over && !side->receives && !side->requests), 2 * T_LIMIT_US);
	for (int i = 0; i < BATCH; i++)
		t_peer_join(&sides[i].peer);
	t_ia_close(&ia);
}
END_TEST

int main(void)
{
	const char *stops = getenv("T_STOPS");
	long number = stops ? strtol(stops, NULL, 10) : (long)fault_amount(BATCH, 200);
	Suite *suite = suite_create("stops");
	TCase *tcase = tcase_create("stops");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, peers_that_are_stopped, 0, (int)((number + BATCH - 1) / BATCH));
	return t_run(suite);
}
