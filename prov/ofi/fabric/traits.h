/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Abilities of a fabric and its orders, by its attributes and its quirks (quirks.h). */
#ifndef DOFI_TRAITS_H
#define DOFI_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

struct fi_info;

/*
 * How an RDMA write is made visible before a later Send: the fabric keeps the order; the Send
 * carries a fence; or the library holds the Send back until the write is complete.
 */
enum dofi_order { DOFI_ORDERED, DOFI_FENCE, DOFI_HOLD };

enum dofi_order dofi_order_of(const struct fi_info *info);
/* Whether an RDMA read may miss what an earlier write brings. */
bool dofi_reads_overtake(const struct fi_info *info);
/* Whether an RDMA write may be seen before an earlier one. */
bool dofi_writes_overtake(const struct fi_info *info);
/*
 * The bytes of a write are stored in order. keeps_order: the processor of the target shows stores
 * in the order of the program; otherwise only a device stores in order.
 */
bool dofi_stores_in_order(uint64_t quirks, bool keeps_order);
/* A write may have several targets, and they are stored one after the other. */
bool dofi_stores_targets_in_order(const struct fi_info *info, uint64_t quirks);
/* Messages can carry completion data. */
bool dofi_has_data(const struct fi_info *info, uint64_t quirks);
/* A write can have completion data of 32 bits, and takes a receive of the peer then. */
bool dofi_has_immediates(const struct fi_info *info, uint64_t quirks);
/*
 * Whether a registration can be closed without a word to the peers: the fabric refuses its key from
 * then on, without harm to this process, and a complete operation has arrived.
 */
bool dofi_ends_keys(uint64_t quirks);
/* The largest message that may be sent without a completion; 0: none. */
uint64_t dofi_inject_max(const struct fi_info *info, uint64_t quirks);

#endif
