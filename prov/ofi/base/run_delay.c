/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/run_delay.h"

#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define SECOND_NS 1000000000u
#define TASKS     "/proc/self/task"
#define MOST      64 /* threads that are looked at; the oldest come first */

/* The file has the time on a processor, the time of waiting for one, and the number of turns. */
static uint64_t delay_of(const char *task)
{
	char path[sizeof(TASKS) + 32], text[96] = "";
	uint64_t waited = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), TASKS "/%.16s/schedstat", task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 && sscanf(text, "%*u %" SCNu64, &waited) == 1 ? waited : 0;
}

static struct dofi_run_delay measure(void)
{
	struct dofi_run_delay sample = {.at = dofi_now()};
	DIR *tasks = opendir(TASKS);
	const struct dirent *task;

	if (!tasks)
		return sample;
	for (int n = 0; n < MOST && (task = readdir(tasks));) {
		if (task->d_name[0] == '.')
			continue;
		sample.waited += delay_of(task->d_name);
		n++;
	}
	closedir(tasks);
	return sample;
}

struct dofi_run_delay dofi_run_delay_recent(struct dofi_run_delay *latest)
{
	if (!latest->at || dofi_now() - latest->at > SECOND_NS)
		*latest = measure();
	return *latest;
}

bool dofi_run_delay_is_high(const struct dofi_run_delay *since)
{
	struct dofi_run_delay now = measure();

	return now.waited > since->waited && now.waited - since->waited >= (now.at - since->at) / 4;
}
