/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The list of the names of IAs. */
#include "registry.h"

struct listing {
	DAT_PROVIDER_INFO **list; /* NULL: only count */
	DAT_COUNT room;
	DAT_COUNT count;
	DAT_PROVIDER_INFO default_info;
	enum datr_match best; /* best match with the default name among the listed entries */
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
	for (const struct datr_entry *entry = datr_registry_lines(); entry != end;
	     entry = entry->next) {
		if (datr_info_equal(&entry->info, info))
			return true;
	}
	return false;
}

/* Lists an entry unless it is listed already. Raises "best" to its match with the default name. */
static void list_one(struct listing *listing, const DAT_PROVIDER_INFO *info,
		     const struct datr_entry *end)
{
	enum datr_match match = datr_info_match(info, &listing->default_info);

	if (match > listing->best)
		listing->best = match;
	if (!is_listed(info, end))
		listing_put(listing, info);
}

static void list_all(struct listing *listing)
{
	struct datr_entry *lines = datr_registry_lines();
	struct datr_provider *providers = datr_registry_providers();

	datr_info_init(&listing->default_info, DATR_DEFAULT_NAME, DAT_VERSION_MAJOR,
		       DAT_VERSION_MINOR, false);
	for (struct datr_entry *entry = lines; entry; entry = entry->next)
		list_one(listing, &entry->info, entry);
	for (struct datr_provider *provider = providers; provider; provider = provider->next)
		list_one(listing, &provider->info, NULL);
	if (listing->best < DATR_MATCH_MAJOR)
		listing_put(listing, &listing->default_info);
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
 * A short array is filled as far as it goes, because programs rely on it. With no room at all the
 * call returns the number of entries.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *number_entries,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	struct listing all = {0};
	struct listing some = {.list = dat_provider_list, .room = max_to_return};
	DAT_RETURN ret = DAT_SUCCESS;

	if (!number_entries)
		return DATR_BAD_ARG(2);
	datr_registry_lock();
	list_all(&all);
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
	list_all(&some);
	*number_entries = some.room;
unlock:
	datr_registry_unlock();
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
