/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/evd_streams.h"

#include "progress/evd.h"

#include <assert.h>

enum dofi_dto_config dofi_evd_config(const struct dofi_evd *evd)
{
	enum dofi_dto_config config = DOFI_CONFIG_NONE;

	dofi_assert_held(&evd->lock);
	for (unsigned int i = DOFI_CONFIG_THRESHOLD; i < DOFI_CONFIGS; i++) {
		if (!evd->dto_streams[i])
			continue;
		if (config != DOFI_CONFIG_NONE)
			return DOFI_CONFIG_THRESHOLD;
		config = (enum dofi_dto_config)i;
	}
	return config;
}

static uint32_t count_streams(const struct dofi_evd *evd)
{
	uint32_t n = evd->other_streams;

	dofi_assert_held(&evd->lock);
	for (unsigned int i = 0; i < DOFI_CONFIGS; i++)
		n += evd->dto_streams[i];
	return n;
}

void dofi_evd_attach_dto(struct dofi_evd *evd, enum dofi_dto_config config)
{
	if (!evd)
		return;
	dofi_lock(&evd->lock);
	evd->dto_streams[config]++;
	dofi_obj_use(evd);
	dofi_unlock(&evd->lock);
}

void dofi_evd_detach_dto(struct dofi_evd *evd, enum dofi_dto_config config)
{
	if (!evd)
		return;
	dofi_lock(&evd->lock);
	assert(evd->dto_streams[config]);
	evd->dto_streams[config]--;
	dofi_unlock(&evd->lock);
	dofi_obj_unuse(evd);
}

void dofi_evd_attach_other(struct dofi_evd *evd)
{
	if (!evd)
		return;
	dofi_lock(&evd->lock);
	evd->other_streams++;
	dofi_obj_use(evd);
	dofi_unlock(&evd->lock);
}

void dofi_evd_detach_other(struct dofi_evd *evd)
{
	if (!evd)
		return;
	dofi_lock(&evd->lock);
	assert(evd->other_streams);
	evd->other_streams--;
	dofi_unlock(&evd->lock);
	dofi_obj_unuse(evd);
}

uint32_t dofi_evd_room(struct dofi_evd *evd)
{
	uint32_t room, others;

	dofi_lock(&evd->lock);
	room = evd->qlen - dofi_evd_queued(evd);
	/* Streams other than that of the service point; they may need up to half of the places. */
	others = count_streams(evd);
	others = others ? others - 1 : 0;
	if (others > evd->qlen / 2)
		others = evd->qlen / 2;
	dofi_unlock(&evd->lock);
	return room > others ? room - others : 0;
}
