/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/ud_pool.h"

#include "dto/ud.h"

#include "object/ia.h"
#include "base/log.h"
#include "object/mem.h"
#include "object/transport.h"
#include "object/ep.h"
#include "object/mr.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

/* Datagrams that can come between two reads of the queue; the fabric keeps more than these. */
#define BUFFERS 32

struct dofi_ud_pool {
	struct dofi_own_wr receives[BUFFERS]; /* QUEUED: the fabric did not take the receive */
	uint32_t unposted;                    /* number of such receives */
	char *memory;
	struct fid_mr *mr; /* NULL: the fabric does not need local memory registered */
	struct dofi_ep *eps[DOFI_UD_EPS];
};

static char *buffer_of(const struct dofi_ud_pool *pool, const struct dofi_wr *wr)
{
	return pool->memory +
	       (size_t)(DOFI_CONTAINER(wr, const struct dofi_own_wr, wr) - pool->receives) *
		       DOFI_UD_LONGEST;
}

/* Posts a receive. False if the fabric takes no more for now. */
static bool post(struct dofi_ia *ia, struct dofi_wr *wr)
{
	struct dofi_ud_pool *pool = ia->ud_pool;
	void *desc = pool->mr ? fi_mr_desc(pool->mr) : NULL;
	ssize_t ret = ia->trans->ud_recv(ia, wr, buffer_of(pool, wr), DOFI_UD_LONGEST, desc);

	wr->state = ret ? DOFI_WR_QUEUED : DOFI_WR_ISSUED;
	if (ret && ret != -FI_EAGAIN)
		DOFI_LOG_E("%s: a receive for datagrams can't be posted, some will be lost: %s",
			   ia->name, fi_strerror((int)-ret));
	return !ret;
}

/*
 * Posts a receive, or tries again at short intervals: nothing else shows when the fabric has room.
 */
static void post_or_retry(struct dofi_ia *ia, struct dofi_wr *wr)
{
	if (!post(ia, wr) && !ia->ud_pool->unposted++)
		atomic_fetch_add(&ia->engine.restless, 1);
}

void dofi_ud_pool_retry(struct dofi_ia *ia)
{
	struct dofi_ud_pool *pool = ia->ud_pool;

	dofi_assert_held(&ia->engine.lock);
	for (int i = 0; pool->unposted && i < BUFFERS; i++) {
		if (pool->receives[i].wr.state != DOFI_WR_QUEUED)
			continue;
		if (!post(ia, &pool->receives[i].wr))
			return;
		if (!--pool->unposted)
			atomic_fetch_sub(&ia->engine.restless, 1);
	}
}

void dofi_ud_pool_done(struct dofi_ia *ia, struct dofi_wr *wr, int err, size_t length,
		       uint32_t data)
{
	dofi_assert_held(&ia->engine.lock);
	if (!err)
		dofi_ud_arrived(ia, data, buffer_of(ia->ud_pool, wr), length);
	if (ia->shared_ep)
		post_or_retry(ia, wr);
}

static int register_memory(struct dofi_ia *ia, struct dofi_ud_pool *pool)
{
	uint64_t key, address;

	if (!(ia->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return 0;
	return dofi_mr_register(ia, pool->memory, (size_t)BUFFERS * DOFI_UD_LONGEST,
				DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &pool->mr, &key, &address);
}

int dofi_ud_pool_open(struct dofi_ia *ia)
{
	struct dofi_ud_pool *pool;
	int ret = -FI_ENOMEM;

	dofi_assert_held(&ia->engine.lock);
	if (ia->ud_pool)
		return 0;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return ret;
	pool->memory = aligned_alloc(DOFI_UD_LONGEST, (size_t)BUFFERS * DOFI_UD_LONGEST);
	if (pool->memory)
		ret = register_memory(ia, pool);
	if (ret) {
		free(pool->memory);
		free(pool);
		return ret;
	}
	ia->ud_pool = pool;
	for (int i = 0; i < BUFFERS; i++) {
		pool->receives[i].wr.op = DOFI_OP_UD_RECV;
		pool->receives[i].wr.ia = ia;
		post_or_retry(ia, &pool->receives[i].wr);
	}
	return 0;
}

void dofi_ud_pool_close(struct dofi_ia *ia)
{
	struct dofi_ud_pool *pool = ia->ud_pool;

	if (!pool)
		return;
	if (pool->mr)
		dofi_mr_close(ia, pool->mr);
	free(pool->memory);
	free(pool);
	ia->ud_pool = NULL;
}

struct dofi_ep **dofi_ud_pool_eps(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	return ia->ud_pool->eps;
}
