/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transport of connections between two processes of one host, beside the transport of the IA.
 * The handshake decides which of the two a connection uses:
 *
 * 	REQUEST		the connecting side offers shared memory
 * 	local socket	the accepting side passes the descriptor of a segment to the connecting IA.
 * 			If this host has no socket of that name, the IA is on another host
 * 	ACCEPT		tells that the segment was passed
 * 	local socket	the connecting side has mapped the segment and answers
 *
 * A local socket holds few datagrams. If it is full, each round of the engine tries again, and
 * ACCEPT or the path waits for that. If a step fails, the connection uses the transport of the IA:
 * the connecting side begins with it, and the accepting side notices that over the fabric.
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

/* Accepting side: the peer connects over the fabric. Withdraws the offer. engine.lock held. */
void dofi_memory_withdraw(struct dofi_conn *conn);

#endif
