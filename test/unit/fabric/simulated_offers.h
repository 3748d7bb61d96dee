/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Simulated machines: what fi_getinfo() of libfabric offers there. The linker replaces fi_getinfo()
 * and fi_version() by ours.
 */
#ifndef T_SIMULATED_OFFERS_H
#define T_SIMULATED_OFFERS_H

#include "fabric/nic.h"
#include "base/param.h"

#include "../../lib/t_machine.h"
#include "../../lib/unit.h"

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VERBS_MR  (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define HOST_ONLY (FI_MSG | FI_TAGGED | FI_RMA | FI_LOCAL_COMM)
#define ANYWHERE  (HOST_ONLY | FI_REMOTE_COMM)
#define SAW       (FI_ORDER_SAS | FI_ORDER_SAW)

struct candidate {
	const char *provider, *domain, *addr; /* NULL: no IP address */
	enum fi_ep_type type;
	uint64_t caps;
	int mr_mode;
	uint64_t msg_order;
	enum fi_link_state link; /* FI_LINK_UNKNOWN: no NIC */
};

extern const struct candidate tcp_eth0, tcp_eth0_ll, tcp_eth0_v6, tcp_eth1, tcp_lo, tcp_lo6,
	rxm_eth0, udp_eth0, mlx5, mlx5_lo, mlx5_v6, mlx5_down, efa, cxi, shm, odd_rdm, odd, cxi0,
	cxi1;
/* Where cxi0 and cxi1 are. */
extern const struct t_machine two_cards;

extern const struct candidate *machine[80];
extern const char *installed[4]; /* providers that libfabric has, with or without a device */
extern int machine_error;        /* error that fi_getinfo returns instead */
extern const char *asked_node;   /* of the latest query that had one */
extern uint32_t asked_version;
extern void (*spoil)(struct fi_info *info); /* changes an offered info */
extern bool resolves_node;                  /* the fake knows every address of 127.0.0.0/8 */
/* An info is being made, not by the library. Volatile, because gcc believes that calloc reads no
 * variable, but a stand-in for it does. */
extern volatile bool making;
extern uint32_t running_version;

/* The machine has these. */
#define MACHINE(...)                                            \
	do {                                                    \
		const struct candidate *list[] = {__VA_ARGS__}; \
		memset(machine, 0, sizeof(machine));            \
		memcpy(machine, list, sizeof(list));            \
	} while (0)

struct fi_info *make_info(const struct candidate *c, const char *addr);

/* --- what dofi_select answers --- */

extern struct dofi_params params;
extern struct fi_info *chosen;
extern struct dofi_nic chosen_nic;
extern const char *transport; /* of the choice */

/* As dofi_select. */
int choose(const char *name, const char *ia_params);

/* The address of the choice. */
const char *chosen_addr(void);

/* The choice is this one. */
void ck_choice(const char *name, const char *ia_params, const char *domain, const char *addr);

/* No candidate can be used; returns the message. */
const char *none_for(const char *name, const char *ia_params);

void ck_has(const char *text, const char *part);

/* Runs the cases. Hides the network interfaces of this host, which must not affect the result. */
int run_choices(Suite *suite, TCase *tc);

#endif
