/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Choice of the fabric: fi_getinfo with what we need, ranking, and for each candidate refused the
 * reason in words.
 */
#ifndef DOFI_SELECT_H
#define DOFI_SELECT_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_nic;
struct dofi_params;
struct dofi_trans_ops;
struct fi_info;
struct sockaddr_storage;

/*
 * How a provider lets an RDMA write be seen before a later Send (mapping: ORDERED, FENCE, HOLD).
 */
enum dofi_order { DOFI_ORDERED, DOFI_FENCE, DOFI_HOLD };

/*
 * The best fabric for these parameters: *info_p is a single info that the caller frees with
 * fi_freeinfo, and nic_p says why it is this device of several. 0 or a negative libfabric error
 * after a message that names every candidate and why it was refused.
 */
int dofi_select(const char *ia_name, const struct dofi_params *params, struct fi_info **info_p,
		const struct dofi_trans_ops **trans_p, struct dofi_nic *nic_p);

/*
 * The IA's own address, port 0: the fabric's where that is an IP address, else one of the host's.
 * 0 or a negative errno after a message.
 */
int dofi_select_addr(const char *ia_name, const struct dofi_params *params,
		     const struct fi_info *info, struct sockaddr_storage *addr_p);

/* The fabric joins the processes of one host, and has no IP addresses. */
bool dofi_is_shared_memory(const struct fi_info *info);
enum dofi_order dofi_order_of(const struct fi_info *info);
/* Completion data of messages; iWARP has none, though libfabric tells their size there, too. */
bool dofi_has_data(const struct fi_info *info);
bool dofi_has_queues(const struct fi_info *info);    /* of a device, for each connection */
bool dofi_has_tcp_ports(const struct fi_info *info); /* the device shares them with the host */
/* by more receives than rx_attr->size, which it takes */
bool dofi_breaks_when_full(const struct fi_info *info);
/* Who sleeps on the completion queue is not woken any more, once another thread has read it. */
bool dofi_readers_mute_queue(const struct fi_info *info);
/* bytes that are sent without a completion; 0: none */
uint64_t dofi_inject_max(const struct fi_info *info);
/* FI_FENCE makes an operation wait for the reads before it. */
bool dofi_fences_reads(const struct fi_info *info);
/* A write can have completion data of 32 bits, and takes a receive of the peer then. */
bool dofi_has_immediates(const struct fi_info *info);
/* Whether an RDMA read may miss what an earlier write brings. */
bool dofi_reads_overtake(const struct fi_info *info);
/* Whether an RDMA write may be seen before an earlier one. */
bool dofi_writes_overtake(const struct fi_info *info);
/* Whether the last byte of an RDMA write is seen after all others. */
bool dofi_stores_in_order(const struct fi_info *info);
/* A write may name several targets, and one is stored behind the other. */
bool dofi_stores_targets_in_order(const struct fi_info *info);

#endif
