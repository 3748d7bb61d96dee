/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/conn_state.h"

/* --- names --- */

#define STATE(name, at) [DOFI_CONN_##name] = {#name, DOFI_STAGE_##at}

static const struct {
	const char *name;
	enum dofi_conn_stage stage;
} states[DOFI_CONN_STATES] = {
	STATE(DIALLING, ASKING),
	STATE(REQUESTED, ASKING),
	STATE(CONNECTING, LINKING),
	STATE(OFFERED, OFFERED),
	STATE(ABANDONED, OFFERED),
	STATE(ACCEPTED, LINKING),
	STATE(READY_PENDING, LINKING),
	STATE(PATH_PENDING, LINKING),
	STATE(PATH_LOST, LINKING),
	STATE(ESTABLISHED, UP),
	STATE(DRAINING, UP),
	STATE(GOODBYE_PENDING, UP),
	STATE(DATA_PENDING, UP),
	STATE(DATAGRAM, UP),
	STATE(SENDING_ONLY, UP),
	STATE(RECEIVING_ONLY, UP),
	/* ENDING: dofi_conn_stage returns the stage of the state before */
	STATE(ENDING, OVER),
	STATE(LINGERING, OVER),
	STATE(RELEASING, OVER),
	STATE(ENDED, OVER),
};

#define EVENT(name) [DOFI_ON_##name] = #name

static const char *const events[DOFI_CONN_EVENTS] = {
	EVENT(CHAN_UP),      EVENT(PORT_REFUSED),    EVENT(UNREACHABLE),  EVENT(DIAL_FAILED),
	EVENT(REDIAL),       EVENT(CHAN_CLOSED),     EVENT(CHAN_LOST),    EVENT(ACCEPT),
	EVENT(NOT_MINE),     EVENT(CONSUMER_REJECT), EVENT(REJECT),       EVENT(REQUEST_AGAIN),
	EVENT(READY),        EVENT(READY_EARLY),     EVENT(UD_READY),     EVENT(DISCONNECT),
	EVENT(BYE),          EVENT(BYE_ERROR),       EVENT(BYE_EARLY),    EVENT(PATH_UP),
	EVENT(UD_PATH_UP),   EVENT(PATH_DOWN),       EVENT(UD_PATH_DOWN), EVENT(FIRST_MESSAGE),
	EVENT(LAST_MESSAGE), EVENT(TIMER),           EVENT(OVERDUE),      EVENT(CR_ACCEPT),
	EVENT(CR_REJECT),    EVENT(DRAIN),           EVENT(DRAINED),      EVENT(END),
	EVENT(CLOSE),        EVENT(UD_CLOSE),        EVENT(TAKEN),        EVENT(RELEASED),
	EVENT(AH_FREED),
};

const char *dofi_conn_state_name(enum dofi_conn_state state)
{
	return states[state].name;
}

const char *dofi_conn_event_name(enum dofi_conn_event event)
{
	return events[event];
}

enum dofi_conn_stage dofi_conn_stage_of(enum dofi_conn_state state)
{
	return states[state].stage;
}

/* --- the table --- */

#define ON(event, action, next) [DOFI_ON_##event] = {DOFI_DO_##action, DOFI_CONN_##next}
#define IGNORE(event, state)    ON(event, NOTHING, state)
#define END(event, outcome)     ON(event, END_##outcome, ENDING)

/* The consumer, or a failure, ends it. */
#define ENDS                    ON(END, END, ENDING)

/* Events of the data path that are ignored: late ones of an earlier connection. */
#define NO_MESSAGES(state)      IGNORE(FIRST_MESSAGE, state), IGNORE(LAST_MESSAGE, state)

/* Repeated answers of the peer. */
#define NO_ANSWERS(state)                                                               \
	IGNORE(ACCEPT, state), IGNORE(NOT_MINE, state), IGNORE(CONSUMER_REJECT, state), \
		IGNORE(REJECT, state)

/* The peer is gone, before the connection was established. */
#define GONE(outcome)                                                          \
	END(CHAN_CLOSED, outcome), END(CHAN_LOST, outcome), END(BYE, outcome), \
		END(BYE_ERROR, outcome)

/* Events in all states of the accepting side until the connection is established. */
#define UNACCEPTED(state) \
	GONE(UNACCEPTED), IGNORE(DISCONNECT, state), IGNORE(LAST_MESSAGE, state), ENDS

#define WITHIN_TIME(state)        ON(TIMER, CHECK_TIME, state), END(OVERDUE, OVERDUE)

/* What the peer sent before the connection ended may be late. */
#define LAST_WORD(state, outcome) ON(TIMER, WAIT_LONGER, state), END(OVERDUE, outcome)

/*
 * An established connection, whatever else it waits for; closed, lost: how it ends when the peer
 * closes the channel, or when the channel is lost.
 */
#define UP(state, closed, lost)                                                        \
	NO_ANSWERS(state), IGNORE(READY, state), IGNORE(PATH_UP, state),               \
		IGNORE(FIRST_MESSAGE, state), ON(DISCONNECT, PEER_DISCONNECTS, state), \
		ON(BYE_EARLY, AWAIT_DATA, DATA_PENDING), END(CHAN_CLOSED, closed),     \
		END(CHAN_LOST, lost), END(BYE, DISCONNECTED), END(BYE_ERROR, BROKEN), ENDS

/* Datagrams: the EP or the IA of the peer is gone, or the path to it. */
#define LOSES                                                               \
	ON(BYE_ERROR, LOSE_PEER, ENDED), ON(CHAN_CLOSED, LOSE_PEER, ENDED), \
		ON(CHAN_LOST, LOSE_PEER, ENDED), ON(UD_PATH_DOWN, LOSE_PEER, ENDED)

/* A connection whose end is decided or carried out. */
#define OVER(state)                                                               \
	NO_MESSAGES(state), IGNORE(CHAN_CLOSED, state), IGNORE(CHAN_LOST, state), \
		IGNORE(PATH_UP, state)

static const struct dofi_conn_step steps[DOFI_CONN_STATES][DOFI_CONN_EVENTS] = {
	[DOFI_CONN_DIALLING] =
		{
			ON(CHAN_UP, REQUEST, REQUESTED),
			ON(PORT_REFUSED, DIAL_NEXT, DIALLING),
			END(UNREACHABLE, UNREACHABLE),
			END(DIAL_FAILED, REFUSED),
			ON(REDIAL, DIAL, DIALLING),
			END(TIMER, TIMED_OUT),
			/* From a peer that has a channel already and breaks the protocol. */
			END(BYE, REFUSED),
			END(BYE_ERROR, REFUSED),
			NO_ANSWERS(DIALLING),
			IGNORE(DISCONNECT, DIALLING),
			NO_MESSAGES(DIALLING),
			ENDS,
		},
	[DOFI_CONN_REQUESTED] =
		{
			ON(ACCEPT, CONNECT, CONNECTING),
			ON(NOT_MINE, ASK_ELSEWHERE, DIALLING),
			END(CONSUMER_REJECT, REJECTED),
			END(REJECT, REFUSED),
			END(TIMER, TIMED_OUT),
			GONE(REFUSED),
			IGNORE(DISCONNECT, REQUESTED),
			NO_MESSAGES(REQUESTED),
			ENDS,
		},
	[DOFI_CONN_CONNECTING] =
		{
			ON(PATH_UP, ESTABLISH, ESTABLISHED),
			ON(FIRST_MESSAGE, ESTABLISH_LOCKED, ESTABLISHED),
			ON(UD_PATH_UP, MAKE_AH, DATAGRAM),
			END(PATH_DOWN, REFUSED),
			END(UD_PATH_DOWN, REFUSED),
			END(TIMER, TIMED_OUT),
			GONE(REFUSED),
			NO_ANSWERS(CONNECTING),
			IGNORE(DISCONNECT, CONNECTING),
			IGNORE(LAST_MESSAGE, CONNECTING),
			ENDS,
		},
	[DOFI_CONN_OFFERED] =
		{
			ON(CR_ACCEPT, EXPECT, ACCEPTED),
			ON(CR_REJECT, REJECT, ENDED),
			ON(CHAN_CLOSED, LOSE_CONNECTOR, ABANDONED),
			ON(CHAN_LOST, LOSE_CONNECTOR, ABANDONED),
			ON(BYE, LOSE_CONNECTOR, ABANDONED),
			ON(BYE_ERROR, LOSE_CONNECTOR, ABANDONED),
			/* The loss of the former channel was not noticed yet. */
			IGNORE(REQUEST_AGAIN, OFFERED),
			IGNORE(READY_EARLY, OFFERED),
			IGNORE(DISCONNECT, OFFERED),
		},
	[DOFI_CONN_ABANDONED] =
		{
			ON(CR_ACCEPT, EXPECT, ACCEPTED),
			ON(CR_REJECT, REJECT, ENDED),
			ON(REQUEST_AGAIN, NOTHING, OFFERED),
		},
	[DOFI_CONN_ACCEPTED] =
		{
			ON(READY, ESTABLISH, ESTABLISHED),
			ON(READY_EARLY, NOTHING, PATH_PENDING),
			ON(UD_READY, MAKE_AH, DATAGRAM),
			ON(PATH_UP, NOTHING, READY_PENDING),
			ON(FIRST_MESSAGE, ESTABLISH_LOCKED, ESTABLISHED),
			/* The fabric may never have reported the path. */
			ON(PATH_DOWN, AWAIT_GOODBYE, PATH_LOST),
			END(UD_PATH_DOWN, UNACCEPTED),
			WITHIN_TIME(ACCEPTED),
			UNACCEPTED(ACCEPTED),
		},
	[DOFI_CONN_READY_PENDING] =
		{
			ON(READY, ESTABLISH, ESTABLISHED),
			ON(FIRST_MESSAGE, ESTABLISH_LOCKED, ESTABLISHED),
			ON(PATH_DOWN, AWAIT_GOODBYE, PATH_LOST),
			IGNORE(PATH_UP, READY_PENDING),
			WITHIN_TIME(READY_PENDING),
			UNACCEPTED(READY_PENDING),
		},
	[DOFI_CONN_PATH_PENDING] =
		{
			ON(PATH_UP, ESTABLISH, ESTABLISHED),
			ON(FIRST_MESSAGE, ESTABLISH_LOCKED, ESTABLISHED),
			/* A second READY, after the path was made. */
			ON(READY, ESTABLISH, ESTABLISHED),
			IGNORE(READY_EARLY, PATH_PENDING),
			/* The peer is established: BYE tells it. */
			END(PATH_DOWN, LOST),
			WITHIN_TIME(PATH_PENDING),
			UNACCEPTED(PATH_PENDING),
		},
	[DOFI_CONN_PATH_LOST] =
		{
			ON(READY, ESTABLISH, GOODBYE_PENDING),
			/* The path was lost before it was made, and the peer is established. */
			END(READY_EARLY, LOST),
			ON(FIRST_MESSAGE, ESTABLISH_LOCKED, GOODBYE_PENDING),
			ON(PATH_DOWN, AWAIT_GOODBYE, PATH_LOST),
			IGNORE(PATH_UP, PATH_LOST),
			LAST_WORD(PATH_LOST, LOST),
			UNACCEPTED(PATH_LOST),
		},
	[DOFI_CONN_ESTABLISHED] =
		{
			ON(DRAIN, DRAIN, DRAINING),
			ON(PATH_DOWN, AWAIT_GOODBYE, GOODBYE_PENDING),
			IGNORE(LAST_MESSAGE, ESTABLISHED),
			UP(ESTABLISHED, DISCONNECTED, BROKEN),
		},
	[DOFI_CONN_DRAINING] =
		{
			END(DRAINED, DRAINED),
			ON(PATH_DOWN, AWAIT_GOODBYE, GOODBYE_PENDING),
			IGNORE(LAST_MESSAGE, DRAINING),
			UP(DRAINING, DISCONNECTED, BROKEN),
		},
	[DOFI_CONN_GOODBYE_PENDING] =
		{
			ON(DRAIN, DRAIN, GOODBYE_PENDING),
			END(DRAINED, DRAINED),
			ON(PATH_DOWN, AWAIT_GOODBYE, GOODBYE_PENDING),
			LAST_WORD(GOODBYE_PENDING, BROKEN),
			IGNORE(LAST_MESSAGE, GOODBYE_PENDING),
			UP(GOODBYE_PENDING, DISCONNECTED, BROKEN),
		},
	[DOFI_CONN_DATA_PENDING] =
		{
			ON(DRAIN, DRAIN, DATA_PENDING),
			END(DRAINED, DRAINED),
			END(LAST_MESSAGE, BY_BYE),
			LAST_WORD(DATA_PENDING, BY_BYE),
			ON(PATH_DOWN, AWAIT_CULPRIT, DATA_PENDING),
			/* BYE has told how it ends. */
			UP(DATA_PENDING, BY_BYE, BY_BYE),
		},
	[DOFI_CONN_DATAGRAM] =
		{
			ON(BYE, NOTHING, SENDING_ONLY),
			ON(AH_FREED, STOP_SENDING, RECEIVING_ONLY),
			LOSES,
			NO_ANSWERS(DATAGRAM),
			IGNORE(UD_READY, DATAGRAM),
			ENDS,
		},
	[DOFI_CONN_SENDING_ONLY] =
		{
			ON(AH_FREED, STOP_LAST, ENDED),
			LOSES,
			/* BYE comes once */
			IGNORE(BYE, SENDING_ONLY),
			NO_ANSWERS(SENDING_ONLY),
			IGNORE(UD_READY, SENDING_ONLY),
			ENDS,
		},
	[DOFI_CONN_RECEIVING_ONLY] =
		{
			ON(BYE, LOSE_PEER, ENDED),
			LOSES,
			NO_ANSWERS(RECEIVING_ONLY),
			IGNORE(UD_READY, RECEIVING_ONLY),
			ENDS,
		},
	[DOFI_CONN_ENDING] =
		{
			ON(CLOSE, SHUT, LINGERING),
			ON(UD_CLOSE, END_ATTEMPT, ENDED),
			IGNORE(CHAN_UP, ENDING),
			IGNORE(REDIAL, ENDING),
			IGNORE(TIMER, ENDING),
			IGNORE(UD_PATH_UP, ENDING),
			IGNORE(PATH_DOWN, ENDING),
			IGNORE(UD_PATH_DOWN, ENDING),
			OVER(ENDING),
		},
	[DOFI_CONN_LINGERING] =
		{
			ON(TAKEN, SEND_BYE, RELEASING),
			ON(TIMER, CHECK_END, LINGERING),
			ON(PATH_DOWN, STOP_LINGERING, LINGERING),
			OVER(LINGERING),
		},
	[DOFI_CONN_RELEASING] =
		{
			ON(RELEASED, RELEASE, ENDED),
			ON(TIMER, CHECK_END, RELEASING),
			IGNORE(PATH_DOWN, RELEASING),
			OVER(RELEASING),
		},
	/* While the transport takes the path down. */
	[DOFI_CONN_ENDED] =
		{
			NO_MESSAGES(ENDED),
			IGNORE(PATH_UP, ENDED),
			IGNORE(PATH_DOWN, ENDED),
		},
};

const struct dofi_conn_step *dofi_conn_step(enum dofi_conn_state state, enum dofi_conn_event event)
{
	return &steps[state][event];
}
