/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/service_point.h"

#include "cm/conn.h"
#include "fabric/error.h"
#include "progress/engine.h"
#include "progress/evd_streams.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "base/log.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "cm/cr.h"
#include "cm/listener.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct dofi_evd *dofi_sp_evd(struct dofi_ia *ia, DAT_EVD_HANDLE handle)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	return evd && evd->obj.ia == ia && evd->flags & DAT_EVD_CR_FLAG ? evd : NULL;
}

static DAT_RETURN listen_error(const struct dofi_ia *ia, uint64_t conn_qual, int err)
{
	if (err == -EADDRINUSE)
		return conn_qual ? DOFI_CONN_QUAL_IN_USE
				 : DOFI_ERR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	DOFI_LOG_W("%s: can't listen on connection qualifier %" PRIu64 ": %s%s", ia->name,
		   conn_qual,
		   err == -ENOSPC ? "every port that could serve it is taken, or the user has as "
				    "many descriptors in epoll sets as "
				    "/proc/sys/fs/epoll/max_user_watches allows"
				  : strerror(-err),
		   err == -EACCES ? "; a security policy of the host may forbid its port" : "");
	if (err == -EACCES)
		return DOFI_BAD_ARG(2);
	return err == -ENOSPC ? DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE)
			      : dofi_error(err, DAT_RESOURCE_DEVICE);
}

DAT_RETURN dofi_sp_new(struct dofi_ia *ia, struct dofi_evd *evd, uint64_t conn_qual, bool rsp,
		       struct dofi_sp **sp_p)
{
	DAT_HANDLE_TYPE type = rsp ? DAT_HANDLE_TYPE_RSP : DAT_HANDLE_TYPE_PSP;
	struct dofi_sp *sp = dofi_obj_alloc(ia, ia->obj.provider, type, sizeof(*sp));
	int err;

	dofi_assert_held(&ia->engine.lock);
	if (!sp)
		return DOFI_NO_MEMORY;
	dofi_evd_attach_other(evd);
	sp->evd = evd;
	sp->rsp = rsp;
	sp->conn_qual = conn_qual;
	err = dofi_sp_listen(sp);
	if (err) {
		dofi_evd_detach_other(evd);
		dofi_obj_free(&sp->obj, type);
		return listen_error(ia, conn_qual, err);
	}
	*sp_p = sp;
	return DAT_SUCCESS;
}

void dofi_sp_destroy(struct dofi_sp *sp)
{
	dofi_assert_held(&sp->obj.ia->engine.lock);
	dofi_sp_unlisten(sp);
	/* While the IA closes, the EP may be freed already. */
	if (dofi_obj_is(sp->ep, DAT_HANDLE_TYPE_EP))
		dofi_ep_set_state(sp->ep, DAT_EP_STATE_UNCONNECTED);
	dofi_evd_detach_other(sp->evd);
	dofi_obj_free(&sp->obj, sp->rsp ? DAT_HANDLE_TYPE_RSP : DAT_HANDLE_TYPE_PSP);
}

bool dofi_sp_free(struct dofi_sp *sp)
{
	struct dofi_ia *ia = sp->obj.ia;
	bool ours;

	dofi_engine_begin(ia);
	ours = dofi_obj_retire(&sp->obj, false);
	if (ours)
		dofi_sp_destroy(sp);
	dofi_engine_end(ia);
	return ours;
}

struct dofi_sp *dofi_sp_find(struct dofi_ia *ia, uint64_t conn_qual)
{
	dofi_assert_held(&ia->engine.lock);
	DOFI_LIST_FOR(node, &ia->cm.listeners)
	{
		struct dofi_sp *sp = DOFI_CONTAINER(node, struct dofi_sp, link);

		if (sp->conn_qual == conn_qual)
			return sp;
	}
	return NULL;
}

enum dofi_reason dofi_sp_offer(struct dofi_conn *conn, const struct sockaddr *remote)
{
	struct dofi_sp *sp = dofi_sp_find(conn->ia, conn->conn_qual);

	dofi_assert_held(&conn->ia->engine.lock);
	if (!sp)
		return DOFI_REASON_NOT_MINE;
	/* A request for datagrams needs a PSP without provider EPs: the consumer chooses the EP. */
	if (conn->ud &&
	    (sp->rsp || sp->psp_flags == DAT_PSP_PROVIDER_FLAG || !conn->ia->limits.max_datagram))
		return DOFI_REASON_RESOURCES;
	/* An RSP takes one request. The room on the EVD limits the number of waiting requests. */
	if ((sp->rsp && !sp->ep) || !dofi_evd_room(sp->evd) || dofi_cr_new(sp, conn, remote))
		return DOFI_REASON_RESOURCES;
	DOFI_COUNT_SHARED(conn->ia, IA_SP_CR);
	return DOFI_REASON_NONE;
}
