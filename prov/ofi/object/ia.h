/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Interface adapter: its fabric objects, engine and connection manager, and the lists of its
 * objects.
 */
#ifndef DOFI_IA_H
#define DOFI_IA_H

#include "auth/key.h"
#include "object/ctxtab.h"
#include "fabric/eqs.h"
#include "fabric/facts.h"
#include "fabric/nic.h"
#include "object/ia_parts.h"
#include "object/upcalls.h"
#include "object/object.h"
#include "base/param.h"
#include "fabric/traits.h"

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

struct dofi_rdm;
struct dofi_shm_repair;
struct dofi_trans_ops;
struct dofi_ud_pool;
struct dofi_evd;
struct fi_info;
struct fid_cq;
struct fid_domain;
struct fid_ep;
struct fid_eq;
struct fid_fabric;
struct fid_mr;
struct fid_pep;

/*
 * Transfers from this size on count as large: a fabric that copies within the call takes longer for
 * them than the progress thread needs to notice.
 */
#define DOFI_LARGE 16384u

/* Limits that dat_ia_query reports and create calls enforce. Derived once from fi_info. */
struct dofi_limits {
	uint32_t max_eps, max_dtos, max_evds, max_evd_qlen, max_iov, max_lmrs, max_rmrs, max_pzs,
		max_srqs, max_reads;
	uint32_t fabric_iov; /* segments of one operation of the fabric */
	uint64_t max_message, max_rdma, max_lmr;
	uint64_t max_datagram; /* 0: there are none */
	/* longest request that the fast path takes (post.c) */
	uint64_t plain;
	uint64_t plain_write; /* the same for writes, which must not need two operations */
};

/* The RDMA reads of all EPs together. */
static inline DAT_COUNT dofi_limits_all_reads(const struct dofi_limits *limits)
{
	return (DAT_COUNT)(limits->max_reads * limits->max_eps);
}

/* Registered memory with a slot per EP for reads of the peer's context table. */
struct dofi_scratch {
	struct dofi_ctx_wire *slots;
	uint32_t *free_stack; /* guarded by ia->obj_lock */
	uint32_t nfree;
	struct fid_mr *mr;
	void *desc;
};

/*
 * Named attributes of the provider. Values point to constants, into ia->info or to the texts below.
 */
struct dofi_named {
	DAT_NAMED_ATTR list[36];
	uint32_t count;
	char mtu[12], mr_cached[8], atomics[8], key[DOFI_KEY_TEXT];
	struct dofi_facts facts;
};

struct dofi_ia {
	struct dofi_obj obj;

	/* Hot fields, in few cache lines. */
	struct fid_cq *cq; /* the first of cqs, which is usually the only one */
	const struct dofi_trans_ops *trans;
	/* for connections within this host; NULL: they use trans */
	const struct dofi_trans_ops *local_trans;
	const struct dofi_upcalls *up; /* of the connection manager */
	/*
	 * handles the entries of a queue: trans->completed, or a function that corrects them first
	 * (data_flag.h)
	 */
	void (*completed)(struct dofi_ia *ia, const void *entries, ssize_t n);
	/*
	 * entries that a poll asks for after `cq` was found empty; DOFI_CQ_BATCH if a large array
	 * costs nothing
	 */
	uint32_t cq_few;
	uint32_t cq_want; /* entries that the next poll asks for; guarded by engine.lock */
	struct dofi_engine engine;
	/*
	 * the fabric completes messages up to this length when it has copied them, so they are
	 * injected; or 0
	 */
	uint64_t inject_max;
	struct dofi_limits limits;
	enum dofi_order order;
	uint32_t context_gap; /* op_context.h */
	/* an earlier write may be overtaken by reads, by writes */
	bool reads_overtake, writes_overtake;
	/* a registration can be closed without a word to the peers; traits.h */
	bool ends_keys;
	/* the last bytes of a write are an operation of their own (parts.h) */
	bool splits_writes;
	enum dofi_credit_mode credits; /* how messages wait for receives of the peer */
	/* the last word of a write is a second target, which the fabric stores after the rest */
	bool names_flags;
	/* parameter srq_ep_broken */
	bool tells_last_receive;
	bool has_data;       /* messages can carry completion data */
	bool uses_ctrl_msgs; /* control records travel as control messages (control_message.h) */
	/* the device executes DAT's barrier flag, so that requests need not wait for it here */
	bool fences_reads;
	/* posts use the atomic operations of the device, if the peer's device has them */
	bool has_atomics;
	bool does_atomics; /* the device executes them for peers */
	/* a write with completion data takes a receive, as immediate data of DAT do */
	bool has_immediates;
	uint64_t quirks;          /* bits of quirks.h */
	bool moves_alone;         /* the device moves data by itself; completions only report */
	_Atomic uint32_t nagents; /* CNOs in `agents` */
	struct dofi_ctxtab ctxtab;
	struct dofi_wait wait;

	struct dofi_list all; /* every IA of the process, for fork and exit handlers */
	/* while the process forks: the forking thread holds engine.lock, or obj_lock */
	bool at_rest, objects_at_rest;
	char name[DAT_NAME_MAX_LENGTH];
	/* reported back, because the registry finds its entry by it */
	DAT_BOOLEAN thread_safe_asked;
	struct dofi_params params;
	struct dofi_named named;
	struct dofi_nic nic;
	struct sockaddr_storage addr; /* port 0 */
	bool host_only; /* the fabric joins only processes of this host and has no IP addresses */

	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct dofi_eqs eqs; /* msg transport */
	struct dofi_cqs cqs;
	enum fi_wait_obj cq_wait; /* FD, POLLFD, or NONE if no descriptor reports completions */
	/* the descriptor does not wake a thread after another thread has read the queue */
	bool cq_mutes;
	struct fid_pep *pep;      /* msg transport */
	struct fid_ep *shared_ep; /* rdm transport: the endpoint of all EPs */
	uint8_t fabric_name[DOFI_FABRIC_NAME_MAX];
	size_t fabric_name_size;
	struct dofi_sink sink;
	uint8_t nowhere;      /* msg transport: target of receives without segments */
	struct dofi_rdm *rdm; /* state of the rdm transport */
	/* NULL until there is a UD EP; guarded by engine.lock */
	struct dofi_ud_pool *ud_pool;
	struct dofi_list ud_answers; /* address handles; guarded by engine.lock */
	struct dofi_list orphans;    /* guarded by engine.lock */
	struct dofi_list drains;     /* guarded by engine.lock */
	uint32_t ndrains;
	/* memory that is unmapped after the endpoint is closed; see dofi_mr_abandon */
	struct iovec left[5];
	uint32_t nleft;
	struct dofi_lock mr_lock;          /* one registration is made or closed at a time */
	struct dofi_log_limit mr_refusals; /* bounce buffers are tried again; guarded by mr_lock */

	struct dofi_wakeup wakeup;
	struct dofi_memory memory; /* memory transport */
	struct dofi_shm_cleanup shm_cleanup;
	struct dofi_key key;                /* that peers must have */
	struct dofi_shm_repair *shm_repair; /* rdm transport: its own; NULL: none */
	struct dofi_cm cm;
	struct dofi_scratch scratch;
	struct dofi_ctrl_memory ctrl_memory;
	struct dofi_bounces bounces;
	struct dofi_guard guard;

	struct dofi_lock obj_lock;
	struct dofi_list objects[DOFI_HANDLE_TYPES];
	uint32_t counts[DOFI_HANDLE_TYPES];
	uint32_t next_pz;
	struct dofi_list agents; /* CNOs whose agents must be called */
	/* agent calls under way; both lists are guarded by obj_lock */
	struct dofi_list agent_calls;
	/* calls that use the IA after they have run agents; guarded by obj_lock */
	uint32_t nstaying;
	_Atomic uint32_t agents_due;

	/* While the IA closes: EVDs, CNOs and PZs that are retired and not destroyed yet. */
	struct dofi_list doomed[DOFI_HANDLE_TYPES];

	DOFI_COUNTERS(IA)
	struct {
		DOFI_COUNTERS(EP)
	} closed_eps;
	struct dofi_evd *_Atomic async_evd; /* NULL: out of scope */
	bool async_evd_ours;
};

#define DOFI_IA(handle) ((struct dofi_ia *)DOFI_OBJ(handle, IA))

/* --- api12.c and api20.c --- */
/* Template of the tables that registries dispatch through: each IA name has a copy, see init.c. */
extern const DAT_PROVIDER dofi_provider;
/* Fills the attributes that only this generation has. Either pointer may be NULL. */
void dofi_api_attrs(DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR *prov_attr);

#endif
