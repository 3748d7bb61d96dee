/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control channels that this side dials: finding or dialling a channel to an address, and merging
 * two channels that lead to one peer. engine.lock held.
 */
#ifndef DOFI_CHANNEL_DIAL_H
#define DOFI_CHANNEL_DIAL_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_chan;
struct dofi_conn;
struct sockaddr;

/*
 * Gets conn a channel to the process that serves remote:port: an existing one, unless
 * conn->redialled, or a new one. If it returns 0, exactly one of dofi_conn_chan_up and
 * dofi_conn_dial_failed is called later, and not within this call, unless dofi_chan_detach comes
 * first. A negative errno means that neither is called.
 */
int dofi_chan_dial(struct dofi_conn *conn, const struct sockaddr *remote, uint16_t port);

/*
 * For a dialled channel: the peer has proved that it has the key, and our DETAILS are on their way.
 */
void dofi_chan_proved(struct dofi_chan *chan);

/* Dials the channel's address, for the first time or once more. 0 or a negative errno. */
int dofi_chan_start_dial(struct dofi_chan *chan);
/*
 * The peer hung up and the socket is closed: the channel's timer will dial again, after 2 ms at
 * first and twice as long each time.
 */
void dofi_chan_dial_later(struct dofi_chan *chan);
/* The socket of a channel in the state DIALING is ready: TCP has connected it, or has failed. */
void dofi_chan_dial_done(struct dofi_chan *chan);

/*
 * If another channel leads to the same peer, that channel takes over the connections, and this one
 * closes. False: there is no other.
 */
bool dofi_chan_merge(struct dofi_chan *chan);

/* Sets the options of the socket. Accepted sockets get the same ones. */
void dofi_chan_set_options(const struct dofi_chan *chan);

#endif
