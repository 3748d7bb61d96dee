/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For tests that use the public API, written once for both generations of DAT. T_DAT_MAJOR selects
 * the headers, and the functions below hide the differences. A failure prints DAT's answer in words
 * and the line of the test.
 */
#ifndef T_H
#define T_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "dat_version.h"
#include "t_check.h"

/*
 * The limit for what has to happen; normally it takes much less. 10 seconds, multiplied by
 * CK_TIMEOUT_MULTIPLIER, which counts as 10 at most.
 */
#define T_LIMIT_US t_limit_us()
unsigned int t_limit_us(void);
#define T_QUIET_US 100000u /* how long to look for what must not happen */

/* --- answers --- */

/* Returns "DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP (0x8005000c)", in memory of the thread. */
const char *t_words(DAT_RETURN ret);
const char *t_event_name(DAT_EVENT_NUMBER number);
const char *t_status_name(DAT_DTO_COMPLETION_STATUS status);

void t_expect_ok(const char *file, int line, const char *call, DAT_RETURN ret);
/* `ret` must have one of the types, and the class bit unless PRG-10 forbids it. */
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
/* Also compare the subtype: t_bad_handle_of(call, EP), t_bad_arg_of(call, 2). */
#define t_bad_handle_of(call, what) t_error_sub(call, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)
#define t_bad_arg_of(call, n)       t_error_sub(call, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define t_bad_state_of(call, why)   t_error_sub(call, DAT_INVALID_STATE, DAT_INVALID_STATE_##why)
/* clang-format off */
#define t_out_of(call, what) \
	t_error_sub(call, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_##what)
/* clang-format on */

/* --- time --- */

uint64_t t_now_us(void); /* monotonic */
void t_pause(void);      /* a short sleep between two checks of a condition */

/* Waits for a condition that no event announces. */
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
 * Limits the address space of the process to the present size and that many bytes more;
 * t_unlimit_memory() removes the limit. False if it is not possible: sanitizers need unlimited
 * address space.
 */
bool t_limit_memory(size_t bytes);
void t_unlimit_memory(void);

/*
 * Moves the process to a network namespace of its own, with a loopback interface and no routes.
 * False if the user has no right to do that. Call it before the first IA is opened.
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

/* The IA name of the run: T_IA, or by default tcp on the loopback interface. */
DAT_NAME_PTR t_ia_name(void);
void t_ia_open(struct t_ia *tia);
void t_ia_close(struct t_ia *tia); /* abruptly, with all its objects */
/* Closes gracefully: fails the test if an object is left. */
void t_ia_close_empty(struct t_ia *tia);
/* The value of a named attribute; "" if there is none. */
const char *t_named(const DAT_PROVIDER_ATTR *attr, const char *name);
/*
 * A message size that no fabric buffers for a peer that makes no progress, if one may be as long.
 */
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

/* Calls dat_lmr_create() of the generation, with virtual addresses. OUT pointers may be null. */
DAT_RETURN t_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			DAT_VADDR *registered_address);
/* The same for DAT_MEM_TYPE_VIRTUAL, returning only the handle. */
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
/* Waits for a connection event of this EP. */
DAT_EVENT t_wait_conn(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep);
/* Waits for a completion. The length is compared on success only. */
DAT_EVENT t_wait_dto(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
		     DAT_DTO_COMPLETION_STATUS status, size_t length);
void t_wait_bind(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
		 DAT_DTO_COMPLETION_STATUS status);
void t_no_event(DAT_EVD_HANDLE evd);    /* the EVD is empty */
void t_stays_quiet(DAT_EVD_HANDLE evd); /* the EVD stays empty for T_QUIET_US */
DAT_COUNT t_drain(DAT_EVD_HANDLE evd);  /* takes all events and returns their number */

DAT_RETURN t_post_se(DAT_EVD_HANDLE evd, void *pointer);
void t_wait_se(DAT_EVD_HANDLE evd, const void *pointer);
DAT_RETURN t_poll_cno(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd); /* timeout 0 */

/* --- threads that block --- */

struct t_waiter {
	pthread_t thread;
	_Atomic pid_t tid;
	DAT_EVD_HANDLE evd; /* the EVD to wait on, or the one that dat_cno_wait() returned */
	DAT_CNO_HANDLE cno; /* the CNO to wait on; null: the thread waits on the EVD */
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT nmore;
};

/* Start a thread that waits, and return when it sleeps. The EVD has no events before. */
void t_evd_waiter_start(struct t_waiter *waiter, DAT_EVD_HANDLE evd, DAT_COUNT threshold);
void t_cno_waiter_start(struct t_waiter *waiter, DAT_CNO_HANDLE cno);
DAT_RETURN t_waiter_join(struct t_waiter *waiter); /* returns the result of the call */
/* The same. Sends signals until the call returns: one before the sleep has no effect. */
DAT_RETURN t_waiter_signal(struct t_waiter *waiter, int signal);
bool t_waiter_done(struct t_waiter *waiter); /* joins the thread if its call has returned */
void *t_join(pthread_t thread); /* the thread's result; fails the test if it does not end */
bool t_sleeps(pid_t tid);       /* waits for events, not for a lock */

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
void t_end_free(struct t_end *end); /* the EP may be null */
DAT_EP_STATE t_ep_state(DAT_EP_HANDLE ep);
DAT_EP_ATTR t_ep_attr(DAT_EP_HANDLE ep);
DAT_EP_ATTR t_default_attr(const struct t_ia *tia); /* attributes of an EP created without any */

DAT_RETURN t_connect_data(DAT_EP_HANDLE ep, const struct t_ia *to, DAT_CONN_QUAL qual,
			  DAT_TIMEOUT timeout, const void *data, size_t size);
DAT_RETURN t_connect(DAT_EP_HANDLE ep, const struct t_listener *to);
/* Returns a CR whose active side has timed out. */
DAT_CR_HANDLE t_expired_cr(const struct t_end *end, const struct t_listener *to);

/* `active` connects, `passive` accepts; both ends get ESTABLISHED. */
void t_establish(struct t_listener *listener, struct t_end *active, struct t_end *passive);

DAT_RETURN t_send(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		  DAT_COMPLETION_FLAGS flags);
DAT_RETURN t_recv(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		  DAT_COMPLETION_FLAGS flags);
DAT_RETURN t_write(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		   DAT_RMR_TRIPLET to, DAT_COMPLETION_FLAGS flags);
DAT_RETURN t_read(const struct t_end *end, size_t offset, size_t length, uint64_t cookie,
		  DAT_RMR_TRIPLET from, DAT_COMPLETION_FLAGS flags);

/* Two connected EPs of one IA. end[0] is the active side. */
struct t_loop {
	struct t_listener listener;
	struct t_end end[2];
};

void t_loop_open(struct t_loop *loop, const struct t_ia *tia, const DAT_EP_ATTR *attr);
void t_loop_close(struct t_loop *loop);

/* Two IAs of this process with an EP each. end[0] is the active side. */
struct t_pair {
	struct t_ia ia[2];
	struct t_listener listener; /* of ia[1] */
	struct t_end end[2];
};

void t_pair_prepare(struct t_pair *pair, const DAT_EP_ATTR *attr); /* not connected yet */
void t_pair_open(struct t_pair *pair, const DAT_EP_ATTR *attr);
void t_pair_close(struct t_pair *pair); /* fails the test if an object is left */

#endif
