/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The InfiniBand extensions of DAT 2.0. */
#ifndef DOFI_API_EXT_H
#define DOFI_API_EXT_H

#include "base/dat_api.h"

#include <stdarg.h>

/* dat_extension_op: the arguments are those of the operation's macro in dat_ib_extensions.h. */
DAT_RETURN dofi_extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);

#endif
