/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomic operations that the device does. InfiniBand's are the only ones that connected endpoints
 * of libfabric pass on, and its devices are the only fabric that carries no control records
 * (control.h), which do them elsewhere: so memory never sees both over one fabric.
 *
 * libfabric offers them for every device of verbs, whether it has them or not; the device itself is
 * asked. Two devices do not have to be alike, so each end of a connection says in the handshake
 * what its own does for the peer.
 */
#ifndef DOFI_ATOMICS_H
#define DOFI_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

struct fi_info;
struct fid_domain;

/* Worth asking libfabric for. */
bool dofi_atomics_wanted(uint64_t quirks);

/* The device carries out operations that are atomic among those that it is given. */
bool dofi_device_does_atomics(const struct fi_info *info, uint64_t quirks);

/* libfabric passes them on to the device. */
bool dofi_domain_has_atomics(struct fid_domain *domain);

#endif
