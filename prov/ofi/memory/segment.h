/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that processes share by passing its descriptor (memfd). It has no name, so a process that
 * dies leaves nothing behind. Its size is sealed: a process that maps the memory cannot get SIGBUS
 * because another one has shrunk it.
 */
#ifndef DOFI_MEMORY_SEGMENT_H
#define DOFI_MEMORY_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether this process may make a file of that size (ulimit -f). The kernel ends a process that
 * tries to make a larger one, by SIGXFSZ.
 */
bool dofi_segment_fits(size_t size);

/*
 * Makes such memory, all zero, and maps it. /proc/PID/maps shows the label. Returns a descriptor,
 * or a negative errno: -EFBIG if it does not fit.
 */
int dofi_segment_make(const char *label, size_t size, void **memory_p);

/*
 * Maps memory that another process has made. Returns 0, or a negative errno: -EPERM if its size is
 * not sealed, -EPROTO if it has another size. The descriptor remains the caller's.
 */
int dofi_segment_map(int fd, size_t size, bool writable, void **memory_p);

#endif
