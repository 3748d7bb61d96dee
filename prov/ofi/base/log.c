/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define PREFIX        "dat-ofi: "
#define LINE_MAX_SIZE 4096

#define LIMIT_SECONDS 10
#define LIMIT_LINES   5

_Atomic enum dofi_log_level dofi_log_level = DOFI_LOG_WARN;

static const char *const level_words[] = {
	[DOFI_LOG_OFF] = "off",   [DOFI_LOG_ERROR] = "error", [DOFI_LOG_WARN] = "warn",
	[DOFI_LOG_INFO] = "info", [DOFI_LOG_DEBUG] = "debug",
};

/* The bits of DAPL_DBG_DEST as in OFED, and standard error as in DAT_DBG_DEST. */
enum dest { DEST_STDOUT = 1, DEST_SYSLOG = 2, DEST_STDERR = 4 };

static _Atomic unsigned int dests = DEST_STDERR;

/*
 * The bits of DAPL_DBG_TYPE stand for parts of OFED's code. Ordered from our most verbose level to
 * the least verbose.
 */
static const struct {
	unsigned long bits;
	enum dofi_log_level level;
} ofed_types[] = {
	{0xffffffff & ~0x3848bul, DOFI_LOG_DEBUG}, /* all but those below */
	{0x28408, DOFI_LOG_INFO},                  /* connections, exceptions, extensions */
	{0x10002, DOFI_LOG_WARN},
	{0x00081, DOFI_LOG_ERROR},
};

static bool ofed_bits(const char *name, unsigned long *bits_p)
{
	const char *text = secure_getenv(name);
	char *end;

	if (!text || !*text)
		return false;
	*bits_p = strtoul(text, &end, 0);
	return !*end;
}

static enum dofi_log_level default_level(void)
{
	unsigned long bits;

	if (!ofed_bits("DAPL_DBG_TYPE", &bits))
		return DOFI_LOG_WARN;
	for (size_t i = 0; i < sizeof(ofed_types) / sizeof(ofed_types[0]); i++)
		if (bits & ofed_types[i].bits)
			return ofed_types[i].level;
	return DOFI_LOG_OFF;
}

bool dofi_log_level_of(const char *word, enum dofi_log_level *level_p)
{
	for (size_t i = 0; i < sizeof(level_words) / sizeof(level_words[0]); i++) {
		if (strcmp(word, level_words[i]))
			continue;
		*level_p = (enum dofi_log_level)i;
		return true;
	}
	return false;
}

void dofi_log_set_level(const char *word)
{
	enum dofi_log_level level;
	unsigned long bits;

	dests = ofed_bits("DAPL_DBG_DEST", &bits) && bits & 7 ? (unsigned int)bits & 7
							      : DEST_STDERR;
	if (!*word)
		dofi_log_level = default_level();
	else if (dofi_log_level_of(word, &level))
		dofi_log_level = level;
	else
		DOFI_LOG_W("log=%s: no such level; known are off, error, warn, info and debug",
			   word);
}

/* Text may come from a peer or a file: control characters must not reach the terminal. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/* One write, so that lines of several threads and processes don't mix. */
static void write_all(int fd, const char *text, size_t size)
{
	ssize_t n;

	do
		n = write(fd, text, size);
	while (n < 0 && errno == EINTR);
}

static void write_text(enum dofi_log_level level, const char *text, size_t size)
{
	static const int priorities[] = {LOG_NOTICE, LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
	unsigned int to = dests;

	if (to & DEST_STDOUT)
		write_all(STDOUT_FILENO, text, size);
	if (to & DEST_STDERR)
		write_all(STDERR_FILENO, text, size);
	for (const char *end; to & DEST_SYSLOG && size && (end = memchr(text, '\n', size));
	     size -= (size_t)(end + 1 - text), text = end + 1)
		syslog(LOG_USER | priorities[level], "%.*s", (int)(end - text), text);
}

void dofi_log_text(const char *text, size_t size)
{
	write_text(DOFI_LOG_OFF, text, size);
}

void dofi_log_line(enum dofi_log_level level, const char *fmt, ...)
{
	char line[LINE_MAX_SIZE] = PREFIX;
	const size_t room = sizeof(line) - strlen(PREFIX) - 1;
	int saved_errno = errno, size;
	va_list args;

	if (level > dofi_log_level)
		return;
	va_start(args, fmt);
	size = vsnprintf(line + strlen(PREFIX), room, fmt, args);
	va_end(args);
	if (size >= 0) {
		make_printable(line);
		if ((size_t)size >= room)
			memcpy(line + sizeof(line) - 5, "...", 4);
		size = (int)strlen(line);
		line[size] = '\n';
		write_text(level, line, (size_t)size + 1);
	}
	errno = saved_errno;
}

static void say_left_out(struct dofi_log_limit *limit, enum dofi_log_level level, const char *name)
{
	if (limit->left_out)
		dofi_log_line(level, "%s: %u messages like the next one were left out", name,
			      limit->left_out);
	limit->left_out = 0;
}

bool dofi_log_permit(struct dofi_log_limit *limit, enum dofi_log_level level, const char *name)
{
	struct timespec now = {0};

	if (atomic_load_explicit(&dofi_log_level, memory_order_relaxed) < level)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!limit->written || (uint64_t)now.tv_sec - limit->since >= LIMIT_SECONDS) {
		limit->since = (uint64_t)now.tv_sec;
		limit->written = 0;
		say_left_out(limit, level, name);
	}
	if (limit->written < LIMIT_LINES) {
		limit->written++;
		return true;
	}
	limit->left_out++;
	return false;
}
