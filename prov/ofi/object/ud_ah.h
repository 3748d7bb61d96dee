/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles of UD EPs, and the numbers of the events that contain them. */
#ifndef DOFI_UD_AH_H
#define DOFI_UD_AH_H

#include "object/ep.h"
#include "object/object.h"

/* Event numbers, and types of their extension data, as in dat_ib_extensions.h. */
enum {
	DOFI_UD_EVENT_REQUEST = 0x40001,
	DOFI_UD_EVENT_ESTABLISHED = 0x40002,
	DOFI_UD_EVENT_REJECTED = 0x40003,
	DOFI_UD_EVENT_ERROR = 0x40004,

	DOFI_UD_TYPE_REQUEST = 5,
	DOFI_UD_TYPE_REMOTE_AH = 6,
	DOFI_UD_TYPE_PASSIVE_AH = 7,
	DOFI_UD_TYPE_SEND = 8,
	DOFI_UD_TYPE_RECV = 9,
	DOFI_UD_TYPE_REJECTED = 10,
	DOFI_UD_TYPE_ERROR = 11,

	DOFI_UD_DTO_SEND = 13,
	DOFI_UD_DTO_RECV = 14,
};

#define DOFI_HANDLE_TYPE_AH ((DAT_HANDLE_TYPE)12) /* DAT_IB_HANDLE_TYPE_EXT */

/*
 * The result of a connection of a UD EP: for the consumer, an address handle and the context of
 * dat_ib_ud_cm_free. It is freed when both are freed and the peer has freed its own or is gone, or
 * with the EP. Guarded by engine.lock; the fields that posts read never change.
 *
 * The private data of a rejection are in such an object, too, of which the consumer gets no handle.
 */
struct dofi_ud_ah {
	struct dofi_obj obj;
	struct dofi_list link; /* in ep->ud->ahs or .rejections */
	struct dofi_ep *ep;
	struct dofi_conn *conn;          /* NULL: the peer is gone, or neither side needs it */
	uint64_t dest;                   /* the fabric's address of the peer IA */
	uint32_t number;                 /* number of the EP there */
	struct dofi_wakeup_peer *wakeup; /* or NULL */
	uint32_t peer_conn, peer_secret; /* what control messages name the connection there by */
	_Atomic bool gone;               /* freed, or the peer is gone: datagrams to it are lost */
	_Atomic bool ah_freed;
	bool cm_freed;
	/* time since which the fabric has accepted none; 0: it accepts them */
	_Atomic uint64_t again_since;
	/*
	 * dto/ud_window.h: datagrams sent and, of these, taken by the peer; several EPs may send at
	 * the same time
	 */
	_Atomic uint32_t sent, taken;
	_Atomic bool marked;     /* a mark is under way */
	struct dofi_list answer; /* in ia->ud_answers when one is due, of this update */
	uint32_t answer_update;
	struct sockaddr_storage addr;
	_Atomic bool told; /* in ep->ud->rejections: its event was dequeued */
	uint32_t private_size;
	_Alignas(8) uint8_t private_data[DOFI_MAX_PRIVATE];
};

static inline struct dofi_ud_ah *dofi_ud_ah(const void *handle)
{
	return dofi_obj_is(handle, DOFI_HANDLE_TYPE_AH) ? (struct dofi_ud_ah *)(uintptr_t)handle
							: NULL;
}

#endif
