/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The library's own receives on a shared endpoint: for credit updates, greetings and control
 * messages.
 */
#ifndef DOFI_CONTROL_RECEIVES_H
#define DOFI_CONTROL_RECEIVES_H

#include "transport/rdm.h"
#include "transport/rdm_tag.h"

#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;
struct dofi_rdm;
struct dofi_wr;

/* Sends a credit update or a greeting to the library of the peer. 0 or a negative error. */
static inline ssize_t dofi_rdm_send_credit(struct dofi_ia *ia, uint64_t dest,
					   const struct dofi_ctrl_credit *credit)
{
	return fi_tinject(ia->shared_ep, credit, sizeof(*credit), dest, DOFI_TAG_CTRL);
}

/* The buffer of such a receive: the one that it fills next, or the one that it has filled. */
union dofi_ctrl_buffer *dofi_ctrl_recv_buffer(struct dofi_rdm *rdm, const struct dofi_wr *wr,
					      bool former);
/* Registers the buffers and posts all receives. 0 or a negative error. */
int dofi_ctrl_recvs_post(struct dofi_ia *ia);

/* Posts the receives for which the fabric had no room. */
void dofi_ctrl_recvs_post_missing(struct dofi_ia *ia);

/*
 * Posts a receive whose message has come, with its other buffer; or one that failed, with the same.
 * Without room in the fabric a round of the engine tries again.
 */
void dofi_ctrl_recv_taken(struct dofi_ia *ia, struct dofi_wr *wr);
void dofi_ctrl_recv_post_again(struct dofi_ia *ia, struct dofi_wr *wr);

#endif
