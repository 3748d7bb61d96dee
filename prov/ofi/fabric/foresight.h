/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which quirks an IA may meet, told before libfabric is asked: its first call that looks for
 * fabrics reads variables that have to be right by then.
 */
#ifndef DOFI_FORESIGHT_H
#define DOFI_FORESIGHT_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_params;

/*
 * One of these, all of providers for RDMA devices, by the parameters of the IA, FI_PROVIDER and the
 * devices of the host.
 */
bool dofi_quirk_may_come(const struct dofi_params *params, uint64_t quirks);

#endif
