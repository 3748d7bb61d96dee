/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every IA of the process: what a fork, the exit and a report do with all of them. */
#ifndef DOFI_API_IA_LIST_H
#define DOFI_API_IA_LIST_H

#include <stdbool.h>
#include <stdio.h>

struct dofi_ia;

/*
 * Called before an IA is opened: if another thread forks meanwhile, the child can still open IAs.
 */
void dofi_ia_list_prepare(void);

/* Adds an IA that is open. From now on its handle is valid. */
void dofi_ia_list_add(struct dofi_ia *ia);

/* Removes an IA, whose handle is invalid from now on. False when another thread was faster. */
bool dofi_ia_list_remove(struct dofi_ia *ia);

/* Calls visit() for each. No IA is added or removed meanwhile. */
void dofi_ia_list_visit(void (*visit)(struct dofi_ia *ia, void *arg), void *arg);

/* Counters and objects of an IA, or of every IA of the process. */
void dofi_ia_report(struct dofi_ia *ia, FILE *out);
void dofi_ia_report_all(FILE *out);

#endif
