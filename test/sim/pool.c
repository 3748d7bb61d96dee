/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pool.h"

#include "consumer.h"
#include "must.h"
#include "oracle.h"

#include "dto/srq.h"
#include "dto/srq_receive.h"

#include <string.h>

#define OURS (UINT64_C(1) << 63)

static bool posted[PLAN_PROCESSES][POOL_SIZE];

void pool_begin(void)
{
	memset(posted, 0, sizeof(posted));
}

static void post(struct process *p, uint32_t slot)
{
	uint64_t *word = &consumer_memory[PLAN_STEPS + p->kernel.number][slot];
	DAT_LMR_TRIPLET iov = {.lmr_context = p->lmr_context,
			       .virtual_address = (uintptr_t)word,
			       .segment_length = sizeof(*word)};
	DAT_DTO_COOKIE cookie = {.as_64 = OURS | slot};

	posted[p->kernel.number][slot] = dofi_srq_post_recv(p->srq, 1, &iov, cookie) == DAT_SUCCESS;
}

void pool_open(struct process *p)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = POOL_SIZE,
			     .max_recv_iov = 1,
			     .low_watermark = DAT_SRQ_LW_DEFAULT};

	MUST(dofi_srq_create(p->ia, p->pz, &attr, &p->srq) == DAT_SUCCESS);
	for (uint32_t i = 0; i < POOL_SIZE; i++)
		post(p, i);
}

bool pool_has(uint64_t cookie)
{
	return cookie & OURS;
}

uint64_t pool_take(struct process *p, uint64_t cookie)
{
	uint32_t slot = (uint32_t)cookie;
	uint64_t word;

	if (slot >= POOL_SIZE || !posted[p->kernel.number][slot])
		oracle_fail(-1, "a receive of ia%d's pool completes twice", p->kernel.number);
	word = consumer_memory[PLAN_STEPS + p->kernel.number][slot];
	post(p, slot);
	return word;
}
