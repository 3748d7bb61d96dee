/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "memory/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * F_SEAL_SEAL: no process can add a seal that forbids writing to those that map the memory later.
 */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int map(int fd, size_t size, bool writable, void **memory_p)
{
	int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	void *memory = mmap(NULL, size, protection, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	/* A child of fork is not a side of the connection. */
	madvise(memory, size, MADV_DONTFORK);
	*memory_p = memory;
	return 0;
}

bool dofi_segment_fits(size_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || size <= limit.rlim_cur;
}

int dofi_segment_make(const char *label, size_t size, void **memory_p)
{
	int fd, ret = 0;

	if (!dofi_segment_fits(size))
		return -EFBIG;
	fd = memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, SEALS))
		ret = -errno;
	else
		ret = map(fd, size, true, memory_p);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int dofi_segment_map(int fd, size_t size, bool writable, void **memory_p)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0)
		return -errno;
	if ((seals & SEALS) != SEALS)
		return -EPERM;
	if (fstat(fd, &st))
		return -errno;
	if (st.st_size != (off_t)size)
		return -EPROTO;
	return map(fd, size, writable, memory_p);
}
