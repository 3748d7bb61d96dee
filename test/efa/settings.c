/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SOFTEFA_* variables, the random numbers of a seed, and injected faults. */
#include "softefa.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings efa_set;
static uint64_t random_state;
static unsigned int operations;

static const struct {
	const char *name;
	size_t offset;
	unsigned int normal, least, most;
} numbers[] = {
#define NUMBER(name, field, normal, least, most)                                       \
	{                                                                              \
		"SOFTEFA_" name, offsetof(struct settings, field), normal, least, most \
	}
	NUMBER("PART", part, 0xefa2, 0xefa0, 0xefa2),
	NUMBER("HOSTS", hosts, 1, 1, 64),
	NUMBER("HOST", host, 0, 0, 63),
	NUMBER("SEED", seed, 0, 0, UINT_MAX),
	NUMBER("PIECE_MIN", piece_min, 64, 1, 1 << 20),
	NUMBER("PIECE_MAX", piece_max, 8192, 1, 1 << 20),
	NUMBER("MAX_QP", max_qp, 512, 1, SEG_QPS - 1),
	NUMBER("MAX_CQ", max_cq, 512, 1, SEG_CQS),
	NUMBER("MAX_MR", max_mr, 32768, 1, SEG_MRS - 1),
	NUMBER("MAX_AH", max_ah, 4096, 1, 65534),
	NUMBER("MAX_PD", max_pd, 256, 1, 65535),
	NUMBER("MAX_SQ_WR", max_sq_wr, 512, 1, 32768),
	NUMBER("MAX_RQ_WR", max_rq_wr, 1536, 3, 3 * SEG_RECVS),
	NUMBER("MTU", mtu, 8928, 1024, 9000),
	NUMBER("INLINE", inline_size, 32, 0, OP_INLINE),
	NUMBER("MAX_RDMA", max_rdma, 1 << 30, 4096, 1u << 31),
	NUMBER("UNSOLICITED", unsolicited, 1, 0, 1),
	NUMBER("IN_ORDER_128", in_order_128, 0, 0, 1),
	NUMBER("QPN_REUSE", qpn_reuse, 0, 0, 1),
	NUMBER("RNR_US", rnr_us, 100, 1, 1000000),
	NUMBER("RNR_EVERY", rnr_every, 0, 0, UINT_MAX),
	NUMBER("UNRESPONSIVE_MS", unresponsive_ms, 2000, 1, 600000),
	NUMBER("FAIL_STATUS", fail_status, EFA_LOCAL_UNRESPONSIVE, 1, 18),
	NUMBER("FAIL_EVERY", fail_every, 0, 0, UINT_MAX),
	NUMBER("DIE_AT", die_at, 0, 0, UINT_MAX),
	NUMBER("SILENT_AT", silent_at, 0, 0, UINT_MAX),
	NUMBER("YIELD_EVERY", yield_every, 16, 0, UINT_MAX),
	NUMBER("UNIVERSE", universe, 0, 0, UINT_MAX),
#undef NUMBER
};

static int read_number(size_t i)
{
	const char *text = getenv(numbers[i].name);
	unsigned long value = numbers[i].normal;
	char *end = NULL;

	if (text && *text) {
		errno = 0;
		value = strtoul(text, &end, 0);
		if (errno || *end || value < numbers[i].least || value > numbers[i].most) {
			fprintf(stderr, "softefa: %s=%s: want %u to %u\n", numbers[i].name, text,
				numbers[i].least, numbers[i].most);
			return -1;
		}
	}
	*(unsigned int *)((char *)&efa_set + numbers[i].offset) = (unsigned int)value;
	return 0;
}

int efa_settings(void)
{
	efa_set.file = getenv("SOFTEFA_FILE");
	efa_set.sysfs = getenv("SYSFS_PATH");
	if (!efa_set.file || !efa_set.sysfs)
		return -1;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (read_number(i))
			return -1;
	if (efa_set.host >= efa_set.hosts || efa_set.piece_min > efa_set.piece_max) {
		fprintf(stderr, "softefa: SOFTEFA_HOST or SOFTEFA_PIECE_MIN is too large\n");
		return -1;
	}
	random_state = efa_set.seed * 0x9e3779b97f4a7c15u + 1;
	return 0;
}

/* xorshift64* */
uint32_t efa_random(uint32_t n)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)((random_state * 0x2545f4914f6cdd1du) >> 32) % n;
}

uint32_t efa_strike(void)
{
	operations++;
	if (efa_set.die_at && operations == efa_set.die_at)
		raise(SIGKILL);
	if (efa_set.silent_at && operations == efa_set.silent_at)
		atomic_store(&efa_me->silent, 1);
	if (efa_set.fail_every && operations % efa_set.fail_every == 0)
		return efa_set.fail_status;
	return 0;
}
