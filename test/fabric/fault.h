/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What can be made to go wrong. Tests change it as they run: fi_open_ops(domain, SHAM_FAULTS). */
#ifndef SHAM_FAULT_H
#define SHAM_FAULT_H

#define SHAM_FAULTS "sham_faults"

/*
 * One per domain. The start values come from the environment (FI_SHAM_EAGAIN, ...; fi_info -e
 * lists them). A number below zero means never.
 */
struct sham_faults {
	int eagain;   /* a post in a hundred that begins a storm of -FI_EAGAIN */
	int truncate; /* received messages in a hundred that are told as too long */
	/* RDMAs in a hundred that the target refuses, where the profile says how that looks */
	int refuse;
	int drop;     /* sends and RDMAs that end before this side falls silent */
	int mr_limit; /* registrations that may live at a time */
	int late_us;  /* an RDMA waits for up to so many microseconds before it begins */
	int pieces;   /* a write is stored in up to so many, in any order; 0 and 1: whole */
	int shuffle;  /* a completion waits for fewer than so many polls; 0 and 1: in order */
};

#endif
