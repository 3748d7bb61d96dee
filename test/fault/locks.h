/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LOCKS_H
#define LOCKS_H

#include <rdma/fabric.h>

#include "fault.h"

/*
 * shm of libfabric 1.17: a sender takes a spinlock in the receiver's shared memory, and when it dies with it the receiver
 * waits for ever in fi_cq_read. One death in some fifty is such a one. There is nothing that we could do about it.
 */
static inline bool fault_dead_keep_locks(void)
{
	return fault_fabric_is_shm() && FI_MAJOR(fi_version()) < 2;
}

#endif
