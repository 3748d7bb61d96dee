/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Interface adapter: the fabric objects, the engine, the connection manager and every object
 * below it.
 */
#ifndef DOFI_IA_H
#define DOFI_IA_H

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

/* What takes a fabric that copies within the call longer than it takes us to say so. */
#define DOFI_LARGE 16384u

/* What dat_ia_query promises and create calls enforce; derived from fi_info once. */
struct dofi_limits {
	uint32_t max_eps, max_dtos, max_evds, max_evd_qlen, max_iov, max_lmrs, max_rmrs, max_pzs,
		max_srqs, max_reads;
	uint32_t fabric_iov; /* segments of one operation of the fabric */
	uint64_t max_message, max_rdma, max_lmr;
	uint64_t max_datagram; /* 0: there are none */
	/* what the short lane of posts takes (post.c): nothing that is large, or too long... */
	uint64_t plain;
	uint64_t plain_write; /* ...and of writes nothing that may need two operations */
};

/* One slot of registered memory per EP for reads of the peer's context table. */
struct dofi_scratch {
	struct dofi_ctx_wire *slots;
	uint32_t *free_stack; /* guarded by ia->obj_lock */
	uint32_t nfree;
	struct fid_mr *mr;
	void *desc;
};

/* Named attributes of the provider; values point to constants, into ia->info or to text. */
struct dofi_named {
	DAT_NAMED_ATTR list[36];
	uint32_t count;
	char mtu[12], mr_cached[8], atomics[8];
	struct dofi_facts facts;
};

struct dofi_ia {
	struct dofi_obj obj;

	/* Hot, and in few cache lines. */
	struct fid_cq *cq; /* the first, and mostly the only one, of cqs */
	const struct dofi_trans_ops *trans;
	const struct dofi_upcalls *up; /* of the connection manager */
	/* takes what the queue gave: trans->completed, or what mends it first (data_flag.h) */
	void (*completed)(struct dofi_ia *ia, const void *entries, ssize_t n);
	/*
	 * entries that a poll asks for when `cq` was found empty: DOFI_CQ_BATCH where that costs
	 * nothing...
	 */
	uint32_t cq_few;
	uint32_t cq_want; /* ...and those that the next one asks for; guarded by engine.lock */
	struct dofi_engine engine;
	/*
	 * up to so many bytes a completion would only say that they were copied, so there is none;
	 * or 0
	 */
	uint64_t inject_max;
	struct dofi_limits limits;
	enum dofi_order order;
	uint32_t context_gap;                 /* op_context.h */
	bool reads_overtake, writes_overtake; /* an earlier write, on this fabric */
	/* the last bytes of a write are an operation of their own (segments.h) */
	bool splits_writes;
	enum dofi_credit_mode credits; /* how peers learn of receives, for which messages wait */
	/*
	 * the last word of a write is a target of its own, which the fabric stores behind the rest
	 */
	bool names_flags;
	/* of an EP of an SRQ, when its connection is over: srq_ep_broken */
	bool tells_last_receive;
	bool has_data;       /* messages can carry completion data */
	bool uses_ctrl_msgs; /* control records are control messages (control_message.h) */
	/* DAT's barrier is a flag of the fabric's, and waits for nothing here */
	bool fences_reads;
	bool has_atomics;  /* the device does them, here and, where a peer says so, at its end */
	bool does_atomics; /* it does them for peers */
	/* a write with completion data takes a receive, as DAT's immediate data do */
	bool has_immediates;
	uint64_t quirks;  /* of this provider and libfabric; see quirks.h */
	bool moves_alone; /* the device does all there is to do; completions only tell of it */
	_Atomic uint32_t nagents; /* CNOs in `agents` */
	struct dofi_ctxtab ctxtab;
	struct dofi_wait wait;

	struct dofi_list all; /* every IA of the process, for fork and exit handlers */
	bool at_rest;         /* while the process forks: the forking thread has engine.lock */
	char name[DAT_NAME_MAX_LENGTH];
	DAT_BOOLEAN thread_safe_asked; /* reported back: the registry finds its entry by it */
	struct dofi_params params;
	struct dofi_named named;
	struct dofi_nic nic;
	struct sockaddr_storage addr; /* port 0 */
	bool host_only; /* the fabric joins processes of this host and has no IP addresses */

	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct dofi_eqs eqs; /* msg transport */
	struct dofi_cqs cqs;
	enum fi_wait_obj cq_wait; /* FD, POLLFD, or NONE: nothing tells that the CQ has something */
	/* what is slept on says nothing any more once another thread has read the queue */
	bool cq_mutes;
	struct fid_pep *pep;      /* msg transport */
	struct fid_ep *shared_ep; /* rdm transport: the endpoint of all EPs */
	uint8_t fabric_name[DOFI_FABRIC_NAME_MAX];
	size_t fabric_name_size;
	struct dofi_sink sink;
	uint8_t nowhere;      /* msg transport: what receives without segments get */
	struct dofi_rdm *rdm; /* rdm transport: its own */
	/* NULL until there is an EP of datagrams; guarded by engine.lock */
	struct dofi_ud_pool *ud_pool;
	struct dofi_list orphans; /* guarded by engine.lock */
	struct dofi_list drains;  /* as well */
	uint32_t ndrains;
	struct iovec left[5]; /* memory that goes with the endpoint; see dofi_mr_abandon */
	uint32_t nleft;
	struct dofi_lock mr_lock;  /* one registration begins or ends at a time */
	_Atomic uint64_t next_key; /* requested_key of the next registration: never reused */

	struct dofi_wakeup wakeup;
	struct dofi_shm_cleanup shm_cleanup;
	struct dofi_cm cm;
	struct dofi_scratch scratch;
	struct dofi_ctrl_memory mail;
	struct dofi_bounces bounces;
	struct dofi_guard guard;

	struct dofi_lock obj_lock;
	struct dofi_list objects[DOFI_HANDLE_TYPES];
	uint32_t counts[DOFI_HANDLE_TYPES];
	uint32_t next_pz, next_srq;
	struct dofi_list agents;      /* CNOs whose agent call is due */
	struct dofi_list agent_calls; /* under way; guarded by obj_lock, as the two above */
	/* calls that go on with the IA after they have run agents; guarded by obj_lock */
	uint32_t nstaying;
	_Atomic uint32_t agents_due;

	/* While the IA closes: EVDs, CNOs and PZs, retired and not destroyed yet. */
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
/*
 * What the tables that registries dispatch through are made from: one copy per IA name, see
 * init.c.
 */
extern const DAT_PROVIDER dofi_provider;
/* Fills the attributes that only this generation has. Either may be NULL. */
void dofi_api_attrs(DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR *prov_attr);

/* --- init.c --- */

/* --- ia.c, for stats.c --- */

/* --- attr.c --- */

#endif
