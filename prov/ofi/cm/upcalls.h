/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of functions that the rooms below call in the connection manager (object/upcalls.h). */
#ifndef DOFI_CM_UPCALLS_H
#define DOFI_CM_UPCALLS_H

#include "object/upcalls.h"

extern const struct dofi_upcalls dofi_cm_upcalls;

#endif
