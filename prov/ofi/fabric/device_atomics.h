/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomic operations that the device does. InfiniBand's are the only ones that connected endpoints
 * of libfabric pass on, and its devices are the only fabric that carries no notes (note.h), which
 * do them elsewhere: so memory never sees both over one fabric.
 *
 * libfabric offers them for every device of verbs, whether it has them or not; the device itself is
 * asked. Two devices do not have to be alike, so each end of a connection says in the handshake
 * what its own does for the peer.
 */
#ifndef DOFI_ATOMICS_H
#define DOFI_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

/* Worth asking libfabric for. */
bool dofi_atomics_wanted(uint64_t quirks);

/*
 * Finds out what there is, for ia->does_atomics and ia->has_atomics. A step of dat_ia_open, which
 * never fails.
 */
int dofi_atomics_look(struct dofi_ia *ia);

/* The device of this name carries out operations that are atomic among those that it is given. */
bool dofi_device_does_atomics(const char *name);

#endif
