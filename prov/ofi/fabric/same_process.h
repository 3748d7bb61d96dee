/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shm recognises the endpoints of its own process by their names. It uses the mapping that such an
 * endpoint has made, even after the endpoint was closed and has unmapped it. A name with one more
 * slash leads to the same memory, and shm does not recognise it.
 *
 * libfabric 2.5 and 2.6 crash with each large message between endpoints of one process. There all
 * peers get the name with the slash. 1.17 crashes when the other endpoint is closed while an
 * operation is under way. In 1.17 both sides exchange their names once more, so a peer with a
 * second name takes two of the 256 entries of the table: only peers of this process get it.
 */
#ifndef DOFI_SAME_PROCESS_H
#define DOFI_SAME_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#define DOFI_SHM_PREFIX "fi_shm://" /* of the addresses of shm's endpoints */

/* Adds the slash to our own name, in name[*size_p], before peers get it. 0 or -FI_ETOOSMALL. */
int dofi_same_process_hide(uint64_t quirks, uint8_t *name, size_t *size_p, size_t room);

/*
 * Adds the slash to a peer's name before the fabric gets it; `own` is our name. The same results.
 */
int dofi_same_process_avoid(uint64_t quirks, uint8_t *name, size_t *size_p, size_t room,
			    const uint8_t *own);

#endif
