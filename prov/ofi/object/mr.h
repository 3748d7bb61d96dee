/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registration of memory with the fabric. */
#ifndef DOFI_MR_H
#define DOFI_MR_H

#include "base/dat_api.h"

#include <stddef.h>
#include <stdint.h>

struct dofi_ia;
struct fid_mr;

/*
 * Registers memory with the fabric under a new key, which nobody can guess where the library
 * chooses it, and binds and enables the registration if the provider needs it. *address_p is the
 * fabric's address of buf. 0 or a negative libfabric error.
 */
int dofi_mr_register(struct dofi_ia *ia, void *buf, size_t length, DAT_MEM_PRIV_FLAGS privileges,
		     struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);

/* Closes a registration. 0, or a negative libfabric error; then it leaks. */
int dofi_mr_close(struct dofi_ia *ia, struct fid_mr *mr);

/*
 * After a refusal for lack of memory: a text such as "; ... may lock 64 KiB of memory (ulimit -l)",
 * or "" if there is no limit. The caller provides the memory of the text: thread-local data of a
 * library are allocated at their first use, and glibc ends the process if that fails.
 */
enum { DOFI_MR_LIMIT_SIZE = 128 };
const char *dofi_mr_limit(char text[DOFI_MR_LIMIT_SIZE]);

/*
 * Memory of the IA itself, registered as above; 0 or a negative error. When the registration is
 * closed, late operations of the fabric may still reach the memory. So dofi_mr_unmap_all unmaps it
 * after the endpoint is closed. `extra` bytes behind it are not registered.
 */
int dofi_mr_map(struct dofi_ia *ia, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
void dofi_mr_abandon(struct dofi_ia *ia, struct fid_mr *mr, void *memory, size_t size);
void dofi_mr_unmap_all(struct dofi_ia *ia);

#endif
