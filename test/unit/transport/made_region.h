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
#define TAKEN_AT   64u
#define SIZE_AT    128u
#define ENTRIES_AT 192u

extern struct dofi_shm_map region;
extern char name[64], path[96]; /* of its file */

/* Offsets of the fields in each layout. */
struct where {
	uint8_t number;
	unsigned int pid, lock, total, cmd, inject, sar, resp, base, stack, ret, peers, map;
	unsigned int cmd_size;
};

extern const struct where layouts[3];
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

/* The file alone, to which a region is written. */
int make_file(uint8_t number, size_t size);
void write_at(int fd, unsigned int offset, uint64_t value, size_t size);
void write_head(int fd);

/* How often this process has mapped the file. */
int mappings(void);

/* The next free descriptor: a call that leaves one open changes it. */
int next_fd(void);

#endif
