/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of an operation: checks, acceptance, issue to the core, end. */
#include "sham.h"

#include <stdlib.h>
#include <string.h>

#define LEVELS \
	(FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)
#define TX_FLAGS   (FI_COMPLETION | FI_MORE | FI_INJECT | FI_FENCE | FI_REMOTE_CQ_DATA | LEVELS)
#define RX_FLAGS   (FI_COMPLETION | FI_MORE | FI_MULTI_RECV | FI_PEEK | FI_CLAIM | FI_DISCARD)
#define CORE_FLAGS (FI_REMOTE_CQ_DATA | FI_MULTI_RECV | FI_PEEK | FI_CLAIM | FI_DISCARD)
#define STORM      32 /* longest series of refused posts */

static size_t total_len(const struct sham_op *op)
{
	size_t len = 0;

	for (size_t i = 0; i < op->niov; i++)
		len += op->iov[i].iov_len;
	return len;
}

/* --- checks --- */

static uint64_t caps_of(const struct sham_op *op)
{
	static const uint64_t direction[] = {
		[SHAM_READ] = FI_RMA | FI_READ,
		[SHAM_WRITE] = FI_RMA | FI_WRITE,
		[SHAM_SEND] = FI_SEND,
		[SHAM_RECV] = FI_RECV,
	};
	uint64_t caps = direction[op->kind];

	if (!sham_op_is_rma(op))
		caps |= op->tagged ? FI_TAGGED : FI_MSG;
	return op->flags & FI_FENCE ? caps | FI_FENCE : caps;
}

static ssize_t check_sizes(const struct sham_op *op)
{
	const struct sham_profile *profile = op->ep->domain->profile;
	size_t len = total_len(op);

	if (op->niov > profile->iov_limit)
		return -FI_EINVAL;
	if (len > profile->max_msg_size)
		return -FI_EMSGSIZE;
	if ((op->flags & FI_INJECT) && len > profile->inject_size)
		return -FI_EMSGSIZE;
	if (sham_op_is_rma(op) && op->rma.len != len)
		return -FI_EINVAL;
	if (op->tagged && ((op->tag | op->ignore) & ~profile->tag_mask))
		return -FI_EINVAL;
	return 0;
}

static uint64_t known_flags(const struct sham_op *op)
{
	if (op->kind == SHAM_RECV)
		return RX_FLAGS;
	if (op->kind == SHAM_WRITE && !op->ep->domain->profile->write_data)
		return TX_FLAGS & ~(uint64_t)FI_REMOTE_CQ_DATA;
	return TX_FLAGS;
}

static ssize_t check(const struct sham_op *op)
{
	const struct sham_ep *ep = op->ep;
	uint64_t key;
	ssize_t ret;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	if (op->flags & ~known_flags(op))
		return -FI_EBADFLAGS;
	if (caps_of(op) & ~ep->caps)
		return -FI_EINVAL;
	ret = check_sizes(op);
	if (ret)
		return ret;
	return sham_op_is_rma(op) && !sham_mr_uncover(ep->domain->profile, op->rma.key, &key)
		       ? -FI_EKEYREJECTED
		       : 0;
}

/* --- arrays of segments that the card reads later --- */

static uint64_t sum_of(const struct iovec *iov, size_t niov)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < niov; i++)
		sum = (sum ^ (uintptr_t)iov[i].iov_base ^ iov[i].iov_len << 48) *
		      UINT64_C(0x9e3779b97f4a7c15);
	return sum;
}

/* FI_ASYNC_IOV: an array of segments must not change until the operation ends. */
static void remember_segments(struct sham_op *op)
{
	if (!(op->ep->domain->profile->mode & FI_ASYNC_IOV) || (op->flags & FI_INJECT))
		op->segments = NULL;
	if (op->segments)
		op->segments_sum = sum_of(op->segments, op->niov);
}

static void check_segments_stayed(const struct sham_op *op)
{
	if (op->segments && sum_of(op->segments, op->niov) != op->segments_sum)
		sham_die(op->ep->domain->profile,
			 "the segments of an operation, context %p, were changed before it ended",
			 op->context);
}

/* Wrong use that no card can detect. */
static void check_use(const struct sham_op *op)
{
	const struct sham_ep *ep = op->ep;
	struct sham_domain *domain = ep->domain;

	if (op->kind != SHAM_RECV && !sham_set_has(&ep->av->addrs, op->addr))
		sham_die(domain->profile,
			 "post to address %#lx, which is not in the address vector",
			 (unsigned long)op->addr);
	if (op->context && sham_context_is_used(domain, op->context))
		sham_die(domain->profile,
			 "operation context %p is given again before its completion was read",
			 op->context);
	if (!(op->flags & FI_INJECT))
		sham_mr_check_segments(op);
}

/* A card that does not count receives runs out of entries and may abort the program. */
static void check_receives(const struct sham_op *op)
{
	const struct sham_profile *profile = op->ep->domain->profile;

	if (profile->rx_unchecked && op->kind == SHAM_RECV && op->ep->nrx >= profile->rx_size)
		sham_die(profile, "%zu receives are posted, and there are no entries for more",
			 op->ep->nrx);
}

static bool is_full(const struct sham_op *op)
{
	const struct sham_ep *ep = op->ep;

	if (op->kind == SHAM_RECV)
		return ep->nrx >= ep->rx_size && !ep->domain->profile->rx_unchecked;
	return ep->ntx >= ep->tx_size;
}

/* Returns whether the post fails by -FI_EAGAIN: a full queue or an injected fault. */
static bool not_now(const struct sham_op *op)
{
	const struct sham_ep *ep = op->ep;
	struct sham_domain *domain = ep->domain;

	if (is_full(op))
		return true;
	if (domain->storm) {
		domain->storm--;
		return true;
	}
	if (!sham_chance(domain->faults.eagain))
		return false;
	domain->storm = sham_dice(STORM);
	return true;
}

/* --- acceptance --- */

static bool is_refused(const struct sham_op *op)
{
	const struct sham_domain *domain = op->ep->domain;

	return sham_op_is_rma(op) && domain->profile->refusal[0] &&
	       sham_chance(domain->faults.refuse);
}

/* Returns whether the operation completes before the peer can see its effect. */
static bool is_early(const struct sham_op *op)
{
	return op->kind == SHAM_WRITE && !op->refused && op->ep->domain->profile->early &&
	       !(op->flags & FI_DELIVERY_COMPLETE);
}

static bool copy_payload(struct sham_op *op)
{
	size_t len = total_len(op);
	char *to = op->copy = malloc(len + 1);

	if (!to)
		return false;
	for (size_t i = 0; i < op->niov; i++) {
		memcpy(to, op->iov[i].iov_base, op->iov[i].iov_len);
		to += op->iov[i].iov_len;
	}
	op->iov[0] = (struct iovec){.iov_base = op->copy, .iov_len = len};
	op->niov = 1;
	return true;
}

static struct sham_op *op_dup(const struct sham_op *wanted)
{
	struct sham_op *op = malloc(sizeof(*op));

	if (!op)
		return NULL;
	*op = *wanted;
	op->copy = NULL;
	op->refused = is_refused(op);
	remember_segments(op);
	if (((op->flags & FI_INJECT) || is_early(op)) && !copy_payload(op)) {
		free(op);
		return NULL;
	}
	if (op->ep->domain->profile->cq_data_size < sizeof(op->data))
		op->data &= (UINT64_C(1) << (8 * op->ep->domain->profile->cq_data_size)) - 1;
	return op;
}

void sham_op_free(struct sham_op *op)
{
	if (op->whole && !--op->whole->npieces)
		sham_op_free(op->whole);
	free(op->copy);
	free(op);
}

static size_t *posted_of(const struct sham_op *op)
{
	return op->kind == SHAM_RECV ? &op->ep->nrx : &op->ep->ntx;
}

static void enter(struct sham_op *op)
{
	++*posted_of(op);
	sham_context_enter(op->ep->domain, op->context);
}

static ssize_t accept_recv(struct sham_op *op)
{
	ssize_t ret;

	dofi_list_init(&op->link);
	ret = sham_op_issue(op);
	if (ret)
		sham_op_free(op);
	else
		enter(op);
	return ret;
}

static void accept_tx(struct sham_op *op)
{
	static const struct fi_cq_err_entry written = {.flags = FI_RMA | FI_WRITE};
	struct sham_ep *ep = op->ep;

	enter(op);
	op->due_ns = sham_late_due(op);
	if (is_early(op)) {
		if (!op->injected)
			sham_cq_tell(op, &written, FI_ADDR_NOTAVAIL);
		op->reported = true;
	}
	if (!sham_pieces_wait(op))
		dofi_list_add_tail(&ep->waiting, &op->link);
	sham_late_push(ep);
	if (!dofi_list_empty(&ep->waiting))
		sham_cq_wake(ep->tx_cq);
}

static ssize_t accept(const struct sham_op *wanted)
{
	struct sham_op *op = op_dup(wanted);

	if (!op)
		return -FI_ENOMEM;
	if (op->kind == SHAM_RECV)
		return accept_recv(op);
	accept_tx(op);
	return 0;
}

ssize_t sham_op_post(const struct sham_op *op)
{
	struct sham_domain *domain = op->ep->domain;
	ssize_t ret;

	pthread_mutex_lock(&domain->lock);
	ret = check(op);
	if (!ret) {
		check_use(op);
		check_receives(op);
		ret = not_now(op) ? -FI_EAGAIN : accept(op);
	}
	pthread_mutex_unlock(&domain->lock);
	return ret;
}

/* --- the core --- */

static ssize_t issue_msg(struct sham_op *op, uint64_t flags)
{
	struct fi_msg msg = {
		.msg_iov = op->iov,
		.iov_count = op->niov,
		.addr = op->addr,
		.context = op,
		.data = op->data,
	};

	return op->kind == SHAM_SEND ? fi_sendmsg(op->ep->core, &msg, flags)
				     : fi_recvmsg(op->ep->core, &msg, flags);
}

static ssize_t issue_tagged(struct sham_op *op, uint64_t flags)
{
	struct fi_msg_tagged msg = {
		.msg_iov = op->iov,
		.iov_count = op->niov,
		.addr = op->addr,
		.tag = op->tag,
		.ignore = op->ignore,
		.context = op,
		.data = op->data,
	};

	return op->kind == SHAM_SEND ? fi_tsendmsg(op->ep->core, &msg, flags)
				     : fi_trecvmsg(op->ep->core, &msg, flags);
}

/* A write always asks for delivery, because a fence must know when it has arrived. */
static ssize_t issue_rma(struct sham_op *op, uint64_t flags)
{
	struct fi_rma_iov rma = op->rma;
	struct fi_msg_rma msg = {
		.msg_iov = op->iov,
		.iov_count = op->niov,
		.addr = op->addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = op,
		.data = op->data,
	};

	sham_mr_uncover(op->ep->domain->profile, op->rma.key, &rma.key);
	return op->kind == SHAM_READ
		       ? fi_readmsg(op->ep->core, &msg, flags)
		       : fi_writemsg(op->ep->core, &msg, flags | FI_DELIVERY_COMPLETE);
}

/* The target's answer to a key that it does not know. */
static void end_refused(struct sham_op *op)
{
	const int *refusal = op->ep->domain->profile->refusal;
	struct fi_cq_err_entry entry = {.err = refusal[0], .prov_errno = refusal[1]};

	entry.flags = FI_RMA | (op->kind == SHAM_READ ? FI_READ : FI_WRITE);
	sham_op_end(op, &entry, FI_ADDR_NOTAVAIL);
}

ssize_t sham_op_issue(struct sham_op *op)
{
	uint64_t flags = (op->flags & CORE_FLAGS) | FI_COMPLETION;
	ssize_t ret;

	if (op->refused) {
		end_refused(op);
		return 0;
	}
	if (sham_op_is_rma(op))
		ret = issue_rma(op, flags);
	else
		ret = op->tagged ? issue_tagged(op, flags) : issue_msg(op, flags);
	if (!ret) {
		dofi_list_del(&op->link);
		dofi_list_add_tail(&op->ep->flying, &op->link);
	} else if (ret != -FI_EAGAIN && op->kind != SHAM_RECV) {
		struct fi_cq_err_entry entry = {.err = (int)-ret, .prov_errno = (int)ret};

		sham_op_end(op, &entry, FI_ADDR_NOTAVAIL);
	}
	return ret;
}

/* --- the end --- */

/* The core owns a multi-receive buffer until the completion says otherwise. */
static bool goes_on(const struct sham_op *op, const struct fi_cq_err_entry *entry)
{
	return (op->flags & FI_MULTI_RECV) && !(entry->flags & FI_MULTI_RECV) && !entry->err;
}

static void truncate_message(const struct sham_op *op, struct fi_cq_err_entry *entry)
{
	if (op->kind != SHAM_RECV || entry->err || !entry->len ||
	    !sham_chance(op->ep->domain->faults.truncate))
		return;
	entry->err = FI_ETRUNC;
	entry->prov_errno = -FI_ETRUNC;
	entry->olen = 1;
}

/*
 * An injected operation has no context. If it fails, the completion of an RDMA operation has the
 * context of the endpoint, that of a message has none.
 */
static bool is_told(struct sham_op *op, const struct fi_cq_err_entry *entry)
{
	if (!op->injected)
		return !op->reported;
	if (sham_op_is_rma(op))
		op->context = op->ep->fid.fid.context;
	return entry->err && op->ep->domain->profile->tells_injected;
}

void sham_op_end(struct sham_op *op, struct fi_cq_err_entry *entry, fi_addr_t src)
{
	if (op->whole) {
		sham_piece_end(op, entry);
		return;
	}
	if (op->ep) {
		truncate_message(op, entry);
		if (!op->reported)
			check_segments_stayed(op);
		if (is_told(op, entry))
			sham_cq_tell(op, entry, src);
		if (goes_on(op, entry))
			return;
		--*posted_of(op);
		if (op->kind != SHAM_RECV && op->ep->domain->faults.drop > 0)
			op->ep->domain->faults.drop--;
	}
	dofi_list_del(&op->link);
	sham_op_free(op);
}

void sham_op_orphan(struct sham_op *op)
{
	struct sham_domain *domain = op->ep->domain;

	/* The pieces share the context of the write, which is freed once. */
	if (op->context && !op->reported)
		sham_context_forget(domain, op->context);
	op->ep = NULL;
	if (op->whole)
		op->whole->ep = NULL;
	dofi_list_del(&op->link);
	dofi_list_add_tail(&domain->orphans, &op->link);
}
