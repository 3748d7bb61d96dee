/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the fabrics of both kinds have in common: the objects of a process, and the queues in which
 * it finds events and completions.
 */
#ifndef T_SIM_SIDE_H
#define T_SIM_SIDE_H

#include "fabric.h"

#include "cm/wire.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct side_entry {
	int err;
	struct fi_cq_tagged_entry data;
};

struct side_event {
	uint32_t number;
	int err; /* FI_CONNECTED failed */
	fid_t fid;
	struct fi_info *info;
	uint8_t token[DOFI_TOKEN_SIZE];
	void (*is_read)(struct fid *fid); /* when the process reads it; or NULL */
};

/* Head and tail run freely; the room is a power of two. */
struct side_queue {
	uint32_t head, tail;
	size_t room;
};

struct side {
	int process;
	struct fid_fabric fabric;
	struct fid_domain domain;
	struct fid_pep pep;
	struct fid_eq eq;
	struct fid_cq cq;
	struct fid_av av;
	bool listens, dead;
	bool is_tagged; /* format of its completions */
	uint32_t neps;
	uint32_t unread_errors;
	struct fabric_faults faults;
	struct side_queue entries_queue, events_queue;
	struct side_entry *entries;
	struct side_event *events;
};

/* Operations that do nothing. */
extern struct fi_ops side_plain_ops;
int side_no_bind(struct fid *fid, struct fid *with, uint64_t flags);
int side_no_control(struct fid *fid, int command, void *arg);

void side_begin(int processes, void (*wake)(int process));
struct side *side_of(int process);
void side_wake(int process);
/* One of n is used up. */
bool side_use_up(uint32_t *n);

void side_complete(int process, const struct side_entry *entry);
void side_tell(int process, const struct side_event *event);
/* The events of an object go with it. */
void side_forget_events(struct side *side, const struct fid *fid);
/* The oldest event goes; NULL: there is none. */
struct side_event *side_pop_event(struct side *side);

int side_open_eq(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq_p,
		 void *context);
int side_open_cq(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq_p,
		 void *context);

#endif
