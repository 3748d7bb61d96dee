/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control channels: TCP connections between pairs of IAs, each shared by all connections that its
 * dialling side makes. Only that side requests connections on it and closes it when it is idle or
 * not needed, so a request never crosses a close. Between two IAs that both dial there are two
 * channels. Everything here runs with engine.lock held and never blocks.
 */
#ifndef DOFI_CHAN_H
#define DOFI_CHAN_H

#include "object/ia_parts.h"

#include "base/addr.h"
#include "base/run_delay.h"
#include "progress/engine.h"
#include "auth/session.h"
#include "cm/wire.h"

struct dofi_conn;
struct dofi_ia;

enum dofi_chan_state {
	DOFI_CHAN_DIALING,   /* TCP connect under way */
	DOFI_CHAN_HANDSHAKE, /* the handshake is under way; handshake.h */
	DOFI_CHAN_UP,
	DOFI_CHAN_DEAD, /* closed; its deferred work informs the connections and frees it */
};

/* The message that the handshake waits for. */
enum dofi_handshake_step { DOFI_STEP_HELLO, DOFI_STEP_PROOF, DOFI_STEP_DETAILS };

/* A channel remembers the last few addresses that were dialled and led to its peer. */
#define DOFI_CHAN_NAMES 8u

struct dofi_chan_name {
	struct dofi_list link; /* of the tables of channel_find.h */
	struct dofi_chan *chan;
	struct sockaddr_storage addr;
};

struct dofi_chan {
	struct dofi_list link; /* ia->cm.chans, .strangers or .dead */
	struct dofi_ia *ia;
	struct dofi_fd fd;
	enum dofi_chan_state state;
	bool accepted; /* the peer dialled us */
	bool asks;     /* dialled: requests are sent before the peer's DETAILS come */
	bool was_up;
	bool orderly; /* DEAD: after GOODBYE */
	bool writing; /* waits for room in the socket */
	/* a wait for the peer's fabric was in vain, and the peer has sent nothing since */
	bool silent;
	bool tardy;   /* the same of the short wait in dat_ep_disconnect */
	int err;      /* DEAD: the dial's negative errno */
	int send_err; /* sending failed; the channel closes when the socket is read */
	uint32_t tries;
	struct dofi_run_delay delay; /* a second before it was dialled, or later */
	uint32_t overdue;            /* HANDSHAKE: how often the limit of time was over */
	/* dialled: channel_find.h; [0]: where the socket was dialled */
	struct dofi_chan_name names[DOFI_CHAN_NAMES];
	uint32_t nnames, nreplaced;
	struct dofi_list host_link, peer_link; /* dialled, UP; as above */
	enum dofi_handshake_step step;         /* of HANDSHAKE */
	struct dofi_handshake shake;           /* the messages of the handshake so far */
	/* made of both HELLOs; seals all frames behind the proofs */
	struct dofi_session session;
	struct sockaddr_storage source; /* accepted: source address of the socket, port 0 */
	struct dofi_details peer;       /* valid when UP, as the next member */
	struct sockaddr_storage remote; /* the peer's address, checked against the socket */
	uint64_t idle_since;            /* UP, without connections */
	struct dofi_list waiting;       /* conn->link: dofi_conn_chan_up is due */
	struct dofi_list conns;         /* conn->link */
	/* requests that wait for the consumer's answer and were not withdrawn; crowd.h */
	uint32_t noffered;
	struct dofi_timer timer;  /* limit of HANDSHAKE, then of idleness */
	struct dofi_work work;    /* due upcalls, and the end */
	struct dofi_work sending; /* sends the frames that were queued meanwhile */
	uint64_t asked, done;     /* number of the last INVALIDATE sent, of the last answered */
	/* an INVALIDATE was not answered in time, so calls do not wait for this peer */
	bool mute;
	uint8_t silences; /* how often that happened */
	/* the answer to an INVALIDATE of the peer waits for operations under way; */
	struct dofi_stall answer;
	/* the number of that INVALIDATE; an answer counts for all earlier ones, too */
	uint64_t answer_number;
	uint8_t *tx; /* frames not sent yet */
	uint32_t tx_fill, tx_size;
	uint32_t rx_fill;
	uint8_t rx[DOFI_WIRE_MAX_FRAME];
};

/* fd: an accepted socket, or -1. NULL when out of memory. */
struct dofi_chan *dofi_chan_new(struct dofi_ia *ia, int fd, enum dofi_chan_state state);

/* Takes the first connection out of chan->waiting or chan->conns; NULL: there is none. */
struct dofi_conn *dofi_chan_pop(struct dofi_list *list);

/*
 * Detaches conn from its channel, if it has one. A channel without connections stays open for a
 * while.
 */
void dofi_chan_detach(struct dofi_conn *conn);

/* The peer's address, for messages. */
const char *dofi_chan_peer_text(const struct dofi_chan *chan, char text[DOFI_ADDR_TEXT]);

/* The handshake is complete: chan->peer is filled. */
void dofi_chan_handshake_done(struct dofi_chan *chan);

/*
 * Sends what is queued and ends a channel. Makes no upcall itself: the channel's deferred work
 * does, and frees the channel. Connections that still wait for the channel get err, those that use
 * it get orderly.
 */
void dofi_chan_close(struct dofi_chan *chan, int err, bool orderly);
/* The peer has closed the socket, or the socket failed with err, a negative errno. */
void dofi_chan_hung_up(struct dofi_chan *chan, int err);

/* Wakes the calls and binds that wait for answers to INVALIDATE: the last one may be there. */
void dofi_chan_wake_askers(struct dofi_ia *ia);

#endif
