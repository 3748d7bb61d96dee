/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations that outlive their connection. On a shared endpoint closing nothing gives them back,
 * and not every fabric can cancel: what is still the fabric's at the end of a connection is left to
 * it, in the memory that it knows, until its completions come; the EP goes on with a copy.
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

/* What the fabric has of the EP's. ep->lock held. */
uint32_t dofi_orphans_outstanding(const struct dofi_ep *ep);
/* The same of one ring. */
uint32_t dofi_orphans_count(const struct dofi_ring *ring);

/*
 * Takes everything of the EP's that the fabric still has. 0 or -ENOMEM, nothing done. engine.lock
 * and ep->lock held.
 */
int dofi_orphans_adopt_ep(struct dofi_ep *ep);

/* The same for the slots of `ring`, whose memory becomes the orphans'. */
int dofi_orphans_adopt(struct dofi_ia *ia, const struct dofi_ring *ring);

/* A completion of one has come. engine.lock held. */
void dofi_orphans_done(struct dofi_wr *wr);

/* The endpoint is closed: nothing comes any more. */
void dofi_orphans_free_all(struct dofi_ia *ia);

#endif
