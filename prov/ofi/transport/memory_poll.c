/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory_poll.h"

#include "base/log.h"
#include "cm/conn.h"
#include "cm/path.h"
#include "dto/reap.h"
#include "object/ia.h"
#include "progress/driver_sleep.h"
#include "transport/memory_in.h"
#include "transport/memory_out.h"
#include "transport/memory_path.h"

#include <string.h>

/* While no connection uses the fabric, one in this many polls reads its queue. */
#define POLLS_PER_FABRIC 64u
/* With so few paths each poll reads all. */
#define FEW_PATHS        8u
/* A path is active until so many reads in a row have found nothing. */
#define QUIET_READS      4096u
/* A poll reads one in so many of the paths that are not active, in turn. */
#define IDLE_SHARE       8u

/* --- one path --- */

/* The peer has broken the protocol: lets the engine break the connection. */
DOFI_COLD static void tell_fault(struct dofi_memory_path *path)
{
	struct dofi_ia *ia = path->conn->ia;

	path->told = true;
	DOFI_LOG_W("%s: a peer of this host broke the rules of shared memory, its connection "
		   "breaks: %s",
		   ia->name, strerror(-path->fault));
	dofi_conn_path_down(path->conn, -path->fault);
}

static int look_at_box(struct dofi_memory_path *path)
{
	if (DOFI_LIKELY(atomic_load_explicit(&path->their_box->state, memory_order_relaxed) !=
			DOFI_BOX_ASKED))
		return 0;
	dofi_box_serve(path);
	return 1;
}

/* polls: how many polls of the program this read stands for */
static int read_path(struct dofi_memory_path *path, uint32_t polls)
{
	int n = 0;

	path->polls += polls;
	atomic_store_explicit(&path->ours->polls, path->polls, memory_order_relaxed);
	if (DOFI_LIKELY(!path->fault && !path->left)) {
		n = look_at_box(path);
		if (DOFI_LIKELY(!path->fault))
			n += dofi_memory_take_cells(path);
		if (DOFI_UNLIKELY(dofi_memory_has_more(path)))
			n += dofi_memory_go_on(path);
	}
	if (DOFI_UNLIKELY(path->fault && !path->told))
		tell_fault(path);
	return n;
}

/* --- active and idle paths --- */

static struct dofi_memory_path *path_at(struct dofi_list *node)
{
	return DOFI_CONTAINER(node, struct dofi_memory_path, link);
}

static void make_active(struct dofi_memory *memory, struct dofi_memory_path *path)
{
	dofi_list_del(&path->link);
	dofi_list_add(&memory->paths, &path->link);
	path->active = true;
	memory->nactive++;
}

static void make_last(struct dofi_memory *memory, struct dofi_list *node)
{
	dofi_list_del(node);
	dofi_list_add_tail(&memory->paths, node);
}

static void make_idle(struct dofi_memory *memory, struct dofi_memory_path *path)
{
	make_last(memory, &path->link);
	path->active = false;
	memory->nactive--;
}

static void sort(struct dofi_memory *memory, struct dofi_memory_path *path, bool found)
{
	if (found) {
		path->quiet = 0;
		if (!path->active)
			make_active(memory, path);
	} else if (path->active && ++path->quiet >= QUIET_READS) {
		make_idle(memory, path);
	}
}

/* Reads the path at the node, whose place in the list may change. Returns the node behind it. */
static struct dofi_list *read_at(struct dofi_memory *memory, struct dofi_list *node, uint32_t polls,
				 int *n_p)
{
	struct dofi_memory_path *path = path_at(node);
	int n = read_path(path, polls);
	struct dofi_list *next = node->next;

	sort(memory, path, n);
	*n_p += n;
	return next;
}

static int read_all(struct dofi_memory *memory, bool polled)
{
	struct dofi_list *node = memory->paths.next;
	int n = 0;

	for (uint32_t i = memory->npaths; i; i--)
		node = read_at(memory, node, polled, &n);
	return n;
}

static int read_active_and_share(struct dofi_memory *memory)
{
	uint32_t share = (memory->npaths - memory->nactive + IDLE_SHARE - 1) / IDLE_SHARE;
	struct dofi_list *node = memory->paths.next;
	int n = 0;

	for (uint32_t i = memory->nactive; i; i--)
		node = read_at(memory, node, 1, &n);
	while (share--) {
		struct dofi_list *read = node;

		node = read_at(memory, node, IDLE_SHARE, &n);
		if (!path_at(read)->active)
			make_last(memory, read);
	}
	return n;
}

/* Replaces dofi_reap while there are paths. */
static int reap(struct dofi_ia *ia)
{
	struct dofi_memory *memory = &ia->memory;
	bool alone = memory->npaths == ia->cm.nconns, polled = ia->engine.taker.evd;
	int n;

	dofi_assert_held(&ia->engine.lock);
	n = DOFI_UNLIKELY(polled && memory->npaths > FEW_PATHS) ? read_active_and_share(memory)
								: read_all(memory, polled);
	if (alone && (n || ++memory->polls % POLLS_PER_FABRIC))
		return n;
	return n + dofi_reap(ia);
}

bool dofi_memory_doze(struct dofi_ia *ia, bool asleep)
{
	bool any = false;

	dofi_lock(&ia->engine.lock);
	DOFI_LIST_FOR(node, &ia->memory.paths)
	{
		atomic_store(&path_at(node)->ours->asleep, asleep);
		any = true;
	}
	dofi_unlock(&ia->engine.lock);
	return any;
}

/* --- begin and end --- */

void dofi_memory_poll_begin(struct dofi_memory_path *path)
{
	struct dofi_ia *ia = path->conn->ia;

	dofi_assert_held(&ia->engine.lock);
	dofi_list_init(&path->link);
	make_active(&ia->memory, path);
	ia->memory.npaths++;
	ia->engine.reap = reap;
	dofi_wait_mark_gone(ia);
}

void dofi_memory_poll_end(struct dofi_memory_path *path)
{
	struct dofi_ia *ia = path->conn->ia;

	dofi_assert_held(&ia->engine.lock);
	dofi_list_del(&path->link);
	ia->memory.nactive -= path->active;
	if (!--ia->memory.npaths)
		ia->engine.reap = dofi_reap;
}
