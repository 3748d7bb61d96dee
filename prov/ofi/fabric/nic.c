/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/nic.h"

#include "base/log.h"
#include "fabric/netdev.h"
#include "base/param.h"
#include "fabric/topo.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool dofi_nic_pci(const struct fi_info *info, struct fi_pci_attr *pci_p)
{
	const struct fi_bus_attr *bus = info->nic ? info->nic->bus_attr : NULL;

	if (bus && bus->bus_type == FI_BUS_PCI) {
		*pci_p = bus->attr.pci;
		return true;
	}
	return info->domain_attr->name && dofi_netdev_pci(info->domain_attr->name, pci_p);
}

/* --- the place among the processes of the host --- */

/*
 * Variables of launchers: Slurm, PALS and Hydra, Open MPI, Intel MPI and MPICH, Flux, jsrun,
 * MVAPICH.
 */
static const char *const rank_variables[] = {
	"SLURM_LOCALID",
	"PMI_LOCAL_RANK",
	"PALS_LOCAL_RANKID",
	"OMPI_COMM_WORLD_LOCAL_RANK",
	"MPI_LOCALRANKID",
	"FLUX_TASK_LOCAL_ID",
	"JSM_NAMESPACE_LOCAL_RANK",
	"MV2_COMM_WORLD_LOCAL_RANK",
};

static bool parse_rank(const char *text, unsigned int *rank_p)
{
	if (!text || !*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 6)
		return false;
	*rank_p = (unsigned int)atoi(text);
	return true;
}

static const char *find_rank(unsigned int *rank_p)
{
	for (size_t i = 0; i < sizeof(rank_variables) / sizeof(rank_variables[0]); i++)
		if (parse_rank(secure_getenv(rank_variables[i]), rank_p))
			return rank_variables[i];
	return NULL;
}

/*
 * If this process has a part of the CPUs near to the devices for itself, and all parts have the
 * same size: the number of the part. The part is a better choice than the rank: a launcher that
 * distributes ranks cyclically over packages gives one package only even ranks. False if this
 * process may use all CPUs of its control group, because then the other processes may use them,
 * too.
 */
static bool find_part(const struct dofi_cpus *mine, const struct dofi_cpus *near,
		      unsigned int *part_p)
{
	unsigned int before = 0, size = 0, cpu = 0;
	struct dofi_cpus group;

	if (!dofi_cpus_within(mine, near) || dofi_cpus_within(near, mine))
		return false;
	if (dofi_cpus_of_group(&group) && dofi_cpus_within(&group, mine))
		return false;
	for (; !dofi_cpus_have(mine, cpu); cpu++)
		before += dofi_cpus_have(near, cpu);
	for (; cpu < DOFI_CPUS_MAX && dofi_cpus_have(near, cpu) && dofi_cpus_have(mine, cpu); cpu++)
		size++;
	*part_p = before / size;
	return true;
}

/* --- the choice --- */

struct choice {
	const struct dofi_params *params;
	const struct fi_info *const *equals;
	struct dofi_topo *topo;
	bool has_mine;
	struct dofi_cpus mine;
	/* CPUs near to the first of the nearest devices */
	struct dofi_cpus common;
	unsigned int nearest[DOFI_MAX_EQUALS], n; /* indices in equals */
	/* distance of the nearest devices, and of the best of the others */
	unsigned int least, next;
	char why[sizeof(((struct dofi_nic *)NULL)->why)];
};

__attribute__((format(printf, 2, 3))) static void say(struct choice *c, const char *fmt, ...)
{
	size_t used = strlen(c->why);
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->why + used, sizeof(c->why) - used, fmt, args);
	va_end(args);
}

/* A device whose distance is not known counts as farthest. */
static unsigned int distance_of(const struct choice *c, const struct fi_info *info,
				struct dofi_cpus *near_p)
{
	struct fi_pci_attr pci;

	if (!c->topo || !c->has_mine || !dofi_nic_pci(info, &pci) ||
	    !dofi_topo_device(c->topo, &pci, near_p))
		return UINT32_MAX;
	return dofi_topo_distance(c->topo, &c->mine, near_p);
}

static void find_nearest(struct choice *c, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct dofi_cpus near = {0};
		unsigned int distance = distance_of(c, c->equals[i], &near);

		if (distance < c->least || !i) {
			c->next = i ? c->least : UINT32_MAX;
			c->least = distance;
			c->n = 0;
			c->common = near;
		} else if (distance > c->least && distance < c->next) {
			c->next = distance;
		}
		if (distance == c->least)
			c->nearest[c->n++] = i;
	}
}

static void say_nearest(struct choice *c, unsigned int n)
{
	char cpus[64];

	if (c->least == UINT32_MAX)
		say(c, "one of %u devices whose places are not known", n);
	else if (c->n == n)
		say(c, "one of %u devices, equally near to CPUs %s", n,
		    dofi_cpus_text(&c->mine, cpus, sizeof(cpus)));
	else
		say(c,
		    "%s of %u devices to CPUs %s (NUMA distance %u, others %u and more, says %s)",
		    c->n > 1 ? "one of the nearest" : "the nearest", n,
		    dofi_cpus_text(&c->mine, cpus, sizeof(cpus)), c->least, c->next,
		    c->topo->source);
}

static unsigned int pick(struct choice *c)
{
	unsigned int rank = 0;
	const char *variable;

	if (c->n == 1)
		return c->nearest[0];
	if (parse_rank(c->params->local_rank, &rank)) {
		say(c, ", number %u of %u for local_rank=%u", rank % c->n, c->n, rank);
	} else if (c->least == DOFI_DISTANCE_NEAR && find_part(&c->mine, &c->common, &rank)) {
		say(c, ", number %u of %u by the part of the near CPUs", rank % c->n, c->n);
	} else {
		variable = find_rank(&rank);
		if (variable)
			say(c, ", number %u of %u for %s=%u", rank % c->n, c->n, variable, rank);
		else
			say(c, ", the first of %u: no launcher tells a local rank", c->n);
	}
	return c->nearest[rank % c->n];
}

static void describe(const struct fi_info *info, struct dofi_nic *nic)
{
	int node;

	nic->has_pci = dofi_nic_pci(info, &nic->pci);
	if (!nic->has_pci)
		return;
	snprintf(nic->pci_text, sizeof(nic->pci_text), "%04x:%02x:%02x.%x", nic->pci.domain_id,
		 nic->pci.bus_id, nic->pci.device_id & 31u, nic->pci.function_id & 7u);
	node = dofi_sysfs_node(&nic->pci);
	if (node >= 0)
		snprintf(nic->node_text, sizeof(nic->node_text), "%d", node);
}

unsigned int dofi_nic_choose(const struct dofi_params *params, const struct fi_info *const *equals,
			     unsigned int n, struct dofi_nic *nic)
{
	struct choice *c;
	unsigned int chosen = 0;

	memset(nic, 0, sizeof(*nic));
	c = n > 1 ? calloc(1, sizeof(*c)) : NULL;
	if (c) {
		c->params = params;
		c->equals = equals;
		c->topo = dofi_topo_new();
		c->has_mine = dofi_cpus_mine(&c->mine);
		find_nearest(c, n);
		say_nearest(c, n);
		chosen = pick(c);
		strcpy(nic->why, c->why);
		dofi_topo_free(c->topo);
		free(c);
	} else {
		strcpy(nic->why, "the only one that fits best");
	}
	describe(equals[chosen], nic);
	return chosen;
}

/* --- the IA's thread --- */

int dofi_nic_check(const char *ia_name, const struct dofi_params *params)
{
	struct dofi_cpus cpus;
	unsigned int rank;

	if (*params->local_rank && !parse_rank(params->local_rank, &rank)) {
		DOFI_LOG_E("IA %s: local_rank=%s is not a number; give the process's place among "
			   "those of its host, from 0, or nothing",
			   ia_name, params->local_rank);
		return -EINVAL;
	}
	if (strcmp(params->affinity, "near") && strcmp(params->affinity, "inherit") &&
	    !dofi_cpus_parse(&cpus, params->affinity)) {
		DOFI_LOG_E("IA %s: affinity=%s is neither near nor inherit nor a list of CPUs such "
			   "as 0-3,8",
			   ia_name, params->affinity);
		return -EINVAL;
	}
	return 0;
}

/*
 * "near" stays within the CPUs that the opening thread may use: the others belong to other
 * processes.
 */
void dofi_nic_place_thread(const struct dofi_params *params, struct dofi_nic *nic)
{
	struct dofi_cpus mine, near;

	if (!strcmp(params->affinity, "inherit"))
		return;
	if (strcmp(params->affinity, "near")) {
		nic->bind_thread = dofi_cpus_parse(&nic->thread_cpus, params->affinity);
		return;
	}
	if (!nic->has_pci || !dofi_sysfs_device(&nic->pci, &near) || !dofi_cpus_mine(&mine))
		return;
	dofi_cpus_and(&nic->thread_cpus, &mine, &near);
	nic->bind_thread = !dofi_cpus_empty(&nic->thread_cpus) && !dofi_cpus_within(&mine, &near);
}

void dofi_nic_enter_thread(const char *ia_name, const struct dofi_nic *nic)
{
	char cpus[128];
	int err;

	if (!nic->bind_thread)
		return;
	dofi_cpus_text(&nic->thread_cpus, cpus, sizeof(cpus));
	err = dofi_cpus_bind(&nic->thread_cpus);
	if (err)
		DOFI_LOG_W("IA %s: its thread can't run on CPUs %s: %s; it runs where the program "
			   "does",
			   ia_name, cpus, strerror(err));
	else
		DOFI_LOG_I("IA %s: its thread runs on CPUs %s", ia_name, cpus);
}
