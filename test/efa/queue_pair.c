/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pairs (SRD): creation, states, destruction. libfabric's provider finds them by their
 * numbers.
 */
#include "softefa.h"

#include <errno.h>
#include <stdlib.h>

static struct soft_qp *qps, *table[SEG_QPS];

struct soft_qp *efa_qps(void)
{
	return qps;
}

struct soft_qp *efa_qp_at(uint32_t index)
{
	return index < SEG_QPS ? table[index] : NULL;
}

/* False for a queue pair that the parent created before a fork. */
int efa_qp_own(const struct soft_qp *qp)
{
	return efa_me && qp->slot_gen == efa_me->gen &&
	       atomic_load(&efa_seg->qp[qp->index].owner) == efa_slot + 1;
}

/* The provider has a table of this size. The index is the number modulo the size. */
uint32_t efa_stride(void)
{
	uint32_t stride = 1;

	while (stride < efa_set.max_qp)
		stride *= 2;
	return stride;
}

static uint32_t take_entry(void)
{
	for (uint32_t i = 1; i <= efa_set.max_qp && i < efa_stride(); i++) {
		uint32_t free_entry = 0;

		if (atomic_compare_exchange_strong(&efa_seg->qp[i].owner, &free_entry,
						   efa_slot + 1))
			return i;
	}
	return 0;
}

static uint32_t number_of(struct seg_qp *entry, uint32_t index)
{
	uint32_t rounds = 65536 / efa_stride();

	if (!efa_set.qpn_reuse)
		entry->gen = (entry->gen + 1) % rounds;
	return index + efa_stride() * entry->gen;
}

static int make_nodes(struct soft_qp *qp)
{
	qp->free_node = malloc(qp->max_recv * sizeof(*qp->free_node));
	qp->posted = calloc(SEG_NODES, 1);
	if (!qp->free_node || !qp->posted)
		return -1;
	for (uint32_t i = 0; i < qp->max_recv; i++)
		qp->free_node[qp->free_nodes++] = qp->max_recv - 1 - i;
	return 0;
}

static void empty_ring(struct seg_ring *ring)
{
	atomic_store(&ring->head, atomic_load(&ring->tail));
}

static void fill_entry(struct soft_qp *qp, struct ibv_qp *base)
{
	struct seg_qp *entry = &efa_seg->qp[qp->index];

	entry->pd = qp->pd;
	entry->cq = qp->recv_cq->index;
	entry->qkey = 0;
	atomic_store(&entry->ready, 0);
	empty_ring(&efa_seg->queue[qp->index].recv);
	empty_ring(&efa_seg->queue[qp->index].unsolicited);
	for (uint32_t i = 0; entry->unsolicited && i < SEG_UNSOLICITED; i++)
		efa_put_node(qp, SEG_RECVS + i);
	base->qp_num = number_of(entry, qp->index);
	atomic_store(&entry->qpn, base->qp_num);
}

static void describe(struct soft_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *base = &qp->ex.qp_base;

	base->context = attr->pd->context;
	base->qp_context = attr->qp_context;
	base->pd = attr->pd;
	base->send_cq = attr->send_cq;
	base->recv_cq = attr->recv_cq;
	base->qp_type = attr->qp_type;
	base->state = IBV_QPS_RESET;
	qp->send_cq = container_of(attr->send_cq, struct soft_cq, ex);
	qp->recv_cq = container_of(attr->recv_cq, struct soft_cq, ex);
	qp->pd = efa_pd_id(attr->pd);
	qp->max_send = attr->cap.max_send_wr;
	qp->max_recv = attr->cap.max_recv_wr;
	qp->rnr_retry = 7;
	qp->staged_last = &qp->staged;
	efa_post_functions(&qp->ex);
}

static void free_qp(struct soft_qp *qp)
{
	free(qp->free_node);
	free(qp->posted);
	free(qp);
}

static int fits(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->qp_type == IBV_QPT_DRIVER && attr->cap.max_send_wr <= efa_set.max_sq_wr &&
	       attr->cap.max_recv_wr <= efa_set.max_rq_wr && attr->cap.max_recv_wr <= SEG_RECVS &&
	       attr->cap.max_send_sge <= OP_SGES && attr->cap.max_recv_sge <= SEG_SGES &&
	       attr->cap.max_inline_data <= OP_INLINE;
}

static struct ibv_qp *create(struct ibv_qp_init_attr_ex *attr, uint32_t unsolicited)
{
	struct soft_qp *qp;

	if (!fits(attr)) {
		errno = EINVAL;
		return NULL;
	}
	if (efa_attach() || !(qp = calloc(1, sizeof(*qp))))
		return NULL;
	describe(qp, attr);
	pthread_mutex_lock(&efa_lock);
	if (!make_nodes(qp) && (qp->index = take_entry())) {
		qp->slot_gen = efa_me->gen;
		efa_seg->qp[qp->index].unsolicited = unsolicited;
		fill_entry(qp, &qp->ex.qp_base);
		qp->next = qps;
		qps = table[qp->index] = qp;
	}
	pthread_mutex_unlock(&efa_lock);
	if (qp->index)
		return &qp->ex.qp_base;
	free_qp(qp);
	errno = ENOMEM;
	return NULL;
}

struct ibv_qp *efadv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				  struct efadv_qp_init_attr *efa, uint32_t size)
{
	(void)context;
	if (size < offsetof(struct efadv_qp_init_attr, flags)) {
		errno = EINVAL;
		return NULL;
	}
	return create(attr, size >= sizeof(*efa) && (efa->flags & EFA_QP_UNSOLICITED_WRITE_RECV));
}

/*
 * Only datagram endpoints of the provider call this. The device does not simulate them: README.md.
 */
struct ibv_qp *efa_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	(void)context;
	return create(attr, 0);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return container_of(qp, struct ibv_qp_ex, qp_base);
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
	struct soft_qp *qp = container_of(base, struct soft_qp, ex.qp_base);
	struct seg_qp *entry = &efa_seg->qp[qp->index];

	if (!efa_qp_own(qp))
		return EINVAL;
	if (mask & IBV_QP_QKEY)
		entry->qkey = attr->qkey;
	if (mask & IBV_QP_RNR_RETRY)
		qp->rnr_retry = attr->rnr_retry;
	if (mask & IBV_QP_STATE) {
		base->state = attr->qp_state;
		atomic_store(&entry->ready,
			     base->state == IBV_QPS_RTR || base->state == IBV_QPS_RTS);
	}
	return 0;
}

/* Nothing arrives afterwards. Completions that were not read are discarded. */
static void withdraw(struct soft_qp *qp)
{
	struct seg_qp *entry = &efa_seg->qp[qp->index];

	atomic_store(&entry->ready, 0);
	atomic_store(&entry->qpn, 0);
	seg_await_qp(efa_seg, qp->index, efa_slot);
	efa_engine_cancel(qp);
	efa_cq_forget(qp);
	seg_free_queue(efa_seg, qp->index);
	atomic_store(&entry->owner, 0);
}

int ibv_destroy_qp(struct ibv_qp *base)
{
	struct soft_qp *qp = container_of(base, struct soft_qp, ex.qp_base);
	struct soft_qp **link = &qps;

	pthread_mutex_lock(&efa_lock);
	while (*link && *link != qp)
		link = &(*link)->next;
	if (*link)
		*link = qp->next;
	if (table[qp->index] == qp)
		table[qp->index] = NULL;
	efa_drop_staged(qp);
	if (efa_qp_own(qp))
		withdraw(qp);
	pthread_mutex_unlock(&efa_lock);
	free_qp(qp);
	return 0;
}

/* Bytes of a write arrive in any order, unless a setting promises order in blocks of 128 bytes. */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp, (void)op;
	return flags && efa_set.in_order_128 ? 1 << 1 : 0;
}
