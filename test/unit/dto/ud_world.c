/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/bounce.h"
#include "dto/reap.h"
#include "dto/ring.h"
#include "dto/ud_pool.h"
#include "progress/work.h"
#include "ud_world.h"

struct dofi_ia ia;
static struct fi_info info;
struct fi_domain_attr domain_attr;
struct fid_ep endpoint;
struct dofi_ep eps[2];
struct dofi_evd evd;
static struct dofi_event events[8];
struct fabric fabric;

const struct dofi_wr *given[4];
unsigned int ngiven;

void __wrap_dofi_bounce_give(struct dofi_wr *wr, uint64_t length);

void __wrap_dofi_bounce_give(struct dofi_wr *wr, uint64_t length)
{
	ck_assert_uint_eq(length, 0); /* nothing to copy back */
	ck_assert_uint_lt(ngiven, 4);
	given[ngiven++] = wr;
	wr->split = 0;
}

static ssize_t receive(struct dofi_ia *of, struct dofi_wr *wr, void *buffer, size_t size,
		       void *desc)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(desc, fabric.desc);
	ck_assert_uint_eq(size, DOFI_UD_LONGEST);
	if (fabric.receive_answer)
		return fabric.receive_answer;
	if (!fabric.room)
		return -FI_EAGAIN;
	fabric.room--;
	ck_assert_int_lt(fabric.receives, POSTED);
	fabric.wr[fabric.receives] = wr;
	fabric.buffer[fabric.receives++] = buffer;
	return 0;
}

static ssize_t transmit(struct dofi_ep *ep, struct dofi_wr *wr, struct dofi_ud_ah *ah)
{
	(void)ep, (void)wr, (void)ah;
	fabric.sends += !fabric.send_answer;
	return fabric.send_answer;
}

static ssize_t mark(struct dofi_ud_ah *ah, uint32_t update, bool answer)
{
	ck_assert_ptr_eq(ah->obj.ia, &ia);
	if (fabric.mark_answer)
		return fabric.mark_answer;
	*(answer ? &fabric.answers : &fabric.marks) += 1;
	fabric.update = update;
	return 0;
}

bool ud_mark(struct dofi_ia *of, uint32_t id, uint32_t secret, uint32_t update)
{
	ck_assert_ptr_eq(of, &ia);
	if (id != 5 || secret != 6)
		return false;
	fabric.arrived = update;
	return true;
}

static const struct dofi_upcalls upcalls = {.ud_mark = ud_mark};

const struct dofi_trans_ops trans = {.name = "fake",
				     .ud_send = transmit,
				     .ud_mark = mark,
				     .ud_recv = receive};

static void setup(void)
{
	info.domain_attr = &domain_attr;
	ia.info = &info;
	ia.trans = &trans;
	ia.has_data = true;
	ia.shared_ep = &endpoint;
	ia.params.linger_ms = 0;
	ia.up = &upcalls;
	dofi_list_init(&ia.ud_answers);
	dofi_work_init(&ia.engine);
	dofi_lock_init(&evd.lock);
	evd.obj.ia = &ia;
	evd.ring = events;
	evd.qlen = 8;
	fabric.room = POSTED;
	for (int i = 0; i < 2; i++) {
		dofi_lock_init(&eps[i].lock);
		eps[i].obj.ia = &ia;
		eps[i].recv_evd = eps[i].req_evd = &evd;
		ck_assert_int_eq(dofi_ring_init(&ia, &eps[i].recv, 4, 1), 0);
		ck_assert_int_eq(dofi_ring_init(&ia, &eps[i].req, 4, 1), 0);
	}
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_ud_pool_close(&ia);
	ck_assert_ptr_null(ia.ud_pool);
}

TCase *add_case(Suite *suite)
{
	TCase *tc = tcase_create("ud");

	tcase_add_checked_fixture(tc, setup, teardown);
	suite_add_tcase(suite, tc);
	return tc;
}

int open_ep(struct dofi_ep *ep)
{
	int ret;

	dofi_unlock(&ia.engine.lock);
	ret = dofi_ud_open(ep);
	dofi_lock(&ia.engine.lock);
	return ret;
}

void open_eps(void)
{
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(open_ep(&eps[i]), 0);
}

/* --- receiving --- */

void post_receive(struct dofi_ep *ep, char *memory, size_t size)
{
	struct dofi_wr *wr = dofi_ring_at(&ep->recv, ep->recv.tail++);

	wr->op = DOFI_OP_RECV;
	wr->state = DOFI_WR_QUEUED;
	wr->status = DAT_DTO_SUCCESS;
	wr->niov = 1;
	wr->length = size;
	wr->iov[0] = (struct iovec){memory, size};
}

void arrive(uint32_t data, const char *text, int err)
{
	struct dofi_wr *wr = fabric.wr[--fabric.receives];

	ck_assert_uint_eq(wr->op, DOFI_OP_UD_RECV);
	memcpy(fabric.buffer[fabric.receives], text, strlen(text));
	fabric.room++;
	dofi_reap_done(wr, err, strlen(text), 0, data);
}

struct dofi_event next_event(void)
{
	ck_assert_uint_ne(dofi_evd_queued(&evd), 0);
	return *dofi_evd_slot(&evd, evd.head++);
}

/* --- sending --- */

struct dofi_wr *post_send(struct dofi_ep *ep, struct dofi_ud_ah *ah)
{
	struct dofi_wr *wr = dofi_ring_at(&ep->req, ep->req.tail++);

	wr->ep = ep;
	wr->op = DOFI_OP_SEND_UD;
	wr->state = DOFI_WR_QUEUED;
	wr->status = DAT_DTO_ERR_FLUSHED; /* of the former request of the slot */
	wr->send.ah = ah;
	return wr;
}

ssize_t start(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret;

	dofi_lock(&ep->lock);
	ret = dofi_ud_start(ep, wr);
	dofi_unlock(&ep->lock);
	return ret;
}

void open_window(struct dofi_ud_ah *ah)
{
	open_eps();
	ah->obj.ia = &ia;
	dofi_list_init(&ah->answer);
	ia.params.linger_ms = 3600000;
}

void send_many(struct dofi_ep *ep, struct dofi_ud_ah *ah, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ck_assert_int_eq(start(ep, post_send(ep, ah)), 0);
		ep->req.head = ep->req.issue = ep->req.tail;
	}
}
