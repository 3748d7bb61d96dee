/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations that outlive their connection. A shared endpoint stays open when a connection ends,
 * and not every fabric can cancel operations. So the work requests that the fabric still has stay
 * in their memory until their completions come, and the EP continues with a copy.
 */
#ifndef DOFI_ORPHAN_H
#define DOFI_ORPHAN_H

#include "base/list.h"

#include <stdint.h>

struct dofi_ep;
struct dofi_ia;
struct dofi_ring;
struct dofi_wr;

#define DOFI_NO_SCRATCH UINT32_MAX

struct dofi_orphans {
	struct dofi_list link; /* ia->orphans, guarded by engine.lock */
	struct dofi_ia *ia;
	uint32_t count;   /* completions to come */
	uint32_t scratch; /* the EP's former slot, which a late read may fill; or DOFI_NO_SCRATCH */
	char *memory[4];  /* the rings and aux */
};

/* The number of operations of the EP that the fabric still has. ep->lock held. */
uint32_t dofi_orphans_outstanding(const struct dofi_ep *ep);
/* The same for one ring. */
uint32_t dofi_orphans_count(const struct dofi_ring *ring);

/*
 * Makes orphans of all operations of the EP that the fabric still has. 0, or -ENOMEM, and nothing
 * is changed. engine.lock and ep->lock held.
 */
int dofi_orphans_adopt_ep(struct dofi_ep *ep);

/* The same for the slots of `ring`, whose memory becomes the orphans'. */
int dofi_orphans_adopt(struct dofi_ia *ia, const struct dofi_ring *ring);

/* A completion of an orphan has come. engine.lock held. */
void dofi_orphans_done(struct dofi_wr *wr);

/* The endpoint is closed, so no completion comes any more. */
void dofi_orphans_free_all(struct dofi_ia *ia);

#endif
