/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a provider of libfabric does that no attribute tells: one table of faults and peculiarities.
 * Each row names the provider, the releases of libfabric, what happens there and what this library
 * does about it. dat_ia_open looks once; afterwards a quirk is a bit of ia->quirks. No other file
 * compares the names of providers for such a reason.
 */
#ifndef DOFI_QUIRKS_H
#define DOFI_QUIRKS_H

#include <stdint.h>

struct fi_info;

enum dofi_quirk {
	DOFI_QUIRK_PEER_NUMBERS = 1u << 0,
	DOFI_QUIRK_INNER_SHM = 1u << 1,
	DOFI_QUIRK_CLOSED_KEYS = 1u << 2,
	DOFI_QUIRK_FEW_RIGHTS = 1u << 3,
	DOFI_QUIRK_WIDE_RIGHTS = 1u << 4,
	DOFI_QUIRK_IDLE_EQ = 1u << 5,
	DOFI_QUIRK_DATA_ON_EQ = 1u << 6,
	DOFI_QUIRK_SHORT_LIST = 1u << 7,
	DOFI_QUIRK_MUTE_QUEUE = 1u << 8,
	DOFI_QUIRK_FATAL_EVENT = 1u << 9,
	DOFI_QUIRK_CUTS = 1u << 10,
	DOFI_QUIRK_UNMARKED_DATA = 1u << 11,
	DOFI_QUIRK_LOSES_FDS = 1u << 12,
	DOFI_QUIRK_FOREIGN_FD = 1u << 13,
};

struct dofi_quirk_row {
	enum dofi_quirk quirk;
	const char *provider; /* as fi_info names it, whole */
	/* FI_VERSION: the first release with it, the first without; 0: open */
	uint32_t from, until;
	const char *what;   /* it does */
	const char *answer; /* what this library does then */
};

/* The quirks of this fabric with libfabric of this version, as bits. */
uint32_t dofi_quirks_of(const struct fi_info *info, uint32_t version);

/* Tells each of them in the log, at level info. */
void dofi_quirks_log(const char *ia_name, const struct fi_info *info, uint32_t version);

#endif
