/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat_info --check: finds settings of this machine and environment that hinder DAT programs. */
#ifndef UTIL_CHECK_H
#define UTIL_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "common/common.h"

enum check_verdict { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct check {
	const char *root;       /* root of the file system, "" for / */
	struct util_json *json; /* NULL: text */
	const char *topic;
	enum check_verdict worst;
};

/* Runs all checks; root NULL for this system. Returns the worst verdict. */
enum check_verdict check_run(const char *root, bool as_json);

/* ---- check.c, for the checks ---- */

/* Reports a verdict; remedy: what to do, or NULL. */
void check_say(struct check *check, enum check_verdict verdict, const char *remedy, const char *fmt,
	       ...) __attribute__((format(printf, 4, 5)));

/* Paths are relative to check->root. */
bool check_exists(const struct check *check, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Reads the first line of a file, "" when there is none. */
void check_read(const struct check *check, const char *path, char *text, size_t size);
/* Reads the last component of the target of a symbolic link, "" when there is none. */
void check_link(const struct check *check, const char *path, char *text, size_t size);

/* Names in a folder; the caller frees them. */
struct check_list {
	char **names;
	size_t count;
};

void check_folder(const struct check *check, const char *path, struct check_list *list);
void check_list_free(struct check_list *list);

/* Whether a variable is set to another value than 0 or no. */
bool check_env(const char *name);

/* ---- the checks ---- */

/* check_host.c */
void check_memlock(struct check *check);
void check_addresses(struct check *check);
void check_host_name(struct check *check);
void check_fork(struct check *check);
void check_shared_memory(struct check *check);
void check_remote_copies(struct check *check);
/* check_device.c */
void check_devices(struct check *check);
void check_slingshot(struct check *check);
void check_efa(struct check *check);
bool check_has_rdma(const struct check *check);
/* check_setup.c */
void check_conf(struct check *check);
void check_libraries(struct check *check);
void check_fabrics(struct check *check);
void check_variables(struct check *check);
/* Reads the file that the registries read, below check->root. 0, or -1 with util_error() set. */
struct conf_file;
int check_conf_read(const struct check *check, struct conf_file *file);
/* check_key.c */
void check_key(struct check *check);
/* check_consumer.c */
void check_links(struct check *check);
void check_names(struct check *check);
void check_impi(struct check *check);

#endif
