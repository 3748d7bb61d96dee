/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The user's own secrets: in the home directory, or for this host in memory. */
#ifndef DOFI_KEY_USER_H
#define DOFI_KEY_USER_H

#include "auth/key_file.h"

/*
 * Reads .dat-ofi/key in the home directory, and creates it if there is none. Stores its name in
 * path_p. Returns 0; -ENOENT without a message if there is no home directory or no file can be
 * created in it; after a message -EACCES or -EINVAL if the file cannot be trusted, or another
 * -errno if it cannot be read or the process has no descriptors or memory.
 */
int dofi_key_user(struct dofi_secret *secret, char *path_p, size_t size);

/*
 * The same for a file in /dev/shm, else in /tmp. -ENOENT also says that both cannot be read or
 * trusted; other errors, that the process has no descriptors or memory.
 */
int dofi_key_host(struct dofi_secret *secret, char *path_p, size_t size);

#endif
