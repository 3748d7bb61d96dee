/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions and structures of the files of dat_info. */
#ifndef UTIL_INFO_H
#define UTIL_INFO_H

#include <stdbool.h>
#include <stddef.h>

#include "common/common.h"

/* Programs that ask for thread safety or not, or for another version, get different entries. */
struct info_name {
	char text[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 major, minor;
	DAT_BOOLEAN thread_safe;
};

struct info_names {
	struct info_name *list;
	size_t count;
	size_t other_api; /* entries for DAT 1.2 */
};

/* An interface that is open. */
struct info_ia {
	DAT_IA_HANDLE handle;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;
};

/* ---- names.c ---- */

/*
 * Lists the entries of the given name, or of all names of dat.conf and libfabric. 0, or -1 and
 * util_error(). The caller calls info_names_free() in any case.
 */
int info_names_list(struct info_names *names, const char *asked);
/* Lists the names of dat.conf, and "ofi", which the registry always has. */
int info_names_registered(struct info_names *names);
void info_names_free(struct info_names *names);

/* ---- attr.c: attributes of an interface ---- */

/* A named attribute of the provider, "" when it has none. */
const char *info_named(const struct info_ia *ia, const char *name);
void info_text_attrs(FILE *out, const struct info_ia *ia);
void info_json_attrs(struct util_json *json, const struct info_ia *ia);

/* ---- facts.c: its device and fabric ---- */

void info_text_facts(FILE *out, const struct info_ia *ia, bool all);
void info_json_facts(struct util_json *json, const struct info_ia *ia);

/* ---- show.c ---- */

typedef void (*info_teller)(FILE *out, const struct info_name *name, const struct info_ia *ia);

/* Opens the interface and calls `tell`; writes the reason if it does not open. */
bool info_with_ia(FILE *out, const struct info_name *name, info_teller tell);

/* Opens each name and describes it; true if one opened. */
bool info_show(const struct info_names *names, bool full, bool as_json);

/* ---- env.c ---- */

/* Prints all variables of this project and their values. */
void info_env_show(bool as_json);
/* Calls found() for each variable of this project whose value is not the default. */
void info_env_changed(void (*found)(void *arg, const char *name, const char *value), void *arg);
/* Calls found() for each variable that looks like one of the provider and has no meaning. */
void info_env_unknown(void (*found)(void *arg, const char *name), void *arg);
/* Whether the first `len` characters are the name of a parameter in dat.conf. */
bool info_env_is_param(const char *name, size_t len);

/* ---- fingerprint.c ---- */

/*
 * Prints one line about the node, which is equal on equal nodes. True if all interfaces opened.
 * root NULL: this system.
 */
bool info_fingerprint(const struct info_names *names, const char *root);

#endif
