/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Declarations that the files of the registry share. */
#ifndef DATR_DATR_H
#define DATR_DATR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "version.h"

/* ---- log.c ---- */

/* The bits of DAT_DBG_TYPE. */
enum datr_log_type {
	DATR_LOG_ERROR = 0x01,
	DATR_LOG_STATIC = 0x04,  /* dat.conf and its lines */
	DATR_LOG_DYNAMIC = 0x08, /* registrations of providers */
	DATR_LOG_API = 0x20,
};

/* One line, without a newline at its end. */
void datr_log(enum datr_log_type type, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- strerror.c ---- */

const char *datr_type_text(DAT_RETURN value); /* never NULL, valid for the life of the process */

/* ---- loader.c ---- */

struct datr_library {
	void *handle;
	DAT_PROVIDER_INIT_FUNC init; /* may be NULL */
	DAT_PROVIDER_FINI_FUNC fini; /* may be NULL */
};

/*
 * File NULL is the provider of this project. "who" names the IA in messages. If false is returned,
 * the reason has been logged.
 */
bool datr_library_open(struct datr_library *lib, const char *file, const char *who);
void datr_library_close(struct datr_library *lib);

/* ---- conf.c ---- */

/*
 * An entry by which a provider can be loaded: a line of dat.conf, or a default name while it is in
 * use.
 */
struct datr_entry {
	struct datr_entry *next;
	DAT_PROVIDER_INFO info;
	const char *library;   /* NULL: the provider of this project */
	const char *ia_params; /* passed to the provider unchanged */
	unsigned int line;     /* line in dat.conf, 0 for a default name */
	/* Used by registry.c, with its lock held. */
	unsigned int users;
	struct datr_library lib; /* open while users > 0 */
	char text[];             /* identifies library and ia_params */
};

struct datr_conf {
	struct datr_entry *entries; /* in file order, for all API versions; they are never freed */
	char path[PATH_MAX];        /* the file that was read, or "" */
};

void datr_conf_load(struct datr_conf *conf);

/*
 * Finds the file to read and stores its name in path. NULL if there is none. Files that cannot be
 * opened are logged.
 */
FILE *datr_conf_open(char *path, size_t size);

/* A line on its own. */
struct datr_line {
	const char *path; /* both for messages, set by the caller */
	unsigned int number;
	DAT_PROVIDER_INFO info;
	const char *library;
	const char *ia_params;
	bool is_user; /* not for the library of the kernel */
	bool is_default;
};

/*
 * Splits the text, which has no newline. The line points into the text. False if the line is no
 * entry: empty, only a comment, or wrong; then the reason has been logged.
 */
bool datr_line_parse(char *text, struct datr_line *line);

/* NULL if out of memory. */
struct datr_entry *datr_entry_alloc(const DAT_PROVIDER_INFO *info, const char *library,
				    const char *ia_params);

/* False if the name is missing, empty or too long. */
bool datr_info_init(DAT_PROVIDER_INFO *info, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
		    bool thread_safe);

/* ---- registry.c ---- */

/* A name that a provider has registered. */
struct datr_provider {
	struct datr_provider *next;
	DAT_PROVIDER_INFO info;
	const DAT_PROVIDER *table;
	DAT_IA_OPEN_FUNC ia_open;
	/* the entry that loaded it; NULL if the program itself registered it */
	struct datr_entry *owner;
	unsigned int users;
	unsigned int queries; /* number of users that came by an open extension */
};

/*
 * Calls "use" with each provider of the wanted name in turn until it succeeds. That provider then
 * stays referenced and its library loaded until datr_provider_put(). If all fail, returns the first
 * error.
 */
typedef DAT_RETURN (*datr_use_fn)(const struct datr_provider *provider, void *arg);
DAT_RETURN datr_registry_use(const DAT_PROVIDER_INFO *want, datr_use_fn use, void *arg,
			     struct datr_provider **provider_p);
void datr_provider_put(struct datr_provider *provider);

/*
 * Takes a reference that was found by the provider's table. put does nothing without a reference.
 */
void datr_provider_keep_query(struct datr_provider *provider);
void datr_provider_put_query(const DAT_PROVIDER *table);

/* ---- handle.c ---- */

/* IA handles of consumers are numbers below this limit. No object has such an address. */
#define DATR_IA_LIMIT 65536u

/* NULL when no IA has this number. Takes no lock. */
DAT_IA_HANDLE datr_ia_lookup(DAT_IA_HANDLE number);

/*
 * The number is reserved before the provider opens the IA, so that nothing can fail after the open.
 */
DAT_IA_HANDLE datr_ia_reserve(void); /* NULL if there are no more numbers */
void datr_ia_publish(DAT_IA_HANDLE number, DAT_IA_HANDLE ia, struct datr_provider *provider);
void datr_ia_release(DAT_IA_HANDLE number);

/* Exactly one thread gets to close an IA. The handle is valid until it is released. */
bool datr_ia_close_begin(DAT_IA_HANDLE number, DAT_IA_HANDLE *ia_p,
			 struct datr_provider **provider_p);
void datr_ia_close_cancel(DAT_IA_HANDLE number);

/* ---- ext.c ---- */

#if DATR_DAT_MAJOR == 2
void datr_extensions_enable(void);
#endif

/* ---- dispatch ---- */

/*
 * Whether the handle is neither null nor the number of an IA, so that it points to a provider
 * table.
 */
static inline bool datr_is_pointer(DAT_HANDLE handle)
{
	return (uintptr_t)handle >= DATR_IA_LIMIT;
}

/* Replaces the number of an open IA by the provider's pointer. Leaves other handles unchanged. */
static inline DAT_HANDLE datr_any_handle(DAT_HANDLE handle)
{
	return datr_is_pointer(handle) ? handle : datr_ia_lookup(handle);
}

/*
 * Calls a function of the provider table to which the first word of the handle points. "args" is
 * the list of arguments in parentheses.
 */
#define DATR_CALL(handle, bad_handle, slot, args)                            \
	(!datr_is_pointer(handle) ? DATR_ERR(DAT_INVALID_HANDLE, bad_handle) \
	 : !DAT_HANDLE_TO_PROVIDER(handle)->slot                             \
		 ? DATR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)         \
		 : DAT_HANDLE_TO_PROVIDER(handle)->slot args)

#endif
