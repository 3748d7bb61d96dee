/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "auth/key_user.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER ".dat-ofi"
#define NAME   "key"

static bool is_ours(const char *dir)
{
	struct stat st;

	return *dir == '/' && !stat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/*
 * Returns HOME, or the home directory in the user database if the program has another user's rights
 * or HOME belongs to another user (sudo).
 */
static bool find_home(char *home_p, size_t size)
{
	const char *home = secure_getenv("HOME");
	struct passwd entry, *found = NULL;
	char text[4096];

	if (!home || !is_ours(home)) {
		if (getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) || !found ||
		    !found->pw_dir || !is_ours(found->pw_dir))
			return false;
		home = found->pw_dir;
	}
	return snprintf(home_p, size, "%s", home) < (int)size;
}

/* The process has no descriptor or memory left. Then it does not know whether there is a key. */
static bool lacks_resources(int ret)
{
	return ret == -EMFILE || ret == -ENFILE || ret == -ENOMEM;
}

/* Returns -ENOENT, or after a message what the process lacks. */
static int not_opened(const char *folder, int error)
{
	if (!lacks_resources(-error))
		return -ENOENT;
	DOFI_LOG_E("can't look for a key in %s: %s", folder, strerror(error));
	return -error;
}

/* Opens the folder. Returns -EACCES, after a message, if other users may change its contents. */
static int open_folder(const char *path)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -ENOENT;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
		return not_opened(path, errno);
	if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	if (fd >= 0)
		close(fd);
	DOFI_LOG_E("the keys in %s are not used: it has to be a folder of user %u that no other "
		   "user may write to (chmod 700)",
		   path, (unsigned int)geteuid());
	return -EACCES;
}

/*
 * Returns 0; -ENOENT if no file can be created in the folder; or after a message another -errno if
 * there is a key that is not used, or nothing is known about it for lack of resources.
 */
static int read_or_make(struct dofi_secret *secret, int dir, const char *name, const char *path)
{
	int ret = dofi_secret_read(secret, dir, name, path);

	if (ret != -ENOENT)
		return ret;
	ret = dofi_secret_make(dir, name);
	if (lacks_resources(ret))
		DOFI_LOG_E("can't make the key %s: %s", path, strerror(-ret));
	if (ret)
		return lacks_resources(ret) ? ret : -ENOENT;
	DOFI_LOG_I("made the key %s, which your processes on other hosts need, too", path);
	return dofi_secret_read(secret, dir, name, path);
}

int dofi_key_user(struct dofi_secret *secret, char *path_p, size_t size)
{
	char home[384], folder[400];
	int dir, ret;

	if (!find_home(home, sizeof(home)))
		return -ENOENT;
	snprintf(folder, sizeof(folder), "%s/" FOLDER, home);
	snprintf(path_p, size, "%s/" NAME, folder);
	dir = open_folder(folder);
	if (dir < 0)
		return dir;
	ret = read_or_make(secret, dir, NAME, path_p);
	close(dir);
	return ret;
}

/* Another user may have created a file of this name: then the next folder is tried. */
static int host_key_in(const char *folder, struct dofi_secret *secret, char *path_p, size_t size)
{
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;
	char name[64];

	if (dir < 0)
		return not_opened(folder, errno);
	snprintf(name, sizeof(name), "dat-ofi-key-%u", (unsigned int)geteuid());
	snprintf(path_p, size, "%s/%s", folder, name);
	ret = read_or_make(secret, dir, name, path_p);
	close(dir);
	return ret;
}

int dofi_key_host(struct dofi_secret *secret, char *path_p, size_t size)
{
	int ret = host_key_in("/dev/shm", secret, path_p, size);

	if (ret && !lacks_resources(ret))
		ret = host_key_in("/tmp", secret, path_p, size);
	return ret && !lacks_resources(ret) ? -ENOENT : ret;
}
