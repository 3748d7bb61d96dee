/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/error.h"

#include "fabric/quirks.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

DAT_RETURN dofi_error(int err, DAT_RETURN_SUBTYPE resource)
{
	switch (err < 0 ? -err : err) {
	case 0:
		return DAT_SUCCESS;
	case FI_ENOMEM:
		return DOFI_NO_MEMORY;
	case FI_ENOSPC:
	case EFBIG:
	case FI_EAGAIN:
	case FI_EBUSY:
	case FI_EMFILE:
	case ENFILE:
	case FI_ENOBUFS:
	case FI_ENOCQ:
	case FI_ENOEQ:
	case FI_ENOAV:
	case FI_ENOKEY: /* psm3 has no memory for one */
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, resource);
	case FI_EADDRINUSE:
		return DOFI_CONN_QUAL_IN_USE;
	case FI_EACCES:
	case FI_EPERM:
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	case FI_EFAULT:
		return DOFI_ERR(DAT_INVALID_PARAMETER, 0);
	case FI_ENODEV:
	case FI_ENODATA:
		return DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	case FI_ENOSYS:
	case FI_EOPNOTSUPP:
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	default:
		return DOFI_ERR(DAT_INTERNAL_ERROR, 0);
	}
}

/* Cassini's return codes (C_RC_*) by which a target refuses RDMA. */
enum {
	RC_PERM_VIOLATION = 5,
	RC_OP_VIOLATION = 6,
	RC_ENTRY_NOT_FOUND = 18, /* no registration has the key */
	RC_MST_CANCELLED = 29,   /* it was closed meanwhile */
	RC_PAGE_PERM_ERROR = 34,
	RC_NO_TRANSLATION = 36,
	RC_ADDR_OUT_OF_RANGE = 52,
};

static bool is_refused_by_cassini(int rc)
{
	switch (rc) {
	case RC_PERM_VIOLATION:
	case RC_OP_VIOLATION:
	case RC_ENTRY_NOT_FOUND:
	case RC_MST_CANCELLED:
	case RC_PAGE_PERM_ERROR:
	case RC_NO_TRANSLATION:
	case RC_ADDR_OUT_OF_RANGE:
		return true;
	default:
		return false;
	}
}

/* Of InfiniBand's work completions (IBV_WC_*), whose numbers every verbs device has. */
enum {
	WC_LOCAL_LENGTH = 1,
	WC_LOCAL_OPERATION = 2,
	WC_LOCAL_PROTECTION = 4,
	WC_BAD_RESPONSE = 7,
	WC_LOCAL_ACCESS = 8,
	WC_REMOTE_INVALID_REQUEST = 9,
	WC_REMOTE_ACCESS = 10,
	WC_REMOTE_OPERATION = 11,
	WC_RECEIVER_NOT_READY = 13,
};

static int verbs_cause(uint64_t quirks, int status, bool receive)
{
	switch (status) {
	case WC_LOCAL_LENGTH:
		return FI_ETRUNC;
	case WC_LOCAL_OPERATION:
		/*
		 * Soft-RoCE reports this status for a receive that is too short, and for sends when
		 * its interface is down; Soft-iWARP for what it is sending when the peer ends the
		 * connection.
		 */
		return receive                            ? FI_ETRUNC
		       : quirks & DOFI_QUIRK_IWARP_STATUS ? FI_ECONNABORTED
							  : FI_EIO;
	case WC_LOCAL_PROTECTION:
	case WC_LOCAL_ACCESS:
		return FI_EFAULT;
	case WC_BAD_RESPONSE:
		return EBADMSG;
	case WC_REMOTE_ACCESS:
		return FI_EACCES;
	case WC_REMOTE_INVALID_REQUEST:
	case WC_REMOTE_OPERATION:
		return FI_EREMOTEIO;
	case WC_RECEIVER_NOT_READY:
		return FI_ENORX;
	default:
		return FI_EIO;
	}
}

/* Of EFA's completions. Releases of libfabric before 1.22 report all of them as FI_EIO. */
enum {
	EFA_INVALID_LKEY = 5,
	EFA_BAD_ADDRESS = 7, /* of the target, or its rights */
	EFA_ABORT = 8,
	EFA_BAD_DEST_QPN = 9,
	EFA_RECEIVER_NOT_READY = 10,
	EFA_UNRESPONSIVE = 13,
	EFA_UNKNOWN_PEER = 14,
	EFA_UNREACHABLE = 15,
};

static int efa_cause(const struct fi_cq_err_entry *err)
{
	switch (err->prov_errno) {
	case EFA_INVALID_LKEY:
		return FI_EFAULT;
	case EFA_BAD_ADDRESS:
		return FI_EACCES;
	case EFA_ABORT:
	case EFA_UNRESPONSIVE:
		return FI_ECONNABORTED;
	case EFA_BAD_DEST_QPN:
	case EFA_UNKNOWN_PEER:
		return FI_ENOTCONN;
	case EFA_RECEIVER_NOT_READY:
		return FI_ENORX;
	case EFA_UNREACHABLE:
		return FI_EHOSTUNREACH;
	default:
		return err->err;
	}
}

int dofi_error_cause(uint64_t quirks, const struct fi_cq_err_entry *err, bool receive)
{
	if (quirks & DOFI_QUIRK_EFA_STATUS && (err->err == FI_EIO || err->err == FI_EINVAL))
		return efa_cause(err);
	if (err->err != FI_EIO)
		return err->err;
	if (quirks & DOFI_QUIRK_VERBS_STATUS)
		return verbs_cause(quirks, err->prov_errno, receive);
	if (quirks & DOFI_QUIRK_RESET_IS_EIO)
		return FI_ECONNRESET;
	if (quirks & DOFI_QUIRK_CASSINI_STATUS && err->flags & FI_RMA &&
	    is_refused_by_cassini(err->prov_errno))
		return FI_EACCES;
	return FI_EIO;
}

bool dofi_error_gives_back(int err)
{
	switch (err) {
	case FI_ECANCELED:
	case FI_ENOTCONN:
	case FI_ESHUTDOWN:
	case FI_ECONNRESET: /* also after an orderly end, if the peer left data unread */
	case FI_ECONNABORTED:
	case EPIPE:
		return true;
	default:
		return false;
	}
}

bool dofi_error_is_of_peer(int err)
{
	switch (err) {
	case FI_ETIMEDOUT:
	case FI_EHOSTUNREACH:
	case FI_ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
	case ENETRESET:
		return true;
	default:
		return dofi_error_gives_back(err);
	}
}

DAT_DTO_COMPLETION_STATUS dofi_error_status(int err)
{
	switch (err) {
	case 0:
		return DAT_DTO_SUCCESS;
	case FI_ECANCELED:
		return DAT_DTO_ERR_FLUSHED;
	case FI_ETRUNC:
	case FI_ETOOSMALL:
	case FI_EMSGSIZE:
		return DAT_DTO_ERR_LOCAL_LENGTH;
	case FI_EACCES:
	case FI_EPERM:
	case FI_ENOKEY:
	case FI_EKEYREJECTED:
		return DAT_DTO_ERR_REMOTE_ACCESS;
	case FI_EFAULT:
		return DAT_DTO_ERR_LOCAL_PROTECTION;
	case FI_ENORX:
		return DAT_DTO_ERR_RECEIVER_NOT_READY;
	case FI_EREMOTEIO:
		return DAT_DTO_ERR_REMOTE_RESPONDER;
	case EPROTO:
	case EBADMSG:
		return DAT_DTO_ERR_BAD_RESPONSE;
	case FI_EINVAL:
	case FI_EOPBADSTATE:
		return DAT_DTO_ERR_LOCAL_EP;
	default:
		return DAT_DTO_ERR_TRANSPORT;
	}
}
