/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Before 2.5: the requests of an endpoint that wait for an answer. Answers come in a ring of
 * the initiator's, in posting order: one that never comes keeps all later ones back.
 */
#ifndef DOFI_SHM_REQUESTS_H
#define DOFI_SHM_REQUESTS_H

#include <stdbool.h>

struct dofi_shm_map;

/*
 * Ends the requests of the endpoint of region `own` that wait for the dead owner of `dead`, with a
 * failure; those that use buffers of the dead owner end as if they were done. True: none is left,
 * or the layout is another one. False: try again.
 */
bool dofi_shm_settle(const struct dofi_shm_map *own, const struct dofi_shm_map *dead);

#endif
