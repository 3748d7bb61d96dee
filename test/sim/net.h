/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The network below kernel.h: joins the two sockets of a stream, takes its time, and loses what it
 * is told to lose.
 */
#ifndef T_SIM_NET_H
#define T_SIM_NET_H

#include "random.h"

#include <stdbool.h>
#include <stdint.h>

/* How it is all along. */
struct net_profile {
	uint64_t latency, jitter; /* ns */
	uint64_t data;            /* ns, at most, that the fabric takes longer */
	uint32_t spikes;          /* one packet in so many is late by up to 50 ms; 0: none */
	uint32_t window;          /* bytes that a stream takes before they are read */
	uint32_t pieces;          /* one write in so many arrives in pieces; 0: none */
	bool resets;              /* a close with unread bytes throws away what is under way */
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

/* The host answers nobody, and hears nobody, for so long; keepalive: streams are given up then. */
void net_silence(int process, uint64_t until, uint64_t keepalive);
/* A packet from one to the other goes through now, or when; UINT64_MAX: never. */
uint64_t net_passes(int from, int to);
/* A stream of the process is cut when so many bytes more have gone out of it. */
void net_cut(int process, uint32_t bytes);
/* The next dials of the process meet this error, so many. */
void net_refuse(int process, int err, uint32_t times);
/* The process has died: its kernel closes what it had, and it sends nothing any more. */
void net_kill(int process);

#endif
