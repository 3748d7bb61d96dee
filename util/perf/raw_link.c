/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf/raw_link.h"

#include <sched.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#define POLL_MS 100

static int eq_failure(struct raw *raw)
{
	struct fi_eq_err_entry err = {0};

	if (fi_eq_readerr(raw->eq, &err, 0) < 0)
		return util_fail("libfabric: connecting failed without a reason given");
	return perf_raw_fail("connecting failed", err.err);
}

/*
 * Reads the completion queue, too, because this is how the fabric notices the end of a connection.
 */
static ssize_t look_for_end(struct raw *raw, uint32_t *event_p, struct fi_eq_cm_entry *entry)
{
	struct fi_cq_tagged_entry unused;
	ssize_t ret = fi_eq_read(raw->eq, event_p, entry, sizeof(*entry), 0);

	if (ret != -FI_EAGAIN)
		return ret;
	fi_cq_read(raw->cq, &unused, 1);
	sched_yield();
	return ret;
}

/* The caller frees entry->info of a connection request. */
static int next_event(struct raw *raw, bool at_end, uint32_t *event_p, struct fi_eq_cm_entry *entry)
{
	int64_t until = perf_now_ns() + PERF_CONNECT_MS * INT64_C(1000000);
	ssize_t ret;

	do {
		ret = at_end ? look_for_end(raw, event_p, entry)
			     : fi_eq_sread(raw->eq, event_p, entry, sizeof(*entry), POLL_MS, 0);
		if (ret == -FI_EAVAIL)
			return eq_failure(raw);
		if (ret < 0 && ret != -FI_EAGAIN && ret != -FI_EINTR)
			return perf_raw_fail("cannot read the event queue", (int)ret);
		if (ret <= 0 && !at_end && raw->env->thread == 0 &&
		    perf_sync_peek(raw->env->sync, 0) < 0)
			return -1;
	} while (ret <= 0 && perf_now_ns() < until);
	return ret > 0 ? 0
		       : util_fail("libfabric: no connection within %d seconds",
				   PERF_CONNECT_MS / 1000);
}

void perf_raw_drop_early(struct raw *raw)
{
	while (raw->nearly)
		fi_freeinfo(raw->early[--raw->nearly]);
}

static int accept_one(struct raw *raw, struct fi_info *info, uint32_t i)
{
	int ret;

	perf_raw_size_queues(raw, info);
	ret = perf_raw_open_ep(raw, info, &raw->eps[i]);
	fi_freeinfo(info);
	if (ret)
		return -1;
	ret = fi_accept(raw->eps[i], NULL, 0);
	return ret ? perf_raw_fail("cannot accept", ret) : 0;
}

static int connect_one(struct raw *raw, uint32_t i)
{
	int ret;

	if (perf_raw_open_ep(raw, raw->info, &raw->eps[i]))
		return -1;
	ret = fi_connect(raw->eps[i], raw->peer_name.name, NULL, 0);
	return ret ? perf_raw_fail("cannot connect", ret) : 0;
}

/*
 * Waits until this many are connected. The queue may still have events about the end of closed
 * endpoints.
 */
static int await_connected(struct raw *raw, uint32_t first, uint32_t count)
{
	uint32_t accepted = 0, connected = 0, event;
	struct fi_eq_cm_entry entry;

	while (raw->nearly && accepted < count)
		if (accept_one(raw, raw->early[--raw->nearly], first + accepted++))
			return -1;
	while (connected < count) {
		if (next_event(raw, false, &event, &entry))
			return -1;
		if (event == FI_CONNECTED)
			connected++;
		else if (event == FI_CONNREQ && accepted == count)
			return util_fail("libfabric: the peer asks for more connections than "
					 "there are endpoints");
		else if (event == FI_CONNREQ && accept_one(raw, entry.info, first + accepted++))
			return -1;
	}
	return 0;
}

static int link_some(struct raw *raw, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count && !raw->env->passive; i++) {
		if (connect_one(raw, i))
			return -1;
	}
	return await_connected(raw, first, count);
}

int perf_raw_connect(void *be, const struct perf_addr *peer)
{
	struct raw *raw = be;

	raw->peer_base = peer->base;
	raw->peer_key = peer->key;
	raw->peer_name = *peer;
	raw->peer = FI_ADDR_UNSPEC;
	if (raw->rdm && perf_traits[raw->env->cfg->test].shape == PERF_CYCLES)
		return util_fail("libfabric: FI_EP_RDM has no connections to be measured");
	if (raw->rdm) {
		if (fi_av_insert(raw->av, peer->name, 1, &raw->peer, 0, NULL) != 1)
			return util_fail("libfabric: the peer's address is of no use here");
		return 0;
	}
	if (perf_traits[raw->env->cfg->test].shape == PERF_CYCLES)
		return 0;
	/* One at a time, so that both sides have the same order of endpoints. */
	for (uint32_t i = 0; i < raw->nep; i++) {
		if (link_some(raw, i, 1))
			return -1;
	}
	return 0;
}

int perf_raw_link(void *be, uint32_t count)
{
	return link_some(be, 0, count);
}

/* A new connection request may come before all ends are reported. */
static int await_ends(struct raw *raw, uint32_t count)
{
	struct fi_eq_cm_entry entry;
	uint32_t event;

	while (count) {
		if (next_event(raw, true, &event, &entry))
			return -1;
		if (event == FI_CONNREQ && raw->nearly == raw->nep)
			return util_fail("libfabric: the peer asks for more connections than "
					 "there are endpoints");
		if (event == FI_CONNREQ)
			raw->early[raw->nearly++] = entry.info;
		else if (event == FI_SHUTDOWN)
			count--;
	}
	return 0;
}

int perf_raw_unlink(void *be, uint32_t count)
{
	struct raw *raw = be;

	if (raw->env->passive && await_ends(raw, count))
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		if (!raw->env->passive)
			fi_shutdown(raw->eps[i], 0);
		fi_close(&raw->eps[i]->fid);
		raw->eps[i] = NULL;
	}
	return 0;
}
