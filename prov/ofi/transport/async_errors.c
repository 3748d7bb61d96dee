/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/async_errors.h"

#include "fabric/error.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "base/log.h"
#include "fabric/fid.h"
#include "fabric/quirks.h"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Limit of events read in one round, so that a fabric that keeps failing leaves time for other
 * work.
 */
#define MOST_PER_ROUND 16

static bool is_refusal(int ret)
{
	return ret == -FI_ENOSYS || ret == -FI_EOPNOTSUPP || ret == -FI_EINVAL;
}

/*
 * libfabric's queue allocates memory for each event, and efa ends the process if it can't write an
 * error to the queue, for example that memory runs out. Any thread that posts or reads calls this,
 * with locks of the provider held.
 */
static ssize_t write_or_keep(struct fid_eq *eq, uint32_t event, const void *buf, size_t len,
			     uint64_t flags)
{
	struct dofi_async_errors *events = eq->fid.context;
	const struct fi_eq_err_entry *err = buf;
	ssize_t ret = events->own_ops->write(eq, event, buf, len, flags);

	if (ret != -FI_ENOMEM || len != sizeof(*err))
		return ret;
	atomic_store(&events->unwritten,
		     (uint64_t)(uint32_t)err->err << 32 | (uint32_t)err->prov_errno);
	return (ssize_t)len;
}

static void keep_unwritten(struct dofi_async_errors *events)
{
	const struct fi_ops_eq *own = events->eq->ops;

	events->own_ops = own;
	memcpy(&events->ops, own, own->size < sizeof(*own) ? own->size : sizeof(*own));
	events->ops.write = write_or_keep;
	events->eq->ops = &events->ops;
}

/*
 * No thread sleeps on the queue: events appear in it when our own threads read the completion
 * queue.
 */
int dofi_async_errors_open(struct dofi_ia *ia, struct dofi_async_errors *events)
{
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	int ret;

	if (ia->quirks & DOFI_QUIRK_IDLE_EQ)
		return 0;
	ret = fi_eq_open(ia->fabric, &attr, &events->eq, events);
	if (ret) {
		events->eq = NULL;
		return is_refusal(ret) ? 0 : ret;
	}
	if (ia->quirks & DOFI_QUIRK_FATAL_EVENT)
		keep_unwritten(events);
	ret = fi_ep_bind(ia->shared_ep, &events->eq->fid, 0);
	if (ret)
		dofi_async_errors_close(ia, events);
	return is_refusal(ret) ? 0 : ret;
}

void dofi_async_errors_close(struct dofi_ia *ia, struct dofi_async_errors *events)
{
	if (!events->eq)
		return;
	if (events->nerrors > 1)
		DOFI_LOG_I("IA %s: the fabric reported %llu errors that belong to no operation",
			   ia->name, (unsigned long long)events->nerrors);
	if (events->own_ops)
		events->eq->ops = (struct fi_ops_eq *)(uintptr_t)events->own_ops;
	dofi_fid_close(ia->name, &events->eq->fid, "event queue of the shared endpoint");
	events->eq = NULL;
}

/*
 * The event does not identify the peer, so it ends no connection. The control channel reports the
 * death of a peer. For any other error, an asynchronous event tells the program that data may be
 * lost.
 */
static void tell(struct dofi_ia *ia, const struct fi_eq_err_entry *err, int code)
{
	if (dofi_error_is_of_peer(code)) {
		DOFI_LOG_I("IA %s: the fabric reported an error of a peer that belongs to no "
			   "operation: %s (provider's code %d)",
			   ia->name, fi_strerror(code), err->prov_errno);
		return;
	}
	DOFI_LOG_W("IA %s: the fabric reported an error that belongs to no operation: %s "
		   "(provider's code %d); what a peer sent may be lost",
		   ia->name, fi_strerror(code), err->prov_errno);
	dofi_evd_async(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, dofi_obj_ia_handle(&ia->obj),
		       0);
}

/* Handles an error. A repeated error is reported once. */
static void take(struct dofi_ia *ia, struct dofi_async_errors *events,
		 const struct fi_eq_err_entry *err)
{
	int code = err->err ? abs(err->err) : FI_EOTHER;

	if (!events->nerrors++ || events->told_err != code ||
	    events->told_prov_err != err->prov_errno)
		tell(ia, err, code);
	events->told_err = code;
	events->told_prov_err = err->prov_errno;
}

static bool read_error(struct dofi_ia *ia, struct dofi_async_errors *events)
{
	struct fi_eq_err_entry err = {0};

	if (fi_eq_readerr(events->eq, &err, 0) <= 0)
		return false;
	take(ia, events, &err);
	return true;
}

static int take_unwritten(struct dofi_ia *ia, struct dofi_async_errors *events)
{
	uint64_t kept = atomic_exchange(&events->unwritten, 0);

	take(ia, events,
	     &(struct fi_eq_err_entry){.err = (int)(kept >> 32), .prov_errno = (int)kept});
	return 1;
}

/* Reads one event. False when there is none. Events other than errors are ignored. */
static bool read_one(struct dofi_ia *ia, struct dofi_async_errors *events)
{
	union {
		struct fi_eq_entry object;
		struct fi_eq_cm_entry connection;
	} event;
	uint32_t number;
	ssize_t ret = fi_eq_read(events->eq, &number, &event, sizeof(event), 0);

	return ret == -FI_EAVAIL ? read_error(ia, events) : ret >= 0;
}

int dofi_async_errors_poll(struct dofi_ia *ia, struct dofi_async_errors *events)
{
	int n = 0;

	dofi_assert_held(&ia->engine.lock);
	if (DOFI_UNLIKELY(atomic_load_explicit(&events->unwritten, memory_order_relaxed)))
		n = take_unwritten(ia, events);
	while (events->eq && n < MOST_PER_ROUND && read_one(ia, events))
		n++;
	return n;
}

/* efa reports a lack of memory for its receive buffers once, and does not try again. */
int dofi_async_errors_begin(struct dofi_ia *ia, struct dofi_async_errors *events)
{
	struct fi_eq_err_entry err = {0};

	if (!events->own_ops)
		return 0;
	fi_cq_read(ia->cq, NULL, 0);
	if (fi_eq_readerr(events->eq, &err, 0) > 0)
		return -abs(err.err);
	return -abs((int)(atomic_exchange(&events->unwritten, 0) >> 32));
}
