/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The control channel's protocol. A stream of frames in network byte order, each a 32-bit length
 * and a body. Each side sends HELLO, PROOF (not with auth=none), DETAILS, and then messages of one
 * fixed layout followed by private data. DETAILS and messages end with a seal, unless auth=none.
 */
#ifndef DOFI_WIRE_H
#define DOFI_WIRE_H

#include "auth/session.h"
#include "object/ia_parts.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define DOFI_WIRE_MAGIC       0x6461744fu
#define DOFI_WIRE_VERSION     5u
#define DOFI_WIRE_MAX_FRAME   4096u /* length word included; a longer frame breaks the protocol */
#define DOFI_WIRE_MAX_PRIVATE 256u

enum dofi_msg_type {
	DOFI_MSG_REQUEST = 1, /* active -> passive: connect me to conn_qual */
	DOFI_MSG_ACCEPT,      /* passive -> active: yes */
	DOFI_MSG_REJECT,      /* passive -> active: reason */
	DOFI_MSG_READY,       /* active -> passive: third leg, I am established */
	/*
	 * the request is withdrawn; also the answer to ACCEPT or COUNT for a connection that is
	 * gone
	 */
	DOFI_MSG_CANCEL,
	DOFI_MSG_DISCONNECT, /* graceful disconnect began; flag: no receive posted here */
	DOFI_MSG_BYE,        /* connection is over; reason tells how */
	DOFI_MSG_INVALIDATE, /* forget this context; answered by DONE */
	DOFI_MSG_DONE,       /* answer to INVALIDATE */
	DOFI_MSG_GOODBYE,    /* the IA closes in order */
	DOFI_MSG_COUNT,      /* how many messages have you sent? */
	DOFI_MSG_COUNTED,    /* answer to COUNT */
	/* send INVALIDATE when this context ends; answered by SUBSCRIBED if it is valid */
	DOFI_MSG_SUBSCRIBE,
	DOFI_MSG_SUBSCRIBED,
	DOFI_MSG_TYPES
};

enum dofi_reason {
	DOFI_REASON_NONE,
	DOFI_REASON_CONSUMER,   /* rejected by the consumer */
	DOFI_REASON_NOT_MINE,   /* this process does not serve that conn_qual: try the next port */
	DOFI_REASON_RESOURCES,  /* backlog full, out of memory */
	DOFI_REASON_DISCONNECT, /* BYE after dat_ep_disconnect, dat_ep_free, dat_ia_close */
	DOFI_REASON_ERROR,      /* BYE because the connection broke */
};

#define DOFI_MSG_F_NO_RECV     1u /* DISCONNECT: no receive is posted */
/* REQUEST, ACCEPT: this EP notifies by the Send's solicited flag */
#define DOFI_MSG_F_SOLICITED   2u
/* REQUEST, ACCEPT: wants completion data, `src`, with every message */
#define DOFI_MSG_F_DATA        4u
#define DOFI_MSG_F_CTRL_MSGS   16u /* REQUEST, ACCEPT: takes control records as control messages */
/* REQUEST, ACCEPT: tells how many receives it has posted, `data` so far */
#define DOFI_MSG_F_CREDITS     8u
/* REQUEST, ACCEPT: this end's device does atomic operations for the peer */
#define DOFI_MSG_F_ATOMICS     64u
/* REQUEST, ACCEPT: for datagrams; `context` is the number of the EP */
#define DOFI_MSG_F_UD          128u
/*
 * REQUEST: the data path may be shared memory; ACCEPT: a segment was passed by the local socket
 * (transport/memory.h)
 */
#define DOFI_MSG_F_MEMORY      256u
/* REQUEST: it was sent before, on a channel that was lost; perhaps it has arrived */
#define DOFI_MSG_F_AGAIN       512u
/* REQUEST, ACCEPT: credit updates are writes to the credit word with the index `context` */
#define DOFI_MSG_F_CREDIT_WORD 32u
/*
 * Any message of the connecting side about the connection: it is established, but has sent no
 * READY, because the fabric tells the peer. This message may overtake the fabric.
 */
#define DOFI_MSG_F_UP          1024u

/* The connection number, then 128 random bits. */
#define DOFI_TOKEN_SIZE        20u

/*
 * Two parts of the random bits: the secret that control messages contain beside the number, and the
 * bits in the tags of messages.
 */
static inline uint32_t dofi_token_secret(const uint8_t token[DOFI_TOKEN_SIZE])
{
	uint32_t secret;

	memcpy(&secret, token + 4, sizeof(secret));
	return secret;
}

static inline uint32_t dofi_token_tag(const uint8_t token[DOFI_TOKEN_SIZE])
{
	uint32_t tag;

	memcpy(&tag, token + 8, sizeof(tag));
	return ntohl(tag);
}

struct dofi_msg {
	uint8_t type;
	uint8_t reason;
	uint16_t flags;
	uint32_t dst, src;  /* connection ids of receiver and sender; 0: not known yet */
	uint64_t conn_qual; /* REQUEST; ACCEPT: the qualifier that is served */
	uint64_t port_qual; /* REQUEST: the active EP's local qualifier */
	uint64_t number;    /* INVALIDATE, DONE, COUNT, COUNTED */
	/* REQUEST, ACCEPT: the peer's data path has to present it */
	uint8_t token[DOFI_TOKEN_SIZE];
	uint32_t read_in, read_out;
	uint32_t pz;   /* number of the EP's protection zone */
	uint32_t data; /* a count: receives posted, messages received or sent */
	uint32_t srq;  /* REQUEST, ACCEPT: the SRQ that messages go to; 0: none */
	/*
	 * INVALIDATE, SUBSCRIBE, SUBSCRIBED; REQUEST, ACCEPT: of the EP's control slots, or index
	 * of its credit word
	 */
	uint32_t context;
	uint32_t private_size;
	const void *private_data; /* decoded: points into the frame */
};

/* All that a peer learns before it has proved that it has the key. */
struct dofi_hello {
	uint8_t role; /* enum dofi_role */
	uint8_t nonce[16];
	uint8_t key_id[DOFI_KEY_ID_SIZE]; /* 0: auth=none */
};

#define DOFI_PROVIDER_SIZE 32u

struct dofi_details {
	uint8_t uuid[16]; /* of the IA; made at dat_ia_open */
	/* of libfabric, with a mark for an old one (handshake.c); both ends must agree */
	char provider[DOFI_PROVIDER_SIZE];
	uint8_t transport;            /* enum of transport.h; both ends must agree */
	struct sockaddr_storage addr; /* the IA's address */
	uint32_t fabric_name_size;
	uint8_t fabric_name[DOFI_FABRIC_NAME_MAX]; /* libfabric address of the data path */
	uint64_t ctxtab_key, ctxtab_address;
	uint32_t ctxtab_entries;
	uint64_t sink_key, sink_address; /* target of separate credit updates */
};

/* Whether both describe the same IA: two IAs never have the same endpoint. */
bool dofi_details_are_of_one(const struct dofi_details *a, const struct dofi_details *b);

/*
 * Encode a whole frame, length included, into buf of DOFI_WIRE_MAX_FRAME bytes; return its size.
 * Names have to fit.
 */
size_t dofi_wire_put_hello(uint8_t *buf, const struct dofi_hello *hello);
size_t dofi_wire_put_proof(uint8_t *buf, const uint8_t proof[DOFI_PROOF_SIZE]);
size_t dofi_wire_put_details(uint8_t *buf, const struct dofi_details *details);
size_t dofi_wire_put_msg(uint8_t *buf, const struct dofi_msg *msg);

/*
 * Finds the frame at the start of a stream of `fill` bytes: *size_p is its size, length word
 * included, or 0 while it is not complete. False if no valid frame begins so.
 */
bool dofi_wire_frame(const uint8_t *stream, size_t fill, size_t *size_p);
#define DOFI_WIRE_LENGTH 4u /* bytes of the length word; the body follows */

/* Whether the body is a HELLO of any version, and its version. The place of both never changes. */
bool dofi_wire_hello_version(const uint8_t *body, size_t size, uint32_t *version_p);

/* Decode a frame's body. False when it is malformed in any way, or a HELLO of another version. */
bool dofi_wire_get_hello(const uint8_t *body, size_t size, struct dofi_hello *hello_p);
bool dofi_wire_get_proof(const uint8_t *body, size_t size, uint8_t proof_p[DOFI_PROOF_SIZE]);
bool dofi_wire_get_details(const uint8_t *body, size_t size, struct dofi_details *details_p);
bool dofi_wire_get_msg(const uint8_t *body, size_t size, struct dofi_msg *msg_p);

/*
 * Seals a frame for a session, in the same buffer. Returns the new size, or 0 if the library for
 * cryptography fails. Changes nothing in a session without seals.
 */
size_t dofi_wire_seal(uint8_t *frame, size_t size, struct dofi_session *session);

/*
 * Checks the seal of a received frame and gives the size of its body. False if the frame is not the
 * next one of the session.
 */
bool dofi_wire_open(const uint8_t *frame, size_t size, struct dofi_session *session,
		    size_t *body_size_p);

/*
 * A conn_qual of 1024 to 65535 is the TCP port. Others are hashed to a port of this range, probed
 * in a fixed sequence: greater ones, and smaller ones, because ports below 1024 take a privilege
 * and belong to services of the host. InfiniBand has neither, so programs use small numbers.
 */
#define DOFI_PORT_BASE  16384u
#define DOFI_PORT_RANGE 16384u
#define DOFI_PORT_TRIES 16u

/* Whether conn_qual is the number of its port. */
static inline bool dofi_port_is_own(uint64_t conn_qual)
{
	return conn_qual >= IPPORT_RESERVED && conn_qual <= UINT16_MAX;
}

/* The n-th port at which conn_qual may be found; false when there is no n-th. */
bool dofi_port_candidate(uint64_t conn_qual, uint32_t n, uint16_t *port_p);

#endif
