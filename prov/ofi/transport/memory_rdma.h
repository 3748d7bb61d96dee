/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posts of RDMA to a path, as transport.h describes them. A request is a copy by the kernel within
 * the post. While the target polls, a small one goes to its box; see memory_box.h. If the kernel
 * does not allow copies, the ring carries the request.
 */
#ifndef DOFI_MEMORY_RDMA_H
#define DOFI_MEMORY_RDMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_ep;
struct dofi_wr;

ssize_t dofi_memory_write(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_memory_write_data(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data);
ssize_t dofi_memory_read(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_memory_peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
			 uint64_t raddr, uint64_t rkey);

/* Of RDMA, or a part of it. */
uint32_t dofi_memory_context_of(const struct dofi_wr *wr);
bool dofi_memory_reads(const struct dofi_wr *wr);

#endif
