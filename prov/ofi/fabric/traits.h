/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a fabric can do and in which order, by its attributes and its quirks (quirks.h). */
#ifndef DOFI_TRAITS_H
#define DOFI_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

struct fi_info;

/*
 * How a provider lets an RDMA write be seen before a later Send (mapping: ORDERED, FENCE, HOLD).
 */
enum dofi_order { DOFI_ORDERED, DOFI_FENCE, DOFI_HOLD };

enum dofi_order dofi_order_of(const struct fi_info *info);
/* Whether an RDMA read may miss what an earlier write brings. */
bool dofi_reads_overtake(const struct fi_info *info);
/* Whether an RDMA write may be seen before an earlier one. */
bool dofi_writes_overtake(const struct fi_info *info);
/* A write may name several targets, and one is stored behind the other. */
bool dofi_stores_targets_in_order(const struct fi_info *info, uint64_t quirks);
/* Messages can carry completion data. */
bool dofi_has_data(const struct fi_info *info, uint64_t quirks);
/* A write can have completion data of 32 bits, and takes a receive of the peer then. */
bool dofi_has_immediates(const struct fi_info *info, uint64_t quirks);
/* Bytes that are sent without a completion; 0: none. */
uint64_t dofi_inject_max(const struct fi_info *info, uint64_t quirks);

#endif
