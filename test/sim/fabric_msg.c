/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric_msg.h"

#include "bare_ia.h"
#include "clock.h"
#include "fabric.h"
#include "kernel.h"
#include "must.h"
#include "net.h"
#include "side.h"
#include "trace.h"

#include "cm/wire.h"
#include "object/ia.h"
#include "object/transport.h"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <string.h>

#define MOST_OPS     64u
#define MESSAGE_SIZE 64u

/* An operation that a process has given to the fabric. */
struct op {
	void *context;
	void *buf;
	size_t length;
	bool is_read;  /* of the peer's memory */
	bool is_taken; /* the peer has it, or has given the answer */
	bool is_told;  /* it counts as complete already */
	uint8_t bytes[MESSAGE_SIZE];
};

struct ops {
	struct op *list;
	size_t room;
	uint32_t n, begun; /* those before `begun` are under way */
};

enum ep_state { EP_FREE, EP_NEW, EP_ASKS, EP_ASKED, EP_CONNECTED, EP_OVER };

struct ep {
	struct fid_ep fid;
	struct ep *next; /* of those that are free */
	enum ep_state state;
	uint32_t birth; /* endpoints are used again */
	int process;
	struct ep *other; /* NULL: none */
	uint32_t other_birth;
	uint64_t last; /* when the last packet to the other end arrives */
	struct ops sends, recvs;
	uint8_t token[DOFI_TOKEN_SIZE];
};

static struct ep **eps, *idle;
static size_t eps_room;
static int neps;
static uint32_t births;
static bool copies, says_connected; /* fabric.h */

static struct ep *ep_of(struct fid *fid)
{
	return (struct ep *)(void *)fid;
}

static struct ep *other_of(const struct ep *ep)
{
	struct ep *other = ep->other;

	return other && other->birth == ep->other_birth ? other : NULL;
}

/* Packets, events and ends name an endpoint by its place and its birth. */
static uint64_t name_of(const struct ep *ep)
{
	return (uintptr_t)ep;
}

static void complete(struct ep *ep, const struct op *op, int err, uint64_t flags, size_t length)
{
	const struct side_entry entry = {
		.err = err, .data = {.op_context = op->context, .flags = flags, .len = length}};

	side_complete(ep->process, &entry);
}

static bool use_up(uint32_t *n)
{
	return side_use_up(n);
}

static struct fabric_faults *faults_of(const struct ep *ep)
{
	return &side_of(ep->process)->faults;
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
	clock_at(ep->last, run, name_of(other), (uint64_t)other->birth << 32 | what);
}

static struct ep *receiver(uint64_t a, uint64_t b)
{
	struct ep *ep = (struct ep *)(uintptr_t)a;

	return ep->state != EP_FREE && ep->birth == b >> 32 && !side_of(ep->process)->dead ? ep
											   : NULL;
}

/* --- operations --- */

static void make_room(struct ops *ops)
{
	ops->list = kernel_grow(ops->list, &ops->room, ops->n + 1, sizeof(*ops->list));
}

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

/* The answer of the other end: the oldest one is through. */
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

/* The next one that has arrived finds a receive, or waits for one. */
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

/* A message that fails takes the connection with it. */
static ssize_t post(struct ep *ep, const struct op *op)
{
	if (ep->state != EP_CONNECTED)
		return ep->state == EP_OVER ? -FI_ENOTCONN : -FI_EAGAIN;
	if (use_up(&faults_of(ep)->no_room) || ep->sends.n == MOST_OPS)
		return -FI_EAGAIN;
	if (!op->is_read && use_up(&faults_of(ep)->failed)) {
		complete(ep, op, FI_EIO, FI_SEND, 0);
		leave(ep);
		return 0;
	}
	make_room(&ep->sends);
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
	if (use_up(&faults_of(ep)->no_room) || ep->recvs.n == MOST_OPS)
		return -FI_EAGAIN;
	make_room(&ep->recvs);
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
		side_tell(ep->process,
			  &(struct side_event){.err = (int)(uint32_t)b, .fid = &ep->fid.fid});
	else if (ep)
		side_tell(ep->process,
			  &(struct side_event){.number = FI_SHUTDOWN, .fid = &ep->fid.fid});
}

static void flush_all(struct ep *ep)
{
	flush(ep, &ep->sends, FI_SEND);
	flush(ep, &ep->recvs, FI_RECV);
}

/* This end is over; completions and the event come in either order. */
static void end(struct ep *ep, int err)
{
	ep->state = EP_OVER;
	flush_all(ep);
	clock_at(kernel_time + net_data_latency(), tell_end, name_of(ep),
		 (uint64_t)ep->birth << 32 | (uint32_t)err);
	side_wake(ep->process);
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

static void free_ep(struct ep *ep)
{
	side_of(ep->process)->neps--;
	ep->state = EP_FREE;
	ep->birth = ++births;
	ep->next = idle;
	idle = ep;
}

static int ep_close(struct fid *fid)
{
	struct ep *ep = ep_of(fid);

	leave(ep);
	side_forget_events(side_of(ep->process), fid);
	free_ep(ep);
	return 0;
}

/* --- connecting --- */

static struct ep *new_ep(int process, enum ep_state state);

static void established(uint64_t a, uint64_t b)
{
	struct ep *ep = receiver(a, b);

	if (ep && ep->state == EP_CONNECTED)
		side_tell(ep->process,
			  &(struct side_event){.number = FI_CONNECTED, .fid = &ep->fid.fid});
}

/* As librdmacm: the one that asks tells the other one when it reads its event. */
static void confirm(struct fid *fid)
{
	struct ep *ep = ep_of(fid);

	if (!use_up(&faults_of(ep)->lost))
		send_to(ep, established, 0);
}

/* To the one that asks. */
static void accepted(uint64_t a, uint64_t b)
{
	struct ep *ep = receiver(a, b);

	if (!ep || ep->state != EP_ASKS)
		return;
	ep->state = EP_CONNECTED;
	side_tell(ep->process, &(struct side_event){.number = FI_CONNECTED,
						    .fid = &ep->fid.fid,
						    .is_read = says_connected ? confirm : NULL});
}

static void refused(uint64_t a, uint64_t b)
{
	struct ep *ep = receiver(a, b);

	if (ep && ep->state == EP_ASKS)
		end(ep, FI_ECONNREFUSED);
}

/* The one that asks, and whom it asks. */
static void asked(uint64_t a, uint64_t b)
{
	struct ep *from = receiver(a, b), *ep;
	struct side_event event = {.number = FI_CONNREQ};
	int process = (int)(uint32_t)b;

	if (!from || from->state != EP_ASKS || side_of(process)->dead)
		return;
	if (!side_of(process)->listens) {
		end(from, FI_ECONNREFUSED);
		return;
	}
	ep = new_ep(process, EP_ASKED);
	ep->other = from;
	ep->other_birth = from->birth;
	from->other = ep;
	from->other_birth = ep->birth;
	event.info = fi_allocinfo();
	event.info->handle = &ep->fid.fid;
	event.fid = &side_of(process)->pep.fid;
	memcpy(event.token, from->token, DOFI_TOKEN_SIZE);
	side_tell(process, &event);
}

static int cm_connect(struct fid_ep *fid, const void *addr, const void *param, size_t size)
{
	struct ep *ep = ep_of(&fid->fid);
	struct fabric_faults *faults = faults_of(ep);
	uint64_t to = *(const uint16_t *)addr, when = kernel_time + net_data_latency();
	uint64_t passes = net_passes(ep->process, (int)to);

	MUST(size == DOFI_TOKEN_SIZE);
	memcpy(ep->token, param, size);
	ep->state = EP_ASKS;
	if (use_up(&faults->lost) || passes == UINT64_MAX)
		return 0;
	if (use_up(&faults->refused))
		end(ep, FI_ECONNREFUSED);
	else
		clock_at(passes > when ? passes : when, asked, name_of(ep),
			 (uint64_t)ep->birth << 32 | to);
	return 0;
}

/* Before, while or after both sides get to know that it is there. */
static void cut_soon(struct ep *ep)
{
	uint64_t when = kernel_time + net_data_latency();

	clock_at(when + net_latency(), hear_end, name_of(ep), (uint64_t)ep->birth << 32);
	if (ep->birth % 2)
		clock_at(when + net_latency(), hear_end, name_of(ep->other),
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
	if (use_up(&faults_of(ep)->cut))
		cut_soon(ep);
	if (!says_connected)
		clock_at(kernel_time + 2 * net_data_latency(), established, name_of(ep),
			 (uint64_t)ep->birth << 32);
	return 0;
}

static int cm_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t size)
{
	struct ep *ep = ep_of(handle);

	(void)pep, (void)param, (void)size;
	send_to(ep, refused, 0);
	free_ep(ep);
	return 0;
}

/* --- objects --- */

static struct ep *new_ep(int process, enum ep_state state)
{
	static struct fi_ops ops = {.size = sizeof(ops),
				    .close = ep_close,
				    .bind = side_no_bind,
				    .control = side_no_control};
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
	struct ep *ep = idle;
	size_t room = 0;

	if (ep) {
		idle = ep->next;
	} else {
		eps = kernel_grow(eps, &eps_room, (size_t)neps + 1, sizeof(struct ep *));
		eps[neps++] = ep = kernel_grow(NULL, &room, 1, sizeof(*ep));
	}
	side_of(process)->neps++;
	ep->last = 0;
	ep->sends.n = ep->sends.begun = ep->recvs.n = ep->recvs.begun = 0;
	ep->fid = (struct fid_ep){.fid.ops = &ops, .cm = &cm, .msg = &msg, .rma = &rma};
	ep->state = state;
	ep->birth = ++births;
	ep->process = process;
	ep->other = NULL;
	return ep;
}

static int open_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **fid_p,
		   void *context)
{
	struct side *side = domain->fid.context;
	struct ep *ep;

	if (use_up(&side->faults.no_endpoint))
		return -FI_ENOMEM;
	ep = info->handle ? ep_of(info->handle) : new_ep(side->process, EP_NEW);
	ep->fid.fid.context = context;
	*fid_p = &ep->fid;
	return 0;
}

static int get_name(fid_t fid, void *name, size_t *size)
{
	struct side *side = fid->context;

	*(uint16_t *)name = (uint16_t)side->process;
	*size = sizeof(uint16_t);
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
	side->pep = (struct fid_pep){.fid = {.context = side, .ops = &side_plain_ops}, .cm = &cm};
	*pep_p = &side->pep;
	return 0;
}

void fabric_msg_open(struct dofi_ia *ia, struct side *side)
{
	static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops),
						  .passive_ep = open_pep,
						  .eq_open = side_open_eq};
	static struct fi_ops_domain domain_ops = {.size = sizeof(domain_ops),
						  .endpoint = open_ep,
						  .cq_open = side_open_cq};
	struct fid fid = {.context = side, .ops = &side_plain_ops};

	side->fabric = (struct fid_fabric){.fid = fid, .ops = &fabric_ops};
	side->domain = (struct fid_domain){.fid = fid, .ops = &domain_ops, .mr = &bare_mr_ops};
	ia->trans = &dofi_trans_msg;
}

/* Connect requests that nobody has answered go with the IA. */
void fabric_msg_close(struct side *side)
{
	struct side_event *event;

	side->listens = false;
	while ((event = side_pop_event(side))) {
		if (event->number != FI_CONNREQ)
			continue;
		cm_reject(&side->pep, event->info->handle, NULL, 0);
		fi_freeinfo(event->info);
	}
	MUST(side->neps == 0);
	MUST(side->entries_queue.head == side->entries_queue.tail);
}

/* --- what goes wrong --- */

void fabric_msg_cut(int process, bool both)
{
	for (int i = 0; i < neps; i++) {
		struct ep *ep = eps[i], *other = other_of(ep);

		if (ep->state != EP_CONNECTED || ep->process != process || !other)
			continue;
		trace(process, "the fabric cuts a connection with ia%d", other->process);
		clock_at(kernel_time + net_data_latency(), hear_end, name_of(ep),
			 (uint64_t)ep->birth << 32);
		if (both)
			clock_at(kernel_time + net_data_latency(), hear_end, name_of(ep->other),
				 (uint64_t)ep->other_birth << 32);
	}
}

void fabric_msg_kill(int process)
{
	for (int i = 0; i < neps; i++)
		if (eps[i]->state != EP_FREE && eps[i]->process == process)
			leave(eps[i]);
}

void fabric_msg_begin(const struct fabric_profile *profile)
{
	copies = profile->copies;
	says_connected = profile->says_connected;
	births = 0;
	idle = NULL;
	for (int i = neps; i-- > 0;) {
		eps[i]->state = EP_FREE;
		eps[i]->next = idle;
		idle = eps[i];
	}
}
