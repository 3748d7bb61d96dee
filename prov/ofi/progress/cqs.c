/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/cqs.h"

#include "object/ia.h"
#include "base/log.h"
#include "fabric/fid.h"
#include "fabric/quirks.h"
#include "object/transport.h"
#include "progress/cq_ready.h"
#include "progress/cq_watch.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <string.h>

/* Entries of a completion queue. A software queue beyond this length makes room in a slower way. */
#define CQ_SIZE        16384u
#define CQ_SIZE_MIN    256u
/* The length of a queue for some of many connections. */
#define CQ_SIZE_SHARED 2048u
/*
 * Up to LIST_USERS sockets, polling a list takes less time than an epoll set. Later endpoints go to
 * a shared queue, whose read visits every endpoint: up to ALONE_USERS of them that takes less time
 * than looking at several queues. With more endpoints each shared queue gets SHARED_USERS.
 */
#define LIST_USERS     8u
#define ALONE_USERS    384u
#define SHARED_USERS   64u

/*
 * Opens a queue with the best wait object that the fabric has. A queue with an epoll set of its
 * sockets (FD) makes the kernel note every message there, also while the queue is polled: on tcp
 * that is 1 us of 6. It pays from a dozen connections on, for which there are further queues. The
 * lists (POLLFD) of the connectionless fabrics net and ofi_rxm are incomplete.
 */
static int open_waiting(struct dofi_ia *ia, struct fi_cq_attr *attr, struct fid_cq **cq_p)
{
	static const enum fi_wait_obj by_list[] = {FI_WAIT_POLLFD, FI_WAIT_FD, FI_WAIT_NONE};
	static const enum fi_wait_obj by_fd[] = {FI_WAIT_FD, FI_WAIT_POLLFD, FI_WAIT_NONE};
	bool list = ia->trans->cq_has_list && !(ia->quirks & DOFI_QUIRK_SHORT_LIST) &&
		    strcmp(ia->params.cq_wait, "fd") && !ia->cqs.shared;
	const enum fi_wait_obj *kinds = list ? by_list : by_fd;
	const uint64_t mute = DOFI_QUIRK_MUTE_QUEUE | DOFI_QUIRK_UNARMED_QUEUE;
	int first = ia->quirks & mute ? 2 : 0, ret = -FI_ENOSYS;

	for (int i = first; i < 3 && (ret == -FI_ENOSYS || ret == -FI_EINVAL); i++) {
		attr->wait_obj = kinds[i];
		ret = fi_cq_open(ia->domain, attr, cq_p, NULL);
	}
	return ret;
}

/*
 * No attribute tells how long a device's queue may be: tries the wished length, half of it, and so
 * on. Keeps the length in a variable, because efa writes its own length into the attributes, also
 * when it fails.
 */
static int make_one(struct dofi_ia *ia, size_t wish, size_t least, enum fi_wait_obj *wait_p)
{
	uint32_t n = atomic_load_explicit(&ia->cqs.n, memory_order_relaxed);
	struct dofi_cq *cq = &ia->cqs.list[n];
	struct fi_cq_attr attr;
	size_t size = wish;
	int ret;

	for (;; size /= 2) {
		attr = (struct fi_cq_attr){.size = size, .format = ia->trans->cq_format};
		ret = open_waiting(ia, &attr, &cq->fid);
		if (!ret || size / 2 < least)
			break;
	}
	if (ret)
		return ret;
	*cq = (struct dofi_cq){.fid = cq->fid, .size = size};
	*wait_p = attr.wait_obj;
	return 0;
}

/* Sleeping threads read `n` without a lock, so a published queue stays open until the IA closes. */
static void publish(struct dofi_cqs *cqs)
{
	uint32_t n = atomic_load_explicit(&cqs->n, memory_order_relaxed);

	atomic_store_explicit(&cqs->n, n + 1, memory_order_release);
}

static int open_one(struct dofi_ia *ia, size_t wish, size_t least, enum fi_wait_obj *wait_p)
{
	int ret = make_one(ia, wish, least, wait_p);

	if (!ret)
		publish(&ia->cqs);
	return ret;
}

/*
 * libsiw maps its queues at increasing offsets, and takes one of them, 0x90000, for the sign of a
 * failure: then no endpoint can be made. The first queue takes 1 MiB, so that all others lie behind
 * this offset.
 */
static size_t first_size(const struct dofi_ia *ia)
{
	return ia->quirks & DOFI_QUIRK_QUEUE_MAPPING ? 2 * CQ_SIZE : CQ_SIZE;
}

/*
 * Connections share a queue only if it polls sockets. The queue of a device must have room for the
 * operations of all its connections.
 */
static bool may_share(const struct dofi_ia *ia)
{
	return ia->cq_wait == FI_WAIT_POLLFD && !(ia->quirks & DOFI_QUIRK_QUEUE_PAIRS);
}

int dofi_cqs_open(struct dofi_ia *ia)
{
	int ret = open_one(ia, first_size(ia), CQ_SIZE_MIN, &ia->cq_wait);

	if (ret)
		return ret;
	ia->cq = ia->cqs.list[0].fid;
	if (may_share(ia) && dofi_cq_ready_open(&ia->cqs))
		DOFI_LOG_I("IA %s: no epoll set; many connections will be slow to poll", ia->name);
	return 0;
}

void dofi_cqs_close(struct dofi_ia *ia)
{
	for (uint32_t i = atomic_exchange(&ia->cqs.n, 0); i-- > 0;)
		dofi_fid_close(ia->name, &ia->cqs.list[i].fid->fid, "completion queue");
	dofi_cq_ready_close(&ia->cqs);
}

/* The queue with the most free entries, even if that number is negative. */
static uint32_t roomiest(const struct dofi_cqs *cqs, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++)
		if (cqs->list[i].size + cqs->list[best].used >
		    cqs->list[best].size + cqs->list[i].used)
			best = i;
	return best;
}

static bool has_room(const struct dofi_cq *cq, size_t entries)
{
	return cq->used + entries <= cq->size;
}

static bool add_one(struct dofi_ia *ia, size_t entries)
{
	struct dofi_cqs *cqs = &ia->cqs;
	size_t wish = 2 * cqs->list[cqs->n - 1].size;
	enum fi_wait_obj wait = FI_WAIT_NONE;

	if (cqs->n == DOFI_MAX_DEVICE_CQS ||
	    open_one(ia, wish > entries ? wish : entries, entries, &wait)) {
		if (!cqs->told_full)
			DOFI_LOG_W("IA %s: its %u completion queues are full and the device gives "
				   "no other; transfers may stop: open fewer connections, or "
				   "create EPs with fewer DTOs",
				   ia->name, cqs->n);
		if (!cqs->told_full)
			dofi_wait_watch(ia); /* reads completions as soon as they come */
		cqs->told_full = true;
		return false;
	}
	DOFI_LOG_I("IA %s: completion queue %u, of %zu entries", ia->name, cqs->n,
		   cqs->list[cqs->n - 1].size);
	return true;
}

/* --- queues that many connections share --- */

static bool add_shared(struct dofi_ia *ia)
{
	struct dofi_cqs *cqs = &ia->cqs;
	uint32_t which = cqs->n;
	enum fi_wait_obj wait = FI_WAIT_NONE;

	if (which == DOFI_MAX_CQS || make_one(ia, CQ_SIZE_SHARED, CQ_SIZE_MIN, &wait))
		return false;
	if (wait != FI_WAIT_FD || dofi_cq_ready_add(cqs, which)) {
		dofi_fid_close(ia->name, &cqs->list[which].fid->fid, "completion queue");
		return false;
	}
	/* as the only shared queue it was not armed, so its completions may have no sign */
	cqs->list[1].due = true;
	publish(cqs);
	return true;
}

/* The shared queue with the fewest users, or the first queue if none is shared. */
static uint32_t least_shared(const struct dofi_cqs *cqs)
{
	uint32_t best = cqs->n > 1 ? 1 : 0;

	for (uint32_t i = 2; i < cqs->n; i++)
		if (cqs->list[i].users < cqs->list[best].users)
			best = i;
	return best;
}

static uint32_t share(struct dofi_ia *ia)
{
	struct dofi_cqs *cqs = &ia->cqs;
	uint32_t which;

	if (cqs->list[0].users < LIST_USERS)
		return 0;
	which = least_shared(cqs);
	if ((!which || cqs->list[which].users >= (cqs->n == 2 ? ALONE_USERS : SHARED_USERS)) &&
	    add_shared(ia))
		which = cqs->n - 1;
	return which;
}

/* --- places of endpoints --- */

static uint32_t find_room(struct dofi_ia *ia, size_t entries)
{
	struct dofi_cqs *cqs = &ia->cqs;
	uint32_t which = roomiest(cqs, cqs->n);

	if (!has_room(&cqs->list[which], entries) && add_one(ia, entries))
		which = cqs->n - 1;
	return which;
}

uint32_t dofi_cqs_take(struct dofi_ia *ia, size_t entries)
{
	struct dofi_cqs *cqs = &ia->cqs;
	uint32_t which;

	dofi_assert_held(&ia->engine.lock);
	which = cqs->shared ? share(ia) : find_room(ia, entries);
	cqs->list[which].used += entries;
	cqs->list[which].users++;
	return which;
}

void dofi_cqs_give(struct dofi_ia *ia, uint32_t which, size_t entries)
{
	dofi_assert_held(&ia->engine.lock);
	ia->cqs.list[which].used -= entries;
	ia->cqs.list[which].users--;
}
