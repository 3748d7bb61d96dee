/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* EP attributes: defaults, limits, and how streams notify. */
#ifndef DOFI_EP_ATTR_H
#define DOFI_EP_ATTR_H

#include "object/ep.h"
#include "progress/evd.h"

#define DOFI_SERVICE_TYPE_UD 1 /* DAT_IB_SERVICE_TYPE_UD */

/*
 * Computes the effective attributes from those asked for (NULL: defaults). DAT_SUCCESS, or an
 * error; if it is INVALID_PARAMETER, the caller adds the number of its argument.
 */
DAT_RETURN dofi_ep_attr_resolve(const struct dofi_ia *ia, const DAT_EP_ATTR *asked,
				bool has_recv_evd, bool has_req_evd, bool has_srq,
				DAT_EP_ATTR *attr_p);

static inline bool dofi_is_datagram(const DAT_EP_ATTR *attr)
{
	return attr->service_type != DAT_SERVICE_TYPE_RC;
}

/* How a completion flags attribute makes its stream notify. */
enum dofi_dto_config dofi_ep_config(DAT_COMPLETION_FLAGS flags);

#endif
