/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fabric of connected endpoints (FI_EP_MSG) for the msg transport: what libfabric would offer it,
 * in memory. Messages, events and ends take the network's time, and keep their order on a
 * connection.
 */
#ifndef T_SIM_FABRIC_MSG_H
#define T_SIM_FABRIC_MSG_H

#include <stdbool.h>

struct dofi_ia;
struct fabric_profile;
struct side;

void fabric_msg_begin(const struct fabric_profile *profile);
void fabric_msg_open(struct dofi_ia *ia, struct side *side);
void fabric_msg_close(struct side *side);
void fabric_msg_cut(int process, bool both);
void fabric_msg_kill(int process);

#endif
