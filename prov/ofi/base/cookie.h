/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of shared memory. Whoever registers DAT_MEM_TYPE_SHARED_VIRTUAL memory under a cookie holds
 * a share of the cookie; all holders of one user on this host must mean the same memory. A share
 * ends with its process, however that ends.
 */
#ifndef DOFI_COOKIE_H
#define DOFI_COOKIE_H

#include <stddef.h>
#include <stdint.h>

#define DOFI_COOKIE_SIZE 40

/*
 * Takes a share of cookie for the memory at base, and returns its descriptor, or a negative errno:
 * -EINVAL when the memory is not shared memory, -EEXIST when the cookie names other memory.
 */
int dofi_cookie_share(const char cookie[DOFI_COOKIE_SIZE], uint64_t base, uint64_t length);
void dofi_cookie_unshare(int share);

#endif
