/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory.h"

#include "auth/crypto.h"
#include "base/log.h"
#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/path.h"
#include "memory/local_socket.h"
#include "object/ia.h"
#include "object/transport.h"
#include "progress/stall.h"
#include "progress/wakeup.h"
#include "transport/memory_path.h"
#include "transport/memory_poll.h"
#include "transport/memory_rdma.h"
#include "transport/memory_send.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* --- the choice --- */

static void drop(struct dofi_conn *conn)
{
	if (conn->memory)
		dofi_memory_path_free(conn->memory);
	conn->memory = NULL;
}

/*
 * The connection stays on the fabric; the reason is logged at level info. err: 0, or a negative
 * errno that explains it.
 */
static void stay_on_fabric(struct dofi_conn *conn, const char *why, int err)
{
	DOFI_LOG_I("%s: a connection uses the fabric and not shared memory: %s%s%s", conn->ia->name,
		   why, err ? ": " : "", err ? strerror(-err) : "");
	drop(conn);
	conn->trans = conn->ia->trans;
	conn->why_fabric = why;
}

/* The segment could not be passed to the peer, or not be used. */
static void not_shared(struct dofi_conn *conn, int err, const char *if_refused)
{
	if (err == -ECONNREFUSED)
		stay_on_fabric(conn, if_refused, 0);
	else
		stay_on_fabric(conn, "its memory can't be shared", err);
}

/* --- the offer and its answer --- */

static void pass_again(struct dofi_stall *stall);

/*
 * Sends the segment, or the answer that this side uses it, to the local socket of the peer. 0 or a
 * negative errno. DOFI_LATER: the socket's queue is full, and each round of the engine tries again.
 */
static int pass(struct dofi_conn *conn)
{
	enum dofi_offer_kind kind = conn->active ? DOFI_OFFER_JOIN : DOFI_OFFER_RINGS;
	struct dofi_wakeup_offer text = {.kind = (uint8_t)kind, .number = conn->peer_id};
	struct dofi_memory_path *path = conn->memory;
	int ret;

	/*
	 * The other side has ended the connection, or has given up because this process was stopped
	 * for long.
	 */
	if (atomic_load(&path->theirs->over))
		return -ESHUTDOWN;
	memcpy(text.token, conn->peer_token, sizeof(text.token));
	ret = dofi_wakeup_pass(conn->ia, path->peer, &text, path->fd);
	if (ret == -EAGAIN) {
		path->passing.retry = pass_again;
		dofi_stall(conn->ia, &path->passing);
		return DOFI_LATER;
	}
	dofi_memory_path_passed(path);
	return ret;
}

/*
 * The accepting side has tried to pass the segment. A peer that cannot use it connects over the
 * fabric: to the passive endpoint, or with a greeting. Then dofi_memory_withdraw is called.
 */
static int offered(struct dofi_conn *conn, int ret)
{
	const struct dofi_trans_ops *fabric = conn->ia->trans;

	if (ret == DOFI_LATER)
		return ret;
	if (!ret)
		return fabric->id == DOFI_TRANS_MSG ? fabric->expect(conn) : 0;
	not_shared(conn, ret, "the peer is on another host");
	return fabric->expect(conn);
}

static int memory_expect(struct dofi_conn *conn)
{
	int ret = dofi_memory_path_make(conn, &conn->memory);

	dofi_assert_held(&conn->ia->engine.lock);
	return offered(conn, ret ? ret : pass(conn));
}

void dofi_memory_withdraw(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	if (conn->trans == conn->ia->trans)
		return;
	stay_on_fabric(conn, "the peer has not taken the offer", 0);
}

/*
 * The connecting side has tried to answer. If the other side has ended the connection, the fabric
 * has nothing to connect to.
 */
static int answered(struct dofi_conn *conn, int ret)
{
	if (ret == DOFI_LATER)
		return 0;
	if (ret == -ESHUTDOWN) {
		dofi_conn_path_down(conn, ESHUTDOWN);
		return 0;
	}
	if (!ret)
		ret = dofi_memory_path_join(conn->memory);
	if (!ret) {
		dofi_conn_path_up(conn);
		return 0;
	}
	not_shared(conn, ret, "the peer does not offer it");
	return conn->ia->trans->connect(conn);
}

/* The segment came before ACCEPT. */
static int memory_connect(struct dofi_conn *conn)
{
	int ret = -ECONNREFUSED;

	dofi_assert_held(&conn->ia->engine.lock);
	if (conn->peer_flags & DOFI_MSG_F_MEMORY) {
		dofi_wakeup_read(conn->ia);
		ret = conn->memory ? pass(conn) : -ENOENT;
	}
	return answered(conn, ret);
}

static void pass_again(struct dofi_stall *stall)
{
	struct dofi_conn *conn = DOFI_CONTAINER(stall, struct dofi_memory_path, passing)->conn;
	int ret;

	dofi_assert_held(&conn->ia->engine.lock);
	stall->waits = false;
	if (dofi_conn_is_ending(conn))
		return;
	ret = pass(conn);
	if (ret == DOFI_LATER)
		return;
	ret = conn->active ? answered(conn, ret) : offered(conn, ret);
	if (ret)
		dofi_conn_path_down(conn, -ret);
	else if (!conn->active)
		dofi_conn_expected(conn);
}

static void memory_prepare(struct dofi_conn *conn)
{
	if (conn->ia->trans->prepare)
		conn->ia->trans->prepare(conn);
}

static bool memory_cancel(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	return conn->memory && dofi_memory_path_cancel(conn->memory);
}

static void memory_disconnect(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	drop(conn);
	conn->ia->trans->disconnect(conn);
}

static const struct dofi_trans_ops memory_trans = {
	.name = "memory",
	.prepare = memory_prepare,
	.connect = memory_connect,
	.expect = memory_expect,
	.cancel = memory_cancel,
	.disconnect = memory_disconnect,
	.has_eq = true,
	.send = dofi_memory_send,
	.recv = dofi_memory_recv,
	.read = dofi_memory_read,
	.write = dofi_memory_write,
	.write_data = dofi_memory_write_data,
	.write_ctrl = dofi_memory_ctrl,
	.ctrl_msg = dofi_memory_ctrl_msg,
	.send_empty = dofi_memory_send_empty,
	.peek = dofi_memory_peek,
	.send_credit = dofi_memory_credit,
};

/* --- the local socket --- */

/*
 * Whether this side has said that it uses the segment, or is about to. Before that, a further offer
 * replaces the segment: the request was repeated, and the peer has accepted the repetition, too.
 */
static bool is_taken(const struct dofi_memory_path *path)
{
	return path->joined || path->passing.waits;
}

/* The peer's DETAILS may not have been read yet, so the offer itself names the peer. */
static void take_rings(struct dofi_ia *ia, const struct dofi_wakeup_offer *text,
		       const struct dofi_local_sender *sender)
{
	struct dofi_conn *conn = dofi_conn_by_id(ia, text->number);
	int ret;

	if (!conn || !conn->active || conn->trans != &memory_trans || dofi_conn_is_ending(conn) ||
	    !dofi_crypto_equal(conn->token, text->token, sizeof(text->token)))
		return;
	if (conn->memory && is_taken(conn->memory))
		return;
	drop(conn);
	ret = dofi_memory_path_map(conn, text->uuid, sender->passed, &conn->memory);
	if (ret)
		DOFI_LOG_I("%s: shared memory of a peer can't be used: %s", ia->name,
			   strerror(-ret));
	else
		dofi_memory_path_meet(conn->memory, sender->pid);
}

/* The connecting side uses the segment: from now on rounds read its ring. */
static void be_joined(struct dofi_ia *ia, const struct dofi_wakeup_offer *text,
		      const struct dofi_local_sender *sender)
{
	struct dofi_conn *conn = dofi_conn_by_token(ia, text->token);

	if (!conn || !conn->memory || conn->path_made)
		return;
	dofi_memory_path_meet(conn->memory, sender->pid);
	if (dofi_memory_path_join(conn->memory))
		dofi_conn_path_down(conn, FI_ENOMEM);
	else
		dofi_conn_path_up(conn);
}

static void hear(struct dofi_ia *ia, const struct dofi_wakeup_offer *text,
		 const struct dofi_local_sender *sender)
{
	dofi_assert_held(&ia->engine.lock);
	if (text->kind == DOFI_OFFER_RINGS && sender->passed >= 0)
		take_rings(ia, text, sender);
	else if (text->kind == DOFI_OFFER_JOIN)
		be_joined(ia, text, sender);
}

/*
 * A device's atomic operations are atomic only among themselves. So if the device has some, the
 * program must not let peers of this host and of other hosts use one memory location for atomic
 * operations.
 */
static bool has_device_atomics(const struct dofi_ia *ia)
{
	return ia->has_atomics || ia->does_atomics;
}

/* The values of same_host. */
enum way { WAY_FABRIC, WAY_AUTO, WAY_MEMORY, WAY_PTRACER, WAY_RINGS, WAY_UNKNOWN };

static enum way way_of(const char *word)
{
	static const char *const words[] = {
		[WAY_FABRIC] = "fabric",   [WAY_AUTO] = "auto",   [WAY_MEMORY] = "memory",
		[WAY_PTRACER] = "ptracer", [WAY_RINGS] = "rings",
	};
	int way = WAY_FABRIC;

	while (way < WAY_UNKNOWN && strcmp(word, words[way]) != 0)
		way++;
	return (enum way)way;
}

/*
 * With Yama's ptrace_scope 1, other processes may copy only if this process allows it, and then all
 * of the same user may.
 */
static void admit_strangers(const struct dofi_ia *ia)
{
	if (prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0))
		DOFI_LOG_I("IA %s: same_host=ptracer has no effect: the kernel has no Yama, which "
			   "is the one that would forbid copies: %s",
			   ia->name, strerror(errno));
}

int dofi_memory_open(struct dofi_ia *ia)
{
	enum way way = way_of(ia->params.same_host);

	dofi_list_init(&ia->memory.paths);
	if (way == WAY_FABRIC)
		return 0;
	if (way == WAY_UNKNOWN) {
		DOFI_LOG_E("IA %s: same_host=%s is not known; there are auto, fabric, "
			   "memory, ptracer and rings",
			   ia->name, ia->params.same_host);
		return -FI_EINVAL;
	}
	if (way == WAY_AUTO && has_device_atomics(ia)) {
		DOFI_LOG_I("IA %s: connections within this host use the fabric, whose device has "
			   "atomic operations; same_host=memory if no memory gets those of peers "
			   "here and elsewhere",
			   ia->name);
		return 0;
	}
	if (way == WAY_PTRACER)
		admit_strangers(ia);
	ia->memory.copies = way != WAY_RINGS;
	ia->local_trans = &memory_trans;
	ia->wakeup.heard = hear;
	ia->engine.doze = dofi_memory_doze;
	return 0;
}
