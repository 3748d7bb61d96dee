/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* From the name of an IA to its provider. */
#include <string.h>

#include "log.h"
#include "search.h"
#include "strerror.h"

struct search {
	const DAT_PROVIDER_INFO *want;
	enum { SEARCH_ADDED, SEARCH_LINES, SEARCH_DEFAULT, SEARCH_END } stage;
	struct datr_entry *line; /* in dat.conf: the next line to try */
	enum datr_match best;
	bool no_memory; /* or no descriptors */
};

static bool search_matches(struct search *search, const DAT_PROVIDER_INFO *have)
{
	enum datr_match match = datr_info_match(have, search->want);

	if (match > search->best)
		search->best = match;
	return match == DATR_MATCH_ALL;
}

/*
 * Names that the program registered itself, or that a library registered beyond the name for which
 * it was loaded.
 */
static struct datr_provider *search_added(struct search *search)
{
	for (struct datr_provider *provider = datr_registry_providers(); provider;
	     provider = provider->next) {
		if (provider->owner && datr_info_equal(&provider->info, &provider->owner->info))
			continue;
		if (!search_matches(search, &provider->info))
			continue;
		datr_provider_get(provider);
		search->stage = SEARCH_END;
		return provider;
	}
	return NULL;
}

static struct datr_provider *search_lines(struct search *search)
{
	struct datr_provider *provider = NULL;

	while (search->line && !provider) {
		struct datr_entry *entry = search->line;

		search->line = entry->next;
		if (search_matches(search, &entry->info))
			provider = datr_entry_get_provider(entry, search->want);
	}
	return provider;
}

static bool is_default_name(const char *name)
{
	size_t length = strlen(DATR_DEFAULT_NAME);

	return !strncmp(name, DATR_DEFAULT_NAME, length) &&
	       (!name[length] || (name[length] == '-' && name[length + 1]));
}

/*
 * A line or provider with that name and major version replaces the default name, even if it cannot
 * be used.
 */
static struct datr_provider *search_default(struct search *search)
{
	const DAT_PROVIDER_INFO *want = search->want;
	struct datr_entry *entry;
	DAT_PROVIDER_INFO info;

	if (search->best >= DATR_MATCH_MAJOR || !is_default_name(want->ia_name))
		return NULL;
	datr_info_init(&info, want->ia_name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
		       want->is_thread_safe);
	if (!search_matches(search, &info))
		return NULL;
	entry = datr_registry_default(&info);
	if (!entry) {
		search->no_memory = true;
		return NULL;
	}
	return datr_entry_get_provider(entry, want);
}

/* The next provider of the wanted name, referenced. */
static struct datr_provider *search_next(struct search *search)
{
	struct datr_provider *provider = NULL;

	datr_registry_lock();
	if (search->stage == SEARCH_ADDED) {
		search->stage = SEARCH_LINES;
		search->line = datr_registry_lines();
		provider = search_added(search);
		if (!provider && !datr_registry_is_read()) {
			search->no_memory = true;
			search->stage = SEARCH_END;
		}
	}
	if (!provider && search->stage == SEARCH_LINES) {
		provider = search_lines(search);
		if (!provider)
			search->stage = SEARCH_DEFAULT;
	}
	if (!provider && search->stage == SEARCH_DEFAULT) {
		search->stage = SEARCH_END;
		provider = search_default(search);
	}
	datr_registry_unlock();
	return provider;
}

/* The reason why no provider has a name, by the best match. */
static const struct {
	DAT_RETURN subtype;
	const char *why; /* NULL: the failure of the library was logged */
} not_found[] = {
	[DATR_MATCH_NOTHING] = {DAT_NAME_NOT_REGISTERED,
				"no line and no provider has this name (" DATR_DEFAULT_NAME
				" and " DATR_DEFAULT_NAME "-PROVIDER need none)"},
	[DATR_MATCH_NAME] = {DAT_MAJOR_NOT_FOUND,
			     "it exists for another major version of DAT only"},
	[DATR_MATCH_MAJOR] = {DAT_MINOR_NOT_FOUND,
			      "it exists for an older minor version of DAT only"},
	[DATR_MATCH_MINOR] = {DAT_THREAD_SAFETY_NOT_FOUND,
			      "it exists with the other thread safety only"},
	[DATR_MATCH_ALL] = {DAT_NAME_NOT_REGISTERED, NULL},
};

static DAT_RETURN search_failed(const struct search *search)
{
	const DAT_PROVIDER_INFO *want = search->want;
	const char *why = not_found[search->best].why;
	const char *file = datr_registry_file();

	if (search->no_memory)
		return DATR_NO_MEMORY;
	/* After a search the file has been read, so its path does not change any more. */
	if (why)
		datr_log(DATR_LOG_ERROR,
			 "IA %s (%s, DAT %u.%u) is not found: %s; the file read is %s",
			 want->ia_name, want->is_thread_safe ? "threadsafe" : "nonthreadsafe",
			 (unsigned int)want->dapl_version_major,
			 (unsigned int)want->dapl_version_minor, why,
			 *file ? file : "none, there is no dat.conf");
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
