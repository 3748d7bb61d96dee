/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT_UDAT_VENDOR_SPECIFIC_H
#define DAT_UDAT_VENDOR_SPECIFIC_H

/* No vendor adds anything to the user level. The file exists for programs that include it. */
#include <dat/dat_vendor_specific.h>

#endif /* DAT_UDAT_VENDOR_SPECIFIC_H */
