/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A path in the memory of this process, whose peer is the test. Copies by the kernel, the box and
 * completions are stand-ins that the linker puts in the place of the library's. Include it last:
 * its variables have names that headers use.
 */
#ifndef T_MADE_PATH_H
#define T_MADE_PATH_H

#include "unit.h"

#include "cm/conn.h"
#include "object/ia.h"
#include "transport/memory_box.h"
#include "transport/memory_path.h"

#include <stdbool.h>
#include <stdint.h>

#define PENDING 4u
#define LENGTH  64u
#define TARGET  0x1234000u /* of RDMA, in the peer's memory */

union made_request {
	struct dofi_wr wr;
	struct {
		char request[sizeof(struct dofi_wr)];
		struct iovec iov[DOFI_MEMORY_RANGES + 1];
	};
};

extern struct dofi_ia ia;
extern struct dofi_ep ep;
extern struct dofi_memory_segment segment;
extern struct dofi_memory_pending pending[PENDING];
extern struct dofi_memory_path path;
extern struct dofi_ring_reader peer; /* of what the path writes */
extern union made_request request, second;
extern uint8_t bytes[DOFI_MEMORY_FETCHED]; /* of requests */

/* Requests that have completed, in their order. */
extern struct dofi_wr *done[PENDING];
extern uint32_t ndone;

/* Copies by the kernel: their number; what the next ones get and return. */
extern int copies, copy_err;
extern uint64_t copy_length;
extern int over_after; /* so many copies the peer is over; 0: never */
extern uint32_t polls; /* of the peer during a copy */

/* Requests in the box: what becomes of them; their number. */
extern enum dofi_box_state box_answer;
extern int nasked;

extern int kicks; /* of the thread that drives the engine */

/* Makes the path, and takes the locks that a post holds. */
void make_path(void);

/* Fills `request`: one segment, which is the beginning of `bytes`. */
struct dofi_wr *prepare(uint8_t op, uint64_t length);

/* The peer takes a cell of that kind. 0: there is none. */
void ring_has(uint8_t kind);

/* Fills the ring: the peer has taken nothing more. */
void fill_ring(void);

#endif
