/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the kernel tells about a process: its descriptors, its threads and their sleep. */
#ifndef FAULT_PROCESS_H
#define FAULT_PROCESS_H

#include <dirent.h>

#include "fault.h"

/* Entries of a folder such as /proc/self/fd, with "." and "..". */
static inline int fault_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static inline int fault_open_files(void)
{
	return fault_entries("/proc/self/fd");
}

static inline int fault_threads(void)
{
	return fault_entries("/proc/self/task");
}

/* How often threads of this name went to sleep; NULL: all threads. */
static inline unsigned long fault_sleeps(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned long total = 0, n;
	char path[300], line[128], wanted[64];
	struct dirent *task;
	FILE *file;
	bool counts;

	ck_assert_ptr_nonnull(tasks);
	snprintf(wanted, sizeof(wanted), "Name:\t%s\n", name ? name : "");
	while ((task = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		file = fopen(path, "r");
		counts = !name;
		while (file && fgets(line, sizeof(line), file)) {
			counts |= !strcmp(line, wanted);
			if (counts && sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1)
				total += n;
		}
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return total;
}

#endif
