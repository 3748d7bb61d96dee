/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parts of an IA that belong to other rooms. Only types: the headers named below declare the
 * functions.
 */
#ifndef DOFI_IA_PARTS_H
#define DOFI_IA_PARTS_H

#include "base/dat_api.h"
#include "base/list.h"
#include "base/log.h"
#include "base/lock.h"
#include "base/run_delay.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_conn;
struct dofi_ctrl_slots;
struct dofi_evd;
struct dofi_ia;
struct fid_cq;
struct dofi_local_sender;
struct dofi_wakeup_offer;
struct fid_mr;
struct pollfd;

/* --- progress --- */

/*
 * A descriptor that the engine watches; embedded in its owner. ready() runs with engine.lock held.
 */
struct dofi_fd {
	int fd;
	void (*ready)(struct dofi_fd *fd, uint32_t epoll_events);
};

/* fire() runs once, with engine.lock held, when the timer is not set any more. */
struct dofi_timer {
	struct dofi_timer *child, *next; /* of the heap; timer.c */
	struct dofi_timer **place;       /* the pointer that leads here; NULL: not set */
	uint64_t deadline;               /* CLOCK_MONOTONIC, ns */
	void (*fire)(struct dofi_timer *timer);
};

/* Work deferred until the current batch of completions is done. run() with engine.lock held. */
struct dofi_work {
	struct dofi_list link;
	void (*run)(struct dofi_work *work);
};

/*
 * Waits for the fabric: every round calls retry(). Embedded in its owner, whose lock guards
 * `waits`.
 */
struct dofi_stall {
	bool waits;
	struct dofi_list link; /* in engine.stalled; guarded by engine.stalled_lock */
	void (*retry)(struct dofi_stall *stall); /* first sets `waits` to false; engine.lock held */
};

/*
 * A dat_evd_dequeue that found its EVD empty and polls. The next event for that EVD goes directly
 * to it, without the ring.
 */
struct dofi_taker {
	struct dofi_evd *evd; /* NULL: no such call, or it has its event */
	DAT_EVENT *event;
};

struct dofi_engine {
	/* reads the completion queues; returns the number of events handled. lock held */
	int (*reap)(struct dofi_ia *ia);
	/* usable until the IA's memory is used again: a late poll may take it */
	struct dofi_lock lock;
	bool has_fabric;      /* rounds may read the fabric, until the IA closes; guarded by lock */
	uint32_t empty_polls; /* consecutive ones; guarded by lock, like the taker and the work */
	struct dofi_taker taker;
	_Atomic uint32_t missed;   /* polls in a row that found the lock taken */
	_Atomic uint32_t nstalled; /* number of stalls that wait for the fabric */
	struct dofi_list work;
	struct dofi_list last_work;
	_Atomic uint32_t activity; /* incremented by every consumer call that polls or waits */
	_Atomic uint32_t handled;  /* events handled so far */
	/* consumers in a post of a large message, which the fabric may copy within the call */
	_Atomic uint32_t copying;

	int sock_epfd; /* our own descriptors: control channels and listeners */
	/* sock_epfd and the EQ: what the progress thread watches while consumers poll the CQ */
	int quiet_epfd;
	/* eventfd: wakes the driver, which sleeps on it, quiet_epfd and the CQ */
	int wake_fd;
	int park_fd;                 /* eventfd: wakes the parked progress thread */
	struct dofi_timer *timers;   /* a heap: the first deadline on top; guarded by lock */
	_Atomic uint64_t next_timer; /* deadline of the first timer, or UINT64_MAX */

	struct dofi_lock stalled_lock; /* a leaf */
	struct dofi_list stalled;

	_Atomic bool stop;
	_Atomic bool parked;
	pthread_t thread;
	bool joined; /* the thread has ended and was joined */
	/*
	 * users that need rounds at short intervals, because the fabric does not wake the driver
	 * for them
	 */
	_Atomic uint32_t restless;
	/*
	 * shows peers with rings in shared memory whether the driver sleeps. False, or NULL: there
	 * are no such peers. Called without locks
	 */
	bool (*doze)(struct dofi_ia *ia, bool asleep);
};

struct dofi_wait {
	_Atomic bool driven;       /* there is a driver */
	_Atomic(pthread_t) driver; /* 0: none, or it is about to store itself */
	_Atomic bool asleep;       /* the driver is in ppoll or about to enter it */
	/*
	 * time until which the driver looks again instead of sleeping, because messages about
	 * connections follow each other at once; 0: the driver sleeps
	 */
	_Atomic uint64_t awake_until;
	_Atomic bool unwatched;    /* the driver does not watch the CQ, unless there are watchers */
	_Atomic uint32_t watchers; /* dofi_wait_watch */
	/*
	 * after it was woken for a watcher, the driver watches the CQ so long; used by the driver
	 * only
	 */
	uint64_t stay_ns, stay_until;
	_Atomic uint32_t count; /* sleeping threads beside the driver */
	struct dofi_lock lock;
	struct dofi_list sleepers;
	/* the word whose change the driver waits for */
	_Atomic(const _Atomic uint32_t *) driver_wake;
	/* descriptors of the driver's sleep; used by the driver only */
	struct pollfd *fds;
	size_t max_fds;
	/* descriptor in the CQ's list that is always readable and is ignored; -1: none */
	int mute_fd;
	/*
	 * the driver has set its marks since its last sleep; a peer may have taken one back, to
	 * wake it
	 */
	_Atomic bool marked;
	/* length of the next sleep of the driver; doubles while nothing happens */
	uint64_t nap_ns;
	uint32_t nap_rounds;  /* value of engine.handled since which nothing happened */
	uint64_t quiet_since; /* time since which nothing happened */
	/* we or a peer have posted something since the last nap began */
	_Atomic bool posted;
	_Atomic bool deep;    /* the nap is long: a thread that posts wakes the driver */
	uint32_t fruitless;   /* consecutive sleeps that the CQ ended without an event */
	uint32_t seen_rounds; /* engine.handled after the last of them */
};

#define DOFI_WAKEUP_UUID 16

struct dofi_wakeup {
	bool is_open; /* there is a local socket */
	struct dofi_fd socket;
	int mark_fd;
	_Atomic uint32_t *mark; /* our mark, which peers map; NULL: no wakeup */
	/* number of peers whose mark has not come; they may not see ours either */
	_Atomic uint32_t deaf;
	/*
	 * an offer came; the descriptor beside it is closed afterwards; NULL: they are ignored.
	 * engine.lock held
	 */
	void (*heard)(struct dofi_ia *ia, const struct dofi_wakeup_offer *text,
		      const struct dofi_local_sender *sender);
};

/* The mark of a peer. Embedded in the transport's structure of the peer. */
struct dofi_wakeup_peer {
	const _Atomic uint32_t *mark; /* never NULL; not 0: the peer sleeps */
	uint8_t uuid[DOFI_WAKEUP_UUID];
};

#define DOFI_MAX_CQS        33
#define DOFI_MAX_DEVICE_CQS 12

struct dofi_cqs {
	struct dofi_cq {
		struct fid_cq *fid;
		size_t size, used; /* in entries; `used` is guarded by engine.lock */
		uint32_t users;    /* endpoints; guarded by engine.lock */
		bool due;          /* to be read in the next round; cq_ready.h */
		/* not read since fi_trywait allowed to sleep on it */
		_Atomic bool armed;
	} list[DOFI_MAX_CQS]; /* the first is ia->cq; all are closed with the IA */
	_Atomic uint32_t n;   /* grows under engine.lock */
	bool told_full;
	int told_error; /* of the last read that failed; guarded by engine.lock */
	bool shared;    /* all but the first are behind ready_fd */
	int ready_fd;   /* epoll set; cq_ready.h */
	uint32_t looks; /* number of looks at the set */
	/* polls without the first queue; polls that still include it */
	uint32_t polls, first_polls;
	/* one that the driver may not sleep on before it is read; 0: none */
	_Atomic uint32_t awake;
};

/* --- dto: credit.h, control.h, guard_byte.h, bounce.h --- */

enum dofi_credit_mode {
	DOFI_CREDITS_NONE,    /* none: the device makes the sender try again */
	DOFI_CREDITS_WRITTEN, /* as writes to the peer's credit word */
	DOFI_CREDITS_CARRIED, /* in completion data, or in separate messages */
};

/*
 * Credit words of an EP, at the index of its scratch slot. Both are totals in network byte order.
 */
struct dofi_credit_words {
	_Atomic uint32_t in; /* written by the peer: our credits */
	/* source of our writes; a newer total than that of the post does no harm */
	uint32_t out;
};

/*
 * Target of separate credit updates. Updates with completion data write no bytes here; written ones
 * go to the words of the EPs.
 */
struct dofi_sink {
	struct dofi_credit_words *words;
	size_t size;
	void *desc;
	struct fid_mr *mr;
	uint64_t key, address; /* sent in HELLO */
};

/* Control slots of each EP, at the index of its scratch slot. */
struct dofi_ctrl_memory {
	struct dofi_ctrl_slots *slots; /* NULL: nothing carries control records as writes */
	bool local;                    /* only connections within this host do, not the fabric */
	struct fid_mr *mr;
	uint64_t key, address;
};

struct dofi_guard {
	char *byte; /* NULL: not needed */
	struct fid_mr *mr;
	void *desc;
};

/* Size classes: from 4 KiB up, by powers of two. */
#define DOFI_BOUNCE_CLASSES 20

struct dofi_bounces {
	struct dofi_lock lock;
	struct dofi_list idle[DOFI_BOUNCE_CLASSES];
	struct dofi_list slabs;
};

/* --- cm: channel.h, conn.h --- */

/* Largest size of the fabric's address of an endpoint, as HELLO carries it. */
#define DOFI_FABRIC_NAME_MAX 256u

/* IA-wide state of the connection manager; guarded by engine.lock. */
struct dofi_cm {
	uint8_t uuid[16];
	struct dofi_list chans; /* all except strangers and dead ones */
	/* accepted sockets whose handshake is not complete, oldest first */
	struct dofi_list strangers;
	struct dofi_list dead;
	struct dofi_chan_tables *tables; /* of channels that were dialled; channel_find.h */
	uint64_t last_answer;        /* when a peer that was dialled got on with its handshake */
	struct dofi_run_delay delay; /* the latest sample */
	uint32_t nstrangers, max_strangers;
	struct dofi_list listeners;         /* of struct dofi_sp, by link */
	uint32_t naccepted;                 /* accepted channels that are up; crowd.h */
	uint32_t max_chans, max_peer_chans; /* of them */
	/* messages about peers that are refused, exceed a limit, say nothing, owe messages */
	struct dofi_log_limit refusals, crowd, silences, debts;
	/* closed to accept and refuse a connection when descriptors run out */
	int spare_fd;
	bool told_no_fds; /* the log has reported this */
	/* while the IA closes: time until which the fabric may finish transfers; 0: not yet set */
	uint64_t close_limit;
	uint64_t invalidations; /* number of the latest one */
	/* changes when an invalidation is answered or its channel is lost */
	_Atomic uint32_t wakeup;
	/* table by the low bits of the number; of conn.c, freed by dofi_cm_fini */
	struct dofi_conn **conns;
	uint32_t conns_size;
	uint32_t nconns;
	/* connections in the stage LINKING; changes with engine.lock held */
	_Atomic uint32_t nlinking;
	uint32_t nrepeated;  /* connections whose request was sent twice */
	uint32_t nabandoned; /* requests that were withdrawn and wait for the consumer; crowd.h */
	/* steps that the fabric has made with connections in this stage */
	uint32_t steps;
	uint64_t last_step;        /* time of the last of these steps */
	struct dofi_list binds;    /* EPs whose bind waits for an invalidation, by bind_link */
	struct dofi_work answered; /* handles answers for them */
};

/* --- transport: memory_path.h, shm_cleanup.h --- */

/* Connections by shared memory; guarded by engine.lock. */
struct dofi_memory {
	struct dofi_list paths; /* the active ones first */
	uint32_t npaths, nactive;
	uint32_t polls; /* of the rings without one of the fabric's queue */
	bool copies; /* peers may copy from and to the memory of this process, and it from theirs */
};

/* Of the fabric's addresses. */

struct dofi_shm_cleanup {
	bool possible; /* the fabric may leave files behind */
	int held;      /* descriptor that holds the lock of our own, or a negative errno */
	struct dofi_timer timer;
};

#endif
