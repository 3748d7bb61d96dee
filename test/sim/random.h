/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Random numbers from a seed. Each part of the simulation has a stream of its own. */
#ifndef T_SIM_RANDOM_H
#define T_SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

/* The same stream for the same seed and part. */
struct random random_stream(uint64_t seed, uint64_t part);
uint64_t random_next(struct random *r);
/* 0 to n - 1. */
uint32_t random_below(struct random *r, uint32_t n);
bool random_one_in(struct random *r, uint32_t n);
/* A number in [from, to]; every power of two is equally likely. */
uint64_t random_scaled(struct random *r, uint64_t from, uint64_t to);

#endif
