/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software EFA device inside one process. segment.h has what the processes share. */
#ifndef SOFTEFA_H
#define SOFTEFA_H

#include "abi.h"
#include "segment.h"

#include <pthread.h>
#include <stddef.h>

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* --- settings.c: SOFTEFA_* --- */

struct settings {
	const char *file;  /* the shared file */
	const char *sysfs; /* the directory that replaces /sys */
	unsigned int part;
	unsigned int hosts, host;
	unsigned int seed;
	unsigned int piece_min, piece_max;
	unsigned int max_qp, max_cq, max_mr, max_ah, max_pd;
	unsigned int max_sq_wr, max_rq_wr, mtu, inline_size, max_rdma;
	unsigned int unsolicited;
	unsigned int in_order_128;
	unsigned int qpn_reuse;
	unsigned int rnr_us, rnr_every;
	unsigned int unresponsive_ms;
	unsigned int fail_status, fail_every;
	unsigned int die_at, silent_at;
	unsigned int yield_every;
	unsigned int universe; /* part of each GID; 0: random */
};

extern struct settings efa_set;
int efa_settings(void);
/* A pseudo-random number below n. */
uint32_t efa_random(uint32_t n);
/* Called for each operation. Returns the status of an injected fault, or 0. */
uint32_t efa_strike(void);

/* --- process.c: this process on the device --- */

extern struct segment *efa_seg;
extern struct seg_proc *efa_me;
extern uint32_t efa_slot;
/*
 * One lock for the whole card: posts, polls and the engine. It is recursive, because a poll may
 * post.
 */
extern pthread_mutex_t efa_lock;

int efa_attach(void); /* called before the slot is used; takes a new slot after fork */
void efa_gid_of(uint32_t host, union ibv_gid *gid);
int efa_host_of(const union ibv_gid *gid); /* -1: not of this network */

/* --- objects --- */

struct soft_pd {
	struct ibv_pd pd;
	uint32_t id;
};

struct soft_mr {
	struct ibv_mr mr;
	uint32_t index, gen;
	uint32_t slot_gen;
};

struct soft_ah {
	struct ibv_ah ah;
	uint32_t host;
	uint16_t number;
};

enum { OP_SGES = 3, OP_INLINE = 128 };

/* A work request under way. */
struct op {
	struct op *next;
	struct soft_qp *qp;
	enum ibv_wr_opcode opcode;
	uint64_t wr_id;
	int has_imm;
	uint32_t imm;
	uint32_t nsge, length;
	struct ibv_sge sge[OP_SGES];
	int is_inline;
	unsigned char data[OP_INLINE];
	uint32_t rkey;
	uint64_t raddr;
	struct soft_ah *ah;
	uint32_t host, qpn, qkey;
	/* progress of the request */
	uint32_t tries;
	uint64_t not_before, deadline;
	uint32_t pieces, left;
	uint32_t *cut;                 /* offsets of the pieces, and the end */
	uint32_t *todo;                /* pieces not moved yet */
	uint32_t one_cut[2], one_todo; /* for a request of one piece */
};

/* A completion. */
struct wc {
	struct wc *next;
	struct soft_qp *qp;
	uint64_t wr_id;
	enum ibv_wc_opcode opcode;
	uint32_t vendor_err, byte_len, imm, qpn, src_qpn, src_host;
	int has_imm, is_unsolicited, is_receive;
};

struct soft_cq {
	struct ibv_cq_ex ex; /* begins like ibv_cq, which the provider casts it to */
	struct efadv_cq dv;
	uint32_t index, slot_gen;
	struct wc *first, **last; /* of work requests of this process */
	/* nodes that were taken off the shared list, oldest first */
	uint32_t received;
	uint32_t turn;
	struct wc now;
};

struct soft_qp {
	struct ibv_qp_ex ex;
	struct soft_cq *send_cq, *recv_cq;
	uint32_t index, slot_gen, pd;
	uint32_t max_send, max_recv;
	uint32_t in_flight; /* sends whose completion was not read yet */
	uint32_t rnr_retry;
	uint32_t *free_node; /* nodes that are not posted */
	uint32_t free_nodes;
	uint8_t *posted;                  /* for each node */
	struct op *staged, **staged_last; /* between wr_start and wr_complete */
	uint32_t staged_count, staged_error;
	struct soft_qp *next;
};

/* --- one file each --- */

extern int efa_names_reads; /* completions of RDMA have opcodes of their own */
uint32_t efa_stride(void);  /* QP numbers with the same remainder share a table entry */
uint32_t efa_pd_id(const struct ibv_pd *pd);

struct seg_mr *efa_mr_find(uint32_t key);
/* Returns whether the key of this process covers the range for `access`. */
int efa_lkey_covers(uint32_t key, uint64_t addr, uint64_t length, uint32_t pd, uint32_t access);

uint32_t efa_ahn_of(uint32_t host); /* 0xffff: this process has no handle for it */

struct soft_qp *efa_qps(void);
struct soft_qp *efa_qp_at(uint32_t index);
int efa_qp_own(const struct soft_qp *qp);

void efa_post_functions(struct ibv_qp_ex *ex);
int efa_post_send(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
int efa_post_recv(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
/* Gives a node to its ring, for the first time or after it was not used. */
void efa_put_node(struct soft_qp *qp, uint32_t node);
void efa_drop_staged(struct soft_qp *qp);

/* Marks a node that was not used. */
#define NODE_UNUSED UINT32_MAX
struct ibv_cq_ex *efa_create_cq_ex(struct ibv_context *, struct ibv_cq_init_attr_ex *);
struct ibv_qp *efa_create_qp_ex(struct ibv_context *, struct ibv_qp_init_attr_ex *);
int efa_req_notify(struct ibv_cq *, int solicited_only);
void efa_cq_complete(const struct op *op, uint32_t vendor_err);
void efa_cq_push(uint32_t cq, uint32_t node);
void efa_cq_forget(struct soft_qp *qp);
/* Sends an event to the channel of a completion queue of any process. */
void efa_notify(uint32_t cq);
struct ibv_cq *efa_cq_at(uint32_t index);
uint32_t efa_channel_id(const struct ibv_comp_channel *channel);

struct op *efa_op_new(void);
void efa_op_free(struct op *op);
void efa_engine_submit(struct op *list);
void efa_engine_step(void); /* carries out some of the waiting work */
void efa_engine_cancel(struct soft_qp *qp);
void efa_engine_forked(void);

/* Moves a message, or a piece of an RDMA operation. Returns a status or one of these. */
enum { MOVE_AGAIN = -1, MOVE_SILENT = -2 };
int efa_move(struct op *op, uint32_t offset, uint32_t length);
int efa_move_end(struct op *op); /* the immediate data of a write */

#endif
