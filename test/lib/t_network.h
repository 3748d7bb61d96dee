/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A cable between the network of the test and that of another process; both have networks of their
 * own.
 */
#ifndef T_NETWORK_H
#define T_NETWORK_H

#include <stdbool.h>
#include <sys/types.h>

#define T_NETWORK_OURS   "10.99.0.1"
#define T_NETWORK_THEIRS "10.99.0.2"

/* Runs a command quietly; false when it fails. */
__attribute__((format(printf, 1, 2))) bool t_shell(const char *fmt, ...);

/* Interfaces cut0 here and cut1 there, with the addresses above; false when ip(8) can't. */
bool t_network_join(pid_t pid);

#endif
