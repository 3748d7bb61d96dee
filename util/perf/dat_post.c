/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The data path over DAT. */
#include "perf/dat.h"

#include <string.h>

#define MAX_IOV 16

static int posted(DAT_RETURN ret, const char *what)
{
	return ret == DAT_SUCCESS ? 0 : perf_dat_fail(what, ret);
}

static DAT_COUNT make_iov(const struct perf_dat *dat, const struct perf_wr *wr,
			  DAT_LMR_TRIPLET *iov)
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

/*
 * The header of a datagram goes to a separate segment, so that the data lie as those of a message.
 */
static int post_recv_ud(struct perf_dat *dat, const struct perf_wr *wr)
{
	DAT_LMR_TRIPLET iov[MAX_IOV + 1] = {{
		.virtual_address = (uintptr_t)dat->header,
		.segment_length = PERF_UD_HEADER,
		.lmr_context = dat->header_context,
	}};
	DAT_COUNT count = 1 + make_iov(dat, wr, iov + 1);
	DAT_DTO_COOKIE cookie = {.as_64 = wr->id};

	return posted(dat_ep_post_recv(dat->eps[wr->ep], count, iov, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG),
		      "cannot post a receive for datagrams");
}

int perf_dat_post_recv(void *be, const struct perf_wr *wr)
{
	struct perf_dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_COUNT count = make_iov(dat, wr, iov);
	DAT_DTO_COOKIE cookie = {.as_64 = wr->id};
	DAT_RETURN ret;

	if (dat->ways)
		return post_recv_ud(dat, wr);
	if (!dat->srq)
		return posted(dat_ep_post_recv(dat->eps[wr->ep], count, iov, cookie,
					       DAT_COMPLETION_DEFAULT_FLAG),
			      "cannot post a receive");
	ret = dat_srq_post_recv(dat->srq, count, iov, cookie);
	/*
	 * SRQs of a connectionless fabric may share one queue that is shorter than all of them
	 * together.
	 */
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
		return PERF_AGAIN;
	return posted(ret, "cannot post a shared receive");
}

int perf_dat_send(void *be, const struct perf_wr *wr)
{
	struct perf_dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_COUNT count = make_iov(dat, wr, iov);
	DAT_DTO_COOKIE cookie = {.as_64 = wr->id};

	if (dat->ways)
		return posted(dat_ib_post_send_ud(dat->eps[wr->ep], count, iov, &dat->ways[wr->ep],
						  cookie, flags(wr)),
			      "cannot send a datagram");
	return posted(dat_ep_post_send(dat->eps[wr->ep], count, iov, cookie, flags(wr)),
		      "cannot send");
}

static DAT_RMR_TRIPLET remote_part(const struct perf_dat *dat, const struct perf_wr *wr)
{
	DAT_RMR_TRIPLET remote = {
		.virtual_address = dat->peer_base + wr->remote,
		.segment_length = (DAT_SEG_LENGTH)wr->len,
		.rmr_context = dat->peer_context,
	};

	return remote;
}

int perf_dat_write(void *be, const struct perf_wr *wr)
{
	struct perf_dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_COUNT count = make_iov(dat, wr, iov);
	DAT_RMR_TRIPLET remote = remote_part(dat, wr);
	DAT_DTO_COOKIE cookie = {.as_64 = wr->id};

	return posted(dat_ep_post_rdma_write(dat->eps[wr->ep], count, iov, cookie, &remote,
					     flags(wr)),
		      "cannot write");
}

int perf_dat_read(void *be, const struct perf_wr *wr)
{
	struct perf_dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_COUNT count = make_iov(dat, wr, iov);
	DAT_RMR_TRIPLET remote = remote_part(dat, wr);
	DAT_DTO_COOKIE cookie = {.as_64 = wr->id};

	return posted(dat_ep_post_rdma_read(dat->eps[wr->ep], count, iov, cookie, &remote,
					    flags(wr)),
		      "cannot read");
}

int perf_dat_immediate(void *be, const struct perf_wr *wr)
{
	struct perf_dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_COUNT count = make_iov(dat, wr, iov);
	DAT_RMR_TRIPLET remote = remote_part(dat, wr);
	DAT_DTO_COOKIE cookie = {.as_64 = wr->id};

	return posted(dat_ib_post_rdma_write_immed(dat->eps[wr->ep], count, iov, cookie, &remote,
						   wr->value, flags(wr)),
		      "cannot write with immediate data");
}

/* Each operation finds the result of the one before: the number of operations. */
int perf_dat_fetch_add(void *be, const struct perf_wr *wr)
{
	struct perf_dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_RMR_TRIPLET remote = remote_part(dat, wr);
	DAT_DTO_COOKIE cookie = {.as_64 = wr->id};

	make_iov(dat, wr, iov);
	return posted(dat_ib_post_fetch_and_add(dat->eps[wr->ep], 1, iov, cookie, &remote,
						flags(wr)),
		      "cannot add at the peer");
}

int perf_dat_cmp_swap(void *be, const struct perf_wr *wr)
{
	struct perf_dat *dat = be;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	DAT_RMR_TRIPLET remote = remote_part(dat, wr);
	DAT_DTO_COOKIE cookie = {.as_64 = wr->id};

	make_iov(dat, wr, iov);
	return posted(dat_ib_post_cmp_and_swap(dat->eps[wr->ep], wr->operand, wr->operand + 1, iov,
					       cookie, &remote, flags(wr)),
		      "cannot compare and swap at the peer");
}

int perf_dat_bind(void *be, const struct perf_wr *wr)
{
	struct perf_dat *dat = be;
	DAT_LMR_TRIPLET part = {
		.lmr_context = dat->lmr_context,
		.virtual_address = (uintptr_t)dat->env->buf + wr->offset,
		.segment_length = (DAT_SEG_LENGTH)wr->len,
	};
	DAT_RMR_COOKIE cookie = {.as_64 = wr->id};
	DAT_RMR_CONTEXT context;

	return posted(dat_rmr_bind(dat->rmrs[wr->id], dat->lmr, &part,
				   DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA, dat->eps[wr->ep],
				   cookie, flags(wr), &context),
		      "cannot bind a remote memory region");
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

static int check_status(const struct perf_dat *dat, uint32_t id, DAT_DTO_COMPLETION_STATUS status)
{
	if (status == DAT_DTO_SUCCESS)
		return 1;
	return util_fail("DAT: a %s failed: %s", id >= dat->env->ntx ? "receive" : "request",
			 status_text(status));
}

static int take_bind(const struct perf_dat *dat, const DAT_EVENT *event, struct perf_comp *comp)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind;

	bind = &event->event_data.rmr_completion_event_data;
	comp->id = (uint32_t)bind->user_cookie.as_64;
	return check_status(dat, comp->id, bind->status);
}

static int take_dto(const struct perf_dat *dat, const DAT_EVENT *event, struct perf_comp *comp)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	comp->id = (uint32_t)dto->user_cookie.as_64;
	comp->len = dto->transfered_length;
	return check_status(dat, comp->id, dto->status);
}

static int take_extended(const struct perf_dat *dat, const DAT_EVENT *event, struct perf_comp *comp)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	int ret = take_dto(dat, event, comp);

	memcpy(&ext, event->event_extension_data, sizeof(ext));
	comp->value = ext.val.immed.data;
	if (ext.type == DAT_IB_UD_RECV && ret > 0)
		comp->len -= PERF_UD_HEADER;
	return ret;
}

static int take_event(const struct perf_dat *dat, const DAT_EVENT *event, struct perf_comp *comp)
{
	switch ((unsigned int)event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		return take_dto(dat, event, comp);
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return take_bind(dat, event, comp);
	case DAT_IB_DTO_EVENT:
		return take_extended(dat, event, comp);
	default:
		return util_fail("DAT: event 0x%x came where completions are expected",
				 event->event_number);
	}
}

int perf_dat_poll(void *be, struct perf_comp *comps, int max)
{
	struct perf_dat *dat = be;
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_dequeue(dat->dto_evd, &event);

	(void)max;
	if (ret == DAT_SUCCESS)
		return take_event(dat, &event, comps);
	if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
		return 0;
	return perf_dat_fail("cannot read completions", ret);
}

int perf_dat_wait(void *be, struct perf_comp *comps, int max, int ms)
{
	struct perf_dat *dat = be;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	(void)max;
	ret = dat_evd_wait(dat->dto_evd, (DAT_TIMEOUT)ms * 1000, 1, &event, &more);
	if (ret == DAT_SUCCESS)
		return take_event(dat, &event, comps);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED || DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
		return 0;
	return perf_dat_fail("cannot wait for completions", ret);
}
