/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the rdm transport keeps for each IA. */
#ifndef DOFI_RDM_H
#define DOFI_RDM_H

#include "dto/control_message.h"
#include "dto/credit.h"
#include "object/ep.h"
#include "object/ia.h"
#include "progress/wait.h"
#include "progress/wakeup.h"
#include "transport/async_errors.h"
#include "transport/peer.h"
#include "transport/receive_slots.h"

#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Receives for messages that take no receive of an EP: credit updates, greetings (credit updates
 * without an update) and control messages, which are longer. There are few, because most fabrics
 * compare every other message with them first: with 64 of them a message over shm took twice the
 * time.
 */
#define DOFI_CTRL_RECVS 4

/* All have one tag: shm of libfabric 1.17 does not match an earlier message with a mask. */
union dofi_ctrl_buffer {
	struct dofi_ctrl_credit credit;
	struct dofi_ctrl_msg ctrl_msg;
};

enum { DOFI_CTRL_BUFFERS = 2 * DOFI_CTRL_RECVS };

struct dofi_rdm {
	struct dofi_peers peers; /* guarded by engine.lock, like the whole structure */
	struct dofi_async_errors events;
	struct dofi_list greetings; /* connections that still wait for a greeting */
	/* receives that the fabric refused are QUEUED; their number is `unposted` */
	struct dofi_own_wr credits[DOFI_CTRL_RECVS];
	uint32_t unposted;
	/*
	 * two for each receive, used in turn; the last one takes messages for a receive without
	 * segments
	 */
	union dofi_ctrl_buffer ctrl_buffers[DOFI_CTRL_BUFFERS + 1];
	bool second[DOFI_CTRL_RECVS]; /* which of the two is posted */
	struct dofi_rx_slots slots;
	struct fid_mr *ctrl_mr; /* if the fabric needs a registration of memory that it fills */
};

/* After a post: wakes the peer and our own driver, if they sleep and nothing else wakes them. */
DOFI_INLINE ssize_t dofi_rdm_wake_after(struct dofi_ia *ia, const struct dofi_wakeup_peer *wakeup,
					ssize_t ret)
{
	if (wakeup && !ret) {
		atomic_store_explicit(&ia->wait.posted, true, memory_order_relaxed);
		dofi_wakeup_send_if_asleep(ia, wakeup);
		/* After the barrier in dofi_wakeup_send_if_asleep. */
		if (DOFI_UNLIKELY(atomic_load_explicit(&ia->wait.deep, memory_order_relaxed)))
			dofi_wait_kick(ia);
	}
	return ret;
}

/* How often the completion queue is read at once for the completion of a cancelled receive. */
#define DOFI_CANCEL_ROUNDS 8

#endif
