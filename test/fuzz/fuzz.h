/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For all fuzz targets: the function that libFuzzer and replay.c call with an input, and the input
 * as a stream of values. A target frees everything before the next input.
 */
#ifndef T_FUZZ_H
#define T_FUZZ_H

#include "../sim/must.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A condition that must hold for every input. */
#define FUZZ_CHECK MUST

/* At its end the stream returns zeros. */
struct fuzz_input {
	const uint8_t *at, *end;
};

static inline struct fuzz_input fuzz_input(const uint8_t *data, size_t size)
{
	return (struct fuzz_input){data, data + size};
}

static inline size_t fuzz_left(const struct fuzz_input *in)
{
	return (size_t)(in->end - in->at);
}

/* Stores the address of the next n bytes in *bytes_p. Returns n, or the number of bytes left. */
static inline size_t fuzz_bytes(struct fuzz_input *in, size_t n, const uint8_t **bytes_p)
{
	*bytes_p = in->at;
	if (n > fuzz_left(in))
		n = fuzz_left(in);
	in->at += n;
	return n;
}

/* Lowest byte first. */
static inline uint64_t fuzz_value(struct fuzz_input *in, size_t size)
{
	const uint8_t *bytes;
	uint64_t value = 0;

	for (size_t n = fuzz_bytes(in, size, &bytes); n; n--)
		value = value << 8 | bytes[n - 1];
	return value;
}

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	return (uint8_t)fuzz_value(in, 1);
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
	return (uint32_t)fuzz_value(in, 4);
}

#endif
