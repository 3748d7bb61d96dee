/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fabric of connected endpoints (FI_EP_MSG) for the msg transport, which is the library's own:
 * what libfabric would offer it, in memory. Messages, events and ends take the network's time, and
 * keep their order on a connection.
 */
#ifndef T_SIM_FABRIC_H
#define T_SIM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

/* copies: a Send is complete when it has been copied, as with tcp; else when it has arrived. */
void fabric_begin(bool copies, void (*wake)(int process));
/* Objects of the IA; and their end, when all of its endpoints are closed. */
void fabric_open(struct dofi_ia *ia, int process);
void fabric_close(struct dofi_ia *ia);

/* What goes wrong with a process. */
struct fabric_faults {
	uint32_t lost;    /* so many of its connect requests never arrive... */
	uint32_t refused; /* ...or are refused by the fabric */
	uint32_t no_room; /* so many posts find no room */
	uint32_t no_endpoint;
	uint32_t cut;    /* so many connections that it accepts are lost at once */
	uint32_t failed; /* so many messages fail */
};
struct fabric_faults *fabric_faults(int process);
/* Connections of the process end: it hears of that, and the peers only if both shall. */
void fabric_cut(int process, bool both);
/* The process is gone: its peers hear of it. */
void fabric_kill(int process);

#endif
