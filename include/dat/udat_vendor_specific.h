/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT_UDAT_VENDOR_SPECIFIC_H
#define DAT_UDAT_VENDOR_SPECIFIC_H

/* No vendor adds to the user level alone; programs include this file by name. */
#include <dat/dat_vendor_specific.h>

#endif /* DAT_UDAT_VENDOR_SPECIFIC_H */
