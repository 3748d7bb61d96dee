/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which channel a connection gets: one that leads to the same process already, or a new one; and
 * what becomes of a channel that nobody needs.
 */
#include "t_blocks.h"
#include "progress/work.h"
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/channel_dial.h"
#include "../../../prov/ofi/cm/channel_find.h"
#include "../../../prov/ofi/cm/channel_send.h"
#include "../../../prov/ofi/cm/cm.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/connect.h"
#include "../../../prov/ofi/cm/disconnect.h"
#include "../../../prov/ofi/cm/drain.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/progress/timer.h"
#include "../../../prov/ofi/progress/work.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define CONNS  12
#define PORT   1040 /* where the peer listens */

static const struct dofi_trans_ops trans;
static struct dofi_ia ia = {.name = "test", .trans = &trans, .params.handshake_ms = 10000};
static struct dofi_conn conns[CONNS];
static int ups[CONNS], asks[CONNS], failures[CONNS];
static uint64_t now = 1000 * SECOND;
static const char *our_hosts[2]; /* addresses of this host */
static int connect_error = EINPROGRESS;
static bool no_sockets, overloaded;
static int losses[CONNS]; /* 1: orderly, 2: not */
static const struct dofi_chan *undrained;
static bool up_breaks; /* a connection that learns of its channel finds that it can't send */

/* --- what the channels call --- */

uint64_t __wrap_dofi_now(void);
void __wrap_dofi_wait_kick(struct dofi_ia *of);
T_STAND_IN int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t size);
int __real_connect(int fd, const struct sockaddr *addr, socklen_t size);
void __wrap_dofi_conn_ask(struct dofi_conn *conn);
void __wrap_dofi_conn_chan_up(struct dofi_conn *conn);
void __wrap_dofi_conn_dial_failed(struct dofi_conn *conn, int err);
bool __wrap_dofi_netdev_is_ours(const struct sockaddr_storage *addr);
void __wrap_dofi_conn_chan_lost(struct dofi_conn *conn, bool orderly);
void __wrap_dofi_drain_chan_lost(struct dofi_ia *of, const struct dofi_chan *chan);
struct dofi_run_delay __wrap_dofi_run_delay_recent(struct dofi_run_delay *latest);
bool __wrap_dofi_run_delay_is_high(const struct dofi_run_delay *since);
T_STAND_IN int __wrap_socket(int family, int type, int protocol);
int __real_socket(int family, int type, int protocol);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
}

/* Nobody answers. */
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t size)
{
	(void)fd, (void)addr, (void)size;
	errno = connect_error;
	return -1;
}

int __wrap_socket(int family, int type, int protocol)
{
	errno = EMFILE;
	return no_sockets ? -1 : __real_socket(family, type, protocol);
}

struct dofi_run_delay __wrap_dofi_run_delay_recent(struct dofi_run_delay *latest)
{
	ck_assert_ptr_eq(latest, &ia.cm.delay);
	return (struct dofi_run_delay){.at = 77, .waited = 88};
}

bool __wrap_dofi_run_delay_is_high(const struct dofi_run_delay *since)
{
	ck_assert_uint_eq(since->at, 77);
	return overloaded;
}

void __wrap_dofi_conn_ask(struct dofi_conn *conn)
{
	asks[conn - conns]++;
	conn->asked = true;
}

void __wrap_dofi_conn_chan_up(struct dofi_conn *conn)
{
	ups[conn - conns]++;
	if (up_breaks)
		conn->chan->send_err = -EPIPE;
}

void __wrap_dofi_conn_chan_lost(struct dofi_conn *conn, bool orderly)
{
	ck_assert_ptr_null(conn->chan);
	ck_assert(dofi_list_empty(&conn->link));
	losses[conn - conns] = orderly ? 1 : 2;
}

void __wrap_dofi_drain_chan_lost(struct dofi_ia *of, const struct dofi_chan *chan)
{
	ck_assert_ptr_eq(of, &ia);
	undrained = chan;
}

void __wrap_dofi_conn_dial_failed(struct dofi_conn *conn, int err)
{
	failures[conn - conns] = err;
}

bool __wrap_dofi_netdev_is_ours(const struct sockaddr_storage *addr)
{
	struct sockaddr_storage it;

	for (size_t i = 0; i < 2; i++)
		if (our_hosts[i] && dofi_addr_parse(our_hosts[i], &it) &&
		    dofi_addr_same_host(&it, addr))
			return true;
	return false;
}

/* --- */

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_work_init(&ia.engine);
	dofi_list_init(&ia.drains);
	ia.engine.sock_epfd = epoll_create1(0);
	ck_assert_int_ge(ia.engine.sock_epfd, 0);
	ia.obj.ia = &ia;
	ck_assert_int_eq(dofi_cm_init(&ia), 0);
	for (int i = 0; i < CONNS; i++) {
		conns[i].ia = &ia;
		conns[i].state = DOFI_CONN_DIALLING;
		dofi_list_init(&conns[i].link);
	}
	dofi_lock(&ia.engine.lock);
}

static struct sockaddr_storage addr_of(const char *host, uint16_t port)
{
	struct sockaddr_storage addr, with_port;

	ck_assert(dofi_addr_parse(host, &addr));
	ck_assert(dofi_addr_set(&with_port, (struct sockaddr *)&addr, port));
	return with_port;
}

static struct dofi_chan *dial(int i, const char *host, uint16_t port)
{
	struct sockaddr_storage remote = addr_of(host, 0);

	conns[i].asked = true; /* on another channel */
	ck_assert_int_eq(dofi_chan_dial(&conns[i], (struct sockaddr *)&remote, port), 0);
	ck_assert_ptr_nonnull(conns[i].chan);
	ck_assert(!conns[i].asked);
	return conns[i].chan;
}

static bool is_in(const struct dofi_list *list, const struct dofi_list *link)
{
	DOFI_LIST_FOR(node, list)
	{
		if (node == link)
			return true;
	}
	return false;
}

static bool is_armed(const struct dofi_chan *chan)
{
	return chan->timer.place;
}

/* The peer with this number has told its DETAILS. */
static void tell(struct dofi_chan *chan, uint8_t peer)
{
	chan->state = DOFI_CHAN_HANDSHAKE;
	chan->peer.uuid[15] = peer;
	chan->peer.fabric_name_size = 4;
	memcpy(chan->peer.fabric_name, "name", 4);
}

static void be_up(struct dofi_chan *chan, uint8_t peer)
{
	tell(chan, peer);
	chan->state = DOFI_CHAN_UP;
	dofi_chan_make_known(chan);
}

/* --- finding a channel --- */

START_TEST(connections_to_one_address_share_a_channel)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	ck_assert_int_eq(chan->state, DOFI_CHAN_DIALING);
	ck_assert_ptr_eq(dial(1, "10.0.0.1", PORT), chan);
	ck_assert_ptr_ne(dial(2, "10.0.0.1", PORT + 1), chan);
	ck_assert_ptr_ne(dial(3, "10.0.0.2", PORT), chan);
	ck_assert(is_in(&chan->waiting, &conns[0].link));
	ck_assert(is_in(&chan->waiting, &conns[1].link));
	ck_assert(!is_in(&chan->waiting, &conns[2].link));
	ck_assert(dofi_list_empty(&ia.engine.work)); /* they wait until it is up */
}
END_TEST

START_TEST(a_channel_that_is_up_is_used_at_once)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	be_up(chan, 1);
	ck_assert_ptr_eq(dial(1, "10.0.0.1", PORT), chan);
	ck_assert_int_eq(ups[1], 0); /* not within the call */
	dofi_work_run(&ia);
	ck_assert_int_eq(ups[1], 1);
	ck_assert(is_in(&chan->conns, &conns[1].link));
}
END_TEST

/* The process behind it does not serve the qualifier. One that is being dialled may. */
START_TEST(a_connection_that_dials_the_port_itself_gets_a_new_channel)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT), *fresh;

	conns[1].redialled = conns[2].redialled = true;
	ck_assert_ptr_eq(dial(1, "10.0.0.1", PORT), chan);
	be_up(chan, 1);
	fresh = dial(2, "10.0.0.1", PORT);
	ck_assert_ptr_ne(fresh, chan);
	ck_assert_ptr_eq(dial(3, "10.0.0.1", PORT), fresh); /* the newest is found */
}
END_TEST

/* What the peer dialled is for its requests, and what cannot send is over. */
START_TEST(a_channel_that_can_not_send_is_not_used)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	chan->send_err = -EPIPE;
	ck_assert_ptr_ne(dial(1, "10.0.0.1", PORT), chan);
}
END_TEST

/* The program has closed its standard input. */
START_TEST(a_dial_may_have_the_lowest_descriptor)
{
	struct dofi_chan *chan;

	close(STDIN_FILENO);
	chan = dial(0, "10.0.0.1", PORT);
	ck_assert_int_eq(chan->fd.fd, STDIN_FILENO);
	dofi_chan_detach(&conns[0]);
	ck_assert_int_eq(chan->fd.fd, -1);
	ck_assert_int_eq(open("/dev/null", O_RDONLY), STDIN_FILENO); /* it is free again */
}
END_TEST

/* The events that the engine waits for; 0: none. */
static unsigned int watched_for(int fd)
{
	char path[64], line[256];
	unsigned int mask, found = 0;
	FILE *file;
	int of;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", ia.engine.sock_epfd);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "tfd: %d events: %x", &of, &mask) == 2 && of == fd)
			found = mask & (EPOLLIN | EPOLLOUT);
	fclose(file);
	return found;
}

static int option(int fd, int level, int name)
{
	socklen_t size = sizeof(int);
	int value = -1;

	ck_assert_int_eq(getsockopt(fd, level, name, &value, &size), 0);
	return value;
}

START_TEST(the_socket_of_a_dial)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);
	int fd = chan->fd.fd;

	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	ck_assert_int_eq(option(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	ck_assert_int_eq(option(fd, SOL_SOCKET, SO_DOMAIN), AF_INET);
	ck_assert_int_eq(option(fd, SOL_SOCKET, SO_REUSEADDR), 1);
	ck_assert_uint_eq(watched_for(fd), EPOLLIN | EPOLLOUT);
	dofi_chan_watch_room(chan, false);
	ck_assert_uint_eq(watched_for(fd), EPOLLIN);
	dofi_chan_watch_room(chan, true);
	ck_assert_uint_eq(watched_for(fd), EPOLLIN | EPOLLOUT);
	ck_assert_uint_eq(chan->tries, 1);
	ck_assert_uint_eq(chan->delay.at, 77);
	ck_assert_uint_eq(chan->delay.waited, 88);
	ck_assert(!chan->accepted);
}
END_TEST

static int lowest_free_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

enum { NO_MEMORY, NO_SOCKET, NO_ROUTE, NO_WATCH, NO_FAMILY, FAILURES };

START_TEST(a_dial_that_fails_at_once_leaves_nothing)
{
	static const int expected[FAILURES] = {-ENOMEM, -EMFILE, -ENETUNREACH, -EBADF,
					       -EAFNOSUPPORT};
	struct sockaddr_storage remote = addr_of("10.0.0.1", 0), name = addr_of("10.0.0.1", PORT);
	unsigned int blocks = t_nblocks;
	int fd = lowest_free_descriptor(), epfd = ia.engine.sock_epfd;

	no_sockets = _i == NO_SOCKET;
	if (_i == NO_MEMORY)
		t_blocks_left = 0;
	if (_i == NO_ROUTE)
		connect_error = ENETUNREACH;
	if (_i == NO_WATCH)
		ia.engine.sock_epfd = -1;
	if (_i == NO_FAMILY)
		remote.ss_family = AF_UNIX;
	ck_assert_int_eq(dofi_chan_dial(&conns[0], (struct sockaddr *)&remote, PORT), expected[_i]);
	ck_assert_ptr_null(conns[0].chan);
	ck_assert(dofi_list_empty(&conns[0].link));
	ck_assert(dofi_list_empty(&ia.cm.chans));
	ck_assert_ptr_null(dofi_chan_find_named(&ia.cm, &name, false));
	ck_assert_uint_eq(t_nblocks, blocks);
	ck_assert_int_eq(lowest_free_descriptor(), fd);
	/* Nothing of it prevents the next one. */
	ia.engine.sock_epfd = epfd;
	no_sockets = false;
	connect_error = EINPROGRESS;
	dial(0, "10.0.0.1", PORT);
}
END_TEST

/* --- two channels to one peer --- */

START_TEST(channels_to_one_peer_are_merged)
{
	struct dofi_chan *first = dial(0, "10.0.0.1", PORT), *other = dial(1, "10.0.0.2", PORT),
			 *second = dial(2, "10.0.0.1", PORT + 1);

	be_up(first, 1);
	be_up(other, 2);
	be_up(second, 1);
	dial(3, "10.0.0.1", PORT + 1);
	ck_assert(dofi_chan_merge(second));
	ck_assert_int_eq(second->state, DOFI_CHAN_DEAD);
	ck_assert(second->orderly);
	for (int i = 2; i < 4; i++) {
		ck_assert_ptr_eq(conns[i].chan, first);
		ck_assert(is_in(&first->waiting, &conns[i].link));
	}
	dofi_work_run(&ia); /* frees the second */
	ck_assert_int_eq(ups[2], 1);
	ck_assert_int_eq(ups[3], 1);
	ck_assert_int_eq(failures[2], 0);
	/* It has both names, and is the newest of those that lead there. */
	ck_assert_ptr_eq(dial(4, "10.0.0.1", PORT), first);
	ck_assert_ptr_eq(dial(5, "10.0.0.1", PORT + 1), first);
}
END_TEST

enum { ANOTHER_IA, ANOTHER_NAME, LONGER_NAME, NOT_UP, CANNOT_SEND, REASONS };

START_TEST(channels_to_different_peers_stay)
{
	struct dofi_chan *first = dial(0, "10.0.0.1", PORT),
			 *second = dial(1, "10.0.0.1", PORT + 1);

	if (_i != NOT_UP)
		be_up(first, _i == ANOTHER_IA ? 2 : 1);
	be_up(second, 1);
	if (_i == ANOTHER_NAME)
		first->peer.fabric_name[3] = 'f';
	if (_i == LONGER_NAME)
		first->peer.fabric_name_size++;
	first->send_err = _i == CANNOT_SEND ? -EPIPE : 0;
	ck_assert(!dofi_chan_merge(second));
	ck_assert_int_eq(second->state, DOFI_CHAN_UP);
	ck_assert_ptr_eq(conns[1].chan, second);
}
END_TEST

/* A peer with many service points: the name of the socket stays, of the others the newest. */
START_TEST(a_channel_remembers_some_names)
{
	struct dofi_chan *first = dial(0, "10.0.0.1", PORT);

	be_up(first, 1);
	for (uint16_t n = 1; n <= DOFI_CHAN_NAMES + 1; n++) {
		struct dofi_chan *more = dial(n, "10.0.0.1", (uint16_t)(PORT + n));

		ck_assert_ptr_ne(more, first);
		be_up(more, 1);
		ck_assert(dofi_chan_merge(more));
		dofi_work_run(&ia);
	}
	ck_assert_uint_eq(first->nnames, DOFI_CHAN_NAMES);
	for (uint16_t n = 0; n <= DOFI_CHAN_NAMES + 1; n++) {
		struct sockaddr_storage name = addr_of("10.0.0.1", (uint16_t)(PORT + n));

		ck_assert_ptr_eq(dofi_chan_find_named(&ia.cm, &name, false),
				 n == 1 || n == 2 ? NULL : first);
	}
}
END_TEST

START_TEST(a_name_is_remembered_once)
{
	struct dofi_chan *first = dial(0, "10.0.0.1", PORT), *again;

	be_up(first, 1);
	conns[1].redialled = true;
	again = dial(1, "10.0.0.1", PORT);
	be_up(again, 1);
	ck_assert(dofi_chan_merge(again));
	ck_assert_uint_eq(first->nnames, 1);
}
END_TEST

/* --- requests before the peer's DETAILS --- */

START_TEST(requests_are_sent_when_the_peer_has_proved_itself)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	dial(1, "10.0.0.1", PORT);
	conns[1].state = DOFI_CONN_ENDING; /* the consumer has given up */
	chan->state = DOFI_CHAN_HANDSHAKE;
	dofi_chan_proved(chan);
	ck_assert(chan->asks);
	ck_assert_int_eq(asks[0], 1);
	ck_assert_int_eq(asks[1], 0);
	/* The socket is lost: they have to be sent again. */
	dofi_chan_dial_later(chan);
	ck_assert(!chan->asks);
	ck_assert(!conns[0].asked);
}
END_TEST

/* Both channels may lead to the same process, which its DETAILS will tell. */
START_TEST(requests_wait_if_the_host_is_known)
{
	static const struct {
		const char *host;
		bool up, waits;
	} others[] = {{"10.0.0.1", true, true},
		      {"10.0.0.1", false, false},
		      {"10.0.0.2", true, false}};
	struct dofi_chan *other = dial(0, others[_i].host, PORT),
			 *chan = dial(1, "10.0.0.1", PORT + 1);

	if (others[_i].up)
		be_up(other, 1);
	chan->state = DOFI_CHAN_HANDSHAKE;
	dofi_chan_proved(chan);
	ck_assert_int_eq(chan->asks, !others[_i].waits);
	ck_assert_int_eq(asks[1], !others[_i].waits);
}
END_TEST

START_TEST(a_dial_after_a_pause_begins_anew)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	chan->state = DOFI_CHAN_HANDSHAKE;
	chan->rx_fill = chan->tx_fill = 7;
	chan->send_err = -EPIPE;
	chan->writing = false;
	chan->tries = 3;
	dofi_chan_dial_later(chan);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DIALING);
	ck_assert_uint_eq(chan->rx_fill, 0);
	ck_assert_uint_eq(chan->tx_fill, 0);
	ck_assert_int_eq(chan->send_err, 0);
	ck_assert(chan->writing); /* which tells that TCP has connected it */
	ck_assert(is_armed(chan));
	ck_assert_uint_eq(chan->timer.deadline, now + 8 * MS);
}
END_TEST

/* The kernel takes no 0, so a short limit is only approximated. */
START_TEST(the_kernel_asks_in_time)
{
	static const struct {
		uint64_t limit;
		int idle, interval;
	} cases[] = {{1, 1, 1}, {2, 1, 1}, {5, 2, 1}, {8, 4, 1}, {12, 6, 2}, {60, 30, 10}};
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	ia.params.keepalive_s = cases[_i].limit;
	dofi_chan_set_options(chan);
	ck_assert_int_eq(option(chan->fd.fd, IPPROTO_TCP, TCP_KEEPIDLE), cases[_i].idle);
	ck_assert_int_eq(option(chan->fd.fd, IPPROTO_TCP, TCP_KEEPINTVL), cases[_i].interval);
	ck_assert_int_eq(option(chan->fd.fd, IPPROTO_TCP, TCP_USER_TIMEOUT),
			 (int)cases[_i].limit * 1000);
}
END_TEST

/* --- a channel comes up --- */

START_TEST(connections_proceed_when_the_channel_is_up)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	ia.cm.invalidations = 9;
	chan->state = DOFI_CHAN_HANDSHAKE;
	dofi_timer_set(&ia, &chan->timer, now + SECOND);
	dofi_chan_handshake_done(chan);
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
	ck_assert_int_eq(ups[0], 1);
	ck_assert(!is_armed(chan)); /* the time of the handshake is no limit any more */
	/* The peer owes no answers to what it was not asked. */
	ck_assert_uint_eq(chan->asked, 9);
	ck_assert_uint_eq(chan->done, 9);
}
END_TEST

START_TEST(an_accepted_channel_waits_for_its_use)
{
	struct dofi_chan *chan = dofi_chan_new(&ia, -1, DOFI_CHAN_HANDSHAKE);

	ck_assert_ptr_nonnull(chan);
	chan->accepted = true;
	ia.cm.nstrangers = 2;
	dofi_list_add_tail(&ia.cm.strangers, &chan->link);
	dofi_chan_handshake_done(chan);
	ck_assert_uint_eq(ia.cm.nstrangers, 1);
	ck_assert_uint_eq(ia.cm.naccepted, 1);
	ck_assert(dofi_list_empty(&ia.cm.strangers));
	ck_assert(is_in(&ia.cm.chans, &chan->link));
	ck_assert(is_armed(chan));
	ck_assert_uint_eq(chan->timer.deadline, now + 60 * SECOND);
	ck_assert_uint_eq(chan->idle_since, now);
	dofi_chan_close(chan, 0, true);
	ck_assert_uint_eq(ia.cm.naccepted, 0);
	ck_assert_uint_eq(ia.cm.nstrangers, 1);
}
END_TEST

/* The requests were sent already, so the channel is used, though there is another one. */
START_TEST(a_channel_with_requests_is_not_merged)
{
	struct dofi_chan *first = dial(0, "10.0.0.1", PORT),
			 *second = dial(1, "10.0.0.1", PORT + 1);

	be_up(first, 1);
	tell(second, 1);
	second->asks = _i;
	dofi_chan_handshake_done(second);
	ck_assert_int_eq(second->state, _i ? DOFI_CHAN_UP : DOFI_CHAN_DEAD);
	ck_assert_ptr_eq(conns[1].chan, _i ? second : first);
}
END_TEST

/*
 * The address that the peer names is believed if its socket has the same one, or if both are of
 * this host.
 */
START_TEST(the_address_of_the_socket_counts)
{
	static const struct {
		const char *socket, *said, *ours[2], *remote;
	} cases[] = {
		{"10.0.0.1", "10.0.0.1", {NULL, NULL}, "10.0.0.1"},
		{"10.0.0.1", "10.0.0.2", {NULL, NULL}, "10.0.0.1"},
		{"10.0.0.1", "10.0.0.2", {"10.0.0.1", NULL}, "10.0.0.1"},
		{"10.0.0.1", "10.0.0.2", {"10.0.0.2", NULL}, "10.0.0.1"},
		{"10.0.0.1", "10.0.0.2", {"10.0.0.1", "10.0.0.2"}, "10.0.0.2"},
	};
	struct sockaddr_storage expected = addr_of(cases[_i % 5].remote, 0);
	bool accepted = _i >= 5;
	struct dofi_chan *chan;

	if (accepted) {
		chan = dofi_chan_new(&ia, -1, DOFI_CHAN_HANDSHAKE);
		ck_assert_ptr_nonnull(chan);
		chan->accepted = true;
		chan->source = addr_of(cases[_i % 5].socket, 0);
		dofi_list_add_tail(&ia.cm.strangers, &chan->link);
	} else {
		chan = dial(0, cases[_i].socket, PORT);
	}
	chan->peer.addr = addr_of(cases[_i % 5].said, 0);
	memcpy(our_hosts, cases[_i % 5].ours, sizeof(our_hosts));
	dofi_chan_handshake_done(chan);
	ck_assert(dofi_addr_equal(&chan->remote, &expected));
}
END_TEST

/* A peer that has hung up has no address any more: its own word is all there is. */
START_TEST(a_socket_without_an_address_does_not_count)
{
	struct sockaddr_storage expected = addr_of("10.0.0.2", 0);
	struct dofi_chan *chan = dofi_chan_new(&ia, -1, DOFI_CHAN_HANDSHAKE);

	ck_assert_ptr_nonnull(chan);
	chan->accepted = true;
	chan->peer.addr = expected;
	dofi_list_add_tail(&ia.cm.strangers, &chan->link);
	dofi_chan_handshake_done(chan);
	ck_assert(dofi_addr_equal(&chan->remote, &expected));
}
END_TEST

/* The others wait for another channel. */
START_TEST(a_channel_that_can_not_send_takes_no_more_connections)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	dial(1, "10.0.0.1", PORT);
	up_breaks = true;
	chan->state = DOFI_CHAN_HANDSHAKE;
	dofi_chan_handshake_done(chan);
	ck_assert_int_eq(ups[0], 1);
	ck_assert_int_eq(ups[1], 0);
	ck_assert(is_in(&chan->conns, &conns[0].link));
	ck_assert(is_in(&chan->waiting, &conns[1].link));
}
END_TEST

/* --- a handshake that ends otherwise --- */

/* A socket whose peer says nothing. */
static int give_socket(struct dofi_chan *chan)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	ck_assert_int_eq(dup2(fds[1], chan->fd.fd), chan->fd.fd);
	close(fds[1]);
	return fds[0];
}

/* From the last answer of any peer, or from now on if this host is overloaded. */
START_TEST(the_time_of_a_silent_peer)
{
	static const struct {
		uint64_t answered_before;
		bool overloaded;
		uint64_t more; /* time; 0: it is over */
	} cases[] = {
		{0, false, 10 * SECOND},     {4 * SECOND, false, 6 * SECOND},
		{10 * SECOND - 1, false, 1}, {10 * SECOND, false, 0},
		{50 * SECOND, false, 0},     {50 * SECOND, true, 10 * SECOND},
	};
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);
	int fd = t_capture(STDERR_FILENO);
	const char *said;

	give_socket(chan);
	chan->state = DOFI_CHAN_HANDSHAKE;
	ia.cm.last_answer = now - cases[_i].answered_before;
	overloaded = cases[_i].overloaded;
	chan->timer.fire(&chan->timer);
	said = t_captured(fd);
	ck_assert_uint_eq(chan->overdue, 1);
	if (cases[_i].more) {
		ck_assert_int_eq(chan->state, DOFI_CHAN_HANDSHAKE);
		ck_assert_uint_eq(chan->timer.deadline, now + cases[_i].more);
		ck_assert_str_eq(said, "");
	} else {
		ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
		ck_assert_int_eq(chan->err, -EPROTO);
		ck_assert(!chan->orderly);
		ck_assert_ptr_nonnull(strstr(said, "10.0.0.1:1040"));
		ck_assert_ptr_nonnull(strstr(said, "within 10000 ms"));
		ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_STRANGERS]), 0);
	}
}
END_TEST

/* It was overloaded, or its listener was closed. A side that dialled tries again. */
START_TEST(a_peer_that_hangs_up)
{
	static const struct {
		enum dofi_chan_state state;
		bool accepted;
		enum dofi_handshake_step step;
		uint32_t tries;
		bool again, warns;
	} cases[] = {
		{DOFI_CHAN_HANDSHAKE, false, DOFI_STEP_HELLO, 1, true, false},
		{DOFI_CHAN_HANDSHAKE, false, DOFI_STEP_PROOF, 8, true, false},
		{DOFI_CHAN_HANDSHAKE, false, DOFI_STEP_HELLO, 9, false, false},
		{DOFI_CHAN_HANDSHAKE, false, DOFI_STEP_PROOF, 9, false, true},
		{DOFI_CHAN_HANDSHAKE, true, DOFI_STEP_PROOF, 1, false, false},
		{DOFI_CHAN_UP, false, DOFI_STEP_DETAILS, 1, false, false},
	};
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);
	int fd = chan->fd.fd, log = t_capture(STDERR_FILENO);
	const char *said;

	ia.cm.nstrangers = ia.cm.naccepted = 1;
	chan->state = cases[_i].state;
	chan->accepted = cases[_i].accepted;
	chan->step = cases[_i].step;
	chan->tries = cases[_i].tries;
	dofi_chan_hung_up(chan, -ETIMEDOUT);
	said = t_captured(log);
	ck_assert_int_eq(chan->fd.fd, -1);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	ck_assert_int_eq(chan->state, cases[_i].again ? DOFI_CHAN_DIALING : DOFI_CHAN_DEAD);
	ck_assert_int_eq(is_armed(chan), cases[_i].again);
	ck_assert_int_eq(chan->err, cases[_i].again ? 0 : -ETIMEDOUT);
	ck_assert(!chan->orderly);
	if (cases[_i].warns)
		ck_assert_ptr_nonnull(strstr(said, "to 10.0.0.1:1040: it hung up"));
	else
		ck_assert_str_eq(said, "");
}
END_TEST

/* The address for messages: where it was dialled, or whence it came. */
START_TEST(the_address_of_a_peer)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT), *other;
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(here);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char text[DOFI_ADDR_TEXT];

	ck_assert_str_eq(dofi_chan_peer_text(chan, text), "10.0.0.1:1040");
	/* The other end of a socket for datagrams is where it was connected to. */
	here.sin_port = htons(1041);
	ck_assert_int_eq(__real_connect(fd, (struct sockaddr *)&here, size), 0);
	other = dofi_chan_new(&ia, fd, DOFI_CHAN_HANDSHAKE);
	ck_assert_ptr_nonnull(other);
	other->accepted = true;
	ck_assert_str_eq(dofi_chan_peer_text(other, text), "127.0.0.1:1041");
	close(fd);
	ck_assert_str_eq(dofi_chan_peer_text(other, text), "an unknown address");
}
END_TEST

/* --- a channel that is not needed --- */

START_TEST(a_channel_without_connections_stays_for_a_while)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	dial(1, "10.0.0.1", PORT);
	be_up(chan, 1);
	now += SECOND;
	dofi_chan_detach(&conns[0]);
	ck_assert_ptr_null(conns[0].chan);
	ck_assert(dofi_list_empty(&conns[0].link));
	ck_assert(!is_armed(chan));
	dofi_chan_detach(&conns[1]);
	ck_assert(is_armed(chan));
	ck_assert_uint_eq(chan->timer.deadline, now + 5 * SECOND);
	ck_assert_uint_eq(chan->idle_since, now);
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
	dofi_chan_detach(&conns[1]); /* has none */
}
END_TEST

START_TEST(a_dial_that_nobody_waits_for_ends)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	dofi_chan_detach(&conns[0]);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	dofi_work_run(&ia); /* frees it */
	ck_assert(dofi_list_empty(&ia.cm.chans));
	ck_assert(dofi_list_empty(&ia.cm.dead));
}
END_TEST

START_TEST(a_dead_channel_tells_those_that_wait)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	dial(1, "10.0.0.1", PORT);
	dofi_chan_close(chan, -EHOSTUNREACH, false);
	dofi_chan_detach(&conns[1]);
	ck_assert(!is_armed(chan));
	dofi_work_run(&ia);
	ck_assert_int_eq(failures[0], -EHOSTUNREACH);
	ck_assert_int_eq(failures[1], 0);
	ck_assert_ptr_null(conns[0].chan);
}
END_TEST

/* Those that use it, and the messages that come by the fabric after the last one of them. */
START_TEST(a_dead_channel_tells_those_that_use_it)
{
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	dial(1, "10.0.0.1", PORT);
	be_up(chan, 1);
	for (int i = 0; i < 2; i++) {
		dofi_list_del(&conns[i].link);
		dofi_list_add_tail(&chan->conns, &conns[i].link);
	}
	dofi_chan_close(chan, -ECONNRESET, _i);
	ck_assert_int_eq(losses[0], 0); /* not within the call */
	dofi_work_run(&ia);
	ck_assert_int_eq(losses[0], _i ? 1 : 2);
	ck_assert_int_eq(losses[1], _i ? 1 : 2);
	ck_assert_int_eq(failures[0], 0);
	ck_assert_ptr_eq(undrained, chan);
	ck_assert(dofi_list_empty(&ia.cm.dead));
}
END_TEST

/* The channel had come up before it was lost, so the peer can probably be reached. */
START_TEST(who_waits_for_a_channel_that_was_up_is_dialled_again)
{
	static const struct {
		uint64_t qualifier;
		uint32_t candidate;
		int family, failure; /* 0: it is dialled */
	} cases[] = {{PORT, 0, AF_INET, 0},
		     {PORT, 1, AF_INET, -ECONNREFUSED}, /* it has one port */
		     {PORT, 0, AF_UNIX, -EAFNOSUPPORT}};
	struct dofi_chan *chan = dial(0, "10.0.0.1", PORT);

	be_up(chan, 1);
	conns[0].remote = addr_of("10.0.0.1", 0);
	conns[0].remote.ss_family = (sa_family_t)cases[_i].family;
	conns[0].conn_qual = cases[_i].qualifier;
	conns[0].candidate = cases[_i].candidate;
	dofi_chan_close(chan, -ECONNRESET, false);
	dofi_work_run(&ia);
	ck_assert_int_eq(failures[0], cases[_i].failure);
	ck_assert_int_eq(losses[0], 0);
	if (cases[_i].failure)
		ck_assert_ptr_null(conns[0].chan);
	else
		ck_assert_int_eq(conns[0].chan->state, DOFI_CHAN_DIALING);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dial");
	TCase *tcase = tcase_create("dial");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, connections_to_one_address_share_a_channel);
	tcase_add_test(tcase, a_channel_that_is_up_is_used_at_once);
	tcase_add_test(tcase, a_connection_that_dials_the_port_itself_gets_a_new_channel);
	tcase_add_test(tcase, a_channel_that_can_not_send_is_not_used);
	tcase_add_test(tcase, a_dial_may_have_the_lowest_descriptor);
	tcase_add_test(tcase, the_socket_of_a_dial);
	tcase_add_loop_test(tcase, a_dial_that_fails_at_once_leaves_nothing, 0, FAILURES);
	tcase_add_test(tcase, channels_to_one_peer_are_merged);
	tcase_add_loop_test(tcase, channels_to_different_peers_stay, 0, REASONS);
	tcase_add_test(tcase, a_channel_remembers_some_names);
	tcase_add_test(tcase, a_name_is_remembered_once);
	tcase_add_test(tcase, requests_are_sent_when_the_peer_has_proved_itself);
	tcase_add_loop_test(tcase, requests_wait_if_the_host_is_known, 0, 3);
	tcase_add_test(tcase, a_dial_after_a_pause_begins_anew);
	tcase_add_loop_test(tcase, the_kernel_asks_in_time, 0, 6);
	tcase_add_test(tcase, connections_proceed_when_the_channel_is_up);
	tcase_add_test(tcase, an_accepted_channel_waits_for_its_use);
	tcase_add_loop_test(tcase, a_channel_with_requests_is_not_merged, 0, 2);
	tcase_add_loop_test(tcase, the_address_of_the_socket_counts, 0, 10);
	tcase_add_test(tcase, a_socket_without_an_address_does_not_count);
	tcase_add_test(tcase, a_channel_that_can_not_send_takes_no_more_connections);
	tcase_add_loop_test(tcase, the_time_of_a_silent_peer, 0, 6);
	tcase_add_loop_test(tcase, a_peer_that_hangs_up, 0, 6);
	tcase_add_test(tcase, the_address_of_a_peer);
	tcase_add_test(tcase, a_channel_without_connections_stays_for_a_while);
	tcase_add_test(tcase, a_dial_that_nobody_waits_for_ends);
	tcase_add_test(tcase, a_dead_channel_tells_those_that_wait);
	tcase_add_loop_test(tcase, a_dead_channel_tells_those_that_use_it, 0, 2);
	tcase_add_loop_test(tcase, who_waits_for_a_channel_that_was_up_is_dialled_again, 0, 3);
	return t_run(suite);
}
