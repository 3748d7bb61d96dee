/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The receive buffers that all UD EPs of an IA share. They exist from the first UD EP on. */
#ifndef DOFI_UD_POOL_H
#define DOFI_UD_POOL_H

#include <stddef.h>
#include <stdint.h>

struct dofi_ep;
struct dofi_ia;
struct dofi_wr;

/* Called when the endpoint is closed and the IA has no other user. */
void dofi_ud_pool_close(struct dofi_ia *ia);

/* The other functions are called with engine.lock held. */
int dofi_ud_pool_open(struct dofi_ia *ia); /* no effect if it is open; 0 or a negative error */

/* A receive of the pool has ended. */
void dofi_ud_pool_done(struct dofi_ia *ia, struct dofi_wr *wr, int err, size_t length,
		       uint32_t data);

/* Posts receives that the fabric did not take before. */
void dofi_ud_pool_retry(struct dofi_ia *ia);

/* Table of the EPs by the low bits of their numbers: DOFI_UD_EPS places. */
struct dofi_ep **dofi_ud_pool_eps(struct dofi_ia *ia);

#endif
