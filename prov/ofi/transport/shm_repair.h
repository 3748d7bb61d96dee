/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Repair of shm after a process was killed. The dead process may have held the lock of its own
 * region, or of ours, or have claimed entries of our queue (shm_queue.h). libfabric then waits for
 * ever: in fi_cq_read with engine.lock held, or in a post with the EP's lock. So a separate thread,
 * which takes neither lock, waits for the death of each peer (by a pidfd) and repairs:
 *
 *   the region of the dead process   gets no room for anything, and its lock is released.
 *   our region                       Its lock stays held while no command goes in or out, or an
 *                                    entry stays claimed. If no thread of a living process can be
 *                                    the holder (live_threads.h), it was the dead process. The
 *                                    thread releases the lock, or skips the entry.
 *   requests that wait for the dead  end with a failure, when the connections with it are over
 *   process                          (shm_requests.h, shm_commands.h).
 *
 * The thread sleeps until a peer dies. While a peer is connected that cannot be watched, because it
 * is in another PID namespace, the lock and the entries of our region are left alone.
 */
#ifndef DOFI_SHM_REPAIR_H
#define DOFI_SHM_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;
struct dofi_shm_peer;

/*
 * name: the fabric's address of our endpoint. No effect unless the fabric has
 * DOFI_QUIRK_DEAD_LOCKS. If a repair is not possible, this is logged and is no failure.
 */
void dofi_shm_repair_open(struct dofi_ia *ia, const uint8_t *name);
/* Called before the endpoint is closed. */
void dofi_shm_repair_close(struct dofi_ia *ia);

/* A peer's endpoint becomes known to the fabric; NULL: it is not watched. engine.lock held. */
struct dofi_shm_peer *dofi_shm_repair_watch(struct dofi_ia *ia, const uint8_t *name);
/* The peer has connections, or has none any more. */
void dofi_shm_repair_use(struct dofi_ia *ia, struct dofi_shm_peer *peer, bool used);
/*
 * The fabric forgets the peer. closed: the peer has closed its endpoint; otherwise its process may
 * be about to die.
 */
void dofi_shm_repair_forget(struct dofi_ia *ia, struct dofi_shm_peer *peer, bool closed);

#endif
