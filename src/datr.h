/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the registry know of each other. */
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
	DATR_LOG_STATIC = 0x04,  /* dat.conf and what it names */
	DATR_LOG_DYNAMIC = 0x08, /* what providers register */
	DATR_LOG_API = 0x20,
};

/* One line, without a newline at its end. */
void datr_log(enum datr_log_type type, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- strerror.c ---- */

const char *datr_type_text(DAT_RETURN value); /* never NULL, valid for ever */

/* ---- loader.c ---- */

struct datr_library {
	void *handle;
	DAT_PROVIDER_INIT_FUNC init; /* may be NULL */
	DAT_PROVIDER_FINI_FUNC fini; /* may be NULL */
};

/*
 * File NULL is our own provider. "who" names the IA in messages. When false is returned, the reason
 * has been logged.
 */
bool datr_library_open(struct datr_library *lib, const char *file, const char *who);
void datr_library_close(struct datr_library *lib);

/* ---- conf.c ---- */

/* A way to reach a provider: a line of dat.conf, or a default name for as long as it is in use. */
struct datr_entry {
	struct datr_entry *next;
	DAT_PROVIDER_INFO info;
	const char *library;   /* NULL: our own provider */
	const char *ia_params; /* handed to the provider unchanged */
	unsigned int line;     /* in dat.conf, 0 for a default name */
	/* Used by registry.c, under its lock. */
	unsigned int users;
	struct datr_library lib; /* open while there are users */
	char text[];             /* library and ia_params */
};

struct datr_conf {
	struct datr_entry *entries; /* in file order, all API versions; once read they stay */
	char path[PATH_MAX];        /* the file that was read, "" without one */
};

void datr_conf_load(struct datr_conf *conf);

/* The file to read, its name in path; NULL when there is none. What can't be opened is logged. */
FILE *datr_conf_open(char *path, size_t size);

/* A line on its own. */
struct datr_line {
	const char *path; /* these two for messages, set by the caller */
	unsigned int number;
	DAT_PROVIDER_INFO info;
	const char *library;
	const char *ia_params;
	bool is_user; /* not for the kernel's library */
	bool is_default;
};

/*
 * Cuts the text, which has no newline, and lets line point into it. False when the line is no
 * entry: empty, only a comment, or wrong (then it has been logged why).
 */
bool datr_line_parse(char *text, struct datr_line *line);

/* NULL without memory. */
struct datr_entry *datr_entry_alloc(const DAT_PROVIDER_INFO *info, const char *library,
				    const char *ia_params);

/* False when the name is missing, empty or too long. */
bool datr_info_init(DAT_PROVIDER_INFO *info, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
		    bool thread_safe);

/* ---- registry.c ---- */

/* A name that a provider has registered. */
struct datr_provider {
	struct datr_provider *next;
	DAT_PROVIDER_INFO info;
	const DAT_PROVIDER *table;
	DAT_IA_OPEN_FUNC ia_open;
	struct datr_entry *owner; /* what loaded it; NULL when the program itself did */
	unsigned int users;
	unsigned int queries; /* those users that came by an open extension */
};

/*
 * Calls "use" with one provider of the wanted name after the other until it succeeds. That provider
 * then stays referenced, and its library loaded, until datr_provider_put(). Otherwise the first
 * error counts.
 */
typedef DAT_RETURN (*datr_use_fn)(const struct datr_provider *provider, void *arg);
DAT_RETURN datr_registry_use(const DAT_PROVIDER_INFO *want, datr_use_fn use, void *arg,
			     struct datr_provider **provider_p);
void datr_provider_put(struct datr_provider *provider);

/* A reference that is found again by the table of the provider; put does nothing without one. */
void datr_provider_keep_query(struct datr_provider *provider);
void datr_provider_put_query(const DAT_PROVIDER *table);

/* ---- handle.c ---- */

/* IA handles of consumers are numbers below this; no object lives at such an address. */
#define DATR_IA_LIMIT 65536u

/* NULL when no IA has this number. Takes no lock. */
DAT_IA_HANDLE datr_ia_lookup(DAT_IA_HANDLE number);

/* A number is reserved before the provider opens the IA, so that nothing can fail afterwards. */
DAT_IA_HANDLE datr_ia_reserve(void); /* NULL when there are no more */
void datr_ia_publish(DAT_IA_HANDLE number, DAT_IA_HANDLE ia, struct datr_provider *provider);
void datr_ia_release(DAT_IA_HANDLE number);

/* Only one thread gets to close an IA. The handle works until it is released. */
bool datr_ia_close_begin(DAT_IA_HANDLE number, DAT_IA_HANDLE *ia_p,
			 struct datr_provider **provider_p);
void datr_ia_close_cancel(DAT_IA_HANDLE number);

/* ---- ext.c ---- */

#if DATR_DAT_MAJOR == 2
void datr_extensions_enable(void);
#endif

/* ---- dispatch ---- */

/* Neither null nor the number of an IA, so there is a provider pointer to follow. */
static inline bool datr_is_pointer(DAT_HANDLE handle)
{
	return (uintptr_t)handle >= DATR_IA_LIMIT;
}

/* The number of an open IA becomes the provider's pointer, anything else stays as it is. */
static inline DAT_HANDLE datr_any_handle(DAT_HANDLE handle)
{
	return datr_is_pointer(handle) ? handle : datr_ia_lookup(handle);
}

/*
 * Jump through the provider table that the handle's first word points at. "args" is the list of
 * arguments in parentheses.
 */
#define DATR_CALL(handle, bad_handle, slot, args)                            \
	(!datr_is_pointer(handle) ? DATR_ERR(DAT_INVALID_HANDLE, bad_handle) \
	 : !DAT_HANDLE_TO_PROVIDER(handle)->slot                             \
		 ? DATR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)         \
		 : DAT_HANDLE_TO_PROVIDER(handle)->slot args)

#endif
