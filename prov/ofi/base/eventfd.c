/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/eventfd.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

int dofi_eventfd_signal(int fd)
{
	uint64_t one = 1;

	/* EAGAIN: its count is at the limit, so it is readable. */
	return write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN ? -errno : 0;
}

int dofi_eventfd_clear(int fd)
{
	uint64_t value;

	while (read(fd, &value, sizeof(value)) < 0)
		if (errno != EINTR)
			return errno == EAGAIN ? 0 : -errno;
	return 0;
}
