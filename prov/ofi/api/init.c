/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider's entry points. A registry calls dat_provider_init once for each IA name of
 * dat.conf (or default name); no device is looked at before the IA is opened.
 */
#include "api/init.h"

#include "object/ia.h"
#include "base/log.h"
#include "base/secure.h"
#include "api/ia.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT                     __attribute__((visibility("default")))

/* Symbol version of the registry of our generation. */
#define TEXT_OF(x)                 #x
#define VERSION_NODE(major, minor) "DAT_" TEXT_OF(major) "." TEXT_OF(minor)

typedef DAT_RETURN (*registry_fn)(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);

/*
 * A line of dat.conf with its own table: registries find the name again, when an IA is closed, by
 * the table's device_name. Never freed, as handles point to it; a line that comes again finds it
 * here. Several lines of one name may be registered at the same time: one has an open IA, and
 * another is tried.
 */
struct entry {
	struct entry *next;
	DAT_PROVIDER provider;
	DAT_PROVIDER_INFO info;
	char *ia_params;
	const DAT_PROVIDER_INFO *line; /* what the registry calls it; only compared */
	bool registered;
	unsigned int nth; /* while it is registered: selects the function that opens it */
};

static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries; /* guarded by entries_lock */

/* The registry's functions; set by the first init, before any IA can exist. */
static struct {
	registry_fn add, remove;
} registry;

/* --- the registry that loaded us --- */

/*
 * A process may hold the registries of both generations, under the same names, and may have
 * loaded them where plain symbol lookup does not see them. So ask the one that called us first.
 */
static void *open_caller(const void *address)
{
	Dl_info where;

	if (!dladdr(address, &where) || !where.dli_fname)
		return NULL;
	return dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static void *find_symbol(void *caller, const char *name)
{
	void *symbol = caller ? dlsym(caller, name) : NULL;

	if (!symbol)
		symbol = dlvsym(RTLD_DEFAULT, name,
				VERSION_NODE(DAT_VERSION_MAJOR, DAT_VERSION_MINOR));
	return symbol ? symbol : dlsym(RTLD_DEFAULT, name);
}

static bool find_registry(const void *address)
{
	void *caller;

	if (registry.add && registry.remove)
		return true;
	/* Stays open, so that the functions stay where they are. */
	caller = open_caller(address);
	registry.add = (registry_fn)find_symbol(caller, "dat_registry_add_provider");
	registry.remove = (registry_fn)find_symbol(caller, "dat_registry_remove_provider");
	dofi_obj_set_ia_numbers((dofi_ia_number_fn *)find_symbol(caller, "dats_get_ia_handle"));
	return registry.add && registry.remove;
}

/* --- entries --- */

static bool has_name(const struct entry *e, const char *ia_name, DAT_BOOLEAN thread_safe)
{
	return !strcmp(e->info.ia_name, ia_name) && !e->info.is_thread_safe == !thread_safe;
}

static struct entry *find_nth(const char *ia_name, DAT_BOOLEAN thread_safe, unsigned int nth)
{
	for (struct entry *e = entries; e; e = e->next)
		if (e->registered && e->nth == nth && has_name(e, ia_name, thread_safe))
			return e;
	return NULL;
}

/*
 * The registered entry of a line; NULL if the registry has refused the line. Any one of its name if
 * the registry calls it otherwise now.
 */
static struct entry *find_line(const DAT_PROVIDER_INFO *line)
{
	struct entry *other = NULL;
	bool known = false;

	for (struct entry *e = entries; e; e = e->next) {
		if (!has_name(e, line->ia_name, line->is_thread_safe))
			continue;
		if (e->registered && e->line == line)
			return e;
		known |= e->line == line;
		if (e->registered)
			other = e;
	}
	return known ? NULL : other;
}

/* An entry that was made for these parameters and is not registered now. */
static struct entry *find_unused(const DAT_PROVIDER_INFO *info, const char *ia_params)
{
	for (struct entry *e = entries; e; e = e->next)
		if (!e->registered && !strcmp(e->ia_params, ia_params) &&
		    has_name(e, info->ia_name, info->is_thread_safe))
			return e;
	return NULL;
}

static struct entry *new_entry(const DAT_PROVIDER_INFO *info, const char *ia_params)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->ia_params = strdup(ia_params);
	if (!e->ia_params) {
		free(e);
		return NULL;
	}
	e->info = *info;
	e->provider = dofi_provider;
	e->provider.device_name = e->info.ia_name;
	e->next = entries;
	entries = e;
	return e;
}

/* Marks the entry as registered. False if as many lines of the name are registered already. */
static bool take_number(struct entry *e, const DAT_PROVIDER_INFO *line)
{
	unsigned int nth = 0;

	while (nth < DOFI_IA_LINES && find_nth(line->ia_name, line->is_thread_safe, nth))
		nth++;
	if (nth == DOFI_IA_LINES)
		return false;
	e->provider.ia_open_func = dofi_ia_open_of(line->is_thread_safe, nth);
	e->line = line;
	e->nth = nth;
	e->registered = true;
	return true;
}

/*
 * The entry of the line, which is marked as registered, and whether it was registered before. NULL,
 * after a message: it can't be registered.
 */
static struct entry *entry_for(const DAT_PROVIDER_INFO *info, const char *ia_params, bool *before_p)
{
	const char *why = NULL;
	struct entry *e;

	pthread_mutex_lock(&entries_lock);
	e = find_line(info);
	*before_p = e && e->line == info;
	if (!*before_p) {
		e = find_unused(info, ia_params);
		if (!e)
			e = new_entry(info, ia_params);
		why = !e                      ? "out of memory"
		      : !take_number(e, info) ? "too many lines of its name are in use"
					      : NULL;
	}
	pthread_mutex_unlock(&entries_lock);
	if (why)
		DOFI_LOG_E("IA %s can't be offered to the registry: %s", info->ia_name, why);
	return why ? NULL : e;
}

/* Whether another line of ours has the name: some registries take one line of a name at a time. */
static bool take_back(struct entry *e)
{
	bool other;

	pthread_mutex_lock(&entries_lock);
	e->registered = false;
	other = find_line(&e->info);
	pthread_mutex_unlock(&entries_lock);
	return other;
}

/*
 * Registers the line. If it is registered, this changes nothing, unless the program has removed it
 * from the registry (REG-022). The registry may call dat_provider_init with its lock held, so it is
 * called without ours. Entries are never freed.
 */
static void add_entry(const DAT_PROVIDER_INFO *info, const char *ia_params)
{
	bool before;
	struct entry *e = entry_for(info, ia_params, &before);
	DAT_RETURN ret;

	if (!e)
		return;
	ret = registry.add(&e->provider, &e->info);
	if (ret != DAT_SUCCESS && !before && !take_back(e))
		DOFI_LOG_E("IA %s: the registry refuses to offer it (DAT_RETURN 0x%x)%s",
			   info->ia_name, ret,
			   DAT_GET_TYPE(ret) == DAT_PROVIDER_ALREADY_REGISTERED
				   ? ": another provider serves that name; rename one of the two "
				     "lines in dat.conf"
				   : "");
}

const DAT_PROVIDER *dofi_init_lookup(const char *ia_name, DAT_BOOLEAN thread_safe, unsigned int nth,
				     const char **ia_params_p)
{
	struct entry *e;

	pthread_mutex_lock(&entries_lock);
	e = find_nth(ia_name, thread_safe, nth);
	pthread_mutex_unlock(&entries_lock);
	if (!e)
		return NULL;
	*ia_params_p = e->ia_params;
	return &e->provider;
}

/* --- entry points --- */

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *ia_params)
{
	const char *level = secure_getenv("DAT_OFI_LOG");
	bool found;

	dofi_log_set_level(level ? level : "");
	dofi_secure_environment();
	if (!info || !memchr(info->ia_name, '\0', sizeof(info->ia_name)))
		return;
	if (info->dapl_version_major != DAT_VERSION_MAJOR ||
	    info->dapl_version_minor != DAT_VERSION_MINOR) {
		DOFI_LOG_E("IA %s asks for DAT %u.%u; this library serves DAT %u.%u: correct the "
			   "version or the library in dat.conf",
			   info->ia_name, info->dapl_version_major, info->dapl_version_minor,
			   DAT_VERSION_MAJOR, DAT_VERSION_MINOR);
		return;
	}
	pthread_mutex_lock(&entries_lock);
	found = find_registry(__builtin_return_address(0));
	pthread_mutex_unlock(&entries_lock);
	if (found)
		add_entry(info, ia_params ? ia_params : "");
	else
		DOFI_LOG_E("IA %s: nothing in this process is a DAT registry that could offer it; "
			   "link the program with libdat or libdat2 and let that load the provider",
			   info->ia_name);
}

EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct entry *e;

	if (!info)
		return;
	pthread_mutex_lock(&entries_lock);
	e = find_line(info);
	if (e)
		e->registered = false;
	pthread_mutex_unlock(&entries_lock);
	if (e)
		registry.remove(&e->provider, &e->info);
}

/* libdat2 only checks that the symbol exists. */
EXPORT void dapl_extensions(void);

EXPORT void dapl_extensions(void)
{
}
