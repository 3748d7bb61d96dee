/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A simulated fabric of connected endpoints (FI_EP_MSG), in place of libfabric, for the library's
 * msg transport. Messages, events and ends take the time of the network and keep their order on a
 * connection.
 */
#ifndef T_SIM_FABRIC_H
#define T_SIM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

/* copies: a Send is complete when it was copied, as with tcp; otherwise when it has arrived. */
void fabric_begin(bool copies, void (*wake)(int process));
/* Make the objects of the IA; free them, when all its endpoints are closed. */
void fabric_open(struct dofi_ia *ia, int process);
void fabric_close(struct dofi_ia *ia);

/* Faults of a process. */
struct fabric_faults {
	uint32_t lost;    /* number of its connect requests that never arrive... */
	uint32_t refused; /* ...or are refused by the fabric */
	uint32_t no_room; /* number of posts that find no room */
	uint32_t no_endpoint;
	uint32_t cut;    /* number of accepted connections that are lost at once */
	uint32_t failed; /* number of messages that fail */
};
struct fabric_faults *fabric_faults(int process);
/* The connections of the process end. The process learns of that; the peers only if `both`. */
void fabric_cut(int process, bool both);
/* The process is gone: its peers learn of it. */
void fabric_kill(int process);

#endif
