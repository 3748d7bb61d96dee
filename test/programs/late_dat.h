/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DAT for programs that load the library at run time, by names of files and functions. */
#ifndef LATE_DAT_H
#define LATE_DAT_H

#include "dat_version.h"

#include <stdint.h>

/* clang-format off */
#define LATE_CALLS(X) \
	X(registry_list_providers) X(ia_openv) X(ia_close) X(ia_query) X(strerror) \
	X(evd_create) X(evd_free) X(evd_dequeue) X(evd_wait) \
	X(pz_create) X(pz_free) X(lmr_create) X(lmr_free) \
	X(psp_create) X(psp_free) X(cr_query) X(cr_accept) X(cr_reject) \
	X(ep_create) X(ep_free) X(ep_connect) X(ep_disconnect) \
	X(ep_post_send) X(ep_post_recv) X(ep_post_rdma_write) X(ep_post_rdma_read)
/* clang-format on */

struct late_dat {
#define LATE_POINTER(name) __typeof__(dat_##name) *name;
	LATE_CALLS(LATE_POINTER)
#undef LATE_POINTER
};

extern struct late_dat dat;

/* Loads the path, or the names that programs try. Ends the process if a function is missing. */
void late_load(const char *path);

/* The return code in words; the next call overwrites it. */
const char *late_words(DAT_RETURN ret);
/* Ends the process unless the call succeeded. */
void late_ok(DAT_RETURN ret, const char *call);
#define ok(call) late_ok(call, #call)

/* Opens the IA of that name, or the first one that opens, in the order of the registry. */
void late_open(const char *wanted, DAT_NAME_PTR name, DAT_IA_HANDLE *ia, DAT_EVD_HANDLE *async);

/* Listens on this qualifier, or behind it in steps until one is not in use. Sets it. */
void late_listen(DAT_IA_HANDLE ia, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual, unsigned int step,
		 DAT_PSP_HANDLE *psp);

/* The number that the active side has sent as private data. */
uint32_t late_number_of(DAT_CR_HANDLE cr);

/* Registers memory for local and remote access. The two generations differ. */
void late_register(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *address, size_t length,
		   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *local, DAT_RMR_CONTEXT *remote);
DAT_LMR_TRIPLET late_local(DAT_LMR_CONTEXT context, const void *address, size_t length);
DAT_RMR_TRIPLET late_remote(DAT_RMR_CONTEXT context, DAT_VADDR address, size_t length);

#endif
