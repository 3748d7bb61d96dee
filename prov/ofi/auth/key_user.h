/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The user's own secrets: in the home directory, or for this host in memory. */
#ifndef DOFI_KEY_USER_H
#define DOFI_KEY_USER_H

#include "auth/key_file.h"

/*
 * .dat-ofi/key in the home directory, made when there is none. path_p gets its name. 0; -ENOENT
 * without a message when there is no home directory or it takes no file; after a message -EACCES
 * or -EINVAL when what is there cannot be trusted.
 */
int dofi_key_user(struct dofi_secret *secret, char *path_p, size_t size);

/* A file in /dev/shm, else in /tmp, in the same way. */
int dofi_key_host(struct dofi_secret *secret, char *path_p, size_t size);

#endif
