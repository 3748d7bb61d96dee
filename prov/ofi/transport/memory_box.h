/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small RDMA without the kernel, while the target polls. A side has one box in the segment, which
 * it asks the other one with: the target's next poll carries the request out, in the time of a
 * message. Whoever asks waits for that, for some microseconds. Then it takes the request back and
 * copies by the kernel, which needs nobody. So a request in a box is over when its post returns, as
 * one by the kernel is, and both keep their order.
 *
 * One request alone may take longer: when the target is stopped while it carries it out. Nobody can
 * take it back then, and later RDMA waits for it.
 *
 * Who asks has to know that the target polls: it counts its polls in the segment. After a copy by
 * the kernel the count tells whether the box would have been the better way.
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
	DOFI_BOX_ASKED, /* the target may take it, or who asked may take it back */
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
 * The request, which is RDMA, in the box: DOFI_BOX_DONE; DOFI_BOX_IDLE, and it has to go another
 * way; or DOFI_BOX_TAKEN, and dofi_box_is_done tells when it is done.
 */
enum dofi_box_state dofi_box_ask(struct dofi_memory_path *path, struct dofi_wr *wr);
/* The one that was taken. What was read is in its segments then. */
bool dofi_box_is_done(struct dofi_memory_path *path, struct dofi_wr *wr);

/* --- the target; engine.lock held --- */

/* Carries out what the peer asks, which is checked as all that it asks. */
void dofi_box_serve(struct dofi_memory_path *path);

#endif
