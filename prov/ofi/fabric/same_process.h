/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shm knows the endpoints of its own process by their names and takes a short cut to them: it uses
 * the very memory that the other one has mapped, also after that one was closed and has unmapped
 * it. With one more slash the name is that of the same memory, and unknown to the short cut.
 *
 * libfabric 2.5 and 2.6 crash on it with each large message, and get the other name for all peers.
 * 1.17 crashes when the other one is closed with something under way. There both sides tell each
 * other their names once more, so that who has another name takes two of 256 places: it is only for
 * those of this process.
 */
#ifndef DOFI_SAME_PROCESS_H
#define DOFI_SAME_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#define DOFI_SHM_PREFIX "fi_shm://" /* of the addresses of shm's endpoints */

/* Before our own name, in name[*size_p], is told to peers. 0 or -FI_ETOOSMALL. */
int dofi_same_process_hide(uint64_t quirks, uint8_t *name, size_t *size_p, size_t room);

/* Before a peer's name is given to the fabric; `own` is ours. The same errors. */
int dofi_same_process_avoid(uint64_t quirks, uint8_t *name, size_t *size_p, size_t room,
			    const uint8_t *own);

#endif
