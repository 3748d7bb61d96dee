/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a seed draws: the processes, the network, and a list of steps: what consumers do, and what
 * goes wrong. Steps know nothing of each other, so any of them can be left out.
 */
#ifndef T_SIM_PLAN_H
#define T_SIM_PLAN_H

#include "net.h"

#include <stdbool.h>
#include <stdint.h>

#define PLAN_PROCESSES 6
#define PLAN_STEPS     48
#define PLAN_SENDS     4u
#define PLAN_DATAGRAMS 400
#define PLAN_RECEIVES  256 /* more than all consumers post, and the library */
#define PLAN_QUALS     3u  /* of a process; the last is a long one */

enum plan_kind {
	/* consumers */
	PLAN_LISTEN,
	PLAN_LISTEN_ONCE, /* an RSP */
	PLAN_CONNECT,
	PLAN_CLOSE,
	PLAN_OPEN, /* a process takes the place of one that has died or closed its IA */
	/* faults */
	PLAN_KILL,
	PLAN_STOP,     /* the process does not run */
	PLAN_SILENCE,  /* its host neither hears nor answers */
	PLAN_CUT,      /* a stream ends behind n bytes */
	PLAN_CUT_PATH, /* the fabric loses connections */
	PLAN_REFUSE,   /* n dials meet an error */
	PLAN_FORGET,   /* the nth allocation fails */
	PLAN_FAIL,     /* a system call fails */
	PLAN_STARVE,   /* n descriptors more, for a while */
	PLAN_SHORT,    /* a recv gives n bytes at most */
	PLAN_LOSE,     /* the fabric loses, refuses or takes nothing, n times */
	PLAN_KINDS
};

enum plan_answer { PLAN_ACCEPT, PLAN_REJECT, PLAN_NEVER };
enum plan_end { PLAN_NO_END, PLAN_GRACEFUL, PLAN_ABRUPT, PLAN_FREE };

/* Of PLAN_CONNECT. */
struct plan_connect {
	uint64_t timeout; /* ns; 0: none */
	enum plan_answer answer;
	uint64_t answer_after;
	enum plan_end end;
	bool by[2];    /* the connecting side, the accepting side ends it... */
	bool early;    /* ...so long after the call, else after it was established */
	uint64_t hold; /* so long */
	uint64_t gap;  /* of both, the second so much later */
	uint32_t sends[2];
	uint32_t private_size[2];
	bool is_dup, reuses;
	bool srq[2];           /* the side's EP has the process's shared receive queue */
	bool is_ud;            /* it makes address handles; then there are datagrams... */
	uint32_t datagrams[2]; /* ...and no messages */
	int follows; /* it begins in the event that ends this connect; -1: in its own time */
	bool hasty;  /* posts messages right before it ends, and looks for the end alone */
};

struct plan_step {
	enum plan_kind kind;
	bool left_out;
	uint64_t at; /* from the beginning */
	int who, to; /* processes */
	uint32_t qual;
	uint32_t n;
	uint64_t time; /* it lasts so long; UINT64_MAX: for ever */
	struct plan_connect connect;
};

struct plan {
	uint64_t seed;
	bool is_calm;  /* nothing goes wrong */
	bool is_crowd; /* of equal processes, each on its host; qlen: of their one EVD; storm.h */
	uint32_t qlen;
	uint64_t cost; /* ns that a process takes for an event */
	bool is_busy;  /* hosts leave processes without a processor for seconds */
	bool has_key;
	bool copies; /* fabric.h */
	bool is_rdm; /* the transport */
	bool injects;
	bool scrambles, no_masks; /* rdm, as the next one; see fabric.h */
	uint32_t receives;
	int processes;
	int hosts[PLAN_PROCESSES];
	int replaces[PLAN_PROCESSES];  /* it opens by a step, in the place of that one; -1: no */
	uint64_t pace[PLAN_PROCESSES]; /* the longest that it takes to wake */
	uint32_t strangers, requests;  /* limits; 0: those of the library */
	struct net_profile net;
	int n;
	struct plan_step steps[PLAN_STEPS];
};

void plan_draw(struct plan *plan, uint64_t seed);
uint64_t plan_last(const struct plan *plan);
/* A line for each step that is not left out, to stderr. */
void plan_print(const struct plan *plan);

#endif
