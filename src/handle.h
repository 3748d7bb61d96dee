/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers of IAs. */
#ifndef DATR_HANDLE_H
#define DATR_HANDLE_H

#include <stdbool.h>

#include "version.h"

struct datr_provider;

/* IA handles of consumers are numbers below this limit. No object has such an address. */
#define DATR_IA_LIMIT 65536u

/* NULL when no IA has this number. Takes no lock. */
DAT_IA_HANDLE datr_ia_lookup(DAT_IA_HANDLE number);

/*
 * The number is reserved before the provider opens the IA, so that nothing can fail after the open.
 */
DAT_IA_HANDLE datr_ia_reserve(void); /* NULL if there are no more numbers */
void datr_ia_publish(DAT_IA_HANDLE number, DAT_IA_HANDLE ia, struct datr_provider *provider);
void datr_ia_release(DAT_IA_HANDLE number);

/* Exactly one thread gets to close an IA. The handle is valid until it is released. */
bool datr_ia_close_begin(DAT_IA_HANDLE number, DAT_IA_HANDLE *ia_p,
			 struct datr_provider **provider_p);
void datr_ia_close_cancel(DAT_IA_HANDLE number);

/* Enclose a fork, as those in registry.h. */
void datr_ia_fork_begin(void);
void datr_ia_fork_end(bool in_child);

#endif
