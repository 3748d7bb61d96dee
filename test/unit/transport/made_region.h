/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A region with libfabric's layout that a test makes and may spoil, and calls that fail when the
 * test says so; the linker redirects them.
 */
#ifndef T_MADE_REGION_H
#define T_MADE_REGION_H

#include "t_hooks.h"
#include "unit.h"

#include "transport/shm_layout.h"

#include <stdint.h>
#include <stdio.h>

#define SIZE       (1u << 20)
#define CMD_QUEUE  0x400u
#define RESP_RING  0x40000u
#define RET_QUEUE  0x50000u
#define INJECT     0x60000u
#define SAR        0x70000u
#define CMD_STACK  0x80000u
#define PEERS      0x90000u
#define ENTRIES    8u
/* In a queue. */
#define PUT_AT     (at->queue.put)
#define TAKEN_AT   (at->queue.taken)
#define SIZE_AT    (at->queue.size)
#define ENTRIES_AT (at->queue.entries)

extern struct dofi_shm_map region;
extern char name[64], path[96]; /* of its file */

/* Layouts, by the first release. All but that of 1.17 have a queue, those from 2.5 on a stack. */
enum { V1_17, V1_18, V1_19, V1_20, V1_21, V2_0, V2_5_0, V2_5_1, V2_6, LAYOUTS };

/* Offsets of the fields in each layout. 0: it has none. */
struct where {
	uint8_t number;
	unsigned int pid, lock, total, cmd, inject, sar, resp, base, stack, ret, peers, map, signal;
	unsigned int cmd_size, peer_size;
	int failure; /* as a status */
	struct {
		unsigned int put, taken, size, entries;
	} queue;
	struct {
		unsigned int size, to, flags, status, context;
	} command; /* in the stack */
};

extern const struct where layouts[LAYOUTS];
extern const struct where *at; /* the layout of the region */

enum failure { NONE, FSTAT, MMAP, STRDUP, MALLOC, CALLOC };

extern enum failure fails;
extern int names;                                /* copies of names that were not freed */
extern void (*while_freeing)(const void *block); /* or NULL */

/* Makes a region of layouts[which], with empty queues, full pools and a table without peers. */
void make(int which);

/* Closes and removes the region, of which nothing may be left then. */
void finish(void);

/* Fields of the region. Nothing is put at offset 0: the layout has no such field. */
void put(unsigned int offset, uint64_t value, size_t size);
uint64_t get(unsigned int offset, size_t size);
void fill_pool(unsigned int pool);
/* The peer of that number has its region at that place. */
void put_peer(unsigned int number, const void *place);

/* The file alone, to which a region is written. write_head: with the heads of the pools. */
int make_file(uint8_t number, size_t size);
void write_at(int fd, unsigned int offset, uint64_t value, size_t size);
void write_head(int fd);

/* How often this process has mapped the file. */
int mappings(void);

/* The next free descriptor: a call that leaves one open changes it. */
int next_fd(void);

#endif
