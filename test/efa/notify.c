/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion channels. A channel is a datagram socket with an abstract name, which contains the
 * device and a random number. A process that adds a completion to an armed queue sends the number
 * of the queue to the channel.
 */
#include "softefa.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct soft_channel {
	struct ibv_comp_channel channel;
	uint32_t id;
};

static int sender = -1;

static socklen_t address_of(uint32_t id, struct sockaddr_un *address)
{
	int length;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "softefa-%08x-%08x",
			  efa_seg->universe, id);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

uint32_t efa_channel_id(const struct ibv_comp_channel *channel)
{
	return channel ? container_of(channel, struct soft_channel, channel)->id : 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct soft_channel *soft;
	struct sockaddr_un address;
	socklen_t length;

	if (efa_attach() || !(soft = calloc(1, sizeof(*soft))))
		return NULL;
	soft->channel.context = context;
	soft->channel.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (soft->channel.fd < 0 || getrandom(&soft->id, sizeof(soft->id), 0) < 0)
		goto fail;
	length = address_of(soft->id, &address);
	if (bind(soft->channel.fd, (struct sockaddr *)&address, length))
		goto fail;
	return &soft->channel;
fail:
	if (soft->channel.fd >= 0)
		close(soft->channel.fd);
	free(soft);
	return NULL;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(container_of(channel, struct soft_channel, channel));
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	uint32_t index;
	ssize_t got;

	do
		got = recv(channel->fd, &index, sizeof(index), 0);
	while (got < 0 && errno == EINTR);
	if (got != sizeof(index))
		return -1;
	*cq = efa_cq_at(index);
	if (!*cq) {
		errno = EAGAIN;
		return -1;
	}
	*context = (*cq)->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	(void)cq, (void)count;
}

void efa_notify(uint32_t cq)
{
	struct seg_cq *entry = &efa_seg->cq[cq];
	struct sockaddr_un address;
	socklen_t length;

	if (!atomic_load(&entry->armed) || !atomic_exchange(&entry->armed, 0) || !entry->channel)
		return;
	if (sender < 0)
		sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	length = address_of(entry->channel, &address);
	/* A full channel already has an event, and a closed one needs none. */
	if (sendto(sender, &cq, sizeof(cq), MSG_DONTWAIT | MSG_NOSIGNAL,
		   (struct sockaddr *)&address, length) < 0 &&
	    errno == EBADF)
		sender = -1;
}
