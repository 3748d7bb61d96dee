/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libfabric's calls that post. Each makes a struct sham_op. */
#include "sham.h"

#include <string.h>

/* Calls without flags use those of the endpoint. */
static struct sham_op op_begin(struct fid_ep *ep, enum sham_kind kind, fi_addr_t addr,
			       void *context)
{
	struct sham_op op = {
		.ep = sham_ep_of(ep),
		.kind = kind,
		.addr = addr,
		.context = context,
	};

	op.flags = kind == SHAM_RECV ? op.ep->rx_flags : op.ep->tx_flags;
	return op;
}

/* -FI_EINVAL if there are more segments than any profile allows. */
static ssize_t op_segments(struct sham_op *op, const struct iovec *iov, void **desc, size_t count)
{
	if (count > SHAM_IOV)
		return -FI_EINVAL;
	op->niov = count;
	op->segments = iov;
	if (count)
		memcpy(op->iov, iov, count * sizeof(*iov));
	if (desc)
		memcpy(op->desc, desc, count * sizeof(*desc));
	return 0;
}

static void op_buffer(struct sham_op *op, const void *buf, size_t len, void *desc)
{
	op->iov[0] = (struct iovec){.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
	op->desc[0] = desc;
	op->niov = 1;
}

/* fi_inject and similar calls: no context, no completion, the buffer is free at once. */
static void op_inject(struct sham_op *op)
{
	op->injected = true;
	op->flags = (op->flags & ~(uint64_t)FI_COMPLETION) | FI_INJECT;
}

static void op_data(struct sham_op *op, uint64_t data)
{
	op->data = data;
	op->flags |= FI_REMOTE_CQ_DATA;
}

/* --- messages without a tag --- */

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src,
			void *context)
{
	struct sham_op op = op_begin(ep, SHAM_RECV, src, context);

	op_buffer(&op, buf, len, desc);
	return sham_op_post(&op);
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, void *context)
{
	struct sham_op op = op_begin(ep, SHAM_RECV, src, context);
	ssize_t ret = op_segments(&op, iov, desc, count);

	return ret ? ret : sham_op_post(&op);
}

static ssize_t msg_message(struct fid_ep *ep, enum sham_kind kind, const struct fi_msg *msg,
			   uint64_t flags)
{
	struct sham_op op = op_begin(ep, kind, msg->addr, msg->context);
	ssize_t ret = op_segments(&op, msg->msg_iov, msg->desc, msg->iov_count);

	op.flags = flags;
	op.data = msg->data;
	return ret ? ret : sham_op_post(&op);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return msg_message(ep, SHAM_RECV, msg, flags);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest,
			void *context)
{
	struct sham_op op = op_begin(ep, SHAM_SEND, dest, context);

	op_buffer(&op, buf, len, desc);
	return sham_op_post(&op);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest, void *context)
{
	struct sham_op op = op_begin(ep, SHAM_SEND, dest, context);
	ssize_t ret = op_segments(&op, iov, desc, count);

	return ret ? ret : sham_op_post(&op);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return msg_message(ep, SHAM_SEND, msg, flags);
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	struct sham_op op = op_begin(ep, SHAM_SEND, dest, NULL);

	op_buffer(&op, buf, len, NULL);
	op_inject(&op);
	return sham_op_post(&op);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest, void *context)
{
	struct sham_op op = op_begin(ep, SHAM_SEND, dest, context);

	op_buffer(&op, buf, len, desc);
	op_data(&op, data);
	return sham_op_post(&op);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest)
{
	struct sham_op op = op_begin(ep, SHAM_SEND, dest, NULL);

	op_buffer(&op, buf, len, NULL);
	op_inject(&op);
	op_data(&op, data);
	return sham_op_post(&op);
}

struct fi_ops_msg sham_msg_ops = {
	.size = sizeof(sham_msg_ops),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};

/* --- messages with a tag --- */

static struct sham_op tagged_begin(struct fid_ep *ep, enum sham_kind kind, fi_addr_t addr,
				   uint64_t tag, void *context)
{
	struct sham_op op = op_begin(ep, kind, addr, context);

	op.tagged = true;
	op.tag = tag;
	return op;
}

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src,
			   uint64_t tag, uint64_t ignore, void *context)
{
	struct sham_op op = tagged_begin(ep, SHAM_RECV, src, tag, context);

	op.ignore = ignore;
	op_buffer(&op, buf, len, desc);
	return sham_op_post(&op);
}

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	struct sham_op op = tagged_begin(ep, SHAM_RECV, src, tag, context);
	ssize_t ret = op_segments(&op, iov, desc, count);

	op.ignore = ignore;
	return ret ? ret : sham_op_post(&op);
}

static ssize_t tagged_message(struct fid_ep *ep, enum sham_kind kind,
			      const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct sham_op op = tagged_begin(ep, kind, msg->addr, msg->tag, msg->context);
	ssize_t ret = op_segments(&op, msg->msg_iov, msg->desc, msg->iov_count);

	op.flags = flags;
	op.data = msg->data;
	op.ignore = kind == SHAM_RECV ? msg->ignore : 0;
	return ret ? ret : sham_op_post(&op);
}

static ssize_t tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return tagged_message(ep, SHAM_RECV, msg, flags);
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			   fi_addr_t dest, uint64_t tag, void *context)
{
	struct sham_op op = tagged_begin(ep, SHAM_SEND, dest, tag, context);

	op_buffer(&op, buf, len, desc);
	return sham_op_post(&op);
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t dest, uint64_t tag, void *context)
{
	struct sham_op op = tagged_begin(ep, SHAM_SEND, dest, tag, context);
	ssize_t ret = op_segments(&op, iov, desc, count);

	return ret ? ret : sham_op_post(&op);
}

static ssize_t tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return tagged_message(ep, SHAM_SEND, msg, flags);
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest,
			     uint64_t tag)
{
	struct sham_op op = tagged_begin(ep, SHAM_SEND, dest, tag, NULL);

	op_buffer(&op, buf, len, NULL);
	op_inject(&op);
	return sham_op_post(&op);
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	struct sham_op op = tagged_begin(ep, SHAM_SEND, dest, tag, context);

	op_buffer(&op, buf, len, desc);
	op_data(&op, data);
	return sham_op_post(&op);
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				 fi_addr_t dest, uint64_t tag)
{
	struct sham_op op = tagged_begin(ep, SHAM_SEND, dest, tag, NULL);

	op_buffer(&op, buf, len, NULL);
	op_inject(&op);
	op_data(&op, data);
	return sham_op_post(&op);
}

struct fi_ops_tagged sham_tagged_ops = {
	.size = sizeof(sham_tagged_ops),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};

/* --- RDMA --- */

static struct sham_op rma_begin(struct fid_ep *ep, enum sham_kind kind, fi_addr_t peer,
				uint64_t addr, uint64_t key, void *context)
{
	struct sham_op op = op_begin(ep, kind, peer, context);

	op.rma.addr = addr;
	op.rma.key = key;
	return op;
}

/* If a call gives no remote length, it is that of the local segments. */
static ssize_t rma_post(struct sham_op *op)
{
	for (size_t i = 0; i < op->niov; i++)
		op->rma.len += op->iov[i].iov_len;
	return sham_op_post(op);
}

static ssize_t rma_message(struct fid_ep *ep, enum sham_kind kind, const struct fi_msg_rma *msg,
			   uint64_t flags)
{
	struct sham_op op = op_begin(ep, kind, msg->addr, msg->context);
	ssize_t ret = op_segments(&op, msg->msg_iov, msg->desc, msg->iov_count);

	if (ret || msg->rma_iov_count != 1)
		return -FI_EINVAL;
	op.flags = flags;
	op.data = msg->data;
	op.rma = *msg->rma_iov;
	return sham_op_post(&op);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t peer,
			uint64_t addr, uint64_t key, void *context)
{
	struct sham_op op = rma_begin(ep, SHAM_READ, peer, addr, key, context);

	op_buffer(&op, buf, len, desc);
	return rma_post(&op);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	struct sham_op op = rma_begin(ep, SHAM_READ, peer, addr, key, context);
	ssize_t ret = op_segments(&op, iov, desc, count);

	return ret ? ret : rma_post(&op);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_message(ep, SHAM_READ, msg, flags);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t peer,
			 uint64_t addr, uint64_t key, void *context)
{
	struct sham_op op = rma_begin(ep, SHAM_WRITE, peer, addr, key, context);

	op_buffer(&op, buf, len, desc);
	return rma_post(&op);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	struct sham_op op = rma_begin(ep, SHAM_WRITE, peer, addr, key, context);
	ssize_t ret = op_segments(&op, iov, desc, count);

	return ret ? ret : rma_post(&op);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_message(ep, SHAM_WRITE, msg, flags);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t peer,
			  uint64_t addr, uint64_t key)
{
	struct sham_op op = rma_begin(ep, SHAM_WRITE, peer, addr, key, NULL);

	op_buffer(&op, buf, len, NULL);
	op_inject(&op);
	return rma_post(&op);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t peer, uint64_t addr, uint64_t key,
			     void *context)
{
	struct sham_op op = rma_begin(ep, SHAM_WRITE, peer, addr, key, context);

	op_buffer(&op, buf, len, desc);
	op_data(&op, data);
	return rma_post(&op);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t peer, uint64_t addr, uint64_t key)
{
	struct sham_op op = rma_begin(ep, SHAM_WRITE, peer, addr, key, NULL);

	op_buffer(&op, buf, len, NULL);
	op_inject(&op);
	op_data(&op, data);
	return rma_post(&op);
}

struct fi_ops_rma sham_rma_ops = {
	.size = sizeof(sham_rma_ops),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
