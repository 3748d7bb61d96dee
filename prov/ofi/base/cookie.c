/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One small file per user has an entry per cookie. A process locks byte 0 while it changes the
 * file. All holders of entry n have a shared lock on byte 1+n. These locks belong to open file
 * descriptions, so the kernel drops them when the process ends: an entry is free if nobody locks
 * its byte, whatever its content. The last holder removes the file.
 */
#include "base/cookie.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES 2000 /* about as many milliseconds */

/* The identity of memory, the same in every process. */
struct identity {
	uint64_t device, inode;
	uint64_t offset;
	/* set for System V segments, which have inode numbers of their own */
	uint64_t sysv;
};

struct entry {
	char cookie[DOFI_COOKIE_SIZE];
	struct identity memory;
};

/* --- identity --- */

struct mapping {
	uint64_t start, end;
	char perms[5];
	struct identity memory; /* identity at `start` */
};

static bool parse_mapping(const char *line, struct mapping *m)
{
	unsigned int major, minor;
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start,
		   &m->end, m->perms, &m->memory.offset, &major, &minor, &m->memory.inode,
		   &path) < 7)
		return false;
	m->memory.device = (uint64_t)major << 32 | minor;
	m->memory.sysv = path && !strncmp(line + path, "/SYSV", 5);
	return true;
}

/* Whether m directly continues the range [base, base + whole) of the same object. */
static bool continues(const struct mapping *m, uint64_t base, const struct identity *whole)
{
	return m->memory.device == whole->device && m->memory.inode == whole->inode &&
	       m->memory.sysv == whole->sysv && m->memory.offset - whole->offset == m->start - base;
}

/* False unless [base, base + length) lies in one object that is mapped shared, without a gap. */
static bool identify(FILE *maps, uint64_t base, uint64_t length, struct identity *memory_p)
{
	uint64_t next = base, end = base + length;
	char *line = NULL;
	size_t size = 0;
	struct mapping m;

	while (next < end && getline(&line, &size, maps) >= 0) {
		if (!parse_mapping(line, &m) || m.end <= next)
			continue;
		if (m.start > next || m.perms[3] != 's')
			break;
		if (next == base) {
			*memory_p = m.memory;
			memory_p->offset += base - m.start;
		} else if (!continues(&m, base, memory_p)) {
			break;
		}
		next = m.end;
	}
	free(line);
	return next >= end;
}

static int find_identity(uint64_t base, uint64_t length, struct identity *memory_p)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool ok;

	if (!maps)
		return -errno;
	ok = identify(maps, base, length, memory_p);
	fclose(maps);
	return ok ? 0 : -EINVAL;
}

/* --- the file --- */

static int lock_byte(int fd, int command, short type, off_t byte)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	while (fcntl(fd, command, &lock) < 0)
		if (errno != EINTR)
			return -errno;
	return command == F_OFD_GETLK ? lock.l_type : 0;
}

/*
 * Byte 0. Others of this user hold it for a few reads and writes, unless they are stopped then.
 */
static int lock_file(int fd)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int ret = lock_byte(fd, F_OFD_SETLK, F_WRLCK, 0);

	for (int i = 0; i < LOCK_TRIES && (ret == -EAGAIN || ret == -EACCES); i++) {
		nanosleep(&pause, NULL);
		ret = lock_byte(fd, F_OFD_SETLK, F_WRLCK, 0);
	}
	return ret == -EAGAIN || ret == -EACCES ? -ETIMEDOUT : ret;
}

/* Does another descriptor hold the entry? */
static bool is_held(int fd, size_t index)
{
	return lock_byte(fd, F_OFD_GETLK, F_WRLCK, 1 + (off_t)index) != F_UNLCK;
}

/* Unlocks explicitly: a forked child may have the descriptor, too. */
static void unlock_and_close(int fd)
{
	struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	fcntl(fd, F_OFD_SETLK, &all);
	close(fd);
}

static bool read_entry(int fd, size_t index, struct entry *entry)
{
	return pread(fd, entry, sizeof(*entry), (off_t)(index * sizeof(*entry))) ==
	       (ssize_t)sizeof(*entry);
}

static int write_entry(int fd, size_t index, const struct entry *entry)
{
	ssize_t n = pwrite(fd, entry, sizeof(*entry), (off_t)(index * sizeof(*entry)));

	if (n == (ssize_t)sizeof(*entry))
		return 0;
	return n < 0 ? -errno : -ENOSPC;
}

static void make_path(char *path, size_t size)
{
	const char *dir = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

	snprintf(path, size, "%s/dat-ofi-cookies-%u", dir, (unsigned int)geteuid());
}

/* Every user can create a file of this name, and users who can open a file can hold its locks. */
static int check_owner(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid != geteuid() || !S_ISREG(st.st_mode) || st.st_mode & (S_IRWXG | S_IRWXO))
		return -EPERM;
	return 0;
}

/* In two steps: with O_CREAT the kernel may refuse to open another user's file. */
static int open_or_create(const char *path)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = open(path, flags);

	if (fd < 0 && errno == ENOENT) {
		fd = open(path, flags | O_CREAT | O_EXCL, 0600);
		if (fd < 0 && errno == EEXIST)
			return -EAGAIN;
	}
	return fd < 0 ? -errno : fd;
}

/* Opens the file and locks byte 0. -EAGAIN: the file was created or removed meanwhile. */
static int open_once(const char *path)
{
	int fd = open_or_create(path), ret;
	struct stat st;

	if (fd < 0)
		return fd;
	ret = check_owner(fd);
	if (!ret)
		ret = lock_file(fd);
	if (!ret && fstat(fd, &st))
		ret = -errno;
	else if (!ret && !st.st_nlink)
		ret = -EAGAIN;
	if (!ret)
		return fd;
	unlock_and_close(fd);
	return ret;
}

static const char *advice(int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
	case -ELOOP:
		return "; it is not this user's alone: have it removed";
	case -ETIMEDOUT:
		return "; a process of this user holds its lock: is one stopped?";
	default:
		return "";
	}
}

static int open_file(void)
{
	char path[64];
	int fd;

	make_path(path, sizeof(path));
	do
		fd = open_once(path);
	while (fd == -EAGAIN);
	if (fd < 0)
		DOFI_LOG_E("can't keep track of shared memory cookies in %s: %s%s", path,
			   strerror(-fd), advice(fd));
	return fd;
}

/*
 * Finds the entry of a cookie that is in use, or the first free entry, which may be behind the last
 * one.
 */
static size_t find_entry(int fd, const char *cookie, struct entry *entry, bool *in_use_p)
{
	size_t n, i;

	for (n = 0; read_entry(fd, n, entry); n++) {
		*in_use_p = !memcmp(entry->cookie, cookie, DOFI_COOKIE_SIZE) && is_held(fd, n);
		if (*in_use_p)
			return n;
	}
	*in_use_p = false;
	for (i = 0; i < n && is_held(fd, i); i++)
		;
	return i;
}

/* The caller has locked byte 0. */
static int take_share(int fd, const char *cookie, const struct identity *memory)
{
	struct entry entry;
	bool in_use;
	size_t index = find_entry(fd, cookie, &entry, &in_use);
	int ret = 0;

	if (in_use) {
		if (memcmp(&entry.memory, memory, sizeof(*memory)))
			return -EEXIST;
	} else {
		memcpy(entry.cookie, cookie, sizeof(entry.cookie));
		entry.memory = *memory;
		ret = write_entry(fd, index, &entry);
	}
	return ret ? ret : lock_byte(fd, F_OFD_SETLK, F_RDLCK, 1 + (off_t)index);
}

/*
 * Removes the file if all its entries are free and nobody has removed it yet. The caller has locked
 * byte 0.
 */
static void remove_if_unused(int fd)
{
	struct entry entry;
	struct stat st;
	char path[64];

	if (fstat(fd, &st) || !st.st_nlink)
		return;
	for (size_t i = 0; read_entry(fd, i, &entry); i++)
		if (is_held(fd, i))
			return;
	make_path(path, sizeof(path));
	unlink(path);
}

int dofi_cookie_share(const char cookie[DOFI_COOKIE_SIZE], uint64_t base, uint64_t length)
{
	struct identity memory;
	int fd, ret = find_identity(base, length, &memory);

	if (ret)
		return ret;
	fd = open_file();
	if (fd < 0)
		return fd;
	ret = take_share(fd, cookie, &memory);
	if (ret) {
		remove_if_unused(fd);
		unlock_and_close(fd);
		return ret;
	}
	lock_byte(fd, F_OFD_SETLK, F_UNLCK, 0);
	return fd;
}

void dofi_cookie_unshare(int share)
{
	if (!lock_file(share))
		remove_if_unused(share);
	unlock_and_close(share);
}
