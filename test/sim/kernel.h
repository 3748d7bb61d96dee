/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of the kernel that the connection manager meets: TCP sockets, epoll, time, random
 * numbers and memory. The linker sends the library's calls here (kernel_wraps in local.mk); those
 * that are about other descriptors go on to the real kernel. Sockets have numbers. What is at the
 * other end of a stream decides whoever uses this: net.c, which joins two sockets, or the peers of
 * a fuzz target.
 */
#ifndef T_SIM_KERNEL_H
#define T_SIM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_SOCKETS  512 /* that a process may have open where nothing else is said */
#define KERNEL_MS       UINT64_C(1000000)
#define KERNEL_LOOPBACK 0x7f000001u
#define KERNEL_RX_SIZE  8192u

/* What the next call of the library meets; errors are used up by it. */
struct kernel_faults {
	int socket, connect, accept, bind; /* positive errors, or 0 */
	bool dials_wait;                   /* a connect waits for kernel_answer */
	uint32_t most_read;                /* bytes that a recv gives; 0: what is there */
	uint32_t forget;                   /* so many allocations from now on, one fails; 0: none */
};

/* What the other end of a socket gets to know. */
struct kernel_peers {
	void (*dials)(int s);                    /* where dials_wait says so; or NULL */
	void (*connected)(int s, bool accepted); /* or was answered, where dials_wait says so */
	void (*sent)(int s, const uint8_t *bytes, size_t size);
	void (*taken)(int s); /* bytes were read; or NULL */
	void (*closed)(int s);
};

/* The process that runs: descriptors that are opened are its own. */
struct kernel_process {
	int number;
	uint32_t host; /* its IPv4 address */
	int most;      /* sockets that it may have open */
};

extern struct kernel_faults kernel_faults;
extern struct kernel_process kernel_process;
extern uint64_t kernel_time;  /* ns */
extern uint32_t kernel_seed;  /* of the random numbers */
extern long kernel_allocated; /* what calloc, malloc and realloc gave and free did not take back */
extern size_t kernel_allocated_bytes, kernel_mapped_bytes;

/* Sockets of all processes together have numbers below this. */
extern int kernel_most;

/* Other processes may run before the library looks at its descriptors; NULL: they do not. */
extern void (*kernel_pause)(void);

/* From here on calls come here. Descriptors that are open live on. */
void kernel_begin(const struct kernel_peers *peers);
/* Until here: what the library has left open, besides those that were open at kernel_begin. */
int kernel_end(void);

/* A stranger dials one of the listening sockets, the nth of n modulo their number. -1: none. */
int kernel_dial(unsigned int nth);
/* The socket that listens there, or -1. */
int kernel_listener(uint32_t host, uint16_t port);
/* Somebody from this address dials that socket: the accepted one, or the backlog has no room. */
#define KERNEL_NO_ROOM (-2)
int kernel_dial_to(int listener, uint32_t host, uint16_t port);
/* The library's connect is over: 0 or a positive error. */
void kernel_answer(int s, int err);
/* As many of the bytes as the socket takes are there to be read. */
void kernel_put(int s, const uint8_t *bytes, size_t size);
/* Bytes that are there to be read. */
uint32_t kernel_unread(int s);
/* The stream ends behind what was put: 0, or with a positive error. */
void kernel_hang_up(int s, int err);
/* The socket takes so many bytes more before the peer reads on. */
void kernel_set_room(int s, uint32_t bytes);
/* That was dialled. */
uint16_t kernel_port(int s);
/* Where it is, and where it was dialled. */
uint32_t kernel_host(int s);
uint32_t kernel_peer_host(int s);
uint16_t kernel_peer_port(int s);
int kernel_owner(int s);
/* Those that are open have numbers below this one. */
int kernel_sockets(void);
/* It is a stream that the library has open. */
bool kernel_is_open(int s);
bool kernel_is_dialling(int s);
/* Descriptors of a process. */
int kernel_count(int process);

/*
 * A table with room for n elements of this size at least, the new ones 0. It is the simulation's
 * own: not counted, and never freed.
 */
void *kernel_grow(void *table, size_t *room, size_t n, size_t size);

#endif
