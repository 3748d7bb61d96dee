/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posts on a shared endpoint: members of dofi_trans_rdm. object/transport.h has the contracts. */
#ifndef DOFI_RDM_POST_H
#define DOFI_RDM_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_ep;
struct dofi_ia;
struct dofi_srq;
struct dofi_ud_ah;
struct dofi_wr;

ssize_t dofi_rdm_send_empty(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_rdm_send(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_rdm_read(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_rdm_write(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_rdm_write_data(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data);
ssize_t dofi_rdm_ctrl(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
		      uint64_t rkey, uint64_t data);
ssize_t dofi_rdm_ctrl_msg(struct dofi_ep *ep, const void *ctrl_msg, size_t size);
ssize_t dofi_rdm_peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
		      uint64_t raddr, uint64_t rkey);
ssize_t dofi_rdm_recv(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_rdm_credit(struct dofi_ep *ep, uint32_t update);
ssize_t dofi_rdm_ud_send(struct dofi_ep *ep, struct dofi_wr *wr, struct dofi_ud_ah *ah);
ssize_t dofi_rdm_ud_mark(struct dofi_ud_ah *ah, uint32_t update, bool answer);
ssize_t dofi_rdm_ud_recv(struct dofi_ia *ia, struct dofi_wr *wr, void *buffer, size_t size,
			 void *desc);
ssize_t dofi_rdm_srq_recv(struct dofi_srq *srq, struct dofi_wr *wr);

#endif
