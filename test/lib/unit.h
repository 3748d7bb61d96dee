/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For all test programs, also those without an IA. */
#ifndef T_UNIT_H
#define T_UNIT_H

#include "t_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A test that cannot run here calls t_skip with the reason. Check has no skips: the test fails with
 * this mark, and t_run_all turns the failure into a skip.
 */
#define T_SKIP      "SKIP: "
#define t_skip(why) ck_abort_msg(T_SKIP "%s", why)

/* "not ok 5 - file:case:test: SKIP: why" becomes "ok 5 - file:case:test # SKIP why". */
static inline void t_filter_line(FILE *to, const char *line)
{
	const char *mark = strncmp(line, "not ok ", 7) ? NULL : strstr(line, ": " T_SKIP);

	if (mark)
		fprintf(to, "%.*s # SKIP %s", (int)(mark - line) - 4, line + 4,
			mark + strlen(": " T_SKIP));
	else
		fputs(line, to);
	fflush(to);
}

/* Copies TAP from the pipe to the file `name`. Check writes the plan as its last line. */
static inline void t_filter_tap(FILE *from, const char *name)
{
	FILE *to = strcmp(name, "-") ? fopen(name, "w") : stdout;
	size_t size = 0;
	char *line = NULL;

	while (to && getline(&line, &size, from) > 0) {
		t_filter_line(to, line);
		if (!strncmp(line, "1..", 3))
			break;
	}
	free(line);
	_exit(to ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Starts a process that filters Check's TAP. Returns its id, or 0 if TAP is not asked for. */
static inline pid_t t_filter_start(SRunner *runner, int *fd_p)
{
	const char *name = getenv("CK_TAP_LOG_FILE_NAME");
	static char path[32]; /* Check keeps the pointer */
	int fds[2];
	pid_t pid;

	if (!name || pipe(fds))
		return 0;
	pid = fork();
	if (!pid) {
		close(fds[1]);
		t_filter_tap(fdopen(fds[0], "r"), name);
	}
	close(fds[0]);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
	srunner_set_tap(runner, path);
	*fd_p = fds[1];
	return pid;
}

/* Runs and frees the runner. Returns the exit status for the program. */
static inline int t_run_all(SRunner *runner)
{
	TestResult **results;
	int count, failed = 0, fd = -1, status = 0;
	pid_t filter = t_filter_start(runner, &fd);

	srunner_run_all(runner, CK_ENV);
	count = srunner_ntests_failed(runner);
	results = srunner_failures(runner);
	for (int i = 0; i < count; i++)
		failed += strncmp(tr_msg(results[i]), T_SKIP, strlen(T_SKIP)) != 0;
	free(results);
	srunner_free(runner);
	if (filter > 0) {
		close(fd);
		waitpid(filter, &status, 0);
	}
	return failed || status || filter < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Check runs each case in its own process unless CK_FORK=no, so each has a new registry. */
static inline int t_run(Suite *suite)
{
	return t_run_all(srunner_create(suite));
}

static inline int t_memfile(const char *name)
{
	int fd = memfd_create(name, 0);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* The path of a file in memory, so a test that fails leaves no file. */
static inline void t_memfile_path(int fd, char *path, size_t size)
{
	snprintf(path, size, "/proc/self/fd/%d", fd);
}

/* Sets DAT_OVERRIDE to a file with this content. */
static inline void t_conf_bytes(const char *bytes, size_t size)
{
	int fd = t_memfile("dat.conf");
	char path[64];

	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	t_memfile_path(fd, path, sizeof(path));
	ck_assert_int_eq(setenv("DAT_OVERRIDE", path, 1), 0);
}

__attribute__((format(printf, 1, 2))) static inline void t_conf(const char *fmt, ...)
{
	char text[16384];
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ck_assert_int_lt(length, (int)sizeof(text));
	t_conf_bytes(text, (size_t)length);
}

/* Redirects a standard stream to a file, which t_captured() reads. */
static inline int t_capture(int stream_fd)
{
	int fd = t_memfile("captured");

	ck_assert_int_eq(dup2(fd, stream_fd), stream_fd);
	return fd;
}

static inline const char *t_captured(int fd)
{
	static char text[65536];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	ck_assert_int_ge(length, 0);
	text[length] = '\0';
	return text;
}

#endif
