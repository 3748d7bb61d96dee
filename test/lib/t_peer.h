/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process of its own at the other end. It has to be started before the test opens an IA, because
 * DAT handles do not survive a fork. Both sides exchange words over a socket; who waits for one
 * fails when the other side has gone.
 */
#ifndef T_PEER_H
#define T_PEER_H

#include "t.h"

struct t_peer {
	pid_t pid; /* 0: this is the peer itself */
	int sock;
};

/* The peer runs the role and exits in order; it dies with the test, too. */
void t_peer_start(struct t_peer *peer, void (*role)(struct t_peer *self));
void t_peer_tell(const struct t_peer *peer, uint64_t word);
uint64_t t_peer_hear(const struct t_peer *peer);

void t_peer_freeze(const struct t_peer *peer); /* returns when it has stopped */
void t_peer_thaw(const struct t_peer *peer);
void t_peer_kill(struct t_peer *peer); /* with SIGKILL, in whatever state */
void t_peer_join(struct t_peer *peer); /* the role has to return, without a failure */

#endif
