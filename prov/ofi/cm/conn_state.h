/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The states of a connection, its events, and the table that gives the action and the next state
 * for each state and event. The functions here have no side effects: conn_event.c carries out the
 * actions. docs/connections.md shows the table as a list of transitions.
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
	/* Both sides. */
	DOFI_CONN_ESTABLISHED,
	/* dat_ep_disconnect: requests complete, then the peer is informed */
	DOFI_CONN_DRAINING,
	DOFI_CONN_GOODBYE_PENDING, /* the path is lost: the peer's BYE will tell the reason */
	DOFI_CONN_DATA_PENDING,    /* the peer's BYE overtook messages: waits for them */
	DOFI_CONN_DATAGRAM,        /* each side has an address handle for the connection */
	DOFI_CONN_SENDING_ONLY,    /* datagrams: the peer has freed its address handle */
	DOFI_CONN_RECEIVING_ONLY,  /* datagrams: our handle is freed, the peer may use its own */
	/* The end. */
	DOFI_CONN_ENDING, /* decided; carried out after the current batch of completions */
	/* the peer may not have received the data of all complete requests; linger.h */
	DOFI_CONN_LINGERING,
	DOFI_CONN_RELEASING, /* the peer is informed; the fabric returns its operations */
	DOFI_CONN_ENDED,     /* the object is freed */
	DOFI_CONN_STATES
};

/* Coarser than the state: all that the rest of the library needs to know. */
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
	DOFI_ON_PORT_REFUSED, /* nobody or another service listens there */
	DOFI_ON_UNREACHABLE,  /* the peer's host cannot be reached */
	DOFI_ON_DIAL_FAILED,  /* no port is left to try, or this process cannot dial */
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
	DOFI_ON_UD_READY,    /* for datagrams */
	/* Other messages of the peer. */
	DOFI_ON_DISCONNECT, /* its dat_ep_disconnect has begun */
	DOFI_ON_BYE,        /* BYE or CANCEL, in order */
	DOFI_ON_BYE_ERROR,  /* BYE or CANCEL, because its end broke */
	DOFI_ON_BYE_EARLY,  /* BYE, and messages that were sent before it are still to come */
	/* The fabric. */
	DOFI_ON_PATH_UP,
	DOFI_ON_UD_PATH_UP, /* for datagrams */
	DOFI_ON_PATH_DOWN,
	DOFI_ON_UD_PATH_DOWN,  /* for datagrams */
	DOFI_ON_FIRST_MESSAGE, /* a message came, so the peer is up */
	DOFI_ON_LAST_MESSAGE,  /* all that the peer sent before its BYE has come */
	/* Time. */
	DOFI_ON_TIMER,
	DOFI_ON_OVERDUE, /* the peer has had time enough */
	/* The consumer, or this library. */
	DOFI_ON_CR_ACCEPT,
	DOFI_ON_CR_REJECT,
	DOFI_ON_DRAIN,    /* dat_ep_disconnect, graceful */
	DOFI_ON_DRAINED,  /* the requests are complete and have reached the peer */
	DOFI_ON_END,      /* abrupt disconnect, dat_ep_free, an operation that failed */
	DOFI_ON_CLOSE,    /* the end that was decided is due */
	DOFI_ON_UD_CLOSE, /* the same for an attempt to get an address handle */
	DOFI_ON_TAKEN,    /* the peer has received everything, or the time for it is over */
	DOFI_ON_RELEASED, /* the fabric has returned everything, or the time for it is over */
	DOFI_ON_AH_FREED, /* the consumer frees the address handle */
	DOFI_CONN_EVENTS
};

/* Each action except the first two is a function dofi_act_... in the file named above it. */
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
	DOFI_DO_DRAIN,
	DOFI_DO_PEER_DISCONNECTS,
	DOFI_DO_AWAIT_GOODBYE,
	DOFI_DO_AWAIT_DATA,
	DOFI_DO_AWAIT_CULPRIT,
	DOFI_DO_WAIT_LONGER,
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
	DOFI_DO_END_LOST,
	DOFI_DO_END_DRAINED,
	DOFI_DO_END_DISCONNECTED,
	DOFI_DO_END_BROKEN,
	DOFI_DO_END_BY_BYE,
	/* ...and carried out */
	DOFI_DO_SHUT,
	DOFI_DO_STOP_LINGERING,
	DOFI_DO_CHECK_END,
	DOFI_DO_SEND_BYE,
	DOFI_DO_RELEASE,
	DOFI_DO_END_ATTEMPT,
	DOFI_CONN_ACTIONS
};

struct dofi_conn_step {
	enum dofi_conn_action action; /* carried out in the next state */
	enum dofi_conn_state next;
};

const struct dofi_conn_step *dofi_conn_step(enum dofi_conn_state state, enum dofi_conn_event event);
enum dofi_conn_stage dofi_conn_stage_of(enum dofi_conn_state state);

/* Names as in docs/connections.md. */
const char *dofi_conn_state_name(enum dofi_conn_state state);
const char *dofi_conn_event_name(enum dofi_conn_event event);

#endif
