/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two IAs of this process, with places for EPs. Several threads create, use and free the EPs of
 * places that they choose at random.
 */
#ifndef FAULT_PLACES_H
#define FAULT_PLACES_H

#include "watched.h"

#define OWN_EPS     40u /* places of an IA for EPs that the test creates; each is used once */
#define EPS         48u /* with the places for EPs of the provider */
#define KEPT        16u
#define CONNECT_EVD 3

/* A place for an EP. It stays when the EP is freed, for events that come later. */
struct place {
	struct side *side;
	_Atomic(DAT_EP_HANDLE) ep;
	_Atomic int users; /* threads that call DAT with the EP; -1: one creates or frees it */
	_Atomic bool freed;
	_Atomic int begun, ended; /* connections */
};

static struct side {
	struct t_ia ia;
	DAT_CNO_HANDLE cno, agent_cno;
	DAT_EVD_HANDLE connect_evd[CONNECT_EVD], cr_evd, dto_evd[2];
	DAT_SRQ_HANDLE srq; /* null if the fabric has none */
	DAT_EP_ATTR attr;
	struct t_buf buf;
	struct place places[EPS];
	_Atomic(DAT_CR_HANDLE) kept[KEPT]; /* requests that are decided later */
} sides[2];

static unsigned int seed;
static unsigned int width; /* EPs of an IA at a time */

/* --- random numbers --- */

static _Thread_local unsigned int random_state;

static inline unsigned int below(unsigned int n)
{
	static _Atomic unsigned int threads;

	if (!random_state) /* a thread of the library, which calls an agent */
		random_state = seed + 1000003 * ++threads;
	return (unsigned int)rand_r(&random_state) % n;
}

static inline struct side *any_side(void)
{
	return &sides[below(2)];
}

/* --- places --- */

static inline bool use(struct place *place)
{
	int users = place->users;

	return users >= 0 && atomic_compare_exchange_strong(&place->users, &users, users + 1);
}

static inline bool use_alone(struct place *place)
{
	int nobody = 0;

	return atomic_compare_exchange_strong(&place->users, &nobody, -1);
}

static inline struct place *place_at(size_t i)
{
	return &sides[i / EPS].places[i % EPS];
}

static inline struct place *place_of(DAT_EP_HANDLE ep)
{
	for (size_t i = 0; i < 2 * EPS; i++)
		if (place_at(i)->ep == ep)
			return place_at(i);
	return NULL;
}

/* With few EPs all connections end again and again. A place with a freed EP has successors. */
static inline struct place *any_place(struct side *side)
{
	unsigned int i = below(width + 1);

	if (i == width)
		return &side->places[OWN_EPS + below(EPS - OWN_EPS)];
	while (side->places[i].freed && i + width < OWN_EPS)
		i += width;
	return &side->places[i];
}

/* The connect EVD is sometimes one of the other IA. */
static inline DAT_EVD_HANDLE any_connect_evd(const struct side *side)
{
	const struct side *of = below(4) ? side : any_side();

	return of->connect_evd[below(CONNECT_EVD)];
}

static inline DAT_EP_HANDLE new_ep(const struct side *side)
{
	DAT_EVD_HANDLE connect_evd = any_connect_evd(side);
	DAT_EP_ATTR attr = side->attr;
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	attr.max_recv_dtos = attr.max_request_dtos = 8;
	if (side->srq && below(2))
		must(dat_ep_create_with_srq(side->ia.ia, side->ia.pz, side->dto_evd[0],
					    side->dto_evd[1], connect_evd, side->srq, &attr, &ep));
	else
		must(dat_ep_create(side->ia.ia, side->ia.pz, side->dto_evd[0], side->dto_evd[1],
				   connect_evd, &attr, &ep));
	return ep;
}

static inline void make_or_free(struct place *place)
{
	if (!use_alone(place))
		return;
	if (place->ep && !place->freed)
		place->freed = ok(dat_ep_free(place->ep));
	else if (!place->ep && place < &place->side->places[OWN_EPS])
		place->ep = new_ep(place->side);
	place->users = 0;
}

#endif
