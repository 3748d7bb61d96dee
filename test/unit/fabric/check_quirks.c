/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The quirks of each fabric and release of libfabric: exactly those that apply. */
#include "unit.h"

#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/fabric/quirks.h"

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <string.h>

#define Q(name) DOFI_QUIRK_##name
#define V       FI_VERSION

#define EFA                                                                                  \
	(Q(PEER_NUMBERS) | Q(INNER_SHM) | Q(CLOSED_KEYS) | Q(FATAL_EVENT) | Q(LONG_WRITES) | \
	 Q(EFA_STATUS))
#define SOCKET (Q(STORES_IN_ORDER) | Q(STREAM))
#define TCP    (SOCKET | Q(COPIES) | Q(RESET_IS_EIO))
#define XNET   (TCP | Q(SHORT_LIST) | Q(DATA_ON_EQ))
#define RXM    (SOCKET | Q(LATE_MESSAGES) | Q(INJECTED_WRITES))
#define RDM    (SOCKET | Q(LATE_MESSAGES))
#define SHM                                                                                  \
	(Q(TAG_MASK) | Q(SHARED_MEMORY) | Q(STORES_IN_ORDER) | Q(COPIES) | Q(GONE_SENDERS) | \
	 Q(UNCHECKED_REGION))
#define RXD   (Q(MUTE_QUEUE) | Q(CUTS) | Q(CLOSED_KEYS) | Q(LATE_MESSAGES))
#define PSM3  (Q(MUTE_QUEUE) | Q(LOSES_FDS) | Q(RECEIVE_THREAD))
#define VERBS (Q(CACHED_KEYS) | Q(VERBS_STATUS) | Q(STORES_IN_ORDER) | Q(QUEUE_PAIRS))
#define IB    (VERBS | Q(FENCES_READS) | Q(DEVICE_ATOMICS) | Q(SAYS_CONNECTED))
#define IWARP                                                                                    \
	(VERBS | Q(NO_DATA) | Q(READ_SEGMENTS) | Q(QUEUE_MAPPING) | Q(NO_RETRY) | Q(TCP_PORTS) | \
	 Q(IWARP_STATUS))
#define CXI (Q(DOMAIN_KEYS) | Q(FATAL_OVERFLOW) | Q(READER_MUTES) | Q(CASSINI_STATUS))

static struct fi_fabric_attr fabric_attr;
static struct fi_ep_attr ep_attr;
static const struct fi_info info = {.fabric_attr = &fabric_attr, .ep_attr = &ep_attr};
static uint32_t version;

/* Replaces fi_version() of libfabric. */
uint32_t fi_version(void)
{
	return version;
}

static void be(const char *provider, uint32_t protocol, enum fi_ep_type type, uint32_t of)
{
	fabric_attr.prov_name = (char *)(uintptr_t)provider;
	ep_attr.protocol = protocol;
	ep_attr.type = type;
	version = of;
}

static const struct fabric {
	const char *provider;
	uint32_t protocol;
	enum fi_ep_type type;
	uint32_t version;
	uint64_t quirks;
} fabrics[] = {
	{"efa", FI_PROTO_EFA, FI_EP_RDM, V(1, 17),
	 EFA | Q(FEW_RIGHTS) | Q(SETUP_RACES) | Q(UNMARKED_DATA)},
	{"efa", FI_PROTO_EFA, FI_EP_RDM, V(1, 18),
	 EFA | Q(FEW_RIGHTS) | Q(SETUP_RACES) | Q(UNMARKED_DATA)},
	{"efa", FI_PROTO_EFA, FI_EP_RDM, V(1, 19),
	 EFA | Q(FEW_RIGHTS) | Q(SETUP_RACES) | Q(WIDE_RIGHTS) | Q(HALF_RECEIVED)},
	{"efa", FI_PROTO_EFA, FI_EP_RDM, V(2, 0),
	 EFA | Q(FEW_RIGHTS) | Q(SETUP_RACES) | Q(WIDE_RIGHTS) | Q(HALF_RECEIVED)},
	{"efa", FI_PROTO_EFA, FI_EP_RDM, V(2, 1), EFA | Q(FEW_RIGHTS) | Q(WIDE_RIGHTS)},
	{"efa", FI_PROTO_EFA, FI_EP_RDM, V(2, 4), EFA | Q(FEW_RIGHTS) | Q(WIDE_RIGHTS)},
	{"efa", FI_PROTO_EFA, FI_EP_RDM, V(2, 5), EFA | Q(UNARMED_QUEUE)},
	{"efa", FI_PROTO_EFA, FI_EP_RDM, V(2, 6), EFA | Q(UNARMED_QUEUE)},

	/* Since 1.18 tcp is another provider, which was called net before. */
	{"tcp", FI_PROTO_SOCK_TCP, FI_EP_MSG, V(1, 17), TCP},
	{"tcp", FI_PROTO_SOCK_TCP, FI_EP_MSG, V(1, 18), XNET},
	{"tcp", FI_PROTO_SOCK_TCP, FI_EP_MSG, V(2, 6), XNET},
	{"tcp", FI_PROTO_XNET, FI_EP_RDM, V(1, 18),
	 RDM | Q(SHORT_LIST) | Q(IDLE_EQ) | Q(ENDS_STREAM)},
	{"tcp", FI_PROTO_XNET, FI_EP_RDM, V(1, 19), RDM | Q(SHORT_LIST) | Q(IDLE_EQ)},
	{"tcp", FI_PROTO_XNET, FI_EP_RDM, V(2, 6), RDM | Q(SHORT_LIST) | Q(IDLE_EQ)},
	{"net", FI_PROTO_SOCK_TCP, FI_EP_MSG, V(1, 17), TCP | Q(MUTE_QUEUE)},
	{"net", FI_PROTO_XNET, FI_EP_RDM, V(1, 17),
	 RDM | Q(MUTE_QUEUE) | Q(IDLE_EQ) | Q(ENDS_STREAM)},
	{"net", FI_PROTO_XNET, FI_EP_RDM, V(1, 18), RDM | Q(IDLE_EQ) | Q(ENDS_STREAM)},
	{"sockets", FI_PROTO_SOCK_TCP, FI_EP_MSG, V(1, 17), TCP | Q(FOREIGN_FD) | Q(UNMARKED_DATA)},
	{"sockets", FI_PROTO_SOCK_TCP, FI_EP_RDM, V(2, 6),
	 TCP | Q(FOREIGN_FD) | Q(UNMARKED_DATA) | Q(LATE_MESSAGES)},

	{"shm", FI_PROTO_SHM, FI_EP_RDM, V(1, 17),
	 SHM | Q(MISSED_RECEIVES) | Q(OWN_PROCESS_CLOSED) | Q(DEAD_LOCKS)},
	{"shm", FI_PROTO_SHM, FI_EP_RDM, V(1, 18),
	 SHM | Q(MISSED_RECEIVES) | Q(OWN_PROCESS_CLOSED) | Q(DEAD_LOCKS)},
	{"shm", FI_PROTO_SHM, FI_EP_RDM, V(1, 19), SHM | Q(OWN_PROCESS_CLOSED) | Q(DEAD_LOCKS)},
	{"shm", FI_PROTO_SHM, FI_EP_RDM, V(2, 0), SHM | Q(OWN_PROCESS_CLOSED) | Q(DEAD_LOCKS)},
	{"shm", FI_PROTO_SHM, FI_EP_RDM, V(2, 4), SHM | Q(OWN_PROCESS_CLOSED) | Q(DEAD_LOCKS)},
	{"shm", FI_PROTO_SHM, FI_EP_RDM, V(2, 5), SHM | Q(OWN_PROCESS) | Q(DEAD_LOCKS)},
	{"shm", FI_PROTO_SHM, FI_EP_RDM, V(2, 6), SHM | Q(OWN_PROCESS) | Q(DEAD_LOCKS)},
	{"shm", FI_PROTO_SHM, FI_EP_RDM, V(2, 7), SHM | Q(OWN_PROCESS)},

	{"tcp;ofi_rxm", FI_PROTO_RXM, FI_EP_RDM, V(1, 17), RXM | Q(ENDS_STREAM) | Q(OLD_MESSAGES)},
	{"tcp;ofi_rxm", FI_PROTO_RXM, FI_EP_RDM, V(1, 18),
	 RXM | Q(ENDS_STREAM) | Q(SPLIT_MESSAGES)},
	{"tcp;ofi_rxm", FI_PROTO_RXM, FI_EP_RDM, V(1, 19), RXM | Q(SPLIT_MESSAGES)},
	{"tcp;ofi_rxm", FI_PROTO_RXM, FI_EP_RDM, V(1, 22), RXM | Q(SPLIT_MESSAGES)},
	{"tcp;ofi_rxm", FI_PROTO_RXM, FI_EP_RDM, V(2, 0), RXM | Q(SPLIT_MESSAGES)},
	{"tcp;ofi_rxm", FI_PROTO_RXM, FI_EP_RDM, V(2, 6), RXM | Q(SPLIT_MESSAGES)},
	{"tcp;ofi_rxm", FI_PROTO_RXM, FI_EP_RDM, V(2, 7), RXM},
	{"tcp;ofi_rxm", FI_PROTO_RXM, FI_EP_RDM, V(3, 0), RXM},
	{"tcp;ofi_rxm", FI_PROTO_RXM_TCP, FI_EP_RDM, V(2, 1), RXM},
	{"verbs;ofi_rxm", FI_PROTO_RXM, FI_EP_RDM, V(2, 6),
	 RXM | Q(SPLIT_MESSAGES) | Q(CACHED_KEYS) | Q(OWN_RECEIVES) | Q(LONG_QUEUE)},
	{"udp;ofi_rxd", FI_PROTO_RXD, FI_EP_RDM, V(1, 17), RXD},
	{"udp;ofi_rxd", FI_PROTO_RXD, FI_EP_RDM, V(2, 6), RXD},
	{"psm3", FI_PROTO_PSMX3, FI_EP_RDM, V(1, 17), PSM3},
	{"psm3", FI_PROTO_PSMX3, FI_EP_RDM, V(2, 6), PSM3},

	{"verbs", FI_PROTO_RDMA_CM_IB_RC, FI_EP_MSG, V(1, 17), IB | Q(ATOMIC_OPERANDS)},
	{"verbs", FI_PROTO_RDMA_CM_IB_RC, FI_EP_MSG, V(2, 1), IB | Q(ATOMIC_OPERANDS)},
	{"verbs", FI_PROTO_RDMA_CM_IB_RC, FI_EP_MSG, V(2, 2), IB},
	{"verbs", FI_PROTO_RDMA_CM_IB_RC, FI_EP_MSG, V(2, 6), IB},
	{"verbs", FI_PROTO_IWARP, FI_EP_MSG, V(1, 17), IWARP},
	{"verbs", FI_PROTO_IWARP, FI_EP_MSG, V(2, 6), IWARP},
	{"cxi", FI_PROTO_CXI, FI_EP_RDM, V(1, 20), CXI},
	{"cxi", FI_PROTO_CXI, FI_EP_RDM, V(2, 6), CXI},
	{"opx", FI_PROTO_OPX, FI_EP_RDM, V(2, 6), Q(UNSTATED_ORDER)},

	/* Whole names are compared. An unknown provider has no quirks. */
	{"udp", FI_PROTO_UDP, FI_EP_DGRAM, V(1, 17), 0},
	{"efa;ofi_rxm", FI_PROTO_UNSPEC, FI_EP_RDM, V(2, 1), 0},
	{"ef", FI_PROTO_UNSPEC, FI_EP_RDM, V(2, 1), 0},
	{"efa-direct", FI_PROTO_EFA, FI_EP_RDM, V(2, 1), 0},
	{"verbsy", FI_PROTO_UNSPEC, FI_EP_MSG, V(2, 1), 0},
	{"unknown", FI_PROTO_UNSPEC, FI_EP_MSG, V(2, 1), 0},
	{NULL, FI_PROTO_UNSPEC, FI_EP_MSG, V(2, 1), 0},
};

START_TEST(a_fabric_has_its_quirks)
{
	const struct fabric *f = &fabrics[_i];
	uint64_t quirks;

	be(f->provider, f->protocol, f->type, f->version);
	quirks = dofi_quirks_of(&info);
	ck_assert_msg(quirks == f->quirks, "%s, protocol %u, of %u.%u: missing %llx, beyond %llx",
		      f->provider ? f->provider : "none", f->protocol, FI_MAJOR(f->version),
		      FI_MINOR(f->version), (unsigned long long)(f->quirks & ~quirks),
		      (unsigned long long)(quirks & ~f->quirks));
}
END_TEST

/* The table above has each quirk, for some release. */
START_TEST(each_quirk_has_a_fabric)
{
	uint64_t all = 0;

	for (size_t i = 0; i < sizeof(fabrics) / sizeof(fabrics[0]); i++)
		all |= fabrics[i].quirks;
	ck_assert_uint_eq(all, (UINT64_C(1) << DOFI_QUIRKS) - 1);
}
END_TEST

START_TEST(a_provider_that_is_not_chosen_yet)
{
	ck_assert(dofi_quirk_is_possible(Q(CACHED_KEYS), "verbs"));
	ck_assert(dofi_quirk_is_possible(Q(CACHED_KEYS), "tcp,verbs;ofi_rxm"));
	ck_assert(dofi_quirk_is_possible(Q(CACHED_KEYS), "^tcp"));
	ck_assert(!dofi_quirk_is_possible(Q(CACHED_KEYS), "tcp,shm"));
	ck_assert(!dofi_quirk_is_possible(Q(CACHED_KEYS), "^verbs"));
	ck_assert(!dofi_quirk_is_possible(Q(CUTS), "verbs"));
	ck_assert(dofi_quirk_is_possible(Q(LONG_WRITES), "shm,efa"));
	ck_assert(!dofi_quirk_is_possible(Q(LONG_WRITES), "verbs"));
}
END_TEST

static const char *told_of(void)
{
	int fd = t_capture(STDERR_FILENO);

	dofi_log_level = DOFI_LOG_INFO;
	dofi_quirks_log("ofa0", &info);
	return t_captured(fd);
}

START_TEST(the_log_lists_the_quirks)
{
	const char *text;

	be("efa", FI_PROTO_EFA, FI_EP_RDM, V(2, 6));
	text = told_of();
	ck_assert_ptr_nonnull(strstr(text, "IA ofa0: efa of libfabric 2.6 numbers the messages"));
	ck_assert_ptr_nonnull(strstr(text, " (PEER_NUMBERS, not mended in 2.6.0)"));
	ck_assert_ptr_null(strstr(text, "WIDE_RIGHTS")); /* not any more */
	be("efa", FI_PROTO_EFA, FI_EP_RDM, V(2, 1));
	ck_assert_ptr_nonnull(strstr(told_of(), " (WIDE_RIGHTS, mended in 2.5)"));
	be("tcp", FI_PROTO_SOCK_TCP, FI_EP_MSG, V(1, 17));
	ck_assert_ptr_nonnull(strstr(told_of(), " (STORES_IN_ORDER)"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("quirks");
	TCase *tc = tcase_create("quirks");

	tcase_add_loop_test(tc, a_fabric_has_its_quirks, 0, sizeof(fabrics) / sizeof(fabrics[0]));
	tcase_add_test(tc, each_quirk_has_a_fabric);
	tcase_add_test(tc, a_provider_that_is_not_chosen_yet);
	tcase_add_test(tc, the_log_lists_the_quirks);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
