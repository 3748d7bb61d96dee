/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posts of messages to a path, as transport.h describes them, with the control records, control
 * messages and credit updates that the library sends beside them.
 */
#ifndef DOFI_MEMORY_SEND_H
#define DOFI_MEMORY_SEND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_ep;
struct dofi_wr;

ssize_t dofi_memory_send(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_memory_send_empty(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_memory_recv(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_memory_ctrl(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
			 uint64_t rkey, uint64_t data);
ssize_t dofi_memory_ctrl_msg(struct dofi_ep *ep, const void *ctrl_msg, size_t size);
ssize_t dofi_memory_credit(struct dofi_ep *ep, uint32_t update);

#endif
