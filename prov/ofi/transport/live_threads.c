/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/live_threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The longest section copies 2 MiB and takes about a millisecond outside of the kernel. A tick is a
 * hundredth of a second.
 */
#define ENOUGH_TICKS  10u
#define ENOUGH_SLEEPS 16u

static bool read_proc(pid_t pid, pid_t tid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* Returns the letter of the state, 'X' for a thread that has ended, 0 if the state is not known. */
static char look(pid_t pid, pid_t tid, uint64_t *user_ticks_p)
{
	char text[1024], state;
	unsigned long long ticks;
	const char *rest;

	errno = 0;
	if (!read_proc(pid, tid, "stat", text, sizeof(text)))
		return !errno || errno == ENOENT || errno == ESRCH ? 'X' : 0;
	rest = strrchr(text, ')'); /* the fields behind the program's name */
	if (!rest ||
	    sscanf(rest, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu", &state, &ticks) != 2)
		return 0;
	*user_ticks_p = ticks;
	return state;
}

/* False: the number is not known. */
static bool read_sleeps(pid_t pid, pid_t tid, uint64_t *sleeps_p)
{
	static const char word[] = "\nvoluntary_ctxt_switches:";
	char text[4096];
	const char *at;

	if (!read_proc(pid, tid, "status", text, sizeof(text)))
		return false;
	at = strstr(text, word);
	if (at)
		*sleeps_p = strtoull(at + sizeof(word) - 1, NULL, 10);
	return at;
}

static bool add(struct dofi_live_threads *threads, pid_t pid, pid_t tid)
{
	struct dofi_live_thread *thread;

	if (threads->n == threads->room) {
		size_t room = threads->room ? 2 * threads->room : 64;
		struct dofi_live_thread *list =
			realloc(threads->list, room * sizeof(*threads->list));

		if (!list)
			return false;
		threads->list = list;
		threads->room = room;
	}
	thread = &threads->list[threads->n++];
	*thread = (struct dofi_live_thread){.pid = pid, .tid = tid};
	if (!look(pid, tid, &thread->user_ticks))
		return false;
	if (!read_sleeps(pid, tid, &thread->sleeps))
		thread->sleeps = UINT64_MAX;
	return true;
}

static bool add_process(struct dofi_live_threads *threads, pid_t pid)
{
	const struct dirent *entry;
	char path[32];
	bool ok = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ESRCH;
	while (ok && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && tid != (pid_t)syscall(SYS_gettid))
			ok = add(threads, pid, tid);
	}
	closedir(dir);
	return ok;
}

bool dofi_live_threads_note(struct dofi_live_threads *threads, const pid_t *pids, size_t n)
{
	threads->n = 0;
	for (size_t i = 0; i < n; i++)
		if (!add_process(threads, pids[i]))
			return false;
	return true;
}

static bool is_out(const struct dofi_live_thread *thread)
{
	uint64_t ticks = 0, sleeps;

	switch (look(thread->pid, thread->tid, &ticks)) {
	case 'S':
	case 'I':
	case 'Z':
	case 'X':
		return true;
	case 'R':
		return ticks >= thread->user_ticks + ENOUGH_TICKS ||
		       (thread->sleeps != UINT64_MAX &&
			read_sleeps(thread->pid, thread->tid, &sleeps) &&
			sleeps >= thread->sleeps + ENOUGH_SLEEPS);
	default: /* stopped, or in the kernel, perhaps in a call from the section */
		return false;
	}
}

bool dofi_live_threads_are_out(const struct dofi_live_threads *threads)
{
	for (size_t i = 0; i < threads->n; i++)
		if (!is_out(&threads->list[i]))
			return false;
	return true;
}

void dofi_live_threads_free(struct dofi_live_threads *threads)
{
	free(threads->list);
	*threads = (struct dofi_live_threads){0};
}
