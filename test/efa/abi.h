/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface of libefa that libfabric's efa provider uses, in its newest form. Debian 12's
 * infiniband/efadv.h lacks a part of it, so this header declares the same binary interface itself.
 */
#ifndef SOFTEFA_ABI_H
#define SOFTEFA_ABI_H

#include <infiniband/verbs.h>
#include <stdbool.h>

enum efa_cap {
	EFA_CAP_RDMA_READ = 1 << 0,
	EFA_CAP_RNR_RETRY = 1 << 1,
	EFA_CAP_CQ_WITH_SGID = 1 << 2,
	EFA_CAP_RDMA_WRITE = 1 << 3,
	EFA_CAP_UNSOLICITED_WRITE_RECV = 1 << 4,
};

enum { EFA_QP_UNSOLICITED_WRITE_RECV = 1 << 0 };

/* All fields of the newest release. Fields behind the caller's inlen are not filled. */
struct efadv_device_attr {
	uint64_t comp_mask;
	uint32_t max_sq_wr;
	uint32_t max_rq_wr;
	uint16_t max_sq_sge;
	uint16_t max_rq_sge;
	uint16_t inline_buf_size;
	uint8_t reserved[2];
	uint32_t device_caps;
	uint32_t max_rdma_size;
};

struct efadv_ah_attr {
	uint64_t comp_mask;
	uint16_t ahn;
	uint8_t reserved[6];
};

struct efadv_qp_init_attr {
	uint64_t comp_mask;
	uint32_t driver_qp_type;
	uint16_t flags;
	uint8_t sl;
	uint8_t reserved[1];
};

struct efadv_cq {
	uint64_t comp_mask;
	int (*wc_read_sgid)(struct efadv_cq *, union ibv_gid *);
	bool (*wc_is_unsolicited)(struct efadv_cq *);
};

struct efadv_cq_init_attr {
	uint64_t comp_mask;
	uint64_t wc_flags;
};

struct efadv_mr_attr {
	uint64_t comp_mask;
	uint16_t ic_id_validity;
	uint16_t recv_ic_id;
	uint16_t rdma_read_ic_id;
	uint16_t rdma_recv_ic_id;
};

/* Vendor errors of a completion: EFA_IO_COMP_STATUS_*, prov/efa/src/efa_errno.h@v2.6.0. */
enum efa_status {
	EFA_OK = 0,
	EFA_FLUSHED = 1,
	EFA_LOCAL_INTERNAL = 2,
	EFA_LOCAL_UNSUPPORTED_OP = 3,
	EFA_LOCAL_INVALID_AH = 4,
	EFA_LOCAL_INVALID_LKEY = 5,
	EFA_LOCAL_BAD_LENGTH = 6,
	EFA_REMOTE_BAD_ADDRESS = 7,
	EFA_REMOTE_ABORT = 8,
	EFA_REMOTE_BAD_DEST_QPN = 9,
	EFA_REMOTE_RNR = 10,
	EFA_REMOTE_BAD_LENGTH = 11,
	EFA_REMOTE_BAD_STATUS = 12,
	EFA_LOCAL_UNRESPONSIVE = 13,
	EFA_REMOTE_UNKNOWN_PEER = 14,
	EFA_LOCAL_UNREACHABLE = 15,
};

int efadv_query_device(struct ibv_context *, struct efadv_device_attr *, uint32_t inlen);
int efadv_query_ah(struct ibv_ah *, struct efadv_ah_attr *, uint32_t inlen);
int efadv_query_mr(struct ibv_mr *, struct efadv_mr_attr *, uint32_t inlen);
struct ibv_qp *efadv_create_qp_ex(struct ibv_context *, struct ibv_qp_init_attr_ex *,
				  struct efadv_qp_init_attr *, uint32_t inlen);
struct ibv_cq_ex *efadv_create_cq(struct ibv_context *, struct ibv_cq_init_attr_ex *,
				  struct efadv_cq_init_attr *, uint32_t inlen);
struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *);

#endif
