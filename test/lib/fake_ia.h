/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An IA for unit tests of the provider's objects: no fabric, no engine, no peers. Waiting is real,
 * progress is what the test says. Link with the objects under test and wrap malloc and mmap.
 */
#ifndef T_FAKE_IA_H
#define T_FAKE_IA_H

#include "../../prov/ofi/object/ia.h"

#define T_LIMIT_S 20 /* for what has to happen; nothing should come near it */

struct t_fake {
	void (*on_poll)(struct dofi_ia *ia); /* does what the engine would find */
	_Atomic uint32_t polls;              /* rounds of the engine */
	_Atomic uint32_t asleep;             /* threads in dofi_wait_sleep, or about to be */
	_Atomic int watchers;                /* of completions */
	uint32_t invalidated;                /* what peers were told to forget last */
	uint32_t invalidations;
	uint32_t srq_dequeued;
	struct {
		int live;        /* registrations */
		int fail;        /* what the next ones return */
		const void *buf; /* the latest one */
		size_t length;
		uint64_t access, key;
		bool closed_before_told; /* a registration ended while peers might still use it */
	} mr;
	_Atomic int fail_malloc, fail_mmap; /* so many of the next calls find no memory */
};

extern struct t_fake t_fake;

/* An open IA with an asynchronous EVD; also resets t_fake. */
struct dofi_ia *t_ia_open(void);
/* Everything below it must have been freed. */
void t_ia_close(struct dofi_ia *ia);

/* Threads asleep become n. */
void t_until_asleep(uint32_t n);

/* Runs a function in a thread; joining it gives its result. */
struct t_thread {
	pthread_t id;
	_Atomic bool done;
	DAT_RETURN (*run)(void *arg);
	void *arg;
	DAT_RETURN ret;
};
void t_start(struct t_thread *thread, DAT_RETURN (*run)(void *arg), void *arg);
DAT_RETURN t_join(struct t_thread *thread);

/* Compares all of a DAT_RETURN. */
#define t_ret(call, wanted)                                                                      \
	do {                                                                                     \
		DAT_RETURN t_got = (call);                                                       \
		ck_assert_msg(t_got == (DAT_RETURN)(wanted), "%s: 0x%x, not 0x%x", #call, t_got, \
			      (DAT_RETURN)(wanted));                                             \
	} while (0)
#define t_ok(call) t_ret(call, DAT_SUCCESS)

#endif
