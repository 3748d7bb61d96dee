/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tests that use DAT as a program does, written once for both generations: T_DAT_MAJOR picks the
 * headers, and the functions below level the differences. Whatever fails says in words what DAT
 * answered, and where in the test.
 */
#ifndef T_H
#define T_H

#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "dat_version.h"

/*
 * For what has to happen; nothing should come near it. 10 seconds, times CK_TIMEOUT_MULTIPLIER up
 * to 10.
 */
#define T_LIMIT_US t_limit_us()
unsigned int t_limit_us(void);
#define T_QUIET_US 100000u /* for what must not happen */

/* --- answers --- */

/* "DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP (0x8005000c)"; static memory of the thread. */
const char *t_words(DAT_RETURN ret);
const char *t_event_name(DAT_EVENT_NUMBER number);
const char *t_status_name(DAT_DTO_COMPLETION_STATUS status);

void t_expect_ok(const char *file, int line, const char *call, DAT_RETURN ret);
/* Of one of the types, and with the class bit, unless PRG-10 wants the bare value. */
void t_expect_error(const char *file, int line, const char *call, DAT_RETURN ret,
		    DAT_RETURN_TYPE type, DAT_RETURN_TYPE other);
void t_expect_exactly(const char *file, int line, const char *call, DAT_RETURN ret,
		      DAT_RETURN_TYPE type, DAT_RETURN_SUBTYPE subtype);

#define t_ok(call)               t_expect_ok(__FILE__, __LINE__, #call, call)
#define t_error(call, type)      t_expect_error(__FILE__, __LINE__, #call, call, type, type)
#define t_error2(call, one, two) t_expect_error(__FILE__, __LINE__, #call, call, one, two)
#define t_error_sub(call, type, subtype) \
	t_expect_exactly(__FILE__, __LINE__, #call, call, type, subtype)
#define t_bad_handle(call)          t_error(call, DAT_INVALID_HANDLE)
#define t_bad_arg(call)             t_error(call, DAT_INVALID_PARAMETER)
#define t_bad_state(call)           t_error(call, DAT_INVALID_STATE)
#define t_unsupported(call)         t_error(call, DAT_MODEL_NOT_SUPPORTED)
/* With the subtype, where a rule names it: t_bad_handle_of(call, EP), t_bad_arg_of(call, 2). */
#define t_bad_handle_of(call, what) t_error_sub(call, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)
#define t_bad_arg_of(call, n)       t_error_sub(call, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define t_bad_state_of(call, why)   t_error_sub(call, DAT_INVALID_STATE, DAT_INVALID_STATE_##why)
/* clang-format off */
#define t_out_of(call, what) \
	t_error_sub(call, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_##what)
/* clang-format on */

/* --- time --- */

uint64_t t_now_us(void); /* monotonic */
void t_pause(void);      /* a moment between two looks at a condition */

/* For conditions that no event announces. */
#define t_until(condition)                                                            \
	do {                                                                          \
		uint64_t t_end = t_now_us() + T_LIMIT_US;                             \
		while (!(condition)) {                                                \
			ck_assert_msg(t_now_us() < t_end, "never came: " #condition); \
			t_pause();                                                    \
		}                                                                     \
	} while (0)

/* --- limits of the process --- */

/*
 * Leaves the process that much address space more than it has, and takes the limit away again.
 * False where that cannot be had: sanitizers need address space without bound.
 */
bool t_limit_memory(size_t bytes);
void t_unlimit_memory(void);

/*
 * The process goes to a network of its own, with a loopback interface and no routes. False where
 * the user may not. Before the first IA.
 */
bool t_own_network(void);

/* --- IA --- */

struct t_ia {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;
};

/* The IA name of the run: T_IA, or a TCP one of the loopback interface. */
DAT_NAME_PTR t_ia_name(void);
void t_ia_open(struct t_ia *tia);
void t_ia_close(struct t_ia *tia); /* abruptly, with all that it has */
/* After the test freed what it made: succeeds only if nothing is left. */
void t_ia_close_empty(struct t_ia *tia);
/* The value of a named attribute; "" when there is none. */
const char *t_named(const DAT_PROVIDER_ATTR *attr, const char *name);
/* Of a message: more than a fabric takes at once from who isn't listening, if it may be as long. */
size_t t_much(const struct t_ia *tia);

DAT_EVD_HANDLE t_evd(const struct t_ia *tia, DAT_COUNT qlen, DAT_EVD_FLAGS flags);
DAT_EVD_HANDLE t_evd_of_cno(const struct t_ia *tia, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags);
DAT_CNO_HANDLE t_cno(const struct t_ia *tia);

/* --- memory --- */

struct t_buf {
	unsigned char *mem; /* zeroed */
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

void t_buf_new(struct t_buf *buf, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, size_t size,
	       DAT_MEM_PRIV_FLAGS privileges);
void t_buf_free(struct t_buf *buf);

/* dat_lmr_create() of both generations, with virtual addresses. OUT pointers may be null. */
DAT_RETURN t_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			DAT_VADDR *registered_address);
/* The same for plain memory, where only the handle matters. */
DAT_RETURN t_lmr_of(DAT_IA_HANDLE ia, void *mem, DAT_VLEN length, DAT_PZ_HANDLE pz,
		    DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_HANDLE *lmr);
DAT_RETURN t_rmr_bind(DAT_RMR_HANDLE rmr, const struct t_buf *buf, DAT_LMR_TRIPLET segment,
		      DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep, uint64_t cookie,
		      DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context);

DAT_LMR_TRIPLET t_seg(const struct t_buf *buf, size_t offset, size_t length);
DAT_RMR_TRIPLET t_remote_seg(const struct t_buf *buf, size_t offset, size_t length);
DAT_RMR_TRIPLET t_remote(DAT_RMR_CONTEXT context, uintptr_t address, size_t length);

void t_fill(void *mem, size_t size, unsigned int seed);
bool t_is_filled(const void *mem, size_t size, unsigned int seed);

/* --- events --- */

DAT_EVENT t_wait(DAT_EVD_HANDLE evd);
DAT_EVENT t_wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
/* A connection event about this EP. */
DAT_EVENT t_wait_conn(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep);
/* A completion; the length counts on success only. */
DAT_EVENT t_wait_dto(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
		     DAT_DTO_COMPLETION_STATUS status, size_t length);
void t_wait_bind(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
		 DAT_DTO_COMPLETION_STATUS status);
void t_no_event(DAT_EVD_HANDLE evd);    /* there is none now */
void t_stays_quiet(DAT_EVD_HANDLE evd); /* nor comes one for a while */
DAT_COUNT t_drain(DAT_EVD_HANDLE evd);  /* takes all, tells how many */

DAT_RETURN t_post_se(DAT_EVD_HANDLE evd, void *pointer);
void t_wait_se(DAT_EVD_HANDLE evd, const void *pointer);
DAT_RETURN t_poll_cno(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd); /* timeout 0 */

/* --- threads that block --- */

struct t_waiter {
	pthread_t thread;
	_Atomic pid_t tid;
	DAT_EVD_HANDLE evd; /* to wait on, or the CNO's hint */
	DAT_CNO_HANDLE cno; /* null: waits on the EVD */
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT nmore;
};

/* Return when the thread sleeps in the call. */
void t_evd_waiter_start(struct t_waiter *waiter, DAT_EVD_HANDLE evd, DAT_COUNT threshold);
void t_cno_waiter_start(struct t_waiter *waiter, DAT_CNO_HANDLE cno);
DAT_RETURN t_waiter_join(struct t_waiter *waiter); /* what the call answered */
/* The same, after signals: one that comes before the wait itself has no effect. */
DAT_RETURN t_waiter_signal(struct t_waiter *waiter, int signal);
bool t_waiter_done(struct t_waiter *waiter); /* joined if so */
void t_join(pthread_t thread);               /* any thread, within the limit */
bool t_sleeps(pid_t tid);

/* --- connections --- */

struct t_listener {
	const struct t_ia *on;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

void t_listen(struct t_listener *listener, const struct t_ia *on, DAT_PSP_FLAGS flags);
void t_listener_free(struct t_listener *listener);
DAT_CR_HANDLE t_next_cr(const struct t_listener *listener);

DAT_RETURN t_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep); /* without private data */
DAT_RETURN t_cr_reject(DAT_CR_HANDLE cr);
DAT_RETURN t_cr_reject_data(DAT_CR_HANDLE cr, const void *data, size_t size); /* 1.2: dropped */

/* An EP with its EVDs and a registered buffer. */
struct t_end {
	const struct t_ia *on;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE recv_evd, request_evd, connect_evd;
	struct t_buf buf;
};

#define T_BUF_SIZE ((size_t)65536)

void t_end_new(struct t_end *end, const struct t_ia *on, const DAT_EP_ATTR *attr);
void t_end_free(struct t_end *end); /* also when its EP has been freed and is null */
DAT_EP_STATE t_ep_state(DAT_EP_HANDLE ep);
DAT_EP_ATTR t_ep_attr(DAT_EP_HANDLE ep);
DAT_EP_ATTR t_default_attr(const struct t_ia *tia); /* what an EP gets without attributes */

DAT_RETURN t_connect_data(DAT_EP_HANDLE ep, const struct t_ia *to, DAT_CONN_QUAL qual,
			  DAT_TIMEOUT timeout, const void *data, size_t size);
DAT_RETURN t_connect(DAT_EP_HANDLE ep, const struct t_listener *to);
/* of a request that timed out */
DAT_CR_HANDLE t_expired_cr(const struct t_end *end, const struct t_listener *to);

/* Both ends ESTABLISHED: the active one connects, the passive one accepts. */
void t_establish(struct t_listener *listener, struct t_end *active, struct t_end *passive);

DAT_RETURN t_send(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		  DAT_COMPLETION_FLAGS flags);
DAT_RETURN t_recv(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		  DAT_COMPLETION_FLAGS flags);
DAT_RETURN t_write(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		   DAT_RMR_TRIPLET to, DAT_COMPLETION_FLAGS flags);
DAT_RETURN t_read(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		  DAT_RMR_TRIPLET from, DAT_COMPLETION_FLAGS flags);

/* One IA connected with itself; end[0] is the active one. */
struct t_loop {
	struct t_listener listener;
	struct t_end end[2];
};

void t_loop_open(struct t_loop *loop, const struct t_ia *tia, const DAT_EP_ATTR *attr);
void t_loop_close(struct t_loop *loop);

/* Two IAs of this process with an EP each; end[0] is the active one. */
struct t_pair {
	struct t_ia ia[2];
	struct t_listener listener; /* of ia[1] */
	struct t_end end[2];
};

void t_pair_prepare(struct t_pair *pair, const DAT_EP_ATTR *attr); /* not connected yet */
void t_pair_open(struct t_pair *pair, const DAT_EP_ATTR *attr);
void t_pair_close(struct t_pair *pair); /* frees all; fails if something is left in an IA */

#endif
