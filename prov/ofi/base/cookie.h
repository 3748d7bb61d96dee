/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of shared memory. A process that registers DAT_MEM_TYPE_SHARED_VIRTUAL memory under a
 * cookie holds a share of the cookie. All holders of one user on this host must register the same
 * memory. A share ends with its process, however the process ends.
 */
#ifndef DOFI_COOKIE_H
#define DOFI_COOKIE_H

#include <stddef.h>
#include <stdint.h>

#define DOFI_COOKIE_SIZE 40

/*
 * Takes a share of cookie for the memory at base, and returns its descriptor, or a negative errno:
 * -EINVAL when the memory is not shared memory, -EEXIST when the cookie names other memory, -EPERM
 * when the file is not this user's alone, -ETIMEDOUT when another process holds it for seconds.
 */
int dofi_cookie_share(const char cookie[DOFI_COOKIE_SIZE], uint64_t base, uint64_t length);
void dofi_cookie_unshare(int share);

#endif
