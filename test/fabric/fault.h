/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Faults to inject. Tests change the values at run time: fi_open_ops(domain, SHAM_FAULTS). */
#ifndef SHAM_FAULT_H
#define SHAM_FAULT_H

#define SHAM_FAULTS "sham_faults"

/*
 * One per domain. The start values come from the environment (FI_SHAM_EAGAIN, ...; fi_info -e
 * lists them). A number below zero means never.
 */
struct sham_faults {
	int eagain;   /* posts in a hundred that begin a series of -FI_EAGAIN */
	int truncate; /* received messages in a hundred that are reported as truncated */
	/*
	 * RDMA operations in a hundred that the target refuses, if the profile has an error for
	 * that
	 */
	int refuse;
	int drop;     /* sends and RDMA operations that end before this side becomes silent */
	int mr_limit; /* limit of registrations */
	int late_us;  /* largest delay of an RDMA operation in microseconds */
	int pieces;   /* largest number of pieces of a write, stored in any order; 0 and 1: whole */
	int shuffle;  /* a completion is delayed by fewer polls than this; 0 and 1: in order */
};

#endif
