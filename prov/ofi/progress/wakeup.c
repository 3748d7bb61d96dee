/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/wakeup.h"

#include "object/ia.h"
#include "base/log.h"
#include "memory/local_socket.h"
#include "memory/segment.h"
#include "progress/driver_sleep.h"
#include "progress/engine_fds.h"
#include "progress/engine.h"
#include "object/transport.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

/* Datagrams handled in one turn. */
#define TURN 64

enum kind {
	MARK = 1, /* the sender's mark comes along */
	QUEUE,    /* read the fabric's queue */
	ANSWER,   /* the same, for what a QUEUE led to */
	RINGS,    /* read your rings */
};

struct datagram {
	uint8_t kind;
	uint8_t uuid[DOFI_WAKEUP_UUID]; /* the sender's */
};

/* The mark of a peer that never shows one. */
static const _Atomic uint32_t awake;

/*
 * fd: a descriptor to send along, or -1. A datagram that can't be sent is dropped: the receiver is
 * gone, or its queue is full.
 */
static void tell(struct dofi_ia *ia, const uint8_t *uuid, enum kind kind, int fd)
{
	struct datagram text = {.kind = (uint8_t)kind};
	int ret;

	memcpy(text.uuid, ia->cm.uuid, sizeof(text.uuid));
	ret = dofi_local_socket_send(ia->wakeup.socket.fd, uuid, &text, sizeof(text), fd);
	if (ret && ret != -ECONNREFUSED && ret != -EAGAIN)
		DOFI_LOG_D("%s: a peer can't be woken: %s", ia->name, strerror(-ret));
}

void dofi_wakeup_send(struct dofi_ia *ia, const struct dofi_wakeup_peer *peer)
{
	tell(ia, peer->uuid, QUEUE, -1);
}

void dofi_wakeup_call(struct dofi_ia *ia, const uint8_t *uuid)
{
	tell(ia, uuid, RINGS, -1);
}

int dofi_wakeup_pass(struct dofi_ia *ia, const uint8_t *uuid, const struct dofi_wakeup_offer *text,
		     int fd)
{
	struct dofi_wakeup_offer offer = *text;

	if (!ia->wakeup.is_open)
		return -ENOTCONN;
	memcpy(offer.uuid, ia->cm.uuid, sizeof(offer.uuid));
	return dofi_local_socket_send(ia->wakeup.socket.fd, uuid, &offer, sizeof(offer), fd);
}

/* --- marks --- */

static void show_mark(struct dofi_ia *ia, const struct dofi_wakeup_peer *peer)
{
	tell(ia, peer->uuid, MARK, ia->wakeup.mark_fd);
}

static size_t mark_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void see_mark(struct dofi_ia *ia, struct dofi_wakeup_peer *peer, int fd)
{
	void *page;

	if (peer->mark != &awake || dofi_segment_map(fd, mark_size(), false, &page))
		return;
	peer->mark = page;
	atomic_fetch_sub(&ia->wakeup.deaf, 1);
	/*
	 * Shows our mark once more: the first datagram was dropped if the peer did not know us yet.
	 */
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
		munmap((void *)(uintptr_t)peer->mark, mark_size());
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

/*
 * Reads the queue. The sender may sleep until we have done so: then it gets an answer. `posted`
 * shortens the next sleep, because the transfer may need more rounds.
 */
static void answer(struct dofi_ia *ia, const struct dofi_wakeup_peer *peer)
{
	dofi_engine_drain_cq(ia);
	atomic_store(&ia->wait.posted, true);
	if (atomic_load(peer->mark))
		tell(ia, peer->uuid, ANSWER, -1);
}

static void hear(struct dofi_ia *ia, const struct datagram *text, int fd)
{
	struct dofi_wakeup_peer *peer =
		ia->trans->wakeup_of ? ia->trans->wakeup_of(ia, text->uuid) : NULL;

	if (peer && text->kind == MARK && fd >= 0)
		see_mark(ia, peer, fd);
	else if (peer && text->kind == QUEUE)
		answer(ia, peer);
	else if (text->kind == RINGS)
		dofi_wait_mark_gone(ia);
}

static bool take_one(struct dofi_ia *ia)
{
	struct dofi_local_sender sender;
	union {
		struct datagram bare;
		struct dofi_wakeup_offer offer;
	} text;
	ssize_t n = dofi_local_socket_receive(ia->wakeup.socket.fd, &text, sizeof(text), &sender);

	if (n < 0)
		return false;
	/* Any process may send an offer. Its secret token shows that it is from the peer. */
	if (n == (ssize_t)sizeof(text.bare) && sender.is_user)
		hear(ia, &text.bare, sender.passed);
	else if (n == (ssize_t)sizeof(text.offer) && ia->wakeup.heard)
		ia->wakeup.heard(ia, &text.offer, &sender);
	if (sender.passed >= 0)
		close(sender.passed);
	return true;
}

void dofi_wakeup_read(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	for (int i = 0; i < TURN && take_one(ia); i++)
		;
}

static void socket_ready(struct dofi_fd *fd, uint32_t events)
{
	(void)events;
	dofi_wakeup_read(DOFI_CONTAINER(fd, struct dofi_ia, wakeup.socket));
}

/* --- life --- */

static int make_mark(struct dofi_wakeup *wakeup)
{
	void *page;

	wakeup->mark_fd = dofi_segment_make("dat-ofi-asleep", mark_size(), &page);
	if (wakeup->mark_fd < 0)
		return wakeup->mark_fd;
	wakeup->mark = page;
	return 0;
}

static void drop_mark(struct dofi_wakeup *wakeup)
{
	munmap(wakeup->mark, mark_size());
	close(wakeup->mark_fd);
	wakeup->mark = NULL;
}

static int open_socket(struct dofi_ia *ia)
{
	int fd = dofi_local_socket_open(ia->cm.uuid), ret;

	if (fd < 0)
		return fd;
	ia->wakeup.socket = (struct dofi_fd){.fd = fd, .ready = socket_ready};
	ret = dofi_engine_watch(ia, &ia->wakeup.socket, EPOLLIN);
	if (ret)
		close(fd);
	return ret;
}

int dofi_wakeup_open(struct dofi_ia *ia)
{
	/* Posts of connected endpoints, which have event queues, wake nobody. */
	bool marks = ia->cq_wait == FI_WAIT_NONE && !ia->eqs.n;
	int ret = 0;

	if (!marks && !ia->wakeup.heard)
		return 0;
	if (marks)
		ret = make_mark(&ia->wakeup);
	if (!ret) {
		ret = open_socket(ia);
		if (ret && marks)
			drop_mark(&ia->wakeup);
	}
	if (ret)
		DOFI_LOG_I("%s: peers can't wake this process, which reads its queue at intervals, "
			   "nor "
			   "share memory with it: %s",
			   ia->name, strerror(-ret));
	ia->wakeup.is_open = !ret;
	return 0;
}

void dofi_wakeup_close(struct dofi_ia *ia)
{
	if (!ia->wakeup.is_open)
		return;
	dofi_engine_unwatch(ia, &ia->wakeup.socket);
	close(ia->wakeup.socket.fd);
	ia->wakeup.is_open = false;
	if (ia->wakeup.mark)
		drop_mark(&ia->wakeup);
}
