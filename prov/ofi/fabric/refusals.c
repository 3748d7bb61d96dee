/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/refusals.h"

#include "fabric/info.h"

#include <string.h>

/* Whether a comma separated list has the word. */
static bool list_has(const char *list, const char *word)
{
	size_t size = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (!at[size] || at[size] == ','))
			return true;
	return false;
}

void dofi_refusals_add(struct dofi_refusals *refusals, const struct fi_info *info,
		       const char *reason)
{
	struct dofi_refusal *r = refusals->list;
	size_t used;

	while (r < refusals->list + refusals->n &&
	       (strcmp(r->provider, dofi_info_provider(info)) || strcmp(r->reason, reason)))
		r++;
	if (r == refusals->list + DOFI_MAX_REFUSALS)
		return;
	if (r == refusals->list + refusals->n) {
		refusals->n++;
		snprintf(r->provider, sizeof(r->provider), "%s", dofi_info_provider(info));
		snprintf(r->reason, sizeof(r->reason), "%s", reason);
	}
	used = strlen(r->domains);
	if (!list_has(r->domains, dofi_info_domain(info)))
		snprintf(r->domains + used, sizeof(r->domains) - used, "%s%s", used ? ", " : "",
			 dofi_info_domain(info));
}

bool dofi_refusals_have(const struct dofi_refusals *refusals, const char *domain)
{
	for (unsigned int i = 0; i < refusals->n; i++)
		if (list_has(refusals->list[i].domains, domain))
			return true;
	return false;
}

void dofi_refusals_print(const struct dofi_refusals *refusals, FILE *out)
{
	for (unsigned int i = 0; i < refusals->n; i++) {
		const struct dofi_refusal *r = &refusals->list[i];

		fprintf(out, "%s%s (%s): %s", i ? "; " : "", r->provider, r->domains, r->reason);
	}
}
