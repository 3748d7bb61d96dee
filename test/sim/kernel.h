/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of the kernel that the connection manager uses: TCP sockets, epoll, time, random numbers
 * and memory. The linker redirects the library's calls to this file (kernel_wraps in local.mk).
 * Calls with other descriptors go to the real kernel. Sockets have numbers. The user of this file
 * provides the other end of a stream: net.c joins two sockets; a fuzz target has peers.
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

/* Faults of the next calls of the library. Each error is returned once. */
struct kernel_faults {
	int socket, connect, accept, bind; /* positive errors, or 0 */
	bool dials_wait;                   /* a connect waits for kernel_answer */
	uint32_t most_read;                /* most bytes that a recv returns; 0: no limit */
	/* the allocation that fails, counted from now on; 0: none */
	uint32_t forget;
};

/* Functions by which the other end of a socket learns of events. */
struct kernel_peers {
	void (*dials)(int s);                    /* with dials_wait: a connect has begun; or NULL */
	void (*connected)(int s, bool accepted); /* with dials_wait: after kernel_answer */
	void (*sent)(int s, const uint8_t *bytes, size_t size);
	void (*taken)(int s); /* bytes were read; or NULL */
	void (*closed)(int s);
};

/* The running process, which owns the descriptors that are opened. */
struct kernel_process {
	int number;
	uint32_t host; /* its IPv4 address */
	int most;      /* sockets that it may have open */
};

extern struct kernel_faults kernel_faults;
extern struct kernel_process kernel_process;
extern uint64_t kernel_time;  /* ns */
extern uint32_t kernel_seed;  /* of the random numbers */
extern bool kernel_is_busy;   /* processes wait long for a processor */
extern long kernel_allocated; /* what calloc, malloc and realloc gave and free did not take back */
extern size_t kernel_allocated_bytes, kernel_mapped_bytes;

/* Sockets of all processes together have numbers below this. */
extern int kernel_most;

/* Called before the library looks at its descriptors, to let other processes run; or NULL. */
extern void (*kernel_pause)(void);

/* Redirects calls from now on. Open descriptors stay open. */
void kernel_begin(const struct kernel_peers *peers);
/*
 * Ends that. Returns the number of descriptors that the library has left open, without those open
 * at kernel_begin.
 */
int kernel_end(void);

/* A stranger dials the nth listening socket, modulo their number. -1: there is none. */
int kernel_dial(unsigned int nth);
/* The socket that listens at this address, or -1. */
int kernel_listener(uint32_t host, uint16_t port);
/* Somebody from this address dials that socket: the accepted one, or the backlog has no room. */
#define KERNEL_NO_ROOM (-2)
int kernel_dial_to(int listener, uint32_t host, uint16_t port);
/* The library's connect ends, with 0 or a positive error. */
void kernel_answer(int s, int err);
/* Makes bytes readable, as many as the socket takes. */
void kernel_put(int s, const uint8_t *bytes, size_t size);
/* The number of readable bytes. */
uint32_t kernel_unread(int s);
/* The stream ends behind the readable bytes, with 0 or a positive error. */
void kernel_hang_up(int s, int err);
/* The socket takes this many more bytes until the peer reads. */
void kernel_set_room(int s, uint32_t bytes);
/* The dialled port. */
uint16_t kernel_port(int s);
/* The host of the socket, or the dialled host. */
uint32_t kernel_host(int s);
uint32_t kernel_peer_host(int s);
uint16_t kernel_peer_port(int s);
int kernel_owner(int s);
/* Open sockets have numbers below this one. */
int kernel_sockets(void);
/* Whether it is an open stream of the library. */
bool kernel_is_open(int s);
bool kernel_is_dialling(int s);
/* The number of descriptors of a process. */
int kernel_count(int process);

/*
 * A table with room for n elements of this size at least, the new ones 0. It is the simulation's
 * own: not counted, and never freed.
 */
void *kernel_grow(void *table, size_t *room, size_t n, size_t size);

#endif
