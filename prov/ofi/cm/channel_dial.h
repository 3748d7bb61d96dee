/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control channels that this side dials: which one leads to an address, TCP's connect, and two
 * channels that turn out to lead to one peer. engine.lock held.
 */
#ifndef DOFI_CHANNEL_DIAL_H
#define DOFI_CHANNEL_DIAL_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_chan;
struct dofi_conn;
struct sockaddr;

/*
 * Gets conn a channel to whoever serves remote:port: one that led there before, unless
 * conn->redialled, or a new one. When it returns 0, later exactly one of dofi_conn_chan_up and
 * dofi_conn_dial_failed is called (never from inside), unless dofi_chan_detach comes first. A
 * negative errno means that neither will be.
 */
int dofi_chan_dial(struct dofi_conn *conn, const struct sockaddr *remote, uint16_t port);

/* Dialled: the peer has proved that it has the key, and our details are on the way to it. */
void dofi_chan_proved(struct dofi_chan *chan);

/* Dials the channel's address, for the first time or once more. 0 or a negative errno. */
int dofi_chan_start_dial(struct dofi_chan *chan);
/* The socket of a channel in the state DIALING is ready: TCP has connected it, or has failed. */
void dofi_chan_dial_done(struct dofi_chan *chan);

/*
 * If another channel leads to the peer that this dialled one has turned out to lead to, that one
 * takes over its connections and this one is closed. False: there is no other.
 */
bool dofi_chan_merge(struct dofi_chan *chan);

/* Of its socket; an accepted one gets the same. */
void dofi_chan_set_options(const struct dofi_chan *chan);

#endif
