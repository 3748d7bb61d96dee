/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stands between the provider and libfabric, and makes chosen calls fail. A program that links
 * t_fabric.c and the provider takes -Wl,--wrap=fi_fabric -Wl,--wrap=fi_getinfo: from the fabric on,
 * each object that is opened gets our operations in place of its own.
 */
#ifndef T_FABRIC_H
#define T_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

/* The port that the last endpoint was told which is to connect over IPv4; 0: any. */
uint16_t t_fabric_source_port(void);

enum t_fabric_call {
	T_FI_GETINFO,
	T_FI_FABRIC,
	T_FI_DOMAIN,
	T_FI_EQ_OPEN,
	T_FI_CQ_OPEN,
	T_FI_PASSIVE_EP,
	T_FI_PEP_BIND,
	T_FI_LISTEN,
	T_FI_GETNAME,
	T_FI_MR_REG,
	T_FI_SRX_CONTEXT,
	T_FI_ENDPOINT,
	T_FI_EP_BIND,
	T_FI_ENABLE,
	T_FI_CONNECT,
	T_FI_ACCEPT,
	T_FI_SEND, /* and its kin with many segments, with data or without a completion */
	T_FI_RECV,
	T_FI_READ,
	T_FI_WRITE,
	T_FI_CQ_READ,
	T_FI_CALLS
};

/* From now on, after `good` more that succeed, `bad` of these calls answer -err (bad < 0: all). */
void t_fabric_fail(enum t_fabric_call call, int good, int bad, int err);
/* How often it has failed since. */
int t_fabric_failed(enum t_fabric_call call);
/* Of ten posts and reads of the queue `often` answer EAGAIN, in no order that repeats soon. */
void t_fabric_stutter(unsigned int often);
void t_fabric_heal(void);
/* From now on the fabric does this before each such call. To be set before the first IA. */
void t_fabric_before(enum t_fabric_call call, void (*deed)(void));

#endif
