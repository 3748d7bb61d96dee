/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helpers for the programs of this directory. Each program is one suite. */
#ifndef FAULT_H
#define FAULT_H

#include <stdio.h>
#include <sys/mman.h>

#include "../lib/t.h"
#include "../lib/t_peer.h"
#include "../lib/unit.h"

/* True for the fabric of test/fabric, which keeps no order that it does not promise. */
static inline bool fault_fabric_is_sham(void)
{
	const char *params = getenv("T_PARAMS");

	return params && !strncmp(params, "provider=sham", strlen("provider=sham"));
}

/* True for shm and for the fabric of test/fabric on shm. */
static inline bool fault_fabric_is_shm(void)
{
	const char *params = getenv("T_PARAMS"), *core = getenv("FI_SHAM_CORE");

	return (params && !strncmp(params, "provider=shm", strlen("provider=shm"))) ||
	       (fault_fabric_is_sham() && (!core || !strcmp(core, "shm")));
}

/*
 * True for verbs. Its devices belong to the first network namespace and have no loopback address.
 */
static inline bool fault_fabric_is_verbs(void)
{
	return getenv("T_VERBS") != NULL;
}

/*
 * True for psm3, by the variable of test/over.sh. psm3's sockets need a network interface other
 * than the loopback.
 */
static inline bool fault_fabric_is_psm3(void)
{
	const char *params = getenv("T_PARAMS");

	return params && strstr(params, "provider=psm3");
}

/* Zeroed memory that this process shares with the peers that it starts later. */
static inline void *fault_share(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	return memory;
}

/* The amount of work: little in "make check", much in "make check-faults", which sets T_FULL. */
static inline unsigned int fault_amount(unsigned int little, unsigned int much)
{
	return getenv("T_FULL") ? much : little;
}

/*
 * The same for peers of one IA. Over efa, libfabric before 2.4 takes 128 processes of the host in
 * the life of an endpoint (docs/known-issues.md).
 */
static inline unsigned int fault_peers(unsigned int little, unsigned int much)
{
	unsigned int number = fault_amount(little, much);

	return strncmp(t_ia_name(), "efa", 3) || number < 100 ? number : 100;
}

#endif
