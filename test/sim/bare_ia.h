/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An IA without a device and without threads, for a simulated world. The engine, the connection
 * manager and the work requests are those of the library; the caller provides the fabric.
 */
#ifndef T_SIM_BARE_IA_H
#define T_SIM_BARE_IA_H

#include <rdma/fi_domain.h>
#include <stdint.h>

struct dofi_ia;

/* Registers memory with the requested keys. */
extern struct fi_ops_mr bare_mr_ops;
/* The info of a fabric. */
struct fi_info *bare_info(void);

/* Makes an IA with names, limits, parameters and locks, without a fabric. */
struct dofi_ia *bare_ia_new(const char *name, uint32_t host);
/* ia->info, ->domain and ->trans are set: makes the engine, the tables and an asynchronous EVD. */
void bare_ia_open(struct dofi_ia *ia);
/* Ends listeners, connections and EPs in the order of dat_ia_close. */
void bare_ia_end_connections(struct dofi_ia *ia);
/* After that and dofi_cm_fini: checks that nothing waits and nothing is counted. */
void bare_ia_check_rest(const struct dofi_ia *ia);
/* Frees the remaining objects, the tables and the IA. */
void bare_ia_close(struct dofi_ia *ia);

#endif
