/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peers at the sockets of sim/kernel.h. They read the library's frames and remember its
 * connection numbers and tokens, so that an input can name one by a byte. The input decides what
 * they send.
 */
#ifndef T_FUZZ_PEER_H
#define T_FUZZ_PEER_H

#include "fuzz.h"
#include "../sim/kernel.h"

#define PEER_PROVIDER "fuzz"

struct dofi_ia;

extern const struct kernel_peers peer_events;

void peer_begin(struct dofi_ia *ia);

/*
 * Begins the handshake, which continues with the library's answers. The input selects its faults.
 */
void peer_hello(int s, struct fuzz_input *in);
/* Sends any other message to a connection of the library. */
void peer_message(int s, struct fuzz_input *in);
/* Sends bytes of the input as a sealed frame, or without a frame. */
void peer_frame(int s, struct fuzz_input *in);
void peer_bytes(int s, struct fuzz_input *in);

#endif
