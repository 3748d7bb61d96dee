/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "random.h"

/* splitmix64 */
uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

struct random random_stream(uint64_t seed, uint64_t part)
{
	struct random r = {seed};

	r.state = random_next(&r) ^ part * UINT64_C(0xd1342543de82ef95);
	return r;
}

uint32_t random_below(struct random *r, uint32_t n)
{
	return (uint32_t)((random_next(r) >> 32) * n >> 32);
}

bool random_one_in(struct random *r, uint32_t n)
{
	return !random_below(r, n);
}

uint64_t random_scaled(struct random *r, uint64_t from, uint64_t to)
{
	uint64_t span = to - from + 1;
	uint32_t bits = 0;

	while (bits < 63 && span >> bits)
		bits++;
	return from + random_next(r) % (UINT64_C(1) << random_below(r, bits + 1)) % span;
}
