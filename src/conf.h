/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat.conf: the file, its lines, and the entries by which providers are loaded. */
#ifndef DATR_CONF_H
#define DATR_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "loader.h"
#include "version.h"

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
	/* Guarded by the lock of registry.c. */
	unsigned int users;
	struct datr_library lib; /* open while users > 0 */
	char text[];             /* identifies library and ia_params */
};

struct datr_conf {
	struct datr_entry *entries; /* in file order, for all API versions; they are never freed */
	char path[PATH_MAX];        /* the file that was read, or "" */
};

/* False if the file cannot be opened now, for lack of descriptors or memory. */
bool datr_conf_load(struct datr_conf *conf);

/*
 * The files that are read without DAT_OVERRIDE: the first one that exists. The last one is that of
 * OFED's packages on EL and Fedora.
 */
#define DATR_CONF_DEFAULTS DAT_CONF_DIR "/dat.conf", "/etc/dat.conf", "/etc/rdma/dat.conf"

/*
 * Finds the file to read and stores its name in path. NULL if there is none, or if descriptors or
 * memory are lacking. Files that cannot be opened are logged.
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

#endif
