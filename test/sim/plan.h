/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The plan that a seed determines: the processes, the network, and a list of steps, which are
 * actions of consumers and faults. Steps do not depend on each other, so any of them can be left
 * out.
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
	PLAN_OPEN, /* a process replaces one that has died or closed its IA */
	/* faults */
	PLAN_KILL,
	PLAN_STOP,     /* the process is stopped */
	PLAN_SILENCE,  /* its host neither sends nor receives */
	PLAN_CUT,      /* a stream ends after n bytes */
	PLAN_CUT_PATH, /* the fabric loses connections */
	PLAN_REFUSE,   /* n dials fail */
	PLAN_FORGET,   /* the nth allocation fails */
	PLAN_FAIL,     /* a system call fails */
	PLAN_STARVE,   /* only n more descriptors, for a while */
	PLAN_SHORT,    /* a recv returns n bytes at most */
	PLAN_LOSE,     /* the fabric loses, refuses or has no room, n times */
	PLAN_KINDS
};

enum plan_answer { PLAN_ACCEPT, PLAN_REJECT, PLAN_NEVER };
enum plan_end { PLAN_NO_END, PLAN_GRACEFUL, PLAN_ABRUPT, PLAN_FREE };

/* Details of PLAN_CONNECT. */
struct plan_connect {
	uint64_t timeout; /* ns; 0: none */
	enum plan_answer answer;
	uint64_t answer_after;
	enum plan_end end;
	bool by[2];    /* who ends it: [0]: the connecting side, [1]: the accepting side */
	bool early;    /* counts `hold` from the call, otherwise from the establishment */
	uint64_t hold; /* ns until the end */
	uint64_t gap;  /* ns between the ends of both sides */
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
	uint64_t time; /* duration; UINT64_MAX: for ever */
	struct plan_connect connect;
};

struct plan {
	uint64_t seed;
	bool is_calm;  /* nothing goes wrong, but much may take long */
	bool is_crowd; /* of equal processes, each on its host; storm.h */
	/* of the one EVD of a process, for requests and connections; 0: it has an EVD for each */
	uint32_t qlen;
	uint64_t cost; /* ns that a process takes for an event */
	bool is_busy;  /* hosts leave processes without a processor for seconds */
	bool has_key;
	bool copies;         /* fabric.h */
	bool is_rdm;         /* the transport */
	bool says_connected; /* msg; see fabric.h */
	bool injects;
	bool scrambles, no_masks; /* rdm, as the next one; see fabric.h */
	uint32_t receives;
	int processes;
	int hosts[PLAN_PROCESSES];
	/* the process replaces that one, by PLAN_OPEN; -1: it does not */
	int replaces[PLAN_PROCESSES];
	uint64_t pace[PLAN_PROCESSES]; /* the longest time that it takes to wake */
	uint32_t strangers, requests;  /* limits; 0: defaults of the library */
	struct net_profile net;
	int n;
	struct plan_step steps[PLAN_STEPS];
};

void plan_draw(struct plan *plan, uint64_t seed);
/* Nothing goes wrong or takes long. */
bool plan_is_prompt(const struct plan *plan);
uint64_t plan_last(const struct plan *plan);
/* Prints a line for each step that is not left out, to stderr. */
void plan_print(const struct plan *plan);

#endif
