/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams between processes of one host, with a descriptor if there is one to pass. A socket has
 * a name of the abstract name space, so nothing is left behind by the dead. The kernel tells who
 * sent a datagram: every user of the network namespace can send one.
 */
#ifndef DOFI_MEMORY_LOCAL_SOCKET_H
#define DOFI_MEMORY_LOCAL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DOFI_LOCAL_NAME 16 /* bytes of a name */

/* Returns a non-blocking socket of that name, or a negative errno. */
int dofi_local_socket_open(const uint8_t name[DOFI_LOCAL_NAME]);

/*
 * passed: a descriptor to send along, or -1. Returns 0, or a negative errno: -ECONNREFUSED if this
 * host has no such socket, -EAGAIN if the receiver's queue is full.
 */
int dofi_local_socket_send(int fd, const uint8_t name[DOFI_LOCAL_NAME], const void *text,
			   size_t size, int passed);

/* The sender of a datagram, and the descriptor that came with it. */
struct dofi_local_sender {
	pid_t pid;
	bool is_user; /* this one, or root */
	int passed;   /* a descriptor, which the caller closes, or -1 */
};

/*
 * Takes the next datagram: its size, at most that of the buffer; 0 if it was dropped, because of
 * its length or what came along, and with it the descriptor; -EAGAIN if there is none.
 */
ssize_t dofi_local_socket_receive(int fd, void *text, size_t size,
				  struct dofi_local_sender *sender_p);

#endif
