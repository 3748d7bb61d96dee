/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT2_UDAT_H
#define DAT2_UDAT_H

/*
 * DAT 2.0 for user programs: the one header that a consumer includes. Objects and calls that
 * are not tied to a process are in dat.h; here is the rest: registration of process memory,
 * waiting for events, and CNOs.
 */
#include <dat2/dat.h>
#include <dat2/udat_vendor_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * LMR
 */

/*
 * Registers `length` bytes (DAT_MEM_TYPE_LMR: all of that LMR), which stay the caller's and must
 * stay mapped until dat_lmr_free(). What is covered, at least what was asked for, comes in
 * *registered_address and *registered_length. Peers use *rmr_context, this process *lmr_context.
 * OUT pointers but that to the handle may be null.
 * DAT_INVALID_STATE: the memory is not what its DAT_LMR_COOKIE names.
 * DAT_MODEL_NOT_SUPPORTED: this type of memory cannot be registered here.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_lmr_create(IN DAT_IA_HANDLE ia_handle, IN DAT_MEM_TYPE mem_type,
	       IN DAT_REGION_DESCRIPTION region_description, IN DAT_VLEN length,
	       IN DAT_PZ_HANDLE pz_handle, IN DAT_MEM_PRIV_FLAGS privileges, IN DAT_VA_TYPE va_type,
	       OUT DAT_LMR_HANDLE *lmr_handle, OUT DAT_LMR_CONTEXT *lmr_context,
	       OUT DAT_RMR_CONTEXT *rmr_context, OUT DAT_VLEN *registered_length,
	       OUT DAT_VADDR *registered_address);

DAT_EXPORT DAT_RETURN DAT_API
dat_lmr_query(IN DAT_LMR_HANDLE lmr_handle, IN DAT_LMR_PARAM_MASK lmr_param_mask,
	      OUT DAT_LMR_PARAM *lmr_param);

/*
 * EVD
 */

/*
 * For at least `evd_min_qlen` events, of the streams in `evd_flags`; enabled and waitable. The CNO,
 * if there is one, is triggered by events that come while no thread waits on the EVD.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen, IN DAT_CNO_HANDLE cno_handle,
	       IN DAT_EVD_FLAGS evd_flags, OUT DAT_EVD_HANDLE *evd_handle);

/* Replaces the CNO, by none if null. Events that are queued already do not trigger it. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle, IN DAT_CNO_HANDLE cno_handle);

/*
 * Sleeps until `threshold` events are queued, at most `timeout` microseconds, then takes the
 * oldest; *n_more_events are left.
 * DAT_TIMEOUT_EXPIRED: fewer came; none is taken, and *n_more_events are queued.
 * DAT_INTERRUPTED_CALL: the thread has handled a signal. DAT_ABORT: the EVD or the IA has gone.
 * DAT_INVALID_STATE: the EVD is unwaitable, or another thread waits on it, or its completions do
 * not all notify and `threshold` is above 1.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_wait(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout, IN DAT_COUNT threshold,
	     OUT DAT_EVENT *event, OUT DAT_COUNT *n_more_events);

/* From now on events trigger the CNO; those that came while it was disabled do not. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_enable(IN DAT_EVD_HANDLE evd_handle);

/* From now on events are queued without triggering the CNO. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_disable(IN DAT_EVD_HANDLE evd_handle);

/* Makes every dat_evd_wait(), also one that sleeps already, fail with DAT_INVALID_STATE. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/* Allows dat_evd_wait() again. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/*
 * CNO: consumer notification object, to wait for the events of many EVDs. It is triggered or not
 * and does not count: after each wait, all EVDs that share it must be emptied.
 */

/*
 * Called when the CNO becomes triggered, once: dat_cno_modify_agent(), also from within, sets it
 * again. A null EVD means that the last one, or the IA, has gone.
 */
typedef void (DAT_API *DAT_AGENT_FUNC)(DAT_PVOID instance_data, DAT_EVD_HANDLE evd_handle);

typedef struct dat_os_wait_proxy_agent {
	DAT_PVOID	instance_data;
	DAT_AGENT_FUNC	proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL	(DAT_OS_WAIT_PROXY_AGENT())
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL	((DAT_OS_WAIT_PROXY_AGENT){ NULL, NULL })
#endif

typedef enum dat_proxy_type {
	DAT_PROXY_TYPE_NONE	= 0,
	DAT_PROXY_TYPE_AGENT	= 1,
	DAT_PROXY_TYPE_FD	= 2
} DAT_PROXY_TYPE;

typedef struct dat_cno_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_PROXY_TYPE	proxy_type;
	union {
		DAT_OS_WAIT_PROXY_AGENT	agent;
		DAT_FD			fd;	/* readable while triggered */
		DAT_PVOID		none;
	} proxy;
} DAT_CNO_PARAM;

/* The last two are not masks of the others, but programs were compiled with these values. */
typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE		= 1,
	DAT_CNO_FIELD_PROXY_TYPE	= 2,
	DAT_CNO_FIELD_PROXY		= 3,
	DAT_CNO_FIELD_ALL		= 4
} DAT_CNO_PARAM_MASK;

/* The agent may be DAT_OS_WAIT_PROXY_AGENT_NULL. */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_create(IN DAT_IA_HANDLE ia_handle, IN DAT_OS_WAIT_PROXY_AGENT agent,
	       OUT DAT_CNO_HANDLE *cno_handle);

/* A CNO with a descriptor that poll(2) finds readable while it is triggered; the CNO owns it. */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_fd_create(IN DAT_IA_HANDLE ia_handle, OUT DAT_FD *fd, OUT DAT_CNO_HANDLE *cno_handle);

/* DAT_OS_WAIT_PROXY_AGENT_NULL removes the agent. */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle, IN DAT_OS_WAIT_PROXY_AGENT agent);

DAT_EXPORT DAT_RETURN DAT_API
dat_cno_query(IN DAT_CNO_HANDLE cno_handle, IN DAT_CNO_PARAM_MASK cno_param_mask,
	      OUT DAT_CNO_PARAM *cno_param);

/* DAT_INVALID_STATE: an EVD has it, or a thread waits on it. */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_free(IN DAT_CNO_HANDLE cno_handle);

/*
 * Sleeps until the CNO is triggered, at most `timeout` microseconds, and resets it. The EVD is a
 * hint where to look first; null means that the last one, or the IA, has gone. A trigger wakes one
 * thread. DAT_QUEUE_EMPTY: the time is over, and *evd_handle null. DAT_INTERRUPTED_CALL: the
 * thread has handled a signal.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout, OUT DAT_EVD_HANDLE *evd_handle);

/* Belongs to CNOs with a descriptor; DAT 2.0 names it without further rules. */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_trigger(IN DAT_CNO_HANDLE cno_handle, OUT DAT_EVD_HANDLE *evd_handle);

#ifdef __cplusplus
}
#endif

#endif /* DAT2_UDAT_H */
