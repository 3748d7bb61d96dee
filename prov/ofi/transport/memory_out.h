/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writing to the ring of a path: posts, as transport.h describes them, and answers to reads of the
 * peer. Rounds of the engine continue what had no room.
 */
#ifndef DOFI_MEMORY_OUT_H
#define DOFI_MEMORY_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_ep;
struct dofi_memory_path;
struct dofi_memory_pending;
struct dofi_wr;

ssize_t dofi_memory_send(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_memory_send_empty(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_memory_recv(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_memory_write(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_memory_write_data(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data);
ssize_t dofi_memory_read(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_memory_peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
			 uint64_t raddr, uint64_t rkey);
ssize_t dofi_memory_ctrl(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
			 uint64_t rkey, uint64_t data);
ssize_t dofi_memory_ctrl_msg(struct dofi_ep *ep, const void *ctrl_msg, size_t size);
ssize_t dofi_memory_credit(struct dofi_ep *ep, uint32_t update);

/* Of RDMA, or a part of it. */
uint32_t dofi_memory_context_of(const struct dofi_wr *wr);
bool dofi_memory_reads(const struct dofi_wr *wr);

/* A round that has something to do: completes what is complete, puts what has room. Returns the
 * number of completions. */
int dofi_memory_go_on(struct dofi_memory_path *path);

/*
 * The read or write that the next answer of the peer is for; NULL: no request is waiting for an
 * answer. dofi_memory_answered ends the request when its answer is complete. engine.lock held.
 */
struct dofi_memory_pending *dofi_memory_asked(struct dofi_memory_path *path);
void dofi_memory_answered(struct dofi_memory_path *path);

#endif
