/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether a connection uses shared memory: the offer and its answer go to the local socket of the
 * peer, which may be full, or not be there.
 */
#include "t_blocks.h"
#include "unit.h"

#include "base/log.h"
#include "cm/accept.h"
#include "cm/channel.h"
#include "cm/conn.h"
#include "cm/path.h"
#include "memory/local_socket.h"
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
#include <sys/prctl.h>
#include <sys/resource.h>

#define MOST 8

static struct dofi_ia ia = {.name = "test", .params.same_host = "memory"};
static struct dofi_chan chan = {.peer.uuid = "of the peer"};
static struct dofi_conn conn = {.peer_id = 7, .peer_token = "of the peer, too"};
static int answers[MOST]; /* of the local socket, one after the other */
static int npassed, expected, joins, ups, downs, fabric_connects, fabric_expects, fabric_err;
static int join_err, prepares, disconnects;
static struct dofi_conn *found; /* by its number, and by its token */
static int prctls, prctl_ret;
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
	if (conn.memory || found)
		return;
	ck_assert_int_eq(dofi_memory_path_make(&conn, &conn.memory), 0);
	dofi_memory_path_passed(conn.memory);
}

int __wrap_dofi_memory_path_join(struct dofi_memory_path *path)
{
	ck_assert_ptr_eq(path, conn.memory);
	joins++;
	return join_err;
}

struct dofi_conn *__wrap_dofi_conn_by_id(struct dofi_ia *of, uint32_t id);
struct dofi_conn *__wrap_dofi_conn_by_token(struct dofi_ia *of, const uint8_t *token);
T_STAND_IN int __wrap_prctl(int option, ...);
int __real_dofi_badge_show(struct dofi_badge *badge_p);
int __wrap_dofi_badge_show(struct dofi_badge *badge_p);
bool __wrap_dofi_process_is_dead(pid_t pid);

struct dofi_conn *__wrap_dofi_conn_by_id(struct dofi_ia *of, uint32_t id)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_eq(id, 7);
	return found;
}

struct dofi_conn *__wrap_dofi_conn_by_token(struct dofi_ia *of, const uint8_t *token)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_str_eq((const char *)token, "ours");
	return found;
}

int __wrap_prctl(int option, ...)
{
	va_list args;

	va_start(args, option);
	ck_assert_int_eq(option, PR_SET_PTRACER);
	ck_assert_uint_eq(va_arg(args, unsigned long), PR_SET_PTRACER_ANY);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(va_arg(args, int), 0); /* of later kernels */
	va_end(args);
	prctls++;
	errno = EINVAL;
	return prctl_ret;
}

static int badge_err;

int __wrap_dofi_badge_show(struct dofi_badge *badge_p)
{
	int ret = __real_dofi_badge_show(badge_p);

	return badge_err ? badge_err : ret;
}

static bool is_dead;

bool __wrap_dofi_process_is_dead(pid_t pid)
{
	ck_assert_int_eq(pid, 4711);
	return is_dead;
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
	disconnects++;
}

static void fabric_prepare(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
	prepares++;
}

static struct dofi_trans_ops fabric = {.id = DOFI_TRANS_MSG,
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
	ck_assert_ptr_null(conn.memory);
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

/* Another IA may be reached over one shared endpoint; then nothing is expected before ACCEPT. */
START_TEST(a_shared_endpoint_expects_nothing)
{
	fabric.id = DOFI_TRANS_RDM;
	ck_assert_int_eq(conn.trans->expect(&conn), 0);
	ck_assert_int_eq(fabric_expects, 0);
	ck_assert_ptr_nonnull(conn.memory);
}
END_TEST

/* Without memory for the path, without a descriptor for its segment. */
START_TEST(without_a_segment_the_fabric_is_used)
{
	unsigned int blocks = t_nblocks;
	struct rlimit files, none;
	int fd = t_capture(STDERR_FILENO), ret;

	dofi_log_set_level("info");
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	if (_i)
		none.rlim_cur = 0;
	fabric_err = -FI_EBUSY;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	t_blocks_left = _i ? -1 : 0; /* the test's own assertions allocate */
	ret = conn.trans->expect(&conn);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_int_eq(ret, -FI_EBUSY);
	ck_assert_int_eq(fabric_expects, 1);
	ck_assert_int_eq(npassed, 0);
	ck_assert_ptr_eq(conn.trans, &fabric);
	ck_assert_ptr_null(conn.memory);
	ck_assert_str_eq(conn.why_fabric, "its memory can't be shared");
	ck_assert_uint_eq(t_nblocks, blocks);
	ck_assert_ptr_nonnull(
		strstr(t_captured(fd), _i ? "memory can't be shared: Too many open files"
					  : "memory can't be shared: Cannot allocate memory"));
}
END_TEST

START_TEST(a_peer_that_comes_over_the_fabric_withdraws_the_offer)
{
	unsigned int blocks = t_nblocks;

	ck_assert_int_eq(conn.trans->expect(&conn), 0);
	dofi_memory_withdraw(&conn);
	ck_assert_ptr_null(conn.memory);
	ck_assert_uint_eq(t_nblocks, blocks);
	ck_assert_ptr_eq(conn.trans, &fabric);
	ck_assert_str_eq(conn.why_fabric, "the peer has not taken the offer");
	conn.why_fabric = NULL;
	dofi_memory_withdraw(&conn); /* the fabric's transport calls it for each connection */
	ck_assert_ptr_null(conn.why_fabric);
}
END_TEST

/* The transport of the IA prepares and ends what the connection has on the fabric. */
START_TEST(the_fabric_takes_part)
{
	conn.trans->prepare(&conn);
	ck_assert_int_eq(prepares, 0); /* it has nothing to prepare */
	fabric.prepare = fabric_prepare;
	conn.trans->prepare(&conn);
	ck_assert_int_eq(prepares, 1);
	ck_assert_int_eq(conn.trans->expect(&conn), 0);
	conn.trans->disconnect(&conn);
	ck_assert_int_eq(disconnects, 1);
	ck_assert_ptr_null(conn.memory);
	ck_assert(conn.trans->has_eq);
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

/*
 * There is no segment, because its descriptor was of something else; or the peer's socket is gone;
 * or there is no memory for the records of requests.
 */
START_TEST(an_offer_that_cannot_be_taken)
{
	if (!_i)
		found = &conn; /* so no segment lies in the local socket */
	answers[0] = _i == 1 ? -EPERM : 0;
	join_err = _i == 2 ? -ENOMEM : 0;
	fabric_err = -FI_EBUSY;
	ck_assert_int_eq(conn.trans->connect(&conn), -FI_EBUSY);
	ck_assert_int_eq(npassed, _i != 0);
	ck_assert_int_eq(joins, _i == 2);
	ck_assert_int_eq(ups + downs, 0);
	ck_assert_int_eq(fabric_connects, 1);
	ck_assert_ptr_null(conn.memory);
	ck_assert_ptr_eq(conn.trans, &fabric);
	ck_assert_str_eq(conn.why_fabric, "its memory can't be shared");
}
END_TEST

START_TEST(a_peer_that_ended_it_before_the_answer)
{
	fabric_err = -ESHUTDOWN;
	__wrap_dofi_wakeup_read(&ia);
	atomic_store(&conn.memory->theirs->over, 1);
	ck_assert_int_eq(conn.trans->connect(&conn), 0);
	ck_assert_int_eq(npassed + ups + joins + fabric_connects, 0);
	ck_assert_int_eq(downs, 1);
}
END_TEST

/* --- what comes to the local socket --- */

static struct dofi_conn maker; /* the accepting side */
static struct dofi_memory_path *made;
static struct dofi_wakeup_offer offer;
static struct dofi_local_sender sender;

/* A connection waits for the segment, which a peer has made. */
static void setup_offer(void)
{
	setup_active();
	strcpy((char *)conn.token, "ours");
	maker = conn;
	maker.active = false;
	ck_assert_int_eq(dofi_memory_path_make(&maker, &made), 0);
	found = &conn;
	offer = (struct dofi_wakeup_offer){.kind = DOFI_OFFER_RINGS,
					   .uuid = "of the sender",
					   .token = "ours",
					   .number = 7};
	sender = (struct dofi_local_sender){.pid = getpid(), .is_user = true, .passed = made->fd};
}

static void teardown_offer(void)
{
	if (conn.memory)
		dofi_memory_path_free(conn.memory);
	conn.memory = NULL;
	dofi_memory_path_free(made);
	teardown();
}

START_TEST(a_segment_that_is_taken)
{
	ia.wakeup.heard(&ia, &offer, &sender);
	ck_assert_ptr_nonnull(conn.memory);
	ck_assert_str_eq((const char *)conn.memory->peer, "of the sender");
	ck_assert_int_eq(conn.memory->pid, getpid());
	ck_assert_int_eq(conn.memory->fd, -1);
	conn.memory->ours->asleep = 5;
	ck_assert_uint_eq(made->theirs->asleep, 5);
	ck_assert_int_ge(fcntl(sender.passed, F_GETFD), 0); /* the caller closes it */
}
END_TEST

enum {
	NO_CONN,
	PASSIVE,
	ON_FABRIC,
	HAS_JOINED,
	IS_JOINING,
	IS_ENDING,
	BAD_TOKEN,
	NO_FD,
	BAD_KIND,
	BAD_FD,
	REFUSED
};

static struct dofi_memory_path *have_one(void)
{
	ck_assert_int_eq(dofi_memory_path_make(&conn, &conn.memory), 0);
	return conn.memory;
}

START_TEST(segments_that_are_refused)
{
	unsigned int blocks;
	struct dofi_memory_path *before = NULL;
	int log = t_capture(STDERR_FILENO);

	dofi_log_set_level("info");
	switch (_i) {
	case NO_CONN:
		found = NULL;
		break;
	case PASSIVE:
		conn.active = false;
		break;
	case ON_FABRIC:
		conn.trans = &fabric;
		break;
	case HAS_JOINED:
		before = have_one();
		before->joined = true;
		break;
	case IS_JOINING: /* but the socket of the peer is full */
		before = have_one();
		dofi_stall(&ia, &before->passing);
		break;
	case IS_ENDING:
		conn.state = DOFI_CONN_ENDING;
		break;
	case BAD_TOKEN:
		offer.token[sizeof(offer.token) - 1] ^= 1;
		break;
	case NO_FD:
		sender.passed = -1;
		break;
	case BAD_KIND:
		offer.kind = 77;
		break;
	default:
		sender.passed = STDERR_FILENO;
	}
	blocks = t_nblocks;
	ia.wakeup.heard(&ia, &offer, &sender);
	ck_assert_ptr_eq(conn.memory, before);
	ck_assert_uint_eq(t_nblocks, blocks);
	ck_assert_int_eq(strstr(t_captured(log), "shared memory of a peer can't be used") != NULL,
			 _i == BAD_FD);
	conn.trans = ia.local_trans;
	if (before)
		before->joined = false;
}
END_TEST

/* The answer to a request was lost with its channel, and the peer accepts the repetition. */
START_TEST(a_later_segment_replaces_the_former_one)
{
	have_one();
	ia.wakeup.heard(&ia, &offer, &sender);
	ck_assert_ptr_nonnull(conn.memory);
	conn.memory->ours->asleep = 5;
	ck_assert_uint_eq(made->theirs->asleep, 5);
}
END_TEST

/* The former one is of a connection that has ended, so the fabric remains. */
START_TEST(a_later_segment_that_cannot_be_used)
{
	int log = t_capture(STDERR_FILENO);

	have_one();
	sender.passed = STDERR_FILENO;
	ia.wakeup.heard(&ia, &offer, &sender);
	ck_assert_ptr_null(conn.memory);
	t_captured(log);
}
END_TEST

/* The first descriptor of a process is one, too. */
START_TEST(a_segment_in_the_first_descriptor)
{
	ck_assert_int_eq(dup2(sender.passed, 0), 0);
	sender.passed = 0;
	ia.wakeup.heard(&ia, &offer, &sender);
	ck_assert_ptr_nonnull(conn.memory);
}
END_TEST

/* --- an answer --- */

static void setup_answer(void)
{
	setup();
	ck_assert_int_eq(dofi_memory_path_make(&conn, &conn.memory), 0);
	found = &conn;
	offer = (struct dofi_wakeup_offer){.kind = DOFI_OFFER_JOIN, .token = "ours"};
	sender = (struct dofi_local_sender){.pid = getpid(), .is_user = true, .passed = -1};
}

START_TEST(an_answer_brings_the_path_up)
{
	ia.wakeup.heard(&ia, &offer, &sender);
	ck_assert_int_eq(joins, 1);
	ck_assert_int_eq(ups, 1);
	ck_assert_int_eq(downs, 0);
	ck_assert_int_eq(conn.memory->pid, getpid());
}
END_TEST

START_TEST(an_answer_without_memory_for_the_path)
{
	join_err = -ENOMEM;
	fabric_err = -FI_ENOMEM; /* what the path is down with */
	ia.wakeup.heard(&ia, &offer, &sender);
	ck_assert_int_eq(ups, 0);
	ck_assert_int_eq(downs, 1);
}
END_TEST

/* To no connection, to one without a segment, to one that has its answer. */
START_TEST(answers_that_are_ignored)
{
	struct dofi_memory_path *path = conn.memory;

	if (_i == 0)
		found = NULL;
	else if (_i == 1)
		conn.memory = NULL;
	else
		conn.path_made = true;
	ia.wakeup.heard(&ia, &offer, &sender);
	ck_assert_int_eq(joins + ups + downs, 0);
	ck_assert_int_eq(path->pid, 0);
	conn.memory = path;
}
END_TEST

/* --- the parameter --- */

static const struct {
	const char *word;
	bool atomics; /* of the device */
	int ret;
	bool used, copies, ptracer;
} ways[] = {
	{"fabric", false, 0, false, false, false},
	{"fabric", true, 0, false, false, false},
	{"auto", false, 0, true, true, false},
	{"auto", true, 0, false, false, false},
	{"memory", false, 0, true, true, false},
	{"memory", true, 0, true, true, false},
	{"ptracer", false, 0, true, true, true},
	{"ptracer", true, 0, true, true, true},
	{"rings", false, 0, true, false, false},
	{"rings", true, 0, true, false, false},
	{"ring", false, -FI_EINVAL, false, false, false},
	{"", true, -FI_EINVAL, false, false, false},
};

START_TEST(values_of_same_host)
{
	static struct dofi_ia other = {.name = "other"};
	const char *text;
	int fd = t_capture(STDERR_FILENO);

	dofi_log_set_level("info");
	snprintf(other.params.same_host, sizeof(other.params.same_host), "%s", ways[_i].word);
	other.has_atomics = ways[_i].atomics;
	ck_assert_int_eq(dofi_memory_open(&other), ways[_i].ret);
	ck_assert(dofi_list_empty(&other.memory.paths));
	ck_assert_int_eq(other.local_trans != NULL, ways[_i].used);
	ck_assert_int_eq(other.wakeup.heard != NULL, ways[_i].used);
	ck_assert_int_eq(other.engine.doze != NULL, ways[_i].used);
	ck_assert_int_eq(other.memory.copies, ways[_i].copies);
	ck_assert_int_eq(prctls, ways[_i].ptracer);
	text = t_captured(fd);
	/* a user who has set the value learns why it has no effect */
	ck_assert_int_eq(strstr(text, "is not known") != NULL, ways[_i].ret != 0);
	ck_assert_int_eq(strstr(text, "use the fabric") != NULL,
			 !strcmp(ways[_i].word, "auto") && ways[_i].atomics);
	ck_assert_ptr_null(strstr(text, "Yama"));
}
END_TEST

START_TEST(atomic_operations_that_the_provider_does)
{
	static struct dofi_ia other = {.name = "other",
				       .does_atomics = true,
				       .params.same_host = "auto"};

	ck_assert_int_eq(dofi_memory_open(&other), 0);
	ck_assert_ptr_null(other.local_trans);
}
END_TEST

START_TEST(a_kernel_without_Yama)
{
	static struct dofi_ia other = {.name = "other", .params.same_host = "ptracer"};
	int fd = t_capture(STDERR_FILENO);

	dofi_log_set_level("info");
	prctl_ret = -1;
	ck_assert_int_eq(dofi_memory_open(&other), 0);
	ck_assert_ptr_nonnull(other.local_trans);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), strerror(EINVAL)));
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
	ck_assert_uint_eq(accepting->pending_size, _i ? 16 : 8);
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

/* A path that can't be made or mapped leaves nothing. */
START_TEST(paths_without_memory)
{
	struct dofi_memory_path *none = NULL;
	unsigned int blocks = t_nblocks;
	struct rlimit files, few;
	int ret;

	t_blocks_left = 0;
	ck_assert_int_eq(dofi_memory_path_make(&conn, &none), -ENOMEM);
	t_blocks_left = 0;
	ck_assert_int_eq(dofi_memory_path_map(&theirs, chan.peer.uuid, accepting->fd, &none),
			 -ENOMEM);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = files;
	few.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ret = dofi_memory_path_make(&conn, &none);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert_int_eq(ret, -EMFILE);
	ck_assert_int_eq(dofi_memory_path_map(&theirs, chan.peer.uuid, -1, &none), -EBADF);
	ck_assert_ptr_null(none);
	ck_assert_uint_eq(t_nblocks, blocks);
	ck_assert_int_eq(mappings(), 2);
}
END_TEST

START_TEST(a_connection_without_memory_for_its_requests)
{
	unsigned int blocks = t_nblocks;

	t_blocks_left = 0;
	ck_assert_int_eq(__real_dofi_memory_path_join(accepting), -ENOMEM);
	ck_assert_ptr_null(ep.memory);
	ck_assert(!accepting->joined && !conn.over_memory);
	ck_assert_uint_eq(ia.memory.npaths, 0);
	ck_assert_uint_eq(t_nblocks, blocks);
}
END_TEST

/* A program without standard input: the first descriptor is one, too. */
START_TEST(a_segment_has_the_first_descriptor)
{
	struct dofi_memory_path *path;

	close(STDIN_FILENO);
	ck_assert_int_eq(dofi_memory_path_make(&conn, &path), 0);
	ck_assert_int_eq(path->fd, STDIN_FILENO);
	ck_assert_int_eq(mappings(), 3);
	dofi_memory_path_free(path);
	ck_assert_int_eq(dup(STDERR_FILENO), STDIN_FILENO); /* for teardown */
	ck_assert_int_eq(mappings(), 2);
}
END_TEST

/* All blocks of a path are freed with it. */
START_TEST(a_freed_path_leaves_no_block)
{
	unsigned int blocks = t_nblocks;
	struct dofi_memory_path *path;
	static struct dofi_memory_pending none;

	ck_assert_int_eq(dofi_memory_path_make(&conn, &path), 0);
	ck_assert_int_eq(__real_dofi_memory_path_join(path), 0);
	for (uint32_t i = 0; i < path->pending_size; i++)
		ck_assert_mem_eq(&path->pending[i], &none, sizeof(none));
	dofi_memory_path_free(path);
	ck_assert_uint_eq(t_nblocks, blocks);
	conn.over_memory = false;
}
END_TEST

/* The end waits while the peer copies; a dead process copies no more. */
START_TEST(the_end_waits_for_copies_of_the_peer)
{
	accepting->pid = 4711;
	for (int copying = 0; copying < 2; copying++)
		for (int dead = 0; dead < 2; dead++) {
			atomic_store(&accepting->theirs->copying, (uint32_t)copying);
			is_dead = dead;
			accepting->left = false;
			atomic_store(&accepting->ours->over, 0);
			ck_assert_int_eq(dofi_memory_path_cancel(accepting), copying && !dead);
			ck_assert(accepting->left);
			ck_assert_uint_eq(connecting->theirs->over, 1);
		}
}
END_TEST

/* No copy begins after the other side has ended the connection, and its end waits for none. */
START_TEST(copies_are_counted)
{
	ck_assert(dofi_memory_copy_begin(accepting));
	ck_assert_uint_eq(connecting->theirs->copying, 1);
	ck_assert(dofi_memory_copy_begin(accepting));
	ck_assert_uint_eq(connecting->theirs->copying, 2);
	dofi_memory_copy_end(accepting);
	ck_assert_uint_eq(connecting->theirs->copying, 1);
	dofi_memory_copy_end(accepting);
	atomic_store(&connecting->ours->over, 1);
	ck_assert(!dofi_memory_copy_begin(accepting));
	ck_assert_uint_eq(connecting->theirs->copying, 0);
}
END_TEST

/* Nobody copies from a process that has no badge. */
START_TEST(a_process_without_a_badge)
{
	struct dofi_memory_path *path;

	badge_err = -ENOMEM;
	ia.memory.copies = true;
	ck_assert_int_eq(dofi_memory_path_make(&conn, &path), 0);
	ck_assert_uint_eq(path->ours->badge.address, 0);
	ck_assert_uint_eq(path->enough_polls, DOFI_BOX_POLLS);
	ck_assert_uint_eq(path->pending_size, 0);
	dofi_memory_path_free(path);
	ia.memory.copies = false;
}
END_TEST

/* A user who expects copies learns why there are none. */
START_TEST(the_log_tells_how_data_go)
{
	int fd = t_capture(STDERR_FILENO);
	const char *text;

	dofi_log_set_level("info");
	ia.memory.copies = true;
	dofi_memory_path_meet(accepting, 4711);
	accepting->copies = _i;
	ck_assert_int_eq(__real_dofi_memory_path_join(accepting), 0);
	text = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(text, "can't be reached: No such process"));
	ck_assert_ptr_nonnull(strstr(text, "a connection uses shared memory"));
	ck_assert_int_eq(strstr(text, "and copies between processes") != NULL, _i);
	ia.memory.copies = false;
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

static void add_paths(TCase *paths)
{
	tcase_add_checked_fixture(paths, setup_paths, teardown_paths);
	tcase_add_test(paths, what_one_side_writes_the_other_reads);
	tcase_add_test(paths, a_descriptor_of_something_else);
	tcase_add_loop_test(paths, copies_between_processes, 0, 2);
	tcase_add_loop_test(paths, a_path_that_a_connection_uses, 0, 2);
	tcase_add_test(paths, paths_without_memory);
	tcase_add_test(paths, a_connection_without_memory_for_its_requests);
	tcase_add_test(paths, a_segment_has_the_first_descriptor);
	tcase_add_test(paths, a_freed_path_leaves_no_block);
	tcase_add_test(paths, the_end_waits_for_copies_of_the_peer);
	tcase_add_test(paths, copies_are_counted);
	tcase_add_test(paths, a_process_without_a_badge);
	tcase_add_loop_test(paths, the_log_tells_how_data_go, 0, 2);
	tcase_add_test(paths, the_descriptor_is_closed_once);
}

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *accepts = tcase_create("accepts"), *connects = tcase_create("connects");
	TCase *offers = tcase_create("offers"), *joined = tcase_create("answers");
	TCase *parameter = tcase_create("parameter"), *paths = tcase_create("paths");

	tcase_add_checked_fixture(accepts, setup, teardown);
	tcase_add_test(accepts, the_segment_goes_before_accept);
	tcase_add_test(accepts, accept_waits_for_a_full_socket);
	tcase_add_test(accepts, a_peer_that_leaves_meanwhile_is_expected_over_the_fabric);
	tcase_add_test(accepts, a_fabric_that_cannot_expect_it_ends_the_connection);
	tcase_add_test(accepts, the_end_waits_for_nothing_before_the_path_is_used);
	tcase_add_test(accepts, an_ended_connection_passes_nothing);
	tcase_add_test(accepts, the_end_of_a_connection_ends_its_wait);
	tcase_add_test(accepts, a_shared_endpoint_expects_nothing);
	tcase_add_loop_test(accepts, without_a_segment_the_fabric_is_used, 0, 2);
	tcase_add_test(accepts, a_peer_that_comes_over_the_fabric_withdraws_the_offer);
	tcase_add_test(accepts, the_fabric_takes_part);
	suite_add_tcase(suite, accepts);
	tcase_add_checked_fixture(connects, setup_active, teardown);
	tcase_add_test(connects, the_answer_goes_before_the_path_is_up);
	tcase_add_test(connects, the_path_waits_for_a_full_socket);
	tcase_add_test(connects, a_peer_that_has_ended_the_connection_is_not_called);
	tcase_add_test(connects, a_fabric_that_cannot_connect_ends_the_attempt);
	tcase_add_test(connects, without_an_offer_the_fabric_is_used);
	tcase_add_loop_test(connects, an_offer_that_cannot_be_taken, 0, 3);
	tcase_add_test(connects, a_peer_that_ended_it_before_the_answer);
	suite_add_tcase(suite, connects);
	tcase_add_checked_fixture(offers, setup_offer, teardown_offer);
	tcase_add_test(offers, a_segment_that_is_taken);
	tcase_add_loop_test(offers, segments_that_are_refused, 0, REFUSED);
	tcase_add_test(offers, a_later_segment_replaces_the_former_one);
	tcase_add_test(offers, a_later_segment_that_cannot_be_used);
	tcase_add_test(offers, a_segment_in_the_first_descriptor);
	suite_add_tcase(suite, offers);
	tcase_add_checked_fixture(joined, setup_answer, teardown);
	tcase_add_test(joined, an_answer_brings_the_path_up);
	tcase_add_test(joined, an_answer_without_memory_for_the_path);
	tcase_add_loop_test(joined, answers_that_are_ignored, 0, 3);
	suite_add_tcase(suite, joined);
	tcase_add_loop_test(parameter, values_of_same_host, 0,
			    (int)(sizeof(ways) / sizeof(ways[0])));
	tcase_add_test(parameter, atomic_operations_that_the_provider_does);
	tcase_add_test(parameter, a_kernel_without_Yama);
	suite_add_tcase(suite, parameter);
	add_paths(paths);
	suite_add_tcase(suite, paths);
	return t_run(suite);
}
