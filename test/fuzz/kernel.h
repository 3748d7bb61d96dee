/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of the kernel that the connection manager meets: TCP sockets, epoll, time and random
 * numbers, all in memory. The linker sends the library's calls here (kernel_wraps in local.mk);
 * those that are about other descriptors go on to the real kernel. Sockets have numbers, which the
 * target uses in the role of the peers.
 */
#ifndef T_FUZZ_KERNEL_H
#define T_FUZZ_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_SOCKETS 64
#define KERNEL_MS      UINT64_C(1000000)

/* What the next call of the library meets; errors are used up by it. */
struct kernel_faults {
	int socket, connect, accept, bind; /* positive errors, or 0 */
	bool dials_wait;                   /* a connect waits for kernel_answer */
	bool forgetful;                    /* calloc fails, once */
};

/* What the peer at a socket gets to know. */
struct kernel_peers {
	void (*connected)(int s, bool accepted); /* or dials, where dials_wait says so */
	void (*sent)(int s, const uint8_t *bytes, size_t size);
	void (*closed)(int s);
};

extern struct kernel_faults kernel_faults;
extern uint64_t kernel_time; /* ns */

/* From here on calls come here. The engine's own descriptors live on. */
void kernel_begin(const struct kernel_peers *peers);
/* Until here: what the library has left open, besides those that were open at kernel_begin. */
int kernel_end(void);

/* A stranger dials one of the listening sockets, the nth of n modulo their number. -1: none. */
int kernel_dial(unsigned int nth);
/* The library's connect is over: 0 or a positive error. */
void kernel_answer(int s, int err);
/* As many of the bytes as the socket takes are there to be read. */
void kernel_put(int s, const uint8_t *bytes, size_t size);
/* The stream ends behind what was put: 0, or with a positive error. */
void kernel_hang_up(int s, int err);
/* The socket takes so many bytes more before the peer reads on. */
void kernel_set_room(int s, uint32_t bytes);
/* That was dialled. */
uint16_t kernel_port(int s);
/* It is a stream that the library has open. */
bool kernel_is_open(int s);

#endif
