/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams in tests of DAT 2.0: UD EPs, their events, and address handles. */
#ifndef T_UD_H
#define T_UD_H

#include "t.h"

#include <dat2/dat_ib_extensions.h>

#define T_UD_HEADER ((size_t)40) /* bytes of a receive in front of the data */

/* The contents of the event of an established UD connection. */
struct t_way {
	DAT_IB_ADDR_HANDLE ah;
	DAT_CONTEXT cm;
};

bool t_ud_offered(const struct t_ia *tia);
DAT_EP_ATTR t_ud_attr(const struct t_ia *tia);
void t_ud_end_new(struct t_end *end, const struct t_ia *on);

/* Wait for an event. Its extension data have this type. */
DAT_EVENT t_ud_wait(DAT_EVD_HANDLE evd, unsigned int number, DAT_IB_EXT_TYPE type,
		    DAT_IB_EXTENSION_EVENT_DATA *ext);
void t_ud_wait_dto(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_IB_EXT_TYPE type, uint64_t cookie,
		   DAT_DTO_COMPLETION_STATUS status, size_t length);
void t_ud_wait_sent(const struct t_end *from, uint64_t cookie, size_t length);
void t_ud_wait_received(const struct t_end *at, uint64_t cookie, size_t length);
DAT_CR_HANDLE t_ud_next_cr(const struct t_listener *at);
struct t_way t_ud_next_way(const struct t_end *at, DAT_IB_EXT_TYPE type, const void *data,
			   DAT_COUNT size);

DAT_RETURN t_ud_send(const struct t_end *from, struct t_way *by, size_t length, uint64_t cookie,
		     DAT_COMPLETION_FLAGS flags);
/* Frees both the address handle and its context. */
void t_ud_way_free(const struct t_end *of, struct t_way *way);

#endif
