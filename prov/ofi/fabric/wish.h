/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parameters of an IA that restrict the choice of its device. */
#ifndef DOFI_WISH_H
#define DOFI_WISH_H

#include "fabric/netdev.h"

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

struct dofi_params;

struct dofi_wish {
	const char *ia_name;
	const struct dofi_params *params;
	bool has_addr;
	struct sockaddr_storage addr; /* params->addr, parsed */
	bool has_subnet, has_pci;
	struct dofi_subnet subnet;
	struct fi_pci_attr pci;
};

/*
 * Fills the wish from its name and parameters. 0, or a negative error after a message: a parameter
 * has a bad value, or libfabric is too old.
 */
int dofi_wish_parse(struct dofi_wish *wish);

/* Why this candidate can't be used, or NULL. addr: its IP address, or NULL. */
const char *dofi_wish_objection(const struct dofi_wish *wish, const struct fi_info *info,
				const struct sockaddr_storage *addr);

/* Writes these parameters, in parentheses. */
void dofi_wish_print(const struct dofi_wish *wish, FILE *out);

#endif
