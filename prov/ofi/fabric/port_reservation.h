/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reserves a free TCP port. iWARP shares its ports with TCP, and librdmacm chooses one without a
 * check. The socket that holds the port neither listens nor connects, and it has SO_REUSEADDR, so
 * the device, which asks with this option, gets the port.
 */
#ifndef DOFI_PORT_RESERVATION_H
#define DOFI_PORT_RESERVATION_H

#include <stddef.h>
#include <sys/socket.h>

/* Stores a free port in addr. Returns the descriptor that holds the port, or -1. */
int dofi_port_hold(struct sockaddr *addr, size_t size);
void dofi_port_release(int *fd_p);

#endif
