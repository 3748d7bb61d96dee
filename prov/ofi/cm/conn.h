/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection, or the attempt to make one. It ties a control channel, a data path of the transport
 * and an EP together. conn_state.h has its states and events, conn_event.c applies them; the
 * actions are in connect.c, accept.c, path.c, disconnect.c and conn_end.c. Guarded by engine.lock.
 */
#ifndef DOFI_CONN_H
#define DOFI_CONN_H

#include "cm/channel.h"
#include "cm/conn_state.h"
#include "cm/redial.h"
#include "object/ep.h"

struct dofi_cr;
struct dofi_memory_path;
struct dofi_peer;
struct dofi_ud_ah;
struct fid_ep;

struct dofi_conn {
	struct dofi_list link; /* chan->conns */
	struct dofi_ia *ia;
	/* that of the IA, or ia->local_trans while that may be used */
	const struct dofi_trans_ops *trans;
	struct dofi_chan *chan; /* NULL while dialling fails or after the end */
	uint32_t id, peer_id;
	enum dofi_conn_state state;
	enum dofi_conn_state ended_in; /* ENDING and after: the state before */
	bool active;                   /* this side dialled */
	/* for datagrams: the result is an address handle (ud.h), and the EP is not connected */
	bool ud;

	/* --- facts beside the state --- */
	bool path_made; /* posts can be given to the fabric */
	bool lingers;   /* completed requests may not have reached the peer; linger.h */
	bool watched;   /* registered as a watcher of completions, until the end */
	/* both ends disconnect: what each has reported, to detect that one waits in vain */
	bool said_no_recv;      /* our DISCONNECT: no receive is posted */
	bool peer_no_recv;      /* the peer's: no receive is posted... */
	uint32_t peer_received; /* ...and this many of our messages have come */
	bool peer_told;         /* by BYE or CANCEL: it has sent peer_sent messages */
	uint32_t peer_sent;
	enum dofi_reason bye; /* DATA_PENDING: the reason of the peer's BYE */
	/* messages that were too long for their SRQ; truncated.h */
	uint32_t peer_count;              /* messages that the peer had sent when it was asked... */
	uint32_t count_asked, count_told; /* ...by the question of this number */
	bool asked;                       /* active: REQUEST was sent on this channel... */
	bool asked_once;                  /* ...or on another one */
	bool repeated; /* passive: REQUEST was sent again; counted in cm.nrepeated */
	/*
	 * active: NOT_MINE came by a channel that may lead to an earlier process; dials a new one
	 */
	bool redialled;
	/* accepted: the time was over once; it is extended until cm.steps is `patience` */
	bool patient;
	uint32_t patience;
	uint32_t questions; /* accepted: COUNTs sent while the path did not come... */
	/* ...and the time of the last one; on an overloaded host there are more */
	struct dofi_run_delay delay;

	struct dofi_ep *ep; /* NULL while OFFERED without EP, and after the end */
	struct dofi_cr *cr; /* OFFERED, ABANDONED */
	uint64_t conn_qual;
	uint64_t asked_qual; /* passive: the qualifier in REQUEST; a handoff changes conn_qual */
	uint64_t port_qual;  /* the active EP's local qualifier */
	uint32_t candidate;  /* position in the port sequence of conn_qual */
	struct dofi_redial redial;
	/* active: time limit of dat_ep_connect, or DOFI_FOREVER */
	uint64_t deadline;
	/* active: the address that the consumer gave; passive: the source of the channel */
	struct sockaddr_storage remote;
	uint8_t token[DOFI_TOKEN_SIZE];      /* ours */
	uint8_t peer_token[DOFI_TOKEN_SIZE]; /* valid when peer_id is */
	uint32_t peer_read_in, peer_pz, peer_credit_total, peer_srq, peer_slots;
	uint16_t peer_flags;
	uint32_t peer_ud;         /* ud: number of the peer's EP */
	struct dofi_list ud_link; /* ud: ep->ud->conns, while there is an EP */
	struct dofi_ud_ah *ud_ah; /* DATAGRAM */
	/* a mark that came before the address handle existed; its answer is due. 0: none */
	uint32_t ud_mark;
	struct dofi_timer timer; /* raises DOFI_ON_TIMER; each state sets it for its own purpose */
	bool prolonged;          /* GOODBYE_PENDING, DATA_PENDING, PATH_LOST: the wait goes on */

	/* --- the end; conn_end.h --- */
	struct dofi_work work;       /* carries the end out */
	uint32_t end_event;          /* DAT_CONNECTION_EVENT_*; 0: none */
	uint8_t end_status;          /* for the first unfinished request */
	enum dofi_reason end_reason; /* reason in BYE or CANCEL; NONE: the peer is not told */
	uint32_t end_private; /* bytes of ep->private_data in the event; ud: of private_data */
	uint64_t over_since;  /* time since which the end waits for the fabric */

	/*
	 * Private data. Active: to be sent in REQUEST, then received in the answer; passive:
	 * received in REQUEST. 8-byte aligned.
	 */
	uint32_t private_size;
	_Alignas(8) uint8_t private_data[DOFI_MAX_PRIVATE];

	/* Members of the transport. */
	struct fid_ep *fep;   /* msg: the connection's own endpoint */
	struct fid_ep *spare; /* msg: made while the peer decides, until it is fep */
	/* holds the local port while it connects; port_reservation.h */
	int reserved_port;
	size_t cq_entries;               /* reserved entries... */
	uint32_t cq;                     /* ...of the completion queue with this index */
	struct dofi_peer *peer;          /* rdm: the peer IA... */
	struct dofi_wakeup_peer *wakeup; /* ...its wakeup... */
	uint64_t dest;                   /* ...and its fi_addr_t */
	struct dofi_list greeting;       /* rdm: in rdm->greetings until both sides have met... */
	bool greets;                     /* ...and our greeting was not sent yet... */
	uint64_t greeted;                /* ...or when */
	bool cancelled;                  /* rdm: the receives were cancelled */
	struct dofi_memory_path *memory; /* memory: the rings, or an offer of some... */
	bool over_memory;                /* ...and the connection uses them */
	/* why the connection does not use ia->local_trans; NULL: there is no local_trans */
	const char *why_fabric;
};

/* Makes a connection in state DIALLING or OFFERED. NULL: no memory, or no random numbers. */
struct dofi_conn *dofi_conn_new(struct dofi_ia *ia, enum dofi_conn_state state);
void dofi_conn_free(struct dofi_conn *conn);

struct dofi_conn *dofi_conn_by_id(struct dofi_ia *ia, uint32_t id);
/* The same, if the secret of its token matches, too. */
struct dofi_conn *dofi_conn_by_secret(struct dofi_ia *ia, uint32_t id, uint32_t secret);
/*
 * The EP of a connection whose peer can have sent messages: its data path is there, it is not over,
 * and not for datagrams. Otherwise NULL, as for number 0. Completion data may contain any number.
 * engine.lock held.
 */
struct dofi_ep *dofi_conn_ep(struct dofi_ia *ia, uint32_t id);
/* A passive connection that waits for its path. */
struct dofi_conn *dofi_conn_by_token(struct dofi_ia *ia, const uint8_t token[DOFI_TOKEN_SIZE]);

/* It has ended; the fabric may still have some of its operations. */
static inline bool dofi_conn_is_over(const struct dofi_conn *conn)
{
	return conn->state == DOFI_CONN_LINGERING || conn->state == DOFI_CONN_RELEASING ||
	       conn->state == DOFI_CONN_ENDED;
}

/* The end is decided. */
static inline bool dofi_conn_is_ending(const struct dofi_conn *conn)
{
	return conn->state == DOFI_CONN_ENDING || dofi_conn_is_over(conn);
}

/* While an end is decided and not carried out, the stage is that before. */
static inline enum dofi_conn_stage dofi_conn_stage(const struct dofi_conn *conn)
{
	return dofi_conn_stage_of(conn->state == DOFI_CONN_ENDING ? conn->ended_in : conn->state);
}

/*
 * Whether the peer may have sent messages. The connecting side is established first and tells the
 * peer so; until then the fabric may not have connected its endpoint.
 */
static inline bool dofi_conn_peer_can_send(const struct dofi_conn *conn)
{
	return conn->path_made && !(conn->active && dofi_conn_stage(conn) == DOFI_STAGE_LINKING);
}

/* The EP is known: chooses between ia->local_trans and the transport of the IA. */
void dofi_conn_choose_trans(struct dofi_conn *conn);

void dofi_conn_enter(struct dofi_conn *conn, enum dofi_conn_state state);

/* Messages of ours that the fabric was given in this connection. engine.lock held. */
uint32_t dofi_conn_sent(const struct dofi_conn *conn);
/* Notes that its request was sent twice, so it may come twice. */
void dofi_conn_repeated(struct dofi_conn *conn);
/*
 * Registers a watcher of completions until the connection is freed: operations under way at the end
 * have to be noticed when they complete.
 */
void dofi_conn_watch(struct dofi_conn *conn);
void dofi_conn_set_private(struct dofi_conn *conn, const void *data, uint32_t size);
/* The peer's address and its n-th candidate port, for the log; returns text. */
const char *dofi_conn_port_text(const struct dofi_conn *conn, uint32_t n,
				char text[DOFI_ADDR_TEXT]);

#endif
