/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bytes that are sent and checked with --verify. */
#include "perf/conn.h"

#include <string.h>

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t perf_data_seed(const struct perf_conn *conn, bool from_server, uint32_t ep,
			uint64_t number)
{
	uint64_t place = (uint64_t)conn->env->thread << 16 | ep;

	return mix(mix((uint64_t)conn->run->serial << 32 | place << 1 | from_server) + number);
}

void perf_data_fill(char *buf, size_t len, uint64_t from)
{
	for (size_t at = 0; at < len; at += sizeof(uint64_t)) {
		uint64_t word = mix(from + at);

		memcpy(buf + at, &word, len - at < sizeof(word) ? len - at : sizeof(word));
	}
}

/* Offset of the first wrong byte, len when all are right. */
static size_t first_wrong(const char *buf, size_t len, uint64_t from)
{
	char want[sizeof(uint64_t)];

	for (size_t at = 0; at < len; at += sizeof(want)) {
		size_t part = len - at < sizeof(want) ? len - at : sizeof(want);

		perf_data_fill(want, sizeof(want), from + at);
		if (!memcmp(buf + at, want, part))
			continue;
		for (size_t i = 0; i < part; i++) {
			if (buf[at + i] != want[i])
				return at + i;
		}
	}
	return len;
}

bool perf_data_is(const char *buf, size_t len, uint64_t from)
{
	return first_wrong(buf, len, from) == len;
}

int perf_data_check(const struct perf_conn *conn, const char *what, uint32_t ep, uint64_t number,
		    const char *buf, size_t len, uint64_t from)
{
	size_t at = first_wrong(buf, len, from);

	if (at == len)
		return 0;
	return util_fail(
		"data check failed: %s %s number %llu of endpoint %u is wrong from byte %zu of "
		"%zu on",
		conn->ops->name, what, (unsigned long long)number, ep, at, len);
}
