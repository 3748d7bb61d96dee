/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parts of the suite about the EP state machine. */
#ifndef CONFORM_EPS_H
#define CONFORM_EPS_H

#include "conform.h"

void conform_eps_events(Suite *suite);
void conform_eps_rules(Suite *suite);

#endif
