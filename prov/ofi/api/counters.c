/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/counters.h"

#include "dto/issue.h"
#include "base/addr.h"
#include "base/count.h"
#include "progress/engine.h"
#include "object/ep.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "object/transport.h"
#include "cm/conn.h"
#include "transport/memory_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DOFI_IA_COUNTER(name) "IA_" #name,
static const char *const ia_names[] = {
#include "base/count.def"
};
#define DOFI_EP_COUNTER(name) "EP_" #name,
static const char *const ep_names[] = {
#include "base/count.def"
};
#define DOFI_EVD_COUNTER(name) "EVD_" #name,
static const char *const evd_names[] = {
#include "base/count.def"
};

struct counters {
	const char *kind;
	const char *const *names;
	_Atomic uint64_t *values;
	int n, nall; /* number of counters in the extensions, and including our own */
};

#define COUNTERS(word, table, object, nown)                                       \
	(struct counters)                                                         \
	{                                                                         \
#word, table, (object)->counters, DOFI_CNT_##word##_END - (nown), \
			DOFI_CNT_##word##_END                                     \
	}
#define COUNTERS_OF_IA(ia)   COUNTERS(IA, ia_names, ia, DOFI_CNT_IA_END - DOFI_CNT_IA_CM_MUTE)
#define COUNTERS_OF_EP(ep)   COUNTERS(EP, ep_names, ep, DOFI_CNT_EP_END - DOFI_CNT_EP_COMPLETED)
#define COUNTERS_OF_EVD(evd) COUNTERS(EVD, evd_names, evd, DOFI_CNT_EVD_END - DOFI_CNT_EVD_OVERFLOW)

/* Finds the counters of an object. False if its type has none. */
static bool find(DAT_HANDLE handle, struct counters *c)
{
	struct dofi_ia *ia = DOFI_IA(handle);
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	if (ia)
		*c = COUNTERS_OF_IA(ia);
	else if (ep)
		*c = COUNTERS_OF_EP(ep);
	else if (evd)
		*c = COUNTERS_OF_EVD(evd);
	return ia || ep || evd;
}

static DAT_RETURN find_or_refuse(DAT_HANDLE handle, struct counters *c)
{
	DAT_HANDLE_TYPE type;

	if (find(handle, c)) {
		/* so that complete operations are counted */
		dofi_engine_poll(((const struct dofi_obj *)handle)->ia);
		if (find(handle, c)) /* an agent may have freed the object */
			return DAT_SUCCESS;
	}
	/* Valid handles of other types have no counters; other values are invalid handles. */
	return dofi_obj_type(handle, &type) ? DOFI_BAD_ARG(1)
					    : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

static uint64_t read_one(const struct counters *c, int i, int reset)
{
	if (reset)
		return atomic_exchange_explicit(&c->values[i], 0, memory_order_relaxed);
	return atomic_load_explicit(&c->values[i], memory_order_relaxed);
}

/* The range of counters: one, all, or none if the number is out of range. */
static void bounds(const struct counters *c, int counter, int *first, int *end)
{
	bool all = counter == c->n;

	*first = all || counter < 0 ? 0 : counter;
	*end = all ? c->n : counter < 0 || counter > c->n ? *first : counter + 1;
}

DAT_RETURN dofi_count_query(DAT_HANDLE handle, int counter, DAT_UINT64 *values, int reset)
{
	struct counters c;
	int i, end;
	DAT_RETURN ret = find_or_refuse(handle, &c);

	if (ret != DAT_SUCCESS)
		return ret;
	if (!values)
		return DOFI_BAD_ARG(3);
	for (bounds(&c, counter, &i, &end); i < end; i++)
		values[i] = read_one(&c, i, reset);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_count_print(DAT_HANDLE handle, int counter, int reset)
{
	char host[256] = "";
	struct counters c;
	int i, end;
	DAT_RETURN ret = find_or_refuse(handle, &c);

	if (ret != DAT_SUCCESS)
		return ret;
	gethostname(host, sizeof(host) - 1);
	for (bounds(&c, counter, &i, &end); i < end; i++)
		printf("%s:%d: %s %p: %s %" PRIu64 "\n", host, (int)getpid(), c.kind, handle,
		       c.names[i], read_one(&c, i, reset));
	fflush(stdout);
	return DAT_SUCCESS;
}

/* --- reports --- */

static void put_counters(FILE *out, const struct counters *c)
{
	for (int i = 0; i < c->nall; i++) {
		uint64_t value = atomic_load_explicit(&c->values[i], memory_order_relaxed);

		if (value)
			fprintf(out, " %s=%" PRIu64, c->names[i] + strlen(c->kind) + 1, value);
	}
	fputc('\n', out);
}

static const char *state_name(DAT_EP_STATE state)
{
	static const char *const names[] = {
		[DAT_EP_STATE_UNCONNECTED] = "unconnected",
		[DAT_EP_STATE_RESERVED] = "reserved",
		[DAT_EP_STATE_PASSIVE_CONNECTION_PENDING] = "passive connection pending",
		[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] = "active connection pending",
		[DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING] = "tentative connection pending",
		[DAT_EP_STATE_COMPLETION_PENDING] = "completion pending",
		[DAT_EP_STATE_CONNECTED] = "connected",
		[DAT_EP_STATE_DISCONNECT_PENDING] = "disconnect pending",
		[DAT_EP_STATE_DISCONNECTED] = "disconnected",
	};

	return names[state];
}

/* Prints whether a connection uses shared memory, or why not. */
static void put_path(FILE *out, const struct dofi_ep *ep)
{
	const struct dofi_conn *conn = ep->conn;

	dofi_assert_held(&ep->lock);
	if (ep->memory)
		fprintf(out, " by memory%s", ep->memory->copies ? " with copies" : "");
	else if (conn && conn->why_fabric)
		fprintf(out, " not by memory, for %s", conn->why_fabric);
}

static void report_ep(FILE *out, struct dofi_ep *ep)
{
	struct counters c = COUNTERS_OF_EP(ep);
	char peer[DOFI_ADDR_TEXT];

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_lock(&ep->lock);
	fprintf(out, "  EP %p: %s", (void *)ep, state_name(ep->state));
	if (ep->conn)
		fprintf(out, ", peer %s", dofi_addr_text(&ep->remote_addr, peer));
	put_path(out, ep);
	fprintf(out, ", requests %u and %u held, receives %u", ep->req.issue - ep->req.head,
		ep->req.tail - ep->req.issue, dofi_ring_count(&ep->recv));
	if (ep->conn && ep->peer.credits)
		fprintf(out, ", credits %u", ep->credit_total - ep->nsent);
	if (dofi_ep_starves(ep))
		fputs(", waits for a receive of the peer", out);
	fputc(':', out);
	put_counters(out, &c);
	dofi_unlock(&ep->lock);
}

/*
 * EPs are not freed while engine.lock is held. But a leaf lock guards the list, so their handles
 * are collected first.
 */
static void report_eps(struct dofi_ia *ia, FILE *out)
{
	uint32_t n = 0, room;
	struct dofi_ep **eps;

	dofi_assert_held(&ia->engine.lock);
	dofi_lock(&ia->obj_lock);
	room = ia->counts[DAT_HANDLE_TYPE_EP];
	dofi_unlock(&ia->obj_lock);
	eps = calloc(room + 1, sizeof(struct dofi_ep *));
	if (!eps)
		return;
	dofi_lock(&ia->obj_lock);
	DOFI_LIST_FOR(node, &ia->objects[DAT_HANDLE_TYPE_EP])
	{
		if (n < room)
			eps[n++] = DOFI_CONTAINER(node, struct dofi_ep, obj.siblings);
	}
	dofi_unlock(&ia->obj_lock);
	for (uint32_t i = 0; i < n; i++)
		report_ep(out, eps[i]);
	free(eps);
}

static void report_evds(struct dofi_ia *ia, FILE *out)
{
	dofi_lock(&ia->obj_lock);
	DOFI_LIST_FOR(node, &ia->objects[DAT_HANDLE_TYPE_EVD])
	{
		struct dofi_evd *evd = DOFI_CONTAINER(node, struct dofi_evd, obj.siblings);
		struct counters c = COUNTERS_OF_EVD(evd);

		fprintf(out, "  EVD %p: events %u%s:", (void *)evd,
			atomic_load_explicit(&evd->count, memory_order_relaxed),
			atomic_load_explicit(&evd->waiter, memory_order_relaxed)
				? ", a thread waits"
				: "");
		put_counters(out, &c);
	}
	dofi_unlock(&ia->obj_lock);
}

void dofi_count_report(struct dofi_ia *ia, FILE *out, bool locked)
{
	struct counters c = COUNTERS_OF_IA(ia), closed = COUNTERS_OF_EP(&ia->closed_eps);
	char addr[DOFI_ADDR_TEXT];

	fprintf(out, "IA %s: provider %s, domain %s, transport %s, address %s:", ia->name,
		ia->info->fabric_attr->prov_name, ia->info->domain_attr->name, ia->trans->name,
		dofi_addr_text(&ia->addr, addr));
	put_counters(out, &c);
	if (locked)
		report_eps(ia, out);
	else
		fputs("  its EPs can't be told: the engine has been busy for a second\n", out);
	if (c.values[DOFI_CNT_IA_EP_FREE]) {
		fputs("  EPs that were freed:", out);
		put_counters(out, &closed);
	}
	report_evds(ia, out);
}
