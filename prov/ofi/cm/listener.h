/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Listening sockets of service points. */
#ifndef DOFI_LISTENER_H
#define DOFI_LISTENER_H

struct dofi_sp;

/* Listens at the IA's address. 0, -EADDRINUSE, -ENOSPC (no port is left), another -errno. */
int dofi_sp_listen(struct dofi_sp *sp);

void dofi_sp_unlisten(struct dofi_sp *sp);

#endif
