/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An IA for unit tests of the provider's objects, without fabric, engine and peers. Threads really
 * sleep; the test decides what a round of the engine does. A test links this file with the objects
 * under test and wraps malloc and mmap.
 */
#ifndef T_FAKE_IA_H
#define T_FAKE_IA_H

#include "../../prov/ofi/object/ia.h"

#define T_LIMIT_S 20 /* limit for what has to happen; normally it takes much less */

struct t_fake {
	void (*on_poll)(struct dofi_ia *ia); /* runs in place of a round of the engine */
	_Atomic uint32_t polls;              /* rounds of the engine */
	_Atomic uint32_t asleep;             /* threads in dofi_wait_sleep */
	_Atomic uint32_t sleeps;             /* calls of it */
	void (*before_cancel)(void);         /* runs in a sleep, and then the thread is cancelled */
	_Atomic int watchers;                /* threads that watch for completions */
	_Atomic uint32_t kicks;              /* of the driver */
	_Atomic int cancel_in_poll;          /* state of cancellation in the latest poll */
	uint32_t invalidated;                /* the context that peers were last asked to forget */
	bool announced;                      /* ... all of them */
	uint32_t invalidations;
	uint32_t waits;       /* for the answers of peers */
	bool valid_when_told; /* peers were asked while they could still read it anew */
	uint32_t srq_dequeued;
	struct {
		int live;        /* number of registrations */
		int fail;        /* result of the next registrations */
		const void *buf; /* memory of the latest registration */
		size_t length;
		uint64_t access, key;
		bool closed_before_told; /* a registration ended while peers might still use it */
	} mr;
	_Atomic int fail_malloc, fail_mmap; /* number of the next calls that fail */
};

extern struct t_fake t_fake;

/* Opens an IA with an asynchronous EVD, and resets t_fake. */
struct dofi_ia *t_ia_open(void);
/* Closes the IA. Fails the test if one of its objects was not freed. */
void t_ia_close(struct dofi_ia *ia);

/* Waits until n threads are asleep. */
void t_until_asleep(uint32_t n);

/* A thread that runs a function. t_join() returns the function's result. */
struct t_thread {
	pthread_t id;
	_Atomic bool done;
	DAT_RETURN (*run)(void *arg);
	void *arg;
	DAT_RETURN ret;
};
void t_start(struct t_thread *thread, DAT_RETURN (*run)(void *arg), void *arg);
DAT_RETURN t_join(struct t_thread *thread);
bool t_is_cancelled(struct t_thread *thread); /* as t_join */
int t_cancel_state(void);                     /* of this thread */

/* Compares class, type and subtype of a DAT_RETURN. */
#define t_ret(call, wanted)                                                                      \
	do {                                                                                     \
		DAT_RETURN t_got = (call);                                                       \
		ck_assert_msg(t_got == (DAT_RETURN)(wanted), "%s: 0x%x, not 0x%x", #call, t_got, \
			      (DAT_RETURN)(wanted));                                             \
	} while (0)
#define t_ok(call) t_ret(call, DAT_SUCCESS)

#endif
