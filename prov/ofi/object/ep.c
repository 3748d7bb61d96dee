/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "object/ep.h"

#include "object/ia.h"

DAT_RETURN dofi_ep_bad_state(DAT_EP_STATE state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return DOFI_BAD_STATE(EP_UNCONNECTED);
	case DAT_EP_STATE_RESERVED:
		return DOFI_BAD_STATE(EP_RESERVED);
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return DOFI_BAD_STATE(EP_PASSCONNPENDING);
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return DOFI_BAD_STATE(EP_ACTCONNPENDING);
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return DOFI_BAD_STATE(EP_TENTCONNPENDING);
	case DAT_EP_STATE_COMPLETION_PENDING:
		return DOFI_BAD_STATE(EP_COMPLPENDING);
	case DAT_EP_STATE_CONNECTED:
		return DOFI_BAD_STATE(EP_CONNECTED);
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return DOFI_BAD_STATE(EP_DISCPENDING);
	default:
		return DOFI_BAD_STATE(EP_DISCONNECTED);
	}
}

void dofi_ep_set_state(struct dofi_ep *ep, DAT_EP_STATE state)
{
	dofi_lock(&ep->lock);
	dofi_ep_enter_state(ep, state);
	dofi_unlock(&ep->lock);
}

void dofi_ep_keep_counters(struct dofi_ep *ep)
{
	for (int i = 0; i < DOFI_CNT_EP_END; i++)
		atomic_fetch_add_explicit(&ep->obj.ia->closed_eps.counters[i], ep->counters[i],
					  memory_order_relaxed);
}
