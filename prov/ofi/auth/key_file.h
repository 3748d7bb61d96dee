/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files with a secret that only their owner can read. */
#ifndef DOFI_KEY_FILE_H
#define DOFI_KEY_FILE_H

#include <stddef.h>
#include <stdint.h>

#define DOFI_SECRET_MIN 32u
#define DOFI_SECRET_MAX 4096u

struct dofi_secret {
	size_t size;
	uint8_t bytes[DOFI_SECRET_MAX + 1];
};

/*
 * Reads a secret; line ends behind it are not part of it. dir is a descriptor of the folder, or
 * AT_FDCWD; path is for messages. Returns 0; -ENOENT without a message; after a message -EACCES if
 * others than this user can read or write the file, -EINVAL if its length is wrong, or another
 * -errno.
 */
int dofi_secret_read(struct dofi_secret *secret, int dir, const char *name, const char *path);

/*
 * Creates the file with a new secret, unless it exists. Processes that do so at the same time get
 * the same secret. Returns 0, or -errno without a message.
 */
int dofi_secret_make(int dir, const char *name);

#endif
