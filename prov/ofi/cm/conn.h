/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection, or the attempt to make one: the state machine between a control channel, the
 * transport's data path and an EP. Guarded by engine.lock.
 */
#ifndef DOFI_CONN_H
#define DOFI_CONN_H

#include "cm/channel.h"
#include "object/ep.h"
#include "cm/redial.h"

struct dofi_cr;
struct dofi_peer;
struct dofi_ud_ah;
struct fid_ep;

enum dofi_conn_phase {
	DOFI_CONN_DIALING,   /* active: waits for a channel */
	DOFI_CONN_REQUESTED, /* active: waits for ACCEPT or REJECT */
	DOFI_CONN_OFFERED,   /* passive: the consumer holds a CR */
	DOFI_CONN_LINKING,   /* accepted; the data path comes up */
	DOFI_CONN_UP,
	/* ended; what the fabric still has of it comes back, then the object goes */
	DOFI_CONN_OVER,
};

struct dofi_conn {
	struct dofi_list link; /* chan->conns */
	struct dofi_ia *ia;
	struct dofi_chan *chan; /* NULL while dialling fails or after the end */
	uint32_t id, peer_id;
	enum dofi_conn_phase phase;
	bool active;
	/* of datagrams: it brings an address handle (ud.h), and connects no EP */
	bool ud;
	bool path_made;      /* posts can be given to the fabric */
	bool path_up, ready; /* LINKING: the fabric's and the peer's word; passive waits for both */
	bool lingers;        /* the peer may not have taken all of what is complete; linger.h */
	bool hung_up;        /* OVER: the peer knows */
	enum dofi_conn_phase ended_in; /* OVER: before that */
	bool established;              /* it was UP */
	bool watched;                  /* it ends, and completions bring that about */
	bool path_lost;                /* it was up; the last word is waited for */
	bool leaving;                  /* we are in DISCONNECT_PENDING and said so */
	bool peer_leaving;
	bool peer_no_recv;      /* peer in DISCONNECT_PENDING with no receive posted... */
	uint32_t peer_received; /* ...and this many of our messages received */
	bool said_no_recv;
	bool peer_told; /* by BYE: it has sent peer_sent messages */
	uint32_t peer_sent;
	uint32_t peer_count;              /* messages that it had sent when it was asked... */
	uint32_t count_asked, count_told; /* ...by the question of this number; misfit.h */
	uint8_t bye; /* enum dofi_reason of the peer's BYE that waits for the end of its data */
	/* active: "not mine" came from a channel that may be out of date; tried afresh */
	bool redialled;
	struct dofi_ep *ep; /* NULL while OFFERED without EP, and after the end */
	struct dofi_cr *cr; /* OFFERED */
	uint64_t conn_qual;
	uint64_t port_qual; /* the active EP's local qualifier */
	uint32_t candidate; /* position in the port sequence of conn_qual */
	struct dofi_redial redial;
	uint64_t deadline;              /* active: of the connect; DOFI_FOREVER: none */
	struct sockaddr_storage remote; /* active: where the consumer dialled */
	uint64_t token;
	uint32_t peer_read_in, peer_pz, peer_credit_total, peer_srq, peer_slots;
	uint16_t peer_flags;
	uint32_t peer_ud;            /* ud: number of the peer's EP */
	struct dofi_list ud_link;    /* ud: ep->ud->conns, while there is an EP */
	struct dofi_ud_ah *ud_ah;    /* ud: since it is UP */
	struct dofi_timer timer;     /* connect time-out; later the passive handshake's limit */
	bool patient;                /* that limit was over once; it begins anew... */
	uint32_t patience;           /* ...until cm.steps is this */
	struct dofi_work work;       /* runs the end */
	uint32_t end_event;          /* DAT_CONNECTION_EVENT_*; 0: none */
	uint8_t end_status;          /* for the first unfinished request */
	enum dofi_reason end_reason; /* what the peer is told; NONE: nothing */
	uint32_t end_private;        /* bytes of ep->private_data that go with the event */
	bool ending;
	uint64_t over_since; /* OVER: the fabric is waited for */

	/*
	 * Private data: active: what goes into REQUEST; passive: what came with it. 8-byte aligned.
	 */
	uint32_t private_size;
	_Alignas(8) uint8_t private_data[DOFI_MAX_PRIVATE];

	/* The transport's. */
	struct fid_ep *fep;              /* msg: the connection's own endpoint */
	struct fid_ep *spare;            /* msg: made while the peer decides, until it is fep */
	int reserved_port;               /* while it connects, from this port; held_port.h */
	size_t cq_entries;               /* that it has set aside... */
	uint32_t cq;                     /* ...of this one of ia->cqs */
	struct dofi_peer *peer;          /* rdm: the peer IA... */
	struct dofi_wakeup_peer *wakeup; /* ...and its wakeup */
	uint64_t dest;                   /* ...and its fi_addr_t */
	struct dofi_list greeting;       /* rdm: in rdm->greetings until both sides have met... */
	bool greets;                     /* ...and our word is not on the way yet */
	bool cancelled;                  /* rdm: the receives are */
};

struct dofi_conn *dofi_conn_by_id(struct dofi_ia *ia, uint32_t id);
/* The EP of a connection that is not over, nor of datagrams; NULL, also for 0. engine.lock held. */
struct dofi_ep *dofi_conn_ep(struct dofi_ia *ia, uint32_t id);

/*
 * dat_ep_connect and dup_connect, arguments checked, EP UNCONNECTED. engine.lock held. 0 or
 * -ENOMEM.
 */
int dofi_conn_start(struct dofi_ep *ep, const struct sockaddr *remote, uint64_t conn_qual,
		    uint64_t deadline, const void *private_data, uint32_t private_size);

/* redial.c: another round through the ports. */
void dofi_conn_dial_again(struct dofi_conn *conn);

/*
 * dat_cr_accept: cr's connection goes on with ep. The CR is consumed by the caller. 0 or a negative
 * errno.
 */
int dofi_conn_accept(struct dofi_conn *conn, struct dofi_ep *ep, const void *private_data,
		     uint32_t private_size);

/* dat_cr_reject, dat_cr_handoff to nobody, refusal by the library. Frees conn. */
void dofi_conn_reject(struct dofi_conn *conn, enum dofi_reason reason, const void *private_data,
		      uint32_t private_size);

/*
 * Ends the connection of an EP once: path closed, rings flushed (first unfinished request with
 * `status`), event (0: none) on connect_evd, peer told. Runs when the current batch is through.
 * engine.lock held; a second call has no effect.
 */
void dofi_conn_end(struct dofi_conn *conn, uint32_t event, uint8_t status,
		   enum dofi_reason tell_peer);

/*
 * The same at once; for dat_ep_disconnect abrupt and dat_ep_free. Without an event on return; else,
 * should the fabric be in the middle of an operation, when that has ended.
 */
void dofi_conn_end_now(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer);

/* dat_ep_disconnect graceful: EP goes to DISCONNECT_PENDING. */
void dofi_conn_disconnect(struct dofi_conn *conn);

/*
 * reap.c, ep->lock held: first message came, so the peer is up: raise ESTABLISHED before its
 * completion.
 */
DOFI_COLD void dofi_conn_established(struct dofi_ep *ep);
/*
 * reap.c: the request ring ran empty in DISCONNECT_PENDING, or the final sync ended, or the receive
 * ring ran empty.
 */
DOFI_COLD void dofi_conn_drained(struct dofi_ep *ep);

/* issue.c, engine.lock held: all that the peer sent before its goodbye has come. */
void dofi_conn_last_message(struct dofi_conn *conn);

/* issue.c, ep->lock held: a bind's turn has come. */
void dofi_conn_apply_bind(struct dofi_ep *ep, struct dofi_wr *wr);
/* The connection ends: no bind of it waits any more. engine.lock held. */
void dofi_conn_forget_bind(struct dofi_ep *ep);
/*
 * The engine's part of it: asks the peers to forget what the bind replaced. engine.lock and
 * ep->lock held.
 */
void dofi_conn_ask_for_bind(struct dofi_ep *ep);

/* Messages of ours that the fabric was given in this connection. engine.lock held. */
uint32_t dofi_conn_sent(const struct dofi_conn *conn);

/* Fills in whom the message concerns, and sends it if the peer can be reached. engine.lock held. */
void dofi_conn_send(struct dofi_conn *conn, struct dofi_msg *msg);

/* --- upcalls of the transports; engine.lock held --- */
/* The endpoint takes receives: those posted so far are handed down. */
void dofi_conn_path_made(struct dofi_conn *conn);
void dofi_conn_path_up(struct dofi_conn *conn);
/*
 * The fabric got on with an accepted connection, though its path is not up yet: the peer's request
 * came, or its greeting.
 */
void dofi_conn_proceeds(struct dofi_conn *conn);
void dofi_conn_path_down(struct dofi_conn *conn, int err); /* 0: orderly end of the data path */
/* a passive one that waits for its path */
struct dofi_conn *dofi_conn_by_token(struct dofi_ia *ia, uint64_t token);

#endif
