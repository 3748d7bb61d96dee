/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT2_UDAT_REDIRECTION_H
#define DAT2_UDAT_REDIRECTION_H

/* Macros for the calls that udat.h declares. The table is in dat_redirection.h. */
#include <dat2/dat_redirection.h>

#define DAT_CNO_CREATE(ia, agent, cno) \
	DAT_HANDLE_TO_PROVIDER(ia)->cno_create_func(ia, agent, cno)
#define DAT_CNO_MODIFY_AGENT(cno, agent) \
	DAT_HANDLE_TO_PROVIDER(cno)->cno_modify_agent_func(cno, agent)
#define DAT_CNO_QUERY(cno, cno_param_mask, cno_param) \
	DAT_HANDLE_TO_PROVIDER(cno)->cno_query_func(cno, cno_param_mask, cno_param)
#define DAT_CNO_FREE(cno) \
	DAT_HANDLE_TO_PROVIDER(cno)->cno_free_func(cno)
#define DAT_CNO_WAIT(cno, timeout, evd) \
	DAT_HANDLE_TO_PROVIDER(cno)->cno_wait_func(cno, timeout, evd)
#define DAT_EVD_CREATE(ia, evd_min_qlen, cno, evd_flags, evd) \
	DAT_HANDLE_TO_PROVIDER(ia)->evd_create_func(ia, evd_min_qlen, cno, evd_flags, evd)
#define DAT_EVD_MODIFY_CNO(evd, cno) \
	DAT_HANDLE_TO_PROVIDER(evd)->evd_modify_cno_func(evd, cno)
#define DAT_EVD_ENABLE(evd) \
	DAT_HANDLE_TO_PROVIDER(evd)->evd_enable_func(evd)
#define DAT_EVD_DISABLE(evd) \
	DAT_HANDLE_TO_PROVIDER(evd)->evd_disable_func(evd)
#define DAT_EVD_WAIT(evd, timeout, threshold, event, n_more_events) \
	DAT_HANDLE_TO_PROVIDER(evd)->evd_wait_func(evd, timeout, threshold, event, n_more_events)
#define DAT_LMR_CREATE(ia, mem_type, region, length, pz, privileges, va_type, lmr, lmr_context, \
		       rmr_context, registered_length, registered_address) \
	DAT_HANDLE_TO_PROVIDER(ia)->lmr_create_func(ia, mem_type, region, length, pz, privileges, \
						    va_type, lmr, lmr_context, rmr_context, \
						    registered_length, registered_address)
#define DAT_LMR_QUERY(lmr, lmr_param_mask, lmr_param) \
	DAT_HANDLE_TO_PROVIDER(lmr)->lmr_query_func(lmr, lmr_param_mask, lmr_param)
#define DAT_EVD_SET_UNWAITABLE(evd) \
	DAT_HANDLE_TO_PROVIDER(evd)->evd_set_unwaitable_func(evd)
#define DAT_EVD_CLEAR_UNWAITABLE(evd) \
	DAT_HANDLE_TO_PROVIDER(evd)->evd_clear_unwaitable_func(evd)
#define DAT_CNO_FD_CREATE(ia, fd, cno) \
	DAT_HANDLE_TO_PROVIDER(ia)->cno_fd_create_func(ia, fd, cno)
#define DAT_CNO_TRIGGER(cno, evd) \
	DAT_HANDLE_TO_PROVIDER(cno)->cno_trigger_func(cno, evd)

#endif /* DAT2_UDAT_REDIRECTION_H */
