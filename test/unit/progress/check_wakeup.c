/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Wakeups between two IAs: the IAs exchange marks and wake sleeping peers. Invalid datagrams and
 * forged marks have no effect.
 */
#include "unit.h"

#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/memory/local_socket.h"
#include "../../../prov/ofi/progress/wakeup.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/progress/engine_fds.h"
#include "../../../prov/ofi/progress/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static struct side {
	struct dofi_ia ia;
	struct dofi_wakeup_peer peer; /* the other one */
	bool knows;                   /* it */
	int drained;
} a, b;

/* --- the local socket: real, or with datagrams without an end --- */

static unsigned int receives;
static bool floods;

ssize_t __real_dofi_local_socket_receive(int fd, void *buf, size_t size,
					 struct dofi_local_sender *sender);
ssize_t __wrap_dofi_local_socket_receive(int fd, void *buf, size_t size,
					 struct dofi_local_sender *sender);

ssize_t __wrap_dofi_local_socket_receive(int fd, void *buf, size_t size,
					 struct dofi_local_sender *sender)
{
	receives++;
	sender->passed = -1;
	return floods ? 0 : __real_dofi_local_socket_receive(fd, buf, size, sender);
}

/* --- the engine and the transport --- */

static int watches, watch_error;

int __wrap_dofi_engine_watch(struct dofi_ia *ia, struct dofi_fd *fd, uint32_t events);
void __wrap_dofi_engine_unwatch(struct dofi_ia *ia, struct dofi_fd *fd);
int __wrap_dofi_engine_drain_cq(struct dofi_ia *ia);

static struct side *side_of(struct dofi_ia *ia)
{
	return DOFI_CONTAINER(ia, struct side, ia);
}

int __wrap_dofi_engine_watch(struct dofi_ia *ia, struct dofi_fd *fd, uint32_t events)
{
	ck_assert_uint_eq(events, EPOLLIN);
	ck_assert_ptr_eq(fd, &ia->wakeup.socket);
	watches += !watch_error;
	return watch_error;
}

void __wrap_dofi_engine_unwatch(struct dofi_ia *ia, struct dofi_fd *fd)
{
	ck_assert_ptr_eq(fd, &ia->wakeup.socket);
	watches--;
}

int __wrap_dofi_engine_drain_cq(struct dofi_ia *ia)
{
	side_of(ia)->drained++;
	return 0;
}

static struct dofi_wakeup_peer *wakeup_of(struct dofi_ia *ia, const uint8_t *uuid)
{
	struct side *side = side_of(ia);

	return side->knows && !memcmp(side->peer.uuid, uuid, DOFI_WAKEUP_UUID) ? &side->peer : NULL;
}

static const struct dofi_trans_ops trans = {.wakeup_of = wakeup_of};

/* --- */

/* Names of sockets are the host's. */
static void name(struct side *side, char which)
{
	snprintf((char *)side->ia.cm.uuid, DOFI_WAKEUP_UUID, "%c%d", which, getpid());
}

static void setup(void)
{
	a.ia.cq_wait = b.ia.cq_wait = FI_WAIT_NONE;
	a.ia.trans = b.ia.trans = &trans;
	name(&a, 'a');
	name(&b, 'b');
	ck_assert_int_eq(dofi_wakeup_open(&a.ia), 0);
	ck_assert_int_eq(dofi_wakeup_open(&b.ia), 0);
	ck_assert_ptr_nonnull(a.ia.wakeup.mark);
	ck_assert_ptr_nonnull(b.ia.wakeup.mark);
	dofi_lock(&a.ia.engine.lock);
	dofi_lock(&b.ia.engine.lock);
}

static void teardown(void)
{
	if (a.knows)
		dofi_wakeup_remove_peer(&a.ia, &a.peer);
	if (b.knows)
		dofi_wakeup_remove_peer(&b.ia, &b.peer);
	dofi_wakeup_close(&a.ia);
	dofi_wakeup_close(&b.ia);
}

/* Both IAs are in this process, so a datagram is in the socket at once. */
static bool has_datagram(struct side *side)
{
	struct pollfd fd = {.fd = side->ia.wakeup.socket.fd, .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

static void look(struct side *side)
{
	side->ia.wakeup.socket.ready(&side->ia.wakeup.socket, POLLIN);
	ck_assert(!has_datagram(side));
}

static void meet(struct side *side, struct side *other)
{
	side->knows = true;
	dofi_wakeup_add_peer(&side->ia, &side->peer, other->ia.cm.uuid);
}

/* Makes both IAs known to each other, as two connected IAs are. */
static void meet_both(void)
{
	meet(&a, &b);
	meet(&b, &a);
	look(&a);
	look(&b);
	look(&a);
}

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Pages of marks that are mapped, or only those that can be written to. */
static int mapped_marks(bool writable)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "dat-ofi-asleep") && (!writable || strstr(line, " rw-s "));
	fclose(maps);
	return n;
}

/* Each IA has its mark, and sees that of the other. All of it goes with the IA and the peer. */
START_TEST(nothing_is_left)
{
	int before = open_files();

	meet_both();
	ck_assert_int_eq(mapped_marks(false), 4);
	ck_assert_int_eq(mapped_marks(true), 2);
	ck_assert_int_eq(open_files(), before);
	dofi_wakeup_remove_peer(&a.ia, &a.peer);
	a.knows = false;
	ck_assert_int_eq(mapped_marks(false), 3);
	ck_assert_int_eq(watches, 2);
	dofi_wakeup_close(&a.ia);
	ck_assert_int_eq(mapped_marks(false), 2);
	ck_assert_int_eq(open_files(), before - 2);
	ck_assert_int_eq(watches, 1);
	ck_assert(!dofi_wakeup_mark(&a.ia, true));
	dofi_wakeup_close(&a.ia); /* once more has no effect */
	ck_assert_int_eq(watches, 1);
	ck_assert_int_eq(open_files(), before - 2);
}
END_TEST

START_TEST(a_socket_that_is_not_watched)
{
	int fd = t_capture(STDERR_FILENO), before;

	dofi_wakeup_close(&a.ia);
	before = open_files();
	watch_error = -ENOSPC;
	dofi_log_set_level("info");
	ck_assert_int_eq(dofi_wakeup_open(&a.ia), 0);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "peers can't wake this process"));
	ck_assert(!a.ia.wakeup.is_open);
	ck_assert_int_eq(open_files(), before);
	ck_assert_int_eq(mapped_marks(false), 1); /* that of b */
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	watch_error = 0;
	ck_assert_int_eq(dofi_wakeup_open(&a.ia), 0);
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

/* Descriptor 0 is then that of the mark, of the socket, or the one that a datagram passes. */
START_TEST(a_program_without_standard_input)
{
	close(STDIN_FILENO);
	meet_both();
	dofi_wakeup_mark(&b.ia, true);
	ck_assert_uint_ne(atomic_load(a.peer.mark), 0);
	ck_assert_int_lt(fcntl(STDIN_FILENO, F_GETFD), 0);
	dofi_wakeup_close(&a.ia);
	ck_assert_int_eq(dofi_wakeup_open(&a.ia), 0);
	ck_assert_int_eq(a.ia.wakeup.mark_fd, STDIN_FILENO);
	ck_assert(a.ia.wakeup.mark);
	ck_assert(a.ia.wakeup.is_open);
}
END_TEST

static unsigned int nheard;
static struct dofi_wakeup_offer last;
static bool last_passed;

static void heard(struct dofi_ia *ia, const struct dofi_wakeup_offer *offer,
		  const struct dofi_local_sender *sender)
{
	ck_assert_ptr_eq(ia, &b.ia);
	last = *offer;
	last_passed = sender->passed >= 0;
	nheard++;
}

/* An IA may hear offers of memory without having a mark. Its socket may be descriptor 0. */
START_TEST(offers_are_heard)
{
	struct dofi_wakeup_offer offer = {.kind = DOFI_OFFER_RINGS};
	int file = memfd_create("file", MFD_CLOEXEC), before;

	dofi_wakeup_close(&b.ia);
	b.ia.cq_wait = FI_WAIT_FD;
	b.ia.wakeup.heard = heard;
	close(STDIN_FILENO);
	ck_assert_int_eq(dofi_wakeup_open(&b.ia), 0);
	ck_assert_int_eq(b.ia.wakeup.socket.fd, STDIN_FILENO);
	ck_assert(b.ia.wakeup.is_open);
	ck_assert(!b.ia.wakeup.mark);
	before = open_files();
	offer.token[0] = 7;
	ck_assert_int_eq(dofi_wakeup_pass(&a.ia, b.ia.cm.uuid, &offer, file), 0);
	look(&b);
	ck_assert_uint_eq(nheard, 1);
	ck_assert_mem_eq(last.uuid, a.ia.cm.uuid, DOFI_WAKEUP_UUID);
	ck_assert_int_eq(last.kind, DOFI_OFFER_RINGS);
	ck_assert_int_eq(last.token[0], 7);
	ck_assert(last_passed);
	ck_assert_int_eq(open_files(), before);
	dofi_wakeup_call(&a.ia, b.ia.cm.uuid);
	ck_assert(has_datagram(&b));
	look(&b);
	ck_assert_uint_eq(nheard, 1);
	/* a hears none. */
	ck_assert_int_eq(dofi_wakeup_pass(&b.ia, a.ia.cm.uuid, &offer, -1), 0);
	look(&a);
	ck_assert_uint_eq(nheard, 1);
	close(file);
}
END_TEST

START_TEST(marks_are_seen)
{
	meet_both();
	ck_assert_uint_eq(atomic_load(a.peer.mark), 0);
	ck_assert(dofi_wakeup_mark(&b.ia, true));
	ck_assert_uint_ne(atomic_load(a.peer.mark), 0);
	ck_assert_uint_eq(atomic_load(b.peer.mark), 0);
	ck_assert(dofi_wakeup_mark(&b.ia, false));
	ck_assert_uint_eq(atomic_load(a.peer.mark), 0);
}
END_TEST

/*
 * The first IA's mark comes before the second IA knows the first, so it is lost. The first IA sends
 * it again.
 */
START_TEST(the_first_mark_is_lost)
{
	meet(&a, &b);
	look(&b);
	meet(&b, &a);
	look(&a);
	look(&b);
	dofi_wakeup_mark(&b.ia, true);
	ck_assert_uint_ne(atomic_load(a.peer.mark), 0);
	dofi_wakeup_mark(&a.ia, true);
	ck_assert_uint_ne(atomic_load(b.peer.mark), 0);
	ck_assert_uint_eq(atomic_load(&a.ia.wakeup.deaf) + atomic_load(&b.ia.wakeup.deaf), 0);
}
END_TEST

/* Naps become long only if every peer sends wakeups. */
START_TEST(a_peer_that_sends_no_wakeups)
{
	meet(&a, &b);
	ck_assert_uint_eq(atomic_load(&a.ia.wakeup.deaf), 1);
	meet(&b, &a);
	look(&a);
	look(&b);
	ck_assert_uint_eq(atomic_load(&a.ia.wakeup.deaf), 0);
	ck_assert_uint_eq(atomic_load(&b.ia.wakeup.deaf), 0);
	dofi_wakeup_remove_peer(&a.ia, &a.peer);
	ck_assert_uint_eq(atomic_load(&a.ia.wakeup.deaf), 0);
	meet(&a, &b);
	dofi_wakeup_remove_peer(&a.ia, &a.peer); /* the peer that never answered */
	ck_assert_uint_eq(atomic_load(&a.ia.wakeup.deaf), 0);
	a.knows = false;
}
END_TEST

/* The page of its mark is not mapped any more. */
START_TEST(a_peer_that_was_removed_seems_awake)
{
	meet_both();
	dofi_wakeup_mark(&b.ia, true);
	dofi_wakeup_remove_peer(&a.ia, &a.peer);
	a.knows = false;
	ck_assert_uint_eq(atomic_load(a.peer.mark), 0);
	dofi_wakeup_send_if_asleep(&a.ia, &a.peer);
	ck_assert(!has_datagram(&b));
}
END_TEST

START_TEST(a_sleeping_peer_gets_a_wakeup)
{
	meet_both();
	dofi_wakeup_send_if_asleep(&a.ia, &a.peer);
	ck_assert(!has_datagram(&b));
	dofi_wakeup_mark(&b.ia, true);
	dofi_wakeup_send_if_asleep(&a.ia, &a.peer);
	ck_assert(has_datagram(&b));
	ck_assert(!atomic_load(&b.ia.wait.posted));
	look(&b);
	ck_assert_int_eq(b.drained, 1);
	ck_assert(atomic_load(&b.ia.wait.posted)); /* the next sleep is short */
	ck_assert(!has_datagram(&a));              /* it does not sleep: no answer */
}
END_TEST

START_TEST(an_answer_wakes_and_is_not_answered)
{
	meet_both();
	dofi_wakeup_mark(&a.ia, true);
	dofi_wakeup_mark(&b.ia, true);
	dofi_wakeup_send_if_asleep(&a.ia, &a.peer);
	look(&b);
	ck_assert(has_datagram(&a));
	look(&a);
	ck_assert_int_eq(a.drained, 0);
	ck_assert(!has_datagram(&b));
}
END_TEST

static bool is_signalled(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

/*
 * The peer took back the mark of a path to wake the driver. Any thread may read its datagram, and
 * then the socket does not end the driver's sleep.
 */
START_TEST(a_call_to_read_rings_ends_the_sleep)
{
	b.ia.engine.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	dofi_wakeup_call(&a.ia, b.ia.cm.uuid);
	look(&b);
	ck_assert(!is_signalled(b.ia.engine.wake_fd)); /* the driver is awake */
	atomic_store(&b.ia.wait.marked, true);
	dofi_wakeup_call(&a.ia, b.ia.cm.uuid);
	look(&b);
	ck_assert(is_signalled(b.ia.engine.wake_fd));
	ck_assert_int_eq(b.drained, 0);
	close(b.ia.engine.wake_fd);
}
END_TEST

START_TEST(a_peer_that_is_gone)
{
	meet_both();
	dofi_wakeup_mark(&b.ia, true);
	dofi_wakeup_close(&b.ia);
	dofi_wakeup_send_if_asleep(&a.ia, &a.peer); /* its mark still says that it sleeps */
	ck_assert(!has_datagram(&a));
}
END_TEST

/* One that is gone, or has not read for long, is nothing to report. */
START_TEST(wakeups_that_can_not_be_sent)
{
	const uint8_t nobody[DOFI_WAKEUP_UUID] = {'n'};
	int fd = t_capture(STDERR_FILENO), socket_fd = a.ia.wakeup.socket.fd;

	dofi_log_set_level("debug");
	dofi_wakeup_call(&a.ia, nobody);
	for (int i = 0; i < 5000; i++) /* more than a socket takes */
		dofi_wakeup_call(&a.ia, b.ia.cm.uuid);
	ck_assert_str_eq(t_captured(fd), "");
	a.ia.wakeup.socket.fd = -1;
	dofi_wakeup_call(&a.ia, b.ia.cm.uuid);
	a.ia.wakeup.socket.fd = socket_fd;
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "a peer can't be woken"));
}
END_TEST

START_TEST(fabrics_with_a_descriptor_need_no_wakeups)
{
	struct dofi_ia other = {.cq_wait = FI_WAIT_FD};
	struct dofi_wakeup_peer peer;

	ck_assert_int_eq(dofi_wakeup_open(&other), 0);
	ck_assert(!other.wakeup.is_open);
	ck_assert_ptr_null(other.wakeup.mark);
	ck_assert(!dofi_wakeup_mark(&other, true));
	dofi_lock(&other.engine.lock);
	dofi_wakeup_add_peer(&other, &peer, a.ia.cm.uuid);
	ck_assert(!has_datagram(&a));
	ck_assert_uint_eq(atomic_load(peer.mark), 0);
	dofi_wakeup_remove_peer(&other, &peer);
	dofi_wakeup_close(&other);
}
END_TEST

/* A name that is taken: the IA does without. */
START_TEST(without_a_socket_there_are_no_wakeups)
{
	const struct dofi_wakeup_offer text = {.kind = DOFI_OFFER_JOIN};
	struct dofi_ia twin = {.cq_wait = FI_WAIT_NONE};

	memcpy(twin.cm.uuid, a.ia.cm.uuid, DOFI_WAKEUP_UUID);
	ck_assert_int_eq(dofi_wakeup_open(&twin), 0);
	ck_assert_ptr_null(twin.wakeup.mark);
	ck_assert_int_eq(dofi_wakeup_pass(&twin, a.ia.cm.uuid, &text, -1), -ENOTCONN);
}
END_TEST

/* --- datagrams of other processes --- */

#define MANY   16u /* descriptors in one datagram */
#define NOBODY 65534u

/* Sends a datagram with this many descriptors of one file. */
static void send_many(const struct side *side, const void *bytes, size_t size, int fd, size_t nfds)
{
	int sock = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct iovec iov = {(void *)(uintptr_t)bytes, size};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(MANY * sizeof(int))];
	} control = {0};
	struct sockaddr_un to;
	socklen_t length = sizeof(to);
	struct msghdr msg = {.msg_name = &to, .msg_iov = &iov, .msg_iovlen = 1};

	ck_assert_int_eq(getsockname(side->ia.wakeup.socket.fd, (struct sockaddr *)&to, &length),
			 0);
	msg.msg_namelen = length;
	if (nfds) {
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		*CMSG_FIRSTHDR(&msg) = (struct cmsghdr){.cmsg_len = CMSG_LEN(nfds * sizeof(int)),
							.cmsg_level = SOL_SOCKET,
							.cmsg_type = SCM_RIGHTS};
		for (size_t i = 0; i < nfds; i++)
			memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)) + i * sizeof(fd), &fd, sizeof(fd));
	}
	ck_assert_int_eq(sendmsg(sock, &msg, 0), (ssize_t)size);
	close(sock);
}

static void send_to(const struct side *side, const void *bytes, size_t size, int fd)
{
	send_many(side, bytes, size, fd, fd >= 0);
}

static void send_as(const struct side *to, const struct side *from, uint8_t kind, int fd)
{
	uint8_t bytes[1 + DOFI_WAKEUP_UUID] = {kind};

	memcpy(bytes + 1, from->ia.cm.uuid, DOFI_WAKEUP_UUID);
	send_to(to, bytes, sizeof(bytes), fd);
}

START_TEST(invalid_datagrams_are_ignored)
{
	static const uint8_t nonsense[64] = {2};

	send_as(&a, &b, 2, -1); /* a does not know b */
	send_to(&a, nonsense, 1, -1);
	send_to(&a, nonsense, sizeof(nonsense), -1);
	send_to(&a, nonsense, 0, -1);
	look(&a);
	ck_assert_int_eq(a.drained, 0);
	meet_both();
	send_as(&a, &b, 99, -1);
	send_as(&a, &b, 1, -1); /* the mark is missing */
	look(&a);
	ck_assert_int_eq(a.drained, 0);
}
END_TEST

/* The driver also has other work, and others on the host may send without an end. */
START_TEST(a_read_ends)
{
	receives = 0;
	dofi_wakeup_read(&a.ia);
	ck_assert_uint_eq(receives, 1);
	floods = true;
	dofi_wakeup_read(&a.ia);
	floods = false;
	ck_assert_uint_le(receives, 1000);
	send_as(&a, &b, 99, -1);
	send_as(&a, &b, 99, -1);
	receives = 0;
	dofi_wakeup_read(&a.ia);
	ck_assert_uint_eq(receives, 3);
}
END_TEST

/* Memory that could be taken away is not looked at, nor is what is smaller than a page. */
START_TEST(forged_marks_are_ignored)
{
	int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int small = memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const _Atomic uint32_t *none;
	int pair[2];

	ck_assert_int_eq(ftruncate(unsealed, sysconf(_SC_PAGESIZE)), 0);
	ck_assert_int_eq(fcntl(small, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	ck_assert_int_eq(pipe(pair), 0);
	meet(&a, &b);
	none = a.peer.mark;
	send_as(&a, &b, 1, unsealed);
	send_as(&a, &b, 1, small);
	send_as(&a, &b, 1, pair[0]);
	look(&a);
	ck_assert_ptr_eq(a.peer.mark, none);
	close(unsealed);
	close(small);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

/* A flood of datagrams, whoever the sender says to be, leaves no descriptor open. */
START_TEST(unexpected_descriptors_are_closed)
{
	uint8_t bytes[1 + DOFI_WAKEUP_UUID] = {1};
	int file = memfd_create("file", MFD_CLOEXEC), before;

	meet_both();
	before = open_files();
	for (size_t i = 0; i < 400; i++) {
		memcpy(bytes + 1, i % 2 ? b.ia.cm.uuid : a.ia.cm.uuid, DOFI_WAKEUP_UUID);
		bytes[0] = (uint8_t)(i % 3);
		send_many(&a, bytes, i % 5 ? sizeof(bytes) : 3, file, i % (MANY + 1));
		look(&a);
	}
	ck_assert_int_eq(open_files(), before);
	close(file);
}
END_TEST

/* As another user, who has found out the name of a peer; `good` as this one. */
static void send_from_a_process(bool good)
{
	int mark = memfd_create("mark", MFD_CLOEXEC | MFD_ALLOW_SEALING), status;
	pid_t pid;

	ck_assert_int_eq(ftruncate(mark, sysconf(_SC_PAGESIZE)), 0);
	ck_assert_int_eq(fcntl(mark, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	pid = fork();
	if (!pid) {
		if (!good && (setgid(NOBODY) || setuid(NOBODY)))
			_exit(EXIT_FAILURE);
		send_as(&a, &b, 1, mark);
		send_as(&a, &b, 2, -1);
		_exit(EXIT_SUCCESS);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(mark);
	look(&a);
}

START_TEST(datagrams_of_other_users_are_ignored)
{
	const _Atomic uint32_t *none;

	if (geteuid())
		t_skip("only root can act as another user");
	meet(&a, &b);
	none = a.peer.mark;
	send_from_a_process(false);
	ck_assert_ptr_eq(a.peer.mark, none);
	ck_assert_int_eq(a.drained, 0);
	send_from_a_process(true);
	ck_assert_ptr_ne(a.peer.mark, none);
	ck_assert_int_eq(a.drained, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wakeup");
	TCase *tc = tcase_create("wakeup");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, nothing_is_left);
	tcase_add_test(tc, a_socket_that_is_not_watched);
	tcase_add_test(tc, a_program_without_standard_input);
	tcase_add_test(tc, offers_are_heard);
	tcase_add_test(tc, marks_are_seen);
	tcase_add_test(tc, the_first_mark_is_lost);
	tcase_add_test(tc, a_peer_that_sends_no_wakeups);
	tcase_add_test(tc, a_peer_that_was_removed_seems_awake);
	tcase_add_test(tc, a_sleeping_peer_gets_a_wakeup);
	tcase_add_test(tc, an_answer_wakes_and_is_not_answered);
	tcase_add_test(tc, a_call_to_read_rings_ends_the_sleep);
	tcase_add_test(tc, a_peer_that_is_gone);
	tcase_add_test(tc, wakeups_that_can_not_be_sent);
	tcase_add_test(tc, fabrics_with_a_descriptor_need_no_wakeups);
	tcase_add_test(tc, without_a_socket_there_are_no_wakeups);
	tcase_add_test(tc, invalid_datagrams_are_ignored);
	tcase_add_test(tc, a_read_ends);
	tcase_add_test(tc, forged_marks_are_ignored);
	tcase_add_test(tc, unexpected_descriptors_are_closed);
	tcase_add_test(tc, datagrams_of_other_users_are_ignored);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
