/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric.h"

#include "fuzz.h"

#include "../sim/bare_ia.h"

#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/drain.h"
#include "cm/path.h"
#include "dto/control.h"
#include "dto/op_context.h"
#include "dto/reap.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/scratch.h"
#include "object/transport.h"
#include "progress/engine.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <string.h>

#define MAX_GIVEN 64u
#define MAX_LINKS 32u
#define GRANTED   8u /* messages that a peer may have sent and that have not arrived */

struct link {
	struct dofi_conn *conn;
	bool up;
};

struct fabric_state fabric_now;

static struct dofi_ia *world;
static struct dofi_wr *given[MAX_GIVEN];
static uint32_t ngiven;
static struct link links[MAX_LINKS];
static uint32_t nlinks;

/* --- operations --- */

static int use_up(int *err)
{
	int was = *err;

	*err = 0;
	return was;
}

static ssize_t take(struct dofi_wr *wr)
{
	int err = use_up(&fabric_now.post);

	if (!err && ngiven == MAX_GIVEN)
		err = -FI_EAGAIN;
	if (!err)
		given[ngiven++] = wr;
	return err;
}

static struct dofi_wr *give_back(uint32_t i)
{
	struct dofi_wr *wr = given[i];

	ngiven--;
	memmove(&given[i], &given[i + 1], (ngiven - i) * sizeof(*given));
	return wr;
}

static bool is_of(const struct dofi_wr *wr, const struct dofi_ep *ep)
{
	return dofi_op_is_of_ep(wr->op) && wr->ep == ep;
}

/* Discards the operations of an EP or of an SRQ without completions. */
static void drop(const void *owner, bool is_srq)
{
	for (uint32_t i = 0; i < ngiven;) {
		bool its = is_srq ? given[i]->op == DOFI_OP_SRQ_RECV && given[i]->srq == owner
				  : is_of(given[i], owner);

		if (its)
			give_back(i);
		else
			i++;
	}
}

static ssize_t post(struct dofi_ep *ep, struct dofi_wr *wr)
{
	(void)ep;
	return take(wr);
}

static ssize_t post_with(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data)
{
	(void)ep, (void)data;
	return take(wr);
}

static ssize_t post_atomic(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t raddr, uint64_t rkey)
{
	(void)ep, (void)raddr, (void)rkey;
	return take(wr);
}

static ssize_t send_empty(struct dofi_ep *ep, struct dofi_wr *wr)
{
	(void)ep, (void)wr;
	return use_up(&fabric_now.post);
}

/* Accepts a record and discards it. The memory must be valid. */
static ssize_t write_ctrl(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
			  uint64_t rkey, uint64_t data)
{
	volatile uint8_t sum = 0;

	(void)ep, (void)raddr, (void)rkey, (void)data;
	for (size_t i = 0; i < size; i++)
		sum = (uint8_t)(sum + ((const uint8_t *)record)[i]);
	return use_up(&fabric_now.post);
}

static ssize_t ctrl_msg(struct dofi_ep *ep, const void *message, size_t size)
{
	return write_ctrl(ep, message, size, 0, 0, 0);
}

static ssize_t send_credit(struct dofi_ep *ep, uint32_t update)
{
	(void)ep, (void)update;
	return use_up(&fabric_now.post);
}

/* The peer's context table is ours: reads the entry of this context. */
static ssize_t peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
		    uint64_t raddr, uint64_t rkey)
{
	ssize_t ret = take(wr);

	(void)ep, (void)desc, (void)rkey;
	if (!ret)
		memcpy(buf,
		       &world->ctxtab.wire[DOFI_CTX_INDEX(raddr / sizeof(*world->ctxtab.wire))],
		       size);
	return ret;
}

static int srq_open(struct dofi_srq *srq)
{
	(void)srq;
	return 0;
}

static void srq_close(struct dofi_srq *srq)
{
	drop(srq, true);
}

static ssize_t srq_recv(struct dofi_srq *srq, struct dofi_wr *wr)
{
	(void)srq;
	return take(wr);
}

static ssize_t ud_send(struct dofi_ep *ep, struct dofi_wr *wr, struct dofi_ud_ah *ah)
{
	(void)ep, (void)ah;
	return take(wr);
}

/* Datagrams never come. */
static ssize_t ud_recv(struct dofi_ia *ia, struct dofi_wr *wr, void *buffer, size_t size,
		       void *desc)
{
	(void)ia, (void)wr, (void)buffer, (void)size, (void)desc;
	return 0;
}

void fabric_complete(unsigned int nth, int err, uint64_t length, uint32_t number, uint32_t update)
{
	if (ngiven)
		dofi_reap_done(give_back(nth % ngiven), err, length, number, update);
}

/* --- paths --- */

static int link_up(struct dofi_conn *conn, int *err)
{
	int ret = use_up(err);

	if (ret || nlinks == MAX_LINKS)
		return ret ? ret : -FI_ENOMEM;
	links[nlinks++] = (struct link){.conn = conn};
	if (conn->ud)
		conn->path_made = true;
	else if (fabric_now.makes_path)
		dofi_conn_path_made(conn);
	return 0;
}

static int connect_path(struct dofi_conn *conn)
{
	return link_up(conn, &fabric_now.connect);
}

static int expect(struct dofi_conn *conn)
{
	return link_up(conn, &fabric_now.expect);
}

static void prepare(struct dofi_conn *conn)
{
	FUZZ_CHECK(conn->chan);
}

static bool has_link(const struct dofi_conn *conn)
{
	for (uint32_t i = 0; i < nlinks; i++)
		if (links[i].conn == conn)
			return true;
	return false;
}

static bool cancel_all(struct dofi_conn *conn)
{
	if (!has_link(conn))
		return false;
	if (fabric_now.busy)
		return true;
	for (uint32_t i = 0; i < ngiven;) {
		if (!is_of(given[i], conn->ep)) {
			i++;
			continue;
		}
		dofi_reap_done(give_back(i), FI_ECANCELED, 0, 0, 0);
		i = 0;
	}
	return false;
}

static void disconnect(struct dofi_conn *conn)
{
	for (uint32_t i = 0; i < nlinks; i++) {
		if (links[i].conn != conn)
			continue;
		nlinks--;
		memmove(&links[i], &links[i + 1], (nlinks - i) * sizeof(*links));
		if (conn->ud)
			return;
		drop(conn->ep, false);
		if (conn->ia->trans->settle && conn->path_made && !conn->ep->srq)
			dofi_drain_begin(conn, conn->id, conn->ep->nreceived,
					 conn->ep->nreceived + GRANTED, 16);
		return;
	}
}

void fabric_path_up(unsigned int nth)
{
	struct link *link = nlinks ? &links[nth % nlinks] : NULL;

	if (!link || link->up)
		return;
	/* The side that accepts a UD connection only waits for READY. */
	if (link->conn->ud && !link->conn->active) {
		dofi_conn_proceeds(link->conn);
		return;
	}
	if (!link->conn->path_made) {
		/* The transports make no path for a connection whose end is decided. */
		if (dofi_conn_is_ending(link->conn))
			return;
		dofi_conn_path_made(link->conn);
	}
	link->up = true;
	dofi_conn_path_up(link->conn);
}

void fabric_path_down(unsigned int nth, int err)
{
	if (nlinks)
		dofi_conn_path_down(links[nth % nlinks].conn, err);
}

/* --- the table --- */

static void completed(struct dofi_ia *ia, const void *entries, ssize_t n)
{
	(void)ia, (void)entries, (void)n;
}

static int poll_events(struct dofi_ia *ia)
{
	(void)ia;
	return 0;
}

static void peer_closed(struct dofi_ia *ia, const struct dofi_chan *chan)
{
	(void)ia, (void)chan;
}

static void peer_died(struct dofi_ia *ia)
{
	(void)ia;
}

#define COMMON                                                                                   \
	.name = "rdm", .id = DOFI_TRANS_RDM, .prepare = prepare, .connect = connect_path,        \
	.expect = expect, .disconnect = disconnect, .send = post, .recv = post, .read = post,    \
	.write = post, .write_data = post_with, .atomic = post_atomic, .send_empty = send_empty, \
	.peek = peek, .send_credit = send_credit, .ud_send = ud_send, .ud_recv = ud_recv,        \
	.srq_open = srq_open, .srq_close = srq_close, .srq_recv = srq_recv,                      \
	.completed = completed, .poll_events = poll_events, .peer_closed = peer_closed,          \
	.peer_died = peer_died

static const struct dofi_trans_ops tables[] = {
	[0] = {COMMON, .has_eq = true, .ctrl_msg = ctrl_msg},
	[FABRIC_RDM] = {COMMON, .cancel = cancel_all, .settle = dofi_drain_settle,
			.ctrl_msg = ctrl_msg},
	[FABRIC_SLOTS] = {COMMON, .has_eq = true, .write_ctrl = write_ctrl},
	[FABRIC_RDM | FABRIC_SLOTS] = {COMMON, .cancel = cancel_all, .settle = dofi_drain_settle,
				       .write_ctrl = write_ctrl},
};

const struct dofi_trans_ops *fabric_table(unsigned int kind)
{
	return &tables[kind % (sizeof(tables) / sizeof(*tables))];
}

/* --- the objects --- */

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t size, void *desc, fi_addr_t from,
			   uint64_t tag, uint64_t ignore, void *context)
{
	(void)ep, (void)buf, (void)size, (void)desc, (void)from, (void)tag, (void)ignore;
	return take(dofi_context_wr(world, context));
}

/* The input decides when the operation returns. */
static ssize_t cancel(fid_t fid, void *context)
{
	(void)fid, (void)context;
	return 0;
}

void fabric_open(struct dofi_ia *ia)
{
	static struct fid_domain domain = {.mr = &bare_mr_ops};
	static struct fi_ops_tagged tagged = {.size = sizeof(tagged), .recv = tagged_recv};
	static struct fi_ops_ep ep_ops = {.size = sizeof(ep_ops), .cancel = cancel};
	static struct fid_ep shared_ep = {.tagged = &tagged, .ops = &ep_ops};

	world = ia;
	ia->domain = &domain;
	ia->shared_ep = &shared_ep;
}

void fabric_begin(void)
{
	fabric_now = (struct fabric_state){.makes_path = true};
	ngiven = nlinks = 0;
}

void fabric_end(void)
{
	dofi_engine_begin(world);
	for (uint32_t i = 0; i < ngiven;) {
		if (given[i]->op == DOFI_OP_ORPHAN)
			dofi_reap_done(give_back(i), FI_ECANCELED, 0, 0, 0);
		else
			i++;
	}
	dofi_engine_end(world);
}

bool fabric_is_idle(void)
{
	for (uint32_t i = 0; i < ngiven; i++)
		if (given[i]->op != DOFI_OP_DRAIN)
			return false;
	return !nlinks;
}
