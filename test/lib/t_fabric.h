/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Intercepts the provider's calls of libfabric and makes chosen ones fail. A program links
 * t_fabric.c and the provider with -Wl,--wrap=fi_fabric -Wl,--wrap=fi_getinfo. Each object of the
 * fabric then gets a table of our operations.
 */
#ifndef T_FABRIC_H
#define T_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

/* The source port that the last active IPv4 endpoint was opened with; 0: any. */
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
	T_FI_SEND, /* also the variants with segments, with data, and without completion */
	T_FI_RECV,
	T_FI_READ,
	T_FI_WRITE,
	T_FI_CQ_READ,
	T_FI_CALLS
};

/* The next `good` of these calls succeed, then `bad` calls return -err (bad < 0: all). */
void t_fabric_fail(enum t_fabric_call call, int good, int bad, int err);
/* The number of calls that have failed since. */
int t_fabric_failed(enum t_fabric_call call);
/* In pseudo-random order, `often` of ten posts and reads of the queue return -FI_EAGAIN. */
void t_fabric_stutter(unsigned int often);
void t_fabric_heal(void);
/* `deed` runs before each such call. Set it before the first IA is opened. */
void t_fabric_before(enum t_fabric_call call, void (*deed)(void));

#endif
