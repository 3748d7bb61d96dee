/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transport of connections between two processes of one host, beside the transport of the IA.
 * The handshake decides which of the two a connection uses:
 *
 * 	REQUEST		the connecting side offers it
 * 	local socket	the accepting side passes the descriptor of a segment to the IA that asked.
 * 			A host without a socket of that name is another one
 * 	ACCEPT		says so
 * 	local socket	the connecting side has mapped the segment and joins
 *
 * Whatever fails on the way leaves the connection to the transport of the IA: the connecting side
 * begins with it, and the accepting side hears of that over the fabric.
 */
#ifndef DOFI_MEMORY_H
#define DOFI_MEMORY_H

struct dofi_conn;
struct dofi_ia;

/*
 * Applies the parameter same_host: lets connections of the IA use this transport. 0, or -FI_EINVAL
 * for an unknown value.
 */
int dofi_memory_open(struct dofi_ia *ia);

/* Accepting side: the peer comes by the fabric. What was offered is taken back. engine.lock held.
 */
void dofi_memory_forsaken(struct dofi_conn *conn);

#endif
