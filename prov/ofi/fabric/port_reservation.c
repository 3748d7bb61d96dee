/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/port_reservation.h"

#include "base/addr.h"

#include <string.h>
#include <unistd.h>

int dofi_port_hold(struct sockaddr *addr, size_t size)
{
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);
	int on = 1, fd;

	if (!addr || !dofi_addr_set(&bound, addr, 0) || size < dofi_addr_len(&bound))
		return -1;
	fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)&bound, dofi_addr_len(&bound)) ||
	    getsockname(fd, (struct sockaddr *)&bound, &len)) {
		close(fd);
		return -1;
	}
	memcpy(addr, &bound, dofi_addr_len(&bound));
	return fd;
}

void dofi_port_release(int *fd_p)
{
	if (*fd_p >= 0)
		close(*fd_p);
	*fd_p = -1;
}
