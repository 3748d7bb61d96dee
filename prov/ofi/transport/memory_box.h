/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small RDMA without the kernel, while the target polls. The segment has one box for each
 * direction. The initiator puts a request into its box, and the target's next poll carries the
 * request out, in the time of a message. The initiator waits for that, for some microseconds. Then
 * it takes the request back and copies by the kernel, which does not need the target. So a request
 * in a box is complete when its post returns, as one by the kernel is, and both keep their order.
 *
 * A request takes longer only if the target is stopped while it carries the request out. Then the
 * initiator cannot take the request back, and later RDMA waits for it.
 *
 * The target counts its polls in the segment. The initiator compares the counts before and after a
 * copy by the kernel: if the target polled often enough meanwhile, the initiator uses the box for
 * the next request.
 */
#ifndef DOFI_MEMORY_BOX_H
#define DOFI_MEMORY_BOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dofi_memory_path;
struct dofi_wr;

#define DOFI_BOX_MOST  4096u /* bytes of a request */
/* A peer whose program polls so often while the kernel copies serves a box soon. */
#define DOFI_BOX_POLLS 3u

enum dofi_box_state {
	DOFI_BOX_IDLE,
	DOFI_BOX_ASKED, /* the target may take it, or the initiator take it back */
	DOFI_BOX_TAKEN, /* the target carries it out */
	DOFI_BOX_DONE,
};

/* In shared memory; all zero at first. The bytes of a short request are in its first line. */
struct dofi_memory_box {
	_Alignas(64) _Atomic uint32_t state;
	uint16_t size;
	uint8_t reads; /* else it writes */
	uint64_t address;
	uint32_t context;
	uint8_t bytes[DOFI_BOX_MOST];
};

/* --- the initiator of an RDMA operation; ep->lock held --- */

/*
 * Puts an RDMA request into the box. Returns DOFI_BOX_DONE: it is complete; DOFI_BOX_IDLE: the box
 * does not take it, so the caller uses another way; DOFI_BOX_TAKEN: dofi_box_is_done tells when it
 * is complete.
 */
enum dofi_box_state dofi_box_ask(struct dofi_memory_path *path, struct dofi_wr *wr);
/*
 * Whether the request that the target took is complete. The data of a read are in its segments
 * then.
 */
bool dofi_box_is_done(struct dofi_memory_path *path, struct dofi_wr *wr);

/* --- the target; engine.lock held --- */

/* Carries out the peer's request, with the checks of any request from a ring. */
void dofi_box_serve(struct dofi_memory_path *path);

#endif
