/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_cleanup.h"

#include "object/ia.h"
#include "base/log.h"
#include "fabric/same_process.h"
#include "progress/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIR_PATH "/dev/shm"
#define DYING_NS 1000000000u

int dofi_shm_cleanup_probe(void)
{
	int fd = open(DIR_PATH, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* A process whose parent did not notice its end yet. */
static bool is_zombie(long pid)
{
	char path[32], text[512];
	const char *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	state = strrchr(text, ')'); /* behind the program's name */
	return state && (!strncmp(state, ") Z", 3) || !strncmp(state, ") X", 3));
}

/* The file /dev/shm/`name` belonged to a process of this user that is dead. */
static bool is_left_over(const char *name)
{
	char *rest;
	long pid, uid;

	if (strspn(name, "0123456789:") != strlen(name))
		return false;
	errno = 0;
	pid = strtol(name, &rest, 10);
	if (rest == name || *rest != ':' || pid <= 0 || errno)
		return false;
	name = rest + 1;
	uid = strtol(name, &rest, 10);
	if (rest == name || *rest != ':' || uid != (long)geteuid() || errno)
		return false;
	if (kill((pid_t)pid, 0))
		return errno == ESRCH;
	return is_zombie(pid);
}

static void sweep(const char *ia_name)
{
	DIR *dir = opendir(DIR_PATH);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (is_left_over(entry->d_name) && !unlinkat(dirfd(dir), entry->d_name, 0))
			DOFI_LOG_I("IA %s: removed %s/%s of a dead process", ia_name, DIR_PATH,
				   entry->d_name);
	closedir(dir);
}

static void look_again(struct dofi_timer *timer)
{
	sweep(DOFI_CONTAINER(timer, struct dofi_ia, shm_cleanup.timer)->name);
}

void dofi_shm_cleanup_init(struct dofi_ia *ia, const uint8_t *name)
{
	ia->shm_cleanup.timer.fire = look_again;
	ia->shm_cleanup.possible =
		!strncmp((const char *)name, DOFI_SHM_PREFIX, sizeof(DOFI_SHM_PREFIX) - 1);
	if (ia->shm_cleanup.possible)
		sweep(ia->name);
}

void dofi_shm_cleanup_expect(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	if (ia->shm_cleanup.possible)
		dofi_timer_set(ia, &ia->shm_cleanup.timer, dofi_now() + DYING_NS);
}
