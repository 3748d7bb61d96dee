/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether a connection uses shared memory: the offer and its answer go to the local socket of the
 * peer, which may be full, or not be there.
 */
#include "unit.h"

#include "cm/accept.h"
#include "cm/channel.h"
#include "cm/conn.h"
#include "cm/path.h"
#include "object/ia.h"
#include "object/transport.h"
#include "progress/stall.h"
#include "progress/wait.h"
#include "progress/wakeup.h"
#include "transport/memory.h"
#include "transport/memory_path.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/fi_errno.h>

#define MOST 8

static struct dofi_ia ia = {.name = "test", .params.same_host = "memory"};
static struct dofi_chan chan = {.peer.uuid = "of the peer"};
static struct dofi_conn conn = {.peer_id = 7, .peer_token = "of the peer, too"};
static int answers[MOST]; /* of the local socket, one after the other */
static int npassed, expected, joins, ups, downs, fabric_connects, fabric_expects, fabric_err;
static struct dofi_wakeup_offer passed;
static int passed_fd;

void __wrap_dofi_wait_kick(struct dofi_ia *of);
int __wrap_dofi_wakeup_pass(struct dofi_ia *of, const uint8_t *uuid,
			    const struct dofi_wakeup_offer *text, int fd);
void __wrap_dofi_wakeup_read(struct dofi_ia *of);
int __wrap_dofi_memory_path_join(struct dofi_memory_path *path);
void __wrap_dofi_conn_expected(struct dofi_conn *of);
void __wrap_dofi_conn_path_up(struct dofi_conn *of);
void __wrap_dofi_conn_path_down(struct dofi_conn *of, int err);

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
}

int __wrap_dofi_wakeup_pass(struct dofi_ia *of, const uint8_t *uuid,
			    const struct dofi_wakeup_offer *text, int fd)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_int_lt(npassed, MOST);
	ck_assert_str_eq((const char *)uuid, "of the peer");
	passed = *text;
	passed_fd = fd;
	return answers[npassed++];
}

/* The offer of the peer lies in the local socket. */
void __wrap_dofi_wakeup_read(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	if (conn.memory)
		return;
	ck_assert_int_eq(dofi_memory_path_make(&conn, &conn.memory), 0);
	dofi_memory_path_passed(conn.memory);
}

int __wrap_dofi_memory_path_join(struct dofi_memory_path *path)
{
	ck_assert_ptr_eq(path, conn.memory);
	joins++;
	return 0;
}

void __wrap_dofi_conn_expected(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	expected++;
}

void __wrap_dofi_conn_path_up(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	ups++;
}

void __wrap_dofi_conn_path_down(struct dofi_conn *of, int err)
{
	ck_assert_ptr_eq(of, &conn);
	ck_assert_int_eq(err, -fabric_err);
	downs++;
}

/* --- the fabric --- */

static int fabric_connect(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	fabric_connects++;
	return fabric_err;
}

static int fabric_expect(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	fabric_expects++;
	return fabric_err;
}

static void fabric_disconnect(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
}

static const struct dofi_trans_ops fabric = {.id = DOFI_TRANS_MSG,
					     .connect = fabric_connect,
					     .expect = fabric_expect,
					     .disconnect = fabric_disconnect};

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_lock(&ia.engine.lock);
	ia.trans = &fabric;
	ck_assert_int_eq(dofi_memory_open(&ia), 0);
	conn.ia = &ia;
	conn.chan = &chan;
	conn.trans = ia.local_trans;
	conn.state = DOFI_CONN_ACCEPTED;
}

static void teardown(void)
{
	conn.trans->disconnect(&conn);
	ck_assert_uint_eq(ia.engine.nstalled, 0);
	dofi_unlock(&ia.engine.lock);
}

static void setup_active(void)
{
	setup();
	conn.active = true;
	conn.state = DOFI_CONN_CONNECTING;
	conn.peer_flags = DOFI_MSG_F_MEMORY;
}

/* --- the accepting side --- */

START_TEST(the_segment_goes_before_accept)
{
	ck_assert_int_eq(conn.trans->expect(&conn), 0);
	ck_assert_int_eq(npassed, 1);
	ck_assert_uint_eq(passed.kind, DOFI_OFFER_RINGS);
	ck_assert_uint_eq(passed.number, conn.peer_id);
	ck_assert_str_eq((const char *)passed.token, "of the peer, too");
	ck_assert_int_ge(passed_fd, 0);
	ck_assert_int_eq(fcntl(passed_fd, F_GETFD), -1); /* the peer has it now */
	ck_assert_int_eq(fabric_expects, 1);
	ck_assert_int_eq(expected, 0);
}
END_TEST

START_TEST(accept_waits_for_a_full_socket)
{
	answers[0] = answers[1] = answers[2] = -EAGAIN;
	ck_assert_int_eq(conn.trans->expect(&conn), DOFI_LATER);
	for (int i = 0; i < 2; i++) {
		dofi_stall_retry_all(&ia);
		ck_assert_int_ge(fcntl(passed_fd, F_GETFD), 0);
		ck_assert_int_eq(expected + fabric_expects, 0);
	}
	dofi_stall_retry_all(&ia);
	ck_assert_int_eq(npassed, 4);
	ck_assert_int_eq(fcntl(passed_fd, F_GETFD), -1);
	ck_assert_int_eq(expected, 1);
	ck_assert_int_eq(fabric_expects, 1); /* the peer may still come over the fabric */
	ck_assert_ptr_ne(conn.trans, &fabric);
	dofi_stall_retry_all(&ia);
	ck_assert_int_eq(npassed, 4);
}
END_TEST

START_TEST(a_peer_that_leaves_meanwhile_is_expected_over_the_fabric)
{
	answers[0] = -EAGAIN;
	answers[1] = -ECONNREFUSED;
	ck_assert_int_eq(conn.trans->expect(&conn), DOFI_LATER);
	dofi_stall_retry_all(&ia);
	ck_assert_int_eq(expected, 1);
	ck_assert_int_eq(fabric_expects, 1);
	ck_assert_ptr_eq(conn.trans, &fabric);
	ck_assert_ptr_null(conn.memory);
	ck_assert_str_eq(conn.why_fabric, "the peer is on another host");
}
END_TEST

START_TEST(a_fabric_that_cannot_expect_it_ends_the_connection)
{
	answers[0] = -EAGAIN;
	answers[1] = -EPERM;
	fabric_err = -FI_ENOMEM;
	ck_assert_int_eq(conn.trans->expect(&conn), DOFI_LATER);
	dofi_stall_retry_all(&ia);
	ck_assert_int_eq(downs, 1);
	ck_assert_int_eq(expected, 0);
}
END_TEST

/* The end of a connection waits for copies of the peer; without a path there are none. */
START_TEST(the_end_waits_for_nothing_before_the_path_is_used)
{
	ck_assert_ptr_null(conn.memory);
	ck_assert(!conn.trans->cancel(&conn));
	ck_assert_int_eq(conn.trans->expect(&conn), 0);
	ck_assert_ptr_nonnull(conn.memory);
	ck_assert(!conn.trans->cancel(&conn));
}
END_TEST

START_TEST(an_ended_connection_passes_nothing)
{
	answers[0] = -EAGAIN;
	ck_assert_int_eq(conn.trans->expect(&conn), DOFI_LATER);
	conn.state = DOFI_CONN_ENDING;
	dofi_stall_retry_all(&ia);
	ck_assert_int_eq(npassed, 1);
	ck_assert_int_eq(expected + downs, 0);
}
END_TEST

START_TEST(the_end_of_a_connection_ends_its_wait)
{
	answers[0] = -EAGAIN;
	ck_assert_int_eq(conn.trans->expect(&conn), DOFI_LATER);
	ck_assert_uint_eq(ia.engine.nstalled, 1);
	conn.trans->disconnect(&conn);
	ck_assert_uint_eq(ia.engine.nstalled, 0);
	ck_assert_int_eq(fcntl(passed_fd, F_GETFD), -1);
}
END_TEST

/* --- the connecting side --- */

START_TEST(the_answer_goes_before_the_path_is_up)
{
	ck_assert_int_eq(conn.trans->connect(&conn), 0);
	ck_assert_uint_eq(passed.kind, DOFI_OFFER_JOIN);
	ck_assert_int_eq(passed_fd, -1);
	ck_assert_int_eq(joins, 1);
	ck_assert_int_eq(ups, 1);
	ck_assert_int_eq(fabric_connects, 0);
}
END_TEST

START_TEST(the_path_waits_for_a_full_socket)
{
	answers[0] = answers[1] = -EAGAIN;
	ck_assert_int_eq(conn.trans->connect(&conn), 0);
	dofi_stall_retry_all(&ia);
	ck_assert_int_eq(joins + ups + fabric_connects, 0);
	dofi_stall_retry_all(&ia);
	ck_assert_int_eq(npassed, 3);
	ck_assert_int_eq(joins, 1);
	ck_assert_int_eq(ups, 1);
	ck_assert_int_eq(fabric_connects, 0);
}
END_TEST

/*
 * The fabric has nothing to connect to: libfabric's efa 1.17 crashes when it adds an address of
 * this process that is closed meanwhile.
 */
START_TEST(a_peer_that_has_ended_the_connection_is_not_called)
{
	fabric_err = -ESHUTDOWN; /* what the path is down with */
	answers[0] = -EAGAIN;
	ck_assert_int_eq(conn.trans->connect(&conn), 0);
	atomic_store(&conn.memory->theirs->over, 1);
	dofi_stall_retry_all(&ia);
	ck_assert_int_eq(npassed, 1);
	ck_assert_int_eq(ups, 0);
	ck_assert_int_eq(fabric_connects, 0);
	ck_assert_int_eq(downs, 1);
}
END_TEST

START_TEST(a_fabric_that_cannot_connect_ends_the_attempt)
{
	answers[0] = -EAGAIN;
	answers[1] = -ECONNREFUSED;
	fabric_err = -FI_ENOMEM;
	ck_assert_int_eq(conn.trans->connect(&conn), 0);
	dofi_stall_retry_all(&ia);
	ck_assert_int_eq(fabric_connects, 1);
	ck_assert_int_eq(downs, 1);
}
END_TEST

START_TEST(without_an_offer_the_fabric_is_used)
{
	conn.peer_flags = 0;
	ck_assert_int_eq(conn.trans->connect(&conn), 0);
	ck_assert_int_eq(npassed, 0);
	ck_assert_int_eq(fabric_connects, 1);
	ck_assert_str_eq(conn.why_fabric, "the peer does not offer it");
}
END_TEST

/* --- paths --- */

#define REQUESTS 5u
#define PARTS    3u

static struct dofi_ep ep;
static struct dofi_ctx rcache[DOFI_RCACHE_SIZE];
static struct dofi_conn theirs; /* of the connecting side */
static struct dofi_memory_path *accepting, *connecting;
static int first_fd; /* the next descriptor before there was a path */

int __real_dofi_memory_path_join(struct dofi_memory_path *path);

static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "dat-ofi-rings") != NULL;
	fclose(maps);
	return n;
}

static void setup_paths(void)
{
	setup();
	ia.memory.copies = false;
	dofi_lock_init(&ep.lock);
	ep.obj.ia = &ia;
	ep.req.limit = REQUESTS;
	ep.rcache = rcache;
	conn.ep = &ep;
	theirs = conn;
	theirs.active = true;
	first_fd = dup(STDERR_FILENO);
	close(first_fd);
	ck_assert_int_eq(dofi_memory_path_make(&conn, &accepting), 0);
	ck_assert_int_eq(accepting->fd, first_fd);
	ck_assert_int_eq(dofi_memory_path_map(&theirs, chan.peer.uuid, accepting->fd, &connecting),
			 0);
	ck_assert_int_eq(mappings(), 2);
}

/* Nothing is left of the paths. */
static void teardown_paths(void)
{
	if (connecting)
		dofi_memory_path_free(connecting);
	ck_assert_int_eq(mappings(), 1);
	ck_assert_uint_eq(accepting->theirs->over, 1); /* the other side learns of it */
	dofi_memory_path_free(accepting);
	ck_assert_int_eq(mappings(), 0);
	ck_assert_int_eq(dup(STDERR_FILENO), first_fd);
	teardown();
}

static bool is_same(const void *a, const void *b)
{
	return (const char *)a - (const char *)accepting->segment ==
	       (const char *)b - (const char *)connecting->segment;
}

START_TEST(what_one_side_writes_the_other_reads)
{
	ck_assert(is_same(accepting->ours, connecting->theirs));
	ck_assert(is_same(accepting->theirs, connecting->ours));
	ck_assert(is_same(accepting->out.ring, connecting->in.ring));
	ck_assert(is_same(accepting->in.ring, connecting->out.ring));
	ck_assert(is_same(accepting->box, connecting->their_box));
	ck_assert(is_same(accepting->their_box, connecting->box));
	/* as a peer with another release of the library has it */
	ck_assert_ptr_eq(connecting->ours, &connecting->segment->marks[0]);
	ck_assert_int_lt(connecting->fd, 0);
	ck_assert_str_eq((const char *)accepting->peer, "of the peer");
	ck_assert_ptr_eq(accepting->conn, &conn);
	connecting->ours->asleep = 1;
	ck_assert_uint_eq(accepting->theirs->asleep, 1);
}
END_TEST

/* The descriptor that came is no segment of ours. */
START_TEST(a_descriptor_of_something_else)
{
	struct dofi_memory_path *none = NULL;

	ck_assert_int_lt(dofi_memory_path_map(&theirs, chan.peer.uuid, STDERR_FILENO, &none), 0);
	ck_assert_ptr_null(none);
	ck_assert_int_eq(mappings(), 2);
}
END_TEST

/* It shows no badge where copies are not wanted. */
START_TEST(copies_between_processes)
{
	struct dofi_memory_path *path;

	ck_assert_uint_eq(accepting->ours->badge.address, 0);
	ck_assert_int_eq(dofi_badge_show(&accepting->theirs->badge), 0);
	dofi_memory_path_meet(accepting, getpid());
	ck_assert_int_eq(accepting->pid, getpid());
	ck_assert(!accepting->copies);
	ck_assert_int_eq(accepting->process.pid, 0);
	ia.memory.copies = true;
	ck_assert_int_eq(dofi_memory_path_make(&conn, &path), 0);
	ck_assert_uint_ne(path->ours->badge.address, 0);
	path->theirs->badge = path->ours->badge; /* it is its own peer */
	dofi_memory_path_meet(path, _i ? 99999999 : getpid());
	ck_assert_int_eq(path->pid, _i ? 99999999 : getpid());
	ck_assert_int_eq(path->copies, !_i);
	ck_assert_uint_eq(path->ours->fetches, !_i);
	ck_assert_int_eq(path->process.pid, _i ? 0 : getpid());
	dofi_memory_path_free(path);
	ia.memory.copies = false;
}
END_TEST

/* The EP has the path from here on, and the path a record for each request. */
START_TEST(a_path_that_a_connection_uses)
{
	if (_i)
		ep.parts = (struct dofi_ring){.base = (char *)&ep, .limit = PARTS};
	ep.path_up = true;
	ck_assert_int_eq(__real_dofi_memory_path_join(accepting), 0);
	ck_assert_ptr_eq(ep.memory, accepting);
	ck_assert(conn.over_memory && accepting->joined);
	ck_assert_uint_eq(accepting->pending_size, REQUESTS + (_i ? PARTS : 0) + 1);
	ck_assert_uint_eq(ep.peer.number, conn.peer_id);
	ck_assert_uint_eq(ia.memory.npaths, 1);
	ia.engine.restless = 1 + (uint32_t)_i;
	accepting->restless = _i;
	dofi_memory_path_free(accepting);
	ck_assert_ptr_null(ep.memory);
	ck_assert(!ep.path_up);
	ck_assert_uint_eq(ia.memory.npaths, 0);
	ck_assert_uint_eq(ia.engine.restless, 1);
	ck_assert(dofi_trylock(&ep.lock)); /* nobody holds it */
	dofi_unlock(&ep.lock);
	ck_assert_uint_eq(connecting->theirs->over, 1);
	/* for teardown */
	ep.parts.base = NULL;
	conn.over_memory = false;
	ck_assert_int_eq(dofi_memory_path_make(&conn, &accepting), 0);
	dofi_memory_path_free(connecting);
	ck_assert_int_eq(dofi_memory_path_map(&theirs, chan.peer.uuid, accepting->fd, &connecting),
			 0);
}
END_TEST

START_TEST(the_descriptor_is_closed_once)
{
	int fd;

	dofi_memory_path_passed(accepting);
	fd = dup(STDERR_FILENO);
	ck_assert_int_eq(fd, first_fd);
	dofi_memory_path_passed(accepting);
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *accepts = tcase_create("accepts"), *connects = tcase_create("connects");
	TCase *paths = tcase_create("paths");

	tcase_add_checked_fixture(accepts, setup, teardown);
	tcase_add_test(accepts, the_segment_goes_before_accept);
	tcase_add_test(accepts, accept_waits_for_a_full_socket);
	tcase_add_test(accepts, a_peer_that_leaves_meanwhile_is_expected_over_the_fabric);
	tcase_add_test(accepts, a_fabric_that_cannot_expect_it_ends_the_connection);
	tcase_add_test(accepts, the_end_waits_for_nothing_before_the_path_is_used);
	tcase_add_test(accepts, an_ended_connection_passes_nothing);
	tcase_add_test(accepts, the_end_of_a_connection_ends_its_wait);
	suite_add_tcase(suite, accepts);
	tcase_add_checked_fixture(connects, setup_active, teardown);
	tcase_add_test(connects, the_answer_goes_before_the_path_is_up);
	tcase_add_test(connects, the_path_waits_for_a_full_socket);
	tcase_add_test(connects, a_peer_that_has_ended_the_connection_is_not_called);
	tcase_add_test(connects, a_fabric_that_cannot_connect_ends_the_attempt);
	tcase_add_test(connects, without_an_offer_the_fabric_is_used);
	suite_add_tcase(suite, connects);
	tcase_add_checked_fixture(paths, setup_paths, teardown_paths);
	tcase_add_test(paths, what_one_side_writes_the_other_reads);
	tcase_add_test(paths, a_descriptor_of_something_else);
	tcase_add_loop_test(paths, copies_between_processes, 0, 2);
	tcase_add_loop_test(paths, a_path_that_a_connection_uses, 0, 2);
	tcase_add_test(paths, the_descriptor_is_closed_once);
	suite_add_tcase(suite, paths);
	return t_run(suite);
}
