/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A TCP port that is free now and stays ours: iWARP's ports are those of TCP, and librdmacm chooses
 * one without looking who has it. The socket that holds it neither listens nor connects, and lets
 * whoever asks with SO_REUSEADDR, as the device does, have it, too.
 */
#ifndef DOFI_PORT_RESERVATION_H
#define DOFI_PORT_RESERVATION_H

#include <stddef.h>
#include <sys/socket.h>

/* Gives addr a port; what holds it is a descriptor, or negative when there is none. */
int dofi_port_hold(struct sockaddr *addr, size_t size);
void dofi_port_release(int *fd_p);

#endif
