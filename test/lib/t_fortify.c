/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * With _FORTIFY_SOURCE, compilers turn some calls into ones of these functions (clang 21 with glibc
 * 2.43 does). Here they become the plain calls again, which the linker redirects for a test.
 */
#undef _FORTIFY_SOURCE

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <unistd.h>

int __open_2(const char *file, int flags);
int __openat_2(int folder, const char *file, int flags);
ssize_t __read_chk(int fd, void *buf, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *buf, size_t size, off_t offset, size_t room);
int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room);

int __open_2(const char *file, int flags)
{
	return open(file, flags);
}

int __openat_2(int folder, const char *file, int flags)
{
	return openat(folder, file, flags);
}

ssize_t __read_chk(int fd, void *buf, size_t size, size_t room)
{
	(void)room;
	return read(fd, buf, size);
}

ssize_t __pread_chk(int fd, void *buf, size_t size, off_t offset, size_t room)
{
	(void)room;
	return pread(fd, buf, size, offset);
}

int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room)
{
	(void)room;
	return poll(fds, n, ms);
}
