/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "common/fabrics.h"

#include "common/child.h"
#include "common/common.h"

#include <string.h>

#include <rdma/fabric.h>

/*
 * DAT needs connections or reliable datagrams, and RDMA. Utility providers are listed with the
 * provider below.
 */
static bool carries_dat(const struct fi_info *info)
{
	return !strchr(info->fabric_attr->prov_name, ';') && info->caps & FI_RMA &&
	       (info->ep_attr->type == FI_EP_MSG || info->ep_attr->type == FI_EP_RDM);
}

static bool print_fabrics(FILE *out, const void *arg)
{
	struct fi_info *infos;

	(void)arg;
	if (fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &infos))
		return false;
	for (const struct fi_info *info = infos; info; info = info->next) {
		if (carries_dat(info))
			fprintf(out, "%s %s\n", info->fabric_attr->prov_name,
				info->domain_attr->name);
	}
	fi_freeinfo(infos);
	return true;
}

static void add(struct util_fabric *list, size_t size, size_t *count_p, const char *line)
{
	struct util_fabric fabric;

	if (sscanf(line, "%63s %63s", fabric.provider, fabric.domain) != 2 || *count_p == size)
		return;
	for (size_t i = 0; i < *count_p; i++) {
		if (!strcmp(list[i].provider, fabric.provider) &&
		    !strcmp(list[i].domain, fabric.domain))
			return;
	}
	list[(*count_p)++] = fabric;
}

int util_fabrics_list(struct util_fabric *list, size_t size, size_t *count_p)
{
	struct util_answer answer;
	char *save = NULL;
	int ret = util_ask_child(print_fabrics, NULL, &answer);

	*count_p = 0;
	for (char *line = answer.text ? strtok_r(answer.text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		add(list, size, count_p, line);
	util_answer_free(&answer);
	return ret;
}
