/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALL_ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

void t_need(long ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-ret));
	exit(EXIT_FAILURE);
}

struct fi_info *t_hints(const char *provider, const char *domain)
{
	struct fi_info *hints = fi_allocinfo();

	t_need(hints ? 0 : -FI_ENOMEM, "fi_allocinfo");
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_DIRECTED_RECV | FI_SOURCE;
	hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode =
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	if (provider)
		hints->fabric_attr->prov_name = strdup(provider);
	if (domain)
		hints->domain_attr->name = strdup(domain);
	return hints;
}

/* --- objects --- */

void t_side_open(struct t_side *side, struct fi_info *info, enum fi_wait_obj wait_obj,
		 uint64_t cq_flags)
{
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = wait_obj};

	memset(side, 0, sizeof(*side));
	side->info = info;
	side->mem = aligned_alloc(4096, SIDE_MEM);
	t_need(side->mem ? 0 : -FI_ENOMEM, "aligned_alloc");
	memset(side->mem, 0, SIDE_MEM);
	t_need(fi_fabric(info->fabric_attr, &side->fabric, NULL), "fi_fabric");
	t_need(fi_domain(side->fabric, info, &side->domain, NULL), "fi_domain");
	t_need(fi_av_open(side->domain, &av_attr, &side->av, NULL), "fi_av_open");
	t_need(fi_cq_open(side->domain, &cq_attr, &side->cq, NULL), "fi_cq_open");
	t_need(fi_endpoint(side->domain, info, &side->ep, side), "fi_endpoint");
	t_need(fi_ep_bind(side->ep, &side->av->fid, 0), "fi_ep_bind of the vector");
	t_need(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV | cq_flags),
	       "fi_ep_bind of the queue");
}

struct fid_mr *t_side_register(struct t_side *side, void *buf, size_t len, uint64_t access,
			       uint64_t key)
{
	struct fid_mr *mr;

	t_need(fi_mr_reg(side->domain, buf, len, access, 0, key, 0, &mr, NULL), "fi_mr_reg");
	if (side->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		t_need(fi_mr_bind(mr, &side->ep->fid, 0), "fi_mr_bind");
		t_need(fi_mr_enable(mr), "fi_mr_enable");
	}
	return mr;
}

void t_side_enable(struct t_side *side)
{
	t_need(fi_enable(side->ep), "fi_enable");
	side->mr = t_side_register(side, side->mem, SIDE_MEM, ALL_ACCESS, 1);
	if (side->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		side->base = (uintptr_t)side->mem;
}

static fi_addr_t insert(struct t_side *side, const struct t_side *whom)
{
	char name[256];
	size_t size = sizeof(name);
	fi_addr_t addr;

	t_need(fi_getname(&whom->ep->fid, name, &size), "fi_getname");
	if (fi_av_insert(side->av, name, 1, &addr, 0, NULL) != 1)
		t_need(-FI_EADDRNOTAVAIL, "fi_av_insert");
	return addr;
}

void t_side_meet(struct t_side *a, struct t_side *b)
{
	a->self = insert(a, a);
	a->peer = insert(a, b);
	b->self = insert(b, b);
	b->peer = insert(b, a);
}

void t_side_close(struct t_side *side)
{
	if (side->mr)
		t_need(fi_close(&side->mr->fid), "fi_close of the registration");
	t_need(fi_close(&side->ep->fid), "fi_close of the endpoint");
	t_need(fi_close(&side->cq->fid), "fi_close of the queue");
	t_need(fi_close(&side->av->fid), "fi_close of the vector");
	t_need(fi_close(&side->domain->fid), "fi_close of the domain");
	t_need(fi_close(&side->fabric->fid), "fi_close of the fabric");
	fi_freeinfo(side->info);
	free(side->mem);
}

/* --- completions --- */

static struct t_seen *seen_next(struct t_side *side)
{
	return &side->seen[side->nseen++ % SIDE_SEEN];
}

static void take_error(struct t_side *side)
{
	struct fi_cq_err_entry entry = {0};
	struct t_seen *seen;

	if (fi_cq_readerr(side->cq, &entry, 0) != 1)
		return;
	seen = seen_next(side);
	*seen = (struct t_seen){.context = entry.op_context,
				.flags = entry.flags,
				.len = entry.len,
				.err = entry.err};
}

void t_side_poll(struct t_side *side)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t src = FI_ADDR_NOTAVAIL;
	ssize_t ret = fi_cq_readfrom(side->cq, &entry, 1, &src);

	if (ret == -FI_EAVAIL)
		take_error(side);
	else if (ret == 1)
		*seen_next(side) = (struct t_seen){.context = entry.op_context,
						   .flags = entry.flags,
						   .tag = entry.tag,
						   .data = entry.data,
						   .len = entry.len,
						   .src = src};
	else if (ret != -FI_EAGAIN)
		t_need(ret, "fi_cq_readfrom");
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const struct t_seen *t_side_next(struct t_side *side, struct t_side *other, int timeout_ms)
{
	long end = now_ms() + timeout_ms;

	while (side->ntaken == side->nseen) {
		t_side_poll(side);
		t_side_poll(other);
		if (side->ntaken == side->nseen && now_ms() > end)
			return NULL;
	}
	return &side->seen[side->ntaken++ % SIDE_SEEN];
}

/* --- posts --- */

/*
 * Returns whether a post that returned ret has to be repeated. Then both sides have made progress.
 */
static bool again(ssize_t ret, struct t_side *side, struct t_side *other, const char *what)
{
	if (ret != -FI_EAGAIN) {
		t_need(ret, what);
		return false;
	}
	t_side_poll(side);
	t_side_poll(other);
	return true;
}

void t_side_recv(struct t_side *side, struct t_side *other, size_t at, size_t len, uint64_t tag,
		 void *context)
{
	ssize_t ret;

	do
		ret = fi_trecv(side->ep, side->mem + at, len, fi_mr_desc(side->mr), side->peer, tag,
			       0, context);
	while (again(ret, side, other, "fi_trecv"));
}

/* A segment that stays until the operation ends (FI_ASYNC_IOV): of the last 1024 of them. */
static const struct iovec *segment(struct t_side *side, size_t at, size_t len)
{
	static struct iovec segments[1024];
	static unsigned int used;
	struct iovec *iov = &segments[used++ % 1024];

	*iov = (struct iovec){.iov_base = side->mem + at, .iov_len = len};
	return iov;
}

void t_side_send(struct t_side *side, struct t_side *other, size_t at, size_t len, uint64_t tag,
		 uint64_t flags, void *context)
{
	void *desc = fi_mr_desc(side->mr);
	struct fi_msg_tagged msg = {
		.msg_iov = segment(side, at, len),
		.desc = &desc,
		.iov_count = 1,
		.addr = side->peer,
		.tag = tag,
		.context = context,
	};
	ssize_t ret;

	do
		ret = fi_tsendmsg(side->ep, &msg, flags);
	while (again(ret, side, other, "fi_tsendmsg"));
}

void t_side_write(struct t_side *side, struct t_side *other, size_t from, size_t len, size_t to,
		  uint64_t flags, void *context)
{
	struct fi_rma_iov rma = {.addr = other->base + to, .len = len, .key = fi_mr_key(other->mr)};
	void *desc = fi_mr_desc(side->mr);
	struct fi_msg_rma msg = {
		.msg_iov = segment(side, from, len),
		.desc = &desc,
		.iov_count = 1,
		.addr = side->peer,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context,
	};
	ssize_t ret;

	do
		ret = fi_writemsg(side->ep, &msg, flags);
	while (again(ret, side, other, "fi_writemsg"));
}

void t_side_read(struct t_side *side, struct t_side *other, size_t to, size_t len, size_t from,
		 void *context)
{
	ssize_t ret;

	do
		ret = fi_read(side->ep, side->mem + to, len, fi_mr_desc(side->mr), side->peer,
			      other->base + from, fi_mr_key(other->mr), context);
	while (again(ret, side, other, "fi_read"));
}
