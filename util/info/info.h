/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of dat_info know of each other. */
#ifndef UTIL_INFO_H
#define UTIL_INFO_H

#include <stdbool.h>
#include <stddef.h>

#include "common/common.h"

#define INFO_MAX_NAMES 256

struct info_name {
	char text[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 major, minor;
	DAT_BOOLEAN thread_safe;
};

struct info_names {
	struct info_name list[INFO_MAX_NAMES];
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

/* The name asked for, or all that dat.conf and libfabric offer. 0, or -1 and util_error(). */
int info_names_list(struct info_names *names, const char *asked);
/* Those of dat.conf, and "ofi", which the registry has always. */
int info_names_registered(struct info_names *names);

/* ---- attr.c: what an interface says of itself ---- */

/* A named attribute of the provider, "" when it has none. */
const char *info_named(const struct info_ia *ia, const char *name);
void info_text_attrs(FILE *out, const struct info_ia *ia);
void info_json_attrs(struct util_json *json, const struct info_ia *ia);

/* ---- facts.c: what it runs on, in the order in which people ask ---- */

void info_text_facts(FILE *out, const struct info_ia *ia, bool all);
void info_json_facts(struct util_json *json, const struct info_ia *ia);

/* ---- show.c ---- */

typedef void (*info_teller)(FILE *out, const char *name, const struct info_ia *ia);

/* Opens the interface and tells of it; writes why when it does not open. */
bool info_with_ia(FILE *out, const struct info_name *name, info_teller tell);

/* Opens each name and tells of it; true when one opened. */
bool info_show(const struct info_names *names, bool full, bool as_json);

/* ---- env.c ---- */

/* All variables of ours and what they are now. */
void info_env_show(bool as_json);
/* Calls back for each variable of ours that is set to another value than the default. */
void info_env_changed(void (*found)(void *arg, const char *name, const char *value), void *arg);

/* ---- fingerprint.c ---- */

/*
 * One line about the node, equal on equal nodes; true when all interfaces opened. root NULL: this
 * system.
 */
bool info_fingerprint(const struct info_names *names, const char *root);

#endif
