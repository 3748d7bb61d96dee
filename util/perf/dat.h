/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef UTIL_PERF_DAT_H
#define UTIL_PERF_DAT_H

#include "perf/perf.h"

#include <dat2/dat_ib_extensions.h>
#include <netinet/in.h>

/* Bytes in front of a datagram that was received. */
#define PERF_UD_HEADER 40

/* A thread's objects over DAT. */
struct perf_dat {
	const struct perf_env *env;
	bool borrowed; /* the IA is that of the first thread */
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_EVD_HANDLE async_evd, dto_evd, conn_evd, cr_evd;
	DAT_EVD_HANDLE nap_evds[2]; /* wake-ups */
	DAT_IA_ATTR limits;
	DAT_SRQ_HANDLE srq;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL conn_qual;
	DAT_EP_HANDLE *eps;
	DAT_RMR_HANDLE *rmrs; /* binds: one per request */
	/* datagrams: datagrams: address handle of each endpoint's peer; otherwise NULL */
	DAT_IB_ADDR_HANDLE *ways;
	char header[PERF_UD_HEADER]; /* ...the beginning of receives... */
	DAT_LMR_HANDLE header_lmr;   /* ...and its registration */
	DAT_LMR_CONTEXT header_context;
	uint32_t nconnected;
	struct sockaddr_in6 peer; /* room for the longest address */
	DAT_CONN_QUAL peer_qual;
	uint64_t peer_base;
	DAT_RMR_CONTEXT peer_context;
};

int perf_dat_fail(const char *what, DAT_RETURN ret);

/* Opens the first `count` endpoints. */
int perf_dat_open_eps(struct perf_dat *dat, uint32_t count);

/* ---- connections (dat_link.c) ---- */

int perf_dat_address(void *be, struct perf_addr *addr);
int perf_dat_connect(void *be, const struct perf_addr *peer);
int perf_dat_link(void *be, uint32_t count);
int perf_dat_unlink(void *be, uint32_t count);
/* Disconnects all connections, and ignores failures. */
void perf_dat_part(struct perf_dat *dat);

/* ---- requests and completions (dat_post.c) ---- */

int perf_dat_post_recv(void *be, const struct perf_wr *wr);
int perf_dat_send(void *be, const struct perf_wr *wr);
int perf_dat_write(void *be, const struct perf_wr *wr);
int perf_dat_read(void *be, const struct perf_wr *wr);
int perf_dat_immediate(void *be, const struct perf_wr *wr);
int perf_dat_fetch_add(void *be, const struct perf_wr *wr);
int perf_dat_cmp_swap(void *be, const struct perf_wr *wr);
int perf_dat_bind(void *be, const struct perf_wr *wr);
int perf_dat_poll(void *be, struct perf_comp *comps, int max);
int perf_dat_wait(void *be, struct perf_comp *comps, int max, int ms);

#endif
