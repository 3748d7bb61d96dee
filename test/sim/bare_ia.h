/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An IA without a device and without threads, for a simulated world: the engine, the connection
 * manager and the work requests are the library's, the fabric comes from the caller.
 */
#ifndef T_SIM_BARE_IA_H
#define T_SIM_BARE_IA_H

#include <rdma/fi_domain.h>
#include <stdint.h>

struct dofi_ia;

/* Registers memory: the keys are those that were asked for. */
extern struct fi_ops_mr bare_mr_ops;
/* Of a fabric with this name of its provider. */
struct fi_info *bare_info(void);

/* Names, limits, parameters and locks; no fabric yet. */
struct dofi_ia *bare_ia_new(const char *name, uint32_t host);
/* ia->info, ->domain and ->trans are there: engine, tables, and an asynchronous EVD. */
void bare_ia_open(struct dofi_ia *ia);
/* Ends listeners, connections and EPs in the order of dat_ia_close. */
void bare_ia_end_connections(struct dofi_ia *ia);
/* Behind that and dofi_cm_fini nothing waits, and nothing is counted. */
void bare_ia_check_rest(const struct dofi_ia *ia);
/* The objects that are left and the tables go, and the IA with them. */
void bare_ia_close(struct dofi_ia *ia);

#endif
