/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection manager's answers to the rooms below it. */
#ifndef DOFI_CM_UPCALLS_H
#define DOFI_CM_UPCALLS_H

#include "object/upcalls.h"

extern const struct dofi_upcalls dofi_cm_upcalls;

#endif
