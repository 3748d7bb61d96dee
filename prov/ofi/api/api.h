/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common parts of api12.c and api20.c; only these two include it. */
#ifndef DOFI_API_API_H
#define DOFI_API_API_H

#include "api/attr.h"
#include "api/cr.h"
#include "api/ep.h"
#include "api/ep_connect.h"
#include "api/ia.h"
#include "api/lmr.h"
#include "api/psp.h"
#include "api/pz.h"
#include "api/rmr.h"
#include "api/rsp.h"
#include "api/cno.h"
#include "progress/cno.h"
#include "object/ep.h"
#include "progress/evd_wait.h"
#include "api/evd.h"
#include "progress/evd.h"
#include "progress/event.h"
#include "object/ia.h"
#include "object/mem.h"
#include "cm/service_point.h"
#include "dto/post.h"
#include "dto/srq.h"
#include "dto/srq_receive.h"

/*
 * The slots of DAT_PROVIDER whose signature is that of the object's function in both generations.
 */
/* clang-format off */
#define DOFI_COMMON_SLOTS \
	.ia_open_func			= dofi_ia_open, \
	.ia_query_func			= dofi_ia_query, \
	.ia_close_func			= dofi_ia_close, \
	.set_consumer_context_func	= dofi_set_consumer_context, \
	.get_consumer_context_func	= dofi_get_consumer_context, \
	.get_handle_type_func		= dofi_get_handle_type, \
	.cno_create_func		= dofi_cno_create, \
	.cno_modify_agent_func		= dofi_cno_modify_agent, \
	.cno_query_func			= dofi_cno_query, \
	.cno_free_func			= dofi_cno_free, \
	.cno_wait_func			= dofi_cno_wait, \
	.cr_query_func			= dofi_cr_query, \
	.cr_accept_func			= dofi_cr_accept, \
	.cr_handoff_func		= dofi_cr_handoff, \
	.evd_create_func		= dofi_evd_create, \
	.evd_query_func			= dofi_evd_query, \
	.evd_modify_cno_func		= dofi_evd_modify_cno, \
	.evd_enable_func		= dofi_evd_enable, \
	.evd_disable_func		= dofi_evd_disable, \
	.evd_wait_func			= dofi_evd_wait, \
	.evd_resize_func		= dofi_evd_resize, \
	.evd_post_se_func		= dofi_evd_post_se, \
	.evd_dequeue_func		= dofi_evd_dequeue, \
	.evd_free_func			= dofi_evd_free, \
	.evd_set_unwaitable_func	= dofi_evd_set_unwaitable, \
	.evd_clear_unwaitable_func	= dofi_evd_clear_unwaitable, \
	.ep_create_func			= dofi_ep_create, \
	.ep_query_func			= dofi_ep_query, \
	.ep_modify_func			= dofi_ep_modify, \
	.ep_connect_func		= dofi_ep_connect, \
	.ep_dup_connect_func		= dofi_ep_dup_connect, \
	.ep_disconnect_func		= dofi_ep_disconnect, \
	.ep_post_send_func		= dofi_ep_post_send, \
	.ep_post_recv_func		= dofi_ep_post_recv, \
	.ep_post_rdma_read_func		= dofi_ep_post_rdma_read, \
	.ep_post_rdma_write_func	= dofi_ep_post_rdma_write, \
	.ep_get_status_func		= dofi_ep_get_status, \
	.ep_free_func			= dofi_ep_free, \
	.ep_reset_func			= dofi_ep_reset, \
	.ep_create_with_srq_func	= dofi_ep_create_with_srq, \
	.ep_recv_query_func		= dofi_ep_recv_query, \
	.ep_set_watermark_func		= dofi_ep_set_watermark, \
	.lmr_query_func			= dofi_lmr_query, \
	.lmr_free_func			= dofi_lmr_free, \
	.lmr_sync_rdma_read_func	= dofi_lmr_sync, \
	.lmr_sync_rdma_write_func	= dofi_lmr_sync, \
	.rmr_create_func		= dofi_rmr_create, \
	.rmr_query_func			= dofi_rmr_query, \
	.rmr_free_func			= dofi_rmr_free, \
	.psp_create_func		= dofi_psp_create, \
	.psp_create_any_func		= dofi_psp_create_any, \
	.psp_query_func			= dofi_psp_query, \
	.psp_free_func			= dofi_psp_free, \
	.rsp_create_func		= dofi_rsp_create, \
	.rsp_query_func			= dofi_rsp_query, \
	.rsp_free_func			= dofi_rsp_free, \
	.pz_create_func			= dofi_pz_create, \
	.pz_query_func			= dofi_pz_query, \
	.pz_free_func			= dofi_pz_free, \
	.srq_create_func		= dofi_srq_create, \
	.srq_free_func			= dofi_srq_free, \
	.srq_post_recv_func		= dofi_srq_post_recv, \
	.srq_query_func			= dofi_srq_query, \
	.srq_resize_func		= dofi_srq_resize, \
	.srq_set_lw_func		= dofi_srq_set_lw
/* clang-format on */

#endif
