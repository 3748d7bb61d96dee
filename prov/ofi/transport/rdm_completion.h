/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions and errors of a shared endpoint: members of dofi_trans_rdm. */
#ifndef DOFI_RDM_COMPLETION_H
#define DOFI_RDM_COMPLETION_H

#include <sys/types.h>

struct dofi_ia;
struct fi_cq_err_entry;

void dofi_rdm_completed(struct dofi_ia *ia, const void *entries, ssize_t n);
void dofi_rdm_failed(struct dofi_ia *ia, struct fi_cq_err_entry *err);

#endif
