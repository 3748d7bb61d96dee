/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parameters. Each is declared once, in param.def. Words of ia_params override DAT_OFI_* variables,
 * and these override the defaults.
 */
#ifndef DOFI_PARAM_H
#define DOFI_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_params {
#define DOFI_PARAM_STR(name, def, help)           char name[256];
#define DOFI_PARAM_NUM(name, def, min, max, help) uint64_t name;
#include "base/param.def"
#undef DOFI_PARAM_STR
#undef DOFI_PARAM_NUM
};

/*
 * Fills p for the IA called name ("ofi", "ofi-PROVIDER[-DOMAIN]" or a dat.conf name) with
 * ia_params. OFED's old forms such as "ib0 0", "192.0.2.1 0" or "mlx5_0 1" name a netdev, its
 * address or a device. Returns 0; -EINVAL after a message if a word is not understood; -ENOMEM.
 */
int dofi_params_load(struct dofi_params *p, const char *name, const char *ia_params);

#endif
