/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An EP in a given state of the state machine, and the objects that the state needs. */
#ifndef PLACE_H
#define PLACE_H

#include "../lib/t_peer.h"

enum place_state { UNC, RES, PAS, TEN, ACT, CMP, CON, DPD, DIS, PLACE_STATES };

#define PLACE_RECV 0x7265637600000001u /* cookies */
#define PLACE_BIG  0x6269670000000002u

struct place {
	enum place_state state;
	struct t_ia ia[2]; /* ours, the peer's */
	struct t_end me;   /* .ep is the EP under test */
	struct t_end peer; /* the other end; its EP is in use from PAS on, but for CMP */
	struct t_listener at_me, at_peer; /* of consumer PSPs */
	struct t_listener provider;       /* TEN: of a provider PSP of ours */
	DAT_RSP_HANDLE rsp;               /* RES, PAS and with by_rsp */
	DAT_CONN_QUAL rsp_qual;
	DAT_EVD_HANDLE rsp_evd;
	DAT_CR_HANDLE cr;    /* PAS, TEN: of our EP; ACT: the peer's, not decided */
	struct t_buf big[2]; /* ours, the peer's: longer than a fabric buffers without a receive */
	struct t_peer proc;  /* the connector, if it is a process of its own */
	bool has_proc;
};

/*
 * Opens IAs and brings a new EP into the state. DPD lasts because the peer posts no receive for a
 * message, CMP because the connector is a stopped process.
 */
void place_make(struct place *place, enum place_state state);
/* The same, with an EP of our RSP, which still exists. Not for TEN. */
void place_make_by_rsp(struct place *place, enum place_state state);
/* The same, with the other end in a process of its own. Not for UNC and RES. */
void place_make_far(struct place *place, enum place_state state);
void place_leave(struct place *place);

/* Ways in which the other process ends the connection without dying. */
enum peer_end {
	PEER_END_DISCONNECT = 1,
	PEER_END_GRACEFUL,
	PEER_END_FREE,
	PEER_END_CLOSE,
	PEER_END_EXIT
};
void place_end_peer(struct place *place, enum peer_end how);
/* Kills the other process. */
void place_kill_peer(struct place *place);

void place_rsp(struct place *place); /* creates an RSP for our EP, which becomes RESERVED */
DAT_RETURN place_post_recv(struct place *place);
void place_new_big(
	struct place *place); /* allocates the memory, for tests that fill it before the post */
/* Posts a request that does not complete as long as the peer posts no receive. */
DAT_RETURN place_post_big(struct place *place);
void place_take_big(struct place *place); /* the other end, in this process, receives it */
DAT_EP_STATE place_dat_state(enum place_state state);

#endif
