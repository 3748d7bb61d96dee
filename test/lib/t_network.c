/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "t_network.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool t_shell(const char *fmt, ...)
{
	char command[256], quiet[300];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	snprintf(quiet, sizeof(quiet), "%s >/dev/null 2>&1", command);
	return system(quiet) == 0;
}

bool t_network_join(pid_t pid)
{
	int there = (int)pid;

	return t_shell("ip link add cut0 type veth peer name cut1 netns %d", there) &&
	       t_shell("ip addr add " T_NETWORK_OURS "/24 dev cut0") &&
	       t_shell("ip link set cut0 up") &&
	       t_shell("nsenter -t %d -n ip link set lo up", there) &&
	       t_shell("nsenter -t %d -n ip addr add " T_NETWORK_THEIRS "/24 dev cut1", there) &&
	       t_shell("nsenter -t %d -n ip link set cut1 up", there);
}
