/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tags and completion data of messages on a shared endpoint: their kind and their connection. */
#ifndef DOFI_RDM_TAG_H
#define DOFI_RDM_TAG_H

#include "cm/conn.h"
#include "dto/credit.h"
#include "fabric/quirks.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/srq_count.h"

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Tags of 48 bits: the kind; 17 bits of the receiver's token, or the number of its SRQ; the
 * receiver's connection number. All datagrams have the same tag.
 */
#define DOFI_TAG_UD         (1ull << 45)
#define DOFI_TAG_EP         (1ull << 46)
#define DOFI_TAG_SRQ        (2ull << 46)
#define DOFI_TAG_CTRL       (3ull << 46)
#define DOFI_TAG_KIND       (3ull << 46)
#define DOFI_TAG_NUMBER     (uint64_t) DOFI_CONN_ID_MASK
#define DOFI_TAG_SHIFT      29
#define DOFI_TAG_OF_SRQ(nr) (DOFI_TAG_SRQ | (uint64_t)(nr) << DOFI_TAG_SHIFT)

/* The tag of messages to the EP of this token. Only peers that got the token know it. */
static inline uint64_t dofi_tag_of_ep(const uint8_t token[DOFI_TOKEN_SIZE], uint32_t number)
{
	uint64_t secret = dofi_token_tag(token) & DOFI_SRQ_NUMBER;

	return DOFI_TAG_EP | secret << DOFI_TAG_SHIFT | number;
}

/*
 * Whether the completion data contain the connection number of a message for an SRQ. On most
 * fabrics the tag contains it, so that errors report it, too. On shm the completion data do, and
 * tags match exactly, because shm of libfabric 1.17 does not match a receive with a mask to a
 * message that came before.
 */
static inline bool dofi_rdm_data_has_number(const struct dofi_ia *ia)
{
	return ia->quirks & DOFI_QUIRK_TAG_MASK &&
	       ia->info->domain_attr->cq_data_size >= sizeof(uint64_t);
}

/*
 * The completion data of a message: the update, and for an SRQ the connection and message numbers.
 */
static inline uint64_t dofi_rdm_encode(const struct dofi_ep *ep, uint32_t update)
{
	uint64_t number =
		dofi_rdm_data_has_number(ep->obj.ia) ? (uint64_t)ep->peer.number << 32 : 0;

	return number | update | (ep->nsent & DOFI_UPDATE_NUMBER) << DOFI_UPDATE_NUMBER_SHIFT;
}

static inline uint32_t dofi_rdm_number(const struct dofi_ia *ia, uint64_t tag, uint64_t flags,
				       uint64_t data)
{
	if ((tag & DOFI_TAG_KIND) == DOFI_TAG_SRQ && dofi_rdm_data_has_number(ia))
		return flags & FI_REMOTE_CQ_DATA ? (uint32_t)(data >> 32) : 0;
	return (uint32_t)(tag & DOFI_TAG_NUMBER);
}

#endif
