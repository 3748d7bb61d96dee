/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An IA like that of bare_ia.h which has EPs, and what an EP needs. */
#ifndef T_EP_IA_H
#define T_EP_IA_H

#include "bare_ia.h"

#include "../../prov/ofi/api/pz.h"
#include "../../prov/ofi/object/ep.h"
#include "../../prov/ofi/object/transport.h"

#define T_EPS 4u /* of the IA, at most */

static const DAT_EP_STATE t_ep_states[] = {DAT_EP_STATE_UNCONNECTED,
					   DAT_EP_STATE_RESERVED,
					   DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
					   DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
					   DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
					   DAT_EP_STATE_COMPLETION_PENDING,
					   DAT_EP_STATE_CONNECTED,
					   DAT_EP_STATE_DISCONNECT_PENDING,
					   DAT_EP_STATE_DISCONNECTED};

#define T_EP_STATES ((int)(sizeof(t_ep_states) / sizeof(t_ep_states[0])))

struct t_ep_ia {
	struct dofi_ia *ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv_evd, req_evd, conn_evd;
	uint32_t free_slots[T_EPS]; /* of the IA's scratch memory */
};

static inline DAT_EVD_HANDLE t_ep_ia_evd(struct dofi_ia *ia, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	ck_assert_uint_eq(dofi_evd_create(ia, 8, DAT_HANDLE_NULL, flags, &evd), DAT_SUCCESS);
	return evd;
}

static inline DAT_PZ_HANDLE t_ep_ia_pz(struct dofi_ia *ia)
{
	DAT_PZ_HANDLE pz;

	ck_assert_uint_eq(dofi_pz_create(ia, &pz), DAT_SUCCESS);
	return pz;
}

static inline void t_ep_ia_open(struct t_ep_ia *it)
{
	static const struct dofi_trans_ops trans = {.name = "test"};
	struct dofi_ia *ia = it->ia = t_bare_ia_open();

	ia->trans = &trans;
	ia->limits.max_dtos = 256;
	ia->limits.max_iov = ia->limits.fabric_iov = 4;
	ia->limits.max_reads = 16;
	ia->limits.max_message = ia->limits.max_rdma = 1u << 20;
	ia->limits.max_srqs = 4;
	ia->engine.sock_epfd = -1;
	ia->scratch.free_stack = it->free_slots;
	for (ia->scratch.nfree = 0; ia->scratch.nfree < T_EPS; ia->scratch.nfree++)
		it->free_slots[ia->scratch.nfree] = ia->scratch.nfree;
	it->pz = t_ep_ia_pz(ia);
	it->recv_evd = t_ep_ia_evd(ia, DAT_EVD_DTO_FLAG);
	it->req_evd = t_ep_ia_evd(ia, DAT_EVD_DTO_FLAG);
	it->conn_evd = t_ep_ia_evd(ia, DAT_EVD_CONNECTION_FLAG);
}

/* Fails the test if something that an EP used was not given back. */
static inline void t_ep_ia_close(struct t_ep_ia *it)
{
	ck_assert_uint_eq(it->ia->scratch.nfree, T_EPS);
	ck_assert_uint_eq(it->ia->wait.watchers, 0);
	ck_assert_uint_eq(dofi_evd_free(it->recv_evd), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_evd_free(it->req_evd), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_evd_free(it->conn_evd), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_pz_free(it->pz), DAT_SUCCESS);
	t_bare_ia_close(it->ia);
}

#endif
