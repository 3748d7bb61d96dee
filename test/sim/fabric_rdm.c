/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric_rdm.h"

#include "bare_ia.h"
#include "clock.h"
#include "kernel.h"
#include "must.h"
#include "net.h"
#include "side.h"
#include "trace.h"

#include "object/ia.h"
#include "object/transport.h"
#include "transport/rdm_tag.h"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <string.h>

#define MESSAGE_SIZE 64u
#define LANDS_LATE   4 /* one message of so many, where completions come in any order */

/* A receive that a process has given to its endpoint. */
struct recv {
	void *context;
	void *buf;
	size_t length;
	uint64_t tag, ignore;
};

enum packet_state { FREE, FLYING, KEPT, LANDING, RETURNING };

/* A message or a read, from its post until its sender has the completion. */
struct packet {
	struct packet *next; /* of those that are free */
	enum packet_state state;
	int from, to;
	void *context; /* NULL: no completion is due any more */
	bool is_read, has_data;
	bool is_lost;    /* its stream has broken */
	bool is_failing; /* that will be reported */
	uint64_t tag, data;
	struct recv recv; /* LANDING: in which */
	size_t length;
	uint8_t bytes[MESSAGE_SIZE];
};

struct shared {
	struct fid_ep fid;
	bool is_open;
	struct recv *recvs; /* oldest first */
	size_t recvs_room;
	uint32_t nrecvs, nlanding;
	struct packet **kept; /* messages that have found no receive, oldest first */
	size_t kept_room;
	uint32_t nkept;
};

static struct shared *shared;
static size_t shared_room;
static uint64_t *lasts; /* of each pair: when its last packet arrives */
static uint32_t *fails; /* and its operations that fail, and have not been reported */
static size_t lasts_room, fails_room;
static struct packet **packets, *idle;
static size_t packets_room;
static int npackets, processes;
static struct fabric_profile profile;
static struct random rnd;

static struct side *side_of_ep(const struct fid_ep *fid)
{
	return fid->fid.context;
}

/* --- packets --- */

static struct packet *new_packet(void)
{
	struct packet *packet = idle;
	size_t room = 0;

	if (packet) {
		idle = packet->next;
		return packet;
	}
	packets =
		kernel_grow(packets, &packets_room, (size_t)npackets + 1, sizeof(struct packet *));
	packet = kernel_grow(NULL, &room, 1, sizeof(*packet));
	return packets[npackets++] = packet;
}

static void free_packet(struct packet *packet)
{
	packet->state = FREE;
	packet->next = idle;
	idle = packet;
}

static void complete(int process, void *context, int err, uint64_t flags, const struct packet *p)
{
	const struct side_entry entry = {.err = err,
					 .data = {.op_context = context,
						  .flags = flags |
							   (p->has_data ? FI_REMOTE_CQ_DATA : 0),
						  .len = p->length,
						  .data = p->data,
						  .tag = p->tag}};

	side_complete(process, &entry);
}

/* The sender's completion, if there is to be one; it is the last of the packet. */
static void finish(struct packet *packet, int err)
{
	const struct packet sent = {.length = packet->length, .tag = packet->tag};

	if (packet->context && packet->is_failing)
		fails[packet->from * processes + packet->to]--;
	if (packet->context)
		complete(packet->from, packet->context, err,
			 packet->is_read ? FI_RMA | FI_READ : FI_TAGGED | FI_SEND, &sent);
	free_packet(packet);
}

static void lose(struct packet *packet)
{
	packet->is_lost = true;
	if (!packet->context || packet->is_failing)
		return;
	packet->is_failing = true;
	fails[packet->from * processes + packet->to]++;
}

static void come_back(uint64_t a, uint64_t unused)
{
	struct packet *packet = (struct packet *)(uintptr_t)a;

	(void)unused;
	finish(packet, packet->is_lost ? FI_ECONNRESET : 0);
}

static void send_back(struct packet *packet)
{
	uint64_t passes = net_passes(packet->to, packet->from);

	packet->state = RETURNING;
	if (passes != UINT64_MAX)
		clock_at((passes > kernel_time ? passes : kernel_time) + net_data_latency(),
			 come_back, (uintptr_t)packet, 0);
}

/* --- receiving --- */

static bool matches(const struct recv *recv, const struct packet *packet)
{
	return !((recv->tag ^ packet->tag) & ~recv->ignore);
}

/* The bytes are there, and the receive is complete, unless its endpoint is gone. */
static void land(uint64_t a, uint64_t unused)
{
	struct packet *packet = (struct packet *)(uintptr_t)a;
	const struct recv *recv = &packet->recv;
	size_t size = packet->length;

	(void)unused;
	if (recv->context) {
		shared[packet->to].nlanding--;
		memcpy(recv->buf, packet->bytes, size < recv->length ? size : recv->length);
		complete(packet->to, recv->context, size > recv->length ? FI_ETRUNC : 0,
			 FI_TAGGED | FI_RECV, packet);
	}
	send_back(packet);
}

static void take(struct packet *packet, uint32_t nth)
{
	struct shared *at = &shared[packet->to];

	packet->recv = at->recvs[nth];
	memmove(&at->recvs[nth], &at->recvs[nth + 1], (--at->nrecvs - nth) * sizeof(*at->recvs));
	at->nlanding++;
	packet->state = LANDING;
	if (profile.scrambles && random_one_in(&rnd, LANDS_LATE))
		clock_at(kernel_time + net_data_latency(), land, (uintptr_t)packet, 0);
	else
		land((uintptr_t)packet, 0);
}

static bool find_receive(struct packet *packet)
{
	struct shared *at = &shared[packet->to];

	for (uint32_t i = 0; i < at->nrecvs; i++) {
		if (matches(&at->recvs[i], packet)) {
			take(packet, i);
			return true;
		}
	}
	return false;
}

static void keep(struct packet *packet)
{
	struct shared *at = &shared[packet->to];

	at->kept = kernel_grow(at->kept, &at->kept_room, at->nkept + 1u, sizeof(struct packet *));
	at->kept[at->nkept++] = packet;
	packet->state = KEPT;
}

static void arrive(uint64_t a, uint64_t unused)
{
	struct packet *packet = (struct packet *)(uintptr_t)a;

	(void)unused;
	if (!shared[packet->to].is_open || side_of(packet->to)->dead)
		lose(packet);
	if (packet->is_lost || packet->is_read)
		send_back(packet);
	else if (!find_receive(packet))
		keep(packet);
}

static ssize_t post_recv(struct fid_ep *fid, const struct recv *recv)
{
	struct side *side = side_of_ep(fid);
	struct shared *at = &shared[side->process];

	if (side_use_up(&side->faults.no_room) ||
	    (profile.receives && at->nrecvs + at->nlanding >= profile.receives))
		return -FI_EAGAIN;
	at->recvs = kernel_grow(at->recvs, &at->recvs_room, at->nrecvs + 1u, sizeof(*at->recvs));
	at->recvs[at->nrecvs++] = *recv;
	for (uint32_t i = 0; i < at->nkept; i++) {
		struct packet *packet = at->kept[i];

		if (!matches(recv, packet))
			continue;
		memmove(&at->kept[i], &at->kept[i + 1],
			(--at->nkept - i) * sizeof(struct packet *));
		take(packet, at->nrecvs - 1);
		break;
	}
	return 0;
}

static ssize_t tag_recv(struct fid_ep *fid, void *buf, size_t size, void *desc, fi_addr_t from,
			uint64_t tag, uint64_t ignore, void *context)
{
	const struct recv recv = {context, buf, size, tag, ignore};

	(void)desc, (void)from;
	return post_recv(fid, &recv);
}

static ssize_t tag_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t n,
			 fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
	MUST(n == 1);
	return tag_recv(fid, iov->iov_base, iov->iov_len, *desc, from, tag, ignore, context);
}

/* One into which a message is landing is not found. */
static ssize_t cancel(struct fid *fid, void *context)
{
	struct side *side = fid->context;
	struct shared *at = &shared[side->process];

	for (uint32_t i = 0; i < at->nrecvs; i++) {
		const struct packet none = {.tag = at->recvs[i].tag};

		if (at->recvs[i].context != context)
			continue;
		memmove(&at->recvs[i], &at->recvs[i + 1], (--at->nrecvs - i) * sizeof(*at->recvs));
		complete(side->process, context, FI_ECANCELED, FI_TAGGED | FI_RECV, &none);
		return 0;
	}
	return -FI_ENOENT;
}

/* --- sending --- */

static uint64_t *last_of(int from, int to)
{
	return &lasts[from * processes + to];
}

/*
 * What is under way from one to the other is lost. A message that the fabric has taken and reported
 * as complete comes all the same: it could only be missed (docs/known-issues.md).
 */
static void break_stream(int from, int to)
{
	trace(from, "the stream to ia%d breaks", to);
	for (int i = 0; i < npackets; i++) {
		struct packet *packet = packets[i];

		if (packet->from == from && packet->to == to &&
		    (packet->state == FLYING || packet->state == RETURNING) &&
		    (packet->context || packet->tag == DOFI_TAG_CTRL))
			lose(packet);
	}
}

/* Who has not heard of the failures yet has no new stream. */
static bool is_broken(const struct side *side, int to)
{
	return side->unread_errors || fails[side->process * processes + to];
}

static void fly(struct packet *packet)
{
	uint64_t when = kernel_time + net_data_latency();
	uint64_t passes = net_passes(packet->from, packet->to);
	uint64_t *last = last_of(packet->from, packet->to);

	packet->state = FLYING;
	if (passes == UINT64_MAX)
		return;
	if (passes > kernel_time)
		when = passes + net_data_latency();
	*last = when < *last ? *last : when;
	clock_at(*last, arrive, (uintptr_t)packet, 0);
}

/* A fault that concerns this post; 0: none. */
static ssize_t refuse(struct side *side)
{
	if (side_use_up(&side->faults.no_room))
		return -FI_EAGAIN;
	return side_use_up(&side->faults.refused) ? -FI_EHOSTUNREACH : 0;
}

/* A copy is complete at once; so is what has no completion. */
static ssize_t post_packet(struct fid_ep *fid, const struct packet *what)
{
	struct side *side = side_of_ep(fid);
	ssize_t ret = refuse(side);
	struct packet *packet;

	if (!ret && !what->context && is_broken(side, what->to))
		ret = -FI_EAGAIN; /* nobody would be told */
	if (ret)
		return ret;
	packet = new_packet();
	*packet = *what;
	packet->from = side->process;
	if (is_broken(side, packet->to))
		lose(packet);
	fly(packet);
	if (side_use_up(what->context ? &side->faults.failed : &side->faults.lost)) {
		break_stream(packet->from, packet->to);
		return 0;
	}
	if (packet->context && profile.copies && !packet->is_read && !packet->is_lost) {
		complete(packet->from, packet->context, 0, FI_TAGGED | FI_SEND,
			 &(struct packet){.length = packet->length, .tag = packet->tag});
		packet->context = NULL;
	}
	return 0;
}

static void gather(struct packet *packet, const struct iovec *iov, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		MUST(packet->length + iov[i].iov_len <= MESSAGE_SIZE);
		if (iov[i].iov_len)
			memcpy(packet->bytes + packet->length, iov[i].iov_base, iov[i].iov_len);
		packet->length += iov[i].iov_len;
	}
}

static ssize_t tag_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct packet packet = {.to = (int)msg->addr,
				.context = msg->context,
				.tag = msg->tag,
				.data = msg->data,
				.has_data = flags & FI_REMOTE_CQ_DATA};

	gather(&packet, msg->msg_iov, msg->iov_count);
	return post_packet(fid, &packet);
}

static ssize_t tag_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t n,
			 fi_addr_t to, uint64_t tag, void *context)
{
	const struct fi_msg_tagged msg = {
		.msg_iov = iov, .iov_count = n, .addr = to, .tag = tag, .context = context};

	(void)desc;
	return tag_sendmsg(fid, &msg, 0);
}

static ssize_t tag_send(struct fid_ep *fid, const void *buf, size_t size, void *desc, fi_addr_t to,
			uint64_t tag, void *context)
{
	const struct iovec iov = {(void *)(uintptr_t)buf, size};

	return tag_sendv(fid, &iov, &desc, 1, to, tag, context);
}

static ssize_t tag_inject(struct fid_ep *fid, const void *buf, size_t size, fi_addr_t to,
			  uint64_t tag)
{
	return tag_send(fid, buf, size, NULL, to, tag, NULL);
}

static ssize_t tag_injectdata(struct fid_ep *fid, const void *buf, size_t size, uint64_t data,
			      fi_addr_t to, uint64_t tag)
{
	const struct iovec iov = {(void *)(uintptr_t)buf, size};
	const struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = to, .tag = tag, .data = data};

	return tag_sendmsg(fid, &msg, FI_REMOTE_CQ_DATA);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t size, void *desc, fi_addr_t from,
			uint64_t addr, uint64_t key, void *context)
{
	const struct packet packet = {.to = (int)from, .context = context, .is_read = true};

	(void)buf, (void)size, (void)desc, (void)addr, (void)key;
	return post_packet(fid, &packet);
}

/* --- objects --- */

/* Nothing of the process is known to the fabric any more; who sends to it learns of that. */
static void forget(int process)
{
	struct shared *at = &shared[process];

	at->is_open = false;
	at->nrecvs = at->nlanding = 0;
	while (at->nkept) {
		lose(at->kept[--at->nkept]);
		send_back(at->kept[at->nkept]);
	}
	for (int i = 0; i < npackets; i++) {
		struct packet *packet = packets[i];

		if (packet->state == FREE)
			continue;
		if (packet->from == process) {
			packet->context = NULL;
			packet->is_failing = false;
			fails[process * processes + packet->to] = 0;
		}
		if (packet->to == process && packet->state == LANDING)
			packet->recv.context = NULL;
	}
}

static int ep_close(struct fid *fid)
{
	forget(((struct side *)fid->context)->process);
	return 0;
}

static int get_name(fid_t fid, void *name, size_t *size)
{
	*(uint16_t *)name = (uint16_t)((struct side *)fid->context)->process;
	*size = sizeof(uint16_t);
	return 0;
}

static int open_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **fid_p,
		   void *context)
{
	static struct fi_ops ops = {.size = sizeof(ops),
				    .close = ep_close,
				    .bind = side_no_bind,
				    .control = side_no_control};
	static struct fi_ops_ep ep = {.size = sizeof(ep), .cancel = cancel};
	static struct fi_ops_cm cm = {.size = sizeof(cm), .getname = get_name};
	static struct fi_ops_rma rma = {.size = sizeof(rma), .read = rma_read};
	static struct fi_ops_tagged tagged = {.size = sizeof(tagged),
					      .recv = tag_recv,
					      .recvv = tag_recvv,
					      .send = tag_send,
					      .sendv = tag_sendv,
					      .sendmsg = tag_sendmsg,
					      .inject = tag_inject,
					      .injectdata = tag_injectdata};
	struct side *side = domain->fid.context;
	struct shared *at = &shared[side->process];

	(void)info, (void)context;
	at->fid = (struct fid_ep){.fid = {.context = side, .ops = &ops},
				  .ops = &ep,
				  .cm = &cm,
				  .rma = &rma,
				  .tagged = &tagged};
	at->is_open = true;
	*fid_p = &at->fid;
	return 0;
}

static void cut_soon(uint64_t from, uint64_t to)
{
	break_stream((int)from, (int)to);
}

/* An address is the number of its process. */
static int av_insert(struct fid_av *av, const void *name, size_t n, fi_addr_t *addr, uint64_t flags,
		     void *context)
{
	struct side *side = av->fid.context;
	uint16_t to = *(const uint16_t *)name;

	(void)n, (void)flags, (void)context;
	if (side_use_up(&side->faults.no_endpoint))
		return 0;
	*addr = to;
	if (side_use_up(&side->faults.cut))
		clock_at(kernel_time + net_data_latency(), cut_soon, (uint64_t)side->process, to);
	return 1;
}

static int av_remove(struct fid_av *av, fi_addr_t *addr, size_t n, uint64_t flags)
{
	(void)av, (void)addr, (void)n, (void)flags;
	return 0;
}

static int open_av(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av_p,
		   void *context)
{
	static struct fi_ops_av ops = {.size = sizeof(ops),
				       .insert = av_insert,
				       .remove = av_remove};
	struct side *side = domain->fid.context;

	(void)attr, (void)context;
	side->av = (struct fid_av){.fid = {.context = side, .ops = &side_plain_ops}, .ops = &ops};
	*av_p = &side->av;
	return 0;
}

void fabric_rdm_open(struct dofi_ia *ia, struct side *side)
{
	static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops),
						  .eq_open = side_open_eq};
	static struct fi_ops_domain domain_ops = {.size = sizeof(domain_ops),
						  .endpoint = open_ep,
						  .av_open = open_av,
						  .cq_open = side_open_cq};
	struct fid fid = {.context = side, .ops = &side_plain_ops};

	side->fabric = (struct fid_fabric){.fid = fid, .ops = &fabric_ops};
	side->domain = (struct fid_domain){.fid = fid, .ops = &domain_ops, .mr = &bare_mr_ops};
	ia->trans = &dofi_trans_rdm;
	ia->info->rx_attr->size = profile.receives;
}

/* --- what goes wrong --- */

void fabric_rdm_cut(int process, bool both)
{
	for (int i = 0; i < processes; i++) {
		break_stream(process, i);
		if (both)
			break_stream(i, process);
	}
}

void fabric_rdm_kill(int process)
{
	forget(process);
}

uint32_t fabric_rdm_receives(int process)
{
	return shared[process].nrecvs + shared[process].nlanding;
}

uint32_t fabric_rdm_under_way(int from, int to, uint64_t tag)
{
	uint32_t n = 0;

	for (int i = 0; i < npackets; i++)
		n += packets[i]->from == from && packets[i]->to == to && packets[i]->tag == tag &&
		     !packets[i]->is_lost &&
		     (packets[i]->state == FLYING || packets[i]->state == KEPT);
	return n;
}

void fabric_rdm_begin(const struct fabric_profile *of, int n)
{
	profile = *of;
	rnd = random_stream(profile.seed, 4);
	processes = n;
	shared = kernel_grow(shared, &shared_room, (size_t)n, sizeof(*shared));
	for (int i = 0; i < n; i++) {
		shared[i].is_open = false;
		shared[i].nrecvs = shared[i].nlanding = shared[i].nkept = 0;
	}
	lasts = kernel_grow(lasts, &lasts_room, (size_t)n * (size_t)n, sizeof(*lasts));
	memset(lasts, 0, (size_t)n * (size_t)n * sizeof(*lasts));
	fails = kernel_grow(fails, &fails_room, (size_t)n * (size_t)n, sizeof(*fails));
	memset(fails, 0, (size_t)n * (size_t)n * sizeof(*fails));
	idle = NULL;
	for (int i = npackets; i-- > 0;)
		free_packet(packets[i]);
}
