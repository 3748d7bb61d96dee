/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two UD EPs of an IA on a fabric that a test controls: it keeps the receives of the library,
 * counts what is sent, and refuses either when the test says so. Include it last: its variables
 * have names that headers use.
 */
#ifndef T_UD_WORLD_H
#define T_UD_WORLD_H

#include "unit.h"

#include "dto/ud.h"
#include "object/ia.h"
#include "object/transport.h"
#include "object/upcalls.h"
#include "progress/evd.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#define POSTED 32 /* receives of the library */

extern struct dofi_ia ia;
extern struct fi_domain_attr domain_attr;
extern struct fid_ep endpoint; /* that the EPs share */
extern struct dofi_ep eps[2];
extern struct dofi_evd evd; /* of all their events */
extern const struct dofi_trans_ops trans;

extern struct fabric {
	int receives, room; /* posted, and how many more the fabric accepts */
	struct dofi_wr *wr[POSTED];
	void *buffer[POSTED];
	void *desc; /* that receives must have */
	ssize_t send_answer, mark_answer, receive_answer;
	int sends, marks, answers;
	uint32_t update, arrived;
} fabric;

/* Buffers of requests that were gathered. Only with --wrap=dofi_bounce_give. */
extern const struct dofi_wr *given[4];
extern unsigned int ngiven;

/* The test case, in which each test has new EPs and engine.lock. */
TCase *add_case(Suite *suite);

/* Makes UD EPs of one, or of both. */
int open_ep(struct dofi_ep *ep);
void open_eps(void);

/* The connection manager takes marks of one connection: 5, with the secret 6. */
bool ud_mark(struct dofi_ia *of, uint32_t id, uint32_t secret, uint32_t update);

/* --- receiving --- */

void post_receive(struct dofi_ep *ep, char *memory, size_t size);

/* A datagram arrives in the receive of the library that was posted last. */
void arrive(uint32_t data, const char *text, int err);

struct dofi_event next_event(void);

/* --- sending --- */

/* A request that waits. */
struct dofi_wr *post_send(struct dofi_ep *ep, struct dofi_ud_ah *ah);

/* Sends the next request, as issue.c does. */
ssize_t start(struct dofi_ep *ep, struct dofi_wr *wr);

/* Opens both EPs. What the handle's peer does not take waits for long. */
void open_window(struct dofi_ud_ah *ah);

/* Sends n datagrams, whose requests complete at once. */
void send_many(struct dofi_ep *ep, struct dofi_ud_ah *ah, unsigned int n);

#endif
