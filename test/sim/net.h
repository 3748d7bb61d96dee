/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The network below kernel.h: joins the two sockets of a stream, delays packets, and loses what the
 * plan says.
 */
#ifndef T_SIM_NET_H
#define T_SIM_NET_H

#include "random.h"

#include <stdbool.h>
#include <stdint.h>

/* Properties of the network for a whole run. */
struct net_profile {
	uint64_t latency, jitter; /* ns */
	uint64_t data;            /* ns: the most that the fabric takes longer */
	uint32_t spikes;          /* one in this many packets is late by up to 50 ms; 0: none */
	/* one in this many is lost, and sent again after longer and longer pauses; 0: none */
	uint32_t losses;
	uint32_t window; /* bytes that a stream takes while they are not read */
	uint32_t pieces; /* one in this many writes arrives in pieces; 0: none */
	bool resets;     /* a close with unread bytes discards the bytes under way */
};

/* What has gone out. */
struct net_traffic {
	uint64_t dials, writes, bytes;
};

/* wake: someone has something to read, or room to write. */
void net_begin(const struct net_profile *profile, int processes, struct random r,
	       void (*wake)(int process));
struct net_traffic net_traffic(void);
/* How long a packet is under way; one of the fabric. */
uint64_t net_latency(void);
uint64_t net_data_latency(void);

/*
 * The host neither sends nor receives until then; keepalive: the time after which its streams are
 * given up.
 */
void net_silence(int process, uint64_t until, uint64_t keepalive);
/* The time at which a packet from one to the other gets through; UINT64_MAX: never. */
uint64_t net_passes(int from, int to);
/* Cuts a stream of the process after it has sent this many more bytes. */
void net_cut(int process, uint32_t bytes);
/* The next `times` dials of the process fail with this error. */
void net_refuse(int process, int err, uint32_t times);
/* The process has died: its kernel closes its sockets, and it sends nothing any more. */
void net_kill(int process);

#endif
