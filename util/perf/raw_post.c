/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf/raw_post.h"

#include "perf/raw.h"

#include <poll.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/uio.h>

#define TAG_MASK ((UINT64_C(1) << 48) - 1) /* the width that all fabrics have */

static int posted(ssize_t ret, const char *what)
{
	if (!ret)
		return 0;
	if (ret == -FI_EAGAIN)
		return PERF_AGAIN;
	return perf_raw_fail(what, (int)ret);
}

static struct fid_ep *ep_of(const struct raw *raw, const struct perf_wr *wr)
{
	return raw->eps[raw->rdm ? 0 : wr->ep];
}

/* Fills the segments of a request; the descriptors are all the same one. */
static size_t make_iov(const struct raw *raw, const struct perf_wr *wr, struct iovec *iov,
		       void **desc)
{
	size_t count = perf_segments(raw->env, wr->len), part = wr->len / (count ? count : 1);
	char *at = raw->env->buf + wr->offset;

	for (size_t i = 0; i < count; i++, at += part) {
		iov[i] = (struct iovec){at, i + 1 < count ? part : wr->len - part * i};
		desc[i] = raw->desc;
	}
	return count;
}

static uint64_t tx_flags(const struct raw *raw, const struct perf_wr *wr)
{
	return (wr->signalled ? FI_COMPLETION : 0) | raw->info->tx_attr->op_flags;
}

static ssize_t recv_vector(struct raw *raw, const struct perf_wr *wr, uint64_t ignore)
{
	struct iovec iov[PERF_RAW_MAX_IOV];
	void *desc[PERF_RAW_MAX_IOV], *context = &raw->contexts[wr->id];
	size_t count = make_iov(raw, wr, iov, desc);

	if (raw->rdm)
		return fi_trecvv(raw->eps[0], iov, desc, count, FI_ADDR_UNSPEC, wr->ep, ignore,
				 context);
	return fi_recvv(raw->srx ? raw->srx : raw->eps[wr->ep], iov, desc, count, 0, context);
}

int perf_raw_post_recv(void *be, const struct perf_wr *wr)
{
	struct raw *raw = be;
	void *context = &raw->contexts[wr->id];
	char *to = raw->env->buf + wr->offset;
	/* A shared receive takes the message of any endpoint: it leaves the tag open. */
	uint64_t ignore = raw->env->cfg->srq ? TAG_MASK : 0;
	ssize_t ret;

	if (!raw->plain)
		ret = recv_vector(raw, wr, ignore);
	else if (raw->rdm)
		ret = fi_trecv(raw->eps[0], to, wr->len, raw->desc, FI_ADDR_UNSPEC, wr->ep, ignore,
			       context);
	else
		ret = fi_recv(raw->srx ? raw->srx : raw->eps[wr->ep], to, wr->len, raw->desc, 0,
			      context);
	/* shm of libfabric 1.17 reports a full queue so. */
	if (ret == -FI_ENOMEM)
		return PERF_AGAIN;
	return posted(ret, "cannot post a receive");
}

static ssize_t send_vector(struct raw *raw, const struct perf_wr *wr)
{
	struct iovec iov[PERF_RAW_MAX_IOV];
	void *desc[PERF_RAW_MAX_IOV], *context = &raw->contexts[wr->id];
	size_t count = make_iov(raw, wr, iov, desc);
	struct fi_msg msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = raw->peer,
		.context = context,
	};
	struct fi_msg_tagged tagged = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = raw->peer,
		.tag = wr->ep,
		.context = context,
	};

	if (raw->rdm)
		return fi_tsendmsg(raw->eps[0], &tagged, tx_flags(raw, wr));
	return fi_sendmsg(raw->eps[wr->ep], &msg, tx_flags(raw, wr));
}

int perf_raw_send(void *be, const struct perf_wr *wr)
{
	struct raw *raw = be;
	void *context = &raw->contexts[wr->id];
	char *from = raw->env->buf + wr->offset;
	ssize_t ret;

	if (!raw->plain)
		ret = send_vector(raw, wr);
	else if (raw->rdm)
		ret = fi_tsend(raw->eps[0], from, wr->len, raw->desc, raw->peer, wr->ep, context);
	else
		ret = fi_send(raw->eps[wr->ep], from, wr->len, raw->desc, 0, context);
	return posted(ret, "cannot send");
}

static ssize_t rma_vector(struct raw *raw, const struct perf_wr *wr, void *context, bool write,
			  uint64_t flags)
{
	struct iovec iov[PERF_RAW_MAX_IOV];
	void *desc[PERF_RAW_MAX_IOV];
	struct fi_rma_iov remote = {raw->peer_base + wr->remote, wr->len, raw->peer_key};
	struct fi_msg_rma msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = make_iov(raw, wr, iov, desc),
		.addr = raw->peer,
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.context = context,
	};

	if (write)
		return fi_writemsg(ep_of(raw, wr), &msg, tx_flags(raw, wr) | flags);
	return fi_readmsg(ep_of(raw, wr), &msg, tx_flags(raw, wr));
}

static ssize_t write_all(struct raw *raw, const struct perf_wr *wr, void *context)
{
	if (raw->plain && !raw->delivers)
		return fi_write(ep_of(raw, wr), raw->env->buf + wr->offset, wr->len, raw->desc,
				raw->peer, raw->peer_base + wr->remote, raw->peer_key, context);
	return rma_vector(raw, wr, context, true, raw->delivers ? FI_DELIVERY_COMPLETE : 0);
}

/*
 * With cfg->last_word: a program that polls the last byte of a write on a fabric without order has
 * to send that word when the rest is delivered.
 */
static size_t word_of(const struct perf_wr *wr)
{
	return wr->len > sizeof(uint64_t) ? sizeof(uint64_t) : 0;
}

static ssize_t write_body(struct raw *raw, const struct perf_wr *wr)
{
	uint32_t first = raw->env->ntx + raw->env->nrx;
	struct perf_wr body = *wr;

	body.len -= word_of(wr);
	body.signalled = true;
	raw->writes[wr->id] = *wr;
	return rma_vector(raw, &body, &raw->contexts[first + wr->id], true, FI_DELIVERY_COMPLETE);
}

static ssize_t write_word(struct raw *raw, uint32_t id)
{
	const struct perf_wr *wr = &raw->writes[id];
	struct perf_wr word = *wr;

	word.offset += wr->len - word_of(wr);
	word.remote += wr->len - word_of(wr);
	word.len = word_of(wr);
	return write_all(raw, &word, &raw->contexts[id]);
}

int perf_raw_write(void *be, const struct perf_wr *wr)
{
	struct raw *raw = be;
	ssize_t ret;

	if (raw->writes && word_of(wr))
		ret = write_body(raw, wr);
	else
		ret = write_all(raw, wr, &raw->contexts[wr->id]);
	return posted(ret, "cannot write");
}

int perf_raw_read(void *be, const struct perf_wr *wr)
{
	struct raw *raw = be;
	ssize_t ret;

	if (raw->plain)
		ret = fi_read(ep_of(raw, wr), raw->env->buf + wr->offset, wr->len, raw->desc,
			      raw->peer, raw->peer_base + wr->remote, raw->peer_key,
			      &raw->contexts[wr->id]);
	else
		ret = rma_vector(raw, wr, &raw->contexts[wr->id], false, 0);
	return posted(ret, "cannot read");
}

static int cq_failure(struct raw *raw)
{
	struct fi_cq_err_entry err = {0};
	char text[128];

	if (fi_cq_readerr(raw->cq, &err, 0) <= 0)
		return util_fail("libfabric: a request failed without a reason given");
	return util_fail("libfabric: a request failed: %s (%s)", fi_strerror(err.err),
			 fi_cq_strerror(raw->cq, err.prov_errno, err.err_data, text, sizeof(text)));
}

/* Sends the last words of bodies that were delivered. Returns 0, or -1 after an error. */
static int write_words(struct raw *raw)
{
	while (raw->bodies_head != raw->bodies_tail) {
		uint32_t id = raw->bodies[raw->bodies_head % raw->env->ntx];
		ssize_t ret = write_word(raw, id);

		if (ret == -FI_EAGAIN)
			return 0;
		if (ret)
			return perf_raw_fail("cannot write the last word", (int)ret);
		raw->bodies_head++;
	}
	return 0;
}

/* Returns the number of completions for the caller: 0 for the body of a write, else 1. */
static int set_comp(struct raw *raw, struct perf_comp *comp, const void *at)
{
	const struct fi_cq_msg_entry *entry = at; /* all formats begin alike */
	const struct fi_context2 *context = entry->op_context;
	uint32_t index = (uint32_t)(context - raw->contexts);
	uint32_t ids = raw->env->ntx + raw->env->nrx;

	if (index >= ids) {
		raw->bodies[raw->bodies_tail++ % raw->env->ntx] = index - ids;
		return 0;
	}
	comp->id = index;
	comp->len = entry->len;
	return 1;
}

int perf_raw_poll(void *be, struct perf_comp *comps, int max)
{
	struct raw *raw = be;
	struct fi_cq_tagged_entry entries[PERF_MAX_COMPS];
	ssize_t count = fi_cq_read(raw->cq, entries, (size_t)max);
	int taken = 0;

	if (count == -FI_EAGAIN)
		count = 0;
	if (count == -FI_EAVAIL)
		return cq_failure(raw);
	if (count < 0)
		return perf_raw_fail("cannot read the completion queue", (int)count);
	for (ssize_t i = 0; i < count; i++)
		taken += set_comp(raw, &comps[taken],
				  (const char *)entries + (size_t)i * raw->cq_entry);
	return raw->writes && write_words(raw) ? -1 : taken;
}

/* Without a descriptor only a blocking read sleeps, in whatever way the provider has. */
static int blocking_read(struct raw *raw, struct perf_comp *comps, int ms)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_sread(raw->cq, &entry, 1, NULL, ms);

	if (ret == -FI_EAVAIL)
		return cq_failure(raw);
	if (ret != 1)
		return 0;
	ret = set_comp(raw, comps, &entry);
	return raw->writes && write_words(raw) ? -1 : (int)ret;
}

int perf_raw_wait(void *be, struct perf_comp *comps, int max, int ms)
{
	struct raw *raw = be;
	struct pollfd ready = {.fd = raw->cq_fd, .events = POLLIN};
	struct fid *fid = &raw->cq->fid;
	int count = perf_raw_poll(be, comps, max);

	if (count)
		return count;
	if (raw->cq_fd < 0)
		return blocking_read(raw, comps, ms);
	if (!fi_trywait(raw->fabric, &fid, 1))
		poll(&ready, 1, ms);
	return perf_raw_poll(be, comps, max);
}
