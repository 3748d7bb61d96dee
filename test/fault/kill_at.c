/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The other process dies at a random instant: before the connection, during the fabric's own
 * handshake, during messages and RDMA. The survivor loses that connection and nothing else.
 * T_DEATHS is the number of deaths, T_SEED chooses the instants.
 */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "shm.h"
#include "victim.h"

#define BATCH 10 /* processes that die one after the other beside one survivor */
#define DEPTH 8u
#define FIRST_STEPS \
	12u /* requests to the card until the fabric's handshake is over, and some more */
#define MANY_STEPS 400u
#define LIFE_US    20000u

static struct t_peer victims[BATCH], *victim;
static uint32_t instant; /* of the process that is started next */
static struct t_ia ia;
static struct t_end end;
static DAT_RMR_TRIPLET remote; /* memory of the survivor */

/* --- the instant --- */

/*
 * The instant is a number of requests to the card on the software EFA device, and a number of
 * microseconds after dat_ia_open on other fabrics.
 */
static bool counts_requests(void)
{
	return getenv("SOFTEFA_FILE") != NULL;
}

static uint32_t choose_instant(uint64_t number)
{
	const char *seed = getenv("T_SEED");
	uint64_t state = number << 32 | (seed ? strtoul(seed, NULL, 10) : 1);

	if (!counts_requests())
		return 1 + fault_random_of(state, LIFE_US);
	return 1 + fault_random_of(state, number / 2 % 2 ? MANY_STEPS : FIRST_STEPS);
}

/* --- the victim --- */

/* Opens the IA and reports its qualifier, before the instant is set. */
static DAT_CONN_QUAL open_victim(const struct t_peer *self)
{
	DAT_CONN_QUAL qual = fault_hear_at_last(self);
	DAT_RMR_CONTEXT context = (DAT_RMR_CONTEXT)fault_hear_at_last(self);
	char text[16];

	remote = t_remote(context, (uintptr_t)fault_hear_at_last(self), T_BUF_SIZE);
	snprintf(text, sizeof(text), "%u", instant);
	if (counts_requests())
		setenv("SOFTEFA_DIE_AT", text, 1);
	t_ia_open(&ia);
	if (!counts_requests())
		fault_die_after(instant);
	t_end_new(&end, &ia, NULL);
	for (uint64_t i = 0; i < DEPTH; i++)
		t_ok(t_recv(&end, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	return qual;
}

static DAT_RETURN post_one(uint64_t i)
{
	DAT_VLEN length = i % 2 ? T_BUF_SIZE : 64;

	remote.segment_length = length;
	switch (i % 3) {
	case 0:
		return t_send(&end, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
	case 1:
		return t_write(&end, 0, length, i, remote, DAT_COMPLETION_DEFAULT_FLAG);
	default:
		return t_read(&end, 0, length, i, remote, DAT_COMPLETION_DEFAULT_FLAG);
	}
}

/* Works until it is killed. */
static void work(void)
{
	DAT_EVENT event;

	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	for (uint64_t i = 0;; i++) {
		if (i >= DEPTH)
			t_wait(end.request_evd);
		while (dat_evd_dequeue(end.recv_evd, &event) == DAT_SUCCESS)
			t_ok(t_recv(&end, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(post_one(i));
	}
}

static void active_victim(struct t_peer *self)
{
	DAT_CONN_QUAL qual = open_victim(self);

	t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	work();
}

static void passive_victim(struct t_peer *self)
{
	struct t_listener listener;

	open_victim(self);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	work();
}

/* --- the survivor --- */

static bool is_dead(void)
{
	int status;

	if (!victim->pid)
		return true;
	if (waitpid(victim->pid, &status, WNOHANG) != victim->pid)
		return false;
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		      "the victim ended by itself, wait status 0x%x", (unsigned int)status);
	victim->pid = 0;
	close(victim->sock);
	return true;
}

static bool request_came(const struct t_listener *listener, DAT_EVENT *event)
{
	bool dead;
	DAT_COUNT more;

	do {
		dead = is_dead();
		if (dat_evd_wait(listener->evd, 1000, 1, event, &more) == DAT_SUCCESS)
			return true;
	} while (!dead);
	return false;
}

static void say_no(const struct t_listener *listener)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(listener->evd, &event) == DAT_SUCCESS)
		t_ok(t_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
}

/* False if the victim died before its request came. */
static bool is_asked(const struct t_listener *listener)
{
	DAT_EVENT event;

	if (!request_came(listener, &event))
		return false;
	t_ok(t_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, end.ep));
	return true;
}

static bool asks(void)
{
	uint64_t qual;

	if (recv(victim->sock, &qual, sizeof(qual), 0) != (ssize_t)sizeof(qual))
		return false;
	t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	return true;
}

/* Posted and not completed. */
static unsigned int receives, requests;

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

static void keep_busy(bool connected)
{
	unsigned int n = take(end.recv_evd, &receives) + take(end.request_evd, &requests);

	for (; receives < DEPTH; receives++)
		t_ok(t_recv(&end, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG));
	for (; connected && requests < DEPTH; requests++)
		t_ok(t_send(&end, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG));
	if (!n)
		t_pause();
}

static bool ends_well(DAT_EVENT_NUMBER number, bool connected)
{
	if (connected)
		return number == DAT_CONNECTION_EVENT_BROKEN ||
		       number == DAT_CONNECTION_EVENT_DISCONNECTED;
	return number == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR ||
	       number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
	       number == DAT_CONNECTION_EVENT_UNREACHABLE;
}

/* Exchanges messages with the victim until the connection ends. */
static void outlive(void)
{
	uint64_t limit = t_now_us() + 2 * (uint64_t)T_LIMIT_US;
	bool connected = false;
	DAT_EVENT event;

	for (;;) {
		ck_assert_msg(t_now_us() < limit, "the connection is not over");
		if (dat_evd_dequeue(end.connect_evd, &event) != DAT_SUCCESS) {
			keep_busy(connected);
			continue;
		}
		if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED || connected)
			break;
		connected = true;
	}
	ck_assert_msg(ends_well(event.event_number, connected),
		      "event %s came when the victim was dead%s", t_event_name(event.event_number),
		      connected ? "" : ", before the connection was there");
	t_until((take(end.recv_evd, &receives), !receives) &&
		(take(end.request_evd, &requests), !requests));
}

static void survive(int i)
{
	bool asked = i % 2 == 0;
	struct t_listener listener;

	victim = &victims[i];
	t_end_new(&end, &ia, NULL);
	receives = requests = 0;
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(victim, listener.qual);
	t_peer_tell(victim, end.buf.rmr_context);
	t_peer_tell(victim, (uintptr_t)end.buf.mem);
	if (asked ? is_asked(&listener) : asks())
		outlive();
	t_until(is_dead());
	say_no(&listener);
	t_listener_free(&listener);
	t_end_free(&end);
}

static void expect_usable(void)
{
	struct t_loop loop;

	t_loop_open(&loop, &ia, NULL);
	t_ok(t_recv(&loop.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&loop.end[0], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, 64);
	t_loop_close(&loop);
}

START_TEST(survivor_continues_when_the_peer_dies)
{
	if (fault_dead_keep_locks())
		t_skip("this shm has a lock that dies with its holder");
	for (int i = 0; i < BATCH; i++) {
		instant = choose_instant((uint64_t)(_i * BATCH + i));
		t_peer_start(&victims[i], i % 2 ? passive_victim : active_victim);
	}
	t_ia_open(&ia);
	for (int i = 0; i < BATCH; i++)
		survive(i);
	expect_usable();
	t_ia_close(&ia);
}
END_TEST

int main(void)
{
	const char *deaths = getenv("T_DEATHS");
	long number = deaths ? strtol(deaths, NULL, 10) : (long)fault_amount(BATCH, 300);
	Suite *suite = suite_create("kill_at");
	TCase *tcase = tcase_create("kill_at");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, survivor_continues_when_the_peer_dies, 0,
			    (int)((number + BATCH - 1) / BATCH));
	return t_run(suite);
}
