/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the programs of this directory have in common: each is one suite. */
#ifndef FAULT_H
#define FAULT_H

#include <stdio.h>

#include "../lib/t.h"
#include "../lib/t_peer.h"
#include "../lib/unit.h"

/* The fabric of test/fabric keeps no order that it does not promise. */
static inline bool fault_fabric_is_sham(void)
{
	const char *params = getenv("T_PARAMS");

	return params && !strncmp(params, "provider=sham", strlen("provider=sham"));
}

/* It is shm, or the fabric of test/fabric on it. */
static inline bool fault_fabric_is_shm(void)
{
	const char *params = getenv("T_PARAMS"), *core = getenv("FI_SHAM_CORE");

	return (params && !strncmp(params, "provider=shm", strlen("provider=shm"))) ||
	       (fault_fabric_is_sham() && (!core || !strcmp(core, "shm")));
}

/* Devices stay in the first network namespace and have no address of the loopback interface. */
static inline bool fault_fabric_is_verbs(void)
{
	return getenv("T_VERBS") != NULL;
}

/*
 * psm3's sockets need a network interface that is not the loopback. test/over.sh says what the IA
 * is.
 */
static inline bool fault_fabric_is_psm3(void)
{
	const char *params = getenv("T_PARAMS");

	return params && strstr(params, "provider=psm3");
}

/* How much of it: little in "make check", much in "make check-all", which sets T_FULL. */
static inline unsigned int fault_amount(unsigned int little, unsigned int much)
{
	return getenv("T_FULL") ? much : little;
}

#endif
