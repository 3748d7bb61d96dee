/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a provider of libfabric does that no attribute tells: one table of faults and traits. Each
 * row names the provider or its protocol, the releases of libfabric, what happens there, and what
 * this library does about it. dat_ia_open computes the rows that apply once; afterwards a quirk is
 * a bit of ia->quirks. docs/libfabric-quirks.md has a row for each name.
 *
 * No other file compares the name of a provider, a protocol or a version of libfabric to decide
 * what to do. The others that touch them pass on what a user wrote (select.c: provider=,
 * FI_PROVIDER), print it (absent.c, facts.c, the log), agree on the interface with libfabric
 * (select.c), or compare both ends of a connection (handshake.c).
 */
#ifndef DOFI_QUIRKS_H
#define DOFI_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

struct fi_info;

#define DOFI_QUIRK_BIT(n)             (UINT64_C(1) << (n))

/* --- faults --- */

#define DOFI_QUIRK_PEER_NUMBERS       DOFI_QUIRK_BIT(0)
#define DOFI_QUIRK_INNER_SHM          DOFI_QUIRK_BIT(1)
#define DOFI_QUIRK_CLOSED_KEYS        DOFI_QUIRK_BIT(2)
#define DOFI_QUIRK_FEW_RIGHTS         DOFI_QUIRK_BIT(3)
#define DOFI_QUIRK_WIDE_RIGHTS        DOFI_QUIRK_BIT(4)
#define DOFI_QUIRK_IDLE_EQ            DOFI_QUIRK_BIT(5)
#define DOFI_QUIRK_DATA_ON_EQ         DOFI_QUIRK_BIT(6)
#define DOFI_QUIRK_SHORT_LIST         DOFI_QUIRK_BIT(7)
#define DOFI_QUIRK_MUTE_QUEUE         DOFI_QUIRK_BIT(8)
#define DOFI_QUIRK_FATAL_EVENT        DOFI_QUIRK_BIT(9)
#define DOFI_QUIRK_CUTS               DOFI_QUIRK_BIT(10)
#define DOFI_QUIRK_UNMARKED_DATA      DOFI_QUIRK_BIT(11)
#define DOFI_QUIRK_LOSES_FDS          DOFI_QUIRK_BIT(12)
#define DOFI_QUIRK_FOREIGN_FD         DOFI_QUIRK_BIT(13)
#define DOFI_QUIRK_RESET_IS_EIO       DOFI_QUIRK_BIT(14)
#define DOFI_QUIRK_SPLIT_MESSAGES     DOFI_QUIRK_BIT(15)
#define DOFI_QUIRK_RECEIVE_THREAD     DOFI_QUIRK_BIT(16)
#define DOFI_QUIRK_ENDS_STREAM        DOFI_QUIRK_BIT(17)
#define DOFI_QUIRK_TAG_MASK           DOFI_QUIRK_BIT(18)
#define DOFI_QUIRK_UNCHECKED_REGION   DOFI_QUIRK_BIT(19)
#define DOFI_QUIRK_OWN_PROCESS        DOFI_QUIRK_BIT(20)
#define DOFI_QUIRK_OWN_PROCESS_CLOSED DOFI_QUIRK_BIT(21)
#define DOFI_QUIRK_CACHED_KEYS        DOFI_QUIRK_BIT(22)
#define DOFI_QUIRK_DOMAIN_KEYS        DOFI_QUIRK_BIT(23)
#define DOFI_QUIRK_ATOMIC_OPERANDS    DOFI_QUIRK_BIT(24)
#define DOFI_QUIRK_FATAL_OVERFLOW     DOFI_QUIRK_BIT(25)
#define DOFI_QUIRK_READER_MUTES       DOFI_QUIRK_BIT(26)
#define DOFI_QUIRK_UNSTATED_ORDER     DOFI_QUIRK_BIT(27)
#define DOFI_QUIRK_NO_DATA            DOFI_QUIRK_BIT(28)
#define DOFI_QUIRK_READ_SEGMENTS      DOFI_QUIRK_BIT(29)
#define DOFI_QUIRK_QUEUE_MAPPING      DOFI_QUIRK_BIT(30)
#define DOFI_QUIRK_OWN_RECEIVES       DOFI_QUIRK_BIT(43)
#define DOFI_QUIRK_LONG_QUEUE         DOFI_QUIRK_BIT(44)
#define DOFI_QUIRK_DEAD_LOCKS         DOFI_QUIRK_BIT(45)
#define DOFI_QUIRK_SETUP_RACES        DOFI_QUIRK_BIT(47)
#define DOFI_QUIRK_INJECTED_WRITES    DOFI_QUIRK_BIT(51)
#define DOFI_QUIRK_UNARMED_QUEUE      DOFI_QUIRK_BIT(52)
#define DOFI_QUIRK_GONE_SENDERS       DOFI_QUIRK_BIT(53)
#define DOFI_QUIRK_MISSED_RECEIVES    DOFI_QUIRK_BIT(54)
#define DOFI_QUIRK_HALF_RECEIVED      DOFI_QUIRK_BIT(55)
#define DOFI_QUIRK_OLD_MESSAGES       DOFI_QUIRK_BIT(56)

/* --- traits that no attribute of libfabric reports --- */

/* The fabric joins the processes of one host, and has no IP addresses. */
#define DOFI_QUIRK_SHARED_MEMORY      DOFI_QUIRK_BIT(31)
/* The last byte of an RDMA write is seen after all others. */
#define DOFI_QUIRK_STORES_IN_ORDER    DOFI_QUIRK_BIT(32)
/* One target of a write is stored behind the other. */
#define DOFI_QUIRK_STREAM             DOFI_QUIRK_BIT(33)
/* A device has queues for each connection. */
#define DOFI_QUIRK_QUEUE_PAIRS        DOFI_QUIRK_BIT(34)
/* A Send that finds no receive is not tried again. */
#define DOFI_QUIRK_NO_RETRY           DOFI_QUIRK_BIT(35)
/* A completion of a small message says no more than that the bytes were copied. */
#define DOFI_QUIRK_COPIES             DOFI_QUIRK_BIT(36)
/* FI_FENCE makes an operation wait for the reads before it. */
#define DOFI_QUIRK_FENCES_READS       DOFI_QUIRK_BIT(37)
/* The accepting side learns from the fabric that the connecting side is connected. */
#define DOFI_QUIRK_SAYS_CONNECTED     DOFI_QUIRK_BIT(49)
/* A device may do atomic operations. */
#define DOFI_QUIRK_DEVICE_ATOMICS     DOFI_QUIRK_BIT(38)
/* A device shares its ports with the host's TCP. */
#define DOFI_QUIRK_TCP_PORTS          DOFI_QUIRK_BIT(39)
/* The reason of a failure is a number of the device's. */
#define DOFI_QUIRK_VERBS_STATUS       DOFI_QUIRK_BIT(40)
#define DOFI_QUIRK_IWARP_STATUS       DOFI_QUIRK_BIT(41)
#define DOFI_QUIRK_CASSINI_STATUS     DOFI_QUIRK_BIT(42)
#define DOFI_QUIRK_EFA_STATUS         DOFI_QUIRK_BIT(48)
/* A message may complete after later ones. */
#define DOFI_QUIRK_LATE_MESSAGES      DOFI_QUIRK_BIT(50)
/* A write is emulated, and a long one in another way than a short one. */
#define DOFI_QUIRK_LONG_WRITES        DOFI_QUIRK_BIT(46)

/* The number of bits. */
#define DOFI_QUIRKS                   57

/* The quirks of this fabric with the running release of libfabric: bits of DOFI_QUIRK_*. */
uint64_t dofi_quirks_of(const struct fi_info *info);

/*
 * Whether a provider on the list may have one of these quirks. The list has the form of provider=
 * or FI_PROVIDER. For decisions that come before the first call of libfabric.
 */
bool dofi_quirk_is_possible(uint64_t quirks, const char *providers);

/* Logs each quirk of this fabric, at level info. */
void dofi_quirks_log(const char *ia_name, const struct fi_info *info);

#endif
