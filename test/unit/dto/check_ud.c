/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams: the library's receives, which datagrams are delivered or dropped, and sends that the
 * fabric refuses.
 */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/dto/ep_attr.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/progress/unfold.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/dto/reap.h"
#include "../../../prov/ofi/dto/ud.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/mr.h"
#include "../../../prov/ofi/object/ud_ah.h"
#include "../../../prov/ofi/dto/ud_pool.h"
#include "../../../prov/ofi/dto/credit.h"
#include "../../../prov/ofi/object/upcalls.h"
#include "../../../prov/ofi/dto/ud_window.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/progress/engine_fds.h"
#include "../../../prov/ofi/progress/work.h"

#include <rdma/fi_domain.h>
#include <dat2/dat_ib_extensions.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define POSTED 32

static struct dofi_ia ia;
static struct fi_info info;
static struct fi_domain_attr domain_attr;
static struct fid_ep endpoint;
static struct dofi_ep eps[2];
static struct dofi_evd evd;
static struct dofi_event events[8];

/* --- the fabric --- */

static struct {
	int receives, room; /* posted, and how many more the fabric accepts */
	struct dofi_wr *wr[POSTED];
	void *buffer[POSTED];
	ssize_t send_answer, mark_answer, receive_answer;
	int sends, marks, answers;
	uint32_t update, arrived;
} fabric;

static struct {
	int calls, closed, answer;
	void *desc; /* that receives have */
} registration;
static struct fid_mr region;

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr);

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_nonnull(buf);
	ck_assert_uint_eq(length, (size_t)POSTED * DOFI_UD_LONGEST);
	ck_assert_int_eq(rights, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	*key_p = *address_p = 0;
	registration.calls++;
	if (registration.answer)
		return registration.answer;
	region.mem_desc = registration.desc = &region;
	*mr_p = &region;
	return 0;
}

int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(mr, &region);
	registration.closed++;
	return 0;
}

static bool no_memory, no_random;
static const uint32_t *random_is; /* NULL: it is random */

void *__real_calloc(size_t n, size_t size);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);
T_STAND_IN void __wrap_free(void *block);
void __real_free(void *block);
int __real_dofi_random(void *bytes, size_t size);
int __wrap_dofi_random(void *bytes, size_t size);

static const void *pool; /* the latest block that is large enough for it */

void *__wrap_calloc(size_t n, size_t size)
{
	void *block = no_memory ? NULL : __real_calloc(n, size);

	if (n * size > DOFI_UD_EPS * sizeof(void *))
		pool = block;
	return block;
}

/* Blocks that the test expects to be freed. */
static const void *watched[2];
static unsigned int nfreed;

void __wrap_free(void *block)
{
	for (int i = 0; i < 2; i++)
		if (block && block == watched[i]) {
			nfreed++;
			watched[i] = NULL;
		}
	if (block == pool)
		pool = NULL;
	__real_free(block);
}

/* Buffers of requests that were gathered. */
static const struct dofi_wr *given[4];
static unsigned int ngiven;

void __wrap_dofi_bounce_give(struct dofi_wr *wr, uint64_t length);

void __wrap_dofi_bounce_give(struct dofi_wr *wr, uint64_t length)
{
	ck_assert_uint_eq(length, 0); /* nothing to copy back */
	ck_assert_uint_lt(ngiven, 4);
	given[ngiven++] = wr;
	wr->split = 0;
}

int __wrap_dofi_random(void *bytes, size_t size)
{
	if (!random_is)
		return no_random ? -FI_EPERM : __real_dofi_random(bytes, size);
	ck_assert_uint_eq(size, sizeof(*random_is));
	memcpy(bytes, random_is, size);
	return 0;
}

static ssize_t receive(struct dofi_ia *of, struct dofi_wr *wr, void *buffer, size_t size,
		       void *desc)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(desc, registration.desc);
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

/* The connection manager. */
static bool ud_mark(struct dofi_ia *of, uint32_t id, uint32_t secret, uint32_t update)
{
	ck_assert_ptr_eq(of, &ia);
	if (id != 5 || secret != 6)
		return false;
	fabric.arrived = update;
	return true;
}

static const struct dofi_upcalls upcalls = {.ud_mark = ud_mark};

static const struct dofi_trans_ops trans = {.name = "fake",
					    .ud_send = transmit,
					    .ud_mark = mark,
					    .ud_recv = receive};

/* A datagram arrives in the receive posted last. */
static void arrive(uint32_t data, const char *text, int err)
{
	struct dofi_wr *wr = fabric.wr[--fabric.receives];

	ck_assert_uint_eq(wr->op, DOFI_OP_UD_RECV);
	memcpy(fabric.buffer[fabric.receives], text, strlen(text));
	fabric.room++;
	dofi_reap_done(wr, err, strlen(text), 0, data);
}

/* --- */

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

static int open_ep(struct dofi_ep *ep)
{
	int ret;

	dofi_unlock(&ia.engine.lock);
	ret = dofi_ud_open(ep);
	dofi_lock(&ia.engine.lock);
	return ret;
}

static void open_eps(void)
{
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(open_ep(&eps[i]), 0);
}

static void teardown(void)
{
	dofi_ud_pool_close(&ia);
	ck_assert_ptr_null(ia.ud_pool);
}

static void post_receive(struct dofi_ep *ep, char *memory, size_t size)
{
	struct dofi_wr *wr = dofi_ring_at(&ep->recv, ep->recv.tail++);

	wr->op = DOFI_OP_RECV;
	wr->state = DOFI_WR_QUEUED;
	wr->status = DAT_DTO_SUCCESS;
	wr->niov = 1;
	wr->length = size;
	wr->iov[0] = (struct iovec){memory, size};
}

static struct dofi_event next_event(void)
{
	ck_assert_uint_ne(dofi_evd_queued(&evd), 0);
	return *dofi_evd_slot(&evd, evd.head++);
}

START_TEST(each_EP_has_a_number_and_its_datagrams)
{
	char memory[64];
	struct dofi_event event;

	open_eps();
	ck_assert_uint_ne(eps[0].ud->number, eps[1].ud->number);
	post_receive(&eps[1], memory, sizeof(memory));
	arrive(eps[1].ud->number, "hello", 0);
	event = next_event();
	ck_assert_ptr_eq(event.handle, &eps[1]);
	ck_assert_uint_eq(event.number, DOFI_EVENT_EXTENDED);
	ck_assert_uint_eq(event.ext, DOFI_UD_TYPE_RECV + 1);
	ck_assert_uint_eq(event.dto.length, DOFI_UD_HEADER + 5);
	ck_assert_mem_eq(memory + DOFI_UD_HEADER, "hello", 5);
	ck_assert_int_eq(fabric.receives, POSTED);
	ck_assert_int_eq(registration.calls, 0); /* this fabric needs none */
}
END_TEST

/* Where the fabric needs it, and once for all EPs. */
START_TEST(the_buffers_are_registered)
{
	domain_attr.mr_mode = FI_MR_LOCAL;
	registration.answer = -FI_ENOMEM;
	ck_assert_int_eq(open_ep(&eps[0]), -FI_ENOMEM);
	ck_assert_ptr_null(eps[0].ud);
	ck_assert_ptr_null(ia.ud_pool);
	ck_assert_ptr_null(pool);
	ck_assert_int_eq(fabric.receives, 0);
	registration.answer = 0;
	open_eps();
	ck_assert_int_eq(registration.calls, 2);
	ck_assert_int_eq(fabric.receives, POSTED);
	for (int i = 0; i < POSTED; i++)
		for (int k = 0; k < i; k++)
			ck_assert_int_ge(labs((char *)fabric.buffer[i] - (char *)fabric.buffer[k]),
					 DOFI_UD_LONGEST);
	watched[0] = ia.ud_pool;
	watched[1] = fabric.buffer[0];
	dofi_ud_pool_close(&ia);
	ck_assert_uint_eq(nfreed, 2);
	ck_assert_int_eq(registration.closed, 1);
	dofi_ud_pool_close(&ia);
	ck_assert_int_eq(registration.closed, 1);
}
END_TEST

/* The table has a place for each EP. */
START_TEST(an_EP_without_a_number_is_no_UD_EP)
{
	enum { PLACE = 100 };
	static struct dofi_ep third = {.obj.ia = &ia};
	struct dofi_ep **places;

	open_eps();
	places = dofi_ud_pool_eps(&ia);
	for (uint32_t i = 0; i < DOFI_UD_EPS; i++)
		places[i] = places[i] ? places[i] : &eps[0];
	ck_assert_int_eq(open_ep(&third), -FI_ENOSPC);
	ck_assert_ptr_null(third.ud);
	ck_assert_ptr_null(third.fep);
	ck_assert(!third.path_up);
	places[PLACE] = NULL;
	ck_assert_int_eq(open_ep(&third), 0);
	ck_assert_ptr_eq(places[PLACE], &third);
	ck_assert_uint_eq(third.ud->number % DOFI_UD_EPS, PLACE);
	ck_assert_uint_le(third.ud->number, DOFI_UD_NUMBER);
	ck_assert(third.path_up);
	ck_assert_ptr_eq(third.fep, &endpoint);
	ck_assert(dofi_list_empty(&third.ud->conns));
	ck_assert(dofi_list_empty(&third.ud->ahs));
}
END_TEST

/* The first bytes of the segments are for a header, which the library leaves alone. */
START_TEST(a_datagram_lies_behind_the_header_in_the_segments)
{
	static const struct {
		size_t lengths[3], datagram;
	} cases[] = {{{DOFI_UD_HEADER, 5, 9}, 14},     {{DOFI_UD_HEADER + 3, 1, 9}, 13},
		     {{DOFI_UD_HEADER - 1, 1, 8}, 8},  {{1, DOFI_UD_HEADER, 20}, 21},
		     {{1, DOFI_UD_HEADER, 20}, 1},     {{10, 10, DOFI_UD_HEADER}, 20},
		     {{DOFI_UD_HEADER + 8, 8, 8}, 20}, {{DOFI_UD_HEADER, 5, 9}, 0}};
	static char room[512];
	struct dofi_wr *wr;
	char expected[sizeof(room)], text[] = "abcdefghijklmnopqrstuvwxyz";
	size_t at = 0, length = 0, next = 0;

	dofi_ring_fini(&eps[0].recv);
	ck_assert_int_eq(dofi_ring_init(&ia, &eps[0].recv, 4, 3), 0);
	open_eps();
	post_receive(&eps[0], NULL, 0);
	wr = dofi_ring_at(&eps[0].recv, 0);
	wr->niov = 3;
	for (int i = 0; i < 3; i++) {
		wr->iov[i] = (struct iovec){room + at, cases[_i].lengths[i]};
		length += cases[_i].lengths[i];
		at += cases[_i].lengths[i] + 32; /* they are apart */
	}
	wr->length = length;
	memset(room, '.', sizeof(room));
	memset(expected, '.', sizeof(expected));
	text[cases[_i].datagram] = '\0';
	for (int i = 0; i < 3; i++)
		for (size_t k = 0; k < cases[_i].lengths[i]; k++, next++)
			if (next >= DOFI_UD_HEADER && next - DOFI_UD_HEADER < cases[_i].datagram)
				expected[(char *)wr->iov[i].iov_base - room + (ptrdiff_t)k] =
					text[next - DOFI_UD_HEADER];
	arrive(eps[0].ud->number, text, 0);
	ck_assert_uint_eq(next_event().status, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(room, expected, sizeof(room));
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_RECV_UD], 1);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_RECV_UD_DATA],
			  DOFI_UD_HEADER + cases[_i].datagram);
}
END_TEST

/* The receive fails, and the EP goes on. */
START_TEST(a_datagram_that_does_not_fit)
{
	char memory[DOFI_UD_HEADER + 8] = {0};
	struct dofi_event event;

	open_eps();
	post_receive(&eps[0], memory, DOFI_UD_HEADER + 4);
	post_receive(&eps[0], memory, DOFI_UD_HEADER + 5);
	arrive(eps[0].ud->number, "hello", 0);
	event = next_event();
	ck_assert_uint_eq(event.status, DAT_DTO_ERR_LOCAL_LENGTH);
	ck_assert_uint_eq(event.dto.length, DOFI_UD_HEADER + 5);
	ck_assert_int_eq(memory[DOFI_UD_HEADER], 0);
	arrive(eps[0].ud->number, "world", 0);
	ck_assert_uint_eq(next_event().status, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(memory + DOFI_UD_HEADER, "world", 5);
	ck_assert(!eps[0].faulty);
}
END_TEST

/* Its memory region has ended, for example. */
START_TEST(a_receive_that_can_only_fail_gets_no_bytes)
{
	char memory[64] = {0};

	open_eps();
	post_receive(&eps[0], memory, sizeof(memory));
	dofi_ring_at(&eps[0].recv, 0)->status = DAT_DTO_ERR_LOCAL_PROTECTION;
	arrive(eps[0].ud->number, "hello", 0);
	ck_assert_uint_eq(next_event().status, DAT_DTO_ERR_LOCAL_PROTECTION);
	ck_assert_int_eq(memory[DOFI_UD_HEADER], 0);
}
END_TEST

START_TEST(a_datagram_may_be_solicited)
{
	char memory[64];

	open_eps();
	for (uint32_t i = 0; i < 2; i++) {
		post_receive(&eps[0], memory, sizeof(memory));
		arrive(eps[0].ud->number | (i ? DOFI_UD_SOLICITED : 0), "hello", 0);
		ck_assert(dofi_ring_at(&eps[0].recv, i)->recv.solicited == (i == 1));
	}
}
END_TEST

/* The buffers are those of the endpoint, which is closed. */
START_TEST(a_receive_without_an_endpoint_is_not_posted_again)
{
	open_eps();
	ia.shared_ep = NULL;
	arrive(0, "late", FI_ECANCELED);
	ck_assert_int_eq(fabric.receives, POSTED - 1);
}
END_TEST

START_TEST(datagrams_without_a_receive_are_dropped)
{
	char memory[64];

	open_eps();
	arrive(eps[0].ud->number, "old", 0);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_DROPPED], 1);
	post_receive(&eps[0], memory, sizeof(memory));
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	arrive(eps[0].ud->number, "new", 0);
	ck_assert_uint_eq(next_event().status, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(memory + DOFI_UD_HEADER, "new", 3);
	ck_assert_int_eq(fabric.receives, POSTED);
}
END_TEST

/* For an unknown EP, a freed EP, or a failed receive: dropped, and the buffer is posted again. */
START_TEST(datagrams_for_unknown_endpoints_are_dropped)
{
	char memory[64];

	open_eps();
	post_receive(&eps[0], memory, sizeof(memory));
	arrive(eps[0].ud->number ^ 1u << 20, "late", 0); /* the same place, another number */
	arrive(eps[0].ud->number ^ 3u << 20, "late", 0);
	arrive(eps[0].ud->number, "cut", FI_ETRUNC);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_DROPPED], 0);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 2);
	ck_assert_int_eq(fabric.receives, POSTED);
}
END_TEST

START_TEST(receives_refused_by_eagain_are_posted_later)
{
	fabric.room = 3;
	open_eps();
	ck_assert_int_eq(fabric.receives, 3);
	ck_assert_uint_eq(atomic_load(&ia.engine.restless),
			  1); /* no event tells when there is room */
	fabric.room = 2;
	dofi_ud_pool_retry(&ia);
	ck_assert_int_eq(fabric.receives, 5);
	ck_assert_uint_eq(atomic_load(&ia.engine.restless), 1);
	fabric.room = POSTED;
	dofi_ud_pool_retry(&ia);
	ck_assert_int_eq(fabric.receives, POSTED);
	ck_assert_uint_eq(atomic_load(&ia.engine.restless), 0);
	/* each of them once, in order, with its own buffer */
	for (int i = 1; i < POSTED; i++) {
		ck_assert_ptr_eq(fabric.wr[i],
				 (char *)fabric.wr[0] + (size_t)i * sizeof(struct dofi_own_wr));
		ck_assert_ptr_eq(fabric.buffer[i],
				 (char *)fabric.buffer[0] + (size_t)i * DOFI_UD_LONGEST);
	}
}
END_TEST

static struct dofi_wr *post_send(struct dofi_ep *ep, struct dofi_ud_ah *ah)
{
	struct dofi_wr *wr = dofi_ring_at(&ep->req, ep->req.tail++);

	wr->ep = ep;
	wr->op = DOFI_OP_SEND_UD;
	wr->state = DOFI_WR_QUEUED;
	wr->status = DAT_DTO_ERR_FLUSHED; /* of the former request of the slot */
	wr->send.ah = ah;
	return wr;
}

/* Sends the next request, as issue.c does. */
static ssize_t start(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret;

	dofi_lock(&ep->lock);
	ret = dofi_ud_start(ep, wr);
	dofi_unlock(&ep->lock);
	return ret;
}

START_TEST(sends_are_lost_after_a_long_eagain)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_wr *wr;

	open_eps();
	ia.params.linger_ms = 3600000;
	wr = post_send(&eps[0], &ah);
	fabric.send_answer = -FI_EAGAIN;
	ck_assert_int_eq(start(&eps[0], wr), -FI_EAGAIN);
	ck_assert_int_eq(start(&eps[0], wr), -FI_EAGAIN);
	ck_assert_uint_eq(wr->state, DOFI_WR_QUEUED);
	ia.params.linger_ms = 0;
	while (start(&eps[0], wr)) /* the clock moves on */
		;
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_uint_eq(wr->status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_LOST], 1);
	/* The fabric accepts sends again. */
	fabric.send_answer = 0;
	wr = post_send(&eps[0], &ah);
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(wr->state, DOFI_WR_ISSUED);
	ck_assert_uint_eq(atomic_load(&ah.again_since), 0);
	ck_assert_int_eq(fabric.sends, 1);
}
END_TEST

START_TEST(sends_are_lost_with_the_peer_or_the_handle)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .gone = true}, other = {.obj.ia = &ia, .number = 1};
	struct dofi_wr *wr;

	open_eps();
	wr = post_send(&eps[0], &ah);
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_uint_eq(wr->status, DAT_DTO_SUCCESS);
	/* The handle is freed while a send of any EP waits. */
	wr = post_send(&eps[1], &other);
	dofi_ud_forget(&ia, &other);
	ck_assert_int_eq(start(&eps[1], wr), 0);
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_int_eq(fabric.sends, 0);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_LOST] +
				  eps[1].counters[DOFI_CNT_EP_UD_LOST],
			  2);
}
END_TEST

START_TEST(a_local_error_is_reported)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_wr *wr;

	open_eps();
	wr = post_send(&eps[0], &ah);
	fabric.send_answer = -FI_EMSGSIZE;
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_uint_ne(wr->status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_LOST], 0);
	ck_assert(!eps[0].faulty);
}
END_TEST

/* Where the fabric takes one segment only, the datagram was gathered in a buffer. */
START_TEST(the_buffer_of_a_datagram_that_is_lost_is_given_back)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_wr *wr;

	open_eps();
	ia.params.linger_ms = 3600000;
	wr = post_send(&eps[0], &ah);
	wr->split = 1;
	fabric.send_answer = -FI_EAGAIN;
	ck_assert_int_eq(start(&eps[0], wr), -FI_EAGAIN);
	ck_assert_uint_eq(ngiven, 0); /* it is needed later */
	fabric.send_answer = 0;
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(ngiven, 0); /* the fabric reads it */
	wr = post_send(&eps[0], &ah);
	wr->split = 1;
	fabric.send_answer = -FI_EMSGSIZE;
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(ngiven, 1);
	ck_assert_ptr_eq(given[0], wr);
	wr = post_send(&eps[0], &ah); /* it has none */
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(ngiven, 1);
}
END_TEST

/* The errors that peers cause, and those that say that the fabric gives the request back. */
START_TEST(the_status_of_a_datagram_that_failed)
{
	static const struct {
		int err;
		uint8_t status;
	} cases[] = {{FI_ECANCELED, DAT_DTO_SUCCESS},
		     {FI_ECONNRESET, DAT_DTO_SUCCESS},
		     {FI_EHOSTUNREACH, DAT_DTO_SUCCESS},
		     {FI_EFAULT, DAT_DTO_ERR_LOCAL_PROTECTION}};
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_wr *wr;

	open_eps();
	wr = post_send(&eps[0], &ah);
	dofi_lock(&eps[0].lock);
	dofi_ud_send_failed(&eps[0], wr, cases[_i].err);
	dofi_unlock(&eps[0].lock);
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_uint_eq(wr->status, cases[_i].status);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_LOST],
			  cases[_i].status == DAT_DTO_SUCCESS);
}
END_TEST

/* The time counts from the first refusal, for each address handle. */
START_TEST(a_datagram_is_lost_after_the_limit)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_wr *wr;

	open_eps();
	ia.params.linger_ms = 1000;
	wr = post_send(&eps[0], &ah);
	fabric.send_answer = -FI_EAGAIN;
	ck_assert_int_eq(start(&eps[0], wr), -FI_EAGAIN);
	ck_assert_uint_ne(atomic_load(&ah.again_since), 0);
	atomic_store(&ah.again_since, dofi_now() - 500 * UINT64_C(1000000));
	ck_assert_int_eq(start(&eps[0], wr), -FI_EAGAIN);
	atomic_store(&ah.again_since, dofi_now() - 1001 * UINT64_C(1000000));
	ck_assert_int_eq(start(&eps[0], wr), 0);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_LOST], 1);
}
END_TEST

/* Requests of the handle lose it, those of another keep theirs. */
START_TEST(a_freed_handle_is_taken_from_its_requests)
{
	struct dofi_ud_ah ah[2] = {{.obj.ia = &ia, .number = 7}, {.obj.ia = &ia, .number = 8}};
	struct dofi_wr *wrs[3];

	open_eps();
	for (int i = 0; i < 3; i++)
		wrs[i] = post_send(&eps[0], &ah[i % 2]);
	eps[0].req.head = 1; /* the first one is complete */
	dofi_ud_forget(&ia, &ah[0]);
	ck_assert_ptr_eq(wrs[0]->send.ah, &ah[0]);
	ck_assert_ptr_eq(wrs[1]->send.ah, &ah[1]);
	ck_assert_ptr_null(wrs[2]->send.ah);
	ck_assert(dofi_trylock(&eps[0].lock));
	dofi_unlock(&eps[0].lock);
}
END_TEST

START_TEST(an_IA_has_datagrams_if_its_fabric_has)
{
	const struct dofi_trans_ops streams = {.name = "streams"};

	ck_assert(dofi_ud_possible(&ia));
	ia.has_data = false; /* nothing would name the EP */
	ck_assert(!dofi_ud_possible(&ia));
	ia.has_data = true;
	ia.trans = &streams;
	ck_assert(!dofi_ud_possible(&ia));
}
END_TEST

START_TEST(datagrams_under_way_are_counted)
{
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};

	ck_assert(!dofi_ud_is_sending(&ia));
	open_eps();
	ck_assert(!dofi_ud_is_sending(&ia));
	ck_assert_int_eq(start(&eps[1], post_send(&eps[1], &ah)), 0);
	ck_assert(dofi_ud_is_sending(&ia));
}
END_TEST

START_TEST(datagrams_under_way_are_counted_at_each_place)
{
	static const uint32_t places[] = {0, 1, DOFI_UD_EPS - 1};
	struct dofi_ud_ah ah = {.obj.ia = &ia, .number = 7};
	struct dofi_ep **table;

	open_eps();
	table = dofi_ud_pool_eps(&ia);
	for (uint32_t i = 0; i < DOFI_UD_EPS; i++)
		table[i] = NULL;
	table[places[_i]] = &eps[1];
	ck_assert(!dofi_ud_is_sending(&ia));
	ck_assert_int_eq(start(&eps[1], post_send(&eps[1], &ah)), 0);
	ck_assert(dofi_ud_is_sending(&ia));
}
END_TEST

/* --- windows --- */

static void open_window(struct dofi_ud_ah *ah)
{
	open_eps();
	ah->obj.ia = &ia;
	dofi_list_init(&ah->answer);
	ia.params.linger_ms = 3600000;
}

/* Sends n datagrams, whose requests complete at once. */
static void send_many(struct dofi_ep *ep, struct dofi_ud_ah *ah, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ck_assert_int_eq(start(ep, post_send(ep, ah)), 0);
		ep->req.head = ep->req.issue = ep->req.tail;
	}
}

static void does_not_go(struct dofi_ep *ep, struct dofi_ud_ah *ah)
{
	int sends = fabric.sends;

	ck_assert_int_eq(start(ep, post_send(ep, ah)), -FI_EAGAIN);
	ck_assert_int_eq(fabric.sends, sends);
	ep->req.head = ep->req.issue = ep->req.tail;
}

START_TEST(a_sender_waits_when_its_peer_takes_nothing)
{
	struct dofi_ud_ah ah = {.number = 7};
	uint32_t first;

	open_window(&ah);
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY - 1);
	ck_assert_int_eq(fabric.marks, 0);
	send_many(&eps[1], &ah, 1);
	ck_assert_int_eq(fabric.marks, 1);
	first = fabric.update;
	ck_assert_uint_eq(first, DOFI_UD_MARK_EVERY << 2 | DOFI_UPDATE_CREDIT);
	send_many(&eps[1], &ah, DOFI_UD_MARK_EVERY);
	does_not_go(&eps[0], &ah);
	ck_assert_int_eq(fabric.marks, 1);
	/* The peer has taken what went before the mark. */
	dofi_ud_mark_answered(&ah, first);
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY);
	ck_assert_int_eq(fabric.marks, 2);
	ck_assert_uint_ne(fabric.update, first);
	does_not_go(&eps[0], &ah);
	dofi_ud_mark_answered(&ah, fabric.update);
	send_many(&eps[0], &ah, 1);
}
END_TEST

START_TEST(a_mark_that_the_fabric_refuses_goes_later)
{
	struct dofi_ud_ah ah = {.number = 7};

	open_window(&ah);
	fabric.mark_answer = -FI_EAGAIN;
	send_many(&eps[0], &ah, DOFI_UD_WINDOW);
	does_not_go(&eps[0], &ah);
	ck_assert_int_eq(fabric.marks, 0);
	fabric.mark_answer = 0;
	does_not_go(&eps[0], &ah);
	ck_assert_int_eq(fabric.marks, 1);
	dofi_ud_mark_answered(&ah, fabric.update);
	/* All that went before it was taken: the whole window is free again. */
	send_many(&eps[0], &ah, DOFI_UD_WINDOW);
	ck_assert_int_eq(fabric.marks, 2);
	does_not_go(&eps[0], &ah);
}
END_TEST

START_TEST(an_answer_to_no_mark_changes_nothing)
{
	struct dofi_ud_ah ah = {.number = 7};
	uint32_t update;

	open_window(&ah);
	send_many(&eps[0], &ah, DOFI_UD_WINDOW);
	update = fabric.update;
	dofi_ud_mark_answered(&ah, update + (DOFI_UD_WINDOW << 2)); /* never sent */
	dofi_ud_mark_answered(&ah, update - (DOFI_UD_WINDOW << 2)); /* taken long ago */
	does_not_go(&eps[0], &ah);
	dofi_ud_mark_answered(&ah, update);
	dofi_ud_mark_answered(&ah, update + (DOFI_UD_MARK_EVERY << 2));
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY);
	does_not_go(&eps[0], &ah);
}
END_TEST

/* The mark that is under way has another count. */
START_TEST(a_repeated_answer_changes_nothing)
{
	struct dofi_ud_ah ah = {.number = 7};
	uint32_t first;

	open_window(&ah);
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY);
	first = fabric.update;
	dofi_ud_mark_answered(&ah, first);
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY);
	ck_assert_int_eq(fabric.marks, 2);
	dofi_ud_mark_answered(&ah, first);
	send_many(&eps[0], &ah, 1);
	ck_assert_int_eq(fabric.marks, 2);
	dofi_ud_mark_answered(&ah, fabric.update);
	send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY - 1);
	ck_assert_int_eq(fabric.marks, 3);
}
END_TEST

START_TEST(counts_wrap)
{
	struct dofi_ud_ah ah = {.number = 7, .sent = -70u, .taken = -70u};

	open_window(&ah);
	for (int i = 0; i < 4; i++) {
		send_many(&eps[0], &ah, DOFI_UD_MARK_EVERY);
		ck_assert_int_eq(fabric.marks, i + 1);
		dofi_ud_mark_answered(&ah, fabric.update);
	}
	send_many(&eps[0], &ah, DOFI_UD_WINDOW);
	does_not_go(&eps[0], &ah);
}
END_TEST

static void mark_arrives(uint32_t number, uint32_t secret, size_t size)
{
	struct dofi_ctrl_credit credit = {number, secret, 42};
	struct dofi_wr *wr = fabric.wr[--fabric.receives];

	memcpy(fabric.buffer[fabric.receives], &credit, sizeof(credit));
	fabric.room++;
	dofi_ud_pool_done(&ia, wr, 0, size, 0);
}

START_TEST(a_mark_is_for_a_connection)
{
	open_eps();
	mark_arrives(5, 6, sizeof(struct dofi_ctrl_credit));
	ck_assert_uint_eq(fabric.arrived, 42);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 0);
	fabric.arrived = 0;
	mark_arrives(5, 7, sizeof(struct dofi_ctrl_credit));
	mark_arrives(5, 6, sizeof(struct dofi_ctrl_credit) - 1);
	mark_arrives(5, 6, sizeof(struct dofi_ctrl_credit) + 1);
	ck_assert_uint_eq(fabric.arrived, 0);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 3);
	ck_assert_int_eq(fabric.receives, POSTED);
}
END_TEST

START_TEST(an_answer_waits_for_the_fabric)
{
	struct dofi_ud_ah ah[2] = {{.number = 7}, {.number = 8}};

	open_window(&ah[0]);
	ah[1].obj.ia = &ia;
	dofi_list_init(&ah[1].answer);
	dofi_ud_answer(&ah[0], 42);
	ck_assert_int_eq(fabric.answers, 1);
	ck_assert_uint_eq(fabric.update, 42);
	ck_assert_uint_eq(ia.engine.restless, 0);
	fabric.mark_answer = -FI_EAGAIN;
	dofi_ud_answer(&ah[0], 43);
	dofi_ud_answer(&ah[1], 44);
	dofi_ud_answer(&ah[0], 45);
	dofi_ud_answers_retry(&ia);
	ck_assert_uint_eq(ia.engine.restless, 2);
	dofi_ud_answer_drop(&ah[1]);
	dofi_ud_answer_drop(&ah[1]);
	ck_assert_uint_eq(ia.engine.restless, 1);
	fabric.mark_answer = 0;
	dofi_ud_answers_retry(&ia);
	ck_assert_int_eq(fabric.answers, 2);
	ck_assert_uint_eq(fabric.update, 45);
	ck_assert_uint_eq(ia.engine.restless, 0);
	dofi_ud_answers_retry(&ia);
	ck_assert_int_eq(fabric.answers, 2);
}
END_TEST

/* --- the end --- */

static struct dofi_ud_ah peer = {.number = 7};

/* The first EP, whose datagrams go to this handle, may end. */
static void open_to_end(struct dofi_ud_ah *ah, const struct dofi_upcalls *up,
			int (*reap)(struct dofi_ia *of))
{
	open_window(ah);
	ia.up = up;
	ia.engine.reap = reap;
	ia.engine.sock_epfd = epoll_create1(EPOLL_CLOEXEC);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_list_init(&ia.orphans);
	eps[0].trans = &trans;
}

/* Ends it: its lock is free afterwards. */
static void end_ep(void)
{
	dofi_ud_close(&eps[0]);
	ck_assert(dofi_trylock(&eps[0].lock));
	dofi_unlock(&eps[0].lock);
	close(ia.engine.sock_epfd);
}

static int reap_nothing(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	return 0;
}

static uint64_t linger_until(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	return dofi_now() + UINT64_C(3600000000000);
}

static void drop_datagrams(struct dofi_ep *ep)
{
	ck_assert_ptr_eq(ep, &eps[0]);
}

/* As the connection manager does when the peer's BYE has come. */
static void lose_peer(struct dofi_fd *fd, uint32_t epoll_events)
{
	ck_assert_uint_eq(epoll_events, EPOLLIN);
	atomic_store(&peer.gone, true);
	dofi_ud_forget(&ia, &peer);
	dofi_engine_unwatch(&ia, fd);
}

/* The peer frees its EP, too, and answers no marks. */
START_TEST(a_wait_for_marks_ends_with_the_peer)
{
	const struct dofi_upcalls with_an_end = {
		.ud_mark = ud_mark,
		.linger_until = linger_until,
		.drop_datagrams = drop_datagrams,
	};
	struct dofi_fd bye = {.fd = eventfd(1, EFD_CLOEXEC), .ready = lose_peer};

	open_to_end(&peer, &with_an_end, reap_nothing);
	ck_assert_int_eq(dofi_engine_watch(&ia, &bye, EPOLLIN), 0);
	send_many(&eps[0], &peer, DOFI_UD_WINDOW);
	post_send(&eps[0], &peer);
	end_ep();
	ck_assert_int_eq(fabric.sends, DOFI_UD_WINDOW);
	ck_assert_ptr_null(eps[0].ud);
	close(bye.fd);
}
END_TEST

static unsigned int rounds;

/* The fabric has room again at the third look, and the datagram has left at the fifth. */
static int reap_until_room(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	rounds++;
	if (rounds == 3)
		fabric.send_answer = 0;
	if (rounds == 5)
		dofi_ring_at(&eps[0].req, 0)->state = DOFI_WR_DONE;
	return 0;
}

static uint64_t linger_is_over(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	return 0;
}

static unsigned int dropped;

static void count_dropped(struct dofi_ep *ep)
{
	ck_assert_ptr_eq(ep, &eps[0]);
	dropped++;
}

/* With and without time for what waits; without bounce buffers. */
START_TEST(the_end_of_an_EP_waits_for_room)
{
	const bool has_time = _i == 1, is_split = _i < 2;
	const struct dofi_upcalls with_an_end = {.linger_until =
							 has_time ? linger_until : linger_is_over,
						 .drop_datagrams = count_dropped};
	struct dofi_ud_ah ah = {.number = 7};
	uint32_t number;

	open_to_end(&ah, &with_an_end, reap_until_room);
	number = eps[0].ud->number;
	watched[0] = eps[0].ud;
	fabric.send_answer = -FI_EAGAIN;
	post_send(&eps[0], &ah)->split = is_split;
	eps[0].holds = true;
	atomic_store(&ia.wait.watchers, 1);
	end_ep();
	ck_assert_int_eq(fabric.sends, has_time);
	/* that of the request that the fabric did not take */
	ck_assert_uint_eq(ngiven, is_split && !has_time);
	ck_assert(!eps[0].path_up);
	ck_assert_uint_eq(rounds, has_time ? 5 : 0);
	ck_assert_uint_eq(eps[0].req.tail, eps[0].req.issue); /* nothing waits any more */
	ck_assert_uint_eq(atomic_load(&ia.wait.watchers), 0);
	ck_assert_uint_eq(dropped, 1);
	ck_assert_uint_eq(nfreed, 1);
	ck_assert_ptr_null(eps[0].ud);
	ck_assert_ptr_null(dofi_ud_pool_eps(&ia)[number % DOFI_UD_EPS]);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
}
END_TEST

/* The fabric still has the datagram, and there is no memory for a copy of the ring. */
START_TEST(the_end_of_an_EP_without_memory_waits_for_the_fabric)
{
	const struct dofi_upcalls with_an_end = {.linger_until = linger_is_over,
						 .drop_datagrams = count_dropped};
	struct dofi_ud_ah ah = {.number = 7};

	open_to_end(&ah, &with_an_end, reap_until_room);
	ck_assert_int_eq(start(&eps[0], post_send(&eps[0], &ah)), 0);
	eps[0].req.issue = eps[0].req.tail;
	no_memory = true;
	end_ep();
	no_memory = false;
	ck_assert_uint_eq(rounds, 5);
	ck_assert(dofi_list_empty(&ia.orphans));
}
END_TEST

/* The EP was freed before the event was read, and with it the address handle. */
START_TEST(an_event_whose_address_handle_is_freed)
{
	static _Alignas(16) struct dofi_ud_ah freed;
	const struct dofi_event event = {.number = DOFI_UD_EVENT_ESTABLISHED,
					 .ext = DOFI_UD_TYPE_REMOTE_AH + 1,
					 .conn = {.private_data = &freed, .private_size = 8}};
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT out;

	dofi_event_unfold(&event, &evd, &out);
	memcpy(&ext, out.event_extension_data, sizeof(ext));
	ck_assert_int_eq(ext.type, DOFI_UD_TYPE_REMOTE_AH);
	ck_assert_ptr_null(ext.remote_ah.ah);
	ck_assert_ptr_null(out.event_data.connect_event_data.private_data);
}
END_TEST

/* --- limits --- */

static struct dofi_ep **table(void)
{
	return dofi_ud_pool_eps(&ia);
}

START_TEST(the_last_number_is_found)
{
	static struct dofi_ep third = {.obj.ia = &ia};
	uint32_t place = 17;

	ck_assert_int_eq(open_ep(&eps[0]), 0);
	for (uint32_t i = 0; i < DOFI_UD_EPS; i++)
		table()[i] = i == place ? NULL : &eps[0];
	ck_assert_int_eq(open_ep(&eps[1]), 0);
	ck_assert_ptr_eq(table()[place], &eps[1]);
	ck_assert_uint_ne(eps[1].ud->number, 0);
	dofi_lock_init(&third.lock);
	ck_assert_int_eq(open_ep(&third), -FI_ENOSPC);
	ck_assert_ptr_null(third.ud);
}
END_TEST

START_TEST(without_memory_there_is_no_UD_EP)
{
	int ret;

	no_memory = true;
	ret = open_ep(&eps[0]);
	no_memory = false;
	ck_assert_int_eq(ret, -FI_ENOMEM);
	ck_assert_ptr_null(eps[0].ud);
	ck_assert_ptr_null(ia.ud_pool);
	ck_assert_ptr_null(eps[0].fep);
	ck_assert(!eps[0].path_up);
}
END_TEST

/* No EP has the number 0, but another one has its place. */
START_TEST(the_place_of_the_number_0_is_used)
{
	static const uint32_t randoms[] = {0, 1, 5, DOFI_UD_EPS - 1};

	ck_assert_int_eq(open_ep(&eps[0]), 0);
	for (uint32_t i = 0; i < DOFI_UD_EPS; i++)
		table()[i] = i ? &eps[0] : NULL;
	random_is = &randoms[_i];
	ck_assert_int_eq(open_ep(&eps[1]), 0);
	ck_assert_ptr_eq(table()[0], &eps[1]);
	ck_assert_uint_ne(eps[1].ud->number, 0);
}
END_TEST

START_TEST(without_random_numbers_there_is_no_UD_EP)
{
	no_random = true;
	ck_assert_int_eq(open_ep(&eps[0]), -FI_EPERM);
	ck_assert_ptr_null(eps[0].ud);
	ck_assert(!eps[0].path_up);
	no_random = false;
	ck_assert_int_eq(open_ep(&eps[0]), 0);
}
END_TEST

/* It is lost, as datagrams may be: the EP goes on. */
START_TEST(a_datagram_without_room_on_the_evd)
{
	char memory[64];

	open_eps();
	evd.tail = evd.head + evd.qlen;
	dofi_evd_publish_count(&evd);
	post_receive(&eps[1], memory, sizeof(memory));
	arrive(eps[1].ud->number, "hello", 0);
	ck_assert(!eps[1].faulty);
	ck_assert_uint_eq(dofi_evd_queued(&evd), evd.qlen);
}
END_TEST

START_TEST(receives_that_the_fabric_refuses_are_reported)
{
	int fd = t_capture(STDERR_FILENO);

	fabric.receive_answer = -FI_EIO;
	open_eps();
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "some will be lost"));
	ck_assert_uint_eq(ia.engine.restless, 1);
	fabric.receive_answer = 0;
	dofi_ud_pool_retry(&ia);
	ck_assert_int_eq(fabric.receives, POSTED);
	ck_assert_uint_eq(ia.engine.restless, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ud");
	TCase *tc = tcase_create("ud");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_EP_has_a_number_and_its_datagrams);
	tcase_add_test(tc, the_buffers_are_registered);
	tcase_add_test(tc, an_EP_without_a_number_is_no_UD_EP);
	tcase_add_loop_test(tc, a_datagram_lies_behind_the_header_in_the_segments, 0, 8);
	tcase_add_test(tc, a_datagram_that_does_not_fit);
	tcase_add_test(tc, a_receive_that_can_only_fail_gets_no_bytes);
	tcase_add_test(tc, a_datagram_may_be_solicited);
	tcase_add_test(tc, a_receive_without_an_endpoint_is_not_posted_again);
	tcase_add_test(tc, datagrams_without_a_receive_are_dropped);
	tcase_add_test(tc, datagrams_for_unknown_endpoints_are_dropped);
	tcase_add_test(tc, receives_refused_by_eagain_are_posted_later);
	tcase_add_test(tc, sends_are_lost_after_a_long_eagain);
	tcase_add_test(tc, sends_are_lost_with_the_peer_or_the_handle);
	tcase_add_test(tc, a_local_error_is_reported);
	tcase_add_test(tc, the_buffer_of_a_datagram_that_is_lost_is_given_back);
	tcase_add_loop_test(tc, the_status_of_a_datagram_that_failed, 0, 4);
	tcase_add_test(tc, a_datagram_is_lost_after_the_limit);
	tcase_add_test(tc, a_freed_handle_is_taken_from_its_requests);
	tcase_add_test(tc, an_IA_has_datagrams_if_its_fabric_has);
	tcase_add_test(tc, datagrams_under_way_are_counted);
	tcase_add_loop_test(tc, datagrams_under_way_are_counted_at_each_place, 0, 3);
	tcase_add_test(tc, the_end_of_an_EP_without_memory_waits_for_the_fabric);
	tcase_add_loop_test(tc, the_place_of_the_number_0_is_used, 0, 4);
	tcase_add_test(tc, without_random_numbers_there_is_no_UD_EP);
	tcase_add_test(tc, without_memory_there_is_no_UD_EP);
	tcase_add_test(tc, a_sender_waits_when_its_peer_takes_nothing);
	tcase_add_test(tc, a_mark_that_the_fabric_refuses_goes_later);
	tcase_add_test(tc, an_answer_to_no_mark_changes_nothing);
	tcase_add_test(tc, a_repeated_answer_changes_nothing);
	tcase_add_test(tc, counts_wrap);
	tcase_add_test(tc, a_mark_is_for_a_connection);
	tcase_add_test(tc, an_answer_waits_for_the_fabric);
	tcase_add_test(tc, an_event_whose_address_handle_is_freed);
	tcase_add_test(tc, the_last_number_is_found);
	tcase_add_test(tc, a_datagram_without_room_on_the_evd);
	tcase_add_test(tc, receives_that_the_fabric_refuses_are_reported);
	tcase_add_test(tc, a_wait_for_marks_ends_with_the_peer);
	tcase_add_loop_test(tc, the_end_of_an_EP_waits_for_room, 0, 3);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
