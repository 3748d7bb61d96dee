/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "trace.h"

#include "kernel.h"

#include "cm/wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_shown, is_on;
static uint64_t sum, frames;

void trace_begin(bool shown)
{
	is_shown = shown;
	is_on = true;
	sum = frames = 0;
}

void trace_stop(void)
{
	is_on = false;
}

uint64_t trace_sum(void)
{
	return sum;
}

uint64_t trace_frames(void)
{
	return frames;
}

static void add(uint64_t value)
{
	sum = (sum ^ value) * UINT64_C(0x100000001b3) + (sum >> 29);
}

void trace(int process, const char *format, ...)
{
	char line[256];
	va_list args;

	if (!is_on)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	add(kernel_time);
	for (const char *c = line; *c; c++)
		add((uint8_t)*c);
	if (!is_shown)
		return;
	fprintf(stderr, "%12.6f ", (double)(kernel_time - 1000 * KERNEL_MS) / 1e9);
	if (process < 0)
		fprintf(stderr, "     %s\n", line);
	else
		fprintf(stderr, "ia%d  %s\n", process, line);
}

#define NAME(type) [DOFI_MSG_##type] = #type

static const char *name_of(uint8_t type)
{
	static const char *const names[] = {
		NAME(REQUEST), NAME(ACCEPT),     NAME(REJECT), NAME(READY),
		NAME(CANCEL),  NAME(DISCONNECT), NAME(BYE),    NAME(GOODBYE),
	};

	return type < sizeof(names) / sizeof(*names) && names[type] ? names[type] : "a frame";
}

/*
 * The library queues whole frames, so a write begins with a frame, unless the last write was
 * partial.
 */
void trace_bytes(int process, int to, const uint8_t *bytes, size_t size)
{
	char line[160] = "";
	size_t at = 0, frame, n = 0;

	while (dofi_wire_frame(bytes + at, size - at, &frame) && frame) {
		if (is_on && n < sizeof(line) - 24)
			n += (size_t)snprintf(line + n, sizeof(line) - n, " %s",
					      name_of(bytes[at + DOFI_WIRE_LENGTH]));
		at += frame;
		frames++;
	}
	trace(process, "--> ia%d  %zu bytes:%s%s", to, size, line, at < size ? " and a part" : "");
}
