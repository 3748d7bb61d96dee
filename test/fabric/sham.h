/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A libfabric provider that simulates the limits of cards. It works on another provider, the core,
 * through libfabric's public interface. Each object owns one of the core's; only event queues are
 * those of the core itself.
 *
 * One lock per domain guards the domain and all objects below it. "Lock held" means that the caller
 * holds this lock.
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

/* --- profile.c: the traits of each card; README.md has the source of each number --- */

struct sham_profile {
	const char *name; /* name of the domain */
	uint64_t caps;
	uint64_t caps_on_request; /* the capabilities that only hints which ask for them get */
	uint64_t mode;            /* modes that the application has to accept... */
	int mr_mode;              /* ...and modes of registrations */
	int mr_mode_optional;     /* kept when the application asks for it */
	int mr_mode_unasked;      /* stated to all, also to those who do not know it */
	uint32_t addr_format;
	uint32_t protocol;
	enum fi_av_type av_type; /* for hints that ask for none */
	/* combined with the core's key to make the provider's; 0: client keys */
	uint64_t key_mask;
	size_t key_size;
	size_t mr_cnt;       /* number of registrations in the attributes */
	unsigned int mr_max; /* actual limit of registrations with remote access; 0: none */
	bool key_cache;      /* a key belongs to memory, and outlives the registration */
	unsigned int ep_max;
	uint64_t msg_order;
	/* sends and writes keep only the order that the hints ask for */
	bool order_on_request;
	bool order_unstated; /* it is kept, but the attributes promise none, whatever is asked */
	uint64_t tag_mask;
	size_t cq_data_size;
	size_t max_msg_size;
	size_t inject_size;
	size_t iov_limit;
	size_t tx_size, rx_size;
	size_t tx_default, rx_default; /* for hints that ask for none */
	bool sizes_unstated;           /* the attributes say SIZE_MAX for hints that ask for none */
	/* accepts receives beyond the size; too many of them break the endpoint */
	bool rx_unchecked;
	unsigned int wait_objs;       /* bits 1 << FI_WAIT_x */
	enum fi_wait_obj wait_unspec; /* the meaning of FI_WAIT_UNSPEC */
	int sread_error;              /* of fi_cq_sread on a queue without a wait object */
	/* unless the application asks for another; 0: FI_THREAD_SAFE */
	enum fi_threading threading;
	enum fi_resource_mgmt management; /* the same; 0: FI_RM_ENABLED */
	bool write_data;                  /* a write can carry FI_REMOTE_CQ_DATA */
	int cancel_unknown; /* result of fi_cancel for a context without a posted receive */
	/* a write without FI_DELIVERY_COMPLETE completes before the peer sees it */
	bool early;
	bool tells_injected; /* the failure of an injected operation has a completion */
	bool mutes;          /* after a read the queue does not wake another thread that sleeps */
	int refusal[2];      /* err and prov_errno of an RDMA operation that the target refuses */
};

extern const struct sham_profile sham_profiles[];
extern const unsigned int sham_nprofiles;

const struct sham_profile *sham_profile_find(const char *name);

struct sham_ep;
struct sham_op;

/* --- set.c: sets of words; an empty set is all zero --- */

struct sham_set {
	void *root;
};

bool sham_set_has(const struct sham_set *set, uint64_t word);
/* Returns false if the set contains the word already, or without memory. */
bool sham_set_add(struct sham_set *set, uint64_t word);
bool sham_set_del(struct sham_set *set, uint64_t word); /* false: the set does not contain it */
void sham_set_clear(struct sham_set *set);

/* --- fault.c --- */

extern struct fi_provider sham_provider;

void sham_params_define(void);
/* The value of FI_SHAM_<NAME>, or NULL. */
const char *sham_param(const char *name);
void sham_faults_load(struct sham_faults *faults);
/* True if this side sends and receives nothing any more. */
static inline bool sham_is_silent(const struct sham_faults *faults)
{
	return !faults->drop;
}
/* A pseudo-random number below limit; 0 if limit is below 1. */
int sham_dice(int limit);
bool sham_chance(int percent);
/* Ends the program because it uses libfabric wrongly, with a message. */
void sham_die(const struct sham_profile *profile, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* --- info.c --- */

int sham_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		 const struct fi_info *hints, struct fi_info **info);
const char *sham_core_name(void);
/* Finds what the core offers for the profile. Returns 0 or a negative error. */
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
	int storm; /* remaining posts that the present storm refuses */
	struct dofi_list eps;
	struct dofi_list orphans; /* operations that outlived their endpoint */
	struct sham_set contexts; /* from the post until the completion is read */
	struct sham_set mrs;      /* addresses of struct sham_mr, which are the descriptors */
	struct sham_set keys;     /* client keys */
	bool key_cache;           /* see the profile */
	/* memory with a cached key, until the domain is closed */
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
 * FI_OPT_CXI_SET_PROV_KEY_CACHE. Some systems do not have the header that defines it. Its argument,
 * a bool, turns cached keys on or off for a domain.
 */
#define SHAM_SET_KEY_CACHE (-(0xccc << 16) + 7)
/* Results of calls that an object does not have. */
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
	struct fid_mr *core; /* NULL until it is enabled, and if the key is cached */
	struct sham_domain *domain;
	/* the endpoint that it is bound to, if registrations belong to endpoints */
	struct sham_ep *ep;
	struct iovec iov;
	uint64_t access;
	uint64_t client_key;
	bool enabled;
};

extern struct fi_ops_mr sham_mr_ops;
/* Ends all cached keys. Returns 0 or a negative error. */
int sham_mr_forget_regions(struct sham_domain *domain);
/* Ends the program unless the operation's descriptors cover its segments. Lock held. */
void sham_mr_check_segments(const struct sham_op *op);
/* Stores the core's key. Returns whether the key can be one of the profile. */
bool sham_mr_uncover(const struct sham_profile *profile, uint64_t key, uint64_t *core_p);

/* --- context.c: operation contexts; lock held --- */

bool sham_context_is_used(const struct sham_domain *domain, const void *context);
void sham_context_enter(struct sham_domain *domain, void *context);
/*
 * Gives the memory back to the application. Ends the program if it has changed the memory
 * meanwhile.
 */
void sham_context_leave(struct sham_domain *domain, void *context);
/* The same without the check, because the memory may not exist any more. */
void sham_context_forget(struct sham_domain *domain, void *context);

/* --- cq.c --- */

struct sham_done;

struct sham_cq {
	struct fid_cq fid;
	struct fid_cq *core;
	struct sham_domain *domain;
	size_t entry_size;
	enum fi_wait_obj wait_obj;
	/* descriptor that the application sleeps on, if a read can mute it; else -1 */
	int epfd;
	int core_fd;     /* the core's descriptor, inside epfd */
	bool muted;      /* the descriptor is not readable until the next fi_trywait */
	pthread_t armer; /* the thread that called fi_trywait last */
	unsigned int npolls;
	struct dofi_list done;   /* completions that the application has not read yet */
	struct sham_done *error; /* the completion to be read by fi_cq_readerr */
	bool asleep;             /* the application may sleep, and only the core can wake it */
	int refs;
};

int sham_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		 void *context);
/* -FI_EAGAIN if the application has to read the queue before it may sleep. */
int sham_cq_may_sleep(struct sham_cq *cq);
/* Wakes a thread that sleeps on the queue, for a completion that is not the core's. Lock held. */
void sham_cq_wake(struct sham_cq *cq);
/* Takes the completions of the core and issues operations that are due. Lock held. */
void sham_cq_progress(struct sham_cq *cq);
/* Queues the completion of op, unless the application wants none. Lock held. */
void sham_cq_tell(struct sham_op *op, const struct fi_cq_err_entry *entry, fi_addr_t src);

/* --- ep.c --- */

struct sham_ep {
	struct fid_ep fid;
	struct fid_ep *core;
	struct sham_domain *domain;
	struct dofi_list link;    /* in domain->eps */
	struct dofi_list waiting; /* operations that the core does not have yet, in posting order */
	struct dofi_list flying;  /* operations that the core has */
	struct sham_set gone;     /* addresses of peers that the core cannot reach */
	struct sham_cq *tx_cq, *rx_cq;
	struct sham_av *av;
	uint64_t caps, msg_order;
	uint64_t tx_flags, rx_flags; /* flags for calls without flags */
	bool tx_selective, rx_selective;
	bool enabled;
	size_t tx_size, rx_size;
	size_t ntx, nrx; /* operations that were posted and have not ended */
	int refs;        /* registrations */
};

int sham_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		 void *context);
struct sham_ep *sham_ep_of(struct fid_ep *ep);

/* --- op.c: the record of an operation, from post to completion --- */

enum sham_kind { SHAM_READ, SHAM_WRITE, SHAM_SEND, SHAM_RECV };

struct sham_op {
	/* the first member, because the core gets its address as context */
	struct fi_context2 core_context;
	struct dofi_list link;
	struct sham_ep *ep; /* NULL if the endpoint was closed */
	enum sham_kind kind;
	bool tagged;
	bool injected; /* posted by a call without a context, so without a completion */
	bool reported; /* its completion is queued already */
	bool cancelled;
	bool refused; /* the target refuses it */
	uint64_t flags;
	fi_addr_t addr;
	/*
	 * the application's array of several segments, which it must not change with FI_ASYNC_IOV
	 */
	const struct iovec *segments;
	uint64_t segments_sum; /* checksum of the segments at the post */
	struct iovec iov[SHAM_IOV];
	void *desc[SHAM_IOV];
	size_t niov;
	struct fi_rma_iov rma;
	uint64_t tag, ignore, data;
	void *context;
	void *copy; /* a copy of the payload, if the application may use its buffer again */
	uint64_t due_ns;
	/* the time since which the core refuses it although nothing else is under way, or 0 */
	uint64_t alone_ns;
	struct sham_op *whole; /* the write that this is a piece of (pieces.c) */
	/* pieces of this write that have not ended; the error of the first that failed: */
	int npieces;
	int err, prov_errno;
};

static inline bool sham_op_is_rma(const struct sham_op *op)
{
	return op->kind == SHAM_READ || op->kind == SHAM_WRITE;
}

/* Posts a copy of op. Returns 0, or a negative error and posts nothing. */
ssize_t sham_op_post(const struct sham_op *op);
/*
 * Gives op to the core if it may go, or ends it with an error. Returns 0 or a negative error. Lock
 * held.
 */
ssize_t sham_op_issue(struct sham_op *op);
/* Ends op, which the core has completed. Lock held. */
void sham_op_end(struct sham_op *op, struct fi_cq_err_entry *entry, fi_addr_t src);
/* Separates op from its endpoint, which is being closed: only the core still uses op. Lock held. */
void sham_op_orphan(struct sham_op *op);
void sham_op_free(struct sham_op *op);

/* --- pieces.c: one write, stored in any order --- */

/*
 * Cuts an accepted write into pieces, which wait instead of it. Returns false if it stays whole.
 * Lock held.
 */
bool sham_pieces_wait(struct sham_op *op);
/* Ends a piece, and with the last piece the write. Lock held. */
void sham_piece_end(struct sham_op *piece, const struct fi_cq_err_entry *entry);

/* --- post.c: libfabric's calls that post --- */

extern struct fi_ops_msg sham_msg_ops;
extern struct fi_ops_tagged sham_tagged_ops;
extern struct fi_ops_rma sham_rma_ops;

/* --- late.c: the time at which each operation is issued --- */

/* The earliest time at which a new operation may be issued. */
uint64_t sham_late_due(const struct sham_op *op);
/* Gives the core all operations that may go. Lock held. */
void sham_late_push(struct sham_ep *ep);
/* Gives the core all operations whose completion the application has already. Lock held. */
void sham_late_flush(struct sham_ep *ep);
/* Ends all operations to a peer that was removed from the address vector. Lock held. */
void sham_late_forsake(struct sham_ep *ep, fi_addr_t addr);

#endif
