/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parts of the suite about transfers. */
#ifndef CONFORM_DTO_H
#define CONFORM_DTO_H

#include "conform.h"

void conform_rdma(Suite *suite);    /* RDMA reads and writes, binds */
void conform_returns(Suite *suite); /* codes that posts may return */

#endif
