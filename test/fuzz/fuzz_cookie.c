/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The file of shared memory cookies, which other processes write, and the list of a process's
 * mappings, which has names of files. The first two bytes of the input select the memory and the
 * cookie, the next two are the entries that other processes hold. The list of mappings follows, up
 * to a zero byte, then the file.
 */
#include "../lib/t_fstat.h"
#include "fuzz.h"

#include "base/cookie.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FD        0x200000
#define FILE_SIZE 4096u

/* --- one file --- */

static struct {
	uint8_t bytes[FILE_SIZE];
	size_t size;
	uint32_t held;   /* bits: entries that other processes hold */
	uint64_t locked; /* bits: bytes that this process has locked */
	bool open, removed;
	const char *maps;
	size_t maps_size;
} file;

int __wrap_open(const char *path, int flags, ...);
int __real_open(const char *path, int flags, ...);
int __wrap_fcntl(int fd, int command, ...);
int __real_fcntl(int fd, int command, ...);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t at);
ssize_t __real_pread(int fd, void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at);
int __wrap_close(int fd);
int __real_close(int fd);
int __wrap_unlink(const char *path);
int __real_unlink(const char *path);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__real_fopen(const char *path, const char *mode);

static bool is_cookie_file(const char *path)
{
	return strstr(path, "/dat-ofi-cookies-");
}

int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	if (is_cookie_file(path)) {
		FUZZ_CHECK(!file.open);
		file.open = true;
		return FD;
	}
	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	return __real_open(path, flags, mode);
}

/* Locks of bytes: those of others, and ours. */
static int lock(int command, struct flock *lock)
{
	uint64_t bit = lock->l_len ? UINT64_C(1) << (lock->l_start & 63) : UINT64_MAX;
	bool held = lock->l_start && file.held & (uint32_t)(bit >> 1);

	if (command == F_OFD_GETLK) {
		if (!held)
			lock->l_type = F_UNLCK;
		return 0;
	}
	if (held && lock->l_type == F_WRLCK) {
		errno = EAGAIN;
		return -1;
	}
	if (lock->l_type == F_UNLCK)
		file.locked &= ~bit;
	else
		file.locked |= bit;
	return 0;
}

int __wrap_fcntl(int fd, int command, ...)
{
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	return fd == FD ? lock(command, arg) : __real_fcntl(fd, command, arg);
}

ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t at)
{
	if (fd != FD)
		return __real_pread(fd, bytes, size, at);
	FUZZ_CHECK(file.open);
	if ((size_t)at >= file.size)
		return 0;
	if (size > file.size - (size_t)at)
		size = file.size - (size_t)at;
	memcpy(bytes, file.bytes + at, size);
	return (ssize_t)size;
}

/* Only the holder of byte 0 may change the file. */
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	FUZZ_CHECK(fd == FD && file.open && file.locked & 1);
	if ((size_t)at > FILE_SIZE || size > FILE_SIZE - (size_t)at) {
		errno = ENOSPC;
		return -1;
	}
	FUZZ_CHECK((size_t)at <= file.size);
	memcpy(file.bytes + at, bytes, size);
	if (file.size < (size_t)at + size)
		file.size = (size_t)at + size;
	return (ssize_t)size;
}

int __wrap_fstat(int fd, struct stat *st)
{
	if (fd != FD)
		return t_real_fstat(fd, st);
	memset(st, 0, sizeof(*st));
	st->st_uid = geteuid();
	st->st_mode = S_IFREG | 0600;
	st->st_nlink = !file.removed;
	st->st_size = (off_t)file.size;
	return 0;
}

int __wrap_close(int fd)
{
	if (fd != FD)
		return __real_close(fd);
	FUZZ_CHECK(file.open);
	file.open = false;
	file.locked = 0;
	return 0;
}

/* When the file is removed, no other process may hold an entry. */
int __wrap_unlink(const char *path)
{
	if (!is_cookie_file(path))
		return __real_unlink(path);
	FUZZ_CHECK(file.locked & 1);
	file.removed = true;
	return 0;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (strcmp(path, "/proc/self/maps"))
		return __real_fopen(path, mode);
	return fmemopen((void *)(uintptr_t)file.maps, file.maps_size, "r");
}

/* --- the target --- */

static void fill_file(const uint8_t *bytes, size_t size)
{
	if (size > FILE_SIZE)
		size = FILE_SIZE;
	if (size)
		memcpy(file.bytes, bytes, size);
	file.size = size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	uint64_t base = (uint64_t)fuzz_u8(&in) << 12;
	char cookie[DOFI_COOKIE_SIZE] = {0};
	const uint8_t *end;
	int share;

	memset(&file, 0, sizeof(file));
	memset(cookie, fuzz_u8(&in), sizeof(cookie));
	file.held = (uint32_t)fuzz_value(&in, 2);
	file.maps = (const char *)in.at;
	end = fuzz_left(&in) ? memchr(in.at, 0, fuzz_left(&in)) : NULL;
	file.maps_size = end ? (size_t)(end - in.at) : fuzz_left(&in);
	in.at += file.maps_size + !!end;
	fill_file(in.at, fuzz_left(&in));
	dofi_log_set_level("off");
	share = dofi_cookie_share(cookie, base, 0x2000);
	FUZZ_CHECK(share == FD || share < 0);
	FUZZ_CHECK(file.open == (share >= 0));
	if (share >= 0) {
		FUZZ_CHECK(file.size && !(file.locked & 1));
		dofi_cookie_unshare(share);
	}
	FUZZ_CHECK(!file.open);
	return 0;
}
