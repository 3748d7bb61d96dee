/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/quirks.h"

#include "base/log.h"

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define V FI_VERSION

static const struct dofi_quirk_row rows[] = {
	{DOFI_QUIRK_PEER_NUMBERS, "efa", 0, 0,
	 "numbers the messages to each address, and drops those of an address that was removed and "
	 "came back",
	 "the address of a peer stays until its IA is closed, or 1024 others are idle for longer"},
	{DOFI_QUIRK_INNER_SHM, "efa", 0, 0,
	 "moves data between processes of one host by a shared memory of its own, which crashes "
	 "and stays behind",
	 "the endpoint is made without FI_LOCAL_COMM, so the card moves them"},
	{DOFI_QUIRK_CLOSED_KEYS, "efa", 0, 0,
	 "crashes the target of an RDMA that the card can't do by itself when the key is not valid "
	 "any more",
	 "a peer answers that it has forgotten a key when nothing with it is under way; only then "
	 "the key ends"},
	{DOFI_QUIRK_FATAL_EVENT, "efa", 0, 0,
	 "gets the memory of its receive buffers when the completion queue is first read, and ends "
	 "the process when it has none to tell an error",
	 "the queue is read when the IA is opened, and an error for which there is no memory is "
	 "kept here"},
	{DOFI_QUIRK_CLOSED_KEYS, "udp;ofi_rxd", 0, 0,
	 "drops an RDMA whose key is not valid any more without an answer, and its peer goes on "
	 "sending it for minutes",
	 "a peer answers that it has forgotten a key when nothing with it is under way; only then "
	 "the key ends"},
	{DOFI_QUIRK_FEW_RIGHTS, "efa", 0, V(2, 5),
	 "takes rights that it does not know, FI_READ and FI_WRITE, for those to write locally",
	 "only rights that it knows are asked for"},
	{DOFI_QUIRK_WIDE_RIGHTS, "efa", V(1, 19), V(2, 5),
	 "lets peers write to every registration where the card can write, and so refuses memory "
	 "that is read-only",
	 "rights are checked by the initiator alone, as on tcp; read-only memory can't be "
	 "registered"},
	{DOFI_QUIRK_IDLE_EQ, "net", 0, 0,
	 "polls sockets for the event queue of a connectionless endpoint, which has no events",
	 "the endpoint gets no event queue"},
	{DOFI_QUIRK_IDLE_EQ, "tcp", V(1, 18), 0,
	 "polls sockets for the event queue of a connectionless endpoint, which has no events",
	 "the endpoint gets no event queue"},
	{DOFI_QUIRK_DATA_ON_EQ, "tcp", V(1, 18), 0,
	 "makes the descriptor of an event queue readable for each message that an endpoint of it "
	 "gets",
	 "endpoints have an event queue without a descriptor, the listener has one of its own"},
	{DOFI_QUIRK_SHORT_LIST, "tcp", V(1, 18), 0,
	 "never puts its sockets into the list of descriptors of a completion queue",
	 "the queue is slept on by one descriptor (FI_WAIT_FD)"},
	{DOFI_QUIRK_MUTE_QUEUE, "net", 0, V(1, 18),
	 "does nothing in fi_trywait, so that a queue's descriptor stays readable for ever after "
	 "the first completion",
	 "the queues are looked at by the clock, and peers of the same host ring"},
	{DOFI_QUIRK_MUTE_QUEUE, "psm3", 0, 0,
	 "has a descriptor to wait for completions that is readable only after somebody has polled",
	 "the queue is looked at by the clock, and peers of the same host ring"},
	{DOFI_QUIRK_MUTE_QUEUE, "udp;ofi_rxd", 0, 0,
	 "opens a queue to wait on and does not tell its descriptor, and sends what was lost again "
	 "only when it is polled",
	 "the queue is looked at by the clock, and peers of the same host ring"},
	{DOFI_QUIRK_LOSES_FDS, "psm3", 0, 0,
	 "leaves a socket open when an endpoint can't be made for want of descriptors",
	 "an IA is opened only when the process can have 64 descriptors more"},
	{DOFI_QUIRK_CUTS, "udp;ofi_rxd", 0, 0,
	 "cuts a message that is longer than its receive, and completes both as good ones",
	 "each receive has a byte more than the program's buffer, which such a message reaches"},
	{DOFI_QUIRK_FOREIGN_FD, "sockets", 0, 0,
	 "closes a descriptor of the program's in fi_shutdown of an endpoint that is not "
	 "connected, or not any more",
	 "an endpoint is closed without fi_shutdown, which tells the peer as well"},
	{DOFI_QUIRK_UNMARKED_DATA, "sockets", 0, 0,
	 "hands the completion data of a message that came before its receive over without the "
	 "flag that says so",
	 "every message for a shared receive queue counts as one with completion data, as it is"},
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

static bool covers(const struct dofi_quirk_row *row, const struct fi_info *info, uint32_t version)
{
	const char *provider = info->fabric_attr->prov_name;

	return provider && !strcmp(row->provider, provider) && FI_VERSION_GE(version, row->from) &&
	       (!row->until || FI_VERSION_LT(version, row->until));
}

uint32_t dofi_quirks_of(const struct fi_info *info, uint32_t version)
{
	uint32_t quirks = 0;

	for (size_t i = 0; i < NROWS; i++)
		if (covers(&rows[i], info, version))
			quirks |= rows[i].quirk;
	return quirks;
}

void dofi_quirks_log(const char *ia_name, const struct fi_info *info, uint32_t version)
{
	for (size_t i = 0; i < NROWS; i++)
		if (covers(&rows[i], info, version))
			DOFI_LOG_I("IA %s: %s of libfabric %u.%u %s: %s", ia_name, rows[i].provider,
				   FI_MAJOR(version), FI_MINOR(version), rows[i].what,
				   rows[i].answer);
}
