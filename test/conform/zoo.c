/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "zoo.h"

#define SIZE ((size_t)4096)

const char *const zoo_names[ZOO_TYPES] = {
	[DAT_HANDLE_TYPE_CR] = "CR",   [DAT_HANDLE_TYPE_EP] = "EP",   [DAT_HANDLE_TYPE_EVD] = "EVD",
	[DAT_HANDLE_TYPE_IA] = "IA",   [DAT_HANDLE_TYPE_LMR] = "LMR", [DAT_HANDLE_TYPE_PSP] = "PSP",
	[DAT_HANDLE_TYPE_PZ] = "PZ",   [DAT_HANDLE_TYPE_RMR] = "RMR", [DAT_HANDLE_TYPE_RSP] = "RSP",
	[DAT_HANDLE_TYPE_CNO] = "CNO", [DAT_HANDLE_TYPE_SRQ] = "SRQ",
};

static DAT_SRQ_ATTR srq_attr = {.max_recv_dtos = 8, .max_recv_iov = 1};

void zoo_open(struct zoo *zoo)
{
	struct t_ia *ia = &zoo->ia;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;

	memset(zoo, 0, sizeof(*zoo));
	t_ia_open(ia);
	t_listen(&zoo->listener, ia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&zoo->end, ia, NULL);
	t_end_new(&zoo->wild, ia, NULL);
	t_end_new(&zoo->reserved, ia, NULL);
	zoo->rsp_evd = t_evd(ia, 8, DAT_EVD_CR_FLAG);
	/* Finds a free qualifier for the RSP. Another process may take it meanwhile. */
	do {
		t_ok(dat_psp_create_any(ia->ia, &qual, zoo->rsp_evd, DAT_PSP_CONSUMER_FLAG, &psp));
		t_ok(dat_psp_free(psp));
		ret = dat_rsp_create(ia->ia, qual, zoo->reserved.ep, zoo->rsp_evd,
				     &zoo->of[DAT_HANDLE_TYPE_RSP]);
	} while (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE);
	t_ok(ret);

	zoo->of[DAT_HANDLE_TYPE_IA] = ia->ia;
	zoo->of[DAT_HANDLE_TYPE_PZ] = ia->pz;
	zoo->of[DAT_HANDLE_TYPE_CNO] = t_cno(ia);
	zoo->of[DAT_HANDLE_TYPE_EVD] = t_evd(ia, 8, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG);
	zoo->of[DAT_HANDLE_TYPE_EP] = zoo->end.ep;
	zoo->of[DAT_HANDLE_TYPE_LMR] = zoo->end.buf.lmr;
	zoo->of[DAT_HANDLE_TYPE_PSP] = zoo->listener.psp;
	t_ok(dat_rmr_create(ia->pz, &zoo->of[DAT_HANDLE_TYPE_RMR]));
	if (ia->provider.srq_supported)
		t_ok(dat_srq_create(ia->ia, ia->pz, &srq_attr, &zoo->of[DAT_HANDLE_TYPE_SRQ]));
	t_ok(t_connect(zoo->wild.ep, &zoo->listener));
	zoo->of[DAT_HANDLE_TYPE_CR] = t_next_cr(&zoo->listener);
}

void zoo_free(struct zoo *zoo)
{
	t_ok(t_cr_reject(zoo->of[DAT_HANDLE_TYPE_CR]));
	t_ok(dat_rsp_free(zoo->of[DAT_HANDLE_TYPE_RSP]));
	if (zoo->of[DAT_HANDLE_TYPE_SRQ])
		t_ok(dat_srq_free(zoo->of[DAT_HANDLE_TYPE_SRQ]));
	t_ok(dat_rmr_free(zoo->of[DAT_HANDLE_TYPE_RMR]));
	t_ok(dat_evd_free(zoo->of[DAT_HANDLE_TYPE_EVD]));
	t_ok(dat_cno_free(zoo->of[DAT_HANDLE_TYPE_CNO]));
	t_end_free(&zoo->wild);
	t_end_free(&zoo->reserved);
	t_end_free(&zoo->end);
	t_listener_free(&zoo->listener);
	t_ok(dat_evd_free(zoo->rsp_evd));
	t_ia_close_empty(&zoo->ia);
}

void zoo_close(struct zoo *zoo)
{
	t_ia_close(&zoo->ia);
}

/* --- the calls --- */

/* Memory for the outputs of calls, which are ignored. */
static union {
	DAT_HANDLE handle;
	DAT_EVENT event;
	DAT_IA_ATTR ia;
	DAT_EVD_PARAM evd;
	DAT_CNO_PARAM cno;
	DAT_PZ_PARAM pz;
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;
	DAT_EP_PARAM ep;
	DAT_PSP_PARAM psp;
	DAT_RSP_PARAM rsp;
	DAT_CR_PARAM cr;
	DAT_SRQ_PARAM srq;
	DAT_EP_STATE state;
} out;
static DAT_COUNT count, span;
static DAT_CONN_QUAL qual_out;
static DAT_RMR_CONTEXT context_out;
static unsigned char memory[SIZE];

#define CNO_NULL DAT_OS_WAIT_PROXY_AGENT_NULL
#define COOKIE   ((DAT_DTO_COOKIE){.as_64 = 1})
#define QUAL     ((DAT_CONN_QUAL)45248)
#define DTO_EVD  (z->end.recv_evd)
#define CR_EVD   (z->of[DAT_HANDLE_TYPE_EVD])
#define ADDRESS  (z->ia.attr.ia_address_ptr)
#define SEG      (&(DAT_LMR_TRIPLET){.segment_length = 0})
#define REMOTE   (&(DAT_RMR_TRIPLET){.segment_length = 0})

#define CALL(name, expression)                                    \
	static DAT_RETURN name(const struct zoo *z, DAT_HANDLE h) \
	{                                                         \
		(void)z;                                          \
		return expression;                                \
	}

CALL(ia_close, dat_ia_close(h, DAT_CLOSE_GRACEFUL_FLAG))
CALL(ia_query, dat_ia_query(h, NULL, DAT_IA_FIELD_ALL, &out.ia, 0, NULL))
CALL(pz_create, dat_pz_create(h, &out.handle))
CALL(cno_create, dat_cno_create(h, CNO_NULL, &out.handle))
CALL(evd_create, dat_evd_create(h, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &out.handle))
CALL(ep_create, dat_ep_create(h, z->ia.pz, DTO_EVD, DTO_EVD, z->end.connect_evd, NULL, &out.handle))
CALL(lmr_create, t_lmr_of(h, memory, SIZE, z->ia.pz, DAT_MEM_PRIV_ALL_FLAG, &out.handle))
CALL(psp_create, dat_psp_create(h, QUAL, CR_EVD, DAT_PSP_CONSUMER_FLAG, &out.handle))
CALL(psp_create_any, dat_psp_create_any(h, &qual_out, CR_EVD, DAT_PSP_CONSUMER_FLAG, &out.handle))
CALL(rsp_create, dat_rsp_create(h, QUAL, z->end.ep, CR_EVD, &out.handle))
CALL(lmr_sync_rdma_read, dat_lmr_sync_rdma_read(h, SEG, 1))
CALL(lmr_sync_rdma_write, dat_lmr_sync_rdma_write(h, SEG, 1))
CALL(srq_create, dat_srq_create(h, z->ia.pz, &srq_attr, &out.handle))

CALL(evd_query, dat_evd_query(h, DAT_EVD_FIELD_ALL, &out.evd))
CALL(evd_modify_cno, dat_evd_modify_cno(h, DAT_HANDLE_NULL))
CALL(evd_enable, dat_evd_enable(h))
CALL(evd_disable, dat_evd_disable(h))
CALL(evd_set_unwaitable, dat_evd_set_unwaitable(h))
CALL(evd_clear_unwaitable, dat_evd_clear_unwaitable(h))
CALL(evd_wait, dat_evd_wait(h, 0, 1, &out.event, &count))
CALL(evd_dequeue, dat_evd_dequeue(h, &out.event))
CALL(evd_post_se, t_post_se(h, memory))
CALL(evd_resize, dat_evd_resize(h, 8))
CALL(evd_free, dat_evd_free(h))
CALL(ep_create_recv,
     dat_ep_create(z->ia.ia, z->ia.pz, h, DTO_EVD, z->end.connect_evd, NULL, &out.handle))
CALL(ep_create_request,
     dat_ep_create(z->ia.ia, z->ia.pz, DTO_EVD, h, z->end.connect_evd, NULL, &out.handle))
CALL(ep_create_connect, dat_ep_create(z->ia.ia, z->ia.pz, DTO_EVD, DTO_EVD, h, NULL, &out.handle))
CALL(psp_create_evd, dat_psp_create(z->ia.ia, QUAL, h, DAT_PSP_CONSUMER_FLAG, &out.handle))
CALL(psp_create_any_evd,
     dat_psp_create_any(z->ia.ia, &qual_out, h, DAT_PSP_CONSUMER_FLAG, &out.handle))
CALL(rsp_create_evd, dat_rsp_create(z->ia.ia, QUAL, z->end.ep, h, &out.handle))

CALL(cno_query, dat_cno_query(h, DAT_CNO_FIELD_ALL, &out.cno))
CALL(cno_modify_agent, dat_cno_modify_agent(h, CNO_NULL))
CALL(cno_wait, dat_cno_wait(h, 0, &out.handle))
CALL(cno_free, dat_cno_free(h))
CALL(evd_create_cno, dat_evd_create(z->ia.ia, 1, h, DAT_EVD_DTO_FLAG, &out.handle))
CALL(evd_modify_cno_cno, dat_evd_modify_cno(z->of[DAT_HANDLE_TYPE_EVD], h))

CALL(pz_query, dat_pz_query(h, DAT_PZ_FIELD_ALL, &out.pz))
CALL(pz_free, dat_pz_free(h))
CALL(lmr_create_pz, t_lmr_of(z->ia.ia, memory, SIZE, h, DAT_MEM_PRIV_ALL_FLAG, &out.handle))
CALL(rmr_create, dat_rmr_create(h, &out.handle))
CALL(ep_create_pz,
     dat_ep_create(z->ia.ia, h, DTO_EVD, DTO_EVD, z->end.connect_evd, NULL, &out.handle))
CALL(srq_create_pz, dat_srq_create(z->ia.ia, h, &srq_attr, &out.handle))

CALL(lmr_query, dat_lmr_query(h, DAT_LMR_FIELD_ALL, &out.lmr))
CALL(lmr_free, dat_lmr_free(h))
CALL(lmr_create_lmr,
     t_lmr_create(z->ia.ia, DAT_MEM_TYPE_LMR, (DAT_REGION_DESCRIPTION){.for_lmr_handle = h}, SIZE,
		  z->ia.pz, DAT_MEM_PRIV_ALL_FLAG, &out.handle, NULL, NULL, NULL, NULL))

CALL(rmr_query, dat_rmr_query(h, DAT_RMR_FIELD_ALL, &out.rmr))
CALL(rmr_free, dat_rmr_free(h))
CALL(rmr_bind, t_rmr_bind(h, &z->end.buf, t_seg(&z->end.buf, 0, 8), DAT_MEM_PRIV_REMOTE_READ_FLAG,
			  z->end.ep, 1, 0, &context_out))

CALL(ep_query, dat_ep_query(h, DAT_EP_FIELD_ALL, &out.ep))
CALL(ep_modify, dat_ep_modify(h, 0, &out.ep))
CALL(ep_connect, t_connect_data(h, &z->ia, QUAL, T_LIMIT_US, NULL, 0))
CALL(ep_dup_connect, dat_ep_dup_connect(h, z->end.ep, T_LIMIT_US, 0, NULL, DAT_QOS_BEST_EFFORT))
CALL(ep_dup_connect_dup, dat_ep_dup_connect(z->end.ep, h, T_LIMIT_US, 0, NULL, DAT_QOS_BEST_EFFORT))
CALL(ep_disconnect, dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG))
CALL(ep_reset, dat_ep_reset(h))
CALL(ep_free, dat_ep_free(h))
CALL(ep_get_status, dat_ep_get_status(h, &out.state, NULL, NULL))
CALL(ep_recv_query, dat_ep_recv_query(h, &count, &span))
CALL(ep_set_watermark, dat_ep_set_watermark(h, 4, 8))
CALL(ep_post_send, dat_ep_post_send(h, 0, NULL, COOKIE, 0))
CALL(ep_post_recv, dat_ep_post_recv(h, 0, NULL, COOKIE, 0))
CALL(ep_post_rdma_read, dat_ep_post_rdma_read(h, 1, SEG, COOKIE, REMOTE, 0))
CALL(ep_post_rdma_write, dat_ep_post_rdma_write(h, 1, SEG, COOKIE, REMOTE, 0))
CALL(rsp_create_ep, dat_rsp_create(z->ia.ia, QUAL, h, CR_EVD, &out.handle))
CALL(rmr_bind_ep, t_rmr_bind(z->of[DAT_HANDLE_TYPE_RMR], &z->end.buf, t_seg(&z->end.buf, 0, 8),
			     DAT_MEM_PRIV_REMOTE_READ_FLAG, h, 1, 0, &context_out))
CALL(cr_accept_ep, t_cr_accept(z->of[DAT_HANDLE_TYPE_CR], h))

CALL(psp_query, dat_psp_query(h, DAT_PSP_FIELD_ALL, &out.psp))
CALL(psp_free, dat_psp_free(h))
CALL(rsp_query, dat_rsp_query(h, DAT_RSP_FIELD_ALL, &out.rsp))
CALL(rsp_free, dat_rsp_free(h))
CALL(cr_query, dat_cr_query(h, DAT_CR_FIELD_ALL, &out.cr))
CALL(cr_accept, t_cr_accept(h, z->end.ep))
CALL(cr_reject, t_cr_reject(h))
CALL(cr_handoff, dat_cr_handoff(h, z->listener.qual))

CALL(srq_query, dat_srq_query(h, DAT_SRQ_FIELD_ALL, &out.srq))
CALL(srq_resize, dat_srq_resize(h, 8))
CALL(srq_set_lw, dat_srq_set_lw(h, DAT_SRQ_LW_DEFAULT))
CALL(srq_post_recv, dat_srq_post_recv(h, 0, NULL, COOKIE))
CALL(srq_free, dat_srq_free(h))

#if T_DAT_MAJOR == 2
static DAT_COMM comm = {.domain = AF_INET, .type = SOCK_STREAM};
static DAT_FD fd_out;

CALL(cno_fd_create, dat_cno_fd_create(h, &fd_out, &out.handle))
CALL(csp_create, dat_csp_create(h, &comm, ADDRESS, CR_EVD, &out.handle))
CALL(cno_trigger, dat_cno_trigger(h, &out.handle))
CALL(rmr_create_for_ep, dat_rmr_create_for_ep(h, &out.handle))
CALL(rmr_bind_lmr,
     dat_rmr_bind(z->of[DAT_HANDLE_TYPE_RMR], h, (DAT_LMR_TRIPLET[]){t_seg(&z->end.buf, 0, 8)},
		  DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, z->end.ep, COOKIE, 0,
		  &context_out))
CALL(ep_common_connect, dat_ep_common_connect(h, ADDRESS, T_LIMIT_US, 0, NULL))
CALL(ep_post_send_with_invalidate,
     dat_ep_post_send_with_invalidate(h, 0, NULL, COOKIE, 0, DAT_FALSE, 0))
CALL(ep_post_rdma_read_to_rmr, dat_ep_post_rdma_read_to_rmr(h, REMOTE, COOKIE, REMOTE, 0))
#endif

#define OF(type, call)                                     \
	{                                                  \
#call, DAT_HANDLE_TYPE_##type, false, call \
	}
#define OF_OR_NULL(type, call)                            \
	{                                                 \
#call, DAT_HANDLE_TYPE_##type, true, call \
	}

const struct zoo_call zoo_calls[] = {
	OF(IA, ia_close),
	OF(IA, ia_query),
	OF(IA, pz_create),
	OF(IA, cno_create),
	OF(IA, evd_create),
	OF(IA, ep_create),
	OF(IA, lmr_create),
	OF(IA, psp_create),
	OF(IA, psp_create_any),
	OF(IA, rsp_create),
	OF(IA, lmr_sync_rdma_read),
	OF(IA, lmr_sync_rdma_write),
	OF(IA, srq_create),
	OF(EVD, evd_query),
	OF(EVD, evd_modify_cno),
	OF(EVD, evd_enable),
	OF(EVD, evd_disable),
	OF(EVD, evd_set_unwaitable),
	OF(EVD, evd_clear_unwaitable),
	OF(EVD, evd_wait),
	OF(EVD, evd_dequeue),
	OF(EVD, evd_post_se),
	OF(EVD, evd_resize),
	OF(EVD, evd_free),
	OF_OR_NULL(EVD, ep_create_recv),
	OF_OR_NULL(EVD, ep_create_request),
	OF_OR_NULL(EVD, ep_create_connect),
	OF(EVD, psp_create_evd),
	OF(EVD, psp_create_any_evd),
	OF(EVD, rsp_create_evd),
	OF(CNO, cno_query),
	OF(CNO, cno_modify_agent),
	OF(CNO, cno_wait),
	OF(CNO, cno_free),
	OF_OR_NULL(CNO, evd_create_cno),
	OF_OR_NULL(CNO, evd_modify_cno_cno),
	OF(PZ, pz_query),
	OF(PZ, pz_free),
	OF(PZ, lmr_create_pz),
	OF(PZ, rmr_create),
	OF_OR_NULL(PZ, ep_create_pz),
	OF(PZ, srq_create_pz),
	OF(LMR, lmr_query),
	OF(LMR, lmr_free),
	OF(LMR, lmr_create_lmr),
	OF(RMR, rmr_query),
	OF(RMR, rmr_free),
	OF(RMR, rmr_bind),
	OF(EP, ep_query),
	OF(EP, ep_modify),
	OF(EP, ep_connect),
	OF(EP, ep_dup_connect),
	OF(EP, ep_dup_connect_dup),
	OF(EP, ep_disconnect),
	OF(EP, ep_reset),
	OF(EP, ep_free),
	OF(EP, ep_get_status),
	OF(EP, ep_recv_query),
	OF(EP, ep_set_watermark),
	OF(EP, ep_post_send),
	OF(EP, ep_post_recv),
	OF(EP, ep_post_rdma_read),
	OF(EP, ep_post_rdma_write),
	OF(EP, rsp_create_ep),
	OF(EP, rmr_bind_ep),
	OF(EP, cr_accept_ep),
	OF(PSP, psp_query),
	OF(PSP, psp_free),
	OF(RSP, rsp_query),
	OF(RSP, rsp_free),
	OF(CR, cr_query),
	OF(CR, cr_accept),
	OF(CR, cr_reject),
	OF(CR, cr_handoff),
	OF(SRQ, srq_query),
	OF(SRQ, srq_resize),
	OF(SRQ, srq_set_lw),
	OF(SRQ, srq_post_recv),
	OF(SRQ, srq_free),
#if T_DAT_MAJOR == 2
	OF(IA, cno_fd_create),
	OF(IA, csp_create),
	OF(CNO, cno_trigger),
	OF(PZ, rmr_create_for_ep),
	OF(LMR, rmr_bind_lmr),
	OF(EP, ep_common_connect),
	OF(EP, ep_post_send_with_invalidate),
	OF(EP, ep_post_rdma_read_to_rmr),
#endif
};

const size_t zoo_ncalls = sizeof(zoo_calls) / sizeof(zoo_calls[0]);
