/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Moves data between processes: a message into a receive, or a piece of an RDMA operation. The
 * initiator does all the work, so it can read and write a stopped target as hardware does.
 */
#include "softefa.h"

#include <errno.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

/* The queue pair at the other end. A hazard of this process protects it. */
struct target {
	uint32_t index, proc;
	struct seg_qp *qp;
	pid_t pid;
};

static void release(void)
{
	atomic_store(&efa_me->hazard_mr, 0);
	atomic_store(&efa_me->hazard_qp, 0);
}

static int is_held(const struct target *to)
{
	return atomic_load(&efa_me->hazard_qp) == to->index + 1;
}

static int check_target(const struct op *op, struct target *to)
{
	uint32_t owner = atomic_load(&to->qp->owner);

	if (!owner || atomic_load(&to->qp->qpn) != op->qpn || !atomic_load(&to->qp->ready) ||
	    to->qp->qkey != op->qkey)
		return EFA_REMOTE_BAD_DEST_QPN;
	to->proc = owner - 1;
	to->pid = efa_seg->proc[to->proc].pid;
	if (efa_seg->proc[to->proc].host != op->host)
		return EFA_REMOTE_BAD_DEST_QPN;
	if (atomic_load(&efa_seg->proc[to->proc].silent) || atomic_load(&efa_me->silent))
		return MOVE_SILENT;
	return EFA_OK;
}

static int hold(const struct op *op, struct target *to)
{
	int ret;

	if (op->host >= efa_set.hosts)
		return EFA_LOCAL_UNREACHABLE;
	to->index = op->qpn % efa_stride();
	to->qp = &efa_seg->qp[to->index];
	atomic_store(&efa_me->hazard_qp, to->index + 1);
	ret = check_target(op, to);
	if (ret)
		release();
	return ret;
}

/* --- memory --- */

static int check_local(const struct op *op, uint32_t access)
{
	for (uint32_t i = 0; !op->is_inline && i < op->nsge; i++)
		if (!efa_lkey_covers(op->sge[i].lkey, op->sge[i].addr, op->sge[i].length,
				     op->qp->pd, access))
			return EFA_LOCAL_INVALID_LKEY;
	return EFA_OK;
}

/* The part of the request's buffers that is [offset, offset + length). */
static int local_iov(struct op *op, uint64_t offset, uint64_t length, struct iovec *iov)
{
	int count = 0;

	if (op->is_inline) {
		iov[0] = (struct iovec){op->data + offset, length};
		return 1;
	}
	for (uint32_t i = 0; i < op->nsge && length; i++) {
		uint64_t part = op->sge[i].length;

		if (offset >= part) {
			offset -= part;
			continue;
		}
		part = part - offset < length ? part - offset : length;
		iov[count++] = (struct iovec){(void *)(uintptr_t)(op->sge[i].addr + offset), part};
		offset = 0;
		length -= part;
	}
	return count;
}

static void complain_of_permission(void)
{
	static int once;

	if (!once++)
		fprintf(stderr, "softefa: process_vm_writev: not permitted; set "
				"kernel.yama.ptrace_scope to 0 or run as root\n");
}

static int transfer(int is_read, pid_t pid, struct iovec *here, int count, uint64_t there,
		    uint64_t length)
{
	struct iovec remote = {(void *)(uintptr_t)there, length};
	ssize_t done;

	if (!length)
		return EFA_OK;
	done = is_read ? process_vm_readv(pid, here, (unsigned long)count, &remote, 1, 0)
		       : process_vm_writev(pid, here, (unsigned long)count, &remote, 1, 0);
	if (done == (ssize_t)length)
		return EFA_OK;
	if (done < 0 && errno == ESRCH)
		return EFA_REMOTE_BAD_DEST_QPN; /* the process has just died */
	if (done < 0 && errno == EPERM)
		complain_of_permission();
	return EFA_REMOTE_BAD_ADDRESS;
}

/* --- messages --- */

static struct seg_ring *ring_of(uint32_t qp, int unsolicited)
{
	return unsolicited ? &efa_seg->queue[qp].unsolicited : &efa_seg->queue[qp].recv;
}

/* Claims a node for this process. Returns SEG_NODES if none is left. */
static uint32_t claim(uint32_t qp, int unsolicited)
{
	struct seg_ring *ring = ring_of(qp, unsolicited);
	uint32_t me = seg_claimer(efa_seg, efa_slot);

	for (;;) {
		uint64_t head = atomic_load(&ring->head), want = node_claim(head, 0);
		uint32_t node;
		int mine;

		if (head >= atomic_load(&ring->tail))
			return SEG_NODES;
		node = atomic_load(&ring->slot[head % SEG_RECVS]) % SEG_NODES;
		mine = atomic_compare_exchange_strong(&efa_seg->queue[qp].node[node].claim, &want,
						      node_claim(head, me));
		/* The process that claimed it may have died, so every process advances the head. */
		atomic_compare_exchange_strong(&ring->head, &head, head + 1);
		if (mine)
			return node;
	}
}

static int no_receive(const struct target *to)
{
	int is_dead = to->proc != efa_slot && seg_is_dead(efa_seg, to->proc);

	release();
	if (!is_dead)
		return MOVE_AGAIN;
	seg_bury_dead(efa_seg);
	return EFA_REMOTE_BAD_DEST_QPN;
}

static uint32_t capacity(const struct seg_node *node)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < node->nsge; i++)
		sum += node->sge[i].length;
	return sum;
}

/* The receiver's key for its buffer is checked when the message comes. */
static int fill_part(struct op *op, const struct target *to, const struct seg_sge *sge,
		     uint32_t offset, uint32_t length)
{
	struct iovec iov[OP_SGES];
	struct seg_mr *mr;

	atomic_store(&efa_me->hazard_mr, (sge->lkey & 0xffff) + 1);
	mr = efa_mr_find(sge->lkey);
	if (!mr || mr->pd != to->qp->pd || atomic_load(&mr->owner) != to->proc + 1 ||
	    sge->addr < mr->addr || sge->addr + length > mr->addr + mr->length)
		return EFA_LOCAL_INVALID_LKEY;
	return transfer(0, to->pid, iov, local_iov(op, offset, length, iov), sge->addr, length);
}

static int fill(struct op *op, const struct target *to, const struct seg_node *node)
{
	uint32_t offset = 0;
	int ret = EFA_OK;

	if (op->length > capacity(node))
		return EFA_LOCAL_BAD_LENGTH;
	for (uint32_t i = 0; !ret && offset < op->length; i++) {
		uint32_t part = op->length - offset;

		if (part > node->sge[i].length)
			part = node->sge[i].length;
		ret = fill_part(op, to, &node->sge[i], offset, part);
		offset += part;
	}
	return ret;
}

static void finish_node(const struct op *op, const struct target *to, uint32_t index,
			uint32_t vendor_err)
{
	struct seg_node *node = &efa_seg->queue[to->index].node[index];

	node->vendor_err = vendor_err;
	node->byte_len = op->length;
	node->has_imm = (uint8_t)op->has_imm;
	node->imm = op->imm;
	node->is_write = op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	node->src_qpn = op->qp->ex.qp_base.qp_num;
	node->src_host = (uint16_t)efa_set.host;
	if (is_held(to))
		efa_cq_push(to->qp->cq, node_ref(to->index, index));
}

/* Ends a message at both sides, also if the receiver's buffer is not valid. */
static int end_message(const struct op *op, const struct target *to, uint32_t index, int ret)
{
	switch (ret) {
	case EFA_OK:
		finish_node(op, to, index, EFA_OK);
		break;
	case EFA_LOCAL_BAD_LENGTH:
		finish_node(op, to, index, EFA_LOCAL_BAD_LENGTH);
		ret = EFA_REMOTE_BAD_LENGTH;
		break;
	case EFA_LOCAL_INVALID_LKEY:
		finish_node(op, to, index, EFA_LOCAL_INVALID_LKEY);
		ret = EFA_REMOTE_ABORT;
		break;
	default:
		finish_node(op, to, index, NODE_UNUSED);
		break;
	}
	return ret;
}

static int send_message(struct op *op)
{
	struct target to;
	uint32_t index;
	int ret = check_local(op, 0);

	if (!ret && op->length > efa_set.mtu)
		ret = EFA_LOCAL_BAD_LENGTH;
	if (!ret)
		ret = hold(op, &to);
	if (ret)
		return ret;
	index = claim(to.index, 0);
	if (index == SEG_NODES)
		return no_receive(&to);
	ret = end_message(op, &to, index, fill(op, &to, &efa_seg->queue[to.index].node[index]));
	release();
	return ret;
}

/* --- RDMA --- */

static int check_remote(const struct op *op, const struct target *to, uint32_t access)
{
	const struct seg_mr *mr;

	if (!(atomic_load(&efa_seg->proc[to->proc].ah_hosts) >> efa_set.host & 1))
		return EFA_REMOTE_UNKNOWN_PEER;
	atomic_store(&efa_me->hazard_mr, (op->rkey & 0xffff) + 1);
	mr = efa_mr_find(op->rkey);
	if (!mr || atomic_load(&mr->owner) != to->proc + 1 || mr->pd != to->qp->pd ||
	    !(mr->access & access) || op->raddr < mr->addr || op->length > mr->length ||
	    op->raddr - mr->addr > mr->length - op->length)
		return EFA_REMOTE_BAD_ADDRESS;
	return EFA_OK;
}

static int rdma(struct op *op, uint32_t offset, uint32_t length)
{
	int is_read = op->opcode == IBV_WR_RDMA_READ;
	struct iovec iov[OP_SGES];
	struct target to;
	int ret = check_local(op, is_read ? IBV_ACCESS_LOCAL_WRITE : 0);

	if (!ret && op->length > efa_set.max_rdma)
		ret = EFA_LOCAL_BAD_LENGTH;
	if (!ret && efa_set.part < (is_read ? 0xefa1 : 0xefa2))
		ret = EFA_LOCAL_UNSUPPORTED_OP;
	if (!ret)
		ret = hold(op, &to);
	if (ret)
		return ret;
	ret = check_remote(op, &to, is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE);
	if (!ret)
		ret = transfer(is_read, to.pid, iov, local_iov(op, offset, length, iov),
			       op->raddr + offset, length);
	release();
	return ret;
}

/* Makes the completion at the target, without a receive if the queue pair was created for that. */
int efa_move_end(struct op *op)
{
	struct target to;
	uint32_t index;
	int ret = hold(op, &to);

	if (ret)
		return ret;
	index = claim(to.index, (int)to.qp->unsolicited);
	if (index == SEG_NODES)
		return no_receive(&to);
	finish_node(op, &to, index, EFA_OK);
	release();
	return EFA_OK;
}

int efa_move(struct op *op, uint32_t offset, uint32_t length)
{
	switch (op->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return send_message(op);
	default:
		return rdma(op, offset, length);
	}
}
