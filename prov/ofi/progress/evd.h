/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event dispatcher: a ring of compact events of our own. api12.c and api20.c unfold them into
 * DAT_EVENT when they are dequeued.
 */
#ifndef DOFI_EVD_H
#define DOFI_EVD_H

#include "object/object.h"
#include "base/probe.h"

struct dofi_cno;
struct dofi_srq;

#define DOFI_EVENT_EXTENDED 0x40000u /* DAT 2.0's DAT_IB_DTO_EVENT */

struct dofi_event {
	uint32_t number; /* DAT_EVENT_NUMBER */
	uint8_t op;      /* DTO: enum dofi_op (ep.h) */
	uint8_t status;  /* DTO, bind: DAT_DTO_COMPLETION_STATUS */
	uint16_t ext;    /* IB extension type + 1; 0: a plain event */
	void *handle;    /* EP, RMR, service point, or the object of an asynchronous error */
	union {
		struct {
			uint64_t cookie;
			uint64_t length;
			/* counts one receive less when the event is dequeued; or NULL */
			struct dofi_srq *srq;
			uint32_t immediate; /* host order */
		} dto;                      /* also binds: cookie only */
		struct {
			void *cr;
			uint64_t conn_qual;
			void *local_addr; /* sockaddr of the IA */
		} cr;
		struct {
			/* owned by the EP; with a type of ud.h, the address handle */
			const void *private_data;
			uint32_t private_size;
		} conn;
		uint32_t reason; /* asynchronous errors */
		void *software;
	};
};

/* The SRQ whose count goes down when the event leaves the EVD, or NULL. */
static inline struct dofi_srq *dofi_event_srq(const struct dofi_event *event)
{
	return event->number == DAT_DTO_COMPLETION_EVENT || event->number == DOFI_EVENT_EXTENDED
		       ? event->dto.srq
		       : NULL;
}

/* how a DTO stream notifies */
enum dofi_dto_config {
	DOFI_CONFIG_NONE,
	DOFI_CONFIG_THRESHOLD,
	DOFI_CONFIG_UNSIGNALLED,
	DOFI_CONFIG_SOLICITED,
	DOFI_CONFIGS
};

enum dofi_wake {
	DOFI_WAKE_NONE,
	DOFI_WAKE_EVENT, /* a notification event met the threshold */
	DOFI_WAKE_UNWAITABLE,
	DOFI_WAKE_ABORT,
};

struct dofi_evd {
	struct dofi_obj obj;   /* users: streams attached */
	struct dofi_lock lock; /* valid until the memory is used again */
	struct dofi_event *ring;
	uint32_t head, tail;    /* free running; tail - head events are queued */
	uint32_t qlen;          /* a power of two */
	_Atomic uint32_t count; /* == tail - head, readable without the lock */
	DAT_EVD_FLAGS flags;
	struct dofi_cno *_Atomic cno; /* changed with the lock held */
	struct dofi_list cno_link;    /* in cno->notified; guarded by cno->lock */
	bool disabled;
	bool unwaitable;
	bool dying;          /* waiters return DAT_ABORT; it takes and gives no event any more */
	bool overflown;      /* reported; until the EVD runs empty or is resized */
	_Atomic bool waiter; /* a thread is in dat_evd_wait; also read without the lock */
	enum dofi_wake wake; /* what the waiter is woken for */
	uint32_t threshold;
	_Atomic uint32_t wakeup;
	uint32_t dto_streams[DOFI_CONFIGS]; /* EP directions that feed it, by how they notify */
	DOFI_COUNTERS(EVD)
	uint32_t other_streams; /* connections, PSPs, RSPs, asynchronous events */
};

/* --- the ring, for functions that have taken evd->lock; unit tests have an EVD of their own --- */

static inline struct dofi_event *dofi_evd_slot(const struct dofi_evd *evd, uint32_t index)
{
	return &evd->ring[index & (evd->qlen - 1)];
}

static inline uint32_t dofi_evd_queued(const struct dofi_evd *evd)
{
	return evd->tail - evd->head;
}

static inline void dofi_evd_publish_count(struct dofi_evd *evd)
{
	atomic_store_explicit(&evd->count, dofi_evd_queued(evd), memory_order_relaxed);
}

/* Whether a thread or a CNO may have to be notified of an event. evd->lock may be free. */
static inline bool dofi_evd_is_watched(const struct dofi_evd *evd)
{
	return atomic_load_explicit(&evd->waiter, memory_order_relaxed) ||
	       atomic_load_explicit(&evd->cno, memory_order_relaxed);
}

/* Wakes the waiter, if there is one that was not woken yet. */
void dofi_evd_wake(struct dofi_evd *evd, enum dofi_wake why);

/* Wakes the waiter if its threshold is reached; without a waiter triggers the CNO. */
void dofi_evd_notify(struct dofi_evd *evd);

/* Counts an event that was raised. evd->lock may be free. */
DOFI_INLINE void dofi_evd_count_event(struct dofi_evd *evd, uint32_t number, bool extended,
				      void *handle)
{
	if (number == DAT_DTO_COMPLETION_EVENT || extended)
		DOFI_COUNT(evd, EVD_DTO_CALLBACK, 1);
	else if (number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
		 number <= DAT_CONNECTION_EVENT_UNREACHABLE)
		DOFI_COUNT(evd, EVD_CONN_CALLBACK, 1);
	DOFI_PROBE3(event, evd, number, handle);
	(void)handle;
}

/*
 * Appends the event, which the caller has stored behind the last one. notify: wakes the waiter or
 * triggers the CNO.
 */
DOFI_INLINE void dofi_evd_append(struct dofi_evd *evd, bool notify)
{
	dofi_assert_held(&evd->lock);
	evd->tail++;
	dofi_evd_publish_count(evd);
	if (DOFI_UNLIKELY(notify && dofi_evd_is_watched(evd)))
		dofi_evd_notify(evd);
}

/* --- producers; any lock above evd->lock may be held --- */

/*
 * The EVD is full. Doubles its ring for an event that must not be lost, which tells of the state of
 * a connection, and for others if the ring holds connection requests: how many those are is up to
 * the peers. Returns the place; or NULL without the lock: the event is lost, the overflow was
 * reported on the asynchronous EVD, and the caller breaks the EP concerned.
 */
DOFI_COLD struct dofi_event *dofi_evd_full(struct dofi_evd *evd, bool must_not_be_lost);

/* Takes evd->lock and returns the place for the next event, or NULL as dofi_evd_full does. */
static inline struct dofi_event *dofi_evd_begin(struct dofi_evd *evd, bool must_not_be_lost)
{
	dofi_lock(&evd->lock);
	if (DOFI_UNLIKELY(dofi_evd_queued(evd) == evd->qlen))
		return dofi_evd_full(evd, must_not_be_lost);
	return dofi_evd_slot(evd, evd->tail);
}

/* Appends the event that was stored in this place, and unlocks. notify: as above. */
DOFI_INLINE void dofi_evd_end(struct dofi_evd *evd, bool notify)
{
	dofi_evd_append(evd, notify);
	dofi_unlock(&evd->lock);
}

/*
 * Both steps in one, and counts the event. An event that tells of a connection makes a full EVD
 * longer. 0 or -ENOSPC.
 */
int dofi_evd_push(struct dofi_evd *evd, const struct dofi_event *event, bool notify);

/* Reports an asynchronous error on the IA's asynchronous EVD, if there is one. */
void dofi_evd_async(struct dofi_ia *ia, DAT_EVENT_NUMBER number, void *handle, uint32_t reason);

/* Creates the EVD behind dat_evd_create and the asynchronous EVD of dat_ia_open. 0 or -errno. */
int dofi_evd_new(struct dofi_ia *ia, uint32_t min_qlen, struct dofi_cno *cno, DAT_EVD_FLAGS flags,
		 struct dofi_evd **evd_p);

/*
 * Wakes the waiter with DAT_ABORT and waits until it has left, detaches the CNO, frees. The handle
 * has been retired. No lock may be held: the waiter needs engine.lock to leave.
 */
void dofi_evd_destroy(struct dofi_evd *evd);

/* Gives the EVD a ring for at least this many events, and moves its events there. */
DAT_RETURN dofi_evd_set_length(struct dofi_evd *evd, uint32_t min_qlen);

#endif
