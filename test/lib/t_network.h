/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A pair of virtual interfaces between the network namespace of the test and that of another
 * process.
 */
#ifndef T_NETWORK_H
#define T_NETWORK_H

#include <stdbool.h>
#include <sys/types.h>

#define T_NETWORK_OURS   "10.99.0.1"
#define T_NETWORK_THEIRS "10.99.0.2"

/* Runs a shell command without output. False if it fails. */
__attribute__((format(printf, 1, 2))) bool t_shell(const char *fmt, ...);

/* Creates interfaces cut0 here and cut1 there with the addresses above. False if ip(8) fails. */
bool t_network_join(pid_t pid);

#endif
