/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The key that peers share, from a file. The first byte of the input selects the parameter auth,
 * the next two are the file's mode and its special properties. The name of the job follows, up to a
 * zero byte, then the file.
 */
#include "../lib/t_fstat.h"
#include "fuzz.h"

#include "auth/crypto.h"
#include "auth/key.h"
#include "auth/key_file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FD       0x200000
#define PATH     "/fuzz/key"
#define JOB_SIZE 300

/* --- one file --- */

enum { FOREIGN = 1, DEVICE = 2, MISSING = 4, LINK = 8, SLOW = 16, BROKEN = 32, ALL = 63 };

static struct {
	const uint8_t *bytes;
	size_t size, at;
	uint8_t mode, odd;
	bool open, checked;
	char job[JOB_SIZE];
} file;

int __wrap_openat(int dir, const char *name, int flags, ...);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
ssize_t __real_read(int fd, void *bytes, size_t size);
int __wrap_close(int fd);
int __real_close(int fd);
char *__wrap_getenv(const char *name);
char *__real_getenv(const char *name);

int __wrap_openat(int dir, const char *name, int flags, ...)
{
	FUZZ_CHECK(dir == AT_FDCWD && !strcmp(name, PATH) && flags & O_NOFOLLOW);
	FUZZ_CHECK(!file.open);
	if (file.odd & (MISSING | LINK)) {
		errno = file.odd & MISSING ? ENOENT : ELOOP;
		return -1;
	}
	file.open = true;
	file.at = 0;
	return FD;
}

int __wrap_fstat(int fd, struct stat *st)
{
	if (fd != FD)
		return t_real_fstat(fd, st);
	memset(st, 0, sizeof(*st));
	st->st_uid = geteuid() + !!(file.odd & FOREIGN);
	st->st_mode = (file.odd & DEVICE ? S_IFCHR : S_IFREG) | 0400 | file.mode;
	file.checked = true;
	return 0;
}

/* A file that other users can write must not be read. */
ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
	if (fd != FD)
		return __real_read(fd, bytes, size);
	FUZZ_CHECK(file.checked && !(file.odd & (FOREIGN | DEVICE)) && !(file.mode & 077));
	if (file.odd & BROKEN) {
		errno = EIO;
		return -1;
	}
	if (size > file.size - file.at)
		size = file.size - file.at;
	if (file.odd & SLOW && size > 1)
		size = 1;
	if (size)
		memcpy(bytes, file.bytes + file.at, size);
	file.at += size;
	return (ssize_t)size;
}

int __wrap_close(int fd)
{
	if (fd != FD)
		return __real_close(fd);
	FUZZ_CHECK(file.open);
	file.open = file.checked = false;
	return 0;
}

char *__wrap_getenv(const char *name)
{
	if (!strcmp(name, "SLURM_JOB_ID"))
		return file.job;
	return __real_getenv(name);
}

/* --- the target --- */

static bool is_zero(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size && !*at) {
		at++;
		size--;
	}
	return !size;
}

/* The line ends behind a secret do not count. */
static size_t secret_size(void)
{
	size_t size = file.size;

	while (size && (file.bytes[size - 1] == '\n' || file.bytes[size - 1] == '\r'))
		size--;
	return size;
}

static void check(const struct dofi_key *key, int ret)
{
	char text[DOFI_KEY_TEXT];

	FUZZ_CHECK(!file.open);
	if (ret) {
		FUZZ_CHECK(is_zero(key, sizeof(*key)));
		return;
	}
	FUZZ_CHECK(strnlen(dofi_key_text(key, text), sizeof(text)) < sizeof(text));
	if (key->source == DOFI_KEY_NONE)
		return;
	FUZZ_CHECK(key->source == DOFI_KEY_FILE && !strcmp(key->path, PATH));
	FUZZ_CHECK(!is_zero(key->bytes, sizeof(key->bytes)) && !is_zero(key->id, sizeof(key->id)));
	FUZZ_CHECK(!(file.odd & ~SLOW) && !(file.mode & 077));
	FUZZ_CHECK(file.size <= DOFI_SECRET_MAX && secret_size() >= DOFI_SECRET_MIN);
}

static void take_job(struct fuzz_input *in)
{
	const uint8_t *end = fuzz_left(in) ? memchr(in->at, 0, fuzz_left(in)) : NULL;
	size_t size = end ? (size_t)(end - in->at) : 0;

	memset(file.job, 0, sizeof(file.job));
	memcpy(file.job, in->at, size < JOB_SIZE ? size : JOB_SIZE - 1);
	in->at += size + !!end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const words[] = {"auto", "key", "job", "none", "munge", ""};
	struct fuzz_input in = fuzz_input(data, size);
	const char *word = words[fuzz_u8(&in) % 6];
	struct dofi_key key, again;
	int ret;

	dofi_log_set_level("off");
	memset(&file, 0, sizeof(file));
	file.mode = fuzz_u8(&in);
	file.odd = fuzz_u8(&in) & ALL;
	take_job(&in);
	file.bytes = in.at;
	file.size = fuzz_left(&in);
	ret = dofi_key_load(&key, "fuzz", word, PATH);
	check(&key, ret);
	if (ret)
		return 0;
	file.size = secret_size();
	FUZZ_CHECK(!dofi_key_load(&again, "fuzz", word, PATH));
	FUZZ_CHECK(!memcmp(key.bytes, again.bytes, sizeof(key.bytes)));
	return 0;
}
