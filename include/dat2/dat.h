/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT2_DAT_H
#define DAT2_DAT_H

/*
 * Objects of DAT 2.0 and the calls on them. Programs include udat.h, which includes this.
 *
 * The manual page of a call has the name of the call: dat_ep_connect(3). These rules hold for all
 * calls:
 *
 * - OUT parameters are valid only on success, unless a comment says otherwise. The provider copies
 *   attributes, names, addresses and private data. It owns the memory of a data transfer until the
 *   completion, and the array of segments as long as iov_ownership_on_return says.
 * - DAT_INVALID_HANDLE: the handle is null or freed, or its type is not the one that the subtype
 *   names. DAT_INVALID_PARAMETER: the subtype holds the number of the wrong argument. Any call can
 *   return DAT_INSUFFICIENT_RESOURCES and DAT_INTERNAL_ERROR, any optional call
 *   DAT_MODEL_NOT_SUPPORTED. Comments name the other errors.
 * - A query fills the fields that its mask selects. While something uses an object, its free fails
 *   with DAT_INVALID_STATE and changes nothing.
 *
 * An object stands before the objects that refer to it, so the IA is the last one.
 */
#include <dat2/udat_config.h>
#include <dat2/dat_platform_specific.h>
#include <dat2/dat_error.h>
#include <dat2/dat_vendor_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Basic types
 */

typedef enum dat_boolean {
	DAT_FALSE	= 0,
	DAT_TRUE	= 1
} DAT_BOOLEAN;

#define DAT_NAME_MAX_LENGTH	256	/* with the final zero byte */

typedef char			*DAT_NAME_PTR;

typedef struct dat_named_attr {
	const char	*name;
	const char	*value;
} DAT_NAMED_ATTR;

/* 64 bits that belong to the consumer. DAT returns them unchanged and never reads them. */
typedef union dat_context {
	DAT_PVOID	as_ptr;
	DAT_UINT64	as_64;
	DAT_UVERYLONG	as_index;
} DAT_CONTEXT;

typedef DAT_CONTEXT		DAT_DTO_COOKIE;
typedef DAT_CONTEXT		DAT_RMR_COOKIE;

/* Microseconds. */
typedef DAT_UINT32		DAT_TIMEOUT;

#define DAT_TIMEOUT_INFINITE	((DAT_TIMEOUT)~0)

/*
 * Handles
 */

typedef DAT_PVOID		DAT_HANDLE;
typedef DAT_HANDLE		DAT_CNO_HANDLE;
typedef DAT_HANDLE		DAT_CR_HANDLE;
typedef DAT_HANDLE		DAT_CSP_HANDLE;
typedef DAT_HANDLE		DAT_EP_HANDLE;
typedef DAT_HANDLE		DAT_EVD_HANDLE;
typedef DAT_HANDLE		DAT_IA_HANDLE;
typedef DAT_HANDLE		DAT_LMR_HANDLE;
typedef DAT_HANDLE		DAT_PSP_HANDLE;
typedef DAT_HANDLE		DAT_PZ_HANDLE;
typedef DAT_HANDLE		DAT_RMR_HANDLE;
typedef DAT_HANDLE		DAT_RSP_HANDLE;
typedef DAT_HANDLE		DAT_SRQ_HANDLE;

#define DAT_HANDLE_NULL		((DAT_HANDLE)NULL)

/* The IA handle of a consumer is a small number, cast to a pointer. */
#define DAT_IA_HANDLE_TO_UL(handle)	((unsigned long)(handle))
#define DAT_UL_TO_IA_HANDLE(number)	((DAT_IA_HANDLE)(unsigned long)(number))

typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR		= 0,
	DAT_HANDLE_TYPE_EP		= 1,
	DAT_HANDLE_TYPE_EVD		= 2,
	DAT_HANDLE_TYPE_IA		= 3,
	DAT_HANDLE_TYPE_LMR		= 4,
	DAT_HANDLE_TYPE_PSP		= 5,
	DAT_HANDLE_TYPE_PZ		= 6,
	DAT_HANDLE_TYPE_RMR		= 7,
	DAT_HANDLE_TYPE_RSP		= 8,
	DAT_HANDLE_TYPE_CNO		= 9,
	DAT_HANDLE_TYPE_SRQ		= 10,
	DAT_HANDLE_TYPE_CSP		= 11,
	DAT_HANDLE_TYPE_EXTENSION_BASE	= 12
} DAT_HANDLE_TYPE;

/* Each object of any type has one context. It is null until it is set and ends with the object. */
DAT_EXPORT DAT_RETURN DAT_API
dat_set_consumer_context(IN DAT_HANDLE dat_handle, IN DAT_CONTEXT context);

DAT_EXPORT DAT_RETURN DAT_API
dat_get_consumer_context(IN DAT_HANDLE dat_handle, OUT DAT_CONTEXT *context);

/* A program may also ask for the type of the handle in a DAT_ASYNCH_ERROR_EVENT_DATA. */
DAT_EXPORT DAT_RETURN DAT_API
dat_get_handle_type(IN DAT_HANDLE dat_handle, OUT DAT_HANDLE_TYPE *type);

/*
 * Addresses and connection qualifiers
 */

/*
 * The IA, EP or CR that returned the address owns it; the address is valid as long as that object.
 * Its port has no meaning.
 */
typedef DAT_SOCK_ADDR		*DAT_IA_ADDRESS_PTR;

/* A service listens on a qualifier; each side of a connection has one. All 64 bits count. */
typedef DAT_UINT64		DAT_CONN_QUAL;
typedef DAT_UINT64		DAT_PORT_QUAL;

typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT	= 0,
	DAT_QOS_HIGH_THROUGHPUT	= 1,
	DAT_QOS_LOW_LATENCY	= 2,
	DAT_QOS_ECONOMY		= 4,
	DAT_QOS_PREMIUM		= 8
} DAT_QOS;

/*
 * Memory and data transfer operations (DTOs)
 */

typedef DAT_UINT32		DAT_LMR_CONTEXT;	/* names memory to this process */
typedef DAT_UINT32		DAT_RMR_CONTEXT;	/* names memory to a peer */
typedef DAT_UINT64		DAT_VLEN;		/* bytes */
typedef DAT_UINT64		DAT_VADDR;
typedef DAT_UINT32		DAT_SEG_LENGTH;		/* bytes */

/* A segment of local memory. If segment_length is 0, the other members are ignored. */
typedef struct dat_lmr_triplet {
	DAT_VADDR	virtual_address;
	DAT_SEG_LENGTH	segment_length;
	DAT_LMR_CONTEXT	lmr_context;
} DAT_LMR_TRIPLET;

/* A segment of the peer's memory, in host byte order. The peer sends these values beforehand. */
typedef struct dat_rmr_triplet {
	DAT_VADDR	virtual_address;
	DAT_SEG_LENGTH	segment_length;
	DAT_RMR_CONTEXT	rmr_context;
} DAT_RMR_TRIPLET;

/*
 * In the attributes of an EP, the flags say which completions notify: they wake a waiting thread or
 * trigger a CNO. In a post, the flags change this for one request; it can be UNSIGNALLED only if
 * the EP is. Each completion queues an event, except the success of a suppressed request.
 */
typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG			= 0x00,
	DAT_COMPLETION_SUPPRESS_FLAG			= 0x01,	/* no event, if it succeeds */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG		= 0x02,	/* notifies if the sender asks */
	DAT_COMPLETION_UNSIGNALLED_FLAG			= 0x04,	/* does not notify */
	DAT_COMPLETION_BARRIER_FENCE_FLAG		= 0x08,	/* after earlier RDMA reads */
	DAT_COMPLETION_EVD_THRESHOLD_FLAG		= 0x10,	/* notifies always */
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG	= 0x20	/* after invalidations */
} DAT_COMPLETION_FLAGS;

/* The operation that completed; in DAT_DTO_COMPLETION_EVENT_DATA. */
typedef enum dat_dtos {
	DAT_DTO_SEND			= 0,
	DAT_DTO_RDMA_WRITE		= 1,
	DAT_DTO_RDMA_READ		= 2,
	DAT_DTO_RECEIVE			= 3,
	DAT_DTO_RECEIVE_WITH_INVALIDATE	= 4,
	DAT_DTO_BIND_MW			= 5,
	DAT_DTO_LMR_FMR			= 6,
	DAT_DTO_LMR_INVALIDATE		= 7,
	DAT_DTO_EXTENSION_BASE		= 8
} DAT_DTOS;

/* The owner of the array of segments from the return of a post to the completion. */
typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER	= 0,	/* the consumer owns it */
	DAT_IOV_PROVIDER_NOMOD	= 1,	/* the provider may read it */
	DAT_IOV_PROVIDER_MOD	= 2	/* the provider may change it */
} DAT_IOV_OWNERSHIP;

/*
 * PZ: protection zone. LMRs, RMRs and EPs work together only within one PZ.
 */

typedef enum dat_pz_support {
	DAT_PZ_UNIQUE		= 0,
	DAT_PZ_SHAREABLE	= 1
} DAT_PZ_SUPPORT;

typedef struct dat_pz_param {
	DAT_IA_HANDLE	ia_handle;
} DAT_PZ_PARAM;

typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE	= 0x01,
	DAT_PZ_FIELD_ALL	= 0x01
} DAT_PZ_PARAM_MASK;

DAT_EXPORT DAT_RETURN DAT_API
dat_pz_create(IN DAT_IA_HANDLE ia_handle, OUT DAT_PZ_HANDLE *pz_handle);

DAT_EXPORT DAT_RETURN DAT_API
dat_pz_query(IN DAT_PZ_HANDLE pz_handle, IN DAT_PZ_PARAM_MASK pz_param_mask,
	     OUT DAT_PZ_PARAM *pz_param);

/* DAT_INVALID_STATE: an EP, LMR, RMR or SRQ belongs to the PZ. */
DAT_EXPORT DAT_RETURN DAT_API
dat_pz_free(IN DAT_PZ_HANDLE pz_handle);

/*
 * LMR: local memory region, memory registered for transfers; created by dat_lmr_create() of udat.h
 */

typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL		= 0,	/* memory of this process */
	DAT_MEM_TYPE_LMR		= 1,	/* the memory of another LMR */
	DAT_MEM_TYPE_SHARED_VIRTUAL	= 2	/* shared memory that a cookie names */
} DAT_MEM_TYPE;

/* Processes that register the same shared memory pass the same bytes. */
#define DAT_LMR_COOKIE_SIZE	40

typedef char			(*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

typedef struct dat_shared_memory {
	DAT_PVOID	virtual_address;	/* in this process */
	DAT_LMR_COOKIE	shared_memory_id;
} DAT_SHARED_MEMORY;

/* The DAT_MEM_TYPE selects the member. */
typedef union dat_region_description {
	DAT_PVOID		for_va;
	DAT_LMR_HANDLE		for_lmr_handle;
	DAT_SHARED_MEMORY	for_shared_memory;
} DAT_REGION_DESCRIPTION;

/* Operations that may use the memory, of this process and of peers. */
typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33,	/* without those of extensions */
	DAT_MEM_PRIV_EXTENSION_BASE	= 0x40
} DAT_MEM_PRIV_FLAGS;

#define DAT_MEM_PRIV_READ_FLAG	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* Addresses in triplets are virtual addresses, or offsets from the start of the region. */
typedef enum dat_va_type {
	DAT_VA_TYPE_VA	= 0,
	DAT_VA_TYPE_ZB	= 1	/* zero based */
} DAT_VA_TYPE;

typedef struct dat_lmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_MEM_TYPE		mem_type;
	DAT_REGION_DESCRIPTION	region_desc;
	DAT_VLEN		length;			/* bytes asked for */
	DAT_PZ_HANDLE		pz_handle;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_VA_TYPE		va_type;
	DAT_LMR_CONTEXT		lmr_context;
	DAT_RMR_CONTEXT		rmr_context;
	DAT_VLEN		registered_size;	/* bytes registered */
	DAT_VADDR		registered_address;
} DAT_LMR_PARAM;

typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE			= 0x0001,
	DAT_LMR_FIELD_MEM_TYPE			= 0x0002,
	DAT_LMR_FIELD_REGION_DESC		= 0x0004,
	DAT_LMR_FIELD_LENGTH			= 0x0008,
	DAT_LMR_FIELD_PZ_HANDLE			= 0x0010,
	DAT_LMR_FIELD_MEM_PRIV			= 0x0020,
	DAT_LMR_FIELD_VA_TYPE			= 0x0040,
	DAT_LMR_FIELD_LMR_CONTEXT		= 0x0080,
	DAT_LMR_FIELD_RMR_CONTEXT		= 0x0100,
	DAT_LMR_FIELD_REGISTERED_SIZE		= 0x0200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS	= 0x0400,
	DAT_LMR_FIELD_ALL			= 0x07ff
} DAT_LMR_PARAM_MASK;

/*
 * The memory keeps its contents. A peer that uses the rmr_context afterwards gets an access error
 * and loses its connection. DAT_INVALID_STATE: an RMR is bound to the LMR.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle);

/*
 * If the provider's lmr_sync_req is true, call dat_lmr_sync_rdma_read() between local stores and a
 * peer's RDMA read, and dat_lmr_sync_rdma_write() between a peer's RDMA write and local loads.
 * Otherwise both calls only check their arguments.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle, IN const DAT_LMR_TRIPLET *local_segments,
		       IN DAT_VLEN num_segments);

DAT_EXPORT DAT_RETURN DAT_API
dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle, IN const DAT_LMR_TRIPLET *local_segments,
			IN DAT_VLEN num_segments);

/*
 * RMR: remote memory region, a window over a part of an LMR that is cheap to open and close
 */

/* The EPs over which peers can use the context. */
typedef enum dat_rmr_scope {
	DAT_RMR_SCOPE_EP	= 0,
	DAT_RMR_SCOPE_PZ	= 1,
	DAT_RMR_SCOPE_ANY	= 2
} DAT_RMR_SCOPE;

typedef struct dat_rmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_PZ_HANDLE		pz_handle;
	DAT_LMR_TRIPLET		lmr_triplet;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_RMR_CONTEXT		rmr_context;
	DAT_RMR_SCOPE		rmr_scope;
	DAT_VA_TYPE		va_type;
} DAT_RMR_PARAM;

typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x01,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x04,
	DAT_RMR_FIELD_MEM_PRIV		= 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_RMR_SCOPE		= 0x20,
	DAT_RMR_FIELD_VA_TYPE		= 0x40,
	DAT_RMR_FIELD_ALL		= 0x7f
} DAT_RMR_PARAM_MASK;

/* The RMR has no context until it is bound. */
DAT_EXPORT DAT_RETURN DAT_API
dat_rmr_create(IN DAT_PZ_HANDLE pz_handle, OUT DAT_RMR_HANDLE *rmr_handle);

/* As dat_rmr_create(), but for use over one EP: DAT_RMR_SCOPE_EP. */
DAT_EXPORT DAT_RETURN DAT_API
dat_rmr_create_for_ep(IN DAT_PZ_HANDLE pz_handle, OUT DAT_RMR_HANDLE *rmr_handle);

DAT_EXPORT DAT_RETURN DAT_API
dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle, IN DAT_RMR_PARAM_MASK rmr_param_mask,
	      OUT DAT_RMR_PARAM *rmr_param);

/*
 * Posts a request that opens the window on the EP; a segment_length of 0 closes the window. Each
 * bind returns a new *context, which the program can send to the peer at once, because later sends
 * of this EP wait for the bind. The request completes with DAT_RMR_BIND_COMPLETION_EVENT on the
 * EP's request EVD. Errors are those of dat_ep_post_send(), and DAT_PROTECTION_VIOLATION: RMR, LMR
 * and EP do not belong to one PZ.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle, IN DAT_LMR_HANDLE lmr_handle,
	     IN const DAT_LMR_TRIPLET *lmr_triplet, IN DAT_MEM_PRIV_FLAGS mem_priv,
	     IN DAT_VA_TYPE va_type, IN DAT_EP_HANDLE ep_handle, IN DAT_RMR_COOKIE user_cookie,
	     IN DAT_COMPLETION_FLAGS completion_flags, OUT DAT_RMR_CONTEXT *context);

/* A bound RMR is unbound first. */
DAT_EXPORT DAT_RETURN DAT_API
dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle);

/*
 * SRQ: shared receive queue, from which many EPs take their receive buffers
 */

#define DAT_SRQ_LW_DEFAULT	0x0			/* no low watermark */
#define DAT_WATERMARK_INFINITE	((DAT_COUNT)~0)		/* no high watermark */
#define DAT_HW_DEFAULT		DAT_WATERMARK_INFINITE
#define DAT_VALUE_UNKNOWN	((DAT_COUNT)~1)		/* a count that is not known */

/* The values are not those of DAT 1.2. */
typedef enum dat_srq_state {
	DAT_SRQ_STATE_ERROR		= 0,
	DAT_SRQ_STATE_OPERATIONAL	= 1,
	DAT_SRQ_STATE_SHUTDOWN		= 2
} DAT_SRQ_STATE;

typedef struct dat_srq_attr {
	DAT_COUNT	max_recv_dtos;	/* buffers */
	DAT_COUNT	max_recv_iov;	/* segments of a buffer */
	DAT_COUNT	low_watermark;	/* buffers */
} DAT_SRQ_ATTR;

typedef struct dat_srq_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_SRQ_STATE	srq_state;
	DAT_PZ_HANDLE	pz_handle;
	DAT_COUNT	max_recv_dtos;
	DAT_COUNT	max_recv_iov;
	DAT_COUNT	low_watermark;
	DAT_COUNT	available_dto_count;	/* not taken by an EP */
	DAT_COUNT	outstanding_dto_count;	/* completion not dequeued */
} DAT_SRQ_PARAM;

typedef enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE			= 0x0001,
	DAT_SRQ_FIELD_SRQ_STATE			= 0x0002,
	DAT_SRQ_FIELD_PZ_HANDLE			= 0x0004,
	DAT_SRQ_FIELD_MAX_RECV_DTO		= 0x0008,
	DAT_SRQ_FIELD_MAX_RECV_IOV		= 0x0010,
	DAT_SRQ_FIELD_LOW_WATERMARK		= 0x0020,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT	= 0x0040,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT	= 0x0080,
	DAT_SRQ_FIELD_ALL			= 0x00ff
} DAT_SRQ_PARAM_MASK;

/*
 * The sizes asked for are minima; dat_srq_query() returns the real ones. Buffers must belong to the
 * PZ of the SRQ.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_srq_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle, IN DAT_SRQ_ATTR *srq_attr,
	       OUT DAT_SRQ_HANDLE *srq_handle);

DAT_EXPORT DAT_RETURN DAT_API
dat_srq_query(IN DAT_SRQ_HANDLE srq_handle, IN DAT_SRQ_PARAM_MASK srq_param_mask,
	      OUT DAT_SRQ_PARAM *srq_param);

/* DAT_INVALID_STATE: the size is below the number of outstanding buffers or the low watermark. */
DAT_EXPORT DAT_RETURN DAT_API
dat_srq_resize(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT srq_max_recv_dto);

/*
 * Asks for one asynchronous event (reason DAT_SRQ_LOW_WATERMARK_EVENT) when fewer buffers than the
 * mark are left, also if that is so already. Each further event needs a further call.
 * DAT_SRQ_LW_DEFAULT asks for none.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_srq_set_lw(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT low_watermark);

/*
 * As dat_ep_post_recv(), in any state. The completion comes on the receive EVD of the EP that
 * took the buffer, and names that EP. Buffers may complete in another order than they were posted.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_srq_post_recv(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT num_segments,
		  IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie);

/* The caller owns the buffers again that are still posted. They have no completions. */
DAT_EXPORT DAT_RETURN DAT_API
dat_srq_free(IN DAT_SRQ_HANDLE srq_handle);

/*
 * EP: endpoint, one side of a connection
 */

typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC		= 0,	/* reliable and connected */
	DAT_SERVICE_TYPE_EXTENSION_BASE	= 1
} DAT_SERVICE_TYPE;

typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED			= 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED		= 1,	/* no PZ or EVDs yet */
	DAT_EP_STATE_RESERVED				= 2,	/* waits at an RSP */
	DAT_EP_STATE_UNCONFIGURED_RESERVED		= 3,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING		= 4,	/* an RSP has a request */
	DAT_EP_STATE_UNCONFIGURED_PASSIVE		= 5,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING		= 6,	/* after dat_ep_connect() */
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING	= 7,	/* the provider made it */
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE		= 8,
	DAT_EP_STATE_CONNECTED				= 9,
	DAT_EP_STATE_DISCONNECT_PENDING			= 10,	/* requests complete first */
	DAT_EP_STATE_DISCONNECTED			= 11,
	DAT_EP_STATE_COMPLETION_PENDING			= 12,	/* after dat_cr_accept() */
	DAT_EP_STATE_CONNECTED_SINGLE_PATH		= 13,	/* of a multipath EP */
	DAT_EP_STATE_CONNECTED_MULTI_PATH		= 14
} DAT_EP_STATE;

#define DAT_EP_STATE_ERROR	DAT_EP_STATE_DISCONNECTED

/* dat_ep_query() returns the real values: at least as many requests and segments as asked for. */
typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE	service_type;
	DAT_SEG_LENGTH		max_message_size;	/* bytes; 0: a default */
	DAT_SEG_LENGTH		max_rdma_size;		/* bytes; 0: a default */
	DAT_QOS			qos;
	DAT_COMPLETION_FLAGS	recv_completion_flags;
	DAT_COMPLETION_FLAGS	request_completion_flags;
	DAT_COUNT		max_recv_dtos;		/* outstanding at one time */
	DAT_COUNT		max_request_dtos;	/* outstanding at one time */
	DAT_COUNT		max_recv_iov;		/* segments */
	DAT_COUNT		max_request_iov;	/* segments of a send */
	DAT_COUNT		max_rdma_read_in;	/* served at one time */
	DAT_COUNT		max_rdma_read_out;	/* under way at one time */
	DAT_COUNT		srq_soft_hw;		/* soft high watermark */
	DAT_COUNT		max_rdma_read_iov;	/* segments */
	DAT_COUNT		max_rdma_write_iov;	/* segments */
	DAT_COUNT		ep_transport_specific_count;
	DAT_NAMED_ATTR		*ep_transport_specific;
	DAT_COUNT		ep_provider_specific_count;
	DAT_NAMED_ATTR		*ep_provider_specific;
} DAT_EP_ATTR;

typedef struct dat_ep_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_EP_STATE		ep_state;
	DAT_COMM		comm;
	DAT_IA_ADDRESS_PTR	local_ia_address_ptr;
	DAT_PORT_QUAL		local_port_qual;
	DAT_IA_ADDRESS_PTR	remote_ia_address_ptr;
	DAT_PORT_QUAL		remote_port_qual;
	DAT_PZ_HANDLE		pz_handle;
	DAT_EVD_HANDLE		recv_evd_handle;
	DAT_EVD_HANDLE		request_evd_handle;
	DAT_EVD_HANDLE		connect_evd_handle;
	DAT_SRQ_HANDLE		srq_handle;	/* null without SRQ */
	DAT_EP_ATTR		ep_attr;
} DAT_EP_PARAM;

typedef DAT_UINT64		DAT_EP_PARAM_MASK;

#define DAT_EP_FIELD_IA_HANDLE				UINT64_C(0x00000001)
#define DAT_EP_FIELD_EP_STATE				UINT64_C(0x00000002)
#define DAT_EP_FIELD_COMM				UINT64_C(0x00000004)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		UINT64_C(0x00000008)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			UINT64_C(0x00000010)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		UINT64_C(0x00000020)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			UINT64_C(0x00000040)
#define DAT_EP_FIELD_PZ_HANDLE				UINT64_C(0x00000080)
#define DAT_EP_FIELD_RECV_EVD_HANDLE			UINT64_C(0x00000100)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			UINT64_C(0x00000200)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			UINT64_C(0x00000400)
#define DAT_EP_FIELD_SRQ_HANDLE				UINT64_C(0x00000800)
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE		UINT64_C(0x00001000)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE		UINT64_C(0x00002000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE		UINT64_C(0x00004000)
#define DAT_EP_FIELD_EP_ATTR_QOS			UINT64_C(0x00008000)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS	UINT64_C(0x00010000)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS	UINT64_C(0x00020000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS		UINT64_C(0x00040000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS		UINT64_C(0x00080000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV		UINT64_C(0x00100000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV		UINT64_C(0x00200000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN		UINT64_C(0x00400000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT		UINT64_C(0x00800000)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW		UINT64_C(0x01000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV		UINT64_C(0x02000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV		UINT64_C(0x04000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR		UINT64_C(0x08000000)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR	UINT64_C(0x10000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR		UINT64_C(0x20000000)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR	UINT64_C(0x40000000)
#define DAT_EP_FIELD_EP_ATTR_ALL			UINT64_C(0x7ffff000)
#define DAT_EP_FIELD_ALL				UINT64_C(0x7fffffff)

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG		= 0x00,
	DAT_CONNECT_MULTIPATH_FLAG		= 0x01,
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG	= 0x02
} DAT_CONNECT_FLAGS;

#define DAT_CONNECT_MULTIPATH_REQUESTED_FLAG	DAT_CONNECT_MULTIPATH_FLAG

/* For dat_ep_disconnect() and dat_ia_close(). */
typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG	= 0x00,	/* the default */
	DAT_CLOSE_GRACEFUL_FLAG	= 0x01
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT	DAT_CLOSE_ABRUPT_FLAG

/*
 * PZ and EVDs may be null if dat_ep_modify() sets them before they are needed. The EP uses them
 * until dat_ep_modify() replaces them or the EP is freed. If the attributes are null, the provider
 * chooses them.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
	      IN DAT_EVD_HANDLE recv_completion_evd_handle,
	      IN DAT_EVD_HANDLE request_completion_evd_handle, IN DAT_EVD_HANDLE connect_evd_handle,
	      IN const DAT_EP_ATTR *ep_attributes, OUT DAT_EP_HANDLE *ep_handle);

/* The EP takes all its receive buffers from the SRQ. The attributes must not be null. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		       IN DAT_EVD_HANDLE recv_evd_handle, IN DAT_EVD_HANDLE request_evd_handle,
		       IN DAT_EVD_HANDLE connect_evd_handle, IN DAT_SRQ_HANDLE srq_handle,
		       IN const DAT_EP_ATTR *ep_attributes, OUT DAT_EP_HANDLE *ep_handle);

/* The peer's address and port are valid only while the EP is connected or connecting. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_query(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_PARAM_MASK ep_param_mask,
	     OUT DAT_EP_PARAM *ep_param);

/* Changes all fields of the mask or none. DAT_INVALID_STATE: the EP's state forbids the change. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_modify(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_PARAM_MASK ep_param_mask,
	      IN const DAT_EP_PARAM *ep_param);

/*
 * Asks the peer's service for a connection and returns at once. One event on the connect EVD tells
 * the result. If the event is not ESTABLISHED, the EP is DISCONNECTED. `timeout` is in microseconds
 * and not 0. The address family gives the length of the address; the port in it is ignored. The
 * peer reads the private data, at most max_private_data_size bytes, by dat_cr_query().
 * DAT_INVALID_STATE: the EP is not UNCONNECTED, or has no PZ or no connect EVD.
 * DAT_INVALID_ADDRESS: the address is malformed, of an unknown family, or known to be unreachable.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_connect(IN DAT_EP_HANDLE ep_handle, IN DAT_IA_ADDRESS_PTR remote_ia_address,
	       IN DAT_CONN_QUAL remote_conn_qual, IN DAT_TIMEOUT timeout,
	       IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data,
	       IN DAT_QOS quality_of_service, IN DAT_CONNECT_FLAGS connect_flags);

/* As dat_ep_connect(), to the service that `ep_dup_handle` is connected to. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_HANDLE ep_dup_handle,
		   IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
		   IN const DAT_PVOID private_data, IN DAT_QOS quality_of_service);

/* As dat_ep_connect(), to the common service point of the EP's communicator. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_common_connect(IN DAT_EP_HANDLE ep_handle, IN DAT_IA_ADDRESS_PTR remote_ia_address,
		      IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
		      IN const DAT_PVOID private_data);

/*
 * A graceful disconnect lets the requests complete first, an abrupt one flushes them. Every
 * transfer gets its completion, and each side gets one DISCONNECTED event. On a DISCONNECTED EP the
 * call does nothing. DAT_INVALID_STATE: the EP is not connected, and this side has neither asked
 * for a connection nor accepted one.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle, IN DAT_CLOSE_FLAGS close_flags);

/* Turns a DISCONNECTED EP into an UNCONNECTED one. Completions still queued may be lost. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_reset(IN DAT_EP_HANDLE ep_handle);

/*
 * Breaks the EP's connection. After the return the EP generates no event.
 * DAT_INVALID_STATE: an RSP or a connection request still uses the EP.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_free(IN DAT_EP_HANDLE ep_handle);

/* A queue is idle if none of its receives or requests is outstanding. OUT pointers may be null. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_get_status(IN DAT_EP_HANDLE ep_handle, OUT DAT_EP_STATE *ep_state,
		  OUT DAT_BOOLEAN *recv_idle, OUT DAT_BOOLEAN *request_idle);

/*
 * Returns how many receive buffers the EP holds, and how far they reach in the sequence of
 * messages. A value that ep_recv_info_supported excludes is DAT_VALUE_UNKNOWN. OUT pointers may be
 * null.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_recv_query(IN DAT_EP_HANDLE ep_handle, OUT DAT_COUNT *nbufs_allocated,
		  OUT DAT_COUNT *bufs_alloc_span);

/*
 * If the EP holds more buffers than the soft mark, one asynchronous event with the reason
 * DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT comes. If it holds more than the hard mark, the connection
 * breaks.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_set_watermark(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT soft_high_watermark,
		     IN DAT_COUNT hard_high_watermark);

/*
 * Posts never block. A successful post has one completion, in the order of posting, on the request
 * or receive EVD of the EP, unless it is suppressed. A call that fails has posted nothing. The
 * segments, as many as the EP's attributes allow, may belong to several LMRs. A DISCONNECTED EP
 * accepts all posts and flushes them.
 *
 * DAT_INVALID_STATE: the call posts a request, and the EP has not been connected yet.
 * DAT_INSUFFICIENT_RESOURCES: the EP has no room for another outstanding post.
 * DAT_LENGTH_ERROR: local and remote length do not fit.
 * DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION: the memory belongs to another PZ, or it was
 * registered without the privilege that this operation needs, or it is not registered any more.
 */

/* Sends one message. With 0 segments the message is empty and `local_iov` may be null. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_post_send(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		 IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		 IN DAT_COMPLETION_FLAGS completion_flags);

/* As dat_ep_post_send(). If `invalidate_flag` is set, the message ends the peer's `rmr_context`. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_post_send_with_invalidate(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
				 IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
				 IN DAT_COMPLETION_FLAGS completion_flags,
				 IN DAT_BOOLEAN invalidate_flag, IN DAT_RMR_CONTEXT rmr_context);

/*
 * Posts a buffer for one message, in any state of the EP. A message longer than the buffer
 * completes with DAT_DTO_LENGTH_ERROR and breaks the connection.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		 IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		 IN DAT_COMPLETION_FLAGS completion_flags);

/* Reads the one segment `remote_iov`. The local memory may be longer than it, not shorter. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		      IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		      IN const DAT_RMR_TRIPLET *remote_iov,
		      IN DAT_COMPLETION_FLAGS completion_flags);

/* As dat_ep_post_rdma_read(), into a bound RMR. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_post_rdma_read_to_rmr(IN DAT_EP_HANDLE ep_handle, IN const DAT_RMR_TRIPLET *local_iov,
			     IN DAT_DTO_COOKIE user_cookie, IN const DAT_RMR_TRIPLET *remote_iov,
			     IN DAT_COMPLETION_FLAGS completion_flags);

/* Writes to the start of the one segment `remote_iov`, before the peer receives a later send. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		       IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		       IN const DAT_RMR_TRIPLET *remote_iov,
		       IN DAT_COMPLETION_FLAGS completion_flags);

/*
 * Service points: a PSP (public) takes connection requests until it is freed. An RSP (reserved)
 * takes one request, for an EP that is named at creation. A CSP (common) takes the requests for a
 * communicator.
 */

/* The consumer supplies the EP for a request in dat_cr_accept(), or the provider creates it. */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG	= 0,
	DAT_PSP_PROVIDER_FLAG	= 1
} DAT_PSP_FLAGS;

typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER	= 0,
	DAT_PSP_CREATES_EP_IFASKED	= 1,
	DAT_PSP_CREATES_EP_ALWAYS	= 2
} DAT_EP_CREATOR_FOR_PSP;

typedef struct dat_psp_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_CONN_QUAL	conn_qual;
	DAT_EVD_HANDLE	evd_handle;
	DAT_PSP_FLAGS	psp_flags;
} DAT_PSP_PARAM;

typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE		= 0x01,
	DAT_PSP_FIELD_CONN_QUAL		= 0x02,
	DAT_PSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_PSP_FIELD_PSP_FLAGS		= 0x08,
	DAT_PSP_FIELD_ALL		= 0x0f
} DAT_PSP_PARAM_MASK;

typedef struct dat_rsp_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_CONN_QUAL	conn_qual;
	DAT_EVD_HANDLE	evd_handle;
	DAT_EP_HANDLE	ep_handle;
} DAT_RSP_PARAM;

typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE		= 0x01,
	DAT_RSP_FIELD_CONN_QUAL		= 0x02,
	DAT_RSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_RSP_FIELD_EP_HANDLE		= 0x08,
	DAT_RSP_FIELD_ALL		= 0x0f
} DAT_RSP_PARAM_MASK;

typedef struct dat_csp_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_COMM		*comm;
	DAT_IA_ADDRESS_PTR	address_ptr;
	DAT_EVD_HANDLE		evd_handle;
} DAT_CSP_PARAM;

typedef enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE		= 0x01,
	DAT_CSP_FIELD_COMM		= 0x02,
	DAT_CSP_FIELD_IA_ADDRESS	= 0x04,
	DAT_CSP_FIELD_EVD_HANDLE	= 0x08,
	DAT_CSP_FIELD_ALL		= 0x0f
} DAT_CSP_PARAM_MASK;

/*
 * Listens on `conn_qual` when the call has returned. Each request queues a
 * DAT_CONNECTION_REQUEST_EVENT on the EVD. While the EVD is full, requests are refused.
 * DAT_CONN_QUAL_IN_USE: another service listens on `conn_qual`.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_psp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual, IN DAT_EVD_HANDLE evd_handle,
	       IN DAT_PSP_FLAGS psp_flags, OUT DAT_PSP_HANDLE *psp_handle);

/*
 * As dat_psp_create(). The provider chooses a free qualifier of at most 16 bits.
 * DAT_CONN_QUAL_UNAVAILABLE: none is free.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_psp_create_any(IN DAT_IA_HANDLE ia_handle, OUT DAT_CONN_QUAL *conn_qual,
		   IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
		   OUT DAT_PSP_HANDLE *psp_handle);

DAT_EXPORT DAT_RETURN DAT_API
dat_psp_query(IN DAT_PSP_HANDLE psp_handle, IN DAT_PSP_PARAM_MASK psp_param_mask,
	      OUT DAT_PSP_PARAM *psp_param);

/* Delivered connection requests and established connections remain. */
DAT_EXPORT DAT_RETURN DAT_API
dat_psp_free(IN DAT_PSP_HANDLE psp_handle);

/* As dat_psp_create(). The EP becomes RESERVED. DAT_INVALID_STATE: the EP is not UNCONNECTED. */
DAT_EXPORT DAT_RETURN DAT_API
dat_rsp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual, IN DAT_EP_HANDLE ep_handle,
	       IN DAT_EVD_HANDLE evd_handle, OUT DAT_RSP_HANDLE *rsp_handle);

DAT_EXPORT DAT_RETURN DAT_API
dat_rsp_query(IN DAT_RSP_HANDLE rsp_handle, IN DAT_RSP_PARAM_MASK rsp_param_mask,
	      OUT DAT_RSP_PARAM *rsp_param);

/* If no request has come, the EP becomes UNCONNECTED again. */
DAT_EXPORT DAT_RETURN DAT_API
dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle);

/*
 * DAT_PORT_IN_USE: another service listens at the address. DAT_COMM_NOT_SUPPORTED: this IA has no
 * such communicator.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_csp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COMM *comm, IN DAT_IA_ADDRESS_PTR address,
	       IN DAT_EVD_HANDLE evd_handle, OUT DAT_CSP_HANDLE *csp_handle);

DAT_EXPORT DAT_RETURN DAT_API
dat_csp_query(IN DAT_CSP_HANDLE csp_handle, IN DAT_CSP_PARAM_MASK csp_param_mask,
	      OUT DAT_CSP_PARAM *csp_param);

DAT_EXPORT DAT_RETURN DAT_API
dat_csp_free(IN DAT_CSP_HANDLE csp_handle);

/*
 * CR: connection request. Accept, reject and handoff end the CR, its private data and its address.
 */

typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR	remote_ia_address_ptr;
	DAT_PORT_QUAL		remote_port_qual;
	DAT_COUNT		private_data_size;	/* bytes */
	DAT_PVOID		private_data;
	DAT_EP_HANDLE		local_ep_handle;	/* null: dat_cr_accept() needs an EP */
} DAT_CR_PARAM;

typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR	= 0x01,
	DAT_CR_FIELD_REMOTE_PORT_QUAL		= 0x02,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE		= 0x04,
	DAT_CR_FIELD_PRIVATE_DATA		= 0x08,
	DAT_CR_FIELD_LOCAL_EP_HANDLE		= 0x10,
	DAT_CR_FIELD_ALL			= 0x1f
} DAT_CR_PARAM_MASK;

DAT_EXPORT DAT_RETURN DAT_API
dat_cr_query(IN DAT_CR_HANDLE cr_handle, IN DAT_CR_PARAM_MASK cr_param_mask,
	     OUT DAT_CR_PARAM *cr_param);

/*
 * `ep` must be null if the request has an EP (RSP, DAT_PSP_PROVIDER_FLAG), else it must be
 * UNCONNECTED. One event follows on the EP's connect EVD: ESTABLISHED, or ACCEPT_COMPLETION_ERROR
 * if the peer has gone. If the call fails, the request remains. The peer gets the private data.
 * DAT_INVALID_STATE: the EP is in another state or lacks a PZ or EVDs.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_cr_accept(IN DAT_CR_HANDLE cr_handle, IN DAT_EP_HANDLE ep_handle,
	      IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data);

/*
 * The peer gets PEER_REJECTED with the private data. The EP of an RSP becomes UNCONNECTED again.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_cr_reject(IN DAT_CR_HANDLE cr_handle, IN DAT_COUNT private_data_size,
	      IN const DAT_PVOID private_data);

/* Gives the request to the service at another qualifier of this IA. */
DAT_EXPORT DAT_RETURN DAT_API
dat_cr_handoff(IN DAT_CR_HANDLE cr_handle, IN DAT_CONN_QUAL handoff);

/*
 * Events
 */

typedef enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT			= 0x00001,
	DAT_RMR_BIND_COMPLETION_EVENT			= 0x01001,
	DAT_CONNECTION_REQUEST_EVENT			= 0x02001,
	DAT_CONNECTION_EVENT_ESTABLISHED		= 0x04001,
	DAT_CONNECTION_EVENT_PEER_REJECTED		= 0x04002,	/* by dat_cr_reject() */
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED		= 0x04003,	/* nobody listens */
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR	= 0x04004,	/* the peer has gone */
	DAT_CONNECTION_EVENT_DISCONNECTED		= 0x04005,
	DAT_CONNECTION_EVENT_BROKEN			= 0x04006,	/* by a failure */
	DAT_CONNECTION_EVENT_TIMED_OUT			= 0x04007,
	DAT_CONNECTION_EVENT_UNREACHABLE		= 0x04008,
	DAT_ASYNC_ERROR_EVD_OVERFLOW			= 0x08001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC			= 0x08002,
	DAT_ASYNC_ERROR_EP_BROKEN			= 0x08003,
	DAT_ASYNC_ERROR_TIMED_OUT			= 0x08004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR		= 0x08005,
	DAT_HA_DOWN_TO_1				= 0x08101,
	DAT_HA_UP_TO_MULTI_PATH				= 0x08102,
	DAT_SOFTWARE_EVENT				= 0x10001,
	DAT_EXTENSION_EVENT				= 0x20000,
	DAT_IB_EXTENSION_RANGE_BASE			= 0x40000,
	DAT_IW_EXTENSION_RANGE_BASE			= 0x80000
} DAT_EVENT_NUMBER;

/* Any status but SUCCESS and FLUSHED breaks the connection; outstanding operations are flushed. */
typedef enum dat_dto_completion_status {
	DAT_DTO_SUCCESS			= 0,
	DAT_DTO_ERR_FLUSHED		= 1,	/* the connection has ended */
	DAT_DTO_ERR_LOCAL_LENGTH	= 2,	/* message longer than the buffer */
	DAT_DTO_ERR_LOCAL_EP		= 3,
	DAT_DTO_ERR_LOCAL_PROTECTION	= 4,	/* local memory: PZ, privilege, freed */
	DAT_DTO_ERR_BAD_RESPONSE	= 5,	/* the peer's answer is not valid */
	DAT_DTO_ERR_REMOTE_ACCESS	= 6,	/* remote memory: bounds, PZ, privilege */
	DAT_DTO_ERR_REMOTE_RESPONDER	= 7,	/* the peer could not do the operation */
	DAT_DTO_ERR_TRANSPORT		= 8,	/* the peer or the path to it is lost */
	DAT_DTO_ERR_RECEIVER_NOT_READY	= 9,	/* the peer had no buffer posted */
	DAT_DTO_ERR_PARTIAL_PACKET	= 10,	/* a part of the message is missing */
	DAT_RMR_OPERATION_FAILED	= 11,	/* a bind has failed */
	DAT_DTO_ERR_LOCAL_MM_ERROR	= 12
} DAT_DTO_COMPLETION_STATUS;

#define DAT_DTO_LENGTH_ERROR		DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE			DAT_DTO_ERR_FLUSHED

#define DAT_RMR_BIND_COMPLETION_STATUS	DAT_DTO_COMPLETION_STATUS
#define DAT_RMR_BIND_SUCCESS		DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE		DAT_DTO_FAILURE

/* DAT_DTO_COMPLETION_EVENT */
typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE			ep_handle;
	DAT_DTO_COOKIE			user_cookie;
	DAT_DTO_COMPLETION_STATUS	status;
	DAT_SEG_LENGTH			transfered_length;	/* bytes, on success */
	DAT_DTOS			operation;
	DAT_RMR_CONTEXT			rmr_context;		/* of RECEIVE_WITH_INVALIDATE */
} DAT_DTO_COMPLETION_EVENT_DATA;

/* DAT_RMR_BIND_COMPLETION_EVENT */
typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE			rmr_handle;
	DAT_RMR_COOKIE			user_cookie;
	DAT_DTO_COMPLETION_STATUS	status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

typedef union dat_sp_handle {
	DAT_RSP_HANDLE	rsp_handle;
	DAT_PSP_HANDLE	psp_handle;
	DAT_CSP_HANDLE	csp_handle;
} DAT_SP_HANDLE;

/* DAT_CONNECTION_REQUEST_EVENT */
typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE		sp_handle;
	DAT_IA_ADDRESS_PTR	local_ia_address_ptr;
	DAT_CONN_QUAL		conn_qual;
	DAT_CR_HANDLE		cr_handle;	/* to accept, reject or hand off */
	DAT_BOOLEAN		truncate_flag;	/* private data is not complete */
} DAT_CR_ARRIVAL_EVENT_DATA;

/* DAT_CONNECTION_EVENT_...; the private data is valid until the EP is freed or reset. */
typedef struct dat_connection_event_data {
	DAT_EP_HANDLE	ep_handle;
	DAT_COUNT	private_data_size;	/* bytes */
	DAT_PVOID	private_data;
} DAT_CONNECTION_EVENT_DATA;

/* DAT_ASYNC_ERROR_...; the type of the handle tells which enum below `reason` belongs to. */
typedef struct dat_asynch_error_event_data {
	DAT_HANDLE	dat_handle;	/* of the object concerned */
	DAT_COUNT	reason;
} DAT_ASYNCH_ERROR_EVENT_DATA;

typedef enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR	= 0,
	DAT_IA_OTHER_ERROR		= 1
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR		= 0,
	DAT_EP_OTHER_ERROR			= 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT	= 2
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR	= 0,
	DAT_EVD_OTHER_ERROR	= 1
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR	= 0,
	DAT_SRQ_OTHER_ERROR		= 1,
	DAT_SRQ_LOW_WATERMARK_EVENT	= 2
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR	= 0
} DAT_LMR_ASYNC_ERROR_REASON;

typedef enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR	= 0
} DAT_RMR_ASYNC_ERROR_REASON;

typedef enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR	= 0
} DAT_PZ_ASYNC_ERROR_REASON;

/* DAT_SOFTWARE_EVENT */
typedef struct dat_software_event_data {
	DAT_PVOID	pointer;
} DAT_SOFTWARE_EVENT_DATA;

typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA		dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA	rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA		cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA		connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA		asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA			software_event_data;
} DAT_EVENT_DATA;

typedef struct dat_event {
	DAT_EVENT_NUMBER	event_number;
	DAT_EVD_HANDLE		evd_handle;
	DAT_EVENT_DATA		event_data;			/* by event_number */
	DAT_UINT64		event_extension_data[8];	/* of events of an extension */
} DAT_EVENT;

/*
 * EVD: event dispatcher, a queue of events; created by dat_evd_create() of udat.h
 */

/* The streams of events that feed an EVD. */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG	= 0x001,
	DAT_EVD_CR_FLAG		= 0x010,
	DAT_EVD_DTO_FLAG	= 0x020,
	DAT_EVD_CONNECTION_FLAG	= 0x040,
	DAT_EVD_RMR_BIND_FLAG	= 0x080,
	DAT_EVD_ASYNC_FLAG	= 0x100,
	DAT_EVD_DEFAULT_FLAG	= 0x1f0,	/* all but SOFTWARE */
	DAT_EVD_EXTENSION_BASE	= 0x200
} DAT_EVD_FLAGS;

/* One of the first two, one of the next two; for an EVD with completions one of the last three. */
typedef enum dat_evd_state {
	DAT_EVD_STATE_ENABLED		= 0x01,
	DAT_EVD_STATE_DISABLED		= 0x02,
	DAT_EVD_STATE_WAITABLE		= 0x04,
	DAT_EVD_STATE_UNWAITABLE	= 0x08,
	DAT_EVD_STATE_CONFIG_NOTIFY	= 0x10,
	DAT_EVD_STATE_CONFIG_SOLICITED	= 0x20,
	DAT_EVD_STATE_CONFIG_THRESHOLD	= 0x30
} DAT_EVD_STATE;

typedef struct dat_evd_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_COUNT	evd_qlen;	/* events */
	DAT_EVD_STATE	evd_state;
	DAT_CNO_HANDLE	cno_handle;	/* null without CNO */
	DAT_EVD_FLAGS	evd_flags;
} DAT_EVD_PARAM;

typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE	= 0x01,
	DAT_EVD_FIELD_EVD_QLEN	= 0x02,
	DAT_EVD_FIELD_EVD_STATE	= 0x04,
	DAT_EVD_FIELD_CNO	= 0x08,
	DAT_EVD_FIELD_EVD_FLAGS	= 0x10,
	DAT_EVD_FIELD_ALL	= 0x1f
} DAT_EVD_PARAM_MASK;

DAT_EXPORT DAT_RETURN DAT_API
dat_evd_query(IN DAT_EVD_HANDLE evd_handle, IN DAT_EVD_PARAM_MASK evd_param_mask,
	      OUT DAT_EVD_PARAM *evd_param);

/* Keeps all events. DAT_INVALID_STATE: more events are queued, or a thread waits on the EVD. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_resize(IN DAT_EVD_HANDLE evd_handle, IN DAT_COUNT evd_min_qlen);

/* Queues a DAT_SOFTWARE_EVENT with the pointer of *event. DAT_QUEUE_FULL: there is no room. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle, IN const DAT_EVENT *event);

/*
 * Takes the oldest event, without waiting. DAT_QUEUE_EMPTY: there is none. DAT_INVALID_STATE: a
 * thread waits on the EVD.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event);

/* Queued events are lost. The call of a thread that waits on the EVD returns DAT_ABORT. */
DAT_EXPORT DAT_RETURN DAT_API
dat_evd_free(IN DAT_EVD_HANDLE evd_handle);

/*
 * IA: interface adapter
 */

/* For an IA without its own asynchronous EVD: the argument of the open, the result of a query. */
#define DAT_EVD_ASYNC_EXISTS	((DAT_EVD_HANDLE)0x1)
#define DAT_EVD_OUT_OF_SCOPE	((DAT_EVD_HANDLE)0x2)

typedef enum dat_extension {
	DAT_EXTENSION_NONE	= 0,
	DAT_EXTENSION_IB	= 1,
	DAT_EXTENSION_IW	= 2
} DAT_EXTENSION;

#define DAT_IB_EXTENSION	DAT_EXTENSION_IB
#define DAT_IW_EXTENSION	DAT_EXTENSION_IW

/*
 * A program can reach one limit while it stays below the others, not all at once. Pointers are
 * valid until the close.
 */
typedef struct dat_ia_attr {
	char			adapter_name[DAT_NAME_MAX_LENGTH];	/* the IA name */
	char			vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32		hardware_version_major;
	DAT_UINT32		hardware_version_minor;
	DAT_UINT32		firmware_version_major;
	DAT_UINT32		firmware_version_minor;
	DAT_IA_ADDRESS_PTR	ia_address_ptr;				/* where peers connect to */
	DAT_COUNT		max_eps;
	DAT_COUNT		max_dto_per_ep;
	DAT_COUNT		max_rdma_read_per_ep_in;		/* served at one time */
	DAT_COUNT		max_rdma_read_per_ep_out;		/* under way at one time */
	DAT_COUNT		max_evds;
	DAT_COUNT		max_evd_qlen;
	DAT_COUNT		max_iov_segments_per_dto;
	DAT_COUNT		max_lmrs;
	DAT_SEG_LENGTH		max_lmr_block_size;			/* bytes */
	DAT_VADDR		max_lmr_virtual_address;
	DAT_COUNT		max_pzs;
	DAT_SEG_LENGTH		max_message_size;			/* bytes */
	DAT_SEG_LENGTH		max_rdma_size;				/* bytes */
	DAT_COUNT		max_rmrs;
	DAT_VADDR		max_rmr_target_address;
	DAT_COUNT		max_srqs;
	DAT_COUNT		max_ep_per_srq;
	DAT_COUNT		max_recv_per_srq;
	DAT_COUNT		max_iov_segments_per_rdma_read;
	DAT_COUNT		max_iov_segments_per_rdma_write;
	DAT_COUNT		max_rdma_read_in;
	DAT_COUNT		max_rdma_read_out;
	DAT_BOOLEAN		max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN		max_rdma_read_per_ep_out_guaranteed;
	DAT_BOOLEAN		zb_supported;				/* DAT_VA_TYPE_ZB */
	DAT_EXTENSION		extension_supported;
	DAT_COUNT		extension_version;
	DAT_COUNT		num_transport_attr;
	DAT_NAMED_ATTR		*transport_attr;
	DAT_COUNT		num_vendor_attr;
	DAT_NAMED_ATTR		*vendor_attr;
} DAT_IA_ATTR;

/* Names of members in older versions. */
#define max_rdma_read_per_ep	max_rdma_read_per_ep_in
#define max_mtu_size		max_message_size

typedef DAT_UINT64		DAT_IA_ATTR_MASK;

#define DAT_IA_FIELD_NONE					UINT64_C(0x0000000000)
#define DAT_IA_FIELD_IA_ADAPTER_NAME				UINT64_C(0x0000000001)
#define DAT_IA_FIELD_IA_VENDOR_NAME				UINT64_C(0x0000000002)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION			UINT64_C(0x0000000004)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION			UINT64_C(0x0000000008)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION			UINT64_C(0x0000000010)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION			UINT64_C(0x0000000020)
#define DAT_IA_FIELD_IA_ADDRESS_PTR				UINT64_C(0x0000000040)
#define DAT_IA_FIELD_IA_MAX_EPS					UINT64_C(0x0000000080)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP				UINT64_C(0x0000000100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN			UINT64_C(0x0000000200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT		UINT64_C(0x0000000400)
#define DAT_IA_FIELD_IA_MAX_EVDS				UINT64_C(0x0000000800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN				UINT64_C(0x0000001000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO		UINT64_C(0x0000002000)
#define DAT_IA_FIELD_IA_MAX_LMRS				UINT64_C(0x0000004000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE			UINT64_C(0x0000008000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS			UINT64_C(0x0000010000)
#define DAT_IA_FIELD_IA_MAX_PZS					UINT64_C(0x0000020000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE			UINT64_C(0x0000040000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE				UINT64_C(0x0000080000)
#define DAT_IA_FIELD_IA_MAX_RMRS				UINT64_C(0x0000100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS			UINT64_C(0x0000200000)
#define DAT_IA_FIELD_IA_MAX_SRQS				UINT64_C(0x0000400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ				UINT64_C(0x0000800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ			UINT64_C(0x0001000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ		UINT64_C(0x0002000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE		UINT64_C(0x0004000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN			UINT64_C(0x0008000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT			UINT64_C(0x0010000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED	UINT64_C(0x0020000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED	UINT64_C(0x0040000000)
#define DAT_IA_FIELD_IA_ZB_SUPPORTED				UINT64_C(0x0080000000)
#define DAT_IA_FIELD_IA_EXTENSION				UINT64_C(0x0100000000)
#define DAT_IA_FIELD_IA_EXTENSION_VERSION			UINT64_C(0x0200000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR			UINT64_C(0x0400000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR				UINT64_C(0x0800000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR				UINT64_C(0x1000000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR				UINT64_C(0x2000000000)
#define DAT_IA_FIELD_ALL					UINT64_C(0x3fffffffff)

#define DAT_IA_ALL				DAT_IA_FIELD_ALL
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP		DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE		DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED	DAT_IA_FIELD_IA_EXTENSION

/* The way in which the paths of an IA share the load. */
typedef DAT_UINT32		DAT_HA_LB;

#define DAT_HA_LB_NONE		((DAT_HA_LB)0)
#define DAT_HA_LB_INTERCOMM	((DAT_HA_LB)1)
#define DAT_HA_LB_INTRACOMM	((DAT_HA_LB)2)

/*
 * evd_stream_merging_supported tells which streams can share an EVD. Rows and columns are:
 * software, connection request, DTO, connection, RMR bind, asynchronous. The standard's header has
 * const here, with which C++ and clang 21 refuse a variable without an initial value.
 */
typedef struct dat_provider_attr {
	char			provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32		provider_version_major;
	DAT_UINT32		provider_version_minor;
	DAT_UINT32		dapl_version_major;
	DAT_UINT32		dapl_version_minor;
	DAT_MEM_TYPE		lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP	iov_ownership_on_return;
	DAT_QOS			dat_qos_supported;
	DAT_COMPLETION_FLAGS	completion_flags_supported;
	DAT_BOOLEAN		is_thread_safe;
	DAT_COUNT		max_private_data_size;		/* bytes */
	DAT_BOOLEAN		supports_multipath;
	DAT_EP_CREATOR_FOR_PSP	ep_creator;
	DAT_PZ_SUPPORT		pz_support;
	DAT_UINT32		optimal_buffer_alignment;	/* bytes */
	DAT_BOOLEAN		evd_stream_merging_supported[6][6];
	DAT_BOOLEAN		srq_supported;
	DAT_COUNT		srq_watermarks_supported;
	DAT_BOOLEAN		srq_ep_pz_difference_supported;
	DAT_COUNT		srq_info_supported;
	DAT_COUNT		ep_recv_info_supported;
	DAT_BOOLEAN		lmr_sync_req;			/* see dat_lmr_sync_rdma_read() */
	DAT_BOOLEAN		dto_async_return_guaranteed;
	DAT_BOOLEAN		rdma_write_for_rdma_read_req;
	DAT_BOOLEAN		rdma_read_lmr_rmr_context_exposure;
	DAT_RMR_SCOPE		rmr_scope_supported;
	DAT_BOOLEAN		is_signal_safe;
	DAT_BOOLEAN		ha_supported;
	DAT_HA_LB		ha_loadbalancing;
	DAT_COUNT		num_provider_specific_attr;
	DAT_NAMED_ATTR		*provider_specific_attr;
} DAT_PROVIDER_ATTR;

typedef DAT_UINT64		DAT_PROVIDER_ATTR_MASK;

#define DAT_PROVIDER_FIELD_NONE					UINT64_C(0x00000000)
#define DAT_PROVIDER_FIELD_PROVIDER_NAME			UINT64_C(0x00000001)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR		UINT64_C(0x00000002)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR		UINT64_C(0x00000004)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR			UINT64_C(0x00000008)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR			UINT64_C(0x00000010)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED		UINT64_C(0x00000020)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP			UINT64_C(0x00000040)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED			UINT64_C(0x00000080)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED		UINT64_C(0x00000100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE			UINT64_C(0x00000200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE		UINT64_C(0x00000400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH			UINT64_C(0x00000800)
#define DAT_PROVIDER_FIELD_EP_CREATOR				UINT64_C(0x00001000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT				UINT64_C(0x00002000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT		UINT64_C(0x00004000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED		UINT64_C(0x00008000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED			UINT64_C(0x00010000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED		UINT64_C(0x00020000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	UINT64_C(0x00040000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED			UINT64_C(0x00080000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED		UINT64_C(0x00100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ				UINT64_C(0x00200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED		UINT64_C(0x00400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ		UINT64_C(0x00800000)
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE	UINT64_C(0x01000000)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED			UINT64_C(0x02000000)
#define DAT_PROVIDER_FIELD_IS_SIGNAL_SAFE			UINT64_C(0x04000000)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED				UINT64_C(0x08000000)
#define DAT_PROVIDER_FIELD_HA_LB				UINT64_C(0x10000000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR		UINT64_C(0x20000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR		UINT64_C(0x40000000)
#define DAT_PROVIDER_FIELD_ALL					UINT64_C(0x7fffffff)

/*
 * Opens the IA that has this name in dat.conf or that a provider registered by this name.
 * *async_event_handle is an EVD for the asynchronous events, DAT_EVD_ASYNC_EXISTS for none, or
 * null. If it is null, the call stores a new EVD there, for at least `async_event_qlen` events; the
 * close frees this EVD. DAT_PROVIDER_NOT_FOUND: the subtype tells what did not match, or no library
 * could be loaded.
 */
#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv(name, qlen, async_evd, ia, \
		     DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)

DAT_EXPORT DAT_RETURN DAT_API
dat_ia_openv(IN const DAT_NAME_PTR name, IN DAT_COUNT async_event_qlen,
	     INOUT DAT_EVD_HANDLE *async_event_handle, OUT DAT_IA_HANDLE *ia_handle,
	     IN DAT_UINT32 dapl_major, IN DAT_UINT32 dapl_minor, IN DAT_BOOLEAN thread_safety);

/* The pointer to the EVD may be null. A pointer to attributes may be null if its mask is 0. */
DAT_EXPORT DAT_RETURN DAT_API
dat_ia_query(IN DAT_IA_HANDLE ia_handle, OUT DAT_EVD_HANDLE *async_evd_handle,
	     IN DAT_IA_ATTR_MASK ia_attr_mask, OUT DAT_IA_ATTR *ia_attr,
	     IN DAT_PROVIDER_ATTR_MASK provider_attr_mask, OUT DAT_PROVIDER_ATTR *provider_attr);

/*
 * An abrupt close destroys all objects of the IA; calls that wait on them return. A graceful close
 * fails with DAT_INVALID_STATE if there is any object but the EVD that the open created.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ia_close(IN DAT_IA_HANDLE ia_handle, IN DAT_CLOSE_FLAGS ia_flags);

/*
 * Extensions: calls of a provider's own, by number; for InfiniBand see dat_ib_extensions.h
 */

typedef int			DAT_EXTENDED_OP;

/* Bits of operations that open something by an IA name, with a null handle, and close it. */
#define DAT_OPEN_EXTENSION_BASE		0x1000
#define DAT_CLOSE_EXTENSION_BASE	0x2000

/* DAT_NOT_IMPLEMENTED: no such operation, or no open IA has extensions. */
DAT_EXPORT DAT_RETURN DAT_API
dat_extension_op(IN DAT_HANDLE handle, IN DAT_EXTENDED_OP ext_op, ...);

/*
 * Registry
 */

typedef struct dat_provider_info {
	char		ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32	dapl_version_major;
	DAT_UINT32	dapl_version_minor;
	DAT_BOOLEAN	is_thread_safe;	/* threads may call at the same time */
} DAT_PROVIDER_INFO;

/*
 * The array points to structures of the caller. The call fills at most `max_to_return` of them. If
 * that is 0, it fails with DAT_INVALID_PARAMETER and stores the number of providers in
 * *entries_returned.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_registry_list_providers(IN DAT_COUNT max_to_return, OUT DAT_COUNT *entries_returned,
			    OUT DAT_PROVIDER_INFO **dat_provider_list);

/* Returns constant strings for type and subtype. DAT_INVALID_PARAMETER: not a valid code. */
DAT_EXPORT DAT_RETURN DAT_API
dat_strerror(IN DAT_RETURN value, OUT const char **major_message, OUT const char **minor_message);

#ifdef __cplusplus
}
#endif

#endif /* DAT2_DAT_H */
