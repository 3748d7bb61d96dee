/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address handles. All handles of a process for one GID have one number. A completion names the
 * sender by this number. A target accepts RDMA only if it has a handle for the initiator.
 */
#include "softefa.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t uses[64]; /* handles for each host */
static uint32_t handles;

uint32_t efa_ahn_of(uint32_t host)
{
	return host < 64 && uses[host] ? host + 1 : 0xffff;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct soft_ah *soft;
	int host;

	if (efa_attach())
		return NULL;
	host = efa_host_of(&attr->grh.dgid);
	if (attr->port_num != 1 || !attr->is_global || host < 0 || host >= 64) {
		errno = EINVAL;
		return NULL;
	}
	soft = calloc(1, sizeof(*soft));
	if (!soft)
		return NULL;
	pthread_mutex_lock(&efa_lock);
	if (handles >= efa_set.max_ah) {
		pthread_mutex_unlock(&efa_lock);
		free(soft);
		errno = ENOMEM;
		return NULL;
	}
	handles++;
	uses[host]++;
	atomic_fetch_or(&efa_me->ah_hosts, (uint64_t)1 << host);
	pthread_mutex_unlock(&efa_lock);
	soft->ah.context = pd->context;
	soft->ah.pd = pd;
	soft->host = (uint32_t)host;
	soft->number = (uint16_t)(host + 1);
	return &soft->ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct soft_ah *soft = container_of(ah, struct soft_ah, ah);

	pthread_mutex_lock(&efa_lock);
	handles--;
	if (!--uses[soft->host] && efa_me)
		atomic_fetch_and(&efa_me->ah_hosts, ~((uint64_t)1 << soft->host));
	pthread_mutex_unlock(&efa_lock);
	free(soft);
	return 0;
}

int efadv_query_ah(struct ibv_ah *ah, struct efadv_ah_attr *attr, uint32_t size)
{
	if (size < sizeof(*attr))
		return EINVAL;
	*attr = (struct efadv_ah_attr){.ahn = container_of(ah, struct soft_ah, ah)->number};
	return 0;
}
