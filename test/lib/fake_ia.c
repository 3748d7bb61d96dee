/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fake_ia.h"
#include "t_check.h"

#include "../../prov/ofi/progress/evd_streams.h"
#include "../../prov/ofi/api/evd.h"
#include "../../prov/ofi/progress/evd.h"
#include "../../prov/ofi/object/mem.h"
#include "../../prov/ofi/cm/channel.h"
#include "../../prov/ofi/object/ctxtab.h"
#include "../../prov/ofi/object/ia.h"
#include "../../prov/ofi/object/srq_count.h"
#include "../../prov/ofi/base/clock.h"
#include "../../prov/ofi/progress/cq_watch.h"
#include "../../prov/ofi/progress/engine.h"
#include "../../prov/ofi/progress/event.h"
#include "../../prov/ofi/progress/wait.h"
#include "../../prov/ofi/cm/cm.h"

#include <errno.h>
#include <linux/futex.h>
#include <rdma/fi_domain.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct t_fake t_fake;

/* --- allocations that fail; the linker redirects malloc and mmap to these functions --- */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);

static bool fails(_Atomic int *count)
{
	if (!*count)
		return false;
	--*count;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails(&t_fake.fail_malloc) ? NULL : __real_malloc(size);
}

void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	return fails(&t_fake.fail_mmap) ? MAP_FAILED
					: __real_mmap(addr, length, prot, flags, fd, offset);
}

/* --- replacements for the engine --- */

bool dofi_engine_poll_for(struct dofi_ia *ia, struct dofi_taker taker)
{
	t_fake.polls++;
	/* Threads that wait for a CNO at once take no events, and write nothing here. */
	if (taker.evd || ia->engine.taker.evd)
		ia->engine.taker = taker;
	t_fake.cancel_in_poll = t_cancel_state();
	if (t_fake.on_poll)
		t_fake.on_poll(ia);
	return ia->engine.taker.evd != taker.evd;
}

void dofi_engine_poll(struct dofi_ia *ia)
{
	dofi_engine_poll_for(ia, (struct dofi_taker){NULL, NULL});
}

void dofi_wait_kick(struct dofi_ia *ia)
{
	(void)ia;
	t_fake.kicks++;
}

void dofi_wait_watch(struct dofi_ia *ia)
{
	(void)ia;
	t_fake.watchers++;
}

void dofi_wait_unwatch(struct dofi_ia *ia)
{
	(void)ia;
	t_fake.watchers--;
}

void dofi_wait_wake(struct dofi_ia *ia, _Atomic uint32_t *wakeup)
{
	(void)ia;
	atomic_fetch_add(wakeup, 1);
	syscall(SYS_futex, wakeup, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void not_asleep(void *arg)
{
	(void)arg;
	t_fake.asleep--;
}

/* The only point of a sleep where the thread is cancelled. */
static void be_cancelled(int state)
{
	int before;

	pthread_cleanup_push(not_asleep, NULL);
	t_fake.before_cancel();
	pthread_cancel(pthread_self());
	pthread_setcancelstate(state, &before);
	pthread_testcancel();
	pthread_setcancelstate(before, NULL);
	pthread_cleanup_pop(false);
}

int dofi_wait_sleep_cancellable(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen,
				uint64_t deadline, int cancel)
{
	struct timespec until = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
	int ret = 0;

	(void)ia;
	t_fake.sleeps++;
	t_fake.asleep++;
	if (t_fake.before_cancel)
		be_cancelled(cancel);
	while (!ret && atomic_load(wakeup) == seen)
		if (syscall(SYS_futex, wakeup, FUTEX_WAIT_BITSET_PRIVATE, seen,
			    deadline == DOFI_FOREVER ? NULL : &until, NULL,
			    FUTEX_BITSET_MATCH_ANY) &&
		    errno != EAGAIN)
			ret = -errno;
	t_fake.asleep--;
	return atomic_load(wakeup) == seen ? ret : 0;
}

int dofi_wait_sleep(struct dofi_ia *ia, _Atomic uint32_t *wakeup, uint32_t seen, uint64_t deadline)
{
	return dofi_wait_sleep_cancellable(ia, wakeup, seen, deadline, PTHREAD_CANCEL_DISABLE);
}

/* --- replacements for peers and the registry --- */

void dofi_chan_invalidate(struct dofi_ia *ia, uint32_t context, bool announced)
{
	struct dofi_ctx_wire copy = ia->ctxtab.wire[DOFI_CTX_INDEX(context)];
	struct dofi_ctx ctx;

	t_fake.waits++;
	if (!context)
		return;
	t_fake.valid_when_told |= dofi_ctx_decode(&copy, context, &ctx);
	t_fake.invalidated = context;
	t_fake.announced = announced;
	t_fake.invalidations++;
	t_fake.mr.closed_before_told |= !t_fake.mr.live;
}

void dofi_srq_dequeued(struct dofi_srq *srq)
{
	(void)srq;
	t_fake.srq_dequeued++;
}

void dofi_event_unfold(const struct dofi_event *event, struct dofi_evd *evd, DAT_EVENT *out)
{
	memset(out, 0, sizeof(*out));
	out->event_number = (DAT_EVENT_NUMBER)event->number;
	out->evd_handle = evd;
	if (event->number == DAT_SOFTWARE_EVENT)
		out->event_data.software_event_data.pointer = event->software;
	else if (event->number == DAT_DTO_COMPLETION_EVENT)
		out->event_data.dto_completion_event_data.user_cookie.as_64 = event->dto.cookie;
	else {
		out->event_data.asynch_error_event_data.dat_handle = event->handle;
		out->event_data.asynch_error_event_data.reason = event->reason;
	}
}

/* --- replacements for the fabric --- */

static int mr_close(struct fid *fid)
{
	free(fid);
	t_fake.mr.live--;
	return 0;
}

static struct fi_ops mr_ops = {.size = sizeof(mr_ops), .close = mr_close};

static int mr_reg(struct fid *fid, const void *buf, size_t length, uint64_t access, uint64_t offset,
		  uint64_t wanted_key, uint64_t flags, struct fid_mr **mr_p, void *context)
{
	struct fid_mr *mr;

	(void)fid, (void)offset, (void)flags, (void)context;
	if (t_fake.mr.fail)
		return t_fake.mr.fail;
	mr = calloc(1, sizeof(*mr));
	mr->fid.ops = &mr_ops;
	mr->key = wanted_key + 1000;
	mr->mem_desc = mr;
	t_fake.mr.live++;
	t_fake.mr.buf = buf;
	t_fake.mr.length = length;
	t_fake.mr.access = access;
	t_fake.mr.key = mr->key;
	*mr_p = mr;
	return 0;
}

static struct fi_ops_mr domain_mr_ops = {.size = sizeof(domain_mr_ops), .reg = mr_reg};
static struct fid_domain domain = {.mr = &domain_mr_ops};
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};

/* --- the IA --- */

static const DAT_PROVIDER provider;

struct dofi_ia *t_ia_open(void)
{
	struct dofi_evd *async;
	struct dofi_ia *ia;

	memset(&t_fake, 0, sizeof(t_fake));
	ia = dofi_obj_alloc(NULL, &provider, DAT_HANDLE_TYPE_IA, sizeof(*ia));
	ck_assert_ptr_nonnull(ia);
	ia->obj.ia = ia;
	strcpy(ia->name, "fake");
	domain_attr.mr_mode = FI_MR_LOCAL;
	ia->domain = &domain;
	ia->info = &info;
	ia->limits.max_evd_qlen = 1024;
	ia->limits.max_evds = 65536;
	ia->limits.max_lmr = UINT64_C(1) << 40;
	dofi_lock_init(&ia->obj_lock);
	dofi_list_init(&ia->agents);
	dofi_list_init(&ia->agent_calls);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		dofi_list_init(&ia->objects[i]);
	ck_assert_int_eq(dofi_ctxtab_init(ia), 0);
	dofi_obj_publish(&ia->obj, DAT_HANDLE_TYPE_IA);
	ck_assert_int_eq(dofi_evd_new(ia, 4, NULL, DAT_EVD_ASYNC_FLAG, &async), 0);
	dofi_evd_attach_other(async);
	ia->async_evd = async;
	return ia;
}

void t_ia_close(struct dofi_ia *ia)
{
	struct dofi_evd *async = ia->async_evd;

	ia->async_evd = NULL;
	dofi_evd_detach_other(async);
	t_ok(dofi_evd_free(async));
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		ck_assert_msg(ia->counts[i] == 0, "objects of type %d are left", i);
	ck_assert_uint_eq(ia->nstaying, 0); /* the end of the IA would wait for ever */
	ck_assert_uint_eq(ia->ctxtab.used, 0);
	dofi_ctxtab_fini(ia);
	ck_assert_int_eq(t_fake.mr.live, 0);
	ck_assert(dofi_obj_retire(&ia->obj, true));
	dofi_lock_fini(&ia->obj_lock);
	dofi_obj_free(&ia->obj, DAT_HANDLE_TYPE_IA);
}

/* --- threads --- */

void t_until_asleep(uint32_t n)
{
	uint64_t limit = dofi_now() + T_LIMIT_S * UINT64_C(1000000000);

	while (t_fake.asleep != n) {
		ck_assert_msg(dofi_now() < limit, "%u threads asleep, not %u", t_fake.asleep, n);
		sched_yield();
	}
}

static void *thread_main(void *arg)
{
	struct t_thread *thread = arg;

	thread->ret = thread->run(thread->arg);
	thread->done = true;
	return NULL;
}

void t_start(struct t_thread *thread, DAT_RETURN (*run)(void *arg), void *arg)
{
	*thread = (struct t_thread){.run = run, .arg = arg};
	ck_assert_int_eq(pthread_create(&thread->id, NULL, thread_main, thread), 0);
}

static void *join(struct t_thread *thread)
{
	struct timespec limit;
	void *result;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += T_LIMIT_S;
	ck_assert_msg(!pthread_timedjoin_np(thread->id, &result, &limit),
		      "the thread does not end");
	return result;
}

DAT_RETURN t_join(struct t_thread *thread)
{
	join(thread);
	return thread->ret;
}

bool t_is_cancelled(struct t_thread *thread)
{
	return join(thread) == PTHREAD_CANCELED;
}

int t_cancel_state(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcancelstate(state, NULL);
	return state;
}
