/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/cr.h"

#include "base/addr.h"
#include "cm/conn.h"
#include "cm/service_point.h"
#include "dto/ud.h"
#include "object/ep.h"
#include "object/ia.h"
#include "progress/evd.h"
#include "cm/ep_life.h"
#include "cm/wire.h"
#include "object/ud_ah.h"
#include "cm/accept.h"

#include <errno.h>
#include <string.h>

static int announce(struct dofi_sp *sp, struct dofi_cr *cr)
{
	struct dofi_event event = {
		.number = DAT_CONNECTION_REQUEST_EVENT,
		.handle = sp,
		.cr = {.cr = cr, .conn_qual = sp->conn_qual, .local_addr = &sp->obj.ia->addr},
	};

	if (cr->conn->ud) {
		event.number = DOFI_UD_EVENT_REQUEST;
		event.ext = DOFI_UD_TYPE_REQUEST + 1;
	}
	return dofi_evd_push(sp->evd, &event, true);
}

/* Takes the EP of the CR: that of the RSP, a new one for a provider PSP, or none. */
static int take_ep(struct dofi_sp *sp, struct dofi_cr *cr)
{
	if (sp->rsp) {
		cr->ep = sp->ep;
		dofi_ep_set_state(cr->ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
		return 0;
	}
	if (sp->psp_flags != DAT_PSP_PROVIDER_FLAG)
		return 0;
	cr->ep_ours = true;
	return dofi_ep_new(sp->obj.ia, NULL, NULL, NULL, NULL, NULL, NULL,
			   DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, &cr->ep) == DAT_SUCCESS
		       ? 0
		       : -ENOMEM;
}

/* dat_ep_query returns the connector's address while the CR is undecided (EP-047, EP-049). */
static void show_peer(const struct dofi_cr *cr)
{
	struct dofi_ep *ep = cr->ep;

	if (!ep)
		return;
	dofi_lock(&ep->lock);
	ep->remote_addr = cr->remote;
	ep->remote_qual = cr->remote_qual;
	ep->local_qual = cr->conn->conn_qual;
	dofi_unlock(&ep->lock);
}

void dofi_cr_return_ep(struct dofi_cr *cr, DAT_EP_STATE state)
{
	struct dofi_ep *ep = cr->ep;

	dofi_assert_held(&cr->obj.ia->engine.lock);
	if (!dofi_obj_is(ep, DAT_HANDLE_TYPE_EP))
		return;
	if (!cr->ep_ours)
		dofi_ep_set_state(ep, state);
	else if (dofi_obj_retire(&ep->obj, false))
		dofi_ep_destroy(ep);
}

int dofi_cr_new(struct dofi_sp *sp, struct dofi_conn *conn, const struct sockaddr *remote)
{
	struct dofi_cr *cr =
		dofi_obj_alloc(sp->obj.ia, sp->obj.provider, DAT_HANDLE_TYPE_CR, sizeof(*cr));
	int ret;

	dofi_assert_held(&sp->obj.ia->engine.lock);
	if (!cr)
		return -ENOMEM;
	cr->conn = conn;
	cr->remote_qual = conn->port_qual;
	cr->private_size = conn->private_size;
	memcpy(cr->private_data, conn->private_data, conn->private_size);
	ret = dofi_addr_set(&cr->remote, remote, 0) ? take_ep(sp, cr) : -EAFNOSUPPORT;
	if (ret)
		goto err_free;
	show_peer(cr);
	dofi_obj_publish(&cr->obj, DAT_HANDLE_TYPE_CR);
	ret = announce(sp, cr);
	if (ret)
		goto err_retire;
	conn->cr = cr;
	sp->ep = NULL;
	return 0;

err_retire:
	dofi_obj_retire(&cr->obj, false);
	dofi_cr_return_ep(cr, DAT_EP_STATE_RESERVED);
err_free:
	dofi_obj_free(&cr->obj, DAT_HANDLE_TYPE_CR);
	return ret;
}

void dofi_cr_refuse(struct dofi_cr *cr, enum dofi_reason reason, const void *private_data,
		    uint32_t private_size)
{
	dofi_assert_held(&cr->obj.ia->engine.lock);
	dofi_cr_return_ep(cr, DAT_EP_STATE_UNCONNECTED);
	cr->conn->cr = NULL;
	dofi_conn_reject(cr->conn, reason, private_data, private_size);
}

void dofi_cr_destroy(struct dofi_cr *cr, bool reject)
{
	dofi_assert_held(&cr->obj.ia->engine.lock);
	if (reject)
		dofi_cr_refuse(cr, DOFI_REASON_DISCONNECT, NULL, 0);
	dofi_obj_free(&cr->obj, DAT_HANDLE_TYPE_CR);
}
