/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The passive endpoint of an IA, and the endpoints of connections: members of dofi_trans_msg. */
#ifndef DOFI_MSG_PATH_H
#define DOFI_MSG_PATH_H

#include <stddef.h>

struct dofi_conn;
struct dofi_ia;

int dofi_msg_open(struct dofi_ia *ia, void *name, size_t *size_p);
void dofi_msg_close(struct dofi_ia *ia);

void dofi_msg_prepare(struct dofi_conn *conn);
int dofi_msg_connect(struct dofi_conn *conn);
int dofi_msg_expect(struct dofi_conn *conn);
void dofi_msg_disconnect(struct dofi_conn *conn);

int dofi_msg_poll_events(struct dofi_ia *ia); /* the number of events */

#endif
