/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/quirks.h"

#include "base/log.h"
#include "fabric/absent.h"

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <stddef.h>
#include <string.h>

#define V             FI_VERSION
#define QUIRK(quirk)  DOFI_QUIRK_##quirk, #quirk

#define MAX_PROTOCOLS 7

static const char not_mended[] = "not mended in 2.6.0";

static const char late_messages_do[] =
	"keeps a message that finds no receive, so that a message for a shared receive queue may "
	"complete after later writes";
static const char late_messages_get[] =
	"control records travel as messages that name the message they are about";

/*
 * A row applies to a fabric if all its conditions hold; a condition that is left out always holds.
 * A quirk may have several rows, for different providers.
 */
static const struct row {
	uint64_t quirk;
	const char *name;
	const char *provider;              /* the whole name in fi_info: "udp;ofi_rxd" */
	const char *core;                  /* the provider below the utility layers */
	uint32_t protocols[MAX_PROTOCOLS]; /* one of these */
	enum fi_ep_type ep_type;
	/* FI_VERSION: the first release with the quirk, the first without; 0: no limit */
	uint32_t from, until;
	const char *what;   /* what the provider does */
	const char *answer; /* what the library does about it */
	const char *fate;   /* whether libfabric has mended it; NULL: a trait, not a fault */
} rows[] = {
	/* --- efa --- */
	{QUIRK(PEER_NUMBERS), .provider = "efa", .fate = not_mended,
	 .what = "numbers the messages to each address, and drops those of an address that was "
		 "removed and came back",
	 .answer =
		 "the address of a peer stays until its IA is closed, or 1024 others are idle for "
		 "longer"},
	{QUIRK(INNER_SHM), .provider = "efa", .fate = not_mended,
	 .what = "moves data between processes of one host by a shared memory of its own, which "
		 "crashes and stays behind",
	 .answer = "the endpoint is made without FI_LOCAL_COMM, so the card moves them"},
	{QUIRK(SETUP_RACES), .provider = "efa", .until = V(2, 1), .fate = "mended before 2.1",
	 .what = "crashes when two threads open or close endpoints at the same time",
	 .answer = "one IA at a time is opened or closed"},
	{QUIRK(CLOSED_KEYS), .provider = "efa", .fate = not_mended,
	 .what = "crashes the target of an RDMA that the card can't do by itself when the key is "
		 "not valid any more",
	 .answer = "a peer answers that it has forgotten a key when nothing with it is under way; "
		   "only then the key ends"},
	{QUIRK(FATAL_EVENT), .provider = "efa", .fate = not_mended,
	 .what = "gets the memory of its receive buffers when the completion queue is first read, "
		 "and ends the process when it has none to tell an error",
	 .answer = "the queue is read when the IA is opened, and an error for which there is no "
		   "memory is kept here"},
	{QUIRK(FEW_RIGHTS), .provider = "efa", .until = V(2, 5), .fate = "mended in 2.5",
	 .what = "takes rights that it does not know, FI_READ and FI_WRITE, for those to write "
		 "locally",
	 .answer = "only rights that it knows are asked for"},
	{QUIRK(WIDE_RIGHTS), .provider = "efa", .from = V(1, 19), .until = V(2, 5),
	 .fate = "mended in 2.5",
	 .what = "lets peers write to every registration where the card can write, and so refuses "
		 "memory that is read-only",
	 .answer =
		 "rights are checked by the initiator alone, as on tcp; read-only memory can't be "
		 "registered"},
	{QUIRK(HALF_RECEIVED), .provider = "efa", .from = V(1, 19), .until = V(2, 1),
	 .fate = "mended in 2.1",
	 .what = "crashes when an endpoint is closed that has received a part of a message",
	 .answer = "if a receive has not come back, the addresses of all peers are removed first"},
	{QUIRK(UNARMED_QUEUE), .provider = "efa", .from = V(2, 5), .fate = not_mended,
	 .what = "takes the events of a queue within fi_cq_sread alone: the descriptor of the "
		 "queue stays readable after the first completion",
	 .answer = "the queue is looked at by the clock, and peers of the same host wake it"},

	/* --- tcp, net, sockets --- */
	{QUIRK(IDLE_EQ), .provider = "net", .ep_type = FI_EP_RDM, .fate = not_mended,
	 .what = "polls sockets for the event queue of a connectionless endpoint, which has no "
		 "events",
	 .answer = "the endpoint gets no event queue"},
	{QUIRK(IDLE_EQ), .provider = "tcp", .ep_type = FI_EP_RDM, .from = V(1, 18),
	 .fate = not_mended,
	 .what = "polls sockets for the event queue of a connectionless endpoint, which has no "
		 "events",
	 .answer = "the endpoint gets no event queue"},
	{QUIRK(DATA_ON_EQ), .provider = "tcp", .ep_type = FI_EP_MSG, .from = V(1, 18),
	 .fate = not_mended,
	 .what = "makes the descriptor of an event queue readable for each message that an "
		 "endpoint "
		 "of it gets",
	 .answer =
		 "endpoints have an event queue without a descriptor, the listener has one of its "
		 "own"},
	{QUIRK(SHORT_LIST), .provider = "tcp", .from = V(1, 18), .fate = not_mended,
	 .what = "never puts its sockets into the list of descriptors of a completion queue",
	 .answer = "the queue is slept on by one descriptor (FI_WAIT_FD)"},
	{QUIRK(MUTE_QUEUE), .provider = "net", .until = V(1, 18), .fate = "mended in 1.18",
	 .what = "does nothing in fi_trywait, so that a queue's descriptor stays readable for ever "
		 "after the first completion",
	 .answer = "the queues are looked at by the clock, and peers of the same host wake it"},
	{QUIRK(ENDS_STREAM), .protocols = {FI_PROTO_XNET, FI_PROTO_RXM}, .until = V(1, 19),
	 .fate = "mended in 1.19",
	 .what = "ends the stream that all connections with a peer share when a message is too "
		 "long "
		 "for its receive",
	 .answer = "all connections with that peer break"},
	{QUIRK(FOREIGN_FD), .provider = "sockets", .fate = not_mended,
	 .what = "closes a descriptor of the program's in fi_shutdown of an endpoint that is not "
		 "connected, or not any more",
	 .answer = "an endpoint is closed without fi_shutdown, which tells the peer as well"},
	{QUIRK(UNMARKED_DATA), .provider = "sockets", .fate = not_mended,
	 .what = "hands the completion data of a message that came before its receive over without "
		 "the flag that says so",
	 .answer = "every message for a shared receive queue, and every datagram, counts as one "
		   "with completion data, as it is"},
	{QUIRK(UNMARKED_DATA), .provider = "efa", .until = V(1, 19), .fate = "mended in 1.19",
	 .what = "does as sockets does", .answer = "as there"},
	{QUIRK(RESET_IS_EIO), .protocols = {FI_PROTO_SOCK_TCP}, .fate = not_mended,
	 .what = "may report what was under way when the peer closed its end as FI_EIO, as sockets "
		 "does",
	 .answer = "FI_EIO counts as a connection that was reset"},

	/* --- shm --- */
	{QUIRK(TAG_MASK), .protocols = {FI_PROTO_SHM}, .fate = "mended after 1.17",
	 .what = "may have peers of release 1.17, which does not find a message that came before "
		 "its receive when the receive's tag has a mask",
	 .answer = "completion data name the connection of a message for a shared receive queue, "
		   "and tags match exactly"},
	{QUIRK(MISSED_RECEIVES), .provider = "shm", .until = V(1, 19), .fate = "mended in 1.19",
	 .what = "may keep a message that has no receive yet beside a receive that another thread "
		 "posts at that moment",
	 .answer = "receives of a shared receive queue are posted while no thread reads the "
		   "completion queue"},
	{QUIRK(UNCHECKED_REGION), .provider = "shm", .fate = not_mended,
	 .what = "ends the process in fi_enable when it can't make its shared memory",
	 .answer = "the IA is opened only when /dev/shm takes a file, and the limit of file sizes "
		   "allows one of 16 MiB"},
	{QUIRK(OWN_PROCESS), .provider = "shm", .from = V(2, 5), .fate = not_mended,
	 .what = "crashes the receiver of a large message from an endpoint of the same process",
	 .answer = "peers get another spelling of the endpoint's name, by which it is not known as "
		   "one of the same process"},
	{QUIRK(OWN_PROCESS_CLOSED), .provider = "shm", .until = V(2, 5), .fate = not_mended,
	 .what = "uses memory of an endpoint of the same process that was closed",
	 .answer = "an endpoint of the same process gets another spelling of its name"},
	{QUIRK(GONE_SENDERS), .provider = "shm", .fate = not_mended,
	 .what = "crashes when an operation of a peer comes after the peer's address was removed",
	 .answer = "the address of a peer stays for a minute after its last connection, or until "
		   "its IA is closed"},
	/* Only releases whose memory layout transport/shm_layout.c knows. */
	{QUIRK(DEAD_LOCKS), .provider = "shm", .from = V(1, 17), .until = V(2, 7),
	 .fate = not_mended,
	 .what = "leaves locks taken and entries of queues half filled when a process is killed, "
		 "and peers wait for these for ever",
	 .answer = "a thread waits for the death of peers, releases their locks and passes over "
		   "their entries"},

	/* --- rxm, rxd, psm3 --- */
	{QUIRK(OLD_MESSAGES), .provider = "tcp;ofi_rxm", .until = V(1, 18),
	 .fate = "changed in 1.18",
	 .what = "has messages of another form than later releases, which drop them",
	 .answer = "peers with 1.18 or later are refused"},
	{QUIRK(SPLIT_MESSAGES), .protocols = {FI_PROTO_RXM}, .from = V(1, 18), .until = V(2, 7),
	 .fate = "mended in 2.7",
	 .what = "crashes or stops the receiver of a message of 16 to 128 KiB when the connection "
		 "below ends between two parts of it",
	 .answer = "messages are not sent in parts (FI_OFI_RXM_SAR_LIMIT)"},
	{QUIRK(INJECTED_WRITES), .protocols = {FI_PROTO_RXM, FI_PROTO_RXM_TCP}, .fate = not_mended,
	 .what = "crashes when a peer dies before an injected write has left for it",
	 .answer = "no write is injected: control records travel as messages"},
	{QUIRK(OWN_RECEIVES), .provider = "verbs;ofi_rxm", .fate = not_mended,
	 .what = "gives each connection receives of its own, and crashes when a message comes "
		 "while "
		 "the connection is closed",
	 .answer = "all connections share receives (FI_OFI_RXM_USE_SRX)"},
	{QUIRK(LONG_QUEUE), .provider = "verbs;ofi_rxm", .fate = not_mended,
	 .what = "asks for a completion queue of 36864 entries, whatever the device has",
	 .answer = "when the IA can't be opened, the log says to try FI_UNIVERSE_SIZE=64"},
	{QUIRK(CLOSED_KEYS), .provider = "udp;ofi_rxd", .fate = not_mended,
	 .what = "drops an RDMA whose key is not valid any more without an answer, and its peer "
		 "goes on sending it for minutes",
	 .answer = "a peer answers that it has forgotten a key when nothing with it is under way; "
		   "only then the key ends"},
	{QUIRK(MUTE_QUEUE), .provider = "udp;ofi_rxd", .fate = not_mended,
	 .what = "opens a queue to wait on and does not return its descriptor, and sends what was "
		 "lost "
		 "again only when it is polled",
	 .answer = "the queue is looked at by the clock, and peers of the same host wake it"},
	{QUIRK(CUTS), .provider = "udp;ofi_rxd", .fate = not_mended,
	 .what = "cuts a message that is longer than its receive, and completes both as good ones",
	 .answer = "each receive has a byte more than the program's buffer, which such a message "
		   "reaches"},
	{QUIRK(MUTE_QUEUE), .provider = "psm3", .fate = not_mended,
	 .what = "has a descriptor to wait for completions that is readable only after somebody "
		 "has "
		 "polled",
	 .answer = "the queue is looked at by the clock, and peers of the same host wake it"},
	{QUIRK(LOSES_FDS), .provider = "psm3", .fate = not_mended,
	 .what = "leaves a socket open when an endpoint can't be made for want of descriptors",
	 .answer = "an IA is opened only when the process can have 64 descriptors more"},
	{QUIRK(RECEIVE_THREAD), .protocols = {FI_PROTO_PSMX3}, .fate = not_mended,
	 .what = "keeps the state of its receive thread for the whole process, and ends the "
		 "process "
		 "when one endpoint is closed while the thread of another starts",
	 .answer = "endpoints have no such thread (PSM3_RCVTHREAD); the IA's progress thread does "
		   "the same work"},

	/* --- verbs --- */
	{QUIRK(CACHED_KEYS), .core = "verbs", .fate = "not mended in 2.6.0; it is meant so",
	 .what = "caches registrations, so that a key stays valid when its registration is closed",
	 .answer = "the cache is turned off before libfabric is asked (FI_MR_CACHE_MONITOR)"},
	{QUIRK(ATOMIC_OPERANDS), .protocols = {FI_PROTO_RDMA_CM_IB_RC}, .until = V(2, 2),
	 .fate = "mended in 2.2",
	 .what = "gives devices the addresses of the operands of atomic operations in place of the "
		 "operands",
	 .answer = "programs can't post atomic operations"},
	{QUIRK(NO_DATA), .protocols = {FI_PROTO_IWARP}, .fate = not_mended,
	 .what = "tells a size of completion data, which iWARP does not have",
	 .answer = "no completion data are sent"},
	{QUIRK(READ_SEGMENTS), .protocols = {FI_PROTO_IWARP}, .fate = not_mended,
	 .what = "does not report that an RDMA read of iWARP has one local segment; Soft-iWARP "
		 "fills the first of several and reports success",
	 .answer = "an operation of the fabric has one segment"},
	{QUIRK(QUEUE_MAPPING), .protocols = {FI_PROTO_IWARP},
	 .fate = "a fault of rdma-core's libsiw",
	 .what = "can make no endpoint when libsiw maps a queue at 0x90000, which it takes for the "
		 "sign of a failure",
	 .answer = "the first completion queue is so long that it leads past that place"},

	/* --- cxi, opx --- */
	{QUIRK(DOMAIN_KEYS), .protocols = {FI_PROTO_CXI},
	 .fate = "not mended in 2.6.0; it is meant so",
	 .what = "caches the keys of a domain, so that a key stays valid when its registration is "
		 "closed",
	 .answer = "the domain is told to keep no keys"},
	{QUIRK(FATAL_OVERFLOW), .protocols = {FI_PROTO_CXI}, .fate = not_mended,
	 .what = "takes more receives than rx_attr->size, and ends the process when the list "
		 "entries "
		 "of the node run out",
	 .answer = "no more receives are posted than rx_attr->size"},
	{QUIRK(READER_MUTES), .protocols = {FI_PROTO_CXI}, .fate = not_mended,
	 .what = "leaves interrupts off when another thread than the sleeping one has read the "
		 "completion queue",
	 .answer = "the sleeping thread is woken to sleep anew"},
	{QUIRK(UNSTATED_ORDER), .protocols = {FI_PROTO_OPX}, .fate = not_mended,
	 .what = "delivers the packets of a peer by their sequence numbers, and does not promise "
		 "that messages stay in order",
	 .answer = "it is taken as if it promised FI_ORDER_SAS"},

	/* --- traits --- */
	{QUIRK(SHARED_MEMORY), .protocols = {FI_PROTO_SHM},
	 .what = "joins the processes of one host, also where it claims FI_REMOTE_COMM (1.17)",
	 .answer = "peers of other hosts are refused"},
	/*
	 * No attribute promises it for connected queue pairs, but programs written for OFED's DAT
	 * rely on it.
	 */
	{QUIRK(STORES_IN_ORDER),
	 .protocols = {FI_PROTO_SOCK_TCP, FI_PROTO_XNET, FI_PROTO_RXM, FI_PROTO_RXM_TCP,
		       FI_PROTO_SHM, FI_PROTO_RDMA_CM_IB_RC, FI_PROTO_IWARP},
	 .what = "stores the bytes of an RDMA write in order",
	 .answer = "the last bytes of a write are left to the fabric where no processor may "
		   "reorder the stores"},
	{QUIRK(LONG_WRITES), .provider = "efa",
	 .what = "has the target read a write of 64 KiB and more from cards that can't write by "
		 "themselves, and sends shorter ones in packets, which takes longer",
	 .answer = "a write of 64 KiB is a long one without its last word, too "
		   "(FI_EFA_INTER_MIN_READ_WRITE_SIZE)"},
	/*
	 * The receiver copies from the stream to one target of a write after the other. Within one
	 * target, memcpy may store the last bytes first.
	 */
	{QUIRK(STREAM),
	 .protocols = {FI_PROTO_SOCK_TCP, FI_PROTO_XNET, FI_PROTO_RXM, FI_PROTO_RXM_TCP},
	 .what = "stores the targets of an RDMA write one after the other",
	 .answer = "the last bytes of a write are a target of their own, where it may have two"},
	{QUIRK(LATE_MESSAGES), .protocols = {FI_PROTO_RXM, FI_PROTO_RXM_TCP},
	 .what = "fetches the bytes of a long message when it has found its receive, so that later "
		 "messages and writes complete before it",
	 .answer = late_messages_get},
	{QUIRK(LATE_MESSAGES), .protocols = {FI_PROTO_XNET, FI_PROTO_RXD}, .what = late_messages_do,
	 .answer = late_messages_get},
	{QUIRK(LATE_MESSAGES), .provider = "sockets", .ep_type = FI_EP_RDM,
	 .what = late_messages_do, .answer = late_messages_get},
	{QUIRK(QUEUE_PAIRS), .protocols = {FI_PROTO_RDMA_CM_IB_RC, FI_PROTO_IWARP},
	 .what = "gives each connection queues of the device",
	 .answer = "endpoints get queues of the length that the EP asks for, made while the peer "
		   "decides, and a completion queue with room for them"},
	{QUIRK(NO_RETRY), .protocols = {FI_PROTO_IWARP},
	 .what = "ends the connection when a Send finds no receive",
	 .answer = "receivers write their credits to the sender"},
	{QUIRK(COPIES), .protocols = {FI_PROTO_SOCK_TCP, FI_PROTO_SHM},
	 .what = "completes a small message as soon as it has a copy of it",
	 .answer = "such messages are sent without a completion (fi_inject)"},
	{QUIRK(FENCES_READS), .protocols = {FI_PROTO_RDMA_CM_IB_RC},
	 .what = "passes FI_FENCE on to the device, without a capability that says so",
	 .answer = "DAT's barrier is left to the fabric"},
	{QUIRK(SAYS_CONNECTED), .protocols = {FI_PROTO_RDMA_CM_IB_RC},
	 .what = "tells the accepting side of a connection when the other side is connected, too",
	 .answer = "the connecting side sends no READY; its next message says the same"},
	{QUIRK(DEVICE_ATOMICS), .protocols = {FI_PROTO_RDMA_CM_IB_RC},
	 .what = "offers atomic operations, whether the device has them or not",
	 .answer = "the device is asked"},
	{QUIRK(TCP_PORTS), .protocols = {FI_PROTO_IWARP},
	 .what = "shares its ports with TCP, and takes one without asking TCP",
	 .answer = "each connection begins at a port that TCP has reserved for it"},
	{QUIRK(VERBS_STATUS), .provider = "verbs",
	 .what = "reports every failure as FI_EIO, with the status of the work completion",
	 .answer = "the status tells DAT's error"},
	{QUIRK(IWARP_STATUS), .protocols = {FI_PROTO_IWARP},
	 .what = "reports a Send that the peer's end of the connection stops as a local failure",
	 .answer = "it counts as a connection that was aborted"},
	{QUIRK(EFA_STATUS), .provider = "efa",
	 .what = "reports every failure as FI_EIO or FI_EINVAL, with the status of the completion",
	 .answer = "the status tells DAT's error"},
	{QUIRK(CASSINI_STATUS), .protocols = {FI_PROTO_CXI},
	 .what = "reports whatever a target refuses as FI_EIO, with Cassini's return code",
	 .answer = "the return code tells DAT's error"},
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

static bool is_of_provider(const struct row *row, const struct fi_info *info)
{
	const char *provider = info->fabric_attr->prov_name;

	if (row->provider && (!provider || strcmp(row->provider, provider)))
		return false;
	return !row->core || (provider && dofi_same_core(row->core, provider));
}

static bool has_protocol(const struct row *row, uint32_t protocol)
{
	if (!row->protocols[0])
		return true;
	for (int i = 0; i < MAX_PROTOCOLS && row->protocols[i]; i++)
		if (row->protocols[i] == protocol)
			return true;
	return false;
}

static bool applies(const struct row *row, const struct fi_info *info, uint32_t version)
{
	return is_of_provider(row, info) && has_protocol(row, info->ep_attr->protocol) &&
	       (!row->ep_type || row->ep_type == info->ep_attr->type) &&
	       FI_VERSION_GE(version, row->from) &&
	       (!row->until || FI_VERSION_LT(version, row->until));
}

uint64_t dofi_quirks_of(const struct fi_info *info)
{
	uint32_t version = fi_version();
	uint64_t quirks = 0;

	for (size_t i = 0; i < NROWS; i++)
		if (applies(&rows[i], info, version))
			quirks |= rows[i].quirk;
	return quirks;
}

bool dofi_quirk_is_possible(uint64_t quirks, const char *providers)
{
	for (size_t i = 0; i < NROWS; i++) {
		const char *provider = rows[i].core ? rows[i].core : rows[i].provider;

		if (rows[i].quirk & quirks && provider && !dofi_is_left_out(providers, provider))
			return true;
	}
	return false;
}

void dofi_quirks_log(const char *ia_name, const struct fi_info *info)
{
	uint32_t version = fi_version();

	for (size_t i = 0; i < NROWS; i++)
		if (applies(&rows[i], info, version))
			DOFI_LOG_I("IA %s: %s of libfabric %u.%u %s: %s (%s%s%s)", ia_name,
				   info->fabric_attr->prov_name, FI_MAJOR(version),
				   FI_MINOR(version), rows[i].what, rows[i].answer, rows[i].name,
				   rows[i].fate ? ", " : "", rows[i].fate ? rows[i].fate : "");
}
