/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The work that a card does itself. Without a seed a request is carried out in the post. If the
 * peer has no receive or does not answer, the request waits here. With a seed all requests wait,
 * and each step carries out a random piece of a random request. A thread makes the steps while the
 * program does not call.
 */
#include "softefa.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Without a seed: bytes moved between two checks of the key. */
#define PIECE_ORDERED (1u << 20)

static struct op *spare;
static struct op *waiting, **waiting_last = &waiting;
static uint32_t waiting_count;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static int has_thread, is_idle;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- requests --- */

struct op *efa_op_new(void)
{
	struct op *op;

	pthread_mutex_lock(&efa_lock);
	op = spare;
	if (op)
		spare = op->next;
	pthread_mutex_unlock(&efa_lock);
	if (!op)
		op = malloc(sizeof(*op));
	if (op)
		memset(op, 0, offsetof(struct op, data));
	if (op)
		memset((char *)op + offsetof(struct op, rkey), 0,
		       sizeof(*op) - offsetof(struct op, rkey));
	return op;
}

void efa_op_free(struct op *op)
{
	if (op->cut != op->one_cut) {
		free(op->cut);
		free(op->todo);
	}
	pthread_mutex_lock(&efa_lock);
	op->next = spare;
	spare = op;
	pthread_mutex_unlock(&efa_lock);
}

static int is_rdma(const struct op *op)
{
	return op->opcode != IBV_WR_SEND && op->opcode != IBV_WR_SEND_WITH_IMM;
}

static uint32_t piece_size(void)
{
	if (!efa_set.seed)
		return PIECE_ORDERED;
	return efa_set.piece_min + efa_random(efa_set.piece_max - efa_set.piece_min + 1);
}

static int one_piece(struct op *op)
{
	op->cut = op->one_cut;
	op->todo = &op->one_todo;
	op->cut[1] = op->length;
	op->pieces = op->left = 1;
	return 0;
}

/* A message is one packet. An RDMA operation is cut into pieces. */
static int cut_up(struct op *op)
{
	uint32_t smallest = efa_set.seed ? efa_set.piece_min : PIECE_ORDERED;
	uint32_t most = op->length / smallest + 1, end = 0;

	if (!is_rdma(op) || op->length <= smallest)
		return one_piece(op);
	op->cut = malloc((most + 1) * sizeof(*op->cut));
	op->todo = malloc(most * sizeof(*op->todo));
	if (!op->cut || !op->todo)
		return -1;
	do {
		uint32_t size = piece_size();

		op->cut[op->pieces] = end;
		op->todo[op->pieces] = op->pieces;
		op->pieces++;
		end = size < op->length - end ? end + size : op->length;
	} while (end < op->length);
	op->cut[op->pieces] = end;
	op->left = op->pieces;
	return 0;
}

static void end_op(struct op *op, int status)
{
	efa_cq_complete(op, (uint32_t)status);
	efa_op_free(op);
}

/* --- one step of a request --- */

/* 7 repeats without limit, as on InfiniBand. */
static int try_later(struct op *op, int why)
{
	uint64_t now = now_ns();

	if (why == MOVE_SILENT) {
		if (!op->deadline)
			op->deadline = now + efa_set.unresponsive_ms * (uint64_t)1000000;
		op->not_before = now + 1000000;
		return now >= op->deadline ? EFA_LOCAL_UNRESPONSIVE : MOVE_AGAIN;
	}
	op->not_before = now + efa_set.rnr_us * (uint64_t)1000;
	if (op->qp->rnr_retry < 7 && op->tries++ >= op->qp->rnr_retry)
		return EFA_REMOTE_RNR;
	return MOVE_AGAIN;
}

static int next_piece(struct op *op)
{
	uint32_t which = efa_set.seed ? efa_random(op->left) : op->pieces - op->left;
	uint32_t piece = op->todo[which];
	int ret = efa_move(op, op->cut[piece], op->cut[piece + 1] - op->cut[piece]);

	if (!ret) {
		op->left--;
		if (efa_set.seed)
			op->todo[which] = op->todo[op->left];
	}
	return ret;
}

/* Moves up to `count` pieces. Returns whether the request has ended, with success or not. */
static int advance(struct op *op, uint32_t count)
{
	int ret = 0;

	while (op->left && count-- && !ret)
		ret = next_piece(op);
	if (!ret && op->left)
		return 0;
	if (!ret && op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		ret = efa_move_end(op);
	if (ret < 0)
		ret = try_later(op, ret);
	if (ret < 0)
		return 0;
	end_op(op, ret);
	return 1;
}

/* --- waiting requests --- */

static void put_last(struct op *op)
{
	op->next = NULL;
	*waiting_last = op;
	waiting_last = &op->next;
	waiting_count++;
}

static void take_out(struct op **link)
{
	struct op *op = *link;

	*link = op->next;
	if (!op->next)
		waiting_last = link;
	waiting_count--;
}

/* Advances the request at *link; tells whether it left the list. */
static int step_one(struct op **link, uint32_t count, uint64_t now)
{
	struct op *op = *link;

	if (op->not_before > now)
		return 0;
	take_out(link);
	if (advance(op, count))
		return 1;
	op->next = *link;
	*link = op;
	if (!op->next)
		waiting_last = &op->next;
	waiting_count++;
	return 0;
}

/* Keeps the order of posting among requests of one queue pair to another. */
static int is_behind_another(const struct op *op)
{
	for (const struct op *other = waiting; other && other != op; other = other->next)
		if (other->qp == op->qp && other->qpn == op->qpn && other->host == op->host)
			return 1;
	return 0;
}

static void step_in_order(uint64_t now)
{
	struct op **link = &waiting;

	while (*link)
		if (is_behind_another(*link) || !step_one(link, UINT32_MAX, now))
			link = &(*link)->next;
}

static void step_at_random(uint64_t now, uint32_t steps)
{
	while (waiting_count && steps--) {
		struct op **link = &waiting;

		for (uint32_t skip = efa_random(waiting_count); skip; skip--)
			link = &(*link)->next;
		step_one(link, 1 + efa_random(8), now);
	}
}

void efa_engine_step(void)
{
	if (!waiting_count)
		return;
	if (efa_set.seed)
		step_at_random(now_ns(), efa_random(waiting_count + 4));
	else
		step_in_order(now_ns());
}

void efa_engine_cancel(struct soft_qp *qp)
{
	struct op **link = &waiting;

	while (*link) {
		struct op *op = *link;

		if (op->qp == qp) {
			take_out(link);
			efa_op_free(op);
		} else {
			link = &op->next;
		}
	}
}

/* --- the thread --- */

/* The thread ends after this time, because test programs count their threads at the end. */
#define STAYS_NS 50000000

static int stays(void)
{
	struct timespec until;
	int ret = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += STAYS_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	is_idle = 1;
	while (!waiting_count && !ret)
		ret = pthread_cond_timedwait(&wake, &efa_lock, &until);
	is_idle = 0;
	return waiting_count > 0;
}

static void *run(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&efa_lock);
	while (waiting_count || stays()) {
		struct timespec pause = {.tv_nsec = 500000};

		pthread_mutex_unlock(&efa_lock);
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&efa_lock);
		if (efa_set.seed)
			step_at_random(now_ns(), waiting_count * 4);
		else
			efa_engine_step();
	}
	has_thread = 0;
	pthread_mutex_unlock(&efa_lock);
	return NULL;
}

static void start_thread(void)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	has_thread = !pthread_create(&thread, &attr, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

void efa_engine_forked(void)
{
	has_thread = is_idle = 0;
	pthread_cond_init(&wake, NULL);
	waiting = NULL;
	waiting_last = &waiting;
	waiting_count = 0;
}

static void attend(void)
{
	if (!waiting_count)
		return;
	if (!has_thread)
		start_thread();
	else if (is_idle)
		pthread_cond_signal(&wake);
}

/* --- posted --- */

static int is_refused(const struct op *op)
{
	static uint32_t sends;

	return efa_set.rnr_every && !is_rdma(op) && op->qp->rnr_retry < 7 &&
	       ++sends % efa_set.rnr_every == 0;
}

static void submit(struct op *op)
{
	uint32_t fault = efa_strike();

	if (!fault && is_refused(op))
		fault = EFA_REMOTE_RNR;
	if (!fault && cut_up(op))
		fault = EFA_LOCAL_INTERNAL;
	if (fault)
		end_op(op, (int)fault);
	else if (efa_set.seed || is_behind_another(op) || !advance(op, UINT32_MAX))
		put_last(op);
}

void efa_engine_submit(struct op *list)
{
	struct op *op, *next;

	for (op = list; op; op = next) {
		next = op->next;
		submit(op);
	}
	if (efa_set.seed)
		efa_engine_step();
	attend();
}
