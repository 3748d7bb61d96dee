/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finds channels that this side has dialled: by an address that leads to the peer, by the host, and
 * by the peer. The tables keep the time of a connection the same with thousands of peers.
 */
#ifndef DOFI_CHANNEL_FIND_H
#define DOFI_CHANNEL_FIND_H

#include <stdbool.h>

struct dofi_chan;
struct dofi_cm;
struct sockaddr_storage;

/* More channels make the lists of the tables longer. */
#define DOFI_CHAN_BUCKETS 512u

/* Allocates the tables. 0 or -ENOMEM. */
int dofi_chan_find_init(struct dofi_cm *cm);
/* Frees them. There are no channels any more. */
void dofi_chan_find_fini(struct dofi_cm *cm);

/* All others are called with engine.lock held. */

/*
 * Adds an address that leads to the channel's peer, if the channel has not got it, and makes the
 * channel the newest one of all its names. The first name is that of the socket and stays. When
 * there are DOFI_CHAN_NAMES, a new one replaces the oldest of the others.
 */
void dofi_chan_add_name(struct dofi_chan *chan, const struct sockaddr_storage *name);
/* The channel is up, so its host and its peer are known. */
void dofi_chan_make_known(struct dofi_chan *chan);
/* The channel has ended. For channels that were not dialled, too. */
void dofi_chan_forget_names(struct dofi_chan *chan);

/*
 * Finds the newest channel to that name, because a port may have got another owner. Channels whose
 * sending has failed do not count. With `afresh` neither do those that are up.
 */
struct dofi_chan *dofi_chan_find_named(struct dofi_cm *cm, const struct sockaddr_storage *name,
				       bool afresh);
/* Finds another channel that is up and leads to the same peer. */
struct dofi_chan *dofi_chan_find_twin(const struct dofi_chan *chan);
/* Whether another channel to the same host is up. */
bool dofi_chan_host_is_known(const struct dofi_chan *chan);

#endif
