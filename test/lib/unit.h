/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the test programs share that know no IA. */
#ifndef T_UNIT_H
#define T_UNIT_H

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* One process per case, as Check does unless CK_FORK=no: each begins with a fresh registry. */
static inline int t_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline int t_memfile(const char *name)
{
	int fd = memfd_create(name, 0);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* A file without a place on disk: nothing to clean up when a test fails. */
static inline void t_memfile_path(int fd, char *path, size_t size)
{
	snprintf(path, size, "/proc/self/fd/%d", fd);
}

/* DAT_OVERRIDE becomes a file of this content. */
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

/* From here on a standard stream goes to a file, which t_captured() reads. */
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
