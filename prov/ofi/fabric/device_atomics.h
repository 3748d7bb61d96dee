/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomic operations that the device executes. Among connected endpoints of libfabric, only those on
 * InfiniBand pass atomic operations on. InfiniBand has no control records (control.h), by which
 * the library emulates them elsewhere. So memory is changed in both ways only with same_host=memory
 * or a value like it, against which dat-ofi-provider(7) warns.
 *
 * libfabric offers them for every device of verbs, whether the device has them or not, so we ask
 * the device. The devices of two peers may differ, so each end of a connection says in the
 * handshake whether its device executes them for the peer.
 */
#ifndef DOFI_ATOMICS_H
#define DOFI_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

struct fi_info;
struct fid_domain;

/* Whether to ask libfabric for them. */
bool dofi_atomics_wanted(uint64_t quirks);

/* The device executes them. They are atomic among the operations of the same device. */
bool dofi_device_does_atomics(const struct fi_info *info, uint64_t quirks);

/* libfabric passes them on to the device. */
bool dofi_domain_has_atomics(struct fid_domain *domain);

#endif
