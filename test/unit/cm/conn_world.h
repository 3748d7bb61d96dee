/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One connection in an environment that a test controls: a transport, a control channel and event
 * dispatchers that record their calls; the events that may happen to the connection, and the way to
 * each of its states. The linker replaces the functions that lead out of the connection.
 */
#ifndef T_CONN_WORLD_H
#define T_CONN_WORLD_H

#include "unit.h"

#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/conn_end.h"
#include "cm/conn_event.h"
#include "cm/conn_message.h"
#include "cm/connect.h"
#include "cm/disconnect.h"
#include "cm/path.h"
#include "dto/ud.h"
#include "progress/evd.h"
#include "progress/timer.h"
#include "object/ia.h"
#include "object/transport.h"

/* Before the variables, because its functions have parameters of the same names. */
#include <rdma/fi_endpoint.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* --- the environment of the connection --- */

extern struct dofi_ia ia;
extern struct dofi_chan chan;
extern struct dofi_evd evd;
extern struct dofi_ud ud;
extern struct dofi_ep ep;
extern struct dofi_conn *conn;
extern uint32_t id; /* of conn, which may be freed */
extern uint64_t now;
extern const struct dofi_trans_ops trans;

/* What the connection has done, in the words of conn_cells.h. */
extern char trace[512];
extern char sent_private[DOFI_MAX_PRIVATE]; /* of the last message */
extern uint16_t sent_flags;
extern uint32_t sent_data;        /* of the last message */
extern struct dofi_msg last_msg;  /* its private data are gone */
extern uint16_t disconnect_flags; /* of the last DISCONNECT */
extern struct dofi_event last_event;
extern uint16_t dialled_port; /* the last one */
extern int released_status;   /* of the requests of a connection that has ended; -1: of none */
extern int nkicks;            /* of a thread that sleeps as driver */
extern int nlinger_waits;
extern int nsettled;     /* SRQs whose truncated message may be another EP's */
extern int nsilent;      /* address handles by which no datagram is sent any more */
extern bool takes_posts; /* the last of them, when the requests were detached from it */

/* What the environment does. */
extern int connect_fails; /* the error */
extern bool expect_fails, expects_later;
extern bool makes_path; /* when the connection is accepted or expected */
extern enum dofi_reason offer_result;
extern bool overloaded; /* the host */
extern bool sync_fails; /* the fabric has no room */
extern bool mark_finds_no_room;
extern uint64_t heard_qual;           /* of messages of the peer */
extern void (*while_waiting)(void);   /* what a wait in a call lets happen */
extern void (*while_draining)(void);  /* what the completion queue has when it is read */
extern void (*while_hearing)(void);   /* what lies in the channel's socket */
extern void (*while_reading)(void);   /* what lies in the local socket */
extern void (*while_unlinking)(void); /* the transport takes the path down */

/* The cells of the table that the test cases have covered, or NULL. */
extern bool (*met)[DOFI_CONN_EVENTS];
/* A test lets an event happen that cannot come. */
extern bool expects_impossible;
/* The table itself. */
const struct dofi_conn_step *__real_dofi_conn_step(enum dofi_conn_state state,
						   enum dofi_conn_event event);

__attribute__((format(printf, 1, 2))) void note(const char *fmt, ...);

void run_work(void);

bool is_gone(void);

/* A test case of the suite, in which each test has a new environment. */
TCase *add_case(Suite *suite, const char *name);

/* --- events --- */

/* Events of a connection. */
enum happening {
	CHAN_UP,
	PORT_REFUSED,
	UNREACHABLE,
	DIAL_FAILED,
	REDIAL,
	TIMER,
	OVERDUE,
	CHAN_CLOSED,
	CHAN_LOST,
	MSG_ACCEPT,
	MSG_NOT_MINE,
	MSG_REJECT_CONSUMER,
	MSG_REJECT,
	MSG_READY,
	MSG_DISCONNECT,
	MSG_CANCEL,
	MSG_BYE,
	MSG_BYE_ERROR,
	MSG_BYE_EARLY, /* one message that the peer has sent is still to come */
	PATH_UP,
	PATH_DOWN,
	FIRST_MESSAGE,
	LAST_MESSAGE,
	CR_ACCEPT,
	CR_REJECT,
	DISCONNECT, /* gracefully; the peer may not have everything */
	DRAINED,
	ABRUPT,
	FREE,
	FAIL,     /* an operation failed */
	TAKEN,    /* the peer has everything that was sent before the end */
	RELEASED, /* the fabric has given back what it still had */
	LIMIT,    /* both have been waited for long enough */
	AH_FREE,  /* the consumer frees the address handle */
	WORK,     /* only deferred work runs */
	HAPPENINGS
};

void happens(enum happening what);

void hear(enum dofi_msg_type type, enum dofi_reason reason, uint32_t count);

/* `missing`: how many messages that the peer has sent are still to come. */
void hear_bye(enum dofi_reason reason, uint32_t missing);

bool is_armed(const struct dofi_timer *timer);

void fire(struct dofi_timer *timer);

void fail_dial(int err);

/* --- the states, reached as real connections reach them --- */

/* States of a connection. Some come twice, for both sides and for datagrams. */
enum situation {
	DIALLING,
	REDIALLING, /* no listener was found; all ports are tried again soon */
	REQUESTED,
	CONNECTING,
	OFFERED,
	ABANDONED, /* the connector is gone, the CR undecided */
	ACCEPTED,
	READY_PENDING,
	PATH_PENDING,
	PATH_LOST,
	ESTABLISHED,
	ACTIVE_ESTABLISHED,
	DRAINING,
	GOODBYE_PENDING,
	DATA_PENDING,
	UD_CONNECTING,
	UD_ACCEPTED,
	DATAGRAM,
	SENDING_ONLY,
	RECEIVING_ONLY,
	ACTIVE_DRAINING,
	ACTIVE_GOODBYE_PENDING,
	ACTIVE_DATA_PENDING,
	ACTIVE_DATAGRAM,
	ACTIVE_SENDING_ONLY,
	ACTIVE_RECEIVING_ONLY,
	LEAVING_GOODBYE_PENDING, /* after dat_ep_disconnect */
	LEAVING_DATA_PENDING,
	DIAL_ENDING,
	REDIAL_ENDING,
	UD_ENDING,
	ENDING,
	LINGERING,
	RELEASING,
	SITUATIONS
};

/* The EP connects. */
void start(void);

/* The peer connects. */
void be_asked(void);

void reach(enum situation which);

#endif
