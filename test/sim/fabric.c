/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric.h"

#include "bare_ia.h"
#include "clock.h"
#include "kernel.h"
#include "must.h"
#include "net.h"
#include "trace.h"

#include "cm/wire.h"
#include "dto/reap.h"
#include "object/ia.h"
#include "object/transport.h"
#include "progress/cqs.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <string.h>

#define MOST_PROCESSES 8
#define MOST_EPS       512
#define MOST_OPS       64u
#define MOST_ENTRIES   4096u
#define MOST_EVENTS    512u
#define MESSAGE_SIZE   64u

/* An operation that a process has given to the fabric. */
struct op {
	void *context;
	void *buf;
	size_t length;
	bool is_read;  /* a read of the peer's memory */
	bool is_taken; /* the peer has received it, or has answered */
	bool is_told;  /* its completion was reported */
	uint8_t bytes[MESSAGE_SIZE];
};

struct ops {
	struct op list[MOST_OPS];
	uint32_t n, begun; /* operations; the first `begun` are under way */
};

enum ep_state { EP_FREE, EP_NEW, EP_ASKS, EP_ASKED, EP_CONNECTED, EP_OVER };

struct ep {
	struct fid_ep fid;
	enum ep_state state;
	uint32_t birth; /* tells apart uses of the same structure */
	int process;
	int other; /* -1: none */
	uint32_t other_birth;
	uint64_t last; /* time at which the last packet to the other end arrives */
	struct ops sends, recvs;
	uint8_t token[DOFI_TOKEN_SIZE];
};

struct entry {
	int err;
	struct fi_cq_data_entry data;
};

struct event {
	uint32_t number;
	int err; /* FI_CONNECTED failed */
	fid_t fid;
	struct fi_info *info;
	uint8_t token[DOFI_TOKEN_SIZE];
};

struct side {
	struct fid_fabric fabric;
	struct fid_domain domain;
	struct fid_pep pep;
	struct fid_eq eq;
	struct fid_cq cq;
	bool listens, dead;
	struct fabric_faults faults;
	struct entry entries[MOST_ENTRIES];
	uint32_t entries_head, entries_tail;
	struct event events[MOST_EVENTS];
	uint32_t events_head, events_tail;
};

static struct side sides[MOST_PROCESSES];
static struct ep eps[MOST_EPS];
static uint32_t births;
static void (*wake)(int process);
static bool copies; /* a Send is complete when it has been copied, as with tcp */

static struct ep *ep_of(struct fid *fid)
{
	return (struct ep *)(void *)fid;
}

static struct ep *other_of(const struct ep *ep)
{
	struct ep *other = ep->other < 0 ? NULL : &eps[ep->other];

	return other && other->birth == ep->other_birth ? other : NULL;
}

static bool use_up(uint32_t *n)
{
	if (!*n)
		return false;
	--*n;
	return true;
}

/* --- queues --- */

static void complete(struct ep *ep, const struct op *op, int err, uint64_t flags, size_t length)
{
	struct side *side = &sides[ep->process];

	MUST(side->entries_tail - side->entries_head < MOST_ENTRIES);
	side->entries[side->entries_tail++ % MOST_ENTRIES] =
		(struct entry){.err = err,
			       .data = {.op_context = op->context, .flags = flags, .len = length}};
	wake(ep->process);
}

static void tell(int process, const struct event *event)
{
	struct side *side = &sides[process];

	MUST(side->events_tail - side->events_head < MOST_EVENTS);
	side->events[side->events_tail++ % MOST_EVENTS] = *event;
	wake(process);
}

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct side *side = cq->fid.context;
	struct fi_cq_data_entry *out = buf;
	size_t n = 0;

	while (n < count && side->entries_head != side->entries_tail) {
		const struct entry *entry = &side->entries[side->entries_head % MOST_ENTRIES];

		if (entry->err)
			return n ? (ssize_t)n : -FI_EAVAIL;
		out[n++] = entry->data;
		side->entries_head++;
	}
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static ssize_t cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *out, uint64_t flags)
{
	struct side *side = cq->fid.context;
	const struct entry *entry = &side->entries[side->entries_head % MOST_ENTRIES];

	(void)flags;
	if (side->entries_head == side->entries_tail || !entry->err)
		return -FI_EAGAIN;
	*out = (struct fi_cq_err_entry){.op_context = entry->data.op_context,
					.flags = entry->data.flags,
					.len = entry->data.len,
					.err = entry->err};
	side->entries_head++;
	return 1;
}

static ssize_t eq_read(struct fid_eq *eq, uint32_t *number, void *buf, size_t size, uint64_t flags)
{
	struct side *side = eq->fid.context;
	struct event *event = &side->events[side->events_head % MOST_EVENTS];
	struct fi_eq_cm_entry *entry = buf;

	(void)flags;
	if (side->events_head == side->events_tail)
		return -FI_EAGAIN;
	if (event->err)
		return -FI_EAVAIL;
	side->events_head++;
	MUST(size >= sizeof(*entry) + DOFI_TOKEN_SIZE);
	*number = event->number;
	entry->fid = event->fid;
	entry->info = event->info;
	if (event->number != FI_CONNREQ)
		return sizeof(*entry);
	memcpy(entry->data, event->token, DOFI_TOKEN_SIZE);
	return sizeof(*entry) + DOFI_TOKEN_SIZE;
}

static ssize_t eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *out, uint64_t flags)
{
	struct side *side = eq->fid.context;
	const struct event *event = &side->events[side->events_head++ % MOST_EVENTS];

	(void)flags;
	*out = (struct fi_eq_err_entry){.fid = event->fid, .err = event->err};
	return sizeof(*out);
}

/* --- packets between two endpoints --- */

static void send_to(struct ep *ep, void (*run)(uint64_t, uint64_t), uint32_t what)
{
	uint64_t when = kernel_time + net_data_latency(), passes = UINT64_MAX;
	const struct ep *other = other_of(ep);

	if (other)
		passes = net_passes(ep->process, other->process);
	if (passes == UINT64_MAX)
		return;
	if (passes > kernel_time)
		when = passes + net_data_latency();
	ep->last = when < ep->last ? ep->last : when;
	clock_at(ep->last, run, (uint64_t)(other - eps), (uint64_t)other->birth << 32 | what);
}

static struct ep *receiver(uint64_t a, uint64_t b)
{
	struct ep *ep = &eps[a];

	return ep->state != EP_FREE && ep->birth == b >> 32 && !sides[ep->process].dead ? ep : NULL;
}

/* --- operations --- */

static void remove_op(struct ops *ops, uint32_t i)
{
	ops->n--;
	ops->begun -= i < ops->begun;
	memmove(&ops->list[i], &ops->list[i + 1], (ops->n - i) * sizeof(*ops->list));
}

static void flush(struct ep *ep, struct ops *ops, uint64_t flags)
{
	while (ops->n) {
		if (!ops->list[0].is_told)
			complete(ep, &ops->list[0], FI_ECANCELED, flags, 0);
		remove_op(ops, 0);
	}
}

/* The other end has acknowledged: the oldest operation is complete. */
static void acked(uint64_t a, uint64_t b)
{
	struct ep *ep = receiver(a, b);
	const struct op *op;

	if (!ep || ep->state != EP_CONNECTED || !ep->sends.begun)
		return;
	op = &ep->sends.list[0];
	if (!op->is_told)
		complete(ep, op, 0, op->is_read ? FI_READ : FI_SEND, op->length);
	remove_op(&ep->sends, 0);
}

/* Matches the next message that has arrived with a receive. False: it waits for one. */
static bool take(struct ep *from, struct ep *to)
{
	struct op *op = NULL, *recv = &to->recvs.list[0];

	for (uint32_t i = 0; i < from->sends.begun && !op; i++)
		if (!from->sends.list[i].is_taken)
			op = &from->sends.list[i];
	if (!op || (!op->is_read && !to->recvs.n))
		return false;
	op->is_taken = true;
	if (!op->is_read) {
		memcpy(recv->buf, op->bytes, op->length < recv->length ? op->length : recv->length);
		complete(to, recv, op->length > recv->length ? FI_ETRUNC : 0, FI_RECV, op->length);
		remove_op(&to->recvs, 0);
	}
	send_to(to, acked, 0);
	return true;
}

static void arrive(uint64_t a, uint64_t b)
{
	struct ep *to = receiver(a, b), *from = to ? other_of(to) : NULL;

	if (!from || to->state != EP_CONNECTED || from->sends.begun == from->sends.n)
		return;
	from->sends.begun++;
	while (take(from, to))
		;
}

static void leave(struct ep *ep);

/* A failed message ends the connection. */
static ssize_t post(struct ep *ep, const struct op *op)
{
	if (ep->state != EP_CONNECTED)
		return ep->state == EP_OVER ? -FI_ENOTCONN : -FI_EAGAIN;
	if (use_up(&sides[ep->process].faults.no_room) || ep->sends.n == MOST_OPS)
		return -FI_EAGAIN;
	if (!op->is_read && use_up(&sides[ep->process].faults.failed)) {
		complete(ep, op, FI_EIO, FI_SEND, 0);
		leave(ep);
		return 0;
	}
	ep->sends.list[ep->sends.n] = *op;
	ep->sends.list[ep->sends.n].is_told = copies && !op->is_read;
	if (ep->sends.list[ep->sends.n++].is_told)
		complete(ep, op, 0, FI_SEND, op->length);
	send_to(ep, arrive, 0);
	return 0;
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t n,
			 fi_addr_t to, void *context)
{
	struct op op = {.context = context};

	(void)desc, (void)to;
	for (size_t i = 0; i < n; i++) {
		MUST(op.length + iov[i].iov_len <= MESSAGE_SIZE);
		memcpy(op.bytes + op.length, iov[i].iov_base, iov[i].iov_len);
		op.length += iov[i].iov_len;
	}
	return post(ep_of(&fid->fid), &op);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t size, void *desc, fi_addr_t to,
			void *context)
{
	const struct iovec iov = {(void *)(uintptr_t)buf, size};

	return msg_sendv(fid, &iov, &desc, size ? 1 : 0, to, context);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t size, void *desc, fi_addr_t from,
			uint64_t addr, uint64_t key, void *context)
{
	const struct op op = {.context = context, .length = size, .is_read = true};

	(void)buf, (void)desc, (void)from, (void)addr, (void)key;
	return post(ep_of(&fid->fid), &op);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t size, void *desc, fi_addr_t from,
			void *context)
{
	struct ep *ep = ep_of(&fid->fid), *other = other_of(ep);

	(void)desc, (void)from;
	if (ep->state == EP_OVER)
		return -FI_ENOTCONN;
	if (use_up(&sides[ep->process].faults.no_room) || ep->recvs.n == MOST_OPS)
		return -FI_EAGAIN;
	ep->recvs.list[ep->recvs.n++] = (struct op){.context = context, .buf = buf, .length = size};
	while (other && ep->state == EP_CONNECTED && take(other, ep))
		;
	return 0;
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t n,
			 fi_addr_t from, void *context)
{
	MUST(n <= 1);
	return msg_recv(fid, n ? iov->iov_base : NULL, n ? iov->iov_len : 0, n ? *desc : NULL, from,
			context);
}

/* --- ends --- */

static void tell_end(uint64_t a, uint64_t b)
{
	struct ep *ep = receiver(a, b);

	if (ep && (uint32_t)b)
		tell(ep->process, &(struct event){.err = (int)(uint32_t)b, .fid = &ep->fid.fid});
	else if (ep)
		tell(ep->process, &(struct event){.number = FI_SHUTDOWN, .fid = &ep->fid.fid});
}

static void flush_all(struct ep *ep)
{
	flush(ep, &ep->sends, FI_SEND);
	flush(ep, &ep->recvs, FI_RECV);
}

/* Ends this end of a connection; completions and the event come in either order. */
static void end(struct ep *ep, int err)
{
	ep->state = EP_OVER;
	flush_all(ep);
	clock_at(kernel_time + net_data_latency(), tell_end, (uint64_t)(ep - eps),
		 (uint64_t)ep->birth << 32 | (uint32_t)err);
	wake(ep->process);
}

static void hear_end(uint64_t a, uint64_t b)
{
	struct ep *ep = receiver(a, b);

	if (ep && ep->state == EP_CONNECTED)
		end(ep, 0);
	else if (ep && ep->state == EP_ASKED)
		ep->state = EP_OVER;
	else if (ep && ep->state == EP_ASKS)
		end(ep, FI_ECONNREFUSED);
}

static void leave(struct ep *ep)
{
	if (ep->state == EP_CONNECTED || ep->state == EP_ASKED || ep->state == EP_ASKS)
		send_to(ep, hear_end, 0);
	ep->state = EP_OVER;
	flush_all(ep);
}

static int cm_shutdown(struct fid_ep *fid, uint64_t flags)
{
	(void)flags;
	leave(ep_of(&fid->fid));
	if (kernel_pause)
		kernel_pause();
	return 0;
}

/* Removes the events of a closed object. */
static void forget_events(struct side *side, const struct fid *fid)
{
	uint32_t out = side->events_head;

	for (uint32_t in = side->events_head; in != side->events_tail; in++)
		if (side->events[in % MOST_EVENTS].fid != fid)
			side->events[out++ % MOST_EVENTS] = side->events[in % MOST_EVENTS];
	side->events_tail = out;
}

static int ep_close(struct fid *fid)
{
	struct ep *ep = ep_of(fid);

	leave(ep);
	forget_events(&sides[ep->process], fid);
	ep->state = EP_FREE;
	ep->birth = ++births;
	return 0;
}

/* --- connecting --- */

static struct ep *new_ep(int process, enum ep_state state);

/* The acceptance arrives at the connecting side. */
static void accepted(uint64_t a, uint64_t b)
{
	struct ep *ep = receiver(a, b);

	if (!ep || ep->state != EP_ASKS)
		return;
	ep->state = EP_CONNECTED;
	tell(ep->process, &(struct event){.number = FI_CONNECTED, .fid = &ep->fid.fid});
}

static void refused(uint64_t a, uint64_t b)
{
	struct ep *ep = receiver(a, b);

	if (ep && ep->state == EP_ASKS)
		end(ep, FI_ECONNREFUSED);
}

/* b: the endpoint of the connecting side. */
static void asked(uint64_t process, uint64_t b)
{
	struct ep *from = receiver(b & 0xffff, (b >> 16) << 32), *ep;
	struct event event = {.number = FI_CONNREQ};

	if (!from || from->state != EP_ASKS || sides[process].dead)
		return;
	if (!sides[process].listens) {
		end(from, FI_ECONNREFUSED);
		return;
	}
	ep = new_ep((int)process, EP_ASKED);
	ep->other = (int)(from - eps);
	ep->other_birth = from->birth;
	from->other = (int)(ep - eps);
	from->other_birth = ep->birth;
	event.info = fi_allocinfo();
	event.info->handle = &ep->fid.fid;
	event.fid = &sides[process].pep.fid;
	memcpy(event.token, from->token, DOFI_TOKEN_SIZE);
	tell((int)process, &event);
}

static int cm_connect(struct fid_ep *fid, const void *addr, const void *param, size_t size)
{
	struct ep *ep = ep_of(&fid->fid);
	struct fabric_faults *faults = &sides[ep->process].faults;
	uint64_t to = *(const uint8_t *)addr, when = kernel_time + net_data_latency();
	uint64_t passes = net_passes(ep->process, (int)to);

	MUST(size == DOFI_TOKEN_SIZE);
	memcpy(ep->token, param, size);
	ep->state = EP_ASKS;
	if (use_up(&faults->lost) || passes == UINT64_MAX)
		return 0;
	if (use_up(&faults->refused))
		end(ep, FI_ECONNREFUSED);
	else
		clock_at(passes > when ? passes : when, asked, to,
			 (uint64_t)ep->birth << 16 | (uint64_t)(ep - eps));
	return 0;
}

static void established(uint64_t a, uint64_t b)
{
	struct ep *ep = receiver(a, b);

	if (ep && ep->state == EP_CONNECTED)
		tell(ep->process, &(struct event){.number = FI_CONNECTED, .fid = &ep->fid.fid});
}

/* Cuts the connection before, while or after both sides learn that it is there. */
static void cut_soon(struct ep *ep)
{
	uint64_t when = kernel_time + net_data_latency();

	clock_at(when + net_latency(), hear_end, (uint64_t)(ep - eps), (uint64_t)ep->birth << 32);
	if (ep->birth % 2)
		clock_at(when + net_latency(), hear_end, (uint64_t)ep->other,
			 (uint64_t)ep->other_birth << 32);
}

static int cm_accept(struct fid_ep *fid, const void *param, size_t size)
{
	struct ep *ep = ep_of(&fid->fid);

	(void)param, (void)size;
	if (ep->state != EP_ASKED)
		return -FI_ECONNABORTED;
	ep->state = EP_CONNECTED;
	send_to(ep, accepted, 0);
	if (use_up(&sides[ep->process].faults.cut))
		cut_soon(ep);
	clock_at(kernel_time + 2 * net_data_latency(), established, (uint64_t)(ep - eps),
		 (uint64_t)ep->birth << 32);
	return 0;
}

static int cm_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t size)
{
	struct ep *ep = ep_of(handle);

	(void)pep, (void)param, (void)size;
	send_to(ep, refused, 0);
	ep->state = EP_FREE;
	ep->birth = ++births;
	return 0;
}

/* --- objects --- */

static int no_bind(struct fid *fid, struct fid *with, uint64_t flags)
{
	(void)fid, (void)with, (void)flags;
	return 0;
}

static int no_control(struct fid *fid, int command, void *arg)
{
	(void)fid, (void)command, (void)arg;
	return 0;
}

static int no_close(struct fid *fid)
{
	(void)fid;
	return 0;
}

static struct fi_ops plain_ops = {.size = sizeof(plain_ops),
				  .close = no_close,
				  .bind = no_bind,
				  .control = no_control};

static struct ep *new_ep(int process, enum ep_state state)
{
	static struct fi_ops ops = {.size = sizeof(ops),
				    .close = ep_close,
				    .bind = no_bind,
				    .control = no_control};
	static struct fi_ops_cm cm = {.size = sizeof(cm),
				      .connect = cm_connect,
				      .accept = cm_accept,
				      .shutdown = cm_shutdown};
	static struct fi_ops_msg msg = {.size = sizeof(msg),
					.send = msg_send,
					.sendv = msg_sendv,
					.recv = msg_recv,
					.recvv = msg_recvv};
	static struct fi_ops_rma rma = {.size = sizeof(rma), .read = rma_read};
	struct ep *ep = eps;

	while (ep->state != EP_FREE)
		MUST(++ep < eps + MOST_EPS);
	memset(ep, 0, offsetof(struct ep, sends));
	ep->sends.n = ep->sends.begun = ep->recvs.n = ep->recvs.begun = 0;
	ep->fid = (struct fid_ep){.fid.ops = &ops, .cm = &cm, .msg = &msg, .rma = &rma};
	ep->state = state;
	ep->birth = ++births;
	ep->process = process;
	ep->other = -1;
	return ep;
}

static int open_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **fid_p,
		   void *context)
{
	struct side *side = domain->fid.context;
	struct ep *ep;

	if (use_up(&side->faults.no_endpoint))
		return -FI_ENOMEM;
	ep = info->handle ? ep_of(info->handle) : new_ep((int)(side - sides), EP_NEW);
	ep->fid.fid.context = context;
	*fid_p = &ep->fid;
	return 0;
}

static int get_name(fid_t fid, void *name, size_t *size)
{
	struct side *side = fid->context;

	*(uint8_t *)name = (uint8_t)(side - sides);
	*size = 1;
	return 0;
}

static int start_listening(struct fid_pep *pep)
{
	struct side *side = pep->fid.context;

	side->listens = true;
	return 0;
}

static int open_pep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep_p,
		    void *context)
{
	static struct fi_ops_cm cm = {.size = sizeof(cm),
				      .getname = get_name,
				      .listen = start_listening,
				      .reject = cm_reject};
	struct side *side = fabric->fid.context;

	(void)info, (void)context;
	side->pep = (struct fid_pep){.fid = {.context = side, .ops = &plain_ops}, .cm = &cm};
	*pep_p = &side->pep;
	return 0;
}

static int open_eq(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq_p,
		   void *context)
{
	static struct fi_ops_eq ops = {.size = sizeof(ops), .read = eq_read, .readerr = eq_readerr};
	struct side *side = fabric->fid.context;

	(void)context;
	if (attr->wait_obj != FI_WAIT_NONE)
		return -FI_ENOSYS;
	side->eq = (struct fid_eq){.fid = {.context = side, .ops = &plain_ops}, .ops = &ops};
	*eq_p = &side->eq;
	return 0;
}

static int open_cq(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq_p,
		   void *context)
{
	static struct fi_ops_cq ops = {.size = sizeof(ops), .read = cq_read, .readerr = cq_readerr};
	struct side *side = domain->fid.context;

	(void)context;
	if (attr->wait_obj != FI_WAIT_NONE)
		return -FI_ENOSYS;
	side->cq = (struct fid_cq){.fid = {.context = side, .ops = &plain_ops}, .ops = &ops};
	*cq_p = &side->cq;
	return 0;
}

void fabric_open(struct dofi_ia *ia, int process)
{
	static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops),
						  .passive_ep = open_pep,
						  .eq_open = open_eq};
	static struct fi_ops_domain domain_ops = {.size = sizeof(domain_ops),
						  .endpoint = open_ep,
						  .cq_open = open_cq};
	struct side *side = &sides[process];
	struct fid fid = {.context = side, .ops = &plain_ops};

	side->fabric = (struct fid_fabric){.fid = fid, .ops = &fabric_ops};
	side->domain = (struct fid_domain){.fid = fid, .ops = &domain_ops, .mr = &bare_mr_ops};
	ia->fabric = &side->fabric;
	ia->domain = &side->domain;
	ia->trans = &dofi_trans_msg;
	ia->completed = ia->trans->completed;
	ia->engine.reap = dofi_reap;
	ia->cq_want = ia->cq_few = 1;
	MUST(!dofi_eqs_open(&ia->eqs, ia->name, ia->fabric, 0));
	MUST(!dofi_cqs_open(ia));
	ia->fabric_name_size = sizeof(ia->fabric_name);
	MUST(!ia->trans->open(ia, ia->fabric_name, &ia->fabric_name_size));
}

/* Drops connect requests without an answer. */
void fabric_close(struct dofi_ia *ia)
{
	struct side *side = ia->fabric->fid.context;

	ia->trans->close(ia);
	side->listens = false;
	for (; side->events_head != side->events_tail; side->events_head++) {
		struct event *event = &side->events[side->events_head % MOST_EVENTS];

		if (event->number != FI_CONNREQ)
			continue;
		cm_reject(&side->pep, event->info->handle, NULL, 0);
		fi_freeinfo(event->info);
	}
	for (int i = 0; i < MOST_EPS; i++)
		MUST(eps[i].state == EP_FREE || &sides[eps[i].process] != side);
	MUST(side->entries_head == side->entries_tail);
	dofi_cqs_close(ia);
	dofi_eqs_close(&ia->eqs);
}

/* --- what goes wrong --- */

struct fabric_faults *fabric_faults(int process)
{
	return &sides[process].faults;
}

void fabric_cut(int process, bool both)
{
	for (int i = 0; i < MOST_EPS; i++) {
		struct ep *ep = &eps[i], *other = other_of(ep);

		if (ep->state != EP_CONNECTED || ep->process != process || !other)
			continue;
		trace(process, "the fabric cuts a connection with ia%d", other->process);
		clock_at(kernel_time + net_data_latency(), hear_end, (uint64_t)i,
			 (uint64_t)ep->birth << 32);
		if (both)
			clock_at(kernel_time + net_data_latency(), hear_end, (uint64_t)ep->other,
				 (uint64_t)ep->other_birth << 32);
	}
}

void fabric_kill(int process)
{
	for (int i = 0; i < MOST_EPS; i++)
		if (eps[i].state != EP_FREE && eps[i].process == process)
			leave(&eps[i]);
	sides[process].dead = true;
}

void fabric_begin(bool of_copies, void (*on_wake)(int process))
{
	copies = of_copies;
	wake = on_wake;
	births = 0;
	for (int i = 0; i < MOST_PROCESSES; i++) {
		struct side *side = &sides[i];

		side->entries_head = side->entries_tail = side->events_head = side->events_tail = 0;
		side->listens = side->dead = false;
		side->faults = (struct fabric_faults){0};
	}
	for (int i = 0; i < MOST_EPS; i++)
		eps[i].state = EP_FREE;
}
