/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/process_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int dofi_process_watch_open(struct dofi_process_watch *watch, pid_t pid)
{
	char path[32];

	*watch = DOFI_NO_PROCESS;
	watch->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (watch->fd >= 0)
		return 0;
	if (errno == ESRCH)
		return -ESRCH;
	/* The folder stays that of this process. Its files cannot be read after the end. */
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	watch->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	watch->needs_look = true;
	return watch->fd < 0 ? -errno : 0;
}

/*
 * A process has ended if its first thread has, and it has no other: the third field is the state of
 * the first thread, the twentieth the number of threads.
 */
static bool tells_end(const char *stat)
{
	const char *rest = strrchr(stat, ')'); /* the fields behind the program's name */
	long nthreads;
	char state;

	return rest &&
	       sscanf(rest, ") %c %*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s %ld", &state,
		      &nthreads) == 2 &&
	       (state == 'Z' || state == 'X') && nthreads <= 1;
}

static bool look(int folder)
{
	int fd = openat(folder, "stat", O_RDONLY | O_CLOEXEC), err;
	char text[1024];
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT || errno == ESRCH;
	n = read(fd, text, sizeof(text) - 1);
	err = errno;
	close(fd);
	if (n < 0)
		return err == ESRCH;
	text[n] = '\0';
	return tells_end(text);
}

bool dofi_process_watch_ended(const struct dofi_process_watch *watch)
{
	struct pollfd pfd = {.fd = watch->fd, .events = POLLIN};

	/* Without a descriptor poll finds nothing, and openat fails by EBADF. */
	return watch->needs_look ? look(watch->fd) : poll(&pfd, 1, 0) == 1;
}

void dofi_process_watch_close(struct dofi_process_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	*watch = DOFI_NO_PROCESS;
}
