/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer in a process of its own. A test starts it before it opens an IA, because DAT handles do
 * not survive a fork. Both sides exchange integers over a socket. If one side has exited, receiving
 * fails the test on the other side.
 */
#ifndef T_PEER_H
#define T_PEER_H

#include "t.h"

struct t_peer {
	pid_t pid; /* 0: this is the peer itself */
	int sock;
	int messages; /* of the peer, for Check; t_peer_join() passes them on */
};

/* Starts a peer, which runs `role` and exits. If the test dies, the peer is killed. */
void t_peer_start(struct t_peer *peer, void (*role)(struct t_peer *self));
void t_peer_tell(const struct t_peer *peer, uint64_t word);
uint64_t t_peer_hear(const struct t_peer *peer);

void t_peer_freeze(const struct t_peer *peer); /* returns when the peer has stopped */
void t_peer_thaw(const struct t_peer *peer);
void t_peer_kill(struct t_peer *peer); /* sends SIGKILL, in any state */
void t_peer_join(struct t_peer *peer); /* fails the test if the role fails */

#endif
