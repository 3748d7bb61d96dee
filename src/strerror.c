/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Text of return codes: the name, then its meaning. */
#include "strerror.h"

struct text {
	DAT_UINT32 value;
	const char *text;
};

#define ROW(name, meaning)                             \
	{                                              \
		(DAT_UINT32)(name), #name ": " meaning \
	}

static const struct text types[] = {
	ROW(DAT_SUCCESS, "the call succeeded"),
	ROW(DAT_ABORT, "the call was given up because its object went away"),
	ROW(DAT_CONN_QUAL_IN_USE, "another service point listens on this connection qualifier"),
	ROW(DAT_INSUFFICIENT_RESOURCES, "memory or a resource of the device ran out"),
	ROW(DAT_INTERNAL_ERROR, "the provider or the fabric below it failed"),
	ROW(DAT_INVALID_HANDLE, "a handle is null, stale or of another type"),
	ROW(DAT_INVALID_PARAMETER, "an argument has a value that is not allowed"),
	ROW(DAT_INVALID_STATE, "the object is in a state that does not allow the call"),
	ROW(DAT_LENGTH_ERROR, "a length does not fit the buffer or limit it is for"),
	ROW(DAT_MODEL_NOT_SUPPORTED, "the provider does not offer this"),
	ROW(DAT_PROVIDER_NOT_FOUND, "no provider serves this IA name as asked for"),
	ROW(DAT_PRIVILEGES_VIOLATION, "the memory or this process lacks the needed privilege"),
	ROW(DAT_PROTECTION_VIOLATION, "the memory belongs to another protection zone"),
	ROW(DAT_QUEUE_EMPTY, "there is no event"),
	ROW(DAT_QUEUE_FULL, "the queue has no room for one more"),
	ROW(DAT_TIMEOUT_EXPIRED, "the time ran out before anything happened"),
	ROW(DAT_PROVIDER_ALREADY_REGISTERED, "the IA name is registered already"),
	ROW(DAT_PROVIDER_IN_USE, "an IA of the provider is open"),
	ROW(DAT_INVALID_ADDRESS, "the address can't be used or reached"),
	ROW(DAT_INTERRUPTED_CALL, "a signal ended the wait"),
	ROW(DAT_CONN_QUAL_UNAVAILABLE, "no connection qualifier is left"),
#if DATR_DAT_MAJOR == 2
	ROW(DAT_RESERVED_LMR, "the context belongs to a reserved memory region"),
	ROW(DAT_PORT_IN_USE, "the port is in use"),
	ROW(DAT_COMM_NOT_SUPPORTED, "the provider does not support this kind of communication"),
	ROW(DAT_EXTENSION_BASE, "an extended operation failed"),
#endif
	/*
	 * In 1.2 the constant has more bits than a type. Other implementations of 1.2 have another
	 * value.
	 */
	{DAT_GET_TYPE(DAT_NOT_IMPLEMENTED),
	 "DAT_NOT_IMPLEMENTED: the provider does not have this operation"},
#if DATR_DAT_MAJOR == 1
	{0x0fff0000, "DAT_NOT_IMPLEMENTED: the provider does not have this operation"},
#endif
};

static const struct text subtypes[] = {
	{DAT_NO_SUBTYPE, ""},
	ROW(DAT_SUB_INTERRUPTED, "a signal arrived"),
	ROW(DAT_RESOURCE_MEMORY, "no more memory"),
	ROW(DAT_RESOURCE_DEVICE, "the device has no more of a resource"),
	ROW(DAT_RESOURCE_TEP, "no more endpoints of the transport"),
	ROW(DAT_RESOURCE_TEVD, "no more event dispatchers of the transport"),
	ROW(DAT_RESOURCE_PROTECTION_DOMAIN, "no more protection domains"),
	ROW(DAT_RESOURCE_MEMORY_REGION, "no more memory regions"),
	ROW(DAT_RESOURCE_ERROR_HANDLER, "no more error handlers"),
	ROW(DAT_RESOURCE_CREDITS, "no more credits"),
	ROW(DAT_RESOURCE_SRQ, "no more shared receive queues"),
	ROW(DAT_INVALID_HANDLE_IA, "the IA"),
	ROW(DAT_INVALID_HANDLE_EP, "the endpoint"),
	ROW(DAT_INVALID_HANDLE_LMR, "the local memory region"),
	ROW(DAT_INVALID_HANDLE_RMR, "the remote memory region"),
	ROW(DAT_INVALID_HANDLE_PZ, "the protection zone"),
	ROW(DAT_INVALID_HANDLE_PSP, "the public service point"),
	ROW(DAT_INVALID_HANDLE_RSP, "the reserved service point"),
	ROW(DAT_INVALID_HANDLE_CR, "the connection request"),
	ROW(DAT_INVALID_HANDLE_CNO, "the notification object"),
	ROW(DAT_INVALID_HANDLE_EVD_CR, "the EVD for connection requests"),
	ROW(DAT_INVALID_HANDLE_EVD_REQUEST, "the EVD, or the one for requests"),
	ROW(DAT_INVALID_HANDLE_EVD_RECV, "the EVD for receives"),
	ROW(DAT_INVALID_HANDLE_EVD_CONN, "the EVD for connections"),
	ROW(DAT_INVALID_HANDLE_EVD_ASYNC, "the EVD for asynchronous errors"),
	ROW(DAT_INVALID_HANDLE_SRQ, "the shared receive queue"),
#if DATR_DAT_MAJOR == 2
	ROW(DAT_INVALID_HANDLE_CSP, "the common service point"),
#endif
	ROW(DAT_INVALID_HANDLE1, "the first handle"),
	ROW(DAT_INVALID_HANDLE2, "the second handle"),
	ROW(DAT_INVALID_HANDLE3, "the third handle"),
	ROW(DAT_INVALID_HANDLE4, "the fourth handle"),
	ROW(DAT_INVALID_HANDLE5, "the fifth handle"),
	ROW(DAT_INVALID_HANDLE6, "the sixth handle"),
	ROW(DAT_INVALID_HANDLE7, "the seventh handle"),
	ROW(DAT_INVALID_HANDLE8, "the eighth handle"),
	ROW(DAT_INVALID_HANDLE9, "the ninth handle"),
	ROW(DAT_INVALID_HANDLE10, "the tenth handle"),
	ROW(DAT_INVALID_ARG1, "the first argument"),
	ROW(DAT_INVALID_ARG2, "the second argument"),
	ROW(DAT_INVALID_ARG3, "the third argument"),
	ROW(DAT_INVALID_ARG4, "the fourth argument"),
	ROW(DAT_INVALID_ARG5, "the fifth argument"),
	ROW(DAT_INVALID_ARG6, "the sixth argument"),
	ROW(DAT_INVALID_ARG7, "the seventh argument"),
	ROW(DAT_INVALID_ARG8, "the eighth argument"),
	ROW(DAT_INVALID_ARG9, "the ninth argument"),
	ROW(DAT_INVALID_ARG10, "the tenth argument"),
	ROW(DAT_INVALID_STATE_EP_UNCONNECTED, "the endpoint is not connected"),
	ROW(DAT_INVALID_STATE_EP_ACTCONNPENDING, "the endpoint is connecting"),
	ROW(DAT_INVALID_STATE_EP_PASSCONNPENDING, "the endpoint is accepting a connection"),
	ROW(DAT_INVALID_STATE_EP_TENTCONNPENDING,
	    "the endpoint is waiting for the program to accept or reject"),
	ROW(DAT_INVALID_STATE_EP_CONNECTED, "the endpoint is connected"),
	ROW(DAT_INVALID_STATE_EP_DISCONNECTED, "the endpoint is disconnected"),
	ROW(DAT_INVALID_STATE_EP_RESERVED, "the endpoint is reserved by a service point"),
	ROW(DAT_INVALID_STATE_EP_COMPLPENDING,
	    "the endpoint is accepting, and not yet established"),
	ROW(DAT_INVALID_STATE_EP_DISCPENDING, "the endpoint is disconnecting"),
	ROW(DAT_INVALID_STATE_EP_PROVIDERCONTROL, "the endpoint is in the hands of the provider"),
	ROW(DAT_INVALID_STATE_EP_NOTREADY, "the endpoint is not ready"),
	ROW(DAT_INVALID_STATE_EP_RECV_WATERMARK, "the endpoint does not allow this watermark"),
	ROW(DAT_INVALID_STATE_EP_PZ, "the endpoint has no protection zone"),
	ROW(DAT_INVALID_STATE_EP_EVD_REQUEST, "the endpoint has no EVD for requests"),
	ROW(DAT_INVALID_STATE_EP_EVD_RECV, "the endpoint has no EVD for receives"),
	ROW(DAT_INVALID_STATE_EP_EVD_CONNECT, "the endpoint has no EVD for connections"),
	ROW(DAT_INVALID_STATE_EP_UNCONFIGURED, "the endpoint is not configured"),
	ROW(DAT_INVALID_STATE_EP_UNCONFRESERVED, "the endpoint is reserved and not configured"),
	ROW(DAT_INVALID_STATE_EP_UNCONFPASSIVE,
	    "the endpoint accepts a connection and is not configured"),
	ROW(DAT_INVALID_STATE_EP_UNCONFTENTATIVE,
	    "the endpoint waits for the program and is not configured"),
	ROW(DAT_INVALID_STATE_CNO_IN_USE, "the notification object is in use"),
	ROW(DAT_INVALID_STATE_CNO_DEAD, "the notification object is dead"),
	ROW(DAT_INVALID_STATE_EVD_OPEN, "the EVD is open"),
	ROW(DAT_INVALID_STATE_EVD_ENABLED, "the EVD is enabled"),
	ROW(DAT_INVALID_STATE_EVD_DISABLED, "the EVD is disabled"),
	ROW(DAT_INVALID_STATE_EVD_WAITABLE, "the EVD is waitable"),
	ROW(DAT_INVALID_STATE_EVD_UNWAITABLE, "the EVD is unwaitable"),
	ROW(DAT_INVALID_STATE_EVD_IN_USE, "the EVD is in use"),
	ROW(DAT_INVALID_STATE_EVD_CONFIG_NOTIFY,
	    "an endpoint of the EVD has unsignalled completions"),
	ROW(DAT_INVALID_STATE_EVD_CONFIG_SOLICITED, "an endpoint of the EVD has solicited waits"),
	ROW(DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD, "the EVD does not allow a threshold"),
	ROW(DAT_INVALID_STATE_EVD_WAITER, "another thread waits on the EVD"),
	ROW(DAT_INVALID_STATE_EVD_ASYNC, "the EVD takes asynchronous errors"),
	ROW(DAT_INVALID_STATE_IA_IN_USE, "objects of the IA exist"),
	ROW(DAT_INVALID_STATE_LMR_IN_USE, "the local memory region is in use"),
	ROW(DAT_INVALID_STATE_LMR_FREE, "the local memory region is free"),
	ROW(DAT_INVALID_STATE_PZ_IN_USE, "the protection zone is in use"),
	ROW(DAT_INVALID_STATE_PZ_FREE, "the protection zone is free"),
	ROW(DAT_INVALID_STATE_SRQ_OPERATIONAL, "the shared receive queue is operational"),
	ROW(DAT_INVALID_STATE_SRQ_ERROR, "the shared receive queue is in error"),
	ROW(DAT_INVALID_STATE_SRQ_IN_USE, "endpoints use the shared receive queue"),
#if DATR_DAT_MAJOR == 2
	ROW(DAT_INVALID_STATE_SRQ_SHUTDOWN, "the shared receive queue is shut down"),
#endif
	ROW(DAT_PRIVILEGES_READ, "local read"),
	ROW(DAT_PRIVILEGES_WRITE, "local write"),
	ROW(DAT_PRIVILEGES_RDMA_READ, "remote read"),
	ROW(DAT_PRIVILEGES_RDMA_WRITE, "remote write"),
	ROW(DAT_PROTECTION_READ, "local read"),
	ROW(DAT_PROTECTION_WRITE, "local write"),
	ROW(DAT_PROTECTION_RDMA_READ, "remote read"),
	ROW(DAT_PROTECTION_RDMA_WRITE, "remote write"),
	ROW(DAT_INVALID_ADDRESS_UNSUPPORTED, "this kind of address is not supported"),
	ROW(DAT_INVALID_ADDRESS_UNREACHABLE, "nobody can be reached there"),
	ROW(DAT_INVALID_ADDRESS_MALFORMED, "it is not an address"),
	ROW(DAT_NAME_NOT_REGISTERED, "no usable provider has this name"),
	ROW(DAT_MAJOR_NOT_FOUND, "the name exists for another major version only"),
	ROW(DAT_MINOR_NOT_FOUND, "the name exists for an older minor version only"),
	ROW(DAT_THREAD_SAFETY_NOT_FOUND, "the name exists with the other thread safety only"),
};

static const char *find_text(const struct text *rows, size_t num_rows, DAT_UINT32 value)
{
	for (size_t i = 0; i < num_rows; i++) {
		if (rows[i].value == value)
			return rows[i].text;
	}
	return NULL;
}

#define FIND_TEXT(rows, value) find_text(rows, sizeof(rows) / sizeof((rows)[0]), value)

const char *datr_type_text(DAT_RETURN value)
{
	const char *text = FIND_TEXT(types, DAT_GET_TYPE(value));

	return text ? text : "unknown return code";
}

DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message, const char **minor_message)
{
	const char *type, *subtype;

	type = FIND_TEXT(types, DAT_GET_TYPE(value));
	subtype = FIND_TEXT(subtypes, DAT_GET_SUBTYPE(value));
	/* Programs print the strings without checking the result, so they are always set. */
	if (major_message)
		*major_message = type ? type : "unknown return code";
	if (minor_message)
		*minor_message = subtype ? subtype : "unknown subtype";
	if (!major_message)
		return DATR_BAD_ARG(2);
	if (!minor_message)
		return DATR_BAD_ARG(3);
	return type && subtype ? DAT_SUCCESS : DATR_BAD_ARG(1);
}
