/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX	      "dat-ofi: "
#define LINE_MAX_SIZE 4096

_Atomic enum dofi_log_level dofi_log_level = DOFI_LOG_WARN;

static const char *const level_words[] = {
	[DOFI_LOG_OFF] = "off",	  [DOFI_LOG_ERROR] = "error", [DOFI_LOG_WARN] = "warn",
	[DOFI_LOG_INFO] = "info", [DOFI_LOG_DEBUG] = "debug",
};

void dofi_log_set_level(const char *word)
{
	for (size_t i = 0; i < sizeof(level_words) / sizeof(level_words[0]); i++) {
		if (!strcmp(word, level_words[i])) {
			dofi_log_level = (enum dofi_log_level)i;
			return;
		}
	}
	DOFI_LOG_W("log=%s: no such level; known are off, error, warn, info and debug", word);
}

/* Text may hold what a peer or a file said: no control characters reach the terminal. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/* One write, so that lines of several threads and processes don't mix. */
static void put(const char *line, size_t size)
{
	ssize_t n;

	do
		n = write(STDERR_FILENO, line, size);
	while (n < 0 && errno == EINTR);
}

void dofi_log_text(const char *text, size_t size)
{
	put(text, size);
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
		put(line, (size_t)size + 1);
	}
	errno = saved_errno;
}
