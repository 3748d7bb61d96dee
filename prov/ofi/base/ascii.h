/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Letters of names, which are ASCII. The functions of ctype.h and strings.h follow the locale of
 * the program: in a Turkish one the capital of i is not I, and DAT_OFI_PROVIDER would not be found.
 */
#ifndef DOFI_ASCII_H
#define DOFI_ASCII_H

#include <stdbool.h>
#include <stddef.h>

static inline char dofi_ascii_lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static inline char dofi_ascii_upper(char c)
{
	return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

/* Whether the first size characters are the same without regard to case; a text may end earlier. */
static inline bool dofi_ascii_same(const char *a, const char *b, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (dofi_ascii_lower(a[i]) != dofi_ascii_lower(b[i]))
			return false;
		if (!a[i])
			break;
	}
	return true;
}

#endif
