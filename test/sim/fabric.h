/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fabric of a simulated world, for the transports, which are the library's own. */
#ifndef T_SIM_FABRIC_H
#define T_SIM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

struct fabric_profile {
	uint64_t seed;
	bool is_rdm; /* connectionless endpoints */
	bool copies; /* a Send is complete when it has been copied, as with tcp; else at its end */
	bool says_connected; /* msg: the accepting side learns when the connecting side knows */
	bool scrambles;      /* rdm: receives complete in any order */
	uint32_t receives;   /* rdm: that an endpoint takes; 0: any number */
};

void fabric_begin(const struct fabric_profile *profile, int processes, void (*wake)(int process));
/* Objects of the IA; and their end, when all of its endpoints are closed. */
void fabric_open(struct dofi_ia *ia, int process);
void fabric_close(struct dofi_ia *ia);

/* What goes wrong with a process; with rdm, messages instead of connect requests. */
struct fabric_faults {
	uint32_t lost;        /* so many of its connect requests and confirmations get lost... */
	uint32_t refused;     /* ...or are refused by the fabric */
	uint32_t no_room;     /* so many posts find no room */
	uint32_t no_endpoint; /* rdm: no entry of the address vector */
	uint32_t cut;    /* so many connections that it accepts are lost at once; rdm: streams */
	uint32_t failed; /* so many messages fail */
};
struct fabric_faults *fabric_faults(int process);
/* The connections of the process end. The process learns of that; the peers only if `both`. */
void fabric_cut(int process, bool both);
/* The process is gone: its peers learn of it. */
void fabric_kill(int process);

#endif
