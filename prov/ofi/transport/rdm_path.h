/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Begin and end of a connection's data path on a shared endpoint: members of dofi_trans_rdm. */
#ifndef DOFI_RDM_PATH_H
#define DOFI_RDM_PATH_H

#include <stdbool.h>

struct dofi_conn;

int dofi_rdm_connect(struct dofi_conn *conn);
int dofi_rdm_expect(struct dofi_conn *conn);
bool dofi_rdm_cancel(struct dofi_conn *conn);
void dofi_rdm_disconnect(struct dofi_conn *conn);

#endif
