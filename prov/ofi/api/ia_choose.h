/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The choice of an IA: its parameters, its fabric and its address, before anything is opened. */
#ifndef DOFI_API_IA_CHOOSE_H
#define DOFI_API_IA_CHOOSE_H

#include "base/dat_api.h"

struct dofi_ia;

/* Fills the IA with what the parameters and the fabric say. Errors are logged. */
DAT_RETURN dofi_ia_choose(struct dofi_ia *ia, const char *ia_params);

#endif
