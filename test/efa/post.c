/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posts: work requests are staged between wr_start and wr_complete and then given to the engine. */
#include "softefa.h"

#include <errno.h>
#include <string.h>

/* --- the functions of ibv_qp_ex --- */

static struct soft_qp *soft(struct ibv_qp_ex *ex)
{
	return container_of(ex, struct soft_qp, ex);
}

void efa_drop_staged(struct soft_qp *qp)
{
	struct op *op = qp->staged, *next;

	for (; op; op = next) {
		next = op->next;
		efa_op_free(op);
	}
	qp->staged = NULL;
	qp->staged_last = &qp->staged;
	qp->staged_count = qp->staged_error = 0;
}

static struct op *last_staged(struct ibv_qp_ex *ex)
{
	struct soft_qp *qp = soft(ex);

	return qp->staged ? container_of(qp->staged_last, struct op, next) : NULL;
}

static struct op *stage(struct soft_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id)
{
	struct op *op;

	if (qp->in_flight + qp->staged_count >= qp->max_send || !(op = efa_op_new())) {
		qp->staged_error = ENOMEM;
		return NULL;
	}
	op->qp = qp;
	op->opcode = opcode;
	op->wr_id = wr_id;
	*qp->staged_last = op;
	qp->staged_last = &op->next;
	qp->staged_count++;
	return op;
}

static void set_imm(struct op *op, uint32_t imm)
{
	if (!op)
		return;
	op->has_imm = 1;
	op->imm = imm;
}

static struct op *stage_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
			     uint64_t raddr)
{
	struct op *op = stage(soft(ex), opcode, ex->wr_id);

	if (op) {
		op->rkey = rkey;
		op->raddr = raddr;
	}
	return op;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	pthread_mutex_lock(&efa_lock);
	efa_drop_staged(soft(ex));
	pthread_mutex_unlock(&efa_lock);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	stage(soft(ex), IBV_WR_SEND, ex->wr_id);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	set_imm(stage(soft(ex), IBV_WR_SEND_WITH_IMM, ex->wr_id), imm);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr)
{
	stage_rdma(ex, IBV_WR_RDMA_READ, rkey, raddr);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr)
{
	stage_rdma(ex, IBV_WR_RDMA_WRITE, rkey, raddr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr, __be32 imm)
{
	set_imm(stage_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, raddr), imm);
}

static void set_address(struct op *op, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	op->host = container_of(ah, struct soft_ah, ah)->host;
	op->qpn = qpn;
	op->qkey = qkey;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct op *op = last_staged(ex);

	if (op)
		set_address(op, ah, qpn, qkey);
}

static void add_sge(struct soft_qp *qp, struct op *op, const struct ibv_sge *sge)
{
	if (op->nsge == OP_SGES) {
		qp->staged_error = EINVAL;
		return;
	}
	op->sge[op->nsge++] = *sge;
	op->length += sge->length;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *list)
{
	struct op *op = last_staged(ex);

	for (size_t i = 0; op && i < count; i++)
		add_sge(soft(ex), op, &list[i]);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(ex, 1, &sge);
}

static void add_inline(struct soft_qp *qp, struct op *op, const void *data, size_t length)
{
	if (op->opcode != IBV_WR_SEND && op->opcode != IBV_WR_SEND_WITH_IMM)
		qp->staged_error = EINVAL; /* no inline RDMA on these cards */
	else if (op->length + length > efa_set.inline_size)
		qp->staged_error = EINVAL;
	else
		memcpy(op->data + op->length, data, length);
	op->is_inline = 1;
	op->length += (uint32_t)length;
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count,
				    const struct ibv_data_buf *list)
{
	struct op *op = last_staged(ex);

	for (size_t i = 0; op && i < count; i++)
		add_inline(soft(ex), op, list[i].addr, list[i].length);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = {.addr = addr, .length = length};

	wr_set_inline_data_list(ex, 1, &buf);
}

static int submit(struct soft_qp *qp)
{
	struct op *list = qp->staged;
	int error = (int)qp->staged_error;

	if (!error && qp->ex.qp_base.state != IBV_QPS_RTS)
		error = EINVAL;
	if (error || !efa_qp_own(qp)) {
		efa_drop_staged(qp);
		return error ? error : EINVAL;
	}
	qp->in_flight += qp->staged_count;
	qp->staged = NULL;
	qp->staged_last = &qp->staged;
	qp->staged_count = 0;
	efa_engine_submit(list);
	return 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	int ret;

	pthread_mutex_lock(&efa_lock);
	ret = submit(soft(ex));
	pthread_mutex_unlock(&efa_lock);
	return ret;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	wr_start(ex);
}

void efa_post_functions(struct ibv_qp_ex *ex)
{
	ex->wr_start = wr_start;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
}

/* --- the older calls: libfabric 1.17 sends and all versions receive by them --- */

static void stage_wr(struct soft_qp *qp, const struct ibv_send_wr *wr)
{
	struct op *op = stage(qp, wr->opcode, wr->wr_id);

	if (!op)
		return;
	if (wr->opcode == IBV_WR_SEND_WITH_IMM)
		set_imm(op, wr->imm_data);
	else if (wr->opcode != IBV_WR_SEND)
		qp->staged_error = EINVAL;
	set_address(op, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	for (int i = 0; i < wr->num_sge; i++)
		if (wr->send_flags & IBV_SEND_INLINE)
			add_inline(qp, op, (const void *)(uintptr_t)wr->sg_list[i].addr,
				   wr->sg_list[i].length);
		else
			add_sge(qp, op, &wr->sg_list[i]);
}

/* Requests before the one that fails are sent. */
int efa_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct soft_qp *qp = container_of(base, struct soft_qp, ex.qp_base);
	int ret = 0;

	pthread_mutex_lock(&efa_lock);
	for (; wr && !ret; wr = ret ? wr : wr->next) {
		efa_drop_staged(qp);
		stage_wr(qp, wr);
		ret = submit(qp);
	}
	if (ret)
		*bad = wr;
	pthread_mutex_unlock(&efa_lock);
	return ret;
}

void efa_put_node(struct soft_qp *qp, uint32_t index)
{
	struct seg_ring *ring = index < SEG_RECVS ? &efa_seg->queue[qp->index].recv
						  : &efa_seg->queue[qp->index].unsolicited;
	uint64_t position = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	qp->posted[index] = 1;
	atomic_store(&efa_seg->queue[qp->index].node[index].claim, node_claim(position, 0));
	atomic_store(&ring->slot[position % SEG_RECVS], index);
	atomic_store(&ring->tail, position + 1);
}

static int post_one(struct soft_qp *qp, const struct ibv_recv_wr *wr)
{
	struct seg_node *node;
	uint32_t index;

	if (wr->num_sge > SEG_SGES || !efa_qp_own(qp))
		return EINVAL;
	if (!qp->free_nodes)
		return ENOMEM;
	index = qp->free_node[--qp->free_nodes];
	node = &efa_seg->queue[qp->index].node[index];
	node->wr_id = wr->wr_id;
	node->nsge = (uint32_t)wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++)
		node->sge[i] = (struct seg_sge){wr->sg_list[i].addr, wr->sg_list[i].length,
						wr->sg_list[i].lkey};
	efa_put_node(qp, index);
	return 0;
}

int efa_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct soft_qp *qp = container_of(base, struct soft_qp, ex.qp_base);
	int ret = 0;

	pthread_mutex_lock(&efa_lock);
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = post_one(qp, wr);
	if (ret)
		*bad = wr;
	pthread_mutex_unlock(&efa_lock);
	return ret;
}
