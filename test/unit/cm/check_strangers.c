/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sockets that were accepted and have not completed the handshake: which of them has to go when
 * there are too many, or when no descriptor is left.
 */
#include "t_blocks.h"
#include "progress/work.h"
#include "unit.h"

#include "../../../prov/ofi/auth/crypto.h"
#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/cm/accept.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/channel_dial.h"
#include "../../../prov/ofi/cm/cm.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/disconnect.h"
#include "../../../prov/ofi/cm/listener.h"
#include "../../../prov/ofi/cm/service_point.h"
#include "../../../prov/ofi/cm/stranger.h"
#include "../../../prov/ofi/cm/wire.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/progress/engine.h"
#include "../../../prov/ofi/progress/engine_fds.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/progress/timer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#define MOST 8

static struct dofi_ia ia = {.name = "test", .params = {.handshake_ms = 10000}};
static int peers[MOST]; /* the strangers' ends, oldest first */
static int npeers;
static int no_descriptors;        /* so many calls of accept4 find none */
static int accept_error = EMFILE; /* which they report */
static uint16_t bind_to;          /* a port that the next socket gets */
static bool no_sockets;
static int bind_error;
static int naccepts, nbinds; /* calls */

void __wrap_dofi_wait_kick(struct dofi_ia *of);
T_STAND_IN int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *size_p, int flags);
T_STAND_IN int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
T_STAND_IN int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t size);
int __real_bind(int fd, const struct sockaddr *addr, socklen_t size);
T_STAND_IN int __wrap_socket(int family, int type, int protocol);
int __real_socket(int family, int type, int protocol);
int __real_accept4(int fd, struct sockaddr *addr, socklen_t *size_p, int flags);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t size);

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	(void)of;
}

int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t size)
{
	nbinds++;
	if (!bind_error || addr->sa_family == AF_UNIX)
		return __real_bind(fd, addr, size);
	errno = bind_error;
	return -1;
}

int __wrap_socket(int family, int type, int protocol)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_port = htons(bind_to),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd;

	if (no_sockets) {
		errno = EMFILE;
		return -1;
	}
	fd = __real_socket(family, type, protocol);
	if (bind_to)
		ck_assert_int_eq(bind(fd, (struct sockaddr *)&here, sizeof(here)), 0);
	return fd;
}

static bool no_filters;        /* the kernel takes no filters of sockets */
static const char *comes_from; /* the address that new connections seem to come from */

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	if (!no_filters || level != SOL_SOCKET || name != SO_ATTACH_FILTER)
		return __real_setsockopt(fd, level, name, value, size);
	errno = EPERM;
	return -1;
}

static bool no_names;

T_STAND_IN int __wrap_getsockname(int fd, struct sockaddr *addr, socklen_t *size_p);
int __real_getsockname(int fd, struct sockaddr *addr, socklen_t *size_p);

int __wrap_getsockname(int fd, struct sockaddr *addr, socklen_t *size_p)
{
	if (!no_names)
		return __real_getsockname(fd, addr, size_p);
	errno = ENOBUFS;
	return -1;
}

int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *size_p, int flags)
{
	int new;

	naccepts++;
	if (!no_descriptors) {
		new = __real_accept4(fd, addr, size_p, flags);
		if (new >= 0 && addr && comes_from)
			((struct sockaddr_in *)addr)->sin_addr.s_addr = inet_addr(comes_from);
		return new;
	}
	no_descriptors--;
	errno = accept_error;
	return -1;
}

static bool overloaded;

bool __wrap_dofi_run_delay_is_high(const struct dofi_run_delay *since);

bool __wrap_dofi_run_delay_is_high(const struct dofi_run_delay *since)
{
	(void)since;
	return overloaded;
}

static unsigned int blocks_before;

static void setup(void)
{
	ck_assert_int_eq(dofi_crypto_start(), 0);
	dofi_lock_init(&ia.engine.lock);
	dofi_work_init(&ia.engine);
	dofi_list_init(&ia.drains);
	dofi_list_init(&ia.agents);
	dofi_list_init(&ia.agent_calls);
	ia.engine.sock_epfd = epoll_create1(0);
	ck_assert_int_ge(ia.engine.sock_epfd, 0);
	ia.obj.ia = &ia;
	blocks_before = t_nblocks;
	ck_assert_int_eq(dofi_cm_init(&ia), 0);
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
}

/* One more at the door; it says HELLO, or nothing. */
static void arrive(bool says_hello)
{
	const struct dofi_hello hello = {.role = DOFI_ROLE_DIALS, .nonce = "as good as any"};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	ssize_t size = (ssize_t)dofi_wire_put_hello(frame, &hello);
	int fds[2];

	ck_assert_int_lt(npeers, MOST);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	peers[npeers++] = fds[0];
	if (says_hello)
		ck_assert_int_eq(write(fds[0], frame, (size_t)size), size);
	ck_assert(dofi_stranger_adopt(&ia, fds[1]));
}

static bool is_open(int fd)
{
	struct pollfd it = {.fd = fd, .events = POLLRDHUP};

	return !poll(&it, 1, 0) || !(it.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* A digit for each that came: 1, it is still there. */
static void expect_open(const char *digits)
{
	char found[MOST + 1] = "";

	for (int i = 0; i < npeers; i++)
		found[i] = is_open(peers[i]) ? '1' : '0';
	ck_assert_str_eq(found, digits);
}

/* The fabric may still offer a path to one of them. */
START_TEST(connections_go_with_the_connection_manager)
{
	struct dofi_conn *conn = dofi_conn_new(&ia, DOFI_CONN_DIALLING);
	uint32_t id;

	ck_assert_ptr_nonnull(conn);
	id = conn->id;
	ck_assert_ptr_eq(dofi_conn_by_id(&ia, id), conn);
	dofi_conn_free(conn);
	dofi_unlock(&ia.engine.lock);
	dofi_cm_fini(&ia);
	dofi_lock(&ia.engine.lock);
	ck_assert_ptr_null(dofi_conn_by_id(&ia, id));
}
END_TEST

/* --- the limit of time --- */

static void greet(int fd)
{
	const struct dofi_hello hello = {.role = DOFI_ROLE_DIALS, .nonce = "as good as any"};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	ssize_t size = (ssize_t)dofi_wire_put_hello(frame, &hello);

	ck_assert_int_eq(write(fd, frame, (size_t)size), size);
}

static struct dofi_chan *first_of(const struct dofi_list *list)
{
	ck_assert(!dofi_list_empty(list));
	return DOFI_CONTAINER(list->next, struct dofi_chan, link);
}

static void expire(struct dofi_chan *chan)
{
	dofi_timer_cancel(&ia, &chan->timer);
	chan->timer.fire(&chan->timer);
}

/* The process had no processor: the time is over, and the HELLO lies in the socket. */
START_TEST(what_has_come_counts_before_the_time)
{
	uint64_t before = dofi_now();

	arrive(false);
	greet(peers[0]);
	expire(first_of(&ia.cm.strangers));
	expect_open("1");
	ck_assert_int_ne(first_of(&ia.cm.strangers)->step, DOFI_STEP_HELLO);
	ck_assert_uint_eq(first_of(&ia.cm.strangers)->overdue, 0);
	ck_assert_uint_ge(ia.engine.timers->deadline, before + 10000 * UINT64_C(1000000));
	expire(first_of(&ia.cm.strangers));
	expect_open("0");
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_STRANGERS]), 1);
}
END_TEST

static struct dofi_chan *dialled(void)
{
	struct dofi_chan *chan;
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	peers[npeers++] = fds[0];
	chan = dofi_chan_new(&ia, fds[1], DOFI_CHAN_HANDSHAKE);
	ck_assert_ptr_nonnull(chan);
	ck_assert_int_eq(dofi_engine_watch(&ia, &chan->fd, EPOLLIN), 0);
	dofi_list_add_tail(&ia.cm.chans, &chan->link);
	return chan;
}

START_TEST(a_peer_has_time_as_long_as_others_answer)
{
	struct dofi_chan *chan = dialled();

	for (int i = 0; i < 4; i++) {
		ia.cm.last_answer = dofi_now();
		expire(chan);
		expect_open("1");
	}
	expire(chan); /* but not for ever */
	expect_open("0");
}
END_TEST

/* The peer, mostly on the same host, has no processor either. */
START_TEST(a_peer_has_time_while_this_host_is_overloaded)
{
	struct dofi_chan *chan = dialled();

	overloaded = true;
	for (int i = 0; i < 4; i++) {
		expire(chan);
		expect_open("1");
	}
	expire(chan);
	expect_open("0");
}
END_TEST

/* Whose connecting side takes long to make its endpoint. */
START_TEST(an_accepted_connection_has_time_while_this_host_is_overloaded)
{
	struct dofi_conn *conn = dofi_conn_new(&ia, DOFI_CONN_ACCEPTED);

	ck_assert_ptr_nonnull(conn);
	conn->chan = dialled();
	conn->chan->state = DOFI_CHAN_UP;
	conn->patient = true;
	overloaded = true;
	for (int i = 0; i < 10; i++) {
		dofi_act_check_time(conn, NULL);
		ck_assert_int_eq(conn->state, DOFI_CONN_ACCEPTED);
		ck_assert_uint_gt(conn->timer.deadline, dofi_now());
	}
	dofi_timer_cancel(&ia, &conn->timer);
	conn->chan = NULL;
	dofi_conn_free(conn);
}
END_TEST

START_TEST(a_peer_has_no_more_time_when_nobody_answers)
{
	struct dofi_chan *chan = dialled();

	expire(chan);
	expect_open("0");
}
END_TEST

START_TEST(the_oldest_goes)
{
	int fd = t_capture(STDERR_FILENO);

	ia.cm.max_strangers = 3;
	for (int i = 0; i < 3; i++)
		arrive(false);
	expect_open("111");
	arrive(false);
	expect_open("0111");
	arrive(false);
	expect_open("00111");
	ck_assert_uint_eq(ia.cm.nstrangers, 3);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_STRANGERS]), 2);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "max_strangers is 3"));
}
END_TEST

/* Who is in the middle of the handshake may be a friend. */
START_TEST(the_oldest_that_has_said_nothing_goes)
{
	ia.cm.max_strangers = 3;
	arrive(true);
	arrive(false);
	arrive(true);
	arrive(false);
	expect_open("1011");
	arrive(true);
	expect_open("10101");
	arrive(false);
	expect_open("001011");
}
END_TEST

/* This process had no processor when the HELLO came. */
START_TEST(a_hello_in_the_socket_counts)
{
	ia.cm.max_strangers = 3;
	for (int i = 0; i < 3; i++)
		arrive(false);
	greet(peers[0]);
	arrive(false);
	expect_open("1011");
	ck_assert_uint_eq(ia.cm.nstrangers, 3);
}
END_TEST

/* There may be many of them, and each is heard in its turn. */
START_TEST(who_has_said_hello_is_not_read_for_room)
{
	ia.cm.max_strangers = 2;
	arrive(true);
	arrive(false);
	ck_assert_int_eq(write(peers[0], "\0\0\0\4what", 8), 8);
	arrive(false);
	expect_open("101");
}
END_TEST

/* What it has sent closes the channel, which makes room for another one. */
START_TEST(garbage_in_the_socket_makes_room)
{
	ia.cm.max_strangers = 3;
	for (int i = 0; i < 3; i++)
		arrive(false);
	ck_assert_int_eq(write(peers[1], "\0\0\0\4what", 8), 8);
	ck_assert_int_eq(write(peers[0], "\0\0\0\4what", 8), 8);
	arrive(false);
	expect_open("0111");
	ck_assert_uint_eq(ia.cm.nstrangers, 3);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_STRANGERS]), 0);
}
END_TEST

static void be_at_loopback(void)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	memcpy(&ia.addr, &here, sizeof(here));
}

static void listen_here(struct dofi_sp *sp)
{
	be_at_loopback();
	sp->obj.ia = &ia;
	ck_assert_int_eq(dofi_sp_listen(sp), 0);
}

/* The descriptor that the next file gets. */
static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY);

	ck_assert_int_ge(fd, 0);
	close(fd);
	return fd;
}

static struct sockaddr_in name_of(int fd)
{
	struct sockaddr_in name;
	socklen_t size = sizeof(name);

	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&name, &size), 0);
	return name;
}

/* A qualifier that no other process of the host asks for. */
static uint64_t long_qual(void)
{
	return (UINT64_C(1) << 40) + (uint64_t)getpid();
}

static void dial(const struct dofi_sp *sp)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)sp->conn_qual),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_lt(npeers, MOST);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	peers[npeers++] = fd;
}

/* The program has closed its standard input. */
START_TEST(a_listener_may_have_the_lowest_descriptor)
{
	struct dofi_sp sp = {0};

	close(STDIN_FILENO);
	sp.conn_qual = _i ? long_qual() : 0;
	listen_here(&sp);
	/* A long qualifier is claimed first. */
	ck_assert_int_eq(_i ? sp.claim_fd : sp.fd.fd, STDIN_FILENO);
	if (!_i) {
		dial(&sp);
		dofi_engine_hear(&ia);
		ck_assert_uint_eq(ia.cm.nstrangers, 1);
	}
	dofi_sp_unlisten(&sp);
	ck_assert_int_eq(sp.fd.fd, -1);
	ck_assert_int_eq(open("/dev/null", O_RDONLY), STDIN_FILENO); /* it is free again */
}
END_TEST

static bool is_private(int fd)
{
	return fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

static bool blocks(int fd)
{
	return !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* A program that this one starts has none of them, and no call sleeps for a peer. */
START_TEST(the_sockets_are_private_and_do_not_block)
{
	struct dofi_sp sp = {.conn_qual = long_qual()};
	struct dofi_chan *chan;

	listen_here(&sp);
	sp.conn_qual = ntohs(name_of(sp.fd.fd).sin_port);
	ck_assert(is_private(sp.fd.fd) && is_private(sp.claim_fd) && is_private(ia.cm.spare_fd));
	ck_assert(!blocks(sp.fd.fd));
	dial(&sp);
	dofi_engine_hear(&ia);
	chan = first_of(&ia.cm.strangers);
	ck_assert(is_private(chan->fd.fd) && !blocks(chan->fd.fd));
	dofi_sp_unlisten(&sp);
}
END_TEST

START_TEST(a_stranger_may_have_the_lowest_descriptor)
{
	struct dofi_sp sp = {0};

	listen_here(&sp);
	dial(&sp);
	close(STDIN_FILENO);
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(ia.cm.nstrangers, 1);
	ck_assert_int_eq(first_of(&ia.cm.strangers)->fd.fd, STDIN_FILENO);
	dofi_sp_unlisten(&sp);
}
END_TEST

/* It is closed for the one that is turned away, and opened again. */
START_TEST(the_spare_descriptor_may_be_the_lowest)
{
	int capture = t_capture(STDERR_FILENO);
	struct dofi_sp sp = {0};
	int lowest;

	listen_here(&sp);
	dial(&sp);
	close(STDIN_FILENO);
	close(ia.cm.spare_fd);
	ia.cm.spare_fd = -1;
	sp.pause.fire(&sp.pause);
	ck_assert_int_eq(ia.cm.spare_fd, STDIN_FILENO);
	ck_assert(is_private(ia.cm.spare_fd));
	sp.pause.fire(&sp.pause);
	ck_assert_int_eq(ia.cm.spare_fd, STDIN_FILENO);
	lowest = lowest_free();
	no_descriptors = 1;
	dofi_engine_hear(&ia);
	expect_open("0");
	ck_assert_int_eq(ia.cm.spare_fd, STDIN_FILENO);
	ck_assert(is_private(ia.cm.spare_fd));
	ck_assert_int_eq(lowest_free(), lowest);
	ck_assert_ptr_null(ia.engine.timers);
	dofi_sp_unlisten(&sp);
	close(capture);
}
END_TEST

START_TEST(a_stranger_that_cannot_be_watched_is_hung_up)
{
	int set = ia.engine.sock_epfd, lowest;
	unsigned int blocks = t_nblocks;
	struct dofi_sp sp = {0};

	listen_here(&sp);
	dial(&sp);
	lowest = lowest_free();
	ia.engine.sock_epfd = -1;
	sp.fd.ready(&sp.fd, EPOLLIN);
	ia.engine.sock_epfd = set;
	expect_open("0");
	ck_assert_uint_eq(ia.cm.nstrangers, 0);
	ck_assert_int_eq(lowest_free(), lowest);
	ck_assert_uint_eq(t_nblocks, blocks);
	dofi_sp_unlisten(&sp);
}
END_TEST

START_TEST(a_stranger_without_memory_is_hung_up)
{
	struct dofi_sp sp = {0};

	listen_here(&sp);
	dial(&sp);
	t_blocks_left = 0;
	dofi_engine_hear(&ia);
	t_blocks_left = -1;
	expect_open("0");
	ck_assert_uint_eq(ia.cm.nstrangers, 0);
	dofi_sp_unlisten(&sp);
}
END_TEST

static void expect_option(int fd, int level, int option, int value)
{
	socklen_t size = sizeof(int);
	int found = -1;

	ck_assert_int_eq(getsockopt(fd, level, option, &found, &size), 0);
	ck_assert_int_eq(found, value);
}

/* Its address, a limit of time, and the kernel's question whether it lives. */
START_TEST(what_a_stranger_gets)
{
	const struct sockaddr_in *source;
	uint64_t before = dofi_now();
	struct dofi_sp sp = {0};
	struct dofi_chan *chan;

	ia.params.keepalive_s = 20;
	listen_here(&sp);
	dial(&sp);
	dofi_engine_hear(&ia);
	chan = first_of(&ia.cm.strangers);
	source = (const struct sockaddr_in *)&chan->source;
	ck_assert_int_eq(source->sin_family, AF_INET);
	ck_assert_uint_eq(ntohl(source->sin_addr.s_addr), INADDR_LOOPBACK);
	ck_assert_uint_eq(source->sin_port, 0);
	ck_assert_uint_ge(chan->timer.deadline, before + 10000 * UINT64_C(1000000));
	ck_assert_uint_le(chan->timer.deadline, dofi_now() + 10000 * UINT64_C(1000000));
	expect_option(chan->fd.fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	expect_option(chan->fd.fd, IPPROTO_TCP, TCP_NODELAY, 1);
	dofi_sp_unlisten(&sp);
}
END_TEST

START_TEST(a_hello_that_came_with_the_socket_is_read_at_once)
{
	arrive(true);
	ck_assert_int_ne(first_of(&ia.cm.strangers)->step, DOFI_STEP_HELLO);
}
END_TEST

#define ACCEPTS_PER_TURN 64

/* The engine has other work, too, and strangers must not keep it from that. */
START_TEST(a_turn_accepts_a_limited_number)
{
	struct dofi_sp sp = {0};

	listen_here(&sp);
	dial(&sp);
	accept_error = ECONNABORTED;
	no_descriptors = 10 * ACCEPTS_PER_TURN;
	sp.fd.ready(&sp.fd, EPOLLIN);
	ck_assert_int_eq(naccepts, ACCEPTS_PER_TURN);
	no_descriptors = naccepts = 0;
	sp.fd.ready(&sp.fd, EPOLLIN);
	ck_assert_uint_eq(ia.cm.nstrangers, 1);
	ck_assert_int_eq(naccepts, 2); /* the second finds nobody */
	dofi_sp_unlisten(&sp);
}
END_TEST

/* The newest may be a friend, too: it is let in, and the oldest pays for it. */
START_TEST(the_oldest_goes_when_no_descriptor_is_left)
{
	int fd = t_capture(STDERR_FILENO);
	struct dofi_sp sp = {0};
	const char *says;

	listen_here(&sp);
	dial(&sp);
	dial(&sp);
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(ia.cm.nstrangers, 2);
	dial(&sp);
	no_descriptors = 1;
	dofi_engine_hear(&ia);
	expect_open("011");
	ck_assert_uint_eq(ia.cm.nstrangers, 2);
	says = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(says, "ulimit -n"));
	ck_assert_ptr_null(strstr(says, "max_strangers"));
	dofi_sp_unlisten(&sp);
}
END_TEST

/* The spare descriptor serves to hang up, instead of leaving the peer in the kernel's queue. */
START_TEST(without_strangers_the_newest_is_turned_away)
{
	struct dofi_sp sp = {0};
	int fd = t_capture(STDERR_FILENO);

	listen_here(&sp);
	dial(&sp);
	no_descriptors = 1;
	dofi_engine_hear(&ia);
	expect_open("0");
	ck_assert_int_ge(ia.cm.spare_fd, 0);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "ulimit -n"));
	dial(&sp);
	dofi_engine_hear(&ia);
	expect_open("01");
	dofi_sp_unlisten(&sp);
}
END_TEST

/* Then the listener tries again after a while, instead of in each round of the engine. */
static const struct {
	int err;
	bool spare; /* there is a spare descriptor */
} exhausted[] = {{EMFILE, true}, {ENFILE, true}, {EMFILE, false}, {ENOBUFS, true}, {ENOMEM, true}};

START_TEST(a_listener_without_descriptors_pauses)
{
	uint64_t before = dofi_now();
	struct dofi_sp sp = {0};

	listen_here(&sp);
	if (!exhausted[_i].spare) {
		close(ia.cm.spare_fd);
		ia.cm.spare_fd = -1;
	}
	dial(&sp);
	accept_error = exhausted[_i].err;
	no_descriptors = 2;
	for (int i = 0; i < 3; i++)
		dofi_engine_hear(&ia);
	no_descriptors = 0;
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(ia.cm.nstrangers, 0);
	ck_assert_ptr_eq(ia.engine.timers, &sp.pause);
	ck_assert_uint_ge(sp.pause.deadline, before + 100000000u);
	dofi_timer_cancel(&ia, &sp.pause);
	sp.pause.fire(&sp.pause);
	ck_assert_int_ge(ia.cm.spare_fd, 0);
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(ia.cm.nstrangers, 1);
	expect_open("1");
	dofi_sp_unlisten(&sp);
}
END_TEST

START_TEST(the_lack_of_descriptors_is_told_once)
{
	struct dofi_sp sp = {0};
	int fd = t_capture(STDERR_FILENO);
	const char *first;

	listen_here(&sp);
	for (int i = 0; i < 3; i++) {
		dial(&sp);
		no_descriptors = 1;
		dofi_engine_hear(&ia);
	}
	expect_open("000");
	first = strstr(t_captured(fd), "ulimit -n");
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(strstr(first + 1, "ulimit -n"));
	dofi_sp_unlisten(&sp);
}
END_TEST

/* The peer has hung up in the kernel's queue: the next one is served. */
START_TEST(other_errors_of_accept_do_not_stop_the_listener)
{
	struct dofi_sp sp = {0};

	listen_here(&sp);
	dial(&sp);
	accept_error = ECONNABORTED;
	no_descriptors = 1;
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(ia.cm.nstrangers, 1);
	dofi_sp_unlisten(&sp);
}
END_TEST

START_TEST(a_listener_that_cannot_be_watched_is_closed)
{
	struct dofi_sp sp = {0};
	int set = ia.engine.sock_epfd;

	be_at_loopback();
	sp.obj.ia = &ia;
	ia.engine.sock_epfd = -1;
	ck_assert_int_eq(dofi_sp_listen(&sp), -EBADF);
	ia.engine.sock_epfd = set;
	ck_assert_int_eq(sp.fd.fd, -1);
	ck_assert(dofi_list_empty(&ia.cm.listeners));
}
END_TEST

static const struct {
	uint64_t conn_qual;
	int err;
	DAT_RETURN ret;
	const char *says;
} refusals[] = {
	{8000, EACCES, DOFI_BAD_ARG(2), "a security policy of the host may forbid its port"},
	{8000, EADDRINUSE, DAT_CONN_QUAL_IN_USE, NULL},
	{0, EADDRINUSE, DOFI_ERR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE), NULL},
	{UINT64_C(1) << 40, EADDRINUSE, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE),
	 "every port that could serve it is taken"},
	{8000, EIO, DOFI_ERR(DAT_INTERNAL_ERROR, 0), "can't listen"},
};

/* Somebody else may take the port that the kernel has chosen, but not for ever. */
START_TEST(a_service_point_tries_some_ports)
{
	struct dofi_sp sp = {.obj.ia = &ia, .conn_qual = _i ? long_qual() : 0};
	uint16_t port;
	int ports = 0;

	while (dofi_port_candidate(long_qual(), (uint32_t)ports, &port))
		ports++;
	be_at_loopback();
	bind_error = EADDRINUSE;
	ck_assert_int_eq(dofi_sp_listen(&sp), _i ? -ENOSPC : -EADDRINUSE);
	ck_assert_int_eq(nbinds, _i ? ports + 1 : ports); /* one is the claim's */
}
END_TEST

START_TEST(without_descriptors_nobody_listens)
{
	struct dofi_sp sp = {.obj.ia = &ia, .conn_qual = _i ? long_qual() : 0};
	int lowest = lowest_free();

	be_at_loopback();
	no_sockets = true;
	ck_assert_int_eq(dofi_sp_listen(&sp), -EMFILE);
	ck_assert(dofi_list_empty(&ia.cm.listeners));
	ck_assert_int_eq(lowest_free(), lowest);
}
END_TEST

START_TEST(a_service_point_without_a_port_is_closed)
{
	struct dofi_sp sp = {.obj.ia = &ia};
	int lowest = lowest_free();

	be_at_loopback();
	no_names = true;
	ck_assert_int_eq(dofi_sp_listen(&sp), -ENOBUFS);
	no_names = false;
	ck_assert(dofi_list_empty(&ia.cm.listeners));
	ck_assert_int_eq(lowest_free(), lowest);
}
END_TEST

START_TEST(the_greatest_port_is_one)
{
	struct dofi_sp sp = {.obj.ia = &ia, .conn_qual = UINT16_MAX};
	int ret;

	be_at_loopback();
	ret = dofi_sp_listen(&sp);
	if (ret == -EADDRINUSE)
		t_skip("another process has the port");
	ck_assert_int_eq(ret, 0);
	ck_assert_uint_eq(ntohs(name_of(sp.fd.fd).sin_port), UINT16_MAX);
	ck_assert_int_eq(sp.claim_fd, -1);
	dofi_sp_unlisten(&sp);
}
END_TEST

/* The port of its number would take a privilege. */
START_TEST(a_small_qualifier_is_hashed)
{
	struct dofi_sp sp = {.obj.ia = &ia, .conn_qual = 1023};
	int ret;

	be_at_loopback();
	while ((ret = dofi_sp_listen(&sp)) == -EADDRINUSE) /* another process has it */
		sp.conn_qual--;
	ck_assert_int_eq(ret, 0);
	ck_assert_uint_ge(ntohs(name_of(sp.fd.fd).sin_port), DOFI_PORT_BASE);
	ck_assert_int_ge(sp.claim_fd, 0);
	dofi_sp_unlisten(&sp);
}
END_TEST

/* A child of the process may hold its socket open. */
START_TEST(a_service_point_that_is_gone_hears_nothing)
{
	struct dofi_sp sp = {0};
	int copy;

	listen_here(&sp);
	copy = dup(sp.fd.fd);
	dofi_sp_unlisten(&sp);
	dial(&sp);
	ck_assert_int_eq(dofi_engine_hear(&ia), 0);
	close(copy);
}
END_TEST

/* A service point that cannot listen leaves nothing behind. */
START_TEST(a_port_that_is_refused)
{
	int fd = t_capture(STDERR_FILENO);
	struct dofi_evd evd = {.obj.ia = &ia};
	struct dofi_sp *sp = NULL;
	int lowest;

	dofi_lock_init(&evd.lock);
	dofi_lock_init(&ia.obj_lock);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		dofi_list_init(&ia.objects[i]);
	be_at_loopback();
	bind_error = refusals[_i].err;
	lowest = lowest_free();
	ck_assert_uint_eq(dofi_sp_new(&ia, &evd, refusals[_i].conn_qual, false, &sp),
			  refusals[_i].ret);
	ck_assert_ptr_null(sp);
	ck_assert_int_eq(lowest_free(), lowest);
	ck_assert(dofi_list_empty(&ia.cm.listeners));
	ck_assert_uint_eq(ia.counts[DAT_HANDLE_TYPE_PSP], 0);
	if (refusals[_i].says)
		ck_assert_ptr_nonnull(strstr(t_captured(fd), refusals[_i].says));
	else
		ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

/* --- where a service point listens --- */

/* Whether the socket takes packets from devices of this type: runs its filter. */
static bool hears(int fd, uint32_t device_type)
{
	struct sock_filter code[16];
	socklen_t n = sizeof(code) / sizeof(code[0]);
	uint32_t loaded = UINT32_MAX;

	/* The size is the number of instructions. */
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, code, &n), 0);
	for (socklen_t i = 0; i < n; i++) {
		switch (code[i].code) {
		case BPF_LD | BPF_W | BPF_ABS:
			ck_assert_uint_eq(code[i].k, (uint32_t)(SKF_AD_OFF + SKF_AD_HATYPE));
			loaded = device_type;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			i += loaded == code[i].k ? code[i].jt : code[i].jf;
			break;
		case BPF_RET | BPF_K:
			ck_assert(!code[i].k || code[i].k == UINT32_MAX); /* of whole packets */
			return code[i].k;
		default:
			ck_abort_msg("unknown instruction %u", code[i].code);
		}
	}
	return !n;
}

/*
 * A fabric without addresses may be reached by any of the host's, from this host only. Otherwise
 * the address is that of the IA.
 */
START_TEST(the_address_of_a_service_point)
{
	static const struct {
		bool host_only;
		const char *param;
		uint32_t addr;
	} cases[] = {{false, "", INADDR_LOOPBACK},
		     {true, "", INADDR_ANY},
		     {true, "127.0.0.1", INADDR_LOOPBACK}};
	struct dofi_sp sp = {0};

	ia.host_only = cases[_i].host_only;
	strcpy(ia.params.addr, cases[_i].param);
	listen_here(&sp);
	ck_assert_uint_eq(ntohl(name_of(sp.fd.fd).sin_addr.s_addr), cases[_i].addr);
	ck_assert_uint_eq(ntohs(name_of(sp.fd.fd).sin_port), sp.conn_qual);
	ck_assert_uint_ge(sp.conn_qual, IPPORT_RESERVED);
	ck_assert(hears(sp.fd.fd, ARPHRD_LOOPBACK));
	ck_assert_int_eq(hears(sp.fd.fd, ARPHRD_ETHER), !cases[_i].host_only || sp.checks_source);
	ck_assert_int_eq(hears(sp.fd.fd, ARPHRD_INFINIBAND),
			 !cases[_i].host_only || sp.checks_source);
	dial(&sp); /* from this host */
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(ia.cm.nstrangers, 1);
	dofi_sp_unlisten(&sp);
}
END_TEST

/* What comes from other hosts is closed, and the listener goes on. */
START_TEST(a_service_point_without_a_filter)
{
	struct dofi_sp sp = {0};
	char byte;

	ia.host_only = true;
	no_filters = true;
	listen_here(&sp);
	ck_assert(hears(sp.fd.fd, ARPHRD_ETHER));
	comes_from = "192.0.2.1";
	dial(&sp);
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(ia.cm.nstrangers, 0);
	ck_assert_int_eq(recv(peers[0], &byte, 1, 0), 0);
	comes_from = NULL;
	dial(&sp);
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(ia.cm.nstrangers, 1);
	dofi_sp_unlisten(&sp);
}
END_TEST

/* On a fabric with addresses, peers are on other hosts. */
START_TEST(a_service_point_for_other_hosts)
{
	struct dofi_sp sp = {0};

	comes_from = "192.0.2.1";
	listen_here(&sp);
	dial(&sp);
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(ia.cm.nstrangers, 1);
	dofi_sp_unlisten(&sp);
}
END_TEST

/* Another IA has the port at one of the host's addresses. */
START_TEST(a_port_that_is_taken_elsewhere_is_free_here)
{
	struct sockaddr_in there = {.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct dofi_sp sp = {0};

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&there, sizeof(there)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	sp.conn_qual = ntohs(name_of(fd).sin_port);
	ia.host_only = true;
	listen_here(&sp);
	ck_assert_uint_eq(ntohl(name_of(sp.fd.fd).sin_addr.s_addr), INADDR_LOOPBACK);
	ck_assert_uint_eq(ntohs(name_of(sp.fd.fd).sin_port), sp.conn_qual);
	dofi_sp_unlisten(&sp);
	close(fd);
}
END_TEST

/* Its ports follow from the qualifier: the first that is free serves it. */
START_TEST(a_long_qualifier_takes_the_next_port)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct dofi_sp sp = {.conn_qual = long_qual()};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint16_t first, second;

	ck_assert(dofi_port_candidate(sp.conn_qual, 0, &first));
	ck_assert(dofi_port_candidate(sp.conn_qual, 1, &second));
	here.sin_port = htons(first);
	if (bind(fd, (struct sockaddr *)&here, sizeof(here)))
		t_skip("another process has the port");
	ck_assert_int_eq(listen(fd, 1), 0);
	listen_here(&sp);
	ck_assert_uint_eq(ntohs(name_of(sp.fd.fd).sin_port), second);
	ck_assert_uint_eq(sp.conn_qual, long_qual());
	dofi_sp_unlisten(&sp);
	close(fd);
	listen_here(&sp);
	ck_assert_uint_eq(ntohs(name_of(sp.fd.fd).sin_port), first);
	dofi_sp_unlisten(&sp);
}
END_TEST

/* No other process of the host gets the qualifier meanwhile, and the next one does. */
START_TEST(a_long_qualifier_is_exclusive)
{
	struct dofi_sp sp = {.conn_qual = long_qual()}, same = sp,
		       next = {.conn_qual = sp.conn_qual + 1};

	listen_here(&sp);
	same.obj.ia = &ia;
	ck_assert_int_eq(dofi_sp_listen(&same), -EADDRINUSE);
	ck_assert_int_eq(same.fd.fd, -1);
	ck_assert_int_eq(same.claim_fd, -1);
	listen_here(&next);
	dofi_sp_unlisten(&sp);
	ck_assert_int_eq(sp.claim_fd, -1);
	ck_assert_int_eq(dofi_sp_listen(&same), 0);
	dofi_sp_unlisten(&same);
	dofi_sp_unlisten(&next);
}
END_TEST

/* Other releases of the library use the same name. */
START_TEST(the_name_of_a_long_qualifier)
{
	struct dofi_sp sp = {.conn_qual = long_qual()};
	char addr[DOFI_ADDR_TEXT], expected[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct sockaddr_un name;
	socklen_t size = sizeof(name);
	int n;

	listen_here(&sp);
	ck_assert_int_eq(getsockname(sp.claim_fd, (struct sockaddr *)&name, &size), 0);
	n = snprintf(expected, sizeof(expected), "dat-ofi/%s/%llx", dofi_addr_text(&ia.addr, addr),
		     (unsigned long long)long_qual());
	ck_assert_uint_eq(size, offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	ck_assert_int_eq(name.sun_path[0], '\0');
	ck_assert_mem_eq(name.sun_path + 1, expected, (size_t)n);
	dofi_sp_unlisten(&sp);
}
END_TEST

/* A server that has ended may begin again at once. */
START_TEST(old_connections_leave_the_port_free)
{
	struct dofi_sp sp = {0};

	listen_here(&sp);
	dial(&sp);
	dofi_engine_hear(&ia);
	dofi_chan_close(first_of(&ia.cm.strangers), 0, true);
	close(peers[0]); /* second, so this side keeps the state of TCP */
	dofi_sp_unlisten(&sp);
	listen_here(&sp);
	dofi_sp_unlisten(&sp);
}
END_TEST

/* The pause after a lack of descriptors. */
START_TEST(a_service_point_that_is_gone_does_not_accept_again)
{
	struct dofi_sp sp = {0};

	listen_here(&sp);
	close(ia.cm.spare_fd);
	ia.cm.spare_fd = -1;
	dial(&sp);
	no_descriptors = 1;
	dofi_engine_hear(&ia);
	ck_assert_ptr_nonnull(ia.engine.timers);
	dofi_sp_unlisten(&sp);
	ck_assert_ptr_null(ia.engine.timers);
	ck_assert(dofi_list_empty(&ia.cm.listeners));
}
END_TEST

START_TEST(addresses_of_other_families_are_refused)
{
	const struct sockaddr other = {.sa_family = AF_UNIX};
	struct dofi_conn *conn = dofi_conn_new(&ia, DOFI_CONN_DIALLING);
	struct dofi_sp sp = {0};

	ck_assert_ptr_nonnull(conn);
	ck_assert_int_eq(dofi_chan_dial(conn, &other, 5), -EAFNOSUPPORT);
	ck_assert_ptr_null(conn->chan);
	dofi_conn_free(conn);
	sp.obj.ia = &ia;
	ia.addr.ss_family = AF_UNIX;
	ck_assert_int_eq(dofi_sp_listen(&sp), -EAFNOSUPPORT);
}
END_TEST

/* --- the end --- */

START_TEST(a_connection_manager_without_descriptors)
{
	struct rlimit files, none;
	int ret;

	dofi_unlock(&ia.engine.lock);
	dofi_cm_fini(&ia);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ret = dofi_cm_init(&ia);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_int_eq(ret, -EMFILE);
	ck_assert_uint_eq(t_nblocks, blocks_before);
	dofi_cm_fini(&ia);
	dofi_lock(&ia.engine.lock);
}
END_TEST

START_TEST(a_connection_manager_without_memory)
{
	int lowest;

	dofi_unlock(&ia.engine.lock);
	dofi_cm_fini(&ia);
	lowest = lowest_free();
	t_blocks_left = 0;
	ck_assert_int_eq(dofi_cm_init(&ia), -ENOMEM);
	t_blocks_left = -1;
	ck_assert_int_eq(lowest_free(), lowest);
	dofi_lock(&ia.engine.lock);
}
END_TEST

/* The program has closed its standard input. */
START_TEST(a_connection_manager_may_have_the_lowest_descriptor)
{
	dofi_unlock(&ia.engine.lock);
	dofi_cm_fini(&ia);
	close(STDIN_FILENO);
	ck_assert_int_eq(dofi_cm_init(&ia), 0);
	ck_assert_int_eq(ia.cm.spare_fd, STDIN_FILENO);
	dofi_lock(&ia.engine.lock);
}
END_TEST

/* It tells peers apart that have the same address one after the other. */
START_TEST(a_connection_manager_has_a_name)
{
	static const uint8_t none[sizeof(ia.cm.uuid)];

	ck_assert_mem_ne(ia.cm.uuid, none, sizeof(none));
	ck_assert(ia.cm.answered.run != NULL);
}
END_TEST

static bool is_descriptor(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static struct dofi_chan *dialled_up(void)
{
	struct dofi_chan *chan = dialled();

	chan->state = DOFI_CHAN_UP;
	return chan;
}

static void expect_goodbye(int fd)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	ssize_t n = recv(fd, frame, sizeof(frame), MSG_DONTWAIT);
	struct dofi_msg msg;

	ck_assert_int_gt(n, DOFI_WIRE_LENGTH);
	ck_assert(dofi_wire_get_msg(frame + DOFI_WIRE_LENGTH, (size_t)n - DOFI_WIRE_LENGTH, &msg));
	ck_assert_int_eq(msg.type, DOFI_MSG_GOODBYE);
}

START_TEST(the_peers_learn_of_the_end_of_the_ia)
{
	struct dofi_conn *conn = dofi_conn_new(&ia, DOFI_CONN_DIALLING);
	int spare = ia.cm.spare_fd;

	ck_assert_ptr_nonnull(conn);
	dofi_conn_free(conn);
	if (_i) {
		/* The program has closed its standard input. */
		ck_assert_int_eq(dup2(spare, STDIN_FILENO), STDIN_FILENO);
		close(spare);
		spare = ia.cm.spare_fd = STDIN_FILENO;
	}
	dialled_up();
	dialled_up();
	arrive(false);
	dofi_unlock(&ia.engine.lock);
	dofi_cm_fini(&ia);
	dofi_lock(&ia.engine.lock);
	expect_open("000");
	expect_goodbye(peers[0]);
	expect_goodbye(peers[1]);
	ck_assert_int_eq(recv(peers[2], &spare, 1, MSG_DONTWAIT), 0);
	ck_assert(!is_descriptor(spare));
	ck_assert_int_eq(ia.cm.spare_fd, -1);
	ck_assert_uint_eq(ia.cm.conns_size, 0);
	ck_assert_ptr_null(ia.cm.conns);
	ck_assert_uint_eq(t_nblocks, blocks_before);
}
END_TEST

static int lingers;

void __wrap_dofi_linger_all(struct dofi_ia *of);

/* Before GOODBYE, after which a peer does not wait for data. */
void __wrap_dofi_linger_all(struct dofi_ia *of)
{
	char byte;

	dofi_assert_held(&of->engine.lock);
	ck_assert_int_eq(recv(peers[0], &byte, 1, MSG_DONTWAIT), -1);
	lingers++;
}

static void (*while_others_run)(void);

T_STAND_IN int __wrap_sched_yield(void);

int __wrap_sched_yield(void)
{
	if (while_others_run)
		while_others_run();
	return 0;
}

static void leave_the_engine(void)
{
	while_others_run = NULL;
	dofi_unlock(&ia.engine.lock);
}

/* Also if another thread works here at this time. */
START_TEST(the_peers_learn_of_the_end_of_the_process)
{
	dialled_up();
	if (_i)
		while_others_run = leave_the_engine;
	else
		dofi_unlock(&ia.engine.lock);
	dofi_cm_exit(&ia);
	ck_assert_int_eq(lingers, 1);
	expect_goodbye(peers[0]);
	ck_assert(dofi_trylock(&ia.engine.lock));
}
END_TEST

/* Also if exit() was called in a signal handler, while this thread worked here. */
START_TEST(the_end_of_the_process_does_not_wait_for_itself)
{
	uint64_t before = dofi_now();

	dialled_up();
	dofi_cm_exit(&ia);
	ck_assert_uint_ge(dofi_now(), before + 100000000);
	ck_assert_int_eq(recv(peers[0], &before, 1, MSG_DONTWAIT), -1);
}
END_TEST

START_TEST(a_forked_child_closes_the_lowest_descriptor)
{
	struct dofi_sp hashed = {.conn_qual = long_qual()};
	int *fds[4];

	listen_here(&hashed);
	arrive(false);
	fds[0] = &hashed.claim_fd;
	fds[1] = &ia.cm.spare_fd;
	fds[2] = &first_of(&ia.cm.strangers)->fd.fd;
	fds[3] = &dialled_up()->fd.fd;
	ck_assert_int_eq(dup2(*fds[_i], STDIN_FILENO), STDIN_FILENO);
	*fds[_i] = STDIN_FILENO;
	dofi_cm_fork_child(&ia);
	ck_assert(!is_descriptor(STDIN_FILENO));
}
END_TEST

/* The child must not hold the peers' sockets open, nor the ports of the parent's listeners. */
START_TEST(a_forked_child_closes_the_sockets)
{
	struct dofi_sp port = {0}, hashed = {.conn_qual = long_qual()};
	int spare = ia.cm.spare_fd, stranger;

	listen_here(&port);
	listen_here(&hashed);
	ck_assert_int_ge(hashed.claim_fd, 0);
	arrive(false);
	stranger = first_of(&ia.cm.strangers)->fd.fd;
	dofi_list_add_tail(&ia.cm.chans,
			   &dofi_chan_new(&ia, -1, DOFI_CHAN_DIALING)->link); /* in its pause */
	dofi_cm_fork_child(&ia);
	ck_assert(!is_descriptor(port.fd.fd) && !is_descriptor(hashed.fd.fd));
	ck_assert(!is_descriptor(hashed.claim_fd));
	ck_assert(!is_descriptor(stranger) && !is_descriptor(spare));
	ia.cm.spare_fd = -1;
	dofi_cm_fork_child(&ia);
}
END_TEST

/* --- a peer that hangs up --- */

static int listen_at(struct sockaddr_in *here)
{
	socklen_t size = sizeof(*here);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*here = (struct sockaddr_in){.sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	ck_assert_int_eq(bind(fd, (struct sockaddr *)here, size), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)here, &size), 0);
	return fd;
}

static struct dofi_chan *dial_to(const struct sockaddr_in *to)
{
	struct dofi_conn *conn = dofi_conn_new(&ia, DOFI_CONN_DIALLING);

	ck_assert_ptr_nonnull(conn);
	ck_assert_int_eq(dofi_chan_dial(conn, (const struct sockaddr *)to, ntohs(to->sin_port)), 0);
	return conn->chan;
}

/* Lets the engine work until the channel has left this state. */
static void leave(const struct dofi_chan *chan, enum dofi_chan_state state)
{
	uint64_t limit = dofi_now() + 10000000000ull;

	while (chan->state == state && dofi_now() < limit)
		dofi_engine_hear(&ia);
	ck_assert_int_ne(chan->state, state);
}

static void hang_up(int listener)
{
	int fd = accept(listener, NULL, NULL);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

/* It may have closed the socket because it had too many: it is dialled again, for half a second. */
START_TEST(who_hangs_up_is_dialled_again_after_a_pause)
{
	struct sockaddr_in here;
	int listener = listen_at(&here);
	struct dofi_chan *chan = dial_to(&here);
	uint64_t before, pause_ms = 2;

	for (int dials = 1;; dials++, pause_ms *= 2) {
		leave(chan, DOFI_CHAN_DIALING);
		ck_assert_int_eq(chan->state, DOFI_CHAN_HANDSHAKE);
		hang_up(listener);
		before = dofi_now();
		leave(chan, DOFI_CHAN_HANDSHAKE);
		if (dials == 9)
			break;
		ck_assert_int_eq(chan->state, DOFI_CHAN_DIALING);
		ck_assert_int_eq(chan->fd.fd, -1);
		ck_assert_uint_ge(chan->timer.deadline, before + pause_ms * 1000000u);
		expire(chan);
	}
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	close(listener);
}
END_TEST

/* As long as any other, also after other dials. It begins with our HELLO. */
START_TEST(a_handshake_has_its_time)
{
	struct sockaddr_in here;
	int listener = listen_at(&here), fd;
	struct dofi_chan *chan = dial_to(&here);
	uint64_t before = dofi_now();
	uint8_t frame[DOFI_WIRE_MAX_FRAME];

	chan->overdue = 4;
	leave(chan, DOFI_CHAN_DIALING);
	ck_assert_int_eq(chan->state, DOFI_CHAN_HANDSHAKE);
	ck_assert_int_eq(chan->step, DOFI_STEP_HELLO);
	ck_assert_uint_eq(chan->overdue, 0);
	ck_assert_ptr_eq(ia.engine.timers, &chan->timer);
	ck_assert_uint_ge(chan->timer.deadline, before + 10000 * UINT64_C(1000000));
	ck_assert_uint_le(chan->timer.deadline, dofi_now() + 10000 * UINT64_C(1000000));
	ck_assert(!chan->writing);
	ck_assert_uint_eq(chan->tx_fill, 0);
	fd = accept(listener, NULL, NULL);
	ck_assert_int_gt(recv(fd, frame, sizeof(frame), 0), DOFI_WIRE_LENGTH);
	close(fd);
	close(listener);
}
END_TEST

/* The result of the dial cannot be read. */
START_TEST(a_dial_without_a_result_ends_the_channel)
{
	struct sockaddr_in here;
	int listener = listen_at(&here);
	struct dofi_chan *chan = dial_to(&here);

	dofi_engine_unwatch(&ia, &chan->fd);
	close(chan->fd.fd);
	chan->fd.fd = open("/dev/null", O_RDONLY);
	dofi_chan_dial_done(chan);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -ENOTSOCK);
	ck_assert(!chan->orderly);
	close(listener);
}
END_TEST

/* A host that is gone is noticed within keepalive_s, also while nothing is sent. */
START_TEST(the_kernel_asks_whether_the_peer_lives)
{
	struct sockaddr_in here;
	int listener = listen_at(&here);
	struct dofi_chan *chan = dial_to(&here);

	ia.params.keepalive_s = 20;
	leave(chan, DOFI_CHAN_DIALING);
	expect_option(chan->fd.fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	expect_option(chan->fd.fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
	expect_option(chan->fd.fd, IPPROTO_TCP, TCP_KEEPINTVL, 3);
	expect_option(chan->fd.fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	expect_option(chan->fd.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 20000);
	expect_option(chan->fd.fd, IPPROTO_TCP, TCP_NODELAY, 1);
	close(listener);
}
END_TEST

/* The program gives up meanwhile. */
START_TEST(a_channel_in_its_pause_can_be_closed)
{
	struct sockaddr_in here;
	int listener = listen_at(&here);
	struct dofi_chan *chan = dial_to(&here);

	leave(chan, DOFI_CHAN_DIALING);
	hang_up(listener);
	leave(chan, DOFI_CHAN_HANDSHAKE);
	dofi_chan_detach(DOFI_CONTAINER(chan->waiting.next, struct dofi_conn, link));
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_ptr_null(ia.engine.timers);
	close(listener);
}
END_TEST

/* The process has no descriptor left. */
START_TEST(a_dial_that_fails_at_once_ends_the_channel)
{
	struct sockaddr_in here;
	int listener = listen_at(&here);
	struct dofi_chan *chan = dial_to(&here);

	leave(chan, DOFI_CHAN_DIALING);
	hang_up(listener);
	leave(chan, DOFI_CHAN_HANDSHAKE);
	no_sockets = true;
	expire(chan);
	no_sockets = false;
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -EMFILE);
	close(listener);
}
END_TEST

/* The port is free meanwhile. */
START_TEST(after_the_pause_nobody_listens)
{
	struct sockaddr_in here;
	int listener = listen_at(&here);
	struct dofi_chan *chan = dial_to(&here);

	leave(chan, DOFI_CHAN_DIALING);
	hang_up(listener);
	leave(chan, DOFI_CHAN_HANDSHAKE);
	close(listener);
	expire(chan);
	leave(chan, DOFI_CHAN_DIALING);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -ECONNREFUSED);
}
END_TEST

/* TCP may connect a socket to itself if nobody listens at its own port. */
START_TEST(a_socket_that_talks_to_itself_is_refused)
{
	struct sockaddr_in here;
	int listener = listen_at(&here);
	struct dofi_chan *chan;

	close(listener);
	bind_to = ntohs(here.sin_port);
	chan = dial_to(&here);
	bind_to = 0;
	leave(chan, DOFI_CHAN_DIALING);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -ECONNREFUSED);
}
END_TEST

static void add_listeners(Suite *suite)
{
	TCase *tc = tcase_create("listeners");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_listener_may_have_the_lowest_descriptor, 0, 2);
	tcase_add_test(tc, the_sockets_are_private_and_do_not_block);
	tcase_add_test(tc, a_stranger_may_have_the_lowest_descriptor);
	tcase_add_test(tc, the_spare_descriptor_may_be_the_lowest);
	tcase_add_test(tc, a_stranger_that_cannot_be_watched_is_hung_up);
	tcase_add_test(tc, a_turn_accepts_a_limited_number);
	tcase_add_test(tc, the_oldest_goes_when_no_descriptor_is_left);
	tcase_add_test(tc, without_strangers_the_newest_is_turned_away);
	tcase_add_loop_test(tc, a_listener_without_descriptors_pauses, 0,
			    (int)(sizeof(exhausted) / sizeof(exhausted[0])));
	tcase_add_test(tc, the_lack_of_descriptors_is_told_once);
	tcase_add_test(tc, other_errors_of_accept_do_not_stop_the_listener);
	tcase_add_test(tc, a_listener_that_cannot_be_watched_is_closed);
	tcase_add_loop_test(tc, a_service_point_tries_some_ports, 0, 2);
	tcase_add_loop_test(tc, without_descriptors_nobody_listens, 0, 2);
	tcase_add_test(tc, a_service_point_without_a_port_is_closed);
	tcase_add_test(tc, the_greatest_port_is_one);
	tcase_add_test(tc, a_small_qualifier_is_hashed);
	tcase_add_test(tc, a_service_point_that_is_gone_hears_nothing);
	tcase_add_test(tc, old_connections_leave_the_port_free);
	tcase_add_test(tc, the_name_of_a_long_qualifier);
	tcase_add_loop_test(tc, a_port_that_is_refused, 0,
			    (int)(sizeof(refusals) / sizeof(refusals[0])));
	tcase_add_loop_test(tc, the_address_of_a_service_point, 0, 3);
	tcase_add_test(tc, a_service_point_without_a_filter);
	tcase_add_test(tc, a_service_point_for_other_hosts);
	tcase_add_test(tc, a_port_that_is_taken_elsewhere_is_free_here);
	tcase_add_test(tc, a_long_qualifier_takes_the_next_port);
	tcase_add_test(tc, a_long_qualifier_is_exclusive);
	tcase_add_test(tc, a_service_point_that_is_gone_does_not_accept_again);
	tcase_add_test(tc, addresses_of_other_families_are_refused);
	suite_add_tcase(suite, tc);
}

int main(void)
{
	Suite *suite = suite_create("strangers");
	TCase *tc = tcase_create("strangers");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_has_come_counts_before_the_time);
	tcase_add_test(tc, a_peer_has_time_as_long_as_others_answer);
	tcase_add_test(tc, a_peer_has_no_more_time_when_nobody_answers);
	tcase_add_test(tc, a_peer_has_time_while_this_host_is_overloaded);
	tcase_add_test(tc, an_accepted_connection_has_time_while_this_host_is_overloaded);
	tcase_add_test(tc, connections_go_with_the_connection_manager);
	tcase_add_test(tc, the_oldest_goes);
	tcase_add_test(tc, the_oldest_that_has_said_nothing_goes);
	tcase_add_test(tc, a_hello_in_the_socket_counts);
	tcase_add_test(tc, who_has_said_hello_is_not_read_for_room);
	tcase_add_test(tc, what_a_stranger_gets);
	tcase_add_test(tc, a_hello_that_came_with_the_socket_is_read_at_once);
	tcase_add_test(tc, a_stranger_without_memory_is_hung_up);
	tcase_add_test(tc, garbage_in_the_socket_makes_room);
	tcase_add_test(tc, who_hangs_up_is_dialled_again_after_a_pause);
	tcase_add_test(tc, a_handshake_has_its_time);
	tcase_add_test(tc, a_dial_without_a_result_ends_the_channel);
	tcase_add_test(tc, the_kernel_asks_whether_the_peer_lives);
	tcase_add_test(tc, a_channel_in_its_pause_can_be_closed);
	tcase_add_test(tc, a_dial_that_fails_at_once_ends_the_channel);
	tcase_add_test(tc, after_the_pause_nobody_listens);
	tcase_add_test(tc, a_connection_manager_without_descriptors);
	tcase_add_test(tc, a_connection_manager_without_memory);
	tcase_add_test(tc, a_connection_manager_may_have_the_lowest_descriptor);
	tcase_add_test(tc, a_connection_manager_has_a_name);
	tcase_add_loop_test(tc, the_peers_learn_of_the_end_of_the_ia, 0, 2);
	tcase_add_loop_test(tc, the_peers_learn_of_the_end_of_the_process, 0, 2);
	tcase_add_test(tc, the_end_of_the_process_does_not_wait_for_itself);
	tcase_add_loop_test(tc, a_forked_child_closes_the_lowest_descriptor, 0, 4);
	tcase_add_test(tc, a_forked_child_closes_the_sockets);
	tcase_add_test(tc, a_socket_that_talks_to_itself_is_refused);
	suite_add_tcase(suite, tc);
	add_listeners(suite);
	return t_run(suite);
}
