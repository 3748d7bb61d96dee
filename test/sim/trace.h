/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The trace of a run: readable lines, and a checksum over them. */
#ifndef T_SIM_TRACE_H
#define T_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* shown: prints the lines to stderr, between those of the library's log. */
void trace_begin(bool shown);
/* From here on frames are counted, and nothing else. */
void trace_stop(void);
/* Of a process, or -1. */
void trace(int process, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line about bytes of a channel, with the names of the frames. */
void trace_bytes(int process, int to, const uint8_t *bytes, size_t size);
uint64_t trace_frames(void);
/* The same when the same has happened. */
uint64_t trace_sum(void);

#endif
