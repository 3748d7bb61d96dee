/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which provider has registered which name, and how long its library stays loaded. */
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "log.h"
#include "registry.h"
#include "strerror.h"

/*
 * Recursive, because a provider registers names in its init function, which runs with the lock
 * held. The provider's open, close and query functions run without it.
 */
static struct datr_lock registry_lock = DATR_LOCK_INIT;
/* Guarded by registry_lock. */
static struct datr_conf conf;
static bool conf_loaded;
static struct datr_entry *defaults;     /* default names that are in use */
static struct datr_provider *providers; /* in the order of registration */
static struct datr_entry *loading;      /* the entry whose library is registering at present */

void datr_registry_lock(void)
{
	datr_lock(&registry_lock);
}

void datr_registry_unlock(void)
{
	datr_unlock(&registry_lock);
}

/* A thread that loads a library holds the lock for a while. */
#define FORK_LOCK_MS 1000

void datr_registry_fork_begin(void)
{
	datr_lock_fork_begin(&registry_lock, FORK_LOCK_MS);
}

void datr_registry_fork_end(bool in_child)
{
	if (in_child && !datr_lock_is_forkers(&registry_lock)) {
		loading = NULL; /* the thread that was loading is not here */
		datr_lock_renew(&registry_lock);
	}
	datr_lock_fork_end(&registry_lock);
}

enum datr_match datr_info_match(const DAT_PROVIDER_INFO *have, const DAT_PROVIDER_INFO *want)
{
	if (strcmp(have->ia_name, want->ia_name))
		return DATR_MATCH_NOTHING;
	if (have->dapl_version_major != want->dapl_version_major)
		return DATR_MATCH_NAME;
	if (have->dapl_version_minor < want->dapl_version_minor)
		return DATR_MATCH_MAJOR;
	return !have->is_thread_safe == !want->is_thread_safe ? DATR_MATCH_ALL : DATR_MATCH_MINOR;
}

bool datr_info_equal(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return datr_info_match(a, b) == DATR_MATCH_ALL &&
	       a->dapl_version_minor == b->dapl_version_minor;
}

/* ---- registrations ---- */

/*
 * Several lines can have one name, and a program may try one while another one has an open IA. So a
 * library may register the name for which it is loaded beside those of other lines.
 */
static bool stands_beside(const struct datr_provider *provider, const DAT_PROVIDER_INFO *info)
{
	datr_assert_locked(&registry_lock);
	return provider->owner && loading && provider->owner != loading &&
	       datr_info_equal(&loading->info, info);
}

/* Where the registration that excludes the new one is, or where the new one belongs. */
static struct datr_provider **find_conflict_locked(const DAT_PROVIDER_INFO *info)
{
	struct datr_provider **link = &providers;

	datr_assert_locked(&registry_lock);
	while (*link && (!datr_info_equal(&(*link)->info, info) || stands_beside(*link, info)))
		link = &(*link)->next;
	return link;
}

/*
 * Compares the table, too: a provider that was refused because the name existed must not remove the
 * first registration.
 */
static struct datr_provider **find_own_locked(const DAT_PROVIDER *table,
					      const DAT_PROVIDER_INFO *info)
{
	struct datr_provider **link = &providers;

	datr_assert_locked(&registry_lock);
	while (*link && ((*link)->table != table || !datr_info_equal(&(*link)->info, info)))
		link = &(*link)->next;
	return link;
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info)
{
	struct datr_provider **link, *provider;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_PROVIDER_INFO key;

	if (!table)
		return DATR_BAD_ARG(1);
	if (!info || !datr_info_init(&key, info->ia_name, info->dapl_version_major,
				     info->dapl_version_minor, info->is_thread_safe))
		return DATR_BAD_ARG(2);
	provider = calloc(1, sizeof(*provider));
	if (!provider)
		return DATR_NO_MEMORY;
	provider->info = key;
	provider->table = table;
	provider->ia_open = table->ia_open_func;

	datr_lock(&registry_lock);
	link = find_conflict_locked(&key);
	if (*link) {
		ret = DATR_ERR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	} else {
		provider->owner = loading;
		*link = provider;
	}
	datr_unlock(&registry_lock);

	if (ret != DAT_SUCCESS)
		free(provider);
	datr_log(DATR_LOG_DYNAMIC, "provider adds IA %s: %s", key.ia_name, datr_type_text(ret));
	return ret;
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info)
{
	struct datr_provider **link, *provider;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!table)
		return DATR_BAD_ARG(1);
	if (!info)
		return DATR_BAD_ARG(2);
	datr_lock(&registry_lock);
	link = find_own_locked(table, info);
	provider = *link;
	if (!provider) {
		ret = DATR_BAD_ARG(2);
	} else if (provider->users) {
		ret = DATR_ERR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	} else {
		*link = provider->next;
		free(provider);
	}
	datr_unlock(&registry_lock);

	datr_log(DATR_LOG_DYNAMIC, "provider removes IA %.*s: %s", DAT_NAME_MAX_LENGTH - 1,
		 info->ia_name, datr_type_text(ret));
	return ret;
}

/* ---- libraries ---- */

struct datr_entry *datr_registry_lines(void)
{
	datr_assert_locked(&registry_lock);
	if (!conf_loaded)
		conf_loaded = datr_conf_load(&conf);
	return conf.entries;
}

bool datr_registry_is_read(void)
{
	datr_assert_locked(&registry_lock);
	return conf_loaded;
}

/* Registrations of an unloaded library would point to memory that is unmapped. */
static void drop_registrations_locked(const struct datr_entry *owner)
{
	struct datr_provider **link = &providers;

	datr_assert_locked(&registry_lock);
	while (*link) {
		struct datr_provider *provider = *link;

		if (provider->owner != owner) {
			link = &provider->next;
			continue;
		}
		datr_log(DATR_LOG_DYNAMIC, "IA %s was left registered by its library",
			 provider->info.ia_name);
		*link = provider->next;
		free(provider);
	}
}

const char *datr_registry_file(void)
{
	return conf.path;
}

struct datr_provider *datr_registry_providers(void)
{
	datr_assert_locked(&registry_lock);
	return providers;
}

struct datr_entry *datr_registry_default(const DAT_PROVIDER_INFO *info)
{
	struct datr_entry *entry = defaults;

	datr_assert_locked(&registry_lock);
	while (entry && !datr_info_equal(&entry->info, info))
		entry = entry->next;
	if (entry)
		return entry;
	entry = datr_entry_alloc(info, NULL, "");
	if (entry) {
		entry->next = defaults;
		defaults = entry;
	}
	return entry;
}

static void default_forget_locked(struct datr_entry *entry)
{
	struct datr_entry **link = &defaults;

	datr_assert_locked(&registry_lock);
	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	free(entry);
}

static bool entry_load_locked(struct datr_entry *entry)
{
	struct datr_entry *outer = loading;
	bool ok;

	datr_assert_locked(&registry_lock);
	loading = entry;
	ok = datr_library_open(&entry->lib, entry->library, entry->info.ia_name);
	if (ok && entry->lib.init)
		entry->lib.init(&entry->info, entry->ia_params);
	loading = outer;
	return ok;
}

static void entry_put_locked(struct datr_entry *entry)
{
	datr_assert_locked(&registry_lock);
	if (--entry->users)
		return;
	if (entry->lib.handle) {
		if (entry->lib.fini)
			entry->lib.fini(&entry->info);
		drop_registrations_locked(entry);
		datr_library_close(&entry->lib);
	}
	if (!entry->line)
		default_forget_locked(entry);
}

static struct datr_provider *find_registered_locked(const struct datr_entry *owner,
						    const DAT_PROVIDER_INFO *want)
{
	struct datr_provider *provider = providers;

	datr_assert_locked(&registry_lock);
	while (provider && (provider->owner != owner ||
			    datr_info_match(&provider->info, want) != DATR_MATCH_ALL))
		provider = provider->next;
	return provider;
}

struct datr_provider *datr_entry_get_provider(struct datr_entry *entry,
					      const DAT_PROVIDER_INFO *want)
{
	struct datr_provider *provider = NULL;

	datr_assert_locked(&registry_lock);
	/*
	 * Counts before the call, so that an init function that opens its own name does not load
	 * the library again.
	 */
	if (entry->users++ || entry_load_locked(entry)) {
		provider = find_registered_locked(entry, want);
		if (!provider)
			datr_log(DATR_LOG_ERROR,
				 "IA %s: provider library %s was loaded, but it does not offer "
				 "this IA",
				 want->ia_name,
				 entry->library ? entry->library : DATR_PROVIDER_SONAME);
	}
	if (!provider) {
		entry_put_locked(entry);
		return NULL;
	}
	provider->users++;
	return provider;
}

void datr_provider_get(struct datr_provider *provider)
{
	datr_assert_locked(&registry_lock);
	provider->users++;
	if (provider->owner)
		provider->owner->users++;
}

void datr_provider_put(struct datr_provider *provider)
{
	datr_lock(&registry_lock);
	provider->users--;
	if (provider->owner)
		entry_put_locked(provider->owner);
	datr_unlock(&registry_lock);
}

void datr_provider_keep_query(struct datr_provider *provider)
{
	datr_lock(&registry_lock);
	provider->queries++;
	datr_unlock(&registry_lock);
}

void datr_provider_put_query(const DAT_PROVIDER *table)
{
	struct datr_provider *provider;

	datr_lock(&registry_lock);
	for (provider = providers; provider; provider = provider->next) {
		if (provider->table == table && provider->queries)
			break;
	}
	if (provider) {
		provider->queries--;
		datr_provider_put(provider);
	}
	datr_unlock(&registry_lock);
}
