/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What rxm, libfabric's connectionless endpoints over connected ones, has to be kept from. Version 2.0 to 2.6 sends messages of 16 to
 * 128 KiB in parts. When a connection below ends between two of them, because the peer died or an endpoint is closed, the receiver
 * follows a pointer that is none (rxm_close_conn) and crashes. Sent as longer ones are, by a read of the receiver's, they do no harm.
 */
#ifndef DOFI_RXM_H
#define DOFI_RXM_H

struct dofi_ia;

/*
 * Before the endpoint is made: sets libfabric's own variable where this rxm is, and nobody has set it. The sender decides, so both
 * sides have to. 0 or, after a message, a negative errno.
 */
int dofi_rxm_choose(const struct dofi_ia *ia);

#endif
