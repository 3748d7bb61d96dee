/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A libfabric provider that has the limits of hardware which is not there. It works on another
 * provider, the core, through libfabric's public interface. Each object of ours owns one of the
 * core's; only event queues are handed out as the core made them.
 *
 * One lock per domain guards the domain and all below it. Functions that say so are called with it.
 */
#ifndef SHAM_H
#define SHAM_H

#include "fault.h"
#include "base/list.h"

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>
#include <stdbool.h>
#include <stdint.h>

#define SHAM_CONTAINER(ptr, type, member) DOFI_CONTAINER(ptr, type, member)
#define SHAM_IOV                          4

/* --- profile.c: what the hardware is like; README.md says who states each number --- */

struct sham_profile {
	const char *name; /* of the domain */
	uint64_t caps;
	uint64_t caps_on_request; /* of these, what only those get who ask for it */
	uint64_t mode;            /* what the application has to accept... */
	int mr_mode;              /* ...and of registrations */
	int mr_mode_optional;     /* kept when the application asks for it */
	int mr_mode_unasked;      /* stated to all, also to those who do not know it */
	uint32_t addr_format;
	uint32_t protocol;
	enum fi_av_type av_type; /* for those who ask for none */
	uint64_t key_mask;       /* what the provider's keys are covered with; 0: client keys */
	size_t key_size;
	size_t mr_cnt;       /* registrations, as the attributes say */
	unsigned int mr_max; /* and in fact: of remote access; 0: no limit */
	bool key_cache;      /* a key names memory, not a registration, and outlives it */
	unsigned int ep_max;
	uint64_t msg_order;
	/* sends and writes keep the order that was asked for, and no other */
	bool order_on_request;
	bool order_unstated; /* it is kept, but the attributes promise none, whatever is asked */
	uint64_t tag_mask;
	size_t cq_data_size;
	size_t max_msg_size;
	size_t inject_size;
	size_t iov_limit;
	size_t tx_size, rx_size;
	size_t tx_default, rx_default; /* for those who ask for none */
	bool sizes_unstated;           /* the attributes of those who ask for none say SIZE_MAX */
	/* receives beyond the size are taken; too many of them break the endpoint */
	bool rx_unchecked;
	unsigned int wait_objs;       /* bits 1 << FI_WAIT_x */
	enum fi_wait_obj wait_unspec; /* what FI_WAIT_UNSPEC stands for */
	int sread_error;              /* of fi_cq_sread on a queue without a wait object */
	/* unless the application asks for another; 0: FI_THREAD_SAFE */
	enum fi_threading threading;
	enum fi_resource_mgmt management; /* the same; 0: FI_RM_ENABLED */
	bool write_data;                  /* a write can carry FI_REMOTE_CQ_DATA */
	int cancel_unknown;               /* fi_cancel of what is no posted receive */
	bool early;          /* a write without FI_DELIVERY_COMPLETE completes before it is seen */
	bool tells_injected; /* the failure of what was injected has a completion, too */
	bool mutes;          /* a reader keeps the queue from waking another thread that sleeps */
	int refusal[2];      /* err and prov_errno of RDMA that the target refuses */
};

extern const struct sham_profile sham_profiles[];
extern const unsigned int sham_nprofiles;

const struct sham_profile *sham_profile_find(const char *name);

struct sham_ep;
struct sham_op;

/* --- set.c: sets of words; an empty one is all zero --- */

struct sham_set {
	void *root;
};

bool sham_set_has(const struct sham_set *set, uint64_t word);
/* false: it is there already, or no memory */
bool sham_set_add(struct sham_set *set, uint64_t word);
bool sham_set_del(struct sham_set *set, uint64_t word); /* false: it was not there */
void sham_set_clear(struct sham_set *set);

/* --- fault.c --- */

extern struct fi_provider sham_provider;

void sham_params_define(void);
/* The value of FI_SHAM_<NAME>, or NULL. */
const char *sham_param(const char *name);
void sham_faults_load(struct sham_faults *faults);
/* Nothing leaves any more, and nothing is heard. */
static inline bool sham_is_silent(const struct sham_faults *faults)
{
	return !faults->drop;
}
/* Below limit, from a seeded sequence; 0 when limit is below 1. */
int sham_dice(int limit);
bool sham_chance(int percent);
/* Wrong use of libfabric: says what was wrong and ends the program. */
void sham_die(const struct sham_profile *profile, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* --- info.c --- */

int sham_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		 const struct fi_info *hints, struct fi_info **info);
const char *sham_core_name(void);
/* What the core offers for the profile. 0 or a negative error. */
int sham_core_info(const struct sham_profile *profile, uint64_t caps, struct fi_info **info_p);

/* --- fabric.c, domain.c --- */

struct sham_fabric {
	struct fid_fabric fid;
	struct fid_fabric *core;
	_Atomic int refs;
};

struct sham_domain {
	struct fid_domain fid;
	struct fid_domain *core;
	struct sham_fabric *fabric;
	const struct sham_profile *profile;
	int mr_mode;
	pthread_mutex_t lock;
	struct sham_faults faults;
	int storm; /* posts that the present storm still refuses */
	struct dofi_list eps;
	struct dofi_list orphans; /* operations that outlived their endpoint */
	struct sham_set contexts; /* from the post until the completion is read */
	struct sham_set mrs;      /* addresses of struct sham_mr, which are the descriptors */
	struct sham_set keys;     /* client keys */
	bool key_cache;           /* see the profile */
	/* memory that has a key of that kind, until the domain is closed */
	struct dofi_list regions;
	unsigned int nmrs, nremote, neps;
	int refs;
	uint64_t next_key;
};

int sham_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int sham_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		     void *context);
struct sham_fabric *sham_fabric_of(struct fid_fabric *fabric);
struct sham_domain *sham_domain_of(struct fid_domain *domain);
/*
 * fi_control of a CXI domain: whether keys are cached, a bool. By its number: not all have
 * libfabric's header for it.
 */
#define SHAM_SET_KEY_CACHE (-(0xccc << 16) + 7)
/* For operations that an object does not have. */
int sham_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int sham_no_control(struct fid *fid, int command, void *arg);
int sham_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

/* --- av.c --- */

struct sham_av {
	struct fid_av fid;
	struct fid_av *core;
	struct sham_domain *domain;
	struct sham_set addrs;
	int refs;
};

int sham_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		 void *context);

/* --- mr.c --- */

struct sham_mr {
	struct fid_mr fid;
	struct fid_mr *core; /* NULL until enabled, and where the key is cached */
	struct sham_domain *domain;
	struct sham_ep *ep; /* bound to, where registrations belong to endpoints */
	struct iovec iov;
	uint64_t access;
	uint64_t client_key;
	bool enabled;
};

extern struct fi_ops_mr sham_mr_ops;
/* Forgets the memory that has a cached key. 0 or a negative error. */
int sham_mr_forget_regions(struct sham_domain *domain);
/* Ends the program unless the operation's descriptors cover its segments. Lock held. */
void sham_mr_check_segments(const struct sham_op *op);
/* The core's key; whether the key can be one of the profile's. */
bool sham_mr_uncover(const struct sham_profile *profile, uint64_t key, uint64_t *core_p);

/* --- context.c: of operations; lock held --- */

bool sham_context_is_used(const struct sham_domain *domain, const void *context);
void sham_context_enter(struct sham_domain *domain, void *context);
/* The application has its memory back. Ends the program if it has used that before. */
void sham_context_leave(struct sham_domain *domain, void *context);
/* The same without a look: its memory may be gone. */
void sham_context_forget(struct sham_domain *domain, void *context);

/* --- cq.c --- */

struct sham_done;

struct sham_cq {
	struct fid_cq fid;
	struct fid_cq *core;
	struct sham_domain *domain;
	size_t entry_size;
	enum fi_wait_obj wait_obj;
	int epfd;        /* for the application to sleep on, where a reader can mute it; else -1 */
	int core_fd;     /* in it */
	bool muted;      /* the descriptor says nothing until the next fi_trywait */
	pthread_t armer; /* whose fi_trywait was the latest */
	unsigned int npolls;
	struct dofi_list done;   /* completions that the application has yet to read */
	struct sham_done *error; /* the one that it has to take by fi_cq_readerr */
	bool asleep;             /* the application may be: only the core can wake it */
	int refs;
};

int sham_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		 void *context);
/* -FI_EAGAIN when the application has to read the queue before it may sleep. */
int sham_cq_may_sleep(struct sham_cq *cq);
/* There is something for the queue's reader that the core knows nothing of. Lock held. */
void sham_cq_wake(struct sham_cq *cq);
/* Takes what the core completed and lets operations go. Lock held. */
void sham_cq_progress(struct sham_cq *cq);
/* Tells the application that op ended, unless it wants no completion. Lock held. */
void sham_cq_tell(struct sham_op *op, const struct fi_cq_err_entry *entry, fi_addr_t src);

/* --- ep.c --- */

struct sham_ep {
	struct fid_ep fid;
	struct fid_ep *core;
	struct sham_domain *domain;
	struct dofi_list link;    /* in domain->eps */
	struct dofi_list waiting; /* operations that are not the core's yet, in posting order */
	struct dofi_list flying;  /* those that are */
	struct sham_set gone;     /* addresses of peers that the core cannot reach */
	struct sham_cq *tx_cq, *rx_cq;
	struct sham_av *av;
	uint64_t caps, msg_order;
	uint64_t tx_flags, rx_flags; /* of calls that take no flags */
	bool tx_selective, rx_selective;
	bool enabled;
	size_t tx_size, rx_size;
	size_t ntx, nrx; /* operations posted and not ended */
	int refs;        /* registrations */
};

int sham_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		 void *context);
struct sham_ep *sham_ep_of(struct fid_ep *ep);

/* --- op.c: one kind of record for all operations, from post to completion --- */

enum sham_kind { SHAM_READ, SHAM_WRITE, SHAM_SEND, SHAM_RECV };

struct sham_op {
	struct fi_context2 core_context; /* first: it is what the core knows of op */
	struct dofi_list link;
	struct sham_ep *ep; /* NULL: an orphan */
	enum sham_kind kind;
	bool tagged;
	bool injected; /* by a call without a context: it has no completion */
	bool reported; /* the application was told already */
	bool cancelled;
	bool refused; /* the target will not have it */
	uint64_t flags;
	fi_addr_t addr;
	/* the application's own, of several; with FI_ASYNC_IOV it has to leave them alone */
	const struct iovec *segments;
	uint64_t segments_sum; /* as they were at the post */
	struct iovec iov[SHAM_IOV];
	void *desc[SHAM_IOV];
	size_t niov;
	struct fi_rma_iov rma;
	uint64_t tag, ignore, data;
	void *context;
	void *copy; /* of the payload, when the application may have its buffer back */
	uint64_t due_ns;
	uint64_t alone_ns; /* since when the core refuses it with nothing else under way, or 0 */
	struct sham_op *whole; /* the write that this is a piece of (pieces.c) */
	int npieces;           /* of this write, which have not ended; how the first one failed: */
	int err, prov_errno;
};

static inline bool sham_op_is_rma(const struct sham_op *op)
{
	return op->kind == SHAM_READ || op->kind == SHAM_WRITE;
}

/* Posts a copy of op: 0, or a negative error and nothing happened. */
ssize_t sham_op_post(const struct sham_op *op);
/* Gives op to the core, or not yet, or ends it with an error. 0 or a negative error. Lock held. */
ssize_t sham_op_issue(struct sham_op *op);
/* The core has completed op. Lock held. */
void sham_op_end(struct sham_op *op, struct fi_cq_err_entry *entry, fi_addr_t src);
/* The endpoint goes away: op waits for the core alone. Lock held. */
void sham_op_orphan(struct sham_op *op);
void sham_op_free(struct sham_op *op);

/* --- pieces.c: one write in any order --- */

/* What was accepted waits in pieces, for itself. False: it stays whole. Lock held. */
bool sham_pieces_wait(struct sham_op *op);
/* With the last one the write ends. Lock held. */
void sham_piece_end(struct sham_op *piece, const struct fi_cq_err_entry *entry);

/* --- post.c: libfabric's many calls, each made a struct sham_op --- */

extern struct fi_ops_msg sham_msg_ops;
extern struct fi_ops_tagged sham_tagged_ops;
extern struct fi_ops_rma sham_rma_ops;

/* --- late.c: which operation goes when --- */

/* When a new operation may begin at the earliest. */
uint64_t sham_late_due(const struct sham_op *op);
/* Gives the core all that may go. Lock held. */
void sham_late_push(struct sham_ep *ep);
/* The same at once for everything that was told as done already. Lock held. */
void sham_late_flush(struct sham_ep *ep);
/* Ends all for a peer that is no longer in the address vector. Lock held. */
void sham_late_forsake(struct sham_ep *ep, fi_addr_t addr);

#endif
