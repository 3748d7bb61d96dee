/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One small file per user has an entry per cookie. Byte 0 is locked while the file is changed; byte
 * 1+n is locked, shared, by all holders of entry n. These locks belong to open descriptors, so the
 * kernel drops them with the process: an entry whose byte nobody has locked is free, whatever it
 * says. The last one to leave removes the file.
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
#include <unistd.h>

/* What a virtual address stands for, the same in every process. */
struct identity {
	uint64_t device, inode;
	uint64_t offset;
	uint64_t sysv; /* System V segments have inode numbers of their own */
};

struct entry {
	char cookie[DOFI_COOKIE_SIZE];
	struct identity memory;
};

/* --- identity --- */

struct mapping {
	uint64_t start, end;
	char perms[5];
	struct identity memory; /* of start */
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

/* m continues what begins at base and has been found to be `whole` so far. */
static bool continues(const struct mapping *m, uint64_t base, const struct identity *whole)
{
	return m->memory.device == whole->device && m->memory.inode == whole->inode &&
	       m->memory.sysv == whole->sysv && m->memory.offset - whole->offset == m->start - base;
}

/* False unless [base, base + length) is one piece of one object, mapped shared. */
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

/* Does another descriptor hold the entry? */
static bool is_held(int fd, size_t index)
{
	return lock_byte(fd, F_OFD_GETLK, F_WRLCK, 1 + (off_t)index) != F_UNLCK;
}

/* Also where a forked child has the descriptor, too. */
static void let_go(int fd)
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

/* The file, with byte 0 locked. -EAGAIN: it was removed meanwhile. */
static int open_once(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), ret;
	struct stat st;

	if (fd < 0)
		return -errno;
	ret = lock_byte(fd, F_OFD_SETLKW, F_WRLCK, 0);
	if (!ret && fstat(fd, &st))
		ret = -errno;
	else if (!ret && (st.st_uid != geteuid() || !S_ISREG(st.st_mode)))
		ret = -EPERM;
	else if (!ret && !st.st_nlink)
		ret = -EAGAIN;
	if (!ret)
		return fd;
	let_go(fd);
	return ret;
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
			   strerror(-fd),
			   fd == -EPERM ? "; it belongs to somebody else: have it removed" : "");
	return fd;
}

/* The entry of a cookie in use; else the first that is free, maybe the one behind the last. */
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

/* Byte 0 locked. */
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

/* Byte 0 locked: removes the file when all its entries are free, unless somebody else did so. */
static void tidy(int fd)
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
		tidy(fd);
		let_go(fd);
		return ret;
	}
	lock_byte(fd, F_OFD_SETLK, F_UNLCK, 0);
	return fd;
}

void dofi_cookie_unshare(int share)
{
	if (!lock_byte(share, F_OFD_SETLKW, F_WRLCK, 0))
		tidy(share);
	let_go(share);
}
