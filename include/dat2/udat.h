/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT2_UDAT_H
#define DAT2_UDAT_H

/*
 * DAT 2.0 for user programs: the one header that a consumer includes. Objects and calls that
 * are not tied to a process are in dat.h. This header declares the rest: registration of process
 * memory, waiting for events, and CNOs.
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
 * Registers `length` bytes, or for DAT_MEM_TYPE_LMR all of that LMR. The caller still owns the
 * memory and keeps it mapped until dat_lmr_free(). *registered_address and *registered_length
 * describe what is registered: at least what was asked for. Peers use *rmr_context, this process
 * *lmr_context. OUT pointers may be null, except the one to the handle.
 * DAT_INVALID_STATE: the DAT_LMR_COOKIE names other memory.
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
 * Creates an EVD for at least `evd_min_qlen` events of the streams in `evd_flags`. It is enabled
 * and waitable. An event triggers the CNO, if there is one, unless a thread waits on the EVD.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen, IN DAT_CNO_HANDLE cno_handle,
	       IN DAT_EVD_FLAGS evd_flags, OUT DAT_EVD_HANDLE *evd_handle);

/* Replaces the CNO; null removes it. Events that are queued already do not trigger the new CNO. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle, IN DAT_CNO_HANDLE cno_handle);

/*
 * Sleeps until `threshold` events are queued, at most `timeout` microseconds, then takes the oldest
 * event and stores the number of the others in *n_more_events.
 * DAT_TIMEOUT_EXPIRED: fewer events came; the call has taken none, and *n_more_events are queued.
 * DAT_INTERRUPTED_CALL: the thread has handled a signal. DAT_ABORT: the EVD or the IA was freed.
 * DAT_INVALID_STATE: the EVD is unwaitable, or another thread waits on it, or some of its
 * completions do not notify and `threshold` is above 1.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_wait(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout, IN DAT_COUNT threshold,
	     OUT DAT_EVENT *event, OUT DAT_COUNT *n_more_events);

/* Later events trigger the CNO. Events that came while the EVD was disabled do not. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_enable(IN DAT_EVD_HANDLE evd_handle);

/* Later events are queued without triggering the CNO. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_disable(IN DAT_EVD_HANDLE evd_handle);

/* Every dat_evd_wait() fails with DAT_INVALID_STATE from now on, also one that sleeps already. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/* Allows dat_evd_wait() again. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/*
 * CNO: consumer notification object, to wait for the events of many EVDs. A CNO is either triggered
 * or not; it does not count. So after each wait the program empties all EVDs that share the CNO.
 */

/*
 * Called once, when the CNO becomes triggered. dat_cno_modify_agent() sets the agent again; the
 * agent itself may call it. If the EVD is null, the last EVD of the CNO or the IA was freed.
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

/* The last two are no masks of the others, but existing programs use these values. */
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

/* Creates a CNO with a descriptor that is readable while it is triggered. The CNO owns it. */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_fd_create(IN DAT_IA_HANDLE ia_handle, OUT DAT_FD *fd, OUT DAT_CNO_HANDLE *cno_handle);

/* DAT_OS_WAIT_PROXY_AGENT_NULL removes the agent. */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle, IN DAT_OS_WAIT_PROXY_AGENT agent);

DAT_EXPORT DAT_RETURN DAT_API
dat_cno_query(IN DAT_CNO_HANDLE cno_handle, IN DAT_CNO_PARAM_MASK cno_param_mask,
	      OUT DAT_CNO_PARAM *cno_param);

/* DAT_INVALID_STATE: an EVD uses the CNO, or a thread waits on it. */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_free(IN DAT_CNO_HANDLE cno_handle);

/*
 * Sleeps until the CNO is triggered, at most `timeout` microseconds, and resets it. *evd_handle is
 * the EVD to look at first; if it is null, the last EVD of the CNO or the IA was freed. A trigger
 * wakes one thread. DAT_QUEUE_EMPTY: the time is over; *evd_handle is null. DAT_INTERRUPTED_CALL:
 * the thread has handled a signal.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout, OUT DAT_EVD_HANDLE *evd_handle);

/* Resets a triggered CNO as dat_cno_wait() does. DAT_QUEUE_EMPTY: the CNO is not triggered. */
DAT_EXPORT DAT_RETURN DAT_API
dat_cno_trigger(IN DAT_CNO_HANDLE cno_handle, OUT DAT_EVD_HANDLE *evd_handle);

#ifdef __cplusplus
}
#endif

#endif /* DAT2_UDAT_H */
