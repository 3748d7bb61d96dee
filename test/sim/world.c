/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "world.h"

#include "bare_ia.h"
#include "clock.h"
#include "consumer.h"
#include "coroutine.h"
#include "fabric.h"
#include "must.h"
#include "oracle.h"
#include "random.h"
#include "trace.h"

#include "api/evd.h"
#include "api/lmr.h"
#include "api/pz.h"
#include "auth/key.h"
#include "base/log.h"
#include "base/param.h"
#include "base/lock_order.h"
#include "cm/cm.h"
#include "cm/drain.h"
#include "fabric/quirks.h"
#include "object/ia.h"
#include "progress/engine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BEGINNING      (1000 * KERNEL_MS)
#define FIRST_HOST     0x0a000001u
#define QLEN           512
#define INJECT         16
#define MOST_STRANGERS 4096u
#define MAX_ROUNDS     8
/*
 * By then all limits of the library are over. On busy hosts a connect that the fabric loses takes
 * 110 s, and another may wait for it.
 */
#define REST           (300 * CLOCK_SECOND)
#define MOST_STEPS     200000u
#define STALL_LOOK     CLOCK_MS
#define LONGEST_NAP    (200 * CLOCK_MS)
#define SLOW_WAKES     10
#define SLOWER         20
/* longer than a lost packet takes */
#define LINGER_MS      10000
#define LONGEST_PAUSE  (2 * CLOCK_SECOND)
#define RETRY          (plan->is_busy || plan->net.losses ? 2 * CLOCK_MS : 50 * CLOCK_US)
#define YIELD          (200 * CLOCK_US)

struct process *world;

static size_t world_room;
static const struct plan *plan;
static const struct world_consumer *consumer;
static struct random rnd;
static struct process *running;

/* In a crowd each has a host of its own, and all are equally fast. */
static uint64_t pace_of(int process)
{
	return plan->pace[plan->is_crowd ? 0 : process];
}

struct sockaddr_in world_address(int process)
{
	int number = plan->is_crowd ? process : plan->hosts[process];
	uint32_t host = FIRST_HOST + (uint32_t)number;

	return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
}

/* --- who runs --- */

static void look(uint64_t number, uint64_t unused);

static void wake_at(struct process *p, uint64_t when)
{
	if (when >= p->wake_at)
		return;
	p->wake_at = when;
	clock_at(when, look, (uint64_t)p->kernel.number, 0);
}

/* Wakes a process. Sometimes it takes longer, so that several events are there at once. */
static void wake(int number)
{
	struct process *p = &world[number];
	uint64_t pace = pace_of(number);

	if (random_one_in(&rnd, SLOW_WAKES))
		pace *= SLOWER;
	wake_at(p, kernel_time + random_scaled(&rnd, CLOCK_US, pace));
}

struct process *world_enter(struct process *p)
{
	struct process *before = running;

	if (before)
		before->faults = kernel_faults;
	running = p;
	p->inside++;
	kernel_process = p->kernel;
	kernel_faults = p->faults;
	return before;
}

/* Plans the next look: soon if something was handled; otherwise for timers and waiting work. */
static void plan_look(struct process *p, bool soon)
{
	uint64_t pace = pace_of(p->kernel.number), timer;

	if (!p->open || p->killed)
		return;
	timer = atomic_load(&p->ia->engine.next_timer);
	if (soon)
		wake(p->kernel.number);
	p->nap = soon ? STALL_LOOK : p->nap < LONGEST_NAP ? 2 * p->nap : LONGEST_NAP;
	if (atomic_load(&p->ia->engine.nstalled) || atomic_load(&p->ia->engine.restless))
		wake_at(p, kernel_time + p->nap);
	if (timer != UINT64_MAX)
		wake_at(p,
			(timer > kernel_time ? timer : kernel_time) + random_scaled(&rnd, 0, pace));
}

static void leave(struct process *before, bool soon)
{
	struct process *p = running;

	p->faults = kernel_faults;
	p->inside--;
	running = before;
	kernel_faults = before ? before->faults : (struct kernel_faults){0};
	if (before)
		kernel_process = before->kernel;
	plan_look(p, soon);
}

void world_leave(struct process *before)
{
	leave(before, true);
}

bool world_is_free(struct process *p, void (*run)(uint64_t, uint64_t), uint64_t a, uint64_t b)
{
	uint64_t when = kernel_time + RETRY;

	if (!p->open || p->killed)
		return false;
	if (!p->inside && p->stopped_until <= kernel_time)
		return true;
	clock_at(p->stopped_until > when ? p->stopped_until : when, run, a, b);
	return false;
}

/* One look of a process at descriptors, timers and completions; then its consumer acts. */
static void look(uint64_t number, uint64_t unused)
{
	struct process *before, *p = &world[number];
	int n = 0, handled, total = 0;

	if (p->wake_at > kernel_time)
		return; /* another look is due */
	p->wake_at = UINT64_MAX;
	if (!p->open || p->killed)
		return;
	if (p->inside || p->stopped_until > kernel_time) {
		wake_at(p, p->stopped_until > kernel_time ? p->stopped_until : kernel_time + RETRY);
		return;
	}
	(void)unused;
	before = world_enter(p);
	dofi_engine_begin(p->ia);
	do {
		handled = dofi_engine_round(p->ia, true);
		total += handled;
	} while (handled && ++n < MAX_ROUNDS);
	dofi_engine_end(p->ia);
	consumer->take_events(p, false);
	leave(before, total);
	if (plan->cost && total)
		p->stopped_until = kernel_time + (uint64_t)total * plan->cost;
}

static void check_steps(void)
{
	if (!plan->is_crowd && clock_steps() > MOST_STEPS)
		oracle_fail(-1, "it goes on and on: %u steps", MOST_STEPS);
}

/* Runs the other processes while this one waits in a call. They do not use its lock. */
static void run_others(uint64_t limit)
{
	struct process *p = running;

	p->faults = kernel_faults;
	running = NULL;
	kernel_faults = (struct kernel_faults){0};
#ifndef NDEBUG
	dofi_lock_order_released(&p->ia->engine.lock);
#endif
	if (coroutine_is_event())
		coroutine_wait(limit);
	else
		coroutine_run(limit, check_steps);
#ifndef NDEBUG
	dofi_lock_order_taken(&p->ia->engine.lock, DOFI_LEVEL_ENGINE);
#endif
	running = p;
	kernel_process = p->kernel;
	kernel_faults = p->faults;
}

int __wrap_sched_yield(void);

int __wrap_sched_yield(void)
{
	run_others(kernel_time + YIELD);
	return 0;
}

/* Lets time pass between two calls of the library, now and then. */
static void pause_now_and_then(void)
{
	if (!running || !running->open)
		return;
	if (random_one_in(&rnd, 16))
		run_others(kernel_time +
			   random_scaled(&rnd, CLOCK_US, pace_of(running->kernel.number)));
	if (plan->is_busy && random_one_in(&rnd, 256))
		run_others(kernel_time + random_scaled(&rnd, CLOCK_MS, LONGEST_PAUSE));
}

/* --- an IA's life --- */

static uint32_t longest_evd(void)
{
	return plan->is_crowd ? plan->qlen : QLEN;
}

static DAT_EVD_HANDLE make_evd(struct process *p, uint32_t qlen, unsigned int flags)
{
	DAT_EVD_HANDLE evd;

	MUST(dofi_evd_create(p->ia, (DAT_COUNT)qlen, NULL, (DAT_EVD_FLAGS)flags, &evd) ==
	     DAT_SUCCESS);
	return evd;
}

static void make_objects(struct process *p)
{
	DAT_REGION_DESCRIPTION region = {.for_va = consumer_memory};
	DAT_RMR_CONTEXT context;

	if (plan->qlen) {
		p->conn_evd = make_evd(p, plan->qlen, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG);
		p->cr_evd = p->conn_evd;
	} else {
		p->conn_evd = make_evd(p, QLEN, DAT_EVD_CONNECTION_FLAG);
		p->cr_evd = make_evd(p, QLEN, DAT_EVD_CR_FLAG);
	}
	p->dto_evd = make_evd(p, longest_evd(), DAT_EVD_DTO_FLAG);
	MUST(dofi_pz_create(p->ia, &p->pz) == DAT_SUCCESS);
	MUST(dofi_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(consumer_memory), p->pz,
			     DAT_MEM_PRIV_ALL_FLAG, &p->lmr, &p->lmr_context, &context, NULL,
			     NULL) == DAT_SUCCESS);
}

static int most_sockets(void)
{
	return plan->is_crowd ? (int)plan->qlen * 2 : KERNEL_SOCKETS;
}

/* As cm.c chooses by the limit of files. */
static uint32_t most_strangers(void)
{
	uint32_t n = (uint32_t)most_sockets() / 4;

	return n < MOST_STRANGERS ? n : MOST_STRANGERS;
}

/* What a process gets that sets nothing; bare_ia.c has narrow limits. */
static void set_defaults(struct dofi_ia *ia)
{
	MUST(!dofi_params_load(&ia->params, "crowd", NULL));
	/* As with that many files. */
	ia->params.max_channels = (uint32_t)most_sockets() / 4 * 3;
	ia->params.max_peer_channels = (uint32_t)most_sockets() / 2;
}

void world_open(int number)
{
	static const struct dofi_key key = {.source = DOFI_KEY_FILE,
					    .bytes = "a key of thirty-two bytes",
					    .id = {1}};
	struct process *before, *p = &world[number];
	struct sockaddr_in addr = world_address(number);
	char name[16];

	*p = (struct process){.kernel = {number, ntohl(addr.sin_addr.s_addr), most_sockets()},
			      .faults.dials_wait = true,
			      .wake_at = UINT64_MAX};
	snprintf(name, sizeof(name), "ia%d", number);
	before = world_enter(p);
	p->ia = bare_ia_new(name, p->kernel.host);
	p->ia->limits.max_eps = plan->is_crowd ? plan->qlen : 2 * PLAN_STEPS;
	p->ia->limits.max_evd_qlen = longest_evd();
	if (plan->is_crowd)
		set_defaults(p->ia);
	if (plan->requests)
		p->ia->params.max_peer_requests = plan->requests;
	if (plan->net.losses)
		p->ia->params.linger_ms = LINGER_MS;
	p->ia->tells_last_receive = false;
	p->ia->has_data = plan->is_rdm;
	if (plan->is_rdm)
		p->ia->credits = DOFI_CREDITS_CARRIED;
	if (plan->injects)
		p->ia->inject_max = INJECT;
	if (plan->is_rdm && plan->no_masks)
		p->ia->quirks |= DOFI_QUIRK_TAG_MASK;
	if (plan->says_connected)
		p->ia->quirks |= DOFI_QUIRK_SAYS_CONNECTED;
	if (plan->has_key)
		p->ia->key = key;
	fabric_open(p->ia, number);
	bare_ia_open(p->ia);
	MUST(!dofi_cm_init(p->ia));
	if (plan->is_crowd)
		p->ia->cm.max_strangers = most_strangers();
	else if (plan->strangers)
		p->ia->cm.max_strangers = plan->strangers;
	make_objects(p);
	p->open = true;
	if (consumer->opened)
		consumer->opened(p);
	world_leave(before);
}

/* In the order of dat_ia_close. The engine's own descriptors are the last. */
void world_close(uint64_t number, uint64_t engine_fds)
{
	struct process *before, *p = &world[number];

	if (!p->open)
		return;
	if (!p->killed && !world_is_free(p, world_close, number, engine_fds))
		return;
	trace(p->kernel.number, "closes its IA");
	consumer->gone(p);
	before = world_enter(p);
	MUST(dofi_obj_retire(&p->ia->obj, false));
	bare_ia_end_connections(p->ia);
	dofi_cm_fini(p->ia);
	dofi_drain_free_all(p->ia);
	consumer->take_events(p, true);
	oracle_counters(p);
	bare_ia_check_rest(p->ia);
	MUST(kernel_count(p->kernel.number) == (int)engine_fds);
	fabric_close(p->ia);
	bare_ia_close(p->ia);
	MUST(kernel_count(p->kernel.number) == 0);
	p->open = false;
	world_leave(before);
}

/* --- the steps of the plan --- */

static void cut_if_silent(uint64_t number, uint64_t unused)
{
	(void)unused;
	if (net_passes((int)number, (int)number) > kernel_time)
		fabric_cut((int)number, true);
}

static void end_famine(uint64_t number, uint64_t unused)
{
	(void)unused;
	world[number].kernel.most = KERNEL_SOCKETS;
}

static void silence(const struct process *p, const struct plan_step *step)
{
	uint64_t keepalive = p->ia->params.keepalive_s * CLOCK_SECOND;
	uint64_t until = step->time == UINT64_MAX ? UINT64_MAX : kernel_time + step->time;

	net_silence(p->kernel.number, until, keepalive);
	clock_at(kernel_time + keepalive, cut_if_silent, (uint64_t)p->kernel.number, 0);
}

static void fail_call(struct process *p, uint32_t n)
{
	static const int errors[] = {EMFILE, ENOBUFS, ENOMEM, EADDRINUSE, ECONNABORTED, ENETDOWN};
	int *const calls[] = {&p->faults.socket, &p->faults.connect, &p->faults.accept,
			      &p->faults.bind};

	*calls[n % 4] = errors[random_below(&rnd, 6)];
}

static void lose(const struct process *p, uint32_t n)
{
	struct fabric_faults *faults = fabric_faults(p->kernel.number);
	uint32_t *const kinds[] = {&faults->lost,        &faults->refused, &faults->no_room,
				   &faults->no_endpoint, &faults->cut,     &faults->failed};

	*kinds[random_below(&rnd, 6)] = n;
}

static void starve(struct process *p, const struct plan_step *step)
{
	p->kernel.most = kernel_count(p->kernel.number) + (int)step->n - 1;
	clock_at(kernel_time + step->time, end_famine, (uint64_t)p->kernel.number, 0);
}

static void kill_process(struct process *p)
{
	p->killed = true;
	consumer->gone(p);
	net_kill(p->kernel.number);
	fabric_kill(p->kernel.number);
}

static void refuse(const struct process *p, uint32_t n)
{
	static const int errors[] = {ECONNREFUSED, EHOSTUNREACH, ECONNRESET, ENETUNREACH,
				     ETIMEDOUT};

	net_refuse(p->kernel.number, errors[random_below(&rnd, 5)], n);
}

static void go_wrong(struct process *p, const struct plan_step *step)
{
	switch (step->kind) {
	case PLAN_KILL:
		kill_process(p);
		break;
	case PLAN_STOP:
		p->stopped_until = kernel_time + step->time;
		break;
	case PLAN_SILENCE:
		silence(p, step);
		break;
	case PLAN_CUT:
		net_cut(p->kernel.number, step->n);
		break;
	case PLAN_CUT_PATH:
		fabric_cut(p->kernel.number, step->n % 2);
		break;
	case PLAN_REFUSE:
		refuse(p, step->n);
		break;
	case PLAN_FORGET:
		p->faults.forget = step->n;
		break;
	case PLAN_FAIL:
		fail_call(p, step->n);
		break;
	case PLAN_STARVE:
		starve(p, step);
		break;
	case PLAN_SHORT:
		p->faults.most_read = step->n;
		break;
	default:
		lose(p, step->n);
	}
}

static void run_step(uint64_t n, uint64_t unused)
{
	const struct plan_step *step = &plan->steps[n];
	struct process *before, *p = &world[step->who];

	if (step->kind == PLAN_OPEN && !p->open)
		world_open(step->who);
	if (step->kind == PLAN_OPEN || !world_is_free(p, run_step, n, unused))
		return;
	if (step->kind == PLAN_CLOSE) {
		world_close((uint64_t)step->who, WORLD_ENGINE_FDS);
		return;
	}
	if (step->kind >= PLAN_KILL) {
		trace(step->who, "fault %d of kind %d", (int)n, (int)(step->kind - PLAN_KILL));
		go_wrong(p, step);
		return;
	}
	before = world_enter(p);
	consumer_step(p, (int)n);
	world_leave(before);
}

/* --- all of it --- */

void world_run_until(uint64_t limit)
{
	coroutine_run(limit, check_steps);
}

static bool begins_by_itself(const struct plan_step *step)
{
	return !step->left_out && !(step->kind == PLAN_CONNECT && step->connect.follows >= 0);
}

void world_begin(const struct plan *of, const struct world_consumer *by, bool shown)
{
	const struct fabric_profile fabric = {.seed = of->seed,
					      .is_rdm = of->is_rdm,
					      .copies = of->copies,
					      .says_connected = of->says_connected,
					      .scrambles = of->scrambles,
					      .receives = of->receives};

	plan = of;
	consumer = by;
	rnd = random_stream(plan->seed, 2);
	running = NULL;
	trace_begin(shown);
	dofi_log_set_level(shown ? "debug" : "off");
	clock_begin();
	net_begin(&plan->net, plan->processes, random_stream(plan->seed, 3), wake);
	fabric_begin(&fabric, plan->processes, wake);
	kernel_seed = (uint32_t)random_next(&rnd);
	kernel_is_busy = plan->is_busy;
	kernel_pause = plan->is_crowd ? NULL : pause_now_and_then;
	world = kernel_grow(world, &world_room, (size_t)plan->processes, sizeof(*world));
	memset(world, 0, world_room * sizeof(*world));
}

static void begin(const struct plan *of, bool shown)
{
	static const struct world_consumer consumers = {.opened = consumer_opened,
							.take_events = consumer_take_events,
							.gone = consumer_gone};

	consumer_begin(of);
	world_begin(of, &consumers, shown);
	for (int i = 0; i < plan->processes; i++)
		if (plan->replaces[i] < 0)
			world_open(i);
	for (int i = 0; i < plan->n; i++)
		if (begins_by_itself(&plan->steps[i]))
			clock_at(BEGINNING + plan->steps[i].at, run_step, (uint64_t)i, 0);
}

/* A process closes its IA only when its call has returned. */
static void await_closed(void)
{
	uint64_t limit = kernel_time + REST;

	for (int i = 0; i < plan->processes; i++)
		while (world[i].open && kernel_time < limit)
			world_run_until(kernel_time + CLOCK_SECOND);
}

void world_run(const struct plan *of, bool shown, uint64_t *steps_p)
{
	long allocated = kernel_allocated;

	begin(of, shown);
	world_run_until(BEGINNING + plan_last(plan) + REST);
	consumer_check_rest();
	for (int i = 0; plan->is_calm && plan->is_rdm && i < plan->processes; i++)
		if (world[i].open)
			oracle_leftovers(&world[i]);
	trace(-1, "all is settled");
	for (int i = 0; i < plan->processes; i++) {
		int number = (i + (int)(plan->seed % 8)) % plan->processes;

		world[number].stopped_until = 0;
		world[number].faults = (struct kernel_faults){.dials_wait = true};
		world[number].kernel.most = KERNEL_SOCKETS;
		world_close((uint64_t)number, WORLD_ENGINE_FDS);
		world_run_until(kernel_time + random_scaled(&rnd, 0, CLOCK_SECOND));
	}
	await_closed();
	MUST(kernel_end() == 0);
	if (kernel_allocated != allocated)
		oracle_fail(-1, "%ld allocations are left", kernel_allocated - allocated);
	*steps_p = clock_steps();
}
