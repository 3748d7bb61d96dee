/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Text of return codes. */
#ifndef DATR_STRERROR_H
#define DATR_STRERROR_H

#include "version.h"

const char *datr_type_text(DAT_RETURN value); /* never NULL, valid for the life of the process */

#endif
