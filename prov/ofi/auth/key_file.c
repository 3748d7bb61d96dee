/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "auth/key_file.h"

#include "auth/crypto.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_SECRET 32u /* bytes; twice as many digits in the file */

/* --- reading --- */

static int check_file(const struct stat *st, const char *path)
{
	if (!S_ISREG(st->st_mode)) {
		DOFI_LOG_E("the key %s is not a file", path);
		return -EACCES;
	}
	if (st->st_uid != geteuid()) {
		DOFI_LOG_E("the key %s is not used, because it belongs to user %u and this process "
			   "to user %u; give every user a file of its own",
			   path, (unsigned int)st->st_uid, (unsigned int)geteuid());
		return -EACCES;
	}
	if (st->st_mode & (S_IRWXG | S_IRWXO)) {
		DOFI_LOG_E("the key %s is not used, because others may read or write it (mode "
			   "%03o): chmod 600 %s",
			   path, (unsigned int)st->st_mode & 0777, path);
		return -EACCES;
	}
	return 0;
}

static int can_not_read(const char *path, int ret)
{
	DOFI_LOG_E("can't read the key %s: %s", path, strerror(-ret));
	return ret;
}

static int read_bytes(int fd, struct dofi_secret *secret, const char *path)
{
	ssize_t n;

	secret->size = 0;
	while (secret->size < sizeof(secret->bytes)) {
		n = read(fd, secret->bytes + secret->size, sizeof(secret->bytes) - secret->size);
		if (!n)
			break;
		if (n < 0 && errno != EINTR)
			return can_not_read(path, -errno);
		if (n > 0)
			secret->size += (size_t)n;
	}
	return 0;
}

static int check_length(struct dofi_secret *secret, const char *path)
{
	size_t whole = secret->size;

	while (secret->size &&
	       (secret->bytes[secret->size - 1] == '\n' || secret->bytes[secret->size - 1] == '\r'))
		secret->size--;
	if (secret->size >= DOFI_SECRET_MIN && whole <= DOFI_SECRET_MAX)
		return 0;
	DOFI_LOG_E("the key %s is not used, because it does not have %u to %u bytes; make one by: "
		   "openssl rand -hex 32",
		   path, DOFI_SECRET_MIN, DOFI_SECRET_MAX);
	return -EINVAL;
}

int dofi_secret_read(struct dofi_secret *secret, int dir, const char *name, const char *path)
{
	/* Opening a pipe must not block. */
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), ret;
	struct stat st;

	if (fd < 0) {
		ret = -errno;
		if (ret != -ELOOP)
			return ret == -ENOENT ? ret : can_not_read(path, ret);
		DOFI_LOG_E("the key %s is a symbolic link: name the file itself", path);
		return -EACCES;
	}
	ret = fstat(fd, &st) ? can_not_read(path, -errno) : check_file(&st, path);
	if (!ret)
		ret = read_bytes(fd, secret, path);
	close(fd);
	if (!ret)
		ret = check_length(secret, path);
	if (ret)
		dofi_wipe(secret, sizeof(*secret));
	return ret;
}

/* --- making --- */

static int write_secret(int fd)
{
	uint8_t secret[NEW_SECRET];
	char digits[2 * NEW_SECRET + 2];
	int ret = dofi_random(secret, sizeof(secret));
	ssize_t n;

	for (size_t i = 0; i < sizeof(secret); i++)
		snprintf(digits + 2 * i, 3, "%02x", secret[i]);
	digits[sizeof(digits) - 2] = '\n';
	if (!ret) {
		n = write(fd, digits, sizeof(digits) - 1);
		if (n < 0)
			ret = -errno;
		else if (n != (ssize_t)sizeof(digits) - 1)
			ret = -ENOSPC;
	}
	dofi_wipe(secret, sizeof(secret));
	dofi_wipe(digits, sizeof(digits));
	/* The umask may not let the owner read and write. */
	if (!ret && (fchmod(fd, 0600) || fsync(fd)))
		ret = -errno;
	return ret;
}

/* Gives the complete file its name. If another file has the name, that file is used. */
static int publish(int dir, const char *draft, const char *name)
{
	int ret = linkat(dir, draft, dir, name, 0) ? -errno : 0;

	/* File systems without hard links. */
	if (ret == -EPERM || ret == -EOPNOTSUPP || ret == -ENOSYS || ret == -EMLINK)
		ret = renameat2(dir, draft, dir, name, RENAME_NOREPLACE) ? -errno : 0;
	return ret == -EEXIST ? 0 : ret;
}

int dofi_secret_make(int dir, const char *name)
{
	char draft[64];
	uint64_t number;
	int fd, ret = dofi_random(&number, sizeof(number));

	if (ret)
		return ret;
	snprintf(draft, sizeof(draft), ".dat-ofi-%016llx", (unsigned long long)number);
	fd = openat(dir, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = write_secret(fd);
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret)
		ret = publish(dir, draft, name);
	unlinkat(dir, draft, 0);
	return ret;
}
