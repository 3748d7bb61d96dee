/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Strangers: accepted sockets whose handshake is not complete. Their number is limited; a new one
 * evicts an old one. engine.lock held.
 */
#ifndef DOFI_STRANGER_H
#define DOFI_STRANGER_H

#include <stdbool.h>

struct dofi_ia;

/*
 * Makes a channel of a socket that listener.c has accepted, and owns the socket. False when out of
 * memory: the caller still owns it.
 */
bool dofi_stranger_adopt(struct dofi_ia *ia, int fd);
/* Closes a stranger, to get its descriptor; false when there is none. */
bool dofi_stranger_evict(struct dofi_ia *ia);

#endif
