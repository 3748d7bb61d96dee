/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "rdm_events.h"

#include "error.h"
#include "evd.h"
#include "ia.h"
#include "log.h"
#include "quirks.h"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

/* Events read in one round: a fabric that fails again and again leaves time for the rest. */
#define MOST_PER_ROUND 16

static bool is_refusal(int ret)
{
	return ret == -FI_ENOSYS || ret == -FI_EOPNOTSUPP || ret == -FI_EINVAL;
}

/* Nobody sleeps on the queue: what fills it is the read of the completion queue, by our own threads. */
int dofi_rdm_events_open(struct dofi_ia *ia, struct dofi_rdm_events *events)
{
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	int ret;

	if (ia->quirks & DOFI_QUIRK_IDLE_EQ)
		return 0;
	ret = fi_eq_open(ia->fabric, &attr, &events->eq, NULL);
	if (ret) {
		events->eq = NULL;
		return is_refusal(ret) ? 0 : ret;
	}
	ret = fi_ep_bind(ia->shared_ep, &events->eq->fid, 0);
	if (ret)
		dofi_rdm_events_close(ia, events);
	return is_refusal(ret) ? 0 : ret;
}

void dofi_rdm_events_close(struct dofi_ia *ia, struct dofi_rdm_events *events)
{
	if (!events->eq)
		return;
	if (events->nerrors > 1)
		DOFI_LOG_I("IA %s: the fabric told %llu errors that belong to no operation", ia->name,
			   (unsigned long long)events->nerrors);
	dofi_ia_close_fid(ia, &events->eq->fid, "event queue of the shared endpoint");
	events->eq = NULL;
}

/*
 * The fabric does not say which peer it was, so no connection ends for it. Of a dead peer its connections learn by the control
 * channel; of anything else a program that has an asynchronous EVD learns that something may be lost.
 */
static void tell(struct dofi_ia *ia, const struct fi_eq_err_entry *err, int code)
{
	if (dofi_error_is_of_peer(code)) {
		DOFI_LOG_I("IA %s: the fabric lost something of a peer: %s (%d)", ia->name, fi_strerror(code),
			   err->prov_errno);
		return;
	}
	DOFI_LOG_W("IA %s: the fabric failed in something that belongs to no operation: %s (%d); what a peer sent may be lost",
		   ia->name, fi_strerror(code), err->prov_errno);
	dofi_evd_async(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, dofi_obj_ia_handle(&ia->obj), 0);
}

static bool read_error(struct dofi_ia *ia, struct dofi_rdm_events *events)
{
	struct fi_eq_err_entry err = {0};
	int code;

	if (fi_eq_readerr(events->eq, &err, 0) <= 0)
		return false;
	code = err.err ? abs(err.err) : FI_EOTHER;
	if (!events->nerrors++ || events->told_err != code || events->told_prov_err != err.prov_errno)
		tell(ia, &err, code);
	events->told_err = code;
	events->told_prov_err = err.prov_errno;
	return true;
}

/* False when there is nothing more. What is no error concerns nobody. */
static bool read_one(struct dofi_ia *ia, struct dofi_rdm_events *events)
{
	union {
		struct fi_eq_entry object;
		struct fi_eq_cm_entry connection;
	} event;
	uint32_t number;
	ssize_t ret = fi_eq_read(events->eq, &number, &event, sizeof(event), 0);

	return ret == -FI_EAVAIL ? read_error(ia, events) : ret >= 0;
}

int dofi_rdm_events_poll(struct dofi_ia *ia, struct dofi_rdm_events *events)
{
	int n = 0;

	while (events->eq && n < MOST_PER_ROUND && read_one(ia, events))
		n++;
	return n;
}
