/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT2_UDAT_VENDOR_SPECIFIC_H
#define DAT2_UDAT_VENDOR_SPECIFIC_H

/* No vendor adds to the user level alone; programs include this file by name. */
#include <dat2/dat_vendor_specific.h>

#endif /* DAT2_UDAT_VENDOR_SPECIFIC_H */
