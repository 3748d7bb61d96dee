/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An EP in a given state of the state machine, with all that got it there. */
#ifndef PLACE_H
#define PLACE_H

#include "../lib/t_peer.h"

enum place_state { UNC, RES, PAS, TEN, ACT, CMP, CON, DPD, DIS, PLACE_STATES };

#define PLACE_RECV 0x7265637600000001u /* cookies */
#define PLACE_BIG  0x6269670000000002u

struct place {
	enum place_state state;
	struct t_ia ia[2]; /* ours, the peer's */
	struct t_end me;   /* .ep is the EP in question */
	struct t_end peer; /* the other end; its EP is in use from PAS on, but for CMP */
	struct t_listener at_me, at_peer; /* of consumer PSPs */
	struct t_listener provider;       /* TEN: of a provider PSP of ours */
	DAT_RSP_HANDLE rsp;               /* RES, PAS and with by_rsp */
	DAT_CONN_QUAL rsp_qual;
	DAT_EVD_HANDLE rsp_evd;
	DAT_CR_HANDLE cr;    /* PAS, TEN: of our EP; ACT: the peer's, not decided */
	struct t_buf big[2]; /* ours, the peer's: more than a fabric takes while nobody receives */
	struct t_peer proc;  /* the connector, when it has to be a process of its own */
	bool has_proc;
};

/*
 * Opens IAs and brings a new EP into the state. DPD lasts because a message waits at an end that
 * posts no receive, CMP because the connector is a process that was stopped.
 */
void place_make(struct place *place, enum place_state state);
/* The same, and the EP was that of an RSP of ours, which is still there. Not for TEN. */
void place_make_by_rsp(struct place *place, enum place_state state);
/* The same, and the other end is a process of its own. Not for UNC and RES. */
void place_make_far(struct place *place, enum place_state state);
void place_leave(struct place *place);

/* Ways in which the other process leaves in order. */
enum place_linger { PART_DISCONNECT = 1, PART_GRACEFUL, PART_FREE, PART_CLOSE, PART_EXIT };
void place_part(struct place *place, enum place_linger how);
/* It dies. */
void place_kill_peer(struct place *place);

void place_rsp(struct place *place); /* for our EP, which becomes RESERVED */
DAT_RETURN place_post_recv(struct place *place);
void place_new_big(struct place *place); /* its memory, for those who fill it before the post */
/* A request that does not complete while the peer receives nothing. */
DAT_RETURN place_post_big(struct place *place);
void place_take_big(struct place *place); /* the other end, of this process, receives it */
DAT_EP_STATE place_dat_state(enum place_state state);

#endif
