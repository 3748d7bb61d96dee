/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors of eventfd(2), by which one thread wakes another. */
#ifndef DOFI_EVENTFD_H
#define DOFI_EVENTFD_H

/* Makes the descriptor readable. 0 or -errno. */
int dofi_eventfd_signal(int fd);

/* Makes it unreadable again; a blocking one is waited for. 0 or -errno. */
int dofi_eventfd_clear(int fd);

#endif
