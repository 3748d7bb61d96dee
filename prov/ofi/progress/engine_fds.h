/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors that the engine watches. */
#ifndef DOFI_ENGINE_FDS_H
#define DOFI_ENGINE_FDS_H

#include "object/ia_parts.h"
#include <stdint.h>

struct dofi_ia;

/* Watches a descriptor of ours, whose ready() the rounds call. 0 or -errno. */
int dofi_engine_watch(struct dofi_ia *ia, struct dofi_fd *fd, uint32_t epoll_events);
void dofi_engine_rewatch(struct dofi_ia *ia, struct dofi_fd *fd, uint32_t epoll_events);
void dofi_engine_unwatch(struct dofi_ia *ia, struct dofi_fd *fd);

/* A descriptor that ends the sleep of the driver and of the progress thread. 0 or -errno. */
int dofi_engine_wake_on(struct dofi_ia *ia, int fd);

/*
 * Calls the handlers of ready descriptors, such as control channels, at most 64 of them; the next
 * round handles the others. engine.lock held. Returns the number of descriptors.
 */
int dofi_engine_hear(struct dofi_ia *ia);

#endif
