/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A transport without a fabric: it keeps what it is given until the target says how it ends. Its
 * paths come up and go down when the target says so.
 */
#ifndef T_FUZZ_FABRIC_H
#define T_FUZZ_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_ia;
struct dofi_trans_ops;

/* What the library meets. */
struct fabric_state {
	bool makes_path;           /* at once when a connection is accepted, as rdm */
	bool busy;                 /* gives nothing back when a connection ends */
	int connect, expect, post; /* negative errors of the next call, or 0 */
};

extern struct fabric_state fabric;

enum fabric_kind {
	FABRIC_RDM = 1,   /* ends that are waited for; a count in the goodbye; else as msg */
	FABRIC_SLOTS = 2, /* control records as writes */
};

/* The table of a kind, FABRIC_... or-ed. */
const struct dofi_trans_ops *fabric_table(unsigned int kind);
/* The IA's fabric objects. */
void fabric_open(struct dofi_ia *ia);
void fabric_begin(void);
/* Gives back what outlived its connection; engine.lock free. */
void fabric_end(void);
/* Whether the fabric has nothing of anybody's. */
bool fabric_is_idle(void);

/* Of the connections that were given to the transport, the nth of n modulo their number. */
void fabric_path_up(unsigned int nth);
void fabric_path_down(unsigned int nth, int err);
/*
 * The same of operations. A message has this length, and came with this number of the connection
 * and this update.
 */
void fabric_complete(unsigned int nth, int err, uint64_t length, uint32_t number, uint32_t update);

#endif
