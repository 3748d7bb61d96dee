/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Limits of channels and requests: per address and in all, which channel is closed to make room,
 * the cost of an admission, and the log.
 */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/cm/accept.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/crowd.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/progress/engine.h"

#include <sys/resource.h>

#define SECOND UINT64_C(1000000000)
#define MANY   64u

static struct dofi_ia ia;
static struct dofi_chan chans[MANY], *closed;
static uint64_t now = 100 * SECOND;
static unsigned int compared, nclosed;

/* --- what crowd.c calls --- */

uint64_t __wrap_dofi_now(void);
void __wrap_dofi_chan_close(struct dofi_chan *chan, int err, bool orderly);
void __wrap_dofi_chan_send(struct dofi_chan *chan, const struct dofi_msg *msg);
bool __real_dofi_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
bool __wrap_dofi_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

void __wrap_dofi_chan_close(struct dofi_chan *chan, int err, bool orderly)
{
	ck_assert_int_eq(err, 0);
	ck_assert(orderly);
	closed = chan;
	nclosed++;
	dofi_list_del(&chan->link);
	dofi_crowd_leaves(chan);
}

bool __wrap_dofi_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	compared++;
	return __real_dofi_addr_same_host(a, b);
}

static uint8_t rejected; /* reason of the last REJECT */

void __wrap_dofi_chan_send(struct dofi_chan *chan, const struct dofi_msg *msg)
{
	ck_assert_ptr_eq(chan->ia, &ia);
	ck_assert_uint_eq(msg->type, DOFI_MSG_REJECT);
	rejected = msg->reason;
}

/* What the process may have open; 0: what the kernel says. */
static rlim_t most_files;
static bool files_unknown;

T_STAND_IN int __wrap_getrlimit(int resource, struct rlimit *limit);
int __real_getrlimit(int resource, struct rlimit *limit);

int __wrap_getrlimit(int resource, struct rlimit *limit)
{
	ck_assert_int_eq(resource, RLIMIT_NOFILE);
	if (files_unknown)
		return -1;
	limit->rlim_cur = limit->rlim_max = most_files;
	return most_files ? 0 : __real_getrlimit(resource, limit);
}

/* --- peers --- */

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_list_init(&ia.cm.chans);
	dofi_list_init(&ia.cm.listeners);
	snprintf(ia.name, sizeof(ia.name), "ofi-tcp-lo");
	ia.params.max_channels = 8;
	ia.params.max_peer_channels = 4;
	ia.params.max_peer_requests = 3;
	dofi_crowd_init(&ia);
	dofi_log_set_level("warn");
	dofi_lock(&ia.engine.lock);
}

/* A channel from 10.0.0.host that has just been used. */
static struct dofi_chan *new_channel(unsigned int n, unsigned int host)
{
	struct sockaddr_in from = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(0x0a000000u + host)};
	struct dofi_chan *chan = &chans[n];

	ck_assert_uint_lt(n, MANY);
	chan->ia = &ia;
	chan->fd.fd = -1;
	chan->accepted = true;
	chan->state = DOFI_CHAN_UP;
	chan->idle_since = now;
	dofi_list_init(&chan->conns);
	dofi_list_init(&chan->waiting);
	ck_assert(dofi_addr_set(&chan->source, (struct sockaddr *)&from, 0));
	return chan;
}

static bool admit(unsigned int n, unsigned int host)
{
	struct dofi_chan *chan = new_channel(n, host);

	if (!dofi_crowd_admits(chan))
		return false;
	dofi_list_add_tail(&ia.cm.chans, &chan->link);
	return true;
}

static void admit_many(unsigned int first, unsigned int n, unsigned int host)
{
	for (unsigned int i = 0; i < n; i++)
		ck_assert(admit(first + i, host));
}

static uint64_t refused(void)
{
	return atomic_load(&ia.counters[DOFI_CNT_IA_CM_REFUSED_LIMIT]);
}

/* --- channels --- */

START_TEST(each_address_has_a_limit)
{
	admit_many(0, 4, 1);
	ck_assert(!admit(4, 1));
	ck_assert_uint_eq(refused(), 1);
	admit_many(5, 3, 2);
	ck_assert(!admit(8, 1));
	admit_many(9, 1, 3);
	ck_assert_uint_eq(ia.cm.naccepted, 8);
	ck_assert_uint_eq(nclosed, 0);
}
END_TEST

START_TEST(all_addresses_together_have_a_limit)
{
	for (unsigned int i = 0; i < 8; i++)
		admit_many(i, 1, i);
	ck_assert(!admit(8, 8));
	ck_assert_uint_eq(refused(), 1);
	ck_assert_uint_eq(ia.cm.naccepted, 8);
}
END_TEST

START_TEST(dialled_channels_do_not_count)
{
	for (unsigned int i = 0; i < 8; i++) {
		new_channel(i, 1)->accepted = false;
		dofi_list_add_tail(&ia.cm.chans, &chans[i].link);
	}
	admit_many(8, 4, 1);
	ck_assert(!admit(12, 1));
}
END_TEST

/* The side that dials closes its own ones. */
START_TEST(dialled_channels_make_no_room)
{
	new_channel(0, 1)->accepted = false;
	dofi_list_add_tail(&ia.cm.chans, &chans[0].link);
	for (unsigned int i = 1; i < 9; i++)
		admit_many(i, 1, 1 + i / 3);
	now += 11 * SECOND;
	for (unsigned int i = 1; i < 9; i++)
		chans[i].idle_since = now;
	ck_assert(!admit(9, 1));
	ck_assert_uint_eq(nclosed, 0);
}
END_TEST

START_TEST(dialled_channels_do_not_fill_an_address)
{
	for (unsigned int i = 0; i < 8; i++) {
		new_channel(i, 1)->accepted = false;
		dofi_list_add_tail(&ia.cm.chans, &chans[i].link);
	}
	admit_many(8, 4, 2);
	admit_many(12, 4, 1);
}
END_TEST

START_TEST(each_address_reaches_its_limit)
{
	admit_many(0, 4, 1);
	admit_many(4, 4, 2);
	ck_assert_uint_eq(refused(), 0);
}
END_TEST

/* Also if no address can have so many. */
START_TEST(idle_channel_of_another_address_makes_room)
{
	ia.cm.max_peer_chans = 16;
	for (unsigned int i = 0; i < 8; i++)
		admit_many(i, 1, i);
	now += 11 * SECOND;
	admit_many(8, 1, 8);
	ck_assert_ptr_eq(closed, &chans[0]);
	ck_assert_uint_eq(ia.cm.naccepted, 8);
}
END_TEST

/* The side that has dialled it may be about to use it. */
START_TEST(a_channel_is_idle_after_a_while)
{
	admit_many(0, 4, 1);
	now += 10 * SECOND;
	ck_assert(!admit(4, 1));
	now++;
	admit_many(4, 1, 1);
	ck_assert_uint_eq(nclosed, 1);
}
END_TEST

START_TEST(closed_channel_makes_room)
{
	admit_many(0, 4, 1);
	ck_assert(!admit(4, 1));
	__wrap_dofi_chan_close(&chans[2], 0, true);
	admit_many(5, 1, 1);
}
END_TEST

START_TEST(idle_channel_makes_room)
{
	admit_many(0, 4, 1);
	admit_many(4, 1, 2);
	now += 11 * SECOND;
	chans[0].idle_since = now;
	admit_many(8, 1, 1);
	ck_assert_uint_eq(nclosed, 1);
	ck_assert_ptr_eq(closed, &chans[1]); /* the oldest idle one of this address */
	admit_many(9, 3, 3);
	ck_assert_uint_eq(nclosed, 1);
	admit_many(12, 1, 4); /* the ninth of all: the oldest idle one of any address */
	ck_assert_uint_eq(nclosed, 2);
	ck_assert_ptr_eq(closed, &chans[2]);
	ck_assert_uint_eq(ia.cm.naccepted, 8);
	ck_assert_uint_eq(refused(), 0);
}
END_TEST

/* In use: a connection, a waiting connection, or an unanswered INVALIDATE. */
START_TEST(channel_in_use_is_not_closed)
{
	struct dofi_conn conn[2] = {0};

	admit_many(0, 4, 1);
	now += 11 * SECOND;
	dofi_list_add_tail(&chans[0].conns, &conn[0].link);
	dofi_list_add_tail(&chans[1].waiting, &conn[1].link);
	chans[2].asked = 1;
	chans[3].idle_since = now;
	ck_assert(!admit(4, 1));
	chans[2].done = 1;
	admit_many(5, 1, 1);
	ck_assert_ptr_eq(closed, &chans[2]);
}
END_TEST

/* In a connection storm the cost of an admission must not grow with the number of channels. */
START_TEST(admission_below_the_limits_compares_no_addresses)
{
	ia.params.max_channels = ia.params.max_peer_channels = MANY - 1;
	dofi_crowd_init(&ia);
	admit_many(0, MANY - 1, 1);
	ck_assert_uint_eq(compared, 0);
	ck_assert(!admit(MANY - 1, 1));
	ck_assert_uint_eq(compared, MANY - 1); /* once each */
}
END_TEST

START_TEST(limits_follow_from_the_files_of_the_process)
{
	static const struct {
		rlim_t files; /* 0: unknown */
		uint32_t all, of_peer, strangers;
	} cases[] = {
		{400, 300, 200, 100},
		{2, 4, 4, 4},
		{4 * 4096 + 4, 3 * 4096 + 3, 2 * 4096 + 2, 4096},
		{RLIM_INFINITY, 3u << 18, 1u << 19, 4096},
		{0, 3u << 18, 1u << 19, 4096},
	};

	ia.params.max_channels = ia.params.max_peer_channels = 0;
	most_files = cases[_i].files;
	files_unknown = !most_files;
	dofi_crowd_init(&ia);
	ck_assert_uint_eq(ia.cm.max_chans, cases[_i].all);
	ck_assert_uint_eq(ia.cm.max_peer_chans, cases[_i].of_peer);
	ck_assert_uint_eq(ia.cm.max_strangers, cases[_i].strangers);
	ia.params.max_strangers = 30;
	dofi_crowd_init(&ia);
	ck_assert_uint_eq(ia.cm.max_strangers, 30);
	ia.params.max_strangers = UINT64_C(1) << 32;
	dofi_crowd_init(&ia);
	ck_assert_uint_eq(ia.cm.max_strangers, UINT32_MAX);
}
END_TEST

/* --- requests --- */

/* A request counts until the consumer answers it, or until it is rejected. */
START_TEST(requests_of_a_peer_have_a_limit)
{
	struct dofi_msg request = {.type = DOFI_MSG_REQUEST, .src = 1, .conn_qual = 7};
	struct dofi_conn conn = {.ia = &ia, .chan = &chans[0], .state = DOFI_CONN_OFFERED};

	admit_many(0, 1, 1);
	admit_many(1, 1, 1);
	chans[0].noffered = 3;
	ck_assert(!dofi_crowd_takes_request(&chans[0]));
	ck_assert(dofi_crowd_takes_request(&chans[1]));
	ck_assert_uint_eq(refused(), 1);
	dofi_conn_offer(&chans[0], &request);
	ck_assert_uint_eq(rejected, DOFI_REASON_RESOURCES);

	dofi_conn_enter(&conn, DOFI_CONN_ACCEPTED);
	ck_assert_uint_eq(chans[0].noffered, 2);
	ck_assert(dofi_crowd_takes_request(&chans[0]));
	dofi_conn_offer(&chans[0], &request);
	ck_assert_uint_eq(rejected, DOFI_REASON_NOT_MINE);
	ck_assert_uint_eq(chans[0].noffered, 2);
}
END_TEST

/* Gives the connection, which is the only one, the entry of the table with this index. */
static void move(struct dofi_conn *conn, uint32_t index)
{
	uint32_t mask = ia.cm.conns_size - 1;

	ia.cm.conns[conn->id & mask] = NULL;
	conn->id = (conn->id & ~mask) | index;
	ia.cm.conns[index] = conn;
}

/* Wherever it is in the table. */
START_TEST(each_withdrawn_request_counts)
{
	struct dofi_conn *conn;

	admit_many(0, 1, 1);
	conn = dofi_conn_new(&ia, DOFI_CONN_OFFERED);
	ck_assert_ptr_nonnull(conn);
	conn->remote = chans[0].source;
	dofi_conn_enter(conn, DOFI_CONN_ABANDONED);
	move(conn, _i ? ia.cm.conns_size - 1 : 0);
	chans[0].noffered = 2;
	ck_assert(!dofi_crowd_takes_request(&chans[0]));
	chans[0].noffered = 1;
	ck_assert(dofi_crowd_takes_request(&chans[0]));
	dofi_conn_free(conn);
}
END_TEST

/* Its CR stays, whether the peer cancels it or closes the channel. */
START_TEST(withdrawn_requests_count_for_their_address)
{
	struct dofi_conn *conns[3];

	admit_many(0, 2, 1);
	admit_many(2, 1, 2);
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert(dofi_crowd_takes_request(&chans[0]));
		conns[i] = dofi_conn_new(&ia, DOFI_CONN_OFFERED);
		ck_assert_ptr_nonnull(conns[i]);
		conns[i]->remote = chans[0].source;
		dofi_conn_enter(conns[i], DOFI_CONN_ABANDONED);
	}
	ck_assert(!dofi_crowd_takes_request(&chans[0]));
	ck_assert(!dofi_crowd_takes_request(&chans[1]));
	ck_assert(dofi_crowd_takes_request(&chans[2]));
	dofi_conn_enter(conns[0], DOFI_CONN_OFFERED); /* by its repetition, on another channel */
	ck_assert(dofi_crowd_takes_request(&chans[0]));
	dofi_conn_enter(conns[1], DOFI_CONN_ENDED);
	chans[0].noffered = 1;
	ck_assert(dofi_crowd_takes_request(&chans[0]));
	chans[0].noffered = 2;
	ck_assert(!dofi_crowd_takes_request(&chans[0]));
	for (unsigned int i = 0; i < 3; i++)
		dofi_conn_free(conns[i]);
}
END_TEST

/* In a connection storm the cost of a request must not grow with the number of connections. */
START_TEST(a_request_below_the_limit_compares_no_addresses)
{
	struct dofi_conn *conn = dofi_conn_new(&ia, DOFI_CONN_OFFERED);

	admit_many(0, 1, 1);
	compared = 0;
	dofi_conn_enter(conn, DOFI_CONN_ABANDONED);
	chans[0].noffered = 1;
	ck_assert(dofi_crowd_takes_request(&chans[0]));
	ck_assert_uint_eq(compared, 0);
	chans[0].noffered = 2;
	conn->remote = chans[0].source;
	ck_assert(!dofi_crowd_takes_request(&chans[0]));
	ck_assert_uint_eq(compared, 1);
	dofi_conn_free(conn);
}
END_TEST

/* --- the log --- */

static unsigned int lines_of(const char *text, const char *words)
{
	unsigned int n = 0;

	while ((text = strstr(text, words))) {
		text += strlen(words);
		n++;
	}
	return n;
}

START_TEST(refusals_are_logged_at_a_limited_rate)
{
	int fd = t_capture(STDERR_FILENO);
	const char *text;

	admit_many(0, 4, 1);
	for (unsigned int i = 0; i < 40; i++)
		ck_assert(!admit(4 + i, 1));
	ck_assert_uint_eq(refused(), 40);
	text = t_captured(fd);
	ck_assert_uint_eq(lines_of(text, "refusing another control channel"), 5);
	ck_assert_uint_eq(lines_of(text, "there are 4; max_peer_channels allows more"), 5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crowd");
	TCase *tcase = tcase_create("crowd");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, each_address_has_a_limit);
	tcase_add_test(tcase, all_addresses_together_have_a_limit);
	tcase_add_test(tcase, dialled_channels_do_not_count);
	tcase_add_test(tcase, dialled_channels_make_no_room);
	tcase_add_test(tcase, dialled_channels_do_not_fill_an_address);
	tcase_add_test(tcase, each_address_reaches_its_limit);
	tcase_add_test(tcase, idle_channel_of_another_address_makes_room);
	tcase_add_test(tcase, a_channel_is_idle_after_a_while);
	tcase_add_test(tcase, closed_channel_makes_room);
	tcase_add_test(tcase, idle_channel_makes_room);
	tcase_add_test(tcase, channel_in_use_is_not_closed);
	tcase_add_test(tcase, admission_below_the_limits_compares_no_addresses);
	tcase_add_loop_test(tcase, limits_follow_from_the_files_of_the_process, 0, 5);
	tcase_add_test(tcase, requests_of_a_peer_have_a_limit);
	tcase_add_test(tcase, withdrawn_requests_count_for_their_address);
	tcase_add_loop_test(tcase, each_withdrawn_request_counts, 0, 2);
	tcase_add_test(tcase, a_request_below_the_limit_compares_no_addresses);
	tcase_add_test(tcase, refusals_are_logged_at_a_limited_rate);
	return t_run(suite);
}
