/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams of events that feed an EVD. A stream uses the EVD, which cannot be freed meanwhile.
 */
#ifndef DOFI_EVD_STREAMS_H
#define DOFI_EVD_STREAMS_H

#include "progress/evd.h"

/*
 * How the DTO streams of the EVD notify. One EVD may serve DTO streams that notify in different
 * ways, each by the flags of its own posts. Then it counts as one of thresholds. evd->lock held.
 */
enum dofi_dto_config dofi_evd_config(const struct dofi_evd *evd);

/*
 * Attaches or detaches a stream. For a DTO stream both calls name the way in which it notifies. evd
 * may be NULL.
 */
void dofi_evd_attach_dto(struct dofi_evd *evd, enum dofi_dto_config config);
void dofi_evd_detach_dto(struct dofi_evd *evd, enum dofi_dto_config config);
void dofi_evd_attach_other(struct dofi_evd *evd);
void dofi_evd_detach_other(struct dofi_evd *evd);

/*
 * Places for connection requests: what is free, less a place for each other stream, up to half the
 * EVD. So a flood of requests doesn't crowd out the events of connections that share it.
 */
uint32_t dofi_evd_room(struct dofi_evd *evd);

#endif
