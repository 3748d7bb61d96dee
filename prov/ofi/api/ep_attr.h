/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* EP attributes: defaults, limits, and what they mean for the rings and the EVDs. */
#ifndef DOFI_EP_ATTR_H
#define DOFI_EP_ATTR_H

#include "object/ep.h"
#include "object/evd.h"

#define DOFI_SERVICE_TYPE_UD 1 /* DAT_IB_SERVICE_TYPE_UD */

/*
 * Effective attributes for what was asked (NULL: defaults). DAT_SUCCESS, or the error without an
 * argument number that the caller's call has for its attributes.
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

/*
 * Rings for these attributes; an old ring's posted receives move along. 0 or -ENOMEM, nothing
 * changed then.
 */
int dofi_ring_init(const struct dofi_ia *ia, struct dofi_ring *ring, uint32_t limit,
		   uint32_t max_iov);
void dofi_ring_fini(struct dofi_ring *ring);
/* Moves the work requests of `from`, none of which is the fabric's, to the larger `to`. */
void dofi_ring_move(struct dofi_ring *to, struct dofi_ring *from);

#endif
