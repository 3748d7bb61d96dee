/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_region.h"

#include "fabric/same_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX (sizeof(DOFI_SHM_PREFIX) - 1)
#define MARK   S_ISVTX

bool dofi_shm_region_is_of(const uint8_t *address)
{
	return !strncmp((const char *)address, DOFI_SHM_PREFIX, PREFIX);
}

/* Opens a region. -EINVAL for a name with a path. */
static int open_region(const uint8_t *address)
{
	const char *name = (const char *)address + PREFIX;
	char path[sizeof(DOFI_SHM_DIR) + NAME_MAX + 1];
	int fd;

	if (!dofi_shm_region_is_of(address))
		return -EINVAL;
	name += strspn(name, "/"); /* leading slashes are skipped, as by shm_open */
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > NAME_MAX)
		return -EINVAL;
	snprintf(path, sizeof(path), "%s/%s", DOFI_SHM_DIR, name);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* --- our own --- */

int dofi_shm_region_hold(const uint8_t *address)
{
	int fd = open_region(address), ret = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	/* A region without the mark is not locked. */
	if (flock(fd, LOCK_SH | LOCK_NB) || fstat(fd, &st) ||
	    fchmod(fd, (st.st_mode & 0777) | MARK))
		ret = -errno;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

void dofi_shm_region_release(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* --- those of others --- */

static int check(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < sysconf(_SC_PAGESIZE))
		return -EINVAL;
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return 0;
}

int dofi_shm_region_check(const uint8_t *address)
{
	int fd = open_region(address), ret;

	if (fd < 0)
		return fd;
	ret = check(fd);
	close(fd);
	return ret;
}

/* Whether the name begins with PID:UID:, with the number of this user, and numbers follow. */
static bool is_name_of_user(const char *name)
{
	char uid[24];
	const char *rest = name + strspn(name, "0123456789");

	snprintf(uid, sizeof(uid), ":%u:", (unsigned int)geteuid());
	return rest > name && !strncmp(rest, uid, strlen(uid)) &&
	       strspn(name, "0123456789:") == strlen(name);
}

/*
 * The owner locks the region before it sets the mark. So if the lock of a marked region can be
 * taken, the owner is gone.
 */
static bool is_left_over(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       st.st_mode & MARK && !flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &st) && st.st_nlink;
}

bool dofi_shm_region_sweep(int dir, const char *name)
{
	bool removed;
	int fd;

	if (!is_name_of_user(name))
		return false;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return false;
	removed = is_left_over(fd) && !unlinkat(dir, name, 0);
	close(fd);
	return removed;
}
