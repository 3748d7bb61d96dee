/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues. Completions of this process's requests are in a private list, completions of
 * receives in a shared list of nodes. The card is locked from start_poll to end_poll.
 */
#include "softefa.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

static struct soft_cq *cqs[SEG_CQS];
static struct wc *spare;
static uint32_t deaths_seen;

/* --- adding completions --- */

static struct wc *wc_new(void)
{
	struct wc *wc = spare;

	if (!wc)
		return calloc(1, sizeof(*wc));
	spare = wc->next;
	*wc = (struct wc){0};
	return wc;
}

static enum ibv_wc_opcode opcode_of(enum ibv_wr_opcode opcode)
{
	if (!efa_names_reads)
		return IBV_WC_SEND;
	switch (opcode) {
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	default:
		return IBV_WC_SEND;
	}
}

void efa_cq_complete(const struct op *op, uint32_t vendor_err)
{
	struct soft_cq *cq = op->qp->send_cq;
	struct wc *wc = wc_new();

	if (!wc)
		abort(); /* a card does not lose a completion */
	wc->qp = op->qp;
	wc->wr_id = op->wr_id;
	wc->opcode = opcode_of(op->opcode);
	wc->vendor_err = vendor_err;
	wc->byte_len = op->length;
	wc->qpn = op->qp->ex.qp_base.qp_num;
	*cq->last = wc;
	cq->last = &wc->next;
	efa_notify(cq->index);
}

void efa_cq_push(uint32_t cq, uint32_t ref)
{
	struct seg_cq *entry = &efa_seg->cq[cq];
	struct seg_node *node = node_at(efa_seg, ref);
	uint32_t head = atomic_load(&entry->head);

	do
		node->next = head;
	while (!atomic_compare_exchange_weak(&entry->head, &head, ref));
	efa_notify(cq);
}

/* --- reading completions --- */

static struct soft_qp *qp_of(uint32_t ref)
{
	return efa_qp_at((ref - 1) / SEG_NODES);
}

/* Takes the shared list, which is newest first, and appends it in order to the received nodes. */
static void collect(struct soft_cq *cq)
{
	uint32_t ref = atomic_exchange(&efa_seg->cq[cq->index].head, 0), list = 0, next;
	uint32_t *tail = &cq->received;

	for (; ref; ref = next) {
		struct soft_qp *qp = qp_of(ref);

		next = node_at(efa_seg, ref)->next;
		if (!qp)
			continue;
		qp->posted[(ref - 1) % SEG_NODES] = 2;
		node_at(efa_seg, ref)->next = list;
		list = ref;
	}
	while (*tail)
		tail = &node_at(efa_seg, *tail)->next;
	*tail = list;
}

static int is_claimer_gone(uint64_t claim)
{
	uint32_t claimer = claim & 0xffffff, proc = (claimer & 0xfff) - 1;

	return claimer &&
	       (seg_claimer(efa_seg, proc) != claimer || !atomic_load(&efa_seg->proc[proc].state));
}

/* Takes back receives that a sender claimed and did not fill before it died. */
static void take_back_from_dead(void)
{
	uint32_t deaths = atomic_load(&efa_seg->deaths);

	if (deaths == deaths_seen)
		return;
	deaths_seen = deaths;
	for (uint32_t i = 0; i < SEG_CQS; i++)
		if (cqs[i])
			collect(cqs[i]);
	for (struct soft_qp *qp = efa_qps(); qp; qp = qp->next)
		for (uint32_t i = 0; efa_qp_own(qp) && i < SEG_NODES; i++)
			if (qp->posted[i] == 1 &&
			    is_claimer_gone(atomic_load(&efa_seg->queue[qp->index].node[i].claim)))
				efa_put_node(qp, i);
}

static void read_node(struct wc *wc, struct soft_qp *qp, const struct seg_node *node)
{
	wc->qp = qp;
	wc->wr_id = node->wr_id;
	wc->opcode = node->is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	wc->vendor_err = node->vendor_err;
	wc->byte_len = node->byte_len;
	wc->imm = node->imm;
	wc->has_imm = node->has_imm;
	wc->qpn = qp->ex.qp_base.qp_num;
	wc->src_qpn = node->src_qpn;
	wc->src_host = node->src_host;
	wc->is_receive = 1;
}

static int next_received(struct soft_cq *cq)
{
	for (;;) {
		uint32_t ref = cq->received, index;
		struct soft_qp *qp;
		struct seg_node *node;

		if (!ref)
			collect(cq);
		ref = cq->received;
		if (!ref)
			return 0;
		node = node_at(efa_seg, ref);
		index = (ref - 1) % SEG_NODES;
		cq->received = node->next;
		qp = qp_of(ref);
		if (node->vendor_err == NODE_UNUSED) {
			efa_put_node(qp, index);
			continue;
		}
		cq->now = (struct wc){0};
		read_node(&cq->now, qp, node);
		if (index < SEG_RECVS) {
			qp->posted[index] = 0;
			qp->free_node[qp->free_nodes++] = index;
		} else {
			cq->now.is_unsolicited = 1;
			cq->now.wr_id = 0;
			efa_put_node(qp, index);
		}
		return 1;
	}
}

static int next_own(struct soft_cq *cq)
{
	struct wc *wc = cq->first;

	if (!wc)
		return 0;
	cq->first = wc->next;
	if (!cq->first)
		cq->last = &cq->first;
	cq->now = *wc;
	cq->now.qp->in_flight--;
	wc->next = spare;
	spare = wc;
	return 1;
}

static enum ibv_wc_status status_of(uint32_t vendor_err)
{
	switch (vendor_err) {
	case EFA_OK:
		return IBV_WC_SUCCESS;
	case EFA_FLUSHED:
		return IBV_WC_WR_FLUSH_ERR;
	case EFA_LOCAL_INVALID_LKEY:
		return IBV_WC_LOC_PROT_ERR;
	case EFA_LOCAL_BAD_LENGTH:
		return IBV_WC_LOC_LEN_ERR;
	case EFA_REMOTE_BAD_ADDRESS:
		return IBV_WC_REM_ACCESS_ERR;
	case EFA_REMOTE_RNR:
		return IBV_WC_RNR_RETRY_EXC_ERR;
	case EFA_LOCAL_UNRESPONSIVE:
		return IBV_WC_RESP_TIMEOUT_ERR;
	default:
		return IBV_WC_GENERAL_ERR;
	}
}

/* Alternates between both kinds, so that neither starves. */
static int next(struct soft_cq *cq)
{
	int found = cq->turn++ % 2 ? next_own(cq) || next_received(cq)
				   : next_received(cq) || next_own(cq);

	if (!found)
		return ENOENT;
	cq->ex.wr_id = cq->now.wr_id;
	cq->ex.status = status_of(cq->now.vendor_err);
	return 0;
}

static struct soft_cq *soft(struct ibv_cq_ex *ex)
{
	return container_of(ex, struct soft_cq, ex);
}

static int is_own(const struct soft_cq *cq)
{
	return efa_me && cq->slot_gen == efa_me->gen && cqs[cq->index] == cq &&
	       atomic_load(&efa_seg->cq[cq->index].owner) == efa_slot + 1;
}

/*
 * Programs poll all the time. If there are fewer processors than programs, the peer needs the
 * processor.
 */
static void rest(int found_nothing)
{
	static _Thread_local uint32_t vain;

	vain = found_nothing ? vain + 1 : 0;
	if (efa_set.yield_every && vain && vain % efa_set.yield_every == 0)
		sched_yield();
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	int ret;

	if (attr->comp_mask)
		return EINVAL;
	pthread_mutex_lock(&efa_lock);
	ret = is_own(soft(ex)) ? 0 : ENOENT;
	if (!ret) {
		efa_engine_step();
		take_back_from_dead();
		ret = next(soft(ex));
	}
	if (ret)
		pthread_mutex_unlock(&efa_lock);
	rest(ret);
	return ret;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return next(soft(ex));
}

static void end_poll(struct ibv_cq_ex *ex)
{
	(void)ex;
	pthread_mutex_unlock(&efa_lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return soft(ex)->now.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return soft(ex)->now.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return soft(ex)->now.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return soft(ex)->now.imm;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return soft(ex)->now.qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return soft(ex)->now.src_qpn;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return soft(ex)->now.has_imm ? IBV_WC_WITH_IMM : 0;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return efa_ahn_of(soft(ex)->now.src_host);
}

static uint8_t read_zero(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

/*
 * The provider calls this if it has no handle for the sender. A negative result means it has one.
 */
static int read_sgid(struct efadv_cq *dv, union ibv_gid *gid)
{
	const struct soft_cq *cq = container_of(dv, struct soft_cq, dv);

	if (efa_ahn_of(cq->now.src_host) != 0xffff)
		return -ENOENT;
	efa_gid_of(cq->now.src_host, gid);
	return 0;
}

static bool is_unsolicited(struct efadv_cq *dv)
{
	return container_of(dv, struct soft_cq, dv)->now.is_unsolicited;
}

/* --- creation and destruction --- */

static void describe(struct soft_cq *cq, struct ibv_context *context,
		     const struct ibv_cq_init_attr_ex *attr)
{
	cq->ex.context = context;
	cq->ex.channel = attr->channel;
	cq->ex.cq_context = attr->cq_context;
	cq->ex.cqe = (int)attr->cqe;
	cq->ex.start_poll = start_poll;
	cq->ex.next_poll = next_poll;
	cq->ex.end_poll = end_poll;
	cq->ex.read_opcode = read_opcode;
	cq->ex.read_vendor_err = read_vendor_err;
	cq->ex.read_byte_len = read_byte_len;
	cq->ex.read_imm_data = read_imm_data;
	cq->ex.read_qp_num = read_qp_num;
	cq->ex.read_src_qp = read_src_qp;
	cq->ex.read_wc_flags = read_wc_flags;
	cq->ex.read_slid = read_slid;
	cq->ex.read_sl = cq->ex.read_dlid_path_bits = read_zero;
	cq->dv.wc_read_sgid = read_sgid;
	cq->dv.wc_is_unsolicited = is_unsolicited;
	cq->last = &cq->first;
}

static uint32_t take_entry(void)
{
	for (uint32_t i = 0; i < efa_set.max_cq; i++) {
		uint32_t free_entry = 0;

		if (atomic_compare_exchange_strong(&efa_seg->cq[i].owner, &free_entry,
						   efa_slot + 1))
			return i;
	}
	return SEG_CQS;
}

struct ibv_cq_ex *efa_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct soft_cq *cq;

	if (efa_attach() || !(cq = calloc(1, sizeof(*cq))))
		return NULL;
	describe(cq, context, attr);
	pthread_mutex_lock(&efa_lock);
	cq->index = take_entry();
	if (cq->index < SEG_CQS) {
		cq->slot_gen = efa_me->gen;
		atomic_store(&efa_seg->cq[cq->index].head, 0);
		atomic_store(&efa_seg->cq[cq->index].armed, 0);
		efa_seg->cq[cq->index].channel = efa_channel_id(attr->channel);
		cqs[cq->index] = cq;
	}
	pthread_mutex_unlock(&efa_lock);
	if (cq->index < SEG_CQS)
		return &cq->ex;
	free(cq);
	errno = ENOMEM;
	return NULL;
}

struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
				  struct efadv_cq_init_attr *efa, uint32_t size)
{
	(void)efa, (void)size;
	return efa_create_cq_ex(context, attr);
}

struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *ex)
{
	return &soft(ex)->dv;
}

struct ibv_cq *efa_cq_at(uint32_t index)
{
	return index < SEG_CQS && cqs[index] ? ibv_cq_ex_to_cq(&cqs[index]->ex) : NULL;
}

int efa_req_notify(struct ibv_cq *base, int solicited_only)
{
	struct soft_cq *cq = container_of((struct ibv_cq_ex *)base, struct soft_cq, ex);

	(void)solicited_only;
	atomic_store(&efa_seg->cq[cq->index].armed, 1);
	return 0;
}

int ibv_destroy_cq(struct ibv_cq *base)
{
	struct soft_cq *cq = container_of((struct ibv_cq_ex *)base, struct soft_cq, ex);

	pthread_mutex_lock(&efa_lock);
	for (struct soft_qp *qp = efa_qps(); qp; qp = qp->next)
		if (qp->send_cq == cq || qp->recv_cq == cq) {
			pthread_mutex_unlock(&efa_lock);
			return EBUSY;
		}
	if (is_own(cq))
		atomic_store(&efa_seg->cq[cq->index].owner, 0);
	if (cqs[cq->index] == cq)
		cqs[cq->index] = NULL;
	pthread_mutex_unlock(&efa_lock);
	free(cq);
	return 0;
}

/* --- completions of destroyed queue pairs --- */

static void forget_own(struct soft_cq *cq, const struct soft_qp *qp)
{
	struct wc **link = &cq->first;

	while (*link) {
		struct wc *wc = *link;

		if (wc->qp != qp) {
			link = &wc->next;
			continue;
		}
		*link = wc->next;
		wc->next = spare;
		spare = wc;
	}
	cq->last = link;
}

static void forget_received(struct soft_cq *cq, const struct soft_qp *qp)
{
	uint32_t *link = &cq->received;

	collect(cq);
	while (*link)
		if ((*link - 1) / SEG_NODES == qp->index)
			*link = node_at(efa_seg, *link)->next;
		else
			link = &node_at(efa_seg, *link)->next;
}

void efa_cq_forget(struct soft_qp *qp)
{
	forget_own(qp->send_cq, qp);
	forget_received(qp->recv_cq, qp);
}
