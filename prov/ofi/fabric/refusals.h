/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The candidates that were refused, and the reasons. */
#ifndef DOFI_REFUSALS_H
#define DOFI_REFUSALS_H

#include <stdbool.h>
#include <stdio.h>

struct fi_info;

/* Candidates of one provider refused for one reason. */
struct dofi_refusal {
	char provider[32];
	char reason[160];
	char domains[256];
};

#define DOFI_MAX_REFUSALS 64

struct dofi_refusals {
	struct dofi_refusal list[DOFI_MAX_REFUSALS];
	unsigned int n;
};

void dofi_refusals_add(struct dofi_refusals *refusals, const struct fi_info *info,
		       const char *reason);

/* Whether a candidate of this domain was refused. */
bool dofi_refusals_have(const struct dofi_refusals *refusals, const char *domain);

/* On one line: provider (domains): reason; ... */
void dofi_refusals_print(const struct dofi_refusals *refusals, FILE *out);

#endif
