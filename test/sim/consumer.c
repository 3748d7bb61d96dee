/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "consumer.h"

#include "attempt.h"
#include "clock.h"
#include "datagram.h"
#include "must.h"
#include "oracle.h"
#include "pool.h"
#include "trace.h"

#include "api/cr.h"
#include "api/ep.h"
#include "api/ep_connect.h"
#include "api/psp.h"
#include "api/rsp.h"
#include "dto/ep_attr.h"
#include "dto/post.h"
#include "object/ia.h"
#include "object/ud_ah.h"
#include "progress/evd.h"
#include "progress/evd_wait.h"

#include <netinet/in.h>
#include <string.h>

#define RECVS PLAN_SENDS

static const struct plan *plan;
static struct attempt attempts[PLAN_STEPS];
static DAT_HANDLE listeners[PLAN_STEPS];
static DAT_EP_HANDLE listener_eps[PLAN_STEPS];
uint64_t consumer_memory[PLAN_STEPS + PLAN_PROCESSES][CONSUMER_WORDS];

void consumer_begin(const struct plan *of)
{
	plan = of;
	memset(attempts, 0, sizeof(attempts));
	memset(listeners, 0, sizeof(listeners));
	memset(listener_eps, 0, sizeof(listener_eps));
	memset(consumer_memory, 0, sizeof(consumer_memory));
	pool_begin();
	for (int i = 0; i < plan->n; i++)
		attempts[i].step = &plan->steps[i];
}

void consumer_opened(struct process *p)
{
	if (plan->is_rdm)
		pool_open(p);
}

static int number_of(const struct attempt *a)
{
	return (int)(a - attempts);
}

static struct process *process_of(const struct attempt_side *side)
{
	return &world[side->process];
}

/* --- EPs --- */

/* Of a side of a connect; c is NULL where nobody knows yet which. */
static DAT_EP_HANDLE make_ep(struct process *p, const struct plan_connect *c, int which)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = RECVS,
		.max_request_dtos = PLAN_SENDS,
		.max_rdma_read_in = 2,
		.max_rdma_read_out = 2,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	bool has_srq = c && c->srq[which];
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	if (c && c->is_ud) {
		attr.service_type = (DAT_SERVICE_TYPE)DOFI_SERVICE_TYPE_UD;
		attr.max_rdma_read_in = attr.max_rdma_read_out = 0;
	}
	ret = has_srq ? dofi_ep_create_with_srq(p->ia, p->pz, p->dto_evd, p->dto_evd, p->conn_evd,
						p->srq, &attr, &ep)
		      : dofi_ep_create(p->ia, p->pz, p->dto_evd, p->dto_evd, p->conn_evd, &attr,
				       &ep);
	return ret == DAT_SUCCESS ? ep : NULL;
}

static bool is_complete(const struct attempt_side *side)
{
	return side->done[SEND] == side->posted[SEND] && side->done[RECV] == side->posted[RECV];
}

/*
 * An EP whose connection is over and all of whose events were taken; hasty: were taken or are in
 * EVDs.
 */
static DAT_EP_HANDLE used_ep(const struct process *p, bool hasty)
{
	for (int i = 0; i < 2 * plan->n; i++) {
		struct attempt_side *side = &attempts[i / 2].side[i % 2];

		if (!side->watched || side->process != p->kernel.number || !side->nevents ||
		    side->has_srq || plan->steps[i / 2].connect.is_ud ||
		    side->events[side->nevents - 1] == DAT_CONNECTION_EVENT_ESTABLISHED ||
		    !(hasty || is_complete(side)))
			continue;
		if (dofi_ep_reset(side->ep) != DAT_SUCCESS)
			oracle_fail(i / 2, "its EP cannot be reset behind its end");
		side->watched = false;
		side->left = true;
		return side->ep;
	}
	return NULL;
}

static DAT_LMR_TRIPLET segment(const struct process *p, uint64_t *word)
{
	return (DAT_LMR_TRIPLET){.lmr_context = p->lmr_context,
				 .virtual_address = (uintptr_t)word,
				 .segment_length = sizeof(*word)};
}

static uint64_t *word_of(int n, int side, int kind, uint32_t i)
{
	return &consumer_memory[n][(uint32_t)(2 * side + kind) * PLAN_SENDS + i];
}

static uint64_t message(int n, int side, uint32_t i)
{
	return UINT64_C(0xda7) << 32 | (uint64_t)n << 16 | (uint64_t)side << 8 | i;
}

uint64_t consumer_cookie(int n, int side, int kind, uint32_t i)
{
	return (uint64_t)n << 16 | (uint64_t)side << 9 | (uint64_t)kind << 8 | i;
}

int consumer_kind(uint64_t cookie)
{
	return (int)(cookie >> 8 & 1);
}

uint32_t consumer_index(uint64_t cookie)
{
	return (uint32_t)(cookie & 0xff);
}

static DAT_DTO_COOKIE cookie(int n, int side, int kind, uint32_t i)
{
	return (DAT_DTO_COOKIE){.as_64 = consumer_cookie(n, side, kind, i)};
}

static void post_receives(struct attempt *a, int which)
{
	struct attempt_side *side = &a->side[which];
	int n = number_of(a);

	if (a->step->connect.is_ud) {
		datagram_post_receives(process_of(side), n, a, which);
		return;
	}
	for (uint32_t i = 0; i < RECVS && !side->has_srq; i++) {
		DAT_LMR_TRIPLET iov = segment(process_of(side), word_of(n, which, RECV, i));

		if (dofi_ep_post_recv(side->ep, 1, &iov, cookie(n, which, RECV, i),
				      DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS)
			side->posted[RECV]++;
	}
}

static void post_sends(struct attempt *a, int which, uint32_t more)
{
	struct attempt_side *side = &a->side[which];
	int n = number_of(a);

	for (uint32_t i = side->posted[SEND]; more-- && i < PLAN_SENDS; i++) {
		uint64_t *word = word_of(n, which, SEND, i);
		DAT_LMR_TRIPLET iov = segment(process_of(side), word);

		*word = message(n, which, i);
		if (dofi_ep_post_send(side->ep, 1, &iov, cookie(n, which, SEND, i),
				      DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS)
			return;
		side->posted[SEND]++;
	}
}

static void watch_ep(struct attempt *a, int which, const struct process *p, DAT_EP_HANDLE ep)
{
	a->side[which] = (struct attempt_side){
		.process = p->kernel.number,
		.ep = ep,
		.watched = true,
		.has_srq = ((const struct dofi_ep *)ep)->srq,
	};
}

/* --- the end of a connection --- */

static void take_connections(struct process *p);

static bool is_established(const struct attempt_side *side)
{
	return side->nevents == 1 && side->events[0] == DAT_CONNECTION_EVENT_ESTABLISHED;
}

static void end_side(uint64_t n, uint64_t which)
{
	struct attempt *a = &attempts[n];
	struct attempt_side *side = &a->side[which];
	enum plan_end end = a->step->connect.end;
	struct process *before, *p = process_of(side);
	uint64_t called = kernel_time;
	DAT_RETURN ret;

	if (!side->watched || !world_is_free(p, end_side, n, which))
		return;
	trace(side->process, "connect %d: %s", (int)n,
	      end == PLAN_FREE     ? "dat_ep_free"
	      : end == PLAN_ABRUPT ? "dat_ep_disconnect, abrupt"
				   : "dat_ep_disconnect");
	before = world_enter(p);
	if (a->step->connect.hasty && is_established(side))
		post_sends(a, (int)which, 1);
	side->left = true;
	if (end != PLAN_FREE && a->step->connect.is_ud) {
		datagram_free_handle(side);
		ret = DAT_SUCCESS;
	} else if (end == PLAN_FREE) {
		side->watched = false;
		ret = dofi_ep_free(side->ep);
	} else {
		ret = dofi_ep_disconnect(side->ep, end == PLAN_ABRUPT ? DAT_CLOSE_ABRUPT_FLAG
								      : DAT_CLOSE_GRACEFUL_FLAG);
		if (a->step->connect.hasty)
			take_connections(p);
	}
	world_leave(before);
	if (ret != DAT_SUCCESS)
		oracle_fail((int)n, "cannot be ended: %#x", ret);
	oracle_waited(plan, (int)n, kernel_time - called);
}

static void plan_end_of(const struct attempt *a, int which)
{
	const struct plan_connect *c = &a->step->connect;
	uint64_t gap = c->by[0] && c->by[1] && which ? c->gap : 0;

	if (c->end != PLAN_NO_END && c->by[which])
		clock_at(kernel_time + c->hold + gap, end_side, (uint64_t)number_of(a),
			 (uint64_t)which);
}

/* --- connecting --- */

static DAT_EP_HANDLE established_ep(const struct process *p)
{
	for (int i = 0; i < plan->n; i++) {
		const struct attempt_side *side = &attempts[i].side[ACTIVE];

		if (side->watched && side->process == p->kernel.number && is_established(side))
			return side->ep;
	}
	return NULL;
}

/* A process that replaces another one has its qualifiers. */
static DAT_CONN_QUAL qual_of(int process, uint32_t qual)
{
	if (plan->replaces[process] >= 0)
		process = plan->replaces[process];
	return qual == PLAN_QUALS - 1 ? UINT64_C(0x100000000) + (unsigned int)process
				      : 1000u + 10u * (unsigned int)process + qual;
}

static DAT_RETURN call_connect(struct process *p, const struct attempt *a, DAT_EP_HANDLE ep)
{
	const struct plan_connect *c = &a->step->connect;
	struct sockaddr_in to = world_address(a->step->to);
	DAT_TIMEOUT timeout = c->timeout ? (DAT_TIMEOUT)(c->timeout / 1000) : DAT_TIMEOUT_INFINITE;
	DAT_EP_HANDLE dup = c->is_dup && !c->is_ud ? established_ep(p) : NULL;
	uint8_t data[256];

	oracle_fill_private(data, c->private_size[ACTIVE], number_of(a), ACTIVE);
	if (dup)
		return dofi_ep_dup_connect(ep, dup, timeout, (DAT_COUNT)c->private_size[ACTIVE],
					   data, DAT_QOS_BEST_EFFORT);
	return dofi_ep_connect(ep, (DAT_IA_ADDRESS_PTR)(void *)&to,
			       qual_of(a->step->to, a->step->qual), timeout,
			       (DAT_COUNT)c->private_size[ACTIVE], data, DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_DEFAULT_FLAG);
}

static void connect_step(struct process *p, struct attempt *a)
{
	const struct plan_connect *c = &a->step->connect;
	DAT_EP_HANDLE ep = c->reuses && !c->is_ud ? used_ep(p, c->hasty) : NULL;

	if (!ep)
		ep = make_ep(p, c, ACTIVE);
	trace(p->kernel.number, "connect %d: to ia%d", number_of(a), a->step->to);
	if (!ep)
		return;
	watch_ep(a, ACTIVE, p, ep);
	post_receives(a, ACTIVE);
	a->called_at = kernel_time;
	a->called = true;
	if (call_connect(p, a, ep) != DAT_SUCCESS) {
		a->called = a->side[ACTIVE].watched = false;
		MUST(dofi_ep_free(ep) == DAT_SUCCESS);
		return;
	}
	if (c->early)
		plan_end_of(a, ACTIVE);
}

/* --- listening --- */

static void stop_listening(uint64_t n, uint64_t process)
{
	struct process *before, *p = &world[process];

	if (!world_is_free(p, stop_listening, n, process))
		return;
	before = world_enter(p);
	trace(p->kernel.number, "stops listening (%d)", (int)n);
	if (plan->steps[n].kind == PLAN_LISTEN)
		dofi_psp_free(listeners[n]);
	else
		dofi_rsp_free(listeners[n]);
	world_leave(before);
}

static void listen_step(struct process *p, int n)
{
	const struct plan_step *step = &plan->steps[n];
	DAT_CONN_QUAL qual = qual_of(p->kernel.number, step->qual);
	DAT_RETURN ret = DAT_INSUFFICIENT_RESOURCES;

	if (step->kind == PLAN_LISTEN)
		ret = dofi_psp_create(p->ia, qual, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &listeners[n]);
	else if ((listener_eps[n] = make_ep(p, NULL, PASSIVE)))
		ret = dofi_rsp_create(p->ia, qual, listener_eps[n], p->cr_evd, &listeners[n]);
	trace(p->kernel.number, "listens (%d) at qualifier %u%s", n, step->qual,
	      ret == DAT_SUCCESS ? "" : ", in vain");
	if (ret == DAT_SUCCESS && step->time != UINT64_MAX)
		clock_at(kernel_time + step->time, stop_listening, (uint64_t)n,
			 (uint64_t)p->kernel.number);
}

void consumer_step(struct process *p, int n)
{
	if (plan->steps[n].kind == PLAN_CONNECT)
		connect_step(p, &attempts[n]);
	else
		listen_step(p, n);
}

/* --- requests --- */

static void reject(struct attempt *a)
{
	uint8_t data[256];
	uint32_t size = a->step->connect.private_size[PASSIVE];

	oracle_fill_private(data, size, number_of(a), PASSIVE);
	a->rejected = true;
	if (dofi_cr_reject(a->cr, (DAT_COUNT)size, data) != DAT_SUCCESS)
		oracle_fail(number_of(a), "cannot be rejected");
}

static void accept_request(struct process *p, struct attempt *a)
{
	uint32_t size = a->step->connect.private_size[PASSIVE];
	DAT_CR_PARAM param;
	DAT_EP_HANDLE ep;
	uint8_t data[256];
	bool of_rsp;

	MUST(dofi_cr_query(a->cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS);
	of_rsp = param.local_ep_handle;
	ep = of_rsp ? param.local_ep_handle : make_ep(p, &a->step->connect, PASSIVE);
	if (!ep) {
		reject(a);
		return;
	}
	watch_ep(a, PASSIVE, p, ep);
	post_receives(a, PASSIVE);
	oracle_fill_private(data, size, number_of(a), PASSIVE);
	a->accepted = true;
	if (dofi_cr_accept(a->cr, of_rsp ? NULL : ep, (DAT_COUNT)size, data) == DAT_SUCCESS) {
		if (a->step->connect.early)
			plan_end_of(a, PASSIVE);
		return;
	}
	a->accepted = a->side[PASSIVE].watched = false;
	if (!of_rsp)
		MUST(dofi_ep_free(ep) == DAT_SUCCESS);
	reject(a);
}

/*
 * b: the process, and the number of the request of the connect; a repeated request replaces an
 * earlier one.
 */
static void decide(uint64_t n, uint64_t b)
{
	struct attempt *a = &attempts[n];
	struct process *before, *p = &world[b & 0xff];

	if (b >> 8 != a->crs || !world_is_free(p, decide, n, b))
		return;
	trace(p->kernel.number, "connect %d: %s", (int)n,
	      a->step->connect.answer == PLAN_ACCEPT ? "accepts" : "rejects");
	before = world_enter(p);
	a->answered_at = kernel_time;
	if (a->step->connect.answer == PLAN_ACCEPT)
		accept_request(p, a);
	else
		reject(a);
	world_leave(before);
}

static void take_request(struct process *p, const DAT_EVENT *event)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;
	DAT_CR_PARAM param;
	struct attempt *a;
	int n;

	p->requests++;
	MUST(dofi_cr_query(cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS);
	n = *(const uint8_t *)param.private_data;
	MUST(n < plan->n && attempts[n].step->kind == PLAN_CONNECT);
	a = &attempts[n];
	oracle_check_private(param.private_data, (uint32_t)param.private_data_size, n, ACTIVE, a);
	oracle_request(n, a);
	a->crs++;
	a->cr = cr;
	a->asked = p;
	a->accepted = a->rejected = false;
	trace(p->kernel.number, "connect %d: its request is here", n);
	if (a->step->connect.answer != PLAN_NEVER)
		clock_at(kernel_time + a->step->connect.answer_after, decide, (uint64_t)n,
			 (uint64_t)p->kernel.number | (uint64_t)a->crs << 8);
}

/* --- events of connections --- */

static const char *name_of(DAT_EVENT_NUMBER event)
{
	switch (event) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "ESTABLISHED";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "PEER_REJECTED";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "NON_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "ACCEPT_COMPLETION_ERROR";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "BROKEN";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "TIMED_OUT";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "UNREACHABLE";
	default:
		return "another event";
	}
}

/* Begins the connects that follow this one. */
static void begin_followers(struct process *p, int n)
{
	for (int i = 0; i < plan->n; i++) {
		const struct plan_step *step = &plan->steps[i];

		if (step->kind == PLAN_CONNECT && !step->left_out && step->connect.follows == n &&
		    !attempts[i].called_at)
			connect_step(p, &attempts[i]);
	}
}

/* The side of an attempt that the EP belongs to. NULL: the EP was freed. */
static struct attempt_side *side_of(const struct process *p, DAT_EP_HANDLE ep, int *n_p)
{
	for (int i = 0; i < 2 * plan->n; i++) {
		struct attempt_side *side = &attempts[i / 2].side[i % 2];

		*n_p = i / 2;
		if (side->watched && side->process == p->kernel.number && side->ep == ep)
			return side;
	}
	return NULL;
}

static void take_connection(struct process *p, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	struct attempt_side *side;
	struct attempt *a;
	int n, which;

	p->established += event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED ||
			  event->event_number == (DAT_EVENT_NUMBER)DOFI_UD_EVENT_ESTABLISHED;
	side = side_of(p, data->ep_handle, &n);
	if (!side)
		return;
	a = &attempts[n];
	which = side == &a->side[PASSIVE];
	trace(p->kernel.number, "connect %d: %s", n, name_of(event->event_number));
	if (!side->nevents)
		side->first_at = kernel_time;
	if (side->nevents < 3)
		side->events[side->nevents++] = event->event_number;
	if (a->step->connect.is_ud) {
		datagram_event(plan, p, n, a, which, event);
		if (!a->step->connect.early)
			plan_end_of(a, which);
		return;
	}
	oracle_event(plan, n, a, which);
	if (which == ACTIVE && (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED ||
				event->event_number == DAT_CONNECTION_EVENT_PEER_REJECTED))
		oracle_check_private(data->private_data, (uint32_t)data->private_data_size, n,
				     PASSIVE, a);
	if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		if (which == ACTIVE)
			begin_followers(p, n);
		return;
	}
	post_sends(a, which, a->step->connect.sends[which]);
	if (!a->step->connect.early)
		plan_end_of(a, which);
}

static void take_event(struct process *p, const DAT_EVENT *event, bool of_connection, bool quietly);

/* Takes the events of connections that are there, and the requests in the same EVD. */
static void take_connections(struct process *p)
{
	DAT_EVENT event;

	while (p->open && dofi_evd_dequeue(p->conn_evd, &event) == DAT_SUCCESS)
		take_event(p, &event, true, false);
}

/* A message by the pool: that of its connection that has its turn. */
static void take_from_pool(struct process *p, const DAT_DTO_COMPLETION_EVENT_DATA *data)
{
	uint64_t word = pool_take(p, data->user_cookie.as_64);
	struct attempt_side *side;
	int n, which;

	side = side_of(p, data->ep_handle, &n);
	if (!side)
		return;
	which = side == &attempts[n].side[PASSIVE];
	if (data->status != DAT_DTO_SUCCESS)
		side->failed[RECV]++;
	else if (side->failed[RECV])
		oracle_fail(n, "a message comes by a pool behind one that failed");
	else if (word != message(n, !which, side->done[RECV]))
		oracle_fail(n, "another message comes by a pool than has its turn");
	side->done[RECV]++;
}

static void take_completion(struct process *p, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	uint64_t word = data->user_cookie.as_64;
	int n = (int)(word >> 16), which = (int)(word >> 9 & 1), kind = consumer_kind(word);
	struct attempt_side *side;
	uint32_t i = consumer_index(word);

	if (pool_has(word)) {
		take_from_pool(p, data);
		return;
	}
	side = &attempts[n].side[which];
	if (!side->watched || side->ep != data->ep_handle)
		return;
	if (attempts[n].step->connect.is_ud) {
		datagram_done(p, n, &attempts[n], which, event);
		return;
	}
	if (side->done[kind]++ != i)
		oracle_fail(n, "its requests complete in another order");
	if (data->status != DAT_DTO_SUCCESS) {
		side->failed[kind]++;
		side->blamed += data->status != DAT_DTO_ERR_FLUSHED;
		if (side->blamed > 1)
			oracle_fail(n, "blames two requests for one end");
		return;
	}
	if (side->failed[kind])
		oracle_fail(n, "a request succeeds behind one that failed");
	if (kind == RECV && *word_of(n, which, RECV, i) != message(n, !which, i))
		oracle_fail(n, "another message comes than was sent");
}

static void take_event(struct process *p, const DAT_EVENT *event, bool of_connection, bool quietly)
{
	unsigned int number = (unsigned int)event->event_number;
	bool request = number == DAT_CONNECTION_REQUEST_EVENT || number == DOFI_UD_EVENT_REQUEST;
	bool completion = number == DAT_DTO_COMPLETION_EVENT || number == DOFI_EVENT_EXTENDED;

	if (completion && !quietly)
		take_completion(p, event);
	else if (request && quietly)
		p->requests++;
	else if (request)
		take_request(p, event);
	else if (of_connection)
		take_connection(p, event);
}

/* A poll of one EVD may bring events for another that was empty before. */
void consumer_take_events(struct process *p, bool quietly)
{
	DAT_EVD_HANDLE evds[] = {p->cr_evd, p->conn_evd, p->dto_evd, p->ia->async_evd};
	const size_t n = sizeof(evds) / sizeof(*evds);
	DAT_EVENT event;
	bool left;

	do {
		left = false;
		for (size_t i = 0; i < n; i++)
			while (dofi_evd_dequeue(evds[i], &event) == DAT_SUCCESS)
				take_event(p, &event, evds[i] == p->conn_evd, quietly);
		for (size_t i = 0; i < n; i++)
			left |= dofi_evd_queued(evds[i]) > 0;
	} while (left);
}

void consumer_gone(struct process *p)
{
	for (int i = 0; i < 2 * plan->n; i++) {
		struct attempt_side *side = &attempts[i / 2].side[i % 2];

		if (side->watched && side->process == p->kernel.number) {
			side->watched = false;
			side->left = true;
		}
	}
}

void consumer_check_rest(void)
{
	for (int i = 0; i < plan->n; i++)
		if (plan->steps[i].kind != PLAN_CONNECT || plan->steps[i].left_out)
			continue;
		else if (plan->steps[i].connect.is_ud)
			datagram_check_rest(plan, i, &attempts[i]);
		else
			oracle_rest(plan, i, &attempts[i]);
}
