/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory_path.h"

#include "base/log.h"
#include "cm/conn.h"
#include "cm/path.h"
#include "memory/segment.h"
#include "object/ia.h"
#include "progress/stall.h"
#include "transport/memory_pending.h"
#include "transport/memory_poll.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct dofi_memory_path *new_path(struct dofi_conn *conn, const uint8_t *peer)
{
	struct dofi_memory_path *path = calloc(1, sizeof(*path));

	if (!path)
		return NULL;
	path->conn = conn;
	path->fd = -1;
	memcpy(path->peer, peer, sizeof(path->peer));
	return path;
}

/* Divides the segment: the connecting side has the first of each pair. */
static void set_sides(struct dofi_memory_path *path, void *memory)
{
	bool accepts = !path->conn->active;

	path->segment = memory;
	path->ours = &path->segment->marks[accepts];
	path->theirs = &path->segment->marks[!accepts];
	path->out.ring = &path->segment->rings[accepts];
	path->in.ring = &path->segment->rings[!accepts];
	path->box = &path->segment->boxes[accepts];
	path->their_box = &path->segment->boxes[!accepts];
	path->enough_polls = DOFI_BOX_POLLS;
	if (path->conn->ia->memory.copies && dofi_badge_show(&path->ours->badge))
		path->ours->badge.address = 0;
}

int dofi_memory_path_make(struct dofi_conn *conn, struct dofi_memory_path **path_p)
{
	struct dofi_memory_path *path = new_path(conn, conn->chan->peer.uuid);
	void *memory;
	int fd;

	if (!path)
		return -ENOMEM;
	fd = dofi_segment_make("dat-ofi-rings", sizeof(struct dofi_memory_segment), &memory);
	if (fd < 0) {
		free(path);
		return fd;
	}
	path->fd = fd;
	set_sides(path, memory);
	*path_p = path;
	return 0;
}

int dofi_memory_path_map(struct dofi_conn *conn, const uint8_t *uuid, int fd,
			 struct dofi_memory_path **path_p)
{
	struct dofi_memory_path *path = new_path(conn, uuid);
	void *memory;
	int ret;

	if (!path)
		return -ENOMEM;
	ret = dofi_segment_map(fd, sizeof(struct dofi_memory_segment), true, &memory);
	if (ret) {
		free(path);
		return ret;
	}
	set_sides(path, memory);
	*path_p = path;
	return 0;
}

void dofi_memory_path_meet(struct dofi_memory_path *path, pid_t pid)
{
	struct dofi_ia *ia = path->conn->ia;
	const struct dofi_badge badge = path->theirs->badge;
	int ret;

	dofi_assert_held(&ia->engine.lock);
	path->pid = pid;
	if (!ia->memory.copies)
		return;
	ret = dofi_remote_process_find(pid, &badge, &path->process);
	path->copies = !ret;
	atomic_store(&path->ours->fetches, !ret);
	if (ret)
		DOFI_LOG_I("%s: data of a connection are copied twice: the memory of process %d "
			   "can't be reached: %s",
			   ia->name, (int)pid, strerror(-ret));
}

int dofi_memory_path_join(struct dofi_memory_path *path)
{
	struct dofi_conn *conn = path->conn;
	struct dofi_ep *ep = conn->ep;
	uint32_t most = ep->req.limit + (ep->parts.base ? ep->parts.limit : 0) + 1;
	int ret = dofi_memory_pending_make(path, most);

	dofi_assert_held(&conn->ia->engine.lock);
	if (ret)
		return ret;
	path->joined = conn->over_memory = true;
	dofi_memory_poll_begin(path);
	dofi_lock(&ep->lock);
	ep->memory = path;
	dofi_unlock(&ep->lock);
	dofi_conn_path_made(conn);
	DOFI_LOG_I("%s: a connection uses shared memory%s", conn->ia->name,
		   path->copies ? " and copies between processes" : "");
	return 0;
}

static void part(struct dofi_memory_path *path)
{
	struct dofi_ia *ia = path->conn->ia;
	struct dofi_ep *ep = path->conn->ep;

	dofi_memory_poll_end(path);
	dofi_lock(&ep->lock);
	ep->path_up = false;
	ep->memory = NULL;
	if (path->restless)
		atomic_fetch_sub(&ia->engine.restless, 1);
	dofi_unlock(&ep->lock);
}

/*
 * The peer counts its copy, then loads `over`; here `over` is stored, then the count is loaded. At
 * least one side sees the store of the other.
 */
bool dofi_memory_path_cancel(struct dofi_memory_path *path)
{
	dofi_assert_held(&path->conn->ia->engine.lock);
	atomic_store(&path->ours->over, 1);
	path->left = true;
	return atomic_load(&path->theirs->copying) && !dofi_process_is_dead(path->pid);
}

bool dofi_memory_peer_is_hidden(const struct dofi_memory_path *path)
{
	return path->pid > 0 && !atomic_load(&path->theirs->over) &&
	       !dofi_process_is_dead(path->pid);
}

void dofi_memory_path_passed(struct dofi_memory_path *path)
{
	if (path->fd >= 0)
		close(path->fd);
	path->fd = -1;
}

void dofi_memory_path_free(struct dofi_memory_path *path)
{
	dofi_assert_held(&path->conn->ia->engine.lock);
	dofi_stall_end(path->conn->ia, &path->passing);
	dofi_memory_path_passed(path);
	atomic_store(&path->ours->over, 1);
	if (path->joined)
		part(path);
	munmap(path->segment, sizeof(*path->segment));
	free(path->pending);
	free(path);
}
