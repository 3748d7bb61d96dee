/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operation contexts, from the post until the completion is read. With FI_CONTEXT2 the provider
 * owns their memory meanwhile. It is filled at the post and compared when the completion is read;
 * then it is filled with another pattern.
 */
#include "sham.h"

#define WORDS 8 /* of struct fi_context2 */

static bool is_ours(const struct sham_domain *domain)
{
	return domain->profile->mode & FI_CONTEXT2;
}

/* The i-th word of the pattern for a context at this address, with this salt. */
static uint64_t word_of(const void *context, int i, uint64_t salt)
{
	uint64_t word = ((uintptr_t)context + (uint64_t)i + salt) * UINT64_C(0x9e3779b97f4a7c15);

	return word ^ word >> 29;
}

static void fill(void *context, uint64_t salt)
{
	uint64_t *words = context;

	for (int i = 0; i < WORDS; i++)
		words[i] = word_of(context, i, salt);
}

static bool is_intact(const void *context)
{
	const uint64_t *words = context;

	for (int i = 0; i < WORDS; i++)
		if (words[i] != word_of(context, i, 0))
			return false;
	return true;
}

bool sham_context_is_used(const struct sham_domain *domain, const void *context)
{
	return sham_set_has(&domain->contexts, (uintptr_t)context);
}

void sham_context_enter(struct sham_domain *domain, void *context)
{
	if (!context)
		return;
	sham_set_add(&domain->contexts, (uintptr_t)context);
	if (is_ours(domain))
		fill(context, 0);
}

void sham_context_leave(struct sham_domain *domain, void *context)
{
	if (!context)
		return;
	sham_set_del(&domain->contexts, (uintptr_t)context);
	if (!is_ours(domain))
		return;
	if (!is_intact(context))
		sham_die(domain->profile,
			 "operation context %p was written to before its completion was read",
			 context);
	fill(context, 1);
}

void sham_context_forget(struct sham_domain *domain, void *context)
{
	if (context)
		sham_set_del(&domain->contexts, (uintptr_t)context);
}
