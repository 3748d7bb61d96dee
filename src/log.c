/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "log.h"
#include "version.h"

/*
 * The bits of DAT_DBG_DEST. The default is standard error, because scripts often parse the standard
 * output of programs.
 */
enum log_dest {
	DEST_STDOUT = 0x1,
	DEST_SYSLOG = 0x2,
	DEST_STDERR = 0x4,
};

static pthread_once_t log_once = PTHREAD_ONCE_INIT;
static unsigned long log_types;
static unsigned long log_dests;

enum variable {
#define DATR_VARIABLE(name, kind, value, help) name,
#include "variables.def"
#undef DATR_VARIABLE
};

static const struct {
	const char *name, *value;
} variables[] = {
#define DATR_VARIABLE(name, kind, value, help) {#name, value},
#include "variables.def"
#undef DATR_VARIABLE
};

static unsigned long env_bits(enum variable variable)
{
	const char *text = secure_getenv(variables[variable].name);

	return strtoul(text && *text ? text : variables[variable].value, NULL, 0);
}

static void log_init(void)
{
	log_types = env_bits(DAT_DBG_TYPE);
	log_dests = env_bits(DAT_DBG_DEST);
}

void datr_log(enum datr_log_type type, const char *fmt, ...)
{
	char text[8192];
	va_list args;

	pthread_once(&log_once, log_init);
	if (!(log_types & type))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);

	/* One call per line, so that lines of several threads or processes do not mix. */
	if (log_dests & DEST_STDOUT) {
		printf(DATR_LIBRARY ": %s\n", text);
		fflush(stdout);
	}
	if (log_dests & DEST_STDERR)
		fprintf(stderr, DATR_LIBRARY ": %s\n", text);
	if (log_dests & DEST_SYSLOG)
		syslog(LOG_USER | (type == DATR_LOG_ERROR ? LOG_ERR : LOG_DEBUG),
		       DATR_LIBRARY ": %s", text);
}
