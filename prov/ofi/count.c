/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "count.h"

#include "ep.h"
#include "evd.h"
#include "ia.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define NAME(counter) [DCNT_##counter] = #counter

static const char *const ia_names[] = {
	NAME(IA_PZ_CREATE), NAME(IA_PZ_FREE), NAME(IA_LMR_CREATE), NAME(IA_LMR_FREE),
	NAME(IA_RMR_CREATE), NAME(IA_RMR_FREE), NAME(IA_PSP_CREATE), NAME(IA_PSP_CREATE_ANY),
	NAME(IA_PSP_FREE), NAME(IA_RSP_CREATE), NAME(IA_RSP_FREE), NAME(IA_EVD_CREATE),
	NAME(IA_EVD_FREE), NAME(IA_EP_CREATE), NAME(IA_EP_FREE), NAME(IA_SRQ_CREATE),
	NAME(IA_SRQ_FREE), NAME(IA_SP_CR), NAME(IA_SP_CR_ACCEPTED), NAME(IA_SP_CR_REJECTED),
	NAME(IA_MEM_ALLOC), NAME(IA_MEM_ALLOC_DATA), NAME(IA_MEM_FREE), NAME(IA_ASYNC_ERROR),
	NAME(IA_ASYNC_QP_ERROR), NAME(IA_ASYNC_CQ_ERROR), NAME(IA_CM_LISTEN), NAME(IA_CM_REQ_TX),
	NAME(IA_CM_REQ_RX), NAME(IA_CM_REP_TX), NAME(IA_CM_REP_RX), NAME(IA_CM_RTU_TX),
	NAME(IA_CM_RTU_RX), NAME(IA_CM_USER_REJ_TX), NAME(IA_CM_USER_REJ_RX),
	NAME(IA_CM_ACTIVE_EST), NAME(IA_CM_PASSIVE_EST), NAME(IA_CM_AH_REQ_TX),
	NAME(IA_CM_AH_REQ_RX), NAME(IA_CM_AH_RESOLVED), NAME(IA_CM_DREQ_TX), NAME(IA_CM_DREQ_RX),
	NAME(IA_CM_DREP_TX), NAME(IA_CM_DREP_RX), NAME(IA_CM_MRA_TX), NAME(IA_CM_MRA_RX),
	NAME(IA_CM_REQ_FULLQ_POLL), NAME(IA_CM_ERR), NAME(IA_CM_ERR_REQ_FULLQ),
	NAME(IA_CM_ERR_REQ_DUP), NAME(IA_CM_ERR_REQ_RETRY), NAME(IA_CM_ERR_REP_DUP),
	NAME(IA_CM_ERR_REP_RETRY), NAME(IA_CM_ERR_RTU_DUP), NAME(IA_CM_ERR_RTU_RETRY),
	NAME(IA_CM_ERR_REFUSED), NAME(IA_CM_ERR_RESET), NAME(IA_CM_ERR_TIMEOUT),
	NAME(IA_CM_ERR_REJ_TX), NAME(IA_CM_ERR_REJ_RX), NAME(IA_CM_ERR_DREQ_DUP),
	NAME(IA_CM_ERR_DREQ_RETRY), NAME(IA_CM_ERR_DREP_DUP), NAME(IA_CM_ERR_DREP_RETRY),
	NAME(IA_CM_ERR_MRA_DUP), NAME(IA_CM_ERR_MRA_RETRY), NAME(IA_CM_ERR_UNEXPECTED),
	NAME(IA_LNK_ERR_RCV), NAME(IA_LNK_ERR_RCV_REM_PHYS), NAME(IA_LNK_ERR_RCV_CONSTRAINT),
	NAME(IA_LNK_ERR_XMT_DISCARDS), NAME(IA_LNK_ERR_XMT_CONTRAINT),
	NAME(IA_LNK_ERR_INTEGRITY), NAME(IA_LNK_ERR_EXC_BUF_OVERRUN),
	NAME(IA_LNK_WARN_RCV_SW_RELAY), NAME(IA_LNK_WARN_XMT_WAIT), NAME(IA_DIAG_ERR_RQ_RAE),
	NAME(IA_DIAG_ERR_RQ_OOS), NAME(IA_DIAG_ERR_RQ_RIRE), NAME(IA_DIAG_ERR_RQ_UDSDPRD),
	NAME(IA_DIAG_ERR_SQ_RAE), NAME(IA_DIAG_ERR_SQ_OOS), NAME(IA_DIAG_ERR_SQ_RIRE),
	NAME(IA_DIAG_ERR_SQ_RREE), NAME(IA_DIAG_ERR_SQ_TREE),
};

static const char *const ep_names[] = {
	NAME(EP_CONNECT), NAME(EP_DISCONNECT), NAME(EP_POST_SEND), NAME(EP_POST_SEND_DATA),
	NAME(EP_POST_SEND_UD), NAME(EP_POST_SEND_UD_DATA), NAME(EP_POST_RECV),
	NAME(EP_POST_RECV_DATA), NAME(EP_POST_WRITE), NAME(EP_POST_WRITE_DATA),
	NAME(EP_POST_WRITE_IMM), NAME(EP_POST_WRITE_IMM_DATA), NAME(EP_POST_READ),
	NAME(EP_POST_READ_DATA), NAME(EP_POST_CMP_SWAP), NAME(EP_POST_FETCH_ADD), NAME(EP_RECV),
	NAME(EP_RECV_DATA), NAME(EP_RECV_UD), NAME(EP_RECV_UD_DATA), NAME(EP_RECV_IMM),
	NAME(EP_RECV_IMM_DATA), NAME(EP_RECV_RDMA_IMM), NAME(EP_RECV_RDMA_IMM_DATA),
};

static const char *const evd_names[] = {
	NAME(EVD_WAIT), NAME(EVD_WAIT_BLOCKED), NAME(EVD_WAIT_NOTIFY), NAME(EVD_DEQUEUE),
	NAME(EVD_DEQUEUE_FOUND), NAME(EVD_DEQUEUE_NOT_FOUND), NAME(EVD_DEQUEUE_POLL),
	NAME(EVD_DEQUEUE_POLL_FOUND), NAME(EVD_CONN_CALLBACK), NAME(EVD_DTO_CALLBACK),
};

struct counters {
	const char *kind;
	const char *const *names;
	_Atomic uint64_t *values;
	int n;
};

#define COUNTERS(word, table, object) \
	(struct counters){word, table, (object)->counters, sizeof(table) / sizeof((table)[0])}

/* False when the handle is of a kind that has none. */
static bool find(DAT_HANDLE handle, struct counters *c)
{
	struct dofi_ia *ia = DOFI_IA(handle);
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	if (ia)
		*c = COUNTERS("IA", ia_names, ia);
	else if (ep)
		*c = COUNTERS("EP", ep_names, ep);
	else if (evd)
		*c = COUNTERS("EVD", evd_names, evd);
	return ia || ep || evd;
}

static DAT_RETURN find_or_refuse(DAT_HANDLE handle, struct counters *c)
{
	DAT_HANDLE_TYPE type;

	if (find(handle, c))
		return DAT_SUCCESS;
	/* Good handles of other kinds have no counters, bad ones are bad. */
	return dofi_obj_type(handle, &type) ? DOFI_BAD_ARG(1) : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

static uint64_t read_one(const struct counters *c, int i, int reset)
{
	if (reset)
		return atomic_exchange_explicit(&c->values[i], 0, memory_order_relaxed);
	return atomic_load_explicit(&c->values[i], memory_order_relaxed);
}

/* One number, all of them, or none where it is out of range. */
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
		printf("%s:%d: %s %p: %s %" PRIu64 "\n", host, (int)getpid(), c.kind, handle, c.names[i],
		       read_one(&c, i, reset));
	fflush(stdout);
	return DAT_SUCCESS;
}
