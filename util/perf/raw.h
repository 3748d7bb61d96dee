/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Raw libfabric: the objects of one side. raw.c opens them, raw_link.c connects them, raw_post.c
 * posts.
 */
#ifndef UTIL_PERF_RAW_H
#define UTIL_PERF_RAW_H

#include "perf/perf.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#define PERF_RAW_MAX_IOV 16

struct raw {
	const struct perf_env *env;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_pep *pep;
	struct fid_ep *srx;
	struct fid_ep **eps;    /* nep of them */
	uint32_t nep;           /* 1 for reliable datagrams */
	struct fi_info **early; /* connection requests that came early; at most as many as eps */
	uint32_t nearly;
	struct fid_mr *mr;
	void *desc;
	size_t cq_entry; /* bytes of an entry of its format */
	int cq_fd;       /* -1: the provider has no descriptor to sleep on */
	fi_addr_t peer;
	uint64_t peer_base, peer_key;
	struct perf_addr peer_name;
	bool rdm;
	bool borrowed; /* fabric and domain are those of the first thread */
	bool plain;    /* one segment, and every request is signalled: uses the simple calls */
	bool delivers; /* a write is complete when the peer has it */
	/*
	 * One per request and receive; its index is the id. With cfg->last_word one more per
	 * request follows, for the body of the write with that id.
	 */
	struct fi_context2 *contexts;
	struct perf_wr *writes; /* with cfg->last_word: the last write with each id */
	/* ring of ids whose body was delivered and whose last word was not sent */
	uint32_t *bodies;
	uint32_t bodies_head, bodies_tail;
};

/* Opens an endpoint with its queues, ready to connect. After a failure the caller closes raw. */
int perf_raw_open_ep(struct raw *raw, struct fi_info *info, struct fid_ep **ep_p);
/* Sets the queue sizes of this run in an info of fi_getinfo or of a connection request. */
void perf_raw_size_queues(const struct raw *raw, struct fi_info *info);

/* Sets util_error() to what failed in libfabric, and why. Returns -1. */
int perf_raw_fail(const char *what, int ret);

#endif
