/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registered names, the libraries that registered them, and references to both. */
#ifndef DATR_REGISTRY_H
#define DATR_REGISTRY_H

#include <stdbool.h>

#include "conf.h"
#include "version.h"

/* Holds names, entries and references together. A thread may lock it again. */
void datr_registry_lock(void);
void datr_registry_unlock(void);

/* Enclose a fork. If another thread keeps the lock for too long, the fork goes on without it. */
void datr_registry_fork_begin(void);
void datr_registry_fork_end(bool in_child);

/* The default name, which needs no line in dat.conf. NAME-PROVIDER needs none either. */
#define DATR_DEFAULT_NAME "ofi"

/* How well a name matches a request, in the order in which errors report it. */
enum datr_match {
	DATR_MATCH_NOTHING,
	DATR_MATCH_NAME,
	DATR_MATCH_MAJOR,
	DATR_MATCH_MINOR,
	DATR_MATCH_ALL
};

enum datr_match datr_info_match(const DAT_PROVIDER_INFO *have, const DAT_PROVIDER_INFO *want);
bool datr_info_equal(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b);

/* A name that a provider has registered. */
struct datr_provider {
	struct datr_provider *next;
	DAT_PROVIDER_INFO info;
	const DAT_PROVIDER *table;
	DAT_IA_OPEN_FUNC ia_open;
	/* the entry that loaded it; NULL if the program itself registered it */
	struct datr_entry *owner;
	unsigned int users;
	/* number of IAs that dat_ib_open_query has opened with it */
	unsigned int queries;
};

/* ---- the caller holds the lock ---- */

struct datr_entry *datr_registry_lines(void); /* of dat.conf, which the first call reads */
/* False if descriptors or memory were lacking then: the next call tries again. */
bool datr_registry_is_read(void);
struct datr_provider *datr_registry_providers(void);

/* The entry of a default name; a new one if the name is not in use. NULL if out of memory. */
struct datr_entry *datr_registry_default(const DAT_PROVIDER_INFO *info);

/*
 * Loads the library of an entry if it is not loaded. Returns the wanted provider among those that
 * it registered, with a reference to both. NULL if there is none; the reason has been logged.
 */
struct datr_provider *datr_entry_get_provider(struct datr_entry *entry,
					      const DAT_PROVIDER_INFO *want);

/* Takes a reference to the provider and to the entry that loaded it. */
void datr_provider_get(struct datr_provider *provider);

/* ---- the caller need not hold the lock ---- */

/* The file that datr_registry_lines() has read, or "". */
const char *datr_registry_file(void);

void datr_provider_put(struct datr_provider *provider);

/*
 * Takes a reference that was found by the provider's table. put does nothing without a reference.
 */
void datr_provider_keep_query(struct datr_provider *provider);
void datr_provider_put_query(const DAT_PROVIDER *table);

#endif
