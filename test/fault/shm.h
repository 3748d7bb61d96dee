/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For programs whose processes die over shm. The programs are linked with libfabric. */
#ifndef FAULT_SHM_H
#define FAULT_SHM_H

#include <rdma/fabric.h>

#include "fault.h"

/*
 * True if locks of shm stay locked when their owner is killed: the library does not repair this
 * release of libfabric (docs/libfabric-quirks.md, DEAD_LOCKS), or shm is below test/fabric.
 */
static inline bool fault_dead_keep_locks(void)
{
	uint32_t version = FI_VERSION(FI_MAJOR(fi_version()), FI_MINOR(fi_version()));

	return fault_fabric_is_shm() && (fault_fabric_is_sham() || version < FI_VERSION(1, 17) ||
					 version > FI_VERSION(2, 6));
}

#endif
