/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The file that all processes on the software device share: the processes, their queue pairs,
 * completion queues and registered memory.
 *
 * No lock protects the file, because a process may be stopped or killed at any instruction. Each
 * word has one writer, or changes by compare-and-swap. Three rules apply:
 *
 * - A table entry belongs to the process in its `owner`. An entry is free when `owner` is 0.
 * - A receive buffer is a node. Its owner puts it into a ring. The sender that swaps its number
 * into `claim` owns the node, fills it and pushes it onto the list of the completion queue. The
 * owner of the buffer takes it from there.
 * - Before a process uses memory of another process, it names the object in its own `hazard` words.
 *   The owner of a queue pair or of a key withdraws it and then waits until no hazard names it.
 *
 * A process holds a POSIX record lock on the byte of its slot. The kernel releases the lock when
 * the process ends, so every process can tell that it is dead.
 */
#ifndef SOFTEFA_SEGMENT_H
#define SOFTEFA_SEGMENT_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SEG_PROCS = 512,
	SEG_QPS = 1024,
	SEG_CQS = 1024,
	SEG_MRS = 1 << 16,
	SEG_RECVS = 8192,      /* nodes of one queue pair for receives */
	SEG_UNSOLICITED = 256, /* and for completions that take no receive */
	SEG_NODES = SEG_RECVS + SEG_UNSOLICITED,
	SEG_SGES = 3,
};

#define SEG_REVOKED UINT32_MAX

struct seg_proc {
	_Atomic uint32_t state; /* 0: free, 1: in use */
	uint32_t gen;           /* counts the users of this slot */
	pid_t pid;
	uint32_t host;
	_Atomic uint32_t silent;    /* neither sends nor answers */
	_Atomic uint32_t hazard_qp; /* index + 1 of the object in use, 0, or SEG_REVOKED */
	_Atomic uint32_t hazard_mr;
	_Atomic uint64_t ah_hosts; /* a bit for each host to which it has an address handle */
};

struct seg_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

struct seg_node {
	_Atomic uint64_t claim; /* position in the ring and claiming process; see node_claim() */
	uint32_t next;          /* the list of the completion queue: node reference */
	uint32_t nsge;
	uint64_t wr_id;
	struct seg_sge sge[SEG_SGES];
	/* the completion */
	uint32_t vendor_err, byte_len, imm, src_qpn;
	uint16_t src_host;
	uint8_t has_imm, is_write;
};

struct seg_ring {
	_Atomic uint64_t head; /* next to be claimed; every process may advance it */
	_Atomic uint64_t tail; /* next to be filled; only the owner changes it */
	_Atomic uint32_t slot[SEG_RECVS];
};

struct seg_qp {
	_Atomic uint32_t owner; /* slot of the process + 1 */
	_Atomic uint32_t ready; /* takes messages: state RTR or RTS */
	_Atomic uint32_t qpn;
	uint32_t gen, qkey, pd, cq;
	uint32_t unsolicited;
};

struct seg_cq {
	_Atomic uint32_t owner;
	_Atomic uint32_t head;  /* newest node that was pushed */
	_Atomic uint32_t armed; /* wants an event on its channel */
	uint32_t channel;
};

struct seg_mr {
	_Atomic uint32_t owner;
	_Atomic uint32_t key; /* 0: not valid */
	uint32_t gen, pd, access;
	uint64_t addr, length;
};

struct segment {
	_Atomic uint32_t ready;      /* layout version when the rest is filled in */
	uint32_t universe;           /* random, part of each GID */
	_Atomic uint32_t procs_used; /* slots at and above this were never in use */
	_Atomic uint32_t deaths;
	struct seg_proc proc[SEG_PROCS];
	struct seg_qp qp[SEG_QPS];
	struct seg_cq cq[SEG_CQS];
	struct seg_mr mr[SEG_MRS];
	struct {
		struct seg_ring recv, unsolicited;
		struct seg_node node[SEG_NODES];
	} queue[SEG_QPS];
};

/* The number of a node is the same in every process; 0 is none. */
static inline uint32_t node_ref(uint32_t qp, uint32_t node)
{
	return 1 + qp * SEG_NODES + node;
}

static inline struct seg_node *node_at(struct segment *seg, uint32_t ref)
{
	return &seg->queue[(ref - 1) / SEG_NODES].node[(ref - 1) % SEG_NODES];
}

/* A claim has 40 bits of ring position and 24 bits of the claiming process; 0: not claimed. */
static inline uint64_t node_claim(uint64_t position, uint32_t claimer)
{
	return position << 24 | claimer;
}

static inline uint32_t seg_claimer(const struct segment *seg, uint32_t proc)
{
	return (seg->proc[proc].gen & 0xfff) << 12 | (proc + 1);
}

/* universe: part of each GID of a new segment; 0: a random one. NULL and errno on failure. */
struct segment *seg_open(const char *path, uint32_t universe);

/* Slots of processes. process.c uses the slot of this process. */
int seg_take_slot(struct segment *seg, uint32_t host);
int seg_is_dead(struct segment *seg, uint32_t proc);
void seg_bury_dead(struct segment *seg);
void seg_forget_process(struct segment *seg, uint32_t proc);
void seg_free_queue(struct segment *seg, uint32_t qp);

/* Waits until no live process touches queue pair or memory region `index`. */
void seg_await_qp(struct segment *seg, uint32_t index, uint32_t self);
void seg_await_mr(struct segment *seg, uint32_t index, uint32_t self);

#endif
