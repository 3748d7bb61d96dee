/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DOFI_POWER_H
#define DOFI_POWER_H

#include <stdint.h>

/*
 * The smallest power of two that is not below n, at least 1. A ring of this length needs no
 * division, and its free-running indices go on when they wrap. n is at most 2^31.
 */
static inline uint32_t dofi_power_of_two(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size *= 2;
	return size;
}

#endif
