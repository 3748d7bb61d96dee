/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One end of a connection in plain libfabric. If a call fails, the program ends with the reason. */
#ifndef T_SIDE_H
#define T_SIDE_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>

#define SIDE_MEM  (1 << 20)
#define SIDE_SEEN 4096

/* The contents of a completion. */
struct t_seen {
	void *context;
	uint64_t flags, tag, data;
	size_t len;
	int err;
	fi_addr_t src;
};

struct t_side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	char *mem;
	uint64_t base; /* peers add it to an offset into mem */
	fi_addr_t peer, self;
	struct t_seen seen[SIDE_SEEN]; /* ring of completions */
	unsigned int nseen, ntaken;
};

/* Ends the program if ret is negative. */
void t_need(long ret, const char *what);

/* Hints that every provider can fulfil. */
struct fi_info *t_hints(const char *provider, const char *domain);
/*
 * Opens all objects; the endpoint is not enabled yet. The side owns info from now on. cq_flags is 0
 * or FI_SELECTIVE_COMPLETION.
 */
void t_side_open(struct t_side *side, struct fi_info *info, enum fi_wait_obj wait_obj,
		 uint64_t cq_flags);
/* Enables the endpoint and registers mem. */
void t_side_enable(struct t_side *side);
/* Registers memory in the way that the domain demands. */
struct fid_mr *t_side_register(struct t_side *side, void *buf, size_t len, uint64_t access,
			       uint64_t key);
void t_side_meet(struct t_side *a, struct t_side *b);
void t_side_close(struct t_side *side);

/* Reads the queue once. */
void t_side_poll(struct t_side *side);
/*
 * Returns the next completion of side, while both sides make progress; NULL if none comes in time.
 */
const struct t_seen *t_side_next(struct t_side *side, struct t_side *other, int timeout_ms);

/*
 * Each repeats the post until the fabric takes it. flags are those of fi_tsendmsg and fi_writemsg.
 */
void t_side_recv(struct t_side *side, struct t_side *other, size_t at, size_t len, uint64_t tag,
		 void *context);
void t_side_send(struct t_side *side, struct t_side *other, size_t at, size_t len, uint64_t tag,
		 uint64_t flags, void *context);
void t_side_write(struct t_side *side, struct t_side *other, size_t from, size_t len, size_t to,
		  uint64_t flags, void *context);
void t_side_read(struct t_side *side, struct t_side *other, size_t to, size_t len, size_t from,
		 void *context);

#endif
