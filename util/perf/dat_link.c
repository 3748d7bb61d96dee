/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections over DAT. */
#include "perf/dat.h"

#include <string.h>

#define WAIT_US  100000
#define CLOSE_US 5000000

int perf_dat_address(void *be, struct perf_addr *addr)
{
	struct perf_dat *dat = be;
	DAT_IA_ATTR attr;
	DAT_RETURN ret;

	addr->base = (uintptr_t)dat->env->buf;
	addr->key = dat->rmr_context;
	addr->port = dat->conn_qual;
	ret = dat_ia_query(dat->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			   DAT_PROVIDER_FIELD_NONE, NULL);
	if (ret != DAT_SUCCESS)
		return perf_dat_fail("cannot find the interface's address", ret);
	if (!attr.ia_address_ptr)
		return util_fail("DAT: interface \"%s\" has no address", dat->env->ia);
	addr->len = attr.ia_address_ptr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							       : sizeof(struct sockaddr_in);
	memcpy(addr->name, attr.ia_address_ptr, addr->len);
	return 0;
}

static const char *event_text(DAT_EVENT_NUMBER number)
{
	switch ((unsigned int)number) {
	case DAT_CONNECTION_REQUEST_EVENT:
	case DAT_IB_UD_CONNECTION_REQUEST_EVENT:
		return "a connection request";
	case DAT_CONNECTION_EVENT_ESTABLISHED:
	case DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED:
		return "established";
	case DAT_IB_UD_CONNECTION_REJECT_EVENT:
		return "rejected, or nobody listens there";
	case DAT_IB_UD_CONNECTION_ERROR_EVENT:
		return "no answer in time, or the peer's address cannot be reached";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "rejected by the peer";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "refused: nobody listens there, the keys or fabrics differ, or the peer has "
		       "no resources";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "the accepted connection did not come about";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "disconnected by the peer";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "broken";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "timed out";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "the peer's address cannot be reached";
	default:
		return "an event that does not belong here";
	}
}

/* Datagrams have event numbers of their own. */
static unsigned int request_number(const struct perf_dat *dat)
{
	return dat->ways ? DAT_IB_UD_CONNECTION_REQUEST_EVENT : DAT_CONNECTION_REQUEST_EVENT;
}

static unsigned int established_number(const struct perf_dat *dat)
{
	return dat->ways ? DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED
			 : DAT_CONNECTION_EVENT_ESTABLISHED;
}

static int await_event(struct perf_dat *dat, DAT_EVD_HANDLE evd, unsigned int wanted,
		       DAT_EVENT *event)
{
	int64_t until = perf_now_ns() + PERF_CONNECT_MS * INT64_C(1000000);
	DAT_COUNT more;
	DAT_RETURN ret;

	do {
		ret = dat_evd_wait(evd, WAIT_US, 1, event, &more);
		if (ret == DAT_SUCCESS && (unsigned int)event->event_number == wanted)
			return 0;
		if (ret == DAT_SUCCESS)
			return util_fail("DAT: connecting failed: %s",
					 event_text(event->event_number));
		if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED &&
		    DAT_GET_TYPE(ret) != DAT_INTERRUPTED_CALL)
			return perf_dat_fail("cannot wait for a connection", ret);
		if (dat->env->thread == 0 && perf_sync_peek(dat->env->sync, 0) < 0)
			return -1;
	} while (perf_now_ns() < until);
	return util_fail("DAT: nothing about a connection within %d seconds",
			 PERF_CONNECT_MS / 1000);
}

static int accept_some(struct perf_dat *dat, uint32_t first, uint32_t count)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	for (uint32_t i = first; i < first + count; i++) {
		if (await_event(dat, dat->cr_evd, request_number(dat), &event))
			return -1;
		ret = dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, dat->eps[i],
				    0, NULL);
		if (ret != DAT_SUCCESS)
			return perf_dat_fail("cannot accept", ret);
	}
	return 0;
}

static int request_some(struct perf_dat *dat, uint32_t first, uint32_t count)
{
	struct sockaddr *addr = (struct sockaddr *)(void *)&dat->peer;
	char text[64];
	DAT_RETURN ret;

	for (uint32_t i = first; i < first + count; i++) {
		ret = dat_ep_connect(dat->eps[i], (DAT_IA_ADDRESS_PTR)addr, dat->peer_qual,
				     PERF_CONNECT_MS * 1000u, 0, NULL, DAT_QOS_BEST_EFFORT,
				     DAT_CONNECT_DEFAULT_FLAG);
		if (ret != DAT_SUCCESS)
			return util_fail("DAT: cannot connect to %s, qualifier %llu: %s",
					 util_address_text(addr, text, sizeof(text)),
					 (unsigned long long)dat->peer_qual, util_dat_text(ret));
	}
	return 0;
}

/* A UD endpoint is not connected: takes the address handle. */
static void take_way(struct perf_dat *dat, uint32_t ep, const DAT_EVENT *event)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;

	memcpy(&ext, event->event_extension_data, sizeof(ext));
	dat->ways[ep] = ext.remote_ah;
}

/* Connects endpoints at the same time; UD endpoints one by one. */
static int link_some(struct perf_dat *dat, uint32_t first, uint32_t count)
{
	DAT_EVENT event;

	if (dat->env->passive ? accept_some(dat, first, count) : request_some(dat, first, count))
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		if (await_event(dat, dat->conn_evd, established_number(dat), &event))
			return -1;
		if (dat->ways)
			take_way(dat, first + i, &event);
		else
			dat->nconnected++;
	}
	return 0;
}

int perf_dat_connect(void *be, const struct perf_addr *peer)
{
	struct perf_dat *dat = be;

	if (peer->len > sizeof(dat->peer))
		return util_fail("DAT: the other side's address has %u bytes", peer->len);
	memcpy(&dat->peer, peer->name, peer->len);
	dat->peer_qual = peer->port;
	dat->peer_base = peer->base;
	dat->peer_context = (DAT_RMR_CONTEXT)peer->key;
	if (perf_traits[dat->env->cfg->test].shape == PERF_CYCLES)
		return 0;
	/* One at a time, so that both sides have the same order of endpoints. */
	for (uint32_t i = 0; i < dat->env->cfg->eps; i++) {
		if (link_some(dat, i, 1))
			return -1;
	}
	return 0;
}

int perf_dat_link(void *be, uint32_t count)
{
	struct perf_dat *dat = be;

	if (dat->env->cfg->fresh && perf_dat_open_eps(dat, count))
		return -1;
	return link_some(dat, 0, count);
}

/* Makes the EP ready for the next connection. */
static DAT_RETURN renew(struct perf_dat *dat, DAT_EP_HANDLE *ep)
{
	DAT_RETURN ret;

	if (!dat->env->cfg->fresh)
		return dat_ep_reset(*ep);
	ret = dat_ep_free(*ep);
	*ep = DAT_HANDLE_NULL;
	return ret;
}

int perf_dat_unlink(void *be, uint32_t count)
{
	struct perf_dat *dat = be;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT event;

	for (uint32_t i = 0; i < count && !dat->env->passive && ret == DAT_SUCCESS; i++)
		ret = dat_ep_disconnect(dat->eps[i], DAT_CLOSE_GRACEFUL_FLAG);
	if (ret != DAT_SUCCESS)
		return perf_dat_fail("cannot disconnect", ret);
	for (uint32_t i = 0; i < count; i++) {
		if (await_event(dat, dat->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event))
			return -1;
		dat->nconnected--;
	}
	for (uint32_t i = 0; i < count; i++) {
		ret = renew(dat, &dat->eps[i]);
		if (ret != DAT_SUCCESS)
			return perf_dat_fail("cannot reset or free an endpoint", ret);
	}
	return 0;
}

/* The peer disconnects at the same time; both get one DISCONNECTED event per endpoint. */
void perf_dat_part(struct perf_dat *dat)
{
	DAT_EVENT event;
	DAT_COUNT more;

	for (uint32_t i = 0; i < dat->nconnected; i++)
		dat_ep_disconnect(dat->eps[i], DAT_CLOSE_GRACEFUL_FLAG);
	for (uint32_t i = 0; i < dat->nconnected; i++) {
		if (dat_evd_wait(dat->conn_evd, CLOSE_US, 1, &event, &more) != DAT_SUCCESS)
			return;
	}
}
