/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A transport without a fabric: it keeps operations until the target decides how they end. The
 * target also decides when data paths come up and go down.
 */
#ifndef T_FUZZ_FABRIC_H
#define T_FUZZ_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_ia;
struct dofi_trans_ops;

/* The behaviour of the fabric from now on. */
struct fabric_state {
	bool makes_path; /* a path comes up at once when a connection is accepted, as on rdm */
	bool busy;       /* returns no operations when a connection ends */
	int connect, expect, post; /* negative errors of the next call, or 0 */
};

extern struct fabric_state fabric_now;

enum fabric_kind {
	FABRIC_RDM = 1,   /* ends wait for operations, and BYE has a count; otherwise as msg */
	FABRIC_SLOTS = 2, /* control records as writes */
};

/* Returns the table for a combination of FABRIC_... */
const struct dofi_trans_ops *fabric_table(unsigned int kind);
/* Creates the fabric objects of the IA. */
void fabric_open(struct dofi_ia *ia);
void fabric_begin(void);
/* Returns operations that outlived their connection. engine.lock is not held. */
void fabric_end(void);
/* Returns whether the fabric has no operation. */
bool fabric_is_idle(void);

/* The path of the nth connection of the transport, modulo their number, comes up or goes down. */
void fabric_path_up(unsigned int nth);
void fabric_path_down(unsigned int nth, int err);
/*
 * The nth operation completes. A message has this length, and came with this connection number and
 * credit update.
 */
void fabric_complete(unsigned int nth, int err, uint64_t length, uint32_t number, uint32_t update);

#endif
