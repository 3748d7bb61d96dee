/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control channels: TCP connections between pairs of IAs, each shared by all connections that its
 * dialling side makes. Only that side asks for connections on it and only it decides that an idle
 * or needless channel goes, so a request never crosses a close; between two IAs that both dial
 * there are two. Everything here runs with engine.lock held and never blocks.
 */
#ifndef DOFI_CHAN_H
#define DOFI_CHAN_H

#include "object/ia_parts.h"

#include "base/addr.h"
#include "progress/engine.h"
#include "auth/session.h"
#include "cm/wire.h"

struct dofi_conn;
struct dofi_ia;

enum dofi_chan_state {
	DOFI_CHAN_DIALING,  /* TCP connect under way */
	DOFI_CHAN_GREETING, /* the handshake is under way; handshake.h */
	DOFI_CHAN_UP,
	DOFI_CHAN_DEAD, /* closed; its work tells the connections and frees it */
};

/* What the handshake waits for. */
enum dofi_handshake_step { DOFI_STEP_HELLO, DOFI_STEP_PROOF, DOFI_STEP_DETAILS };

/* A channel remembers the last few addresses that were dialled and led to its peer. */
#define DOFI_CHAN_NAMES 8u

struct dofi_chan {
	struct dofi_list link; /* ia->cm.chans, .strangers or .dead */
	struct dofi_ia *ia;
	struct dofi_fd fd;
	enum dofi_chan_state state;
	bool accepted; /* the peer dialled us */
	bool asks;     /* dialled: requests go out before the peer has said its details */
	bool was_up;
	bool orderly; /* DEAD: after GOODBYE */
	bool writing; /* waits for room in the socket */
	bool silent;  /* its fabric was waited for in vain, and it has said nothing since */
	int err;      /* DEAD: the dial's negative errno */
	int send_err; /* the socket takes no more; what it still has to read comes first */
	uint32_t tries;
	uint32_t overdue; /* GREETING: the limit of time was over so often */
	struct sockaddr_storage names[DOFI_CHAN_NAMES]; /* [0]: where the socket was dialled */
	uint32_t nnames;
	enum dofi_handshake_step step;  /* of GREETING */
	struct dofi_handshake shake;    /* what was said in it so far */
	struct dofi_session session;    /* from both HELLOs; seals what follows the proofs */
	struct sockaddr_storage source; /* accepted: where the socket comes from, port 0 */
	struct dofi_details peer;       /* valid when UP, as the next one: */
	struct sockaddr_storage remote; /* the peer's address, of which the socket is the witness */
	uint64_t idle_since;            /* UP, without connections */
	struct dofi_list waiting;       /* conn->link: dofi_conn_chan_up is due */
	struct dofi_list conns;         /* conn->link */
	uint32_t noffered;              /* those that wait for the consumer's answer */
	struct dofi_timer timer;        /* limit of GREETING, then of idleness */
	struct dofi_work work;          /* upcalls that are due; the end */
	uint64_t asked, done;     /* number of the last INVALIDATE sent, of the last answered */
	bool mute;                /* an INVALIDATE was not answered in time; nobody waits for it */
	uint8_t silences;         /* how often that happened */
	struct dofi_stall answer; /* one of the peer's waits for operations under way... */
	uint64_t answer_number;   /* ...with this number, which stands for those before, too */
	uint8_t *tx;              /* frames not sent yet */
	uint32_t tx_fill, tx_size;
	uint32_t rx_fill;
	uint8_t rx[DOFI_WIRE_MAX_FRAME];
};

/* fd: an accepted socket, or -1. NULL when out of memory. */
struct dofi_chan *dofi_chan_new(struct dofi_ia *ia, int fd, enum dofi_chan_state state);

/* Takes the first connection out of chan->waiting or chan->conns; NULL: there is none. */
struct dofi_conn *dofi_chan_pop(struct dofi_list *list);

/* Takes conn off its channel, if it has one. A channel without connections stays for a while. */
void dofi_chan_detach(struct dofi_conn *conn);

/* Takes what has come, if it is UP. The channel may be closed then, and its connections end. */
void dofi_chan_hear(struct dofi_chan *chan);

/* Where its socket leads, for messages. */
const char *dofi_chan_peer_text(const struct dofi_chan *chan, char text[DOFI_ADDR_TEXT]);

/* The handshake is complete: chan->peer is filled. */
void dofi_chan_greeted(struct dofi_chan *chan);

/*
 * Ends a channel. Nobody is told from inside: the channel's work makes the upcalls and frees it.
 * err is for those who still wait for it, orderly for those who have it.
 */
void dofi_chan_close(struct dofi_chan *chan, int err, bool orderly);

/*
 * listener.c accepted a socket; the channel owns it. False when out of memory: the caller's still.
 */
bool dofi_chan_adopt(struct dofi_ia *ia, int fd);
/* Hangs up on the oldest stranger; false when there is none. */
bool dofi_chan_evict(struct dofi_ia *ia);

#endif
