/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An open IA in the world of sim/kernel.h and fabric.h. It is made once. Each input uses it between
 * world_begin and world_end, which frees all objects of the IA.
 */
#ifndef T_FUZZ_WORLD_H
#define T_FUZZ_WORLD_H

#include "fuzz.h"

#include "base/dat_api.h"

#define WORLD_EPS     4u
#define WORLD_SOCKETS 64 /* limit of the library's open sockets */

struct dofi_ep;
struct dofi_ia;

enum world_kind {
	WORLD_RDM = 1,   /* see fabric.h */
	WORLD_SLOTS = 2, /* see fabric.h */
	WORLD_CREDITS = 4,
	WORLD_FEW_STRANGERS = 8, /* room for one stranger */
	WORLD_CLOSED_KEYS = 16,
	WORLD_NATIVE = 32,  /* the device executes atomic operations */
	WORLD_FENCE = 64,   /* reads may overtake writes */
	WORLD_DELAY = 128,  /* connects do not complete at once */
	WORLD_NO_KEY = 256, /* auth=none */
	WORLD_SRQ = 512,    /* fuzz_control: the second EP has an SRQ */
};

enum world_ep { WORLD_EP_RC, WORLD_EP_SRQ, WORLD_EP_UD, WORLD_EP_KINDS };

struct world {
	struct dofi_ia *ia;
	DAT_EVD_HANDLE conn_evd, cr_evd, dto_evd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_SRQ_HANDLE srq; /* NULL until an EP uses it */
	DAT_EP_HANDLE eps[WORLD_EPS];
};

extern struct world world;

#define WORLD_WORDS 64
extern uint64_t world_memory[WORLD_WORDS]; /* the memory of the LMR */

/* The first call creates the engine and its descriptors. */
void world_begin(unsigned int kind);
/* Frees all objects and checks that nothing is left. */
void world_end(void);

/* Runs rounds of the engine as long as there is work, up to a limit. */
void world_round(void);
/* Creates an EP at this index unless there is one. */
void world_make_ep(uint32_t place, enum world_ep kind);
/* The same, and connects the EP to a peer with the same kind of EP, by the complete handshake. */
void world_connect(uint32_t place, enum world_ep kind);
DAT_LMR_TRIPLET world_segment(uint32_t offset, uint32_t length);

#endif
