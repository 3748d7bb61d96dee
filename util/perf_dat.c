/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IOV		16
#define EVD_SLACK	16		/* events beyond one per request and receive */
#define WAIT_US		100000
#define CLOSE_US	5000000

struct dat {
	const struct perf_env *env;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_EVD_HANDLE async_evd, dto_evd, conn_evd, cr_evd;
	DAT_SRQ_HANDLE srq;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL conn_qual;
	DAT_EP_HANDLE *eps;
	uint32_t nconnected;
	uint64_t peer_base;
	DAT_RMR_CONTEXT peer_context;
};

static int fail(const char *what, DAT_RETURN ret)
{
	return util_fail("DAT: %s: %s", what, util_dat_text(ret));
}

static int open_ia(const char *name, DAT_IA_HANDLE *ia_p, DAT_EVD_HANDLE *async_p)
{
	char copy[DAT_NAME_MAX_LENGTH];
	DAT_RETURN ret;

	snprintf(copy, sizeof(copy), "%s", name);
	*async_p = DAT_HANDLE_NULL;
	ret = dat_ia_open(copy, 8, async_p, ia_p);
	if (ret != DAT_SUCCESS)
		return util_fail("DAT: cannot open interface \"%s\": %s; dat_info tells more", name,
				 util_dat_text(ret));
	return 0;
}

static void copy_attr(char *to, const DAT_PROVIDER_ATTR *attr, const char *name)
{
	const char *value = util_named_attr(attr->provider_specific_attr,
					    attr->num_provider_specific_attr, name);

	snprintf(to, PERF_NAME_LEN, "%s", value ? value : "");
}

int perf_dat_fabric(const char *name, struct perf_fabric *fabric)
{
	char transport[PERF_NAME_LEN];
	DAT_PROVIDER_ATTR attr;
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (open_ia(name, &ia, &async))
		return -1;
	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL, &attr);
	if (ret == DAT_SUCCESS) {
		copy_attr(fabric->provider, &attr, DAT_OFI_ATTR_PROVIDER);
		copy_attr(fabric->domain, &attr, DAT_OFI_ATTR_DOMAIN);
		copy_attr(transport, &attr, DAT_OFI_ATTR_TRANSPORT);
		fabric->rdm = !strcmp(transport, "rdm");
	}
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret == DAT_SUCCESS ? 0 : fail("cannot query the interface", ret);
}

/* ---- objects ---- */

static int open_evd(struct dat *dat, DAT_COUNT length, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd_p)
{
	DAT_RETURN ret = dat_evd_create(dat->ia, length, DAT_HANDLE_NULL, flags, evd_p);

	return ret == DAT_SUCCESS ? 0 : fail("cannot create an event dispatcher", ret);
}

static int register_buffer(struct dat *dat)
{
	DAT_REGION_DESCRIPTION region = { .for_va = dat->env->buf };
	DAT_VLEN length;
	DAT_VADDR address;
	DAT_RETURN ret;

	ret = dat_lmr_create(dat->ia, DAT_MEM_TYPE_VIRTUAL, region, dat->env->buf_len, dat->pz,
			     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &dat->lmr, &dat->lmr_context,
			     &dat->rmr_context, &length, &address);
	if (ret != DAT_SUCCESS)
		return util_fail("DAT: cannot register %zu bytes: %s", dat->env->buf_len,
				 util_dat_text(ret));
	return 0;
}

static int open_srq(struct dat *dat)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = (DAT_COUNT)dat->env->nrx,
		.max_recv_iov = (DAT_COUNT)dat->env->cfg->iov,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};
	DAT_RETURN ret = dat_srq_create(dat->ia, dat->pz, &attr, &dat->srq);

	return ret == DAT_SUCCESS ? 0 : fail("cannot create a shared receive queue", ret);
}

static int open_ep(struct dat *dat, const DAT_IA_ATTR *limits, DAT_EP_HANDLE *ep_p)
{
	const struct perf_env *env = dat->env;
	DAT_COUNT iov = (DAT_COUNT)env->cfg->iov;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = (DAT_SEG_LENGTH)env->cfg->max_size,
		.max_rdma_size = (DAT_SEG_LENGTH)env->cfg->max_size,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = (DAT_COUNT)env->rx_depth,
		.max_request_dtos = (DAT_COUNT)env->tx_depth,
		.max_recv_iov = iov,
		.max_request_iov = iov,
		.max_rdma_read_in = limits->max_rdma_read_per_ep_in,
		.max_rdma_read_out = limits->max_rdma_read_per_ep_out,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = iov,
		.max_rdma_write_iov = iov,
	};
	DAT_RETURN ret;

	if (dat->srq)
		ret = dat_ep_create_with_srq(dat->ia, dat->pz, dat->dto_evd, dat->dto_evd,
					     dat->conn_evd, dat->srq, &attr, ep_p);
	else
		ret = dat_ep_create(dat->ia, dat->pz, dat->dto_evd, dat->dto_evd, dat->conn_evd,
				    &attr, ep_p);
	if (ret != DAT_SUCCESS)
		return util_fail("DAT: cannot create an endpoint for %u receives and %u requests "
				 "of %u segments: %s", env->rx_depth, env->tx_depth, env->cfg->iov,
				 util_dat_text(ret));
	return 0;
}

static int open_eps(struct dat *dat)
{
	DAT_IA_ATTR limits;
	DAT_RETURN ret = dat_ia_query(dat->ia, NULL, DAT_IA_FIELD_ALL, &limits,
				      DAT_PROVIDER_FIELD_NONE, NULL);

	if (ret != DAT_SUCCESS)
		return fail("cannot query the interface", ret);
	for (uint32_t i = 0; i < dat->env->cfg->eps; i++) {
		if (open_ep(dat, &limits, &dat->eps[i]))
			return -1;
	}
	return 0;
}

static int open_psp(struct dat *dat)
{
	DAT_RETURN ret = dat_psp_create_any(dat->ia, &dat->conn_qual, dat->cr_evd,
					    DAT_PSP_CONSUMER_FLAG, &dat->psp);

	return ret == DAT_SUCCESS ? 0 : fail("cannot create a public service point", ret);
}

static int open_all(struct dat *dat)
{
	const struct perf_env *env = dat->env;
	DAT_COUNT eps = (DAT_COUNT)env->cfg->eps;
	DAT_RETURN ret;

	dat->eps = calloc(env->cfg->eps, sizeof(DAT_EP_HANDLE));
	if (!dat->eps)
		return util_fail("no memory");
	if (open_ia(env->ia, &dat->ia, &dat->async_evd))
		return -1;
	ret = dat_pz_create(dat->ia, &dat->pz);
	if (ret != DAT_SUCCESS)
		return fail("cannot create a protection zone", ret);
	if (register_buffer(dat) ||
	    open_evd(dat, (DAT_COUNT)(env->ntx + env->nrx + EVD_SLACK), DAT_EVD_DTO_FLAG,
		     &dat->dto_evd) ||
	    open_evd(dat, 2 * eps, DAT_EVD_CONNECTION_FLAG, &dat->conn_evd) ||
	    open_evd(dat, eps, DAT_EVD_CR_FLAG, &dat->cr_evd))
		return -1;
	if (env->cfg->srq && open_srq(dat))
		return -1;
	if (open_eps(dat))
		return -1;
	return env->passive ? open_psp(dat) : 0;
}

static void dat_close(void *be);

static int dat_open(const struct perf_env *env, void **be_p)
{
	struct dat *dat = calloc(1, sizeof(*dat));

	if (!dat)
		return util_fail("no memory");
	dat->env = env;
	if (open_all(dat)) {
		dat_close(dat);
		return -1;
	}
	*be_p = dat;
	return 0;
}

/* The peer disconnects at the same time; both get one DISCONNECTED event per endpoint. */
static void disconnect(struct dat *dat)
{
	DAT_EVENT event;
	DAT_COUNT more;

	for (uint32_t i = 0; i < dat->nconnected; i++)
		dat_ep_disconnect(dat->eps[i], DAT_CLOSE_GRACEFUL_FLAG);
	for (uint32_t i = 0; i < dat->nconnected; i++) {
		if (dat_evd_wait(dat->conn_evd, CLOSE_US, 1, &event, &more) != DAT_SUCCESS)
			return;
	}
}

static void dat_close(void *be)
{
	struct dat *dat = be;

	if (dat->nconnected)
		disconnect(dat);
	for (uint32_t i = 0; dat->eps && i < dat->env->cfg->eps; i++) {
		if (dat->eps[i])
			dat_ep_free(dat->eps[i]);
	}
	if (dat->psp)
		dat_psp_free(dat->psp);
	if (dat->srq)
		dat_srq_free(dat->srq);
	if (dat->lmr)
		dat_lmr_free(dat->lmr);
	if (dat->dto_evd)
		dat_evd_free(dat->dto_evd);
	if (dat->conn_evd)
		dat_evd_free(dat->conn_evd);
	if (dat->cr_evd)
		dat_evd_free(dat->cr_evd);
	if (dat->pz)
		dat_pz_free(dat->pz);
	/* Takes what a failure above has left. */
	if (dat->ia)
		dat_ia_close(dat->ia, DAT_CLOSE_ABRUPT_FLAG);
	free(dat->eps);
	free(dat);
}

/* ---- connection ---- */

static int dat_address(void *be, struct perf_addr *addr)
{
	struct dat *dat = be;
	DAT_IA_ATTR attr;
	DAT_RETURN ret;

	addr->base = (uintptr_t)dat->env->buf;
	addr->key = dat->rmr_context;
	addr->port = dat->conn_qual;
	ret = dat_ia_query(dat->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			   DAT_PROVIDER_FIELD_NONE, NULL);
	if (ret != DAT_SUCCESS)
		return fail("cannot find the interface's address", ret);
	if (!attr.ia_address_ptr)
		return util_fail("DAT: interface \"%s\" has no address", dat->env->ia);
	addr->len = attr.ia_address_ptr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
								 sizeof(struct sockaddr_in);
	memcpy(addr->name, attr.ia_address_ptr, addr->len);
	return 0;
}

static const char *event_text(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		return "a connection request";
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "established";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "rejected by the peer";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "refused: nobody listens there, or the peer has no resources";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "the accepted connection did not come about";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "disconnected by the peer";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "broken";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "timed out";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "the peer's address cannot be reached";
	default:
		return "an event that does not belong here";
	}
}

static int await_event(struct dat *dat, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted,
		       DAT_EVENT *event)
{
	int64_t until = perf_now_ns() + PERF_CONNECT_MS * INT64_C(1000000);
	DAT_COUNT more;
	DAT_RETURN ret;

	do {
		if (perf_sync_peek(dat->env->sync, 0) < 0)
			return -1;
		ret = dat_evd_wait(evd, WAIT_US, 1, event, &more);
		if (ret == DAT_SUCCESS && event->event_number == wanted)
			return 0;
		if (ret == DAT_SUCCESS)
			return util_fail("DAT: connecting failed: %s",
					 event_text(event->event_number));
		if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED &&
		    DAT_GET_TYPE(ret) != DAT_INTERRUPTED_CALL)
			return fail("cannot wait for a connection", ret);
	} while (perf_now_ns() < until);
	return util_fail("DAT: no connection within %d seconds", PERF_CONNECT_MS / 1000);
}

static int accept_one(struct dat *dat, uint32_t i)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	if (await_event(dat, dat->cr_evd, DAT_CONNECTION_REQUEST_EVENT, &event))
		return -1;
	ret = dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, dat->eps[i], 0, NULL);
	if (ret != DAT_SUCCESS)
		return fail("cannot accept", ret);
	return await_event(dat, dat->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static int connect_one(struct dat *dat, uint32_t i, const struct perf_addr *peer)
{
	struct sockaddr_in6 addr;	/* the longest of those that dat_address() sends */
	char text[64];
	DAT_EVENT event;
	DAT_RETURN ret;

	if (peer->len > sizeof(addr))
		return util_fail("DAT: the other side's address has %u bytes", peer->len);
	memset(&addr, 0, sizeof(addr));
	memcpy(&addr, peer->name, peer->len);
	ret = dat_ep_connect(dat->eps[i], (DAT_IA_ADDRESS_PTR)(void *)&addr, peer->port,
			     PERF_CONNECT_MS * 1000u, 0, NULL, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return util_fail("DAT: cannot connect to %s, qualifier %llu: %s",
				 util_address_text((struct sockaddr *)(void *)&addr, text,
						   sizeof(text)),
				 (unsigned long long)peer->port, util_dat_text(ret));
	return await_event(dat, dat->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static int dat_connect(void *be, const struct perf_addr *peer)
{
	struct dat *dat = be;

	dat->peer_base = peer->base;
	dat->peer_context = (DAT_RMR_CONTEXT)peer->key;
	/* One at a time: so both sides number the endpoints alike. */
	for (uint32_t i = 0; i < dat->env->cfg->eps; i++) {
		if (dat->env->passive ? accept_one(dat, i) : connect_one(dat, i, peer))
			return -1;
		dat->nconnected++;
	}
	return 0;
}

/* ---- data path ---- */

static int posted(DAT_RETURN ret, const char *what)
{
	return ret == DAT_SUCCESS ? 0 : fail(what, ret);
}

static DAT_COUNT make_iov(const struct dat *dat, const struct perf_wr *wr, DAT_LMR_TRIPLET *iov)
{
	uint32_t count = perf_segments(dat->env, wr->len);
	DAT_SEG_LENGTH len = (DAT_SEG_LENGTH)wr->len, part = len / (count ? count : 1);
	DAT_VADDR at = (uintptr_t)dat->env->buf + wr->offset;

	for (uint32_t i = 0; i < count; i++, at += part) {
		iov[i].virtual_address = at;
		iov[i].segment_length = i + 1 < count ? part : len - part * i;
		iov[i].lmr_context = dat->lmr_context;
	}
	return (DAT_COUNT)count;
}

static DAT_COMPLETION_FLAGS flags(const struct perf_wr *wr)
{
	return wr->signalled ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG;
}

static int dat_post_recv(void *be, const struct perf_wr *wr)
{
	struct dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_COUNT count = make_iov(dat, wr, iov);
	DAT_DTO_COOKIE cookie = { .as_64 = wr->id };

	if (dat->srq)
		return posted(dat_srq_post_recv(dat->srq, count, iov, cookie),
			      "cannot post a shared receive");
	return posted(dat_ep_post_recv(dat->eps[wr->ep], count, iov, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG),
		      "cannot post a receive");
}

static int dat_send(void *be, const struct perf_wr *wr)
{
	struct dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_COUNT count = make_iov(dat, wr, iov);
	DAT_DTO_COOKIE cookie = { .as_64 = wr->id };

	return posted(dat_ep_post_send(dat->eps[wr->ep], count, iov, cookie, flags(wr)),
		      "cannot send");
}

static DAT_RMR_TRIPLET remote_part(const struct dat *dat, const struct perf_wr *wr)
{
	DAT_RMR_TRIPLET remote = {
		.virtual_address = dat->peer_base + wr->remote,
		.segment_length = (DAT_SEG_LENGTH)wr->len,
		.rmr_context = dat->peer_context,
	};

	return remote;
}

static int dat_write(void *be, const struct perf_wr *wr)
{
	struct dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_COUNT count = make_iov(dat, wr, iov);
	DAT_RMR_TRIPLET remote = remote_part(dat, wr);
	DAT_DTO_COOKIE cookie = { .as_64 = wr->id };

	return posted(dat_ep_post_rdma_write(dat->eps[wr->ep], count, iov, cookie, &remote,
					     flags(wr)),
		      "cannot write");
}

static int dat_read(void *be, const struct perf_wr *wr)
{
	struct dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_COUNT count = make_iov(dat, wr, iov);
	DAT_RMR_TRIPLET remote = remote_part(dat, wr);
	DAT_DTO_COOKIE cookie = { .as_64 = wr->id };

	return posted(dat_ep_post_rdma_read(dat->eps[wr->ep], count, iov, cookie, &remote,
					    flags(wr)),
		      "cannot read");
}

static const char *status_text(DAT_DTO_COMPLETION_STATUS status)
{
	static const char *const texts[] = {
		[DAT_DTO_ERR_FLUSHED] = "FLUSHED, the connection has ended",
		[DAT_DTO_ERR_LOCAL_LENGTH] = "LOCAL_LENGTH",
		[DAT_DTO_ERR_LOCAL_EP] = "LOCAL_EP",
		[DAT_DTO_ERR_LOCAL_PROTECTION] = "LOCAL_PROTECTION",
		[DAT_DTO_ERR_BAD_RESPONSE] = "BAD_RESPONSE",
		[DAT_DTO_ERR_REMOTE_ACCESS] = "REMOTE_ACCESS",
		[DAT_DTO_ERR_REMOTE_RESPONDER] = "REMOTE_RESPONDER",
		[DAT_DTO_ERR_TRANSPORT] = "TRANSPORT, the connection is lost",
		[DAT_DTO_ERR_RECEIVER_NOT_READY] = "RECEIVER_NOT_READY",
		[DAT_DTO_ERR_PARTIAL_PACKET] = "PARTIAL_PACKET",
		[DAT_DTO_ERR_LOCAL_MM_ERROR] = "LOCAL_MM_ERROR",
	};

	if (status >= UTIL_ARRAY_LEN(texts) || !texts[status])
		return "a status that DAT does not define";
	return texts[status];
}

static int take_event(const struct dat *dat, const DAT_EVENT *event, struct perf_comp *comp)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	bool receive;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		return util_fail("DAT: event 0x%x came where completions are expected",
				 event->event_number);
	comp->id = (uint32_t)dto->user_cookie.as_64;
	comp->len = dto->transfered_length;
	if (dto->status == DAT_DTO_SUCCESS)
		return 1;
	receive = comp->id >= dat->env->ntx;
	return util_fail("DAT: a %s failed: %s", receive ? "receive" : "request",
			 status_text(dto->status));
}

static int dat_poll(void *be, struct perf_comp *comps, int max)
{
	struct dat *dat = be;
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_dequeue(dat->dto_evd, &event);

	(void)max;
	if (ret == DAT_SUCCESS)
		return take_event(dat, &event, comps);
	return DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ? 0 : fail("cannot read completions", ret);
}

static int dat_wait(void *be, struct perf_comp *comps, int max, int ms)
{
	struct dat *dat = be;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	(void)max;
	ret = dat_evd_wait(dat->dto_evd, (DAT_TIMEOUT)ms * 1000, 1, &event, &more);
	if (ret == DAT_SUCCESS)
		return take_event(dat, &event, comps);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED || DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
		return 0;
	return fail("cannot wait for completions", ret);
}

const struct perf_ops perf_dat_ops = {
	.name = "dat",
	.open = dat_open,
	.address = dat_address,
	.connect = dat_connect,
	.post_recv = dat_post_recv,
	.post = {
		[PERF_SEND] = dat_send,
		[PERF_WRITE] = dat_write,
		[PERF_READ] = dat_read,
	},
	.poll = dat_poll,
	.wait = dat_wait,
	.close = dat_close,
};
