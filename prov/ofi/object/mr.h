/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registrations with the fabric. */
#ifndef DOFI_MR_H
#define DOFI_MR_H

#include "base/dat_api.h"

#include <stddef.h>
#include <stdint.h>

struct dofi_ia;
struct fid_mr;

/*
 * Registers memory with the fabric under a fresh key, bound and enabled as the provider wants it.
 * *address_p is the fabric address of buf. 0 or a negative libfabric error.
 */
int dofi_mr_register(struct dofi_ia *ia, void *buf, size_t length, DAT_MEM_PRIV_FLAGS privileges,
		     struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);

/* Ends one; 0 or a negative libfabric error, and then it leaks. */
int dofi_mr_close(struct dofi_ia *ia, struct fid_mr *mr);

/*
 * After a refusal for want of memory: "; ... may lock 64 KiB of memory (ulimit -l)", or "" where
 * there is no limit. The text is written where the caller says: thread-local data of a library is
 * allocated at its first use, and glibc ends the process when that fails.
 */
enum { DOFI_MR_LIMIT_SIZE = 128 };
const char *dofi_mr_limit(char text[DOFI_MR_LIMIT_SIZE]);

/*
 * Memory of the IA's own, registered as above; 0 or a negative error. What is late on the fabric
 * may still reach it when the registration is closed: it is unmapped by dofi_mr_unmap_all, when the
 * endpoint is gone. `extra` bytes behind it are not registered.
 */
int dofi_mr_map(struct dofi_ia *ia, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
void dofi_mr_abandon(struct dofi_ia *ia, struct fid_mr *mr, void *memory, size_t size);
void dofi_mr_unmap_all(struct dofi_ia *ia);

#endif
