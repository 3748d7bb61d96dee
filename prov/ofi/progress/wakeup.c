/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/wakeup.h"

#include "object/ia.h"
#include "base/log.h"
#include "progress/engine_fds.h"
#include "progress/engine.h"
#include "object/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Datagrams looked at in one turn. */
#define TURN 64

enum kind {
	MARK = 1, /* the sender's mark comes along */
	RING,     /* the fabric has something for you */
	ANSWER,   /* the same, of what a RING brought about */
};

struct datagram {
	uint8_t kind;
	uint8_t uuid[DOFI_WAKEUP_UUID]; /* the sender's */
};

/* The mark of a peer that never shows one. */
static const _Atomic uint32_t awake;

static socklen_t name_of(const uint8_t *uuid, struct sockaddr_un *name)
{
	static const char prefix[] = "\0dat-ofi-";
	char *at = name->sun_path + sizeof(prefix) - 1;

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(name->sun_path, prefix, sizeof(prefix) - 1);
	memcpy(at, uuid, DOFI_WAKEUP_UUID);
	return (socklen_t)(at + DOFI_WAKEUP_UUID - (char *)name);
}

/*
 * fd: a descriptor to go along, or -1. What can't be sent is not sent: the receiver is not there,
 * or has enough to read.
 */
static void tell(struct dofi_ia *ia, const uint8_t *uuid, enum kind kind, int fd)
{
	struct datagram text = {.kind = (uint8_t)kind};
	struct iovec iov = {&text, sizeof(text)};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct sockaddr_un name;
	struct msghdr msg = {.msg_name = &name,
			     .msg_namelen = name_of(uuid, &name),
			     .msg_iov = &iov,
			     .msg_iovlen = 1};

	memcpy(text.uuid, ia->cm.uuid, sizeof(text.uuid));
	if (fd >= 0) {
		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		*CMSG_FIRSTHDR(&msg) = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
							.cmsg_level = SOL_SOCKET,
							.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &fd, sizeof(fd));
	}
	if (sendmsg(ia->wakeup.socket.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    errno != ECONNREFUSED && errno != EAGAIN)
		DOFI_LOG_D("%s: a peer can't be woken: %s", ia->name, strerror(errno));
}

void dofi_wakeup_send(struct dofi_ia *ia, const struct dofi_wakeup_peer *peer)
{
	tell(ia, peer->uuid, RING, -1);
}

/* --- marks --- */

static void show_mark(struct dofi_ia *ia, const struct dofi_wakeup_peer *peer)
{
	tell(ia, peer->uuid, MARK, ia->wakeup.mark_fd);
}

/* Only memory that nobody can take from under us. */
static void see_mark(struct dofi_ia *ia, struct dofi_wakeup_peer *peer, int fd)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *page;

	if (peer->mark != &awake || seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) ||
	    (size_t)st.st_size < size)
		return;
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		peer->mark = page;
		atomic_fetch_sub(&ia->wakeup.deaf, 1);
	}
	/* Once more: what we sent when we met the peer is lost if the peer had not met us yet. */
	show_mark(ia, peer);
}

void dofi_wakeup_add_peer(struct dofi_ia *ia, struct dofi_wakeup_peer *peer, const uint8_t *uuid)
{
	dofi_assert_held(&ia->engine.lock);
	peer->mark = &awake;
	atomic_fetch_add(&ia->wakeup.deaf, 1);
	memcpy(peer->uuid, uuid, sizeof(peer->uuid));
	if (ia->wakeup.mark)
		show_mark(ia, peer);
}

void dofi_wakeup_remove_peer(struct dofi_ia *ia, struct dofi_wakeup_peer *peer)
{
	if (peer->mark == &awake)
		atomic_fetch_sub(&ia->wakeup.deaf, 1);
	else
		munmap((void *)(uintptr_t)peer->mark, (size_t)sysconf(_SC_PAGESIZE));
	peer->mark = &awake;
}

bool dofi_wakeup_mark(struct dofi_ia *ia, bool asleep)
{
	if (!ia->wakeup.mark)
		return false;
	atomic_store(ia->wakeup.mark, asleep);
	return true;
}

/* --- receiving --- */

/* What comes beside a datagram. */
struct beside {
	bool trusted; /* sent by this user, or by root */
	int fd;       /* the only descriptor, or -1 */
};

/* The kernel has opened what came. A datagram of ours brings one; of more, each is closed. */
static int only_descriptor(const struct cmsghdr *header)
{
	size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
		if (n == 1)
			return fd;
		close(fd);
	}
	return -1;
}

static bool is_trusted(const struct cmsghdr *header)
{
	struct ucred sender;

	if (header->cmsg_len < CMSG_LEN(sizeof(sender)))
		return false;
	memcpy(&sender, CMSG_DATA(header), sizeof(sender));
	return sender.uid == geteuid() || !sender.uid;
}

static struct beside look_beside(struct msghdr *msg)
{
	struct beside beside = {.fd = -1};
	struct cmsghdr *header;

	for (header = CMSG_FIRSTHDR(msg); header; header = CMSG_NXTHDR(msg, header)) {
		if (header->cmsg_level != SOL_SOCKET)
			continue;
		if (header->cmsg_type == SCM_CREDENTIALS)
			beside.trusted = is_trusted(header);
		else if (header->cmsg_type == SCM_RIGHTS && beside.fd < 0)
			beside.fd = only_descriptor(header);
	}
	return beside;
}

/*
 * Our part of it is done once the queue was read, then the sender may be waiting for us; or the
 * sleep begins anew, for there may be more of it than one look takes.
 */
static void answer(struct dofi_ia *ia, const struct dofi_wakeup_peer *peer)
{
	dofi_engine_drain_cq(ia);
	atomic_store(&ia->wait.posted, true);
	if (atomic_load(peer->mark))
		tell(ia, peer->uuid, ANSWER, -1);
}

static bool take_one(struct dofi_ia *ia)
{
	struct datagram text;
	struct iovec iov = {&text, sizeof(text)};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof(control.space)};
	ssize_t n = recvmsg(ia->wakeup.socket.fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct dofi_wakeup_peer *peer = NULL;
	struct beside beside;

	if (n < 0)
		return false;
	beside = look_beside(&msg);
	if (beside.trusted && n == (ssize_t)sizeof(text) && !(msg.msg_flags & MSG_CTRUNC))
		peer = ia->trans->wakeup_of(ia, text.uuid);
	if (peer && text.kind == MARK && beside.fd >= 0)
		see_mark(ia, peer, beside.fd);
	else if (peer && text.kind == RING)
		answer(ia, peer);
	if (beside.fd >= 0)
		close(beside.fd);
	return true;
}

static void socket_ready(struct dofi_fd *fd, uint32_t events)
{
	struct dofi_ia *ia = DOFI_CONTAINER(fd, struct dofi_ia, wakeup.socket);

	(void)events;
	for (int i = 0; i < TURN && take_one(ia); i++)
		;
}

/* --- life --- */

static int make_mark(struct dofi_wakeup *wakeup)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page;

	wakeup->mark_fd = memfd_create("dat-ofi-asleep", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (wakeup->mark_fd < 0)
		return -errno;
	if (ftruncate(wakeup->mark_fd, (off_t)size) ||
	    fcntl(wakeup->mark_fd, F_ADD_SEALS, F_SEAL_SHRINK))
		goto err_fd;
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, wakeup->mark_fd, 0);
	if (page == MAP_FAILED)
		goto err_fd;
	wakeup->mark = page;
	return 0;

err_fd:
	close(wakeup->mark_fd);
	return -ENOMEM;
}

static void drop_mark(struct dofi_wakeup *wakeup)
{
	munmap(wakeup->mark, (size_t)sysconf(_SC_PAGESIZE));
	close(wakeup->mark_fd);
	wakeup->mark = NULL;
}

static int open_socket(struct dofi_ia *ia)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), ret = 0, on = 1;
	struct sockaddr_un name;
	socklen_t size = name_of(ia->cm.uuid, &name);

	if (fd < 0)
		return -errno;
	ia->wakeup.socket = (struct dofi_fd){.fd = fd, .ready = socket_ready};
	/* The name can be reached by every user of this network namespace. */
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&name, size))
		ret = -errno;
	else
		ret = dofi_engine_watch(ia, &ia->wakeup.socket, EPOLLIN);
	if (ret)
		close(fd);
	return ret;
}

int dofi_wakeup_open(struct dofi_ia *ia)
{
	int ret;

	/* Posts of connected endpoints, which have event queues, ring nobody. */
	if (ia->cq_wait != FI_WAIT_NONE || ia->eqs.n)
		return 0;
	ret = make_mark(&ia->wakeup);
	if (!ret) {
		ret = open_socket(ia);
		if (ret)
			drop_mark(&ia->wakeup);
	}
	if (ret)
		DOFI_LOG_I("%s: no wakeup, sleepers look by the clock: %s", ia->name,
			   strerror(-ret));
	return 0;
}

void dofi_wakeup_close(struct dofi_ia *ia)
{
	if (!ia->wakeup.mark)
		return;
	dofi_engine_unwatch(ia, &ia->wakeup.socket);
	close(ia->wakeup.socket.fd);
	drop_mark(&ia->wakeup);
}
