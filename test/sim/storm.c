/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storm.h"

#include "clock.h"
#include "fabric.h"
#include "must.h"
#include "plan.h"
#include "trace.h"
#include "world.h"

#include "api/cr.h"
#include "api/ep.h"
#include "api/ep_connect.h"
#include "api/psp.h"
#include "object/ia.h"
#include "progress/evd_wait.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>

#define FIRST_QUAL 1000u
#define DTOS       4
#define LATENCY    (20 * CLOCK_US)
#define JITTER     (20 * CLOCK_US)
#define PACE       (20 * CLOCK_US) /* until a process that is woken looks */
#define COST       (10 * CLOCK_US) /* of an event, and of a call */
#define LIMIT      (600 * CLOCK_SECOND)
#define LOOK       (10 * CLOCK_MS)
#define PLAIN_FDS  6u /* of an IA without connections: the engine's, the spare one, a listener */

static struct {
	int n, centres;
	uint64_t ends, up, begin, last; /* ends of connections: all, those that are established */
	uint64_t given_up;
} storm;

/* --- consumers --- */

static bool are_joined(int a, int b)
{
	return a != b && (a < storm.centres || b < storm.centres);
}

static DAT_EP_HANDLE make_ep(struct process *p)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = DTOS,
		.max_request_dtos = DTOS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = DTOS,
		.max_rdma_read_out = DTOS,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_EP_HANDLE ep;

	MUST(dofi_ep_create(p->ia, p->pz, p->dto_evd, p->dto_evd, p->conn_evd, &attr, &ep) ==
	     DAT_SUCCESS);
	return ep;
}

static void take_event(struct process *p, const DAT_EVENT *event)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;

	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		p->requests++;
		if (dofi_cr_accept(cr, make_ep(p), 0, NULL) != DAT_SUCCESS)
			storm.given_up++;
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		p->established++;
		storm.up++;
		storm.last = kernel_time;
		break;
	default:
		storm.given_up++;
	}
}

/* Behind the storm the ends of connections are of no interest. */
static void take_events(struct process *p, bool quietly)
{
	DAT_EVENT event;

	while (dofi_evd_dequeue(p->conn_evd, &event) == DAT_SUCCESS)
		if (!quietly)
			take_event(p, &event);
}

static void gone(struct process *p)
{
	(void)p;
}

static void dial(struct process *p, int to)
{
	struct sockaddr_in address = world_address(to);

	MUST(dofi_ep_connect(make_ep(p), (DAT_IA_ADDRESS_PTR)(void *)&address,
			     FIRST_QUAL + (DAT_CONN_QUAL)to, DAT_TIMEOUT_INFINITE, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) == DAT_SUCCESS);
}

/* Neighbours first, so that not all dial the same one at the same time. */
static void dial_next(uint64_t number, uint64_t nth)
{
	struct process *before, *p = &world[number];
	int me = (int)number;

	if (!world_is_free(p, dial_next, number, nth))
		return;
	while (nth < (uint64_t)storm.n && !are_joined(me, (me + (int)nth) % storm.n))
		nth++;
	if (nth == (uint64_t)storm.n)
		return;
	before = world_enter(p);
	dial(p, (me + (int)nth) % storm.n);
	world_leave(before);
	clock_at(kernel_time + COST, dial_next, number, nth + 1);
}

/* --- all of it --- */

static double cpu_seconds(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void open_all(void)
{
	for (int i = 0; i < storm.n; i++) {
		struct process *before;
		DAT_PSP_HANDLE psp;

		world_open(i);
		before = world_enter(&world[i]);
		MUST(dofi_psp_create(world[i].ia, FIRST_QUAL + (DAT_CONN_QUAL)i, world[i].cr_evd,
				     DAT_PSP_CONSUMER_FLAG, &psp) == DAT_SUCCESS);
		world_leave(before);
	}
}

static void blow(void)
{
	storm.begin = kernel_time;
	for (int i = 0; i < storm.n; i++)
		clock_at(kernel_time, dial_next, (uint64_t)i, 1);
	while (storm.up + storm.given_up < storm.ends && kernel_time < storm.begin + LIMIT)
		world_run_until(kernel_time + LOOK);
}

static uint64_t descriptors(void)
{
	uint64_t n = 0;

	for (int i = 0; i < storm.n; i++)
		n += (uint64_t)kernel_count(i) - PLAIN_FDS;
	return n;
}

static size_t memory(void)
{
	return kernel_allocated_bytes + kernel_mapped_bytes;
}

static void close_all(void)
{
	for (int i = 0; i < storm.n; i++)
		world_close((uint64_t)i, WORLD_ENGINE_FDS);
	MUST(kernel_end() == 0);
}

void storm_head(void)
{
	printf("| IAs | that connect with all | connections | time, s | dials | messages of a "
	       "connection | bytes of a connection | bytes of memory of an end | descriptors of an "
	       "end | given up | CPU of a connection, us | CPU of its end, us |\n"
	       "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

static void print_line(size_t memory, uint64_t fds, double cpu, double cpu_end)
{
	const struct net_traffic traffic = net_traffic();
	double connections = (double)storm.ends / 2;

	printf("| %d | %d | %" PRIu64 " | %.3f | %" PRIu64 " | %.2f | %.0f | %.0f | %.2f | %" PRIu64
	       " | %.1f | %.1f |\n",
	       storm.n, storm.centres, storm.ends / 2, (double)(storm.last - storm.begin) / 1e9,
	       traffic.dials, (double)trace_frames() / connections,
	       (double)traffic.bytes / connections, (double)memory / (double)storm.ends,
	       (double)fds / (double)storm.ends, storm.given_up, cpu / connections * 1e6,
	       cpu_end / connections * 1e6);
	fflush(stdout);
}

bool storm_run(int n, int centres, bool rdm)
{
	static const struct world_consumer consumers = {.take_events = take_events, .gone = gone};
	static struct plan plan;
	double begin, up, end;
	size_t before;
	uint64_t fds;

	storm.n = n;
	storm.centres = centres < n ? centres : n;
	storm.up = storm.given_up = 0;
	storm.ends =
		2u * (uint64_t)storm.centres * (2u * (uint64_t)n - (uint64_t)storm.centres - 1u);
	plan = (struct plan){.seed = (uint64_t)n,
			     .is_crowd = true,
			     .is_calm = true,
			     .has_key = true,
			     .copies = true,
			     .is_rdm = rdm,
			     .cost = COST,
			     .qlen = 2u * (uint32_t)n + 32u,
			     .processes = n,
			     .pace = {PACE},
			     .net = {.latency = LATENCY,
				     .jitter = JITTER,
				     .window = KERNEL_RX_SIZE}};
	world_begin(&plan, &consumers, false);
	trace_stop();
	open_all();
	before = memory();
	begin = cpu_seconds();
	blow();
	up = cpu_seconds();
	before = memory() - before;
	fds = descriptors();
	close_all();
	end = cpu_seconds();
	print_line(before, fds, up - begin, end - up);
	return storm.up == storm.ends;
}
