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

/* Line ends behind the secret are not part of it. */

/*
 * Reads a secret. dir is a descriptor of the folder, or AT_FDCWD; path is for messages. 0; -ENOENT
 * without a message; after a message -EACCES when the file is not one that only this user can read
 * and write, -EINVAL when its length is wrong, another -errno.
 */
int dofi_secret_read(struct dofi_secret *secret, int dir, const char *name, const char *path);

/*
 * Makes a file with a new secret under that name, unless there is one. Processes that do so at once
 * agree on one secret. 0, or -errno without a message.
 */
int dofi_secret_make(int dir, const char *name);

#endif
