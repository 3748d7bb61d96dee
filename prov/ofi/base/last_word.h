/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The end of an RDMA write, which programs poll: its longest aligned word of up to 8 bytes.
 * Processors and devices store such a word as a whole.
 */
#ifndef DOFI_LAST_WORD_H
#define DOFI_LAST_WORD_H

#include <stddef.h>
#include <stdint.h>

#define DOFI_LONGEST_WORD 8u

/* The size of the word that ends at this address and has at most so many bytes, one at least. */
static inline size_t dofi_last_word(uint64_t end, uint64_t most)
{
	size_t word = DOFI_LONGEST_WORD;

	while (word > most || end % word)
		word /= 2;
	return word;
}

#endif
