/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parts of an IA that other rooms keep in it. Types alone: what works on them is declared in
 * the room that is named.
 */
#ifndef DOFI_IA_PARTS_H
#define DOFI_IA_PARTS_H

#include "base/dat_api.h"
#include "base/list.h"
#include "base/lock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_conn;
struct dofi_ctrl_slots;
struct dofi_evd;
struct dofi_ia;
struct fid_cq;
struct fid_mr;
struct pollfd;

/* --- progress: engine.h, wait.h, wakeup.h, cqs.h --- */

/*
 * A descriptor that the engine watches; embedded in its owner. ready() runs with engine.lock held.
 */
struct dofi_fd {
	int fd;
	void (*ready)(struct dofi_fd *fd, uint32_t epoll_events);
};

/* fire() runs once, with engine.lock held, after the timer was taken off the list. */
struct dofi_timer {
	struct dofi_list link;
	uint64_t deadline; /* CLOCK_MONOTONIC, ns */
	void (*fire)(struct dofi_timer *timer);
};

/* Work put off until the current batch of completions is through; run() with engine.lock held. */
struct dofi_work {
	struct dofi_list link;
	void (*run)(struct dofi_work *work);
};

/*
 * Waits for the fabric: every round tries again what it did not take. Embedded in its owner, whose
 * lock guards `waits`.
 */
struct dofi_stall {
	bool waits;
	struct dofi_list link; /* in engine.stalled; guarded by engine.stalled_lock */
	void (*retry)(struct dofi_stall *stall); /* first sets `waits` to false; engine.lock held */
};

/*
 * A dat_evd_dequeue that found its EVD empty and polls: the next completion for it needs no place
 * in the ring.
 */
struct dofi_taker {
	struct dofi_evd *evd; /* NULL: none, or served */
	DAT_EVENT *event;
};

struct dofi_engine {
	int (*reap)(
		struct dofi_ia *ia); /* reads the completion queues; events handled. lock held */
	/* valid until the IA's memory is used again: a late poll may take it */
	struct dofi_lock lock;
	bool has_fabric;      /* that rounds may ask, until the IA goes down; guarded by lock */
	uint32_t empty_polls; /* in a row; guarded by lock, as the taker and the work */
	struct dofi_taker taker;
	_Atomic uint32_t nstalled; /* what waits for the fabric */
	struct dofi_list work;
	_Atomic uint32_t activity; /* bumped by every consumer call that polls or waits */
	_Atomic uint32_t handled;  /* events handled so far */
	/* consumers inside a post that the fabric may carry out at once, which takes long */
	_Atomic uint32_t copying;

	int sock_epfd; /* our own descriptors: control channels and listeners */
	/* these and the EQ: what the progress thread watches while consumers poll the CQ */
	int quiet_epfd;
	/* eventfd: calls the driver back, which sleeps on it, quiet_epfd and the CQ */
	int wake_fd;
	int park_fd;                 /* eventfd: calls the parked progress thread back */
	struct dofi_list timers;     /* by deadline; guarded by lock */
	_Atomic uint64_t next_timer; /* deadline of the first timer, or UINT64_MAX */

	struct dofi_lock stalled_lock; /* a leaf */
	struct dofi_list stalled;

	_Atomic bool stop;
	_Atomic bool parked;
	pthread_t thread;
	bool joined; /* it is no more */
	/* connections for which the fabric must be looked after without its asking */
	_Atomic uint32_t restless;
};

struct dofi_wait {
	_Atomic bool driven; /* the driver's place is taken */
	_Atomic bool asleep; /* the driver is in, or about to enter, ppoll... */
	_Atomic bool aloof;  /* ...and leaves the CQ alone, unless somebody needs it watched: */
	_Atomic uint32_t watchers; /* dofi_wait_watch */
	/* called back for one, it watches so long; the driver's alone */
	uint64_t stay_ns, stay_until;
	_Atomic uint32_t count; /* sleepers beside the driver */
	struct dofi_lock lock;
	struct dofi_list sleepers;
	_Atomic(const _Atomic uint32_t *) driver_wake; /* what the driver waits for */
	struct pollfd *fds;                            /* what it sleeps on; the driver's alone */
	size_t max_fds;
	/* of the CQ's list: readable for no reason that a reader could remove; -1: none */
	int mute_fd;
	bool marked; /* peers see that we sleep, and the queue was empty since */
	/* the next sleep by the clock; longer each time that nothing happened... */
	uint64_t nap_ns;
	uint32_t nap_rounds;  /* ...since engine.handled was this... */
	uint64_t quiet_since; /* ...at this time */
	/* the fabric was given something, by us or a peer, since the last nap began */
	_Atomic bool posted;
	_Atomic bool deep;    /* the nap is a long one: who posts calls the driver back */
	uint32_t fruitless;   /* sleeps in a row that the CQ ended and that brought nothing */
	uint32_t seen_rounds; /* engine.handled at the last of them */
};

#define DOFI_WAKEUP_UUID 16

struct dofi_wakeup {
	struct dofi_fd socket;
	int mark_fd;
	_Atomic uint32_t *mark; /* ours, which peers see; NULL: no wakeup */
	_Atomic uint32_t deaf;  /* peers whose mark has not come: they may not see ours either */
};

/* What a peer's mark is to us. Belongs to the transport's idea of the peer. */
struct dofi_wakeup_peer {
	const _Atomic uint32_t *mark; /* never NULL; not 0: asleep */
	uint8_t uuid[DOFI_WAKEUP_UUID];
};

#define DOFI_MAX_CQS 12

struct dofi_cqs {
	struct dofi_cq {
		struct fid_cq *fid;
		size_t size, used; /* entries; used: guarded by engine.lock */
	} list[DOFI_MAX_CQS];      /* the first is ia->cq; closed with the IA */
	_Atomic uint32_t n;        /* grows under engine.lock */
	bool told_full;
};

/* --- dto: credit.h, control.h, guard_byte.h, segments.h --- */

enum dofi_credit_mode {
	DOFI_CREDITS_NONE,    /* the fabric's hardware makes the sender try again */
	DOFI_CREDITS_WRITTEN, /* into the peer's word */
	DOFI_CREDITS_CARRIED, /* by completion data, or by messages of the library's */
};

/* Of an EP, at the index of its scratch slot; both are counts in network byte order. */
struct dofi_credit_words {
	_Atomic uint32_t in; /* the peer's credit */
	/* ours, from where the fabric takes it: the newest will do for an earlier one */
	uint32_t out;
};

/*
 * Memory that peers may write to: where credits of their own land. Those with completion data have
 * no bytes, and nobody reads it; written ones go to the words of the EPs.
 */
struct dofi_sink {
	struct dofi_credit_words *words;
	size_t size;
	void *desc;
	struct fid_mr *mr;
	uint64_t key, address; /* go into the HELLO */
};

/* One control slots per EP, at the index of its scratch slot. */
struct dofi_ctrl_memory {
	struct dofi_ctrl_slots *boxes; /* NULL: this fabric can't carry control records as writes */
	struct fid_mr *mr;
	uint64_t key, address;
};

struct dofi_guard {
	char *byte; /* NULL: the fabric needs none */
	struct fid_mr *mr;
	void *desc;
};

/* From 4 KiB up, by powers of two. */
#define DOFI_BOUNCE_CLASSES 20

struct dofi_bounces {
	struct dofi_lock lock; /* a leaf, but for the registration of memory */
	struct dofi_list idle[DOFI_BOUNCE_CLASSES];
	struct dofi_list slabs;
};

/* --- cm: channel.h, conn.h --- */

/* Bytes of the fabric's address of an endpoint, at most: as it travels in HELLO. */
#define DOFI_FABRIC_NAME_MAX 256u

/* IA-wide state of the connection manager; guarded by engine.lock. */
struct dofi_cm {
	uint8_t uuid[16];
	struct dofi_list chans;     /* all but strangers and dead ones */
	struct dofi_list strangers; /* accepted sockets without a HELLO yet, oldest first */
	struct dofi_list dead;
	uint32_t nstrangers, max_strangers;
	struct dofi_list listeners; /* struct dofi_sp, by link */
	int spare_fd;               /* given up to answer when descriptors run out */
	bool told_no_fds;           /* said so in the log */
	/*
	 * the IA closes: until then the fabric may finish what it is in the middle of; 0: not yet
	 */
	uint64_t close_limit;
	uint64_t invalidations;   /* made so far */
	_Atomic uint32_t wakeup;  /* one of them was answered, or its channel died */
	struct dofi_conn **conns; /* by low bits of the id; conn.c's, freed by dofi_cm_fini */
	uint32_t conns_size;
	uint32_t conns_next;
	uint32_t ud_next; /* number of the next EP of datagrams */
	uint32_t nconns;
	_Atomic uint32_t nlinking; /* in phase LINKING; changed with engine.lock held */
	uint32_t steps;            /* that the fabric has made with these so far... */
	uint64_t last_step;        /* ...and when the last one was */
	struct dofi_list binds;    /* EPs whose bind waits for an invalidation, by bind_link */
	struct dofi_work answered; /* looks after them */
};

/* --- transport: shm_cleanup.h --- */

/* of the fabric's addresses */

struct dofi_shm_cleanup {
	bool possible; /* this fabric leaves some */
	struct dofi_timer timer;
};

#endif
