/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider is one source, compiled once per API generation. This header selects the generation
 * and hides differences in spelling. api12.c and api20.c contain what else differs; few other files
 * ask for the generation.
 */
#ifndef DOFI_DAT_API_H
#define DOFI_DAT_API_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if DOFI_DAT_MAJOR == 1
#include <dat/udat.h>
#include <dat/dat_registry.h>
#define DOFI_RMR_ADDR(triplet)      ((triplet)->target_address)
#define DOFI_CONNECT_FLAGS_KNOWN    ((unsigned int)DAT_CONNECT_MULTIPATH_FLAG)
#define DOFI_CONNECT_FLAGS_REFUSED  ((unsigned int)DAT_CONNECT_MULTIPATH_FLAG)
#define DOFI_IA_TO_REGISTRY(ia)     ((unsigned long)(ia))
#define DOFI_MEM_PRIV_REMOTE_ATOMIC 0u /* not in this generation */
#define DOFI_EVD_EXTENSION_FLAG     0u

#define DOFI_EXTENSIONS             0

static inline void dofi_cno_param_set_proxy(DAT_CNO_PARAM *param,
					    const DAT_OS_WAIT_PROXY_AGENT *agent, int fd)
{
	(void)fd;
	param->agent = *agent;
}

static inline void dofi_lmr_param_set_type(DAT_LMR_PARAM *param, bool zero_based)
{
	(void)param, (void)zero_based;
}

static inline void dofi_rmr_param_set_type(DAT_RMR_PARAM *param, bool of_ep, bool zero_based)
{
	(void)param, (void)of_ep, (void)zero_based;
}

static inline void dofi_dto_set_op(DAT_DTO_COMPLETION_EVENT_DATA *dto, uint8_t op)
{
	(void)dto, (void)op;
}

#elif DOFI_DAT_MAJOR == 2
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>
#define DOFI_RMR_ADDR(triplet) ((triplet)->virtual_address)
#define DOFI_EXTENSIONS        1
/*
 * A multipath connection that is only requested may have a single path. One that is required is
 * refused (EP-095).
 */
#define DOFI_CONNECT_FLAGS_KNOWN \
	((unsigned int)(DAT_CONNECT_MULTIPATH_FLAG | DAT_CONNECT_MULTIPATH_REQUIRED_FLAG))
#define DOFI_CONNECT_FLAGS_REFUSED  ((unsigned int)DAT_CONNECT_MULTIPATH_REQUIRED_FLAG)
#define DOFI_IA_TO_REGISTRY(ia)     ((DAT_IA_HANDLE)(ia))
#define DOFI_MEM_PRIV_REMOTE_ATOMIC ((unsigned int)DAT_MEM_PRIV_EXTENSION_BASE)
#define DOFI_EVD_EXTENSION_FLAG     ((unsigned int)DAT_IB_EVD_EXTENSION_FLAG)

static inline void dofi_cno_param_set_proxy(DAT_CNO_PARAM *param,
					    const DAT_OS_WAIT_PROXY_AGENT *agent, int fd)
{
	param->proxy.none = NULL;
	if (fd >= 0) {
		param->proxy_type = DAT_PROXY_TYPE_FD;
		param->proxy.fd = fd;
	} else if (agent->proxy_agent_func) {
		param->proxy_type = DAT_PROXY_TYPE_AGENT;
		param->proxy.agent = *agent;
	} else {
		param->proxy_type = DAT_PROXY_TYPE_NONE;
	}
}

static inline void dofi_lmr_param_set_type(DAT_LMR_PARAM *param, bool zero_based)
{
	param->va_type = zero_based ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA;
}

static inline void dofi_rmr_param_set_type(DAT_RMR_PARAM *param, bool of_ep, bool zero_based)
{
	param->va_type = zero_based ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA;
	param->rmr_scope = of_ep ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ;
}

static inline void dofi_dto_set_op(DAT_DTO_COMPLETION_EVENT_DATA *dto, uint8_t op)
{
	dto->operation = (DAT_DTOS)op;
	dto->rmr_context = 0;
}

#else
#error "DOFI_DAT_MAJOR must be 1 or 2"
#endif

#define DOFI_MEM_PRIV_KNOWN ((unsigned int)DAT_MEM_PRIV_ALL_FLAG | DOFI_MEM_PRIV_REMOTE_ATOMIC)
#define DOFI_MEM_PRIV_REMOTE                                                            \
	((unsigned int)DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG | \
	 DOFI_MEM_PRIV_REMOTE_ATOMIC)

/* A DAT error: class bit, type and subtype (ERR-012). */
#define DOFI_ERR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_UINT32)(type) | (DAT_UINT32)(subtype)))

/* Programs compare these three without the class bit (PRG-10). */
#define DOFI_TIMEOUT_EXPIRED  ((DAT_RETURN)DAT_TIMEOUT_EXPIRED)
#define DOFI_CONN_QUAL_IN_USE ((DAT_RETURN)DAT_CONN_QUAL_IN_USE)
#define DOFI_QUEUE_EMPTY      ((DAT_RETURN)DAT_QUEUE_EMPTY)

#define DOFI_BAD_ARG(n)       DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define DOFI_BAD_HANDLE(what) DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)
#define DOFI_BAD_STATE(why)   DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_##why)
#define DOFI_NO_MEMORY        DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)
#define DOFI_NO_REGION        DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION)

#endif
