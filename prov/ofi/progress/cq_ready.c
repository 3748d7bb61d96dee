/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/cq_ready.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <sys/epoll.h>
#include <unistd.h>

/*
 * After this many looks, one queue is read although its descriptor is not readable, a different one
 * each time.
 */
#define LOOKS_PER_TURN 64u

int dofi_cq_ready_open(struct dofi_cqs *cqs)
{
	cqs->ready_fd = epoll_create1(EPOLL_CLOEXEC);
	cqs->shared = cqs->ready_fd >= 0;
	return cqs->shared ? 0 : -errno;
}

void dofi_cq_ready_close(struct dofi_cqs *cqs)
{
	if (cqs->shared)
		close(cqs->ready_fd);
	cqs->shared = false;
}

int dofi_cq_ready_add(struct dofi_cqs *cqs, uint32_t which)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = which};
	int fd, ret = fi_control(&cqs->list[which].fid->fid, FI_GETWAIT, &fd);

	if (ret)
		return ret;
	return epoll_ctl(cqs->ready_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static void make_due(struct dofi_cq *cq)
{
	cq->due = true;
	atomic_store_explicit(&cq->armed, false, memory_order_relaxed);
}

void dofi_cq_ready_look(struct dofi_cqs *cqs)
{
	uint32_t ncqs = atomic_load_explicit(&cqs->n, memory_order_relaxed), awake = 0;
	struct epoll_event events[DOFI_MAX_CQS];
	int n = epoll_wait(cqs->ready_fd, events, DOFI_MAX_CQS, 0);

	for (int i = 0; i < n; i++)
		make_due(&cqs->list[events[i].data.u32]);
	if (atomic_load_explicit(&cqs->awake, memory_order_relaxed))
		awake = atomic_exchange(&cqs->awake, 0);
	else if (++cqs->looks % LOOKS_PER_TURN == 0)
		awake = 1 + cqs->looks / LOOKS_PER_TURN % (ncqs - 1);
	/* the first queue has no such mark, so marking it has no effect */
	make_due(&cqs->list[awake]);
}

bool dofi_cq_ready_arm(struct dofi_cqs *cqs, struct fid_fabric *fabric)
{
	uint32_t ncqs = atomic_load_explicit(&cqs->n, memory_order_acquire);

	for (uint32_t i = 1; i < ncqs; i++) {
		struct fid *fid = &cqs->list[i].fid->fid;

		if (atomic_load_explicit(&cqs->list[i].armed, memory_order_relaxed))
			continue;
		if (fi_trywait(fabric, &fid, 1)) {
			atomic_store(&cqs->awake, i);
			return false;
		}
		atomic_store_explicit(&cqs->list[i].armed, true, memory_order_relaxed);
	}
	return true;
}
