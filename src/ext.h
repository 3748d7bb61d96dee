/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Extended operations. */
#ifndef DATR_EXT_H
#define DATR_EXT_H

#include "version.h"

#if DATR_DAT_MAJOR == 2
void datr_extensions_enable(void);
#endif

#endif
