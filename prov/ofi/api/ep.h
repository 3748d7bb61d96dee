/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of endpoints, except those that connect (ep_connect.h) and post (dto/post.h). */
#ifndef DOFI_API_EP_H
#define DOFI_API_EP_H

#include "base/dat_api.h"

DAT_RETURN dofi_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			  DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *ep);
DAT_RETURN dofi_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				   DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn, DAT_SRQ_HANDLE srq,
				   const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);
DAT_RETURN dofi_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
DAT_RETURN dofi_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);
DAT_RETURN dofi_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			      DAT_BOOLEAN *req_idle);
DAT_RETURN dofi_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *allocated, DAT_COUNT *span);
DAT_RETURN dofi_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);
DAT_RETURN dofi_ep_reset(DAT_EP_HANDLE ep);
DAT_RETURN dofi_ep_free(DAT_EP_HANDLE ep);

#endif
