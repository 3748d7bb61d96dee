/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of a process. */
#ifndef MEMORY_H
#define MEMORY_H

#include <dirent.h>
#include <sys/stat.h>

#include "fault.h"

/* Anonymous and shared pages of a process. */
static inline size_t fault_resident(pid_t pid)
{
	char path[64], line[256];
	size_t kib, sum = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %zu", &kib) == 1 ||
		    sscanf(line, "RssShmem: %zu", &kib) == 1)
			sum += kib * 1024;
	fclose(file);
	return sum;
}

/* shm's regions of a process: their names begin with the process id. */
static inline size_t fault_shared_files(pid_t pid)
{
	DIR *dir = opendir("/dev/shm");
	struct dirent *entry;
	struct stat st;
	size_t sum = 0;
	char prefix[32];

	if (!dir)
		return 0;
	snprintf(prefix, sizeof(prefix), "%d:", (int)pid);
	while ((entry = readdir(dir)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
		    !fstatat(dirfd(dir), entry->d_name, &st, 0))
			sum += (size_t)st.st_blocks * 512;
	closedir(dir);
	return sum;
}

static inline size_t fault_memory_of(pid_t pid)
{
	return fault_resident(pid) + fault_shared_files(pid);
}

#endif
