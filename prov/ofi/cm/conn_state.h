/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The states of a connection, the events that it meets, and the table that tells what it does then
 * and in which state it is afterwards. Nothing here has a side effect: conn_event.c carries the
 * actions out. docs/connections.md shows the table as a list of transitions.
 */
#ifndef DOFI_CONN_STATE_H
#define DOFI_CONN_STATE_H

enum dofi_conn_state {
	/* The side that calls dat_ep_connect. */
	DOFI_CONN_DIALLING,   /* waits for a control channel, or for the next round of ports */
	DOFI_CONN_REQUESTED,  /* waits for the peer's answer */
	DOFI_CONN_CONNECTING, /* the peer has accepted; the fabric connects */
	/* The side that listens. */
	DOFI_CONN_OFFERED,   /* the consumer holds a CR */
	DOFI_CONN_ABANDONED, /* the connector is gone; the CR stays until it is decided (CR-042) */
	DOFI_CONN_ACCEPTED,  /* neither the path nor READY has come */
	DOFI_CONN_READY_PENDING, /* the fabric says that the path is up; READY has not come */
	DOFI_CONN_PATH_PENDING,  /* READY came before there was a path */
	DOFI_CONN_PATH_LOST,     /* the path was up and is not; READY or BYE may lie unread */
	/* Both. */
	DOFI_CONN_ESTABLISHED,
	DOFI_CONN_DRAINING,        /* dat_ep_disconnect: requests complete, then the peer is told */
	DOFI_CONN_GOODBYE_PENDING, /* the path is lost: the peer's BYE says why */
	DOFI_CONN_DATA_PENDING,    /* the peer's BYE overtook messages, which are waited for */
	DOFI_CONN_DATAGRAM,        /* an address handle stands for it, and one of the peer's */
	DOFI_CONN_SENDING_ONLY,    /* of datagrams: the peer has freed its address handle */
	DOFI_CONN_RECEIVING_ONLY,  /* of datagrams: ours is freed, the peer may send by its own */
	/* The end. */
	DOFI_CONN_ENDING,    /* decided; carried out when the current batch is through */
	DOFI_CONN_LINGERING, /* the peer may not have taken all of what is complete; linger.h */
	DOFI_CONN_RELEASING, /* the peer is told; the fabric gives back what it still has */
	DOFI_CONN_ENDED,     /* the object goes */
	DOFI_CONN_STATES
};

/* How far a connection got, where the rest of the library asks no more. */
enum dofi_conn_stage {
	DOFI_STAGE_ASKING,
	DOFI_STAGE_OFFERED,
	DOFI_STAGE_LINKING, /* accepted; the data path comes up */
	DOFI_STAGE_UP,
	DOFI_STAGE_OVER,
};

enum dofi_conn_event {
	/* The control channel. */
	DOFI_ON_CHAN_UP,
	DOFI_ON_PORT_REFUSED, /* nobody listens there, or another service */
	DOFI_ON_UNREACHABLE,  /* no way to the peer's host */
	DOFI_ON_DIAL_FAILED,  /* no port is left to ask, or this process cannot dial */
	DOFI_ON_REDIAL,       /* time for another round of ports */
	DOFI_ON_CHAN_CLOSED,  /* the peer's IA has closed in order */
	DOFI_ON_CHAN_LOST,
	/* The peer's answers to REQUEST; only the connecting side meets them. */
	DOFI_ON_ACCEPT,
	DOFI_ON_NOT_MINE,        /* REJECT: that process does not serve the qualifier */
	DOFI_ON_CONSUMER_REJECT, /* REJECT: by its consumer */
	DOFI_ON_REJECT,          /* REJECT: for any other reason */
	/* REQUEST, once more on another channel; only the accepting side meets it. */
	DOFI_ON_REQUEST_AGAIN,
	/* READY; only the accepting side meets it. */
	DOFI_ON_READY,
	DOFI_ON_READY_EARLY, /* there is no path yet */
	DOFI_ON_UD_READY,    /* of datagrams */
	/* Other messages of the peer. */
	DOFI_ON_DISCONNECT, /* its dat_ep_disconnect has begun */
	DOFI_ON_BYE,        /* BYE or CANCEL, in order */
	DOFI_ON_BYE_ERROR,  /* BYE or CANCEL, because its end broke */
	DOFI_ON_BYE_EARLY,  /* BYE, and messages that were sent before it are still to come */
	/* The fabric. */
	DOFI_ON_PATH_UP,
	DOFI_ON_UD_PATH_UP, /* of datagrams */
	DOFI_ON_PATH_DOWN,
	DOFI_ON_UD_PATH_DOWN,  /* of datagrams */
	DOFI_ON_FIRST_MESSAGE, /* a message came, so the peer is up */
	DOFI_ON_LAST_MESSAGE,  /* all that the peer sent before its BYE has come */
	/* Time. */
	DOFI_ON_TIMER,
	DOFI_ON_OVERDUE, /* the accepting side has waited for long enough */
	/* The consumer, or this library. */
	DOFI_ON_CR_ACCEPT,
	DOFI_ON_CR_REJECT,
	DOFI_ON_LEAVE,    /* dat_ep_disconnect, graceful */
	DOFI_ON_DRAINED,  /* its requests are complete and have reached the peer */
	DOFI_ON_END,      /* abrupt disconnect, dat_ep_free, an operation that failed */
	DOFI_ON_CLOSE,    /* the end that was decided is due */
	DOFI_ON_UD_CLOSE, /* the same for an attempt to get an address handle */
	DOFI_ON_TAKEN,    /* the peer has taken everything, or was waited for long enough */
	DOFI_ON_RELEASED, /* the fabric has nothing of it, or was waited for long enough */
	DOFI_ON_AH_FREED, /* the consumer frees the address handle */
	DOFI_CONN_EVENTS
};

/* Each but the first two is a function dofi_act_... of the file that is named. */
enum dofi_conn_action {
	DOFI_DO_FAIL, /* the event cannot happen in this state */
	DOFI_DO_NOTHING,
	/* connect.c */
	DOFI_DO_REQUEST,
	DOFI_DO_DIAL,
	DOFI_DO_DIAL_NEXT,
	DOFI_DO_ASK_ELSEWHERE,
	DOFI_DO_CONNECT,
	/* accept.c */
	DOFI_DO_LOSE_CONNECTOR,
	DOFI_DO_EXPECT,
	DOFI_DO_REJECT,
	DOFI_DO_CHECK_TIME,
	/* path.c */
	DOFI_DO_ESTABLISH,
	DOFI_DO_ESTABLISH_LOCKED,
	DOFI_DO_MAKE_AH,
	/* disconnect.c */
	DOFI_DO_LEAVE,
	DOFI_DO_HEAR_DISCONNECT,
	DOFI_DO_AWAIT_GOODBYE,
	DOFI_DO_AWAIT_DATA,
	DOFI_DO_AWAIT_BLAME,
	/* ud_ah.c */
	DOFI_DO_STOP_SENDING,
	DOFI_DO_STOP_LAST,
	DOFI_DO_LOSE_PEER,
	/* conn_end.c: the end is decided... */
	DOFI_DO_END,
	DOFI_DO_END_REFUSED,
	DOFI_DO_END_REJECTED,
	DOFI_DO_END_UNREACHABLE,
	DOFI_DO_END_TIMED_OUT,
	DOFI_DO_END_UNACCEPTED,
	DOFI_DO_END_OVERDUE,
	DOFI_DO_END_DRAINED,
	DOFI_DO_END_DISCONNECTED,
	DOFI_DO_END_BROKEN,
	DOFI_DO_END_AS_TOLD,
	/* ...and carried out */
	DOFI_DO_SHUT,
	DOFI_DO_STOP_LINGERING,
	DOFI_DO_LOOK,
	DOFI_DO_HANG_UP,
	DOFI_DO_PART,
	DOFI_DO_END_ATTEMPT,
	DOFI_CONN_ACTIONS
};

struct dofi_conn_step {
	enum dofi_conn_action action; /* carried out in the next state */
	enum dofi_conn_state next;
};

const struct dofi_conn_step *dofi_conn_step(enum dofi_conn_state state, enum dofi_conn_event event);
enum dofi_conn_stage dofi_conn_stage_of(enum dofi_conn_state state);

/* As docs/connections.md calls them. */
const char *dofi_conn_state_name(enum dofi_conn_state state);
const char *dofi_conn_event_name(enum dofi_conn_event event);

#endif
