/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * IA names: which provider has a name, which library has to be loaded for it, and how long it stays
 * loaded.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "datr.h"

#define DEFAULT_NAME "ofi"

/*
 * Recursive, because a provider registers names in its init function, which runs with the lock
 * held. The provider's open, close and query functions run without it.
 */
static pthread_mutex_t registry_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* Guarded by registry_lock. */
static struct datr_conf conf;
static bool conf_loaded;
static struct datr_entry *defaults;     /* default names that are in use */
static struct datr_provider *providers; /* in the order of registration */
static struct datr_entry *loading;      /* the entry whose library is registering at present */

/* How well a registered name matches a request, in the order in which errors report it. */
enum match { MATCH_NOTHING, MATCH_NAME, MATCH_MAJOR, MATCH_MINOR, MATCH_ALL };

static enum match info_match(const DAT_PROVIDER_INFO *have, const DAT_PROVIDER_INFO *want)
{
	if (strcmp(have->ia_name, want->ia_name))
		return MATCH_NOTHING;
	if (have->dapl_version_major != want->dapl_version_major)
		return MATCH_NAME;
	if (have->dapl_version_minor < want->dapl_version_minor)
		return MATCH_MAJOR;
	return !have->is_thread_safe == !want->is_thread_safe ? MATCH_ALL : MATCH_MINOR;
}

static bool info_equal(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return info_match(a, b) == MATCH_ALL && a->dapl_version_minor == b->dapl_version_minor;
}

/* ---- registrations ---- */

static struct datr_provider **provider_find_locked(const DAT_PROVIDER_INFO *info)
{
	struct datr_provider **link = &providers;

	while (*link && !info_equal(&(*link)->info, info))
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

	pthread_mutex_lock(&registry_lock);
	link = provider_find_locked(&key);
	if (*link) {
		ret = DATR_ERR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	} else {
		provider->owner = loading;
		*link = provider;
	}
	pthread_mutex_unlock(&registry_lock);

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
	pthread_mutex_lock(&registry_lock);
	link = provider_find_locked(info);
	provider = *link;
	/*
	 * Compares the table, too: a provider that was refused because the name existed must not
	 * remove the first registration.
	 */
	if (!provider || provider->table != table) {
		ret = DATR_BAD_ARG(2);
	} else if (provider->users) {
		ret = DATR_ERR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	} else {
		*link = provider->next;
		free(provider);
	}
	pthread_mutex_unlock(&registry_lock);

	datr_log(DATR_LOG_DYNAMIC, "provider removes IA %.*s: %s", DAT_NAME_MAX_LENGTH - 1,
		 info->ia_name, datr_type_text(ret));
	return ret;
}

/* ---- libraries ---- */

static struct datr_entry *conf_entries_locked(void)
{
	if (!conf_loaded) {
		conf_loaded = true;
		datr_conf_load(&conf);
	}
	return conf.entries;
}

/* Registrations of an unloaded library would point to memory that is unmapped. */
static void drop_registrations_locked(const struct datr_entry *owner)
{
	struct datr_provider **link = &providers;

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

static void default_forget_locked(struct datr_entry *entry)
{
	struct datr_entry **link = &defaults;

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	free(entry);
}

static bool entry_load_locked(struct datr_entry *entry)
{
	struct datr_entry *outer = loading;
	bool ok;

	loading = entry;
	ok = datr_library_open(&entry->lib, entry->library, entry->info.ia_name);
	if (ok && entry->lib.init)
		entry->lib.init(&entry->info, entry->ia_params);
	loading = outer;
	return ok;
}

static void entry_put_locked(struct datr_entry *entry)
{
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

	while (provider &&
	       (provider->owner != owner || info_match(&provider->info, want) != MATCH_ALL))
		provider = provider->next;
	return provider;
}

/* The provider that the library of an entry registered, both referenced. NULL if there is none. */
static struct datr_provider *entry_get_provider_locked(struct datr_entry *entry,
						       const DAT_PROVIDER_INFO *want)
{
	struct datr_provider *provider = NULL;

	/*
	 * Counted before the call: an init function that opens its own name must not load the
	 * library again.
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

void datr_provider_put(struct datr_provider *provider)
{
	pthread_mutex_lock(&registry_lock);
	provider->users--;
	if (provider->owner)
		entry_put_locked(provider->owner);
	pthread_mutex_unlock(&registry_lock);
}

void datr_provider_keep_query(struct datr_provider *provider)
{
	pthread_mutex_lock(&registry_lock);
	provider->queries++;
	pthread_mutex_unlock(&registry_lock);
}

void datr_provider_put_query(const DAT_PROVIDER *table)
{
	struct datr_provider *provider;

	pthread_mutex_lock(&registry_lock);
	for (provider = providers; provider; provider = provider->next) {
		if (provider->table == table && provider->queries)
			break;
	}
	if (provider) {
		provider->queries--;
		datr_provider_put(provider);
	}
	pthread_mutex_unlock(&registry_lock);
}

/* ---- from a name to its provider ---- */

struct search {
	const DAT_PROVIDER_INFO *want;
	enum { SEARCH_ADDED, SEARCH_LINES, SEARCH_DEFAULT, SEARCH_END } stage;
	struct datr_entry *line; /* in dat.conf: the next line to try */
	enum match best;
	bool no_memory;
};

static bool search_matches(struct search *search, const DAT_PROVIDER_INFO *have)
{
	enum match match = info_match(have, search->want);

	if (match > search->best)
		search->best = match;
	return match == MATCH_ALL;
}

/*
 * Names that the program registered itself, or that a library registered beyond the name for which
 * it was loaded.
 */
static struct datr_provider *search_added_locked(struct search *search)
{
	for (struct datr_provider *provider = providers; provider; provider = provider->next) {
		if (provider->owner && info_equal(&provider->info, &provider->owner->info))
			continue;
		if (!search_matches(search, &provider->info))
			continue;
		provider->users++;
		if (provider->owner)
			provider->owner->users++;
		search->stage = SEARCH_END;
		return provider;
	}
	return NULL;
}

static struct datr_provider *search_lines_locked(struct search *search)
{
	struct datr_provider *provider = NULL;

	while (search->line && !provider) {
		struct datr_entry *entry = search->line;

		search->line = entry->next;
		if (search_matches(search, &entry->info))
			provider = entry_get_provider_locked(entry, search->want);
	}
	return provider;
}

static bool is_default_name(const char *name)
{
	size_t length = strlen(DEFAULT_NAME);

	return !strncmp(name, DEFAULT_NAME, length) &&
	       (!name[length] || (name[length] == '-' && name[length + 1]));
}

/*
 * A line or provider with that name and major version replaces the default name, even if it cannot
 * be used.
 */
static struct datr_provider *search_default_locked(struct search *search)
{
	const DAT_PROVIDER_INFO *want = search->want;
	struct datr_entry *entry;
	DAT_PROVIDER_INFO info;

	if (search->best >= MATCH_MAJOR || !is_default_name(want->ia_name))
		return NULL;
	datr_info_init(&info, want->ia_name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
		       want->is_thread_safe);
	if (!search_matches(search, &info))
		return NULL;
	for (entry = defaults; entry; entry = entry->next) {
		if (info_equal(&entry->info, &info))
			return entry_get_provider_locked(entry, want);
	}
	entry = datr_entry_alloc(&info, NULL, "");
	if (!entry) {
		search->no_memory = true;
		return NULL;
	}
	entry->next = defaults;
	defaults = entry;
	return entry_get_provider_locked(entry, want);
}

/* The next provider of the wanted name, referenced. */
static struct datr_provider *search_next(struct search *search)
{
	struct datr_provider *provider = NULL;

	pthread_mutex_lock(&registry_lock);
	if (search->stage == SEARCH_ADDED) {
		search->stage = SEARCH_LINES;
		search->line = conf_entries_locked();
		provider = search_added_locked(search);
	}
	if (!provider && search->stage == SEARCH_LINES) {
		provider = search_lines_locked(search);
		if (!provider)
			search->stage = SEARCH_DEFAULT;
	}
	if (!provider && search->stage == SEARCH_DEFAULT) {
		search->stage = SEARCH_END;
		provider = search_default_locked(search);
	}
	pthread_mutex_unlock(&registry_lock);
	return provider;
}

/* The reason why no provider has a name, by the best match. */
static const struct {
	DAT_RETURN subtype;
	const char *why; /* NULL: logged when the library failed */
} not_found[] = {
	[MATCH_NOTHING] = {DAT_NAME_NOT_REGISTERED,
			   "no line and no provider has this name (" DEFAULT_NAME
			   " and " DEFAULT_NAME "-PROVIDER need none)"},
	[MATCH_NAME] = {DAT_MAJOR_NOT_FOUND, "it exists for another major version of DAT only"},
	[MATCH_MAJOR] = {DAT_MINOR_NOT_FOUND, "it exists for an older minor version of DAT only"},
	[MATCH_MINOR] = {DAT_THREAD_SAFETY_NOT_FOUND,
			 "it exists with the other thread safety only"},
	[MATCH_ALL] = {DAT_NAME_NOT_REGISTERED, NULL},
};

static DAT_RETURN search_failed(const struct search *search)
{
	const DAT_PROVIDER_INFO *want = search->want;
	const char *why = not_found[search->best].why;

	if (search->no_memory)
		return DATR_NO_MEMORY;
	/* The path does not change any more after a search has read the file. */
	if (why)
		datr_log(DATR_LOG_ERROR,
			 "IA %s (%s, DAT %u.%u) is not found: %s; the file read is %s",
			 want->ia_name, want->is_thread_safe ? "threadsafe" : "nonthreadsafe",
			 (unsigned int)want->dapl_version_major,
			 (unsigned int)want->dapl_version_minor, why,
			 *conf.path ? conf.path : "none, there is no dat.conf");
	return DATR_ERR(DAT_PROVIDER_NOT_FOUND, not_found[search->best].subtype);
}

DAT_RETURN datr_registry_use(const DAT_PROVIDER_INFO *want, datr_use_fn use, void *arg,
			     struct datr_provider **provider_p)
{
	struct search search = {.want = want};
	struct datr_provider *provider;
	DAT_RETURN first = DAT_SUCCESS;
	DAT_RETURN ret;

	while ((provider = search_next(&search))) {
		ret = use(provider, arg);
		if (ret == DAT_SUCCESS) {
			*provider_p = provider;
			return DAT_SUCCESS;
		}
		datr_log(DATR_LOG_API, "IA %s: its provider answers %s", want->ia_name,
			 datr_type_text(ret));
		datr_provider_put(provider);
		if (first == DAT_SUCCESS)
			first = ret;
	}
	return first != DAT_SUCCESS ? first : search_failed(&search);
}

/* ---- listing ---- */

struct listing {
	DAT_PROVIDER_INFO **list; /* NULL: only count */
	DAT_COUNT room;
	DAT_COUNT count;
};

static void listing_put(struct listing *listing, const DAT_PROVIDER_INFO *info)
{
	if (listing->list && listing->count < listing->room)
		*listing->list[listing->count] = *info;
	listing->count++;
}

/* Whether a line before "end" describes the same entry. */
static bool is_listed(const DAT_PROVIDER_INFO *info, const struct datr_entry *end)
{
	for (const struct datr_entry *entry = conf.entries; entry != end; entry = entry->next) {
		if (info_equal(&entry->info, info))
			return true;
	}
	return false;
}

static void list_all_locked(struct listing *listing)
{
	struct search shadow = {0};
	DAT_PROVIDER_INFO info;

	datr_info_init(&info, DEFAULT_NAME, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, false);
	shadow.want = &info;
	for (struct datr_entry *entry = conf_entries_locked(); entry; entry = entry->next) {
		search_matches(&shadow, &entry->info);
		if (!is_listed(&entry->info, entry))
			listing_put(listing, &entry->info);
	}
	for (struct datr_provider *provider = providers; provider; provider = provider->next) {
		search_matches(&shadow, &provider->info);
		if (!is_listed(&provider->info, NULL))
			listing_put(listing, &provider->info);
	}
	if (shadow.best < MATCH_MAJOR)
		listing_put(listing, &info);
}

static bool room_is_there(DAT_PROVIDER_INFO *list[], DAT_COUNT count)
{
	if (!list)
		return false;
	for (DAT_COUNT i = 0; i < count; i++) {
		if (!list[i])
			return false;
	}
	return true;
}

/*
 * A short array is filled, because programs rely on it. Without any room the call returns the size.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *number_entries,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	struct listing all = {0};
	struct listing some = {.list = dat_provider_list, .room = max_to_return};
	DAT_RETURN ret = DAT_SUCCESS;

	if (!number_entries)
		return DATR_BAD_ARG(2);
	pthread_mutex_lock(&registry_lock);
	list_all_locked(&all);
	if (max_to_return <= 0) {
		*number_entries = all.count;
		ret = DATR_BAD_ARG(1);
		goto unlock;
	}
	if (some.room > all.count)
		some.room = all.count;
	if (!room_is_there(dat_provider_list, some.room)) {
		ret = DATR_BAD_ARG(3);
		goto unlock;
	}
	list_all_locked(&some);
	*number_entries = some.room;
unlock:
	pthread_mutex_unlock(&registry_lock);
	return ret;
}

#if DATR_DAT_MAJOR == 2
/* No provider offers high availability over several IAs. */
DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR name, const DAT_NAME_PTR other,
					  DAT_HA_RELATIONSHIP *related)
{
	if (!name)
		return DATR_BAD_ARG(1);
	if (!other)
		return DATR_BAD_ARG(2);
	if (!related)
		return DATR_BAD_ARG(3);
	return DATR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}
#endif
