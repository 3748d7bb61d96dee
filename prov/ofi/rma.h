/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RDMA as both transports do it: on ep->fep, to ep->dest. Contracts in trans.h. */
#ifndef DOFI_RMA_H
#define DOFI_RMA_H

#include "ep.h"

#include <sys/types.h>

ssize_t dofi_rma_read(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_rma_write(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_rma_write_noted(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data);
ssize_t dofi_rma_note(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr, uint64_t rkey, uint64_t data);
ssize_t dofi_rma_peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc, uint64_t raddr,
		      uint64_t rkey);

#endif
